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
from aqmlab.studies.kwon2003.runs import HOSTS, IDEAL, NO_USERS, TCP, sessions

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
"""Round-trip delay of the links between hosts and routers, our choice: D for each of the four."""


def experiment(queue: Mapping[str, Any], protocol: Protocol, *, udp_with_pages: bool = True) -> Experiment:
    """Return GFC-2 with one queue discipline on all links.

    The web's servers are at the receivers, as the paper says: pages come from the routers with higher numbers. The
    unlimited FTP transfer on H goes against them, from its sender at R4 to R5. The 12 kbit/s of UDP on F would go from
    R3 to R4 by the same words, where there are only requests and acknowledgements, and nothing would be lost of them;
    the paper's tables, which lose 1 to 11 % of UDP, have them with the pages.
    """
    return Experiment(
        link=[{**IDEAL, "rate": rate, "delay": f"{delay} ms"} for rate, delay in LINKS],
        queue=queue,
        hosts=HOSTS,
        tcp=TCP,
        users=NO_USERS,
        sources=[
            *(
                session
                for name, number, enter, leave in GROUPS
                for session in sessions(f"http {name}", number, path=[enter, leave], rtt=ACCESS)
            ),
            {
                "datagrams": {
                    "name": "udp",
                    "side": int(udp_with_pages),
                    "rate": "12 kbit/s",
                    "packet": "1000 B",
                    "path": [3, 4],
                }
            },
            {"bulk": {"name": "ftp", "flows": 1, "side": 1, "path": [4, 5], "rtt": ACCESS}},
        ],
        protocol=protocol,
        # A packet takes 53 ms at least.
        record={"queue_every": "50 ms", "exchanges": True},
    )
