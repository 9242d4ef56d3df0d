# SPDX-License-Identifier: Apache-2.0
"""Karpenter's Events on NodeClaims, and ours on NodePools."""
import time

import pytest

CLASS = "karpenter-node-holder.io/replacement"
CLASS_UID = CLASS + "-uid"
IGNORED = "karpenter_node_holder_disruption_events_ignored_total"
BLOCKED = "karpenter_node_holder_releases_blocked"


def condition(kind, reason, at):
    return {"type": kind, "status": "True", "reason": reason,
            "lastTransitionTime": at}


def disrupt(w, name, reason="Drifted", age=0):
    old = w.api.get("nodeclaims", name)["status"]["conditions"]
    w.api.set_status("nodeclaims", name, conditions=old + [
        condition("DisruptionReason", reason, w.api.stamp(-age))])


def replacement(w, name="new"):
    """A replacement, launched as Karpenter launches one."""
    return w.claim(name, ready=None, age=0)


def class_of(w, name="new"):
    return w.annotations(name, "nodeclaims").get(CLASS)


def test_a_replacement_spreads_nothing(w):
    names = w.machines(3)
    w.start()
    disrupt(w, names[0])
    claim = replacement(w)
    w.wait_held("new", "nodeclaims")
    w.api.say(claim)
    w.wait(lambda: class_of(w) == "drifted", "its class")
    w.stays(lambda: w.free(names))
    patch = [p for p in w.patches("new", "nodeclaims")
             if CLASS in p.body["metadata"]["annotations"]]
    assert len(patch) == 1
    assert set(patch[0].body["metadata"]) == {"resourceVersion", "annotations"}
    assert patch[0].body["metadata"]["annotations"] == {
        CLASS: "drifted", CLASS_UID: claim["metadata"]["uid"]}


def test_said_before_the_start(w):
    """The Event is listed.  Its claim is listed as well, or comes later."""
    names = w.machines(3)
    disrupt(w, names[0])
    w.api.say(replacement(w))
    w.start()
    w.wait(lambda: class_of(w) == "drifted", "its class")
    w.stays(lambda: w.free(names))


def test_what_says_nothing(w):
    """Other reasons, other kinds and the uid of another claim mean nothing."""
    names = w.machines(3)
    claim = replacement(w)
    w.start()
    w.api.say(claim, "DisruptionBlocked", "Launching NodeClaim: Drifted")
    w.api.say(claim, "Launched", "Launching NodeClaim: Drifted")
    w.api.say({**claim, "kind": "Node"})
    w.api.say({**claim, "metadata": {"name": "new", "uid": "another"}})
    w.wait_held(names)
    assert class_of(w) is None


def test_an_event_without_a_cause(w):
    """Anybody may write Events.  An Event is ignored and counted if Karpenter
    had marked no claim as disrupted before it created the one that the Event
    names."""
    names = w.machines(3)
    disrupt(w, names[0], reason="Empty")
    disrupt(w, names[1], age=120)
    holder = w.start()
    w.api.say(replacement(w))
    w.wait_held(names)
    w.wait(lambda: holder.metrics()[IGNORED] == 1, "counted")
    assert class_of(w) is None


@pytest.mark.parametrize("where", ["copied", "of an older version"])
def test_a_class_that_is_not_of_this_claim(w, where):
    """A cloned claim has another uid, and the class of an earlier claim has
    none."""
    names = w.machines(3)
    uid = {CLASS_UID: "another"} if where == "copied" else {}
    w.claim("new", ready=None, age=0,
            annotations={CLASS: "drifted", **uid})
    w.start()
    w.wait_held(names)


def test_a_class_of_before(w):
    """The previous leader wrote the class.  It is read, whatever the Events
    say."""
    names = w.machines(3)
    claim = replacement(w)
    w.api.patch_meta("nodeclaims", "new", annotations={
        CLASS: "drifted", CLASS_UID: claim["metadata"]["uid"]})
    w.start()
    w.wait_held("new", "nodeclaims")
    w.stays(lambda: w.free(names))


def test_the_event_ends_a_hold(w):
    """The Event comes when the claim already counts as a scale-up."""
    names = w.machines(3)
    disrupt(w, names[0], age=30)  # long ago, so nobody waits for its Event
    holder = w.start()
    claim = replacement(w)
    w.wait_held(names)
    w.api.say(claim, message="Launching NodeClaim: Underutilized")
    w.wait(lambda: class_of(w) == "underutilized", "its class")
    w.wait_free(names)
    assert w.held("new", "nodeclaims")
    assert holder.wait_line("replacement known", name="new",
                            reason="underutilized")


def test_count(w):
    names = w.machines(3)
    disrupt(w, names[0])
    holder = w.start("--replacements", "count", watching=False)
    w.api.say(replacement(w))
    w.wait_held(names)
    w.stays(lambda: class_of(w) is None)
    assert not w.api.select(resource="events")
    w.quiet("new")
    w.wait_free(names)
    assert holder.get("/livez") == (200, "ok")


def test_events_that_are_not_watched_keep_nothing_held(w):
    """Events can only shorten a hold."""
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.fault("events", "watch", "500")
    w.api.drop_watches("events")
    holder.wait_line("watch failed", resource="events")
    w.quiet()
    w.wait_free(names)
    assert holder.metrics()[
        'karpenter_node_holder_watch_up{kind="Event"}'] == 0


@pytest.mark.long
def test_without_any_right_on_events(w):
    """It holds and releases, a replacement counts as a scale-up, and the
    missing right is logged once."""
    w.api.create("nodepools", "p")
    names = w.machines(3)
    w.api.fault("events", "*", "403")
    w.api.fault("our-events", "*", "403")
    holder = w.start(watching=False)
    holder.wait_line("list failed", resource="events", code=403)
    line = holder.wait_line("leading without a list", unseen="Event")
    assert "replacements count as scale-ups" in line["meanwhile"]
    disrupt(w, names[0], age=30)
    w.api.say(replacement(w))
    w.wait_held(names)
    assert holder.wait_line("event failed", code=403)
    w.quiet("new")
    w.wait_free(names)
    assert len(holder.lines("leading without a list")) == 1
    assert holder.metrics()[BLOCKED] == 0


@pytest.mark.hurry
def test_a_watch_of_events_may_be_silent(w):
    """It has no bookmarks, so silence does not mean that it is broken."""
    w.start()
    w.wait(lambda: w.watches("nodes") == 1)
    w.stays(lambda: w.watches("events") == 1, seconds=2.5)


# --- ours --------------------------------------------------------------------

def ours(w, reason):
    return [w.api.get("our-events", name)
            for name in w.api.names("our-events")
            if w.api.get("our-events", name)["reason"] == reason]


def wait_event(w, reason, n=1):
    w.wait(lambda: len(ours(w, reason)) >= n, f"{n} {reason}")
    return ours(w, reason)


def test_hold_started_and_released(w):
    pool = w.api.create("nodepools", "p")
    w.api.create("nodepools", "q")
    w.api.create("nodepools", "off", annotations={
        "karpenter-node-holder.io/enabled": "false"})
    names = w.machines(3)
    w.start()
    w.busy()
    started = wait_event(w, "HoldStarted", 2)
    assert sorted(e["regarding"]["name"] for e in started) == ["p", "q"]
    event, = [e for e in started if e["regarding"]["name"] == "p"]
    assert event["regarding"] == {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "p",
        "uid": pool["metadata"]["uid"]}
    assert event["type"] == "Normal"
    assert "has scaled up, most recently by machine busy" in event["note"]
    assert "at the earliest, as machines are still booting" in event["note"]
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    released = wait_event(w, "HoldReleased", 2)
    assert "is quiet" in released[0]["note"]
    # This is the second time within six minutes, which has words of its own.
    w.busy("again")
    second = wait_event(w, "HoldStarted", 4)
    assert sum("by machine again" in e["note"] for e in second) == 2
    assert not any("series" in e for e in second)


def test_what_started_a_hold(w):
    """The Event names the machine, and a time once no machine boots any more.
    """
    w.api.create("nodepools", "p")
    names = w.machines(3)
    holder = w.start()
    w.machine("first", ready=1800)
    w.wait_held(names)
    line = holder.wait_line("scope held", machine="first")
    assert line["atTheEarliest"] == "false"
    event, = wait_event(w, "HoldStarted")
    assert event["note"].endswith(
        f"are held until {line['quietAt']} if nothing is added")


def test_the_cap_is_told_as_it_is(w):
    w.api.create("nodepools", "p")
    names = w.machines(3)
    holder = w.start(max_hold_duration="15s", release_window="1h",
                     hold_duration="3s")
    w.claim("boots", ready=None, age=0)
    w.wait_held(names)
    began = w.api.now()
    w.wait(lambda: w.api.now() > began + 2)
    w.claim("later", ready=None, age=0)
    line = holder.wait_line("maxHoldDuration used up, released")
    assert line["maxHoldDuration"] == "15s"
    event, = wait_event(w, "HoldCapped")
    assert "has used up its maxHoldDuration of 15s: until " \
        f"{line['until']} at the earliest" in event["note"]
    w.wait_free(names)


@pytest.mark.parametrize("pools", [["p"], ["p", "q"]])
def test_in_scope_nodepool(w, pools):
    for name in ("p", "q"):
        w.api.create("nodepools", name)
    w.start("--scope", "nodepool")
    for name in pools:
        w.busy("busy-" + name, name)
    w.wait(lambda: sorted(e["regarding"]["name"]
                          for e in ours(w, "HoldStarted")) == pools)
    w.stays(lambda: len(ours(w, "HoldStarted")) == len(pools))


def test_manual_hold_and_bad_values(w):
    until = w.api.stamp(3600)
    w.api.create("nodepools", "p", annotations={
        "karpenter-node-holder.io/hold-until": until,
        "karpenter-node-holder.io/hold-duration": "fast",
        "karpenter-node-holder.io/reason": "(by ann)",
        "karpenter-node-holder.io/released-at": w.api.stamp(600)})
    w.start()
    event, = wait_event(w, "ManualHold")
    assert event["note"].endswith(f"{until} (by ann)")
    first, second = wait_event(w, "InvalidAnnotation", 2)
    assert {first["type"], second["type"]} == {"Warning"}
    assert any('hold-duration: "fast" does not count, expected a duration'
               in e["note"] for e in (first, second))
    assert any("released-at" in e["note"] for e in (first, second))


def test_a_flood_of_events(w):
    """They come by a token bucket, and what is left out is counted."""
    for i in range(80):
        w.api.create("nodepools", f"p{i:02}")
    holder = w.start()
    start = time.monotonic()

    def change(n):
        for i in range(80):
            w.api.patch_meta("nodepools", f"p{i:02}", annotations={
                "karpenter-node-holder.io/hold-until": w.api.stamp(n)})
    for n in range(5):
        change(3600 + n)
    w.wait(lambda: len(ours(w, "ManualHold")) >= 64, "a burst")
    line = holder.wait_line("events dropped")
    assert line["level"] == "warn" and line["events"] > 0
    assert len(ours(w, "ManualHold")) <= 66 + time.monotonic() - start


def test_not_allowed(w):
    """Nothing else is affected."""
    w.api.create("nodepools", "p")
    w.api.fault("our-events", "*", "403")
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    line = holder.wait_line("event failed")
    assert line["code"] == 403
    w.quiet()
    w.wait_free(names)
    assert len([x for x in holder.lines("event failed")
                if x["level"] == "warn"]) == 1
