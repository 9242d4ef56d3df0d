# SPDX-License-Identifier: Apache-2.0
"""The holder runs on the machines that it holds, in a cluster whose every node
is real Karpenter's: the leader's own machine is held, released, drained and
interrupted like any other.

kwok simulates the Pods of deploy/overlays/self-signed.  For each of them a
holder runs here, from when the Pod runs until it is deleted, or until the power
of its machine is cut.
"""
import threading
import time

import pytest
import yaml

from balancer import Balancer
from cluster import DEPLOYMENTS, LEFT_ALONE
from controlplane import CLAIMS, NODES, POOLS, REPO, ApiError, until
from disruption import ACTS, marks_left, names, quiet_at
from hold import SOON, View, held
from karpenter import NODEPOOL
from lead import SHORT, leader

NAME = "karpenter-node-holder"
PODS = f"/api/v1/namespaces/{NAME}/pods"
ELIGIBLE = "karpenter_voluntary_disruption_eligible_nodes"
HOLD = 30       # seconds of holdDuration
GONE = 120      # seconds until the Pods of a lost machine are made up for


class Replicas(threading.Thread):
    """Plays the kubelets."""

    def __init__(self, cluster, add_holder):
        super().__init__(daemon=True)
        self.cluster, self.add = cluster, add_holder
        self.balancer = Balancer(cluster.dir / "own-machine")
        self.of = {}        # Pod: (its node, its holder)
        self.pair = None    # all serve the certificate of the first
        self.over = threading.Event()
        self.failed = []

    def run(self):
        while not self.over.wait(0.2):
            try:
                self.look()
            except (ApiError, OSError):
                continue        # the next look shows it again
            except Exception as e:  # the test reports it
                self.failed.append(e)
                return

    def look(self):
        pods = {p["metadata"]["name"]: p["spec"]["nodeName"]
                for p in self.cluster.get(PODS)["items"]
                if p.get("status", {}).get("phase") == "Running"
                and "deletionTimestamp" not in p["metadata"]}
        for name, node in pods.items():
            if name not in self.of:
                self.begin(name, node)
        for name in self.of.keys() - pods.keys():
            _, holder = self.of.pop(name)
            if holder.alive():
                self.balancer.remove(holder.dir.name)
                assert holder.term() == 0

    def begin(self, name, node):
        holder = self.add(start=False, register=False, holdDuration=f"{HOLD}s",
                          leaderElection=SHORT.config())
        self.pair = self.pair or holder
        holder.mount.swap(self.pair.pair)
        holder.ca = self.pair.ca
        holder.start()
        self.balancer.add(holder.dir.name, holder.webhook_port)
        self.of[name] = node, holder

    def cut(self, node):
        """The machine is gone, without a word."""
        for name, (where, holder) in list(self.of.items()):
            if where == node:
                holder.kill9()
                self.balancer.remove(holder.dir.name)

    def holders(self):
        assert not self.failed, self.failed
        return [h for _, h in list(self.of.values()) if h.alive()]

    def wait(self, timeout=ACTS):
        """Waits until two run on machines that are alive."""
        until(lambda: len(self.holders()) == len(self.of) == 2, timeout,
              lambda: f"two replicas: {self.of}\n"
              + self.cluster.log_tail("karpenter"))

    def nodes(self):
        return {node for node, _ in list(self.of.values())}

    def leading(self):
        """Returns (the leader's Pod, its node, the leader)."""
        first = leader(self.holders(), SHORT.taken)
        return next((name, node, holder) for name, (node, holder)
                    in list(self.of.items()) if holder is first)

    def stop(self):
        self.over.set()
        self.join()
        self.balancer.stop()
        for _, holder in self.of.values():
            holder.kill9()


@pytest.fixture
def replicas(cluster, add_holder):
    built = cluster.kubectl("kustomize",
                            REPO / "deploy" / "overlays" / "self-signed")
    # The webhook is registered below, with an address that is one.  Nobody
    # runs the renewer.
    objects = [o for o in yaml.safe_load_all(built.stdout)
               if o["kind"] != "MutatingWebhookConfiguration"
               and (o["kind"], o["metadata"]["name"]) != (
                   "Deployment", NAME + "-renewer")]
    cluster.pool()
    cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))
    replicas = Replicas(cluster, add_holder)
    replicas.start()
    try:
        yield replicas
    finally:
        replicas.stop()
        cluster.kubectl("delete", "deployment", NAME, "-n", NAME)
        assert not replicas.failed, replicas.failed


def claim_of(cluster, node):
    claim, = (c["metadata"]["name"] for c in cluster.get(CLAIMS)["items"]
              if c.get("status", {}).get("nodeName") == node)
    return claim


def of_claims(cluster, claims):
    """The names of their Nodes."""
    return {c["status"]["nodeName"] for c in cluster.get(CLAIMS)["items"]
            if c["metadata"]["name"] in claims}


def check_released(cluster, nodes):
    """These are held until the youngest machine has been ready for long
    enough, and then no longer."""
    at = quiet_at(cluster, HOLD)
    targets = [(NODES, name) for name in nodes]
    assert nodes and nodes <= names(cluster)
    View(cluster).wait_held(targets)
    View(cluster).check_released(targets, at)
    until(lambda: not marks_left(cluster), SOON, "no mark is left")


def held_from_birth(cluster, old):
    """The machine that is there in place of another, at which all look."""
    new = until(lambda: names(cluster, CLAIMS) - old, ACTS, "a new machine")
    for name in new:
        assert held(cluster.get(CLAIMS, name)), "not held at admission"
    return new


def eligible(cluster):
    """How many Nodes Karpenter would consolidate if that saved anything."""
    return cluster.karpenter_metric(ELIGIBLE, reason="underutilized")


def check_left_alone(cluster):
    """Karpenter leaves the replicas where they are, for the sake of their
    Pods: of three machines it considers the one that runs none."""
    cluster.pool("other")
    cluster.deploy("other", 3, pool="other")
    cluster.wait_running("other", 3)
    until(lambda: not marks_left(cluster), ACTS, "released")
    until(lambda: eligible(cluster) == 1, ACTS,
          lambda: f"{eligible(cluster)} of 3 machines considered")
    end = time.time() + 15
    while time.time() < end:
        assert eligible(cluster) <= 1
        time.sleep(0.5)
    assert len(names(cluster)) == 3
    cluster.delete(DEPLOYMENTS, "other")
    cluster.delete(POOLS, "other")
    until(lambda: len(names(cluster)) == len(names(cluster, CLAIMS)) == 2,
          ACTS, "the other machine is gone")


def apart(cluster, replicas, leading):
    """Deletes the Pods that do not lead until two machines run one each.  Both
    share a machine if they came when there was no other."""
    def done():
        replicas.wait()
        if len(replicas.nodes()) == 2:
            return True
        for name in replicas.of.keys() - {leading}:
            cluster.delete(PODS, name)
        return False
    until(done, ACTS, "two machines run one each", every=2)


def power_off(cluster, node):
    """No kubelet answers for the Node; the kwok provider takes one that is
    being deleted for gone."""
    key, _, value = LEFT_ALONE.partition("=")
    cluster.patch(NODES, node, {"metadata": {"annotations": {key: value}}})
    time.sleep(1)
    conditions = cluster.get(NODES, node)["status"]["conditions"]
    for c in conditions:
        if c["type"] == "Ready":
            c.update(status="Unknown", reason="NodeStatusUnknown")
    cluster.patch(NODES, node + "/status", {"status": {
        "conditions": conditions}})


@pytest.mark.long
def test_the_leaders_own_machine(cluster, replicas):
    # There is no node at all, and so no webhook: Karpenter makes machines for
    # these Pods, and the leader holds what nobody held at admission.
    replicas.wait()
    assert all(NODEPOOL in m["labels"]
               for m in cluster.metadata(NODES).values())
    pod, _, first = replicas.leading()
    first.register(port=replicas.balancer.port)
    # A workload for which two machines have just room enough.
    cluster.deploy("web", 6)
    cluster.wait_running("web", 6)
    apart(cluster, replicas, pod)
    assert len(names(cluster)) == 2
    check_released(cluster, names(cluster))
    check_left_alone(cluster)

    # A person drains the machine: the lead moves.  The machine that comes for
    # the workload is held from its birth, and so is the new leader's.
    pod, node, first = replicas.leading()
    old = names(cluster, CLAIMS)
    begin = time.time()
    cluster.kubectl("drain", node, "--ignore-daemonsets", "--force",
                    "--delete-emptydir-data", "--timeout=60s")
    pod, moved, second = replicas.leading()
    handed_over = time.time() - begin
    assert second is not first and moved != node
    held_from_birth(cluster, old)
    View(cluster).wait_held([(NODES, moved)])
    cluster.wait_running("web", 6)
    check_released(cluster, names(cluster))
    cluster.delete(NODES, node)
    until(lambda: node not in names(cluster), ACTS, "the drained one is gone")
    apart(cluster, replicas, pod)

    # The cloud takes a machine away: Karpenter deletes its claim and drains it,
    # but does not evict this Pod, and then the machine is gone.
    pod, node, second = replicas.leading()
    old = names(cluster, CLAIMS)
    cluster.delete(CLAIMS, claim_of(cluster, node))
    new = held_from_birth(cluster, old)
    time.sleep(3)
    assert "deletionTimestamp" in cluster.get(NODES, node)["metadata"]
    assert "deletionTimestamp" not in cluster.get(PODS, pod)["metadata"]
    assert replicas.leading()[2] is second, "it leads to the end"
    begin = time.time()
    replicas.cut(node)
    power_off(cluster, node)
    third = leader(replicas.holders(), SHORT.taken)
    taken_over = time.time() - begin
    assert third is not second
    until(lambda: node not in names(cluster), ACTS, "its Node is gone")
    # The machine that came for its workload is a replacement.  It is held for
    # its own time, which the new leader knows as well.
    check_released(cluster, of_claims(cluster, new))
    replicas.wait(GONE)
    for kind, path in (("Node", NODES), ("NodeClaim", CLAIMS)):
        until(lambda k=kind, p=path: third.metric(
            "karpenter_node_holder_objects", kind=k)
            == len(names(cluster, p)), SOON, f"{kind}s in its table")
    print(f"the lead moved {handed_over:.1f} s after a drain began and "
          f"{taken_over:.1f} s after the power was cut")
