# SPDX-License-Identifier: Apache-2.0
"""What people apply, by kustomize or by Helm, has another holdAnnotation.

The real Deployment controller rolls it out, and the disruption controller and
the scheduler are real, too.  A kubelet of this test runs the real holder in
each Pod, with the Pod's own configuration, account and probe.
"""
import base64
import json

import pytest
import yaml

from cluster import PROGRAMS, Cluster
from controlplane import BUILD, NODES, until
from hold import HOLD, annotations, clear, held
from holder import Holder
from karpenter import Karpenter, node_body
from lead import LEASES, SHORT, leader, said
from test_helm import CHART, config_of, helm, patched
from test_pods import DEPLOYMENTS, NAME, PODS, SOON, add_node, overlay
from test_rolling import ANOTHER, CHOSEN
from uninstall import uninstall

assert helm     # a fixture

pytestmark = pytest.mark.long

KEEP = "example.com/keep"
HOLD_S = 20


class NodesOnly(Cluster):
    """kwok leaves the Pods alone."""

    def stages(self):
        return [s for s in super().stages() if s.name.startswith("node-")]


class Pod(Holder):
    def __init__(self, plane, pod):
        spec = pod["spec"]
        volume, = (v for v in spec["volumes"] if v["name"] == "config")
        config = plane.get(f"/api/v1/namespaces/{NAME}/configmaps",
                           volume["configMap"]["name"])
        settings = yaml.safe_load(config["data"]["config.yaml"])
        for address in "webhook", "metrics":
            settings.pop(address, None)
        super().__init__(plane, **{**settings, "holdDuration": f"{HOLD_S}s",
                                   "leaderElection": SHORT.config()})
        self.environment = {"POD_NAME": pod["metadata"]["name"]}
        container, = spec["containers"]
        self.path = container["readinessProbe"]["httpGet"]["path"]
        self.ready = None
        self.start(wait=False)

    def _install(self):
        """It is installed, and the policy is as it was applied."""
        self.plane.write_kubeconfig(
            self.kubeconfig, self.plane.service_account(NAME, NAME))

    def unregister(self):
        """The webhook is there, and nobody answers at its Service."""

    def key(self):
        """The annotation that it sets on a Node that is created."""
        answer = self.review(node_body("reviewed"))[1]["response"]
        patch = json.loads(base64.b64decode(answer["patch"]))
        return [k for k in (HOLD, KEEP) if k in json.dumps(patch).replace(
            "~1", "/")]


class Kubelet:
    def __init__(self, cluster):
        self.cluster, self.pods = cluster, {}

    def step(self):
        there = {p["metadata"]["name"]: p
                 for p in self.cluster.get(PODS)["items"]}
        for name, pod in there.items():
            meta = pod["metadata"]
            if "deletionTimestamp" in meta:
                if name in self.pods:
                    assert self.pods[name].term() == 0
                    self.pods.pop(name).stop()
                self.cluster.request(
                    "DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
            elif name in self.pods:
                self.tell(name, self.pods[name])
            elif pod["spec"].get("nodeName"):
                self.pods[name] = Pod(self.cluster, pod)
        for name in self.pods.keys() - there:
            self.pods.pop(name).stop()

    def tell(self, name, pod):
        assert pod.alive(), pod.logs()[-3:]
        ready = pod.probe(pod.path)[0] == 200
        if ready != pod.ready:
            self.cluster.patch(PODS, name + "/status", {"status": {
                "phase": "Running", "conditions": [
                    {"type": kind, "status": str(ready)}
                    for kind in ("Ready", "ContainersReady")]}})
        pod.ready = ready

    def until(self, check, what):
        """The Pods live on until this is so."""
        def checked():
            self.step()
            return check()
        return until(checked, 2 * SOON, lambda: str(
            what() if callable(what) else what) + str(
            {n: (p.ready, p.logs()[-2:]) for n, p in self.pods.items()}),
            every=0.3)

    def wait(self, *ready):
        """Waits for as many Pods, so many of which are ready."""
        self.until(lambda: sorted(p.ready is True for p in self.pods.values())
                   == sorted(ready), f"Pods {ready}")

    def stop(self):
        for pod in self.pods.values():
            pod.stop()


@pytest.fixture
def cluster(build_programs):
    build_programs(*PROGRAMS, "cert-manager-crds")
    with NodesOnly(name="chosen") as cluster:
        cluster.install_crds(BUILD / "cert-manager-crds")
        for name, zone in ("a1", "a"), ("b1", "b"):
            add_node(cluster, name, zone)
        yield cluster


@pytest.fixture
def kubelet(cluster):
    kubelet = Kubelet(cluster)
    yield kubelet
    kubelet.stop()


class Kustomize:
    evicted = True, True, False

    def __init__(self, cluster, folder, _helm):
        self.cluster, self.folder = cluster, folder

    def apply(self, key=HOLD):
        folder = self.folder / key.replace("/", "-")
        folder.mkdir(exist_ok=True)
        fields = config_of(holdAnnotation={"key": key, "value": "true"})
        (folder / "config.yaml").write_text(fields.pop("files")["config.yaml"])
        policy = patched("ValidatingAdmissionPolicy", (
            "replace", "/spec/variables/0/expression", f"['{key}']"))
        policy["target"]["name"] = NAME
        self.cluster.kubectl("apply", "-k", overlay(
            folder, patches=[policy], **fields))

    rollback = apply


class Helm:
    # The ConfigMap keeps its name, so the old ReplicaSet's next Pod reads what
    # has changed.
    evicted = True, False, False

    def __init__(self, cluster, folder, run):
        del folder
        self.kubectl = cluster.kubectl
        self.run = lambda command, *args, **values: run(
            command, "mine", *args, "--namespace", NAME,
            kubeconfig=cluster.kubeconfig, **values)

    def apply(self, key=HOLD):
        self.run("upgrade", "--install", "--create-namespace", CHART,
                 values={"holdAnnotation": {"key": key, "value": "true"}})

    def rollback(self):
        self.run("rollback")
        # What the Pod read goes with the Pod.
        self.kubectl("-n", NAME, "rollout", "restart", "deployment", NAME)


@pytest.fixture(params=(Kustomize, Helm), ids=lambda tool: tool.__name__)
def tool(request, cluster, tmp_path, helm):
    return request.param(cluster, tmp_path, helm)


def chosen(cluster):
    return annotations(cluster.get(LEASES, NAME)).get(CHOSEN)


def test_a_change_and_a_migration(cluster, kubelet, tool):
    """A change does not roll out, whoever is evicted, and a rollback releases
    what was held meanwhile.  The steps of docs/operations.md change it."""
    tool.apply()
    kubelet.wait(True, True)
    machine = Karpenter(cluster).machine()
    kubelet.until(lambda: held(cluster.get(NODES, machine.node)), "held")
    assert chosen(cluster) == HOLD + "=true"

    before = set(kubelet.pods)
    tool.apply(KEEP)
    kubelet.wait(True, True, False)
    (new,) = kubelet.pods.keys() - before
    kubelet.until(lambda: said(kubelet.pods[new], ANOTHER), "it says why")
    leads = leader(kubelet.pods.values(), SOON)
    evicted = leads.environment["POD_NAME"]
    answers = []

    def evict():
        answers.append(cluster.request("POST", f"{PODS}/{evicted}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": evicted, "namespace": NAME}}))
        return answers[-1][0] == 201
    kubelet.until(evict, lambda: answers[-1])
    kubelet.until(lambda: evicted not in kubelet.pods, "gone")
    kubelet.wait(*tool.evicted)
    kubelet.until(lambda: all(
        p.probe(p.path + "&exclude=hold-annotation")[0] == 200
        for p in kubelet.pods.values()), "they would be ready otherwise")
    assert not kubelet.pods[new].ready
    assert {tuple(p.key()) for p in kubelet.pods.values()} == {(HOLD,)}
    assert chosen(cluster) == HOLD + "=true"

    tool.rollback()
    kubelet.wait(True, True)
    kubelet.until(lambda: clear(cluster.get(NODES, machine.node)), "released")

    machine = Karpenter(cluster).machine()
    kubelet.until(lambda: held(cluster.get(NODES, machine.node)), "held")
    cluster.kubectl("delete", "mutatingwebhookconfiguration", NAME)
    cluster.kubectl("-n", NAME, "scale", "deployment", NAME, "--replicas", "0")
    kubelet.wait()
    done = uninstall(cluster)
    assert "none is left" in done.stdout + done.stderr
    assert chosen(cluster) is None
    assert clear(cluster.get(NODES, machine.node))
    tool.apply(KEEP)
    kubelet.wait(True, True)
    machine = Karpenter(cluster).machine()
    kubelet.until(lambda: annotations(cluster.get(NODES, machine.node)).get(
        KEEP) == "true", "held")
    assert chosen(cluster) == KEEP + "=true"
    assert {tuple(p.key()) for p in kubelet.pods.values()} == {(KEEP,)}
    kubelet.until(lambda: KEEP not in annotations(
        cluster.get(NODES, machine.node)), "released")
