# SPDX-License-Identifier: Apache-2.0
"""The largest objects that a real API server keeps.

An Event is stored as protobuf and shown as JSON, in which a `<` takes six
bytes.  So anybody who may create Events in `default` can make one of 8.7 MB."""
import pathlib
import re
import time

from controlplane import until
from hold import nodes

EVENTS = "/api/v1/namespaces/default/events"
SKIPPED = "karpenter_node_holder_objects_skipped_total"
HOLD = 12


def large_event(plane, machine, name):
    """One that the holder's watch selects."""
    plane.create(EVENTS, {
        "metadata": {"name": name}, "type": "Normal",
        "reason": "DisruptionLaunching", "message": "<" * 1_450_000,
        "involvedObject": {"apiVersion": "karpenter.sh/v1",
                           "kind": "NodeClaim", "name": machine.name,
                           "uid": machine.uid}})


def skipped(holder):
    return holder.metric(SKIPPED, resource="events")


def most_memory(holder):
    """KiB."""
    status = pathlib.Path(f"/proc/{holder.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1))


def test_an_event_stops_no_release(plane, make_holder, karpenter, view):
    old = karpenter.settled(3)
    large_event(plane, old[0], "listed")
    holder = make_holder(holdDuration=f"{HOLD}s")
    try:
        until(lambda: skipped(holder) == 1, 10, "it is left out of the list")
        view.wait_clear(nodes(old), HOLD + 8)
        m = karpenter.machine()
        view.wait_held(nodes(old))
        large_event(plane, old[0], "watched")
        until(lambda: skipped(holder) == 2, 10, "it is left out of the watch")
        view.wait_clear(nodes(old + [m]),
                        max(1, m.ready + HOLD + 10 - time.time()))
        assert holder.metric("karpenter_node_holder_watch_restarts_total",
                             resource="events", reason="error") == 0
        assert most_memory(holder) < 48 << 10
    finally:
        for name in ("listed", "watched"):
            plane.request("DELETE", f"{EVENTS}/{name}")
