"""``aqmlab conversation``: the connections of an experiment in two worlds, segment by segment."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Changes, Json, Spec
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def conversation(
    spec: Spec,
    changes: Changes = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of all random draws.")] = 1,
    connection: Annotated[
        int | None,
        typer.Option(metavar="N", help="Show the segments of this connection; by default of the first that differs."),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Show the first difference of this kind: content, time or window.")
    ] = "content",
    context: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show this many segments before and after the difference.")
    ] = 6,
    tolerance_us: Annotated[
        float,
        typer.Option("--tolerance-us", metavar="US", min=0, help="Treat times this close as equal, in microseconds."),
    ] = 0,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compare TCP in the simulator and in Linux, by segment.

    Both worlds run the experiment and capture its packets. For each connection the table has the first segment that
    differs, in content, time and receive window, and then the segments of both worlds around it.

    Example: aqmlab conversation examples/home-link.toml --set sources[0].on_off.flows=1
    """
    from aqmlab.conversations import compare_worlds
    from aqmlab.conversations import table as tables
    from aqmlab.running.validation import check_seed
    from aqmlab.spec.experiment import Experiment
    from aqmlab.ui import console

    check_table(file)
    if kind not in tables.KINDS:
        raise SpecError(f"--kind: must be one of {', '.join(tables.KINDS)}, got {kind}")
    experiment = Experiment.from_toml(spec, changes=changes or ())
    found = compare_worlds(experiment, seed=check_seed(seed), tolerance_ns=round(tolerance_us * 1000))
    if not found:
        raise SpecError("conversation: expected at least one TCP connection in both worlds, got none")
    if connection is not None and not 0 <= connection < len(found):
        raise SpecError(f"--connection: must be from 0 to {len(found) - 1}, got {connection}")
    write_table(tables.frame(found), file)
    if as_json:
        print_json({"connections": [tables.record(comparison) for comparison in found]})
        return
    console.show(tables.table(found))
    differing = (number for number, each in enumerate(found) if getattr(each.differences, kind) is not None)
    shown = connection if connection is not None else next(differing, None)
    if shown is not None:
        print(f"connection {shown}, first difference in {kind}:")
        for line in tables.excerpt(found[shown], kind, context):
            print(line)
