#!/bin/sh
# test_cli_protocol.sh - `facet bench --protocol` and `--compare` on the demo, with machines that are folders.
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

fail() {
    printf 'FAIL: %s\n' "$1"
    head -n 40 "$out" "$err"
    failures=$((failures + 1))
}
# ends CODE ARGUMENTS...: bench ends with this code; its output is in $out and $err.
ends() {
    code=$1
    shift
    "$FACET" bench "$@" >"$out" 2>"$err" </dev/null
    got=$?
    [ "$got" = "$code" ] || fail "facet bench $* ended with $got, not $code"
}
has() { grep -qF -e "$1" "$out" || fail "not in the output: $1"; }
lacks() { ! grep -qF -e "$1" "$out" || fail "in the output: $1"; }
says() { grep -qF -e "$1" "$err" || fail "nothing on stderr about: $1"; }

# machine NAME THROTTLED THOUSANDTHS GOVERNOR: a Pi 5 as a folder.
machine() {
    cpu=$folder/$1/sys/devices/system/cpu/cpu0/cpufreq zone=$folder/$1/sys/class/thermal/thermal_zone0
    mkdir -p "$cpu" "$zone" "$folder/$1/vcgencmd" "$folder/$1/proc/device-tree"
    echo "throttled=$2" >"$folder/$1/vcgencmd/get_throttled"
    echo cpu-thermal >"$zone/type"
    echo "$3" >"$zone/temp"
    echo "$4" >"$cpu/scaling_governor"
    echo cpufreq-dt >"$cpu/scaling_driver"
    echo 2400000 >"$cpu/scaling_cur_freq"
    echo 2400000 >"$cpu/cpuinfo_max_freq"
    printf 'Raspberry Pi 5 Model B Rev 1.0\0' >"$folder/$1/proc/device-tree/model"
    printf '   VDD_CORE_A current(7)=2.5A\n   VDD_CORE_V volt(15)=0.9V\n' >"$folder/$1/vcgencmd/pmic_read_adc"
}
machine good 0x0 51650 ondemand
machine slow 0x50005 75000 powersave
machine warm 0x20000 75000 ondemand
protocol() { # CODE MACHINE NAME ARGUMENTS...
    code=$1 on=$2 name=$3
    shift 3
    ends "$code" --protocol "$demo" --root "$folder/$on" -o "$folder/$name" --cool-down 0 -t 1 "$@"
}

# ---- a clean run ----

protocol 0 good a
has '# facet bench, protocol 1: a clean run'
has '- machine: Raspberry Pi 5 Model B Rev 1.0, '
has '- temperature: 52 °C before, 52 °C at most'
grep -qE '^- runs with: facet [0-9.]+, on the CPU, kernels [a-z0-9_]+, memory ' "$out" || fail 'nothing about what runs' # F79
grep -qE '^- clock:( 2.40 GHz at least)? of 2.40 GHz, governor ondemand$' "$out" || fail 'nothing about the clock'
has '- throttling: none'
has '- power: PMIC: 1 rail of the board'
has 'too short for this meter'
for prompt in fact list code summary document; do
    grep -qE "^\| $prompt +\|.*\| +same \|$" "$out" || fail "no figures of $prompt, or its answers differ"
done
grep -q '"clean": true' "$folder/a.json" || fail 'the JSON does not say that it is clean'
sed '/^## Answers/,$d' "$folder/a.md" | diff -B - "$out" >/dev/null || fail 'the page is not what was printed'
grep -q '^- fact: The capital of ' "$folder/a.md" || fail 'the page has no answers'
ls "$folder" | grep -q part && fail 'a part file was left'

# ---- runs that are not clean are kept, and marked ----

protocol 1 slow b
has ': NOT A CLEAN RUN'
has '- not clean: the board was slowed down while it ran: under-voltage, throttled'
has '- not clean: the governor "powersave" holds the clock down'
has '- throttling: under-voltage, throttled (0x50005 before the run)'
lacks 'a clean run'
says 'not to be quoted'
grep -q '"clean": false' "$folder/b.json" || fail 'the JSON does not say that it is not clean'
grep -q 'NOT A CLEAN RUN' "$folder/b.md" || fail 'the page does not say that it is not clean'

grep -q 'note: it was still warm' "$folder/b.md" || fail 'nothing about a machine that stayed warm'

# A machine that cools down is waited for, and a meter of one's own is asked.
(sleep 2; echo 50000 >"$folder/warm/sys/class/thermal/thermal_zone0/temp") &
began=$(date +%s)
ends 0 --protocol "$demo" --root "$folder/warm" -o "$folder/d" --cool-down 600 -t 1 --power-command 'echo 5.5 W' --json
[ $(($(date +%s) - began)) -ge 2 ] || fail 'nobody waited for a warm machine'
wait
has '"celsius_at_most": '
grep -q 'still warm' "$folder/d.md" && fail 'it was not waited for'
for line in '- temperature: 75 °C before' '- power: command: echo 5.5 W' \
    'note: slowed down before the run, some time since boot: clock capped'; do
    grep -qF -e "$line" "$folder/d.md" || fail "not on the page: $line"
done
protocol 1 good e --power-command 'echo none'
says 'it has to print watts'
[ ! -e "$folder/e.json" ] || fail 'a result without its meter'

# ---- without the protocol, a throttled board is marked too (fault F75) ----

ends 0 -m "$demo" -p 8 -n 4 -r 1 --root "$folder/good"
has 'board          52 °C at most, 2.40 GHz at least, governor ondemand, not throttled'
lacks 'NOT CLEAN'
ends 0 -m "$demo" -p 8 -n 4 -r 1 --root "$folder/slow"
has 'governor powersave, throttled'
has 'NOT CLEAN      the board was slowed down while it ran: under-voltage, throttled'
ends 0 -m "$demo" -p 8 -n 4 -r 1 --root "$folder/slow" --json
has '"slowed_bits": 5, "not_clean": ["the board was slowed down'

# ---- comparing ----

ends 0 --compare "$folder/a.json" "$folder/d.json"
has '# facet bench, protocol 1: B beside A'
has '- answers: the same'
lacks 'NOT CLEAN'
[ "$(grep -cE '^\| (prompt|answer), tok/s +\| (fact|list|code|summary|document) +\| +[0-9.]+ \| +[0-9.]+ \| +[0-9.]+ \|$' "$out")" = 10 ] ||
    fail 'not ten speeds'
ends 0 --compare "$folder/a.json" "$folder/a.json"
[ "$(grep -c '| 1.000 |$' "$out")" -ge 19 ] || fail 'a result is not like itself'
ends 0 --compare "$folder/a.json" "$folder/b.json"
has '- B IS NOT CLEAN: the board was slowed down while it ran'
sed 's/"facet_protocol": 1/"facet_protocol": 7/' "$folder/a.json" >"$folder/other.json"
ends 1 --compare "$folder/a.json" "$folder/other.json"
says 'not comparable: A is of protocol 1, B of protocol 7'
sed 's/"checksum": "./"checksum": "!/' "$folder/a.json" >"$folder/other.json"
ends 0 --compare "$folder/a.json" "$folder/other.json"
has '- OTHER MODEL, checksum: '
head -c 1000 "$folder/a.json" >"$folder/cut.json"
ends 1 --compare "$folder/a.json" "$folder/cut.json"
says 'cut.json: line '
ends 1 --compare "$folder/a.json" "$folder/none.json"
"$FACET" bench -m "$demo" -p 8 -n 4 -r 1 --json --quiet >"$folder/free.json"
ends 1 --compare "$folder/free.json" "$folder/a.json"
says 'no result of facet bench --protocol'

# ---- usage ----

ends 2 --compare "$folder/a.json"
ends 2 --protocol --compare "$folder/a.json" "$folder/a.json"
ends 2 --protocol -p 100
ends 2 -o "$folder/x"
ends 2 "$demo"
ends 2 --protocol -m "$demo" "$demo"
ends 1 --protocol "$demo" -c 100 --root "$folder/good"
says 'a context of 100 is too short'

[ "$failures" = 0 ] && echo 'all as it should be'
[ "$failures" = 0 ]
