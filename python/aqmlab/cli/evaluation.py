"""``aqmlab study rfc9743``: the evaluation of a congestion control, with its table, record and page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.cli.cells import run_cells
from aqmlab.cli.options import read_seeds
from aqmlab.cli.output import check_directory, one_line_errors, print_json
from aqmlab.cli.tables import write_table

NAME = "rfc9743"
"""The name of the evaluation, where ``aqmlab study`` takes that of a study."""

_SEEDS = {"quick": range(1, 4), "default": range(1, 11), "full": range(1, 21)}
"""The seeds of each length."""


def evaluate(
    control: str | None,
    *,
    clauses: Sequence[str],
    changes: Sequence[str],
    length: str,
    seeds: str | None,
    workers: int | None,
    out: str,
    pages: Path | None,
    file: Path | None,
    as_json: bool,
) -> None:
    """Evaluate a congestion control, write its page, and print the table or the record.

    Raises
    ------
    SpecError
        When an option is not accepted.
    """
    from aqmlab.evaluation import page, plan, table
    from aqmlab.storage.location import location
    from aqmlab.storage.marker import folder_for_users
    from aqmlab.ui import console
    from aqmlab.ui.extras import require

    require("report")
    chosen_seeds = _SEEDS[length] if seeds is None else read_seeds(seeds)
    evaluation = plan(control, clauses=clauses, changes=changes, seeds=chosen_seeds)
    if pages is not None:
        check_directory("--pages", pages)
    directory = pages or folder_for_users(location(out), "studies")
    outcomes = evaluation.run(lambda cells: run_cells(cells, out, workers))
    write_table(table.frame(outcomes), file)
    with one_line_errors():
        written = page.write(evaluation, outcomes, directory)
    if as_json:
        print_json(
            {
                "document": evaluation.document.title,
                "text": evaluation.document.text,
                "control": evaluation.control,
                "changes": list(evaluation.changes),
                "seeds": list(evaluation.seeds),
                "clauses": [outcome.record() for outcome in outcomes],
                "page": str(written),
            }
        )
        return
    console.show(table.table(outcomes))
    print(table.summary(outcomes))
    print(written)


def refuse_others(options: dict[str, bool], *, name: str) -> None:
    """Refuse options that a study does not have.

    Raises
    ------
    SpecError
        When one is given.
    """
    for option, is_given in options.items():
        if is_given:
            raise SpecError(f"{option}: cannot be with {name}")
