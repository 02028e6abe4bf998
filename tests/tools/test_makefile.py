"""The Makefile's verbs, on a small tree with a compiler that only writes what it was asked for."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from tool_case import REPOSITORY, TOOLS, ToolCase

# Writes a program that says its name, or makes one of the first object; keeps a list of what was
# compiled and ran when, and waits if a file says so.
COMPILER = r"""
root=$(cd "$(dirname "$0")/.." && pwd)
echo "$*" >>"$root/calls"
while (($#)); do
  case $1 in
    -o) out=$2 ;;
    -MF) deps=$2 ;;
    -MT) target=$2 ;;
    *.cu | *.cpp) source=$1 ;;
    *.o) objects+=("$1") ;;
  esac
  shift
done
[[ $source ]] || { cp "${objects[0]}" "$out"; exit; }
echo "begin $source" >>"$root/log"
printf '%s: %s\n\n%s:\n' "$target" "$source" "$source" >"$deps"
printf '#!/bin/bash\necho "I am %s, kept $KEPT_COUNTS; $*"\n' "$source" >"$out"
printf 'echo "run %s" >>%q/log; sleep 0.1; echo "ran" >>%q/log\n' "$source" "$root" "$root" >>"$out"
cat >>"$out" <<'EOF'
row='{"problem": "add", "name": "naive", "status": "right", "sizes": {"n": 33}}'
while (($#)); do [[ $1 != --json ]] || echo "{\"rows\": [$row]}" >"$2"; shift; done
EOF
[[ -e $root/fails ]] && { rm "$out"; echo "$source: error" >&2; exit 1; }
[[ -e $root/slow ]] && sleep "$(cat "$root/slow")"
[[ -e $root/wrong ]] && echo 'exit 1' >>"$out"
chmod +x "$out"
echo "end $source" >>"$root/log"
"""

# A compiler that has the headers in its own toolkit's folder.
HEADERS_OF_A_TOOLKIT = r"""
include=$(cd "$(dirname "$0")/../include" && pwd)
while (($#)); do
  if [[ $1 == -include && ! -e $include/$2 ]]; then
    echo "fatal error: $2: No such file or directory" >&2
    exit 1
  fi
  shift
done
"""


class MakeCase(ToolCase):
    def setUp(self):
        super().setUp()
        shutil.copy(REPOSITORY / "Makefile", self.root / "Makefile")
        shutil.copytree(TOOLS, self.root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        self.executable(self.root / "simt/nvcc", COMPILER)
        for name in ("01_add/ladders", "02_polar/ladders"):
            self.write(f"{name}.cu", "int main() {}\n")

    def command(self, *arguments, **env):
        # Nothing of the make that runs these tests is passed on: it exports what it was given.
        kept = {k: os.environ[k] for k in ("HOME", "LANG", "LC_ALL", "TMPDIR") if k in os.environ}
        environment = dict(kept, PATH=f"{self.bin}:{os.environ['PATH']}", **env)
        words = ["make", "CPU=1", *map(str, arguments)]
        return dict(args=words, cwd=self.root, env=environment, text=True)

    def make(self, *arguments, status=0, **env):
        options = self.command(*arguments, **env)
        options.update({key: subprocess.PIPE for key in ("stdout", "stderr")})
        result = subprocess.run(**options, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def log(self):
        return self.read("log").splitlines()


class Build(MakeCase):
    def test_a_terminal_sees_the_seconds_of_a_build(self):
        ours, theirs = os.openpty()
        done = subprocess.run(**self.command("programs"), stdout=theirs, stderr=theirs)
        os.close(theirs)
        seen = os.read(ours, 10000).decode()
        os.close(ours)
        self.assertEqual(done.returncode, 0, seen)
        self.assertRegex(seen, r"\n +\d s  simt/nvcc \S*02_polar/ladders.o\r\n")
        self.assertNotRegex(self.make("-B", "programs").stdout, r"\d s  simt/nvcc")

    def test_one_short_line_an_object(self):
        lines = self.make().stdout.splitlines()
        self.assertIn("CPU=1 was given", lines[0])
        self.assertEqual(lines.pop(), "built; next: make run (make help lists all)")
        wanted = ["simt/nvcc build/01_add/ladders.o", "simt/nvcc build/02_polar/ladders.o"]
        self.assertEqual(sorted(lines[1:]), wanted)
        self.assertEqual(len(self.make().stdout.splitlines()), 2)  # nothing is left to do
        self.assertNotIn("next:", self.make("run").stdout)

    def test_command_lines_are_shown_if_asked_for(self):
        for given in ("V=1", "V=yes"):
            self.assertIn("simt/nvcc -std=c++17 -O3", self.make("-B", given).stdout)
        for given in ("V=0", "V=no", "V="):
            self.assertNotIn("-std=c++17", self.make("-B", given).stdout)

    def test_switches_can_be_off(self):
        # A machine with a toolkit and a GPU: its compiler is taken unless simt is asked for.
        nvcc = self.fake("nvcc", "exit 0\n")
        self.fake("nvidia-smi", "echo 9.0\n")
        for value in ("0", "no", "off", ""):
            out = self.make("-n", f"CPU={value}", "V=1", "01").stdout
            self.assertIn(f"{nvcc} -std=c++17", out)
        self.assertIn("simt/nvcc -std=c++17", self.make("-n", "CPU=yes", "V=1", "01").stdout)

    def test_each_ladder_is_an_object_and_a_program_is_linked_from_those_of_its_chapter(self):
        ladders = ["01_add/ladder", "02_polar/a/ladder", "02_polar/b/ladder_bf16"]
        for name in ladders:
            self.write(f"{name}.cu", "")
        out = self.make("-n", "V=1").stdout
        linked = [line for line in out.splitlines() if re.match(r"simt/nvcc .*\.o -o ", line)]
        objects = [sorted(re.findall(r"build/(\S+)\.o ", line)) for line in linked]
        wanted = [["01_add/ladder", "01_add/ladders"], ["02_polar/ladders", *ladders[1:]]]
        self.assertEqual(sorted(objects), [sorted(names) for names in wanted])
        both = ["01_add/ladders.cu", "02_polar/ladders.cu"]
        self.assertEqual(self.begun(), sorted([f"{name}.cu" for name in ladders] + both))
        later = time.time() + 5
        os.utime(self.root / "02_polar/a/ladder.cu", (later, later))
        self.assertEqual(self.begun(), ["02_polar/a/ladder.cu"])

    def test_one_ladder_alone_is_a_program(self):
        for name in ("01_add/ladder", "02_polar/a/ladder", "02_polar/b/ladder_bf16"):
            self.write(f"{name}.cu", "")
            self.make(f"build/{name}")
        calls = self.read("calls")
        self.assertEqual(re.findall(r"-DLADDER=(\S+)", calls), ["add", "a", "b_bf16"])
        self.assertNotIn("ladders.cu", calls)

    def test_a_toolkit_that_lacks_a_library_is_not_asked_for_it(self):
        # As nvcc does: it looks into its own folder, wherever the script lies that started it.
        real = self.executable(self.root / "toolkit/bin/nvcc", HEADERS_OF_A_TOOLKIT)
        nvcc = self.executable(self.root / "scripts/nvcc", f'exec {real} "$@"\n')
        for name in ("04_matmul/ladders", "06_atomics_streams/ladders"):
            self.write(f"{name}.cu", "int main() {}\n")
        self.write("toolkit/include/curand.h", "")
        words = ("-n", "CPU=0", "V=1", f"NVCC={nvcc}", "04", "06")
        out = self.make(*words).stdout
        self.assertNotIn("-lcublas", out)
        self.assertIn("-lcurand", out)
        self.write("toolkit/include/cublas_v2.h", "")
        self.assertIn("-lcublas", self.make(*words).stdout)

    def test_compilers_run_side_by_side(self):
        self.write("slow", "0.5")
        self.make("run")
        log = self.log()
        if os.cpu_count() > 1:
            self.assertEqual(
                [line.split()[0] for line in log[:4]], ["begin", "begin", "end", "end"]
            )
        # Programs do not: their times would be wrong.
        runs = ["run 01_add/ladders.cu", "ran", "run 02_polar/ladders.cu", "ran"]
        self.assertEqual(log[4:], runs)

    def test_programs_run_one_after_the_other_whatever_j_says(self):
        for goals in (["run"], ["run-01", "run-02"]):
            self.make("-j4", *goals)
            log = [line.split()[0] for line in self.log() if line.startswith("r")]
            self.assertEqual(log, ["run", "ran", "run", "ran"])
            (self.root / "log").unlink()

    def test_a_run_of_all_chapters_is_a_short_look(self):
        self.write("01_vector_add/first_kernel.cu", "int main() {}\n")
        out = self.make("run").stdout
        self.assertRegex(out, r"I am 02_polar/ladders.cu, kept \S*; --quick --json \S+\n")
        self.assertRegex(out, r"first_kernel.cu, kept \S*; \n")  # it has no options
        out = self.make("run-02").stdout
        self.assertRegex(out, r"I am 02_polar/ladders.cu, kept \S*; --json \S+\n")

    def test_the_chapter_in_one_file_runs_first_and_has_no_options(self):
        self.write("02_polar/polar.cu", "int main() {}\n")
        for goal in ("run", "run-02"):
            out = self.make(goal).stdout
            self.assertRegex(out, r"I am 02_polar/polar.cu, kept \S*; \n")
            self.assertLess(out.index("I am 02_polar/polar"), out.index("I am 02_polar/ladders"))

    def test_every_program_runs_though_one_was_wrong(self):
        self.write("wrong", "")
        self.make("01")
        (self.root / "wrong").unlink()
        result = self.make("run", status=2)
        self.assertIn("I am 02_polar/ladders.cu", result.stdout)
        line = result.stdout.splitlines()[-1]
        self.assertEqual(line[:37], "rows: 2 right, 0 skipped, 0 wrong; wr")
        self.assertIn("wrong: 01_add/ladders (exit status 1)", line)

    def test_without_a_gpu_programs_are_given_what_was_counted_before(self):
        row = {"sources": "", "counts": {}}
        entry = {"commit": "0", "date": "", "sizes": {"add": {"n": 33}}, "rows": {"add/naive": row}}
        self.write("results/counters/simt.json", json.dumps({"chapters": {"01_add": entry}}))
        for goal in ("run", "run-01"):
            self.assertIn("I am 01_add/ladders.cu, kept build/kept_counts", self.make(goal).stdout)
        kept = "01_add: counted by simt at commit 0\nadd n=33\nadd/naive\n"
        self.assertEqual(self.read("build/kept_counts"), kept)
        self.make("clean")
        self.assertFalse((self.root / "build").exists())

    def test_everything_anew(self):
        self.make("programs")
        self.make("-B", "run")
        self.make("-B", "01")
        self.assertEqual(sum(line.startswith("begin 01") for line in self.log()), 3)

    def begun(self, *words):
        """The sources that were compiled."""
        (self.root / "log").unlink(missing_ok=True)
        self.make(*words)
        lines = self.log() if (self.root / "log").exists() else []
        return sorted(line.split()[1] for line in lines if line.startswith("begin"))

    def test_what_a_program_includes_is_compiled_anew_when_it_changes(self):
        header = self.write("common/kit/launch.cuh", "int a;\n")
        nvcc = self.root / "simt/nvcc"
        text = nvcc.read_text().replace(
            '"$target" "$source" "$source"', f'"$target" "$source {header}" "$source"'
        )
        nvcc.write_text(text)
        both = ["01_add/ladders.cu", "02_polar/ladders.cu"]
        self.assertEqual(self.begun(), both)
        self.assertEqual(self.begun(), [])
        later = time.time() + 5
        os.utime(header, (later, later))
        self.assertEqual(self.begun(), both)

    def test_other_flags_compile_anew(self):
        self.assertEqual(len(self.begun()), 2)
        self.assertEqual(len(self.begun("OPTIMIZE=-O0")), 2)
        self.assertEqual(self.begun("OPTIMIZE=-O0"), [])
        self.assertEqual(len(self.begun()), 2)

    def test_what_is_measured_is_built_first(self):
        self.fake("nvcc", "exit 0\n")
        self.fake("nvidia-smi", "echo 9.0\n")
        self.assertIn("built WHAT", self.make("-n", "CPU=0", "bench").stdout)

    def test_every_test_is_run_and_has_simts_checks(self):
        tests = ["simt/tests/b", "tests/01_add", "tests/common/a"]
        tests.append("tests/programs")  # it starts programs, and runs no kernel itself
        for name in tests:
            self.write(f"{name}.cu", "")
        for name in ("main.cpp", "catch.hpp", "tools/test_t.py"):
            self.write(f"tests/{name}", "")
        nvcc = self.root / "simt/nvcc"
        noted = 'echo "$source $SIMT_CHECK" >>"$root/checked"\necho "begin $source"'
        nvcc.write_text(nvcc.read_text().replace('echo "begin $source"', noted))
        self.executable(self.root / "tools/run_tests.sh", f'echo "$@" >{self.root}/ran\n')
        self.make("test", CXX=str(nvcc))
        ran = [*(f"build/{name}" for name in tests), "tests/tools/test_t.py"]
        self.assertEqual(sorted(self.read("ran").split()), ran)
        checked = self.read("checked").splitlines()
        for name in tests[:-1]:
            self.assertIn(f"{name}.cu 1", checked)
        left_out = [ran[0], ran[-1]]
        self.make("test", f"LEFT_OUT={' '.join(left_out)}", CXX=str(nvcc))
        self.assertEqual(sorted([*self.read("ran").split(), *left_out]), sorted(ran))

    def test_what_standalone_writes_is_ours_to_write_again_and_to_clean(self):
        words = "mkdir -p build/standalone; touch build/standalone/tiled.cu\n"
        self.executable(self.root / "tools/standalone.py", words)
        for _ in range(2):
            self.make("standalone", "R=04/tiled")
        self.make("clean")
        self.assertFalse((self.root / "build").exists())

    def test_a_build_that_was_killed_leaves_nothing_that_looks_whole(self):
        self.write("slow", "30")
        options = self.command("01")
        make = subprocess.Popen(**options, stdout=subprocess.DEVNULL, start_new_session=True)
        while not (self.root / "log").exists():
            time.sleep(0.02)
        time.sleep(0.1)
        os.killpg(make.pid, signal.SIGKILL)
        make.wait()
        self.assertFalse((self.root / "build/01_add/ladders").exists())
        (self.root / "slow").unlink()
        self.assertIn("I am 01_add/ladders.cu", self.make("run-01").stdout)

    def test_a_failing_compiler(self):
        self.write("fails", "")
        self.assertIn("01_add/ladders.cu: error", self.make("run-01", status=2).stderr)
        self.assertFalse((self.root / "build/01_add/ladders").exists())

    def test_a_tree_that_cannot_be_written(self):
        out = self.make("-n", f"BUILD={self.root.parent}/elsewhere", "01").stdout
        self.assertNotIn(f"{self.root}/build", out)
        self.executable(self.root / "simt/nvcc", f'echo "$SIMT_BUILD" >{self.root}/where; exit 1\n')
        self.make(f"BUILD={self.root.parent}/elsewhere", "01", status=2)
        self.assertEqual(self.read("where"), f"{self.root.parent}/elsewhere/simt\n")

    def test_a_folder_with_blanks_and_quotes(self):
        self.root = self.root.rename(self.root.parent / "a folder's é")
        self.assertIn("I am 01_add/ladders.cu", self.make("run-01").stdout)
        self.make("clean")

    def test_from_elsewhere(self):
        options = self.command("-f", self.root / "Makefile", "run-01")
        options["cwd"] = self.root.parent
        result = subprocess.run(**options, capture_output=True)
        self.assertEqual(result.returncode, 2)
        self.assert_one_line(result.stderr, "not the folder of the tutorial's Makefile", "make -C")

    def test_what_nobody_knows(self):
        self.assertIn("nothing called 'nosuch' here (", self.make("nosuch", status=2).stderr)
        error = self.make("run-09", status=2).stderr
        self.assertIn("there is no chapter 09: 01_add to 02_polar", error)
        for word, meant in (("hlep", "help"), ("tset-01", "test-01"), ("ru'n", "run"),
                            ("02_ploar", "02_polar")):  # fmt: skip
            self.assertIn(f"did you mean {meant}? (`make", self.make(word, status=2).stderr)

    def test_a_chapter_by_its_number_alone(self):
        self.assertIn("I am 02_polar/ladders.cu", self.make("run-2").stdout)
        self.make("2")

    def test_a_path_that_no_compiler_takes(self):
        home = self.root
        for letter in '":;[]\\\n':
            self.root = self.root.rename(home.parent / f"a{letter}b")
            error = self.make("-n", status=2).stderr
            self.assert_one_line(error, "the path of this folder has one")
        self.root = self.root.rename(home)

    def test_an_empty_simt_build_is_none(self):
        (self.root / "simt/nvcc").write_text('#!/bin/bash\necho "in $SIMT_BUILD"\nexit 1\n')
        out = self.make("01", status=2, SIMT_BUILD="").stdout
        self.assertIn(f"in {self.root.resolve()}/build/simt\n", out)

    def test_help_fits_a_screen_and_lists_the_variables(self):
        out = self.make("help", "BUILD=out").stdout
        for line in out.splitlines():
            self.assertLessEqual(len(line), 79, line)
        for word in ("run ", "distclean ", "into out/book", "  CPU=1 ", "  V=1 "):
            self.assertIn(word, out)
        self.assertNotIn("$(", out)


class BuildFolder(MakeCase):
    def test_clean_removes_what_was_built_and_nothing_else(self):
        self.make()
        self.make("clean")
        self.assertFalse((self.root / "build").exists())
        self.make("clean")
        self.make()
        self.write("build/notes.txt", "mine")
        self.assertIn("keeps what was not built there: notes.txt", self.make("clean").stdout)
        self.assertEqual([path.name for path in (self.root / "build").iterdir()], ["notes.txt"])

    def test_distclean_removes_what_was_installed_and_leaves_what_is_the_readers(self):
        self.make()
        for name in ("book/node_modules/a/b.js", ".clangd", "compile_commands.json"):
            self.write(name, "")
        mine = self.write("work/01_add/guard.cuh", "mine")
        self.make("distclean")
        self.assertFalse((self.root / "book/node_modules").exists())
        for name in (".clangd", "compile_commands.json", "build", "tools/__pycache__"):
            self.assertFalse((self.root / name).exists(), name)
        self.assertEqual(mine.read_text(), "mine")

    def test_clean_leaves_folders_in_which_nothing_was_built(self):
        self.write("precious/01_add/photo", "")
        self.write("precious/tests/essay", "")
        result = self.make("clean", "BUILD=precious", status=2)
        self.assertIn("nothing was built in precious", result.stderr)
        self.assertTrue((self.root / "precious/01_add/photo").exists())
        self.assertTrue((self.root / "precious/tests/essay").exists())

    def test_folders_that_are_refused(self):
        self.write("precious/kept", "")
        self.write("common/kit/check.cuh", "")
        above = self.root.parent
        for name in ("precious two", "/", ".", "..", above, f"{self.root}/"):
            result = self.make("-n", "clean", f"BUILD={name}", status=2)
            self.assert_one_line(result.stderr, "BUILD=")
        for name in ("common", "simt/..", "01_add", "./common/"):
            result = self.make("clean", f"BUILD={name}", status=2)
            self.assert_one_line(result.stderr, "BUILD=")
        self.assertTrue((self.root / "precious/kept").exists())
        self.assertTrue((self.root / "common/kit/check.cuh").exists())


class Verbs(MakeCase):
    def test_compare(self):
        kernel = "// a\n__global__ void {0}_kernel() {{ {0}(); }}\nvoid host_{0}();\n"
        for i, name in enumerate(("naive", "tiled"), 1):
            self.write(f"02_polar/polar/0{i}_{name}.cuh", kernel.format(name))
        out = self.make("compare", "A=02/naive", "B=tiled", COLUMNS="100").stdout
        self.assertNotIn("void host_naive();", out)
        for given, count in (("WHOLE=1", 1), ("WHOLE=0", 0)):
            out = self.make("compare", "A=02/naive", "B=tiled", given, COLUMNS="100").stdout
            self.assertEqual(out.count("void host_naive();"), count)
        self.assertIn("expected two rungs", self.make("compare", "A=02/naive", status=2).stderr)

    def test_sanitize(self):
        """All chapters or one, built with checks; the page is filled whatever was found."""
        for name in ("sanitize.py", "lessons.py"):
            text = f'echo "${{0##*/}} $@" >>{self.root}/asked; [[ ! -e {self.root}/found ]]\n'
            self.executable(self.root / "tools" / name, text)
        asked = lambda: self.read("asked").splitlines()[-2:]
        self.make("sanitize", "JOBS=3", "ALLOW_DIRTY=1")
        words = "sanitize.py --build build/checked --simt"
        fill = "lessons.py results/README.md"
        self.assertEqual(asked(), [f"{words} --jobs 3 --allow-dirty", fill])
        for program in ("01_add/ladders", "02_polar/ladders"):
            self.assertTrue((self.root / "build/checked" / program).exists())
        self.write("found", "")
        self.make("sanitize-02", "ALLOW_DIRTY=0", status=2)
        self.assertEqual(asked(), [f"{words} 02_polar", fill])

    def test_format_needs_no_git(self):
        self.fake("clang-format-14", f'printf "%s\\n" "$@" >{self.root}/formatted\n')
        self.write("build/a/b/old.cu", "")
        self.write("common/a b.hpp", "")
        self.fake("git", "exit 1\n")
        self.make("format")
        files = sorted(self.read("formatted").split("\n")[:-1])
        self.assertEqual(files.pop(0), "-i")
        files = [file for file in files if not file.startswith("tools/")]
        self.assertEqual(files, ["01_add/ladders.cu", "02_polar/ladders.cu", "common/a b.hpp"])


if __name__ == "__main__":
    unittest.main()
