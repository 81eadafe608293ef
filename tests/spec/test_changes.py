"""Changes to a spec, as typed after ``--set``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab

SPEC = """
[queue.droptail]
limit = 100
[[link]]
rate = "5 Mbit/s"
[[link]]
[link.queue.red]
[[sources]]
bulk = {flows = 1}
[users]
per_side = 10
"""


USERS = ", ".join(lab.Users.model_fields)


LINK: dict[str, Any] = lab.Link().model_dump(mode="json", exclude_none=True)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "spec.toml"
    file.write_text(SPEC)
    return file


@pytest.mark.parametrize(
    ("change", "part", "became"),
    [
        ("queue.droptail.limit=50", "queue", {"droptail": {"limit": 50}}),
        ("queue.pi.q_ref=24", "queue", {"pi": {"q_ref": 24}}),
        ("queue={pi={}}", "queue", {"pi": {}}),
        ("link[0].rate=2 Mbit/s", "link", [{**LINK, "rate": "2 Mbit/s"}, {**LINK, "queue": {"red": {}}}]),
        (
            "link[1].queue.codel.limit=9",
            "link",
            [{**LINK, "rate": "5 Mbit/s"}, {**LINK, "queue": {"codel": {"limit": 9}}}],
        ),
        ("sources[0].bulk.flows=5", "sources", [{"bulk": {"flows": 5}}]),
        ("sources[0].datagrams.rate=1 Mbit/s", "sources", [{"datagrams": {"rate": "1 Mbit/s"}}]),
        ("sources=[]", "sources", []),
        ('tcp."profile"=linux-6', "tcp", {"profile": "linux-6", "ecn": False}),
        ("users.load=90", "users", lab.Users(load=90).model_dump(exclude_none=True)),
    ],
)
def test_a_change_reaches_lists_and_replaces_exclusive_keys(spec: Path, change: str, part: str, became: Any) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=[change])
    unchanged = lab.Experiment.from_toml(spec)
    assert experiment.model_dump(mode="json", exclude_none=True)[part] == became
    excluded = {part: getattr(unchanged, part)}
    assert experiment.model_copy(update=excluded) == unchanged, "nothing else is changed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("sources[1].bulk.flows=5", "--set: sources has sources[0] to sources[0], got"),
        ("link[2].rate=5", "--set: link has link[0] to link[1], got"),
        ("sources.bulk.flows=5", "--set: sources is a list: write sources[0].bulk for the first entry's, got"),
        ("users[0]=5", "--set: users is a table, not a list, in"),
        ("users.path[0]=5", "--set: users.path has none: write the whole list, got"),
        ("link.rate=1", "--set: link is a list: write link[0].rate for the first entry's, got"),
        ("link[0].rate.x=1", "--set: link[0].rate is the value '5 Mbit/s', not a table: write link[0].rate=value, got"),
        ("[0]=1", "--set: write path=value"),
        ("users..load=1", "--set: write path=value"),
        ("users.load", "--set: write path=value"),
        (
            "users.lod=9",
            f"users.lod: unknown key (did you mean 'load'?); allowed are {USERS}",
        ),
        ("load=9", "load: unknown key (did you mean 'users.load'?); allowed are testbed, sides, link, queue, "),
        ("users=9", f"users: must be a table of {USERS}, got 9"),
        ("queue.pi.qref=24", "queue: pi has no parameter 'qref' (did you mean 'q_ref'?); it has "),
    ],
)
def test_a_change_to_nowhere_says_what_there_is(spec: Path, change: str, message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        lab.Experiment.from_toml(spec, changes=[change])
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_without_a_file_the_papers_testbed_is_changed() -> None:
    papers = lab.Experiment(testbed="unc-2003", users={"load": 90})
    assert lab.Experiment.from_toml(None, changes=["users.load=90"]) == papers
