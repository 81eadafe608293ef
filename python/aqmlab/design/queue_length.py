"""Design rules for queue lengths in packets: Adaptive RED's thresholds, and drop-tail's limit."""

from __future__ import annotations

import math

from aqmlab.design.result import Design, Value, capacity, check


def ared(*, packets_per_sec: float, target_delay_s: float = 0.005) -> Design:
    """Return Adaptive RED's thresholds and weight.

    Parameters
    ----------
    packets_per_sec
        C, the capacity in mean packets per second.
    target_delay_s
        The target queueing delay; 5 ms in the source.

    Notes
    -----
    Floyd, Gummadi and Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue
    management", 2001. The same thresholds and weight suit RED; its ``max_p`` is your choice.

    Examples
    --------
    >>> ared(packets_per_sec=24_000).scheme
    'ared:min_th=60,max_th=180,w_q=4.16658e-05'
    """
    check(packets_per_sec > 0, "packets_per_sec", "above 0", packets_per_sec)
    check(0 < target_delay_s <= 60, "target_delay", "above 0 s and at most 60 s", target_delay_s)
    source = "Floyd, Gummadi and Shenker 2001"
    min_th = max(5.0, target_delay_s * packets_per_sec / 2)
    return Design(
        discipline="ared",
        parameters=(
            Value(
                name="min_th",
                value=min_th,
                unit="packets",
                meaning="average queue below which no packet is marked or dropped",
                rule="max(5, delay C / 2)",
                source=source,
            ),
            Value(
                name="max_th",
                value=3 * min_th,
                unit="packets",
                meaning="average queue at which the probability reaches max_p",
                rule="3 min_th",
                source=source,
            ),
            Value(
                name="w_q",
                value=-math.expm1(-1 / packets_per_sec),
                unit="1",
                meaning="weight of a new sample in the average: a time constant of one second",
                rule="1 - exp(-1 / C)",
                source=source,
            ),
        ),
        follows_from=(capacity(packets_per_sec),),
    )


def droptail(*, packets_per_sec: float, rtt_s: float, flows: float = 1.0) -> Design:
    """Return the length of a drop-tail queue that keeps the link busy.

    Parameters
    ----------
    packets_per_sec
        C, the capacity in mean packets per second.
    rtt_s
        R, the mean round-trip time without queueing.
    flows
        n, the number of long-lived flows. One flow, or several synchronized flows, need the whole bandwidth-delay
        product.

    Notes
    -----
    Villamizar and Song, "High performance TCP in ANSNET", 1994, for one flow: C R. Appenzeller, Keslassy and McKeown,
    "Sizing router buffers", SIGCOMM 2004, for n desynchronized flows, which takes some hundreds: C R / sqrt(n).

    Examples
    --------
    >>> droptail(packets_per_sec=24_000, rtt_s=0.1).scheme
    'droptail:limit=2400'
    """
    check(packets_per_sec > 0, "packets_per_sec", "above 0", packets_per_sec)
    check(0 < rtt_s <= 60, "rtt", "above 0 s and at most 60 s", rtt_s)
    check(1 <= flows < math.inf, "flows", "at least 1", flows)
    product = packets_per_sec * rtt_s
    return Design(
        discipline="droptail",
        parameters=(
            Value(
                name="limit",
                value=max(1, math.ceil(product / math.sqrt(flows))),
                unit="packets",
                meaning="length of the queue",
                rule="C R / sqrt(n)",
                source="Villamizar and Song 1994" if flows == 1 else "Appenzeller et al. 2004",
            ),
        ),
        follows_from=(
            capacity(packets_per_sec),
            Value(
                name="C R",
                value=product,
                unit="packets",
                meaning="bandwidth-delay product",
                rule="C R",
                source="the link",
            ),
        ),
    )
