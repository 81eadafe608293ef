"""Conformance of congestion controls: cases from the standards, run in the simulator, judged by a flow's series.

A case (``case.py``) is data: a clause of a standard, a scenario (``scenario.py``), a number measured from the flow's
series (``trace.py``), and its bounds. ``cases`` has those of each standard, ``suite.py`` runs them, ``table.py`` shows
them.
"""

from __future__ import annotations

from aqmlab.conformance.case import Bounds, Case, Outcome, Verdict
from aqmlab.conformance.suite import Suite, check_workers_in, conform, plan
from aqmlab.conformance.trace import Trace

__all__ = ["Bounds", "Case", "Outcome", "Suite", "Trace", "Verdict", "check_workers_in", "conform", "plan"]
