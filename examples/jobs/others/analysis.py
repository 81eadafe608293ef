"""Read a directory of results that somebody else made: what was run, what differs, and means with intervals.

``python analysis.py RESULTS``: everything comes from columns of the store, no file of it is opened here.
"""

import sys

import polars as pl

import aqmlab as lab

pl.Config.set_tbl_rows(100).set_tbl_cols(20).set_tbl_width_chars(160).set_tbl_hide_column_data_types(
    True
).set_fmt_str_lengths(60)
store = lab.Store(sys.argv[1])
cells = store.cells()
columns = ["experiment", "label", "rate_mbps", "rate_back_mbps", "delay_ms", "tcp", "congestion", "ecn", "traffic"]
results = cells["results"].unique().to_list()
print(f"{cells.height} cells of {cells['experiment'].n_unique()} experiments, results {results}")

# The columns that tell the cells apart.
varied = [name for name in columns if cells[name].n_unique() > 1]
print(f"They differ in: {', '.join(varied[1:])}")

# A row for each direction: cells of one experiment differ in scheme and seed alone, so that a mean is over seeds.
summary = store.scan("summary").collect()
directions = summary.select("cell", "directions").explode("directions").unnest("directions")
print(
    directions.join(cells.select("cell", *varied), on="cell")
    .group_by(*varied, "direction")
    .agg(pl.len().alias("seeds"), pl.col("utilisation", "loss_percent").mean().round(3))
    .sort(*varied[1:], "direction")
)

# A row for each source of traffic.
sources = summary.select("cell", "sources").explode("sources").unnest("sources")
print(
    sources.join(cells.select("cell", *varied), on="cell")
    .group_by(*varied, "name")
    .agg(pl.col("goodput_mbps").mean().round(2), pl.col("goodput_mbps").std().round(2).alias("sd"))
    .sort(*varied[1:], "name")
)
