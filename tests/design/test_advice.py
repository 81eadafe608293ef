"""Advice: the map that ships, rankings whose truth is known, commands as the man pages have them, and mistakes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.advice import advice
from aqmlab.advice import survey as maps
from aqmlab.advice.access_link import CONSTANT
from aqmlab.advice.advice import rankings
from aqmlab.advice.candidates import CANDIDATES, PLAIN
from aqmlab.advice.ranking import Ranking, rank
from aqmlab.advice.survey import (
    KIND_LINKS,
    KIND_SPACE,
    KINDS,
    LOAD,
    SPACE,
    Survey,
    coordinates,
    link_at,
    link_of_kind,
    load_survey,
    position,
)
from aqmlab.campaigns.axes import Samples
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.spec import schemes
from aqmlab.stats.intervals import Values
from aqmlab.store.result import Result
from conftest import Command

HOME = lab.AccessLink(down="500 Mbit/s", up="20 Mbit/s", rtt="10..80 ms")
SMALL = lab.AccessLink(down="4 Mbit/s", up="2 Mbit/s", rtt="20 ms", users=60)
POINTS = Samples(over=dict(SPACE), points=64).values()


def synthetic_map(factor: Mapping[str, float], noise: float = 0.1) -> Survey:
    """A map in which each candidate's response times are a multiple of those of its link."""
    rng = np.random.default_rng(1)
    rows = []
    for point in POINTS:
        for ecn in (False, True):
            base = 1e3 * math.exp(rng.normal(0, 1))
            for name in CANDIDATES:
                value = base * factor.get(name, 1.0) * math.exp(rng.normal(0, noise))
                numbers = dict.fromkeys(maps.MEASURES, value)
                rows.append({**point, "kind": CONSTANT, "ecn": ecn, "candidate": name, **numbers})
    return Survey(pl.DataFrame(rows), {CONSTANT: {"results": 0}})


def cell(scheme: str, link: lab.AccessLink = HOME) -> Cell:
    parsed = schemes.parse(scheme)
    experiment = parsed.apply_to(link.experiment(warmup_s=2, duration_s=10))
    return cells_of(experiment, [1], label=parsed.label)[0]


# The map.


def test_the_shipped_map_has_every_candidate_on_every_link() -> None:
    rows = load_survey().rows
    constant = rows.filter(kind=CONSTANT)
    links = constant.select(SPACE.keys()).unique().height
    assert links == load_survey().provenance[CONSTANT]["points"]
    assert constant.select(*SPACE, "ecn", "candidate").unique().height == links * 2 * len(CANDIDATES)
    assert set(rows["candidate"]) == set(CANDIDATES)
    for name, span in SPACE.items():
        assert all(span.share_of(number) is not None for number in constant[name])
    assert set(rows["kind"]) == {CONSTANT, *KINDS} == set(load_survey().provenance)
    for kind in KINDS:
        assert rows.filter(kind=kind).group_by("candidate").len()["len"].to_list() == [KIND_LINKS] * len(CANDIDATES)
    assert rows.filter(candidate=PLAIN)["p95"].null_count() == 0
    assert len((resources.files("aqmlab.advice") / maps.FILE).read_bytes()) < 1_000_000


def test_each_link_of_the_map_is_its_own_nearest_link() -> None:
    known = synthetic_map({})
    for number in (0, 17, 63):
        near = known.nearest_links(link_at(POINTS[number], ecn=True), 1)
        assert near["ecn"].all()
        for name in SPACE:
            assert near[name].unique().to_list() == pytest.approx([POINTS[number][name]])


def test_a_link_made_from_a_point_is_at_that_point() -> None:
    for point in POINTS:
        for name, number in coordinates(link_at(point, ecn=False)).items():
            # Users and round trips come whole.
            assert number == pytest.approx(point[name], rel=0.1)


def test_hardly_any_users_count_as_the_fewest_of_the_map() -> None:
    assert HOME.load_percent < SPACE[LOAD].start
    assert coordinates(HOME)[LOAD] == SPACE[LOAD].start


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"down": "2 Gbit/s", "up": "1 Gbit/s"}, "down, Mbit/s from 2 to 1000, got 2000"),
        ({"up": "1 Mbit/s"}, "down / up from 1 to 40, got 500"),
        ({"rtt": "600 ms"}, "rtt, ms from 5 to 200, got 600"),
        ({"users": 100_000}, "load, % from 5 to 110"),
        ({"downloads": 40}, r"1 \+ downloads from 1 to 17, got 41"),
    ],
)
def test_a_link_outside_of_the_map_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=f"^link: the map covers {message}"):
        lab.advise(replace(HOME, **change), out=tmp_path)
    assert not list(tmp_path.iterdir())


# Links of other kinds.


@pytest.mark.parametrize(
    ("link", "kind", "down_mbps", "rtt_ms"),
    [
        ("docsis-3.1 250/25", "cable", 250, (24, 24)),
        ("gpon 300", "token_bucket", 300, (20, 20)),
        ("wifi-ac busy", "wifi", 59.8, (21, 21)),
        ("lte", "cellular", 13, (80, 80)),
        ("starlink", "leo", 100, (50, 50)),
        ("vdsl2 50/10", CONSTANT, 49.2, (28, 28)),
        ({"rate": {"trace": {"seconds": [0, 1], "mbps": [3, 9]}}, "delay": "0 s"}, "trace", 6, (20, 20)),
        ({"rate": {"up": {"leo": {"rate": "5 Mbit/s"}}, "down": {"wifi": {"rate": "9 Mbit/s"}}}}, None, 8.4, (21, 21)),
        ({"rate": "9 Mbit/s", "outages": [{"at": "2 s", "lasts": "1 s"}]}, None, 9, (21, 21)),
    ],
)
def test_a_described_link_has_a_kind_and_mean_rates(
    link: str | dict[str, Any], kind: str | None, down_mbps: float, rtt_ms: tuple[int, int]
) -> None:
    described = lab.AccessLink(link=link, rtt="20 ms")
    assert described.kind == kind
    assert described.down_mbps == pytest.approx(down_mbps, rel=0.02)
    assert described.rtt_ms == rtt_ms


@pytest.mark.parametrize("kind", KINDS)
def test_a_described_link_is_ranked_on_those_of_its_kind(kind: str) -> None:
    (point,) = Samples(over=dict(KIND_SPACE), points=1).values()
    link = link_of_kind(kind, point)
    assert link.kind == kind
    near = load_survey().nearest_links(link)
    assert near["kind"].unique().to_list() == [kind]
    assert near["link"].n_unique() == KIND_LINKS
    first = near.filter(link=0)
    assert [first[name][0] for name in SPACE] == pytest.approx([position(link)[name] for name in SPACE])


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({"link": {"rate": {"trace": {"seconds": [0, 3], "mbps": [9, 3]}}}}, "The map has no links of kind trace"),
        ({"link": "lte", "ecn": True}, "The map has no links with ECN of kind cellular"),
        ({"link": "geo"}, "The map covers rtt, ms from 5 to 200, got 620"),
    ],
)
def test_a_link_that_the_map_lacks_has_all_candidates(
    change: dict[str, Any], gap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "_window", lambda link: {"warmup_s": 1, "duration_s": 5})
    schemes_of = {name: CANDIDATES[name] for name in (PLAIN, "codel", "pie", "pi2", "fq_codel", "fq_pie")}
    monkeypatch.setattr(advice, "CANDIDATES", schemes_of)
    link = replace(SMALL, down=None, up=None, **change)
    result = lab.advise(link, seeds=[1, 2], out=tmp_path, workers=1)
    assert {ranking.candidate for ranking in result.run} == set(schemes_of)
    assert result.map == ()
    assert f"{gap}: all candidates were run on this link instead." in result.notes
    assert result.notes[-1].startswith("Not tried: other draws of this link than those of 2 seeds; senders other")


# Rankings.


def test_a_dominated_candidate_never_wins_nor_ties_with_the_best() -> None:
    known = synthetic_map({"fq_pie": 2.0})
    for point in POINTS[:20]:
        ranked = rankings(known, link_at(point, ecn=False), "p95")
        assert ranked[-1].candidate == "fq_pie"
        assert not ranked[-1].is_indistinguishable


def test_what_is_better_everywhere_wins_by_as_much_as_it_is() -> None:
    ranked = rankings(synthetic_map({"codel": 0.5}), HOME, "p95")
    assert ranked[0].candidate == "codel"
    assert ranked[0].change.low < -50 < ranked[0].change.high
    assert [candidate.candidate for candidate in ranked if candidate.is_indistinguishable] == ["codel"]


def test_equal_candidates_tie_on_19_of_20_links() -> None:
    known = synthetic_map({})
    ranked = [rankings(known, link_at(point, ecn=ecn), "p95") for point in POINTS[::4] for ecn in (False, True)]
    separated = [not all(candidate.is_indistinguishable for candidate in one) for one in ranked]
    # The best is chosen after the fact, which makes it look somewhat better than it is.
    assert np.mean(separated) < 0.3


positive = st.floats(1e-3, 1e6)


@given(st.lists(st.tuples(positive, positive, positive), min_size=2, max_size=8), st.floats(1e-3, 1e3))
def test_a_ranking_knows_of_no_units(rows: list[tuple[float, ...]], scale: float) -> None:
    names = (PLAIN, "codel", "pie")
    values = {name: np.array([row[n] for row in rows]) for n, name in enumerate(names)}
    unscaled = rank(values, values, plain=PLAIN)
    scaled = rank({name: scale * times for name, times in values.items()}, values, plain=PLAIN)
    by_name = {row.candidate: row for row in scaled}
    for row in unscaled:
        scaled_row = by_name[row.candidate]
        assert scaled_row.mean == pytest.approx(scale * row.mean)
        assert scaled_row.change.percent == pytest.approx(row.change.percent, abs=1e-6, rel=1e-6)
        assert scaled_row.bulk == row.bulk


def test_a_link_without_transfers_has_no_goodput_of_theirs() -> None:
    known = synthetic_map({})
    none = Survey(known.rows.with_columns(pl.lit(None).cast(pl.Float64).alias("bulk")), known.provenance)
    assert [candidate.bulk for candidate in rankings(none, HOME, "p95")] == [None] * len(CANDIDATES)


def test_a_candidate_without_responses_ranks_slowest() -> None:
    known = synthetic_map({"pi2": 0.5})
    unanswered = pl.when(candidate="pi2").then(None).otherwise("p95").alias("p95")
    none = Survey(known.rows.with_columns(unanswered), known.provenance)
    assert rankings(known, HOME, "p95")[0].candidate == "pi2"
    assert rankings(none, HOME, "p95")[-1].candidate == "pi2"


def test_a_mark_agrees_with_the_interval_in_its_row() -> None:
    for point in POINTS[::8]:
        for candidate in rankings(load_survey(), link_at(point, ecn=False), "p95"):
            assert candidate.is_indistinguishable == (
                candidate.change_from_best is None or candidate.change_from_best.low <= 0
            )
    link = lab.AccessLink(down="100 Mbit/s", up="20 Mbit/s", rtt="30 ms")
    best, *_, last = rankings(load_survey(), link, "p95")
    assert last.candidate == PLAIN
    assert last.mean > 5 * best.mean
    assert not last.is_indistinguishable
    assert best.change.high < 0


def test_the_same_comparison_has_the_same_interval_both_ways() -> None:
    ranked = rankings(load_survey(), HOME, "p95")
    best, plain = ranked[0], next(candidate for candidate in ranked if candidate.candidate == PLAIN)
    assert plain.change_from_best is not None
    assert 1 + plain.change_from_best.low / 100 == pytest.approx(1 / (1 + best.change.high / 100))


# What is advised.


def given_advice(by_map: list[Ranking], by_run: list[Ranking]) -> lab.Advice:
    return lab.Advice(HOME, NUMBERS["p95"], tuple(by_map), tuple(by_run), (1, 2), (), {"results": 0})


def ranked(**values: Values) -> list[Ranking]:
    return rank(values, {}, plain=PLAIN)


def test_the_run_overrides_the_map_only_if_significant() -> None:
    by_map = ranked(droptail=np.array([9.0, 9.1]), codel=np.array([1.0, 1.0]), pie=np.array([2.0, 2.1]))
    noisy = ranked(droptail=np.array([9.0, 9.1]), codel=np.array([2.0, 2.5]), pie=np.array([2.2, 2.0]))
    assert noisy[0].candidate == "pie"
    assert given_advice(by_map, noisy).best_candidate == "codel"
    clear = ranked(droptail=np.array([9.0, 9.1]), codel=np.array([2.0, 2.01]), pie=np.array([1.0, 1.01]))
    assert given_advice(by_map, clear).best_candidate == "pie"


def test_where_a_plain_queue_is_as_good_it_is_said() -> None:
    ties = ranked(droptail=np.array([2.0, 1.99, 2.0]), codel=np.array([1.99, 2.0, 2.0]))
    assert "little to gain" in given_advice(ties, ties).notes[0]
    unknown = ranked(droptail=np.array([4.0, 1.9]), codel=np.array([1.9, 2.0]))
    assert "under 2 seeds: more seeds can tell" in given_advice(unknown, unknown).notes[0]
    clear = ranked(droptail=np.array([9.0, 9.1]), codel=np.array([1.0, 1.0]))
    assert not any("little to gain" in note for note in given_advice(clear, clear).notes)


def test_a_run_that_is_far_from_the_map_is_told_of() -> None:
    by_map = ranked(droptail=np.array([9.0, 9.1]), codel=np.array([1.0, 1.0]))
    by_run = ranked(droptail=np.array([9.0, 9.1]), codel=np.array([8.0, 8.05]))
    assert any(note.startswith("The run is far from the map") for note in given_advice(by_map, by_run).notes)
    assert not any(note.startswith("The run is far from the map") for note in given_advice(by_map, by_map).notes)


def test_a_map_with_another_results_number_is_noted() -> None:
    one = ranked(droptail=np.array([2.0, 1.9]), codel=np.array([1.9, 2.0]))
    assert any(note.startswith("The map has the results number 0") for note in given_advice(one, one).notes)


@pytest.mark.parametrize(("link", "noted"), [(SMALL, True), (HOME, False)])
def test_advised_dualpi2_on_a_slow_link_is_noted(
    link: lab.AccessLink, noted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aqmlab.running.checks.check", lambda results: [])
    best = ranked(droptail=np.array([9.0, 9.1]), dualpi2=np.array([1.0, 1.0]))
    result = cast(Result, SimpleNamespace(cell=cell("dualpi2", link)))
    given = replace(given_advice(best, best), link=link, results=(result,))
    assert any("L4S flows starve" in note and "6.06 ms, step 1 ms" in note for note in given.notes) == noted


def test_schemes_that_a_rule_makes_the_defaults_are_run_once(tmp_path: Path) -> None:
    # An interval of 100 ms and a target of 5 ms are the defaults.
    link = replace(SMALL, rtt="100 ms", down="20 Mbit/s", up="20 Mbit/s")
    result = lab.advise(link, seeds=[1, 2], out=tmp_path, workers=1)
    assert len(result.run) == 1 + advice._CONFIRMATION_RUNS
    assert len({CANDIDATES[candidate.candidate](link) for candidate in result.run}) == len(result.run)


# The experiment.


def test_what_people_fetch_comes_down_and_what_they_send_goes_up(tmp_path: Path) -> None:
    link = lab.AccessLink(down="20 Mbit/s", up="4 Mbit/s", rtt="20 ms", users=1)
    for downloads, uploads in ((1, 0), (0, 1)):
        busy = replace(link, downloads=downloads, uploads=uploads)
        result = lab.run(busy.experiment(warmup_s=2, duration_s=8), out=tmp_path)
        up, down = (direction["utilisation"] for direction in result.summary["directions"])
        assert (down > 0.5) == bool(downloads)
        assert (up > 0.5) == bool(uploads)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"down": "500"}, 'down: "500": write a unit'),
        ({"up": "600 Mbit/s"}, "up: must be at most down, 500 Mbit/s, got 600 Mbit/s"),
        ({"rtt": "x"}, "rtt: must be as '20 ms' or '10..80 ms', got 'x'"),
        ({"rtt": "20"}, 'rtt: "20": write a unit'),
        ({"rtt": "80..10 ms"}, "rtt: must be 1 ms at least, the shorter one first"),
        ({"rtt": "0.5 ms"}, "rtt: must be whole milliseconds, got 0.5 ms"),
        ({"users": 0}, "users: must be a whole number of 1 at least, got 0"),
        ({"uploads": -1}, "uploads: must be a whole number of 0 at least, got -1"),
        ({"link": "lte"}, "down, up: must be left out with link"),
        ({"down": None}, "down, up: must be given, or link in place of both"),
    ],
)
def test_what_is_no_link_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        replace(HOME, **change)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


# The command.


def test_advise_takes_the_link_of_a_spec(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text("seconds,mbps\n0,8\n2,3\n")
    file = tmp_path / "walk.toml"
    file.write_text(
        'link = { rate = { up = "2 Mbit/s", down = { trace = { file = "walk.csv" } } } }\n'
        "queue.pie = {}\nusers.per_side = 3\n"
    )
    options = ("--rtt", "20 ms", "--users", "200", "--seeds", "2", "--minimise", "delay", "--out", tmp_path / "out")
    outcome = aqmlab("advise", "--link", file, *options, "--json")
    assert outcome.err.splitlines()[0] == f"{file}: advise uses its link, and not queue, users"
    record = json.loads(outcome.out)
    assert record["link"]["link"]["rate"]["down"]["trace"]["mbps"] == [8, 3]
    assert len(record["run"]) == len({CANDIDATES[name](lab.AccessLink(**record["link"])) for name in CANDIDATES})
    assert any("The rate of this link varies, and a shaper has one rate" in note for note in record["tc"]["notes"])


def test_advise_says_what_it_advises_and_how_it_is_typed(aqmlab: Command, tmp_path: Path) -> None:
    arguments = ("advise", "--down", SMALL.down, "--up", SMALL.up, "--rtt", SMALL.rtt, "--users", "60", "--seeds", "2")
    outcome = aqmlab(*arguments, "--out", tmp_path)
    assert outcome.code == 0
    record = json.loads(aqmlab(*arguments, "--out", tmp_path, "--json").out)
    assert f"Advised: {record['scheme']}" in outcome.out
    for line in (*record["tc"]["lines"], *record["notes"]):
        assert line in outcome.out
    assert "Not tried:" in outcome.out
    assert record["minimised"] == "p95"
    assert len(record["map"]) == len(CANDIDATES)
    assert record["advised"] in {candidate["candidate"] for candidate in record["run"]}
    assert PLAIN in {candidate["candidate"] for candidate in record["run"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rtt", "300 ms"), "link: the map covers rtt, ms from 5 to 200, got 300"),
        (("--rtt", "20 ms", "--minimise", "loss"), "minimise: must be a time, such as mean, p50"),
        (("--rtt", "20 ms", "--seeds", "1"), "seeds: must be two at least, for an interval, got 1"),
        (("--rtt", "20"), 'rtt: "20": write a unit'),
    ],
)
def test_a_mistake_is_one_line(options: tuple[str, ...], message: str, aqmlab: Command, tmp_path: Path) -> None:
    refusal = aqmlab("advise", "--down", "20 Mbit/s", "--up", "4 Mbit/s", *options, "--out", tmp_path)
    assert refusal.code == 2
    assert refusal.err.startswith(f"aqmlab: {message}")
    assert refusal.err.count("\n") == 1
