"""make install-simt: simt in a folder of its own, without this repository."""

import os
import subprocess
import unittest

from tool_case import REPOSITORY, ToolCase

from markdown_links import dead_links

PROGRAM = """
    #include <cstdio>
    __global__ void hello(int* count) {
      if (count != nullptr) *count = 1;
      printf("hello from thread %d\\n", threadIdx.x);
    }
    int main(int arguments, char**) {
      hello<<<1, 2>>>(arguments == 1 ? nullptr : &arguments);
      return cudaDeviceSynchronize();
    }
"""


class InstallSimt(ToolCase):
    def install(self, status=0):
        result = subprocess.run(
            ["make", "--no-print-directory", "-C", REPOSITORY, "CPU=1", "install-simt",
             f"PREFIX={self.root / 'prefix'}"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def test_it_builds_and_runs_a_program_elsewhere(self):
        self.install()
        self.install()  # over itself
        self.write("hello.cu", PROGRAM)
        # The engine is that of the repository: the sources are the same.
        build = os.environ.get("SIMT_BUILD") or str(REPOSITORY / "build/simt")
        environment = {**os.environ, "SIMT_BUILD": build, "SIMT_CHECK": "1"}
        built = subprocess.run(
            [self.root / "prefix/bin/simt-nvcc", "-O1", "hello.cu", "-o", "hello"],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual((built.returncode, built.stderr), (0, ""))
        ran = subprocess.run([self.root / "hello"], capture_output=True, text=True)
        self.assertEqual(ran.stdout, "hello from thread 0\nhello from thread 1\n")
        self.assertEqual(ran.stderr, "simt: 1 kernel checked, no errors found\n")
        # The headers of one copy, the engine of another: simt's own calls are told of neither.
        wrong = subprocess.run([self.root / "hello", "x"], capture_output=True, text=True)
        self.assertIn("simt: error [host-pointer]", wrong.stderr)
        self.assertIn("hello.cu:3", wrong.stderr)
        self.assertNotIn("called at", wrong.stderr)

    def test_its_engine_is_built_in_the_cache(self):
        self.install()
        code = "from frontend import engine; print(engine.build_directory())"
        environment = {**os.environ, "PYTHONPATH": "prefix/lib/simt", "XDG_CACHE_HOME": "/cache"}
        environment.pop("SIMT_BUILD", None)
        said = subprocess.check_output(
            ["python3", "-B", "-c", code], cwd=self.root, env=environment, text=True
        )
        self.assertEqual(said, "/cache/simt\n")

    def test_its_pages_lead_to_nothing_that_is_missing(self):
        self.install()
        installed = self.root / "prefix/lib/simt"
        pages = list(installed.rglob("*.md"))
        self.assertGreater(len(pages), 2)
        for page in pages:
            self.assertEqual(list(dead_links(installed, page)), [], page)

    def test_what_is_not_simt_stays(self):
        other = self.write("prefix/lib/simt/other", "")
        self.assert_one_line(
            "\n".join(
                line
                for line in self.install(status=2).stderr.splitlines()
                if not line.startswith("make")
            ),
            "is not simt: it stays",
        )
        self.assertTrue(other.exists())


if __name__ == "__main__":
    unittest.main()
