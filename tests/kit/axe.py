"""Accessibility faults that axe-core finds on a page in Chromium.

axe-core 4.14.1 lies in ``vendored`` as it is published, under the MPL-2.0, for tests alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

AXE = Path(__file__).parent / "vendored" / "axe.min.js"
_FOUND = """async () => (await axe.run()).violations
    .filter(each => ["serious", "critical"].includes(each.impact))
    .flatMap(each => each.nodes.map(node => `${each.id}: ${node.html}`))"""


def violations(page: Any) -> list[str]:
    """Return what is serious or critical on a page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return [str(violation) for violation in page.evaluate(_FOUND)]
