"""What the judge reads of a student's process may be damaged or hostile: it is no result, and never
an exception. And tricks that earn nothing."""

import array
import contextlib
import json
import os
import random
import signal
import subprocess
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from tool_case import REPOSITORY, ToolCase

from exercise import building, catalog, handing_in, judging, processes, rules, running, similar
from exercise import skeleton
from exercise.catalog import ExerciseError

SEAL = "5ea1" * 16
FILES = 1000
GUARD = catalog.find(REPOSITORY, "01/guard")

ODD = [
    None, True, -1, 0, 1, 2**63, 2**64, -(2**70), 10**400, 0.5, 1e308, float("inf"), float("nan"),
    "", "x", "\x00", "\ud800", "9" * 5000, [], [[]], {}, {"": {}}, {"message": ""},
    {"message": None},
]  # fmt: skip


def hostile(random, depth=0):
    """Any JSON, with names that the readers know."""
    kind = random.randrange(6)
    if depth > 4 or kind == 0:
        return random.choice(ODD)
    if kind == 1:
        return [hostile(random, depth + 1) for _ in range(random.randrange(4))]
    names = "seal reports message kernels global load_bytes threads sites shared".split()
    names = random.sample(names, random.randrange(len(names)))
    return {name: hostile(random, depth + 1) for name in names}


def damaged(random, data):
    """Bytes, some of them others, some missing, some twice."""
    data = bytearray(data)
    for _ in range(random.randrange(4)):
        at, how = random.randrange(len(data) + 1), random.randrange(4)
        if how == 0:
            data[at:at] = random.randbytes(random.randrange(9))
        elif how == 1:
            del data[at : at + random.randrange(len(data) + 1)]
        elif how == 2:
            data[at : at + 4] = b"[" * random.choice((1, 4, 100_000))
        else:
            data[at : at + 1] = random.choice((b"\xff", b"\x00", b"9" * 5000, b"-", b"\n"))
    return bytes(data)


def one_thread(_):
    """Stands in for a ThreadPoolExecutor, and begins no thread."""
    return contextlib.nullcontext(SimpleNamespace(map=map))


class Readers(ToolCase):
    results = {}  # what is right, by the case's name

    def test_no_report_no_counts_and_no_result_stops_the_judge(self):
        draw = random.Random(7)
        self.take_few_cases()
        questions = judging.Questions(GUARD.judge())
        del questions.cases[1]  # one is left a part of the points
        case = questions.cases[0]
        plain = self.root / "case"
        running.write_case(case, plain)
        whole = plain.read_bytes().split(b"\ndata\n", 1)[1]
        result = f"{SEAL}\ncopies 0 0\nalien y 4 8\n".encode() + b"data\n" + whole
        self.assertIsNotNone(self.result(case, result))
        for _ in range(FILES):
            known = hostile(draw)
            if isinstance(known, dict) and draw.random() < 0.9:
                known["seal"] = SEAL  # as if somebody knew it
            text = json.dumps(known).encode()
            for data in (text, damaged(draw, text)):
                path = self.written(data)
                says, counts = running.read_report(path, SEAL), running.read_counts(path, SEAL)
                self.assertIsInstance(says, str)
                json.dumps(counts)
                run = self.result(case, damaged(draw, result)) or running.Run("none")
                for first in (run, None):
                    verdict = self.verdict(questions, first, counts)
                    self.assertFalse(verdict.passed)

    def verdict(self, questions, first, counts):
        """Of a file that is right but for its counts and, if given, what came of the first case."""

        def run(case, settings):
            is_other = first is not None and case is questions.cases[0]
            return first if is_other else self.right(questions, case, counts)

        with mock.patch.object(judging, "ThreadPoolExecutor", one_thread):
            return judging.mark(questions, run)

    def right(self, questions, case, counts):
        if case.name not in self.results:
            guard = b"\x7f" * 1024
            y = array.array("f", questions.module.expected(case)["y"])
            arrays = {"x": guard + case["x"].data() + guard, "y": guard + y.tobytes() + guard}
            self.results[case.name] = arrays
        return running.Run(arrays=self.results[case.name], counts=counts)

    def written(self, data):
        path = self.root / "file"
        path.unlink(missing_ok=True)  # much faster than to write into it
        path.write_bytes(data)
        return path

    def result(self, case, data):
        return running.read_result(self.written(data), case, SEAL)

    def test_nothing_counts_without_the_seal(self):
        report = {"seal": SEAL, "reports": [{"message": "error [race]: a race"}]}
        self.assertEqual(
            running.read_report(self.written(json.dumps(report).encode()), SEAL), "race: a race"
        )
        site = {"line": 5}
        kernels = [{"threads": 3, "sites": []}, {"threads": 4, "sites": [site]}]
        path = self.written(json.dumps({"seal": SEAL, "kernels": kernels}).encode())
        sums = {"threads": 7, "kernels": 2, "sites": [site], "active_lanes_per_instruction": 0}
        self.assertEqual(running.read_counts(path, SEAL), sums)
        self.assertEqual(running.read_counts(path, "another"), {})
        with mock.patch.object(running.json, "loads") as loads:  # of 16 MB, say, which takes long
            self.assertEqual(running.read_counts(path, "another"), {})
            self.assertEqual(running.read_report(path, "another"), "")
        loads.assert_not_called()

    def test_of_two_kernels_means_are_no_sums_and_the_largest_is_one_of_theirs(self):
        atomics = {"max_serialization": 2, "serialization": 1.5, "global_requests": 3}
        one = {"instructions": 10, "executions": 80, "active_lanes_per_instruction": 8}
        one |= {"atomics": atomics, "shared": {"load_max_conflict_degree": 4}, "sites": []}
        kernels = [one, {**one, "atomics": {**atomics, "max_serialization": 1}}]
        path = self.written(json.dumps({"seal": SEAL, "kernels": kernels}).encode())
        counts = running.read_counts(path, SEAL)
        self.assertEqual(counts["active_lanes_per_instruction"], 8)
        self.assertEqual(counts["atomics"], {"max_serialization": 2, "global_requests": 6})
        self.assertEqual(counts["shared"], {"load_max_conflict_degree": 4})

    def test_who_asks_for_all_memory_has_no_end(self):
        said = "terminate called after throwing an instance of 'std::bad_alloc'\n"
        says = "no end within 1024 MB of memory: an endless loop?"
        self.assertEqual(running._failure(processes.Done(-6, said)), says)
        said = "exercise: std::bad_alloc\n"  # what runner.cpp says if the host's code asks for it
        self.assertEqual(running._failure(processes.Done(1, said)), says)

    def test_who_prints_without_end_has_no_end(self):
        says = "no end within 64 MB that it wrote: an endless loop?"
        self.assertEqual(running._failure(processes.Done(-signal.SIGXFSZ, "x\n")), says)
        self.assertEqual(running.LIMITS.own().file_bytes, 64 << 20)  # of a file of one's own, too

    def test_whose_compiler_has_had_its_time_has_no_end(self):
        for what in ("Killed", "CPU time limit exceeded"):
            said = f"g++: fatal error: {what} signal terminated program cc1plus\n"
            done = processes.Done(1, said)
            with mock.patch.object(building, "execute", lambda *_, **__: done):
                with mock.patch.object(building, "prepare", lambda _: self.root):
                    with self.assertRaisesRegex(ExerciseError, "not compile within 60 s of work"):
                        building.build(REPOSITORY, GUARD, self.root / "a.cuh", self.root / "a")

    def test_what_is_no_plain_file_is_waited_for_by_nobody(self):
        path = self.root / "pipe"
        os.mkfifo(path)
        self.assertEqual(running.read_counts(path, SEAL), {})
        self.assertEqual(running.read_report(path, SEAL), "")


class Rules(ToolCase):
    def look(self, text):
        file = self.root / "guard.cuh"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        rules.look_at(file, GUARD)

    def test_every_answer_of_an_author_keeps_to_them(self):
        for exercise in catalog.all_exercises(REPOSITORY):
            text, file = exercise.author_file.read_text(), self.root / exercise.author_file.name
            module = exercise.judge()
            for changes in ({}, *module.RIGHTS.values(), *module.MUTANTS.values()):
                file.write_text(skeleton.mutant(text, "a", changes))
                rules.look_at(file, exercise)

    def test_what_is_free(self):
        for text in (
            "__device__ __noinline__ float f(float x) { return __fmaf_rn(x, x, __frcp_rz(x)); }",
            "__builtin_assume(n > 0); if (__builtin_expect(__vadd4(a, b) == __LINE__, 0)) g();",
            "// opens a system thread\n/* getenv */ const char* s = \"getenv\";",
            "extern __shared__ float tile[];\n#pragma unroll 4\n#pragma once",
            "#define ROWS 4\n#if ROWS > 3 // that's it\nint n = 1'000;\n#endif",
            "#include <cmath>\n#include <cooperative_groups.h>\n#include \"common/kit/align.hpp\"",
            "const int thread = __popc(__ballot_sync(~0u, true)); auto read = [] {}; read();",
            "[[maybe_unused]] int constructor, write, signal; // \\\n getenv",
            'printf("ERROR %d", i);  // the array "R", and why??/',
            "int x = 0; // l'été\r\nfloat y = 1e-3f + 0x1.8p+3 + 1'000'000;\r\n",
        ):
            self.look(text)

    def test_what_is_not_and_where_it_stands(self):
        for line, what, text in (
            (1, "#define main", "#define main mine"),
            (1, "#undef cudaFree", "#undef cudaFree"),
            (1, "#undef vector_add", "#undef vector_add"),
            (2, "use getenv", "\nint x = getenv(0) != 0;"),
            (1, "use getenv", "ge\\\ntenv(0);"),
            (4, "use getenv", "/*\n*/ // \\\n\ngetenv(0);"),
            (3, "use getenv", "int a = \\\n 1;\ngetenv(0);"),
            (1, "use getenv", "char c = '\"'; getenv(0);"),
            (1, "use getenv", "#define READ getenv"),
            (1, "use getenv", "#if getenv"),
            (1, "use __has_include", "#if __has_include(<x>)"),
            (1, "use __managed__", "__managed__ float all[9];"),
            (1, "use __atomic_store_n", "__atomic_store_n(p, 1, 0);"),
            (1, "use cudaGraphAddHostNode", "cudaGraphAddHostNode(0, 0, 0, 0, 0);"),
            (1, "use exercise_replay", "exercise_replay::seen.executables = 0;"),
            (1, "use ##", "#define A(x, y) x##y"),
            (1, "use %:", "%:define word"),
            (2, 'have R"...", which begins a raw string', '\nauto s = R"(")";'),
            (1, 'have u8R"..."', 'auto s = u8R\\\n"(")";'),
            (1, "use __attribute__", "__attribute__((constructor)) void f();"),
            (1, "use gnu", "[[gnu::constructor]] void f();"),
            (1, "use _Pragma", '_Pragma("GCC optimize")'),
            (1, "use #pragma GCC", "#pragma GCC optimize(0)"),
            (1, "use #line", "#line 3"),
            (1, "use #", '# 1 "other"'),
            (1, 'use extern "C"', 'extern "C" int f();'),
            (1, "use asm", 'asm("nop");'),
            (1, "use simt", "namespace simt { void profile_reset(); }"),
            (1, "include", '#include "01_vector_add/exercises/03_grid_stride/grid_stride.cuh"'),
            (2, "include <unistd.h>", "/*\n*/ # /**/ include <unistd.h>"),
            (1, "include <unistd.h>", "\ufeff#include <unistd.h>"),
            (1, "include <common/kit/../../x>", "#include <common/kit/../../x>"),
            (1, "have more than one name behind #include", "#include __FILE__"),
            (2, "have bytes that are 0: it must be UTF-8", "\ni\0n\0t\0"),
        ):
            self.assert_refused(text, line, what)

    def assert_refused(self, text, line, what):
        with self.assertRaisesRegex(ExerciseError, r"guard.cuh:\d+: a file may not") as found:
            self.look(text)
        self.assertIn(f"guard.cuh:{line}: a file may not {what}", str(found.exception))

    def test_nothing_hides_code_from_the_rules_that_the_compiler_sees(self):
        head, end = "#if 0\n{}\n#endif\n", "\n#if 0\n*/\n#endif\n"
        quote, number = "have a quote without its end", "have a quote right behind a number"
        name = "have more than one name behind #include"
        for line, what, text in (
            (2, quote, head.format('" /*')),
            (2, quote, head.format("don't /*")),
            (2, quote, '#if 1\n#endif "/*\n'),
            (2, number, head.format("1'.\"x\"/*")),
            (2, number, head.format("1e+'a'\"x\"/*")),
            (2, number, head.format("1p+'a'\"x\"/*")),
            (2, "have $ outside of quotes", head.format("$1'a\"x\"/*")),
            (2, "have é outside of quotes", head.format("é1'a\"x\"/*")),
            (2, "have \\ outside of quotes", head.format("1\\u00e9'a'\"x\"/*")),
            (2, "include </*>", head.format("#include </*>")),
            (2, name, head.format("#include <cmath> </*>")),
            (2, name, head.format('#include <cmath> "\\"x"/*"')),
            (1, "have the end of a line that is CR alone", "// \r"),
            (1, "have the end of a line that is CR alone", "/* *\\\r/"),
            (1, 'have R"...", which', 'const char* q = R\\\n"(" /*)";\n'),
        ):
            with self.subTest(text):
                code = text + "getenv(0);" + end
                words = ["g++", "-std=c++17", "-E", "-P", "-x", "c++", "-"]
                seen = subprocess.run(words, input=code.encode(), capture_output=True).stdout
                self.assertIn(b"getenv(0)", seen)
                self.assert_refused(code, line, what)

    def test_a_comment_of_the_authors_frees_no_word_and_no_code_the_engine(self):
        multiply_add = catalog.find(REPOSITORY, "01/multiply_add")
        self.assertRegex(multiply_add.author_file.read_text(), r"//.*\bexercise\b")
        file = self.root / "multiply_add.cuh"
        for word in ("exercise", "simt", "main"):
            file.write_text(f"namespace {word} {{}}\n")
            with self.assertRaisesRegex(ExerciseError, f"may not use {word} "):
                rules.look_at(file, multiply_add)
        author = "exercise simt main asm\n"
        with mock.patch.object(rules.cli, "read_text", lambda _: author):
            for word in author.split()[:3]:
                with self.assertRaisesRegex(ExerciseError, f"may not use {word} "):
                    self.look(word)
            self.look("asm")

    def test_no_text_takes_long(self):
        most = handing_in.MOST_BYTES
        self.assertLessEqual(most, 1 << 18)
        for piece in ('\\"', "/* ", "1'", "1e+", "\\ ", "<", "'", ".", "#include <\n", "__h", "*"):
            for begin in ('"', "/*", ""):
                text = (begin + piece * most)[:most]
                begun = time.process_time()
                with contextlib.suppress(ExerciseError):
                    self.look(text)
                similar.pairs({"ann": text, "bob": text}, "")
                self.assertLess(time.process_time() - begun, 20, (begin, piece))


BLOCKS = "const int grid = (n + block - 1) / block;"
NOTHING = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (n < 0) y[i] = x[i];"
ON_HOST = f"""{BLOCKS}
static float a[9999], b[9999];
cudaMemcpy(a, x, n * sizeof(float), cudaMemcpyDeviceToHost);
cudaMemcpy(b, y, n * sizeof(float), cudaMemcpyDeviceToHost);
for (int i = 0; i < n; ++i) b[i] += a[i];
cudaMemcpy(y, b, n * sizeof(float), cudaMemcpyHostToDevice);"""
# (its code before the kernel, the kernel, the launch), and what the judge says without the rules.
TRICKS = {
    "the host does it": ("", NOTHING, ON_HOST, "was written, but by no kernel"),
    "kernels carry it to the host and back": (
        "static float a[9999], b[9999];\n"
        "__global__ void out_kernel(const float* x, const float* y, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) a[i] = x[i], b[i] = y[i];\n}\n",
        "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) y[i] = b[i];",
        f"{BLOCKS}\nout_kernel<<<grid, block>>>(x, y, n);\ncudaDeviceSynchronize();\n"
        "for (int i = 0; i < n; ++i) b[i] += a[i];",
        "of a variable of the host in a kernel: is __device__ missing?",
    ),
    "another main": ("#define main mine\n", "", BLOCKS, None),
    "checks off by a constructor": (
        "#include <cstdlib>\n__attribute__((constructor(101))) void off() {\n"
        '  setenv("SIMT_CHECK", "0", 1), setenv("SIMT_PROFILE", "0", 1);\n}\n',
        "const int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i] + y[i];",
        BLOCKS,
        "out-of-bounds",
    ),
    "the engine's own functions": (
        "namespace simt { void profile_reset(); }\n",
        "",
        BLOCKS + "\nsimt::profile_reset();",
        None,
    ),
    "a function that nobody watches stores": (
        "#include <cstring>\n"
        "__attribute__((noinline)) inline void put(float* to, float v, size_t n) {"
        " memcpy(to, &v, n); }\n",
        "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) put(y + i, x[i] + y[i], 4 - (n < 0));",
        BLOCKS,
        "was written, but by no kernel",
    ),
}


class Tricks(ToolCase):
    """Each earns nothing: the rules refuse most; and where they would not, the engine sees it."""

    def verdict(self, name):
        head, kernel, launch, _ = TRICKS[name]
        text = GUARD.author_file.read_text()
        changes = {1: kernel, 2: launch} if kernel else {2: launch}
        text = skeleton.mutant(text, "a", changes).replace("__global__", f"{head}__global__", 1)
        file, program = self.root / "guard.cuh", self.root / "program"
        file.write_text(text)
        try:
            building.build(REPOSITORY, GUARD, file, program)
        except ExerciseError:
            return None, file
        questions = judging.Questions(GUARD.judge(), 3)
        run = lambda case, settings: running.run_case(program, case, settings=settings)
        return judging.mark(questions, run), file

    def test_each_trick_earns_nothing(self):
        self.take_few_cases()
        for name, (head, _, _, says) in TRICKS.items():
            with self.subTest(name):
                verdict, file = self.verdict(name)
                if says is None:
                    self.assertFalse(verdict and verdict.points, name)
                else:
                    self.assertEqual(verdict.outcomes[1].points, 0, name)
                    self.assertIn(says, verdict.outcomes[1].says)
                if head and "__global__" not in head:  # that is no word which the rules refuse
                    with self.assertRaises(ExerciseError):
                        rules.look_at(file, GUARD)


if __name__ == "__main__":
    unittest.main()
