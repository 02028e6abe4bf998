"""Variables with a memory space: __shared__, __device__, __constant__, __managed__."""

from .initializers import is_value
from .source import Refused
from .stores import is_declaration, without_head

DEVICE_WORDS = ("__simt_device__", "__simt_constant__", "__simt_managed__")
POINTER_WORDS = ("*", "const", "volatile", "__restrict__")
NO_TYPES = {"return", "else", "do", "case", "throw", "sizeof", "delete", "goto"}
ACCESSOR = "simt_shared_variable_"  # in front of the name of a __shared__ variable of file scope
ALIGNMENT_WORDS = ("alignas", "__attribute__", "_Alignas")


def rewrite_variables(source, watched=False):
    done = -1  # end of the last declaration dealt with
    at_file_scope = {}  # name: the scopes that have such a variable
    for i, token in enumerate(source.tokens):
        if token.kind != "name":
            continue
        if token.text == "__simt_shared__":
            if i > done:
                done = _rewrite_shared(source, i, at_file_scope)
        elif token.text in DEVICE_WORDS:
            source.replace(i, i + 1, "")
            if i > done and _is_variable(source, i):
                done = _register(source, i, watched)
        elif token.text == "static" and watched and i > done and _is_static_of_kernel(source, i):
            done = _register_static(source, i)
    if at_file_scope:
        _name_in_functions(source, at_file_scope)


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
        if token.text == "(" and k >= 1 and token.partner == part[-1] and \
                source.tokens[part[k - 1]].kind == "name" and is_value(source, j):
            return part[:k]
        if token.text == "{" and k + 1 < len(part) and token.partner == part[-1] and \
                source.tokens[part[k - 1]].text not in ("struct", "union", "class") and k >= 2:
            return part[:k]
        if token.text in "([{" and token.partner is not None:
            skip_to = token.partner
    return part


def _join(source, indices):
    """Words stay apart, and what was one mark (<<) stays together."""
    tokens, pieces = source.tokens, []
    for j, before in zip(indices, [None, *indices]):
        if before is not None and tokens[before].end != tokens[j].start:
            pieces.append(" ")
        pieces.append(tokens[j].text)
    return "".join(pieces)


# ---- __shared__ --------------------------------------------------------------------------------


def _rewrite_shared(source, i, at_file_scope):
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
        text = _static(i, base, alignment, declarators, at_file_scope, tokens[i].scope)
    source.replace(first, end + 1, text)
    return end


def _dynamic(base, d, in_function):
    kind = "" if in_function else "[[maybe_unused]] static thread_local "
    element = f"{base} {d.pointer}".strip()
    memory = "::simt::dynamic_shared()"
    if not d.dimensions:
        return f"{kind}{element}& {d.name} = *static_cast<{element}*>({memory});"
    array = f"simt_array_{d.name}"
    return (f"using {array} [[maybe_unused]] = {element} {d.dimensions}; "
            f"{kind}{array}& {d.name} = *reinterpret_cast<{array}*>({memory});")


def _static(number, base, alignment, declarators, at_file_scope=None, scope=None):
    """References to the variables; at file scope functions that return them, for each kernel has
    such a variable at a place of its own."""
    out = [f"using simt_type_{number} [[maybe_unused]] = {base};"]
    for d in declarators:
        tag = f"simt_shared_{number}_{d.name}"
        name = f'static const char* name() {{ return "{d.name}"; }}'
        out.append(f"struct {alignment} {tag} {{ {name} }};")
        # The dimensions may hold a > or a <<, which would end or confuse template arguments.
        memory = f"simt_memory_{number}_{d.name}"
        element = f"simt_type_{number} {d.pointer}".strip()
        out.append(f"using {memory} [[maybe_unused]] = {element} {d.dimensions};")
        variable = f"::simt::shared_variable<{tag}, {memory}>()"
        if at_file_scope is None:
            out.append(f"{memory}& {d.name} = {variable};")
        else:
            at_file_scope.setdefault(d.name, []).append(scope)
            head = f"[[maybe_unused]] static inline {memory}& {ACCESSOR}{d.name}()"
            out.append(f"{head} {{ return {variable}; }}")
    return " ".join(out)


def _name_in_functions(source, names):
    """Every function, and every lambda in one, that uses a __shared__ variable of file scope begins
    with a reference of that name. A name behind that of its namespace calls the accessor itself."""
    tokens = source.tokens
    others = {}  # scope of a class or namespace: what else has such a name there
    used_namespaces = _used_namespaces(source)
    for j, token in enumerate(tokens):
        if token.text not in names:
            continue
        if tokens[j - 1].text == "::":
            owners = [_named(scope) for scope in names[token.text]]
            if any(_last_name(scope) == tokens[j - 2].text for scope in owners) or (
                    None in owners and tokens[j - 2].kind != "name"):
                begins = tokens[source.statement_start(j)].text
                source.replace(j, j + 1, ACCESSOR + token.text + "()" * (begins != "using"))
        elif (token.scope is None or token.scope.kind != "function") and _is_declared(source, j):
            first = source.statement_start(j)
            parameter = first > 0 and tokens[first - 1].text == "("
            words = {t.text for t in tokens[first:j]}
            if not parameter and not words & {"__simt_shared__", "template"}:
                others.setdefault(token.scope, set()).add(token.text)
    for brace, token in enumerate(tokens):
        if token.text != "{" or token.kind != "mark" or token.partner is None:
            continue
        if brace + 1 == token.partner or tokens[brace + 1].scope is None:
            continue
        scope = tokens[brace + 1].scope
        header = tokens[source.statement_start(brace):brace]
        is_lambda = any(t.text == "]" for t in header) and header[-1].text in (")", "]", "mutable")
        outermost = scope.kind == "function" and (
            token.scope is None or token.scope.kind != "function")
        if not outermost and not (is_lambda and scope.kind == "function"):
            continue
        words = {t.text for t in header if t.kind == "name"}
        own = words.copy()
        used = set()
        for j in range(brace + 1, token.partner):
            if tokens[j].text not in names or tokens[j - 1].text in (".", "->", "::"):
                continue
            used.add(tokens[j].text)
            if _is_declared(source, j):
                own.add(tokens[j].text)
        at = {t.text for t, behind in zip(header, header[1:]) if behind.text == "::"}
        for name in sorted(used - own):
            owner = _owner(name, names[name], others, token.scope, at, used_namespaces)
            if owner != "none":
                source.insert_behind(
                    brace, f" [[maybe_unused]] auto& {name} = {owner}{ACCESSOR}{name}();")


def _used_namespaces(source):
    """The last names of the namespaces that `using namespace a::b;` and `using a::b::c;` tell."""
    found = set()
    for i, token in enumerate(source.tokens[:-1]):
        if token.text == "using" and token.kind == "name":
            names = [t.text for t in source.tokens[i + 1:source.statement_end(i)]
                     if t.kind == "name"]
            found |= {names[-1]} if names[:1] == ["namespace"] else set(names[:-1])
    return found


def _last_name(scope):
    return "" if scope is None else scope.name.split("::")[-1]


def _owner(name, scopes, others, here, at, used):
    """"::a::", the namespace of the variable that a function of scope `here` means; "none": what it
    means is no such variable. at: the last names of the namespaces that it belongs to by its own
    name; used: of those whose names are known everywhere."""
    owners = [_named(scope) for scope in scopes]
    inside = next((scope for scope in owners if _last_name(scope) in at), here)
    while inside not in owners:
        if name in others.get(inside, ()):
            return "none"
        if inside is None:
            inside = next((scope for scope in owners if _last_name(scope) in used), None)
            break
        inside = inside.parent
    if inside not in owners:
        return "none"
    names = []
    while inside is not None:
        names.insert(0, inside.name)
        inside = _named(inside.parent)
    return "::".join(["", *names, ""])


def _named(scope):
    """What an unnamed namespace has, the one around it has."""
    while scope is not None and scope.name == "":
        scope = scope.parent
    return scope


def _is_declared(source, i):
    """Does a type stand before the name?"""
    before = source.tokens[i - 1]
    if before.kind == "name":
        return before.text not in NO_TYPES
    behind = source.tokens[i + 1].text
    if before.text not in ("*", "&", ">", ",") or behind not in (";", "=", "[", "{"):
        return False
    # `int* name[4]` or `int a = 1, name[4]`, but not `x = 2 * name[4]` or `f(a & name[4])`.
    first = without_head(source, source.statement_start(i), i)
    head = source.tokens[first - 1].text
    if head == "return" or (head in ("(", "[") and behind == "["):
        return False
    own = source.split(first, i + 1)[-1][0]
    return is_declaration(source, first, i + 1) and \
        not any(t.text == "=" for t in source.tokens[own:i] if t.kind == "mark")


# ---- __device__, __constant__, __managed__ -----------------------------------------------------


def _is_variable(source, i):
    """Does the declaration of this qualifier, at namespace scope, make a variable of this file?"""
    tokens = source.tokens
    scope = tokens[i].scope
    if scope is not None and scope.kind != "namespace":
        return False
    header = {t.text for t in tokens[source.statement_start(i):i]}
    return not header & {"extern", "template"} and _makes_variable(source, i)


def _makes_variable(source, i):
    """Does the declaration that goes on behind token i make a variable, not a function or a type?
    A static member of a class is left out: it may be private."""
    tokens = source.tokens
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
        elif token.text == "::" and tokens[j + 2].text in ("=", ";", "[", "{", "("):
            return False
        elif token.kind == "mark" and token.text == "(":
            behind = tokens[token.partner + 1].text if token.partner is not None else ""
            return behind in (";", ",") and is_value(source, j)
        elif token.kind == "mark" and token.text == ")":
            return False
        elif token.text in ("operator", "extern", "template"):
            return False
        j += 1
    return False


def _is_static_of_kernel(source, i):
    """Is it a variable of device code, static in its function, that may change?"""
    tokens = source.tokens
    scope = tokens[i].scope
    if scope is None or scope.kind != "function" or not scope.device:
        return False
    first = source.statement_start(i)
    words = {t.text for t in tokens[first:source.statement_end(i)] if t.kind == "name"}
    stands_alone = tokens[first - 1].text in (";", "{", "}") and \
        tokens[first].text not in ("if", "else", "for", "while", "do", "case", "default")
    return stands_alone and _makes_variable(source, i) and not \
        words & {"const", "constexpr", "__simt_shared__", "__simt_constant__", "thread_local"}


def _register_static(source, i):
    """Tells the engine of it when a kernel comes by: each instance of a template has its own."""
    first, end = source.statement_start(i), source.statement_end(i)
    try:
        base, _, declarators = _declaration(source, first, end)
    except Refused:
        return end  # too hard to read; races in it are not looked for
    if "&" in base:
        return end
    known = [f' ::simt::know_static({d.name}, "{d.name}");' for d in declarators]
    source.insert_behind(end, "".join(known))
    return end


def _guard(name, filled, external):
    """Bytes that belong to no variable. g++ keeps zeros of other files to see (external) apart from
    a file's own."""
    value = " = {1}" if filled else ""
    section = ', gnu::section(".bss")' if external and not filled else ""
    return (f" [[gnu::used{section}]] static char {name}[64]{value}; static const ::simt::Symbol "
            f'{name}_symbol({name}, "", ::simt::Symbol::Space::kGuard); ')


def _register(source, i, watched):
    """Tells the engine of the variables. watched: bytes that belong to none lie beside them, so
    that who runs past an end is seen."""
    first, end = source.statement_start(i), source.statement_end(i)
    _, _, declarators = _declaration(source, first, end)
    words = {token.text for token in source.tokens[first:end]}
    space, guard = "", ""
    if "__simt_managed__" in words:
        space = ", ::simt::Symbol::Space::kManaged"
    elif "__simt_constant__" in words:
        space = ", ::simt::Symbol::Space::kConstant"
    if watched and not words & {"const", "constexpr", "inline"}:
        # In the same section as the variable, so beside it: g++ keeps the order, or turns it round.
        filled = any(t.text in "={" or (t.text == "(" and is_value(source, first + j))
                     for j, t in enumerate(source.tokens[first:end]) if t.kind == "mark")
        scope = source.tokens[i].scope
        external = "static" not in words and (scope is None or not scope.unnamed)
        source.insert_before(first, _guard(f"simt_guard_{first}", filled, external))
        guard = _guard(f"simt_guard_{i}_behind", filled, external)
    symbols = [
        f' static const ::simt::Symbol simt_symbol_{i}_{d.name}({d.name}, "{d.name}"{space});'
        for d in declarators
    ]
    source.insert_behind(end, guard + "".join(symbols))
    return end
