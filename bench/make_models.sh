#!/bin/sh
# make_models.sh - makes the files that compare.py measures: for each engine its own, all from one random checkpoint.
#
# usage: bench/make_models.sh [short] [full]        both by default; what is there already is kept
#
#   short    10 layers of E2B's widths, 32768 pieces, for everybody; LiteRT's export of the full one needs too much memory
#   full     E2B whole, for facet and llama.cpp: the checkpoint has 9.3 GB, and as much again is needed
#            on disk for a while
#
# Folder: $FACET_BENCH_HOME, else ~/.cache/facet-bench; FACET=build/facet is the program that converts. FULL_CHECKPOINT=FOLDER
# and FULL_FACET=FILE name a random checkpoint of full size and its q4 file that exist; they are linked then. The peers come
# from install_llama_cpp.sh and install_litert_lm.sh; the files of one that is missing are left out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
home=${FACET_BENCH_HOME:-$HOME/.cache/facet-bench}
facet=${FACET:-$here/../build/facet}
models=$home/models
llama=$home/llama.cpp
litert=$home/litert/bin
pieces=32768 # of the short one
mkdir -p "$models"

say() { printf '== %s\n' "$*"; }
python=python3
python3 -c 'import numpy' 2>/dev/null || python=$litert/python

tokenizer() { # FOLDER [N]: tokenizer files for a checkpoint, cut to N pieces
    source=$HOME/.cache/facet-test/gemma4-tokenizer.json
    [ -f "$source" ] || "$here/../tools/fetch_test_tokenizer.sh"
    if [ $# = 2 ]; then python3 "$here/cut_tokenizer.py" "$source" "$2" "$1/tokenizer.json"; else cp "$source" "$1/tokenizer.json"; fi
    cat >"$1/tokenizer_config.json" <<'END'
{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
END
}

pack() { # CHECKPOINT OUT SCHEME
    [ -f "$2" ] && return
    say "facet $3: $2"
    "$facet" convert "$1" -o "$2" --weights "$3" --quiet
}

gguf() { # CHECKPOINT OUT: every matrix Q4_0, the head too, as facet's q4 has it
    [ -f "$2" ] && return
    [ -x "$llama/build/bin/llama-quantize" ] || { say "no llama.cpp: no $2"; return; }
    [ -x "$litert/python" ] || { say "no Python with PyTorch (install_litert_lm.sh brings it) for the converter: no $2"; return; }
    say "llama.cpp Q4_0: $2"
    "$litert/python" "$here/convert_gguf.py" "$llama" "$1" "$2.bf16" >"$2.log" 2>&1 ||
        { tail -n 5 "$2.log" >&2; exit 1; }
    "$llama/build/bin/llama-quantize" --pure "$2.bf16" "$2.part" Q4_0 ${JOBS:+"$JOBS"} >>"$2.log" 2>&1 ||
        { tail -n 5 "$2.log" >&2; exit 1; }
    rm "$2.bf16"
    mv "$2.part" "$2"
}

litertlm() { # CHECKPOINT CACHE_LENGTH PREFILL_LENGTHS OUT
    [ -f "$4" ] && return
    [ -x "$litert/litert-torch" ] || { say "no LiteRT-LM: no $4"; return; }
    say "LiteRT-LM, int4 per channel, a cache of $2: $4 (takes minutes)"
    folder=$4.export
    "$litert/litert-torch" export_hf --model="$1" --output_dir="$folder" --prefill_lengths="[$3]" \
        --cache_length="$2" --quantization_recipe=dynamic_wi4_afp32 --externalize_embedder=True --single_token_embedder=True \
        --export_vision_encoder=False --export_audio_encoder=False --moe_exports_implementation=eager >"$4.log" 2>&1 ||
        { tail -n 5 "$4.log" >&2; exit 1; }
    mv "$folder/model.litertlm" "$4"
    rm -r "$folder"
}

make_short() {
    checkpoint=$models/e2b-short
    if [ ! -f "$checkpoint/tokenizer.json" ]; then
        say "checkpoint: $checkpoint"
        "$python" "$here/make_random_model.py" --out "$checkpoint" --layers 10 --vocab $pieces
        tokenizer "$checkpoint" $pieces
    fi
    pack "$checkpoint" "$models/short-q4.facet" q4
    pack "$checkpoint" "$models/short-q4-g128.facet" q4-g128
    gguf "$checkpoint" "$models/short-q4_0.gguf"
    litertlm "$checkpoint" 512 128 "$models/short-512.litertlm"
    litertlm "$checkpoint" 4096 128,512 "$models/short-4096.litertlm"
}

make_full() {
    checkpoint=$models/e2b-random
    if [ ! -f "$checkpoint/tokenizer.json" ]; then
        say "checkpoint: $checkpoint"
        mkdir -p "$checkpoint"
        if [ -n "${FULL_CHECKPOINT:-}" ]; then
            for file in "$FULL_CHECKPOINT"/*; do ln -sf "$(readlink -f "$file")" "$checkpoint/"; done
        else
            "$python" "$here/make_random_model.py" --out "$checkpoint"
        fi
        tokenizer "$checkpoint"
    fi
    if [ -n "${FULL_FACET:-}" ] && [ ! -f "$models/e2b-q4.facet" ]; then ln -sf "$(readlink -f "$FULL_FACET")" "$models/e2b-q4.facet"; fi
    pack "$checkpoint" "$models/e2b-q4.facet" q4
    gguf "$checkpoint" "$models/e2b-q4_0.gguf"
}

[ $# -gt 0 ] || set -- short full
for what in "$@"; do
    case $what in short) make_short ;; full) make_full ;; *) echo "usage: make_models.sh [short] [full]" >&2; exit 2 ;; esac
done
ls -l "$models"/*.facet "$models"/*.gguf "$models"/*.litertlm 2>/dev/null || true
