"""Validation of arguments of the Python API: a mistake is one line that names the argument, as on the command line."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.disciplines.custom.law import Law
from aqmlab.running.pcap import Pcap
from aqmlab.spec.experiment import Experiment
from aqmlab.storage.location import Location, location

_MAX_TEXT = 80
"""The largest number of characters of a given value in an error."""


def check_experiment(value: object) -> None:
    """Refuse a value that is not an experiment."""
    if not isinstance(value, Experiment):
        raise SpecError(
            f'experiment: must be an Experiment, such as Experiment(queue={{"pi": {{}}}}), {_got_text(value)}'
        )


def check_seed(value: object) -> int:
    """Return a valid seed."""
    seed = _whole_number(value)
    if seed is None or not 0 <= seed < 2**64:
        raise SpecError(f"seed: must be a whole number from 0 to 2^64 - 1, {_got_text(value)}")
    return seed


def check_seeds(value: object) -> list[int]:
    """Return valid seeds: at least one, without duplicates."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        raise SpecError(f"seeds: must be several, such as [1, 2, 3], {_got_text(value)}")
    seeds = [check_seed(seed) for seed in value]
    if not seeds:
        raise SpecError("seeds: must be one at least, got none")
    check_each_once("seeds", seeds)
    return seeds


def check_each_once(field: str, value: Iterable[object]) -> None:
    """Refuse seeds or scheme names that contain duplicates, which would be run and shown once."""
    repeated = [item for item, count in Counter(value).items() if count > 1]
    if repeated:
        raise SpecError(f"{field}: each must be given once, got {', '.join(map(str, repeated))} more than once")


def read_seeds(text: str, name: str = "--seeds", max_seeds: int = 1000) -> range:
    """Read ``3`` as the seeds 1 to 3, and ``4-6`` or ``4:6`` as 4 to 6.

    Raises
    ------
    SpecError
        When the text has another form, or gives more than ``max_seeds`` seeds; the message begins with ``name``.
    """
    parts = re.fullmatch(r"(?:(\d{1,20})\s*(?:-|:|to)\s*)?(\d{1,20})", text.strip(), re.ASCII)
    if parts is not None:
        first, last = int(parts[1] or 1), int(parts[2])
        if first <= last < min(first + max_seeds, 2**64):
            return range(first, last + 1)
    raise SpecError(
        f"{name}: must be a number of seeds from 1 to {max_seeds}, or the first and the last as in 4-6, got {text!r}"
    )


def check_schemes(schemes_given: Iterable[object]) -> list[str | type[Law]]:
    """Return valid schemes, of which there must be one at least."""
    schemes: list[str | type[Law]] = []
    for scheme in schemes_given:
        if not isinstance(scheme, (str, type)):
            rule = 'text, such as compare("droptail", "pi:q_ref=24"), or the class of a law'
            raise SpecError(f"schemes: must each be {rule}, {_got_text(scheme)}")
        schemes.append(scheme)
    if not schemes:
        raise SpecError("schemes: must be one at least, such as fq_codel, got none")
    return schemes


def check_workers(value: object) -> None:
    """Refuse an invalid number of workers; ``None`` means one for each processor."""
    number = _whole_number(value)
    if value is not None and (number is None or number < 1):
        raise SpecError(f"workers: must be a whole number of at least 1, {_got_text(value)}")


def check_executor(value: object) -> None:
    """Refuse a value that is not an executor; with ``None`` cells run on this machine."""
    if value is not None and not callable(getattr(value, "submit", None)):
        raise SpecError(f"executor: must have the methods of a concurrent.futures.Executor, {_got_text(value)}")


def check_pcap(value: object) -> None:
    """Refuse a value that is not a capture; ``None`` means no capture."""
    if value is not None and not isinstance(value, Pcap):
        raise SpecError(f'pcap: must be a Pcap, such as Pcap(file="run.pcapng"), {_got_text(value)}')


def check_out(value: object) -> Location:
    """Return the location of results, from a path or a URL."""
    if not isinstance(value, (str, Path)):
        raise SpecError(f"out: must be the path of a directory or a URL, {_got_text(value)}")
    return location(value)


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _got_text(value: object) -> str:
    text = repr(value)
    return f"got {text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + '...'}"
