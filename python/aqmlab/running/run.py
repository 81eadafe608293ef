"""The run of one cell: the engine advances in steps of simulated time, and its tables are written to Parquet."""

from __future__ import annotations

import itertools
import json
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aqmlab._core import RecordBatch, Simulation, engine_version, results_number
from aqmlab.cells import columns
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.controls import registry as controls
from aqmlab.disciplines.custom import registry
from aqmlab.metrics import summary
from aqmlab.running import checks
from aqmlab.running.guest import GuestRun
from aqmlab.running.machine.memory import MEMORY, need_of
from aqmlab.running.monitoring import RunningSimulation, with_monitoring
from aqmlab.running.pcap import Pcap, warn_truncated
from aqmlab.running.process import STDOUT
from aqmlab.running.progress import RunProgress, is_wanted
from aqmlab.running.validation import check_experiment, check_out, check_pcap, check_seed
from aqmlab.spec.experiment import Experiment
from aqmlab.storage.errors import StoreError
from aqmlab.storage.integrity import finalize, writing
from aqmlab.store.result import Result
from aqmlab.store.store import Store

Watch = Callable[[float, float], None]
"""A callback that gets the simulated time and its end, in seconds, after each step. An exception ends the run."""

_STEP_S = 1.0
"""The simulated time between two callbacks: milliseconds of wall time, so that an interrupt acts at once."""

_LARGE_RUN_BYTES = 100_000_000
"""A cell that may take more bytes has ten times as many steps, so that its memory is checked more often. Ours."""

_STEPS_A_BATCH = 60
"""The steps between two writes. Counted in simulated time, so that row groups are the same in every run."""

_ROWS_A_GROUP = 100_000
"""The rows after which the changes of flows are written before that: an acknowledgement may be a change."""


def run(
    experiment: Experiment,
    *,
    seed: int = 1,
    out: Path | str = "results",
    pcap: Pcap | None = None,
    progress: bool | None = None,
) -> Result:
    """Run an experiment with one seed, or return its stored result.

    Parameters
    ----------
    experiment
        The experiment to run.
    seed
        The seed of all random draws. Experiments with the same seed have the same users under every discipline.
    out
        The results directory, or its URL, such as ``"s3://bucket/prefix"``.
    pcap
        A packet capture to write. A stored experiment is run again for it.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the spec is invalid, naming the field, the accepted values and the value given.
    LawError
        When a custom law or congestion control raises or gives an invalid value. The store keeps no part of the run.
    StoreError
        When a file cannot be written, for example on a full disk. The store keeps no part of the run, and loses
        nothing.
    MemoryError
        When the run needs more memory than is available. The store keeps no part of the run.

    Examples
    --------
    >>> experiment = Experiment(queue={"pi": {"q_ref": 24}}, tcp={"ecn": True})
    >>> run(experiment, seed=1).queue  # doctest: +SKIP
    """
    check_experiment(experiment)
    check_pcap(pcap)
    (cell,) = cells_of(experiment, [check_seed(seed)], load_calibrations(check_out(out)))
    store = Store(out)
    with (
        MEMORY.room_for(cell) as check,
        RunProgress(str(cell)) if is_wanted(progress) else nullcontext() as progress_bar,
    ):

        def watch(now: float, end: float) -> None:
            check(now)
            if progress_bar is not None:
                progress_bar(now, end)

        return run_cell(cell, store, watch, pcap=pcap)


def run_cell(cell: Cell, store: Store, watch: Watch = lambda now, end: None, *, pcap: Pcap | None = None) -> Result:
    """Run a cell, or return its stored result if no capture is requested."""
    result = store.get(cell)
    if pcap is not None:
        bounds = pcap.bounds(cell)
        with pcap.create() as file, store.create(cell) as directory:
            cut_s = _simulate(cell, directory, watch, _Capture(bounds, file))
        if cut_s is not None:
            warn_truncated(pcap, cell, cut_s)
    elif result is None:
        with store.create(cell) as directory:
            _simulate(cell, directory, watch)
    if result is None:
        result = store.get(cell)
    assert result is not None, "a cell that ended well is in the store"
    return result


def run_programs(cell: Cell, store: Store, *, pcap: Pcap | None = None, output: int = STDOUT) -> Result:
    """Run a cell with its programs, in a Linux kernel in virtual time, and replace its stored result."""
    with ExitStack() as stack:
        capture = None if pcap is None else _Capture(pcap.bounds(cell), stack.enter_context(pcap.create()))
        directory = stack.enter_context(store.create(cell))
        cut_s = _simulate(cell, directory, lambda now, end: None, capture, output)
        if store.get(cell) is not None:
            store.remove(cell.key)
    if pcap is not None and cut_s is not None:
        warn_truncated(pcap, cell, cut_s)
    result = store.get(cell)
    assert result is not None, "a cell that ended well is in the store"
    return result


class _Capture(NamedTuple):
    """The bounds of a packet capture and its open file."""

    bounds: tuple[float, float, int]
    file: BinaryIO


def _simulate(
    cell: Cell, directory: Path, watch: Watch, capture: _Capture | None = None, output: int = STDOUT
) -> float | None:
    """Run a cell into a directory; return the end of its capture if it is truncated. Programs write to ``output``."""
    bounds = capture and capture.bounds
    if cell.world == "kernel":
        with GuestRun(cell, capture=bounds, output=output) as guest:
            return _write(cell, directory, watch, guest, capture)
    resolved = cell.resolved
    simulation = Simulation(cell.spec, cell.seed, registry.makers(resolved), controls.makers(resolved), bounds)
    return _write(cell, directory, watch, simulation, capture)


def _write(
    cell: Cell, directory: Path, watch: Watch, simulation: Simulation | GuestRun, capture: _Capture | None
) -> float | None:
    """Write the tables and the metadata of a cell that runs; return the end of its capture if it is truncated."""
    wall, cpu = time.perf_counter(), time.thread_time()

    def on_step(now: float, end: float) -> None:
        if capture is not None:
            capture.file.write(simulation.take_capture())
        watch(now, end)

    write_tables(cell, directory, simulation, on_step)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    if isinstance(simulation, GuestRun):
        cpu += simulation.cpu_s
    costs = {"simulated_s": simulation.end, "wall_s": wall, "cpu_s": cpu}
    results = checks.cell_checks(cell, json.loads(simulation.summary()), Result(cell, directory).link)
    if isinstance(simulation, GuestRun):
        about = simulation.metadata()
        cut_s: float | None = about.pop("capture_cut_s")
        write_metadata(cell, directory, {**costs, "checks": results, "kernel": about})
        return cut_s
    write_metadata(cell, directory, {**costs, "checks": results})
    return simulation.capture_cut_s


def write_tables(cell: Cell, directory: Path, simulation: RunningSimulation, watch: Watch) -> None:
    """Run a cell to its end and write its tables."""
    simulation = with_monitoring(cell, simulation)
    record = cell.resolved["record"]
    streamed = ["queue", "link", *(name for name in ("exchanges", "losses", "flows") if record.get(name))]
    has_changes = (record.get("flows") or {}).get("every") == "changes"
    parts = 10 if need_of(cell).max_bytes > _LARGE_RUN_BYTES else 1
    with _Tables(directory, cell) as tables:
        for step in itertools.count(1):
            simulation.advance(_STEP_S / parts)
            watch(simulation.now, simulation.end)
            ended = simulation.now >= simulation.end
            if ended or step % (_STEPS_A_BATCH * parts) == 0:
                for name in streamed:
                    tables.write(name, simulation.take(name), even_if_empty=ended)
            elif has_changes:
                tables.hold("flows", simulation.take("flows"))
            if ended:
                break
        tables.write("response_times", simulation.response_times(), even_if_empty=True)
        tables.write("summary", _join_columns(tables.identity, summary.as_row(simulation.summary())))


def write_metadata(cell: Cell, directory: Path, measured: Mapping[str, Any]) -> None:
    """Write the spec and the metadata of a completed cell; the metadata are its last file."""
    metadata = {"seed": cell.seed, **measured, **_provenance()}
    with writing(directory):
        (directory / "spec.json").write_text(cell.spec.json + "\n")
        finalize(directory, {**metadata, "created": datetime.now(UTC).isoformat(timespec="milliseconds")})


class _Tables:
    """The Parquet files of a cell. Each is opened with its first rows, because only then all columns are known.

    Its key-value metadata identify the cell.
    """

    def __init__(self, directory: Path, cell: Cell) -> None:
        self._directory = directory
        self._is_custom = registry.is_custom(cell.scheme)
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._held: dict[str, list[pa.RecordBatch]] = {}
        self.identity = summary.as_row(json.dumps(cell.row), columns.SCHEMA)
        self._metadata = {"aqmlab": json.dumps(cell.identity)}

    def __enter__(self) -> _Tables:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        for name, writer in self._writers.items():
            try:
                with writing(self._file(name)):
                    writer.close()
            except StoreError:
                # Report the error that stopped the run, not one that follows from it.
                if failure is None:
                    raise

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.parquet"

    def hold(self, name: str, rows: RecordBatch | pa.RecordBatch) -> None:
        """Keep rows for the next row group, which is written when there are many."""
        held = self._held.setdefault(name, [])
        held.append(pa.record_batch(rows))
        if sum(batch.num_rows for batch in held) >= _ROWS_A_GROUP:
            self.write(name, held.pop())

    def write(self, name: str, rows: RecordBatch | pa.RecordBatch, *, even_if_empty: bool = False) -> None:
        """Append rows, after those held back, as one row group; ``even_if_empty`` creates a file without rows."""
        batch = pa.record_batch(rows)
        if self._is_custom and name == "queue":
            batch = _without_nan(batch)
        table = pa.Table.from_batches([*self._held.pop(name, ()), batch])
        with writing(self._file(name)):
            if name not in self._writers and (table.num_rows or even_if_empty):
                self._writers[name] = parquet_writer(self._file(name), table.schema.with_metadata(self._metadata))
            if table.num_rows:
                self._writers[name].write_table(table)


def parquet_writer(file: Path | BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """Return the writer of a table.

    Without dictionaries of fractional numbers, which hardly repeat, and without statistics, it takes a quarter less
    time, and the table of queues a third less space.
    """
    repeating = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeating, write_statistics=False)


def _without_nan(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace NaN by null: the ``probe`` of a custom law returns NaN for a missing value."""
    arrays, fields = [], []
    for field, array in zip(batch.schema, batch.columns, strict=True):
        is_number = pa.types.is_float64(field.type)
        arrays.append(pc.if_else(pc.is_nan(array), None, array) if is_number else array)
        fields.append(field.with_nullable(True) if is_number else field)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))


def _join_columns(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    schema = pa.schema([*left.schema, *right.schema])
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=schema)


@cache
def _provenance() -> dict[str, str | int | None]:
    """Return the versions, the commit and the machine that make the results."""
    directory = Path(__file__).parent
    git = ("git", "-C", str(directory), "describe", "--always", "--dirty", "--abbrev=12")
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = None
    return {
        "results": results_number(),
        "engine": engine_version(),
        "commit": commit,
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "machine": platform.platform(),
    }
