"""Launches: `k<<<grid, block>>>(a, b)` becomes `(::simt::configure(grid, block), k(a, b))`."""

from .source import Refused

NOT_A_CALLEE = {
    "if", "while", "for", "switch", "return", "else", "do", "case", "throw", "goto", "co_return",
}


def rewrite_launches(source):
    for i, token in enumerate(source.tokens):
        if token.kind == "launch":
            _rewrite(source, i)


def _rewrite(source, i):
    tokens = source.tokens
    first = _callee(source, i)
    end = _closing(source, i)
    call = end + 3
    if call >= len(tokens) or tokens[call].text != "(" or tokens[call].partner is None:
        raise Refused(source.place(i) + ": >>> is not followed by the arguments of the kernel")
    parts = source.split(i + 1, end)
    if not 2 <= len(parts) <= 4:
        what = "<<<grid, block, bytes of shared memory, stream>>>"
        raise Refused(f"{source.place(i)}: error: {what} takes 2 to 4 values, not {len(parts)}")
    source.insert_before(first, f"(::simt::configure({source.words(i + 1, end)}), ")
    source.replace(i, call, "")
    source.insert_behind(tokens[call].partner, ")")


def _closing(source, i):
    """Index of the first of the three > that end the configuration."""
    tokens, j = source.tokens, i + 1
    while j + 2 < len(tokens):
        token = tokens[j]
        if token.kind == "mark":
            if token.text in "([{" and token.partner is not None:
                j = token.partner
            elif token.text == ">" and tokens[j + 1].text == ">" and tokens[j + 2].text == ">":
                return j
            elif token.text in ";}":
                break
        j += 1
    raise Refused(source.place(i) + ": <<< without >>>")


def _callee(source, i):
    """Index of the first token of the expression that names the kernel in front of <<<."""
    tokens = source.tokens
    j = i
    while True:
        if tokens[j - 1].text == ">":
            j = source.before_angle(j - 1)
        grouped = False
        while tokens[j - 1].text in (")", "]") and tokens[j - 1].partner is not None:
            if grouped and tokens[tokens[j - 1].partner - 1].text in NOT_A_CALLEE:
                return j  # `if (x) (table[0])<<<...>>>`
            j = tokens[j - 1].partner
            grouped = True
        if tokens[j - 1].kind == "name" and tokens[j - 1].text not in NOT_A_CALLEE:
            j -= 1
        elif not grouped:
            raise Refused(source.place(i) + ": no kernel in front of <<<")
        before = tokens[j - 1].text
        if before == "template":
            j -= 1
            before = tokens[j - 1].text
        if before == "::":
            j -= 1
            if tokens[j - 1].text != ">" and (tokens[j - 1].kind != "name" or
                                              tokens[j - 1].text in NOT_A_CALLEE):
                return j  # ::k
        elif before in (".", "->"):
            j -= 1
        else:
            return j
