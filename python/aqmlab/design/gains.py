"""Design rules of control theory: the gains of PI and of DualPI2."""

from __future__ import annotations

import math

from aqmlab.design.control import Loop
from aqmlab.design.result import Design, Value, capacity, check

_BREAK_FREQUENCY = 0.8603335890193797
"""The x with x + arctan x = pi/2: with z cancelled, the loop's phase is -180 degrees at w R = x."""


def pi(
    *,
    packets_per_sec: float,
    flows: float,
    rtt_max_s: float,
    crossover: float | None = None,
    sampling_hz: float = 160.0,
) -> Design:
    """Return PI's gains for a smallest number of flows and a longest round-trip time.

    Parameters
    ----------
    packets_per_sec
        C, the capacity in mean packets per second.
    flows
        N, the smallest number of long-lived flows with which the loop must be stable.
    rtt_max_s
        R, the longest round-trip time, queueing delay included.
    crossover
        w_g in rad/s: a higher one is faster and less stable. By default z, the corner frequency of TCP's window.
    sampling_hz
        The sampling frequency of the queue; 160 Hz in the source.

    Notes
    -----
    Hollot, Misra, Towsley and Gong, "On designing improved controllers for AQM routers supporting TCP flows", INFOCOM
    2001. PI's zero cancels the pole of TCP's window and its gain makes the loop's gain one at w_g::

        z = 2N / (R^2 C)        K = w_g |1 + j w_g R| (2N)^2 / (R C)^3
        a = K (1/z + T/2)       b = K (1/z - T/2)                          T = 1 / sampling_hz

    The default w_g = z reproduces the published K = 9.64e-6 and z = 0.53 for C = 3750, N = 60 and R = 0.2 s + 175 / C:
    it gives K = 9.65e-6 and z = 0.526. The published a and b follow from the rounded K and z, whose crossover is at
    0.52 rad/s.

    Examples
    --------
    >>> hollot = {"packets_per_sec": 3750, "flows": 60, "rtt_max_s": 0.246}
    >>> pi(**hollot, crossover=0.5202).scheme
    'pi:a=1.82221e-05,b=1.8162e-05,sampling_hz=160'
    >>> pi(**hollot).scheme
    'pi:a=1.85278e-05,b=1.84667e-05,sampling_hz=160'
    """
    c, n, r = packets_per_sec, flows, rtt_max_s
    check(c > 0, "packets_per_sec", "above 0", c)
    check(n > 0, "flows", "above 0", n)
    check(0 < r <= 60, "rtt_max", "above 0 s and at most 60 s", r)
    z = 2 * n / (r**2 * c)
    w_g = z if crossover is None else crossover
    max_crossover = _BREAK_FREQUENCY / r
    if crossover is None:
        # z R = 2N / (R C)
        rule = f"below {_BREAK_FREQUENCY / 2 * r * c:.4g} for the default crossover to be stable, or a crossover given"
        check(w_g < max_crossover, "flows", rule, n)
    check(
        0 < w_g < max_crossover,
        "crossover",
        f"above 0 and below {max_crossover:.4g} rad/s, where the loop turns over",
        w_g,
    )
    lowest = z / 2
    rates = f"above z / 2 = {lowest:.4g} Hz, so that b is above 0, and at most 1e6 Hz"
    check(lowest < sampling_hz <= 1e6, "sampling_hz", rates, sampling_hz)
    k = w_g * math.hypot(1, w_g * r) * (2 * n) ** 2 / (r * c) ** 3
    t = 1 / sampling_hz
    source = "Hollot et al. 2001"
    return Design(
        discipline="pi",
        parameters=(
            Value(
                name="a",
                value=k * (1 / z + t / 2),
                unit="1/packet",
                meaning="gain on the present distance from q_ref",
                rule="K (1/z + T/2)",
                source=source,
            ),
            Value(
                name="b",
                value=k * (1 / z - t / 2),
                unit="1/packet",
                meaning="gain on the distance from q_ref one sample ago",
                rule="K (1/z - T/2)",
                source=source,
            ),
            Value(
                name="sampling_hz",
                value=sampling_hz,
                unit="Hz",
                meaning="sampling frequency of the queue",
                rule="160 Hz, or as given",
                source=source,
            ),
        ),
        follows_from=(
            capacity(c),
            Value(
                name="z",
                value=z,
                unit="rad/s",
                meaning="PI's zero, the corner frequency of TCP's window",
                rule="2N / (R^2 C)",
                source=source,
            ),
            Value(
                name="w_g",
                value=w_g,
                unit="rad/s",
                meaning="frequency at which the loop's gain is one",
                rule="z, or as given",
                source="ours: reproduces the published gains",
            ),
            Value(
                name="K",
                value=k,
                unit="1/(packet s)",
                meaning="PI's integral gain",
                rule="w_g |1 + j w_g R| (2N)^2 / (R C)^3",
                source=source,
            ),
        ),
        loop=Loop(packets_per_sec=c, flows=n, rtt_s=r, gain=k, zero=z),
    )


def dualpi2(*, rtt_max_s: float = 0.1, target_s: float = 0.015) -> Design:
    """Return DualPI2's gains, also for PI2, from the longest round-trip time.

    Parameters
    ----------
    rtt_max_s
        The longest round-trip time; 100 ms in the source.
    target_s
        The target queueing delay of the Classic queue; 15 ms in the source.

    Notes
    -----
    RFC 9332, Appendix A.1, figure 2. The gains need neither the rate nor the number of flows: the controller works on
    delay, and squaring its output compensates for TCP's response to a small probability. The RFC also gives alpha 0.16
    and beta 3.2 for 16 ms and 100 ms, which are these gains rounded for integer arithmetic.

    Examples
    --------
    >>> dualpi2().scheme
    'dualpi2:target=15ms,t_update=15ms,alpha=0.15,beta=3'
    """
    check(0 < rtt_max_s <= 60, "rtt_max", "above 0 s and at most 60 s", rtt_max_s)
    check(0 < target_s <= 60, "target", "above 0 s and at most 60 s", target_s)
    source = "RFC 9332, A.1"
    t_update = min(target_s, rtt_max_s / 3)
    return Design(
        discipline="dualpi2",
        parameters=(
            Value(
                name="target",
                value=target_s,
                unit="s",
                meaning="target queueing delay of the Classic queue",
                rule="15 ms, or as given",
                source=source,
            ),
            Value(
                name="t_update",
                value=t_update,
                unit="s",
                meaning="time between two updates of the probability",
                rule="min(target, RTT_max / 3)",
                source=source,
            ),
            Value(
                name="alpha",
                value=0.1 * t_update / rtt_max_s**2,
                unit="Hz",
                meaning="integral gain, per second of delay and update",
                rule="0.1 Tupdate / RTT_max^2",
                source=source,
            ),
            Value(
                name="beta",
                value=0.3 / rtt_max_s,
                unit="Hz",
                meaning="proportional gain, per second of delay",
                rule="0.3 / RTT_max",
                source=source,
            ),
        ),
        follows_from=(),
    )
