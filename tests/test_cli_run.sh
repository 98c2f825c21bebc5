#!/bin/sh
# test_cli_run.sh - running a model from the command line: prompts, answers, ids, which model it is.
# The expected ids are those of the first entry in data/text/demo_expected.json: the reference implementation's.
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
prompt_ids=2,15,387,277,397,393,380,623,375,16,277,15,385,277
answer='The capital of France is **Paris**.'
answer_ids='397 393 380 623 375 1886 16'

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
is() { [ "$(cat "$out")" = "$1" ] || fail "the output is not: $1"; }
has() { grep -qF -e "$1" "$out" || fail "not in the output: $1"; }
says() { grep -qF -e "$1" "$err" || fail "nothing on stderr about: $1"; }
is_silent() { [ ! -s "$1" ] || fail "something on ${1##*/}"; }

# ---- prompts ----

ends 0 run -t 1 -m "$demo" --temperature 0 "$question" </dev/null
is "$answer"
says '7 tokens ·'
says '· prompt 14 at'
says '· 0 reused · context 20/4096 ·'
[ "$(tail -c 1 "$out" | od -An -c | tr -d ' ')" = '\n' ] || fail 'no newline at the end'
# shellcheck disable=SC2086 # several arguments are meant
ends 0 run -t 1 -m "$demo" --temperature 0 $question </dev/null
is "$answer"
ends 0 run -t 1 -m "$demo" --temperature=0 --quiet -- "$question" </dev/null
is "$answer"
is_silent "$err"
printf '%s' "$question" >"$folder/prompt"
ends 0 run -t 1 -m "$demo" --temperature 0 <"$folder/prompt"
is "$answer"
printf '\357\273\277%s\r\n' "$question" >"$folder/prompt"
ends 0 run -t 1 -m "$demo" --temperature 0 --json <"$folder/prompt"
has '"prompt_tokens": 14'
has '"text": "The capital of France is **Paris**."'
printf '\357\273\277hi\r\n' >"$folder/prompt"
ends 0 tokenize -m "$demo" <"$folder/prompt"
raw=$(($(wc -w <"$out") + 1))
ends 0 run -t 1 -m "$demo" --raw -n 1 --json <"$folder/prompt"
has "\"prompt_tokens\": $raw,"
printf 'a\377b\355\240\200' >"$folder/prompt"
ends 0 run -t 1 -m "$demo" -n 1 <"$folder/prompt"
says 'the prompt is not valid UTF-8: 4 bad parts became U+FFFD'
ends 0 run -t 1 -m "$demo" --raw -n 1 --json '<bos><turn|>' </dev/null
raw=$("$FACET" tokenize -m "$demo" '<bos><turn|>' | wc -w)
has "\"prompt_tokens\": $((raw + 1)),"
[ "$raw" -gt 2 ] || fail 'control names in a prompt were recognised'
ends 0 run -t 1 -m "$demo" --system 'Be brief.' --temperature 0 "$question" </dev/null
ends 1 run -t 1 -m "$demo" -c 10 "$question" </dev/null
says 'facet run: '

# ---- ids ----

ends 0 run -t 1 -m "$demo" --temperature 0 --ids "$question" </dev/null
is "$answer_ids"
ends 0 run -t 1 -m "$demo" --temperature 0 --ids --prompt-ids "$prompt_ids" </dev/null
is "$answer_ids"
printf '%s\n' "$prompt_ids" | tr , '\n' >"$folder/ids"
ends 0 run -t 1 -m "$demo" --temperature 0 --ids --prompt-ids "@$folder/ids" </dev/null
is "$answer_ids"
ends 1 run -t 1 -m "$demo" --ids --prompt-ids 2,99999 </dev/null
says 'id 99999 is not in the vocabulary, which ends at 2047'
ends 0 run -t 1 -m "$demo" --temperature 0 --json --prompt-ids "$prompt_ids" </dev/null
has '"ids": [397, 393, 380, 623, 375, 1886, 16]'
has '"reason": "end"'
has '"decode_steps": 6'

# ---- sampling and ends ----

ends 0 run -t 1 -m "$demo" --temperature 0 -n 2 "$question" </dev/null
says 'ended by length'
ends 0 run -t 1 -m "$demo" --temperature 0 --json --stop nowhere --stop '**' "$question" </dev/null
has '"text": "The capital of France is "'
has '"reason": "stop"'
ends 0 run -t 1 -m "$demo" --temperature 0 --stop '**' "$question" </dev/null
is 'The capital of France is '
ends 0 run -t 1 -m "$demo" --temperature 0 --ids -n 6 --logit-bias 1886=-1000 --logit-bias=16=-1000 "$question" </dev/null
grep -qw -e 1886 -e 16 "$out" && fail 'a token that was biased away came'
ends 1 run -t 1 -m "$demo" --logit-bias 5000=1 "$question" </dev/null
says '--logit-bias: id 5000 is not in the vocabulary'
ends 0 run -t 1 -m "$demo" --temperature 5 --top-k 0 --top-p 1 --seed 7 -n 20 --ids hello </dev/null
first=$(cat "$out")
ends 0 run -t 1 -m "$demo" --temperature 5 --top-k 0 --top-p 1 --seed 7 -n 20 --ids hello </dev/null
is "$first"
ends 0 run -t 1 -m "$demo" --temperature 5 --top-k 0 --top-p 1 --seed 8 -n 20 --ids hello </dev/null
[ "$first" != "$(cat "$out")" ] || fail 'another seed changed nothing'

# ---- which model ----

ends 0 run -t 1 --temperature 0 "$question" </dev/null
says 'the model is the embedded demo'
is "$answer"
mkdir -p "$HOME/.local/share/facet"
cp "$demo" "$HOME/.local/share/facet/old.facet"
cp "$demo" "$HOME/.local/share/facet/new.facet"
printf x >"$HOME/.local/share/facet/other.gguf"
touch -d 2020-01-01 "$HOME/.local/share/facet/old.facet"
ends 0 tokenize x
says "the model is $HOME/.local/share/facet/new.facet"
FACET_MODEL=$HOME/.local/share/facet/old.facet ends 0 tokenize x
says "the model is $HOME/.local/share/facet/old.facet (\$FACET_MODEL)"
FACET_MODEL=$folder/missing ends 0 tokenize -m "$demo" x
is_silent "$err"
FACET_MODEL=$folder/missing ends 1 tokenize x
FACET_KERNELS=portable ends 0 run -t 1 -m "$demo" --temperature 0 --ids "$question" </dev/null
is "$answer_ids"
says '· CPU, kernels portable ·'
FACET_KERNELS=none ends 1 run -t 1 -m "$demo" "$question" </dev/null
says none
ends 0 run -t 1 -m "$demo" --temperature 0 --ids --memory huge --kv f32 --activations f32 --batch 3 --decode-threads 2 --prefill-threads 1 "$question" </dev/null
is "$answer_ids"

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
