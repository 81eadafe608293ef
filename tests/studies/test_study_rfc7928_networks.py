"""The networks of the study of RFC 7928: links in series, capacities, stacks, levels."""

from __future__ import annotations

from typing import Any

import pytest

from aqmlab._core import seconds
from aqmlab.studies.rfc7928.runs import BURSTS, LEVELS
from aqmlab.studies.rfc7928.topologies import pairs
from fixtures.rfc7928 import cell_of, parse


def test_a_flow_through_both_links_has_two_beside_it_at_each() -> None:
    flows = {name: source["path"] for name, source in bulks("series").items()}
    assert flows == {"through": [1, 3], "first": [2, 3], "second": [1, 2]}, "data come from the higher router"
    assert len(cell_of("series/codel").resolved["link"]) == 2


def bulks(scenario: str) -> dict[str, Any]:
    sources = [source["bulk"] for source in cell_of(f"{scenario}/codel").resolved["sources"]]
    return {source["name"]: source for source in sources}


@pytest.mark.parametrize(("schedule", "every_s", "changes"), [("slow", 20, 4), ("fast", 0.1, 999)])
def test_the_capacity_is_every_other_time_a_tenth(schedule: str, every_s: float, changes: int) -> None:
    link = cell_of(f"capacity-{schedule}/codel").resolved["link"]
    times = [seconds(change["at"]) for change in link["rate_changes"]]
    assert times == pytest.approx([every_s * n for n in range(1, changes + 1)])
    rates = [link["rate"], *(change["rate"] for change in link["rate_changes"])]
    assert set(rates[::2]) == {"100 Mbit/s"}
    assert set(rates[1::2]) == {"10 Mbit/s"}


def test_cubic_is_the_stack_of_its_own_source_alone() -> None:
    tcp = cell_of("cubic-reno/codel").resolved["tcp"]
    (other,) = tcp["mix"]
    assert tcp["congestion"] == "reno"
    assert (other["source"], other["share"]) == ("cubic", 1)
    assert (other["congestion"], other["hystart"]) == ("cubic", "hystart")
    assert list(bulks("cubic-reno")) == ["long", "cubic"]


def test_the_levels_are_those_of_the_rfc_in_order() -> None:
    assert [level.section for level in LEVELS] == ["8.2.2", "8.2.3", "8.2.4"]
    assert [len(case.sources) for case in BURSTS] == [2, 3, 3, 4]


def test_disciplines_in_series_have_the_order_of_the_data() -> None:
    found = [(pair.first.label, pair.second.label) for pair in pairs(parse("droptail", "codel", "pie", "red"))]
    assert found[:4] == [(label, label) for label in ("droptail", "codel", "pie", "red")]
    assert ("codel", "droptail") in found
    assert ("droptail", "red") in found
    assert found[-3:] == [("codel", "pie"), ("pie", "red"), ("red", "codel")], "each with the next"
    assert len(found) == len(set(found)) == 4 + 2 * 3 + 3
    assert len(pairs(parse("droptail", "codel"))) == 4, "alone it has no next"
    lower, upper = cell_of("series/codel, then droptail").resolved["link"]
    assert lower["queue"] == {"droptail": {"limit": "84 packets"}}, "the second: data come from the higher router"
    assert list(upper["queue"]) == ["codel"]
    assert upper["queue"]["codel"]["limit"] == "84 packets"


def test_ledbat_is_the_stack_of_its_own_source_alone() -> None:
    for scenario in ("lbe", "lbe-deep"):
        tcp = cell_of(f"{scenario}/codel").resolved["tcp"]
        (other,) = tcp["mix"]
        assert (tcp["congestion"], other["congestion"]) == ("reno", "ledbat")
        assert (other["source"], other["share"]) == ("background", 1)
        assert list(bulks(scenario)) == ["long", "background"]
    assert list(bulks("lbe-alone")) == ["background"]
