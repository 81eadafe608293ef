"""In CI a skipped test is a failure unless the machine is the reason: a tool that is missing hides a stale test."""

from __future__ import annotations

import os
import re

import pytest

ALLOWED = {
    r"the run is invalid: ": "A live run on a busy machine is late, and its output says so.",
    r"a datagram was sent .* late": "The same, for a program of the test.",
    r"no user namespaces here": "Some sandboxes forbid what live runs need.",
    r"aqmlab live does not work here": "The same, by the doctor's report.",
    r"/dev/net/tun may not be opened": "Some containers have no tun device.",
    r"the kernel has no tbf over ": "A module of the kernel, which no test can install.",
    r"file systems cannot be mounted here": "Some containers forbid mounting.",
    r"only root can be somebody else": "Hosted CI does not run as root.",
    r"tc is too old for dualpi2": "The distribution's tc; CI builds a newer one where its source can be had.",
}
"""Reasons that CI accepts, as regular expressions, and why no tool can remove them."""


def is_allowed(reason: str) -> bool:
    """Return whether CI accepts a test that is skipped for this reason."""
    return any(re.search(pattern, reason) for pattern in ALLOWED)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session where ``CI`` is set and a test was skipped for a reason that is not on the list."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or terminal is None:
        return
    reasons = {report.nodeid: str(report.longrepr[2]) for report in terminal.stats.get("skipped", [])}
    refused = {test: reason for test, reason in reasons.items() if not is_allowed(reason)}
    for test, reason in refused.items():
        terminal.write_line(f"FAILED {test}: skipped in CI: {reason}", red=True)
    if refused and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
