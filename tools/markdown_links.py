"""Finds dead relative links and #anchors in Markdown files, and formulas that code hosts spoil."""

import functools
import re
from urllib.parse import unquote

import cli

_FENCE = re.compile(r"^\s*(?:>\s*)*(`{3,}|~{3,})")
_LINK = re.compile(r"!?(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
_DEFINITION = re.compile(r"^\s{0,3}\[[^\]^][^\]]*\]:\s*<?(\S+?)>?(?:\s|$)")
_HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=[\"']([^\"'\s]+)", re.I)
_HTML_ID = re.compile(r"<\w+[^>]*\b(?:id|name)=[\"']([^\"']+)[\"']", re.I)
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.I)


def _prose(text):
    """(line number, line) outside fences, with inline code blanked."""
    closing = None
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.match(line)
        if closing is not None:
            if fence and fence.group(1).startswith(closing) and not line.strip("`~> \t"):
                closing = None
        elif fence:
            closing = fence.group(1)
        else:
            yield number, line


def _without_code(line):
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda m: " " * len(m.group(0)), line)


_FORMULA = re.compile(r"\$[^\s$](?:[^$]*[^\s$])?\$(?![\w$])")
_LINK_TEXT = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(")
_EATEN = re.compile(r"\\[^\w\s]")  # Markdown drops a backslash before punctuation


def spoiled_formulas(text):
    """Yields (line, formula, reason) for every formula in running text that a code host, whose
    Markdown comes before its mathematics, would not show as it is meant."""
    for number, line in _prose(text):
        line = _without_code(line)
        for formula in _FORMULA.findall(line):
            if eaten := _EATEN.search(formula):
                yield number, formula, f"Markdown eats the backslash of {eaten.group()}"
        for link in _LINK_TEXT.findall(line):
            for formula in _FORMULA.findall(link):
                yield number, formula, "a link's text holds no formula"


def _heading_slug(heading):
    """The anchor GitHub gives a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"<[^>]+>|[`*]", "", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", heading))


@functools.lru_cache(maxsize=256)
def anchors(text):
    """Every anchor a link can reach in this Markdown text."""
    found, seen = set(), {}
    previous = ""
    for _, line in _prose(text):
        heading = re.match(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", line)
        title = heading.group(1) if heading else None
        if title is None and re.match(r"^ {0,3}(=+|-+)\s*$", line) and previous.strip():
            title = previous
        if title is not None:
            slug = _heading_slug(title)
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
        found.update(_HTML_ID.findall(line))
        previous = line
    return found


def _targets(text):
    for number, line in _prose(text):
        line = _without_code(line)
        for pattern in (_LINK, _HTML):
            for match in pattern.finditer(line):
                yield number, match.group(1)
        definition = _DEFINITION.match(line)
        if definition:
            yield number, definition.group(1)


def _why_dead(root, file, target):
    path, _, anchor = target.partition("#")
    place = file
    if path:
        path = unquote(path.partition("?")[0])
        place = root / path.lstrip("/") if path.startswith("/") else file.parent / path
        if not place.exists():
            return "no such file"
    if not anchor:
        return None
    if place.is_dir():
        place = place / "README.md"
    if place.suffix == ".md":
        try:
            known = place.is_file() and anchors(cli.read_text(place))
        except OSError as error:
            return str(error)
        return None if known and unquote(anchor).lower() in known else "no such heading"
    line = re.fullmatch(r"L(\d+)(?:-L(\d+))?", anchor)
    if line and place.is_file():
        last = int(line.group(2) or line.group(1))
        if last > len(place.read_text(encoding="utf-8", errors="replace").splitlines()):
            return "the file has fewer lines"
    return None


def dead_links(root, file):
    """(line, target, reason) of each dead link in `file`; web addresses are not looked at."""
    dead = []
    for number, target in _targets(cli.read_text(file)):
        if not _SCHEME.match(target):
            reason = _why_dead(root, file, target)
            if reason:
                dead.append((number, target, reason))
    return dead
