"""Builds the program that runs a student's file on the cases of an exercise."""

import hashlib
import os
import subprocess
import sys
import time

from .catalog import ExerciseError

# simt's checks and counters are compiled in; what does not change between two builds, its headers,
# is compiled once.
ENVIRONMENT = {"SIMT_CHECK": "1", "SIMT_PRECOMPILE": "1"}
NVCC = ["simt/nvcc", "-std=c++17", "-O1", "-I."]
KEPT_SECONDS = 3600  # programs of files that have changed since


def folder(root):
    return root / "build/exercise"


def program(root, exercise, source):
    """The program of a student's file, built if neither it nor what it is built from is as it was
    the last time."""
    name = exercise.folder.name
    path = folder(root) / exercise.chapter / f"{name}-{_key(root, exercise, source)}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{name}-*"):
            if old.stat().st_mtime < time.time() - KEPT_SECONDS:
                old.unlink(missing_ok=True)
        build(root, exercise, source, path)
    return path


def build(root, exercise, source, path):
    """Builds it at `path`; raises ExerciseError with what the compiler said."""
    partial = f"{path}.{os.getpid()}"
    done = run(root, command(root, exercise, source, partial))
    if done.returncode != 0:
        raise ExerciseError(f"it does not compile:\n{first_errors(done.stdout, root)}")
    os.replace(partial, path)


def command(root, exercise, source, path):
    run_cu = exercise.folder.relative_to(root) / "run.cu"
    return [*NVCC, f'-DEXERCISE_FILE="{source}"', str(run_cu), str(runner(root)), "-o", str(path)]


def runner(root):
    """runner.cpp as an object, which all exercises share."""
    if not any(folder(root).glob("runner-*.o")):
        print("Building simt, once: this takes up to a minute ...", file=sys.stderr, flush=True)
    sources = [root / "tools/exercise" / name for name in ("runner.hpp", "runner.cpp")]
    path = folder(root) / f"runner-{_digest(sources + _simt(root))}.o"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = f"{path}.{os.getpid()}"
        done = run(root, [*NVCC, "-c", "tools/exercise/runner.cpp", "-o", partial])
        if done.returncode != 0:
            raise ExerciseError(f"runner.cpp does not compile:\n{done.stdout}")
        os.replace(partial, path)
    return path


def run(root, words):
    return subprocess.run(
        words,
        cwd=root,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )


def first_errors(text, root):
    """The compiler's first few lines, paths relative to the repository."""
    lines = text.replace(f"{root}/", "").strip().splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    return "\n".join(f"    {line}" for line in errors[:5])


def _key(root, exercise, source):
    """Changes with everything that the program is made of."""
    words = command(root, exercise, source, "")
    return _digest([source, exercise.folder / "run.cu", *_simt(root)], words)


def _simt(root):
    return sorted(p for p in (root / "simt").glob("[fis]*/**/*") if p.is_file())


def _digest(files, words=()):
    key = hashlib.sha256(repr(words).encode())
    for path in files:
        key.update(path.read_bytes())
    return key.hexdigest()[:16]
