# SPDX-License-Identifier: Apache-2.0
"""One run: a control plane with real Karpenter on kwok, a policy, a load.

    play.py LOAD POLICY SEED RESULT [--file FILE] [--minutes N] ...

RESULT is LOAD.POLICY.SEED.json in the folder of results.  Beside it stands what
Karpenter logged meanwhile, as a record (docs/what-if.md): *.record.gz.

Exits with 3 where the processors did not allow it; the result is then not
written.
"""
import argparse
import contextlib
import copy
import gzip
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib"), str(HERE.parent)]

import yaml  # noqa: E402

import loads  # noqa: E402
import measures  # noqa: E402
import policies  # noqa: E402
import without  # noqa: E402
from cluster import DECISIONS, DISRUPTED, Cluster, node_class, node_pool  # noqa: E402
from controlplane import (BUILD, CLAIMS, NAMESPACES, NODES, POOLS,  # noqa: E402
                          REPO, ApiError, end_on_signals)
from hold import held  # noqa: E402
from holder import BINARY, HOLDERCTL, Holder  # noqa: E402
from witness import History  # noqa: E402

BOOT = "30s"                # from a NodeClaim to its Node
BATCH = ("1s", "10s")       # Karpenter's own
TAIL_S = 15 * 60            # what every run is billed after its load
EVERY_S = 10                # how often the processors are asked
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{loads.NAMESPACE}/deployments"
JOBS = f"/apis/batch/v1/namespaces/{loads.NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{loads.NAMESPACE}/pods"
PDBS = f"/apis/policy/v1/namespaces/{loads.NAMESPACE}/poddisruptionbudgets"
KINDS = {"Deployment": (DEPLOYMENTS, "apps/v1"), "Job": (JOBS, "batch/v1")}
THROWN_AWAY = 3


class Plane(Cluster):
    """Its pods take the time that their annotations say."""

    def __init__(self):
        super().__init__("study")
        self.audit_rules = []

    def stages(self):
        for file in super().stages():
            stage = yaml.safe_load(file.read_text())
            key = loads.STAGE.format(stage["metadata"]["name"])
            if key in loads.DELAYS:
                stage["spec"]["delay"] = {
                    "durationMilliseconds":
                        1000 * policies.seconds(loads.DELAYS[key]),
                    "durationFrom": {"expressionFrom":
                                     f'.metadata.annotations["{key}"]'}}
            file = self.dir / file.name
            file.write_text(yaml.safe_dump(stage))
            yield file


def pool(name, menu, policy):
    body = node_pool(name, cpus=menu["cpus"], families=menu["families"])
    body["spec"]["disruption"] = policy.disruption(policy.closed)
    for r in body["spec"]["template"]["spec"]["requirements"]:
        if r["key"] == "karpenter.sh/capacity-type":
            r["values"] = menu["capacity"]
    return body


def body_of(event, policy):
    body = copy.deepcopy(loads.workload(event))
    body.pop("status", None)
    body.update(kind=event["kind"], apiVersion=KINDS[event["kind"]][1])
    for field in ("resourceVersion", "uid", "creationTimestamp"):
        body["metadata"].pop(field, None)
    body["metadata"]["namespace"] = loads.NAMESPACE
    meta = body["spec"]["template"].setdefault("metadata", {})
    meta["annotations"] = {**loads.delays(event), **(meta.get("annotations") or {})}
    if policy.stay(event["kind"]):
        meta["annotations"]["karpenter.sh/do-not-disrupt"] = policy.stay(
            event["kind"])
    return body


class Processors:
    """What each component ran and waited for a processor, and what the
    machine's host stole, sampled by a thread."""

    def __init__(self, processes):
        self.processes = processes
        self.samples = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while True:
            self.samples.append(self.sample())
            if self.over.wait(EVERY_S):
                self.samples.append(self.sample())
                return

    def sample(self):
        times = [int(n) for n in pathlib.Path(
            "/proc/stat").read_text().splitlines()[0].split()[1:]]
        return {"at": time.monotonic(), "steal": times[7],
                "total": sum(times[:8]), "components": {
                    name: self.waited(p.pid)
                    for name, p in self.processes.items()}}

    @staticmethod
    def waited(pid):
        """Of all its threads: seconds that they ran, seconds that they were
        ready and waited, and how often they began to run."""
        run = wait = turns = 0
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                a, b, c = (task / "schedstat").read_text().split()
                run, wait, turns = run + int(a), wait + int(b), turns + int(c)
        return [run / 1e9, wait / 1e9, turns]


class Run:
    def __init__(self, plane, load, policy, quiet_s=None):
        self.plane, self.load, self.policy = plane, load, policy
        self.quiet_s = quiet_s or policy.quiet_s()
        self.late = 0.0
        self.drift = None

    # What happens

    def prepare(self):
        """Karpenter, its NodePools, and the holder."""
        c, policy = self.plane, self.policy
        c.create(NAMESPACES, {"metadata": {"name": loads.NAMESPACE}})
        c.apply(node_class("default", BOOT))
        for name in self.load.pools():
            c.apply(pool(name, self.load.menu, policy))
        c.start_karpenter(batch=BATCH)
        processes = c.processes()
        self.holder = None
        if policy.holder():
            self.holder = Holder(c, **policy.holder(), logging={
                "format": "json", "level": "info"})
            if policy.without:
                self.holder.program = without.program(BUILD, policy.without)
            self.holder.start()
            self.holder.register()
            processes["holder"] = self.holder.process
        self.history = History(c, (NODES, CLAIMS, PODS))
        self.processors = Processors(processes)

    def timeline(self):
        both = [(self.load.seconds(e), self.event, e)
                for e in self.load.events]
        both += [(a["at"], getattr(self, "do_" + a["what"]), a)
                 for a in self.load.actions]
        return sorted((t for t in both if t[0] <= self.load.minutes * 60),
                      key=lambda t: t[0])

    def go(self):
        before = self.counters()
        self.begin = time.time()
        self.processors.thread.start()
        for at, act, what in self.timeline():
            time.sleep(max(0, self.begin + at - time.time()))
            self.late = max(self.late, time.time() - self.begin - at)
            act(what)
        time.sleep(max(0, self.begin + self.load.minutes * 60 - time.time()))
        if self.policy.closed:
            for name in self.load.pools():
                self.plane.patch(POOLS, name, {"spec": {
                    "disruption": self.policy.disruption()}})
        self.settled = self.settle()
        self.ended = time.time()
        self.processors.over.set()
        self.processors.thread.join()
        self.counts = {k: measures.counted(before[k], v)
                       for k, v in self.counters().items()}
        if self.history.failed:
            raise RuntimeError(f"a watch ended: {self.history.failed[0]}")
        self.history.over = True

    def settle(self):
        """Waits until nothing has happened for long enough; False where
        something still does after TAIL_S."""
        end = self.begin + self.load.minutes * 60 + TAIL_S
        while time.time() < end:
            time.sleep(5)
            last, busy = measures.last_change(*self.objects())
            if not busy and time.time() - self.begin - last > self.quiet_s:
                return True
        return False

    # Events of kubereplay

    def event(self, event):
        path = KINDS[event["kind"]][0]
        name = event["key"].rpartition("/")[2]
        try:
            if event["type"] == "create":
                body = body_of(event, self.policy)
                self.plane.create(path, body)
                if self.policy.pdb and event["kind"] == "Deployment":
                    self.plane.create(PDBS, {
                        "metadata": {"name": name}, "spec": {
                            "maxUnavailable": 1,
                            "selector": body["spec"]["selector"]}})
            elif event["type"] == "scale":
                self.plane.patch(path, name, {
                    "spec": {"replicas": event["replicas"]}})
            else:
                self.plane.delete(path, name)
        except ApiError as e:
            # kubereplay goes on, too.
            print(f"{event['type']} {event['key']}: {e}", flush=True)

    # What it does not know

    def do_restart(self, action):
        self.plane.patch(DEPLOYMENTS, action["name"], {"spec": {"template": {
            "metadata": {"annotations": {"restarted": str(action["at"])}}}}})

    def do_drift(self, _):
        """kwok's provider says nothing of its NodeClass, so the NodePool's
        template changes."""
        self.drift = time.time()
        for name in self.load.pools():
            self.plane.patch(POOLS, name, {"spec": {"template": {
                "metadata": {"labels": {"example.com/changed": "yes"}}}}})

    def claims(self, initialized):
        """The NodeClaims that are there, oldest first."""
        them = [o for o in self.plane.get(CLAIMS)["items"]
                if "deletionTimestamp" not in o["metadata"]
                and initialized == any(
                    c["type"] == "Initialized" and c["status"] == "True"
                    for c in o.get("status", {}).get("conditions", []))]
        return [o["metadata"]["name"] for o in sorted(
            them, key=lambda o: o["metadata"]["creationTimestamp"])]

    def do_end(self, action):
        """A machine expires or is interrupted: its NodeClaim is deleted."""
        them = self.claims(True)
        if them:
            self.plane.request("DELETE", f"{CLAIMS}/" + them[
                int(action["which"] * len(them))])

    def do_launch(self, action, after=0):
        """The next NodeClaim within a minute is deleted, at once or when it
        boots."""
        def fail():
            there = set(self.claims(False))
            end = time.time() + 60
            while time.time() < end:
                new = set(self.claims(False)) - there
                if new:
                    time.sleep(after)
                    self.plane.request("DELETE", f"{CLAIMS}/{min(new)}")
                    return
                time.sleep(0.5)
        threading.Thread(target=fail, daemon=True).start()

    def do_boot(self, action):
        self.do_launch(action, after=20)

    # What came of it

    def counters(self):
        c = self.plane
        holder = self.holder.metrics() if self.holder else {}
        return {
            "decisions": c.karpenter_reasons(DECISIONS),
            "disrupted": c.karpenter_reasons(DISRUPTED),
            "writes": measures.writes(c.metrics()),
            "karpenter_requests": by_method(c.karpenter_samples(
                "client_go_request_total")),
            "holder_requests": by_method({
                k: v for k, v in holder.items()
                if k.startswith("rest_client_requests_total")})}

    def objects(self):
        """The facts of pods and nodes so far."""
        of = {NODES: {}, CLAIMS: {}, PODS: {}}
        for (path, name), versions in self.history.versions().items():
            of[path][name] = [(v, round(at - self.begin, 2), o)
                              for v, at, o in versions]
        return ([measures.pod_facts(v) for v in of[PODS].values()],
                [measures.node_facts(v, of[NODES])
                 for v in of[CLAIMS].values()])

    def facts(self):
        pods, nodes = self.objects()
        return {
            "pods": pods, "nodes": nodes,
            "wanted": self.load.wanted(),
            "ended_s": round(self.ended - self.begin, 1),
            "horizon_s": self.load.minutes * 60 + TAIL_S,
            "drift_s": self.drift and round(self.drift - self.begin, 1)}


def by_method(samples):
    found = {}
    for key, value in samples.items():
        method = re.search(r'method="([^"]*)"', key)[1]
        found[method] = found.get(method, 0) + value
    return found


def required(module, path):
    """The version in a go.mod of tests/modules."""
    text = (REPO / "tests" / "modules" / module / "go.mod").read_text()
    return re.search(rf"{re.escape(path)} (v\S+)", text)[1]


def versions():
    def said(*argv):
        return subprocess.run(argv, cwd=REPO, capture_output=True, text=True,
                              check=True).stdout.strip()
    return {"holder": said(BINARY, "version").split("\n")[0],
            "commit": said("git", "describe", "--always", "--dirty"),
            "karpenter": required("karpenter", "sigs.k8s.io/karpenter"),
            "kubernetes": required("kubernetes", "k8s.io/kubernetes"),
            "kwok": required("kwok", "sigs.k8s.io/kwok")}


def write_record(log, file):
    """Keeps what Karpenter's log tells: a few KiB instead of MiB."""
    text = subprocess.check_output([HOLDERCTL, "simulate", "-o", "record", log])
    file.write_bytes(gzip.compress(text, mtime=0))


def result(run, args, processors):
    policy, facts = run.policy, run.facts()
    return {
        "load": load_name(args), "policy": args.policy, "seed": args.seed,
        "minutes": run.load.minutes,
        "date": time.strftime("%Y-%m-%d", time.gmtime(run.begin)),
        "versions": versions(),
        "settings": {
            "disruption": policy.disruption(), "holder": policy.holder(),
            "without": policy.without, "closed": policy.closed, "pdb": policy.pdb,
            "jobs_stay": policy.jobs_stay, "menu": run.load.menu,
            "boot": BOOT, "batch": BATCH,
            "karpenter_cpu_requests": "1000m"},
        "settled": run.settled,
        "figures": measures.figures(facts), **run.counts,
        "steps": measures.steps(facts), "processors": processors}


def load_name(args):
    return args.result.name.rsplit(".", 3)[0]


def readable(result):
    """As JSON, with each list of plain values on one line."""
    return re.sub(r"\[[^][{}]+\]", lambda m: " ".join(m[0].split()),
                  json.dumps(result, indent=1)) + "\n"


def keep(folder, name, text):
    file = BUILD / "study" / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("load")
    parser.add_argument("policy", choices=policies.ALL)
    parser.add_argument("seed", type=int)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--quiet", type=float)
    parser.add_argument("--traces", type=pathlib.Path)
    args = parser.parse_args()
    end_on_signals()
    load = (loads.read(args.file.read_text(), str(args.file)) if args.file
            else loads.make(args.load, args.seed, args.minutes, args.traces))
    load.minutes = min(load.minutes, args.minutes or load.minutes)
    keep("loads", f"{load_name(args)}.{args.seed}.json", loads.write(load))
    with Plane() as plane:
        run = Run(plane, load, policies.ALL[args.policy], args.quiet)
        run.prepare()
        try:
            run.go()
        finally:
            if run.holder:
                run.holder.stop()
        processors = measures.processors(run.processors.samples, run.late)
        out = readable(result(run, args, processors))
        # Other figures may be asked for later.
        keep("facts", args.result.name, json.dumps(run.facts()))
        why = measures.thrown_away(processors)
        if not why:
            write_record(plane.dir / "karpenter.log",
                         args.result.with_suffix(".record.gz"))
    if why:
        print(out, f"thrown away: {why}", sep="", flush=True)
        sys.exit(THROWN_AWAY)
    new = args.result.with_suffix(".new")
    new.write_text(out)
    new.rename(args.result)


if __name__ == "__main__":
    main()
