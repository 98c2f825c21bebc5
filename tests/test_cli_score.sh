#!/bin/sh
# test_cli_score.sh - scoring and calibrating from the command line: perplexity, saved logits, another model, usage.
set -u
. "$FACET_SOURCE/tests/cli_steps.sh"
needs_demo

for country in France Norway Peru Japan Kenya Chile; do
    echo "The capital of $country is where the government of $country sits."
done >"$folder/text"

ends 0 score -m "$demo" --text "$folder/text" --chunk 32 --save "$folder/demo.logits"
matches '^perplexity [0-9.]+ ± [0-9.]+ \([0-9]+ chunks of 32 tokens, [0-9]+ predictions in their second halves\)$'
[ "$(wc -l <"$out")" = 1 ] || fail 'more than the perplexity'
perplexity=$(sed 's/ (.*//' "$out")

# The saved logits know text and chunks; against them, and against itself, the model is at no distance.
for reference in "$folder/demo.logits" "$demo"; do
    ends 0 score -m "$demo" --against "$reference" --text "$folder/text" --chunk 32
    matches "^$perplexity"
    matches '^divergence from it 0.00000'
    matches '^same best token 100.00 %'
done
ends 0 score -m "$demo" --against "$folder/demo.logits" --json
matches '"agreement": 1'
matches '"chunk": 32'

# Another scheme of the same checkpoint is at some distance.
ends 0 convert "$FACET_SOURCE/tests/data/demo/checkpoint" -o "$folder/f32.facet" --weights f32 --quiet
ends 0 score -m "$folder/f32.facet" --against "$folder/demo.logits"
matches '^divergence from it 0\.[0-9]*[1-9]'

# Ids instead of a text.
ends 0 tokenize -m "$demo" "$(cat "$folder/text")"
cp "$out" "$folder/ids"
ends 0 score -m "$demo" --ids "@$folder/ids" --chunk 32 --quiet
[ -s "$err" ] && fail 'something on stderr'

# Statistics for convert, from the float model.
ends 0 calibrate -m "$folder/f32.facet" --text "$folder/text" --chunk 32 -o "$folder/statistics"
ends 0 info "$folder/statistics"
matches 'layers.0.self_attn.q_proj.weight'
ends 0 convert "$FACET_SOURCE/tests/data/demo/checkpoint" -o "$folder/q4.facet" --statistics "$folder/statistics" --quiet
ends 0 score -m "$folder/q4.facet" --against "$folder/demo.logits" --json
ends 0 convert "$FACET_SOURCE/tests/data/demo/checkpoint" -o "$folder/q4.facet" --rounding absmax --quiet
ends 1 convert "$FACET_SOURCE/tests/data/demo/checkpoint" -o "$folder/q4.facet" --statistics "$folder/demo.logits"
says 'no file of statistics'
ends 2 calibrate -m "$demo" --text "$folder/text"
says '-o is missing'
ends 2 calibrate -m "$demo" -o "$folder/x"
says '--text is missing'

ends 2 score -m "$demo"
says '--text is missing'
ends 2 score -m "$demo" --text a --ids 1,2
ends 1 score -m "$demo" --text "$folder/nothing"
says "$folder/nothing"
ends 1 score -m "$demo" --ids 5
says 'at least 4'
ends 1 score -m "$demo" --against "$folder/text"
says "there is no text to score"
finish
