#!/bin/sh
# test_page_sizes.sh - nothing assumes pages of 4 KiB (fault F71): with a kernel's of 16 (Raspberry Pi 5) and 64 KiB all goes
# as ever.
#
# fake_pages.c is preloaded; it refuses what such a kernel refuses. Under qemu, run_arm.sh has such pages itself.
set -u
[ -z "${FACET_EMULATOR:-}" ] || { echo 'SKIP: the emulator has large pages itself'; exit 77; }
library=$FACET_BUILD/tests/libfake_pages.so
[ -f "$library" ] || { echo 'SKIP: no library to preload'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
HOME=$folder
export HOME
unset FACET_MODEL FACET_KERNELS
failures=0

with_pages() { # BYTES COMMAND...
    bytes=$1
    shift
    rm -f "$folder/log"
    FAKE_PAGES=$bytes FAKE_PAGES_LOG=$folder/log LD_PRELOAD=$library "$@" >"$folder/out" 2>&1
    code=$?
    what="$bytes: ${*##*/}"
    if ! grep -q "^pages of $bytes bytes" "$folder/log"; then
        echo "FAILED: $what: nothing was preloaded"
    elif grep REFUSED "$folder/log" || [ $code != 0 ]; then
        echo "FAILED: $what (ended with $code)"
        tail -n 5 "$folder/out"
    else
        echo "ok: $what"
        return
    fi
    failures=$((failures + 1))
}

# The library itself must notice what it is there to notice.
cat >"$folder/wrong.py" <<'PYTHON'
import ctypes, sys
library = ctypes.CDLL(None, use_errno=True)
library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
sys.exit(library.madvise(0x7000001000, 4096, 4) == 0)
PYTHON
if command -v python3 >/dev/null; then
    FAKE_PAGES=16384 FAKE_PAGES_LOG=$folder/log LD_PRELOAD=$library python3 "$folder/wrong.py"
    grep -q '^REFUSED: madvise, address 0x7000001000' "$folder/log" ||
        { echo 'FAILED: an address at 4 KiB was not refused'; failures=1; }
fi

for bytes in 16384 65536; do
    for test in memory file pack session_file verify; do
        with_pages $bytes "$FACET_BUILD/tests/test_$test"
    done
    for memory in map huge auto; do
        with_pages $bytes "$FACET" run --memory $memory --temperature 0 'The capital of France is'
        grep -q 'Paris' "$folder/out" || { echo "FAILED: no answer from --memory $memory"; failures=$((failures + 1)); }
    done
done
[ "$failures" = 0 ]
