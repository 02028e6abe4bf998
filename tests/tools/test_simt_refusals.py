"""What simt's front end refuses, with its line: each in a millisecond, without a compiler."""

import re
import sys
import unittest

from tool_case import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "simt"))
sys.dont_write_bytecode = True

from frontend.rewrite import rewrite  # noqa: E402
from frontend.source import Refused  # noqa: E402

# simt/tests/build.cpp has one such case of the whole command.
ASM = '__device__ void f({} x) {{\n  asm("{};" : "+{}"(x));\n}}\n'
NOT_MODELLED = "inline PTX: {} is not modelled"
REFUSED = {  # by name: the source, the line, the message
    "texture_reference": (
        "int a;\ntexture<float, 1> tex;\nint main() {}\n", 2, "texture references"
    ),
    "no_arguments": (
        "__global__ void k() {}\nint main() { k<<<1, 1>>>; }\n", 2, ">>> is not followed"
    ),
    "kernel_with_a_result": (
        "__global__ int k(float* x) {\n  return 1;\n}\n", 1, "the kernel k must return void"
    ),
    "grid_alone": (
        "__global__ void k() {}\nint main() {\n  k<<<1>>>();\n}\n",
        3,
        "<<<grid, block, bytes of shared memory, stream>>> takes 2 to 4 values, not 1",
    ),
    "operand": (
        ASM.format("int", "add.s32 %0, %0, y", "r"), 2, "inline PTX: cannot read the operand `y`"
    ),
    "special_register": (
        ASM.format("int", "mov.u32 %0, %%pm0", "r"),
        2,
        NOT_MODELLED.format("the special register %pm0"),
    ),
}
for words, operands, kind, letter in (
    ("createpolicy.fractional.L2::no_allocate.b64", "%0", "long", "l"),
    ("min.xorsign.abs.f32", "%0, %0, %0", "float", "f"),
    ("cvt.rn.satfinite.bf16.f32", "%0, 0f3F800000", "short", "h"),
    ("set.gt.f16x2.f16x2", "%0, %0, %0", "int", "r"),
    ("redux.sync.max.f32", "%0, %0, -1", "float", "f"),
    ("atom.global.exch.b128", "%0, [%0], %0", "long", "l"),
):
    REFUSED[words] = (
        ASM.format(kind, f"{words} {operands}", letter), 2, NOT_MODELLED.format(words)
    )


class Refusals(unittest.TestCase):
    def test_each_is_refused_with_its_line(self):
        for name, (text, line, message) in REFUSED.items():
            with self.subTest(name):
                # As keywords.h leaves it.
                text = re.sub(r"__(global|device)__", r"__simt_\1__", text)
                with self.assertRaises(Refused) as refused:
                    rewrite(f'# 1 "a.cu"\n{text}', "a.cu", 90)
                self.assertRegex(
                    str(refused.exception), rf"^a\.cu:{line}: (error: )?{re.escape(message)}"
                )


if __name__ == "__main__":
    unittest.main()
