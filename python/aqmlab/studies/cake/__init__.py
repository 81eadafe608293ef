"""CAKE as a study: isolation of hosts, classes, the filter of acknowledgements, and cells of ATM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from aqmlab.results.figures import plot
from aqmlab.spec.experiment import Experiment, Link, Protocol, Tcp, Users
from aqmlab.studies.cake import claims
from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.findings import HALF_WIDTH, by_seed, mean_and_half, means
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table, Value
from aqmlab.ui.canvas import PALETTE, legend_right

_RTT = {"fixed": "50 ms"}
_TCP = {"profile": "linux-6", "congestion": "cubic", "ecn": False}

_MBPS = 10
"""The link of hosts and classes."""

_ETHERNET = {"bandwidth": f"{_MBPS} Mbit/s", "link_layer": "ethernet"}

_CELLS_KBPS = {"up": 1000, "down": 8000}
"""The rates of an ADSL line."""

_MODEM = 100
"""Packets that the modem of that line holds."""


class Cake(Study, package=__package__):
    """The parts of CAKE beside its law, each against the same queue without it."""

    name: ClassVar[str] = "cake"
    claims = claims.CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return the runs of hosts, of classes, of the filter and of cells."""
        link = Link.model_validate({"rate": f"{_MBPS} Mbit/s", "device_fifo": 0})

        def run(name: str, queue: Mapping[str, Any], sources: Sequence[Mapping[str, Any]]) -> Run:
            return _run(name, length.protocol, link=link, queue=queue, sources=sources)

        def of_word(word: str, **keys: str) -> Mapping[str, Any]:
            return {"fq_codel": {}} if word == "fq_codel" else {"cake": {**_ETHERNET, **keys}}

        def of_classes(word: str) -> Mapping[str, Any]:
            # Flows of one host alone, as in a testbed of two hosts.
            return of_word(word, diffserv=word, isolation="flows")

        hosts = [
            _flows(claims.between(pair), flows, host=pair[0], peer=pair[1]) for pair, flows in claims.FLOWS.items()
        ]
        tins = [_flows(each, 1, "download", dscp=each) for each in claims.CODE_POINTS]
        stream = [
            _flows("downloads", 32, "download"),
            _datagrams("stream", rate="2 Mbit/s", packet="1200 B", side=1, dscp="EF"),
        ]
        return [
            *(run(f"hosts/{word}", of_word(word, isolation=word), hosts) for word in claims.ISOLATIONS),
            *(run(f"tins/{word}", of_classes(word), tins) for word in claims.CLASSES),
            *(
                run(f"alone/{each}", of_classes("diffserv4"), [_flows(each, 4, "download", dscp=each)])
                for each in ("CS1", "DF", "EF")
            ),
            *(run(f"stream/{word}", of_classes(word), stream) for word in claims.CLASSES),
            *(_filtered(word, length.protocol) for word in claims.FILTERS),
            *(
                _with_cells(load, *shaper, protocol=length.protocol)
                for load in claims.LOADS
                for shaper in claims.SHAPERS
            ),
        ]

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return shares of hosts and classes, goodputs with the filter, and delays on the line with cells."""
        shares = claims.SHARES
        return [
            Table(
                name="hosts",
                title="Six flows of two hosts to four hosts",
                columns=(
                    "queue",
                    *(text for pair in shares for text in (f"share of a flow, {claims.between(pair)}, %", "±")),
                ),
                rows=[[word, *_row(results, f"hosts/{word}", *shares.values())] for word in claims.ISOLATIONS],
                about=HALF_WIDTH,
            ),
            Table(
                name="tins",
                title="Four downloads with different code points, and a stream of 2 Mbit/s beside 32 downloads",
                columns=(
                    "queue",
                    *(text for each in claims.CODE_POINTS for text in (f"share of {each}, %", "±")),
                    "p99 of the stream's delay, ms",
                    "±",
                    "loss of the stream, %",
                    "±",
                ),
                rows=[
                    [
                        word,
                        *_row(results, f"tins/{word}", *claims.CLASS_SHARES[:-1]),
                        *_row(results, f"stream/{word}", claims.STREAM_DELAY, claims.STREAM_LOSS),
                    ]
                    for word in claims.CLASSES
                ],
                about=HALF_WIDTH,
            ),
            Table(
                name="alone",
                title="Four downloads of one class, alone under `diffserv4`",
                columns=("code point", "utilisation, %", "±"),
                rows=[[each, *_row(results, f"alone/{each}", claims.USED)] for each in ("CS1", "DF", "EF")],
                about=HALF_WIDTH,
            ),
            Table(
                name="acks",
                title="Four downloads and four uploads on 30 Mbit/s down and 1 Mbit/s up",
                columns=("filter", "goodput of downloads, Mbit/s", "±", "goodput of uploads, Mbit/s", "±"),
                rows=[
                    [word, *_row(results, f"acks/{word}", claims.DOWNLOADS, claims.UPLOADS)] for word in claims.FILTERS
                ],
                about=HALF_WIDTH,
            ),
            Table(
                name="lines",
                title="A call on an ADSL line with cells",
                columns=("beside the call", "CAKE", "p99 of the call's delay, ms", "±", "loss of the call, %", "±"),
                rows=[
                    [
                        _BESIDE[load],
                        f"{word}, {percent} %",
                        *_row(results, f"{load}/{claims.shaper(word, percent)}", claims.CALL_DELAY, claims.CALL_LOSS),
                    ]
                    for load in claims.LOADS
                    for word, percent in claims.SHAPERS
                ],
                about=f"The percentages are of the rate of cells. {HALF_WIDTH}",
            ),
        ]

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return shares of hosts, and goodputs with the filter."""
        return [
            Figure(
                name="shares",
                caption="Share of a flow between each two hosts under FQ-CoDel and under the isolations of CAKE: mean"
                " over the seeds, with its 95 % interval. There are two flows from A to c.",
                draw=lambda canvas: _shares(canvas, results),
                size=(8, 4),
            ),
            Figure(
                name="ack_filter",
                caption="Goodput of four downloads and four uploads with the filter of acknowledgements, in percent of"
                " that without it under the same seed: mean, with its 95 % interval.",
                draw=lambda canvas: _filters(canvas, results),
                size=(7, 3.6),
            ),
        ]


_BESIDE = {"frames": "four uploads", "small": "2 Mbit/s in packets of 100 B"}


def _run(name: str, protocol: Protocol, **parts: Any) -> Run:
    """Return a run with these parts of an experiment: the link, the queues and the sources."""
    experiment = Experiment(tcp=Tcp.model_validate(_TCP), users=Users(per_side=0), protocol=protocol, **parts)
    return Run(name=name, experiment=experiment, label=name)


def _flows(name: str, flows: int, direction: str = "upload", **keys: str) -> dict[str, Any]:
    return {"bulk": {"name": name, "flows": flows, "direction": direction, "rtt": _RTT, **keys}}


def _datagrams(name: str, **keys: Any) -> dict[str, Any]:
    return {"datagrams": {"name": name, **keys}}


def _filtered(word: str, protocol: Protocol) -> Run:
    """Return the run of a filter in the direction of 1 Mbit/s."""
    rates = {"up": "1 Mbit/s", "down": "30 Mbit/s"}
    up, down = ({"cake": {"bandwidth": rate, "link_layer": "ethernet"}} for rate in rates.values())
    up["cake"]["ack_filter"] = word
    sources = [_flows("downloads", 4, "download"), _flows("uploads", 4)]
    link = Link.model_validate({"rate": rates, "device_fifo": 0})
    return _run(f"acks/{word}", protocol, link=link, queue=up, queue_back=down, sources=sources)


def _with_cells(load: str, word: str, percent: int, *, protocol: Protocol) -> Run:
    """Return the run of a call on an ADSL line, behind a shaper that counts packets by a word."""
    rates = {direction: {"atm": {"rate": f"{kbps} kbit/s"}} for direction, kbps in _CELLS_KBPS.items()}
    up, down = (
        {"cake": {"bandwidth": f"{kbps * percent // 100} kbit/s", "link_layer": word}} for kbps in _CELLS_KBPS.values()
    )
    beside = _flows("uploads", 4) if load == "frames" else _datagrams("small", rate="2 Mbit/s", packet="100 B")
    link = Link.model_validate({"rate": rates, "overhead": "40 B", "device_fifo": _MODEM})
    sources = [beside, _datagrams("call", rate="64 kbit/s", packet="200 B")]
    name = f"{load}/{claims.shaper(word, percent)}"
    return _run(name, protocol, link=link, queue=up, queue_back=down, sources=sources)


def _row(results: StudyResults, run: str, *columns: Column) -> list[Value]:
    """Return the mean and half the width of the interval of each column."""
    return [*means(results[run], [column.measure for column in columns])]


def _shares(canvas: Canvas, results: StudyResults) -> None:
    axis: Axes = canvas.subplots()
    points = {
        word: [
            mean_and_half([column.measure(result) for result in results[f"hosts/{word}"]])
            for column in claims.SHARES.values()
        ]
        for word in claims.ISOLATIONS
    }
    _beside(axis, points, [f"{pair[0]} to {pair[1]}" for pair in claims.SHARES])
    axis.set(ylabel="share of a flow, %", ylim=(0, None))


def _filters(canvas: Canvas, results: StudyResults) -> None:
    axis: Axes = canvas.subplots()
    without, *filters = claims.FILTERS

    def percent(column: Column, word: str) -> tuple[float, float]:
        # Both runs of a seed: the spread of the one without a filter counts too.
        pairs = by_seed(results, f"acks/{word}", f"acks/{without}")
        return mean_and_half([100 * column.measure(one) / column.measure(other) for one, other in pairs])

    points = {
        label: [percent(column, word) for word in filters]
        for column, label in ((claims.DOWNLOADS, "downloads"), (claims.UPLOADS, "uploads"))
    }
    axis.axhline(100, color="#8c8c8c", linewidth=0.8)
    _beside(axis, points, filters)
    axis.set(ylabel="goodput, % of that without")


def _beside(axis: Axes, points: Mapping[str, Sequence[tuple[float, float]]], places: Sequence[str]) -> None:
    """Draw means with their intervals, of each series beside those of the others at each place."""
    middle, step = (len(points) - 1) / 2, 0.6 / len(points)
    for number, (label, each) in enumerate(points.items()):
        series = pl.DataFrame(
            {"x": place + step * (number - middle), "y": mean, "low": mean - half, "high": mean + half}
            for place, (mean, half) in enumerate(each)
        )
        plot.xy(axis, {label: series}, {label: {"color": PALETTE[number], "linestyle": "none"}}, 4)
    axis.set_xticks(range(len(places)), places)
    axis.set_xlim(-0.6, len(places) - 0.4)
    axis.grid(visible=False, axis="x")
    legend_right(axis, [line for line in axis.get_lines() if line.get_label() in points])


STUDY = Cake()
