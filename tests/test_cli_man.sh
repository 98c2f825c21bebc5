#!/bin/sh
# test_cli_man.sh - the manual page has the commands, synopses and options that --help has, and no others.
set -u
page=$FACET_SOURCE/docs/facet.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Lines "facet COMMAND SYNOPSIS" and "COMMAND: -n, --name VALUE"; options of a shared group stand under the group's name.
from_help() {
    "$FACET" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r command; do
        "$FACET" "$command" --help | awk -v command="$command" '
            /^Usage: / { print substr($0, 8) }
            /^(Options|[A-Z][a-z]* options.*):$/ {
                group = tolower($0)
                sub(/ *\(.*/, "", group); sub(/:$/, "", group)
                if (group == "options") group = command
            }
            /^ +-/ {
                line = $0
                sub(/^ +/, "", line); sub(/  +.*/, "", line)
                if (line != "-h, --help") print group ": " line
            }'
    done | sort -u
}

from_page() {
    sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\e/\\/g' "$page" | awk '
        /^\.SH / { group = tolower(substr($0, 5)); next }
        /^\.SS / { print substr($0, 5); group = $3; next }
        is_tag && /^-/ { print group ": " $0 }
        { is_tag = /^\.TP/ }' | sort -u
}

from_help >"$folder/help"
from_page >"$folder/page"
[ "$(wc -l <"$folder/help")" -gt 40 ] || { echo "only $(wc -l <"$folder/help") lines of help were understood"; exit 1; }
diff "$folder/help" "$folder/page" || { echo 'lines with < are in --help only, those with > in docs/facet.1 only'; exit 1; }

version=$("$FACET" --version)
grep -q "^\.TH FACET 1 .*\"$version\"" "$page" || { echo "docs/facet.1 is not of $version"; exit 1; }
