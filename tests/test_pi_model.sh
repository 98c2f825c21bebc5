#!/bin/sh
# test_pi_model.sh - bench/pi_model.md says what bench/pi_model.py prints, and that computes what facet and its kernels do.
set -u
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
source=$(cd "${FACET_SOURCE:-$(dirname "$0")/..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
check() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=$((failures + 1)); fi
}
model() { python3 "$source/bench/pi_model.py" "$@"; }

model >"$work/printed" || exit 1
sed '1,/^<!-- what bench\/pi_model.py prints/d' "$source/bench/pi_model.md" | sed 1d >"$work/written"
check 'the page says what the script prints' diff "$work/printed" "$work/written"

# The packed demo and its configuration: byte for byte.
told=$("$FACET" bench -m "$source/models/demo.facet" -p 8 -n 4 -r 1 --json --quiet | sed 's/.*"bytes_per_token": \([0-9]*\).*/\1/')
check 'its bytes are those that facet tells' [ "$(model --bytes "$source/tests/data/demo/checkpoint/config.json")" = "$told" ]

# The kernels of the cross build, if this is one by gcc 12: they may not have drifted from what was counted.
object=${FACET_BUILD:-build-pi5}/CMakeFiles/facet.dir/src/kernels/neon_dotprod.c.o
if [ -f "$object" ] && grep -aq 'GCC: ([^)]*) 12\.' "$object" &&
    grep -q 'CMAKE_BUILD_TYPE:[A-Z]*=Release' "${FACET_BUILD:-build-pi5}/CMakeCache.txt"; then
    model --count "$object" >"$work/counted"
    check 'the kernels take as many instructions as were counted (else: pi_model.py --count, and the page anew)' \
        python3 - "$work/counted" "$source/bench/pi_kernels.json" <<'PYTHON'
import json, sys
now, then = (json.load(open(path)) for path in sys.argv[1:])
each = lambda entry: sum(entry["kinds"].values()) / entry["products"]
for name in then:
    print(f"{name}: {32 * each(now[name]):.2f} instructions for 32 products, {32 * each(then[name]):.2f} were counted")
sys.exit(any(abs(each(now[name]) / each(then[name]) - 1) > 0.03 for name in then))
PYTHON
fi

check 'known numbers come out' env PYTHONPATH="$source/bench" python3 - "$source/bench/pi_kernels.json" <<'PYTHON'
import json, sys
import pi_model as m
network = m.Network(m.E2B)
assert sum(x.weights for x in network.decode_matrices()) == 2_279_473_152
assert network.own == 15 and sum(network.full) == 7
assert network.cache_bytes(0) == 0
# 512 positions, keys and values, 2 bytes: 28 layers of 256 and 7 of 512; beyond the window only the 7 grow.
assert network.cache_bytes(512) == 512 * 4 * (28 * 256 + 7 * 512)
assert network.cache_bytes(1024) - network.cache_bytes(512) == 512 * 4 * 7 * 512
assert m.Matrix(16, 64).bytes(32) == 576 and m.Matrix(17, 65).bytes(32) == 4 * 576 and m.Matrix(16, 256).bytes(128) == 2112
assert m.cycles_of({"sdot": 8}) == 4 and m.cycles_of({"ushr": 8}) == 8 and m.cycles_of({"ldp": 8}) == 8
assert m.cycles_of({"fcvtl": 3}) == 6 and m.cycles_of({"cmp": 8}) == 2
kernels = {name: m.Kernel(entry) for name, entry in json.load(open(sys.argv[1])).items()}
at = lambda rate, threads=2, depth=0, **more: 1 / m.Board(network, kernels, rate, threads, **more).decode_seconds(depth)
assert abs(at(10e9, barrier=0) - 10e9 / 1_282_203_648) < 1e-9       # bound by memory
assert at(1000e9, barrier=0) == at(2000e9, barrier=0)                  # bound by the cores
assert at(10e9, depth=4096) < at(10e9, depth=0)
assert at(10e9, barrier=1e-6) < at(10e9, barrier=0)
PYTHON
check 'a board of its own' sh -c "python3 '$source/bench/pi_model.py' --bandwidth 5 --threads 4 | grep -c '^| 5 (4) ' >/dev/null"
check 'nonsense is refused' sh -c "! python3 '$source/bench/pi_model.py' --bandwidth -1 2>/dev/null"
[ "$failures" = 0 ]
