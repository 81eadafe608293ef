"""Variants: a scheme with changes of the spec is compared like a scheme, in one experiment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.reports import reproduce
from aqmlab.reports.page import html
from aqmlab.reports.selection import Choice, select
from aqmlab.results.cells import comparison_cells
from aqmlab.running.run import run_cell
from aqmlab.spec import schemes
from aqmlab.store.store import Store
from conftest import Command, Write

BASE: dict[str, Any] = {
    "link": {"rate": "4 Mbit/s", "device_fifo": 0},
    "tcp": {"profile": "linux-6"},
    "users": {"per_side": 10},
    "protocol": {"warmup": "1 s", "duration": "3 s"},
}
TYPED = "dualpi2 + tcp.congestion=prague + tcp.ecn=accurate"
TOML = """
link = { rate = "4 Mbit/s", device_fifo = 0 }
tcp.profile = "linux-6"
users.per_side = 10
protocol = { warmup = "1 s", duration = "3 s" }

[variants.L4S]
scheme = "dualpi2"
tcp = { congestion = "prague", ecn = "accurate" }

[variants.classic]
queue.fq_codel = {}

[variants.more-users]
users.per_side = 12
"""


def cells(*texts: str, baseline: bool = False, **tables: Any) -> list[Cell]:
    return comparison_cells(texts, lab.Experiment(**{**BASE, **tables}), [1], {}, baseline=baseline)


def test_a_variant_is_the_cell_of_the_spec_written_out() -> None:
    (variant_cell,) = cells(TYPED)
    tcp = {"profile": "linux-6", "congestion": "prague", "ecn": "accurate"}
    (spec_cell,) = cells_of(lab.Experiment(**{**BASE, "tcp": tcp, "queue": {"dualpi2": {}}}), [1])
    assert variant_cell.key == spec_cell.key
    assert (variant_cell.label, variant_cell.variant) == (TYPED, "tcp.congestion=prague + tcp.ecn=accurate")
    assert variant_cell.experiment != spec_cell.experiment


def test_variants_and_schemes_share_an_experiment() -> None:
    changed = ("codel + users.per_side=12", "codel + link.rate=8 Mbit/s", 'pie + sources=[{bulk={name="up", flows=1}}]')
    variant_cells = cells(TYPED, "codel", "pie:ecn=true", *changed, baseline=True)
    assert len({cell.experiment for cell in variant_cells}) == 1
    assert len({cell.key for cell in variant_cells}) == len(variant_cells)
    assert {cell.variant for cell in variant_cells if cell.label in ("codel", "uncongested")} == {None}
    # The same cell as an experiment of its own is another experiment.
    assert cells("codel", users={"per_side": 12})[0].experiment != variant_cells[1].experiment


def test_a_table_of_the_spec_is_what_is_typed(tmp_path: Path, aqmlab: Command) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(TOML)
    experiment = lab.Experiment.from_toml(spec)
    table_cells = comparison_cells(["L4S", "classic", "more-users"], experiment, [1], {}, baseline=False)
    typed_cells = cells(TYPED, "fq_codel", "droptail + users.per_side=12")
    assert [cell.label for cell in table_cells] == ["L4S", "classic", "more-users"]
    assert [cell.key for cell in table_cells[:2]] == [cell.key for cell in typed_cells[:2]]
    assert [cell.experiment for cell in table_cells] == [cell.experiment for cell in typed_cells]
    assert table_cells[2].users_per_side == 12
    # Without a scheme the variants are compared, and a variant can be changed further.
    arguments = ("--seeds", "1", "--no-figures", "--no-baseline", "--json")
    outcome = aqmlab("compare", str(spec), *arguments)
    assert [scheme["label"] for scheme in json.loads(outcome.out)["schemes"]] == ["L4S", "classic", "more-users"]
    outcome = aqmlab("compare", str(spec), "L4S", "L4S + users.per_side=12", "codel", *arguments)
    assert [scheme["users_per_side"] for scheme in json.loads(outcome.out)["schemes"]] == [10, 12, 10]
    python = lab.compare(experiment=experiment, seeds=[1], baseline=False, progress=False)
    assert [scheme["label"] for scheme in python.schemes] == ["L4S", "classic", "more-users"]


def test_files_of_a_variant_lie_next_to_the_spec(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    table = {"source": "mine", "distribution": {"uniform_ms": {"min": 20, "max": 20}}}
    (folder / "rtt.json").write_text(json.dumps(table))
    (folder / "spec.toml").write_text(TOML + '\n[variants.near]\nusers = { per_side = 10, rtt = "rtt.json" }\n')
    (near,) = comparison_cells(["near"], lab.Experiment.from_toml(folder / "spec.toml"), [1], {}, baseline=False)
    assert near.resolved["users"]["rtt"]["distribution"] == table["distribution"]


def test_variants_are_paired_stored_and_reported(tmp_path: Path) -> None:
    experiment = lab.Experiment(**BASE)
    compared = lab.compare("codel", TYPED, experiment=experiment, seeds=[1, 2, 3], paired=True, out=tmp_path)
    assert set(compared.frame("p95").filter(less="codel")["scheme"]) == {TYPED}
    rows = Store(tmp_path).cells().filter(label=TYPED)
    assert rows["variant"].to_list() == ["tcp.congestion=prague + tcp.ecn=accurate"] * 3
    selection = select(tmp_path, Choice())
    assert list(selection.by_label) == ["uncongested", "codel", TYPED]
    assert selection.valid[-1].cell.variant == "tcp.congestion=prague + tcp.ecn=accurate"
    assert len(selection.pairs) == 2
    assert TYPED in html(selection)


def test_a_report_applies_no_variant_of_a_store(tmp_path: Path, write: Write) -> None:
    write("raise SystemExit('imported')", name="hostile")
    label = 'codel:target=9 ms + link=[{queue={"hostile:Law"={}}}]'
    lab.run(lab.Experiment(**BASE, queue={"codel": {}}), seed=1, out=tmp_path / "store")
    (cell,) = cells_of(lab.Experiment(**BASE, queue={"pie": {}}), [1], label=label)
    run_cell(cell, Store(tmp_path / "store"))
    selection = select(tmp_path / "store", Choice())
    assert label in selection.by_label
    assert len(reproduce.steps(selection)) == 2
    assert "hostile" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dualpi3 + tcp.ecn=true", "no discipline is called 'dualpi3'"),
        ("codel + tcp.congestio=cubic", "codel + tcp.congestio=cubic: tcp.congestio"),
        ("codel + tcp.congestion=cubik", "codel + tcp.congestion=cubik: tcp.congestion: "),
        ("codel + link.speed=1", "codel + link.speed=1: link.speed"),
        ("codel + link.rate", "write path=value after +, such as tcp.congestion=prague, got 'link.rate'"),
        ("codel +", "write path=value after +"),
        ("codel + queue.codel.target=9 ms", "queue belongs to the scheme"),
        ("codel + tcp.ecn=true + tcp.ecn=false", "tcp.ecn is given twice"),
        ("codel:ecn=true + tcp.ecn=accurate", "ECN is given twice, by the scheme and by tcp.ecn"),
        ("codel + users.per_side=10", "schemes: must differ from one another, got codel and codel + users.per_side=10"),
        ("codel + sources[0].bulk.flows=3", "sources has none: write the whole list"),
    ],
)
def test_a_variant_that_cannot_be_is_refused_in_a_line(text: str, message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        cells("codel", text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({"codel": {"scheme": "pie"}}, "variants.codel: must have another name than a discipline"),
        ({"a b": {"scheme": "pie"}}, "variants: a name has letters, digits"),
        ({"a": {}}, "variants.a: must change something"),
        ({"a": {"scheme": "pie", "queue": {"pie": {}}}}, "variants.a: write scheme or queue, not both"),
        ({"a": {"scheme": "pei"}}, "no discipline is called 'pei'"),
        ({"a": {"scheme": 3}}, "variants.a.scheme: must be a text"),
        ({"a": {"queue": {"pei": {}}}}, "variants.a.queue: "),
        ({"a": 3}, "variants.a"),
        ({"a": {"variants": {"b": {"scheme": "pie"}}}}, "a: variants cannot be changed by a variant"),
        (3, "variants"),
    ],
)
def test_a_table_that_is_no_variant_is_refused_in_a_line(variants: Any, message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        cells("codel", variants=variants)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_that_is_no_variant_lists_those_there_are() -> None:
    with pytest.raises(lab.SpecError, match=r"no variant or discipline is called 'L4X' .*'L4S'.*L4S, classic"):
        cells("L4X", variants={"L4S": {"scheme": "dualpi2"}, "classic": {"scheme": "codel"}})


def test_the_engine_is_not_told_of_variants() -> None:
    plain, named = (lab.Experiment(**BASE, **options) for options in ({}, {"variants": {"a": {"scheme": "pie"}}}))
    assert plain.to_json() == named.to_json()
    assert "variants" in lab.Experiment.model_json_schema()["properties"]
    assert schemes.parse("pie").apply_to(named).variants == named.variants
