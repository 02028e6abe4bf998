#!/usr/bin/env python3
"""Fills the quoted code and the result tables of the lessons from their sources.

In a lesson, the body of a fence such as
    ```cpp file=05_tiled.cuh symbol=matmul_tiled_kernel
is replaced by that definition (or by region=NAME, or by the whole file), and the lines between
    <!-- table run=04_matmul/default problem=sgemm columns=name,gflops results=results/h200.json -->
    <!-- end table -->
by a table of the measured numbers. With best=RUN,RUN in place of run=RUN the table has one line per
problem of these runs: its fastest rung. Nobody types code or numbers into a lesson by hand.

A file in which a fence or a table is not closed is left as it is: what follows would be lost.
"""

import re
import sys
from pathlib import Path

import cli
import cpp_source
import markdown_links
import result_table
import results

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})(?P<words>[^`]*)$")
TABLE = re.compile(r"^\s*<!--\s*table\s+(?P<words>.*?)\s*-->\s*$")
END_TABLE = re.compile(r"^\s*<!--\s*end table\s*-->\s*$")
# What a filled block may hold: anything else is text that would be lost with it.
IN_TABLE = re.compile(r"^(\|.*\||\*.*\*|`.*`: skipped, .*\.|)$")
NOT_IN_CODE = re.compile(r"^\s*(#{1,6} \S|<!--\s*(table|end table)\b)")


class UnreadableFile(Exception):
    """A page that cannot be read; the message is ready to print."""


def options_of(words):
    """'cpp file=a.cuh symbol=f' -> {'file': 'a.cuh', 'symbol': 'f'}"""
    return dict(word.split("=", 1) for word in words.split() if "=" in word)


class Lesson:
    """One Markdown file: `text` becomes `filled`, and `problems` collects (line, message). Where
    `is_broken`, a block has no end, and `filled` is `text`."""

    def __init__(self, root, path):
        self.root = root
        self.path = path
        try:
            self.text = cli.read_text(path)
        except OSError as error:
            raise UnreadableFile(error.strerror or error) from error
        self.problems = []
        self.stale = []
        self.is_broken = False
        filled = "\n".join(self._fill(self.text.split("\n")))
        self.filled = self.text if self.is_broken else filled

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
            old = lines[i + 1 : end]
            if end is None or replace and not self._is_whole(old, is_table=bool(mark)):
                self.problems.append((i + 1, "this block is never closed; nothing is filled here"))
                self.is_broken = True
                return out + lines[i:]
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
    def _is_whole(lines, is_table):
        """Whether these lines are a filled block: if its end is missing, text follows in it."""
        if is_table:
            return all(IN_TABLE.match(line.strip()) for line in lines)
        opens = lambda fence: fence and fence.group("words").strip()
        return not any(NOT_IN_CODE.match(line) or opens(FENCE.match(line)) for line in lines)

    @staticmethod
    def _closes(fence):
        ticks = fence.group("ticks")
        closing = re.compile(rf"^\s*{re.escape(ticks)}{re.escape(ticks[0])}*\s*$")
        return closing.match

    def _code(self, options, line):
        name = options["file"]
        source = self.root / name.lstrip("/") if name[0:1] == "/" else self.path.parent / name
        try:
            text = cli.read_text(self._inside(source))
            if "symbol" in options:
                body = cpp_source.symbol_text(text, options["symbol"])
            elif "region" in options:
                body = cpp_source.region_text(text, options["region"])
            else:
                body = cpp_source.whole_text(text)
        except FileNotFoundError:
            self.problems.append((line, f"no file {name}"))
        except OSError as error:
            self.problems.append((line, f"{name}: {error.strerror or error}"))
        except cpp_source.SourceError as error:
            self.problems.append((line, f"{name}: {error}"))
        else:
            return body.split("\n")
        return None

    def _inside(self, path):
        """`path`, if it belongs to the repository: no lesson quotes the reader's machine."""
        if not path.resolve().is_relative_to(self.root):
            raise OSError("lies outside the repository")
        return path

    def _table(self, options, line):
        try:
            name = options["results"]
            data = results.load(self._inside(self.root / name))
            return result_table.table(data, options)
        except KeyError as error:
            self.problems.append((line, f"table: nothing is said about {error}"))
        except FileNotFoundError:
            self.problems.append((line, f"no results file {name}"))
        except OSError as error:
            self.problems.append((line, f"{name}: {error.strerror or error}"))
        except (results.ResultsError, result_table.TableError) as error:
            self.problems.append((line, f"{name}: {error}"))
        return None


def markdown_files(root):
    return cli.files_of(root, {".md"})


def findings(root, files=(), fill=False):
    """Yields a line for everything that is wrong in these pages, or in all; fills them if asked to,
    and says so, or else looks at their links too."""
    for path in files or markdown_files(root):
        name = path.relative_to(root)
        try:
            lesson = Lesson(root, path)
            for line, message in lesson.problems:
                yield f"{name}:{line}: {message}"
            if fill:
                if lesson.filled != lesson.text:
                    cli.write_text(path, lesson.filled)
                    print(f"{name}: {len(lesson.stale)} blocks filled")
                continue
            for line, words in lesson.stale:
                yield f"{name}:{line}: stale, run `make lessons`: {words}"
            for line, target, reason in markdown_links.dead_links(root, path):
                yield f"{name}:{line}: dead link {target}: {reason}"
        except UnreadableFile as error:
            yield f"{name}:1: cannot be read: {error}"


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
        help="lessons (default: every page of the repository)",
    )
    args = parser.parse_args()
    root = args.root.resolve()
    files = [path.resolve() for path in args.files]
    for path in files:
        if not path.is_file():
            parser.error(f"no file {path}")
        if not path.is_relative_to(root):
            parser.error(f"{path} is outside {root}")

    count = 0
    for count, line in enumerate(findings(root, files, fill=not args.check), 1):
        print(line)
    return 1 if count else 0


if __name__ == "__main__":
    cli.run(main)
