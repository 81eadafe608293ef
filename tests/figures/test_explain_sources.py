"""Explanations of the requests of sources: files, uploads, segments of videos, beside web users or alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.explanations import PARTS, by_band
from aqmlab.running.run import run_cell
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from conftest import Command

RTT = {"fixed": "40 ms"}

SOURCES: list[dict[str, Any]] = [
    {"bulk": {"name": "files", "flows": 20, "bytes": "200 kB", "spread": "20 s", "rtt": RTT}},
    {"bulk": {"name": "uploads", "flows": 8, "bytes": "50 kB", "direction": "upload", "spread": "20 s", "rtt": RTT}},
    {"bulk": {"name": "endless", "flows": 1, "rtt": RTT}},
    {"video": {"flows": 1, "segment": "2 s", "ladder": ["100 kbit/s", "400 kbit/s"], "rule": "bola", "rtt": RTT}},
    {"datagrams": {"name": "voice", "rate": "64 kbit/s", "packet": "200 B"}},
]


def run(store: Store, **changes: Any) -> Result:
    experiment = lab.Experiment(
        queue={"codel": {}},
        protocol={"warmup": "0 s", "duration": "30 s"},
        record={"exchanges": True},
        **{"link": {"rate": {"up": "2 Mbit/s", "down": "4 Mbit/s"}}, "sources": SOURCES, **changes},
    )
    return run_cell(cells_of(experiment, [1])[0], store)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Web users and sources, whose packets are dropped."""
    return run(Store(tmp_path_factory.mktemp("mixed")), users={"per_side": 20})


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The same sources without web users."""
    return run(Store(tmp_path_factory.mktemp("alone")), users={"per_side": 0})


def check(requests: pl.DataFrame, exchanges: pl.DataFrame) -> None:
    """Check that the parts of each request add up to the stored response time of its row."""
    assert requests["request"].to_list() == list(range(exchanges.height))
    assert (
        requests.select(pl.sum_horizontal(*PARTS)).to_series().equals(requests["response_time_ns"], check_names=False)
    )
    assert np.allclose(requests["response_time_ns"] / 1e6, exchanges["response_time_ms"], rtol=0, atol=1e-9)
    for column in ("source", "side", "request_bytes", "response_bytes", "first_on_connection", "fast_retransmits"):
        assert requests[column].equals(exchanges[column])


@pytest.mark.parametrize(("name", "number"), [("files", 1), ("uploads", 2), ("video", 4)])
def test_the_parts_of_a_source_beside_users_add_up(mixed: Result, name: str, number: int) -> None:
    explanation = lab.explain(mixed.directory, source=name)
    assert explanation.title == f"codel, source {name}, seed 1"
    own = mixed.exchanges.filter(source=number)
    assert own.height == mixed.summary["sources"][number - 1]["completed"] > 5
    check(explanation.requests, own)
    assert explanation.requests["losses"].sum() > 0


def test_users_come_first_and_without_them_all_sources(mixed: Result, alone: Result) -> None:
    users = lab.explain(mixed.directory)
    assert users.title == "codel, 20 users on each side, seed 1"
    check(users.requests, mixed.exchanges.filter(source=0))
    sources = lab.explain(alone.directory)
    assert sources.title == "codel, 3 sources, seed 1"
    assert alone.summary["completed_requests"] == sources.requests.height
    check(sources.requests, alone.exchanges)
    assert set(sources.requests["source"]) == {1, 2, 4}
    mean_ms = by_band(sources.requests)["response_time_ms"][0]
    assert mean_ms == pytest.approx(alone.summary["response_time_ms"]["mean"])


def test_a_file_on_an_idle_link_takes_round_trips_and_its_bits(store: Store) -> None:
    file = {"bulk": {"flows": 1, "bytes": "1400 B", "rtt": RTT}}
    result = run(store, users={"per_side": 0}, sources=[file], link={"rate": "8 Mbit/s", "delay": "5 ms"})
    (row,) = lab.explain(result.directory).requests.to_dicts()
    assert (row["handshake"], row["request_round_trip"]) == (50_000_000, 50_000_000)
    # A byte takes 1 us. A SYN has 98 bytes with its headers and frame, another segment 90 and its data.
    assert row["transmission"] == 1_000 * (2 * 98 + 90 + 300 + 90 + 1_400)
    # Request and response follow an acknowledgement of their sender.
    assert row["queueing"] + row["interface"] == 1_000 * 2 * 90
    assert row["response_time_ns"] == 100_000_000 + row["transmission"] + 180_000


def test_the_timelines_of_sources_are_printed(aqmlab: Command, alone: Result) -> None:
    directory = str(alone.directory)
    text = aqmlab("explain", directory, "--source", "uploads", "--request", "3").out
    assert "Request 3, source 2\n" in text
    assert "request of 50,000 bytes" in text
    assert "request complete" in text
    (slowest,) = json.loads(aqmlab("explain", directory, "--slowest", "1", "--json").out)["requests"]
    assert slowest["response_time_ns"] / 1e6 == pytest.approx(alone.exchanges["response_time_ms"].max())
    assert slowest["timeline"][-1]["time_ns"] == slowest["response_time_ns"]


def test_pages_beside_a_source_are_left_out_for_it(store: Store) -> None:
    result = run(store, users={"per_side": 2, "workload": "web-2024"})
    pages, files = lab.explain(result.directory), lab.explain(result.directory, source="files", slowest=2)
    assert pages.pages.height == result.summary["pages"]["pages"]
    assert set(files.timelines["request"]) == set(files.requests["request"])
    assert set(files.requests["source"]) == {1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--source", "file"],
            "source: must be a source of the cell (files, uploads, endless, video, voice), got 'file'",
        ),
        (
            ["--source", "endless"],
            "source: endless completed no request, and only completed ones are explained: record.flows",
        ),
        (["--source", "voice"], "source: voice sends datagrams, and only requests over TCP or QUIC are explained"),
        (["--source", "files", "--request", "20"], "request: must be from 0 to 19, the requests of the cell, got 20"),
        (
            ["--source", "files", "--page", "0"],
            "page: requests of this cell are explained: give the number of a request",
        ),
    ],
)
def test_a_source_that_cannot_be_explained_is_one_line(
    aqmlab: Command, mixed: Result, arguments: list[str], message: str
) -> None:
    outcome = aqmlab("explain", str(mixed.directory), *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("aqmlab: ")
    assert message in line


def test_a_cell_of_endless_transfers_names_what_shows_them(store: Store) -> None:
    result = run(store, users={"per_side": 0}, sources=SOURCES[2:3])
    with pytest.raises(lab.SpecError, match=r"endless completed no request.*record\.flows"):
        lab.explain(result.directory)
