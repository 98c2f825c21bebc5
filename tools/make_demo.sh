#!/bin/sh
# make_demo.sh - makes models/demo.facet: make_demo.sh FOLDER, which holds checkpoint/ and expected.json (models/README.md).
set -eu
source=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The packed file names its source after the folder, and takes the licence from its README.
mkdir "$folder/facet-demo"
cp "$source"/checkpoint/* "$folder/facet-demo"
printf -- '---\nlicense: apache-2.0\n---\n' >"$folder/facet-demo/README.md"
build/facet convert "$folder/facet-demo" -o models/demo.facet --weights q4 --expected "$source/expected.json"
build/facet verify -m models/demo.facet
