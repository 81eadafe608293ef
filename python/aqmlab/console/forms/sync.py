"""Keep the fields of a form and the TOML beside them in step.

A form remembers the TOML of its last answer, from which its fields were filled. A field that differs from that TOML
was edited, and its change is applied to the TOML as it is typed now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import tomli_w

from aqmlab._core import SpecError
from aqmlab.console.auth import Rejected
from aqmlab.console.forms import form_fields, form_lists, toml_input
from aqmlab.spec import bounded_input
from aqmlab.spec.overrides import Step, apply, assignment, steps

SYNCED = "synced"
"""The field with the TOML from which the fields were filled."""


def merged(form_values: Mapping[str, str]) -> str:
    """Return the TOML of a form with the changes of its fields.

    Raises
    ------
    Rejected
        When the TOML or a field cannot be parsed; the message names it.
    """
    text = form_values.get("spec", "")
    tables = toml_input.tables("spec", text)
    old_fields = field_values(form_values.get(SYNCED, ""))
    for path, value in _changes(form_values, old_fields):
        before = tomli_w.dumps(tables)
        try:
            _set(tables, path, value)
        except SpecError as error:
            raise Rejected(400, f"{path}: {str(error).removeprefix('--set: ')}") from None
        if tomli_w.dumps(tables) != before:
            text = _edit(text, path, _lookup(tables, steps(path)), tables)
    return text


def field_values(text: str) -> dict[str, str]:
    """Return the fields and the rows of lists that a TOML text fills; none if it is not TOML."""
    try:
        tables = toml_input.tables("spec", text)
    except Rejected:
        return {}
    values = {field.path: _text(value) for field, value in _found(tables, form_fields.paths().values())}
    if tables and "testbed" not in tables:
        values["testbed"] = form_fields.NO_TESTBED
    for path in form_fields.LISTS:
        for number, (kind, entry) in enumerate(_rows(tables, path)):
            row = form_lists.row(path, number, kind)
            # A row without values is still a row.
            values[row.paths[0]] = ""
            prefix = f"{path}[{number}]."
            for field in row.fields:
                value = _lookup(entry, steps(field.path.removeprefix(prefix)))
                if value is not None:
                    values[field.path] = _text(value)
    return values


def _changes(form_values: Mapping[str, str], old_fields: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the edited fields and lists with their values; ``None`` removes a value."""
    numbered = form_lists.renumber(form_values)
    edited = {path: numbered.get(path, "").strip() != old_fields.get(path, "") for path in form_fields.paths()}
    new_rows = {path: [row.name for row in rows] for path, rows in form_lists.rows(numbered).items()}
    old_rows = {path: [row.name for row in rows] for path, rows in form_lists.rows(old_fields).items()}
    values = dict(form_lists.changes(numbered))
    for path, is_edited in edited.items():
        if is_edited and path in numbered:
            yield path, values.get(path)
    for path in form_fields.LISTS:
        names = [name for name in (*numbered, *old_fields) if name.startswith(f"{path}[")]
        if new_rows[path] != old_rows[path] or any(
            numbered.get(name, "").strip() != old_fields.get(name, "") for name in names
        ):
            yield path, values.get(path)


def _set(tables: dict[str, Any], path: str, value: Any) -> None:
    # Entries without fields, such as traces, stay.
    others = [entry for entry in _entries(tables, path) if _kind(path, entry) is None]
    if others:
        value = [*others, *(value or ())]
    if value is not None:
        apply(tables, assignment(path, value))
        return
    *parents, last = steps(path)
    table = _lookup(tables, parents)
    if isinstance(table, dict):
        table.pop(str(last), None)


def _edit(text: str, path: str, value: Any, tables: Mapping[str, Any]) -> str:
    """Return the text with one changed value: in its line, in its table or at the end.

    A text in which none of these gives ``tables`` is written again as a whole, without its comments.
    """
    *parents, last = steps(path)
    assigned = None if value is None else f"{_key(last)} = {assignment('', value).removeprefix('=')}"
    lines = text.splitlines()
    number = toml_input.line(text, path) or 0
    line = lines[number - 1] if number else ""
    parent = ".".join(map(_key, parents))
    candidates: list[list[str]] = []
    if number:
        before, after = lines[: number - 1], lines[number:]
        if assigned is None:
            candidates += [[*before, *after]]
        else:
            old_key, _, rest = line.partition("=")
            comment = re.search(r"\s+#[^\"']*$", rest)
            changed = f"{old_key.rstrip()} = {assigned.partition(' = ')[2]}{comment[0] if comment else ''}"
            candidates += [[*before, changed, *after], [*before, line, assigned, *after]]
    if assigned is not None:
        candidates += [[*lines, *([""] if lines else []), f"[{parent}]", assigned]] if parents else [[assigned, *lines]]
    for candidate in candidates:
        written = "\n".join(candidate).strip("\n") + "\n" if candidate else ""
        try:
            if bounded_input.toml(written) == tables:
                return written
        except bounded_input.ParseError:
            continue
    return tomli_w.dumps(tables)


def _key(step: Step) -> str:
    return str(step) if re.fullmatch(r"[\w-]+", str(step), re.ASCII) else f'"{step}"'


def _found(tables: Mapping[str, Any], fields: Any) -> Iterator[tuple[form_fields.Field, Any]]:
    for field in fields:
        value = _lookup(tables, steps(field.path))
        if value is not None:
            yield field, value


def _lookup(node: Any, path: list[Step]) -> Any:
    for step in path:
        if not isinstance(node, dict) or step not in node:
            return None
        node = node[step]
    return node


def _entries(tables: Mapping[str, Any], path: str) -> list[Any]:
    entries = _lookup(tables, steps(path)) if path in form_fields.LISTS else None
    return entries if isinstance(entries, list) else []


def _rows(tables: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the kind and the table of each entry of a list that has fields, up to the largest number of rows."""
    for entry in _entries(tables, path)[: form_lists.MAX_ROWS]:
        if (kind := _kind(path, entry)) is not None:
            yield kind, entry


def _kind(path: str, entry: Any) -> str | None:
    """Return the kind of row for an entry of a list; ``None`` if it has no fields, as for a trace."""
    if path not in form_fields.LISTS or not isinstance(entry, dict):
        return None
    kinds = form_fields.lists()[path].kinds
    return "" if "" in kinds else next((kind for kind in kinds if isinstance(entry.get(kind), dict)), None)


def _text(value: Any) -> str:
    """Return a value as it is typed in a field."""
    return value if isinstance(value, str) else assignment("", value).removeprefix("=")
