#!/bin/sh
# install_llama_cpp.sh - builds llama.cpp's llama-bench, llama-completion, llama-quantize and keeps its converter.
#
# usage: bench/install_llama_cpp.sh        folder: $FACET_BENCH_HOME, else ~/.cache/facet-bench; JOBS=N compilers at a time
#
# The sources are those inside PyPI's source package llama-cpp-python: it holds the whole of llama.cpp, the converter and
# the tools too. (npm's node-llama-cpp is compiled already, but has neither llama-bench nor the converter.) The instruction
# sets are named one by one, as far as this CPU has them, and AMX is never among them: GGML_NATIVE would take whatever the
# CPU claims, and a virtual machine may claim AMX and refuse it.
set -eu
home=${FACET_BENCH_HOME:-$HOME/.cache/facet-bench}
version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
package=llama_cpp_python-$version
tree=$home/llama.cpp

mkdir -p "$home"
if [ "$(cat "$tree/facet-bench-version" 2>/dev/null)" != "$version" ]; then
    work=$(mktemp -d "$home/unpack.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    python3 -m pip download --quiet --no-deps --no-binary llama-cpp-python --dest "$work" "llama-cpp-python==$version"
    echo "$sha256  $work/$package.tar.gz" | sha256sum -c --quiet
    tar xzf "$work/$package.tar.gz" -C "$work" "$package/vendor/llama.cpp"
    rm -rf "$tree"
    mv "$work/$package/vendor/llama.cpp" "$tree"
    rm -rf "$work"
    echo "$version" >"$tree/facet-bench-version"
fi

has() { grep -m 1 '^flags' /proc/cpuinfo | grep -qw "$1"; }
flags=-DGGML_NATIVE=OFF
case $(uname -m) in
x86_64)
    for pair in sse4_2:SSE42 avx:AVX avx2:AVX2 fma:FMA f16c:F16C bmi2:BMI2 avx_vnni:AVX_VNNI avx512vl:AVX512 \
        avx512_vnni:AVX512_VNNI avx512vbmi:AVX512_VBMI avx512_bf16:AVX512_BF16; do
        if has "${pair%:*}"; then flags="$flags -DGGML_${pair#*:}=ON"; else flags="$flags -DGGML_${pair#*:}=OFF"; fi
    done
    ;;
*) flags=-DGGML_NATIVE=ON ;;
esac
echo "llama.cpp of $package: $flags"

# shellcheck disable=SC2086 # flags are words
cmake -S "$tree" -B "$tree/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
    -DLLAMA_OPENSSL=OFF -DGGML_CCACHE=OFF $flags >"$tree/cmake.log" || { tail -n 20 "$tree/cmake.log" >&2; exit 1; }
cmake --build "$tree/build" --parallel "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" --target llama-bench llama-quantize llama-completion
echo "$flags" >"$tree/facet-bench-flags"
"$tree/build/bin/llama-bench" --help >/dev/null
echo "llama.cpp is in $tree/build/bin"
