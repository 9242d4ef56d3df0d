# SPDX-License-Identifier: Apache-2.0
"""A second reading of the rules of docs/rules.md, for test_storm.py.

Judge looks at the cluster again and again and says what should be held and
what not.  Outages tells it when nothing could be written.
"""
import collections
import dataclasses
import math
import threading
import time

from controlplane import CLAIMS, NODES
from hold import EARLY, HOLD, MARK, annotations, held, seconds, without_hold
from karpenter import HASHES

HOLD_S = 12
STARTUP_S = 12
GRACE_S = 5  # seconds after which a claim without a Launched condition counts

# How many seconds are too late while everything is up.  A release may wait 5 s
# for a creation that was just admitted.
HOLD_SLACK = 5.0
RELEASE_SLACK = 10.0
RETRY_S = 60  # a boot that failed counts no longer than that
# Seconds that follow an outage: a client tries again after at most 10 s,
# doubled by jitter, and the holder lists soon after its start.  A stall
# belongs to the machine itself.
RECOVER = {"api": 20.0, "holder": 1.0, "stall": 0.0}
STALL_S = 1.5  # it is a stall if two lists take longer


def note(node):
    """What a kubelet brings along; nobody may change a byte of it."""
    return {"example.com/note": f"n\u00f6te {node} \"~/\\"}


@dataclasses.dataclass
class Outage:
    kind: str
    begin: float
    end: float = math.inf


class Outages:
    """What was away, and when.  Nothing could be written meanwhile."""

    def __init__(self):
        self.all = []
        self.lock = threading.Lock()

    def begin(self, kind):
        with self.lock:
            self.all.append(Outage(kind, time.time()))

    def end(self, kind):
        with self.lock:
            for o in self.all:
                if o.kind == kind:
                    o.end = min(o.end, time.time())

    def stalled(self, begin, end):
        with self.lock:
            self.all.append(Outage("stall", begin, end))

    def hit(self, kind, begin, end, after):
        """Was it away in this time, or had it been back for less than `after`
        seconds?"""
        with self.lock:
            return any(o.kind == kind and o.begin <= end
                       and begin <= o.end + after for o in self.all)

    def deadline(self, since, slack, kinds=RECOVER):
        """The time by which something has to be done that was possible since
        then."""
        limit = since + slack
        with self.lock:
            for o in sorted(self.all, key=lambda o: o.begin):
                over = o.end + RECOVER[o.kind]
                if o.kind in kinds and o.begin < limit and since < over:
                    limit = max(limit, over + slack)
        return limit

    def back(self, since, now, kinds=("api", "holder")):
        """The latest end of an outage in this time, or since if there was
        none."""
        with self.lock:
            return max([since] + [o.end for o in self.all
                                  if o.kind in kinds and o.begin < now
                                  and since < o.end < now])


# --- the rules once more ----------------------------------------------------

@dataclasses.dataclass
class Sample:
    begin: float
    end: float
    nodes: dict   # name -> metadata; listed first
    claims: dict  # name -> object


@dataclasses.dataclass
class Known:
    """A machine as one sample shows it."""

    claim: dict   # metadata
    node: dict
    own: int = 0          # its own deadline
    counts: float = math.inf  # time from which it makes the scope busy
    ready: bool = False
    deleting: bool = False

    @property
    def uid(self):
        return self.claim and self.claim["uid"]

    def halves(self):
        """Yields (target, metadata) of each object."""
        for path, meta in ((CLAIMS, self.claim), (NODES, self.node)):
            if meta:
                yield (path, meta["name"]), meta

    def registered(self):
        labels = (self.node or {}).get("labels") or {}
        return labels.get("karpenter.sh/registered") == "true"

    def say(self):
        """Has a person changed one of its objects?"""
        return any(odd(meta) for _, meta in self.halves())


def odd(meta):
    """Hold or mark alone, or another value: a person did that."""
    a = annotations(meta)
    return (HOLD in a) != (MARK in a) or a.get(HOLD, "true") != "true"


def known(claim, node, hold_s=HOLD_S, startup_s=STARTUP_S):
    k = Known(claim and claim["metadata"], node)
    k.deleting = any("deletionTimestamp" in m for _, m in k.halves())
    if not claim:
        k.own = seconds(node["creationTimestamp"]) + hold_s
        return k
    status = claim.get("status") or {}
    conditions = {c["type"]: c for c in status.get("conditions") or []}
    created = seconds(k.claim["creationTimestamp"])
    ready = conditions.get("Initialized")
    k.ready = bool(ready) and ready["status"] == "True"
    k.own = hold_s + (seconds(ready["lastTransitionTime"]) if k.ready
                      else created + startup_s)
    launched = conditions.get("Launched")
    if status.get("providerID") or launched and launched["status"] == "True":
        k.counts = 0
    elif not launched:
        k.counts = created + GRACE_S
    return k


def machines(sample, *times):
    """times: holdDuration and startupTimeout in seconds, if not those above.
    """
    by_uid = {c["metadata"]["uid"]: c for c in sample.claims.values()}
    by_node = {(c.get("status") or {}).get("nodeName"): c
               for c in sample.claims.values()}
    left, found = dict(sample.claims), []
    for name, node in sample.nodes.items():
        owners = node.get("ownerReferences")
        claim = (by_uid.get(owners[0]["uid"]) if owners
                 else by_node.get(name))
        found.append(known(claim, node, *times))
        if claim:
            left.pop(claim["metadata"]["name"], None)
    return found + [known(claim, None, *times) for claim in left.values()]


@dataclasses.dataclass
class Expected:
    """What a person set on one object."""

    value: str  # the hold's value; None: removed, until the scope is quiet
    since: float       # when the answer came
    # Whether our mark may stand beside it until the release.
    mark: bool = False


class Judge:
    def __init__(self, storm):
        self.storm = storm
        self.past = []       # the last two: (sample, machines by target)
        self.open = {}       # target -> (what is wrong, since)
        self.late = collections.defaultdict(list)  # (what, calm) -> seconds
        self.held, self.released = set(), 0
        # Target -> seconds until it was held for the first time.
        self.made_good = {}
        self.samples = 0
        self.people_seen = 0
        # How many claims were held although their Node was registered.
        self.needless = 0
        self.failed = {}  # uid of a boot that failed -> until when it counts

    def wrong(self, target, text, meta=None):
        say = f"{target[1]}: {text}"
        if meta is not None:
            say += f": {annotations(meta)}"
        self.storm.blame(say)

    def look(self, s):
        table = {}
        for m in machines(s):
            for target, _ in m.halves():
                table[target] = m
        self.samples += 1
        busy = max((m.own for m in table.values() if m.counts <= s.begin
                    and not m.deleting), default=0)
        quiet = max((m.own for m in table.values() if m.counts <= s.end
                     and not m.deleting), default=0)
        quiet = max(quiet, self.boots_that_failed(s, table))
        for target, m in table.items():
            meta = m.claim if target[0] == CLAIMS else m.node
            self.look_at(target, meta)
            self.follow(s, target, meta,
                        self.lacks(s, m, target, meta, busy, quiet))
            self.see(s, target, meta)
        for target in set(self.open) - set(table):
            del self.open[target]
        throughout = self.compare(s, table) if len(self.past) == 2 else 0
        self.people(s, table, throughout)
        self.past = (self.past + [(s, table)])[-2:]

    def boots_that_failed(self, s, table):
        """A machine that was deleted before it was ready may go on counting,
        up to its own deadline and for a minute at most."""
        here = {m.uid: m for m in table.values() if m.uid}
        before = self.past[-1][1] if self.past else {}
        for m in [*before.values(), *here.values()]:
            if (m.uid and not m.ready and m.counts <= s.end
                    and (m.uid not in here or here[m.uid].deleting)):
                self.failed.setdefault(m.uid, min(m.own, s.end + RETRY_S))
        return max(self.failed.values(), default=0)

    # One sample by itself

    def look_at(self, target, meta):
        path, name = target
        rest = without_hold(meta)
        if rest not in ([HASHES] if path == CLAIMS else
                        [note(name), {**note(name), **HASHES}]):
            self.wrong(target, "other annotations changed", meta)
        a = annotations(meta)
        if odd(meta) and not self.storm.touched(target):
            self.wrong(target, "half a hold that no person made", meta)
        if MARK in a and seconds(a[MARK]) > time.time() + 2:
            self.wrong(target, "a mark of the future", meta)

    @staticmethod
    def lacks(s, m, target, meta, busy, quiet):
        """Returns "held" or "clear" and since when, if the object should be so
        and is not."""
        if m.deleting:
            return None
        if MARK in annotations(meta):
            due = max(m.own, quiet)
            return ("clear", due) if due < s.begin else None
        if m.say() or target[0] == CLAIMS and m.registered():
            return None
        if m.own > s.end or busy > s.end and m.claim:
            return "held", s.end
        return None

    def follow(self, s, target, meta, lack):
        what, since = self.open.pop(target, (None, None))
        if what and (lack is None or lack[0] != what):
            # It does not count if time or another machine made it right.
            if held(meta) if what == "held" else MARK not in annotations(meta):
                self.ended(s, what, since, target)
            what = None
        if lack is None:
            return
        if what is None:
            # It has been due for long but was marked only now, so it counts
            # from now on.
            before = self.past[-1][0].begin if self.past else s.end
            what, since = lack
            since = since if since >= before else s.end
        slack = HOLD_SLACK if what == "held" else RELEASE_SLACK
        self.open[target] = what, since
        if s.begin > self.storm.outages.deadline(since, slack):
            self.wrong(target, f"not {what} for {s.begin - since:.1f} s")
            self.open[target] = what, math.inf  # says it only once

    def ended(self, s, what, since, target):
        """What was lacking is done now: records how late."""
        at = self.past[-1][0].end  # it was still lacking then
        if s.begin - at < STALL_S:
            at = s.begin
        back = self.storm.outages.back(since, at)
        if since < math.inf:
            calm = self.storm.outages.deadline(since, 0) == since
            self.late[what, calm].append((at - back, target[1]))
            if what == "held":
                self.made_good.setdefault(target, at - back)

    def see(self, s, target, meta):
        if held(meta):
            self.held.add(target)
        elif MARK not in annotations(meta) and target in self.held:
            self.held.remove(target)
            self.released += 1

    # What happened between two samples

    def compare(self, s, table):
        """Nothing is released and no mark changes while everything has to be
        held.

        Nodes are listed before claims: a claim that is in the sample before
        the last and in this one was there when either list of Nodes was made.
        Returns until when the scope has been busy without a break.
        """
        (first, old), (_, last) = self.past
        ways = {m.uid: m for m in old.values() if m.uid and not m.deleting
                and m.counts <= first.begin - 2}
        busy = max((min(m.own, ways[m.uid].own) for m in table.values()
                    if m.uid in ways and not m.deleting
                    and m.counts <= s.end), default=0)
        for target, m in table.items():
            then = last.get(target)
            if then is None or self.storm.touched(target):
                continue
            before = then.claim if target[0] == CLAIMS else then.node
            meta = m.claim if target[0] == CLAIMS else m.node
            if target[0] == CLAIMS and then.registered():
                self.needless += held(meta) and not held(before)
            if not held(before) or then.deleting or m.deleting:
                continue
            own = min(x.own for x in (m, then, old.get(target, then)))
            if max(own, busy if m.claim else 0) - EARLY <= s.end:
                continue
            if not held(meta):
                self.wrong(target, "released "
                           f"{max(own, busy) - s.end:.1f} s too early", meta)
            elif (annotations(meta)[MARK] != annotations(before)[MARK]
                  and m.registered() == then.registered()):
                self.wrong(target, "released and held again in between: "
                           f"{annotations(before)[MARK]}", meta)
        return busy

    def people(self, s, table, busy):
        for target, e in self.storm.expectations():
            if e.since >= s.begin or target not in table:
                continue
            m = table[target]
            meta = m.claim if target[0] == CLAIMS else m.node
            a = annotations(meta)
            self.people_seen += 1
            if e.value is None and busy - EARLY <= s.end:
                self.storm.expect(target, None)  # the period is over
            elif a.get(HOLD) != e.value:
                self.wrong(target, f"a person's {e.value!r} changed", meta)
            elif MARK in a and not e.mark:
                self.wrong(target, "our mark on a person's hold", meta)
