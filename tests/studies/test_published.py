from __future__ import annotations

from dataclasses import replace

import pytest

from aqmlab.results.cells import BASELINE
from aqmlab.spec import schemes
from aqmlab.studies.le.published import Aims, Published, PublishedRow

AIMS = Aims(loss_points=1, loss_percent=25, completed_percent=2, throughput_mbps=1.5)
PUBLISHED = PublishedRow(
    table="a",
    rtt="uniform",
    load_percent=98,
    scheme="pi",
    loss_percent=6,
    completed_millions=15,
    throughput_mbps=90,
)


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        ({}, []),
        ({"loss_percent": 7.4}, []),  # within 25 %
        ({"loss_percent": 7.6}, ["loss"]),
        ({"loss_percent": 4.4}, ["loss"]),
        ({"completed_requests": 14.71e6}, []),
        ({"completed_requests": 14.69e6}, ["completed"]),
        ({"throughput_mbps": 91.6, "loss_percent": 9}, ["loss", "throughput"]),
    ],
)
def test_what_is_further_away_than_aimed_at_is_named(ours: dict[str, float], missed: list[str]) -> None:
    same = {"loss_percent": 6.0, "completed_requests": 15e6, "throughput_mbps": 90.0}
    assert AIMS.missed(same | ours, PUBLISHED) == missed


def test_a_small_loss_may_be_a_whole_point_away() -> None:
    row = replace(PUBLISHED, loss_percent=0.1)
    ours = {"loss_percent": 1.05, "completed_requests": 15e6, "throughput_mbps": 90.0}
    assert AIMS.missed(ours, row) == []


def test_each_published_row_has_a_source_and_a_scheme_we_know() -> None:
    published = Published.read()
    assert {row.table for row in published.rows} == published.sources.keys()
    assert {row.load_percent for row in published.rows} == {80, 90, 98}
    for row in published.rows:
        assert row.scheme == BASELINE or schemes.parse(row.scheme)
    assert len(published.rows) == 102
    assert {row.table for row in published.rows if row.rtt == "general"} == {"le2004-t4"}
