"""Explanations of page load times: parts, the path of resources, incidents, and the figure of a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.cells.cell import cells_of
from aqmlab.explanations import PARTS, by_band, plot
from aqmlab.explanations.timeline import Line, incidents, lines
from aqmlab.running.run import run_cell
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from conftest import Command


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Pages of today behind a congested link, over HTTP/1.1, HTTP/2 and HTTP/3."""
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s"},
        queue={"droptail": {"limit": "60 packets"}},
        users={"per_side": 10, "workload": "web-2024"},
        protocol={"warmup": "5 s", "duration": "40 s"},
    )
    return run_cell(cells_of(experiment, [1])[0], Store(tmp_path_factory.mktemp("results")))


@pytest.fixture(scope="module")
def explanation(result: Result) -> lab.Explanation:
    return lab.explain(result.directory, slowest=1000)


def test_the_parts_add_up_to_the_page_load_time(result: Result, explanation: lab.Explanation) -> None:
    pages, summary = explanation.pages, result.summary["pages"]
    assert pages.height == summary["pages"] > 5
    assert pages["load_ns"].mean() * 1e-9 == pytest.approx(summary["load_s_mean"])  # type: ignore[operator]
    assert pages.select(pl.sum_horizontal(*PARTS)).to_series().equals(pages["load_ns"], check_names=False)
    assert pages["losses"].sum() > 0
    assert set(explanation.resources["version"]) == {"HTTP/1.1", "HTTP/2", "HTTP/3"}


def test_the_times_of_the_path_add_up_to_the_page_load_time(explanation: lab.Explanation) -> None:
    for page in explanation.pages.iter_rows(named=True):
        path = explanation.resources_of(page["page"]).filter("on_path").sort("known_ns")
        assert path.height == page["path_resources"]
        assert path["kind"][0] == "HTML"
        assert path["known_ns"].to_list() == [0, *path["complete_ns"][:-1]]
        assert path["parent"].to_list() == [0, *path["resource"][:-1]]
        assert path["complete_ns"][-1] == page["load_ns"]
        parts_ns = path.select(pl.sum_horizontal(*PARTS)).to_series()
        assert parts_ns.equals(path["complete_ns"] - path["known_ns"], check_names=False)


def test_a_page_is_found_by_its_number_and_the_run_ends_with_it(result: Result, explanation: lab.Explanation) -> None:
    instants: list[float] = []
    one = lab.explain(result.directory, page=3, watch=lambda now, end: instants.append(now))
    expected = explanation.pages.filter(page=3)
    assert one.pages.equals(expected)
    assert one.resources.equals(explanation.resources_of(3))
    assert one.timelines.equals(explanation.timeline(3))
    end_s = (expected["start_ns"][0] + expected["load_ns"][0]) / 1e9
    assert end_s <= instants[-1] < end_s + 1


def test_timelines_name_the_packets_of_quic(explanation: lab.Explanation) -> None:
    quic = explanation.timelines.filter(pl.col("segment").str.starts_with("QUIC"))
    assert set(quic["segment"]) == {"QUIC handshake", "QUIC packet", "QUIC ACK"}
    assert quic["offset"].null_count() == 0
    # The handshake has number spaces of its own.
    arrived = quic.filter(pl.col("segment") != "QUIC handshake", event="arrived")
    assert arrived.height == arrived.select("page", "connection", "sender", "segment", "offset").n_unique()


def test_bands_of_pages_have_their_names(explanation: lab.Explanation) -> None:
    bands = by_band(explanation.pages)
    assert bands.columns[:3] == ["band", "pages", "load_ms"]
    assert bands.select(pl.sum_horizontal(*PARTS)).to_series().to_list() == pytest.approx(bands["load_ms"].to_list())


def test_an_explanation_of_pages_has_no_requests(explanation: lab.Explanation) -> None:
    with pytest.raises(SpecError, match=r"^requests: this explanation is one of pages$"):
        _ = explanation.requests


def test_the_bars_of_the_path_have_the_page_load_time(explanation: lab.Explanation) -> None:
    page = explanation.pages.sort("losses")[-1].row(0, named=True)
    resources, events = explanation.resources_of(page["page"]), explanation.timeline(page["page"]).to_dicts()
    figure = Figure()
    plot.waterfall(figure, resources, incidents(events), title="page")
    (axis,) = figure.axes
    coloured = [bars for bars in axis.containers if bars.get_label() in PARTS.values()]
    assert sum(bar.get_width() for bars in coloured for bar in bars) == pytest.approx(page["load_ns"] / 1e6)
    others = [bars for bars in axis.containers if bars not in coloured]
    assert {len(bars) for bars in others} == {resources.height - page["path_resources"]}
    (drops,) = [points for points in axis.collections if points.get_label() == "packet dropped"]
    assert 0 < len(np.asarray(drops.get_offsets())) <= page["losses"]


def event(time_ms: float, name: str, **options: Any) -> dict[str, Any]:
    known = {
        "sender": "server",
        "segment": "data",
        "offset": 0,
        "bytes": 1000,
        "waited_ns": 0,
        "cwnd": 0,
        "connection": 0,
    }
    known |= options
    return {"time_ns": int(1e6 * time_ms), "event": name, "place": known["sender"], **known}


def test_incidents_are_drops_repair_and_timers_by_connection() -> None:
    events = [
        event(0, "sent"),
        event(1, "sent", connection=1),
        event(2, "dropped early", connection=1),
        event(10, "arrived"),
        event(11, "delayed ACK due", segment="", waited_ns=40_000_000),
        event(20, "tail-loss probe", segment="", waited_ns=18_000_000, connection=1),
        event(20, "sent again", connection=1),
        event(30, "arrived", waited_ns=2_000_000, connection=1),
        event(40, "sent", segment="QUIC packet", offset=7, connection=2),
        event(41, "dropped at the limit", segment="QUIC packet", offset=7, connection=2),
    ]
    assert incidents(events) == [
        Line(1, 2, "server", "data 0-1,000: dropped early", 1),
        Line(20, 20, "server", "tail-loss probe after 18.0 ms", 1),
        Line(20, 30, "server", "data 0-1,000 again: queue 2.0 ms", 1),
        Line(40, 41, "server", "QUIC packet 7, 1,000 bytes: dropped at the limit", 2),
    ]


def test_a_flight_of_quic_is_one_line() -> None:
    def packet(number: int) -> dict[str, Any]:
        return {"segment": "QUIC packet", "offset": number}

    ack = {"segment": "QUIC ACK", "sender": "client", "offset": 3, "bytes": 0}
    events = [
        *(event(0, "sent", **packet(number)) for number in (5, 6)),
        *(event(10, "arrived", **packet(number)) for number in (5, 6)),
        event(10, "sent", **ack),
        event(20, "arrived", **ack),
        event(20, "sent", **packet(7)),
        event(30, "arrived", **packet(7)),
    ]
    assert [line.event for line in lines(events, 300, 3000)] == [
        "2 QUIC packets, 2,000 bytes: queue 0.0 ms; its ACK queue 0.0 ms",
        "1 QUIC packet, 1,000 bytes: queue 0.0 ms",
    ]


def test_explain_prints_the_path_of_a_page_and_draws_it(
    aqmlab: Command, result: Result, explanation: lab.Explanation, tmp_path: Path
) -> None:
    page = explanation.pages.sort("losses")["page"][-1]
    outcome = aqmlab("explain", str(result.directory), "--page", str(page), "--figure", "page.svg")
    assert outcome.code == 0
    assert f"Page {page}: the resources whose times add up to its load time\n" in outcome.out
    assert "dropped at" in outcome.out
    assert (tmp_path / "page.svg").stat().st_size > 0
    (record,) = json.loads(aqmlab("explain", str(result.directory), "--page", str(page), "--json").out)["pages"]
    assert len(record["resources"]) == explanation.resources_of(page).height
    assert len(record["timeline"]) == explanation.timeline(page).height
    bands = json.loads(aqmlab("explain", str(result.directory), "--json").out)["bands"]
    assert bands[0]["pages"] == explanation.pages.height


def test_many_incidents_are_cut_and_counted(aqmlab: Command, result: Result, explanation: lab.Explanation) -> None:
    page = explanation.pages.sort("losses")["page"][-1]
    output = aqmlab("explain", str(result.directory), "--page", str(page)).out
    assert " further incidents are in the timeline of --json\n" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--request", "0"], "request: pages of this cell are explained: give", id="a request"),
        pytest.param(["--page", "100000"], "page: must be from 0 to ", id="number beyond the last"),
        pytest.param(["--page", "0", "--slowest", "1"], "--page", id="both"),
        pytest.param(["--slowest", "1", "--figure", "page.svg"], "--figure", id="a figure of several pages"),
    ],
)
def test_a_mistake_is_one_line(aqmlab: Command, result: Result, arguments: list[str], message: str) -> None:
    outcome = aqmlab("explain", str(result.directory), *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("aqmlab: ")
    assert message in line
