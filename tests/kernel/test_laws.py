"""Queue disciplines of the Linux kernel and ours: the same packets have the same fates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of both files

from aqmlab.cells import kernel
from laws.__main__ import page, read_record
from laws.comparisons import COMPARISONS, Comparison, possible
from laws.oracle import PACKETS, PATTERNS, compare

GUIDE = Path(__file__).parents[2] / "docs" / "guide"

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")

HERE = possible(kernel.release() if kernel.RELEASE.is_file() else "")
"""The comparisons that this kernel has."""

BY_NAME = {comparison.name: comparison for comparison in COMPARISONS}


@needs_kernel
@pytest.mark.parametrize("comparison", HERE, ids=lambda comparison: comparison.name)
def test_each_packet_has_the_fate_that_linux_gives_it(comparison: Comparison) -> None:
    counts = compare(comparison, patterns=12)
    assert counts["differences"] == 0, counts["first"]
    assert counts["packets"] == 12 * PACKETS
    assert counts["packets"] > counts["departed"] > 0


@pytest.mark.parametrize(("release", "has_dualpi2"), [("6.16.9-aqmlab", False), ("6.17", True), ("7.3.4-aqmlab", True)])
def test_a_kernel_has_the_disciplines_of_its_release(release: str, has_dualpi2: bool) -> None:
    assert (BY_NAME["dualpi2"] in possible(release)) == has_dualpi2
    assert BY_NAME["codel"] in possible(release)


@needs_kernel
def test_another_interval_of_ours_is_found() -> None:
    same = BY_NAME["codel-ecn"]
    other = replace(same, parameters={**same.parameters, "interval": "90 ms"})
    counts = compare(other, patterns=4)
    assert counts["differences"] > 0
    assert counts["first"]["kernel"] != counts["first"]["ours"]


@needs_kernel
@pytest.mark.parametrize(("name", "patterns"), [("pie", 30), ("cake-triple-isolate", 8)])
def test_another_coin_of_ours_is_found(name: str, patterns: int) -> None:
    assert compare(BY_NAME[name], patterns=patterns, coin=2)["differences"] > 0


@needs_kernel
def test_another_key_of_the_hash_of_flows_is_found() -> None:
    # The law tosses no coin: only the queues that flows share differ.
    assert compare(BY_NAME["fq_codel-collisions"], patterns=4, coin=2)["differences"] > 0


@needs_kernel
def test_the_time_at_which_a_state_of_losses_changes_is_found() -> None:
    same = BY_NAME["netem-gilbert"]
    assert isinstance(same.loss, dict)
    before = {"gilbert_elliott": {**same.loss["gilbert_elliott"], "change": "before"}}
    assert compare(replace(same, loss=before), patterns=4)["differences"] > 0


@needs_kernel
def test_the_published_law_differs_from_that_of_linux() -> None:
    same = BY_NAME["codel"]
    published = {**same.parameters, "variant": "published"}
    assert compare(replace(same, parameters=published), patterns=4)["differences"] > 0


@needs_kernel
def test_a_discipline_that_tc_refuses_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r'^codel: .*tc refuses "handle 1: codel target soon"'):
        compare(replace(BY_NAME["codel"], tc="codel target soon"), patterns=1)


def test_the_page_has_the_table_of_its_record() -> None:
    record = read_record(GUIDE)
    assert (GUIDE / "kernel-laws.md").read_text(encoding="utf-8") == page(record)
    assert [row["comparison"] for row in record] == [comparison.name for comparison in COMPARISONS]
    for row in record:
        assert (row["patterns"], row["packets"], row["differences"]) == (PATTERNS, PATTERNS * PACKETS, 0)
