"""The reference pages of the disciplines: what each says of itself, its parameters, figures of the object in action."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from aqmlab.disciplines import plot, step
from aqmlab.disciplines.catalogue import Discipline, disciplines
from aqmlab.disciplines.queue import Queue
from aqmlab.ui import canvas
from markdown import table
from reference.template import template

_NOTE = "<!-- Written by `make reference` from the code. Change crates/aqm/{}, then run it. -->\n"

_LAWS = "../../../crates/aqm/pages"
"""The pages of the laws, from a page of the reference."""


def page(entry: Discipline) -> str:
    """Write what the code says of one discipline, beside its page, which is written by hand and stands with the law."""
    sections = [line.removeprefix("## ") for line in entry.page.splitlines() if line.startswith("## ")]
    parts = [
        _NOTE.format(f"src/disciplines/{entry.name}.rs"),
        f"{entry.page.splitlines()[0]}\n",
        f"`{entry.name}` · {entry.family} · decides at {entry.decides_at}\n",
        f"{entry.summary}.\n",
        f"[Its page]({_LAWS}/{entry.name}.md): {', '.join(sections).capitalize()}.\n",
    ]
    names = ("parameter", "unit", "default", "meaning", "source")
    rows = [(f"`{each.name}`", each.unit, each.default, each.meaning, each.source) for each in entry.keys]
    parts.append(f"## Parameters\n\n{table(names, rows)}")
    if has_curve(entry):
        shown = f"![Probability of a signal over the average queue]({_curve_file(entry)})"
        parts.append(f"## Drop probability\n\n{shown}\n")
    shown = f"![Time in the queue, marks and drops while the load steps up and back]({_step_file(entry)})"
    parts.append(f"## A step of load\n\n{shown}\n")
    parts.append("[The figures](README.md#figures) are drawn by `make reference`.\n")
    return "\n".join(parts)


def index(entries: Iterable[Discipline]) -> str:
    """Write the table of all disciplines by family, in the catalogue's order."""
    entries = list(entries)
    families = list(dict.fromkeys(entry.family for entry in entries))
    rows = [
        (family if first else "", f"[{entry.name}]({entry.name}.md)", entry.decides_at, entry.summary)
        for family in families
        for first, entry in _with_first(entry for entry in entries if entry.family == family)
    ]
    load = step.Load()
    return template("disciplines").format(
        note=_NOTE.format("src/catalogue.rs"),
        table=table(("family", "name", "decides at", "what it does"), rows),
        rate=f"{step.PACKETS_PER_SEC:,}",
        size=step.PACKET_BYTES,
        share=f"{100 * step.SHARE:g}",
        rtts=" to ".join(f"{1000 * rtt:g}" for rtt in step.RTT_S),
        up=f"{load.up_s:g}",
        down=f"{load.down_s:g}",
        low=f"{100 * load.low:g}",
        high=f"{100 * load.high:g}",
    )


def has_curve(entry: Discipline) -> bool:
    """Say whether a law computes its probability from an average queue."""
    return Queue(entry.name).probe().keys() >= {"avg", "p_b"}


def drop_curve(entry: Discipline) -> pl.DataFrame:
    """Fill a queue in one instant and read off the law's average and the probability that belongs to it."""
    queue = Queue(entry.name, rate=step.rate(), overhead="0 B")
    points, before, end = [(0.0, 0.0)], (0.0, 0.0), math.inf
    for flow in range(100_000):
        queue.enqueue(size=step.PACKET_BYTES, flow=flow, ecn="ect0", at=0.0)
        seen = queue.probe()
        avg, p_b = seen["avg"], seen["p_b"]
        # A smooth line needs no more than a point for each hundredth of the way, and both ends of a jump.
        if p_b > before[1] + 0.1:
            points += [before, (avg, before[1]), (avg, p_b)]
        elif avg > 1.01 * points[-1][0] + 0.01:
            points.append((avg, p_b))
        before = (avg, p_b)
        # Certainty for a fifth of the way is enough to see.
        if p_b >= 1:
            end = min(end, 1.2 * avg)
        if avg > end:
            break
    return pl.DataFrame(points, schema=["avg", "p_b"], orient="row")


def figures(entry: Discipline, to: Path) -> list[Path]:
    """Draw the figures of one discipline and return their files."""
    load, name = step.Load(), entry.name
    rows = step.step_response(name, load=load)
    written = [to / _step_file(entry)]
    canvas.write(
        written[0], lambda figure: plot.step_response(figure, rows, load, title=f"{name}: a step of load"), size=(8, 5)
    )
    if has_curve(entry):
        curve = drop_curve(entry)
        title = f"{name}: probability of a signal"
        written.append(to / _curve_file(entry))
        canvas.write(written[1], lambda figure: plot.drop_curve(figure, curve, title=title), size=(6, 3))
    return written


def write(to: Path) -> None:
    """Write the pages and figures of all queue disciplines into a directory."""
    (to / "img").mkdir(parents=True, exist_ok=True)
    entries = disciplines().values()
    (to / "README.md").write_text(index(entries), encoding="utf-8")
    for entry in entries:
        (to / f"{entry.name}.md").write_text(page(entry), encoding="utf-8")
        print(*figures(entry, to))


def _step_file(entry: Discipline) -> str:
    return f"img/{entry.name}-step.svg"


def _curve_file(entry: Discipline) -> str:
    return f"img/{entry.name}-curve.svg"


def _with_first(entries: Iterable[Discipline]) -> Iterable[tuple[bool, Discipline]]:
    return ((place == 0, entry) for place, entry in enumerate(entries))
