"""Explanations of slow requests from the page of a run: a job of its own, of built-in disciplines alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.console.auth import Rejected
from aqmlab.console.forms import job_requests
from fixtures.console import Visitor


def test_an_explanation_needs_the_form_of_a_stored_run(visitor: Visitor, console_store: Path) -> None:
    key = lab.Store(console_store).keys()[0]
    assert visitor.ask(f"/cells/{key}/explain")[0] == 405
    assert visitor.ask(f"/cells/{key}/explain", "POST", {"csrf": ""})[0] == 403
    assert visitor.ask(f"/cells/{'0' * 16}/explain", "POST", {"csrf": visitor.csrf()})[0] == 404
    assert "Explain the slowest requests" in visitor.ask(f"/cells/{key}")[1]


@pytest.mark.parametrize(("world", "scheme"), [("live", "codel"), ("kernel", "codel"), ("simulated", "module:Law")])
def test_neither_live_runs_nor_programs_of_users_are_run_again(world: str, scheme: str) -> None:
    result: Any = SimpleNamespace(cell=SimpleNamespace(world=world, scheme=scheme), location=Path("cell"))
    with pytest.raises(Rejected, match=r"^explain: only simulated cells"):
        job_requests.explanation(result)


def test_an_explanation_is_the_command_of_the_terminal(console_store: Path) -> None:
    store = lab.Store(console_store)
    result = store.get_by_key(store.keys()[0])
    assert result is not None
    request = job_requests.explanation(result)
    assert request.argv == ["explain", str(result.location), "--slowest", str(job_requests.SLOWEST)]
    assert request.cells == ()
