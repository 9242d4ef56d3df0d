# SPDX-License-Identifier: Apache-2.0
"""The lead moves in the middle of the work, and nothing is lost.

The API server's audit log proves it (lib/lead.py): every write of every
replica lies within its own lead, and the Lease's history is one that client-go
writes and reads.
"""
import contextlib
import json
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane import CLAIMS, NODES, ControlPlane, until
from hold import (EARLY, HOLD, LATE, MARK, SOON, annotations, claims, clear,
                  held, nodes, seconds)
from karpenter import claim_body, node_body
from lead import (AUDIT, DEPLOYED, LEASES, NAME, SHORT, STATE, Elector,
                  History, leader, leads, said, token_id)

P = "karpenter_node_holder_"
# Seconds in which the lead moves after a stop in good order.  Where other
# tests run as well it may take longer, but less than the lease's 15 s.
HANDED_OVER = LATE if "PYTEST_XDIST_WORKER" in os.environ else 2
TURNS = SHORT


@pytest.fixture(scope="module")
def plane(plane_programs):
    """Replaces the session's plane by one with an audit log."""
    with ControlPlane(name="failover", audit=AUDIT) as plane:
        plane.install_crds()
        yield plane


@pytest.fixture
def no_lease(plane):
    """Removes the Lease; returns where the audit log stands then."""
    plane.request("DELETE", f"{LEASES}/{NAME}")
    time.sleep(0.2)
    yield len(plane.audited())
    plane.request("DELETE", f"{LEASES}/{NAME}")


def stopped(process):
    with open(f"/proc/{process.pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"


def pause(process):
    os.kill(process.pid, signal.SIGSTOP)
    until(lambda: stopped(process), 5, "stopped", every=0.001)


def resume(process):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGCONT)


# By turns with client-go

def duration(text):
    """Converts "1h2m3s4ms" to seconds."""
    unit = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
    return sum(int(n) * unit[u]
               for n, u in re.findall(r"(\d+)(h|ms|m|s)", text))


class Turns:
    """One holder and one elector of client-go on the same Lease."""

    def __init__(self, plane, holder, elector):
        self.plane = plane
        self.holder = holder
        self.elector = elector
        self.taken = 0      # how often the lead was taken since the first time
        self.by_elector = 1

    def record(self):
        return self.plane.get(LEASES, NAME)

    def elector_has_it(self):
        return (self.record()["spec"]["holderIdentity"]
                == self.elector.identity)

    def to_elector(self, timeout):
        until(lambda: len(self.elector.said("leads")) > self.by_elector,
              timeout, lambda: "client-go's leads\n"
              + self.elector.log.read_text())
        self.by_elector += 1
        self.taken += 1
        assert self.elector_has_it()
        if self.holder.alive() and not stopped(self.holder.process):
            assert not leads(self.holder)
        assert self.record()["spec"]["leaseTransitions"] == self.taken

    def to_holder(self, timeout):
        until(lambda: leads(self.holder), timeout, "ours leads")
        self.taken += 1
        assert not self.elector_has_it()
        assert self.record()["spec"]["leaseTransitions"] == self.taken

    def follows(self):
        """A restarted holder knows whom it waits for."""
        n = len(said(self.holder, "another leads"))
        self.holder.start()
        until(lambda: len(said(self.holder, "another leads")) > n, SOON,
              "ours sees it")
        assert said(self.holder, "another leads")[-1]["holder"] == \
            self.elector.identity

    def elector_follows(self):
        n = len(self.elector.said("leader"))
        self.elector.start()
        until(lambda: len(self.elector.said("leader")) > n, SOON,
              "client-go's sees it")
        assert self.elector.said("leader")[-1][1] == \
            self.record()["spec"]["holderIdentity"]

    # One turn each, there and back

    def given_up(self):
        self.holder.process.send_signal(signal.SIGTERM)
        self.to_elector(HANDED_OVER)
        assert self.holder.process.wait(20) == 0
        self.follows()
        assert self.elector.end(signal.SIGTERM) == 0
        self.to_holder(HANDED_OVER)
        self.elector_follows()

    def killed(self):
        self.holder.kill9()
        self.to_elector(TURNS.taken)
        self.follows()
        self.elector.end(signal.SIGKILL)
        self.to_holder(TURNS.taken)
        self.elector_follows()

    def paused(self):
        lost = "lead lost, not renewed in time"
        before = len(said(self.holder, lost))
        pause(self.holder.process)
        try:
            self.to_elector(TURNS.taken)
        finally:
            resume(self.holder.process)
        assert not leads(self.holder) and self.elector_has_it()
        until(lambda: len(said(self.holder, lost)) > before, SOON,
              "ours knows")
        pause(self.elector.process)
        try:
            self.to_holder(TURNS.taken)
        finally:
            resume(self.elector.process)
        # It tries to renew for so long, and then ends.
        assert self.elector.process.wait(20) == 1
        assert leads(self.holder)
        self.elector_follows()


@pytest.fixture
def turns(plane, no_lease, make_holder, karpenter, elector_program):
    """client-go's elector makes the Lease; then our holder leads."""
    holder = make_holder(start=False, register=False, holdDuration="5m",
                         leaderElection=TURNS.config())
    holder.log.touch()
    elector = Elector(plane, "client-go", TURNS).start()
    turns = Turns(plane, holder, elector)
    try:
        until(lambda: elector.said("leads"), 10,
              lambda: "client-go's leads\n" + elector.log.read_text())
        turns.follows()
        assert not leads(holder)
        holder.register()
        assert elector.end(signal.SIGTERM) == 0
        turns.to_holder(HANDED_OVER)
        turns.elector_follows()
        yield turns
    finally:
        elector.end(signal.SIGKILL)


@pytest.mark.long
def test_by_turns_with_client_go(plane, no_lease, turns, karpenter, view):
    times = 5
    old = karpenter.settled(5)
    karpenter.machine()
    view.wait_held(nodes(old))

    def held_since():
        """Since when the scope is held, by what our holder keeps in the Lease;
        None: it does not say."""
        kept = re.fullmatch(r"\* debt=(\S+) held at=(\S+)", annotations(
            turns.record()).get(STATE, ""))
        return kept and seconds(kept[2]) - duration(kept[1])
    since = until(held_since, SOON, "what ours keeps there")
    for _ in range(times):
        for turn in (turns.given_up, turns.killed, turns.paused):
            turn()
            # client-go's PUTs of the whole Lease kept it, and each of our
            # leads continued with it.  (Its time is cut to whole seconds.)
            assert abs(held_since() - since) <= EARLY * (1 + turns.taken)
    assert turns.taken == 1 + 6 * times
    history = History(plane, no_lease)
    assert not history.strays()
    who = [who for who, _, _ in history.terms]
    assert who == [turns.elector.identity, *[
        token_id(turns.holder.account.token), turns.elector.identity]
        * (3 * times), token_id(turns.holder.account.token)]
    # These are what client-go itself considered its leads.
    for at, _ in turns.elector.said("leads"):
        assert any(who == turns.elector.identity and since <= at < over
                   for who, since, over in history.terms), at
    assert not turns.elector.complaints()
    assert all(map(held, view.of(nodes(old)).values()))


# In the middle of the work

class Blow:
    """What happens to the leader, and how it comes back."""

    timing = SHORT
    handed_over = SHORT.taken
    runs_again = False      # whether it can lead again at once

    def strike(self, holder):
        raise NotImplementedError

    def led(self, holder):
        """Another replica has just taken the lead."""

    def revive(self, holder):
        """The other replica has done its work."""


class Kill(Blow):
    def __init__(self, timing=SHORT):
        self.timing = timing
        self.handed_over = timing.taken

    runs_again = True

    def strike(self, holder):
        holder.kill9()
        # A kubelet starts it again at once.
        holder.start(wait=False)


class Pause(Blow):
    """A stop by SIGSTOP for longer than the lease."""

    def __init__(self):
        self.paused = []    # (who, from, until)

    def strike(self, holder):
        pause(holder.process)
        self.begin = time.time()

    def revive(self, holder):
        lost = len(said(holder, "lead lost, not renewed in time"))
        self.paused.append((token_id(holder.account.token), self.begin,
                            time.time()))
        resume(holder.process)
        assert not leads(holder)    # it does not lead, not even for a moment
        until(lambda: len(said(holder, "lead lost, not renewed in time"))
              > lost, SOON, "it knows")


class Stop(Blow):
    """A stop in good order, with the times of the Lease as deployed."""

    timing = DEPLOYED
    handed_over = HANDED_OVER
    drained = 0

    def strike(self, holder):
        # The connection makes it drain for as long as it may.
        self.connection = holder.connect()
        assert holder.review(claim_body(), self.connection)[0] == 200
        holder.process.send_signal(signal.SIGTERM)
        until(lambda: said(holder, "stopping, holds stay"), SOON, "stops")
        # It answers where the API server still asks it.
        if holder.webhook_port == self.asked:
            assert held(holder.plane.create(
                NODES + "?dryRun=All", node_body("draining")))
            self.drained += 1

    def led(self, holder):
        assert said(holder, "lead given up")
        assert holder.alive(), "drained before the other led"

    def revive(self, holder):
        assert holder.process.wait(20) == 0
        self.connection.close()
        holder.start()


PEOPLE = (  # what a person set before we did: on the Node, on the NodeClaim
    ({HOLD: "true"}, {}),
    ({HOLD: "false"}, {}),
    ({}, {HOLD: "true"}),
    ({}, {HOLD: "false"}),
    ({HOLD: "true"}, {HOLD: "true"}),
)


class Seen(threading.Thread):
    """Records from a watch when each Node was held and cleared.  (The audit
    log does not tell whether a patch was done whose sender was killed: it has
    the code 504 either way.)"""

    def __init__(self, plane):
        super().__init__(daemon=True)
        self.plane = plane
        self.version = plane.get(NODES + "?limit=1")["metadata"][
            "resourceVersion"]
        self.held = {}
        self.turns = []     # (when, name, held)
        self.over = False
        self.failed = None
        self.start()

    def run(self):
        while not self.over:
            for event in self.plane.watch(NODES, self.version, 600):
                if event["type"] == "ERROR":
                    self.failed = event["object"]
                    return
                meta = event["object"]["metadata"]
                self.version = meta["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self.look(meta["name"], held(meta))
                if self.over:
                    return

    def look(self, name, now):
        if now != self.held.get(name, False):
            self.held[name] = now
            self.turns.append((time.time(), name, now))

    def changes(self):
        """Returns ({name: [when held]}, {name: [when clear]})."""
        assert not self.failed and self.is_alive(), self.failed
        both = {}, {}
        for at, name, now in self.turns:
            both[0 if now else 1].setdefault(name, []).append(at)
        return both


class Scene:
    """Machines that have long been ready, some of them with a person's hold,
    and replicas."""

    def __init__(self, plane, karpenter, view, make_holder, begin, blow,
                 replicas, count, hold):
        self.plane, self.karpenter, self.view = plane, karpenter, view
        self.begin, self.blow, self.hold = begin, blow, hold
        self.old = karpenter.settled(count)
        self.theirs = karpenter.settled(len(PEOPLE))
        for m, (on_node, on_claim) in zip(self.theirs, PEOPLE):
            for path, name, values in ((NODES, m.node, on_node),
                                       (CLAIMS, m.name, on_claim)):
                if values:
                    plane.patch(path, name,
                                {"metadata": {"annotations": values}})
        self.people = nodes(self.theirs) + claims(self.theirs)
        self.before = self.annotations(self.people)
        self.ours = nodes(self.old) + claims(self.old)
        self.bare = self.annotations(self.ours)
        self.new = []       # machines of the rounds
        self.rounds = []    # (begin, due) of each
        self.took, self.all_held, self.released = [], [], []
        settings = {"holdDuration": f"{hold}s",
                    "webhook": {"drainTimeout": "6s"},
                    "leaderElection": blow.timing.config()}
        self.holders = [make_holder(register=False, **settings)
                        for _ in range(replicas)]
        self.holders[0].register(timeout=None)  # one of them may be stopped
        blow.asked = self.holders[0].webhook_port
        self.leader = leader(self.holders, blow.timing.taken)
        view.wait_clear(nodes(self.old), hold + 8)
        self.seen = Seen(plane)

    def annotations(self, targets):
        return {t: annotations(m) for t, m in self.view.of(targets).items()}

    def counted(self, name):
        return self.leader.metric(f"{P}{name}_total", result="ok")

    def struck(self, name, before, timeout):
        """Strikes when a few of the patches are done."""
        until(lambda: self.counted(name) >= before + 5, timeout,
              f"a few {name}", every=0.001)
        struck, others = self.leader, [
            h for h in self.holders
            if self.blow.runs_again or h is not self.leader]
        done = self.counted(name) - before
        at = time.time()
        self.blow.strike(struck)
        return struck, others, done, at

    def taken(self, struck, others, at):
        self.leader = leader(others, self.blow.handed_over)
        self.took.append(time.time() - at)
        self.blow.led(struck)

    def scale_up(self, m):
        """Finishes m and makes another machine.  That may be unheld, as the
        replica with the webhook may be down while nobody leads."""
        k = self.karpenter
        for step in (k.boot, k.register, k.initialize):
            step(m)
        self.new += [m, k.machine()]
        return self.new[-1]

    def round(self):
        """One hold and its release, with a blow in the middle of each."""
        begin, n = time.time(), len(self.old)
        before = self.counted("holds")
        m = self.karpenter.claim()
        self.karpenter.launch(m)
        struck, others, done, at = self.struck("holds", before, SOON)
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(self.scale_up, m)
            self.taken(struck, others, at)
            late = late.result()
        self.view.wait_held(nodes(self.old + self.new[-2:]))
        self.all_held.append(time.time() - at)
        self.blow.revive(struck)
        print(f"held {done:.0f} of {n}, then another led after "
              f"{self.took[-1]:.1f} s, all held after "
              f"{self.all_held[-1]:.1f} s")

        due = late.ready + self.hold
        self.rounds.append((begin, due))
        assert time.time() < due - 1, "too slow to tell"
        self.view.check_stays(nodes(self.old), held, "held",
                              due - 1.5 - time.time())
        before = self.counted("releases")
        struck, others, done, at = self.struck(
            "releases", before, due + LATE - time.time())
        self.taken(struck, others, at)
        self.view.wait_clear(self.ours + nodes(self.new) + claims(self.new))
        self.released.append(time.time() - due)
        self.check_told(at)
        self.blow.revive(struck)
        print(f"released {done:.0f} of {n}, then another led after "
              f"{self.took[-1]:.1f} s, all clear {self.released[-1]:.1f} s "
              "after they were due")
        assert self.annotations(self.people) == self.before

    def check_told(self, struck_at):
        """Whoever leads now tells the hold that began before it led."""
        turns = json.loads(self.leader.fetch("/status?format=json")[1])["history"]
        assert [t["what"] for t in turns[:2]] == ["released", "held"], turns
        assert turns[1]["time"] < time.strftime(
            "%Y-%m-%dT%H:%M:%SZ", time.gmtime(struck_at)), turns

    def check(self):
        """Checks the audit log when all is over; returns its history."""
        for path in (NODES, CLAIMS):
            assert not [m for m in self.plane.metadata(path).values()
                        if MARK in annotations(m)]
        assert self.annotations(self.ours) == self.bare
        assert self.annotations(self.people) == self.before
        history = History(self.plane, self.begin)
        people = {name for _, name in self.people}
        assert not [w for w in history.writes
                    if w.who.startswith("JTI=") and w.name in people]
        self.check_once()
        return history

    def check_once(self):
        """Each machine is held once a round, and released once, when due."""
        holds, clears = self.seen.changes()
        longest = latest = (0, 0)
        for m in self.old:
            assert len(holds[m.node]) == len(clears[m.node]) \
                == len(self.rounds), (m.node, holds[m.node], clears[m.node])
            for (begin, due), held_at, cleared_at in zip(
                    self.rounds, holds[m.node], clears[m.node]):
                assert begin < held_at < due - 1 < cleared_at
                longest = max(longest, (cleared_at - held_at, due - held_at))
                latest = max(latest, (cleared_at - due, 0))
        assert latest[0] < self.blow.handed_over + SOON
        print(f"{len(self.took)} times another led, after "
              f"{min(self.took):.1f} to {max(self.took):.1f} s; all held "
              f"{min(self.all_held):.1f} to {max(self.all_held):.1f} s after "
              f"the blow; the latest release {latest[0]:.1f} s after it was "
              f"due; the longest hold {longest[0]:.1f} s, due "
              f"{longest[1]:.1f} s")


@pytest.fixture
def scene(plane, no_lease, karpenter, view, make_holder):
    made = []

    def make(blow, replicas, count, hold=12):
        made.append(Scene(plane, karpenter, view, make_holder, no_lease,
                          blow, replicas, count, hold))
        return made[0]
    yield make
    for s in made:
        s.seen.over = True


def kills(scene, replicas, count, rounds, blow=None, **options):
    s = scene(blow or Kill(), replicas, count, **options)
    for _ in range(rounds):
        s.round()
    assert not s.check().strays()


def test_killed_in_the_middle_of_the_work(scene):
    kills(scene, replicas=3, count=100, rounds=1)


@pytest.mark.long
@pytest.mark.parametrize("replicas", (2, 3))
def test_killed_ten_times(scene, replicas):
    kills(scene, replicas, count=300, rounds=5)


@pytest.mark.long
def test_killed_with_the_times_of_a_deployment(scene):
    kills(scene, 2, 300, 1, Kill(DEPLOYED), hold=40)


def pauses(scene, count, rounds):
    blow = Pause()
    s = scene(blow, 2, count)
    for _ in range(rounds):
        s.round()
    history = s.check()
    # Answers that nobody read during the pause say nothing about the time.
    assert not [h for h in s.holders if said(h, "API server time shifted")]
    # The pause may come between the look at the clock and the sending of one
    # request.  By then somebody else has changed the object, so the request is
    # refused.
    strays = history.strays()
    assert not [w for w in strays if w.ok], strays
    assert len(strays) <= len(blow.paused), strays
    for who, begin, over in blow.paused:
        # What arrived during the pause was on its way before.
        wire = [w.at - begin for w in history.writes
                if w.who == who and begin <= w.at < over]
        led = [since for by, since, _ in history.terms
               if by == who and since > over]
        after = [w for w in history.writes if w.who == who
                 and over <= w.at < min(led, default=float("inf"))]
        assert after == [w for w in strays if w in after], after
        print(f"{len(wire)} writes were on their way when it was stopped, "
              f"the last came {max(wire, default=0) * 1000:.0f} ms later; "
              f"{len(after)} after it woke")


@pytest.mark.long
def test_paused_in_the_middle_of_the_work(scene):
    pauses(scene, count=100, rounds=1)


@pytest.mark.long
def test_paused_ten_times(scene):
    pauses(scene, count=300, rounds=5)


@pytest.mark.long
def test_stopped_in_good_order_in_the_middle_of_the_work(scene):
    s = scene(Stop(), 2, 100, hold=9)
    s.round()
    assert s.blow.drained
    assert not s.check().strays()


@pytest.mark.long
def test_stopped_ten_times(scene):
    s = scene(Stop(), 3, 300, hold=9)
    for _ in range(5):
        s.round()
    assert s.blow.drained
    assert not s.check().strays()
