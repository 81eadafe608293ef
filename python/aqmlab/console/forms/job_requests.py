"""Requests for jobs from forms: a comparison, a sweep or a live run becomes the arguments of a command line.

Nothing in a form is run as code: the console's process imports no custom law (``server.py``).
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from aqmlab._core import Resolved, SpecError, seconds
from aqmlab.campaigns.campaign import plan
from aqmlab.campaigns.grid import Grid
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.console.auth import Rejected
from aqmlab.console.forms import form_fields, form_lists, sync, toml_input
from aqmlab.disciplines.custom import registry
from aqmlab.live.doctor import examine
from aqmlab.results.cells import comparison_cells
from aqmlab.running.errors import LiveError
from aqmlab.running.validation import check_each_once, check_seeds, read_seeds
from aqmlab.spec import testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.variants import parsing
from aqmlab.store.result import Result
from aqmlab.ui.counts import pluralize

MAX_SCHEMES = 20
MAX_SEEDS = 100
MAX_CELLS = 2_000
"""The largest number of cells of a sweep."""

SLOWEST = 3
"""The number of slow requests that the console explains."""

NAMES = {
    "comparison": ("schemes", "spec", "seeds"),
    "sweep": ("schemes", "spec", "grid", "seeds", "limit"),
    "live": ("scheme", "spec", "seed"),
}
"""The fields of each form that are neither spec keys nor axes. An empty field keeps the spec's value."""


@dataclass(frozen=True)
class JobRequest:
    """A command to run, and its expected output."""

    title: str
    argv: list[str]
    """The arguments of the command line."""
    cells: tuple[str, ...] = ()
    """The keys of the cells that it will store."""
    grid: Path | None = None
    """The file of a sweep's grid, whose means are shown."""
    seeds: range = range(0)
    specs: Mapping[str, Resolved] = field(default_factory=dict)
    """The resolved specs of its cells by key, if known, from which their networks are drawn."""
    explained: str | None = None
    """The key of the cell whose slowest requests it explains."""


@dataclass(frozen=True)
class Plan:
    """The content of a valid form: an experiment and its cells."""

    text: str
    """The experiment as TOML."""
    experiment: Experiment
    cells: Sequence[Cell]
    schemes: Sequence[str] = ()
    seeds: range = range(0)
    changes: Sequence[str] = ()
    """Changes of the experiment by a scheme."""
    grid: Mapping[str, Any] = field(default_factory=dict)
    """The grid of a sweep, without its experiment."""


def plan_comparison(form_values: Mapping[str, str], store: Path) -> Plan:
    """Return the cells of a comparison; nothing is written.

    Raises
    ------
    Rejected
        When a field is invalid; the message names the field.
    """
    texts = lines_of(form_values.get("schemes", ""))
    text, experiment = _experiment(form_values, store)
    if not 1 <= len(texts) <= MAX_SCHEMES:
        raise Rejected(400, f"schemes: from 1 to {MAX_SCHEMES}, one a line, such as codel or pi:q_ref=24,ecn=true")
    seeds = _seeds(form_values)
    try:
        _check_schemes(texts, experiment=experiment)
        cells = comparison_cells(texts, experiment, check_seeds(seeds), calibration_model.load_calibrations(store))
    except SpecError as error:
        raise Rejected(400, str(error)) from None
    return Plan(text, experiment, cells, texts, seeds)


def plan_live(form_values: Mapping[str, str], store: Path) -> Plan:
    """Return the cell of a live run; nothing is written. Errors are those of :func:`plan_comparison`."""
    seed = _seed(form_values)
    text, experiment = _experiment(form_values, store)
    try:
        changes = _scheme(form_values, experiment)
        changed = experiment.with_changes(changes, directory=store / toml_input.FOLDER)
        cells = cells_of(changed, [seed], calibration_model.load_calibrations(store))
    except SpecError as error:
        raise Rejected(400, str(error)) from None
    return Plan(text, changed, cells, seeds=range(seed, seed + 1), changes=changes)


def plan_sweep(form_values: Mapping[str, str], store: Path) -> Plan:
    """Return the cells of a sweep; nothing is written. Errors are those of :func:`plan_comparison`."""
    seeds = _seeds(form_values)
    tables = toml_input.tables("grid", form_values.get("grid", ""))
    if "spec" in tables:
        raise Rejected(400, "spec: files are for the command line; write the experiment into its own field")
    texts = lines_of(form_values.get("schemes", ""))
    for key, value in (("schemes", texts), ("axes", form_lists.axes(form_values))):
        if value and key in tables:
            raise Rejected(400, f"grid: {key} are given in the form too; write them in one place")
        if value:
            tables[key] = value
    if not tables:
        raise Rejected(400, "grid: must be given, or schemes or an axis")
    text, experiment = _experiment(form_values, store)
    try:
        grid = Grid(**{**tables, "spec": experiment})
        _check_schemes(grid.schemes or (), experiment=grid.experiment())
        if (number := grid.combinations * len(seeds)) > MAX_CELLS:
            raise Rejected(400, f"grid: must have at most {MAX_CELLS:,} cells, got {number:,}")
        planned = plan(grid, seeds, calibration_model.load_calibrations(store))
    except SpecError as error:
        raise Rejected(400, str(error)) from None
    return Plan(text, experiment, [each.cell for each in planned], seeds=seeds, grid=tables)


def comparison(form_values: Mapping[str, str], store: Path) -> JobRequest:
    """Return the request for ``aqmlab compare``; errors are those of :func:`plan_comparison`."""
    planned = plan_comparison(form_values, store)
    file = toml_input.store_text(planned.text, store, "spec")
    argv = ["compare", str(file), *planned.schemes, "--seeds", _range(planned.seeds)]
    return JobRequest(
        title=", ".join(planned.schemes),
        argv=[*argv, "--out", str(store), "--no-figures", "--verbose"],
        cells=tuple(cell.key for cell in planned.cells),
        specs={cell.key: cell.spec for cell in planned.cells},
    )


def sweep(form_values: Mapping[str, str], store: Path) -> JobRequest:
    """Return the request for ``aqmlab sweep``; errors are those of :func:`plan_comparison`."""
    planned, limit = plan_sweep(form_values, store), _limit(form_values)
    spec = toml_input.store_text(planned.text, store, "spec")
    # A grid's file names are relative to its own file.
    file = toml_input.store_text(tomli_w.dumps({"spec": spec.name, **planned.grid}), store, "grid")
    argv = ["sweep", str(file), "--seeds", _range(planned.seeds), *limit]
    return JobRequest(
        title=f"sweep of {pluralize(len(planned.cells), 'cell')}",
        argv=[*argv, "--out", str(store), "--verbose"],
        cells=tuple(cell.key for cell in planned.cells),
        grid=file,
        seeds=planned.seeds,
        specs={cell.key: cell.spec for cell in planned.cells},
    )


def live(form_values: Mapping[str, str], store: Path) -> JobRequest:
    """Return the request for ``aqmlab live``; errors are those of :func:`plan_comparison`."""
    check_live()
    planned = plan_live(form_values, store)
    file = toml_input.store_text(planned.text, store, "spec")
    (cell,) = (replace(cell, kernel=platform.release()) for cell in planned.cells)
    (seed,) = planned.seeds
    return JobRequest(
        title=f"live: {planned.cells[0]}",
        argv=["live", str(file), *_set(planned.changes), "--seed", str(seed), "--out", str(store), "--verbose"],
        cells=(cell.key,),
        specs={cell.key: cell.spec},
    )


def explanation(result: Result) -> JobRequest:
    """Return the request for the timelines of a cell's slowest requests, by ``aqmlab explain``.

    Raises
    ------
    Rejected
        When its cell cannot be run again here.
    """
    if not can_explain(result):
        raise Rejected(
            409, "explain: only simulated cells of built-in disciplines are run again here, see aqmlab explain"
        )
    title = f"the {SLOWEST} slowest requests of {result.cell}"
    argv = ["explain", str(result.location), "--slowest", str(SLOWEST)]
    return JobRequest(title=title, argv=argv, explained=result.location.name)


def can_explain(result: Result) -> bool:
    """Return true if a cell can be run again for an explanation: a custom law is a program of a user."""
    return result.cell.world == "simulated" and not registry.is_custom(result.cell.scheme)


def by_name(kind: str) -> Callable[[Mapping[str, str], Path], JobRequest]:
    """Return the function that reads the form of this kind."""
    kinds = {"comparison": comparison, "sweep": sweep, "live": live}
    if kind not in kinds:
        raise Rejected(404, "there is no such form")
    return kinds[kind]


def check_live() -> None:
    """Refuse live runs if the machine does not support them; the check takes some seconds."""
    try:
        report = examine()
    except LiveError as error:
        raise Rejected(409, str(error)) from None
    if not report.can_run:
        missing = "; ".join(f"{check.what}: {check.found}" for check in report.checks if not check.ok)
        raise Rejected(409, f"this machine does not support live runs: {missing}; aqmlab doctor says how to fix it")


def lines_of(text: str) -> list[str]:
    """Return the schemes in a text, separated by lines or spaces; a variant, with `` + ``, has its own line."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [scheme for line in lines for scheme in ([line] if " + " in line else line.split())]


def _seeds(form_values: Mapping[str, str]) -> range:
    try:
        return read_seeds(form_values.get("seeds", "").strip() or "1", "seeds", MAX_SEEDS)
    except SpecError as error:
        raise Rejected(400, str(error)) from None


def _seed(form_values: Mapping[str, str]) -> int:
    text = form_values.get("seed", "").strip() or "1"
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Rejected(400, f"seed: a number of at most nine digits, got {text!r}")
    return int(text)


def _range(seeds: range) -> str:
    return f"{seeds[0]}-{seeds[-1]}"


def _limit(form_values: Mapping[str, str]) -> list[str]:
    text = form_values.get("limit", "").strip()
    if not text:
        return []
    try:
        seconds(text)
    except ValueError as error:
        raise Rejected(400, f"limit: {error}") from None
    return [f"--limit={text}"]


def _scheme(form_values: Mapping[str, str], experiment: Experiment) -> list[str]:
    text = form_values.get("scheme", "").strip()
    if not text:
        return []
    _check_schemes([text], "scheme", experiment=experiment)
    variant = parsing.parse(text, experiment)
    scheme_changes: dict[str, Any] = {}
    if variant.scheme is not None:
        scheme_changes["queue"] = variant.scheme.queue.model_dump()
        if variant.scheme.ecn is not None:
            scheme_changes["tcp.ecn"] = variant.scheme.ecn
    return [*(f"{path}={_inline(value)}" for path, value in scheme_changes.items()), *variant.changes]


def _set(spec_changes: Iterable[str]) -> list[str]:
    return [word for change in spec_changes for word in ("--set", change)]


def _inline(value: Any) -> str:
    """Return a value as TOML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_inline(key)} = {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    # JSON would escape characters beyond 16 bits as surrogate pairs, which TOML lacks.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _experiment(form_values: Mapping[str, str], store: Path) -> tuple[str, Experiment]:
    """Return the experiment of a form with its TOML, that of the papers' testbed if the form has neither.

    Its values are those of the TOML with the changes of the fields.
    """
    without_testbed = form_values.get("testbed") == form_fields.NO_TESTBED
    if not form_values.get("spec", "").strip() and not without_testbed:
        form_values = {**form_values, "spec": f'testbed = "{testbeds.PAPERS}"\n'}
    text = sync.merged(form_values)
    tables = toml_input.tables("spec", text)
    if not tables:
        raise Rejected(400, "testbed: without one, give a load, users or sources")
    try:
        return text, Experiment.from_tables(tables, store / toml_input.FOLDER)
    except SpecError as error:
        raise Rejected(400, str(error)) from None


def _check_schemes(texts: Iterable[str], name: str = "schemes", *, experiment: Experiment) -> None:
    """Refuse duplicates, and texts that are neither a scheme nor a variant of an experiment."""
    texts = list(texts)
    try:
        check_each_once(name, texts)
    except SpecError as error:
        raise Rejected(400, str(error)) from None
    for text in texts:
        try:
            parsing.parse(text, experiment)
        except SpecError as error:
            raise Rejected(400, f"{name}: {error}") from None
