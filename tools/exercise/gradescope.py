"""The grading as a zip for Gradescope's autograder: the repository, and the two scripts that it
calls. A student's results.json is what ./exercise grade writes anyway."""

import shlex
import zipfile

from . import release
from .catalog import ExerciseError

SETUP = """\
#!/usr/bin/env bash
# Called once, as root, when the image is made: what a submission would wait for is built here.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source/course"
[[ -n ${AUTOGRADER:-} ]] || ./setup.sh --dev
python3 -c 'import sys; sys.path.insert(0, "tools")
from pathlib import Path
from exercise import building
building.prepare(Path.cwd())'
"""
RUN = """\
#!/usr/bin/env bash
# Called for each submission: files in any place that ./exercise grade knows.
set -euo pipefail
home=${AUTOGRADER:-/autograder}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/in" "$home/results"
chmod 755 "$scratch"
cp -R "$home/submission" "$scratch/in/student"
cd "$home/source/course"
grade() { ./exercise grade @IDS@ --submissions "$scratch/in" --out "$scratch/out" "$@"; }
status=0
grade || status=$?
# 3: the container has no right to make a sandbox. It is thrown away after one submission. Whatever
# else has failed, nothing runs without walls.
if [[ $status = 3 ]]; then grade --no-sandbox || true; fi
cp "$scratch/out/students/student/results.json" "$home/results/results.json"
"""


def make(root, exercises, out, course=None):
    """Writes the zip. course: the course's own file, which goes with it."""
    if out.exists():
        raise ExerciseError(f"{out} is there already")
    names = release.tracked(root)
    words = [exercise.id for exercise in exercises]
    words += ["--course", "../course.py"] if course else []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.write(root / name, f"course/{name}")
        if course:
            archive.write(course, "course.py")
        for name, text in (("setup.sh", SETUP), ("run_autograder", RUN)):
            script = zipfile.ZipInfo(name)
            script.external_attr = 0o755 << 16
            archive.writestr(script, text.replace("@IDS@", shlex.join(words)))
    print(f"{out}: an autograder for {len(exercises)} exercises")
    return 0
