"""Tables whose cells are numbers of several runs or of points of a sweep, out of one mark:

    <!-- grid us
    query heads | in a group | `group` | over it <- tensor x group
    8 | 1 <- run=decode_group_1
    64 | 8 <- run=decode_group_8
    -->

The first line says what is common to all cells, the next one the titles, then each line is a row.
A row begins with what is typed; every title behind that has a number a row. What a number is
(result_text.py) is said by its title, its row and the first line together: the words behind `<-`,
or the title itself. `run+=_causal` goes on where the other one has begun: run=large and that are
run=large_causal. `{1}` in the words of a title stands for the first word of the row, as in

    idea | without, ms <- {2} ms | factor <- {1} x {2}
    wgmma <- wgmma warp_specialized

With the word `gaps` in the first line a number that the results do not hold is a dash.
"""

import re

from result_table import NOTHING, TableError, aligned


def _cut(line):
    """What is typed in a line or a title, and the words behind <-, if any."""
    typed, arrow, words = line.partition("<-")
    return typed.strip(), words.split() if arrow else None


def _parts(typed):
    return [part.strip() for part in typed.split(" | ")]


def _options_and_rest(*words_of):
    """The key=value words of all, and the other ones in their order."""
    options, added, rest = {}, [], []
    for word in (word for words in words_of for word in words):
        key, equals, value = word.partition("=")
        if key.endswith("+"):
            added.append((key[:-1], value))
        elif equals:
            options[key] = value
        else:
            rest.append(word)
    for key, value in added:
        options[key] = options.get(key, "") + value
    return options, rest


def _filled(words, of_row):
    """The words of a title and its row; those of the row where {1} asks for them, if one does."""
    plain = [word for word in of_row if "=" not in word]
    asked = {number for word in words for number in re.findall(r"\{(\d)\}", word)}
    if not asked:
        return [*words, *of_row]
    if max(map(int, asked)) > len(plain):
        raise TableError(f"a row of the grid has {len(plain)} words, a title asks for more")
    put = lambda match: plain[int(match.group(1)) - 1]
    options = [word for word in of_row if "=" in word]
    return [*(re.sub(r"\{(\d)\}", put, word) for word in words), *options]


def _cell(number, of_column, of_row, common, has_gaps):
    words = _filled(of_column, of_row)
    try:
        return number(*_options_and_rest(words, common))
    except TableError:
        if not has_gaps:
            raise
        return NOTHING


def grid(lines, number):
    """Lines of the table that the lines of a mark ask for. number(options, words): the text of a
    cell, or TableError."""
    common, *lines = lines
    lines = [line.strip() for line in lines if line.strip()]
    if len(lines) < 2:
        raise TableError("a grid has a line of titles, and one for each row")
    words = common.split()
    has_gaps, words = "gaps" in words, [word for word in words if word != "gaps"]
    titles, rows = _parts(lines[0]), [_cut(line) for line in lines[1:]]
    typed = [_parts(labels) for labels, _ in rows]
    first = len(typed[0])
    if first >= len(titles) or any(len(labels) != first for labels in typed):
        raise TableError("each row of a grid types the same columns, and leaves one at least")
    columns = [_cut(title) for title in titles[first:]]
    columns = [(title, [title.strip("`")] if said is None else said) for title, said in columns]
    numbers = [
        [_cell(number, of_column, of_row or [], words, has_gaps) for _, of_column in columns]
        for _, of_row in rows
    ]
    for line in [*numbers, *zip(*numbers)]:
        if set(line) == {NOTHING}:
            raise TableError("the results hold nothing of a whole row or column of the grid")
    is_number = lambda text: text.replace(",", "").replace(".", "").isdigit()
    numeric = [all(is_number(labels[i]) for labels in typed) for i in range(first)]
    cells = [labels + texts for labels, texts in zip(typed, numbers)]
    shown = [*titles[:first], *(title for title, _ in columns)]
    return aligned(shown, cells, numeric + [True] * len(columns))
