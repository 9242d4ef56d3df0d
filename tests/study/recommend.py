# SPDX-License-Identifier: Apache-2.0
"""What `simulate --recommend` says of the log of Karpenter alone, beside what
the study found (docs/study.md)."""
import datetime
import gzip
import json
import pathlib
import statistics
import subprocess
import tempfile

import policies

HOLDERCTL = pathlib.Path(__file__).parents[2] / "build" / "holderctl"
ALONE = "karpenter-0s"
WITHIN = 0.10
BETWEEN = datetime.timedelta(hours=1)
HEAD = """\
| load | seeds | decisions | with regret | recommended | sure | pods moved | node-seconds | the best point with no more moves | more node-seconds |
|---|--:|--:|--:|---|---|--:|--:|---|--:|
"""


def candidates(of):
    """{policy: its configuration} of those in the results that differ from
    Karpenter alone by the holder."""
    alone = policies.ALL[ALONE]
    return {name: policies.ALL[name].holder() for name in of
            if policies.ALL[name].holder() and policies.ALL[name].disruption()
            == alone.disruption()}


def joined(records):
    """One record of several, as if they had followed one another: runs may have
    been side by side."""
    lines, last = [], None
    for record in records:
        facts = [json.loads(line) for line in
                 gzip.decompress(record.read_bytes()).splitlines()]
        begin = datetime.datetime.fromisoformat(facts[1]["at"])
        shift = last + BETWEEN - begin if last else datetime.timedelta()
        for fact in facts[bool(lines):]:
            for key in {"at", "until"} & fact.keys():
                last = datetime.datetime.fromisoformat(fact[key]) + shift
                fact[key] = last.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines += facts[bool(lines):]
    # Only the last one has an end.
    return "".join(json.dumps(f) + "\n" for f in lines
                   if "until" not in f or f is lines[-1])


def chosen(said, names):
    """The policy that it recommends, or None."""
    if said["verdict"] == "no-hold":
        return ALONE
    if said["verdict"] != "setting":
        return None
    # A label ends in the file's name, where there are several.
    return names[0] if len(names) == 1 else next(
        name for name in names if said["setting"].endswith(f", {name}"))


def asked(records, of):
    """The policy that simulate recommends, and all that it says."""
    with tempfile.TemporaryDirectory() as folder:
        flags, names = [], candidates(of)
        for name, config in names.items():
            (pathlib.Path(folder) / name).write_text(json.dumps({
                "apiVersion": "karpenter-node-holder.io/v1",
                "kind": "HolderConfig", **config}))
            flags += ["--config", name]
        said = json.loads(subprocess.run(
            [HOLDERCTL, "simulate", "--recommend", *flags, "-o", "json",
             "-"], cwd=folder, input=joined(records), text=True,
            capture_output=True, check=True).stdout)["recommendation"]
    return chosen(said, [*names]), said


def middle(runs, figure):
    return statistics.median(r["figures"][figure] for r in runs)


def best(of, moved):
    """The policy with the fewest node-seconds among those with no more moves."""
    return min((p for p in of if middle(of[p], "moved") <= moved),
               key=lambda p: middle(of[p], "node_seconds"))


def row(load, seeds, of, policy, said):
    """The row, and by how much the policy is off; None: there is none."""
    begin = (f"| {load} | {seeds} | {said['decisions']} | "
             f"{said['regretAlone']} | ")
    if policy is None:
        why = {"too-little": "too little to say",
               "none": "none of the settings"}[said["verdict"]]
        return begin + f"{why} | | | | | |\n", None
    moved, node_s = (middle(of[policy], f) for f in ("moved", "node_seconds"))
    than = best(of, moved)
    more = node_s / middle(of[than], "node_seconds") - 1
    return (begin + f"{policy} | {'yes' if said['sure'] else 'no'}"
            f" | {moved:,.0f} | {node_s:,.0f} | {than} | "
            + (f"{more:.0%}" if more <= WITHIN else f"**{more:.0%}**")
            + " |\n"), more


def block(found, folder):
    """The table, and in how many rows it holds what it promises; "" where no
    result has a record."""
    rows, off = [], []
    for load, of in found.items():
        records = sorted(folder.glob(f"{load}.{ALONE}.*.record.gz"))
        if not records or not candidates(of):
            continue
        text, more = row(load, len(records), of, *asked(records, of))
        rows.append(text)
        off += [] if more is None else [more]
    if not rows:
        return ""
    return (
        "### What simulate recommends\n\n"
        "[`simulate --recommend`](what-if.md#which-setting-to-take) read the "
        f"log of `{ALONE}` alone, with the seeds one after the other. It "
        "recommended one of these settings: none, or one of the holder's "
        "policies over `consolidateAfter: 0s` that have been played. A scale-up "
        "within 15 min after a decision counted as regret. The columns of "
        "moves and node-seconds have the study's own figures for the "
        "recommended policy. The best point is the policy with the fewest "
        "node-seconds among the policies that moved no more pods than the "
        "recommended policy.\n\n"
        + HEAD + "".join(rows)
        + f"\n{sum(m <= WITHIN for m in off)} of {len(off)} settings "
        f"are within {WITHIN:.0%} of the node-seconds of the best point; the "
        f"figures of the others are bold. {len(rows) - len(off)} of "
        f"{len(rows)} loads get none.\n")
