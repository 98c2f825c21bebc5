#!/bin/sh
# try_deb.sh - installs a package in a fresh system and asks the demo: try_deb.sh PACKAGE.deb SUITE [MIRROR]
#
#   tools/try_deb.sh build/facet_0.1.0-1_amd64.deb trixie
#   tools/try_deb.sh build/facet_0.1.0-1_amd64.deb noble http://archive.ubuntu.com/ubuntu
#
# Needs root, debootstrap, a network and 1 GB in $TMPDIR. A package for another kind of machine needs its programs to run here
# (binfmt_misc, as the package qemu-user-static sets it up). Signatures of an archive whose keys are not here are not checked.
set -eu
[ $# -ge 2 ] || { echo "usage: tools/try_deb.sh PACKAGE.deb SUITE [MIRROR]" >&2; exit 2; }
package=$1 suite=$2 mirror=${3:-http://deb.debian.org/debian}
[ "$(id -u)" = 0 ] || { echo "try_deb: needs root" >&2; exit 1; }
architecture=$(dpkg-deb -f "$package" Architecture)
case $mirror in
*ubuntu*) components=main,universe script=/usr/share/debootstrap/scripts/gutsy ;; # what all of Ubuntu's are
*) components=main script= ;;
esac
keys=
[ "$script" = "" ] || [ -f /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || keys=--no-check-gpg

root=$(mktemp -d) && chmod 755 "$root"
leave() {
    umount "$root/proc" 2>/dev/null || :
    rm -rf --one-file-system "$root"
}
trap leave EXIT
# shellcheck disable=SC2086 # a word, or none
debootstrap $keys --variant=minbase --arch="$architecture" --components=$components "$suite" "$root" "$mirror" $script >"$root.log" 2>&1 || {
    tail -n 5 "$root.log" >&2
    exit 1
}
rm -f "$root.log"
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$package" "$root/root/facet.deb"
chroot "$root" sh -euc '
    export DEBIAN_FRONTEND=noninteractive HOME=/root
    . /etc/os-release
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends /root/facet.deb >/root/said 2>&1 || { tail -n 5 /root/said; exit 1; }
    answer=$(facet run --quiet "The capital of France is")
    echo "$PRETTY_NAME, $(dpkg --print-architecture): $(facet --version), $(facet --kernels | head -n 1)"
    echo "$answer"
    [ "$answer" = "The capital of France is **Paris**." ]
    facet verify | tail -n 1 | tee /root/verdict
    grep -qx "RESULT: PASS" /root/verdict'
