"""Lists of tables in a form: a row of fields for each table, named by path, such as ``sources[0].bulk.flows``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.campaigns.grid import Grid
from aqmlab.console.auth import Rejected
from aqmlab.console.forms import form_fields
from aqmlab.spec import bounded_input

MAX_ROWS = 50
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
    Rejected
        When there is no such list or kind, or the list is full.
    """
    field_list = form_fields.lists().get(path)
    if field_list is None or kind not in field_list.kinds:
        raise Rejected(404, "there is no such list")
    if number >= MAX_ROWS:
        raise Rejected(400, f"{path}: at most {MAX_ROWS} are added here")
    name = f"{path}[{number}].{kind}".removesuffix(".")
    return FormRow(name, f"{number + 1}. {field_list.kinds[kind]}", form_fields.row(path, number, kind))


def renumber(form_values: Mapping[str, str]) -> dict[str, str]:
    """Return a form with the rows of each list renumbered from 0, without gaps from removed rows."""
    numbers: dict[str, dict[str, int]] = {}
    values = {}
    for name, value in form_values.items():
        if match := _NAME.fullmatch(name):
            path, number, rest = match.groups()
            new_numbers = numbers.setdefault(path, {})
            name = f"{path}[{new_numbers.setdefault(number, len(new_numbers))}].{rest}"
        values[name] = value
    return values


def rows(form_values: Mapping[str, str]) -> Mapping[str, list[FormRow]]:
    """Return the rows of each list in a numbered form.

    Raises
    ------
    Rejected
        When there is no such row.
    """
    rows_by_path: dict[str, list[FormRow]] = {path: [] for path in form_fields.lists()}
    for name in form_values:
        if match := _NAME.fullmatch(name):
            path, number, rest = match.groups()
            if int(number) == len(rows_by_path[path]):
                has_one_kind = "" in form_fields.lists()[path].kinds
                rows_by_path[path].append(row(path, int(number), "" if has_one_kind else rest.partition(".")[0]))
    return rows_by_path


def changes(form_values: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the changes of the spec in a numbered form: paths with values.

    Raises
    ------
    Rejected
        When a field in TOML cannot be parsed; the message names the field.
    """
    lists = {path: form_rows for path, form_rows in rows(form_values).items() if form_rows}
    if "link" in lists and "link.rate_changes" in lists:
        raise Rejected(400, "link.rate_changes: of links in series, write those of each link in its row")
    of_all_links: dict[str, Any] = {}
    for field in form_fields.paths().values():
        text = form_values.get(field.path, "").strip()
        if text and "link" in lists and field.path.startswith("link."):
            of_all_links[field.path.removeprefix("link.")] = _value(field, text)
        elif text and (field.path, text) != ("testbed", form_fields.NO_TESTBED):
            yield field.path, _value(field, text)
    for path, form_rows in lists.items():
        if path in form_fields.LISTS:
            common = of_all_links if path == "link" else {}
            yield path, [{**common, **_table(path, number, row, form_values)} for number, row in enumerate(form_rows)]


def axes(form_values: Mapping[str, str]) -> dict[str, Any]:
    """Return the axes of a grid in a numbered form.

    Raises
    ------
    Rejected
        When an axis is invalid; the message names its row.
    """
    axes_by_path: dict[str, Any] = {}
    for form_row in rows(form_values)[form_fields.AXES.path]:
        path, values = (form_values.get(field.path, "").strip() for field in form_row.fields)
        if path in axes_by_path:
            raise Rejected(400, f"{form_row.name}: {path} is varied above")
        _, values_field = form_row.fields
        is_toml = values.startswith(("[", "{"))
        axes_by_path[path] = (
            _value(values_field, values) if is_toml else [_read(part.strip()) for part in values.split(",") if part]
        )
        try:
            Grid(axes={path: axes_by_path[path]})
        except SpecError as error:
            raise Rejected(400, f"{form_row.name}: {error}") from None
    return axes_by_path


def _table(path: str, number: int, row: FormRow, form_values: Mapping[str, str]) -> dict[str, Any]:
    prefix = f"{path}[{number}]"
    table: dict[str, Any] = {}
    node = table
    for name in filter(None, row.name.removeprefix(prefix).split(".")):
        node = node.setdefault(name, {})
    for field in row.fields:
        if text := form_values.get(field.path, "").strip():
            *names, key = field.path.removeprefix(f"{row.name}.").split(".")
            parent = node
            for name in names:
                parent = parent.setdefault(name, {})
            parent[key] = _value(field, text)
    return table


def _value(field: form_fields.Field, text: str) -> Any:
    if field.is_toml:
        try:
            parsed = bounded_input.toml(f"value = {text}")
        except bounded_input.ParseError as error:
            raise Rejected(400, f"{field.path}: not TOML: {error}, got {text!r}") from None
        if parsed.keys() != {"value"}:
            raise Rejected(400, f"{field.path}: write one value, got {text!r}")
        return parsed["value"]
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
