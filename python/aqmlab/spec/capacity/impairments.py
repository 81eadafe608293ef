"""Impairments of the wire of a link, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aqmlab._core import seconds
from aqmlab.spec.capacity.rates import DOWN, UP

_ECN = {
    "bleach": "ECN bleached",
    "clear_ce": "CE cleared",
    "rewrite_ect1": "ECT(1) rewritten",
    "refuse_syn": "ECN SYNs lost",
}


def loss_text(loss: float | Mapping[str, Any]) -> str:
    """Return losses on the wire as text, of two directions both.

    Examples
    --------
    >>> loss_text(0.001), loss_text({"up": 0, "down": {"gilbert_elliott": {"p": 0.01, "r": 0.2, "h": 0.0, "k": 1.0}}})
    ('0.1 %', '0 % / 4.76 % in bursts')
    >>> loss_text({"four_state": {"p13": 0.02, "p31": 0.1, "p32": 0.3, "p23": 0.5, "p14": 0.01}})
    '15.8 % in bursts'
    >>> loss_text({"gilbert_elliott_time": {"good": "9 s", "bad": "1 s", "h": 0.5, "k": 1.0}})
    '5 % in bursts'
    """
    return _both(loss, _loss_of_one)


def text(link: Mapping[str, Any]) -> str:
    """Return the impairments of a link with all its values, other than its losses, as text.

    Examples
    --------
    >>> text({"jitter": {"up": "5 ms", "down": "0 s"}, "duplicate": 0.01})
    '1 % duplicated, jitter 5 ms / 0 s'
    >>> text({"ecn": "bleach", "outages": [{"at": "5 s", "lasts": "1 s", "every": "15 s", "packets": "lost"}]})
    'ECN bleached, down for 1 s from 5 s every 15 s (lost)'
    """
    forms: dict[str, Callable[[Any], str]] = {
        "bit_error_rate": lambda rate: f"bit error rate {_both(rate, lambda one: f'{one:.3g}')}",
        "duplicate": lambda share: f"{_both(share, _percent)} duplicated",
        "jitter": lambda jitter: f"jitter {_both(jitter, str)}",
        "reorder": lambda late: _both(late, lambda one: f"{_percent(one['probability'])} late by {one['delay']}"),
        "profile": lambda profile: _both(profile, lambda one: f"delays of {len(one['delay_ms']):,} packets"),
        "ecn": lambda path: _both(path, lambda one: _ECN.get(one, "ECN passes")),
        "outages": lambda outages: _some([_outage(outage) for outage in outages]),
        "delay_changes": lambda changes: _some([_delay(change) for change in changes]),
    }
    return ", ".join(of(link[key]) for key, of in forms.items() if key in link)


def _both(value: Any, of_one: Callable[[Any], str]) -> str:
    if isinstance(value, Mapping) and value.keys() == {UP, DOWN}:
        return " / ".join(map(of_one, (value[UP], value[DOWN])))
    return of_one(value)


def _loss_of_one(loss: float | Mapping[str, Any]) -> str:
    if not isinstance(loss, Mapping):
        return _percent(loss)
    ((kind, process),) = loss.items()
    return f"{_percent(_SHARES[kind](process))} in bursts"


def _share_of_two(process: Mapping[str, float]) -> float:
    return _share_of_states(process["p"] / (process["p"] + process["r"]), process)


def _share_over_time(process: Mapping[str, Any]) -> float:
    good, bad = seconds(process["good"]), seconds(process["bad"])
    return _share_of_states(bad / (good + bad), process)


def _share_of_states(bad: float, process: Mapping[str, float]) -> float:
    return bad * (1 - process["h"]) + (1 - bad) * (1 - process["k"])


def _share_of_four(process: Mapping[str, float]) -> float:
    # The share of each state for a share of 1 of the first.
    third = process["p13"] / process["p31"]
    second, fourth = third * process["p32"] / process["p23"], process["p14"]
    return (third + fourth) / (1 + second + third + fourth)


_SHARES: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "gilbert_elliott": _share_of_two,
    "gilbert_elliott_time": _share_over_time,
    "four_state": _share_of_four,
}


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _outage(outage: Mapping[str, Any]) -> str:
    every = f" every {outage['every']}" if "every" in outage else ""
    lost = " (lost)" if outage["packets"] == "lost" else ""
    return f"down for {outage['lasts']} from {outage['at']}{every}{lost}"


def _delay(change: Mapping[str, Any]) -> str:
    every = f" every {change['every']}" if "every" in change else ""
    return f"delay {change['delay']} from {change['at']}{every}"


def _some(texts: list[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3:,} more" if len(texts) > 3 else "")
