"""The study of RFC 7928 as a whole: its runs, its schemes, its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from aqmlab._core import SpecError
from aqmlab.spec import schemes
from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.study import Study
from aqmlab.studies.rfc7928 import Rfc7928, trade_off
from aqmlab.studies.rfc7928.runs import FAIRNESS, VARYING
from aqmlab.studies.rfc7928.schemes import can_mark, variants
from conftest import Command, Write
from fixtures.rfc7928 import dry, parse
from fixtures.study import check

OWN = '''
import aqmlab as lab


class Always(lab.Law):
    """Lets all pass."""

    def on_enqueue(self, packet, queue, now):
        return lab.Verdict.PASS
'''


def test_tables_and_figures_find_their_runs(tmp_path: Path) -> None:
    report = dry(Rfc7928(), tmp_path)
    check(report)


def test_the_study_is_about_the_disciplines_it_is_given(tmp_path: Path) -> None:
    study = Rfc7928().with_schemes(parse("pi2", "droptail", "pi2", "ared:mean_packet=1500 B,ecn=true"))
    assert [scheme.label for scheme in study.schemes] == ["droptail", "pi2", "ared:mean_packet=1500 B,ecn=true"]
    report = dry(study, tmp_path)
    ids = [each.id.removeprefix("RFC7928-") for each in report.decisions]
    assert ids == ["1", "2", "4", "7", "8"], "what is expected of any; not what is said of CoDel, PIE and FQ-CoDel"
    ecn = next(claim for claim in study.reviewed_claims() if claim.id == "RFC7928-7")
    assert {run.partition("/")[2] for part in ecn.parts for run in part.runs} == {"pi2"}
    assert all(decision.registered is None and decision.gist for decision in report.decisions)
    assert study.options == ' --aqm pi2 --aqm droptail --aqm pi2 --aqm "ared:mean_packet=1500 B,ecn=true"'


def test_benefits_and_costs_are_changes_paired_by_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"droptail": 10.0, "pi2": 5.0}
    column = Column(
        what="made", measure=lambda result: made[result.cell.label] * result.cell.seed + result.cell.seed - 1
    )
    monkeypatch.setattr(trade_off, "COMPARED", (("medium", column),))
    report = dry(Rfc7928().with_schemes(parse("pi2")), tmp_path)
    (table,) = (each for each in report.tables if each.name == "trade-off")
    # 5 of 10, and 11 of 21: not 16 of 31.
    ((scheme, change, half),) = table.rows
    assert (scheme, table.columns) == ("pi2", ("scheme", "made, %", "±"))
    assert change == pytest.approx((50 + 1100 / 21) / 2 - 100)
    assert isinstance(half, float)
    assert half > 1


def test_drop_tail_alone_is_characterised_without_a_claim(tmp_path: Path) -> None:
    report = dry(Rfc7928().with_schemes(parse("droptail")), tmp_path)
    assert report.decisions == []
    assert "trade-off" not in {each.name for each in report.tables}
    assert not any("ECN" in str(row[0]) for each in report.tables for row in each.rows)


def test_a_law_of_ones_own_is_characterised(write: Write, tmp_path: Path) -> None:
    write(OWN)
    report = dry(Rfc7928().with_schemes(parse("my_module:Always")), tmp_path / "dry")
    assert len(report.decisions) == 5
    tuning = next(each for each in report.tables if each.name == "tuning")
    assert {row[0] for row in tuning.rows} == {"droptail", "my_module:Always"}
    capacity, series = (next(each for each in report.tables if each.name == name) for name in ("capacity", "series"))
    assert {row[1] for row in capacity.rows} == {"droptail", "my_module:Always"}
    assert {(*row[:2],) for row in series.rows} == {("droptail", "droptail")}, "laws of one's own have one link"


def test_an_unknown_scheme_is_refused_in_one_line(aqmlab: Command) -> None:
    outcome = aqmlab("study", "rfc7928", "--aqm", "codle")
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    assert "codle" in outcome.err
    assert "codel" in outcome.err


def test_a_study_of_named_schemes_refuses_others() -> None:
    with pytest.raises(SpecError, match=r"^SCHEME: cannot be with rfc7928, which .* its paper, got codel$"):
        Study.with_schemes(Rfc7928(), parse("codel"))


def test_disciplines_have_the_same_buffer_unless_they_set_one() -> None:
    study = Rfc7928().with_schemes(parse("codel", "pie:limit=50"))
    limits = {run.name: run.experiment.queue.parameters["limit"] for run in study.runs(study.lengths["quick"])}
    assert limits["medium/droptail"] == limits["medium/codel"] == "84 packets", "100 ms of 10 Mbit/s"
    assert limits["rtt-560/codel"] == "467 packets", "of the largest round trip"
    assert limits["capacity-slow/codel"] == limits["capacity-fast/codel"] == "834 packets", "of 100 Mbit/s"
    assert limits["series/codel"] == limits["lbe/codel"] == "84 packets"
    assert limits["lbe-deep/codel"] == limits["lbe-alone/codel"] == "334 packets", "four times as much"
    assert limits["medium/pie:limit=50"] == limits["rtt-560/pie:limit=50"] == 50


def test_fairness_runs_twice_as_long_as_other_scenarios() -> None:
    study = Rfc7928()
    length = study.lengths["default"]
    durations = {run.name: run.experiment.protocol.duration for run in study.runs(length)}
    assert durations["medium/codel"] == length.duration == "120 s"
    assert durations[f"{FAIRNESS[0].name}/codel"] == "240 s"
    assert durations["varying/codel"] == "100 s"


def test_the_course_of_the_load_fits_a_fair_share() -> None:
    bulks = [dict(source["bulk"]) for source in VARYING.sources]
    carried = [flows["flows"] * int(flows.get("bytes", "0").split()[0]) for flows in bulks]
    # 4 of 7 flows for 20 s, then 4 and 3 of 10: of what the link carries in 20 s.
    assert 8 * sum(carried) / 20 / 10e6 == pytest.approx((4 / 7 + 4 / 10 + 3 / 10) * 1448 / 1538, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("droptail", ["21 packets", "42 packets", "168 packets", "336 packets"]),
        ("codel", ["1.25 ms", "2.5 ms", "10 ms", "20 ms"]),
        ("pie:qdelay_ref=20 ms", ["5 ms", "10 ms", "40 ms", "80 ms"]),
        ("pi:q_ref=24", ["6", "12", "48", "96"]),
        ("red:min_th=7,max_th=21", ["2", "4", "14", "28"]),
        ("ared", ["1.25 ms", "2.5 ms", "10 ms", "20 ms"]),
        ("ared:min_th=12,max_th=36", ["3", "6", "24", "48"]),
        ("ared:max_th=36", ["9", "18", "72", "144"]),
        ("dualpi2", ["3.75 ms", "7.5 ms", "30 ms", "60 ms"]),
        ("ldc", ["1.25 ms", "2.5 ms", "10 ms", "20 ms"]),
    ],
)
def test_the_main_parameter_is_multiplied(text: str, values: Sequence[str]) -> None:
    found = variants(schemes.parse(text), 84)
    assert [variant.value for variant in found] == values
    assert all(variant.scheme.queue.parameters["limit"] for variant in found)


def test_both_thresholds_are_multiplied() -> None:
    (parameters,) = (
        each.scheme.queue.parameters
        for each in variants(schemes.parse("red:min_th=7,max_th=21"), 84)
        if each.factor == 2
    )
    assert (parameters["min_th"], parameters["max_th"]) == (14, 42)


def test_marks_add_runs_unless_drop_tail_or_a_set_ecn() -> None:
    assert [can_mark(scheme) for scheme in parse("codel", "droptail:limit=20", "pie:ecn=true", "pie:ecn=off")] == [
        True,
        False,
        False,
        False,
    ]
