"""Play a video as a DASH player requests it, and write its quality as a line of JSON.

It runs in the guest: ``play.py DELAY_S SECONDS SEGMENT_S BUFFER_S RATES``, with the rates in bit/s as JSON. The rule is
RB of Yin et al. (SIGCOMM 2015), as the documentation of ``rule = "throughput"`` describes it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from http.client import HTTPConnection
from itertools import pairwise


def choose(rates: list[int], throughputs: deque[float]) -> int:
    """Return the highest rate up to the harmonic mean of the throughputs, or the lowest rate."""
    if not throughputs:
        return rates[0]
    mean = len(throughputs) / sum(1 / throughput for throughput in throughputs)
    return max((rate for rate in rates if rate <= mean), default=rates[0])


def main() -> None:
    """Play."""
    delay_s, seconds, segment_s, most_s = map(float, sys.argv[1:5])
    rates: list[int] = json.loads(sys.argv[5])
    throughputs: deque[float] = deque(maxlen=5)
    time.sleep(delay_s)
    start = requested = updated = time.monotonic()
    end = start + seconds
    connection = HTTPConnection(os.environ["AQMLAB_SERVER"], 8000)
    buffer_s = played_s = stalled_s = 0.0
    chosen: list[int] = []
    start_up_s = 0.0

    def play(now: float) -> None:
        """Play up to now."""
        nonlocal buffer_s, played_s, stalled_s, updated
        if chosen:
            played = min(now - updated, buffer_s)
            played_s, buffer_s, stalled_s = played_s + played, buffer_s - played, stalled_s + now - updated - played
        updated = now

    while time.monotonic() < end:
        play(time.monotonic())
        rate = choose(rates, throughputs)
        if chosen:
            # The wait for the first segment begins with the connection.
            requested = time.monotonic()
        # The request has some 300 bytes, as in the model.
        connection.request("GET", f"/{int(rate * segment_s / 8)}", headers={"User-Agent": "x" * 200})
        size = len(connection.getresponse().read())
        now = time.monotonic()
        if now > end:
            break
        throughputs.append(8 * size / (now - requested))
        play(now)
        if not chosen:
            start_up_s = now - start
        chosen.append(rate)
        buffer_s += segment_s
        time.sleep(max(0.0, min(buffer_s + segment_s - most_s, end - now)))
    play(end)
    switches = sum(one != other for one, other in pairwise(chosen))
    print(
        json.dumps(
            {
                "bitrate": sum(chosen) / len(chosen) / 1e6,
                "switches": switches / (played_s / 60),
                "rebuffering": 100 * stalled_s / (played_s + stalled_s),
                "start-up": start_up_s,
                "rates": chosen,
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
