# SPDX-License-Identifier: Apache-2.0
"""Checks of a daemon and of its log, and faults, that
test_daemon_{lists,watches,tls,dates}.py share."""
import pytest

from conftest import sanitized

BOTH = pytest.mark.parametrize("resource", ["nodes", "nodeclaims"])
MB = 1 << 20

# Parts of error messages in the log.
SLOW = "no whole answer within "


def due(w, n=3):
    """Makes n machines that have our mark and settled long ago: a complete
    view clears them."""
    return w.machines(n, annotations=w.ours())


def answers(holder):
    """The webhook answers, whatever becomes of the API client."""
    status, answer, _ = holder.review()
    return status == 200 and "patch" in answer["response"]


def check_pauses(requests, n=2):
    """There are at least n of them, and a pause precedes each: the first
    backoff is 0.8 s or more."""
    times = [r if isinstance(r, float) else r.time for r in requests]
    assert len(times) >= n
    assert all(b - a > 0.7 for a, b in zip(times, times[1:])), times


def check_memory(holder):
    """The process never used more than a few times what one item may take."""
    if not sanitized():
        assert holder.memory("VmHWM") < 48 << 10


def says(line, *words):
    """The error of this line has each of the words; of a list of words it has
    one."""
    return all(any(w in line["err"] for w in
                   (word if isinstance(word, list) else [word]))
               for word in words)


def wait_said(w, holder, msg, *words, **fields):
    """Waits for a line with these words, at whatever level.  On a slow machine
    the first failure may be a deadline instead, and repeated failures are
    logged at level debug."""
    w.wait(lambda: [e for e in holder.lines(msg, **fields)
                    if says(e, *words)], f"{msg}: {words}")


def broken(w, holder, resource):
    """How many lists there were, and which watches failed.  Watches that a
    slow machine made silent do not count."""
    return len(w.lists(resource)), [
        e for e in holder.lines("watch failed", resource=resource)
        if "silent" not in e["err"]]


def lines_of(holder, msg, resource):
    """The lines above level debug: a failure is logged once at its level, and
    its repetitions at level debug."""
    return [e for e in holder.lines(msg, resource=resource)
            if e["level"] != "debug"]


def html(status, **headers):
    return "answer", {"status": status, "body": b"<html>no</html>\n",
                      "headers": {"Content-Type": "text/html", **headers}}


def edit(change):
    return "edit", {"edit": change}
