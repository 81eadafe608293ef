"""One cell, run: the engine advances in steps of simulated time, and its tables stream to Parquet."""

from __future__ import annotations

import itertools
import json
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aqmlab._core import RecordBatch, Simulation, engine_version, results_number
from aqmlab.cells import columns
from aqmlab.cells.calibration_model import known
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.disciplines.custom import registry
from aqmlab.metrics import summary
from aqmlab.running import checks
from aqmlab.running.machine.memory import MEMORY, need_of
from aqmlab.running.monitoring import RunningSimulation, with_monitoring
from aqmlab.running.pcap import Pcap, warn_truncated
from aqmlab.running.progress import RunProgress, is_wanted
from aqmlab.running.validation import check_experiment, check_out, check_pcap, check_seed
from aqmlab.spec.experiment import Experiment
from aqmlab.storage.errors import StoreError
from aqmlab.storage.integrity import finalize, writing
from aqmlab.store.result import Result
from aqmlab.store.store import Store

Watch = Callable[[float, float], None]
"""Told the simulated time and its end, in seconds, after each step; what it raises ends the run."""

_STEP_S = 1.0
"""Between two looks at the watch: milliseconds of wall time, so that an interrupt is heard at once."""

_LARGE = 100_000_000
"""A cell that may take more bytes has ten steps in the place of one, in which its memory grows by less. Ours."""

_STEPS_A_BATCH = 60
"""Between two writes. Counted in simulated time, so that the files' row groups are the same in every run."""


def run(
    experiment: Experiment,
    *,
    seed: int = 1,
    out: Path | str = "results",
    pcap: Pcap | None = None,
    progress: bool | None = None,
) -> Result:
    """Run an experiment with one seed, or return the result from the store where it has been run before.

    Parameters
    ----------
    experiment
        What to run.
    seed
        It decides all random draws. Experiments with one seed have the same users, whatever the discipline.
    out
        The results directory, or its URL such as ``"s3://bucket/prefix"``.
    pcap
        A packet capture to be made; for it an experiment that has been run before is run again.
    progress
        Whether it is told on standard error how far the run is; by default at a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the spec asks for something impossible, naming the field, the value and what is allowed.
    LawError
        When a custom law raises or answers nonsense; nothing of the run is kept.
    StoreError
        When a file cannot be written, as on a full disk; nothing of the run is kept, and all that was there before.
    MemoryError
        When the run needs more memory than there is; nothing of it is kept.

    Examples
    --------
    >>> experiment = Experiment(queue={"pi": {"q_ref": 24}}, tcp={"ecn": True})
    >>> run(experiment, seed=1).queue  # doctest: +SKIP
    """
    check_experiment(experiment)
    check_pcap(pcap)
    (cell,) = cells_of(experiment, [check_seed(seed)], known(check_out(out)))
    store = Store(out)
    with MEMORY.room_for(cell) as check, RunProgress(str(cell)) if is_wanted(progress) else nullcontext() as shown:

        def watch(now: float, end: float) -> None:
            check(now)
            if shown is not None:
                shown(now, end)

        return run_cell(cell, store, watch, pcap=pcap)


def run_cell(cell: Cell, store: Store, watch: Watch = lambda now, end: None, *, pcap: Pcap | None = None) -> Result:
    """Run a cell unless the store has it and no packets are asked for."""
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


class _Capture(NamedTuple):
    """What is captured, and where it goes."""

    bounds: tuple[float, float, int]
    file: BinaryIO


def _simulate(cell: Cell, directory: Path, watch: Watch, capture: _Capture | None = None) -> float | None:
    """Run a cell into a directory; return when its capture ends, if there was no room for all packets."""
    wall, cpu = time.perf_counter(), time.thread_time()
    bounds = capture and capture.bounds
    simulation = Simulation(cell.spec, cell.seed, registry.makers(cell.resolved), bounds)

    def look(now: float, end: float) -> None:
        if capture is not None:
            capture.file.write(simulation.take_capture())
        watch(now, end)

    write_tables(cell, directory, simulation, look)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    costs = {"simulated_s": simulation.end, "wall_s": wall, "cpu_s": cpu}
    kept = checks.cell_checks(cell, json.loads(simulation.summary()), Result(cell, directory).link)
    write_metadata(cell, directory, {**costs, "checks": kept})
    return simulation.capture_cut_s


def write_tables(cell: Cell, directory: Path, laboratory: RunningSimulation, watch: Watch) -> None:
    """Run a cell to its end, and write its tables."""
    laboratory = with_monitoring(cell, laboratory)
    asked_for = cell.resolved["record"]
    streamed = ["queue", "link", *(name for name in ("exchanges", "losses") if asked_for.get(name))]
    parts = 10 if need_of(cell).at_most > _LARGE else 1
    with _Tables(directory, cell) as tables:
        for step in itertools.count(1):
            laboratory.advance(_STEP_S / parts)
            watch(laboratory.now, laboratory.end)
            ended = laboratory.now >= laboratory.end
            if ended or step % (_STEPS_A_BATCH * parts) == 0:
                for name in streamed:
                    tables.write(name, laboratory.take(name), even_if_empty=ended)
            if ended:
                break
        tables.write("response_times", laboratory.response_times(), even_if_empty=True)
        tables.write("summary", _side_by_side(tables.identity, summary.as_row(laboratory.summary())))


def write_metadata(cell: Cell, directory: Path, said: Mapping[str, Any]) -> None:
    """Write the spec of a cell that has run, and its metadata with what it took: the last of its files."""
    metadata = {"seed": cell.seed, **said, **_provenance()}
    with writing(directory):
        (directory / "spec.json").write_text(cell.spec.json + "\n")
        finalize(directory, {**metadata, "created": datetime.now(UTC).isoformat(timespec="milliseconds")})


class _Tables:
    """The Parquet files of a cell, each opened when its first rows come: only then all columns are known.

    Each says in its key-value metadata which cell it is of.
    """

    def __init__(self, directory: Path, cell: Cell) -> None:
        self._directory = directory
        self._is_custom = registry.is_custom(cell.scheme)
        self._writers: dict[str, pq.ParquetWriter] = {}
        self.identity = summary.as_row(json.dumps(cell.row), columns.SCHEMA)
        self._kept_as = {"aqmlab": json.dumps(cell.identity)}

    def __enter__(self) -> _Tables:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        for name, writer in self._writers.items():
            try:
                with writing(self._file(name)):
                    writer.close()
            except StoreError:
                # What stopped the run is said, and not what follows from it.
                if failure is None:
                    raise

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.parquet"

    def write(self, name: str, rows: RecordBatch | pa.RecordBatch, *, even_if_empty: bool = False) -> None:
        """Append rows as one row group; a file without rows is made only if that is wanted."""
        batch = pa.record_batch(rows)
        if self._is_custom and name == "queue":
            batch = _without_nan(batch)
        with writing(self._file(name)):
            if name not in self._writers and (batch.num_rows or even_if_empty):
                schema = batch.schema.with_metadata(self._kept_as)
                self._writers[name] = pq.ParquetWriter(self._file(name), schema, compression="zstd")
            if batch.num_rows:
                self._writers[name].write_batch(batch)


def _without_nan(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Write null where the ``probe`` of a custom law has no value and shows NaN."""
    arrays, fields = [], []
    for field, array in zip(batch.schema, batch.columns, strict=True):
        is_number = pa.types.is_float64(field.type)
        arrays.append(pc.if_else(pc.is_nan(array), None, array) if is_number else array)
        fields.append(field.with_nullable(True) if is_number else field)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))


def _side_by_side(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    schema = pa.schema([*left.schema, *right.schema])
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=schema)


@cache
def _provenance() -> dict[str, str | int | None]:
    """Say what made the results: versions, commit and machine."""
    here = Path(__file__).parent
    git = ("git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12")
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
