"""setup.sh on machines that lack different things; nothing is really installed."""

import contextlib
import os
import subprocess
import unittest

from tool_case import REPOSITORY, ToolCase

PACKAGES = "g++ make git python3 catch2"


class Setup(ToolCase):
    """The fake apt-get makes commands in `self.bin`; a library is a file in `self.root`."""

    def setUp(self):
        super().setUp()
        self.borrow("bash", "cat", "env", "mktemp", "rm")
        self.fake(
            "apt-get",
            f"""
            echo "$@" >>{self.root}/apt_calls
            read -r -t 1 line && echo "stdin was open" >>{self.root}/apt_calls
            [[ -e {self.root}/broken ]] && {{ echo "E: no network" >&2; exit 100; }}
            [[ $* == *" install "* ]] || exit 0
            for word in "$@"; do
              case $word in
                g++) printf '%s\\n' '#!/bin/bash' 'code=$(cat)' \\
                  '[[ $code != *catch2* ]] || [[ -e {self.root}/catch2 ]] || exit 1' >{self.bin}/g++
                  chmod +x {self.bin}/g++ ;;
                make | git | python3 | clang-format-14 | clangd | cmake | npm | chromium)
                  echo '#!/bin/bash' >{self.bin}/$word; chmod +x {self.bin}/$word ;;
                clang) echo '#!/bin/bash' >{self.bin}/clang++; chmod +x {self.bin}/clang++ ;;
                binaryen) echo '#!/bin/bash' >{self.bin}/wasm-opt; chmod +x {self.bin}/wasm-opt ;;
                bubblewrap) echo '#!/bin/bash' >{self.bin}/bwrap; chmod +x {self.bin}/bwrap ;;
                nodejs) echo '#!/bin/bash' >{self.bin}/node; chmod +x {self.bin}/node ;;
                *) >{self.root}/$word ;;
              esac
            done
            """,
        )
        self.borrow("chmod")
        self.fake("sudo", '[[ $1 == -n ]] && shift\n[[ $1 == true ]] || "$@"\n')

    def setup(self, *arguments, status=0):
        release = self.write("os-release", "ID=debian\n")
        return self.run_tool(
            "setup.sh", *arguments, status=status, only_fakes=True, OS_RELEASE=str(release)
        )

    def install_all(self):
        self.setup()
        (self.root / "apt_calls").unlink()

    def test_a_terminal_sees_the_seconds_and_nobody_else_does(self):
        release = self.write("os-release", "ID=debian\n")
        for term, shown in (("xterm", True), ("dumb", False)):
            ours, theirs = os.openpty()
            done = subprocess.run(
                ["/bin/bash", REPOSITORY / "setup.sh"],
                env={"PATH": str(self.bin), "TERM": term, "OS_RELEASE": str(release)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=theirs,
                text=True,
            )
            os.close(theirs)
            seen = ""
            with contextlib.suppress(OSError):  # nobody has the other end any more
                while text := os.read(ours, 1000).decode():
                    seen += text
            os.close(ours)
            self.assertEqual(done.returncode, 0, done.stdout + seen)
            self.assertIn(f"Installed: {PACKAGES}", done.stdout)
            clock = r"^\r5 packages, 0 s .*\r\x1b\[K$" if shown else "^$"
            self.assertRegex(seen, clock)
            for name in ("make", "git", "python3", "g++"):
                (self.bin / name).unlink()

    def test_fresh_machine(self):
        out = self.setup().stdout
        self.assertIn(f"Installed: {PACKAGES}", out)
        self.assertTrue(out.endswith("Next: make run\n"))
        calls = self.read("apt_calls")
        self.assertIn(f"install -y --no-install-recommends {PACKAGES}", calls)
        self.assertNotIn("stdin was open", calls)
        self.assertIn("-o DPkg::Lock::Timeout=", calls)
        self.assertNotIn("clang-format", out)

    def test_second_run_installs_nothing(self):
        self.install_all()
        out = self.setup().stdout
        self.assertIn("Everything is there already; nothing was installed.", out)
        self.assertFalse((self.root / "apt_calls").exists())

    def test_only_what_is_missing(self):
        self.install_all()
        (self.root / "catch2").unlink()
        self.assertIn("Installed: catch2\n", self.setup().stdout)

    def test_developers_get_more(self):
        self.install_all()
        more = "clang-format-14 clangd cmake bubblewrap"
        self.assertIn(f"Installed: {more}\n", self.setup("--dev").stdout)
        self.assertIn("Everything is there already", self.setup("--dev").stdout)

    def test_the_book_gets_its_packages(self):
        self.borrow("dirname", "uname")
        self.install_all()
        self.fake("npm", f'echo "$@" >>{self.root}/npm_calls\n')
        out = self.setup("--book").stdout
        compiler = "clang lld binaryen wasi-libc libc++-dev-wasm32 libclang-rt-dev-wasm32"
        self.assertIn(f"Installed: nodejs {compiler} chromium\n", out)
        self.assertTrue(out.endswith("Next: make book-serve\n"))
        self.assertRegex(self.read("npm_calls"), r"^ci .*--prefix \S+/book\n$")

    def test_nvcc_is_mentioned_and_never_installed(self):
        self.assertIn("nvcc not found: kernels run on the CPU", self.setup().stdout)
        self.fake("nvcc", "")
        self.assertIn("nvcc found (", self.setup().stdout)

    def test_other_distributions(self):
        (self.bin / "apt-get").rename(self.bin / "kept")
        self.assert_one_line(self.setup(status=1).stderr, "no Debian or Ubuntu", PACKAGES)
        (self.bin / "kept").rename(self.bin / "apt-get")
        self.install_all()
        (self.bin / "apt-get").unlink()
        self.assertIn("Everything is there", self.setup().stdout)

    def test_failing_apt(self):
        self.write("broken", "")
        error = self.setup(status=1).stderr
        self.assertIn("E: no network", error)
        self.assertIn(f"could not install {PACKAGES} (names as in Debian 12 and", error)

    def test_another_shell_hands_over_and_an_old_one_is_told(self):
        self.borrow("sh")
        words = ["sh", str(REPOSITORY / "setup.sh"), "--help"]
        env = {"PATH": str(self.bin)}
        run = lambda: subprocess.run(words, env=env, capture_output=True, text=True)
        self.assertIn("usage: ./setup.sh", run().stdout)
        (self.bin / "bash").unlink()  # a shell that has no other to hand over to
        result = run()
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "needs bash 4 or newer", "WSL 2", "dev container")

    def test_lines_fit_a_screen(self):
        for words in ("--help",), ("--dev",), ():
            for line in self.setup(*words).stdout.splitlines():
                self.assertLessEqual(len(line), 80 if "Installed" not in line else 99, line)

    def test_bad_arguments(self):
        self.assert_one_line(self.setup("--nosuch", status=2).stderr, "unknown option --nosuch")


if __name__ == "__main__":
    unittest.main()
