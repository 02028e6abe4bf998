"""What must pass before a change lands: .ci/run ends with a status if a step does."""

import os
import shutil
import subprocess
import unittest

from tool_case import REPOSITORY, ToolCase

# Stands in for make and for the tools: fails at the step that the file `bad` names.
STEP = """\
[[ "$*" == test ]] && echo "7 passed, 0 failed, 1 skipped"
[[ -e {root}/warns && "$*" == *tests ]] && echo "a.cu:1: warning: unused"
[[ ! -e {root}/bad ]] || [[ "{name} $*" != $(cat {root}/bad)* ]]
"""


class Ci(ToolCase):
    def setUp(self):
        super().setUp()
        shutil.copytree(REPOSITORY / ".ci", self.root / ".ci")
        for name in ("setup.sh", "exercise", "tools/mutate.py", "tools/run_tests.sh"):
            self.executable(self.root / name, STEP.format(root=self.root, name=name))
        self.fake("make", STEP.format(root=self.root, name="make"))
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def ci(self):
        # No nvcc, no book.
        path = f"{self.bin}:/usr/bin:/bin"
        env = dict(os.environ, PATH=path, WITHOUT_BOOK="1", CUDA_HOME=str(self.root))
        return subprocess.run(
            [self.root / ".ci/run"],
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def test_it_ends_with_the_counts(self):
        ended = self.ci()
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        # The book, too, was skipped.
        self.assertEqual(ended.stdout.splitlines()[-1], "7 passed, 0 failed, 2 skipped")

    def test_a_step_that_fails_ends_it(self):
        steps = ("setup.sh", "make -j", "make test", "exercise selftest", "exercise release")
        for step in (*steps, "make check", "make run", "tools/mutate.py"):
            with self.subTest(step):
                self.write("bad", step)
                self.assertNotEqual(self.ci().returncode, 0)

    def test_a_warning_ends_it(self):
        self.write("warns", "")
        self.assertNotEqual(self.ci().returncode, 0)


if __name__ == "__main__":
    unittest.main()
