"""Our rows beside the papers', from the studies' records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aqmlab.models.intervals import Interval
from aqmlab.studies.kit.report import read_record
from aqmlab.studies.le.accounting import MeasuredRow

STUDIES = ("le2003", "le2004")

_COLUMNS = ("load, %", "scheme", "loss, %", "completed, M", "Mbit/s")


def recorded_rows(pages: Path) -> list[MeasuredRow]:
    """Return the rows of the studies' records, with the rounding of their digits."""
    rows = {(row.rtt, row.load_percent, row.scheme): row for name in STUDIES for row in _rows(pages / f"{name}.json")}
    return list(rows.values())


def _rows(record: Path) -> Iterator[MeasuredRow]:
    for table in read_record(record).tables:
        if not set(_COLUMNS) <= set(table.columns):
            continue
        # Published numbers have the same headings further to the right.
        places = [table.columns.index(column) for column in _COLUMNS]
        for row in table.rows:
            load, scheme, loss, completed, mbps = (row[place] for place in places)
            yield MeasuredRow(
                table="ours",
                rtt="general" if "general" in table.title else "uniform",
                load_percent=float(str(load)),
                scheme=str(scheme),
                loss_percent=Interval.around(float(str(loss)), 0.005).at_least(0),
                completed_millions=Interval.around(float(str(completed)), 0.005),
                throughput_mbps=Interval.around(float(str(mbps)), 0.05),
            )
