# SPDX-License-Identifier: Apache-2.0
"""A rolling upgrade from an older version and its way back.

What one leader leaves the other one reads: the marks, the classes on
NodeClaims, and the caps' state in the Lease.  Nothing is released early,
whoever leads.
"""
import re
import subprocess

import pytest

from controlplane import CLAIMS, NODES, REPO, until
from hold import (EARLY, HOLD, MARK, SOON, annotations, claims, clear, nodes,
                  seconds)
from holder import BINARY
from lead import LEASES, NAME, SHORT, STATE, leader
from test_failover import duration
from test_replacements import CLASS
from test_rolling import CHOSEN

pytestmark = pytest.mark.long

# Before the rules of docs/rules.md became what they are in their fourth edition.
OLDER = "f059a7351aaf38cab0be8e6508ba2b50dd34b491"
HOLD_S = 120    # longer than four replicas take to start and to end
FINALIZER = "example.com/drains"


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """The program of that version, built from the repository's history."""
    folder = tmp_path_factory.mktemp("older")
    archive = subprocess.run(["git", "-C", REPO, "archive", OLDER],
                             capture_output=True)
    assert archive.returncode == 0, \
        "needs the repository's history: " + archive.stderr.decode()
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout,
                   check=True)
    subprocess.run(["make", "-C", folder, "-j2", "all"], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return folder / "build" / BINARY.name


def held_since(plane):
    """Since when the scope is held, by what the leader keeps in the Lease;
    None: it does not say."""
    lease = plane.get(LEASES, NAME)
    kept = re.fullmatch(r"\* debt=(\S+) held at=(\S+)",
                        annotations(lease).get(STATE, ""))
    return kept and seconds(kept[2]) - duration(kept[1])


def draining(plane, karpenter, view, old):
    """A machine is deleted and drains; another takes its place.  Returns the
    two."""
    gone = karpenter.machine(finalizers=[FINALIZER])
    view.wait_held(nodes(old))
    plane.request("DELETE", f"{CLAIMS}/{gone.name}")
    view.wait_clear(nodes(old))
    came = karpenter.machine()
    until(lambda: plane.annotations(CLAIMS, came.name).get(CLASS)
          == f"substitute/{gone.uid}", SOON, "a substitute")
    return gone, came


@pytest.mark.parametrize("first", ("older", "newer"))
def test_replicas_of_two_versions(plane, make_holder, karpenter, view, older,
                                  first):
    """Each leads twice, in turn, in one hold."""
    plane.request("DELETE", f"{LEASES}/{NAME}")
    programs = [older, BINARY] if first == "older" else [BINARY, older]

    def replica(program):
        holder = make_holder(start=False, register=False,
                             holdDuration=f"{HOLD_S}s",
                             leaderElection=SHORT.config())
        holder.program = program
        return holder.start().register()
    now = replica(programs[0])
    leader([now], SHORT.taken)
    old = karpenter.settled(5)
    view.wait_clear(nodes(old))     # of the webhook's holds
    gone, came = draining(plane, karpenter, view, old)
    m = karpenter.machine()
    everyone = nodes(old + [came, m]) + claims([came, m])
    view.wait_held(nodes(old))
    since = until(lambda: held_since(plane), SOON, "a state in the Lease")
    before = {name: annotations(meta).get(MARK)
              for name, meta in plane.metadata(NODES).items()}
    for program in (programs[1], programs[0], programs[1]):
        then, now = now, replica(program)
        assert then.term() == 0
        leader([now], SHORT.taken)
        # It has listed everything, and has written the state anew.
        until(lambda: now.metric("karpenter_node_holder_scope_held") == 1,
              SOON, "the scope is held")
        assert abs(held_since(plane) - since) <= EARLY * 4
        # The first of the newer ones chooses the annotation, and the older ones
        # leave that alone.
        assert annotations(plane.get(LEASES, NAME))[CHOSEN] == f"{HOLD}=true"
        assert before == {name: annotations(meta).get(MARK)
                          for name, meta in plane.metadata(NODES).items()}
        assert plane.annotations(CLAIMS, came.name).get(CLASS) \
            == f"substitute/{gone.uid}"
        # Its deletion is spent, so whatever comes next is a scale-up.
        m = karpenter.machine()
        everyone += nodes([m]) + claims([m])
        before[m.node] = until(
            lambda: plane.annotations(NODES, m.node).get(MARK), SOON, "held")
        assert CLASS not in plane.annotations(CLAIMS, m.name)
    view.check_released(nodes(old), m.ready + HOLD_S)
    view.wait_all(everyone, clear, "clear")
    plane.request("PATCH", f"{CLAIMS}/{gone.name}",
                  {"metadata": {"finalizers": None}})
    plane.request("DELETE", f"{LEASES}/{NAME}")
