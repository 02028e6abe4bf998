"""What students have handed in: their folders, and the one file of each that belongs to an
exercise. Names may be of any bytes, and a file may be anything that a disk can hold."""

import os
import stat

from .catalog import ExerciseError

MOST_BYTES = 1 << 20  # of a file that is handed in
MOST_LOOKED_AT = 2000  # files of a folder, in search of one that lies in the wrong place


def students(submissions):
    """(folders of students, names that are none), in order."""
    folders, others = [], []
    for path in sorted(submissions.iterdir(), key=lambda path: os.fsencode(path.name)):
        is_one = path.is_dir() and not path.is_symlink()
        is_ours = is_one and path.name[0] not in "._"  # .hidden, __MACOSX
        (folders if is_ours else others).append(path if is_ours else path.name)
    if not folders:
        raise ExerciseError(f"{submissions} holds no folders: one for each student is expected")
    return folders, others


def place(folder, chapter, name, is_only_name):
    """Where a student has put a file of an exercise; None if it is in none of the right places."""
    places = [folder / chapter / name, folder / "work" / chapter / name]
    places += [folder / name] if is_only_name else []
    return next((path for path in places if os.path.lexists(path)), None)


def astray(folder, wanted):
    """Files of a folder that are not in `wanted`, paths, but have the name of one of them."""
    names = {path.name.lower() for path in wanted}
    found, looked_at = [], 0
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(files):
            looked_at += 1
            path = os.path.join(where, name)
            if name.lower() in names and path not in map(str, wanted):
                found.append(os.path.relpath(path, folder))
        if looked_at > MOST_LOOKED_AT:
            break
    return found


def read(file, folder):
    """The bytes of a file, which must be a plain one in this folder."""
    try:
        leads_to = file.resolve()
    except (OSError, RuntimeError) as error:  # which of them, Python's version says
        raise OSError("a link that leads to itself") from error
    if not leads_to.is_relative_to(folder.resolve()):
        raise OSError("a link that leads out of the folder")
    return plain_bytes(file, MOST_BYTES)


def plain_bytes(file, most):
    """The bytes of a plain file. Whatever else it is, such as a pipe, nobody waits for it."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{os.path.basename(file)} is not a plain file")
        with open(handle, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(f"{os.path.basename(file)} has more than {most} bytes")
    return data
