"""``aqmlab compare``: comparison of schemes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.draw import Draw, draw, parse_kinds
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
    WorldOverride,
    pcap_of,
    read_seeds,
    spec_and_schemes,
    spec_or_papers,
)
from aqmlab.cli.output import check_directory, one_line_errors, print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.cli.watch import run_watched
from aqmlab.ui.counts import pluralize

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aqmlab.cells.cell import Cell
    from aqmlab.results.comparison import Comparison

app = App()

Baseline = Annotated[
    bool | None,
    typer.Option(
        "--baseline/--no-baseline",
        help="Also run the uncongested network.",
        show_default="unless a source takes any capacity",
    ),
]
Paired = Annotated[
    bool,
    typer.Option(
        "--paired",
        help="Show paired differences from the first scheme with 95 % intervals; * marks those that exclude 0.",
    ),
]


@app.command(options_metavar="[OPTIONS] [SPEC.toml]")
def compare(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="SCHEME",
            help="name or name:key=value,... ecn=true (or ecn+, ...) sets the hosts' ECN. noecn makes the queue drop"
            " instead of mark. module:Class is a custom law."
            " 'SCHEME + PATH=VALUE + ...' is a variant, with changes of the spec. SPEC.toml is the experiment; without"
            " it the testbed is unc-2003. Without schemes the variants of SPEC.toml are compared.",
        ),
    ],
    changes: Changes = None,
    tc: Annotated[
        list[str] | None,
        typer.Option(
            "--tc",
            metavar="LINE",
            help="A scheme in the words of Linux's tc, also as tc qdisc show prints it: 'fq_codel limit 1000'."
            " Or the path of OpenWrt's /etc/config/sqm."
            " May be repeated.",
        ),
    ] = None,
    world: WorldOverride = None,
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
            help="Add seeds (5, 10, 20, 40) until the estimate is this precise: 'p95 within 5 %', 'loss within 10 %'."
            " May be repeated.",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop --until after this much processor time: '2 h'.")
    ] = None,
    baseline: Baseline = None,
    paired: Paired = False,
    workers: Workers = None,
    record: Annotated[str | None, typer.Option(metavar="exchanges", help="Record a row for each request.")] = None,
    measures: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Show further numbers by name, such as p95, 'game one-way p99' or 'delay p99 reverse'. Measures"
            " computed on request: slowdown, page (load time), rpm (round trips per minute), outcome (for voice, games"
            " ...), jain (fairness), harm (relative to solo runs), step (after a change of rate or load).",
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
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw no figures.")] = False,
    draw_kinds: Draw = None,
    watch: Watch = False,
    as_json: Json = False,
) -> None:
    """Compare schemes under the same users.

    The uncongested network is the baseline. Without a spec the experiment is the testbed unc-2003, that of Le et al.
    (2003): web users of 2001 at 98 % load of 100 Mbit/s.

    Example: aqmlab compare --load 98 droptail:limit=240 pi:q_ref=24,ecn=true

    Example: aqmlab compare examples/home-link.toml fq_codel codel pie droptail

    Example: aqmlab compare examples/home-link.toml --tc "cake bandwidth 20mbit diffserv4" --tc "fq_codel limit 1000"
    """
    from aqmlab.results.compare import plan
    from aqmlab.results.measures import check_cells, extra_cells, numbers, on_request
    from aqmlab.results.measures.table import MeasuredTables
    from aqmlab.results.numbers.table import NumberTables
    from aqmlab.spec import overrides, quantities
    from aqmlab.spec.experiment import Experiment
    from aqmlab.storage.location import location
    from aqmlab.storage.marker import folder_for_users
    from aqmlab.tc import line
    from aqmlab.ui import console

    if record not in (None, "exchanges"):
        raise SpecError(f"--record: must be exchanges, got {record!r}")
    if load is not None and users is not None:
        raise SpecError("--load: cannot be with --users")
    if figures is not None and no_figures:
        raise SpecError("--no-figures: cannot be with --figures")
    if sd and table is None:
        raise SpecError("--sd: adds a column to --table, which is not given")
    check_table(table)
    kinds = parse_kinds(draw_kinds, as_json=as_json)
    names = [name.strip() for name in measures.split(",")] if measures else []
    requested_measures = on_request(names)
    options = {
        "world": world,
        "users.load": load,
        "users.per_side": users,
        "users.rtt": None if rtt is None else quantities.users_rtt(rtt),
        "protocol.warmup": warmup,
        "protocol.duration": duration,
        "record.exchanges": (
            record is not None or any(number.needs_exchanges for number in requested_measures.values())
        )
        or None,
    }
    option_changes = [overrides.assignment(path, value) for path, value in options.items() if value is not None]
    file, schemes = spec_and_schemes(given)
    schemes += [line.scheme(text) for text in tc or ()]
    experiment = Experiment.from_toml(file, changes=[*option_changes, *(changes or ())])
    comparison_plan = plan(
        schemes,
        experiment,
        seeds=None if seeds is None else list(read_seeds(seeds)),
        until=until or (),
        budget=budget,
        baseline=baseline,
        paired=paired,
        out=out,
        pcap=pcap_of(pcap, pcap_from, pcap_for, pcap_packets),
    )
    chosen_numbers = numbers(names, comparison_plan.parts)
    check_cells(requested_measures, comparison_plan.cells)
    if figures is not None:
        check_directory("--figures", figures)
    if watch:
        run_watched(" ".join(schemes or experiment.variants), out, comparison_plan.cells)
    comparison = comparison_plan.run(lambda cells, pcaps: run_cells(cells, out, workers, pcaps))
    if cells_on_request := extra_cells(requested_measures, [result.cell for result in comparison.results]):
        run_cells(cells_on_request, out, workers)
    repetitions = pluralize(len({result.cell.seed for result in comparison.results}), "seed")
    protocol = experiment.protocol
    title = f"{comparison_plan.cells[0].describe_users()}, {protocol.warmup} + {protocol.duration}, {repetitions}"
    write_table(comparison.frame(*(number.name for number in chosen_numbers), sd=sd), table)
    files = []
    if not no_figures:
        if figures is None:
            figures = folder_for_users(location(out), "figures")
        files = _response_time_figures(comparison, figures, title)
    if as_json:
        stop_record = {} if comparison.stop is None else {"until": comparison.stop.record()}
        checks = [check.record() for check in comparison.checks]
        extra: dict[str, Any] = {"measures": comparison.measured(*requested_measures)} if requested_measures else {}
        if chosen_numbers:
            extra["numbers"] = comparison.frame(*(number.name for number in chosen_numbers)).to_dicts()
        print_json({"cells": comparison.cells, "schemes": comparison.schemes, "checks": checks} | stop_record | extra)
    else:
        report_testbed(experiment.testbed)
        print(title)
        console.show(comparison.tables)
        if chosen_numbers:
            console.show(NumberTables(comparison.frame(*(number.name for number in chosen_numbers)), chosen_numbers))
        if requested_measures:
            print()
            console.show(MeasuredTables(comparison.measured(*requested_measures)))
        draw(comparison, kinds)
        for number in (*files, *(pcap.file for pcap in comparison_plan.pcaps.values())):
            print(number)


def _response_time_figures(comparison: Comparison, directory: Path, title: str) -> list[Path]:
    """Draw the figures, under a name of the comparison, so that another comparison does not replace them."""
    from aqmlab import plot
    from aqmlab.ui import canvas

    curves = comparison.response_times()
    bands = comparison.response_time_differences()
    name = _figure_name([result.cell for result in comparison.results])
    with one_line_errors():
        draw: dict[str, Callable[[Axes], Axes]] = {
            "cdf": lambda axis: canvas.label_lines(plot.cdf(curves, axis)),
            "ccdf": lambda axis: canvas.label_lines(plot.ccdf(curves, axis)),
        }
        if bands:
            draw["difference"] = lambda axis: canvas.label_lines(plot.difference(bands, axis, to=comparison.first))
        return [
            file
            for kind, figure in draw.items()
            for file in canvas.save(directory / f"response-times-{kind}_{name}", figure, title=title)
        ]


_MAX_SCHEMES_LENGTH = 80
"""The largest number of characters of the schemes in a file name, which must be shorter than 255 bytes in all."""


def _figure_name(cells: Sequence[Cell]) -> str:
    """Return the name of a comparison: its schemes, its users, and a hash of all cells."""
    labels = dict.fromkeys(cell.label for cell in cells if cell.signal != "none")
    schemes = re.sub(r"[^\w.=+]+", "-", "_".join(labels), flags=re.ASCII)[:_MAX_SCHEMES_LENGTH].strip("-_")
    load, users = cells[0].load_percent, cells[0].users_per_side
    users_text = f"{users}-users" if load is None else f"{load:.3g}-percent"
    identity = "\n".join(f"{cell.label} {cell.key}" for cell in cells)
    return f"{schemes}_{users_text}_{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
