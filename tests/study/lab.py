# SPDX-License-Identifier: Apache-2.0
"""make lab: plays loads under policies on Karpenter's own controllers in virtual
time (tests/study/lab), and prints medians and intervals.  A run that has a
result is not played again.

LOADS, POLICIES: names, or "first", "further", "all", as of make study.
SEEDS: loads 1 to N (10).  RUNS: of each load with other dice (1).
MINUTES: of each load (20).  LOAD: a file of kubereplay instead of LOADS.
RESULTS: the folder of the results.  JOBS: runs side by side.
"""
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib"), str(HERE.parent)]

import loads  # noqa: E402
import measures  # noqa: E402
import policies  # noqa: E402
from controlplane import BUILD, REPO, end_on_signals  # noqa: E402
from study import Bad, hours, named, number  # noqa: E402

RESULTS = HERE / "results" / "lab"
PROGRAM = BUILD / "study" / "lab.test"
WORK = BUILD / "study" / "lab"
TAIL_S = 15 * 60        # what every run is billed after its load
CPU_S = 9               # of a virtual hour with about ten nodes, measured
FIGURES = (("pods moved", "moved", 0), ("dollars", "dollars", 3),
           ("launched", "nodes_launched", 0),
           ("job work lost, min", "job_seconds_lost", 1),
           ("pending, s", "pending_sum_s", 0), ("held, %", "held_share", 0))
SCALE = {"job_seconds_lost": 1 / 60, "held_share": 100}
SURE = 0.9


@dataclasses.dataclass(frozen=True)
class Job:
    load: str
    policy: str
    seed: int
    run: int

    @property
    def key(self):
        return f"{self.seed}.{self.run}"


@dataclasses.dataclass
class Settings:
    loads: list
    policies: list
    seeds: int
    runs: int
    minutes: float
    file: pathlib.Path
    folder: pathlib.Path
    side: int

    def name(self, load):
        """The page shows other lengths as loads of their own."""
        return (load if self.file or self.minutes == 20
                else f"{load}-{self.minutes:g}m")

    def result(self, job):
        return self.folder / f"{self.name(job.load)}.{job.policy}.json"


def playable(name):
    """Why the lab does not have the policy, or None."""
    policy = policies.ALL[name]
    if policy.pdb:
        return "it has no PodDisruptionBudgets"
    if policy.closed:
        return "its budgets do not change"
    if policy.without:
        return "make study builds such holders"
    return None


def settings(env):
    file = pathlib.Path(env["LOAD"]).resolve() if env.get("LOAD") else None
    if file and not file.is_file():
        raise Bad(f"LOAD={env['LOAD']}: no such file")
    names = [file.stem] if file else named(env.get("LOADS") or "first", {
        "first": [*loads.FIRST], "further": [*loads.FURTHER],
        "all": [*loads.FIRST, *loads.FURTHER]},
        [*loads.FIRST, *loads.FURTHER], "load")
    chosen = named(env.get("POLICIES") or "first", {
        "first": [*policies.FIRST], "further": [
            p for p in policies.FURTHER if not playable(p)]},
        [*policies.ALL], "policy")
    for name in chosen:
        if playable(name):
            raise Bad(f"the lab cannot play {name}: {playable(name)}")
    return Settings(names, chosen, number(env, "SEEDS", 10),
                    number(env, "RUNS", 1), number(env, "MINUTES", 20, float),
                    file, pathlib.Path(env.get("RESULTS") or (
                        BUILD / "study" / "lab-results" if file else RESULTS)),
                    number(env, "JOBS", os.cpu_count()))


def load_of(s, job):
    if s.file:
        return loads.read(s.file.read_text(), str(s.file))
    return loads.make(job.load, job.seed, s.minutes)


def write_load(load, file):
    """As the lab reads it: with all that a file of a user may leave out."""
    for event in load.events:
        if event["type"] == "create":
            meta = loads.workload(event)["spec"]["template"].setdefault(
                "metadata", {})
            meta["annotations"] = {**loads.delays(event),
                                   **(meta.get("annotations") or {})}
    file.write_text(loads.write(load))


def settings_of(policy):
    """The holder's configuration; JSON is YAML, too."""
    holder = policy.holder()
    return json.dumps({"apiVersion": "karpenter-node-holder.io/v1",
                       "kind": "HolderConfig", **holder}) if holder else ""


def play(load, policy, dice, name):
    """The figures of one run, and the CPU-seconds and MiB that it took."""
    policy = policies.ALL[policy]
    files = {kind: WORK / f"{name}.{kind}" for kind in ("load", "job", "facts")}
    write_load(load, files["load"])
    files["job"].write_text(json.dumps({
        "load": str(files["load"]), "seed": dice,
        "disruption": policy.disruption(), "holder": settings_of(policy),
        "jobs_stay": policy.jobs_stay, "quiet_s": policy.quiet_s(),
        "tail_s": TAIL_S}))
    done = subprocess.run(
        ["nice", PROGRAM, "-test.run", "TestRun", "-test.timeout", "0"],
        env={**os.environ, "LAB_JOB": str(files["job"]),
             "LAB_RESULT": str(files["facts"]), "GOMAXPROCS": "1",
             "GOGC": "200"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Bad(f"{name}: the lab failed:\n{done.stdout}{done.stderr}")
    result = json.loads(files["facts"].read_text())
    for file in files.values():
        file.unlink()
    first = min((n["disrupted"] for n in result["facts"]["nodes"]
                 if n["disrupted"] is not None), default=None)
    return {**measures.figures(result["facts"]), "first_disrupted_s": first,
            "cpu_s": round(result["cpu_s"], 1),
            "rss_mib": round(result["rss_mib"])}


def read(file):
    return json.loads(file.read_text())["runs"] if file.exists() else {}


def keep(s, job, figures):
    file = s.result(job)
    runs = {**read(file), job.key: figures}
    file.write_text("{\n\"load\": %s, \"policy\": %s,\n\"runs\": {\n%s\n}}\n" % (
        json.dumps(s.name(job.load)), json.dumps(job.policy), ",\n".join(
            f"{json.dumps(k)}: {json.dumps(runs[k])}" for k in sorted(
                runs, key=lambda k: [int(n) for n in k.split(".")]))))


def plan(s):
    return [Job(load, policy, seed, run) for seed in range(1, s.seeds + 1)
            for run in range(1, s.runs + 1)
            for load in s.loads for policy in s.policies]


# What came of it

def interval(values):
    """The median, and where that of all such runs is, as surely as SURE: the
    values between which it lies, by their ranks alone."""
    ordered = sorted(values)
    n, k, outside = len(ordered), 0, 0.0
    while k < n // 2:
        outside += 2 * math.comb(n, k) / 2 ** n
        if outside > 1 - SURE:
            break
        k += 1
    k = max(0, k - 1)
    return statistics.median(ordered), ordered[k], ordered[n - 1 - k]


def cell(values, decimals):
    middle, low, high = (f"{v:,.{decimals}f}" for v in interval(values))
    return middle if low == high else f"{middle} ({low} – {high})"


def table(s, load):
    lines = ["| policy | runs | " + " | ".join(f[0] for f in FIGURES) + " |",
             "|---|" + "--:|" * (len(FIGURES) + 1)]
    for policy in s.policies:
        runs = [*read(s.result(Job(load, policy, 0, 0))).values()]
        if runs:
            lines.append(f"| {policy} | {len(runs)} | " + " | ".join(
                cell([SCALE.get(key, 1) * r[key] for r in runs], decimals)
                for _, key, decimals in FIGURES) + " |")
    return "\n".join(lines)


def play_job(s, job):
    return play(load_of(s, job), job.policy, job.run,
                f"{s.name(job.load)}.{job.policy}.{job.key}")


def go(s, todo):
    began, cpu = time.time(), 0.0
    with concurrent.futures.ThreadPoolExecutor(s.side) as pool:
        runs = {pool.submit(play_job, s, job): job for job in todo}
        try:
            for n, run in enumerate(concurrent.futures.as_completed(runs), 1):
                figures = run.result()
                keep(s, runs[run], figures)
                cpu += figures["cpu_s"]
                left = (time.time() - began) / n * (len(todo) - n)
                print(f"\r{n} of {len(todo)} runs, {hours(left)} left ",
                      end="", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"\n{cpu / 3600:.2f} CPU-hours")


def main(env=os.environ):
    try:
        s = settings(env)
        jobs = plan(s)
        s.folder.mkdir(parents=True, exist_ok=True)
        WORK.mkdir(parents=True, exist_ok=True)
        todo = [j for j in jobs if j.key not in read(s.result(j))]
        minutes = load_of(s, jobs[0]).minutes
        need = len(todo) * CPU_S * (minutes * 60 + TAIL_S) / 3600
        print(f"lab: {len(jobs)} runs, {len(todo)} to play: about "
              f"{need / 3600:.2f} CPU-hours, {hours(need / s.side)}.  "
              f"Results: {os.path.relpath(s.folder, REPO)}", flush=True)
        if todo:
            go(s, todo)
    except (Bad, loads.BadLoad) as e:
        sys.exit(f"lab: {e}")
    for load in s.loads:
        print(f"\n{s.name(load)}\n{table(s, load)}")


if __name__ == "__main__":
    end_on_signals()
    main()
