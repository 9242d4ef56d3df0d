# SPDX-License-Identifier: Apache-2.0
"""make study: plays loads under policies on real Karpenter, and keeps one small
JSON for each run.  A result that exists is not run again.

LOADS, POLICIES: names, or "first" (the default), "further", "all"; "ablation"
are the policies that leave out a rule of the holder.
REPEAT: seeds 1 to N (2).  LOAD: a file of kubereplay instead of LOADS.
MINUTES: of each load (20).  TRACES: the folder of the public traces.
SIDE: runs side by side (two for each processor).  RESULTS: another folder.
QUIET: seconds without a change after which a run ends, for a first look.
"""
import dataclasses
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib"), str(HERE.parent)]

import loads  # noqa: E402
import policies  # noqa: E402
import without  # noqa: E402
from controlplane import (BUILD, REPO, end, end_on_signals, spawn,  # noqa: E402
                          tail)

RESULTS = HERE / "results"
START_S = 60            # the control plane, before the load begins
APART_S = 10            # runs that begin at once would all be busy at once
TRIES = 3
THROWN_AWAY = 3         # play.py's exit code


class Bad(Exception):
    """A setting; says what was expected."""


@dataclasses.dataclass(frozen=True)
class Job:
    load: str
    policy: str
    seed: int
    folder: pathlib.Path

    @property
    def name(self):
        return f"{self.load}.{self.policy}.{self.seed}"

    @property
    def result(self):
        return self.folder / f"{self.name}.json"


@dataclasses.dataclass
class Settings:
    loads: list
    policies: list
    repeat: int
    minutes: float
    side: int
    file: pathlib.Path
    traces: pathlib.Path
    folder: pathlib.Path
    quiet: float


def named(text, groups, every, what):
    found = []
    for word in text.split():
        if word not in every and word not in groups:
            raise Bad(f"no {what} {word}; there are: "
                      + " ".join([*groups, *every]))
        found += groups.get(word, [word])
    return list(dict.fromkeys(found))


def number(env, name, default, kind=int, least=1):
    text = env.get(name) or str(default)
    try:
        value = kind(text)
        assert value >= least
    except (ValueError, AssertionError):
        raise Bad(f"{name}={text}: expected a number from {least} on"
                  ) from None
    return value


def settings(env):
    file, traces = (pathlib.Path(env[k]).resolve() if env.get(k) else None
                    for k in ("LOAD", "TRACES"))
    for name, path, there in (("LOAD", file, pathlib.Path.is_file),
                              ("TRACES", traces, pathlib.Path.is_dir)):
        if path and not there(path):
            raise Bad(f"{name}={env[name]}: no such "
                      + ("file" if name == "LOAD" else "folder"))
    minutes = number(env, "MINUTES", 0, float, 0)
    quiet = number(env, "QUIET", 0, float, 0)
    if file:
        names = [file.stem]
        loads.read(file.read_text(), str(file))     # or says what is wrong
    else:
        names = named(env.get("LOADS") or "first", {
            "first": [*loads.FIRST], "further": [*loads.FURTHER],
            "all": loads.NAMES}, loads.NAMES, "load")
        if not traces and set(names) & set(loads.TRACES):
            raise Bad("windows of the traces: expected TRACES=FOLDER, where "
                      "they are")
    # What is no result of the page stays out of its folder.
    kept = not file and not quiet and (not minutes or minutes >= 20)
    return Settings(
        names, named(env.get("POLICIES") or "first", {
            "first": [*policies.FIRST], "further": [*policies.FURTHER],
            "ablation": [*policies.ABLATION],
            "all": [*policies.FIRST, *policies.FURTHER]}, [*policies.ALL], "policy"),
        number(env, "REPEAT", 2), minutes or (0 if file else 20),
        number(env, "SIDE", 2 * os.cpu_count()), file, traces,
        pathlib.Path(env.get("RESULTS") or (
            RESULTS if kept else BUILD / "study" / "results")).resolve(),
        quiet)


def plan(s):
    """All runs in their order: policies take turns, and another one begins
    each time."""
    jobs = []
    for seed in range(1, s.repeat + 1):
        for i, load in enumerate(s.loads):
            # The page shows other lengths as loads of their own.
            name = load if s.minutes in (0, 20) else f"{load}-{s.minutes:g}m"
            first = (seed + i) % len(s.policies)
            jobs += [Job(name, policy, seed, s.folder) for policy in
                     s.policies[first:] + s.policies[:first]]
    return jobs


def expected_s(job, s):
    minutes = s.minutes or loads.read(s.file.read_text(), "").minutes
    return (START_S + minutes * 60
            + (s.quiet or policies.ALL[job.policy].tail_s()))


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else \
        f"{seconds / 60:.0f} min"


def start(job, s):
    log = BUILD / "study" / "logs" / f"{job.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    load = job.load.rpartition("-")[0] if job.load.endswith(
        f"-{s.minutes:g}m") else job.load
    argv = [sys.executable, "-u", HERE / "play.py", load, job.policy, job.seed,
            job.result, "--minutes", s.minutes, "--quiet", s.quiet]
    for flag, value in (("--file", s.file), ("--traces", s.traces)):
        argv += [flag, value] if value else []
    return spawn(argv, log), log, time.time()


class Runs:
    def __init__(self, s, todo):
        self.s, self.todo, self.side = s, todo, s.side
        self.running = {}       # Job -> (process, log, when it began)
        self.tries = {job: 0 for job in todo}
        self.given_up = []

    def say(self, job, text):
        print(f"{time.strftime('%H:%M:%S')}  {job.name:32} {text}  "
              f"({len(self.todo)} wait)", flush=True)

    def go(self):
        try:
            while self.todo or self.running:
                while self.todo and len(self.running) < self.side:
                    job = self.todo.pop(0)
                    self.running[job] = start(job, self.s)
                    time.sleep(APART_S)
                time.sleep(1)
                for job, (process, log, began) in list(self.running.items()):
                    if process.poll() is not None:
                        del self.running[job]
                        self.ended(job, process.returncode, log, began)
        finally:
            for process, _, _ in self.running.values():
                end(process)
        return self.given_up

    def ended(self, job, code, log, began):
        took = hours(time.time() - began)
        if code == 0:
            self.side = min(self.s.side, self.side + 1)
            self.say(job, f"done, {took}")
            return
        self.tries[job] += 1
        again = self.tries[job] < TRIES
        (self.todo if again else self.given_up).append(job)
        then = "again later" if again else "given up"
        if code == THROWN_AWAY:
            # Fewer at a time may find the processors that they need.
            self.side = max(1, self.side - 1)
            self.say(job, f"{tail(log, 1)}; {then}, {self.side} at a time")
        else:
            self.say(job, f"failed ({code}), {then}: {log}\n{tail(log, 5)}")


def main(env=os.environ):
    try:
        s = settings(env)
    except (Bad, loads.BadLoad) as e:
        sys.exit(f"study: {e}")
    jobs = plan(s)
    s.folder.mkdir(parents=True, exist_ok=True)
    todo = [job for job in jobs if not job.result.exists()]
    total = sum(expected_s(job, s) for job in todo) / min(
        s.side, max(1, len(todo)))
    print(f"study: {len(jobs)} runs, {len(jobs) - len(todo)} of them are "
          f"there; {len(todo)} to do, {s.side} side by side: about "
          f"{hours(total)}.  Results: {os.path.relpath(s.folder, REPO)}",
          flush=True)
    for rule in sorted({policies.ALL[job.policy].without for job in todo}):
        if rule:
            print(f"study: building the holder without {rule}", flush=True)
            without.write(BUILD, rule)
    given_up = Runs(s, todo).go()
    if given_up:
        sys.exit("study: without a result: "
                 + " ".join(job.name for job in given_up))


if __name__ == "__main__":
    end_on_signals()
    main()
