"""nvcc's command line: which options g++ should see, which nvcc alone understands, and which mean
nothing without a GPU."""

import os
import shlex

# Options with a value: `-arch sm_80`, `-arch=sm_80`. They steer the GPU compiler: dropped.
DROPPED_WITH_VALUE = {
    "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code",
    "-maxrregcount", "--maxrregcount", "-Xptxas", "--ptxas-options", "-Xnvlink", "--nvlink-options",
    "-Xfatbin", "--fatbin-options", "-Xcudafe", "--cudafe-options", "-ccbin", "--compiler-bindir",
    "-t", "--threads", "-split-compile", "--split-compile", "-cudart", "--cudart", "-rdc",
    "--relocatable-device-code", "-diag-suppress", "--diag-suppress", "-diag-error", "--diag-error",
    "-diag-warn", "--diag-warn", "-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt",
    "--prec-sqrt", "-fmad", "--fmad", "-cudadevrt", "--cudadevrt", "-Werror", "--Werror",
    "-opt-info", "--optimization-info", "-dopt", "--dopt", "-ldir", "--libdevice-directory",
    "-target-dir", "--target-directory", "-arbin", "--archiver-binary", "-e", "--entries",
    "-Xarchive", "--archive-options", "-keep-dir", "--keep-dir", "-time", "--time",
    "-split-compile-extended", "--split-compile-extended", "-m", "--machine",
    "-static-global-template-stub", "--static-global-template-stub",
    "-device-entity-has-hidden-visibility", "--device-entity-has-hidden-visibility",
    "-fdevice-time-trace", "--fdevice-time-trace", "-brief-diag", "--brief-diagnostics",
    "-jtd", "--jump-table-density", "-compress-mode", "--compress-mode", "-hls",
    "--host-linker-script", "-device-stack-protector", "--device-stack-protector",
    "-frandom-seed", "--frandom-seed", "-sanitize", "--sanitize", "-idp", "--input-drive-prefix",
    "-ddp", "--dependency-drive-prefix", "-dp", "--drive-prefix",
}
DROPPED = {
    "-lineinfo", "--generate-line-info", "-use_fast_math", "--use_fast_math", "-restrict",
    "--restrict", "--extended-lambda", "-extended-lambda", "--expt-extended-lambda",
    "-expt-extended-lambda", "--expt-relaxed-constexpr", "-expt-relaxed-constexpr",
    "-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets", "-keep", "--keep", "-res-usage",
    "--resource-usage", "-m64", "--m64", "-dlto", "--dlink-time-opt", "-extra-device-vectorization",
    "-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", "-cuda", "--cuda",
    "-noprof", "--dont-use-profile", "-src-in-ptx", "--source-in-ptx", "-no-compress",
    "--no-compress", "-Wreorder", "-Wext-lambda-captures-this", "--Wno-deprecated-declarations",
    "-err-no", "--display-error-number", "-no-err-no", "--no-display-error-number", "-link",
    "--link", "-keep-device-functions", "--keep-device-functions", "-save-temps", "--save-temps",
    "-allow-unsupported-compiler", "--allow-unsupported-compiler", "-nohdinitlist",
    "--no-host-device-initializer-list", "-nohdmoveforward", "--no-host-device-move-forward",
    "-forward-unknown-to-host-linker", "--forward-unknown-to-host-linker", "-forward-unknown-opts",
    "--forward-unknown-opts", "-objtemp", "--objdir-as-tempdir", "-nodlink", "--no-device-link",
    "-ewp", "--extensible-whole-program", "-lto", "--lto", "-gen-opt-lto", "--gen-opt-lto",
    "-reloc-ptx", "--relocatable-ptx", "-aug-hls", "--augment-host-linker-script", "-jobserver",
    "--jobserver", "--no-align-double", "-use-local-env", "--use-local-env",
}
# Libraries that the engine stands in for, and the ones it has no part of.
STOOD_IN = {"cudart", "cudart_static", "cuda", "cudadevrt", "curand", "curand_static", "nvToolsExt"}
GPU_ONLY_OUTPUT = {
    "-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin", "-dlink", "--device-link",
    "-optix-ir", "--optix-ir", "-ltoir", "--ltoir",
}
# Options of g++ that may take their value as a second word. The first three are joined with it.
JOINED = ("-I", "-D", "-U")
WITH_VALUE_FOR_HOST = {*JOINED, "-isystem", "-idirafter"}
LONG_NAMES = {
    "--include-path": "-I", "--define-macro": "-D", "--undefine-macro": "-U", "--library": "-l",
    "--library-path": "-L", "--output-file": "-o", "--dependency-output": "-MF",
    "--generate-dependencies-with-compile": "-MD", "--generate-dependencies": "-M",
    "--generate-nonsystem-dependencies-with-compile": "-MMD", "--compile": "-c",
    "--generate-nonsystem-dependencies": "-MM", "--generate-dependency-targets": "-MP",
    "--dependency-target-name": "-MT", "--output-directory": "-odir", "--device-w": "-dw",
    "--run-args": "-run-args", "--options-file": "-optf", "--no-exceptions": "-noeh",
    "--profile": "-pg", "--disable-warnings": "-w", "--lib": "-lib",
    "--ftemplate-depth": "-ftemplate-depth",
    "--ftemplate-backtrace-limit": "-ftemplate-backtrace-limit",
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
        self.included = []  # what every .cu file includes before its own text
        self.language = None  # -x: cu, c++ or c, whatever a file is called
        self.folder = ""  # -odir: where objects go
        self.preprocess_only = []  # -MD, -MF and the like
        self.link = []
        self.inputs = []
        wishes = (os.environ.get("SIMT_CHECK"), os.environ.get("SIMT_PROFILE"))
        self.instrumented = any(wish not in (None, "", "0") for wish in wishes)
        self.precompile = None  # what is compiled once, beside simt's headers
        self.verbose = False
        self.run = False
        self.run_arguments = []


def parse(arguments):
    arguments, o, i = list(arguments), Options(), 0

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
        elif name == "-lib":
            raise UsageError(f"{text}: makes no archives; ar does, of what -c makes")
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
            o.language = value(text, name)
            if o.language not in ("cu", "c++", "c"):
                raise UsageError(f"-x {o.language}: expected cu, c++, c")
        elif name == "-odir":
            o.folder = value(text, name)
        elif name == "-optf":
            arguments[i + 1 : i + 1] = _words_of(value(text, name))
        elif name in ("-v", "-dryrun"):
            o.verbose = True
        elif name == "-run":
            o.run = True
        elif name == "-run-args":
            o.run_arguments += value(text, name).split(",")
        elif name == "-noeh":
            o.host.append("-fno-exceptions")
        elif name in ("-ftemplate-depth", "-ftemplate-backtrace-limit"):
            o.host.append(f"{name}={value(text, name)}")
        elif name == "-include":
            o.included.append(value(text, name))
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
    _tidy(o)
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


def _tidy(o):
    """-Xcompiler hands on the words of one option one by one: those of g++ with a value are put
    together, and what is to be included goes where -include puts it."""
    words, o.host = iter(o.host), []
    for word in words:
        if word in (*JOINED, "-include"):
            value = next(words, None)
            if value is None:
                raise UsageError(f"{word} needs a value")
            if word == "-include":
                o.included.append(value)
            else:
                o.host.append(word + value)
        else:
            o.host.append(word)


def _words_of(path):
    """The options that a file holds."""
    try:
        with open(path, encoding="utf-8") as file:
            return shlex.split(file.read(), comments=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"-optf {path}: {getattr(error, 'strerror', None) or error}") from None


def _library(o, text):
    if text[2:] not in STOOD_IN or text.startswith("-L"):
        o.link.append(text)
