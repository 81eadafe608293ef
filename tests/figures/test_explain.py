from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.explanations import PARTS, by_band, plot, table
from aqmlab.explanations.timeline import lines
from aqmlab.running.run import run_cell
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.ui import console
from conftest import Command
from fixtures.metadata import reseal


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of a congested link with a row for each request, and a law that marks."""
    experiment = lab.Experiment(
        link={"rate": "2 Mbit/s", "device_fifo": 16},
        queue={"red": {"min_th": 5, "max_th": 15, "limit": "25 packets"}},
        tcp={"ecn": True},
        users={"per_side": 200},
        protocol={"warmup": "5 s", "duration": "30 s"},
        record={"exchanges": True},
    )
    cell = cells_of(experiment, [1])[0]
    return run_cell(cell, Store(tmp_path_factory.mktemp("results")))


@pytest.fixture(scope="module")
def explanation(result: Result) -> lab.Explanation:
    return lab.explain(result.directory)


def test_the_parts_add_up_to_the_stored_response_time(result: Result, explanation: lab.Explanation) -> None:
    requests, exchanges = explanation.requests, result.exchanges
    assert requests["request"].to_list() == list(range(exchanges.height))
    assert (
        requests.select(pl.sum_horizontal(*PARTS)).to_series().equals(requests["response_time_ns"], check_names=False)
    )
    assert np.allclose(requests["response_time_ns"] / 1e6, exchanges["response_time_ms"], rtol=0, atol=1e-9)
    for column in ("request_bytes", "response_bytes", "side", "first_on_connection", "timeouts", "ecn_reductions"):
        assert requests[column].equals(exchanges[column])
    assert requests["losses"].sum() > 0
    assert requests["marks"].sum() > 0
    assert explanation.timelines.is_empty()


def test_a_request_is_found_by_its_row_and_the_run_ends_with_it(result: Result) -> None:
    instants: list[float] = []
    one = lab.explain(result.directory, request=100, watch=lambda now, end: instants.append(now))
    (row,) = one.requests.to_dicts()
    assert row["request"] == 100
    assert row["response_time_ns"] / 1e6 == pytest.approx(result.exchanges["response_time_ms"][100])
    end_s = (row["start_ns"] + row["response_time_ns"]) / 1e9
    assert end_s <= instants[-1] < end_s + 1
    assert one.timelines["request"].unique().to_list() == [100]
    assert one.timelines["time_ns"][-1] == row["response_time_ns"]


def test_timelines_have_null_where_an_event_has_no_number(result: Result) -> None:
    rows = lab.explain(result.directory, request=100).timelines
    without_offset = set(rows.filter(pl.col("offset").is_null())["segment"])
    assert without_offset <= {"", "SYN", "SYN/ACK"}
    assert rows["offset"].max() < 10_000_000  # type: ignore[operator]
    assert (rows["cwnd"].drop_nulls() > 0).all()
    assert rows.filter(event="arrived")["cwnd"].is_null().all()


def test_the_slowest_are_those_that_took_longest(result: Result, explanation: lab.Explanation) -> None:
    slowest = lab.explain(result.directory, slowest=4)
    expected = explanation.requests.sort("response_time_ns", descending=True).head(4)
    assert slowest.requests.equals(expected)
    assert set(slowest.timelines["request"]) == set(expected["request"])


def test_bands_are_means_of_the_requests_around_a_quantile() -> None:
    times = range(1, 1001)
    zero = dict.fromkeys(PARTS, pl.lit(0, pl.UInt64))
    requests = pl.DataFrame({"request": range(1000), "response_time_ns": [10**6 * ms for ms in times]}).with_columns(
        **zero | {"queueing": pl.col("response_time_ns") // 2, "further_round_trips": pl.col("response_time_ns") // 2}
    )
    bands = by_band(requests.reverse())
    assert bands["band"].to_list() == ["mean", "p50", "p90", "p99"]
    assert bands["requests"].to_list() == [1000, 10, 10, 10]
    # Half a point to either side of the median: the requests of 496 to 505 ms.
    assert bands["response_time_ms"].to_list() == [500.5, 500.5, 900.5, 990.5]
    assert bands["queueing"].to_list() == [250.25, 250.25, 450.25, 495.25]
    assert by_band(requests.head(1))["requests"].to_list() == [1, 1, 1, 1]


def test_bars_have_the_length_of_the_shares(explanation: lab.Explanation) -> None:
    bands = by_band(explanation.requests)
    figure = Figure()
    plot.bands(figure, bands, title=explanation.title)
    (axis,) = figure.axes
    (mean, *_) = zip(*axis.containers, strict=True)
    assert sum(bar.get_width() for bar in mean) == pytest.approx(100)
    for bar, part in zip(mean, _present(bands), strict=True):
        assert bar.get_width() == pytest.approx(100 * bands[part][0] / bands["response_time_ms"][0])


def _present(bands: pl.DataFrame) -> list[str]:
    return [part for part in PARTS if bands[part].sum() > 0]


def moment(time_ms: float, event: str, **options: Any) -> dict[str, Any]:
    """Return a moment of a timeline, of a segment of the response unless it is said to be another."""
    known = {"sender": "server", "segment": "data", "offset": 0, "bytes": 0, "waited_ns": 0, "cwnd": 0} | options
    return {"time_ns": int(1e6 * time_ms), "event": event, "place": known["sender"], **known}


def flight(start_ms: float, first: int, count: int) -> Iterable[dict[str, Any]]:
    for n in range(count):
        segment = {"offset": 1000 * (first + n), "bytes": 1000}
        yield moment(start_ms, "sent", **segment)
        yield moment(start_ms + 10, "arrived", waited_ns=1_000_000 * (n + 1), **segment)
        ack = {"sender": "client", "segment": "ACK", "offset": 1000 * (first + n + 1)}
        yield moment(start_ms + 10, "sent", **ack)
        yield moment(start_ms + 100, "arrived", **ack)


def in_order(*moments: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((event for group in moments for event in group), key=lambda event: event["time_ns"])


def test_an_undisturbed_flight_is_one_line() -> None:
    text = lines(in_order(flight(0, 0, 2), flight(100, 2, 4)), 300, 6000)
    assert [line.event for line in text] == [
        "2 segments 0-2,000: queue 1.0-2.0 ms; 2 ACKs queue 0.0 ms",
        "4 segments 2,000-6,000: queue 1.0-4.0 ms; 4 ACKs queue 0.0 ms",
    ]
    assert [(line.at_ms, line.until_ms, line.place) for line in text] == [(0, 10, "server"), (100, 110, "server")]


def test_of_many_undisturbed_flights_the_later_ones_share_a_line() -> None:
    text = lines(in_order(*(flight(100 * n, 3 * n, 3) for n in range(20))), 300, 60_000)
    assert len(text) == 7
    assert text[-1].event == "14 flights, 42 segments 18,000-60,000: queue 1.0-3.0 ms; 42 ACKs queue 0.0 ms"


def test_data_of_an_earlier_request_have_a_line_of_their_own() -> None:
    again = {"offset": None, "bytes": 399}
    ack = {"sender": "client", "segment": "ACK", "offset": None}
    moments = in_order(
        [moment(0, "sent again", **again), moment(20, "arrived", **again), moment(20, "sent", **ack)], flight(30, 0, 1)
    )
    assert [line.event for line in lines(moments, 300, 1000)] == [
        "data of an earlier request again: queue 0.0 ms",
        "ACK of an earlier request: still on its way",
        "1 segment 0-1,000: queue 1.0 ms; its ACK queue 0.0 ms",
    ]


def test_what_goes_wrong_has_a_line_of_its_own() -> None:
    lost = {"offset": 2000, "bytes": 1000}
    moments = in_order(
        flight(0, 0, 2),
        [
            moment(100, "sent", **lost),
            moment(100, "dropped early", **(lost | {"place": "link"})),
            moment(1100, "data timeout", segment="", waited_ns=1_000_000_000),
            moment(1100, "sent again", **lost),
            moment(1110, "arrived marked", waited_ns=2_500_000, **lost),
            moment(1110, "complete", sender="client", segment=""),
        ],
    )
    assert [(line.place, line.event) for line in lines(moments, 300, 3000)][1:] == [
        ("server", "data 2,000-3,000: dropped early"),
        ("server", "data timeout after 1,000.0 ms"),
        ("server", "data 2,000-3,000 again: marked, queue 2.5 ms"),
        ("client", "response complete"),
    ]


@pytest.fixture(scope="module")
def evicting(tmp_path_factory: pytest.TempPathFactory) -> lab.Explanation:
    """Requests behind a queue that makes room by the eviction of the longest flow's packets."""
    experiment = lab.Experiment(
        link={"rate": "1 Mbit/s"},
        queue={"fq_codel": {"limit": 12}},
        users={"per_side": 200},
        protocol={"warmup": "2 s", "duration": "10 s"},
        record={"exchanges": True},
    )
    result = run_cell(cells_of(experiment, [1])[0], Store(tmp_path_factory.mktemp("results")))
    return lab.explain(result.directory, slowest=20)


def test_an_evicted_packet_has_a_line_that_says_so(evicting: lab.Explanation) -> None:
    assert "evicted" in evicting.timelines["event"].unique().to_list()
    for request in evicting.requests.iter_rows(named=True):
        moments = evicting.timeline(request["request"]).to_dicts()
        evicted = sum(moment["event"] == "evicted" for moment in moments)
        text = lines(moments, request["request_bytes"], request["response_bytes"])
        assert sum(line.event.endswith(": evicted") for line in text) == evicted


def test_explain_prints_the_parts_and_draws_them(aqmlab: Command, result: Result, tmp_path: Path) -> None:
    outcome = aqmlab("explain", str(result.directory), "--figure", "parts.svg")
    assert outcome.code == 0
    shares = by_band(lab.explain(result.directory).requests)
    for part, name in PARTS.items():
        assert (f"\n {name} " in outcome.out) == (part in _present(shares))
    assert (tmp_path / "parts.svg").stat().st_size > 0
    line, file_line = outcome.err.splitlines()
    assert "35 s simulated" in line
    assert file_line == "parts.svg"
    report = json.loads(aqmlab("explain", str(result.directory), "--json").out)
    assert [band["band"] for band in report["bands"]] == ["mean", "p50", "p90", "p99"]
    for band in report["bands"]:
        assert sum(band[part] for part in PARTS) == pytest.approx(band["response_time_ms"])
    assert report["bands"][0]["response_time_ms"] == pytest.approx(result.summary["response_time_ms"]["mean"])


def test_explain_prints_timelines(aqmlab: Command, result: Result, explanation: lab.Explanation) -> None:
    output = aqmlab("explain", str(result.directory), "--request", "0").out
    assert "Request 0\n" in output
    assert "response complete" in output
    slowest = json.loads(aqmlab("explain", str(result.directory), "--slowest", "2", "--json").out)["requests"]
    expected = explanation.requests.sort("response_time_ns", descending=True)["request"].head(2).to_list()
    assert [request["request"] for request in slowest] == expected
    for request in slowest:
        assert request["timeline"][-1]["event"] == "complete"
        dropped = [moment for moment in request["timeline"] if moment["place"] == "link"]
        assert len(dropped) == request["losses"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--request", "1000000"], "request: must be from 0 to ", id="number beyond the last"),
        pytest.param(["--request", "-1"], "got -1", id="negative number"),
        pytest.param(["--request", "first"], "--request", id="number that is a word"),
        pytest.param(["--slowest", "0"], "slowest: must be from 1 to 1000, got 0", id="no slowest"),
        pytest.param(["--slowest", "99999999"], "slowest: must be from 1 to 1000, got 99999999", id="all slowest"),
        pytest.param(["--slowest", "1", "--request", "1"], "--slowest", id="both"),
        pytest.param(["--page", "0"], "page: requests of this cell are explained: give", id="a page"),
        pytest.param(["--figure", "parts.doc"], "parts.doc", id="figure of an unknown kind"),
        pytest.param(["--figure", "missing/parts.svg"], "missing/parts.svg", id="figure that cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    aqmlab: Command, result: Result, arguments: list[str], message: str
) -> None:
    outcome = aqmlab("explain", str(result.directory), *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("aqmlab: "), "before anything is run"
    assert message in line


@pytest.mark.parametrize("directory", ["missing", ".", 300 * "x"])
def test_what_is_no_cell_is_said_to_be_none(aqmlab: Command, directory: str) -> None:
    outcome = aqmlab("explain", directory)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("aqmlab: cell: must be the directory of a cell")
    assert line.endswith(f"got '{directory}'")


def test_a_cell_of_another_results_number_is_not_explained(aqmlab: Command, small_cell: Cell, store: Store) -> None:
    directory = run_cell(small_cell, store).directory
    reseal(directory, results=0)
    outcome = aqmlab("explain", str(directory))
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "has results of number 0" in line
    assert line.endswith("run it again")


def test_a_cell_without_requests_has_nothing_to_explain(store: Store) -> None:
    idle = lab.Experiment(users={"per_side": 1}, protocol={"warmup": "0 s", "duration": "10 ms"})
    result = run_cell(cells_of(idle, [1])[0], store)
    assert result.summary["completed_requests"] == 0
    with pytest.raises(lab.SpecError, match="no request was completed"):
        lab.explain(result.directory)


def test_a_custom_law_is_explained_unless_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.chdir(tmp_path)
    law = "import aqmlab as lab\n\nclass Step(lab.Law):\n    def on_enqueue(self, packet, queue, now):\n"
    law += "        return lab.Verdict.MARK if queue.packets >= 5 else lab.Verdict.PASS\n"
    (tmp_path / "explained_law.py").write_text(law)
    experiment = lab.Experiment(
        link={"rate": "2 Mbit/s"},
        queue={"explained_law:Step": {}},
        users={"per_side": 100},
        protocol={"warmup": "0 s", "duration": "5 s"},
    )
    result = run_cell(cells_of(experiment, [1])[0], store)
    assert lab.explain(result.directory).requests.height == result.summary["completed_requests"]
    (tmp_path / "explained_law.py").write_text(law + "\n")
    with pytest.raises(lab.SpecError, match="its source has changed"):
        lab.explain(result.directory)
    (tmp_path / "explained_law.py").unlink()
    with pytest.raises(lab.SpecError, match="no module is called 'explained_law'"):
        lab.explain(result.directory)


def test_a_table_of_parts_has_shares_that_add_up(explanation: lab.Explanation) -> None:
    text = console.render_text(table.bands(by_band(explanation.requests).to_dicts()))
    rows = [line for line in text.splitlines() if line.strip().startswith(tuple(PARTS.values()))]
    assert len(rows) == len(_present(by_band(explanation.requests)))
    assert sum(float(row.split()[-1]) for row in rows) == pytest.approx(100, abs=0.5)
