# SPDX-License-Identifier: Apache-2.0
"""The holder dies at any moment; it needs nothing but what the cluster holds.
"""
import time

import pytest

from controlplane import CLAIMS, NODES
from hold import LATE, SOON, annotations, claims, clear, held, nodes


def test_release_comes_at_the_right_time(make_holder, karpenter, view):
    holder = make_holder(holdDuration="10s")
    old = karpenter.machine()
    time.sleep(2)
    m = karpenter.machine()
    time.sleep(1)
    holder.kill9()
    view.check_stays(nodes([old, m]), held, "held", 2)
    holder.start()
    view.check_released(nodes([old, m]) + claims([old, m]), m.ready + 10)


def test_release_was_due_while_it_was_down(make_holder, karpenter, view):
    holder = make_holder(holdDuration="5s")
    m = karpenter.machine()
    holder.kill9()
    view.check_stays(nodes([m]), held, "held", m.ready + 7 - time.time())
    holder.start()
    view.wait_clear(nodes([m]) + claims([m]))


def test_created_while_it_was_down(plane, make_holder, karpenter, view):
    holder = make_holder(holdDuration="8s")
    old = karpenter.machine()
    holder.kill9()
    m = karpenter.machine()  # the webhook is down, so it is let through unheld
    assert clear(plane.get(NODES, m.node)) and clear(plane.get(CLAIMS, m.name))
    holder.start()
    view.wait_held(nodes([m]))
    view.check_released(nodes([old, m]), m.ready + 8)


def test_claim_of_a_machine_not_yet_registered(
        plane, make_holder, karpenter, view):
    """The machine was made while the holder was down.  Its claim is held, so
    that Karpenter copies the hold."""
    holder = make_holder(holdDuration="8s")
    holder.kill9()
    m = karpenter.claim()
    karpenter.launch(m)
    assert clear(plane.get(CLAIMS, m.name))
    holder.start()
    view.wait_held(claims([m]))
    karpenter.boot(m)
    karpenter.register(m)
    karpenter.initialize(m)
    view.check_released(nodes([m]) + claims([m]), m.ready + 8)


@pytest.mark.long
def test_killed_while_holding_and_while_releasing(
        plane, make_holder, karpenter, view):
    machines = karpenter.settled(200)
    before = {n: annotations(m) for n, m in plane.metadata(NODES).items()}
    holder = make_holder(holdDuration="12s", patchConcurrency=1)
    view.wait_clear(nodes(machines), 18)

    def count():
        return sum(map(held, view.of(nodes(machines)).values()))
    m = karpenter.machine()
    deadline = time.monotonic() + SOON
    while count() == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    holder.kill9()
    print(f"killed with {count()} of 200 held")
    holder.start()
    view.wait_held(nodes(machines))
    while count() == 200:
        assert time.time() < m.ready + 12 + SOON
        time.sleep(0.005)
    holder.kill9()
    print(f"killed with {count()} of 200 still held")
    holder.start()
    view.wait_clear(nodes(machines) + nodes([m]) + claims([m]))
    after = {n: annotations(x) for n, x in plane.metadata(NODES).items()}
    after.pop(m.node)
    assert after == before


def test_kill_and_start_again_and_again(make_holder, karpenter, view):
    old = karpenter.settled(5)
    holder = make_holder(holdDuration="12s")
    view.wait_clear(nodes(old), 18)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    for pause in (0.05, 0.2, 0.5):
        holder.kill9()
        holder.start()
        time.sleep(pause)
    view.check_released(nodes(old + [m]), m.ready + 12)


def test_stopped_in_good_order_leaves_holds(make_holder, karpenter, view):
    old = karpenter.settled(5)
    holder = make_holder(holdDuration="15s")
    view.wait_clear(nodes(old), 21)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    begin = time.monotonic()
    assert holder.term() == 0
    # DrainTimeout, and some time more.
    assert time.monotonic() - begin < 2 + LATE
    view.check_stays(nodes(old + [m]) + claims([m]), held, "held", 1)
    holder.start()
    view.check_released(nodes(old + [m]), m.ready + 15)
