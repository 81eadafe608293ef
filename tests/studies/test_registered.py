"""Registered claims: frozen data, which the pages count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aqmlab._core import results_number
from aqmlab.studies import STUDIES, find

PAGES = Path(__file__).parents[2] / "docs" / "studies"


@pytest.mark.parametrize("name", [name for name in STUDIES if find(name).registration().claims])
def test_registered_claims_are_complete_and_have_their_own_ids(name: str) -> None:
    registration = find(name).registration()
    ids = [claim.id for claim in registration.claims]
    assert len(set(ids)) == len(ids)
    assert [int(each.rpartition("-")[2]) for each in ids] == list(range(1, len(ids) + 1))
    assert 2 <= registration.results <= results_number()
    assert "seeds" in registration.length
    assert registration.words
    for claim in registration.claims:
        assert str(claim.outcome) in ("holds", "fails", "undecided")
        assert all((claim.place, claim.gist, claim.predicate, claim.evidence)), claim.id


@pytest.mark.parametrize("name", STUDIES)
def test_the_pages_count_the_registered_outcomes(name: str) -> None:
    record = PAGES / f"{name}.json"
    if not record.is_file():
        assert (PAGES / f"{name}-plan.md").is_file(), "only a study that is planned has no record"
        return
    entries = json.loads(record.read_text(encoding="utf-8"))["claims"]
    shown = {entry["id"]: entry["first"] for entry in entries if entry["first"]}
    assert shown == {claim.id: claim.outcome for claim in find(name).registration().claims}
