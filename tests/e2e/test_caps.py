# SPDX-License-Identifier: Apache-2.0
"""A scope that never becomes quiet is released all the same, for a while."""
import time

import pytest

from controlplane import until
from hold import SOON, clear, held, nodes
from lead import LEASES, NAME, said

HOLD, MAX, WINDOW = 8, 20, 16
HINT = 5        # seconds that a release waits for a creation just admitted
SETTINGS = {"holdDuration": f"{HOLD}s", "maxHoldDuration": f"{MAX}s",
            "releaseWindow": f"{WINDOW}s", "startupTimeout": "60s"}


class Churn:
    """Makes a machine every two seconds."""

    def __init__(self, karpenter):
        self.karpenter = karpenter
        self.machines = []

    def until(self, moment):
        while time.time() < moment:
            if not self.machines or \
                    time.time() - self.machines[-1].ready >= 2:
                self.machines.append(self.karpenter.machine())
            time.sleep(0.1)


@pytest.mark.long
def test_capped_and_held_again(make_holder, karpenter, view):
    old = karpenter.settled(20)
    holder = make_holder(**SETTINGS)
    view.wait_clear(nodes(old), HOLD + 8)
    churn = Churn(karpenter)
    churn.until(time.time() + 1)
    view.wait_held(nodes(old))
    begin = time.time()
    churn.until(begin + MAX - 3)
    # A busy machine may be late to look.
    assert all(map(held, view.of(nodes(old)).values())) or \
        time.time() >= begin + MAX
    churn.until(begin + MAX + HINT + 3)
    # All are released although the scope is busy, but for those that are not
    # due themselves.
    now = view.of(nodes(old + churn.machines[-2:]))
    assert all(map(clear, list(now.values())[:20]))
    assert all(map(held, list(now.values())[20:]))
    assert said(holder, "maxHoldDuration used up, released")
    churn.until(begin + MAX + WINDOW - 3)
    assert all(map(clear, view.of(nodes(old)).values())) or \
        time.time() >= begin + MAX + WINDOW
    churn.until(begin + MAX + WINDOW + 3)
    assert all(map(held, view.of(nodes(old)).values()))


@pytest.mark.long
def test_a_restart_does_not_begin_anew(plane, make_holder, karpenter, view):
    """The Lease says since when the scope is held, with election or without.
    """
    plane.request("DELETE", f"{LEASES}/{NAME}")
    old = karpenter.settled(5)
    holder = make_holder(**SETTINGS, leaderElection={
        "enabled": False, "namespace": "karpenter-node-holder"})
    view.wait_clear(nodes(old), HOLD + 8)
    churn = Churn(karpenter)
    churn.until(time.time() + 1)
    view.wait_held(nodes(old))
    begin = time.time()

    def kept():
        lease = plane.request("GET", f"{LEASES}/{NAME}")[1]
        notes = lease.get("metadata", {}).get("annotations", {})
        return notes.get("karpenter-node-holder.io/state",
                         "").startswith("* debt=")
    until(kept, SOON, "kept in the Lease")
    churn.until(begin + MAX - 8)
    holder.kill9()
    holder.start()
    churn.until(begin + MAX + HINT + 3)
    assert all(map(clear, view.of(nodes(old)).values()))
    plane.request("DELETE", f"{LEASES}/{NAME}")
