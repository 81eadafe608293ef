"""Grids: an experiment with axes of values. A point is a value for each axis."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, PrivateAttr, ValidationError, field_validator

from aqmlab._core import SpecError
from aqmlab.campaigns.axes import Axis, Samples, Strict, Value, as_text, one_line, values
from aqmlab.running.validation import check_each_once
from aqmlab.spec import bounded_input, schemes, testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.overrides import Step, UnknownPath, assignment, steps
from aqmlab.spec.variants import parsing
from aqmlab.spec.variants.variant import VARIANT_SEPARATOR, Variant

SCHEME = "scheme"
"""The name of the axis of schemes."""

Point = Mapping[str, Value]
"""A value for each axis that applies to its scheme; named values by their names."""


def _checked_path(given: object) -> object:
    if not (isinstance(given, str) and (given in Experiment.model_fields or re.fullmatch(_DOTTED, given))):
        raise ValueError("must be a path of a spec, such as users.load")
    return given


_DOTTED = r"[^\s=.]+(\.[^\s=]+)+"

_Path = Annotated[str, PlainValidator(_checked_path)]

_MAX_POINTS = 1_000_000


def _checked_spec(given: object) -> object:
    if isinstance(given, (Experiment, Path)) or given is None:
        return given
    if not isinstance(given, str):
        raise ValueError("must be the name of a spec's file")
    return Path(given)


class Grid(Strict):
    """A grid of experiments: schemes, crossed with axes, zipped axes and samples.

    An axis of one discipline's parameter, ``queue.pi.q_ref``, applies only to the schemes of that discipline.

    Raises
    ------
    SpecError
        When a key is unknown or a value has a wrong type.

    Examples
    --------
    >>> grid = Grid(schemes=["droptail", "pi"], axes={"users.load": [80, 98], "queue.pi.q_ref": [24, 240]})
    >>> len(grid.points())
    6
    """

    spec: Annotated[Path | Experiment | None, PlainValidator(_checked_spec)] = None
    """The experiment, or its file, relative to the grid's file. The default is the experiment of the papers."""
    changes: list[str] = Field([], alias="set")
    """The changes of all points, as on the command line: ``protocol.duration=60 s``."""
    schemes: Annotated[list[str], Field(min_length=1)] | None = None
    """Schemes and variants, as on the command line. The default is the spec's variants, or its own scheme."""
    axes: dict[_Path, Axis] = Field({})
    """The values at each path of the spec: a list, a table of names and values, or a range."""
    zipped: list[dict[_Path, Axis]] = Field([])
    """Axes of equal length whose values are combined pairwise."""
    samples: Samples | None = None
    """Sampled points in a space of several ranges, instead of all combinations."""
    exclude: list[dict[str, Value]] = Field([])
    """The points to leave out: those with all values of one of these tables."""
    baseline: bool = False
    """Also run the uncongested network, which some measures need."""
    skip_impossible: bool = False
    """Leave out impossible points instead of refusing the grid."""
    _directory: Path = PrivateAttr(Path())
    """The directory of the grid's file, to which file names are relative."""

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise SpecError(one_line(error)) from None
        axis_names = {SCHEME, *self.paths()}
        for excluded in self.exclude:
            for path in excluded.keys() - axis_names:
                raise SpecError(f"exclude: no axis is called {path}; there are {', '.join(sorted(axis_names))}")
        repeated = [path for path, count in _counts(self.paths()).items() if count > 1]
        if repeated:
            raise SpecError(f"axes: each path may be varied once, got {repeated[0]} twice")

    @classmethod
    def from_toml(cls, path: Path | str) -> Self:
        """Read a grid from a file.

        Raises
        ------
        SpecError
            When it cannot be read, or is not a grid.
        """
        file = Path(path)
        tables = bounded_input.read(file)
        if not tables:
            raise SpecError(f"{file}: must have schemes or axes, got an empty grid")
        try:
            grid = cls(**tables)
        except SpecError as error:
            raise SpecError(f"{file}: {error}") from None
        if isinstance(grid.spec, Path):
            grid = grid.model_copy(update={"spec": file.parent / grid.spec})
        grid._directory = file.parent
        return grid

    @field_validator("zipped")
    @classmethod
    def _check_lengths(cls, zipped: list[dict[str, Axis]]) -> list[dict[str, Axis]]:
        for group in zipped:
            lengths = {path: len(values(axis)) for path, axis in group.items()}
            if len(set(lengths.values())) > 1:
                texts = ", ".join(f"{path} has {length}" for path, length in lengths.items())
                raise ValueError(f"zipped axes must have the same length; {texts}")
        return zipped

    def experiment(self) -> Experiment:
        """Return the experiment that the points change.

        Raises
        ------
        SpecError
            When its file cannot be read, or is invalid.
        """
        try:
            if isinstance(self.spec, Path):
                experiment = Experiment.from_toml(self.spec, changes=self.changes)
            else:
                base = self.spec or Experiment(testbed=testbeds.PAPERS)
                experiment = base.with_changes(self.changes, directory=self._directory)
        except UnknownPath as error:
            raise SpecError(f"set: {error.message}") from None
        parsing.check(experiment)
        return experiment

    def points(self) -> list[Point]:
        """Return all points without duplicates.

        Raises
        ------
        SpecError
            When a scheme is invalid, there are too many points, or none.
        """
        points = {json.dumps(point): point for point in self._all_points(self.experiment())}
        if not points:
            raise SpecError("exclude: excludes all points")
        return list(points.values())

    def paths(self) -> Iterator[str]:
        """Yield the paths of all axes."""
        yield from self.axes
        for group in self.zipped:
            yield from group
        if self.samples is not None:
            yield from self.samples.over

    def with_changes(self, experiment: Experiment, point: Point) -> Experiment:
        """Return an experiment with the values of a point, without its scheme.

        Raises
        ------
        SpecError
            When the experiment is impossible, naming the point.
        """
        changes = [assignment(path, self._value(path, value)) for path, value in point.items() if path != SCHEME]
        try:
            return experiment.with_changes(changes, directory=self._directory)
        except SpecError as error:
            message = error.message if isinstance(error, UnknownPath) else error
            raise SpecError(f"{point_label(point)}: {message}") from None

    def _value(self, path: str, value: Value) -> Value:
        """Return the value at a path: that of a name, or the shown value itself."""
        axis = next((axes[path] for axes in (self.axes, *self.zipped) if path in axes), None)
        return axis[str(value)] if isinstance(axis, dict) else value

    @property
    def combinations(self) -> int:
        """The number of combinations, an upper bound of the number of points."""
        lengths = [
            len(self.schemes or "1"),
            *(len(values(axis)) for axis in self.axes.values()),
            *(len(values(next(iter(group.values())))) for group in self.zipped if group),
            1 if self.samples is None else self.samples.points,
        ]
        return math.prod(lengths)

    def _all_points(self, experiment: Experiment) -> Iterator[dict[str, Value]]:
        if (number := self.combinations) > _MAX_POINTS:
            raise SpecError(f"axes: must have at most {_MAX_POINTS:,} points together, got {number:,}")
        texts = self.schemes or list(experiment.variants)
        variants: Sequence[Variant | None] = [parsing.parse(text, experiment) for text in texts] or [None]
        check_each_once("schemes", (variant.label for variant in variants if variant))
        self._check_used([_discipline(variant, experiment) for variant in variants if variant])
        self._check_unchanged([variant for variant in variants if variant])
        parts: list[Sequence[Mapping[str, Value]]] = [
            *([{path: value} for value in values(axis)] for path, axis in self.axes.items()),
            *(
                [dict(zip(group, row, strict=True)) for row in zip(*map(values, group.values()), strict=True)]
                for group in self.zipped
                if group
            ),
        ]
        if self.samples is not None:
            parts.append(self.samples.values())
        for variant in variants:
            for combination in itertools.product(*parts):
                point = dict(itertools.chain.from_iterable(part.items() for part in combination))
                if variant is not None:
                    point = {SCHEME: variant.label, **_without_others(_discipline(variant, experiment), point)}
                if not any(excluded.items() <= point.items() for excluded in self.exclude):
                    yield point

    def _check_unchanged(self, variants: Sequence[Variant]) -> None:
        """Refuse an axis whose path a variant changes too: one of the two would have no effect."""
        for variant, path in itertools.product(variants, self.paths()):
            for other in variant.paths:
                if _overlap(steps(path), steps(other)):
                    raise SpecError(f"axes: {path} must not be varied: {variant.label} sets {other}")

    def _check_used(self, names: Sequence[str]) -> None:
        """Refuse an axis of a discipline's parameter that no scheme has: it would have no effect."""
        for path in self.paths():
            if names and path.startswith("queue.") and not path.startswith(tuple(f"queue.{name}." for name in names)):
                raise SpecError(f"axes: no scheme has {path}; the schemes are {', '.join(dict.fromkeys(names))}")


def _counts(names: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _discipline(variant: Variant, experiment: Experiment) -> str:
    return (variant.scheme.queue if variant.scheme else experiment.queue).discipline


def _overlap(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Return true if two paths are equal, or one contains the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _without_others(discipline: str, point: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of a point without the parameters of other disciplines."""
    prefix = f"queue.{discipline}."
    return {path: value for path, value in point.items() if not path.startswith("queue.") or path.startswith(prefix)}


def without_queue(point: Point) -> dict[str, Value]:
    """Return the values of a point about the network and its users, without those of the discipline."""
    return {
        path: value
        for path, value in point.items()
        if path != SCHEME and not path.startswith(("queue.", "queue_back."))
    }


@dataclass(frozen=True)
class Case:
    """The experiment at a point."""

    experiment: Experiment
    label: str
    """The scheme as it would be typed, or the name of a variant."""
    comparison_experiment: Experiment | None = None
    """The experiment without the changes of a variant; ``None`` if there are none."""
    variant: str | None = None
    """The changes of a variant, as typed."""


def case_at(grid: Grid, experiment: Experiment, point: Point) -> Case:
    """Return the experiment at a point of a grid.

    Raises
    ------
    SpecError
        When the experiment is impossible, naming the point.
    """
    if SCHEME not in point:
        changed = grid.with_changes(experiment, point)
        return Case(changed, schemes.label_of(changed))
    variant = parsing.parse(str(point[SCHEME]), experiment)
    try:
        base, comparison_experiment = variant.apply_to(experiment), variant.comparison_experiment(experiment)
    except SpecError as error:
        raise SpecError(f"{point_label(point)}: {error}") from None
    changed = grid.with_changes(base, point)
    label = variant.label_in(changed) if changed.queue == base.queue else variant.label_with(changed)
    if not variant.changes:
        return Case(changed, label)
    return Case(
        changed, label, grid.with_changes(comparison_experiment, point), VARIANT_SEPARATOR.join(variant.changes)
    )


def point_label(point: Point) -> str:
    """Return a point as one line."""
    return ", ".join(f"{path}={as_text(value)}" for path, value in point.items()) or "the spec's"
