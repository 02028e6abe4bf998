"""simt's engine: two libraries of the same objects, each of which is compiled once."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from tool_case import REPOSITORY, ToolCase

# A compiler that writes down what it compiles; where a file says so, it is killed on the way.
COMPILER = r"""
[[ $1 == --version ]] && { echo "fake 1.0"; exit; }
while (($#)); do
  case $1 in
    -o) out=$2 ;;
    *.cpp) source=$1 ;;
  esac
  shift
done
echo half >"$out"
[[ -e ${0%/*}/killed && $source == *b.cpp ]] && kill -KILL $$
echo whole >"$out"
echo "${source##*/}" >>"${0%/*}/compiled"
"""


class Engine(ToolCase):
    def setUp(self):
        super().setUp()
        source = REPOSITORY / "simt/frontend"
        shutil.copytree(source, self.root / "simt/frontend", ignore=lambda *_: ["__pycache__"])
        for name in ("a", "b", "check_c", "profile_d"):
            self.write(f"simt/src/{name}.cpp", f"int {name};\n")
        self.compiler = self.executable(self.root / "g++", COMPILER)

    def build(self, instrumented, status=0):
        """The names of what is compiled for one of the libraries, and of what is in it."""
        code = "from frontend import engine; import sys; "
        code += f"print(engine.library((sys.argv[1],), {instrumented}))"
        environment = dict(os.environ, PYTHONPATH="simt", SIMT_BUILD="built")
        result = subprocess.run(
            [sys.executable, "-B", "-c", code, self.compiler],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, status, result.stderr)
        compiled = self.root / "compiled"
        names = sorted(compiled.read_text().split()) if compiled.exists() else []
        compiled.unlink(missing_ok=True)
        if status:
            return names, []
        archive = self.root / result.stdout.strip()
        for member in subprocess.check_output(["ar", "t", archive], text=True).split():
            content = subprocess.check_output(["ar", "p", archive, member], text=True)
            self.assertEqual(content, "whole\n")
        return names, subprocess.check_output(["ar", "t", archive], text=True).split()

    def test_what_both_hold_is_compiled_once(self):
        everything = ["a.cpp", "b.cpp", "check_c.cpp", "profile_d.cpp"]
        objects = ["a.o", "b.o", "check_c.o", "profile_d.o"]
        self.assertEqual(self.build(False), (everything[:2], objects[:2]))
        self.assertEqual(self.build(True), (everything[2:], objects))
        self.assertEqual(self.build(True), ([], objects))
        self.assertEqual(self.build(False), ([], objects[:2]))

    def test_what_has_changed_is_compiled_for_both(self):
        self.build(False)
        self.build(True)
        self.write("simt/src/a.cpp", "int other;\n")
        self.assertEqual(len(self.build(True)[0]), 4)
        self.assertEqual(self.build(False), ([], ["a.o", "b.o"]))

    def test_what_is_not_whole_is_compiled_again(self):
        killed = self.write("killed", "")
        self.build(False, status=1)
        killed.unlink()
        self.assertEqual(self.build(False), (["b.cpp"], ["a.o", "b.o"]))


class Colours(ToolCase):
    def test_they_are_for_terminals_that_know_them(self):
        compiler = self.executable(self.root / "g++", 'echo "it was told: $*"')
        source = self.write("a.cu", "int main() {}\n")
        words = [REPOSITORY / "simt/nvcc", "-E", source]
        for term, shown in (("xterm", True), ("dumb", False), (None, False)):
            with self.subTest(term):
                seen = self.seen_on_terminal(words, term, CXX=str(compiler))
                self.assertIn("it was told: ", seen)
                self.assertEqual("-fdiagnostics-color=always" in seen, shown, seen)


class Checks(unittest.TestCase):
    def test_each_stands_in_the_documentation(self):
        named = set()
        for source in (REPOSITORY / "simt/src").glob("*.cpp"):
            text = source.read_text(encoding="utf-8")
            named |= set(re.findall(r'\breport\(\{?\s*"([a-z]+(?:-[a-z]+)*)"', text))
            named |= set(re.findall(r'\bcheck = "([a-z]+(?:-[a-z]+)*)"', text))
        named -= {"memory"}  # of a build without checks
        self.assertLess({"race", "assert", "grid-sync"}, named)
        table = (REPOSITORY / "simt/checks-and-counters.md").read_text(encoding="utf-8")
        self.assertEqual([name for name in sorted(named) if f"`{name}`" not in table], [])


if __name__ == "__main__":
    unittest.main()
