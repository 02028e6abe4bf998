#!/usr/bin/env python3
"""For the test of the page's compiler: authors' solutions, judged as `./exercise check` judges
them. counts.py ID ... prints for each the text, its points, and what simt counted in each case."""

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

from exercise import building, catalog, judging, running, skeleton  # noqa: E402

SEED = 1  # the page's


def judged(name):
    one = catalog.find(ROOT, name)
    text = skeleton.solution(one.author_file.read_text(encoding="utf-8"), one.author_file.name)
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, one.author_file.name)
        file.write_text(text, encoding="utf-8")
        program = building.program(ROOT, one, file)

        def run(case, settings=None):
            done = running.run_case(program, case, settings=settings)
            counts[case.name] = done.counts
            return done

        verdict = judging.mark(judging.Questions(one.judge(), SEED), run)
    return {"text": text, "points": verdict.points, "most": verdict.most, "counts": counts}


print(json.dumps({name: judged(name) for name in sys.argv[1:]}))
