#!/usr/bin/env bash
# Is a new law better than the usual ones, by how much, and which of its parameters matters?
set -euo pipefail
here=$(dirname "$0")
cp "$here/ramp.py" .

# A LaTeX table (booktabs) with 95 % intervals, and the differences from the law, seed by seed.
aqmlab compare "$here/link.toml" ramp:Ramp pie codel "droptail:limit=256 kB" --seeds "${SEEDS:-5}" --paired \
    --measures "call one-way p99,downloads goodput,delay p99 reverse,p95" --table thesis.tex --figures figures

# A search for its parameters, checked under fresh seeds.
aqmlab tune "$here/link.toml" ramp:Ramp --over "low=1..20,high=50..500" --minimise "call one-way p99" --trials 4 --confirm 1
