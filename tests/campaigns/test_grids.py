"""Grids whose axes have named values, and whose schemes are variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.campaigns import campaign as campaigns
from aqmlab.results.cells import comparison_cells
from conftest import Command
from fixtures.campaigns import TINY


def rtt(least_ms: int, most_ms: int) -> dict[str, Any]:
    return {
        "source": "measured on our access links in 2026",
        "distribution": {"uniform_ms": {"min": least_ms, "max": most_ms}},
    }


NEAR, FAR = rtt(5, 9), rtt(80, 90)
L4S = {"scheme": "dualpi2", "tcp": {"congestion": "prague", "ecn": "accurate"}}
NAMED = """
set = ["link.rate=2 Mbit/s", "users.per_side=30", "protocol.warmup=1 s", "protocol.duration=2 s"]
schemes = ["codel", "pie"]
exclude = [{ scheme = "pie", "users.rtt" = "far" }]

[axes."users.rtt"]
near = { source = "measured", distribution = { uniform_ms = { min = 5, max = 9 } } }
far = "far.json"
"""


def test_named_values_are_the_cells_of_their_values() -> None:
    named = campaigns.plan(lab.Grid(set=TINY, axes={"users.rtt": {"near": NEAR, "far": FAR}}), [1], {})
    listed = campaigns.plan(lab.Grid(set=TINY, axes={"users.rtt": [NEAR, FAR]}), [1], {})
    assert [each.cell.key for each in named] == [each.cell.key for each in listed]
    assert [each.point for each in named] == [{"users.rtt": "near"}, {"users.rtt": "far"}]


def test_values_that_go_together_have_names_of_their_own() -> None:
    links = {"link.rate": {"slow": "2 Mbit/s", "fast": "9 Mbit/s"}, "link.delay": ["1 ms", "2 ms"]}
    planned = campaigns.plan(lab.Grid(set=TINY, zipped=[links]), [1], {})
    assert [each.point for each in planned] == [
        {"link.rate": "slow", "link.delay": "1 ms"},
        {"link.rate": "fast", "link.delay": "2 ms"},
    ]
    assert [each.cell.resolved["link"]["rate"] for each in planned] == ["2 Mbit/s", "9 Mbit/s"]


def test_tables_json_and_notes_show_the_names(aqmlab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "grids"
    folder.mkdir()
    (folder / "grid.toml").write_text(NAMED)
    # Files are beside the grid, wherever the command is typed.
    (folder / "far.json").write_text(json.dumps(FAR))
    command = ("sweep", "grids/grid.toml", "--seeds", "2")
    printed = aqmlab(*command, "--table", "cells.csv")
    assert printed.code == 0, printed.err
    assert [line.split()[:2] for line in printed.out.splitlines() if line.startswith((" codel ", " pie "))] == [
        ["codel", "near"],
        ["codel", "far"],
        ["pie", "near"],
    ]
    assert "uniform_ms" not in printed.out
    assert "far.json" not in printed.out
    report = json.loads(aqmlab(*command, "--json").out)
    assert [point["users.rtt"] for point in report["points"]] == ["near", "far", "near"]
    cells = pl.read_csv("cells.csv")
    assert cells["users.rtt"].to_list() == ["near"] * 2 + ["far"] * 2 + ["near"] * 2
    # The table itself stands in the spec of each cell.
    assert cells.filter(pl.col("users.rtt") == "far")["rtt"].str.starts_with("measured-on-our-access").all()


def test_variants_of_a_grid_are_the_cells_of_a_comparison() -> None:
    experiment = lab.Experiment.from_toml(None, changes=TINY)
    texts = ["codel", "dualpi2 + tcp.congestion=prague + tcp.ecn=accurate"]
    compared = comparison_cells(texts, experiment, [1], {}, baseline=False)
    planned = [each.cell for each in campaigns.plan(lab.Grid(spec=experiment, schemes=texts), [1], {})]
    for mine, theirs in zip(planned, compared, strict=True):
        assert (mine.key, mine.label, mine.variant) == (theirs.key, theirs.label, theirs.variant)
        assert mine.experiment == theirs.experiment


def test_a_grid_without_schemes_has_the_variants_of_its_spec() -> None:
    spec = lab.Experiment.from_toml(None, changes=TINY).model_copy(
        update={"variants": {"L4S": L4S, "plain": {"scheme": "codel"}}}
    )
    grid = lab.Grid(
        spec=spec, axes={"link.delay": ["1 ms", "9 ms"]}, exclude=[{"scheme": "plain", "link.delay": "9 ms"}]
    )
    planned = campaigns.plan(grid, [1], {})
    assert [tuple(each.point.values()) for each in planned] == [("L4S", "1 ms"), ("L4S", "9 ms"), ("plain", "1 ms")]
    for each in planned[:2]:
        assert each.cell.resolved["tcp"]["congestion"] == "prague"
        assert each.cell.resolved["link"]["delay"] == each.point["link.delay"]
        assert (each.cell.label, each.cell.variant) == ("L4S", 'tcp.congestion="prague" + tcp.ecn="accurate"')
    # At one delay all schemes are in one experiment.
    assert planned[0].cell.experiment == planned[2].cell.experiment != planned[1].cell.experiment


def test_a_parameter_of_a_variants_scheme_is_an_axis() -> None:
    schemes = ["dualpi2 + tcp.profile=linux-6", "codel"]
    grid = lab.Grid(set=TINY, schemes=schemes, axes={"queue.dualpi2.target": ["5 ms", "9 ms"]})
    planned = campaigns.plan(grid, [1], {})
    assert [each.cell.label for each in planned] == [
        "dualpi2:target=5 ms + tcp.profile=linux-6",
        "dualpi2:target=9 ms + tcp.profile=linux-6",
        "codel",
    ]
    assert {each.cell.resolved["tcp"]["profile"] for each in planned[:2]} == {"linux-6"}


@pytest.mark.parametrize(
    ("schemes", "axes", "message"),
    [
        (["codel + tcp.congestion=cubic"], {"tcp.congestion": ["reno"]}, "axes: tcp.congestion must not be varied: "),
        (["codel + link.rate=1 Mbit/s"], {"link": [{"rate": "2 Mbit/s"}]}, "axes: link must not be varied: "),
        (["codel:ecn=true"], {"tcp.ecn": [False]}, "axes: tcp.ecn must not be varied: codel:ecn=true sets tcp.ecn"),
        (["codel + tcp.congestion=cubik"], {}, "scheme=codel + tcp.congestion=cubik: tcp.congestion: "),
        (["L4X"], {}, "no discipline is called 'L4X'"),
    ],
)
def test_a_variant_that_no_grid_can_have_is_one_line(schemes: list[str], axes: dict[str, Any], message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        campaigns.plan(lab.Grid(set=TINY, schemes=schemes, axes=axes), [1], {})
    assert str(error.value).startswith(message) or message in str(error.value)
    assert "\n" not in str(error.value)


def test_searches_vary_the_scheme_of_a_variant(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "2 Mbit/s"},
        tcp={"profile": "linux-6"},
        users={"per_side": 20},
        protocol={"warmup": "1 s", "duration": "5 s"},
        variants={"L4S": L4S},
    )
    options: dict[str, Any] = {"experiment": experiment, "seeds": [1], "out": tmp_path}
    tuned = lab.tune("L4S", "target=5 ms..30 ms", minimise=["delay"], trials=2, confirm=0, **options)
    assert all(each.scheme.startswith("dualpi2:target=") for each in tuned.candidates)
    assert all(each.scheme.endswith(' + tcp.congestion="prague" + tcp.ecn="accurate"') for each in tuned.candidates)
    found = lab.sensitivity(
        "dualpi2 + tcp.congestion=prague + tcp.ecn=accurate", "target=5 ms..30 ms", of=["delay"], points=2, **options
    )
    assert found.indices["parameter"].to_list() == ["target"]
    cells = lab.Store(tmp_path).cells()
    assert set(cells["congestion"]) == {"prague"}
    assert cells["experiment"].n_unique() == 1


def test_a_place_without_variants_refuses_one(aqmlab: Command) -> None:
    outcome = aqmlab("study", "rfc7928", "--quick", "--aqm", "codel + tcp.congestion=cubic")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "codel + tcp.congestion=cubic: must be a scheme: changes of the spec after + make a variant" in outcome.err
