"""results/sanitizer/<device>.json: what the checkers said about every rung, and the table of it.

A report holds, for each problem (chapter/problem), when and of which commit it was made, at which
sizes, and for each rung what each tool said:
    clean
    flagged on purpose: FINDING     a rung that races to show what a race is
    not run: REASON                 this machine or these sizes have no use for it
and, of what must not be,
    flagged: FINDING
    not flagged                     the race on purpose went unnoticed: the tool is blind
    failed: REASON                  the program ended in an error of its own
"""

import cli
import json_lines
import results
from result_table import aligned, code_cell, short_commit, text_cell

FOLDER = "results/sanitizer"
LAYOUT = {"problems": {"rungs": {}}}
CLEAN, ON_PURPOSE, NOT_RUN = "clean", "flagged on purpose", "not run"
FLAGGED, MISSED, FAILED = "flagged", "not flagged", "failed"
VERDICTS = (CLEAN, ON_PURPOSE, NOT_RUN, FLAGGED, MISSED, FAILED)


def kind_of(verdict):
    """'flagged: a race' -> 'flagged'"""
    return verdict.partition(": ")[0]


def chapter_of(name):
    """'04_matmul/sgemm' -> '04_matmul'"""
    return name.partition("/")[0]


def is_good(verdict):
    return kind_of(verdict) in (CLEAN, ON_PURPOSE, NOT_RUN)


def _check(report):
    """Raises ResultsError, or KeyError and the like, for what is no report."""
    words = [report["device"], *report["tools"]]
    for problem in report["problems"].values():
        words += [problem[key] for key in ("arguments", "commit", "date")]
        for said in problem["rungs"].values():
            if list(said) != report["tools"]:
                raise results.ResultsError("a rung was not checked by every tool")
            if unknown := [v for v in said.values() if kind_of(v) not in VERDICTS]:
                raise results.ResultsError(f"'{unknown[0]}' is no verdict")
    if not all(isinstance(word, str) for word in words):
        raise results.ResultsError("a text is missing")


def load(path):
    """A report; ResultsError, or OSError if there is none."""
    report = results.parse(cli.read_text(path))
    try:
        _check(report)
    except (KeyError, TypeError, AttributeError) as error:
        raise results.ResultsError(f"no report of a sanitizer ({error!r})") from error
    return report


def merge(path, device, tools, chapter, listed, entries):
    """Puts the entries of these problems of a chapter into the report. The others of it stay if
    they are listed, as the program lists them, and so do those of other chapters."""
    with cli.alone_in(path.parent):
        _merge(path, device, tools, chapter, listed, entries)


def _merge(path, device, tools, chapter, listed, entries):
    old = load(path) if path.exists() else {"tools": tools, "problems": {}}
    problems = old["problems"] if old["tools"] == tools else {}
    kept = {name: of for name, of in problems.items() if chapter_of(name) != chapter}
    names = [f"{chapter}/{problem}" for problem in listed]
    having = {**problems, **{f"{chapter}/{problem}": of for problem, of in entries.items()}}
    kept.update({name: having[name] for name in names if name in having})
    report = {"schema": 2, "device": device, "tools": tools}
    report["problems"] = dict(sorted(kept.items(), key=lambda of: chapter_of(of[0])))
    cli.write_text(path, json_lines.text(report, LAYOUT))


def paths(root):
    return sorted((root / FOLDER).glob("*.json"))


def _cell(verdicts):
    """'clean', or how many of which kind: '11 clean, 2 not run'."""
    kinds = [kind_of(verdict) for verdict in verdicts]
    counts = [f"{kinds.count(kind)} {kind}" for kind in VERDICTS if kind in kinds]
    return ", ".join(counts) if len(counts) > 1 else kinds[0]


def _details(problem, rungs):
    """(rung, verdict) for all that is not clean: what was found, or why it was not run."""
    for rung, said in rungs.items():
        for verdict in dict.fromkeys(said.values()):
            tools = [tool for tool, v in said.items() if v == verdict]
            if verdict != CLEAN:
                which = f" ({', '.join(tools)})" if len(tools) < len(said) else ""
                yield f"{problem}/{rung}", verdict + which


def summary(problem, rungs):
    """Lines for a terminal: one for the problem, and one for each rung that is not clean."""
    tools = next(iter(rungs.values()))
    cells = [f"{tool}: {_cell([said[tool] for said in rungs.values()])}" for tool in tools]
    yield f"{problem:<24} {'; '.join(cells)}"
    for rung, verdict in _details(problem, rungs):
        yield f"{rung}: {verdict}"


def table(report):
    """The same in Markdown, of all chapters."""
    tools, rows, details = report["tools"], [], []
    for name, entry in report["problems"].items():
        (chapter, _, problem), rungs = name.partition("/"), entry["rungs"]
        title = text_cell(f"{chapter[:2]} {problem.replace('_', ' ')}")
        cells = [_cell([verdicts[tool] for verdicts in rungs.values()]) for tool in tools]
        stamp = [short_commit(entry["commit"]), entry["date"][:10]]
        rows.append([title, str(len(rungs)), *cells, f"`{code_cell(entry['arguments'])}`", *stamp])
        for rung, verdict in _details(problem, rungs):
            details.append(f"- {chapter[:2]} `{code_cell(rung)}`: {text_cell(verdict)}")
    titles = ["Problem", "Rungs", *tools, "Sizes", "Commit", "Date"]
    lines = aligned(titles, rows, [title == "Rungs" for title in titles])
    return [*lines, "", f"*{text_cell(report['device'])}*", *([""] if details else []), *details]
