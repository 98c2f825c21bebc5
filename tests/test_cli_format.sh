#!/bin/sh
# test_cli_format.sh - answers that have to be JSON: --format and --schema of run and chat. Fault F61.
set -u
demo=$FACET_SOURCE/models/demo.facet
[ -f "$demo" ] || { echo "SKIP: no $demo"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
out=$folder/out err=$folder/err
unset FACET_MODEL FACET_KERNELS
HOME=$folder/home
export HOME
failures=0
question='The capital of France is'

fail() {
    printf 'FAIL: %s\n' "$1"
    head -n 5 "$out" "$err"
    failures=$((failures + 1))
}
# ends CODE ARGUMENTS...: the program ends with this code; its output is in $out and $err. Standard input is this one's.
ends() {
    code=$1
    shift
    "$FACET" "$@" >"$out" 2>"$err"
    got=$?
    [ "$got" = "$code" ] || fail "facet $* ended with $got, not $code"
}
has() { grep -qF -e "$1" "$out" || fail "not in the output: $1"; }
says() { grep -qF -e "$1" "$err" || fail "nothing on stderr about: $1"; }
# The output without white space is a line that this extended regular expression describes in full.
is_like() { tr -d ' \t\r\n' <"$out" | grep -qxE -e "$1" || fail "the output is not like $1"; }

# The demo answers in prose; held to a form it cannot.
printf '%s' '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}' \
    >"$folder/number"
n='\{"(n|\\u006[eE])":-?(0|[1-9][0-9]{0,17})\}'
ends 0 run -t 1 -m "$demo" --temperature 0 "$question" </dev/null
has Paris
for temperature in 0 1 2; do
    ends 0 run -t 1 -m "$demo" --temperature $temperature --seed 3 --schema "$folder/number" "$question" </dev/null
    is_like "$n"
done
ends 0 run -t 1 -m "$demo" --temperature 0 --raw --schema "$folder/number" "$question" </dev/null
is_like "$n"
printf '%s' '{"enum": ["Paris", "Lyon", 3]}' >"$folder/cities"
ends 0 run -t 1 -m "$demo" --temperature 0 --format json --schema "$folder/cities" "$question" </dev/null
is_like '("[^"]*"|3)'
ends 0 run -t 1 -m "$demo" --temperature 0 --json --schema "$folder/cities" "$question" </dev/null
has '"complete": true'
has '"reason": "end"'
ends 0 run -t 1 -m "$demo" --temperature 0 --json "$question" </dev/null
grep -qF '"complete"' "$out" && fail 'an answer without a form is called complete'

# Cut off: told, and an error.
ends 1 run -t 1 -m "$demo" --temperature 0 -n 2 --schema "$folder/number" "$question" </dev/null
says 'ended by length before its JSON was complete'
ends 1 run -t 1 -m "$demo" --temperature 0 -n 2 --quiet --json --schema "$folder/number" "$question" </dev/null
has '"complete": false'
has '"reason": "length"'
says 'ended by length'

# What cannot be held is refused before anything is read or answered.
printf '%s' '{"type": "object", "properties": {"n": {"type": "string", "pattern": "^a"}}}' >"$folder/pattern"
for command in run chat; do
    ends 1 $command -t 1 -m "$demo" --schema "$folder/pattern" </dev/null
    says "$folder/pattern: schema, at #/properties/n: the keyword 'pattern' is not supported"
    [ -s "$out" ] && fail 'there is an answer'
    ends 1 $command -t 1 -m "$demo" --schema "$folder/missing" </dev/null
    says "$folder/missing"
    ends 2 $command -t 1 -m "$demo" --format xml </dev/null
    says xml
done
printf '{"type": ' >"$folder/cut"
ends 1 run -t 1 -m "$demo" --schema "$folder/cut" "$question" </dev/null
says 'not valid JSON'

# Every answer of a chat is held.
printf '%s\n%s\n' "$question" 'Hello' >"$folder/questions"
ends 0 chat -t 1 -m "$demo" --temperature 0 --schema "$folder/number" <"$folder/questions"
is_like "$n$n"
ends 1 chat -t 1 -m "$demo" --temperature 0 -n 2 --schema "$folder/number" <"$folder/questions"
says 'ended by length before its JSON was complete'

# /set changes the form; what cannot be held changes nothing.
printf '%s\n' "$question" "/set format schema $folder/number" "$question" '/set format xml' "/set format schema $folder/pattern" \
    '/set format schema' '/set format' "$question" '/set' '/set format text' "$question" >"$folder/commands"
ends 1 chat -t 1 -m "$demo" --temperature 0 <"$folder/commands"
is_like ".*Paris.*$n$n.*Paris.*"
says "format            schema $folder/number"
says '/set format: "xml" is not one of text, json, schema FILE'
says "'pattern' is not supported"
says '/set format schema: the name of a file must follow'
says '/set format: a value must follow'
printf '%s\n' '/set format json' "$question" >"$folder/commands"
ends 0 chat -t 1 -m "$demo" --temperature 0 --schema "$folder/number" <"$folder/commands"
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(sys.stdin)' <"$out" || fail 'the answer is not JSON'
fi

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
