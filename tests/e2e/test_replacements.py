# SPDX-License-Identifier: Apache-2.0
"""Machines that real Karpenter makes to replace others.  `replacements` of the
configuration says whether they count as scale-ups."""
import math
import time

import pytest

from cluster import DECISIONS, LATER
from controlplane import CLAIMS, NODES, until
from disruption import (ACTS, Disruption, follow, marks_left, names, quiet_at,
                        since)
from hold import (EARLY, LATE, SOON, annotations, held, seconds,
                  true_until)
from replay import check_other_run, check_replay, decisions, simulate

EVENTS = "/api/v1/namespaces/default/events"
CLASS = "karpenter-node-holder.io/replacement"
# Seconds; a hold that comes so late may find that a step has begun.
STARTED = 3


# --- three nodes become one --------------------------------------------------

class Made:
    """The claims made from now on, and whether they replace others."""

    def __init__(self, cluster):
        self.before = {m["uid"] for m in cluster.metadata(CLAIMS).values()}
        self.claims = {}    # uid -> (when seen, claim as it was made)
        self.signs = {}     # uid -> (when seen, message)
        follow(cluster, {CLAIMS: self.claim, EVENTS: self.event})

    def claim(self, claim):
        uid = claim["metadata"]["uid"]
        if uid not in self.before:
            self.claims.setdefault(uid, (time.time(), claim["metadata"]))

    def event(self, event):
        if event["reason"] == "DisruptionLaunching":
            self.signs.setdefault(event["involvedObject"]["uid"],
                                  (time.time(), event["message"]))


@pytest.mark.parametrize("replacements", [
    "ignore", pytest.param("count", marks=pytest.mark.long)])
def test_three_nodes_become_one(cluster, add_holder, replacements):
    """One c-4x costs less than three m-2x, once the NodePool may have it."""
    def multi():
        return cluster.karpenter_metric(
            DECISIONS, decision="replace", consolidation_type="multi")
    hold = 20
    add_holder(holdDuration=f"{hold}s", replacements=replacements)
    cluster.pool("web", families=("m",), cpus=("2",))
    # Karpenter leaves this node alone.  Does the replacement make the holder
    # hold it?
    cluster.pool("other", cpus=("1",), consolidate_after=LATER)
    cluster.deploy("web", 3, cpu="1100m", pool="web")
    cluster.deploy("other", 1, cpu="700m", pool="other")
    cluster.wait_running("web", 3)
    cluster.wait_running("other", 1)
    old = names(cluster, pool="web")
    [other] = names(cluster, pool="other")
    assert len(old) == 3
    at = quiet_at(cluster, hold)
    disruption, before = Disruption(cluster), multi()
    made = Made(cluster)
    cluster.pool("web", families=("c", "m"), cpus=("2", "4"))
    disruption.none_until(at - 1)
    until(lambda: not marks_left(cluster), SOON, "released")
    disruption.wait()

    until(lambda: made.signs, 10, lambda: f"DisruptionLaunching: {made.claims}")
    [(uid, (said_at, message))] = made.signs.items()
    # Karpenter 1.0 and 1.1 append the method.
    assert message in ("Launching NodeClaim: Underutilized",
                       "Launching NodeClaim: Underutilized/Replace")
    [(made_at, claim)] = made.claims.values()
    assert claim["uid"] == uid
    assert held(claim), "whatever it is for, it has its own quiet time"
    name = claim["name"]
    spread = False      # whether the other NodePool's node was held

    def replaced():
        nonlocal spread
        spread |= held(cluster.metadata(NODES)[other])
        return names(cluster, pool="web").isdisjoint(old)
    until(replaced, ACTS, lambda: f"{old} gone\n"
          + cluster.log_tail("karpenter"), every=0.2)
    gone = time.time()
    cluster.wait_running("web", 3)
    assert len(names(cluster, pool="web")) == 1
    assert multi() == before + 1, "not all three by one decision"
    assert disruption.by_reason() == [{"underutilized": 1},
                                      {"underutilized": 3}]
    ready = since(cluster.get(CLAIMS, name), "Initialized")
    print(f"{replacements}: DisruptionLaunching "
          f"{1000 * (said_at - made_at):+.0f} ms from the claim's creation, "
          f"ready {ready - made_at:.0f} s after it, the old nodes gone "
          f"{gone - made_at:.0f} s after it; other pool held: {spread}")

    assert spread == (replacements == "count"), "it counts, or not"
    if replacements == "ignore":
        assert cluster.annotations(CLAIMS, name)[CLASS] == "underutilized"
    # Whether it is a scale-up or not, it is held for its own quiet time and no
    # longer.
    [node] = names(cluster, pool="web")

    def as_it_should():
        now = cluster.metadata(NODES)
        return held(now[node]) and \
            held(now[other]) == (replacements == "count")
    true_until(ready + hold - EARLY, as_it_should, "held too little or too much")
    until(lambda: not marks_left(cluster), SOON, "released")


# --- drift -------------------------------------------------------------------

LABEL = "example.com/generation"
FLEET = 12
STEPS = 4       # enough of them to see the pace
# Seconds; Karpenter itself looks every 10 s, and spares nodes for 10 s.
HOLD = 30
CREATED = "karpenter_nodeclaims_created_total"


class Drift:
    """Every node of the NodePool is outdated.  Watches until so many are new,
    or for so many seconds."""

    def __init__(self, cluster, wanted, watch=None):
        self.cluster = cluster
        self.wanted = wanted
        self.old = names(cluster)
        self.claims = {}        # the claims made since, as they are now
        self.held_old = 0       # how many looks saw an old node held
        self.disruption = Disruption(cluster)
        self.created = cluster.karpenter_reasons(CREATED)
        self.begin = time.time()
        cluster.pool(cpus=("1",), labels={LABEL: "2"})
        if watch is None:
            until(self.look, 300, lambda: f"{wanted} new nodes: "
                  f"{self.figures()}\n{cluster.log_tail('karpenter')}",
                  every=0.25)
        else:
            time.sleep(watch)
            self.look()
        self.end = time.time()
        self.took = self.end - self.begin

    @property
    def span(self):
        """From the first decision, which Karpenter takes within 10 s."""
        return decisions(self.cluster, self.begin, self.end)[0], self.end

    def look(self):
        for claim in self.cluster.get(CLAIMS)["items"]:
            if LABEL in claim["metadata"]["labels"]:
                self.claims[claim["metadata"]["uid"]] = claim
        nodes = self.cluster.metadata(NODES)
        old = self.old & set(nodes)
        self.held_old += any(held(nodes[n]) for n in old)
        return (len(old) <= len(self.old) - self.wanted
                and len(nodes) == len(self.old))

    def order(self):
        """(made, launched, ready, uid) of each claim, in the order of
        creation."""
        return sorted((seconds(c["metadata"]["creationTimestamp"]),
                       since(c, "Launched") or math.inf,
                       since(c, "Initialized") or math.inf, uid)
                      for uid, c in self.claims.items())

    def waits(self):
        """The time from when all earlier claims are ready until the next one
        is made.  It is below zero where Karpenter did not wait for them."""
        order = self.order()
        return [made - max(ready for _, _, ready, _ in order[:i])
                for i, (made, *_) in enumerate(order) if i]

    def during_a_hold(self):
        """The claims made although an earlier one had already caused a hold.
        """
        order = self.order()
        return [made - order[0][0] for made, *_ in order
                if any(launched + STARTED < made < ready + HOLD - EARLY
                       for _, launched, ready, _ in order)]

    def created_now(self):
        """How many claims were made, by their reason."""
        return dict(self.cluster.karpenter_reasons(CREATED) - self.created)

    def figures(self):
        decisions, disrupted = self.disruption.by_reason()
        return (f"decisions {decisions}, claims disrupted {disrupted}, "
                f"created {self.created_now()}; from all ready to the next "
                f"step {self.waits()} s; old ones held at {self.held_old} "
                "looks")


@pytest.fixture(scope="module")
def without():
    """{cluster: the span of the drift in which Karpenter was alone}"""
    return {}


@pytest.mark.long
@pytest.mark.parametrize("replacements", [
    "no holder", "ignore", "count"])
def test_drift(cluster, add_holder, without, replacements):
    """Every step makes a node: does each restart the hold?  What a replay says
    of the first run is compared with the others, if they are on one cluster.
    """
    begin, holder = time.time(), None
    if replacements != "no holder":
        holder = add_holder(holdDuration=f"{HOLD}s", replacements=replacements)
    cluster.pool(cpus=("1",))
    cluster.deploy("web", FLEET, cpu="700m")    # one Pod on each node
    cluster.wait_running("web", FLEET)
    assert len(names(cluster)) == FLEET
    at = quiet_at(cluster, HOLD)
    until(lambda: time.time() > at and not marks_left(cluster),
          at - time.time() + LATE, "released")
    throttled = replacements == "count"
    drift = Drift(cluster, STEPS if throttled else FLEET)
    print(f"{replacements}: {drift.wanted} of {FLEET} nodes new after "
          f"{drift.took:.0f} s, {drift.figures()}")

    _, disrupted = drift.disruption.by_reason()
    assert disrupted["drifted"] >= drift.wanted
    if throttled:
        assert max(drift.waits()) >= HOLD - EARLY, "not throttled"
        assert not drift.during_a_hold()
        settings = {"hold_duration": f"{HOLD}s", "replacements": "count"}
        check_replay(cluster, holder, begin, **settings)
        if cluster in without:
            check_other_run(cluster, holder, without[cluster], drift.span,
                            **settings)
        return
    settings = {"hold_duration": f"{HOLD}s", "replacements": "ignore"}
    if holder is None:
        without[cluster] = drift.span
    if replacements == "ignore":
        classes = [annotations(c).get(CLASS) for c in drift.claims.values()]
        assert classes.count("drifted") == drift.created_now()["drifted"]
    # Rarely Karpenter drains one node too many at a time and makes up for it.
    # That is a scale-up, and is held.
    if "provisioned" not in drift.created_now():
        assert max(drift.waits()) < HOLD - EARLY, "throttled"
        assert not drift.held_old
        assert not simulate(cluster, *drift.span, **settings)["turns"]
    cluster.wait_running("web", FLEET)
    # Each new machine is held for its own quiet time, and no longer.
    at = quiet_at(cluster, HOLD)
    until(lambda: time.time() > at and not marks_left(cluster),
          at - time.time() + LATE, "released")
    if holder is not None:
        check_replay(cluster, holder, begin, **settings)


@pytest.mark.long
@pytest.mark.parametrize("drift", ["hold", "allow"])
def test_drift_in_a_held_cluster(cluster, add_holder, drift):
    """A scale-up holds the cluster, and all nodes drift: with drift: allow
    Karpenter replaces all but the newest one, which has its own quiet time."""
    hold = 280
    add_holder(holdDuration=f"{hold}s", drift=drift)
    cluster.pool(cpus=("1",))
    cluster.deploy("web", FLEET, cpu="700m")
    cluster.wait_running("web", FLEET)
    at = quiet_at(cluster, hold)
    until(lambda: time.time() > at and not marks_left(cluster),
          at - time.time() + LATE, "released")
    before = names(cluster)
    cluster.deploy("more", 1, cpu="700m")
    cluster.wait_running("more", 1)
    until(lambda: all(map(held, cluster.metadata(NODES).values())), SOON,
          "all nodes held")
    newest = names(cluster) - before
    quiet = quiet_at(cluster, hold)
    seen = Drift(cluster, FLEET, 60 if drift == "hold" else None)
    decisions_made, disrupted = seen.disruption.by_reason()
    print(f"drift: {drift}: {len(before - names(cluster))} of {FLEET} nodes "
          f"gone after {seen.took:.0f} s, {quiet - seen.end:.0f} s before the "
          f"cluster is quiet, {seen.figures()}")
    assert seen.end < quiet, "the cluster was not held for so long"
    assert newest <= names(cluster), "a node in its own quiet time"
    if drift == "hold":
        assert not decisions_made and before <= names(cluster)
    else:
        assert disrupted["drifted"] >= FLEET
