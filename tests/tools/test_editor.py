"""`make editor`: what clangd then says about files of every kind."""

import json
import re
import shutil
import subprocess
import unittest

from tool_case import REPOSITORY, ToolCase

# Of several chapters, of common and of a test; the last is an exercise's.
TEN = """01_vector_add/09_vectorized.cuh 02_warp_divergence/branch/07_tiled.cuh
03_coalescing/transpose/05_tiled.cuh 04_matmul/sgemm/08_vectorized.cuh 04_matmul/bf16/08_wgmma.cuh
05_reduction/scan/problem.cuh 06_atomics_streams/histogram/problem.cuh common/bench/harness.cuh
common/kit/ptx/tma.cuh 05_reduction/exercises/01_tree/tree.cuh""".split()
# Opened by themselves, from a folder of each kind.
OPENED = """01_vector_add/09_vectorized.cuh 07_flash_attention/flash_attention.cu
04_matmul/exercises/01_lanes/lanes.cuh common/bench/harness.cuh tests/02_warp_divergence_lanes.cu
simt/tests/memory.cu""".split()
MINE = """
__global__ void twice(float* x) {
  __shared__ alignas(16) float tile[32];
  unsigned short low;
  asm("mov.b32 {%0, _}, %1;" : "=h"(low) : "r"(1));
  x[threadIdx.x] *= tile[low];
}
int main() {
  twice<<<1, 32>>>(nullptr);
  int wrong = nosuch;
}
"""


class Editor(ToolCase):
    def files(self, toolkit):
        self.run_tool("editor.py", "--out", self.root, CUDA_HOME=str(toolkit))

    def errors(self, name, text):
        """What clangd calls an error in a file of one's own."""
        if not shutil.which("clangd"):
            self.skipTest("clangd is not installed (./setup.sh --dev installs it)")
        path = self.write(name, text)
        words = ["clangd", f"--check={path}", "--check-lines=1", "--background-index=0"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=300).stderr
        self.assertIn("checks completed", said)
        return re.findall(r"^E\[[\d:.]+\] (.*)", said, re.MULTILINE)

    def test_ten_files_and_one_mistake(self):
        self.files(self.root / "no toolkit")
        text = "".join(f'#include "{name}"\n' for name in TEN) + MINE
        for name in TEN:
            self.assertTrue((REPOSITORY / name).exists(), name)
        errors = self.errors("work/ten.cu", text)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("nosuch", errors[0])

    def test_a_file_of_every_folder_is_known_for_what_it_is(self):
        self.files(self.root / "no toolkit")
        for name in OPENED:
            text = (REPOSITORY / name).read_text(encoding="utf-8")
            self.assertEqual(self.errors(name, text), [], name)

    def test_with_the_toolkit(self):
        toolkit = self.root / "cuda"
        self.write("cuda/include/cublas_v2.h", "typedef int cublasHandle_t;\n")
        self.files(toolkit)
        text = "#include <cublas_v2.h>\ncublasHandle_t h;\n"
        self.assertEqual(self.errors("01_vector_add/a.cu", text), [])
        self.assertIn("-idirafter", self.read(".clangd"))
        self.write("cuda/include/cub/cub.cuh", "")
        self.files(toolkit)
        self.assertNotIn("-idirafter", self.read(".clangd"))

    def test_each_source_has_a_command(self):
        self.files(self.root)
        known = {entry["file"] for entry in json.loads(self.read("compile_commands.json"))}
        for file in ("01_vector_add/vector_add.cu", "tests/05_reduction.cu", "simt/src/launch.cpp"):
            self.assertIn(file, known)
        self.assertIn("01_vector_add/exercises/02_copies/run.cu", known)

    def test_somebody_elses_file_stays(self):
        self.write(".clangd", "mine\n")
        result = self.run_tool("editor.py", "--out", self.root, status=1)
        self.assert_one_line(result.stderr, "is not ours")
        self.assertEqual(self.read(".clangd"), "mine\n")


if __name__ == "__main__":
    unittest.main()
