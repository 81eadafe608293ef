"""The map behind ``aqmlab advise``: every candidate on many kinds of links, under the same users.

``make advice-map`` runs this module. It resumes from the store. The points of a smaller map are the first of a larger
one. ``--only cable`` computes the links of some kinds, and takes the others from the map.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from aqmlab import _core
from aqmlab.advice.access_link import CONSTANT, AccessLink
from aqmlab.advice.advice import rankings
from aqmlab.advice.candidates import CANDIDATES
from aqmlab.advice.survey import (
    KIND_LINKS,
    KIND_SPACE,
    KINDS,
    MEASURES,
    PROVENANCE,
    SPACE,
    Survey,
    link_at,
    link_of_kind,
    measure_values,
    position,
    read_survey,
)
from aqmlab.campaigns.axes import Samples
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running.sweep import sweep
from aqmlab.spec import schemes
from aqmlab.store.store import Store

_BITS = 4e9
"""Capacity of a link over a run, both directions together.

It is half a million packets of 1 kB: a quarter of a second of processor time.
"""

_MIN_S, _MAX_S = 30.0, 240.0
"""Bounds of a run's length; a fast link needs the minimum to open its congestion windows."""

_WARMUP = 0.25
"""Warm-up as a share of a run."""


_NEIGHBOUR_COUNTS = (2, 4, 8, 16, 32)
"""Numbers of neighbouring links to try for the advice about a link."""


def main() -> None:
    """Run the cells that are missing, and write the map."""
    parser = argparse.ArgumentParser(description="Write the map of aqmlab advise.")
    parser.add_argument("file", type=Path, help="the map, a Parquet file")
    parser.add_argument("--points", type=int, default=96, help="links, each with and without ECN")
    parser.add_argument("--only", nargs="+", choices=[CONSTANT, *KINDS], default=[CONSTANT, *KINDS], metavar="KIND")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    parser.add_argument("--workers", type=int, default=None, help="cells run at a time")
    arguments = parser.parse_args()
    store = Store(arguments.results)
    rows = []
    for seed, numbers, link in _links(arguments.points, arguments.only):
        cells = dict(_cells(link, seed))
        results = sweep(list(cells.values()), store, workers=arguments.workers)
        described = {**numbers, "kind": link.kind, "ecn": link.ecn}
        rows += [
            {**described, "candidate": candidate, **measure_values(result.summary)}
            for candidate, result in zip(cells, results, strict=True)
        ]
        print(link, flush=True)
    # Single precision exceeds the precision of the measures.
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(MEASURES).cast(pl.Float32))
    provenance: dict[str, Mapping[str, Any]] = {kind: _provenance(arguments.points) for kind in arguments.only}
    if missing := {CONSTANT, *KINDS} - {*arguments.only}:
        known = read_survey(arguments.file.read_bytes())
        table = pl.concat([known.rows.filter(pl.col("kind").is_in(missing)), table])
        provenance = {kind: known.provenance[kind] for kind in known.provenance if kind in missing} | provenance
    metadata = {PROVENANCE: json.dumps(provenance)}
    pq.write_table(table.to_arrow().replace_schema_metadata(metadata), arguments.file, compression="zstd")
    for kind in (CONSTANT, *KINDS):
        print(f"{kind}:")
        _print_regrets(table.filter(kind=kind), list(_links(arguments.points, [kind])))


def _links(points: int, kinds: list[str]) -> Iterator[tuple[int, dict[str, float], AccessLink]]:
    """Yield each link with its seed and its numbers in the map's dimensions."""
    if CONSTANT in kinds:
        for seed, point in enumerate(Samples(over=dict(SPACE), points=points).values(), 1):
            for ecn in (False, True):
                yield seed, dict(point), link_at(point, ecn=ecn)
    for kind in kinds:
        if kind != CONSTANT:
            for seed, point in enumerate(Samples(over=dict(KIND_SPACE), points=KIND_LINKS).values(), 1):
                link = link_of_kind(kind, point)
                yield seed, position(link), link


def _cells(link: AccessLink, seed: int) -> Iterator[tuple[str, Cell]]:
    seconds = min(max(_BITS / 1e6 / (link.down_mbps + link.up_mbps), _MIN_S), _MAX_S)
    experiment = link.experiment(warmup_s=round(_WARMUP * seconds), duration_s=round((1 - _WARMUP) * seconds))
    for name, scheme_for in CANDIDATES.items():
        scheme = schemes.parse(scheme_for(link))
        (cell,) = cells_of(scheme.apply_to(experiment), [seed], label=scheme.label)
        yield name, cell


def _provenance(points: int) -> dict[str, Any]:
    return {
        "results": _core.results_number(),
        "engine": _core.engine_version(),
        "points": points,
        "command": f"make advice-map POINTS={points}",
    }


def _print_regrets(rows: pl.DataFrame, links: list[tuple[int, dict[str, float], AccessLink]]) -> None:
    """Print the excess of p95 over the best candidate's, under the advice for each link from a map without it."""
    regrets: dict[str, list[float]] = {}
    for _, point, link in links:
        is_this_link = pl.all_horizontal(pl.col(name) == value for name, value in point.items())
        others = Survey(rows.filter(~is_this_link), {})
        measured_link = rows.filter(is_this_link, ecn=link.ecn).drop_nulls("p95")
        p95 = dict(zip(measured_link["candidate"], measured_link["p95"], strict=True))
        answers = {f"always {name}": name for name in CANDIDATES}
        for count in _NEIGHBOUR_COUNTS:
            answers[f"best on {count} neighbouring links"] = rankings(others, link, "p95", count)[0].candidate
        for name, answer in answers.items():
            # A candidate without a p95 completed no response: count it as slow as the slowest.
            regrets.setdefault(name, []).append(p95.get(answer, max(p95.values())) / min(p95.values()) - 1)
    for name, values in sorted(regrets.items(), key=lambda item: float(np.mean(np.log1p(item[1])))):
        mean, median, p90 = 100 * np.expm1(np.mean(np.log1p(values))), *(100 * np.quantile(values, [0.5, 0.9]))
        print(f"{name}: slower than the best by {mean:.1f} % (geometric mean), p50 {median:.1f} %, p90 {p90:.1f} %")


if __name__ == "__main__":
    main()
