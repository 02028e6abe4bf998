"""The table of programs and checkers."""

import subprocess
import textwrap
import unittest

from tool_case import TOOLS, ToolCase


class Sanitize(ToolCase):
    def setUp(self):
        super().setUp()
        self.good = self.executable(
            self.root / "good", f'echo "$SIMT_CHECK $*" >>{self.root}/runs\n'
        )
        self.racy = self.executable(self.root / "racy", "exit 1\n")

    def sanitize(self, *arguments, status=0):
        return self.run_tool("sanitize.sh", *arguments, status=status)

    def with_gpu(self):
        self.fake("nvidia-smi", 'echo "GPU 0: NVIDIA H200"\n')
        self.fake(
            "compute-sanitizer",
            f"""
            echo "$@" >>{self.root}/commands
            [[ $* == *"racecheck"*/racy* ]] && {{ echo "a hazard"; exit "$4"; }}
            [[ $* == *"initcheck"*/racy* ]] && exit 1
            [[ $* == */racy* ]] || exec "${{@:5}}"
            """,
        )

    def without_gpu(self):
        self.fake("nvidia-smi", 'echo "NVIDIA-SMI has failed"; exit 9\n')

    def test_every_tool_runs_on_every_program(self):
        self.with_gpu()
        out = self.sanitize(self.good, "--", "--verify", "--n", "33").stdout.splitlines()
        self.assertEqual(
            out[0].split(), ["program", "memcheck", "racecheck", "synccheck", "initcheck"]
        )
        self.assertEqual(out[1].split(), ["good", "clean", "clean", "clean", "clean"])
        commands = self.read("commands").splitlines()
        self.assertEqual(len(commands), 4)
        self.assertTrue(all(f"{self.good} --verify --n 33" in command for command in commands))

    def test_findings_and_crashes_are_told_apart(self):
        self.with_gpu()
        result = self.sanitize(self.racy, self.good, status=1)
        self.assertEqual(
            result.stdout.splitlines()[1].split(), ["racy", "clean", "FOUND", "clean", "failed(1)"]
        )
        self.assertEqual(result.stdout.splitlines()[2].split()[1:], ["clean"] * 4)
        self.assertIn("a hazard", result.stderr)

    def test_without_a_gpu_simt_checks(self):
        self.without_gpu()
        out = self.sanitize(self.good).stdout.splitlines()
        self.assertEqual(out[1].split(), ["good", "clean"])
        self.assertEqual(self.read("runs"), "1 --verify\n")
        result = self.sanitize(self.good, self.racy, status=1)
        self.assertEqual(result.stdout.splitlines()[2].split(), ["racy", "FOUND"])

    def test_what_was_skipped_is_said(self):
        table = """
            sgemm, m = 256
            variant                max error  verdict
            tiled                          0  right
            bulk_copy                      -  skipped: needs sm_90, this is sm_80

            bf16_gemm_nt, m = 256
            wgmma                          -  skipped: needs rows of 16 bytes
            """
        self.write("output", textwrap.dedent(table))
        self.executable(self.good, f"cat {self.root}/output\n")
        for way in (self.with_gpu, self.without_gpu):
            way()
            out = self.sanitize(self.good).stdout.splitlines()
            self.assertIn("clean", out[1])
            self.assertEqual(
                [line.strip() for line in out[2:]],
                [
                    "skipped sgemm/bulk_copy: needs sm_90, this is sm_80",
                    "skipped bf16_gemm_nt/wgmma: needs rows of 16 bytes",
                ],
            )

    def test_output_that_cannot_be_written_is_no_success(self):
        self.without_gpu()
        with open("/dev/full", "w") as full:
            command = ["/bin/bash", str(TOOLS / "sanitize.sh"), "--simt", str(self.good)]
            result = subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 1)

    def test_simt_can_be_asked_for(self):
        self.with_gpu()
        self.assertEqual(
            self.sanitize("--simt", self.good).stdout.splitlines()[0].split(), ["program", "simt"]
        )

    def test_missing_compute_sanitizer(self):
        self.fake("nvidia-smi", 'echo "GPU 0: NVIDIA H200"\n')
        self.borrow("bash")
        error = self.run_tool("sanitize.sh", self.good, status=1, only_fakes=True).stderr
        self.assert_one_line(error, "compute-sanitizer is not on PATH")

    def test_bad_arguments(self):
        for arguments in ([], ["--nosuch"], ["nosuch"], [self.root]):
            self.assert_one_line(self.sanitize(*arguments, status=2).stderr, "sanitize.sh:")


if __name__ == "__main__":
    unittest.main()
