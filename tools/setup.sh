#!/bin/sh
# setup.sh - sees what is missing to build facet and, on Debian and its family, installs it.
#
#   tools/setup.sh build     what `make` and `make demo` need
#   tools/setup.sh check     that, and what `make check` needs
#   tools/setup.sh arm       that, and what `make pi5` and `make check-arm` need on another kind of machine
#   tools/setup.sh arm-deb   that, and the libraries that `make deb-pi5` links besides
#
# Says nothing, asks nothing and needs no network when nothing is missing. With CI=true it never asks for a password.
set -u

purpose=${1:-build}
case $purpose in build | check | arm | arm-deb) ;; *) echo "usage: tools/setup.sh build|check|arm|arm-deb" >&2; exit 2 ;; esac

say() { printf 'set-up: %s\n' "$*" >&2; }

# ---- which system is this? ----

os_family() {
    if [ "$(uname -s)" = Darwin ]; then echo macos; return; fi
    for id in $(. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}"); do
        case $id in
        debian | ubuntu | raspbian) echo debian; return ;;
        fedora | rhel | centos) echo fedora; return ;;
        arch | alpine) echo "$id"; return ;;
        esac
    done
    echo other
}
family=$(os_family)

# ---- what is missing? ----

# need PRESENT DEBIAN FEDORA ARCH ALPINE MACOS: unless the command PRESENT succeeds, this family's package is missing.
missing=
need() {
    if eval "$1" >/dev/null 2>&1; then return; fi
    case $family in
    fedora) missing="$missing $3" ;;
    arch) missing="$missing $4" ;;
    alpine) missing="$missing $5" ;;
    macos) missing="$missing $6" ;;
    *) missing="$missing $2" ;;
    esac
}
has() { command -v "$1"; }
has_library() { has pkg-config && pkg-config --exists "$1"; }
has_libc_headers() { echo '#include <stdio.h>' | cc -E -; } # gcc does not depend on them
has_package() { dpkg-query -W -f '${Status}' "$1" | grep -q 'ok installed'; }

need 'has cc'               gcc            gcc                 gcc      build-base   gcc
need has_libc_headers       libc6-dev      glibc-devel         glibc    musl-dev     gcc
need 'has make'             make           make                make     make         make
need 'has cmake'            cmake          cmake               cmake    cmake        cmake
need 'has pkg-config'       pkg-config     pkgconf-pkg-config  pkgconf  pkgconf      pkg-config
need 'has_library jansson'  libjansson-dev jansson-devel       jansson  jansson-dev  jansson
need 'has_library libxxhash' libxxhash-dev xxhash-devel        xxhash   xxhash-dev   xxhash
need 'has_library libedit'  libedit-dev    libedit-devel       libedit  libedit-dev  libedit
need 'has_library libcurl' libcurl4-openssl-dev libcurl-devel   curl     curl-dev     curl
need 'has_library libcrypto' libssl-dev    openssl-devel       openssl  openssl-dev  openssl
need 'has_library cmocka'   libcmocka-dev  libcmocka-devel     cmocka   cmocka-dev   cmocka
if [ "$purpose" != build ]; then
    need 'has c++'          g++            gcc-c++             gcc      g++          gcc
fi

cross=
case $purpose in arm*) arm=yes ;; *) arm= ;; esac
if [ -n "$arm" ] && [ "$(uname -m)" != aarch64 ]; then
    cross=yes
    [ "$family" = debian ] || { say "the cross build is set up on Debian and its family only"; exit 1; }
    need 'has aarch64-linux-gnu-gcc' gcc-aarch64-linux-gnu
    need 'has qemu-aarch64' qemu-user
    for library in libc6-dev libjansson-dev libxxhash-dev libedit-dev libcmocka-dev; do
        need "has_package $library:arm64" $library:arm64
    done
    [ "$purpose" = arm ] || for library in libcurl4-openssl-dev libssl-dev; do
        need "has_package $library:arm64" $library:arm64
    done
fi

# What tests can do without: they say SKIP. The formatter is pinned to one version that not every release has. An ssh server
# starts by itself where systemd runs, which nobody asked for: there it is left to the person.
optional=
if [ "$purpose" = check ] && [ "$family" = debian ]; then
    has clang-format-14 >/dev/null || optional="$optional clang-format-14"
    [ -x /usr/sbin/sshd ] || [ -d /run/systemd/system ] || optional="$optional openssh-server"
fi

[ -n "$missing$optional" ] || exit 0

# ---- install it ----

as_root=
may_be_root_unasked() {
    [ "$(id -u)" = 0 ] && return 0
    has sudo >/dev/null && sudo -n true 2>/dev/null && as_root="sudo -n"
}
may_be_root() {
    may_be_root_unasked && return 0
    [ "${CI:-}" != true ] && [ -t 0 ] && has sudo >/dev/null && as_root=sudo
}
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@" >&2 </dev/null
}
known() { apt-cache show "$1" >/dev/null 2>&1; }
install_debian() {
    updated=
    if [ -n "$cross" ] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
        $as_root dpkg --add-architecture arm64 && apt update && updated=yes
    fi
    if [ -z "$updated" ] && ! known libjansson-dev; then apt update && updated=yes; fi
    apt install --no-install-recommends "$@" && return 0
    [ -z "$updated" ] && apt update && apt install --no-install-recommends "$@" # the lists may just be old
}

if [ "$family" = debian ]; then
    if [ -n "$missing" ]; then
        may_be_root || { say "missing, and this user may not install: apt-get install$missing"; exit 1; }
        say "installing$missing"
        # shellcheck disable=SC2086 # a list of words
        install_debian $missing || { say "could not install$missing"; exit 1; }
    fi
    for package in $optional; do
        may_be_root_unasked && known "$package" || continue
        say "installing $package"
        install_debian "$package" || say "without $package a test says SKIP"
    done
    exit 0
fi

case $family in
fedora) install="dnf install" ;;
arch) install="pacman -S" ;;
alpine) install="apk add" ;;
macos) install="brew install" ;;
*) install="(by their Debian names)" ;;
esac
say "missing; please do: $install$missing"
[ "$family" != macos ] || say "facet is written for Linux: nobody has built it on macOS yet"
exit 1
