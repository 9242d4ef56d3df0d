# SPDX-License-Identifier: Apache-2.0
"""make study-pictures: the pictures and tables of docs/study.md from the
committed results, byte for byte the same each time."""
import json
import pathlib
import statistics

import loads
import policies
import recommend

HERE = pathlib.Path(__file__).parent
REPO = HERE.parents[1]
RESULTS = HERE / "results"
PAGE = REPO / "docs" / "study.md"
FOLDER = REPO / "docs" / "study"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
NONE = "There is no result yet.\n"
ONLY_ABLATION = {*policies.ABLATION} - {*policies.FIRST}

# heading, figure, decimals
COLUMNS = (
    ("pods moved", "moved", 0), ("had run, s", "moved_ran_median_s", 0),
    ("warm-up lost, s", "warm_up_lost_s", 0), ("launched", "nodes_launched", 0),
    ("disrupted", "nodes_disrupted", 0), ("decisions", "decisions", 0),
    ("node-seconds", "node_seconds", 0), ("dollars", "dollars", 2),
    ("pending, s", "pending_sum_s", 0), ("p99, s", "pending_p99_s", 0),
    ("worst peak, s", "peak_worst_s", 0), ("held, %", "held_share", 0),
    ("writes", "writes", 0))
DRIFT = (("drift done, s", "drift_finished_s", 0),
         ("old nodes left", "drift_left", 0))


def results(folder=RESULTS):
    """{load: {policy: [result]}}, in the order of the tables of both."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        one = json.loads(file.read_text())
        found.setdefault(one["load"], {}).setdefault(
            one["policy"], []).append(one)

    def place(names, name):
        base = name.rsplit("-", 1)[0] if name not in names else name
        return (names.index(base) if base in names else len(names), name)
    order = list(policies.ALL)
    return {load: dict(sorted(found[load].items(),
                              key=lambda p: place(order, p[0])))
            for load in sorted(found, key=lambda n: place(loads.NAMES, n))}


def parted(found):
    """Those that a user could pick, and those of the ablation."""
    return ({load: kept for load, of in found.items() if (kept := {
        p: rs for p, rs in of.items() if p not in ONLY_ABLATION})},
            {load: kept for load, of in found.items() if (kept := {
                p: rs for p, rs in of.items() if p in policies.ABLATION})
             and kept.keys() & ONLY_ABLATION})


def value(result, figure):
    if figure == "writes":
        return result["writes"]["all"]
    if figure == "decisions":
        return sum(result["decisions"].values())
    if figure == "held_share":
        return 100 * result["figures"][figure]
    return result["figures"][figure]


def values(runs, figure):
    return [value(r, figure) for r in runs]


def middle(runs, figure):
    return statistics.median(values(runs, figure))


def cell(runs, figure, decimals):
    """The median, with the least and the most where they differ."""
    of = [f"{v:,.{decimals}f}" for v in (
        middle(runs, figure), min(values(runs, figure)),
        max(values(runs, figure)))]
    return of[0] if of[1] == of[2] else f"{of[0]} ({of[1]} – {of[2]})"


def front(points):
    """The names of those that no other beats in cost and moves at once;
    points: {name: (moves, cost)}."""
    return [name for name, (x, y) in points.items() if not any(
        a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())]


def table(of):
    """of: {policy: [result]}"""
    columns = COLUMNS + (DRIFT if all(
        "drift_finished_s" in r["figures"] for rs in of.values() for r in rs)
        else ())
    points = {p: (middle(rs, "moved"), middle(rs, "dollars"))
              for p, rs in of.items()}
    best = front(points)
    lines = ["| policy | runs | " + " | ".join(c[0] for c in columns) + " |",
             "|---|" + "--:|" * (len(columns) + 1)]
    for policy, runs in of.items():
        name = f"**{policy}**" if policy in best else policy
        late = sum(not r["settled"] for r in runs)
        count = f"{len(runs)}" + (f", {late} not settled" if late else "")
        lines.append(f"| {name} | {count} | " + " | ".join(
            cell(runs, f, d) for _, f, d in columns) + " |")
    return "\n".join(lines) + "\n"


def about(of):
    """When and with what: a line below each table."""
    runs = [r for rs in of.values() for r in rs]
    dates = sorted({r["date"] for r in runs})
    kinds = [", ".join(sorted({r["versions"][k] for r in runs}))
             for k in ("commit", "karpenter", "kubernetes", "kwok")]
    days = dates[0] + (f" to {dates[-1]}" if len(dates) > 1 else "")
    return ("Runs of {}; commit {}, Karpenter {}, Kubernetes {}, kwok {}.\n"
            .format(days, *kinds))


def pace(found):
    """What came after a release, of the results that know it."""
    rows = []
    for load, of in found.items():
        for policy, runs in of.items():
            runs = [r for r in runs if "steps" in r]
            if runs and policies.ALL[policy].holder():
                rows.append(f"| {load} | {policy} | " + " | ".join(
                    cell(runs, f, 0) for f in (
                        "moved_released", "moved_released_again",
                        "step_gap_median_s")) + " |\n")
    return ("### After a release\n\n| load | policy | pods moved after a "
            "release | of these moved again within 10 min | from one step to "
            "the next, s |\n|---|---|--:|--:|--:|\n" + "".join(rows)
            ) if rows else ""


ABLATION = """\
### Without a rule

`holder-2m` with one of its rules left out, and `holder-2m-capped` (`maxHoldDuration: 6m`, `releaseWindow: 2m`) with a plain cap.

| load | policy | runs | pods moved | warm-up lost, s | disrupted | node-seconds | dollars | held, % | writes |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def ablation(found):
    """What a run without one of the rules was like."""
    return ABLATION + "".join(
        f"| {load} | {policy} | {len(runs)} | " + " | ".join(
            cell(runs, f, d) for _, f, d in COLUMNS if f in (
                "moved", "warm_up_lost_s", "nodes_disrupted", "node_seconds",
                "dollars", "held_share", "writes")) + " |\n"
        for load, of in found.items() for policy, runs in of.items()
    ) if found else ""


def block(found, folder=RESULTS):
    """What stands between the marks of the page."""
    if not found:
        return NONE
    found, ablated = parted(found)
    return "\n".join([
        *(f"### {load}\n\n![moves and cost of each policy under {load}]"
          f"(study/{load}.svg)\n\n{table(of)}\n{about(of)}"
          for load, of in found.items()),
        *filter(None, (pace(found), ablation(ablated),
                        recommend.block(found, folder)))])


def page(text, found):
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + block(found) + END + after


def draw(load, of, file):
    crosses(f"{load}: median, least and most; the dashed line is the front", {
        p: tuple((middle(rs, f), min(values(rs, f)), max(values(rs, f)))
                 for f in ("moved", "dollars")) for p, rs in of.items()},
            file, load)


def crosses(title, points, file, salt="lab"):
    """points: {policy: ((moves, from, to), (dollars, from, to))}"""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": salt, "svg.fonttype": "none",
                                "font.size": 9})
    middles = {p: (x[0], y[0]) for p, (x, y) in points.items()}
    best = sorted(middles[p] for p in front(middles))
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    axes.step([x for x, _ in best], [y for _, y in best],
              where="post", color="0.6", linestyle="--", zorder=1)
    for policy, both in points.items():
        color = "tab:blue" if policies.ALL[policy].hold else "tab:orange"
        xerr, yerr = ([[abs(at - low)], [abs(at - high)]]
                      for at, low, high in both)
        axes.errorbar(*middles[policy], xerr=xerr, yerr=yerr, fmt="o",
                      color=color, zorder=2, elinewidth=0.8)
        axes.annotate(policy, middles[policy], xytext=(5, 4), fontsize=8,
                      textcoords="offset points")
    axes.set(xlabel="pods moved by Karpenter's choice", ylabel="dollars",
             title=title)
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def main():
    found = results()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.svg"):
        old.unlink()
    for load, of in parted(found)[0].items():
        draw(load, of, FOLDER / f"{load}.svg")
    if not found:
        FOLDER.rmdir()
    PAGE.write_text(page(PAGE.read_text(), found))
    print(f"study-pictures: {len(found)} loads in {PAGE.relative_to(REPO)}")


if __name__ == "__main__":
    main()
