"""GFC-2, the Generic Fairness Configuration of seven routers that Kwon and Fahmy compare the algorithms on.

The paper gives the figure, delays in units of D = 5 ms and the number of HTTP sessions, 22, which is that of the
sessions in the original (Simcoe, ATM Forum 94-0557). It prints no rates. The original's, 50, 100 and 150 Mbit/s, do in
kbit/s: the published 0.134 Mbit/s of an unlimited transfer from R4 to R5 fit a link of 150 kbit/s, the UDP delays of
several seconds a buffer of 120 kB at 50 kbit/s, and the simple configuration's link has 100 kbit/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aqmlab.spec.experiment import Experiment, Protocol
from aqmlab.studies.kwon2003.runs import IDEAL, TCP, sessions

LINKS = (
    ("50 kbit/s", 20),
    ("100 kbit/s", 10),
    ("50 kbit/s", 5),
    ("150 kbit/s", 5),
    ("150 kbit/s", 5),
    ("50 kbit/s", 10),
)
"""Rate and delay in ms of the links R1-R2 to R6-R7."""

GROUPS = (
    ("A1", 1, 1, 6),
    ("A2", 1, 2, 6),
    ("A3", 1, 3, 6),
    ("B1", 1, 1, 7),
    ("B2", 1, 2, 7),
    ("B3", 1, 4, 7),
    ("C", 3, 5, 6),
    ("D", 1, 1, 2),
    ("E", 2, 2, 3),
    ("F", 1, 3, 4),
    ("G", 7, 6, 7),
    ("H", 2, 4, 5),
)
"""Name, HTTP sessions, and the routers where their clients and their servers are."""

ACCESS = {"fixed": "20 ms"}
"""What the links between hosts and routers add to a round trip, ours: D for each of the four."""


def experiment(queue: Mapping[str, Any], protocol: Protocol) -> Experiment:
    """Return GFC-2 with one queue discipline on all links.

    Data take one direction, from the routers with higher numbers: those of the HTTP servers, of UDP at 12 kbit/s on
    F, R3 to R4, and of the unlimited FTP transfer on H, R4 to R5.
    """
    return Experiment(
        link=IDEAL,
        queue=queue,
        chain=[{"rate": rate, "delay": f"{delay} ms"} for rate, delay in LINKS],
        tcp=TCP,
        users={"per_side": 0},
        sources=[
            *(
                {"transfers": {**sessions(f"http {name}", number), "path": [enter, leave], "rtt": ACCESS}}
                for name, number, enter, leave in GROUPS
            ),
            {"datagrams": {"name": "udp", "side": 1, "rate": "12 kbit/s", "packet": "1000 B", "path": [3, 4]}},
            {"bulk": {"name": "ftp", "flows": 1, "path": [4, 5], "rtt": ACCESS}},
        ],
        protocol=protocol,
        # A packet takes 53 ms at least.
        record={"queue_every": "50 ms"},
    )
