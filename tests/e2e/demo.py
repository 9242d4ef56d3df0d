# SPDX-License-Identifier: Apache-2.0
"""make demo: one wave of load, twice, on real Karpenter: without the holder,
and with it."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "lib"), str(HERE.parent)]

import chart  # noqa: E402
from cluster import Cluster  # noqa: E402
from controlplane import BUILD, until  # noqa: E402
from demo_quick import show  # noqa: E402
from holder import Holder  # noqa: E402
from wave import BOOT, Wave, ages  # noqa: E402

LOW, MIDDLE, HIGH = 12, 20, 40
# (replicas, seconds until the next step): load rises, dips, rises again and
# falls.
WAVE = ((HIGH, 22), (MIDDLE, 48), (HIGH, 22), (LOW, 46))
HOLD_SECONDS = 60
SVG = pathlib.Path(os.environ.get("DEMO_SVG") or BUILD / "demo.svg")


class Run(Wave):
    def __init__(self, cluster, title):
        super().__init__(cluster, title, LOW, WAVE)

    @property
    def in_the_dip(self):
        """How many NodeClaims were disrupted before the load came back."""
        back = sum(lasts for _, lasts in WAVE[:2])
        return max(s.disrupted for s in self.samples if s.at < back)

    def figures(self):
        return {
            "nodes launched": f"{self.launched}",
            "nodes Karpenter disrupted": f"{self.disrupted}",
            "  of them before the second peak": f"{self.in_the_dip}",
            "pods moved": f"{self.moved}",
            "second peak: pods all running after": f"{self.peaks[1]:.1f} s",
            "node-seconds paid for": f"{self.node_seconds:,.0f}",
        }


def settle(cluster):
    """Waits until the previous wave has been consolidated and no longer
    counts."""
    print(f"\nwaiting until the cluster is as it was: {LOW} pods, 3 nodes, "
          f"none younger than {HOLD_SECONDS} s ...", flush=True)

    def settled():
        now = ages(cluster)
        return len(now) == 3 and min(now) > HOLD_SECONDS + 12
    until(settled, 180, "3 old nodes", every=0.5)


def both(cluster, start_holder):
    """The wave on a cluster where Karpenter runs, without the holder and with
    it: both runs, and the holder.  start_holder is called with its settings.
    """
    cluster.pool(registration_delay=BOOT)
    print(f"Karpenter runs; {LOW} pods on their first nodes (each takes "
          f"{BOOT} to boot) ...", flush=True)
    cluster.deploy("web", LOW)
    cluster.wait_running("web", LOW)
    without = Run(cluster, "Karpenter alone").go()

    settle(cluster)
    holder = start_holder(holdDuration=f"{HOLD_SECONDS}s", startupTimeout="5m")
    with_it = Run(cluster, f"with the holder, holdDuration {HOLD_SECONDS}s"
                  ).go()
    return without, with_it, holder


def run(cluster):
    def start_holder(**settings):
        holder = Holder(cluster, **settings)
        holder.start()
        holder.register()
        return holder
    cluster.start_karpenter()
    without, with_it, holder = both(cluster, start_holder)
    compare(without, with_it, holder)
    holder.stop()


def compare(without, with_it, holder):
    a, b = without.figures(), with_it.figures()
    print(f"\n{'':38}{'Karpenter alone':>16}{'with the holder':>18}")
    for name in a:
        print(f"{name:38}{a[name]:>16}{b[name]:>18}")
    m = holder.metrics()
    print(f"\nholder: {m['process_resident_memory_bytes'] / 2**20:.1f} MiB "
          f"resident, {m['process_cpu_seconds_total']:.2f} s CPU")
    SVG.write_text(chart.draw([without, with_it], HOLD_SECONDS))
    print(f"picture: {os.path.relpath(SVG)}")


if __name__ == "__main__":
    if not SVG.parent.is_dir():
        sys.exit(f"demo: {SVG.parent}: no such folder, expected one for "
                 "$DEMO_SVG")
    show("etcd, kube-apiserver, controller-manager, scheduler and kwok",
         Cluster(name="demo"), run)
