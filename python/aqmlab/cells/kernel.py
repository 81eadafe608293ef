"""The Linux kernel in virtual time: its files, and the release that identifies it."""

from __future__ import annotations

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


def is_virtual(kernel: str) -> bool:
    """Return true for the release of a kernel in virtual time."""
    return _MARK in kernel
