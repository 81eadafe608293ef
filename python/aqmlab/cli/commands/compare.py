"""``aqmlab compare``: schemes side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.options import (
    Changes,
    DurationOverride,
    Json,
    Out,
    PcapFile,
    PcapFor,
    PcapFrom,
    PcapPackets,
    RttOverride,
    SeedsOverride,
    WarmupOverride,
    Watch,
    Workers,
    pcap_of,
    read_seeds,
    spec_or_papers,
)
from aqmlab.cli.output import check_directory, one_line_refusals, print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.cli.watch import run_watched
from aqmlab.ui.counts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aqmlab.cells.cell import Cell
    from aqmlab.results.compare import Comparison

app = App()

Baseline = Annotated[
    bool | None,
    typer.Option(
        "--baseline/--no-baseline",
        help="The same network with nothing in the way beside them.",
        show_default="unless a source takes whatever capacity there is",
    ),
]
Paired = Annotated[
    bool,
    typer.Option(
        "--paired",
        help="Differences from the first scheme, seed by seed, with 95 % intervals; * marks those that exclude 0.",
    ),
]


@app.command(options_metavar="[OPTIONS] [SPEC.toml]")
def compare(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="SCHEME",
            help="name or name:key=value,...; ecn=true (or ecn+, ...) sets the hosts' ECN; noecn has the queue drop and"
            " never mark; module:Class is a law of yours."
            " 'SCHEME + PATH=VALUE + ...' is a variant, with changes of the spec. Before them stands the experiment's"
            " file; without one the testbed is unc-2003. Without a scheme the file's variants are compared.",
        ),
    ],
    changes: Changes = None,
    load: Annotated[
        float | None,
        typer.Option(metavar="PCT", help="Load in percent.", show_default=spec_or_papers("users.load")),
    ] = None,
    users: Annotated[int | None, typer.Option(metavar="N", help="Users on each side, instead of a load.")] = None,
    rtt: RttOverride = None,
    warmup: WarmupOverride = None,
    duration: DurationOverride = None,
    seeds: SeedsOverride = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Go on to 5, 10, 20 or 40 seeds until it is known: 'p95 within 5 %', 'loss within 10 %'."
            " May be repeated.",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="And for no more than this processor time: '2 h'.")
    ] = None,
    baseline: Baseline = None,
    paired: Paired = False,
    workers: Workers = None,
    record: Annotated[str | None, typer.Option(metavar="exchanges", help="Keep a row for each request.")] = None,
    measures: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Show further numbers by name, such as p95, 'game one-way p99' or 'delay p99 reverse', and measures"
            " worked out on request: slowdown, page (load time), rpm (round trips a minute), outcome (for voice, games"
            " ...), jain (fairness), harm (against being alone), step (after a change of rate or load).",
        ),
    ] = None,
    table: TableFile = None,
    sd: Annotated[bool, typer.Option("--sd", help="Add the standard deviation over the seeds to --table.")] = False,
    out: Out = "results",
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of the figures.", show_default="OUT/figures")
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw none.")] = False,
    watch: Watch = False,
    as_json: Json = False,
) -> None:
    """Run schemes side by side under the same users.

    The uncongested network is there for scale. Without a spec the experiment is the testbed unc-2003, that of Le et al.
    (2003): web users of 2001 at 98 % load of 100 Mbit/s.

    Example: aqmlab compare --load 98 droptail:limit=240 pi:q_ref=24,ecn=true

    Example: aqmlab compare examples/home-link.toml fq_codel codel pie droptail
    """
    from aqmlab.cells import calibration_model
    from aqmlab.metrics.parts import Parts
    from aqmlab.results.cells import comparison_cells
    from aqmlab.results.compare import USUAL_SEEDS, Comparison
    from aqmlab.results.measures import check_cells, extra_cells, numbers, on_request
    from aqmlab.results.measures.table import Measured
    from aqmlab.results.numbers.table import Chosen
    from aqmlab.results.sequential import StoppingRule
    from aqmlab.running.pcap import capture_paths
    from aqmlab.spec.experiment import Experiment
    from aqmlab.storage.location import location
    from aqmlab.storage.marker import folder_for_users
    from aqmlab.ui import console

    if record not in (None, "exchanges"):
        raise SpecError(f"--record: the table to be had is exchanges, got {record!r}")
    if load is not None and users is not None:
        raise SpecError("--load: cannot be with --users")
    if figures is not None and no_figures:
        raise SpecError("--no-figures: cannot be with --figures")
    if sd and table is None:
        raise SpecError("--sd: adds a column to --table, which is not given")
    check_table(table)
    filenames = [name.strip() for name in measures.split(",")] if measures else []
    asked = on_request(filenames)
    options = {
        "users.load": load,
        "users.per_side": users,
        "users.rtt": rtt,
        "protocol.warmup": warmup,
        "protocol.duration": duration,
        "record.exchanges": (record is not None or any(each.needs_exchanges for each in asked.values())) or None,
    }
    named = [f"{path}={json.dumps(value)}" for path, value in options.items() if value is not None]
    file, schemes = _spec_and_schemes(given)
    experiment = Experiment.from_toml(file, changes=[*named, *(changes or ())])
    schemes = schemes or list(experiment.variants)
    if not schemes:
        raise SpecError("SCHEME: write at least one, such as fq_codel; aqmlab aqm list names them")
    calibrations = calibration_model.known(out)

    def cells_of(seeds: Sequence[int]) -> list[Cell]:
        return comparison_cells(schemes, experiment, seeds, calibrations, baseline=baseline, paired=paired)

    cells = cells_of(USUAL_SEEDS if seeds is None else read_seeds(seeds))
    parts = Parts.of_cells(cells)
    stopping_rule = StoppingRule.read(until or (), budget, lambda: parts, seeds=seeds, pcap=pcap)
    chosen = numbers(filenames, parts)
    check_cells(asked, cells)
    if figures is not None:
        check_directory("--figures", figures)
    capture = pcap_of(pcap, pcap_from, pcap_for, pcap_packets)
    pcaps = capture_paths(capture, cells) if capture else {}
    if watch:
        run_watched(" ".join(schemes), out, cells)
    if stopping_rule is None:
        comparison = Comparison(tuple(run_cells(cells, out, workers, pcaps)), paired=paired)
    else:
        results, stop = stopping_rule.run(cells_of, lambda cells: run_cells(cells, out, workers))
        comparison = Comparison(tuple(results), paired=paired, stop=stop)
    if beside := extra_cells(asked, [result.cell for result in comparison.results]):
        run_cells(beside, out, workers)
    number = len({result.cell.seed for result in comparison.results})
    repetitions = counted(number, "seed")
    title = f"{cells[0].describe_users()}, {experiment.protocol.warmup} + {experiment.protocol.duration}, {repetitions}"
    write_table(comparison.frame(*(each.name for each in chosen), sd=sd), table)
    files = []
    if not no_figures:
        if figures is None:
            figures = folder_for_users(location(out), "figures")
        files = _response_time_figures(comparison, figures, title)
    if as_json:
        stopped = {} if comparison.stop is None else {"until": comparison.stop.record()}
        checks = [check.record() for check in comparison.checks]
        extra: dict[str, Any] = {"measures": comparison.measured(*asked)} if asked else {}
        if chosen:
            extra["numbers"] = comparison.frame(*(each.name for each in chosen)).to_dicts()
        print_json({"cells": comparison.cells, "schemes": comparison.schemes, "checks": checks} | stopped | extra)
    else:
        report_testbed(experiment.testbed)
        print(title)
        console.show(comparison.tables)
        if chosen:
            console.show(Chosen(comparison.frame(*(each.name for each in chosen)), chosen))
        if asked:
            print()
            console.show(Measured(comparison.measured(*asked)))
        for each in (*files, *(pcap.file for pcap in pcaps.values())):
            print(each)


def _spec_and_schemes(given: list[str]) -> tuple[str | None, list[str]]:
    """Tell the experiment's file, if one is named, from the schemes."""
    specs = [text for text in given if text.endswith(".toml") and (not re.search("[:+]", text) or Path(text).is_file())]
    schemes = [text for text in given if text not in specs]
    if len(specs) > 1:
        raise SpecError(f"SPEC.toml: write at most one, got {', '.join(specs)}")
    return (specs[0] if specs else None), schemes


def _response_time_figures(comparison: Comparison, directory: Path, title: str) -> list[Path]:
    """Draw them under a name that says what is compared, so that another comparison does not replace them."""
    from aqmlab import plot
    from aqmlab.cli import filenames
    from aqmlab.ui import canvas

    curves = comparison.response_times()
    bands = comparison.response_time_differences()
    name = filenames.figure_names([result.cell for result in comparison.results])
    with one_line_refusals():
        draw: dict[str, Callable[[Axes], Axes]] = {
            "cdf": lambda axis: canvas.name_from_top(plot.cdf(curves, axis)),
            "ccdf": lambda axis: canvas.name_from_top(plot.ccdf(curves, axis)),
        }
        if bands:
            draw["difference"] = lambda axis: canvas.name_from_top(plot.difference(bands, axis, to=comparison.first))
        return [
            file
            for kind, figure in draw.items()
            for file in canvas.save(directory / f"response-times-{kind}_{name}", figure, title=title)
        ]
