# SPDX-License-Identifier: Apache-2.0
"""make demo-quick: the holder's main job, live, on a real API server."""
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "lib"), str(HERE.parent)]

from controlplane import NODES, ControlPlane, end_on_signals  # noqa: E402
from hold import HOLD, annotations, held  # noqa: E402
from holder import Holder  # noqa: E402
from karpenter import Karpenter  # noqa: E402

EXISTING = 200
HOLD_SECONDS = 12
OWN = "a person's own hold"


class Timeline:
    """What the cluster holds, sampled ten times a second."""

    def __init__(self, plane):
        self.plane = plane
        self.start = time.time()
        self.samples = []       # (time, nodes, held)
        self.own = ""
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        shown = None
        while not self.stopping.is_set():
            try:
                nodes = self.plane.metadata(NODES)
            except Exception:
                return  # the control plane ends before this thread
            sample = (len(nodes), sum(held(n) for n in nodes.values()))
            self.samples.append((time.time(), *sample))
            if sample != shown:
                self.say()
                shown = sample
            time.sleep(0.1)

    def say(self, text=""):
        at, nodes, count = self.samples[-1] if self.samples else (0, 0, 0)
        bar = "#" * round(30 * count / nodes) if nodes else ""
        print(f"{time.time() - self.start:6.1f} s  nodes {nodes:3d}  "
              f"held {count:3d}  |{bar:<30}|  {text}".rstrip(), flush=True)

    def when(self, check, after, timeout=60):
        """The time of the first sample after `after` that passes the check."""
        deadline = time.time() + timeout
        done = 0
        while time.time() < deadline:
            for at, nodes, count in self.samples[done:]:
                done += 1
                if at >= after and check(nodes, count):
                    return at
            time.sleep(0.05)
        sys.exit(f"demo: nothing of that happened within {timeout} s")

    def stop(self):
        self.stopping.set()
        self.thread.join()


def scale_up(karpenter, line, count, what):
    """Makes all claims at once, then boots their machines."""
    at = time.time()
    line.say(f"<- {what}: {count} NodeClaims, held in the answer to their "
             "creation")
    machines = [karpenter.claim() for _ in range(count)]
    for m in machines:
        karpenter.launch(m)
        karpenter.boot(m)
        karpenter.register(m)
        karpenter.initialize(m)
    line.say(f"   their {count} Nodes are ready")
    return machines, at


def run(plane):
    plane.install_crds()
    karpenter = Karpenter(plane)
    print(f"making a cluster of {EXISTING} nodes, none of them held "
          f"({HOLD_SECONDS} s, so that none counts as new) ...", flush=True)
    old = karpenter.settled(EXISTING)
    made = time.time()
    own = old[0].node
    plane.patch(NODES, own, {"metadata": {"annotations": {HOLD: "true"}}})
    time.sleep(max(0, made + HOLD_SECONDS + 1 - time.time()))
    holder = Holder(plane, holdDuration=f"{HOLD_SECONDS}s",
                    startupTimeout="60s")
    holder.start()
    holder.register()
    print(f"holder is serving; holdDuration {HOLD_SECONDS} s; one node "
          f"({own}) has {OWN}\n", flush=True)
    line = Timeline(plane)
    line.when(lambda nodes, count: nodes == EXISTING and count == 0, 0)
    before_all = holder.metrics()

    first, at = scale_up(karpenter, line, 3, "scale-up")
    total = EXISTING + len(first)
    all_held = line.when(lambda n, c: n == total and c == total - 1, at)
    line.say("   held: all but the person's")
    time.sleep(max(0, first[-1].ready + HOLD_SECONDS / 2 - time.time()))

    second, moved = scale_up(karpenter, line, 2, "another scale-up")
    total += len(second)
    before, after = first[-1].ready, max(m.ready for m in second)
    line.say(f"   the release moves by {after - before} s")
    line.when(lambda n, c: n == total and c == total - 1, moved)
    quiet = after + HOLD_SECONDS
    clear = line.when(lambda n, c: n == total and c == 0, moved, 90)
    dropped = line.when(lambda n, c: n == total and c < total - 1, after + 1)
    line.say("   quiet: released")
    line.stop()

    print(f"""
what was measured
  {total - 1} Nodes held, the last one {all_held - at:.1f} s after the first NodeClaim
  first node released {dropped - quiet:+.1f} s, last one {clear - quiet:+.1f} s from the quiet time
  ({HOLD_SECONDS} s after the last machine became ready)""")
    kept = annotations(plane.metadata(NODES)[own])
    print(f"  {OWN} is {'untouched' if kept.get(HOLD) == 'true' else 'GONE'}")
    m = holder.metrics()

    def patches(kind):
        name = f'karpenter_node_holder_{kind}_total{{result="ok"}}'
        return m[name] - before_all[name]
    print("  holder: {:.0f} old Nodes held by patch, {:.0f} Nodes and "
          "NodeClaims released, "
          "{:.1f} MiB resident, {:.2f} s CPU".format(
              patches("holds"), patches("releases"),
              m["process_resident_memory_bytes"] / 2**20,
              m["process_cpu_seconds_total"]))
    holder.stop()


def show(what, plane, run):
    """Starts the plane and runs the demo; ends everything, whatever happens.
    """
    end_on_signals()
    begun = time.time()
    print(f"starting {what} on 127.0.0.1 ...", flush=True)
    try:
        with plane as plane:
            run(plane)
    except KeyboardInterrupt:
        sys.exit("demo: interrupted; everything is stopped")
    print(f"demo ended after {time.time() - begun:.0f} s")


if __name__ == "__main__":
    show("etcd and kube-apiserver", ControlPlane(name="demo"), run)
