#!/usr/bin/env python3
"""Attention of prompts of different lengths by the best rungs of chapter 07, beside PyTorch's:
cuDNN's, FlashAttention-2's and FlexAttention.

Needs a Hopper GPU (sm_90), nvcc, and PyTorch 2.5 or newer with CUDA. Run from anywhere:
  python3 07_flash_attention/pytorch/compare_prefill.py [--lengths 4x4096,16x1024,mix]
          [--windows 0,1024] [--heads 32] [--kv-heads 8] [--d 128] [--no-mask] [--flex]
          [--json FILE]

4x4096 is four sequences of 4,096 tokens, mix sixteen of 50 to 4,096, 16,384 together. All work on
the same tensors, Q and O [tokens, heads, d], K and V [tokens, K/V heads, d], in one process and
take turns, short and long ones, in a random order; the ratio is the smaller of the two. Nobody's
dispatch is counted: launches of the same kind are queued before a turn begins. cudnn is
scaled_dot_product_attention with enable_gqa, for equal lengths; cudnn_padded the same with
sequences that were filled up before. flash_attention_2 gets cumulative lengths. (PyTorch has a way
to cuDNN's kernel for different lengths, but plans each launch anew and refuses CUDA graphs: the GPU
waits for it.) Who cannot do what is asked is skipped, with the reason. Rates count the pairs of a
query and a key that it sees. Exit status 0 only if all results are right; 2 if the arguments are
not.
"""

import itertools
import pathlib
import sys

# Behind Python's own modules, for tools/ has a profile.py, too.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import cli  # noqa: E402
import torch_bench  # noqa: E402
from torch_bench import address  # noqa: E402

SOURCE = torch_bench.ROOT / "07_flash_attention/prefill/c_interface.cu"
RUNGS = ("per_sequence", "packed", "windowed", "grouped", "early_scores", "chosen")
LIBRARIES = ("cudnn", "cudnn_padded", "flash_attention_2", "flex")
NAMES = (*RUNGS, *LIBRARIES)
MIX = [4096, 64, 311, 2610, 97, 1532, 745, 128, 3301, 419, 1003, 80, 201, 1187, 560, 50]
CHECKED = 128  # queries at the end of a sequence


def lengths_of(text):
    """Of one batch: a list."""
    if text == "mix":
        return MIX
    count, length = text.split("x")
    return [int(length)] * int(count)


def parse_arguments():
    parser = torch_bench.Parser(__doc__)
    words = lambda text: {word: lengths_of(word) for word in text.split(",")}
    parser.add_argument("--lengths", type=words, default=words("1x16384,4x4096,16x1024,mix"),
                        help="of batches: count x tokens, or mix")
    parser.add_argument("--windows", type=torch_bench.numbers, default=[0, 1024],
                        help="keys up to its own that a query sees; 0 for all")
    parser.add_argument("--heads", type=int, default=32, help="query heads")
    parser.add_argument("--kv-heads", type=int, default=8, help="heads of keys and values")
    parser.add_argument("--d", type=int, default=128, choices=[64, 128, 256], help="head size")
    parser.add_argument("--no-mask", action="store_true", help="without a causal mask")
    parser.add_argument("--flex", action="store_true",
                        help="FlexAttention, too, which compiles for each shape anew")
    arguments = parser.parse_args()
    numbers = [arguments.heads, arguments.kv_heads, *sum(arguments.lengths.values(), [])]
    if min(numbers) < 1 or min(arguments.windows) < 0:
        parser.error("all numbers must be above zero, windows at least zero")
    if arguments.heads % arguments.kv_heads:
        parser.error("--heads must be a multiple of --kv-heads")
    return arguments


def pairs_of(lengths, window, causal):
    """Pairs of a query and a key that it sees, of one head."""
    total = 0
    for n in lengths:
        if not causal and not window:
            total += n * n
            continue
        for query in range(n):
            total += (query + 1 if causal else n) - max(0, query + 1 - window if window else 0)
    return total


class Padded:
    """O of sequences that were filled up to one length, as the others have it."""

    def __init__(self, o, lengths):
        self.o, self.lengths = o, lengths

    def __getitem__(self, rows):
        """Tokens of one sequence, the last of which is its last."""
        end = 0
        for i, n in enumerate(self.lengths):
            end += n
            if rows.stop == end:
                return self.o[i, :, n - (rows.stop - rows.start):n].transpose(0, 1)
        raise IndexError(rows)


class Batch:
    """The tensors of one batch, and everybody who takes turns at them."""

    def __init__(self, torch, function, lengths, window, arguments):
        self.torch, self.function, self.lengths, self.window = torch, function, lengths, window
        self.causal, self.d, self.has_flex = not arguments.no_mask, arguments.d, arguments.flex
        tokens, self.heads, self.kv_heads = sum(lengths), arguments.heads, arguments.kv_heads
        random_tensor = lambda heads: torch.randn(tokens, heads, self.d, device="cuda",
                                                  dtype=torch.bfloat16)
        self.q, self.k, self.v = (random_tensor(n) for n in (self.heads, *[self.kv_heads] * 2))
        self.o = torch.empty_like(self.q)
        self.lse = torch.empty(self.heads, tokens, device="cuda")
        self.host_starts = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)
        self.starts = self.host_starts.cuda()

    def rung(self, name):
        starts = address(self.host_starts if name == "per_sequence" else self.starts)
        tensors = [address(x) for x in (self.q, self.k, self.v, self.o, self.lse)]
        tokens = self.q.shape[0]

        def run():
            torch_bench.call(self.torch, self.function, name.encode(), *tensors, starts, starts,
                             len(self.lengths), self.heads, self.kv_heads, tokens, tokens,
                             max(self.lengths), self.d, int(self.causal), self.window)
            return self.o
        return torch_bench.repeated(run)

    def same_length(self):
        """Q, K and V as [batch, heads, n, d], where they lie."""
        if len(set(self.lengths)) > 1:
            raise ValueError("takes sequences of one length")
        shape = len(self.lengths), self.lengths[0]
        return [x.unflatten(0, shape).transpose(1, 2) for x in (self.q, self.k, self.v)]

    def in_tokens(self, o):
        return o.transpose(1, 2).flatten(0, 1)

    def cudnn(self):
        from torch.nn.functional import scaled_dot_product_attention
        if self.window:
            raise ValueError("has no window")
        q, k, v = self.same_length()
        return torch_bench.repeated(
            lambda: self.in_tokens(scaled_dot_product_attention(
                q, k, v, is_causal=self.causal, enable_gqa=True)),
            lambda: torch_bench.attention_of("cudnn"))

    def cudnn_padded(self):
        from torch.nn.functional import pad, scaled_dot_product_attention
        if self.window:
            raise ValueError("has no window")
        if not self.causal or len(set(self.lengths)) == 1:
            raise ValueError("is for different lengths and a causal mask")
        most = max(self.lengths)
        q, k, v = (self.torch.stack([pad(x, (0, 0, 0, 0, 0, most - len(x)))
                                     for x in of.split(self.lengths)]).transpose(1, 2)
                   for of in (self.q, self.k, self.v))

        def run():
            o = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return Padded(o, self.lengths)
        return torch_bench.repeated(run, lambda: torch_bench.attention_of("cudnn"))

    def flash_attention_2(self):
        run, most = self.torch.ops.aten._flash_attention_forward, max(self.lengths)
        sides = {}
        if self.window:
            sides = {"window_size_left": self.window - 1,
                     "window_size_right": 0 if self.causal else -1}
        return torch_bench.repeated(lambda: run(
            self.q, self.k, self.v, self.starts, self.starts, most, most, 0.0, self.causal, False,
            **sides)[0])

    def flex(self):
        torch = self.torch
        if not self.has_flex:
            raise ValueError("needs --flex")
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        tokens = self.q.shape[0]
        index = torch.arange(tokens, device="cuda")
        of_token = torch.searchsorted(self.starts[1:].contiguous(), index, right=True)

        def mask(_, __, query, key):
            seen = of_token[query] == of_token[key]
            if self.causal:
                seen = seen & (key <= query)
            if self.window:
                seen = seen & (key > query - self.window)
            return seen
        blocks = create_block_mask(mask, None, None, tokens, tokens, device="cuda", _compile=True)
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (self.q, self.k, self.v))
        compiled = torch.compile(flex_attention)
        return torch_bench.repeated(lambda: compiled(
            q, k, v, block_mask=blocks, enable_gqa=True)[0].transpose(0, 1))

    def makers(self):
        of_rungs = {name: lambda name=name: self.rung(name) for name in RUNGS}
        return {**of_rungs, **{name: getattr(self, name) for name in LIBRARIES}}

    def errors_of(self, o):
        """The largest error of the last queries of the first and the last two sequences."""
        torch, largest, group = self.torch, 0.0, self.heads // self.kv_heads
        for i in {0, len(self.lengths) // 2, len(self.lengths) - 1}:
            begin, n = int(self.host_starts[i]), self.lengths[i]
            count = min(CHECKED, n)
            rows = slice(begin + n - count, begin + n)
            k, v = (x[begin:begin + n].double().repeat_interleave(group, dim=1).transpose(0, 1)
                    for x in (self.k, self.v))
            scores = self.q[rows].double().transpose(0, 1) @ k.transpose(1, 2) / self.d ** 0.5
            query = torch.arange(n - count, n, device="cuda")[:, None]
            key = torch.arange(n, device="cuda")[None]
            hidden = (key > query) & self.causal
            if self.window:
                hidden = hidden | (key <= query - self.window)
            expected = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=2) @ v
            error = (o[rows].double().transpose(0, 1) - expected).abs().max().item()
            largest = max(largest, error, key=torch_bench.badness)
        return largest


def compare(torch, function, lengths, window, arguments):
    """One row of the table, and who was skipped why."""
    batch = Batch(torch, function, lengths, window, arguments)
    errors = {}

    def judged(name, make):
        def judged_maker():
            turn = make()
            errors[name] = batch.errors_of(turn())
            return turn
        return judged_maker
    makers = {name: judged(name, make) for name, make in batch.makers().items()}
    turns, _, skipped = torch_bench.first_results(makers, LIBRARIES)
    rows, too_slow = torch_bench.rows_of(torch_bench.take_turns(
        torch, turns, arguments.seconds, arguments.rounds, in_long=("chosen", *LIBRARIES)))
    flops = 4 * arguments.heads * arguments.d * pairs_of(lengths, window, batch.causal)
    for name, row in rows.items():
        row["tflops"] = flops / row["median_ms"] / 1e9
        row["max_error"] = errors[name]
    return rows, wrong_ones(errors, torch.finfo(torch.bfloat16).eps), {**skipped, **too_slow}


def wrong_ones(errors, eps):
    """Whose largest error is above that of a mean of values whose weights, and which itself, are
    rounded to bf16. Values are up to 5 or so. NaN is wrong, too."""
    return [name for name, error in errors.items() if not error <= 4 * eps]


def ratio(rows):
    """How many times as fast as the fastest of the libraries the chosen rung is."""
    ratios = [torch_bench.ratio(rows, "chosen", library) for library in LIBRARIES]
    return min((x for x in ratios if x is not None), default=None)


def point_of(label, window, rows, wrong, arguments):
    """For the results: the times of wrong ones are nobody's business."""
    right = {name: of for name, of in rows.items() if name not in wrong}
    point = {"lengths": label, "window": window, "causal": int(not arguments.no_mask),
             "heads": arguments.heads, "kv_heads": arguments.kv_heads, "d": arguments.d,
             "over_library": ratio(right), **dict.fromkeys(NAMES), "rows": right, "wrong": wrong}
    for name, of in right.items():
        point[name], point[f"{name}_error"] = of["tflops"], of["max_error"]
    return point


def main():
    arguments = parse_arguments()
    torch = torch_bench.torch_on_hopper()
    function = torch_bench.build(arguments.build, [SOURCE])["attention_prefill"]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
          f"cuDNN {torch.backends.cudnn.version()}; bf16, TFLOP/s, medians")
    print(f"{'lengths':>9} {'window':>6} " + " ".join(f"{name:>12}" for name in NAMES) + "  ratio")
    torch.manual_seed(1)
    points, skipped = [], {}
    for label, lengths in arguments.lengths.items():
        for window in arguments.windows:
            rows, wrong, missing = compare(torch, function, lengths, window, arguments)
            skipped.update({f"{name}, {label}, window {window}": why
                            for name, why in missing.items()})
            points.append(point_of(label, window, rows, wrong, arguments))
            rates = " ".join(torch_bench.cell(points[-1][name], 12) for name in NAMES)
            said = "   wrong: " + ", ".join(wrong) if wrong else ""
            print(f"{label:>9} {window:>6} {rates} "
                  f"{torch_bench.cell(points[-1]['over_library'], 6)}{said}", flush=True)
            if arguments.json:  # now, so that what is measured is not lost with what follows
                sweep = {"problem": "prefill", "sweep": "shape", "points": points}
                torch_bench.save(arguments.json, torch_bench.facts_of(torch, [sweep], skipped))
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    return 1 if any(point["wrong"] for point in points) else 0


if __name__ == "__main__":
    cli.run(main)
