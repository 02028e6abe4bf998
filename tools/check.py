#!/usr/bin/env python3
"""Checks what a machine can check about the sources and the lessons.

  format    every C++ and CUDA file is as clang-format 14 leaves it; another version formats some
            lines differently, so what it finds is only a warning, and without one this is skipped
  lessons   quoted code, tables and links are up to date (tools/lessons.py --check)
  rungs     numbered 01, 02, ... without gaps, each included by variants.cuh, each opening with a
            comment of 3 to 8 lines, each a small step from the one before
  includes  chapters include common/ but no other chapter; common/ and simt/ include no chapter
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cli

CLANG_FORMAT_MAJOR = 14  # Debian 12's; Ubuntu 24.04 offers it as clang-format-14
SUFFIXES = {".cu", ".cuh", ".hpp", ".h", ".cpp"}
RUNG = re.compile(r"^(\d\d)_\w+\.(?:hpp|cuh|cu)$")
CHAPTER = re.compile(r"^\d\d_\w+$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)

STEP_WARNING, STEP_ERROR = 80, 200
LENGTH_WARNING, LENGTH_ERROR = 150, 300
OPENING_LINES = range(3, 9)


class Findings:
    """Prints findings as they come and counts them."""

    def __init__(self, root):
        self.root = root
        self.errors = 0
        self.warnings = 0

    def error(self, path, message):
        self.errors += 1
        print(f"error: {path.relative_to(self.root)}: {message}")

    def warning(self, path, message):
        self.warnings += 1
        print(f"warning: {path.relative_to(self.root)}: {message}")

    def above(self, path, value, limits, message):
        warning, error = limits
        if value > error:
            self.error(path, f"{message} (at most {error})")
        elif value > warning:
            self.warning(path, f"{message} (more than {warning})")


def source_files(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in cli.SKIPPED_FOLDERS and f[0] != ".")
        found += [Path(folder) / f for f in sorted(files) if Path(f).suffix in SUFFIXES]
    return found


def find_clang_format():
    """(command, major version) of the version the sources go by, else of any, else None."""
    for name in (f"clang-format-{CLANG_FORMAT_MAJOR}", "clang-format"):
        command = shutil.which(name)
        if command:
            text = subprocess.run([command, "--version"], capture_output=True, text=True).stdout
            version = re.search(r"version (\d+)", text)
            return command, int(version.group(1)) if version else 0
    return None


def check_format(root, files, findings):
    found = find_clang_format()
    if found is None:
        print("format: skipped, clang-format is not installed (./setup.sh --dev installs it)")
        return
    command, major = found
    report = findings.error if major == CLANG_FORMAT_MAJOR else findings.warning
    if not files:
        return
    result = subprocess.run(
        [command, "--dry-run", "--Werror", *map(str, files)], cwd=root, capture_output=True, text=True
    )
    first_lines = {}
    for name, line in re.findall(r"^(.+?):(\d+):\d+: ", result.stderr, re.MULTILINE):
        first_lines.setdefault(name, line)
    if result.returncode != 0 and not first_lines:
        findings.error(root, f"clang-format failed: {result.stderr.strip() or result.returncode}")
    for path in files:
        if str(path) in first_lines:
            line = f"line {first_lines[str(path)]}, "
            report(path, f"not as clang-format {major} leaves it ({line}`make format` mends it)")


def check_lessons(root, findings):
    tool = Path(__file__).resolve().parent / "lessons.py"
    command = [sys.executable, str(tool), "--check", "--root", str(root)]
    result = subprocess.run(command, capture_output=True, text=True)
    for line in result.stdout.splitlines():
        findings.errors += 1
        print(f"error: {line}")
    if result.returncode not in (0, 1):
        findings.errors += 1
        print(f"error: tools/lessons.py failed: {result.stderr.strip()}")


def opening_comment(lines):
    """Number of lines of the comment a file opens with."""
    if lines and lines[0].lstrip().startswith("/*"):
        return next((i + 1 for i, line in enumerate(lines) if "*/" in line), len(lines))
    return next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))


def changed_lines(before, after):
    """Lines of `after` that are new or altered, and lines of `before` that have no successor.

    The opening comments tell different stories by design and are left out.
    """
    old, new = ([line.strip() for line in t[opening_comment(t) :]] for t in (before, after))
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in blocks if tag != "equal")


def check_ladder(folder, findings):
    """The rungs of one problem."""
    rungs = sorted(path for path in folder.iterdir() if RUNG.match(path.name))
    if not rungs:
        return
    index = folder / "variants.cuh"
    listed = set(INCLUDE.findall(index.read_text(encoding="utf-8"))) if index.is_file() else set()
    if not index.is_file():
        findings.error(folder, "has rungs but no variants.cuh")
    previous = None
    for position, rung in enumerate(rungs, 1):
        lines = rung.read_text(encoding="utf-8").splitlines()
        if int(rung.name[:2]) != position:
            findings.error(rung, f"should be number {position:02}: rungs are numbered without gaps")
        if index.is_file() and not any(name.rpartition("/")[2] == rung.name for name in listed):
            findings.error(rung, "is not included by variants.cuh")
        opening = opening_comment(lines)
        if opening not in OPENING_LINES:
            findings.error(rung, f"opens with {opening} lines of comment instead of 3 to 8")
        findings.above(rung, len(lines), (LENGTH_WARNING, LENGTH_ERROR), f"{len(lines)} lines long")
        if previous is not None:
            changed = changed_lines(previous, lines)
            message = f"{changed} lines changed from the rung before"
            findings.above(rung, changed, (STEP_WARNING, STEP_ERROR), message)
        previous = lines


def check_includes(root, files, findings):
    for path in files:
        own = path.relative_to(root).parts[0]
        if own != "common" and own != "simt" and not CHAPTER.match(own):
            continue
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            near = path.parent / name
            target = near if near.exists() else root / name
            parts = Path(os.path.relpath(target, root)).parts
            if CHAPTER.match(parts[0]) and parts[0] != own:
                findings.error(path, f"includes {name}, which belongs to another chapter")
            elif parts[0] == "simt" and own != "simt":
                findings.error(path, f"includes {name}: only the build knows simt")


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    root = parser.parse_args().root.resolve()
    if not root.is_dir():
        parser.error(f"no folder {root}")
    findings = Findings(root)
    files = source_files(root)
    check_format(root, files, findings)
    check_lessons(root, findings)
    for chapter in sorted(path for path in root.glob(cli.CHAPTERS) if path.is_dir()):
        check_ladder(chapter, findings)
        for problem in sorted(path for path in chapter.iterdir() if path.is_dir()):
            if problem.name != "exercises":
                check_ladder(problem, findings)
    check_includes(root, files, findings)
    print(f"{findings.errors} errors, {findings.warnings} warnings")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
