# SPDX-License-Identifier: Apache-2.0
"""Machines that real Karpenter makes for what was deleted, expired or became
unhealthy.  They keep the cluster as it is, and cause no hold but their own.
Load that comes after a consolidation holds everything."""
import contextlib
import time

import pytest

import versions
from cluster import DISRUPTED, LATER, LEFT_ALONE
from controlplane import CLAIMS, NODES, until
from disruption import (ACTS, Disruption, follow, marks_left, names, of_pool,
                        quiet_at, since)
from hold import (EARLY, LATE, SOON, annotations, clear, held, seconds,
                  stamp)
from test_replacements import CLASS

CLASS_UID = CLASS + "-uid"
HOLD = 10
SCOPES = "karpenter_node_holder_scope_held"


class Watched:
    """Watches from now on: the claims made, those being deleted, and whether
    any of the existing Nodes was held."""

    def __init__(self, cluster, holder):
        self.cluster, self.holder = cluster, holder
        self.old = names(cluster)
        self.before = {m["uid"] for m in cluster.metadata(CLAIMS).values()}
        self.held = set()   # those of the old Nodes that were held
        self.scopes = 0     # how many looks found a scope held
        self.made = {}      # uid -> the claim as it was last seen
        self.deleted = {}   # uid -> likewise
        follow(cluster, {NODES: self.node, CLAIMS: self.claim})

    def look(self):
        self.scopes += self.holder.metric(SCOPES) > 0

    def node(self, node):
        meta = node["metadata"]
        if meta["name"] in self.old and held(meta):
            self.held.add(meta["name"])

    def claim(self, claim):
        meta = claim["metadata"]
        if meta["uid"] not in self.before:
            self.made[meta["uid"]] = claim
        if meta.get("deletionTimestamp"):
            self.deleted[meta["uid"]] = claim

    def deletions(self):
        """The uids of the claims deleted since it began, in order."""
        return sorted(self.before & set(self.deleted), key=lambda uid:
                      self.deleted[uid]["metadata"]["deletionTimestamp"])

    def classes(self):
        """Returns {uid: class} of the claims made since."""
        found = {}
        for uid, claim in self.made.items():
            a = annotations(claim)
            if CLASS in a:
                assert a.get(CLASS_UID) == uid, a
            found[uid] = a.get(CLASS)
        return found

    def story(self):
        def each(claims, stamp):
            return [(c["metadata"]["name"], uid, c["metadata"][stamp])
                    for uid, c in claims.items()]
        return (f"deleted: {each(self.deleted, 'deletionTimestamp')}\n"
                f"made: {each(self.made, 'creationTimestamp')}\n"
                f"classes: {self.classes()}\n"
                f"held: {self.held}, a scope at {self.scopes} looks")

    def check_substitutes(self, count):
        """So many of the old ones are gone.  Each has one successor, which is
        recognized as such and has spread no hold."""
        gone = self.deletions()
        assert len(gone) == count, self.story()
        assert sorted(self.classes().values(), key=str) == sorted(
            f"substitute/{uid}" for uid in gone), self.story()
        assert not self.held and not self.scopes, self.story()


def fleet(cluster, count, **options):
    """count nodes with one pod each, and one node of another NodePool."""
    cluster.pool("web", cpus=("1",), **options)
    cluster.pool("other", cpus=("1",), consolidate_after=LATER)
    cluster.deploy("web", count, cpu="700m", pool="web")
    cluster.deploy("other", 1, cpu="700m", pool="other")
    cluster.wait_running("web", count)
    cluster.wait_running("other", 1)
    assert len(names(cluster)) == count + 1


def wait_released(cluster, hold=HOLD):
    at = quiet_at(cluster, hold)
    until(lambda: time.time() > at and not marks_left(cluster),
          at - time.time() + LATE, "released")


def check_own_time(cluster, watched):
    """Each claim made is held until its own quiet time, and no longer."""
    nodes = {uid: c["status"]["nodeName"] for uid, c in watched.made.items()}
    due = {uid: since(c, "Initialized") + HOLD
           for uid, c in watched.made.items()}
    while time.time() < max(due.values()) - EARLY:
        watched.look()
        now = cluster.metadata(NODES)
        for uid, node in nodes.items():
            assert held(now[node]) or time.time() >= due[uid] - EARLY, \
                "released before its own time"
        time.sleep(0.3)
    until(lambda: not marks_left(cluster), SOON, "released")


@pytest.mark.long
def test_deleted_by_hand(cluster, add_holder):
    """One is deleted by its NodeClaim, one by its Node, and nothing else is
    held because of that.  Both deletions are used up then: what comes next is
    a scale-up."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    fleet(cluster, 4, consolidate_after=LATER)
    wait_released(cluster)
    watched = Watched(cluster, holder)
    one, two = of_pool(cluster, "web", CLAIMS)[:2]
    node = cluster.get(CLAIMS, two["name"])["status"]["nodeName"]
    cluster.kubectl("delete", "nodeclaim", one["name"], "--wait=false")
    cluster.kubectl("delete", "node", node, "--wait=false")

    def replaced():
        watched.look()
        return len(watched.made) >= 2 and all(
            since(c, "Initialized") for c in watched.made.values()) \
            and not {one["uid"], two["uid"]} & {
                m["uid"] for m in cluster.metadata(CLAIMS).values()}
    until(replaced, ACTS, lambda: "replaced: " + watched.story(), every=0.2)
    cluster.wait_running("web", 4)
    check_own_time(cluster, watched)
    assert {one["uid"], two["uid"]} == set(watched.deletions())
    watched.check_substitutes(2)

    cluster.scale("web", 5)
    cluster.wait_running("web", 5)
    until(lambda: all(map(held, cluster.metadata(NODES).values())), SOON,
          "a scale-up holds all there is")


def load_after(cluster, disruption, watched, replicas):
    """Load comes within a minute of Karpenter's decision, and for no more
    machines than went.  Everything there is must be held."""
    decided = time.time()
    until(lambda: watched.deleted, ACTS, lambda: "deleted: "
          + watched.story(), every=0.2)
    assert not watched.held
    before = len(watched.made)
    cluster.scale("web", replicas)
    until(lambda: len(watched.made) > before, ACTS,
          lambda: "a claim for the load: " + watched.story(), every=0.2)
    loaded = time.time()
    assert loaded - decided < 60, "too slow to tell"
    [other] = names(cluster, pool="other")
    # The claim counts when it is five seconds old
    # (docs/rules.md#launch-failures-hold-nobody-else).
    until(lambda: held(cluster.metadata(NODES)[other]), SOON + 10, lambda:
          "load that comes back is a scale-up: " + watched.story())
    assert len(watched.made) == before + 1, watched.story()
    substitutes = [c for c in watched.classes().values()
                   if str(c).startswith("substitute/")]
    assert not substitutes, watched.story()
    print(f"{disruption.by_reason()}; load {loaded - decided:.0f} s after "
          "the decision")


@pytest.mark.long
def test_load_after_emptiness(cluster, add_holder):
    holder = add_holder(holdDuration=f"{HOLD}s")
    fleet(cluster, 3)
    wait_released(cluster)
    disruption, watched = Disruption(cluster), Watched(cluster, holder)
    cluster.scale("web", 2)
    disruption.wait()
    assert disruption.by_reason()[0] == {"empty": 1}
    load_after(cluster, disruption, watched, 3)


@pytest.mark.long
def test_load_after_the_drift_of_an_empty_node(cluster, add_holder):
    """Karpenter deletes it and names no replacement, as none is needed."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    fleet(cluster, 1, consolidate_after=LATER)
    wait_released(cluster)
    cluster.scale("web", 0)
    until(lambda: cluster.running("web") == 0, SOON, "an empty node")
    disruption, watched = Disruption(cluster), Watched(cluster, holder)
    cluster.pool("web", cpus=("1",), consolidate_after=LATER,
                 labels={"example.com/generation": "2"})
    disruption.wait()
    assert disruption.by_reason()[0] == {"drifted": 1}
    load_after(cluster, disruption, watched, 1)


@pytest.mark.long
def test_load_after_underutilized(cluster, add_holder):
    """Three nodes become one, and are needed again."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    cluster.pool("web", families=("m",), cpus=("2",))
    cluster.pool("other", cpus=("1",), consolidate_after=LATER)
    cluster.deploy("web", 3, cpu="1100m", pool="web")
    cluster.deploy("other", 1, cpu="700m", pool="other")
    cluster.wait_running("web", 3)
    cluster.wait_running("other", 1)
    wait_released(cluster)
    disruption, watched = Disruption(cluster), Watched(cluster, holder)
    cluster.pool("web", families=("c", "m"), cpus=("2", "4"))
    disruption.wait()
    assert disruption.by_reason()[0] == {"underutilized": 1}
    load_after(cluster, disruption, watched, 4)


@pytest.mark.long
def test_six_machines_expire_one_by_one(cluster, add_holder):
    """With expireAfter a machine is made again and again: nothing but each
    successor is held because of it."""
    apart, after, count = 6, 75, 6
    holder = add_holder(holdDuration=f"{HOLD}s")
    cluster.pool("web", cpus=("1",), consolidate_after=LATER,
                 expire_after=f"{after}s")
    cluster.pool("other", cpus=("1",), consolidate_after=LATER)
    cluster.deploy("other", 1, cpu="700m", pool="other")
    cluster.deploy("web", 1, cpu="700m", pool="web")
    for i in range(count):
        begin = time.time()
        cluster.scale("web", i + 1)
        cluster.wait_running("web", i + 1)
        time.sleep(max(0, begin + apart - time.time()))
    wait_released(cluster)
    watched = Watched(cluster, holder)
    expired = cluster.karpenter_metric(DISRUPTED, reason="expired")
    assert len(watched.before) == count + 1, "too slow to tell"

    def replaced():
        watched.look()
        gone = len(watched.deletions())
        # A class is known when its machine has been launched for five seconds.
        return gone == count and len(watched.made) >= count and all(
            since(c, "Initialized") for c in watched.made.values()) and all(
            watched.classes().values())
    until(replaced, after + 30, lambda: "expired: " + watched.story(),
          every=0.3)
    # Karpenter 1.0 counts a NodeClaim again while it is being deleted.
    assert cluster.karpenter_metric(DISRUPTED, reason="expired") \
        >= expired + count
    watched.check_substitutes(count)
    check_own_time(cluster, watched)
    watched.check_substitutes(count)


@contextlib.contextmanager
def karpenter_with(cluster, gates):
    cluster.stop_karpenter()
    cluster.start_karpenter(gates)
    try:
        yield
    finally:
        cluster.stop_karpenter()
        cluster.start_karpenter()


@pytest.mark.long
def test_repaired(cluster, add_holder):
    """The kwok provider knows no interruption.  Node repair comes closest:
    Karpenter itself deletes a claim, whatever holds its Node.  Since 1.15 it
    names what takes its place."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    with karpenter_with(cluster, "NodeRepair=true"):
        fleet(cluster, 5, consolidate_after=LATER)
        wait_released(cluster)
        watched = Watched(cluster, holder)
        sick = sorted(names(cluster, pool="web"))[0]
        key, _, value = LEFT_ALONE.partition("=")
        cluster.patch(NODES, sick, {"metadata": {"annotations": {key: value}}})
        time.sleep(1)
        status = cluster.get(NODES, sick)["status"]
        long_ago = stamp(time.time() - 3600)
        for c in status["conditions"]:
            if c["type"] == "Ready":
                c.update(status="False", reason="KubeletNotReady",
                         lastTransitionTime=long_ago)
        cluster.patch(NODES, sick + "/status", {"status": {
            "conditions": status["conditions"]}})

        def replaced():
            watched.look()
            return watched.made and sick not in names(cluster) and all(
                since(c, "Initialized") for c in watched.made.values())
        until(replaced, ACTS, lambda: "repaired: " + watched.story(),
              every=0.3)
        assert cluster.karpenter_metric(DISRUPTED, reason="unhealthy") == 1
        check_own_time(cluster, watched)
        if versions.running() < (1, 15, 0):
            watched.check_substitutes(1)
        else:
            assert list(watched.classes().values()) == ["unhealthy"]
            assert not watched.held and not watched.scopes, watched.story()
    assert all(map(clear, cluster.metadata(NODES).values()))


MATCHED = 60    # seconds from a deletion to the creation of its successor


@pytest.mark.long
def test_instance_gone(cluster, add_holder):
    """For the kwok provider the Node is the instance.  Its pods remain for 40
    to 60 s, until the garbage collector of pods removes them.  Only then does
    Karpenter know what is missing.  If that takes too long, it is load like
    any other."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    fleet(cluster, 3, consolidate_after=LATER)
    wait_released(cluster)
    watched = Watched(cluster, holder)
    gone = sorted(names(cluster, pool="web"))[0]
    cluster.delete(NODES, gone)
    cluster.patch(NODES, gone, {"metadata": {"finalizers": None}})

    def replaced():
        watched.look()
        return watched.made and all(
            since(c, "Initialized") for c in watched.made.values())
    until(replaced, 2 * ACTS, lambda: "replaced: " + watched.story(),
          every=0.3)
    [old], [new] = watched.deletions(), watched.made
    took = seconds(watched.made[new]["metadata"]["creationTimestamp"]) \
        - seconds(watched.deleted[old]["metadata"]["deletionTimestamp"])
    print(f"made {took} s after the deletion")
    check_own_time(cluster, watched)
    if took <= MATCHED:
        watched.check_substitutes(1)
    else:
        assert watched.classes() == {new: None} and watched.held
