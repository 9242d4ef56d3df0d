# SPDX-License-Identifier: Apache-2.0
"""Useless watches, and useless objects and lines in lists and watches.

Only the bad object or line is left out.  A bad watch is opened again, after a
pause, where it was.  Admission goes on meanwhile, and the log names the
resource and the reason."""
import functools
import json
import time

import pytest

from checks import (BOTH, answers, broken, check_memory,
                    check_pauses, due, edit, html, lines_of, says, wait_said)
from conftest import MARK

# --- items and lines of no use ---------------------------------------------

def without(*path):
    """Makes an object lack this."""
    def change(obj):
        at = obj
        for key in path[:-1]:
            at = at[key]
        at.pop(path[-1], None)
        return obj
    return change


def with_meta(**fields):
    return lambda obj: {**obj, "metadata": {**obj["metadata"], **fields}}


# name: (how the object is changed, words of the log line)
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
    """An edit that changes only the object "odd", in a list or a watch."""
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


def unbroken(w, holder, resource, before):
    """No watch has failed since.  A line that was left out may have said that an
    object is gone, so one more list was made, and no second one within a
    minute."""
    lists, failed = broken(w, holder, resource)
    return failed == before[1] and lists - before[0] in (0, 1)


@BOTH
@pytest.mark.values
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_no_use(w, name, resource):
    """It alone is left out, of a list and of a watch.  A NodeClaim may be a
    machine that boots, so it holds the others until it is gone."""
    change, words = OBJECTS[name]
    names = due(w)
    w.machine("odd", annotations=w.ours())
    w.api.fault(resource, "list", "edit", edit=odd(change))
    w.api.fault(resource, "watch", "edit", edit=odd(change))
    holder = w.start()
    before = broken(w, holder, resource)
    wait_said(w, holder, "object left out", words, resource=resource)
    if resource == "nodeclaims":
        w.wait_held(names)
        w.api.delete(resource, "odd")
        w.wait_free(names + ["odd"])
        return
    w.wait_free(names)
    w.api.patch_meta(resource, "odd", labels={"a": "b"})
    w.wait(lambda: len(holder.lines("object left out",
                                    resource=resource)) >= 2, "of a watch")
    w.machine("next")
    w.busy()
    w.wait_held(names + ["next"])
    w.quiet()
    w.wait_free(names + ["next"])
    assert answers(holder) and unbroken(w, holder, resource, before)
    w.api.clear()
    w.api.patch_meta(resource, "odd", labels={"a": "c"})
    w.wait_free("odd")


def event(kind, obj=None):
    """An edit that adds this line after the first real one."""
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


# name: (the fault of a line, words of the log line)
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


@pytest.mark.values
@pytest.mark.parametrize("name", LINES)
def test_a_line_of_no_use(w, name):
    """The watch goes on with the next line."""
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
    assert answers(holder) and unbroken(w, holder, resource, before)


def test_versions_that_go_backwards(w):
    """The version of a line says where the next watch begins, and means
    nothing else."""
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
    """A watch whose first line is an ERROR, even if it was a bookmark."""
    return edit(lambda _: {"type": "ERROR", "object": obj})


# name: (the fault, words of the log line)
WATCHES = {
    "502": (html(502), "HTTP 502"),
    "503 and when": (html(503, **{"Retry-After": 1}), "HTTP 503"),
    "404 of a proxy": (html(404), "HTTP 404"),
    "nothing": (("answer", {}), "ended at once"),
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


@pytest.mark.values
@pytest.mark.parametrize("name", WATCHES)
def test_a_watch_of_no_use(w, name):
    """It is opened again, after a pause, where it was."""
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
    if kind != "edit":      # these break the watch that is open
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
    assert len(w.lists(resource)) == lists
    check_pauses(w.api.select(verb="watch", resource=resource)[watches:], 1)
    assert said()


def test_a_watch_that_ends_at_once(w):
    """The trouble is over when a watch brings a line, not when it is open."""
    w.machines(3)
    holder = w.start()
    w.api.fault("nodes", "watch", "answer")
    w.api.drop_watches("nodes")

    def ended(reason):
        return holder.metrics()[
            f'{RESTARTS}{{resource="nodes",reason="{reason}"}}']
    w.wait(lambda: ended("error") >= 3, "failures")
    failed, over = (len(lines_of(holder, m, "nodes"))
                    for m in ("watch failed", "watching"))
    # On a slow machine an end may come too late to count as immediate.  The
    # trouble is over then, and the next end begins another one.
    assert over <= ended("end")
    assert 1 <= failed <= over + 1
    w.api.clear()
    w.wait(lambda: len(lines_of(holder, "watching", "nodes")) > over,
           "it is over")


def test_a_page_of_html_for_a_watch(w):
    """It has no valid line, and it is over at once."""
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
    # A watch that took a second to be answered has not ended at once.
    times = [r.time for r in w.api.select(verb="watch",
                                          resource="nodes")][1:]
    assert times[-1] - times[0] > 0.7 * (len(times) - 2) >= 0.7


@pytest.mark.hurry
@pytest.mark.parametrize("fill, seconds", [(b"x", 0.1), (b"\n", 0.1),
                                           (b"x" * 65536, 0.01)],
                         ids=["letter", "empty line", "a line for ever"])
def test_a_line_that_drips(w, fill, seconds):
    """A watch whose line does not end for long counts as silent, whether or not
    the line is too large already."""
    w.machines(3)
    holder = w.start()
    w.api.fault("nodes", "watch", "endless", times=1, fill=fill,
                seconds=seconds)
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
    check_memory(holder)
    assert holder.metrics()[
        RESTARTS + '{resource="nodes",reason="silent"}'] >= 1
    w.stays(lambda: len([e for e in holder.lines("watch failed")
                         if says(e, "no whole line")]) == 1, 2,
            "the next one brings lines")


def test_http_1_0(w):
    """There are no chunks, and no connection is ever kept."""
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
