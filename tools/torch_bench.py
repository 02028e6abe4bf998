"""What the chapters' comparisons with PyTorch share: rungs as C functions, turns, and results.

They need a Hopper GPU (sm_90), nvcc, and PyTorch with CUDA. `torch` is an argument of whatever uses
it, so that a machine without it can read arguments and test the rest.
"""

import contextlib
import ctypes
import importlib.metadata
import math
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import bench
import cli
import results

ROOT = cli.REPOSITORY
FLAGS = "-O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -shared -Xcompiler=-fPIC,-fopenmp"
COPIES_BYTES = 4e8  # what launches go through: several times any L2 of today
SECONDS, ROUNDS = [0.005, 0.3], [20, 2]  # of short turns and of long ones
WARM_UP = 2  # rounds
MOST_AHEAD = 64  # launches that are queued before the first one that is timed
# An fp32 rounding; and n random ones add up to DEVIATIONS sqrt(n) of them at most.
FP32_UNIT, DEVIATIONS = 2.0**-24, 9.22


# ---- arguments

def numbers(text):
    return [int(part) for part in text.split(",")]


class Parser(cli.Parser):
    """With the options of all comparisons."""

    def __init__(self, description):
        super().__init__(description)
        seconds = lambda text: [float(part) for part in text.split(",")]
        self.add_argument("--seconds", type=seconds, default=SECONDS, help="lengths of turns")
        self.add_argument("--rounds", type=numbers, default=ROUNDS, help="turns of each length")
        self.add_argument("--build", type=Path, default=ROOT / "build", help="build folder")
        self.add_argument("--json", type=Path, help="put the results into this file")

    def parse_args(self, *words):
        arguments = super().parse_args(*words)
        if len(arguments.seconds) != len(arguments.rounds):
            self.error("--seconds and --rounds: one of each for every length")
        if min(*arguments.seconds, *arguments.rounds) <= 0:
            self.error("--seconds and --rounds must be above zero")
        return arguments


def dtype_of(torch, name):
    return {"bf16": torch.bfloat16, "fp16": torch.float16}[name]


def torch_on_hopper():
    program = Path(sys.argv[0]).name
    try:
        import torch
    except ImportError:
        sys.exit(f"{program} needs PyTorch: https://pytorch.org/get-started")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit(f"{program} needs a Hopper GPU (sm_90)")
    return torch


# ---- rungs as C functions

def c_type(name):
    known = {"int": ctypes.c_int, "std::int64_t": ctypes.c_int64, "const char*": ctypes.c_char_p}
    if name not in known and not name.endswith("*"):
        raise ValueError(f"C functions are not called with {name}")
    return known.get(name, ctypes.c_void_p)


def declarations(source):
    """Name -> (type of the result, types of the arguments) of each extern "C" function."""
    found = {}
    for result, name, text in re.findall(r'extern "C" (\S+) (\w+)\(([^)]*)\)', source):
        parameters = [" ".join(parameter.split()) for parameter in text.split(",") if parameter]
        types = [c_type(parameter.rpartition(" ")[0]) for parameter in parameters]
        found[name] = c_type(result), types
    return found


def is_fresh(library):
    """Whether it is newer than all that it may have been built from."""
    sources = [Path(__file__), *cli.files_of(ROOT, {".cu", ".cuh", ".hpp"})]
    newest = max(source.stat().st_mtime for source in sources)
    return library.exists() and library.stat().st_mtime > newest


def build(folder, sources):
    """Compiles files called c_interface.cu side by side, a minute or two, unless that was done
    before; name -> function, of all together."""
    nvcc = cli.cuda_tool("nvcc")
    if nvcc is None:
        sys.exit(f"{Path(sys.argv[0]).name} needs nvcc")
    folder.mkdir(parents=True, exist_ok=True)
    built = {folder / f"lib{source.parent.name}.so": source for source in sources}
    jobs = [subprocess.Popen([nvcc, *FLAGS.split(), f"-I{ROOT}", source, "-o", library])
            for library, source in built.items() if not is_fresh(library)]
    if any([job.wait() for job in jobs]):  # a list, so that all have ended
        sys.exit(f"{Path(sys.argv[0]).name}: nvcc failed")
    functions = {}
    for library, source in built.items():
        loaded = ctypes.CDLL(str(library))
        for name, (result, types) in declarations(cli.read_text(source)).items():
            functions[name] = loaded[name]
            functions[name].restype, functions[name].argtypes = result, types
    return functions


def address(tensor):
    """What a C function gets: it takes the elements to lie in the order of their indices."""
    if not tensor.is_contiguous():
        raise ValueError(f"a tensor of shape {tuple(tensor.shape)} is not contiguous")
    return tensor.data_ptr()


def call(torch, function, *arguments):
    """Calls a C function that returns 0 unless it fails, on the stream that PyTorch uses."""
    if function(*arguments, torch.cuda.current_stream().cuda_stream) != 0:
        raise RuntimeError(f"{function.__name__} failed")


# ---- PyTorch's own

@contextlib.contextmanager
def attention_of(library):
    """Within it scaled_dot_product_attention is that of cudnn, flash_attention_2 or _3."""
    from torch.nn import attention

    backends = attention.SDPBackend
    is_cudnn, is_third = library == "cudnn", library == "flash_attention_3"
    if is_third:
        attention.activate_flash_attention_impl("FA3")
    try:
        backend = backends.CUDNN_ATTENTION if is_cudnn else backends.FLASH_ATTENTION
        with attention.sdpa_kernel(backend):
            yield
    finally:
        if is_third:
            attention.restore_flash_attention_impl()


# ---- turns

def repeated(run, context=contextlib.nullcontext):
    """One who takes turns: turn(launches) calls run() so often and returns its last result;
    after_first() is called once the first launch is queued."""
    def turn(launches=1, after_first=lambda: None):
        with context():
            result = run()
            after_first()
            for _ in range(launches - 1):
                result = run()
        return result
    return turn


def graph_of(torch, run, copies, launches):
    """One who takes turns with a CUDA graph of so many launches: turn(1) replays it once, and
    returns what the first copy gave. For what takes less time than its launch from Python.
    run(copy) launches."""
    first = run(copies[0])  # what is made once is made now
    for copy in copies[1:]:
        run(copy)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            run(copies[i % len(copies)])

    def replay():
        graph.replay()
        return first
    return repeated(replay)


def first_results(makers, optional):
    """makers: name -> function that makes one who takes turns. Returns them, their results, and
    why optional ones cannot take part: what they lack shows at the latest when they run."""
    turns, outputs, skipped = {}, {}, {}
    for name, make in makers.items():
        try:
            turn = make()
            outputs[name] = turn()
            turns[name] = turn
        except Exception as error:  # of whatever kind a library takes
            if name not in optional:
                raise
            skipped[name] = (str(error) or type(error).__name__).splitlines()[0]
    return turns, outputs, skipped


def one_turn(torch, turn, launches, ahead):
    """Milliseconds a launch of the GPU alone, or None if it has waited for the CPU. `ahead`
    launches keep it busy while the CPU gets the first one there that is timed. Without them the
    time from the event to that launch is counted, too: through autograd 0.1 to 0.25 ms."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    seen = {}

    def after_first():
        seen.update(late=start.query(), at=time.perf_counter())  # late: the GPU has come by before

    turn(ahead)
    start.record()
    turn(launches, after_first)
    queued_ms = 1e3 * (time.perf_counter() - seen["at"])
    end.record()
    end.synchronize()
    ms = start.elapsed_time(end)
    return None if seen["late"] or queued_ms > ms else ms / launches


def take_turns(torch, turns, seconds, rounds, in_long=None):
    """Name -> milliseconds a launch, a list for each length of turns: the first length is that of
    all, the others only of those in `in_long` (default: of all). Who has no time for a length has
    always kept the GPU waiting."""
    times = {name: [[] for _ in seconds] for name in turns}
    about_ms, ahead = {}, dict.fromkeys(turns, 1)
    lengths = [0] * WARM_UP + [i for i, number in enumerate(rounds) for _ in range(number)]
    for number, length in enumerate(lengths):
        names = [name for name in turns if length == 0 or in_long is None or name in in_long]
        random.shuffle(names)  # whoever follows a light kernel finds a cooler chip
        for name in names:
            launches = max(1, round(1e3 * seconds[length] / about_ms.get(name, math.inf)))
            ms = one_turn(torch, turns[name], launches, ahead[name])
            while ms is None and ahead[name] < MOST_AHEAD:
                ahead[name] *= 2
                ms = one_turn(torch, turns[name], launches, ahead[name])
            if ms is not None:
                about_ms[name] = ms
            if ms is not None and number >= WARM_UP:
                times[name][length].append(ms)
    return times


def rows_of(times, launches=1):
    """A row for each name of what take_turns() found: its short turns, and the median of its
    longest, each divided by the launches of a graph; and who has none, with the reason."""
    rows, skipped = {}, {}
    for name, (short, *longer) in times.items():
        if not short:
            skipped[name] = "the GPU waits for its dispatch"
            continue
        rows[name] = timed([ms / launches for ms in short])
        if longer and longer[-1]:
            rows[name]["long_median_ms"] = statistics.median(longer[-1]) / launches
    return rows, skipped


def timed(ms):
    return {"median_ms": statistics.median(ms), "min_ms": min(ms), "max_ms": max(ms)}


def ratio(rows, name, peer):
    """How many times as fast as its peer: in short turns or in long ones, whichever is less. None
    if one of them did not take part."""
    if name not in rows or peer not in rows:
        return None
    lengths = [key for key in ("median_ms", "long_median_ms") if key in rows[name]]
    return min(rows[peer][key] / rows[name][key] for key in lengths if key in rows[peer])


def cell(value, width):
    """A rate or a ratio, or a dash for what was not measured."""
    text = "-" if value is None else f"{value:.0f}" if value >= 20 else f"{value:.2f}"
    return text.rjust(width)


# ---- who is right

def rounding_of_sum(n):
    """What a sum of n numbers in fp32 may be off by, as a share of the sum of their sizes."""
    return min(n, DEVIATIONS * math.sqrt(n)) * FP32_UNIT


def share_of_bound(actual, value, bound):
    """The largest error as a share of its bound."""
    return ((actual.double() - value).abs() / bound).max().item()


def badness(share):
    """For max(..., key=badness): NaN is worse than all."""
    return share != share, share


def wrong_ones(errors):
    """Whose error is above its bound. NaN is wrong, too."""
    return [name for name, share in errors.items() if not share <= 1]


# ---- results

def what_was_asked(arguments):
    """The arguments as a text, without those that only say where files lie."""
    kept, skip = [], False
    for word in arguments:
        is_file = word.split("=")[0] in ("--json", "--build")
        if not skip and not is_file:
            kept.append(word)
        skip = is_file and "=" not in word
    return shlex.join(kept)


def version_of(package):
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return None


def driver():
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return ""


def facts_of(torch, sweeps, skipped):
    """The sweeps with what they were measured by, in the form of results/*.json."""
    commit = bench.commit_of(ROOT)
    flags = ["nvcc", *FLAGS.split(), *os.environ.get("NVCC_APPEND_FLAGS", "").split()]
    facts = {
        "program": Path(sys.argv[0]).name, "arguments": what_was_asked(sys.argv[1:]), "rows": [],
        **bench.stamp(commit), "flags": shlex.join(flags), "driver": driver(),
        "device": {"name": torch.cuda.get_device_name()}, "toolkit": torch.version.cuda,
        "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
        "triton": version_of("triton"),
        "skipped": skipped, "sweeps": sweeps}
    return {**facts, "dirty": True} if bench.is_dirty(commit) else facts


def save(path, run, part=""):
    """Puts the run into a results file as chapter/program, or chapter/program_part."""
    label = "_".join(filter(None, (Path(run["program"]).stem, part)))
    folder = Path(sys.argv[0]).resolve().parent
    chapter = folder.parent.name if folder.name == "pytorch" else folder.name
    with cli.alone_in(path.parent):
        data = results.load(path) if path.exists() else {"schema": 1, "counters": {}, "runs": {}}
        data["runs"][f"{chapter}/{label}"] = run
        results.save(path, data)
