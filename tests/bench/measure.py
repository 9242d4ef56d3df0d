# SPDX-License-Identifier: Apache-2.0
"""Takes turns, measures processes, and prints ratios.

A shared machine is now fast and now slow.  So the sides of a comparison take
turns, each round gives a ratio of its own, and what counts is the median of
the rounds' ratios.
"""
import json
import os
import pathlib
import statistics
import sys
import time


def settings(name, default, least=1):
    """The numbers of an environment variable; what is none ends the program.
    """
    text = os.environ.get(name, "").strip() or default
    numbers = [int(n) if n.isdecimal() else -1 for n in text.split()]
    if min(numbers) < least:
        sys.exit(f"bench: {name}={text}: expected whole numbers from {least}"
                 f" on, such as {name}=\"{default}\"")
    return numbers


def setting(name, default, least=1):
    """The same for a single number."""
    numbers = settings(name, str(default), least)
    if len(numbers) > 1:
        sys.exit(f"bench: {name}={' '.join(map(str, numbers))}: "
                 f"expected one number, such as {default}")
    return numbers[0]


ROUNDS = setting("ROUNDS", 5)
SECONDS = setting("LOAD_SECONDS", 3)    # of load, for each side
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

rows = []   # what ratio() has printed
curves = {}     # {picture: {side: [[x, y], …]}}


def cpu(pid):
    """Seconds of CPU that the threads of a process have used.  Its stat has
    the same in hundredths of a second."""
    used = 0
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            used += int(file.read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass    # a thread that has ended meanwhile
    return used / 1e9


def phases(pid, name):
    """Seconds for which the thread of that name has (computed, waited for a
    processor)."""
    for comm in pathlib.Path(f"/proc/{pid}/task").glob("*/comm"):
        if comm.read_text().strip() == name:
            ran, waited, _ = comm.with_name("schedstat").read_text().split()
            return int(ran) / 1e9, int(waited) / 1e9
    raise RuntimeError(f"no thread {name} of {pid}")


def resident(pid):
    """MiB of memory that are in use now."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) \
        * PAGE / 2**20


def peak(pid):
    """MiB of memory that were in use at most."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no VmHWM of {pid}")


def wakeups(pid):
    """How often its threads have gone to sleep, and so were woken."""
    count = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                count += int(line.split()[1])
    return count


def machine_cpu():
    """Seconds of CPU (used by anybody, there for use) since boot."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    times = [int(f) / TICK for f in fields]
    return sum(times) - times[3] - times[4], sum(times)


class Spent:
    """The CPU of some processes, and of everybody else, while it lasts."""

    def __init__(self, **pids):
        self.pids = pids

    def __enter__(self):
        self.before = {n: cpu(p) for n, p in self.pids.items()}
        self.used, self.there = machine_cpu()
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.begun
        used, there = machine_cpu()
        self.cpu = {n: cpu(p) - self.before[n] for n, p in self.pids.items()}
        self.idle = (there - self.there) - (used - self.used)
        self.others = used - self.used - sum(self.cpu.values())

    def __str__(self):
        parts = [f"{n} {c / self.seconds:.2f}" for n, c in self.cpu.items()]
        return ", ".join(parts + [
            f"all else {max(0, self.others) / self.seconds:.2f}",
            f"idle {max(0, self.idle) / self.seconds:.2f}"])


def figure(value):
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def spread_of(values, show=figure):
    return f"{show(statistics.median(values))} " \
        f"({show(min(values))} to {show(max(values))})"


def heading(text):
    print(f"\n== {text}", flush=True)


def note(text):
    print(f"   {text}", flush=True)


def holds(value, target, less):
    return value <= target if less else value >= target


def ratio(what, ours, theirs, target=None, less=False, unit="", than="peer"):
    """Prints ours / theirs for each round: the median, least and most.

    target: what the median should reach; `less`: what it should not exceed.
    """
    ratios = [a / b for a, b in zip(ours, theirs) if b]
    if not ratios:
        note(f"{what}: nothing to compare with")
        return
    median = statistics.median(ratios)
    verdict = ""
    if target is not None:
        verdict = f"  target {'≤' if less else '≥'} {target:.3g}: " \
            + ("holds" if holds(median, target, less) else "MISSED")
    print(f"   {what}: {spread_of(ratios, lambda v: f'{v:.2f}')}"
          f" of the {than}{verdict}")
    print(f"      ours {spread_of(ours)}{unit}, {than} {spread_of(theirs)}"
          f"{unit}", flush=True)
    rows.append({"what": what, "than": than, "target": target, "less": less,
                 "ratios": ratios, "ours": ours, "theirs": theirs,
                 "unit": unit,
                 "holds": target is None or holds(median, target, less)})


def alone(what, values, target=None, unit=""):
    """Prints a figure of ours that is not compared but has a bound."""
    verdict = ""
    good = target is None or holds(max(values), target, less=True)
    if target is not None:
        verdict = f"  target ≤ {target:g}{unit}: " + (
            "holds" if good else "MISSED")
    print(f"   {what}: {spread_of(values)}{unit}{verdict}", flush=True)
    rows.append({"what": what, "than": "", "target": target, "less": True,
                 "ours": values, "unit": unit, "holds": good})


def curve(picture, side, x, y):
    """Notes a point of a picture (pictures.py)."""
    curves.setdefault(picture, {}).setdefault(side, []).append([x, y])


def turns(sides, run, rounds=None):
    """Calls run(side) for each side in turn, round by round; returns {side:
    [result of each round]}.  Every other round goes backwards, since who runs
    second may find the machine warmer."""
    found = {side: [] for side in sides}
    for i in range(rounds or ROUNDS):
        for side in sides if i % 2 == 0 else reversed(sides):
            found[side].append(run(side))
    return found


def table(rows):
    """Figures, as a table of Markdown."""
    lines = ["| measure | than | ratio: median (least to most) | target | |",
             "|---|---|---|---|---|"]
    for r in rows:
        sign = "≤" if r["less"] else "≥"
        value = spread_of(r["ratios"], lambda v: f"{v:.2f}") \
            if r["than"] else spread_of(r["ours"]) + r["unit"]
        target = "" if r["target"] is None else f"{sign} {r['target']:.3g}"
        verdict = "" if r["target"] is None else \
            "holds" if r["holds"] else "**missed**"
        lines.append(f"| {r['what']} | {r['than']} | {value} | {target} "
                     f"| {verdict} |")
    return "\n".join(lines) + "\n"


def save(path):
    """Figures of other parts, from former runs, stay.  Returns all curves."""
    kept = json.loads(path.read_text()) if path.exists() else {
        "rows": [], "curves": {}}
    new = {(r["what"], r["than"]): r for r in rows}
    kept["rows"] = [new.pop((r["what"], r["than"]), r) for r in kept["rows"]] \
        + list(new.values())
    for picture, sides in curves.items():
        for side, points in sides.items():
            old = kept["curves"].setdefault(picture, {})
            merged = {**dict(old.get(side, [])), **dict(points)}
            old[side] = sorted(map(list, merged.items()))
    path.write_text(json.dumps(kept, indent=1))
    path.with_suffix(".md").write_text(table(kept["rows"]))
    return kept["curves"]
