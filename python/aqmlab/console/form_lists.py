"""Lists of tables in a form: a row of fields for each table, named by path, such as ``sources[0].bulk.flows``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.campaigns.grid import Grid
from aqmlab.console import form_fields
from aqmlab.console.auth import Refused
from aqmlab.spec import bounded_input

MOST_ROWS = 50
"""The largest number of rows of a list."""

_NAME = re.compile(rf"({'|'.join(map(re.escape, form_fields.lists()))})\[(\d{{1,4}})\]\.(.+)")


@dataclass(frozen=True)
class FormRow:
    """A row of a form, for a table in a list."""

    name: str
    """The path in the spec, such as ``sources[0].bulk``."""
    title: str
    fields: tuple[form_fields.Field, ...]

    @property
    def paths(self) -> list[str]:
        """The paths of its fields in the spec."""
        return [field.path for field in self.fields]


def row(path: str, number: int, kind: str) -> FormRow:
    """Return a row for a list.

    Raises
    ------
    Refused
        When there is no such list or kind, or the list is full.
    """
    known = form_fields.lists().get(path)
    if known is None or kind not in known.kinds:
        raise Refused(404, "there is no such list")
    if number >= MOST_ROWS:
        raise Refused(400, f"{path}: at most {MOST_ROWS} are added here")
    name = f"{path}[{number}].{kind}".removesuffix(".")
    return FormRow(name, f"{number + 1}. {known.kinds[kind]}", form_fields.row(path, number, kind))


def numbered(given: Mapping[str, str]) -> dict[str, str]:
    """Return a form with the rows of each list renumbered from 0, without gaps from removed rows."""
    numbers: dict[str, dict[str, int]] = {}
    named = {}
    for name, value in given.items():
        if found := _NAME.fullmatch(name):
            path, number, rest = found.groups()
            of_list = numbers.setdefault(path, {})
            name = f"{path}[{of_list.setdefault(number, len(of_list))}].{rest}"
        named[name] = value
    return named


def rows(given: Mapping[str, str]) -> Mapping[str, list[FormRow]]:
    """Return the rows of each list in a numbered form.

    Raises
    ------
    Refused
        When there is no such row.
    """
    found: dict[str, list[FormRow]] = {path: [] for path in form_fields.lists()}
    for name in given:
        if match := _NAME.fullmatch(name):
            path, number, rest = match.groups()
            if int(number) == len(found[path]):
                is_indistinguishable = "" in form_fields.lists()[path].kinds
                found[path].append(row(path, int(number), "" if is_indistinguishable else rest.partition(".")[0]))
    return found


def changes(given: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the changes of the spec in a numbered form: paths with values.

    Raises
    ------
    Refused
        When a field in TOML cannot be parsed; the message names the field.
    """
    for field in form_fields.paths().values():
        text = given.get(field.path, "").strip()
        if text and (field.path, text) != ("testbed", form_fields.TODAY):
            yield field.path, _value(field, text)
    for path, there in rows(given).items():
        if there and path in form_fields.LISTS:
            yield path, [_table(path, number, each, given) for number, each in enumerate(there)]


def axes(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the axes of a grid in a numbered form.

    Raises
    ------
    Refused
        When an axis is invalid; the message names its row.
    """
    found: dict[str, Any] = {}
    for each in rows(given)[form_fields.AXES.path]:
        path, values = (given.get(field.path, "").strip() for field in each.fields)
        if path in found:
            raise Refused(400, f"{each.name}: {path} is varied above")
        _, tried = each.fields
        is_toml = values.startswith(("[", "{"))
        found[path] = _value(tried, values) if is_toml else [_read(part.strip()) for part in values.split(",") if part]
        try:
            Grid(axes={path: found[path]})
        except SpecError as error:
            raise Refused(400, f"{each.name}: {error}") from None
    return found


def _table(path: str, number: int, row: FormRow, given: Mapping[str, str]) -> dict[str, Any]:
    above = f"{path}[{number}]"
    table: dict[str, Any] = {}
    at = table
    for name in filter(None, row.name.removeprefix(above).split(".")):
        at = at.setdefault(name, {})
    for field in row.fields:
        if text := given.get(field.path, "").strip():
            *within, key = field.path.removeprefix(f"{row.name}.").split(".")
            inside = at
            for name in within:
                inside = inside.setdefault(name, {})
            inside[key] = _value(field, text)
    return table


def _value(field: form_fields.Field, text: str) -> Any:
    if field.is_toml:
        try:
            read = bounded_input.toml(f"value = {text}")
        except bounded_input.ParseError as error:
            raise Refused(400, f"{field.path}: not TOML: {error}, got {text!r}") from None
        if read.keys() != {"value"}:
            raise Refused(400, f"{field.path}: write one value, got {text!r}")
        return read["value"]
    return _read(text)


def _read(text: str) -> bool | float | str:
    """Convert a number or a boolean; any other text stays text."""
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text
