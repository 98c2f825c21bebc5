#!/usr/bin/env python3
"""make_chat_vectors.py - odd conversations, schemas and numbers, and what Jinja and the published templates make of them.

usage: make_chat_vectors.py TEMPLATE [--gemma3] [--lines N] > tests/data/chat/odd_vectors.jsonl

TEMPLATE is the chat template: chat_template.jinja of google/gemma-4-E2B-it or, with --gemma3, a tokenizer_config.json of Gemma 3
that carries one. Needs jinja2, set up as the transformers library does it. The cases come out of a seeded generator that aims
at what written ones forget: keys that differ by case only, schemas without a type, doubles at the edges, calls without ids,
empty lists, several models in a row.
"""
import argparse
import json
import random

from jinja2.sandbox import ImmutableSandboxedEnvironment

R = random.Random(20260709)
WORDS = ["a", "hi", " b ", "\n", "x<|channel>thought\ny<channel|>z", "<channel|>", "<|channel>", "\u00a0q\u3000", "", "\u0130x", "\u00e9",
         "\u00c9", "\u65e5\u672c", "'", '"', "\\", "{", "}", "\x1c", "\u200b", "\U0001f469\U0001f3fd\u200d\U0001f52c", "0"]
KEYS = ["a", "B", "b", "A", "type", "description", "properties", "required", "nullable", "enum", "items", "\u00e9", "\u00c9", "\u00df",
        "\u03a3x", "Z_1", "title", "response", "\u0130", "\u01c5"]
TYPES = ["string", "STRING", "object", "array", "integer", "Object", "number", "boolean", ["string", "null"], ["it's"], None]
EDGES = [0.0, -0.0, 1e16, 1e15, 9999999999999998.0, 1e-4, 1e-5, 123456789012345680.0, 1e22, 1e23, 5e-324, 1.7976931348623157e308,
         2.0 ** -44, 0.1, 1e-7]
ROLES = ["user", "user", "assistant", "assistant", "assistant", "model", "tool", "tool", "system", "developer", "critic"]
PARTS = ["image", "image_url", "audio", "input_audio", "video", "other"]


def chance(p):
    return R.random() < p


def some(make, most):
    return [make() for _ in range(R.randint(0, most))]


def text():
    return "".join(R.choice(WORDS) for _ in range(R.randint(0, 4)))


def number():
    return R.choice([R.randint(-10, 10), R.uniform(-1, 1), R.uniform(-1, 1) * 10 ** R.randint(-30, 30), 2.0 ** R.randint(-1074, 1023),
                     float(R.randint(-10 ** 17, 10 ** 17)), R.choice(EDGES), R.randint(-2 ** 70, 2 ** 70), R.randint(-2 ** 63, 2 ** 63 - 1)])


def value(depth=0):
    kind = R.randint(0, 8 if depth < 3 else 5)
    if kind == 0:
        return R.choice([None, True, False])
    if kind in (1, 2, 3):
        return number()
    if kind in (4, 5):
        return text()
    if kind == 6:
        return some(lambda: value(depth + 1), 3)
    return members(lambda: value(depth + 1), 3)


def members(make, most):
    return {R.choice(KEYS): make() for _ in range(R.randint(0, most))}


def schema(depth=0):
    if chance(.05):
        return R.choice([True, None, "x", [], 3])
    out = {}
    if chance(.85):
        out["type"] = R.choice(TYPES)
    if chance(.5):
        out["description"] = R.choice([text(), None])
    if chance(.3):
        out["enum"] = R.choice([some(text, 3), [1, 2.5], [{"B": text(), "a": 1}]])
    if chance(.3):
        out["nullable"] = chance(.5)
    if depth < 2 and chance(.5):
        out["properties"] = R.choice([members(lambda: schema(depth + 1), 3), None])
    if depth < 2 and chance(.4):
        out["items"] = R.choice([schema(depth + 1), {}, {"type": R.choice(["string", ["integer", "null"]]), "required": [text()],
                                                         "properties": members(lambda: schema(depth + 1), 2), "minItems": value(2)}])
    if chance(.3):
        out["required"] = some(text, 2)
    if chance(.2):
        out[R.choice(["minimum", "default", "anyOf", "additionalProperties", "$ref"])] = R.choice([3, False, {"type": "string"}, "#/x"])
    keys = list(out)
    R.shuffle(keys)
    return {key: out[key] for key in keys}


def tool():
    function = {"name": R.choice(["f", "set_lamp", "\u00c9"])}
    if chance(.8):
        function["description"] = R.choice([text(), None])
    if chance(.8):
        function["parameters"] = R.choice([{}, None, {"type": "object", "properties": members(schema, 4), "required": [text()]},
                                           {"properties": members(schema, 4)}])
    if chance(.3):
        function["response"] = R.choice([{"type": "object", "description": text()}, {"type": "string"}, {}, None])
    return {"type": "function", "function": function}


def part():
    return {"type": "text", "text": text()} if chance(.4) else {"type": R.choice(PARTS)}


def with_id(out, key):
    if chance(.8):
        out[key] = R.choice(["c1", "c2", None, 7])
    return out


def call():
    arguments = R.choice([None, {}, members(value, 5), members(value, 5)])
    return with_id({"type": "function", "function": {"name": R.choice(["f", "g", "\u00c9"]), "arguments": arguments}}, "id")


def response():
    return {"name": R.choice(["f", None, ""]), "response": value()}


def message():
    out = {"role": R.choice(ROLES), "content": R.choice([text(), text(), some(part, 3)])}
    if out["role"] in ("assistant", "model"):
        if chance(.2):
            out["content"] = None
        if chance(.6):
            out["tool_calls"] = some(call, 2)
        if chance(.2):
            out["tool_responses"] = some(response, 2)
    if chance(.4):
        out[R.choice(["reasoning", "reasoning_content"])] = R.choice([text(), None])
    if out["role"] == "tool":
        with_id(out, "tool_call_id")
        if chance(.3):
            out["name"] = R.choice(["nm", None, ""])
        out["content"] = R.choice([text(), some(part, 3), number(), None, True])
    return out


def conversation():
    switches = ("add_generation_prompt", "enable_thinking", "preserve_thinking")
    return {"messages": some(message, 6), "tools": R.choice([None, some(tool, 3)]), "kwargs": {k: chance(.5) for k in switches if chance(.7)}}


def plain_conversation():
    messages = []
    if chance(.5):
        messages.append({"role": "system", "content": R.choice([text(), [{"type": "text", "text": text()}]])})
    for i in range(R.randint(1, 5)):
        parts = [p for p in some(part, 3) if p["type"] != "image_url"]
        messages.append({"role": ("user", "assistant")[i % 2], "content": R.choice([text(), parts])})
    return {"messages": messages, "tools": None, "kwargs": {"add_generation_prompt": chance(.5)}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("template")
    parser.add_argument("--gemma3", action="store_true")
    parser.add_argument("--lines", type=int, default=120)
    options = parser.parse_args()
    source = open(options.template, encoding="utf-8").read()
    if options.gemma3:
        source = json.loads(source)["chat_template"]
    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    for _ in range(options.lines):
        case = plain_conversation() if options.gemma3 else conversation()
        case["text"] = template.render(messages=case["messages"], tools=case["tools"], bos_token="<bos>", **case["kwargs"])
        print(json.dumps(case))


if __name__ == "__main__":
    main()
