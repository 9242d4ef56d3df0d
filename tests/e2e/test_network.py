# SPDX-License-Identifier: Apache-2.0
"""make e2e-long: the network between three replicas and kube-apiserver stalls,
cuts, delays and repeats.

Between them stands a proxy (lib/faulty.py).  In each round requests suffer
while machines come, people and kubelets have their say, somebody forges
Events, a replica is killed or stopped, and certificates and tokens are
rotated.  Then all goes well again: everything that is due to be held is held,
and everything is released after the last quiet time.  lib/witness.py judges
each write of each replica.

NETWORK_ROUNDS=2 makes it short, NETWORK_SEED=... repeats a run in outline.
"""
import collections
import dataclasses
import os
import random
import signal
import time

import pytest

from cluster import node_pool
from controlplane import (CLAIMS, NAMESPACES, NODES, POOLS, RBAC, ApiError,
                          until)
from faulty import RATES, WAYS, Faulty
from hold import HOLD, MARK, annotations, held, nodes
from holder import certs
from karpenter import claim_body
from lead import LEASES, NAME, NAMESPACE, Timing, leads
from witness import History, Witness

pytestmark = pytest.mark.long

ROUNDS = 20
REPLICAS = 3
HOLD_S, STARTUP_S = 6, 30
TIMING = Timing(6, 4, 1)
RELEASING = {"watch": 0.7, "read": 0.2, "write": 0.7, "event": 0.4}
FAULTY_S = 10       # how long requests suffer in each round
# Seconds until all is as it should be again: a client waits 10 s, doubled by
# jitter, and the lead may have to move.  A watch that is half-open is noticed
# after 150 s.
RECOVERED_S = 60
SILENT_S = 150
SILENT_ROUND = 8    # in which nobody tells the holder that one is
LOST = "lead lost, not renewed in time"
SECRETS = f"{NAMESPACES}/{NAMESPACE}/secrets"
EVENTS = "/api/v1/namespaces/default/events"
JUNK = 'ü"\\n\n{"karpenter.sh/do-not-disrupt":"true"},' * 1500


def role(plane, user, name, rules, namespace=None):
    """Gives a user these rights and no others."""
    kind = "Role" if namespace else "ClusterRole"
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    api = RBAC.removeprefix("/apis/")
    plane.apply({"apiVersion": api, "kind": kind, "metadata": meta,
                 "rules": rules})
    plane.apply({"apiVersion": api, "kind": kind + "Binding",
                 "metadata": meta,
                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                             "kind": kind, "name": name},
                 "subjects": [{"apiGroup": "rbac.authorization.k8s.io",
                               "kind": "User", "name": user}]})
    return plane.identity(user)


class Replica:
    """A holder whose token comes from a file and ends with a Secret."""

    def __init__(self, name, plane, holder, faulty):
        self.name, self.plane, self.holder = name, plane, holder
        self.faulty = faulty
        self.file = holder.dir / "token"
        self.secret = None
        self.number = 0
        self.rotate()
        plane.write_kubeconfig(holder.kubeconfig, server=faulty.url,
                               token_file=self.file)

    def rotate(self):
        """Another token; the API server soon refuses the old one."""
        self.number += 1
        old, self.secret = self.secret, f"{self.name}-{self.number}"
        self.plane.request("DELETE", f"{SECRETS}/{self.secret}")
        made = self.plane.create(SECRETS, {"metadata": {"name": self.secret}})
        token = self.plane.token(NAMESPACE, NAME, bound={
            "apiVersion": "v1", "kind": "Secret", "name": self.secret,
            "uid": made["metadata"]["uid"]})
        self.faulty.tokens[token] = self.name
        new = self.file.with_suffix(".new")
        new.write_text(token)
        new.rename(self.file)
        if old:
            self.plane.delete(SECRETS, old)


@dataclasses.dataclass
class Word:
    """What a person says about one Node: what must be true before, what to
    change, and the value that is the person's from then on."""

    fits: object
    change: dict
    value: str


FREE = (lambda a: HOLD not in a and MARK not in a)
OURS = (lambda a: a.get(HOLD) == "true" and MARK in a)
THEIRS = (lambda a: HOLD in a and MARK not in a)
WORDS = {
    "own true": Word(FREE, {HOLD: "true"}, "true"),
    "own false": Word(FREE, {HOLD: "false"}, "false"),
    "taken over": Word(OURS, {MARK: None}, "true"),
    "opted out": Word(OURS, {HOLD: None}, None),
    "changed": Word(OURS, {HOLD: "false"}, "false"),
    "given back": Word(THEIRS, {HOLD: None}, None),
}


class Scene:
    def __init__(self, plane, karpenter, view, make_holder, faulty, seed):
        self.plane, self.karpenter, self.view = plane, karpenter, view
        self.faulty = faulty
        self.rng = random.Random(f"{seed}")
        self.count = collections.Counter()
        self.theirs = {}        # target -> the value of a person's hold
        self.recent = []        # claims that an Event may speak of
        self.took_held, self.took_clear = [0], [0]
        plane.create(POOLS, node_pool("general"))
        old = karpenter.settled(24)
        self.fleet, self.peoples = old[:12], old[12:]
        self.kubelets = [(m, plane.kubelet(m.node)) for m in self.peoples[:3]]
        self.operator = role(plane, "operator", "holds-by-hand", [
            {"apiGroups": [""], "resources": ["nodes"],
             "verbs": ["get", "patch"]}])
        self.forger = role(plane, "forger", "writes-events", [
            {"apiGroups": [""], "resources": ["events"],
             "verbs": ["create"]}], "default")
        plane.request("DELETE", f"{LEASES}/{NAME}")
        holders = [make_holder(
            start=False, register=False, holdDuration=f"{HOLD_S}s",
            startupTimeout=f"{STARTUP_S}s", leaderElection=TIMING.config())
            for _ in range(REPLICAS)]
        self.replicas = [Replica(f"r{i}", plane, h, faulty)
                         for i, h in enumerate(holders)]
        self.history = History(plane)
        self.witness = Witness(self.history, faulty, HOLD_S, STARTUP_S,
                               TIMING.lease)
        # People and kubelets change these at any time.
        self.witness.swayed.update(m.name for m in self.peoples)
        for h in holders:
            h.start()
        holders[0].register(timeout=None)
        view.wait_clear(nodes(old), RECOVERED_S)

    # What happens in a round

    def machine(self):
        m = self.karpenter.machine()
        self.fleet.append(m)
        self.recent.append(m)
        self.count["machines"] += 1
        return m

    def no_capacity(self):
        """A claim that is never launched, and is gone a while later."""
        body = claim_body("general")
        self.waiting.append(self.plane.create(CLAIMS, body)["metadata"]
                            ["name"])
        self.count["claims without capacity"] += 1

    def gave_up(self):
        for name in self.waiting:
            self.plane.delete(CLAIMS, name)
        self.waiting = []

    def person(self):
        m = self.rng.choice(self.peoples)
        target = NODES, m.node
        meta = self.plane.get(*target, user=self.operator)["metadata"]
        for name in self.rng.sample(list(WORDS), len(WORDS)):
            word = WORDS[name]
            if not word.fits(annotations(meta)):
                continue
            if name == "given back" and self.rng.random() < 0.6:
                return      # it is still needed
            try:
                self.plane.patch(*target, {"metadata": {
                    "resourceVersion": meta["resourceVersion"],
                    "annotations": word.change}}, user=self.operator)
            except ApiError as e:
                assert e.status == 409, e   # somebody else was faster
                self.count["too late"] += 1
                return
            self.theirs[target] = word.value
            self.count[name] += 1
            return

    def kubelet(self):
        m, user = self.rng.choice(self.kubelets)
        what = self.rng.choice(["status", "label", "junk", "forged mark"])
        if what == "status":
            self.plane.patch(NODES, m.node + "/status", {"status": {
                "conditions": [{"type": "Ready", "status": self.rng.choice(
                    ["True", "False"])}]}}, user=user)
        elif what == "label":
            self.plane.patch(NODES, m.node, {"metadata": {"labels": {
                "example.com/beat": str(self.count["kubelets"])}}}, user=user)
        elif what == "junk":
            self.plane.patch(NODES, m.node, {"metadata": {"annotations": {
                "example.com/junk": JUNK[self.rng.randrange(50):]}}},
                user=user)
        else:
            # The hold beside it comes to be ours, whoever set it.
            a = self.plane.patch(NODES, m.node, {"metadata": {"annotations": {
                MARK: self.rng.choice(["", "x" * 300, "9999-12-31T23:59:59Z",
                                       "1970-01-01T00:00:00Z"])}}}, user=user)
            if annotations(a).get(HOLD) == "true":
                self.theirs.pop((NODES, m.node), None)
        self.count["kubelets"] += 1
        self.count["by a kubelet: " + what] += 1

    def forge(self):
        """An Event as of Karpenter, that a machine replaces another; or
        rubbish."""
        m = self.rng.choice(self.recent or self.fleet)
        event = {
            "metadata": {"generateName": f"{m.name}."}, "type": "Normal",
            "reason": self.rng.choice(["DisruptionLaunching",
                                       "DisruptionWaitingReadiness"]),
            "message": "Launching NodeClaim: Drifted",
            "involvedObject": {"apiVersion": "karpenter.sh/v1",
                               "kind": "NodeClaim", "name": m.name,
                               "uid": m.uid}}
        if self.rng.random() < 0.4:
            event["message"] = JUNK[:1000]
            event["involvedObject"]["uid"] = JUNK[:60]
        self.plane.create(EVENTS, event, user=self.forger)
        self.count["forged Events"] += 1

    def leader(self):
        """The replica that says it leads, or None."""
        return next((r for r in self.replicas if r.holder.alive()
                     and r.holder.probe("/livez")[0] == 200
                     and leads(r.holder)), None)

    def cut_off(self):
        """The leader cannot renew the Lease for the rest of the round.  Would
        it go on writing, it would do so when all is held and released."""
        self.lone = self.leader()
        if self.lone:
            self.faulty.cut_off(self.lone.name)

    def strike(self):
        """One replica is killed or stopped; it is the leader as often as not.
        """
        alive = [r for r in self.replicas if r.holder.alive()
                 and r is not self.lone]
        struck = self.rng.choice(alive)
        led = self.leader()
        if self.rng.random() < 0.5 and led in alive:
            struck = led
        self.struck, number = struck, self.rng.choice(
            [signal.SIGKILL, signal.SIGTERM])
        struck.holder.process.send_signal(number)
        self.by = number
        self.count[number.name] += 1

    def again(self):
        code = self.struck.holder.process.wait(60)
        if code != (0 if self.by == signal.SIGTERM else -self.by):
            self.witness.blame(f"{self.struck.name} ended with {code}")
        self.struck.holder.start(wait=False)

    def rotate_serving(self):
        holder = self.replicas[0].holder
        certs(holder.pair)
        holder.mount.swap(holder.pair)
        self.count["serving certificates"] += 1

    def rotate_token(self):
        self.rng.choice(self.replicas).rotate()
        self.count["tokens"] += 1

    def rotate_server(self):
        self.faulty.rotate()
        self.count["API server certificates"] += 1

    def plan(self, number):
        """[(when, what)] of one round."""
        rng, plan = self.rng, []

        def some(count, call, low=0.0, high=1.0):
            for _ in range(count):
                plan.append((rng.uniform(low, high) * FAULTY_S, call))
        # In every second round a release comes while requests suffer.
        some(3, self.machine, 0, 0.15 if number % 2 else 0.9)
        some(1, self.no_capacity, 0, 0.5)
        plan.append((FAULTY_S, self.gave_up))
        some(10, self.person)
        some(4, self.kubelet)
        some(4, self.forge)
        some(rng.randint(0, 2), self.faulty.cut_all)
        if number % 3 != 1 and rng.random() < 0.5:
            at = rng.uniform(0, 0.5) * FAULTY_S
            plan += [(at, self.faulty.stop_flowing),
                     (at + rng.choice([2, 6]), self.faulty.flow)]
        else:
            some(1, self.cut_off, 0, 0.1)
        at = rng.uniform(0.05, 0.7) * FAULTY_S
        plan += [(at, self.strike), (at + rng.uniform(0, 3), self.again)]
        some(1, self.rotate_serving)
        some(1, self.rotate_token)
        some(number % 4 == 0, self.rotate_server)
        return sorted(plan, key=lambda p: p[0])

    def round(self, number):
        self.waiting, self.recent, self.lone = [], [], None
        silent = number == SILENT_ROUND
        begin = time.time()
        self.faulty.fail(RATES)
        for at, call in self.plan(number):
            time.sleep(max(0, begin + at - time.time()))
            call()
        self.faulty.heal(dead=not silent)
        healed = time.time()
        limit = RECOVERED_S + (SILENT_S if silent else 0)
        calm = number % 3 == 0
        if calm:
            self.faulty.reconnect()
        self.all_held(healed, limit)
        self.all_clear(healed, calm, limit)
        self.faulty.reconnect()
        time.sleep(0.5)     # the history may be a moment behind
        self.witness.look()
        for r in self.replicas:
            if r.holder.probe("/livez")[0] != 200:
                self.witness.blame(f"{r.name}: {r.holder.probe('/livez')}")

    def unheld(self):
        seen = self.view.of(nodes(self.fleet))
        return [n for (_, n), meta in seen.items() if not held(meta)]

    def all_held(self, healed, limit):
        """A machine that boots keeps the cluster busy; with the last of them
        all others have to be held."""
        self.booting = []
        while True:
            m = self.karpenter.claim()
            self.karpenter.launch(m)
            self.karpenter.boot(m)
            self.karpenter.register(m)
            self.booting.append(m)
            self.recent.append(m)
            self.forge()
            end = min(time.time() + STARTUP_S / 2, healed + limit)
            while (missing := self.unheld()) and time.time() < end:
                time.sleep(0.2)
            if not missing:
                self.took_held.append(time.time() - healed)
                break
            if time.time() >= healed + limit:
                self.witness.blame(f"not held {limit} s after the last fault: "
                                   f"{missing}")
                break

    def people_until(self, moment):
        while time.time() < moment:
            self.person()
            time.sleep(0.2)

    def all_clear(self, healed, calm, limit):
        """Requests suffer once more while all is released, unless calm."""
        for m in self.booting:
            self.karpenter.initialize(m)
            self.fleet.append(m)
        quiet_at = self.booting[-1].ready + HOLD_S
        if calm:    # one more, just before they are released
            time.sleep(max(0, quiet_at - 2 - time.time()))
            quiet_at = self.machine().ready + HOLD_S
        self.people_until(quiet_at - 1)
        if not calm:
            self.faulty.fail(RELEASING)
            self.people_until(quiet_at + 4)
            self.faulty.heal()
        begin = max(time.time(), quiet_at)
        try:
            until(lambda: not self.witness.left(self.theirs), limit, "clear",
                  every=0.3)
            self.took_clear.append(time.time() - begin)
        except AssertionError:
            self.witness.blame(
                f"not clear {limit} s after the quiet time: "
                f"{self.witness.left(self.theirs)}")
        if calm:
            self.witness.calm.append((healed, time.time()))
        for target, value in self.theirs.items():
            now = self.plane.annotations(*target).get(HOLD)
            if now != value:
                self.witness.blame(f"{target[1]}: a person's {value} is "
                                   f"{now}")

    def logged(self):
        """What went wrong: (lines of the logs by phrase, refused as 401)."""
        said, refused = collections.Counter(), 0
        for r in self.replicas:
            for line in r.holder.logs():
                if "raw" in line or (line["level"] == "error"
                                     and line["msg"] != LOST):
                    self.witness.blame(f"in the log of {r.name}: {line}")
                elif line["level"] in ("warn", "error"):
                    said[line["msg"]] += 1
        for call in self.faulty.taken():
            refused += any(t.status == 401 for t in call.tries)
        return dict(said), refused


@pytest.fixture
def faulty(plane):
    seed = os.environ.get("NETWORK_SEED") or random.randrange(10**6)
    with Faulty(plane, seed) as faulty:
        faulty.seed = seed
        yield faulty


def test_network(plane, faulty, make_holder, karpenter, view):
    rounds = int(os.environ.get("NETWORK_ROUNDS") or ROUNDS)
    print(f"\nNETWORK_SEED={faulty.seed} NETWORK_ROUNDS={rounds}", flush=True)
    s = Scene(plane, karpenter, view, make_holder, faulty, faulty.seed)
    w = s.witness
    try:
        for number in range(1, rounds + 1):
            begin = time.time()
            s.round(number)
            print(f"round {number}: {time.time() - begin:.0f} s, all held "
                  f"{s.took_held[-1]:.1f} s after the last fault, clear "
                  f"{s.took_clear[-1]:.1f} s after both; "
                  f"{len(w.faults)} violations", flush=True)
    finally:
        s.history.over = True
        w.look()
        w.check_leases()
        warned, refused = s.logged()
        print(f"""
network of seed {faulty.seed}: {rounds} rounds, {len(w.faults)} violations
{faulty.told()}
  refused as 401     {refused}
  events             {dict(s.count)}
  judged             {dict(w.counts)}
  versions seen      {s.history.count}
  all held           {max(s.took_held):.1f} s after the last fault \
at the latest
  all clear          {max(s.took_clear):.1f} s after the quiet \
time and the last fault at the latest
  warnings           {warned}""")
    assert not w.faults, "\n".join(w.faults[:20])
    assert not s.history.failed, s.history.failed
    assert w.counts["releases judged"] and w.counts["writes compared"]
    if rounds >= ROUNDS:    # it really was a bad network
        assert all(faulty.counts[kind, fault]
                   for kind in ("watch", "write") for fault in WAYS[kind])
        assert w.counts["lead taken"] and refused
        assert all(s.count[word] for word in WORDS)
