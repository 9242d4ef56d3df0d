# SPDX-License-Identifier: Apache-2.0
"""Reviews as the API server sends them, of the sizes that are asked for."""
import json
import time

LABELS = {
    "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
    "karpenter.sh/nodepool": "general", "karpenter.sh/capacity-type": "spot",
    "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
    "kubernetes.io/hostname": "ip-10-1-2-3.eu-west-1.compute.internal",
    "node.kubernetes.io/instance-type": "m6i.2xlarge",
    "topology.kubernetes.io/region": "eu-west-1",
    "topology.kubernetes.io/zone": "eu-west-1b"}


def node(name, pool="general"):
    """A Node as a kubelet registers it."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    resources = {"cpu": "8", "ephemeral-storage": "20959212Ki",
                 "hugepages-1Gi": "0", "hugepages-2Mi": "0",
                 "memory": "32386540Ki", "pods": "58"}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "labels": {**LABELS, "karpenter.sh/nodepool": pool},
            "annotations": {
                "volumes.kubernetes.io/controller-managed-attach-detach":
                "true"}},
        "spec": {"providerID": f"aws:///eu-west-1b/i-{abs(hash(name)):017x}",
                 "taints": [{"key": "karpenter.sh/unregistered",
                             "effect": "NoExecute"}]},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.1.2.3"},
                          {"type": "Hostname", "address": name}],
            "allocatable": resources, "capacity": resources,
            "conditions": [
                {"type": kind, "status": "False", "reason": "Kubelet" + kind,
                 "message": "kubelet has nothing to report",
                 "lastHeartbeatTime": now, "lastTransitionTime": now}
                for kind in ("MemoryPressure", "DiskPressure", "PIDPressure",
                             "Ready")],
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux",
                         "kernelVersion": "6.1.0", "kubeletVersion": "v1.36.3",
                         "osImage": "Debian GNU/Linux 12 (bookworm)",
                         "kubeProxyVersion": "", "bootID": "", "machineID": "",
                         "systemUUID": "",
                         "containerRuntimeVersion": "containerd://2.1.4"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}}


def review(size):
    """The bytes of a review of a new Node; a list of images fills it up."""
    obj = node("ip-10-1-2-3.eu-west-1.compute.internal")
    kind = {"group": "", "version": "v1", "kind": "Node"}
    resource = {"group": "", "version": "v1", "resource": "nodes"}
    user = "system:node:ip-10-1-2-3.eu-west-1.compute.internal"
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind,
                "resource": resource, "requestKind": kind,
                "requestResource": resource, "name": obj["metadata"]["name"],
                "operation": "CREATE",
                "userInfo": {"username": user, "groups": [
                    "system:nodes", "system:authenticated"]},
                "object": obj, "oldObject": None, "dryRun": False,
                "options": {"kind": "CreateOptions",
                            "apiVersion": "meta.k8s.io/v1"}}}
    images = obj["status"].setdefault("images", [])
    text = json.dumps(body, separators=(",", ":"))
    while len(text) < size:
        images.append({"names": [
            f"registry.example.com/team/service-{len(images)}@sha256:"
            + f"{len(images):064x}"], "sizeBytes": 104857600 + len(images)})
        text = json.dumps(body, separators=(",", ":"))
    return text.encode()
