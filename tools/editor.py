#!/usr/bin/env python3
"""Writes .clangd and compile_commands.json, by which clangd understands the sources: `make editor`.

It reads .cu, .cuh and .hpp as CUDA, with simt's headers, which are the same on any machine (no
release of clang knows those of the newest Toolkit), and of the Toolkit, where there is one, cuBLAS
and cuRAND. Nothing is compiled by these flags.
"""

import json
import os
import sys
from pathlib import Path

import cli

SOURCES = r"([0-9][0-9]_[^/]*|common|tests|tools|work|simt/tests)/.*[.](cu|cuh|hpp|cpp)"
ENGINE = r"simt/src/.*"
# __shared__ alignas(16) float tile[256]; nvcc takes it in this order, clang does not. In PTX "=h"
# is a register of 16 bits, on the host's processor nothing.
FALSE_ALARMS = ["attributes_not_allowed", "attribute_not_type_attr"]
FALSE_ALARMS += ["asm_invalid_output_constraint", "asm_invalid_input_constraint"]


def cuda_flags(root, toolkit):
    flags = ["-xcuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++17", "-fopenmp"]
    flags += ["-w", "-Xclang", "-fcuda-allow-variadic-functions", f"-I{root}"]
    flags += ["-DSIMT_ARCH=90", '-DTEST_BUILD="build"', '-DBUILD_FLAGS=""']
    flags += ["-isystem", f"{root}/simt/include", "-include", f"{root}/simt/frontend/editor.h"]
    include = toolkit / "include"
    # Before 13 its folder holds CUB, too, which does not take simt's headers.
    if (include / "cublas_v2.h").exists() and not (include / "cub").exists():
        flags += ["-idirafter", str(include)]
    return flags


def fragment(pattern, flags, suppressed=()):
    """A part of .clangd; JSON is YAML."""
    lines = [f"If:\n  PathMatch: {json.dumps(pattern)}"]
    lines.append(f"CompileFlags:\n  Compiler: clang++\n  Add: {json.dumps(flags)}")
    if suppressed:
        lines.append(f"Diagnostics:\n  Suppress: {json.dumps(list(suppressed))}")
    return "\n".join(lines) + "\n"


def config(root, toolkit):
    engine = ["-std=c++17", f"-I{root}/simt/src", "-isystem", f"{root}/simt/include"]
    cuda = fragment(SOURCES, cuda_flags(root, toolkit), FALSE_ALARMS)
    return f"# Written by make editor.\n{cuda}---\n{fragment(ENGINE, engine)}"


def commands(root):
    files = [path.relative_to(root) for path in cli.files_of(root, {".cu", ".cpp"})]
    skipped = ("book/", "simt/tests/programs/")
    return [
        {"directory": str(root), "file": str(file), "arguments": ["clang++", "-c", str(file)]}
        for file in files
        if not str(file).startswith(skipped)
    ]


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--out", type=Path, help="folder for both files (default: the root)")
    args = parser.parse_args()
    root = args.root.resolve()
    out = args.out or root
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    mine = out / ".clangd"
    if mine.exists() and not cli.read_text(mine).startswith("# Written by make editor."):
        print(f"editor.py: {mine} is not ours: move it away first", file=sys.stderr)
        return 1
    cli.write_text(mine, config(root, toolkit))
    cli.write_text(out / "compile_commands.json", json.dumps(commands(root), indent=1) + "\n")
    print("written: .clangd, compile_commands.json; an editor with clangd 14 or newer reads them")
    return 0


if __name__ == "__main__":
    cli.run(main)
