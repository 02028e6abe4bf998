"""What simt lacks: refused with its name and its line, or explained where g++ did not find it."""

import re

from .source import Refused

# What the headers of the CUDA Toolkit that simt lacks begin with, and what they belong to.
LIBRARIES = {
    "cublas": "cuBLAS", "cub/": "CUB", "thrust/": "Thrust", "cuda/": "libcu++", "cufft": "cuFFT",
    "cusparse": "cuSPARSE", "cusolver": "cuSOLVER", "cudnn": "cuDNN", "nccl": "NCCL", "npp": "NPP",
    "nvrtc": "NVRTC", "nvml": "NVML", "cutlass/": "CUTLASS", "cute/": "CUTLASS",
}
# Members of cudaDeviceProp that CUDA 12 still has.
GONE_FROM_DEVICE_PROP = {
    "clockRate", "computeMode", "cooperativeMultiDeviceLaunch", "deviceOverlap",
    "kernelExecTimeoutEnabled", "maxTexture1DLinear", "memoryClockRate",
    "singleToDoublePrecisionPerfRatio",
}
# Functions of older toolkits, and what does the same.
GONE_FUNCTIONS = {
    "cudaThreadSynchronize": "cudaDeviceSynchronize", "cudaThreadExit": "cudaDeviceReset",
    "cudaLaunchCooperativeKernelMultiDevice": "cudaLaunchCooperativeKernel on each device",
}
# What g++ says where a call has the form of an older toolkit.
OLDER_FORMS = (
    (r"to .cudaMemLocation\W",
     "since CUDA 13 a cudaMemLocation stands where CUDA 12 had the number of a device"),
    (r"to .cudaGraphExecUpdateResultInfo\W",
     "since CUDA 12 cudaGraphExecUpdate takes a cudaGraphExecUpdateResultInfo"),
    (r"too few arguments to function .*cudaGraphAddDependencies",
     "since CUDA 13 cudaGraphAddDependencies takes the data of the edges, too, or a null pointer"),
)
OLDER = " (with SIMT_CUDA=12 it builds as it is)"
# Kinds of textures and the like that simt lacks, and the names that belong to them.
LACKING = (
    (r"surf[123C]\w*|cuda\w*Surface\w*", "surfaces"),
    (r"tex[12C]\w*Layered\w*", "layered textures"),
    (r"texCubemap\w*", "cube maps"),
    (r"tex[123C]\w*(?:Lod|Grad)|cuda\w*Mipmap\w*", "mipmaps"),
)
COLOURS = re.compile(r"\x1b\[[\d;]*[mK]")


def with_kernels(messages):
    """What g++ says; what it takes for a lambda function may be a kernel, whose body is one."""
    return messages.replace("In lambda function", "In a kernel or a lambda function")


def without_false_carets(messages, changed):
    """What g++ says, without the columns and carets of lines that the front end has changed: they
    count in the changed text, which nobody sees. `changed`: pairs of file and line."""
    kept, hide = [], False
    for line in messages.split("\n"):
        plain = COLOURS.sub("", line)
        place = re.match(r"([^\s:][^:]*):(\d+):(\d+):", plain)
        if place:
            hide = (place.group(1), int(place.group(2))) in changed
            if hide:
                row, column = place.group(2), place.group(3)
                line = line.replace(f":{row}:{column}:", f":{row}:", 1)
        elif hide and re.match(r" +\| ", plain):
            continue
        kept.append(line)
    return "\n".join(kept)


def missing_parts(messages):
    """A line for each thing that g++ could not find because simt, or CUDA 13, lacks it."""
    messages = COLOURS.sub("", messages)
    header = re.search(r"fatal error: (\S+): No such file", messages)
    if header:
        for start, library in LIBRARIES.items():
            if header.group(1).startswith(start):
                return [f"{header.group(1)} belongs to {library}, which simt does not have"]
    parts, explained = [], set()
    for member in re.findall(r"cudaDeviceProp. has no member named .(\w+)", messages):
        if member in GONE_FROM_DEVICE_PROP:
            parts.append(f"CUDA 13 removed cudaDeviceProp::{member}; cudaDeviceGetAttribute tells "
                         f"it{OLDER}")
    for pattern, message in OLDER_FORMS:
        if re.search(pattern, messages):
            parts.append(message + (OLDER if "CUDA 13" in message else ""))
    for name, other in GONE_FUNCTIONS.items():
        if re.search(rf"error: .{name}\W", messages):
            explained.add(name)
            older = OLDER if name.startswith("cudaThread") else ""
            parts.append(f"CUDA 13 has no {name}; {other} does the same{older}")
    for names, kind in LACKING:
        for place, name in re.findall(
            rf"^(\S.*?:\d+):(?:\d+:)? error: .({names}). was not declared", messages, re.MULTILINE
        ):
            explained.add(name)
            parts.append(f"{place}: {name} belongs to {kind}, which simt does not have")
    for name, more in re.findall(
        r"error: .(cu(?:da)?[A-Z]\w*). was not declared in this scope(.*)", messages
    ):
        if name in explained or re.search(r"did you mean \W+cu", more):  # a typing mistake
            continue
        parts.append(f"simt has no {name}" if name.startswith("cuda") else
                     f"{name} belongs to the driver API, which simt does not have")
    for name in re.findall(r"error: .((?:tex|surf)[123C]\w*|curand\w+|CURAND_\w+). "
                           r"(?:was not declared|has not been declared|does not name a type)",
                           messages):
        if name not in explained:
            parts.append(f"simt has no {name}")
    return list(dict.fromkeys(parts))


def refuse_unreadable(source):
    for i, token in enumerate(source.tokens[:-1]):
        if token.kind != "name" or source.tokens[i + 1].text != "<":
            continue
        outside = token.scope is None or token.scope.kind == "namespace"
        if token.text not in ("texture", "surface") or not outside:
            continue
        if source.tokens[i - 1].text in (";", "}", "static", "extern", "{"):
            what = f"{token.text} references are not supported"
            raise Refused(f"{source.place(i)}: {what} (CUDA 12 removed them from nvcc, too)")
