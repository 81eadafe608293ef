"""``aqmlab sensitivity``: sensitivity analysis of a discipline's parameters."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import (
    Changes,
    Figure,
    Json,
    Load,
    Out,
    SamplesOption,
    Seeds,
    SpecAndScheme,
    Workers,
    experiment_of,
    read_seeds,
    spec_and_scheme,
)
from aqmlab.cli.output import check_figure, one_line_errors, print_json, report_testbed, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def sensitivity(
    given: SpecAndScheme,
    over: SamplesOption,
    of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="A measure, by the names of tune's objectives. May be repeated.",
            show_default="p95, throughput",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="morris|sobol", help="Elementary effects (morris) or shares of the variance (sobol).")
    ] = "morris",
    points: Annotated[
        int, typer.Option(metavar="N", min=2, help="Trajectories (morris) or base samples (sobol), a power of two.")
    ] = 8,
    changes: Changes = None,
    load: Load = None,
    seeds: Seeds = "3",
    workers: Workers = None,
    out: Out = "results",
    figure: Figure = None,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Estimate the effect of parameters on the results.

    For morris, mu_star is the mean change of a measure over a parameter's range, and sigma its dependence on the other
    parameters. For sobol, S1 is a parameter's share of the variance, and ST its share with all interactions.

    Example: aqmlab sensitivity pi:ecn=true --over q_ref=5..300,sampling_hz=20..500 --load 98
    """
    from aqmlab.campaigns.search import plot as plots
    from aqmlab.campaigns.search.sensitivity import sensitivity as study
    from aqmlab.ui import canvas, console

    check_figure(figure)
    check_table(table)
    spec, scheme = spec_and_scheme(given)
    experiment = experiment_of(spec, changes, load)
    result = study(
        scheme,
        over,
        of=of or ("p95", "throughput"),
        method=method,  # type: ignore[arg-type]
        experiment=experiment,
        points=points,
        seeds=read_seeds(seeds),
        out=out,
        workers=workers,
    )
    if figure is not None:
        with one_line_errors():
            canvas.write(figure, lambda canvas_figure: plots.sensitivity(canvas_figure, result))
        report_written(figure)
    write_table(result.indices, table)
    if as_json:
        print_json(result.record())
    else:
        report_testbed(experiment.testbed)
        console.show(result.sheet)
