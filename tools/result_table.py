"""Turns the measured numbers of results/<gpu>.json into Markdown tables."""

import math
import re


# What Markdown or HTML would read as its own in a name that came from a file.
SPECIAL = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {letter: "\\" + letter for letter in "|`[]*\\"}
)


class TableError(Exception):
    """The results do not hold what the table asks for; the message is ready to print."""


DEFAULT_COLUMNS = ["name", "median_ms", "gbps", "percent_of_roof", "ratio_to_peer"]
NOTHING = "–"


def slug(name):
    """'Warp-tile 4x4' -> 'warp_tile_4x4': the form used in file and kernel names."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def text_cell(text):
    """A text from a file as one line of Markdown that says just this text."""
    return " ".join(text.split()).translate(SPECIAL)


def code_cell(text):
    """The same between backticks, in which only they and ends of lines mean something."""
    return " ".join(text.split()).replace("`", "'")


def significant(value, digits=3):
    """`value` with `digits` significant digits and never an exponent."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def _fixed(decimals):
    return lambda value: f"{value:.{decimals}f}"


def _error(value):
    return "0" if value == 0 else f"{value:.1e}"


# Column key -> (title, how a number is printed). Keys are those of a program's JSON.
TITLES = {
    "name": ("Variant", str),
    "median_ms": ("Time, ms", significant),
    "min_ms": ("Fastest, ms", significant),
    "max_ms": ("Slowest, ms", significant),
    "samples": ("Samples", str),
    "gbps": ("GB/s", significant),
    "gflops": ("GFLOP/s", significant),
    "tflops": ("TFLOP/s", significant),
    "percent_of_roof": ("% of peak", _fixed(1)),
    "speedup": ("Speed-up", lambda value: significant(value) + "×"),
    "step": ("Step", lambda value: significant(value) + "×"),
    "total": ("Total", lambda value: significant(value) + "×"),
    "ratio_to_peer": ("× library", _fixed(2)),
    "max_error": ("Largest error", _error),
    "extra_bytes": ("Extra memory, MB", lambda value: significant(value / 1e6)),
    "status": ("Result", str),
    "reason": ("Reason", str),
    "block": ("Threads per block", str),
    "d": ("d", str),
    "m": ("m", lambda value: f"{value:,}"),
    "n": ("n", lambda value: f"{value:,}"),
    "k": ("k", lambda value: f"{value:,}"),
    "stride": ("Stride", str),
    "occupancy": ("Occupancy, %", _fixed(1)),
}
# How keys of sweeps end that hold a rate: cublas_tflops.
RATES = {"_tflops": "TFLOP/s", "_gbps": "GB/s"}
SPELLINGS = {
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cub": "CUB",
    "flop": "FLOP",
    "gpu": "GPU",
    "tma": "TMA",
    "triton": "Triton",
    "flash attention 2": "FlashAttention-2",
}
# Keys of tools/profile.py.
COUNTER_TITLES = {
    "launches": ("Launches", str),
    "load_sectors_per_request": ("Sectors per load", significant),
    "store_sectors_per_request": ("Sectors per store", significant),
    "shared_load_conflict": ("Shared load conflict", significant),
    "shared_store_conflict": ("Shared store conflict", significant),
    "active_lanes": ("Active lanes", significant),
    "divergent_branches": ("Divergent branches", str),
    "barriers": ("Barriers", str),
    "atomics": ("Atomics", str),
}


def _spelled(name):
    """The name of a column or phase as a title; libraries and abbreviations keep their letters."""
    title = name.replace("_", " ").capitalize()
    for word, spelled in SPELLINGS.items():
        title = re.sub(rf"\b{word}\b", spelled, title, flags=re.IGNORECASE)
    return title


def _title_and_format(column):
    kind, _, rest = column.partition(":")
    if kind == "counter":
        if rest not in COUNTER_TITLES:
            raise TableError(f"unknown counter '{rest}' (known: {', '.join(COUNTER_TITLES)})")
        return COUNTER_TITLES[rest]
    if kind == "phase":
        phase, _, key = rest.partition(":")
        title, form = TITLES.get(key or "median_ms", (key, significant))
        unit = "ms" if title == "Time, ms" else title
        return f"{_spelled(phase)}, {unit}", form
    for ending, unit in RATES.items():
        if column.endswith(ending):
            return f"{_spelled(column.removesuffix(ending))}, {unit}", significant
    return TITLES.get(column.removeprefix("sizes."), (_spelled(column), str))


def title_of(column):
    return _title_and_format(column)[0]


def _number_or_text(value, form):
    if value is None or value == "":
        return NOTHING
    if isinstance(value, float):
        if value.is_integer():  # a program may write 32.0 for a block size
            value = int(value)
        elif form is str:
            return significant(value)
    if form is not str and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TableError(f"{value!r} is no number")
    return text_cell(str(form(value)))


def counters_of_row(row, counters):
    """The counters of a row's kernel: problem_name_kernel, or name_kernel in the namespace of the
    problem, which may serve several (bf16: bf16_gemm and bf16_gemm_nt)."""
    problem, name = slug(row["problem"]), slug(row["name"])
    for kernel, counted in counters.items():
        namespace, _, base = kernel.rpartition("::")
        own = base == f"{name}_kernel" and namespace and problem.startswith(namespace)
        if own or base == f"{problem}_{name}_kernel":
            return counted
    return {}


def value_of(row, column, counters):
    kind, _, rest = column.partition(":")
    if kind == "counter":
        return counters_of_row(row, counters).get(rest)
    if kind == "phase":
        phase_name, _, key = rest.partition(":")
        phases = {slug(phase["name"]): phase for phase in row.get("phases") or []}
        return phases.get(slug(phase_name), {}).get(key or "median_ms")
    if column.startswith("sizes."):
        return row.get("sizes", {}).get(column[len("sizes.") :])
    if column == "percent_of_roof" and row.get("place") == "cpu":
        return None  # there it is no share of a peak: it compares with a copy on the CPU
    if column == "tflops":
        return None if row.get("gflops") is None else row["gflops"] / 1e3
    if column not in row:
        raise TableError(f"no column '{column}' in these results")
    return row[column]


def aligned(titles, rows, numeric):
    """A Markdown table whose source lines up too: it is read as plain text as often as rendered."""
    widths = [max(len(line[i]) for line in [titles, *rows]) for i in range(len(titles))]

    def line(cells):
        padded = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric)]
        return "| " + " | ".join(padded) + " |"

    rule = [("-" * (w - 1) + ":") if n else "-" * w for w, n in zip(widths, numeric)]
    return [line(titles), line(rule), *(line(row) for row in rows)]


def _where(run):
    """On what a run was measured."""
    if run["device"]:
        where = f"{run['device']['name']}, CUDA {run['toolkit']}"
    else:
        where = f"{run['cpu']['model']}, {run['cpu']['threads']} threads"
    return text_cell(where + (", changed sources" if run.get("dirty") else ""))


def caption(run, counted_with=None):
    """Where, when and with which arguments; counted_with: those of the counters, if any."""
    # A list of rungs can be as long as the table, which names them anyway.
    arguments = re.sub(r"--only \S{60,}", "--only …", run["arguments"])
    command = f"{run['program']} {arguments}".strip()
    counted = f"; counted with `{code_cell(counted_with)}`" if counted_with else ""
    return f"*{_where(run)}, {text_cell(run['date'][:10])}: `{code_cell(command)}`{counted}*"


# Counters that add up over the runs in which they were counted.
SUMS = ("launches", "threads", "divergent_branches", "barriers", "atomics", "tma_bytes")
SUMS += ("multicast_saved_bytes", "tensor_operations")


def _of_one_run(kernel, runs):
    is_sum = lambda key: key in SUMS and kernel[key] is not None
    return {key: round(kernel[key] / runs) if is_sum(key) else kernel[key] for key in kernel}


def counters_of_one_run(counted):
    """Of a chapter's counters: those of one run of each kernel, by the kernel's name."""
    runs = counted.get("runs", 1)
    return {kernel["kernel"]: _of_one_run(kernel, runs) for kernel in counted["kernels"]}


def counters_of(results, run_name, columns):
    if not any(column.startswith("counter:") for column in columns):
        return {}
    chapter = run_name.partition("/")[0]
    if chapter not in results.get("counters", {}):
        raise TableError(f"no counters of '{chapter}' in these results")
    return counters_of_one_run(results["counters"][chapter])


def _with_steps(rows):
    """The rows, each with how many times as fast it is as the timed rung above it (step) and as the
    first one (total). A library's row ends no step."""
    first = before = None
    for row in rows:
        time = row.get("median_ms")
        is_rung = row.get("kind", "rung") in ("rung", "chooser")
        first = first or (time if is_rung else None)
        step = before / time if time and before and is_rung else None
        yield {**row, "step": step, "total": first / time if time and first else None}
        before = time if time and is_rung else before


def _row_table(results, run_name, run, options):
    rows = run["rows"]
    if "problem" in options:
        rows = [row for row in rows if row["problem"] == options["problem"]]
    if "only" in options:
        wanted = options["only"].split(",")
        rows = [row for row in rows if row["name"] in wanted]
        if missing := [name for name in wanted if name not in {row["name"] for row in rows}]:
            raise TableError(f"no row '{missing[0]}' in '{run_name}'")
    if not rows:
        raise TableError(f"no rows of problem '{options.get('problem', 'any')}' in '{run_name}'")
    rows = list(_with_steps(rows))
    columns = options["columns"].split(",") if "columns" in options else DEFAULT_COLUMNS
    counters = counters_of(results, run_name, columns)
    forms = [_title_and_format(column) for column in columns]
    cells = []
    for row in rows:
        values = [value_of(row, column, counters) for column in columns]
        cells.append([_number_or_text(v, form) for v, (_, form) in zip(values, forms)])
    counted = [i for i, column in enumerate(columns) if column.startswith("counter:")]
    if counted and all(line[i] == NOTHING for line in cells for i in counted):
        raise TableError(f"no kernel of '{run_name}' has the counters asked for")
    numeric = [column not in ("name", "status", "reason") for column in columns]
    lines = aligned([title for title, _ in forms], cells, numeric)
    skipped = [row for row in rows if row["status"] == "skipped"]
    notes = [f"`{code_cell(r['name'])}`: skipped, {text_cell(r['reason'])}." for r in skipped]
    return lines, notes


def _sweep_table(run_name, run, options):
    sweeps = [s for s in run.get("sweeps") or [] if s["sweep"] == options["sweep"]]
    for key in ("problem", "name"):
        if key in options:
            sweeps = [s for s in sweeps if s.get(key) == options[key]]
    if len(sweeps) != 1:
        raise TableError(f"'{run_name}' holds {len(sweeps)} sweeps '{options['sweep']}' that fit")
    # A program may name a column "occupancy %"; a mark cannot hold a space.
    points = [{slug(key): value for key, value in p.items()} for p in sweeps[0]["points"]]
    if "columns" in options:
        columns = options["columns"].split(",")
    else:
        columns = [options["sweep"], *(key for key in TITLES if key != options["sweep"])]
        columns = [column for column in columns if column in points[0]]
    forms = [_title_and_format(column) for column in columns]
    cells = [
        [_number_or_text(value_of(point, c, {}), form) for c, (_, form) in zip(columns, forms)]
        for point in points
    ]
    return aligned([title for title, _ in forms], cells, [True] * len(columns)), []


def _best_line(row_of):
    """One problem at its best: its fastest kernel beside its fastest peer, or the yardstick."""
    kernels = [r for r in row_of if r["place"] == "device" and r["median_ms"] is not None]
    rungs = [r for r in kernels if r["kind"] in ("rung", "chooser")]
    if not rungs:
        return None
    best = min(rungs, key=lambda r: r["median_ms"])
    by_kind = {kind: [r for r in kernels if r["kind"] == kind] for kind in ("peer", "yardstick")}
    against, ratio = None, None
    if by_kind["peer"]:
        peer = min(by_kind["peer"], key=lambda r: r["median_ms"])
        against, ratio = peer["name"], peer["median_ms"] / best["median_ms"]
    elif by_kind["yardstick"]:
        yardstick = max(by_kind["yardstick"], key=lambda r: r["gbps"] or 0)
        against, ratio = yardstick["name"], best["gbps"] / yardstick["gbps"]
    size = ", ".join(f"{key} = {value:,}" for key, value in best["sizes"].items())
    return {
        "problem": best["problem"].replace("_", " "),
        "size": size,
        "name": best.get("chose") or best["name"],
        "against": against,
        "ratio": ratio,
        **{key: best[key] for key in ("median_ms", "percent_of_roof", "speedup")},
    }


def _best_table(results, wanted):
    """One line per problem of the runs (RUN), or of one problem in them (RUN:PROBLEM): where its
    ladder ends."""
    titles = [
        "Problem",
        "Size",
        "Best rung",
        "Time, ms",
        "% of peak",
        "Over one core",
        "Against",
        "Ratio",
    ]
    keys = [
        "problem",
        "size",
        "name",
        "median_ms",
        "percent_of_roof",
        "speedup",
        "against",
        "ratio",
    ]
    forms = [str, str, str, significant, _fixed(1), TITLES["speedup"][1], str, _fixed(2)]
    cells, runs = [], []
    for words in wanted:
        run_name, _, only = words.partition(":")
        run = run_named(results, run_name)
        runs.append(run)
        for problem in dict.fromkeys(row["problem"] for row in run["rows"]):
            if only and problem != only:
                continue
            best = _best_line([row for row in run["rows"] if row["problem"] == problem])
            if best is not None:
                cells.append([_number_or_text(best[key], form) for key, form in zip(keys, forms)])
    if not cells:
        raise TableError("none of these runs has a kernel that was timed")
    lines = aligned(
        titles, cells, [key not in ("problem", "size", "name", "against") for key in keys]
    )
    dates = sorted({text_cell(run["date"][:10]) for run in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return [*lines, "", f"*{'; '.join(dict.fromkeys(map(_where, runs)))}, {when}*"]


def short_commit(commit):
    """Twelve digits name a commit as well as forty; what follows them ("-dirty") stays."""
    return re.sub(r"^(\w{12})\w+", r"\1", commit)


def recorded(files):
    """What each results file holds of each chapter, of which commit and from when."""
    rows = []
    for name, data in files.items():
        entries = {}  # chapter: [runs, counters]
        for label, run in data["runs"].items():
            entries.setdefault(label.partition("/")[0], ([], []))[0].append(run)
        for chapter, counted in data.get("counters", {}).items():
            entries.setdefault(chapter, ([], []))[1].append(counted)
        for chapter, (runs, counted) in sorted(entries.items()):
            stamped = [*runs, *counted]
            of = lambda key, end: sorted({(e.get(key) or "unknown")[:end] for e in stamped})
            when = " to ".join(dict.fromkeys((of("date", 10)[0], of("date", 10)[-1])))
            how_many = f"{len(runs)}{' and counters' if counted else ''}"
            commits = sorted(set(map(short_commit, of("commit", None))))
            cells = [chapter.replace("_", " "), how_many, ", ".join(commits), when]
            rows.append([f"`{code_cell(name)}.json`", *map(text_cell, cells)])
    return aligned(["File", "Chapter", "Runs", "Commit", "Date"], rows, [False] * 5)


def run_named(results, run_name):
    run = results.get("runs", {}).get(run_name)
    if run is None:
        known = ", ".join(sorted(results.get("runs", {}))) or "none"
        raise TableError(f"no run '{run_name}' in these results (there: {known})")
    return run


def table(results, options):
    """Lines of the table that `options` (the words of the mark) ask for."""
    if "best" in options:
        return _best_table(results, options["best"].split(","))
    run_name = options.get("run")
    if run_name is None:
        raise TableError("the mark names no run=")
    run = run_named(results, run_name)
    counted_with = None
    if "sweep" in options:
        lines, notes = _sweep_table(run_name, run, options)
    else:
        lines, notes = _row_table(results, run_name, run, options)
        if "counter:" in options.get("columns", ""):
            counted_with = results["counters"][run_name.partition("/")[0]]["arguments"]
    where = caption(run, counted_with)
    return [*lines, "", where, *(part for note in notes for part in ("", note))]
