# SPDX-License-Identifier: Apache-2.0
"""make lab-fidelity: is the lab faithful?  It plays ten times, with other dice,
what the study has played on a real control plane, and puts the tables into
docs/study.md.  What has been played is not played again.

LOADS, POLICIES: only these (all that there are).  JOBS: runs side by side.
TRACES: the folder of the public traces, which trace-day and trace-batch need.
RESULTS: another file; then the tables go to the output alone.
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib"), str(HERE.parent)]

import lab  # noqa: E402
import loads  # noqa: E402
import pictures  # noqa: E402
import policies  # noqa: E402
from controlplane import end_on_signals  # noqa: E402
from study import Bad, number  # noqa: E402

FILE = lab.RESULTS / "fidelity.json"
DICE = 10
# How far outside of the range a figure may be: a share of it, and seconds.
SPARE = {"pending_sum_s": (0.03, 0), "first_disrupted_s": (0, 15)}
RULES = "704dc1b5"  # holders of other commits had other rules
FAR = 0.1           # a cell whose dollars are further off is named
BEGIN, END = "<!-- fidelity: begin -->\n", "<!-- fidelity: end -->\n"
# What is kept of a run, with its decimals.
KEPT = {"moved": 0, "dollars": 4, "nodes_launched": 0,
        "first_disrupted_s": 1, "pending_sum_s": 0}


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one real run was of.  load: as the page names it, which is day-80m
    for 80 minutes of day."""
    name: str
    load: str
    policy: str
    seed: int
    minutes: float

    @property
    def key(self):
        """noise was played twice with one seed."""
        return f"{self.load}.{self.policy}.{self.seed}"

    @property
    def base(self):
        return self.load if self.load in loads.NAMES else \
            self.load.rpartition("-")[0]


def real_runs():
    """{Cell: its figures}, of all that the lab can play."""
    found = {}
    for file in sorted(pictures.RESULTS.glob("*.json")):
        load, policy, _ = file.stem.rsplit(".", 2)
        if lab.playable(policy):
            continue
        one = json.loads(file.read_text())
        if (policies.ALL[policy].holder()
                and one["versions"]["commit"] != RULES):
            continue
        of = dict(one["figures"])
        if "steps" in one:      # older results do not know it
            of["first_disrupted_s"] = min(
                (s[0] for s in one["steps"]), default=None)
        found[Cell(file.stem, load, policy, one["seed"],
                   one["minutes"])] = figures(of)
    return found


def chosen(env):
    """The cells that are to be played."""
    return [c for c in real_runs()
            if (env.get("TRACES") or c.base not in loads.TRACES)
            and c.load in (env.get("LOADS") or c.load).split()
            and c.policy in (env.get("POLICIES") or c.policy).split()]


def figures(of):
    return {k: None if of[k] is None else round(of[k], decimals) if decimals
            else round(of[k]) for k, decimals in KEPT.items() if k in of}


def play(cell, dice, env):
    traces = env.get("TRACES")
    load = loads.make(cell.base, cell.seed, cell.minutes,
                      traces and pathlib.Path(traces))
    return lab.play(load, cell.policy, dice, f"{cell.key}.{dice}")


def read(file):
    """{load.policy.seed: {dice: figures}}, of today's engine."""
    kept = json.loads(file.read_text()) if file.exists() else {}
    return kept["runs"] if kept.get("engine") == lab.ENGINE else {}


def write(file, runs):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n\"engine\": %d,\n\"runs\": {\n%s\n}}\n" % (
        lab.ENGINE, ",\n".join(f"{json.dumps(name)}: {json.dumps(runs[name])}"
                               for name in sorted(runs))))


def go(cells, file, env):
    runs = read(file)
    todo = [(cell, str(dice)) for dice in range(1, DICE + 1)
            for cell in {c.key: c for c in cells}.values()
            if str(dice) not in runs.get(cell.key, {})]
    cpu = 0.0
    lab.WORK.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(
            number(env, "JOBS", os.cpu_count())) as pool:
        playing = {pool.submit(play, cell, int(dice), env): (cell, dice)
                   for cell, dice in todo}
        try:
            for n, run in enumerate(concurrent.futures.as_completed(playing),
                                    1):
                cell, dice = playing[run]
                of = run.result()
                cpu += of["cpu_s"]
                runs.setdefault(cell.key, {})[dice] = figures(of)
                write(file, runs)
                print(f"\r{n} of {len(todo)} runs ", end="", flush=True)
        finally:
            lab.end(pool)
    print(f"\n{cpu:.0f} CPU-seconds")
    return runs


# What came of it

def within(real, values, share=0, more=0):
    """Does the real value lie within the range?  None: it did not happen."""
    there = [v for v in values if v is not None]
    if real is None or not there:
        return real is None and len(there) < len(values)
    spare = share * real + more
    return min(there) - spare <= real <= max(there) + spare


def judged(cell, real, runs):
    """{figure: does the real run lie within the range of the lab's?}, and the
    ratio of the dollars."""
    of = {k: [r[k] for r in runs.values()] for k in KEPT}
    return ({k: within(real[k], of[k], *SPARE.get(k, ())) for k in real},
            statistics.median(of["dollars"]) / real["dollars"])


def table(found, runs):
    """found: {Cell: real figures}"""
    rows = {}
    for cell, real in found.items():
        of = runs[cell.key]
        for load in (cell.load, "all"):
            rows.setdefault(load, []).append((len(of), *judged(cell, real, of)))
    rows["all"] = rows.pop("all")
    lines = ["| load | real runs | lab runs for each | pods moved | launched | "
             "first decision | pending | dollars, lab to real |",
             "|---|" + "--:|" * 7]
    for load, of in rows.items():
        counts, inside, ratios = zip(*of)
        known = {k: [i[k] for i in inside if k in i]
                 for k in KEPT if k != "dollars"}
        lines.append(f"| {load} | {len(of)} | {min(counts)} | " + " | ".join(
            f"{sum(v)}" + (f" of {len(v)}" if len(v) < len(of) else "")
            for v in known.values()) + " | {:.3f} ({:.3f} – {:.3f}) |".format(
                statistics.median(ratios), min(ratios), max(ratios)))
    return "\n".join(lines) + "\n"


def far(found, runs):
    """The cells whose dollars are further off than FAR."""
    off = {c.name: judged(c, real, runs[c.key])[1] for c, real in found.items()}
    return ", ".join(f"`{name}` {ratio:.3f}" for name, ratio in off.items()
                     if abs(ratio - 1) > FAR) or "none"


def block(found, runs):
    """What stands between the marks of the page."""
    parts = []
    for holder, title in ((False, "Karpenter alone"),
                          (True, "With the holder")):
        of = {c: r for c, r in found.items()
              if bool(policies.ALL[c.policy].holder()) == holder}
        if of:
            parts.append(f"{title}:\n\n{table(of, runs)}\nDollars more than "
                         f"{FAR:.0%} off: {far(of, runs)}.\n")
    return "\n".join(parts)


def listed(found, runs):
    """Each cell, for a look behind the table."""
    for cell, real in found.items():
        inside, ratio = judged(cell, real, runs[cell.key])
        print(f"{cell.name:26} {ratio:6.3f} " + "  ".join(
            f"{'' if inside[k] else '!!'}{k[:7]} {real[k]} [" + " ".join(
                str(v) for v in sorted(
                    (r[k] for r in runs[cell.key].values()),
                    key=lambda v: (v is None, v))) + "]" for k in real))


def page(text, found, runs):
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + block(found, runs) + END + after


def main(env=os.environ):
    file = pathlib.Path(env.get("RESULTS") or FILE)
    try:
        runs = go(chosen(env), file, env)
    except (Bad, loads.BadLoad) as e:
        sys.exit(f"lab-fidelity: {e}")
    found = {c: real for c, real in real_runs().items() if c.key in runs}
    listed(found, runs)
    if file == FILE:
        pictures.PAGE.write_text(page(pictures.PAGE.read_text(), found, runs))
    else:
        print(block(found, runs))


if __name__ == "__main__":
    end_on_signals()
    main()
