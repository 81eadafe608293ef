"""``aqmlab parity``: both worlds beside each other."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.live import table
from aqmlab.live.parity import Parity, SchemeParity, parity
from aqmlab.metrics.numbers import NUMBERS
from conftest import Command
from fixtures.parity import pair


def test_differences_are_paired_and_invalid_runs_are_left_out() -> None:
    scheme = SchemeParity("pi", (pair(1, 12.0, 10.0), pair(2, 16.0, 10.0), pair(3, 1e9, 10.0, "it was late")))
    *rows, distance = scheme.rows()
    assert [row["measure"] for row in rows] == [number.heading for number in NUMBERS.values()]
    for row in rows:
        assert (row["live"], row["simulated"], row["difference"]) == (14.0, 10.0, 4.0)
        # Student's t of two values, 2 and 6: 12.706 times 2.
        assert (row["low"], row["high"]) == pytest.approx((4 - 25.41, 4 + 25.41), abs=0.01)
    assert distance["difference"] is not None
    # 20 ms of 2 s, and no nearer than that by way of the curves' slopes.
    assert 0 < distance["difference"] <= 1.0
    text = "\n".join(table.captions(Parity((scheme,))))
    assert "INVALID and left out: pi, seed 3, live: it was late" in text
    assert [seed["valid"] for seed in scheme.record()["seeds"]] == [True, True, False]


def test_one_pair_has_no_interval_and_no_measurement_no_value() -> None:
    (row, *_) = SchemeParity("pi", (pair(1, 12.0, 10.0),)).rows()
    assert (row["difference"], row["low"], row["high"]) == (2.0, None, None)
    (row, *_) = SchemeParity("pi", (pair(1, 12.0, None),)).rows()
    assert set(row.values()) == {"loss, %", None}
    none = SchemeParity("pi", (pair(1, 12.0, 10.0, "it was late"),))
    assert [row["difference"] for row in none.rows()] == [None] * (len(NUMBERS) + 1)
    assert none.curves() == {}


@pytest.mark.usefixtures("_live_permitted")
def test_parity_compares_live_and_simulated_by_default(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "both.toml"
    spec.write_text(
        'link.rate = "5 Mbit/s"\nusers.per_side = 150\nqueue.pi = {}\nprotocol = { warmup = "1 s", duration = "2 s" }\n'
    )
    late = ("--late-p99", "1e6", "--late-p999", "1e6", "--late-users", "1e6", "--cpu-left", "0")
    outcome = aqmlab("parity", str(spec), "--seeds", "1", "--json", *late)
    assert outcome.code == 0
    ((seed,),) = (scheme["seeds"] for scheme in json.loads(outcome.out)["schemes"])
    assert [(seed[world]["world"], seed[world]["seed"]) for world in ("live", "simulated")] == [
        ("live", 1),
        ("simulated", 1),
    ]
    if not seed["valid"]:
        pytest.skip(f"the run is invalid: {'; '.join(seed['invalid_reasons'])}")
    # All of it is in the store by now.
    repeat = parity(experiment=lab.Experiment.from_toml(spec), seeds=[1])
    (row, *_) = repeat.schemes[0].rows()
    assert math.isfinite(row["difference"])


def test_a_scheme_that_is_not_one_is_one_line(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "both.toml"
    spec.write_text("users.per_side = 1\n")
    outcome = aqmlab("parity", str(spec), "nonsense")
    assert outcome.code == 2
    assert outcome.err.startswith("aqmlab: ")
    assert outcome.err.count("\n") == 1
