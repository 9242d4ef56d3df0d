# SPDX-License-Identifier: Apache-2.0
"""NodePools for which a hold can do nothing, with real Karpenter: a static one,
and one that is never consolidated."""
import time

import pytest

from cluster import LATER
from controlplane import CLAIMS, NODES, POOLS, until
from disruption import follow, names
from hold import clear, held, stamp
from karpenter import NODEPOOL
from lead import said
from test_pools import all_of, events, say, wait_all
from test_substitutes import karpenter_with

ALONE = ("fixed", "never")
GATES = "NodeRepair=false,StaticCapacity=true"


def machines(cluster, pool, count):
    """Waits until the NodePool has so many machines, all of them ready."""
    def ready():
        claims = [c for c in cluster.get(CLAIMS)["items"]
                  if c["metadata"]["labels"][NODEPOOL] == pool]
        return len(claims) == count and all(
            any(x["type"] == "Initialized" and x["status"] == "True"
                for x in c.get("status", {}).get("conditions", []))
            for c in claims)
    until(ready, 60, lambda: f"{count} machines of {pool}\n"
          + cluster.log_tail("karpenter"), every=0.2)


@pytest.mark.long
def test_left_alone(cluster, add_holder):
    with karpenter_with(cluster, GATES):
        holder = add_holder(holdDuration="10m")
        seen = []       # the objects of both NodePools, at each change

        def see(obj):
            if obj["metadata"]["labels"].get(NODEPOOL) in ALONE:
                seen.append(obj["metadata"])
        follow(cluster, {NODES: see, CLAIMS: see})

        # They start no hold by themselves.
        cluster.pool("web", cpus=("1",))
        cluster.pool("never", cpus=("1",), consolidate_after="Never")
        cluster.pool("fixed", cpus=("1",), replicas=2)
        cluster.deploy("never", 1, cpu="700m", pool="never")
        cluster.wait_running("never", 1)
        machines(cluster, "never", 1)
        machines(cluster, "fixed", 2)
        assert not said(holder, "scope held")
        assert not holder.metric("karpenter_node_holder_timers")

        # The ordinary one holds the cluster, but not them.
        cluster.deploy("web", 1, cpu="700m", pool="web")
        wait_web(cluster)
        cluster.patch(POOLS, "fixed", {"spec": {"replicas": 3}})
        machines(cluster, "fixed", 3)
        until(lambda: events(cluster, "HoldStarted", "web"), 10,
              "Event HoldStarted")
        assert len(said(holder, "scope held")) == 1
        assert holder.metric("karpenter_node_holder_timers") == 1
        assert {m["labels"][NODEPOOL] for m in seen} == set(ALONE)
        assert all(map(clear, seen)), "not left alone"
        for pool in ALONE:
            assert not events(cluster, "HoldStarted", pool)
            assert all_of(cluster, pool, clear)

        # It is the spec that says so, and it may change at any time.
        set_consolidate_after(cluster, LATER)
        wait_all(cluster, "never", held, "held like any other")
        set_consolidate_after(cluster, "Never")
        wait_all(cluster, "never", clear, "left alone again")
        assert all_of(cluster, "web", held)

        # A person may hold them all the same.
        say(cluster, "fixed", hold_until=stamp(time.time() + 600))
        wait_all(cluster, "fixed", held, "held by hand")
        before = names(cluster, CLAIMS, "fixed")
        cluster.patch(POOLS, "fixed", {"spec": {"replicas": 4}})
        machines(cluster, "fixed", 4)
        [new] = names(cluster, CLAIMS, "fixed") - before
        first = next(m for m in seen if m["name"] == new)
        assert held(first), "not held at admission"
        say(cluster, "fixed", hold_until=None)
        wait_all(cluster, "fixed", clear, "left alone again")
        for pool in ALONE:
            assert not events(cluster, "HoldStarted", pool)


def wait_web(cluster):
    cluster.wait_running("web", 1)
    machines(cluster, "web", 1)
    wait_all(cluster, "web", held, "held")


def set_consolidate_after(cluster, value):
    cluster.patch(POOLS, "never", {"spec": {"disruption": {
        "consolidateAfter": value}}})
