"""What doctor.sh says about machines that have this and lack that."""

import re
import subprocess
import unittest

from tool_case import TOOLS, ToolCase

CATCH2 = "catch2_version 3 . 4 . 0"


class Doctor(ToolCase):
    def setUp(self):
        super().setUp()
        self.borrow("bash", "awk", "cat", "grep", "head", "nproc", "sed", "sort", "tr", "uname")
        self.gxx()
        self.fake("make", 'echo "GNU Make 4.3"\n')
        self.fake("python3", 'echo "Python 3.11.2"\n')

    def gxx(self, version="12.2.0", headers=(CATCH2,)):
        """A compiler that finds only these headers."""
        answers = (f"[[ $code == *{h.split('_')[0]}_* ]] && echo '{h}'" for h in headers)
        self.fake(
            "g++",
            f'[[ $1 == --version ]] && {{ echo "g++ (Debian {version}) {version}"; exit; }}\n'
            + "\n".join(["code=$(cat)", *answers, "true\n"]),
        )

    def gpu(self, driver_cuda="13.0"):
        self.fake(
            "nvidia-smi",
            f"""
            case $* in
              *name*) echo "NVIDIA H200, 9.0, 143771 MiB" ;;
              *driver_version*) echo 580.1 ;;
              *) echo "Driver Version: 580.1   CUDA Version: {driver_cuda}  |" ;;
            esac
            """,
        )

    def nvcc(self, release="13.0"):
        self.fake("nvcc", f'echo "Cuda compilation tools, release {release}, V{release}.88"\n')

    def doctor(self, *arguments, status=0):
        """What it says, each row in one line."""
        out = self.run_tool("doctor.sh", *arguments, status=status, only_fakes=True).stdout
        for line in out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        return re.sub(r"\n {19,21}(?=\S)", " ", out)

    def row(self, out, name):
        return next(line for line in out.splitlines() if line.startswith(f"  {name} "))

    def test_gpu_and_nvcc(self):
        self.gpu()
        self.nvcc()
        self.fake("ncu", 'echo "Version 2025.3.1.0"\n')
        out = self.doctor()
        self.assertIn("NVIDIA H200, compute capability 9.0, 143771 MiB", self.row(out, "GPU"))
        self.assertIn("580.1, runs programs of CUDA up to 13.0", self.row(out, "driver"))
        self.assertIn("compiled by nvcc 13.0 and run on the NVIDIA H200", out)
        self.assertIn("2025.3.1.0", self.row(out, "ncu"))
        self.assertIn("make bench", out)
        self.assertIn("3.4.0 (major version 3)", self.row(out, "Catch2"))

    def test_output_that_cannot_be_written_is_no_success(self):
        with open("/dev/full", "w") as full:
            command = ["/bin/bash", str(TOOLS / "doctor.sh")]
            result = subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 1)

    def test_nothing_but_the_required(self):
        self.gxx(headers=())
        out = self.doctor()
        for name in ("Catch2", "clang-format", "nvcc", "compute-sanitizer", "ncu"):
            self.assertIn("not installed (optional: ", self.row(out, name))
        for word in ("MISSING", "TOO OLD", "fail", "✗"):
            self.assertNotIn(word, out)
        self.assertIn("There is no GPU, so kernels run on the CPU, through simt/nvcc.", out)
        self.assertIn("needs Catch2 first", out)
        self.assertNotIn("make bench", out)

    def test_gpu_without_nvcc_and_nvcc_without_gpu(self):
        self.nvcc()
        self.assertIn("There is nvcc but no GPU", self.doctor())
        (self.bin / "nvcc").unlink()
        self.gpu()
        out = self.doctor()
        self.assertIn("There is a GPU (NVIDIA H200) but no nvcc", out)
        self.assertIn("cuda-downloads", out)

    def test_versions_that_do_not_go_together(self):
        self.gpu(driver_cuda="12.4")
        self.nvcc()
        self.assertIn(
            "nvcc is 13.0, but the driver runs programs up to CUDA 12.4 only", self.doctor()
        )
        self.nvcc("11.8")
        self.assertIn("nvcc is 11.8, but CUDA 12.0 or newer is needed", self.doctor())

    def test_toolkit_that_is_not_on_path(self):
        self.gpu()
        self.nvcc()
        nvcc = self.root / "cuda/bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        (self.bin / "nvcc").rename(nvcc)
        self.assertIn(f"13.0 ({nvcc})", self.row(self.doctor(), "nvcc"))

    def test_driver_that_does_not_answer(self):
        self.fake("nvidia-smi", 'echo "NVIDIA-SMI has failed because"; exit 9\n')
        self.assertIn(
            "none usable: nvidia-smi is there but says: NVIDIA-SMI has failed", self.doctor()
        )

    def test_missing_and_outdated_required_tools(self):
        (self.bin / "make").unlink()
        out = self.doctor(status=1)
        self.assertIn("MISSING (needed for every command", self.row(out, "make"))
        self.assertIn("make must be installed first. Run ./setup.sh", out)
        self.fake("make", 'echo "GNU Make 4.3"\n')
        self.gxx("9.4.0")
        out = self.doctor(status=1)
        self.assertIn("9.4.0 is TOO OLD: 11 or newer", self.row(out, "g++"))
        self.assertIn("g++ must be newer, and ./setup.sh does not replace", out)
        self.assertNotIn("Run ./setup.sh", out)
        self.gxx()
        self.fake("python3", 'echo "Python 3.9.2"\n')
        self.assertIn("3.9.2 is TOO OLD: 3.10 or", self.row(self.doctor(status=1), "python3"))
        self.fake("python3", 'echo "Python 3.10.12"\n')  # Ubuntu 22.04's
        self.assertEqual("3.10.12", self.row(self.doctor(), "python3").split()[-1])

    def test_openblas(self):
        self.fake("ldconfig", "echo\n")
        self.assertIn(
            "not installed (optional: a row of chapter 4", self.row(self.doctor(), "OpenBLAS")
        )
        self.fake("ldconfig", 'echo "  libopenblas.so.0 (libc6,x86-64) => /lib/libopenblas.so.0"\n')
        self.assertIn("found", self.row(self.doctor(), "OpenBLAS"))

    def test_bad_arguments(self):
        for arguments in (["--nosuch"], ["nosuch"], ["a", "b"]):
            self.assert_one_line(
                self.run_tool("doctor.sh", *arguments, status=2).stderr, "doctor.sh:"
            )


if __name__ == "__main__":
    unittest.main()
