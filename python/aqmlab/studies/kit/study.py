"""Studies: published experiments as one command each, their claims decided by code.

A study declares its experiments, and the tables, figures and claims that it derives from their results. All runs of a
seed use common random numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import ClassVar

from matplotlib.figure import Figure as Canvas

from aqmlab import data_file
from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import Calibrations
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.spec.experiment import Experiment, Protocol
from aqmlab.spec.schemes import Scheme
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.claims.registered import Registration, registration
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.claims.written import WrittenClaim

Value = float | int | str | None
"""A cell of a table; ``None`` where it is empty."""

StudyResults = Mapping[str, list[Result]]
"""The results of each run by its name, one for each seed."""

ProgressCallback = Callable[[str], None]
"""Called with the part of a report that is about to be made."""


def no_progress(part: str) -> None:
    """Ignore progress."""


def no_drawing(canvas: Canvas) -> None:
    """Draw nothing: a figure that is read from a record is drawn already."""


@dataclass(frozen=True, kw_only=True)
class Length:
    """Duration and repetitions of a study's experiments."""

    name: str
    """``quick``, ``default``, ``full`` or ``kernel``."""
    warmup: str
    duration: str
    seeds: int
    first_seed: int = 1

    @property
    def protocol(self) -> Protocol:
        """The protocol of one experiment."""
        return Protocol(warmup=self.warmup, duration=self.duration)

    @property
    def last_seed(self) -> int:
        """The seed of the last repetition."""
        return self.first_seed + self.seeds - 1

    def repeated(self, seeds: range) -> Length:
        """Return this length with these seeds."""
        return replace(self, seeds=len(seeds), first_seed=seeds.start)

    def __str__(self) -> str:
        seeds = f"seeds {self.first_seed} to {self.last_seed}" if self.seeds > 1 else f"seed {self.first_seed}"
        return f"{self.warmup} of warm-up and {self.duration} measured, {seeds}"


@dataclass(frozen=True, kw_only=True)
class Description:
    """The content of a study's ``study.toml``; :class:`Study` explains the parts."""

    title: str
    about: str
    sources: Mapping[str, str]
    front: tuple[str, ...]
    lengths: tuple[Length, ...] = ()
    claim: Mapping[str, WrittenClaim] = field(default_factory=dict)


@cache
def description(package: str) -> Description:
    """Read the description of a study's package."""
    return data_file.read(files(package) / "study.toml", Description)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One experiment of a study."""

    name: str
    """The name by which claims, tables and figures refer to it; unique in the study."""
    experiment: Experiment
    label: str
    """Label that is shown while it runs: the scheme as typed."""
    uncongested: bool = False
    """True on the uncongested network, with the users who make the load on this experiment's link."""
    seeds: int | None = None
    """Number of repetitions, where it differs from the study's."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a study."""

    name: str
    """Name of its entry in the record."""
    title: str
    columns: tuple[str, ...]
    """Headings, each with its unit."""
    rows: Sequence[Sequence[Value]]
    about: str = ""
    """Explanation for the reader, as Markdown."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a study."""

    name: str
    """Name of its files."""
    caption: str
    draw: Callable[[Canvas], None] = no_drawing
    size: tuple[float, float] = (8, 4.5)
    """Inches."""


class Study(ABC):
    """A published study: subclass it in a module of :mod:`aqmlab.studies`.

    The runs have the same names in each length, so that claims, tables and figures can rely on them; ``full`` may have
    further runs after those.
    With ``package=__package__``, title, text, sources, lengths and front are those of ``study.toml`` in the package.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    """The repeated experiments and their differences from the original, as Markdown."""
    sources: ClassVar[Mapping[str, str]]
    """Cited works, by the name that tables and claims use."""
    lengths: ClassVar[Mapping[str, Length]]
    """Lengths by name: ``quick``, ``default`` and ``full``."""
    kernel_length: ClassVar[Length | str] = "no length has been chosen for it"
    """The length of its runs in a Linux kernel in virtual time, or the reason for having none."""
    claims: ClassVar[Sequence[ReviewedClaim]]
    """The second reading of the paper: the registered claims in their order, then those that were added."""
    front: ClassVar[Sequence[str]] = ()
    """Names of the tables and figures on the study's page; the others are on its details page. Empty: all."""
    options: str = ""
    """Command-line options of this variant of the study, each with a space before it; its page repeats them."""
    part: str = ""
    """The part of the study that this is, for ``--only``; empty for the whole."""

    def __init_subclass__(cls, package: str = "") -> None:
        if not package:
            return
        written = description(package)
        cls.title, cls.about, cls.sources, cls.front = written.title, written.about, written.sources, written.front
        if written.lengths:
            cls.lengths = {length.name: length for length in written.lengths}

    def with_schemes(self, schemes: Sequence[Scheme]) -> Study:
        """Return this study with other schemes than its own.

        Raises
        ------
        SpecError
            When the study has the schemes of its paper, as most do.
        """
        given = ", ".join(scheme.label for scheme in schemes)
        raise SpecError(f"SCHEME: cannot be with {self.name}, which has the schemes of its paper, got {given}")

    def only(self, part: str) -> Study:
        """Return one part of this study: runs that can be made without the others, and the claims about them.

        Raises
        ------
        SpecError
            When the study has no such part, as most have none.
        """
        raise SpecError(f"--only: cannot be with {self.name}, which has no parts, got {part!r}")

    def departures(self, length: Length) -> str:
        """Return the differences of runs of this length from a plan that was registered, as Markdown."""
        return ""

    def command(self, length: Length) -> str:
        """Return the command that runs it at a length."""
        flags = {"default": "", "kernel": " --world kernel"}
        flag = flags.get(length.name, f" --{length.name}") + (f" --only {self.part}" if self.part else "")
        usual = self.kernel_length if length.name == "kernel" else self.lengths[length.name]
        seeds = "" if length == usual else f" --seeds {length.first_seed}-{length.last_seed}"
        return f"aqmlab study {self.name}{self.options}{flag}{seeds}"

    def registration(self) -> Registration:
        """Return the first reading of the paper, frozen before any result."""
        return registration(type(self).__module__)

    def reviewed_claims(self) -> Sequence[ReviewedClaim]:
        """Return the claims that its runs can decide: all, unless it has other schemes."""
        return self.claims

    def printed(self) -> PrintedTables:
        """Return the paper's own tables; empty where the paper prints none."""
        return {}

    def contradiction(self, run: str) -> str | None:
        """Return the reason why the paper's numbers of a run cannot have slowed its users; ``None`` where they can."""
        return None

    @abstractmethod
    def runs(self, length: Length) -> Sequence[Run]:
        """Return the experiments."""

    def kernel_runs(self, length: Length) -> Sequence[Run]:
        """Return the experiments as the hosts of a Linux kernel can have them: the same for most studies."""
        return self.runs(length)

    @abstractmethod
    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return the paper's tables, with published numbers next to ours, and our additional tables."""

    @abstractmethod
    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return the paper's figures, drawn from our results."""


def study_cells(study: Study, length: Length, calibrations: Calibrations) -> dict[str, list[Cell]]:
    """Return the cells of each run of a study, by the run's name."""
    return cells_by_run(study.runs(length), length, calibrations)


def cells_by_run(runs: Sequence[Run], length: Length, calibrations: Calibrations) -> dict[str, list[Cell]]:
    """Return the cells of each run, by its name."""
    cells: dict[str, list[Cell]] = {}
    for run in runs:
        assert run.name not in cells, f"two runs are called {run.name}"
        seeds = range(length.first_seed, length.first_seed + (run.seeds or length.seeds))
        cells[run.name] = cells_of(run.experiment, seeds, calibrations, label=run.label, uncongested=run.uncongested)
    return cells


def finite(value: Value) -> Value:
    """Return a value; ``None`` for a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def text(value: Value) -> str:
    """Return a value as text: four significant digits, thousands grouped; empty without a finite number."""
    if value is None or finite(value) is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value
