"""A cell, run live and stored beside the simulated ones."""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import known
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.live import validity
from aqmlab.live.process import STDOUT, LiveRun
from aqmlab.live.settings import DEFAULT, Settings
from aqmlab.running.pcap import Pcap, warn_truncated
from aqmlab.running.progress import RunProgress, is_wanted
from aqmlab.running.run import Watch, write_metadata, write_tables
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
    """Run an experiment over the kernel's TCP, or return the result from the store where a valid one is there.

    It takes as long as the experiment says. Nothing of it is left when it ends, however it ends.

    Parameters
    ----------
    experiment
        What to run: web users, sources or both.
    seed
        It decides what users do, and the delays of their connections: the same as in the simulator.
    out
        The results directory.
    settings
        What joins the hosts to the router, and how late it may be.
    pcap
        A packet capture to be made; for it an experiment that has been run before is run again.
    progress
        Whether it is told on standard error how far the run is; by default at a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the spec asks for something impossible, or for what live does not have.
    LiveError
        When the machine does not let it run, or it is killed.
    StoreError
        When a file cannot be written.
    """
    check_experiment(experiment)
    (simulated,) = cells_of(experiment, [check_seed(seed)], known(check_out(out)))
    cell = dataclasses.replace(simulated, kernel=platform.release())
    store = Store(out)
    if is_wanted(progress):
        with RunProgress(str(cell), done="run") as watch:
            return _run_cell(cell, store, watch, settings, pcap)
    return _run_cell(cell, store, lambda now, end: None, settings, pcap)


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
    """Run a command over an experiment's link, and its server on the other side, beside the users if there are any.

    The command starts with the measured window and ends the run; it has no longer than the window. It finds the address
    of its server in the environment, as ``AQMLAB_SERVER``, and its own as ``AQMLAB_CLIENT``. Each of its connections
    has a round-trip time of the experiment's table. Nothing that either starts is left when the run ends.

    Parameters
    ----------
    experiment
        Web users, sources or both, or neither: ``users.per_side = 0``.
    command
        The program and its arguments: on side 0.
    server
        What the command talks to, on side 1: it is waited for until it listens at a port.
    seed
        It decides what users do, and all delays.
    out
        The results directory. Such a run is made each time that it is asked for, and takes the place of the one before.
    settings
        What joins the hosts to the router, and how late it may be.
    pcap
        A packet capture to be made.
    output
        The number of the open file that both write to.

    Returns
    -------
    tuple of Result and int
        The link's side of it, and the exit code of the command: 124 where it did not end in time, and 128 and the
        number of the signal that ended it.

    Raises
    ------
    SpecError
        When the spec asks for something impossible, or for what live does not have.
    LiveError
        When the machine does not let it run, or the server does not listen.
    StoreError
        When a file cannot be written.
    """
    check_experiment(experiment)
    if not command:
        raise SpecError("command: must be a program and its arguments, got nothing")
    (simulated,) = cells_of(experiment, [check_seed(seed)], known(check_out(out)), idle=True)
    programs = (tuple(command), tuple(server) if server else None)
    cell = dataclasses.replace(simulated, kernel=platform.release(), programs=programs)
    result = _make(cell, Store(out), lambda now, end: None, settings, pcap, output)
    code = result.metadata["live"]["exit_codes"][0]
    return result, _TOO_LONG if code is None else code


_TOO_LONG = 124
"""The exit code of ``timeout`` for a command that did not end in time."""


def _run_cell(cell: Cell, store: Store, watch: Watch, settings: Settings, pcap: Pcap | None) -> Result:
    result = store.get(cell)
    # What cannot be relied on is worth another try.
    if result is not None and pcap is None and validity.is_still_valid(result.metadata["live"], settings):
        return result
    return _make(cell, store, watch, settings, pcap)


def _make(
    cell: Cell, store: Store, watch: Watch, settings: Settings, pcap: Pcap | None, output: int = STDOUT
) -> Result:
    """Run a cell; what comes of it takes the place of what came of it before."""
    bounds = None if pcap is None else pcap.bounds(cell)
    with ExitStack() as stack:
        file = None if pcap is None else stack.enter_context(pcap.create())
        directory = stack.enter_context(store.create(cell))
        live = stack.enter_context(LiveRun(cell, settings.device, capture=bounds, output=output))
        wall = time.perf_counter()

        def look(now: float, end: float) -> None:
            if file is not None:
                file.write(live.take_capture())
            watch(now, end)

        write_tables(cell, directory, live, look)
        about = live.about()
        measured = {**about.pop("measured"), "exit_codes": about.pop("exit_codes")}
        cut_s = about.pop("capture_cut_s")
        judged = {**validity.verdict(measured, settings), **measured}
        costs = {"simulated_s": live.end, "wall_s": time.perf_counter() - wall, "cpu_s": about.pop("cpu_s")}
        programs = {} if cell.programs is None else {"command": cell.programs[0], "server": cell.programs[1]}
        write_metadata(cell, directory, {**costs, "live": {**about, **programs, **judged}})
        if store.get(cell) is not None:
            store.remove(cell.key)
    if pcap is not None and cut_s is not None:
        warn_truncated(pcap, cell, cut_s)
    result = store.get(cell)
    assert result is not None, "a cell that ended well is in the store"
    return result
