"""``aqmlab validate``: published experiments repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.options import (
    Out,
    Seeds,
    Workers,
    read_seeds,
)

app = App()


@app.command()
def validate(
    seeds: Seeds = "3",
    workers: Workers = None,
    out: Out = Path("results"),
    report: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the table goes; notes come from *-notes.md beside it.")
    ] = Path("docs/validation.md"),
) -> None:
    """Repeat published experiments; write ours beside theirs."""
    from aqmlab.running.calibration import lines
    from aqmlab.studies.kit.published import Published
    from aqmlab.studies.validate import report as validation_report
    from aqmlab.studies.validate import validation_cells

    if not report.parent.is_dir() or report.is_dir():
        raise SpecError(f"--report: must be a file in a directory that is there, got {report}")
    published = Published.shipped("le2003")
    notes = report.with_name(f"{report.stem}-notes.md")
    results = run_cells(validation_cells(published, read_seeds(seeds), lines.known(out)), out, workers)
    found = notes.read_text(encoding="utf-8") if notes.is_file() else ""
    report.write_text(validation_report(published, results, found), encoding="utf-8")
    print(report)
