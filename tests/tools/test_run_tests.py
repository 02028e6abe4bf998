"""run_tests.sh adds up what test programs say, and lets nothing pass that did not."""

import os
import signal
import subprocess
import textwrap
import time
import unittest

from tool_case import TOOLS, ToolCase


class RunTests(ToolCase):
    def executable(self, path, script):
        """A program that lists no cases, unless it does so itself."""
        return super().executable(path, f'[[ $1 != --list* ]] || exit 0\n{textwrap.dedent(script)}')

    def test_each_case_has_a_process_of_its_own(self):
        # As Catch2 2 and 3 list them.
        for option in ("--list-test-names-only", "--list-tests"):
            program = super().executable(
                self.root / "cases",
                f"""
                echo "$*" >>{self.root}/arguments
                case $1 in
                  {option}) printf '%s\n' 'first, [tag]' second third
                    echo 0 passed, 0 failed, 0 skipped ;;
                  --list*) exit 255 ;;
                  *first*) echo 'failed sum/tiled, n = 3: why'
                    echo '1 passed, 1 failed, 0 skipped'; exit 1 ;;
                  *second*) echo last words; kill -SEGV $$ ;;
                  *third*) echo 'failed sum/tiled, n = 5: why'; echo 'failed other, n = 5: why'
                    echo 'skipped 2: no GPU'; echo '3 passed, 2 failed, 2 skipped'; exit 1 ;;
                esac""",
            )
            out = self.run_tool("run_tests.sh", program, status=1).stdout.splitlines()
            self.assertEqual(
                out[1:],
                [
                    "    failed sum/tiled, n = 3: why",
                    "    failed the program itself, which ended with signal SEGV: last words",
                    "    failed other, n = 5: why",
                    "(V=1 shows all that the programs said that failed.)",
                    "4 passed, 4 failed, 2 skipped",
                ],
            )
        self.assertIn('\n"first\\, \\[tag\\]"\n"second"\n"third"\n', self.read("arguments"))

    def program(self, name, *lines, status=0):
        script = "".join(f"echo '{line}'\n" for line in lines) + f"exit {status}\n"
        return self.executable(self.root / name, script)

    def module(self, name, *tests):
        body = "".join(f"  def test_{i}(self): {test}\n" for i, test in enumerate(tests))
        text = (
            f"import unittest\nclass T(unittest.TestCase):\n{body or '  pass'}\nunittest.main()\n"
        )
        (self.root / name).write_text(text, encoding="utf-8")
        return self.root / name

    def test_output_that_cannot_be_written_is_no_success(self):
        good = self.program("good", "2 passed, 0 failed, 0 skipped")
        with open("/dev/full", "w") as full:
            command = ["/bin/bash", TOOLS / "run_tests.sh", good]
            result = subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 1)

    def waiting_for(self, name, other):
        """A program that is right once the other one has begun, and not told of JOBS."""
        script = f"""
            cd {self.root}
            touch {name}.begun
            for i in {{1..100}}; do [[ -e {other}.begun ]] && break; sleep 0.05; done
            [[ -e {other}.begun && -z ${{JOBS+given}} ]] && echo "1 passed, 0 failed, 0 skipped"
        """
        return self.executable(self.root / name, script)

    def test_as_many_at_a_time_as_are_asked_for(self):
        a, b = self.waiting_for("a", "b"), self.waiting_for("b", "a")
        c = self.program("c", "1 passed, 0 failed, 0 skipped")
        out = self.run_tool("run_tests.sh", a, b, c, JOBS="2").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in out[:3]], [str(a), str(b), str(c)])
        self.assertEqual(out[3], "3 passed, 0 failed, 0 skipped")

    def test_one_at_a_time(self):
        log = self.root / "log"
        script = f"""
            echo begin >>{log}
            sleep 0.1
            echo end >>{log}
            echo "1 passed, 0 failed, 0 skipped"
        """
        programs = [self.executable(self.root / name, script) for name in "ab"]
        self.assertEqual(self.last_line(*programs), "2 passed, 0 failed, 0 skipped")
        self.assertEqual(log.read_text().split(), ["begin", "end"] * 2)

    def test_how_many_must_be_a_number(self):
        good = self.program("good", "1 passed, 0 failed, 0 skipped")
        for given in ("0", "-1", "two", "2.5", "1 1"):
            result = self.run_tool("run_tests.sh", good, status=2, JOBS=given)
            self.assert_one_line(result.stderr, f"JOBS='{given}'")

    def test_what_was_begun_ends_with_it(self):
        begun = self.root / "begun"
        script = f"echo $$ >{begun}.part; mv {begun}.part {begun}; exec sleep 60"
        slow = self.executable(self.root / "slow", script)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                ["/bin/bash", TOOLS / "run_tests.sh", slow],
                # As from a terminal, whatever these tests run under.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                env={**os.environ, "TMPDIR": str(self.bin)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            while not begun.exists():
                time.sleep(0.02)
            process.send_signal(number)
            self.assertEqual(process.communicate(timeout=30)[0], b"")
            self.assertEqual(process.returncode, 128 + number)
            self.assert_ends(begun.read_text())
            begun.unlink()
        self.assertEqual(list(self.bin.iterdir()), [])

    def last_line(self, *programs, status=0):
        return self.run_tool("run_tests.sh", *programs, status=status).stdout.splitlines()[-1]

    def test_counts_are_added_up(self):
        a = self.program("a", "noise", "2 passed, 0 failed, 1 skipped")
        b = self.program("b", "3 passed, 0 failed, 0 skipped")
        self.assertEqual(self.last_line(a, b), "5 passed, 0 failed, 1 skipped")

    def test_only_a_failing_program_shows_its_output(self):
        good = self.program(
            "good", "quiet", "skipped 1: needs a GPU", "1 passed, 0 failed, 1 skipped"
        )
        bad = self.program("bad", "the reason", "1 passed, 2 failed, 0 skipped", status=1)
        out = self.run_tool("run_tests.sh", good, bad, status=1, V="1").stdout
        self.assertIn("the reason", out)
        self.assertNotIn("quiet", out)
        self.assertIn("    skipped 1: needs a GPU", out)
        self.assertTrue(out.endswith("2 passed, 2 failed, 1 skipped\n"))

    BROKEN = ("failed sum/tiled, n = 3: 1 of 3 wrong", "failed a case (a.cu:7): CHECK( x )")

    def test_what_is_broken_has_a_line_each_and_nothing_more(self):
        noise = ("failed what it has started", "a.cu:7: FAILED:", "  CHECK( x )")
        bad = self.program("bad", *noise, *self.BROKEN, "1 passed, 3 failed, 0 skipped", status=1)
        out = self.run_tool("run_tests.sh", bad, status=1).stdout.splitlines()
        self.assertEqual(out[0].split()[1:7], ["1", "passed", "3", "failed", "0", "skipped"])
        self.assertEqual(out[1:3], ["    " + line for line in self.BROKEN])
        self.assertIn("V=1 shows all", out[3])
        self.assertEqual(out[4:], ["1 passed, 3 failed, 0 skipped"])

    def test_v_shows_all_that_a_failing_program_says(self):
        bad = self.program("bad", "noise", *self.BROKEN, "1 passed, 3 failed, 0 skipped", status=1)
        script = '[[ -z ${V+given} ]] && echo quiet && echo "1 passed, 0 failed, 0 skipped"'
        good = self.executable(self.root / "good", script)
        for v in ("1", "yes"):
            out = self.run_tool("run_tests.sh", bad, good, status=1, V=v).stdout
            self.assertIn("\nnoise\n" + self.BROKEN[0] + "\n", out)
            self.assertNotIn("V=1", out)
            self.assertNotIn("quiet", out)
        for v in ("0", "no", ""):
            self.assertNotIn("noise", self.run_tool("run_tests.sh", bad, status=1, V=v).stdout)

    def test_a_program_that_breaks_off_says_how_and_what_was_last(self):
        said = ("simt: error [race]: two writes", "simt:   at a.cu:7", "counting", "----")
        crash = self.executable(self.root / "crash", "echo last words; echo ====; kill -SEGV $$")
        exits = self.program("exits", *said, status=1)
        more = self.program("more", "why", "2 passed, 0 failed, 0 skipped", status=1)
        cases = (
            (exits, "status 1: simt: error [race]: two writes; at a.cu:7"),
            (crash, "signal SEGV: last words"),
            (self.program("mute", status=3), "status 3"),
            (more, "status 1: why"),
        )
        for program, how in cases:
            out = self.run_tool("run_tests.sh", program, status=1).stdout.splitlines()
            self.assertEqual(out[1], f"    failed the program itself, which ended with {how}")
            self.assertEqual(out[2][:5], "(V=1 ")
        # Where it has said what is broken, this is told, too.
        crash.write_text(crash.read_text().replace("kill", f"echo '{self.BROKEN[0]}'; kill"))
        out = self.run_tool("run_tests.sh", crash, status=1).stdout
        self.assertIn("    " + self.BROKEN[0] + "\n    failed the program itself", out)

    def test_a_crash_is_a_failure(self):
        before = self.program("before", "starting", status=139)
        after = self.program("after", "4 passed, 0 failed, 0 skipped", status=1)
        self.assertEqual(self.last_line(before, status=1), "0 passed, 1 failed, 0 skipped")
        self.assertEqual(self.last_line(after, status=1), "4 passed, 1 failed, 0 skipped")

    def test_a_program_that_says_nothing_or_is_not_there(self):
        good = self.program("good", "1 passed, 0 failed, 0 skipped")
        for mute in (self.program("mute"), self.program("empty", "0 passed, 0 failed, 0 skipped")):
            self.assertEqual(self.last_line(good, mute, status=1), "1 passed, 1 failed, 0 skipped")
        self.assertEqual(
            self.last_line(self.root / "gone", status=1), "0 passed, 1 failed, 0 skipped"
        )

    def test_what_cannot_run_here_is_no_failure(self):
        without = self.program("without", "skipped 2: needs a GPU", "0 passed, 0 failed, 2 skipped")
        self.assertEqual(self.last_line(without), "0 passed, 0 failed, 2 skipped")

    def test_nothing_to_run_is_no_success(self):
        self.assertEqual(self.last_line(status=1), "0 passed, 0 failed, 0 skipped")

    def test_python_modules(self):
        good = self.module("good.py", "pass", "self.skipTest('no')")
        bad = self.module("bad.py", "pass", "self.fail()", "1 / 0")
        self.assertEqual(self.last_line(good), "1 passed, 0 failed, 1 skipped")
        self.assertEqual(self.last_line(good, bad, status=1), "2 passed, 2 failed, 1 skipped")
        out = self.run_tool("run_tests.sh", bad, status=1).stdout.splitlines()
        self.assertRegex(out[2], r"^    failed test_1 \(.*\): AssertionError: None$")
        self.assertRegex(out[1], r"^    failed test_2 \(.*\): ZeroDivisionError: division by zero$")
        self.assertEqual(out[4:], ["1 passed, 2 failed, 0 skipped"])
        broken = self.root / "broken.py"
        broken.write_text("import nothing_of_that_name\n", encoding="utf-8")
        self.assertEqual(self.last_line(broken, status=1), "0 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
