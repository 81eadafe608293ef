"""``aqmlab conform``: a congestion control held to its standards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells, run_live_cells
from aqmlab.cli.options import AnyWorld, Changes, Json, Out, Workers
from aqmlab.cli.output import check_directory, one_line_errors, print_json, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def conform(
    control: Annotated[
        str, typer.Argument(metavar="CONTROL", help="A name of tcp.congestion, or module:Class of a custom control.")
    ],
    standard: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Hold the control to this standard, such as reno, bbr or rack-tlp.",
            show_default="those of a built-in control",
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Run only this case. May be repeated.", show_default="all"),
    ] = None,
    changes: Changes = None,
    world: Annotated[
        AnyWorld,
        typer.Option(
            help="Hold the simulator's control to them, that of a Linux kernel in virtual time, or live that of this"
            " machine's."
        ),
    ] = AnyWorld.SIMULATED,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the congestion window of each case into this directory.")
    ] = None,
    out: Out = "results",
    workers: Workers = None,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Hold a congestion control to the clauses of its standards.

    Each case runs one flow and measures one number of its series. The verdict is "meets", "fails", or "not covered"
    with the reason. The exit code is 1 if a case fails.

    Example: aqmlab conform cubic --case cubic-beta
    """
    from aqmlab.conformance import Verdict, check_workers_in, plan, table
    from aqmlab.ui import console

    check_table(file)
    if figures is not None:
        check_directory("--figures", figures)
    check_workers_in(world, workers)
    suite = plan(control, standard=standard, cases=case or (), changes=changes or (), world=world.value)
    is_live = world is AnyWorld.LIVE
    outcomes = suite.run(lambda cells: run_live_cells(cells, out) if is_live else run_cells(cells, out, workers))
    write_table(table.frame(outcomes), file)
    if figures is not None:
        with one_line_errors():
            for figure in table.draw(outcomes, figures):
                report_written(figure)
    if as_json:
        records = [outcome.record() for outcome in outcomes]
        print_json(
            {"control": suite.control, "world": world.value, "standards": list(suite.standards), "cases": records}
        )
    else:
        console.show(table.table(outcomes))
        for line in table.failures(outcomes):
            print(line)
        print(table.summary(outcomes))
    if any(outcome.verdict is Verdict.FAILS for outcome in outcomes):
        raise typer.Exit(1)
