"""The Linux kernel in virtual time: its files, and the release that identifies it."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from aqmlab import _core
from aqmlab._core import SpecError

PACKAGE = "aqmlab_kernel"
"""The package of a kernel that is already built, see ``make kernel-wheel``."""


def _installed(program: Path) -> Path:
    """Return the kernel's path: a kernel beside the extension, which ``make kernel`` has built, goes first."""
    package = find_spec(PACKAGE)
    if program.exists() or package is None or package.origin is None:
        return program
    return Path(package.origin).with_name(program.name)


HOSTS = Path(_core.__file__).with_name("aqmlab-live")
PROGRAM = _installed(HOSTS.with_name("linux-aqmlab"))
# No name of an extension module, for which Python would take it.
ENGINE = PROGRAM.with_suffix(".engine")
RELEASE = PROGRAM.with_suffix(".release")

_MARK = "-aqmlab."
"""The end of the release of a kernel that ``make kernel`` has built, before the digest of its changes."""


@cache
def release() -> str:
    """Return the release of the kernel that is installed, which names its version and the digest of its changes.

    Raises
    ------
    SpecError
        When no such kernel is installed.
    """
    try:
        text = PROGRAM.with_suffix(".release").read_text()
    except OSError:
        raise SpecError(
            "world: must be simulated, because no kernel is built, got kernel; to build it: make kernel"
        ) from None
    return text.strip()


def series() -> str:
    """Return the series of the kernel's release, such as ``6.12``."""
    return ".".join(map(str, _version()))


def tracing() -> tuple[str, ...]:
    """Return the options for the guest's system calls: seccomp where the kernel has it (from 6.16), else ptrace.

    The kernel itself falls back to ptrace where the machine refuses seccomp. Results are the same by both. Long flows
    take 0.6 times the processor time by seccomp.
    """
    return ("seccomp=auto",) if _version() >= (6, 16) else ()


def _version() -> tuple[int, int]:
    major, minor, *_ = release().split(".")
    return int(major), int(re.split(r"\D", minor)[0])


def is_virtual(kernel: str) -> bool:
    """Return true for the release of a kernel in virtual time."""
    return _MARK in kernel
