"""The figure of docs/studies/accounting.md: the cost of a lost packet over the loss, the papers' and ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
from matplotlib.figure import Figure

from aqmlab.models import plot
from aqmlab.models.accounting import Verdict
from aqmlab.models.timers import Drops, max_cost_s
from aqmlab.spec import schemes
from aqmlab.studies.le.accounting import ROUND_TRIPS, AuditedRow
from aqmlab.ui import canvas

_LAWS = {"droptail": "drop-tail", "pi": "PI", "rem": "REM", "ared": "ARED"}

DROPS = {
    Drops.BY_PACKETS: "as they come",
    Drops.BY_BYTES: "by their sizes",
    Drops.ANY: "SYNs alone",
}


def law(audited: AuditedRow) -> str:
    """Return the name of a row's law."""
    queue = schemes.parse(audited.row.scheme).queue
    mode = f", {queue.parameters['mode']} mode" if queue.discipline == "ared" else ""
    return _LAWS[queue.discipline] + mode


def source(audited: AuditedRow) -> str:
    """Return the year of a row's paper, or that it is ours."""
    return audited.row.table.partition("-")[0].removeprefix("le")


def draw(papers: Sequence[AuditedRow], ours: Sequence[AuditedRow], figure: Figure) -> None:
    """Draw a panel for each table of round-trip times."""
    panels = figure.subplots(1, len(ROUND_TRIPS), sharex=True, sharey=True)
    names = list(dict.fromkeys(map(law, papers)))
    for axis, (rtt, trips) in zip(panels, ROUND_TRIPS.items(), strict=True):
        plot.costs(
            axis,
            {name: _points(papers, name, rtt) for name in names},
            others={name: _points(ours, name, rtt) for name in names},
            bounds={name: max_cost_s(drops, trips) for drops, name in DROPS.items()},
        )
        axis.set_title(f"{rtt} round-trip times", loc="left", fontsize=10)
    panels[1].set_ylabel("")
    panels[0].set_title("lines: upper bounds by lost packets", loc="right", fontsize=9)
    panels[1].set_title("filled: the papers, hollow: ours", loc="right", fontsize=9)
    canvas.legend_right(figure, panels[0].get_legend_handles_labels()[0])


def _points(rows: Iterable[AuditedRow], name: str, rtt: str) -> pl.DataFrame:
    chosen = [
        each
        for each in rows
        if law(each) == name and each.row.rtt == rtt and each.audit.verdict is not Verdict.INCONCLUSIVE
    ]
    return pl.DataFrame(
        [
            (
                f"{source(each)} {each.row.scheme}",
                each.row.loss_percent.low,
                each.row.loss_percent.high,
                each.audit.ledger.cost_s.low,
                each.audit.ledger.cost_s.high,
            )
            for each in chosen
        ],
        schema={"group": pl.String} | dict.fromkeys(("loss_low", "loss_high", "cost_low", "cost_high"), pl.Float64),
        orient="row",
    )
