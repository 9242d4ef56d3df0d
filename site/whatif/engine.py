# SPDX-License-Identifier: Apache-2.0
"""Writes engine.js: the program, what runs it, and a record to try it with
(gzip), as constants, as the page may ask for nothing but scripts."""
import base64
import json
import pathlib
import sys

wasm, worker, record = (pathlib.Path(name).read_bytes() for name in sys.argv[1:])
for name, value in (
        ("WASM", base64.b64encode(wasm).decode()), ("WORKER", worker.decode()),
        ("EXAMPLE", base64.b64encode(record).decode())):
    print(f"const {name} = {json.dumps(value)};")
