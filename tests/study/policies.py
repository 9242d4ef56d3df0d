# SPDX-License-Identifier: Apache-2.0
"""What a user could pick: settings of NodePools, of pods, and of the holder.
"""
import dataclasses
import re

import without

SECONDS = {"s": 1, "m": 60, "h": 3600}
# Karpenter looks again after 5 min at nodes that it left alone, and validates
# for 15 s.
LOOKS_S = 330


def seconds(duration):
    return sum(int(n) * SECONDS[unit]
               for n, unit in re.findall(r"(\d+)([smh])", duration))


@dataclasses.dataclass
class Policy:
    after: str                      # consolidateAfter
    hold: str = ""                  # holdDuration; without it: no holder
    consolidation: str = "WhenEmptyOrUnderutilized"
    budget: str = "10%"             # Karpenter's default
    closed: bool = False            # no disruption while the load runs
    pdb: bool = False               # maxUnavailable 1 for each Deployment
    jobs_stay: bool = False         # do-not-disrupt on the pods of Jobs
    grace: str = ""                 # do-not-disrupt for so long, on all pods
    without: str = ""               # a rule of without.py that is left out
    settings: dict = dataclasses.field(default_factory=dict)  # of the holder

    def disruption(self, closed=False):
        return {"consolidationPolicy": self.consolidation,
                "consolidateAfter": self.after,
                "budgets": [{"nodes": "0" if closed else self.budget}]}

    def holder(self):
        """The holder's settings, or None."""
        return ({"holdDuration": self.hold, **self.settings}
                if self.hold else None)

    def stay(self, kind):
        """The value of do-not-disrupt on the pods of a Deployment or Job."""
        return "true" if self.jobs_stay and kind == "Job" else self.grace

    def quiet_s(self):
        """Nothing can be expected any more when nothing has happened, and
        nothing was held, for so long."""
        return max(seconds(self.after), seconds(self.grace)) + LOOKS_S

    def tail_s(self):
        """How long a run goes on, where nothing happens after its load."""
        return seconds(self.hold) + self.quiet_s()


FIRST = {
    "karpenter-0s": Policy("0s"),
    "karpenter-30s": Policy("30s"),
    "karpenter-2m": Policy("2m"),
    "karpenter-5m": Policy("5m"),
    "balanced": Policy("0s", consolidation="Balanced"),
    "holder-2m": Policy("0s", "2m"),
    "holder-2m-over-30s": Policy("30s", "2m"),
    "holder-5m": Policy("0s", "5m"),
}
FURTHER = {
    "when-empty": Policy("0s", consolidation="WhenEmpty"),
    "budget-one": Policy("0s", budget="1"),
    "budget-none-by-day": Policy("0s", closed=True),
    "pdb": Policy("0s", pdb=True),
    "jobs-stay": Policy("0s", jobs_stay=True),
    "holder-2m-over-2m": Policy("2m", "2m"),
    "holder-2m-nodepool": Policy("0s", "2m", settings={"scope": "nodepool"}),
    "holder-2m-node": Policy("0s", "2m", settings={"scope": "node"}),
    "holder-2m-count": Policy("0s", "2m", settings={"replacements": "count"}),
    "holder-2m-uncapped": Policy("0s", "2m",
                                 settings={"maxHoldDuration": "0"}),
    "holder-2m-share": Policy("0s", "2m", settings={"minScaleUp": "2%"}),
    # For the long run.
    "karpenter-10m": Policy("10m"),
    "holder-10m": Policy("0s", "10m"),
    "holder-20m": Policy("0s", "20m"),
    "grace-10m": Policy("0s", grace="10m"),
    "grace-30m": Policy("0s", grace="30m"),
    "balanced-30s": Policy("30s", consolidation="Balanced"),
    **{f"holder-{hold}-over-balanced": Policy(
        "0s", hold, consolidation="Balanced") for hold in ("5m", "10m", "20m")},
}
# The leaky bucket shows only where the cap is reached.
CAPPED = {"maxHoldDuration": "6m", "releaseWindow": "2m"}
# The holder without one of its rules, and what it is compared with.
ABLATION = {
    "holder-2m": FIRST["holder-2m"],
    **{f"without-{rule}": Policy("0s", "2m", without=rule)
       for rule in without.RULES if rule != "bucket"},
    "holder-2m-capped": Policy("0s", "2m", settings=CAPPED),
    "without-bucket": Policy("0s", "2m", settings=CAPPED, without="bucket"),
}
ALL = {**FIRST, **FURTHER, **ABLATION}
# For loads of hours, in the lab.
RIVALS = ("karpenter-0s", "karpenter-30s", "karpenter-5m", "karpenter-10m",
          "when-empty", "balanced", "grace-30m", "holder-5m", "holder-10m",
          "holder-20m")
