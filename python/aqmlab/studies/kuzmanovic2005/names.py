"""Names of the experiments: by law, signal and load."""

from __future__ import annotations

LOADS = (90, 105)
"""Percent of the link: the paper's light and persistent congestion."""

LAWS = ("PI", "RED", "RED*", "REM")
"""The AQMs of the study, in the order of its Table 1."""

FORMS = ("drop", "ECN", "ECN+")
"""Signals of a law: drops, ECN of RFC 3168, and ECN with SYN/ACKs that can be marked."""

LENGTHS = (1, 2, 4, 6, 7, 8, 10, 12, 14, 16, 20, 25, 30, 32, 36, 40, 46, 54, 62, 64, 70)
"""Packets of the flows of figure 7."""

UTILISATIONS = (50, 60, 70, 80, 85, 90, 95)
"""Percent, of figure 8."""


def scheme(law: str, form: str, load: int) -> str:
    """Name an AQM's experiment."""
    return f"{law} {form} {load}"


def one_way(law: str, form: str) -> str:
    """Name an AQM's experiment with flows that load one direction of the link."""
    return f"{law} {form} one way"


def threshold(load: int) -> str:
    """Name the experiment of the threshold scheme."""
    return scheme("threshold", "ECN+", load)


def handshakes(law: str, form: str, load: int) -> str:
    """Name a short experiment of an AQM that records each request."""
    return f"{scheme(law, form, load)} recorded"


def uncongested(load: int) -> str:
    """Name the experiment of the same users on the uncongested network."""
    return f"uncongested {load}"


def equal_flows(packets: int) -> str:
    """Name the experiment of flows of one length."""
    return f"flows of {packets}"


def web_flows(utilisation: int) -> str:
    """Name the experiment of flows of the web's sizes."""
    return f"web flows {utilisation}"
