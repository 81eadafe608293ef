"""Load a page over HTTP/2 again and again with nghttp, and write the times of each load as a line of JSON.

It runs in the guest: ``browse_http2.py LOADS THINK_S SEED OPENSSL_CONF``.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time

_ROW = re.compile(r"^ *\d+ +\+([\d.]+)(us|ms|s) +\*?\+[\d.]+(?:us|ms|s) .* /(\S+)$", re.MULTILINE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

# Parse the document and fetch what it refers to; windows as large as Chrome's, so that flow control does not limit.
_COMMAND = ("nghttp", "--null-out", "--get-assets", "--stat", "--window-bits=23", "--connection-window-bits=24")


def main() -> None:
    """Load the page."""
    loads, think_s, seed, configuration = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    draws = random.Random(seed)
    address = f"https://{os.environ['AQMLAB_SERVER']}:8443/index.html"
    for _ in range(loads):
        time.sleep(draws.expovariate(1 / think_s))
        start = time.monotonic()
        outcome = subprocess.run(
            [*_COMMAND, address],
            env={**os.environ, "OPENSSL_CONF": configuration},
            capture_output=True,
            text=True,
            check=True,
        )
        load_s = time.monotonic() - start
        ends = {name: float(end) * _SECONDS[unit] for end, unit, name in _ROW.findall(outcome.stdout)}
        # They count from the end of the handshakes, and nghttp ends with the last resource.
        connect_s = load_s - max(ends.values())
        print(
            json.dumps({name: round(connect_s + end, 6) for name, end in ends.items()} | {"load": load_s}), flush=True
        )


if __name__ == "__main__":
    main()
