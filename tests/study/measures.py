# SPDX-License-Identifier: Apache-2.0
"""What came of a run: from the versions of its objects to facts, and from
facts to figures; and whether the processors allowed it.

Facts are plain JSON, in seconds since the run began, with None for what did
not happen:
    pods:   app, job, node, created, running, evicted, deleting, done, gone
    nodes:  (NodeClaims) name, node, type, created, launched, disrupted (by
            Karpenter's choice), reason (for that), gone, price (dollars an
            hour), held: [[from, to]]
    wanted: {app: [[at, replicas]]}
    ended_s, horizon_s; drift_s, where there is one
"""
import math
import re
import statistics

from hold import held

WARM_UP_S = 60      # what a pod needs to be as fast as it can be
AGAIN_S = 600       # a pod that moves within that time has moved again
PLACE_S = 30        # within which another pod comes in place of a moved one;
                    # a Job waits for 10 s
STEP_S = 5          # machines that Karpenter disrupts within that are one step
PRICE = "eks-node-viewer/instance-price"

# The rule by which a run is thrown away, written down before any run was
# looked at (docs/study.md, method).
STEAL_MOST = 0.02       # share of the processors' time in the whole run
WAIT_MEAN_MOST_MS = 5.0     # how long a thread of a component that was ready
                            # to run waited for a processor, in the whole run
WAIT_WORST_MOST_MS = 50.0   # the same, in the worst interval of 10 s, after
                            # one has been left out for each full hour
LATE_MOST_S = 2.0       # an event of the load was played so late


def thrown_away(processors):
    """Why a run does not count, or None."""
    if processors["steal"] > STEAL_MOST:
        return f"steal: {processors['steal']:.1%} of the processors' time"
    for name, c in processors["components"].items():
        if c["wait_mean_ms"] > WAIT_MEAN_MOST_MS:
            return f"{name} waited {c['wait_mean_ms']:.1f} ms each time"
        if c["wait_worst_ms"] > WAIT_WORST_MOST_MS:
            return (f"{name} waited {c['wait_worst_ms']:.1f} ms each time, "
                    "for 10 s")
    if processors["late_s"] > LATE_MOST_S:
        return f"an event of the load came {processors['late_s']:.1f} s late"
    return None


def processors(samples, late_s):
    """samples: [{"at", "steal", "total", "components": {name: [s it ran, s it
    waited, how often it began to run]}}], all of which only grow."""
    pairs = list(zip(samples, samples[1:]))
    first, last = samples[0], samples[-1]

    def grown(a, b, name, i):
        return b["components"][name][i] - a["components"][name][i]

    def wait_ms(a, b, name):
        return 1000 * grown(a, b, name, 1) / max(1, grown(a, b, name, 2))

    left_out = int((last["at"] - first["at"]) // 3600)

    def worst_ms(name):
        return sorted((wait_ms(a, b, name) for a, b in pairs),
                      reverse=True)[left_out]
    return {
        "steal": round((last["steal"] - first["steal"])
                       / max(1, last["total"] - first["total"]), 4),
        "components": {name: {
            "run": round(grown(first, last, name, 0), 1),
            "wait_mean_ms": round(wait_ms(first, last, name), 2),
            "wait_worst_ms": round(worst_ms(name), 2)}
            for name in first["components"]},
        "late_s": round(late_s, 2), "span_s": round(last["at"] - first["at"])}


# From objects to facts

def first(versions, test):
    return next((at for _, at, obj in versions if obj and test(obj)), None)


def last(versions):
    return [obj for _, _, obj in versions if obj][-1]


def gone(versions):
    return versions[-1][1] if versions[-1][2] is None else None


def condition(obj, kind):
    """That condition, where it is True."""
    return next((c for c in obj.get("status", {}).get("conditions") or []
                 if c["type"] == kind and c["status"] == "True"), None)


def true_since(versions, kind):
    """When that condition was first seen True; None where it is not any more:
    Karpenter may give up what it began."""
    return first(versions, lambda o: condition(o, kind)) if condition(
        last(versions), kind) else None


def pod_facts(versions):
    pod = last(versions)
    owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
    of = owner.get("name", "")
    return {
        # A ReplicaSet has the name of its Deployment and a hash.
        "app": of.rpartition("-")[0]
        if owner.get("kind") == "ReplicaSet" else of,
        "job": owner.get("kind") == "Job",
        "node": pod["spec"].get("nodeName"),
        "created": versions[0][1],
        "running": first(versions, lambda o: o["status"].get("phase")
                         == "Running"),
        "evicted": true_since(versions, "DisruptionTarget"),
        "deleting": first(versions, lambda o: "deletionTimestamp"
                          in o["metadata"]),
        "done": first(versions, lambda o: o["status"].get("phase")
                      in ("Succeeded", "Failed")),
        "gone": gone(versions)}


def holds(versions):
    """When our hold was on it: [[from, to]]; None: it still is."""
    found = []
    for _, at, obj in versions:
        on = bool(obj and held(obj))
        if on and not (found and found[-1][1] is None):
            found.append([at, None])
        elif not on and found and found[-1][1] is None:
            found[-1][1] = at
    return found


def node_facts(versions, nodes):
    """nodes: {name: versions} of the Nodes."""
    claim = last(versions)
    labels = claim["metadata"].get("labels", {})
    node = claim.get("status", {}).get("nodeName")
    return {
        "name": claim["metadata"]["name"], "node": node,
        "type": labels.get("node.kubernetes.io/instance-type"),
        "price": float(labels.get(PRICE, 0)),
        "created": versions[0][1],
        "launched": true_since(versions, "Launched"),
        "disrupted": true_since(versions, "DisruptionReason"),
        "reason": (condition(claim, "DisruptionReason") or {}).get("reason"),
        "gone": gone(versions), "held": holds(nodes.get(node) or [])}


def last_change(pods, nodes):
    """When one of them last came, began, moved, went or was released, and
    whether a node is held.  The conditions of a pod that waits change all the time."""
    moments = [p[k] for p in pods for k in (
        "created", "running", "evicted", "deleting", "done", "gone")]
    moments += [n[k] for n in nodes for k in (
        "created", "launched", "disrupted", "gone")]
    moments += [to for n in nodes for _, to in n["held"]]
    return (max((m for m in moments if m is not None), default=0.0),
            any(to is None for n in nodes for _, to in n["held"]))


# From facts to figures

def overlap(begin, end, low, high):
    return max(0.0, min(end, high) - max(begin, low))


def pending(pod, end):
    """Seconds in phase Pending, pulls and probes included."""
    until = min(t for t in (pod["running"], pod["deleting"], pod["gone"],
                            pod["done"], end) if t is not None)
    return max(0.0, until - pod["created"])


def percentile(values, share):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] \
        if ordered else 0.0


def up_at(pods, at):
    """How many of them serve at that moment."""
    return sum(p["running"] is not None and p["running"] <= at
               and all(p[k] is None or p[k] > at
                       for k in ("evicted", "deleting", "done", "gone"))
               for p in pods)


def peaks(facts):
    """Seconds from each scale-up until all pods asked for ran; where the next
    change came before that, until then."""
    found = []
    for app, steps in facts["wanted"].items():
        pods = [p for p in facts["pods"] if p["app"] == app]
        steps = [[0, 0], *steps, [facts["ended_s"], 0]]
        for (_, was), (at, now), (until, _) in zip(
                steps, steps[1:], steps[2:]):
            if now > was:
                found.append(next(
                    (t for t in sorted({p["running"] for p in pods
                                        if p["running"] is not None
                                        and at <= p["running"] < until})
                     if up_at(pods, t) >= now), until) - at)
    return found


def moves(facts):
    """{pod's number: node} of the pods that Karpenter chose to move, and of all
    that were evicted.  An expiry or an interruption moves pods, too, and no
    policy prevents it."""
    nodes = {n["node"]: n for n in facts["nodes"] if n["node"]}
    evicted = {i: nodes[p["node"]] for i, p in enumerate(facts["pods"])
               if p["evicted"] is not None and p["node"] in nodes}
    return {i: n for i, n in evicted.items()
            if n["disrupted"] is not None}, evicted


def places(pods):
    """{number of an evicted pod: of the one that came in its place}: the next
    of the same app that is in nobody else's."""
    numbers = range(len(pods))
    came = sorted(numbers, key=lambda i: pods[i]["created"])
    found = {}
    for i in sorted((i for i in numbers if pods[i]["evicted"] is not None),
                    key=lambda i: pods[i]["evicted"]):
        at = pods[i]["evicted"]
        j = next((j for j in came if pods[j]["app"] == pods[i]["app"]
                  and at <= pods[j]["created"] <= at + PLACE_S), None)
        if j is not None:
            found[i] = j
            came.remove(j)
    return found


def steps(facts):
    """[[when, gone or None, why, seconds since it was released or None, pods
    moved, of these moved again]] of each machine that Karpenter chose to
    disrupt."""
    pods, (moved, _) = facts["pods"], moves(facts)
    place = places(pods)
    again = {i for i in moved if place.get(i) in moved
             and pods[place[i]]["evicted"] - pods[i]["evicted"] <= AGAIN_S}
    found = []
    for n in facts["nodes"]:
        at = n["disrupted"]
        if at is None:
            continue
        released = max((to for _, to in n["held"] if to is not None
                        and to <= at), default=None)
        mine = {i for i, node in moved.items() if node is n}
        found.append([at, n["gone"], n["reason"],
                      None if released is None else round(at - released, 2),
                      len(mine), len(mine & again)])
    return sorted(found, key=lambda s: s[0])


def gaps(of):
    """Seconds from the beginning of a step to that of the next one after the
    same release; of: as steps() has them."""
    found, before = [], None
    for at, _, _, since, _, _ in of:
        if before is not None and at - before <= STEP_S:
            continue
        if before is not None and since is not None and since >= at - before:
            found.append(at - before)
        before = at
    return found


def pace(of):
    """Did Karpenter go on after a release where it might have paused?"""
    released = [s for s in of if s[3] is not None]
    return {
        "moved_again": sum(s[5] for s in of),
        "moved_released": sum(s[4] for s in released),
        "moved_released_again": sum(s[5] for s in released),
        "step_gap_median_s": statistics.median(gaps(of) or [0.0])}


def figures(facts):
    end, horizon = facts["ended_s"], facts["horizon_s"]
    chosen, evicted = moves(facts)
    moved = [facts["pods"][i] for i in chosen]
    ran = [p["evicted"] - p["running"] if p["running"] is not None else 0.0
           for p in moved]
    bill = [(n, n["launched"], end if n["gone"] is None else n["gone"])
            for n in facts["nodes"] if n["launched"] is not None]
    # What is left in the end goes on until the horizon, which is the same for
    # all policies.
    rest = [n for n in facts["nodes"] if n["gone"] is None]
    node_s = sum(to - at for _, at, to in bill)
    left_s = max(0.0, horizon - end)
    held_s = sum(overlap(a, b if b is not None else end, at, to)
                 for n, at, to in bill for a, b in n["held"])
    waits = [pending(p, end) for p in facts["pods"]]
    rises = peaks(facts)
    out = {
        "moved": len(moved),
        "moved_by_force": len(evicted) - len(moved),
        "moved_ran_median_s": statistics.median(ran) if ran else 0.0,
        "warm_up_lost_s": sum(min(s, WARM_UP_S) for s in ran),
        "job_seconds_lost": sum(s for p, s in zip(moved, ran) if p["job"]),
        "nodes_launched": len(bill),
        "nodes_disrupted": sum(n["disrupted"] is not None
                               for n in facts["nodes"]),
        "node_seconds": node_s + left_s * len(rest),
        "dollars": (sum(n["price"] * (to - at) for n, at, to in bill)
                    + left_s * sum(n["price"] for n in rest)) / 3600,
        "pending_sum_s": sum(waits),
        "pending_p99_s": percentile(waits, 0.99),
        "never_ran": sum(p["running"] is None and p["gone"] is None
                         for p in facts["pods"]),
        "peak_median_s": statistics.median(rises) if rises else 0.0,
        "peak_worst_s": max(rises, default=0.0),
        "held_share": held_s / node_s if node_s else 0.0,
        "pods": len(facts["pods"]), "nodes_left": len(rest),
        "ended_s": end, **pace(steps(facts)),
    }
    if facts.get("drift_s") is not None:
        old = [n for n in facts["nodes"] if n["created"] < facts["drift_s"]]
        out["drift_left"] = sum(n["gone"] is None for n in old)
        out["drift_finished_s"] = max(
            (end if n["gone"] is None else n["gone"] for n in old),
            default=facts["drift_s"]) - facts["drift_s"]
    return {k: round(v, 4 if k in ("dollars", "held_share") else 1)
            if isinstance(v, float) else v for k, v in out.items()}


def counted(before, after):
    """The growth of counters; those that did not are left out."""
    return {k: int(v - before.get(k, 0)) for k, v in sorted(after.items())
            if v > before.get(k, 0)}


def writes(metrics):
    """{resource: requests that write} from the API server's metrics; "all" is
    without Leases, which everybody renews."""
    found = {"all": 0}
    for key, value in metrics.items():
        if key.startswith("apiserver_request_total{") and re.search(
                r'verb="(POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION)"', key):
            resource = re.search(r'resource="([^"]*)"', key)[1]
            if resource != "leases":
                found["all"] += value
                found[resource] = found.get(resource, 0) + value
    return {k: v for k, v in found.items()
            if k in ("all", "nodes", "nodeclaims", "pods", "events")}
