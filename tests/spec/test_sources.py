from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab

COLUMNS = {"start_seconds": [1.0, 2.0], "side": [0, 1], "request_bytes": [300, 300], "response_bytes": [1000, 70_000]}


def experiment(*sources: dict[str, Any]) -> lab.Experiment:
    return lab.Experiment(
        link={"rate": "10 Mbit/s"},
        users={"per_side": 0},
        sources=sources,
        protocol={"warmup": "0 s", "duration": "20 s"},
        record={"exchanges": True},
    )


@pytest.mark.parametrize("write", [pl.DataFrame.write_csv, pl.DataFrame.write_parquet])
def test_transfers_of_a_file_are_those_of_its_columns(
    tmp_path: Path, write: Callable[[pl.DataFrame, Path], None]
) -> None:
    file = tmp_path / f"transfers.{'csv' if write is pl.DataFrame.write_csv else 'parquet'}"
    write(pl.DataFrame({**COLUMNS, "rtt_ms": [40, 20]}), file)
    read = experiment({"trace": {"file": str(file)}})
    assert read.sources == ({"trace": {**COLUMNS, "rtt_ms": [40, 20]}},)
    exchanges = lab.run(read, seed=1, out=tmp_path / "results").exchanges
    assert exchanges["response_bytes"].to_list() == [1000, 70_000]
    assert exchanges["source"].to_list() == [1, 1]


def test_a_file_of_a_spec_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("0.5 0 1 4000\n")
    spec = tmp_path / "spec.toml"
    spec.write_text('[[sources]]\npair_trace = {file = "pairs.txt", rtt = ["10 ms", "20 ms"]}\n')
    (source,) = lab.Experiment.from_toml(spec).sources
    assert source == {"pair_trace": {"text": "0.5 0 1 4000\n", "rtt": ["10 ms", "20 ms"]}}


def test_the_result_tells_of_each_source(tmp_path: Path) -> None:
    sources = ({"bulk": {"flows": 1}}, {"datagrams": {"rate": "100 kbit/s", "name": "voice"}})
    result = lab.run(experiment(*sources), seed=1, out=tmp_path)
    bulk, voice = result.record()["sources"]
    assert bulk["name"] == "bulk"
    assert bulk["goodput_mbps"] > 1
    assert voice["datagrams"]["sent"] > 100
    assert f"source:    voice: {1000 * voice['goodput_mbps']:.1f} kbit/s" in repr(result)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ("bulk", "sources: must be a list of tables, such as"),
        ([{}], "sources[0]: must be a table of exactly one kind of source"),
        ([{"bulk": {"flows": 0}}], "sources[0].bulk.flows: must be between 1 and 1000000, got 0"),
        (
            [{"bulk": {"flows": 1, "name": "two\nlines"}}],
            "sources[0].bulk.name: must have 1 to 100 characters, not all spaces",
        ),
        ([{"bulk": {"flows": 1, "name": " "}}], "sources[0].bulk.name: must have 1 to 100 characters, not all spaces"),
        (
            [{"bulk": {"flows": 1, "name": "x" * 101}}],
            "sources[0].bulk.name: must have 1 to 100 characters, not all spaces",
        ),
        ([{"bulk": {"file": "x"}}], "sources[0].bulk.file: only trace, pair_trace, tmix, video are read from a file"),
        ([{"trace": {"file": "x.txt"}}], "sources[0].trace.file: must end in .csv or .parquet, got x.txt"),
        ([{"trace": {"file": "."}}], "sources[0].trace.file: must end in .csv or .parquet, got ."),
        ([{"trace": {"file": 7}}], "sources[0].trace.file: must be the name of a file, got 7"),
        ([{"trace": {"file": "none.csv"}}], "sources[0].trace.file: none.csv cannot be read"),
        ([{"tmix": {"file": "none"}}], "sources[0].tmix.file: none cannot be read: No such file or directory"),
    ],
)
def test_mistakes_are_told_in_one_line(sources: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError) as refusal:
        lab.run(lab.Experiment(users={"per_side": 0}, sources=sources), seed=1, out=tmp_path)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"side": None}, "must have the columns start_seconds, side, request_bytes, response_bytes; it lacks side"),
        ({"colour": [1, 2]}, "has a column 'colour'; besides start_seconds, "),
        ({"side": [True, False]}, "transfers.csv: the column side must hold numbers, got Boolean"),
        ({"side": ["0", "right"]}, "transfers.csv, row 2: side must be a number, got 'right'"),
        ({"side": [0, None]}, "transfers.csv, row 2: side must have a value"),
        ({name: [] for name in COLUMNS}, "transfers.csv must have at least one row, got only a header"),
        ({"start_seconds": [1.0, -2.0]}, "transfers.csv, row 2: start_seconds: must be between 0 and 10000000, got -2"),
    ],
)
def test_mistakes_in_a_file_are_told_with_its_name(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "transfers.csv"
    pl.DataFrame({k: v for k, v in {**COLUMNS, **change}.items() if v is not None}).write_csv(file)
    with pytest.raises(lab.SpecError) as refusal:
        experiment({"trace": {"file": str(file)}})
    assert message in str(refusal.value)
    assert "transfers.csv" in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "keys", "text", "message"),
    [
        (
            "pair_trace",
            {"rtt": ["1 ms", "2 ms"]},
            "1 0 1 40\n1 0 2 40\n",
            "line 2: pair must be a number between 0 and 1",
        ),
        ("tmix", {}, "SEQ 1 2 3\n", "line 1: "),
    ],
)
def test_a_mistake_in_a_text_has_its_file_and_line(
    kind: str, keys: dict[str, Any], text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "recorded.txt"
    file.write_text(text)
    with pytest.raises(lab.SpecError) as refusal:
        experiment({kind: {"file": str(file), **keys}})
    assert str(refusal.value).startswith(f"sources[0].{kind}.file: {file}, {message}")


MANIFEST = {"segment_duration_ms": 2000, "bitrates_kbps": [500, 1000], "segment_sizes_bits": [[8, 16], [24, 33]]}


def test_a_manifest_has_segment_ladder_and_sizes(tmp_path: Path) -> None:
    file = tmp_path / "film.json"
    file.write_text(json.dumps(MANIFEST))
    (source,) = experiment({"video": {"file": str(file), "flows": 1}}).sources
    expected = {"segment": "2000.0 ms", "ladder": ["500.0 kbit/s", "1000.0 kbit/s"], "sizes": [[1, 2], [3, 5]]}
    assert source == {"video": {**expected, "flows": 1}}


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        ("{", {}, "film.json is not JSON of numbers: "),
        ("[]", {}, "film.json must have a number segment_duration_ms, a list bitrates_kbps and a list of lists"),
        ("{}", {}, "film.json lacks segment_sizes_bits"),
        ("[" * 100_000, {}, "film.json must have a number segment_duration_ms"),
        (json.dumps({**MANIFEST, "segment_sizes_bits": [[8, "x"]]}), {}, "film.json must have a number"),
        (
            json.dumps({**MANIFEST, "segment_sizes_bits": [[8, 8], [8]]}),
            {},
            "film.json, row 2: sizes: must have 2",
        ),
        (json.dumps(MANIFEST), {"segment": "4 s"}, "film.json has segment, which must be absent from the spec"),
    ],
)
def test_mistakes_in_a_manifest_are_told_with_its_name(
    text: str, keys: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "film.json"
    file.write_text(text)
    with pytest.raises(lab.SpecError) as refusal:
        experiment({"video": {"file": str(file), "flows": 1, **keys}})
    assert message in str(refusal.value)
