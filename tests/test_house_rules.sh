#!/bin/sh
# test_house_rules.sh - test_house.sh finds what it is there to find: every rule is broken in a copy of the tree.
set -u
source=$(cd "${FACET_SOURCE:-$(dirname "$0")/..}" && pwd) || exit 1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 1
mkdir -p src/base src/kernels src/engine include tests docs cmake tools examples bench
cp "$source/include/facet.h" include
cp "$source/CMakeLists.txt" "$source/Makefile" .
printf '# Changes\n\n## 0.0.9\n' >CHANGELOG.md
printf '```\nmake nothing-of-the-kind\n```\nSee [this](docs/nowhere.md).\n' >README.md
cp README.md CONTRIBUTING.md
echo 'set(CMAKE_C_FLAGS -ffast-math)' >cmake/flags.cmake
echo '#include <math.h>' >>include/facet.h
cat >src/base/twice.c <<'END'
/* another.c - does not name itself. */
#include "engine/twice.c"
#include <jansson.h>
#include <curl/curl.h>
END
cp src/base/twice.c src/engine
cat >src/kernels/wide.c <<'END'
/* wide.c - takes memory. */
int *take(void) { return malloc(4); }
END
cat >src/engine/loud.c <<'END'
/* loud.c - prints. */
#include <immintrin.h>
void loud(void) { printf("loud"); }
END
printf '/* %s: TO%s */\n' later DO >>src/engine/loud.c
{ echo '/* long.c - too long. */'; yes '' | head -n 500; } >src/engine/long.c
printf '/* %0100d */\n' 0 >>src/engine/loud.c
printf '#!/bin/sh\n' >tools/nameless.sh

found=$(FACET_SOURCE=$tree sh "$source/tests/test_house.sh" 2>/dev/null)
status=$?
rules=$(grep -cE "broken ['\"]" "$source/tests/test_house.sh")
broken=$(printf '%s\n' "$found" | grep -c '^BROKEN: ')
printf '%s\n' "$found" | grep '^ok: '
echo "$broken of $rules rules were found broken"
[ "$status" != 0 ] && [ "$broken" = "$rules" ]
