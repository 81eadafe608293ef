"""``aqmlab tune``: which settings of a discipline serve best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Changes, Figure, Json, Out, Seeds, Workers, read_seeds
from aqmlab.cli.output import check_figure, one_line_refusals, print_json, tell_written

if TYPE_CHECKING:
    from aqmlab.spec.experiment import Experiment

app = App()

Load = Annotated[
    float | None, typer.Option(metavar="PCT", help="Load in percent.", show_default="the spec's, or that of compare")
]
SpecFile = Annotated[Path | None, typer.Option("--spec", metavar="SPEC.toml", help="The experiment.")]
Scheme = Annotated[str, typer.Argument(metavar="SCHEME", help="The discipline, with what is not varied.")]
Over = Annotated[
    str,
    typer.Option(
        metavar="RANGES",
        help="What is varied: q_ref=5..300,target=1 ms..50 ms; a name alone is varied around its default.",
    ),
]


@app.command()
def tune(
    scheme: Scheme,
    over: Over,
    minimise: Annotated[
        list[str] | None, typer.Option(metavar="WHAT", help="An objective, such as p95; may be repeated.")
    ] = None,
    maximise: Annotated[
        list[str] | None, typer.Option(metavar="WHAT", help="Another, such as throughput; may be repeated.")
    ] = None,
    spec: SpecFile = None,
    changes: Changes = None,
    load: Load = None,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Settings tried.")] = 40,
    seeds: Seeds = "3",
    confirm: Annotated[int, typer.Option(metavar="K", min=0, help="Of the best, run again on fresh seeds.")] = 3,
    workers: Workers = None,
    out: Out = "results",
    plot: Figure = None,
    as_json: Json = False,
) -> None:
    """Search the settings of a discipline that serve best.

    Each setting is held against the scheme as given, under the same users. The best of many look better than they are:
    they are run again on fresh seeds, and that difference counts.

    What may be asked for: mean, p50, p90, p95, p99 of response times, delay, delay p99, loss, throughput, completed,
    within 500 ms.

    Example: aqmlab tune pi:ecn=true --over q_ref=5..300 --minimise p95 --load 98
    """
    from aqmlab.campaigns.search import plot as plots
    from aqmlab.campaigns.search.table import of_tuned
    from aqmlab.campaigns.search.tuning import tune as search
    from aqmlab.show import canvas, console

    check_figure(plot)
    tuned = search(
        scheme,
        over,
        minimise=minimise or (),
        maximise=maximise or (),
        experiment=experiment_of(spec, changes, load),
        trials=trials,
        seeds=read_seeds(seeds),
        confirm=confirm,
        out=out,
        workers=workers,
    )
    if plot is not None:
        with one_line_refusals():
            canvas.write(plot, lambda figure: plots.search(figure, tuned))
        tell_written(plot)
    if as_json:
        print_json(tuned.record())
    else:
        console.show(of_tuned(tuned))


def experiment_of(spec: Path | None, changes: list[str] | None, load: float | None) -> Experiment:
    """Read the experiment that settings are tried in."""
    from aqmlab.spec.experiment import Experiment

    if load is not None and not load > 0:
        raise SpecError(f"--load: must be above 0, got {load:g}")
    named = [] if load is None else [f"users.load={load:g}"]
    return Experiment.from_toml(spec, changes=[*named, *(changes or ())])
