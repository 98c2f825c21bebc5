#!/bin/sh
# test_cli_chat.sh - conversations whose prompts are piped: what goes where, commands, files, the end of the context.
# Faults F66, F67, F68 and F70 among others.
set -u
. "$FACET_SOURCE/tests/cli_steps.sh"
needs_demo
FACET_MODEL=$demo
export FACET_MODEL

# chat CODE PROMPTS OPTIONS...: printf's PROMPTS into facet chat; it ends with this code.
chat() {
    code=$1
    prompts=$2
    shift 2
    # shellcheck disable=SC2059 # the prompts are a format: they hold \n and \0
    printf "$prompts" | "$FACET" chat -t 1 --temperature 0 "$@" >"$out" 2>"$err"
    got=$?
    [ "$got" = "$code" ] || fail "facet chat $* ended with $got, not $code"
}
lines() { [ "$(wc -l <"$out")" = "$1" ] || fail "not $1 lines"; }
paris='The capital of France is **Paris**.'
lima='The capital of Peru is **Lima**.'

# ---- what goes where ----

chat 0 'The capital of France is\nThe capital of Peru is\n'
is "$paris
$lima"
says '7 tok · '
says ' tok/s · 0 reused · context 20/4096'
says ' tok/s · 20 reused · context '
grep -q "$(printf '\033')" "$out" "$err" && fail 'an escape sequence where no terminal is'
chat 0 'The capital of France is' # the last line without its newline
is "$paris"
[ "$(tail -c 1 "$out" | od -An -c | tr -d ' ')" = '\n' ] || fail 'no newline at the end'
chat 0 '' --quiet
is ''
[ ! -s "$err" ] || fail 'something on stderr with --quiet'
"$FACET" chat </dev/null >"$out" 2>"$err" || fail 'an empty input is no fault'
chat 0 '\n   \nThe capital of France is\n\n'
lines 1
chat 0 '\357\273\277The capital of France is\r\nThe capital of Peru is\r\n'
is "$paris
$lima"
chat 0 'The capital of\377 France is\n'
says 'a prompt is not valid UTF-8: 1 bad part became U+FFFD'
chat 0 'The capital of France is\0The capital of Peru is' -0
is "$paris
$lima"
chat 0 '/stats\0' -0 # a prompt, no command
says_not 'answers'
lines 1
chat 0 'The capital of France is\n' -n 3
is 'The capital of'
says 'cut by -n'
chat 2 '' --on-full never
chat 2 '' prompt

# ---- commands ----

chat 0 '/help\n/stats\n/set\n/quit\nThe capital of France is\n'
is ''
says '/retry'
says 'positions used'
says 'temperature'
chat 1 '/nonsense\n/statz\nThe capital of France is\n'
is "$paris"
says '/nonsense is no command'
says 'did you mean /stats?'
chat 1 '/s\n'
says 'may be several commands'
chat 0 '/q\nThe capital of France is\n'
is ''
chat 0 '//quit\n/etc/passwd\n'
lines 2
chat 1 '/undo\n/retry\n/edit x\n/read\n/read /none\n/save\n/load none\n/set nothing 1\n/set top-p 7\n/think hard\n'
for word in /undo: /retry: /edit: /read: '/none: ' /save: chats/none: 'no setting "nothing"' '/set top-p: 7' '/think hard'; do
    says "$word"
done
chat 0 'The capital of France is\n/retry\n/edit The capital of Peru is\n/undo\nThe capital of France is\n'
is "$paris
$paris
$lima
$paris"
says '13 reused · context 20/4096' # the prompt is kept but for its last token, whose logits are wanted
chat 0 '/tokens The capital of France is\n/system Be brief.\n/system\n/system -\n/system\n'
says '5 tokens'
says 'Be brief.'
says 'there is no system message'
chat 0 '/set tokens 2\nThe capital of France is\n/set temperature 0.5\n/set\n'
is 'The capital'
says 'temperature       0.5'
chat 0 '/set stop Par\nThe capital of France is\n/set\n/set stop -\n/retry\n' --stop capital
is "The capital of France is **
$paris"
says 'stop              Par'
says 'stop is off from now on'
chat 0 '/think on\n/think 5\n/think fold\n'
says 'thinking is on, at most 5 tokens; thoughts are folded to one line'
printf '\357\273\277The capital of\r\n' >"$folder/text"
chat 0 "/read $folder/text\nFrance is\n"
is "$paris"
printf 'a\000b' >"$folder/text"
chat 1 "/read $folder/text\n"
says 'is no text'

# ---- kept conversations ----

chat 0 'The capital of France is\n/save talk\n/save talk.json\n/save '"$folder"'/talk.json\n' --system 'Be brief.'
kept=$HOME/.local/share/facet/chats
cmp -s "$folder/talk.json" "$kept/talk.json" || fail 'the two files differ'
grep -qF '**Paris**' "$folder/talk.json" || fail 'the answer is not in the file'
chat 0 'The capital of Peru is\n' --load talk
is "$lima"
says 'talk: 1 turn and a system message, 33 tokens are held'
says ' · 33 reused · '
chat 0 "/load $folder/talk.json\n/retry\n"
is "$paris"
says ' · 0 reused · '
chat 0 '/load talk\nThe capital of Peru is\n/load talk\n/retry\n' # back to the state of the file
is "$lima
$paris"
chat 0 '/load talk\nThe capital of Peru is\n' -n 3 --kv q8 # another cache reads the ids again
is 'The capital of'
printf '\377' | dd of="$kept/talk" bs=1 seek=20000 conv=notrunc 2>/dev/null
chat 0 'The capital of Peru is\n' --load talk
is "$lima"
says 'only the conversation is taken, and read again: '
says 'damaged'
says ' · 0 reused · '
head -c 100 "$kept/talk" >"$kept/cut"
chat 1 'The capital of Peru is\n' --load cut
is ''
chat 1 '' --load nothing
chat 0 '/save empty\n'
chat 0 '/load empty\nThe capital of Peru is\n'
is "$lima"

# An answer may hold NULs; the piece of U+0001 tells their id.
nul=$(($(printf '\001' | "$FACET" tokenize 2>/dev/null) - 1))
chat 0 "Hello\n/save $folder/nul.json\n/save nul\n/load $folder/nul.json\n/load nul\n/tokens\n" -n 2 --logit-bias $nul=1000
[ "$(od -An -c "$out" | tr -d ' ')" = '\0\0\n' ] || fail 'the answer is not two NULs and a newline'
says '15 tokens in the conversation'

for country in France Peru; do
    chat 0 "The capital of $country is\n" --session "$folder/session"
done
is "$lima"
says '20 tokens are held'
says ' · 20 reused · '
"$FACET" run -t 1 --temperature 0 --session "$folder/session" 'The capital of Norway is' >"$out" 2>"$err" </dev/null ||
    fail 'run --session failed'
is 'The capital of Norway is **Oslo**.'
says ' · 43 reused · '
chat 0 '/undo\n/tokens\n' --session "$folder/session"
says '3 turns, '
chat 0 '/tokens\n' --session "$folder/session"
says '2 turns, ' # what was taken back is so in the file
printf '\377' | dd of="$folder/session" bs=1 seek=20000 conv=notrunc 2>/dev/null
"$FACET" run -t 1 --temperature 0 --session "$folder/session" 'The capital of Norway is' >"$out" 2>"$err" </dev/null ||
    fail 'run --session failed'
says 'only the conversation is taken, and read again: '
is 'The capital of Norway is **Oslo**.'
"$FACET" run -t 1 --raw --session "$folder/session" x >"$out" 2>"$err" </dev/null
[ $? = 2 ] || fail 'run --raw --session is no usage error'

echo '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "The capital of France is"}]}' >"$folder/talk.json"
chat 0 "/load $folder/talk.json\n/system\n/retry\n"
is "$paris"
for text in '{"messages": 5}' '{"messages": [{"role": "tool", "content": ""}]}' '{"messages": [{"role": "user"}]}' \
    '{"messages": [], "not_sent": 4}' '{"messages": [], "system": 4}' '{"messages": [], "system": "a\u0000b"}' '[' ''; do
    echo "$text" >"$folder/bad.json"
    chat 1 "The capital of France is\n/load $folder/bad.json\nThe capital of Peru is\n"
    says bad.json
    is "$paris
$lima"
done
chat 1 "The capital of France is\n/save /proc/none/talk\n"

# ---- the end of the context ----

question='Tell me the capital of the country that is called France, please: the capital of France is'
chat 1 "$question\n$question\n$question\n$question\n$question\n/stats\n" -c 128
says 'context full: with this prompt the conversation has'
says '/set on-full roll'
chat 0 "$question\n$question\n$question\n$question\n$question\n/stats\n/save $folder/rolled.json\n" -c 128 --on-full roll \
    --system 'Answer.'
says 'no longer sent (the system message is)'
lines 5
grep -q '"not_sent": [1-9]' "$folder/rolled.json" || fail 'nothing was rolled away'
chat 1 "$question\n" -c 16 --on-full roll
says 'context full: this prompt alone has 35 tokens, and 15 fit'
long=$(printf '%0300d' 0) # refused, and nothing is dropped for it
chat 1 "The capital of Peru is\n$long\n/tokens\n/stats\n" -c 64 --on-full roll
is "$lima"
says 'context full: this prompt alone has'
says_not 'no longer sent'
says_not 'no longer fit'
chat 0 'The capital of France is\n' -c 24 -n 0 --logit-bias 1500=1000
says 'cut at the end of the context'
says '0 of 24 positions are left'

finish
