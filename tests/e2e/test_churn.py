# SPDX-License-Identifier: Apache-2.0
"""make e2e-long: load that does not settle, on real Karpenter, without the
holder and with it: what is gained, and what it costs; and what a replay of
Karpenter's log says of both.  The same of make demo's wave."""
import pytest

import demo
from controlplane import until
from disruption import ACTS, marks_left
from replay import check_other_run, check_replay
from wave import BOOT, Wave, ages

pytestmark = pytest.mark.long

START = 6
STEPS = tuple((replicas, 35) for replicas in (22, 12, 30, 14, 34, 10))
PER_NODE = 4
HOLD = 60
# Seconds after which Karpenter has counted what it began before the hold.
STARTED = 3


class Churn(Wave):
    """A wave, and what follows until the cluster is as small as it can be."""

    def __init__(self, cluster, title):
        super().__init__(cluster, title, START, STEPS)
        self.ended = None       # the end of the wave itself

    def wave(self):
        super().wave()
        self.ended = len(self.samples)
        smallest = -(-STEPS[-1][0] // PER_NODE)
        until(lambda: self.samples[-1].nodes == smallest
              and self.running(), HOLD + 2 * ACTS,
              lambda: f"{smallest} nodes\n"
              + self.cluster.log_tail("karpenter"), every=0.5)

    def running(self):
        return self.cluster.running("web") == STEPS[-1][0]

    def figures(self, longest):
        """longest: seconds.  A run that ended sooner went on with the nodes
        that it had left."""
        last, after = self.samples[self.ended - 1], self.samples[-1]
        rest = after.nodes * (longest - after.at)
        return {
            "disruption decisions": last.decisions,
            "nodes drained": last.disrupted,
            "the same, in the end": after.disrupted,
            "nodes launched": self.launched,
            "pods moved, in the end": self.moved,
            "pod-seconds not running": self.integral(
                lambda s: max(0, s.replicas - s.running)),
            "node-seconds, in the end": self.node_seconds + rest,
        }

    def decided_while_held(self):
        """Samples with a new decision although no node was exposed to it."""
        since, before, found = None, None, []
        for s in self.samples:
            if s.exposed or not s.nodes:
                since = None
            elif since is None:
                since = s.at
            elif s.at - since > STARTED and s.decisions > before.decisions:
                found.append(s)
            before = s
        return found


def table(without, with_it):
    longest = max(r.samples[-1].at for r in (without, with_it))
    a, b = without.figures(longest), with_it.figures(longest)
    lines = [f"\n{'':28}{'Karpenter alone':>16}{'with the holder':>17}"]
    lines += [f"{name:28}{a[name]:>16,.0f}{b[name]:>17,.0f}" for name in a]
    return "\n".join(lines)


def test_churn(cluster, add_holder):
    cluster.pool(registration_delay=BOOT)
    cluster.deploy("web", START)
    cluster.wait_running("web", START)
    without = Churn(cluster, "Karpenter alone").go()
    assert without.samples[without.ended - 1].disrupted, "it did not churn"

    cluster.scale("web", START)
    until(lambda: len(ages(cluster)) == without.samples[0].nodes, 2 * ACTS,
          "as small as in the beginning", every=0.5)
    holder = add_holder(holdDuration=f"{HOLD}s", startupTimeout="5m")
    until(lambda: not marks_left(cluster), HOLD + 15, "quiet", every=0.5)
    with_it = Churn(cluster, f"with the holder, holdDuration {HOLD} s").go()
    print(table(without, with_it))

    held = with_it.integral(lambda s: not s.exposed)
    assert held > HOLD, "it was not held"
    assert not with_it.decided_while_held()
    last = [r.samples[r.ended - 1] for r in (without, with_it)]
    assert last[1].decisions <= last[0].decisions
    assert last[1].disrupted <= last[0].disrupted
    assert with_it.disrupted <= without.disrupted
    assert with_it.launched <= without.launched
    until(lambda: not marks_left(cluster), HOLD, "nothing of ours is left")
    check_both(cluster, holder, without, with_it, HOLD, whole=True)


def check_both(cluster, holder, without, with_it, hold, **more):
    settings = {"hold_duration": f"{hold}s", "startup_timeout": "5m"}
    check_replay(cluster, holder, with_it.start, **settings)
    check_other_run(cluster, holder, without.span, with_it.span, **more,
                    **settings)


def test_demo(cluster, add_holder):
    without, with_it, holder = demo.both(cluster, add_holder)
    check_both(cluster, holder, without, with_it, demo.HOLD_SECONDS)
