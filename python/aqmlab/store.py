"""The store: a directory of cells, each a directory of Parquet tables that appears complete or not at all.

::

    results/cells/<key>/spec.json               the resolved spec
                        metadata.json           seed, versions, machine, wall and CPU time
                        summary.parquet         one row
                        queue.parquet           every 10 ms: packets, bytes, the law's variables
                        link.parquet            every 100 ms: bytes, packets, drops, marks by direction
                        response_times.parquet  log histogram by response size
                        exchanges.parquet       one row for each request, when asked for
                        losses.parquet          one row for each packet dropped, when asked for

Whatever reads Parquet reads it: ``SELECT * FROM read_parquet('results/cells/*/queue.parquet', filename=true)``.
The Parquet files depend on spec, seed and results number alone, to the byte; what a machine adds is in
``metadata.json``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from aqmlab._core import SpecError
from aqmlab.cell import Cell
from aqmlab.result import Result


class Store:
    """The cells below one results directory, which is made where it does not exist.

    Raises
    ------
    SpecError
        When the directory cannot be written to.
    """

    def __init__(self, out: Path | str) -> None:
        self.out = Path(out)
        self._cells = self.out / "cells"
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._cells):
                pass
        except OSError as error:
            raise SpecError(f"out: must be a directory to write to, got {self.out} ({error.strerror})") from None

    def get(self, cell: Cell) -> Result | None:
        """Return the result of a cell that has been run before."""
        directory = self._cells / cell.key
        return Result(cell, directory) if directory.is_dir() else None

    @contextmanager
    def create(self, cell: Cell) -> Iterator[Path]:
        """Give a directory to write a cell's files into; it becomes the cell when the block ends well.

        When the block does not, nothing is left of it.
        """
        draft = Path(tempfile.mkdtemp(prefix=f".{cell.key}-", dir=self._cells))
        try:
            yield draft
            draft.chmod(0o755)
            try:
                draft.rename(self._cells / cell.key)
            except OSError:
                # Another process has made the same cell meanwhile; its bytes are ours.
                if not (self._cells / cell.key).is_dir():
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def scan(self, table: str) -> pl.LazyFrame:
        """Read one table of all cells, with a column ``cell``: what only some laws have is null elsewhere."""
        files = sorted(self._cells.glob(f"[!.]*/{table}.parquet"))
        if not files:
            raise SpecError(f"table: no cell in {self.out} has a table of this name, got {table!r}")
        frames = [pl.scan_parquet(file).with_columns(cell=pl.lit(file.parent.name)) for file in files]
        return pl.concat(frames, how="diagonal_relaxed")
