"""A score for speed, where there is a GPU: quarters, by the time of a version over that of the
file which the student was given. It is for the student alone; no grade hangs on a clock."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import cli

from . import building, running, skeleton
from .catalog import ExerciseError
from .processes import Limits, NoSandbox, View, execute

ROUNDS = 3  # the best counts; both versions take turns
LIMITS = Limits(seconds=120)


def quarters(ratio, full):
    """0 to 4, in equal steps from as fast as the baseline to `full` times as fast: a score that
    noise of a few per cent seldom changes."""
    return max(0, min(4, int(4 * (ratio - 1) / (full - 1))))


def verdict(times, baseline, least_ms, full):
    """(quarters, in words). least_ms: what the bytes alone take at the GPU's peak; 0 if unknown."""
    best, given = min(times), min(baseline)
    if best < least_ms:
        return 0, (
            f"{best:.4g} ms cannot be: to move the bytes alone takes {least_ms:.4g} ms at the "
            "peak of this GPU. What is left out?"
        )
    ratio = given / best
    score = quarters(ratio, full)
    words = f"{best:.4g} ms, {ratio:.2f} times as fast as the file you were given ({given:.4g} ms)"
    return score, f"{words}: {score} of 4 quarters (4 from {full:g} times on)"


def measure(root, exercise, source):
    """The verdict on a file that is right."""
    plan = getattr(exercise.judge(), "SPEED", None)
    if plan is None:
        raise ExerciseError(f"{exercise.id} has no score for speed")
    architecture = _gpu()
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        author, given = exercise.author_file, Path(folder, "given.cuh")
        cli.write_text(given, skeleton.skeleton(cli.read_text(author), author.name))
        case = Path(folder, "case")
        running.write_case(plan.case(), case)
        programs = [_build(root, exercise, file, architecture, folder) for file in (source, given)]
        times, peak_gbps = ([], []), 0
        for _ in range(ROUNDS):
            for program, found in zip(programs, times):
                ms, peak_gbps = timed(program, case, folder)
                found.append(ms)
    least_ms = plan.bytes / (peak_gbps * 1e6) if peak_gbps else 0
    return verdict(*times, least_ms, plan.full)


def _gpu():
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    found = ""
    if shutil.which("nvcc") and shutil.which("nvidia-smi"):
        found = subprocess.run(query, capture_output=True, text=True).stdout.split("\n")[0]
    if not found:
        raise ExerciseError("speed needs a GPU and nvcc; the points of `check` need neither")
    return found.replace(".", "").replace("90", "90a")


def _build(root, exercise, source, architecture, folder):
    program = Path(folder, f"{source.stem}-program")
    words = ["nvcc", "-std=c++17", "-O3", "-I.", f"-gencode=arch=compute_{architecture},"]
    words[-1] += f"code=sm_{architecture}"
    words += [f'-DEXERCISE_FILE="{source}"', str(building.main_file(exercise, program))]
    words += ["tools/exercise/runner.cpp", "-o", str(program)]
    done = execute(words, View(root, []), LIMITS, {}, NoSandbox(), with_stdout=True)
    if done.status != 0:
        raise ExerciseError(f"nvcc does not compile it:\n{done.said}")
    return program


def timed(program, case, folder):
    """(milliseconds, the GPU's peak in GB/s or 0) of one run of a program."""
    words = [str(program), str(case), str(Path(folder, "times")), "--time"]
    done = execute(words, View(folder, []), LIMITS, {}, NoSandbox())
    if done.status != 0:
        raise ExerciseError(f"the run that is timed fails: {done.said.strip()}")
    ms, peak = Path(folder, "times").read_text(encoding="utf-8").split()
    return float(ms), float(peak)
