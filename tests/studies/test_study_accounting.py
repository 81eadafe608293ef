from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accounting import ours
from accounting.page import write
from aqmlab.models.accounting import Audit, Verdict
from aqmlab.models.intervals import Interval
from aqmlab.models.timers import Drops, Hosts, max_cost_s
from aqmlab.spec import schemes
from aqmlab.studies import find
from aqmlab.studies.kit.claims.predicates import BetterCurve
from aqmlab.studies.le import accounting as le

PAGES = Path(__file__).parents[2] / "docs" / "studies"

PACKET_MODE = "ared:min_th=12,max_th=36,w_q=1/8192,mode=packet"
LONG_PACKET_MODE = "ared:min_th=120,max_th=360,w_q=1/8192,mode=packet"

AUDITS = {(each.row.table, each.row.run): each.audit for each in le.audit_rows(le.published_rows())}


def contradicted(audits: dict[str, Audit]) -> set[str]:
    return {run for run, audit in audits.items() if audit.verdict is Verdict.INCONSISTENT}


@pytest.mark.parametrize(
    ("table", "run", "seconds"),
    [
        ("le2003-t2", "droptail:limit=24 at 98 %", 0.46),
        ("le2003-t2", "droptail:limit=240 at 98 %", 0.46),
        ("le2004-t2", "droptail:limit=240 at 98 %", 0.46),
        ("le2003-t2", "pi:q_ref=24,mode=byte at 98 %", 0.8),
        ("le2004-t2", "pi:q_ref=24,mode=byte at 98 %", 0.8),
        ("le2003-t2", "rem:q_ref=24,mode=byte at 98 %", 0.9),
        ("le2004-t2", "rem:q_ref=24,mode=byte at 98 %", 0.9),
        ("le2004-t3", "ared:min_th=12,max_th=36,w_q=1/8192,mode=byte at 98 %", 1.0),
        ("le2003-t2", f"{PACKET_MODE} at 98 %", 1.5),
        ("le2004-t3", f"{PACKET_MODE} at 98 %", 3.0),
        ("le2003-t2", f"{PACKET_MODE} at 90 %", 2.2),
        ("le2004-t3", f"{PACKET_MODE} at 90 %", 3.7),
        ("le2004-t4", f"{LONG_PACKET_MODE} at 90 %, general RTT", 13),
        ("le2004-t4", f"{LONG_PACKET_MODE} at 90 %, general RTT", 19),
        ("le2004-t4", "droptail:limit=240 at 98 %, general RTT", 1.9),
        ("le2004-t4", "droptail:limit=240 at 90 %, general RTT", 2.9),
    ],
)
def test_what_a_lost_packet_cost_is_what_was_worked_out_by_hand(table: str, run: str, seconds: float) -> None:
    cost = AUDITS[table, run].ledger.cost_s
    assert cost.low <= seconds <= cost.high


def test_a_row_is_kept_as_on_paper() -> None:
    # Drop-tail of 24 packets at 98 %: 18,659 users, 14.9 for 16.2 million requests, 91.1 Mbit/s, 6.5 % lost.
    books = AUDITS["le2003-t2", "droptail:limit=24 at 98 %"].ledger
    users = 2 * 9520 * 0.98
    assert books.extra_s.low == pytest.approx(users * 5400 * (1 / 14.95e6 - 1 / 16.15e6))
    assert books.extra_s.high == pytest.approx(users * 5400 * (1 / 14.85e6 - 1 / 16.25e6))
    assert books.lost.low == pytest.approx(91.05e6 / 8 * 2 * 5400 / 14.95e6 / 540 * 0.0645 / 0.9355)
    assert books.lost.high == pytest.approx(91.15e6 / 8 * 2 * 5400 / 14.85e6 / 500 * 0.0655 / 0.9345)
    assert books.queue_s.low == 0
    assert books.queue_s.high == pytest.approx(2.3 * 2 * (24 + 256) / 24_000)


def test_every_row_but_the_uncongested_has_a_verdict() -> None:
    assert len(AUDITS) == sum(row.scheme != "uncongested" for row in le.published_rows()) > 90


def test_rows_are_left_out_by_rule() -> None:
    for (_, run), audit in AUDITS.items():
        assert ("marks" in audit.reason) == ("ecn=true" in run)
        if " at 80 %" in run or run.startswith("droptail:limit=2400"):
            assert audit.verdict is Verdict.INCONCLUSIVE, run


def test_only_packet_mode_contradicts_its_table() -> None:
    runs = {run for (_, run), audit in AUDITS.items() if audit.verdict is Verdict.INCONSISTENT}
    assert all("mode=packet" in run for run in runs)
    assert {f"{PACKET_MODE} at 90 %", f"{PACKET_MODE} at 98 %"} < runs


def test_with_general_rtts_not_even_lost_syns_explain_the_time() -> None:
    audit = AUDITS["le2004-t4", f"{LONG_PACKET_MODE} at 90 %, general RTT"]
    assert audit.ledger.cost_s.low > max_cost_s(Drops.ANY, le.ROUND_TRIPS["general"])


def test_studies_count_contradictions_beyond_repeatability() -> None:
    assert contradicted(le.audits("le2003")) == set()
    assert contradicted(le.audits("le2004")) == {
        f"{PACKET_MODE} at 90 %",
        f"{PACKET_MODE} at 98 %",
        f"{LONG_PACKET_MODE} at 90 %, general RTT",
    }


def test_shorter_timers_contradict_more_rows_of_packet_mode() -> None:
    shorter = le.audit_rows(le.published_rows(), hosts=Hosts(first_s=3))
    runs = {(each.row.table, each.row.run) for each in shorter if each.audit.verdict is Verdict.INCONSISTENT}
    assert runs > {key for key, audit in AUDITS.items() if audit.verdict is Verdict.INCONSISTENT}
    assert all("mode=packet" in run for _, run in runs)


def test_repeatability_is_the_spread_of_repeated_experiments() -> None:
    spread = le.repeatability(le.published_rows())
    assert 0.02 < spread.completed_millions < 0.2
    assert 0.02 < spread.loss_points < 0.2
    one = next(row for row in le.published_rows() if row.scheme == "droptail:limit=240")
    rows = [
        replace(
            one, table=f"le{year}-t2", scheme=f"droptail:limit={n}", completed_millions=Interval.exactly(15 + error)
        )
        for n in range(1, 400)
        for year, error in zip((2003, 2004), np.random.default_rng(n).normal(0, 0.1, 2), strict=True)
    ]
    assert le.repeatability(rows).completed_millions == pytest.approx(0.1, rel=0.15)
    assert le.repeatability(rows).loss_points == 0


def test_what_a_law_drops_is_read_from_its_scheme() -> None:
    assert le.drops_of("droptail:limit=24") is Drops.BY_PACKETS
    assert le.drops_of(PACKET_MODE) is Drops.BY_PACKETS
    assert le.drops_of("pi:q_ref=24,mode=byte") is Drops.BY_BYTES
    assert le.drops_of("pi:q_ref=24,mode=byte,ecn=true") is None


def test_our_recorded_rows_have_the_same_users() -> None:
    rows = ours.recorded_rows(PAGES)
    assert {row.rtt for row in rows} == {"uniform", "general"}
    assert len({row.run for row in rows}) == len(rows) > 50
    for row in rows:
        assert row.scheme == "uncongested" or schemes.parse(row.scheme)
        assert row.completed_millions.high - row.completed_millions.low == pytest.approx(0.01)
    silent = [each for each in le.audit_rows(rows, le.ours()) if each.audit.verdict is Verdict.INCONCLUSIVE]
    assert 0 < len(silent) < len(rows)


def test_the_page_and_its_figure_are_written(tmp_path: Path) -> None:
    for name in ours.STUDIES:
        (tmp_path / f"{name}.json").symlink_to(PAGES / f"{name}.json")
    write(tmp_path)
    page = (tmp_path / "accounting.md").read_text(encoding="utf-8")
    assert not re.search(r"\{\w+\}", page)
    for shown in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page):
        assert 0 < (tmp_path / shown).stat().st_size < 200_000
    inconsistent = page.partition("## Inconsistent rows")[2].partition("## ")[0]
    found = sum(audit.verdict is Verdict.INCONSISTENT for audit in AUDITS.values())
    assert len(re.findall(r"^\| 20", inconsistent, re.MULTILINE)) == found
    assert page == (PAGES / "accounting.md").read_text(encoding="utf-8"), "run `make accounting`"


def test_studies_exclude_parts_on_inconsistent_rows() -> None:
    contradicted_parts = {
        (claim.id, part.other)
        for name in ours.STUDIES
        for study in (find(name),)
        for claim in study.reviewed_claims()
        for part in claim.parts
        if isinstance(part, BetterCurve) and study.contradiction(part.other)
    }
    assert {run for _, run in contradicted_parts} == contradicted(le.audits("le2004"))
    assert {claim for claim, _ in contradicted_parts} == {"le2004-05", "le2004-19", "le2004-29"}
    why = find("le2004").contradiction(f"{PACKET_MODE} at 98 %")
    assert why is not None
    assert "1.32 s at most" in why
    assert find("le2003").contradiction(f"{PACKET_MODE} at 98 %") is None
    assert find("le2004").contradiction("droptail:limit=240 at 98 %") is None
