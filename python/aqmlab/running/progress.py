"""Progress on standard error: bars on a terminal, otherwise one line a minute."""

from __future__ import annotations

import json
import textwrap
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from rich.console import RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from aqmlab.cells.cell import Cell, work
from aqmlab.running import monitoring
from aqmlab.running.readings import SchemeReadings
from aqmlab.ui import messages
from aqmlab.ui.messages import logger
from aqmlab.ui.terminal import Terminal

_BETWEEN_LINES_S = 60.0
"""The shortest time between two lines of progress."""

_MAX_DIFFERENCES = 3
"""The largest number of differences in the name of a cell."""

_MAX_VALUE = 60
"""The largest number of characters of a value in the name of a cell."""


def is_interactive() -> bool:
    """Return true if standard error is a terminal or a notebook."""
    console = Terminal(stderr=True)
    return console.is_terminal or console.is_jupyter


def is_wanted(progress: bool | None) -> bool:
    """Return true if progress is shown: as requested, by default on a terminal and in a notebook."""
    return is_interactive() if progress is None else progress


class _Bars(Progress):
    """Bars, and below them the latest numbers of each scheme."""

    def __init__(self, readings: SchemeReadings, *columns: TextColumn | BarColumn, **settings: Any) -> None:
        self._readings = readings
        super().__init__(*columns, **settings)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars and the table."""
        yield from super().get_renderables()
        if (table := self._readings.table()) is not None:
            yield table


class _ProgressContext:
    """A context that shows progress."""

    def __init__(self) -> None:
        self._started = self._line_at = time.monotonic()
        # A notebook shows lines, also if it requests colours, which rich interprets as a terminal.
        console = Terminal(stderr=True, force_jupyter=False, force_terminal=False if Terminal().is_jupyter else None)
        self._readings = SchemeReadings()
        self._progress = _Bars(
            self._readings,
            # At 80 columns the state of all cells stays readable behind it.
            TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=console.width // 3)),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[state]}", justify="right", table_column=Column(no_wrap=True)),
            console=console,
            expand=True,
            disable=not (console.is_terminal and messages.should_show()),
        )
        self._context = ExitStack()

    def __enter__(self) -> Self:
        if not logger.handlers:
            # Called from Python, where no command has configured the logger.
            self._context.enter_context(messages.logging_to_stderr())
        self._context.enter_context(self._progress)
        if not self._progress.disable:
            self._context.enter_context(monitoring.observed(self._readings))
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._context.close()

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started

    def _add_bar(self, name: str, **settings: Any) -> TaskID:
        return self._progress.add_task(escape(name), state="", **settings)

    def _log_periodically(self, line: str) -> None:
        """Log a line if no bars are shown and the last line is old enough."""
        if self._progress.disable and time.monotonic() - self._line_at >= _BETWEEN_LINES_S:
            self._line_at = time.monotonic()
            logger.info(line)


class SweepProgress(_ProgressContext):
    """The progress of many cells: a context and the callback of :func:`aqmlab.running.sweep.sweep`.

    ``stored`` has the keys of stored cells, and ``captured`` the keys of cells that are run again for a capture.
    """

    def __init__(self, cells: Sequence[Cell], stored: Container[str], *, captured: Container[str] = ()) -> None:
        super().__init__()
        self._lock = threading.Lock()
        distinct = {cell.key: cell for cell in cells}
        to_run = {key: cell for key, cell in distinct.items() if key in captured or key not in stored}
        stored_count = len(distinct) - len(to_run)
        self._names = names(to_run.values())
        self._short_names = _short_names(to_run.values()) or self._names
        self._bars: dict[str, TaskID] = {}
        self._started_at: dict[str, float] = {}
        self._simulated_s = dict.fromkeys(to_run, 0.0)
        # Running totals: each of thousands of cells reports every step.
        self._all_simulated_s = self._work_done = 0.0
        self._total_work = sum(map(work, to_run.values()))
        self._finished: set[str] = set()
        self._failed: set[str] = set()
        self._total_bar = self._add_bar("all cells", total=max(self._total_work, 1.0), visible=bool(to_run))
        suffix = f", {f'{stored_count:,} of them ' if to_run else ''}in the store" if stored_count else ""
        self._summary = f"{len(distinct):,} {'cell' if len(distinct) == 1 else 'cells'}{suffix}"

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._progress.stop()
        if raised[0] is None:
            self._log_cells()
        if self._names and len(self._finished) + len(self._failed) == len(self._names):
            logger.info(f"{len(self._finished):,} run{self._failed_suffix} in {duration(self._elapsed_s)}")
        super().__exit__(*raised)

    def __call__(self, cell: Cell, now: float, end: float) -> None:
        """Show the progress of a cell."""
        with self._lock:
            self._log_cells()
            self._advance(cell, now)
            started_at = self._started_at.setdefault(cell.key, time.monotonic())
            if cell.key not in self._bars:
                self._bars[cell.key] = self._add_bar(self._short_names[cell.key])
            bar = self._bars[cell.key]
            speed = _speed(now, time.monotonic() - started_at)
            self._progress.update(bar, total=end, completed=now, state=f"{now:,.0f}/{end:,.0f} s  {speed}")
            if now >= end:
                self._finished.add(cell.key)
                self._progress.remove_task(self._bars.pop(cell.key))
                logger.debug(f"{self._names[cell.key]}: {end:,.0f} s simulated, {speed}")
            self._show_all()

    def failed(self, cell: Cell, error: str) -> None:
        """Report that a cell failed, and why."""
        with self._lock:
            self._log_cells()
            self._advance(cell, cell.end_s)
            if cell.key in self._bars:
                self._progress.remove_task(self._bars.pop(cell.key))
            logger.error(f"{self._names[cell.key]}: {error}")
            # A cell may also fail after its last step, when its results are written.
            self._finished.discard(cell.key)
            self._failed.add(cell.key)
            self._show_all()

    def _advance(self, cell: Cell, now: float) -> None:
        """Record the progress of a cell."""
        step_s = now - self._simulated_s[cell.key]
        self._all_simulated_s += step_s
        self._work_done += step_s / cell.end_s * work(cell)
        self._simulated_s[cell.key] = now

    def _show_all(self) -> None:
        status = self._status()
        self._progress.update(self._total_bar, completed=self._work_done, state=status)
        self._log_periodically(status)

    def _log_cells(self) -> None:
        """Log once what there is to do, when the first cell has started or failed."""
        if self._summary:
            logger.info(self._summary)
            self._summary = ""

    def _status(self) -> str:
        # Extrapolate by work, not by simulated time: a second of a fast link takes longer.
        remaining_s = self._elapsed_s * (self._total_work / self._work_done - 1) if self._work_done else 0.0
        run = f"{len(self._finished):,} of {len(self._names):,} run{self._failed_suffix}"
        speed = _speed(self._all_simulated_s, self._elapsed_s)
        return f"{run}, {speed}, {duration(self._elapsed_s)} elapsed, {duration(remaining_s)} left"

    @property
    def _failed_suffix(self) -> str:
        return f", {len(self._failed):,} failed" if self._failed else ""


class RunProgress(_ProgressContext):
    """The progress of one run: a context and a callback; ``verb`` is the verb in its last line."""

    def __init__(self, name: str, *, verb: str = "simulated") -> None:
        super().__init__()
        self._verb = verb
        self._name = name
        self._bar = self._add_bar(name, total=None)
        self._simulated_to = 0.0

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._progress.stop()
        if self._simulated_to:
            logger.info(
                f"{self._name}: {self._simulated_to:,.0f} s {self._verb}, {_speed(self._simulated_to, self._elapsed_s)}"
            )
        super().__exit__(*raised)

    def __call__(self, now: float, end: float) -> None:
        """Show the progress of the run."""
        self._simulated_to = now
        state = f"{now:,.0f}/{end:,.0f} s  {_speed(now, self._elapsed_s)}"
        left = f", {duration(self._elapsed_s * (end / now - 1))} left" if now else ""
        self._progress.update(self._bar, total=end, completed=now, state=state + left)
        self._log_periodically(f"{self._name}: {state}")


class ReportProgress(_ProgressContext):
    """The progress of a report: a context and the callback for its parts."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = self._add_bar("report", total=None)

    def __call__(self, part: str) -> None:
        """Show the part's name."""
        self._progress.update(self._bar, state=escape(part))
        logger.debug(f"report: {part}")
        self._log_periodically(f"report: {part}")


def names(cells: Iterable[Cell]) -> Mapping[str, str]:
    """Return unique names of cells by their keys; the differences of their specs distinguish equal names."""
    cells_by_text: dict[str, list[Cell]] = {}
    for cell in cells:
        cells_by_text.setdefault(str(cell), []).append(cell)
    names_by_key = {}
    for name, cells in cells_by_text.items():
        paths = list(_differences([cell.resolved for cell in cells]))[:_MAX_DIFFERENCES] if len(cells) > 1 else []
        for cell in cells:
            differences = [f"{'.'.join(path)}={_value_at(cell.resolved, path)}" for path in paths]
            names_by_key[cell.key] = f"{name} ({', '.join(differences)})" if differences else name
    return names_by_key


def _short_names(cells: Iterable[Cell]) -> Mapping[str, str]:
    """Return the schemes and seeds of cells by their keys; nothing if they are not unique."""
    short = {cell.key: f"{cell.label}, seed {cell.seed}" for cell in cells}
    return short if len(set(short.values())) == len(short) else {}


def _differences(tables: Sequence[Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths at which nested tables differ; a list counts as one value."""
    if all(isinstance(table, Mapping) for table in tables):
        for key in dict.fromkeys(key for table in tables for key in table):
            yield from _differences([table.get(key) for table in tables], (*prefix, key))
    elif any(table != tables[0] for table in tables):
        yield prefix


def _value_at(table: Any, path: Sequence[str]) -> str:
    for key in path:
        table = table.get(key) if isinstance(table, Mapping) else None
    return textwrap.shorten(json.dumps(table), _MAX_VALUE, placeholder="...")


def _speed(simulated_s: float, elapsed_s: float) -> str:
    return f"{simulated_s / elapsed_s if elapsed_s else 0.0:,.0f} x real time"


def duration(time_s: float) -> str:
    """Return a duration as text, such as ``6 min 2 s``."""
    minutes, seconds = divmod(round(time_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
