#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER/provenance.json: what a release is made of, as an in-toto
statement with SLSA's predicate.

    deploy/provenance.py FOLDER NAME=VALUE... < what apt-cache shows of the
                                                packages that it is made with

Nothing in it depends on where and when it is written.
"""
import hashlib
import json
import pathlib
import sys
from urllib.parse import quote

folder = pathlib.Path(sys.argv[1])
given = dict(word.split("=", 1) for word in sys.argv[2:])


def package(paragraph):
    field = dict(line.split(": ", 1) for line in paragraph.splitlines()
                 if line[:1].strip() and ": " in line)
    version = quote(field["Version"], safe=".-~:")
    return {"uri": f"pkg:deb/debian/{quote(field['Package'])}@{version}"
                   f"?arch={field['Architecture']}",
            "digest": {"sha256": field["SHA256"]}}


packages = sorted(map(package, filter(str.strip, sys.stdin.read().split(
    "\n\n"))), key=lambda p: p["uri"])
base = given.pop("base")
if base:
    uri, _, digest = base.partition("@sha256:")
    packages.insert(0, {"uri": uri, "digest": {"sha256": digest}})
statement = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": path.name, "digest": {"sha256": hashlib.sha256(
        path.read_bytes()).hexdigest()}} for path in sorted(folder.iterdir())],
    "predicateType": "https://slsa.dev/provenance/v1",
    "predicate": {
        "buildDefinition": {
            "buildType": given["url"] + "/blob/main/docs/releasing.md",
            "externalParameters": {k: given[k] for k in (
                "version", "image", "url", "architectures")},
            "resolvedDependencies": [
                {"uri": "git+" + given["url"],
                 "digest": {"gitCommit": given["commit"]}}, *packages]},
        # No service: whoever has the key says so.
        "runDetails": {"builder": {
            "id": given["url"] + "/blob/main/docs/releasing.md#who-builds"}}}}
(folder / "provenance.json").write_text(json.dumps(statement, indent=1) + "\n")
