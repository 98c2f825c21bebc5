#!/bin/sh
# test_cli_output.sh - what commands write: ids, files, JSON; and that they notice when it does not get out.
set -u
. "$FACET_SOURCE/tests/cli_steps.sh"
needs_demo
FACET_MODEL=$demo
export FACET_MODEL

size_of() { wc -c <"$1" | tr -d ' '; }

# ---- tokenize ----

ends 0 tokenize 'The capital of France is'
is '397 393 380 623 375'
ends 0 tokenize --json 'The capital of France is'
is '{"ids": [397, 393, 380, 623, 375]}'
ends 0 tokenize --special '<bos><turn|>'
is '2 16'
printf '  two  spaces\n\n\tand \303\251, \360\237\230\200\000.\r\n' >"$folder/text"
"$FACET" tokenize <"$folder/text" 2>/dev/null >"$folder/ids"
"$FACET" tokenize --decode <"$folder/ids" 2>/dev/null | cmp -s - "$folder/text" || fail 'a text does not come back'
ends 0 tokenize --decode --json 2 397
is '{"text": "<bos>The"}'
ends 0 tokenize </dev/null
is ''
ends 0 tokenize --decode </dev/null
is ''
ends 1 tokenize --decode 2048
says 'id 2048 is not in the vocabulary'
ends 1 tokenize --decode 5 five
says '"five" is not a token id'
printf '\377' >"$folder/text"
ends 0 tokenize <"$folder/text"
says '1 bad part became U+FFFD'

# ---- render ----

conversation='{"messages": [{"role": "user", "content": "The <turn|> is"}], "kwargs": {"add_generation_prompt": true}}'
printf '%s' "$conversation" >"$folder/conversation"
ends 0 render <"$folder/conversation"
has '{"text": "<bos><|turn>user\nThe <turn|> is<turn|>\n<|turn>model\n", "ids": [2, 15, '
plain=$(tr ',' '\n' <"$out" | grep -cx ' 16')
ends 0 render --reference <"$folder/conversation"
[ "$(tr ',' '\n' <"$out" | grep -cx ' 16')" = $((plain + 1)) ] || fail '--reference recognises no control name'
printf '%s' '{"messages": [{"role": "user", "content": "a\u0000b"}]}' >"$folder/conversation"
ends 0 render <"$folder/conversation"
has '{"text": "<bos><|turn>user\na\u0000b<turn|>\n", "ids": [2, 15, '
printf '{"messages": [5]}' >"$folder/conversation"
ends 1 render <"$folder/conversation"
is ''
printf '{"messages": ' >"$folder/conversation"
ends 1 render <"$folder/conversation"

# ---- logits ----

ids=2,15,387,277,397,393,380,623,375,16,277,15,385,277
ends 0 logits -t 1 --ids $ids -o "$folder/all.npy"
[ "$(size_of "$folder/all.npy")" = $((128 + 14 * 2048 * 4)) ] || fail 'all.npy has another size'
[ "$(head -c 10 "$folder/all.npy" | od -An -tx1 | tr -d ' \n')" = 934e554d505901007600 ] || fail 'no npy header'
head -c 127 "$folder/all.npy" | tail -c 117 >"$out"
has "{'descr': '<f4', 'fortran_order': False, 'shape': (14, 2048), }"
[ "$(head -c 128 "$folder/all.npy" | tail -c 1 | od -An -tx1 | tr -d ' ')" = 0a ] || fail 'the header does not end in a newline'
printf '%s' "$ids" >"$folder/ids"
ends 0 logits -t 1 --last --ids "@$folder/ids" -o "$folder/last.npy"
[ "$(size_of "$folder/last.npy")" = $((128 + 2048 * 4)) ] || fail 'last.npy has another size'
tail -c 8192 "$folder/all.npy" >"$folder/all.tail"
tail -c 8192 "$folder/last.npy" | cmp -s - "$folder/all.tail" || fail 'the last row differs with --last'
ends 1 logits -t 1 --ids 5000 -o "$folder/none.npy"
ends 1 logits -t 1 --ids $ids -c 4 -o "$folder/none.npy"
ends 1 logits -t 1 --ids $ids -o "$folder/missing/none.npy"
ends 1 logits -t 1 --ids $ids -o /dev/full
says '/dev/full'
# Slowly, so that it is ended while it writes.
{ seq 2 2047 && seq 2 2040; } >"$folder/many"
FACET_KERNELS=portable "$FACET" logits -t 1 --batch 1 --ids "@$folder/many" -o "$folder/none.npy" 2>"$err" &
tries=0
while [ ! -e "$folder/none.npy.part" ] && [ "$tries" -lt 500 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
[ -e "$folder/none.npy.part" ] || fail 'logits does not begin to write'
kill -TERM $!
wait $!
[ $? -eq 143 ] || fail 'SIGTERM does not end logits'
[ -z "$(find "$folder" -name 'none*')" ] || fail 'a failure left a file'

# ---- verify, info, bench ----

ends 0 verify -t 1
tail -n 1 "$out" | grep -qx 'RESULT: PASS' || fail 'no RESULT: PASS'
[ "$(grep -cE '^(PASS|SKIP) [^:]+(: .*)?$' "$out")" = $(($(wc -l <"$out") - 1)) ] || fail 'lines that are no checks'
ends 0 verify -t 1 --json "$demo"
has '"result": "PASS"'
cp "$demo" "$folder/damaged.facet"
chmod u+w "$folder/damaged.facet"
printf '\125' | dd of="$folder/damaged.facet" bs=1 seek=$(($(size_of "$demo") / 2)) conv=notrunc 2>/dev/null
ends 1 verify -t 1 "$folder/damaged.facet"
has 'FAIL checksum'
tail -n 1 "$out" | grep -qx 'RESULT: FAIL' || fail 'no RESULT: FAIL'
ends 0 info "$demo"
grep -qE '^weights +q4$' "$out" || fail 'info does not tell the weights'
grep -qE '^  layer_types +4 x sliding_attention, full_attention, 4 x sliding_attention, full_attention$' "$out" ||
    fail 'info tells each layer on its own'
grep -qE '^  layers\.0\.self_attn\.q_proj\.weight +U8 +' "$out" || fail 'info has no table of tensors'
ends 0 info "$FACET_SOURCE/tests/data/compressed/w4a16"
grep -qE '^generation +-$' "$out" || fail 'info shows nothing for what is empty'
ends 0 info --json "$demo"
has '"tensors":'
ends 1 info "$folder/ids"
ends 0 bench -t 1 -p 8 -n 4 -d 5 -r 2
has '8 tokens at depth 5:'
has '3 steps at depth 13:'
ends 0 bench -t 1 -p 8 -n 4 -r 1 --json
for key in prefill_tokens_per_second decode_tokens_per_second bytes_per_token read_bytes_per_second bandwidth_share \
    load_seconds first_token_seconds peak_resident_bytes; do
    grep -qE "\"$key\": [0-9.]+(e[-+]?[0-9]+)?[,}]" "$out" || fail "bench has no number $key"
done
for key in '"threads": [1-9]' '"kernels": "[a-z]' '"memory": "(map|huge)"' '"decode_steps": 3,' '"prompt_tokens": 8,'; do
    grep -qE "$key" "$out" || fail "bench has no $key"
done
ends 0 bench -t 1 -p 0 -n 2 -r 1 --json
has '"prefill_tokens_per_second": null'
has '"first_token_seconds": null'
ends 0 bench -t 1 -p 4 -n 1 -r 1 --json
has '"decode_tokens_per_second": null'

# ---- an answer that does not get out ----

# loses COMMAND...: with a full disk, and with stdout closed, the command fails and says why.
loses() {
    if [ -c /dev/full ]; then
        "$FACET" "$@" >/dev/full 2>"$err" <"$folder/input"
        got=$?
        [ "$got" = 1 ] || fail "facet $* to a full disk ended with $got"
        says 'standard output: No space left on device'
    fi
    "$FACET" "$@" >&- 2>"$err" <"$folder/input"
    got=$?
    [ "$got" = 1 ] || fail "facet $* with stdout closed ended with $got"
    says 'standard output: Bad file descriptor'
}
printf '{"messages": [{"role": "user", "content": "x"}], "prefix": "", "answer": "x"}' >"$folder/input"
loses --help
loses --version
loses run --help
loses run -t 1 -n 3 hello
loses run -t 1 -n 3 --json hello
loses run -t 1 -n 3 --ids hello
loses tokenize hello
loses tokenize --decode 397
loses render
loses parse
loses verify -t 1
loses info "$demo"
loses bench -t 1 -p 2 -n 2 -r 1
"$FACET" tokenize </dev/null 2>&- >&- <&- && fail 'tokenize without standard input succeeds'

# breaks COMMAND...: when the reader goes away it ends with 1 and says nothing about it.
breaks() {
    { "$FACET" "$@" 2>"$err"; echo $? >"$folder/code"; } | head -c 1 >/dev/null
    [ "$(cat "$folder/code")" = 1 ] || fail "facet $* without a reader ended with $(cat "$folder/code")"
    ! grep -q 'standard output' "$err" || fail "facet $* tells of the pipe that its reader closed"
}
breaks run -t 1 --quiet --temperature 0 --ids --logit-bias 1=-1000 --logit-bias 16=-1000 hello

finish
