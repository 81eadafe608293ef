"""Formats of traces: rates as CSV or JSON, lists of durations (Sabre), and the lines of Mahimahi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError
from aqmlab.spec.capacity import traces
from aqmlab.traces.trace import Trace, from_durations, from_opportunities, opportunities
from aqmlab.ui import output_files

RATES = (".csv", ".json")
"""The suffixes of files of rates; a file with any other suffix has the lines of Mahimahi."""

BIN_S = 0.1
"""The length of a bin, ours: ten rates a second show the scheduling of a base station, not each packet."""


def read(file: Path, bin_s: float | None = None) -> Trace:
    """Return the rates of a file, whose content decides its format.

    Parameters
    ----------
    file
        The file: CSV with the columns ``seconds`` and ``mbps``, JSON with the two as lists, JSON as a list of tables
        with ``duration_ms`` and ``bandwidth_kbps``, or lines of Mahimahi.
    bin_s
        The length of a bin of lines of Mahimahi in seconds; :data:`BIN_S` if it is ``None``.

    Raises
    ------
    SpecError
        When it cannot be read, has another format, or has no lines that bins could be of.
    """
    place = str(file)
    text = traces.read_text(file, place)
    start = text.lstrip()
    if start[:1].isdecimal() and "," not in start.splitlines()[0]:
        lines = traces.parse("mahimahi", text, place)["opportunities"]
        return from_opportunities(lines, BIN_S if bin_s is None else bin_s)
    if bin_s is not None:
        raise SpecError("--bin: has no effect: the file has rates, not opportunities")
    if start.startswith("["):
        trace = _segments(text, place)
        _check(trace, place)
        return trace
    columns = traces.parse("trace", text, place)
    path = {name: tuple(column) for name, column in columns.items() if name in traces.PATH_COLUMNS}
    return Trace(tuple(columns["seconds"]), tuple(columns["mbps"]), path)


def write(trace: Trace, file: Path) -> None:
    """Write a trace in the format of the file's suffix.

    Raises
    ------
    SpecError
        When the engine would not read it.
    OSError
        When the file cannot be written.
    """
    if file.suffix in RATES:
        named = {"seconds": trace.seconds, "mbps": trace.mbps, **trace.path}
        columns = {name: [_short(value) for value in column] for name, column in named.items()}
        rows = zip(*columns.values(), strict=True)
        csv = "".join(f"{','.join(f'{value:.12g}' for value in row)}\n" for row in rows)
        text = f"{json.dumps(columns)}\n" if file.suffix == ".json" else f"{','.join(columns)}\n{csv}"
    elif trace.path:
        raise SpecError(f"{file}: a trace of Mahimahi has no {' and '.join(trace.path)}; write a .csv or .json file")
    else:
        try:
            text = "".join(f"{line}\n" for line in opportunities(trace))
        except ValueError as error:
            raise SpecError(f"{file}: {error}") from None
    traces.parse("trace" if file.suffix in RATES else "mahimahi", text, str(file))
    with output_files.opened(file) as out:
        out.write(text.encode())


def _short(number: float) -> float:
    """Round to the nanoseconds and bits a second of the engine, without the digits of binary fractions."""
    return float(f"{number:.12g}")


def _segments(text: str, place: str) -> Trace:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpecError(f"{place}, line {error.lineno}: is not JSON: {error.msg}") from None
    if not rows:
        raise SpecError(f"{place}: must have a row, got an empty list")
    pairs = [_segment(row, f"{place}, row {number}") for number, row in enumerate(rows, start=1)]
    return from_durations([seconds for seconds, _ in pairs], [mbps for _, mbps in pairs])


def _segment(row: Any, place: str) -> tuple[float, float]:
    try:
        seconds, mbps = row["duration_ms"] / 1000, row["bandwidth_kbps"] / 1000
    except (KeyError, TypeError):
        raise SpecError(f"{place}: must have numbers as duration_ms and bandwidth_kbps, got {row!r}") from None
    if seconds <= 0:
        raise SpecError(f"{place}: must have a duration above 0 ms, got {1000 * seconds:g}")
    return seconds, mbps


def _check(trace: Trace, place: str) -> None:
    traces.parse("trace", json.dumps({"seconds": trace.seconds, "mbps": trace.mbps}), place)
