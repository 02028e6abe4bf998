"""Processes that run what a student wrote: within limits, and on demand behind walls."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

MOST_SAID = 100_000  # bytes that are read of what a process says
NOBODY = 65534  # for root, whom the limit on processes does not bind


@dataclass
class Limits:
    """0: no limit."""

    cpu_seconds: int = 0
    seconds: int = 0  # by the clock: for whoever sleeps
    file_bytes: int = 0  # of each file that it writes
    memory_bytes: int = 0  # of each process
    addresses: int = 0  # likewise
    processes: int = 0  # counted in a sandbox; elsewhere all of a user's count

    def own(self):
        """Those for a file of one's own: whoever has no end, or no end of memory, hears the same
        as in a sandbox. How many processes there are is no matter of this program."""
        return replace(self, processes=0)

    def command(self):
        """The words in front of a command that runs within these limits."""
        limits = {"cpu": self.cpu_seconds, "fsize": self.file_bytes, "data": self.memory_bytes}
        limits |= {"as": self.addresses, "nproc": self.processes}
        words = [f"--{name}={value}" for name, value in limits.items() if value]
        return ["prlimit", "--core=0", *words]


@dataclass
class View:
    """What a process in a sandbox sees of our files, besides the compiler and its libraries."""

    folder: object  # where it runs
    reads: list
    writes: list = field(default_factory=list)  # files that are there
    hides: list = field(default_factory=list)  # folders within `reads` that are empty for it


@dataclass
class Done:
    """status: the exit status, minus the signal that ended it, or None if its time was up."""

    status: int
    said: str  # on stderr, and on stdout if it was asked for

    def is_endless(self):
        return self.status in (None, -signal.SIGXCPU, -signal.SIGKILL)


class NoSandbox:
    """No walls: for a file of one's own."""

    is_boxed = False

    def command(self, words, view):
        return words

    def environment(self, more):
        return {**os.environ, **more}


class Sandbox:
    """bwrap: no network, no other processes, and of the file system the compiler, what is named,
    and a small /tmp of its own; all of it for reading only, but for the files to be written."""

    is_boxed = True
    TMP_BYTES = 128 << 20

    def command(self, words, view):
        box = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
        box += ["--new-session", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        for name in ("/bin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"):
            box += ["--ro-bind-try", name, name]
        for name in ("/tmp", "/dev/shm"):
            box += ["--size", str(self.TMP_BYTES), "--tmpfs", name]
        for path in map(str, view.reads):
            box += ["--ro-bind", path, path]
            for hidden in map(str, view.hides):
                if hidden.startswith(f"{path}/"):
                    box += ["--tmpfs", hidden]
        for path in map(str, view.writes):
            box += ["--bind", path, path]
        for path in ("/dev", "/", *map(str, view.hides)):
            box += ["--remount-ro", path]
        box += ["--chdir", str(view.folder), "--"]
        # If memory runs out, the kernel ends these first.
        return [*_as_nobody(), "choom", "-n", "1000", "--", *box, *words]

    def environment(self, more):
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **more}

    def missing(self, root):
        """Why there is no sandbox to be had here from which `root` can be seen; empty if there
        is."""
        for name in ("bwrap", "prlimit", "setpriv", "choom"):
            if not shutil.which(name):
                return f"{name} is not installed (./setup.sh --dev installs bwrap)"
        with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
            os.chmod(folder, 0o755)
            done = execute(["true"], View(folder, [folder, root]), Limits(seconds=10), {}, self)
        return "" if done.status == 0 else done.said.strip() or f"bwrap ends with {done.status}"


def _as_nobody():
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def writable(path):
    """An empty file that a process in a sandbox may write."""
    Path(path).touch()
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    return path


class Ended(Exception):
    """Somebody has ended this program: nothing new begins."""


_running = set()  # the leaders of all process groups that were started and have not been ended
_changes = threading.Lock()
_is_over = False


def end_all():
    """Ends all that execute() has started, in whatever thread; for a signal's handler."""
    global _is_over
    _is_over = True
    for process in list(_running):
        _end(process)


def _end(process):
    """Ends a group. simt/nvcc is asked first: its compilers are in groups of their own."""
    for number, patience in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 0)):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            return
        until = time.monotonic() + patience
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)


def execute(words, view, limits, environment, box, with_stdout=False, stdin=b""):
    """Runs a command until it ends or its time is up, and then ends all that it has started.
    stdin: a few bytes that it can read."""
    command = box.command([*limits.command(), *words], view)
    with tempfile.TemporaryFile() as said:
        with _changes:
            if _is_over:
                raise Ended
            process = subprocess.Popen(
                command,
                cwd=view.folder,
                env=box.environment(environment),
                stdin=subprocess.PIPE,
                stdout=said if with_stdout else subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            _running.add(process)
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(stdin)
            status = process.wait(limits.seconds or None)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
            process.wait()
            _running.discard(process)
        if _is_over:
            raise Ended
        if box.is_boxed and status is not None and status > 128:
            status = 128 - status  # how bwrap tells of a signal
        said.seek(0)
        return Done(status, said.read(MOST_SAID).decode(errors="replace"))
