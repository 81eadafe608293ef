"""Names of the runs, algorithms and settings of the study."""

from __future__ import annotations

ALGORITHMS = ("DropTail", "RED", "SRED", "FRED", "BLUE", "REM", "LDC")
"""In the order of the paper's tables."""

WEIGHTS = {"delay": "1, 0", "load": "0, 1", "half": "1/2, 1/2", "paper": "3/4, 1/4"}
"""The weights of queueing delay and load in LDC's probability, by our names of them."""
OTHER_SETTINGS = ("n=2", "n=4", "tau=10 ms")
"""LDC settings of section 5.3 that the paper finds to change nothing; it does not print which ones it tried."""


def web(algorithm: str) -> str:
    """Return the name of the run of an algorithm in the simple web configuration."""
    return f"web-{algorithm}"


def gfc2(algorithm: str) -> str:
    """Return the name of the run of an algorithm on GFC-2."""
    return f"gfc2-{algorithm}"


def udp_against(algorithm: str) -> str:
    """Return the name of the run of an algorithm on GFC-2 with UDP against the web's pages."""
    return f"{gfc2(algorithm)}-udp-against"


def ftp(setting: str) -> str:
    """Return the name of the run of an LDC setting in the simple FTP configuration."""
    return f"ftp-{setting}"


DELAY_TARGET = "web-LDC-1.6s"
QUEUE_ONLY = "web-LDC-queue-only"
PAPER = ftp("paper")
"""The weights that the paper prefers."""
