# SPDX-License-Identifier: Apache-2.0
"""What stands in a cluster beside a holder that runs: its Deployment and pods,
as controllers and kubelets, which do not run here, would leave them."""
import copy
import time

import yaml

from controlplane import NAMESPACES, ApiError
from holder import deployed
from lead import NAME, NAMESPACE

DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
PODS = f"{NAMESPACES}/{NAMESPACE}/pods"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
VERSION = "app.kubernetes.io/version"
KARPENTER_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
KARPENTER_LEASE = "karpenter-leader-election"


def deployment(plane, namespace, name, labels, image, available):
    plane.apply({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": image}]}}}})
    set_available(plane, namespace, name, available)


def set_available(plane, namespace, name, n, updated=None):
    path = DEPLOYMENTS.format(namespace)
    plane.patch(path, name + "/status", {"status": {
        "observedGeneration":
            plane.get(path, name)["metadata"]["generation"],
        "replicas": n, "updatedReplicas": n if updated is None else updated,
        "readyReplicas": n, "availableReplicas": n}})


def set_ready(plane, pod, ready=True, waiting=None, last=None, address=None):
    """What a kubelet says of a pod.  waiting, last: why its container waits,
    and how it ended last."""
    state = {"waiting": waiting} if waiting else {
        "running": {"startedAt": "2026-01-01T00:00:00Z"}}
    status = {"phase": "Running", "conditions": [
        {"type": "Ready", "status": str(ready)}],
        "containerStatuses": [{
            "name": "holder", "image": "x", "imageID": "x", "ready": ready,
            "restartCount": 0, "state": state,
            "lastState": {"terminated": last} if last else {}}]}
    if address:
        status.update(podIP=address, podIPs=[{"ip": address}])
    plane.patch(PODS, pod + "/status", {"status": status})


def add_pod(plane, name, node, metrics_port=None, component="controller"):
    template = copy.deepcopy(deployed("deployment.yaml")[0]["spec"]["template"])
    template["metadata"]["name"] = name
    template["metadata"]["labels"]["app.kubernetes.io/component"] = component
    template["spec"]["nodeName"] = node
    for port in template["spec"]["containers"][0]["ports"]:
        if metrics_port and port["name"] == "metrics":
            port["containerPort"] = metrics_port
    plane.create(PODS, {"apiVersion": "v1", "kind": "Pod", **template})


def add_slice(plane, pods):
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {
            "kubernetes.io/service-name": NAME}},
        "addressType": "IPv4", "ports": [{"name": "webhook", "port": 9443}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True},
                       "targetRef": {"kind": "Pod", "name": name}}
                      for name, address in pods]}))


def complete(plane, pods, holder=NAME):
    """All but the manifests, the pods and what is registered.  pods: [(name,
    address)]; holder: the name of the Deployment."""
    set_available(plane, NAMESPACE, holder, 2)
    add_slice(plane, pods)
    for name, address in pods:
        set_ready(plane, name, address=address)
    deployment(plane, "kube-system", "karpenter", {
        "app.kubernetes.io/name": "karpenter", VERSION: "1.14.1"}, "x", 1)
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": KARPENTER_LEASE}, "spec": {
                 "holderIdentity": "karpenter-a", "leaseDurationSeconds": 36000,
                 "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z",
                                            time.gmtime())}}
    try:
        plane.create(KARPENTER_LEASES, lease)
    except ApiError as e:
        if e.status != 409:
            raise
