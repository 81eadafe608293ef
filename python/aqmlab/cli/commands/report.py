"""``aqmlab report``: results as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Changes, read_seeds
from aqmlab.cli.output import one_line_errors

app = App()


@app.command()
def report(
    cells: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CELL",
            help="Cells: directories, or keys (a unique prefix is enough). Or one of these: a results directory, the"
            " file of an experiment (SPEC.toml), the name of a study.",
            show_default=False,
        ),
    ] = None,
    changes: Changes = None,
    schemes: Annotated[
        list[str] | None,
        typer.Option("--scheme", metavar="SCHEME", help="Select a scheme as typed, or a discipline. May be repeated."),
    ] = None,
    load: Annotated[float | None, typer.Option(metavar="PCT", help="Select a load in percent.")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N|N-M", help="Select seeds 1 to N, or N to M.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add response times by cause; each cell is run again.")
    ] = False,
    out: Annotated[str, typer.Option(metavar="DIR|URL", help="The results directory.")] = "results",
    file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Output file.")] = Path("report.html"),
) -> None:
    """Write results as one self-contained HTML file.

    It has interactive figures, tables and instructions to reproduce the results,
    and loads nothing from a network. Without cells it shows the newest comparison;
    with SPEC.toml the newest of this experiment, with the changes of --set. For a
    study, it has the claims, tables and figures of the longest complete length.

    Example: aqmlab report --load 98 -o report.html

    Example: aqmlab report examples/home-link.toml -o home.html
    """
    from aqmlab.ui.extras import require

    require("report")
    from aqmlab.reports.page import report as write
    from aqmlab.spec.experiment import Experiment
    from aqmlab.store.store import Store

    experiment: Experiment | None = None
    if cells and len(cells) == 1 and cells[0].endswith(".toml"):
        experiment, cells = Experiment.from_toml(cells[0], changes=changes or ()), []
    elif changes:
        raise SpecError("--set: needs SPEC.toml, which is not given")
    if cells and len(cells) == 1 and Path(cells[0], "cells").is_dir():
        if out not in (cells[0], "results"):
            raise SpecError(f"CELL: {cells[0]} is a results directory, and --out another one, {out}")
        out, cells = cells[0], []
    Store(out).check_is_store("--out")
    with one_line_errors():
        seed_range = None if seeds is None else read_seeds(seeds)
        report_file = write(
            *(cells or ()),
            out=out,
            to=file,
            schemes=schemes or (),
            load=load,
            seeds=seed_range,
            experiment=experiment,
            explain=explain,
        )
    print(report_file)
