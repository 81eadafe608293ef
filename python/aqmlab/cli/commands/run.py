"""``aqmlab run``: a run of one experiment with one seed."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
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
    changes: Changes = None,
    world: WorldOverride = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of all random draws.")] = 1,
    out: Out = "results",
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    watch: Watch = False,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Run one experiment with one seed."""
    from aqmlab.cells import calibration_model
    from aqmlab.cells.cell import cells_of
    from aqmlab.results.notes import notes
    from aqmlab.results.numbers import frame
    from aqmlab.running.validation import check_seed
    from aqmlab.spec.experiment import Experiment

    check_table(table)
    experiment = Experiment.from_toml(spec, changes=[*(changes or ()), *([f"world={world}"] if world else ())])
    if experiment.variants:
        logger.info("variants of the spec are left out; to run them: aqmlab compare %s", spec)
    (cell,) = cells_of(experiment, [check_seed(seed)], calibration_model.load_calibrations(out))
    capture = pcap_of(pcap, pcap_from, pcap_for, pcap_packets)
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
