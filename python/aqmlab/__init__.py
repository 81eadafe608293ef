"""A laboratory for active queue management.

aqmlab simulates thousands of users behind a congested link, packet by packet, and compares queue disciplines under
exactly the same users. It measures response times, queueing delay, loss, marks and goodput.

>>> import aqmlab as lab
>>> result = lab.run(lab.Experiment(queue={"pi": {"q_ref": 24}}), seed=1)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aqmlab._core import Ack, Connection, LinkContext, Packet, QueueState, RateSample, SpecError, Stream
    from aqmlab.advice.access_link import AccessLink
    from aqmlab.advice.advice import Advice, advise
    from aqmlab.campaigns.campaign import Campaign, sweep
    from aqmlab.campaigns.grid import Grid
    from aqmlab.campaigns.search.sensitivity import Sensitivity, sensitivity
    from aqmlab.campaigns.search.tuning import TuningResult, tune
    from aqmlab.controls.control import CongestionControl
    from aqmlab.disciplines.custom.errors import LawError
    from aqmlab.disciplines.custom.law import Law, Time, Verdict
    from aqmlab.disciplines.queue import Counters, Queue
    from aqmlab.explanations.explanation import Explanation, explain
    from aqmlab.reports.page import report
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
    "Ack",
    "Advice",
    "Campaign",
    "Comparison",
    "CongestionControl",
    "Connection",
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
    "RateSample",
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

_MODULE_OF = {
    "AccessLink": "advice.access_link",
    "Ack": "_core",
    "Advice": "advice.advice",
    "BOTTLENECK": "spec.presets",
    "Campaign": "campaigns.campaign",
    "Comparison": "results.comparison",
    "CongestionControl": "controls.control",
    "Connection": "_core",
    "Counters": "disciplines.queue",
    "Experiment": "spec.experiment",
    "Explanation": "explanations.explanation",
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
    "RateSample": "_core",
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
    "explain": "explanations.explanation",
    "quantile_differences": "stats.bands",
    "quantiles": "stats.distributions",
    "report": "reports.page",
    "run": "running.run",
    "sensitivity": "campaigns.search.sensitivity",
    "sweep": "campaigns.campaign",
    "tune": "campaigns.search.tuning",
    "uncongested": "spec.presets",
}
"""The module of each public name, imported on first use: a program imports only the modules that it needs."""


def __getattr__(name: str) -> Any:
    """Import a public name, or a module of the package, on first use."""
    if name in _MODULE_OF:
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version(__name__)
    elif not name.startswith("__") and find_spec(f"{__name__}.{name}"):
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
