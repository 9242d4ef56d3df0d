# SPDX-License-Identifier: Apache-2.0
"""Which machines are held and which are not, and how many writes that takes.
"""
import json

import pytest

from conftest import HELD_KEY, HOLD, MARK, POOL, REGISTERED

OTHER = "example.com/hold"


def test_a_hold_and_its_end_in_time(w):
    """This is the only test that waits for a quiet period to pass."""
    names = w.machines(5) + ["new"]
    holder = w.start(hold_duration="4s")
    begun = w.api.now()
    w.machine("new", ready=0, age=3)
    w.wait(lambda: all(w.changed(n) for n in names), "held")
    w.wait_free(names)
    # Stamps and the Date header are whole seconds.
    assert w.api.now() - begun > 2.9
    assert all(w.changed(n) == 2 for n in names)
    assert holder.wait_line("scope held", scope="cluster")["quietAt"]
    assert holder.wait_line("scope quiet", scope="cluster")


def test_two_writes_for_each_object(w):
    """A hold and a clear, but no write to the objects of people or of nobody.
    """
    names = w.machines(20)
    w.machine("theirs", annotations={HOLD: "true"})
    w.machine("never", annotations={HOLD: "false"})
    w.api.create("nodes", "alien")
    before = [w.api.get("nodes", n) for n in ("theirs", "never", "alien")]
    w.start()
    w.busy()
    w.wait_held(names)
    w.wait_held("busy", "nodeclaims")
    w.quiet()
    w.wait_free(names)
    w.wait_free("busy", "nodeclaims")
    w.stays(lambda: all(len(w.patches(n)) == 2 for n in names))
    assert len(w.patches("busy", "nodeclaims")) == 2
    assert len(w.patches(resource="nodeclaims")) == 2
    assert len(w.patches()) == 40
    assert before == [w.api.get("nodes", n)
                      for n in ("theirs", "never", "alien")]


def test_what_is_written(w):
    """Only annotations are written, and only ours."""
    w.machine("a", annotations={"team": "a"})
    w.start()
    w.busy()
    w.wait_held("a")
    mark = w.annotations("a")[MARK]
    assert w.api.stamp(-30) < mark < w.api.stamp(30)
    assert w.annotations("a") == {"team": "a", HOLD: "true", MARK: mark}
    hold, = w.patches("a")
    assert list(hold.body) == ["metadata"]
    assert set(hold.body["metadata"]) == {"resourceVersion", "annotations"}
    w.quiet()
    w.wait_free("a")
    assert w.annotations("a") == {"team": "a"}
    clear = w.patches("a")[1]
    assert [o["op"] for o in clear.body] == ["test"] * 3 + ["remove"] * 2


@pytest.mark.parametrize("scope", ["nodepool", "node"])
def test_scopes(w, scope):
    near = w.machines(4, prefix="near", pool="a")
    far = w.machines(4, prefix="far", pool="b")
    w.start(scope=scope)
    w.busy("busy", pool="a")
    w.wait_held("busy", "nodeclaims")
    if scope == "nodepool":
        w.wait_held(near)
    w.stays(lambda: w.free(far + (near if scope == "node" else [])), 0.5)
    w.quiet()
    w.wait_free("busy", "nodeclaims")
    w.wait_free(near)
    assert not any(w.patches(n) for n in far)


def test_an_excluded_pool(w):
    """It is never held, and any mark in it is cleared at once."""
    names = w.machines(4)
    left = w.machines(4, prefix="x", pool="excluded-1",
                      annotations=w.ours())
    w.claim("xclaim", "excluded-1", annotations=w.ours())
    theirs = w.machine("xtheirs", "excluded-1", annotations={HOLD: "true"})
    w.busy()
    w.busy("xbusy", "excluded-1")
    w.start(config='nodePools: {include: ["*"], exclude: ["excluded-*"]}')
    w.wait_held(names)
    w.wait_free(left)
    w.wait_free(["xclaim", "xbusy"], "nodeclaims")
    w.stays(lambda: w.held(names) and w.free(left), 0.5)
    assert w.api.get("nodes", "xtheirs") == theirs
    assert not w.patches("xbusy", "nodeclaims")
    w.quiet()
    w.wait_free(names)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.0, 0.2], ids=["after", "before"])
def test_a_copy_at_registration(w, seconds):
    """Karpenter copies the claim's annotations from a cache that may be stale.
    What it puts back, before or after the answer to our clear, is cleared
    again."""
    # "before" takes 10 s (EXPECT_MS) each time: core/controller waits for the
    # watch line of its clear, which it has already had.
    w.api.fault("nodes", "patch", "late-reply", seconds=seconds)
    claim = w.busy()
    w.start()
    w.wait_held("busy", "nodeclaims")
    w.node("new", claim=claim, registered=False)
    copied = {k: v for k, v in w.annotations("busy", "nodeclaims").items()
              if k in (HOLD, MARK)}
    w.quiet()
    w.wait_free("busy", "nodeclaims")
    w.wait_free("new")
    for _ in range(2):
        w.api.patch_meta("nodes", "new", annotations=copied,
                         labels={REGISTERED: "true"})
        w.wait_free("new")
    assert w.annotations("new") == {}


@pytest.mark.parametrize("seconds", [0.0, 0.1])
def test_hold_and_mark_stripped_together(w, seconds):
    """The machine is held again, up to three times a period, even if the watch
    is faster than the answer."""
    w.machine("a")
    w.api.fault("nodes", "patch", "late-reply", seconds=seconds)
    holder = w.start()
    w.busy()
    for n in range(4):
        w.wait(lambda n=n: len(holder.lines("held", name="a")) > n)
        w.api.patch_meta("nodes", "a", annotations={HOLD: None, MARK: None})
    w.stays(lambda: w.free("a"))
    assert w.changed("a") == 4
    w.quiet()
    w.wait_free("busy", "nodeclaims")
    w.busy("next")
    w.wait_held("a")


@pytest.mark.parametrize("change, kept", [
    ({MARK: None}, {HOLD: "true"}),
    ({HOLD: None}, {}),
    ({HOLD: "false"}, {HOLD: "false"}),
    ({HOLD: "false", MARK: None}, {HOLD: "false"}),
], ids=["takes-over", "opts-out", "changes-value", "says-no"])
def test_what_people_do_meanwhile(w, change, kept):
    names = w.machines(3)
    w.start()
    w.busy()
    w.wait_held(names)
    w.api.patch_meta("nodes", "m000", annotations=change)
    said = w.annotations("m000")
    w.stays(lambda: w.annotations("m000") == said, 0.4)
    w.quiet()
    w.wait_free(names[1:])
    w.wait(lambda: w.annotations("m000") == kept)
    if kept:
        w.busy("next")
        w.wait_held(names[1:])
        w.stays(lambda: w.annotations("m000") == kept, 0.4)


def other_flags():
    return {"hold_annotation_key": OTHER, "hold_annotation_value": "yes"}


CHOSEN = "karpenter-node-holder.io/hold"
ANOTHER = "not ready, the Lease has another hold"


def chosen(w):
    lease = w.api.get("leases", "karpenter-node-holder") or {}
    return lease.get("metadata", {}).get("annotations", {}).get(CHOSEN)


@pytest.mark.parametrize("elects", ["true", "false"])
def test_another_hold_key(w, elects):
    """The Lease's annotation counts for a replica that is configured with
    another, in reviews and in what it writes.  It is not ready, and says why.
    """
    kept = {"leader_election_namespace": "holder",
            "leader_election_enabled": elects,
            "leader_election_lease_duration": "1s",
            "leader_election_renew_deadline": "500ms",
            "leader_election_retry_period": "100ms"}
    names = w.machines(5)
    first = w.start(**kept)
    w.busy()
    w.wait_held(names)
    w.wait(lambda: chosen(w) == HOLD + "=true")
    assert first.get("/readyz") == (200, "ok")
    first.kill9()
    second = w.start(watching=False, **kept, **other_flags())
    assert second.wait_line(ANOTHER)["hold"] == HOLD + "=true"
    status, text = second.get("/readyz")
    assert status == 500 and "[-]hold-annotation failed" in text, text
    assert "the Lease's holdAnnotation counts" in second.get("/status")[1]
    w.wait(lambda: second.lines("watching", resource="nodes"))
    w.machine("late")
    w.wait_held(["late"])
    w.quiet()
    w.wait(lambda: not any(w.annotations(n) for n in [*names, "late"]))
    w.wait(lambda: not w.annotations("busy", "nodeclaims"))
    assert chosen(w) == HOLD + "=true"


def test_marks_for_other_holds(w):
    """They are not the holder's, so it leaves these Nodes alone, busy or quiet.
    """
    theirs = [{"example.com/hold-1": "v", MARK: w.api.stamp(-600),
               HELD_KEY: "example.com/hold-1=v"},
              {HOLD: "true", MARK: w.api.stamp(-600)},
              {OTHER: "yes", MARK: w.api.stamp(-600), HELD_KEY: "odd"}]
    for n, annotations in enumerate(theirs):
        w.machine(f"m{n}", annotations=annotations)
    w.machine("ours", annotations={OTHER: "yes", HELD_KEY: OTHER + "=yes",
                                   MARK: "yesterday"})
    w.start(**other_flags())
    w.wait(lambda: w.annotations("ours") == {})
    w.busy()
    w.wait(lambda: w.annotations("ours").get(OTHER) == "yes")
    assert [w.annotations(f"m{n}") for n in range(3)] == theirs


def test_a_mark_without_a_label(w):
    """Whatever carries our mark is ours to clear."""
    w.api.create("nodes", "plain", annotations=w.ours(),
                 created=w.api.stamp(-10800))
    w.start()
    w.wait_free("plain")


def test_a_node_without_a_claim(w):
    """It is held for its own time and makes no scope busy."""
    w.machine("settled")
    w.start(hold_duration="4s")
    w.node("lone", age=0)
    w.wait(lambda: w.changed("lone") == 2, "held and cleared")
    assert w.free("lone") and not w.patches("settled")


def test_what_is_being_deleted(w):
    """It is not patched and no longer counts.  (A machine that was never ready
    would count for another minute: Karpenter tries again.)"""
    names = w.machines(3)
    w.start()
    w.busy()
    w.ready()
    w.wait_held(names)
    w.api.patch_meta("nodes", "m000", deletionTimestamp=w.api.stamp(),
                     finalizers=["karpenter.sh/termination"])
    # Two watches have no order.  What follows in its own watch is held.
    w.machine("after")
    w.wait_held("after")
    w.api.patch_meta("nodeclaims", "busy", deletionTimestamp=w.api.stamp(),
                     finalizers=["karpenter.sh/termination"])
    w.wait_free(names[1:])
    w.stays(lambda: w.held("m000") and w.held("busy", "nodeclaims"), 0.5)
    w.api.delete("nodes", "m000")
    w.api.delete("nodeclaims", "busy")
    w.stays(lambda: w.free(names[1:]), 0.3)


def test_a_claim_that_never_launches(w):
    """A loop of failed launches makes no scope busy."""
    w.machine("settled")
    w.start()
    w.api.create("nodeclaims", "failing", labels={POOL: "p"}, status={
        "conditions": [{"type": "Launched", "status": "Unknown",
                        "reason": "LaunchFailed",
                        "lastTransitionTime": w.api.stamp()}]})
    w.wait_held("failing", "nodeclaims")
    w.stays(lambda: not w.patches("settled"), 1.0)
    w.api.delete("nodeclaims", "failing")
    w.busy()
    w.wait_held("settled")


def test_a_second_scale_up_moves_the_end(w):
    names = w.machines(3)
    w.start()
    w.busy("one")
    w.wait_held(names)
    w.busy("two")
    w.wait_held("two", "nodeclaims")
    w.quiet("one")
    w.stays(lambda: w.held(names), 0.5)
    assert not w.clears()
    w.quiet("two")
    w.wait_free(names)


def test_the_claim_is_cleared_before_its_node(w):
    """Until registration, Karpenter may copy what still stands on the claim.
    """
    claim = w.claim("new", annotations=w.ours())
    w.node("new", claim=claim, registered=False, annotations=w.ours())
    w.start()
    w.wait_free("new")
    on_claim, on_node = w.clears()
    assert (on_claim.resource, on_node.resource) == ("nodeclaims", "nodes")
    assert on_claim.time < on_node.time


LEASE = "karpenter-node-holder"
STATE = "karpenter-node-holder.io/state"
OBSERVED = "karpenter-node-holder.io/observed-state"
HISTORY = "karpenter-node-holder.io/history"
P = "karpenter_node_holder_"


def test_observe_and_enforce_and_observe(w):
    """Mode observe tells of each write and makes none.  Each mode keeps its
    state apart, and both have the hold; the marks of an enforcing holder stay,
    and are reported."""
    names = w.machines(40)
    options = {"leader_election_namespace": "holder",
               "leader_election_retry_period": "60ms"}

    def states():
        lease = w.api.get("leases", LEASE) or {"metadata": {}}
        return {*(lease["metadata"].get("annotations") or {})} - {HISTORY}

    def would(holder, n):
        return lambda: holder.metrics().get(
            P + 'would_held_objects{kind="Node"}') == n
    holder = w.start(mode="observe", **options)
    w.busy()
    w.wait(would(holder, 40), "40 would be held")
    assert {e["name"] for e in holder.lines("observe: held")} >= set(names)
    assert not holder.lines("held")
    status = json.loads(holder.get("/status?format=json")[1])
    assert (status["mode"], status["scopes"][0]["state"]) == ("observe", "held")
    w.quiet()
    w.wait(would(holder, 0), "none would be held")
    w.wait(lambda: states() == {OBSERVED, CHOSEN}, "its own state")
    assert not w.patches() and not w.patches(resource="nodeclaims")
    holder.kill9()

    holder = w.start(**options)
    w.busy("again")
    w.wait_held(names)
    w.wait(lambda: states() == {STATE, CHOSEN}, "the state of mode enforce alone")
    holder.kill9()
    written = len(w.patches())

    holder = w.start(mode="observe", **options)
    left = holder.wait_line("mode observe leaves holds in place")
    assert left["objects"] >= 40
    m = holder.metrics()
    assert m[P + 'held_objects{kind="Node"}'] == 40
    assert m[P + "observing"] == 1 and P + "releases_blocked" not in m
    w.quiet("again")
    w.wait(would(holder, 0), "all would be released")
    w.wait(lambda: states() == {OBSERVED, CHOSEN}, "its own state again")
    assert w.held(names) and len(w.patches()) == written
