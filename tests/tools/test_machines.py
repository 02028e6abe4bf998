"""What machines.md promises: its lines for CMake build, and the shell completes."""

import re
import shutil
import subprocess
import unittest

from tool_case import REPOSITORY, ToolCase

import cli


class Cmake(ToolCase):
    def test_the_lines_build_a_program(self):
        nvcc = cli.cuda_tool("nvcc")
        for name, found in (("cmake", shutil.which("cmake")), ("nvcc", nvcc)):
            if not found:
                self.skipTest(f"{name} is not installed")
        page = (REPOSITORY / "machines.md").read_text(encoding="utf-8")
        (lines,) = re.findall(r"```cmake\n(.*?)```", page, re.DOTALL)
        self.write("CMakeLists.txt", lines)
        options = [f"-DHERE={REPOSITORY}", f"-DCMAKE_CUDA_COMPILER={nvcc}"]
        options += ["-DCMAKE_CUDA_ARCHITECTURES=80", "-DCMAKE_CUDA_FLAGS=-O0"]
        options += [f"-DCMAKE_{language}_COMPILER_WORKS=1" for language in ("CUDA", "CXX")]
        for words in (["-S", ".", "-B", "build", *options], ["--build", "build"]):
            done = subprocess.run(
                ["cmake", *words], cwd=self.root, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout)
        flags = self.read("build/CMakeFiles/vector_add.dir/flags.make")
        self.assertRegex(flags, r"CUDA_FLAGS = .*-Xcompiler=-fopenmp")
        self.assertTrue((self.root / "build/vector_add").exists())


class Completion(unittest.TestCase):
    def completed(self, *words):
        script = f"""
            source tools/completion.bash
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); name=${{1##*/}}
            $(complete -p "$name" | sed -E 's/.*-F ([^ ]+).*/\\1/') && echo "${{COMPREPLY[*]}}"
        """
        command = ["bash", "-c", script, "bash", *words]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_make(self):
        self.assertIn("distclean", self.completed("make", "dist"))
        self.assertEqual(self.completed("make", "run-0")[:2], ["run-01", "run-02"])
        self.assertEqual(self.completed("make", "try", "R", "=", "04/sgemm/ti"), ["04/sgemm/tiled"])
        self.assertIn("01/vectorized", self.completed("make", "compare", "A", "="))

    def test_exercise(self):
        self.assertEqual(self.completed("./exercise", "wa"), ["watch"])
        self.assertEqual(self.completed("./exercise", "check", "01/gu"), ["01/guard"])


if __name__ == "__main__":
    unittest.main()
