"""The data of household workloads: persons, applications, diurnal curves and transfers, each with its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeGuard

from aqmlab import data_file

_DAY_MINUTES = 24 * 60
_MONTH_SECONDS = 365.25 / 12 * 86_400


@dataclass(frozen=True)
class Number:
    """A number with its source."""

    value: float
    source: str


@dataclass(frozen=True)
class Hours:
    """A diurnal curve."""

    weights: tuple[float, ...]
    """The weights of the hours from 0 to 23, local time."""
    source: str

    def relative(self, hour: int) -> float:
        """Return the weight of an hour, divided by the mean of the day."""
        return self.weights[hour] * len(self.weights) / sum(self.weights)


@dataclass(frozen=True)
class Web:
    """The people who load pages."""

    device: str
    hours: str
    """The name of the curve over the day."""
    minutes: float
    """The minutes of a day that a person spends with it at home."""
    source: str


@dataclass(frozen=True)
class Application:
    """An application that people use for some time."""

    name: str
    """The name of its source in a spec."""
    device: str
    kind: str
    """The kind of its source."""
    hours: str
    """The name of the curve over the day."""
    minutes: float
    """The minutes of a day that a person spends with it at home."""
    source: str
    persons: float = 1.0
    """The persons who share one use, such as a television."""
    persons_source: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    """The keys of its source."""
    keys_source: str = ""


@dataclass(frozen=True)
class Transfers:
    """The transfers of devices, which arrive at random."""

    name: str
    device: str
    direction: Literal["download", "upload"]
    hours: str
    """The name of the curve over the day."""
    gigabytes_per_month: float
    """The data of a household in a month."""
    source: str
    size: dict[str, Any]
    """The distribution of the size of a transfer, as in a spec."""
    mean_megabytes: float
    """The mean of that distribution."""
    size_source: str
    rtt: dict[str, Any] | None = None


@dataclass(frozen=True)
class Households:
    """A workload of households."""

    name: str
    busy_hour: int
    """The hour without ``users.hour``."""
    persons: Number
    """The persons of a household."""
    hours: dict[str, Hours]
    """The curves over the day, by name."""
    web: Web
    applications: tuple[Application, ...]
    transfers: tuple[Transfers, ...]

    def mean_users(self, hour: int) -> float:
        """Return the mean number of persons of a household who load pages at an hour."""
        return self.persons.value * self.web.minutes / _DAY_MINUTES * self.hours[self.web.hours].relative(hour)

    def mean_flows(self, application: Application, hour: int) -> float:
        """Return the mean number of uses of an application at a time in a household at an hour."""
        in_use = application.minutes / _DAY_MINUTES * self.hours[application.hours].relative(hour)
        return self.persons.value / application.persons * in_use

    def transfers_per_second(self, transfers: Transfers, hour: int) -> float:
        """Return the mean number of transfers that a household begins in a second at an hour."""
        mean = transfers.gigabytes_per_month * 1e3 / transfers.mean_megabytes / _MONTH_SECONDS
        return mean * self.hours[transfers.hours].relative(hour)


NAMES = ("household-2024",)
"""The workloads of households."""

WEB_WORKLOAD = "web-2024"
"""The workload of those who load pages."""


@cache
def load(name: str) -> Households:
    """Return the workload of this name."""
    return data_file.read(files(__package__) / f"{name}.toml", Households)


def is_household(workload: object) -> TypeGuard[str]:
    """Return true for the name of a workload of households."""
    return isinstance(workload, str) and workload in NAMES


def hour_of(workload: str, hour: int | None) -> int:
    """Return the hour of households: the written one, or the busy hour."""
    return load(workload).busy_hour if hour is None else hour


def calibration_name(workload: str, hour: int | None) -> str:
    """Return the name of households in calibrations, which has their hour."""
    return f"{workload}-{hour_of(workload, hour):02}h"
