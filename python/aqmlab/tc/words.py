"""The options of one discipline: parameters as ``tc``'s words, and words as parameters.

Each discipline declares its words in the engine, at its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aqmlab._core import seconds
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.catalogue import NOECN, Discipline, Parameter, Tc
from aqmlab.tc import values

ECN = "ecn"

_BFIFO = "bfifo"


def disciplines() -> dict[str, tuple[Discipline, Tc]]:
    """Return the disciplines that ``tc`` has, by its names for them."""
    return {
        name: (entry, entry.tc)
        for entry in catalogue.disciplines().values()
        if entry.tc is not None
        for name in (*entry.tc.names, *(name for _, _, name in _kinds(entry)))
    }


def _kinds(entry: Discipline) -> Iterator[tuple[str, Any, str]]:
    """Yield the parameters that give a discipline another name, with the value and that name."""
    for parameter in entry.parameters:
        for kind, declared in (parameter.tc or {}).items():
            if kind == "kind":
                yield from ((parameter.name, value, name) for value, name in declared)


def write(entry: Discipline, tc: Tc, parameters: Mapping[str, Any]) -> list[str]:
    """Return the words of a discipline with these parameters. Some parameters have none."""
    name, words = tc.names[0], list[str]()
    for parameter in entry.parameters:
        value = parameters.get(parameter.name)
        if parameter.tc is None or value is None:
            continue
        own = _words(parameter, value)
        if _BFIFO in tc.names and parameter.name == "limit" and not own:
            name, own = _BFIFO, ["limit", str(values.written(value, values.SIZE))]
        words += own
    for key, value, kind in _kinds(entry):
        name = kind if parameters.get(key) == value else name
    if tc.ecn is not None:
        words.append(NOECN if parameters.get(NOECN) else ECN)
    return [name, *(word for word in words if word)]


def _words(parameter: Parameter, value: Any) -> list[str]:
    ((kind, declared),) = (parameter.tc or {}).items()
    if kind == "flag":
        return [declared[0 if value else 1]]
    if kind == "name":
        return [] if value in declared else [value]
    if kind in ("choice", "kind"):
        return [word for name, word in declared if name == value and kind == "choice"]
    if kind == "repeated":
        return [declared] * value
    if kind == "multiple":
        word, factor = declared
        return [word, f"{round(factor * value)}"]
    if kind == "milliseconds":
        return [declared, f"{seconds(value) * 1000:.0f}"]
    if value in _names(parameter):
        return [value]
    text = values.written(value, parameter.unit)
    return [] if text is None else [declared, text]


def read(name: str, entry: Discipline, tc: Tc, words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that a discipline has in Linux with these options, without those that are our defaults.

    Raises
    ------
    ValueError
        When an option is unknown or not modelled, or its value is none.
    """
    parameters: dict[str, Any] = {
        **dict(tc.values),
        **{key: value for key, value, kind in _kinds(entry) if kind == name},
    }
    has_ecn, position = tc.ecn, 0
    options = _options(entry)
    while position < len(words):
        if accepted := next((text for text in tc.accepted if _begins(words[position:], text)), None):
            position += len(accepted.split())
            continue
        # An option may have its value in it.
        word = next((text for text in options if _begins(words[position:], text)), words[position])
        if word in (ECN, NOECN) and tc.ecn is not None:
            has_ecn = word == ECN
        elif word in dict(tc.refused):
            raise ValueError(f"{word}: is not modelled: {dict(tc.refused)[word]}")
        elif word not in options:
            raise ValueError(f"{word}: is no option of {name}{catalogue.nearest(word, [*options, *dict(tc.refused)])}")
        else:
            parameter, value = options[word]
            if value is _FOLLOWS:
                position += 1
                value = _value(name, parameter, word, words[position : position + 1])
            elif value is _REPEATED:
                value = parameters.get(parameter.name, 0) + 1
            parameters[parameter.name] = value
        position += len(word.split())
    if name == _BFIFO and parameters == dict(tc.values):
        raise ValueError("limit: needs a value, because Linux takes its default from the device")
    if has_ecn is False:
        parameters[NOECN] = True
    defaults = {parameter.name: parameter.default for parameter in entry.parameters}
    return {key: value for key, value in parameters.items() if _text(value) != defaults.get(key)}


_FOLLOWS, _REPEATED = object(), object()


def _options(entry: Discipline) -> dict[str, tuple[Parameter, Any]]:
    """Return the parameter that each word sets, and its value, or that the value follows."""
    return {word: (parameter, value) for parameter in entry.parameters for word, value in _meanings(parameter)}


def _meanings(parameter: Parameter) -> Iterator[tuple[str, Any]]:
    for kind, declared in (parameter.tc or {}).items():
        if kind == "flag":
            yield from ((word, value) for word, value in zip(declared, (True, False), strict=True) if word)
        elif kind == "name":
            names = [choice["const"] for choice in parameter.schema["oneOf"]]
            yield from ((name, name) for name in names if name not in declared)
        elif kind == "choice":
            yield from ((word, name) for name, word in declared)
        elif kind == "repeated":
            yield declared, _REPEATED
        elif kind != "kind":
            yield (declared[0] if kind == "multiple" else declared), _FOLLOWS
            yield from ((name, name) for name in _names(parameter))


def _names(parameter: Parameter) -> Sequence[str]:
    """Return the names of a quantity's values, such as ``unlimited``, which ``tc`` also takes alone."""
    names: Sequence[str] = parameter.schema.get("examples", ())
    return names


def _value(name: str, parameter: Parameter, word: str, following: Sequence[str]) -> Any:
    if not following:
        raise ValueError(f"{word}: needs a value after it")
    if following[0] in _names(parameter):
        return following[0]
    ((kind, declared),) = (parameter.tc or {}).items()
    # The output of `tc qdisc show` has units where its input has none.
    unit = "ms" if kind == "milliseconds" and following[0].isdigit() else ""
    try:
        value = values.read(following[0] + unit, values.SIZE if name == _BFIFO else parameter.unit)
    except ValueError as error:
        raise ValueError(f"{word}: {error}") from None
    return float(value) / declared[1] if kind == "multiple" else value


def _begins(words: Sequence[str], text: str) -> bool:
    expected = text.split()
    return list(words[: len(expected)]) == expected


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
