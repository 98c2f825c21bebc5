#!/bin/sh
# test_static.sh - the cross build's program is one static file for every 64-bit Arm, at every page size.
# It asks for no C library of the board, so for none that is too new (fault F73); of a package make_deb.sh holds that.
set -u
program=${FACET_BUILD:-build-pi5}/facet
[ -n "${FACET_EMULATOR:-}" ] && [ -f "$program" ] || { echo 'SKIP: no cross build'; exit 77; }
failures=0
text=$(mktemp)
trap 'rm -f "$text"' EXIT
found() { # WHAT PATTERN: a line of standard input matches
    if grep -qE "$2"; then echo "ok: $1"; else echo "FAILED: $1"; failures=$((failures + 1)); fi
}
none() { # WHAT PATTERN: no line of standard input matches
    if grep -E "$2"; then echo "FAILED: $1"; failures=$((failures + 1)); else echo "ok: $1"; fi
}
of_elf() { aarch64-linux-gnu-readelf -W "$1" "$program"; }

of_elf -h >"$text" || exit 1
trap 'rm -f "$text"' EXIT
found 'it is for aarch64' 'Machine: +AArch64' <"$text"
of_elf -l >"$text"
none 'nothing has to load it' INTERP <"$text"
found 'its segments are there' '^ +LOAD ' <"$text"
# A kernel with pages of 64 KiB loads only what is aligned to them.
none 'its segments are aligned to 64 KiB' '^ +LOAD .* 0x[1-9a-f]0{0,3}$' <"$text"
of_elf -d >"$text"
none 'it needs no library' NEEDED <"$text"
if command -v file >/dev/null; then
    file "$program" >"$text"
    found 'file says static' 'ARM aarch64.*statically linked' <"$text"
fi
[ "$failures" = 0 ]
