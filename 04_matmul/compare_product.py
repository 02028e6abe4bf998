#!/usr/bin/env python3
"""The fastest product of chapter 04 in bf16 beside PyTorch's, which is cuBLAS, and beside Triton's
where Triton is installed.

Needs a Hopper GPU (sm_90), nvcc, and PyTorch with CUDA. Run from anywhere:
  python3 04_matmul/compare_product.py [--n 4096,8192,16384] [--json FILE]

All multiply the same random square matrices in one process and take turns, in a random order, so
that they meet the same clocks and the same heat. Launches go through copies of the matrices, so
that none finds its own in the L2 cache. Exit status 0 only if all results are right; 2 if the
arguments are not.
"""

import itertools
import math
import pathlib
import sys

# Behind Python's own modules, for tools/ has a profile.py, too.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import cli  # noqa: E402
import torch_bench  # noqa: E402

SOURCE = torch_bench.ROOT / "04_matmul/bf16/c_interface.cu"
NAMES = ("full_waves", "cublas", "triton")


def parse_arguments():
    parser = torch_bench.parser(__doc__, rounds=15)
    # Below these sizes a product takes less time than its launch from Python.
    parser.add_argument("--n", type=torch_bench.numbers, default=[4096, 8192, 16384],
                        help="rows and columns")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a turn")
    arguments = parser.parse_args()
    if min(*arguments.n, arguments.rounds) < 1 or arguments.seconds <= 0:
        parser.error("--n, --rounds and --seconds must be above zero")
    if any(n % 8 for n in arguments.n):
        parser.error("--n: only multiples of 8, since TMA wants rows of 16 bytes")
    return arguments


def makers(torch, bf16_gemm, copies):
    """Name -> function that makes one who takes turns: each launch multiplies the next copy."""
    def through_copies(multiply):
        copy = itertools.cycle(copies)
        return torch_bench.repeated(lambda: multiply(*next(copy)))

    def ours(a, b):
        c = torch.empty_like(a)
        torch_bench.call(
            torch, bf16_gemm, *map(torch_bench.address, (a, b, c)), *c.shape, a.shape[1])
        return c

    def triton():
        import triton_product

        return through_copies(lambda a, b: triton_product.product(torch, a, b))

    return {"full_waves": lambda: through_copies(ours),
            "cublas": lambda: through_copies(torch.mm), "triton": triton}


def errors_of(torch, a, b, outputs):
    """Name -> the largest error in some rows as a share of its bound, or the distance of the whole
    from cuBLAS's as a share of what it may be. Up to 1 is right."""
    n, unit = a.shape[1], torch.finfo(a.dtype).eps / 2
    rows = torch.unique(torch.tensor([0, n // 3, n // 2, n - 1], device=a.device))
    value = a[rows].double() @ b.double()
    # Products of bf16 are exact in fp32, their sum is not; at the end it is rounded to bf16.
    in_sum = (torch_bench.rounding_of_sum(n) + 8 * torch_bench.FP32_UNIT) * (
        a[rows].double().abs() @ b.double().abs())
    bound = in_sum + unit * (value.abs() + in_sum)
    theirs = outputs["cublas"].float()
    return {name: max(torch_bench.share_of_bound(c[rows], value, bound),
                      ((c.float() - theirs).norm() / theirs.norm()).item() / (2 * unit),
                      key=torch_bench.badness)
            for name, c in outputs.items()}


def compare(torch, bf16_gemm, n, arguments):
    """A point of the sweep, and who was skipped why."""
    count = math.ceil(torch_bench.COPIES_BYTES / (3 * 2 * n * n))
    copies = [[torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
              for _ in range(count)]
    turns, outputs, skipped = torch_bench.first_results(
        makers(torch, bf16_gemm, copies), ("triton",))
    errors = errors_of(torch, *copies[0], outputs)
    flops = 2 * n**3
    launches = max(2, int(arguments.seconds * 7e14 / flops))
    times = torch_bench.take_turns(torch, turns, arguments.rounds, launches)
    wrong = torch_bench.wrong_ones(errors)
    rows = {name: torch_bench.timed(ms) for name, ms in times.items() if name not in wrong}
    rates = {name: flops / of["median_ms"] / 1e9 for name, of in rows.items()}
    ratios = {f"over_{peer}": torch_bench.ratio(rows, "full_waves", peer) for peer in NAMES[1:]}
    point = {"n": n, **dict.fromkeys(NAMES), **rates, **ratios, "wrong": wrong, "rows": rows}
    return point, skipped


def main():
    arguments = parse_arguments()
    torch = torch_bench.torch_on_hopper()
    torch.manual_seed(1)
    bf16_gemm = torch_bench.build(arguments.build, [SOURCE])["bf16_gemm"]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; bf16, TFLOP/s, medians")
    columns = (*NAMES, "over_cublas", "over_triton")
    print(f"{'n':>6} " + " ".join(f"{name:>11}" for name in columns))
    points, skipped = [], {}
    for n in arguments.n:
        point, skipped = compare(torch, bf16_gemm, n, arguments)
        points.append(point)
        cells = [torch_bench.cell(point[name], 11) for name in columns]
        wrong = "   wrong: " + ", ".join(point["wrong"]) if point["wrong"] else ""
        print(f"{n:>6} {' '.join(cells)}{wrong}", flush=True)
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    if arguments.json:
        sweep = {"problem": "bf16_gemm", "sweep": "size", "points": points}
        torch_bench.save(arguments.json, torch_bench.facts_of(torch, [sweep], skipped))
    return 1 if any(point["wrong"] for point in points) else 0


if __name__ == "__main__":
    cli.run(main)
