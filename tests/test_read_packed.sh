#!/bin/sh
# test_read_packed.sh - docs/FORMAT.md is enough to read a packed file: Python does, and finds the checkpoint's weights in it.
set -eu
command -v python3 >/dev/null || { echo "SKIP: there is no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for weights in f32 q8 q4 q4-g64; do
    "$FACET" convert --quiet "$FACET_SOURCE/tests/data/cases/e2b-like" -o "$folder/$weights.facet" --weights $weights
    python3 "$FACET_SOURCE/tests/tools/compare_packed.py" "$FACET_SOURCE/tests/data/cases/e2b-like" "$folder/$weights.facet"
done
