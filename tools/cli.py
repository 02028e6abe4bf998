"""What the Python tools share: errors of one line, files, and the repository they work on. By
itself, `tools/cli.py rnu run test`, it says which of the words behind the first is meant by it."""

import argparse
import contextlib
import difflib
import fcntl
import os
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

if sys.version_info < (3, 10):  # before anything that an older one takes for a mistake
    sys.exit(f"needs Python 3.10 or newer, and this is {sys.version.split()[0]}")

REPOSITORY = Path(__file__).resolve().parent.parent
CHAPTERS = "[0-9][0-9]_*"
SKIPPED_FOLDERS = {"build", "work", "node_modules", "__pycache__"}  # hold nothing of ours


def cuda_tool(name):
    """Path of a tool of the CUDA Toolkit or None; its folder is often missing from PATH."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    return shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}{toolkit}")


def sees(stream):
    """Whether somebody looks at it who can see colours and lines that change."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def files_of(root, suffixes):
    """Every file under `root` with one of these suffixes, what was built apart."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and f[0] != ".")
        found += [Path(folder) / f for f in sorted(files) if Path(f).suffix in suffixes]
    return found


def read_text(path):
    """The text of a file; bytes that are no UTF-8 are an OSError as a missing file is."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise OSError(f"{path}: not UTF-8 from byte {error.start} on") from error


def write_text(path, text):
    """Replaces a file in one step: on a full disk, or if this is ended, the old one stays whole."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    umask = os.umask(0)
    os.umask(umask)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


@contextlib.contextmanager
def alone_in(folder):
    """One process at a time: what reads a file there and writes it anew loses nobody's entry."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # and the lock with it


def run(main, when_cut_off=1):
    """Runs a tool: what a disk lacks or a reader ends is one line at most, and no traceback.
    when_cut_off: the status where whoever read the output had seen enough."""
    try:
        if sys.stdout is None:  # closed: a file would be opened in its place
            raise OSError("cannot write to standard output")
        try:
            status = main()
        except SystemExit as ended:  # argparse has printed its help
            status = ended.code
        sys.stdout.flush()
    except (KeyboardInterrupt, OSError) as error:
        is_cut_off = isinstance(error, BrokenPipeError)
        if isinstance(error, OSError) and not is_cut_off:
            print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python tries to write the rest again
        status = 130 if isinstance(error, KeyboardInterrupt) else when_cut_off if is_cut_off else 1
    sys.exit(status)


def did_you_mean(word, known):
    """": did you mean run?" for rnu; "" if no known word is like it."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f": did you mean {near[0]}?" if near else ""


def wrapped(text, width=79):
    """`text` with no line wider than that. A paragraph all of whose lines fit stays as it is. In a
    list, `  name   what it is`, what follows stands below `what`; other lines that begin with a few
    blanks are examples, and no two of them are joined."""
    paragraphs = []  # (first indent, indent of what follows, lines)
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        first, hanging, before = paragraphs[-1] if paragraphs else (0, 0, [""])
        is_example = 0 < indent == first == hanging < 12
        if line.strip() and before[-1].strip() and indent == hanging and not is_example:
            before.append(line)
            continue
        column = re.match(r" *\S+(?: \S+)* {2,}", line)
        goes_on = first == indent < hanging and line[hanging - 1 : hanging] == " "
        follows = column.end() if column else hanging if goes_on else indent
        paragraphs.append((indent, follows, [line]))
    out = []
    for first, hanging, lines in paragraphs:
        if max(map(len, lines)) > width:
            words = " ".join([lines[0].strip(), *(line.strip() for line in lines[1:])])
            indents = {"initial_indent": " " * first, "subsequent_indent": " " * hanging}
            keep = {"break_long_words": False, "break_on_hyphens": False}
            lines = textwrap.wrap(words, width, **indents, **keep)
        out += lines
    return "\n".join(out)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line, without the usage text."""

    def __init__(self, description):
        super().__init__(
            description=wrapped(description), formatter_class=argparse.RawDescriptionHelpFormatter
        )

    def _print_message(self, message, file=None):
        (file or sys.stderr).write(message)  # argparse's own is silent where that fails

    def error(self, message):
        unknown = re.match(r"unrecognized arguments: (-[\w-]+)", message)
        if unknown:
            message += did_you_mean(unknown[1], self._option_string_actions)
        choice = re.match(r"(.*invalid choice: '(.*)') \(choose from (.*)\)$", message)
        if choice and (meant := did_you_mean(choice[2], re.findall(r"[\w-]+", choice[3]))):
            message = choice[1] + meant
        self.exit(2, f"{self.prog}: {message} (--help shows the options)\n")

    def add_root(self):
        self.add_argument(
            "--root", type=Path, default=REPOSITORY, help="repository (default: this one)"
        )


if __name__ == "__main__":
    print(did_you_mean(sys.argv[1], sys.argv[2:]))
