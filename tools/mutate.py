#!/usr/bin/env python3
"""Plants small mistakes, one at a time, and expects a test to notice each.

The mistakes ("mutants") are listed in tests/mutants/*.txt. Each is a change of a few words that a
tired author could make, and names the test that must fail because of it:

    == the flush is never enqueued
    file common/bench/time_variants.cuh
    test tests/common/harness
    ---
        if (flush != nullptr) flush->enqueue(stream);
    +++
        if (false) flush->enqueue(stream);

Behind the test may stand which of its cases must fail; then only this case runs, and a long test
takes little time:

    test tests/tools/test_makefile.py BuildFolder
    test tests/03_coalescing every launch is in the stream that was given > copy/chunked

(of a C++ test a case, and behind > one of its sections).
All work is done in copies of this repository, one for each of --jobs, with kernels on the CPU. A
mutant is killed if its test fails, hangs or crashes; whether the test passes without it is tried
first. The last lines are a table of the lists. Exit status 0 only if every mutant that was tried
was killed.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cli

Mutant = collections.namedtuple("Mutant", "list title file test case old new")

TIMEOUT = 900  # seconds for the build or the run of one test
# Built with few optimizations and with simt's headers compiled before, a test takes half the time.
MAKE = ["make", "-s", "CPU=1", "OPTIMIZE=-O0"]
# Python would take the bytecode of a file that changes twice a second for that of the file now.
ENVIRONMENT = {**os.environ, "SIMT_PRECOMPILE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
KILLED, LATE = "killed", "no time left"


class BadList(Exception):
    """A list of mutants that cannot be read, or no longer fits the sources."""


class Ended(Exception):
    """Somebody ended this run."""


def read_list(path):
    """The mutants of one file."""
    mutants = []
    for entry in re.split(r"^== ", cli.read_text(path), flags=re.MULTILINE)[1:]:
        found = re.fullmatch(
            r"(?P<title>.+)\nfile (?P<file>\S+)\ntest (?P<test>\S+)(?: (?P<case>.+))?\n"
            r"---\n(?P<old>.+?)\n\+\+\+\n(?P<new>.*?)\n*",
            entry,
            re.DOTALL,
        )
        if not found:
            raise BadList(f"{path.name}: cannot read the entry '{entry.splitlines()[0]}'")
        mutants.append(Mutant(path.stem, **found.groupdict()))
    return mutants


def text_around(root, mutant):
    """The text of the mutant's file, in which its old text stands once."""
    path = root / mutant.file
    text = cli.read_text(path) if path.is_file() else ""
    if text.count(mutant.old) != 1:
        raise BadList(
            f"{mutant.list}: '{mutant.title}': its old text is {text.count(mutant.old)} times in "
            f"{mutant.file}, not once"
        )
    return text


@contextlib.contextmanager
def planted(root, mutant):
    """Plants the mutant, and brings back the text that was there before."""
    before = text_around(root, mutant)
    path = root / mutant.file
    path.write_text(before.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


def copy_repository(root, folder):
    """A copy of what git knows of, or would know of if it were added."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    # simt's engine, if it was built: it takes a minute and fits every copy.
    for kind in ("plain", "instrumented"):
        if (root / "build/simt" / kind).is_dir():
            shutil.copytree(root / "build/simt" / kind, folder / "build/simt" / kind)


class Copy:
    """A copy of the repository in which tests are built and run."""

    def __init__(self, root, folder):
        self.root = folder
        self.running = None  # the process at work
        self.ended = False  # whether it is the last
        self.said = ""  # by the last command
        self.limit = TIMEOUT  # of a command, in seconds
        self.tried = {}  # (test, case): the programs it needs, or None; how long it took
        copy_repository(root, folder)

    def succeeds(self, command):
        if self.ended:
            raise Ended
        # In a session of its own: what hangs is ended with all its children.
        self.running = subprocess.Popen(
            command,
            cwd=self.root,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
            start_new_session=True,
        )
        try:
            self.said, _ = self.running.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            os.killpg(self.running.pid, signal.SIGKILL)
            self.said = f"{command[0]} took more than {self.limit:.0f} s"
        if self.ended:
            raise Ended
        return self.running.wait() == 0

    def end(self):
        """Ends what runs; nothing begins any more."""
        self.ended = True
        if self.running and self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGKILL)

    def builds(self, test, programs=()):
        return test.endswith(".py") or self.succeeds([*MAKE, f"build/{test}", *programs])

    def passes(self, mutant, programs=()):
        """Builds a mutant's test and runs it until the first failure."""
        is_python = mutant.test.endswith(".py")
        start = [sys.executable, mutant.test, "-f"] if is_python else [f"build/{mutant.test}", "-a"]
        case, _, section = (mutant.case or "").partition(" > ")
        case = case if is_python else case.replace(",", "\\,")  # to Catch2 a comma means "or"
        start += [case] * bool(case) + ["-c", section] * bool(section)
        return self.builds(mutant.test, programs) and self.succeeds(start)

    def try_without(self, mutant):
        """What a mutant's test needs to pass without it: nothing, or its chapter's program, which
        takes longer to build than most tests. None if it fails with both. And the seconds."""
        key = mutant.test, mutant.case
        if key not in self.tried:
            self.limit = TIMEOUT
            chapter = re.match(r"tests/(\d\d)_", mutant.test)
            ways = [[], [chapter.group(1)]] if chapter else [[]]
            begin = time.monotonic()
            programs = next((way for way in ways if self.passes(mutant, way)), None)
            self.tried[key] = programs, time.monotonic() - begin
        return self.tried[key]

    def outcome(self, mutant):
        programs, _ = self.try_without(mutant)
        if programs is None:
            last = self.said.strip().splitlines()[-1:] or ["no output"]
            return f"its test fails without it: {last[0]}"
        longest = max(seconds for _, seconds in self.tried.values())
        self.limit = min(TIMEOUT, 60 + 5 * longest)  # what takes longer hangs
        with planted(self.root, mutant):
            if self.passes(mutant, programs):
                return "not noticed"
            return KILLED if self.builds(mutant.test, programs) else "does not build"


def work_of(mutant):
    """About how many seconds of one core it takes."""
    if mutant.test.endswith(".py"):
        return 1
    return 12 if mutant.test.startswith("tests/common/") else 30


def part_of(mutants, part):
    """'3/10' is the fourth of ten parts that take about equally long. The mutants of one test stand
    together: a test that was built for one is nearly built for the next."""
    found = re.fullmatch(r"(\d+)/([1-9]\d*)", part)
    if not found:
        raise BadList(f"--part {part}: expected K/N, the K-th of N parts")
    k, n = map(int, found.groups())
    until = list(itertools.accumulate(map(work_of, mutants)))
    part_at = lambda i: (until[i] - work_of(mutants[i])) * n // until[-1]
    return [mutant for i, mutant in enumerate(mutants) if part_at(i) == k % n]


def parse_arguments():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--only", metavar="TEXT,...", help="mutants whose list or title holds TEXT")
    parser.add_argument("--part", metavar="K/N", help="the K-th of N parts; K is taken modulo N")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin none after S seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies at work")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: at least 1")
    return parser, arguments


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copies go
    parser, arguments = parse_arguments()
    root = arguments.root.resolve()
    try:
        mutants = [m for p in sorted((root / "tests/mutants").glob("*.txt")) for m in read_list(p)]
        for mutant in mutants:
            text_around(root, mutant)  # a list that no longer fits is told before hours of work
        if arguments.only:
            texts = arguments.only.split(",")
            mutants = [m for m in mutants if any(t in f"{m.list}: {m.title}" for t in texts)]
        if arguments.part:
            mutants = part_of(mutants, arguments.part)
        if not mutants:
            parser.error("no such mutants")
        if not arguments.list:
            return run_all(root, mutants, arguments)
        for mutant in mutants:
            print(name_of(mutant))
        print_table(collections.Counter((mutant.list, "mutants") for mutant in mutants))
        return 0
    except BadList as error:
        parser.error(str(error))


def name_of(mutant):
    case = f", {mutant.case}" if mutant.case else ""
    return f"{mutant.list}: {mutant.title} ({mutant.test}{case})"


def print_table(counts):
    """counts: {(list, outcome): how many}; one line a list, and one for all."""
    lists = sorted({name for name, _ in counts})
    outcomes = sorted({what for _, what in counts})
    width = max(map(len, [*lists, "all"]))
    print(" " * width, *(f"{what:>12}" for what in outcomes))
    for name in [*lists, "all"]:
        chosen = lists if name == "all" else [name]
        row = [sum(counts[one, what] for one in chosen) for what in outcomes]
        print(f"{name:<{width}}", *(f"{count:12}" for count in row))


def run_all(root, mutants, arguments):
    start = time.monotonic()
    counts = collections.Counter()
    waiting = iter(mutants)  # next() of a list's iterator is one step for threads, too

    def work(copy):
        for mutant in waiting:
            begin = time.monotonic()
            late = arguments.seconds and begin - start > arguments.seconds
            what = LATE if late else copy.outcome(mutant)
            counts[mutant.list, what.split(":")[0]] += 1
            seconds = time.monotonic() - begin
            print(f"{seconds:5.0f} s  {what:<12} {name_of(mutant)}", flush=True)

    with contextlib.ExitStack() as ending:
        folder = ending.enter_context(tempfile.TemporaryDirectory(prefix="mutate-"))
        copies = [Copy(root, Path(folder, str(job))) for job in range(arguments.jobs)]
        pool = ending.enter_context(concurrent.futures.ThreadPoolExecutor(arguments.jobs))
        ending.callback(lambda: [copy.end() for copy in copies])  # before the pool waits for them
        for worker in [pool.submit(work, copy) for copy in copies]:
            worker.result()
    print_table(counts)
    tried = {what for _, what in counts} - {LATE}
    return 0 if tried == {KILLED} else 1


if __name__ == "__main__":
    cli.run(main)
