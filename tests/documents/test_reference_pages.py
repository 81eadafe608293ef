"""The reference of specs, sources, tables and the Python API is what the code says, and leaves nothing out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.explanations import PARTS
from aqmlab.store.result import Result
from conftest import Command
from reference import api, tables
from reference.commands import leaves
from reference.pages import PAGES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

RUN = "the page is not what the code says: run make reference"


def section(page: str, heading: str) -> str:
    """Return what stands below a heading of second order."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    (matches,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return str(matches)


def first_cells(table: str) -> set[str]:
    return set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_committed_page_is_what_the_code_says(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == PAGES[name](), RUN


def test_every_key_of_a_spec_in_full_is_on_its_page() -> None:
    experiment = lab.Experiment(
        link=[{"queue": {"pi": {}}, "rate_changes": [{"at": "1 s", "rate": "1 Mbit/s"}]}, {}],
        tcp={"mix": [{"share": 0.5, "side": 0, "role": "client"}]},
        users={"per_side": 1, "path": [1, 2]},
        record={"losses": True, "flows": {"every": "10 ms", "users": 1}},
    )
    spec: dict[str, Any] = json.loads(_core.Resolved(experiment.to_json()).json)
    for heading, keys in {
        "`[link]`": spec["link"][0],
        "Rate change": spec["link"][0]["rate_changes"][0],
        "`[hosts]`": spec["hosts"],
        "`[tcp]`": {**spec["tcp"], **spec["tcp"]["mix"][0]},
        "`[users]`": spec["users"],
        "`[protocol]`": spec["protocol"],
        "`[record]`": spec["record"],
    }.items():
        on_page = section("spec.md", heading)
        matches = first_cells(on_page) | set(re.findall(r"^### `\[\[tcp\.(\w+)\]\]`", on_page, re.MULTILINE))
        assert keys.keys() <= matches, heading


def refusal(source: dict[str, Any]) -> list[str]:
    """Ask the engine what it would accept instead."""
    with pytest.raises(lab.SpecError) as error:
        _core.Resolved(json.dumps({"queue": {"droptail": {}}, "users": {"per_side": 1}, "sources": [source]}))
    return re.split(": choose |; allowed are ", str(error.value))[-1].split(", ")


def test_every_source_and_every_key_of_it_is_on_the_page() -> None:
    kinds = refusal({"no_kind": {}})
    assert len(kinds) > 5
    for kind in kinds:
        keys = refusal({kind: {"no_key": 1}})
        assert keys
        assert set(keys) <= first_cells(section("sources.md", f"`{kind}`"))


def test_every_key_of_a_source_in_full_is_on_the_page() -> None:
    """Those that every kind has are not in a kind's refusal."""
    experiment = lab.Experiment(
        link=[{}, {}],
        users={"per_side": 1},
        sources=[{"bulk": {"flows": 1, "path": [1, 2]}}, {"datagrams": {"rate": "1 Mbit/s"}}],
    )
    above = (REFERENCE / "sources.md").read_text(encoding="utf-8").partition("\n## ")[0]
    for source in json.loads(_core.Resolved(experiment.to_json()).json)["sources"]:
        ((kind, keys),) = source.items()
        assert keys.keys() <= first_cells(above) | first_cells(section("sources.md", f"`{kind}`"))


def columns(frame: pl.DataFrame) -> set[str]:
    """Return the names of all columns, those of structs with dots and of lists with brackets."""
    return {name for key, kind in frame.schema.items() for name in _names(key, kind)}


def _names(name: str, kind: pl.DataType) -> Iterator[str]:
    yield name
    is_list = isinstance(kind, pl.List)
    inner = kind.inner if isinstance(kind, pl.List) else kind
    if isinstance(inner, pl.Struct):
        for field in inner.fields:
            yield from _names(f"{name}{'[]' if is_list else ''}.{field.name}", field.dtype)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Cells that have every column between them."""
    shared: dict[str, Any] = {
        "sources": [
            {"bulk": {"flows": 2, "bytes": "20 kB", "rtt": {"fixed": "10 ms"}}},
            {"datagrams": {"rate": "500 kbit/s"}},
        ],
        "protocol": {"warmup": "1 s", "duration": "20 s"},
        "record": {"exchanges": True, "losses": True, "flows": "100 ms"},
        "users": {"per_side": 300},
    }
    out = tmp_path_factory.mktemp("results")
    link = {"rate": "2 Mbit/s"}
    single_link = lab.Experiment(link=link, queue={"pi": {"q_ref": 10}}, **shared)
    chain = lab.Experiment(queue={"droptail": {}}, link=[link, {**link, "queue": {"codel": {}}}], **shared)
    return [lab.run(experiment, out=out) for experiment in (single_link, chain)]


@pytest.mark.parametrize("table", tables.STORED)
def test_a_tables_columns_are_those_that_are_declared(table: str, results: list[Result]) -> None:
    declared = tables.declared(table)
    stored = [pl.read_parquet(result.directory / f"{table}.parquet") for result in results]
    real = set().union(*map(columns, stored))
    if table == "queue":
        variables = {name for law in ("pi", "codel") for name in lab.Queue(law).probe()}
        assert variables
        assert variables <= real
        real -= variables
    assert real == {column.name for column in declared if not column.several}
    for frame in stored:
        for column in declared:
            if column.name in frame.columns:
                assert _kind(frame.schema[column.name]) == column.kind, column.name


def _kind(kind: pl.DataType) -> str:
    if kind.is_integer():
        return "whole number"
    if kind.is_float():
        return "number"
    return {pl.String: "text", pl.Boolean: "true or false", pl.Struct: "struct", pl.List: "list"}[kind.base_type()]


def test_an_explanations_columns_are_those_that_are_declared(results: list[Result]) -> None:
    requests = {"users": {"per_side": 300}, "protocol": {"warmup": "1 s", "duration": "10 s"}}
    pages = {"users": {"per_side": 5, "workload": "web-2024"}, "protocol": {"warmup": "1 s", "duration": "30 s"}}
    explanations = {
        wait: lab.explain(
            lab.run(lab.Experiment(link={"rate": "2 Mbit/s"}, **spec), out=results[0].directory.parents[1]).directory,
            slowest=1,
        )
        for wait, spec in {"requests": requests, "pages": pages}.items()
    }
    for table, attribute in tables.EXPLAINED.items():
        explanation = explanations["requests" if attribute == "requests" else "pages"]
        frame: pl.DataFrame = getattr(explanation, attribute)
        declared = {column.name for column in tables.declared(table) if not column.several}
        numbers = {"request", "page", "row"}
        assert columns(frame) - numbers - PARTS.keys() == declared - numbers


IDENTIFIERS = {
    *("user", "connection", "direction", "link", "side", "source", "flow", "request", "seed", "results"),
    *("row", "page", "resource", "parent"),
}
"""Numbers that say which, not how many."""

SCORES = {"mos_mean", "mos_p10", "mos_p50", "mos_min", "r_mean", "switches_per_minute", "freezes_per_minute"}
"""Numbers on a scale without a unit, and counts by time."""


@pytest.mark.parametrize("table", [*tables.STORED, *tables.EXPLAINED])
def test_every_number_has_a_unit(table: str) -> None:
    for column in tables.declared(table):
        assert column.meaning, f"{column.name} has no documentation"
        if column.kind in ("number", "whole number"):
            name = column.name.rpartition(".")[2]
            assert column.unit or name in IDENTIFIERS | SCORES, f"{column.name}: end it in its unit"


def is_explained(below: str) -> bool:
    return re.search(r"\w+ \w+ \w+", re.sub(r"```.*?```", "", below, flags=re.DOTALL)) is not None


def test_everything_that_the_package_offers_is_explained() -> None:
    assert [name for name in lab.__all__ if not is_explained(section("api.md", f"`{name}`"))] == []


@pytest.mark.parametrize("name", api.MODULES)
def test_everything_that_a_module_offers_is_explained(name: str) -> None:
    parts = re.split(r"^### `(\w+)`\n", section("modules.md", f"`aqmlab.{name}`"), flags=re.MULTILINE)
    assert is_explained(parts[0])
    explained = dict(zip(parts[1::2], map(is_explained, parts[2::2]), strict=True))
    assert explained == dict.fromkeys(api.offered(import_module(f"aqmlab.{name}")), True)
    assert explained


def test_a_module_offers_what_is_its_own_and_not_what_it_imports() -> None:
    plot = import_module("aqmlab.plot")
    assert api.offered(plot) == plot.__all__
    timers = api.offered(import_module("aqmlab.models.timers"))
    assert {"Hosts", "WEB", "ROUND_TRIPS", "max_cost_s"} <= set(timers)
    assert not {"Mapping", "dataclass", "math"} & set(timers)


def test_every_option_of_every_command_is_documented(aqmlab: Command) -> None:
    shared_options = section("commands.md", "Of every command")
    commands = [name for name, _ in leaves()]
    assert {"aqmlab compare", "aqmlab aqm show"} <= set(commands)
    for name in commands:
        below = section("commands.md", f"`{name}`")
        on_page = dict(re.findall(r"^\| `(.+?)` \| (.*?) \|", shared_options + below, re.MULTILINE))
        assert [option for option, meaning in on_page.items() if not re.search(r"\w\W+\w", meaning)] == [], name
        options = set(re.findall(r"--?[a-z][a-z0-9-]*", " ".join(on_page)))
        output = re.findall(r"^  (-.*?)(?:  |$)", aqmlab(*name.split()[1:], "--help").out, re.MULTILINE)
        assert set(re.findall(r"--?[a-z][a-z0-9-]*", " ".join(output))) - {"-h", "--help"} <= options, name
        assert output
