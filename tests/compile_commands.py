# SPDX-License-Identifier: Apache-2.0
"""Makes compile_commands.json of what `make -n V=1` would run (stdin)."""
import json
import os
import shlex
import sys

commands = []
for line in sys.stdin:
    # only whoever compiles a file of ours
    if ".c" not in line or " -o " not in line:
        continue
    words = shlex.split(line)
    commands += [{"directory": os.getcwd(), "arguments": words, "file": w}
                 for w in words if w.endswith(".c")]
json.dump(commands, sys.stdout, indent=1)
