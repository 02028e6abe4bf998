"""Builds the program that runs a student's file on the cases of an exercise."""

import hashlib
import os
import sys
import time
from pathlib import Path

import cli

from .catalog import ExerciseError
from .processes import Limits, NoSandbox, View, execute, writable

NVCC = ["simt/nvcc", "-std=c++17", "-O1", "-I."]
LIMITS = Limits(
    cpu_seconds=60, seconds=120, file_bytes=64 << 20, memory_bytes=2 << 30, processes=16
)
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


def build(root, exercise, source, path, box=NoSandbox()):
    """Builds it at `path`; raises ExerciseError with what the compiler said. In a sandbox the
    compiler sees simt, common/ and the chapters, but nothing of the exercises."""
    shared, run_cu = runner(root), exercise.folder / "run.cu"
    partial = writable(Path(f"{path}.{os.getpid()}"))
    chapters = sorted(root.glob(cli.CHAPTERS))
    reads = [root / "simt", root / "common", *chapters, *_frame(root)]
    reads += [_simt_build(root), shared, source, run_cu]
    view = View(root, reads, [partial], sorted(root.glob(f"{cli.CHAPTERS}/exercises")))
    words = [*NVCC, f'-DEXERCISE_FILE="{source}"', str(run_cu), str(shared), "-o", str(partial)]
    # Who builds a file of his own may wait, for simt too.
    limits = LIMITS if box.is_boxed else Limits(cpu_seconds=LIMITS.cpu_seconds)
    try:
        done = execute(words, view, limits, _environment(root), box, with_stdout=True)
        if done.is_endless():
            raise ExerciseError(f"it does not compile within {LIMITS.cpu_seconds} s of work")
        if done.status != 0:
            raise ExerciseError(f"it does not compile:\n{_first_errors(done.said, root, source)}")
        partial.chmod(0o755)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def runner(root):
    """runner.cpp as an object, which all exercises share."""
    path = folder(root) / f"runner-{_digest([*_frame(root), *_simt(root)])}.o"
    if not (_simt_build(root) / "instrumented/libsimt.a").exists():
        print("Building simt, once: this takes up to a minute ...", file=sys.stderr, flush=True)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = f"{path}.{os.getpid()}"
        words = [*NVCC, "-c", "tools/exercise/runner.cpp", "-o", partial]
        done = execute(words, View(root, []), Limits(), _environment(root), NoSandbox(), True)
        if done.status != 0:
            raise ExerciseError(f"runner.cpp does not compile:\n{done.said}")
        os.replace(partial, path)
    return path


def _environment(root):
    """simt's checks and counters are compiled in; its headers, which do not change, only once."""
    return {"SIMT_CHECK": "1", "SIMT_PRECOMPILE": "1", "SIMT_BUILD": str(_simt_build(root))}


def _simt_build(root):
    return Path(os.environ.get("SIMT_BUILD", (root / "simt").resolve().parent / "build/simt"))


def _first_errors(text, root, source):
    """The compiler's first few lines, paths relative to the repository."""
    text = text.replace(f"{root}/", "").replace(f"{source.parent}/", "")
    lines = text.strip().splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    return "\n".join(f"    {line[:200]}" for line in errors[:5])


def _key(root, exercise, source):
    """Changes with everything that the program is made of."""
    return _digest([source, exercise.folder / "run.cu", *_frame(root), *_simt(root)], NVCC)


def _frame(root):
    """What is put around a student's file."""
    return sorted((root / "tools/exercise").glob("*.[ch]pp"))


def _simt(root):
    """simt's own sources and headers."""
    folders = [root / "simt" / name for name in ("frontend", "include", "src")]
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def _digest(files, words=()):
    key = hashlib.sha256(repr(words).encode())
    for path in files:
        key.update(path.read_bytes())
    return key.hexdigest()[:16]
