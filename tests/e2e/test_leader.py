# SPDX-License-Identifier: Apache-2.0
"""Several replicas: every one answers admission, and the leader sweeps.

test_failover.py tests how the lead moves.
"""
import json

import pytest

from controlplane import until
from hold import SOON, nodes
from lead import LEASES, MICRO, NAME, SHORT, leader, leads, said

P = "karpenter_node_holder_"


def writes(holder):
    return (holder.metric(P + "holds_total")
            + holder.metric(P + "releases_total"))


@pytest.fixture
def replicas(plane, make_holder):
    """make(n) starts n replicas.  The first of them leads, and its webhook is
    registered."""
    plane.request("DELETE", f"{LEASES}/{NAME}")

    def make(n, **settings):
        settings = {"leaderElection": SHORT.config(), **settings}
        made = [make_holder(register=False, **settings)]
        until(lambda: leads(made[0]), SOON, "the first leads")
        made += [make_holder(register=False, **settings)
                 for _ in range(n - 1)]
        made[0].register()
        return made
    yield make
    plane.request("DELETE", f"{LEASES}/{NAME}")


def status(holder, path="/status"):
    code, text, _ = holder.fetch(path + "?format=json")
    assert code == 200, text
    return json.loads(text)


def check_status(first, second, lease, m):
    """The leader says what is held and why, and the other who leads
    (docs/status.md)."""
    s = status(first)
    leads_now = {"electing": True, "identity": lease["holderIdentity"],
                 "since": lease["acquireTime"][:19] + "Z"}
    assert s["leader"] == {**leads_now, "thisReplica": True}
    assert s["replica"] == lease["holderIdentity"]
    assert [(c["name"], c["state"], c["restartedBy"]["machine"])
            for c in s["scopes"]] == [("cluster", "held", m.name)]
    assert s["history"][0]["cause"] == "scale-up"

    def knows_both():
        code, text, _ = first.fetch(f"/status/machines/{m.node}?format=json")
        return code == 200 and json.loads(text)["nodeClaim"]
    # The watch of Nodes lets lines gather for a moment.
    until(knows_both, SOON, "the leader knows Node and NodeClaim")
    for name in m.node, m.name:
        answer = status(first, f"/status/machines/{name}")
        assert (answer["node"]["name"], answer["nodeClaim"]["name"],
                answer["by"]) == (m.node, m.name, "holder")
    other = status(second)
    assert other["leader"] == {**leads_now, "thisReplica": False}
    assert "scopes" not in other


def test_one_sweeps_and_all_answer(plane, replicas, karpenter, view):
    first, second, third = replicas(3, holdDuration="12s")
    lease = plane.get(LEASES, NAME)["spec"]
    assert lease["leaseDurationSeconds"] == SHORT.lease
    assert lease["leaseTransitions"] == 0
    assert MICRO.fullmatch(lease["acquireTime"]), lease
    assert MICRO.fullmatch(lease["renewTime"]), lease
    assert said(first, "leading")[0]["holder"] == lease["holderIdentity"]
    assert said(second, "another leads")[0]["holder"] == \
        lease["holderIdentity"]
    old = karpenter.settled(10)
    view.wait_clear(nodes(old), 18)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    check_status(first, second, lease, m)
    third.register()
    n = karpenter.machine()
    assert third.metric(P + "admission_requests_total", result="held") >= 2
    view.check_released(nodes(old + [m, n]), n.ready + 12)
    assert writes(first) > 20
    assert writes(second) == writes(third) == 0
    assert not leads(second) and not leads(third)
    before = lease["renewTime"]
    lease = plane.get(LEASES, NAME)["spec"]
    assert lease["renewTime"] > before and lease["leaseTransitions"] == 0


def test_the_lease_is_deleted(plane, replicas, karpenter, view):
    """The hold goes on: nothing is released before its time or held for
    longer."""
    old = karpenter.settled(5)
    first, second = replicas(2, holdDuration="15s")
    view.wait_clear(nodes(old), 21)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    plane.request("DELETE", f"{LEASES}/{NAME}")
    until(lambda: plane.request("GET", f"{LEASES}/{NAME}")[0] == 200, SOON,
          "made again")
    leader([first, second], SHORT.taken)
    view.check_released(nodes(old + [m]), m.ready + 15)


def test_alone_it_needs_no_lease(plane, make_holder):
    plane.request("DELETE", f"{LEASES}/{NAME}")
    holder = make_holder()
    assert leads(holder)
    assert plane.request("GET", f"{LEASES}/{NAME}")[0] == 404
