# SPDX-License-Identifier: Apache-2.0
"""make matrix: the end-to-end tests on other versions of Karpenter and
Kubernetes, and what docs/compatibility.md and `holderctl check` say of them.

    tests/matrix/matrix.py [PAIR...]    runs these, or all that have not passed
    tests/matrix/matrix.py --write      writes both files from results/ alone
    tests/matrix/matrix.py --check      fails if they would be other

A PAIR is as in "1.15.0-on-1.36.3"; --list shows all.  Each is one file in
results/, and an interrupted run goes on with those that are missing.  What a
pair needs is built from Go modules (tests/e2e/lib/versions.py), which takes
minutes.  JOBS says how many tests run side by side (2).
"""
import dataclasses
import datetime
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
E2E = REPO / "tests" / "e2e"
RESULTS = HERE / "results"
PAGE = REPO / "docs" / "compatibility.md"
LOGS = REPO / "tests" / "golden" / "karpenter" / "runs"
TABLE = REPO / "src" / "core" / "doctor" / "tested.h"
sys.path.insert(0, str(E2E / "lib"))

import versions  # noqa: E402

TERMINATE_FIRST = "TerminateFirstDrift=true,TerminateFirstRepair=true"


def number(version):
    return tuple(map(int, version.split(".")))


@dataclasses.dataclass(frozen=True)
class Pair:
    karpenter: str
    kubernetes: str
    gates: str = ""
    # What is there before an upgrade to it.
    before: tuple = ()
    # Why there can be no result; else there is one, or none yet.
    impossible: str = ""
    # All other tests run on it.
    pinned: bool = False

    @property
    def name(self):
        return f"{self.karpenter}-on-{self.kubernetes}" + (
            "-terminate-first" if self.gates else "")

    @property
    def marks_candidates(self):
        """Before 1.2 there is no DisruptionReason."""
        return number(self.karpenter) >= (1, 2)

    @property
    def file(self):
        return RESULTS / f"{self.name}.json"

    @property
    def result(self):
        return json.loads(self.file.read_text()) if self.file.exists() else None


PINNED = tuple(versions.pinned(name, of[0])[1:] for name, of in (
    ("karpenter", versions.KARPENTER), ("kubernetes", versions.KUBERNETES)))
PAIRS = (
    Pair("1.0.8", "1.30.14"),
    Pair("1.3.3", "1.32.13", impossible="Kubernetes 1.32.13 cannot be built "
         "from Go modules: its module k8s.io/endpointslice v0.32.13 is not "
         "available"),
    Pair("1.6.4", "1.34.4"),
    Pair("1.9.0", "1.35.4"),
    Pair("1.13.0", "1.36.3", before=("1.13.0", "1.35.4")),
    Pair(*PINNED, pinned=True),
    Pair("1.14.3", "1.36.3", before=("1.13.0", "1.36.3")),
    Pair("1.15.0", "1.36.3", before=PINNED),
    Pair("1.15.0", "1.36.3", gates=TERMINATE_FIRST),
    Pair("1.15.0", "1.37.2"),
)


def replaced(pair):
    return "ignore" if pair.marks_candidates else "count"


def plane(karpenter, kubernetes):
    return versions.plane("v" + karpenter, "v" + kubernetes)


def needs_1_15(*tests):
    """Tests of what Karpenter 1.15 has brought."""
    return lambda pair: list(tests) if number(pair.karpenter) >= (1, 15) \
        else "needs Karpenter 1.15"


# What is tried, as docs/compatibility.md names it, and the tests that try it.
# A function leaves out what a pair cannot have, with the reason.
STEPS = {
    "Installed by kustomize, every overlay":
        lambda pair: ["test_deploy.py::test_an_overlay_is_applied"],
    "Installed, upgraded and uninstalled by Helm":
        lambda pair: ["test_helm_release.py::test_install_upgrade_uninstall"],
    "Held at admission":
        lambda pair: ["test_admission.py"],
    "Held and released, the whole cluster with it":
        lambda pair: ["test_release.py::test_one_machine",
                      "test_release.py::test_second_creation_moves_the_release",
                      "test_release.py::test_three_hundred_nodes",
                      "test_scopes.py::test_cluster_is_every_pool"],
    "Karpenter disrupts nothing while held; `simulate` and `record` say what "
    "the holder did":
        lambda pair: ["test_consolidation.py"],
    "A replacement by consolidation":
        lambda pair: ["test_replacements.py::test_three_nodes_become_one"
                      f"[{replaced(pair)}]"],
    "Replacements by drift":
        lambda pair: [f"test_replacements.py::test_drift[{replaced(pair)}]"]
        + ["test_substitutes.py::test_load_after_the_drift_of_an_empty_node"]
        * pair.marks_candidates,
    "Machines that expire":
        lambda pair: [
            "test_substitutes.py::test_six_machines_expire_one_by_one"],
    "Machines deleted by hand":
        lambda pair: ["test_substitutes.py::test_deleted_by_hand"],
    "A launch that fails":
        lambda pair: ["test_karpenter.py::test_a_launch_that_fails"],
    "Another Karpenter in the same cluster":
        lambda pair: ["test_two_karpenters.py"],
    "NodePools left alone, and a hold by hand":
        lambda pair: ["test_pools.py::test_hold_until",
                      "test_pools.py::test_disabled"],
    "Failover":
        lambda pair: ["test_failover.py::test_killed_in_the_middle_of_the_work"],
    "Policies in force":
        lambda pair: ["test_deploy.py::TestLeastPrivilege",
                      "test_deploy.py::test_each_clause_of_the_policy_is_needed",
                      "test_deploy.py::test_no_sequence_takes_a_persons_hold"],
    "A MutatingAdmissionPolicy instead of the webhook":
        lambda pair: "needs Kubernetes 1.36"
        if number(pair.kubernetes) < (1, 36) else [
            "test_admission_policy.py::test_it_decides_as_the_webhook_does",
            "test_admission_policy.py::test_a_hold_comes_and_goes"],
    "`holderctl check`":
        lambda pair: ["test_check.py::test_a_healthy_installation"],
    "Node repair: reboots, replacements, and machines that were never ready":
        needs_1_15("test_repair.py"),
    "A full reservation, with the gates `TerminateFirst…` off and on":
        needs_1_15("test_terminate_first.py"),
    "The gates `PodDeletionCostManagement` and `CapacityBuffer`":
        needs_1_15("test_gates.py"),
    "The API server, or Karpenter, upgraded while machines are held":
        lambda pair: ["test_upgrade.py"] if pair.before else "not tried",
    "`uninstall`":
        lambda pair: ["test_uninstall.py::test_300_nodes",
                      "test_uninstall.py::test_as_a_job"],
}

# What a user has to know of a version.
NOTES = (
    "Karpenter 1.0 and 1.1 do not mark the nodes that they are going to "
    "replace, so the holder cannot tell a replacement from a scale-up. Set "
    "`replacements: count` with these versions ([why](rules.md#replacements)).",
    "Karpenter 1.15 has a feature gate `NodeRepair`. A repair ignores "
    "`karpenter.sh/do-not-disrupt`, so a hold does not stop the repair. The "
    "annotation `karpenter.sh/do-not-repair` stops a repair. If Karpenter "
    "repairs a machine that was never ready, the next machine is a scale-up, "
    "as after any [failed boot](rules.md#boots-that-are-tried-again).",
    "Karpenter 1.15 has feature gates `TerminateFirstDrift` and "
    "`TerminateFirstRepair`. With these gates Karpenter deletes a node of "
    "reserved capacity before it creates another. The new node counts as the "
    "[substitute](rules.md#substitutes) of the deleted node, and not as a "
    "scale-up.",
    "Karpenter's own compatibility table does not list Kubernetes 1.37 for "
    "Karpenter 1.15 yet. The holder's tests pass on this pair of versions.",
    "Kubernetes before 1.36 does not serve MutatingAdmissionPolicy in `v1`, so "
    "`components/admission-policy` needs Kubernetes 1.36.",
)


# --- a run -------------------------------------------------------------------

def step_of(case, wanted):
    """case: file, class and name of a test; wanted: {step: ids}."""
    module, _, classes = case.get("classname").partition(".Test")
    test = "::".join(filter(None, [
        module.split(".")[-1] + ".py", classes and "Test" + classes,
        case.get("name").partition("@")[0]]))     # xdist adds its group
    for step, ids in wanted.items():
        for one in ids:
            if test == one or test.startswith((one + "[", one + "::")):
                return step, test
    raise KeyError(test)


def outcome(report, wanted):
    """{step: {"passed": number, "failed": {test: message}}}"""
    steps = {step: {"passed": 0, "failed": {}} for step in wanted}
    for case in xml.parse(report).iter("testcase"):
        step, test = step_of(case, wanted)
        bad = [case.find(kind) for kind in ("failure", "error", "skipped")
               if case.find(kind) is not None]
        if bad:
            steps[step]["failed"][test] = bad[0].get("message").split("\n")[0]
        else:
            steps[step]["passed"] += 1
    return steps


def run(pair):
    print(f"== {pair.name}", flush=True)
    folder = plane(pair.karpenter, pair.kubernetes)
    before = {"BEFORE": str(plane(*pair.before))} if pair.before else {}
    wanted = {step: ids for step, tests in STEPS.items()
              if isinstance(ids := tests(pair), list)}
    report = folder / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         f"--basetemp={folder / 'pytest'}", "-n", os.environ.get("JOBS", "2"),
         "--dist", "loadgroup", "-m", "not browser", f"--junitxml={report}",
         *(one for ids in wanted.values() for one in ids)], cwd=E2E,
        env={**os.environ, **before, "PLANE": str(folder),
             "KARPENTER_GATES": pair.gates})
    if done.returncode not in (0, 1):
        sys.exit(f"{pair.name}: pytest ended with {done.returncode}")
    RESULTS.mkdir(exist_ok=True)
    pair.file.write_text(json.dumps({
        "date": datetime.date.today().isoformat(),
        "steps": outcome(report, wanted)}, indent=1) + "\n")


# --- what is written of it ---------------------------------------------------

def passed(result):
    return result and not any(s["failed"] for s in result["steps"].values())


def said(pair):
    """A cell of the first table."""
    if pair.pinned:
        return "all tests of this repository run on this pair"
    if pair.impossible:
        return "not possible: " + pair.impossible
    if not pair.result:
        return "not run yet"
    steps = pair.result["steps"]
    bad = [step for step, s in steps.items() if s["failed"]]
    return "all passed" if not bad else "failed: " + ", ".join(bad)


def cell(pair, step):
    if not pair.result:
        return ""
    if step not in pair.result["steps"]:
        return STEPS[step](pair)
    one = pair.result["steps"][step]
    bad = len(one["failed"])
    return f"**{bad} of {bad + one['passed']} failed**" if bad else "yes"


def listed(words):
    return ", ".join(words[:-1]) + " and " + words[-1]


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def page():
    run_ = [p for p in PAIRS if p.result]
    lines = [
        "# Versions of Karpenter and Kubernetes", "",
        "`make matrix` runs the end-to-end tests with the real programs of "
        "these versions, and writes this page. kwok simulates the",
        "machines, as in [all tests](testing.md). `holderctl check` compares "
        "the versions in a cluster with the table below.", "",
        row("Karpenter", "Kubernetes", "feature gates", "date", "result"),
        "|---|---|---|---|---|"]
    for p in PAIRS:
        lines.append(row(
            p.karpenter, p.kubernetes,
            " ".join(f"`{g}`" for g in p.gates.split(",") if g), p.result["date"] if p.result else "", said(p)))
    lines += [
        "", "A version between two versions that passed is expected to work. "
        "The holder depends only on Karpenter's Events, and on the labels and",
        "conditions of Karpenter's API `karpenter.sh/v1`. Kubernetes before 1.30 and "
        "Karpenter before 1.0 are not supported.",
        "", "[`simulate`](what-if.md) is tested with logs of Karpenter "
        + listed(sorted((log.stem[1:] for log in LOGS.glob("v*.log")),
                        key=number)) + ".",
        "", "## What a version needs", ""]
    lines += ["* " + note for note in NOTES]
    lines += ["", "## What is tried", ""]
    if run_:
        lines += [row("", *(p.karpenter + " on " + p.kubernetes
                            + (", gates on" if p.gates else "")
                            for p in run_)),
                  "|" + "---|" * (1 + len(run_))]
    for step in STEPS:
        lines.append(row(step, *(cell(p, step) for p in run_)) if run_
                     else "* " + step)
    return "\n".join(lines) + "\n"


def table():
    """What passed, for holderctl check: without gates, as users run it."""
    rows = sorted({(number(p.karpenter), number(p.kubernetes))
                   for p in PAIRS
                   if p.pinned or passed(p.result) and not p.gates})
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "#ifndef CORE_DOCTOR_TESTED_H", "#define CORE_DOCTOR_TESTED_H", "",
           "/*",
           " * The pairs of Karpenter and Kubernetes that `make matrix` has "
           "passed, by",
           " * Karpenter's version.  Written by tests/matrix/matrix.py.",
           " */",
           "/* clang-format off */",
           "static const struct tested {",
           "\tunsigned karpenter[3], kubernetes[3];", "} tested[] = {"]
    for karpenter, kubernetes in rows:
        a, b = (", ".join(map(str, v)) for v in (karpenter, kubernetes))
        out.append(f"\t{{{{{a}}}, {{{b}}}}},")
    return "\n".join([*out, "};", "/* clang-format on */", "", "#endif", ""])


def main(args):
    names = {p.name: p for p in PAIRS}
    files = {PAGE: page, TABLE: table}
    if args == ["--list"]:
        print(*names, sep="\n")
    elif args == ["--check"]:
        for path, text in files.items():
            if not path.exists() or path.read_text() != text():
                sys.exit(f"{path.relative_to(REPO)} is not what "
                         "tests/matrix/matrix.py --write writes")
    else:
        wanted = [] if args == ["--write"] else [
            names[a] for a in args] or [
            p for p in PAIRS
            if not (p.impossible or p.pinned or passed(p.result))]
        for pair in wanted:
            run(pair)
            print(f"{pair.name}: {said(pair)}", flush=True)
        for path, text in files.items():
            path.write_text(text())


if __name__ == "__main__":
    main(sys.argv[1:])
