#!/bin/sh
# test_example.sh - the example of README answers from the embedded demo, and says what is wrong with a file that is no model.
set -u
ask=$FACET_BUILD/examples/ask
[ -z "${FACET_EMULATOR:-}" ] || ask="$FACET_EMULATOR $ask"

said=$($ask) || { echo "the example failed"; exit 1; }
printf '%s\n' "$said"
[ "$said" = 'The capital of France is **Paris**.' ] || exit 1

if said=$($ask "$FACET_SOURCE/README.md" 2>&1); then echo "README.md was taken for a model"; exit 1; fi
case $said in *README.md*) ;; *) echo "the message does not name the file: $said"; exit 1 ;; esac
