"""What has no meaning on a CPU. Inline PTX still builds: a kernel that comes to it fails with
cudaErrorNotSupported. What cannot even be read is refused here, with its name and its line."""

import re

from .source import Refused

# What the headers of the CUDA Toolkit that simt lacks begin with, and what they belong to.
LIBRARIES = {
    'cublas': 'cuBLAS', 'cub/': 'CUB', 'thrust/': 'Thrust', 'cuda/': 'libcu++', 'cufft': 'cuFFT',
    'cusparse': 'cuSPARSE', 'cusolver': 'cuSOLVER', 'cudnn': 'cuDNN', 'nccl': 'NCCL', 'npp': 'NPP',
    'nvrtc': 'NVRTC', 'nvml': 'NVML', 'cutlass/': 'CUTLASS', 'cute/': 'CUTLASS',
}


def missing_part(messages):
    """One line for what g++ could not find because it is a part of CUDA that simt lacks, or None."""
    messages = re.sub(r'\x1b\[[\d;]*[mK]', '', messages)  # colours
    header = re.search(r'fatal error: (\S+): No such file', messages)
    if header:
        for start, library in LIBRARIES.items():
            if header.group(1).startswith(start):
                return '%s belongs to %s, which simt does not have' % (header.group(1), library)
    name = re.search(r'error: .(cu(?:da)?[A-Z]\w*). was not declared', messages)
    if name:
        if name.group(1).startswith('cuda'):
            return 'simt has no %s' % name.group(1)
        return '%s belongs to the driver API, which simt does not have' % name.group(1)
    return None


def rewrite_inline_ptx(source):
    tokens = source.tokens
    for i, token in enumerate(tokens):
        if token.kind != 'name' or token.text not in ('asm', '__asm__', '__asm'):
            continue
        scope = token.scope
        if scope is None or scope.kind != 'function' or not scope.device:
            continue  # host code may hold assembly of the host
        opening = i + 1
        while tokens[opening].text in ('volatile', '__volatile__', '__volatile', 'inline', 'goto'):
            opening += 1
        if tokens[opening].text != '(':
            continue
        closing = tokens[opening].partner
        parts = source.split(opening + 1, closing, ':')
        template = ''.join(t.text for t in tokens[parts[0][0]:parts[0][1]] if t.kind == 'string')
        instruction = re.search(r'[a-z][\w.:]*', template.replace('\\n', ' ').replace('\\t', ' '))
        if not instruction:
            continue  # an empty one only stops the compiler from moving code
        operands = _operands(source, opening, closing)
        line, file = source.line_and_file(i)
        source.replace(i, closing + 1, 'do { ::simt::unsupported("inline PTX (%s)", "%s", %d); %s} while (0)' % (
            instruction.group(), file, line, ''.join('(void)(%s); ' % o for o in operands)))


def _operands(source, opening, closing):
    """The expressions in the parentheses behind the constraints: "=r"(x)."""
    tokens, found, j = source.tokens, [], opening + 1
    while j < closing:
        if tokens[j].text == '(' and tokens[j - 1].kind == 'string':
            found.append(source.words(j + 1, tokens[j].partner))
            j = tokens[j].partner
        j += 1
    return found


def refuse_unreadable(source):
    for i, token in enumerate(source.tokens[:-1]):
        if token.kind != 'name' or source.tokens[i + 1].text != '<':
            continue
        if token.text in ('texture', 'surface') and (token.scope is None or token.scope.kind == 'namespace') \
                and source.tokens[i - 1].text in (';', '}', 'static', 'extern', '{'):
            raise Refused('%s: %s references are not supported (CUDA 12 removed them from nvcc, too)' %
                          (source.place(i), token.text))
