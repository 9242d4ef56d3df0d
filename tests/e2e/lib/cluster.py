# SPDX-License-Identifier: Apache-2.0
"""A cluster that schedules and scales by itself: real Karpenter on a real
control plane, and kwok in place of the machines.

    with Cluster() as cluster:
        cluster.pool("general")
        cluster.start_karpenter()
        cluster.deploy("web", 12)
        cluster.wait_running("web", 12)

Beside etcd and kube-apiserver it runs kube-controller-manager, kube-scheduler,
kwok (Nodes become ready, Pods run) and Karpenter with its kwok provider.
"""
import collections
import contextlib
import http.client
import json
import os
import re
import signal

from controlplane import (APPLY_PATHS, CLAIMS, NODES, PLANE, POOLS,
                          ControlPlane, end, free_port, parse_metrics, spawn,
                          tail, until)

PROGRAMS = ("etcd", "kube-apiserver", "kubectl", "crds", "kube-scheduler",
            "kube-controller-manager", "kwok", "stages", "karpenter")

CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"

APPLY_PATHS["KWOKNodeClass"] = (CLASSES, False)

STARTING = {"key": "example.com/starting", "value": "true",
            "effect": "NoSchedule"}

# kwok leaves alone the status of a Node that is so annotated.
LEFT_ALONE = "kwok.x-k8s.io/status=custom"

# More of Karpenter's feature gates, under make matrix.
GATES = os.environ.get("KARPENTER_GATES")

# The label that tells reservations apart.  A cloud's Karpenter sets its name,
# and so does binaries.sh when it links the kwok provider's.
RESERVATION = "example.com/reservation"

# Karpenter's own metrics: what it decided to disrupt, and the claims it
# disrupted.
DECISIONS = "karpenter_voluntary_disruption_decisions_total"
DISRUPTED = "karpenter_nodeclaims_disrupted_total"


# What docs/what-if.md says of an audit policy.
AUDIT = [{"level": "RequestResponse",
          "verbs": ["create", "update", "patch", "delete"],
          "resources": [
              {"group": "karpenter.sh",
               "resources": ["nodeclaims", "nodeclaims/status"]},
              {"group": "", "resources": ["nodes", "events"]}]}]


# A consolidateAfter that no test outlives.  With "Never" the holder would leave
# the NodePool alone.
LATER = "24h"


def node_class(name="default", registration_delay=None):
    return {"apiVersion": "karpenter.kwok.sh/v1alpha1",
            "kind": "KWOKNodeClass", "metadata": {"name": name},
            # Karpenter 1.0 knows no spec.
            **({"spec": {"nodeRegistrationDelay": registration_delay}}
               if registration_delay else {})}


def among(key, *values):
    return {"key": key, "operator": "In", "values": list(values)}


def node_pool(name, cpus=("4",), annotations=None, class_name="default",
              starting=False, families=("c",), labels=None,
              consolidate_after="0s", expire_after="Never", replicas=None,
              capacity_type="on-demand"):
    """A NodePool all of which may be disrupted at any time, and at once.

    annotations, labels: of the template, so of each of its nodes.  families:
    "c" has least memory for a cpu and costs least, "m" most.  starting: Nodes
    register, but are not initialized while they have the startup taint (see
    Cluster.started).  replicas: not None makes it static, which needs
    Karpenter's feature gate StaticCapacity, and one instance type for the kwok
    provider: that of the first family and cpu.
    """
    static = {} if replicas is None else {"replicas": replicas}
    instance = [among("node.kubernetes.io/instance-type",
                      f"{families[0]}-{cpus[0]}x-amd64-linux")]
    return {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            **static,
            "template": {
                "metadata": {"annotations": annotations or {},
                             "labels": labels or {}},
                "spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh",
                                     "kind": "KWOKNodeClass",
                                     "name": class_name},
                    "requirements": [
                        among("kubernetes.io/arch", "amd64"),
                        among("kubernetes.io/os", "linux"),
                        among("karpenter.sh/capacity-type", capacity_type),
                        among("karpenter.kwok.sh/instance-family", *families),
                        among("karpenter.kwok.sh/instance-cpu", *cpus),
                        *(instance if static else [])],
                    "startupTaints": [STARTING] if starting else [],
                    "expireAfter": expire_after}},
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": consolidate_after,
                "budgets": [{"nodes": "100%"}]}}}


def instance_types(reserved):
    """What the kwok provider offers instead of its own list: c-1x on demand,
    and r-1x out of a reservation in which so many places are free.  The provider
    does not count how many are taken."""
    def one(family, capacity_type, reservation, **more):
        return {"name": f"{family}-1x-amd64-linux", "architecture": "amd64",
                "operatingSystems": ["linux"],
                "resources": {"cpu": "1", "memory": "2Gi", "pods": "16",
                              "ephemeral-storage": "20Gi"},
                "offerings": [{"Price": 0.02, "Available": True, **more,
                               "Requirements": [
                                   among("karpenter.sh/capacity-type",
                                         capacity_type),
                                   among("topology.kubernetes.io/zone",
                                         "test-zone-a"),
                                   reservation]}]}
    return [one("c", "on-demand", {"key": RESERVATION,
                                   "operator": "DoesNotExist"}),
            one("r", "reserved", among(RESERVATION, "one"),
                ReservationCapacity=reserved)]


def deployment(name, replicas, cpu, pool, tolerates=()):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"karpenter.sh/nodepool": pool},
                    "terminationGracePeriodSeconds": 0,
                    "tolerations": [{"key": key, "operator": "Exists"}
                                    for key in tolerates],
                    "containers": [{
                        "name": "work", "image": "work",
                        "resources": {"requests": {"cpu": cpu}}}]}}}}


class Cluster(ControlPlane):
    not_admitting = ()

    def __init__(self, name="cluster", folder=PLANE):
        """folder: what binaries.sh or versions.py has made."""
        super().__init__(bin_dir=folder / "bin", crds_dir=folder / "crds",
                         name=name, audit=AUDIT)
        self.folder = folder
        self._controllers = {}  # name -> process
        self._karpenter_port = None

    def upgrade(self, folder):
        """From now on what is started is of that folder.  Returns the names of
        the programs that are others then."""
        old, self.folder, self.bin = self.bin, folder, folder / "bin"
        self.crds_dir = folder / "crds"
        return {name for name in self.processes()
                if not (old / name).samefile(self.bin / name)}

    # Processes

    def start(self):
        super().start()
        self.install_crds()
        config = f"--kubeconfig={self.kubeconfig}"
        local = ["--bind-address=127.0.0.1", "--leader-elect=false"]
        self._run("kube-controller-manager", [
            config, *local, f"--secure-port={free_port()}",
            "--controllers=*,-node-ipam-controller",
            f"--service-account-private-key-file={self.dir / 'sa.key'}",
            f"--root-ca-file={self.dir / 'ca.crt'}"])
        self._run("kube-scheduler", [
            config, *local, f"--secure-port={free_port()}"])
        self._run("kwok", [
            config, "--manage-all-nodes", "--node-lease-duration-seconds=40",
            "--disregard-status-with-annotation-selector=" + LEFT_ALONE,
            f"--server-address=127.0.0.1:{free_port()}",
            *(f"--config={s}" for s in self.stages())])
        until(lambda: self.request(
            "GET", "/api/v1/namespaces/default/serviceaccounts/default")[0]
            == 200, 60, lambda: "a ServiceAccount\n"
            + self.log_tail("kube-controller-manager"))
        return self

    def stages(self):
        """The files that tell kwok what becomes of Nodes and Pods."""
        return sorted((self.folder / "stages").glob("*.yaml"))

    def processes(self):
        """{name: process} of all that runs."""
        return {"etcd": self._etcd, "kube-apiserver": self._apiserver,
                **self._controllers}

    def stop(self):
        for process in self._controllers.values():
            end(process, signal.SIGKILL)
        self._controllers = {}
        super().stop()

    def _run(self, name, flags, env=None):
        self._controllers[name] = spawn(
            [self.bin / name, *flags], self.dir / f"{name}.log", env)

    @contextlib.contextmanager
    def paused(self, name):
        process = self._controllers[name]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def log_tail(self, name, lines=20):
        return tail(self.dir / f"{name}.log", lines)

    def start_karpenter(self, gates="NodeRepair=false",
                        batch=("200ms", "1s"), log_level="debug", types=None):
        """batch: how long it waits for more pods, idle and at most.  types: what
        the provider offers; None: its own list."""
        offered = self.dir / "instance-types.json"
        offered.write_text(json.dumps(types))
        self._karpenter_port = free_port()
        probe = free_port()
        self._run("karpenter", [], {
            "PATH": os.environ["PATH"], "HOME": str(self.dir),
            "KUBECONFIG": str(self.kubeconfig),
            "DISABLE_LEADER_ELECTION": "true", "LOG_LEVEL": log_level,
            "INSTANCE_TYPES_FILE_PATH": str(offered) if types else "",
            # Of one that is there twice the last counts.
            "FEATURE_GATES": ",".join(filter(None, (GATES, gates))),
            # Before 1.1 it has one, for older versions of its objects.
            "DISABLE_WEBHOOK": "true", "SYSTEM_NAMESPACE": "kube-system",
            "METRICS_PORT": str(self._karpenter_port),
            "HEALTH_PROBE_PORT": str(probe),
            "BATCH_IDLE_DURATION": batch[0],
            "BATCH_MAX_DURATION": batch[1]})

        def ready():
            self._alive(self._controllers["karpenter"], "karpenter",
                        self.dir / "karpenter.log")
            return self._get(probe, "/readyz")[0] == 200
        until(ready, 60, lambda: "karpenter\n" + self.log_tail("karpenter"))

    def stop_karpenter(self):
        end(self._controllers.pop("karpenter"), signal.SIGTERM)

    @staticmethod
    def _get(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as e:
            return 0, str(e)
        finally:
            connection.close()

    def karpenter_samples(self, name):
        """Returns {labels as text: value} of all samples with that name."""
        status, text = self._get(self._karpenter_port, "/metrics")
        assert status == 200, text
        return {key[len(name):]: value
                for key, value in parse_metrics(text).items()
                if key.split("{")[0] == name}

    def karpenter_metric(self, name, **labels):
        """The sum of all samples of that name that have (at least) these
        labels."""
        wanted = [f'{k}="{v}"' for k, v in labels.items()]
        return sum(value for key, value in self.karpenter_samples(name).items()
                   if all(w in key for w in wanted))

    def karpenter_reasons(self, name):
        """The same sum for each reason, as a collections.Counter.  Karpenter
        1.0 writes some reasons with a capital letter."""
        sums = collections.Counter()
        for key, value in self.karpenter_samples(name).items():
            reason = re.search(r'reason="([^"]*)"', key)[1].lower()
            sums[reason] += int(value)
        return sums

    # What people do

    def pool(self, name="general", registration_delay=None, **options):
        self.apply(node_class(name, registration_delay))
        self.apply(node_pool(name, class_name=name, **options))

    def deploy(self, name, replicas, cpu="900m", pool="general", **options):
        self.create(DEPLOYMENTS,
                    deployment(name, replicas, cpu, pool, **options))

    def scale(self, name, replicas):
        self.patch(DEPLOYMENTS, name, {"spec": {"replicas": replicas}})

    def ails(self, node, condition, status="True"):
        """Gives the Node a condition that Karpenter's kwok provider has a repair
        policy for (sigs.k8s.io/karpenter kwok/cloudprovider, since 1.15)."""
        self.patch(NODES, f"{node}/status", {"status": {"conditions": [
            {"type": condition, "status": status, "reason": "Test"}]}},
            "application/strategic-merge-patch+json")

    def started(self, name=None):
        """Removes the startup taint from that Node, or from every one, as its
        owner would."""
        for node in self.get(NODES)["items"]:
            if name not in (None, node["metadata"]["name"]):
                continue
            taints = [t for t in node["spec"].get("taints", [])
                      if t["key"] != STARTING["key"]]
            self.patch(NODES, node["metadata"]["name"],
                       {"spec": {"taints": taints}})

    def ready(self, name):
        """The number of pods of that Deployment that are ready."""
        status = self.get(DEPLOYMENTS, name).get("status") or {}
        return status.get("readyReplicas", 0)

    def running(self, name):
        """The same, or -1 while others are not ready, or not gone yet."""
        status = self.get(DEPLOYMENTS, name).get("status") or {}
        ready = status.get("readyReplicas", 0)
        return ready if status.get("replicas", 0) == ready else -1

    def wait_running(self, name, replicas, timeout=60):
        until(lambda: self.running(name) == replicas, timeout,
              lambda: f"{replicas} pods of {name} running\n"
              + self.log_tail("karpenter"), every=0.2)

    def wipe(self, timeout=120):
        """Removes workloads and then NodePools, as a person would; Karpenter
        does the rest."""
        for path in (DEPLOYMENTS, POOLS, CLASSES):
            self.ok("DELETE", path)

        def empty():
            claims = self.metadata(CLAIMS)
            for name, meta in self.metadata(NODES).items():
                # It was made late, for a claim that was gone.  It has no
                # owner, and nobody would remove it.
                if not claims and not meta.get("ownerReferences"):
                    self.request("DELETE", f"{NODES}/{name}")
            return not any(self.metadata(p)
                           for p in (PODS, CLAIMS, NODES, POOLS))
        until(empty, timeout, lambda: "an empty cluster\n"
              + self.log_tail("karpenter"), every=0.3)
