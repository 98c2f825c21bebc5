#!/bin/sh
# test_cli_run.sh - running a model from the command line: prompts, answers, ids, which model it is.
# The expected ids are those of the first entry in data/text/demo_expected.json: the reference implementation's.
set -u
. "$FACET_SOURCE/tests/cli_steps.sh"
needs_demo
question='The capital of France is'
prompt_ids=2,15,387,277,397,393,380,623,375,16,277,15,385,277
answer='The capital of France is **Paris**.'
answer_ids='397 393 380 623 375 1886 16'

# ---- prompts ----

ends 0 run -t 1 -m "$demo" --temperature 0 "$question"
is "$answer"
says '7 tokens ·'
says '· prompt 14 at'
says '· 0 reused · context 20/4096 ·'
[ "$(tail -c 1 "$out" | od -An -c | tr -d ' ')" = '\n' ] || fail 'no newline at the end'
# shellcheck disable=SC2086 # several arguments are meant
ends 0 run -t 1 -m "$demo" --temperature 0 $question
is "$answer"
ends 0 run -t 1 -m "$demo" --temperature=0 --quiet -- "$question"
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
ends 0 run -t 1 -m "$demo" --raw -n 1 --json '<bos><turn|>'
raw=$("$FACET" tokenize -m "$demo" '<bos><turn|>' | wc -w)
has "\"prompt_tokens\": $((raw + 1)),"
[ "$raw" -gt 2 ] || fail 'control names in a prompt were recognised'
ends 0 run -t 1 -m "$demo" --system 'Be brief.' --temperature 0 "$question"
ends 1 run -t 1 -m "$demo" -c 10 "$question"
says 'facet run: '

# ---- ids ----

ends 0 run -t 1 -m "$demo" --temperature 0 --ids "$question"
is "$answer_ids"
ends 0 run -t 1 -m "$demo" --temperature 0 --ids --prompt-ids "$prompt_ids"
is "$answer_ids"
printf '%s\n' "$prompt_ids" | tr , '\n' >"$folder/ids"
ends 0 run -t 1 -m "$demo" --temperature 0 --ids --prompt-ids "@$folder/ids"
is "$answer_ids"
ends 1 run -t 1 -m "$demo" --ids --prompt-ids 2,99999
says 'id 99999 is not in the vocabulary, which ends at 2047'
ends 0 run -t 1 -m "$demo" --temperature 0 --json --prompt-ids "$prompt_ids"
has '"ids": [397, 393, 380, 623, 375, 1886, 16]'
has '"reason": "end"'
has '"decode_steps": 6'

# ---- sampling and ends ----

ends 0 run -t 1 -m "$demo" --temperature 0 -n 2 "$question"
says 'ended by length'
ends 0 run -t 1 -m "$demo" --temperature 0 --json --stop nowhere --stop '**' "$question"
has '"text": "The capital of France is "'
has '"reason": "stop"'
ends 0 run -t 1 -m "$demo" --temperature 0 --stop '**' "$question"
is 'The capital of France is '
ends 0 run -t 1 -m "$demo" --temperature 0 --ids -n 6 --logit-bias 1886=-1000 --logit-bias=16=-1000 "$question"
grep -qw -e 1886 -e 16 "$out" && fail 'a token that was biased away came'
ends 1 run -t 1 -m "$demo" --logit-bias 5000=1 "$question"
says '--logit-bias: id 5000 is not in the vocabulary'
ends 0 run -t 1 -m "$demo" --temperature 5 --top-k 0 --top-p 1 --seed 7 -n 20 --ids hello
first=$(cat "$out")
ends 0 run -t 1 -m "$demo" --temperature 5 --top-k 0 --top-p 1 --seed 7 -n 20 --ids hello
is "$first"
ends 0 run -t 1 -m "$demo" --temperature 5 --top-k 0 --top-p 1 --seed 8 -n 20 --ids hello
[ "$first" != "$(cat "$out")" ] || fail 'another seed changed nothing'

# ---- which model ----

ends 0 run -t 1 --temperature 0 "$question"
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
FACET_KERNELS=portable ends 0 run -t 1 -m "$demo" --temperature 0 --ids "$question"
is "$answer_ids"
says '· CPU, kernels portable, memory '
FACET_KERNELS=none ends 1 run -t 1 -m "$demo" "$question"
says none
ends 0 run -t 1 -m "$demo" --temperature 0 --ids --memory huge --kv f32 --activations f32 --batch 3 --decode-threads 2 --prefill-threads 1 "$question"
is "$answer_ids"

finish
