# SPDX-License-Identifier: Apache-2.0
"""The log of real Karpenter, replayed by `simulate`, beside what the holder did
meanwhile."""
import datetime
import json
import subprocess

from holder import BINARY

# Seconds.  The holder's clock is that of the Date headers, in whole seconds,
# and its log says that a scope is quiet when the sweeper gets to it.
APART = 3.0


def when(text):
    return datetime.datetime.fromisoformat(
        text.replace("Z", "+00:00")).timestamp()


def simulate(cluster, since=0, **settings):
    """Replays Karpenter's log from then on.  settings: flags, such as
    hold_duration="60s"."""
    log = cluster.dir / "karpenter-since.log"
    lines = (cluster.dir / "karpenter.log").read_text().splitlines(True)
    log.write_text("".join(
        line for line in lines if line.startswith("{")
        and when(json.loads(line)["time"]) >= since))
    flags = [f"--{name.replace('_', '-')}={value}"
             for name, value in settings.items()]
    said = json.loads(subprocess.check_output(
        [BINARY, "simulate", *flags, "-o", "json", log], timeout=60))
    assert said["input"]["incomplete"] == said["input"]["late"] == 0, said
    return said["settings"][0]


def turns(holder):
    """When scopes were held and quiet, as the holder's log says: pairs of
    seconds, of which the second is None while it lasts."""
    found = []
    for entry in holder.logs():
        if entry.get("msg") == "scope held":
            found.append([when(entry["ts"]), None])
        elif entry.get("msg") == "scope quiet":
            found[-1][1] = when(entry["ts"])
    return found


def check_replay(cluster, holder, since, **settings):
    """The replay of what Karpenter logged since then has the turns of the real
    holder, and no decision that Karpenter took beside the real holder would have
    waited."""
    said = simulate(cluster, since, **settings)
    real = [(max(begin, since), end) for begin, end in turns(holder)
            if end is None or end > since]
    replayed = [(when(t["from"]), when(t["to"])) for t in said["turns"]]
    story = f"real: {real}\nreplayed: {replayed}\n{said}"
    assert len(real) == len(replayed) > 0, story
    for (begin, end), (other_begin, other_end) in zip(real, replayed):
        assert abs(begin - other_begin) < APART, story
        assert end is None or abs(end - other_end) < APART, story
    assert said["wouldHaveWaited"]["decisions"] == 0, story
    return said


def listed(cluster):
    """How many machines `simulate` finds in what kubectl lists."""
    path = cluster.dir / "list.json"
    path.write_text(cluster.kubectl(
        "get", "nodeclaims,nodes,events", "-A", "-o", "json").stdout)
    said = json.loads(subprocess.check_output(
        [BINARY, "simulate", path, "-o", "json"], timeout=60))
    assert said["input"]["notJSON"] == 0, said["input"]
    assert said["settings"][0]["holds"] > 0, said
    # And `record` finds the same.
    lines = subprocess.check_output(
        [BINARY, "record", "--for", "1s", "--kubeconfig", cluster.kubeconfig],
        text=True, timeout=60).splitlines()
    facts = [json.loads(line) for line in lines[1:-1]]
    claims = {f["claim"] for f in facts if f["what"] == "created"}
    assert len(claims) == said["karpenter"]["created"], lines
    return len(claims)
