# SPDX-License-Identifier: Apache-2.0
"""Everything is held when machines arrive, and released when the scope is
quiet."""
import time

import pytest

from controlplane import CLAIMS, NODES
from hold import (HELD_KEY, HOLD, LATE, MARK, SOON, annotations, check_held,
                  claims, clear, held, nodes, seconds, stamp, without_hold)
from karpenter import HASHES, node_body

HELD = "karpenter_node_holder_held_objects"


def test_one_machine(plane, make_holder, karpenter, view):
    plane.create(NODES, node_body("other", pool=None, unregistered=False))
    make_holder(holdDuration="6s")
    m = karpenter.machine()
    view.check_released(nodes([m]) + claims([m]), m.ready + 6)
    view.check_stays(nodes([m]) + claims([m]), clear, "clear for good", 2)
    # Objects that are not Karpenter's were never written to.
    other = plane.get(NODES, "other")["metadata"]
    assert annotations(other) == {}
    assert [e["manager"] for e in other["managedFields"]] == ["unknown"]


@pytest.mark.long
def test_three_hundred_nodes(plane, make_holder, karpenter, view):
    people = {0: "true", 1: "true", 2: "false", 3: ""}

    def extra(i):
        own = {HOLD: people[i]} if i in people else {}
        return {"example.com/note": f"n\u00f6te {i} \"~/\\", **own}
    machines = karpenter.settled(300, annotations=extra)
    ours, theirs = machines[len(people):], machines[:len(people)]
    before = {n: annotations(m) for n, m in plane.metadata(NODES).items()}
    assert len(before) == 300

    holder = make_holder(holdDuration="8s")
    view.wait_clear(nodes(ours), 20)
    assert {n: annotations(m)
            for n, m in plane.metadata(NODES).items()} == before

    new = karpenter.claim()
    check_held(plane.get(CLAIMS, new.name), HASHES)
    karpenter.launch(new)
    view.wait_held(nodes(ours))
    print(f"296 Nodes held {time.time() - new.launched:.2f} s after launch")
    karpenter.boot(new)
    karpenter.register(new)
    time.sleep(max(0, new.created + 2 - time.time()))
    karpenter.initialize(new)

    def untouched(_):
        now = plane.metadata(NODES)
        assert len(now) == 301
        for m in theirs:
            assert annotations(now[m.node]) == before[m.node]
        for m in ours:
            assert without_hold(now[m.node]) == before[m.node]
        for name, meta in plane.metadata(CLAIMS).items():
            assert name == new.name or annotations(meta) == HASHES
    first, last = view.check_released(
        nodes(ours) + nodes([new]), new.ready + 8, meanwhile=untouched)
    print(f"released from {first:.2f} to {last:.2f} s after the quiet time")
    view.wait_clear(claims([new]))
    after = {n: annotations(m) for n, m in plane.metadata(NODES).items()}
    after.pop(new.node)
    assert after == before
    # A hold has no use on a claim whose Node is registered.
    for meta in plane.metadata(CLAIMS).values():
        assert annotations(meta) == HASHES
    assert holder.metric(HELD) == 0


def test_second_creation_moves_the_release(make_holder, karpenter, view):
    make_holder(holdDuration="6s")
    first = karpenter.machine()
    time.sleep(max(0, first.ready + 4 - time.time()))
    second = karpenter.machine()
    assert second.ready >= first.ready + 4
    view.check_released(nodes([first, second]) + claims([first, second]),
                        second.ready + 6)


def test_held_while_a_machine_is_not_ready(make_holder, karpenter, view):
    """The quiet period begins when the machine is ready, not when it was made.
    """
    make_holder(holdDuration="6s", startupTimeout="60s")
    old = karpenter.machine()
    slow = karpenter.claim()
    karpenter.launch(slow)
    karpenter.boot(slow)
    # (Its Node belongs to nobody until Karpenter has registered it.)
    view.check_stays(nodes([old]) + claims([slow]), held, "held",
                     old.ready + 6 + 4 - time.time())
    karpenter.register(slow)
    karpenter.initialize(slow)
    view.check_released(nodes([old, slow]), slow.ready + 6)


def test_startup_timeout_ends_the_wait(make_holder, karpenter, view):
    make_holder(holdDuration="6s", startupTimeout="4s")
    old = karpenter.machine()
    m = karpenter.claim()
    karpenter.launch(m)
    view.check_released(nodes([old]) + claims([m]), m.created + 4 + 6)


def test_unlaunched_claim_moves_nothing(make_holder, karpenter, view):
    make_holder(holdDuration="9s")
    m = karpenter.machine()
    time.sleep(1)
    gone = karpenter.claim()  # without capacity Karpenter deletes it again
    karpenter.pending(gone)
    waiting = karpenter.claim()
    karpenter.pending(waiting)
    time.sleep(1.5)
    karpenter.remove(gone)
    view.check_released(nodes([m]) + claims([m]), m.ready + 9)
    # Its own hold stays, as it may still become a machine.
    view.wait_held(claims([waiting]), 0)


@pytest.mark.long
def test_claim_without_launched_condition_counts(make_holder, karpenter, view):
    """It counts after 5 s, and for a minute after it is gone, because it was
    never ready."""
    old = karpenter.settled(3)
    time.sleep(8)   # none of them counts as new then
    make_holder(holdDuration="6s")
    view.wait_clear(nodes(old), 12)
    m = karpenter.claim()
    view.check_stays(nodes(old), clear, "clear",
                     m.created + 4 - time.time())
    view.wait_held(nodes(old), m.created + 5 + SOON - time.time())
    view.check_stays(nodes(old), held, "held", 1)
    karpenter.remove(m)
    view.check_stays(nodes(old), held, "held", 50)
    view.wait_clear(nodes(old), 10 + SOON)


def test_machine_being_deleted_has_no_say(plane, make_holder, karpenter, view):
    old = karpenter.settled(2)
    make_holder(holdDuration="30s")
    view.wait_clear(nodes(old), 36)
    m = karpenter.machine(finalizers=["karpenter.sh/termination"])
    view.wait_held(nodes(old))
    time.sleep(max(0, m.created + 5.5 - time.time()))
    plane.delete(CLAIMS, m.name)
    assert plane.get(CLAIMS, m.name)["metadata"]["deletionTimestamp"]
    view.wait_clear(nodes(old), m.ready + 29 - time.time())


def test_missed_creation_is_made_good(make_holder, karpenter, view):
    """The webhook was not asked.  The leader holds the machine, which is
    released like others."""
    make_holder(holdDuration="8s", register=False)
    m = karpenter.machine()
    view.wait_held(nodes([m]))
    view.check_released(nodes([m]), m.ready + 8)


def test_node_without_claim(plane, make_holder, karpenter, view):
    """It is held until its own deadline, and never delays the others."""
    old = karpenter.settled(2)
    make_holder(holdDuration="7s")
    view.wait_clear(nodes(old), 14)
    node = plane.create(NODES, node_body("lone", unregistered=False))
    check_held(node)
    at = seconds(node["metadata"]["creationTimestamp"])

    def others(seen):
        for name, meta in plane.metadata(NODES).items():
            assert name == "lone" or clear(meta), name
    view.check_released([(NODES, "lone")], at + 7, meanwhile=others)


def test_stale_copy_is_cleared_again(plane, make_holder, karpenter, view):
    """Karpenter registers it from a cache that still has our annotations."""
    make_holder(holdDuration="6s", startupTimeout="3s")
    m = karpenter.claim()
    karpenter.launch(m)
    karpenter.boot(m)
    stale = plane.annotations(CLAIMS, m.name)
    assert MARK in stale
    view.check_released(claims([m]), m.created + 3 + 6)
    karpenter.register(m, annotations=stale)
    view.wait_clear(nodes([m]) + claims([m]))
    view.check_stays(nodes([m]) + claims([m]), clear, "clear", 2)


def test_whatever_has_our_mark_is_ours_to_clear(plane, make_holder, view):
    pair = {HOLD: "true", MARK: stamp(time.time() - 3600)}
    bodies = [
        node_body("plain", pool=None, unregistered=False, annotations=pair),
        node_body("excluded", "static", {**pair, "a": "b"}, False),
        node_body("nonsense", pool=None, unregistered=False,
                  annotations={HOLD: "true", MARK: "yesterday"})]
    for body in bodies:
        plane.create(NODES, body)
    make_holder(holdDuration="6s", nodePools={"exclude": ["static"]})
    view.wait_clear([(NODES, b["metadata"]["name"]) for b in bodies], 15)
    assert plane.annotations(NODES, "excluded") == {"a": "b"}


def test_excluded_pool_is_neither_held_nor_counted(
        plane, make_holder, karpenter, view):
    old = karpenter.settled(2) + karpenter.settled(2, "static")
    make_holder(holdDuration="12s", nodePools={"exclude": ["static"]})
    view.wait_clear(nodes(old), 18)
    left_out = karpenter.machine("static")
    view.check_stays(nodes(old) + nodes([left_out]), clear, "left alone", 3)
    m = karpenter.machine()
    view.wait_held(nodes(old[:2] + [m]))
    view.check_stays(nodes(old[2:] + [left_out]), clear, "left alone", 1)
    view.check_released(nodes(old[:2] + [m]), m.ready + 12)


def test_another_hold(plane, make_holder, view):
    """A hold that is not the default one is named beside the mark."""
    make_holder(holdDuration="6s", holdAnnotation={
        "key": "example.com/keep", "value": "yes, please"})
    answer = plane.create(NODES, node_body("custom", annotations={"a": "b"}))
    expected = {"a": "b", "example.com/keep": "yes, please",
                HELD_KEY: "example.com/keep=yes, please"}
    stored = dict(annotations(answer))
    assert abs(seconds(stored.pop(MARK)) - time.time()) <= LATE
    assert stored == expected
    view.wait_all([(NODES, "custom")],
                  lambda m: annotations(m) == {"a": "b"}, "clear", 12)
