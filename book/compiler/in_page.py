"""What the page asks of Python: simt's front end, and the judge of the exercises, unchanged. They
run in Pyodide, which has no processes: JavaScript runs a program (run.mjs), in this thread."""

import json
import os
import signal
import sys
from pathlib import Path

ROOT = Path("/book")
sys.path[:0] = [str(ROOT / "simt"), str(ROOT / "tools")]

from exercise import catalog, judging, processes, rules, running  # noqa: E402
from exercise.building import _first_errors  # noqa: E402
from frontend.refusals import missing_parts, with_kernels, without_false_carets  # noqa: E402
from frontend.rewrite import rewrite  # noqa: E402
from frontend.source import Refused  # noqa: E402

ARCHITECTURE = 90


class Here:
    """Stands in for a pool of threads, of which a page has one."""

    def __init__(self, workers):
        self.map = map

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


judging.ThreadPoolExecutor = Here
if not hasattr(os, "geteuid"):  # of a system that has one user
    os.geteuid = os.getuid
questions = {}  # by exercise and seed: to draw the cases takes longer than to run them


def plain_cpp(text, name):
    """What simt's front end makes of a preprocessed program, and the lines that it changed; or why
    it refuses."""
    try:
        plain, changed = rewrite(text, name, ARCHITECTURE, watched=True)
        return json.dumps({"plain": plain, "changed": sorted(changed)})
    except Refused as refusal:
        return json.dumps({"refused": str(refusal)})


def explained(messages, changed):
    """What clang says, without carets under text that nobody has written."""
    lines = {(file, line) for file, line in json.loads(changed)}
    reasons = [f"simt: {reason}" for reason in missing_parts(messages)]
    return "\n".join([without_false_carets(with_kernels(messages), lines).rstrip(), *reasons])


def look_at(name, text):
    """The program around a reader's file, or what the file may not hold."""
    one = catalog.find(ROOT, name)
    file = Path("/work") / one.author_file.name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    try:
        rules.look_at(file, one)
    except catalog.ExerciseError as refusal:
        return json.dumps({"refused": str(refusal)})
    return json.dumps({"frame": one.frame, "file": file.name})


def first_errors(messages, name):
    return _first_errors(messages, ROOT, Path("/work") / catalog.find(ROOT, name).author_file.name)


def mark(name, seed, run_program, tell):
    """The judge's verdict on the program that run_program(words, environment, stdin) runs."""

    def execute(words, view, limits, environment, box, with_stdout=False, stdin=b""):
        seconds = running.LIMITS.cpu_seconds
        done = run_program(json.dumps(words), json.dumps(environment), stdin, seconds).to_py()
        status = done["status"]
        if done["endless"]:
            status = -signal.SIGXCPU
        elif done["crashed"]:
            status = -signal.SIGSEGV
        return processes.Done(status, done["said"] + done["crashed"])

    running.execute = execute
    one = catalog.find(ROOT, name)
    if (name, seed) not in questions:
        questions[name, seed] = judging.Questions(one.judge(), seed)
    asked = questions[name, seed]
    counts, count = {}, 0

    def run(case, settings=None):
        nonlocal count
        count += 1
        tell(count, len(asked.cases), case.name)
        done = running.run_case("program", case, settings=settings)
        counts[case.name] = done.counts
        return done

    verdict = judging.mark(asked, run, workers=1)
    parts = [
        {"title": part.title, "points": part.points, "most": part.most, "says": part.says}
        for part in verdict.outcomes
    ]
    return json.dumps({"parts": parts, "counts": counts}, default=str)
