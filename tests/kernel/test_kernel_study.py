"""A study over the TCP of the kernel in virtual time, beside simulated hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_kernel import _kernel_permitted, needs_kernel  # noqa: F401

from aqmlab.studies.kit.worlds import HOSTS
from conftest import Command
from fixtures.study import register

pytestmark = needs_kernel


def test_a_study_is_decided_over_three_kinds_of_hosts(
    monkeypatch: pytest.MonkeyPatch, aqmlab: Command, tmp_path: Path
) -> None:
    register(monkeypatch)
    outcome = aqmlab("study", "tiny", "--world", "kernel", "--json", "--pages", str(tmp_path / "pages"))
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    names = [hosts.name for hosts in HOSTS]
    first = report["claims"][0]
    assert list(first["hosts"]) == names
    estimates = [first["hosts"][name]["numbers"]["estimate"] for name in names]
    assert all(estimate > 0.1 for estimate in estimates)
    assert len(set(estimates)) == len(names), "each kind of hosts has runs of its own"
    assert all(report["hosts"][name]["cost"]["cells"] == 4 for name in names)
    page = Path(report["page"]).read_text()
    assert report["kernel"] in page
    assert "`aqmlab study tiny --world kernel`" in page
    assert "| tiny-1 | something gets through | holds | holds | holds |" in page
