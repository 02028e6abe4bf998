#!/usr/bin/env python3
"""The best rungs of chapter 07 beside the attention of PyTorch: cuDNN's, FlashAttention-2's, and
where they are installed FlashAttention-3's and Triton's; forward and backward.

Needs a Hopper GPU (sm_90), nvcc, and PyTorch 2.5 or newer with CUDA. Run from anywhere:
  python3 07_flash_attention/pytorch/compare_pytorch.py [--only forward,backward,training]
          [--d 64,128,256] [--n 512,1024,4096,16384] [--dtype fp16] [--json FILE]

Rungs called chosen (forward: early_scores or longest_first; backward: errands, or paired at d =
256) have the instructions of cuDNN, wgmma and TMA; lazy_rescale, mma and square_tiles those of
FlashAttention-2; in_order (persistent_in_order, or paired_in_order at d = 256) has the same bits in
each run. All work on the same tensors in one process and take turns, in a random order: many short
ones, since the clock that a turn finds depends on how much power those before it drew, and some
long ones, in which each meets the clock that its own power leaves. A ratio is the smaller of the
two. Nobody's dispatch is counted: launches of the same kind are queued before a turn begins.

Tensors are bf16 (or fp16), random; there are as many sequences as fit into --tokens, and 2048 / d
heads: at the default each tensor is larger than the L2 cache, so every launch finds it cold. Rates
count 4 batch heads n^2 d operations, backward 10, half of that with a causal mask.
training puts two rungs into a tiny transformer and compares its gradients with PyTorch's. Exit
status 0 only if all results are right; 2 if the arguments are not.
"""

import pathlib
import sys

# Behind Python's own modules, for tools/ has a profile.py, too.
CHAPTER = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(CHAPTER), str(CHAPTER.parent / "tools")]
import cli  # noqa: E402
import torch_bench  # noqa: E402
from pytorch import passes, rungs, training  # noqa: E402

PARTS = {"forward": passes.Forward, "backward": passes.Backward, "training": None}
STEPS = 8  # of training


def parse_arguments():
    parser = torch_bench.Parser(__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS),
                        help="forward, backward, training")
    parser.add_argument("--d", type=torch_bench.numbers, default=[64, 128, 256], help="head sizes")
    parser.add_argument("--n", type=torch_bench.numbers, default=[512, 1024, 4096, 16384],
                        help="sequence lengths")
    parser.add_argument("--dtype", choices=["bf16", "fp16"], default="bf16", help="of all tensors")
    parser.add_argument("--tokens", type=int, default=16384, help="batch x n")
    arguments = parser.parse_args()
    if not set(arguments.only) <= set(PARTS):
        parser.error("--only: forward, backward, training")
    if not set(arguments.d) <= {64, 128, 256}:
        parser.error("--d: only 64, 128 and 256")
    if min(*arguments.n, arguments.tokens) < 1:
        parser.error("--n and --tokens must be above zero")
    return arguments


def compare(torch, kind, of_rungs, d, n, causal, arguments):
    """One row of the table, and who was skipped why."""
    batch, heads = max(1, arguments.tokens // n), 2048 // d
    dtype = torch_bench.dtype_of(torch, arguments.dtype)
    tensors = [torch.randn(batch, heads, n, d, device="cuda", dtype=dtype) for _ in range(4)]
    flops = kind.FLOPS * batch * heads * n * n * d / (2 if causal else 1)
    turns, outputs, skipped = torch_bench.first_results(
        kind(torch, of_rungs, tensors, causal).makers(), kind.OPTIONAL)
    errors = passes.errors_of(torch, tensors, causal, kind, outputs)
    del outputs
    compared = {name for pair in kind.RATIOS.values() for name in pair}
    rows, too_slow = torch_bench.rows_of(torch_bench.take_turns(
        torch, turns, arguments.seconds, arguments.rounds, in_long=compared))
    for name, row in rows.items():
        row["tflops"] = flops / row["median_ms"] / 1e9
        row["error_of_bound"] = errors[name]
    return {"d": d, "n": n, "batch": batch, "heads": heads, "causal": int(causal), "rows": rows,
            "wrong": torch_bench.wrong_ones(errors)}, {**skipped, **too_slow}


def point_of(row, kind):
    """For the results: a rate and an error for each one who was right, and the ratios."""
    right = {name: of for name, of in row["rows"].items() if name not in row["wrong"]}
    of_each = {}
    for name in kind.NAMES:
        of = right.get(name, {})
        of_each.update({name: of.get("tflops"), f"{name}_error": of.get("error_of_bound")})
    ratios = {key: torch_bench.ratio(right, *pair) for key, pair in kind.RATIOS.items()}
    return {**row, **of_each, **ratios, "rows": right}


def line_of(point, columns):
    cells = [torch_bench.cell(point[name], max(6, len(name))) for name in columns]
    wrong = "   wrong: " + ", ".join(point["wrong"]) if point["wrong"] else ""
    return f"{point['d']:>4} {point['n']:>6} {point['causal']:>6} {' '.join(cells)}{wrong}"


def run_pass(torch, kind, of_rungs, arguments):
    """One table; its points, and who was skipped why."""
    columns = (*kind.NAMES, *kind.RATIOS)
    print(f"{kind.NAME}_{arguments.dtype}, TFLOP/s, medians")
    print(f"{'d':>4} {'n':>6} causal {' '.join(f'{name:>6}' for name in columns)}")
    points, skipped = [], {}
    for d in arguments.d:
        for n in arguments.n:
            for causal in (False, True):
                row, missing = compare(torch, kind, of_rungs, d, n, causal, arguments)
                points.append(point_of(row, kind))
                skipped.update(missing)
                print(line_of(points[-1], columns), flush=True)
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    shares = [of["error_of_bound"] for point in points for of in point["rows"].values()]
    print(f"largest error of those that are right: {max(shares, default=0):.2f} of its bound")
    return points, skipped


def main():
    arguments = parse_arguments()
    torch = torch_bench.torch_on_hopper()
    torch.manual_seed(1)
    of_rungs = rungs.Rungs(torch, arguments.build)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
          f"cuDNN {torch.backends.cudnn.version()}")
    all_right = True
    for part in arguments.only:
        kind = PARTS[part]
        if kind is None:
            dtype = torch_bench.dtype_of(torch, arguments.dtype)
            holds, line = training.verdict(*training.train(torch, of_rungs, dtype, STEPS))
            print(line)
            all_right = all_right and holds
            continue
        points, skipped = run_pass(torch, kind, of_rungs, arguments)
        all_right = all_right and not any(point["wrong"] for point in points)
        if arguments.json:  # now, so that what is measured is not lost with what follows
            sweep = {"problem": f"{kind.NAME}_{arguments.dtype}", "sweep": "shape",
                     "points": points}
            facts = torch_bench.facts_of(torch, [sweep], skipped)
            torch_bench.save(arguments.json, facts, part)
    return 0 if all_right else 1


if __name__ == "__main__":
    cli.run(main)
