"""Draws the timelines that a run recorded, as SVG that reads on white and on black, and says in a
table how long each lane was busy.

A bar that stands for something done ("softmax") has the colour of that word and, where it is long
enough, the word itself; "wait" is an empty one. A bar with a number, of a chunk or a stream, has
one of eight colours, used again and again. Timelines of one problem share a scale.
"""

import itertools
import math
from html import escape

from result_table import TableError, aligned, significant

LEFT, PLOT, RIGHT = 112, 680, 28
ROW, TITLE, GAP, AXIS = 34, 32, 14, 34
# Of words, as (fill and line on white, line on black).
WORDS = [
    ("#2f6fb5", "#6aa5e8"),
    ("#2f7d4a", "#63b37f"),
    ("#b35c00", "#e09a52"),
    ("#7a4fb0", "#b794e6"),
]
NUMBERS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#9c755f", "#edc948"]
WAIT = "wait"
IN_BARS = ".in{font-size:14px;text-anchor:middle}.in.number{font-size:13px;fill:#111}"


def _style():
    light, dark = [], []
    for i, (on_white, on_black) in enumerate(WORDS):
        light.append(f".w{i}{{fill:{on_white};fill-opacity:.2;stroke:{on_white}}}")
        dark.append(f".w{i}{{stroke:{on_black}}}")
    light += [f".n{i}{{fill:{colour}}}" for i, colour in enumerate(NUMBERS)]
    return (
        "<style>text{fill:#24292f}.small{font-size:14px;fill:#57606a}.line{stroke:#57606a;"
        "stroke-opacity:.45}.wait{fill:none;stroke:#57606a;stroke-dasharray:3 3}"
        + "".join(light)
        + "@media(prefers-color-scheme:dark){text{fill:#d7dee5}.small{fill:#a9b4bf}"
        ".line,.wait{stroke:#a9b4bf}" + "".join(dark) + "}</style>"
    )


def end_of(timeline):
    return max((bar["end"] for bar in timeline["bars"]), default=0)


def length_of(timeline):
    """'9.50 ms', '5,120 cycles'"""
    end = end_of(timeline)
    return f"{f'{end:,.0f}' if end >= 1000 else significant(end)} {timeline['unit']}"


def _step(end):
    """1, 2 or 5 of a power of ten: at most eight of them to `end`."""
    size = 10.0 ** math.floor(math.log10(end / 8))
    return next(size * k for k in (1, 2, 5, 10) if size * k * 8 >= end)


def _axis(end, unit, x_of, y):
    step, parts = _step(end), []
    for i in range(int(end / step * (1 + 1e-9)) + 1):
        words = f"{i * step:,.10g}" + (f" {unit}" if i == 0 else "")
        x = x_of(i * step)
        parts.append(f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 4}" y2="{y + 4}"/>')
        parts.append(
            f'<text class="small" x="{x:.1f}" y="{y + 20}" text-anchor="middle">{words}</text>'
        )
    return parts


def _line(y):
    return f'<line class="line" x1="{LEFT}" x2="{LEFT + PLOT}" y1="{y}" y2="{y}"/>'


def _bar(bar, x_of, y, kinds):
    """The rectangle of a bar, and its word."""
    x, width = x_of(bar["begin"]), max(0.5, x_of(bar["end"]) - x_of(bar["begin"]))
    what = bar["what"]
    if what.isdigit():
        kind, has_word = f"n{int(what) % len(NUMBERS)}", int(what) % 4 == 0 and width > 8
    else:
        kind = WAIT if what == WAIT else f"w{kinds.setdefault(what, len(kinds)) % len(WORDS)}"
        has_word = 8 * len(what) + 2 <= width
    words = "in number" if what.isdigit() else "in"
    return (
        f'<rect class="{kind}" x="{x:.2f}" y="{y + 3}" width="{width:.2f}" height="{ROW - 6}"/>',
        f'<text class="{words}" x="{x + width / 2:.1f}" y="{y + 22}">{escape(what)}</text>'
        if has_word
        else "",
    )


def _lane(bars, x_of, y, kinds):
    """All words come after all rectangles: bars of a lane may overlap."""
    if not bars:
        return []
    rects, words = zip(*(_bar(bar, x_of, y, kinds) for bar in bars))
    is_named_by_lane = len(bars) == 1 and bars[0]["what"].isdigit()
    return [*rects, *([] if is_named_by_lane else filter(None, words))]


def time_of(text):
    """'4' as a number above 0."""
    try:
        if float(text) > 0:
            return float(text)
    except ValueError:
        pass
    raise TableError(f"'{text}' is no time above 0")


def _until(end, bars):
    """The bars that begin before `end`, cut off there."""
    return [{**bar, "end": min(bar["end"], end)} for bar in bars if bar["begin"] < end]


def svg(timelines, until=None):
    """One picture of them all, one below the other; only what ran before `until`, if that is given.
    A lane that goes on ends with three dots."""
    body, y, kinds = [], 0, {}
    for _, group in itertools.groupby(timelines, lambda timeline: timeline["problem"]):
        group = list(group)
        end = min(max(map(end_of, group)), until or math.inf)
        x_of = lambda time: LEFT + PLOT * time / end
        for timeline in group:
            title = f"{escape(timeline['name'])}: {length_of(timeline)}"
            body.append(f'<text x="0" y="{y + 22}" font-weight="bold">{title}</text>')
            y += TITLE
            for lane in timeline["lanes"]:
                body.append(f'<text class="small" x="0" y="{y + 22}">{escape(lane)}</text>')
                body.append(_line(y + ROW - 1))
                mine = [bar for bar in timeline["bars"] if bar["lane"] == lane]
                body += _lane(_until(end, mine), x_of, y, kinds)
                if any(bar["end"] > end for bar in mine):
                    body.append(f'<text class="small" x="{LEFT + PLOT + 6}" y="{y + 22}">…</text>')
                y += ROW
            y += GAP
        body += _axis(end, group[0]["unit"], x_of, y)
        y += AXIS + GAP
    said = "; ".join(f"{timeline['name']} {length_of(timeline)}" for timeline in timelines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + PLOT + RIGHT} {y}" '
        'font-family="sans-serif" font-size="16" role="img" '
        f'aria-label="Measured timelines: {escape(said)}">\n'
        + _style().replace("</style>", IN_BARS + "</style>")
        + "\n"
        + "\n".join(body)
        + "\n</svg>\n"
    )


def busy(timeline, lane):
    """For how long at least one bar of the lane was running, waiting apart."""
    total, reached = 0, 0
    bars = [bar for bar in timeline["bars"] if bar["lane"] == lane and bar["what"] != WAIT]
    for bar in sorted(bars, key=lambda bar: bar["begin"]):
        total += max(0, bar["end"] - max(bar["begin"], reached))
        reached = max(reached, bar["end"])
    return total


def busy_table(timelines):
    """Lines of a table: for how long each lane was busy, and how long it all took."""
    first = timelines[0]
    titles = ["Busy, " + first["unit"], *first["lanes"], "From begin to end"]
    cells = []
    for timeline in timelines:
        if timeline["lanes"] != first["lanes"]:
            raise TableError(f"'{timeline['name']}' has other lanes than '{first['name']}'")
        numbers = [busy(timeline, lane) for lane in timeline["lanes"]] + [end_of(timeline)]
        cells.append([timeline["name"], *map(significant, numbers)])
    return aligned(titles, cells, [False] + [True] * (len(titles) - 1))


def chosen(run_name, run, problem):
    """The timelines of one problem in a run."""
    found = [t for t in run.get("timelines") or [] if t["problem"] == problem]
    if not found:
        raise TableError(f"'{run_name}' holds no timelines of '{problem}'")
    return found
