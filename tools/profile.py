#!/usr/bin/env python3
"""Counts what each kernel of a program does to memory and to its warps.

Runs PROGRAM once with --verify (every variant twice, untimed), either under Nsight Compute on a GPU
or, without one, as a program built by simt/nvcc, and prints the same columns for both. The tables
of the program itself come first; by simt they have the counts of each row.

  sectors/request   32-byte pieces of global memory one warp instruction touches: 4 is ideal for
                    4-byte elements, 16 for float4
  conflict          passes through shared memory per pass needed: 1 is free of bank conflicts; on a
                    GPU unknown where TMA or an mbarrier uses the memory much
  active lanes      threads of a warp that take part in an instruction, of 32; one that a predicate
                    switches off does not. By Nsight Compute over all instructions but branches and
                    the like, which hold for a whole warp
  lanes per access  the same over loads and stores of global and of shared memory alone; a warp all
                    of whose lanes are switched off makes no access
  divergent         branches at which the threads of a warp part
  barriers, atomics warp instructions of that kind
  TMA bytes         loaded and stored by TMA; beside them what a multicast need not read again, and
                    the operations of tensor cores (a product and a sum are two): by simt only
"""

import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cli
import results

# JSON key -> column title; both backends fill all of them, None where nothing was counted.
COLUMNS = {
    "kernel": "kernel",
    "launches": "launches",
    "threads": "threads",
    "load_sectors_per_request": "load sectors/request",
    "store_sectors_per_request": "store sectors/request",
    "shared_load_conflict": "shared load conflict",
    "shared_store_conflict": "shared store conflict",
    "active_lanes": "active lanes",
    "lanes_per_access": "lanes per access",
    "divergent_branches": "divergent",
    "barriers": "barriers",
    "atomics": "atomics",
    "tma_bytes": "TMA bytes",
    "multicast_saved_bytes": "saved by multicast",
    "tensor_operations": "tensor operations",
}

# Sums, not ratios: the launches of one kernel can then be added up before dividing.
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
# Wavefronts that the addresses ask for. The two counters above also count those that came about
# because something else used the memory at the same time: a copy by TMA, say.
_ADDRESSED = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
# Those of ldmatrix and stmatrix, which the counters of conflicts hold, too, stand apart.
_OF_MATRICES = {"ld": "ldsm", "st": "stsm"}
_DIVERGENT = "smsp__sass_branch_targets_threads_divergent.sum"
_OPCODES = "sass__inst_executed_per_opcode"
_LANES = "sass__thread_inst_executed_true_per_opcode"
_BY_OPCODE = (_OPCODES, _LANES)
# Loads and stores, without those that a predicate switches off for all lanes of their warp. On an
# H200 smsp__inst_executed_op_global_ld_pred_on_any and its kin are up to 2 % off; these are not.
# Not every chip has all of them.
_ACCESSES = ("global_ld", "global_st", "shared_ld", "shared_st", "ldsm", "shared_stsm")
_INSTRUCTIONS = [f"smsp__sass_inst_executed_op_{access}.sum" for access in _ACCESSES]
OPTIONAL_METRICS = [*_INSTRUCTIONS, *map(_ADDRESSED.format, _OF_MATRICES.values())]
METRICS = [
    *(_GLOBAL.format(what, op) for op in ("ld", "st") for what in ("sectors", "requests")),
    *(form.format(op) for op in ("ld", "st") for form in (_WAVEFRONTS, _CONFLICTS, _ADDRESSED)),
    _DIVERGENT,
    *_BY_OPCODE,
]
# Where a predicate says which lanes go which way, and none is switched off.
CONTROL_FLOW = {
    "BAR", "BMOV", "BRA", "BREAK", "BRX", "BSSY", "BSYNC", "CALL", "EXIT", "JMP", "NANOSLEEP",
    "NOP", "RET", "WARPSYNC", "YIELD",
}  # fmt: skip
ACCESS_OPCODES = ("LD", "LDG", "LDS", "LDSM", "ST", "STG", "STS", "STSM")
ATOMIC_OPCODES = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDAS")

NO_PERMISSION = (
    "the driver lets only administrators read GPU counters; run with sudo, or put "
    "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d/ and reboot"
)


class ProfileError(Exception):
    """No counters; the message is ready to print."""


def _ratio(part, whole):
    return part / whole if whole else None


def _parse_value(name, text):
    """A number, or for a metric by opcode `8,448 (LDG: 768; BAR: 256)` a {opcode: count}."""
    if name in _BY_OPCODE:
        pairs = re.findall(r"([A-Z0-9_.]+): ([\d,]+)", text)
        return {opcode: int(count.replace(",", "")) for opcode, count in pairs}
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0  # ncu prints n/a for a metric this chip does not have


def kernel_name(text):
    """'void a::bf16::wgmma_kernel<(int)4, T<2>>(const float *)' -> 'bf16::wgmma_kernel': instances
    of a template are one kernel, and problems of a chapter may have kernels of one name."""
    text = text.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    words = text.partition("(")[0].split()
    return "::".join(words[-1].split("::")[-2:]) if words else text


def ncu_kernels(log):
    """One entry per kernel from ncu's CSV, which has a line for each launch and metric."""
    lines = log.splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if header is None:
        raise ProfileError("ncu saw no kernel launch")
    launches = {}
    for row in csv.DictReader(line for line in lines[header:] if line.startswith('"')):
        counted = launches.setdefault(row["ID"], (row, {}))[1]
        counted[row["Metric Name"]] = _parse_value(row["Metric Name"], row["Metric Value"])
    kernels = {}
    for row, counted in launches.values():
        kernels.setdefault(kernel_name(row["Kernel Name"]), []).append((row, counted))
    return [_ncu_entry(kernel, kernels[kernel]) for kernel in kernels]


def _ncu_entry(kernel, launches):
    return {
        "kernel": kernel,
        "launches": len(launches),
        "threads": sum(_threads_of(row) for row, _ in launches),
        **_ncu_figures(_sum([counted for _, counted in launches])),
        "varying": _varying(launches),
    }


def _threads_of(row):
    """Threads of a launch: its sizes stand there as "(256, 1, 1)"."""
    sizes = re.findall(r"\d+", row["Grid Size"] + row["Block Size"])
    return math.prod(int(size) for size in sizes)


def _sum(counts):
    """Counts of several launches added up; by opcode, too."""
    total = {}
    for counted in counts:
        for name, value in counted.items():
            if name in _BY_OPCODE:
                by_opcode = total.setdefault(name, {})
                for opcode, count in value.items():
                    by_opcode[opcode] = by_opcode.get(opcode, 0) + count
            else:
                total[name] = total.get(name, 0.0) + value
    return total


def _varying(launches):
    """What differs between two launches alike, which depends on time: --verify runs a variant
    twice, one run right after the other."""
    alike = {}
    for row, counted in launches:
        like = row["Kernel Name"], row["Grid Size"], row["Block Size"]
        alike.setdefault(like, []).append(_ncu_figures(counted))
    return sorted(
        {
            name
            for figures in alike.values()
            for first, second in zip(figures[::2], figures[1::2])
            for name in first
            if first[name] != second[name]
        }
    )


def _ncu_figures(total):
    def sectors(op):
        requests = total.get(_GLOBAL.format("requests", op))
        return _ratio(total.get(_GLOBAL.format("sectors", op), 0), requests)

    def conflict(op):
        needed = total.get(_WAVEFRONTS.format(op), 0) - total.get(_CONFLICTS.format(op), 0)
        addressed = sum(total.get(_ADDRESSED.format(name), 0) for name in (op, _OF_MATRICES[op]))
        degree = _ratio(addressed, needed) or 0
        # Below 1: other uses of the memory, by TMA or an mbarrier, are among those needed.
        return degree if degree > 0.99 else None

    opcodes, lanes = total.get(_OPCODES), total.get(_LANES, {})
    working = [name for name in opcodes or () if name not in CONTROL_FLOW]
    count = lambda names: None if not opcodes else sum(opcodes.get(name, 0) for name in names)
    lanes_of = lambda names: sum(lanes.get(name, 0) for name in names)
    accesses = sum(total.get(name, 0) for name in _INSTRUCTIONS)
    return {
        "load_sectors_per_request": sectors("ld"),
        "store_sectors_per_request": sectors("st"),
        "shared_load_conflict": conflict("ld"),
        "shared_store_conflict": conflict("st"),
        "active_lanes": _ratio(lanes_of(working), count(working)),
        "lanes_per_access": _ratio(lanes_of(ACCESS_OPCODES), accesses),
        "divergent_branches": int(total.get(_DIVERGENT, 0)),
        "barriers": count(["BAR"]),
        "atomics": count(ATOMIC_OPCODES),
        "tma_bytes": None,
        "multicast_saved_bytes": None,
        "tensor_operations": None,
    }


def _metrics(ncu):
    """METRICS, and those of OPTIONAL_METRICS that this ncu knows of this chip."""
    query = [ncu, "--query-metrics"]
    answer = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    listed = {words[0] for line in answer.stdout.splitlines() if (words := line.split())}
    return METRICS + [name for name in OPTIONAL_METRICS if name.removesuffix(".sum") in listed]


def _instance_options(ncu):
    """What makes ncu list the opcodes one by one; an old ncu cannot, and barriers stay unknown."""
    text = subprocess.run([ncu, "--help"], stdout=subprocess.PIPE, text=True).stdout
    if re.search(r"--print-metric-instances.{0,400}\bdetails\b", text, re.DOTALL):
        return ["--print-metric-instances", "details"]
    return []


def run_ncu(command):
    """Kernels of `command` as Nsight Compute counts them."""
    ncu = cli.cuda_tool("ncu")
    if ncu is None:
        raise ProfileError("ncu (Nsight Compute) is not installed; --backend simt needs no GPU")
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "ncu.csv"
        # The clocks stay as they are: counts do not depend on them, and other users of the GPU do.
        options = ["--clock-control", "none", "--csv", "--log-file", str(log_file)]
        options += ["--print-kernel-base", "demangled", *_instance_options(ncu)]
        options += ["--metrics", ",".join(_metrics(ncu))]
        status = subprocess.run([ncu, *options, *command]).returncode
        log = log_file.read_text(encoding="utf-8", errors="replace") if log_file.exists() else ""
    if "ERR_NVGPUCTRPERM" in log:
        raise ProfileError(NO_PERMISSION)
    errors = [line for line in log.splitlines() if line.startswith("==ERROR==")]
    if status != 0 or errors:
        reason = errors[0].removeprefix("==ERROR==").strip() if errors else f"exit code {status}"
        raise ProfileError(f"{command[0]} under ncu: {reason}")
    try:
        return ncu_kernels(log)
    except (KeyError, TypeError, AttributeError, csv.Error) as error:
        raise ProfileError(f"ncu wrote no valid counters: {error!r}") from error


def _mean(figures):
    """Mean of (figure, weight) pairs; None if nothing was counted."""
    weight = sum(w for _, w in figures)
    return sum(figure * w for figure, w in figures) / weight if weight else None


def _wavefronts_needed(shared, operation):
    """Wavefronts that would have been enough without conflicts: the weight of a conflict degree."""
    degree = shared[f"{operation}_conflict_degree"]
    return shared[f"{operation}_wavefronts"] / degree if degree else 0


def simt_kernels(data):
    """One entry per kernel from simt's own profile."""
    instances = {}
    for kernel in data["kernels"]:
        instances.setdefault(kernel_name(kernel["kernel"]), []).append(kernel)

    def sectors(of_kernel, operation):
        in_global = [kernel["global"] for kernel in of_kernel]
        return _mean(
            [(g[f"{operation}_sectors_per_request"], g[f"{operation}_requests"]) for g in in_global]
        )

    def conflict(of_kernel, operation):
        in_shared = [kernel["shared"] for kernel in of_kernel]
        return _mean(
            [
                (s[f"{operation}_conflict_degree"], _wavefronts_needed(s, operation))
                for s in in_shared
            ]
        )

    def lanes_per_access(of_kernel):
        counted = [k[space] for k in of_kernel for space in ("global", "shared")]
        lanes = sum(c["load_executions"] + c["store_executions"] for c in counted)
        return _ratio(lanes, sum(c["load_requests"] + c["store_requests"] for c in counted))

    def total(of_kernel, key):
        return sum(kernel[key] for kernel in of_kernel)

    def beside(of_kernel, *keys):
        return sum(kernel["beside"][key] for kernel in of_kernel for key in keys) or None

    return [
        {
            "kernel": name,
            "launches": total(of_kernel, "launches"),
            "threads": total(of_kernel, "threads"),
            "load_sectors_per_request": sectors(of_kernel, "load"),
            "store_sectors_per_request": sectors(of_kernel, "store"),
            "shared_load_conflict": conflict(of_kernel, "load"),
            "shared_store_conflict": conflict(of_kernel, "store"),
            "active_lanes": _mean(
                [(k["active_lanes_per_instruction"], k["instructions"]) for k in of_kernel]
            ),
            "lanes_per_access": lanes_per_access(of_kernel),
            "divergent_branches": total(of_kernel, "divergent_branches"),
            "barriers": total(of_kernel, "barrier_requests"),
            "atomics": sum(
                k["atomics"]["global_requests"] + k["atomics"]["shared_requests"] for k in of_kernel
            ),
            "tma_bytes": beside(of_kernel, "tma_load_bytes", "tma_store_bytes"),
            "multicast_saved_bytes": beside(of_kernel, "multicast_saved_bytes"),
            "tensor_operations": beside(of_kernel, "tensor_operations"),
        }
        for name, of_kernel in instances.items()
    ]


def run_simt(command):
    """Kernels of `command` as simt counts them."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "profile.json"
        environment = {**os.environ, "SIMT_PROFILE": "1", "SIMT_PROFILE_JSON": str(output)}
        status = subprocess.run(command, env=environment).returncode
        if status != 0:
            raise ProfileError(f"{command[0]} failed with exit code {status}")
        if not output.exists():
            raise ProfileError(f"{command[0]} counted nothing: no instrumented simt build")
        try:
            return simt_kernels(results.parse(cli.read_text(output)))
        except (OSError, results.ResultsError, KeyError, TypeError, AttributeError) as error:
            raise ProfileError(f"{command[0]} wrote no valid counters: {error!r}") from error


def format_cell(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def print_table(kernels):
    cells = [list(COLUMNS.values())]
    cells += [[format_cell(kernel[key]) for key in COLUMNS] for kernel in kernels]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
        print("  ".join([row[0].ljust(widths[0]), *rest]))


def main():
    parser = cli.Parser(__doc__)
    parser.add_argument("--backend", choices=("ncu", "simt"), required=True)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counters there too")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", nargs="...", metavar="ARGS", help="passed on to the program")
    args = parser.parse_args()
    if not os.access(args.program, os.X_OK):
        parser.error(f"no program {args.program}")
    command = [args.program, "--verify", *args.arguments]
    try:
        kernels = run_ncu(command) if args.backend == "ncu" else run_simt(command)
    except ProfileError as error:
        print(f"profile.py: {error}", file=sys.stderr)
        return 1
    print_table(kernels)
    if args.json:
        profile = {
            "schema": 1,
            "backend": args.backend,
            "program": Path(args.program).name,
            "arguments": " ".join(args.arguments),
            "runs": 2,  # of each variant, by --verify
            "kernels": kernels,
        }
        cli.write_text(args.json, json.dumps(profile, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    cli.run(main)
