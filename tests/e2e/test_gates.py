# SPDX-License-Identifier: Apache-2.0
"""Two gates of Karpenter 1.15 that have to do with the size of a cluster: which
pods a scale-in takes (PodDeletionCostManagement), and spare capacity
(CapacityBuffer)."""
import collections
import time

import pytest

import versions
from cluster import LATER, PODS
from controlplane import CLAIMS, NODES, until
from disruption import ACTS, names, quiet_at
from hold import LATE, SOON, annotations, held
from test_substitutes import wait_released

pytestmark = [pytest.mark.long, pytest.mark.skipif(
    versions.running() < (1, 15, 0), reason="needs Karpenter 1.15, such as "
    "make matrix PAIRS=1.15.0-on-1.36.3 runs")]

COST = "controller.kubernetes.io/pod-deletion-cost"
RANKS = 60          # seconds between two rankings of Karpenter's
LOOKS = 300         # after which it ranks although it saw no change
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
BUFFERS = "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers"


@pytest.fixture
def gate(cluster):
    """gate(NAME) restarts Karpenter with it."""
    def start(name):
        cluster.stop_karpenter()
        cluster.start_karpenter(f"NodeRepair=false,{name}=true")
    yield start
    cluster.stop_karpenter()
    cluster.start_karpenter()


def pods_of(cluster):
    return [p for p in cluster.get(PODS)["items"]
            if "deletionTimestamp" not in p["metadata"]]


def costs(cluster):
    """{node: the deletion costs of its pods}"""
    found = collections.defaultdict(set)
    for pod in pods_of(cluster):
        found[pod["spec"]["nodeName"]].add(annotations(pod).get(COST))
    return found


def test_deletion_costs(cluster, add_holder, gate):
    """Karpenter ranks no pod on a held node, so while the cluster is held a
    scale-in takes pods as if the gate were off.  Afterwards it empties a node."""
    hold = 2 * RANKS + 10
    add_holder(holdDuration=f"{hold}s")
    gate("PodDeletionCostManagement")
    cluster.pool(cpus=("2",), consolidate_after=LATER)
    cluster.deploy("web", 6)
    cluster.wait_running("web", 6)
    at = quiet_at(cluster, hold)
    while time.time() < at - 1:
        assert all(c == {None} for c in costs(cluster).values()), costs(cluster)
        time.sleep(1)
    wait_released(cluster, hold)
    until(lambda: None not in set().union(*costs(cluster).values()),
          LOOKS + 2 * RANKS, lambda: f"ranked: {costs(cluster)}")
    print(f"ranked {time.time() - at:.0f} s after the release")
    before = costs(cluster)
    first = min(before, key=lambda node: int(*before[node]))
    assert len(before) == 3
    cluster.scale("web", 4)
    until(lambda: len(pods_of(cluster)) == 4, ACTS, "scaled in")
    assert set(costs(cluster)) == set(before) - {first}, (before,
                                                          costs(cluster))


@pytest.fixture
def buffer(cluster):
    """buffer(chunks): spare capacity for so many pods of web."""
    def make(chunks):
        cluster.create(TEMPLATES, {
            "metadata": {"name": "chunk"}, "template": {
                "metadata": {"labels": {"app": "chunk"}}, "spec": {
                    "nodeSelector": {"karpenter.sh/nodepool": "general"},
                    "containers": [{"name": "work", "image": "work",
                                    "resources": {"requests": {
                                        "cpu": "900m"}}}]}}})
        cluster.create(BUFFERS, {
            "apiVersion": "autoscaling.x-k8s.io/v1beta1",
            "kind": "CapacityBuffer", "metadata": {"name": "spare"},
            "spec": {"podTemplateRef": {"name": "chunk"},
                     "replicas": chunks}})
    yield make
    for path, name in ((BUFFERS, "spare"), (TEMPLATES, "chunk")):
        cluster.request("DELETE", f"{path}/{name}")


def test_a_buffer_is_refilled(cluster, add_holder, gate, buffer):
    """The buffer's node is a scale-up.  So is the one that refills it when pods
    have taken its place, although no pod waited for it: each refill holds the
    cluster."""
    hold = 20
    holder = add_holder(holdDuration=f"{hold}s")
    gate("CapacityBuffer")
    cluster.pool(cpus=("2",), consolidate_after=LATER)
    cluster.deploy("web", 2)
    cluster.wait_running("web", 2)
    wait_released(cluster, hold)
    assert len(names(cluster)) == 1
    buffer(2)
    until(lambda: len(names(cluster)) == 2, ACTS,
          lambda: "spare: " + cluster.log_tail("karpenter"))
    wait_released(cluster, hold)
    old = names(cluster)
    cluster.scale("web", 4)
    cluster.wait_running("web", 4)
    until(lambda: len(cluster.metadata(CLAIMS)) == 3, ACTS,
          lambda: "refilled: " + cluster.log_tail("karpenter"))
    until(lambda: all(held(m) for n, m in cluster.metadata(NODES).items()
                      if n in old), SOON, "the whole cluster held")
    assert holder.metric("karpenter_node_holder_scope_held") == 1
    assert {p["spec"]["nodeName"] for p in pods_of(cluster)} == old
    at = quiet_at(cluster, hold)
    wait_released(cluster, hold)
    assert time.time() < at + LATE
