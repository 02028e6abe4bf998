"""What stands in front of every .cu file, keywords.h and simt/cuda.h, compiled once for each set of
flags: of a small file it is nine tenths of what g++ reads."""

import hashlib
import os
import subprocess

from . import engine


def header(compiler, flags, always, keywords):
    """Path of a header with its compiled form (.gch) beside it. g++ takes that form if it fits the
    macros at hand, and the header itself if not. always: what every .cu file is compiled with."""
    flags = [flag for flag in flags if not flag.startswith(("-D", "-I"))] + always
    key = hashlib.sha256(repr((engine.fingerprint(compiler), flags)).encode())
    with open(keywords, "rb") as file:
        key.update(file.read())
    directory = os.path.join(engine.build_directory(), "headers", key.hexdigest()[:16])
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "front.h")
    if os.path.exists(path + ".gch"):
        return path
    with engine.locked(directory):
        if not os.path.exists(path + ".gch"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'#include "{keywords}"\n#include "simt/cuda.h"\n')
            partial = path + ".part"
            command = [*compiler, *flags, "-x", "c++-header", path, "-o", partial]
            subprocess.run(command, check=True)
            os.replace(partial, path + ".gch")
    return path
