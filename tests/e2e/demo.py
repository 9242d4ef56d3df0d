# SPDX-License-Identifier: Apache-2.0
"""make demo: one wave of load, twice, on real Karpenter: without the holder,
and with it."""
import dataclasses
import os
import pathlib
import sys
import threading
import time

import chart
from cluster import DECISIONS, DISRUPTED, PODS, Cluster
from controlplane import BUILD, CLAIMS, NODES, until
from demo_quick import show
from hold import held, seconds
from holder import Holder

LOW, MIDDLE, HIGH = 12, 20, 40
# (replicas, seconds until the next step): load comes, dips, comes back, goes
WAVE = ((HIGH, 22), (MIDDLE, 48), (HIGH, 22), (LOW, 46))
HOLD_SECONDS = 60
BOOT = "10s"    # from a NodeClaim to its Node
SVG = pathlib.Path(os.environ.get("DEMO_SVG") or BUILD / "demo.svg")


@dataclasses.dataclass
class Sample:
    at: float           # seconds since the wave began
    replicas: int       # wanted
    running: int
    nodes: int
    held: int
    decisions: int      # Karpenter's, since the wave began
    disrupted: int      # NodeClaims, likewise


class Run:
    """One wave; looked at twice a second from a thread of its own."""

    def __init__(self, cluster, title):
        self.cluster = cluster
        self.title = title
        self.samples = []
        self.claims = set(cluster.metadata(CLAIMS))
        self.pods = self.pods_now()
        self.first = (len(self.claims), len(self.pods))
        self.decisions = cluster.karpenter_metric(DECISIONS)
        self.disrupted = cluster.karpenter_metric(DISRUPTED)
        self.replicas = LOW
        self.peaks = []     # seconds until all pods of a peak ran
        self.asked = 0      # pods, by scaling up
        self.failure = None
        self.start = time.time()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def pods_now(self):
        return {m["uid"] for m in self.cluster.metadata(PODS).values()}

    def look(self):
        shown, failed = None, 0
        while not self.stopping.is_set():
            begin = time.time()
            try:
                sample = self.sample()
            except Exception as e:
                failed += 1
                if failed < 5:      # the machine may be busy for a moment
                    continue
                self.failure = e
                return
            failed = 0
            self.samples.append(sample)
            row = dataclasses.astuple(sample)[1:]
            if row != shown:
                self.say(sample)
                shown = row
            self.stopping.wait(max(0, begin + 0.5 - time.time()))

    def sample(self):
        c = self.cluster
        nodes = c.metadata(NODES)
        self.claims |= set(c.metadata(CLAIMS))
        self.pods |= self.pods_now()
        return Sample(
            time.time() - self.start, self.replicas, c.ready("web"),
            len(nodes), sum(held(n) for n in nodes.values()),
            int(c.karpenter_metric(DECISIONS) - self.decisions),
            int(c.karpenter_metric(DISRUPTED) - self.disrupted))

    @staticmethod
    def say(s, text=""):
        bar = "#" * s.held + "." * (s.nodes - s.held)
        print(f"{s.at:6.1f} s  pods {s.running:2d}/{s.replicas:2d}  nodes "
              f"{s.nodes:2d} {bar:<12}  held {s.held:2d}  disrupted "
              f"{s.disrupted:2d}  {text}".rstrip(), flush=True)

    def go(self):
        print(f"\n--- {self.title} ---\n(each # a held node, each . another)",
              flush=True)
        self.thread.start()
        try:
            self.wave()
        finally:
            self.stopping.set()
            self.thread.join()
        if self.failure or not self.samples:
            raise RuntimeError("the cluster could not be looked at") \
                from self.failure
        return self

    def wave(self):
        for replicas, lasts in WAVE:
            begin = time.time()
            up = replicas > self.replicas
            print(f"{begin - self.start:6.1f} s  scale "
                  f"{'up' if up else 'down'} to {replicas}", flush=True)
            before, self.replicas = self.replicas, replicas
            self.cluster.scale("web", replicas)
            until(lambda: self.cluster.running("web") == replicas, 60,
                  lambda: f"{replicas} pods running\n"
                  + self.cluster.log_tail("karpenter"), every=0.1)
            if up:
                self.peaks.append(time.time() - begin)
                self.asked += replicas - before
            time.sleep(max(0, begin + lasts - time.time()))

    # What came of it

    @property
    def launched(self):
        return len(self.claims) - self.first[0]

    @property
    def moved(self):
        """Pods made in place of others that were evicted."""
        return len(self.pods) - self.first[1] - self.asked

    @property
    def node_seconds(self):
        return sum(a.nodes * (b.at - a.at)
                   for a, b in zip(self.samples, self.samples[1:]))

    @property
    def in_the_dip(self):
        """NodeClaims disrupted before the load came back."""
        back = sum(lasts for _, lasts in WAVE[:2])
        return max(s.disrupted for s in self.samples if s.at < back)

    def figures(self):
        return {
            "nodes launched": f"{self.launched}",
            "nodes Karpenter disrupted": f"{self.samples[-1].disrupted}",
            "  of them before the second peak": f"{self.in_the_dip}",
            "pods moved": f"{self.moved}",
            "second peak: pods all running after": f"{self.peaks[1]:.1f} s",
            "node-seconds paid for": f"{self.node_seconds:,.0f}",
        }


def settle(cluster):
    """The wave of before has been consolidated, and counts no more."""
    print(f"\nwaiting until the cluster is as it was: {LOW} pods, 3 nodes, "
          f"none younger than {HOLD_SECONDS} s ...", flush=True)

    def settled():
        ages = [time.time() - seconds(m["creationTimestamp"])
                for m in cluster.metadata(NODES).values()]
        return len(ages) == 3 and min(ages) > HOLD_SECONDS + 12
    until(settled, 180, "3 old nodes", every=0.5)


def run(cluster):
    cluster.pool(registration_delay=BOOT)
    cluster.start_karpenter()
    print(f"Karpenter runs; {LOW} pods on their first nodes (each takes "
          f"{BOOT} to boot) ...", flush=True)
    cluster.deploy("web", LOW)
    cluster.wait_running("web", LOW)
    without = Run(cluster, "Karpenter alone").go()

    settle(cluster)
    holder = Holder(cluster, holdDuration=f"{HOLD_SECONDS}s",
                    startupTimeout="5m")
    holder.start()
    holder.register()
    with_it = Run(cluster, f"with the holder, holdDuration {HOLD_SECONDS}s"
                  ).go()
    compare(without, with_it, holder)
    holder.stop()


def compare(without, with_it, holder):
    a, b = without.figures(), with_it.figures()
    print(f"\n{'':38}{'Karpenter alone':>16}{'with the holder':>18}")
    for name in a:
        print(f"{name:38}{a[name]:>16}{b[name]:>18}")
    m = holder.metrics()
    print(f"\nholder: {m['process_resident_memory_bytes'] / 2**20:.1f} MiB "
          f"resident, {m['process_cpu_seconds_total']:.2f} s CPU")
    SVG.write_text(chart.draw([without, with_it], HOLD_SECONDS))
    print(f"picture: {os.path.relpath(SVG)}")


if __name__ == "__main__":
    if not SVG.parent.is_dir():
        sys.exit(f"demo: {SVG.parent}: no such folder, expected one for "
                 "$DEMO_SVG")
    show("etcd, kube-apiserver, controller-manager, scheduler and kwok",
         Cluster(name="demo"), run)
