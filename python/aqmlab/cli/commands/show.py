"""``aqmlab show``: drawing of the topology of a spec."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import Changes, Figure, Spec
from aqmlab.cli.output import check_figure, one_line_errors, print_json, report_testbed, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def show(
    spec: Spec,
    changes: Changes = None,
    figure: Figure = None,
    file: TableFile = None,
    out: Annotated[str, typer.Option(metavar="DIR|URL", help="Results directory with calibrations.")] = "results",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the resolved spec and the unwritten values as one JSON object.")
    ] = False,
) -> None:
    """Draw the topology of a spec, and list its unwritten values.

    The drawing has links, queues, senders with their paths, and the measurement window. Each unwritten value has its
    origin: a default, a testbed, a TCP profile, or other values of the spec.

    Example: aqmlab show examples/gfc2.toml --figure gfc2.svg
    """
    from aqmlab.cells import calibration_model
    from aqmlab.cells.cell import cells_of, with_number
    from aqmlab.spec.experiment import Experiment
    from aqmlab.spec.households import expansion
    from aqmlab.topology import drawing, plot, table
    from aqmlab.topology.network import topology
    from aqmlab.topology.origins import default_values
    from aqmlab.ui import console

    check_figure(figure)
    check_table(file)
    experiment = Experiment.from_toml(spec, changes=changes or ())
    calibrations = calibration_model.load_calibrations(out)
    (cell,) = cells_of(experiment, [1], calibrations)
    network = topology(experiment, cell.spec)
    # Households write the values of their sources.
    written = experiment if cell.households is None else expansion.expanded(with_number(experiment, calibrations)[0])
    defaults = default_values(written, cell.resolved)
    write_table(table.defaults_frame(defaults), file)
    if figure is not None:
        with one_line_errors():
            plot.save(figure, network, title=spec.stem)
        report_written(figure)
    if as_json:
        print_json({"spec": cell.resolved, "unwritten": [asdict(value) for value in defaults]})
    else:
        report_testbed(experiment.testbed)
        drawing.show(network, title=spec.stem)
        if cell.households is not None:
            added = len(cell.resolved["sources"]) - len(experiment.sources)
            print(
                f"Users: {cell.households} ({experiment.users.workload}), the web users and the first {added} sources."
            )
        print()
        console.show(table.defaults_table(defaults))
