"""Calls whose result nobody takes, in a build with checks.

Of the CUDA API: `cudaFree(p);` becomes `(cudaFree(p), ::simt::discarded("cudaFree"));`, which
remembers a failure until the program asks for its last error. Of atomicExch: `atomicExch(p, 0);`
becomes `::simt::overwrite(p, 0);`, which does not read what stood there."""

import re

from .stores import without_head

API = re.compile(r"cuda[A-Z]\w*")
ASKS = {"cudaGetLastError", "cudaPeekAtLastError"}
EXCHANGES = {
    "atomicExch": "overwrite",
    "atomicExch_block": "overwrite_block",
    "atomicExch_system": "overwrite_system",
}


def rewrite_discarded(source):
    tokens = source.tokens
    exchanges = []
    for i, token in enumerate(tokens[:-2]):
        if token.kind != "name" or tokens[i + 1].text != "(" or tokens[i + 1].partner is None:
            continue
        if token.text in EXCHANGES:
            exchanges.append(i)
        elif API.fullmatch(token.text) and token.text not in ASKS and _is_discarded(source, i, i):
            source.insert_before(i, "(")
            source.insert_behind(
                tokens[i + 1].partner, f', ::simt::discarded("{token.text}"))')
    # A program with an atomicExch of its own (for another type, say) keeps all of them.
    if all(_in_function(tokens[i]) for i in exchanges):
        for i in exchanges:
            name = i - 1 if tokens[i - 1].text == "::" and tokens[i - 2].kind != "name" else i
            first = name - 3 if source.words(name - 3, name) == "(void)" else name
            if _is_discarded(source, i, first):
                source.replace(name, i + 1, "::simt::" + EXCHANGES[tokens[i].text])


def _in_function(token):
    return token.scope is not None and token.scope.kind == "function"


def _is_discarded(source, i, first):
    """Is the call of token i, which begins at `first`, a statement or one between commas?"""
    tokens = source.tokens
    closing = tokens[i + 1].partner
    if not _in_function(tokens[i]) or closing + 1 >= len(tokens):
        return False
    return tokens[closing + 1].text in (";", ",") and _begins_a_value(source, first)


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
