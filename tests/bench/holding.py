# SPDX-License-Identifier: Apache-2.0
"""The holder at a real API server, beside client-go."""
import contextlib
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import time

from controlplane import BUILD, CLAIMS, NODES, end, spawn, until
from fleet import Fleet
from holder import Holder
from measure import (Spent, cpu, heading, note, peak, ratio, resident, turns,
                     wakeups)
from sides import OWN, Part

SIZES = [int(n) for n in os.environ.get("SIZES", "1000 5000 10000").split()]
LOADS = int(os.environ.get("LOADS", 0))
HOLD_S = 4      # holdDuration: what is cleared is due that long after Initialized
WORKERS = 64
WATCHES = "karpenter_node_holder_watch_up"
names = (f"busy-{i}" for i in itertools.count())


@contextlib.contextmanager
def competing():
    """LOADS processes that compute, beside what is measured."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"],
                             stdin=subprocess.DEVNULL) for _ in range(LOADS)]
    try:
        yield
    finally:
        for process in busy:
            end(process, signal.SIGKILL)


class Ours:
    def __init__(self, plane):
        self.holder = Holder(
            plane, holdDuration=f"{HOLD_S}s", startupTimeout="20m",
            # As by default, the other settings are those of README.md.
            logging={"format": "json", "level": "info"})
        self.begun = time.monotonic()
        self.holder.start()
        self.pid = self.holder.process.pid
        until(self._synced, 300, "the holder has listed all", every=0.02)
        self.synced = time.monotonic() - self.begun

    def _synced(self):
        return self.holder.metric(WATCHES) == 4

    def stop(self):
        self.holder.kill9()


class Peer:
    def __init__(self, plane, *flags):
        self.log = plane.dir / f"peer{next(names)}.log"
        self.begun = time.monotonic()
        self.process = spawn(
            [BUILD / "bin" / "bench-holder", "-kubeconfig", plane.kubeconfig,
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

    def stop(self):
        end(self.process, signal.SIGKILL)


class Observer(Peer):
    """Sees, as any other client, when all are held and when none is."""

    def __init__(self, plane):
        super().__init__(plane, "-observe")

    def wait(self, whole, since, what, timeout=300):
        def there():
            found = self.said("marked")
            if not found or found[2] < since:
                return None
            return found[2] if found[0] == (found[1] if whole else 0) \
                else None
        return until(there, timeout, what, every=0.05)


def ceiling(plane, size):
    """Bare libcurl, that patches each Node once, and each once more."""
    paths = "".join(f"{NODES}/node-{i:06}\n" for i in range(size))

    def patch(value):
        body = json.dumps({"metadata": {"annotations": {
            "example.com/a": value, "example.com/b": value}}})
        done = subprocess.run(
            [OWN / "patches", plane.url, plane.dir / "ca.crt",
             plane.admin.cert, plane.admin.key, body, str(WORKERS)],
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


def one_spread(plane, observer, name, size):
    """One NodeClaim comes, all are held; it settles, all are cleared."""
    side = Ours(plane) if name == "ours" else Peer(plane)
    machine = next(names)
    try:
        before = plane.served()
        with Spent(side=side.pid, server=plane.pid()) as spent:
            begun = time.time()
            plane.busy(machine)
            seen = observer.wait(True, begun, f"{name}: all held")
        at = time.time()
        middle = plane.served()
        due = plane.quiet(machine) + HOLD_S
        clear_cpu = cpu(side.pid)
        seen_clear = observer.wait(False, at, f"{name}: all cleared")
        after = plane.served()
        clear_cpu = cpu(side.pid) - clear_cpu
        done = after[0] - before[0]
        found = {
            "held": seen - begun, "cleared": seen_clear - due,
            "cpu": spent.cpu["side"] + clear_cpu, "peak": peak(side.pid),
            "server": spent.cpu["server"] / (middle[0] - before[0]),
            # Little's law: the sum of the durations, by the time it took.
            "flight": (middle[2] - before[2]) / (seen - begun),
            "latency": (middle[2] - before[2]) / (middle[0] - before[0]) * 1e3,
            "patches": done, "conflicts": after[1] - before[1],
            "where": str(spent), "resident": resident(side.pid)}
    finally:
        side.stop()
        plane.delete(CLAIMS, machine)
    return found


def spread():
    """first new NodeClaim -> all held -> all cleared, at SIZES, beside LOADS"""
    with Fleet() as plane, competing():
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

    for what in ("held", "cleared"):
        rate = {side: [size / v for v in of(side, what)] for side in found}
        ratio(f"machines {what} a second, of {size:,}", rate["ours"],
              rate["peer"], 1.2 if LOADS else 1.4, unit="/s")
        ratio(f"machines {what} a second, of {size:,}", rate["ours"],
              rate["ceiling"], unit="/s", than="ceiling")
    ratio(f"CPU, {size:,}", of("ours", "cpu"), of("peer", "cpu"), 0.3,
          less=True, unit=" s")
    ratio(f"memory at most, {size:,}", of("ours", "peak"), of("peer", "peak"),
          0.1, less=True, unit=" MiB")
    ratio(f"the API server's CPU per patch, {size:,}",
          [1e6 * v for v in of("ours", "server")],
          [1e6 * v for v in of("peer", "server")], 1, less=True, unit=" µs")
    ratio(f"the API server's CPU per patch, {size:,}",
          [1e6 * v for v in of("ours", "server")],
          [1e6 * v for v in of("ceiling", "server")], unit=" µs",
          than="ceiling")
    for side in ("ours", "peer"):
        note(f"{side}: patches under way in the API server "
             f"{statistics.median(of(side, 'flight')):.1f}, each for "
             f"{statistics.median(of(side, 'latency')):.1f} ms; "
             f"{statistics.median(of(side, 'patches')):,.0f} patches, "
             f"{statistics.median(of(side, 'conflicts')):.0f} × 409; "
             f"cores: {found[side][-1]['where']}")


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
    ratio("start to synced", of("ours", "synced"), of("peer", "synced"),
          unit=" s", than="informer")


def creations():
    """creations of Nodes through the API server: no webhook, ours, the peer's,
    and a MutatingAdmissionPolicy"""
    heading("creations: Nodes a second")
    with Fleet() as plane:
        folder = plane.dir
        holder = Ours(plane).holder
        port = free_port()
        peer = spawn([BUILD / "bin" / "bench-webhook", "-port", port,
                      "-cert-dir", holder.pair], folder / "peer-webhook.log")
        numbers = itertools.count()

        def create(_):
            plane.create(NODES, node(f"new-{next(numbers):06}"))

        def run(name):
            if name == "ours":
                holder.register()
            elif name == "peer":
                holder.register(port=port)
            elif name == "policy":
                for obj in policy():
                    plane.apply_any(obj)
            used = cpu(plane.pid())
            begun, first = time.monotonic(), next(numbers)
            while time.monotonic() - begun < SECONDS:
                plane.many(create, range(64), 8)
            took, done = time.monotonic() - begun, next(numbers) - first - 1
            used = cpu(plane.pid()) - used
            wrong = wrongly(plane, f"new-{first + 1:06}", name != "none")
            assert not wrong, (name, wrong)
            if name in ("ours", "peer"):
                holder.unregister()
            elif name == "policy":
                for obj in policy():
                    plane.delete(ADMISSION_PATHS[obj["kind"]],
                                 obj["metadata"]["name"])
            for n in range(first + 1, first + 1 + done):
                plane.request("DELETE", f"{NODES}/new-{n:06}")
            return {"rate": done / took, "server": used / done * 1e6}
        found = turns(["none", "ours", "peer", "policy"], run)
        end(peer, signal.SIGKILL)

    def of(side, what):
        return [f[what] for f in found[side]]
    ratio("creations/s", of("ours", "rate"), of("none", "rate"), 0.9,
          unit="/s", than="same without a webhook")
    for other in ("peer", "policy"):
        ratio("creations/s", of(other, "rate"), of("none", "rate"), unit="/s",
              than=f"same without a webhook (here \"ours\" is the {other})")
    ratio("the API server's CPU per creation", of("ours", "server"),
          of("peer", "server"), unit=" µs")


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
PARTS = {"spread": Part(spread, NEEDS), "list": Part(list_part, NEEDS),
         "idle": Part(idle, NEEDS)}
