"""Builds the program that runs a student's file on the cases of an exercise."""

import contextlib
import functools
import hashlib
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import cli

from . import screen
from .catalog import ExerciseError
from .processes import Limits, NoSandbox, View, execute, writable

NVCC = ["simt/nvcc", "-std=c++17", "-O1", "-I."]
LIMITS = Limits(
    cpu_seconds=60, seconds=120, file_bytes=64 << 20, memory_bytes=2 << 30, processes=16
)
# What g++ says of its own compiler when that has had its time.
KILLED = re.compile(r"fatal error: (Killed|CPU time limit exceeded) signal terminated program")
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
    shared = prepare(root)
    partial = writable(Path(f"{path}.{os.getpid()}"))
    run_cu = main_file(exercise, partial)
    chapters = sorted(root.glob(cli.CHAPTERS))
    reads = [root / "simt", root / "common", *chapters, *_frame(root)]
    reads += [_simt_build(root), shared, source, run_cu]
    view = View(root, reads, [partial], sorted(root.glob(f"{cli.CHAPTERS}/exercises")))
    words = [*NVCC, f'-DEXERCISE_FILE="{source}"', str(run_cu), "-o", str(partial)]
    # Who builds a file of his own may wait, for simt too.
    limits = LIMITS if box.is_boxed else Limits(cpu_seconds=LIMITS.cpu_seconds)
    try:
        environment = {**_environment(root), "SIMT_LIBRARY": str(shared)}
        done = execute(words, view, limits, environment, box, with_stdout=True)
        said = done.said.replace(str(run_cu), "run.cu")
        if done.is_endless() or KILLED.search(said):
            raise ExerciseError(f"it does not compile within {LIMITS.cpu_seconds} s of work")
        if done.status != 0:
            raise ExerciseError(f"it does not compile:\n{_first_errors(said, root, source)}")
        partial.chmod(0o755)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
        Path(f"{partial}.cu").unlink(missing_ok=True)


def main_file(exercise, beside):
    """The .cu file with main(): the exercise's own run.cu, or one that is written beside a path."""
    own = exercise.folder / "run.cu"
    if own.is_file():
        return own
    made = writable(Path(f"{beside}.cu"))
    made.write_text(exercise.frame, encoding="utf-8")
    return made


def together(root, exercise, texts, folder):
    """Builds several versions of a student's file as one program, each in a namespace of its own:
    much cheaper than one after the other. Returns what runs each of them."""
    shared, name = prepare(root), exercise.author_file.name
    once = re.compile(r"^[ \t]*#[ \t]*(?:include\b.*|pragma once.*)$", re.M)
    macro = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
    frame = exercise.frame.replace("int main(", "int version(")
    before, after = frame.split("#include EXERCISE_FILE\n")
    includes, lines = ["#include <cstdlib>", "#include <cstring>"], []
    for number, text in enumerate(texts):
        lines.append(f"namespace version_{number} {{")
        parts = ("run.cu", 1, before), (name, 1, text), ("run.cu", before.count("\n") + 2, after)
        for file, line, part in parts:
            includes += once.findall(part)
            lines += [f'#line {line} "{file}"', once.sub("", part)]
        lines += [f"#undef {word}" for word in macro.findall(frame + text)]
        lines.append("}")
    calls = ", ".join(f"version_{number}::version" for number in range(len(texts)))
    lines += [
        "int main(int argc, char** argv) {",
        f"  int (*const versions[])(int, char**) = {{{calls}}};",
        "  return versions[std::atoi(std::strrchr(argv[0], '-') + 1)](argc, argv);",
        "}",
    ]
    source, program = Path(folder, "all.cu"), Path(folder, "program")
    includes = [line for line in dict.fromkeys(includes) if "#pragma" not in line]
    source.write_text("\n".join([*includes, *lines]) + "\n", encoding="utf-8")
    words, environment = [*NVCC, str(source), "-o", str(program)], _environment(root)
    environment["SIMT_LIBRARY"] = str(shared)
    done = execute(words, View(root, []), Limits(), environment, NoSandbox(), with_stdout=True)
    if done.status != 0:
        raise ExerciseError(f"it does not compile:\n{_first_errors(done.said, root, source)}")
    programs = [Path(folder, f"program-{number}") for number in range(len(texts))]
    for each in programs:
        os.link(program, each)
    return programs


def prepare(root):
    """simt and runner.cpp as one object, which all programs share; who else is in the program finds
    of simt only what its headers need."""
    path = _simt_build(root) / f"frame-{_digest([Path(__file__), *_frame(root), *_simt(root)])}.o"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            screen.working("Building simt, once: this takes a minute or two") as tell,
            tempfile.TemporaryDirectory(dir=path.parent, prefix="frame-") as scratch,
        ):
            _build_frame(root, Path(scratch), tell)
            os.replace(Path(scratch, "frame.o"), path)
    if not path.stat().st_mode & 0o004:
        _open_to_all(path.parent)
    return path


def _open_to_all(folder):
    """Whatever the umask says: the sandbox's user reads what is built here."""
    for path in [folder, *folder.rglob("*")]:
        with contextlib.suppress(OSError):  # another process may be building, too
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))


def _build_frame(root, scratch, tell):
    def do(*words):
        environment = _environment(root)
        done = execute(list(map(str, words)), View(root, []), Limits(), environment, NoSandbox(), 1)
        if done.status != 0:
            raise ExerciseError(f"{words[0]} fails:\n{done.said}")
        return done.said

    runner, empty = scratch / "runner.o", scratch / "empty.cu"
    empty.touch()
    tell("1 of 3")
    do(*NVCC, "-DEXERCISE_SIMT", "-c", "tools/exercise/runner.cpp", "-o", runner)
    # A program makes simt build its library, and the headers that are compiled only once.
    empty.write_text("int main() {}\n", encoding="utf-8")
    tell("2 of 3")
    do(*NVCC, empty, "-o", scratch / "empty")
    archive = _simt_build(root) / "instrumented/libsimt.a"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    partly = ["g++", "-r", "-nostdlib", "-Wl,--force-group-allocation"]
    tell("3 of 3")
    do(*partly, *whole, runner, "-o", scratch / "all.o")
    # As long as they are: execute() keeps only the first part of what is said.
    run = functools.partial(subprocess.run, check=True, stdout=subprocess.PIPE, text=True)
    listed = lambda *words: run(words).stdout
    named = listed("nm", "--defined-only", "--extern-only", "--format=posix", scratch / "all.o")
    kinds = dict(line.split(" ")[:2] for line in named.splitlines())
    (scratch / "names").write_text("\n".join(kinds) + "\n", encoding="utf-8")
    plain = listed("c++filt", f"@{scratch / 'names'}").splitlines()
    public = _public_words(root)
    kept = {name: 1 for name, said in zip(kinds, plain) if _is_public(said, public)}
    # Of what a header defines the program has a copy, too, which is dropped. (u: objcopy leaves it
    # global.)
    inline = [n for n, kind in kinds.items() if kind == "u" or kind in "vVwW" and n in kept]
    words = ["objcopy"]
    for option, names in (("keep-global", kept), ("weaken", inline)):
        (scratch / option).write_text("\n".join(names) + "\n", encoding="utf-8")
        words.append(f"--{option}-symbols={scratch / option}")
    do(*words, scratch / "all.o", scratch / "frame.o")


def _public_words(root):
    """All words of simt's headers but of those that are a judge's or a test's own."""
    headers = sorted((root / "simt/include").rglob("*"))
    headers = [h for h in headers if h.is_file() and h.name not in ("judge.h", "profile.h")]
    headers.append(root / "tools/exercise/runner.hpp")
    return {w for header in headers for w in re.findall(r"[A-Za-z_]\w*", cli.read_text(header))}


def _is_public(symbol, public):
    """Of simt's own and the runner's: whatever a header may name. Of C's: all. Of the C++ library
    nothing: the engine has copies of its own, which nobody counts."""
    found = re.search(r"\b(?:simt|exercise)::([\w:~]+)", symbol)
    if not found:
        return "::" not in symbol
    return all(word in public for word in re.findall(r"[A-Za-z_]\w*", found.group(1)))


def _environment(root):
    """simt's checks and counters are compiled in; its headers, which do not change, only once."""
    return {"SIMT_CHECK": "1", "SIMT_PRECOMPILE": "1", "SIMT_BUILD": str(_simt_build(root))}


def _simt_build(root):
    given = os.environ.get("SIMT_BUILD")
    return Path(given) if given else (root / "simt").resolve().parent / "build/simt"


def _first_errors(text, root, source):
    """The compiler's first few lines, paths relative to the repository."""
    text = text.replace(f"{root}/", "").replace(f"{source.parent}/", "")
    lines = text.strip().splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    return "\n".join(f"    {line[:200]}" for line in errors[:5])


def _key(root, exercise, source):
    """Changes with everything that the program is made of."""
    return _digest([source, *_frame(root), *_simt(root)], [*NVCC, exercise.frame])


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
