"""``aqmlab tc``: a scheme as commands of Linux's ``tc``."""

from __future__ import annotations

from aqmlab.cli.app import App
from aqmlab.cli.options import Changes, Json, SpecAndScheme, spec_and_scheme
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command("tc", options_metavar="[OPTIONS]")
def tc(
    given: SpecAndScheme,
    changes: Changes = None,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Print a scheme as commands of Linux's tc.

    The rates and the overhead are those of the experiment's link. Packets from the provider pass an intermediate device
    (IFB). To read a line of tc, write it after compare --tc.

    Example: aqmlab tc examples/home-link.toml "cake:bandwidth=18 Mbit/s,link_layer=docsis"
    """
    from aqmlab.spec import schemes
    from aqmlab.spec.experiment import Experiment
    from aqmlab.tc.commands import commands, planned_cell

    check_table(file)
    spec, scheme = spec_and_scheme(given)
    experiment = Experiment.from_toml(spec, changes=changes or ())
    result = commands(planned_cell(schemes.parse(scheme).apply_to(experiment)))
    write_table(result.frame(), file)
    if as_json:
        print_json(result.record())
    else:
        print(result)
