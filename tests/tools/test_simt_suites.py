"""simt/suites/run.py: how many kernels of a labelled suite are named, and the suite of scopes."""

import csv
import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import unittest
from unittest import mock

from tool_case import REPOSITORY, ToolCase

RUN = REPOSITORY / "simt/suites/run.py"
SCOPES = REPOSITORY / "simt/suites/scopes"

# As ScoR's files are: no wait at the end, volatile data that nobody has written.
MICRO = """
__device__ int lock = 0;
__global__ void k(volatile int* data) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  ONE __threadfence();
  data[0] = blockIdx.x + 1;
  __threadfence();
  atomicExch(&lock, 0);
}
int main() {
  int* data;
  cudaMalloc(&data, sizeof(int));
  k<<<2, 1>>>(data);
}
"""
# As Indigo's: the header has main(), which takes a graph, threads and blocks.
INDIGO_HEADER = """
#include <cstdlib>
__global__ void test_kernel(int* data);
int main(int count, char** words) {
  int* data;
  if (count != 4) return 2;
  cudaMalloc(&data, sizeof(int));
  cudaMemset(data, 0, sizeof(int));
  test_kernel<<<atoi(words[3]), atoi(words[2])>>>(data);
  return cudaDeviceSynchronize();
}
"""
INDIGO_KERNEL = """
#include "indigo_cuda.h"
__global__ void test_kernel(int* data) { ADD; }
"""

# As GPUVerify's cases: no host program, and what the verifier is told.
VERIFIED = """//LABEL
//--blockDim=64 --gridDim=2 -DHALF=32
#include <cuda.h>
__global__ void k(int* a, const float *b, unsigned int n) {
  __requires(n == 128);
  int sum = 0;
  for (unsigned i = 0; __invariant(__read(a)), i < HALF; ++i) sum += b[i] > 0;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] += sum + a[AT];
}
"""


class Suites(ToolCase):
    def suite(self, *arguments):
        return subprocess.run(
            [sys.executable, RUN, *arguments], capture_output=True, text=True, cwd=self.root
        )

    def test_labels_are_the_marks_in_the_source(self):
        marks = {}
        text = (SCOPES / "scopes.cu").read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), 1):
            if mark := re.search(r"// fault: (\w+)$", line):
                marks.setdefault(mark[1], []).append(number)
        with open(SCOPES / "labels.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({r["pair"]: [int(n) for n in r["lines"].split()] for r in rows}, marks)
        self.assertEqual([r["pair"] for r in rows], re.findall(r"PAIR\((\w+),", text))

    def test_every_race_of_scopes_is_named_and_nothing_else(self):
        ran = self.suite("scopes", "--orders", "3")  # two are enough, one is not
        self.assertEqual(ran.stdout, "17 of 17 faulty kernels named, 0 of 17 right ones\n")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_scor_is_labelled_by_its_names(self):
        sources = self.root / "microbenchmarks/src"
        sources.mkdir(parents=True)
        (sources / "race_a.cu").write_text(MICRO.replace("ONE", "if (blockIdx.x == 1)"))
        ran = self.suite("scor", str(self.root), "--orders", "2")
        self.assertEqual(
            ran.stdout, "1 of 1 faulty kernels named, 0 of 0 right ones\n", ran.stderr
        )

    def test_indigo_is_labelled_by_its_names(self):
        folder = self.root / "indigo"
        (folder / "indigo_sources/sum").mkdir(parents=True)
        (folder / "indigo_include").mkdir()
        (folder / "input").mkdir()
        (folder / "input/two.egr").touch()
        (folder / "indigo_include/indigo_cuda.h").write_text(INDIGO_HEADER)
        for name, add in (("sum", "atomicAdd(data, 1)"), ("sum_atomicBug", "*data = *data + 1")):
            text = INDIGO_KERNEL.replace("ADD", add)
            (folder / "indigo_sources/sum" / f"{name}.cu").write_text(text)
        ran = self.suite("indigo", str(self.root), "--orders", "1")
        self.assertEqual(
            ran.stdout, "1 of 1 faulty kernels named, 0 of 1 right ones\n", ran.stderr
        )

    def test_cases_of_gpuverify_become_programs(self):
        kernel = VERIFIED.replace("AT", "(i + 1) % n")
        for case, text in (
            ("race", kernel.replace("LABEL", "xfail:BOOGIE_ERROR")),
            ("right", VERIFIED.replace("AT", "n + i").replace("LABEL", "pass")),
            ("loop_unwind", kernel),  # is left out by its name
            ("refused", kernel.replace("LABEL", "xfail:CLANG_ERROR")),
            ("pointers", kernel.replace("int* a", "int **a").replace("LABEL", "pass")),
        ):
            folder = self.root / "testsuite/CUDA" / case
            folder.mkdir(parents=True)
            (folder / "kernel.cu").write_text(text)
        ran = self.suite("gpuverify", str(self.root), "--orders", "1")
        self.assertEqual(
            ran.stdout.splitlines(),
            [
                "left out: 1: where threads meet they write the same value",
                "left out: 1: a parameter of no plain type",
                "left out: 1: no kernel to be judged: //xfail:CLANG_ERROR",
                "1 of 1 faulty kernels named, 0 of 1 right ones",
            ],
            ran.stderr,
        )

    def test_what_is_missed_and_what_is_a_false_alarm(self):
        loader = importlib.machinery.SourceFileLoader("suites_run", str(RUN))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("suites_run", loader))
        with mock.patch.object(sys, "path", [str(RUN.parent), *sys.path]):
            loader.exec_module(run)
        results = [("a", True, True), ("b", True, False), ("c", False, False), ("d", False, True)]
        self.assertEqual(
            list(run.summary(results)),
            [
                "not named: b",
                "false alarm: d",
                "1 of 2 faulty kernels named, 1 of 2 right ones",
            ],
        )

    def test_what_cannot_be_run_is_told_in_one_line(self):
        for arguments, says in (
            (["scor"], "need their FOLDER"),
            (["scopes", "x"], "need their FOLDER"),
            (["gpuverify", str(self.root)], "has no testsuite/CUDA"),
            (["samples", str(self.root)], "has no Initcheck/memset_error.cu"),
            (["indigo", str(self.root)], "has no indigo_sources"),
            (["scor", str(self.root)], "has no microbenchmarks"),
            (["scopes", "--orders", "0"], "expected a whole number from 1 to 1000"),
        ):
            with self.subTest(arguments=arguments):
                ran = self.suite(*arguments)
                self.assertEqual(ran.returncode, 2)
                self.assertIn(says, ran.stderr.strip().splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
