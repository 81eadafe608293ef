"""The cases of each standard, by its name."""

from __future__ import annotations

from aqmlab.conformance.cases import bbr, cubic, dctcp, hystart, ledbat, prague, prr, rack_tlp, reno
from aqmlab.conformance.cases.standard import Standard

STANDARDS: dict[str, Standard] = {
    module.STANDARD.name: module.STANDARD
    for module in (reno, cubic, dctcp, prague, bbr, ledbat, hystart, prr, rack_tlp)
}
"""The standards by name, in the order of reports."""
