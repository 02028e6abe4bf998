"""What students have handed in: their folders, and the one file of each that belongs to an
exercise. Names may be of any bytes, and a file may be anything that a disk can hold."""

import contextlib
import itertools
import os
import stat

from .catalog import ExerciseError

MOST_BYTES = 1 << 18  # of a file that is handed in: the longest of an author's has 5,000
MOST_LOOKED_AT = 2000  # files and folders, in search of one that lies in the wrong place


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
    """Files of a folder that are not in `wanted`, paths, but have the name of one of them. However
    wide or deep it is, only so many entries are looked at; what cannot be read is left out."""
    wanted, found, left, looked_at = set(map(str, wanted)), [], [str(folder)], 0
    names = {os.path.basename(path).lower() for path in wanted}
    while left and looked_at < MOST_LOOKED_AT:
        with contextlib.suppress(OSError), os.scandir(left.pop(0)) as entries:
            for entry in itertools.islice(entries, MOST_LOOKED_AT - looked_at):
                looked_at += 1
                if entry.is_dir(follow_symlinks=False):
                    left += [entry.path] if entry.name[0] not in "._" else []
                elif entry.name.lower() in names and entry.path not in wanted:
                    found.append(os.path.relpath(entry.path, folder))
    return sorted(found, key=os.fsencode)


def read(file, folder):
    """The bytes of a file, which must be a plain one in this folder."""
    try:
        leads_to = file.resolve()
    except (OSError, RuntimeError) as error:  # which of them, Python's version says
        raise OSError("a link that leads to itself") from error
    if not leads_to.is_relative_to(folder.resolve()):
        raise OSError("a link that leads out of the folder")
    return plain_bytes(leads_to, MOST_BYTES)


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
