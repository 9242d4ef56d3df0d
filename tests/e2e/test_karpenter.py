# SPDX-License-Identifier: Apache-2.0
"""What real Karpenter and people do to machines that are held."""
import copy
import time

import pytest

from cluster import LATER, node_pool
from controlplane import CLAIMS, NODES, POOLS, until
from disruption import (ACTS, Disruption, follow, marks_left, names, of_pool,
                        quiet_at, since)
from hold import (HOLD, MARK, SOON, annotations, clear, held, true_until)
from karpenter import SPEC, Karpenter, claim_body


class Registrations:
    """Records from two watches when each Node was registered and each claim
    cleared."""

    def __init__(self, cluster):
        self.registered, self.cleared, self.marked = {}, {}, set()
        follow(cluster, {NODES: self.node, CLAIMS: self.claim})

    def node(self, node):
        meta = node["metadata"]
        if "karpenter.sh/registered" in meta.get("labels", {}):
            self.registered.setdefault(meta["name"], time.time())

    def claim(self, claim):
        meta = claim["metadata"]
        if MARK in annotations(meta):
            self.marked.add(meta["name"])
        elif meta["name"] in self.marked:
            self.cleared.setdefault(meta["name"], time.time())

    def overlap(self):
        begin, end = (f(self.registered.values()) for f in (min, max))
        return sum(begin <= at <= end for at in self.cleared.values())


@pytest.mark.long
def test_fifty_claims_released_while_they_register(cluster, add_holder):
    """Registration copies the claim's annotations from Karpenter's cache, so a
    hold may come back after it was cleared."""
    hold, startup = 8, 6
    holder = add_holder(holdDuration=f"{hold}s", startupTimeout=f"{startup}s")
    seen = Registrations(cluster)
    # After 14 s they count as not booting.  As Nodes that were just admitted
    # delay the release, it comes by 20 s, later where launches are slow.  Ten
    # Nodes register at each of these moments, which does not initialize them.
    pools = [f"p{delay}" for delay in (12, 16, 18, 22, 32)]
    for name in pools:
        cluster.pool(name, registration_delay=name[1:] + "s", cpus=("1",),
                     starting=True)
        cluster.deploy(name, 10, cpu="700m", pool=name)
    until(lambda: len(seen.registered) >= 50, 60,
          lambda: f"{len(seen.registered)} registered")
    until(lambda: len(seen.cleared) >= 50 and not marks_left(cluster), 30,
          lambda: f"{len(seen.cleared)} released: {marks_left(cluster)[:3]}")
    assert seen.overlap() >= 10, "no release in the middle of registrations"
    cluster.started()
    # They booted after all, so each is held for its own quiet time again.
    for name in pools:
        cluster.wait_running(name, 10)
    at = quiet_at(cluster, hold)
    until(lambda: any(map(held, cluster.metadata(NODES).values())), SOON,
          "held again")
    until(lambda: not marks_left(cluster), max(0, at - time.time()) + 8,
          lambda: f"released: {marks_left(cluster)[:3]}")
    assert time.time() >= at - 1
    end = time.time() + 6
    while time.time() < end:
        assert marks_left(cluster) == [], "it came back"
        time.sleep(0.3)
    for kind, path in (("Node", NODES), ("NodeClaim", CLAIMS)):
        assert holder.metric("karpenter_node_holder_objects",
                             kind=kind) == len(names(cluster, path))
    print(f"{seen.overlap()} of {len(seen.cleared)} claims cleared between "
          "the first and the last registration")


def test_deleted_while_held(cluster, add_holder):
    """A person deletes claims and Nodes in either order.  Karpenter terminates
    both and makes up for them."""
    hold = 14
    holder = add_holder(holdDuration=f"{hold}s")
    cluster.pool()
    cluster.deploy("web", 24)
    cluster.wait_running("web", 24)
    assert all(map(held, cluster.metadata(NODES).values()))
    begin = names(cluster)
    claims = {c["metadata"]["name"]: c["status"]["nodeName"]
              for c in cluster.get(CLAIMS)["items"]}
    # What was never ready would be a failed boot, which holds for a minute.
    until(lambda: all(since(c, "Initialized")
                      for c in cluster.get(CLAIMS)["items"]), 30, "ready")
    one, two, three, four = sorted(claims)[:4]
    cluster.delete(CLAIMS, one)
    cluster.delete(NODES, claims[two])
    cluster.delete(CLAIMS, three)
    cluster.delete(NODES, claims[three])
    cluster.delete(NODES, claims[four])
    cluster.delete(CLAIMS, four)
    gone = {one, two, three, four}
    until(lambda: not gone & names(cluster, CLAIMS)
          and not {claims[c] for c in gone} & names(cluster), 60, "all gone",
          every=0.2)
    cluster.wait_running("web", 24)
    assert names(cluster) >= begin - {claims[c] for c in gone}
    at = quiet_at(cluster, hold)
    until(lambda: not marks_left(cluster), max(0, at - time.time()) + 6,
          lambda: f"released: {marks_left(cluster)}")
    assert time.time() >= at - 1
    # The table has forgotten what is gone.
    for kind, path in (("Node", NODES), ("NodeClaim", CLAIMS)):
        until(lambda: holder.metric("karpenter_node_holder_objects",
                                    kind=kind) == len(names(cluster, path)),
              5, f"{kind}s in the table are the cluster's")


@pytest.mark.long
def test_emptiness_and_a_template_with_a_persons_hold(cluster, add_holder):
    """The template of one NodePool holds its nodes for good: they are neither
    marked nor cleared, and Karpenter leaves them alone.  The nodes of the
    other NodePool are empty and go when the hold does."""
    hold = 45
    add_holder(holdDuration=f"{hold}s")
    cluster.pool("theirs", annotations={HOLD: "true"})
    cluster.pool("ours")
    cluster.deploy("a", 8, pool="theirs")
    cluster.deploy("b", 8, pool="ours")
    cluster.wait_running("a", 8)
    cluster.wait_running("b", 8)
    at = quiet_at(cluster, hold)

    def of(pool, path=NODES):
        return of_pool(cluster, pool, path)

    def untouched():
        for meta in of("theirs") + of("theirs", CLAIMS):
            a = annotations(meta)
            assert a.get(HOLD) == "true" and MARK not in a, a
    untouched()
    theirs = len(of("theirs"))
    assert theirs and of("ours") and all(map(held, of("ours")))
    disruption = Disruption(cluster)
    cluster.scale("a", 0)
    cluster.scale("b", 0)
    disruption.none_until(at - 1)
    until(lambda: all(map(clear, of("ours"))), SOON, "released")
    untouched()
    disruption.wait()
    until(lambda: not of("ours"), ACTS, "the other pool's nodes gone",
          every=0.3)
    untouched()
    assert len(of("theirs")) == theirs
    assert set(disruption.by_reason()[0]) == {"empty"}


@pytest.mark.long
def test_a_launch_that_fails(cluster, add_holder):
    """Karpenter tries again and again, and keeps the claim.  It may still
    become a machine and is held itself, but nothing else is."""
    hold = 8
    add_holder(holdDuration=f"{hold}s")
    cluster.pool(consolidate_after=LATER)
    cluster.deploy("web", 8)
    cluster.wait_running("web", 8)
    at = quiet_at(cluster, hold)
    until(lambda: time.time() > at and not marks_left(cluster), hold + SOON,
          "released")
    spec = copy.deepcopy(SPEC)
    spec["nodeClassRef"]["name"] = "general"
    spec["requirements"].append(
        {"key": "node.kubernetes.io/instance-type", "operator": "In",
         "values": ["no-such-type"]})
    cluster.create(CLAIMS, claim_body(name="fails", spec=spec))

    def failed():
        return [c for c in cluster.get(CLAIMS, "fails").get("status", {}).get(
                    "conditions", [])
                if c["type"] == "Launched" and c["status"] != "True"
                and "not found" in c["message"]]
    until(failed, 30, lambda: "Launched of " + str(cluster.get(CLAIMS, "fails")))
    true_until(time.time() + 2 * hold, lambda: marks_left(cluster) == ["fails"],
               "the claim alone is held")
    assert failed()
    cluster.delete(CLAIMS, "fails")
    until(lambda: "fails" not in cluster.metadata(CLAIMS), 30, "gone")


OTHER = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}


@pytest.mark.long
def test_beside_another_karpenter(cluster, add_holder):
    """EKS Auto Mode is a Karpenter that runs elsewhere.  The one here leaves its
    NodePools alone, and the holder holds the machines of both."""
    hold = 10
    add_holder(holdDuration=f"{hold}s")
    cluster.pool()
    cluster.deploy("web", 4)
    cluster.wait_running("web", 4)
    pool = node_pool("auto")
    pool["spec"]["template"]["spec"]["nodeClassRef"] = OTHER
    pool["spec"]["template"]["spec"]["requirements"] = []
    cluster.create(POOLS, pool)
    other = Karpenter(cluster, "auto", provider="aws")

    def released(ready):
        until(lambda: not marks_left(cluster), SOON + max(
            0, ready + hold - time.time()), "released")
        assert time.time() >= ready + hold - 1

    def all_held():
        until(lambda: all(map(held, cluster.metadata(NODES).values())), SOON,
              "the machines of both held")
    released(quiet_at(cluster, hold) - hold)
    m = other.machine(spec={**SPEC, "nodeClassRef": OTHER})
    assert len(names(cluster)) == 2
    all_held()
    released(m.ready)
    cluster.scale("web", 8)
    cluster.wait_running("web", 8)
    all_held()
    # An empty node, and nobody here consolidates it.
    released(quiet_at(cluster, hold) - hold)
    claim = cluster.get(CLAIMS, m.name)
    assert "finalizers" not in claim["metadata"], claim
    assert m.name not in cluster.log_tail("karpenter", 10000)
    other.remove(m)
