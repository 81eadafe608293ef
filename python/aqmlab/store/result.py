"""The result of a cell, read from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell
from aqmlab.cells.differences import check_one_spec
from aqmlab.metrics.metrics import LIMITS, MEASURES, PARTS, is_held_by_device
from aqmlab.metrics.parts import Parts
from aqmlab.metrics.summary import SCHEMA
from aqmlab.spec import directions
from aqmlab.stats.distributions import cdf
from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import Files, read_metadata
from aqmlab.storage.io import fetch, fetch_all
from aqmlab.storage.location import Location
from aqmlab.ui import html_table
from aqmlab.ui.counts import counted


@dataclass(frozen=True, repr=False)
class Result:
    """The result of one cell. Tables are read on access."""

    cell: Cell
    place: Location
    """Its directory in the store: a local path, or a path of universal-pathlib for a remote store."""
    files: Files = field(default_factory=dict, compare=False)
    """The digests of its files, against which tables are checked when they are read; empty if unknown."""

    @cached_property
    def directory(self) -> Path:
        """A local directory with its files. Files of a remote store are fetched, and removed when the process ends."""
        return fetch_all(self.place, self.files)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Versions, machine, wall and CPU time."""
        return read_metadata(self.place)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The results of the measurement window: the measures of :mod:`aqmlab.metrics.metrics`, and ``counters``.

        ``directions`` has loss, marks, throughput, utilisation, queue and queueing delay of each direction of each link
        over the measurement window; ``counters`` counts their packets by outcome over the whole run, with the warm-up.
        A number is ``None`` if the cell was stored before aqmlab measured it.
        """
        return {**dict.fromkeys(SCHEMA.names), **self._table("summary").row(0, named=True)}

    @property
    def queue(self) -> pl.DataFrame:
        """Packets, bytes and the law's variables over time, by direction."""
        return self._table("queue")

    @property
    def link(self) -> pl.DataFrame:
        """Bytes, packets, drops and marks over time, by direction."""
        return self._table("link")

    @property
    def response_times(self) -> pl.DataFrame:
        """Log histogram of response times by response size."""
        return self._table("response_times")

    @cached_property
    def response_time_bins(self) -> pl.DataFrame:
        """The histogram of response times over all sizes. It is small, and cached for frequent use."""
        by_time = self.response_times.group_by("time_low_ms", "time_high_ms")
        return by_time.agg(pl.col("count").sum()).sort("time_low_ms")

    @property
    def exchanges(self) -> pl.DataFrame:
        """One row for each request."""
        return self._asked_for("exchanges")

    @property
    def losses(self) -> pl.DataFrame:
        """One row for each packet that a queue dropped in the measurement window: its time, source and flow."""
        return self._asked_for("losses")

    @property
    def valid(self) -> bool:
        """False for a live run whose machine did not keep up; see ``aqmlab live``."""
        return bool(self.metadata.get("live", {}).get("valid", True))

    def measure(self, name: str) -> float | None:
        """Return one number, such as ``"p90"``, ``"game one-way p99"`` or ``"response_time_ms.p90"``.

        ``None`` if there was nothing to measure.

        Raises
        ------
        SpecError
            When there is no such number; the message lists the numbers.
        """
        return Parts.of([self.cell.resolved]).find(name, "measure").read(self.summary)

    def record(self) -> dict[str, Any]:
        """Return settings, measures and costs as one object: a row of ``aqmlab compare --json``.

        A live run also has ``valid`` and ``invalid_reasons``.
        """
        summary, metadata = self.summary, self.metadata
        live = metadata.get("live", {})
        return {
            **self.cell.identity,
            **{measure: summary[measure] for measure in MEASURES},
            **{part: summary[part] for part in PARTS},
            "directions": directions.named(summary["directions"], self.cell.direction_names),
            "wall_s": metadata["wall_s"],
            "cpu_s": metadata["cpu_s"],
            "x_real_time": metadata["simulated_s"] / metadata["wall_s"],
            **{name: live[name] for name in ("valid", "invalid_reasons") if live},
            "cell": str(self.place),
        }

    def __repr__(self) -> str:
        facts = self.facts
        width = 2 + max(len(name) for name, _ in facts)
        return "\n".join([str(self.cell), *(f"  {name + ':':{width}}{what}" for name, what in facts)])

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The measures as lines with their names, beginning with the directions."""
        it = self.record()
        times = ", ".join(f"{name} {_number(value)}" for name, value in it["response_time_ms"].items())
        requests = f"{counted(it['completed_requests'], 'request')} completed, {it['aborted_requests']:,} aborted"
        return [
            *(
                (place, f"{_passage(way)}, {_queue(way)}")
                for place, way in directions.by_place(it["directions"]).items()
            ),
            ("packets", f"{_number(it['packet_bytes_mean'])} bytes in the mean"),
            ("users", f"{requests}{_limit(it['users_limited_by_percent'])}{_delay_of(it['users'])}"),
            ("response", f"{times} ms"),
            *((one["name"], f"{counted(one['packets'], 'packet')} sent, {_delay(one)}") for one in it["classes"]),
            *(("source", _source(one)) for one in it["sources"]),
            *self._how(),
            ("tables", str(self.place)),
        ]

    def _how(self) -> list[tuple[str, str]]:
        it = self.metadata
        if "live" not in it:
            speed = it["simulated_s"] / it["wall_s"]
            return [("simulated", f"{it['simulated_s']:,.0f} s in {it['wall_s']:.1f} s ({speed:.0f} x real time)")]
        live = it["live"]
        late = f"router {live['router_lateness_ms_p99']:.2f} ms late (p99)"
        verdict = "valid" if live["valid"] else f"INVALID: {'; '.join(live['invalid_reasons'])}"
        return [
            ("live", f"{it['simulated_s']:,.0f} s over Linux {self.cell.kernel}, {late}"),
            ("verdict", verdict),
        ]

    def _repr_html_(self) -> str:
        return html_table.facts(str(self.cell), self.facts)

    def _asked_for(self, name: str) -> pl.DataFrame:
        if not self.cell.resolved["record"].get(name):
            raise SpecError(f"record.{name}: must be true to have this table, got false")
        return self._table(name)

    def _table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.file(name))

    def file(self, name: str) -> Path:
        """Return the local, checked file of a table; that of a remote store is fetched.

        Parameters
        ----------
        name
            The table, such as ``"exchanges"``.

        Raises
        ------
        StoreError
            When it is missing or damaged.
        """
        file = self.place / f"{name}.parquet"
        if isinstance(file, Path) and file.name not in self.files:
            return file
        try:
            return fetch(file, self.files[file.name])
        except Damaged as damage:
            raise Damaged(f"{damage}; remove {self.place} and run it again") from None


def pooled_cdf(results: Iterable[Result]) -> pl.DataFrame:
    """Return the distribution of response times of several seeds together, in the form of :func:`aqmlab.stats.cdf`.

    Raises
    ------
    SpecError
        When the cells differ in more than their seeds.
    """
    every = list(results)
    check_one_spec(result.cell for result in every)
    return cdf(pl.concat([result.response_time_bins for result in every]))


def _passage(it: Mapping[str, Any]) -> str:
    """Describe loss, marks and throughput of a direction of a link."""
    return (
        f"loss {_number(it['loss_percent'], 2)} %, marked {_number(it['mark_percent'], 2)} %,"
        f" {_rate(it['throughput_mbps'], 1)}, utilisation {it['utilisation']:.3f}"
    )


def _queue(it: Mapping[str, Any]) -> str:
    packets = f"{_number(it['queue_packets_mean'], 1)} packets (p99 {_number(it['queue_packets_p99'])})"
    return f"{_delay(it)}; {packets}"


def _delay(it: Mapping[str, Any]) -> str:
    delay = it["queue_delay_ms"]
    mean, p50, p99, p999 = (_number(delay[name], 2) for name in ("mean", "p50", "p99", "p999"))
    in_fifo = f", {_number(delay['device_fifo_mean'], 2)} in the device FIFO" if is_held_by_device(delay) else ""
    return f"delay {mean} ms{in_fifo} (p50 {p50}, p99 {p99}, p99.9 {p999})"


def _delay_of(packets: Mapping[str, Any] | None) -> str:
    return "" if packets is None else f", queueing {_delay(packets)}"


def _rate(mbps: float, digits: int) -> str:
    return f"{mbps:.{digits}f} Mbit/s" if mbps >= 1 else f"{1000 * mbps:.1f} kbit/s"


def _source(it: Mapping[str, Any]) -> str:
    what = _rate(it["goodput_mbps"], 2)
    if datagrams := it["datagrams"]:
        lost, mean, p99 = (datagrams[name] for name in ("loss_percent", "delay_ms_mean", "delay_ms_p99"))
        what += f", {_number(lost, 2)} % of {datagrams['sent']:,} datagrams lost"
        what += f", one-way delay {_number(mean, 1)} ms (p99 {_number(p99, 1)})"
    elif it["completed"]:
        times = it["response_time_ms"]
        what += (
            f", {counted(it['completed'], 'request')} completed in {times['mean']:,.0f} ms (p50 {times['p50']:,.0f})"
        )
    return f"{it['name']}: {what}{_limit(it.get('limited_by_percent'))}{_delay_of(it)}"


def _limit(shares: Mapping[str, float | None] | None) -> str:
    """Return the limit that applies to connections for most of the time, as a part of a line."""
    shares = shares or {}
    limit = max(shares, key=lambda name: shares[name] or 0.0, default=None)
    if limit is None or shares[limit] is None:
        return ""
    return f", limited by {LIMITS[limit]} for {shares[limit]:.0f} % of the time"


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
