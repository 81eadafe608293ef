"""The public names of the package, each with its module: what ``__init__.py`` imports on first use."""

from typing import Any

from aqmlab._core import (
    Ack as Ack,
)
from aqmlab._core import (
    Connection as Connection,
)
from aqmlab._core import (
    LinkContext as LinkContext,
)
from aqmlab._core import (
    Packet as Packet,
)
from aqmlab._core import (
    QueueState as QueueState,
)
from aqmlab._core import (
    RateSample as RateSample,
)
from aqmlab._core import (
    SpecError as SpecError,
)
from aqmlab._core import (
    Stream as Stream,
)
from aqmlab.advice.access_link import AccessLink as AccessLink
from aqmlab.advice.advice import Advice as Advice
from aqmlab.advice.advice import advise as advise
from aqmlab.campaigns.campaign import Campaign as Campaign
from aqmlab.campaigns.campaign import sweep as sweep
from aqmlab.campaigns.grid import Grid as Grid
from aqmlab.campaigns.search.sensitivity import Sensitivity as Sensitivity
from aqmlab.campaigns.search.sensitivity import sensitivity as sensitivity
from aqmlab.campaigns.search.tuning import TuningResult as TuningResult
from aqmlab.campaigns.search.tuning import tune as tune
from aqmlab.controls.control import CongestionControl as CongestionControl
from aqmlab.disciplines.custom.errors import LawError as LawError
from aqmlab.disciplines.custom.law import Law as Law
from aqmlab.disciplines.custom.law import Time as Time
from aqmlab.disciplines.custom.law import Verdict as Verdict
from aqmlab.disciplines.queue import Counters as Counters
from aqmlab.disciplines.queue import Queue as Queue
from aqmlab.explanations.explanation import Explanation as Explanation
from aqmlab.explanations.explanation import explain as explain
from aqmlab.reports.page import report as report
from aqmlab.results.compare import compare as compare
from aqmlab.results.comparison import Comparison as Comparison
from aqmlab.running.pcap import Pcap as Pcap
from aqmlab.running.run import run as run
from aqmlab.spec.experiment import (
    Experiment as Experiment,
)
from aqmlab.spec.experiment import (
    Hosts as Hosts,
)
from aqmlab.spec.experiment import (
    Link as Link,
)
from aqmlab.spec.experiment import (
    Protocol as Protocol,
)
from aqmlab.spec.experiment import (
    QueueSpec as QueueSpec,
)
from aqmlab.spec.experiment import (
    Record as Record,
)
from aqmlab.spec.experiment import (
    Tcp as Tcp,
)
from aqmlab.spec.experiment import (
    Users as Users,
)
from aqmlab.spec.presets import BOTTLENECK as BOTTLENECK
from aqmlab.spec.presets import UNCONGESTED as UNCONGESTED
from aqmlab.spec.presets import uncongested as uncongested
from aqmlab.stats.bands import difference_band as difference_band
from aqmlab.stats.bands import quantile_differences as quantile_differences
from aqmlab.stats.distributions import cdf as cdf
from aqmlab.stats.distributions import quantiles as quantiles
from aqmlab.storage.errors import StoreError as StoreError
from aqmlab.store.result import Result as Result
from aqmlab.store.store import Store as Store

__version__: str

def __getattr__(name: str) -> Any: ...
