# SPDX-License-Identifier: Apache-2.0
"""Two replicas behind one address are restarted in turn under load.

The API server asks the address of a Balancer.  A replica that is to end gets
SIGTERM from its kubelet while the Service still sends it new connections, or
just after; open connections stay with it in either case.  A new replica gets
connections once its /readyz says so, as a Deployment's would.
"""
import contextlib
import itertools
import random
import threading
import time

import pytest
import yaml

from balancer import Balancer
from controlplane import CLAIMS, NODES, ApiError, until
from hold import HOLD, annotations, clear, held
from holder import DEPLOY, PATIENT_S, certs
from karpenter import HASHES, claim_body, node_body
from lead import LEASES, NAME, leader, leads, said

RATE = 200          # creations a second
BURST = 8           # at most so many at a time
DRAIN_S = 95        # webhook.drainTimeout, by default
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
REQUESTS = "karpenter_node_holder_admission_requests_total"


class Load:
    """Creates Nodes and NodeClaims at a constant rate, and deletes them.

    It remembers what was not held in the very answer: .unheld has by target
    when the answer came, .made_good the seconds until it was held.
    """

    def __init__(self, plane, rate=RATE, burst=BURST):
        self.plane, self.rate, self.burst = plane, rate, burst
        self.name = f"rolling-{random.randrange(16**6):06x}"
        self.numbers = itertools.count()
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.created, self.slowest = 0, 0.0
        self.unheld, self.made_good, self.faults = {}, {}, []
        self.threads = [threading.Thread(target=self._work, daemon=True)
                        for _ in range(2 * burst)]

    def __enter__(self):
        self.failed_open = -self._failed_open()
        self.begin = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)
        self.seconds = time.monotonic() - self.begin
        self.failed_open += self._failed_open()

    def _failed_open(self):
        return sum(value for key, value in self.plane.metrics().items()
                   if key.startswith(FAIL_OPEN))

    def _work(self):
        while not self.stop.is_set():
            n = next(self.numbers)
            due = self.begin + n // self.burst * self.burst / self.rate
            if self.stop.wait(max(0, due - time.monotonic())):
                return
            try:
                self._one(n)
            except Exception as e:
                with self.lock:
                    self.faults.append(f"{n}: {e}")

    def _one(self, n):
        path, body = ((CLAIMS, claim_body(annotations=HASHES)) if n % 2 else
                      (NODES, node_body(f"{self.name}-{n}")))
        begin = time.monotonic()
        obj = self.plane.create(path, body)
        end = time.monotonic()
        name = obj["metadata"]["name"]
        with self.lock:
            self.created += 1
            self.slowest = max(self.slowest, end - begin)
            if not held(obj):
                self.unheld[path, name] = end
        if not held(obj):
            threading.Thread(target=self._follow, args=[path, name, end],
                             daemon=True).start()
            return
        self.plane.delete(path, name)

    def _follow(self, path, name, since):
        """Measures how long it takes until the leader holds it."""
        with contextlib.suppress(ApiError, OSError):
            while not held(self.plane.get(path, name)):
                time.sleep(0.1)
            self.made_good[path, name] = time.monotonic() - since

    def wait_more(self, count, timeout=30):
        enough = self.created + count
        until(lambda: self.created >= enough, timeout,
              lambda: f"more creations: {self.faults[-3:]}")

    def check(self):
        """The answer to each creation held the object."""
        assert not self.faults, (len(self.faults), self.faults[:5])
        assert not self.unheld, [
            f"{name} after {at - self.begin:.2f} s"
            for (_, name), at in list(self.unheld.items())[:5]]
        assert self.failed_open == 0


# The bodies have 7 MiB at most each, and 32 MiB together.
BODIES = [size << 20 for size in (7, 7, 7, 7, 7, 7)]


@contextlib.contextmanager
def bodies_held(holder):
    """Sends more than the holder has room for, and the last byte of no
    body."""
    with contextlib.ExitStack() as stack:
        for size in BODIES:
            connection = holder.connect()
            stack.callback(connection.close)
            connection.putrequest("POST", "/mutate")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(size))
            # Whoever takes most of the room is closed, perhaps while it sends.
            with contextlib.suppress(OSError):
                connection.endheaders(b" " * (size - 1))
        yield


class Service:
    """The replicas behind the Service, and those that are ending."""

    def __init__(self, plane, make_holder, count=2, timeout=PATIENT_S,
                 **settings):
        self.make = make_holder
        self.pair = certs(plane.dir / f"rolling{time.monotonic_ns()}")
        self.balancer = Balancer(self.pair / "haproxy")
        self.settings = {
            # The default of these tests would cut it short.
            "webhook": {"drainTimeout": f"{DRAIN_S}s"},
            "holdDuration": "1h",
            "leaderElection": {"enabled": True,
                               "namespace": "karpenter-node-holder"},
            "logging": {"level": "debug"}, **settings}
        self.begin = time.monotonic()
        self.going = []
        # Totals after SIGTERM: reviews, open connections, new connections.
        self.answered = self.open = self.new = 0
        self.replicas = [self.start() for _ in range(count)]
        for replica in self.replicas:
            self.join(replica)
        self.replicas[0].register(port=self.balancer.port,
                                  timeout=timeout)
        # The first claim after the creation of its CRD takes the API server
        # 2 s.
        plane.delete(CLAIMS, plane.create(
            CLAIMS, claim_body())["metadata"]["name"])

    def stop(self):
        self.balancer.stop()

    def say(self, what, replica):
        print(f"  {time.monotonic() - self.begin:6.1f} s  {what} "
              f"{replica.dir.name}", flush=True)

    def start(self):
        replica = self.make(start=False, register=False, **self.settings)
        replica.mount.swap(self.pair)
        replica.ca = (self.pair / "ca.crt").read_bytes()
        return replica.start(wait=False)

    def join(self, replica):
        """The Service learns that it is ready."""
        replica.wait_ready()
        self.balancer.add(replica.dir.name, replica.webhook_port)
        self.say("in", replica)

    def leave(self, replica, lag):
        """Sends SIGTERM; the Service stops using it lag seconds later."""
        before = replica.metric(REQUESTS)
        open_then, so_far = self.balancer.connections(replica.dir.name)
        if lag < 0:
            self.balancer.remove(replica.dir.name)
            time.sleep(-lag)
        replica.process.terminate()
        self.say("SIGTERM", replica)
        if lag >= 0:
            time.sleep(lag)
            self.balancer.remove(replica.dir.name)
            self.say(f"out, {lag:.1f} s later,", replica)
        self.going.append(replica)
        self.open += open_then
        self.new += self.balancer.connections(replica.dir.name)[1] - so_far
        if replica.alive():
            self.answered += replica.metric(REQUESTS) - before

    def restart(self, i, surge, lag, gone=False):
        """surge: the new one is ready before the old one ends.  gone: the new
        one starts when the old one has ended."""
        old = self.replicas[i]
        if surge:
            self.replicas[i] = self.start()
            self.join(self.replicas[i])
        self.leave(old, lag)
        if gone:
            self.ended(old)
        if not surge:
            self.replicas[i] = self.start()
            self.join(self.replicas[i])

    def ended(self, replica):
        """It ended in good order, and cut no connection."""
        assert replica.process.wait(DRAIN_S + 10) == 0
        self.say("ended", replica)
        last = replica.logs()[-1]
        assert last["msg"] == "stopped", last
        assert last["connectionsCut"] == 0, last

    def wait_ended(self):
        for replica in self.going:
            self.ended(replica)

    def reaped(self):
        """Returns {awaited: count} of the connections that a deadline closed.
        """
        sums = {}
        for replica in self.replicas + self.going:
            for e in said(replica, "connections closed at their deadline"):
                sums[e["awaited"]] = sums.get(e["awaited"], 0) + e["count"]
        return sums

    def check(self):
        assert self.balancer.refused() == 0
        for replica in self.replicas + self.going:
            errors = [e for e in replica.logs()
                      if "raw" in e or e["level"] == "error"]
            assert not errors, errors[:3]
        leader(self.replicas, 40)

    def report(self, load):
        print(f"""
{load.created} creations in {load.seconds:.0f} s \
({load.created / load.seconds:.0f}/s), {len(self.going)} restarts
  slowest creation     {load.slowest * 1000:.0f} ms
  failed open          {load.failed_open:.0f}; unheld {len(load.unheld)}, \
refused creations {len(load.faults)}
  closed after SIGTERM {self.open} connections, {self.new} that were new; {self.answered:.0f} reviews at once
  connections refused  {self.balancer.refused()}
  closed at deadlines  {self.reaped()}""", flush=True)


@pytest.fixture
def service(plane, make_holder):
    plane.request("DELETE", f"{LEASES}/{NAME}")
    made = []

    def make(**options):
        made.append(Service(plane, make_holder, **options))
        return made[-1]
    yield make
    for one in made:
        one.stop()
    plane.request("DELETE", f"{LEASES}/{NAME}")


@pytest.mark.parametrize(
    "rate", [RATE, pytest.param(4, marks=pytest.mark.long)])
def test_no_admission_fails_while_each_restarts(plane, service, rate):
    """At 4/s few connections are open, and the last one is soon closed."""
    two = service()
    with Load(plane, rate) as load:
        load.wait_more(rate)
        two.restart(0, surge=True, lag=3)
        two.restart(1, surge=False, lag=2)
        two.restart(0, surge=False, lag=-0.5)
        two.restart(1, surge=True, lag=1)
        load.wait_more(rate)
    two.report(load)
    load.check()
    two.check()
    # New connections had to go to the old replicas.
    assert rate < RATE or two.new > 0


def probe():
    """The path of the readinessProbe of deploy/base."""
    containers = yaml.safe_load((DEPLOY / "deployment.yaml").read_text())[
        "spec"]["template"]["spec"]["containers"]
    return containers[0]["readinessProbe"]["httpGet"]["path"]


def test_a_single_replica_is_deleted(plane, service):
    """Its successor is ready some seconds later.  Until then kube-proxy uses
    the one that stops, as long as its readinessProbe is answered by 200."""
    one = service(count=1)
    old, = one.replicas
    with Load(plane) as load:
        load.wait_more(RATE)
        old.process.terminate()
        one.say("SIGTERM", old)
        # Time to be scheduled, to pull the image and to start.
        for _ in range(8):
            time.sleep(0.5)
            if old.probe(probe())[0] != 200 and \
                    one.balancer.up(old.dir.name):
                one.balancer.remove(old.dir.name)
                one.say("out", old)
        one.replicas[0] = one.start()
        one.join(one.replicas[0])
        one.balancer.remove(old.dir.name)
        one.going.append(old)
        load.wait_more(RATE)
    one.report(load)
    load.check()
    one.check()


def test_a_changed_configuration_rolls_in(plane, service):
    """NodePool "other" is left out from now on, and "general" does not notice.
    """
    two = service()

    def other(n):
        return plane.create(NODES, node_body(f"other-{n}", "other"))
    assert held(other(0))
    two.settings["nodePools"] = {"exclude": ["other"]}
    with Load(plane) as load:
        for i in range(2):
            two.restart(i, surge=True, lag=2)
        # Each existing connection is used once more.
        numbers = itertools.count(1)
        until(lambda: not any([held(other(next(numbers)))
                               for _ in range(20)]), 30, "left out")
        # Whichever replica leads now does it.
        until(lambda: all(clear(meta) for name, meta in
                          plane.metadata(NODES).items()
                          if name.startswith("other-")), 30, "clear")
    two.report(load)
    load.check()
    two.check()


CHOSEN = "karpenter-node-holder.io/hold"
ANOTHER = "not ready, the Lease has another hold"


def test_another_hold_annotation_does_not_roll_in(plane, service):
    """The new replica does not become ready, and the old ones go on.  When they
    are evicted, the new one leads with the annotation of the Lease, which may
    have lost it meanwhile.  A rollback is ready at once."""
    two = service()
    leader(two.replicas, 40)

    def chosen():
        return annotations(plane.get(LEASES, NAME)).get(CHOSEN)
    assert chosen() == HOLD + "=true"
    two.settings["holdAnnotation"] = {"key": "example.com/keep",
                                      "value": "yes"}
    with Load(plane) as load:
        new = two.start()
        until(lambda: new.alive() and said(new, ANOTHER), 30, "it says why")
        assert said(new, ANOTHER)[0]["hold"] == HOLD + "=true"
        status, text = new.probe(probe() + "&verbose")
        assert status == 500 and "[-]hold-annotation failed" in text, text
        assert '"configured":false' in new.fetch("/status?format=json")[1]
        load.wait_more(RATE)
    load.check()
    for old in two.replicas:
        two.leave(old, lag=1)
    plane.patch(LEASES, NAME,
                {"metadata": {"annotations": {CHOSEN: None}}})
    until(lambda: leads(new), 60, "it leads")
    until(lambda: chosen() == HOLD + "=true", 20, "the annotation is back")
    name = plane.create(NODES, node_body("unready"))["metadata"]["name"]
    until(lambda: held(plane.metadata(NODES)[name]), 20, "held by the leader")
    assert new.probe(probe())[0] == 500
    del two.settings["holdAnnotation"]
    back = two.start()
    two.join(back)
    assert held(plane.create(NODES, node_body("back")))
    assert chosen() == HOLD + "=true"


def shed(two):
    return sum(r.metric(REQUESTS, result="shed") for r in two.replicas)


def test_no_review_is_shed_for_big_bodies(plane, service):
    """Bodies that never end take at most half of the room.  The reviews of
    real creations find room beside them."""
    two = service()
    with contextlib.ExitStack() as room:
        for replica in two.replicas:
            room.enter_context(bodies_held(replica))
        before = shed(two)
        with Load(plane) as load:
            load.wait_more(2 * RATE)
        assert shed(two) == before
    two.report(load)
    load.check()
    two.check()


@pytest.mark.long
@pytest.mark.parametrize("who", ["the one that follows", "the leader"])
def test_a_kill_is_made_good(plane, service, who):
    """Nothing can be promised after kill -9: reviews under way are cut, and
    new connections are refused until the Service has seen it.  What was
    created unheld meanwhile is counted, and the leader holds it."""
    two = service(timeout=None)
    i = [leads(r) for r in two.replicas].index(who == "the leader")
    with Load(plane, burst=40) as load:    # opens many connections
        load.wait_more(RATE)
        old = two.replicas[i]
        killed = time.monotonic()
        old.kill9()
        two.say("kill -9", old)
        time.sleep(2)       # the time of kubelet, EndpointSlice and kube-proxy
        two.balancer.remove(old.dir.name)
        two.say("out", old)
        load.wait_more(RATE)
        two.replicas[i] = two.start()
        two.join(two.replicas[i])
        load.wait_more(RATE)
        until(lambda: len(load.made_good) == len(load.unheld), 40,
              "held by the leader")
    two.report(load)
    last = max(load.unheld.values(), default=killed) - killed
    print(f"  {who} killed: the last creation unheld {last:.1f} s after it; "
          "held within "
          f"{max(load.made_good.values(), default=0):.1f} s")
    assert not load.faults, load.faults[:5]
    assert load.failed_open == len(load.unheld)
    assert last < 4         # a review has 2 s
    leader(two.replicas, 40)


@pytest.mark.long
def test_idle_connections_are_the_api_servers_to_close(plane, service):
    """Bursts 10 s apart leave the API server idle connections, and some that
    it dialled and never used.  No holder closes one, whether it stays or ends.
    """
    two = service(timeout=None)
    with Load(plane, rate=4, burst=40) as load:
        load.wait_more(40)
        for i in range(2):
            two.restart(i, surge=True, lag=3)
        load.wait_more(200, 90)
        two.wait_ended()
    two.report(load)
    load.check()
    two.check()
    assert not two.reaped()


@pytest.mark.long
def test_no_admission_fails_while_each_restarts_ten_times(plane, service):
    """Five turns are as by a Deployment, and five have no third replica.  Each
    drains to its end, and the load goes on until the last one has ended."""
    two = service(timeout=None)
    lags = random.Random(1)
    with Load(plane) as load:
        load.wait_more(RATE)
        for turn in range(10):
            for i in range(2):
                two.restart(i, surge=turn % 2 == 0, gone=turn == 5,
                            lag=lags.choice((-0.5, 0, 1, 2, 3)))
                load.wait_more(RATE)
        two.wait_ended()
    two.report(load)
    load.check()
    two.check()
    assert len(two.going) == 20
