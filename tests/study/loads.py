# SPDX-License-Identifier: Apache-2.0
"""What a study plays: loads in the format of kubereplay, made from seeds or
from public traces, or read from a file.

kubereplay (aws/karpenter-provider-aws, tools/kubereplay) knows Deployments and
Jobs that are created, scaled and deleted.  What it does not know, it ignores:
the key "study" (minutes, menu, and actions such as a restart), and annotations
of kwok's stages on pods, which say how long they take to be ready, live and
end.
"""
import csv
import dataclasses
import datetime
import json
import math
import random
import re

NAMESPACE = "kubereplay"
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
POOL = "karpenter.sh/nodepool"
STAGE = "{}.stage.kwok.x-k8s.io/delay"
READY, LIVES, ENDS = (STAGE.format(f"pod-{s}")
                      for s in ("ready", "complete", "delete"))
# Where a file does not say so: image and readiness, a Job's life, termination.
DELAYS = {READY: "15s", LIVES: "2m", ENDS: "5s"}
MENU = {"cpus": ["2", "4", "8"], "families": ["c"], "capacity": ["on-demand"]}
# A user's pods may ask for more, and for spot.
FILE_MENU = {"cpus": ["2", "4", "8", "16", "32"], "families": ["c", "s", "m"],
             "capacity": ["on-demand", "spot"]}
# A window of the trace has tasks of 12 to 96 cpus, 4 GiB for each.
TRACE_MENU = {"cpus": ["16", "32", "64", "128"], "families": ["s"],
              "capacity": ["on-demand"]}


class BadLoad(Exception):
    """Says where, and what was expected."""


@dataclasses.dataclass
class Load:
    name: str
    minutes: float
    events: list        # of kubereplay, in the order of their timestamps
    actions: list       # {"at": seconds, "what": ..., ...}
    menu: dict
    jitter: float = 0.0     # seconds by which a node boots later, at most
    # What a pod of the DaemonSet asks for; without it there is none.
    daemon: dict = dataclasses.field(default_factory=dict)

    def seconds(self, event):
        """From the first event, as kubereplay counts."""
        return (moment(event["timestamp"])
                - moment(self.events[0]["timestamp"])).total_seconds()

    def pools(self):
        """The NodePools that its pods ask for."""
        found = {pod_spec(e).get("nodeSelector", {}).get(POOL)
                 for e in self.events if e["type"] == "create"} - {None}
        return sorted(found) or ["general"]

    def wanted(self):
        """{name of a Deployment: [(seconds, replicas)]}"""
        found = {}
        for e in self.events:
            if e["kind"] == "Deployment":
                replicas = (0 if e["type"] == "delete" else
                            workload(e)["spec"].get("replicas", 1)
                            if e["type"] == "create" else e["replicas"])
                found.setdefault(e["key"].rpartition("/")[2], []).append(
                    (self.seconds(e), replicas))
        return found


def moment(text):
    return datetime.datetime.fromisoformat(text)


def workload(event):
    return event[event["kind"].lower()]


def pod_spec(event):
    return workload(event)["spec"]["template"]["spec"]


def delays(event):
    """How long its pods take: as they say, or as a Job's sleep says."""
    spec = pod_spec(event)
    said = dict(DELAYS)
    if event["kind"] == "Job":
        sleep = re.search(r"\bsleep (\d+)\b", " ".join(
            spec["containers"][0].get("command") or []))
        if sleep:
            said[LIVES] = f"{sleep[1]}s"
    return said


# The format

def fault(event):
    """What is wrong with an event of a file, or None."""
    if not isinstance(event, dict):
        return "expected an object"
    if event.get("type") not in ("create", "scale", "delete"):
        return "type: expected create, scale or delete"
    if event.get("kind") not in ("Deployment", "Job"):
        return "kind: expected Deployment or Job"
    if not re.fullmatch(r"[^/]+/[^/]+", str(event.get("key"))):
        return "key: expected NAMESPACE/NAME"
    if event["type"] == "scale" and type(event.get("replicas")) is not int:
        return "replicas: expected a number"
    try:
        assert moment(event["timestamp"]).tzinfo
        if event["type"] == "create":
            assert pod_spec(event)["containers"]
            assert workload(event)["metadata"]["name"]
    except (KeyError, TypeError, ValueError, AssertionError):
        return ("expected a timestamp of RFC 3339 and, in a create event, "
                "a whole Deployment or Job")
    return None


def read(text, name):
    try:
        log = json.loads(text)
        events = log["events"]
        assert isinstance(events, list) and events
    except (ValueError, KeyError, TypeError, AssertionError) as e:
        raise BadLoad(f"{name}: expected JSON of kubereplay with events"
                      ) from e
    for i, event in enumerate(events):
        if fault(event):
            raise BadLoad(f"{name}: events[{i}]: {fault(event)}")
    events.sort(key=lambda e: moment(e["timestamp"]))
    span = moment(events[-1]["timestamp"]) - moment(events[0]["timestamp"])
    ours = log.get("study") or {}
    return Load(name, ours.get("minutes", span.total_seconds() / 60), events,
                ours.get("actions", []), ours.get("menu", FILE_MENU),
                ours.get("boot_jitter_s", 0.0), ours.get("daemon", {}))


def write(load):
    return json.dumps({
        "cluster": load.name, "captured": load.events[0]["timestamp"],
        "events": load.events, "study": {
            "minutes": load.minutes, "menu": load.menu,
            "actions": load.actions, **(
                {"boot_jitter_s": load.jitter} if load.jitter else {}), **(
                {"daemon": load.daemon} if load.daemon else {})}},
                      indent=2) + "\n"


# Making one

class Maker:
    # What becomes of finished Jobs: their pods stay.
    finished: dict = {}
    daemon: dict = {}

    def __init__(self, rng, minutes):
        self.rng = rng
        self.minutes, self.end = minutes, minutes * 60
        self.events, self.actions = [], []
        self.menu, self.jitter = MENU, 0.0
        self.jobs = 0

    def load(self, name):
        self.events.sort(key=lambda e: e["timestamp"])
        return Load(name, self.minutes, self.events, self.actions,
                    self.menu, self.jitter, self.daemon)

    def at(self, event):
        return (moment(event["timestamp"]) - BEGIN).total_seconds()

    def event(self, at, kind, what, name, **more):
        stamp = BEGIN + datetime.timedelta(milliseconds=round(at * 1000))
        self.events.append({
            "type": what, "kind": kind, "key": f"{NAMESPACE}/{name}", **more,
            "timestamp": stamp.isoformat(timespec="milliseconds").replace(
                "+00:00", "Z")})

    def body(self, name, requests, spec, delays, pod):
        labels = {"app": name}
        return {
            "metadata": {"name": name, "namespace": NAMESPACE,
                         "labels": {"kubereplay.karpenter.sh/managed": "true"}},
            "spec": {**spec, "template": {
                "metadata": {"labels": labels, "annotations": delays},
                "spec": {**pod, "containers": [{
                    "name": "work", "image": "work",
                    "resources": {"requests": requests}}]}}}}

    def deploy(self, name, replicas, cpu="900m", pool=None):
        ready = f"{self.rng.randint(10, 20)}s"
        self.event(0, "Deployment", "create", name, deployment=self.body(
            name, {"cpu": cpu}, {"replicas": replicas, "selector": {
                "matchLabels": {"app": name}}},
            {READY: ready, ENDS: "5s"},
            {"nodeSelector": {POOL: pool}} if pool else {}))

    def scale(self, at, name, replicas):
        if at < self.end:
            self.event(at, "Deployment", "scale", name, replicas=replicas)

    def job(self, at, lives, requests, pods=1, pool=None):
        """pods: that run at once."""
        self.jobs += 1
        name = f"job-{self.jobs}"
        self.event(at, "Job", "create", name, job=self.body(
            name, requests, {"parallelism": pods, "completions": pods,
                             "backoffLimit": 100, **self.finished},
            {READY: "5s", LIVES: f"{round(lives)}s", ENDS: "5s"},
            {"restartPolicy": "Never",
             **({"nodeSelector": {POOL: pool}} if pool else {})}))

    def around(self, value, share=0.15):
        return round(value * self.rng.uniform(1 - share, 1 + share))

    def every(self, low, high, begin=0.0, until=0.85):
        """Moments that far apart, from a share of the time to another."""
        at = begin * self.end
        while (at := at + self.rng.uniform(low, high)) < until * self.end:
            yield at

    def follow(self, name, demand, most, stable_s, tolerance=0.0, pool=None):
        """Scales as an HPA does that is asked every 15 s; demand: at -> 0..1.
        """
        asked, now = [], None
        for at in range(0, int(self.end), 15):
            wanted = demand(at) * most
            asked.append(now if now and abs(wanted / now - 1) <= tolerance
                         else max(2, math.ceil(wanted)))
            # Up at once, down to the most of the time before.
            new = max(asked[-1 - int(stable_s // 15):])
            if now is None:
                self.deploy(name, new, pool=pool)
            elif new != now:
                self.scale(at, name, new)
            now = new


def wave(m):
    """That of make demo, again and again: up, a dip, up again, down."""
    m.deploy("web", m.around(12))
    at = 60
    while at < 0.75 * m.end:
        for replicas, low, high in ((40, 40, 80), (20, 60, 120), (40, 40, 80),
                                    (12, 90, 150)):
            m.scale(at, "web", m.around(replicas))
            at += m.rng.uniform(low, high)


def curve(m):
    """A day of requests, with bursts: 0 to 1."""
    bursts = [(m.rng.uniform(0, m.end), m.rng.uniform(0.1, 0.3))
              for _ in range(4)]

    def demand(at):
        base = 0.5 - 0.4 * math.cos(2 * math.pi * at / m.end)
        return min(1, base + sum(h for t, h in bursts if 0 <= at - t < 60)
                   + m.rng.uniform(-0.04, 0.04))
    return demand


def day(m):
    """An HPA follows a day of requests, which passes in these minutes."""
    stable = min(300, max(60, m.end / 20))
    for name, most in (("web", 36), ("api", 16)):
        m.follow(name, curve(m), most, stable)


def batch(m):
    """Jobs come in bursts and live for minutes, beside a small service."""
    m.deploy("web", 8)
    for at in m.every(60, 150):
        for _ in range(m.rng.randint(4, 14)):
            m.job(at + m.rng.uniform(0, 5), m.rng.uniform(60, 240),
                  {"cpu": m.rng.choice(["500m", "1", "2"])})


def noise(m):
    """Half of it goes at once; then only CronJobs start and end pods."""
    m.deploy("web", 28)
    m.scale(m.rng.uniform(100, 160), "web", 14)
    for at in m.every(15, 25, until=0.98):
        m.job(at, 25, {"cpu": "50m"}, pods=10)


def trickle(m):
    """One more node every few minutes, while there is something to save."""
    m.deploy("old", 28)
    m.deploy("web", 8)
    m.scale(m.rng.uniform(100, 160), "old", 14)
    for i, at in enumerate(m.every(120, 210, begin=0.1)):
        m.scale(at, "web", 12 + 4 * i)


def storm(m):
    """Scale-ups, and among them machines that end: one that expires or is
    interrupted, one whose launch fails, one that does not boot."""
    m.deploy("web", 16)
    for at in m.every(80, 160):
        m.scale(at, "web", m.rng.randint(12, 40))
        what = m.rng.choice(["end", "end", "launch", "boot"])
        m.actions.append({"at": round(at + m.rng.uniform(0, 40), 1),
                          "what": what, "which": round(m.rng.random(), 3)})


def rollouts(m):
    """20 Deployments are restarted one by one."""
    names = [f"app-{i}" for i in range(20)]
    for name in names:
        m.deploy(name, m.rng.randint(2, 4), cpu="700m")
    m.rng.shuffle(names)
    m.actions = [{"at": round(at, 1), "what": "restart", "name": name}
                 for name, at in zip(names, m.every(
                     m.end / 30, m.end / 23, begin=0.05, until=1))]


def drift(m):
    """day, and in the middle of it every node drifts."""
    day(m)
    m.actions.append({"at": m.end / 2, "what": "drift"})


def pools(m):
    """Three NodePools that scale at different times."""
    for i, pool in enumerate("abc"):
        m.deploy(f"web-{pool}", 8, pool=pool)
        for n, at in enumerate(m.every(160, 240, begin=0.05 + 0.07 * i)):
            m.scale(at, f"web-{pool}", m.around(24 if n % 2 == 0 else 8))


# Windows of the public traces

def rows(folder, file):
    with open(folder / file, encoding="utf-8") as f:
        return [{k: float(v) for k, v in row.items()}
                for row in csv.DictReader(f)]


def trace_day(m, folder):
    """requests-22h.csv: an HPA with an average and a stabilisation of 5 min.
    A window in which the load moves."""
    load = [r["load"] for r in rows(folder, "requests-22h.csv")]
    mean = [sum(load[max(0, i - 4):i + 1]) / len(load[max(0, i - 4):i + 1])
            for i in range(len(load))]
    size = int(m.end // 60)
    windows = [mean[i:i + size + 1] for i in range(len(mean) - size)]
    moving = sorted(windows, key=lambda w: min(w) - max(w))
    window = m.rng.choice(moving[:len(moving) // 4])
    m.follow("web", lambda at: window[int(at // 60)], 48, 300)


def trace_batch(m, folder):
    """batch-12h.csv: its tasks, each as a Job.  One that outlives the window
    ends with it.  A window with at least the usual number of tasks."""
    tasks = rows(folder, "batch-12h.csv")
    begins = range(0, int(tasks[-1]["at_s"] - m.end), 60)
    windows = sorted(([t for t in tasks if b <= t["at_s"] < b + m.end]
                      for b in begins), key=len)
    window = m.rng.choice(windows[len(windows) // 2:])
    m.menu = TRACE_MENU
    m.deploy("web", 8)
    for task in window:
        at = task["at_s"] - window[0]["at_s"]
        m.job(at, max(10, min(task["life_s"], m.end - at)), {
            "cpu": f"{int(task['cpu_milli'])}m",
            "memory": f"{int(task['memory_mib'])}Mi"})


FIRST = {f.__name__: f for f in (wave, day, batch, noise, trickle, storm)}
FURTHER = {f.__name__: f for f in (rollouts, drift, pools)}
TRACES = {"trace-day": trace_day, "trace-batch": trace_batch}
NAMES = [*FIRST, *FURTHER, *TRACES]


def make(name, seed, minutes=20, traces=None):
    m = Maker(random.Random(f"{name} {seed}"), minutes)
    if name in TRACES:
        if not traces:
            raise BadLoad(f"{name}: expected TRACES=FOLDER, where the traces "
                          "are")
        TRACES[name](m, traces)
    else:
        {**FIRST, **FURTHER}[name](m)
    return m.load(name)
