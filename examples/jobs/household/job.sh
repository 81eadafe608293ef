#!/usr/bin/env bash
# An ISP's question: does a game or a call survive an upload, with the queue of today's modem and with three others?
set -euo pipefail
here=$(dirname "$0")

# The four variants side by side, with the numbers that decide and their 95 % intervals over the seeds.
aqmlab compare "$here/household.toml" --seeds "${SEEDS:-5}" --no-figures --table household.csv \
    --measures "game up one-way p99,call up one-way p99,game down one-way p99,upload goodput,web users p95"

# The same as one page to pass on.
aqmlab report --output household.html
