"""RFC 9332's DualPI2 as a study: L4S and Classic flows share a link, each with its own delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from aqmlab.results.figures import plot
from aqmlab.spec.experiment import Experiment, Hosts, Link, Protocol, Tcp, Users
from aqmlab.studies.kit.findings import HALF_WIDTH, Measure, mean_and_half, means
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table, Value
from aqmlab.studies.rfc9332 import claims
from aqmlab.studies.rfc9332.claims import CLASSIC, GRID, L4S, RATES_MBPS, RTTS_MS
from aqmlab.ui.canvas import PALETTE, legend_right

_CONTROL = {"target": "15 ms", "t_update": "15 ms", "alpha": 0.15, "beta": 3.0, "min_backlog": "0 B"}
_LAWS: Mapping[str, Mapping[str, Any]] = {
    "dualpi2": {**_CONTROL, "native": "ramp", "min_left": 2, "decide": "recur"},
    "pi2": {**_CONTROL, "signal_at": "departure"},
}
"""RFC 9332, appendix A, where it differs from Linux; PI2 with the same controller."""

_TCP = {"profile": "linux-6", "congestion": "cubic"}


class _Scalable(NamedTuple):
    """A scalable congestion control, and the packets that DualPI2 takes for L4S."""

    tcp: Mapping[str, Any]
    identifier: str


_PRAGUE = _Scalable({"share": 1.0, "congestion": "prague", "ecn": "accurate"}, "l4s_ect")
_DCTCP = _Scalable({"share": 1.0, "congestion": "dctcp", "ecn": "dctcp"}, "any_ect")
"""The scalable control of Linux: it sends ECT(0), as in the experiments of De Schepper et al. 2016."""

_PAGES = {"pareto": {"mean": "12 kB", "shape": 1.2}}
_SECOND = "beside"
"""The second CUBIC flow where there are two."""

_LINK = (40, 20)
"""The link of mixes and short flows, in Mbit/s, and the round trip in ms."""


class Rfc9332(Study, package=__package__):
    """L4S and Classic flows under DualPI2, and in a single queue."""

    name: ClassVar[str] = "rfc9332"
    kernel_length: ClassVar[Length | str] = Length(name="kernel", warmup="20 s", duration="60 s", seeds=3)
    claims = claims.CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return every link under DualPI2, then mixes, short flows and single queues."""
        return _runs(length, _PRAGUE)

    def kernel_runs(self, length: Length) -> Sequence[Run]:
        """Return the same with DCTCP in place of Prague, which Linux has not."""
        return _runs(length, _DCTCP)

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return rates and delays on every link, in the mixes and with short flows, and in single queues."""
        delays = (
            claims.delay_ms(L4S, "mean"),
            claims.delay_ms(L4S, "p99"),
            claims.delay_ms(CLASSIC, "mean"),
            claims.l4s_loss_percent,
        )
        headings = ("L4S mean, ms", "±", "L4S p99, ms", "±", "Classic mean, ms", "±", "L4S lost, %", "±")
        return [
            Table(
                name="links",
                title="A Prague and a CUBIC flow under DualPI2",
                columns=("Mbit/s", "round trip, ms", "share of Prague, %", "±", *headings, "utilisation, %", "±"),
                rows=[
                    [
                        rate,
                        rtt,
                        *_row(
                            results, claims.dual(rate, rtt), claims.share_percent(), *delays, claims.utilisation_percent
                        ),
                    ]
                    for rate, rtt in GRID
                ],
                about=HALF_WIDTH,
            ),
            Table(
                name="mixes",
                title="Mixes and short flows under DualPI2",
                columns=("flows, L4S to Classic", "share of an L4S flow, %", "±", *headings),
                rows=[
                    *(
                        [f"{a} to {b}", *_row(results, claims.mix(a, b), claims.share_percent(flows=(a, b)), *delays)]
                        for a, b in claims.MIXES
                    ),
                    *(
                        [
                            f"1 to 1, {each} short ones of each per s",
                            None,
                            None,
                            *_row(results, claims.web(each), *delays),
                        ]
                        for each in claims.WEBS_PER_SECOND
                    ),
                ],
                about=f"All runs have {_LINK[0]} Mbit/s and {_LINK[1]} ms. {HALF_WIDTH}",
            ),
            Table(
                name="single",
                title="A single queue, PI2",
                columns=("Mbit/s", "round trip, ms", "flows", "share of the first, %", "±", "mean delay, ms", "±"),
                rows=[
                    [*link, what, *_row(results, name(*link), share, claims.single_delay_ms)]
                    for what, name, share in (
                        ("CUBIC, CUBIC", claims.single, claims.share_percent(CLASSIC, _SECOND)),
                        ("Prague, CUBIC", claims.uncoupled, claims.share_percent()),
                    )
                    for link in claims.CORNERS
                ],
                about=HALF_WIDTH,
            ),
        ]

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return shares and delays over rate and round trip."""
        return [
            Figure(
                name="shares",
                caption="Share of a Prague flow in the goodput of it and a CUBIC flow under DualPI2: mean over the"
                " seeds, with its 95 % interval. Grey: 45 to 55 %.",
                draw=lambda canvas: _shares(canvas, results),
                size=(8, 4),
            ),
            Figure(
                name="delays",
                caption="Queueing delay of both queues of DualPI2 on the same links: mean (dots) and 99th percentile"
                " (bars) of L4S packets, and mean of Classic packets. Grey: 1 ms.",
                draw=lambda canvas: _delays(canvas, results),
                size=(8, 4),
            ),
        ]


def _runs(length: Length, scalable: _Scalable) -> Sequence[Run]:
    dual = {"dualpi2": {**_LAWS["dualpi2"], "identifier": scalable.identifier}}
    single = {"pi2": _LAWS["pi2"]}

    def run(
        name: str, queue: Mapping[str, Mapping[str, Any]], link: tuple[int, int], *sources: Any, ecn: bool = False
    ) -> Run:
        tcp = {**_TCP, "ecn": ecn}
        experiment = _experiment(queue, link, sources, length.protocol, tcp, scalable)
        return Run(name=name, experiment=experiment, label=name)

    both = (_long(L4S), _long(CLASSIC))
    return [
        *(run(claims.dual(*link), dual, link, *both) for link in GRID),
        *(
            run(claims.mix(l4s, classic), dual, _LINK, _long(L4S, l4s), _long(CLASSIC, classic))
            for l4s, classic in claims.MIXES
        ),
        *(
            run(claims.web(each), dual, _LINK, *both, *(_short(kind, each) for kind in (L4S, CLASSIC)))
            for each in claims.WEBS_PER_SECOND
        ),
        *(run(claims.single(*link), single, link, _long(CLASSIC), _long(_SECOND)) for link in claims.CORNERS),
        *(run(claims.uncoupled(*link), single, link, *both, ecn=True) for link in claims.CORNERS),
    ]


def _experiment(
    queue: Mapping[str, Mapping[str, Any]],
    link: tuple[int, int],
    sources: Sequence[Mapping[str, Any]],
    protocol: Protocol,
    tcp: Mapping[str, Any],
    scalable: _Scalable,
) -> Experiment:
    rate, rtt = link
    tables = [(kind, dict(table)) for source in sources for kind, table in source.items()]
    names = [table["name"] for _, table in tables]
    return Experiment(
        link=Link.model_validate({"rate": f"{rate} Mbit/s", "device_fifo": 0}),
        hosts=Hosts(rate="10 Gbit/s"),
        # 250 ms at the link's rate.
        queue={law: {**parameters, "limit": f"{250 * rate // 8} kB"} for law, parameters in queue.items()},
        tcp=Tcp.model_validate({**tcp, "mix": [{"source": it, **scalable.tcp} for it in names if it.startswith(L4S)]}),
        users=Users(per_side=0),
        sources=[{kind: {**table, "rtt": {"fixed": f"{rtt} ms"}}} for kind, table in tables],
        protocol=protocol,
    )


def _long(name: str, flows: int = 1) -> dict[str, Any]:
    return {"bulk": {"name": name, "flows": flows}}


def _short(kind: str, per_second: int) -> dict[str, Any]:
    return {"transfers": {"name": f"{kind} short", "rate_per_second": [per_second, 0], "size": _PAGES}}


def _row(results: StudyResults, run: str, *measures: Measure) -> list[Value]:
    """Return the mean and half the interval of each measure."""
    return [*means(results[run], measures)]


def _mean(results: StudyResults, run: str, measure: Measure) -> tuple[float, float]:
    """Return the mean of a measure of a run, and half the width of its interval."""
    return mean_and_half([measure(result) for result in results[run]])


def _over_links(axis: Axes) -> None:
    """Label an axis by the links: in each group of a rate the round trips ascend."""
    middles = [len(RTTS_MS) * group + (len(RTTS_MS) - 1) / 2 for group in range(len(RATES_MBPS))]
    axis.set_xticks(range(len(GRID)), [f"{rtt}" for _, rtt in GRID], fontsize=8)
    for middle, rate in zip(middles, RATES_MBPS, strict=True):
        axis.annotate(
            f"{rate} Mbit/s",
            (middle, 1),
            (0, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
        )
        axis.axvline(middle + len(RTTS_MS) / 2, color="#e5e5e5", linewidth=0.8)
    axis.set_xlabel("base round trip, ms")
    axis.grid(visible=False, axis="x")


def _shares(canvas: Canvas, results: StudyResults) -> None:
    axis = canvas.subplots()
    axis.axhspan(45, 55, color="#ececec", linewidth=0)
    numbers = [_mean(results, claims.dual(*link), claims.share_percent()) for link in GRID]
    share = pl.DataFrame(
        {"x": place, "y": mean, "low": mean - half, "high": mean + half} for place, (mean, half) in enumerate(numbers)
    )
    plot.xy(axis, {"share": share}, {"share": {"color": PALETTE[0], "linestyle": "none"}}, 4)
    axis.set(ylabel="share of Prague, %", ylim=(0, 100))
    _over_links(axis)


def _delays(canvas: Canvas, results: StudyResults) -> None:
    axis = canvas.subplots()
    axis.axhline(1, color="#8c8c8c", linewidth=0.8)
    for colour, queue, label in ((PALETTE[0], L4S, "L4S"), (PALETTE[1], CLASSIC, "Classic")):
        means = [_mean(results, claims.dual(*link), claims.delay_ms(queue, "mean"))[0] for link in GRID]
        delays = pl.DataFrame({"x": range(len(GRID)), "y": means})
        if queue == L4S:
            tops = [_mean(results, claims.dual(*link), claims.delay_ms(L4S, "p99"))[0] for link in GRID]
            delays = delays.with_columns(low=pl.lit(0.01), high=pl.Series(tops))
        plot.xy(axis, {label: delays}, {label: {"color": colour, "linestyle": "none"}}, 4)
    axis.set(ylabel="queueing delay, ms", yscale="log")
    _over_links(axis)
    legend_right(axis, axis.get_lines()[1:3])


STUDY = Rfc9332()
