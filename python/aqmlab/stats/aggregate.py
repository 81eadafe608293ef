"""Aggregation over the seeds of one scheme: means, intervals and standard deviations."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from aqmlab.metrics.metrics import COSTS, MEASURES, PARTS
from aqmlab.stats.intervals import LEVEL, half_width

SETTINGS = (
    "label",
    "scheme",
    "parameters",
    "load_percent",
    "users_per_side",
    "rtt",
    "signal",
    "rate_mbps",
    "rate_back_mbps",
)
"""The columns that all cells of one scheme share."""

_NAMES = ("name", "kind", "link", "direction")
"""The keys that identify a part of a record."""


def over_seeds(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the records of one scheme's cells.

    Returns
    -------
    dict
        The settings, ``seeds`` and ``cells``; measures and costs as their means over the seeds that have a value,
        ``None`` where none has; ``half_width``, half of their 95 % intervals (Student's t), and ``sd``, their standard
        deviations as of a sample (n - 1), both ``None`` for a single value; and ``n``, how many seeds have a value.
    """
    first = records[0]
    measured = _measured(records)
    return {
        **{name: first[name] for name in SETTINGS},
        "seeds": [record["seed"] for record in records],
        **map_numbers(_ignoring_none(lambda values: statistics.fmean(values) if values else None), measured),
        "half_width": map_numbers(_ignoring_none(_half_width), measured),
        "sd": map_numbers(
            _ignoring_none(lambda values: statistics.stdev(values) if len(values) > 1 else None), measured
        ),
        "n": map_numbers(_ignoring_none(len), measured),
        "cells": [record["cell"] for record in records],
    }


def samples(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return the values of all of a scheme's cells under the names of one; ``None`` where a cell lacks a value."""
    return map_numbers(lambda values: None if None in values else tuple(values), _measured(records))


def _measured(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: record[name] for name in (*MEASURES, *PARTS, *COSTS)} for record in records]


def _half_width(values: list[float]) -> float | None:
    return float(half_width(np.array(values, dtype=float), confidence=1 - LEVEL)) if len(values) > 1 else None


def _ignoring_none(combine: Callable[[list[float]], float | None]) -> Callable[[list[Any]], float | None]:
    """Return a function that combines the values that are not ``None``."""
    return lambda values: combine([value for value in values if value is not None])


def map_numbers(combine: Callable[[list[Any]], Any], values: Sequence[Any]) -> Any:
    """Combine the numbers at the same path of several records, into the same objects and lists.

    Lists of different lengths, such as the classes of two disciplines, become empty lists.
    """
    # Cells that were stored before a number was added lack it, and one with nothing to measure has no object.
    first = next((value for value in values if value is not None), None)
    if isinstance(first, Mapping):
        return {
            name: value if name in _NAMES else map_numbers(combine, [(value or {}).get(name) for value in values])
            for name, value in first.items()
        }
    if isinstance(first, Sequence):
        has_one_length = len({len(value or ()) for value in values}) == 1
        return [map_numbers(combine, value) for value in zip(*values, strict=True)] if has_one_length else []
    return combine(list(values))
