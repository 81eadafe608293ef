#!/usr/bin/env bash
# How do CUBIC and another TCP share a link, at which rate and under which queue?
set -euo pipefail
here=$(dirname "$0")

# Print goodput of both, delay and loss of each point with 95 % intervals; tcps.csv has a row for each cell.
aqmlab sweep "$here/grid.toml" --seeds "${SEEDS:-3}" --measures "first goodput,second goodput,delay p99,loss" --table tcps.csv
