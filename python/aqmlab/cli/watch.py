"""``--watch``: run the command without this option as a job of a new console."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from aqmlab.cells.cell import Cell


def run_watched(
    title: str, out: str, cells: Iterable[Cell], *, grid: Path | None = None, seeds: range = range(0)
) -> None:
    """Run the typed command as a job of a console.

    Raises
    ------
    typer.Exit
        Always, after an interrupt, with the command's exit code.
    """
    from aqmlab.ui.extras import require

    require("console")
    from aqmlab.console.forms.job_requests import JobRequest
    from aqmlab.console.server import watch

    argv = sys.argv[1:]
    argv.remove("--watch")
    specs = {cell.key: cell.spec for cell in cells}
    request = JobRequest(title=title, argv=argv, cells=tuple(specs), grid=grid, seeds=seeds, specs=specs)
    raise typer.Exit(watch(request, out))
