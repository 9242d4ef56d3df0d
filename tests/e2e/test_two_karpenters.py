# SPDX-License-Identifier: Apache-2.0
"""Two Karpenters in one cluster, and one holder.  The test writes what the other
one would, for a NodePool whose NodeClass the real one does not know."""
import time

import pytest

from cluster import node_pool
from controlplane import NODES, until
from disruption import Disruption, marks_left, names, quiet_at
from hold import LATE, SOON, held
from karpenter import SPEC, Karpenter

pytestmark = pytest.mark.long

OTHERS = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
# Karpenter acts within 25 s, if it may.
HOLD = 40


@pytest.fixture
def other(cluster):
    """Makes machines as the other Karpenter would."""
    pool = node_pool("other", consolidate_after="30s")
    pool["spec"]["template"]["spec"]["nodeClassRef"] = OTHERS
    cluster.apply(pool)
    karpenter, made = Karpenter(cluster, "other", provider="aws"), []

    def machine():
        made.append(karpenter.machine(spec={**SPEC, "nodeClassRef": OTHERS}))
        return made[-1]
    yield machine
    for m in made:
        karpenter.remove(m)


def test_a_scale_up_of_either_holds_both(cluster, add_holder, other):
    add_holder(holdDuration=f"{HOLD}s")

    def all_held():
        until(lambda: all(map(held, cluster.metadata(NODES).values())), SOON,
              "a scale-up holds all there is")

    def wait_released():
        at = quiet_at(cluster, HOLD)
        until(lambda: time.time() > at and not marks_left(cluster),
              at - time.time() + LATE, "released")
        return at
    first = other()
    cluster.pool("own", cpus=("1",))
    cluster.deploy("web", 2, cpu="700m", pool="own")
    cluster.wait_running("web", 2)
    all_held()
    assert len(names(cluster)) == 3
    wait_released()

    second = other()
    all_held()
    disruption = Disruption(cluster)
    cluster.scale("web", 1)
    disruption.none_until(second.ready + HOLD - 1)
    wait_released()
    disruption.wait()
    assert disruption.by_reason()[0] == {"empty": 1}
    until(lambda: len(names(cluster, pool="own")) == 1, SOON, "one node less")
    assert names(cluster, pool="other") == {first.node, second.node}
