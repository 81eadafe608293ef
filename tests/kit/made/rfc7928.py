"""What cells of the study of RFC 7928 might have given, made up."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

import made.results
from aqmlab.results.result import Result
from aqmlab.running.cell import Cell
from aqmlab.spec import schemes
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import Study, study_cells
from aqmlab.studies.rfc7928 import Rfc7928

Losses = tuple[tuple[float, ...], tuple[int, ...]]

LOST: Losses = ((0, 1, 50, 300), (1, 1, 2, 3))
"""When something is lost, in ms after the warm-up, and of which flow."""


def parse(*texts: str) -> list[schemes.Scheme]:
    return [schemes.parse(text) for text in texts]


@cache
def table(name: str, begin: float, links: int = 1) -> bytes:
    """Make up 2 s of a queue of 9 to 11 packets in the direction of the data, at every link in series."""
    step = {"queue": 0.01, "link": 0.1}[name]
    times = begin + step * np.arange(1, round(2 / step) + 1)
    frame = pl.DataFrame({"time_s": np.repeat(times, 2), "direction": np.tile([0, 1], len(times)).astype(np.uint8)})
    waiting = pl.col("direction") * (9 + pl.col("time_s").rank("dense") % 3)
    columns: dict[str, pl.Expr] = (
        {"packets": waiting, "bytes": 1500 * waiting}
        if name == "queue"
        else {"arrived": pl.lit(100), "bytes": 100_000 + 1000 * waiting, "drops": pl.lit(1), "marks": pl.lit(2)}
    )
    frame = frame.with_columns(**columns)
    if links > 1:
        frame = frame.join(pl.DataFrame({"link": range(1, links + 1)}), how="cross", maintain_order="left_right")
    return parquet(made.results.table(name, frame))


@cache
def summary(names: tuple[str, ...], seed: int) -> bytes:
    """Make up numbers for each source."""
    numbers = {
        "goodput_mbps": 2.0 + 0.01 * seed,
        "response_time_ms": {"mean": 500.0 + seed, "p50": 450.0, "p95": 900.0, "p99": 950.0},
        "datagrams": {"loss_percent": 0.5, "delay_ms_mean": 3.0, "delay_ms_p99": 9.0 + seed},
    }
    return parquet(made.results.summary_of({"sources": [{"name": name, **numbers} for name in names]}))


def parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def written(directory: Path, cell: Cell, lost: Losses = LOST) -> Result:
    """Write what a cell might have given."""
    directory.mkdir(parents=True)
    names = tuple(next(iter(source.values()))["name"] for source in cell.resolved["sources"])
    begin = cell.warmup_s
    (directory / "summary.parquet").write_bytes(summary(names, cell.seed))
    for name in ("queue", "link"):
        links = len(cell.resolved.get("chain", [0]))
        (directory / f"{name}.parquet").write_bytes(table(name, begin, links))
    (directory / "losses.parquet").write_bytes(losses_at(begin, *lost))
    made.results.write(directory, exchanges=pl.DataFrame({"syn_retransmits": [0, 1, 0, 2]}))
    return Result(cell, directory)


@cache
def losses_at(begin: float, after_ms: tuple[float, ...], flows: tuple[int, ...]) -> bytes:
    """Make up losses of some flows so long after the warm-up."""
    times = [begin + after / 1e3 for after in after_ms]
    return parquet(
        made.results.table("losses", pl.DataFrame({"time_s": times, "direction": 1, "source": 1, "flow": flows}))
    )


def dry(study: Study, tmp_path: Path, length: str = "quick", lost: Losses = LOST) -> Report:
    """Report on results that were made up."""
    cells = study_cells(study, study.lengths[length].repeated(range(1, 3)), {})
    results = {
        name: [written(tmp_path / str(number) / str(cell.seed), cell, lost) for cell in some]
        for number, (name, some) in enumerate(cells.items())
    }
    return Report.of(study, study.lengths[length], results)


def cell_of(run: str) -> Cell:
    study = Rfc7928()
    (cell,) = study_cells(study, study.lengths["quick"].repeated(range(1, 2)), {})[run]
    return cell
