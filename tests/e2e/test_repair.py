# SPDX-License-Identifier: Apache-2.0
"""What Karpenter 1.15 does about a machine that is unhealthy: it reboots it, or
replaces it, whatever holds it.  Neither holds anybody else, unless the machine
was never ready."""
import time

import pytest

import versions
from cluster import DECISIONS, DISRUPTED, LATER, STARTING
from controlplane import CLAIMS, NODES, until
from disruption import ACTS, follow, marks_left, names, since
from hold import EARLY, LATE, SOON, clear, held, seconds
from test_replacements import EVENTS
from test_substitutes import (HOLD, Watched, check_own_time, fleet,
                              karpenter_with, wait_released)

pytestmark = [pytest.mark.long, pytest.mark.skipif(
    versions.running() < (1, 15, 0), reason="needs Karpenter 1.15, such as "
    "make matrix PAIRS=1.15.0-on-1.36.3 runs")]

# The tolerance of kwok's policies, and what Karpenter takes after it.
REPAIRS = 30 + ACTS


def test_rebooted_twice_and_then_replaced(cluster, add_holder):
    """Each time the machine alone is held anew.  In the end Karpenter names the
    one that takes its place."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    with karpenter_with(cluster, "NodeRepair=true"):
        fleet(cluster, 5, consolidate_after=LATER)
        wait_released(cluster)
        watched = Watched(cluster, holder)
        sick = sorted(names(cluster, pool="web"))[0]
        cluster.ails(sick, "KWOKRebootRequired")

        def reboots():
            watched.look()
            return cluster.karpenter_metric(DECISIONS, decision="reboot")
        for count in (1, 2):
            until(lambda: reboots() >= count, REPAIRS, lambda:
                  f"reboot {count}\n" + cluster.log_tail("karpenter"))
            until(lambda: held(cluster.metadata(NODES)[sick]), SOON,
                  "held after its reboot")

        def replaced():
            watched.look()
            return watched.made and sick not in names(cluster) and all(
                since(c, "Initialized") for c in watched.made.values())
        until(replaced, REPAIRS, lambda: "replaced: " + watched.story(),
              every=0.3)
        assert reboots() == 2
        # It counts each reboot, too.
        assert cluster.karpenter_metric(DISRUPTED, reason="unhealthy") == 3
        assert list(watched.classes().values()) == ["unhealthy"]
        assert watched.held <= {sick} and not watched.scopes, watched.story()
        check_own_time(cluster, watched)
        assert watched.held <= {sick} and not watched.scopes, watched.story()
    assert all(map(clear, cluster.metadata(NODES).values()))


def events(cluster, name):
    """What Karpenter has said of that claim."""
    return {e["reason"] for e in cluster.get(EVENTS)["items"]
            if e["involvedObject"].get("name") == name}


class Spread:
    """Was this node ever released since it was first held?"""

    def __init__(self, cluster, node):
        self.node, self.held, self.released = node, False, []
        follow(cluster, {NODES: self.look})

    def look(self, node):
        if node["metadata"]["name"] == self.node:
            if self.held and clear(node):
                self.released.append(time.time())
            self.held |= held(node)


class Booting:
    """A machine of a scale-up that registers and does not get ready, beside one
    of another NodePool that is held because of it."""

    def __init__(self, cluster, holder, hold, tolerates):
        self.cluster = cluster
        self.watched = Watched(cluster, holder)
        [other] = self.watched.old
        self.spread = Spread(cluster, other)
        cluster.pool("web", cpus=("1",), consolidate_after=LATER,
                     starting=True)
        cluster.deploy("web", 1, cpu="700m", pool="web", tolerates=tolerates)
        [self.claim] = until(lambda: self.registered(1), ACTS,
                             "a machine that boots")
        until(lambda: self.spread.held, SOON, "a scale-up")
        self.hold = hold

    def registered(self, count):
        found = [c for c in list(self.watched.made.values())
                 if since(c, "Registered")]
        return found if len(found) == count else None

    def ails(self, *condition):
        self.cluster.ails(self.claim["status"]["nodeName"], *condition)

    def started(self, claim):
        """Returns when it is ready."""
        self.cluster.started(claim["status"]["nodeName"])
        name = claim["metadata"]["name"]
        return until(lambda: since(self.cluster.get(CLAIMS, name),
                                   "Initialized"), ACTS, "ready")

    def check_released(self, ready, latest=0):
        """Its quiet time ends everybody's hold, or that moment if it is
        later."""
        due = ready + self.hold
        assert not self.spread.released, "released before it was ready"
        until(lambda: self.spread.released,
              max(due, latest) + LATE - time.time(), "released")
        early = due - self.spread.released[0]
        assert early <= EARLY, f"released {early:.1f} s early"
        until(lambda: not marks_left(self.cluster), SOON, "released")


@pytest.fixture
def boots(cluster, add_holder):
    """boots(hold, tolerates) makes such a machine."""
    def make(hold, tolerates=()):
        holder = add_holder(holdDuration=f"{hold}s", startupTimeout="5m")
        cluster.pool("other", cpus=("1",), consolidate_after=LATER)
        cluster.deploy("other", 1, cpu="700m", pool="other")
        cluster.wait_running("other", 1)
        wait_released(cluster, hold)
        return Booting(cluster, holder, hold, tolerates)
    with karpenter_with(cluster, "NodeRepair=true"):
        yield make


@pytest.mark.parametrize("tolerates", [[], [STARTING["key"]]],
                         ids=["pods wait", "pods run"])
def test_repaired_before_it_was_ready(cluster, boots, tolerates):
    """Whether its pods still wait or run already, Karpenter makes another first,
    and names it.  It is the same scale-up, tried again."""
    m = boots(40, tolerates)
    if tolerates:
        cluster.wait_running("web", 1)
    m.ails("KWOKUnhealthy")
    both = until(lambda: m.registered(2), REPAIRS, lambda:
                 m.watched.story() + cluster.log_tail("karpenter"))
    uid = m.claim["metadata"]["uid"]
    [new] = [c for c in both if c["metadata"]["uid"] != uid]
    until(lambda: "DisruptionLaunching" in events(
        cluster, new["metadata"]["name"]), SOON, "named by Karpenter")
    ready = m.started(new)
    until(lambda: uid not in {
        c["uid"] for c in cluster.metadata(CLAIMS).values()}, ACTS,
        "the first one gone")
    assert set(m.watched.classes().values()) == {None}, m.watched.story()
    # The failed boot waits for a claim that is made after its deletion.
    gone = seconds(m.watched.deleted[uid]["metadata"]["deletionTimestamp"])
    m.check_released(ready, gone + 60)


def test_rebooted_before_it_was_ready(cluster, boots):
    """It boots on."""
    m = boots(40)
    m.ails("KWOKRebootRequired")
    until(lambda: "RebootSucceeded" in {
        c["reason"] for c in cluster.get(CLAIMS, m.claim["metadata"]["name"])[
            "status"]["conditions"]}, REPAIRS, lambda: "rebooted\n"
        + cluster.log_tail("karpenter"))
    m.ails("KWOKRebootRequired", "False")
    m.check_released(m.started(m.claim))
