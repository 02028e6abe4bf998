"""Inline PTX: an asm statement of device code becomes a block of calls, one for each instruction.

    asm("{ .reg .pred p; setp.ne.b32 p, %1, 0; @p add.s32 %0, %1, 1; }" : "=r"(y) : "r"(x));

becomes

    do { auto& simt_o0 = (y); const auto simt_o1 = ::simt::ptx::input_r(x); bool simt_r_p{};
         simt_r_p = ...; if (simt_r_p) { ... } } while (0)

The functions lie in simt/include/simt/ptx*.h; g++ sees the operands as ordinary C++ expressions, so
template parameters work by the language's own rules. An instruction that is not known is refused
with its name and its line. ptx_instructions.py says what each instruction becomes.
"""

import re

from .ptx_instructions import NotModelled, translate
from .source import Refused

WORDS_BEFORE_PARENTHESIS = ("volatile", "__volatile__", "__volatile", "inline", "goto")
PTX = "::simt::ptx::"

# What each type of `.reg` is in C++.
REGISTER_TYPES = {
    "pred": "bool",
    "b8": "unsigned char",
    "u8": "unsigned char",
    "s8": "signed char",
    "b16": "unsigned short",
    "u16": "unsigned short",
    "s16": "short",
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "b32": "unsigned",
    "u32": "unsigned",
    "s32": "int",
    "f16x2": "unsigned",
    "bf16x2": "unsigned",
    "b64": "unsigned long long",
    "u64": "unsigned long long",
    "s64": "long long",
    "f32": "float",
    "f64": "double",
    "b128": "unsigned __int128",
}
CONSTRAINTS = "hrlfdnq"


def rewrite_inline_ptx(source, architecture):
    """Every asm statement of device code; host code may hold assembly of the host."""
    tokens = source.tokens
    for i, token in enumerate(tokens):
        if token.kind != "name" or token.text not in ("asm", "__asm__", "__asm"):
            continue
        if token.scope is None or token.scope.kind != "function" or not token.scope.device:
            continue
        opening = i + 1
        while tokens[opening].text in WORDS_BEFORE_PARENTHESIS:
            opening += 1
        if tokens[opening].text != "(" or tokens[opening].partner is None:
            continue
        try:
            text = _statement(source, i, opening, architecture)
        except NotModelled as refusal:
            raise Refused(f"{source.place(i)}: error: inline PTX: {refusal}") from None
        source.replace(i, tokens[opening].partner + 1, text)


def _statement(source, i, opening, architecture):
    """The C++ text for one asm statement. One without an instruction only stops the GPU's compiler
    from moving code, and becomes nothing."""
    closing = source.tokens[opening].partner
    parts = _sections(source, opening + 1, closing)
    template = "".join(_string(source.tokens[j].text) for j in range(*parts[0]))
    operands = []
    for section in parts[1:3]:
        operands += _operands(source, section, writes=section is parts[1])
    block = _Block(operands, unique=i, architecture=architecture)
    body = block.translate(template)
    head = "".join(operand.declaration(k) for k, operand in enumerate(operands))
    return f"do {{ {head}{body} }} while (0)"


def _sections(source, first, last):
    """Ranges of the template, the outputs, the inputs and the clobbers. `::` is two colons."""
    tokens, sections, start, j = source.tokens, [], first, first
    while j < last:
        token = tokens[j]
        if token.kind == "mark":
            if token.text in "([{" and token.partner is not None:
                j = token.partner
            elif token.text == ":" or (token.text == "::" and tokens[j - 1].kind != "name"):
                sections.append((start, j))
                if token.text == "::":
                    sections.append((j, j))
                start = j + 1
        j += 1
    sections.append((start, last))
    return sections


ESCAPES = {"n": "\n", "t": "\t", "r": " ", "\\": "\\", '"': '"', "'": "'"}


def _string(text):
    """The value of a C++ string literal; other tokens of the template section have none."""
    raw = re.match(r'(?:u8|u|U|L)?R"([^(]*)\((.*)\)\1"$', text, re.S)
    if raw:
        return raw.group(2)
    plain = re.match(r'(?:u8|u|U|L)?"(.*)"$', text, re.S)
    if not plain:
        return ""
    return re.sub(
        r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), plain.group(1), flags=re.S
    )


def _without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


class _Operand:
    """ "=r"(x): `writes` for an output; the letter of the constraint says which register it is."""

    def __init__(self, name, constraint, expression, writes):
        letters = constraint.strip("=+&%")
        if len(letters) != 1 or letters not in CONSTRAINTS:
            raise NotModelled(f'the constraint "{constraint}" is not modelled')
        self.name = name
        self.letter = letters
        self.expression = expression
        self.writes = writes
        self.located = False  # an instruction asks where it lies

    def declaration(self, number):
        if self.located:
            return (
                f"const auto& simt_e{number} = ({self.expression}); "
                f"const auto simt_o{number} = {PTX}input_{self.letter}(simt_e{number}); "
                f"const void* const simt_p{number} = "
                f"{PTX}place_of<decltype({self.expression})>(simt_e{number}); "
            )
        if self.writes:
            return f"auto& simt_o{number} = ({self.expression}); (void)simt_o{number}; "
        return (
            f"const auto simt_o{number} = {PTX}input_{self.letter}({self.expression}); "
            f"(void)simt_o{number}; "
        )


def _operands(source, section, writes):
    tokens, found, (j, last) = source.tokens, [], section
    name = None
    while j < last:
        if tokens[j].text == "[" and tokens[j].partner is not None:
            name = source.words(j + 1, tokens[j].partner)
            j = tokens[j].partner
        elif tokens[j].kind == "string":
            constraint = _string(tokens[j].text)
            while tokens[j + 1].kind == "string":
                j += 1
                constraint += _string(tokens[j].text)
            opening = j + 1
            if tokens[opening].text != "(":
                raise NotModelled("cannot read the operands")
            closing = tokens[opening].partner
            found.append(_Operand(name, constraint, source.words(opening + 1, closing), writes))
            name, j = None, closing
        j += 1
    return found


class _Block:
    """Translates one template: statements, scopes, declarations, labels and predicates."""

    def __init__(self, operands, unique, architecture):
        self.operands = operands
        self.unique = unique
        self.architecture = architecture
        self.registers = [{}]  # one dictionary for each open scope: PTX name -> (C++ name, type)
        self.labels = set()

    def translate(self, template):
        text = _without_comments(template)
        text = text.replace("%=", str(self.unique)).replace("%%", "\x01")
        for number, operand in enumerate(self.operands):
            if operand.name:
                text = text.replace(f"%[{operand.name}]", f"%{number}")
        # nvcc takes %laneid as it takes %%laneid.
        text = re.sub(r"%(?=[A-Za-z_$])", "\x01", text)
        statements = self._split(text)
        self.labels = {s[:-1] for s in statements if s.endswith(":")}
        code = []
        for statement in statements:
            if statement == "{":
                self.registers.append({})
                code.append("{")
            elif statement == "}":
                self.registers.pop()
                code.append("}")
            elif statement.endswith(":"):
                code.append(f"{self.label(statement[:-1])}: __attribute__((unused));")
            else:
                code.append(self._one(statement))
        return " ".join(code)

    @staticmethod
    def _split(text):
        """Statements; a brace around a scope and `label:` are statements of their own."""
        statements, current, depth = [], "", 0
        for c in text + ";":
            start = not current.strip()
            if c == "{" and start:
                statements.append("{")
            elif c == "}" and start and depth == 0:
                statements.append("}")
            elif (
                c == ":"
                and depth == 0
                and re.fullmatch(r"\s*[A-Za-z_$\x01][\w$]*", current)
                and not current.endswith(":")
            ):
                current += c
            elif c == ";" and depth == 0:
                if not start:
                    statements.append(" ".join(current.split()))
                current = ""
            else:
                label = re.fullmatch(r"\s*([A-Za-z_$\x01][\w$]*):", current)
                if label and c != ":":
                    statements.append(label.group(1) + ":")
                    current = ""
                    if c in "{}":
                        statements.append(c)
                        continue
                depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(c, 0)
                current += c
        return statements

    def label(self, name):
        return f"simt_label_{self.unique}_{_plain(name)}"

    def _one(self, statement):
        if statement.startswith(".reg"):
            return self._declare(statement)
        if statement.startswith("."):
            raise NotModelled(f"the directive {statement.split()[0]} is not modelled")
        condition = None
        predicated = re.match(r"@(!?)\s*(\S+)\s+(.*)$", statement, re.S)
        if predicated:
            condition = predicated.group(1) + self.read(predicated.group(2), "bool")
            statement = predicated.group(3)
        code = translate(statement, self)
        return f"if ({condition}) {{ {code} }}" if condition else code

    def _declare(self, statement):
        words = re.match(r"\.reg\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(.*)$", statement, re.S)
        if not words or words.group(1) not in REGISTER_TYPES:
            raise NotModelled(f"cannot read the declaration `{statement}`")
        kind, code = REGISTER_TYPES[words.group(1)], ""
        for name in words.group(2).split(","):
            many = re.match(r"\s*(\S+?)<(\d+)>\s*$", name)
            names = (
                [f"{many.group(1)}{n}" for n in range(int(many.group(2)))]
                if many
                else [name.strip()]
            )
            for one in names:
                variable = f"simt_r_{_plain(one)}"
                self.registers[-1][one] = (variable, kind)
                code += f"{kind} {variable}{{}}; (void){variable}; "
        return code

    # ---- operands, for ptx_instructions.py ------------------------------------------------------

    def variable(self, text):
        """The C++ name of a register or an operand of the asm statement, or None."""
        for scope in reversed(self.registers):
            if text in scope:
                return scope[text][0]
        number = re.fullmatch(r"%(\d+)", text)
        if number:
            if int(number.group(1)) >= len(self.operands):
                raise NotModelled(f"there is no operand {text}")
            return f"simt_o{number.group(1)}"
        return None

    def place(self, text):
        """Where the variable lies that an input is read from; `nullptr`: nowhere of its own."""
        number = re.fullmatch(r"%(\d+)", text)
        if not number or self.is_output(text):
            return "nullptr"
        self.operands[int(number.group(1))].located = True
        return f"simt_p{number.group(1)}"

    def is_output(self, text):
        number = re.fullmatch(r"%(\d+)", text)
        return number is None or self.operands[int(number.group(1))].writes

    def read(self, text, kind):
        """An expression of C++ type `kind`: a register, an operand or a number."""
        text = text.strip()
        if kind == "bool" and text.startswith("!"):
            return "!" + self.read(text[1:], kind)
        if text.startswith("-") and self.variable(text[1:].strip()):
            return f"-{self.read(text[1:], kind)}"
        variable = self.variable(text)
        if variable:
            return f"{PTX}as<{kind}>({variable})"
        if text.startswith("\x01"):
            return f"{PTX}as<{kind}>({special_register(text[1:])})"
        return _number(text, kind)

    def write(self, text, value):
        """A statement that puts the value into a register or an operand; `_` takes nothing."""
        text = text.strip()
        if text == "_":
            return f"(void)({value});"
        variable = self.variable(text)
        if variable is None or not self.is_output(text):
            raise NotModelled(f"cannot write to {text}")
        return f"{variable} = {PTX}to<decltype({variable})>({value});"


def _plain(name):
    return re.sub(r"\W", "_", name)


def _number(text, kind):
    hexadecimal_float = re.fullmatch(r"0([fFdD])([0-9a-fA-F]+)", text)
    if hexadecimal_float:
        bits = "unsigned" if hexadecimal_float.group(1) in "fF" else "unsigned long long"
        return f"{PTX}as<{kind}>({PTX}float_bits<{bits}>(0x{hexadecimal_float.group(2)}))"
    if re.fullmatch(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uU]?", text):
        digits = text.rstrip("uU")
        return f"{PTX}literal<{kind}>({digits}{'LL' if digits.startswith('-') else 'ULL'})"
    if re.fullmatch(r"[-+]?\d*\.\d*(?:[eE][-+]?\d+)?", text):
        return f"{PTX}literal<{kind}>({text})"
    raise NotModelled(f"cannot read the operand `{text}`".replace("\x01", "%"))


# %tid.x and its kin. Names without a dot are as they stand here, those with one take .x, .y or .z.
SPECIAL = {
    "laneid": "::simt::state.lane",
    "warpid": "(::simt::state.thread / 32)",
    "nwarpid": "(unsigned)64",
    "smid": f"{PTX}multiprocessor()",
    "nsmid": f"{PTX}multiprocessors()",
    "gridid": "(unsigned long long)1",
    "lanemask_eq": "(1u << ::simt::state.lane)",
    "lanemask_lt": "((1u << ::simt::state.lane) - 1)",
    "lanemask_le": "((2u << ::simt::state.lane) - 1)",
    "lanemask_gt": "(0u - (2u << ::simt::state.lane))",
    "lanemask_ge": "(0u - (1u << ::simt::state.lane))",
    "clock": f"(unsigned){PTX}clock()",
    "clock_hi": f"(unsigned)({PTX}clock() >> 32)",
    "clock64": f"{PTX}clock()",
    "globaltimer": f"{PTX}nanoseconds()",
    "globaltimer_lo": f"(unsigned){PTX}nanoseconds()",
    "globaltimer_hi": f"(unsigned)({PTX}nanoseconds() >> 32)",
    "cluster_ctarank": f"{PTX}cluster_rank()",
    "cluster_nctarank": f"{PTX}cluster_blocks()",
    "is_explicit_cluster": f"{PTX}in_cluster()",
    "dynamic_smem_size": f"{PTX}dynamic_shared_bytes()",
    "total_smem_size": f"{PTX}total_shared_bytes()",
}
SPECIAL_VECTORS = {
    "tid": "::threadIdx",
    "ntid": "::blockDim",
    "ctaid": "::blockIdx",
    "nctaid": "::gridDim",
    "cluster_ctaid": f"{PTX}block_in_cluster()",
    "cluster_nctaid": f"{PTX}cluster_shape()",
    "clusterid": f"{PTX}cluster_index()",
    "nclusterid": f"{PTX}grid_clusters()",
}


def special_register(name):
    base, dot, axis = name.partition(".")
    if name in SPECIAL:
        return SPECIAL[name]
    if dot and base in SPECIAL_VECTORS and axis in ("x", "y", "z"):
        return f"{SPECIAL_VECTORS[base]}.{axis}"
    raise NotModelled(f"the special register %{name} is not modelled")
