# SPDX-License-Identifier: Apache-2.0
"""`make bench` refuses settings that it cannot measure by, in one line."""
import os
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[1] / "bench" / "bench.py"


@pytest.mark.parametrize("part, settings, line", [
    ("conections", {}, "no part conections; there are: webhook one "),
    ("one", {"ROUNDS": "0"}, "ROUNDS=0: expected whole numbers from 1 on"),
    ("one", {"LOAD_SECONDS": "0.5"}, "LOAD_SECONDS=0.5: expected whole"),
    ("one", {"ROUNDS": "1 2"}, "ROUNDS=1 2: expected one number, such as 5"),
    ("one", {"AWAKE": "-1"}, "AWAKE=-1: expected whole numbers from 0 on"),
    ("spread", {"SIZES": "abc"}, "SIZES=abc: expected whole numbers"),
    ("spread", {"SIZES": "1000,0"}, "SIZES=1000,0: expected whole numbers"),
    ("large", {"LARGE": "1000 0"}, "LARGE=1000 0: expected whole numbers"),
])
def test_a_setting_is_refused(part, settings, line):
    done = subprocess.run([sys.executable, BENCH, part], timeout=60,
                          env={**os.environ, **settings},
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"bench: {line}"), done.stderr
    assert done.stderr.count("\n") == 1
