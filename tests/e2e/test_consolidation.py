# SPDX-License-Identifier: Apache-2.0
"""Real Karpenter disrupts nothing while held, and goes on after it."""
import time

from audit import check_audit, check_happened
from controlplane import NODES, until
from disruption import ACTS, Disruption, marks_left, names, quiet_at
from hold import SOON, held
from replay import Recording, check_replay, listed, simulate


def test_consolidation_waits_for_the_release(cluster, add_holder):
    """Without the holder Karpenter disrupts at once, and with it not before
    the scope is quiet."""
    cluster.pool()
    cluster.deploy("web", 12)
    cluster.wait_running("web", 12)
    alone = Disruption(cluster)
    begin = time.time()
    cluster.scale("web", 4)
    alone.wait()
    unheld = time.time() - begin
    until(lambda: len(names(cluster)) <= 2, ACTS, "fewer nodes", every=0.3)

    hold = 20 + 2 * int(unheld)
    # The machines that are left hold nothing any more.  Otherwise the scope
    # would be held before `scaled`, which the replay from there cannot know.
    quiet = quiet_at(cluster, hold)
    until(lambda: time.time() > quiet, hold, "the machines that are left quiet")
    recording = Recording(cluster)
    holder = add_holder(holdDuration=f"{hold}s")
    scaled = time.time()
    cluster.scale("web", 12)
    cluster.wait_running("web", 12)
    at = quiet_at(cluster, hold)
    until(lambda: all(map(held, cluster.metadata(NODES).values())), SOON,
          "all nodes held, the old ones too")
    with_us = Disruption(cluster)
    begin = time.time()
    cluster.scale("web", 4)
    with_us.none_until(at - 1)
    assert at - 1 - begin > unheld, "it would not have shown"
    until(lambda: not marks_left(cluster), SOON, "released")
    assert time.time() >= at - 1
    created = listed(cluster)
    assert created >= len(names(cluster)) > 2
    with_us.wait()
    until(lambda: len(names(cluster)) <= 2, ACTS, "fewer nodes", every=0.3)
    assert holder.metric("karpenter_node_holder_releases_total") > 0
    # What Karpenter did alone would have waited, and nothing that it did beside
    # the holder.
    check_replay(cluster, holder, scaled, hold_duration=f"{hold}s")
    recording.end()
    recording.check(holder, scaled, hold_duration=f"{hold}s")
    waited = simulate(cluster, hold_duration=f"{hold}s")["wouldHaveWaited"]
    assert waited["decisions"] > 0, waited
    assert check_audit(cluster, f"{hold}s") >= created
    check_happened(cluster, holder)
    print(f"alone after {unheld:.0f} s; held: nothing for {at - begin:.0f} s, "
          f"first decision {time.time() - at:.0f} s after the quiet time")
