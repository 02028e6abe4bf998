"""Wrong answers that any exercise may get: they come from its author's file, with other launches.

Where the threads of a kernel do not talk to each other, one thread may do the work of all, one
after the other; and so may the host. The results are right, and yet it is no answer."""

import re

KERNEL = re.compile(r"__global__ void (\w+)\(([^()]*)\) \{")
LAUNCH = re.compile(r"<<<(.*?)>>>\(", re.S)
# What one thread after the other cannot do, or the host has not got.
TOGETHER = re.compile(r"__shared__|__sync|__shfl|__ballot|__any|__all|atomic|ptx::|asm|template")
BUILT_IN = "dim3 gridDim, dim3 blockDim, uint3 blockIdx, uint3 threadIdx"
ONE_BY_ONE = """\
{where} void {name}_at({built_in}, {parameters});
{kernel} void {name}(dim3 grid_, dim3 size_, {parameters}) {{
  for (unsigned i_ = 0; i_ < grid_.x * grid_.y * grid_.z; ++i_) {{
    for (unsigned j_ = 0; j_ < size_.x * size_.y * size_.z; ++j_) {{
      const uint3 block_{{i_ % grid_.x, i_ / grid_.x % grid_.y, i_ / grid_.x / grid_.y}};
      const uint3 thread_{{j_ % size_.x, j_ / size_.x % size_.y, j_ / size_.x / size_.y}};
      {name}_at(grid_, size_, block_, thread_, {names});
    }}
  }}
}}
{where} void {name}_at({built_in}, {parameters}) {{"""


def of(solved):
    """(title, file) of each that can be made of an author's version."""
    launches = LAUNCH.findall(solved)
    if not launches:
        return
    yield "a grid of one thread", LAUNCH.sub(lambda m: _launch(m[1], "1", "1") + "(", solved)
    # A function that asks for its thread cannot be called by another one.
    functions = KERNEL.split(solved)[0]
    if TOGETHER.search(solved) or "Idx" in functions:
        return
    for title, where, kernel in (
        ("one thread does all", "__device__", "__global__"),
        ("the host does it", "inline", "inline"),
    ):
        text = KERNEL.sub(lambda m, w=where, k=kernel: _one_by_one(m, w, k), solved)
        yield title, LAUNCH.sub(lambda m, k=kernel: _call(m[1], k), text)


def _one_by_one(kernel, where, outer):
    name, parameters = kernel.groups()
    names = ", ".join(re.findall(r"\w+$", each.strip())[0] for each in parameters.split(","))
    words = {"name": name, "parameters": parameters, "names": names, "built_in": BUILT_IN}
    return ONE_BY_ONE.format(where=where, kernel=outer, **words)


def _call(launch, kernel):
    grid, block = _arguments(launch)[:2]
    how = _launch(launch, "1", "1") if kernel == "__global__" else ""
    return f"{how}(dim3({grid}), dim3({block}), "


def _launch(launch, grid, block):
    return f"<<<{', '.join([grid, block, *_arguments(launch)[2:]])}>>>"


def _arguments(text):
    """What commas divide, but for those in brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
