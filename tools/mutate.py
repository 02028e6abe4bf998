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

All work is done in copies of this repository, one for each of --jobs, with kernels on the CPU. A
mutant is killed if its test fails, hangs or crashes; whether the test passes without it is tried
first. Exit status 0 only if every mutant that was tried was killed.
"""

import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cli

Mutant = collections.namedtuple("Mutant", "list title file test old new")

TIMEOUT = 300  # seconds for the build and the run of one test


class BadList(Exception):
    """A list of mutants that cannot be read, or no longer fits the sources."""


def read_list(path):
    """The mutants of one file."""
    mutants = []
    for entry in re.split(r"^== ", cli.read_text(path), flags=re.MULTILINE)[1:]:
        found = re.fullmatch(
            r"(?P<title>.+)\nfile (?P<file>\S+)\ntest (?P<test>\S+)\n"
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


def apply(root, mutant):
    """Plants the mutant and returns the text that was there before."""
    text = text_around(root, mutant)
    (root / mutant.file).write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return text


def copy_repository(root, folder):
    """A copy of what git knows of, or would know of if it were added."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)


class Copy:
    """A copy of the repository in which tests are built and run."""

    def __init__(self, root, folder):
        self.root = folder
        copy_repository(root, folder)

    def passes(self, test):
        """Builds a test and runs it: (whether it passed, what it printed)."""
        if test.endswith(".py"):
            commands = [[sys.executable, test]]
        else:
            needed = [f"build/{test}"]
            # A test of a chapter runs the chapter's program as well.
            chapter = re.match(r"tests/(\d\d)_", test)
            needed += [chapter.group(1)] if chapter else []
            commands = [["make", "-s", "CPU=1", *needed], [f"build/{test}"]]
        output = ""
        for command in commands:
            try:
                done = subprocess.run(
                    command,
                    cwd=self.root,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    timeout=TIMEOUT,
                    errors="replace",
                )
            except subprocess.TimeoutExpired:
                return False, f"{command[0]} took more than {TIMEOUT} s"
            output = done.stdout
            if done.returncode != 0:
                return False, output
        return True, output

    def builds(self, test):
        if test.endswith(".py"):
            return True
        command = ["make", "-s", "CPU=1", f"build/{test}"]
        return subprocess.run(command, cwd=self.root, capture_output=True).returncode == 0


def try_mutants(copy, mutants):
    """Yields (mutant, what became of it) for mutants of one test."""
    test = mutants[0].test
    passed, output = copy.passes(test)
    if not passed:
        last = output.strip().splitlines()[-1:] or ["no output"]
        for mutant in mutants:
            yield mutant, f"its test fails without it: {last[0]}"
        return
    for mutant in mutants:
        before = apply(copy.root, mutant)
        try:
            passed, _ = copy.passes(test)
            if passed:
                yield mutant, "not noticed"
            elif not copy.builds(test):
                yield mutant, "does not build"
            else:
                yield mutant, "killed"
        finally:
            (copy.root / mutant.file).write_text(before, encoding="utf-8")


def parse_arguments():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--only", metavar="TEXT", help="mutants whose list or title holds TEXT")
    parser.add_argument(
        "--tenth", type=int, metavar="K", help="every tenth one, from number K mod 10"
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no test after S seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies at work")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: at least 1")
    return parser, arguments


def main():
    parser, arguments = parse_arguments()
    root = arguments.root.resolve()
    try:
        mutants = [m for p in sorted((root / "tests/mutants").glob("*.txt")) for m in read_list(p)]
        for mutant in mutants:
            text_around(root, mutant)  # a list that no longer fits is told before hours of work
        if arguments.only:
            mutants = [m for m in mutants if arguments.only in f"{m.list}: {m.title}"]
        if arguments.tenth is not None:
            mutants = mutants[arguments.tenth % 10 :: 10]
        if not mutants:
            parser.error("no such mutants")
        if arguments.list:
            for mutant in mutants:
                print(f"{mutant.list}: {mutant.title} ({mutant.test})")
            return 0
        return run_all(root, mutants, arguments)
    except BadList as error:
        parser.error(str(error))


def run_all(root, mutants, arguments):
    groups = collections.defaultdict(list)
    for mutant in mutants:
        groups[mutant.test].append(mutant)
    start = time.monotonic()
    outcome = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copies = [Copy(root, Path(folder, str(job))) for job in range(arguments.jobs)]

        def work(group):
            if arguments.seconds and time.monotonic() - start > arguments.seconds:
                return [(mutant, "not tried, no time left") for mutant in group]
            copy = copies.pop()
            try:
                return list(try_mutants(copy, group))
            finally:
                copies.append(copy)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for done in concurrent.futures.as_completed(
                [pool.submit(work, group) for group in groups.values()]
            ):
                for mutant, what in done.result():
                    outcome[what.split(":")[0]] += 1
                    print(f"{what:<12} {mutant.list}: {mutant.title} ({mutant.test})", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(outcome.items())))
    bad = sum(outcome.values()) - outcome["killed"] - outcome["not tried, no time left"]
    return 1 if bad or outcome["killed"] == 0 else 0


if __name__ == "__main__":
    cli.run(main)
