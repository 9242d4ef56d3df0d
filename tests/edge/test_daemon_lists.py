# SPDX-License-Identifier: Apache-2.0
"""Useless answers to a list, from an API server or from what stands in its
place.

Until the answers are good, nothing is cleared on half a view, admission goes
on, a pause precedes each retry, and the log names the resource and the reason.
Afterwards the daemon does its work as before."""
import gzip
import json
import time

import pytest

from checks import (BOTH, SLOW, answers, check_memory,
                    check_pauses, due, edit, html, lines_of, wait_said)
from conftest import PATIENCE, WATCHED
from scripted_api import ScriptedApi

# --- answers to a list -----------------------------------------------------

def ok(body, **headers):
    return "answer", {"status": 200, "body": body, "headers": headers}


def meta(**changes):
    return edit(lambda v: {**v, "metadata": {**v["metadata"], **changes}})


def other(**members):
    return edit(lambda v: {**v, **members})


def gzipped(value):
    return gzip.compress(json.dumps(value).encode())


WHOLE = b'"metadata":{"resourceVersion":"7"}}'
# name: (the fault, words of the log line)
LISTS = {
    "never an answer": (("hang", {}), SLOW),
    "502": (html(502), "HTTP 502"),
    "503": (html(503), "HTTP 503"),
    "503 and when": (html(503, **{"Retry-After": 1}), "HTTP 503"),
    "404 of a proxy": (html(404), "HTTP 404"),
    "nothing": (ok(b""), "ended in a list"),
    "HTML": (ok(b"<html>welcome</html>", **{"Content-Type": "text/html"}),
             "not JSON"),
    "gzip": (edit(gzipped), ""),    # not JSON, or JSON without an end
    "null": (ok(b"null"), "resourceVersion is missing"),
    "empty object": (ok(b"{}"), "resourceVersion is missing"),
    "array": (ok(b"[]"), "resourceVersion is missing"),
    "two": (ok(b'{"items":[],' + WHOLE + b" {}"), "more than one document"),
    "no version": (meta(resourceVersion=""), "resourceVersion is missing"),
    "a number": (meta(resourceVersion=7), "resourceVersion is no string"),
    "long version": (meta(resourceVersion="1" * 100_000),
                     "more than 65536 bytes"),
    "longer version": (meta(resourceVersion="1" * 32),
                       "resourceVersion is over 31 bytes"),
    "long token": (meta(**{"continue": "c" * 5000}),
                   "continue token is over 4095 bytes"),
    "token of a kind": (meta(**{"continue": 7}),
                        "continue token is no string"),
    "a hole": (edit(lambda v: b'{"items":[,],' + WHOLE), "lacks an item"),
    "an end too soon": (edit(lambda v: b'{"items":[{}'), "ended in a list"),
    "spaces for ever": (("endless", {"body": b'{"items":[',
                                     "seconds": 0.02}),
                        SLOW),
    "an item for ever": (("endless", {"body": b'{"items":[{"a":"',
                                      "fill": b"x" * 65536}), SLOW),
    "items: object": (other(items={"a": {}}), "items"),
    "items: string": (other(items="[]"), "items"),
    "no items": (edit(lambda v: {"metadata": v["metadata"]}), "items"),
    "another kind": (ok(b'{"kind":"Status",' + WHOLE), "items"),
}


def wait_refused(w, holder, resource, *words):
    """The daemon did not accept the list."""
    first = w.wait(lambda: holder.lines(resource=resource), "a word")[0]
    assert first["msg"] == "list failed", first
    wait_said(w, holder, "list failed", *words, resource=resource)


@pytest.mark.values
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.hurry)
    if kind in ("hang", "endless") else name
    for name, ((kind, _), _) in LISTS.items()])
def test_a_list_of_no_use(w, name):
    (kind, options), words = LISTS[name]
    # Each row runs on one of the two resources, so that both get their share.
    resource = ("nodeclaims", "nodes")[list(LISTS).index(name) % 2]
    names = due(w)
    w.api.fault(resource, "list", kind, **options)
    holder = w.start(watching=False)
    wait_refused(w, holder, resource, words)
    assert answers(holder) and holder.get("/readyz") == (200, "ok")
    assert not w.clears() and w.held(names)
    check_memory(holder)
    w.api.clear()
    w.wait_free(names)
    check_pauses(w.lists(resource))
    assert len(lines_of(holder, "list failed", resource)) == 1


@BOTH
def test_items_that_are_null(w, resource):
    """Go writes an empty list as null."""
    names = w.machines(3) if resource == "nodeclaims" else []
    w.api.fault(resource, "list", "edit", edit=lambda v: {**v, "items": None})
    holder = w.start()
    assert holder.lines("listed", resource=resource)[0]["items"] == 0
    w.api.clear()
    w.busy()
    w.machine("new")
    w.wait_held("busy", "nodeclaims")
    w.wait_held("new")
    w.quiet()
    w.wait_free(["new"] + names)


# --- pages -----------------------------------------------------------------

def next_page(request):
    """A page of an endless list; each has a token of its own."""
    n = int(request.query.get("continue", 0)) + 1
    return json.dumps({"items": [], "metadata": {
        "resourceVersion": "7", "continue": str(n)}}).encode()


def too_many(holder, msg):
    """The list was refused, and not because one page took too long."""
    return [e for e in holder.lines(msg) if "within" not in e["err"]]


def test_pages_for_ever(w):
    """At some point there are more pages than a cluster can fill."""
    names = due(w)
    w.api.fault("nodes", "list", "answer", body=next_page)
    holder = w.start(watching=False)
    w.wait(lambda: too_many(holder, "list failed") or
           w.api.count(verb="list", resource="nodes") > 1500,
           "a thousand pages", 2 * PATIENCE)
    assert too_many(holder, "list failed")
    assert answers(holder) and not w.clears()
    w.api.clear()
    w.wait_free(names)


def fresh_pages_for_ever(w, n=100):
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.fault("nodeclaims", "list", "answer", body=next_page)
    w.quiet()
    w.wait(lambda: w.api.count(verb="list", resource="nodeclaims") > n)
    return names, holder


def test_fresh_pages_for_ever(w):
    names, holder = fresh_pages_for_ever(w)
    w.wait(lambda: too_many(holder, "request failed") or
           w.api.count(verb="list", resource="nodeclaims") > 1500,
           "a thousand pages", 2 * PATIENCE)
    assert too_many(holder, "request failed")
    assert answers(holder) and not w.clears()
    w.api.clear()
    w.wait_free(names)


def test_term_in_fresh_pages(w):
    w.api.fault("nodeclaims", "list", "delay", seconds=0.04)
    _, holder = fresh_pages_for_ever(w, 20)
    assert holder.term() == 0
    # The bound on the number of pages would come 40 s later.
    assert w.api.count(verb="list", resource="nodeclaims") < 1000


def test_a_token_of_any_bytes(w):
    """The token belongs to the server, which gets it back unchanged."""
    names = due(w)
    token = "a+b/c=&limit=1#%20"

    def first(value):
        value["metadata"]["continue"] = token
        return value
    w.api.fault("nodes", "list", "edit", times=1, edit=first)
    w.start(watching=False)
    w.wait(lambda: w.api.count(verb="list", resource="nodes") >= 2)
    second = w.api.select(verb="list", resource="nodes")[1]
    assert second.query == {"limit": "500", "continue": token}
    w.wait_free(names)


# --- redirects -------------------------------------------------------------

@pytest.mark.values
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(w, code):
    """Nobody else gets the token, and no other path is asked."""
    w.token = w.api.token = "secret-token"
    names = due(w)
    with ScriptedApi() as elsewhere:
        places = [f"{elsewhere.url}/api/v1/nodes", "/elsewhere",
                  f"//127.0.0.1:{elsewhere.port}/elsewhere"]

        def moved(verb, place):
            w.api.fault("*", verb, "answer", status=code,
                        headers={"Location": place})
        moved("list", places[code % 3])
        holder = w.start(watching=False)
        for resource in WATCHED:
            wait_said(w, holder, "list failed", f"HTTP {code}",
                      resource=resource, code=code)
            w.wait(lambda r=resource: len(w.lists(r)) >= 2)
            check_pauses(w.lists(resource))
        assert answers(holder) and not w.clears()
        w.api.clear()
        w.wait_free(names)
        for verb in ("watch", "patch"):
            moved(verb, places[(code + 1) % 3])
        w.busy()
        w.wait(lambda: w.api.count(verb="patch", status=code) >= 3)
        holder.wait_line("request failed", code=code)
        w.api.drop_watches("nodes")
        holder.wait_line("watch failed", resource="nodes", code=code)
        w.api.clear()
        w.wait_held(names)
        assert not elsewhere.accepted
    assert not w.api.select(path="/elsewhere")


# --- not so fast -----------------------------------------------------------

@pytest.mark.values
@pytest.mark.parametrize("after", [
    "-1", "-1000000000", "1e9", "1.5", "soon", "", "0", "9" * 100,
    "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 99 Foo 2026 99:99:99 GMT"])
def test_retry_after_that_says_nothing(w, after):
    """The daemon chooses the pause: neither none nor an endless one."""
    names = due(w)
    w.api.fault("nodes", "list", "429", retry_after=after, times=1)
    holder = w.start(watching=False)
    w.wait_free(names)
    check_pauses(w.lists("nodes"))
    wait_said(w, holder, "list failed", "Too many requests",
              resource="nodes", code=429)
    w.api.fault("nodes", "patch", "429", retry_after=after, times=1)
    w.busy()
    w.wait_held(names)
    assert answers(holder)


@pytest.mark.values
@pytest.mark.parametrize("after", [
    "1000000000", "9" * 20, "Fri, 01 Jan 2100 00:00:00 GMT"])
@pytest.mark.parametrize("verb", ["list", "patch"])
def test_retry_after_of_years(w, after, verb):
    """The daemon obeys for a while (the test of edge/kube knows how long), and
    goes on with all other work."""
    names = due(w)
    w.api.fault("nodes", verb, "429", retry_after=after, times=1)
    holder = w.start(watching=False, patch_concurrency=1)
    w.wait(lambda: w.api.count(verb=verb, resource="nodes", status=429))
    w.wait(lambda: w.watches("nodeclaims"))
    n = len(w.api.select(verb=verb, resource="nodes"))
    later = time.monotonic() + 2.5      # the first backoff is 1.6 s at most
    w.wait(lambda: time.monotonic() > later)
    assert len(w.api.select(verb=verb, resource="nodes")) == n
    if verb == "list":
        assert not w.clears() and w.held(names)
    assert answers(holder) and holder.get("/livez") == (200, "ok")
