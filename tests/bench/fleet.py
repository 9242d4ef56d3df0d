# SPDX-License-Identifier: Apache-2.0
"""A fleet of machines in a control plane, put there in seconds.

It goes straight into etcd, as the API server itself would have written it:
through the API server a machine takes four writes.
"""
import base64
import json
import time
import uuid

from controlplane import (CLAIMS, NODES, POOLS, WEBHOOKS, ControlPlane,
                          until)
from holder import deployed
from karpenter import HASHES, NODEPOOL, SPEC
from reviews import LABELS, node

# On a Node of the fleet: Karpenter could take its machine now.
EXPOSED = "bench.karpenter-node-holder.io/exposed"
BATCH = 64  # operations of one transaction of etcd; it takes 128

POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": {"spec": {
            "nodeClassRef": SPEC["nodeClassRef"],
            "requirements": SPEC["requirements"]}}}}


def condition(kind, status, at):
    return {"type": kind, "status": status, "reason": kind, "message": "",
            "observedGeneration": 1, "lastTransitionTime": at}


def exposed(i):
    """Every tenth machine, here and there."""
    return i * 7919 % 1009 % 10 == 0


def claim(i, at):
    name = f"general-{i:06}"
    return {
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {
            "name": name, "generateName": "general-", "generation": 1,
            "uid": str(uuid.UUID(int=(1 << 100) + i)),
            "creationTimestamp": at,
            "labels": {**LABELS, NODEPOOL: "general"},
            "annotations": dict(HASHES)},
        "spec": {**SPEC, "resources": {"requests": {
            "cpu": "3", "memory": "6Gi", "pods": "5"}}},
        "status": {
            "providerID": f"kwok://node-{i:06}", "nodeName": f"node-{i:06}",
            "capacity": {"cpu": "8", "memory": "32386540Ki", "pods": "58"},
            "allocatable": {"cpu": "8", "memory": "32386540Ki", "pods": "58"},
            "conditions": [condition(kind, "True", at) for kind in (
                "Launched", "Registered", "Initialized", "Ready",
                *(["Consolidatable"] if exposed(i) else []))]}}


def machine(i, at):
    """(Node, NodeClaim) of a machine that has long been ready."""
    c, n = claim(i, at), node(f"node-{i:06}")
    n["metadata"].update(
        uid=str(uuid.UUID(int=(2 << 100) + i)), creationTimestamp=at,
        ownerReferences=[{
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "name": c["metadata"]["name"], "uid": c["metadata"]["uid"],
            "blockOwnerDeletion": True}])
    n["metadata"]["labels"].update({
        "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
        **({EXPOSED: "true"} if exposed(i) else {})})
    n["spec"] = {"providerID": f"kwok://node-{i:06}"}
    return n, c


def put(plane, objects):
    """objects: (key in etcd, object)."""
    def text(value):
        return base64.b64encode(value.encode()).decode()
    batch = []
    for key, obj in objects:
        batch.append({"requestPut": {
            "key": text("/registry/" + key), "value": text(json.dumps(obj))}})
        if len(batch) == BATCH:
            plane._etcd_call("/v3/kv/txn", {"success": batch}, 60)
            batch = []
    if batch:
        plane._etcd_call("/v3/kv/txn", {"success": batch}, 60)


def stock(plane, count, first=0):
    """So many machines that have been ready for a day."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86400))

    def objects():
        for i in range(first, first + count):
            n, c = machine(i, at)
            yield f"minions/{n['metadata']['name']}", n
            yield f"karpenter.sh/nodeclaims/{c['metadata']['name']}", c
    put(plane, objects())
    last = f"node-{first + count - 1:06}"
    until(lambda: plane.request("GET", f"{NODES}/{last}")[0] == 200, 30, last)


class Fleet(ControlPlane):
    """A control plane with a NodePool, and machines as they are asked for."""

    def __init__(self):
        super().__init__(name="bench")
        self.count = 0

    def __enter__(self):
        self.start()
        self.install_crds()
        self.create(POOLS, POOL)
        return self

    def grow(self, count):
        """Until there are so many machines."""
        if count > self.count:
            stock(self, count - self.count, self.count)
            self.count = count

    def pid(self):
        return self._apiserver.pid

    def busy(self, name):
        """A new NodeClaim that is launched, and holds everybody."""
        body = claim(0, "")
        body["metadata"] = {"name": name, "labels": {NODEPOOL: "general"},
                            "annotations": dict(HASHES)}
        self.create(CLAIMS, {k: body[k] for k in (
            "apiVersion", "kind", "metadata", "spec")})
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.patch(CLAIMS, name + "/status", {"status": {
            "providerID": f"kwok://{name}",
            "conditions": [condition("Launched", "True", now)]}})

    def quiet(self, name):
        """It has become Initialized; returns when, in whole seconds."""
        at = int(time.time())
        text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        self.patch(CLAIMS, name + "/status", {"status": {"conditions": [
            condition(kind, "True", text)
            for kind in ("Launched", "Registered", "Initialized")]}})
        return at

    def register(self, port, pair):
        """Has the webhook at that port called, as deploy/base has it."""
        for o in deployed("webhook.yaml"):
            if o["kind"] != "MutatingWebhookConfiguration":
                continue
            for hook in o["webhooks"]:
                hook["clientConfig"] = {
                    "url": f"https://127.0.0.1:{port}/mutate",
                    "caBundle": base64.b64encode(
                        (pair / "ca.crt").read_bytes()).decode()}
            self.apply(o)

    def unregister(self):
        self.ok("DELETE", WEBHOOKS)

    def superuser(self):
        """A token with every right, for clients without a certificate."""
        self.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                    "metadata": {"name": "bench", "namespace": "default"}})
        self.apply({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding", "metadata": {"name": "bench"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "bench",
                          "namespace": "default"}]})
        return self.token("default", "bench", 86400)

    def served(self):
        """What the API server has done with patches, so far: their number,
        those refused with 409, and the sum of their durations."""
        done = refused = seconds = 0
        for name, value in self.metrics().items():
            if 'verb="PATCH"' not in name or (
                    'resource="nodes"' not in name
                    and 'resource="nodeclaims"' not in name):
                continue
            if name.startswith("apiserver_request_total"):
                done += value
                refused += value if 'code="409"' in name else 0
            elif name.startswith("apiserver_request_duration_seconds_sum"):
                seconds += value
        return done, refused, seconds
