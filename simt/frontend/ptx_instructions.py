"""What each PTX instruction becomes: calls of the functions in simt/include/simt/ptx*.h.

One function for each family of instructions, registered under the first word of their names.
`translate` is given a block (inline_ptx.py), which reads and writes operands.
"""

import re

PTX = "::simt::ptx::"

# C++ types of the suffixes. f16 and its kin are types of our own with the arithmetic of the chip.
TYPES = {
    "b8": "unsigned char",
    "u8": "unsigned char",
    "s8": "signed char",
    "b16": "unsigned short",
    "u16": "unsigned short",
    "s16": "short",
    "b32": "unsigned",
    "u32": "unsigned",
    "s32": "int",
    "b64": "unsigned long long",
    "u64": "unsigned long long",
    "s64": "long long",
    "b128": "unsigned __int128",
    "f32": "float",
    "f64": "double",
    "pred": "bool",
    "f16": f"{PTX}f16",
    "bf16": f"{PTX}bf16",
    "f16x2": f"{PTX}f16x2",
    "bf16x2": f"{PTX}bf16x2",
    "s16x2": f"{PTX}s16x2",
    "u16x2": f"{PTX}u16x2",
}
BITS = {
    "b8": 8,
    "u8": 8,
    "s8": 8,
    "b16": 16,
    "u16": 16,
    "s16": 16,
    "f16": 16,
    "bf16": 16,
    "b32": 32,
    "u32": 32,
    "s32": 32,
    "f32": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "s16x2": 32,
    "u16x2": 32,
    "b64": 64,
    "u64": 64,
    "s64": 64,
    "f64": 64,
    "b128": 128,
}
FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")
WIDE = {"u16": "unsigned", "s16": "int", "u32": "unsigned long long", "s32": "long long"}


class NotModelled(Exception):
    """An instruction or an operand that simt does not know."""


class Instruction:
    """`mad.lo.s32 %0, %1, %2, 4`: words is ["mad", "lo", "s32"], operands are the four texts."""

    def __init__(self, text, block):
        name, _, rest = text.partition(" ")
        # `bar.sync 0` and `[%0]`directly behind the name both occur.
        behind = re.match(r"([\w.:]+)(.*)$", name)
        if not behind:
            raise NotModelled(f"cannot read `{text}`".replace("\x01", "%"))
        self.name = behind.group(1)
        self.words = self.name.split(".")
        self.operands = _split(behind.group(2) + " " + rest)
        self.block = block

    def has(self, word):
        return word in self.words

    def type(self, index=-1):
        """The type at this place among the words that are types."""
        found = [w for w in self.words[1:] if w in TYPES]
        if len(found) < (index + 1 if index >= 0 else -index):
            self.refuse()
        return found[index]

    def read(self, index, kind):
        """kind: a PTX type or a C++ one."""
        if index >= len(self.operands):
            self.refuse()
        return self.block.read(self.operands[index], TYPES.get(kind, kind))

    def write(self, index, value):
        return self.block.write(self.operands[index], value)

    def vector(self, index):
        text = self.operands[index]
        if text.startswith("{"):
            return _split(text[1:-1])
        return [text]

    def address(self, index, shared=None):
        """A pointer for `[a]`, `[a+16]`. shared: None: as the words say."""
        inside = re.fullmatch(r"\[\s*(.*?)\s*\]", self.operands[index], re.S)
        if not inside:
            raise NotModelled(f"cannot read the address {self.operands[index]}")
        return self.pointer(inside.group(1), shared)

    def pointer(self, text, shared=None):
        if shared is None:
            shared = any(w.startswith("shared") for w in self.words)
        plus = re.fullmatch(r"(\S+?)\s*([+-])\s*(\w+)", text)
        base, offset = (plus.group(1), plus.group(2) + plus.group(3)) if plus else (text, "")
        if shared:
            variable = self.block.variable(base)
            address = f"{PTX}shared_offset_of({variable})" if variable else self.block.read(
                base, "unsigned")
            return f"{PTX}shared_pointer({address} {offset})"
        return f"{PTX}pointer({self.block.read(base, 'unsigned long long')} {offset})"

    def refuse(self, why="is not modelled"):
        raise NotModelled(f"{self.name} {why}")


def _split(text):
    parts, current, depth = [], "", 0
    for c in text + ",":
        if c == "," and depth == 0:
            if current.strip():
                parts.append(current.strip())
            current = ""
        else:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(c, 0)
            current += c
    return parts


HANDLERS = {}

# The oldest architecture that has an instruction, by how its name begins; the longest one decides.
NEEDS = {
    "wgmma": 90,
    "setmaxnreg": 90,
    "elect": 90,
    "mapa": 90,
    "getctarank": 90,
    "griddepcontrol": 90,
    "stmatrix": 90,
    "barrier.cluster": 90,
    "cp.async.bulk": 90,
    "cp.reduce": 90,
    "mbarrier.try_wait": 90,
    "mbarrier.expect_tx": 90,
    "mbarrier.arrive.expect_tx": 90,
    "mbarrier.complete_tx": 90,
    "fence.proxy": 90,
    "fence.mbarrier_init": 90,
    "prefetch.tensormap": 90,
    "st.async": 90,
    "red.async": 90,
    "cp.async": 80,
    "mbarrier": 80,
    "redux": 80,
    "createpolicy": 80,
    "movmatrix": 75,
    "ldmatrix": 75,
    "mma": 75,
}


def handles(*names):
    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function

    return register


# Words that change what an instruction does, and that no function here knows.
NOT_MODELLED = {"xorsign", "rs", "oob", "ignore_oob"}


def translate(text, block):
    """The C++ statements for one instruction."""
    instruction = Instruction(text, block)
    handler = HANDLERS.get(instruction.words[0])
    if handler is None or NOT_MODELLED.intersection(instruction.words):
        instruction.refuse()
    starts = [s for s in NEEDS if instruction.name == s or instruction.name.startswith(s + ".")]
    if starts and NEEDS[max(starts, key=len)] > block.architecture:
        instruction.refuse(
            f"needs sm_{NEEDS[max(starts, key=len)]}, and the model GPU is "
            f"sm_{block.architecture} (SIMT_ARCH)"
        )
    try:
        return handler(instruction)
    except (IndexError, KeyError, StopIteration, ValueError):
        instruction.refuse("is not modelled with these types, words or operands")


# ---- arithmetic ----------------------------------------------------------------------------------

ROUNDINGS = ("rz", "rm", "rp")
DIRECTED = ("add", "sub", "mul", "fma", "div", "sqrt", "rcp")  # of f32 and f64


def _flushed(i, kind, value):
    flushes = i.has("ftz") and kind in ("f32", "f16", "f16x2")
    return f"{PTX}flushed({value})" if flushes else value


def _finish(i, kind, value):
    value = _flushed(i, kind, value)
    if i.has("relu"):
        value = f"{PTX}relu({value})"
    if i.has("sat") and kind in FLOATS:
        value = f"{PTX}saturated({value})"
    return i.write(0, value)


def _operation(name, count):
    def translate_operation(i):
        kind = i.type()
        if i.has("cc"):
            return _with_carry(i)
        function = name
        if kind in FLOATS:
            modes = [r for r in ROUNDINGS if i.has(r)]
            if modes:
                if kind not in ("f32", "f64") or name not in DIRECTED:
                    i.refuse()
                function = f"{name}_{modes[0]}"
        elif i.has("sat"):
            function = f"{name}_sat"
        arguments = ", ".join(_flushed(i, kind, i.read(n + 1, kind)) for n in range(count))
        value = f"{PTX}{function}<{TYPES[kind]}>({arguments})"
        if i.has("ftz") and name in ("mul", "fma"):
            directed = _flag(any(map(i.has, ROUNDINGS)))
            value = f"{PTX}flushed_product<{TYPES[kind]}>({directed}, {value}, {arguments})"
        return _finish(i, kind, value)

    return translate_operation


for _name, _count in {
    "add": 2,
    "sub": 2,
    "div": 2,
    "rem": 2,
    "abs": 1,
    "neg": 1,
    "and": 2,
    "or": 2,
    "xor": 2,
    "not": 1,
    "cnot": 1,
    "fma": 3,
    "copysign": 2,
    "sad": 3,
}.items():
    HANDLERS[_name] = _operation(
        {"and": "and_", "or": "or_", "xor": "xor_", "not": "not_"}.get(_name, _name), _count
    )


def _flag(condition):
    return "true" if condition else "false"


@handles("addc", "subc")
def _with_carry(i):
    name = i.words[0].rstrip("c")
    kind = i.type()
    return i.write(
        0,
        f"{PTX}{name}_carry<{TYPES[kind]}>({i.read(1, kind)}, {i.read(2, kind)}, "
        f"{_flag(i.words[0] != name)}, {_flag(i.has('cc'))})",
    )


@handles("min", "max")
def _extreme(i):
    kind = i.type()
    function = i.words[0] + ("_nan" if i.has("NaN") else "")
    value = _flushed(i, kind, i.read(1, kind))
    for n in range(2, len(i.operands)):
        other = _flushed(i, kind, i.read(n, kind))
        value = f"{PTX}{function}<{TYPES[kind]}>({value}, {other})"
    return _finish(i, kind, value)


def _product(i, kind, a, b):
    """The lower or the upper half of an integer product."""
    if i.words[0].endswith("24"):
        return f"{PTX}mul24<{TYPES[kind]}>({a}, {b}, {_flag(i.has('hi'))})"
    return f"{PTX}mul_{'hi' if i.has('hi') else 'lo'}<{TYPES[kind]}>({a}, {b})"


@handles("mul", "mul24")
def _mul(i):
    kind = i.type()
    if kind in FLOATS:
        return _operation("mul", 2)(i)
    a, b = i.read(1, kind), i.read(2, kind)
    if i.has("wide"):
        return i.write(0, f"static_cast<{WIDE[kind]}>({a}) * static_cast<{WIDE[kind]}>({b})")
    return i.write(0, _product(i, kind, a, b))


@handles("mad", "mad24", "madc")
def _mad(i):
    kind = i.type()
    if kind in FLOATS:
        return _operation("fma", 3)(i)
    a, b = i.read(1, kind), i.read(2, kind)
    if i.has("wide"):
        wide = WIDE[kind]
        return i.write(
            0, f"static_cast<{wide}>({a}) * static_cast<{wide}>({b}) + {i.read(3, wide)}"
        )
    product = _product(i, kind, a, b)
    if i.words[0] == "madc" or i.has("cc"):
        flags = f"{_flag(i.words[0] == 'madc')}, {_flag(i.has('cc'))}"
        return i.write(
            0, f"{PTX}add_carry<{TYPES[kind]}>({product}, {i.read(3, kind)}, {flags})"
        )
    add = "add_sat" if i.has("sat") else "add"
    return i.write(0, f"{PTX}{add}<{TYPES[kind]}>({product}, {i.read(3, kind)})")


@handles("shl", "shr")
def _shift(i):
    kind = i.type()
    return i.write(0, f"{PTX}{i.words[0]}<{TYPES[kind]}>({i.read(1, kind)}, {i.read(2, 'u32')})")


@handles("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt")
def _special_function(i):
    kind = i.type()
    if kind not in FLOATS:
        i.refuse()
    if i.words[0] in DIRECTED and any(map(i.has, ROUNDINGS)):
        return _operation(i.words[0], 1)(i)
    return _finish(
        i, kind, f"{PTX}{i.words[0]}<{TYPES[kind]}>({_flushed(i, kind, i.read(1, kind))})"
    )


@handles("popc", "clz", "brev", "bfind")
def _bits(i):
    kind = i.type()
    name = "bfind_shift" if i.has("shiftamt") else i.words[0]
    return i.write(0, f"{PTX}{name}<{TYPES[kind]}>({i.read(1, kind)})")


@handles("bfe")
def _bfe(i):
    kind = i.type()
    return i.write(
        0, f"{PTX}bfe<{TYPES[kind]}>({i.read(1, kind)}, {i.read(2, 'u32')}, {i.read(3, 'u32')})"
    )


@handles("bfi")
def _bfi(i):
    kind = TYPES[i.type()]
    return i.write(
        0,
        (
            f"{PTX}bfi<{kind}>({i.read(1, kind)}, {i.read(2, kind)}, {i.read(3, 'u32')}, "
            f"{i.read(4, 'u32')})"
        ),
    )


@handles("lop3")
def _lop3(i):
    return i.write(0, f"{PTX}lop3({', '.join(i.read(n, 'u32') for n in range(1, 5))})")


@handles("prmt")
def _prmt(i):
    if i.words[-1] != "b32":
        arguments = ", ".join(i.read(n, "u32") for n in range(1, 4))
        return i.write(0, f"{PTX}prmt_mode({arguments}, {PTX}Permute::{i.words[-1]})")
    return i.write(0, f"{PTX}prmt({', '.join(i.read(n, 'u32') for n in range(1, 4))})")


@handles("shf")
def _shf(i):
    direction, clamp = i.words[1], i.words[2] == "clamp"
    name = f"funnel_{direction}"
    shift = i.read(3, "u32")
    shift = f"({shift} > 32 ? 32 : {shift})" if clamp else f"({shift} & 31)"
    return i.write(0, f"{PTX}{name}({i.read(1, 'u32')}, {i.read(2, 'u32')}, {shift})")


@handles("dp4a", "dp2a")
def _dot(i):
    a, b = [w for w in i.words if w in ("u32", "s32")]
    bytes_of = {"u32": "unsigned char", "s32": "signed char"}
    halves_of = {"u32": "unsigned short", "s32": "short"}
    operands = ", ".join(i.read(n, "u32") for n in range(1, 4))
    if i.words[0] == "dp4a":
        return i.write(0, f"{PTX}dp4a<{bytes_of[a]}, {bytes_of[b]}>({operands})")
    upper = _flag(i.has("hi"))
    return i.write(0, f"{PTX}dp2a<{halves_of[a]}, {bytes_of[b]}>({operands}, {upper})")


@handles("szext")
def _szext(i):
    kind = i.type()
    arguments = f"{i.read(1, kind)}, {i.read(2, 'u32')}, {_flag(i.has('clamp'))}"
    return i.write(0, f"{PTX}szext<{TYPES[kind]}>({arguments})")


@handles("fns")
def _fns(i):
    return i.write(0, f"::__fns({i.read(1, 'u32')}, {i.read(2, 'u32')}, {i.read(3, 's32')})")


@handles("bmsk")
def _bmsk(i):
    clamp = _flag(i.has("clamp"))
    return i.write(0, f"{PTX}bmsk({i.read(1, 'u32')}, {i.read(2, 'u32')}, {clamp})")


# ---- comparing and choosing ----------------------------------------------------------------------

COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}


def _comparison(i, a, b):
    word = i.words[1]
    if word == "ne" and i.type() in FLOATS:  # of numbers
        return f"({a} < {b} || {a} > {b})"
    if word in COMPARISONS:
        return f"({a} {COMPARISONS[word]} {b})"
    if word in ("num", "nan"):
        return f"{PTX}{word}({a}, {b})"
    if word.endswith("u") and word[:-1] in COMPARISONS:
        return f"({PTX}nan({a}, {b}) || {a} {COMPARISONS[word[:-1]]} {b})"
    i.refuse()


@handles("setp")
def _setp(i):
    kind = i.type()
    if kind in ("f16x2", "bf16x2"):
        i.refuse()
    signed = kind if i.words[1] not in ("lo", "ls", "hi", "hs") else kind.replace("s", "u")
    value = _comparison(i, *(_flushed(i, kind, i.read(n, signed)) for n in (1, 2)))
    both = [part.strip() for part in i.operands[0].split("|")]
    other = f"!{value}"
    if i.words[2] in ("and", "or", "xor"):
        join = {"and": "&&", "or": "||", "xor": "!="}[i.words[2]]
        predicate = i.read(3, "bool")
        value, other = f"({value} {join} {predicate})", f"({other} {join} {predicate})"
    code = i.block.write(both[0], value)
    if len(both) == 2:
        code = i.block.write(both[1], other) + " " + code
    return code


@handles("set")
def _set(i):
    to, kind = i.type(-2), i.type()
    if kind in ("f16x2", "bf16x2"):
        i.refuse()
    value = _comparison(i, *(_flushed(i, kind, i.read(n, kind)) for n in (1, 2)))
    return i.write(0, f"({value} ? {PTX}true_of<{TYPES[to]}>() : {TYPES[to]}{{}})")


@handles("selp")
def _selp(i):
    kind = i.type()
    return i.write(0, f"({i.read(3, 'bool')} ? {i.read(1, kind)} : {i.read(2, kind)})")


@handles("slct")
def _slct(i):
    kind, by = i.type(-2), i.type()
    choice = _flushed(i, by, i.read(3, by))
    return i.write(0, f"({choice} >= 0 ? {i.read(1, kind)} : {i.read(2, kind)})")


@handles("testp")
def _testp(i):
    return i.write(0, f"{PTX}testp_{i.words[1]}({i.read(1, i.type())})")


# ---- moving and converting -----------------------------------------------------------------------


@handles("mov")
def _mov(i):
    kind = i.type()
    if i.operands[0].startswith("{"):
        parts = i.vector(0)
        width = BITS[kind] // len(parts)
        code = f"const auto simt_whole = {i.read(1, 'b' + str(BITS[kind]))};"
        for n, part in enumerate(parts):
            code += " " + i.block.write(
                part, f"static_cast<{TYPES['b' + str(width)]}>(simt_whole >> {n * width})"
            )
        return f"{{ {code} }}"
    if i.operands[1].startswith("{"):
        parts = i.vector(1)
        width = BITS[kind] // len(parts)
        whole = TYPES["b" + str(BITS[kind])]
        pieces = [
            f"static_cast<{whole}>({i.block.read(part, TYPES['b' + str(width)])}) << {n * width}"
            for n, part in enumerate(parts)
        ]
        return i.write(0, " | ".join(pieces))
    return i.write(0, i.read(1, kind))


@handles("cvta")
def _cvta(i):
    kind = i.type()
    if any(w.startswith("shared") for w in i.words):
        if i.has("to"):
            return i.write(0, f"{PTX}shared_address({PTX}pointer({i.read(1, 'u64')}))")
        return i.write(0, f"{PTX}address_of({PTX}shared_pointer({i.read(1, 'u32')}))")
    return i.write(0, i.read(1, kind))


@handles("isspacep")
def _isspacep(i):
    space = i.words[1].replace("::", "_")
    if space not in ("shared", "shared_cta", "shared_cluster", "global", "local", "const"):
        i.refuse()
    return i.write(0, f"{PTX}is_in_{space}({PTX}pointer({i.read(1, 'u64')}))")


@handles("cvt")
def _cvt(i):
    words = i.words
    if words[1] == "pack":
        kind = words[3]  # cvt.pack.sat.u8.s32{.b32}
        bits = int(kind[1:])
        if kind not in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
            i.refuse()
        above = i.read(3, "u32") if len(i.operands) > 3 else "0u"
        to = "int" if kind[0] == "s" else "unsigned"
        return i.write(
            0, f"{PTX}cvt_pack<{to}>({i.read(1, 's32')}, {i.read(2, 's32')}, {above}, {bits})"
        )
    to, kind = words[-2], words[-1]
    if i.has("satfinite") and to not in ("e4m3x2", "e5m2x2"):
        i.refuse()
    rounding = next(
        (w for w in words[1:] if w in ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")),
        "",
    )
    # Pairs: the first operand becomes the upper half.
    if to in ("f16x2", "bf16x2") and kind == "f32":
        one = to[:-2]
        halves = [
            f"{PTX}narrowed<{TYPES[one]}, {PTX}Round::{rounding or 'rn'}>({i.read(n, 'f32')})"
            for n in (1, 2)
        ]
        if i.has("relu"):
            halves = [f"{PTX}relu({h})" for h in halves]
        return i.write(0, f"{PTX}pair({halves[0]}, {halves[1]})")
    if to in ("e4m3x2", "e5m2x2"):
        relu = "true" if i.has("relu") else "false"
        if kind == "f32":
            values = f"{i.read(1, 'f32')}, {i.read(2, 'f32')}"
        elif kind == "f16x2":
            values = f"{PTX}upper({i.read(1, 'f16x2')}), {PTX}lower({i.read(1, 'f16x2')})"
        else:
            i.refuse()
        return i.write(0, f"{PTX}pack_{to[:-2]}({values}, {relu})")
    if kind in ("e4m3x2", "e5m2x2") and to == "f16x2":
        value = f"{PTX}unpack_{kind[:-2]}({i.read(1, 'u16')})"
        return i.write(0, f"{PTX}relu({value})" if i.has("relu") else value)
    if to == "tf32" and kind == "f32":
        value = f"{PTX}to_tf32<{PTX}Round::{rounding}>({i.read(1, 'f32')})"
        return i.write(0, f"{PTX}relu({value})" if i.has("relu") else value)
    if to not in TYPES or kind not in TYPES:
        i.refuse()
    value = i.read(1, kind)
    if i.has("ftz") and (kind == "f32" or (kind, to) == ("f64", "f32")):
        value = f"{PTX}{'flushed' if kind == 'f32' else 'flushed_to_float'}({value})"
    saturate = "true" if i.has("sat") else "false"
    round_name = f"{PTX}Round::{rounding or 'none'}"
    if (
        to in FLOATS
        and kind in ("f32", "f64")
        and not rounding.endswith("i")
        and to in ("f16", "bf16")
    ):
        value = f"{PTX}narrowed_from<{TYPES[to]}, {PTX}Round::{rounding or 'rn'}>({value})"
        if i.has("sat"):
            value = f"{PTX}saturated({value})"
        return i.write(0, f"{PTX}relu({value})" if i.has("relu") else value)
    value = f"{PTX}convert<{TYPES[to]}, {round_name}, {saturate}>({value})"
    return i.write(0, _flushed(i, to, value))


# ---- memory --------------------------------------------------------------------------------------


def _is_strong(i):
    return any(w in i.words for w in ("volatile", "relaxed", "acquire", "release", "mmio"))


def _scope(i):
    scope = "kBlock" if i.has("cta") else "kSystem" if i.has("sys") else "kDevice"
    return f"::simt::Scope::{scope}"


def _load_store_type(i):
    kind = next((w for w in reversed(i.words[1:]) if w in TYPES), None)
    if kind is None:
        i.refuse()
    return TYPES["b" + str(BITS[kind])], TYPES[kind]


@handles("ld", "ldu")
def _ld(i):
    bits, kind = _load_store_type(i)
    parts = i.vector(0)
    if i.has("param"):
        i.refuse()
    load = f"simt_v, {i.address(1)}"
    load = f"strong({load}, {_scope(i)})" if _is_strong(i) else f"weak({load})"
    code = f"{bits} simt_v[{len(parts)}]; {PTX}load_{load};"
    if i.has("acquire"):
        code += f" {PTX}acquired({_scope(i)});"
    for n, part in enumerate(parts):
        code += " " + i.block.write(part, f"{PTX}as<{kind}>(simt_v[{n}])")
    return f"{{ {code} }}"


@handles("st")
def _st(i):
    bits, _ = _load_store_type(i)
    parts = i.vector(1)
    if i.has("async"):
        return (
            f"{{ const {bits} simt_v[] = {{{', '.join(i.block.read(p, bits) for p in parts)}}};"
            f" {PTX}store_async({i.address(0, True)}, simt_v, sizeof simt_v,"
            f" {i.address(2, True)}); }}"
        )
    store = f"{i.address(0)}, simt_v"
    store = f"strong({store}, {_scope(i)})" if _is_strong(i) else f"weak({store})"
    release = f"{PTX}released({_scope(i)}); " if i.has("release") else ""
    return (
        f"{{ const {bits} simt_v[] = {{{', '.join(i.block.read(p, bits) for p in parts)}}};"
        f" {release}{PTX}store_{store}; }}"
    )


@handles("prefetch", "prefetchu", "applypriority", "discard", "pmevent", "brkpt")
def _hint(i):
    return ";"


CACHE_PRIORITIES = {f"L2::evict_{name}" for name in ("first", "normal", "last", "unchanged")}


@handles("createpolicy")
def _createpolicy(i):
    if not {w for w in i.words if w.startswith("L2::")} <= CACHE_PRIORITIES:
        i.refuse()
    return i.write(0, "0ULL")  # how long lines should stay in L2: nothing depends on it here


REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")


@handles("atom", "red")
def _atom(i):
    operation = next((w for w in i.words[1:] if w in REDUCTIONS), None)
    kind = i.type()
    returns = i.words[0] == "atom"
    if operation is None or kind == "b128":
        i.refuse()
    if i.has("async"):  # into another block of the cluster, told to its mbarrier
        return (
            f"{{ const {TYPES[kind]} simt_v = {i.read(1, kind)}; {PTX}reduce_async("
            f"{i.address(0, True)}, &simt_v, {BITS[kind] // 8}, {i.address(2, True)},"
            f" {PTX}Reduction::{operation}_, {PTX}Element::{kind}); }}"
        )
    at, first = (1, 2) if returns else (0, 1)
    address = i.address(at)
    scope = _scope(i)
    before = f"{PTX}released({scope}); " if any(map(i.has, ("release", "acq_rel"))) else ""
    behind = f" {PTX}acquired({scope});" if any(map(i.has, ("acquire", "acq_rel"))) else ""
    parts = i.vector(first)
    name = {"and": "and_", "or": "or_", "xor": "xor_"}.get(operation, operation)
    if len(parts) > 1:
        code, size = "", BITS[kind] // 8
        for n, part in enumerate(parts):
            value = (
                f"{PTX}atomic_{name}<{TYPES[kind]}>({scope}, {PTX}behind({address}, {n * size}), "
                f"{i.block.read(part, TYPES[kind])})"
            )
            code += i.block.write(i.vector(0)[n], value) if returns else f"{value};"
        return f"{{ {before}{code}{behind} }}"
    arguments = [scope, address, i.read(first, kind)]
    if operation == "cas":
        arguments.append(i.read(first + 1, kind))
    value = f"{PTX}atomic_{name}<{TYPES[kind]}>({', '.join(arguments)})"
    code = i.write(0, value) if returns else f"{value};"
    return f"{{ {before}{code}{behind} }}"


@handles("membar", "fence")
def _fence(i):
    if i.has("mbarrier_init"):
        return f"{PTX}fence_mbarrier_init();"
    if i.has("proxy"):
        shared = i.has("async") and not i.has("global")
        return f"{PTX}fence_proxy();" if shared else ";"
    return f"::simt::memory_fence({_scope(i)});"


# ---- control -------------------------------------------------------------------------------------


@handles("bra")
def _bra(i):
    target = i.operands[0]
    if target not in i.block.labels:
        i.refuse(f"to {target}, which is not in the same asm statement, is not modelled")
    return f"::simt::poll(); goto {i.block.label(target)};"


@handles("trap")
def _trap(i):
    return "::__trap();"


@handles("nanosleep")
def _nanosleep(i):
    return f"::simt::sleep({i.read(0, 'u32')});"


@handles("griddepcontrol", "setmaxnreg")
def _ordered_hint(i):
    if i.words[0] == "setmaxnreg":
        return f"{PTX}set_max_registers({i.read(0, 'u32')}, {'true' if i.has('inc') else 'false'});"
    return ";"  # a kernel starts when the one before it has ended


# ---- barriers of a block and of a cluster --------------------------------------------------------


@handles("bar", "barrier")
def _bar(i):
    words = [w for w in i.words[1:] if w not in ("cta", "aligned")]
    if i.has("cluster"):
        action = next(w for w in words if w in ("arrive", "wait"))
        if action == "arrive":
            return f"{PTX}cluster_arrive({'false' if i.has('relaxed') else 'true'});"
        return f"{PTX}cluster_wait();"
    if words[0] == "warp":
        return f"::__syncwarp({i.read(0, 'u32')});"
    if words[0] == "sync":
        count = i.read(1, "u32") if len(i.operands) > 1 else "0u"
        return f"{PTX}named_barrier_sync({i.read(0, 'u32')}, {count});"
    if words[0] == "arrive":
        return f"{PTX}named_barrier_arrive({i.read(0, 'u32')}, {i.read(1, 'u32')});"
    if words[0] == "red" and words[1] in ("popc", "and", "or") and len(i.operands) == 3:
        vote = {"popc": "count", "and": "and", "or": "or"}[words[1]]
        return i.write(0, f"::__syncthreads_{vote}({i.read(2, 'bool')})")
    i.refuse()


# ---- warps ---------------------------------------------------------------------------------------


@handles("activemask")
def _activemask(i):
    return i.write(0, "::__activemask()")


@handles("vote")
def _vote(i):
    mode, predicate = i.words[2], i.read(1, "bool")
    mask = i.read(2, "u32")
    if mode == "ballot":
        return i.write(0, f"::__ballot_sync({mask}, {predicate})")
    if mode == "uni":
        return i.write(
            0, f"(::__all_sync({mask}, {predicate}) || !::__any_sync({mask}, {predicate}))"
        )
    return i.write(0, f"(::__{mode}_sync({mask}, {predicate}) != 0)")


@handles("match")
def _match(i):
    kind = TYPES[i.type()]
    if i.words[1] == "any":
        return i.write(0, f"::__match_any_sync({i.read(2, 'u32')}, {i.read(1, kind)})")
    both = [part.strip() for part in i.operands[0].split("|")]
    code = (
        f"int simt_all; const unsigned simt_m = ::__match_all_sync({i.read(2, 'u32')},"
        f" {i.read(1, kind)}, &simt_all); {i.block.write(both[0], 'simt_m')}"
    )
    if len(both) == 2:
        code += f" {i.block.write(both[1], 'simt_all != 0')}"
    return f"{{ {code} }}"


@handles("redux")
def _redux(i):
    kind = {"b32": "unsigned", "u32": "unsigned", "s32": "int"}[i.type()]
    operation = next(w for w in i.words if w in ("add", "min", "max", "and", "or", "xor"))
    return i.write(0, f"::__reduce_{operation}_sync({i.read(2, 'u32')}, {i.read(1, kind)})")


@handles("shfl")
def _shfl(i):
    mode = i.words[2]
    both = [part.strip() for part in i.operands[0].split("|")]
    call = (
        f"{PTX}shfl_{mode}({i.read(1, 'u32')}, {i.read(2, 'u32')}, {i.read(3, 'u32')}, "
        f"{i.read(4, 'u32')})"
    )
    code = f"const auto simt_s = {call}; {i.block.write(both[0], 'simt_s.value')}"
    if len(both) == 2:
        code += f" {i.block.write(both[1], 'simt_s.inside')}"
    return f"{{ {code} }}"


@handles("elect")
def _elect(i):
    both = [part.strip() for part in i.operands[0].split("|")]
    code = f"const unsigned simt_leader = {PTX}elect({i.read(1, 'u32')});"
    code += " " + i.block.write(both[0], "simt_leader")
    if len(both) == 2:
        code += " " + i.block.write(both[1], "(simt_leader == ::simt::state.lane)")
    return f"{{ {code} }}"


# ---- matrices of a warp --------------------------------------------------------------------------


@handles("ldmatrix", "stmatrix")
def _matrix(i):
    count = next((int(w[1:]) for w in i.words if w in ("x1", "x2", "x4")), None)
    if count is None or not i.has("m8n8") or i.words[-1] != "b16":
        i.refuse()
    transposed = "true" if i.has("trans") else "false"
    load = i.words[0] == "ldmatrix"
    registers, address = (i.vector(0), 1) if load else (i.vector(1), 0)
    if len(registers) != count:
        i.refuse("has the wrong number of registers")
    pointer = i.address(address, True)
    if load:
        code = f"unsigned simt_m[{count}]; {PTX}ldmatrix(simt_m, {count}, {transposed}, {pointer});"
        for n, register in enumerate(registers):
            code += " " + i.block.write(register, f"simt_m[{n}]")
    else:
        values = ", ".join(i.block.read(r, "unsigned") for r in registers)
        code = (
            f"const unsigned simt_m[] = {{{values}}}; "
            f"{PTX}stmatrix(simt_m, {count}, {transposed}, {pointer});"
        )
    return f"{{ {code} }}"


@handles("movmatrix")
def _movmatrix(i):
    return i.write(0, f"{PTX}movmatrix({i.read(1, 'u32')})")


ELEMENTS = {"f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "e4m3", "e5m2", "s32"}


def _elements(i, count):
    """The types behind the shape of a matrix instruction: d, a, b and, for mma, c."""
    found = [w for w in i.words if w in ELEMENTS]
    if len(found) != count:
        i.refuse()
    return [f"{PTX}Element::{w}" for w in found]


def _shape(i):
    for word in i.words:
        shape = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", word)
        if shape:
            return [int(n) for n in shape.groups()]
    i.refuse()


@handles("mma")
def _mma(i):
    m, n, k = _shape(i)
    if (
        i.has("sp")
        or any(w.startswith("sp::") for w in i.words)
        or (m, n, k) == (8, 8, 4)
        and i.type() != "f64"
    ):
        i.refuse()
    d, a, b, c = _elements(i, 4)
    double = "f64" in i.words
    unit = "unsigned long long" if double else "unsigned"
    lists = [i.vector(n) for n in range(4)]
    arrays = "".join(
        f"const {unit} simt_{name}[] = {{{', '.join(i.block.read(r, unit) for r in lists[at])}}}; "
        for name, at in (("a", 1), ("b", 2), ("c", 3))
    )
    satfinite = "true" if i.has("satfinite") else "false"
    code = (
        f"{unit} simt_d[{len(lists[0])}]; {arrays}{PTX}mma({{{m}, {n}, {k}, {d}, {a}, {b}, {c},"
        f" {satfinite}, {len(lists[0])}, {len(lists[1])}, {len(lists[2])}, {len(lists[3])}}},"
        " simt_d, simt_a, simt_b, simt_c);"
    )
    for at, register in enumerate(lists[0]):
        code += " " + i.block.write(register, f"simt_d[{at}]")
    return f"{{ {code} }}"


@handles("wgmma")
def _wgmma(i):
    action = i.words[1]
    if action == "fence":
        return f"{PTX}wgmma_fence();"
    if action == "commit_group":
        return f"{PTX}wgmma_commit_group();"
    if action == "wait_group":
        return f"{PTX}wgmma_wait_group({i.read(0, 'u32')});"
    if action != "mma_async" or i.has("sp"):
        i.refuse()
    _, n, k = _shape(i)
    d, a, b = _elements(i, 3)
    registers = i.vector(0)
    pointers = []
    for register in registers:
        variable = i.block.variable(register)
        if variable is None:
            i.refuse("needs registers as its accumulators")
        pointers.append(f"&{variable}")
    first = i.operands[1]
    code = f"void* simt_d[] = {{{', '.join(pointers)}}}; "
    if first.startswith("{"):
        a_registers = [
            f"{{{i.block.read(r, 'unsigned')}, {i.block.place(r)}}}" for r in i.vector(1)
        ]
        code += f"const {PTX}ARegister simt_a[] = {{{', '.join(a_registers)}}}; "
        a_operand = "simt_a, 0"
    else:
        a_operand = f"nullptr, {i.read(1, 'u64')}"
    flags = ["1", "1", "0", "0"]
    given = [i.read(at, "s32") for at in range(4, len(i.operands))]
    if first.startswith("{") and len(given) == 3:
        given.insert(2, "0")  # A in registers is never transposed
    flags[: len(given)] = given
    code += (
        f"{PTX}wgmma({{{n}, {k}, {d}, {a}, {b}, {len(registers)}, {_flag(i.has('satfinite'))}}},"
        f" simt_d, {a_operand},"
        f" {i.read(2, 'u64')}, {i.read(3, 'bool')}, {', '.join(flags)});"
    )
    return f"{{ {code} }}"


# ---- copies in the background --------------------------------------------------------------------


@handles("cp")
def _cp(i):
    if i.words[1:3] == ["async", "bulk"]:
        return _bulk(i)
    if i.words[1:4] == ["reduce", "async", "bulk"]:
        return _bulk(i)
    if i.words[1] != "async":
        i.refuse()
    action = i.words[2]
    if action == "commit_group":
        return f"{PTX}cp_async_commit_group();"
    if action == "wait_group":
        return f"{PTX}cp_async_wait_group({i.read(0, 'u32')});"
    if action == "wait_all":
        return f"{PTX}cp_async_wait_all();"
    if action == "mbarrier":
        return (
            f"{PTX}cp_async_mbarrier_arrive({i.address(0, True)},"
            f" {'true' if i.has('noinc') else 'false'});"
        )
    if action not in ("ca", "cg"):
        i.refuse()
    size = i.read(2, "u32")
    source = size
    hint = any(w == "L2::cache_hint" for w in i.words)
    if len(i.operands) - hint > 3:
        predicate = i.block.variable(i.operands[3].lstrip("!"))
        if predicate and predicate.startswith("simt_r_"):
            source = f"({i.block.read(i.operands[3], 'bool')} ? 0u : {size})"
        else:
            source = i.read(3, "u32")
    return f"{PTX}cp_async({i.address(0, True)}, {i.address(1, False)}, {size}, {source});"


def _coordinates(i, index, shared):
    """`[map, {x, y}]`: the map's address and an array of coordinates."""
    inside = re.fullmatch(r"\[\s*([^,]+),\s*\{(.*)\}\s*\]", i.operands[index], re.S)
    if not inside:
        raise NotModelled(f"cannot read {i.operands[index]}")
    values = [i.block.read(c, "int") for c in _split(inside.group(2))]
    return i.pointer(inside.group(1).strip(), False), values


BULK_OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def _bulk(i):
    if i.has("commit_group"):
        return f"{PTX}bulk_commit_group();"
    if i.has("wait_group"):
        return f"{PTX}bulk_wait_group({i.read(0, 'u32')}, {'true' if i.has('read') else 'false'});"
    if i.has("prefetch"):
        return ";"
    reduce = i.words[1] == "reduce"
    operation = next((w for w in i.words if w in BULK_OPERATIONS), None) if reduce else None
    operation = f"{PTX}Reduction::{operation}_" if operation else f"{PTX}Reduction::none"
    spaces = [w for w in i.words if w in ("global", "shared::cta", "shared::cluster")]
    if len(spaces) != 2:
        i.refuse()
    to_shared = spaces[0].startswith("shared")
    multicast = i.has("multicast::cluster")
    if i.has("tensor"):
        if any(w.startswith("im2col") or w.startswith("tile::") for w in i.words):
            i.refuse()
        tensor, coordinates = _coordinates(i, 1 if to_shared else 0, False)
        array = f"const int simt_c[] = {{{', '.join(coordinates)}}}; "
        if to_shared:
            mask = i.read(3, "u16") if multicast else "0"
            return (
                f"{{ {array}{PTX}tensor_load({i.address(0, True)}, {tensor}, simt_c,"
                f" {len(coordinates)}, {i.address(2, True)}, {'true' if multicast else 'false'},"
                f" {mask}); }}"
            )
        return (
            f"{{ {array}{PTX}tensor_store({tensor}, simt_c, {len(coordinates)},"
            f" {i.address(1, True)}, {operation}); }}"
        )
    kind = f"{PTX}Element::{i.words[-1]}" if reduce else f"{PTX}Element::s32"
    if reduce and i.words[-1] not in (
        "f16",
        "bf16",
        "f32",
        "f64",
        "s32",
        "u32",
        "s64",
        "u64",
        "b32",
        "b64",
    ):
        i.refuse()
    if spaces[0] == "global":
        if i.has("cp_mask"):
            i.refuse()
        return (
            f"{PTX}bulk_store({i.address(0, False)}, {i.address(1, True)}, {i.read(2, 'u32')},"
            f" {operation}, {kind});"
        )
    if spaces[1] == "global":
        mask = i.read(4, "u16") if multicast else "0"
        return (
            f"{PTX}bulk_load({i.address(0, True)}, {i.address(1, False)}, {i.read(2, 'u32')}, "
            f"{i.address(3, True)}, {'true' if multicast else 'false'}, {mask});"
        )
    return (
        f"{PTX}bulk_copy_cluster({i.address(0, True)}, {i.address(1, True)}, {i.read(2, 'u32')}, "
        f"{i.address(3, True)}, {operation}, {kind});"
    )


# ---- mbarrier ------------------------------------------------------------------------------------


@handles("mbarrier")
def _mbarrier(i):
    action = i.words[1]
    if action == "init":
        return f"{PTX}mbarrier_init({i.address(0, True)}, {i.read(1, 'u32')});"
    if action == "inval":
        return f"{PTX}mbarrier_inval({i.address(0, True)});"
    if action in ("expect_tx", "complete_tx"):
        return f"{PTX}mbarrier_{action}({i.address(0, True)}, {i.read(1, 'u32')});"
    if action in ("arrive", "arrive_drop"):
        at = 0 if i.operands[0].startswith("[") else 1
        drop = "true" if action == "arrive_drop" else "false"
        more = i.read(at + 1, "u32") if len(i.operands) > at + 1 else None
        if i.has("expect_tx"):
            call = f"{PTX}mbarrier_arrive({i.address(at, True)}, 1, {more or '0'}, {drop})"
        else:
            call = f"{PTX}mbarrier_arrive({i.address(at, True)}, {more or '1'}, 0, {drop})"
        return i.write(0, call) if at == 1 else f"{call};"
    if action in ("test_wait", "try_wait"):
        if i.has("parity"):
            call = f"{PTX}mbarrier_{action}_parity({i.address(1, True)}, {i.read(2, 'u32')})"
        else:
            call = f"{PTX}mbarrier_{action}({i.address(1, True)}, {i.read(2, 'u64')})"
        return i.write(0, call)
    if action == "pending_count":
        return i.write(0, f"{PTX}mbarrier_pending_count({i.read(1, 'u64')})")
    i.refuse()


# ---- clusters ------------------------------------------------------------------------------------


@handles("mapa")
def _mapa(i):
    rank = i.read(2, "u32")
    if any(w.startswith("shared") for w in i.words):
        return i.write(
            0,
            f"{PTX}shared_address({PTX}map_shared_rank({i.pointer(i.operands[1], True)}, {rank}))",
        )
    return i.write(
        0, f"{PTX}address_of({PTX}map_shared_rank({i.pointer(i.operands[1], False)}, {rank}))"
    )


@handles("getctarank")
def _getctarank(i):
    shared = any(w.startswith("shared") for w in i.words)
    return i.write(0, f"{PTX}rank_of_shared({i.pointer(i.operands[1], shared)})")
