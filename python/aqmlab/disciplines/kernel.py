"""The queue disciplines of the Linux kernel, given as ``tc`` takes them: ``queue.kernel = "codel target 5ms"``."""

from __future__ import annotations

from aqmlab.disciplines.catalogue import Discipline, Parameter

NAME = "kernel"
"""The key of the kernel's disciplines in a spec, and their prefix as a scheme: ``kernel:codel target 5ms``."""

TC = "tc"
"""The only parameter."""

DISCIPLINE = Discipline(
    name=NAME,
    family="kernel",
    decides_at="dequeue",
    summary="A queue discipline of the Linux kernel, in a run with world = kernel",
    parameters=(
        Parameter(
            name=TC,
            unit="",
            default="none",
            meaning="The discipline with its options, as `tc qdisc` takes them.",
            source="tc(8)",
            schema={"type": "string"},
        ),
    ),
    page="See the guide to runs in the Linux kernel.",
    ecn="requires",
)
"""The kernel's disciplines as an entry of the catalogue. Their options decide on marks, so that ``noecn`` is no key."""
