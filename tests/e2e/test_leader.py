# SPDX-License-Identifier: Apache-2.0
"""Several replicas: every one answers admission, the leader sweeps."""
import os
import re
import signal
import time

import pytest

from controlplane import until
from hold import SOON, claims, nodes

P = "karpenter_node_holder_"
LEASES = ("/apis/coordination.k8s.io/v1/namespaces/karpenter-node-holder"
          "/leases")
NAME = "karpenter-node-holder"
LEASE, RENEW, RETRY = 3.0, 2.0, 0.5
TAKEN = LEASE + 2.2 * RETRY + 1     # by a newcomer, and a bit
MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def leads(holder):
    return holder.metric("leader_election_master_status", name=NAME) == 1


def said(holder, phrase):
    return [e for e in holder.logs() if e.get("msg") == phrase]


def writes(holder):
    return (holder.metric(P + "holds_total")
            + holder.metric(P + "releases_total"))


@pytest.fixture
def replicas(plane, make_holder):
    """make(n): the first of them leads, and its webhook is registered."""
    plane.request("DELETE", f"{LEASES}/{NAME}")

    def make(n, **settings):
        settings = {"leaderElection": {
            "enabled": True, "namespace": "karpenter-node-holder",
            "leaseDuration": f"{LEASE:g}s", "renewDeadline": f"{RENEW:g}s",
            "retryPeriod": f"{RETRY * 1000:g}ms"}, **settings}
        made = [make_holder(register=False, **settings)]
        until(lambda: leads(made[0]), SOON, "the first leads")
        made += [make_holder(register=False, **settings)
                 for _ in range(n - 1)]
        made[0].register()
        return made
    yield make
    plane.request("DELETE", f"{LEASES}/{NAME}")


def leader(holders, timeout=TAKEN):
    def one():
        found = [h for h in holders if h.alive() and leads(h)]
        assert len(found) <= 1, "two lead"
        return found
    until(one, timeout, "one leads")
    return one()[0]


def test_one_sweeps_and_all_answer(plane, replicas, karpenter, view):
    first, second, third = replicas(3, holdDuration="6s")
    lease = plane.get(LEASES, NAME)["spec"]
    assert lease["leaseDurationSeconds"] == LEASE
    assert lease["leaseTransitions"] == 0
    assert MICRO.fullmatch(lease["acquireTime"]), lease
    assert MICRO.fullmatch(lease["renewTime"]), lease
    assert said(first, "leading")[0]["holder"] == lease["holderIdentity"]
    assert said(second, "another leads")[0]["holder"] == \
        lease["holderIdentity"]
    old = karpenter.settled(10)
    view.wait_clear(nodes(old), 12)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    third.register()
    n = karpenter.machine()
    assert third.metric(P + "admission_requests_total", result="held") >= 2
    view.check_released(nodes(old + [m, n]), n.ready + 6)
    assert writes(first) > 20
    assert writes(second) == writes(third) == 0
    assert not leads(second) and not leads(third)
    before = lease["renewTime"]
    lease = plane.get(LEASES, NAME)["spec"]
    assert lease["renewTime"] > before and lease["leaseTransitions"] == 0


def test_the_leader_is_killed(plane, replicas, karpenter, view):
    old = karpenter.settled(50)
    first, second = replicas(2, holdDuration="15s")
    view.wait_clear(nodes(old), 22)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    was = writes(second)
    first.kill9()
    begin = time.time()
    n = karpenter.machine()     # nobody answers: unheld for now
    assert leader([second]) is second
    took = time.time() - begin
    view.wait_held(nodes([n]))
    view.check_released(nodes(old + [m, n]) + claims([m]), n.ready + 15)
    assert was == 0 and writes(second) >= 50
    assert plane.get(LEASES, NAME)["spec"]["leaseTransitions"] == 1
    print(f"taken over after {took:.1f} s")


def test_the_leader_stops_in_good_order(plane, replicas, karpenter, view):
    old = karpenter.settled(5)
    first, second = replicas(2, holdDuration="9s")
    view.wait_clear(nodes(old), 15)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    os.kill(first.process.pid, signal.SIGTERM)
    begin = time.time()
    leader([second], 2)
    took = time.time() - begin
    assert first.process.wait(10) == 0
    assert said(first, "lead given up")
    view.check_released(nodes(old + [m]), m.ready + 9)
    print(f"handed over after {took:.1f} s")


def test_a_leader_that_sleeps_does_not_write_when_it_wakes(
        replicas, karpenter, view):
    old = karpenter.settled(50)
    first, second = replicas(2, holdDuration="12s", patchConcurrency=1)
    view.wait_clear(nodes(old), 20)
    os.kill(first.process.pid, signal.SIGSTOP)
    try:
        assert leader([second]) is second
        m = karpenter.machine()     # its webhook sleeps as well
        view.wait_held(nodes(old + [m]))
    finally:
        os.kill(first.process.pid, signal.SIGCONT)
    until(lambda: said(first, "lead lost, not renewed in time"), SOON,
          "it knows")
    before = writes(first)
    view.check_released(nodes(old + [m]), m.ready + 12)
    assert writes(first) == before
    assert not leads(first) and leads(second)
    # And it comes to lead again.
    second.kill9()
    leader([first])
    n = karpenter.machine()
    view.wait_held(nodes(old + [n]))


def test_the_lease_is_deleted(plane, replicas, karpenter, view):
    """It goes on: nothing is released before its time, nothing held longer."""
    old = karpenter.settled(5)
    first, second = replicas(2, holdDuration="9s")
    view.wait_clear(nodes(old), 15)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    plane.request("DELETE", f"{LEASES}/{NAME}")
    until(lambda: plane.request("GET", f"{LEASES}/{NAME}")[0] == 200, SOON,
          "made again")
    leader([first, second])
    view.check_released(nodes(old + [m]), m.ready + 9)


def test_alone_it_needs_no_lease(plane, make_holder):
    plane.request("DELETE", f"{LEASES}/{NAME}")
    holder = make_holder()
    assert leads(holder)
    assert plane.request("GET", f"{LEASES}/{NAME}")[0] == 404
