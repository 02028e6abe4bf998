"""nvcc's command line: which options g++ should see, which nvcc alone understands, and which mean
nothing without a GPU."""

import os

# Options with a value: `-arch sm_80`, `-arch=sm_80`. They steer the GPU compiler: dropped.
DROPPED_WITH_VALUE = {
    "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code",
    "-maxrregcount", "--maxrregcount", "-Xptxas", "--ptxas-options", "-Xnvlink", "--nvlink-options",
    "-Xfatbin", "--fatbin-options", "-Xcudafe", "--cudafe-options", "-ccbin", "--compiler-bindir",
    "-t", "--threads", "-split-compile", "--split-compile", "-cudart", "--cudart", "-rdc",
    "--relocatable-device-code", "-diag-suppress", "--diag-suppress", "-diag-error", "--diag-error",
    "-diag-warn", "--diag-warn", "-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt",
    "--prec-sqrt", "-fmad", "--fmad", "-cudadevrt", "--cudadevrt", "-odir", "--output-directory",
    "-Werror", "--Werror",
}
DROPPED = {
    "-lineinfo", "--generate-line-info", "-use_fast_math", "--use_fast_math", "-restrict",
    "--restrict", "--extended-lambda", "-extended-lambda", "--expt-extended-lambda",
    "-expt-extended-lambda", "--expt-relaxed-constexpr", "-expt-relaxed-constexpr",
    "-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets", "-keep", "--keep", "-res-usage",
    "--resource-usage", "-m64", "--m64", "-dlto", "--dlink-time-opt", "-extra-device-vectorization",
    "-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", "-cuda", "--cuda",
    "-noprof", "-source-in-ptx", "--source-in-ptx", "-display-error-number", "-no-compress",
    "-Wreorder", "-Wext-lambda-captures-this", "-time", "--Wno-deprecated-declarations",
}
# Libraries that the engine stands in for, and the ones it has no part of.
STOOD_IN = {"cudart", "cudart_static", "cuda", "cudadevrt", "curand", "curand_static", "nvToolsExt"}
GPU_ONLY_OUTPUT = {
    "-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin", "-dlink", "--device-link",
    "-optix-ir",
}
WITH_VALUE_FOR_HOST = {"-I", "-D", "-U", "-isystem", "-include", "-MF", "-MT", "-MQ", "-idirafter"}
LONG_NAMES = {
    "--include-path": "-I", "--define-macro": "-D", "--undefine-macro": "-U", "--library": "-l",
    "--library-path": "-L", "--output-file": "-o", "--dependency-output": "-MF",
    "--generate-dependencies-with-compile": "-MD", "--generate-dependencies": "-M",
    "--generate-nonsystem-dependencies-with-compile": "-MMD", "--compile": "-c",
    "--device-c": "-dc", "--preprocess": "-E", "--optimize": "-O", "--std": "-std",
    "--compiler-options": "-Xcompiler",
    "--linker-options": "-Xlinker", "--debug": "-g", "--device-debug": "-G", "--shared": "-shared",
    "--default-stream": "-default-stream", "--x": "-x", "--verbose": "-v", "--dryrun": "-dryrun",
    "--system-include": "-isystem", "--pre-include": "-include", "--run": "-run",
}


class UsageError(Exception):
    pass


class Options:
    def __init__(self):
        self.output = None
        self.action = "link"  # link, compile, preprocess, depend, version, help
        self.standard = "c++17"
        self.optimize = "-O2"
        self.debug = False
        self.host = []  # for both compilation steps
        self.preprocess_only = []  # -MD, -MF and the like
        self.link = []
        self.inputs = []
        wishes = (os.environ.get("SIMT_CHECK"), os.environ.get("SIMT_PROFILE"))
        self.instrumented = any(wish not in (None, "", "0") for wish in wishes)
        self.precompile = None  # what is compiled once, beside simt's headers
        self.verbose = False
        self.run = False


def parse(arguments):
    o, i = Options(), 0

    def value(text, name):
        nonlocal i
        if "=" in text:
            return text.split("=", 1)[1]
        i += 1
        if i >= len(arguments):
            raise UsageError(f"{name} needs a value")
        return arguments[i]

    while i < len(arguments):
        text = arguments[i]
        name = text.split("=", 1)[0]
        name = LONG_NAMES.get(name, name)
        if name in ("--version", "-V"):
            o.action = "version"
        elif name in ("--help", "-h"):
            o.action = "help"
        elif name in ("--simt-check", "--simt-profile"):
            o.instrumented = True
        elif name == "-o":
            o.output = value(text, name)
        elif name in ("-c", "-dc", "-dw"):
            o.action = "compile"
        elif name == "-E":
            o.action = "preprocess"
        elif name in ("-M", "-MM"):
            o.action = "depend"
            o.preprocess_only.append(name)
        elif name in ("-MD", "-MMD", "-MP"):
            o.preprocess_only.append(name)
        elif name in ("-MF", "-MT", "-MQ"):
            o.preprocess_only += [name, value(text, name)]
        elif name in GPU_ONLY_OUTPUT:
            raise UsageError(f"{text}: there is no GPU code in a build for the CPU")
        elif name == "-std":
            o.standard = value(text, name)
        elif name == "-Xcompiler":
            o.host += value(text, name).split(",")
        elif name == "-Xlinker":
            o.link += ["-Wl," + v for v in value(text, name).split(",")]
        elif name == "-default-stream":
            if value(text, name) == "per-thread":
                o.host.append("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1")
        elif name == "-x":
            value(text, name)
        elif name in ("-v", "-dryrun"):
            o.verbose = True
        elif name == "-run":
            o.run = True
        elif name in DROPPED:
            o.debug |= name in ("-lineinfo", "--generate-line-info")
        elif name in DROPPED_WITH_VALUE:
            value(text, name)
        elif name in ("-g", "-G"):
            o.debug = True
            if name == "-G":
                o.optimize = "-O0"
        elif name == "-O":
            o.optimize = "-O" + value(text, name)
        elif text.startswith("-O"):
            o.optimize = text
        elif name in WITH_VALUE_FOR_HOST:
            o.host += [name, value(text, name)]
        elif name in ("-l", "-L"):
            _library(o, name + value(text, name))
        elif text.startswith(("-l", "-L")):
            _library(o, text)
        elif text in ("-shared", "-static", "-pg", "-s") or text.startswith("-Wl,"):
            o.link.append(text)
        elif text == "-w":
            o.host.append(text)
        elif text.startswith("-"):
            o.host.append(text)
        else:
            o.inputs.append(text)
        i += 1
    if o.standard in ("c++03", "c++11", "c++14"):
        o.standard = "c++17"  # what the headers need; nvcc 13 has it as its default, too
    if o.action in ("compile", "link"):
        o.precompile = _precompiled(os.environ.get("SIMT_PRECOMPILE", "0"))
    # What g++ needs to know in both steps.
    if "-fopenmp" in o.host:
        o.link.append("-fopenmp")
    return o


def _precompiled(wish):
    """None, or the headers that are to be compiled once besides simt's: 1 means none."""
    if wish in ("", "0"):
        return None
    if wish == "1":
        return []
    if not os.path.isfile(wish):
        raise UsageError(f"SIMT_PRECOMPILE={wish}: expected 0, 1 or a header")
    return [os.path.abspath(wish)]


def _library(o, text):
    if text[2:] not in STOOD_IN or text.startswith("-L"):
        o.link.append(text)
