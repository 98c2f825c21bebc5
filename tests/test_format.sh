#!/bin/sh
# test_format.sh - the tree is as clang-format-14 would have it (make format).
set -u
cd "$FACET_SOURCE" || exit 1
command -v clang-format-14 >/dev/null || { echo "SKIP: there is no clang-format-14"; exit 77; }
find src include tests examples bench -name data -prune -o -type f \( -name '*.[ch]' -o -name '*.cc' \) -print 2>/dev/null |
    xargs clang-format-14 --dry-run -Werror 2>&1 | grep -E 'error:' | cut -d: -f1 | sort | uniq -c | {
    found=0
    while read -r n file; do
        echo "$file: $n places"
        found=1
    done
    exit $found
}
