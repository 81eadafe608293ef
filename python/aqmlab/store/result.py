"""The result of a cell, read from the store."""

from __future__ import annotations

import re
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
from aqmlab.ui.counts import pluralize


@dataclass(frozen=True, repr=False)
class Result:
    """The result of one cell. Tables are read on access."""

    cell: Cell
    location: Location
    """Its directory in the store: a local path, or a path of universal-pathlib for a remote store."""
    files: Files = field(default_factory=dict, compare=False)
    """The digests of its files, against which tables are checked when they are read; empty if unknown."""

    @cached_property
    def directory(self) -> Path:
        """A local directory with its files. Files of a remote store are fetched, and removed when the process ends."""
        return fetch_all(self.location, self.files)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Versions, machine, wall and CPU time."""
        return read_metadata(self.location)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The results of the measurement window: the measures of :mod:`aqmlab.metrics.metrics`, and ``counters``.

        ``directions`` has loss, marks, throughput, utilization, queue and queueing delay of each direction of each link
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
        return self._recorded_table("exchanges")

    @property
    def losses(self) -> pl.DataFrame:
        """One row for each packet that a queue dropped in the measurement window: its time, source and flow."""
        return self._recorded_table("losses")

    @property
    def flows(self) -> pl.DataFrame:
        """The state of the recorded connections over time: window, round-trip time, bytes, limit and own variables."""
        return self._recorded_table("flows")

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
        return Parts.from_specs([self.cell.resolved]).find(name, "measure").read(self.summary)

    def record(self) -> dict[str, Any]:
        """Return settings, measures and costs as one object: a row of ``aqmlab compare --json``.

        A live run also has ``valid`` and ``invalid_reasons``.
        """
        summary, metadata = self.summary, self.metadata
        live = metadata.get("live", {})
        return {
            **self.cell.identity,
            **{measure: summary[measure] for measure in MEASURES},
            # A run without pages has no such part.
            **{part: summary.get(part) for part in PARTS},
            "directions": directions.with_names(summary["directions"], self.cell.direction_names),
            "wall_s": metadata["wall_s"],
            "cpu_s": metadata["cpu_s"],
            "x_real_time": metadata["simulated_s"] / metadata["wall_s"],
            **{name: live[name] for name in ("valid", "invalid_reasons") if live},
            "cell": str(self.location),
        }

    def __repr__(self) -> str:
        facts = self.facts
        width = 2 + max(len(name) for name, _ in facts)
        return "\n".join([str(self.cell), *(f"  {name + ':':{width}}{text}" for name, text in facts)])

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The measures as lines with their names, beginning with the directions."""
        record = self.record()
        times = ", ".join(f"{name} {_number_text(value)}" for name, value in record["response_time_ms"].items())
        requests = (
            f"{pluralize(record['completed_requests'], 'request')} completed, {record['aborted_requests']:,} aborted"
        )
        return [
            *(
                (position, f"{_link_text(direction)}, {_queue_text(direction)}")
                for position, direction in directions.by_place(record["directions"]).items()
            ),
            ("packets", f"{_number_text(record['packet_bytes_mean'])} bytes in the mean"),
            ("users", f"{requests}{_limit_text(record['users_limited_by_percent'])}{_queueing_text(record['users'])}"),
            *([("pages", _pages_text(pages))] if (pages := record["pages"]) else []),
            ("response", f"{times} ms"),
            *(
                (part["name"], f"{pluralize(part['packets'], 'packet')} sent, {_delay_text(part)}")
                for part in record["classes"]
            ),
            *(("source", _source_text(part)) for part in record["sources"]),
            *self.run_facts,
            ("tables", str(self.location)),
        ]

    @property
    def run_facts(self) -> list[tuple[str, str]]:
        """The place and the speed of the run, and of a live run its verdict."""
        metadata = self.metadata
        if "kernel" in metadata:
            speed = metadata["simulated_s"] / metadata["wall_s"]
            duration = f"in {metadata['wall_s']:.1f} s ({speed:.1f} x real time)"
            return [
                *(("tc -s", _tc_text(queue)) for queue in metadata["kernel"].get("kernel_queues", ())),
                ("kernel", f"{metadata['simulated_s']:,.0f} s of Linux {self.cell.kernel} {duration}"),
            ]
        if "live" not in metadata:
            speed = metadata["simulated_s"] / metadata["wall_s"]
            return [
                (
                    "simulated",
                    f"{metadata['simulated_s']:,.0f} s in {metadata['wall_s']:.1f} s ({speed:.0f} x real time)",
                )
            ]
        live = metadata["live"]
        late = f"router {live['router_lateness_ms_p99']:.2f} ms late (p99)"
        verdict = "valid" if live["valid"] else f"INVALID: {'; '.join(live['invalid_reasons'])}"
        return [
            ("live", f"{metadata['simulated_s']:,.0f} s over Linux {self.cell.kernel}, {late}"),
            ("verdict", verdict),
        ]

    def _repr_html_(self) -> str:
        return html_table.facts(str(self.cell), self.facts)

    def _recorded_table(self, name: str) -> pl.DataFrame:
        if not self.cell.resolved["record"].get(name):
            given = "a period such as `10 ms`, got none" if name == "flows" else "true to have this table, got false"
            raise SpecError(f"record.{name}: must be {given}")
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
        file = self.location / f"{name}.parquet"
        if isinstance(file, Path) and file.name not in self.files:
            return file
        try:
            return fetch(file, self.files[file.name])
        except Damaged as damage:
            raise Damaged(f"{damage}; remove {self.location} and run it again") from None


def pooled_cdf(results: Iterable[Result]) -> pl.DataFrame:
    """Return the distribution of response times of several seeds together, in the form of :func:`aqmlab.stats.cdf`.

    Raises
    ------
    SpecError
        When the cells differ in more than their seeds.
    """
    pooled = list(results)
    check_one_spec(result.cell for result in pooled)
    return cdf(pl.concat([result.response_time_bins for result in pooled]))


def _tc_text(queue: Mapping[str, str]) -> str:
    """Return the line of a discipline's statistics that counts its packets, as Linux prints it."""
    sent = re.search(r"^ *(Sent .*?) *$", queue["statistics"], flags=re.MULTILINE)
    return f"{queue['tc']}: {sent[1] if sent else 'no counters'}"


def _link_text(direction: Mapping[str, Any]) -> str:
    """Describe loss, marks and throughput of a direction of a link."""
    return (
        f"loss {_number_text(direction['loss_percent'], 2)} %, marked {_number_text(direction['mark_percent'], 2)} %,"
        f" {_rate_text(direction['throughput_mbps'], 1)}, utilization {direction['utilisation']:.3f}"
    )


def _queue_text(direction: Mapping[str, Any]) -> str:
    mean, p99 = _number_text(direction["queue_packets_mean"], 1), _number_text(direction["queue_packets_p99"])
    packets = f"{mean} packets (p99 {p99})"
    return f"{_delay_text(direction)}; {packets}"


def _delay_text(direction: Mapping[str, Any]) -> str:
    delay = direction["queue_delay_ms"]
    mean, p50, p99, p999 = (_number_text(delay[name], 2) for name in ("mean", "p50", "p99", "p999"))
    in_fifo = f", {_number_text(delay['device_fifo_mean'], 2)} in the device FIFO" if is_held_by_device(delay) else ""
    return f"delay {mean} ms{in_fifo} (p50 {p50}, p99 {p99}, p99.9 {p999})"


def _queueing_text(packets: Mapping[str, Any] | None) -> str:
    return "" if packets is None else f", queueing {_delay_text(packets)}"


def _rate_text(mbps: float, digits: int) -> str:
    return f"{mbps:.{digits}f} Mbit/s" if mbps >= 1 else f"{1000 * mbps:.1f} kbit/s"


def _source_text(source: Mapping[str, Any]) -> str:
    text = _rate_text(source["goodput_mbps"], 2)
    if datagrams := source["datagrams"]:
        lost, mean, p99 = (datagrams[name] for name in ("loss_percent", "delay_ms_mean", "delay_ms_p99"))
        text += f", {_number_text(lost, 2)} % of {datagrams['sent']:,} datagrams lost"
        text += f", one-way delay {_number_text(mean, 1)} ms (p99 {_number_text(p99, 1)}){_quality_text(source)}"
    elif source["completed"]:
        times = source["response_time_ms"]
        requests = pluralize(source["completed"], "request")
        text += f", {requests} completed in {times['mean']:,.0f} ms (p50 {times['p50']:,.0f}){_quality_text(source)}"
    return f"{source['name']}: {text}{_limit_text(source.get('limited_by_percent'))}{_queueing_text(source)}"


def _quality_text(source: Mapping[str, Any]) -> str:
    """Return what viewers, callers and players observe, as a part of a line."""
    if videos := source.get("videos"):
        bitrate, stalled = _number_text(videos["bitrate_mbps_mean"], 2), _number_text(videos["rebuffering_percent"], 2)
        return f", video of {bitrate} Mbit/s, {stalled} % rebuffering"
    if calls := source.get("calls"):
        return f", MOS {_number_text(calls['mos_mean'], 2)}, {_number_text(calls['missing_percent'], 2)} % missing"
    if video_calls := source.get("video_calls"):
        bitrate, frozen = (_number_text(video_calls[name], 2) for name in ("bitrate_mbps_mean", "frozen_percent"))
        delay = _number_text(video_calls["frame_delay_ms_p95"])
        return f", video of {bitrate} Mbit/s with a frame delay p95 of {delay} ms, {frozen} % frozen"
    if games := source.get("games"):
        return f", {_number_text(games['late_percent'], 2)} % late"
    return ""


def _pages_text(pages: Mapping[str, Any]) -> str:
    load, p95, render = (_number_text(pages[name], 2) for name in ("load_s_p50", "load_s_p95", "first_render_s_p50"))
    return f"{pluralize(pages['pages'], 'page')} loaded in {load} s (p95 {p95}), rendering began after {render} s"


def _limit_text(shares: Mapping[str, float | None] | None) -> str:
    """Return the limit that applies to connections for most of the time, as a part of a line."""
    shares = shares or {}
    limit = max(shares, key=lambda name: shares[name] or 0.0, default=None)
    if limit is None or shares[limit] is None:
        return ""
    return f", limited by {LIMITS[limit]} for {shares[limit]:.0f} % of the time"


def _number_text(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
