"""``aqmlab schema``: the JSON Schema of a spec, for editors."""

from __future__ import annotations

from aqmlab.cli.app import App
from aqmlab.cli.output import print_json

app = App()


@app.command()
def schema() -> None:
    """Print the JSON Schema of a spec.

    It has types, defaults, ranges and meanings of all keys. Store it next to your spec, and begin the spec with the
    line "#:schema aqmlab.schema.json". An editor that supports TOML (taplo, or Even Better TOML) then completes and
    checks the spec.

    Example: aqmlab schema > aqmlab.schema.json
    """
    from aqmlab.spec.experiment import Experiment

    print_json(Experiment.model_json_schema())
