# SPDX-License-Identifier: Apache-2.0
"""Nothing is cleared on half a view; holding goes on meanwhile."""
import pytest

BOTH = pytest.mark.parametrize("resource", ["nodes", "nodeclaims"])
HANGS = pytest.param("hang", marks=pytest.mark.hurry)


@pytest.mark.hurry
@BOTH
def test_an_incomplete_list(w, resource):
    due = w.machines(10, annotations=w.ours())
    w.busy("a-new", pool="new")
    w.api.fault(resource, "list", "withhold")
    w.start(scope="nodepool", watching=False)
    w.wait_held("a-new", "nodeclaims")
    w.wait(lambda: sum("continue" in r.query for r in w.api.select(
        verb="list", resource=resource)) >= 2, "a second try")
    assert not w.clears() and w.held(due)
    w.api.clear()
    w.wait_free(due)
    assert w.held("a-new", "nodeclaims")


def other_machine(w, dead):
    """A new object that shows in the watch that still works: a claim, or a
    Node without one."""
    if dead == "nodes":
        w.claim("late", "late", ready=None, age=0)
        return "nodeclaims"
    w.node("late", "late", age=0)
    return "nodes"


@pytest.mark.long
@pytest.mark.hurry
@BOTH
@pytest.mark.parametrize("how", ["hang", "403", "500", "silent"])
def test_a_dead_watch(w, resource, how):
    names = w.machines(6)
    w.start(scope="nodepool", hold_duration="5s")
    w.busy()
    w.wait_held(names)
    w.ready()
    due = w.api.now() + 5
    n = w.watches(resource)
    if how == "silent":
        # It is given up because it is silent, and the next one hangs.
        w.api.fault(resource, "watch", "silent")
        w.api.fault(resource, "watch", "hang")
    else:
        w.api.fault(resource, "watch", how)
        w.api.drop_watches(resource)
    w.wait(lambda: w.watches(resource) > n, "another watch")
    if w.api.now() > due - 1:
        pytest.skip("too slow today: the hold may have ended before")
    on = other_machine(w, resource)
    w.wait_held("late", on)
    w.wait(lambda: w.api.now() > due + 2 or w.clears(), "the end of the hold")
    assert not w.clears() and w.held(names)
    w.api.clear()
    w.wait_free(names)


@pytest.mark.hurry
def test_a_watch_that_is_dead_from_the_start(w):
    names = w.machines(4, annotations=w.ours())
    w.api.fault("nodeclaims", "watch", "hang")
    w.start(watching=False)
    w.wait(lambda: w.watches("nodeclaims") >= 2, "a second try")
    assert not w.clears() and w.held(names)
    w.api.clear()
    w.wait_free(names)


# --- the fresh list --------------------------------------------------------

@pytest.mark.long
def test_a_claim_that_the_watch_has_not_shown(w):
    """The watch is open and sends bookmarks but is behind: only a list shows
    the new claim.  In the end the daemon distrusts the watch and lists all
    again."""
    names = w.machines(6)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.hide("nodeclaims", "unseen", verbs=["watch"])
    w.busy("unseen")
    w.quiet()
    line = holder.wait_line("release waits for unseen objects")
    assert (line["kind"], line["unseen"]) == ("NodeClaim", 1)
    w.wait(lambda: len(w.lists("nodeclaims")) == 2, "a new list")
    w.wait_held("unseen", "nodeclaims")
    assert not w.clears() and w.held(names)
    w.api.show("nodeclaims", "unseen")
    w.quiet("unseen")
    w.wait_free(names)
    w.wait_free(["busy", "unseen"], "nodeclaims")


def test_a_claim_that_the_watch_shows_late(w):
    names = w.machines(6)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.hide("nodeclaims", "late", verbs=["watch"])
    w.busy("late")
    w.quiet()
    holder.wait_line("release waits for unseen objects")
    w.api.show("nodeclaims", "late")
    w.wait_held("late", "nodeclaims")
    assert len(w.lists("nodeclaims")) == 1
    assert not w.clears() and w.held(names)


@pytest.mark.parametrize("kind", ["500", HANGS, "cut", "short", "429"])
def test_a_fresh_list_that_fails(w, kind):
    names = w.machines(6)
    w.start()
    w.busy()
    w.wait_held(names)
    n = w.api.count(verb="list", resource="nodeclaims")
    w.api.fault("nodeclaims", "list", kind)
    w.quiet()
    w.wait(lambda: w.api.count(verb="list", resource="nodeclaims") > n + 1,
           "a second try")
    assert not w.clears() and w.held(names)
    w.api.clear()
    w.wait_free(names)


def test_a_fresh_list_in_pages(w):
    w.api.page_max = 2
    names = w.machines(7)
    w.start()
    w.busy()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    pages = [r for r in w.api.select(verb="list", resource="nodeclaims")
             if r.query["limit"] != "500"]
    assert len(pages) >= 4
    assert all("resourceVersion" not in r.query for r in pages)
    assert all("PartialObjectMetadataList" in r.headers["accept"]
               for r in pages)


def fresh_limits(w):
    return [r.query["limit"] for r in w.api.select(
        verb="list", resource="nodeclaims") if r.query["limit"] != "500"]


def test_a_fresh_list_with_a_large_page(w):
    """There are 40 claims of 256 KiB on one page, which is taken as it
    arrives."""
    names = w.machines(3)
    for i in range(40):
        w.claim(f"big{i:02}", annotations={"big": "x" * (250 << 10)})
    w.start()
    w.busy()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    assert set(fresh_limits(w)) == {"2000"}


def test_a_fresh_list_after_one_that_failed(w):
    """It has smaller pages, as one may have been too large for the time that a
    call is given."""
    names = w.machines(3)
    w.start()
    w.busy()
    w.wait_held(names)
    w.api.fault("nodeclaims", "list", "cut", times=1)
    w.quiet()
    w.wait_free(names)
    assert fresh_limits(w)[:2] == ["2000", "250"]


# --- a Node whose claim is not seen ----------------------------------------

def looks(w, name):
    return w.api.select(verb="get", resource="nodeclaims", name=name)


def lone_node(w, claim):
    """A held Node whose claim neither a list nor a watch shows."""
    w.machines(3, annotations=w.ours())
    w.node("lone", claim=claim, annotations=w.ours())


def test_a_node_whose_claim_is_gone(w):
    claim = w.claim("gone")
    w.api.delete("nodeclaims", "gone")
    lone_node(w, claim)
    w.start()
    w.wait_free("lone")
    look, = looks(w, "gone")
    assert look.time < w.patches("lone")[0].time and look.status == 404


def test_a_node_whose_claim_has_a_namesake(w):
    claim = w.claim("name")
    w.api.delete("nodeclaims", "name")
    w.claim("name")
    lone_node(w, claim)
    w.start()
    w.wait_free("lone")
    assert looks(w, "name")[0].time < w.patches("lone")[0].time


def test_a_node_whose_claim_is_there_after_all(w):
    claim = w.claim("there", ready=None)
    w.api.hide("nodeclaims", "there")
    lone_node(w, claim)
    w.start()
    w.wait(lambda: looks(w, "there"), "a look")
    w.stays(lambda: w.held("lone"), 0.7)
    w.api.show("nodeclaims", "there")
    w.stays(lambda: w.held("lone"), 0.3)
    w.quiet("there")
    w.wait_free("lone")


@pytest.mark.parametrize("kind", ["500", HANGS, "429"])
def test_a_node_whose_claim_cannot_be_looked_for(w, kind):
    claim = w.claim("gone")
    w.api.delete("nodeclaims", "gone")
    lone_node(w, claim)
    w.api.fault("nodeclaims", "get", kind)
    w.start()
    w.wait(lambda: len(looks(w, "gone")) > 1, "a second look")
    assert w.held("lone")
    w.api.clear()
    w.wait_free(["lone", "m000"])


def test_an_object_that_cannot_be_read(w):
    """It is left out and this is logged; the list that it is in goes on."""
    names = w.machines(3)
    w.machine("odd")
    w.api.patch_meta("nodes", "odd", creationTimestamp="long ago")
    holder = w.start()
    w.busy()
    w.wait_held(names)
    assert holder.wait_line("object left out", resource="nodes")
    w.quiet()
    w.wait_free(names)
