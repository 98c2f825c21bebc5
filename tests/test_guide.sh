#!/bin/sh
# test_guide.sh - the commands that docs/RASPBERRY_PI.md shows are ones: bash reads them, facet knows their options, make their targets.
set -u
guide=$FACET_SOURCE/docs/RASPBERRY_PI.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0
wrong() { echo "docs/RASPBERRY_PI.md: $*"; bad=1; }

# ---- blocks for a shell ----

awk -v folder="$folder" '
    /^```sh$/ { n++; inside = 1; next }
    /^```/ { if (inside) inside = 0; else { print "line " NR ": a block that is not for sh"; exit 1 } next }
    inside { print > (folder "/block" n) }' "$guide" || exit 1
[ "$(ls "$folder" | wc -l)" -gt 10 ] || wrong "only $(ls "$folder" | wc -l) blocks were found"
if command -v bash >/dev/null; then
    for block in "$folder"/block*; do
        bash -n "$block" || wrong "bash does not read: $(cat "$block")"
    done
else
    echo "bash is not there: syntax not checked"
fi
cat "$folder"/block* >"$folder/lines"

# ---- facet: its own parser reads the line, with --help behind it ----

n=0
while IFS= read -r line; do
    case $line in
    facet\ *) words=${line#facet } ;;
    build/facet\ *) words=${line#build/facet } ;;
    *) continue ;;
    esac
    n=$((n + 1))
    words=${words%%>*}
    case $words in --*) more= ;; *) more=--help ;; esac
    eval "set -- $words" # the guide is ours; quotes are the shell's
    "$FACET" "$@" $more >"$folder/said" 2>&1 </dev/null || wrong "$line: $(head -n 1 "$folder/said")"
done <"$folder/lines"
[ "$n" -gt 10 ] || wrong "only $n lines of facet were found"

# Commands inside the text, as `facet bench --protocol`.
grep -oE '`facet [a-z-][^`]*`' "$guide" | tr -d '`' | grep -v '^facet runs there on' | sort -u >"$folder/inline"
while IFS= read -r line; do
    [ "$line" = 'facet serve' ] && continue # which is said not to be there
    eval "set -- ${line#facet }"
    case $1 in --*) ;; *) set -- "$@" --help ;; esac
    "$FACET" "$@" >/dev/null 2>&1 </dev/null || wrong "$line"
done <"$folder/inline"
! "$FACET" serve --help >/dev/null 2>&1 || wrong "says that there is no facet serve"

# ---- make, and what lies in the tree ----

for target in $(sed -n 's/^make \([a-z0-9-]*\)$/\1/p' "$folder/lines"); do
    grep -q "^$target:" "$FACET_SOURCE/Makefile" || wrong "make $target"
done
version=$("$FACET" --version)
for name in $(grep -o 'facet_[0-9.]*-[0-9]*_[a-z0-9]*\.deb' "$guide" | sort -u); do
    case $name in facet_"${version#facet }"-1_arm64.deb) ;; *) wrong "$name is not of $version" ;; esac
done

# ---- computed speeds are those of bench/pi_model.md ----

computed=$(sed -n 's/^Computed, not measured by anybody: \([0-9.]*\) to \([0-9.]*\) tokens of an answer a second in `q4`, and \([0-9]*\) to \([0-9]*\) tokens of a prompt.*/\3-\4 | \1-\2/p' "$guide")
[ -n "$computed" ] && grep '^| facet, q4' "$FACET_SOURCE/bench/pi_model.md" | tr -s ' ' | grep -qF "| $computed |" ||
    wrong "what is to be expected is not what bench/pi_model.md computes: $computed"

# ---- what facet says is what the table says ----

sed -n 's/^| `\([^`]*\)` |.*/\1/p' "$guide" | while IFS= read -r message; do
    for part in $(printf '%s' "$message" | tr ' ' '\n' | grep -E '^[a-z]{6,}$'); do
        grep -rqF -- "$part" "$FACET_SOURCE/src/deploy" "$FACET_SOURCE/src/engine" && continue
        [ "$message" = 'Permission denied (publickey)' ] || echo "$message: no \"$part\" in the sources"
    done
done >"$folder/messages"
[ -s "$folder/messages" ] && wrong "$(cat "$folder/messages")"
exit $bad
