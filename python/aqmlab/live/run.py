"""Live runs of cells, stored like simulated ones."""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.controls import registry as controls
from aqmlab.live import validity
from aqmlab.live.settings import DEFAULT, Settings
from aqmlab.running.pcap import Pcap, warn_truncated
from aqmlab.running.process import STDOUT, LiveRun
from aqmlab.running.progress import RunProgress, SweepProgress, is_wanted
from aqmlab.running.run import Watch, run_programs, write_metadata, write_tables
from aqmlab.running.validation import check_experiment, check_out, check_seed
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.store.store import Store


def run_live(
    experiment: Experiment,
    *,
    seed: int = 1,
    out: Path | str = "results",
    settings: Settings = DEFAULT,
    pcap: Pcap | None = None,
    progress: bool | None = None,
) -> Result:
    """Run an experiment over the kernel's TCP, or return its valid stored result.

    It takes as long as the experiment in real time, and leaves nothing behind however it ends.

    Parameters
    ----------
    experiment
        The experiment to run, with web users, sources or both.
    seed
        The seed of the users' behaviour and of their connections' delays, the same as in the simulator.
    out
        The results directory.
    settings
        The device between hosts and router, and the bounds of validity.
    pcap
        A packet capture to write. A stored experiment is run again for it.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the spec is invalid, or not supported in live runs.
    LiveError
        When the machine does not support live runs, or the run is killed.
    StoreError
        When a file cannot be written.
    """
    check_experiment(experiment)
    (simulated,) = cells_of(experiment, [check_seed(seed)], load_calibrations(check_out(out)))
    cell, store = live_cell(simulated), Store(out)
    if is_wanted(progress):
        with RunProgress(str(cell), verb="run") as watch:
            return _run_cell(cell, store, watch, settings, pcap)
    return _run_cell(cell, store, lambda now, end: None, settings, pcap)


def live_cell(simulated: Cell) -> Cell:
    """Return the live run of a simulator's cell, over this machine's kernel.

    Raises
    ------
    SpecError
        When the cell needs a custom control.
    """
    controls.check_world(simulated.resolved, "a live run")
    return dataclasses.replace(simulated, kernel=platform.release())


def run_live_cells(
    cells: Sequence[Cell], store: Store, *, settings: Settings = DEFAULT, progress: bool | None = None
) -> list[Result]:
    """Run the live cells without a valid stored result, one at a time; return the results in the order of the cells.

    The errors are those of :func:`run_live`.
    """
    stored = {
        key: result
        for key, result in store.find(cells, will_run_missing=True).items()
        if validity.is_still_valid(result.metadata["live"], settings)
    }
    results = dict(stored)
    with SweepProgress(cells, stored) if is_wanted(progress) else nullcontext(_no_progress) as watch:
        for cell in cells:
            if cell.key not in results:
                results[cell.key] = _run_and_store(cell, store, partial(watch, cell), settings, None)
    return [dataclasses.replace(results[cell.key], cell=cell) for cell in cells]


def _no_progress(cell: Cell, now: float, end: float) -> None:
    """Show nothing."""


def run_command(
    experiment: Experiment,
    command: Sequence[str],
    *,
    server: Sequence[str] | None = None,
    seed: int = 1,
    out: Path | str = "results",
    settings: Settings = DEFAULT,
    pcap: Pcap | None = None,
    output: int = STDOUT,
) -> tuple[Result, int]:
    """Run a command over an experiment's link, with its server on the other side, and with users if there are any.

    The TCP is this machine's, or with ``world = "kernel"`` that of a Linux kernel in virtual time.

    The command starts with the measurement window, ends the run, and may take as long as the window. Its environment
    has the address of its server as ``AQMLAB_SERVER``, and its own as ``AQMLAB_CLIENT``. Each of its connections has a
    round-trip time of the experiment's table. All processes that either starts end with the run.

    Parameters
    ----------
    experiment
        The experiment, with web users, sources or both, or neither: ``users.per_side = 0``.
    command
        The program and its arguments, on side 0.
    server
        The server of the command, on side 1. aqmlab waits until it listens at a port.
    seed
        The seed of the users' behaviour and of all delays.
    out
        The results directory. The command is run every time, and its result replaces the stored one.
    settings
        The device between hosts and router, and the bounds of validity.
    pcap
        A packet capture to write.
    output
        The file descriptor to which both programs write.

    Returns
    -------
    tuple of Result and int
        The measured result, and the exit code of the command: 124 if it did not end in time, and 128 plus the number of
        the signal if one ended it.

    Raises
    ------
    SpecError
        When the spec is invalid, or not supported in live runs.
    LiveError
        When the machine does not support live runs, or the server does not listen.
    StoreError
        When a file cannot be written.
    """
    check_experiment(experiment)
    if not command:
        raise SpecError("command: must be a program and its arguments, got nothing")
    (simulated,) = cells_of(experiment, [check_seed(seed)], load_calibrations(check_out(out)), idle=True)
    programs = (tuple(command), tuple(server) if server else None)
    if simulated.world == "kernel":
        cell = dataclasses.replace(simulated, programs=programs)
        result = run_programs(cell, Store(out), pcap=pcap, output=output)
        code = result.metadata["kernel"]["exit_codes"][0]
        return result, _TIMEOUT_CODE if code is None else code
    cell = dataclasses.replace(live_cell(simulated), programs=programs)
    result = _run_and_store(cell, Store(out), lambda now, end: None, settings, pcap, output)
    code = result.metadata["live"]["exit_codes"][0]
    return result, _TIMEOUT_CODE if code is None else code


_TIMEOUT_CODE = 124
"""The exit code of ``timeout`` for a command that did not end in time."""


def _run_cell(cell: Cell, store: Store, watch: Watch, settings: Settings, pcap: Pcap | None) -> Result:
    result = store.get(cell)
    # An invalid run is repeated.
    if result is not None and pcap is None and validity.is_still_valid(result.metadata["live"], settings):
        return result
    return _run_and_store(cell, store, watch, settings, pcap)


def _run_and_store(
    cell: Cell, store: Store, watch: Watch, settings: Settings, pcap: Pcap | None, output: int = STDOUT
) -> Result:
    """Run a cell, and replace its stored result."""
    bounds = None if pcap is None else pcap.bounds(cell)
    with ExitStack() as stack:
        file = None if pcap is None else stack.enter_context(pcap.create())
        directory = stack.enter_context(store.create(cell))
        live = stack.enter_context(LiveRun(cell, settings.device, capture=bounds, output=output))
        wall = time.perf_counter()

        def on_step(now: float, end: float) -> None:
            if file is not None:
                file.write(live.take_capture())
            watch(now, end)

        write_tables(cell, directory, live, on_step)
        metadata = live.metadata()
        measured = {**metadata.pop("measured"), "exit_codes": metadata.pop("exit_codes")}
        cut_s = metadata.pop("capture_cut_s")
        validity_record = {**validity.verdict(measured, settings), **measured}
        costs = {"simulated_s": live.end, "wall_s": time.perf_counter() - wall, "cpu_s": metadata.pop("cpu_s")}
        programs = {} if cell.programs is None else {"command": cell.programs[0], "server": cell.programs[1]}
        write_metadata(cell, directory, {**costs, "live": {**metadata, **programs, **validity_record}})
        if store.get(cell) is not None:
            store.remove(cell.key)
    if pcap is not None and cut_s is not None:
        warn_truncated(pcap, cell, cut_s)
    result = store.get(cell)
    assert result is not None, "a cell that ended well is in the store"
    return result
