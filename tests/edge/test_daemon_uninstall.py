# SPDX-License-Identifier: Apache-2.0
"""`uninstall` where the API server misbehaves: it ends with 0 only when
nothing is left, and otherwise says why."""
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from conftest import (HELD_KEY, HOLD, MARK, PATIENCE, REPORT, alive, is_clear,
                      spawn, stalled_pipe, wait)

CLASS = "karpenter-node-holder.io/replacement"
CLASS_UID = CLASS + "-uid"
WEBHOOKS = "mutatingwebhookconfigurations"
LEASE = "karpenter-node-holder"
QUICK = {"leader-election-retry-period": "60ms"}


class Uninstall:
    """One process of the command.  Its lines are those of both outputs, as
    they come, unless a descriptor is given."""

    def __init__(self, w, *flags, stdout=None, stderr=None, user=None,
                 **options):
        w.api.write_kubeconfig(w.kubeconfig, user=user)
        options = {"namespace": "holder", "timeout": "60s", **QUICK,
                   **options}
        argv = [w.tools, "uninstall", "--kubeconfig", w.kubeconfig, *flags]
        for name, value in options.items():
            argv += ["--" + name.replace("_", "-"), str(value)]
        self.log = w.dir / f"uninstall{time.monotonic_ns()}"
        with self.log.open("wb") as out:
            self.process = spawn(
                argv, stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout,
                stderr=out if stderr is None else stderr, env=w.environment())

    def text(self):
        return self.log.read_text(errors="replace")

    def ends(self, code=0):
        """Waits for its end; returns its lines."""
        try:
            got = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
        assert not REPORT.search(self.text()), self.text()
        assert got == code, self.text()
        return self.text()


def uninstall(w, *flags, code=0, **options):
    return Uninstall(w, *flags, **options).ends(code)


def tells(text, resource):
    """Why the first call about the resource is made again."""
    return re.search(rf"^holderctl: GET \S*/{resource}\S*: trying again: (.*)$",
                     text, re.M)[1]


def lease(w, holder="", **spec):
    return w.api.create("leases", LEASE, namespace="holder", spec={
        "holderIdentity": holder, "leaseDurationSeconds": 1, **spec})


def register(w, *names):
    w.api.create(WEBHOOKS, "whatever-its-name", top={
        "webhooks": [{"name": n} for n in names]})


def held(w, n):
    """n machines with hold and mark on their Nodes; returns their names."""
    return w.machines(n, annotations=w.ours())


def marks(w):
    return [name for resource in ("nodes", "nodeclaims")
            for name in w.api.names(resource)
            if MARK in w.annotations(name, resource)]


def when_one_list_has_shown_none(w, act):
    """Waits for the first list that shows none; another one follows."""
    done = []

    def look(answer):
        if w.clears() and not marks(w) and not done:
            done.append(act())
        return answer
    w.api.fault("nodes", "list", "edit", edit=look)


def amid(w, act):
    """Runs it, and does this after its list and before its first write to a
    Node."""
    slow = w.api.fault("nodes", "patch", "wait")
    run = Uninstall(w)
    wait(w.clears, "begun")
    act()
    w.api.clear(slow)
    return run


# --- what ends well ----------------------------------------------------------

def test_a_lease_of_nobody(w):
    """Whoever has it does not exist: the command says how to end the wait."""
    lease(w, "ghost_1", leaseDurationSeconds=86400)
    run = Uninstall(w, leader_election_lease_duration="1s",
                    leader_election_renew_deadline="500ms")
    wait(lambda: re.search(r"not renewed, free in [56]\d s, or when it is "
                           "deleted: ghost_1", run.text()))
    w.api.delete("leases", LEASE)
    assert "not there: no holder leads, going on without" in run.ends()


def test_claims_first_then_nodes_then_classes(w):
    lease(w)
    w.claim("c", annotations={**w.ours(), CLASS: "drifted"})
    held(w, 3)
    text = uninstall(w)
    order = [(r.resource, r.name) for r in w.api.select(verb="patch")
             if r.resource != "leases"]
    assert order[0] == ("nodeclaims", "c") == order[-1]
    assert [r for r, _ in order] == ["nodeclaims", *["nodes"] * 3,
                                     "nodeclaims"]
    assert text.splitlines()[-2:] == [
        "released 3 nodes and 1 nodeclaims; of 0 objects only the mark "
        "removed; 1 replacement annotations removed", "none is left"]
    assert not marks(w) and CLASS not in w.annotations("c", "nodeclaims")


def test_pages_and_one_that_expires(w):
    lease(w)
    w.api.page_max = 3
    held(w, 10)
    w.api.fault("nodes", "list", "expired", times=1)
    uninstall(w)
    assert not marks(w)


@pytest.mark.hurry
def test_replies_that_are_lost(w):
    """What was done in spite of the lost reply is not done twice."""
    lease(w)
    names = held(w, 6)
    w.api.fault("nodes", "patch", "lost-reply", times=3)
    uninstall(w)
    assert not marks(w)
    assert all(w.changed(n) == 1 for n in names)


def test_objects_that_change_meanwhile(w):
    lease(w)
    held(w, 4)
    refusals = {409: "Conflict", 422: "Invalid"}
    for code, reason in refusals.items():
        w.api.fault("nodes", "patch", "answer", times=2, status=code,
                    headers={"Content-Type": "application/json"},
                    body=json.dumps({
                        "kind": "Status", "apiVersion": "v1", "code": code,
                        "reason": reason, "message": "changed"}).encode())
    uninstall(w)
    assert not marks(w)


def test_a_person_who_comes_between_list_and_patch(w):
    """The test in the patch fails.  The next read shows that the hold is
    theirs."""
    lease(w)
    name, = held(w, 1)
    slow = w.api.fault("nodes", "patch", "wait")
    run = Uninstall(w)
    wait(lambda: w.patches(name), "its patch")
    w.api.change("nodes", name, {"metadata": {"annotations": {
        HOLD: "false"}}})
    w.api.clear(slow)
    text = run.ends()
    assert f"node/{name} mark removed, the hold is a person's\n" in text
    assert w.annotations(name) == {HOLD: "false"}


def test_an_object_that_is_gone(w):
    lease(w)
    a, b = held(w, 2)
    slow = w.api.fault("nodes", "patch", "wait", name=a)
    run = Uninstall(w)
    wait(lambda: w.patches(a), "its patch")
    w.api.delete("nodes", a)
    w.api.clear(slow)
    run.ends()
    assert not marks(w)


def test_an_api_server_that_is_busy_or_broken(w):
    lease(w)
    held(w, 5)
    w.api.fault(WEBHOOKS, "list", "500", times=1)
    w.api.fault("nodes", "list", "500", times=1)
    w.api.fault("nodeclaims", "list", "429", times=1, retry_after="1")
    w.api.fault("nodes", "patch", "500", times=5)
    text = uninstall(w)
    assert tells(text, WEBHOOKS) == "HTTP 500"
    assert not marks(w)


@pytest.mark.hurry
def test_an_answer_that_hangs_or_is_cut(w):
    lease(w)
    held(w, 3)
    w.api.fault(WEBHOOKS, "list", "hang", times=1)
    w.api.fault("nodes", "list", "hang", times=1)
    w.api.fault("nodeclaims", "list", "cut", times=1)
    w.api.fault("nodes", "patch", "hang", times=1)
    text = uninstall(w)
    # nothing behind the cause, such as the status of no answer
    assert re.fullmatch(r"\S+: no .* within \d+ ms", tells(text, WEBHOOKS))
    assert not marks(w)


def test_without_karpenters_crds(w):
    lease(w)
    w.node("n", annotations=w.ours())
    w.api.serve("nodeclaims", False)
    uninstall(w)
    assert not marks(w)


def test_many_holds_of_other_keys(w):
    """Each is cleared by what its mark says.  With the last one, the Lease's
    own annotation goes."""
    lease(w)
    w.api.patch_meta("leases", LEASE, annotations={
        "karpenter-node-holder.io/hold": "example.com/1=yes"})
    for i in range(12):
        w.node(f"n{i}", annotations={f"example.com/{i}": "yes", HOLD: "true",
                                     MARK: w.api.stamp(-60),
                                     HELD_KEY: f"example.com/{i}=yes"})
    uninstall(w)
    assert all(w.annotations(f"n{i}") == {HOLD: "true"} for i in range(12))
    assert "karpenter-node-holder.io/hold" not in w.api.get(
        "leases", LEASE)["metadata"].get("annotations", {})


def test_another_hold_of_the_configuration(w):
    """A template's own hold, with the webhook's mark beside it."""
    lease(w)
    theirs = {"example.com/hold": "yes"}
    claim = w.claim("m", annotations=theirs, node="m")
    w.node("m", claim=claim, annotations={
        **theirs, MARK: w.api.stamp(-60), HELD_KEY: "example.com/hold=yes"})
    uninstall(w, hold_annotation_key="example.com/hold",
              hold_annotation_value="yes")
    assert w.annotations("m") == theirs == w.annotations("m", "nodeclaims")


def test_a_former_hold_on_claim_and_node(w):
    """The hold on the claim is removed first.  The one on the Node must not be
    taken for a person's then."""
    lease(w)
    claim = w.claim("m", annotations=w.ours(), node="m")
    w.node("m", claim=claim, annotations=w.ours())
    uninstall(w, hold_annotation_key="example.com/hold")
    assert w.free("m") and w.free("m", "nodeclaims")


# --- holds without a mark ----------------------------------------------------

def wrote(manager, key=HOLD, operation="Update"):
    return {"manager": manager, "operation": operation, "fieldsV1": {
        "f:metadata": {"f:annotations": {"f:" + key: {}}}}}


def unmarked(w, name, *entries, value="true"):
    w.node(name, annotations={HOLD: value})
    w.api.patch_meta("nodes", name, managedFields=list(entries))


def test_holds_that_nobody_is_on_record_for(w):
    """Somebody with the holder's token may have taken the mark off.  Only
    people know, so these are named, and stay."""
    lease(w)
    held(w, 1)
    unmarked(w, "ours", wrote("karpenter-node-holder"))
    unmarked(w, "webhook", wrote("kubelet", "example.com/other"))
    unmarked(w, "copied", wrote("karpenter"))
    unmarked(w, "stripped")
    people = {"kubectl": [wrote("kubectl-annotate")],
              "gitops": [wrote("argocd", operation="Apply")],
              "both": [wrote("karpenter-node-holder"), wrote("kubectl-edit")]}
    for name, entries in people.items():
        unmarked(w, name, *entries)
    unmarked(w, "no", wrote("karpenter-node-holder"), value="false")
    w.claim("c", annotations={HOLD: "true"})
    for flags, begin in ((("--dry-run",), "would release 1 nodes"),
                         ((), "released 1 nodes")):
        report = uninstall(w, *flags).split(begin)[1].splitlines()
        assert report[1] == "4 nodes and 1 nodeclaims stay held without a " \
            "mark, and no person is on record as"
        assert sorted(report[3:7]) == [
            "    node/copied", "    node/ours", "    node/stripped",
            "    node/webhook"]
        assert report[7] == "    nodeclaim/c"
        assert report[8].startswith("if nobody wants it there: kubectl "
                                    "annotate node/")
        assert report[8].endswith(f" {HOLD}-")
        assert report[9:] == ([] if flags else ["no mark is left"])
    assert not marks(w)
    assert {r.name for r in w.api.select(verb="patch")
            if r.resource != "leases"} == {"m000"}
    w.api.patch_meta("nodes", "ours", annotations={HOLD: None})
    assert "3 nodes and 1" in uninstall(w)


def test_many_holds_that_nobody_is_on_record_for(w):
    for i in range(13):
        unmarked(w, f"n{i:02}", wrote("karpenter-node-holder"))
    text = uninstall(w)
    assert "    node/n09\n    and 3 more\n" in text and "n10" not in text


# --- what is registered ------------------------------------------------------

def test_a_webhook_is_in_the_way(w):
    lease(w)
    held(w, 1)
    register(w, "hold.karpenter-node-holder.io")
    text = uninstall(w, code=1)
    assert "kubectl delete mutatingwebhookconfiguration/whatever-its-name\n" \
        in text
    assert not w.api.select(verb="patch") and marks(w)
    text = uninstall(w, "--remove-webhook")
    assert "mutatingwebhookconfiguration/whatever-its-name deleted\n" in text
    assert not w.api.names(WEBHOOKS) and not marks(w)


def test_webhooks_of_others_are_none_of_ours(w):
    lease(w)
    register(w, "a.example.com", "hold.karpenter-node-holder.io.example.com")
    uninstall(w, "--remove-webhook")
    assert w.api.names(WEBHOOKS)


def test_one_that_is_registered_again_meanwhile(w):
    lease(w)
    held(w, 1)
    when_one_list_has_shown_none(
        w, lambda: register(w, "hold.karpenter-node-holder.io"))
    assert "still registered" in uninstall(w, code=1)


def test_a_dry_run_writes_nothing(w):
    names = held(w, 3)
    register(w, "hold.karpenter-node-holder.io")
    text = uninstall(w, "--dry-run", "--remove-webhook")
    assert all(f"node/{n} released (dry run)\n" in text for n in names)
    assert "would release 3 nodes" in text
    assert {r.method for r in w.api.requests} == {"GET"}


# --- the Lease ---------------------------------------------------------------

def test_it_waits_for_a_leader(w):
    lease(w, "other_1", leaseDurationSeconds=3)
    held(w, 1)
    run = Uninstall(w)
    begin = time.monotonic()
    while time.monotonic() < begin + 5:     # the lease is still being renewed
        micros = time.monotonic_ns() // 1000 % 10**6
        w.api.change("leases", LEASE, {"spec": {
            "holderIdentity": "other_1",
            "renewTime": f"2026-01-01T00:00:00.{micros:06}Z"}})
        time.sleep(0.1)
        assert marks(w)
    assert "stop it: other_1\n" in run.text()
    run.ends()
    assert not marks(w)
    spec = w.api.get("leases", LEASE)["spec"]
    assert spec["holderIdentity"] == "" and spec["leaseTransitions"] == 1


def test_a_leader_that_never_goes(w):
    lease(w, "other_1", leaseDurationSeconds=3600)
    held(w, 1)
    text = uninstall(w, code=1, timeout="4s")
    assert "waiting for lease holder/karpenter-node-holder: the time is over" \
        in text
    assert marks(w)


def test_a_second_that_wants_it_comes_first(w):
    """A standby replica takes a Lease that is released; then the command
    waits."""
    lease(w, "first")
    held(w, 1)
    run = Uninstall(w, leader_election_retry_period="1s")
    wait(lambda: "stop it: first" in run.text(), "waiting")
    w.api.change("leases", LEASE, {"spec": {"holderIdentity": ""}})
    time.sleep(0.6)
    w.api.change("leases", LEASE, {"spec": {
        "holderIdentity": "second", "leaseDurationSeconds": 3600}})
    wait(lambda: "stop it: second" in run.text(), "waiting again")
    assert marks(w)
    w.api.change("leases", LEASE, {"spec": {"holderIdentity": ""}})
    run.ends()


def test_nothing_is_written_when_the_lease_is_lost(w):
    lease(w)
    held(w, 60)
    slow = w.api.fault("nodes", "patch", "delay", seconds=0.1)
    run = Uninstall(w, patch_concurrency=1)
    wait(lambda: len(marks(w)) < 55, "begun")
    w.api.change("leases", LEASE, {"spec": {
        "holderIdentity": "thief", "leaseDurationSeconds": 3600}})
    wait(lambda: "lost to thief" in run.text(), "noticed")
    wait(lambda: w.api.count(verb="patch", status=0) == 0, "all answered")
    was = len(w.clears())
    time.sleep(0.5)
    assert len(w.clears()) == was and marks(w)
    w.api.clear(slow)
    again = next(n for n in w.api.names("nodes") if w.free(n))
    # The thief has set it.
    w.api.patch_meta("nodes", again, annotations=w.ours(0))
    w.api.change("leases", LEASE, {"spec": {"holderIdentity": ""}})
    run.ends()
    assert not marks(w)


def test_no_lease(w):
    held(w, 1)
    assert "not there: no holder leads, going on without" in uninstall(w)
    assert not marks(w) and not w.api.names("leases")


def test_its_state_is_forgotten(w):
    """Otherwise the next holder would count its holds from long ago."""
    key = "karpenter-node-holder.io/state"
    lease(w)
    w.api.change("leases", LEASE, {"metadata": {"annotations": {
        key: "whatever", "team": "a"}}})
    name, = held(w, 1)
    fault = w.api.fault("nodes", "patch", "403")
    uninstall(w, code=1)
    assert w.annotations(LEASE, "leases")[key] == "whatever"
    w.api.clear(fault)
    uninstall(w)
    assert w.annotations(LEASE, "leases") == {"team": "a"}
    assert w.api.get("leases", LEASE)["spec"]["holderIdentity"] == ""
    assert w.free(name)


@pytest.mark.parametrize("name", ["a/b", "X?y", "-a", "a" * 64])
def test_what_is_no_namespace(w, name):
    text = uninstall(w, code=2, namespace=name)
    assert f'--namespace: "{name}"' in text
    assert not w.api.requests


def elsewhere(w, age, holder="other_1"):
    w.api.create("all-leases", LEASE, namespace="real", spec={
        "holderIdentity": holder, "leaseDurationSeconds": 15,
        "renewTime": w.api.stamp(-age)})


def test_a_lease_that_is_renewed_elsewhere(w):
    held(w, 1)
    elsewhere(w, 1)
    text = uninstall(w, code=1)
    assert "none in holder, but other_1 renews one in real: --namespace " \
        "real\n" in text
    assert "no list was made" in text and "last list" not in text
    assert marks(w) and not w.clears()
    # It may not be allowed to see them.
    w.api.fault("all-leases", "list", "403")
    uninstall(w)
    assert not marks(w)


@pytest.mark.parametrize("age, holder", [(60, "gone"), (1, "")])
def test_a_lease_elsewhere_that_nobody_renews(w, age, holder):
    held(w, 1)
    elsewhere(w, age, holder)
    uninstall(w)
    assert not marks(w)


# --- what does not end well --------------------------------------------------

def test_a_holder_without_leader_election(w):
    """The holder holds again as often as it may, and in the end no mark is
    left."""
    w.patches_max = 40  # they undo each other's work for as long as it takes
    lease(w)
    names = w.machines(3)
    w.start()
    w.busy()
    w.wait_held(names)
    time.sleep(3)       # its marks are older than the start
    text = uninstall(w, code=1)
    assert "something still holds: Node" in text, text
    assert "after the start\n" in text and "stop every holder" in text
    assert "none is left" not in text
    assert "the last list showed 0 nodes and 0 nodeclaims" in text
    assert w.free(names)


def mark_late(w, name, text, annotations):
    """Sets a mark after all was cleared and before two lists have shown none.
    """
    when_one_list_has_shown_none(w, lambda: w.api.patch_meta(
        "nodes", name, annotations=annotations()))
    got = uninstall(w, code=1 if text else 0)
    assert (text or "none is left") in got, got
    assert w.changed(name) and w.free(name)


def test_a_mark_that_is_made_meanwhile(w):
    lease(w)
    a, b = held(w, 2)
    mark_late(w, b, f"something still holds: Node {b} was marked at",
              lambda: w.ours(0))


def test_a_mark_that_is_copied_meanwhile(w):
    """Karpenter's copy at registration has the old time, so it is not by a
    holder."""
    lease(w)
    old = w.ours(1)     # by a holder that was stopped just now
    w.claim("c", annotations=old, node="n")
    w.node("n")
    mark_late(w, "n", None, lambda: old)


@pytest.mark.parametrize("resource", ["nodes", "nodeclaims"])
def test_a_policy_that_marks_what_is_new(w, resource):
    lease(w)
    held(w, 1)
    run = amid(w, lambda: w.api.create(
        resource, "new", created=w.api.stamp(2),
        annotations={HOLD: "true", MARK: "created"}))
    kind = "Node" if resource == "nodes" else "NodeClaim"
    assert f"something still holds: {kind} new was created with a mark at" \
        in run.ends(1)
    assert w.free("new", resource)


def test_a_webhook_that_was_removed_just_now(w):
    """Some API server may still call it for a moment."""
    lease(w)
    held(w, 1)
    just_now = w.ours(0)
    amid(w, lambda: w.node("new", age=0, annotations=just_now)).ends()
    assert w.free("new")


def test_a_word_that_is_copied_to_a_new_node(w):
    """The claim of the new Node is older than the start."""
    lease(w)
    word = {HOLD: "true", MARK: "created"}
    claim = w.claim("c", annotations=word, node="c")
    held(w, 1)
    amid(w, lambda: w.api.create(
        "nodes", "c", created=w.api.stamp(2), annotations=word,
        labels={"karpenter.sh/registered": "true"},
        owners=[w.api.owner(claim)])).ends()
    assert w.free("c")


def test_a_class_that_was_copied_to_a_node(w):
    """Either annotation of a class is removed, also from a Node."""
    lease(w)
    both = {CLASS: "drifted", CLASS_UID: "some-uid", "kept": "x"}
    claim = w.claim("c", annotations=both, node="c")
    w.node("c", claim=claim, annotations={**w.ours(), **both})
    w.claim("of-before", annotations={CLASS: "drifted", "kept": "x"})
    w.claim("half", annotations={CLASS_UID: "some-uid", "kept": "x"})
    assert "4 replacement annotations removed" in uninstall(w)
    assert w.annotations("c") == {"kept": "x"}
    for name in ("c", "of-before", "half"):
        assert w.annotations(name, "nodeclaims") == {"kept": "x"}


def test_a_class_whose_claim_was_made_anew(w):
    """The claim with this name is not the one that was listed."""
    lease(w)
    w.claim("c", annotations={CLASS: "drifted"})
    slow = w.api.fault("nodeclaims", "patch", "wait")
    run = Uninstall(w)
    w.wait(lambda: w.patches("c", "nodeclaims"), "a patch")
    w.api.delete("nodeclaims", "c")
    w.claim("c", annotations={"mine": "x"})
    w.api.clear(slow)
    run.ends()
    assert w.annotations("c", "nodeclaims") == {"mine": "x"}


def test_a_page_that_is_too_large(w):
    """The list has 40 objects of 256 KiB. Their page is asked for once more,
    with the same token, and taken as it arrives."""
    lease(w)
    for i in range(300):
        w.node(f"n{i:03}", annotations={
            **w.ours(), **({"big": "x" * (250 << 10)}
                           if 255 <= i < 295 else {})})
    uninstall(w)
    assert not marks(w)
    pages = [r for r in w.api.select(verb="list", resource="nodes")
             if r.query["limit"] == "250"]
    first = [r.query.get("continue") for r in pages][:3]
    assert first[0] is None and first[1] == first[2] is not None


def test_rights_that_are_missing(w):
    lease(w)
    held(w, 2)
    for resource, verb, said in (
            (WEBHOOKS, "list", "list " + WEBHOOKS), ("nodes", "list",
                                                     "list nodes"),
            ("nodeclaims", "list", "list nodeclaims"),
            ("nodes", "patch", "patch node/m00")):
        fault = w.api.fault(resource, verb, "403")
        text = uninstall(w, code=1)
        assert said in text and "is forbidden" in text, text
        assert "trying again" not in text, "of no use"
        w.api.clear(fault)
    assert len(marks(w)) == 2
    assert "2 nodes and 0 nodeclaims with a mark\n    node/m000\n" in text


def test_some_are_refused_and_the_others_are_cleared(w):
    lease(w)
    names = held(w, 20)
    w.api.fault("nodes", "patch", "403", name=names[7])
    text = uninstall(w, code=1)
    assert marks(w) == [names[7]]
    assert f"    node/{names[7]}\n" in text


def test_an_api_server_that_never_answers(w):
    lease(w)
    held(w, 1)
    w.api.fault("nodes", "list", "hang")
    begin = time.monotonic()
    text = uninstall(w, code=1, timeout="2s")
    assert time.monotonic() - begin < 30
    assert "the time is over" in text
    assert "no list was made" in text and "last list" not in text


def test_a_list_that_breaks_off(w):
    """What is reported comes from the last complete list."""
    lease(w)
    held(w, 4)

    def and_hang(answer):
        w.api.fault("nodes", "list", "hang")
        return answer
    # A busy machine may need more time for the first one.
    for seconds in 4, 16, 64:
        w.api.clear()
        w.api.fault("nodes", "list", "edit", times=1, edit=and_hang)
        text = uninstall(w, code=1, timeout=f"{seconds}s")
        if "no list was made" not in text:
            break
    assert "the last list showed 4 nodes and 0 nodeclaims" in text, text


def test_a_marked_object_that_cannot_be_read(w):
    lease(w)
    w.node("fine", annotations=w.ours())
    w.node("odd", annotations=w.ours())

    def odd(answer):
        for item in answer.get("items", []):
            if item["metadata"]["name"] == "odd":
                item["metadata"]["uid"] = "x" * 99
        return answer
    w.api.fault("nodes", "list", "edit", edit=odd)
    text = uninstall(w, code=1)
    assert "what is left cannot be read" in text
    assert marks(w) == ["odd"]


def test_an_object_that_is_too_large(w):
    """It may have a mark, so it is left, and the others are cleared."""
    lease(w)
    w.node("fine", annotations=w.ours())
    w.claim("large", annotations=w.ours())
    w.api.change("nodeclaims", "large", {"spec": {"text": "x" * (9 << 20)}})
    text = uninstall(w, code=1)
    assert "what is left cannot be read" in text
    assert "nodeclaim/one of 94" in text and "bytes, too large" in text
    assert marks(w) == ["large"]
    w.api.change("nodeclaims", "large", {"spec": {"text": None}})
    uninstall(w)
    assert not marks(w)


def test_ended_by_a_signal(w):
    lease(w)
    held(w, 60)
    w.api.fault("nodes", "patch", "delay", seconds=0.1)
    run = Uninstall(w, patch_concurrency=1)
    wait(lambda: "released" in run.text(), "begun")
    run.process.send_signal(signal.SIGTERM)
    assert "ended by SIGTERM" in run.ends(1)
    assert marks(w)
    assert w.api.get("leases", LEASE)["spec"]["holderIdentity"] == ""


class Stalled(Uninstall):
    """Nobody reads its stdout, until read()."""

    def __init__(self, w, *flags, **options):
        self.ours, theirs, self.is_full = stalled_pipe()
        super().__init__(w, *flags, stdout=theirs, **options)
        self.theirs = theirs

    def read(self):
        """Reads all in a thread of its own; returns a function that waits for
        the text."""
        os.close(self.theirs)
        text = []

        def run():
            with open(self.ours) as f:
                text.append(f.read())
        thread = threading.Thread(target=run)
        thread.start()
        return lambda: thread.join() or text[0]


def holder_of(w):
    return w.api.get("leases", LEASE)["spec"]["holderIdentity"]


def test_a_reader_that_takes_nothing(w):
    """All is cleared, and the Lease given up, before the first line is read."""
    lease(w)
    names = held(w, 300)
    run = Stalled(w)
    wait(lambda: run.is_full(), "the pipe is full")
    w.wait_free(names)
    wait(lambda: "given up" in run.text(), "the Lease is given up")
    assert holder_of(w) == "" and run.process.poll() is None
    text = run.read()
    run.ends()
    lines = text().splitlines()
    assert sorted(lines[:-2]) == [f"node/{name} released" for name in names]
    assert lines[-2].startswith("released 300 nodes and 0 nodeclaims")
    assert lines[-1] == "none is left"


def long_names(w, n=1600):
    """What is said of so many is more than what may wait."""
    return [w.node(f"{i:04}" + "x" * 240, annotations=w.ours()) for i in
            range(n)]


def renewals(w):
    return len([r for r in w.api.select(resource="leases")
                if r.verb == "patch" and r.status == 200])


def stalls(w):
    """It clears no more, and keeps the Lease."""
    run = Stalled(w)
    wait(lambda: run.is_full() and len(w.clears()) > 1000, "1000 are cleared")
    for _ in range(2):
        before, cleared = renewals(w), len(w.clears())
        wait(lambda n=before: renewals(w) > n + 10, "the Lease is renewed")
    assert len(w.clears()) == cleared
    assert 0 < len(marks(w)) < 600 and holder_of(w).endswith("_uninstall")
    assert run.process.poll() is None
    return run


def test_too_much_waits_for_the_reader(w):
    lease(w)
    long_names(w)
    run = stalls(w)
    text = run.read()
    run.ends()
    assert not marks(w) and holder_of(w) == ""
    assert text().count(" released\n") == 1600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_by_a_signal_while_nobody_reads(w, number):
    lease(w)
    long_names(w)
    run = stalls(w)
    run.process.send_signal(number)
    text = run.ends(1)
    assert "lost" not in text and "given up" in text
    assert f"ended by {number.name}" in text
    assert "stdout: nobody reads it" in text
    assert marks(w) and holder_of(w) == ""


def test_ended_while_nobody_reads_either_output(w):
    """uninstall 2>&1 | less, and a leader that never goes."""
    lease(w, "other_1", leaseDurationSeconds=3600)
    ours, theirs, is_full = stalled_pipe()
    os.write(theirs, b"x" * 4096)
    assert is_full()
    run = Uninstall(w, stdout=theirs, stderr=theirs)
    wait(lambda: w.api.count(resource="leases") > 1, "it waits")
    run.process.send_signal(signal.SIGTERM)
    run.ends(1)
    os.close(ours)
    os.close(theirs)


def test_a_name_that_a_terminal_would_obey(w):
    lease(w, "a\x1b[31mb\x9bc\u202ed\ne", leaseDurationSeconds=3600)
    held(w, 1)
    run = Uninstall(w)
    wait(lambda: "stop it" in run.text(), "waiting")
    run.process.send_signal(signal.SIGTERM)
    assert "stop it: a?[31mb?c?d?e\n" in run.ends(1)


def test_every_write_says_who_wrote(w):
    lease(w)
    held(w, 3)
    uninstall(w)
    assert len([r for r in w.api.select(verb="patch") if is_clear(r)]) == 3
    assert all(r.query["fieldManager"] == "karpenter-node-holder"
               for r in w.clears())


# --- a credential plugin --------------------------------------------------------

HANGS = """#!/bin/sh
cd "${0%/*}"
[ -e ran ] && { sleep 600 & echo $! $$ > pids.new; mv pids.new pids; wait; }
: > ran
echo '{"kind":"ExecCredential","apiVersion":
"client.authentication.k8s.io/v1","status":{"token":"planted-token",
"expirationTimestamp":"'$(date -u +%Y-%m-%dT%H:%M:%SZ)'"}}'
"""


def test_a_credential_plugin_that_hangs(w):
    """SIGTERM does not wait for it, and leaves neither it nor its child."""
    lease(w, "other", leaseDurationSeconds=3600)
    plugin = w.dir / "plugin"
    plugin.write_text(HANGS)
    plugin.chmod(0o700)
    run = Uninstall(w, user={"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin), "interactiveMode": "Never"}})
    w.wait((w.dir / "pids").exists, "it is run again, and hangs")
    pids = (w.dir / "pids").read_text().split()
    run.process.terminate()
    assert run.process.wait(PATIENCE) in (1, -signal.SIGTERM)
    text = run.text()
    assert "did not end within" not in text and "planted-token" not in text
    w.wait(lambda: not any(alive(pid) for pid in pids), "all are gone")
