#!/usr/bin/env python3
"""Makes slides and handouts of the lessons: `make slides`.

For each page that has rungs, `04_matmul.html`, `04_matmul_tensor_cores.html`: slides, one HTML file
that holds its figures, to be shown or printed by a browser (a slide a page). They are taken from
the page: its question and predictions, the chapter in one file function by function, each figure,
each rung with its code if that is short and its line of proof, the answers. For each chapter
`04_matmul_handout.html`: what it is to teach, the predictions, the chapter in one file as a whole,
and the exercises. Nothing in them is typed by hand: change the lesson, and make them again.
"""

import base64
import html
import re
from pathlib import Path

import cli

MOST_LINES = 26  # of code on a slide; longer code is named, and stays in the lesson
STYLE = """
@page { size: 320mm 180mm; margin: 0 }
body { margin: 0; font: 21px/1.45 sans-serif; color: #111; background: #fff }
section { box-sizing: border-box; width: 320mm; height: 180mm; padding: 11mm 16mm;
  overflow: hidden; page-break-after: always; border-bottom: 1px solid #ccc; position: relative }
h1 { font-size: 44px; margin: 30mm 0 8mm }
h2 { font-size: 30px; margin: 0 0 5mm; color: #246 }
pre { font: 15px/1.3 monospace; background: #f4f6f8; padding: 4mm; white-space: pre-wrap }
code { font-family: monospace; font-size: 90% }
img { width: 100%; max-height: 122mm }
footer { position: absolute; bottom: 5mm; right: 16mm; font-size: 13px; color: #666 }
.proof { font-size: 24px; color: #246 }
"""
PAPER = """
@page { size: A4; margin: 15mm }
body { font: 15px/1.4 sans-serif; max-width: 180mm; margin: auto }
pre { font: 11px/1.3 monospace; background: #f4f6f8; padding: 4mm; white-space: pre-wrap }
table { border-collapse: collapse }
td, th { border: 1px solid #ccc; padding: 1mm 3mm; text-align: left }
"""
TEX = {
    r"\times": "×",
    r"\cdot": "·",
    r"\le": "≤",
    r"\approx": "≈",
    r"\varphi": "φ",
    r"\pi": "π",
}


def inline(text):
    """Markdown within a line as HTML: code, bold, italics; links are their text."""
    text = re.sub(r"<!--.*?-->", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`)", text)
    for i, part in enumerate(parts):
        if part.startswith("`") and len(part) > 1:
            parts[i] = f"<code>{html.escape(part[1:-1])}</code>"
            continue
        part = html.escape(part, quote=False)
        for word, sign in TEX.items():
            part = part.replace(word, sign)
        part = re.sub(r"\$([^$]*)\$", lambda m: _math(m.group(1)), part)
        part = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", part)
        parts[i] = re.sub(r"(?<!\*)\*([^*\s][^*]*)\*", r"<i>\1</i>", part)
    return "".join(parts)


def _math(tex):
    tex = re.sub(r"\^\{([^}]*)\}|\^(\w)", lambda m: f"<sup>{m.group(1) or m.group(2)}</sup>", tex)
    tex = re.sub(r"_\{([^}]*)\}|_(\w)", lambda m: f"<sub>{m.group(1) or m.group(2)}</sub>", tex)
    return f"<i>{tex}</i>"


class Section:
    """What stands under a heading: [(kind, text)], of paragraphs, items, code, figures, proofs."""

    def __init__(self, title):
        self.title = title
        self.blocks = []

    def of(self, *kinds):
        return [text for kind, text in self.blocks if kind in kinds]


def sections(text):
    """A page's parts, in order; tables and what is between marks of the book are left out."""
    found, fence, code, paragraph = [Section("")], "", [], []

    def end_paragraph():
        if paragraph:
            words = " ".join(line.strip() for line in paragraph)
            kind = "item" if re.match(r"([-*]|\d+\.) ", words) else "text"
            found[-1].blocks.append((kind, re.sub(r"^([-*]|\d+\.) ", "", words)))
            paragraph.clear()

    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,})(\w*)", line)
        if fence:
            if mark and mark.group(1) == fence:
                found[-1].blocks.append(("code", "\n".join(code)))
                fence, code = "", []
            else:
                code.append(line)
            continue
        figure = re.match(r"!\[(.*)\]\((.*)\)", line)
        begins = re.match(r"\s*([-*]|\d+\.) |>|\||<!--(?!=)|#|!\[|```", line) or not line.strip()
        if begins:
            end_paragraph()
        if mark:
            fence = mark.group(1)
        elif re.match(r"#{1,4} ", line):
            found.append(Section(line.lstrip("# ")))
        elif figure:
            found[-1].blocks.append(("figure", f"{figure.group(2)}\n{figure.group(1)}"))
        elif line.startswith("> **"):
            found[-1].blocks.append(("proof", line[2:]))
        elif line.strip() and not re.match(r">|\||<!--(?!=)", line):
            paragraph.append(line)
    end_paragraph()
    return found


def picture(folder, text):
    """A figure as part of the page, so that one file holds all."""
    name, caption = text.split("\n")
    kind = "svg+xml" if name.endswith(".svg") else Path(name).suffix[1:]
    data = base64.b64encode((folder / name).read_bytes()).decode()
    alt = html.escape(caption)
    return f'<img alt="{alt}" src="data:image/{kind};base64,{data}"><p>{inline(caption)}</p>'


def listed(words):
    return "<ul>" + "".join(f"<li>{inline(word)}</li>" for word in words) + "</ul>" if words else ""


def first_sentences(texts, most=260):
    """As much of the first paragraph as a slide has room for, whole sentences."""
    said = ""
    for sentence in re.split(r"(?<=[.?]) ", texts[0]) if texts else ():
        if said and len(said) + len(sentence) > most:
            break
        said += sentence + " "
    return f"<p>{inline(said)}</p>" if said else ""


def slides(page):
    """[(title, HTML)] of one page of a lesson."""
    parts = sections(cli.read_text(page))
    title = next(part.title for part in parts if part.title)
    question = next((t for part in parts for t in part.of("text") if "**The question.**" in t), "")
    question = question.replace("**The question.** ", "")
    made = [("", f"<h1>{inline(title)}</h1><p>{inline(question)}</p>")]
    for part in parts:
        codes, proofs = part.of("code"), part.of("proof")
        if part.title in ("Predict", "Answers"):
            words = part.of("item")
            made += [(part.title, listed(words[i : i + 3])) for i in range(0, len(words), 3)]
        elif part.title == "The chapter in one file":
            said = ""
            for kind, text in part.blocks:
                if kind == "text":
                    said = text
                elif kind == "code" and "(" in text and len(text.splitlines()) <= MOST_LINES:
                    made.append((part.title, f"<p>{inline(said)}</p>{shown(text)}"))
        elif proofs:
            short = [code for code in codes if len(code.splitlines()) <= MOST_LINES][:1]
            proof = "".join(f'<p class="proof">{inline(line)}</p>' for line in proofs)
            code = "".join(map(shown, short))
            made.append((part.title, first_sentences(part.of("text")) + code + proof))
        made += [(part.title, picture(page.parent, figure)) for figure in part.of("figure")]
    return title, made


def shown(code):
    return f"<pre>{html.escape(code, quote=False)}</pre>"


def document(title, body, style=STYLE):
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{style}</style>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def deck(page):
    title, made = slides(page)
    pages = [
        f"<section>{f'<h2>{inline(head)}</h2>' if head else ''}{body}"
        f"<footer>{html.escape(title)}, {number} of {len(made)}; MIT licence</footer></section>"
        for number, (head, body) in enumerate(made, 1)
    ]
    return document(title, "".join(pages))


def rows_of(text, width):
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if len(row) == width]


def handout(root, chapter):
    """Goals, predictions, the program, exercises: what a student has beside a slide."""
    parts = sections(cli.read_text(chapter / "README.md"))
    title = next(part.title for part in parts if part.title)
    plan = cli.read_text(root / "exercises.md")
    goals = [row[1] for row in rows_of(plan, 2) if row[0] == chapter.name[:2]]
    questions = next((part.of("item") for part in parts if part.title == "Predict"), [])
    program = chapter / f"{chapter.name[3:]}.cu"
    tasks = [row for row in rows_of(plan, 6) if row[0].startswith(f"[`{chapter.name[:2]}/")]
    lines = ""
    for row in tasks:
        cells = (inline(row[0]), inline(row[1]), row[3], row[4])
        lines += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    head = "<tr><th>exercise</th><th>task</th><th>minutes</th><th>points</th></tr>"
    body = (
        f"<h1>{inline(title)}</h1><h2>After it you can</h2>{listed('; '.join(goals).split('; '))}"
        f"<h2>Predict</h2>{listed(questions)}<h2>{program.name}</h2>{shown(cli.read_text(program))}"
        f"<h2>Exercises</h2><table>{head}{lines}</table><p>MIT licence.</p>"
    )
    return document(title, body, PAPER)


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    args = parser.parse_args()
    root = args.root.resolve()
    count = 0
    for chapter in sorted(root.glob(cli.CHAPTERS)):
        for page in sorted(chapter.glob("*.md")):
            if "beyond" in page.stem or "proof " not in cli.read_text(page):
                continue
            name = chapter.name + ("" if page.stem == "README" else f"_{page.stem}")
            cli.write_text(args.out / f"{name}.html", deck(page))
            count += 1
        cli.write_text(args.out / f"{chapter.name}_handout.html", handout(root, chapter))
        count += 1
    print(f"{count} files in {args.out}: open them in a browser; to print, a slide a page")


if __name__ == "__main__":
    cli.run(main)
