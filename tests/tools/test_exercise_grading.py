"""Submissions of every kind, good and evil: each earns what it should, none hangs, and nothing
outside of its sandbox is touched."""

import contextlib
import csv
import io
import json
import os
import shutil
import subprocess
import time
import unittest
from dataclasses import replace
from unittest import mock
from xml.etree import ElementTree

from tool_case import REPOSITORY, ToolCase

from exercise import building, catalog, grading, handing_in, processes, rules, running, skeleton
from exercise.api import Array, Case
from exercise.catalog import ExerciseError
from exercise.course import Course
from exercise.comparing import compare
from exercise.judging import Outcome, Verdict
from exercise.processes import Limits, Sandbox, View, execute

WITHOUT = Sandbox().missing("/usr")
UNSEEN = Sandbox().missing(REPOSITORY)  # say in a private folder of root's, as nobody sees it

# Host code that does its work before a right launch. One program holds all of it, and which of it
# runs n says.
EVIL = {
    "endless": "for (volatile int k = 0;;) k = k + 1;",
    "asleep": "pause();",
    "forking": "for (;;) fork();",
    "forged": 'puts("passed: 6/6 points"); fprintf(stderr, "exercise: 6/6 points\\n"); _exit(0);',
    "forged_counts": 'FILE* f = fopen(getenv("SIMT_PROFILE_JSON"), "w"); fputs("{\\"kernels\\": '
    '[{\\"threads\\": 1024}]}", f); fclose(f); _exit(0);',
    "reader": 'if (!fopen(JUDGE, "r") && !fopen("/etc/passwd", "r")) exit(7);',
    "writer": 'for (const char* p : {CANARY, "/work", "/etc/x", "/x", "../x", "x"}) '
    'if (FILE* f = fopen(p, "w")) { fputs("evil", f); fclose(f); }',
    "memory": "for (;;) memset(malloc(1 << 24), 1, 1 << 24);",
    "shared_memory": "for (;;) memset(mmap(0, 1 << 24, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, "
    "1 << 24);",
    "disk": "static char z[1 << 20]; for (int k = 0; k < 9999; ++k) { char p[64]; "
    'sprintf(p, "/tmp/%d", k); if (FILE* f = fopen(p, "w")) { fwrite(z, 1, sizeof z, f); '
    "fclose(f); } }",
    "big_file": "static char z[1 << 20]; FILE* f = fopen(getenv("
    '"SIMT_PROFILE_JSON"), "w"); for (;;) fwrite(z, 1, sizeof z, f);',
    "killer": "kill(-1, 9); kill(getppid(), 9);",
}
HEADERS = "\n".join(f"#include <{name}>" for name in ("cstdio", "cstdlib", "cstring", "signal.h"))
HEADERS += "\n#include <sys/mman.h>\n#include <unistd.h>\n"
# What is said of each; nothing of those that are right beside it.
SAYS = {
    "endless": "no end after 1 s of work: an endless loop?",
    "asleep": "no end after ",
    "forking": ".",
    "forged": "it ended before its results were written",
    "forged_counts": "it ended before its results were written",
    "reader": "it ended with status 7 before its results were written",
    "memory": ".",
    "shared_memory": ".",
    "big_file": ".",
}
# What each earns of 6 points. The last ones look for what they must not see, or for no end.
POINTS = {
    "right": 6,
    "tail": 2,
    "racing": 0,
    "no_code": 0,
    "passwd": 0,
    "solution": 0,
    "judge": 0,
    "incbin": 0,
    "templates": 0,
    "errors": 0,
    "link": 0,
    "absent": 0,
}


class Grading(ToolCase):
    """01/guard, handed in by many."""

    def setUp(self):
        super().setUp()
        self.take_few_cases()
        self.exercise = catalog.find(REPOSITORY, "guard")
        self.text = self.exercise.author_file.read_text(encoding="utf-8")
        self.submissions, self.out = self.root / "submissions", self.root / "grades"
        self.canary = self.root / "canary"
        self.canary.write_text("alive", encoding="utf-8")
        for path, mode in ((self.root.parent, 0o755), (self.root, 0o777), (self.canary, 0o666)):
            path.chmod(mode)

    def hand_in(self, student, text, place="01_vector_add"):
        self.write(f"submissions/{student}/{place}/guard.cuh", "").write_text(text)

    def mutant(self, **changes):
        return skeleton.mutant(self.text, "a", {int(k[1:]): v for k, v in changes.items()})

    def points(self):
        return {name: row["points"] for name, row in self.rows().items()}

    def hand_in_all(self):
        judge = self.exercise.folder / "judge.py"
        index = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        self.hand_in("right", skeleton.solution(self.text, "a"), "work/01_vector_add")
        self.hand_in("tail", self.mutant(_1=index + "if (i < n / 256 * 256) y[i] = x[i] + y[i];"))
        self.hand_in("racing", self.mutant(_1=index + "if (i < n) y[0] = x[i] + y[i];"), ".")
        self.hand_in("no_code", "this is no C++\n")
        includes = {"passwd": "/etc/passwd", "judge": judge, "solution": self.exercise.author_file}
        for student, path in includes.items():
            seen = f'#if !__has_include("{path}")\n#error cannot see it\n#endif\n'
            self.hand_in(student, seen + skeleton.solution(self.text, "a"))
        incbin = f'asm("stolen: .incbin \\"{judge}\\"");\n'
        self.hand_in("incbin", skeleton.solution(self.text, "a") + incbin)
        templates = "template <int D, long P> struct T { enum { v = T<D - 1, 2 * P>::v + "
        templates += "T<D - 1, 2 * P + 1>::v }; };\n"
        templates += "template <long P> struct T<0, P> { enum { v = 1 }; };\nint v = T<40, 0>::v;\n"
        self.hand_in("templates", templates + skeleton.solution(self.text, "a"))
        self.hand_in("errors", '#include __FILE__\n' + "x y z;\n" * 1000)
        (self.submissions / "link/01_vector_add").mkdir(parents=True)
        (self.submissions / "link/01_vector_add/guard.cuh").symlink_to(self.exercise.author_file)
        (self.submissions / "absent").mkdir()

    def grade(self, box, seed=1, **more):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            grading.grade_all(
                REPOSITORY, [self.exercise], self.submissions, self.out, box, seed, **more
            )
        return out.getvalue()

    def rows(self):
        with (self.out / "grades.csv").open(encoding="utf-8") as file:
            return {r["student"]: r for r in csv.DictReader(file) if r["exercise"] != "all"}

    @unittest.skipIf(UNSEEN, f"no sandbox: {UNSEEN}")
    def test_each_earns_what_it_should_and_nothing_outside_is_touched(self):
        self.hand_in_all()
        with (
            self.untouched(),
            mock.patch.object(rules, "look_at", lambda *_: None),  # the walls hold by themselves
            mock.patch.object(building, "LIMITS", replace(building.LIMITS, cpu_seconds=4)),
        ):
            before = os.umask(0o077)  # what root writes for the sandbox can be read there
            try:
                self.grade(Sandbox())
            finally:
                os.umask(before)
        rows = self.rows()
        self.assertEqual({name: int(row["points"]) for name, row in rows.items()}, POINTS)
        self.assertEqual(rows["absent"]["status"], "missing")
        self.assertEqual(rows["link"]["status"], "refused")

    @unittest.skipIf(UNSEEN, f"no sandbox: {UNSEEN}")
    def test_whatever_a_program_does_it_ends_and_nothing_outside_is_touched(self):
        judge = self.exercise.folder / "judge.py"
        names = f'#define JUDGE "{judge}"\n#define CANARY "{self.canary}"\n'
        bodies = (f"if (n == {n}) {{ {code} }}" for n, code in enumerate(EVIL.values(), 1))
        text = self.mutant(_2="\n".join(bodies) + "\nconst int grid = 1;")
        file, program = self.write("guard.cuh", ""), self.root / "program"
        file.write_text(text.replace("__global__", HEADERS + names + "__global__", 1))
        limits = replace(running.LIMITS, cpu_seconds=1, seconds=8)
        found = {}
        with self.untouched(), mock.patch.object(running, "LIMITS", limits):
            building.build(REPOSITORY, self.exercise, file, program, Sandbox())
            for n, name in enumerate(EVIL, 1):
                arrays = [Array("x", [1.0] * n), Array("y", [2.0] * n, "in_out")]
                case = Case(name, {"n": n}, arrays)
                run = running.run_case(program, case, Sandbox())
                right = {"y": [3.0] * n}
                found[name] = run.trouble or compare(case, run.arrays, right, lambda *_: 0)
            program.unlink()
        self.assertEqual({name for name, says in found.items() if says}, set(SAYS))
        for name, says in SAYS.items():
            self.assertRegex(found[name], says, name)

    @contextlib.contextmanager
    def untouched(self):
        before = self.outside()
        yield
        self.assertEqual(self.canary.read_text(), "alive")
        self.assertEqual(self.outside(), before)

    def outside(self):
        """All files that a submission might reach for, and when they changed."""
        folders = [self.submissions, self.exercise.folder]
        folders += [REPOSITORY / "tools", REPOSITORY / "simt"]
        paths = [path for folder in folders for path in folder.rglob("*")]
        paths += [*REPOSITORY.iterdir(), *self.root.iterdir()]
        made = {self.root / "grades", REPOSITORY / "build"}
        return {path: path.lstat().st_mtime_ns for path in paths if path not in made}

    def judged(self, *asked):
        """A stand-in for Paper.verdict that builds nothing: what is the author's is right."""
        right = skeleton.solution(self.text, "a").encode()

        def verdict(paper, questions, data, box):
            for each in asked:
                each(data)
            points, says = (4, "") if data == right else (0, "n = 1: y[0] is \x1b[2J\nmore")
            return Verdict([Outcome("all", points, 4, says), Outcome("blocks", 2, 2)])

        return mock.patch.object(grading.Paper, "verdict", verdict)

    def test_reports_say_the_same_in_each_form(self):
        self.hand_in("ann", skeleton.solution(self.text, "a"))
        self.hand_in("bob", "wrong")
        with self.judged():
            out = self.grade(grading.NoSandbox(), seed=7)
        self.assertIn("ann                  01/guard            6/6  passed\n", out)
        self.assertIn("bob                  01/guard            2/6  wrong  n = 1: y[0]", out)
        self.assertIn("y[0] is ?[2J\n", out)
        self.assertIn("graded 2 students with seed 7", out)
        for student, points in (("ann", 6), ("bob", 2)):
            folder = self.out / "students" / student
            record = json.loads((folder / "grade.json").read_text())
            self.assertEqual((record["points"], record["most"]), (points, 6))
            self.assertEqual(record["exercises"][0]["seed"], 7)
            self.assertEqual(len(record["exercises"][0]["sha256"]), 64)
            scope = json.loads((folder / "results.json").read_text())
            self.assertEqual(scope["score"], points)
            self.assertEqual(sum(test["max_score"] for test in scope["tests"]), 6)
            suite = ElementTree.parse(folder / "junit.xml").getroot()[0]
            failures = sum(test["score"] < test["max_score"] for test in scope["tests"])
            self.assertEqual(failures, points < 6)
            self.assertEqual(suite.get("failures"), str(failures))
            self.assertEqual(len(suite.findall("testcase/failure")), failures)
        self.assertIn("ann,all,6,6,,,\n", (self.out / "grades.csv").read_text())
        table = (self.out / "table.csv").read_text()
        self.assertEqual(table, "student,01/guard,sum\nann,6,6\nbob,2,2\n")
        with self.assertRaisesRegex(ExerciseError, "was begun with seed 7, not 1"):
            self.grade(grading.NoSandbox())

    def test_what_was_graded_stays_and_the_rest_is_graded_later(self):
        right = skeleton.solution(self.text, "a")
        self.hand_in("ann", "wrong")
        self.hand_in("bob", "wrong")
        asked = []

        def ended(data):
            asked.append(data)
            if len(asked) == 3:  # the author's, ann's, bob's
                raise processes.Ended

        with self.judged(ended):
            with mock.patch.object(os, "cpu_count", lambda: 1), self.assertRaises(processes.Ended):
                self.grade(grading.NoSandbox())
            self.assertEqual(self.points(), {"ann": "2"})
            self.hand_in("bob", right)
            self.grade(grading.NoSandbox(), seed=None)
            self.assertEqual(asked[3:], [right.encode()] * 2)  # the author's, bob's
            self.assertEqual(self.points(), {"ann": "2", "bob": "6"})
            self.hand_in("ann", right)
            self.grade(grading.NoSandbox(), students=["ann"], again=True)
            self.assertEqual(len(asked), 7)
        self.assertEqual(self.points(), {"ann": "6", "bob": "6"})
        with self.assertRaisesRegex(ExerciseError, "has no folder eve"):
            self.grade(grading.NoSandbox(), students=["eve"])

    def test_a_course_says_what_is_due_and_asks_more(self):
        file = self.write(
            "course.py",
            """
            from exercise.api import Array, Case

            DUE = {"01/guard": "2027-03-08 23:59"}

            def cases(exercise, random):
                x, y = Array("x", [1.0] * 7), Array("y", [1.0] * 7, "in_out")
                yield Case("ours", {"n": random.randrange(7, 8)}, [x, y])
            """,
        )
        before = os.environ.get("TZ")
        self.addCleanup(lambda: self.set_clock(before))
        self.set_clock("UTC+5")  # that of the course, five hours behind
        ours = Course.read(file, ["01/guard"])
        right = skeleton.solution(self.text, "a")
        due = 1804550340 + 5 * 3600  # the seconds of that minute in UTC, and the five hours
        for student, seconds in (("ann", 0), ("bob", 3 * 3600 + 300), ("cyd", 50 * 3600)):
            self.hand_in(student, right)
            path = self.submissions / student / "01_vector_add/guard.cuh"
            os.utime(path, (due + seconds, due + seconds))
        (self.submissions / "dot").mkdir()
        asked = []
        with self.judged(), mock.patch.object(
            grading.judging, "Questions", lambda *_: asked.append(mock.Mock(cases=[])) or asked[-1]
        ):
            out = self.grade(grading.NoSandbox(), course=ours)
        self.assertEqual([case.name for case in asked[0].cases], ["ours"])
        self.assertIn("bob                  01/guard            6/6  passed, 3 h 5 min late\n", out)
        late = {name: row["late"] for name, row in self.rows().items()}
        self.assertEqual(late, {"ann": "", "bob": "3 h 5 min", "cyd": "2 d 2 h", "dot": ""})
        self.assertIn("\ndot,,0\n", (self.out / "table.csv").read_text())
        with self.assertRaisesRegex(ExerciseError, "DUE names 01/guard, and there is no such"):
            Course.read(file, ["01/view"])
        file.write_text("x y")
        with self.assertRaisesRegex(ExerciseError, "course.py: SyntaxError: "):
            Course.read(file, ["01/guard"])

    def test_a_mistake_in_a_course_is_told_in_a_line(self):
        self.hand_in("ann", skeleton.solution(self.text, "a"))
        two = '[Array("x", [1.0] * 2), Array("y", [1.0] * 2, "in_out")]'
        for says, body in (
            ("01/guard: ZeroDivisionError: division by zero", "yield 1 / 0"),
            ("01/guard: TypeError: 'int' object is not iterable", "return 3"),
            ("01/guard: AttributeError: 'int' object has no attribute 'name'", "yield 3"),
            ("01/guard, case 'ours': StopIteration: ", "yield Case('ours', {'n': 2}, [])"),
            ("01/guard, case 'ours': KeyError: 'n'", f"yield Case('ours', {{'m': 2}}, {two})"),
            ("01/guard, case 'ours': NameError: ", f"yield Case('ours', {{'n': 2}}, {two})\n"
             "    nosuch()"),
        ):
            file = self.root / "course.py"
            file.write_text(
                "from exercise.api import Array, Case\n"
                f"def cases(exercise, random):\n    {body}\n"
            )
            with self.judged(), self.assertRaises(ExerciseError) as found:
                self.grade(grading.NoSandbox(), course=Course.read(file, []))
            self.assert_one_line(str(found.exception), f"course.py: {says}")

    @staticmethod
    def set_clock(zone):
        if zone is None:
            os.environ.pop("TZ", None)
        else:
            os.environ["TZ"] = zone
        time.tzset()

    def test_files_that_share_what_few_others_have_are_listed(self):
        lines = [f"  const float part{k} = x[{k} * n] - {k}.5f * y[n - {k}];" for k in range(9)]
        body = "\n".join(lines)
        for number in range(12):
            own = body.replace("part", f"p{number}_").replace("5f", f"{number}f")
            self.hand_in(f"student{number:02}", self.mutant(_1=own))
        self.hand_in("copied", self.mutant(_1="// mine\n" + body.replace(" = ", "=")))
        self.hand_in("original", self.mutant(_1=body))
        with self.judged():  # one is graded, and compared with all
            out = self.grade(grading.NoSandbox(), students=["copied"])
        self.assertIn("1 pairs of files are similar: see ", out)
        rows = (self.out / "similar.csv").read_text().splitlines()[1:]
        self.assertEqual(rows, ["01/guard,copied,original,100%"])

    def test_where_nothing_can_be_written_nothing_is_graded(self):
        self.hand_in("ann", "wrong")
        asked = []
        self.out = self.canary / "grades"
        with self.judged(asked.append), self.assertRaises(OSError):
            self.grade(grading.NoSandbox())
        self.assertEqual(asked, [])

    def test_names_of_any_bytes_and_files_in_wrong_places(self):
        right = skeleton.solution(self.text, "a")
        formulas = ("=1+1", "+1", "-1", "@a")
        odd = ("tab\tand\nline", os.fsdecode(b"caf\xe9"), "..."[:1] + "dot")
        names = ("grades.csv", *formulas, *odd)
        for name in names:
            self.hand_in(name, right)
        self.hand_in("x", right, "handin/work/01_vector_add")
        self.hand_in("y", right, "__MACOSX")
        (self.submissions / "__MACOSX").mkdir()
        (self.submissions / "link2").symlink_to(self.submissions / "x")
        os.mkfifo(self.submissions / "fifo")
        (self.submissions / "pipe/01_vector_add").mkdir(parents=True)
        os.mkfifo(self.submissions / "pipe/01_vector_add/guard.cuh")
        (self.submissions / "dir/01_vector_add/guard.cuh").mkdir(parents=True)
        (self.submissions / "loop/01_vector_add").mkdir(parents=True)
        (self.submissions / "loop/01_vector_add/guard.cuh").symlink_to("guard.cuh")
        with self.judged():
            out = self.grade(grading.NoSandbox())
        rows = self.rows()
        shown = {"grades.csv", "tab\\tand\\nline", "caf\\udce9", "x", "y", "pipe"}
        shown |= {f"'{formula}" for formula in formulas}
        shown |= {"dir", "loop"}
        self.assertEqual(set(rows), shown)
        right = {name for name, row in rows.items() if row["points"] == "6"}
        self.assertEqual(right, shown - {"x", "y", "pipe", "dir", "loop"})
        self.assertEqual(rows["dir"]["why"], "guard.cuh is not a plain file")
        self.assertEqual(rows["loop"]["why"], "a link that leads to itself")
        self.assertEqual((rows["x"]["status"], rows["pipe"]["status"]), ("missing", "refused"))
        self.assertIn("x: no file found for 01/guard\n", out)
        self.assertIn("x: handin/work/01_vector_add/guard.cuh is not where it should be\n", out)
        self.assertIn("no students: .dot, __MACOSX, fifo, link2\n", out)
        self.assertTrue((self.out / "students" / names[-2] / "grade.json").exists())

    def test_whatever_a_folder_is_like_the_run_has_an_end(self):
        deep, wide = (self.submissions / name for name in ("deep", "wide"))
        self.addCleanup(subprocess.run, ["rm", "-rf", deep])  # Python's own way is recursive, too
        for levels in range(1900):
            os.mkdir(f"{deep}{'/a' * levels}") if levels else deep.mkdir(parents=True)
        wide.mkdir()
        for number in range(9000):
            (wide / f"{number:04}").mkdir()
        self.hand_in("ann", skeleton.solution(self.text, "a"))
        self.hand_in("bob", "x" * (handing_in.MOST_BYTES + 1))
        self.hand_in("eve", skeleton.solution(self.text, "a"), "elsewhere")
        (self.submissions / "eve/01_vector_add").mkdir()
        (self.submissions / "eve/01_vector_add/guard.cuh").symlink_to("../elsewhere/guard.cuh")
        with self.judged():
            begun = time.process_time()
            out = self.grade(grading.NoSandbox())
            self.assertLess(time.process_time() - begun, 20)
        self.assertIn("deep: no file found for 01/guard\n", out)
        self.assertIn("graded 5 students", out)
        self.assertEqual(self.points(), dict(ann="6", bob="0", deep="0", eve="6", wide="0"))
        self.assertEqual(self.rows()["bob"]["why"], "guard.cuh has more than 262144 bytes")

    def test_what_cannot_be_read_is_said_without_its_path(self):
        self.hand_in("ann", "x")
        says = PermissionError(13, "Permission denied", str(self.root))
        with self.judged(), mock.patch.object(handing_in, "plain_bytes", side_effect=says):
            self.grade(grading.NoSandbox())
        row = self.rows()["ann"]
        self.assertEqual((row["status"], row["why"]), ("refused", "Permission denied"))

    def test_whatever_the_judge_meets_the_others_are_graded(self):
        self.hand_in("ann", "x")
        self.hand_in("bob", skeleton.solution(self.text, "a"))

        def broken(data):
            if data == b"x":
                raise IndexError("\x1b[2J")

        with self.judged(broken):
            self.grade(grading.NoSandbox())
        self.assertEqual(self.rows()["ann"]["why"], "the judge failed: IndexError: ?[2J")
        self.assertEqual((self.rows()["ann"]["points"], self.rows()["bob"]["points"]), ("0", "6"))

    def test_what_the_judge_failed_at_is_graded_anew(self):
        right = skeleton.solution(self.text, "a")
        for student in ("ann", "bob"):
            self.hand_in(student, right + f"// {student}\n")
        asked, fails = [], [True]

        def failing(data):
            asked.append(data)
            if fails and data.endswith(b"// ann\n"):
                raise OSError("no room")

        with self.judged(failing):
            self.grade(grading.NoSandbox())
            statuses = {name: row["status"] for name, row in self.rows().items()}
            self.assertEqual(statuses, {"ann": "error", "bob": "wrong"})
            fails.clear()
            del asked[:]
            self.grade(grading.NoSandbox(), seed=None)
        self.assertEqual([data[-4:] for data in asked[1:]], [b"ann\n"])  # the author's first
        statuses = {name: row["status"] for name, row in self.rows().items()}
        self.assertEqual(statuses, {"ann": "wrong", "bob": "wrong"})

    def test_without_a_sandbox_there_is_no_grading_unless_it_is_asked_for(self):
        with mock.patch.object(Sandbox, "missing", lambda self, root: "no bwrap"):
            with self.assertRaisesRegex(ExerciseError, "no sandbox here: no bwrap") as found:
                grading.sandbox(REPOSITORY, False)
            self.assertEqual((found.exception.status, ExerciseError.status), (3, 2))
            self.assertFalse(grading.sandbox(REPOSITORY, True).is_boxed)

    @unittest.skipIf(WITHOUT or os.geteuid() != 0, "only root's submissions run as another user")
    def test_where_nobody_sees_the_repository_there_is_no_grading(self):
        self.root.parent.chmod(0o755)
        private = self.root / "private"
        (private / "repository").mkdir(parents=True)
        private.chmod(0o755)
        self.assertTrue(grading.sandbox(private / "repository", False).is_boxed)
        private.chmod(0o700)
        with self.assertRaisesRegex(ExerciseError, "no sandbox here: .*repository: Permission"):
            grading.sandbox(private / "repository", False)


@unittest.skipIf(WITHOUT, f"no sandbox: {WITHOUT}")
class Walls(ToolCase):
    def run_boxed(self, script, **limits):
        self.root.parent.chmod(0o755)
        self.root.chmod(0o755)
        limits = Limits(**{"seconds": 20, "processes": 8, **limits})
        view = View(self.root, [self.root])
        return execute(["bash", "-c", script], view, limits, {}, Sandbox(), with_stdout=True)

    def test_no_network_no_other_processes_no_other_users(self):
        self.assertIn("unreachable", self.run_boxed("exec 3<>/dev/tcp/1.1.1.1/80").said)
        self.assertEqual(self.run_boxed("set -- /proc/[0-9]*; echo $#").said, "2\n")
        self.assertNotEqual(self.run_boxed("unshare -U true").status, 0)

    def test_only_tmp_can_be_written_and_not_without_end(self):
        for path in ("/x", "/etc/x", "/dev/x", "/usr/x", f"{self.root}/x"):
            self.assertNotEqual(self.run_boxed(f"touch {path}").status, 0, path)
        fill = "for i in $(seq 300); do head -c 1000000 /dev/zero > /tmp/$i || exit 9; done"
        self.assertEqual(self.run_boxed(fill).status, 9)

    def test_whoever_stays_is_ended(self):
        begin = time.monotonic()
        self.assertIsNone(self.run_boxed("sleep 1000 & disown; sleep 1000", seconds=1).status)
        self.assertEqual(self.run_boxed("setsid sleep 1000 & exit 0").status, 0)
        self.assertLess(time.monotonic() - begin, 100)


if __name__ == "__main__":
    unittest.main()
