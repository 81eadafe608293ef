"""Claims as ``study.toml`` has them: the second reading as data, in the words of the dictionary.

A part of a claim is a sentence about runs. With a list for a run or a point it is claimed of each entry:

    parts = [{ one = "PI 24", better_than = ["PI 240", "REM 24"], at = ["90 %", "98 %"], to_ms = 500 }]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from aqmlab.studies.kit.claims import builders
from aqmlab.studies.kit.claims.predicates import CLOSE, SAME, InRange, Part, approximately
from aqmlab.studies.kit.claims.quantities import Column, Quantity, change_percent, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim

Name = str | int
Names = Name | tuple[Name, ...]

_TIMES = ("from_ms", "to_ms")
_RELATIONS: Mapping[str, tuple[Callable[..., Iterable[Part]], tuple[str, ...]]] = {
    "same_as": (builders.same, _TIMES),
    "close_to": (builders.close, _TIMES),
    "better_than": (builders.better, _TIMES),
    "much_better_than": (builders.much_better, _TIMES),
    "not_better_than": (builders.not_better, ("from_ms",)),
    "no_worse_than": (builders.no_worse, ("from_ms",)),
    "more_than": (builders.more, ("column",)),
    "less_than": (builders.fewer, ("column",)),
    "little_changed_from": (builders.little_change, ("column", "limit")),
}
"""The builder of each relation of runs, and the keys that it takes."""

_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "about": ("column", "change_from", "difference_to", "limit", "axis"),
    "at_least": ("column", "change_from", "difference_to", "at_most"),
    "at_most": ("column", "change_from", "difference_to", "at_least"),
}
"""The keys that go with each bound of a number."""

_LIMITS = {"same": SAME, "close": CLOSE}


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The words of a study's claims: columns, runs and lists."""

    columns: Sequence[Column]
    """The columns, which parts name by their descriptions."""
    joint: str = " "
    """The text between a run's name and the point that ``at`` gives."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The text in a run's name for a word of the claims, where they differ."""
    lists: Mapping[str, Sequence[Name]] = field(default_factory=dict)
    """Lists by their names."""

    def column(self, what: str) -> Column:
        """Return the column of a description."""
        found = [column for column in self.columns if column.what == what]
        if len(found) != 1:
            raise ValueError(f"column: must be one of {[column.what for column in self.columns]}, got {what!r}")
        return found[0]

    def run(self, name: Name, at: Name | None) -> str:
        """Return the name of a run at a point, or of a run with its point in its name."""
        text = str(name) if at is None else f"{name}{self.joint}{at}"
        scheme, joint, point = text.partition(self.joint)
        return self.names.get(scheme, scheme) + joint + point

    def several(self, names: Names) -> Sequence[Name]:
        """Return the entries of a list, of the name of one, or of a single name."""
        if isinstance(names, tuple):
            return names
        return self.lists.get(str(names), (names,))


@dataclass(frozen=True, kw_only=True)
class WrittenPart:
    """A sentence with one relation or bound; each of its ``one`` at each of its points."""

    one: Names
    """The runs that the sentence is about."""
    at: Names = ()
    """The points, such as loads; empty if the names of the runs are complete."""
    other_at: Name | None = None
    """The point of the other runs, if it is not that of ``one``."""
    same_as: Names = ()
    """Runs with the same curve, in the dictionary's meaning of the word; so are the five that follow."""
    close_to: Names = ()
    """Runs with a curve close to it."""
    better_than: Names = ()
    """Runs with a worse curve."""
    much_better_than: Names = ()
    """Runs with a much worse curve."""
    not_better_than: Names = ()
    """Runs whose curve is not worse."""
    no_worse_than: Names = ()
    """Runs whose curve is nowhere visibly above that of ``one``."""
    more_than: Names = ()
    """Runs with a smaller number in the column."""
    less_than: Names = ()
    """Runs with a greater number in the column."""
    little_changed_from: Names = ()
    """Runs with a number that differs by little, in percent of it."""
    about: float | None = None
    """A number from which that of the column is at most ``limit`` away, in percent of ``axis``."""
    at_least: float | None = None
    """The lower bound of the number."""
    at_most: float | None = None
    """The upper bound of the number."""
    column: str | None = None
    """The description of the number."""
    change_from: Names = ()
    """The runs from each of which the number has changed, in percent."""
    difference_to: Names = ()
    """The runs of which each one's number is subtracted."""
    from_ms: float | None = None
    """The start of the curves' range."""
    to_ms: float | None = None
    """The end of the curves' range."""
    limit: Literal["same", "close"] | None = None
    """The limit of *about* and *little changed*: *close* if it is not written."""
    axis: float | None = None
    """The length of the number's axis: 100, as of percent, if it is not written."""

    def __post_init__(self) -> None:
        relations = [name for name in (*_RELATIONS, *_BOUNDS) if getattr(self, name) not in (None, ())]
        if len(relations) != 1 and relations != ["at_least", "at_most"]:
            raise ValueError(f"must have one relation, got {relations}")
        taken = _BOUNDS.get(relations[0]) or _RELATIONS[relations[0]][1]
        unused = [name for name in self._options() if name not in taken]
        if unused:
            raise ValueError(f"{', '.join(unused)}: has no effect with {relations[0]}")
        if "column" in taken and self.column is None:
            raise ValueError(f"column: is missing with {relations[0]}")

    def parts(self, words: Vocabulary) -> Iterable[Part]:
        """Return the parts, in the order of the points, then of the runs."""
        points: Sequence[Name | None] = (None,) if self.at == () else words.several(self.at)
        for at in points:
            other_at = at if self.other_at is None else self.other_at
            for one in words.several(self.one):
                yield from self._of_run(words, words.run(one, at), other_at)

    def _of_run(self, words: Vocabulary, one: str, other_at: Name | None) -> Iterable[Part]:
        for name, (build, _) in _RELATIONS.items():
            if names := words.several(getattr(self, name)):
                return build(one, *(words.run(other, other_at) for other in names), **self._arguments(words))
        return [self._bounded(value) for value in self._numbers(words, one, other_at)]

    def _bounded(self, value: Quantity) -> Part:
        if self.about is not None:
            limit = _LIMITS[self.limit or "close"]
            return approximately(value, self.about, limit=limit, axis=100.0 if self.axis is None else self.axis)
        low = -math.inf if self.at_least is None else self.at_least
        return InRange(value=value, low=low, high=math.inf if self.at_most is None else self.at_most)

    def _numbers(self, words: Vocabulary, one: str, other_at: Name | None) -> Iterable[Quantity]:
        column = words.column(self.column or "")
        if changes := words.several(self.change_from):
            return [change_percent(column, one, words.run(other, other_at)) for other in changes]
        if subtracted := words.several(self.difference_to):
            return [
                difference(quantity(column, one), quantity(column, words.run(other, other_at))) for other in subtracted
            ]
        return [quantity(column, one)]

    def _options(self) -> dict[str, Any]:
        names = ("column", "change_from", "difference_to", "from_ms", "to_ms", "limit", "axis")
        return {name: given for name in names if (given := getattr(self, name)) not in (None, ())}

    def _arguments(self, words: Vocabulary) -> dict[str, Any]:
        """Return the options as the builders take them."""
        options = self._options()
        if self.column is not None:
            options["column"] = words.column(self.column)
        if self.limit is not None:
            options["limit"] = _LIMITS[self.limit]
        return options


@dataclass(frozen=True, kw_only=True)
class WrittenClaim:
    """A claim of ``study.toml``."""

    phrase: str
    """The words of the paper that it rests on."""
    parts: tuple[WrittenPart, ...] = ()
    """The sentences, all of which are claimed."""
    at: Names = ()
    """The points at each of which all parts are claimed."""
    place: str = ""
    """The place in the paper of a claim that is not registered."""
    gist: str = ""
    """The claim in our words, if it is not registered."""

    def written(self, words: Vocabulary) -> Sequence[Part]:
        """Return the parts, in their order."""
        if self.at == ():
            return [inner for part in self.parts for inner in part.parts(words)]
        at_points = [replace(part, at=point) for point in words.several(self.at) for part in self.parts]
        return [inner for part in at_points for inner in part.parts(words)]


def reviewed_claims(
    claims: Mapping[str, WrittenClaim], words: Vocabulary, further: Mapping[str, Iterable[Part]] = MappingProxyType({})
) -> tuple[ReviewedClaim, ...]:
    """Return the claims of a study.

    Parameters
    ----------
    claims
        The claims by their ids.
    words
        The words of the study.
    further
        Parts that no sentence expresses, by the ids of their claims; they are the last parts.
    """
    return tuple(
        ReviewedClaim(
            id=id_,
            phrase=claim.phrase,
            parts=(*claim.written(words), *further.get(id_, ())),
            place=claim.place,
            gist=claim.gist,
        )
        for id_, claim in claims.items()
    )
