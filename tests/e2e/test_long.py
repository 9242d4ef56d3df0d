# SPDX-License-Identifier: Apache-2.0
"""make e2e-long: tests that take minutes each."""
import time

import pytest

from controlplane import NODES
from hold import annotations, claims, clear, held, nodes
from karpenter import node_body

pytestmark = pytest.mark.long


def test_drains_as_long_as_the_api_server_keeps_its_connection(
        plane, make_holder):
    """The default drainTimeout is longer than the 90 s for which the API server
    keeps an idle connection."""
    holder = make_holder(webhook={"drainTimeout": "95s"}, holdDuration="1h")
    plane.many(lambda i: plane.create(NODES, node_body(f"n{i}")),
               range(50), 16)  # several connections
    begin = time.monotonic()
    holder.process.terminate()
    answered = 0
    while holder.alive() and time.monotonic() - begin < 110:
        # Each request uses an existing connection until the last one is
        # closed.
        if held(plane.create(NODES + "?dryRun=All", node_body("late"))):
            answered += 1
        elif answered:
            break
        time.sleep(0.5)
    assert answered, "reviews were dropped at once"
    assert holder.process.wait(110) == 0
    print(f"{answered} reviews while draining, "
          f"ended after {time.monotonic() - begin:.0f} s")


def test_watches_outlive_their_own_timeout(make_holder, karpenter, view):
    """In quiet hours the server ends every watch within 10 minutes."""
    old = karpenter.settled(50)
    holder = make_holder(holdDuration="14s")
    view.wait_clear(nodes(old), 21)
    for _ in range(4):
        view.check_stays(nodes(old), clear, "clear", 200)
        m = karpenter.machine()
        view.wait_held(nodes(old))
        view.check_released(nodes(old + [m]) + claims([m]), m.ready + 14)
    assert holder.metric("karpenter_node_holder_watch_restarts_total") >= 1


def test_five_thousand_nodes(plane, make_holder, karpenter, view):
    machines = karpenter.settled(5000)
    before = {n: annotations(m) for n, m in plane.metadata(NODES).items()}
    holder = make_holder(holdDuration="2m")
    view.wait_clear(nodes(machines), 120)
    m = karpenter.claim()
    karpenter.launch(m)
    view.wait_held(nodes(machines), 120)
    took = time.time() - m.launched
    karpenter.boot(m)
    karpenter.register(m)
    karpenter.initialize(m)
    first, last = view.check_released(
        nodes(machines + [m]), m.ready + 120, late=120)
    after = {n: annotations(x) for n, x in plane.metadata(NODES).items()}
    after.pop(m.node)
    assert after == before
    resident = holder.metric("process_resident_memory_bytes") / 2**20
    print(f"5,000 Nodes held in {took:.1f} s, released from {first:.1f} to "
          f"{last:.1f} s after the quiet time; {resident:.1f} MiB resident")
