# SPDX-License-Identifier: Apache-2.0
"""What became of every object, and whether each write of a holder was right,
for test_network.py.

History has every version of every Node and NodeClaim, by watches of its own
that no fault touches.  Witness compares it with what the proxy saw
(lib/faulty.py).  resourceVersions order all objects together, so the world in
which a list was made is known exactly.
"""
import bisect
import collections
import copy
import http.client
import json
import threading
import time

from controlplane import CLAIMS, NODES, ApiError
from hold import HOLD, MARK, annotations, seconds
from judge import Sample, machines

CLASS = "karpenter-node-holder.io/replacement"
OURS = (HOLD, MARK)
PATHS = {"nodes": NODES, "nodeclaims": CLAIMS}

# Seconds.  The holder's clock is the Date header's, in whole seconds.
EARLY = 1.5
# A request is on its way, and the proxy has to wait for a processor.
ON_THE_WAY = 2.0
# A leader without a fault has seen by now what was written before.
SEEN = 5.0
LATE_S = 60     # all tries of a call are over by then
CALL_S = 9.5    # a little less than the deadline of a call
# A mark is the time at which it was decided on; it may be on its way for so
# long.
MARK_S = 16


class History:
    def __init__(self, plane, paths=tuple(PATHS.values())):
        self.plane = plane
        # (path, name) -> [(resourceVersion, when it came, object or None)]
        self.of = collections.defaultdict(list)
        self.failed = []
        self.over = False
        self.count = 0
        self._lock = threading.Lock()
        for path in paths:
            answer = plane.get(path)
            for obj in answer["items"]:
                self._add(path, obj, obj)
            threading.Thread(target=self._run, daemon=True, args=(
                path, answer["metadata"]["resourceVersion"])).start()

    def _add(self, path, obj, kept, at=0.0):
        meta = obj["metadata"]
        with self._lock:
            self.count += 1
            self.of[path, meta["name"]].append(
                (int(meta["resourceVersion"]), at, kept))

    def _run(self, path, version):
        while not self.over:
            try:
                for event in self.plane.watch(path, version, 3600):
                    if event["type"] == "ERROR":
                        self.failed.append(event["object"])
                        return
                    obj = event["object"]
                    version = obj["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._add(path, obj, None if event["type"] ==
                                  "DELETED" else obj, time.time())
            except (OSError, http.client.HTTPException, ApiError) as e:
                if not self.over:
                    self.failed.append(repr(e))
                return

    def targets(self):
        with self._lock:
            return list(self.of)

    def versions(self):
        """All that has come: as self.of, and does not change."""
        with self._lock:
            return {target: list(them) for target, them in self.of.items()}

    def before(self, target, version):
        """Returns this version of it and the one before, as (when it came,
        object), or None."""
        with self._lock:
            them = self.of.get(target, [])
            i = bisect.bisect_left(them, version, key=lambda v: v[0])
            if i == 0 or i == len(them) or them[i][0] != version:
                return None
            return them[i][1:], them[i - 1][1:]

    def known(self, target, version):
        with self._lock:
            return any(v == version for v, _, _ in self.of.get(target, []))

    def mark(self, target, at):
        """The last mark that it had before that time, in seconds."""
        with self._lock:
            return max([seconds(annotations(o)[MARK]) for _, came, o in
                        self.of.get(target, []) if came <= at and o
                        and MARK in annotations(o)], default=at)

    def world(self, version=None, came=None):
        """The Sample of a list at this version, or of all that had come by
        then."""
        found = {NODES: {}, CLAIMS: {}}
        with self._lock:
            for (path, name), them in self.of.items():
                last = [o for v, at, o in them
                        if (v <= version if version else at <= came)][-1:]
                if last and last[0]:
                    found[path][name] = last[0]
        return Sample(0, 0, {n: o["metadata"] for n, o in
                             found[NODES].items()}, found[CLAIMS])


def what_it_does(call):
    """Returns "hold", "clear", "unmark" or "class" for a holder's patch."""
    body = json.loads(call.body)
    if isinstance(body, list):
        gone = [op["path"].rpartition("/")[2].replace("~1", "/")
                for op in body if op["op"] == "remove"]
        return "clear" if HOLD in gone else "unmark"
    values = body["metadata"].get("annotations", {})
    if HOLD in values:
        return "hold" if values[HOLD] else "clear"
    return "unmark" if MARK in values else "class"


def bare(obj):
    """All of it but what a holder may write, and what the API server does."""
    rest = copy.deepcopy(obj)
    for key in ("kind", "apiVersion"):
        rest.pop(key, None)     # which the items of a list do not have
    meta = rest["metadata"]
    for key in ("managedFields", "resourceVersion", "generation"):
        meta.pop(key, None)
    meta["annotations"] = {k: v for k, v in annotations(obj).items()
                           if k not in OURS}
    return rest


class Witness:
    def __init__(self, history, faulty, hold_s, startup_s, lease_s):
        self.history, self.faulty = history, faulty
        self.times = hold_s, startup_s
        self.lease_s = lease_s
        self.swayed = set()         # names of machines that others changed
        self.calm = []              # (from, until) without any fault
        self.faults = []
        self.counts = collections.Counter()
        self._worlds = {}           # when -> its machines
        self._begin = 0             # of the calls that came since
        self._open = []             # [call, how many tries were judged]

    def blame(self, text):
        self.faults.append(text)
        print("VIOLATION", text, flush=True)

    def world(self, **when):
        """The machines in that world of the history."""
        key = tuple(when.items())
        if key not in self._worlds:
            self._worlds[key] = machines(self.history.world(**when),
                                         *self.times)
        return self._worlds[key]

    def listed(self, call):
        """The machines in the world of this list."""
        return self.world(version=int(
            call.tries[0].answer["metadata"]["resourceVersion"]))

    @staticmethod
    def due(everything, name, at):
        """When the machine of that object is to be released, where these are
        all."""
        it = [m for m in everything for (_, n), _ in m.halves() if n == name]
        if not any(m.claim for m in it):
            everything = []     # it goes by its own time
        return max([m.own for m in it] + [
            m.own for m in everything
            if m.counts <= at - EARLY and not m.deleting], default=0)

    def look(self):
        """Judges what came since the last look.  A request that the proxy
        keeps back or repeats may arrive much later."""
        calls = self.faulty.taken()
        self.leases(calls)
        for call in calls[self._begin:]:
            if call.kind == "write" and call.resource[0] in PATHS:
                self.asked(calls, call)
                self._open.append([call, 0])
        self._begin = len(calls)
        for pair in self._open:
            call, judged = pair
            tries = list(call.tries)
            pair[1] = len(tries)
            for t in tries[judged:]:
                self.counts[f"{what_it_does(call)} {t.status}"] += 1
                self.wrote(call, t)
        self._open = [p for p in self._open if time.time() - p[0].at < LATE_S]

    def target(self, call):
        return PATHS[call.resource[0]], call.resource[1]

    def asked(self, calls, call):
        self.led(call)
        if what_it_does(call) == "clear":
            self.early(calls, call, self.target(call))

    # One write

    def wrote(self, call, t):
        what, target = what_it_does(call), self.target(call)
        version = t.version()
        if version is None:
            return
        pair = self.history.before(target, version)
        if not pair:
            if not self.history.known(target, version):
                self.blame(f"{target[1]}: version {version} of {call.who} was "
                           "never seen")
            return
        (came, after), (_, before) = pair
        if not after or not before or came < t.sent:
            return      # it changed nothing
        self.counts["writes compared"] += 1
        say = (f"{target[1]}: {call.who} wrote ({what}, fault "
               f"{call.fault or 'none'}): ")
        a, b = annotations(before), annotations(after)
        if bare(before) != bare(after):
            self.blame(say + "other fields changed")
        if CLASS in b:
            self.blame(say + f"a class: {b[CLASS]}")
        if HOLD in a and (MARK not in a or a[HOLD] != "true") \
                and b.get(HOLD) != a[HOLD]:
            self.blame(say + f"a person's hold {a} became {b}")
        if HOLD not in a and MARK in a and HOLD in b:
            self.blame(say + f"put back what a person removed: {a}, {b}")
        if MARK in b and MARK not in a:
            self.marked(say, call, t, b)
        if what == "clear" and (HOLD in b or MARK in b):
            self.blame(say + f"something is left: {b}")

    def marked(self, say, call, t, b):
        if b.get(HOLD) != "true":
            self.blame(say + f"a mark without our hold: {b}")
        at = seconds(b[MARK])
        if not t.sent - MARK_S <= at <= t.answered + EARLY:
            self.blame(say + f"the mark is of {at - call.at:+.1f} s")

    # When a hold may go

    def lists(self, calls, who, by):
        """The complete lists of NodeClaims that this replica had got by then.
        """
        return [c for c in calls
                if c.who == who and c.kind == "read"
                and c.resource == ("nodeclaims", "")
                and "continue=" not in c.path
                # It is noted a moment after the last byte was sent.
                and 0 < c.reached < by + ON_THE_WAY and c.at < by
                and c.reached - c.at < CALL_S
                and c.tries[0].status == 200]

    def early(self, calls, call, target):
        """It must have had a list, made after the object was held and when
        all was quiet, and what it got last must not say otherwise."""
        name = target[1].removeprefix("kwok-")
        if name in self.swayed:
            return
        since = self.history.mark(target, call.at) - ON_THE_WAY
        mine = [c for c in self.lists(calls, call.who, call.at)
                if c.at >= since]
        last = [c for c in mine if c.reached < call.at - ON_THE_WAY][-1:]
        recent = [c for c in mine if c.reached >= call.at - ON_THE_WAY]
        margins = [c.at - self.due(self.listed(c), target[1], c.at)
                   for c in last + recent]
        self.counts["releases judged"] += 1
        if not margins:
            self.blame(f"{target[1]}: {call.who} releases, and "
                       "has got no list since it was held")
        elif max(margins) < -EARLY:
            self.blame(f"{target[1]}: {call.who} releases "
                       f"{-max(margins):.1f} s before the quiet time")
        if any(begin + SEEN < call.at - SEEN and call.at < end
               for begin, end in self.calm):
            self.counts["releases judged without a fault"] += 1
            # What became ready since then may be due earlier.
            due = min(self.due(self.world(came=int(at)), target[1], at)
                      for at in (call.at - SEEN, call.at))
            if call.at < due - EARLY:
                self.blame(f"{target[1]}: {call.who} releases "
                           f"{due - call.at:.1f} s early, and saw it")

    # Who may write

    def leases(self, calls):
        """Every version of the Lease, oldest first."""
        found = {}
        for call in calls:
            if call.kind != "lease" or call.method == "GET":
                continue
            for t in list(call.tries):
                version, spec = t.version(), t.answer.get("spec")
                if version and spec and version not in found:
                    found[version] = (call.who, bool(spec["holderIdentity"]),
                                      t.sent, t.answered)
        self.records = [found[v] for v in sorted(found)]

    def check_leases(self):
        """Nobody takes it from another who may still have it."""
        before = None
        for who, has, sent, answered in self.records:
            if before and has and before[1] and before[0] != who:
                self.counts["lead taken"] += 1
                if answered - before[2] < self.lease_s - EARLY:
                    self.blame(f"{who} took the lead "
                               f"{answered - before[2]:.1f} s after "
                               f"{before[0]} renewed it")
            elif before and has and not before[1]:
                self.counts["lead handed over"] += 1
            before = who, has, sent
        self.counts["lead renewed"] = len(self.records)

    def led(self, call):
        """The last record of long enough ago names it, or a later one does."""
        asked = [r for r in self.records if r[2] <= call.at]
        old = [i for i, r in enumerate(asked)
               if r[3] <= call.at - ON_THE_WAY][-1:]
        if not any(who == call.who and has
                   and call.at <= answered + self.lease_s + ON_THE_WAY
                   for who, has, _, answered in asked[(old or [0])[0]:]):
            self.blame(f"{call.resource[1]}: {call.who} wrote and did not lead")

    # The end

    def left(self, theirs):
        """What stands on objects that nobody should hold: [text]."""
        found = []
        for path in PATHS.values():
            for name, meta in self.history.plane.metadata(path).items():
                a = annotations(meta)
                if MARK in a or HOLD in a and theirs.get(
                        (path, name)) != a[HOLD]:
                    found.append(f"{name}: {a.get(HOLD)}, {a.get(MARK)}")
        return found
