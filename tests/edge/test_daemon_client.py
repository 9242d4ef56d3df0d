# SPDX-License-Identifier: Apache-2.0
"""What an API server, or what stands in its place, may answer: nothing is
cleared on half a view, admission goes on, it is not asked without pause, the
log says which resource and why, and all is well when it is over."""
import email.utils
import functools
import gzip
import json
import os
import pty
import select
import signal
import ssl
import subprocess
import time

import pytest

from conftest import MARK, PATIENCE, WATCHED, Signer, sanitized
from scripted_api import ScriptedApi
from test_commands import refused, run  # noqa: F401  (a fixture)

BOTH = pytest.mark.parametrize("resource", ["nodes", "nodeclaims"])
MB = 1 << 20


def due(w, n=3):
    """Marked, and settled for long: a whole view clears them."""
    return w.machines(n, annotations=w.ours())


def answers(holder):
    """The webhook does, whatever becomes of the API client."""
    status, answer, _ = holder.review()
    return status == 200 and "patch" in answer["response"]


def check_pauses(requests, n=2):
    """At least n of them, and each after a pause: the first backoff is 0.8 s
    or more."""
    times = [r if isinstance(r, float) else r.time for r in requests]
    assert len(times) >= n
    assert all(b - a > 0.7 for a, b in zip(times, times[1:])), times


def check_memory(holder):
    """Never more than a few times what one item may have."""
    if not sanitized():
        assert holder.memory("VmHWM") < 48 << 10


def says(line, *words):
    """All of these are in its error; of a list of words, one."""
    return all(any(w in line["err"] for w in
                   (word if isinstance(word, list) else [word]))
               for word in words)


def wait_said(w, holder, msg, *words, **fields):
    """At whatever level: where the machine is slow, it may have been a
    deadline the first time, and repeats are for those who debug."""
    w.wait(lambda: [e for e in holder.lines(msg, **fields)
                    if says(e, *words)], f"{msg}: {words}")


def broken(w, holder, resource):
    """How many lists there were, and which watches failed; not those that a
    slow machine made silent."""
    return len(w.lists(resource)), [
        e for e in holder.lines("watch failed", resource=resource)
        if "silent" not in e["err"]]


def lines_of(holder, msg, resource):
    """Trouble is said once, and after that for those who debug."""
    return [e for e in holder.lines(msg, resource=resource)
            if e["level"] != "debug"]


# --- answers to a list -----------------------------------------------------

def html(status, **headers):
    return "answer", {"status": status, "body": b"<html>no</html>\n",
                      "headers": {"Content-Type": "text/html", **headers}}


def ok(body, **headers):
    return "answer", {"status": 200, "body": body, "headers": headers}


def edit(change):
    return "edit", {"edit": change}


def meta(**changes):
    return edit(lambda v: {**v, "metadata": {**v["metadata"], **changes}})


def other(**members):
    return edit(lambda v: {**v, **members})


def gzipped(value):
    return gzip.compress(json.dumps(value).encode())


SLOW = "no whole answer within "
# Where the machine is slow, its deadline may come first.
GREAT = ["an item of more than 8388608 bytes", SLOW]
WHOLE = b'"metadata":{"resourceVersion":"7"}}'
# what it is: the fault, and words of the log line
LISTS = {
    "never an answer": (("hang", {}), SLOW),
    "502": (html(502), "HTTP 502"),
    "503": (html(503), "HTTP 503"),
    "503 and when": (html(503, **{"Retry-After": 1}), "HTTP 503"),
    "404 of a proxy": (html(404), "HTTP 404"),
    "nothing": (ok(b""), "ended in a list"),
    "HTML": (ok(b"<html>welcome</html>", **{"Content-Type": "text/html"}),
             "not JSON"),
    "gzip": (edit(gzipped), ""),    # not JSON, or no end of it
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
    "a great item": (edit(lambda v: b'{"items":[{"a":"' + b"x" * 10 * MB
                          + b'"}],' + WHOLE),
                     GREAT),
    "spaces for ever": (("endless", {"body": b'{"items":[',
                                     "seconds": 0.02}),
                        SLOW),
    "an item for ever": (("endless", {"body": b'{"items":[{"a":"',
                                      "fill": b"x" * 65536}), GREAT),
    "items: object": (other(items={"a": {}}), "items"),
    "items: string": (other(items="[]"), "items"),
    "no items": (edit(lambda v: {"metadata": v["metadata"]}), "items"),
    "another kind": (ok(b'{"kind":"Status",' + WHOLE), "items"),
}


def wait_refused(w, holder, resource, *words):
    """The list was not taken for one."""
    first = w.wait(lambda: holder.lines(resource=resource), "a word")[0]
    assert first["msg"] == "list failed", first
    wait_said(w, holder, "list failed", *words, resource=resource)


@pytest.mark.hurry
@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_no_use(w, name):
    (kind, options), words = LISTS[name]
    # Each on one of the two, so that both have their share.
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
    """An empty list, as Go writes it."""
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


# --- items and lines of no use ---------------------------------------------

def without(*path):
    """An object that lacks this."""
    def change(obj):
        at = obj
        for key in path[:-1]:
            at = at[key]
        at.pop(path[-1], None)
        return obj
    return change


def with_meta(**fields):
    return lambda obj: {**obj, "metadata": {**obj["metadata"], **fields}}


# what it is: the object made so, and words of the log line
OBJECTS = {
    "no metadata": (without("metadata"), "metadata is missing"),
    "metadata: null": (lambda o: {**o, "metadata": None},
                       "metadata is missing"),
    "no name": (without("metadata", "name"), "metadata.name is missing"),
    "no uid": (without("metadata", "uid"), "odd: metadata.uid is missing"),
    "no version": (without("metadata", "resourceVersion"),
                   "odd: metadata.resourceVersion is missing"),
    "no creation": (without("metadata", "creationTimestamp"),
                    "odd: metadata.creationTimestamp is no time"),
    "a name of 100 KB": (with_meta(name="n" * 100_000),
                         "metadata.name is over 253 bytes"),
    "a version of 100 KB": (with_meta(resourceVersion="1" * 100_000),
                            "odd: metadata.resourceVersion is over 31"),
    "a name that is a number": (with_meta(name=7), "name is no string"),
    "labels that are none": (with_meta(labels=[]), "labels is no object"),
    "a mark that is none": (with_meta(annotations={MARK: 7}),
                            MARK + " is no string"),
    "null": (lambda o: None, "metadata is missing"),
    "a number": (lambda o: 7, "metadata is missing"),
    "deep": (with_meta(managedFields=functools.reduce(
        lambda v, _: [v], range(100), 0)), "deep"),
}


def odd(change):
    """Made of the one object "odd", in a list or a watch."""
    def is_odd(obj):
        return obj["metadata"].get("name") == "odd"

    def edit(value):
        if "items" in value:
            value["items"] = [change(o) if is_odd(o) else o
                              for o in value["items"]]
        elif is_odd(value["object"]):
            value["object"] = change(value["object"])
        return value
    return edit


@BOTH
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_no_use(w, name, resource):
    """It alone is left out, of a list and of a watch."""
    change, words = OBJECTS[name]
    names = due(w)
    w.machine("odd", annotations=w.ours())
    w.api.fault(resource, "list", "edit", edit=odd(change))
    w.api.fault(resource, "watch", "edit", edit=odd(change))
    holder = w.start()
    before = broken(w, holder, resource)
    wait_said(w, holder, "object left out", words, resource=resource)
    w.wait_free(names)
    w.api.patch_meta(resource, "odd", labels={"a": "b"})
    w.wait(lambda: len(holder.lines("object left out",
                                    resource=resource)) >= 2, "of a watch")
    w.machine("next")
    w.busy()
    w.wait_held(names + ["next"])
    w.quiet()
    w.wait_free(names + ["next"])
    assert answers(holder) and broken(w, holder, resource) == before
    w.api.clear()
    w.api.patch_meta(resource, "odd", labels={"a": "c"})
    w.wait_free("odd")


def event(kind, obj=None):
    """The first real line is followed by this one."""
    def edit(value):
        if value["type"] == "BOOKMARK":
            return value
        more = {"type": kind, "object": value["object"] if obj is None
                else obj}
        return b"".join(json.dumps(v).encode() + b"\n"
                        for v in (value, more))
    return edit


def raw(line):
    return lambda value: json.dumps(value).encode() + b"\n" + line + b"\n"


# what it is: the fault of a line, and words of the log line
LINES = {
    "a type of later": (event("SYNCED"), "no known type"),
    "no type": (event(None), "no known type"),
    "no object": (raw(b'{"type":"MODIFIED"}'), "without an object"),
    "object: null": (raw(b'{"type":"MODIFIED","object":null}'),
                     "without an object"),
    "an error that is none": (raw(b'{"type":"ERROR","object":"no"}'),
                              "without an object"),
    "a bookmark without a version": (event("BOOKMARK", {"metadata": {}}),
                                     "bookmark's resourceVersion is missing"),
    "a bookmark of 100 KB": (event("BOOKMARK", {"metadata": {
        "resourceVersion": "1" * 100_000}}), "bookmark's resourceVersion is"),
    "an empty bookmark": (event("BOOKMARK", {}), "bookmark's resourceVer"),
    "no JSON": (raw(b"<html>"), "not JSON"),
    "half a line": (raw(b'{"type":"MODIFIED","object":{'), "not JSON"),
    "two in a line": (raw(b'{"type":"A"} {"type":"B"}'), "more than one"),
    "no UTF-8": (raw(b'{"type":"\xff"}'), "not JSON"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_no_use(w, name):
    """The watch goes on with the next."""
    change, words = LINES[name]
    resource = ("nodeclaims", "nodes")[list(LINES).index(name) % 2]
    names = w.machines(3)
    holder = w.start()
    before = broken(w, holder, resource)
    w.api.fault(resource, "watch", "edit", edit=change)
    w.busy()
    w.wait_held(names)
    wait_said(w, holder, "object left out", words, resource=resource)
    w.quiet()
    w.wait_free(names)
    assert answers(holder) and broken(w, holder, resource) == before


def test_versions_that_go_backwards(w):
    """A line's version is where the next watch begins, and no more."""
    names = w.machines(3)
    holder = w.start()
    first = w.api.get("nodes", names[0])["metadata"]["resourceVersion"]

    sent = []

    def back(value):
        value["object"]["metadata"]["resourceVersion"] = first
        sent.append(value)
        return value
    w.api.fault("nodes", "watch", "edit", edit=back)
    w.busy()
    w.wait_held(names)
    w.wait(lambda: sent, "a line or a bookmark, before the end")
    w.api.drop_watches("nodes")
    w.wait(lambda: w.watches("nodes") == 2)
    w.api.clear()
    again = w.api.select(verb="watch", resource="nodes")[1]
    assert again.query["resourceVersion"] == first
    w.quiet()
    w.wait_free(names)
    assert answers(holder) and len(w.lists("nodes")) == 1


# --- watches of no use -----------------------------------------------------

def status(code, **more):
    return {"kind": "Status", "status": "Failure", "message": "so it is",
            "code": code, **more}


def error(obj):
    """A watch whose first line, bookmarks too, is an ERROR."""
    return edit(lambda _: {"type": "ERROR", "object": obj})


# what it is: the fault, and words of the log line
WATCHES = {
    "502": (html(502), "HTTP 502"),
    "503 and when": (html(503, **{"Retry-After": 1}), "HTTP 503"),
    "404 of a proxy": (html(404), "HTTP 404"),
    "nothing": (("answer", {}), "ended at once"),
    "a line for ever": (("endless", {"fill": b"x" * 65536}),
                        "an item of more than 8388608 bytes"),
    "error 500": (error(status(500)), "ended by the API server with 500"),
    "error 0": (error(status(0)), "ended by the API server with 0"),
    "error of a kind": (error(status("410")),
                        "ended by the API server with 0"),
    "error of none": (error({}), "ended by the API server with 0"),
    "error of an object": (error({"kind": "Node", "metadata": {}}),
                           "ended by the API server with 0"),
}


RESTARTS = "karpenter_node_holder_watch_restarts_total"


def restarts(holder):
    return sum(v for k, v in holder.metrics().items()
               if k.startswith(RESTARTS))


@pytest.mark.parametrize("name", WATCHES)
def test_a_watch_of_no_use(w, name):
    """It is opened again, with pauses, from where it was."""
    (kind, options), words = WATCHES[name]
    resource = ("nodeclaims", "nodes")[list(WATCHES).index(name) % 2]
    names = w.machines(3)
    holder = w.start(watching=False)
    w.wait(lambda: w.watches("nodes") and w.watches("nodeclaims"))
    w.busy()
    w.wait_held(names)
    lists, watches = len(w.lists(resource)), w.watches(resource)
    before = restarts(holder)
    w.api.fault(resource, "watch", kind, **options)
    if kind != "edit":      # that breaks the one that is open
        w.api.drop_watches(resource)

    def said():
        return [e for e in holder.lines("watch failed", resource=resource)
                if words in e["err"]]
    w.wait(lambda: said() or restarts(holder) > before + 2, "a failure")
    w.machine("unseen")
    w.quiet()
    assert answers(holder)
    check_memory(holder)
    w.api.clear()
    w.wait_free(names + ["unseen", "busy"])
    w.busy("again")
    w.wait_held(names + ["unseen"])
    # What is no use as a watch is listed, the first time at once.
    listed = name == "a line for ever"
    assert len(w.lists(resource)) == lists or listed
    check_pauses(w.api.select(verb="watch",
                              resource=resource)[watches + listed:], 1)
    assert said()


def test_a_watch_that_ends_at_once(w):
    """Trouble is over when one brings a line, not when it is open."""
    w.machines(3)
    holder = w.start()
    w.api.fault("nodes", "watch", "answer")
    w.api.drop_watches("nodes")

    def ended(reason):
        return holder.metrics()[
            f'{RESTARTS}{{resource="nodes",reason="{reason}"}}']
    w.wait(lambda: ended("error") >= 3, "failures")
    said = [lines_of(holder, m, "nodes") for m in ("watch failed", "watching")]
    # On a slow machine an end may come too late to be one at once.
    assert [len(s) for s in said] == [1, 0] or ended("end") > 1
    w.api.clear()
    w.wait(lambda: len(lines_of(holder, "watching", "nodes")) >
           len(said[1]), "it is over")


def test_a_page_of_html_for_a_watch(w):
    """Nothing in it is a line, and it is over at once."""
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.fault("nodes", "watch", "answer", body=b"<html>\nno\n</html>")
    w.api.drop_watches("nodes")
    w.wait(lambda: restarts(holder) >= 3, "a second try")
    wait_said(w, holder, "object left out", "not JSON", resource="nodes")
    w.machine("unseen")
    assert answers(holder)
    w.api.clear()
    w.wait_held("unseen")
    w.quiet()
    w.wait_free(names + ["unseen"])
    # One that took a second to be answered has not ended at once.
    times = [r.time for r in w.api.select(verb="watch",
                                          resource="nodes")][1:]
    assert times[-1] - times[0] > 0.7 * (len(times) - 2) >= 0.7


def great_line(w):
    """A Node of 10 MB, and then of none: only history has it."""
    w.api.patch_meta("nodes", "m000", annotations={"great": "x" * 10 * MB})
    w.api.patch_meta("nodes", "m000", annotations={"great": None})


def test_a_great_line(w):
    """It is refused, with pauses; when its time is forgotten, at the latest,
    all is listed again."""
    names = w.machines(3)
    holder = w.start()
    great_line(w)
    w.wait(lambda: w.watches("nodes") >= 2, "a second try")
    wait_said(w, holder, "watch failed", GREAT[0], resource="nodes")
    check_memory(holder)
    assert answers(holder)
    w.api.compact()
    w.wait(lambda: len(w.lists("nodes")) >= 2, "a new list")
    w.busy()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    check_pauses(w.api.select(verb="watch", resource="nodes")[1:], 1)


def test_a_great_line_is_passed_by(w):
    """By a new list."""
    names = w.machines(3)
    w.start()
    great_line(w)
    w.wait(lambda: len(w.lists("nodes")) == 2 or w.watches("nodes") >= 3)
    assert len(w.lists("nodes")) == 2
    w.busy()
    w.wait_held(names)


@pytest.mark.hurry
@pytest.mark.parametrize("byte", [b"x", b"\n"], ids=["letter", "empty line"])
def test_a_line_that_drips(w, byte):
    """A watch whose line does not end for so long is as good as silent."""
    w.machines(3)
    holder = w.start()
    w.api.fault("nodes", "watch", "endless", times=1, fill=byte, seconds=0.1)
    w.api.drop_watches("nodes")
    w.wait(lambda: w.watches("nodes") == 2)
    looks = [w.api.select(verb="watch", resource="nodes")[1].time]

    def over():
        looks.append(time.monotonic())
        return w.watches("nodes") == 3 or looks[-1] > looks[0] + 12
    w.wait(over)
    if max(b - a for a, b in zip(looks, looks[1:])) > 0.5:
        pytest.skip("too slow today: it may have been silent")
    assert w.watches("nodes") == 3
    wait_said(w, holder, "watch failed", "no whole line", resource="nodes")
    assert holder.metrics()[
        RESTARTS + '{resource="nodes",reason="silent"}'] >= 1
    w.stays(lambda: len([e for e in holder.lines("watch failed")
                         if says(e, "no whole line")]) == 1, 2,
            "the next one brings lines")


def test_http_1_0(w):
    """No chunks, and never a connection that is kept."""
    w.api.fault("*", "*", "http/1.0")
    names = due(w)
    w.api.page_max = 2
    w.start()
    w.wait_free(names)
    w.busy()
    w.wait_held(names)
    w.quiet()
    w.wait_free(names)
    assert len({r.connection for r in w.api.select()}) == len(w.api.select())
    assert len(w.lists("nodes")) == 1


# --- pages -----------------------------------------------------------------

def next_page(request):
    """Of pages without end; each has a token of its own."""
    n = int(request.query.get("continue", 0)) + 1
    return json.dumps({"items": [], "metadata": {
        "resourceVersion": "7", "continue": str(n)}}).encode()


def too_many(holder, msg):
    """It was refused, and not for one page that took too long."""
    return [e for e in holder.lines(msg) if "within" not in e["err"]]


def test_pages_for_ever(w):
    """At some point there are more than a cluster can have."""
    names = due(w)
    w.api.fault("nodes", "list", "answer", body=next_page)
    holder = w.start(watching=False)
    w.wait(lambda: too_many(holder, "list failed") or
           w.api.count(verb="list", resource="nodes") > 1500,
           "a thousand pages", 5 * PATIENCE)
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
           "a thousand pages", 5 * PATIENCE)
    assert too_many(holder, "request failed")
    assert answers(holder) and not w.clears()
    w.api.clear()
    w.wait_free(names)


def test_term_in_fresh_pages(w):
    w.api.fault("nodeclaims", "list", "delay", seconds=0.04)
    _, holder = fresh_pages_for_ever(w, 20)
    assert holder.term() == 0
    # Its own bound comes 40 s later.
    assert w.api.count(verb="list", resource="nodeclaims") < 1000


def test_a_token_of_any_bytes(w):
    """It is the server's, to be given back as it was."""
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

@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(w, code):
    """The token is for nobody else; not for another path either."""
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

@pytest.mark.parametrize("after", [
    "-1", "-1000000000", "1e9", "1.5", "soon", "", "0", "9" * 100,
    "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 99 Foo 2026 99:99:99 GMT"])
def test_retry_after_that_says_nothing(w, after):
    """We choose: neither at once nor never."""
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


@pytest.mark.parametrize("after", [
    "1000000000", "9" * 20, "Fri, 01 Jan 2100 00:00:00 GMT"])
@pytest.mark.parametrize("verb", ["list", "patch"])
def test_retry_after_of_years(w, after, verb):
    """It is obeyed for a while (edge/kube's test knows how long), and keeps
    nothing else from its work."""
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


# --- TLS -------------------------------------------------------------------

def tls(folder, clients=None, newest=ssl.TLSVersion.TLSv1_3):
    """A server with this pair; clients: whose certificates it demands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    context.maximum_version = newest
    if clients:
        context.load_verify_locations(clients.path / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Silent:
    """In the place of TLS: reads, and never says a word."""

    @staticmethod
    def wrap_socket(sock, **_):
        while sock.recv(4096):
            pass
        raise OSError


class Closed:
    """In the place of TLS: closes at once."""

    @staticmethod
    def wrap_socket(sock, **_):
        raise OSError


def over_tls(w):
    """The API server of this world, and the good pair that it has."""
    ca = Signer(w.dir / "ca")
    w.api.tls = tls(ca.leaf(w.dir / "good"))
    w.restart_api()
    return ca, w.api.tls


def replace(file, by):
    fresh = file.with_suffix(".new")
    fresh.write_bytes(by.read_bytes())
    fresh.replace(file)


def check_no_connection(w, names, *words):
    """Of a holder that cannot come through: all of it.  Each watcher pauses,
    and of one connection more than there are watchers two are the same's."""
    holder = w.start(watching=False)
    for resource in WATCHED:
        wait_said(w, holder, "list failed", f"127.0.0.1:{w.api.port}: ",
                  *words, resource=resource)
    n = len(WATCHED)
    w.wait(lambda: len(w.api.accepted) >= 2 * n, "a second try of each")
    for i in range(n):
        check_pauses(w.api.accepted[i::n])
    assert answers(holder) and holder.get("/readyz") == (200, "ok")
    assert not w.clears() and w.held(names)
    return holder


def check_recovered(w, names, holder):
    w.wait_free(names)
    for resource in WATCHED:
        assert len(lines_of(holder, "list failed", resource)) == 1


# what it is: what stands in the place of the good one, words of the log line
SERVERS = {
    "another CA": (lambda w, ca: tls(Signer(w.dir / "other").leaf(
        w.dir / "bad")), "not from the CA we trust"),
    "another name": (lambda w, ca: tls(ca.leaf(
        w.dir / "bad", san="DNS:elsewhere.example")), "for another name"),
    "expired": (lambda w, ca: tls(ca.leaf(w.dir / "bad", end=-60)),
                "has expired"),
    "not yet valid": (lambda w, ca: tls(ca.leaf(w.dir / "bad", start=3600)),
                      "not yet valid"),
    "of a client": (lambda w, ca: tls(ca.leaf(
        w.dir / "bad", use="clientAuth")), "purpose"),
    "no TLS": (lambda w, ca: None, ""),     # an alert, or no word
    "no word": (lambda w, ca: Silent, "timeout"),
    "closed": (lambda w, ca: Closed, "is this an https port"),
}


@pytest.mark.hurry
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_not_to_be_trusted(w, name):
    """No request is sent to it."""
    make, words = SERVERS[name]
    w.token = "secret-token"
    ca, good = over_tls(w)
    w.api.token = w.token
    w.api.write_kubeconfig(w.kubeconfig, cluster={
        "certificate-authority": str(ca.path / "ca.crt")})
    names = due(w)
    w.api.tls = make(w, ca)
    holder = check_no_connection(w, names, words)
    # (A server without TLS may take the first bytes of it for a request.)
    assert not [r for r in w.api.requests if "authorization" in r.headers]
    w.api.tls = good
    check_recovered(w, names, holder)


@pytest.mark.parametrize("kind, words", [
    ("other", "not from the CA we trust"), ("none", "certificate-authority"),
    ("empty", "certificate-authority"), ("garbage", "certificate-authority"),
    ("folder", "certificate-authority")])
def test_a_ca_file_of_no_use(w, kind, words):
    """The right one is taken when it is there."""
    ca, _ = over_tls(w)
    file = w.dir / "ca.crt"
    if kind == "other":
        replace(file, Signer(w.dir / "other").path / "ca.crt")
    elif kind == "folder":
        file.mkdir()
    elif kind != "none":
        file.write_text("" if kind == "empty" else "-----BEGIN x")
    w.api.write_kubeconfig(w.kubeconfig,
                           cluster={"certificate-authority": str(file)})
    names = due(w)
    if kind == "other":
        holder = check_no_connection(w, names, words)
    else:
        holder = w.start(watching=False)
        for resource in WATCHED:
            wait_said(w, holder, "list failed", words, resource=resource)
        assert answers(holder) and not w.api.requests
    if kind == "folder":
        file.rmdir()
    replace(file, ca.path / "ca.crt")
    check_recovered(w, names, holder)


CLIENTS = {
    "expired": lambda w, ca: ca.leaf(w.dir / "own", use="clientAuth",
                                     end=-60),
    "not yet valid": lambda w, ca: ca.leaf(w.dir / "own", use="clientAuth",
                                           start=3600),
    "of another CA": lambda w, ca: Signer(w.dir / "other").leaf(
        w.dir / "own", use="clientAuth"),
    "of a server": lambda w, ca: ca.leaf(w.dir / "own"),
}


@pytest.mark.parametrize("newest, name", [
    pytest.param(v, name, id=f"{v.name}-{name}")
    for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    for name in CLIENTS])
def test_a_client_certificate_that_is_refused(w, name, newest):
    """In the handshake, or (TLS 1.3) after it.  A new one is taken when it
    is in the files."""
    ca, _ = over_tls(w)
    w.api.tls = tls(w.dir / "good", clients=ca, newest=newest)
    own = CLIENTS[name](w, ca)
    w.api.write_kubeconfig(
        w.kubeconfig, cluster={"certificate-authority":
                               str(ca.path / "ca.crt")},
        user={"client-certificate": str(own / "tls.crt"),
              "client-key": str(own / "tls.key")})
    names = due(w)
    holder = check_no_connection(w, names)
    why = w.wait(lambda: [e["err"] for e in holder.lines("list failed")
                          if "timeout" not in e["err"]], "a refusal")
    assert "our client certificate?" in why[0]
    assert not w.api.requests
    fresh = ca.leaf(w.dir / "fresh", use="clientAuth")
    replace(own / "tls.key", fresh / "tls.key")
    replace(own / "tls.crt", fresh / "tls.crt")
    check_recovered(w, names, holder)
    assert "PRIVATE KEY" not in holder.text()


def test_a_client_certificate_expires(w):
    """On open connections: 401, and a new one is taken when it is in the
    files, for watches and for patches."""
    ca, _ = over_tls(w)
    w.api.tls = tls(w.dir / "good", clients=ca)
    own = ca.leaf(w.dir / "own", use="clientAuth")
    w.api.write_kubeconfig(
        w.kubeconfig, cluster={"certificate-authority":
                               str(ca.path / "ca.crt")},
        user={"client-certificate": str(own / "tls.crt"),
              "client-key": str(own / "tls.key")})
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.expire_connections()
    w.machine("new")    # the watches are still open: a patch is refused
    w.wait(lambda: w.api.count(status=401))
    fresh = ca.leaf(w.dir / "fresh", use="clientAuth")
    replace(own / "tls.key", fresh / "tls.key")
    replace(own / "tls.crt", fresh / "tls.crt")
    w.api.expire_connections()
    w.wait_held("new")
    for resource in WATCHED:
        opened = w.api.count(verb="watch", resource=resource, status=200)
        w.api.drop_watches(resource)
        w.wait(lambda r=resource, n=opened: w.api.count(
            verb="watch", resource=r, status=200) > n, "another watch")
    w.quiet()
    w.wait_free(names + ["new"])
    assert answers(holder)


@pytest.mark.parametrize("kind", ["another", "passphrase", "none", "garbage"])
def test_a_client_key_of_no_use(w, kind):
    """On a terminal, too: nobody is asked for a passphrase."""
    ca, _ = over_tls(w)
    w.api.tls = tls(w.dir / "good", clients=ca)
    own = ca.leaf(w.dir / "own", use="clientAuth")
    key = own / "tls.key"
    good = key.read_bytes()
    if kind == "another":
        replace(key, ca.path / "ca.key")
    elif kind == "passphrase":
        key.write_bytes(subprocess.run(
            ["openssl", "pkcs8", "-topk8", "-passout", "pass:open-sesame"],
            input=good, capture_output=True, check=True).stdout)
    elif kind == "none":
        key.unlink()
    else:
        key.write_text("garbage")
    w.api.write_kubeconfig(
        w.kubeconfig, cluster={"certificate-authority":
                               str(ca.path / "ca.crt")},
        user={"client-certificate": str(own / "tls.crt"),
              "client-key": str(key)})
    names = due(w)
    ours, w.terminal = pty.openpty()
    try:
        holder = w.start(watching=False)
        for resource in WATCHED:
            wait_said(w, holder, "list failed", "check client-certificate",
                      "and client-key", resource=resource)
            assert answers(holder) and not w.api.requests
        key.write_bytes(good)
        check_recovered(w, names, holder)
        assert holder.term() == 0
        assert not select.select([ours], [], [], 0)[0]
    finally:
        os.close(ours)
        os.close(w.terminal)
    assert "open-sesame" not in holder.text()


def test_a_server_that_is_no_longer_trusted(w):
    """In the middle of a hold: it lasts until the server is itself again."""
    ca, good = over_tls(w)
    w.api.write_kubeconfig(w.kubeconfig, cluster={
        "certificate-authority": str(ca.path / "ca.crt")})
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.tls = tls(Signer(w.dir / "other").leaf(w.dir / "bad"))
    w.api.cut_connections()
    for resource in WATCHED:
        holder.wait_line("watch failed", resource=resource)
    w.quiet()
    n = len(w.api.accepted)
    w.wait(lambda: len(w.api.accepted) >= n + 2, "another try of both")
    assert answers(holder) and not w.clears() and w.held(names)
    w.api.tls = good
    w.wait_free(names)


# --- credentials and rights ------------------------------------------------

def test_a_token_refused_for_a_while(w):
    """The new one is taken when it is in the file."""
    w.token = "secret-token"
    w.api.token = w.token + "2"
    file = w.dir / "token"
    file.write_text(w.token + "1")
    w.api.write_kubeconfig(w.kubeconfig, token_file=file)
    names = due(w)
    holder = w.start(watching=False)
    for resource in WATCHED:
        wait_said(w, holder, "list failed", "Unauthorized",
                  resource=resource, code=401)
        w.wait(lambda r=resource: len(w.lists(r)) >= 3)
        check_pauses(w.lists(resource), 3)
    assert answers(holder) and not w.clears()
    file.write_text(w.token + "2")
    w.wait_free(names)
    for resource in WATCHED:
        assert len(lines_of(holder, "list failed", resource)) == 1


@pytest.mark.parametrize("content, words", [
    (None, "No such file"), ("", "is empty"), ("a b", "no bearer token"),
    ("a\r\nX: y", "no bearer token"), ("x" * (65 << 10), "over 65536")],
    ids=["none", "empty", "two words", "two lines", "65 KB"])
def test_a_token_file_of_no_use(w, content, words):
    """Nothing is asked without a token, and the log names the file."""
    w.token = w.api.token = "secret-token"
    file = w.dir / "token"
    if content is not None:
        file.write_text(content)
    w.api.write_kubeconfig(w.kubeconfig, token_file=file)
    names = due(w)
    holder = w.start(watching=False)
    for resource in WATCHED:
        wait_said(w, holder, "list failed", str(file), words,
                  resource=resource)
    assert answers(holder) and not w.api.requests
    file.write_text(w.token)
    w.wait_free(names)


@pytest.mark.parametrize("verb, msg", [
    ("list", "list failed"), ("watch", "watch failed"),
    ("get", "request failed"), ("patch", "write refused")])
def test_a_right_that_is_missing(w, verb, msg):
    """On NodeClaims alone.  It says which; all is well when it is given."""
    names = due(w)
    claim = w.claim("gone")
    w.api.delete("nodeclaims", "gone")
    w.node("lone", claim=claim, annotations=w.ours())
    w.busy("a-new", pool="new")
    w.api.fault("nodeclaims", verb, "403")
    holder = w.start(watching=False, scope="nodepool")
    wait_said(w, holder, msg, f'cannot {verb} resource "nodeclaims"')
    w.wait(lambda: w.api.count(verb=verb, resource="nodeclaims") >= 2)
    check_pauses(w.api.select(verb=verb, resource="nodeclaims"))
    assert answers(holder)
    assert w.held("lone") or verb == "patch"
    if verb in ("list", "watch"):
        assert not w.clears() and w.held(names)
    w.api.clear()
    w.wait_free(names + ["lone"])
    w.wait_held("a-new", "nodeclaims")


# --- the API server's clock ------------------------------------------------

def settle(w, names, holder):
    """A hold of three seconds, from now on: neither shorter nor for ever.
    (What is said in whole seconds may have been a second earlier.)"""
    w.stays(lambda: w.held(names) and not w.clears(), 0.5)
    begun = time.monotonic()
    w.ready()
    w.wait_free(names)
    assert w.clears()[0].time - begun > 1.9
    assert answers(holder)


@pytest.mark.parametrize("date", [
    None, "", "soon", "Thu, 99 Foo 2026 99:99:99 GMT",
    "Thu Nov 21 2026", "9" * 1000])
def test_no_date_to_go_by(w, date):
    """Our own clock is used."""
    w.api.fault("*", "*", "head", headers={"Date": date})
    names = w.machines(3)
    holder = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    settle(w, names, holder)
    assert not holder.lines("API server time shifted")


# Absurd, and merely wrong: seconds since 1970, where the server says now.
WRONG = {"1970": lambda now: 0, "2100": lambda now: 4102444800,
         "an hour ago": lambda now: now - 3600,
         "in an hour": lambda now: now + 3600}


def wrong_date(w, resource, verb, when, **options):
    date = email.utils.formatdate(WRONG[when](w.api.now()), usegmt=True)
    w.api.fault(resource, verb, "head", headers={"Date": date}, **options)


@pytest.mark.parametrize("when", WRONG)
@pytest.mark.parametrize("first", ["nodes", "nodeclaims"])
def test_the_first_date_is_wrong(w, when, first):
    """What is held stays so for its time, and no longer."""
    names = due(w)
    w.claim("busy", ready=None, age=60)
    wrong_date(w, first, "list", when, times=1)
    # The other list brings the second Date.
    second = "nodes" if first == "nodeclaims" else "nodeclaims"
    w.api.fault(second, "list", "delay", times=1, seconds=0.2)
    w.api.fault(first, "watch", "delay", times=1, seconds=0.4)
    holder = w.start(hold_duration="3s", startup_timeout="20m")
    w.wait(lambda: w.held("busy", "nodeclaims") or w.clears())
    settle(w, names, holder)


@pytest.mark.parametrize("when", WRONG)
@pytest.mark.parametrize("verb", ["watch", "patch"])
def test_an_early_date_is_wrong(w, when, verb):
    names = due(w)
    w.busy()
    wrong_date(w, "*", verb, when, times=1)
    holder = w.start(hold_duration="3s")
    w.wait_held("busy", "nodeclaims")
    settle(w, names, holder)


@pytest.mark.parametrize("when", WRONG)
def test_a_wrong_date_in_a_hold(w, when):
    names = w.machines(3)
    holder = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    wrong_date(w, "*", "watch", when, times=1)
    w.api.drop_watches("nodes")
    w.wait(lambda: w.watches("nodes") == 2)
    settle(w, names, holder)


@pytest.mark.parametrize("when", WRONG)
def test_half_the_dates_are_wrong(w, when):
    """As of one API server of two."""
    names = due(w)
    w.busy()
    wrong_date(w, "nodes", "*", when)
    w.api.fault("nodeclaims", "list", "delay", times=1, seconds=0.2)
    w.api.fault("nodes", "watch", "delay", times=1, seconds=0.4)
    w.start(hold_duration="3s")
    w.stays(lambda: w.held(names) and not w.clears(), 1)


@pytest.mark.parametrize("years", [-2, 70])
def test_a_clock_of_another_time(w, years):
    """It is wrong, but right about itself: stamps on objects are its own.
    (A Date before 2024 is none: nobody served this API then.)"""
    w.api.clock_offset = years * 365.25 * 86400
    names = w.machines(3)
    holder = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    settle(w, names, holder)
    assert holder.lines("API server time shifted")


# --- kubeconfig ------------------------------------------------------------

HEAD = "apiVersion: v1\nkind: Config\n"
CHOSEN = HEAD + "current-context: c\n"
REST = """users:
- name: u
  user: {}
contexts:
- name: c
  context: {cluster: c, user: u}
"""
NAMED = CHOSEN + """clusters:
- name: c
  cluster:
    server: https://127.0.0.1:1
"""


def user(text):
    return NAMED + REST.replace("{}", text, 1)


def cluster(text):
    return NAMED + f"    {text}\n" + REST


# What test_commands has not: the text, its place, and what was expected.
KUBECONFIGS = {
    "nothing": ("", "1:1", "nothing in it, expected a mapping"),
    "a comment": ("# none\n", "1:1", "expected a mapping"),
    "a word": ("config", "1:1", "expected a kubeconfig"),
    "a list": ("- a\n", "1:1", "expected a kubeconfig"),
    "a tab": ("\tkind: Config\n", "1:1", "expected YAML"),
    "no end": ("kind: [Config\n", "2:1", "expected YAML"),
    "no UTF-8": ("kind: \udcff\n", "1:7", "expected YAML"),
    "a NUL": ('kind: "\\0"\n', "1:7", "a NUL byte, expected text"),
    "a second document": (NAMED + REST + "---\nkind: Config\n", "14:1",
                          "a second document, expected one"),
    "an anchor": ("kind: &a Config\n", "1:7", "an anchor (&), expected"),
    "a tag": ("kind: !!str Config\n", "1:7", "a tag (!), expected"),
    "a key twice": (HEAD + "kind: Config\n", "3:1",
                    '"kind" stands twice, expected it once'),
    "another kind": ("kind: Pod\n", "1:7", "kind: expected Config"),
    "deep": ("[" * 99, "1:65", "nested too deeply"),
    "no context": (HEAD, "1:1", "current-context: missing, expected"),
    "contexts: mapping": (CHOSEN + "contexts: {}\n", "4:11",
                          "contexts: expected a list"),
    "contexts: null": (CHOSEN + "contexts:\n", "3:18",
                       '"c" is not there, expected one'),
    "no name": (CHOSEN + "contexts: [{}]\n", "4:12",
                "an entry without a name, expected one"),
    "no cluster": (CHOSEN + "contexts: [{name: c, context: {}}]\n", "4:31",
                   "cluster: missing, expected a name"),
    "a cluster of none": (CHOSEN + "clusters: []\n" + REST, "10:22",
                          'cluster "c" is not there, expected one'),
    "a user of none": (NAMED + REST.replace("name: u", "name: v"), "13:31",
                       'user "u" is not there, expected one of "v"'),
    "a server with a path of spaces": (
        NAMED.replace("127.0.0.1:1", "127.0.0.1:1/a b") + REST, "7:13",
        "expected a URL such as https://host:6443"),
    "a server with a query": (NAMED.replace(":1\n", ":1/?a\n") + REST,
                              "7:13", "expected a URL"),
    "insecure: yes": (cluster("insecure-skip-tls-verify: yes"), "8:31",
                      "expected true or false"),
    "insecure, with a CA": (
        cluster("{}\n    {}".format("insecure-skip-tls-verify: true",
                                    "certificate-authority: ca.crt")),
        "8:5", "expected one of the two"),
    "a proxy": (cluster("proxy-url: http://127.0.0.1:1"), "8:5",
                "proxy-url is not in this version, expected a server"),
    "a CA that is no PEM": (cluster("certificate-authority-data: YQ=="),
                            "8:33", "no PEM in it, expected base64 of PEM"),
    "a CA that is a mapping": (cluster("certificate-authority: {}"), "8:28",
                               "expected a string"),
    "a certificate alone": (user("{client-certificate: c}"), "10:9",
                            "without client-key, expected both"),
    "a key alone": (user("{client-key: k}"), "10:9",
                    "without client-certificate, expected both"),
    "a key that is no base64": (user("{client-key-data: '*'}"), "10:27",
                                "not base64, expected base64 of PEM"),
    "a token of a number": (user("{token: 7}"), "10:17",
                            "expected a string, put quotes around it"),
    "a token with a space": (user("{token: a b}"), "10:17",
                             "expected printable ASCII without spaces"),
    "a token of lines": (user('{token: "a\\nb"}'), "10:17",
                         "expected a string on one line"),
    "a password": (user("{username: a, password: b}"), "10:10",
                   "username is not in this version, expected a client"),
    "another's name": (user("{token: t, as: root}"), "10:20",
                       "as is not in this version, expected a client"),
    "a plugin of old": (user("{auth-provider: {name: gcp}}"), "10:10",
                        "auth-provider is not in this version, expected"),
}


@pytest.mark.parametrize("name", KUBECONFIGS)
def test_a_kubeconfig_of_no_use(run, tmp_path, name):
    """One line: the file, the place in it, what is wrong with it and what
    was expected; nothing starts."""
    text, place, words = KUBECONFIGS[name]
    (tmp_path / "kube").write_bytes(text.encode("utf-8", "surrogateescape"))
    for command in ("check", "serve"):
        refused(run(command, "--kubeconfig", "kube"), f"kube:{place}: ",
                words)
    refused(run("serve", KUBECONFIG="kube"), f"kube:{place}: ", words)


@pytest.mark.parametrize("make, words", [
    (lambda f: f.mkdir(), "Is a directory"),
    (lambda f: f.symlink_to("none"), "No such file"),
    (lambda f: f.write_text("#" * (1 << 20) + "#"), "over 1048576 bytes")])
def test_a_kubeconfig_that_is_no_file(run, tmp_path, make, words):
    make(tmp_path / "kube")
    for command in ("check", "serve"):
        refused(run(command, "--kubeconfig", "kube"), "kube", words)
