"""The process of a live run: ``aqmlab-live``, which reads a spec and writes tables.

It is a separate process because this one has threads, and because everything that it creates must end with it.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa

from aqmlab import _core
from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell
from aqmlab.running.errors import LiveError
from aqmlab.running.monitoring import _merged, is_monitored

PROGRAM = Path(_core.__file__).with_name("aqmlab-live")


def not_started(error: OSError) -> LiveError:
    """Return the error of a program that cannot be started, with the remedy if it is missing."""
    if isinstance(error, FileNotFoundError):
        return LiveError(
            f"live runs need {PROGRAM.name}, which is missing: aqmlab's wheels for Linux contain it;"
            " in a source directory, `make live` builds it, on Linux"
        )
    return LiveError(f"{PROGRAM}: cannot be started: {error.strerror}")


PATIENCE_S = 60.0
"""The longest silence of the program, which writes every second and waits at most 10 s for a server: ours."""

STDOUT = 1
STDERR = 2


class LiveRun:
    """A live run as a context; it is killed if the context ends before it.

    Parameters
    ----------
    cell
        The cell to run.
    device
        The device between hosts and router, ``"tun"`` or ``"veth"``; by default the one that the machine allows.
    capture
        The start and the end of a packet capture in seconds, and its largest number of packets.
    output
        The file descriptor to which the cell's programs write.

    Raises
    ------
    SpecError
        When live runs do not support the spec.
    LiveError
        When the machine refuses something, or the run is killed.
    """

    _world, _hint = "live", ""

    def __init__(
        self,
        cell: Cell,
        device: str | None = None,
        *,
        capture: tuple[float, float, int] | None = None,
        output: int = STDOUT,
    ) -> None:
        self._request: dict[str, Any] = {"spec": cell.resolved, "seed": cell.seed, "device": device}
        if is_monitored():
            self._request["watched"] = True
        if capture is not None:
            from_s, until_s, packets = capture
            until = None if math.isinf(until_s) else until_s
            self._request["capture"] = {"from_s": from_s, "until_s": until, "packets": packets}
        self._programs = cell.programs
        self._output = output
        self._buffer = bytearray()
        self._capture = b""
        self._tables: dict[str, list[pa.RecordBatch]] = {}
        self._latest = dict.fromkeys(("response_times", "glance"), pa.RecordBatch.from_pydict({}))
        self._final: dict[str, Any] = {}
        self.end = cell.end_s
        self.now = 0.0

    def __enter__(self) -> Self:
        self._process = self._start()
        return self

    def _start(self) -> subprocess.Popen[bytes]:
        # Its standard output carries tables, so that programs write to another file.
        files = []
        if self._programs is not None:
            command, server = self._programs
            files = [os.dup(self._output)]
            self._request["programs"] = {"command": command, "server": server, "output": files[0]}
        try:
            # A process group of its own, so that an interrupt reaches only this process.
            process = subprocess.Popen(
                [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0, pass_fds=files
            )
        except OSError as error:
            raise not_started(error) from None
        finally:
            for file in files:
                os.close(file)
        try:
            assert process.stdin
            with process.stdin as stdin:
                stdin.write(json.dumps(self._request).encode())
        except BrokenPipeError:
            pass  # Its output or its exit code has the reason.
        return process

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._out.close()
        self._process.wait()

    @property
    def process(self) -> int:
        """The identifier of the process."""
        return self._process.pid

    def advance(self, seconds: float) -> None:
        """Wait until the run has advanced by ``seconds``, or to its end."""
        until = min(self.now + seconds, self.end)
        while self.now < min(until, self.end):
            line = self._line()
            if "now_s" in line:
                self.now, self.end = float(line["now_s"]), float(line["end_s"])
        if self.now >= self.end and not self._final:
            self._final = self._line()

    def take(self, table: str) -> pa.RecordBatch:
        """Return the new rows of a table; without monitoring they come at the end of the run."""
        return _merged(self._tables.pop(table, []))

    def take_capture(self) -> bytes:
        """Return the new bytes of the capture."""
        capture, self._capture = self._capture, b""
        return capture

    def response_times(self) -> pa.RecordBatch:
        """Return the histogram of response times."""
        return self._latest["response_times"]

    def gauges(self) -> pa.RecordBatch:
        """Return the latest state of the links, if the run is monitored."""
        return self._latest["glance"]

    def summary(self) -> str:
        """Return the results of the measurement window as JSON."""
        return json.dumps(self._final["summary"])

    def metadata(self) -> dict[str, Any]:
        """Return the facts of the run: kernel, device, settings of TCP, and its measured validity."""
        metadata: dict[str, Any] = self._final["live"]
        return metadata

    @property
    def _program(self) -> Path:
        return PROGRAM

    @property
    def _patience_s(self) -> float:
        """The longest silence of the program."""
        return PATIENCE_S

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout
        return self._process.stdout

    def _line(self) -> dict[str, Any]:
        """Return the next line that is about the run, and store what other lines announce."""
        while True:
            while (end := self._buffer.find(b"\n")) < 0:
                self._buffer += self._read_chunk()
            line: dict[str, Any] = json.loads(self._read(end + 1))
            if "refused" in line:
                raise SpecError(line["refused"])
            if "failed" in line:
                raise LiveError(f"{self._world}: {line['failed']}")
            if "capture" in line:
                self._capture += self._read(line["capture"])
            elif "output" in line:
                os.write(self._output, self._read(line["output"]))
            elif "table" in line:
                self._store_table(line["table"], _table(line["columns"], self._read(line["bytes"])))
            else:
                return line

    def _store_table(self, table: str, rows: pa.RecordBatch) -> None:
        if table in self._latest:
            self._latest[table] = rows  # Each message has the whole table so far.
        else:
            self._tables.setdefault(table, []).append(rows)

    def _read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._buffer += self._read_chunk()
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        return content

    def _read_chunk(self) -> bytes:
        """Wait for further output."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        patience_s = self._patience_s
        if not poll.poll(None if math.isinf(patience_s) else patience_s * 1000):
            raise LiveError(f"{self._world}: {self._program.name} has said nothing for {patience_s:g} s")
        content = os.read(self._out.fileno(), 1 << 16)
        if not content:
            raise self._exit_error()
        return content

    def _exit_error(self) -> LiveError:
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            silent = f"says no more, and has not ended after {PATIENCE_S:g} s"
            return LiveError(f"{self._world}: {self._program.name} {silent}")
        status = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return LiveError(f"{self._world}: {self._program.name} ended before the run did ({status}){self._hint}")


def _table(columns: list[tuple[str, str | list[str]]], content: bytes) -> pa.RecordBatch:
    """Parse a table that is stored by columns."""
    # A column of texts has their places in the list that is its kind.
    dtypes = [np.dtype(kind.removesuffix("?") if isinstance(kind, str) else "uint8") for _, kind in columns]
    rows = len(content) // sum(dtype.itemsize for dtype in dtypes)
    arrays, offset = {}, 0
    for (name, kind), dtype in zip(columns, dtypes, strict=True):
        values = np.frombuffer(content, dtype, rows, offset)
        if isinstance(kind, str):
            # In nullable columns NaN means a missing value.
            arrays[name] = pa.array(values, from_pandas=kind.endswith("?"))
        else:
            arrays[name] = pa.array(kind, pa.string()).take(pa.array(values))
        offset += rows * dtype.itemsize
    return pa.RecordBatch.from_pydict(arrays)
