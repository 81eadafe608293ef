"""How many users make which load: a line through the origin, measured on the uncongested network.

*Load* is defined as in Le et al. (2003, section 3.3): 100 % is the number of users whose traffic would fill the
bottleneck's rate if nothing held them back. Users are a closed population, so this can only be measured where nothing
does: on the uncongested network, where the traffic grows in proportion to the users. With users on one side it is the
traffic of the direction in which their data come.
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

_RATE_BPS = 100e6


class Calibration(BaseModel):
    """The fitted line of one workload with one table of round-trip times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workload: str
    rtt: str
    sides: Literal[1, 2] = 2
    """On how many sides of the link there are users."""
    mbps_per_user: float
    """Slope: Mbit/s (IP) for each user per side, each way or, of users on one side, in their data's direction."""
    r_squared: float
    """The share of the variance between the points that the line explains."""
    users_per_side: tuple[int, ...]
    """Where it was measured."""
    throughput_mbps: tuple[float, ...]
    """What was measured there: the mean of the two directions, or that of the data."""
    engine: str
    """The engine's version."""

    def users(self, load_percent: float, rate_bps: float) -> int:
        """Users per side who make this load on a link of this rate."""
        return round(load_percent / 100 * rate_bps / 1e6 / self.mbps_per_user)

    def load_percent(self, users_per_side: int, rate_bps: float) -> float:
        """Load these users make on a link of this rate."""
        return 100 * users_per_side * self.mbps_per_user / (rate_bps / 1e6)

    @property
    def key(self) -> tuple[str, str, int]:
        """What it is found by: the users that it is of."""
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
    """Describe a calibration in one object: the line, the users it gives, the published number beside them."""
    users = {f"{load}": calibration.users(load, _RATE_BPS) for load in (80, 90, 98, 100, 105)}
    published = PUBLISHED_USERS.get(calibration.rtt) if calibration.sides == 2 else None
    difference = 100 * (users["100"] / published - 1) if published else None
    return {**calibration.model_dump(), "users": users, "published": published, "difference_percent": difference}


def known(out: Location | str | None = None) -> Calibrations:
    """Return the calibrations by what they are of: those in a results directory before those of the package.

    Raises
    ------
    SpecError
        When the results directory's file cannot be read: whoever edited it is to mend it.
    """
    found = _parse((resources.files(__package__) / _FILE).read_bytes())
    return found if out is None else found | _stored(location(out))


def store(calibration: Calibration, out: Location) -> Location:
    """Keep a calibration for later runs with the same results directory: the whole file is replaced, or nothing."""
    kept = _stored(out)
    kept[calibration.key] = calibration
    content = _ENTRIES.dump_json([kept[key] for key in sorted(kept)], indent=2) + b"\n"
    marker.claim(out)
    write_bytes(out, _FILE, content)
    return out / _FILE


_FILE = "calibration.json"
_ENTRIES = TypeAdapter(list[Calibration])


def _stored(out: Location) -> dict[tuple[str, str, int], Calibration]:
    """Return those that a results directory has."""
    try:
        content = read_bytes(out, _FILE)
        return {} if content is None else _parse(content)
    except StoreError as error:
        raise SpecError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = " ".join(f"{where}: {first['msg']}".removeprefix(": ").split())
    raise SpecError(
        f"{out / _FILE}: must be what aqmlab calibrate wrote; mend it, or remove it and calibrate again ({what})"
    )


def _parse(content: bytes) -> dict[tuple[str, str, int], Calibration]:
    return {entry.key: entry for entry in _ENTRIES.validate_json(content)}
