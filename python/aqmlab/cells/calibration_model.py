"""The calibration: the load as a function of the number of users, a line through the origin.

*Load* is defined as in Le et al. (2003, section 3.3): 100 % is the number of users whose traffic would fill the
bottleneck's rate if nothing limited them. Users are a closed population, so this is measured on the uncongested
network, where the traffic grows in proportion to the users. With users on one side, the traffic is that of the
direction in which their data flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from aqmlab._core import SpecError
from aqmlab.storage import marker
from aqmlab.storage.errors import StoreError
from aqmlab.storage.io import read_bytes, write_bytes
from aqmlab.storage.location import Location, location

PUBLISHED_USERS = {"uniform": 9520, "general": 10570}
"""Users per side at 100 % of 100 Mbit/s in Le et al. (2003 and 2004), by table of round-trip times: a check."""

PUBLISHED_WORKLOADS = ("unc-2001", "unc-2001-v3")
"""The workloads of the users whom they measured."""

_RATE_BPS = 100e6


class Calibration(BaseModel):
    """The fitted line of one workload with one table of round-trip times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workload: str
    rtt: str
    sides: Literal[1, 2] = 2
    """The number of sides of the link that have users."""
    mbps_per_user: float
    """The slope: Mbit/s (IP) in each direction for each user per side; for users on one side, in the direction of their
    data."""
    r_squared: float
    """The share of the variance between the points that the line explains."""
    users_per_side: tuple[int, ...]
    """The numbers of users at which the throughput was measured."""
    throughput_mbps: tuple[float, ...]
    """The measured throughput: the mean of both directions; for users on one side, in the direction of their data."""
    engine: str
    """The engine's version."""

    def users(self, load_percent: float, rate_bps: float) -> int:
        """Return the number of users per side that make this load on a link of this rate."""
        return round(load_percent / 100 * rate_bps / 1e6 / self.mbps_per_user)

    def load_percent(self, users_per_side: int, rate_bps: float) -> float:
        """Return the load that these users make on a link of this rate."""
        return 100 * users_per_side * self.mbps_per_user / (rate_bps / 1e6)

    @property
    def published_users(self) -> int | None:
        """The users per side at 100 % of 100 Mbit/s that Le et al. published; ``None`` for users of other kinds."""
        is_theirs = self.sides == 2 and self.workload in PUBLISHED_WORKLOADS
        return PUBLISHED_USERS.get(self.rtt) if is_theirs else None

    @property
    def key(self) -> tuple[str, str, int]:
        """The users that it describes: workload, table of round-trip times, and number of sides."""
        return self.workload, self.rtt, self.sides


Calibrations = Mapping[tuple[str, str, int], Calibration]
"""Calibrations by workload, table of round-trip times and number of sides with users."""


def fit(users_per_side: Iterable[int], throughput_mbps: Iterable[float]) -> tuple[float, float]:
    """Fit the line by least squares and return its slope and R2.

    slope = sum(n x) / sum(n^2): through the origin, since no users make no traffic.
    """
    n = np.fromiter(users_per_side, dtype=float)
    x = np.fromiter(throughput_mbps, dtype=float)
    slope = float(n @ x / (n @ n))
    residual = x - slope * n
    spread = x - x.mean()
    return slope, 1 - float(residual @ residual / (spread @ spread))


def report(calibration: Calibration) -> dict[str, object]:
    """Return a calibration as one object: the line, the users for several loads, and the published number."""
    users = {f"{load}": calibration.users(load, _RATE_BPS) for load in (80, 90, 98, 100, 105)}
    published = calibration.published_users
    difference = 100 * (users["100"] / published - 1) if published else None
    return {**calibration.model_dump(), "users": users, "published": published, "difference_percent": difference}


def load_calibrations(out: Location | str | None = None) -> Calibrations:
    """Return the calibrations by the users that they describe; those of a results directory override the package's.

    Raises
    ------
    SpecError
        When the results directory's calibration file cannot be read.
    """
    packaged = _parse((resources.files(__package__) / _FILE).read_bytes())
    return packaged if out is None else packaged | _read_stored(location(out))


def store(calibration: Calibration, out: Location) -> Location:
    """Store a calibration for later runs with the same results directory; the file is replaced atomically."""
    calibrations = _read_stored(out)
    calibrations[calibration.key] = calibration
    content = _ENTRIES.dump_json([calibrations[key] for key in sorted(calibrations)], indent=2) + b"\n"
    marker.claim(out)
    write_bytes(out, _FILE, content)
    return out / _FILE


_FILE = "calibration.json"
_ENTRIES = TypeAdapter(list[Calibration])


def _read_stored(out: Location) -> dict[tuple[str, str, int], Calibration]:
    """Return the calibrations of a results directory."""
    try:
        content = read_bytes(out, _FILE)
        return {} if content is None else _parse(content)
    except StoreError as error:
        raise SpecError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        message = " ".join(f"{path}: {first['msg']}".removeprefix(": ").split())
    raise SpecError(
        f"{out / _FILE}: must be what aqmlab calibrate wrote; mend it, or remove it and calibrate again ({message})"
    )


def _parse(content: bytes) -> dict[tuple[str, str, int], Calibration]:
    return {entry.key: entry for entry in _ENTRIES.validate_json(content)}
