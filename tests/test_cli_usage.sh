#!/bin/sh
# test_cli_usage.sh - help, versions, and what a wrong command line is told.
set -u
. "$FACET_SOURCE/tests/cli_steps.sh"

# refuses MESSAGE ARGUMENTS...: usage error, told on stderr only.
refuses() {
    message=$1
    shift
    ends 2 "$@"
    says "$message"
    is_silent "$out"
}

# ---- help ----

ends 0 --help
is_silent "$err"
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out")
[ "$(echo "$commands" | wc -l)" -ge 8 ] || fail 'help lists few commands'
for command in $commands; do
    for flag in --help -h; do
        ends 0 "$command" $flag
        is_silent "$err"
        grep -q "^Usage: facet $command" "$out" || fail "$command $flag has no usage line"
        awk 'length($0) > 80 { exit 1 }' "$out" || fail "$command $flag is wider than 80 columns"
        grep -qF -e "$command " "$out" || fail "$command is not in its own help"
    done
done
"$FACET" --help | LC_ALL=C awk 'length($0) > 80 { exit 1 }' || fail '--help is wider than 80 columns'
ends 0 --version
grep -qx 'facet [0-9]*\.[0-9]*\.[0-9]*' "$out" || fail 'no version'
ends 0 run --help --no-such-option

# F79: which path and which instructions: the CPU's, whatever else a machine may have.
FACET_KERNELS='' && unset FACET_KERNELS
ends 0 --kernels
is_silent "$err"
head -n 1 "$out" | grep -qx 'CPU, kernels [a-z0-9_]*' || fail 'no kernels'
grep -q '^CPU, kernels portable' "$out" || fail 'portable kernels do not run here'
FACET_KERNELS=portable ends 0 --kernels
[ "$(head -n 1 "$out")" = 'CPU, kernels portable' ] || fail 'kernels that are forced are not the first'
FACET_KERNELS=xyzzy ends 1 --kernels
says "facet: kernels 'xyzzy' do not exist or cannot run on this CPU"

# ---- commands ----

refuses 'no command'
refuses 'unknown command "rnu"; did you mean run?' rnu
refuses 'unknown command "tokenise"; did you mean tokenize?' tokenise
refuses 'unknown command "xyzzy"' xyzzy
refuses 'unknown command ""' ''
refuses 'unknown option --verison; did you mean --version?' --verison

# ---- options ----

refuses 'unknown option --temprature; did you mean --temperature?' run --temprature 1
refuses 'unknown option --top; did you mean --top-k?' run --top 1
refuses 'unknown option --xyzzy' run --xyzzy
refuses 'unknown option -z' run -z
refuses 'write -- before an argument that begins with -' run -5
refuses '--temperature needs a value (T)' run --temperature
refuses '-n needs a value (N)' run -n
refuses '--raw takes no value' run --raw=yes
refuses '--kv: "f61" is not one of auto, f16, q8, f32; did you mean f16?' run --kv f61
refuses '--memory: "" is not one of' run --memory=
refuses '--weights: "q5" is not one of q4,' convert a -o b --weights q5

# ---- numbers ----

for value in '' x 5x 0x5 1e3 1.5 ' 5' +5 99999999999999999999; do
    refuses "-n: \"$value\" is not a whole number" run -n "$value" hello
done
refuses '-n: -1 is not between 0 and 2147483647' run -n -1
refuses '--threads: 1025 is not between 0 and 1024' run --threads=1025
for value in '' x 1x nan inf 0x1 1,5 1e999; do
    refuses "--temperature: \"$value\" is not a number" run --temperature "$value"
done
refuses '--temperature: -1 is not between 0 and 100' run --temperature -1
refuses '--top-p: 1.01 is not between 0 and 1' run --top-p 1.01
for value in '' -1 1x 18446744073709551616; do
    refuses "--seed: \"$value\" is not a whole number below 2^64" run --seed "$value"
done

# ---- lists ----

refuses '--prompt-ids: no token ids' run --prompt-ids ''
refuses '--prompt-ids: "x" is not a token id' run --prompt-ids 1,x,3
refuses '--prompt-ids: "-1" is not a token id' run --prompt-ids 1,-1
refuses '--prompt-ids: "2147483648" is not a token id' run --prompt-ids 2147483648
printf '1 2\n3;4\n' >"$folder/ids"
refuses "$folder/ids: \"3;4\" is not a token id" run --prompt-ids "@$folder/ids"
printf ' \n' >"$folder/ids"
refuses "$folder/ids: no token ids" run --prompt-ids "@$folder/ids"
ends 1 run --prompt-ids "@$folder/missing"
says "$folder/missing: No such file or directory"
refuses '--logit-bias: "5" is not of the form ID=B' run --logit-bias 5
refuses '--logit-bias: "x" is not a token id' run --logit-bias x=1
refuses '--logit-bias: "hot" is not a number' run --logit-bias 5=hot
refuses '--stop: the text is empty' run --stop ''

# ---- what does not go together, and what is missing ----

refuses '--prompt-ids and a PROMPT exclude each other' run --prompt-ids 1 hello
refuses '--raw has no chat format' run --raw --system x hello
refuses '--special has no meaning with --decode' tokenize --decode --special 5
refuses 'unknown option --context' tokenize --context 64 hello # no network runs there
refuses 'unknown option -t' render -t 2
refuses 'SOURCE is missing' convert -o "$folder/x"
refuses '-o is missing' convert "$folder"
refuses 'unexpected argument "b"' convert a b -o c
refuses '--ids is missing' logits -o x.npy
refuses '-o is missing' logits --ids 1
refuses 'nothing to measure' bench -p 0 -n 1
refuses 'give one' verify -m a b

# ---- files that are not there, or are no models ----

for command in run bench tokenize render; do
    ends 1 "$command" -m "$folder/missing.facet"
    says "$folder/missing.facet"
done
ends 1 verify "$folder/missing.facet"
ends 1 convert "$folder/missing" -o "$folder/out.facet"
says "$folder/missing"
[ ! -e "$folder/out.facet" ] || fail 'a failed conversion left a file'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' >"$folder/pointer.facet"
ends 1 run -m "$folder/pointer.facet" hello
says "$folder/pointer.facet"
for command in run verify tokenize; do # what is not converted yet
    ends 1 "$command" -m "$FACET_SOURCE/tests/data/gguf/gemma4.gguf"
    cat "$out" >>"$err"
    says 'is a GGUF file; `facet convert` makes a packed model of it'
    ends 1 "$command" -m "$FACET_SOURCE/tests/data/demo/checkpoint"
    cat "$out" >>"$err"
    says 'is a folder; `facet convert` makes a packed model'
done
ends 1 convert "$FACET_SOURCE/models/demo.facet" -o "$folder/out.facet" # what needs it no more
says 'a packed model, which needs no conversion'

# ---- parse needs no model ----

parses() { # INPUT EXPECTED
    printf '%s' "$1" | "$FACET" parse >"$out" 2>"$err" || fail "parse of $1"
    [ "$(cat "$out")" = "$2" ] || fail "parse of $1 is not $2"
}
parses '{"prefix": "<|turn>model\n", "answer": "Four.<turn|>"}' '{"role":"assistant","content":"Four."}'
for input in '' '[]' '{"prefix": "x"}' '{"prefix": "x", "answer": 5}' '{"prefix": "x", "answer": "\u0000"}' '{"prefix": '; do
    printf '%s' "$input" | "$FACET" parse >"$out" 2>"$err" && fail "parse accepts $input"
    says 'standard input: '
    is_silent "$out"
done

finish
