"""The capabilities of this machine for live runs and for runs in a kernel, each determined by a trial."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from aqmlab.live.kernel_checks import Check, kernel_checks
from aqmlab.live.settings import DEFAULT
from aqmlab.running.errors import LiveError
from aqmlab.running.process import PROGRAM, not_started


@dataclass(frozen=True)
class Report:
    """The results of all checks."""

    can_run: bool
    """True if live runs are possible."""
    checks: list[Check]
    """All checks, in their order."""

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            lines.append(f"{'yes' if check.ok else 'NO ':3} {check.what}: {check.found}")
            if check.lack is not None:
                lines.append(f"      costs {check.lack}")
        lines.append(f"aqmlab live {'works' if self.can_run else 'does not work'} here")
        return "\n".join(lines)


def apparmor() -> str:
    """Return an AppArmor profile that allows the program to use user namespaces where they are restricted.

    Source: Ubuntu's release notes of 24.04, "Unprivileged user namespace restrictions".
    """
    # Quotes are for spaces; the escaped characters are special in AppArmor's patterns (apparmor.d(5)).
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
    """Check what a live run and one in a kernel need; this takes some seconds and leaves nothing behind.

    Raises
    ------
    LiveError
        When the program that makes the checks is missing, or ends without a result.
    """
    try:
        bounds = (f"{DEFAULT.late_p99_ms:g}", f"{DEFAULT.late_p999_ms:g}")
        process = subprocess.run([PROGRAM, "doctor", *bounds], stdout=subprocess.PIPE, check=False)
    except OSError as error:
        raise not_started(error) from None
    try:
        report: dict[str, Any] = json.loads(process.stdout)
    except ValueError:
        raise LiveError(f"{PROGRAM.name} doctor ended without an answer (exit code {process.returncode})") from None
    checks = [Check(**check) for check in report["checks"]]
    return Report(report["can_run"], [*checks, *kernel_checks()])
