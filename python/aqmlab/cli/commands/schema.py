"""``aqmlab schema``: the JSON Schema of a spec, for editors."""

from __future__ import annotations

from aqmlab.cli.app import App
from aqmlab.cli.output import print_json

app = App()


@app.command()
def schema() -> None:
    """Print the JSON Schema of a spec.

    It has types, defaults, ranges and meanings of all keys. An editor that supports TOML (taplo, or Even Better TOML)
    completes and checks a spec whose first line is "#:schema aqmlab.schema.json", if this file is in its directory.

    Example: aqmlab schema > aqmlab.schema.json
    """
    from aqmlab.spec.experiment import Experiment

    print_json(Experiment.model_json_schema())
