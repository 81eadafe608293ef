from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.running.run import run_cell
from aqmlab.store import table
from aqmlab.store.annotations import Annotation, Annotations
from aqmlab.store.store import Store
from aqmlab.ui import console
from conftest import Command
from fixtures.metadata import reseal


class Terminal(io.StringIO):
    """A person who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def out(tmp_path: Path) -> Store:
    """Two cells of PI and one of RED, the first of them made a month ago."""
    store = Store(tmp_path / "results")
    for seed, scheme in ((1, "pi"), (2, "pi"), (1, "red")):
        experiment = lab.Experiment(
            queue={scheme: {}}, users={"per_side": 20}, protocol={"warmup": "0 s", "duration": "2 s"}
        )
        run_cell(cells_of(experiment, [seed], label=f"{scheme}:ecn=false")[0], store)
    old = Path(store.cells()["path"][0])
    reseal(old, created=(datetime.now(UTC) - timedelta(days=30)).isoformat())
    return store


def kept(store: Store) -> list[tuple[str, int]]:
    return list(store.cells().select("scheme", "seed").iter_rows())


def test_ls_has_a_row_for_each_cell_the_newest_last(aqmlab: Command, out: Store) -> None:
    outcome = aqmlab("ls")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines() if ":ecn=false" in line]
    assert [row[:2] for row in rows] == [list(pair) for pair in out.cells().select("cell", "label").iter_rows()]


def test_ls_shows_what_tells_experiments_apart(aqmlab: Command, out: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert "experiment" not in aqmlab("ls").out
    for rate, profile in (("9 Mbit/s", "linux-6"), ("2 Mbit/s", "freebsd-4.5")):
        lab.run(
            lab.Experiment(
                link={"rate": rate},
                tcp={"profile": profile},
                users={"per_side": 20},
                protocol={"warmup": "0 s", "duration": "2 s"},
            )
        )
    head, _, *rows = filter(None, aqmlab("ls").out.splitlines())
    differ = ["rate_mbps", "tcp", "congestion", "experiment"]
    assert [name for name in head.split() if name in table.DISTINGUISHING] == differ
    cells = out.cells()
    for row, cell in zip(rows, cells.iter_rows(named=True), strict=True):
        assert row.split()[-8:-4] == [f"{cell['rate_mbps']:g}", *(cell[name] for name in differ[1:])]


def test_ls_as_json_is_the_frame_of_the_cells(aqmlab: Command, out: Store) -> None:
    rows = json.loads(aqmlab("ls", "results", "--json").out)
    cells = out.cells()
    assert [row["cell"] for row in rows] == cells["cell"].to_list()
    assert list(rows[0]) == cells.columns
    assert [row["loss_percent"] for row in rows] == cells["loss_percent"].to_list()


def test_the_paths_of_ls_go_where_a_cell_is_asked_for(aqmlab: Command, out: Store) -> None:
    path = aqmlab("ls", "--paths").out.splitlines()[-1]
    assert path == f"results/cells/{out.cells()['cell'][-1]}"
    assert aqmlab("explain", path).code == 0


@pytest.mark.parametrize("form", ["{}", "results/cells/{}"])
def test_rm_removes_the_cells_that_are_named(aqmlab: Command, out: Store, form: str) -> None:
    first, *others = out.cells()["cell"]
    assert aqmlab("rm", form.format(first), "--yes").out.startswith("removed 1 cell of results")
    assert out.cells()["cell"].to_list() == others


def test_ls_shows_the_columns_and_the_cells_that_are_asked_for(aqmlab: Command, out: Store) -> None:
    output = aqmlab("ls", "--where", "seed=1", "--where", "scheme!=red", "--columns", "label,seed,link.rate").out
    *_, row = filter(None, output.splitlines())
    assert row.split() == ["pi:ecn=false", "1", *out.cells()["spec"].str.json_path_match("$.link.rate")[0].split()]
    rows = json.loads(aqmlab("ls", "--columns", "cell,created", "--json").out)
    assert [list(row) for row in rows] == [["cell", "created"]] * 3


def test_a_long_list_of_cells_has_the_columns_of_a_short_one(out: Store) -> None:
    row = out.cells().head(1)
    short, long = (table.cells(pl.concat([row] * n)) for n in (1, 1_001))
    assert isinstance(long, str)
    head, first, *_ = long.splitlines()
    lines = list(filter(None, console.render_text(short).splitlines()))
    assert head.split() == lines[0].split()
    assert first.split() == lines[-1].split()


def test_an_empty_store_has_no_cells(aqmlab: Command, tmp_path: Path) -> None:
    assert aqmlab("init").out == "results/aqmlab-store.json\n"
    assert json.loads(aqmlab("ls", "--json").out) == []
    assert aqmlab("ls", "--paths").out == ""
    assert aqmlab("rm", "--scheme", "pi").out == "0 cells of results, 0.0 MB: nothing to remove\n"


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        (["--scheme", "pi"], [("red", 1)]),
        (["--scheme", "red:ecn=false"], [("pi", 1), ("pi", 2)]),
        (["--older-than", "7 d"], [("pi", 2), ("red", 1)]),
        (["--older-than", "60 d"], [("pi", 1), ("pi", 2), ("red", 1)]),
        (["--scheme", "red", "--older-than", "7 d"], [("pi", 1), ("pi", 2), ("red", 1)]),
        (["--where", f"results={_core.results_number()}"], []),
        (["--where", "results=0"], [("pi", 1), ("pi", 2), ("red", 1)]),
        (["--where", "seed>1", "--where", "scheme=pi"], [("pi", 1), ("red", 1)]),
        (["--where", "link.rate!=100 Mbit/s"], [("pi", 1), ("pi", 2), ("red", 1)]),
    ],
)
def test_rm_removes_the_cells_that_are_all_that_is_asked_for(
    aqmlab: Command, out: Store, conditions: list[str], left: list[tuple[str, int]]
) -> None:
    assert aqmlab("rm", *conditions, "--yes").code == 0
    assert kept(out) == left


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 1), ("yes", 0, 1), ("n", 1, 3), ("", 1, 3)])
def test_rm_says_what_and_how_much_and_asks(
    aqmlab: Command,
    out: Store,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    left: int,
) -> None:
    size = sum(out.cells().filter(scheme="pi")["bytes"]) / 1e6
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    outcome = aqmlab("rm", "--scheme", "pi")
    assert f"Remove 2 cells of results, {size:.1f} MB: pi:ecn=false (2)? [y/N] " in outcome.out
    assert outcome.code == code
    assert len(kept(out)) == left


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "missing"], "DIR: must be a results directory, got missing"),
        (["rm", "missing", "--scheme", "pi"], "DIR: must be a results directory, got missing"),
        (["rm"], "rm: must have CELL, --scheme, --older-than or --where"),
        (["rm", "--older-than", "7"], '--older-than: "7": write a unit, such as '),
        (["rm", "--older-than", "7 weeks"], '--older-than: "7 weeks": the unit must be one of '),
        (["rm", "--older-than", "1" + 30 * "0" + " d"], ' d": is too large'),
        (["rm", "--where", "results=many"], "--where: results must be compared with a number, got 'many'"),
        (["rm", "--where", "results"], "--where: write NAME=VALUE, or with !=, <, <=, > or >=, got 'results'"),
        (["rm", "--where", "sed=1"], "--where: no column 'sed' (did you mean 'seed'?); columns are cell, label"),
        (["rm", "--where", "link.rat=1"], "--where: the spec of no cell has link.rat"),
        (["rm", "--where", "label>1"], "--where: label is no number: compare it with = or !="),
        (["rm", "0123456789abcdef"], "CELL: results has no cell 0123456789abcdef"),
        (["rm", "one", "two"], "DIR: must be one directory, got one and two"),
        (["ls", "--columns", "cell,rate"], "--columns: no column 'rate'"),
        (["rm", "--scheme", "pi"], "rm: asks for confirmation, and standard input is not a terminal: add --yes"),
    ],
)
def test_a_mistake_is_one_line_and_removes_nothing(
    aqmlab: Command, out: Store, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    outcome = aqmlab(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("aqmlab: ")
    assert message in line
    assert len(kept(out)) == 3


def test_figures_of_another_comparison_do_not_replace_the_first(aqmlab: Command, tmp_path: Path) -> None:
    short = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "1")
    first = aqmlab("compare", *short, "pi").out.split()[-4:]
    before = {name: (tmp_path / name).read_bytes() for name in first}
    second = aqmlab("compare", *short, "pi:q_ref=30").out.split()[-4:]
    longer = aqmlab("compare", *short, "--set", "link.delay=20 ms", "pi").out.split()[-4:]
    assert len({*first, *second, *longer}) == 12
    assert {name: (tmp_path / name).read_bytes() for name in first} == before
    assert aqmlab("compare", *short, "pi").out.split()[-4:] == first


def test_figures_go_where_they_are_asked_to_or_are_left_out(aqmlab: Command, tmp_path: Path) -> None:
    short = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "1")
    outcome = aqmlab("compare", *short, "--no-figures", "pi")
    assert ".svg" not in outcome.out
    assert list(tmp_path.rglob("*.svg")) == []
    aqmlab("compare", *short, "--figures", "mine", "pi")
    assert {file.parent for file in tmp_path.rglob("*.svg")} == {tmp_path / "mine"}
    assert aqmlab("compare", *short, "--figures", "mine", "--no-figures", "pi").code == 2
    aqmlab("compare", *short[:-1], "2", "--no-baseline", "--paired", "--figures", "pairs", "pi", "codel")
    assert len(list((tmp_path / "pairs").glob("response-times-difference_*"))) == 2


def test_many_long_schemes_have_a_valid_file_name(aqmlab: Command, tmp_path: Path) -> None:
    short = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "1", "--no-baseline")
    schemes = [f"red:min_th={n},max_th={3 * n},w_q=1/512" for n in range(5, 9)]
    outcome = aqmlab("compare", *short, *schemes)
    assert outcome.code == 0
    assert len(list((tmp_path / "results" / "figures").iterdir())) == 4


def test_cells_are_tagged_listed_and_found(aqmlab: Command, out: Store) -> None:
    directory = ("--out", str(out.out))
    pis = out.cells().filter(scheme="pi")["cell"].to_list()
    tagged = aqmlab("tag", "--where", "scheme=pi", "--add", "paper", "--add", "base", "--note", "a\nb", *directory)
    assert tagged.code == 0
    assert Annotations(out.out).load() == {key: Annotation(("paper", "base"), "a\nb") for key in pis}
    assert json.loads(aqmlab("tag", "--json", *directory).out)[0] == {
        "cell": pis[0],
        "scheme": "pi:ecn=false",
        "seed": 1,
        "tags": ["paper", "base"],
        "note": "a\nb",
    }
    assert aqmlab("tag", pis[1][:8], "--remove", "base", "--note", "", *directory).code == 0
    assert Annotations(out.out).load()[pis[1]] == Annotation(("paper",))
    paths = aqmlab("ls", str(out.out), "--tag", "base", "--paths").out.split()
    assert [Path(path).name for path in paths] == [pis[0]]


def test_a_tag_of_an_experiment_finds_all_its_cells(aqmlab: Command, out: Store) -> None:
    (red,) = out.cells().filter(scheme="red")["cell"]
    assert aqmlab("tag", red, "--experiment", "--add", "x", "--out", str(out.out)).code == 0
    listed = {Path(path).name for path in aqmlab("ls", str(out.out), "--tag", "x", "--paths").out.split()}
    cells = out.cells()
    same = cells.filter(pl.col("experiment") == cells.filter(cell=red)["experiment"][0])["cell"]
    assert listed == set(same)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--add", "x"], "tag: must have CELL or --where, got none"),
        (["--where", "scheme=pi", "--add", "a b"], "tag: tags: expected words of at most 40"),
        (["--where", "scheme=pi", "--remove", "x"], "tag: --remove: expected one of no tags, got x"),
    ],
)
def test_a_wrong_tag_is_one_line(aqmlab: Command, out: Store, options: list[str], message: str) -> None:
    refused = aqmlab("tag", *options, "--out", str(out.out))
    assert refused.code == 2
    assert refused.err.startswith(message) or message in refused.err.splitlines()[0]
    assert Annotations(out.out).load() == {}
