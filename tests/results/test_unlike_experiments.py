"""Cells of different experiments are never averaged, tabulated or drawn together; the refusal names the difference."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.cells.differences import check_one_experiment, differences, differences_text
from aqmlab.reports import reproduce
from aqmlab.reports.selection import Choice, select
from aqmlab.results.comparison import Comparison
from aqmlab.store.result import Result, pooled_cdf
from conftest import Command

SPEC: dict[str, Any] = {
    "link": {"rate": "2 Mbit/s"},
    "users": {"per_side": 4},
    "protocol": {"warmup": "1 s", "duration": "2 s"},
}

OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "rate": ({"link": {"rate": "3 Mbit/s"}}, "link.rate: 2 Mbit/s and 3 Mbit/s"),
    "delay": ({"link": {"rate": "2 Mbit/s", "delay": "9 ms"}}, "link.delay: 500 us and 9 ms"),
    "users": ({"users": {"per_side": 5}}, "users.per_side: 4 and 5"),
    "congestion control": ({"tcp": {"congestion": "bbr"}}, "tcp.congestion: cubic and bbr"),
    "window": ({"protocol": {"warmup": "1 s", "duration": "3 s"}}, "protocol.duration: 2 s and 3 s"),
    "sources": ({"sources": [{"bulk": {"flows": 2}}]}, "sources"),
}


def run(out: Path, scheme: str = "codel", seed: int = 1, **tables: Any) -> Result:
    return lab.run(lab.Experiment(**{**SPEC, "queue": {scheme: {}}, **tables}), seed=seed, out=out)


@pytest.mark.parametrize(("changes", "difference"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("scheme", ["codel", "pie"])
def test_other_experiments_are_refused_with_the_difference(
    scheme: str, changes: dict[str, Any], difference: str, tmp_path: Path
) -> None:
    results = (run(tmp_path), run(tmp_path, scheme, **changes))
    with pytest.raises(lab.SpecError, match=difference) as error:
        Comparison(results)
    assert "\n" not in str(error.value)
    with pytest.raises(lab.SpecError, match=difference):
        pooled_cdf(results)


def test_seeds_and_schemes_of_one_experiment_are_compared(tmp_path: Path) -> None:
    results = [run(tmp_path, scheme, seed) for scheme in ("codel", "pie") for seed in (1, 2)]
    assert [len(scheme["seeds"]) for scheme in Comparison(tuple(results)).schemes] == [2, 2]
    assert pooled_cdf(results[:2]).height > 0
    with pytest.raises(lab.SpecError, match="queue"):
        pooled_cdf(results)


def test_the_uncongested_network_has_the_users_of_the_schemes() -> None:
    def cells(per_side: int, rate: str, *, free: bool) -> Any:
        experiment = lab.Experiment(link={"rate": rate}, users={"per_side": per_side})
        return cells_of(experiment, [1], label="uncongested" if free else None, uncongested=free)[0]

    check_one_experiment([cells(4, "2 Mbit/s", free=True), cells(4, "2 Mbit/s", free=False)])
    # It is the same network for another rate.
    check_one_experiment([cells(4, "3 Mbit/s", free=True), cells(4, "2 Mbit/s", free=False)])
    with pytest.raises(lab.SpecError, match=r"users\.per_side: 4 and 5"):
        check_one_experiment([cells(5, "2 Mbit/s", free=True), cells(4, "2 Mbit/s", free=False)])


def test_a_report_of_chosen_cells_refuses_other_experiments(tmp_path: Path, aqmlab: Command) -> None:
    keys = [result.location.name for result in (run(tmp_path), run(tmp_path, "pie", link={"rate": "3 Mbit/s"}))]
    with pytest.raises(lab.SpecError, match=r"link\.rate: 2 Mbit/s and 3 Mbit/s"):
        select(tmp_path, Choice(cells=keys))
    outcome = aqmlab("report", *keys, "--out", str(tmp_path), "--output", str(tmp_path / "r.html"))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "link.rate: 2 Mbit/s and 3 Mbit/s" in outcome.err


def test_a_report_of_the_newest_comparison_leaves_out_others(tmp_path: Path) -> None:
    run(tmp_path, link={"rate": "3 Mbit/s"})
    run(tmp_path, users={"per_side": 5})
    wanted = {run(tmp_path, scheme).location.name for scheme in ("codel", "pie")}
    assert {result.location.name for result in select(tmp_path, Choice()).valid} == wanted


def test_a_report_of_a_spec_is_about_its_cells(tmp_path: Path, aqmlab: Command) -> None:
    experiment = lab.Experiment(**SPEC)
    compared = lab.compare("codel", "pie + users.per_side=5", experiment=experiment, seeds=[1], out=tmp_path)
    run(tmp_path, link={"rate": "3 Mbit/s"})
    selection = select(tmp_path, Choice(experiment=experiment))
    assert [result.cell.label for result in selection.valid] == ["uncongested", "codel", "pie + users.per_side=5"]
    assert [result.location.name for result in selection.valid] == [result.location.name for result in compared.results]
    file = tmp_path / "spec.toml"
    file.write_text(reproduce.toml(SPEC))
    arguments = ("--out", str(tmp_path), "-o", str(tmp_path / "r.html"))
    outcome = aqmlab("report", str(file), "--set", "link.rate=3 Mbit/s", *arguments)
    assert outcome.code == 0, outcome.err
    outcome = aqmlab("report", str(file), "--set", "link.rate=9 Mbit/s", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "the newest cell differs in link.rate: 9 Mbit/s and 3 Mbit/s" in outcome.err
    outcome = aqmlab("report", "--set", "link.rate=9 Mbit/s", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    with pytest.raises(lab.SpecError, match="experiment: cannot be with cells"):
        lab.report("abc", experiment=experiment, out=tmp_path)
    # The uncongested network alone has a report as well.
    assert lab.report(compared.results[0].location.name, out=tmp_path, to=tmp_path / "r.html").is_file()


def test_many_differences_are_counted() -> None:
    first, second = (
        lab.Experiment(link={"rate": rate, "delay": delay}, users={"per_side": n}, protocol={"duration": duration})
        for rate, delay, n, duration in (("2 Mbit/s", "5 ms", 4, "2 s"), ("3 Mbit/s", "6 ms", 5, "3 s"))
    )
    specs = [cells_of(experiment, [1])[0].resolved for experiment in (first, second)]
    assert set(differences(specs)) == {"link.rate", "link.delay", "users.per_side", "protocol.duration"}
    assert differences_text(differences(specs)).endswith("; and 1 more")


def test_documented_queries_never_average_over_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    experiments = {run(tmp_path / "results", link={"rate": rate}).cell.experiment for rate in ("2 Mbit/s", "3 Mbit/s")}
    text = (Path(__file__).parents[2] / "docs" / "guide" / "results.md").read_text(encoding="utf-8")
    (query, _) = re.findall(r"^```sql\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    by_duckdb = duckdb.connect().sql(query).pl()
    (query,) = re.findall(r"^\w+ = \(?\s*store\.scan.*?\.collect\(\)\)$", text, re.DOTALL | re.MULTILINE)
    scope: dict[str, Any] = {"store": lab.Store("results"), "pl": pl, "print": lambda frame: scope.update(frame=frame)}
    exec(query, scope)
    for frame in (by_duckdb, scope["frame"]):
        assert set(frame["experiment"]) == experiments
        assert frame.height == 4


def test_documented_queries_of_the_spec_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for congestion in ("cubic", "reno"):
        run(tmp_path / "results", tcp={"profile": "linux-6", "congestion": congestion})
    text = (Path(__file__).parents[2] / "docs" / "guide" / "results.md").read_text(encoding="utf-8")
    (_, query) = re.findall(r"^```sql\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    by_duckdb = duckdb.connect().sql(query).pl()
    (query,) = re.findall(r"^congestion = .*?\n(?=print)", text, re.DOTALL | re.MULTILINE)
    scope: dict[str, Any] = {"store": lab.Store("results"), "pl": pl}
    exec(query, scope)
    by_polars = scope["by_congestion"].sort("experiment", "label")
    assert set(by_duckdb["congestion"]) == {"cubic", "reno"}
    assert by_duckdb.select("experiment", "congestion", "label").equals(by_polars.drop("loss_percent"))
    assert by_duckdb["loss_percent"].to_list() == pytest.approx(by_polars["loss_percent"].to_list())
