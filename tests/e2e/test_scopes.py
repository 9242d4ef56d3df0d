# SPDX-License-Identifier: Apache-2.0
"""Which machines become busy and quiet together."""
import time

import pytest

from hold import EARLY, claims, clear, held, nodes


def test_nodepool(make_holder, karpenter, view):
    a, b = karpenter.settled(3, "a"), karpenter.settled(3, "b")
    make_holder(scope="nodepool", holdDuration="16s")
    view.wait_clear(nodes(a + b), 22)
    in_a = karpenter.machine("a")
    view.wait_held(nodes(a))
    view.check_stays(nodes(b), clear, "another pool", 2)
    time.sleep(max(0, in_a.ready + 4 - time.time()))
    in_b = karpenter.machine("b")
    view.wait_held(nodes(b))
    # Each has its own time: the scale-up of b does not delay the release of a.
    assert in_b.ready > in_a.ready + 2

    def b_held(_):
        if time.time() < in_b.ready + 15:
            assert all(map(held, view.of(nodes(b + [in_b])).values()))
    view.check_released(nodes(a + [in_a]), in_a.ready + 16, meanwhile=b_held)
    view.check_released(nodes(b + [in_b]), in_b.ready + 16)


def test_node(make_holder, karpenter, view):
    old = karpenter.settled(3)
    make_holder(scope="node", holdDuration="8s")
    view.wait_clear(nodes(old), 14)
    first = karpenter.machine()
    time.sleep(max(0, first.ready + 3 - time.time()))
    second = karpenter.machine()

    def alone(_):
        assert all(map(clear, view.of(nodes(old)).values()))
    view.check_released(nodes([first]), first.ready + 8, meanwhile=alone)
    view.check_released(nodes([second]), second.ready + 8, meanwhile=alone)


def test_cluster_is_every_pool(make_holder, karpenter, view):
    a, b = karpenter.settled(2, "a"), karpenter.settled(2, "b")
    make_holder(holdDuration="13s")
    view.wait_clear(nodes(a + b), 20)
    m = karpenter.machine("c")
    view.wait_held(nodes(a + b))
    view.check_released(nodes(a + b + [m]), m.ready + 13)


@pytest.mark.long
def test_few_new_machines_hold_only_themselves(
        make_holder, karpenter, view):
    """Few are fewer than minScaleUp within holdDuration.  The third one makes
    a scale-up of all three, until its own quiet time."""
    hold = 10
    old = karpenter.settled(3)
    made = time.time()
    holder = make_holder(start=False, register=False, holdDuration=f"{hold}s")
    holder.flags = ["--min-scale-up", "3"]
    holder.start()
    holder.register()
    view.wait_clear(nodes(old), hold)
    # Until they were made long ago.
    time.sleep(max(0, made + hold + 2 - time.time()))
    # There are two, and no third in time.
    few = [karpenter.machine(), karpenter.machine()]

    def alone(_):
        assert all(map(clear, view.of(nodes(old)).values())), "it spread"
    view.check_released(nodes(few) + claims(few), few[-1].ready + hold,
                        early=EARLY + few[-1].ready - few[0].ready,
                        meanwhile=alone)
    time.sleep(2)
    # There are two more, but the earlier ones are too long ago.
    first = [karpenter.machine(), karpenter.machine()]
    view.check_stays(nodes(old + few), clear, "a scale-up of two", 2)
    third = karpenter.machine()
    view.wait_held(nodes(old + few))
    assert third.created < first[0].created + hold, "too slow to tell"
    everything = old + few + first + [third]
    view.check_released(nodes(everything) + claims(first + [third]),
                        third.ready + hold)


@pytest.mark.long
def test_a_silent_watch_is_no_dead_thread(make_holder):
    """Liveness allows 30 s, and a quiet cluster sends nothing for a minute."""
    holder = make_holder(register=False)
    end = time.monotonic() + 40
    while time.monotonic() < end:
        status, text, _ = holder.fetch("/livez?verbose")
        assert status == 200, text
        time.sleep(1)
