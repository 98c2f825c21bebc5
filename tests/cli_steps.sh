# shellcheck shell=sh
# cli_steps.sh - what tests of the command line begin with: a folder of their own, facet in it, and a look at what it said.
#
# Sourced behind `set -u`; the test ends with `finish`. Sets $demo, $folder, $out, $err and HOME; standard input is empty.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
out=$folder/out err=$folder/err demo=$FACET_SOURCE/models/demo.facet
unset FACET_MODEL FACET_KERNELS XDG_STATE_HOME XDG_DATA_HOME
HOME=$folder/home
export HOME
mkdir "$HOME"
exec </dev/null
failures=0

needs_demo() { [ -f "$demo" ] || { echo "SKIP: no $demo"; exit 77; }; }
finish() {
    [ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
    exit 0
}
fail() {
    printf 'FAIL: %s\n' "$1"
    head -n 40 "$out" "$err" | head -c 4000
    failures=$((failures + 1))
}
# ends CODE ARGUMENTS...: the program ends with this code; its output is in $out and $err.
ends() {
    code=$1
    shift
    "$FACET" "$@" >"$out" 2>"$err"
    got=$?
    [ "$got" = "$code" ] || fail "facet $* ended with $got, not $code"
}
# Of standard output: all of it, a part, a line that an extended regular expression describes.
is() { [ "$(cat "$out")" = "$1" ] || fail "the output is not: $1"; }
has() { grep -qF -e "$1" "$out" || fail "not in the output: $1"; }
has_not() { ! grep -qF -e "$1" "$out" || fail "in the output: $1"; }
matches() { grep -qE -e "$1" "$out" || fail "nothing in the output is like: $1"; }
# Of standard error.
says() { grep -qF -e "$1" "$err" || fail "nothing on stderr about: $1"; }
says_not() { ! grep -qF -e "$1" "$err" || fail "on stderr: $1"; }
is_silent() { [ ! -s "$1" ] || fail "something on ${1##*/}"; }
