"""Claims of ``study.toml``: the parts of a sentence, and mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqmlab import data_file
from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.claims.written import Vocabulary, WrittenClaim, reviewed_claims

LOSS = Column(what="loss, %", measure=lambda result: 1.0)

WORDS = Vocabulary(columns=[LOSS], joint=" at ", names={"PI 24": "pi:q_ref=24"}, lists={"loads": [90, 98]})


def claim(folder: Path, lines: str) -> ReviewedClaim:
    file = folder / "study.toml"
    file.write_text(f'[made-1]\nphrase = "words"\n{lines}\n', encoding="utf-8")
    (found,) = reviewed_claims(data_file.read(file, dict[str, WrittenClaim]), WORDS)
    return found


def runs(claim: ReviewedClaim) -> list[tuple[str, ...]]:
    return [part.runs for part in claim.parts]


def test_lists_are_claimed_of_each_point_then_of_each_run(tmp_path: Path) -> None:
    found = claim(tmp_path, 'parts = [{ one = ["PI 24", "red"], better_than = ["rem", "ared"], at = "loads" }]')
    ones, others = ("pi:q_ref=24", "red"), ("rem", "ared")
    assert runs(found) == [
        (f"{one} at {load}", f"{other} at {load}") for load in (90, 98) for one in ones for other in others
    ]


def test_points_of_a_claim_have_all_its_parts(tmp_path: Path) -> None:
    more, change = '{ column = "loss, %", one = "red", more_than = "rem" }', '{ one = "PI 24", same_as = "red" }'
    found = claim(tmp_path, f'at = "loads"\nparts = [{more}, {change}]')
    assert [one for one, _ in runs(found)] == ["red at 90", "pi:q_ref=24 at 90", "red at 98", "pi:q_ref=24 at 98"]


def test_the_other_run_may_be_at_another_point(tmp_path: Path) -> None:
    part = '{ column = "loss, %", one = "red", less_than = "red", at = "loads", other_at = 80 }'
    assert runs(claim(tmp_path, f"parts = [{part}]")) == [("red at 80", "red at 90"), ("red at 80", "red at 98")]


def test_bounds_and_limits_are_those_of_the_sentence(tmp_path: Path) -> None:
    about = (
        '{ column = "loss, %", one = "red at 90", difference_to = "PI 24 at 98", about = 2, limit = "same", axis = 10 }'
    )
    between = '{ column = "loss, %", one = "red at 90", change_from = "rem at 90", at_least = -5, at_most = 5 }'
    found = claim(tmp_path, f"parts = [{about}, {between}]")
    assert [str(part) for part in found.parts] == [
        "loss, %, red at 90 less loss, %, pi:q_ref=24 at 98 is 2, within 0.2",
        "loss, %, red at 90 over rem at 90, % is at least -5 and at most 5",
    ]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('{ one = "a" }', r"made-1\.parts\.0: Value error, must have one relation, got \[\]"),
        ('{ one = "a", same_as = "b", close_to = "c" }', r"must have one relation, got \['same_as', 'close_to'\]"),
        ('{ one = "a", same_as = "b", axis = 5 }', r"axis: has no effect with same_as"),
        ('{ one = "a", more_than = "b" }', r"column: is missing with more_than"),
        ('{ one = "a", better = "b" }', r"made-1\.parts\.0\.better: Unexpected keyword argument"),
        ('{ column = "loss, %", one = "a", about = 1, limit = "wide" }', r"limit: Input should be 'same' or 'close'"),
    ],
)
def test_a_mistake_in_a_part_is_one_line_with_its_place(tmp_path: Path, part: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^study\.toml: .*{message}$"):
        claim(tmp_path, f"parts = [{part}]")


def test_an_unknown_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"column: must be one of \['loss, %'\], got 'los, %'$"):
        claim(tmp_path, 'parts = [{ column = "los, %", one = "a", at_most = 5 }]')
