"""GPUVerify's CUDA cases (testsuite/CUDA of mc-imperial/gpuverify) as programs.

A case is a kernel without a host program. Its first lines say whether it is right, and of how many
blocks and threads; what it presumes stands in it as `__requires(x == 4)`. Here it gets a main():
arrays of 4 MB, whose 32-bit words count from 0, and for a number what the kernel requires, or 1.
"""

import math
import re

# What the verifier offers to kernels, and what it includes of itself.
PRELUDE = """\
#include <cooperative_groups.h>
#include <curand_kernel.h>
namespace cooperative_groups {
template <class Group>
__device__ void synchronize(const Group& group) {
  group.sync();
}
}  // namespace cooperative_groups
#define __requires(...) ((void)0)
#define __requires_fresh_array(...) ((void)0)
#define __ensures(...) ((void)0)
#define __invariant(...) ((void)0)
#define __global_invariant(...) ((void)0)
#define __assert(...) ((void)0)
#define __assume(...) ((void)0)
"""
ARRAY_BYTES = 4 << 20
NUMBERS = {
    "bool", "char", "short", "int", "unsigned", "unsigned int", "unsigned char", "long", "size_t",
    "float", "double",
}  # fmt: skip

# Where a run needs another value than the one above.
ARGUMENTS = {
    "barrierconditionalkernelparam": {"x": "0"},
    "misc/fail/miscfail7": {"H": "nullptr"},
}
# The verifier looks for neither of these: it calls the case right, and a run shows the fault.
FAULTY = {
    "cooperative_groups/pass/multiple_barriers": "no barrier behind what the neighbour writes",
    "pointertests/test10": "writes past the end of shared memory",
}
# What no run can show, or no GPU can run. (Two writes of one value are no race to the verifier, but
# it takes what an array holds for unknown.)
SAME = "where threads meet they write the same value"
LOCKSTEP = "right if a warp runs in step, which CUDA no longer promises"
ABSTRACT = "no fault: the verifier knows too little"
LEFT_OUT = {
    "atomics/pointer_add": "nvcc refuses it: a variable of the host in a kernel",
    "atomics/test_abstraction_enforced": ABSTRACT,
    "curand_tests/fail/init_race": SAME,
    "globalarray/fail": "no fault unless the host changes its constants",
    "loop_unwind": SAME,
    "memcpy/fail_arrayofstruct": "all threads write what nobody has set",
    "memcpy/fail_overstep": SAME,
    "memcpy/lentoobig": SAME,
    "memcpy/notexactdiv": SAME,
    "memcpy/unhandled_varlen": SAME,
    "pointertests/cast": SAME,
    "pointertests/test12": "nvcc refuses it: a shared variable with a value",
    "warpsync/2d": LOCKSTEP,
    "warpsync/onlywarp_pass": "right only within a warp, which is all that was asked",
    "warpsync/scan_warp": LOCKSTEP,
    "warpsync/shuffle": LOCKSTEP,
}


class LeftOut(Exception):
    """A case that cannot run; the reason."""


def label(case, text):
    """Is the case faulty?"""
    if case in LEFT_OUT:
        raise LeftOut(LEFT_OUT[case])
    first = text.split("\n", 1)[0].strip()
    if first == "//pass":
        return case in FAULTY
    if first in ("//xfail:BOOGIE_ERROR", "//xfail:NOT_ALL_VERIFIED"):
        return True
    raise LeftOut("no kernel to be judged: " + first)


def _size(text, option):
    """`--blockDim=[4,4]` or `--blockDim=64` as arguments of dim3."""
    found = re.search(rf"--{option}=\[?([\d, ]+)", text)
    if found is None:
        raise LeftOut(f"no --{option}")
    return found[1].strip()


def _arguments(case, text, parameters):
    """(lines that make them, the arguments)"""
    lines, arguments = [], []
    for parameter in filter(None, (p.strip() for p in parameters.split(","))):
        found = re.fullmatch(r"(.+?)\s*([*\s])\s*(\w+)", parameter)
        if found is None:
            raise LeftOut("a parameter of no plain type")
        kind, star, name = found.groups()
        kind = " ".join(word for word in kind.split() if word not in ("const", "volatile"))
        value = ARGUMENTS.get(case, {}).get(name)
        required = re.search(rf"__requires\({name} == (\w+)\)", text)
        if star == "*" and "*" not in kind:
            if value is None:
                lines.append(f"  auto* {name} = static_cast<{kind}*>(an_array());")
        elif kind in NUMBERS:
            value = value or (required[1] if required else "1")
        else:
            raise LeftOut("a parameter of no plain type")
        arguments.append(name if value is None else value)
    return lines, arguments


def program(case, path):
    """The text of a program that runs the case."""
    text = path.read_text(encoding="utf-8")
    options = text.split("\n")[1]
    grid, block = _size(options, "gridDim"), _size(options, "blockDim")
    if math.prod(map(int, block.split(","))) > 1024:
        raise LeftOut("a block of more than 1024 threads")
    kernels = re.findall(r"__global__\s+void\s+(\w+)\s*\(([^)]*)\)", text)
    if len(kernels) != 1:
        raise LeftOut("not one kernel")
    if re.search(r"^__device__[^;{()]*\([^;{()]*\);", text, re.MULTILINE):
        raise LeftOut("calls a function that has no body")
    kernel, parameters = kernels[0]
    lines, arguments = _arguments(case, text, parameters)
    if "this_grid" in text:
        pointers = "".join(f"&{name}, " for name in arguments)
        call = (
            f"void* arguments[] = {{{pointers}nullptr}};\n"
            f"  (void)cudaLaunchCooperativeKernel(reinterpret_cast<void*>({kernel}), dim3({grid}), "
            f"dim3({block}), arguments);"
        )
    else:
        call = f"{kernel}<<<dim3({grid}), dim3({block})>>>({', '.join(arguments)});"
    defines = [f"#define {d.replace('=', ' ')}" for d in re.findall(r"-D(\S+)", options)]
    return "\n".join(
        [
            *defines,
            PRELUDE,
            f'#include "{path}"',
            "#undef memcpy",
            "static void* an_array() {",
            f"  static unsigned words[{ARRAY_BYTES // 4}];",
            "  for (unsigned& word : words) word = &word - words;",
            "  void* array = nullptr;",
            "  if (cudaMalloc(&array, sizeof words) != cudaSuccess) return nullptr;",
            "  cudaMemcpy(array, words, sizeof words, cudaMemcpyHostToDevice);",
            "  return array;",
            "}",
            "int main() {",
            *lines,
            f"  {call}",
            "  return cudaDeviceSynchronize() != cudaSuccess;",
            "}",
            "",
        ]
    )


def cases(checkout):
    """(name, path) of each case."""
    root = checkout / "testsuite/CUDA"
    for path in sorted(root.rglob("kernel.cu")):
        yield str(path.parent.relative_to(root)), path
