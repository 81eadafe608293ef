"""The map behind ``aqmlab advise``: every candidate on links of many kinds, under the same users.

``make advice-map`` runs this module. What has been run is in the results directory, so that it goes on where it was
stopped; fewer points are the beginning of more.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from aqmlab import _core
from aqmlab.advice.access_link import AccessLink
from aqmlab.advice.advice import rankings
from aqmlab.advice.candidates import CANDIDATES
from aqmlab.advice.survey import MEASURES, PROVENANCE, SPACE, Map, link_at, measured
from aqmlab.campaigns.axes import Samples
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running.sweep import sweep
from aqmlab.spec import schemes
from aqmlab.store.store import Store

_BITS = 4e9
"""What a link can carry in a run, both directions together: half a million packets of 1 kB, a quarter of a second of
processor time."""

_LEAST_S, _MOST_S = 30.0, 240.0
"""But no run is shorter, for a fast link's windows to open, nor longer."""

_WARMUP = 0.25
"""The part of a run that is left out."""


_NEAR_TRIED = (2, 4, 8, 16, 32)
"""How many links of the map may count as near one."""


def main() -> None:
    """Run what is missing, and write the map."""
    parser = argparse.ArgumentParser(description="Write the map of aqmlab advise.")
    parser.add_argument("file", type=Path, help="the map, a Parquet file")
    parser.add_argument("--points", type=int, default=96, help="links, each with and without ECN")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    parser.add_argument("--workers", type=int, default=None, help="cells run at a time")
    chosen = parser.parse_args()
    store = Store(chosen.results)
    rows = []
    for seed, point in enumerate(Samples(over=dict(SPACE), points=chosen.points).values(), 1):
        for ecn in (False, True):
            cells = dict(_cells(link_at(point, ecn=ecn), seed))
            results = sweep(list(cells.values()), store, workers=chosen.workers)
            rows += [
                {**point, "ecn": ecn, "candidate": candidate, **measured(result.summary)}
                for candidate, result in zip(cells, results, strict=True)
            ]
        print(f"{seed} of {chosen.points}", flush=True)
    _write(rows, chosen.file, points=chosen.points)
    _say_how_good(pl.DataFrame(rows, infer_schema_length=None))


def _cells(link: AccessLink, seed: int) -> Iterator[tuple[str, Cell]]:
    seconds = min(max(_BITS / 1e6 / (link.down_mbps + link.up_mbps), _LEAST_S), _MOST_S)
    experiment = link.experiment(warmup_s=round(_WARMUP * seconds), duration_s=round((1 - _WARMUP) * seconds))
    for name, scheme_for in CANDIDATES.items():
        scheme = schemes.parse(scheme_for(link))
        (cell,) = cells_of(scheme.applied_to(experiment), [seed], label=scheme.label)
        yield name, cell


def _write(rows: list[dict[str, Any]], file: Path, *, points: int) -> None:
    """Write the rows with what made them; floats of half the length are more than is known."""
    single = [pl.col(name).cast(pl.Float32) for name in MEASURES]
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(single).to_arrow()
    provenance = {
        "results": _core.results_number(),
        "engine": _core.engine_version(),
        "points": points,
        "command": f"make advice-map POINTS={points}",
    }
    metadata = {PROVENANCE: json.dumps(provenance)}
    pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd")


def _say_how_good(rows: pl.DataFrame) -> None:
    """Print by how much p95 is above the least of all, under the map's advice for links that are taken out of it."""
    links = rows.select(*SPACE, "ecn").unique(maintain_order=True)
    regrets: dict[str, list[float]] = {}
    for here in links.iter_rows(named=True):
        point = {name: here[name] for name in SPACE}
        is_here = pl.all_horizontal(pl.col(name) == value for name, value in point.items())
        others, link = Map(rows.filter(~is_here), {}), link_at(point, ecn=here["ecn"])
        measured_here = rows.filter(is_here, ecn=here["ecn"]).drop_nulls("p95")
        p95 = dict(zip(measured_here["candidate"], measured_here["p95"], strict=True))
        answers = {f"always {name}": name for name in CANDIDATES}
        for near in _NEAR_TRIED:
            answers[f"the first on {near} links like it"] = rankings(others, link, "p95", near)[0].candidate
        for name, answer in answers.items():
            # Nobody was answered: as slow as the slowest.
            regrets.setdefault(name, []).append(p95.get(answer, max(p95.values())) / min(p95.values()) - 1)
    for name, each in sorted(regrets.items(), key=lambda item: float(np.mean(np.log1p(item[1])))):
        mean, half, most = 100 * np.expm1(np.mean(np.log1p(each))), *(100 * np.quantile(each, [0.5, 0.9]))
        print(f"{name}: {mean:.1f} % slower than the best, half {half:.1f} %, one in ten {most:.1f} %")


if __name__ == "__main__":
    main()
