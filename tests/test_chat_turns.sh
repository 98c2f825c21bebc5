#!/bin/sh
# test_chat_turns.sh - bench/chat_turns.py: a turn reads its own tokens, and the cold row all of them.
set -u
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
source=$(cd "${FACET_SOURCE:-$(dirname "$0")/..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
turns() { python3 "$source/bench/chat_turns.py" --facet "$FACET" -m "$source/models/demo.facet" -t 1 --turns 4 -n 8 "$@"; }

turns --json >"$work/turns.json" 2>"$work/log" || { cat "$work/log"; exit 1; }
python3 - "$work/turns.json" <<'END' || exit 1
import json, sys
turns = json.load(open(sys.argv[1]))["turns"]
assert len(turns) == 5, turns
*warm, cold = turns
for before, turn in zip(warm, warm[1:]):
    assert turn["reused"] >= before["used"] - before["answer"], turn
    assert turn["read"] + turn["reused"] + turn["answer"] - 1 == turn["used"], turn
assert cold["reused"] == 0 and cold["read"] == warm[-1]["read"] + warm[-1]["reused"], cold
assert all(turn["seconds"] > 0 for turn in turns)
END
turns >"$work/turns.md" 2>"$work/log" || { cat "$work/log"; exit 1; }
[ "$(grep -c '^| *[0-9]' "$work/turns.md")" = 5 ] || { cat "$work/turns.md"; exit 1; }
echo 'ok: each turn reads its own tokens'
