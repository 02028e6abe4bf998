"""CUDA C++ to plain C++: applies all rewrites to one preprocessed file."""

from .device_calls import rewrite_device_calls
from .discarded import rewrite_discarded
from .handles import rewrite_handles
from .inline_ptx import rewrite_inline_ptx
from .kernels import rewrite_kernels
from .launches import rewrite_launches
from .polling import rewrite_loops
from .refusals import refuse_unreadable
from .source import Source
from .stores import rewrite_stores
from .variables import rewrite_variables


def rewrite(text, name, architecture, watched=False):
    """(the text as plain C++, the lines that are no longer the user's: pairs of file and line).
    watched: the program's memory accesses will be checked and counted."""
    source = Source(text, name)
    refuse_unreadable(source)
    kernels = rewrite_kernels(source)
    rewrite_launches(source)
    rewrite_variables(source, watched)
    rewrite_loops(source)
    rewrite_device_calls(source, watched)
    if watched:
        rewrite_discarded(source)
        rewrite_stores(source)
    rewrite_inline_ptx(source, architecture)
    rewrite_handles(source, kernels)
    _rewrite_noinline(source)
    return source.result(), source.changed_lines()


def _rewrite_noinline(source):
    """__noinline__ cannot be a macro: g++'s own headers write __attribute__((__noinline__))."""
    for i, token in enumerate(source.tokens):
        if token.text == "__noinline__" and source.tokens[i - 1].text not in ("(", ","):
            source.replace(i, i + 1, "__attribute__((noinline))")
