"""``aqmlab doctor``: it does what it speaks of, and says what the program says."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from aqmlab.live import doctor
from aqmlab.running import process
from aqmlab.running.errors import LiveError
from conftest import Command

pytestmark = pytest.mark.skipif(not process.PROGRAM.exists(), reason="aqmlab-live is not built: make live, on Linux")


def test_the_doctor_says_of_each_lack_what_it_costs(aqmlab: Command) -> None:
    outcome = aqmlab("doctor", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == (0 if report["can_run"] else 1)
    checks = {check["what"]: check for check in report["checks"]}
    assert {"processors", "open files", "network namespaces", "timers"} <= set(checks)
    assert all(check["found"] and (check["lack"] is None) == check["ok"] for check in checks.values())
    if report["can_run"]:
        assert "reno" in checks["congestion controls"]["found"].split()
        assert checks["TCP over TUN devices"]["ok"] or checks["TCP over pairs of interfaces"]["ok"]


def test_without_namespaces_the_doctor_reports_that_alone() -> None:
    # Within a user namespace that may have no networks. A user who cannot make one has that machine already.
    script = f"echo 0 > /proc/sys/user/max_net_namespaces && exec {shlex.quote(str(process.PROGRAM))} doctor 1 5"
    completed_process = subprocess.run(["unshare", "-Ur", "sh", "-c", script], capture_output=True, check=False)
    if not completed_process.stdout:
        pytest.skip(f"no user namespaces here: {completed_process.stderr.decode()}")
    report = json.loads(completed_process.stdout)
    checks = {check["what"]: check for check in report["checks"]}
    assert not report["can_run"]
    assert "unshare" in checks["network namespaces"]["lack"]
    assert not any(name.startswith(("an interface", "TCP", "congestion", "ECN")) for name in checks)


def test_a_profile_for_apparmor_names_the_program_where_it_lies(
    aqmlab: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PROGRAM", Path("/home/some one/[1]/aqmlab-live"))
    outcome = aqmlab("doctor", "--apparmor")
    assert (outcome.code, outcome.err) == (0, "")
    _, _, head, *rules = outcome.out.splitlines()
    # A bracket begins a set of characters in such a path, unless there is a backslash before it.
    assert head == r'profile aqmlab-live "/home/some one/\[1\]/aqmlab-live" flags=(unconfined) {'
    assert rules == ["  userns,", "}"]
    for option in ("--json", "--profile"):
        refusal = aqmlab("doctor", "--apparmor", option)
        assert (refusal.code, refusal.out) == (2, "")
        assert refusal.err == "aqmlab: --apparmor: cannot be with another option\n"


def test_a_program_that_is_not_there_is_one_line(aqmlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PROGRAM", Path("/nowhere/aqmlab-live"))
    outcome = aqmlab("doctor")
    assert (outcome.code, outcome.err) == (
        1,
        "aqmlab: live runs need aqmlab-live, which is missing: aqmlab's wheels for Linux contain it;"
        " in a source directory, `make live` builds it, on Linux\n",
    )


def test_an_answer_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PROGRAM", Path("/bin/false"))
    with pytest.raises(LiveError, match=r"^false doctor ended without an answer \(exit code 1\)$"):
        doctor.examine()
