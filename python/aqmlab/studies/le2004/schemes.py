"""Schemes of Le et al. (2004), and the best of each that the paper compares."""

from __future__ import annotations

from typing import get_args

from aqmlab.studies.le.schemes import Signal, ared, droptail, pi, rem

TARGETS = (24, 240)
ARED_MIN = (12, 120)
LOADS = (90, 98)
SIGNALS: tuple[Signal, ...] = get_args(Signal)

BASE = droptail(240)
PI, REM = pi(24), rem(24)
PI_ECN, REM_ECN = pi(24, ecn=True), rem(24, ecn=True)
BYTE, BYTE_ECN, BYTE_NEW = (ared(12, mode="byte", signal=signal) for signal in SIGNALS)
PACKET, PACKET_ECN, PACKET_NEW = (ared(12, signal=signal) for signal in SIGNALS)
PACKET_120, PACKET_120_ECN, PACKET_120_NEW = (ared(120, signal=signal) for signal in SIGNALS)

CONTROLLED = tuple(law(target, ecn=ecn) for law in (pi, rem) for target in TARGETS for ecn in (False, True))
"""The rows of table 2 below drop-tail."""
AREDS = tuple(
    ared(min_th, mode=mode, signal=signal) for min_th in ARED_MIN for mode in ("packet", "byte") for signal in SIGNALS
)
"""The rows of table 3."""
GENERAL = (
    *(BASE, PI, PI_ECN, REM, REM_ECN),
    *(PACKET, PACKET_ECN, PACKET_NEW),
    *(PACKET_120, PACKET_120_ECN, PACKET_120_NEW),
    *(BYTE, BYTE_ECN, BYTE_NEW),
)
"""The rows of table 4, with general round-trip times. Packet mode has 120 and 360 in the paper; the first reading took
12 and 36."""
