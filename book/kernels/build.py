#!/usr/bin/env python3
"""Compiles the kernels of the page: build.py OUT.wasm. simt's front end makes plain C++ of
kernels.cu, clang puts a call in front of every memory access, places.mjs says where each stands,
binaryen lets threads wait (see engine.cpp). `build.py --simt OUT.o` compiles count.cu in the same
way for this machine: linked by simt/nvcc, it must count the same, basic blocks and all. Where a
tool is missing this script says which, and its exit status is 3."""

import os
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
# What counts, meets, races and lies in shared memory is simt's own code.
OF_SIMT = ["warp", "shared", "check_order", "check_races", "profile_counters", "profile_requests"]
EXPORTS = ["__wasm_call_ctors", "run_vector_add", "run_branch", "run_copy", "run_transpose",
           "run_product", "run_sum", "counts", "races", "files"]

CLANG = ["clang++", "-std=c++17", "-w", "-fno-strict-aliasing", "-fno-threadsafe-statics"]
WASI = ["--target=wasm32-wasi", "-fignore-exceptions"]
# Has WASI's calling convention, and what clang's thread sanitizer asks for.
EMSCRIPTEN = ["--target=wasm32-unknown-emscripten", "-fignore-exceptions"]
HEADERS = ["-isystem", SIMT / "include", "-D__SANITIZE_THREAD__",
           '-Dno_sanitize_coverage=no_sanitize("coverage")']
HEADERS_OF_PAGE = ["-isystem", HERE / "host", *HEADERS,
                   # WebAssembly cannot say who called; a place in the code is a basic block here.
                   "-D__builtin_return_address(level)=nullptr"]
# One access in the source stays one access, and basic blocks are those of the source: nothing is
# optimized before the calls stand there.
INSTRUMENT = ["-O0", "-Xclang", "-fsanitize=thread",
              "-mllvm", "-tsan-instrument-read-before-write=1",
              "-mllvm", "-tsan-instrument-atomics=0",  # simt's headers tell of them
              f"-fsanitize-coverage-ignorelist={HERE / 'uncounted.txt'}"]
# Into every basic block a call, of a function that asks where it was called or is told a number.
BLOCKS = "-fsanitize-coverage=bb,no-prune,trace-pc"
NUMBERED_BLOCKS = BLOCKS + "-guard"
# Ubuntu's C and C++ libraries use them; binaryen refuses what it was not told of.
FEATURES = ["--enable-bulk-memory", "--enable-sign-ext"]
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
    command = ["clang++", *WASI, "-x", "c++", "-", "-o", "/dev/null"]
    if subprocess.run(command, input=program, text=True, capture_output=True).returncode:
        raise Missing("a C++ library for WebAssembly")


def plain_cpp(source, preprocessor, folder):
    """What simt's front end makes of a source."""
    headers = [f"-DSIMT_ARCH={ARCHITECTURE}", "-include", SIMT / "frontend/keywords.h",
               "-include", "simt/cuda.h", "-I", ROOT]
    text = run(*preprocessor, *headers, "-x", "c++", "-E", source, stdout=subprocess.PIPE)
    plain, _ = rewrite(text.stdout.decode(), str(source), ARCHITECTURE)
    unit = folder / f"{source.stem}.ii"
    unit.write_text(plain)
    return ["-x", "c++-cpp-output", unit]


def compile_kernels(folder, out):
    dependencies = ["-MMD", "-MP", "-MF", out.with_suffix(".d"), "-MT", out]
    preprocessor = [*CLANG, *WASI, *HEADERS_OF_PAGE, *dependencies]
    unit = plain_cpp(HERE / "kernels.cu", preprocessor, folder)
    llvm = folder / "kernels.ll"
    run(*CLANG, *EMSCRIPTEN, *INSTRUMENT, NUMBERED_BLOCKS, "-gline-tables-only", *unit, "-S",
        "-emit-llvm", "-o", llvm)
    run(os.environ.get("NODE", "node"), HERE / "places.mjs", llvm)
    run("clang++", EMSCRIPTEN[0], "-O0", "-Xclang", "-disable-llvm-passes", "-x", "ir", "-c", llvm,
        "-o", folder / "kernels.o")


def compile_for_simt(folder, out):
    unit = plain_cpp(HERE / "count.cu", [*CLANG, *HEADERS], folder)
    run(*CLANG, *INSTRUMENT, BLOCKS, "-fPIE", "-g1", *unit, "-c", "-o", out)
    # clang up to 14 copies structures by the C library's function, which nobody watches; later ones
    # clear the array of main() by a hook that simt does not have, for g++ calls none.
    hooks = ["memcpy=__tsan_memcpy", "__tsan_memset=memset"]
    run("objcopy", *(f"--redefine-sym={hook}" for hook in hooks), out)


def compile_engine(folder):
    """All of it at once: most of the time goes into the headers."""
    sources = [HERE / "engine.cpp", *(SIMT / "src" / f"{name}.cpp" for name in OF_SIMT)]
    unit = folder / "engine.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    run(*CLANG, *WASI, *HEADERS_OF_PAGE, "-O2", "-iquote", SIMT / "src", "-c", unit, "-o",
        folder / "engine.o")


def compile_page(folder, out):
    with ThreadPoolExecutor(2) as pool:
        kernels = pool.submit(compile_kernels, folder, out)
        engine = pool.submit(compile_engine, folder)
        kernels.result(), engine.result()
    linker = ["--no-entry", "--allow-undefined", "--strip-all", "--wrap=memcpy",
              *(f"--export={name}" for name in EXPORTS)]
    run(*CLANG, *WASI, "-nostartfiles", *(f"-Wl,{word}" for word in linker),
        folder / "kernels.o", folder / "engine.o", "-o", folder / "linked.wasm")
    run("wasm-opt", *FEATURES, *ASYNCIFY, "-O2", folder / "linked.wasm", "-o", out)


def main():
    parser = cli.Parser(__doc__)
    parser.add_argument("out", type=Path, help="the file to write")
    for_simt = "for this machine, to be linked by simt/nvcc"
    parser.add_argument("--simt", action="store_true", help=for_simt)
    args = parser.parse_args()
    try:
        look_for_tools()
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            compile_all = compile_for_simt if args.simt else compile_page
            compile_all(Path(scratch), args.out)
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
