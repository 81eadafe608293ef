"""Progress on standard error: a bar for each cell on a terminal, a line for each in a log."""

from __future__ import annotations

import threading
from collections.abc import Container, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from aqmlab.cell import Cell
from aqmlab.store import Store

_MOST_ROWS = 20
"""A sweep of more cells does not keep those that are done in view."""


def is_seen() -> bool:
    """Say whether a person sees standard error, as at a terminal and in a notebook."""
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


class _Bars:
    """A context in which bars are shown."""

    def __init__(self) -> None:
        # A notebook shows the lines of a log.
        console = Console(stderr=True, force_jupyter=False)
        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[state]}", justify="right", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(compact=True),
            console=console,
            expand=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._progress.stop()

    def _log(self, line: str) -> None:
        """Say it where no bars are shown."""
        if self._progress.disable:
            self._progress.console.print(line, highlight=False, soft_wrap=True)


class SweepProgress(_Bars):
    """A context, and a watch for :func:`aqmlab.sweep.sweep` inside it.

    Cells that are captured, given by their keys, are run even if the store has them.
    """

    def __init__(self, cells: Sequence[Cell], store: Store, *, captured: Container[str] = ()) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._ended = 0
        distinct = {cell.key: cell for cell in cells}
        self._total = len(distinct)
        self._few = self._total <= _MOST_ROWS
        self._all = self._progress.add_task("all cells", total=self._total, state="")
        self._tasks = {
            key: self._add(cell, kept=key not in captured and store.get(cell) is not None)
            for key, cell in distinct.items()
        }

    def __call__(self, cell: Cell, now: float, end: float) -> None:
        """Show how far a cell is."""
        task_id = self._tasks[cell.key]
        with self._lock:
            task = self._progress.tasks[task_id]
            if not task.started:
                self._progress.start_task(task_id)
            self._progress.update(task_id, total=end, completed=now, visible=True, state=_state(task, now, end))
            if now >= end:
                self._end(cell, task_id, f"{end:,.0f} s simulated, {_speed(task, now):,.0f} x real time")

    def _add(self, cell: Cell, *, kept: bool) -> TaskID:
        name = f"{cell.label}, seed {cell.seed}"
        task_id = self._progress.add_task(name, total=1, start=False, state="", visible=False)
        if kept:
            self._progress.update(task_id, completed=1)
            self._end(cell, task_id, "in the store")
        return task_id

    def _end(self, cell: Cell, task_id: TaskID, how: str) -> None:
        self._progress.update(task_id, state=how, visible=self._few)
        self._progress.advance(self._all)
        self._ended += 1
        self._log(f"[{self._ended}/{self._total}] {cell}: {how}")


class RunProgress(_Bars):
    """A context, and a watch for one run inside it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._task = self._progress.add_task(name, total=None, state="")
        self._now = 0.0

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        super().__exit__(*raised)
        if self._now:
            speed = _speed(self._progress.tasks[self._task], self._now)
            self._log(f"{self._name}: {self._now:,.0f} s simulated, {speed:,.0f} x real time")

    def __call__(self, now: float, end: float) -> None:
        """Show how far the run is."""
        self._now = now
        task = self._progress.tasks[self._task]
        self._progress.update(self._task, total=end, completed=now, state=_state(task, now, end))


class ReportProgress(_Bars):
    """A context, and inside it what is told which part of a report is being made."""

    def __init__(self) -> None:
        super().__init__()
        self._task = self._progress.add_task("report", total=None, state="")

    def __call__(self, part: str) -> None:
        """Show the part's name."""
        self._progress.update(self._task, state=part)
        self._log(f"report: {part}")


def _state(task: Task, now: float, end: float) -> str:
    return f"{now:,.0f}/{end:,.0f} s  {_speed(task, now):,.0f} x real time"


def _speed(task: Task, now: float) -> float:
    return now / task.elapsed if task.elapsed else 0.0
