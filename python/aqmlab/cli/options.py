"""Options that several commands share: names, help texts and parsers."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aqmlab._core import SpecError, seconds
from aqmlab.cli.output import one_line_errors
from aqmlab.spec import schema, testbeds
from aqmlab.spec.households import data as households

if TYPE_CHECKING:
    from aqmlab.running.pcap import Pcap
    from aqmlab.spec.experiment import Experiment


def _spec_option(path: str, metavar: str) -> dict[str, Any]:
    """Return the settings of an option for a key of the spec."""
    return {"metavar": metavar, "help": schema.meaning(path).replace("`", "")}


def _table(path: str) -> dict[str, Any]:
    option = _spec_option(path, "NAME|FILE")
    names = ", ".join([*schema.names(path), *(households.NAMES if path == "users.workload" else ())])
    return {**option, "help": f"{option['help']} Write {names}, or a TOML or JSON file with a table of your own."}


def spec_or_papers(path: str) -> str:
    """Return the default of an option in words: the spec's value, or without a spec that of the papers' testbed."""
    return f"the spec's, or without one {testbeds.papers_testbed(path)}"


_RTT = {
    **_table("users.rtt"),
    "metavar": "TIME|NAME|FILE",
    "help": "Round-trip times without queueing: '20 ms', '10..80 ms', "
    f"{' or '.join(schema.names('users.rtt'))}, or a TOML or JSON file with a table of your own.",
}
_WARMUP = _spec_option("protocol.warmup", "TIME")
_DURATION = _spec_option("protocol.duration", "TIME")

Rtt = Annotated[str, typer.Option(**_RTT)]
Warmup = Annotated[str, typer.Option(**_WARMUP)]
Duration = Annotated[str, typer.Option(**_DURATION)]
RttOverride = Annotated[str | None, typer.Option(**_RTT, show_default=spec_or_papers("users.rtt"))]
WarmupOverride = Annotated[str | None, typer.Option(**_WARMUP, show_default=spec_or_papers("protocol.warmup"))]
DurationOverride = Annotated[str | None, typer.Option(**_DURATION, show_default=spec_or_papers("protocol.duration"))]
Workload = Annotated[str, typer.Option(**_table("users.workload"))]
Seeds = Annotated[str, typer.Option(metavar="N|N-M", help="Repetitions: seeds 1 to N, or N to M.")]
SeedsOverride = Annotated[
    str | None, typer.Option(metavar="N|N-M", help="Repetitions: seeds 1 to N, or N to M.", show_default="3")
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=1000, help="Run this many cells at a time.", show_default="one per processor"),
]


class World(StrEnum):
    """The world of a run."""

    SIMULATED = "simulated"
    KERNEL = "kernel"


class AnyWorld(StrEnum):
    """The world of a run that can also be live."""

    SIMULATED = "simulated"
    KERNEL = "kernel"
    LIVE = "live"


WorldOverride = Annotated[
    World | None,
    typer.Option(
        help="Where the hosts are: in the simulator, or in a Linux kernel in virtual time, whose TCP they use.",
        show_default="the spec's, or simulated",
    ),
]
Out = Annotated[
    str, typer.Option(metavar="DIR|URL", help="Results directory, or s3://...; stored cells are not run again.")
]
Directory = Annotated[str, typer.Argument(metavar="[DIR]", help="The results directory, or its URL.")]
LocalDirectory = Annotated[str, typer.Argument(metavar="[DIR]", help="The results directory, on this machine.")]
Spec = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value: users.load=90, sources[0].bulk.flows=5. Of mutually exclusive keys the new one replaces"
        " the old one: queue.pi.q_ref=24 makes the discipline PI. May be repeated.",
    ),
]
Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure: SVG, PNG or PDF.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show the run in a browser, until Ctrl-C.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
PcapFile = Annotated[
    Path | None, typer.Option("--pcap", metavar="FILE", help="Capture the packets of both queues as pcapng.")
]
PcapFrom = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Begin the capture at this simulated time.",
        show_default="the start of the measurement window",
    ),
]
PcapFor = Annotated[
    str | None, typer.Option(metavar="TIME", help="Capture for this long.", show_default="to the end of the run")
]
PcapPackets = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Capture at most this many packets.", show_default="100000")
]

Load = Annotated[
    float | None, typer.Option(metavar="PCT", help="Load in percent.", show_default="the spec's, or that of compare")
]
SpecAndScheme = Annotated[
    list[str],
    typer.Argument(
        metavar="[SPEC.toml] SCHEME",
        help="The experiment, by default the testbed unc-2003; and the scheme or variant to vary.",
    ),
]
SamplesOption = Annotated[
    str,
    typer.Option(
        metavar="RANGES",
        help="Parameters to vary: q_ref=5..300,target=1 ms..50 ms; a name without a range varies around its default.",
    ),
]


def read(text: str, option: str, unit: Callable[[str], float] = seconds) -> float:
    """Parse a quantity; an error begins with the option's name."""
    try:
        return unit(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def read_seeds(text: str) -> range:
    """Parse ``--seeds``."""
    from aqmlab.running import validation

    return validation.read_seeds(text)


def pcap_of(file: Path | None, from_: str | None, for_: str | None, packets: int | None) -> Pcap | None:
    """Return the packet capture of the options, if any."""
    values = {"--pcap-from": from_, "--pcap-for": for_, "--pcap-packets": packets}
    if file is None:
        for option, value in values.items():
            if value is not None:
                raise SpecError(f"{option}: needs --pcap, which is not given, got {value}")
        return None
    from aqmlab.running.pcap import Pcap

    with one_line_errors():
        from_s = None if from_ is None else read(from_, "--pcap-from")
        for_s = None if for_ is None else read(for_, "--pcap-for")
    return Pcap(file=file, **without_none(from_s=from_s, for_s=for_s, packets=packets))


def without_none(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not ``None``."""
    return {name: value for name, value in values.items() if value is not None}


def spec_and_schemes(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Return the file of the experiment, if one is named, and the schemes."""
    specs = [
        text for text in arguments if text.endswith(".toml") and (not re.search("[:+]", text) or Path(text).is_file())
    ]
    if len(specs) > 1:
        raise SpecError(f"SPEC.toml: write at most one, got {', '.join(specs)}")
    return (specs[0] if specs else None), [text for text in arguments if text not in specs]


def spec_and_scheme(arguments: list[str]) -> tuple[str | None, str]:
    """Return the file of the experiment, if one is named, and the only scheme."""
    spec, schemes = spec_and_schemes(arguments)
    if len(schemes) != 1:
        raise SpecError(f"SCHEME: write one, such as pi:ecn=true, got {' '.join(schemes) or 'none'}")
    return spec, schemes[0]


def experiment_of(spec: str | None, changes: list[str] | None, load: float | None) -> Experiment:
    """Return the experiment of a search."""
    from aqmlab.spec.experiment import Experiment

    if load is not None and not load > 0:
        raise SpecError(f"--load: must be above 0, got {load:g}")
    load_change = [] if load is None else [f"users.load={load:g}"]
    return Experiment.from_toml(spec, changes=[*load_change, *(changes or ())])
