"""Parameters by published rules: what a discipline should be set to on a given link, and why.

Each rule is a function from plain numbers to a :class:`Design`: the parameters, what they follow from, and the scheme
to paste behind ``aqmlab compare``.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from aqmlab.control import Loop, Margins


@dataclass(frozen=True, kw_only=True)
class Value:
    """A number that a rule gives."""

    name: str
    value: float
    unit: str
    meaning: str
    rule: str
    source: str

    @property
    def text(self) -> str:
        """The value as it is written in a scheme."""
        if isinstance(self.value, int):
            return str(self.value)
        return f"{1e3 * self.value:.6g}ms" if self.unit == "s" else f"{self.value:.6g}"


@dataclass(frozen=True, kw_only=True)
class Design:
    """The parameters of one discipline for one link."""

    discipline: str
    parameters: tuple[Value, ...]
    """What is set; the discipline's other parameters keep their defaults."""
    follows_from: tuple[Value, ...]
    """What the rules calculate on the way."""
    loop: Loop | None = None
    """The control loop that the parameters make, where the rule is one of control theory."""

    @property
    def scheme(self) -> str:
        """The scheme as it is typed: ``pi:a=1.8e-05,...``."""
        return f"{self.discipline}:" + ",".join(f"{value.name}={value.text}" for value in self.parameters)

    @property
    def margins(self) -> Margins | None:
        """How far the loop is from oscillating."""
        return None if self.loop is None else self.loop.margins()

    def record(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "discipline": self.discipline,
            "scheme": self.scheme,
            "parameters": [asdict(value) for value in self.parameters],
            "follows_from": [asdict(value) for value in self.follows_from],
            "margins": None if self.margins is None else asdict(self.margins),
        }


def packets_per_sec(*, bits_per_sec: float, mean_packet: float = 500.0, overhead: float = 38.0) -> float:
    """C, the papers' capacity of a link: mean packets per second, each with the overhead of its frame in bytes.

    Examples
    --------
    >>> round(packets_per_sec(bits_per_sec=100e6))
    23234
    """
    _check(bits_per_sec > 0, "rate", "above 0 bit/s", bits_per_sec)
    _check(0 < mean_packet <= 65_535, "mean_packet", "between 1 B and 65535 B", mean_packet)
    return bits_per_sec / (8 * (mean_packet + overhead))


def ared(*, packets_per_sec: float, target_delay_s: float = 0.005) -> Design:
    """Adaptive RED's thresholds and weight.

    Parameters
    ----------
    packets_per_sec
        C, the capacity in mean packets per second.
    target_delay_s
        The queueing delay to aim at. 5 ms in the source.

    Notes
    -----
    Floyd, Gummadi and Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue
    management", 2001. The same thresholds and weight suit RED; its ``max_p`` is then left to you.

    Examples
    --------
    >>> ared(packets_per_sec=24_000).scheme
    'ared:min_th=60,max_th=180,w_q=4.16658e-05'
    """
    _check(packets_per_sec > 0, "packets_per_sec", "above 0", packets_per_sec)
    _check(0 < target_delay_s <= 60, "target_delay", "above 0 s and at most 60 s", target_delay_s)
    source = "Floyd, Gummadi and Shenker 2001"
    min_th = max(5.0, target_delay_s * packets_per_sec / 2)
    return Design(
        discipline="ared",
        parameters=(
            Value(
                name="min_th",
                value=min_th,
                unit="packets",
                meaning="the average queue below which nothing is signalled",
                rule="max(5, delay C / 2)",
                source=source,
            ),
            Value(
                name="max_th",
                value=3 * min_th,
                unit="packets",
                meaning="the average queue at which the probability reaches max_p",
                rule="3 min_th",
                source=source,
            ),
            Value(
                name="w_q",
                value=-math.expm1(-1 / packets_per_sec),
                unit="1",
                meaning="the weight of a new sample in the average: a time constant of one second",
                rule="1 - exp(-1 / C)",
                source=source,
            ),
        ),
        follows_from=(_capacity(packets_per_sec),),
    )


def pi(
    *,
    packets_per_sec: float,
    flows: float,
    rtt_max_s: float,
    crossover: float | None = None,
    sampling_hz: float = 160.0,
) -> Design:
    """PI's gains for at least so many flows with at most such a round-trip time.

    Parameters
    ----------
    packets_per_sec
        C, the capacity in mean packets per second.
    flows
        N, the fewest long-lived flows that the loop must be stable with.
    rtt_max_s
        R, the longest round-trip time, queueing delay included.
    crossover
        w_g in rad/s: higher is faster and nearer to oscillating. By default z, the corner frequency of TCP's window.
    sampling_hz
        How often the queue is sampled. 160 Hz in the source.

    Notes
    -----
    Hollot, Misra, Towsley and Gong, "On designing improved controllers for AQM routers supporting TCP flows", INFOCOM
    2001. PI's zero cancels the pole of TCP's window and its gain makes the loop's gain one at w_g::

        z = 2N / (R^2 C)        K = w_g |1 + j w_g R| (2N)^2 / (R C)^3
        a = K (1/z + T/2)       b = K (1/z - T/2)                          T = 1 / sampling_hz

    Why w_g = z by default: it is what the published K = 9.64e-6 and z = 0.53 come to for C = 3750, N = 60 and R = 0.2 s
    + 175 / C. It gives K = 9.65e-6 and z = 0.526 there. The published a and b are those of the rounded K and z, which
    cross over at 0.52 rad/s.

    Examples
    --------
    >>> hollot = {"packets_per_sec": 3750, "flows": 60, "rtt_max_s": 0.246}
    >>> pi(**hollot, crossover=0.5202).scheme
    'pi:a=1.82221e-05,b=1.8162e-05,sampling_hz=160'
    >>> pi(**hollot).scheme
    'pi:a=1.85278e-05,b=1.84667e-05,sampling_hz=160'
    """
    c, n, r = packets_per_sec, flows, rtt_max_s
    _check(c > 0, "packets_per_sec", "above 0", c)
    _check(n > 0, "flows", "above 0", n)
    _check(0 < r <= 60, "rtt_max", "above 0 s and at most 60 s", r)
    z = 2 * n / (r**2 * c)
    w_g = z if crossover is None else crossover
    most = _TURNS_AT / r
    if crossover is None:
        # z R = 2N / (R C)
        fewer = f"below {_TURNS_AT / 2 * r * c:.4g} for the default crossover to be stable, or a crossover given"
        _check(w_g < most, "flows", fewer, n)
    _check(0 < w_g < most, "crossover", f"above 0 and below {most:.4g} rad/s, where the loop turns over", w_g)
    lowest = z / 2
    rates = f"above z / 2 = {lowest:.4g} Hz, so that b is above 0, and at most 1e6 Hz"
    _check(lowest < sampling_hz <= 1e6, "sampling_hz", rates, sampling_hz)
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
                meaning="how often the queue is sampled",
                rule="160 Hz, or as given",
                source=source,
            ),
        ),
        follows_from=(
            _capacity(c),
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
                meaning="where the loop's gain is one",
                rule="z, or as given",
                source="ours: what the published gains come to",
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
    """DualPI2's gains, which are PI2's, for round-trip times of at most so much.

    Parameters
    ----------
    rtt_max_s
        The longest round-trip time. 100 ms in the source.
    target_s
        The queueing delay to aim at in the Classic queue. 15 ms in the source.

    Notes
    -----
    RFC 9332, Appendix A.1, figure 2. The gains need neither the rate nor the number of flows: the controller works on
    delay, and squaring its output makes up for how TCP answers to a small probability. The RFC also names alpha 0.16
    and beta 3.2 for 16 ms and 100 ms, these gains rounded for integer arithmetic.

    Examples
    --------
    >>> dualpi2().scheme
    'dualpi2:target=15ms,t_update=15ms,alpha=0.15,beta=3'
    """
    _check(0 < rtt_max_s <= 60, "rtt_max", "above 0 s and at most 60 s", rtt_max_s)
    _check(0 < target_s <= 60, "target", "above 0 s and at most 60 s", target_s)
    source = "RFC 9332, A.1"
    t_update = min(target_s, rtt_max_s / 3)
    return Design(
        discipline="dualpi2",
        parameters=(
            Value(
                name="target",
                value=target_s,
                unit="s",
                meaning="the queueing delay to aim at in the Classic queue",
                rule="15 ms, or as given",
                source=source,
            ),
            Value(
                name="t_update",
                value=t_update,
                unit="s",
                meaning="the time between two corrections of the probability",
                rule="min(target, RTT_max / 3)",
                source=source,
            ),
            Value(
                name="alpha",
                value=0.1 * t_update / rtt_max_s**2,
                unit="Hz",
                meaning="integral gain, per second of delay and correction",
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


def codel(*, bits_per_sec: float, rtt_max_s: float = 0.1, mtu: float = 1500.0, overhead: float = 38.0) -> Design:
    """CoDel's interval and target, which are FQ-CoDel's, for round-trip times of at most so much.

    Parameters
    ----------
    bits_per_sec
        The link's rate.
    rtt_max_s
        The longest round-trip time. 100 ms in the source.
    mtu
        The longest IP packet, in bytes.
    overhead
        What a frame adds to it, in bytes.

    Notes
    -----
    RFC 8290, sections 5.2.2 and 5.2.3: an interval in the order of the worst round-trip time; a target of 5 to 10 % of
    it, but at least the time that the longest packet takes on the wire. The lower end is taken, as the defaults do.

    Examples
    --------
    >>> codel(bits_per_sec=100e6).scheme
    'codel:interval=100ms,target=5ms'
    >>> codel(bits_per_sec=1e6).scheme
    'codel:interval=100ms,target=12.304ms'
    """
    _check(bits_per_sec > 0, "rate", "above 0 bit/s", bits_per_sec)
    _check(0 < rtt_max_s <= 60, "rtt_max", "above 0 s and at most 60 s", rtt_max_s)
    _check(0 < mtu <= 65_535, "mtu", "between 1 B and 65535 B", mtu)
    longest = 8 * (mtu + overhead) / bits_per_sec
    return Design(
        discipline="codel",
        parameters=(
            Value(
                name="interval",
                value=rtt_max_s,
                unit="s",
                meaning="how long a queue may stand above the target before it is told",
                rule="RTT_max",
                source="RFC 8290, 5.2.2",
            ),
            Value(
                name="target",
                value=max(0.05 * rtt_max_s, longest),
                unit="s",
                meaning="the delay of a standing queue that is put up with",
                rule="max(5 % of interval, MTU's time on the wire)",
                source="RFC 8290, 5.2.3",
            ),
        ),
        follows_from=(
            Value(
                name="MTU's time on the wire",
                value=longest,
                unit="s",
                meaning="how long the longest packet takes to send",
                rule="8 (MTU + overhead) / rate",
                source="the link",
            ),
        ),
    )


def droptail(*, packets_per_sec: float, rtt_s: float, flows: float = 1.0) -> Design:
    """How many packets a drop-tail queue must hold for the link to stay busy.

    Parameters
    ----------
    packets_per_sec
        C, the capacity in mean packets per second.
    rtt_s
        R, the mean round-trip time without queueing.
    flows
        n, the long-lived flows. One, or several that are in step, need the whole product of delay and capacity.

    Notes
    -----
    Villamizar and Song, "High performance TCP in ANSNET", 1994, for one flow: C R. Appenzeller, Keslassy and McKeown,
    "Sizing router buffers", SIGCOMM 2004, for n flows that are not in step, which takes some hundreds: C R / sqrt(n).

    Examples
    --------
    >>> droptail(packets_per_sec=24_000, rtt_s=0.1).scheme
    'droptail:limit=2400'
    """
    _check(packets_per_sec > 0, "packets_per_sec", "above 0", packets_per_sec)
    _check(0 < rtt_s <= 60, "rtt", "above 0 s and at most 60 s", rtt_s)
    _check(1 <= flows < math.inf, "flows", "1 at least", flows)
    product = packets_per_sec * rtt_s
    return Design(
        discipline="droptail",
        parameters=(
            Value(
                name="limit",
                value=max(1, math.ceil(product / math.sqrt(flows))),
                unit="packets",
                meaning="how many packets the queue holds",
                rule="C R / sqrt(n)",
                source="Villamizar and Song 1994" if flows == 1 else "Appenzeller et al. 2004",
            ),
        ),
        follows_from=(
            _capacity(packets_per_sec),
            Value(
                name="C R",
                value=product,
                unit="packets",
                meaning="what the path holds without a queue",
                rule="C R",
                source="the link",
            ),
        ),
    )


_TURNS_AT = 0.8603335890193797
"""The x with x + arctan x = pi/2: with z cancelled, the loop's phase is -180 degrees at w R = x."""


def _capacity(packets_per_sec: float) -> Value:
    return Value(
        name="C",
        value=packets_per_sec,
        unit="packets/s",
        meaning="the capacity in mean packets",
        rule="rate / (8 (mean packet + overhead))",
        source="the link",
    )


def _check(holds: bool, field: str, must: str, got: float) -> None:
    if not holds:
        raise ValueError(f"{field}: must be {must}, got {got:g}")
