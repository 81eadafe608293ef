"""The page docs/studies/parity.md with one seed, with several, and with invalid runs."""

from __future__ import annotations

import parity
from aqmlab._core import results_number
from aqmlab.live.parity import Pair, SchemeParity
from fixtures.parity import pair, result

ABOUT = {"kernel": "6.1", "load": 1.0, "router_lateness_ms_p99": 0.1}


def row(label: str, *pairs: Pair) -> parity.ParityRow:
    for live_pair in pairs:
        live_pair.real.metadata["live"].update(ABOUT)
    as_kernel = tuple(result(live_pair.real.cell.seed, 7.0, within_ms=100.0) for live_pair in pairs)
    return parity.ParityRow(parity.LOADS[0], SchemeParity(label, pairs), as_kernel)


def page_of(*rows: parity.ParityRow) -> str:
    other_loads = [parity.ParityRow(load, row.both, row.as_kernel) for load in parity.LOADS[1:] for row in rows]
    return parity.page([*rows, *other_loads])


def test_the_page_names_the_testbed_whose_hosts_it_runs() -> None:
    assert parity._experiment(90, {}).tcp.profile == "unc-testbed"
    page = page_of(row("pi", pair(1, 12.0, 10.0)))
    assert "testbed `unc-2003`" in page
    assert f"results number {results_number()}" in page


def test_one_seed_has_no_interval_and_the_page_says_so() -> None:
    page = page_of(row("pi", pair(1, 12.0, 10.0)), row("rem", pair(1, 5.0, 4.0)))
    assert "seed 1 alone" in page
    assert "no number has an interval" in page
    assert "±" not in page
    assert "| `pi` | 12.0 / 10.0 / 7.0 | 12.0 / 10.0 / 7.0 |" in page


def test_several_seeds_give_means_with_intervals() -> None:
    page = page_of(row("pi", pair(1, 10.0, 10.0), pair(2, 14.0, 10.0)))
    assert "seeds 1 to 2" in page
    # Student's t of two values, 10 and 14: 12.706 times 2.
    assert "| `pi` | 12.0 ± 25.4 / 10.0 ± 0.0 / 7.0 ± 0.0 |" in page
    assert "This is one seed" not in page


def test_invalid_seeds_are_named_and_excluded() -> None:
    page = page_of(row("pi", pair(1, 12.0, 10.0), pair(2, 1e9, 99.0, "it was late")))
    assert "exclude the invalid runs: pi at 80 %, seed 2;" in page
    assert "| `pi` | 12.0 / 10.0 / 7.0 |" in page
    assert "NOT: it was late" in page


def test_orders_count_schemes_that_differ_in_the_simulator() -> None:
    page = page_of(
        row("pi", pair(1, 12.0, 10.0)), row("rem", pair(1, 5.0, 4.0)), row("red", pair(1, 13.0, 4.5)), row("pie")
    )
    # rem and red do not differ; pi and red have the reverse order live; pie has no runs.
    assert "| 80 % | loss, % | 2 | 1 | `pi` and `red` |" in page
    assert "| `pie` | - / - / - |" in page
