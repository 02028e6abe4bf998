"""Lists files of two students that share what few others have: not a judgement, but a place to
look. Comments and blanks do not count; nor does what the student was given, or what many write."""

import itertools

from . import tokens

LENGTH = 6  # words in a row
FEWEST = 8  # rows that are a student's own, or there is nothing to compare
SHARE = 0.6  # of them that are another's, too


def pairs(texts, given):
    """(student, student, share) for the files of one exercise, the most alike first. texts: by
    student; given: the skeleton."""
    known = _rows(given)
    rows = {student: _rows(text) - known for student, text in texts.items()}
    count = {}
    for row in itertools.chain.from_iterable(rows.values()):
        count[row] = count.get(row, 0) + 1
    most = max(2, len(texts) // 10)
    own = {student: {r for r in mine if count[r] <= most} for student, mine in rows.items()}
    found = []
    for a, b in itertools.combinations(own, 2):
        least = min(len(own[a]), len(own[b]))
        if least >= FEWEST and len(own[a] & own[b]) >= SHARE * least:
            found.append((a, b, len(own[a] & own[b]) / least))
    return sorted(found, key=lambda pair: -pair[2])


def _rows(text):
    words = [t.text for line in tokens.lines(text) for t in line if t.kind != "blank"]
    return {tuple(words[i : i + LENGTH]) for i in range(len(words) - LENGTH + 1)}
