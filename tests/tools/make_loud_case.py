#!/usr/bin/env python3
# make_loud_case.py - tests/data/cases/loud: a Gemma 4 whose hidden states and branches leave the range of float16.
#
#   pip install torch 'transformers==5.24.*' safetensors
#   tests/tools/make_loud_case.py FOLDER_OF_make_reference.py tests/data/cases
#
# Random weights as in the other cases, but down_proj of one layer times 2^18 (what it gives is then normed), and the norm behind another
# one's MLP times 2^15 (that goes into the stream as it is). The script fails if no hidden state and no branch got above 65,504.
import pathlib
import sys

import torch
from safetensors.torch import load_file
from transformers import Gemma4ForCausalLM

sys.path.insert(0, sys.argv[1])
import make_reference  # noqa: E402

LOUD = {"model.layers.1.mlp.down_proj.weight": 2.0**18, "model.layers.2.post_feedforward_layernorm.weight": 2.0**15}


def largest(model):
    found = {"hidden state": 0.0, "branch": 0.0}

    def keep(name):
        def hook(module, args, out):
            value = out[0] if isinstance(out, tuple) else out
            found[name] = max(found[name], float(value.abs().max()))
        return hook

    for layer in model.model.layers:
        layer.register_forward_hook(keep("hidden state"))
        layer.mlp.down_proj.register_forward_hook(keep("branch"))
    return found


def main():
    randomize = make_reference.randomize

    def loud(model, generator):
        randomize(model, generator)
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.mul_(LOUD.get(name, 1.0))

    make_reference.randomize = loud
    out = pathlib.Path(sys.argv[2])
    config = make_reference.e2b_like(num_hidden_layers=6, num_kv_shared_layers=2, vocab_size=256,
                                     vocab_size_per_layer_input=256,
                                     layer_types=["sliding_attention", "full_attention"] * 3)
    make_reference.write_case(out, "loud", 15, 40, "hidden states and branches above 65,504", config)
    model = Gemma4ForCausalLM.from_pretrained(out / "loud", dtype=torch.float32, attn_implementation="eager").eval()
    reference = load_file(out / "loud" / "reference.safetensors")
    found = largest(model)
    with torch.no_grad():
        model(input_ids=reference["input_ids"][None], use_cache=False)
    print(found)
    assert min(found.values()) > 65504, found


main()
