# SPDX-License-Identifier: Apache-2.0
"""Our Events on NodePools, as people see them."""
import time

import pytest

from cluster import node_pool
from controlplane import POOLS, until
from hold import nodes
from lead import said
from test_caps import HINT, HOLD, MAX, SETTINGS, WINDOW, Churn

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def told(plane, reason, pool):
    return [e for e in plane.ok("GET", EVENTS)["items"]
            if e["reason"] == reason and e["regarding"]["name"] == pool]


def wait_told(plane, reason, pool, timeout=10):
    return until(lambda: told(plane, reason, pool), timeout,
                 f"{reason} on {pool}", every=0.2)[0]


@pytest.mark.long
def test_started_capped_released(plane, make_holder, karpenter, view):
    plane.create(POOLS, node_pool("general"))
    plane.create(POOLS, node_pool("left-out"))
    old = karpenter.settled(3)
    holder = make_holder(nodePools={"exclude": ["left-out"]}, **SETTINGS)
    view.wait_clear(nodes(old), HOLD + 8)
    churn = Churn(karpenter)
    churn.until(time.time() + 1)
    view.wait_held(nodes(old))
    event = wait_told(plane, "HoldStarted", "general")
    assert event["type"] == "Normal" and "scaled up" in event["note"]
    assert event["reportingController"] == (
        "karpenter-node-holder.io/karpenter-node-holder")
    churn.until(churn.begin + MAX + HINT + 3)
    assert "maxHoldDuration" in wait_told(
        plane, "HoldCapped", "general")["note"]
    churn.until(churn.begin + MAX + WINDOW + 3)
    view.wait_held(nodes(old))
    # The scope is held anew within six minutes, which has words of its own.
    until(lambda: len({e["note"] for e in told(
        plane, "HoldStarted", "general")}) >= 2, 10, "a second Event")
    view.wait_clear(nodes(old), HOLD + 12)
    wait_told(plane, "HoldReleased", "general")
    assert not any(told(plane, reason, "left-out")
                   for reason in ("HoldStarted", "HoldCapped"))
    text = plane.kubectl("describe", "nodepool", "general").stdout
    assert all(reason in text for reason in (
        "HoldStarted", "HoldCapped", "HoldReleased")), text
    assert holder.alive()


@pytest.mark.long
def test_the_quiet_time_moves(plane, make_holder, karpenter, view):
    """This is reported a minute after the last report, in the log and in an
    Event, with the machine that moved it."""
    plane.create(POOLS, node_pool("general"))
    old = karpenter.settled(3)
    holder = make_holder(holdDuration="5m")
    first = karpenter.machine()
    view.wait_held(nodes(old + [first]))
    line, = said(holder, "scope held")
    assert line["machine"] == first.name
    time.sleep(2)       # stamps are whole seconds
    second = karpenter.machine()
    event = wait_told(plane, "HoldExtended", "general", timeout=90)
    assert event["type"] == "Normal"
    moved, = said(holder, "quiet time moved")
    assert moved["machine"] == second.name
    assert moved["quietAt"] >= line["quietAt"]
    assert f"because of machine {second.name}" in event["note"]
    assert f"held until {moved['quietAt']} if nothing is added" in event["note"]
