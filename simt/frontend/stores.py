"""What a function returns as a structure, and where it goes: `a[i] = f(x)` becomes
`a[i] = (::simt::temporary(), f(x))`.

g++ reports no store of a call: what a function that it does not inline returns goes into memory
unseen. The comma (simt/include/simt/temporary.h) puts a structure into a temporary first, from
where it is copied by an ordinary store; of everything else it is C++'s own comma, which changes
nothing. It stands behind the = of an assignment, and around what a member or a new object of
device code starts with. Only a build with checks needs it."""

# What may stand before the first word of an assignment.
BEFORE_A_STATEMENT = {"if", "while", "for", "switch", "else", "do", "return", "constexpr", "catch"}
NO_ASSIGNMENT = {
    "using", "namespace", "typedef", "template", "static_assert", "asm", "goto", "enum",
}
COMPOUND = set("+-*/%&|^")
# A value without one of these is no result of a function.
CALLS = set("([+-*/%&|^<>!~?")


def rewrite_stores(source):
    for i, token in enumerate(source.tokens):
        scope = token.scope
        if token.text == "{" and token.kind == "mark":
            _members(source, i)
        elif token.text == "=" and token.kind == "mark" and scope is not None:
            if scope.kind == "class":
                _default_of_member(source, i)
            elif scope.kind == "function" and scope.device:
                _assignment(source, i)
        elif token.text == "new" and scope is not None and scope.device:
            _new(source, i)


def _wrap(source, first, last):
    """Tokens [first, last) are a value."""
    tokens = source.tokens
    if first >= last or tokens[first].text == "{":
        return
    if tokens[last - 1].text == "." and tokens[last - 2].text == ".":
        return  # an expansion
    if not any(t.text in CALLS for t in tokens[first:last] if t.kind == "mark"):
        return
    if all(t.kind == "name" or t.text in ("&", "::") for t in tokens[first:last]):
        return  # the address of something, which may have overloads
    if all(t.kind == "number" or t.text in "+-~()" for t in tokens[first:last]):
        return  # a constant: 0 may become a pointer, and (comma, 0) may not
    source.insert_before(first, "(::simt::temporary(), ")
    source.insert_behind(last - 1, ")")


def _end_of_value(source, i):
    """Index behind the value that begins at token i."""
    tokens, j = source.tokens, i
    while j < len(tokens):
        token = tokens[j]
        if token.kind == "mark":
            if token.text in ("(", "[", "{") and token.partner is not None:
                j = token.partner
            elif token.text in (";", ",", ")", "]", "}"):
                return j
            elif token.text == "<" and tokens[j - 1].kind == "name":
                behind = source.behind_angle(j, otherwise=j + 1)
                j = max(behind, j + 1) - 1
        j += 1
    return i


def _assignment(source, i):
    tokens = source.tokens
    before = tokens[i - 1]
    if before.text in ("operator", "[", ",") or (
            before.text in COMPOUND and before.end == tokens[i].start):
        return
    first = without_head(source, source.statement_start(i), i)
    if tokens[first].text in NO_ASSIGNMENT or tokens[first].text in ".[" or \
            is_declaration(source, first, i):
        return
    _wrap(source, i + 1, _end_of_value(source, i + 1))


def without_head(source, j, i):
    """Behind `if (...)`, `case 3:`, `else` and their kin, which have no ; of their own."""
    tokens = source.tokens
    while j < i:
        text = tokens[j].text
        if text in BEFORE_A_STATEMENT:
            j += 1
            if j < i and tokens[j].text == "(" and text != "return" and tokens[j].partner < i:
                j = tokens[j].partner + 1
        elif text in ("case", "default"):
            while j < i and tokens[j].text != ":":
                j += 1
            j += 1
        elif tokens[j].kind == "name" and tokens[j + 1].text == ":":
            j += 2
        else:
            break
    return j


def is_declaration(source, first, end):
    """Does the statement begin with a type and a name?"""
    tokens, j = source.tokens, first
    while j < end:
        text = tokens[j].text
        if text in ("auto", "const", "volatile", "static", "typename", "struct", "union", "class",
                    "decltype", "register", "constexpr", "thread_local"):
            return True
        if text == "[" and tokens[j + 1].text == "[":
            j = tokens[j].partner + 1
            continue
        break
    if j >= end or tokens[j].kind != "name":
        if tokens[j].text != "::":
            return False
    while j < end:
        token = tokens[j]
        if token.text == "::":
            j += 1
        elif token.kind == "name":
            j += 1
            if j < end and tokens[j].text == "<":
                j = source.behind_angle(j, otherwise=end)
            if j < end and tokens[j].text != "::":
                break
        else:
            break
    while j < end and tokens[j].text in ("*", "&", "&&", "const", "volatile", "__restrict__",
                                         "__restrict"):
        j += 1
    return j < end and tokens[j].kind == "name"


def _default_of_member(source, i):
    """`float4 v = f();` in a class."""
    tokens = source.tokens
    first = source.statement_start(i)
    if first > 0 and tokens[first - 1].text == "(":
        return  # of a parameter
    words = {t.text for t in tokens[first:i]}
    if words & {"static", "using", "enum", "template", "operator", "friend", "constexpr", "("}:
        return
    end = _end_of_value(source, i + 1)
    if any(t.text == "(" for t in tokens[i + 1:end]):
        _wrap(source, i + 1, end)


def _members(source, brace):
    """`: v(f(x)), w{g(x)}` in front of the body of a constructor, at the body's brace."""
    tokens, j = source.tokens, brace
    items = []
    while j > 0 and tokens[j - 1].text in (")", "}") and tokens[j - 1].partner is not None:
        opening = tokens[j - 1].partner
        name = opening - 1
        if tokens[name].text == ">":
            name = source.before_angle(name) - 1
        if name < 1 or tokens[name].kind != "name":
            return
        items.append((opening, j - 1))
        while tokens[name - 1].text == "::":
            name -= 2
        if tokens[name - 1].text == ":":
            break
        if tokens[name - 1].text != ",":
            return
        j = name - 1
    else:
        return
    # A constructor's parameters stand before the colon, or `noexcept` and the like behind them.
    k = name - 2
    while k > 0 and tokens[k].kind == "name":
        k -= 1
    if tokens[k].text != ")" or tokens[k].partner is None:
        return
    if tokens[tokens[k].partner - 1].text in ("case", "?"):
        return
    for opening, closing in items:
        _wrap_arguments(source, opening, closing)


def _wrap_arguments(source, opening, closing):
    """What one object is made of; what a constructor takes arrives there by itself."""
    parts = source.split(opening + 1, closing)
    if source.tokens[opening].text == "{" or len(parts) == 1:
        for first, last in parts:
            _wrap(source, first, last)


def _new(source, i):
    tokens, j = source.tokens, i + 1
    if tokens[j].text == "(" and tokens[j].partner is not None:
        j = tokens[j].partner + 1
    while j < len(tokens) and (tokens[j].kind == "name" or tokens[j].text in ("::", "<", "*")):
        j = source.behind_angle(j, otherwise=j + 1) if tokens[j].text == "<" else j + 1
    if tokens[j].text in ("(", "{") and tokens[j].partner is not None:
        _wrap_arguments(source, j, tokens[j].partner)
