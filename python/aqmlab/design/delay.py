"""A rule for times that packets wait: CoDel's interval and target."""

from __future__ import annotations

from aqmlab.design.result import Design, Value, check


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
