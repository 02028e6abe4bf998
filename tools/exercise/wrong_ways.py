"""Wrong answers that any exercise may get: they come from its author's file, with other launches.

One block may do the work of all, one after the other. Where the threads of a kernel do not talk to
each other, so may one thread, the host, and one warp of each block; and three of four threads may
have nothing to do. The results are right, and yet it is no answer."""

import re

KERNEL = re.compile(r"__global__ void (\w+)\(([^()]*)\) \{")
LAUNCH = re.compile(r"<<<(.*?)>>>\(", re.S)
# What one thread after the other cannot do, or the host has not got.
TOGETHER = re.compile(r"__shared__|__sync|__shfl|__ballot|__any|__all|atomic|ptx::|asm|template")
# What one block after the other cannot do: what they say to each other, or ask where they are.
APART = re.compile(r"cluster|cooperative_groups|template <[^>]*>\s*__global__|__launch_bounds__")
FOUR_WARPS = "128"
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
SOME = """\
__device__ void {name}_at({built_in}, {parameters});
__global__ void {name}(dim3 size_, {parameters}) {{
  const unsigned all_ = size_.x * size_.y * size_.z, some_ = {some};
  for (unsigned j_ = threadIdx.x; threadIdx.x < some_ && j_ < all_; j_ += some_) {{
    const uint3 thread_{{j_ % size_.x, j_ / size_.x % size_.y, j_ / size_.x / size_.y}};
    {name}_at(gridDim, size_, blockIdx, thread_, {names});
  }}
}}
__device__ void {name}_at({built_in}, {parameters}) {{"""
ONE_BLOCK = """\
__device__ void {name}_at(dim3 gridDim, uint3 blockIdx, {parameters});
__global__ void {name}(dim3 grid_, {parameters}) {{
  for (unsigned i_ = 0; i_ < grid_.x * grid_.y * grid_.z; ++i_) {{
    const uint3 block_{{i_ % grid_.x, i_ / grid_.x % grid_.y, i_ / grid_.x / grid_.y}};
    {name}_at(grid_, block_, {names});
    __syncthreads();
  }}
}}
__device__ void {name}_at(dim3 gridDim, uint3 blockIdx, {parameters}) {{"""


def of(solved, blocks=False):
    """(title, file) of each that can be made of an author's version. blocks: whether their number
    counts."""
    launches = LAUNCH.findall(solved)
    if not launches:
        return
    functions = KERNEL.split(solved)[0]
    if not blocks or APART.search(solved) or "blockIdx" in functions or "gridDim" in functions:
        yield "a grid of one thread", LAUNCH.sub(lambda m: _launch(m[1], "1", "1") + "(", solved)
    elif any(_arguments(launch)[0] != "1" for launch in launches):
        text = KERNEL.sub(lambda m: ONE_BLOCK.format(**_words(m)), solved)
        yield "one block does the work of all", LAUNCH.sub(lambda m: _one_block(m[1]), text)
    # A function that asks for its thread cannot be called by another one.
    if TOGETHER.search(solved) or "Idx" in functions:
        return
    for title, where, kernel in (
        ("one thread does all", "__device__", "__global__"),
        ("the host does it", "inline", "inline"),
    ):
        text = KERNEL.sub(lambda m, w=where, k=kernel: _one_by_one(m, w, k), solved)
        yield title, LAUNCH.sub(lambda m, k=kernel: _call(m[1], k), text)
    yield "one warp of each block works", _some(solved, "32", lambda block: FOUR_WARPS)
    if not any("dim3" in _arguments(launch)[1] for launch in launches):  # 4 blocks fit into one
        four = lambda block: f"4 * dim3({block}).x * dim3({block}).y"
        yield "three of four threads have nothing to do", _some(solved, "all_", four)


def _one_by_one(kernel, where, outer):
    return ONE_BY_ONE.format(where=where, kernel=outer, built_in=BUILT_IN, **_words(kernel))


def _words(kernel):
    name, parameters = kernel.groups()
    names = ", ".join(re.findall(r"\w+$", each.strip())[0] for each in parameters.split(","))
    return {"name": name, "parameters": parameters, "names": names}


def _one_block(launch):
    grid, block = _arguments(launch)[:2]
    return f"{_launch(launch, '1', block)}(dim3({grid}), "


def _call(launch, kernel):
    grid, block = _arguments(launch)[:2]
    how = _launch(launch, "1", "1") if kernel == "__global__" else ""
    return f"{how}(dim3({grid}), dim3({block}), "


def _some(solved, some, threads):
    """some: so many of a block's threads do its work. threads(block): so many there are."""

    def launched(launch):
        grid, block = _arguments(launch)[:2]
        return f"{_launch(launch, grid, threads(block))}(dim3({block}), "

    text = KERNEL.sub(lambda m: SOME.format(some=some, built_in=BUILT_IN, **_words(m)), solved)
    return LAUNCH.sub(lambda m: launched(m[1]), text)


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
