# SPDX-License-Identifier: Apache-2.0
"""What a hold looks like, and when it has to come and go."""
import calendar
import re
import time

from controlplane import CLAIMS, NODES, until

HOLD = "karpenter.sh/do-not-disrupt"
MARK = "karpenter-node-holder.io/held-since"
HELD_KEY = "karpenter-node-holder.io/held-key"

# Seconds.  The holder takes the API server's clock from the Date header, in
# whole seconds, so it may be a second off either way.  LATE adds what listing
# and clearing take where six API servers share two cores.
EARLY = 1.0
LATE = 10.0
# Seconds until a change has been seen, decided on and patched.
SOON = 20.0


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds(text):
    """Parses RFC 3339 in UTC and whole seconds, and nothing else."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text):
        raise ValueError(f"no stamp: {text!r}")
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def annotations(obj):
    """The annotations of a whole object, or of its metadata."""
    return obj.get("metadata", obj).get("annotations") or {}


def held(obj):
    a = annotations(obj)
    return a.get(HOLD) == "true" and MARK in a


def clear(obj):
    a = annotations(obj)
    return HOLD not in a and MARK not in a


def true_until(moment, check, what, every=0.3):
    """check() is true whenever its answer comes before that moment.  What it
    finds later is no fault: a busy machine may take seconds to look."""
    while time.time() < moment:
        assert check() or time.time() >= moment, what
        time.sleep(every)


def without_hold(obj):
    return {k: v for k, v in annotations(obj).items()
            if k not in (HOLD, MARK)}


def check_held(obj, others=None, since=None):
    """Held by us, now or since then, with exactly these other annotations."""
    a = annotations(obj)
    assert a.get(HOLD) == "true", a
    at = seconds(a[MARK])
    assert abs(at - (since or time.time())) <= LATE, (a[MARK], since)
    assert without_hold(obj) == (others or {})


class View:
    """The metadata of Nodes and NodeClaims as it is now."""

    def __init__(self, plane):
        self.plane = plane

    def all(self, path):
        return self.plane.metadata(path)

    def of(self, targets):
        """targets are (path, name) pairs; returns {target: metadata or None}.
        """
        lists = {path: self.all(path) for path in {p for p, _ in targets}}
        return {(p, n): lists[p].get(n) for p, n in targets}

    def wait_all(self, targets, check, what, timeout=SOON):
        """Waits until check(metadata) is true of every target."""
        missing = []

        def done():
            missing[:] = [name for (_, name), meta in self.of(targets).items()
                          if meta is None or not check(meta)]
            return not missing
        until(done, timeout, lambda: f"{what}: {len(missing)} of "
              f"{len(targets)} are not, such as {missing[:3]}")

    def wait_held(self, targets, timeout=SOON):
        self.wait_all(targets, held, "held", timeout)

    def wait_clear(self, targets, timeout=SOON):
        self.wait_all(targets, clear, "clear", timeout)

    @staticmethod
    def _pause(begin):
        """Sleeps, as looking at thousands of Nodes must not keep the API
        server busy."""
        time.sleep(max(0.1, time.monotonic() - begin))

    def check_released(self, targets, quiet_at, late=LATE, early=EARLY,
                       meanwhile=lambda lists: None):
        """All are held now, none is clear before quiet_at, and all are clear
        soon after.

        meanwhile(view of the targets) is called at every look.  Returns the
        seconds from quiet_at to the first and to the last one seen clear.
        """
        first = None
        now = self.of(targets)
        assert targets and all(m and held(m) for m in now.values()), \
            "not all held to begin with: " + str(
                [n for (_, n), m in now.items() if not m or not held(m)][:3])
        while True:
            begin = time.monotonic()
            seen = self.of(targets)
            at = time.time()
            assert all(seen.values()), "an object is gone"
            meanwhile(seen)
            count = sum(clear(m) for m in seen.values())
            if count and first is None:
                first = at
                assert at >= quiet_at - early, (
                    f"released {quiet_at - at:.1f} s before the quiet time")
            if count == len(targets):
                return first - quiet_at, at - quiet_at
            assert at <= quiet_at + late, (
                f"{len(targets) - count} of {len(targets)} still held "
                f"{at - quiet_at:.1f} s after the quiet time")
            self._pause(begin)

    def check_stays(self, targets, check, what, for_seconds):
        """check(metadata) is true of every target at every look that ends in
        time."""
        end = time.monotonic() + for_seconds
        while (begin := time.monotonic()) < end:
            seen = self.of(targets)
            if time.monotonic() >= end:
                return
            for (_, name), meta in seen.items():
                assert meta is not None and check(meta), (
                    f"{name}: {what}: {annotations(meta or {})}")
            self._pause(begin)


def nodes(machines):
    return [(NODES, m.node) for m in machines]


def claims(machines):
    return [(CLAIMS, m.name) for m in machines]
