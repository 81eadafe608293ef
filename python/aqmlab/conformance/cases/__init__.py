"""The cases of each standard, by its name."""

from __future__ import annotations

from aqmlab.conformance.cases import cubic, dctcp, reno
from aqmlab.conformance.cases.standard import Standard

STANDARDS: dict[str, Standard] = {one.name: one for one in (reno.STANDARD, cubic.STANDARD, dctcp.STANDARD)}
"""The standards by name, in the order of reports."""
