"""A course's own file, which no release holds: when what is due, and cases that only the grading
asks.

    from exercise.api import Array, Case, floats

    DUE = {"01/guard": "2027-03-08 23:59", "01/view": "2027-03-15 23:59"}

    def cases(exercise, random):
        if exercise == "01/guard":
            x, y = floats(random, 7777), floats(random, 7777)
            yield Case("ours", {"n": 7777}, [Array("x", x), Array("y", y, "in_out")])
"""

import importlib.util
import time
from dataclasses import dataclass, field
from typing import Callable

from .catalog import ExerciseError


@dataclass
class Course:
    due: dict = field(default_factory=dict)  # seconds, by the ID of an exercise
    cases: Callable = lambda exercise, random: ()
    path: object = None

    @staticmethod
    def read(path, names):
        """The file; names: the IDs of all exercises."""
        try:
            spec = importlib.util.spec_from_file_location("course", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            due = {
                name: time.mktime(time.strptime(when, "%Y-%m-%d %H:%M"))
                for name, when in getattr(module, "DUE", {}).items()
            }
        except Exception as error:  # whatever a file may raise
            raise ExerciseError(f"{path}: {type(error).__name__}: {error}") from error
        for name in sorted(set(due) - set(names)):
            raise ExerciseError(f"{path}: DUE names {name}, and there is no such exercise")
        return Course(due, getattr(module, "cases", Course.cases), path)

    def late(self, exercise, seconds):
        """How late a file is that was last changed then: "2 d 3 h", or nothing."""
        over = seconds - self.due.get(exercise, float("inf"))
        if over <= 0:
            return ""
        minutes = int(over // 60)
        days, hours = minutes // 1440, minutes // 60 % 24
        return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"
