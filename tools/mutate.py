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
first, once. A line for each mutant is printed as soon as it is known. The last lines are a table of
the lists. Exit status 0 only if every mutant that was tried was killed.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import cli

Mutant = collections.namedtuple("Mutant", "list title file test case old new")
# A test without any mutant: what it needs built, how long it ran, and why it failed if it did.
Trial = collections.namedtuple("Trial", "programs seconds failure")

TIMEOUT = 900  # seconds for the build or the run of one test
# Built with few optimizations and with simt's headers compiled before, a test takes half the time.
MAKE = ["make", "-s", "CPU=1", "OPTIMIZE=-O0"]
KILLED = "killed"


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
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode:
        raise BadList(f"copies are made of what git knows: {listed.stderr.strip()}")
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    # simt's engine, if it was built: it takes a minute and fits every copy.
    for kind in ("plain", "instrumented"):
        if (root / "build/simt" / kind).is_dir():
            shutil.copytree(root / "build/simt" / kind, folder / "build/simt" / kind)


class Copy:
    """A copy of the repository in which tests are built and run."""

    def __init__(self, folder, environment):
        self.root = folder
        self.environment = environment
        self.beginning = threading.Lock()
        self.ended = False  # whether nothing may begin any more
        self.running = None  # the last command
        self.said = ""  # by the last command

    def succeeds(self, command, limit=TIMEOUT):
        with self.beginning:
            if self.ended:
                raise Ended
            self.running = running = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                errors="replace",
                start_new_session=True,  # a key of the terminal ends this script, which ends it
            )
        try:
            self.said, _ = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            self.said = f"{command[0]} took more than {limit:.0f} s"
        if self.ended:
            raise Ended
        return running.wait() == 0

    def end(self):
        """Ends what runs here, with what it has started; nothing begins here any more."""
        with self.beginning:
            self.ended = True
            if self.running and self.running.poll() is None:
                os.killpg(self.running.pid, signal.SIGKILL)

    def build_engine(self):
        """simt's engine takes a minute to build and fits every copy; tests with checks take one,
        programs the other."""
        source, target = (self.root.with_suffix(suffix) for suffix in (".cu", ".out"))
        cli.write_text(source, "int main() {}\n")
        for kind in ([], ["--simt-check"]):
            self.succeeds([sys.executable, "simt/nvcc", *kind, source, "-o", target])

    def builds(self, test, programs=()):
        return test.endswith(".py") or self.succeeds([*MAKE, f"build/{test}", *programs])

    def passes(self, test, case, limit=TIMEOUT):
        """Runs a test that was built, or one case of it, until the first failure."""
        is_python = test.endswith(".py")
        start = [sys.executable, test, "-f"] if is_python else [f"build/{test}", "-a"]
        case, _, section = (case or "").partition(" > ")
        case = case if is_python else case.replace(",", "\\,")  # to Catch2 a comma means "or"
        return self.succeeds(start + [case] * bool(case) + ["-c", section] * bool(section), limit)

    def try_without(self, test, case):
        """Whether a test passes without any mutant: a Trial. Some need their chapter's program,
        which takes longer to build than most tests."""
        chapter = re.match(r"tests/(\d\d)_", test)
        for programs in [[], [chapter.group(1)]] if chapter else [[]]:
            begin = time.monotonic()
            if self.builds(test, programs):
                begin = time.monotonic()
                if self.passes(test, case):
                    return Trial(programs, time.monotonic() - begin, "")
        last = self.said.strip().splitlines()[-1:] or ["no output"]
        return Trial(programs, 0, f"its test fails without it: {last[0]}")

    def outcome(self, mutant, trial):
        if trial.failure:
            return trial.failure
        with planted(self.root, mutant):
            if not self.builds(mutant.test, trial.programs):
                return "does not build"
            # What takes much longer than without the mistake hangs.
            if self.passes(mutant.test, mutant.case, min(TIMEOUT, 60 + 5 * trial.seconds)):
                return "not noticed"
            return KILLED


def work_of(test):
    """About how many seconds of one core it takes."""
    if test.endswith(".py"):
        return 1
    return 12 if test.startswith("tests/common/") else 30


def part_of(mutants, part):
    """'3/10' is the fourth of ten parts that take about equally long. The mutants of one test stand
    together: a test that was built for one is nearly built for the next."""
    found = re.fullmatch(r"(\d+)/([1-9]\d*)", part)
    if not found:
        raise BadList(f"--part {part}: expected K/N, the K-th of N parts")
    k, n = map(int, found.groups())
    until = list(itertools.accumulate(work_of(mutant.test) for mutant in mutants))
    part_at = lambda i: (until[i] - work_of(mutants[i].test)) * n // until[-1]
    return [mutant for i, mutant in enumerate(mutants) if part_at(i) == k % n]


def parse_arguments():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--only", metavar="TEXT,...", help="mutants whose list or title holds TEXT")
    parser.add_argument("--part", metavar="K/N", help="the K-th of N parts; K is taken modulo N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies at work")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: at least 1")
    return parser, arguments


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that the copies go
        signal.signal(number, lambda number, _: sys.exit(128 + number))
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


def environment_of(jobs, folder):
    """Of a copy that has so many beside it. Two threads at least: with one, none meets another.
    What its processes have in files for a while goes with the copies."""
    threads = str(max(2, (os.cpu_count() or 1) // jobs))
    more = {"SIMT_PRECOMPILE": "1", "SIMT_THREADS": threads, "OMP_NUM_THREADS": threads}
    more["TMPDIR"] = str(folder / "tmp")
    # Python would take the bytecode of a file that changes twice a second for that of the file now.
    return {**os.environ, **more, "PYTHONDONTWRITEBYTECODE": "1"}


def fill_copies(root, copies, with_engine):
    """The first copy, then the others, which find simt's engine built."""
    first = copies[0]
    copy_repository(root, first.root)
    if with_engine:
        first.build_engine()
    for copy in copies[1:]:
        shutil.copytree(first.root, copy.root, symlinks=True)


class Run:
    """Tries each test without any mutant, then with each of its own, in whatever copy is idle."""

    def __init__(self, mutants, pool, copies):
        self.pool = pool
        self.counts = collections.Counter()
        self.idle = queue.SimpleQueue()
        for copy in copies:
            self.idle.put(copy)
        tests = {}  # test: {case: mutants}
        for mutant in mutants:
            tests.setdefault(mutant.test, {}).setdefault(mutant.case, []).append(mutant)
        # What takes longest begins first.
        self.begun = []
        for test, cases in sorted(tests.items(), key=lambda item: -work_of(item[0])):
            self.begun.append(pool.submit(self.try_test, test, cases))

    def wait(self):
        for one in self.begun:  # which grows
            one.result()

    @contextlib.contextmanager
    def copy(self):
        copy = self.idle.get()
        try:
            yield copy
        finally:
            self.idle.put(copy)

    def try_test(self, test, cases):
        with self.copy() as copy:
            for case, mutants in cases.items():
                trial = copy.try_without(test, case)
                self.begun += [self.pool.submit(self.plant, mutant, trial) for mutant in mutants]

    def plant(self, mutant, trial):
        with self.copy() as copy:
            begin = time.monotonic()
            what = copy.outcome(mutant, trial)
        self.counts[mutant.list, what.split(":")[0]] += 1
        seconds = time.monotonic() - begin
        print(f"{seconds:5.0f} s  {what:<12} {name_of(mutant)}", flush=True)


def end_all(copies):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever is impatient would leave half of it
    for copy in copies:
        copy.end()


def run_all(root, mutants, arguments):
    with_engine = not all(mutant.test.endswith(".py") for mutant in mutants)
    with contextlib.ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="mutate-")))
        environment = environment_of(arguments.jobs, folder)
        Path(environment["TMPDIR"]).mkdir()
        copies = [Copy(folder / str(job), environment) for job in range(arguments.jobs)]
        pool = ending.enter_context(concurrent.futures.ThreadPoolExecutor(arguments.jobs))
        ending.callback(end_all, copies)  # before the pool waits for them
        fill_copies(root, copies, with_engine)
        run = Run(mutants, pool, copies)
        run.wait()
    print_table(run.counts)
    return 0 if {what for _, what in run.counts} == {KILLED} else 1


if __name__ == "__main__":
    cli.run(main)
