#!/bin/sh
# quality_tables.sh - both tables of docs/QUALITY.md, measured anew: of the demo, and of Gemma 3 270M where it has been fetched.
#
# usage: tools/quality_tables.sh [FACET]     (build/facet; five minutes of CPU and 4 GB of space in $TMPDIR for the second)
set -eu
cd "$(dirname "$0")/.."
facet=${1:-build/facet}
model=${FACET_GEMMA3_270M:-$HOME/.cache/facet-test/gemma-3-270m-q4_k_m.gguf}
licences=/usr/share/common-licenses
text=$(mktemp)
trap 'rm -f "$text"' EXIT

echo "The demo:"
tools/measure_quality.py tests/data/demo/checkpoint --facet "$facet" --chunk 128 \
    --conversations tests/data/text/demo_expected.json
[ -f "$model" ] || { echo "Gemma 3 270M is not there: tools/fetch_gemma3_270m.sh"; exit 0; }
cat "$licences/Apache-2.0" "$licences/MPL-2.0" "$licences/Artistic" >"$text"
echo "Gemma 3 270M:"
tools/measure_quality.py "$model" --facet "$facet" --text "$licences/GPL-3" --calibration "$text"
