#!/bin/sh
# test_cli_format.sh - answers that have to be JSON: --format and --schema of run and chat. Fault F61.
set -u
. "$FACET_SOURCE/tests/cli_steps.sh"
needs_demo
question='The capital of France is'

# The output without white space is a line that this extended regular expression describes in full.
is_like() { tr -d ' \t\r\n' <"$out" | grep -qxE -e "$1" || fail "the output is not like $1"; }

# The demo answers in prose; held to a form it cannot.
printf '%s' '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}' \
    >"$folder/number"
n='\{"(n|\\u006[eE])":-?(0|[1-9][0-9]{0,17})\}'
ends 0 run -t 1 -m "$demo" --temperature 0 "$question"
has Paris
for temperature in 0 1 2; do
    ends 0 run -t 1 -m "$demo" --temperature $temperature --seed 3 --schema "$folder/number" "$question"
    is_like "$n"
done
ends 0 run -t 1 -m "$demo" --temperature 0 --raw --schema "$folder/number" "$question"
is_like "$n"
printf '%s' '{"enum": ["Paris", "Lyon", 3]}' >"$folder/cities"
ends 0 run -t 1 -m "$demo" --temperature 0 --format json --schema "$folder/cities" "$question"
is_like '("[^"]*"|3)'
ends 0 run -t 1 -m "$demo" --temperature 0 --json --schema "$folder/cities" "$question"
has '"complete": true'
has '"reason": "end"'
ends 0 run -t 1 -m "$demo" --temperature 0 --json "$question"
grep -qF '"complete"' "$out" && fail 'an answer without a form is called complete'

# Cut off: told, and an error.
ends 1 run -t 1 -m "$demo" --temperature 0 -n 2 --schema "$folder/number" "$question"
says 'ended by length before its JSON was complete'
ends 1 run -t 1 -m "$demo" --temperature 0 -n 2 --quiet --json --schema "$folder/number" "$question"
has '"complete": false'
has '"reason": "length"'
says 'ended by length'

# What cannot be held is refused before anything is read or answered.
printf '%s' '{"type": "object", "properties": {"n": {"type": "string", "pattern": "^a"}}}' >"$folder/pattern"
for command in run chat; do
    ends 1 $command -t 1 -m "$demo" --schema "$folder/pattern"
    says "$folder/pattern: schema, at #/properties/n: the keyword 'pattern' is not supported"
    [ -s "$out" ] && fail 'there is an answer'
    ends 1 $command -t 1 -m "$demo" --schema "$folder/missing"
    says "$folder/missing"
    ends 2 $command -t 1 -m "$demo" --format xml
    says xml
done
printf '{"type": ' >"$folder/cut"
ends 1 run -t 1 -m "$demo" --schema "$folder/cut" "$question"
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

finish
