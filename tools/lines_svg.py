"""Draws the table of a grid as lines, one for each column of numbers: SVG that reads on white and
on black. The rows stand side by side at equal distances, the numbers on a logarithmic scale."""

import math
from html import escape

from result_table import NOTHING, TableError

LEFT, PLOT, RIGHT = 64, 440, 220
TOP, HEIGHT, AXIS = 12, 300, 48
# Of each line: on white, on black, dashes.
LINES = [
    ("#2f6fb5", "#6aa5e8", ""),
    ("#b35c00", "#e09a52", ""),
    ("#2f6fb5", "#6aa5e8", "7 4"),
    ("#b35c00", "#e09a52", "7 4"),
    ("#2f7d4a", "#63b37f", ""),
    ("#7a4fb0", "#b794e6", ""),
]


def _style():
    light = [f".l{i}{{stroke:{line[0]};stroke-dasharray:{line[2] or 'none'}}}"
             for i, line in enumerate(LINES)]
    dark = [f".l{i}{{stroke:{line[1]}}}" for i, line in enumerate(LINES)]
    return (
        "<style>text{fill:#24292f}.small{font-size:12px;fill:#57606a}.line{stroke:#57606a;"
        "stroke-opacity:.3}.of{fill:none;stroke-width:2}.equal{fill:none;stroke:#57606a;"
        "stroke-dasharray:2 4}" + "".join(light) + "@media(prefers-color-scheme:dark){"
        "text{fill:#d7dee5}.small{fill:#a9b4bf}.line,.equal{stroke:#a9b4bf}"
        + "".join(dark) + "}</style>"
    )


def cells_of(table):
    """The titles and the rows of a Markdown table, as texts."""
    cut = lambda line: [cell.strip().replace("`", "") for cell in line.strip("| \n").split(" | ")]
    return cut(table[0]), [cut(line) for line in table[2:]]


def _value(text):
    return None if text == NOTHING else float(text.replace(",", ""))


def _ticks(low, high):
    """Round numbers: each power of ten, or where these are few, all multiples of one."""
    steps = range(1, 10) if high < 10 * low else (1,)
    sizes = [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    return [k * size for size in sizes for k in steps if low <= k * size <= high]


def _tick(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def svg(table, title, is_relative):
    """A line for each column of the table but the first one. is_relative: each number as a multiple
    of the first of its column, and a line for what grows as the first column does."""
    titles, rows = cells_of(table)
    if len(rows) < 2 or len(titles) - 1 > len(LINES):
        raise TableError(f"lines are for two rows or more, and at most {len(LINES)} columns")
    columns = [[_value(row[i]) for row in rows] for i in range(1, len(titles))]
    lines = list(zip(titles[1:], columns, (f"of l{i}" for i in range(len(LINES)))))
    if is_relative:
        if any(column[0] is None for column in columns):
            raise TableError("what is relative to the first row has numbers there")
        over = lambda column: [None if v is None else v / column[0] for v in column]
        lines = [(name, over(column), kind) for name, column, kind in lines]
        lines.append((f"as many as {titles[0]}", over([_value(row[0]) for row in rows]), "equal"))
    values = [v for _, column, _ in lines for v in column if v is not None]
    if min(values) <= 0:
        raise TableError("a logarithmic scale has no place for 0")
    low, high = min(values) / 1.1, max(values) * 1.1
    x_of = lambda i: LEFT + 16 + (PLOT - 32) * i / (len(rows) - 1)
    y_of = lambda v: TOP + HEIGHT * math.log(high / v) / math.log(high / low)

    # The scale, and what the rows are.
    bottom, body = TOP + HEIGHT, []
    for tick in _ticks(low, high):
        y = y_of(tick)
        body.append(
            f'<line class="line" x1="{LEFT}" x2="{LEFT + PLOT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="small" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{_tick(tick)}</text>"
        )
    every = math.ceil(len(rows) / 6)
    for i, row in enumerate(rows):
        if i % every == 0:
            body.append(
                f'<text class="small" x="{x_of(i):.1f}" y="{bottom + 18}" text-anchor="middle">'
                f"{escape(row[0])}</text>"
            )
    body.append(
        f'<text class="small" x="{LEFT + PLOT / 2:.1f}" y="{bottom + 38}" text-anchor="middle">'
        f"{escape(titles[0])}</text>"
    )

    for n, (name, column, kind) in enumerate(lines):
        points = [(x_of(i), y_of(v)) for i, v in enumerate(column) if v is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        y = TOP + 14 + 24 * n
        body.append(
            f'<polyline class="{kind}" points="{path}"/>'
            f'<line class="{kind}" x1="{LEFT + PLOT + 16}" x2="{LEFT + PLOT + 44}" '
            f'y1="{y - 4}" y2="{y - 4}"/><text x="{LEFT + PLOT + 52}" y="{y}">{escape(name)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + PLOT + RIGHT} '
        f'{bottom + AXIS}" font-family="sans-serif" font-size="14" role="img" '
        f'aria-label="{escape(title)}">\n{_style()}\n' + "\n".join(body) + "\n</svg>\n"
    )
