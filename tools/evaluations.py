"""The page docs/studies/rfc9743.md: built-in congestion controls evaluated as RFC 9743 demands.

``make evaluations`` runs this module, which fills in evaluations.md. Cells in the store are reused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aqmlab import _core
from aqmlab.evaluation import Outcome, Verdict, evaluate, table
from aqmlab.evaluation.comparison import Comparison
from aqmlab.evaluation.suite import SEEDS
from markdown import table as markdown_table

_TEMPLATE = Path(__file__).with_name("evaluations.md")

_CONTROLS = ("reno", "bbr", "prague")
"""A control that CUBIC replaced, and two that the IETF works on."""


def main() -> None:
    """Run the cells that are missing, and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/studies/rfc9743.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    arguments = parser.parse_args()
    outcomes = {control: evaluate(control, out=arguments.results) for control in _CONTROLS}
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        results=_core.results_number(),
        seeds=len(SEEDS),
        verdicts=_verdicts(outcomes),
        exceeded="\n".join(_exceeded(control, found) for control, found in outcomes.items()),
    )
    (arguments.pages / "rfc9743.md").write_text(text, encoding="utf-8")


def _verdicts(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    rows = []
    for found in zip(*outcomes.values(), strict=True):
        clause = found[0].clause
        rows.append((f"{clause.section} {clause.title}", clause.level, *(_short(each) for each in found)))
    return markdown_table(("clause", "level", *outcomes), rows)


def _short(outcome: Outcome) -> str:
    """Return the verdict, with the number of comparisons that exceed or are not decided."""
    if outcome.verdict in (Verdict.MEETS, Verdict.NOT_COVERED):
        return str(outcome.verdict)
    count = sum(comparison.verdict is outcome.verdict for comparison in outcome.comparisons)
    word = "exceeds" if outcome.verdict is Verdict.EXCEEDS else "not decided"
    return f"{word} in {count} of {len(outcome.comparisons)}"


def _exceeded(control: str, outcomes: Iterable[Outcome]) -> str:
    """Return the comparisons in which a control exceeds the harm of CUBIC, each once with all its clauses."""
    found: dict[str, tuple[Comparison, list[str]]] = {}
    for outcome in outcomes:
        for comparison in outcome.comparisons:
            if comparison.verdict is Verdict.EXCEEDS:
                sections = found.setdefault(table.place_of(comparison), (comparison, []))[1]
                sections.append(outcome.clause.section)
    rows = [
        (", ".join(sections), place, *table.numbers(comparison), f"{comparison.measure.margin:g}")
        for place, (comparison, sections) in found.items()
    ]
    head = ("clauses", "comparison", control, "CUBIC", "Reno", "worse than CUBIC", "margin")
    return f"### {control}\n\n{markdown_table(head, rows)}"


if __name__ == "__main__":
    main()
