"""What the Python tools share: one-line argument errors and the repository they work on."""

import argparse
import os
import shutil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CHAPTERS = "[0-9][0-9]_*"
SKIPPED_FOLDERS = {"build", "work", "node_modules", "__pycache__"}  # hold nothing of ours


def cuda_tool(name):
    """Path of a tool of the CUDA Toolkit or None; its folder is often missing from PATH."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    return shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}{toolkit}")


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line, without the usage text."""

    def __init__(self, description):
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (--help shows the options)\n")

    def add_root(self):
        self.add_argument(
            "--root", type=Path, default=REPOSITORY, help="repository (default: this one)"
        )
