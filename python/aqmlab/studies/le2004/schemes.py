"""Schemes of Le et al. (2004), and the best of each that the paper compares."""

from __future__ import annotations

from typing import get_args

from aqmlab.studies.le.schemes import (
    ARED_MIN,
    BASE,
    PI_24,
    PI_ECN,
    REM_24,
    REM_ECN,
    TARGETS,
    PaperScheme,
    Signal,
    ared,
    pi,
    rem,
)

LOADS = (90, 98)
SIGNALS: tuple[Signal, ...] = get_args(Signal)

BYTE, BYTE_ECN, BYTE_NEW = (ared(12, mode="byte", signal=signal) for signal in SIGNALS)
PACKET, PACKET_ECN, PACKET_NEW = (ared(12, signal=signal) for signal in SIGNALS)
PACKET_120, PACKET_120_ECN, PACKET_120_NEW = (ared(120, signal=signal) for signal in SIGNALS)

PI_REM = tuple(law(target, ecn=ecn) for law in (pi, rem) for target in TARGETS for ecn in (False, True))
"""The rows of table 2 below drop-tail."""
AREDS = tuple(
    ared(min_th, mode=mode, signal=signal) for min_th in ARED_MIN for mode in ("packet", "byte") for signal in SIGNALS
)
"""The rows of table 3."""
GENERAL = (
    *(BASE, PI_24, PI_ECN, REM_24, REM_ECN),
    *(PACKET, PACKET_ECN, PACKET_NEW),
    *(PACKET_120, PACKET_120_ECN, PACKET_120_NEW),
    *(BYTE, BYTE_ECN, BYTE_NEW),
)
"""The rows of table 4, with general round-trip times. Packet mode has 120 and 360 in the paper; the first reading took
12 and 36."""


def areds(mode: str, signal: Signal = "drop") -> tuple[PaperScheme, ...]:
    """Return ARED in a mode with both pairs of thresholds."""
    return tuple(ared(min_th, mode=mode, signal=signal) for min_th in ARED_MIN)
