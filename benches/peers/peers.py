"""aqmlab side by side with ns-2 and ns-3: speed on one core, and whether they agree.

`make bench-peers` runs what is here, one program at a time, and prints tables; benches/peers/README.md says what is
compared and how to read it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import arrivals
import measure
import programs
import report
import scenario
from aqmlab.ui import console
from scenario import Case

WORK = Path(__file__).parents[2] / "target" / "peers"
"""The directory of traces, compiled drivers and outputs."""

SEED = 1


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="peers.py", description=__doc__)
    parser.add_argument("case", nargs="*", help="only cases whose name has one of these in it, such as 'web 90 red'")
    parser.add_argument("--list", action="store_true", help="list the cases and end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers, case by case; keep those there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as Markdown")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="replay DIR/90.txt and DIR/98.txt, not drawn ones")
    return parser


def chosen(names: Sequence[str]) -> list[Case]:
    """Return the cases asked for; all when none is named."""
    cases = scenario.cases()
    for name in names:
        if not any(name in case.name for case in cases):
            raise SystemExit(f"peers: no case has {name!r} in its name; --list names them")
    return [case for case in cases if not names or any(name in case.name for name in names)]


def traces(cases: Sequence[Case], directory: Path | None) -> dict[int, str]:
    """Draw or read the trace of each load that is needed."""
    loads = sorted({case.load_percent for case in cases if case.load_percent is not None})
    if directory is not None:
        return {load: arrivals.read(directory / f"{load}.txt") for load in loads}
    generated = ((load, arrivals.generate(scenario.PER_SECOND[load], scenario.TRACE_S, SEED)) for load in loads)
    return {load: arrivals.to_text(transfers) for load, transfers in generated}


def saved(file: Path | None) -> list[dict[str, Any]]:
    """Return the cases that an earlier run has left, so that one that was interrupted can go on."""
    if file is None or not file.exists():
        return []
    try:
        cases: list[dict[str, Any]] = json.loads(file.read_text())["cases"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SystemExit(f"peers: {file} is there and not what an earlier run has written") from None
    return cases


def run(cases: Sequence[Case], traces: dict[int, str], peers: list[str], save: Path | None) -> dict[str, Any]:
    """Run the cases in turn but those that are saved. What a program fails at is said and left out."""
    results: dict[str, Any] = {"versions": programs.versions(peers), "cases": saved(save), "failed": []}
    have = {record["case"] for record in results["cases"]}
    cases = [case for case in cases if case.name not in have]
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(cases))
        for case in cases:
            began = time.monotonic()
            trace = "" if case.load_percent is None else traces[case.load_percent]

            def watch(program: str, name: str = case.name) -> None:
                progress.update(task, description=f"{name}: {program}")

            try:
                results["cases"].append(measure.measure(case, peers, trace, WORK, watch))
                summary = f"{case.name}: {time.monotonic() - began:.0f} s"
            except programs.Failed as failed:
                results["failed"].append(str(failed))
                summary = f"peers: {failed}"
            progress.advance(task)
            console.print(summary, highlight=False)
            if save:
                save.write_text(json.dumps(results, indent=2) + "\n")
    return results


def main() -> None:
    """Run, print, and write what was asked for."""
    arguments = parser().parse_args()
    cases = chosen(arguments.case)
    if arguments.list:
        print("\n".join(f"{case.name}: aqmlab, {', '.join(case.peers)}" for case in cases))
        return
    by_load = traces(cases, arguments.traces)
    missing = programs.missing()
    for line in missing.values():
        print(line)
    peers = [peer for peer in programs.DEBIAN if peer not in missing]
    if not peers:
        raise SystemExit("peers: neither ns-2 nor ns-3 is here: there is nothing to compare with")
    WORK.mkdir(parents=True, exist_ok=True)
    if "ns-3" in peers:
        try:
            programs.build(WORK)
        except programs.Failed as failed:
            raise SystemExit(f"peers: ns-3's drivers do not compile: {failed}") from None
    results = run(cases, by_load, peers, arguments.json)
    sheets = report.sheets(results["cases"])
    print("\n".join(f"{name}: {version}" for name, version in results["versions"].items()))
    for sheet in sheets:
        console.show(report.to_table(sheet))
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(map(report.to_markdown, sheets)))
    if results["failed"]:
        raise SystemExit("\n".join(f"peers: {line}" for line in results["failed"]))


if __name__ == "__main__":
    main()
