# SPDX-License-Identifier: Apache-2.0
"""Annotations of a NodePool, by which people and GitOps control the holder,
with real Karpenter."""
import time

import pytest

from controlplane import CLAIMS, NODES, POOLS, until
from disruption import ACTS, Disruption, follow, names, of_pool, quiet_at
from hold import EARLY, LATE, SOON, clear, held, stamp, true_until
from karpenter import NODEPOOL

OWN = "karpenter-node-holder.io/"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def say(cluster, pool, **values):
    """hold_until="..." annotates the NodePool; None removes the annotation."""
    cluster.patch(POOLS, pool, {"metadata": {"annotations": {
        OWN + key.replace("_", "-"): value for key, value in values.items()}}})


def two_pools(cluster):
    """NodePools a and b, with two nodes each."""
    for pool in "ab":
        cluster.pool(pool)
        cluster.deploy(pool, 8, pool=pool)
    for pool in "ab":
        cluster.wait_running(pool, 8)
        assert len(names(cluster, pool=pool)) == 2


def idle(cluster):
    for pool in "ab":
        cluster.scale(pool, 0)


def all_of(cluster, pool, check, path=NODES):
    return all(map(check, of_pool(cluster, pool, path)))


def wait_all(cluster, pool, check, what, timeout=SOON):
    """Waits for its Nodes, and for its NodeClaims too where check is clear."""
    until(lambda: all_of(cluster, pool, check)
          and (check is not clear or all_of(cluster, pool, check, CLAIMS)),
          timeout, f"{pool}: {what}", every=0.1)


def events(cluster, reason, pool):
    """The Events on that NodePool."""
    uid = cluster.get(POOLS, pool)["metadata"]["uid"]
    return [e for e in cluster.get(EVENTS)["items"]
            if e.get("reason") == reason
            and e["regarding"].get("kind") == "NodePool"
            and e["regarding"].get("name") == pool
            and e["regarding"].get("uid") == uid]


def gone(cluster, pool, before, meanwhile):
    """Waits until Karpenter has disrupted all of it; calls meanwhile() at
    every look."""
    def none_left():
        meanwhile()
        return names(cluster, pool=pool).isdisjoint(before)
    until(none_left, ACTS, lambda: f"{pool}'s nodes gone\n"
          + cluster.log_tail("karpenter"), every=0.3)


@pytest.mark.long
def test_hold_until(cluster, add_holder):
    """A person holds one NodePool, and no cap ends that hold."""
    hold = 15
    add_holder(holdDuration=f"{hold}s", maxHoldDuration="20s")
    two_pools(cluster)
    at = quiet_at(cluster, hold)
    for pool in "ab":
        wait_all(cluster, pool, clear, "released",
                 max(0, at - time.time()) + LATE)
    say(cluster, "a", hold_until=stamp(time.time() + 600))
    began = time.time()
    wait_all(cluster, "a", held, "held by hand")
    until(lambda: events(cluster, "ManualHold", "a"), 10, "Event ManualHold")
    kept, others = names(cluster, pool="a"), names(cluster, pool="b")
    idle(cluster)

    def untouched():
        assert names(cluster, pool="a") == kept, "disrupted while held"
        assert all_of(cluster, "a", held)
        assert all_of(cluster, "b", clear), "it spread to the other pool"
    gone(cluster, "b", others, untouched)
    while time.time() < began + 25:     # goes past the cap
        untouched()
        time.sleep(0.3)

    # A new time replaces the old one.
    end = int(time.time()) + 10
    say(cluster, "a", hold_until=stamp(end))
    disruption = Disruption(cluster)
    disruption.none_until(end - EARLY, lambda: all_of(cluster, "a", held))
    wait_all(cluster, "a", clear, "released", end - time.time() + LATE)
    gone(cluster, "a", kept, lambda: None)
    print(f"held by hand for {end - began:.0f} s, the idle nodes gone "
          f"{time.time() - end:.0f} s later")


@pytest.mark.long
def test_disabled(cluster, add_holder):
    """Its marks go at once and new nodes are left alone.  Then it is enabled
    again."""
    add_holder(holdDuration="10m")
    two_pools(cluster)
    for pool in "ab":
        wait_all(cluster, pool, held, "held")
    seen = []   # the objects of a from now on

    def see(obj):
        if obj["metadata"]["labels"][NODEPOOL] == "a":
            seen.append(obj["metadata"])
    old = names(cluster, pool="a")
    begin = time.time()
    say(cluster, "a", enabled="false")
    wait_all(cluster, "a", clear, "marks cleared")
    took = time.time() - begin
    assert all_of(cluster, "b", held)
    follow(cluster, {NODES: see, CLAIMS: see})
    cluster.scale("a", 16)
    cluster.wait_running("a", 16)
    quiet_at(cluster, 0)
    made = names(cluster, pool="a") - old
    assert len(made) == 2 and made <= {m["name"] for m in seen}
    assert all(map(clear, seen)), "not left alone"
    assert all_of(cluster, "b", held)
    print(f"cleared {took:.1f} s after it was said; {len(made)} nodes made "
          "since were never held")
    say(cluster, "a", enabled=None)
    wait_all(cluster, "a", held, "held again: none of them is quiet")
    # Karpenter may do with it what it likes, but not with the other.
    say(cluster, "a", enabled="false")
    wait_all(cluster, "a", clear, "marks cleared again")
    before, others = names(cluster, pool="a"), names(cluster, pool="b")
    idle(cluster)

    def untouched():
        assert names(cluster, pool="b") == others
        assert all_of(cluster, "b", held)
    gone(cluster, "a", before, untouched)


@pytest.mark.long
def test_bad_values(cluster, add_holder):
    """They are reported on the NodePool and once in the log, and have no
    effect."""
    hold = 15
    holder = add_holder(holdDuration=f"{hold}s")
    ahead = stamp(time.time() + 3600)
    bad = {"hold-duration": "fast", "released-at": ahead}
    cluster.pool("a")
    cluster.patch(POOLS, "a", {"metadata": {"annotations": {
        OWN + key: value for key, value in bad.items()}}})
    cluster.deploy("a", 4, pool="a")
    cluster.wait_running("a", 4)

    def told(key):
        """The Events that name the annotation and its value."""
        return [e for e in events(cluster, "InvalidAnnotation", "a")
                if key in e["note"] and bad[key] in e["note"]]

    def logged(key):
        return [line for line in holder.logs()
                if line.get("level") != "debug"
                and key in str(line) and bad[key] in str(line)]
    for key in bad:
        until(lambda: told(key), 10, f"Event on {key}", every=0.2)
        assert all(e["type"] == "Warning" for e in told(key))
        assert len(logged(key)) == 1, logged(key)
    # Whatever else changes on that NodePool, it is not reported again.
    for i in range(5):
        cluster.patch(POOLS, "a", {"metadata": {"annotations": {
            "example.com/a": str(i)}}})
        time.sleep(0.5)
    at = quiet_at(cluster, hold)
    true_until(at - EARLY, lambda: all_of(cluster, "a", held),
               "a bad value counted")
    wait_all(cluster, "a", clear, "released by the config's holdDuration",
             max(0, at - time.time()) + LATE)
    for key in bad:
        assert len(logged(key)) == 1, logged(key)
        assert len(told(key)) == 1, told(key)
        print(told(key)[0]["note"])


@pytest.mark.long
def test_hold_duration_and_released_at(cluster, add_holder):
    """One NodePool has its own duration; the others have that of the
    configuration.  Then the other one is released now, and what comes
    afterwards is held again."""
    hold = 15
    add_holder(holdDuration="10m", scope="nodepool")
    cluster.pool("a")
    say(cluster, "a", hold_duration=f"{hold}s")
    two_pools(cluster)
    before, others = names(cluster, pool="a"), names(cluster, pool="b")
    at = quiet_at(cluster, hold, pool="a")
    idle(cluster)
    Disruption(cluster).none_until(
        at - EARLY, lambda: all_of(cluster, "a", held))
    wait_all(cluster, "a", clear, "released",
             max(0, at - time.time()) + LATE)

    def kept(pool, nodes):
        def untouched():
            assert names(cluster, pool=pool) == nodes
            assert all_of(cluster, pool, held), "released with the other one"
        return untouched
    gone(cluster, "a", before, kept("b", others))
    print(f"the idle nodes gone {time.time() - at:.0f} s after {hold} s of "
          "quiet, those of the other pool held on")

    # Now a is the one that is held on.
    say(cluster, "a", hold_duration=None)
    cluster.scale("a", 8)
    cluster.wait_running("a", 8)
    wait_all(cluster, "a", held, "held")
    untouched = kept("a", names(cluster, pool="a"))
    begin = time.time()
    say(cluster, "b", released_at=stamp(begin))
    wait_all(cluster, "b", clear, "released")
    took = time.time() - begin
    gone(cluster, "b", others, untouched)
    print(f"released {took:.1f} s after it was said, the idle nodes gone "
          f"after {time.time() - begin:.0f} s")
    cluster.scale("b", 8)
    cluster.wait_running("b", 8)
    wait_all(cluster, "b", held, "machines made since are held")
    untouched()
