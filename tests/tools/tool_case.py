"""What the tests of tools/ share: a temporary repository and a way to run a script on it."""

import contextlib
import itertools
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parent.parent.parent
TOOLS = REPOSITORY / "tools"
sys.path.insert(0, str(TOOLS))


class ToolCase(unittest.TestCase):
    """Gives each test an empty folder `self.root` and a folder `self.bin` for fake commands."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name, "repository").resolve()
        self.bin = Path(folder.name, "bin").resolve()
        self.root.mkdir()
        self.bin.mkdir()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8")

    def executable(self, path, script):
        """Writes a bash script that stands in for a program."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + textwrap.dedent(script), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def fake(self, name, script):
        """Puts a command called `name` in front of the real ones."""
        return self.executable(self.bin / name, script)

    def borrow(self, *names):
        """Makes real commands visible in a PATH that holds `self.bin` alone."""
        for name in names:
            (self.bin / name).symlink_to(shutil.which(name))

    def take_few_cases(self, most=4):
        """Every exercise has only its first cases: those of 01/guard are n = 256, 1024, 1, 2."""
        from exercise import catalog

        whole = catalog.Exercise.judge

        def judge(exercise):
            module = whole(exercise)
            cases = module.cases
            module.cases = lambda random: itertools.islice(cases(random), most)
            return module

        patch = mock.patch.object(catalog.Exercise, "judge", judge)
        patch.start()
        self.addCleanup(patch.stop)

    def run_tool(
        self, name, *arguments, status=0, only_fakes=False, stdin=subprocess.DEVNULL, **env
    ):
        """Runs a script of tools/ (or setup.sh), expects its exit code, returns its result."""
        script = REPOSITORY / name if name == "setup.sh" else TOOLS / name
        command = [sys.executable if name.endswith(".py") else "/bin/bash", str(script), *arguments]
        path = str(self.bin) if only_fakes else f"{self.bin}:{os.environ['PATH']}"
        result = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            stdin=stdin,
            env={**os.environ, "PATH": path, "CUDA_HOME": str(self.root / "cuda"), **env},
        )
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def seen_on_terminal(self, words, term, **environment):
        """What a terminal of this kind shows of a command; term: TERM, or None for none."""
        ours, theirs = os.openpty()
        env = {key: value for key, value in os.environ.items() if key not in ("TERM", "NO_COLOR")}
        env |= {"TERM": term} if term else {}
        output = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
        process = subprocess.Popen([str(w) for w in words], env={**env, **environment}, **output)
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # nobody has the other end any more
            while text := os.read(ours, 1000):
                seen += text
        os.close(ours)
        self.assertEqual(process.wait(), 0, seen)
        return seen.decode()

    def assert_ends(self, process):
        """The process of this number, which has been told to end, does: when it next runs."""
        words = Path("/proc", str(process).strip(), "cmdline")  # of a zombie it is empty
        patience = time.monotonic() + 20
        while left := words.exists() and words.read_bytes():
            self.assertLess(time.monotonic(), patience, left)
            time.sleep(0.02)

    def assert_one_line(self, text, *parts):
        """`text` is a single line that names every one of `parts`."""
        self.assertEqual(len(text.strip().splitlines()), 1, text)
        for part in parts:
            self.assertIn(part, text)
