# SPDX-License-Identifier: Apache-2.0
"""The API server's audit log of a wave says what Karpenter's own log says, and
/status says what the holder's log says."""
import json
import subprocess
import time

from holder import HOLDERCTL
from replay import machines, turns, when

# Seconds.  Stamps of objects are cut to seconds, and Karpenter logs what it has
# just written.
APART = 3.0


def read(*args):
    return subprocess.check_output([HOLDERCTL, "simulate", *args], text=True,
                                   timeout=60)


def facts(path):
    """{(what, claim): seconds}, of a decision for each of its machines."""
    found = {}
    lines = read(path, "-o", "record").splitlines()[1:-1]
    for fact, machine in machines(list(map(json.loads, lines))):
        found.setdefault((fact["what"], machine), when(fact["at"]))
    return found


def report(path, hold):
    return json.loads(read(path, "-o", "json", "--hold-duration", hold))


def missing(some, others, until):
    return {key: at for key, at in some.items() if at < until and (
        key not in others or abs(others[key] - at) > APART)}


def without(path, to, resource):
    """The same log, whose policy has the level Metadata for a resource."""
    with to.open("w") as out:
        for event in map(json.loads, path.read_text().splitlines()):
            if event["objectRef"]["resource"] == resource:
                event["level"] = "Metadata"
                event.pop("responseObject", None)
                event.pop("requestObject", None)
            out.write(json.dumps(event) + "\n")
    return to


# Of a Node's deletion Karpenter logs the taint, which comes later.
SAME = "created", "launched", "registered", "ready", "decided", "gone"


def check_audit(cluster, hold):
    """Returns how many machines both know."""
    log = {k: at for k, at in facts(cluster.dir / "karpenter.log").items()
           if k[0] in SAME}
    audit = {k: at for k, at in facts(cluster.audit_log).items()
             if k[0] in SAME}
    until = time.time() - APART
    story = missing(log, audit, until), missing(audit, log, until)
    assert story == ({}, {}), story
    a, b = (report(path, hold) for path in (
        cluster.dir / "karpenter.log", cluster.audit_log))
    assert b["input"]["late"] == b["input"]["withoutObject"] == 0, b["input"]
    assert a["karpenter"]["replacements"] == (
        b["karpenter"]["replacements"]), (a["karpenter"], b["karpenter"])
    turns = [[(when(t["from"]), t["to"] and when(t["to"]))
              for t in said["settings"][0]["turns"]] for said in (a, b)]
    assert len(turns[0]) == len(turns[1]) > 0, turns
    for one, other in zip(*turns):
        # The two logs may end at other times.
        assert all(abs(x - y) < APART for x, y in zip(one, other)
                   if y < until - APART), turns
    # Nodes alone know the machines that joined.
    nodes = facts(without(cluster.audit_log, cluster.dir / "nodes.log",
                          "nodeclaims"))
    joined = {k: at for k, at in log.items()
              if k[0] in ("registered", "ready", "decided")}
    assert not missing(joined, nodes, until), missing(joined, nodes, until)
    return sum(what == "created" for what, _ in audit)


def check_happened(cluster, holder):
    """The turns of /status, read beside Karpenter's log."""
    code, body, _ = holder.fetch("/status?format=json")
    assert code == 200, body
    path = cluster.dir / "status.json"
    path.write_text(body)
    happened = json.loads(read(cluster.dir / "karpenter.log", path, "-o",
                               "json"))["happened"]
    real = [t for t in turns(holder) if t[1] is not None]
    said = [(when(t["from"]), when(t["to"])) for t in happened["turns"]]
    assert len(said) == len(real) > 0, (said, real)
    for one, other in zip(said, real):
        assert all(abs(x - y) < APART for x, y in zip(one, other)), (
            said, real)
