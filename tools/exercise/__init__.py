"""The exercises: one file a task that a reader edits, and a judge that nobody can talk to.

  api.py        what an exercise's judge.py is written with: cases, expected values, points
  catalog.py    finds the exercises of the chapters
  skeleton.py   makes the student's file out of the author's
  rules.py      what a student's file may hold; tokens.py reads it as g++ does
  building.py   builds the program that runs a student's file, whose frame is runner.cpp
  running.py    runs it on a case, in a process of its own
  comparing.py  says what is wrong with what came back
  judging.py    all of this for one file: the points
  screen.py     lines of 80 columns, colours, how far it is
  progress.py   what a student has done so far, in work/progress.json
  commands.py   list, next, start, check, hint, solution, reset, progress, watch
  processes.py  limits and a sandbox for what students wrote
  speed.py      a score for time, where there is a GPU
  author.py     selftest: authors' files pass, skeletons and wrong answers do not
  wrong_ways.py wrong answers that any exercise may get
  pages.py      tables of exercises for the lessons and exercises.md
  release.py    a copy of the repository for students, without solutions
  handing_in.py finds the files that students have handed in
  course.py     what a course says for itself: deadlines, and cases of its own
  grading.py    grades what students have handed in; reports.py writes the grades
  similar.py    files that share what few others have
  gradescope.py the same grading as a zip for Gradescope
"""
