#!/bin/sh
# install_litert_lm.sh - installs LiteRT-LM, and what exports a checkpoint for it, in a Python environment of its own.
#
# usage: bench/install_litert_lm.sh        folder: $FACET_BENCH_HOME, else ~/.cache/facet-bench; needs 8 GB there
#
# From PyPI, the two packages and those that decide what they do, pinned. litert-torch brings PyTorch with its CUDA libraries.
set -eu
home=${FACET_BENCH_HOME:-$HOME/.cache/facet-bench}
environment=$home/litert

mkdir -p "$home"
[ -x "$environment/bin/pip" ] || python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check litert-lm==0.18.1 litert-torch==0.10.0 ai-edge-litert==2.3.0 \
    litert-converter==0.5.0 ai-edge-quantizer==0.10.0 torch==2.14.1 torchao==0.18.0 transformers==5.24.0 numpy==2.4.6 \
    safetensors==0.8.0 sentencepiece==0.2.3

# litert-torch imports TensorFlow's copy of the schema of its own file format; ai-edge-litert has the same module.
packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
if ! "$environment/bin/python" -c 'import tensorflow.lite.python.schema_py_generated' 2>/dev/null; then
    stub=$packages/tensorflow/lite/python
    mkdir -p "$stub"
    touch "$packages/tensorflow/__init__.py" "$packages/tensorflow/lite/__init__.py" "$stub/__init__.py"
    echo 'from ai_edge_litert.schema_py_generated import *' >"$stub/schema_py_generated.py"
fi
"$environment/bin/litert-lm" --version
