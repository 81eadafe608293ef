#!/usr/bin/env bash
# How do CUBIC and another TCP share a link, at which rate and under which queue?
set -euo pipefail
here=$(dirname "$0")

# A row for each point: goodput of both, delay and loss, with 95 % intervals over the seeds.
aqmlab sweep "$here/grid.toml" --seeds "${SEEDS:-3}" --measures "first goodput,second goodput,delay p99,loss" --table tcps.csv
