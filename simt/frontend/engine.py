"""The engine library: simt/src compiled once, on first use, and again when its sources change."""

import contextlib
import fcntl
import functools
import glob
import hashlib
import os
import subprocess
import sys

SIMT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OBSERVER_FILES = ("check_", "dwarf_", "observe", "profile_")  # only in the instrumented library
PART = ".part"  # behind the name of an object that is not whole yet


def build_directory():
    """Beside the repository's Makefile its build folder; installed, the user's cache."""
    beside = os.path.dirname(SIMT)
    if given := os.environ.get("SIMT_BUILD"):
        return given
    if os.path.exists(os.path.join(beside, "Makefile")):
        return os.path.join(beside, "build", "simt")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "simt")


def library(compiler, instrumented):
    """Path of the library; builds it if needed. Builds at the same time wait for one another."""
    directory = os.path.join(build_directory(), "instrumented" if instrumented else "plain")
    os.makedirs(directory, exist_ok=True)
    archive = os.path.join(directory, "libsimt.a")
    stamp = os.path.join(directory, "stamp")
    wanted = fingerprint(compiler)

    def is_there():
        return os.path.exists(archive) and read(stamp) == wanted

    if not is_there():  # what is there is found in a folder for reading only, too
        # Both libraries are made of the same objects.
        shared = os.path.join(build_directory(), "objects")
        os.makedirs(shared, exist_ok=True)
        with locked(shared):
            if not is_there():
                _build(compiler, wanted, shared, archive, instrumented)
                write(stamp, wanted)
    return archive


@contextlib.contextmanager
def locked(directory):
    with open(os.path.join(directory, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@functools.lru_cache
def fingerprint(compiler):
    """Changes whenever a source, a header or the compiler does."""
    digest = hashlib.sha256()
    digest.update(subprocess.run([*compiler, "--version"], capture_output=True, check=True).stdout)
    for pattern in ("src/*.cpp", "src/*.h", "include/**/*"):
        for path in sorted(glob.glob(os.path.join(SIMT, pattern), recursive=True)):
            if os.path.isfile(path):
                digest.update(os.path.relpath(path, SIMT).encode())
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def _build(compiler, wanted, directory, archive, instrumented):
    sources = sorted(glob.glob(os.path.join(SIMT, "src", "*.cpp")))
    if not instrumented:
        sources = [s for s in sources if not os.path.basename(s).startswith(OBSERVER_FILES)]
    if sys.stderr.isatty():
        print("simt: building the engine (once)", file=sys.stderr)
    stamp = os.path.join(directory, "stamp")
    if read(stamp) != wanted:
        for old in glob.glob(os.path.join(directory, "*.o")):
            os.unlink(old)
        write(stamp, wanted)
    objects, running = [], []
    for source in sources:
        target = os.path.join(directory, os.path.basename(source)[:-4] + ".o")
        objects.append(target)
        if os.path.exists(target):
            continue
        if len(running) >= (os.cpu_count() or 1):
            _finish_object(*running.pop(0))
        running.append((_compile(compiler, source, target + PART), target))
    for process, target in running:
        _finish_object(process, target)
    if os.path.exists(archive):
        os.unlink(archive)
    _finish(subprocess.Popen(["ar", "crs", archive] + objects))


def _compile(compiler, source, target):
    return subprocess.Popen([
        *compiler, "-std=c++17", "-O2", "-g1", "-Wall", "-Wextra", "-fPIC",
        "-fno-strict-aliasing", "-I", os.path.join(SIMT, "src"),
        "-isystem", os.path.join(SIMT, "include"),
        "-c", source, "-o", target])


def _finish_object(process, target):
    _finish(process)
    os.replace(target + PART, target)  # under its name stands only what is whole


def _finish(process):
    if process.wait() != 0:
        raise SystemExit("simt: cannot build the engine")
