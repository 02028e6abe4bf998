"""What must pass before a change lands: .ci/run ends with a status if a step does, and which steps
it takes is the commit's business alone."""

import os
import shutil
import subprocess
import unittest

from tool_case import REPOSITORY, ToolCase

# Stands in for make and for the tools: fails at the step that the file `bad` names.
STEP = """\
echo "SIMT_ASYNC=$SIMT_ASYNC {name} $*" >>{root}/steps
[[ "$*" == *--list-gpu-arch* ]] && echo compute_75 compute_80 compute_86 compute_89 compute_90a \
  compute_100 compute_103 compute_120
[[ "$*" == "test "* ]] && echo "7 passed, 0 failed, 1 skipped"
[[ -e {root}/warns && "$*" == *" tests "* ]] && echo "a.cu:1: warning: unused"
[[ ! -e {root}/bad ]] || [[ "{name} $*" != $(cat {root}/bad)* ]]
"""


class Ci(ToolCase):
    def setUp(self):
        super().setUp()
        shutil.copytree(REPOSITORY / ".ci", self.root / ".ci")
        tools = ("tools/mutate.py", "tools/run_tests.sh", "book/outcomes.py")
        for name in ("setup.sh", "exercise", *tools):
            self.executable(self.root / name, STEP.format(root=self.root, name=name))
        self.fake("make", STEP.format(root=self.root, name="make"))
        for number in range(1, 8):
            self.executable(self.root / f"build/chip/0{number}_a/ladders", "echo 'GPU    none: '")
            self.write(f"0{number}_a/ladders.cu", "")
        for number in range(20):
            self.write(f"tests/common/{number}.cu", "")
        for test in ("simt/tests/async", "tests/04_matmul_bf16", "tests/04_matmul_program"):
            self.executable(self.root / f"build/{test}", "")
        self.git("init", "-q")
        self.commit(1)

    def git(self, *arguments):
        names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER")
                 for what in ("NAME", "EMAIL")}
        dates = dict.fromkeys(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"], "2026-01-01T00:00:00Z")
        subprocess.run(["git", "-C", self.root, *arguments], check=True,
                       env={**os.environ, **names, **dates})

    def commit(self, number):
        self.git("commit", "-q", "--allow-empty", "-m", f"change {number}")

    def ci(self):
        # No book, and no nvcc but a fake.
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
        # The book, too, was skipped, and five tests that take turns.
        self.assertEqual(ended.stdout.splitlines()[-1], "7 passed, 0 failed, 7 skipped")

    def test_of_six_long_tests_one_takes_its_turn_and_the_others_count_as_skipped(self):
        ended = self.ci()
        left_out = [line.split()[1] for line in ended.stdout.splitlines() if "takes turns" in line]
        self.assertEqual(len(set(left_out)), 5)
        for test in left_out:
            self.assertTrue((REPOSITORY / test).exists() or test == "build/simt/tests/build", test)
        steps = (self.root / "steps").read_text()
        self.assertIn("LEFT_OUT=" + " ".join(left_out) + "\n", steps)

    def test_a_step_that_fails_ends_it(self):
        steps = ["setup.sh", "make -j", "make test", "exercise selftest", "exercise release"]
        for step in (*steps, "book/outcomes.py --prove", "make check", "make run"):
            with self.subTest(step):
                self.write("bad", step)
                self.assertNotEqual(self.ci().returncode, 0)

    def test_a_warning_ends_it(self):
        self.write("warns", "")
        self.assertNotEqual(self.ci().returncode, 0)

    def steps(self):
        """What it does with all that a commit and a date can choose."""
        self.fake("nvcc", STEP.format(root=self.root, name="nvcc"))
        self.fake("mktemp", f"mkdir -p {self.root}/tmp; echo {self.root}/tmp")
        (self.root / "steps").write_text("")
        ended = self.ci()
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return (self.root / "steps").read_text()

    def test_the_date_changes_nothing(self):
        of_days = []
        for day in (20000, 20001):
            self.fake("date", f"echo {86400 * day}")
            of_days.append(self.steps())
        self.assertEqual(*of_days)

    def test_each_commit_has_its_turn(self):
        of_commits = {self.steps()}
        for number in (2, 3):
            self.commit(number)
            of_commits.add(self.steps())
        self.assertEqual(len(of_commits), 3)


if __name__ == "__main__":
    unittest.main()
