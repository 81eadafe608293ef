"""``aqmlab calibrate``: measurement of the users for a load."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.options import Duration, Json, Out, Rtt, Seeds, Warmup, Workers, Workload, read_seeds
from aqmlab.cli.output import print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.spec import schema, testbeds

app = App()

_WARMUP, _DURATION = testbeds.papers_testbed("protocol.warmup"), testbeds.papers_testbed("protocol.duration")


@app.command()
def calibrate(
    rtt: Rtt = schema.default("users.rtt"),
    workload: Workload = schema.default("users.workload"),
    sides: Annotated[
        int | None,
        typer.Option(
            min=1, max=2, help="The number of sides of the link with users.", show_default="2; 1 for households"
        ),
    ] = None,
    hour: Annotated[
        int | None,
        typer.Option(
            min=0, max=23, metavar="HOUR", help="The hour of the day, of households alone.", show_default="20"
        ),
    ] = None,
    most_users: Annotated[
        int, typer.Option(metavar="N", min=5, max=5_000_000, help="Measure up to this many users on each side.")
    ] = 17_500,
    warmup: Warmup = _WARMUP,
    duration: Duration = _DURATION,
    seeds: Seeds = "1",
    workers: Workers = None,
    out: Out = "results",
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Measure the number of users for each load.

    The hosts are those of the testbed unc-2003, and linux-6 where users load pages of today, as those of web-2024 and
    household-2024 do.
    Later runs with the same results directory use the calibration.
    """
    from aqmlab.calibration import plot
    from aqmlab.calibration import table as tables
    from aqmlab.calibration.measure import calibration_cells, fit_calibration, user_counts
    from aqmlab.cells import calibration_model
    from aqmlab.spec import quantities
    from aqmlab.spec.experiment import Experiment
    from aqmlab.spec.users import load_pages_of_today
    from aqmlab.storage.location import location
    from aqmlab.storage.marker import folder_for_users
    from aqmlab.ui import canvas, console

    check_table(table)
    # Check that the stored calibrations can be read, before hours of runs.
    calibration_model.load_calibrations(out)
    users: dict[str, Any] = {"rtt": quantities.users_rtt(rtt), "workload": workload, "sides": sides, "hour": hour}
    parts: dict[str, Any] = {
        "users": {key: value for key, value in users.items() if value is not None},
        "protocol": {"warmup": warmup, "duration": duration},
    }
    experiment = Experiment(testbed=testbeds.PAPERS, **parts)
    if load_pages_of_today(experiment.users.workload):
        # With the small windows of 2001 such pages take four times as long, so that users make a fifth less traffic.
        experiment = Experiment(**parts)
    counts = user_counts(most_users)
    cells = calibration_cells(experiment, read_seeds(seeds), counts)
    line = fit_calibration(experiment, run_cells(cells, out, workers), counts)
    results = location(out)
    file = calibration_model.store(line, results)
    slope = f"{1000 * line.mbps_per_user:.3f} kbit/s a user, R² = {line.r_squared:.5f}"
    one_sided = line.sides == 1
    title = f"Uncongested network, {line.rtt} RTT{', users on one side' if one_sided else ''}: {slope}"
    figures = canvas.save(
        folder_for_users(results) / f"calibration-{line.rtt}{'-one-sided' if one_sided else ''}",
        lambda axis: plot.line(axis, line),
        title=title,
    )
    report = calibration_model.report(line)
    write_table(tables.frame(report), table)
    if as_json:
        print_json(report)
    else:
        report_testbed(experiment.testbed)
        print(title)
        console.show(tables.users(report))
        print(file, *figures, sep="\n")
