"""A design rule for sojourn times: CoDel's interval and target."""

from __future__ import annotations

from aqmlab.design.result import Design, Value, check


def codel(*, bits_per_sec: float, rtt_max_s: float = 0.1, mtu: float = 1500.0, overhead: float = 38.0) -> Design:
    """Return CoDel's interval and target, also for FQ-CoDel, from the longest round-trip time.

    Parameters
    ----------
    bits_per_sec
        The link's rate.
    rtt_max_s
        The longest round-trip time; 100 ms in the source.
    mtu
        The longest IP packet, in bytes.
    overhead
        The bytes that a frame adds to it.

    Notes
    -----
    RFC 8290, sections 5.2.2 and 5.2.3: an interval in the order of the worst round-trip time, and a target of 5 to 10 %
    of it, but at least the transmission time of the longest packet. Like the defaults, the rule uses 5 %.

    Examples
    --------
    >>> codel(bits_per_sec=100e6).scheme
    'codel:interval=100ms,target=5ms'
    >>> codel(bits_per_sec=1e6).scheme
    'codel:interval=100ms,target=12.304ms'
    """
    check(bits_per_sec > 0, "rate", "above 0 bit/s", bits_per_sec)
    check(0 < rtt_max_s <= 60, "rtt_max", "above 0 s and at most 60 s", rtt_max_s)
    check(0 < mtu <= 65_535, "mtu", "between 1 B and 65535 B", mtu)
    longest = 8 * (mtu + overhead) / bits_per_sec
    return Design(
        discipline="codel",
        parameters=(
            Value(
                name="interval",
                value=rtt_max_s,
                unit="s",
                meaning="time for which the sojourn time may exceed the target before the first drop or mark",
                rule="RTT_max",
                source="RFC 8290, 5.2.2",
            ),
            Value(
                name="target",
                value=max(0.05 * rtt_max_s, longest),
                unit="s",
                meaning="acceptable sojourn time of a standing queue",
                rule="max(5 % of interval, MTU's time on the wire)",
                source="RFC 8290, 5.2.3",
            ),
        ),
        follows_from=(
            Value(
                name="MTU's time on the wire",
                value=longest,
                unit="s",
                meaning="transmission time of the longest packet",
                rule="8 (MTU + overhead) / rate",
                source="the link",
            ),
        ),
    )
