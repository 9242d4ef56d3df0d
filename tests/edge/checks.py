# SPDX-License-Identifier: Apache-2.0
"""What test_daemon_{lists,watches,tls,dates}.py check of a daemon and of its
log, and the faults that they share."""
import pytest

from conftest import sanitized

BOTH = pytest.mark.parametrize("resource", ["nodes", "nodeclaims"])
MB = 1 << 20

# Words of the log.
SLOW = "no whole answer within "
# Where the machine is slow, its deadline may come first.
GREAT = ["an item of more than 8388608 bytes", SLOW]


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


def html(status, **headers):
    return "answer", {"status": status, "body": b"<html>no</html>\n",
                      "headers": {"Content-Type": "text/html", **headers}}


def edit(change):
    return "edit", {"edit": change}
