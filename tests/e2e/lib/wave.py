# SPDX-License-Identifier: Apache-2.0
"""One Deployment scaled up and down on real Karpenter, and what resulted, for
make demo and test_churn.py."""
import dataclasses
import threading
import time

from cluster import DECISIONS, DISRUPTED, PODS
from controlplane import CLAIMS, NODES, until
from hold import held, seconds

BOOT = "10s"    # from a NodeClaim to its Node


@dataclasses.dataclass
class Sample:
    at: float           # seconds since the wave began
    replicas: int       # replicas wanted
    running: int
    nodes: int
    held: int
    decisions: int      # Karpenter's decisions since the wave began
    disrupted: int      # disrupted NodeClaims, likewise
    exposed: int        # nodes that are neither held nor going


class Wave:
    """steps are (replicas, seconds until the next step) of the Deployment
    "web", low of whose replicas run at first.  A thread of its own samples
    twice a second."""

    def __init__(self, cluster, title, low, steps):
        self.cluster = cluster
        self.title = title
        self.steps = steps
        self.samples = []
        self.claims = set(cluster.metadata(CLAIMS))
        self.pods = self.pods_now()
        self.first = (len(self.claims), len(self.pods))
        self.first_decisions = cluster.karpenter_metric(DECISIONS)
        self.first_disrupted = cluster.karpenter_metric(DISRUPTED)
        self.replicas = low
        self.peaks = []     # seconds until all pods of each peak ran
        self.asked = 0      # pods that scaling up asked for
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
            row = dataclasses.astuple(sample)[1:-1]
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
            int(c.karpenter_metric(DECISIONS) - self.first_decisions),
            int(c.karpenter_metric(DISRUPTED) - self.first_disrupted),
            sum(not held(n) and "deletionTimestamp" not in n
                for n in nodes.values()))

    @staticmethod
    def say(s, text=""):
        bar = "#" * s.held + "." * (s.nodes - s.held)
        print(f"{s.at:6.1f} s  pods {s.running:2d}/{s.replicas:2d}  nodes "
              f"{s.nodes:2d} {bar:<12}  held {s.held:2d}  decided "
              f"{s.decisions:2d}  disrupted {s.disrupted:2d}  "
              f"{text}".rstrip(), flush=True)

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
        for replicas, lasts in self.steps:
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
    def span(self):
        """When it began and ended."""
        return self.start, self.start + self.samples[-1].at

    @property
    def disrupted(self):
        return self.samples[-1].disrupted

    @property
    def launched(self):
        return len(self.claims) - self.first[0]

    @property
    def moved(self):
        """How many pods were made in place of evicted ones."""
        return len(self.pods) - self.first[1] - self.asked

    def integral(self, value):
        return sum(value(a) * (b.at - a.at)
                   for a, b in zip(self.samples, self.samples[1:]))

    @property
    def node_seconds(self):
        return self.integral(lambda s: s.nodes)


def ages(cluster):
    """The ages of its nodes, in seconds."""
    return [time.time() - seconds(m["creationTimestamp"])
            for m in cluster.metadata(NODES).values()]
