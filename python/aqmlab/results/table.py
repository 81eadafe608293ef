"""Tables of a comparison, with a row for each scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from aqmlab.metrics.flows import USERS_NAME, all_traffic, by_class
from aqmlab.metrics.metrics import LIMITS, is_held_by_device, lookup, value_at
from aqmlab.metrics.numbers import (
    DATAGRAM_NUMBERS,
    DELAYS,
    LINK_NUMBERS,
    NUMBERS,
    QUALITY_NUMBERS,
    REQUEST_NUMBERS,
    Number,
)
from aqmlab.results import best, experience
from aqmlab.spec import directions
from aqmlab.spec.schemes import DIRECTION_SEPARATOR
from aqmlab.stats import LEVEL
from aqmlab.ui import console
from aqmlab.ui.layout import FittedTable

Measurements = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of numbers."""

    group: str
    """The heading that it shares with its neighbours; ``""`` if there is none."""
    name: str
    number: Number
    """The number that it shows, with its path in a row's record."""

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path of its number in a row's record."""
        return self.number.path

    def decimals(self, size: float, largest: float) -> int:
        """Return the number of decimals of a number, at most two more than those of the column's largest number."""
        return min(self.number.decimals(size), self.number.decimals(largest) + _MORE_PLACES)


@dataclass(frozen=True)
class Row:
    """The measures of a scheme, or of a part of its traffic."""

    scheme: str
    part: str
    """The part of the traffic; ``""`` for the whole scheme."""
    values: Measurements
    half_width: Measurements
    """Half of the width of each number's interval, by the same names."""
    bounds: tuple[Measurements, Measurements] | None = None
    """The bounds of the intervals of differences, by the same names; an interval that excludes 0 is significant."""
    samples: Measurements = field(default_factory=dict)
    """The values of all seeds, by the same names, if they are compared with those of other schemes."""


@dataclass(frozen=True)
class ComparisonTable:
    """One table of a comparison."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    is_difference: bool = False

    def without_empty_columns(self) -> ComparisonTable:
        """Return the table without empty columns."""
        columns = [
            column for column in self.columns if any(lookup(row.values, column.path) is not None for row in self.rows)
        ]
        return replace(self, columns=columns)

    def cells(self) -> Iterator[list[tuple[str, str]]]:
        """Yield the texts of each row's numbers, each with half of its interval, which may be ``""``."""
        largest = [max((_size(row, column.path) for row in self.rows), default=0.0) for column in self.columns]
        for row in self.rows:
            yield [self._cell_texts(row, column, size) for column, size in zip(self.columns, largest, strict=True)]

    def verdicts(self, looks: int = 1) -> list[list[str]]:
        """Return the verdict about each number among those of the same part, row by row; ``""`` if there is none."""
        found = [[""] * len(self.columns) for _ in self.rows]
        for part in dict.fromkeys(row.part for row in self.rows):
            rows = {row.scheme: number for number, row in enumerate(self.rows) if row.part == part}
            for index, column in enumerate(self.columns):
                values = {label: value_at(self.rows[number].samples, column.path) for label, number in rows.items()}
                samples = {label: value for label, value in values.items() if value is not None}
                for label, verdict in best.verdicts(samples, column.number, looks=looks).items():
                    found[rows[label]][index] = verdict
        return found

    def _cell_texts(self, row: Row, column: Column, largest: float) -> tuple[str, str]:
        value, half_width = lookup(row.values, column.path), lookup(row.half_width, column.path)
        if value is None:
            return "-", ""
        number_format = f",.{column.decimals(_size(row, column.path), largest)}f"
        number = format(value, f"+{number_format}" if self.is_difference else number_format)
        if not any(digit in number for digit in "123456789"):
            number = format(0.0, f"+{number_format}" if self.is_difference else number_format)
        if half_width is None:
            return number, ""
        return number, f"±{format(half_width, number_format)}{'*' if _is_significant(row, column.path) else ''}"


_TOLERANCE = 0.1
"""The largest relative difference of two directions that are shown as one row. Ours."""

_ROUNDING = 0.005
"""The largest difference that two decimals do not show."""

_MORE_PLACES = 2


def parts(schemes: Sequence[Measurements]) -> list[ComparisonTable]:
    """Return a comparison's tables: the link, queueing delay, response times, and traffic besides the users.

    Parameters
    ----------
    schemes
        The records of :attr:`aqmlab.results.comparison.Comparison.schemes`.
    """
    is_split = _is_split(schemes)
    means = [*_tables(schemes, _mean_rows, "", is_split=is_split)]
    pairs = [scheme for scheme in schemes if "paired" in scheme]
    if not pairs:
        return means
    reference = pairs[0]["paired"]["to"]
    differences = _tables(pairs, _paired_rows, f", less {reference}'s", is_split=is_split)
    return [*means, *(replace(part, is_difference=True) for part in differences)]


def captions(schemes: Sequence[Measurements], notes: Iterable[str]) -> list[str]:
    """Return sentences that explain the numbers of the tables: means, ± and *."""
    seeds = len(schemes[0]["seeds"]) if schemes else 1
    lines = [f"Means of {seeds} seeds; ± is half of the 95 % interval (Student's t)."] if seeds > 1 else []
    if pairs := [scheme["paired"] for scheme in schemes if "paired" in scheme]:
        number = len(pairs)
        scopes = [f"all {number} schemes"] if number > 1 else []
        if (1 - pairs[0]["confidence"]) * number < 0.9 * LEVEL:
            scopes.append("all looks")
        clause = f", simultaneous for {' and '.join(scopes)}" if scopes else ""
        lines.append(f"Differences are means over the seeds; ± is half of the 95 % interval{clause}. * excludes 0.")
    if not _is_split(schemes):
        lines.append(
            f"The two directions of the link agree to {_TOLERANCE:.0%}: loss, marks, queue and delay cover both,"
            " Mbit/s and utilization are the mean of both."
        )
    elif names := directions.label(_names(schemes[0])):
        lines.append(f"Direction {names}")
    return [*lines, *notes]


class ComparisonTables:
    """The tables on a console, each laid out for its width, with their captions."""

    def __init__(
        self,
        schemes: Sequence[Measurements],
        notes: Iterable[str] = (),
        *,
        samples: Mapping[str, Measurements] | None = None,
        looks: int = 1,
    ) -> None:
        """Lay out records of schemes; a terminal marks the best by ``samples``, the values of all seeds by label."""
        compared = samples or {}
        self._parts = parts([{**scheme, "samples": compared.get(scheme["label"], {})} for scheme in schemes])
        self._captions = captions(schemes, notes)
        self._looks = looks

    def __rich_console__(self, terminal: Console, _: ConsoleOptions) -> RenderResult:
        is_marked = False
        for part in self._parts:
            # A pipe has plain numbers for other programs.
            verdicts = part.verdicts(self._looks) if terminal.is_terminal else []
            is_marked = is_marked or any(map(any, verdicts))
            yield Text(part.title, style="bold")
            yield fit(part, verdicts)
            yield ""
        if is_marked:
            yield Text(best.LEGEND)
        yield from map(Text, self._captions)


Views = Callable[[Measurements], Mapping[str, Any]]

Rows = Callable[[Measurements, Views], Iterator[Row]]


def _mean_rows(scheme: Measurements, views: Views) -> Iterator[Row]:
    half_widths = views(scheme["half_width"])
    samples = views(scheme["samples"]) if scheme.get("samples") else {}
    for part, view in views(scheme).items():
        yield Row(scheme["label"], part, view, half_widths[part], samples=samples.get(part, {}))


def _paired_rows(scheme: Measurements, views: Views) -> Iterator[Row]:
    lows, highs = (views(scheme["paired"][bound]) for bound in ("low", "high"))
    for part, view in views(scheme["paired"]["difference"]).items():
        yield Row(scheme["label"], part, view, _subtract(highs[part], view), (lows[part], highs[part]))


def _tables(schemes: Sequence[Measurements], rows: Rows, suffix: str, *, is_split: bool) -> Iterator[ComparisonTable]:
    def part(title: str, columns: Sequence[Column], views: Views) -> Iterator[ComparisonTable]:
        result = _table_of(title + suffix, columns, schemes, rows, views).without_empty_columns()
        if result.rows and result.columns:
            yield result

    delays = _delay_columns(schemes)
    if is_split:
        yield from part("Link, with packets queued", _LINK, _link_views)
        yield from part("Delay in the queue, ms", delays, _delay_views_by_direction)
    else:
        yield from part("Link, with packets queued, both directions", _LINK, _whole_record)
        yield from part("Delay in the queue, ms, both directions", delays, _delay_views)
    yield from part("All packets and requests", _WHOLE, _whole_record)
    title = "Response times of web users, ms" if any(map(_has_users, schemes)) else "Response times of all sources, ms"
    yield from part(title, _RESPONSES, _whole_record)
    yield from part("Traffic", _TRAFFIC, all_traffic)
    experiences = [Column(name, number.heading, number) for name, number in experience.numbers(schemes)]
    yield from part("Experience by application", experiences, lambda record: {"": by_class(record)})
    yield from part("Quality for people", _QUALITY, by_class)
    yield from part("Connections limited by, % of the time", _LIMITS, _with_connections)


def _columns(numbers: Iterable[Number]) -> list[Column]:
    """Return a column for each number, headed by its name and its unit."""
    return [Column(number.name, number.unit, number) for number in numbers]


def _part_columns(numbers: Iterable[Number], group: str = "") -> list[Column]:
    """Return a column for each number of a part whose label is in the title."""
    return [Column(group, number.name.removeprefix("delay").strip() or "mean", number) for number in numbers]


_LINK = _columns(number for number in LINK_NUMBERS.values() if number not in DELAYS.values())

_DELAYS = _part_columns(number._replace(path=number.path[1:]) for number in DELAYS.values())

_DEVICE_FIFO = Column("", "in FIFO", DELAYS["delay"]._replace(path=("device_fifo_mean",)))
"""The part of the mean delay in the device FIFO below the discipline."""

_TIMES = _part_columns(number for number in NUMBERS.values() if number.noun)

_REQUESTS = [number for number in NUMBERS.values() if number.unit == "requests"]

_RESPONSES = [*(Column("requests", number.name, number) for number in _REQUESTS), *_TIMES]

_WHOLE = _columns(
    number for number in NUMBERS.values() if number not in (*LINK_NUMBERS.values(), *_REQUESTS) and not number.noun
)
"""The numbers of both directions and all traffic together."""

_BRIEF = sorted(
    (
        number
        for number in {**REQUEST_NUMBERS, **DATAGRAM_NUMBERS}.values()
        if number.is_brief and number.name not in DELAYS
    ),
    key=lambda number: (number.path[0] == "datagrams", bool(number.noun)),
)

_TRAFFIC = [
    Column("response ms", number.name, number)
    if number.noun
    else Column("one-way ms", number.name.removeprefix("one-way").strip() or "mean", number)
    if number.path[0] == "datagrams"
    else Column(number.name, number.unit, number)
    for number in _BRIEF
]

_QUALITY = _columns(number for numbers in QUALITY_NUMBERS.values() for number in numbers.values() if number.is_brief)

_LIMITS = [Column("", name.replace("_", " "), Number(name, "%", ("limited_by_percent", name))) for name in LIMITS]


def _with_connections(record: Measurements) -> Mapping[str, Any]:
    """Return the parts of the traffic that have connections; without other sources, the web users."""
    users = {USERS_NAME: {"limited_by_percent": record["users_limited_by_percent"]}}
    return {name: traffic for name, traffic in (all_traffic(record) or users).items() if not traffic.get("datagrams")}


def _table_of(
    title: str, columns: Sequence[Column], schemes: Sequence[Measurements], rows: Rows, views: Views
) -> ComparisonTable:
    """Return a table without empty rows, such as the idle direction of datagrams."""
    all_rows = (row for scheme in schemes for row in rows(scheme, views))
    filled_rows = [
        row
        for row in all_rows
        if not row.part or any(lookup(row.values, column.path) is not None for column in columns)
    ]
    return ComparisonTable(title, columns, filled_rows)


def _delay_columns(schemes: Sequence[Measurements]) -> Sequence[Column]:
    """Return the columns of delays, with the part in the device FIFO if it is relevant."""
    delays = (delay for scheme in schemes for delay in _delay_views_by_direction(scheme).values())
    mean, *quantiles = _DELAYS
    return [mean, _DEVICE_FIFO, *quantiles] if any(map(is_held_by_device, delays)) else _DELAYS


def _has_users(scheme: Measurements) -> bool:
    return bool(scheme["users_per_side"])


def _names(record: Measurements) -> directions.Names:
    first, second, *_ = record["directions"]
    return first["name"], second["name"]


def _whole_record(record: Measurements) -> Mapping[str, Any]:
    return {"": record}


def _link_views(record: Measurements) -> Mapping[str, Any]:
    return directions.by_place(record["directions"])


def _delay_views(record: Measurements) -> Mapping[str, Any]:
    """Return the delay of all packets, of each class that a queue treats separately, and of each kind of traffic."""
    views = {"all packets": record["queue_delay_ms"]}
    views |= {f"class {traffic['name']}": traffic["queue_delay_ms"] for traffic in record["classes"]}
    views |= {name: traffic["queue_delay_ms"] for name, traffic in all_traffic(record).items()}
    return views if len(views) > 1 else _whole_record(record["queue_delay_ms"])


def _delay_views_by_direction(record: Measurements) -> Mapping[str, Any]:
    """Return the delays of :func:`_delay_views` for each direction."""
    pairs = _delay_pairs(record)
    return {
        f"{name if len(pairs) > 1 else ''} {place}".strip(): delay
        for name, pair in pairs.items()
        for place, delay in pair.items()
    }


def _delay_pairs(record: Measurements) -> Mapping[str, Mapping[str, Any]]:
    """Return the delays of :func:`_delay_views`, each by the name of the direction."""
    links = directions.by_place(record["directions"])
    pairs = {"all packets": {place: direction["queue_delay_ms"] for place, direction in links.items()}}
    for name in (packet_class["name"] for packet_class in record["classes"]):
        classes = [(place, packet_class) for place, direction in links.items() for packet_class in direction["classes"]]
        pairs[f"class {name}"] = {
            place: packet_class["queue_delay_ms"] for place, packet_class in classes if packet_class["name"] == name
        }
    for name, packet_class in all_traffic(record).items():
        pairs[name] = dict(zip(_names(record), packet_class["queue_delay_ms_each_way"], strict=True))
    return pairs


def _is_split(schemes: Sequence[Measurements]) -> bool:
    """Return true if directions have rows of their own: the link or its numbers differ between directions."""
    return not all(_is_symmetric(scheme) and _agree(scheme) for scheme in schemes)


def _is_symmetric(scheme: Measurements) -> bool:
    has_one_queue = DIRECTION_SEPARATOR not in scheme["label"]
    return has_one_queue and len(scheme["directions"]) == 2 and scheme["rate_mbps"] == scheme["rate_back_mbps"]


def _agree(scheme: Measurements) -> bool:
    """Return true if the numbers of both directions differ by little, or by less than the decimals show."""
    pairs = [(_LINK, _link_views(scheme)), *((_DELAYS, pair) for pair in _delay_pairs(scheme).values())]
    for columns, pair in pairs:
        if len(pair) != 2:
            return False
        for column in columns:
            low, high = sorted(lookup(view, column.path) or 0.0 for view in pair.values())
            if high - low > max(_TOLERANCE * high, _ROUNDING):
                return False
    return True


def _subtract(high: Any, mean: Any) -> Any:
    """Subtract nested numbers."""
    if isinstance(mean, Mapping):
        return {name: _subtract(high[name], value) for name, value in mean.items()}
    if isinstance(mean, Sequence) and not isinstance(mean, str):
        return [_subtract(*pair) for pair in zip(high, mean, strict=True)]
    return high - mean if isinstance(mean, int | float) and high is not None else None


def _size(row: Row, path: Sequence[str | int]) -> float:
    """Return the size that decides the decimals of a number: the larger of the number and its interval."""
    return max(abs(lookup(values, path) or 0.0) for values in (row.values, row.half_width))


def _is_significant(row: Row, path: Sequence[str | int]) -> bool:
    if row.bounds is None:
        return False
    low, high = (lookup(bound, path) for bound in row.bounds)
    return low is not None and high is not None and (low > 0 or high < 0)


def fit(part: ComparisonTable, verdicts: Sequence[Sequence[str]] = ()) -> FittedTable:
    """Return a part of a comparison as a table of a console, with marks by the verdicts if there are any."""
    has_verdicts = any(map(any, verdicts))
    table = _table(part, verdicts if has_verdicts else [[""] * len(part.columns)] * len(part.rows))
    return FittedTable(table, names=2 if any(row.part for row in part.rows) else 1)


def _table(part: ComparisonTable, verdicts: Sequence[Sequence[str]]) -> Table:
    table = console.sheet(show_edge=False, collapse_padding=True)
    has_groups = any(column.group for column in part.columns)
    has_parts = any(row.part for row in part.rows)
    previous_group = ""

    def add_column(group: str, name: str, **settings: Any) -> None:
        table.add_column(Text(f"{group}\n{name}" if has_groups else name), **settings)

    add_column("", "scheme", no_wrap=True)
    if has_parts:
        add_column("", "of", no_wrap=True)
    for column in part.columns:
        # A blank group heading separates a column without a group from the group at its left.
        add_column("" if column.group == previous_group else column.group or " ", column.name, justify="right")
        previous_group = column.group
    scheme = ""
    for row, cells, marks in zip(part.rows, part.cells(), verdicts, strict=True):
        name = "" if row.scheme == scheme else row.scheme
        scheme = row.scheme
        texts = (
            Text(
                best.marked(f"{number} {spread}".rstrip(), mark),
                style=best.style(mark) or _colour(column, number, spread),
            )
            for column, (number, spread), mark in zip(part.columns, cells, marks, strict=True)
        )
        table.add_row(Text(name), *([Text(row.part)] if has_parts else []), *texts)
    return table


def _colour(column: Column, difference: str, spread: str) -> str:
    """Return the colour of a significant difference: green for better, red for worse."""
    if not spread.endswith("*") or column.number.better is None:
        return ""
    return "green" if difference.startswith("-") == (column.number.better == "lower") else "red"
