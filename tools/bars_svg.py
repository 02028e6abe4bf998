"""Draws a ladder as bars, the share of the peak that each row of a run reaches: SVG that reads on
white and on black."""

from html import escape

from result_table import TableError, significant

LEFT, PLOT, RIGHT = 170, 430, 120
ROW, AXIS = 24, 34
STYLE = (
    "<style>text{fill:#24292f}.small{font-size:12px;fill:#57606a}.line{stroke:#57606a;"
    "stroke-opacity:.3}.rung{fill:#2f6fb5}.peer{fill:#8c959f}"
    "@media(prefers-color-scheme:dark){text{fill:#d7dee5}.small{fill:#a9b4bf}"
    ".line{stroke:#a9b4bf}.rung{fill:#6aa5e8}.peer{fill:#7d8790}}</style>"
)


def chosen(run, options):
    """The timed rows of a problem that `rungs` names, or all on the device; a library's among
    them."""
    rows = [row for row in run["rows"] if row["problem"] == options["problem"]]
    by_name = {row["name"]: row for row in rows if row.get("percent_of_roof") is not None}
    on_device = [n for n, row in by_name.items() if row.get("place") == "device"]
    names = options["rungs"].split(",") if "rungs" in options else on_device
    missing = [name for name in names if name not in by_name]
    if missing or not names:
        raise TableError(f"no time of '{missing[0] if missing else options['problem']}'")
    return [by_name[name] for name in names]


def svg(rows, title):
    """One bar a row, from 0 to 100 % of the peak."""
    bottom = len(rows) * ROW + 6
    body = []
    for percent in range(0, 101, 20):
        x = LEFT + PLOT * percent / 100
        body.append(f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom}"/>')
        words = f"{percent} %" + (" of the peak" if percent == 100 else "")
        body.append(
            f'<text class="small" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{words}</text>'
        )
    for i, row in enumerate(rows):
        y, width = 6 + i * ROW, PLOT * min(row["percent_of_roof"], 100) / 100
        kind = "rung" if row.get("kind") == "rung" else "peer"
        body.append(
            f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(row["name"])}</text>'
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{ROW - 6}"/>'
            f'<text class="small" x="{LEFT + width + 6:.1f}" y="{y + 14}">'
            f"{significant(row['median_ms'])} ms</text>"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + PLOT + RIGHT} '
        f'{bottom + AXIS}" font-family="sans-serif" font-size="14" role="img" '
        f'aria-label="{escape(title)}">\n{STYLE}\n' + "\n".join(body) + "\n</svg>\n"
    )
