"""What this machine lets a live run do; each thing has been done."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from aqmlab.live.errors import LiveError
from aqmlab.live.process import PROGRAM
from aqmlab.live.settings import DEFAULT


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    what: str
    """What it was."""
    ok: bool
    """Whether it is as a live run needs it."""
    found: str
    """What was found, or why it cannot be."""
    lack: str | None
    """What a lack of it costs, and how it is mended."""


@dataclass(frozen=True)
class Report:
    """What was found."""

    can_run: bool
    """Whether there can be live runs."""
    checks: list[Check]
    """All that was tried, in its order."""

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            lines.append(f"{'yes' if check.ok else 'NO ':3} {check.what}: {check.found}")
            if check.lack is not None:
                lines.append(f"      costs {check.lack}")
        lines.append(f"aqmlab live {'works' if self.can_run else 'does not work'} here")
        return "\n".join(lines)


def apparmor() -> str:
    """Return an AppArmor profile by which the program may use user namespaces where others may not.

    Source: Ubuntu's release notes of 24.04, "Unprivileged user namespace restrictions".
    """
    # Spaces want quotes; the rest has a meaning in AppArmor's patterns (apparmor.d(5)).
    path = re.sub(r'([\\*?\[\]{}^"@])', r"\\\1", str(PROGRAM))
    return "\n".join(
        [
            "abi <abi/4.0>,",
            "include <tunables/global>",
            f'profile {PROGRAM.name} "{path}" flags=(unconfined) {{',
            "  userns,",
            "}",
        ]
    )


def examine() -> Report:
    """Try all that a live run needs; it takes some seconds, and nothing is left of it.

    Raises
    ------
    LiveError
        When the program that would try it is not there, or ends without an answer.
    """
    try:
        soon = (f"{DEFAULT.late_p99_ms:g}", f"{DEFAULT.late_p999_ms:g}")
        done = subprocess.run([PROGRAM, "doctor", *soon], stdout=subprocess.PIPE, check=False)
    except OSError as error:
        raise LiveError(f"{PROGRAM}: cannot be started: {error.strerror}") from None
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise LiveError(f"{PROGRAM.name} doctor ended without an answer (exit code {done.returncode})") from None
    return Report(report["can_run"], [Check(**check) for check in report["checks"]])
