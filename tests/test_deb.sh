#!/bin/sh
# test_deb.sh - the Debian package: what is in it, what it asks for, and that its program answers.
set -eu
command -v dpkg-deb >/dev/null && command -v readelf >/dev/null || { echo "SKIP: there is no dpkg-deb or readelf"; exit 77; }
grep -q '^FACET_STATIC:.*=ON' "$FACET_BUILD/CMakeCache.txt" && static=yes || static=
[ -z "${FACET_EMULATOR:-}" ] || static=yes
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build=$folder/build
mkdir "$build"
cp "$FACET_BUILD/CMakeCache.txt" "$build"

if [ -n "$static" ]; then # of a static program there is no package, and that is said
    ln -s "$FACET_BUILD/facet" "$build/facet"
    ! sh "$FACET_SOURCE/tools/make_deb.sh" "$build" >"$folder/said" 2>&1
    grep -q 'is static' "$folder/said"
    exit 0
fi
if grep -q '^CMAKE_C_FLAGS:[A-Z]*=.*-fsanitize' "$FACET_BUILD/CMakeCache.txt"; then
    echo "SKIP: nobody packages the sanitizers' libraries"
    exit 77
fi
grep -q '^FACET_PULL:BOOL=ON' "$FACET_BUILD/CMakeCache.txt" || { echo "SKIP: built without the downloader"; exit 77; }

ln -s "$FACET_BUILD/facet" "$build/facet"
# F73: no symbol of a C library newer than Debian 12's.
package=$(sh "$FACET_SOURCE/tools/make_deb.sh" "$build" 2>"$folder/said") || {
    cat "$folder/said" # a system newer than Debian 12 makes programs that Debian 12 cannot run, and says so
    grep -q 'needs glibc' "$folder/said" && exit 77
    exit 1
}

depends=$(dpkg-deb -f "$package" Depends)
for alternative in 'libcurl4 (>= 7.85) | libcurl4t64' 'libssl3 (>= 3.0.0) | libssl3t64' libjansson4 libedit2 libxxhash0 'libc6 (>= 2.'; do
    case $depends in *"$alternative"*) ;; *) echo "Depends lacks $alternative: $depends"; exit 1 ;; esac
done

root=$folder/root
dpkg-deb -x "$package" "$root"
version=$(sed -n 's/^#define FCT_VERSION "\(.*\)"/\1/p' "$FACET_SOURCE/include/facet.h")
[ "$(dpkg-deb -f "$package" Version)" = "$version-1" ]
[ "$("$root/usr/bin/facet" --version)" = "facet $version" ]
[ "$(HOME=$folder "$root/usr/bin/facet" run --quiet 'The capital of France is')" = 'The capital of France is **Paris**.' ]
gzip -dc "$root/usr/share/man/man1/facet.1.gz" | cmp - "$FACET_SOURCE/docs/facet.1"
grep -q '^License: Apache-2.0' "$root/usr/share/doc/facet/copyright"
grep -q 'GeoNames' "$root/usr/share/doc/facet/copyright"
(dpkg-deb -e "$package" "$folder/control" && cd "$root" && md5sum --quiet -c "$folder/control/md5sums")
[ -z "$(find "$root" -perm /022 ! -type l)" ] || { echo "others may write into the package"; exit 1; }

# The same tree gives the same bytes.
cp "$package" "$folder/first.deb"
sh "$FACET_SOURCE/tools/make_deb.sh" "$build" >/dev/null 2>&1
cmp "$folder/first.deb" "$package"

if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --allow-root "$package"
fi
