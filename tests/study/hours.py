# SPDX-License-Identifier: Apache-2.0
"""Loads of hours at real time scale, for the lab (docs/study.md#loads-of-hours).
"""
import bisect
import math
import random

import loads

H = 3600
PEAK = 15           # o'clock
WORK, REST = 6, 22  # between which hours of the day a load lies
NODE_CPU = 4.5      # what the pods of a node ask for, on average
QUEUES = 4
SPREAD = 0.7        # the share of small pods that is spread over the nodes


class Day(loads.Maker):
    """Some hours of a day: where in the day they lie is spread evenly over
    the seeds."""

    # CronJobs keep the last few.
    finished = {"ttlSecondsAfterFinished": 60}
    # About what agents for logs, metrics and the network ask for together.
    daemon = {"cpu": "150m", "memory": "256Mi"}

    def __init__(self, rng, minutes, seed, size=1):
        """size: times ten nodes."""
        super().__init__(rng, minutes)
        self.size = size
        spare = max(0.0, REST - WORK - minutes / 60)
        self.begin = WORK + spare * (seed * (math.sqrt(5) - 1) / 2 % 1)
        self.jitter = 30.0

    def clock(self, at):
        """The hour of the day."""
        return (self.begin + at / H) % 24

    def by_chance(self, an_hour, begin=0.0):
        """Moments; an_hour: at -> how many of them."""
        most, at = max(map(an_hour, range(int(begin), int(self.end), 60))), begin
        while (at := at + self.rng.expovariate(most / H)) < self.end:
            if self.rng.random() * most < an_hour(at):
                yield at

    def demand(self, bursts, shift=0.0):
        """at -> 0 to 1: low at 3:00 and high at 15:00, shifted by hours, with
        bursts of minutes."""
        burst = [(self.rng.uniform(0, self.end), self.rng.uniform(0.1, 0.35),
                  self.rng.uniform(300, 1500))
                 for _ in range(round(bursts * self.end / (24 * H)))]
        noise = [self.rng.uniform(-0.03, 0.03)
                 for _ in range(int(self.end // 60) + 1)]

        def demand(at):
            base = 0.45 + 0.33 * math.cos(
                2 * math.pi * (self.clock(at) - PEAK - shift) / 24)
            return min(1, base + noise[int(at // 60)] + sum(
                more for t, more, lasts in burst if 0 <= at - t < lasts))
        return demand

    def serve(self, name, most, bursts, shift=0.0, pool=None):
        """A Deployment behind an HPA with its defaults."""
        self.follow(name, self.demand(bursts, shift), most * self.size, 300,
                    tolerance=0.1, pool=pool)

    def services(self):
        for name, most, shift in (("web", 28, 0), ("api", 16, -1.5),
                                  ("back", 11, 1)):
            self.serve(name, most, 48, shift)

    def nodes(self):
        """at -> about how many nodes the Deployments need."""
        total, steps, now = 0, [], {}
        for e in sorted(self.events, key=lambda e: e["timestamp"]):
            if e["kind"] == "Deployment":
                new = (e["replicas"] if e["type"] == "scale" else
                       e["deployment"]["spec"]["replicas"])
                total += new - now.get(e["key"], 0)
                now[e["key"]] = new
                steps.append((self.at(e), total))
        return lambda at: 0.9 / NODE_CPU * steps[
            max(0, bisect.bisect(steps, (at, math.inf)) - 1)][1]

    def come_and_go(self, every_s):
        """On a node a small pod starts or ends every so many seconds: those of
        workers that follow queues, which kube-scheduler spreads over the
        nodes, and short Jobs, as CronJobs start them, which it puts where
        most is free."""
        nodes = self.nodes()
        cycle = 2 * QUEUES * every_s / SPREAD
        for i in range(QUEUES):
            self.deploy(f"queue-{i}", 0, cpu="50m")
            at = self.rng.uniform(0, cycle)
            while at < self.end:
                self.scale(at, f"queue-{i}", max(1, round(nodes(at))))
                self.scale(at + cycle * self.rng.uniform(0.25, 0.45),
                           f"queue-{i}", 0)
                at += cycle * self.rng.uniform(0.8, 1.2)
        for at in self.by_chance(
                lambda at: nodes(at) * H * (1 - SPREAD) / (2 * every_s)):
            self.job(at, self.rng.uniform(20, 110), {"cpu": "50m"})

    def bursts_of_jobs(self, most, pods, pool=None):
        """Teams submit Jobs, at 10:30 and 15:00 most of all: in a burst some
        that live for 10 to 30 minutes, and one of twenty for 2 to 3 hours."""
        def an_hour(at):
            return self.size * (0.5 + most * sum(
                math.exp(-((self.clock(at) - hour) / 2.4) ** 2)
                for hour in (10.5, 15)))
        # Those of the hours before are still there.
        for burst in self.by_chance(an_hour, begin=-3 * H):
            cpu = self.rng.choice(["500m", "1", "1", "2"])
            for _ in range(self.rng.randint(*pods)):
                at = burst + self.rng.uniform(0, 20)
                ends = at + (self.rng.uniform(2, 3) * H
                             if self.rng.random() < 0.05
                             else self.rng.uniform(600, 1800))
                at = max(0.0, at)
                if ends > at + 10 and at < self.end:
                    self.job(at, ends - at, {"cpu": cpu}, pool=pool)


def services(m):
    """Three services follow the demand of a day, with bursts."""
    m.services()


def restless(m, every_s=40):
    """services; on every node a pod starts or ends all the time, and now and
    then a service is deployed anew."""
    m.services()
    m.come_and_go(every_s)
    m.actions += [{"at": round(at, 1), "what": "restart",
                   "name": m.rng.choice(["web", "api", "back"])}
                  for at in m.by_chance(lambda _: 0.75)]


def restless_20s(m):
    """The same, twice as often."""
    restless(m, 20)


def restless_60s(m):
    """The same, two times in three."""
    restless(m, 60)


def jobs(m):
    """Bursts of Jobs of minutes and of hours, beside three small services."""
    for i, most in enumerate((7, 6, 8)):
        m.serve(f"svc-{i}", most, 6, m.rng.uniform(-2, 2))
    m.bursts_of_jobs(5, (3, 14))


def growth(m):
    """A few pods more every few minutes, while half of what was there before
    goes bit by bit."""
    m.deploy("web", 6 * m.size)
    m.deploy("old", 28 * m.size)
    for left, share in ((22, 0.1), (18, 0.3), (14, 0.5)):
        m.scale((share + m.rng.uniform(0, 0.1)) * m.end, "old",
                left * m.size)
    pods = 6
    for at in m.every(600, 1500, begin=0.1, until=0.95):
        pods += m.rng.randint(1, 4)
        m.scale(at, "web", pods * m.size)


def stormy(m):
    """services; machines expire or are interrupted, launches and boots fail
    when a scale-up needs them, and in the middle every node drifts."""
    m.services()
    m.actions += [{"at": round(at, 1), "what": "end",
                   "which": round(m.rng.random(), 3)}
                  for at in m.every(900 / m.size, 2400 / m.size, begin=0.05)]
    rises = [e for e in m.events if e["type"] == "scale"]
    for e in m.rng.sample(rises, len(rises) // 5):
        m.actions.append({"at": m.at(e),
                          "what": m.rng.choice(["launch", "boot"])})
    m.actions.append({"at": m.end / 2, "what": "drift"})


def nodepools(m):
    """Two NodePools of services, whose peaks are hours apart, and one of
    Jobs."""
    m.serve("web", 16, 40, -3, pool="web")
    m.serve("api", 12, 40, 3, pool="api")
    m.serve("svc", 4, 6, pool="batch")
    m.bursts_of_jobs(2.5, (3, 10), pool="batch")


LONG = {f.__name__.replace("_", "-"): f for f in (
    services, restless, jobs, growth, stormy, nodepools)}
DEGREES = {f.__name__.replace("_", "-"): f
           for f in (restless_20s, restless_60s)}
NAMES = [*LONG, *DEGREES]


def make(name, seed, minutes=360, size=1):
    m = Day(random.Random(f"{name} {seed}"), minutes, seed, size)
    {**LONG, **DEGREES}[name](m)
    return m.load(name)
