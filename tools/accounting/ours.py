"""Our rows beside the papers': from a results directory, or from the tables of the committed pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from aqmlab.cells import calibration_model
from aqmlab.models.intervals import Interval
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.studies import find
from aqmlab.studies.kit.study import study_cells
from aqmlab.studies.le.accounting import MeasuredRow, measured_rows

STUDIES = ("le2003", "le2004")

_COLUMNS = ("load, %", "scheme", "loss, %", "completed, M", "Mbit/s")


def stored(results: Path, length: str, seeds: range | None = None) -> list[MeasuredRow]:
    """Take what a results directory has of the studies in this length: the runs of which it has all seeds."""
    store, calibrations = Store(results), calibration_model.known(results)
    by_run: dict[str, list[Result]] = {}
    for name in STUDIES:
        study = find(name)
        chosen = study.lengths[length] if seeds is None else study.lengths[length].repeated(seeds)
        for run, cells in study_cells(study, chosen, calibrations).items():
            found = [result for cell in cells if (result := store.get(cell)) is not None]
            if len(found) == len(cells):
                by_run[run] = found
    return list(measured_rows(by_run))


def printed(pages: Path) -> list[MeasuredRow]:
    """Take what the pages print, with what their digits leave open."""
    rows = {
        (row.rtt, row.load_percent, row.scheme): row
        for page in sorted(pages.glob("le200*.md"))
        for row in _rows(page.read_text(encoding="utf-8"))
    }
    return list(rows.values())


def _rows(page: str) -> Iterator[MeasuredRow]:
    for title, body in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
        head, *lines_of = [_cells(line) for line in body.splitlines() if line.startswith("| ")] or [[]]
        if not set(_COLUMNS) <= set(head):
            continue
        # The same heading stands further to the right for what is published.
        places = [head.index(column) for column in _COLUMNS]
        for cells in lines_of:
            load, scheme, loss, completed, mbps = (cells[place] for place in places)
            yield MeasuredRow(
                table="ours",
                rtt="general" if "general" in title else "uniform",
                load_percent=float(load),
                scheme=scheme,
                loss_percent=Interval.around(float(loss), 0.005).at_least(0),
                completed_millions=Interval.around(float(completed), 0.005),
                throughput_mbps=Interval.around(float(mbps), 0.05),
            )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
