"""The page docs/studies/accounting.md: consistency of the papers' loss and delay, and of ours.

``make accounting`` runs this module, which fills in page.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from accounting import ours
from accounting.figure import DROPS, draw, law, source
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
    """Write the page and its figure into the directory of the studies' pages."""
    write(Path(sys.argv[1]))


def write(pages: Path) -> None:
    """Write the page and its figure beside the studies' records, which have our rows."""
    rows = le.published_rows()
    papers = le.audit_rows(rows)
    known = {row.scheme for row in rows}
    chosen = [row for row in ours.recorded_rows(pages) if row.scheme in known and row.load_percent in _LOADS]
    our_rows = le.audit_rows(chosen, le.ours())
    file = pages / _FIGURE
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.write(file, partial(draw, papers, our_rows), size=(11, 4.8))
    spread = le.repeatability(rows)
    everything = sum(amount.packets for amount in WEB.values())
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        bound_packets=f"{max_cost_s(Drops.BY_PACKETS, ROUND_TRIPS['uniform']):.1f}",
        bound_bytes=f"{max_cost_s(Drops.BY_BYTES, ROUND_TRIPS['uniform']):.1f}",
        **_ranges(papers, our_rows),
        uniform=_costs(papers, our_rows, "uniform"),
        general=_costs(papers, our_rows, "general"),
        contradicted=_contradicted(rows, papers),
        spread_loss=f"{spread.loss_points:.2f}",
        spread_completed=f"{spread.completed_millions:.2f}",
        handshakes=f"{100 * WEB[Kind.HANDSHAKE].packets / everything:.0f}",
        free=f"{100 * WEB[Kind.FREE].packets / everything:.0f}",
        bounds=_bounds(),
        consistent_with_3s=_consistent_with_three(rows),
        claims=_claims(),
        excluded=_excluded(papers),
        ledger=_ledger([*papers, *our_rows]),
    )
    (pages / "accounting.md").write_text(text, encoding="utf-8")


def setting(audited: AuditedRow) -> str:
    """Return a row's limit, target or thresholds, in packets."""
    parameters = schemes.parse(audited.row.scheme).queue.parameters
    if "max_th" in parameters:
        return f"{parameters['min_th']}/{parameters['max_th']}"
    return f"{parameters.get('limit', parameters.get('q_ref')):,}"


def _is_marking(audited: AuditedRow) -> bool:
    return "ecn=true" in audited.row.scheme


def _costs(papers: Sequence[AuditedRow], ours: Sequence[AuditedRow], rtt: str) -> str:
    """Return the cost of a lost packet, a row for each law and setting."""
    chosen = [each for each in (*papers, *ours) if each.row.rtt == rtt and not _is_marking(each)]
    cells = {(law(each), setting(each), each.row.load_percent, source(each)): _cost(each) for each in chosen}
    sources = [name for name in ("2003", "2004", "ours") if any(name == source(each) for each in chosen)]
    head = ("law", "packets", *(f"{name}, {load} %" for load in _LOADS for name in sources))
    names = dict.fromkeys((law(each), setting(each)) for each in chosen)
    body = [(*name, *(cells.get((*name, load, source), "") for load in _LOADS for source in sources)) for name in names]
    return table(head, body)


def _cost(audited: AuditedRow) -> str:
    audit = audited.audit
    if audit.verdict is Verdict.INCONCLUSIVE:
        return "-"
    text = _range(audit.ledger.cost_s)
    return f"**{text}**" if audit.verdict is Verdict.INCONSISTENT else text


def _contradicted(rows: Sequence[le.MeasuredRow], papers: Sequence[AuditedRow]) -> str:
    """Return the inconsistent rows, and their verdict under other assumptions."""
    spread = le.repeatability(rows)
    widened = le.audit_rows([spread.widen(row) for row in rows])
    body = []
    for each, wider in zip(papers, widened, strict=True):
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
                "yes" if wider.audit.verdict is Verdict.INCONSISTENT else "no",
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
    """Return the claims that call a run worse although its losses cannot have slowed its users."""
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
    head = ("claim", "worse run", "extra, s", "bound, s", "than", "extra, s")
    return table(head, body)


def _bounds() -> str:
    head = ("lost packets", *(f"{rtt}, {hosts.first_s:g} s" for rtt in ROUND_TRIPS for hosts in _TIMERS))
    body = [
        (
            name,
            *(f"{max_cost_s(drops, trips, hosts=hosts):.1f}" for trips in ROUND_TRIPS.values() for hosts in _TIMERS),
        )
        for drops, name in DROPS.items()
    ]
    return table(head, body)


def _ranges(papers: Sequence[AuditedRow], ours: Sequence[AuditedRow]) -> dict[str, str]:
    """Return the ranges of costs in the page's findings."""
    conclusive = [each for each in papers if each.audit.verdict is not Verdict.INCONCLUSIVE]
    at_98, our_98 = (
        [each for each in some if each.row.run.endswith(" 98 %") and each.audit.verdict is not Verdict.INCONCLUSIVE]
        for some in (papers, ours)
    )
    packet_mode = [each for each in conclusive if law(each) == "ARED, packet mode"]
    our_costs = [
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
        "our_packet_cost": our_costs[0],
        "our_byte_cost": our_costs[1],
    }


def _hull(rows: Iterable[AuditedRow]) -> str:
    """Return the range of all costs."""
    costs = [each.audit.ledger.cost_s for each in rows]
    return _range(Interval(min(cost.low for cost in costs), max(cost.high for cost in costs)), digits=1)


def _consistent_with_three(rows: Sequence[le.MeasuredRow]) -> str:
    """Return the rows of ARED in packet mode that are consistent with FreeBSD's timers."""
    allowed = [
        f"{source(each)}'s {setting(each)} at {each.row.load_percent:g} %"
        for each in le.audit_rows(rows, hosts=_TIMERS[1])
        if law(each) == "ARED, packet mode" and each.audit.verdict is Verdict.CONSISTENT
    ]
    return " and ".join(allowed) if allowed else "none"


def _excluded(papers: Sequence[AuditedRow]) -> str:
    inconclusive = [each.audit.reason for each in papers if each.audit.verdict is Verdict.INCONCLUSIVE]
    body = [(rule, str(inconclusive.count(rule))) for rule in dict.fromkeys(inconclusive)]
    return table(("rule", "rows"), [*body, ("conclusive", str(len(papers) - len(inconclusive)))])


def _ledger(rows: Iterable[AuditedRow]) -> str:
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
        for each in rows
        if not _is_marking(each)
    ]
    head = ("source", "load, %", "RTT", "scheme", "extra, s", "queue at most, s", "lost", "cost, s", "verdict")
    return table(head, body)


def _range(interval: Interval, digits: int = 2) -> str:
    # Adding 0 turns -0 into 0.
    low, high = (round(bound, digits) + 0.0 for bound in (interval.low, interval.high))
    return f"{low:.{digits}f} to {high:.{digits}f}"
