"""A line of ``netem`` as keys of a link: ``netem`` is no queue discipline, but the link behind one.

Source: the man page tc-netem(8), of iproute2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from aqmlab.spec import overrides
from aqmlab.tc import values

NAME = "netem"

_REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "corrupt": "write link.bit_error_rate, which damages longer frames more often",
        "reorder": "write link.reorder, which has its own delay",
        "gap": "write link.reorder, which has no fixed gaps",
        "distribution": "link.jitter is uniform, and packets keep their order",
        "slot": "write link.rate as a trace",
        "rate": "write link.rate and link.overhead",
        "ecn": "the queue in front of the link marks",
        "seed": "write --seeds",
    }
)
"""Words for which a link has no equal, and the nearest keys."""


def refusal(options: Sequence[str]) -> str:
    """Return the reason why no scheme has these options: the keys of the link that do the same, or what no key does.

    Examples
    --------
    >>> refusal(["limit", "500", "loss", "1%"])
    "is the link behind a queue: write the scheme droptail:limit=500 --set 'link.loss=0.01'"
    """
    try:
        limit, keys = settings(options)
    except ValueError as error:
        return str(error)
    changes = [f"--set '{overrides.assignment(path, value)}'" for path, value in keys.items()]
    return f"is the link behind a queue: write the scheme {' '.join([f'droptail:limit={limit}', *changes])}"


def settings(options: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Return the limit in packets and the keys of the link that these options are.

    Raises
    ------
    ValueError
        When an option is unknown, not modelled, or its value is none.
    """
    limit, keys, rest = 1000, dict[str, Any](), [*options]
    while rest:
        word = rest.pop(0)
        if word in _REFUSED:
            raise ValueError(f"{word}: is not modelled: {_REFUSED[word]}")
        if word not in ("limit", "delay", "loss", "duplicate"):
            raise ValueError(f"{word}: is no option of netem")
        if word == "limit":
            limit = int(values.read(_value(word, rest), "packets"))
        elif word == "delay":
            keys["link.delay"] = values.read(_value(word, rest), values.TIME)
            _check_alone(word, rest, "jitter that changes the order of packets")
        elif word == "duplicate":
            keys["link.duplicate"] = _share(word, rest)
            _check_alone(word, rest, "correlation")
        else:
            keys["link.loss"] = _loss(rest)
    return limit, keys


def _loss(rest: list[str]) -> Any:
    model = _LOSSES.get(rest[0]) if rest else None
    if model is None:
        rest[:] = rest[rest[:1] == ["random"] :]
        share = _share("loss", rest)
        _check_alone("loss", rest, "correlation")
        return share
    rest.pop(0)
    return model(_shares(rest))


def _gilbert_elliott(shares: Sequence[float]) -> dict[str, Any]:
    """Return the two states of ``loss gemodel P [R [1-H [1-K]]]``."""
    p, *others = shares
    r = others[0] if others else 1 - p
    parameters = {"p": p, "r": r}
    if len(others) > 1:
        parameters["h"] = round(1 - others[1], 9)
    if len(others) > 2:
        parameters["k"] = round(1 - others[2], 9)
    return {"gilbert_elliott": {**parameters, "change": "after"}}


def _four_state(shares: Sequence[float]) -> dict[str, Any]:
    """Return the four states of ``loss state P13 [P31 [P32 [P23 P14]]]``."""
    return {"four_state": dict(zip(("p13", "p31", "p32", "p23", "p14"), shares, strict=False))}


_LOSSES: Mapping[str, Callable[[Sequence[float]], dict[str, Any]]] = MappingProxyType(
    {"gemodel": _gilbert_elliott, "state": _four_state}
)


def _shares(rest: list[str]) -> list[float]:
    shares = [_share("loss", rest)]
    while _is_number(rest):
        shares.append(_share("loss", rest))
    return shares


def _share(word: str, rest: list[str]) -> float:
    return float(values.read(_value(word, rest), "percent")) / 100


def _value(word: str, rest: list[str]) -> str:
    if not rest:
        raise ValueError(f"{word}: needs a value after it")
    return rest.pop(0)


def _is_number(rest: Sequence[str]) -> bool:
    return bool(rest) and rest[0][:1].isdigit()


def _check_alone(word: str, rest: Sequence[str], second: str) -> None:
    if _is_number(rest):
        raise ValueError(f"{word} with {second}: is not modelled, got {rest[0]}")
