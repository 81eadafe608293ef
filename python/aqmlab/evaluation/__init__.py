"""Evaluation of congestion controls as RFC 9743 (BCP 133) demands it: clauses, scenarios, and harm beside CUBIC's.

The tables are data: ``rfc9743.toml`` has the clauses, ``scenarios.toml`` the specs, and ``measures.toml`` the margins.
``document.py`` reads them, ``measures.py`` measures runs, ``comparison.py`` decides, ``suite.py`` runs the cells, and
``table.py`` and ``page.py`` show the outcomes.
"""

from __future__ import annotations

from aqmlab.evaluation.comparison import Comparison, Verdict
from aqmlab.evaluation.suite import Evaluation, Outcome, evaluate, plan

__all__ = ["Comparison", "Evaluation", "Outcome", "Verdict", "evaluate", "plan"]
