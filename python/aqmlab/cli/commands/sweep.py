"""``aqmlab sweep``: a grid of experiments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.cells import interruptible
from aqmlab.cli.options import Json, Out, Seeds, Watch, Workers, read, read_seeds
from aqmlab.cli.output import one_line_errors, print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.cli.watch import run_watched
from aqmlab.ui.counts import pluralize

app = App()


@app.command()
def sweep(
    grid: Annotated[Path, typer.Argument(metavar="GRID.toml", help="An experiment with its axes.")],
    seeds: Seeds = "3",
    workers: Workers = None,
    out: Out = "results",
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run only the I-th of N parts, which are the same everywhere.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Fail a cell that takes longer.", show_default="none")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed cells again.")] = False,
    table: TableFile = None,
    print_sbatch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=100_000, help="Print a Slurm script of N shards instead of running."),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Show these numbers instead: p95, 'game one-way p99', 'loss reverse'."),
    ] = None,
    watch: Watch = False,
    as_json: Json = False,
) -> None:
    """Run the missing cells of a grid of experiments.

    The store records a failed cell, and the others continue; the exit code is then 1. After an interrupt the same
    command resumes.

    Example: aqmlab sweep examples/sweeps/targets.toml --seeds 5 --limit "10 min"
    """
    from aqmlab.campaigns.campaign import Campaign, Execution, plan, run, select_numbers
    from aqmlab.campaigns.grid import Grid
    from aqmlab.campaigns.shards import Shard, sbatch
    from aqmlab.cells import calibration_model
    from aqmlab.storage.location import location
    from aqmlab.ui import console

    with one_line_errors():
        limit_s = None if limit is None else read(limit, "--limit")
    check_table(table)
    if print_sbatch is not None:
        _check_can_be_a_job(shard=shard, table=table, watch=watch)
    parsed_shard = None if shard is None else Shard.parse(shard)
    execution = Execution(workers=workers, limit_s=limit_s, retry=retry)
    parsed_grid = Grid.from_toml(grid)
    planned_cells = plan(parsed_grid, read_seeds(seeds), calibration_model.load_calibrations(out), shard=parsed_shard)
    numbers = select_numbers([name.strip() for name in measures.split(",")] if measures else [], planned_cells)
    if print_sbatch is not None:
        print(sbatch(_argv_without("--print-sbatch"), print_sbatch), end="")
        return
    cells = [planned_cell.cell for planned_cell in planned_cells]
    if watch:
        run_watched(f"sweep of {pluralize(len(cells), 'cell')}", out, cells, grid=grid, seeds=read_seeds(seeds))
    campaign = Campaign(planned_cells, location(out), numbers)
    with interruptible(cells, out):
        run(campaign, execution, progress=True)
    write_table(campaign.cells, table)
    if as_json:
        failed = [vars(failure) for failure in campaign.failures]
        print_json({"points": campaign.means.to_dicts(), "failed": failed, "notes": campaign.notes})
    else:
        report_testbed(parsed_grid.experiment().testbed)
        console.show(campaign.means_table)
        for note in campaign.notes:
            print(note)
    if campaign.failures:
        raise typer.Exit(1)


def _check_can_be_a_job(*, shard: str | None, table: Path | None, watch: bool) -> None:
    """Refuse options that the jobs of an array cannot share."""
    if shard is not None:
        raise SpecError("--shard: cannot be with --print-sbatch, whose jobs are the shards")
    if table is not None:
        raise SpecError(f"--table: cannot be with --print-sbatch, whose jobs would all write {table}")
    if watch:
        raise SpecError("--watch: cannot be with --print-sbatch, whose jobs have no browser")


def _argv_without(option: str) -> list[str]:
    """Return the command as typed, without an option and its value."""
    argv = ["aqmlab", *sys.argv[1:]]
    index = next(position for position, word in enumerate(argv) if word.partition("=")[0] == option)
    return argv[:index] + argv[index + (1 if "=" in argv[index] else 2) :]
