"""Tables of Kuzmanovic (2005), with published numbers next to ours."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab.models.batch_queue import BatchQueue, burst_sizes
from aqmlab.store.result import Result
from aqmlab.studies.kit.findings import Finding
from aqmlab.studies.kit.measures import of_data
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.kuzmanovic2005 import measures, names
from aqmlab.studies.kuzmanovic2005.claims import MBPS, printed
from aqmlab.studies.kuzmanovic2005.runs import web_bursts

TARGET_PACKETS = 62
"""The target of 5 ms, in whole packets of figures 7 and 8."""


def _published(run: str) -> float | None:
    return printed().get(run, {}).get(MBPS.name)


def tables(results: StudyResults) -> list[Table]:
    """Return all tables."""
    return [
        _throughputs(results),
        _users(results),
        _handshakes(results),
        _one_way(results),
        _queues(results),
        _exceedances(results),
    ]


def interval(results: list[Result], measure: Callable[[Result], float]) -> Finding:
    """Return a measure's mean over the seeds with its 95 % interval."""
    return Finding.of("", np.array([measure(result) for result in results], dtype=np.float64))


def half_width(found: Finding) -> float | None:
    """Return half the width of the interval; ``None`` with a single seed."""
    return found.high - found.estimate if found.pairs > 1 else None


def _throughputs(results: StudyResults) -> Table:
    rows: list[list[Value]] = []
    for load in names.LOADS:
        offered = _mean(results[names.uncongested(load)], measures.throughput_mbps)
        rows.append(["uncongested", load, None, offered, None, None, None, None, None, None])
        for law in names.LAWS:
            drop, ecn, plus = (names.scheme(law, form, load) for form in names.FORMS)
            gain = Finding.of("", _changes(results[plus], results[ecn]))
            rows.append(
                [
                    law,
                    load,
                    _published(drop),
                    _mean(results[drop], measures.throughput_mbps),
                    _published(ecn),
                    _mean(results[ecn], measures.throughput_mbps),
                    _published(plus),
                    _mean(results[plus], measures.throughput_mbps),
                    gain.estimate,
                    half_width(gain),
                ]
            )
    alone = names.threshold(90)
    published, ours = _published(alone), _mean(results[alone], measures.throughput_mbps)
    rows.append(["threshold", 90, None, None, None, None, published, ours, None, None])
    return Table(
        name="throughput",
        title="Table 1: normalised throughput",
        columns=(
            "AQM",
            "load, %",
            "no ECN, % (published)",
            "no ECN, % (ours)",
            "ECN, % (published)",
            "ECN, % (ours)",
            "ECN+, % (published)",
            "ECN+, % (ours)",
            "ECN+ over ECN, %",
            "±",
        ),
        rows=rows,
        about="Throughput is that in the direction of the data, in percent of the link's 100"
        " Mbit/s. Our copy has the rows of"
        " RED and PI of the paper's Table 1, and the two throughputs that section 5.2.1 names. *Uncongested* is the"
        " load that the users offer.",
    )


def _changes(ones: list[Result], others: list[Result]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    before = {result.cell.seed: measures.throughput_mbps(result) for result in others}
    return np.array(
        [100 * (measures.throughput_mbps(each) / before[each.cell.seed] - 1) for each in ones], dtype=np.float64
    )


_USER_COLUMNS = (
    "within 0.5 s, %",
    "within 1 s, %",
    "within 2 s, %",
    "above 6 s, %",
    "median, ms",
    "p90, ms",
    "p99, ms",
    "mean queue, packets",
    "dropped, %",
    "marked, %",
)


def _users(results: StudyResults) -> Table:
    shown = [names.uncongested(load) for load in names.LOADS]
    shown += [names.scheme(law, form, load) for law in names.LAWS for load in names.LOADS for form in names.FORMS]
    shown.append(names.threshold(90))
    return Table(
        name="response-times",
        title="Response times",
        columns=("scheme and load", *_USER_COLUMNS),
        rows=[[name, *_user_numbers(results[name])] for name in shown],
    )


def _user_numbers(some: list[Result]) -> Iterator[float]:
    shares = [stats.shares_within(result.response_time_bins, (500, 1000, 2000, 6000)) for result in some]
    half, one, two, six = (100 * statistics.fmean(column) for column in zip(*shares, strict=True))
    yield from (half, one, two, 100 - six)
    for quantile in ("p50", "p90", "p99"):
        yield _mean(some, lambda result, at=quantile: result.summary["response_time_ms"][at])  # type: ignore[misc]
    for measure in ("queue_packets_mean", "loss_percent", "mark_percent"):
        yield _mean(some, of_data(measure))


def _handshakes(results: StudyResults) -> Table:
    def row(law: str, load: int) -> list[Value]:
        shares = (_repeated_percent(results[names.handshakes(law, form, load)]) for form in names.FORMS[1:])
        return [law, load, *shares]

    return Table(
        name="handshakes",
        title="Repeated handshakes",
        columns=("AQM", "load, %", "ECN, %", "ECN+, %"),
        rows=[row(law, load) for law in names.LAWS for load in names.LOADS],
        about="Shares are those of the connections whose client retransmitted its SYN, because the SYN or the SYN/ACK"
        " was lost. These runs measure two minutes after half a minute of warm-up. ECN+ protects only the SYN/ACK.",
    )


def _repeated_percent(some: list[Result]) -> float:
    first = pl.concat([result.exchanges.filter("first_on_connection") for result in some])
    return 100 * float((first["syn_retransmits"].to_numpy() > 0).mean())


def _one_way(results: StudyResults) -> Table:
    shown = [names.one_way(law, form) for law in names.LAWS for form in names.FORMS]
    return Table(
        name="one-way",
        title="Load in one direction",
        columns=("scheme", *_USER_COLUMNS),
        rows=[[name, *_user_numbers(results[name])] for name in shown],
        about="The paper has no such runs: they have the flows of figure 8 at 105 % of the link, all from the same"
        " side. SYNs and acknowledgements cross the idle direction, which the means of queues, drops and marks"
        " include. The backlog of such flows grows, because nothing limits their arrivals. Every length therefore"
        " measures 90 s after 20 s.",
    )


def _queues(results: StudyResults) -> Table:
    return Table(
        name="mean-queue",
        title="Mean queue over the length of flows, at 80 %",
        columns=(
            "flow, packets",
            "E[X]",
            "E[X²]",
            "E[Q], equation 1",
            "E[Q], chain",
            "fixed service",
            "simulated",
            "±",
            "simulated utilisation, %",
        ),
        rows=[_queue_row(packets, results[names.equal_flows(packets)]) for packets in names.LENGTHS],
        about="Queues are in packets and include the one being sent. *Equation 1* is the paper's formula. *Chain* is"
        " the same mean, computed from the distribution that the chain's equations give. Both have exponential"
        " service times; a link's are fixed. For fixed times, M[X]/D/1 has u²/(2(1-u)) = 1.6 packets less, at"
        " utilisation u. The simulation has fixed times, and segments without data; the table has its"
        " utilisation.\n\n"
        "From its figure the paper reads a mean queue of about 5 packets for web flows of 7.22 packets on average. Its"
        " own equation gives 8 for flows of 7 packets with an initial window of two.",
    )


def _queue_row(packets: int, some: list[Result]) -> list[Value]:
    bursts = burst_sizes([packets], windows=measures.WINDOWS)
    queue = BatchQueue(bursts=bursts, utilisation=0.8)
    solved = queue.distribution()
    x = np.arange(len(bursts))
    simulated = interval(some, measures.queue_packets)
    return [
        packets,
        float(bursts @ x),
        float(bursts @ x**2),
        queue.mean_packets,
        float(solved["packets"].to_numpy() @ solved["probability"].to_numpy()),
        queue.mean_packets - 0.8**2 / (2 * (1 - 0.8)),
        simulated.estimate,
        half_width(simulated),
        100 * _mean(some, measures.utilisation),
    ]


def _exceedances(results: StudyResults) -> Table:
    def row(percent: int) -> list[Value]:
        some = results[names.web_flows(percent)]
        utilisation = _mean(some, measures.utilisation)
        queue = BatchQueue(bursts=web_bursts(), utilisation=utilisation)
        mean = interval(some, measures.queue_packets)
        above = interval(some, lambda result: 100 * measures.above(result, TARGET_PACKETS))
        return [
            percent,
            100 * utilisation,
            queue.mean_packets,
            mean.estimate,
            half_width(mean),
            100 * queue.above(TARGET_PACKETS),
            above.estimate,
            half_width(above),
        ]

    return Table(
        name="exceedance",
        title="Time of the queue above the target",
        columns=(
            "nominal, %",
            "utilisation, %",
            "mean queue (model)",
            "mean queue (simulated)",
            "±",
            "above 5 ms, % (model)",
            "above 5 ms, % (simulated)",
            "± ",
        ),
        rows=[row(percent) for percent in names.UTILISATIONS],
        about="The flows have the web's response sizes, each on a connection of its own, and meet an endless queue"
        " without AQM. The model has the utilisation of the simulation. 5 ms are 62 packets.",
    )


def _mean(some: list[Result], measure: Callable[[Result], float]) -> float:
    return statistics.fmean(map(measure, some))
