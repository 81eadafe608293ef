"""Households: their data, the web users and sources that they become, and their errors."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.cells import calibration_model
from aqmlab.cells.calibration_model import Calibration
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running.run import run_cell
from aqmlab.spec.households import data, expansion
from aqmlab.stats import intervals
from aqmlab.store.store import Store
from conftest import Command

NAME = "household-2024"
DATA = data.load(NAME)
LINK = {"rate": "100 Mbit/s"}


def experiment(per_side: int | None = 1, **users: Any) -> lab.Experiment:
    number = {} if per_side is None else {"per_side": per_side}
    return lab.Experiment(link=LINK, users={"workload": NAME, **number, **users})


def cell_of(per_side: int = 1, **users: Any) -> Cell:
    (cell,) = cells_of(experiment(per_side, **users), [1])
    return cell


def sources(cell: Cell) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for source in cell.resolved["sources"] for table in source.values()}


def test_each_number_of_the_data_has_a_source() -> None:
    assert DATA.persons.source
    assert DATA.web.source
    assert all(hours.source for hours in DATA.hours.values())
    assert all(application.source for application in DATA.applications)
    assert all(transfers.source for transfers in DATA.transfers)
    for application in DATA.applications:
        assert bool(application.keys) == bool(application.keys_source), application.name
        assert (application.persons != 1) == bool(application.persons_source), application.name
    for name, hours in DATA.hours.items():
        assert len(hours.weights) == 24, name
        assert sum(hours.relative(hour) for hour in range(24)) == pytest.approx(24), name
    home = DATA.hours["home"].weights
    assert home[DATA.busy_hour] == max(home)
    for transfers in DATA.transfers:
        size = transfers.size["lognormal"]
        mean = float(size["median"].removesuffix(" MB")) * math.exp(size["sigma"] ** 2 / 2)
        assert transfers.mean_megabytes == pytest.approx(mean, rel=0.001), transfers.name


@pytest.mark.parametrize("hour", [4, 10, 20])
def test_households_have_the_means_of_their_data(hour: int) -> None:
    households = 5000
    cell = cell_of(households, hour=hour)
    persons, minutes = DATA.persons.value, 24 * 60
    found = sources(cell)

    def mean(minutes_a_day: float, curve: str, sharing: float = 1.0) -> float:
        return households * persons / sharing * minutes_a_day / minutes * DATA.hours[curve].relative(hour)

    assert cell.users_per_side == pytest.approx(mean(DATA.web.minutes, DATA.web.hours), abs=0.5)
    for part in DATA.applications:
        expected = mean(part.minutes, part.hours, part.persons)
        assert found[part.name]["flows"] == pytest.approx(max(1, expected), abs=0.5), part.name
    for transfers in DATA.transfers:
        bytes_a_second = sum(found[transfers.name]["rate_per_second"]) * transfers.mean_megabytes * 1e6
        month = bytes_a_second * 365.25 / 12 * 86400 / households / 1e9
        expected = transfers.gigabytes_per_month * DATA.hours[transfers.hours].relative(hour)
        assert month == pytest.approx(expected, rel=1e-6), transfers.name


def test_one_household_has_one_use_of_each_application() -> None:
    cell = cell_of(hour=4)
    assert cell.users_per_side == 1
    assert [source.get("flows") for source in sources(cell).values()] == [1, 1, 1, 1, 1, None, None]
    assert [sources(cell)[name]["rate_per_second"] for name in ("update", "upload")] == [[1 / 60, 0], [0, 1 / 60]]


def test_the_hour_matters_and_is_the_busy_one_unless_written() -> None:
    busy, night = cell_of(500), cell_of(500, hour=4)
    assert cell_of(500, hour=DATA.busy_hour).key == busy.key != night.key
    assert night.users_per_side < busy.users_per_side / 2
    assert sources(night)["television"]["flows"] < sources(busy)["television"]["flows"] / 2


def test_more_households_have_no_fewer_uses() -> None:
    numbers = [[cell_of(count).users_per_side, *_flows(cell_of(count))] for count in (1, 2, 7, 30, 31, 400)]
    for few, more in pairwise(numbers):
        assert all(first <= second for first, second in zip(few, more, strict=True))


def _flows(cell: Cell) -> list[int]:
    return [source["flows"] for source in sources(cell).values() if "flows" in source]


def test_all_schemes_and_seeds_have_the_same_households() -> None:
    specs = []
    for discipline, seed in (("droptail", 1), ("fq_codel", 1), ("fq_codel", 2)):
        queue = lab.QueueSpec.model_validate({discipline: {}})
        (cell,) = cells_of(experiment(40).model_copy(update={"queue": queue}), [seed])
        specs.append((cell.resolved["users"], cell.resolved["sources"], cell.experiment))
    assert specs[0] == specs[1] == specs[2]


def test_sources_of_the_spec_follow_those_of_the_households() -> None:
    own = {"bulk": {"name": "backup", "flows": 1}}
    (alone,), (beside,) = (
        cells_of(lab.Experiment(link=LINK, users={"workload": NAME, "per_side": 3}, sources=written), [1])
        for written in ((), (own,))
    )
    assert beside.resolved["sources"][:-1] == alone.resolved["sources"]
    assert beside.resolved["sources"][-1]["bulk"]["name"] == "backup"


def test_households_share_the_paths_and_times_of_their_spec() -> None:
    chain = lab.Experiment(
        link=[LINK, LINK, LINK],
        users={"workload": NAME, "per_side": 3, "path": [1, 3], "http3": 0.5, "rtt": "general"},
        protocol={"warmup": "5 s", "duration": "1 s"},
    )
    (cell,) = cells_of(chain, [1])
    assert all(source["path"] == [1, 3] for source in sources(cell).values())
    assert sources(cell)["call"]["spread"] == "5 s"
    assert sources(cell_of())["call"]["spread"] == "30 s", "the default warm-up"
    assert cell.resolved["users"]["http3"] == 0.5
    assert cell.rtt == "general"


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ({"hour": 24}, "users.hour: .* 23, got 24"),
        ({"hour": 20, "workload": "web-2024"}, "users.hour: only household-2024 has hours: leave it out.*, got 20"),
        ({"sides": 2}, "users.sides: must be 1 for household-2024, whose homes are on side 0, got 2"),
        ({"workload": "household-2025"}, "users.workload: unknown `household-2025`: choose .*, household-2024, or .*"),
        ({"per_side": -1}, "users.per_side: must be between 0 and 100,000 households .*, got -1"),
        ({"per_side": 100_001}, "users.per_side: must be between 0 and 100,000 households .*, got 100001"),
        ({"per_side": 0}, "users.per_side: must be at least 1 where there are no sources, got 0"),
        ({"http3": 2.0}, "users.http3: .*, got 2"),
    ],
)
def test_mistakes_are_refused_in_one_line(users: dict[str, Any], message: str) -> None:
    with pytest.raises(lab.SpecError, match=rf"^{message}$"):
        cells_of(experiment(**users), [1])


def test_a_mistake_in_a_source_has_its_own_number() -> None:
    with pytest.raises(lab.SpecError, match=r"^sources\[0\]\.bulk\.flows: "):
        cells_of(experiment().model_copy(update={"sources": ({"bulk": {"flows": 0}},)}), [1])


def line(hour: int, mbps: float) -> Calibration:
    return Calibration(
        workload=f"{NAME}-{hour:02}h",
        rtt="uniform",
        sides=1,
        mbps_per_user=mbps,
        r_squared=1.0,
        users_per_side=(60,),
        throughput_mbps=(60 * mbps,),
        engine="1",
    )


def test_a_load_is_calibrated_by_hour() -> None:
    known = {one.key: one for one in (line(20, 2.0), line(4, 0.8))}
    (cell,) = cells_of(experiment(None, load=80), [1], known)
    assert (cell.load_percent, cell.spec) == (80, cell_of(40).spec)
    (cell,) = cells_of(experiment(None, load=80, hour=4), [1], known)
    assert cell.spec == cell_of(100, hour=4).spec
    (cell,) = cells_of(experiment(40), [1], known)
    assert cell.load_percent == pytest.approx(80)
    with pytest.raises(lab.SpecError, match=r"no calibration: run .* --workload household-2024 .* --hour 5 or give"):
        cells_of(experiment(None, load=80, hour=5), [1], known)
    few = r"^users.load: makes 20 households, and fewer than 25 make more .* got 40$"
    with pytest.raises(lab.SpecError, match=few):
        cells_of(experiment(None, load=40), [1], known)


def test_shipped_calibrations_follow_the_hours() -> None:
    shipped = calibration_model.load_calibrations()
    lines = [shipped[f"{NAME}-{hour:02}h", "uniform", 1] for hour in range(24)]
    slopes = [line.mbps_per_user for line in lines]
    assert slopes.index(max(slopes)) in (19, 20)
    assert slopes.index(min(slopes)) in (2, 3, 4)
    assert all(line.r_squared > 0.99 for line in lines)


def test_a_load_of_households_is_met_without_congestion(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"link": {"rate": "400 Mbit/s"}, "protocol": {"warmup": "90 s", "duration": "90 s"}}
    measured = lab.Experiment(users={"workload": NAME, "load": 90}, **parts)
    cells = cells_of(measured, [1, 2, 3], calibration_model.load_calibrations(), uncongested=True)
    down = [run_cell(cell, Store(tmp_path)).summary["directions"][1]["throughput_mbps"] for cell in cells]
    mean, low, high = intervals.mean_interval(np.array(down))
    assert low < 360 < high, down
    assert mean == pytest.approx(360, rel=0.1)


def test_show_lists_the_households(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "street.toml"
    spec.write_text(f'link.rate = "100 Mbit/s"\nusers = {{workload = "{NAME}", per_side = 40, hour = 9}}\n')
    shown = aqmlab("show", str(spec))
    assert "Users: 40 households at 9 h (household-2024), the web users and the first 7 sources." in shown.out
    assert re.search(r"television +video +reverse +\d+ flows", shown.out)
    listed = json.loads(aqmlab("show", str(spec), "--json").out)
    assert not [value for value in listed["unwritten"] if value["path"].startswith("sources[0].video.rule")]


def test_a_comparison_names_the_households(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "home.toml"
    protocol = 'protocol = {warmup = "1 s", duration = "2 s"}'
    spec.write_text(f'link.rate = "100 Mbit/s"\nusers = {{workload = "{NAME}", per_side = 1}}\n{protocol}\n')
    compared = aqmlab("compare", str(spec), "fq_codel", "--seeds", "1", "--no-figures")
    assert "1 household at 20 h, uniform RTT, 1 s + 2 s, 1 seed" in compared.out
    assert "Experience by application" in compared.out


def test_hosts_without_a_browser_refuse_households(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "home.toml"
    spec.write_text(f'users = {{workload = "{NAME}", per_side = 1}}\n')
    refused = aqmlab("run", str(spec), "--world", "kernel")
    assert refused.code
    assert refused.err.startswith('aqmlab: users.workload: needs world = "simulated": ')
    assert refused.err.count("\n") == 1


def test_the_schema_has_the_workload_and_its_hours() -> None:
    definitions = lab.Experiment.model_json_schema()["$defs"]
    hour = definitions["Users"]["properties"]["hour"]
    assert (hour["type"], hour["minimum"], hour["maximum"]) == ("integer", 0, 23)
    assert NAME in definitions["Workload"]["anyOf"][0]["enum"]


def test_the_number_of_uses_of_no_household_is_none() -> None:
    own = {"bulk": {"flows": 1}}
    expanded = expansion.expanded(experiment(0).model_copy(update={"sources": (own,)}))
    assert (expanded.users.per_side, expanded.sources) == (0, (own,))
