"""The traffic of a run by its owner: the web users and each source, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

USERS_NAME = "web users"


def labels(names: Iterable[str]) -> list[str]:
    """Return unique names: sources with the same name are numbered.

    Examples
    --------
    >>> labels(["bulk", "voice", "bulk"])
    ['bulk', 'voice', 'bulk #2']
    """
    labels: list[str] = []
    for name in names:
        count = sum(label == name or label.startswith(f"{name} #") for label in labels)
        labels.append(f"{name} #{count + 1}" if count else name)
    return labels


def all_traffic(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a record or a summary about the web users besides sources, and each source, by name."""
    users = {USERS_NAME: _users(record, record["users"])} if record["users"] else {}
    names = labels([*users, *(source["name"] for source in record["sources"])])
    return dict(zip(names, [*users.values(), *record["sources"]], strict=True))


def by_class(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return :func:`all_traffic`; web users without other sources own all packets."""
    delays = [direction["queue_delay_ms"] for direction in record["directions"]]
    return all_traffic(record) or {USERS_NAME: _users(record, {**record, "queue_delay_ms_each_way": delays})}


def _users(record: Mapping[str, Any], packets: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **packets,
        "completed": record["completed_requests"],
        "response_time_ms": record["response_time_ms"],
        "limited_by_percent": record["users_limited_by_percent"],
        "pages": record.get("pages"),
        "goodput_mbps": None,
        "datagrams": None,
    }
