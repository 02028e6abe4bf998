"""Variables with a memory space: __shared__, __device__, __constant__, __managed__."""

from .source import Refused

DEVICE_WORDS = ("__simt_device__", "__simt_constant__", "__simt_managed__")
POINTER_WORDS = ("*", "const", "volatile", "__restrict__")
ALIGNMENT_WORDS = ("alignas", "__attribute__", "_Alignas")


def rewrite_variables(source):
    done = -1  # end of the last declaration dealt with
    for i, token in enumerate(source.tokens):
        if token.kind != "name":
            continue
        if token.text == "__simt_shared__":
            if i > done:
                done = _rewrite_shared(source, i)
        elif token.text in DEVICE_WORDS:
            source.replace(i, i + 1, "")
            if i > done and _is_variable(source, i):
                done = _register(source, i)


class Declarator:
    """One name of a declaration: `*p[3]` has pointer '*', name 'p', dimensions '[3]'."""

    def __init__(self, pointer, name, dimensions):
        self.pointer = pointer
        self.name = name
        self.dimensions = dimensions


def _declaration(source, first, end):
    """(base type, alignment, declarators) of the declaration in tokens [first, end)."""
    tokens = source.tokens
    kept, alignment, j = [], [], first
    while j < end:
        text = tokens[j].text
        if text in ALIGNMENT_WORDS and tokens[j + 1].text == "(":
            behind = tokens[j + 1].partner + 1
            alignment.append(source.words(j, behind))
            j = behind
            continue
        if text not in ("__simt_shared__", "static", "extern", "inline") + DEVICE_WORDS:
            kept.append(j)
        j += 1
    if not kept:
        raise Refused(source.place(first) + ": cannot read this declaration")
    # Split at the commas between the declarators.
    parts, part, depth_end, angle = [], [], -1, 0
    for j in kept:
        token = tokens[j]
        if j >= depth_end and token.kind == "mark":
            if token.text in "([{" and token.partner is not None:
                depth_end = token.partner
            elif token.text == "<" and part and tokens[part[-1]].kind == "name":
                depth_end = source.behind_angle(j)
        if token.text == "," and token.kind == "mark" and j >= depth_end:
            parts.append(part)
            part = []
        else:
            part.append(j)
    parts.append(part)

    base, declarators = "", []
    for number, part in enumerate(parts):
        part = _without_initializer(source, part)
        stop = len(part)
        while stop > 0 and tokens[part[stop - 1]].text == "]":
            stop = part.index(tokens[part[stop - 1]].partner)
        dimensions = _join(source, part[stop:])
        if stop == 0 or tokens[part[stop - 1]].kind != "name":
            why = "cannot read this declaration: give its type a name with `using`"
            raise Refused(f"{source.place(first)}: {why}")
        name = tokens[part[stop - 1]].text
        start = stop - 1
        while start > 0 and tokens[part[start - 1]].text in POINTER_WORDS:
            if not any(tokens[p].text == "*" for p in part[:start]):
                break
            start -= 1
        pointer = _join(source, part[start:stop - 1])
        if number == 0:
            base = _join(source, part[:start])
        declarators.append(Declarator(pointer, name, dimensions))
    return base, " ".join(alignment), declarators


def _without_initializer(source, part):
    skip_to = -1
    for k, j in enumerate(part):
        token = source.tokens[j]
        if j < skip_to or token.kind != "mark":
            continue
        if token.text == "=":
            return part[:k]
        if token.text == "{" and k + 1 < len(part) and token.partner == part[-1] and \
                source.tokens[part[k - 1]].text not in ("struct", "union", "class") and k >= 2:
            return part[:k]
        if token.text in "([{" and token.partner is not None:
            skip_to = token.partner
    return part


def _join(source, indices):
    return " ".join(source.tokens[j].text for j in indices)


# ---- __shared__ --------------------------------------------------------------------------------


def _rewrite_shared(source, i):
    tokens = source.tokens
    first, end = source.statement_start(i), source.statement_end(i)
    dynamic = any(t.text == "extern" for t in tokens[first:i + 2])
    base, alignment, declarators = _declaration(source, first, end)
    in_function = tokens[i].scope is not None and tokens[i].scope.kind == "function"
    if dynamic:
        text = "".join(_dynamic(base, d, in_function) for d in declarators)
    elif in_function:
        text = _static(i, base, alignment, declarators)
    else:
        why = "a __shared__ variable outside of a function is not supported"
        raise Refused(f"{source.place(i)}: {why}: declare it in the kernel that uses it")
    source.replace(first, end + 1, text)
    return end


def _dynamic(base, d, in_function):
    kind = "" if in_function else "[[maybe_unused]] static thread_local "
    element = f"{base} {d.pointer}".strip()
    memory = "::simt::dynamic_shared()"
    if not d.dimensions:
        return f"{kind}{element}& {d.name} = *static_cast<{element}*>({memory});"
    array = f"{element} (*){d.dimensions}"
    return f"{kind}{element} (&{d.name}){d.dimensions} = *reinterpret_cast<{array}>({memory});"


def _static(number, base, alignment, declarators):
    out = [f"using simt_type_{number} [[maybe_unused]] = {base};"]
    for d in declarators:
        tag = f"simt_shared_{number}_{d.name}"
        name = f'static const char* name() {{ return "{d.name}"; }}'
        out.append(f"struct {alignment} {tag} {{ {name} }};")
        element = f"simt_type_{number} {d.pointer}".strip()
        reference = f"(&{d.name})" if d.dimensions else f"&{d.name}"
        variable = f"::simt::shared_variable<{tag}, {element}{d.dimensions}>()"
        out.append(f"{element} {reference}{d.dimensions} = {variable};")
    return " ".join(out)


# ---- __device__, __constant__, __managed__ -----------------------------------------------------


def _is_variable(source, i):
    """Does the declaration of this qualifier, at namespace scope, make a variable of this file?"""
    tokens = source.tokens
    scope = tokens[i].scope
    if scope is not None and scope.kind != "namespace":
        return False
    header = {t.text for t in tokens[source.statement_start(i):i]}
    if header & {"extern", "template"}:
        return False
    j = i + 1
    while j < len(tokens):
        token = tokens[j]
        if token.text in ALIGNMENT_WORDS + ("decltype",) and tokens[j + 1].text == "(":
            j = tokens[j + 1].partner
        elif token.text == "[" and tokens[j + 1].text == "[":
            j = token.partner
        elif token.text == "<" and tokens[j - 1].kind == "name":
            j = source.behind_angle(j) - 1
        elif token.text == "{" and tokens[j - 1].text in ("struct", "union", "class"):
            j = token.partner
        elif token.kind == "mark" and token.text in "=;[{":
            return True
        elif token.kind == "mark" and token.text in "()":
            return False
        elif token.text in ("operator", "extern", "template"):
            return False
        j += 1
    return False


def _register(source, i):
    first, end = source.statement_start(i), source.statement_end(i)
    _, _, declarators = _declaration(source, first, end)
    words = {token.text for token in source.tokens[first:end]}
    constant = ", true" if "__simt_constant__" in words else ""
    symbols = [
        f' static const ::simt::Symbol simt_symbol_{i}_{d.name}({d.name}, "{d.name}"{constant});'
        for d in declarators
    ]
    source.insert_behind(end, "".join(symbols))
    return i
