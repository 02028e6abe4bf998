"""Kernel definitions: `__global__ void k(float* a, int n) { body }` becomes a function that hands
its body and its arguments to the engine (see simt/include/simt/kernel.h)."""

from .source import Refused

# Words that can end a parameter's type; any other last word is the parameter's name.
TYPE_WORDS = {
    "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "auto",
    "const", "volatile", "wchar_t", "char16_t", "char32_t", "__restrict__", "__restrict",
}
# Words that may stand before a type and make none by themselves.
BEFORE_A_TYPE = {"const", "volatile", "struct", "class", "enum", "union", "typename"}
# Things in front of a kernel's name whose parentheses are not its parameters.
WITH_PARENTHESES = {
    "__simt_launch_bounds__", "__simt_cluster_dims__", "__attribute__", "alignas", "decltype",
    "noexcept",
}


def rewrite_kernels(source):
    """Returns the names of all kernels declared in the source."""
    names = set()
    for i, token in enumerate(source.tokens):
        if token.text == "__simt_global__" and token.kind == "name":
            names.add(_rewrite(source, i))
            source.replace(i, i + 1, "")
        elif token.text in ("__simt_launch_bounds__", "__simt_cluster_dims__"):
            source.replace(i, source.tokens[i + 1].partner + 1, "")
        elif token.text == "__simt_device__":
            _allow_unused(source, i)
    return names


def _allow_unused(source, i):
    """A device function may be empty on this GPU, or never called: neither is worth a warning."""
    tokens = source.tokens
    if tokens[i - 1].text == "]":
        return  # a lambda
    try:
        opening = _parameters(source, i)
    except Refused:
        return  # a variable
    closing = tokens[opening].partner
    if any(t.text in "=[" for t in tokens[i:opening] if t.kind == "mark"):
        return  # a variable
    if tokens[opening - 1].kind != "name":
        return  # an operator
    body = closing + 1
    while body < len(tokens) and tokens[body].text in ("const", "noexcept", "override"):
        body += 1
    if body == len(tokens) or tokens[body].text not in ("{", "->"):
        return
    for first, last in source.split(opening + 1, closing):
        if first < last and source.words(first, last) != "void":
            source.insert_before(first, "[[maybe_unused]] ")


def _rewrite(source, i):
    tokens = source.tokens
    header = source.statement_start(i)
    opening = _parameters(source, i)
    closing = tokens[opening].partner
    name = opening - 1
    if tokens[name].text == ">":
        name = source.before_angle(name) - 1
    body = closing + 1
    while body < len(tokens) and tokens[body].text not in ("{", ";"):
        body += 1
    if body == len(tokens) or tokens[body].text == ";":
        return tokens[name].text  # a declaration
    if tokens[body].partner is None:
        raise Refused(source.place(i) + ": a kernel without an end")
    if not _returns_void(source, header, name):
        what = f"the kernel {tokens[name].text} must return void"
        raise Refused(f"{source.place(i)}: error: {what}")

    parameters, arguments = [], []
    for number, (first, last) in enumerate(source.split(opening + 1, closing)):
        if source.words(first, last) == "void":
            continue
        parameter, pack = _parameter_name(source, first, last)
        if parameter is None:
            parameter = f"simt_unnamed_{number}"
            source.insert_behind(last - 1, f" {parameter}")
        # A kernel whose body is for another GPU uses none of its parameters; nvcc does not mind
        # either.
        parameters.append("[[maybe_unused]] " + source.words(first, last))
        argument = f"::std::ref({parameter})" if _is_reference(source, first, last) else parameter
        arguments.append(argument + ("..." if pack else ""))
    bounds = _bounds(source, header, body)
    lambda_head = f"[]({', '.join(parameters)})"
    source.insert_behind(
        body, f" return ::simt::enter_kernel(__PRETTY_FUNCTION__, {bounds}, {lambda_head} {{"
    )
    source.insert_before(tokens[body].partner, "".join(["}", *(f", {a}" for a in arguments), ");"]))
    return tokens[name].text


def _returns_void(source, first, name):
    """Only a built-in type is recognised as another one: what a name stands for, g++ will know."""
    tokens, j, words = source.tokens, first, []
    while j < name:
        if tokens[j].text == "<" and tokens[j - 1].kind == "name":
            j = source.behind_angle(j)
        elif tokens[j].text == "(" and tokens[j].partner:
            j = tokens[j].partner + 1
        else:
            words.append(tokens[j].text)
            j += 1
    built_in = [word for word in words if word in TYPE_WORDS - BEFORE_A_TYPE]
    return built_in in (["void"], ["auto"], []) and "*" not in words


def _parameters(source, i):
    """Index of the parenthesis that opens the kernel's parameters."""
    tokens, j = source.tokens, i + 1
    while j < len(tokens):
        text = tokens[j].text
        if text in WITH_PARENTHESES and tokens[j + 1].text == "(":
            j = tokens[j + 1].partner
        elif text == "<" and tokens[j - 1].kind == "name":
            j = source.behind_angle(j) - 1
        elif text == "(":
            return j
        elif text in (";", "{"):
            break
        j += 1
    raise Refused(source.place(i) + ": __global__ without a function")


def _parameter_name(source, first, last):
    """(name or None, is it a pack)"""
    tokens = source.tokens
    end = first
    while end < last and tokens[end].text != "=":  # leave a default argument out
        if tokens[end].text == "<" and end > first and tokens[end - 1].kind == "name":
            end = source.behind_angle(end)
        else:
            end += 1
    pack = any(tokens[j].text == "." for j in range(first, end))
    # A pointer to a function or array: void (*f)(int)
    for j in range(first, end - 1):
        if tokens[j].text == "(" and tokens[j + 1].text in "*&" and tokens[j].partner < end:
            inner = tokens[tokens[j].partner - 1]
            return (inner.text if inner.kind == "name" else None), pack
    while end > first and tokens[end - 1].text == "]":
        end = tokens[end - 1].partner
    last_word = tokens[end - 1]
    if last_word.kind != "name" or last_word.text in TYPE_WORDS:
        return None, pack
    type_tokens = [t for t in tokens[first:end - 1] if t.text not in BEFORE_A_TYPE]
    if not type_tokens or type_tokens[-1].text == "::":
        return None, pack
    return last_word.text, pack


def _is_reference(source, first, last):
    """Is the parameter a reference, `int& x` or `int (&x)[4]`?"""
    tokens, j = source.tokens, first
    while j < last and tokens[j].text != "=":
        if tokens[j].text == "<" and tokens[j - 1].kind == "name":
            j = source.behind_angle(j)
            continue
        if tokens[j].text == "&" or (tokens[j].text == "(" and tokens[j + 1].text == "&"):
            return True
        j = tokens[j].partner + 1 if tokens[j].text == "(" and tokens[j].partner else j + 1
    return False


def _bounds(source, first, last):
    bounds, cluster = "", ""
    for i in range(first, last):
        text = source.tokens[i].text
        if text == "__simt_launch_bounds__":
            bounds = source.words(i + 2, source.tokens[i + 1].partner)
        elif text == "__simt_cluster_dims__":
            cluster = source.words(i + 2, source.tokens[i + 1].partner)
    if cluster:
        return f"::simt::with_cluster({{{bounds}}}, {cluster})"
    return f"::simt::LaunchBounds{{{bounds}}}"
