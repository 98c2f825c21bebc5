#!/usr/bin/env python3
"""Random schemas, random sampling: what `facet run --schema` prints has to validate.

    pip install jsonschema
    tests/tools/check_structured.py build/facet MODEL.facet [--runs 200] [--seed 1]

The project's own tool. Schemas are drawn from the subset of docs/STRUCTURED_OUTPUT.md; those that facet refuses (nothing
fits, branches of oneOf that do not exclude each other) are counted. Each answer is read by Python's json and checked by
jsonschema. An answer that is cut off has to say so.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import jsonschema

KEYS = ["a", "b", "ab", "abc", "n", "né", "漢", "x y", 'q"', "\\", "", "name", "😀"]
SCALARS = [None, True, False, 0, 1, -3, 12, 1.5, -0.25, 1e20, "a", "ab", "é", 'q"x', "", "😀x"]
TYPES = ["string", "integer", "number", "null", "boolean", "array", "object"]


class Schemas:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, probability):
        return self.random.random() < probability

    def constant(self, depth=2):
        if depth and self.chance(0.12):
            return [self.constant(depth - 1) for _ in range(self.random.randint(0, 3))]
        if depth and self.chance(0.12):
            return {self.random.choice(KEYS): self.constant(depth - 1) for _ in range(self.random.randint(0, 3))}
        return self.random.choice(SCALARS)

    def string(self):
        schema, least = {"type": "string"}, self.random.randint(0, 5)
        if self.chance(0.4):
            schema["minLength"] = least
        if self.chance(0.5):
            schema["maxLength"] = least + self.random.randint(0, 9)
        return schema

    def number(self, kind):
        schema = {"type": kind}
        low = self.random.choice([-100, -7, 0, 1, 3, -0.5, 0.1, 0.25, 999, -123456789, 10**14, 1.0])
        if self.chance(0.5):
            schema[self.random.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance(0.5):
            above = self.random.choice([1, 2, 5, 0.5, 100, 12345, 0.001])
            schema[self.random.choice(["maximum", "exclusiveMaximum"])] = low + above
        return schema

    def leaf(self):
        kind = self.random.choice(["string", "string", "integer", "number", "const", "enum", "types", "any"])
        if kind == "string":
            return self.string()
        if kind in ("integer", "number"):
            return self.number(kind)
        if kind == "const":
            return {"const": self.constant()}
        if kind == "enum":
            return {"enum": [self.constant() for _ in range(self.random.randint(1, 5))]}
        if kind == "types":
            return {"type": self.random.sample(TYPES, self.random.randint(1, 4))}
        return self.random.choice([True, {}, {"title": "x", "description": "y"}])

    def array(self, depth, names):
        schema, least = {"type": "array"}, self.random.randint(0, 3)
        if self.chance(0.3):
            schema["prefixItems"] = [self.schema(depth - 1, names) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.8):
            schema["items"] = False if self.chance(0.2) else self.schema(depth - 1, names)
        if self.chance(0.4):
            schema["minItems"] = least
        if self.chance(0.5):
            schema["maxItems"] = least + self.random.randint(0, 3)
        return schema

    def object(self, depth, names):
        keys = self.random.sample(KEYS, self.random.randint(0, 5))
        schema = {"type": "object", "properties": {key: self.schema(depth - 1, names) for key in keys}}
        if self.chance(0.5):
            schema["additionalProperties"] = False
        elif self.chance(0.4):
            schema["additionalProperties"] = self.schema(depth - 1, names)
        if self.chance(0.6):
            required = self.random.sample(keys, self.random.randint(0, len(keys)))
            extra = [self.random.choice(KEYS)] if "additionalProperties" not in schema and self.chance(0.3) else []
            schema["required"] = sorted(set(required + extra))
        return schema

    def schema(self, depth, names):
        r = self.random.random()
        if depth == 0 or r < 0.35:
            return self.leaf()
        if names and r < 0.45:
            return {"$ref": self.random.choice(names)}
        if r < 0.65:
            return self.array(depth, names)
        if r < 0.9:
            return self.object(depth, names)
        keyword = self.random.choice(["anyOf", "anyOf", "oneOf", "allOf"])
        n = 1 if keyword == "allOf" else self.random.randint(1, 4)
        return {keyword: [self.schema(depth - 1, names) for _ in range(n)]}

    def whole(self):
        n = self.random.choice([0, 0, 1, 2])
        names = [f"#/$defs/d{i}" for i in range(n)]
        schema = self.schema(3, names)
        schema = dict(schema) if isinstance(schema, dict) else {"anyOf": [schema]}
        if n:
            schema["$defs"] = {f"d{i}": self.schema(2, names) for i in range(n)}
        return schema


def check_answer(schema, done):
    """What became of an answer; an exception if it is wrong."""
    if done.returncode not in (0, 1):
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    if done.returncode == 1 and not done.stdout:
        return "refused: " + ("oneOf" if "'oneOf'" in done.stderr else "no value" if "no value" in done.stderr
                              else done.stderr.strip().splitlines()[-1])
    answer = json.loads(done.stdout)
    if answer["reason"] == "end" and not answer["complete"]:
        raise AssertionError("it ended and is not complete")
    if answer["complete"] != (done.returncode == 0):
        raise AssertionError("the exit code does not say whether it is complete")
    if not answer["complete"]:
        return "cut off"
    value = json.loads(answer["text"])
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if errors:
        raise AssertionError(f"{answer['text']!r}: {errors[0].message}")
    return "valid"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facet")
    parser.add_argument("model")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--temperature", default="2")
    arguments = parser.parse_args()
    schemas, counts, n_wrong = Schemas(arguments.seed), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "schema.json"
        for run in range(arguments.runs):
            schema = schemas.whole()
            path.write_text(json.dumps(schema, ensure_ascii=run % 2 == 0))
            command = [arguments.facet, "run", "-m", arguments.model, "-t", "1", "-n", "400", "--json", "--quiet",
                       "--temperature", arguments.temperature, "--seed", str(run + 1), "--schema", str(path)]
            done = subprocess.run(command + ["Hello"], capture_output=True, text=True, check=False)
            try:
                counts[check_answer(schema, done)] += 1
            except (AssertionError, ValueError) as wrong:
                n_wrong += 1
                print(f"WRONG: {json.dumps(schema, ensure_ascii=False)}\n  {wrong}")
    print(dict(counts), f"{n_wrong} wrong")
    sys.exit(n_wrong != 0)


if __name__ == "__main__":
    main()
