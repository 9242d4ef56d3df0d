# SPDX-License-Identifier: Apache-2.0
"""The holder reads from a kube-apiserver whose watch cache is behind, while
everybody else writes through another one (lib/lag.py)."""
import math
import random
import time

import pytest

from cluster import node_pool
from controlplane import CLAIMS, NODES, POOLS, until
from hold import EARLY, LATE, SOON, claims, clear, held, nodes, stamp
from lag import Lagging
from lead import DEPLOYED, leader
from test_pools import OWN

# For a consistent list the API server waits 3 s for its cache and then asks
# etcd.
HELD_UP = 3.0


@pytest.fixture(scope="module")
def lagging(plane):
    with Lagging(plane) as lagging:
        yield lagging


@pytest.fixture
def reads_there(lagging, make_holder):
    """make_holder() for a holder that knows only the lagging API server."""
    def make(**settings):
        holder = make_holder(start=False, register=False, **settings)
        holder.act_as(server=lagging.url)
        holder.start()
        return holder.register()
    yield make
    lagging.delay(0)
    lagging.check_ended()


def hold_back(plane, lagging):
    """Keeps back all from now on; what was written before has been seen."""
    for path in (NODES, CLAIMS, POOLS):
        until(lambda: lagging.cached(path) == plane.metadata(path), 10,
              "the caches are level")
    lagging.delay(math.inf)
    time.sleep(0.2)


@pytest.mark.long
def test_a_machine_it_does_not_see(
        plane, lagging, reads_there, karpenter, view):
    """A release begins with a consistent list, however late the holder learns
    of changes."""
    hold = 15
    old = karpenter.settled(5)
    reads_there(holdDuration=f"{hold}s")
    view.wait_clear(nodes(old), hold)
    first = karpenter.machine()
    view.wait_held(nodes(old))
    hold_back(plane, lagging)
    time.sleep(max(0, first.ready + hold - 6 - time.time()))
    second = karpenter.machine()
    everything = nodes(old + [first]) + claims([first])
    assert second.ready < first.ready + hold, "too slow to tell"
    # A creation just admitted delays a release by 5 s.  The holds last longer
    # than that.
    view.check_stays(everything, held, "released although there is another",
                     first.ready + hold + 5 + HELD_UP - time.time())
    assert second.node not in lagging.cached(NODES), "this test shows nothing"
    assert second.name not in lagging.cached(CLAIMS), "this test shows nothing"
    lagging.delay(0)
    everything += nodes([second]) + claims([second])
    view.check_released(everything, second.ready + hold, late=SOON)


@pytest.mark.long
def test_a_hold_by_hand_it_does_not_see(
        plane, lagging, reads_there, karpenter, view):
    hold = 12
    plane.create(POOLS, node_pool("general"))
    old = karpenter.settled(5)
    reads_there(holdDuration=f"{hold}s")
    view.wait_clear(nodes(old), hold)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    hold_back(plane, lagging)

    def say(until_when):
        plane.patch(POOLS, "general", {"metadata": {"annotations": {
            OWN + "hold-until": until_when}}})
    say(stamp(time.time() + 3600))
    assert time.time() < m.ready + hold - EARLY, "too slow to tell"
    view.check_stays(nodes(old + [m]), held, "released, though held by hand",
                     m.ready + hold + 5 + HELD_UP - time.time())
    assert OWN + "hold-until" not in lagging.cached(POOLS)["general"].get(
        "annotations", {}), "this test shows nothing"
    lagging.delay(0)
    view.check_stays(nodes(old + [m]), held, "held by hand", 2)
    say(None)
    view.wait_clear(nodes(old + [m]) + claims([m]))


@pytest.mark.long
def test_always_behind(plane, lagging, reads_there, karpenter, view):
    """Two replicas see everything some seconds late.  Machines come at any
    time, and the lead moves by kill -9."""
    hold, lag, rounds = 20, 6, 3
    rng = random.Random(12)
    old = karpenter.settled(20)
    settings = {"holdDuration": f"{hold}s", "startupTimeout": "60s",
                "leaderElection": DEPLOYED.config()}
    holders = [reads_there(**settings) for _ in range(2)]
    holders[0].register(timeout=None)
    led = leader(holders, DEPLOYED.taken)
    view.wait_clear(nodes(old), hold + LATE)
    lagging.delay(lag)
    made = []
    for i in range(rounds):
        begin = time.time()
        made.append(karpenter.machine())
        view.wait_held(nodes(old), SOON + lag)
        while time.time() < begin + 2 * hold:
            quiet_at = max(m.ready for m in made) + hold
            wait = rng.uniform(3, hold - 3)
            view.check_stays(nodes(old + made[-1:]), held, "released early",
                             min(wait, quiet_at - EARLY - time.time()))
            made.append(karpenter.machine())
        if i % 2:
            led.kill9()
            led.start(wait=False)
            led = leader(holders, DEPLOYED.taken)
        quiet_at = max(m.ready for m in made) + hold
        first, last = view.check_released(
            nodes(old + made), quiet_at, late=SOON + lag + DEPLOYED.taken)
        print(f"{len(made)} machines: released {first:+.1f} to {last:+.1f} s "
              "from the quiet time")
        # Karpenter made its own copies, and some patches were based on old
        # copies.
        view.wait_clear(nodes(old + made) + claims(made))
        view.check_stays(nodes(old + made), clear, "it came back", lag + 4)
