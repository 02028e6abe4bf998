"""The exercises: skeletons out of authors' files, verdicts in the reader's terms, and the whole way
of a student through one of them."""

import contextlib
import io
import os
import random
import shutil
import struct
import time
import unittest
from dataclasses import replace
from unittest import mock

from tool_case import REPOSITORY, ToolCase

import lessons
from exercise import (
    api,
    author,
    building,
    catalog,
    commands,
    comparing,
    judging,
    pages,
    running,
    skeleton,
    speed,
    wrong_ways,
)
from exercise.api import Array, Case, Count, Right, Speed
from exercise.catalog import ExerciseError

AUTHOR = """\
int twice(int x) {
  //@ task 1: double it
  //@ hint: add it to itself
  //@ instead: int y = 0;
  //@ begin
  int y = x + x;
  //@ end
  return y;
}
"""


class Skeletons(unittest.TestCase):
    def test_the_solution_is_gone_and_what_stands_in_for_it_is_there(self):
        text = skeleton.skeleton(AUTHOR, "a.cuh")
        self.assertNotIn("x + x", text)
        self.assertNotIn("add it to itself", text)
        self.assertIn("  // TODO 1: double it\n  int y = 0;\n", text)
        self.assertIn("  int y = 0;\n  // your code here, instead of what stands above\n", text)

    def test_the_authors_version_has_no_marks(self):
        self.assertEqual(
            skeleton.solution(AUTHOR, "a.cuh"),
            "int twice(int x) {\n  int y = x + x;\n  return y;\n}\n",
        )

    def test_a_mutant_has_other_text_for_a_task(self):
        self.assertIn("  int y = 3 * x;\n", skeleton.mutant(AUTHOR, "a", {1: "int y = 3 * x;"}))
        self.assertEqual(skeleton.mutant(AUTHOR, "a", {}), skeleton.solution(AUTHOR, "a"))

    def test_marks_that_do_not_fit_are_refused_with_their_line(self):
        for text in (
            "//@ begin\n",
            "//@ task 1: a\n",
            "//@ nosuch\n",
            AUTHOR.replace("//@ end\n", ""),
        ):
            with self.assertRaises(ExerciseError):
                skeleton.skeleton(text, "a.cuh")


class Verdicts(unittest.TestCase):
    """compare() on bytes as they come back from a run."""

    def setUp(self):
        self.case = Case(
            "n = 4",
            {"n": 4},
            [Array("x", [1.0, 2.0, 3.0, 4.0]), Array("y", role="output", count=4, shape=(2, 2))],
            tile=3,
        )
        self.want = {"y": [1.0, 2.0, 3.0, 4.0]}

    def says(self, y, x=(1.0, 2.0, 3.0, 4.0), before=b"", after=b"", bound=0.0):
        guard = bytes([comparing.GUARD_BYTE]) * comparing.GUARD
        result = {
            "x": guard + struct.pack("4f", *x) + guard,
            "y": guard[: len(guard) - len(before)] + before + y + after + guard[len(after) :],
        }
        return comparing.compare(self.case, result, self.want, lambda *_: bound)

    def test_right(self):
        self.assertEqual(self.says(struct.pack("4f", 1, 2, 3, 4)), "")
        self.assertEqual(self.says(struct.pack("4f", 1, 2, 3, 4.5), bound=0.5), "")

    def test_the_first_wrong_element_is_told_by_row_and_column(self):
        self.assertEqual(
            self.says(struct.pack("4f", 1, 5, 3, 6)),
            "2 of 4 wrong, the first is y at row 0, column 1: expected 2, got 5\n"
            "all that is wrong lies in column 1",
        )

    def test_wrong_in_the_last_tile_only(self):
        says = self.says(struct.pack("4f", 1, 2, 3, 6))
        self.assertIn("all that is wrong lies in the last 3-element tile", says)

    def test_wrong_in_some_rows_only(self):
        self.case.tile = 0
        says = self.says(struct.pack("4f", 1, 2, 9, 9))
        self.assertTrue(says.endswith("\nall that is wrong lies in row 1"), says)

    def test_what_was_to_change_and_did_not(self):
        self.case["y"].role, self.case["y"].values = "in_out", [5.0, 6.0, 7.0, 8.0]
        says = self.says(struct.pack("4f", 5, 6, 7, 8))
        self.assertEqual(says, "y is as it was before: nothing was written")

    def test_nan_is_wrong_and_unwritten_is_told(self):
        computed = self.says(struct.pack("4f", 1, 2, float("nan"), 4), bound=1e9)
        self.assertIn("1 of 4 wrong", computed)
        self.assertIn("got nan", computed)
        self.assertEqual(self.says(b"\xff" * 16), "y was never written")
        self.assertIn("never written", self.says(struct.pack("2f", 1, 2) + b"\xff" * 8))

    def test_whole_numbers_are_shown_digit_by_digit(self):
        self.case["y"].type, self.want = "uint", {"y": [1, 2, 3, 4_000_000_001]}
        says = self.says(struct.pack("4I", 1, 2, 3, 4_000_000_000))
        self.assertIn("expected 4000000001, got 4000000000", says)

    def test_inputs_and_guards(self):
        right = struct.pack("4f", 1, 2, 3, 4)
        self.assertEqual(self.says(right, x=(1, 2, 7, 4)), "input x was changed, first at x[2]")
        self.assertEqual(
            self.says(right, after=b"1234"),
            "wrote past the end of y, 4 bytes beyond its 4 elements",
        )
        self.assertEqual(self.says(right, before=b"12"), "wrote 2 bytes before the start of y")


class Words(unittest.TestCase):
    def test_one_block_is_no_blocks(self):
        self.assertEqual(api.many(1, "block"), "1 block")
        self.assertEqual(api.many(0, "block"), "0 blocks")
        counts = {"blocks": 1, "threads": 256, "global": {"load_requests": 64}}
        part = catalog.find(REPOSITORY, "01/guard").judge().POINTS[-1]
        self.assertIn("1 block of 256 threads were started", part.says(counts))


class Marks(unittest.TestCase):
    """mark() on runs that are made up."""

    class Module:
        POINTS = [
            Right(1, "first", lambda case: case.name == "a"),
            Right(2, "all"),
            Count(3, "reads", "a", lambda counts, case: counts["reads"] <= 1, str),
        ]

        def cases(self, random):
            return [Case(name, {}, [Array("x", [1.0])]) for name in "abcdefgh"]

        def expected(self, case):
            return {}

    def verdict(self, run):
        return judging.mark(judging.Questions(self.Module()), lambda case, settings: run(case))

    def right(self, case, **counts):
        guard = bytes([comparing.GUARD_BYTE]) * comparing.GUARD
        return running.Run(arrays={"x": guard + case["x"].data() + guard}, counts=counts)

    def test_counts_earn_points_once_all_is_right(self):
        self.assertTrue(self.verdict(lambda case: self.right(case, reads=1)).passed)
        verdict = self.verdict(lambda case: self.right(case, reads=2))
        self.assertEqual([o.points for o in verdict.outcomes], [1, 2, 0])
        self.assertEqual(verdict.outcomes[2].says, "a: {'reads': 2}")
        wrong = lambda case: self.right(case, reads=1) if case.name < "h" else running.Run("no")
        self.assertEqual([o.points for o in self.verdict(wrong).outcomes], [1, 0, 0])

    def test_without_a_kernel_there_are_no_points_for_counts(self):
        verdict = self.verdict(self.right)
        self.assertEqual([o.points for o in verdict.outcomes], [1, 2, 0])
        self.assertIn("no kernel did what is counted", verdict.outcomes[2].says)

    def test_a_count_may_be_of_several_cases_and_holds_in_each(self):
        part = Count(3, "reads", lambda case: case.name in "bc", lambda c, case: c["reads"] <= 1)
        with mock.patch.object(self.Module, "POINTS", [part]):
            some = lambda case: self.right(case, reads=1 + (case.name == "c"))
            verdict = self.verdict(some)
            self.assertEqual((verdict.points, verdict.outcomes[0].says), (0, "c"))
            self.assertTrue(self.verdict(lambda case: self.right(case, reads=1)).passed)

    def says(self, part, **counts):
        """What is said of that part of the points, of a run with these counts."""
        with mock.patch.object(self.Module, "POINTS", [part]):
            return self.verdict(lambda case: self.right(case, **counts)).outcomes[0].says

    def test_who_is_idle_shares_no_work(self):
        def run(blocks, load_bytes, busiest, lanes=8.0):
            busy = {"thread_load_bytes": busiest, "block_load_bytes": busiest}
            busy |= {"block_store_bytes": 0, "thread_steps": 5}
            total = {"load_bytes": load_bytes, "store_bytes": 0}
            return {"blocks": blocks, "threads": 64, "executions": 100, "global": total,
                    "busiest": busy, "active_lanes_per_instruction": lanes}

        part = Count(1, "reads", "c", lambda counts, case: True, blocks=lambda case: 2)
        self.assertEqual(self.says(part, **run(2, 400, 200)), "")
        self.assertEqual(self.says(part, **run(2, 300, 200)), "")  # one has half of the other's
        self.assertIn("c: 1 block for work that 2", self.says(part, **run(1, 400, 400)))
        self.assertIn("share the work as if 1 did", self.says(part, **run(2, 400, 400)))
        self.assertIn("1.0 lanes of a warp work", self.says(part, **run(2, 400, 200, lanes=1.0)))
        asked = lambda case: {"loads": 4, "steps": 20}
        part = Count(1, "reads", "c", lambda counts, case: True, threads=asked)
        self.assertEqual(self.says(part, **run(2, 400, 100)), "")
        self.assertIn("64 threads were started, but share the loads as if 2",
                      self.says(part, **run(2, 400, 200)))
        asked = lambda case: {"steps": 21}
        part = Count(1, "reads", "c", lambda counts, case: True, threads=asked)
        self.assertIn("share the steps as if 20", self.says(part, **run(2, 400, 100)))

    def test_who_shares_the_work_meets_where_arrays_overlap(self):
        module = type("Module", (self.Module,), {})
        module.cases = staticmethod(lambda random: [Case("a", {}, [], meets="all by one thread")])
        questions = judging.Questions(module)
        for trouble, says in (
            ("race: two threads", ""),
            ("", "all by one thread"),
            ("it crashed", "it crashed"),
        ):
            run = running.Run(trouble)
            self.assertEqual(questions.says(questions.cases[0], run), says)

    def test_what_no_kernel_wrote_is_no_result(self):
        made = lambda **more: lambda case: replace(self.right(case, reads=1), **more)
        self.assertTrue(self.verdict(made(copies=(64, 64))).passed)
        verdict = self.verdict(made(copies=(65, 0)))
        self.assertIn("the host code copied 65 bytes to the device", verdict.outcomes[0].says)
        verdict = self.verdict(made(aliens={"x": (4, 4)}))
        self.assertEqual(
            verdict.outcomes[0].says, "a: x[1] was written, but by no kernel (4 bytes of x)"
        )
        with mock.patch.object(self.Module, "COPIES", True, create=True):
            self.assertTrue(self.verdict(made(copies=(65, 65))).passed)

    def test_a_file_has_so_much_time_for_all_its_cases(self):
        clock = [0]

        def slow(case, settings):
            clock[0] += 25
            return self.right(case, reads=1)

        questions = judging.Questions(self.Module())
        with mock.patch.object(judging.time, "monotonic", lambda: clock[0]):
            verdict = judging.mark(questions, slow, workers=1, seconds=20)
        self.assertEqual([o.points for o in verdict.outcomes], [1, 0, 0])
        self.assertIn("the 20 s for all cases together were over", verdict.outcomes[1].says)

    def test_after_a_case_that_takes_long_others_are_left_out(self):
        asked = []

        def slow(case, settings):
            asked.append(case.name)
            time.sleep(0.05)
            return running.Run("no end")

        # One at a time: with as many cores as cases all would have begun.
        questions = judging.Questions(self.Module())
        with mock.patch.object(judging, "PATIENCE", 0.01):
            verdict = judging.mark(questions, slow, workers=1)
        self.assertEqual([o.points for o in verdict.outcomes], [0, 0, 0])
        self.assertEqual(len(asked), 1)

    def test_without_patience_one_that_fails_is_enough(self):
        asked = []

        def wrong_from_c_on(case, settings):
            asked.append(case.name)
            return self.right(case, reads=1) if case.name < "c" else running.Run("no")

        questions = judging.Questions(self.Module())
        with mock.patch.object(judging, "PATIENCE", 0):
            verdict = judging.mark(questions, wrong_from_c_on, workers=1)
        self.assertEqual([o.points for o in verdict.outcomes], [1, 0, 0])
        self.assertEqual(asked, ["a", "b", "c"])
        asked.clear()
        judging.mark(questions, wrong_from_c_on, workers=1)
        self.assertEqual(len(asked), 8)


class Proofs(unittest.TestCase):
    """Which parts of the points, and which bound, a wrong answer shows to be needed."""

    class Module:
        POINTS = [
            Right(1, "short", lambda case: case.sizes["n"] < 9),
            Right(1, "long", lambda case: case.sizes["n"] >= 9),
            Count(1, "reads", lambda case: True, lambda counts, case: counts["reads"] == 1),
        ]

    def findings(self, **wrong):
        """wrong: the cases in which each is wrong, those in which it is far off, and its reads."""
        cases = [Case(str(n), {"n": n}, []) for n in (1, 2, 9)]
        versions = []
        for title, (bad, far, reads) in wrong.items():
            version = author.Version("wrong", title, "")
            for c in cases:
                version.found[c.name] = c.name in bad and "no", {"reads": reads}
                version.with_slack[c.name] = c.name in far and "no", {"reads": reads}
            versions.append(version)
        found = author._needless(self.Module, cases, versions)
        return [says.split(" proves")[0] for says in found]

    def test_a_part_is_needed_by_who_misses_it_or_earns_it_alone(self):
        short, twice = ("1", "1", 2), ("", "", 2)
        self.assertEqual(self.findings(a=short, c=twice), [])  # a earns long
        self.assertEqual(self.findings(a=short), ["'reads'"])
        self.assertEqual(self.findings(a=("19", "19", 1), c=twice), ["'short'", "'long'"])
        self.assertEqual(self.findings(), ["'short'", "'long'", "'reads'"])

    def test_a_bound_is_needed_by_who_is_off_by_little(self):
        self.Module.bound = None
        self.addCleanup(delattr, self.Module, "bound")
        others = {"a": ("1", "1", 1), "c": ("", "", 2)}
        self.assertEqual(self.findings(b=("9", "9", 1), **others), ["the bound"])
        self.assertEqual(self.findings(b=("9", "", 1), **others), [])


    def test_a_count_that_lets_twice_as_much_pass_is_told(self):
        sites = [{"wavefronts": 8, "conflict_degree": 1.0}]
        counts = {"threads": 32, "global": {"loads": 4, "lanes": 31.5, "asked": 0}, "sites": sites}
        counts |= {"sectors": 8, "requests": 2, "used": 256, "bytes_moved": 256}
        cases = [Case("a", {}, []), Case("b", {}, [])]
        version = author.Version("author", "", "", found={"a": ("", counts), "b": ("", counts)})
        for holds, is_lenient in (
            (lambda c, case: c["global"]["loads"] <= 4, False),
            (lambda c, case: c["global"]["loads"] <= 7, False),
            (lambda c, case: c["global"]["loads"] <= 8, True),
            (lambda c, case: c["global"]["loads"] <= (8 if case.name == "a" else 5), False),
            (lambda c, case: c["global"]["lanes"] >= 16, False),
            (lambda c, case: c["global"]["loads"] > 0, False),
            (lambda c, case: c["threads"] >= 32, False),
            (lambda c, case: c["global"]["asked"] == 0, False),
            (lambda c, case: c["sectors"] / c["requests"] <= 4 or c["used"] == c["bytes_moved"],
             False),
            (lambda c, case: api.conflict_degree(c) <= 1, False),
            (lambda c, case: api.conflict_degree(c) <= 2, True),
            (lambda c, case: True, False),  # of blocks or threads
            (lambda c, case: "threads" in c, True),
        ):
            module = type("Module", (), {"POINTS": [Count(1, "few", lambda case: True, holds)]})
            found = list(author._lenient(module, cases, [version]))
            self.assertEqual(len(found), is_lenient, found)


class WrongWays(unittest.TestCase):
    def test_one_thread_and_the_host_where_threads_do_not_talk(self):
        kernel = "__global__ void add(const float* x, int n) {\n  if (threadIdx.x < n) x;\n}\n"
        launch = "add<<<dim3(f(n, 1), 2), 32, 0, stream>>>(x, n);"
        ways = dict(wrong_ways.of(kernel + launch))
        titles = ["a grid of one thread", "one thread does all", "the host does it"]
        titles += ["one warp of each block works", "three of four threads have nothing to do"]
        self.assertEqual([*ways], titles)
        self.assertIn("add<<<1, 1, 0, stream>>>(x, n);", ways["a grid of one thread"])
        one, host = ways["one thread does all"], ways["the host does it"]
        self.assertIn("add<<<1, 1, 0, stream>>>(dim3(dim3(f(n, 1), 2)), dim3(32), x, n);", one)
        self.assertIn("__global__ void add(dim3 grid_, dim3 size_, const float* x, int n) {", one)
        self.assertIn("inline void add(dim3 grid_, dim3 size_, const float* x, int n) {", host)
        self.assertNotIn("<<<", host)
        warp, idle = ways[titles[3]], ways[titles[4]]
        self.assertIn("add<<<dim3(f(n, 1), 2), 128, 0, stream>>>(dim3(32), x, n);", warp)
        self.assertIn("__global__ void add(dim3 size_, const float* x, int n) {", warp)
        four = "add<<<dim3(f(n, 1), 2), 4 * dim3(32).x * dim3(32).y, 0, stream>>>"
        self.assertIn(f"{four}(dim3(32), x, n);", idle)
        flat = dict(wrong_ways.of(kernel + launch.replace(" 32", " dim3(32, 32)")))
        self.assertEqual([*flat], titles[:4])
        self.assertEqual([*dict(wrong_ways.of("__shared__ " + kernel + launch))], titles[:1])
        self.assertEqual([*wrong_ways.of(kernel)], [])

    def test_one_block_does_the_work_of_all_where_blocks_count(self):
        kernel = "__global__ void add(const float* x, int n) {\n  __syncthreads();\n}\n"
        launch = "add<<<dim3(f(n, 1), 2), 32, 0, stream>>>(x, n);"
        title = "one block does the work of all"
        text = dict(wrong_ways.of(kernel + launch, blocks=True))[title]
        self.assertIn("add<<<1, 32, 0, stream>>>(dim3(dim3(f(n, 1), 2)), x, n);", text)
        self.assertIn("void add_at(dim3 gridDim, uint3 blockIdx, const float* x, int n) {", text)
        for other in (launch.replace("dim3(f(n, 1), 2)", "1"), "cluster" + launch):
            self.assertNotIn(title, dict(wrong_ways.of(kernel + other, blocks=True)))


class Speeds(ToolCase):
    def test_quarters(self):
        for ratio, score in ((0.5, 0), (1.2, 0), (1.25, 1), (1.5, 2), (1.99, 3), (2.0, 4), (9, 4)):
            self.assertEqual(speed.quarters(ratio, full=2), score, ratio)

    def test_the_best_of_each_counts(self):
        score, words = speed.verdict([3.0, 1.0, 2.0], [1.6, 9.0, 9.0], 0.5, full=2)
        self.assertEqual(score, 2)
        self.assertIn("1 ms, 1.60 times as fast as the file you were given (1.6 ms)", words)

    def test_faster_than_the_bytes_at_peak_is_no_score(self):
        score, words = speed.verdict([0.1], [1.0], 0.11, full=2)
        self.assertEqual(score, 0)
        self.assertIn("0.1 ms cannot be", words)
        self.assertEqual(speed.verdict([0.1], [1.0], 0, full=2)[0], 4)

    def test_a_program_times_itself(self):
        exercise = catalog.find(REPOSITORY, "03/padding")
        program, case = self.root / "program", self.root / "case"
        text = exercise.author_file.read_text(encoding="utf-8")
        file = self.write("padding.cuh", "")
        file.write_text(skeleton.solution(text, "a"), encoding="utf-8")
        building.build(REPOSITORY, exercise, file, program)
        small = Speed({"rows": 8, "cols": 8}, {"a": 64, "b": 64}, bytes=512)
        running.write_case(small.case(), case)
        ms, peak = speed.timed(program, case, self.root)
        self.assertGreater(ms, 0)
        self.assertEqual(peak, 0)  # simt's GPU has no clocks

    def test_without_a_gpu_it_says_so(self):
        with mock.patch.object(speed.shutil, "which", lambda name: None):
            with self.assertRaisesRegex(ExerciseError, "speed needs a GPU and nvcc"):
                speed.measure(REPOSITORY, catalog.find(REPOSITORY, "03/padding"), None)
        with self.assertRaisesRegex(ExerciseError, "01/guard has no score for speed"):
            speed.measure(REPOSITORY, catalog.find(REPOSITORY, "01/guard"), None)


class Frame(ToolCase):
    def test_whatever_the_umask_says_the_sandbox_reads_what_was_built(self):
        simt = self.root / "build/simt"

        def build(root, scratch, tell):
            (simt / "headers").mkdir()
            (simt / "headers/front.h.gch").touch()
            (scratch / "frame.o").touch()

        with mock.patch.object(building, "_build_frame", build), mock.patch.dict(
            os.environ, SIMT_BUILD=str(simt)
        ):
            before = os.umask(0o077)
            try:
                frame = building.prepare(REPOSITORY)
            finally:
                os.umask(before)
        for path in [simt, *simt.rglob("*")]:
            wanted = 0o755 if path.is_dir() else 0o644
            self.assertEqual(path.stat().st_mode & 0o777, wanted, path)
        self.assertEqual(frame.parent, simt)


class Names(unittest.TestCase):
    def test_a_chapter_stands_for_its_exercises(self):
        every = catalog.all_exercises(REPOSITORY)
        for chapter in ("02", "02_warp_divergence"):  # .ci/run says 02
            found = catalog.find_all(REPOSITORY, chapter)
            self.assertGreater(len(found), 1)
            self.assertEqual([e.id for e in found], [e.id for e in every if e.id[:3] == "02/"])
        for name in ("02/both", "both"):
            self.assertEqual([e.id for e in catalog.find_all(REPOSITORY, name)], ["02/both"])
        with self.assertRaises(catalog.ExerciseError):
            catalog.find_all(REPOSITORY, "2")

    def test_a_path_as_a_shell_completes_it(self):
        both = catalog.find(REPOSITORY, "02/both")
        for path in (f"{both.folder}/", os.path.relpath(both.folder)):
            self.assertEqual(catalog.find(REPOSITORY, path).id, "02/both")
        for name in ("", "x" * 5000, "/", str(REPOSITORY / "README.md")):
            with self.assertRaisesRegex(catalog.ExerciseError, "there is no exercise"):
                catalog.find(REPOSITORY, name)


class Calls(unittest.TestCase):
    def test_arrays_sizes_and_values(self):
        head = "scale(float a, unsigned char* x, float2* y, int n)"
        self.assertEqual(
            catalog.call(head),
            'scale(*c.host<float>("a"), c.device<unsigned char>("x"), c.device<float2>("y"), '
            'static_cast<int>(c.size("n")))',
        )


class Pages(ToolCase):
    """The tables of exercises in pages."""

    def setUp(self):
        super().setUp()
        folder = "01_vector_add/exercises/01_guard"
        shutil.copytree(REPOSITORY / folder, self.root / folder)
        self.lesson = self.write(
            "01_vector_add/README.md",
            """
            ## The first kernel
            <!-- exercise 01/guard -->
            <!-- end exercise -->
            <!-- exercises -->
            <!-- end exercises -->
            """,
        )
        self.all = self.write("exercises.md", "<!-- exercises -->\n<!-- end exercises -->\n")

    def test_they_are_filled_from_the_folders(self):
        self.assertEqual(len([f for f in lessons.findings(self.root) if "stale" in f]), 3)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(list(lessons.findings(self.root, fill=True)), [])
        link = "[`01/guard`](exercises/01_guard/task.md)"
        text = self.lesson.read_text()
        self.assertIn(f"| {link} | Guard the last block | step | 10 | 6 | any |\n", text)
        self.assertIn(f"> Your turn: {link}, *Guard the last block*, 10 minutes.", text)
        self.assertIn("(01_vector_add/exercises/01_guard/task.md)", self.all.read_text())
        self.assertEqual(list(lessons.findings(self.root)), [])
        self.assertEqual(list(pages.missing(self.root)), [])

    def test_a_page_without_its_table_and_names_of_nothing_are_found(self):
        self.lesson.write_text("## 2 The first kernel\n")
        self.all.write_text("<!-- exercises -->\n`01/guard` and `09/nosuch`\n")
        first, second, third = pages.missing(self.root)
        self.assertIn("01_vector_add/README.md: has no table", first)
        self.assertIn("there is no exercise 09/nosuch", second)
        self.assertIn('01_guard/task.md: its chapter has no section "The first kernel"', third)
        self.lesson.write_text("<!-- exercise 01/nosuch -->\n<!-- end exercise -->\n")
        found = "\n".join(lessons.findings(self.root, [self.lesson]))
        self.assertIn("README.md:1: there is no exercise '01/nosuch'", found)

    def test_the_gpu_follows_from_what_is_included(self):
        exercise = catalog.find(self.root, "guard")
        self.assertEqual(pages.chip(exercise), "any")
        with exercise.author_file.open("a") as file:
            file.write('#include "common/kit/ptx/tma.cuh"\n')
        self.assertEqual(pages.chip(exercise), "sm_90")


class AStudentsWay(ToolCase):
    """One real exercise in a small copy of the repository."""

    def setUp(self):
        super().setUp()
        self.take_few_cases()
        for name in ("simt", "tools"):
            (self.root / name).symlink_to(REPOSITORY / name)
        folder = "01_vector_add/exercises/01_guard"
        shutil.copytree(REPOSITORY / folder, self.root / folder)
        self.exercise = catalog.find(self.root, "guard")
        self.mine = self.root / "work/01_vector_add/guard.cuh"

    def do(self, command, *arguments):
        """(status, what was printed)"""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = command(self.root, *arguments)
        return status, out.getvalue()

    def test_a_damaged_record_is_told_and_stays(self):
        record = self.root / "work/progress.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        for text in (
            "{",
            "[]",
            '{"01/guard": 3}',
            '{"01/guard": {"hints": "3"}}',
            '{"01/guard": {"passed": null}}',
            '{"01/guard": {"points": [1]}}',
            "\xff",
        ):
            record.write_bytes(text.encode("latin-1"))
            for command in (commands.show_progress, commands.list_all):
                with self.assertRaisesRegex(ExerciseError, "is damaged .*; move it away"):
                    command(self.root)
            self.assertEqual(record.read_bytes(), text.encode("latin-1"))

    def test_start_fail_hint_pass_solution_progress_reset(self):
        with self.assertRaisesRegex(ExerciseError, "not started yet: ./exercise start 01/guard"):
            commands.check(self.root, self.exercise)
        status, out = self.do(commands.start, self.exercise)
        self.assertIn("edit   work/01_vector_add/guard.cuh\ncheck  ./exercise check 01/guard", out)

        status, out = self.do(commands.check, self.exercise)
        self.assertEqual(status, 1)
        self.assertIn("FAIL  0/2  sizes that fill every block", out)
        self.assertIn("n = 256: y is as it was before: nothing was written", out)
        with self.assertRaisesRegex(ExerciseError, "opens when"):
            commands.solution(self.root, self.exercise, False)
        self.assertIn("hint 1 of 4 (task 1)", self.do(commands.hint, self.exercise)[1])
        self.assertIn("hint 2 of 4 (task 1)", self.do(commands.hint, self.exercise)[1])

        # Without the guard simt names the student's line.
        author_text = self.exercise.author_file.read_text(encoding="utf-8")
        no_guard = skeleton.mutant(author_text, "a", self.exercise.judge().MUTANTS["no guard"])
        self.mine.write_text(no_guard, encoding="utf-8")
        line = next(
            i
            for i, l in enumerate(no_guard.splitlines(), 1)
            if "y[i] = x[i]" in l and "//" not in l
        )
        status, out = self.do(commands.check, self.exercise)
        self.assertEqual(status, 1)
        self.assertIn("out-of-bounds: out-of-bounds read", out)
        self.assertRegex(out, rf"guard.cuh:{line}:\n +y\[i\] = x\[i\] \+ y\[i\];\n")
        self.assertNotIn("runner.cpp", out)

        self.mine.write_text("this is no C++\n", encoding="utf-8")
        self.assertIn("it does not compile:", self.do(commands.check, self.exercise)[1])

        self.mine.write_text(skeleton.solution(author_text, "a"), encoding="utf-8")
        status, out = self.do(commands.check, self.exercise)
        self.assertEqual(status, 0, out)
        self.assertIn("passed: 6/6 points", out)
        self.assertIn("word for word", self.do(commands.solution, self.exercise, False)[1])
        self.assertIn("[x] 01/guard                 6/6", self.do(commands.show_progress)[1])
        self.assertIn("1 of 1 passed", self.do(commands.show_progress)[1])
        self.assertIn("nothing is left", self.do(commands.next_exercise)[1])

        # Starting again overwrites nothing; a reset keeps what was there.
        self.do(commands.start, self.exercise)
        self.assertIn("const int i", self.mine.read_text(encoding="utf-8"))
        self.do(commands.reset, self.exercise)
        self.assertIn("your code here", self.mine.read_text(encoding="utf-8"))
        self.assertEqual(len(list(self.mine.parent.iterdir())), 2)

    def test_an_endless_loop_ends(self):
        text = self.exercise.author_file.read_text(encoding="utf-8")
        endless = skeleton.mutant(
            text, "a", {2: "for (volatile int i = 0;;) (void)i;\nconst int grid = 1;"}
        )
        self.mine.parent.mkdir(parents=True)
        self.mine.write_text(endless, encoding="utf-8")
        program = building.program(self.root, self.exercise, self.mine)
        case = next(self.exercise.judge().cases(random.Random(1)))
        with mock.patch.object(running, "LIMITS", replace(running.LIMITS, cpu_seconds=1)):
            self.assertIn("no end after 1 s of work", running.run_case(program, case).trouble)


class Authors(AStudentsWay):
    """selftest() of a faulty exercise says what is wrong."""

    test_start_fail_hint_pass_solution_progress_reset = None
    test_an_endless_loop_ends = None

    def test_each_fault_is_named(self):
        judge = self.exercise.folder / "judge.py"
        text = judge.read_text(encoding="utf-8")
        begin = text.index("RIGHTS = {")
        text = text[:begin] + """
RIGHTS = {"a thread too few": {1: "if (threadIdx.x > 0) y[threadIdx.x] += x[threadIdx.x];"}}
MUTANTS = {
    "nothing is wrong": {},
    "no C++": {1: "this is no C++"},
    "forbidden": {1: 'asm("");'},
    "before: wrong": {1: "y[0] = 0;"},
}
"""
        judge.write_text(text, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            faulty = author.selftest(self.root, catalog.all_exercises(self.root))
        self.assertEqual(faulty, 1)
        for says in (
            "1 right answers, at least 3 are wanted",
            "right answer 'a thread too few' earns 0/6: ",
            "wrong answer 'nothing is wrong' earns full points",
            "wrong answer 'no C++' does not compile: it does not compile:",
            "wrong answer 'forbidden' does not compile: guard.cuh:8: a file may not use asm",
            "'before: wrong' should be right and miss a count: ",
            "'sizes that fill every block' proves nothing: no wrong answer misses it, or earns it,",
        ):
            self.assertIn(says, out.getvalue())
        # Those that do not compile keep nobody from being judged.
        self.assertNotIn("the author's file earns", out.getvalue())

    def test_a_judge_that_raises_is_found_and_the_others_go_on(self):
        judge = self.exercise.folder / "judge.py"
        text = judge.read_text(encoding="utf-8").replace("float32(a + b)", "nosuch(a)")
        judge.write_text(text, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            author.selftest(self.root, catalog.all_exercises(self.root), seed=3)
        self.assertIn("inputs of seed 3\n", out.getvalue())
        self.assertIn("judge.py raises NameError: name 'nosuch' is not defined", out.getvalue())
        self.assertIn("0 passed, 1 failed", out.getvalue())


if __name__ == "__main__":
    unittest.main()
