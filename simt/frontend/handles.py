"""Kernels by pointer: `(void*)k` becomes `::simt::kernel_handle(k)`, so that the runtime knows how
to call what the pointer points to."""

API = {
    "cudaFuncGetAttributes",
    "cudaFuncSetAttribute",
    "cudaFuncSetCacheConfig",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaOccupancyAvailableDynamicSMemPerBlock",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyMaxActiveClusters",
    "cudaOccupancyMaxPotentialBlockSize",
    "cudaOccupancyMaxPotentialClusterSize",
}
CASTS = {"reinterpret_cast", "static_cast"}


def rewrite_handles(source, kernels):
    tokens = source.tokens
    api_end = -1  # up to here we are in the arguments of an API function that takes a kernel
    for i, token in enumerate(tokens):
        if token.text in API and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            api_end = tokens[i + 1].partner or -1
        elif token.text == "(" and _is_void_pointer(source, i + 1, token.partner):
            operand = token.partner + 1
            end = _operand_end(source, operand)
            if end > operand and (i < api_end or _names_kernel(source, operand, end, kernels)):
                source.replace(i, token.partner + 1, "::simt::kernel_handle(")
                source.insert_behind(end - 1, ")")
        elif token.text in CASTS and tokens[i + 1].text == "<":
            behind = source.behind_angle(i + 1)
            if not _is_void_pointer(source, i + 2, behind - 1) or tokens[behind].text != "(":
                continue
            if i < api_end or _names_kernel(source, behind + 1, tokens[behind].partner, kernels):
                source.replace(i, behind, "::simt::kernel_handle")


def _is_void_pointer(source, first, last):
    if last is None:
        return False
    words = [t.text for t in source.tokens[first:last] if t.text != "const"]
    return words == ["void", "*"]


def _operand_end(source, i):
    """Behind a name with its qualifiers and template arguments, or a parenthesis."""
    tokens = source.tokens
    if tokens[i].text == "&":
        i += 1
    if tokens[i].text == "(" and tokens[i].partner is not None:
        return tokens[i].partner + 1
    start = i
    while i < len(tokens):
        if tokens[i].text == "::" or tokens[i].kind == "name":
            i += 1
        elif tokens[i].text == "<" and tokens[i - 1].kind == "name" and i > start:
            i = source.behind_angle(i)
        else:
            break
    return i


def _names_kernel(source, first, last, kernels):
    """Is the last name outside of template arguments that of a kernel?"""
    name, j = None, first
    while j < last:
        token = source.tokens[j]
        if token.kind == "name":
            name = token.text
        elif token.text == "<":
            j = source.behind_angle(j) - 1
        j += 1
    return name in kernels
