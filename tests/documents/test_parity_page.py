"""The page docs/studies/parity.md with one seed and with several."""

from __future__ import annotations

import parity
from aqmlab._core import results_number
from aqmlab.store.result import Result
from fixtures.parity import result


def row(scheme: str, kernel: list[float], linux: float, hosts_of_2001: float = 7.0, load: int = 80) -> parity.ParityRow:
    def simulated(value: float) -> tuple[Result, ...]:
        return tuple(result(seed, value, within_ms=100.0) for seed, _ in enumerate(kernel, 1))

    real = tuple(result(seed, value, within_ms=120.0) for seed, value in enumerate(kernel, 1))
    for one in real:
        one.metadata["kernel"] = {"kernel": "6.12.1"}
    return parity.ParityRow(load, scheme, real, simulated(linux), simulated(hosts_of_2001))


def page_of(*rows: parity.ParityRow) -> str:
    others = [
        parity.ParityRow(load, one.scheme, one.kernel, one.linux, one.hosts_of_2001)
        for load in parity.LOADS[1:]
        for one in rows
    ]
    return parity.page([*rows, *others])


def test_the_worlds_have_the_users_and_hosts_that_the_page_names() -> None:
    kernel, simulated = (parity.experiment_of(90, parity.LINUX, world) for world in ("kernel", "simulated"))
    assert (kernel.world, simulated.world) == ("kernel", "simulated")
    assert kernel.tcp.profile == simulated.tcp.profile == "linux-6"
    page = page_of(row("pi", [12.0], 10.0))
    assert "testbed `unc-2003`" in page
    assert "Linux 6.12.1" in page
    assert f"results number {results_number()}" in page


def test_one_seed_has_no_interval_and_the_page_says_so() -> None:
    page = page_of(row("pi", [12.0], 10.0), row("rem", [5.0], 4.0))
    assert "seed 1 alone" in page
    assert "no number has an interval" in page
    assert "±" not in page
    assert "| `pi` | 12.0 / 10.0 / 7.0 | 12.0 / 10.0 / 7.0 |" in page


def test_several_seeds_give_means_with_intervals() -> None:
    page = page_of(row("pi", [10.0, 14.0], 10.0))
    assert "seeds 1 to 2" in page
    # Student's t of two values, 10 and 14: 12.706 times 2.
    assert "| `pi` | 12.0 ± 25.4 / 10.0 ± 0.0 / 7.0 ± 0.0 |" in page
    assert "This is one seed" not in page


def test_orders_count_schemes_that_differ_in_the_simulator() -> None:
    page = page_of(
        row("pi", [12.0], 10.0, 9.0),
        row("rem", [5.0], 4.0, 1.0),
        row("red", [13.0], 4.5, 1.0),
        row("pie", [14.0], 10.0),
    )
    # rem and red do not differ, nor do pi and pie; pi and red have the reverse order over the kernel's TCP.
    # Hosts of 2001: all pairs but rem and red differ; pi is above red and pie, unlike over the kernel's TCP.
    assert "| 80 % | loss, % | 4 | 3 | `pi` and `red` | 5 | 3 |" in page


def test_ratios_are_those_of_simulated_hosts_like_the_kernels() -> None:
    page = page_of(row("pi", [10.0], 5.0), row("rem", [10.0], 11.0), row("red", [10.0], 20.0))
    assert "| loss, % | 0.50 | 1.10 | 2.00 |" in page
