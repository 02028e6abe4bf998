#!/usr/bin/env python3
"""Fills the quoted code and the result tables of the lessons from their sources.

In a lesson, the body of a fence such as
    ```cpp file=05_tiled.cuh symbol=matmul_tiled_kernel
is replaced by that definition (or by region=NAME, or by the whole file), and the lines between
    <!-- table run=04_matmul/default problem=matmul columns=name,gflops results=results/h200.json -->
    <!-- end table -->
by a table of the measured numbers. With best=RUN,RUN in place of run=RUN the table has one line per
problem of these runs: its fastest rung. Nobody types code or numbers into a lesson by hand.
"""

import json
import os
import re
import sys
from pathlib import Path

import cli
import cpp_source
import markdown_links
import result_table

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})(?P<words>[^`]*)$")
TABLE = re.compile(r"^\s*<!--\s*table\s+(?P<words>.*?)\s*-->\s*$")
END_TABLE = re.compile(r"^\s*<!--\s*end table\s*-->\s*$")


def options_of(words):
    """'cpp file=a.cuh symbol=f' -> {'file': 'a.cuh', 'symbol': 'f'}"""
    return dict(word.split("=", 1) for word in words.split() if "=" in word)


class Lesson:
    """One Markdown file: `text` becomes `filled`, and `problems` collects (line, message)."""

    def __init__(self, root, path):
        self.root = root
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.problems = []
        self.stale = []
        self.filled = "\n".join(self._fill(self.text.split("\n")))

    def _fill(self, lines):
        out, i = [], 0
        while i < len(lines):
            fence, mark = FENCE.match(lines[i]), TABLE.match(lines[i])
            if fence:
                end = self._find(lines, i, self._closes(fence))
                replace, make = "file=" in fence.group("words"), self._code
                words, indent = fence.group("words"), fence.group("indent")
            elif mark:
                end = self._find(lines, i, END_TABLE.match)
                replace, make, words, indent = True, self._table, mark.group("words"), ""
            else:
                out.append(lines[i])
                i += 1
                continue
            if end is None:
                self.problems.append((i + 1, "this block is never closed"))
                return out + lines[i:]
            old = lines[i + 1 : end]
            new = make(options_of(words), i + 1) if replace else old
            if new is None:
                new = old
            else:
                new = [(indent + line).rstrip() for line in new] if replace else new
            if new != old:
                self.stale.append((i + 1, words.strip()))
            out += [lines[i], *new, lines[end]]
            i = end + 1
        return out

    @staticmethod
    def _find(lines, start, test):
        return next((j for j in range(start + 1, len(lines)) if test(lines[j])), None)

    @staticmethod
    def _closes(fence):
        ticks = fence.group("ticks")
        closing = re.compile(rf"^\s*{re.escape(ticks)}{re.escape(ticks[0])}*\s*$")
        return closing.match

    def _code(self, options, line):
        name = options["file"]
        source = self.root / name[1:] if name.startswith("/") else self.path.parent / name
        try:
            text = source.read_text(encoding="utf-8")
            if "symbol" in options:
                body = cpp_source.symbol_text(text, options["symbol"])
            elif "region" in options:
                body = cpp_source.region_text(text, options["region"])
            else:
                body = cpp_source.whole_text(text)
        except OSError:
            self.problems.append((line, f"no file {name}"))
        except cpp_source.SourceError as error:
            self.problems.append((line, f"{name}: {error}"))
        else:
            return body.split("\n")
        return None

    def _table(self, options, line):
        try:
            name = options["results"]
            results = json.loads((self.root / name).read_text(encoding="utf-8"))
            return result_table.table(results, options)
        except KeyError as error:
            self.problems.append((line, f"table: nothing is said about {error}"))
        except OSError:
            self.problems.append((line, f"no results file {name}"))
        except json.JSONDecodeError as error:
            self.problems.append((line, f"{name}: {error}"))
        except result_table.TableError as error:
            self.problems.append((line, f"{name}: {error}"))
        return None


def lesson_files(root):
    chapters = sorted(root.glob(f"{cli.CHAPTERS}/README.md"))
    others = [root / "README.md", root / "CHECKLIST.md", root / "simt" / "README.md"]
    return chapters + [path for path in others if path.is_file()]


def markdown_files(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in cli.SKIPPED_FOLDERS and f[0] != ".")
        found += [Path(folder) / f for f in sorted(files) if f.endswith(".md")]
    return found


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument(
        "--check", action="store_true", help="change nothing; list stale blocks and dead links"
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        help="lessons (default: the README of every chapter, of simt and of the root, and CHECKLIST.md)",
    )
    args = parser.parse_args()
    root = args.root.resolve()
    files = [path.resolve() for path in args.files]
    for path in files:
        if not path.is_file():
            parser.error(f"no file {path}")
        if not path.is_relative_to(root):
            parser.error(f"{path} is outside {root}")

    findings = 0

    def report(path, line, message):
        nonlocal findings
        findings += 1
        print(f"{path.relative_to(root)}:{line}: {message}")

    for path in files or lesson_files(root):
        lesson = Lesson(root, path)
        for line, message in lesson.problems:
            report(path, line, message)
        if args.check:
            for line, words in lesson.stale:
                report(path, line, f"stale, run `make lessons`: {words}")
        elif lesson.filled != lesson.text:
            path.write_text(lesson.filled, encoding="utf-8")
            print(f"{path.relative_to(root)}: {len(lesson.stale)} blocks filled")
    if args.check:
        for path in files or markdown_files(root):
            for line, target, reason in markdown_links.dead_links(root, path):
                report(path, line, f"dead link {target}: {reason}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
