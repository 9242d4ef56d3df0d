#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Applies each patch of our answers to the object of its review, as an API server does.

patches.py "ANSWERS" FOLDER...

The implementation of RFC 6902 is python3-jsonpatch, and everything is read again by Python: nothing of ours is used.
The object has to become what docs/rules.md promises, and a second review of it must not be patched again.
"""
import base64
import collections
import copy
import json
import os
import subprocess
import sys
import tempfile

import jsonpatch

HOLDS = [("karpenter.sh/do-not-disrupt", "true"), ("example.com/keep.it", "yes=1")]
MARK, HELD_KEY = "karpenter-node-holder.io/held-since", "karpenter-node-holder.io/held-key"
NOW = "2026-01-02T03:04:05Z"


def first_counts(pairs):
    """Of keys that come twice the first one counts."""
    return dict(reversed(pairs))


def read(path):
    with open(path, "rb") as f:
        return json.loads(f.read(), object_pairs_hook=first_counts)


def promised(which, before):
    """The object with hold and mark, and else as it was."""
    after = copy.deepcopy(before)
    key, value = HOLDS[which]
    annotations = after["metadata"].get("annotations") or {}
    annotations.pop(HELD_KEY, None)
    annotations |= {key: value, MARK: NOW}
    if which:
        annotations[HELD_KEY] = f"{key}={value}"
    after["metadata"]["annotations"] = annotations
    return after


def same(a, b):
    """Python takes true for 1 and 1 for 1.0."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def answers(program, folders):
    out = subprocess.run([*program.split(), *folders], check=True, stdout=subprocess.PIPE).stdout
    for line in out.decode().splitlines():
        which, path, reply = line.split("\t", 2)
        yield int(which), path, json.loads(reply)["response"]


def main(program, *folders):
    count = collections.Counter()
    with tempfile.TemporaryDirectory() as again:
        for which, path, response in answers(program, folders):
            count["answers"] += 1
            assert response["allowed"] is True, path
            assert ("patch" in response) == ("patchType" in response), path
            if "patch" not in response:
                continue
            assert response["patchType"] == "JSONPatch", path
            review = read(path)
            before = review["request"]["object"]
            patch = jsonpatch.JsonPatch(json.loads(base64.b64decode(response["patch"], validate=True)))
            after = patch.apply(before)
            assert same(after, promised(which, before)), f"{path}: {patch} makes {after}"
            review["request"]["object"] = after
            count["patches"] += 1
            with open(os.path.join(again, f"{which}-{count['patches']}"), "w", encoding="utf-8") as f:
                json.dump(review, f)
        for which, path, response in answers(program, [again]):
            if os.path.basename(path).startswith(f"{which}-"):
                assert "patch" not in response, f"{open(path, encoding='utf-8').read()} is patched again"
                count["second reviews"] += 1
    assert count["patches"] and count["second reviews"] == count["patches"], count
    print("patches:", ", ".join(f"{n} {what}" for what, n in count.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
