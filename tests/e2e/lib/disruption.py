# SPDX-License-Identifier: Apache-2.0
"""What real Karpenter does, for the tests that let it.

Karpenter decides every 10 s, validates for 15 s more, and spares a node for
20 s after it aimed a pod at it.  Whatever it is going to do shows within a
minute.
"""
import threading
import time

from cluster import DECISIONS, DISRUPTED
from controlplane import CLAIMS, NODES, ApiError, until
from hold import clear, seconds, true_until
from karpenter import NODEPOOL

ACTS = 75       # seconds until Karpenter has acted, if it is going to


def names(cluster, path=NODES, pool=None):
    return {m["name"] for m in of_pool(cluster, pool, path)}


def of_pool(cluster, pool, path=NODES):
    """The metadata of that NodePool's Nodes or NodeClaims; None: of all."""
    return [m for m in cluster.metadata(path).values()
            if pool in (None, m.get("labels", {}).get(NODEPOOL))]


def marks_left(cluster):
    return [name for path in (NODES, CLAIMS)
            for name, meta in cluster.metadata(path).items()
            if not clear(meta)]


def since(claim, kind):
    """When that condition of the claim became True, or None."""
    for c in claim.get("status", {}).get("conditions", []):
        if c["type"] == kind and c["status"] == "True":
            return seconds(c["lastTransitionTime"])
    return None


def quiet_at(cluster, hold, pool=None):
    """When the youngest machine (of that NodePool) will have been ready for so
    long."""
    def ready():
        stamps = [since(claim, "Initialized")
                  for claim in cluster.get(CLAIMS)["items"]
                  if pool in (None, claim["metadata"]["labels"][NODEPOOL])]
        # Pods may run on a machine before it is initialized.
        return None not in stamps and stamps
    return max(until(ready, ACTS, "every machine initialized")) + hold


def follow(cluster, see, for_seconds=300):
    """see: path -> function, which is called with each object that is made or
    changed from now on, in a thread for each path."""
    end = time.time() + for_seconds

    def run(path, call, version):
        # The API server may end a watch of a custom resource at any time.
        while time.time() < end:
            try:
                for event in cluster.watch(path, version, for_seconds):
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] in ("ADDED", "MODIFIED"):
                        call(event["object"])
            except (ApiError, OSError, KeyError):
                time.sleep(0.2)
    for path, call in see.items():
        version = cluster.get(path)["metadata"]["resourceVersion"]
        threading.Thread(target=run, daemon=True,
                         args=(path, call, version)).start()


class Disruption:
    """What Karpenter has decided and done since the test last looked."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.begin = self.now()
        self.reasons = self.reasons_now()

    def now(self):
        return (self.cluster.karpenter_metric(DECISIONS),
                self.cluster.karpenter_metric(DISRUPTED))

    def reasons_now(self):
        return [self.cluster.karpenter_reasons(m)
                for m in (DECISIONS, DISRUPTED)]

    def count(self):
        return self.now()[0] - self.begin[0]

    def by_reason(self):
        """Returns decisions and disrupted NodeClaims, each as {reason: count}.
        """
        return [dict(+(now - begin)) for now, begin in
                zip(self.reasons_now(), self.reasons)]

    def none_until(self, moment, others=lambda: True):
        """Looks all the while; nothing may be decided before that moment, and
        others() is to be true."""
        nodes = names(self.cluster)
        true_until(moment, lambda: self.now() == self.begin
                   and names(self.cluster) >= nodes and others(),
                   "disrupted or released while held", every=0.5)

    def wait(self, timeout=ACTS):
        until(lambda: self.count() > 0, timeout,
              lambda: "a disruption decision\n"
              + self.cluster.log_tail("karpenter"), every=0.2)
