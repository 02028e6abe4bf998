"""Loops that may wait for another thread: every `while` loop of device code gives way now and then,
because `while (*flag == 0);` would otherwise keep the CPU core from the very thread that sets the
flag."""


def rewrite_loops(source):
    tokens = source.tokens
    for i, token in enumerate(tokens[:-1]):
        if token.text != "while" or token.kind != "name" or tokens[i + 1].text != "(":
            continue
        if token.scope is None or token.scope.kind != "function" or not token.scope.device:
            continue
        closing = tokens[i + 1].partner
        if closing is None or _declares(source, i + 2, closing):
            continue
        source.insert_behind(i + 1, "::simt::polling() && (")
        source.insert_before(closing, ")")


def _declares(source, first, last):
    """`while (int x = next())`. A < may be a comparison here, so only real brackets are skipped."""
    i = first
    while i < last:
        token = source.tokens[i]
        if token.kind == "mark":
            if token.text == "=":
                return True
            if token.text in "([{" and token.partner is not None:
                i = token.partner
        i += 1
    return False
