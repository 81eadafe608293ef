"""``aqmlab tune``: a search for the best settings of a discipline."""

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
from aqmlab.metrics.numbers import NUMBERS

app = App()

_OBJECTIVE = (
    f"A number to minimise: {', '.join(NUMBERS)}, or one of a source, class or direction such as 'game one-way p99'."
    " May be repeated."
)


@app.command()
def tune(
    given: SpecAndScheme,
    over: SamplesOption,
    minimise: Annotated[list[str] | None, typer.Option(metavar="WHAT", help=_OBJECTIVE)] = None,
    maximise: Annotated[
        list[str] | None, typer.Option(metavar="WHAT", help="A number to maximise: throughput. May be repeated.")
    ] = None,
    changes: Changes = None,
    load: Load = None,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Try this many settings.")] = 40,
    seeds: Seeds = "3",
    confirm: Annotated[int, typer.Option(metavar="K", min=0, help="Run the K best again on fresh seeds.")] = 3,
    workers: Workers = None,
    out: Out = "results",
    figure: Figure = None,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Search for the best settings of a discipline.

    Each setting is compared with the given scheme under the same users. The best of many look better than they are:
    they are run again on fresh seeds, and that difference counts.

    Example: aqmlab tune examples/home-link.toml codel --over "target=1 ms..30 ms" --minimise "video p95"

    Example: aqmlab tune pi:ecn=true --over q_ref=5..300 --minimise p95 --load 98
    """
    from aqmlab.campaigns.search import plot as plots
    from aqmlab.campaigns.search.tuning import tune as search
    from aqmlab.ui import canvas, console

    check_figure(figure)
    check_table(table)
    spec, scheme = spec_and_scheme(given)
    experiment = experiment_of(spec, changes, load)
    tuned = search(
        scheme,
        over,
        minimise=minimise or (),
        maximise=maximise or (),
        experiment=experiment,
        trials=trials,
        seeds=read_seeds(seeds),
        confirm=confirm,
        out=out,
        workers=workers,
    )
    if figure is not None:
        with one_line_errors():
            canvas.write(figure, lambda canvas_figure: plots.search(canvas_figure, tuned))
        report_written(figure)
    write_table(tuned.trials, table)
    if as_json:
        print_json(tuned.record())
    else:
        report_testbed(experiment.testbed)
        console.show(tuned.sheet)
