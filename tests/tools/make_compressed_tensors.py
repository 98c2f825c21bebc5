#!/usr/bin/env python3
"""Write small checkpoints with the library compressed-tensors, and what it makes of their codes.

    w4a16     4 bits, groups of 32, bfloat16 scales; the head is left as it is
    floats    the same with float32 scales that no float16 equals, and with static scales of activations
    channel   2, 4 and 8 bits with one scale a row, chosen by targets of all kinds

Weights and configuration come from tests/data/cases/dense, cut to its first layers. decompressed.safetensors holds the library's
weights of some modules in float32.

    pip install torch safetensors transformers 'compressed-tensors==0.20.*'
    python make_compressed_tensors.py --out tests/data/compressed
"""
import argparse, json, pathlib
import torch
from safetensors.torch import load_file, save_file
from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor as Compressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme


def weights(bits, group=None):
    return QuantizationArgs(num_bits=bits, group_size=group, strategy="group" if group else "channel", symmetric=True)


def eight_bits():
    return QuantizationArgs(num_bits=8, strategy="tensor", symmetric=True, dynamic=False)


CASES = {
    "w4a16": {"group_0": QuantizationScheme(targets=["Linear"], weights=weights(4, 32))},
    "floats": {"group_0": QuantizationScheme(targets=["Linear"], weights=weights(4, 32), input_activations=eight_bits(),
                                             output_activations=eight_bits())},
    "channel": {"rest": QuantizationScheme(targets=["Linear"], weights=weights(4)),
                "mlp": QuantizationScheme(targets=["re:.*layers.[1-9].mlp"], weights=weights(2)),
                "one": QuantizationScheme(targets=["model.layers.0.self_attn.o_proj"], weights=weights(8))},
}


def scheme_of(case, name):
    if case == "channel":
        groups = CASES[case]
        return groups["one"] if name.endswith("0.self_attn.o_proj") else groups["mlp"] if ".mlp" in name and ".0." not in name else groups["rest"]
    return CASES[case]["group_0"]


def scales(weight, arguments, case):
    size = arguments.group_size or weight.shape[1]
    peak = weight.float().reshape(weight.shape[0], -1, size).abs().amax(2)
    scale = peak / ((1 << (arguments.num_bits - 1)) - 0.5)
    return scale if case == "floats" else scale.to(torch.bfloat16)


def write(out, case, source, config):
    folder = out / case
    folder.mkdir(parents=True, exist_ok=True)
    tensors, decompressed = {}, {}
    for name, tensor in source.items():
        if tensor.ndim != 2 or "embed" in name or name.startswith("lm_head"):
            tensors[name] = tensor
            continue
        module = name.removesuffix(".weight")
        scheme = scheme_of(case, module)
        scale = scales(tensor, scheme.weights, case)
        made = Compressor.compress({"weight": tensor, "weight_scale": scale}, scheme)
        if scheme.input_activations:
            made["input_scale"], made["output_scale"] = torch.tensor([0.05]), torch.tensor([0.11])
        tensors.update({f"{module}.{k}": v for k, v in made.items()})
        made["weight_scale"] = scale.float()
        if ".1." in name or "o_proj" in name:
            decompressed[name] = Compressor.decompress(made, scheme)["weight"].float()
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    save_file({k: v.contiguous() for k, v in decompressed.items()}, folder / "decompressed.safetensors")
    quantization = QuantizationConfig(config_groups=CASES[case], ignore=["lm_head"], format="pack-quantized",
                                      quantization_status="compressed")
    config = dict(config, quantization_config=json.loads(quantization.model_dump_json()))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/data/compressed"))
    ap.add_argument("--dense", type=pathlib.Path, default=pathlib.Path("tests/data/cases/dense"))
    args = ap.parse_args()
    config = json.loads((args.dense / "config.json").read_text())
    source = load_file(args.dense / "model.safetensors")
    kept, n = {}, 2
    for name, tensor in source.items():
        parts = name.split(".")
        if "layers" not in parts or int(parts[parts.index("layers") + 1]) < n:
            kept[name] = tensor
    config.update(num_hidden_layers=n, layer_types=["sliding_attention", "full_attention"], attention_k_eq_v=False)
    for case in CASES:
        write(args.out, case, kept, config)


if __name__ == "__main__":
    main()
