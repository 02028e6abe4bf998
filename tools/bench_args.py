"""The bench.args of a chapter: what `make bench` runs, one `label: arguments` a line."""

import functools
import re
import shlex

import cli
from include_graph import RUNG

# Labels that are no runs: arguments for tools/profile.py, and for tools/sanitize.py.
COUNTERS, SANITIZE = "counters", "sanitize"


def is_for_checkers(label):
    """Whether a label's arguments are for tools/sanitize.py: `sanitize`, or `sanitize_...`."""
    return label == SANITIZE or label.startswith(f"{SANITIZE}_")


class ArgumentsError(Exception):
    """The file says nothing that can be run; the message is ready to print."""


def parse(path):
    """{label: [argument, ...]} in the order of the file."""
    runs = {}
    for number, line in enumerate(cli.read_text(path).splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        label, colon, arguments = line.partition(":")
        label = label.strip()
        if not colon or not label or label in runs:
            message = f"{path}:{number}: expected one `label: arguments` for each label"
            raise ArgumentsError(message)
        try:
            runs[label] = shlex.split(arguments)
        except ValueError as error:
            raise ArgumentsError(f"{path}:{number}: {error}") from error
    return runs


def chosen(arguments):
    """What the arguments name in --only, one by one."""
    for word, following in zip(arguments, [*arguments[1:], ""]):
        if word == "--only" or word.startswith("--only="):
            yield from (following if word == "--only" else word.partition("=")[2]).split(",")


@functools.lru_cache(maxsize=64)
def _names(graph, chapter, problem):
    """Every name that a row of this problem can have: its rungs, and what the sources of the
    problem, of its chapter and of the bench write between quotes."""
    found = set()
    for path, text in graph.text.items():
        place = graph.place(path)
        shared = place.role == "common/bench" or place.chapter == chapter and not place.problem
        if not shared and (place.chapter != chapter or not place.problem.startswith(problem)):
            continue
        if place.is_rung:
            found.add(RUNG.match(path.rpartition("/")[2]).group(2))
        found.update(re.findall(r'"(\w+)"', text))
    return found


def unknown(graph, chapter, arguments):
    """The words of --only that no ladder of the chapter knows."""
    for wanted in chosen(arguments):
        problem, _, name = wanted.rpartition("/")
        name = name.removeprefix("@")
        folders = {f for f in graph.problems if f.startswith(f"{chapter}/")}
        # One folder may hold several problems of the report: bf16_gemm and bf16_gemm_nt.
        near = [f for f in folders if problem and problem.startswith(f.rpartition("/")[2])]
        names = _names(graph, chapter, max(near, key=len) if near else chapter)
        if name not in names or problem and problem not in names:
            yield wanted
