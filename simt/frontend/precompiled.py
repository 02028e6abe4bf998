"""What stands in front of every .cu file, keywords.h and simt/cuda.h, compiled once for each set of
flags: of a small file it is nine tenths of what g++ reads. Others may follow them, a test's
framework say."""

import hashlib
import os
import subprocess
import sys

from . import engine

TARGET = "front"  # in the list of what a header needs


def header(compiler, flags, always, names):
    """Path of a header that includes `names`, with its compiled form (.gch) beside it. g++ takes
    that form if it fits the macros at hand, and the header itself if not. always: what every .cu
    file is compiled with. None: it cannot be compiled with these flags; g++ says why when it comes
    to the program itself."""
    flags = _without_names(flags) + always
    key = hashlib.sha256(repr((flags, names)).encode()).hexdigest()[:16]
    directory = os.path.join(engine.build_directory(), "headers", key)
    path = os.path.join(directory, "front.h")
    wanted = engine.fingerprint(compiler)
    if _is_fresh(path, wanted):  # which may be for reading only
        return path
    os.makedirs(directory, exist_ok=True)
    with engine.locked(directory):
        if not _is_fresh(path, wanted):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f'#include "{name}"\n' for name in names)
            listed = ["-MD", "-MP", "-MF", path + ".d", "-MT", TARGET]
            partial = path + ".part"
            command = [*compiler, *flags, *listed, "-x", "c++-header", path, "-o", partial]
            made = subprocess.run(command, stderr=subprocess.PIPE)
            if made.returncode:
                return None
            sys.stderr.buffer.write(made.stderr)
            os.replace(partial, path + ".gch")
            engine.write(path + ".stamp", wanted)
    return path


def _without_names(flags):
    """The flags without macros and folders, most of which mean nothing to these headers."""
    words = iter(flags)
    kept = []
    for word in words:
        if word in ("-isystem", "-idirafter"):
            next(words, None)
        elif not word.startswith(("-D", "-I", "-U")):
            kept.append(word)
    return kept


def dependencies(path, target):
    """A rule of make: what the target needs because of that header."""
    return target + engine.read(path + ".d").removeprefix(TARGET)


def _is_fresh(path, wanted):
    """Whether the compiled form is that of the files as they are."""
    if engine.read(path + ".stamp") != wanted:
        return False
    # With -MP each file but the first has a rule of its own.
    rules = engine.read(path + ".d").splitlines()
    needed = [rule[:-1].replace("\\ ", " ") for rule in rules if rule.endswith(":")]
    try:
        made = os.stat(path + ".gch").st_mtime_ns
        return all(os.stat(name).st_mtime_ns <= made for name in needed)
    except OSError:
        return False
