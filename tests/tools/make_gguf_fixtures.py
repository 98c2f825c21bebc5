#!/usr/bin/env python3
"""make_gguf_fixtures.py - small GGUF files, and what the package gguf reads in them.

usage: make_gguf_fixtures.py OUT_FOLDER     (a virtual environment with gguf 0.19.0 and numpy)

types.gguf holds one tensor of three rows in each type that facet reads; the bytes of quantized ones are random, their
scales small float16 numbers of both signs. types.f32 holds the values of all of them, by the package's own
dequantizers, in the order of the tensors' names. gemma4.gguf and the three parts of gemma3-*.gguf are whole tiny
models. small-gemma3.gguf and the folder small-gemma3 are one model, in both forms; small-gemma3.ids and
small-gemma3.f32 are ids and the logits behind each of them, by the network of Gemma 3 written down here in numpy.
"""
import json
import math
import struct
import sys
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, GGUFWriter, TokenType
from gguf.quants import dequantize, quantize

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
# where float16 scales stand in a block
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}


def raw_rows(rng, name, rows, columns):
    block, size = GGML_QUANT_SIZES[T[name]]
    if name == "F32":
        return rng.standard_normal((rows, columns)).astype(np.float32)
    if name == "F16":
        return rng.standard_normal((rows, columns)).astype(np.float16)
    if name == "BF16":
        return (rng.standard_normal((rows, columns)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    blocks = rng.integers(0, 256, (rows, columns // block, size), dtype=np.uint8)
    for at in SCALES[name]:
        scales = (rng.standard_normal((rows, columns // block)) * 0.01).astype(np.float16)
        blocks[:, :, at:at + 2] = scales[..., None].view(np.uint8)
    return blocks.reshape(rows, -1)


def types_file(folder):
    rng = np.random.default_rng(1)
    writer = GGUFWriter(str(folder / "types.gguf"), "gemma4")
    values = {}
    for name in TYPES:
        raw = raw_rows(rng, name, 3, 512)
        writer.add_tensor("t." + name, raw, raw_dtype=T[name])
        values["t." + name] = dequantize(raw.view(np.uint8).reshape(3, -1), T[name]).astype(np.float32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(folder / "types.f32", "wb") as out:
        for name in sorted(values):
            out.write(values[name].astype("<f4").tobytes())


# ---- tiny models ----

PIECES = ["<pad>", "<eos>", "<bos>", "<unk>"] + ["<0x%02X>" % b for b in range(256)]
WORDS = ["\u2581", "t", "h", "e", "a", "n", "d", "\u2581t", "he", "\u2581the", "an", "and", "\u2581and", "\u2581a"]


def tokenizer(writer, gemma4):
    control = ["<|turn>", "<turn|>", "<|tool_response>"] if gemma4 else ["<start_of_turn>", "<end_of_turn>", "<unused0>"]
    # as the converters write them: runs of spaces as spaces, markers and runs as user-defined, score -1000
    tokens = PIECES + control + ["  ", "\n", "\n\n"] + WORDS
    n_special = 4 + 256 + 3
    types = [TokenType.CONTROL] * 4 + [TokenType.BYTE] * 256 + [TokenType.CONTROL] * 3
    if gemma4:
        types[1] = TokenType.NORMAL
        types[262] = TokenType.USER_DEFINED
    types += [TokenType.USER_DEFINED] * 3 + [TokenType.NORMAL] * len(WORDS)
    scores = [-1000.0] * 4 + [0.0] * 256 + [-1000.0] * 6 + [-float(i) for i in range(len(WORDS))]
    assert len(tokens) == len(types) == len(scores) == n_special + 3 + len(WORDS)
    writer.add_tokenizer_model("gemma4" if gemma4 else "llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_add_space_prefix(False)
    if gemma4:
        writer.add_token_merges(["\u2581 t", "h e", "\u2581t he", "a n", "an d", "\u2581 and", "\u2581 a", "\n \n"])
    return len(tokens)


def add(writer, rng, name, shape, kind="F32", scale=0.05, around=0.0):
    x = (rng.standard_normal(shape) * scale + around).astype(np.float32)
    if kind == "F32":
        writer.add_tensor(name, x)
    else:
        writer.add_tensor(name, quantize(x, T[kind]), raw_dtype=T[kind])


def tiny_gemma3(folder):
    rng = np.random.default_rng(2)
    hidden, layers, heads, kv, d, wide = 64, 7, 4, 1, 32, 96
    writer = GGUFWriter(str(folder / "gemma3.gguf"), "gemma3", split_max_tensors=32)
    writer.add_license("gemma")
    writer.add_context_length(256)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_key_length(d)
    writer.add_value_length(d)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_rope_scaling_type(__import__("gguf").RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(8.0)
    writer.add_sliding_window(16)
    vocab = tokenizer(writer, False)
    add(writer, rng, "token_embd.weight", (vocab, hidden), "Q8_0", 0.3)
    add(writer, rng, "output_norm.weight", (hidden,), around=1.0)
    for i in range(layers):
        b = "blk.%d." % i
        for n in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            add(writer, rng, b + n + ".weight", (hidden,), around=0.8)
        add(writer, rng, b + "attn_q_norm.weight", (d,), around=1.2)
        add(writer, rng, b + "attn_k_norm.weight", (d,), around=1.1)
        add(writer, rng, b + "attn_q.weight", (heads * d, hidden), "Q4_0", 0.2)
        add(writer, rng, b + "attn_k.weight", (kv * d, hidden), "Q5_0", 0.2)
        add(writer, rng, b + "attn_v.weight", (kv * d, hidden), "Q8_0", 0.2)
        add(writer, rng, b + "attn_output.weight", (hidden, heads * d), "Q4_1", 0.2)
        add(writer, rng, b + "ffn_gate.weight", (wide, hidden), "Q5_1", 0.2)
        add(writer, rng, b + "ffn_up.weight", (wide, hidden), "Q4_0", 0.2)
        add(writer, rng, b + "ffn_down.weight", (hidden, wide), "F16" if i == 0 else "Q8_0", 0.2)
    finish(writer)


def tiny_gemma4(folder):
    rng = np.random.default_rng(3)
    hidden, layers, shared, heads, kv, d, full_d, wide, p = 64, 6, 2, 4, 1, 16, 32, 32, 32
    sliding = [True, True, False, True, True, False]
    writer = GGUFWriter(str(folder / "gemma4.gguf"), "gemma4")
    writer.add_context_length(128)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length([wide] * (layers - shared) + [2 * wide] * shared)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_key_length(full_d)
    writer.add_value_length(full_d)
    writer.add_uint32("gemma4.attention.key_length_swa", d)
    writer.add_uint32("gemma4.attention.value_length_swa", d)
    writer.add_uint32("gemma4.attention.shared_kv_layers", shared)
    writer.add_uint32("gemma4.embedding_length_per_layer_input", p)
    writer.add_array("gemma4.attention.sliding_window_pattern", sliding)
    writer.add_sliding_window(16)
    writer.add_rope_freq_base(1e6)
    writer.add_float32("gemma4.rope.freq_base_swa", 1e4)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_float32("general.sampling.temp", 1.0)
    writer.add_int32("general.sampling.top_k", 64)
    vocab = tokenizer(writer, True)
    writer.add_tensor("rope_freqs.weight", np.array([1.0] * 4 + [1e30] * 12, np.float32))
    add(writer, rng, "token_embd.weight", (vocab, hidden), "Q8_0", 0.3)
    add(writer, rng, "per_layer_token_embd.weight", (vocab, layers * p), "Q4_0", 0.3)
    add(writer, rng, "per_layer_model_proj.weight", (layers * p, hidden), "BF16", 0.2)
    add(writer, rng, "per_layer_proj_norm.weight", (p,), around=0.7)
    add(writer, rng, "output_norm.weight", (hidden,), around=1.0)
    for i in range(layers):
        b, own = "blk.%d." % i, d if sliding[i] else full_d
        w = wide * (2 if i >= layers - shared else 1)
        for n in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"):
            add(writer, rng, b + n + ".weight", (hidden,), around=0.8)
        add(writer, rng, b + "attn_q_norm.weight", (own,), around=0.9)
        add(writer, rng, b + "attn_q.weight", (heads * own, hidden), "Q4_0", 0.2)
        if i < layers - shared:
            add(writer, rng, b + "attn_k_norm.weight", (own,), around=0.3)
            add(writer, rng, b + "attn_k.weight", (kv * own, hidden), "Q4_0", 0.2)
            add(writer, rng, b + "attn_v.weight", (kv * own, hidden), "Q4_0", 0.2)
        add(writer, rng, b + "attn_output.weight", (hidden, heads * own), "Q4_0", 0.2)
        add(writer, rng, b + "ffn_gate.weight", (w, hidden), "Q4_0", 0.2)
        add(writer, rng, b + "ffn_up.weight", (w, hidden), "Q4_0", 0.2)
        add(writer, rng, b + "ffn_down.weight", (hidden, w), "Q4_0", 0.2)
        add(writer, rng, b + "inp_gate.weight", (p, hidden), "Q4_0", 0.2)
        add(writer, rng, b + "proj.weight", (hidden, p), "Q4_0", 0.2)
        add(writer, rng, b + "layer_output_scale.weight", (1,), around=0.6)
    finish(writer)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- one model in two forms, and what it computes ----

SMALL = dict(hidden=32, layers=3, heads=4, kv=2, d=16, wide=64, window=6, pattern=2, factor=8.0, vocab=280)
GGUF_NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
              "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
              "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "post_attention_norm",
              "pre_feedforward_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
              "mlp.down_proj": "ffn_down", "post_feedforward_layernorm": "post_ffw_norm"}


def small_weights():
    """As a checkpoint has them: norms less one, all exact in float16."""
    c, rng = SMALL, np.random.default_rng(4)
    h, q, k, w = c["hidden"], c["heads"] * c["d"], c["kv"] * c["d"], c["wide"]
    shapes = {"input_layernorm": (h,), "self_attn.q_proj": (q, h), "self_attn.k_proj": (k, h),
              "self_attn.v_proj": (k, h), "self_attn.o_proj": (h, q), "self_attn.q_norm": (c["d"],),
              "self_attn.k_norm": (c["d"],), "post_attention_layernorm": (h,), "pre_feedforward_layernorm": (h,),
              "mlp.gate_proj": (w, h), "mlp.up_proj": (w, h), "mlp.down_proj": (h, w),
              "post_feedforward_layernorm": (h,)}
    all_shapes = {"embed_tokens.weight": (c["vocab"], h), "norm.weight": (h,)}
    for i in range(c["layers"]):
        all_shapes.update({"layers.%d.%s.weight" % (i, n): s for n, s in shapes.items()})
    weights = {}
    for name, shape in all_shapes.items():
        x = rng.standard_normal(shape) * (0.4 if len(shape) == 1 else 1.0 if "embed" in name else 0.3)
        weights[name] = np.round(x * 256) / 256
    return weights


def small_gguf(folder, weights):
    c = SMALL
    writer = GGUFWriter(str(folder / "small-gemma3.gguf"), "gemma3")
    writer.add_context_length(128)
    writer.add_embedding_length(c["hidden"])
    writer.add_block_count(c["layers"])
    writer.add_feed_forward_length(c["wide"])
    writer.add_head_count(c["heads"])
    writer.add_head_count_kv(c["kv"])
    writer.add_key_length(c["d"])
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_rope_scaling_type(__import__("gguf").RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(c["factor"])
    writer.add_sliding_window(c["window"])
    writer.add_uint32("gemma3.attention.sliding_window_pattern", c["pattern"])
    for name, x in weights.items():
        if name.startswith("layers."):
            _, i, part = name.split(".", 2)
            to = "blk.%s.%s.weight" % (i, GGUF_NAMES[part[:-len(".weight")]])
        else:
            to = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[name]
        writer.add_tensor(to, (x + 1).astype(np.float32) if x.ndim == 1 else x.astype(np.float16))
    finish(writer)


def small_checkpoint(folder, weights):
    c, out = SMALL, folder / "small-gemma3"
    out.mkdir(exist_ok=True)
    config = {"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "hidden_size": c["hidden"],
              "num_hidden_layers": c["layers"], "num_attention_heads": c["heads"], "num_key_value_heads": c["kv"],
              "head_dim": c["d"], "intermediate_size": c["wide"], "vocab_size": c["vocab"],
              "sliding_window": c["window"], "sliding_window_pattern": c["pattern"],
              "max_position_embeddings": 128, "query_pre_attn_scalar": c["d"], "rope_theta": 1000000.0,
              "rope_local_base_freq": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": c["factor"]},
              "rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": None,
              "final_logit_softcapping": None, "eos_token_id": [1, 106]}
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    header, data = {}, b""
    for name, x in weights.items():
        raw = x.astype("<f2").tobytes()
        header["model." + name] = {"dtype": "F16", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (out / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def rms(x, w):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6) * (1 + w)


def rotate(x, theta, factor):
    """x [tokens][heads][d]: lane i with lane i + d / 2."""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half) / factor
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def small_logits(weights, ids):
    c, n = SMALL, len(ids)
    h = weights["embed_tokens.weight"][ids] * math.sqrt(c["hidden"])
    for i in range(c["layers"]):
        w = {k.split(".", 2)[2][:-7]: v for k, v in weights.items() if k.startswith("layers.%d." % i)}
        full = (i + 1) % c["pattern"] == 0
        theta, factor = (1e6, c["factor"]) if full else (1e4, 1.0)
        x = rms(h, w["input_layernorm"])
        q = rotate(rms((x @ w["self_attn.q_proj"].T).reshape(n, -1, c["d"]), w["self_attn.q_norm"]), theta, factor)
        k = rotate(rms((x @ w["self_attn.k_proj"].T).reshape(n, -1, c["d"]), w["self_attn.k_norm"]), theta, factor)
        v = (x @ w["self_attn.v_proj"].T).reshape(n, -1, c["d"])
        share = c["heads"] // c["kv"]
        out = np.zeros((n, c["heads"], c["d"]))
        for head in range(c["heads"]):
            scores = q[:, head] @ k[:, head // share].T * c["d"] ** -0.5
            at, seen = np.arange(n)[:, None], np.arange(n)[None, :]
            visible = (seen <= at) & (full | (seen > at - c["window"]))
            scores = np.where(visible, scores, -np.inf)
            p = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, head] = p / p.sum(-1, keepdims=True) @ v[:, head // share]
        h = h + rms(out.reshape(n, -1) @ w["self_attn.o_proj"].T, w["post_attention_layernorm"])
        x = rms(h, w["pre_feedforward_layernorm"])
        g = x @ w["mlp.gate_proj"].T
        g = 0.5 * g * (1 + np.tanh(math.sqrt(2 / math.pi) * (g + 0.044715 * g ** 3)))
        h = h + rms((g * (x @ w["mlp.up_proj"].T)) @ w["mlp.down_proj"].T, w["post_feedforward_layernorm"])
    return rms(h, weights["norm.weight"]) @ weights["embed_tokens.weight"].T


def small_model(folder):
    weights = small_weights()
    small_gguf(folder, weights)
    small_checkpoint(folder, weights)
    ids = np.random.default_rng(5).integers(0, SMALL["vocab"], 24)
    (folder / "small-gemma3.ids").write_bytes(ids.astype("<i4").tobytes())
    (folder / "small-gemma3.f32").write_bytes(small_logits(weights, ids).astype("<f4").tobytes())


if __name__ == "__main__":
    out = Path(sys.argv[1])
    types_file(out)
    tiny_gemma3(out)
    tiny_gemma4(out)
    small_model(out)
