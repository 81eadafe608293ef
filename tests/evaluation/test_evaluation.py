"""Controls under test: CUBIC meets, controls that are broken on purpose exceed its harm, and the page shows it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aqmlab._core import SpecError
from aqmlab.cli.main import app
from aqmlab.evaluation import Outcome, Verdict, evaluate, page, plan, table
from json_schema import admits

SEEDS = range(1, 4)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that all evaluations share, so that CUBIC and Reno run once."""
    return tmp_path_factory.mktemp("evaluation")


def outcomes_of(control: str, store: Path, *clauses: str) -> dict[str, Outcome]:
    outcomes = evaluate(control, clauses=clauses, seeds=SEEDS, out=store, progress=False)
    return {outcome.clause.section: outcome for outcome in outcomes}


def exceeded(outcome: Outcome) -> set[tuple[str, str, str]]:
    requests = [comparison.request for comparison in outcome.comparisons if comparison.verdict is Verdict.EXCEEDS]
    return {(request.scenario, request.point, request.measure) for request in requests}


def test_cubic_has_the_harm_of_cubic(store: Path) -> None:
    outcomes = outcomes_of("cubic", store, "5.1.1", "5.1.3", "7.1")
    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.MEETS}
    differences = {
        (harm.mean, harm.low, harm.high)
        for outcome in outcomes.values()
        for comparison in outcome.comparisons
        if (harm := comparison.from_cubic) is not None
    }
    assert differences == {(0.0, 0.0, 0.0)}


def test_a_control_without_backoff_exceeds_it(store: Path) -> None:
    outcomes = outcomes_of("broken_controls:WithoutBackoff", store, "5.1.1", "5.1.3")
    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.EXCEEDS}
    assert ("collapse", "no other loss", "loss") in exceeded(outcomes["5.1.1"])
    assert {point for _, point, _ in exceeded(outcomes["5.1.3"])} == {"0.25 BDP", "0.5 BDP", "1 BDP"}


def test_a_control_deaf_to_marks_exceeds_it_where_marks_are(store: Path) -> None:
    outcomes = outcomes_of("broken_controls:DeafToMarks", store, "5.1.3", "7.1")
    assert {section: outcome.verdict for section, outcome in outcomes.items()} == {
        "5.1.3": Verdict.MEETS,
        "7.1": Verdict.EXCEEDS,
    }
    assert "CoDel that drops" not in {point for _, point, _ in exceeded(outcomes["7.1"])}


COMPARISON = {
    "type": "object",
    "required": ["scenario", "point", "measure", "unit", "margin", "control", "cubic", "reno", "verdict", "reason"],
    "properties": {
        "worse_than_cubic": {
            "type": ["object", "null"],
            "required": ["mean", "low", "high"],
            "additionalProperties": {"type": "number"},
        },
        "better": {"enum": ["less", "more"]},
        "verdict": {"enum": [str(verdict) for verdict in Verdict]},
        **{control: {"type": ["number", "null"]} for control in ("control", "cubic", "reno")},
    },
}
RECORD = {
    "type": "object",
    "required": ["document", "text", "control", "changes", "seeds", "clauses", "page"],
    "properties": {
        "clauses": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["section", "title", "level", "demand", "verdict", "uncovered", "comparisons"],
                "properties": {"comparisons": {"type": "array", "items": COMPARISON}},
            },
        }
    },
}


def test_the_command_prints_json_and_writes_a_page(store: Path, tmp_path: Path) -> None:
    options = ["--control", "bbr", "--clause", "5.1.3", "--clause", "7.10", "--quick", "--json"]
    files = ["--out", str(store), "--pages", str(tmp_path), "--table", str(tmp_path / "comparisons.csv")]
    result = CliRunner().invoke(app, ["study", "rfc9743", *options, *files])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert admits(RECORD, record, RECORD)
    assert [clause["verdict"] for clause in record["clauses"]][1] == "not covered"
    head, *rows = (tmp_path / "comparisons.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("section,title,level,verdict,uncovered,scenario,point,measure,")
    assert len(rows) == 3 + 1
    assert record["page"] == str(tmp_path / "rfc9743-bbr.html")
    text = Path(record["page"]).read_text(encoding="utf-8")
    assert "aqmlab study rfc9743 --control bbr --clause=5.1.3 --clause=7.10 --seeds 3" in text
    assert "aqmlab has no multipath transport." in text
    assert not re.findall(r"<script|https?://(?!www\.w3\.org)", text)


def test_the_table_names_the_comparison_that_decides(store: Path) -> None:
    outcome = outcomes_of("broken_controls:WithoutBackoff", store, "5.1.3")["5.1.3"]
    decided_by = table.deciding(outcome)
    assert decided_by is not None
    assert table.place_of(decided_by) == "buffers (0.25 BDP): loss in the queue, %"
    assert table.summary([outcome]).startswith("Clauses: exceeds the harm of CUBIC 1,")


def test_names_are_text_in_the_page(store: Path) -> None:
    evaluation = replace(
        plan("cubic", clauses=["5.1.3"], seeds=SEEDS), control="<script>x</script>", changes=("a=<b>",)
    )
    outcomes = list(outcomes_of("cubic", store, "5.1.3").values())
    text = page.html(evaluation, outcomes)
    assert "<script>" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert page.file_name("../<x>:Y") == "rfc9743-..-x-Y.html"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rfc9743"], "--control: must name the congestion control, such as bbr or module:Class, got none"),
        (["rfc9743", "--control", "x"], "--control: must be one of reno, cubic"),
        (["rfc9743", "--control", "bbr", "--clause", "9"], "--clause: must be one of 3.1, 4, 5.1.1"),
        (["rfc9743", "--control", "bbr", "--seeds", "2"], "--seeds: must be at least 3, for an interval, got 2"),
        (["rfc9743", "--control", "bbr", "--set", "link.rate=1"], "--set: must change the control's stack"),
        (["rfc9743", "--control", "bbr", "--aqm", "pie"], "--aqm: cannot be with rfc9743"),
        (["le2003", "--control", "bbr"], "--control: cannot be with le2003"),
    ],
)
def test_a_mistake_is_an_error_of_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as error:
        CliRunner().invoke(app, ["study", *arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
