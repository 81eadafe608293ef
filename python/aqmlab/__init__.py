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
    from aqmlab.advice.access_link import AccessLink
    from aqmlab.advice.advice import Advice, advise
    from aqmlab.campaigns.campaign import Campaign, sweep
    from aqmlab.campaigns.grid import Grid
    from aqmlab.campaigns.search.sensitivity import Sensitivity, sensitivity
    from aqmlab.campaigns.search.tuning import TuningResult, tune
    from aqmlab.disciplines.custom.errors import LawError
    from aqmlab.disciplines.custom.law import Law, Time, Verdict
    from aqmlab.disciplines.queue import Counters, Queue
    from aqmlab.explain.explanation import Explanation, explain
    from aqmlab.report.page import report
    from aqmlab.results.compare import compare
    from aqmlab.results.comparison import Comparison
    from aqmlab.running.pcap import Pcap
    from aqmlab.running.run import run
    from aqmlab.spec.experiment import Experiment, Hosts, Link, Protocol, QueueSpec, Record, Tcp, Users
    from aqmlab.spec.presets import BOTTLENECK, UNCONGESTED, uncongested
    from aqmlab.stats.bands import difference_band, quantile_differences
    from aqmlab.stats.distributions import cdf, quantiles
    from aqmlab.storage.errors import StoreError
    from aqmlab.store.result import Result
    from aqmlab.store.store import Store

    __version__: str

__all__ = [
    "BOTTLENECK",
    "UNCONGESTED",
    "AccessLink",
    "Advice",
    "Campaign",
    "Comparison",
    "Counters",
    "Experiment",
    "Explanation",
    "Grid",
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
    "Sensitivity",
    "SpecError",
    "Store",
    "StoreError",
    "Stream",
    "Tcp",
    "Time",
    "TuningResult",
    "Users",
    "Verdict",
    "advise",
    "cdf",
    "compare",
    "difference_band",
    "explain",
    "quantile_differences",
    "quantiles",
    "report",
    "run",
    "sensitivity",
    "sweep",
    "tune",
    "uncongested",
]

_HOME = {
    "AccessLink": "advice.access_link",
    "Advice": "advice.advice",
    "BOTTLENECK": "spec.presets",
    "Campaign": "campaigns.campaign",
    "Comparison": "results.comparison",
    "Counters": "disciplines.queue",
    "Experiment": "spec.experiment",
    "Explanation": "explain.explanation",
    "Grid": "campaigns.grid",
    "Hosts": "spec.experiment",
    "Law": "disciplines.custom.law",
    "LawError": "disciplines.custom.errors",
    "Link": "spec.experiment",
    "LinkContext": "_core",
    "Packet": "_core",
    "Pcap": "running.pcap",
    "Protocol": "spec.experiment",
    "Queue": "disciplines.queue",
    "QueueSpec": "spec.experiment",
    "QueueState": "_core",
    "Record": "spec.experiment",
    "Result": "store.result",
    "Sensitivity": "campaigns.search.sensitivity",
    "SpecError": "_core",
    "Store": "store.store",
    "StoreError": "storage.errors",
    "Stream": "_core",
    "Tcp": "spec.experiment",
    "Time": "disciplines.custom.law",
    "TuningResult": "campaigns.search.tuning",
    "UNCONGESTED": "spec.presets",
    "Users": "spec.experiment",
    "Verdict": "disciplines.custom.law",
    "advise": "advice.advice",
    "cdf": "stats.distributions",
    "compare": "results.compare",
    "difference_band": "stats.bands",
    "explain": "explain.explanation",
    "quantile_differences": "stats.bands",
    "quantiles": "stats.distributions",
    "report": "report.page",
    "run": "running.run",
    "sensitivity": "campaigns.search.sensitivity",
    "sweep": "campaigns.campaign",
    "tune": "campaigns.search.tuning",
    "uncongested": "spec.presets",
}
"""The module of each name, imported on first use, so that a program waits only for the modules that it needs."""


class _Package(ModuleType):
    """Imports what is asked for, and keeps functions before the modules of the same name, such as ``explain``."""

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
