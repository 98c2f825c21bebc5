#!/bin/sh
# test_house.sh - the rules of the house, held: who may include whom, one idea a file, names, lengths, versions, documents.
set -u
cd "${FACET_SOURCE:-$(dirname "$0")/..}" || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
broken() { # RULE: prints what stdin says against it
    offences=$(cat)
    [ -z "$offences" ] && { echo "ok: $1"; return; }
    printf 'BROKEN: %s\n%s\n' "$1" "$offences" | tee -a "$log"
}
sources() { find src include tests examples bench -name data -prune -o -type f \( -name '*.[chS]' -o -name '*.cc' \) -print 2>/dev/null; }
library() { find src -name cli -prune -o -name server -prune -o -type f -name '*.[ch]' -print; }

# ---- includes point downwards ----

# Lines "FILE INCLUDED" of project headers; a room may include itself and what stands behind it here.
may_include() {
    case $1 in
    base) echo 'facet.h' ;;
    kernels) echo 'base/half.h' ;;
    pack) echo 'facet.h kernels/blocks.h base/*' ;;
    text) echo 'facet.h base/*' ;;
    transformer) echo 'facet.h kernels/* pack/* base/*' ;;
    engine) echo 'facet.h transformer/* text/* pack/* kernels/* base/*' ;;
    convert) echo 'facet.h text/vocabulary.h pack/* kernels/blocks.h base/*' ;;
    server) echo 'facet.h base/*' ;;
    fetch) echo 'facet.h base/*' ;;
    deploy) echo 'facet.h base/*' ;;
    cli) echo 'facet.h base/* server/server.h fetch/fetch.h deploy/deploy.h' ;;
    esac
}
includes() { # FILE
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$1"
}
set -f # patterns below are matched by case, not by the shell
for room in $(ls src); do
    allowed="$room/* $(may_include "$room")"
    for file in $(find "src/$room" -name '*.[ch]'); do
        for header in $(includes "$file"); do
            fine=
            for pattern in $allowed; do
                case $header in $pattern) fine=yes ;; esac
            done
            [ -n "$fine" ] || echo "$file includes $header"
        done
    done
done | broken 'includes point downwards'
set +f

for file in $(sources); do
    includes "$file" | grep -E '\.(c|cc)$' | sed "s|^|$file includes |"
done | broken 'nobody includes a .c file'

grep -nE '#[[:space:]]*include[[:space:]]*<(jansson|xxhash|curl|event|editline|histedit)' -r src/base src/kernels |
    broken 'base and kernels know libc only'
grep -rnE '#[[:space:]]*include[[:space:]]*<(curl|openssl)/' src | grep -v '^src/fetch/' |
    broken 'libcurl and OpenSSL stay in src/fetch'
grep -n '#[[:space:]]*include' include/facet.h | grep -vE '<std(bool|def|int)\.h>' |
    broken 'facet.h includes nothing but stdbool, stddef and stdint'

# ---- what the library does not do ----

call() { # NAMES: an ERE that finds calls of these functions
    printf '(^|[^A-Za-z0-9_>."])(%s) ?\\(' "$1"
}
library | xargs grep -nE "$(call 'printf|fprintf|vprintf|puts|putchar|perror|exit|_exit|abort')" |
    broken 'the library never prints and never exits'
find src/kernels -name '*.[ch]' ! -name check.c | xargs grep -nE "$(call 'malloc|calloc|realloc|free|mmap|fopen|open|pthread_create')" |
    broken 'a kernel knows no memory, file or thread (but for check.c, which makes up numbers)'
grep -rnE '#[[:space:]]*include[[:space:]]*<(immintrin|arm_neon|x86intrin)\.h>' src | grep -v '^src/kernels/' |
    broken 'intrinsics stay in src/kernels'
grep -rnE -- '-ffast-math|-Ofast' CMakeLists.txt CMakePresets.json cmake Makefile | grep -v '^[^:]*:[0-9]*:[[:space:]]*#' |
    broken 'no -ffast-math'

# ---- files ----

for file in $(sources); do
    name=$(basename "$file")
    case $(head -n 1 "$file") in "/* $name - "*) ;; *) echo "$file" ;; esac
done | broken 'the first line of a source file names it and says what it is'
for file in $(find tools tests bench .ci -name data -prune -o -type f \( -name '*.sh' -o -name '*.py' -o -name run \) -print 2>/dev/null); do
    head -n 2 "$file" | grep -qE '^(# |""")[^!]' || echo "$file"
done | broken 'the first lines of a script say what it is'
find tools tests bench .ci -name data -prune -o -type f ! -perm -u+x -print 2>/dev/null | while read -r file; do
    LC_ALL=C head -c 2 "$file" | grep -qx '#!' && echo "$file"
done | broken 'what begins with #! can be run'
find src include tests examples bench tools cmake -name data -prune -o -type f -print 2>/dev/null |
    sed 's|.*/||' | grep -vxE 'README\.md|CMakeLists\.txt' | sort | uniq -d | broken 'file names are unique in the tree'
sources | LC_ALL=C.UTF-8 xargs grep -nE '^.{101,}' | cut -c 1-80 | broken 'no line is longer than 100 columns'
find src -name '*.[chS]' | xargs wc -l | awk '$2 != "total" && $1 > 500 { print $2 ": " $1 " lines" }' |
    broken 'no file in src is longer than 500 lines'
grep -rnE 'TO''DO|FIX''ME' src include tests/*.* examples cmake tools Makefile CMakeLists.txt |
    broken 'nothing is marked as unfinished'

# ---- documents ----

version=$(sed -n 's/^#define FCT_VERSION "\(.*\)"/\1/p' include/facet.h)
{
    grep -q "^project(facet VERSION $version " CMakeLists.txt || echo "CMakeLists.txt is not $version"
    grep -m 1 '^## ' CHANGELOG.md | grep -qF "## $version" || echo "CHANGELOG.md does not begin with $version"
    for page in $(find docs -name "*.1" 2>/dev/null); do
        grep -m 1 '^\.TH' "$page" | grep -qF "$version" || echo "$page is not $version"
    done
} | broken "every place says version $version"

commands() { # FILE: its lines of code blocks, without prompts and comments
    awk '/^```/ { code = !code; next } code' "$1" | sed 's/^\$ //; s/[[:space:]]*#.*//'
}
for document in README.md CONTRIBUTING.md; do
    for target in $(commands "$document" | sed -n 's/^make \([a-z][a-z0-9-]*\).*/\1/p'); do
        grep -q "^$target:" Makefile || echo "$document: make $target"
    done
    for command in $(commands "$document" | sed -n 's/^\(build\/\)\{0,1\}facet \([a-z][a-z0-9-]*\).*/\2/p'); do
        ls src/cli/cmd_"$command".c >/dev/null 2>&1 || echo "$document: facet $command"
    done
done | broken 'the commands that README and CONTRIBUTING show exist'
for document in $(find . -maxdepth 2 -name "*.md" -not -path "./build*" | sed "s,^./,,"); do
    for target in $(grep -oE '\]\([^)# ]+' "$document" | sed 's/^](//' | grep -v '^https\{0,1\}:'); do
        [ -e "$(dirname "$document")/$target" ] || echo "$document: $target"
    done
done | broken 'links between documents lead somewhere'

! [ -s "$log" ]
