# SPDX-License-Identifier: Apache-2.0
"""Everything at once, for test_storm.py: machines, people, certificates and
outages."""
import collections
import dataclasses
import http.client
import math
import random
import signal
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from controlplane import CLAIMS, METADATA_LIST, NODES, ApiError, until
from hold import HOLD, MARK, annotations, held, seconds, without_hold
from holder import certs
from judge import (HOLD_S, RELEASE_SLACK, STALL_S, STARTUP_S, Expected, Judge,
                   Outages, Sample, note)
from karpenter import HASHES, claim_body, node_body

KILLS = 5
ROTATE_S = 10
TIMEOUT_S = 2  # the webhook's: a creation that took longer failed open
RELOAD_SLACK = 10.0
FLEET = 45
THEIRS = 8     # how many Nodes people hold themselves at a time
AWAY = (OSError, http.client.HTTPException)
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"


@dataclasses.dataclass
class Creation:
    begin: float
    target: tuple
    end: float = math.inf
    result: str = "lost"


class Storm:
    def __init__(self, plane, holder, karpenter, seed):
        self.plane, self.holder, self.karpenter = plane, holder, karpenter
        self.seed = seed
        self.rng = random.Random(f"{seed}")
        self.outages = Outages()
        self.judge = Judge(self)
        self.stop = threading.Event()     # set: no more machines or people
        self.done = threading.Event()     # set: nobody looks any more
        self.lock = threading.Lock()
        self.faults = []
        self.fleet = []                   # machines that are ready
        self.swayed = set()  # names of machines that people changed
        self.expected = {}                # target -> Expected
        self.creations = []
        self.count = collections.Counter()
        self.number = 0
        self.minted = [(time.time(), self.leaf())]
        # Seconds from a swap until the new certificate was served.
        self.served = []
        self.serving = 0  # index of the certificate that is served now
        self.mib = self.fds = 0
        # The times of the API server's lives.
        self.lives = [[time.time(), None, None]]
        # What other tests had counted in this life.
        self.opened = self.counted()
        self.helpers = {}
        self.pool = ThreadPoolExecutor(40)
        self.futures = []

    def blame(self, text):
        with self.lock:
            if text not in self.faults and len(self.faults) < 200:
                self.faults.append(text)
                print(time.strftime("%H:%M:%S FAULT", time.gmtime()), text,
                      flush=True)

    def touched(self, target):
        name = target[1].removeprefix("kwok-")
        with self.lock:
            return name in self.swayed

    def expect(self, target, expected):
        with self.lock:
            self.expected.pop(target, None)
            if expected:
                self.expected[target] = expected

    def expectations(self):
        with self.lock:
            return list(self.expected.items())

    # Requests that outlive an outage

    def insist(self, call):
        """Repeats call() until it is answered; a refusal is a fault."""
        lost = 0
        while True:
            begin = time.time()
            try:
                return call()
            except AWAY as e:  # it may have been an old idle connection
                error, lost = e, lost + 1
            except ApiError as e:
                if e.status < 500 and e.status not in (401, 403, 429):
                    raise
                error, lost = e, 99
            if self.done.is_set() or lost > 3 and not self.outages.hit(
                    "api", begin, time.time(), 5):
                raise error
            time.sleep(0.3)

    def create(self, path, body):
        """Creates it and returns the object; whether the answer held it is
        judged."""
        target = path, body["metadata"]["name"]

        def post():
            c = Creation(time.time(), target)
            self.creations.append(c)
            try:
                answer = self.plane.create(path, body, timeout=15)
            except ConnectionRefusedError:
                c.result = "not sent"
                raise
            except ApiError as e:
                if e.status != 409:
                    raise
                c.result = "again"  # the answer to the first try was lost
                return self.plane.get(path, target[1])
            finally:
                c.end = time.time()
            self.judge_answer(c, body, answer)
            return answer
        return self.insist(post)

    def excused(self, c):
        """Was the webhook down at some time, or had it no time to answer?"""
        return (self.outages.hit("holder", c.begin, c.end, 1)
                or c.end - c.begin >= TIMEOUT_S)

    def judge_answer(self, c, body, answer):
        a, given = annotations(answer), annotations(body)
        if HOLD in given:
            c.result = "own"
            good = a == given
        elif held(answer):
            c.result = "held"
            good = (without_hold(answer) == given
                    and c.begin - 4 <= seconds(a[MARK]) <= c.end + 2)
        else:
            c.result = "unheld"
            good = a == given and self.excused(c)
        if not good:
            self.blame(f"{c.target[1]}: answer to its creation, after "
                       f"{c.end - c.begin:.2f} s: {a}")

    def unless_gone(self, call):
        def try_it():
            try:
                return call()
            except ApiError as e:
                if e.status != 404:
                    raise
        return self.insist(try_it)

    def delete(self, path, name):
        self.unless_gone(lambda: self.plane.delete(path, name, timeout=15))

    def patch(self, target, meta):
        self.unless_gone(lambda: self.plane.patch(
            *target, {"metadata": meta}, timeout=15))

    # Machines

    def claim(self, name, **options):
        pool = name.partition("-")[0]
        own = options.pop("annotations", {})
        m = self.karpenter.adopt(self.create(CLAIMS, claim_body(
            pool, {**HASHES, **own}, name, **options)))
        m.node = f"kwok-{name}"
        return m

    def boot(self, name):
        node = f"kwok-{name}"
        return self.create(NODES, node_body(node, name.partition("-")[0],
                                            note(node)))

    def register(self, m):
        def call():
            node = self.plane.get(NODES, m.node)
            if (node["metadata"]["labels"].get("karpenter.sh/registered")):
                # Annotations are copied only once.
                self.karpenter.condition(m, "Registered", nodeName=m.node)
            else:
                self.karpenter.register(m)
        self.insist(call)

    def rest(self, rng, low, high):
        time.sleep(rng.uniform(low, high))

    def finish(self, m, rng, steps="lbri"):
        """Launches, boots, registers and initializes it."""
        for step in steps:
            self.rest(rng, 0, 0.7)
            if step == "l":
                self.insist(lambda: self.karpenter.launch(m))
            elif step == "b":
                self.boot(m.name)
            elif step == "r":
                self.register(m)
            else:
                self.insist(lambda: self.karpenter.initialize(m))
        if "i" in steps:
            with self.lock:
                self.fleet.append(m)

    def live(self, name, kind, rng):
        """Runs one machine of that kind until it is ready or gone."""
        getattr(self, "live_" + kind)(name, rng)

    def live_plain(self, name, rng):
        self.finish(self.claim(name), rng)

    def live_node_first(self, name, rng):
        self.boot(name)
        self.rest(rng, 0, 0.5)
        self.finish(self.claim(name), rng, "lri")

    def live_no_capacity(self, name, rng):
        m = self.claim(name)
        self.insist(lambda: self.karpenter.pending(m))
        self.rest(rng, 0, 6)
        self.delete(CLAIMS, name)

    def live_no_condition(self, name, rng):
        m = self.claim(name)
        self.rest(rng, 6, 8)
        self.finish(m, rng)

    def live_slow(self, name, rng):
        m = self.claim(name)
        self.finish(m, rng, "lbr")
        self.rest(rng, 0, STARTUP_S + HOLD_S + 8)
        self.finish(m, rng, "i")

    def live_never_boots(self, name, rng):
        m = self.claim(name)
        self.finish(m, rng, "l")
        self.rest(rng, STARTUP_S, STARTUP_S + HOLD_S + 8)
        self.delete(CLAIMS, name)

    def live_deleted(self, name, rng):
        m = self.claim(name)
        self.finish(m, rng, "lbr")
        self.rest(rng, 0, 3)
        self.delete(CLAIMS, name)
        self.delete(NODES, m.node)

    def live_terminated(self, name, rng):
        """Karpenter's finalizer keeps the claim for a while."""
        m = self.claim(name, finalizers=["karpenter.sh/termination"])
        self.finish(m, rng, "lbr")
        self.rest(rng, 0, 3)
        self.delete(CLAIMS, name)
        self.rest(rng, 1, 4)
        self.delete(NODES, m.node)
        self.patch((CLAIMS, name), {"finalizers": None})

    def live_template(self, name, rng):
        """The NodePool's template has the hold, with either value."""
        value = rng.choice(["true", "false"])
        with self.lock:
            self.swayed.add(name)
        m = self.claim(name, annotations={HOLD: value})
        self.theirs_from_claim(m, rng, value)

    def live_taken_over(self, name, rng):
        """A person takes over the claim's hold before its Node registers."""
        m = self.claim(name)
        if self.say((CLAIMS, name), "taken over"):
            self.theirs_from_claim(m, rng, "true")
        else:
            self.finish(m, rng)

    def theirs_from_claim(self, m, rng, value):
        self.count["templates"] += 1
        self.expect((CLAIMS, m.name), Expected(value, time.time()))
        self.finish(m, rng, "lbr")
        self.expect((NODES, m.node), Expected(value, time.time(), mark=True))
        self.finish(m, rng, "i")

    KINDS = {"plain": 5, "node_first": 3, "no_capacity": 2, "no_condition": 1,
             "deleted": 2, "terminated": 1, "template": 1, "taken_over": 1}
    LONG = {"slow": 1, "never_boots": 1}

    def submit(self, kind):
        self.number += 1
        rng = random.Random(f"{self.seed}/{self.number}")
        name = f"{rng.choice(['a', 'b', 'c'])}-{self.number:04d}"
        self.count[kind] += 1
        future = self.pool.submit(self.live, name, kind, rng)
        self.futures.append(future)
        return future

    def stream(self):
        """Makes bursts of machines, with pauses that are long enough to become
        quiet or not."""
        rng = random.Random(f"{self.seed}/stream")
        burst = 0
        while not self.stop.is_set():
            self.consolidate(rng)
            kinds = rng.choices(list(self.KINDS), self.KINDS.values(),
                                k=rng.randint(3, 12))
            if burst % 3 == 1:
                kinds += self.LONG
            burst += 1
            begun = []
            for kind in kinds:
                begun.append(self.submit(kind))
                self.stop.wait(rng.choice([0, 0, 0.2, 1]))
            for future in begun:
                future.exception()  # it is reported at the end
            if rng.random() < 0.35:
                self.stop.wait(rng.uniform(2, 9))
            else:
                self.stop.wait(HOLD_S + RELEASE_SLACK + rng.uniform(3, 7))

    def consolidate(self, rng):
        with self.lock:
            rng.shuffle(self.fleet)
            gone, self.fleet = self.fleet[FLEET:], self.fleet[:FLEET]
        for m in gone:
            self.count["removed"] += 1
            self.expect((CLAIMS, m.name), None)
            self.expect((NODES, m.node), None)
            self.delete(CLAIMS, m.name)
            self.delete(NODES, m.node)

    # People

    WORDS = {
        # what must be true before, what to change, what stands there
        # afterwards
        "own true": (lambda a: HOLD not in a and MARK not in a,
                     {HOLD: "true"}, ("true", False)),
        "own false": (lambda a: HOLD not in a and MARK not in a,
                      {HOLD: "false"}, ("false", False)),
        "taken over": (lambda a: a.get(HOLD) == "true" and MARK in a,
                       {MARK: None}, ("true", False)),
        "opted out": (lambda a: a.get(HOLD) == "true" and MARK in a,
                      {HOLD: None}, (None, True)),
        "changed": (lambda a: a.get(HOLD) == "true" and MARK in a,
                    {HOLD: "false"}, ("false", True)),
    }

    def say(self, target, word):
        """Makes one person's change, if the object is still as it was seen."""
        fits, change, (value, mark) = self.WORDS[word]
        with self.lock:
            self.swayed.add(target[1].removeprefix("kwok-"))

        def look():
            return self.unless_gone(
                lambda: self.plane.get(*target, timeout=15)["metadata"])
        meta = look()
        if meta is None or not fits(annotations(meta)):
            return False
        try:
            self.plane.patch(*target, {"metadata": {
                "resourceVersion": meta["resourceVersion"],
                "annotations": change}}, timeout=15)
        except AWAY + (ApiError,):
            a = annotations(look() or {})  # was it done all the same?
            if a.get(HOLD) != value or not mark and MARK in a \
                    or value is None and MARK not in a:
                return False
        self.expect(target, Expected(value, time.time(), mark))
        self.count[word] += 1
        return True

    def give_back(self, target):
        """A person removes a hold of their own."""
        self.expect(target, None)
        self.patch(target, {"annotations": {HOLD: None}})
        self.count["given back"] += 1

    def people(self):
        rng = random.Random(f"{self.seed}/people")
        while not self.stop.wait(rng.uniform(0.5, 2.5)):
            mine = [t for t, e in self.expectations()
                    if t[0] == NODES and e.value and not e.mark]
            with self.lock:
                free = [(NODES, m.node) for m in self.fleet
                        if m.name not in self.swayed]
                few = len(free) <= len(self.fleet) / 2
            if len(mine) > THEIRS:
                self.give_back(rng.choice(mine))
            if few:  # what people have changed is judged less strictly
                continue
            target = rng.choice(free)
            for word in rng.sample(list(self.WORDS), len(self.WORDS)):
                if self.say(target, word):
                    break

    # Looking

    def look(self):
        while not self.done.wait(0.5):
            begin = time.time()
            try:
                nodes = self.plane.ok(
                    "GET", NODES, headers={"Accept": METADATA_LIST},
                    timeout=10)
                claims = self.plane.get(CLAIMS, timeout=10)
            except (*AWAY, ApiError) as e:
                if not self.outages.hit("api", begin, time.time(), 5):
                    self.blame(f"the API server did not answer: {e}")
                continue
            end = time.time()
            if end - begin > STALL_S:
                self.outages.stalled(begin, end)
                self.count["stalls"] += 1
            self.judge.look(Sample(
                begin, end,
                {o["metadata"]["name"]: o["metadata"]
                 for o in nodes["items"] or []},
                {o["metadata"]["name"]: o for o in claims["items"] or []}))

    def probe(self):
        """Watches what the holder shows: certificate, liveness, memory."""
        while not self.done.wait(1):
            begin = time.time()
            try:
                connection = self.holder.connect(5)
                connection.connect()
                der = connection.sock.getpeercert(True)
                connection.close()
                alive = self.holder.probe("/livez")
                metrics = self.holder.metrics()
            except (OSError, AssertionError) as e:
                der, error = None, e
            if self.outages.hit("holder", begin, time.time(), 0):
                continue
            if der is None:
                self.blame(f"the holder did not answer: {error!r}")
                continue
            self.see_certificate(begin, der)
            if alive[0] != 200:
                self.blame(f"/livez: {alive}")
            self.mib = max(self.mib, metrics["process_resident_memory_bytes"]
                           / 2**20)
            self.fds = max(self.fds, metrics["process_open_fds"])

    def see_certificate(self, now, der):
        minted = list(self.minted)
        index = [leaf for _, leaf in minted].index(der)
        if index > self.serving:
            at = minted[index][0]
            self.served.append(now - self.outages.back(at, now, ["holder"]))
        elif index < self.serving:
            self.blame("an older certificate is served again")
        self.serving = index
        if index + 1 < len(minted) and now > self.outages.deadline(
                minted[index + 1][0], RELOAD_SLACK, ("holder", "stall")):
            self.blame("a rotated certificate is not served")

    # Faults from outside.  What is started here ends with the thread that
    # started it, so the main thread does all of this.

    def helper(self, key, call):
        """Runs call() in a thread; join(key) waits for it."""
        self.helpers[key] = thread = threading.Thread(
            target=self.guard, args=(call,), daemon=True)
        thread.start()
        return thread

    def join(self, key):
        thread = self.helpers.pop(key, None)
        if thread:
            thread.join()

    def guard(self, call):
        try:
            call()
        except BaseException as e:
            self.blame(f"{getattr(call, '__name__', call)}: {e!r}")

    def counted(self):
        return sum(value for key, value in self.plane.metrics().items()
                   if key.split("{")[0] == FAIL_OPEN)

    def fail_open(self):
        """Reads the API server's own count, which is the last of this life of
        it."""
        self.lives[-1][1:] = [time.time(), self.counted() - self.opened]

    def do_away(self, how):
        self.join("api")  # it may still be starting
        number = signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL

        def stop():
            self.fail_open()
            self.outages.begin("api")
            self.plane.stop_apiserver(number)
            if how == "compaction":
                self.plane.compact()
        self.helper("api", stop)
        self.count["outages"] += 1

    def do_back(self, _):
        # After SIGTERM it closes its port at once, but it stays for as long as
        # it has open watches, a minute at most.
        self.plane.stop_apiserver()
        self.join("api")
        self.plane.start_apiserver(wait=False)
        self.lives.append([time.time(), None, None])
        self.opened = 0

        def ready():
            self.plane.wait_ready()
            self.outages.end("api")
        self.helper("api", ready)

    def do_kill(self, _):
        self.join("holder")
        if not self.holder.alive():
            self.blame("the holder ended by itself")
        self.outages.begin("holder")
        self.holder.kill9()
        self.count["kills"] += 1
        for kind in ("plain", "node_first", "plain"):
            self.submit(kind)

    def do_again(self, _):
        self.holder.start(wait=False)

        def ready():
            self.holder.wait_ready(60)
            self.outages.end("holder")
        self.helper("holder", ready)

    def leaf(self):
        pem = (self.holder.pair / "tls.crt").read_text()
        return ssl.PEM_cert_to_DER_cert(
            pem[:pem.index("-----END CERTIFICATE-----") + 26])

    def do_rotate(self, _):
        certs(self.holder.pair)  # another pair by the same CA
        # Whatever is served from now on is known.
        self.minted.append((time.time(), self.leaf()))
        self.holder.mount.swap(self.holder.pair)
        self.count["rotations"] += 1

    def plan(self, total):
        """Returns [(when, what, how)]: what is done from outside."""
        rng, plan = self.rng, []
        # There is no kill for long after the compaction: a new holder would
        # not notice it.
        ways = ["compaction"] + rng.sample(["SIGTERM", "SIGKILL"], 2)
        for i, how in enumerate(ways):
            at = total * (0.18 + 0.3 * i + rng.uniform(0, 0.05))
            away = rng.uniform(5, 20)
            plan += [(at, "away", how), (at + away, "back", None)]
            if i == 1:  # one kill while the API server is away
                kills = [at + 2]
        for i, part in enumerate((0.08, 0.36, 0.66, 0.92)):
            kills.append(total * (part + rng.uniform(0, 0.03)))
        assert len(kills) == KILLS
        for i, at in enumerate(sorted(kills)):
            plan += [(at, "kill", None), (at + i * 2, "again", None)]
        plan += [(at, "rotate", None)
                 for at in range(ROTATE_S, int(total), ROTATE_S)]
        return sorted(plan, key=lambda p: p[0])

    def run(self, total):
        watching = [self.helper(f.__name__, f) for f in (self.look,
                                                         self.probe)]
        acting = [self.helper(f.__name__, f) for f in (self.stream,
                                                       self.people)]
        try:
            begin = time.time()
            for at, what, how in self.plan(total):
                time.sleep(max(0, begin + at - time.time()))
                if how:
                    print(f"{at:.0f} s: {what}, {how}", flush=True)
                getattr(self, "do_" + what)(how)
            time.sleep(max(0, begin + total - time.time()))
            self.settle(acting)
        finally:
            self.stop.set()
            self.done.set()
            self.pool.shutdown(wait=True, cancel_futures=True)
            for thread in acting + watching:
                thread.join(60)

    def settle(self, acting):
        """Ends with no more machines; the last hold has to end, too."""
        self.join("api")
        self.join("holder")
        self.stop.set()
        for thread in acting:
            thread.join(120)
        for future in self.futures:
            if future.exception():
                self.blame(f"a machine's life: {future.exception()!r}")
        ended = time.time()
        limit = self.outages.deadline(
            ended + STARTUP_S + HOLD_S, RELEASE_SLACK)
        until(lambda: self.judge.past[-1][0].begin > ended
              and not self.marked(), limit - ended + 5,
              lambda: f"everything clear: {self.marked()}", every=0.5)
        theirs = {t: e.value for t, e in self.expectations()}
        for path in (NODES, CLAIMS):
            for name, meta in self.plane.metadata(path).items():
                hold = annotations(meta).get(HOLD)
                if hold is not None and hold != theirs.get((path, name)):
                    self.blame(f"{name}: a hold of nobody: {hold!r}")
        self.fail_open()

    def marked(self):
        return [name for path in (NODES, CLAIMS)
                for name, meta in self.plane.metadata(path).items()
                if MARK in annotations(meta)]

    # What it comes to

    def check_fail_open(self):
        """Compares the API server's count of the creations let through with
        ours."""
        total = 0
        for begin, end, counted in self.lives:
            if counted is None:
                continue  # it was broken off
            mine = [c for c in self.creations
                    if begin <= c.begin <= end and c.result != "not sent"]
            most = sum(self.excused(c) for c in mine)
            least = sum(c.result == "unheld" and c.end < end for c in mine)
            if not least <= counted <= most:
                self.blame(f"{FAIL_OPEN} {counted:.0f}, not from {least} "
                           f"to {most}")
            total += counted
        return total

    def check_log(self):
        """No fault is in the log.  Returns (lines, count of each phrase)."""
        lines = self.holder.logs()
        for line in lines:
            if "raw" in line or line["level"] == "error":
                self.blame(f"in the log: {line}")
        return lines, collections.Counter(e.get("msg") for e in lines)
