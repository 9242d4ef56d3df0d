# SPDX-License-Identifier: Apache-2.0
"""Objects of 9 MB, in lists and in watches, of each resource.

They are left out, whatever memory they would take: holding and releasing go on
meanwhile, and nobody else's hold stays because of one."""
import json

import pytest

from checks import answers, check_memory
from conftest import HOLD

MB = 1 << 20
TEXT = "x" * (9 * MB)
SKIPPED = "karpenter_node_holder_objects_skipped_total"
OBJECTS = "karpenter_node_holder_objects"
WHEN = pytest.mark.parametrize("when", ["listed", "watched", "dripping"])
AGE = 360_000   # a machine this old holds nobody, ready or not


def skipped(holder, resource):
    return holder.metrics()[f'{SKIPPED}{{resource="{resource}"}}']


def known(holder, kind):
    return holder.metrics()[f'{OBJECTS}{{kind="{kind}"}}']


def goes_on(w, holder, names):
    """A scale-up spreads to these Nodes, and they are released when it has
    settled."""
    w.busy()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names + ["busy"])
    assert answers(holder)
    check_memory(holder)


def begin(w, when, resource, make):
    """Starts a holder that meets the object in its first list, or later in its
    watch."""
    if when == "dripping":
        w.api.fault(resource, "*", "split", size=4099)
    if when != "watched":
        made = make()
        return w.start(), made
    holder = w.start()
    return holder, make()


def large_event(w):
    return w.api.say(w.api.get("nodeclaims", "m000"), message=TEXT)


@WHEN
def test_an_event(w, when):
    """Anybody who may create Events in `default` can make it."""
    names = w.machines(3)
    holder, _ = begin(w, when, "events", lambda: large_event(w))
    w.wait(lambda: skipped(holder, "events") == 1)
    goes_on(w, holder, names)
    w.api.clear()
    assert len(w.lists("events")) == 1 and w.watches("events") == 1
    assert "9437" in holder.wait_line("object left out",
                                      resource="events")["err"]


def test_an_event_that_stays(w):
    """Each list of the Events meets it again."""
    names = w.machines(3)
    large_event(w)
    holder = w.start()
    for n in range(2, 5):
        w.api.fault("events", "watch", "expired", times=1)
        w.wait(lambda: skipped(holder, "events") == n, "a list")
    goes_on(w, holder, names)


def large_machine(w, **claim):
    """An old machine with our hold, whose claim is too large."""
    made = w.machine("big", age=AGE, annotations=w.ours(), **claim)
    w.api.change("nodeclaims", "big", {"spec": {"text": TEXT}})
    return made


@WHEN
def test_a_nodeclaim(w, when):
    """It is known by its metadata, and its Node is released as well."""
    names = w.machines(3)
    holder, _ = begin(w, when, "nodeclaims", lambda: large_machine(w))
    w.wait_free("big")
    w.wait(lambda: known(holder, "NodeClaim") == 4)
    w.wait(lambda: skipped(holder, "nodeclaims") >= 1)
    goes_on(w, holder, names + ["big"])
    assert known(holder, "NodeClaim") == 5      # with that of the scale-up


def test_a_nodeclaim_that_is_not_ready(w):
    """Of one that was never seen whole nobody knows that it is ready.  So it
    holds the others, and they are released when it is small again."""
    names = w.machines(3)
    w.machine("big")
    w.api.change("nodeclaims", "big", {"spec": {"text": TEXT}})
    holder = w.start()
    w.wait_held(names)
    w.api.change("nodeclaims", "big", {"spec": {"text": ""}})
    w.wait_free(names)
    check_memory(holder)


def test_a_nodeclaim_whose_end_is_too_large(w):
    """The line that says that it is gone is read as far as its metadata."""
    names = w.machines(3)
    w.claim("gone")

    def inflate(value):
        if value["type"] == "DELETED":
            value["object"]["spec"] = {"text": TEXT}
        return value
    w.api.fault("nodeclaims", "watch", "edit", edit=inflate)
    holder = w.start()
    w.wait(lambda: known(holder, "NodeClaim") == 4)
    w.api.delete("nodeclaims", "gone")
    w.wait(lambda: known(holder, "NodeClaim") == 3)
    assert len(w.lists("nodeclaims")) == 1
    goes_on(w, holder, names)


@WHEN
@pytest.mark.parametrize("resource", ["nodes", "nodepools"])
def test_metadata(w, resource, when):
    """Not even its metadata can be had."""
    names = w.machines(3)

    def make():
        if resource == "nodepools":
            w.api.create("nodepools", "p", annotations={"text": TEXT})
            return
        w.machine("big", age=AGE)
        w.api.patch_meta(resource, "big", annotations={"text": TEXT})
    holder, _ = begin(w, when, resource, make)
    w.wait(lambda: skipped(holder, resource) >= 1)
    goes_on(w, holder, names)


@WHEN
def test_a_nodeclaim_without_metadata(w, when):
    """It holds all others until it is gone, and its Node is released."""
    names = w.machines(3)

    def make():
        w.machine("big", age=AGE, annotations=w.ours())
        w.api.patch_meta("nodeclaims", "big", annotations={"text": TEXT})
    holder, _ = begin(w, when, "nodeclaims", make)
    w.wait_held(names)
    w.wait(lambda: skipped(holder, "nodeclaims") >= 1)
    w.api.delete("nodeclaims", "big")
    w.wait_free(names + ["big"])
    check_memory(holder)


def test_status_names_what_is_large(w):
    w.machines(1)
    large_machine(w)
    w.api.create("nodepools", "huge", spec={"text": TEXT})
    holder = w.start()
    w.wait(lambda: known(holder, "NodeClaim") == 2)
    status = json.loads(holder.get("/status?format=json")[1])
    said = [wait["message"] for wait in status["scopes"][0]["waitsFor"]
            if wait["reason"] == "unread"]
    assert said == ["NodeClaim big cannot be read whole",
                    "NodePool huge cannot be read whole"]
    assert holder.wait_line("object left out", resource="nodeclaims")[
        "name"] == "big"


def test_what_a_large_nodepool_says(w):
    """What its metadata says when it is small again counts at once; until then
    the last state that was seen stands."""
    off = {"karpenter-node-holder.io/enabled": "false"}
    names = w.machines(3)
    w.api.create("nodepools", "p", annotations=off)
    holder = w.start()
    assert not holder.review()[1]["response"].get("patch")
    w.api.patch_meta("nodepools", "p", annotations={"text": TEXT})
    w.wait(lambda: len(w.lists("nodepools")) == 2 and
           skipped(holder, "nodepools") >= 2, "it is left out of a list")
    w.busy("new")
    w.stays(lambda: w.free(names))
    assert not holder.review()[1]["response"].get("patch")
    w.api.patch_meta("nodepools", "p", annotations={"text": None, **dict.
                                                    fromkeys(off)})
    w.wait_held(names)
    assert answers(holder)


def test_the_spec_of_a_large_nodepool(w):
    """What its spec said last still counts, though its metadata changes."""
    names = w.machines(3)
    w.api.create("nodepools", "p", spec={"replicas": 3})
    holder = w.start()
    assert not holder.review()[1]["response"].get("patch")
    w.api.change("nodepools", "p", {"spec": {"text": TEXT}})
    w.wait(lambda: skipped(holder, "nodepools") == 1)
    w.busy("new")
    w.stays(lambda: w.free(names))
    w.api.patch_meta("nodepools", "p", annotations={
        "karpenter-node-holder.io/hold-duration": "1h"})
    w.machine("other", pool="q")
    w.busy("newer", "q")
    w.wait_held("other")
    w.quiet("newer")
    w.wait_free("other")    # nobody can see the spec, and nothing waits
    assert w.free(names)
    assert not holder.review()[1]["response"].get("patch")


def test_a_person_has_a_say(w):
    """A person's hold on the claim is read from its metadata."""
    claim = w.claim("big", age=AGE, annotations={HOLD: "true"})
    w.api.change("nodeclaims", "big", {"spec": {"text": TEXT}})
    w.node("big", claim=claim, annotations=w.ours())
    holder = w.start()
    w.wait(lambda: "karpenter-node-holder.io/held-since" not in
           w.annotations("big"), "the mark goes")
    w.stays(lambda: w.annotations("big")[HOLD] == "true", 0.5)
    check_memory(holder)
