#!/bin/sh
# test_neon_instructions.sh - one token times 4-bit weights takes at most 6.3 instructions for 32 weights on a Cortex-A76.
#
# Counted in the code (tools/count_instructions.py). llama.cpp takes 8.25, which other compilers than gcc 12 are held to.
set -u
object=${FACET_BUILD:-build-pi5}/CMakeFiles/facet.dir/src/kernels/neon_dotprod.c.o
[ -f "$object" ] || { echo "SKIP: no build for aarch64"; exit 77; }
grep -q 'CMAKE_BUILD_TYPE:[A-Z]*=Release' "${FACET_BUILD:-build-pi5}/CMakeCache.txt" || { echo "SKIP: not optimized"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }

limit=8.25
grep -aq 'GCC: ([^)]*) 12\.' "$object" && limit=6.3
result=$(python3 "${FACET_SOURCE:-.}/tools/count_instructions.py" "$object" q4_32_pair) || exit 1
echo "$result; at most $limit"
count=$(echo "$result" | sed 's/^[^ ]* \([0-9.]*\) .*/\1/')
awk "BEGIN { exit !($count > 4 && $count <= $limit) }" # unpacking and sdot alone are 4
