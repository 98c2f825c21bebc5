#!/bin/sh
# test_install.sh - what is installed is enough: the program runs, and a program is built with pkg-config against the library.
set -eu
[ -z "${FACET_EMULATOR:-}" ] || { echo "SKIP: built for another machine"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$FACET_BUILD" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/moved"
root=$folder/moved

version=$(sed -n 's/^#define FCT_VERSION "\(.*\)"/\1/p' "$root/include/facet.h")
[ "$("$root/bin/facet" --version)" = "facet $version" ]
[ -s "$root/share/man/man1/facet.1" ]

pc=$(find "$root" -name facet.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion facet)" = "$version" ]
sanitizers=$(sed -n 's/^CMAKE_C_FLAGS:[A-Z]*=//p' "$FACET_BUILD/CMakeCache.txt" | tr ' ' '\n' | grep '^-fsanitize' || true)
cd "$folder"
# shellcheck disable=SC2046 # lists of words
cc $sanitizers "$FACET_SOURCE/examples/ask.c" $(pkg-config --cflags --libs facet) -o ask
[ "$(./ask)" = 'The capital of France is **Paris**.' ]
