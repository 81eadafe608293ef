"""A laboratory for active queue management.

Thousands of web users on each side of a congested peering link, a queue discipline in each border router, with or
without ECN: how long do people wait, and what would another discipline or another setting do about that?

>>> import aqmlab as lab
>>> result = lab.run(lab.Experiment(queue={"pi": {"q_ref": 24}}), seed=1)  # doctest: +SKIP
"""

from importlib.metadata import version

from aqmlab._core import LinkContext, Packet, QueueState, SpecError, Stream
from aqmlab.compare import Comparison, compare
from aqmlab.explain import Explanation, explain
from aqmlab.faults import LawError
from aqmlab.law import Law, Time, Verdict
from aqmlab.pcap import Pcap
from aqmlab.presets import BOTTLENECK, UNCONGESTED, uncongested
from aqmlab.queue import Counters, Queue
from aqmlab.result import Result
from aqmlab.run import run
from aqmlab.spec import Experiment, Hosts, Link, Protocol, QueueSpec, Record, Tcp, Users
from aqmlab.stats import cdf, quantiles
from aqmlab.store import Store

__version__ = version("aqmlab")

__all__ = [
    "BOTTLENECK",
    "UNCONGESTED",
    "Comparison",
    "Counters",
    "Experiment",
    "Explanation",
    "Hosts",
    "Law",
    "LawError",
    "Link",
    "LinkContext",
    "Packet",
    "Pcap",
    "Protocol",
    "Queue",
    "QueueSpec",
    "QueueState",
    "Record",
    "Result",
    "SpecError",
    "Store",
    "Stream",
    "Tcp",
    "Time",
    "Users",
    "Verdict",
    "cdf",
    "compare",
    "explain",
    "quantiles",
    "run",
    "uncongested",
]
