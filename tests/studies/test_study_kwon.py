from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
import fixtures.results
from aqmlab.cells.cell import Cell
from aqmlab.spec.experiment import Protocol
from aqmlab.store.result import Result
from aqmlab.studies import find
from aqmlab.studies.kit.measures import DATA, goodput_mbps
from aqmlab.studies.kit.measures import sources as sources_of
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import study_cells
from aqmlab.studies.kwon2003 import gfc2, measures, names, runs, tables
from aqmlab.studies.kwon2003.published import METRICS
from fixtures.study import check

LENGTHS = ("quick", "default", "full")
CSV = Path(__file__).parents[2] / "python/aqmlab/studies/kwon2003/published.csv"


def source(name: str, *, sent: int = 100, lost: int = 0, mbps: float = 0.1, **what: Any) -> dict[str, Any]:
    return {
        "name": name,
        "goodput_mbps": mbps,
        "packets_sent": sent,
        "packets_lost": lost,
        "completed": what.get("completed", 0),
        "response_time_ms": what.get("times"),
        "response_time_ms_max": what.get("longest"),
        "datagrams": what.get("datagrams"),
        "queue_delay_ms_each_way": [{"mean": 99_000.0 * (n != DATA) + 100} for n in (0, 1)],
    }


def pages(completed: int, mean: float, longest: float) -> dict[str, Any]:
    return {"completed": completed, "times": {"mean": mean}, "longest": longest}


UDP = source(
    "udp", sent=50, lost=5, mbps=0.012, datagrams={"delay_ms_mean": 250.0, "delay_ms_max": 4000.0, "loss_percent": 10.0}
)
LINK = {"arrived": 200, "dropped_early": 6, "dropped_forced": 1, "dropped_by_limit": 2, "dropped_at_dequeue": 0}


def queue(bytes_: Sequence[int], every_s: float = 1.0, **variables: Sequence[float]) -> pl.DataFrame:
    """Samples of the direction of data, each followed by one of the other direction, which is not to be read."""
    one = pl.DataFrame({"time_s": [every_s * n for n in range(len(bytes_))], "bytes": bytes_, **variables})
    rows = [one.with_columns(direction=pl.lit(direction)) for direction in (DATA, 1 - DATA)]
    other = rows[1].with_columns(bytes=pl.lit(10**9))
    return pl.concat([rows[0], other], how="vertical_relaxed")


def exchanges(*requested: tuple[int, float, float]) -> pl.DataFrame:
    """Pages: the number of the source, when they were requested and when they had come, in seconds."""
    rows = pl.DataFrame(
        requested, schema={"source": pl.UInt16, "start_s": pl.Float64, "end_s": pl.Float64}, orient="row"
    )
    return rows.select("source", "start_s", response_time_ms=1000 * (pl.col("end_s") - pl.col("start_s")))


def result(
    directory: Path,
    cell: Cell,
    sources: Sequence[Mapping[str, Any]],
    samples: pl.DataFrame,
    pages: pl.DataFrame | None = None,
) -> Result:
    summary = {
        "sources": list(sources),
        "counters": [{**LINK, "evicted": 0, "dropped_early": 99 * (n != DATA) + 6} for n in (0, 1)],
        "directions": [{"throughput_mbps": 0.5 + 0.4 * (n == DATA)} for n in (0, 1)],
    }
    tables = {"queue": samples, "exchanges": exchanges() if pages is None else pages}
    return Result(cell, fixtures.results.write(directory, summary=summary, **tables))


@pytest.fixture
def ldc_cell() -> Cell:
    """A cell on a link of 100 kbit/s under LDC with a target of 1.6 s, which are 20 kB."""
    study = find("kwon2003")
    return study_cells(study, study.lengths["quick"], {})[names.DELAY_TARGET][0]


def made_up(directory: Path, length: str) -> dict[str, list[Result]]:
    """A result for each cell of the study, all with the same numbers."""
    study = find("kwon2003")
    variables = ("p", "p_b", "avg", "q_avg", "r_avg", "p_drop")
    samples = queue(
        [1000 * (n % 120) for n in range(1200)], 0.1, **{name: [n % 7 / 7 for n in range(1200)] for name in variables}
    )
    sources = [source("http", **pages(10, 2000, 9000)), source("ftp"), UDP]
    results = [
        result(directory / "one", cell, sources, samples, exchanges(*((1, float(n), n + 2.0) for n in range(10))))
        for cell in next(iter(study_cells(study, study.lengths["quick"], {}).values()))[:1]
    ]
    return {
        name: [Result(cell, results[0].directory) for cell in cells]
        for name, cells in study_cells(study, study.lengths[length], {}).items()
    }


@pytest.mark.parametrize("length", LENGTHS)
def test_claims_tables_and_figures_find_their_runs(length: str, tmp_path: Path) -> None:
    study = find("kwon2003")
    report = Report.from_results(study, study.lengths[length], made_up(tmp_path, length))
    check(report)


def test_each_claim_names_only_runs_there_are(tmp_path: Path) -> None:
    results = made_up(tmp_path, "quick")
    for claim in find("kwon2003").claims:
        finding = claim.decide(results, {}).finding
        assert finding is not None
        assert finding.pairs == find("kwon2003").lengths["quick"].seeds


def test_of_claim_13_all_twelve_response_times_are_compared(tmp_path: Path) -> None:
    claim = next(each for each in find("kwon2003").claims if each.id == "kwon2003-13")
    # Drop-tail, SRED and BLUE each against RED, FRED, REM and LDC; and their throughput against REM's and LDC's.
    assert len(claim.parts) == 3 * 4 + 3 * 2


def test_published_numbers_stand_in_the_tables_as_in_the_file(tmp_path: Path) -> None:
    both = tables.all_tables(made_up(tmp_path, "quick"))[:2]
    with CSV.open() as file:
        rows = list(csv.DictReader(file))
    for table, statistic in zip(both, ("mean", "std"), strict=True):
        shown = {row[0]: row[2:] for row in table.rows if row[1] == "published"}
        assert shown == {
            row["algorithm"]: [float(row[metric]) for metric in METRICS]
            for row in rows
            if row["statistic"] == statistic
        }
    assert len(rows) == 14


def test_means_and_maxima_are_over_all_sources(tmp_path: Path, ldc_cell: Cell) -> None:
    sources = [
        source("http A1", sent=300, lost=30, mbps=0.02, **pages(30, 1000, 8000)),
        source("http B1", sent=100, lost=10, mbps=0.01, **pages(10, 5000, 6000)),
        source("http C", sent=0, mbps=0.0),
        source("ftp", sent=550, lost=0, mbps=0.13),
        UDP,
    ]
    one = result(tmp_path / "one", ldc_cell, sources, queue([0]))
    assert (measures.udp_delay_s(one), measures.longest_udp_delay_s(one)) == (0.25, 4.0)
    assert goodput_mbps(one, measures.HTTP) == pytest.approx(0.03)
    assert goodput_mbps(one) == pytest.approx(0.172)
    assert measures.drop_percent(one, measures.HTTP) == pytest.approx(10)
    assert measures.udp_drop_percent(one) == pytest.approx(10)
    assert measures.drop_percent(one) == pytest.approx(4.5)
    assert measures.link_drop_percent(one) == pytest.approx(4.5)


def test_a_session_ends_when_its_last_page_arrives(tmp_path: Path, ldc_cell: Cell) -> None:
    # Two clients of two sessions of two pages, and a third page that begins a session without its other page.
    pages = exchanges((1, 0, 90), (1, 10, 20), (3, 4, 5), (3, 5, 7), (1, 30, 31), (1, 40, 50), (1, 60, 99), (2, 0, 800))
    sources = [source("http A1"), source("ftp"), source("http C/1"), UDP]
    one = result(tmp_path / "one", ldc_cell, sources, queue([0]), pages)
    assert measures.session_times_s(one, 2).to_list() == pytest.approx([90, 20, 3])
    assert measures.session_s(one, 1) == pytest.approx((90 + 10 + 1 + 2 + 1 + 10 + 39) / 7)
    assert measures.session_s(one) == pytest.approx(99)
    assert measures.longest_session_s(one) == pytest.approx(99)
    nothing = result(tmp_path / "nothing", ldc_cell, sources, queue([0]))
    assert str(measures.session_s(nothing)) == str(measures.longest_session_s(nothing)) == "nan"
    assert str(tables.deviation(measures.session_s, [one, nothing])) == "nan"


def test_data_are_counted_in_whole_packets_but_for_datagrams(tmp_path: Path, ldc_cell: Cell) -> None:
    sources = [source("http A1", mbps=0.096), source("ftp", mbps=0.48), UDP]
    one = result(tmp_path / "one", ldc_cell, sources, queue([0]))
    assert measures.delivered_mbps(one, measures.HTTP) == pytest.approx(0.1)
    assert measures.delivered_mbps(one, measures.UDP) == pytest.approx(0.012)
    assert measures.delivered_mbps(one) == pytest.approx(0.612)
    assert measures.link_mbps(one) == pytest.approx(0.9)


def test_packet_delay_is_from_sender_to_receiver(tmp_path: Path) -> None:
    study = find("kwon2003")
    cell = study_cells(study, study.lengths["quick"], {})[names.PAPER][0]
    # 0.1 s of waiting, 8 ms to send 1,000 bytes at 1 Mbit/s, 10 ms on the link and 20 ms beside it.
    one = result(tmp_path / "one", cell, [source("ftp")], queue([0]))
    assert measures.packet_delay_s(one) == pytest.approx(0.138)


def test_udp_is_lost_with_the_pages_and_not_against_them(tmp_path: Path) -> None:
    def of(*, udp_with_pages: bool) -> Result:
        protocol = Protocol(warmup="0 s", duration="300 s")
        return lab.run(gfc2.experiment(runs.QUEUES["RED"], protocol, udp_with_pages=udp_with_pages), out=tmp_path)

    with_pages, against = of(udp_with_pages=True), of(udp_with_pages=False)
    assert measures.udp_delay_s(with_pages) > 2 * measures.udp_delay_s(against)
    for one in (with_pages, against):
        # The transfer meets no page: acknowledgements and requests alone share its link of 150 kbit/s.
        assert 0.12 < measures.delivered_mbps(one, measures.FTP) < 0.15
        assert sum(each["name"].startswith(measures.HTTP) for each in one.summary["sources"]) == 22
        # What a packet waits ends where its 160 ms on the wire of 50 kbit/s begin; then 5 ms to R4.
        waited = sources_of(one, measures.UDP)[0]["queue_delay_ms"]["mean"] / 1000
        assert measures.udp_delay_s(one) == pytest.approx(waited + 0.165, rel=0.01)


def test_the_queueing_delay_is_what_the_bytes_take_on_the_link(tmp_path: Path, ldc_cell: Cell) -> None:
    one = result(tmp_path / "one", ldc_cell, [UDP], queue([0, 10_000, 20_000, 20_001]))
    assert measures.mean_delay_s(one) == pytest.approx((0 + 0.8 + 1.6 + 1.60008) / 4)
    assert measures.above_target_percent(one) == pytest.approx(25)


def test_in_a_chain_queueing_delay_uses_each_links_rate(tmp_path: Path) -> None:
    chain = [{"rate": "50 kbit/s"}, {"rate": "100 kbit/s"}]
    spec = fixtures.results.resolved(link=chain, queue={"ldc": {"d_target": "4 s"}})
    cell = Cell(label="", signal="drop", load_percent=None, users_per_side=0, spec=spec, seed=1, experiment="")
    # 25 kB are 4 s at 50 kbit/s.
    samples = [queue([25_000, 25_001]).with_columns(link=pl.lit(link, pl.UInt8)) for link in (1, 2)]
    one = result(tmp_path / "one", cell, [UDP], pl.concat(samples))
    assert measures.above_target_percent(one) == pytest.approx(25)
    assert measures.mean_delay_s(one) == pytest.approx((4 + 4.00016 + 2 + 2.00008) / 4)


def test_changes_of_blue_are_held_against_the_queue_around_them(tmp_path: Path, ldc_cell: Cell) -> None:
    # Two rises, one of them with room; three falls, one of them with two packets waiting throughout.
    samples = queue(
        [119_500, 119_600, 60_000, 60_000, 0, 5_000, 500, 2_000, 2_500],
        p=[0.0, 0.2, 0.2, 0.4, 0.4, 0.38, 0.38, 0.36, 0.34],
    )
    one = result(tmp_path / "one", ldc_cell, [UDP], samples)
    assert measures.rises_with_room_percent(one) == pytest.approx(50)
    assert measures.falls_with_queue_percent(one) == pytest.approx(100 / 3)


def test_probabilities_are_held_against_load_and_queue(tmp_path: Path, ldc_cell: Cell) -> None:
    samples = queue(
        [2_000, 12_000, 2_000, 9_999, 12_000, 2_000, 2_000],
        p_b=[0.1, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0],
        # The mean of the probability is 0.3: two of three seconds of overload are spared, one of four others punished.
        r_avg=[1.5, 1.5, 1.5, 0.5, 0.5, 0.5, 0.5],
        p_drop=[0.2, 0.2, 0.5, 0.9, 0.1, 0.1, 0.1],
    )
    one = result(tmp_path / "one", ldc_cell, [UDP], samples)
    assert measures.drops_at_short_queue_percent(one) == pytest.approx(40)
    assert measures.missed_congestion_percent(one) == pytest.approx(100 * 2 / 3)
    assert measures.false_congestion_percent(one) == pytest.approx(25)


def test_the_data_wait_in_the_direction_that_is_read(tmp_path: Path) -> None:
    experiment = runs.ftp(runs.ldc("200 ms"), Protocol(warmup="0 s", duration="20 s"))
    one = lab.run(experiment, out=tmp_path)
    assert 0.02 < measures.mean_delay_s(one) < 0.2
    assert 0.5 < goodput_mbps(one, measures.FTP) < 1
    assert 5 < measures.link_drop_percent(one) < 50


def test_nothing_is_claimed_from_nothing(tmp_path: Path, ldc_cell: Cell) -> None:
    still = result(tmp_path / "one", ldc_cell, [UDP], queue([0, 0], p=[0.0, 0.0]))
    assert str(measures.rises_with_room_percent(still)) == "nan"
