# SPDX-License-Identifier: Apache-2.0
"""Everything that an API server does on a bad day; the outcome is right each
time."""
import email.utils
import json
import threading
import time

import pytest

from conftest import HOLD, MARK, WATCHED, is_clear

BOTH = pytest.mark.parametrize("resource", ["nodes", "nodeclaims"])
HANGS = pytest.param("hang-middle", marks=pytest.mark.hurry)


def cycle(w, names, claim="again"):
    """A scale-up and its end; the objects of the whole world follow."""
    w.busy(claim)
    w.wait_held(names)
    w.wait_held(claim, "nodeclaims")
    w.quiet(claim)
    w.wait_free(names)
    w.wait_free(claim, "nodeclaims")


# --- lists -----------------------------------------------------------------

@BOTH
def test_410_on_continue(w, resource):
    w.api.page_max = 3
    names = w.machines(10, annotations=w.ours())
    w.api.fault(resource, "list", "expired", times=1)
    w.start(watching=False)
    w.wait_free(names)
    assert len(w.lists(resource)) == 2  # it began again with the first page
    expired, = [r for r in w.api.select(resource=resource, status=410)]
    whole = [r for r in w.api.select(verb="list", resource=resource)
             if r.time > expired.time and r.query["limit"] == "500"]
    assert len(whole) == 4
    assert w.clears()[0].time > whole[-1].time
    assert all("resourceVersion" not in r.query for r in whole)
    cycle(w, names)


@BOTH
@pytest.mark.parametrize("kind", ["cut", "short", HANGS, "500"])
def test_a_list_that_breaks(w, resource, kind):
    names = w.machines(10, annotations=w.ours())
    w.api.fault(resource, "list", kind, times=2)
    holder = w.start(watching=False)
    w.wait_free(names)
    lists = w.lists(resource)
    # Further lists may fail because of HURRY. Clearing waits for a complete
    # one.
    assert len(lists) == 1 + len(holder.lines("list failed",
                                              resource=resource)) >= 3
    assert w.clears()[0].time > lists[-1].time
    cycle(w, names)


@pytest.mark.hurry
@BOTH
def test_a_list_whose_second_page_never_comes(w, resource):
    """What the first page showed is not in the next list."""
    w.api.page_max = 3
    w.machines(6)
    fault = w.api.fault(resource, "list", "withhold")
    holder = w.start(watching=False)
    w.wait(lambda: any("continue" in r.query for r in w.api.select(
        verb="list", resource=resource)), "a second page")
    w.api.delete("nodes", "m000")
    w.api.delete("nodeclaims", "m000")
    w.api.clear(fault)
    holder.wait_line("list failed", resource=resource)
    w.wait(lambda: holder.get("/status/machines/m005")[0] == 200)
    w.wait(lambda: holder.get("/status/machines/m000")[0] == 404,
           "m000 is gone")


@pytest.mark.parametrize("date", [False, True])
def test_429_of_lists(w, date):
    def later():    # the Date is cut to whole seconds
        return email.utils.formatdate(w.api.now() + 3, usegmt=True)
    after = later if date else 2    # longer than the first backoff
    w.api.fault("nodes", "list", "429", times=1, retry_after=after)
    w.api.fault("nodeclaims", "list", "429", times=1, retry_after=after)
    names = w.machines(3)
    w.start(watching=False)
    for resource in ("nodes", "nodeclaims"):
        w.wait(lambda r=resource: len(w.lists(r)) == 2)
        first, second = w.lists(resource)
        assert second.time - first.time > 1.9
    w.wait(lambda: w.watches("nodeclaims") and w.watches("nodes"))
    cycle(w, names)


# --- watches ---------------------------------------------------------------

def test_429_of_watches(w):
    for resource in WATCHED:
        w.api.fault(resource, "watch", "429", times=1, retry_after=2)
    names = w.machines(3)
    w.start(watching=False)
    for resource in WATCHED:
        w.wait(lambda r=resource: w.watches(r) >= 2)
        first, second = w.api.select(verb="watch", resource=resource)[:2]
        assert second.time - first.time > 1.9
        assert len(w.lists(resource)) == 1
    cycle(w, names)


@BOTH
def test_410_in_the_stream(w, resource):
    names = w.machines(6)
    w.start()
    w.busy()
    w.wait_held(names)
    # No watch can show what happens now: the history is forgotten.
    behind = w.api.fault(resource, "watch", "behind")
    w.machine("new")
    w.api.delete("nodes", "m000")
    w.api.delete("nodeclaims", "m000")
    w.api.compact()
    w.wait(lambda: len(w.lists(resource)) == 2, "a new list")
    w.api.clear(behind)
    w.wait_held("new")
    w.quiet()
    w.wait_free(names[1:] + ["new"])


def test_410_in_the_stream_again_and_again(w):
    """The daemon does not list in a tight loop: client-go waits 0.8 s or more
    before each list."""
    w.machines(3)
    w.api.fault("nodes", "watch", "expired")
    w.start(watching=False)
    w.wait(lambda: len(w.lists("nodes")) >= 3)
    lists = w.lists("nodes")
    assert lists[2].time - lists[0].time > 0.7
    w.api.clear()
    cycle(w, ["m000"])


@BOTH
def test_a_watch_cut_in_a_line(w, resource):
    names = w.machines(6)
    holder = w.start()
    w.api.fault(resource, "watch", "cut", times=1)
    w.busy()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    assert len(w.lists(resource)) == 1      # the watch resumed where it was
    holder.wait_line("watch failed", resource=resource)


@pytest.mark.hurry
@BOTH
def test_a_watch_hung_in_a_line(w, resource):
    names = w.machines(6)
    w.start()
    lists = len(w.lists(resource))
    w.busy()
    w.wait_held(names)
    w.api.fault(resource, "watch", "hang-middle", times=1)
    w.machine("new")
    w.wait_held("new")
    w.quiet()
    w.wait_free(names + ["new"])
    assert len(w.lists(resource)) == lists


def test_every_byte_by_itself(w):
    names = w.machines(3)
    w.api.fault("*", "list", "split")
    w.api.fault("*", "watch", "split")
    w.start()
    cycle(w, names)


@pytest.mark.hurry
@BOTH
def test_a_silent_watch_is_reopened(w, resource):
    names = w.machines(3)
    holder = w.start()
    n, lists = w.watches(resource), len(w.lists(resource))
    w.api.fault(resource, "watch", "silent")
    w.wait(lambda: w.watches(resource) > n, "another watch")
    restarts = ('karpenter_node_holder_watch_restarts_total'
                f'{{resource="{resource}",reason="silent"}}')
    assert holder.metrics()[restarts] >= 1
    holder.wait_line("watch failed", resource=resource)
    # That of Events is silent by nature.
    assert not holder.metrics()[restarts.replace(resource, "events")]
    w.api.clear()
    cycle(w, names)
    assert len(w.lists(resource)) == lists


# --- patches ---------------------------------------------------------------

def test_429_of_patches(w):
    names = w.machines(10)
    w.start(patch_concurrency=1)
    w.api.fault("nodes", "patch", "429", times=1)
    w.busy()
    w.wait_held(names)
    refused, = w.api.select(verb="patch", status=429)
    later = [r for r in w.api.select(verb="patch") if r.time > refused.time]
    assert min(r.time for r in later) - refused.time > 0.9
    w.api.fault("nodes", "patch", "429", times=1)
    w.quiet()
    w.wait_free(names)
    assert all(w.changed(n) == 2 for n in names)


@pytest.mark.hurry
def test_answers_that_are_lost(w):
    """The patch was applied but its answer was lost.  Nothing is done twice,
    and what a person does in between stays."""
    names = w.machines(6)
    w.start()
    w.api.fault("nodes", "patch", "lost-reply", times=4)
    w.api.fault("nodeclaims", "patch", "lost-reply", times=1)
    w.busy()
    w.wait_held(names)
    w.wait_held("busy", "nodeclaims")
    w.wait(lambda: w.api.count(verb="patch", status=0) == 0 or
           all(w.changed(n) == 1 for n in names))
    w.api.patch_meta("nodes", "m000", annotations={"team": "a"})
    lost = w.api.fault("nodes", "patch", "lost-reply")
    w.quiet()
    w.wait_free(names)
    # A person sets a hold where ours has just been removed, and no watch has
    # shown that yet.
    w.api.patch_meta("nodes", "m000", annotations={HOLD: "true"})
    w.stays(lambda: w.annotations("m000") == {HOLD: "true", "team": "a"})
    w.api.clear(lost)
    assert all(w.changed(n) == 2 for n in names)
    assert w.changed("busy", "nodeclaims") == 2
    cycle(w, names[1:])
    assert w.annotations("m000") == {HOLD: "true", "team": "a"}


@pytest.mark.parametrize("kind", ["cut", "short", HANGS])
def test_answers_that_break(w, kind):
    names = w.machines(4)
    w.start()
    w.api.fault("nodes", "patch", kind, times=4)
    cycle(w, names)
    assert all(w.changed(n) == 2 for n in names)


def test_a_storm_of_conflicts(w):
    """Somebody writes the Nodes faster than the watch reports it."""
    w.patches_max = 40
    names = w.machines(4)
    w.start()
    over = threading.Event()

    def storm():
        n = 0
        while not over.is_set():
            n += 1
            for name in names:
                w.api.patch_meta("nodes", name, annotations={"n": str(n)})
            time.sleep(0.001)
    thread = threading.Thread(target=storm, daemon=True)
    w.api.fault("nodes", "patch", "delay", seconds=0.02)
    thread.start()
    try:
        w.busy()
        w.wait(lambda: w.api.count(verb="patch", status=409) >= 8)
    finally:
        over.set()
        thread.join()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    assert all(set(w.annotations(n)) == {"n"} for n in names)


def test_conflicts_of_a_watch_that_is_behind(w):
    """The watch cannot show the version that the patch needs: a GET does."""
    names = w.machines(3)
    w.start()
    w.api.fault("nodes", "watch", "behind")
    for name in names:
        w.api.patch_meta("nodes", name, annotations={"team": "a"})
    w.busy()
    w.wait_held(names)
    for name in names:
        assert w.api.count(verb="get", resource="nodes", name=name) >= 1
        assert w.annotations(name)["team"] == "a"
    w.api.clear()
    w.quiet()
    w.wait_free(names)


@pytest.mark.parametrize("left", [
    {HOLD: "true"}, {HOLD: "false"}, {HOLD: "false", MARK: "same"}],
    ids=["mark-removed", "taken-over", "value-changed"])
def test_somebody_took_over_before_the_clear(w, left):
    """The watch has not shown it.  The patch gets a 422, the daemon reads the
    object, and then leaves it alone."""
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.wait(lambda: holder.metrics()[
        'karpenter_node_holder_held_objects{kind="Node"}'] == 3, "and seen")
    w.api.hide("nodes", "m000", verbs=["watch"])
    mark = w.annotations("m000")[MARK] if MARK in left else None
    w.api.patch_meta("nodes", "m000",
                     annotations={HOLD: left[HOLD], MARK: mark})
    w.quiet()
    w.wait_free(names[1:])
    w.wait(lambda: w.api.select(verb="get", resource="nodes", name="m000"))
    # In the end our mark beside their hold is removed, and nothing else.
    theirs = {HOLD: left[HOLD]}
    w.wait(lambda: w.annotations("m000") == theirs)
    w.stays(lambda: w.annotations("m000") == theirs, 0.5)
    refused, *more = [r for r in w.patches("m000") if is_clear(r)]
    assert refused.status == 422 and len(more) == (MARK in left)


@pytest.mark.hurry
def test_hung_patches_heal(w):
    names = w.machines(12)
    w.start(patch_concurrency=4)
    w.api.fault("nodes", "patch", "hang", times=6)
    w.busy()
    w.wait_held(names)
    # The last answer may still be on its way.
    w.wait(lambda: w.api.count(verb="patch", status=0) == 6)
    for request in w.api.select(verb="patch", status=0):
        # That was the last request on its connection.
        assert w.api.select(connection=request.connection)[-1] is request
    w.api.fault("nodes", "patch", "hang", times=3)
    w.quiet()
    w.wait_free(names)
    assert all(w.changed(n) == 2 for n in names)


@pytest.mark.hurry
def test_a_first_patch_that_hangs(w):
    """The first connection is opened alone.  As it brings no answer, all others
    are opened a little later."""
    names = w.machines(12)
    w.start(patch_concurrency=8)
    w.api.fault("*", "patch", "hang", times=1)
    w.busy()
    w.wait_held(names)
    first, second, *_ = w.api.select(verb="patch")
    assert first.status == 0 and second.time - first.time > 0.1


@pytest.mark.hurry
def test_one_hung_patch_holds_up_nobody(w):
    names = w.machines(40)
    w.start(patch_concurrency=2)
    w.api.fault("nodes", "patch", "hang", name="m007")
    w.busy()
    w.wait_held([n for n in names if n != "m007"])
    assert not w.held("m007")
    w.api.clear()
    w.wait_held("m007")


def test_an_object_that_is_refused(w):
    """One Node answers 403.  It is tried again and again, ever more slowly."""
    names = w.machines(6)
    w.api.fault("nodes", "patch", "403", name="m003")
    w.start()
    w.busy()
    w.wait_held([n for n in names if n != "m003"])
    w.wait(lambda: len(w.patches("m003")) >= 3)
    first, second, third = w.patches("m003")[:3]
    assert second.time - first.time > 0.7
    assert third.time - second.time > 1.5
    w.api.clear()
    w.wait_held("m003")


REFUSALS = {
    "403": (403, "Forbidden", 'nodeclaims.karpenter.sh "m003" is forbidden'),
    "413": (413, "RequestEntityTooLarge", "Request entity too large"),
    "422": (422, "Invalid", 'NodeClaim.karpenter.sh "m003" is invalid: '
            'spec.requirements: Invalid value: "object"'),
    "a webhook": (500, "InternalError", "Internal error occurred: failed "
                  'calling webhook "validation.example.com": failed to call '
                  "webhook: Post: connection refused"),
}


def refuse(w, resource, name, how):
    code, reason, message = REFUSALS[how]
    return w.api.fault(
        resource, "patch", "answer", name=name, status=code,
        headers={"Content-Type": "application/json"},
        body=json.dumps({
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": code, "reason": reason, "message": message}).encode())


@pytest.mark.parametrize("how", REFUSALS)
def test_a_claim_that_is_refused_keeps_no_node(w, how):
    """Once its Node is registered, only the Node's annotation blocks
    Karpenter."""
    names = w.machines(6, annotations=w.ours())
    for name in names:
        w.api.patch_meta("nodeclaims", name, annotations=w.ours())
    refuse(w, "nodeclaims", "m003", how)
    holder = w.start()
    w.wait_free(names)
    w.wait_free([n for n in names if n != "m003"], "nodeclaims")
    assert w.held("m003", "nodeclaims")
    holder.wait_line("write refused", kind="NodeClaim", name="m003",
                     write="release")
    w.wait(lambda: len(w.patches("m003", "nodeclaims")) >= 2)
    w.stays(lambda: len(holder.lines("write refused")) <= 1, 0.5)
    w.api.clear()
    w.wait_free("m003", "nodeclaims")


@pytest.mark.parametrize("how", REFUSALS)
def test_a_hold_that_is_refused_is_told_once(w, how):
    names = w.machines(3)
    refuse(w, "nodes", "m001", how)
    holder = w.start()
    w.busy()
    w.wait_held(["m000", "m002"])
    line = holder.wait_line("write refused", name="m001")
    assert (line["kind"], line["write"]) == ("Node", "hold")
    w.stays(lambda: len(holder.lines("write refused")) == 1, 0.5)
    assert w.free("m001") and len(names) == 3


def test_a_hold_that_is_accepted_and_not_there(w):
    """As if somebody's admission webhook took it out of the patch."""
    names = w.machines(3)
    w.api.fault("nodes", "patch", "edit", name=names[0], edit=lambda v: {
        **v, "metadata": {**v["metadata"], "annotations": {MARK: "x"}}})
    holder = w.start()
    w.busy()
    w.wait_held(names)
    line, = w.wait(lambda: holder.lines("write refused"), "it is told")
    assert line["name"] == names[0] and line["write"] == "hold"
    assert line["err"].startswith("200: the API server accepted the patch, but "
                                  "the hold is not there: another admission")
    w.wait(lambda: holder.lines("held", name=names[1])
           and holder.lines("held", name=names[2]), "the others")
    assert not holder.lines("held", kind="Node", name=names[0])


def test_html(w):
    names = w.machines(6)
    w.api.fault("*", "*", "500", times=4)
    holder = w.start()
    w.api.fault("nodes", "patch", "500", times=6)
    w.busy()
    w.wait_held(names)
    w.api.fault("*", "patch", "500", times=3)
    w.quiet()
    w.wait_free(names)
    holder.wait_line("list failed", code=500)
    holder.wait_line("request failed", code=500)


# --- the whole of it -------------------------------------------------------

@pytest.mark.long
def test_claims_not_served_at_first(w):
    """While claims are not served, each Node of Karpenter's is a machine;
    later only those with claims are."""
    w.api.serve("nodeclaims", False)
    w.node("old")
    w.api.create("nodes", "alien", created=w.api.stamp(-10800))
    holder = w.start(watching=False, hold_duration="8s")
    holder.wait_line("resource is not served")
    w.node("new", age=0)
    w.wait_held(["old", "new"])
    w.wait_free(["old", "new"])
    assert not w.patches("alien")

    w.api.serve("nodeclaims")
    w.wait(lambda: w.watches("nodeclaims"), "claims watched")
    w.machine("real")
    w.wait(lambda: holder.metrics()[
        'karpenter_node_holder_objects{kind="NodeClaim"}'] == 1)
    w.node("claimless", age=0)  # it is held itself, and makes no scope busy
    w.wait_held("claimless")
    w.stays(lambda: w.free(["old", "real"]), 0.5)
    w.busy()
    w.wait_held(["old", "real"][1:])


@pytest.mark.long
def test_claims_not_served_later(w):
    """The last known state stays valid: nothing is released."""
    names = w.machines(4)
    holder = w.start(hold_duration="9s", startup_timeout="4h")
    w.busy()
    w.wait_held(names)
    w.ready()
    w.api.serve("nodeclaims", False)
    holder.wait_line("watch failed", resource="nodeclaims")
    end = w.api.now() + 11
    w.wait(lambda: w.api.now() > end or w.clears())
    assert not w.clears() and w.held(names)
    w.api.serve("nodeclaims")
    w.wait_free(names)


def test_away_at_the_start(w):
    names = w.machines(4, annotations=w.ours())
    w.restart_api(start=False)
    holder = w.start(watching=False)
    for resource in WATCHED:
        holder.wait_line("list failed", resource=resource)
    status, answer, _ = holder.review()
    assert status == 200 and answer["response"]["patch"]
    assert holder.get("/readyz") == (200, "ok")
    w.restart_api(stop=False)
    w.wait_free(names)
    cycle(w, names)


@pytest.mark.parametrize("busy", [False, True])
def test_away_for_a_while(w, busy):
    names = w.machines(6)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.restart_api(start=False)
    for resource in WATCHED:
        holder.wait_line("watch failed", resource=resource)
    assert holder.review()[0] == 200
    w.machine("new")
    if not busy:
        w.quiet()
    w.restart_api(stop=False)
    if busy:
        w.wait_held("new")
        assert not w.clears() and w.held(names)
        w.quiet()
    w.wait_free(names + ["new", "busy"])


# --- credentials -----------------------------------------------------------

def test_a_new_token(w):
    """The file is read again at once when the old token is refused."""
    w.token = "secret-token-"
    w.api.token = w.token + "1"
    file = w.dir / "token"
    file.write_text(w.api.token + "\n")
    w.api.write_kubeconfig(w.kubeconfig, token_file=file)
    names = w.machines(4)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    file.write_text(w.token + "2")
    w.api.token = w.token + "2"
    for resource in ("nodes", "nodeclaims"):
        n = w.watches(resource)
        w.api.drop_watches(resource)
        w.wait(lambda r=resource, n=n: w.watches(r) > n)
    w.quiet()
    w.wait_free(names)
    refused = w.api.select(status=401)
    assert all(r.headers["authorization"] == f"Bearer {w.token}1"
               for r in refused)
    assert not holder.lines("request failed")


def test_401_once(w):
    w.token = w.api.token = "secret-token"
    names = w.machines(4)
    w.api.fault("*", "list", "401", times=2)
    w.start()
    w.api.fault("nodes", "patch", "401", times=1)
    cycle(w, names)
    assert w.api.count(status=401) == 3
    assert all(w.changed(n) == 2 for n in names)
