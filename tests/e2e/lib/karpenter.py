# SPDX-License-Identifier: Apache-2.0
"""Acts on the API server as Karpenter and a kubelet would.

A scale-up is claim(), launch(), boot(), register(), initialize(), in this
order; machine() does all five.  Finalizers are left out unless asked for, as
nothing here would remove them.
"""
import dataclasses
import time

from controlplane import CLAIMS, MERGE, NODES, ApiError
from hold import seconds, stamp

NODEPOOL = "karpenter.sh/nodepool"
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
# Karpenter itself writes these on every claim, and copies them to the Node.
HASHES = {"karpenter.sh/nodepool-hash": "4067990795911415110",
          "karpenter.sh/nodepool-hash-version": "v3"}
SPEC = {
    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass",
                     "name": "default"},
    "requirements": [{"key": "kubernetes.io/arch", "operator": "In",
                      "values": ["amd64"]}],
    "expireAfter": "Never",
}


@dataclasses.dataclass
class Machine:
    name: str               # the claim's
    uid: str
    pool: str
    created: int            # seconds since 1970, as stamped by the API server
    node: str = None
    launched: float = None  # when the patch was done
    ready: int = None       # lastTransitionTime of Initialized
    conditions: dict = dataclasses.field(default_factory=dict)


def claim_body(pool="general", annotations=None, name=None, finalizers=None,
               spec=SPEC):
    """annotations None: the field is absent; {}: an empty map."""
    meta = {"name": name} if name else {"generateName": f"{pool}-"}
    meta["labels"] = {NODEPOOL: pool,
                      "karpenter.kwok.sh/kwoknodeclass": "default"}
    if annotations is not None:
        meta["annotations"] = annotations
    if finalizers:
        meta["finalizers"] = finalizers
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": meta, "spec": spec}


def node_body(name, pool="general", annotations=None, unregistered=True,
              labels=None, provider="kwok"):
    """pool None: the Node has no label of Karpenter's."""
    meta = {"name": name, "labels": dict(labels or {})}
    if pool is not None:
        meta["labels"][NODEPOOL] = pool
    if annotations is not None:
        meta["annotations"] = annotations
    body = {"apiVersion": "v1", "kind": "Node", "metadata": meta,
            "spec": {"providerID": f"{provider}://{name}"}}
    if unregistered:
        body["spec"]["taints"] = [UNREGISTERED]
    return body


class Karpenter:
    def __init__(self, plane, pool="general", provider="kwok"):
        self.plane = plane
        self.pool = pool
        self.provider = provider

    def claim(self, pool=None, annotations=None, **options):
        """POSTs a NodeClaim; nothing has been launched for it yet."""
        pool = pool or self.pool
        obj = self.plane.create(CLAIMS, claim_body(
            pool, {**HASHES, **(annotations or {})}, **options))
        return self.adopt(obj)

    @staticmethod
    def adopt(obj):
        meta = obj["metadata"]
        return Machine(meta["name"], meta["uid"], meta["labels"][NODEPOOL],
                       seconds(meta["creationTimestamp"]))

    def condition(self, m, kind, status="True", at=None, **more):
        """Sets one condition (and other fields of the status)."""
        m.conditions[kind] = {
            "type": kind, "status": status, "reason": kind, "message": "",
            "lastTransitionTime": stamp(at if at is not None else time.time())}
        self.plane.patch(CLAIMS, m.name + "/status", {"status": {
            "conditions": list(m.conditions.values()), **more}})

    def pending(self, m):
        """Sets Karpenter's first status: it is about to launch."""
        self.condition(m, "Launched", "Unknown")

    def launch(self, m):
        m.node = m.node or f"kwok-{m.name}"
        self.condition(m, "Launched",
                       providerID=f"{self.provider}://{m.node}",
                       imageID="test", capacity={"cpu": "4"})
        m.launched = time.time()

    def boot(self, m, annotations=None, user=None):
        """Does the kubelet's own POST, which knows nothing of the claim."""
        m.node = m.node or f"kwok-{m.name}"
        return self.plane.create(
            NODES, node_body(m.node, m.pool, annotations,
                             provider=self.provider), user=user)

    def register(self, m, annotations=None):
        """Copies the claim's annotations onto the Node and makes the claim its
        owner.

        annotations: those of a stale copy of the claim instead.
        """
        if annotations is None:
            annotations = self.plane.annotations(CLAIMS, m.name)
        while True:
            node = self.plane.get(NODES, m.node)
            patch = {"metadata": {
                "resourceVersion": node["metadata"]["resourceVersion"],
                "labels": {"karpenter.sh/registered": "true"},
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                    "name": m.name, "uid": m.uid,
                    "blockOwnerDeletion": True}]},
                "spec": {"taints": None}}
            try:
                self.plane.patch(NODES, m.node, patch, MERGE)
                break
            except ApiError as e:
                if e.status != 409:  # somebody else wrote it, so look again
                    raise
        self.condition(m, "Registered", nodeName=m.node)

    def initialize(self, m, at=None):
        at = int(time.time() if at is None else at)
        self.plane.patch(NODES, m.node, {"metadata": {"labels": {
            "karpenter.sh/initialized": "true"}}})
        self.condition(m, "Initialized", at=at)
        m.ready = at

    def machine(self, pool=None, annotations=None, **options):
        """A whole scale-up of one machine, in well under a second."""
        m = self.claim(pool, annotations, **options)
        self.launch(m)
        self.boot(m)
        self.register(m)
        self.initialize(m)
        return m

    def settled(self, count, pool=None, annotations=lambda i: {}, at=None):
        """Machines that have long been ready.  This is quick, and so without a
        webhook."""
        pool = pool or self.pool
        at = int(at or time.time() - 3600)

        def make(i):
            both = {**HASHES, **annotations(i)}
            m = self.claim(pool)
            m.node = f"kwok-{m.name}"
            for kind in ("Launched", "Registered", "Initialized", "Ready"):
                m.conditions[kind] = {
                    "type": kind, "status": "True", "reason": kind,
                    "message": "", "lastTransitionTime": stamp(at)}
            m.ready = at
            self.plane.patch(CLAIMS, m.name + "/status", {"status": {
                "conditions": list(m.conditions.values()),
                "providerID": f"kwok://{m.node}", "nodeName": m.node}})
            body = node_body(m.node, pool, both, unregistered=False, labels={
                "karpenter.sh/registered": "true",
                "karpenter.sh/initialized": "true"})
            body["metadata"]["ownerReferences"] = [{
                "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                "name": m.name, "uid": m.uid, "blockOwnerDeletion": True}]
            self.plane.create(NODES, body)
            return m
        return self.plane.many(make, range(count))

    def remove(self, m):
        """Removes claim and Node, as after a termination."""
        self.plane.request("DELETE", f"{CLAIMS}/{m.name}")
        if m.node:
            self.plane.request("DELETE", f"{NODES}/{m.node}")
