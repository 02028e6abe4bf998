"""The exercises: one file a task that a reader edits, and a judge that nobody can talk to.

  api.py       what an exercise's judge.py is written with: cases, expected values, points
  catalog.py   finds the exercises of the chapters
  skeleton.py  makes the student's file out of the author's
  judging.py   builds and runs a file on cases, and says what is wrong with it
  progress.py  what a student has done so far, in work/progress.json
  commands.py  list, next, start, check, hint, solution, reset, progress, watch
  author.py    selftest: the author's files pass, skeletons and mutants do not
"""
