# SPDX-License-Identifier: Apache-2.0
"""make lab: plays loads under policies on Karpenter's own controllers in virtual
time (tests/study/lab), compares the policies pair by pair, and draws them.  A
run that has a result is not played again.

LOADS, POLICIES: names, or groups such as "long" and "rivals".
SEEDS: loads 1 to N (5).  RUNS: of each load with other dice (1).
HOURS or MINUTES: of each load (6 h, or 20 min for those of make study).
SIZE: loads of hours for so many times ten nodes (1).
LOAD: a file of kubereplay instead of LOADS.  JOB_LIFE: how long its Jobs live
that do not say so (2m).  TYPES: a file of instance types, as kwok reads it.
TRACES: the folder of the public traces.  KARPENTER: another version, such as
1.15.0, whose results go to build/study.  AGAINST: the policy with which the
others are compared (karpenter-0s).  AGAIN: "sources" plays those again that
come from other sources.  RESULTS: the folder of the results.  JOBS: runs side
by side.
"""
import collections
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib"), str(HERE.parent)]

import hours as day  # noqa: E402
import loads  # noqa: E402
import measures  # noqa: E402
import pictures  # noqa: E402
import policies  # noqa: E402
from controlplane import BUILD, REPO, end_on_signals  # noqa: E402
from study import Bad, hours, named, number  # noqa: E402

# Raise it when the lab plays otherwise than before: runs of another number are
# played again.
ENGINE = 3
RESULTS = HERE / "results" / "lab"
# Of another version of Karpenter than that of the lab's go.mod.
VERSION = os.environ.get("KARPENTER") or ""
NAME = "lab" + (f"-{VERSION}" if VERSION else "")
PROGRAM = BUILD / "study" / f"{NAME}.test"
WORK = BUILD / "study" / "lab"
HANGS_S = 2 * 3600      # a run that takes longer
UNPLAYABLE = 2          # the program's exit code; it says why on stderr
RUNNING = set()         # its processes
TAIL_S = 15 * 60        # what every run is billed after its load
# CPU-seconds of a virtual hour with about ten nodes, measured.
CPU_S = {"restless": 13, "restless-20s": 18, "restless-60s": 11}
OTHER_CPU_S = 7
FIGURES = (("pods moved", "moved", 0), ("dollars", "dollars", 3),
           ("launched", "nodes_launched", 0),
           ("job work lost, min", "job_seconds_lost", 1),
           ("warm-up lost, min", "warm_up_lost_s", 1),
           ("pending, s", "pending_sum_s", 0), ("held, %", "held_share", 0))
SCALE = {"job_seconds_lost": 1 / 60, "warm_up_lost_s": 1 / 60,
         "held_share": 100}
PAIRED = (("moves", "moved", 1), ("dollars", "dollars", 0))
SURE = 0.9
# Student's t for SURE, by the degrees of freedom.
STUDENT = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
           1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725,
           1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699)


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
    against: str
    seeds: int
    runs: int
    minutes: float      # 0: each load's own
    size: int
    file: pathlib.Path
    job_life: str
    types: pathlib.Path
    traces: pathlib.Path
    again: bool
    folder: pathlib.Path
    side: int
    hashes: dict = dataclasses.field(default_factory=dict)

    def length(self, load):
        return self.minutes or (360 if load in day.NAMES else 20)

    def name(self, load):
        """The page shows other lengths as loads of their own."""
        other = not self.file and self.length(load) != (
            360 if load in day.NAMES else 20)
        return (load + (f"-{self.length(load):g}m" if other else "")
                + (f"-x{self.size}" if self.size > 1 else ""))

    def result(self, job):
        return self.folder / f"{self.name(job.load)}.{job.policy}.json"


def playable(name):
    """Why the lab does not have the policy, or None."""
    policy = policies.ALL[name]
    if policy.closed:
        return "its budgets do not change"
    if policy.without:
        return "make study builds such holders"
    return None


def path(env, name, there, what):
    found = pathlib.Path(env[name]).resolve() if env.get(name) else None
    if found and not there(found):
        raise Bad(f"{name}={env[name]}: no such {what}")
    return found


def length(env):
    if env.get("HOURS") and env.get("MINUTES"):
        raise Bad("HOURS and MINUTES: expected one of them")
    return (60 * number(env, "HOURS", 0, float, 0.1) if env.get("HOURS")
            else number(env, "MINUTES", 0, float, 0))


def life(env):
    text = env.get("JOB_LIFE") or loads.DELAYS[loads.LIVES]
    if not re.fullmatch(r"([1-9]\d*[smh])+", text):
        raise Bad(f"JOB_LIFE={text}: expected a duration such as 90s or 1h30m")
    return text


def chosen_policies(text):
    short = {p.removeprefix("karpenter-"): [p] for p in policies.ALL
             if p.startswith("karpenter-")}
    found = named(text, {
        "rivals": [*policies.RIVALS], "first": [*policies.FIRST], "further": [
            p for p in policies.FURTHER if not playable(p)], **short},
        [*policies.ALL], "policy")
    for name in found:
        if playable(name):
            raise Bad(f"the lab cannot play {name}: {playable(name)}")
    return found


def settings(env):
    file = path(env, "LOAD", pathlib.Path.is_file, "file")
    traces = path(env, "TRACES", pathlib.Path.is_dir, "folder")
    every = [*day.NAMES, *loads.NAMES]
    names = [file.stem] if file else named(env.get("LOADS") or "long", {
        "long": [*day.LONG], "first": [*loads.FIRST],
        "further": [*loads.FURTHER], "all": [
            n for n in every if n not in loads.TRACES]}, every, "load")
    if not traces and set(names) & set(loads.TRACES):
        raise Bad("windows of the traces: expected TRACES=FOLDER, where they "
                  "are")
    of_study = not file and not set(names) & set(day.NAMES)
    chosen = chosen_policies(env.get("POLICIES") or (
        "first" if of_study else "rivals"))
    against = chosen_policies(env.get("AGAINST") or chosen[0])
    if len(against) != 1 or against[0] not in chosen:
        raise Bad(f"AGAINST={env['AGAINST']}: expected one of POLICIES")
    if env.get("AGAIN") not in (None, "", "sources"):
        raise Bad(f"AGAIN={env['AGAIN']}: expected sources, or nothing")
    s = Settings(
        names, chosen, against[0],
        # Another seed would play the same file.
        1 if file else number(env, "SEEDS", 5),
        number(env, "RUNS", 5 if file else 1), length(env),
        number(env, "SIZE", 1), file, life(env),
        path(env, "TYPES", pathlib.Path.is_file, "file"), traces,
        env.get("AGAIN") == "sources", pathlib.Path(env.get("RESULTS") or (
            BUILD / "study" / f"{NAME}-results"
            if file or env.get("TYPES") or VERSION else RESULTS)).resolve(),
        number(env, "JOBS", os.cpu_count()))
    if s.size > 1 and not {*names} <= {*day.NAMES}:
        raise Bad(f"SIZE={s.size}: expected loads of hours: "
                  + " ".join(day.NAMES))
    for name in names:
        load_of(s, name, 1)     # or says what is wrong
    return s


@functools.lru_cache(maxsize=16)
def made(name, seed, minutes, size, traces):
    return (day.make(name, seed, minutes, size) if name in day.NAMES
            else loads.make(name, seed, minutes, traces))


def load_of(s, name, seed):
    if s.file:
        return loads.read(s.file.read_text(), str(s.file))
    return made(name, seed, s.length(name), s.size, s.traces)


# What the lab reads

def plain(event, job_life):
    """(the event with what the lab reads of it, what is left out); of a file of
    a user."""
    body = loads.workload(event)
    spec = loads.pod_spec(event)
    pool = {k: v for k, v in (spec.get("nodeSelector") or {}).items()
            if k == loads.POOL}
    schedules = {"affinity", "tolerations", "topologySpreadConstraints",
                 "initContainers", "overhead", "priorityClassName"}
    left = {k for k in schedules & spec.keys() if spec[k]} | {
        f"nodeSelector {k}" for k in (spec.get("nodeSelector") or {})
        if k != loads.POOL}
    meta = body["spec"]["template"].get("metadata") or {}
    times = loads.delays(event)
    if event["kind"] == "Job" and times == loads.DELAYS:
        times[loads.LIVES] = job_life
    return {**event, event["kind"].lower(): {
        "metadata": {"name": body["metadata"]["name"]},
        "spec": {**{k: body["spec"][k] for k in (
            "replicas", "parallelism", "completions",
            "ttlSecondsAfterFinished") if k in body["spec"]},
                 "template": {
            "metadata": {"labels": meta.get("labels") or {}, "annotations": {
                **times, **(meta.get("annotations") or {})}},
            "spec": {"nodeSelector": pool, "containers": [
                {"name": c.get("name", "c"), "image": "work", "resources": {
                    "requests": (c.get("resources") or {}).get("requests")
                    or {}}} for c in spec["containers"]]}}}}}, left


def text_of(load, job_life=loads.DELAYS[loads.LIVES]):
    return loads.write(dataclasses.replace(load, events=[
        plain(e, job_life)[0] if e["type"] == "create" else e
        for e in load.events]))


def left_out(load):
    """{what the lab does not play: in how many Deployments and Jobs}"""
    return collections.Counter(
        what for e in load.events if e["type"] == "create"
        for what in plain(e, "")[1])


def short_hash(data):
    return hashlib.sha256(data).hexdigest()[:12]


@functools.cache
def sources(held):
    """A hash of what the lab, and with a holder the core, is made of."""
    files = [*(HERE / "lab").rglob("*.go"), HERE / "lab" / "go.mod"]
    if held:
        files += [f for folder in (HERE / "lab" / "core", REPO / "src" / "core",
                                   REPO / "src" / "wire", REPO / "include")
                  for f in folder.rglob("*.[ch]")]
    return short_hash(b"".join(f.read_bytes() for f in sorted(files)))


def marks(s, job):
    """What a run has to come from so that it need not be played again."""
    of = job.load, job.seed
    if of not in s.hashes:
        s.hashes[of] = short_hash(text_of(load_of(s, *of),
                                          s.job_life).encode())
    return {"engine": ENGINE, "load": s.hashes[of]}


def is_there(s, job, runs):
    run = runs.get(job.key)
    return bool(run) and all(
        run.get(k) == v for k, v in marks(s, job).items()) and not (
            s.again and run["sources"] != sources(bool(
                policies.ALL[job.policy].hold)))


# Playing

def settings_of(policy):
    """The holder's configuration; JSON is YAML, too."""
    holder = policy.holder()
    return json.dumps({"apiVersion": "karpenter-node-holder.io/v1",
                       "kind": "HolderConfig", **holder}) if holder else ""


def play(load, policy, dice, name, types=None,
         job_life=loads.DELAYS[loads.LIVES]):
    """The figures of one run, and the CPU-seconds and MiB that it took."""
    policy = policies.ALL[policy]
    files = {kind: WORK / f"{name}.{kind}" for kind in ("load", "job", "facts")}
    files["load"].write_text(text_of(load, job_life))
    files["job"].write_text(json.dumps({
        "load": str(files["load"]), "seed": dice, "types": str(types or ""),
        "disruption": policy.disruption(), "holder": settings_of(policy),
        "jobs_stay": policy.jobs_stay, "grace": policy.grace,
        "pdb": policy.pdb,
        "quiet_s": policy.quiet_s(), "tail_s": TAIL_S}))
    with subprocess.Popen(
            ["nice", PROGRAM, "-test.run", "TestRun", "-test.timeout", "0"],
            env={**os.environ, "LAB_JOB": str(files["job"]),
                 "LAB_RESULT": str(files["facts"]), "GOMAXPROCS": "1",
                 "GOGC": "400"}, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        RUNNING.add(run)
        try:
            out, err = run.communicate(timeout=HANGS_S)
        except subprocess.TimeoutExpired:
            run.kill()
            raise Bad(f"{name}: the lab hangs") from None
        finally:
            RUNNING.discard(run)
    if run.returncode == UNPLAYABLE:
        raise Bad(err.strip().replace(str(files["load"]), load.name))
    if run.returncode:
        raise Bad(f"{name}: the lab failed:\n{out}{err}")
    result = json.loads(files["facts"].read_text())
    for file in files.values():
        file.unlink()
    first = min((n["disrupted"] for n in result["facts"]["nodes"]
                 if n["disrupted"] is not None), default=None)
    return {**measures.figures(result["facts"]), "first_disrupted_s": first,
            "cpu_s": round(result["cpu_s"], 1),
            "rss_mib": round(result["rss_mib"])}


def play_job(s, job):
    return {**play(load_of(s, job.load, job.seed), job.policy, job.run,
                   f"{s.name(job.load)}.{job.policy}.{job.key}", s.types,
                   s.job_life), **marks(s, job),
            "sources": sources(bool(policies.ALL[job.policy].hold))}


def read(file):
    return json.loads(file.read_text())["runs"] if file.exists() else {}


def keep(s, job, figures):
    file = s.result(job)
    runs = {**read(file), job.key: figures}
    new = file.with_suffix(".new")
    new.write_text("{\n\"load\": %s, \"policy\": %s,\n\"runs\": {\n%s\n}}\n" % (
        json.dumps(s.name(job.load)), json.dumps(job.policy), ",\n".join(
            f"{json.dumps(k)}: {json.dumps(runs[k])}" for k in sorted(
                runs, key=lambda k: [int(n) for n in k.split(".")]))))
    new.replace(file)


def plan(s):
    """Seed by seed, so that what is there compares all policies."""
    return [Job(load, policy, seed, run) for seed in range(1, s.seeds + 1)
            for run in range(1, s.runs + 1)
            for load in s.loads for policy in s.policies]


def expected_cpu_s(s, job):
    """As the runs of that load that are there, or as it was measured."""
    took = [r["cpu_s"] for policy in s.policies for r in read(
        s.result(dataclasses.replace(job, policy=policy))).values()]
    if took:
        return statistics.mean(took)
    minutes = load_of(s, job.load, job.seed).minutes
    return (CPU_S.get(job.load, OTHER_CPU_S) * (minutes * 60 + TAIL_S) / 3600
            * s.size ** 1.5)


def end(pool):
    """Waits for nothing that is still played."""
    pool.shutdown(wait=False, cancel_futures=True)
    for run in [*RUNNING]:
        run.kill()


def go(s, todo, cost):
    """cost: {load: CPU-seconds of a run}"""
    began, cpu, did = time.time(), 0.0, 0.0
    every = sum(cost[job.load] for job in todo)
    with concurrent.futures.ThreadPoolExecutor(s.side) as pool:
        runs = {pool.submit(play_job, s, job): job for job in todo}
        try:
            for n, run in enumerate(concurrent.futures.as_completed(runs), 1):
                job, figures = runs[run], run.result()
                keep(s, job, figures)
                cpu += figures["cpu_s"]
                did += cost[job.load]
                left = (time.time() - began) * (every - did) / did
                said = f"{n} of {len(todo)} runs, {hours(left)} left"
                print(f"\r{said} " if sys.stdout.isatty() else
                      f"{said}: {s.name(job.load)} {job.policy} {job.key}\n",
                      end="", flush=True)
        finally:
            end(pool)
    print(f"\n{cpu / 3600:.2f} CPU-hours")


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


def paired(runs, base, figure, plus):
    """By what factor a figure is that of the base: the mean over pairs of the
    same load and seed, and between what it lies as surely as SURE; plus: what
    is added to both, where a figure may be 0."""
    logs = [math.log((runs[k][figure] + plus) / (base[k][figure] + plus))
            for k in sorted(runs.keys() & base.keys())]
    middle = statistics.mean(logs)
    if len(logs) < 2:
        return math.exp(middle), None, None
    wide = STUDENT[min(len(logs) - 1, len(STUDENT)) - 1] * statistics.stdev(
        logs) / math.sqrt(len(logs))
    return tuple(math.exp(middle + x) for x in (0, -wide, wide))


def factor(middle, low, high):
    return f"× {middle:.3f}" + (
        f" ({low:.3f} – {high:.3f})" if low is not None else "")


def results(s, load):
    """{policy: {seed.run: figures}} of the runs that are not out of date."""
    found = {}
    for policy in s.policies:
        job = Job(load, policy, 0, 0)
        runs = {key: r for key, r in read(s.result(job)).items()
                if is_there(s, dataclasses.replace(
                    job, seed=int(key.split(".")[0]),
                    run=int(key.split(".")[1])), {key: r})
                } if s.result(job).exists() else {}
        if runs:
            found[policy] = runs
    return found


def points(of):
    """{policy: (moves, dollars)}: medians over the seeds that all have."""
    common = set.intersection(*(set(runs) for runs in of.values()))
    return {p: tuple(statistics.median(runs[k][figure] for k in common)
                     for figure in ("moved", "dollars"))
            for p, runs in of.items()} if common else {}


def table(of, against):
    base = of.get(against)
    best = pictures.front(points(of))
    lines = ["| policy | runs | " + " | ".join(f[0] for f in FIGURES)
             + "".join(f" | {what}, beside {against}" for what, _, _ in PAIRED)
             + " |", "|---|" + "--:|" * (len(FIGURES) + 1 + len(PAIRED))]
    for policy, runs in of.items():
        pairs = [factor(*paired(runs, base, figure, plus))
                 if base and policy != against and runs.keys() & base.keys()
                 else "" for _, figure, plus in PAIRED]
        lines.append(
            f"| {f'**{policy}**' if policy in best else policy} | {len(runs)} "
            "| " + " | ".join([cell([SCALE.get(key, 1) * r[key]
                                     for r in runs.values()], decimals)
                               for _, key, decimals in FIGURES] + pairs) + " |")
    return "\n".join(lines)


def judged(of):
    best = pictures.front(points(of))
    if not best:
        return "No seed has been played under all policies yet."
    return ("No policy moves fewer pods for fewer dollars than "
            + ", ".join(sorted(best, key=lambda p: points(of)[p]))
            + " (medians).")


def draw(s, load, of):
    """Returns the file, or None: there is no matplotlib."""
    file = BUILD / "study" / "lab-pictures" / f"{s.name(load)}.svg"
    file.parent.mkdir(parents=True, exist_ok=True)
    # What draws is in a venv, which has nothing else.
    sys.path += [str(p) for p in (BUILD / "study" / "venv" / "lib").glob(
        "python*/site-packages") if str(p) not in sys.path]
    try:
        pictures.crosses(f"{s.name(load)}: medians, and where they lie with "
                         f"{SURE:.0%}; the dashed line is the front", {
                             p: tuple(interval([r[f] for r in runs.values()])
                                      for f in ("moved", "dollars"))
                             for p, runs in of.items()}, file)
    except ImportError:
        return None
    return file


def report(s):
    stale = 0
    for load in s.loads:
        of = results(s, load)
        if not of:
            continue
        stale += sum(r["sources"] != sources(bool(policies.ALL[p].hold))
                     for p, runs in of.items() for r in runs.values())
        file = draw(s, load, of)
        print(f"\n### {s.name(load)}\n\n{table(of, s.against)}\n\n{judged(of)}"
              + (f"\nPicture: {os.path.relpath(file, REPO)}" if file else ""))
    print(f"\nPrices: {s.types}" if s.types else
          "\nPrices: those of kwok's menu, by cpus and memory; no cloud's.")
    if stale:
        print(f"{stale} runs come from other sources of the lab or the core; "
              "AGAIN=sources plays them again.")


def main(env=os.environ):
    try:
        s = settings(env)
        s.folder.mkdir(parents=True, exist_ok=True)
        WORK.mkdir(parents=True, exist_ok=True)
        jobs = plan(s)
        todo = [j for j in jobs if not is_there(s, j, read(s.result(j)))]
        cost = {j.load: expected_cpu_s(s, j) for j in reversed(todo)}
        need = sum(cost[j.load] for j in todo)
        print(f"lab: {len(jobs)} runs, {len(todo)} to play: about "
              f"{need / 3600:.2f} CPU-hours, {hours(need / s.side)}.  "
              f"Results: {os.path.relpath(s.folder, REPO)}", flush=True)
        if s.file:
            for what, n in left_out(load_of(s, "", 1)).most_common():
                print(f"lab: not played: {what} of {n} Deployments and Jobs")
        if todo:
            go(s, todo, cost)
    except (Bad, loads.BadLoad) as e:
        sys.exit(f"lab: {e}")
    report(s)


if __name__ == "__main__":
    end_on_signals()
    main()
