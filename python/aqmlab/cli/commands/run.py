"""``aqmlab run``: a run of one experiment with one seed."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.draw import Draw, draw, parse_kinds
from aqmlab.cli.options import (
    Changes,
    Json,
    Out,
    PcapFile,
    PcapFor,
    PcapFrom,
    PcapPackets,
    Spec,
    Watch,
    WorldOverride,
    pcap_of,
)
from aqmlab.cli.output import print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.cli.watch import run_watched
from aqmlab.ui.messages import logger

app = App()


@app.command()
def run(
    spec: Spec,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="A program to run over the link, with --world kernel; it ends the run.",
            show_default=False,
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="The program's server, on the other side.", show_default=False),
    ] = None,
    changes: Changes = None,
    world: WorldOverride = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of all random draws.")] = 1,
    out: Out = "results",
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    draw_kinds: Draw = None,
    watch: Watch = False,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Run one experiment, or a program over its link.

    A program needs --world kernel. It starts with the measurement window; its environment has its server's address in
    AQMLAB_SERVER. The command has the program's exit code, or 124 if the window was too short. With --json its
    output goes to standard error.
    """
    from aqmlab._core import SpecError
    from aqmlab.cells import calibration_model
    from aqmlab.cells.cell import cells_of
    from aqmlab.live.run import run_command
    from aqmlab.results.comparison import Comparison
    from aqmlab.results.notes import notes
    from aqmlab.results.numbers import frame
    from aqmlab.running.process import STDERR, STDOUT
    from aqmlab.running.validation import check_seed
    from aqmlab.spec.experiment import Experiment

    check_table(table)
    kinds = parse_kinds(draw_kinds, as_json=as_json)
    experiment = Experiment.from_toml(spec, changes=[*(changes or ()), *([f"world={world}"] if world else ())])
    if experiment.variants:
        logger.info("variants of the spec are left out; to run them: aqmlab compare %s", spec)
    if server and not command:
        raise SpecError("--server: needs a command after --")
    if command and experiment.world != "kernel":
        in_real_time = f"aqmlab live {spec} -- {shlex.join(command)}"
        raise SpecError(f"{command[0]}: a command needs --world kernel; in real time: {in_real_time}")
    capture = pcap_of(pcap, pcap_from, pcap_for, pcap_packets)
    code = 0
    if command:
        if watch:
            raise SpecError("--watch: cannot be used with a command, whose output is shown")
        output = STDERR if as_json else STDOUT
        result, code = run_command(
            experiment, command, server=shlex.split(server or ""), seed=seed, out=out, pcap=capture, output=output
        )
    else:
        (cell,) = cells_of(experiment, [check_seed(seed)], calibration_model.load_calibrations(out))
        if watch:
            run_watched(str(cell), out, [cell])
        (result,) = run_cells([cell], out, workers=1, pcaps={cell.key: capture} if capture else {})
    write_table(frame.result_frame(result), table)
    if as_json:
        print_json({**result.record(), "notes": notes([result])})
    else:
        report_testbed(experiment.testbed)
        print(result)
        for note in notes([result]):
            print(f"  note:      {note}")
        if capture:
            print(f"  packets:   {capture.file}")
        draw(Comparison((result,)), kinds)
    if code:
        raise typer.Exit(code)
