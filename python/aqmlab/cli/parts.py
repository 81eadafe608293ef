"""What the commands of the command line have in common: options, units, refusals, the run of many cells.

Modules of the command line import what takes long, which is most of the package, inside the commands that need it, so
that help and completion of a command line do not wait for it.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aqmlab._core import SpecError
from aqmlab.show import messages
from aqmlab.spec.units import seconds

if TYPE_CHECKING:
    from aqmlab.results.result import Result
    from aqmlab.running.cell import Cell
    from aqmlab.running.pcap import Pcap

Workers = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=1000, help="Cells run at a time.", show_default="one a processor")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Results directory; cells it has are not run again.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Seeds = Annotated[str, typer.Option(metavar="N|N-M", help="Repetitions: seeds 1 to N, or N to M.")]
RTT_HELP = "Round-trip times: uniform (10 to 150 ms), general, general-moderate, or a TOML or JSON file with yours."
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value: users.load=90, sources[0].bulk.flows=5. Where one of several may stand, another takes its"
        " place: queue.pi.q_ref=24 makes the discipline PI. May be repeated.",
    ),
]
PcapFile = Annotated[
    Path | None, typer.Option("--pcap", metavar="FILE", help="Capture the packets of both queues as pcapng.")
]
PcapFrom = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Simulated time from which on.", show_default="the measured window's start"),
]
PcapFor = Annotated[
    str | None, typer.Option(metavar="TIME", help="And for how long.", show_default="to the end of the run")
]
PcapPackets = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="And at most so many packets.", show_default="100000")
]

_MESSAGES = "Messages"
_Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors.", rich_help_panel=_MESSAGES)]
_Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say more: a line for each cell.", rich_help_panel=_MESSAGES)
]
_Log = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write all of this, with times, to a file's end.", rich_help_panel=_MESSAGES),
]

_MOST_SEEDS = 1000


class Interrupted(Exception):
    """A command was interrupted: what is kept, in one line."""


class App(typer.Typer):
    """Commands, each of which can be told how much to say: ``--quiet``, ``--verbose``, ``--log``."""

    def __init__(self, **settings: Any) -> None:
        names = {"help_option_names": ["-h", "--help"]}
        # Plain help is there in half the time, fits 80 columns, and takes a bracket in a text for a bracket.
        super().__init__(
            no_args_is_help=True,
            context_settings=names,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            **settings,
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Register a command with the options for messages."""
        register = super().command(name, **settings)
        return lambda function: register(_with_messages(function))


def _with_messages(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def command(*, quiet: bool, verbose: bool, log: Path | None, **arguments: Any) -> None:
        messages.choose(quiet=quiet, verbose=verbose, log=log)
        function(**arguments)

    options = (("quiet", False, _Quiet), ("verbose", False, _Verbose), ("log", None, _Log))
    signature = inspect.signature(function, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in options
    ]
    command.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    command.__annotations__ = {**function.__annotations__, **{name: annotation for name, _, annotation in options}}
    return command


def read(text: str, option: str, unit: Callable[[str], float] = seconds) -> float:
    """Read a quantity; what is wrong with it is said with the option's name."""
    try:
        return unit(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def read_seeds(text: str) -> range:
    """Read ``3`` as the seeds 1 to 3, and ``4-6`` or ``4:6`` as 4 to 6."""
    parts = re.fullmatch(r"(?:(\d+)\s*(?:-|:|to)\s*)?(\d+)", text.strip(), re.ASCII)
    if parts is not None:
        first, last = int(parts[1] or 1), int(parts[2])
        if first <= last < min(first + _MOST_SEEDS, 2**64):
            return range(first, last + 1)
    raise SpecError(
        f"--seeds: must be a number of seeds from 1 to {_MOST_SEEDS}, or the first and the last as in 4-6, got {text!r}"
    )


@contextmanager
def one_line_refusals() -> Iterator[None]:
    """Turn what a user can mend into one line."""
    try:
        yield
    except ValueError as error:
        raise SpecError(str(error)) from None
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None


def check_directory(option: str, directory: Path) -> None:
    """Make a directory: what is wrong with it is to be known before hours of experiments.

    Raises
    ------
    SpecError
        When it cannot be written to.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise SpecError(f"{option}: must be a directory to write to, got {directory} ({error.strerror})") from None


def run_cells(
    cells: Sequence[Cell], out: Path, workers: int | None, pcaps: Mapping[str, Pcap] | None = None
) -> list[Result]:
    """Run cells and show how far they are; an interrupt says what is kept."""
    from aqmlab.running.progress import SweepProgress
    from aqmlab.running.store import Store
    from aqmlab.running.sweep import sweep

    store = Store(out)
    pcaps = pcaps or {}
    try:
        with SweepProgress(cells, store, captured=pcaps) as watch:
            return sweep(cells, store, workers=workers, watch=watch, pcaps=pcaps)
    except KeyboardInterrupt as interrupt:
        for call in getattr(interrupt, "__notes__", ()):
            messages.logger.error(call)
        distinct = {cell.key: cell for cell in cells}.values()
        kept = sum(store.get(cell) is not None for cell in distinct)
        what = f"interrupted; {kept} of {len(distinct)} cells are in the store, run again to go on"
        raise Interrupted(what) from None


def pcap_asked_for(file: Path | None, from_: str | None, for_: str | None, packets: int | None) -> Pcap | None:
    """Read what the options say about a packet capture."""
    given = {"--pcap-from": from_, "--pcap-for": for_, "--pcap-packets": packets}
    if file is None:
        for option, value in given.items():
            if value is not None:
                raise SpecError(f"{option}: is about --pcap, which is not given, got {value}")
        return None
    from aqmlab.running.pcap import Pcap

    with one_line_refusals():
        from_s = None if from_ is None else read(from_, "--pcap-from")
        for_s = None if for_ is None else read(for_, "--pcap-for")
    return Pcap(file=file, **without_none(from_s=from_s, for_s=for_s, packets=packets))


def without_none(**values: Any) -> dict[str, Any]:
    """Keep what is given."""
    return {name: value for name, value in values.items() if value is not None}


def check_figure(figure: Path | None) -> None:
    """Refuse a figure that could not be written, before anything is run for it."""
    if figure is not None:
        from aqmlab.show import plot

        with one_line_refusals():
            plot.check_writable(figure)


def tell_written(figure: Path | None) -> None:
    """Say that a figure was written."""
    if figure is not None:
        messages.logger.info("%s", figure)


def print_json(value: object) -> None:
    """Print for programs."""
    print(json.dumps(value, indent=2))
