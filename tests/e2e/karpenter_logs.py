# SPDX-License-Identifier: Apache-2.0
"""make karpenter-logs: runs other versions of Karpenter, and keeps what they log
as tests/golden/karpenter/runs/VERSION.log.

    tests/e2e/karpenter_logs.py VERSION...

Each version is built from its Go module (lib/versions.py), which takes minutes.
On kwok it makes machines for a Deployment, deletes them when the
load goes, replaces two because they have drifted, and loses them because they
expire.  From 1.15 on it also repairs two: it reboots one and replaces the other.
"""
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "lib"), str(HERE.parent)]

import versions  # noqa: E402
from cluster import Cluster  # noqa: E402
from controlplane import NODES, end_on_signals, until  # noqa: E402

VERSIONS = "v1.0.8", "v1.3.3", "v1.9.0", "v1.14.1", "v1.15.0"
REPAIRS = {"v1.15.0"}     # as voluntary disruptions
RUNS = HERE.parent / "golden" / "karpenter" / "runs"
# What names this machine, or differs between two builds of a version.
LEFT_OUT = "caller", "stacktrace", "commit"
DAY = "24h"


def repair(cluster):
    def says(message):
        until(lambda: message in cluster.log_tail("karpenter", 500), 240,
              lambda: message + "\n" + cluster.log_tail("karpenter"), every=0.5)
    rebooted, replaced = cluster.metadata(NODES)
    cluster.ails(rebooted, "KWOKRebootRequired")
    says("committed node reboot")
    # or it is replaced as well
    cluster.ails(rebooted, "KWOKRebootRequired", "False")
    says("reboot reached terminal outcome")
    cluster.ails(replaced, "KWOKUnhealthy")
    until(lambda: replaced not in cluster.metadata(NODES), 240,
          lambda: cluster.log_tail("karpenter"), every=0.5)


def story(cluster, repairs):
    """What the log is to tell."""
    def nodes(count):
        until(lambda: len(cluster.metadata(NODES)) == count, 180,
              lambda: f"{count} nodes\n" + cluster.log_tail("karpenter"),
              every=0.5)

    def generation(number, **options):
        cluster.pool(labels={"example.com/generation": number}, **options)
    generation("1", expire_after=DAY)
    cluster.deploy("web", 8)        # four on a node
    nodes(2)
    cluster.wait_running("web", 8)
    cluster.scale("web", 24)
    nodes(6)
    cluster.wait_running("web", 24)
    cluster.scale("web", 8)
    nodes(2)
    if repairs:
        repair(cluster)
    old = set(cluster.metadata(NODES))
    generation("2", expire_after="60s")
    until(lambda: old.isdisjoint(cluster.metadata(NODES)), 240,
          lambda: "drifted\n" + cluster.log_tail("karpenter"), every=0.5)
    young = set(cluster.metadata(NODES))
    until(lambda: young.isdisjoint(cluster.metadata(NODES)), 240,
          lambda: "expired\n" + cluster.log_tail("karpenter"), every=0.5)
    cluster.wipe()
    time.sleep(1)       # for the last lines


def kept(log):
    """Its lines, from where all controllers have started."""
    lines = [json.loads(text) for text in log.read_text().splitlines()
             if text.startswith("{")]
    begin = 1 + max(n for n, line in enumerate(lines)
                    if line["message"].startswith("Starting "))
    assert not any("nodeclaim" in line["message"] for line in lines[:begin])
    return [json.dumps({k: v for k, v in line.items() if k not in LEFT_OUT},
                       separators=(",", ":"), ensure_ascii=False) + "\n"
            for line in lines[begin:]]


def main(wanted):
    end_on_signals()
    RUNS.mkdir(exist_ok=True)
    kubernetes = versions.pinned("kubernetes", versions.KUBERNETES[0])
    for version in wanted:
        with Cluster(version, versions.plane(version, kubernetes)) as cluster:
            repairs = version in REPAIRS
            cluster.start_karpenter(f"NodeRepair={str(repairs).lower()}",
                                    log_level="info")
            story(cluster, repairs)
            lines = kept(cluster.dir / "karpenter.log")
        (RUNS / f"{version}.log").write_text("".join(lines))
        print(f"{version}: {len(lines)} lines", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or VERSIONS)
