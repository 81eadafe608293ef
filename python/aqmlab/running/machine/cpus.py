"""Processors: the number that this process may use, by its affinity and control group; the time of a process."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path


def available_cpus(root: Path = Path("/")) -> int:
    """Return the number of processors for this process, at least one; ``root`` has the directories proc and sys."""
    try:
        cpus = len(os.sched_getaffinity(0))
    except AttributeError:
        # The operating system has no affinity.
        cpus = os.cpu_count() or 1
    return max(1, min([cpus, *(math.ceil(quota) for quota in _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the processors that the control group and its ancestors allow: quota divided by period."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 2 has one hierarchy without a name. In a container the path may be invisible: its root is the group's.
        mount = root / "sys/fs/cgroup" / controllers
        group = mount / path.strip("/")
        for directory in (group, *group.parents):
            quota = _version_1(directory) if controllers else _version_2(directory)
            if quota is not None:
                yield quota
            if directory == mount:
                break


def _version_2(group: Path) -> float | None:
    """Return the quota in ``cpu.max``: ``max 100000`` or ``150000 100000``, in microseconds."""
    try:
        quota, period = (group / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _version_1(group: Path) -> float | None:
    try:
        quota, period = (int((group / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 else None


def tree_cpu_s(process: int, root: Path = Path("/")) -> float:
    """Return the processor time of a process and its descendants in seconds, and of those that it waited for."""
    times: dict[int, tuple[int, int]] = {}
    for file in (root / "proc").glob("[0-9]*/stat"):
        try:
            # The name, in brackets, may have spaces and brackets itself.
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has just ended.
        times[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    counted = {process}
    while found := {child for child, (parent, _) in times.items() if parent in counted} - counted:
        counted |= found
    return sum(times[each][1] for each in counted & times.keys()) / os.sysconf("SC_CLK_TCK")
