"""What a student's file may hold. It runs beside the engine that watches it, in one program: it may
take no part of that engine, of the judge's frame or of the operating system in its hands. No
exercise asks for any of this."""

import functools
import re
from pathlib import Path

import cli

from . import tokens
from .catalog import ExerciseError

INCLUDES = re.compile(
    r"cuda_runtime(_api)?\.h|cuda_(fp16|bf16|fp8|pipeline|pipeline_primitives)\.h|mma\.h"
    r"|cooperative_groups(/\w+)?\.h|cuda/[\w/]+|cub/[\w./]+|math_constants\.h"
    r"|c?(math|stdint|limits|float|stddef|assert|stdio|string|stdlib)(\.h)?"
    r"|algorithm|array|bitset|initializer_list|limits|numeric|tuple|type_traits|utility|vector"
    r"|common/kit/[\w/]+\.(cuh|hpp)"
)
PRAGMAS = re.compile(r"(once|unroll|nounroll|nv_diag\w*|nv_diagnostic)\b")
# Words of the operating system, of the compiler, and of the frame around the file; without those
# that are good names of a variable.
WORDS = set(
    """
    getenv secure_getenv setenv unsetenv putenv clearenv environ argv
    fopen freopen fdopen open openat creat ifstream ofstream fstream filebuf filesystem
    fork vfork execl execlp execle execv execvp execve execvpe system popen posix_spawn
    dlopen dlsym dladdr dl_iterate_phdr syscall ptrace process_vm_readv process_vm_writev
    exit _exit _Exit quick_exit at_quick_exit atexit on_exit sigaction longjmp setjmp
    mmap mprotect mremap munmap madvise shm_open memfd_create pthread_create jthread
    no_sanitize no_sanitize_thread no_instrument_function gnu asm incbin simt exercise main
    __managed__ cudaMallocManaged cudaMallocHost cudaHostAlloc cudaHostRegister
    cudaHostGetDevicePointer cudaLaunchHostFunc cudaStreamAddCallback cudaGraphAddHostNode
    """.split()
)
# Of the words that begin with two underscores, those of CUDA are free; not these.
NOT_CUDA = re.compile(
    r"__(attribute|asm|atomic|builtin(?!_(assume|assume_aligned|expect|unreachable)\b)"
    r"|tsan|sanitizer|simt|extension|typeof|FILE|BASE_FILE|COUNTER|TIME"
    r"|DATE|environ|libc|cxa|gnu|restrict_arr|CONCAT|STRING|REDIRECT|THROW|NTH|glibc|has_)"
)
# CUDA's words that simt's headers name only in parts, or not at all (then the compiler says so):
# intrinsics with a rounding, of pairs and quads, of halves, conversions; qualifiers, assumptions.
FAMILIES = re.compile(
    r"__(\w+_r[nzud](_sat)?|v(abs|add|avg|cmp|hadd|iadd|ib|im|max|min|neg|sad|set|sub)\w*"
    r"|h(abs|add|b|cmadd|div|eq|fma|g[et]|is|l[et]|max|min|mul|ne|sub)\w*"
    r"|(half|bfloat16|float|double|u?int|u?ll|u?short|u?char|lows?|highs?)2\w+"
    r"|\w+_as_(half|u?short|bfloat16)|nv_(bfloat|fp8|cvt)\w*|dp[24]a\w*|u?r?hadd|uni_sync"
    r"|(is(nan|inf|finite)|signbit|finite)[dfl]?|is(Constant|ClusterShared|GridConstant|Local)"
    r"|cluster\w+|threadfence_cluster|cvta_\w+|barrier_sync(_count)?"
    r"|noinline__|inline__|assume|builtin_\w+|LINE__)"
)
RESERVED = re.compile(r"__\w+|_[A-Z]\w*")
# What nobody may use, not even where the author does: the engine, and the frame around the file.
NEVER = {"simt", "exercise", "main"}


def look_at(file, exercise):
    """Raises ExerciseError with the first thing that a file may not hold. The words and includes of
    the author's code are free."""
    text = file.read_bytes().decode("utf-8-sig", errors="replace")
    author = list(tokens.lines(cli.read_text(exercise.author_file)))
    free = {token.text for line in author for token in line if token.kind == "word"} - NEVER
    includes = {token.text[1:-1] for line in author for token in line if token.kind == "header"}
    frame = set(re.findall(r"[A-Za-z_]\w*", exercise.frame))
    refused = getattr(exercise.judge(), "REFUSED", {})
    for line in tokens.lines(text):
        for number, says in _findings(line, free, frame, includes, refused):
            raise ExerciseError(f"{file.name}:{number}: {says}")


def _findings(line, free, frame, includes, refused):
    """(where, what is wrong) of the tokens of a line."""
    plain = [token for token in line if token.kind != "blank"]
    odd = next((token for token in plain if token.kind in ("odd", "raw")), None)
    if odd:
        what = odd.text if odd.kind == "odd" else f"{odd.text}...\", which begins a raw string"
        yield odd.line, f"a file may not have {what}"
        return
    if plain and plain[0].text in ("#", "%:"):
        name = plain[1].text if len(plain) > 1 else ""
        rest = "".join(t.text if t.kind != "blank" else " " for t in line)
        rest = rest.partition(name or plain[0].text)[2].strip()
        says = _of_directive(name, rest, free, frame, includes)
        if says:
            yield plain[0].line, says
    for before, token in zip([None, *plain], plain):
        says = _of_word(token.text, free) if token.kind == "word" else ""
        if token.text in refused:
            says = f"{token.text} {refused[token.text]}"
        if token.text in ("##", "%:"):
            says = f"a file may not use {token.text}"
        elif token.kind == "quoted" and before and before.text == "extern":
            says = 'a file may not use extern "C"'
        if says:
            yield token.line, says


def _of_directive(name, rest, free, frame, includes):
    if name in ("include", "include_next", "import"):
        path = rest[1:-1] if name == "include" else ""
        if path in includes or INCLUDES.fullmatch(path) and ".." not in path:
            return ""
        return f"a file may not include {rest} (exercises.md says what it may)"
    if name in ("define", "undef"):
        word = re.match(r"\w*", rest).group()
        if word in frame or word in KEYWORDS or word.startswith("cuda"):
            return f"a file may not #{name} {word}"
        return ""
    if name in ("ifdef", "ifndef", "if", "elif", "else", "endif", "error", "warning"):
        return ""
    if name == "pragma" and PRAGMAS.match(rest):
        return ""
    return f"a file may not use #{name} {rest}".rstrip()


def _of_word(word, free):
    if word in free:
        return ""
    is_ours = word in WORDS or word.startswith("exercise_")
    if is_ours or RESERVED.fullmatch(word) and not _is_cudas(word):
        return f"a file may not use {word} (exercises.md says what it may)"
    return ""


def _is_cudas(word):
    if NOT_CUDA.match(word):
        return False
    return bool(FAMILIES.fullmatch(word)) or word in _cuda_words()


@functools.lru_cache
def _cuda_words():
    headers = sorted((cli.REPOSITORY / "simt/include").rglob("*"))
    headers += sorted((cli.REPOSITORY / "simt/frontend").glob("keywords.h"))
    texts = (cli.read_text(Path(path)) for path in headers if path.is_file())
    words = {word for text in texts for word in re.findall(r"\b__\w+", text)}
    return words | {"__CUDA_ARCH__", "__CUDACC__", "__SIMT__", "__restrict__", "__func__"}


KEYWORDS = set(
    """
    alignas alignof auto bool break case catch char class const const_cast constexpr continue
    decltype default delete do double dynamic_cast else enum explicit extern false float for friend
    goto if inline int long mutable namespace new noexcept nullptr operator private protected public
    register reinterpret_cast return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename union unsigned using
    virtual void volatile while std size_t
    """.split()
)
