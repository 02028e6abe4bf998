"""results/sanitizer/<device>.json: what the checkers said about every rung, and the table of it.

A report holds, for each chapter, when and of which commit it was made, at which sizes, and for each
rung (problem/name) what each tool said:
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
LAYOUT = {"chapters": {"rungs": {}}}
CLEAN, ON_PURPOSE, NOT_RUN = "clean", "flagged on purpose", "not run"
FLAGGED, MISSED, FAILED = "flagged", "not flagged", "failed"
VERDICTS = (CLEAN, ON_PURPOSE, NOT_RUN, FLAGGED, MISSED, FAILED)


def kind_of(verdict):
    """'flagged: a race' -> 'flagged'"""
    return verdict.partition(": ")[0]


def is_not_run(verdicts):
    """Whether no tool has seen a rung."""
    return all(kind_of(verdict) == NOT_RUN for verdict in verdicts.values())


def is_good(verdict):
    return kind_of(verdict) in (CLEAN, ON_PURPOSE, NOT_RUN)


def _check(report):
    """Raises ResultsError, or KeyError and the like, for what is no report."""
    words = [report["device"], *report["tools"]]
    for chapter in report["chapters"].values():
        words += [chapter[key] for key in ("arguments", "commit", "date")]
        for said in chapter["rungs"].values():
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


def merge(path, device, tools, chapter, entry):
    """Puts the entry of one chapter into the report; those of the others stay."""
    with cli.alone_in(path.parent):
        _merge(path, device, tools, chapter, entry)


def _merge(path, device, tools, chapter, entry):
    report = {"schema": 1, "device": device, "tools": tools, "chapters": {}}
    if path.exists():
        old = load(path)
        if old["tools"] == tools:
            report["chapters"] = old["chapters"]
    report["chapters"][chapter] = entry
    report["chapters"] = dict(sorted(report["chapters"].items()))
    cli.write_text(path, json_lines.text(report, LAYOUT))


def paths(root):
    return sorted((root / FOLDER).glob("*.json"))


def _cell(verdicts):
    """'clean', or how many of which kind: '11 clean, 2 not run'."""
    kinds = [kind_of(verdict) for verdict in verdicts]
    counts = [f"{kinds.count(kind)} {kind}" for kind in VERDICTS if kind in kinds]
    return ", ".join(counts) if len(counts) > 1 else kinds[0]


def _by_problem(rungs):
    """{problem: [what the tools said of each of its rungs]}"""
    found = {}
    for rung, said in rungs.items():
        found.setdefault(rung.partition("/")[0], []).append(said)
    return found


def _details(rungs):
    """(rung, verdict) for all that is not clean: what was found, or why it was not run."""
    for rung, said in rungs.items():
        for verdict in dict.fromkeys(said.values()):
            tools = [tool for tool, v in said.items() if v == verdict]
            if verdict != CLEAN:
                yield rung, verdict + (f" ({', '.join(tools)})" if len(tools) < len(said) else "")


def summary(rungs):
    """Lines for a terminal: one for each problem, and one for each rung that is not clean."""
    for problem, said in _by_problem(rungs).items():
        cells = [f"{tool}: {_cell([v[tool] for v in said])}" for tool in said[0]]
        yield f"{problem:<24} {'; '.join(cells)}"
    for rung, verdict in _details(rungs):
        yield f"{rung}: {verdict}"


def table(report):
    """The same in Markdown, of all chapters."""
    tools, rows, details = report["tools"], [], []
    for chapter, entry in report["chapters"].items():
        commit = short_commit(entry["commit"])
        stamp = [f"`{code_cell(entry['arguments'])}`", commit, entry["date"][:10]]
        for problem, said in _by_problem(entry["rungs"]).items():
            name = text_cell(f"{chapter[:2]} {problem.replace('_', ' ')}")
            cells = [_cell([verdicts[tool] for verdicts in said]) for tool in tools]
            rows.append([name, str(len(said)), *cells, *stamp])
        for rung, verdict in _details(entry["rungs"]):
            details.append(f"- {chapter[:2]} `{code_cell(rung)}`: {text_cell(verdict)}")
    titles = ["Problem", "Rungs", *tools, "Sizes", "Commit", "Date"]
    lines = aligned(titles, rows, [title == "Rungs" for title in titles])
    return [*lines, "", f"*{text_cell(report['device'])}*", *([""] if details else []), *details]
