#!/bin/sh
# Builds and runs graph_statuses.cu, each case of a capture in a process of its own.
set -u
program=${TMPDIR:-/tmp}/graph_statuses
nvcc -arch=sm_90 -std=c++17 -o "$program" "$(dirname "$0")/graph_statuses.cu" || exit 2
number=0
while [ "$number" -lt "$("$program" count)" ]; do
    "$program" capture "$number" || echo "C | case $number | ended with status $?"
    number=$((number + 1))
done
"$program" ends || echo "M | ends | ended with status $?"
"$program" memory || echo "M | memory | ended with status $?"
