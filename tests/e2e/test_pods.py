# SPDX-License-Identifier: Apache-2.0
"""Where the Pods of deploy/overlays/default run, with and without the component
dedicated-nodes, and how they are replaced, by the real scheduler, Deployment
controller and disruption budget.  kwok simulates the machines.
"""
import json
import os
import shlex
import subprocess
import time
from concurrent import futures

import pytest
import yaml

from cluster import PROGRAMS, Cluster
from controlplane import BUILD, JSONPATCH, NODES, REPO, until
from holder import HOLDERCTL
from karpenter import node_body
from uninstall import environment

NAME = "karpenter-node-holder"
DEPLOY = REPO / "deploy"
DEFAULT = DEPLOY / "overlays" / "default"
PODS = f"/api/v1/namespaces/{NAME}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAME}/deployments"
BUDGETS = f"/apis/policy/v1/namespaces/{NAME}/poddisruptionbudgets"
SOON = 60       # seconds for a busy machine; no test depends on the exact time
TAINT = {"key": "node-role.kubernetes.io/control-plane",
         "effect": "NoSchedule"}
# CPU: too little for a Pod, enough for one.  kwok gives a thousand to the
# others.
FULL, SMALL = "5m", "20m"
OWN = ("a1", "a2", "b1")   # two in zone a and one in zone b


@pytest.fixture(scope="module")
def cluster(build_programs):
    """A cluster without Karpenter, whose nodes are only there to be left
    alone."""
    build_programs(*PROGRAMS, "cert-manager-crds")
    with Cluster(name="pods") as cluster:
        cluster.install_crds(BUILD / "cert-manager-crds")
        yield cluster


def room(cluster, name, cpu):
    size = {"cpu": cpu, "memory": "1Ti", "pods": "100"}
    cluster.patch(NODES, name + "/status", {"status": {
        "allocatable": size, "capacity": size}})


def add_node(cluster, name, zone, pool=None, taints=(), cpu=None):
    body = node_body(name, pool, unregistered=False, labels={
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
        **({"karpenter.sh/capacity-type": "spot"} if pool else {})})
    body["spec"]["taints"] = list(taints)
    cluster.create(NODES, body)

    def ready():
        node = cluster.get(NODES, name)
        return (condition(node, "Ready").get("status") == "True"
                and node["spec"].get("taints", []) == list(taints))
    until(ready, SOON, f"{name} is ready")
    if cpu:
        room(cluster, name, cpu)


def condition(obj, kind):
    found = [c for c in obj.get("status", {}).get("conditions", [])
             if c["type"] == kind]
    return found[0] if found else {}


def pods(cluster):
    return {p["metadata"]["name"]: p for p in cluster.get(PODS)["items"]
            if "deletionTimestamp" not in p["metadata"]}


def running(cluster):
    """Returns {Pod: its node} of the Pods that are ready."""
    return {name: p["spec"]["nodeName"] for name, p in pods(cluster).items()
            if condition(p, "Ready").get("status") == "True"}


def waiting(cluster):
    """What the scheduler says of the Pods for which it has no node."""
    said = [condition(p, "PodScheduled") for p in pods(cluster).values()]
    return [c["message"] for c in said if c.get("status") == "False"]


def scale(cluster, count):
    cluster.patch(DEPLOYMENTS, NAME, {"spec": {"replicas": count}})


def wait_running(cluster, count):
    """Waits until as many run and there are no others; returns their nodes,
    sorted."""
    until(lambda: len(running(cluster)) == len(pods(cluster)) == count, SOON,
          lambda: f"{count} run: {running(cluster)}, {waiting(cluster)}")
    return sorted(running(cluster).values())


def wait_waiting(cluster, *words):
    """Waits until exactly so many Pods wait, and the scheduler gives these
    reasons."""
    until(lambda: len(words) == len(waiting(cluster)) and all(
        word in said for word, said in zip(words, waiting(cluster))), SOON,
        lambda: f"{words}: {waiting(cluster)}, {running(cluster)}")


def overlay(folder, **fields):
    """An overlay of overlays/default in this folder."""
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(DEFAULT, folder.resolve())], **fields}))
    return folder


def dedicated(folder):
    return [os.path.relpath(DEPLOY / "components" / "dedicated-nodes",
                            folder.resolve())]


def documented(guide, first):
    """The commands of the block that begins so, for kubectl.  There is no
    kubelet here, which would have a log."""
    text = (REPO / "docs" / guide).read_text()
    text = text[text.index(first):]
    return [[arg.replace("deploy/", f"{DEPLOY}/") if arg.startswith("deploy/")
             else arg for arg in shlex.split(line, comments=True)[1:]]
            for line in text[:text.index("```")].splitlines()
            if line.strip() and " logs " not in line]


def end_job(cluster, job, phase):
    """Ends its Pod as a kubelet would."""
    def made():
        return [name for name in pods(cluster) if name.startswith(job)]
    until(made, SOON, f"a Pod of {job}")
    name, = made()
    cluster.patch(PODS, name + "/status", {"status": {"phase": phase}})


def wait_for_job(cluster, command, job, phase):
    """Runs a `wait` while the Job ends.  Returns its exit code."""
    with futures.ThreadPoolExecutor() as threads:
        waits = threads.submit(cluster.kubectl, *command, check=False)
        end_job(cluster, job, phase)
        return waits.result(SOON).returncode


# In these two there are no nodes yet, so that only the test ends Pods.

@pytest.mark.parametrize("phase", (
    pytest.param("Failed", marks=pytest.mark.long), "Succeeded"))
def test_who_waits_for_the_check_hears_of_its_end(cluster, phase):
    cluster.kubectl("apply", "-k", DEFAULT)
    apply, wait, verdict, delete = documented(
        "check.md", "kubectl apply -k deploy/check")
    cluster.kubectl(*apply)
    assert wait_for_job(cluster, wait, NAME + "-check", phase) == 0
    done = cluster.kubectl(*verdict, check=False)
    assert (done.returncode == 0) == (phase == "Succeeded"), done.stderr
    cluster.kubectl(*delete)


@pytest.mark.long
def test_uninstall_finds_all_that_it_deletes(cluster):
    """The commands of docs/operations.md, one after the other, with the Job."""
    cluster.kubectl("apply", "-k", DEFAULT)
    apply, wait, delete = documented("operations.md",
                                     "kubectl apply -k deploy/uninstall")
    stop = documented("operations.md", "kubectl delete mutatingwebhookconfi"
                      "guration karpenter-node-holder\n   kubectl -n")
    last, = documented("operations.md", "kubectl delete -k deploy/overlays")
    for command in (*stop, apply):
        cluster.kubectl(*command)
    assert wait_for_job(cluster, wait, NAME + "-uninstall", "Succeeded") == 0
    for command in (delete, last):
        assert cluster.kubectl(*command).stderr == ""
    assert cluster.request("GET", f"/api/v1/namespaces/{NAME}")[0] == 404


@pytest.fixture(scope="module")
def applied(cluster):
    """Nodes of Karpenter, one of the control plane, and the Deployment."""
    add_node(cluster, "k1", "a", pool="general")
    add_node(cluster, "k2", "b", pool="general")
    add_node(cluster, "cp", "c", taints=[TAINT])
    cluster.kubectl("apply", "-k", DEFAULT)
    return cluster


def test_a_cluster_whose_every_node_is_karpenters(applied):
    """EKS Auto Mode: the Pods run, and ask Karpenter to leave them alone."""
    assert wait_running(applied, 2) == ["k1", "k2"]
    for pod in pods(applied).values():
        assert pod["metadata"]["annotations"][
            "karpenter.sh/do-not-disrupt"] == "true"


def test_another_node_is_preferred(applied):
    cluster = applied
    add_node(cluster, "own", "a")
    try:
        for count in (1, 2):
            scale(cluster, 0)
            wait_running(cluster, 0)
            scale(cluster, count)
            found = wait_running(cluster, count)
            assert "own" in found, found
        # One of Karpenter's is better than none, and than sharing.
        assert len(set(found)) == 2
    finally:
        scale(cluster, 0)
        wait_running(cluster, 0)
        cluster.delete(NODES, "own")
        scale(cluster, 2)
        wait_running(cluster, 2)


def template(**spec):
    return {"spec": {"template": {"spec": spec}}}


def in_namespace(kind, **spec):
    return {"apiVersion": "v1", "kind": kind, "spec": spec,
            "metadata": {"name": "break", "namespace": NAME}}


LIMITS = in_namespace("LimitRange", limits=[
    {"type": "Container", "max": {"cpu": "1m"}}])
QUOTA = in_namespace("ResourceQuota", hard={"pods": "0"})
# what is applied, the patch of the Deployment, what is deleted; what the check
# quotes; whether the command that it prints lets the pods come.  The quota and
# the limits are the namespace's owner's.
UNMADE = {
    "quota": (QUOTA, None, None, "exceeded quota: break", False),
    "limits": (LIMITS, None, None, "than or equal to cpu limit of 1m", False),
    "priority-class": (None, template(priorityClassName="nope", priority=None),
                       None, "no PriorityClass with name nope was found", True),
    "pod-security": (None, template(hostNetwork=True), None,
                     'violates PodSecurity "restricted', True),
    # The pods were allowed until somebody changed the namespace.
    "namespace": (None, template(hostNetwork=True), None,
                  'violates PodSecurity "restricted', False),
    # Nothing is broken but that nobody asked for pods.
    "scaled": (None, None, None, "has 0 of 0 pods ready", True),
    "account": (None, None, f"serviceaccount/{NAME}",
                f'serviceaccount "{NAME}" not found', True),
}


def enforce(cluster, level):
    cluster.kubectl("label", "--overwrite", "namespace", NAME,
                    f"pod-security.kubernetes.io/enforce={level}")


@pytest.mark.parametrize("what", [
    pytest.param(w, marks=() if w == "account" else pytest.mark.long)
    for w in UNMADE])
def test_why_pods_cannot_be_created(applied, what):
    """The first finding quotes the Deployment's ReplicaFailure."""
    cluster = applied
    made, patch, deleted, says, fixed = UNMADE[what]
    before = cluster.get(DEPLOYMENTS, NAME)["spec"]["template"]
    scale(cluster, 0)
    wait_running(cluster, 0)

    def first():
        done = subprocess.run(
            [HOLDERCTL, "check", "-o", "json", "--kubeconfig",
             cluster.kubeconfig], capture_output=True, text=True,
            timeout=SOON, stdin=subprocess.DEVNULL, env=environment(cluster))
        assert done.returncode in (0, 1), done
        return json.loads(done.stdout)["findings"][0]
    try:
        if made:
            cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(made))
        if what == "namespace":
            enforce(cluster, "privileged")
        elif what == "pod-security":
            scale(cluster, 2)
            wait_running(cluster, 2)
        if patch:
            cluster.patch(DEPLOYMENTS, NAME, patch)
        if what == "namespace":
            scale(cluster, 2)
            wait_running(cluster, 2)
            scale(cluster, 0)
            wait_running(cluster, 0)
            enforce(cluster, "restricted")
        if deleted:
            cluster.kubectl("-n", NAME, "delete", deleted)
        if what != "scaled":
            scale(cluster, 2)
        found = until(lambda: says in (f := first())["what"] and f, SOON,
                      lambda: f"{says}: {first()}", every=0.5)
        assert found["id"] == ("rollout-unfinished" if what == "pod-security"
                               else "pods-not-ready"), found
        done = subprocess.run(
            ["sh", "-c", found["fix"]], capture_output=True, text=True,
            cwd=REPO, timeout=SOON, stdin=subprocess.DEVNULL,
            env=environment(cluster))
        assert done.returncode == 0, (found, done)
        if fixed:
            until(lambda: len(running(cluster)) == 2, SOON,
                  lambda: f"{found['fix']}: {first()}")
            until(lambda: first()["id"] != "pods-not-ready" and says
                  not in first()["what"], SOON, lambda: str(first()),
                  every=0.5)
        else:
            assert ("enforce=restricted" if what == "namespace"
                    else "break") in done.stdout, done
    finally:
        enforce(cluster, "restricted")
        cluster.kubectl("-n", NAME, "delete", "--ignore-not-found",
                        "resourcequota,limitrange", "break")
        cluster.kubectl("apply", "-f", DEPLOY / "base" / "serviceaccount.yaml")
        cluster.patch(DEPLOYMENTS, NAME, [
            {"op": "replace", "path": "/spec/template", "value": before}],
            JSONPATCH)
        cluster.kubectl("-n", NAME, "rollout", "restart", "deployment", NAME)
    until(lambda: cluster.get(DEPLOYMENTS, NAME)["status"].get(
        "updatedReplicas") == 2, SOON, "rolled")
    wait_running(cluster, 2)


@pytest.fixture(scope="module")
def deployed(applied, tmp_path_factory):
    """With the component dedicated-nodes."""
    folder = tmp_path_factory.mktemp("dedicated")
    applied.kubectl("apply", "-k", overlay(folder,
                                           components=dedicated(folder)))
    return applied


def test_where_they_run(deployed):
    cluster = deployed
    # The nodes of Karpenter are free, but not for these Pods.  Until there is
    # another node, the Pods of before stay.
    wait_waiting(cluster, "2 node(s) didn't match Pod's node affinity")
    assert sorted(running(cluster).values()) == ["k1", "k2"]
    scale(cluster, 0)
    wait_running(cluster, 0)
    scale(cluster, 2)
    wait_waiting(cluster, *2 * ["2 node(s) didn't match Pod's node affinity"])
    scale(cluster, 0)
    wait_running(cluster, 0)

    # Two never share a node where there is another, not even if that is full.
    add_node(cluster, "a1", "a")
    add_node(cluster, "b1", "b", cpu=FULL)
    scale(cluster, 2)
    wait_waiting(cluster, "topology spread constraints")
    until(lambda: list(running(cluster).values()) == ["a1"], SOON, "one runs")
    for pod in pods(cluster).values():
        assert pod["spec"]["priority"] == 2000000000
    room(cluster, "b1", SMALL)
    assert wait_running(cluster, 2) == ["a1", "b1"]

    # If there are more replicas than nodes that would take them, they run all
    # the same.  The node of the control plane does not count.
    room(cluster, "b1", "1")
    scale(cluster, 3)
    assert set(wait_running(cluster, 3)) == {"a1", "b1"}

    # A Pod waits for another zone although its own has room.
    scale(cluster, 0)
    wait_running(cluster, 0)
    room(cluster, "b1", SMALL)
    add_node(cluster, "a2", "a")
    scale(cluster, 2)
    assert wait_running(cluster, 2) in (["a1", "b1"], ["a2", "b1"])
    room(cluster, "b1", "1")


def test_a_drain_takes_one_at_a_time(deployed):
    """The second may go when there is a replacement for the first."""
    cluster = deployed
    wait_running(cluster, 2)

    def evict(name):
        return cluster.request("POST", f"{PODS}/{name}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": NAME}})
    until(lambda: cluster.get(BUDGETS, NAME).get("status", {}).get(
        "disruptionsAllowed") == 1, SOON, "one may go")
    first, second = running(cluster)
    cluster.kubectl("cordon", *OWN)
    assert evict(first)[0] == 201
    wait_waiting(cluster, "unschedulable")
    status, answer = evict(second)
    assert status == 429 and "disruption budget" in answer["message"], answer
    cluster.kubectl("uncordon", *OWN)
    wait_running(cluster, 2)
    until(lambda: evict(second)[0] == 201, SOON, "it may go, too")


def test_a_roll_keeps_two(deployed, tmp_path):
    """The configuration changes, and at first the new Pods find no node."""
    cluster = deployed
    (tmp_path / "config.yaml").write_text(
        "apiVersion: karpenter-node-holder.io/v1\nkind: HolderConfig\n")
    overlay(tmp_path, components=dedicated(tmp_path), configMapGenerator=[{
        "name": NAME + "-config", "namespace": NAME,
        "behavior": "replace", "files": ["config.yaml"]}])
    wait_running(cluster, 2)
    before = set(running(cluster))
    cluster.kubectl("cordon", *OWN)
    cluster.kubectl("apply", "-k", tmp_path)
    wait_waiting(cluster, "unschedulable")
    time.sleep(1)
    assert set(running(cluster)) == before and len(before) == 2
    with cluster.paused("kube-scheduler"):
        # Taints go one after the other, and some time later.
        cluster.kubectl("uncordon", *OWN)
        until(lambda: not any(cluster.get(NODES, n)["spec"].get("taints")
                              for n in OWN), SOON, "no taints")
    until(lambda: not before & pods(cluster).keys(), SOON, "rolled")
    assert wait_running(cluster, 2) in (["a1", "b1"], ["a2", "b1"])
