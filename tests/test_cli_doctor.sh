#!/bin/sh
# test_cli_doctor.sh - facet doctor as a program: text, JSON, exit codes, on recorded machines and on this one.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
out=$folder/out err=$folder/err
failures=0
unset FACET_MODEL FACET_KERNELS
export HOME=$folder
trees=$FACET_SOURCE/tests/data/doctor

fail() {
    printf 'FAIL: %s\n' "$1"
    sed 's/^/    /' "$out" "$err" | head -n 20
    failures=$((failures + 1))
}
# ends CODE ARGUMENTS...
ends() {
    code=$1
    shift
    "$FACET" doctor "$@" >"$out" 2>"$err" </dev/null
    got=$?
    [ "$got" = "$code" ] || fail "facet doctor $* ended with $got, not $code"
}
says() { grep -qF -e "$1" "$out" || fail "nothing about: $1"; }

ends 0 --root "$trees/pi5"
says 'Raspberry Pi 5 Model B Rev 1.0'
says 'no model yet'
grep -q '^note  *governor' "$out" || fail 'no note about the governor'
[ -s "$err" ] && fail 'something on stderr'
awk 'length($0) > 90 && !/→/ { exit 1 }' "$out" || fail 'a line is too long'
LC_ALL=C grep -q "$(printf '\033')" "$out" && fail 'colours in a file'
ends 1 --root "$trees/pi4"
grep -q '^problem  *power  *now: under-voltage, throttled' "$out" || fail 'no problem with power'
ends 1 --root "$trees/container"
ends 0 --root "$trees/laptop"

# A command to copy stays on one line.
ends 0 --root "$trees/pi5"
grep -qx ' *→ echo performance | sudo tee /sys/devices/system/cpu/cpu\*/cpufreq/scaling_governor' "$out" ||
    fail 'the command for the governor is broken into lines'

for tree in pi5 pi4 laptop container; do
    "$FACET" doctor --root "$trees/$tree" --json >"$folder/$tree.json" 2>"$err" </dev/null
    if command -v python3 >/dev/null; then
        python3 - "$folder/$tree.json" <<'END' >"$out" 2>&1 || fail "JSON of $tree"
import json, sys
d = json.load(open(sys.argv[1]))
states = [f["state"] for f in d["findings"]]
order = ["ok", "note", "warning", "problem"]
assert d["worst"] == max(states, key=order.index), d["worst"]
for f in d["findings"]:
    assert f["text"] and (f["state"] in ("ok", "note") or f["advice"] or f["command"]), f
m = d["memory"]
assert m["needed_bytes"] == m["weights_bytes"] + m["kv_bytes"] + m["scratch_bytes"] + m["rows_bytes"]
assert d["tokens_per_second"] is None and d["bandwidth_bytes_per_second"] is None
END
    fi
done

# This machine, with a model; whatever is found, it is told.
"$FACET" doctor --quick --json "$FACET_SOURCE/models/demo.facet" >"$out" 2>"$err" </dev/null
[ $? -le 1 ] || fail 'this machine'
says '"name": "demo.facet"'
says '"weights": "q4"'
"$FACET" doctor --quick "$folder/nothing.facet" >"$out" 2>"$err" </dev/null
[ $? = 1 ] || fail 'a missing model is no problem'
grep -q '^problem  *model .*nothing.facet' "$out" || fail 'a missing model is not told'
ends 2 --root "$folder/nowhere"
ends 2 -m a b

[ "$failures" = 0 ]
