"""Functions of the C library in device code. There they are the device's own: memory comes from the
device's heap, and what memcpy and its kin read and write is told to the checks.

    malloc(n), free(p), new T         ::simt::device_malloc(n), ::simt::device_free(p),
                                      new (::simt::device_heap()) T
    memcpy(a, b, n), memset(...)      ::simt::watched_memcpy(a, b, n), ..., in a build with checks;
                                      where n is the size of a register, g++'s own, which is an
                                      ordinary load and store
"""

HEAP = {"malloc": "::simt::device_malloc", "free": "::simt::device_free"}
COPIES = {"memcpy": 3, "memmove": 3, "memset": 3}


def rewrite_device_calls(source, watched):
    own = _own_functions(source)
    own_new = any(token.text == "operator" and source.tokens[i + 1].text == "new"
                  for i, token in enumerate(source.tokens[:-1]))
    for i, token in enumerate(source.tokens[:-2]):
        if token.kind != "name" or token.scope is None:
            continue
        if token.text == "new" and token.scope.kind == "class" and not own_new:
            _new(source, i)  # what a member starts with, wherever its object is made
        if not token.scope.device:
            continue
        if token.scope.kind != "function":
            continue
        name = token.text.removeprefix("__builtin_")
        if token.text == "new":
            _new(source, i)
        elif source.tokens[i + 1].text != "(" or _is_own(token.scope, own.get(token.text, ())):
            continue
        elif name in HEAP:
            first = _qualified(source, i)
            if first is not None:
                source.replace(first, i + 1, HEAP[name])
        elif watched and name in COPIES:
            first = _qualified(source, i)
            if first is not None:
                _copy(source, first, i, name)


def _own_functions(source):
    """The names that the program itself gives to functions, and the scopes in which it does: there
    they are left alone."""
    own, tokens = {}, source.tokens
    for i, token in enumerate(tokens[:-1]):
        if token.text not in HEAP and token.text not in COPIES or tokens[i + 1].text != "(":
            continue
        outside = token.scope is None or token.scope.kind != "function"
        before = tokens[i - 1]
        if outside and (before.kind == "name" or before.text in ("*", "&", ">")):
            own.setdefault(token.text, set()).add(token.scope)
    return own


def _is_own(scope, scopes):
    while scope is not None:
        if scope in scopes:
            return True
        scope = scope.parent
    return None in scopes


def _qualified(source, i):
    """Index of the first token of `std::memcpy` or `::memcpy`; None: of something else."""
    tokens = source.tokens
    before = tokens[i - 1].text
    if before in (".", "->", "~"):
        return None
    if before != "::":
        # `int free(3)`, `Type* memcpy(...)` declare something.
        declared = tokens[i - 1].kind == "name" and before not in ("return", "else", "do", "delete")
        return None if declared else i
    if tokens[i - 2].text == "std":
        return i - 4 if tokens[i - 3].text == "::" and tokens[i - 4].text == "cuda" else (
            i - 3 if tokens[i - 3].text == "::" else i - 2)
    if tokens[i - 2].kind == "name" and tokens[i - 2].text not in ("return", "else", "do"):
        return None
    return i - 1


def _new(source, i):
    """A new object without a place of its own."""
    tokens = source.tokens
    if tokens[i - 1].text == "operator":
        return
    heap = "(::simt::device_heap())"
    if tokens[i + 1].text != "(":
        source.insert_behind(i, " " + heap)
        return
    closing = tokens[i + 1].partner
    if closing is not None and source.words(i + 2, closing) in ("std::nothrow", "::std::nothrow"):
        source.replace(i + 1, closing + 1, heap)


def _copy(source, first, i, name):
    """Where the size is that of a register, the copy stays as it is: the second of two forms, of
    which one is compiled."""
    tokens = source.tokens
    closing = tokens[i + 1].partner
    if closing is None:
        return
    parts = source.split(i + 2, closing)
    if len(parts) == COPIES[name] and name != "memset" and \
            not any(t.text in "[{" for t in tokens[i + 2:closing] if t.kind == "mark" and
                    t.text == "{"):
        size = source.words(*parts[2])
        if not any(t.kind == "name" and t.text.removeprefix("__builtin_") in COPIES
                   for t in tokens[i + 2:closing]):
            arguments = source.words(i + 2, closing)
            source.insert_before(
                first, f"(__builtin_constant_p({size}) && ::simt::is_one_access({size})"
                f" ? __builtin_{name}({arguments}) : ")
            source.insert_behind(closing, ")")
    source.replace(first, i + 1, f"::simt::watched_{name}")
