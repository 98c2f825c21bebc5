#!/bin/sh
# test_compare.sh - bench/compare.py: measures what is there, names what is not, and calls no run clean that others disturbed.
set -u
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
[ -z "${FACET_EMULATOR:-}" ] || { echo 'SKIP: an emulator has no speed to compare'; exit 77; }
source=$(cd "${FACET_SOURCE:-$(dirname "$0")/..}" && pwd)
work=$(mktemp -d)
trap 'kill $load 2>/dev/null; rm -rf "$work"' EXIT
load=
failures=0
check() { # WHAT CONDITION...
    what=$1; shift
    if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=$((failures + 1)); fi
}

mkdir -p "$work/home/models"
cp "$source/models/demo.facet" "$work/home/models/short-q4.facet"
compare() { # NAME ARGUMENTS...
    name=$1; shift
    python3 "$source/bench/compare.py" --home "$work/home" --facet "$FACET" --kernels "$work/none" --quick --models short \
        --out "$work/$name" "$@" >"$work/$name.txt" 2>"$work/$name.log"
}

sh -c 'while :; do :; done' & load=$!
compare loaded --only 'decode 0'
code=$?
kill $load; load=
check 'a run beside other load ends with 3' [ $code = 3 ]
check 'its page says that it is not clean' grep -q 'NOT A CLEAN RUN' "$work/loaded/compare.md"
check 'its picture says it' grep -q 'NOT A CLEAN RUN' "$work/loaded/compare.svg"
check 'its numbers say it' grep -q '"clean": false' "$work/loaded/compare.json"
check 'it measured facet' grep -q '| answer behind 0 tokens, tok/s |' "$work/loaded/compare.md"
check 'it names what is missing' grep -q 'not there, so not measured: .*llama.cpp Q4_0 (short), LiteRT-LM int4 (short)' "$work/loaded/compare.md"
check 'its picture is XML' python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/loaded/compare.svg"

compare odd --models full
check 'without a model it says how to make one' grep -q 'make_models.sh' "$work/odd.log"

# Numbers that are known: ratios are taken inside a round, before the median; smaller is better for seconds and bytes.
check 'ratios are taken inside a round' env PYTHONPATH="$source/bench" python3 - <<'END'
import machine, summary
def rows(program, kind, size, values):
    return [{"model": "m", "program": program, "kind": kind, "size": size, "round": i, "value": v} for i, v in enumerate(values)]
data = {"rows": rows("a", "decode", 0, [10, 20, 60]) + rows("b", "decode", 0, [5, 5, 40])
        + rows("a", "first", 14, [0.5]) + rows("b", "first", 14, [2.0]) + rows("a", "memory", 128, [3e6])}
assert summary.advantage(data, "m", "a", "b", ("decode", 0)) == 2.0     # of 2, 4, 1.5; the medians would give 4
assert summary.advantage(data, "m", "a", "b", ("first", 14)) == 4.0
assert summary.advantage(data, "m", "a", "b", ("memory", 128)) is None
assert list(summary.values(data, "m", "a", ("memory", 128)).values()) == [3.0]
quiet = {"seconds": 60, "others": 0.001, "stolen": 0.0}
assert machine.verdict(quiet, quiet, [quiet]) == []
assert len(machine.verdict(quiet, {**quiet, "stolen": 0.1}, [quiet])) == 1
assert len(machine.verdict(quiet, quiet, [quiet, {**quiet, "others": 0.2}])) == 1
assert machine.verdict(quiet, quiet, [{"seconds": 0.1, "others": 0.2, "stolen": 0.0}]) == []
assert len(machine.verdict(quiet, {**quiet, "others": 1 / 64}, [], 64)) == 1     # one busy CPU of many
END
exit $((failures > 0))
