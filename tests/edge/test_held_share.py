# SPDX-License-Identifier: Apache-2.0
"""The table of docs/operations.md: which part of the time a cluster is held.

    PYTHONPATH=tests:tests/edge /usr/bin/python3 tests/edge/test_held_share.py

prints it.  `simulate` replays with the product's own controller how a thousand
machines come, one at a time and independently of each other.
"""
import datetime
import json
import math
import random
import subprocess

from conftest import HOLDERCTL, REPO

EVERY_MINUTES = (8, 17, 30, 60, 240)
LEAST = (1, 2, 3, 4, 6)
MACHINES = 1000
START = datetime.datetime(2026, 3, 2, tzinfo=datetime.timezone.utc)
HEAD = '"record":"karpenter-node-holder.io/record/v1"'


def stamp(second):
    at = START + datetime.timedelta(seconds=int(second))
    return at.isoformat().replace("+00:00", "Z")


def record(every):
    """Each machine is ready after a minute, and empty after two hours."""
    luck, at, facts = random.Random(f"every {every}"), 0.0, []
    for i in range(MACHINES):
        at -= math.log(1 - luck.random()) * every * 60
        claim = f'"claim":"web-{i}"'
        facts += [
            (at, f'"what":"created",{claim},"pool":"web","maker":"provisioner"'),
            (at + 2, f'"what":"launched",{claim}'),
            (at + 40, f'"what":"registered",{claim},"node":"node-{i}"'),
            (at + 60, f'"what":"ready",{claim}'),
            (at + 7200, '"what":"decided","action":"delete","reason":"empty",'
             f'"nodes":[{{{claim}}}]'),
            (at + 7201, f'"what":"gone",{claim}')]
    return "\n".join([
        f"{{{HEAD}}}",
        *(f'{{"at":"{stamp(when)}",{what}}}'
          for when, what in sorted(facts) if when <= at),
        f'{{{HEAD},"until":"{stamp(at)}"}}'])


def shares(every):
    done = subprocess.run(
        [HOLDERCTL, "simulate", "-o", "json", "-", "--min-scale-up",
         ",".join(map(str, LEAST))],
        input=record(every), text=True, check=True, capture_output=True)
    return [s["sharePercent"] for s in json.loads(done.stdout)["settings"]]


def table():
    rows = ["| a new machine every | " + " | ".join(
        f"`minScaleUp: {least}`" for least in LEAST) + " |",
            "|---" * (len(LEAST) + 1) + "|"]
    for every in EVERY_MINUTES:
        name = f"{every} min" if every < 60 else f"{every // 60} h"
        rows.append(f"| {name} | " + " | ".join(
            f"{share:.0f} %" for share in shares(every)) + " |")
    return "\n".join(rows) + "\n"


def test_the_table_of_operations():
    now = table()
    assert now in (REPO / "docs/operations.md").read_text(), now


if __name__ == "__main__":
    print(table(), end="")
