"""`T x(...)`: a variable with its first value, or a function with its parameters?"""

BUILT_IN = {"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
            "wchar_t", "auto", "const", "volatile", "struct", "class", "union", "enum", "typename",
            "decltype"}
LITERALS = {"true", "false", "nullptr", "this", "sizeof", "alignof"}
TYPE_HEADS = {"using", "typename", "class", "struct", "union", "enum", "namespace", "template"}
BEGINNINGS = set("-+!~&({")  # of a value: no parameter begins so
OPERATORS = {"+", "-", "/", "%", "|", "^", "?", "!", "==", "<=", ">=", "!=", "||", ".", "->", "++",
             "--", "<<<", "{"}


def is_value(source, opening):
    """Does a value stand in the parentheses that open here, behind a declarator's name? They are
    read as C++ reads them: where it could be parameters, it is."""
    closing = source.tokens[opening].partner
    return closing is not None and any(
        _is_expression(source, first, last) for first, last in source.split(opening + 1, closing))


def _is_expression(source, first, last):
    tokens = source.tokens
    if first >= last:
        return False
    if tokens[first].kind in ("number", "string", "char") or tokens[first].text in LITERALS or \
            (tokens[first].kind == "mark" and tokens[first].text in BEGINNINGS):
        return True
    if tokens[first].text in BUILT_IN and tokens[first + 1].text not in ("(", "{"):
        return False
    j = first  # behind the name that it begins with
    while j < last and (tokens[j].kind == "name" or tokens[j].text == "::"):
        if j > first and tokens[j].kind == tokens[j - 1].kind == "name":
            return False  # a type and a name
        j += 1
        if j < last and tokens[j].text == "<":
            j = source.behind_angle(j, otherwise=j)
            if tokens[j].text == "<":
                return True  # it compares
    name = tokens[j - 1].text
    if j == last:
        return tokens[j - 1].kind == "name" and _names_a_value(source, name)
    if tokens[j].text == "(" and tokens[j].partner == last - 1:
        if tokens[j + 1].text in ("*", "&", "^"):
            return False  # a pointer to a function or an array
        return is_value(source, j) if j + 2 < last else not _names_a_type(source, name)
    if any(t.kind == "mark" and t.text in OPERATORS for t in tokens[j:last]):
        return True
    return tokens[j].text in ("*", "&", "[", "<", ">") and _names_a_value(source, name)


def _names_a_value(source, name):
    """Is there a variable or an enumerator of this name? Types are what is not known, too: those
    of system headers are not in the text."""
    tokens = source.tokens
    for j, token in enumerate(tokens):
        if token.text != name or j == 0 or j + 1 >= len(tokens):
            continue
        before, behind = tokens[j - 1], tokens[j + 1].text
        if before.text in TYPE_HEADS:
            continue
        if behind == "=" or (behind in "{(" and before.text in BUILT_IN):
            return True
        opening = _brace_around(source, j)
        if opening is not None and before.text in "{," and behind in ",}" and \
                any(t.text == "enum" for t in tokens[source.statement_start(opening):opening]):
            return True
    return False


def _names_a_type(source, name):
    tokens = source.tokens
    return any(t.text == name and tokens[j - 1].text in TYPE_HEADS
               for j, t in enumerate(tokens) if j > 0) or name in BUILT_IN


def _brace_around(source, i):
    """The { that the token stands in; None: something else is around it, or nothing."""
    tokens, j = source.tokens, i - 1
    while j >= 0:
        token = tokens[j]
        if token.kind == "mark":
            if token.text in ")]}" and token.partner is not None:
                j = token.partner
            elif token.text in "([{":
                return j if token.text == "{" else None
            elif token.text == ";":
                return None
        j -= 1
    return None
