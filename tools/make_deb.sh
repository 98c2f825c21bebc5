#!/bin/sh
# make_deb.sh - a Debian package of the program in a build folder: make_deb.sh BUILD; prints the package's name.
#
# One package serves Debian 12 and 13, Raspberry Pi OS and Ubuntu 24.04: it asks for libraries by the names that any of them
# has, and for no C library newer than the oldest of them has. DEBEMAIL and DEBFULLNAME name who made it.
set -eu

build=$1
newest_glibc=2.36 # Debian 12
source=$(cd "$(dirname "$0")/.." && pwd)
program=$build/facet
say() { echo "make_deb: $*" >&2; }

# ---- what the program is and needs ----

machine=$(LC_ALL=C readelf -h "$program" | sed -n 's/^ *Machine: *//p')
case $machine in
*X86-64*) architecture=amd64 ;;
AArch64) architecture=arm64 ;;
*) say "$program is built for $machine: there is no such package"; exit 1 ;;
esac

packages_of() { # SONAME: what may provide it
    case $1 in
    libc.so.6 | libm.so.6 | ld-linux-*) ;;
    libxxhash.so.0) echo 'libxxhash0' ;;
    libjansson.so.4) echo 'libjansson4 (>= 2.14)' ;;
    libedit.so.2) echo 'libedit2' ;;
    libcurl.so.4) echo 'libcurl4 (>= 7.85) | libcurl4t64' ;;
    libcrypto.so.3) echo 'libssl3 (>= 3.0.0) | libssl3t64' ;;
    *) say "no package is known for $1"; return 1 ;;
    esac
}
sonames=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$sonames" ] || { say "$program is static: the package is made of a dynamic one"; exit 1; }
glibc=$(readelf -V "$program" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -uV | tail -n 1)
newest=$(printf '%s\n' "$glibc" $newest_glibc | sort -V | tail -n 1)
[ "$newest" = $newest_glibc ] || { say "$program needs glibc $glibc, Debian 12 has $newest_glibc: build it there"; exit 1; }
depends="libc6 (>= $glibc)"
for soname in $sonames; do
    packages=$(packages_of "$soname")
    [ -z "$packages" ] || depends="$depends, $packages"
done

# ---- the tree ----

version=$(sed -n 's/^#define FCT_VERSION "\(.*\)"/\1/p' "$source/include/facet.h")-1
maintainer="${DEBFULLNAME:-The facet maintainers} <${DEBEMAIL:-maintainers@facet.invalid}>"
seconds=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || stat -c %Y "$source/CHANGELOG.md")}
SOURCE_DATE_EPOCH=$seconds
export SOURCE_DATE_EPOCH

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 755 "$root"
doc=$root/usr/share/doc/facet
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/man/man1" "$doc"
strip=$(sed -n 's/^CMAKE_STRIP:[A-Z]*=//p' "$build/CMakeCache.txt")
"${strip:-strip}" --strip-unneeded --remove-section=.comment --remove-section=.note -o "$root/usr/bin/facet" "$program"
chmod 755 "$root/usr/bin/facet"
gzip -9n <"$source/docs/facet.1" >"$root/usr/share/man/man1/facet.1.gz"
gzip -9n <"$source/CHANGELOG.md" >"$doc/changelog.gz"
for document in CHAT.md STRUCTURED_OUTPUT.md RASPBERRY_PI.md; do
    [ ! -f "$source/docs/$document" ] || cp "$source/docs/$document" "$doc/"
done
gzip -9n >"$doc/changelog.Debian.gz" <<END
facet ($version) unstable; urgency=medium

  * Packaged by tools/make_deb.sh; changelog.gz has what changed.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$seconds")
END
{
    echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
    echo 'Upstream-Name: facet'
    echo 'Comment:'
    sed 's/^$/./; s/^/ /' "$source/NOTICE"
    printf '\nFiles: *\nCopyright: %s the facet maintainers\nLicense: Apache-2.0\n' "$(date -u -d "@$seconds" +%Y)"
    printf ' On Debian systems the whole licence is in /usr/share/common-licenses/Apache-2.0.\n'
} >"$doc/copyright"

cat >"$root/DEBIAN/control" <<END
Package: facet
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Recommends: openssh-client
Section: science
Priority: optional
Description: run Gemma 4 E2B on small computers
 facet converts a checkpoint of Google's Gemma 4 E2B into one packed file, runs
 it on the CPU, talks with it, checks its answers and measures them. It is made
 for a Raspberry Pi 5 with 8 GB and for x86-64 machines.
 .
 A small demo model, which knows the capitals of the world, is part of the
 program.
END
(cd "$root" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2) >"$root/DEBIAN/md5sums"

package=$build/facet_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >&2
echo "$package"
