#!/usr/bin/env python3
"""One step of decoding by the best rungs of chapter 07, beside PyTorch's: cuDNN's and
FlashAttention-2's.

Needs a Hopper GPU (sm_90), nvcc, and PyTorch 2.5 or newer with CUDA. Run from anywhere:
  python3 07_flash_attention/pytorch/compare_decode.py [--shapes 1x1024,16x4096] [--heads 32]
          [--kv-heads 8] [--d 128] [--page 16] [--dtype fp16] [--json FILE]

A shape is batch x tokens. All work on the same tensors in one process and take turns, short and
long ones, in a random order; the ratio is the smaller of the two. A turn replays a CUDA graph of 20
launches, which go through copies of the caches, so that none finds its own in the L2 cache. Rungs
tensor, cluster_merges, persistent and programmatic_launch, the one that is chosen, cuDNN and
FlashAttention-2 have caches in one piece, paged, work_list and early_lookups the same tokens in
pages in random order. Rates count K and V once. Exit status 0 only if all results are right; 2 if
the arguments are not.
"""

import math
import pathlib
import sys

# Behind Python's own modules, for tools/ has a profile.py, too.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import cli  # noqa: E402
import torch_bench  # noqa: E402
from torch_bench import address  # noqa: E402

SOURCE = torch_bench.ROOT / "07_flash_attention/decode/c_interface.cu"
LAUNCHES = 20  # of a graph
DENSE = ("chosen", "tensor", "cluster_merges", "persistent", "programmatic_launch")
PAGED = ("paged", "work_list", "early_lookups")
LIBRARIES = ("cudnn", "flash_attention_2")
NAMES = (*DENSE, *PAGED, *LIBRARIES)


def shapes(text):
    return [tuple(int(part) for part in shape.split("x")) for shape in text.split(",")]


def parse_arguments():
    parser = torch_bench.Parser(__doc__)
    standard = "1x1024,1x16384,1x131072,16x4096,64x4096,128x8192"
    parser.add_argument("--shapes", type=shapes, default=shapes(standard), help="batch x tokens")
    parser.add_argument("--heads", type=int, default=32, help="query heads")
    parser.add_argument("--kv-heads", type=int, default=8, help="heads of keys and values")
    parser.add_argument("--d", type=int, default=128, choices=[64, 128, 256], help="head size")
    parser.add_argument("--page", type=int, default=16, help="tokens of a page")
    parser.add_argument("--dtype", choices=["bf16", "fp16"], default="bf16", help="of Q, K, V, O")
    arguments = parser.parse_args()
    numbers = [arguments.heads, arguments.kv_heads, arguments.page]
    if any(len(shape) != 2 for shape in arguments.shapes):
        parser.error("--shapes: batch x tokens, as in 16x4096")
    if min(numbers + [number for shape in arguments.shapes for number in shape]) < 1:
        parser.error("all numbers must be above zero")
    if arguments.heads % arguments.kv_heads:
        parser.error("--heads must be a multiple of --kv-heads")
    return arguments


def in_pages(torch, cache, page):
    """The same tokens in pages [pages, heads, page, d] in random order, and the page table."""
    batch, heads, n, d = cache[0].shape
    each, device = math.ceil(n / page), cache[0].device
    order = torch.randperm(batch * each, device=device)
    paged = []
    for tensor in cache:
        padded = torch.zeros(batch, heads, each * page, d, device=device, dtype=tensor.dtype)
        padded[:, :, :n] = tensor
        pages = padded.view(batch, heads, each, page, d).transpose(1, 2).flatten(0, 1)
        # Not empty_like(pages): of one sequence, pages is a view, and it would copy its strides.
        scattered = torch.empty(pages.shape, device=device, dtype=tensor.dtype)
        scattered[order] = pages
        paged.append(scattered)
    return paged, order.view(batch, each).int()


def contenders(torch, decode, q, caches, arguments):
    """Name -> function(i) that takes one step with copy i of the caches and returns O."""
    from torch.nn.functional import scaled_dot_product_attention
    batch, heads, _, d = q.shape
    kv_heads, n = caches[0][0].shape[1:3]
    o, lse = torch.empty_like(q), torch.empty(batch, heads, device="cuda")
    lengths = torch.full((batch,), n, device="cuda", dtype=torch.int32)
    paged = [in_pages(torch, cache, arguments.page) for cache in caches]
    torch.cuda.synchronize()  # early_lookups reads lengths and tables early

    def rung(name):
        def run(i):
            (k, v), table = paged[i] if name in PAGED else (caches[i], paged[i][1])
            torch_bench.call(torch, decode, name.encode(), *map(address, (q, k, v, o, lse)), batch,
                             heads, kv_heads, n, d, address(lengths), address(table),
                             arguments.page, table.shape[1], n, int(q.dtype == torch.float16))
            return o
        return run

    def of(library):
        def run(i):
            with torch_bench.attention_of(library):
                return scaled_dot_product_attention(q, *caches[i], enable_gqa=True)
        return run

    return {**{name: rung(name) for name in DENSE + PAGED},
            **{name: of(name) for name in LIBRARIES}}


def exact(torch, q, cache):
    """O of the first and the last sequence, in double precision."""
    some = [0, q.shape[0] - 1]
    group = q.shape[1] // cache[0].shape[1]
    k, v = (x[some].double().repeat_interleave(group, dim=1) for x in cache)
    scores = q[some].double() @ k.transpose(2, 3) / q.shape[3] ** 0.5
    return torch.softmax(scores, dim=3) @ v, some


def compare(torch, decode, batch, n, arguments):
    """One row of the table."""
    d, dtype = arguments.d, torch_bench.dtype_of(torch, arguments.dtype)
    cache_bytes = 2 * 2 * batch * arguments.kv_heads * n * d
    copies = min(LAUNCHES, math.ceil(torch_bench.COPIES_BYTES / cache_bytes))
    random_tensor = lambda heads, rows: torch.randn(batch, heads, rows, d, device="cuda",
                                                    dtype=dtype)
    q = random_tensor(arguments.heads, 1)
    caches = [[random_tensor(arguments.kv_heads, n) for _ in range(2)] for _ in range(copies)]
    functions = contenders(torch, decode, q, caches, arguments)
    expected, some = exact(torch, q, caches[0])
    errors = {name: (function(0)[some].double() - expected).abs().max().item()
              for name, function in functions.items()}

    turns = {name: torch_bench.graph_of(torch, function, range(copies), LAUNCHES)
             for name, function in functions.items()}
    rows, too_slow = torch_bench.rows_of(torch_bench.take_turns(
        torch, turns, arguments.seconds, arguments.rounds, in_long=("chosen", *LIBRARIES)),
        LAUNCHES)
    for name, row in rows.items():
        row["gbps"] = cache_bytes / row["median_ms"] / 1e6
        row["max_error"] = errors[name]
    wrong = wrong_ones(errors, torch.finfo(dtype).eps / 2)
    return {"batch": batch, "n": n, "wrong": wrong, "rows": rows}, too_slow


def wrong_ones(errors, unit):
    """Whose largest error is more than twice cuDNN's, or than a rounding's. NaN is wrong, too."""
    most = 2 * max(errors["cudnn"], unit / 2)
    return [name for name, error in errors.items() if not error <= most]


def ratio(row):
    """How many times as fast as the faster of the libraries the chosen rung is."""
    ratios = [torch_bench.ratio(row["rows"], "chosen", library) for library in LIBRARIES]
    return None if None in ratios else min(ratios)


def point_of(row):
    """For the results: the times of wrong ones are nobody's business."""
    right = {name: of for name, of in row["rows"].items() if name not in row["wrong"]}
    point = {"batch": row["batch"], "n": row["n"], "over_library": ratio(row),
             **dict.fromkeys(NAMES), "rows": right, "wrong": row["wrong"]}
    for name, of in right.items():
        point[name], point[f"{name}_error"] = 1e3 * of["median_ms"], of["max_error"]
    return point


def main():
    arguments = parse_arguments()
    torch = torch_bench.torch_on_hopper()
    decode = torch_bench.build(arguments.build, [SOURCE])["attention_decode"]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
          f"cuDNN {torch.backends.cudnn.version()}; {arguments.dtype}, microseconds, medians")
    print(f"{'batch':>5} {'n':>7} " + " ".join(f"{name:>17}" for name in NAMES) + "  ratio")
    torch.manual_seed(1)
    points, skipped = [], {}
    for batch, n in arguments.shapes:
        row, too_slow = compare(torch, decode, batch, n, arguments)
        skipped.update(too_slow)
        points.append(point_of(row))
        times = " ".join(torch_bench.cell(points[-1][name], 17) for name in NAMES)
        wrong = "   wrong: " + ", ".join(row["wrong"]) if row["wrong"] else ""
        print(f"{batch:>5} {n:>7} {times} {torch_bench.cell(ratio(row), 6)}{wrong}", flush=True)
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    if arguments.json:
        sweep = {"problem": f"decode_{arguments.dtype}", "sweep": "shape", "points": points}
        torch_bench.save(arguments.json, torch_bench.facts_of(torch, [sweep], skipped))
    return 1 if any(point["wrong"] for point in points) else 0


if __name__ == "__main__":
    cli.run(main)
