"""The report: what it is about, that its figures and sentences are the results', and that it is safe to open."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import aqmlab as lab
from aqmlab.explain import by_band
from aqmlab.report import again, said, series
from aqmlab.report.charts import MEASURES, charts
from aqmlab.report.gathered import Choice, Gathered, gather
from aqmlab.report.page import html
from aqmlab.report.pen import Pen
from aqmlab.results import over_time, table
from aqmlab.results.compare import Comparison, comparison_cells
from aqmlab.results.measures.slowdown import slowdowns
from aqmlab.running.cell import cells_of
from aqmlab.running.store import Store
from aqmlab.running.sweep import sweep
from conftest import Command, Write

SCHEMES = ("droptail:limit=20", "pie:ecn=true", "codel")
HOSTILE = "<script>alert(1)</script>\"'&\u202e\u2028</style>"
LONG = "x" * 10_000


def experiment(**parts: Any) -> lab.Experiment:
    return lab.Experiment(
        **{
            "link": {"rate": "10 Mbit/s"},
            "users": {"per_side": 1200},
            "protocol": {"warmup": "2 s", "duration": "10 s"},
            **parts,
        }
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two other comparisons, and then one of three schemes with three seeds: the newest."""
    folder = tmp_path_factory.mktemp("store")
    lab.compare("codel", experiment=experiment(users={"per_side": 50}), seeds=[1], baseline=False, out=folder)
    shorter = experiment(protocol={"warmup": "2 s", "duration": "3 s"})
    lab.compare("codel", experiment=shorter, seeds=[4], out=folder)
    lab.compare(*SCHEMES, experiment=experiment(), seeds=[1, 2, 3], out=folder, workers=1)
    return folder


@pytest.fixture(scope="module")
def gathered(out: Path) -> Gathered:
    return gather(out, Choice())


@pytest.fixture(scope="module")
def page(gathered: Gathered) -> Page:
    return Page(html(gathered))


class Page(HTMLParser):
    """A page as a browser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.whole = text
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "script":
            self.scripts[-1] += data
        elif self._within != "style":
            self.text += data

    @property
    def policy(self) -> dict[str, list[str]]:
        (policy,) = (attrs["content"] for _, attrs in self.tags if attrs.get("http-equiv") == "Content-Security-Policy")
        assert policy is not None
        return {name: values for name, *values in (part.split() for part in policy.split(";"))}

    @property
    def data(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.scripts[0])
        return read


def fields(spec: Any) -> Iterator[str]:
    """Find the fields that a spec draws or tells."""
    if isinstance(spec, dict):
        if isinstance(field := spec.get("field"), str):
            yield field
        for value in spec.values():
            yield from fields(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from fields(value)


def test_without_cells_it_is_about_the_newest_comparison(out: Path, gathered: Gathered) -> None:
    assert list(gathered.by_label) == ["uncongested", *SCHEMES]
    assert {cell.cell.users_per_side for cell in gathered.valid} == {1200}
    assert all([each.cell.seed for each in results] == [1, 2, 3] for results in gathered.by_label.values())


def test_cells_are_chosen_by_key_scheme_seed_and_load(out: Path, gathered: Gathered) -> None:
    of_codel = gathered.by_label["codel"]
    keys = [each.directory.name for each in of_codel]
    for named in (keys[0][:12], str(of_codel[0].directory), f"{of_codel[0].directory}/"):
        assert [each.directory.name for each in gather(out, Choice(cells=[named])).valid] == keys[:1]
    assert list(gather(out, Choice(schemes=["pie"])).by_label) == ["uncongested", "pie:ecn=true"]
    assert {each.cell.seed for each in gather(out, Choice(seeds=range(2, 4))).valid} == {2, 3}
    load = Store(out).cells().filter(users_per_side=50)["load_percent"][0]
    assert [each.cell.users_per_side for each in gather(out, Choice(load=load)).valid] == [50]


def test_the_first_scheme_that_is_asked_for_is_the_one_that_others_are_compared_with(out: Path) -> None:
    named = gather(out, Choice(schemes=["codel", "droptail"]))
    assert named.labels == ["codel", "droptail:limit=20"]
    assert {scheme["paired"]["to"] for scheme in named.schemes if "paired" in scheme} == {"codel"}


def test_sentences_tell_what_is_significant_and_only_that(gathered: Gathered) -> None:
    sentences = [
        each for each in said.answer(gathered, {label: label for label in gathered.by_label}) if "Beside" in each
    ]
    for sentence, share in zip(sentences, ("p50", "p90"), strict=True):
        told, _, not_told = sentence.partition("no difference can be told for")
        for scheme in gathered.schemes:
            if "paired" in scheme:
                is_told = scheme["paired"]["p_holm"]["response_time_ms"][share] < 0.05
                assert scheme["label"] in (told if is_told else not_told)
                assert scheme["label"] not in (not_told if is_told else told)


def test_the_difference_is_of_seeds_that_all_have(out: Path, gathered: Gathered) -> None:
    keys = [each.directory.name for each in gathered.valid if (each.cell.label, each.cell.seed) != ("codel", 2)]
    some = gather(out, Choice(cells=keys))
    assert all([each.cell.seed for each in results] == [1, 3] for results in some.pairs.values())
    two = Comparison(tuple(each for each in some.valid if each.cell.seed != 2), paired=True).schemes
    assert [each.get("paired") for each in some.schemes] == [each.get("paired") for each in two]
    assert any("different seeds" in note for note in said.notes(some))


def test_each_figure_has_data_and_draws_no_field_that_it_lacks(gathered: Gathered) -> None:
    drawn = charts(gathered, Pen(list(gathered.by_label)))
    names = [chart.name for chart in drawn]
    assert names[:5] == ["response-times", "difference", "sizes", "delay", "probability"]
    assert set(names[5:]) == {"density", *(measure.replace("_", "-") for measure in MEASURES)}
    for chart in drawn:
        rows = chart.record()["rows"]
        assert rows
        for view in chart.views.values():
            used = set(fields(view)) - {"at"}
            assert used <= rows[0].keys(), chart.name
            assert "scheme" in used
            assert "null" not in json.dumps([[row[field] for field in used] for row in rows]), chart.name


def test_distributions_are_points_of_those_of_compare(gathered: Gathered) -> None:
    for label, results in gathered.by_label.items():
        points = series.distribution(results).select("time_ms", fraction=pl.col("within") / 100)
        whole = gathered.comparison.response_times()[label]
        close = points.join_asof(whole, on="time_ms", strategy="nearest", tolerance=1e-9)
        assert np.allclose(close["fraction"], close["fraction_right"], rtol=1e-12)
        assert whole["time_ms"].max() == points["time_ms"].max()
        assert 30 < len(points) < len(whole)


def test_bars_are_the_means_of_compare_with_their_intervals(gathered: Gathered) -> None:
    for scheme in gathered.comparison.schemes:
        for measure in MEASURES:
            row = gathered.comparison.intervals(measure)[scheme["label"]].row(0, named=True)
            assert row["mean"] == pytest.approx(scheme[measure])
            half = 4.302653 * scheme["sd"][measure] / 3**0.5
            assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-5)
            assert row["low"] == pytest.approx(max(0, scheme[measure] - half), rel=1e-5)


@pytest.mark.parametrize("name", ["loss", "response_time_ms", "response_time_ms.p33", "loss_percent.mean"])
def test_an_interval_of_what_is_not_measured_is_refused(gathered: Gathered, name: str) -> None:
    with pytest.raises(lab.SpecError, match=r"^measure: must be"):
        gathered.comparison.intervals(name)


def test_the_difference_of_distributions_is_that_of_compare_with_its_band(gathered: Gathered) -> None:
    assert gathered.paired is not None
    drawn = {chart.name: chart for chart in charts(gathered, Pen(list(gathered.by_label)))}["difference"]
    for label, band in gathered.paired.response_time_differences().items():
        rows = drawn.rows.filter(scheme=label)
        assert np.allclose(rows["more"], 100 * band["difference"], rtol=1e-5)
        assert np.allclose(rows["low"], np.maximum(100 * band["low"], -100), rtol=1e-5)
        assert np.allclose(rows["high"], np.minimum(100 * band["high"], 100), rtol=1e-5)
    assert {"low", "high"} <= set(fields(drawn.views))


def test_thinning_a_queue_loses_no_extreme(gathered: Gathered) -> None:
    result = gathered.by_label["pie:ecn=true"][0]
    thin, queue = over_time.thinned(result), result.queue
    assert len(thin) <= 2 * over_time.BINS < len(queue)
    for way in (0, 1):
        of_way, whole = thin.filter(direction=way), queue.filter(direction=way)
        assert of_way["probability_high"].max() == whole["p"].max()
        assert of_way["probability_low"].min() == whole["p"].min()
        wire = 8e3 * (whole["bytes"] + whole["packets"] * 38) / 10e6
        assert of_way["delay_ms_high"].max() == pytest.approx(wire.max())


def test_a_density_has_every_request_once(gathered: Gathered) -> None:
    for results in gathered.by_label.values():
        cells = series.density(results)
        assert cells["percent"].sum() == pytest.approx(100)
        assert cells.select("bytes", "time_ms").is_unique().all()
        every = pl.concat(each.response_time_bins for each in results)
        fast = every.filter(pl.col("time_low_ms") < 100).select(pl.col("count").sum() / every["count"].sum()).item()
        assert cells.filter(pl.col("time_ms") < 99.9)["percent"].sum() == pytest.approx(100 * fast)


def test_the_slowdown_is_shown_where_a_row_for_each_request_was_kept(tmp_path: Path) -> None:
    lab.compare("codel", experiment=experiment(record={"exchanges": True}), seeds=[1, 2], out=tmp_path)
    recorded = gather(tmp_path, Choice())
    drawn = {chart.name: chart for chart in charts(recorded, Pen(list(recorded.by_label)))}
    rows = drawn["slowdown"].rows
    assert set(rows["scheme"]) == {"codel"}
    assert (rows["p50"] >= 1).all()
    every = pl.concat(slowdowns(*pair) for pair in zip(*reversed(recorded.by_label.values()), strict=True))
    of_octave = every.filter(pl.col("response_bytes").is_between(1024, 2047))["slowdown"]
    (row,) = rows.filter(pl.col("bytes").is_between(1024, 2047)).to_dicts()
    assert row["requests"] == len(of_octave)
    assert row["p50"] == pytest.approx(of_octave.median(), rel=1e-5)


def test_where_the_time_went_is_what_explain_says_and_adds_up(out: Path, tmp_path: Path) -> None:
    file = lab.report(out=out, to=tmp_path / "report.html", schemes=["codel"], seeds=[1, 3], explain=True)
    page = Page(file.read_text(encoding="utf-8"))
    rows = pl.DataFrame(page.data["charts"]["parts"]["rows"])
    cells = gather(out, Choice(schemes=["codel"], seeds=[1, 3])).by_label
    for label, results in cells.items():
        told = pl.concat(by_band(lab.explain(each.directory).requests) for each in results)
        for band in ("mean", "p50", "p90", "p99"):
            means = told.filter(band=band).mean().row(0, named=True)
            mine = rows.filter(scheme=label, band=band)
            assert mine["ms"].sum() == pytest.approx(means["response_time_ms"], rel=1e-4)
            assert mine.filter(part="queueing")["ms"].item() == pytest.approx(means["queueing"], rel=1e-4)
    assert list(page.data["charts"]["parts"]["views"]) == ["all requests", "around p50", "around p90", "around p99"]
    assert "Where the time of web users' requests went, ms" in page.text
    assert rows.sort("place")["part"].unique(maintain_order=True)[0] == "handshake"


def test_a_live_run_is_not_explained(out: Path, tmp_path: Path) -> None:
    doctored = tmp_path / "store"
    shutil.copytree(out, doctored)
    cell = gather(doctored, Choice()).by_label["codel"][0].directory
    metadata = json.loads((cell / "metadata.json").read_text())
    (cell / "metadata.json").write_text(json.dumps({**metadata, "live": {"valid": True}}))
    with pytest.raises(lab.SpecError, match="is a live run, which cannot be made again"):
        lab.report(out=doctored, to=tmp_path / "r.html", explain=True)
    assert not (tmp_path / "r.html").exists()


def test_tables_and_sentences_have_the_numbers_of_compare(gathered: Gathered, page: Page) -> None:
    paired = Comparison(tuple(each for each in gathered.valid), paired=True).schemes
    assert [each.get("paired") for each in gathered.schemes] == [each.get("paired") for each in paired]
    for part in table.parts(paired):
        for cells in part.cells():
            assert all(number in page.text for number, _ in cells)
    best = min(gathered.schemes[1:], key=lambda scheme: scheme["response_time_ms"]["p90"])
    (sentence,) = re.findall(r"The 90th percentile is [\d,.]+ ms under .*? \(", page.text)
    assert f"under {best['label']} (" in sentence
    told = float(re.findall(r"is ([\d,.]+) ms", sentence)[0].replace(",", ""))
    assert told == pytest.approx(best["response_time_ms"]["p90"], rel=0.005)


@pytest.mark.parametrize("order", [("droptail", "pie", "codel"), ("pie", "codel", "droptail")])
def test_commands_and_files_make_the_same_cells_again(out: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    gathered = gather(out, Choice(schemes=order))
    (step,) = again.steps(gathered)
    (tmp_path / step.file).write_text(step.spec)
    assert step.commands == [f"aqmlab compare experiment.toml {' '.join(gathered.labels)} --seeds 1-3"]
    made = comparison_cells(gathered.labels, lab.Experiment.from_toml(tmp_path / step.file), [1, 2, 3], {})
    assert {cell.key for cell in made} == {each.directory.name for each in gathered.valid}


def test_where_no_comparison_makes_the_same_cells_each_scheme_has_its_file(gathered: Gathered, tmp_path: Path) -> None:
    results = gathered.by_label["codel"]
    strange = Gathered(tuple(replace(each, cell=replace(each.cell, label="my own")) for each in results), ())
    (step,) = again.steps(strange)
    (tmp_path / step.file).write_text(step.spec)
    assert step.commands == [f"aqmlab run 1.toml --seed {seed}" for seed in (1, 2, 3)]
    (cell,) = cells_of(lab.Experiment.from_toml(tmp_path / step.file), [1])
    assert cell.key == results[0].directory.name


def test_no_module_is_imported_because_a_cell_has_its_name(
    gathered: Gathered, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(file.parent)
    results = gathered.by_label["codel"]
    steps = again.steps(
        Gathered(tuple(replace(each, cell=replace(each.cell, label="my_module:Law")) for each in results), ())
    )
    assert [step.file for step in steps] == ["1.toml"]


def test_the_page_can_ask_no_network_and_runs_no_script_but_its_own(page: Page) -> None:
    for _, attrs in page.tags:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert attrs.get(name, "data:,") == "data:,"
        assert not any(name.startswith("on") for name in attrs)
    assert "@import" not in page.whole.partition("</style>")[0]
    assert "url(" not in page.whole.partition("</style>")[0]
    policy = page.policy
    assert policy["default-src"] == ["'none'"]
    assert set(policy) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in page.scripts[1:]]
    assert policy["script-src"] == [f"'sha256-{each}'" for each in hashes]
    assert "url" not in {key for chart in page.data["charts"].values() for key in _keys(chart["views"])}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def test_names_are_shown_as_text(gathered: Gathered) -> None:
    cells = gathered.by_label["codel"][:1]
    labels = (HOSTILE, LONG, LONG + "y", "plain")
    named = tuple(replace(cells[0], cell=replace(cells[0].cell, label=label)) for label in labels)
    hostile = Page(html(Gathered(named, ())))
    assert len(hostile.scripts) == 3
    assert "alert(1)" in json.dumps(hostile.data)
    assert all(character not in hostile.whole for character in ("\u202e", "\u2028"))
    assert "<script>alert(1)</script>\"'&⟨U+202E⟩⟨U+2028⟩</style>" in hostile.text
    assert sum(tag == "style" for tag, _ in hostile.tags) == 1
    assert LONG not in hostile.scripts[0]
    assert len(set(hostile.data["schemes"])) == len(labels)
    assert len(hostile.whole) < 3e6


def test_a_report_of_twenty_schemes_is_below_8_mb(gathered: Gathered) -> None:
    results = gathered.by_label["pie:ecn=true"]
    many = tuple(
        replace(each, cell=replace(each.cell, label=f"{number}: {'n' * 60}"))
        for number in range(20)
        for each in results
    )
    written = html(Gathered(many, ()))
    assert len(written.encode()) < 8e6
    assert len(Page(written).data["charts"]["delay"]["rows"]) > 20 * over_time.BINS


def test_one_seed_has_no_intervals_and_says_so(out: Path) -> None:
    one = gather(out, Choice(seeds=[1]))
    drawn = {chart.name: chart for chart in charts(one, Pen(list(one.by_label)))}
    assert "no band" in drawn["difference"].said
    for name in ("difference", "loss-percent"):
        assert not {"low", "high"} & {field for view in drawn[name].views.values() for field in fields(view)}
    sentences = said.answer(one, {label: label for label in one.by_label})
    assert sentences[-1].startswith("There is one seed")
    times = [sentence for sentence in sentences if sentence.startswith(("The median", "The 90th", "Beside"))]
    assert len(times) == 4
    assert not any("(" in sentence for sentence in times)
    p50 = [one.by_label[label][0].summary["response_time_ms"]["p50"] for label in SCHEMES]
    which = "longer" if p50[2] > p50[0] else "shorter"
    (told,) = re.findall(rf"([\d.,]+) ms {which} under codel", times[1])
    assert float(told.replace(",", "")) == pytest.approx(abs(p50[2] - p50[0]), rel=0.005)


def test_live_runs_that_are_not_valid_are_named_and_count_for_nothing(out: Path, tmp_path: Path) -> None:
    doctored = tmp_path / "store"
    shutil.copytree(out, doctored)
    whole = gather(doctored, Choice())
    bad = whole.by_label["codel"][2].directory
    metadata = json.loads((bad / "metadata.json").read_text())
    verdict = {"valid": False, "invalid_reasons": ["the router was late"]}
    (bad / "metadata.json").write_text(json.dumps({**metadata, "live": verdict}))
    partly = gather(doctored, Choice())
    assert [each.directory for each in partly.invalid] == [bad]
    assert [each.cell.seed for each in partly.by_label["codel"]] == [1, 2]
    page = Page(html(partly))
    assert "seed 3 is not valid and is left out: the router was late." in page.text
    assert "INVALID" in page.text
    with pytest.raises(lab.SpecError, match="not valid"):
        gather(doctored, Choice(cells=[bad.name]))


def test_the_same_cells_give_the_same_file(out: Path, tmp_path: Path, gathered: Gathered) -> None:
    file = lab.report(out=out, to=tmp_path / "a.html")
    assert file.read_text(encoding="utf-8") == html(gathered)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["0123"], "CELL: must be a cell of store, got '0123', which is no cell; aqmlab ls --paths lists them"),
        (["."], "CELL: must be a cell of store, got '.', which is no cell; aqmlab ls --paths lists them"),
        (["--scheme", "red"], "CELL: there is none such in store; aqmlab ls lists those there are"),
        (["--seeds", "x"], "--seeds: must be a number of seeds"),
        (["-o", "nowhere/r.html"], "nowhere/r.html: cannot be written: No such file or directory"),
        (["--out", "nowhere"], "--out: must be a results directory, got nowhere"),
    ],
)
def test_a_mistake_is_one_line(aqmlab: Command, tmp_path: Path, out: Path, arguments: list[str], why: str) -> None:
    (tmp_path / "store").symlink_to(out)
    outcome = aqmlab("report", *([] if "--out" in arguments else ["--out", "store"]), *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"aqmlab: {why}")
    assert outcome.err.count("\n") == 1


def test_the_command_writes_a_file_and_says_where(aqmlab: Command, tmp_path: Path, out: Path) -> None:
    outcome = aqmlab("report", "--out", str(out), "--scheme", "codel", "-o", "r.html")
    assert (outcome.code, outcome.out) == (0, "r.html\n")
    assert Page((tmp_path / "r.html").read_text()).data["schemes"] == ["uncongested", "codel"]


def test_traffic_without_web_users_is_reported_too(tmp_path: Path) -> None:
    datagrams = [{"datagrams": {"rate": "2 Mbit/s", "packet": "1000 B"}}]
    alone = experiment(users={"per_side": 0}, sources=datagrams, link={"rate": "1 Mbit/s"})
    cells = [*cells_of(alone, [1]), *cells_of(alone, [2])]
    sweep(cells, Store(tmp_path))
    without = gather(tmp_path, Choice())
    page = Page(html(without))
    assert "response-times" not in page.data["charts"]
    assert "delay" in page.data["charts"]
    assert "The mean delay in the queue is" in page.text
