# SPDX-License-Identifier: Apache-2.0
"""The API server, or Karpenter, becomes a newer one while machines are held.

    PLANE=build/versions/v1.14.3-on-v1.36.3 \\
    BEFORE=build/versions/v1.13.0-on-v1.36.3 python3 -m pytest ...

make matrix runs this for the pairs that say what was there before.
"""
import os
import pathlib
import signal
import time

import pytest

from cluster import LATER, PODS, Cluster
from controlplane import CLAIMS, NODES, PLANE, until
from disruption import ACTS, marks_left, names, quiet_at
from hold import EARLY, LATE, MARK, SOON, annotations, held

BEFORE = os.environ.get("BEFORE")
pytestmark = [pytest.mark.long, pytest.mark.skipif(
    not BEFORE, reason="needs PLANE and BEFORE, two folders that "
    "tests/e2e/lib/versions.py has built: make matrix "
    "PAIRS='1.13.0-on-1.36.3 1.14.3-on-1.36.3'")]

# Longer than all programs take to end, to start, and to see one another.
HOLD = 120


@pytest.fixture
def cluster():
    with Cluster(folder=pathlib.Path(BEFORE).resolve()) as made:
        made.start_karpenter()
        yield made


def marks(cluster):
    return {name: annotations(meta).get(MARK)
            for name, meta in cluster.metadata(NODES).items()}


def claims_held(cluster):
    """The claims with a hold: of those without a Node nothing else has one."""
    return {name for name, meta in cluster.metadata(CLAIMS).items()
            if held(meta)}


def upgrade(cluster):
    """In the order that people take: the CRDs before the program.  The
    controllers of Kubernetes stay what they are, as they may."""
    others = cluster.upgrade(PLANE) & {"kube-apiserver", "karpenter"}
    if "kube-apiserver" in others:
        cluster.stop_apiserver(signal.SIGTERM)
        cluster.start_apiserver()
    cluster.install_crds()
    if "karpenter" in others:
        cluster.stop_karpenter()
        cluster.start_karpenter()
    return others


def test_upgraded_while_held(cluster, add_holder):
    """The holder runs on.  Nothing is released early, and all of it in time;
    what comes afterwards is held as ever."""
    holder = add_holder(holdDuration=f"{HOLD}s")
    cluster.pool("web", cpus=("1",), consolidate_after=LATER)
    cluster.deploy("web", 2, cpu="700m", pool="web")
    cluster.wait_running("web", 2)
    at = quiet_at(cluster, HOLD)
    until(lambda: all(map(held, cluster.metadata(NODES).values())), SOON,
          "all nodes held")
    before, claims = marks(cluster), claims_held(cluster)
    assert len(before) == 2

    begin = time.time()
    others = upgrade(cluster)
    took = time.time() - begin
    assert others, "PLANE and BEFORE have the same programs"
    assert time.time() < at - EARLY, f"{took:.0f} s, too slow to tell"
    while time.time() < at - EARLY:
        now = marks(cluster), claims_held(cluster)
        assert now == (before, claims) or time.time() >= at - EARLY
        time.sleep(0.5)
    until(lambda: not marks_left(cluster), EARLY + LATE, "released")

    cluster.scale("web", 3)
    # While there is no API server, kube-controller-manager may take pods for not
    # ready, and kwok does not make them ready again.
    until(lambda: [p["status"]["phase"] for p in cluster.get(PODS)["items"]]
          == ["Running"] * 3, 2 * ACTS, "3 pods running", every=0.2)
    until(lambda: len(names(cluster)) == 3 and all(
        map(held, cluster.metadata(NODES).values())), SOON, "all held again")
    assert holder.alive()
    print(f"{', '.join(sorted(others))}: upgraded in {took:.0f} s")
