"""The parser of variants, as typed and as tables of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import disciplines, hint
from aqmlab.disciplines.custom.law import Law
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment, QueueSpec
from aqmlab.spec.overrides import assignment, steps
from aqmlab.spec.schemes import Scheme
from aqmlab.spec.variants.variant import ECN, VARIANT_SEPARATOR, Variant, path_of

_REFUSED = {
    "queue": "belongs to the scheme: write its parameters after it, as in codel:target=10 ms",
    "variants": "cannot be changed by a variant",
    "sides": "are names, which change no result",
}
"""The keys that no variant changes, with the reasons."""


def parse(text: str | type[Law], experiment: Experiment) -> Variant:
    """Parse a variant: a scheme, or the name of a variant of the spec, and changes after `` + ``.

    Raises
    ------
    SpecError
        When there is no such scheme or variant, or a change has a wrong form.

    Examples
    --------
    >>> parse("dualpi2 + tcp.congestion=prague + tcp.ecn=accurate", Experiment()).changes
    ('tcp.congestion=prague', 'tcp.ecn=accurate')
    """
    if isinstance(text, type):
        scheme = schemes.parse(text)
        return Variant(scheme.label, scheme)
    first, *changes = (part.strip() for part in re.split(r"\s\+(?:\s|$)", text))
    if first in experiment.variants:
        variant = _parse_table(first, experiment.variants[first])
    elif experiment.variants and re.fullmatch(r"[\w-]+", first) and first not in disciplines():
        names = [*experiment.variants, *disciplines()]
        hint_text = f"the spec's variants are {', '.join(experiment.variants)}; aqmlab aqm list names the disciplines"
        raise SpecError(f"{text}: no variant or discipline is called {first!r}{hint(first, names)}; {hint_text}")
    else:
        variant = Variant(first, schemes.parse(first))
    label = VARIANT_SEPARATOR.join([first, *changes])
    return _check_changes(Variant(label if changes else variant.label, variant.scheme, (*variant.changes, *changes)))


def check(experiment: Experiment) -> None:
    """Check an experiment's tables of variants; the message names the table.

    Raises
    ------
    SpecError
        When a name is that of a discipline or cannot be typed, or a table has a wrong key.
    """
    for name, table in experiment.variants.items():
        if not re.fullmatch(r"[\w.-]+", name):
            raise SpecError(f"variants: a name has letters, digits, dots, - and _, got {name!r}")
        if name in disciplines():
            raise SpecError(f"variants.{name}: must have another name than a discipline")
        _check_changes(_parse_table(name, table))


def _parse_table(name: str, table: Mapping[str, Any]) -> Variant:
    path = f"variants.{name}"
    if "scheme" in table and "queue" in table:
        raise SpecError(f"{path}: write scheme or queue, not both")
    scheme: Scheme | None = None
    if "scheme" in table:
        if not isinstance(table["scheme"], str):
            raise SpecError(f"{path}.scheme: must be a text such as 'dualpi2:target=15 ms', got {table['scheme']!r}")
        scheme = schemes.parse(table["scheme"])
    elif "queue" in table:
        try:
            queue = QueueSpec.model_validate(table["queue"])
        except ValueError as error:
            raise SpecError(f"{path}.queue: {_first_line(error)}") from None
        scheme = Scheme(name, queue, None)
    rest = {key: value for key, value in table.items() if key not in ("scheme", "queue")}
    if scheme is None and not rest:
        raise SpecError(f"{path}: must change something: write scheme, queue or other keys of a spec")
    return Variant(name, scheme, tuple(assignment(path, value) for path, value in _flatten(rest)))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        quoted = key if re.fullmatch(r"\w+", key) else f'"{key}"'
        path = f"{prefix}.{quoted}" if prefix else quoted
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, path)
        else:
            yield path, value


def _check_changes(variant: Variant) -> Variant:
    paths = []
    for change in variant.changes:
        path, equals, _ = change.partition("=")
        path_steps = steps(path.strip())
        if not equals or not path_steps:
            raise SpecError(f"{variant.label}: write path=value after +, such as tcp.congestion=prague, got {change!r}")
        if path_steps[0] in _REFUSED:
            raise SpecError(f"{variant.label}: {path_steps[0]} {_REFUSED[str(path_steps[0])]}")
        paths.append(path_of(change))
    for path in paths:
        if paths.count(path) > 1:
            raise SpecError(f"{variant.label}: {path} is given twice")
    if variant.scheme is not None and variant.scheme.ecn is not None and ECN in paths:
        raise SpecError(f"{variant.label}: ECN is given twice, by the scheme and by {ECN}")
    return variant


def _first_line(error: ValueError) -> str:
    lines = str(error).splitlines()
    return (lines[2] if len(lines) > 2 else lines[0]).strip().removeprefix("Value error, ").partition(" [type=")[0]
