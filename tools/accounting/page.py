"""The page docs/studies/accounting.md: the papers held to their own numbers, beside ours.

``make accounting`` runs this module, which fills in page.md. With ``--results DIR`` our rows are those of the
results stored there, else those that the committed pages print.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from accounting import ours
from accounting.figure import DROPS, draw, law, source
from aqmlab import _core
from aqmlab.cli.options import read_seeds
from aqmlab.models.accounting import Verdict
from aqmlab.models.intervals import Interval
from aqmlab.models.timers import WEB, Drops, Hosts, Kind, max_cost_s
from aqmlab.spec import schemes
from aqmlab.studies import find
from aqmlab.studies.kit.claims.predicates import BetterCurve
from aqmlab.studies.le import accounting as le
from aqmlab.studies.le.accounting import ROUND_TRIPS, AuditedRow
from aqmlab.ui import canvas
from markdown import table

_TEMPLATE = Path(__file__).with_name("page.md")

_FIGURE = Path("img") / "accounting" / "costs.svg"

_TIMERS = (Hosts(), Hosts(first_s=3))
"""The longest of the sources, and those of FreeBSD."""

_LOADS = (98, 90)


def main() -> None:
    """Write the page and its figure."""
    parser = argparse.ArgumentParser(description="Write docs/studies/accounting.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, help="results directory that has our rows; else the pages have them")
    parser.add_argument("--length", default="full", help="length of the studies whose results are taken")
    parser.add_argument("--seeds", type=read_seeds, help="their seeds, N or N-M; else those of the length")
    chosen = parser.parse_args()
    stored = chosen.results and ours.stored(chosen.results, chosen.length, chosen.seeds)
    if stored:
        flag = "" if chosen.length == "default" else f" --{chosen.length}"
        studies = " and ".join(f"`aqmlab study {name}{flag}`" for name in ours.STUDIES)
        seeds = f", seeds {chosen.seeds.start} to {chosen.seeds.stop - 1}" if chosen.seeds else ""
        write(chosen.pages, stored, f"the results of {studies}{seeds}, results number {_core.results_number()}")
    else:
        write(chosen.pages, ours.printed(chosen.pages), PRINTED)


PRINTED = "what the pages of le2003 and le2004 print, at the length and by the engine that they name"


def write(pages: Path, ours: Sequence[le.MeasuredRow], whose: str) -> None:
    """Write the page and its figure, with our rows and where they are from; without any if there are none."""
    rows = le.published_rows()
    papers = le.audit_rows(rows)
    known = {row.scheme for row in rows}
    beside = le.audit_rows([row for row in ours if row.scheme in known and row.load_percent in _LOADS], le.ours())
    file = pages / _FIGURE
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.write(file, partial(draw, papers, beside), size=(11, 4.8))
    spread = le.repeatability(rows)
    everything = sum(amount.packets for amount in WEB.values())
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        whose=f"Beside them stand our rows: {whose}." if beside else "No rows of ours are at hand.",
        allowed_packets=f"{max_cost_s(Drops.BY_PACKETS, ROUND_TRIPS['uniform']):.1f}",
        allowed_bytes=f"{max_cost_s(Drops.BY_BYTES, ROUND_TRIPS['uniform']):.1f}",
        **_found(papers, beside),
        uniform=_costs(papers, beside, "uniform"),
        general=_costs(papers, beside, "general"),
        contradicted=_contradicted(rows, papers),
        spread_loss=f"{spread.loss_points:.2f}",
        spread_completed=f"{spread.completed_millions:.2f}",
        handshakes=f"{100 * WEB[Kind.HANDSHAKE].packets / everything:.0f}",
        free=f"{100 * WEB[Kind.FREE].packets / everything:.0f}",
        bounds=_bounds(),
        with_three=_consistent_with_three(rows),
        claims=_claims(),
        left_out=_left_out(papers),
        books=_books([*papers, *beside]),
    )
    (pages / "accounting.md").write_text(text, encoding="utf-8")


def setting(account: AuditedRow) -> str:
    """Return a row's limit, target or thresholds, in packets."""
    parameters = schemes.parse(account.row.scheme).queue.parameters
    if "max_th" in parameters:
        return f"{parameters['min_th']}/{parameters['max_th']}"
    return f"{parameters.get('limit', parameters.get('q_ref')):,}"


def _is_marking(account: AuditedRow) -> bool:
    return "ecn=true" in account.row.scheme


def _costs(papers: Sequence[AuditedRow], ours: Sequence[AuditedRow], rtt: str) -> str:
    """Return what a lost packet cost, a row for each law and setting."""
    chosen = [each for each in (*papers, *ours) if each.row.rtt == rtt and not _is_marking(each)]
    cells = {(law(each), setting(each), each.row.load_percent, source(each)): _cost(each) for each in chosen}
    sources = [name for name in ("2003", "2004", "ours") if any(name == source(each) for each in chosen)]
    head = ("law", "packets", *(f"{name}, {load} %" for load in _LOADS for name in sources))
    names = dict.fromkeys((law(each), setting(each)) for each in chosen)
    body = [(*name, *(cells.get((*name, load, source), "") for load in _LOADS for source in sources)) for name in names]
    return table(head, body)


def _cost(account: AuditedRow) -> str:
    audit = account.audit
    if audit.verdict is Verdict.INCONCLUSIVE:
        return "-"
    text = _range(audit.ledger.cost_s)
    return f"**{text}**" if audit.verdict is Verdict.INCONSISTENT else text


def _contradicted(rows: Sequence[le.MeasuredRow], papers: Sequence[AuditedRow]) -> str:
    """Return the rows that contradict themselves, and what is left of that under other assumptions."""
    spread = le.repeatability(rows)
    less_sure = le.audit_rows([spread.widen(row) for row in rows])
    body = []
    for each, unsure in zip(papers, less_sure, strict=True):
        if each.audit.verdict is not Verdict.INCONSISTENT:
            continue
        trips = ROUND_TRIPS[each.row.rtt]
        body.append(
            (
                f"{source(each)}, {each.row.load_percent:g} %, {each.row.rtt}",
                f"{law(each)} {setting(each)}",
                f"{each.row.loss_percent.middle:g}",
                f"{each.row.completed_millions.middle:g}",
                _range(each.audit.ledger.cost_s),
                f"{each.audit.max_cost_s:.1f}",
                f"{max_cost_s(Drops.ANY, trips):.1f}",
                "yes" if unsure.audit.verdict is Verdict.INCONSISTENT else "no",
            )
        )
    head = (
        "paper, load, RTT",
        "law",
        "loss, %",
        "completed, M",
        "a loss cost, s",
        "can cost, s",
        "if all were SYNs, s",
    )
    return table((*head, "beyond repeatability"), body)


def _claims() -> str:
    """Return the claims that say of a run's users that they fare worse, where its losses cannot have done that."""
    body = []
    for study in map(find, ours.STUDIES):
        audits = le.audits(study.name)
        for claim in study.reviewed_claims():
            for part in claim.parts:
                if isinstance(part, BetterCurve) and study.contradiction(part.other):
                    worse, better = audits[part.other], audits[part.one]
                    body.append(
                        (
                            claim.id,
                            f"`{part.other}`",
                            _range(worse.ledger.extra_s),
                            f"{worse.bound_s:.2f}",
                            f"`{part.one}`",
                            _range(better.ledger.extra_s),
                        )
                    )
    head = ("claim", "said to be worse", "extra, s", "allowed at most, s", "than", "extra, s")
    return table(head, body)


def _bounds() -> str:
    head = ("which packets are lost", *(f"{rtt}, {hosts.first_s:g} s" for rtt in ROUND_TRIPS for hosts in _TIMERS))
    body = [
        (
            name,
            *(f"{max_cost_s(drops, trips, hosts=hosts):.1f}" for trips in ROUND_TRIPS.values() for hosts in _TIMERS),
        )
        for drops, name in DROPS.items()
    ]
    return table(head, body)


def _found(papers: Sequence[AuditedRow], ours: Sequence[AuditedRow]) -> dict[str, str]:
    """Return the ranges of costs that the page's findings name; the sentence of ours is empty without any."""
    speaking = [each for each in papers if each.audit.verdict is not Verdict.INCONCLUSIVE]
    at_98, our_98 = (
        [each for each in some if each.row.run.endswith(" 98 %") and each.audit.verdict is not Verdict.INCONCLUSIVE]
        for some in (papers, ours)
    )
    packet_mode = [each for each in speaking if law(each) == "ARED, packet mode"]
    ours_by = [
        _hull(each for each in our_98 if le.drops_of(each.row.scheme) is drops)
        for drops in (Drops.BY_PACKETS, Drops.BY_BYTES)
    ]
    return {
        "droptail_cost": _hull(each for each in at_98 if law(each) == "drop-tail"),
        "byte_cost": _hull(each for each in at_98 if le.drops_of(each.row.scheme) is Drops.BY_BYTES),
        "packet_cost": _hull(
            each for each in packet_mode if each.row.table == "le2004-t3" and setting(each) == "12/36"
        ),
        "far_cost": _hull(each for each in packet_mode if each.row.run.endswith(" 90 %, general RTT")),
        "ours_cost": (
            f"\n   Ours cost {ours_by[0]} s, packet mode's among them, and {ours_by[1]} s." if all(ours_by) else ""
        ),
    }


def _hull(audit_rows: Iterable[AuditedRow]) -> str:
    """Return the range of all costs; empty if there are none."""
    costs = [each.audit.ledger.cost_s for each in audit_rows]
    if not costs:
        return ""
    return _range(Interval(min(cost.low for cost in costs), max(cost.high for cost in costs)), digits=1)


def _consistent_with_three(rows: Sequence[le.MeasuredRow]) -> str:
    """Name the rows of ARED in packet mode that FreeBSD's timers allow."""
    allowed = [
        f"{source(each)}'s {setting(each)} at {each.row.load_percent:g} %"
        for each in le.audit_rows(rows, hosts=_TIMERS[1])
        if law(each) == "ARED, packet mode" and each.audit.verdict is Verdict.CONSISTENT
    ]
    return " and ".join(allowed) if allowed else "none"


def _left_out(papers: Sequence[AuditedRow]) -> str:
    silent = [each.audit.reason for each in papers if each.audit.verdict is Verdict.INCONCLUSIVE]
    body = [(rule, str(silent.count(rule))) for rule in dict.fromkeys(silent)]
    return table(("rule", "rows"), [*body, ("left", str(len(papers) - len(silent)))])


def _books(audit_rows: Iterable[AuditedRow]) -> str:
    body = [
        (
            source(each),
            f"{each.row.load_percent:g}",
            each.row.rtt,
            f"`{each.row.scheme}`",
            _range(each.audit.ledger.extra_s),
            f"{each.audit.ledger.queue_s.high:.2f}",
            _range(each.audit.ledger.lost, digits=3),
            "-" if each.audit.verdict is Verdict.INCONCLUSIVE else _range(each.audit.ledger.cost_s),
            f"{each.audit.verdict}: {each.audit.reason}",
        )
        for each in audit_rows
        if not _is_marking(each)
    ]
    head = ("source", "load, %", "RTT", "scheme", "extra, s", "queue at most, s", "lost", "cost, s", "verdict")
    return table(head, body)


def _range(interval: Interval, digits: int = 2) -> str:
    # Adding 0 makes 0 of -0.
    low, high = (round(bound, digits) + 0.0 for bound in (interval.low, interval.high))
    return f"{low:.{digits}f} to {high:.{digits}f}"
