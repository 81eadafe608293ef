"""The capabilities of this machine for runs in a Linux kernel in virtual time, each determined by a trial."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from aqmlab.cells import kernel


@dataclass(frozen=True)
class Check:
    """One capability that was tried."""

    what: str
    """The name of the capability."""
    ok: bool
    """True if a run can use it."""
    found: str
    """The result of the trial, or the reason for a failure."""
    lack: str | None
    """The loss without it, and the way to fix it; ``None`` if nothing is missing."""


_WORLD = "runs with --world kernel"
_TRACED = ("syscall emulation for ptrace...OK", "that seccomp filters can be installed...OK")
"""Lines of a kernel that can take the guest's system calls, by one way or the other."""
_RUN = "Attempted to kill init! exitcode=0x00000000"
"""The end of a kernel whose first program has come to its end without a fault."""
_FIX_LAYOUT = "import ctypes, sys; sys.exit(ctypes.CDLL(None).personality(0x40000) == -1)"
"""A program that fails where ``personality(ADDR_NO_RANDOMIZE)`` is refused."""


def kernel_checks() -> list[Check]:
    """Check what a run in a kernel needs; this takes less than a second and leaves nothing behind."""
    if not (kernel.PROGRAM.exists() and kernel.ENGINE.exists()):
        return [Check("kernel in virtual time", False, "not built", f"{_WORLD}; make kernel builds it")]
    return list(_checks(_start()))


def _checks(output: str) -> Iterator[Check]:
    can_trace = any(line in output for line in _TRACED)
    remedy = "allow ptrace of own children: kernel.yama.ptrace_scope at most 1, and a seccomp profile with ptrace"
    found = kernel.release() if can_trace else _last_line(output)
    yield Check("kernel in virtual time", can_trace, found, None if can_trace else f"{_WORLD}; {remedy}")
    if not can_trace:
        return
    has_run = _RUN in output
    found = "run" if has_run else _fault(output)
    lack = None if has_run else f"{_WORLD}; make kernel builds one whose registers are large enough for this processor"
    yield Check("programs in that kernel", has_run, found, lack)
    memory = re.search(r"PROT_EXEC mmap in (\S+?)\.\.\.(.*)", output)
    can_execute = memory is not None and memory[2].strip() == "OK"
    found = "no answer" if memory is None else f"{memory[1]}: {memory[2].strip()}"
    remedy = "set TMPDIR to a directory that is not mounted noexec"
    yield Check("executable memory files", can_execute, found, None if can_execute else f"{_WORLD}; {remedy}")
    is_fixed = subprocess.run([sys.executable, "-c", _FIX_LAYOUT], check=False).returncode == 0
    remedy = "use a seccomp profile that allows personality(0x40000)"
    lack = None if is_fixed else f"equal bytes of two runs with --world kernel; {remedy}"
    yield Check("fixed memory layout", is_fixed, "personality allowed" if is_fixed else "personality refused", lack)


def _start() -> str:
    """Return the output of the kernel, which checks the machine and ends because its first program does."""
    program = ("rootfstype=hostfs", "rootflags=/", "ro", f"init={shutil.which('true')}")
    command = [str(kernel.PROGRAM), "mem=64M", "con=null", "con0=null,fd:2", "panic=-1", *kernel.tracing(), *program]
    with tempfile.TemporaryDirectory(prefix="aqmlab-") as home:
        try:
            started = subprocess.run(
                command,
                env={"HOME": home, "TMPDIR": tempfile.gettempdir()},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=60,
            )
        except OSError as error:
            return f"cannot be started: {error.strerror}"
        except subprocess.TimeoutExpired:
            return "does not end within a minute"
    return started.stdout.decode(errors="replace")


def _fault(output: str) -> str:
    """Return the line before that in which the kernel gives up."""
    before = output.partition("Kernel panic")[0]
    return _last_line(before)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
