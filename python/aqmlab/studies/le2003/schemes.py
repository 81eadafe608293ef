"""Schemes of Le et al. (2003), and the best of each that the paper compares."""

from __future__ import annotations

from aqmlab.studies.le.schemes import (
    BASE,
    PI_24,
    PI_240,
    PI_ECN,
    REM_24,
    REM_240,
    REM_ECN,
    TARGETS,
    ared,
    droptail,
    pi,
    rem,
    rem_every,
)

ARED, ARED_120 = ared(12), ared(120)
ARED_ECN, ARED_120_ECN = ared(12, signal="ecn"), ared(120, signal="ecn")

DROPTAILS = (droptail(24), BASE, droptail(2400))
DROPPING = (PI_24, PI_240, REM_24, REM_240, ARED, ARED_120)
MARKING = (PI_ECN, pi(240, ecn=True), REM_ECN, rem(240, ecn=True), ARED_ECN, ARED_120_ECN)
PAIRS = tuple(zip(DROPPING, MARKING, strict=True))
"""Schemes without and with ECN: PI's two, then REM's, then ARED's."""

LOADS = (80, 90, 98, 105)

USERS = (7_000, 14_000, 21_000, 28_000, 35_000)
"""Numbers of users on both sides together: the range of the paper's calibration."""


def of_users(users: int) -> str:
    """Return the name of the run of a number of users on the uncongested network."""
    return f"uncongested with {users:,} users"


SWEEP = (
    *(ared(12, w_q=weight) for weight in ("1/1024", "1/2048", "1/4096", "1/16384")),
    ared(60, w_q="1/16384"),
)
"""Other weights, and the thresholds that are recommended for the link (section 4.3)."""

REM_PERIODS = ("0.5 ms", "1 ms", "2 ms", "5 ms", "10 ms")
REM_EVERY = {target: tuple(rem_every(tau, target) for tau in REM_PERIODS) for target in TARGETS}
"""REM with other update periods, which no paper gives, by target."""
