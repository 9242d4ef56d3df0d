# SPDX-License-Identifier: Apache-2.0
"""Karpenter 1.15 and a reservation that is full: with its gates TerminateFirst…
it deletes a node of it first, and names nobody.

The kwok provider does not count how many places of a reservation are taken: it
offers what a file says (cluster.instance_types), which it reads when it starts.
"""
import time

import pytest

import versions
from cluster import DECISIONS, LATER, instance_types
from controlplane import CLAIMS, until
from disruption import ACTS, Disruption, of_pool, since
from hold import seconds
from test_repair import REPAIRS
from test_replacements import EVENTS
from test_substitutes import (HOLD, MATCHED, Watched, check_own_time,
                              wait_released)

pytestmark = [pytest.mark.long, pytest.mark.skipif(
    versions.running() < (1, 15, 0), reason="needs Karpenter 1.15, such as "
    "make matrix PAIRS=1.15.0-on-1.36.3 runs")]

GATES = "NodeRepair=true,TerminateFirstDrift={0},TerminateFirstRepair={0}"
FIRST = {"decision": "terminate-first"}


@pytest.fixture
def reserve(cluster):
    """reserve(free, gates): how many places the provider says are free from now
    on, and whether the gates are on."""
    def again(free, gates):
        cluster.stop_karpenter()
        cluster.start_karpenter(GATES.format(str(gates).lower()),
                                types=instance_types(free))
    yield again
    cluster.stop_karpenter()
    cluster.start_karpenter()


def drift(cluster, _node):
    cluster.pool("web", cpus=("1",), families=("r",), capacity_type="reserved",
                 consolidate_after=LATER, labels={"example.com/new": "1"})


def sicken(cluster, node):
    cluster.ails(node, "KWOKUnhealthy")


def reserved(cluster, holder):
    """One node of the reservation, and one of another NodePool."""
    cluster.pool("web", cpus=("1",), families=("r",), capacity_type="reserved",
                 consolidate_after=LATER)
    cluster.pool("other", cpus=("1",), consolidate_after=LATER)
    for name in ("web", "other"):
        cluster.deploy(name, 1, cpu="700m", pool=name)
        cluster.wait_running(name, 1)
    wait_released(cluster)
    [claim] = of_pool(cluster, "web", CLAIMS)
    assert claim["labels"]["karpenter.sh/capacity-type"] == "reserved"
    return cluster.get(CLAIMS, claim["name"])["status"]["nodeName"], \
        Watched(cluster, holder)


def replaced(watched):
    watched.look()
    return watched.made and watched.deleted and all(
        since(c, "Initialized") for c in watched.made.values())


@pytest.mark.parametrize("fails, reason", [(drift, "drifted"),
                                           (sicken, "unhealthy")])
def test_gates_on(cluster, add_holder, reserve, fails, reason):
    """What takes its place is a substitute, and holds nobody else."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    reserve(1, True)
    node, watched = reserved(cluster, holder)
    reserve(0, True)
    disruption = Disruption(cluster)
    fails(cluster, node)
    until(lambda: watched.deleted and not of_pool(cluster, "web", CLAIMS),
          REPAIRS, lambda: "deleted first: " + watched.story()
          + cluster.log_tail("karpenter"))
    assert not watched.made
    assert cluster.karpenter_metric(DECISIONS, **FIRST, reason=reason) == 1
    assert disruption.by_reason()[1] == {reason: 1}
    reserve(1, True)
    until(lambda: replaced(watched), ACTS,
          lambda: "replaced: " + watched.story(), every=0.2)
    [claim] = watched.made.values()
    took = seconds(claim["metadata"]["creationTimestamp"]) - seconds(
        watched.deleted[watched.deletions()[0]]["metadata"][
            "deletionTimestamp"])
    print(f"made {took} s after the deletion")
    assert took <= MATCHED, "too slow to tell"
    check_own_time(cluster, watched)
    watched.check_substitutes(1)


def test_gates_off(cluster, add_holder, reserve):
    """While the reservation is full nothing happens.  Then Karpenter makes the
    other one first, and names it."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    reserve(1, False)
    node, watched = reserved(cluster, holder)
    reserve(0, False)
    drift(cluster, node)

    def blocked():
        """Why Karpenter leaves the node alone."""
        return [e["message"] for e in cluster.get(EVENTS)["items"]
                if e["reason"] == "DisruptionBlocked"
                and e["involvedObject"].get("name") == node]
    until(lambda: any("reserved" in why for why in blocked()), ACTS,
          lambda: f"blocked: {blocked()}\n" + cluster.log_tail("karpenter"))
    assert not watched.made and not watched.deleted
    reserve(1, False)
    until(lambda: replaced(watched), ACTS,
          lambda: "replaced: " + watched.story(), every=0.2)
    assert list(watched.classes().values()) == ["drifted"], watched.story()
    assert not watched.held and not watched.scopes, watched.story()
    check_own_time(cluster, watched)
    assert not watched.held and not watched.scopes, watched.story()
