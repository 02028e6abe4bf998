#!/usr/bin/env python3
"""The product that chapter 04 would choose in bf16, beside PyTorch's, which is cuBLAS, and beside
Triton's where Triton is installed.

Needs a Hopper GPU (sm_90), nvcc, and PyTorch with CUDA. Run from anywhere:
  python3 04_matmul/compare_product.py [--n 4096,8192,16384] [--shapes 4097x4097x4097]
          [--json FILE]

A shape is m x n x k; --n has squares. All multiply the same random matrices in one process and take
turns, short and long ones, in a random order; a ratio is the smaller of the two. A turn replays a
CUDA graph, whose launches go through copies of the matrices, so that none finds its own in the L2
cache. cublas is cuBLAS as most call it: where it splits k, it may add the parts in bf16;
cublas_exact adds them in fp32. An error is given as a share of the bound that the product with sums
in fp32 keeps, the largest over 512 rows: above 1 is wrong. Exit status 0 only if all results are
right but for those of cublas, which are shown and not judged; 2 if the arguments are not.
"""

import contextlib
import math
import pathlib
import sys

# Behind Python's own modules, for tools/ has a profile.py, too.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import cli  # noqa: E402
import torch_bench  # noqa: E402

SOURCE = torch_bench.ROOT / "04_matmul/bf16/c_interface.cu"
PEERS = ("cublas", "cublas_exact", "triton")
NAMES = ("chosen", *PEERS)
# Where TMA cannot take rows of k or n elements: sides near powers of two, layers of networks, sizes
# of vocabularies (30522, 50257, and this one filled up to 50304), any. At the end those that it can
# take, but tiles do not fit.
ODD = ("4095x4095x4095,4097x4097x4097,4100x4100x4100,8191x8191x8191,4096x4096x4095,4096x4095x4096,"
       "2047x2047x2047,2049x2049x2049,1023x1025x1027,4094x4094x4094,4098x4098x4098,"
       "9477x1152x588,3072x1152x588,1111x2222x3333,777x1001x513,6001x3001x5003,8191x4097x1025,"
       "1024x50257x768,4096x50257x1024,4096x50304x1024,2048x30522x768,16383x1025x65,512x512x8191,"
       "100x4095x4095,2056x2056x2056,4104x4104x4104,5000x5000x5000")
ROWS = 512  # in which errors are looked for


def shapes(text):
    return [tuple(int(part) for part in shape.split("x")) for shape in text.split(",") if shape]


def parse_arguments():
    parser = torch_bench.Parser(__doc__)
    parser.add_argument("--n", type=torch_bench.numbers, default=[4096, 8192, 16384],
                        help="rows and columns of squares")
    parser.add_argument("--shapes", type=shapes, default=shapes(ODD), help="m x n x k")
    arguments = parser.parse_args()
    if any(len(shape) != 3 for shape in arguments.shapes):
        parser.error("--shapes: m x n x k, as in 4096x4096x64")
    if min(*arguments.n, *(size for shape in arguments.shapes for size in shape)) < 1:
        parser.error("all numbers must be above zero")
    return arguments


@contextlib.contextmanager
def sums_in_fp32(torch):
    """Within it cuBLAS may not add parts of a sum in bf16."""
    options = torch.backends.cuda.matmul
    before = options.allow_bf16_reduced_precision_reduction
    options.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        options.allow_bf16_reduced_precision_reduction = before


def makers(torch, library, copies):
    """Name -> function that makes one who takes turns."""
    (m, k), n = copies[0][0].shape, copies[0][1].shape[1]
    scratch = torch.empty(library["bf16_gemm_scratch"](m, n, k), device="cuda", dtype=torch.uint8)

    def ours(a, b):
        c = torch.empty(a.shape[0], b.shape[1], device="cuda", dtype=a.dtype)
        torch_bench.call(torch, library["bf16_gemm"],
                         *map(torch_bench.address, (a, b, c, scratch)), *c.shape, a.shape[1])
        return c

    def exact(a, b):
        with sums_in_fp32(torch):
            return torch.mm(a, b)

    def triton(a, b):
        import triton_product

        return triton_product.product(torch, a, b)

    multiply = {"chosen": ours, "cublas": torch.mm, "cublas_exact": exact, "triton": triton}
    if any(size % 8 for matrix in copies[0] for size in matrix.shape):
        del multiply["triton"]  # TMA wants rows of 16 bytes
    graph_of = lambda run: torch_bench.graph_of(torch, lambda copy: run(*copy), copies, len(copies))
    return {name: lambda run=run: graph_of(run) for name, run in multiply.items()}


def errors_of(torch, a, b, outputs):
    """Name -> the largest error in ROWS rows as a share of its bound, or the distance of the whole
    from cublas_exact's as a share of what it may be. Up to 1 is right."""
    (m, k), unit = a.shape, torch.finfo(a.dtype).eps / 2
    rows = torch.linspace(0, m - 1, min(m, ROWS), device=a.device).round().long()
    value = a[rows].double() @ b.double()
    # Products of bf16 are exact in fp32, their sum is not; at the end it is rounded to bf16.
    in_sum = (torch_bench.rounding_of_sum(k) + 8 * torch_bench.FP32_UNIT) * (
        a[rows].double().abs() @ b.double().abs())
    bound = in_sum + unit * (value.abs() + in_sum)
    theirs = outputs["cublas_exact"].float()
    return {name: max(torch_bench.share_of_bound(c[rows], value, bound),
                      ((c.float() - theirs).norm() / theirs.norm()).item() / (2 * unit),
                      key=torch_bench.badness)
            for name, c in outputs.items()}


def compare(torch, library, shape, arguments):
    """A point of a sweep, and who was skipped why."""
    m, n, k = shape
    count = math.ceil(torch_bench.COPIES_BYTES / (2 * (m * k + k * n + m * n)))
    tensor = lambda *sizes: torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)
    copies = [(tensor(m, k), tensor(k, n)) for _ in range(count)]
    turns, outputs, skipped = torch_bench.first_results(
        makers(torch, library, copies), ("triton",))
    errors = errors_of(torch, *copies[0], outputs)
    times = torch_bench.take_turns(torch, turns, arguments.seconds, arguments.rounds)
    rows, too_slow = torch_bench.rows_of(times, count)
    return point_of(shape, rows, errors), {**skipped, **too_slow}


def point_of(shape, rows, errors):
    """For the results: a rate and an error for each one who was right, and the ratios."""
    m, n, k = shape
    wrong = [name for name in torch_bench.wrong_ones(errors) if name != "cublas"]
    kept = {name: row for name, row in rows.items() if name not in wrong}
    point = {"m": m, "n": n, "k": k, "wrong": wrong, "rows": kept}
    for name in NAMES:
        ms = kept[name]["median_ms"] if name in kept else None
        point[name] = ms and 2 * m * n * k / ms / 1e9
        point[f"{name}_error"] = errors[name] if name in kept else None
    return {**point, **{f"over_{peer}": torch_bench.ratio(kept, "chosen", peer) for peer in PEERS}}


def main():
    arguments = parse_arguments()
    torch = torch_bench.torch_on_hopper()
    torch.manual_seed(1)
    library = torch_bench.build(arguments.build, [SOURCE])
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; bf16, TFLOP/s, medians; "
          "errors as shares of the bound")
    columns = [*NAMES, *(f"over_{peer}" for peer in PEERS), *(f"{name}_error" for name in NAMES)]
    print(f"{'m x n x k':>20} " + " ".join(f"{name:>11}" for name in columns))
    sweeps, skipped = [], {}
    for name, wanted in (("size", [(n, n, n) for n in arguments.n]), ("shape", arguments.shapes)):
        points = []
        for shape in wanted:
            point, missing = compare(torch, library, shape, arguments)
            points.append(point)
            skipped.update(missing)
            cells = " ".join(torch_bench.cell(point[column], max(11, len(column)))
                             for column in columns)
            wrong = "   wrong: " + ", ".join(point["wrong"]) if point["wrong"] else ""
            print(f"{'x'.join(map(str, shape)):>20} {cells}{wrong}", flush=True)
        if points:
            sweeps.append({"problem": "bf16_gemm", "sweep": name, "points": points})
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    if arguments.json:
        torch_bench.save(arguments.json, torch_bench.facts_of(torch, sweeps, skipped))
    return 1 if any(point["wrong"] for sweep in sweeps for point in sweep["points"]) else 0


if __name__ == "__main__":
    cli.run(main)
