#!/usr/bin/env python3
"""make_random_model.py - writes a Gemma 4 E2B (or E4B) checkpoint with random weights, in the public layout.

The project's own tool for measuring speed and memory, the one that its peers were first measured with. Text part only,
bfloat16, sharded safetensors with an index, names as in the public checkpoint (9.3 GB for E2B). Answers are noise; shapes,
sizes and the work per token are the real ones.

    pip install numpy
    python make_random_model.py --out e2b-random            full size
    python make_random_model.py --out e2b-short --layers 10 --vocab 32768    a smaller one with the same widths
"""
import argparse, json, pathlib, struct
import numpy as np

SHARD_BYTES = 2_000_000_000


SIZES = {"e2b": dict(layers=35, shared=20, hidden_size=1536, intermediate_size=6144, num_key_value_heads=1, period=5, wide=True),
         "e4b": dict(layers=42, shared=18, hidden_size=2560, intermediate_size=10240, num_key_value_heads=2, period=6, wide=False)}


def config(size, layers, shared, vocab):
    text = {
        "model_type": "gemma4_text", "vocab_size": vocab, "vocab_size_per_layer_input": vocab,
        "hidden_size": size["hidden_size"], "intermediate_size": size["intermediate_size"], "num_hidden_layers": layers,
        "num_attention_heads": 8, "num_key_value_heads": size["num_key_value_heads"],
        "head_dim": 256, "global_head_dim": 512, "hidden_size_per_layer_input": 256, "num_kv_shared_layers": shared,
        "use_double_wide_mlp": size["wide"], "sliding_window": 512, "max_position_embeddings": 131072,
        "final_logit_softcapping": 30.0, "tie_word_embeddings": True, "rms_norm_eps": 1e-6,
        "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False, "attention_k_eq_v": False,
        "enable_moe_block": False, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1,
        "layer_types": ["full_attention" if i % size["period"] == size["period"] - 1 or i == layers - 1 else "sliding_attention"
                        for i in range(layers)],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25}},
        "dtype": "bfloat16"}
    return {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "text_config": text,
            "tie_word_embeddings": True, "dtype": "bfloat16", "eos_token_id": [1, 106, 50]}


def tensors(text, p):
    """Yield (name, shape) of every text tensor, the unused K/V of sharing layers included, as published."""
    h, ple, n, v = text["hidden_size"], text["hidden_size_per_layer_input"], text["num_hidden_layers"], text["vocab_size"]
    yield p + "embed_tokens.weight", (v, h)
    yield p + "embed_tokens_per_layer.weight", (v, n * ple)
    yield p + "per_layer_model_projection.weight", (n * ple, h)
    yield p + "per_layer_projection_norm.weight", (ple,)
    yield p + "norm.weight", (h,)
    for i, kind in enumerate(text["layer_types"]):
        d = text["global_head_dim"] if kind == "full_attention" else text["head_dim"]
        q, kv = text["num_attention_heads"] * d, text["num_key_value_heads"] * d
        wide = text["use_double_wide_mlp"] and i >= n - text["num_kv_shared_layers"]
        f = text["intermediate_size"] * (2 if wide else 1)
        b = f"{p}layers.{i}."
        for name in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                     "post_feedforward_layernorm", "post_per_layer_input_norm"):
            yield b + name + ".weight", (h,)
        yield b + "layer_scalar", (1,)
        yield b + "self_attn.q_proj.weight", (q, h)
        yield b + "self_attn.k_proj.weight", (kv, h)
        yield b + "self_attn.v_proj.weight", (kv, h)
        yield b + "self_attn.o_proj.weight", (h, q)
        yield b + "self_attn.q_norm.weight", (d,)
        yield b + "self_attn.k_norm.weight", (d,)
        yield b + "mlp.gate_proj.weight", (f, h)
        yield b + "mlp.up_proj.weight", (f, h)
        yield b + "mlp.down_proj.weight", (h, f)
        yield b + "per_layer_input_gate.weight", (ple, h)
        yield b + "per_layer_projection.weight", (h, ple)


def random_bf16(rng, shape):
    """Bits of bfloat16: norms and scalars near one, matrices +-[2^-6, 2^-5)."""
    r = rng.integers(0, 1 << 16, size=int(np.prod(shape)), dtype=np.uint16)
    if len(shape) == 1:
        return (r & 0x001F) | 0x3F80                     # 1.0 .. 1.24
    return (r & 0x807F) | 0x3C80


def write_shard(path, items, rng):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in items:
        size = int(np.prod(shape)) * 2
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, shape in items:
            rows = shape[0]
            step = max(1, 64_000_000 // (int(np.prod(shape)) // rows))
            for start in range(0, rows, step):
                part = (min(step, rows - start), *shape[1:])
                bits = random_bf16(rng, part) if len(shape) > 1 else random_bf16(rng, (shape[0],))
                bits.tofile(f)
                if len(shape) == 1:
                    break
    return offset


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--size", choices=SIZES, default="e2b")
    ap.add_argument("--layers", type=int, help="fewer layers, same widths")
    ap.add_argument("--shared", type=int, help="KV-sharing layers (default: the same share of the layers)")
    ap.add_argument("--vocab", type=int, default=262144)
    ap.add_argument("--text-only", action="store_true", help="Gemma4ForCausalLM: flat config, prefix model.")
    ap.add_argument("--seed", type=int, default=4)
    args = ap.parse_args()
    size = SIZES[args.size]
    layers = args.layers or size["layers"]
    shared = args.shared if args.shared is not None else layers * size["shared"] // size["layers"]
    cfg = config(size, layers, shared, args.vocab)
    kinds = cfg["text_config"]["layer_types"]
    if set(kinds[layers - shared:]) - set(kinds[:layers - shared]):
        ap.error("a sharing layer has no layer of its type to share with: more layers, or fewer --shared")
    text = cfg["text_config"]
    prefix = "model." if args.text_only else "model.language_model."
    if args.text_only:
        cfg = {**text, "architectures": ["Gemma4ForCausalLM"]}
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    (args.out / "generation_config.json").write_text(json.dumps({
        "bos_token_id": 2, "eos_token_id": [1, 106, 50], "pad_token_id": 0, "do_sample": True, "temperature": 1.0,
        "top_k": 64, "top_p": 0.95}, indent=2) + "\n")
    shards, current, size = [], [], 0
    for name, shape in tensors(text, prefix):
        bytes_ = int(np.prod(shape)) * 2
        if current and size + bytes_ > SHARD_BYTES:
            shards.append(current)
            current, size = [], 0
        current.append((name, shape))
        size += bytes_
    shards.append(current)
    rng, index, total = np.random.default_rng(args.seed), {}, 0
    for k, items in enumerate(shards, 1):
        file = "model.safetensors" if len(shards) == 1 else f"model-{k:05d}-of-{len(shards):05d}.safetensors"
        total += write_shard(args.out / file, items, rng)
        index.update({name: file for name, _ in items})
        print(file, f"{total / 1e9:.2f} GB so far", flush=True)
    if len(shards) > 1:
        (args.out / "model.safetensors.index.json").write_text(json.dumps(
            {"metadata": {"total_size": total}, "weight_map": index}, indent=2) + "\n")


if __name__ == "__main__":
    main()
