#!/usr/bin/env python3
"""The best rungs of chapter 07 beside the attention of PyTorch: cuDNN's and FlashAttention-2's.

Needs a Hopper GPU (sm_90), nvcc, and PyTorch with CUDA. Run from anywhere:
  python3 07_flash_attention/compare_pytorch.py [--d 64,128,256] [--n 1024,4096,16384]
          [--dtype fp16] [--json FILE]

Rung longest_first has the instructions of cuDNN, wgmma and TMA; rung lazy_rescale those of
FlashAttention-2. All four work on the same tensors in one process and take turns, in a random
order, so that they meet the same clocks and the same heat. Q, K and V are bf16 (or fp16), random;
there are as many sequences as fit into --tokens, and 2048 / d heads. Rates count 4 batch heads
n^2 d operations, half of that with a causal mask. Exit status 0 only if all results are right; 2 if
the arguments are not.
"""

import argparse
import ctypes
import datetime
import json
import pathlib
import random
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "07_flash_attention/attention_16bit/c_interface.cu"


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--d", type=numbers, default=[64, 128, 256], help="head sizes")
    parser.add_argument("--n", type=numbers, default=[1024, 4096, 16384], help="sequence lengths")
    parser.add_argument("--dtype", choices=["bf16", "fp16"], default="bf16", help="of Q, K, V, O")
    parser.add_argument("--tokens", type=int, default=16384, help="batch x n")
    parser.add_argument("--rounds", type=int, default=9, help="turns that each one takes")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a turn")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    arguments = parser.parse_args()
    if not set(arguments.d) <= {64, 128, 256}:
        parser.error("--d: only 64, 128 and 256")
    if min(*arguments.n, arguments.tokens, arguments.rounds) < 1 or arguments.seconds <= 0:
        parser.error("--n, --tokens, --rounds and --seconds must be above zero")
    return arguments


def build_library(folder, source, name):
    """Compiles a c_interface.cu and loads it."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / name
    subprocess.run(
        ["nvcc", "-O3", "-std=c++17", f"-I{ROOT}", "-gencode=arch=compute_90a,code=sm_90a",
         "-shared", "-Xcompiler=-fPIC,-fopenmp", str(source), "-o", str(library)],
        check=True)
    return ctypes.CDLL(str(library))


def function_of_library(folder):
    function = build_library(folder, SOURCE, "libattention.so").attention_forward
    function.argtypes = [
        ctypes.c_char_p, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 4, *[ctypes.c_int] * 3,
        ctypes.c_void_p]
    return function


def contenders(torch, forward, tensors, causal):
    """Name -> function that computes attention once and returns O."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention
    q, k, v = tensors
    batch, heads, n_q, d = q.shape
    is_fp16 = int(q.dtype == torch.float16)
    o = torch.empty_like(q)
    lse = torch.empty(batch, heads, n_q, device=q.device)

    def rung(name):
        def run():
            status = forward(name, q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(),
                             lse.data_ptr(), batch, heads, n_q, k.shape[2], d, int(causal), is_fp16,
                             torch.cuda.current_stream().cuda_stream)
            if status != 0:
                raise RuntimeError("attention_forward failed")
            return o
        return run

    def of(backend):
        def run():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, is_causal=causal)
        return run

    return {"longest_first": rung(b"longest_first"), "cudnn": of(SDPBackend.CUDNN_ATTENTION),
            "lazy_rescale": rung(b"lazy_rescale"),
            "flash_attention_2": of(SDPBackend.FLASH_ATTENTION)}


def exact_rows(torch, tensors, causal, head, rows):
    """Those rows of one head of the first sequence, in double precision."""
    q, k, v = (x[0, head].double() for x in tensors)
    scores = q[rows] @ k.T / q.shape[1] ** 0.5
    if causal:
        keys = torch.arange(k.shape[0], device=k.device)
        scores = scores.masked_fill(keys[None, :] > rows[:, None], float("-inf"))
    return torch.softmax(scores, dim=1) @ v


def compare(torch, forward, d, n, causal, arguments):
    """One row of the table."""
    batch, heads = max(1, arguments.tokens // n), 2048 // d
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[arguments.dtype]
    tensors = [torch.randn(batch, heads, n, d, device="cuda", dtype=dtype)
               for _ in range(3)]
    flops = 4 * batch * heads * n * n * d / (2 if causal else 1)
    rows = torch.unique(torch.tensor([0, n // 3, n // 2, n - 1], device="cuda"))
    head = heads - 1
    exact = exact_rows(torch, tensors, causal, head, rows)

    functions = contenders(torch, forward, tensors, causal)
    errors, times = {}, {name: [] for name in functions}
    outputs = {name: function().clone() for name, function in functions.items()}
    for name, output in outputs.items():
        errors[name] = (output[0, head][rows].double() - exact).abs().max().item()
    differences = {name: (output.float() - outputs["cudnn"].float()).abs().max().item()
                   for name, output in outputs.items()}
    del outputs

    launches = max(2, int(arguments.seconds * 5e14 / flops))
    for turn in range(-2, arguments.rounds):  # the first two warm up
        order = list(functions.items())
        random.shuffle(order)  # whoever follows a light kernel finds a cooler chip
        for name, function in order:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(launches):
                function()
            end.record()
            end.synchronize()
            if turn >= 0:
                times[name].append(start.elapsed_time(end) / launches)

    medians = {name: statistics.median(ms) for name, ms in times.items()}
    # Values are of size 1 and outputs are means of them, rounded to 16 bits at the end.
    unit = torch.finfo(dtype).eps / 2  # 2^-8 or 2^-11
    right = all(errors[name] <= 2 * max(errors["cudnn"], unit / 2) for name in functions) and all(
        difference <= 8 * unit for difference in differences.values())
    return {"d": d, "n": n, "batch": batch, "heads": heads, "causal": causal, "right": right,
            "rows": {name: {"median_ms": medians[name], "min_ms": min(times[name]),
                            "max_ms": max(times[name]), "tflops": flops / medians[name] / 1e9,
                            "max_error": errors[name]} for name in functions}}


def ratio(row, name, peer):
    """How many times as fast as its peer."""
    return row["rows"][peer]["median_ms"] / row["rows"][name]["median_ms"]


def as_results(torch, results, dtype, arguments):
    """In the form of results/*.json, from which tools/lessons.py fills the lesson's table."""
    points = []
    for row in results:
        point = {key: int(row[key]) for key in ("d", "n", "causal")}
        point.update({name: figures["tflops"] for name, figures in row["rows"].items()})
        point["over_cudnn"] = ratio(row, "longest_first", "cudnn")
        point["over_flash_attention_2"] = ratio(row, "lazy_rescale", "flash_attention_2")
        points.append({**point, "rows": row["rows"]})
    sweep = {"problem": f"attention_{dtype}", "sweep": "shape", "points": points}
    return facts_of(torch, "compare_pytorch", sweep, arguments)


def facts_of(torch, program, sweep, arguments):
    """One sweep with what it was measured by."""
    run = {
        "program": f"{program}.py", "arguments": arguments, "rows": [],
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": {"name": torch.cuda.get_device_name()}, "toolkit": torch.version.cuda,
        "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "sweeps": [sweep]}
    return {"schema": 1, "counters": {}, "runs": {program: run}}


def torch_on_hopper():
    try:
        import torch
    except ImportError:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name} needs PyTorch: https://pytorch.org/get-started")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit(f"{pathlib.Path(sys.argv[0]).name} needs a Hopper GPU (sm_90)")
    return torch


def main():
    arguments = parse_arguments()
    torch = torch_on_hopper()
    forward = function_of_library(arguments.build)

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
          f"cuDNN {torch.backends.cudnn.version()}; {arguments.dtype}, TFLOP/s, medians")
    print(f"{'d':>4} {'n':>6} {'causal':>6}   {'longest_first':>13} {'cuDNN':>7} {'ratio':>6}   "
          f"{'lazy_rescale':>12} {'FA2':>5} {'ratio':>6}   largest errors, in this order")
    torch.manual_seed(1)
    results = []
    for d in arguments.d:
        for n in arguments.n:
            for causal in (False, True):
                row = compare(torch, forward, d, n, causal, arguments)
                results.append(row)
                ours, cudnn, lazy, fa2 = (row["rows"][name]["tflops"] for name in (
                    "longest_first", "cudnn", "lazy_rescale", "flash_attention_2"))
                errors = " ".join(f"{of['max_error']:.1e}" for of in row["rows"].values())
                print(f"{d:>4} {n:>6} {'yes' if causal else 'no':>6}   {ours:>13.0f} "
                      f"{cudnn:>7.0f} {ratio(row, 'longest_first', 'cudnn'):>6.2f}   "
                      f"{lazy:>12.0f} {fa2:>5.0f} "
                      f"{ratio(row, 'lazy_rescale', 'flash_attention_2'):>6.2f}   "
                      f"{errors}{'' if row['right'] else '   wrong'}", flush=True)
    if arguments.json:
        facts = as_results(torch, results, arguments.dtype, shlex.join(sys.argv[1:]))
        arguments.json.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    return 0 if all(row["right"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
