#!/usr/bin/env python3
"""Fills the quoted code, the result tables and the numbers of the lessons from their sources.

In a lesson, the body of a fence such as
    ```cpp file=05_tiled.cuh symbol=matmul_tiled_kernel
is replaced by that definition (or by region=NAME, or by the whole file), and the lines between
    <!-- table run=04_matmul/default problem=sgemm columns=name,gflops results=results/h200.json -->
    <!-- end table -->
by a table of the measured numbers. With best=RUN,RUN in place of run=RUN the table has one line per
problem of these runs: its fastest rung. A number in running prose,
    <!--= tiled ms -->1.23<!--/--> ms
the table that several runs give, between
    <!-- grid ... -->
    <!-- end grid -->
(tools/result_grid.py) and the line under a rung between
    <!-- proof tiled count=load_sectors_per_request -->
    <!-- end proof -->
come from the results too; tools/LESSONS.md has all of it. The tables of exercises come from their
folders (tools/exercise/pages.py), that of the sanitizer from its reports
(tools/sanitizer_report.py), and that of what was recorded of which commit from results/. Nobody
types code or numbers into a lesson by hand: a measured number that was typed beside a rung's name
is a finding, and so is a typed commit.

A file in which a fence, a table or a number is not closed is left as it is: what follows would be
lost.
"""

import functools
import re
import sys
from pathlib import Path

import bars_svg
import cli
import cpp_source
import lines_svg
import markdown_links
import result_grid
import result_table
import result_text
import results
import sanitizer_report
import timeline_svg
import typed_numbers
from exercise import pages as exercise_pages
from exercise.catalog import ExerciseError

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})(?P<words>[^`]*)$")
KINDS = "table|grid|proof|timelines|bars|exercises|exercise|sanitizer|recorded"
# A block's mark, on one line or several.
BLOCK = re.compile(rf"^\s*<!--\s+(?P<kind>{KINDS})\b(?P<words>(?:(?!<!--).)*)$")
# Where the numbers below it come from: run=, problem=, results=.
DEFAULTS = re.compile(r"^\s*<!--\s*numbers\s+(?P<words>.*?)\s*-->\s*$")
# What a filled block may hold: anything else is text that would be lost with it.
IN_BLOCK = {
    "table": re.compile(r"^(\|.*\||\*.*\*|`.*`: skipped, .*\.|)$"),
    "grid": re.compile(r"^(!\[.*\]\(.*\)|\|.*\||)$"),
    "proof": re.compile(r"^(> .*|)$"),
    "timelines": re.compile(r"^(!\[.*\]\(.*\)|\|.*\||\*.*\*|)$"),
    "bars": re.compile(r"^(!\[.*\]\(.*\)|\*.*\*|)$"),
    "exercises": re.compile(r"^(\|.*\||)$"),
    "exercise": re.compile(r"^(> .*|)$"),
    "sanitizer": re.compile(r"^(\|.*\||\*.*\*|- \d\d `.*|)$"),
    "recorded": re.compile(r"^(\|.*\||)$"),
}
NOT_IN_CODE = re.compile(rf"^\s*(#{{1,6}} \S|<!--\s+(end )?({KINDS})\b)")
# In the first line of a grid: its table is drawn, too.
DRAWN = re.compile(r'\s*\blines=(?P<file>\S+)(?P<relative> relative)? "(?P<said>[^"]*)"')
NUMBER = typed_numbers.NUMBER
# Markdown takes a line that begins with a comment for HTML, with all that stands on it.
BEGINS_LINE = re.compile(r"^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?<!--=")

# Pages that still have typed numbers beside a rung's name, and how many at most.
TYPED_NOT_YET = {
}


@functools.lru_cache(maxsize=None)
def _loaded(path):
    try:
        return results.load(path)
    except (OSError, results.ResultsError) as error:
        return error


def load_results(path):
    """A page asks for hundreds of numbers: each file is read once, a damaged one, too."""
    loaded = _loaded(path)
    if isinstance(loaded, Exception):
        raise loaded
    return loaded


rung_names = functools.lru_cache(maxsize=None)(typed_numbers.rung_names)


def forget():
    """For whoever changes files and asks again."""
    _loaded.cache_clear()
    rung_names.cache_clear()


class UnreadableFile(Exception):
    """A page that cannot be read; the message is ready to print."""


def options_of(words):
    """'cpp file=a.cuh symbol=f' -> {'file': 'a.cuh', 'symbol': 'f'}"""
    return dict(word.split("=", 1) for word in words.split() if "=" in word)


class NotLoaded(Exception):
    """There are no such results; the page knows it already."""


class Lesson:
    """One Markdown file: `text` becomes `filled`, and `problems` collects (line, message). Where
    `is_broken`, a block has no end, and `filled` is `text`."""

    def __init__(self, root, path):
        self.root = root
        self.path = path
        folder = path.relative_to(root).parts[0]
        self.chapter = folder if Path(folder).match(cli.CHAPTERS) else None
        self.drawings = {}  # path: SVG
        self.defaults = {}  # of numbers and proofs, as the last `numbers` mark left them
        try:
            self.text = cli.read_text(path)
        except OSError as error:
            raise UnreadableFile(error.strerror or error) from error
        self.problems = []
        self.damage = {}  # what is wrong with a results file: the first line that asks for it
        self.stale = []
        self.is_broken = False
        filled = "\n".join(self._fill(self.text.split("\n")))
        self.filled = self.text if self.is_broken else filled

    def _fill(self, lines):
        out, i = [], 0
        while i < len(lines):
            fence, mark = FENCE.match(lines[i]), self._mark(lines, i)
            last = i  # line of what opens the block
            if fence:
                end = self._find(lines, i, self._closes(fence))
                replace, make = "file=" in fence.group("words"), self._code
                words, indent = fence.group("words"), fence.group("indent")
            elif mark:
                kind, words, last = mark
                closes = re.compile(rf"^\s*<!--\s*end {kind}\s*-->\s*$").match
                end = self._find(lines, last, closes)
                replace, make, indent = True, getattr(self, f"_{kind}"), ""
            else:
                if defaults := DEFAULTS.match(lines[i]):
                    self.defaults.update(options_of(defaults.group("words")))
                out.append(self._with_numbers(lines[i], i + 1))
                i += 1
                continue
            old = lines[last + 1 : end]
            in_block = mark and IN_BLOCK[kind]
            if end is None or replace and not self._is_whole(old, in_block):
                self._never_closed(i + 1, "block")
                return out + lines[i:]
            new = make(words, i + 1) if replace else old
            if new is None:
                new = old
            else:
                new = [(indent + line).rstrip() for line in new] if replace else new
            if new != old:
                self.stale.append((i + 1, " ".join(words.split())))
            out += [*lines[i : last + 1], *new, lines[end]]
            i = end + 1
        return out

    @staticmethod
    def _mark(lines, i):
        """(kind, words, last line) of the mark that begins here, or None. Only a grid's words keep
        their lines."""
        match = BLOCK.match(lines[i])
        last = match and Lesson._find(lines, i - 1, lambda line: line.rstrip().endswith("-->"))
        if last is None:
            return None
        words = "\n".join([match.group("words"), *lines[i + 1 : last + 1]]).rstrip()[: -len("-->")]
        if match.group("kind") != "grid":
            words = re.sub(r",\s+", ",", " ".join(words.split()))
        return match.group("kind"), words, last

    @staticmethod
    def _find(lines, start, test):
        return next((j for j in range(start + 1, len(lines)) if test(lines[j])), None)

    def _never_closed(self, line, what):
        self.problems.append((line, f"this {what} is never closed; nothing is filled here"))
        self.is_broken = True

    @staticmethod
    def _is_whole(lines, in_block):
        """Whether these lines are a filled block: if its end is missing, text follows in it.
        in_block: what a line of it looks like; None for code."""
        if in_block:
            return all(in_block.match(line.strip()) for line in lines)
        opens = lambda fence: fence and fence.group("words").strip()
        return not any(NOT_IN_CODE.match(line) or opens(FENCE.match(line)) for line in lines)

    @staticmethod
    def _closes(fence):
        ticks = fence.group("ticks")
        closing = re.compile(rf"^\s*{re.escape(ticks)}{re.escape(ticks[0])}*\s*$")
        return closing.match

    def _with_numbers(self, text, line):
        """A line of prose, its numbers filled."""
        if "<!--=" not in text:
            return text
        if len(NUMBER.findall(text)) != text.count("<!--="):
            self._never_closed(line, "number")
            return text
        if BEGINS_LINE.match(text):
            message = "a number may not begin a line: Markdown takes such a line for HTML"
            self.problems.append((line, message))
        return NUMBER.sub(lambda match: self._number(match, line), text)

    def _number(self, match, line):
        words = match.group("words")
        options, rest = self._options_and_rest(words)
        make = lambda data: result_text.number(data, options, rest)
        text = self._from_results(options, line, make, f"number '{words}'")
        if text is None:
            return match.group()
        if text != match.group("text"):
            self.stale.append((line, f"{words}: {match.group('text')} is {text}"))
        return f"<!--= {words} -->{text}<!--/-->"

    def _grid(self, words, line):
        def number(data_options, rest):
            options = self._with_defaults(data_options)
            return result_text.number(self._load(options["results"], line), options, rest)

        # What is drawn is said in the first line, as what is common to all cells.
        common, *others = words.split("\n")
        drawn, common = DRAWN.search(common), DRAWN.sub("", common)
        try:
            table = result_grid.grid([common, *others], number)
            if not drawn:
                return table
            said = drawn.group("said")
            drawing = lines_svg.svg(table, said, drawn.group("relative") is not None)
            return [self._image(drawn.group("file"), drawing, said, line), "", *table]
        except KeyError as error:
            self.problems.append((line, f"grid: nothing is said about {error}"))
        except NotLoaded:
            pass
        except (results.ResultsError, result_table.TableError) as error:
            self.problems.append((line, f"grid: {error}"))
        return None

    def _proof(self, words, line):
        options, rest = self._options_and_rest(words)
        if len(rest) != 1:
            self.problems.append((line, "a proof names one rung"))
            return None
        is_rung = lambda name: name in rung_names(self.root, self.chapter)
        make = lambda data: result_text.proof(data, options, rest[0], is_rung)
        text = self._from_results(options, line, make, f"proof of '{rest[0]}'")
        return None if text is None else [f"> {text}"]

    def _timelines(self, words, line):
        options = {**self.defaults, **options_of(words)}
        make = lambda data: self._drawn(data, options, line, with_table="table" in words.split())
        return self._from_results(options, line, make, "timelines")

    def _bars(self, words, line):
        options = {**self.defaults, **options_of(words)}

        def drawn(data):
            run = result_table.run_named(data, options["run"])
            rows = bars_svg.chosen(run, options)
            title = f"{options['problem']}, the share of the peak that each rung reaches"
            image = self._image(options["file"], bars_svg.svg(rows, title), title, line)
            return [image, "", result_table.caption(run)]

        return self._from_results(options, line, drawn, "bars")

    def _image(self, name, drawing, said, line):
        """The image of a drawing. Keeps it, and says where the file is stale."""
        path = self._inside(self.path.parent / name)
        self.drawings[path] = drawing
        if not path.is_file() or cli.read_text(path) != drawing:
            self.stale.append((line, name))
        return f"![{said}]({name})"

    def _drawn(self, data, options, line, with_table):
        """The image of timelines, where they come from, and a table."""
        run = result_table.run_named(data, options["run"])
        timelines = timeline_svg.chosen(options["run"], run, options["problem"])
        names = result_table.text_cell(", ".join(timeline["name"] for timeline in timelines))
        until = timeline_svg.time_of(options["until"]) if "until" in options else None
        said, drawing = f"Measured timelines: {names}", timeline_svg.svg(timelines, until)
        image = self._image(options["file"], drawing, said, line)
        table = ["", *timeline_svg.busy_table(timelines)] if with_table else []
        return [image, *table, "", result_table.caption(run)]

    def _exercises(self, words, line):
        return exercise_pages.table(self.root, self.path, self.chapter)

    def _exercise(self, words, line):
        try:
            return exercise_pages.line(self.root, self.path, words)
        except ExerciseError as error:
            self.problems.append((line, str(error)))
            return None

    def _sanitizer(self, words, line):
        lines = []
        for path in sanitizer_report.paths(self.root):
            try:
                lines += ["", *sanitizer_report.table(sanitizer_report.load(path))]
            except (OSError, results.ResultsError) as error:
                self.problems.append((line, f"{path.relative_to(self.root)}: {error}"))
                return None
        return lines[1:]

    def _recorded(self, words, line):
        files = {path.stem: path for path in sorted((self.root / "results").glob("*.json"))}
        try:
            return result_table.recorded({name: load_results(p) for name, p in files.items()})
        except (OSError, results.ResultsError) as error:
            self.problems.append((line, f"results/: {error}"))
            return None

    def _options_and_rest(self, words):
        """The key=value words of a number over those of the page, and its other words. A run of the
        page's own chapter goes by its label alone."""
        options = self._with_defaults(options_of(words))
        return options, [word for word in words.split() if "=" not in word]

    def _with_defaults(self, options):
        options = {**self.defaults, **options}
        if "/" not in options.get("run", "/"):
            options["run"] = f"{self.chapter}/{options['run']}"
        return options

    def _code(self, words, line):
        options = options_of(words)
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

    def _table(self, words, line):
        options = options_of(words)
        make = lambda data: result_table.table(data, options)
        return self._from_results(options, line, make, "table")

    def _load(self, name, line):
        """A results file. What is wrong with it is wrong at every place that asks for it."""
        try:
            return load_results(self._inside(self.root / name))
        except FileNotFoundError:
            message = f"no results file {name}"
        except OSError as error:
            message = f"{name}: {error.strerror or error}"
        except results.ResultsError as error:
            message = f"{name}: {error}"
        self.damage.setdefault(message, line)
        raise NotLoaded

    def _from_results(self, options, line, make, what):
        """What `make` makes of the results file, or None and a problem."""
        try:
            name = options["results"]
            return make(self._load(name, line))
        except KeyError as error:
            self.problems.append((line, f"{what}: nothing is said about {error}"))
        except NotLoaded:
            pass
        except (results.ResultsError, result_table.TableError) as error:
            where = name if what == "table" else f"{what}: {name}"
            self.problems.append((line, f"{where}: {error}"))
        return None

    def typed(self):
        """(line, number) for every number that was typed beside a rung's name."""
        names = rung_names(self.root, self.chapter or cli.CHAPTERS)
        return list(typed_numbers.typed_numbers(self.text.split("\n"), names))


def markdown_files(root):
    return cli.files_of(root, {".md"})


def findings(root, files=(), fill=False):
    """Yields a line for everything that is wrong in these pages, or in all, and one for each
    damaged file of results; fills pages if asked to, and says so, or else looks at their links
    too."""
    told = set()
    for path in files or markdown_files(root):
        name = path.relative_to(root)
        try:
            lesson = Lesson(root, path)
            damage = [(line, of) for of, line in lesson.damage.items() if of not in told]
            told.update(lesson.damage)
            for line, message in sorted(damage + lesson.problems):
                yield f"{name}:{line}: {message}"
            if fill:
                if lesson.filled != lesson.text:
                    cli.write_text(path, lesson.filled)
                if lesson.stale and not lesson.is_broken:
                    for place, drawing in lesson.drawings.items():
                        cli.write_text(place, drawing)
                    print(f"{name}: {len(lesson.stale)} blocks filled")
                continue
            for line, words in lesson.stale:
                yield f"{name}:{line}: stale, run `make lessons`: {words}"
            typed = lesson.typed()
            if len(typed) > TYPED_NOT_YET.get(str(name), 0):
                for line, number in typed:
                    yield f"{name}:{line}: typed beside a rung, see tools/LESSONS.md: {number}"
            for line, commit in typed_numbers.typed_commits(lesson.text.split("\n")):
                yield f"{name}:{line}: typed commit, see tools/LESSONS.md: {commit}"
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
