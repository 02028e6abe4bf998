"""What a student has done so far: work/progress.json, one entry an exercise."""

import json

import cli

from .catalog import ExerciseError


# An exercise that was not begun.
START = {"points": 0, "most": 0, "passed": False, "hints": 0, "checks": 0, "failing": 0}


class Progress:
    def __init__(self, root):
        self.path = root / "work/progress.json"
        self.entries = self.load()

    def load(self):
        if not self.path.exists():
            return {}
        try:
            entries = json.loads(cli.read_text(self.path))
            if not isinstance(entries, dict):
                raise ValueError("no object")
            for name, entry in entries.items():
                if not isinstance(entry, dict):
                    raise ValueError(f"{name} is no object")
                for key, value in START.items():
                    found = entry.get(key, value)
                    if type(found) is not type(value) or found < 0:
                        raise ValueError(f"{key} of {name} is {found!r:.40}")
        except (OSError, ValueError, RecursionError) as error:
            raise ExerciseError(f"{self.path} is damaged ({error}); move it away") from error
        return entries

    def of(self, exercise):
        """points, most, passed, hints, checks; failing: the task that failed last."""
        return {**START, **self.entries.get(exercise.id, {})}

    def set(self, exercise, **values):
        with cli.alone_in(self.path.parent):
            self.entries = self.load()
            self.entries[exercise.id] = {**self.of(exercise), **values}
            cli.write_text(self.path, json.dumps(self.entries, indent=1) + "\n")
