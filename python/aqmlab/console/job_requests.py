"""What one asks the console to run, from a form: a comparison, a sweep or a live run, as words for the command line.

Nothing of a form is run as code: the console's process imports no custom law (``serving.py``).
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from aqmlab._core import SpecError, seconds
from aqmlab.campaigns.campaign import plan
from aqmlab.campaigns.grid import Grid
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import cells_of
from aqmlab.console import form_fields, form_lists, toml_input
from aqmlab.console.auth import Refused
from aqmlab.live.doctor import examine
from aqmlab.live.errors import LiveError
from aqmlab.results.cells import comparison_cells
from aqmlab.running.validation import check_each_once, check_seeds, read_seeds
from aqmlab.spec import testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.overrides import apply
from aqmlab.spec.variants import parsing
from aqmlab.ui.counts import counted

MOST_SCHEMES = 20
MOST_SEEDS = 100
MOST_CELLS = 2_000
"""Of a sweep."""

NAMES = {
    "comparison": ("schemes", "spec", "seeds"),
    "sweep": ("schemes", "grid", "seeds", "limit"),
    "live": ("scheme", "spec", "seed"),
}
"""The fields of each form beside those for keys of the spec, of which one that is empty leaves it as it is."""


@dataclass(frozen=True)
class JobRequest:
    """A command of ours, and what it leaves."""

    title: str
    words: list[str]
    """Those of the command line."""
    cells: tuple[str, ...] = ()
    """The keys of the cells that it is known to leave."""
    grid: Path | None = None
    """The file of a sweep's grid, whose means are shown."""
    seeds: range = range(0)


def comparison(given: Mapping[str, str], store: Path) -> JobRequest:
    """Return ``aqmlab compare``.

    Raises
    ------
    Refused
        When a field is wrong, in one line that names it.
    """
    texts = lines_of(given.get("schemes", ""))
    if not 1 <= len(texts) <= MOST_SCHEMES:
        raise Refused(400, f"schemes: from 1 to {MOST_SCHEMES}, one a line, such as codel or pi:q_ref=24,ecn=true")
    seeds = _seeds(given)
    file, changed = _spec(given, store), _changes(given)
    try:
        experiment = Experiment.from_toml(file, changes=changed)
        _check_schemes(texts, experiment=experiment)
        cells = comparison_cells(texts, experiment, check_seeds(seeds), calibration_model.known(store))
    except SpecError as error:
        raise Refused(400, str(error)) from None
    words = ["compare", *([str(file)] if file else []), *texts, *_set(changed), "--seeds", _range(seeds)]
    return JobRequest(
        title=", ".join(texts),
        words=[*words, "--out", str(store), "--no-figures", "--verbose"],
        cells=tuple(cell.key for cell in cells),
    )


def sweep(given: Mapping[str, str], store: Path) -> JobRequest:
    """Return ``aqmlab sweep``; errors are those of :func:`comparison`."""
    text, seeds, limit = given.get("grid", ""), _seeds(given), _limit(given)
    tables = toml_input.tables("grid", text)
    if "spec" in tables:
        raise Refused(400, "spec: files are for the command line; write changes of the experiment under set")
    texts = lines_of(given.get("schemes", ""))
    for key, value in (("schemes", texts), ("axes", form_lists.axes(given))):
        if value and key in tables:
            raise Refused(400, f"grid: {key} stand above too; write them in one place")
        if value:
            tables[key] = value
    if not tables:
        raise Refused(400, "grid: must be given, or schemes or an axis")
    if given.get("testbed") == form_fields.TODAY:
        tables["spec"] = str(_spec({**given, "spec": ""}, store))
    if changed := _changes(given):
        if not isinstance(tables.get("set", []), list):
            raise Refused(400, "set: must be a list, such as ['users.load=90']")
        tables["set"] = [*tables.get("set", []), *changed]
    if tables != toml_input.tables("grid", text):
        text = tomli_w.dumps(tables)
    try:
        grid = Grid(**tables)
        _check_schemes(grid.schemes or (), experiment=grid.experiment())
        if (number := grid.combinations * len(seeds)) > MOST_CELLS:
            raise Refused(400, f"grid: must have at most {MOST_CELLS:,} cells, got {number:,}")
        planned = plan(grid, seeds, calibration_model.known(store))
    except SpecError as error:
        raise Refused(400, str(error)) from None
    file = toml_input.store_text(text, store, "grid")
    words = ["sweep", str(file), "--seeds", _range(seeds), *limit]
    return JobRequest(
        title=f"sweep of {counted(len(planned), 'cell')}",
        words=[*words, "--out", str(store), "--verbose"],
        cells=tuple(each.cell.key for each in planned),
        grid=file,
        seeds=seeds,
    )


def live(given: Mapping[str, str], store: Path) -> JobRequest:
    """Return ``aqmlab live``; errors are those of :func:`comparison`."""
    check_live()
    seed = _seed(given)
    file = _spec(given, store) or toml_input.store_text(f'testbed = "{testbeds.PAPERS}"\n', store, "spec")
    try:
        changed = [*_scheme(given, Experiment.from_toml(file)), *_changes(given)]
        experiment = Experiment.from_toml(file, changes=changed)
        (cell,) = cells_of(experiment, [seed], calibration_model.known(store))
    except SpecError as error:
        raise Refused(400, str(error)) from None
    return JobRequest(
        title=f"live: {cell}",
        words=["live", str(file), *_set(changed), "--seed", str(seed), "--out", str(store), "--verbose"],
        cells=(replace(cell, kernel=platform.release()).key,),
    )


def by_name(kind: str) -> Callable[[Mapping[str, str], Path], JobRequest]:
    """Return what reads the form of this name."""
    kinds = {"comparison": comparison, "sweep": sweep, "live": live}
    if kind not in kinds:
        raise Refused(404, "there is no such form")
    return kinds[kind]


def check_live() -> None:
    """Refuse live runs where there can be none; it takes some seconds."""
    try:
        report = examine()
    except LiveError as error:
        raise Refused(409, str(error)) from None
    if not report.can_run:
        lacks = "; ".join(f"{check.what}: {check.found}" for check in report.checks if not check.ok)
        raise Refused(409, f"this machine lets no live run: {lacks}; aqmlab doctor says how it is mended")


def lines_of(text: str) -> list[str]:
    """Return the schemes of a text, one a line or between spaces; a variant, with `` + `` in it, has its own line."""
    calibration_model = (" ".join(line.split()) for line in text.splitlines())
    return [scheme for line in calibration_model for scheme in ([line] if " + " in line else line.split())]


def _seeds(given: Mapping[str, str]) -> range:
    try:
        return read_seeds(given.get("seeds", "").strip() or "1", "seeds", MOST_SEEDS)
    except SpecError as error:
        raise Refused(400, str(error)) from None


def _seed(given: Mapping[str, str]) -> int:
    text = given.get("seed", "").strip() or "1"
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Refused(400, f"seed: a number of at most nine digits, got {text!r}")
    return int(text)


def _range(seeds: range) -> str:
    return f"{seeds[0]}-{seeds[-1]}"


def _limit(given: Mapping[str, str]) -> list[str]:
    text = given.get("limit", "").strip()
    if not text:
        return []
    try:
        seconds(text)
    except ValueError as error:
        raise Refused(400, f"limit: {error}") from None
    return [f"--limit={text}"]


def _scheme(given: Mapping[str, str], experiment: Experiment) -> list[str]:
    text = given.get("scheme", "").strip()
    if not text:
        return []
    _check_schemes([text], "scheme", experiment=experiment)
    variant = parsing.parse(text, experiment)
    changed: dict[str, Any] = {}
    if variant.scheme is not None:
        changed["queue"] = variant.scheme.queue.model_dump()
        if variant.scheme.ecn is not None:
            changed["tcp.ecn"] = variant.scheme.ecn
    return [*(f"{path}={_inline(value)}" for path, value in changed.items()), *variant.changes]


def _changes(given: Mapping[str, str]) -> list[str]:
    changed = []
    for path, value in form_lists.changes(given):
        changed.append(f"{path}={_inline(value)}")
    return changed


def _set(changed: Iterable[str]) -> list[str]:
    return [word for change in changed for word in ("--set", change)]


def _inline(value: Any) -> str:
    """Write a value as TOML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_inline(key)} = {_inline(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    # TOML has no pairs of surrogates, by which JSON would write what is beyond 16 bits.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _spec(given: Mapping[str, str], store: Path) -> Path | None:
    """Keep the spec of a form, or one of its fields where it asks for no testbed; ``None`` for the papers' testbed."""
    text = given.get("spec", "")
    is_of_today = given.get("testbed") == form_fields.TODAY
    if not text.strip():
        return toml_input.store_text(_spec_from_fields(given), store, "spec") if is_of_today else None
    if "testbed" in toml_input.tables("spec", text) and is_of_today:
        raise Refused(400, "testbed: the spec names one: remove it there, got none")
    return toml_input.store_text(text, store, "spec")


def _spec_from_fields(given: Mapping[str, str]) -> str:
    """Write a spec of what the fields of a form say."""
    tables: dict[str, Any] = {}
    try:
        for change in _changes(given):
            apply(tables, change)
    except SpecError as error:
        raise Refused(400, str(error)) from None
    if not tables:
        raise Refused(400, "testbed: without one, say who sends: a load, users or sources")
    return tomli_w.dumps(tables)


def _check_schemes(texts: Iterable[str], field: str = "schemes", *, experiment: Experiment) -> None:
    """Refuse what is neither a scheme nor a variant of an experiment, and what is given twice."""
    texts = list(texts)
    try:
        check_each_once(field, texts)
    except SpecError as error:
        raise Refused(400, str(error)) from None
    for text in texts:
        try:
            parsing.parse(text, experiment)
        except SpecError as error:
            raise Refused(400, f"{field}: {error}") from None
