#!/bin/sh
# test_cli_vectors.sh - the reference's conversations through `facet render --reference`, its answers through `facet parse`.
# Faults F12, F15, F16, F17, F20 and F21 among others. (The ids are those of another tokenizer: test_chat_ids compares them.)
set -u
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
python3 - "$FACET_SOURCE" <<'END'
import json, os, subprocess, sys
source = sys.argv[1]
environment = {**os.environ, "FACET_MODEL": f"{source}/models/demo.facet"}


def facet(command, request):
    ran = subprocess.run([os.environ["FACET"], *command], input=json.dumps(request).encode(), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=environment)
    assert ran.returncode == 0, (command, request, ran.stderr)
    return json.loads(ran.stdout)


def vectors(name):
    with open(f"{source}/tests/data/chat/{name}", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


rendered, parsed = vectors("chat_vectors.jsonl"), vectors("parse_vectors.jsonl")
assert (len(rendered), len(parsed)) == (127, 39)
for n, vector in enumerate(rendered, 1):
    request = {key: vector[key] for key in ("messages", "tools", "kwargs") if vector.get(key) is not None}
    text = facet(["render", "--reference"], request)["text"]
    assert text == vector["text"], f"chat_vectors.jsonl:{n}: {text!r}"
for n, vector in enumerate(parsed, 1):
    message = facet(["parse"], {"prefix": vector["prefix"], "answer": vector["answer"]})
    assert message == vector["message"], f"parse_vectors.jsonl:{n}: {message!r}"
print("ok: 127 conversations and 39 answers")
END
