# SPDX-License-Identifier: Apache-2.0
"""What people say in a NodePool's annotations."""
import datetime
import re

import pytest

from conftest import POOL

OWN = "karpenter-node-holder.io/"


def pool(w, name, annotations=None):
    return w.api.create("nodepools", name, annotations=annotations)


def say(w, name, key, value):
    w.api.change("nodepools", name,
                 {"metadata": {"annotations": {OWN + key: value}}})


def admits(holder, name, kind="Node"):
    """Is this machine held at admission?"""
    _, answer, _ = holder.review(labels={POOL: name}, kind=kind)
    return "patch" in answer["response"]


def test_disabled_while_held_and_taken_back(w):
    pool(w, "p")
    pool(w, "q")
    w.machine("mine")
    w.machine("other", pool="q")
    holder = w.start()
    w.busy()
    w.wait_held(["mine", "other"])
    assert admits(holder, "p")
    say(w, "p", "enabled", "false")
    w.wait_free(["mine", "other"])
    w.wait_free("busy", "nodeclaims")
    w.wait(lambda: not admits(holder, "p"), "left alone at admission")
    assert admits(holder, "q")
    say(w, "p", "enabled", None)
    w.wait_held(["mine", "other"])
    w.wait(lambda: admits(holder, "p"), "held at admission")


def test_disabled_before_the_start(w):
    """Nothing of the NodePool is ever held, not even for a moment."""
    pool(w, "p", {OWN + "enabled": "false"})
    w.machine("mine", ready=0, age=3)
    fault = w.api.fault("nodepools", "list", "delay", seconds=0.5)
    holder = w.start()
    w.api.clear(fault)
    w.stays(lambda: w.free("mine"))
    assert not w.patches("mine")
    assert not admits(holder, "p")


SPECS = [
    {"replicas": 2},
    {"disruption": {"consolidateAfter": "Never"}},
]
PLAIN = {"replicas": None, "disruption": {"consolidateAfter": "30s"}}


@pytest.mark.parametrize("spec", SPECS, ids=["static", "never"])
def test_left_alone_by_its_spec(w, spec):
    """From the first list on, until a watch shows another spec, and again."""
    w.api.create("nodepools", "p", spec=spec)
    pool(w, "q")
    w.machine("mine", ready=0, age=3)
    w.machine("other", pool="q")
    holder = w.start()
    w.stays(lambda: w.free(["mine", "other"]), 0.5)
    w.busy(pool="q")
    w.wait_held("other")
    w.stays(lambda: w.free("mine"), 0.5)
    assert not w.patches("mine")
    assert not admits(holder, "p") and not admits(holder, "p", "NodeClaim")
    w.api.change("nodepools", "p", {"spec": PLAIN})
    w.wait_held("mine")
    w.wait(lambda: admits(holder, "p"), "held at admission")
    w.api.change("nodepools", "p", {"spec": spec})
    w.wait_free("mine")
    w.wait(lambda: not admits(holder, "p"), "left alone at admission")
    assert w.held("other")


def test_left_alone_and_held_by_hand(w):
    w.api.create("nodepools", "p", spec=SPECS[0])
    w.machine("mine", ready=0, age=3)
    holder = w.start()
    assert not admits(holder, "p")
    say(w, "p", "hold-until", w.api.stamp(3600))
    w.wait_held("mine")
    w.wait(lambda: admits(holder, "p"), "held at admission")
    say(w, "p", "enabled", "false")
    w.wait_free("mine")
    w.wait(lambda: not admits(holder, "p"), "left alone at admission")
    say(w, "p", "enabled", None)
    w.wait_held("mine")
    say(w, "p", "hold-until", w.api.stamp(-1))
    w.wait_free("mine")
    w.wait(lambda: not admits(holder, "p"), "left alone at admission")


def test_a_spec_that_the_watch_has_not_shown(w):
    """The fresh list shows only that the spec has changed.  The release waits
    until the watch shows how."""
    pool(w, "p")
    w.machine("mine")
    w.start()
    w.busy()
    w.wait_held("mine")
    n = w.watches("nodepools")
    w.api.fault("nodepools", "watch", "behind")
    w.api.drop_watches("nodepools")
    w.wait(lambda: w.watches("nodepools") > n, "another watch")
    w.api.change("nodepools", "p", {"spec": {"weight": 2}})
    w.quiet()
    w.wait(lambda: fresh(w), "a fresh list")
    w.stays(lambda: w.held("mine"), 0.5)
    w.api.clear()
    w.api.drop_watches("nodepools")
    w.wait_free("mine")


def test_who_stands_by_knows_them(w):
    """Every replica answers admission, whichever one leads."""
    pool(w, "p", {OWN + "enabled": "false"})
    pool(w, "q")
    w.machine("mine", ready=0, age=3)
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "other_1", "leaseDurationSeconds": 3600})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    holder.wait_line("another leads")
    holder.wait_line("watching", resource="nodepools")
    assert not admits(holder, "p")
    assert not admits(holder, "p", kind="NodeClaim")
    assert admits(holder, "q")
    say(w, "p", "enabled", None)
    w.wait(lambda: admits(holder, "p"), "held at admission")
    say(w, "p", "enabled", "false")
    w.wait(lambda: not admits(holder, "p"), "left alone at admission")
    w.stays(lambda: not w.patches("mine") and not w.lists("nodes"))


@pytest.mark.parametrize("gone", ["deleted", "not listed"])
def test_the_pool_is_gone(w, gone):
    pool(w, "p", {OWN + "enabled": "false"})
    holder = w.start()
    assert not admits(holder, "p")
    if gone == "deleted":
        w.api.delete("nodepools", "p")
    else:
        w.api.fault("nodepools", "watch", "403", times=1)
        w.api.drop_watches("nodepools")
        w.api.delete("nodepools", "p")
        w.api.compact()
    w.wait(lambda: admits(holder, "p"), "held at admission")


def by_hand(holder):
    return holder.metrics()[
        'karpenter_node_holder_held_by_hand_objects{kind="Node"}']


def hold_untils(holder):
    """Until when which NodePool is held by hand, by the metrics."""
    return {m[1]: value for key, value in holder.metrics().items()
            if (m := re.fullmatch(r"karpenter_node_holder_hold_until_"
                                  r'timestamp_seconds{nodepool="(.*)"}', key))}


def test_hold_until_and_released_at(w):
    pool(w, "p", {OWN + "hold-until": w.api.stamp(3600)})
    pool(w, "q")
    w.machine("mine")
    w.machine("other", pool="q")
    holder = w.start()
    w.wait_held("mine")
    line = holder.wait_line("pool held by hand", pool="p")
    until = w.api.get("nodepools", "p")["metadata"]["annotations"][
        OWN + "hold-until"]
    assert line["until"] == until
    assert w.free("other")
    w.wait(lambda: by_hand(holder) == 1, "one Node held by hand")
    assert hold_untils(holder) == {
        "p": datetime.datetime.fromisoformat(until).timestamp()}
    w.busy("later", "q")
    w.wait_held("other")
    say(w, "p", "hold-until", None)
    w.wait(lambda: by_hand(holder) == 0, "no Node held by hand")
    assert hold_untils(holder) == {}
    # The whole cluster is one scope.
    w.stays(lambda: w.held(["mine", "other"]))
    say(w, "q", "released-at", w.api.stamp())
    w.wait_free("later", "nodeclaims")
    w.wait_free(["mine", "other"])


@pytest.mark.parametrize("key, value, expected", [
    ("hold-duration", "fast", "a duration above 0 such as 10m"),
    ("enabled", "no", '"true" or "false"'),
    ("hold-until", "tomorrow",
     "an RFC 3339 time such as 2026-01-02T03:04:05Z"),
])
def test_a_bad_value_is_told_once(w, key, value, expected):
    pool(w, "p", {OWN + key: value})
    w.machine("mine")
    holder = w.start()
    line = holder.wait_line("annotation does not count", pool="p")
    assert line["annotation"] == OWN + key
    assert (line["value"], line["expected"]) == (value, expected)
    w.api.change("nodepools", "p", {"metadata": {"labels": {"a": "b"}}})
    w.busy()
    w.wait_held("mine")     # the default applies
    assert len(holder.lines("annotation does not count")) == 1


def test_not_served(w):
    """The cluster is older, or not Karpenter's.  All NodePools are as the
    configuration says."""
    w.api.serve("nodepools", False)
    w.machine("mine")
    holder = w.start(watching=False)
    holder.wait_line("resource is not served", resource="nodepools")
    w.busy()
    w.wait_held("mine")
    w.quiet()
    w.wait_free("mine")
    assert admits(holder, "p")


# --- the fresh list of a release ---------------------------------------------

def fresh(w):
    """The requests of the fresh list, whose pages are smaller than a
    watcher's."""
    return [r for r in w.api.select(verb="list", resource="nodepools")
            if r.query["limit"] != "500"]


def test_a_release_lists_the_pools_afresh(w):
    """All of them are listed, as metadata and not from a cache."""
    for i in range(5):
        pool(w, f"p{i}")
    w.api.page_max = 2
    w.machine("mine")
    w.start()
    w.busy()
    w.wait_held("mine")
    assert not fresh(w)
    w.quiet()
    w.wait_free("mine")
    assert [r.query.get("continue") is not None for r in fresh(w)[:3]] == [
        False, True, True]
    assert all("resourceVersion" not in r.query for r in fresh(w))
    assert all("PartialObjectMetadataList" in r.headers["accept"]
               for r in fresh(w))


@pytest.mark.parametrize("kind", ["403", "500", "429", "cut"])
def test_a_fresh_list_of_the_pools_that_fails(w, kind):
    """Nothing is released, and the log says so."""
    pool(w, "p")
    w.machine("mine")
    holder = w.start()
    w.busy()
    w.wait_held("mine")
    fault = w.api.fault("nodepools", "list", kind)
    w.quiet()
    line = holder.wait_line("request failed", kind="NodePool")
    if kind.isdigit():
        assert line["code"] == int(kind)
    w.wait(lambda: len(fresh(w)) >= 2, "a second try")
    assert not w.clears() and w.held("mine")
    w.api.clear(fault)
    w.wait_free("mine")


def test_a_pool_that_the_watch_has_not_shown(w):
    """The watch is open and sends bookmarks but is behind.  The release sees a
    hold-until that was set meanwhile."""
    pool(w, "p")
    w.machine("mine")
    w.start()
    w.busy()
    w.wait_held("mine")
    n = w.watches("nodepools")
    w.api.fault("nodepools", "watch", "behind")
    w.api.drop_watches("nodepools")
    w.wait(lambda: w.watches("nodepools") > n, "another watch")
    say(w, "p", "hold-until", w.api.stamp(3600))
    w.quiet()
    w.wait(lambda: fresh(w), "a fresh list")
    w.stays(lambda: w.held("mine"))
    w.api.clear()
    w.stays(lambda: w.held("mine"))
    say(w, "p", "hold-until", None)
    w.wait_free("mine")


@pytest.mark.long
def test_a_lead_that_cannot_list_the_pools(w):
    """After ten seconds the new leader holds by what it knew of the NodePools
    before, and says so.  It releases nothing."""
    pool(w, "p", {OWN + "enabled": "false"})
    pool(w, "q")
    w.machine("left-alone")
    w.machine("due", pool="q", annotations=w.ours())
    w.machine("other", pool="q")
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "other_1", "leaseDurationSeconds": 3600})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    holder.wait_line("watching", resource="nodepools")
    fault = w.api.fault("nodepools", "*", "403")
    w.busy(pool="q")
    w.api.change("leases", "karpenter-node-holder", {"spec": {
        "holderIdentity": ""}})
    holder.wait_line("leading")
    line = holder.wait_line("leading without a list", unseen="NodePool")
    assert "last known" in line["meanwhile"]
    w.wait_held(["other", "due"])
    w.quiet()
    w.stays(lambda: w.held(["other", "due"]) and w.free("left-alone"))
    assert not w.clears()
    w.api.clear(fault)
    w.wait_free(["other", "due"])


def test_nothing_is_cleared_while_the_pools_are_not_watched(w):
    pool(w, "p")
    w.machine("mine")
    holder = w.start()
    w.busy()
    w.wait_held("mine")
    fault = w.api.fault("nodepools", "watch", "500")
    w.api.drop_watches("nodepools")
    holder.wait_line("watch failed", resource="nodepools")
    w.quiet()
    w.stays(lambda: w.held("mine"))
    w.api.clear(fault)
    w.wait_free("mine")
