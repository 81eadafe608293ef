"""A laboratory for active queue management.

Thousands of web users on each side of a congested peering link, a queue discipline in each border router, with or
without ECN: how long do people wait, and what would another discipline or another setting do about that?

>>> import aqmlab as lab
>>> result = lab.run(lab.Experiment(queue={"pi": {"q_ref": 24}}), seed=1)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from sys import modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aqmlab._core import LinkContext, Packet, QueueState, SpecError, Stream
    from aqmlab.compare import Comparison, compare
    from aqmlab.explain import Explanation, explain
    from aqmlab.faults import LawError
    from aqmlab.integrity import StoreError
    from aqmlab.law import Law, Time, Verdict
    from aqmlab.pcap import Pcap
    from aqmlab.presets import BOTTLENECK, UNCONGESTED, uncongested
    from aqmlab.queue import Counters, Queue
    from aqmlab.result import Result
    from aqmlab.run import run
    from aqmlab.spec import Experiment, Hosts, Link, Protocol, QueueSpec, Record, Tcp, Users
    from aqmlab.stats import cdf, quantiles
    from aqmlab.store import Store

    __version__: str

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
    "StoreError",
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

_HOME = {
    "BOTTLENECK": "presets",
    "Comparison": "compare",
    "Counters": "queue",
    "Experiment": "spec",
    "Explanation": "explain",
    "Hosts": "spec",
    "Law": "law",
    "LawError": "faults",
    "Link": "spec",
    "LinkContext": "_core",
    "Packet": "_core",
    "Pcap": "pcap",
    "Protocol": "spec",
    "Queue": "queue",
    "QueueSpec": "spec",
    "QueueState": "_core",
    "Record": "spec",
    "Result": "result",
    "SpecError": "_core",
    "Store": "store",
    "StoreError": "integrity",
    "Stream": "_core",
    "Tcp": "spec",
    "Time": "law",
    "UNCONGESTED": "presets",
    "Users": "spec",
    "Verdict": "law",
    "cdf": "stats",
    "compare": "compare",
    "explain": "explain",
    "quantiles": "stats",
    "run": "run",
    "uncongested": "presets",
}
"""The module of each name. It is imported when the name is asked for: whoever wants one thing does not wait for all."""


class _Package(ModuleType):
    """Imports what is asked for, and keeps functions before the modules of the same name, such as ``compare``."""

    def __getattr__(self, name: str) -> Any:
        if name in _HOME:
            value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        elif name == "__version__":
            value = import_module("importlib.metadata").version(__name__)
        elif not name.startswith("__") and find_spec(f"{__name__}.{name}"):
            value = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=self)
        globals()[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


modules[__name__].__class__ = _Package
