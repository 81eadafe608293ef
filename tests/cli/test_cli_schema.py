from __future__ import annotations

import json
import tomllib
from pathlib import Path

import aqmlab as lab
from conftest import Command
from json_schema import admits

EXAMPLE = Path(__file__).parents[2] / "examples" / "home-link.toml"


def test_the_printed_schema_is_the_experiments_schema(aqmlab: Command) -> None:
    outcome = aqmlab("schema")
    record = json.loads(outcome.out)
    assert outcome.code == 0
    assert record == lab.Experiment.model_json_schema()
    assert record["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert admits(record, tomllib.loads(EXAMPLE.read_text(encoding="utf-8")), record)


def test_a_spec_may_name_the_schema_in_its_first_line(aqmlab: Command, tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text("#:schema aqmlab.schema.json\n" + EXAMPLE.read_text(encoding="utf-8"))
    assert json.loads(aqmlab("show", str(file), "--json").out)["spec"]["link"]


def test_an_argument_without_a_schema_is_refused_in_one_line(aqmlab: Command) -> None:
    outcome = aqmlab("schema", "link")
    assert outcome.code == 2
    assert "link" in outcome.err
    assert outcome.out == ""
