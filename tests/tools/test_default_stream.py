"""What 06_atomics_streams/streams.md says of the per-thread default stream, as nvcc has it."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

NVCC = shutil.which("nvcc", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))
DEFINE = "CUDA_API_PER_THREAD_DEFAULT_STREAM"
COPY = "void copy(void* to, void* from) { cudaMemcpyAsync(to, from, 4, cudaMemcpyDefault); }\n"


@unittest.skipUnless(NVCC and shutil.which("nm"), "needs nvcc and nm")
class DefaultStream(unittest.TestCase):
    def called(self, source, *options):
        """The function of the runtime that a copy becomes."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "copy.cu")
            file.write_text(source)
            subprocess.run([NVCC, *options, "-c", file.name], cwd=folder, check=True)
            names = subprocess.run(
                ["nm", "-u", "copy.o"], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
            ).stdout.split()
        return [name for name in names if name.startswith("cudaMemcpyAsync")]

    def test_legacy_without_an_option_and_with_a_define_in_the_file(self):
        define = f"#ifndef {DEFINE}\n#define {DEFINE}\n#endif\n#include <cuda_runtime.h>\n"
        self.assertEqual(self.called(define + COPY), ["cudaMemcpyAsync"])

    def test_per_thread_by_the_option_or_on_the_command_line(self):
        for option in ("--default-stream=per-thread", f"-D{DEFINE}"):
            self.assertEqual(self.called(COPY, option), ["cudaMemcpyAsync_ptsz"], option)


if __name__ == "__main__":
    unittest.main()
