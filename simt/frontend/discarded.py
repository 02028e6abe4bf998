"""Calls of the CUDA API whose result nobody takes: `cudaFree(p);` becomes
`(cudaFree(p), ::simt::discarded("cudaFree"));`, which remembers a failure until the program asks
for its last error. Only in a build with checks."""

import re

from .stores import without_head

API = re.compile(r"cuda[A-Z]\w*")
ASKS = {"cudaGetLastError", "cudaPeekAtLastError"}


def rewrite_discarded(source):
    tokens = source.tokens
    for i, token in enumerate(tokens[:-2]):
        if token.kind != "name" or tokens[i + 1].text != "(" or token.text in ASKS:
            continue
        if not API.fullmatch(token.text) or tokens[i + 1].partner is None:
            continue
        if token.scope is None or token.scope.kind != "function":
            continue
        closing = tokens[i + 1].partner
        if closing + 1 >= len(tokens) or tokens[closing + 1].text not in (";", ","):
            continue
        if _begins_a_value(source, i):
            source.insert_before(i, "(")
            source.insert_behind(closing, f', ::simt::discarded("{token.text}"))')


def _begins_a_value(source, i):
    """Is the call a statement, or one of several with commas between?"""
    tokens = source.tokens
    start = source.statement_start(i)
    if start > 0 and tokens[start - 1].text in ("(", "["):
        return False
    first = without_head(source, start, i)
    if tokens[i - 1].text in ("return", "throw", "co_return"):
        return False
    if first == i:
        return True
    if tokens[i - 1].text != "," or tokens[first - 1].text in ("return", "throw"):
        return False
    # `f(a), g(b);`, but not `T x = f(a), y;`
    return all(tokens[a].kind == "name" and tokens[a + 1].text == "("
               for a, b in source.split(first, i - 1) if a + 1 < b)
