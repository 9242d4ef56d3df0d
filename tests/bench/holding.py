# SPDX-License-Identifier: Apache-2.0
"""The holder at a real API server, beside client-go."""
import contextlib
import itertools
import json
import re
import signal
import statistics
import subprocess
import time

from concurrent.futures import ThreadPoolExecutor

from controlplane import BUILD, CLAIMS, NODES, REPO, end, spawn, until
from fleet import EXPOSED, Fleet
from hold import HOLD, MARK, annotations, stamp
from holder import LIMITED, Holder, deployed
from measure import (SECONDS, Spent, alone, cpu, curve, heading, note, peak,
                     phases, ratio,
                     resident, setting, settings, turns, wakeups)
from reviews import node, review
from sides import (NUMBERED, OWN, PACED, Folder, Part, beside, load,
                   webhooks)

SIZES = settings("SIZES", "1000 5000 10000")
LOADS = setting("LOADS", 0, 0)
HOLD_S = 4      # holdDuration: what is cleared is due that long after Initialized
WORKERS = setting("WORKERS", 64)    # the peer's, the ceiling's
# The holder's patchConcurrency; 0: what it is without configuration.
CONCURRENCY = setting("CONCURRENCY", 0, 0)
WATCHES = "karpenter_node_holder_watch_up"
DONE = ("karpenter_node_holder_holds_total",
        "karpenter_node_holder_releases_total")
WRITES = "karpenter_node_holder_write_duration_seconds"
names = (f"busy-{i}" for i in itertools.count())


class Ours:
    def __init__(self, plane):
        self.holder = Holder(
            plane, holdDuration=f"{HOLD_S}s", startupTimeout="20m",
            logging={"format": "json", "level": "info"},
            **({"patchConcurrency": CONCURRENCY} if CONCURRENCY else {}))
        self.begun = time.monotonic()
        self.holder.start()
        self.pid = self.holder.process.pid
        until(self._synced, 300, "the holder has listed all", every=0.02)
        self.synced = time.monotonic() - self.begun

    def _synced(self):
        return self.holder.metric(WATCHES) == 4

    def patched(self):
        """How many of its patches were answered."""
        return sum(self.holder.metric(name, result="ok") for name in DONE)

    def writes(self):
        """How many writes were answered, and the sum of their latencies."""
        return (self.holder.metric(WRITES + "_count"),
                self.holder.metric(WRITES + "_sum"))

    def phases(self):
        return phases(self.pid, "sweeper")

    def stop(self):
        self.holder.kill9()


def account(plane):
    """The holder's own.  Whoever writes has it, because the API server does
    more for this one: it checks each write by the policy of deploy/base."""
    objects = deployed(*LIMITED)
    for o in objects:
        plane.apply(o)
    own = next(o for o in objects if o["kind"] == "ServiceAccount")["metadata"]
    return plane.service_account(own["namespace"], own["name"])


class Peer:
    def __init__(self, plane, *flags, user=None):
        name = next(names)
        self.log = plane.dir / f"peer-{name}.log"
        kubeconfig = plane.dir / f"peer-{name}.kubeconfig"
        plane.write_kubeconfig(kubeconfig, user or account(plane))
        self.begun = time.monotonic()
        self.process = spawn(
            [BUILD / "bin" / "bench-holder", "-kubeconfig", kubeconfig,
             "-hold", f"{HOLD_S}s", "-workers", WORKERS, *flags], self.log)
        self.pid = self.process.pid
        until(lambda: self.said("synced"), 300, "the peer has synced",
              every=0.02)
        self.synced = time.monotonic() - self.begun

    def said(self, word):
        """The numbers of its last whole line with that word."""
        text = self.log.read_text().rpartition("\n")[0]
        for line in reversed(text.splitlines()):
            if line.startswith(word):
                return [float(n) for n in re.findall(r"[0-9.]+", line)]
        return None

    def patched(self):
        return (self.said("patches") or [0])[0]

    def writes(self):
        answered, _, took = self.said("patches") or (0, 0, 0)
        return answered, took

    def phases(self):
        return None     # goroutines have none

    def stop(self):
        end(self.process, signal.SIGKILL)


class Observer(Peer):
    """Sees, as any other client, when all are held and when none is."""

    def __init__(self, plane):
        super().__init__(plane, "-observe", "-label", EXPOSED,
                         user=plane.admin)

    def wait(self, whole, since, what, timeout=300):
        """Returns when it saw that, and the exposure: for how long, on the
        average, a machine that Karpenter could take was not held."""
        def there():
            found = self.said("marked")
            if not found or found[2] < since:
                return None
            marked, all_, at, exposed, total, began = found
            if marked != (all_ if whole else 0):
                return None
            return at, total / exposed - (since - began)
        return until(there, timeout, what, every=0.05)


def ceiling(plane, size):
    """Bare libcurl, that patches each Node once, and each once more."""
    paths = "".join(f"{NODES}/node-{i:06}?fieldManager=karpenter-node-holder\n"
                    for i in range(size))
    token = account(plane).token

    def patch(value):
        body = json.dumps({"metadata": {"annotations": {
            HOLD: value, MARK: value and stamp(time.time())}}})
        done = subprocess.run(
            [OWN / "patches", plane.url, plane.dir / "ca.crt", body,
             str(WORKERS)], env={"TOKEN": token},
            input=paths, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert not found["refused"], found
        return found["seconds"]
    before, began = plane.served(), cpu(plane.pid())
    held = patch("true")
    cleared = patch(None)
    after = plane.served()
    return {"held": held, "cleared": cleared,
            "server": (cpu(plane.pid()) - began) / (after[0] - before[0])}


@contextlib.contextmanager
def answered(side, size):
    """Yields a function that waits until the side has had so many patches
    answered, and returns when that was."""
    goal = side.patched() + size

    def there():
        return time.time() if side.patched() >= goal else None
    with ThreadPoolExecutor(1) as pool:
        # Not more often: the holder's CPU is measured meanwhile.
        yield pool.submit(until, there, 300, f"{size} patches answered",
                          0.1).result


def one_spread(plane, observer, name, size):
    """One NodeClaim comes, all are held; it settles, all are cleared."""
    side = Ours(plane) if name == "ours" else Peer(plane)
    machine = next(names)
    try:
        before = plane.served()
        written, swept = side.writes(), side.phases()
        with Spent(side=side.pid, server=plane.pid()) as spent, \
                answered(side, size) as held:
            begun = time.time()
            plane.busy(machine)
            seen, exposure = observer.wait(True, begun, f"{name}: all held")
            held_seen = seen - begun
            held = held() - begun
        middle = plane.served()
        written = [after - first
                   for after, first in zip(side.writes(), written)]
        if swept:
            swept = [(after - first) / held
                     for after, first in zip(side.phases(), swept)]
        clear_cpu = cpu(side.pid)
        with answered(side, size) as cleared:
            at = time.time()
            due = plane.quiet(machine) + HOLD_S
            cleared_seen = observer.wait(
                False, at, f"{name}: all cleared")[0] - due
            cleared = cleared() - due
        clear_cpu = cpu(side.pid) - clear_cpu
        after = plane.served()
        return {
            "held": held, "held_seen": held_seen, "exposure": exposure,
            "cleared": cleared, "cleared_seen": cleared_seen,
            "cpu": spent.cpu["side"] + clear_cpu, "peak": peak(side.pid),
            "server": spent.cpu["server"] / (middle[0] - before[0]),
            # Little's law: the sum of the durations, by the time it took.
            "flight": (middle[2] - before[2]) / held,
            "latency": (middle[2] - before[2]) / (middle[0] - before[0]) * 1e3,
            "client": written[1] / written[0] * 1e3,
            "client_flight": written[1] / held, "swept": swept,
            "patches": after[0] - before[0],
            "conflicts": after[1] - before[1], "where": str(spent)}
    finally:
        side.stop()
        plane.delete(CLAIMS, machine)


def spread():
    """first new NodeClaim -> all held -> all cleared, at SIZES, beside LOADS"""
    with Fleet() as plane, beside(LOADS):
        for size in SIZES:
            heading(f"spread: {size:,} machines" + (
                f", beside {LOADS} competing" if LOADS else ""))
            plane.grow(size)
            observer = Observer(plane)
            one_spread(plane, observer, "ours", size)     # warms the server up

            def run(name):
                if name == "ceiling":
                    return ceiling(plane, size)
                return one_spread(plane, observer, name, size)
            found = turns(["ours", "peer", "ceiling"], run)
            observer.stop()
            tell_spread(found, size)


def tell_spread(found, size):
    def of(side, what):
        return [f[what] for f in found[side]]

    beside = f", beside {LOADS} competing" if LOADS else ""
    for what in ("held", "cleared"):
        rate = {side: [size / v for v in of(side, what)] for side in found}
        ratio(f"machines {what} a second, of {size:,}{beside}", rate["ours"],
              rate["peer"], 1.2 if LOADS else 1.4, unit="/s")
        ratio(f"machines {what} a second, of {size:,}{beside}", rate["ours"],
              rate["ceiling"], unit="/s", than="ceiling")
        ratio(f"time until a third client sees {size:,} {what}{beside}",
              of("ours", f"{what}_seen"), of("peer", f"{what}_seen"),
              unit=" s")
    # In random order a machine waits for half of the time, on the average.
    ratio(f"exposure, {size:,}{beside}", of("ours", "exposure"),
          [seen / 2 for seen in of("ours", "held_seen")], 0.25, less=True,
          unit=" s", than="same spread in random order")
    ratio(f"exposure, {size:,}{beside}", of("ours", "exposure"),
          of("peer", "exposure"), unit=" s")
    if not LOADS:
        for side in ("ours", "peer"):
            for what in ("held", "exposure"):
                curve(what, side, size, statistics.median(of(side, what)))
    ratio(f"CPU, {size:,}{beside}", of("ours", "cpu"), of("peer", "cpu"), 0.3,
          less=True, unit=" s")
    ratio(f"memory at most, {size:,}{beside}", of("ours", "peak"), of("peer", "peak"),
          0.1, less=True, unit=" MiB")
    ratio(f"the API server's CPU per patch, {size:,}{beside}",
          [1e6 * v for v in of("ours", "server")],
          [1e6 * v for v in of("peer", "server")], 1, less=True, unit=" µs")
    ratio(f"the API server's CPU per patch, {size:,}{beside}",
          [1e6 * v for v in of("ours", "server")],
          [1e6 * v for v in of("ceiling", "server")], unit=" µs",
          than="ceiling")
    for side in ("ours", "peer"):
        note(f"{side}: patches under way in the API server "
             f"{statistics.median(of(side, 'flight')):.1f}, each for "
             f"{statistics.median(of(side, 'latency')):.1f} ms; at the client "
             f"{statistics.median(of(side, 'client_flight')):.1f}, each for "
             f"{statistics.median(of(side, 'client')):.1f} ms; "
             f"{statistics.median(of(side, 'patches')):,.0f} patches, "
             f"{statistics.median(of(side, 'conflicts')):.0f} × 409; "
             f"cores: {found[side][-1]['where']}")
    computed, waited = (statistics.median(part) * 100
                        for part in zip(*of("ours", "swept")))
    note(f"the sweeper computed for {computed:.0f} % of the time, waited for a "
         f"processor for {waited:.0f} %, and for answers for "
         f"{100 - computed - waited:.0f} %")


def list_part():
    """list and watch of SIZES' largest: CPU, memory, start to synced"""
    size = max(SIZES)
    heading(f"list: {size:,} Nodes and {size:,} NodeClaims, listed")
    with Fleet() as plane:
        plane.grow(size)

        def run(name):
            side = Ours(plane) if name == "ours" \
                else Peer(plane, "-watch-only")
            try:
                used = cpu(side.pid)
                time.sleep(1)
                return {"synced": side.synced, "cpu": used,
                        "resident": resident(side.pid), "peak": peak(side.pid)}
            finally:
                side.stop()
        run("ours")
        tell_list(turns(["ours", "peer"], run))


def tell_list(found):
    def of(side, what):
        return [f[what] for f in found[side]]
    ratio("CPU from start to synced", of("ours", "cpu"), of("peer", "cpu"),
          0.25, less=True, unit=" s", than="informer")
    ratio("resident when synced", of("ours", "resident"),
          of("peer", "resident"), 0.1, less=True, unit=" MiB", than="informer")
    alone("resident when synced", of("ours", "resident"), 24, " MiB")
    ratio("start to synced", of("ours", "synced"), of("peer", "synced"),
          unit=" s", than="informer")


POLICY = REPO / "deploy" / "components" / "admission-policy" / "policy.yaml"
WAYS = ["none", "ours", "peer", "policy"]


def switch(plane, way, hooks, on):
    """Turns on, or off, what holds new Nodes, and waits until it is so."""
    if way == "policy":
        plane.kubectl("apply" if on else "delete", "-f", POLICY)
    elif way != "none" and on:
        plane.register(hooks[way].port, hooks[way].folder.path / "pair")
    elif way != "none":
        plane.unregister()
    wanted = on and way != "none"
    until(lambda: (MARK in annotations(plane.create(
        NODES + "?dryRun=All", node("probe")))) == wanted, 30, way)


def creations():
    """creations of Nodes through the API server, with and without a webhook"""
    heading("creations: Nodes created through the API server, 16 at a time")
    body = json.dumps({**node("NAME")})
    with Fleet() as plane, Folder("bench") as folder:
        token = plane.superuser()
        hooks = webhooks(folder, ["ours", "peer"])

        def run(way):
            switch(plane, way, hooks, True)
            prefix = next(names)
            with Spent(server=plane.pid(), **{
                    n: hook.pid for n, hook in hooks.items()}) as spent:
                found = load(folder.path, plane.port, body.encode(), 16,
                             SECONDS, NODES, token,
                             NUMBERED.format(prefix=prefix + "-"))
            each = {n: c / found["requests"] * 1e6
                    for n, c in spent.cpu.items()}
            last = plane.get(NODES, f"{prefix}-{found['requests'] // 2}")
            assert (MARK in annotations(last)) == (way != "none"), way
            switch(plane, way, hooks, False)
            plane.ok("DELETE", NODES, timeout=120)
            return {"rate": found["requests"] / found["seconds"],
                    "p99": found["p99"], "server": each["server"],
                    "hook": each.get(way, 0)}
        run("none")     # warms the server up
        found = turns(WAYS, run)

    def of(side, what):
        return [f[what] for f in found[side]]
    bare = "API server without a webhook"
    ratio("creations/s", of("ours", "rate"), of("none", "rate"), 0.9,
          unit="/s", than=bare)
    ratio("creations/s with the peer", of("peer", "rate"), of("none", "rate"),
          unit="/s", than=bare)
    ratio("creations/s with the policy", of("policy", "rate"),
          of("none", "rate"), unit="/s", than=bare)
    ratio("p99 of a creation", of("ours", "p99"), of("peer", "p99"),
          unit=" ms")
    ratio("the API server's CPU per creation", of("ours", "server"),
          of("peer", "server"), unit=" µs")
    # What a creation costs more than without a webhook, and whom.
    more = [a - b for a, b in zip(of("ours", "server"), of("none", "server"))]
    ratio("the webhook's CPU per creation", of("ours", "hook"), more,
          unit=" µs", than="API server's additional CPU for calling it")


def quiet():
    """the webhook's p99 while it spreads, and while /metrics is scraped"""
    size = max(SIZES)
    heading(f"quiet: 800 reviews/s, and {size:,} machines")
    body = review(3000)
    with Fleet() as plane:
        plane.grow(size)
        observer = Observer(plane)
        side = Ours(plane)

        def reviews(seconds):
            return load(plane.dir, side.holder.webhook_port, body, 4, seconds,
                        more=PACED)["p99"]

        def run(what):
            if what == "quiet":
                return reviews(SECONDS)
            if what == "scraped":
                with ThreadPoolExecutor(1) as pool:
                    p99 = pool.submit(reviews, SECONDS)
                    while not p99.done():
                        side.holder.metrics()
                        time.sleep(0.1)
                    return p99.result()
            machine, begun = next(names), time.time()
            plane.busy(machine)
            p99 = reviews(SECONDS)      # SIZES should keep it busy for longer
            observer.wait(True, begun, "all held")
            begun = time.time()
            plane.quiet(machine)
            observer.wait(False, begun, "all cleared")
            plane.delete(CLAIMS, machine)
            return p99
        found = turns(["quiet", "spreading", "scraped"], run)
        side.stop()
        observer.stop()
    for what in ("spreading", "scraped"):
        ratio(f"p99 while {what}", found[what], found["quiet"], 1.5, less=True,
              unit=" ms", than="quiet p99")


def idle():
    """watching SIZES' largest while statuses change: CPU and wake-ups"""
    size = max(SIZES)
    heading(f"idle: {size:,} machines, 50 status updates a second")
    with Fleet() as plane:
        plane.grow(size)

        def run(name):
            side = Ours(plane) if name == "ours" \
                else Peer(plane, "-watch-only")
            try:
                time.sleep(2)
                used, woken, begun = cpu(side.pid), wakeups(side.pid), \
                    time.monotonic()
                for i in range(500):
                    plane.patch(NODES, f"node-{i % size:06}/status", {
                        "status": {"nodeInfo": {"bootID": f"{name}{i}{begun}"}
                                   }})
                    time.sleep(max(0, begun + i / 50 - time.monotonic()))
                took = time.monotonic() - begun
                return {"cpu": (cpu(side.pid) - used) / took,
                        "woken": (wakeups(side.pid) - woken) / took}
            finally:
                side.stop()
        found = turns(["ours", "peer"], run)
        ratio("CPU while idle", [f["cpu"] * 1e3 for f in found["ours"]],
              [f["cpu"] * 1e3 for f in found["peer"]], 0.25, less=True,
              unit=" ms/s", than="informer")
        ratio("wake-ups", [f["woken"] for f in found["ours"]],
              [f["woken"] for f in found["peer"]], unit="/s", than="informer")


NEEDS = ("plane", "bench-holder")
PARTS = {"creations": Part(creations, ("plane", "bench-webhook")),
         "spread": Part(spread, NEEDS), "list": Part(list_part, NEEDS),
         "idle": Part(idle, NEEDS), "quiet": Part(quiet, NEEDS)}
