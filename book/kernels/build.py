#!/usr/bin/env python3
"""Compiles kernels.cu to WebAssembly: build.py OUT.wasm. simt's front end makes plain C++ of it,
clang puts a call in front of every memory access, binaryen lets threads wait (see engine.cpp).
Where a tool is missing it says which, and its exit status is 3."""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SIMT = ROOT / "simt"
sys.path.insert(0, str(SIMT))
sys.path.insert(0, str(ROOT / "tools"))

import cli  # noqa: E402
from frontend.rewrite import rewrite  # noqa: E402
from frontend.source import Refused  # noqa: E402

ARCHITECTURE = 90
# What counts, meets and races is simt's own code.
OF_SIMT = ["warp", "check_order", "check_races", "profile_counters", "profile_requests"]
EXPORTS = ["__wasm_call_ctors", "run_vector_add", "run_branch", "run_copy", "run_transpose",
           "run_sum", "counts"]

CLANG = ["clang++", "-std=c++17", "-w", "-fignore-exceptions", "-fno-strict-aliasing",
         "-fno-threadsafe-statics"]
WASI = "--target=wasm32-wasi"
# Has WASI's calling convention, and what clang's thread sanitizer asks for.
EMSCRIPTEN = "--target=wasm32-unknown-emscripten"
HEADERS = ["-isystem", HERE / "host", "-isystem", SIMT / "include", "-D__SANITIZE_THREAD__",
           # WebAssembly cannot say who called; a place in the code is a basic block here.
           "-D__builtin_return_address(level)=nullptr",
           '-Dno_sanitize_coverage=no_sanitize("coverage")']
# One access in the source stays one access: nothing is optimized before the calls stand there.
INSTRUMENT = ["-O0", "-Xclang", "-fsanitize=thread",
              "-mllvm", "-tsan-instrument-read-before-write=1",
              "-fsanitize-coverage=bb,no-prune,trace-pc-guard"]
# Threads wait in calls made by name from resume(): neither imports nor function pointers wait.
ASYNCIFY = ["--asyncify", "--pass-arg=asyncify-imports@", "--pass-arg=asyncify-ignore-indirect"]


class Missing(Exception):
    pass


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def look_for_tools():
    for tool in ("clang++", "wasm-ld", "wasm-opt"):
        if not shutil.which(tool):
            raise Missing(tool)
    program = "#include <vector>\nint main() {}\n"
    command = ["clang++", WASI, "-x", "c++", "-", "-o", "/dev/null"]
    if subprocess.run(command, input=program, text=True, capture_output=True).returncode:
        raise Missing("a C++ library for WebAssembly")


def compile_kernels(folder, dependencies, out):
    headers = [f"-DSIMT_ARCH={ARCHITECTURE}", "-include", SIMT / "frontend/keywords.h",
               "-include", "simt/cuda.h", "-I", ROOT,
               "-MMD", "-MP", "-MF", dependencies, "-MT", out]
    source = HERE / "kernels.cu"
    text = run(*CLANG, WASI, *HEADERS, *headers, "-x", "c++", "-E", source, stdout=subprocess.PIPE)
    plain, _ = rewrite(text.stdout.decode(), str(source), ARCHITECTURE)
    unit = folder / "kernels.ii"
    unit.write_text(plain)
    run(*CLANG, EMSCRIPTEN, *INSTRUMENT, "-x", "c++-cpp-output", "-c", unit, "-o",
        folder / "kernels.o")


def compile_engine(folder):
    """All of it at once: most of the time goes into the headers."""
    sources = [HERE / "engine.cpp", *(SIMT / "src" / f"{name}.cpp" for name in OF_SIMT)]
    unit = folder / "engine.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    run(*CLANG, WASI, *HEADERS, "-O2", "-iquote", SIMT / "src", "-c", unit, "-o",
        folder / "engine.o")


def build(out):
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        folder = Path(scratch)
        kernels = pool.submit(compile_kernels, folder, out.with_suffix(".d"), out)
        engine = pool.submit(compile_engine, folder)
        kernels.result(), engine.result()
        linker = ["--no-entry", "--allow-undefined", "--strip-all", "--wrap=memcpy",
                  *(f"--export={name}" for name in EXPORTS)]
        run(*CLANG, WASI, "-nostartfiles", *(f"-Wl,{word}" for word in linker),
            folder / "kernels.o", folder / "engine.o", "-o", folder / "linked.wasm")
        run("wasm-opt", *ASYNCIFY, "-O2", folder / "linked.wasm", "-o", out)


def main():
    parser = cli.Parser(__doc__)
    parser.add_argument("out", type=Path, help="the file to write, kernels.wasm")
    out = parser.parse_args().out
    try:
        look_for_tools()
        build(out)
    except Missing as missing:
        print(f"book: no kernels in the page: {missing} is missing (./setup.sh --book installs it)",
              file=sys.stderr)
        return 3
    except (Refused, subprocess.CalledProcessError) as error:
        print(f"book: the kernels of the page cannot be built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    cli.run(main)
