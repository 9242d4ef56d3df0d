# SPDX-License-Identifier: Apache-2.0
"""What real Karpenter does, for the tests that let it.

Karpenter decides every 10 s, validates for 15 s more, and spares a node for
20 s after it aimed a pod at it: what it is going to do shows within a minute.
"""
import time

from cluster import DECISIONS, DISRUPTED
from controlplane import CLAIMS, NODES, until
from hold import clear, seconds

ACTS = 75       # until Karpenter has acted, if it is going to


def names(cluster, path=NODES):
    return set(cluster.metadata(path))


def marks_left(cluster):
    return [name for path in (NODES, CLAIMS)
            for name, meta in cluster.metadata(path).items()
            if not clear(meta)]


def quiet_at(cluster, hold):
    """When the youngest machine has been ready for that long."""
    def ready():
        stamps = [[seconds(c["lastTransitionTime"])
                   for c in claim.get("status", {}).get("conditions", [])
                   if c["type"] == "Initialized" and c["status"] == "True"]
                  for claim in cluster.get(CLAIMS)["items"]]
        # Pods may run on a machine before it is initialized.
        return all(stamps) and [s for of_one in stamps for s in of_one]
    until(ready, ACTS, "every machine initialized")
    return max(ready()) + hold


class Disruption:
    """What Karpenter has decided and done since the test looked last."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.begin = self.now()

    def now(self):
        return (self.cluster.karpenter_metric(DECISIONS),
                self.cluster.karpenter_metric(DISRUPTED))

    def count(self):
        return self.now()[0] - self.begin[0]

    def none_until(self, moment):
        """Looks all the while; nothing may be decided before that moment."""
        nodes = names(self.cluster)
        while time.time() < moment:
            assert self.now() == self.begin, "disrupted while held"
            assert names(self.cluster) >= nodes, "a node is gone"
            time.sleep(0.5)

    def wait(self, timeout=ACTS):
        until(lambda: self.count() > 0, timeout,
              lambda: "a disruption decision\n"
              + self.cluster.log_tail("karpenter"), every=0.2)
