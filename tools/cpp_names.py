"""The names that a C++ or CUDA file defines and uses, and its kernels.

Not a C++ parser (see cpp_source.py): enough to count what a kernel takes from other files. Of a
namespace only the last part counts, overloads are one name, and a local variable hides what has its
name.
"""

import functools
import re
from typing import NamedTuple

import cpp_source

KEYWORDS = set(
    """alignas auto bool break case catch char class const constexpr continue decltype default
    delete do double else enum explicit extern false float for friend goto if inline int
    long namespace new noexcept nullptr operator private protected public return short
    signed sizeof static static_assert static_cast struct switch template this throw true
    try typedef typename union unsigned using virtual void volatile while""".split()
)
_NO_TYPE = {
    "return",
    "else",
    "case",
    "goto",
    "new",
    "delete",
    "throw",
    "do",
    "typename",
    "operator",
}
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\d[\w.']*|\S")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_NOT_THE_NAME = re.compile(
    r"\b(?:__launch_bounds__|alignas|__align__|__attribute__|decltype|noexcept)\s*\([^)]*\)+"
    r"|\[\s*\]"
)
_FUNCTION = re.compile(r"((?:\w+\s*(?:<[^;()]*>)?\s*::\s*)?)\b([A-Za-z_]\w*)\s*(?:<[^;()]*>)?\s*\(")


class Definition(NamedTuple):
    namespace: str  # its last part, empty for the global one
    name: str
    is_member: bool  # a type in a class


class Use(NamedTuple):
    qualifier: str  # what stands before ::, or just ::, or nothing
    name: str


class Kernel(NamedTuple):
    """A kernel, a device function, or a type with device functions (which has no body here)."""

    name: str
    first_line: int  # of the comment above it
    text: str  # with that comment
    statement: str  # what the compiler sees of it, template line included
    body: str  # between its braces, as it stands in the file

    @property
    def lines(self):
        """Lines of code in the body; comments and blank lines are not counted."""
        return len(code_lines(self.body))

    @property
    def comments(self):
        """Lines of the body that hold a comment and nothing else."""
        visible = cpp_source.without_comments(self.body).splitlines()
        pairs = zip(self.body.splitlines(), visible)
        return sum(1 for line, code in pairs if line.strip() and not code.strip())


def code_lines(text):
    """The lines of `text` without comments, blank lines, includes and #pragma once."""
    # Strings stay: a changed string is a changed line.
    visible = cpp_source.without_comments(text).splitlines()
    found = []
    for line, code in zip(text.splitlines(), visible):
        if not code.strip() or re.match(r"\s*#\s*(include\b|pragma\s+once\b)", code):
            continue
        found.append(re.sub(r"\s*//.*$", "", line).strip() if "//" in line else line.strip())
    return found


def _type_name(plain):
    """'struct Name : Base' -> 'Name'; None if this is no type."""
    match = cpp_source.TYPE.match(plain)
    if not match:
        return None
    head = re.split(r"[{:]", cpp_source.flat(plain[match.end() :]), maxsplit=1)[0]
    head = re.sub(r"<.*", "", _NOT_THE_NAME.sub(" ", head))
    names = [word for word in re.findall(r"[A-Za-z_]\w*", head) if word != "final"]
    # `struct Origin origin(int row)` is a function: nothing with brackets is a type's head.
    return names[-1] if names and "(" not in head else None


def _variable_names(plain):
    while (shorter := re.sub(r"<[^<>;()=]*>", " ", plain)) != plain:
        plain = shorter
    plain = re.sub(r"\{.*", "", re.sub(r"(?<![=!<>])=(?!=)[^,]*", "", plain), flags=re.DOTALL)
    parts = [re.search(r"([A-Za-z_]\w*)\s*(?:\[\s*\]\s*)*$", part) for part in plain.split(",")]
    return [part.group(1) for part in parts if part]


def names_of(head):
    """The names that one statement at namespace scope defines or declares."""
    plain = re.sub(r"^(?:public|private|protected)\s*:", "", cpp_source.skip_template(head)).strip()
    if re.match(r"using\s+namespace\b|static_assert\b|friend\b", plain) or not plain:
        return []
    alias = re.match(r"(?:using|namespace)\s+([A-Za-z_]\w*)\s*(?:\[\[.*?\]\]\s*)?=", plain)
    if alias:
        return [alias.group(1)]
    if plain.startswith("using"):
        return []
    name = _type_name(plain)
    if name:
        # The values of a scoped enum are said with its name before them.
        open_enum = re.match(r"enum\b(?!\s+(?:class|struct)\b)", plain)
        body = re.search(r"\{(.*)\}", plain, re.DOTALL) if open_enum else None
        return [name, *(re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.group(1)) if body else [])]
    reference = re.search(r"\(\s*[&*]\s*([A-Za-z_]\w*)\s*\(", plain.partition("{")[0])
    if reference:  # float (&four(float* x))[4]
        return [reference.group(1)]
    flat = cpp_source.flat(plain)
    before = re.split(r"(?<![=!<>])=(?!=)|\{", flat, maxsplit=1)[0]
    function = _FUNCTION.search(_NOT_THE_NAME.sub(" ", before))
    if function is None:
        return _variable_names(flat)
    owner, name = function.groups()
    return [] if owner or name in KEYWORDS or "operator" in before.split() else [name]


def definitions(text):
    """Every Definition at namespace scope, macros, and the types that stand in classes."""
    code = cpp_source.code_of(text)
    found = {Definition("", name, False) for name in _DEFINE.findall(text)}
    for start, stop, head, has_body, scope in cpp_source.statements(code, 0, len(code)):
        whole = code[start:stop].rstrip(";") if head.lstrip().startswith("enum") else head
        namespace = scope[-1] if scope else ""
        found.update(Definition(namespace, name, False) for name in names_of(whole))
        is_class = re.match(r"(?:struct|class|union)\b", cpp_source.skip_template(head))
        if has_body and is_class:
            found.update(_member_types(code, start, stop, namespace))
    return found


def _member_types(code, start, stop, namespace):
    begin = code.index("{", start)
    for _, _, head, _, _ in cpp_source.statements(code, begin + 1, code.rindex("}", start, stop)):
        plain = cpp_source.skip_template(head)
        if re.search(r"\b(?:struct|class|union|enum|using)\b", plain.partition("(")[0]):
            for name in names_of(
                re.sub(r"^.*?\b(?=struct|class|union|enum|using)", "", plain, flags=re.S)
            ):
                yield Definition(namespace, name, True)


def _is_declared(before, word, after):
    """Whether `word` is declared here, by the two tokens before it and the one after it."""
    if after not in {"=", ";", ",", ")", "[", "(", "{", ":", ">"}:
        return False
    last = before[-1] if before else ""
    if re.fullmatch(r"[A-Za-z_]\w*", last):
        return last not in _NO_TYPE and (after != ">" or last in KEYWORDS)
    if last == ">" and re.match(r"k[A-Z]", word):
        return False  # `n > kMost)` compares with a constant
    if last in ("*", "&", ">") and len(before) > 1 and after != ">":
        type_name = before[-2]
        return (
            last == ">"
            and after != "("
            or type_name in KEYWORDS
            or type_name == ">"
            or (bool(re.match(r"[A-Z]", type_name)) or type_name.endswith("_t"))
        )
    return False


def uses(code):
    """Every Use in `code`, which is blanked as code_of() does; its own variables are left out."""
    tokens = _TOKEN.findall(re.sub(r"(\.|->|::)\s*template\b", r"\1", code))  # rows.template f<T>()
    found, declared = set(), set()
    for i, word in enumerate(tokens):
        if not re.match(r"[A-Za-z_]", word) or word in KEYWORDS:
            continue
        last = tokens[i - 1] if i else ""
        if last in (".", "->"):
            continue
        if last == "::":
            before = tokens[i - 2] if i > 1 else ""
            is_name = before == ">" or re.match(r"[A-Za-z_]", before) and before not in KEYWORDS
            found.add(Use(before if is_name else "::", word))
            continue
        after = tokens[i + 1] if i + 1 < len(tokens) else ""
        if _is_declared(tokens[max(0, i - 2) : i], word, after):
            declared.add(word)
        found.add(Use("", word))
    return {use for use in found if use.qualifier or use.name not in declared}


@functools.lru_cache(maxsize=2048)
def kernels(text):
    """The device code of this file: kernels, device functions, types that have some."""
    code, visible = cpp_source.code_of(text), cpp_source.without_comments(text)
    lines, visible_lines = text.split("\n"), visible.split("\n")
    found = []
    for start, stop, head, has_body, _ in cpp_source.statements(code, 0, len(code)):
        is_type = cpp_source.TYPE.match(cpp_source.skip_template(head)) is not None
        looked_at = code[start:stop] if is_type else head
        if not has_body or not re.search(r"\b__(?:global|device)__", looked_at):
            continue
        first = cpp_source.with_comment(lines, visible_lines, text.count("\n", 0, start))
        last = text.count("\n", 0, stop)
        brace = start + len(head)
        found.append(
            Kernel(
                name=(names_of(head) or ["?"])[0],
                first_line=first,
                text="\n".join(lines[first : last + 1]),
                statement=code[start:stop],
                body="" if is_type else text[brace + 1 : stop - 1],
            )
        )
    return tuple(found)
