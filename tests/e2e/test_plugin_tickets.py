# SPDX-License-Identifier: Apache-2.0
"""kubectl karpenter-holder where the holder reads tickets
(docs/plugin.md#tickets)."""
import re
import subprocess

import pytest
import yaml

from controlplane import NAMESPACES, REPO, ControlPlane
from egress import Egress
from hold import View, nodes, seconds
from lead import NAME
from test_plugin import (PLUGIN, Installation, annotate,  # noqa: F401
                         machines, pools)
from test_tickets import TICKETS, leases

LEASES = leases(TICKETS)
WRITER = NAME + "-ticket-writer"
# Renews every ticket before one is deleted.
MEANWHILE = """#!/bin/sh
case " $* " in
*" delete "*) ADMIN -n TICKETS annotate leases --all meanwhile=yes >&2 ;;
esac
exec REAL "$@"
"""
# Its quotes, backslash and signs need care in JSON.
ODD = ["--as=O\"N \\<a@b>", "--as-group=system:masters"]


@pytest.fixture(scope="module")
def plane(plane_programs):
    plane = ControlPlane(name="plugin-tickets", flags=Egress.FLAGS)
    plane.egress = Egress(plane)
    try:
        with plane:
            plane.install_crds()
            yield plane
    finally:
        plane.egress.stop()


@pytest.fixture(scope="module")
def installed(plane, machines, tmp_path_factory):  # noqa: F811
    patch, = yaml.safe_load(
        (REPO / "deploy/components/tickets/items.yaml").read_text())
    for o in patch["value"]:
        plane.apply(o)
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "tmp").mkdir()
    installed = Installation(plane, folder, tickets={"namespace": TICKETS})
    plane.write_kubeconfig(installed.kubeconfig("admin"))
    try:
        yield installed
        assert not list((folder / "tmp").iterdir()), "it leaves nothing behind"
    finally:
        installed.stop()


def tickets(plane):
    return plane.get(LEASES)["items"]


def ends(ticket):
    """When it ends, by its own fields."""
    renewed, _ = ticket["spec"]["renewTime"].split(".")
    return seconds(renewed + "Z") + ticket["spec"]["leaseDurationSeconds"]


def said_until(out):
    return seconds(out.splitlines()[-1].removeprefix("held until "))


def test_a_ticket_from_hold_to_release(plane, installed, machines,  # noqa: F811
                                       pools):  # noqa: F811
    """Who lacks the right is told so, and nothing is written."""
    run, view = installed.run, View(plane)
    said = run("hold", "--for=2h", "--nodepool=web", code=1)
    assert WRITER in said and "--annotate" in said
    assert not any(pools().values())
    run("resume", "--all")  # who may not read tickets has none

    plane.apply({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "writers", "namespace": TICKETS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                    "name": WRITER},
        "subjects": [{"kind": "ServiceAccount", "name": "operator",
                      "namespace": NAME}]})
    hold = "hold", "--nodepool=web", "--reason=release 9"
    run(*hold, "--for=2h", "--dry-run=server")
    assert not tickets(plane)
    run(*hold, "--for=2h")
    view.wait_held(nodes(machines))
    until = said_until(run(*hold, "--for=3h"))
    ticket, = tickets(plane)
    assert ends(ticket) == until
    assert ticket["spec"]["holderIdentity"].endswith(":operator")
    assert not any(pools().values())
    assert "release 9" in run("status")
    # Another choice of NodePools, and somebody else's.
    assert ticket["metadata"]["name"] in run("release", "--all")
    run("release", "--nodepool=web", "--force", *ODD, who="admin")
    run("release", "--nodepool=web", "--dry-run=server")
    assert len(tickets(plane)) == 1
    out = run("release", "--nodepool=web")
    # Tickets hold for a minute at least.
    assert re.search(r"\nstill held: (nothing|NodePool web until \S+, for \d+ s: "
                     r"a ticket that has ended.*)\n$", out), out
    view.wait_clear(nodes(machines), 80)
    assert not tickets(plane)


def test_any_name_of_a_user(plane, installed):
    run = installed.run
    for verb in "created", "replaced":
        out = run("hold", "--for=7d", "--all", *ODD, who="admin")
        assert f" of O\"N \\<a@b> {verb} in " in out
    ticket, = tickets(plane)
    assert ticket["spec"]["holderIdentity"] == ODD[0].removeprefix("--as=")
    assert " deleted in " in run("resume", "--all", *ODD, who="admin")
    assert not tickets(plane)


def test_a_ticket_that_is_renewed_in_between_stays(plane, installed, pools,  # noqa: F811
                                                   tmp_path):
    """All else that was asked for is done.  A hold-until stays beside a new
    ticket."""
    annotate(plane, "web", {"hold-until": "2040-01-01T00:00:00Z"})
    out = installed.run("hold", "--for=2h", "--all", who="admin")
    assert "\nstays: NodePool web: hold-until 2040-01-01T00:00:00Z\n" in out
    kubectl = installed.plane.bin / "kubectl"
    (tmp_path / "kubectl").write_text(MEANWHILE.replace(
        "ADMIN", f"{kubectl} --kubeconfig={installed.kubeconfig('admin')}").replace(
        "TICKETS", TICKETS).replace("REAL", str(kubectl)))
    (tmp_path / "kubectl").chmod(0o755)
    environment = installed.environment("admin")
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    done = subprocess.run(
        [PLUGIN, "resume", "--all"], stdin=subprocess.DEVNULL, text=True,
        capture_output=True, timeout=180, env=environment)
    assert done.returncode == 1, done
    assert "error: your ticket may still hold: " in done.stderr, done
    assert "hold-until" not in pools()["web"]
    assert len(tickets(plane)) == 1
    installed.run("resume", "--all", who="admin")
    assert not tickets(plane)


def test_the_ticket_of_another_asks_for_force(plane, installed, machines,  # noqa: F811
                                              pools):  # noqa: F811
    """Before anything is written.  With --force all is done but that, and what
    it still holds is told in seconds."""
    installed.run("hold", "--for=2h", "--nodepool=web", "--reason=late", who="admin")
    View(plane).wait_held(nodes(machines))
    ticket, = tickets(plane)
    annotate(plane, "batch", {"hold-until": "2040-01-01T00:00:00Z"})
    before, told = pools(), f": ticket {ticket['metadata']['name']} of admin: late\n"
    for command in "release", "resume":
        done = installed.command(command, "--all")
        assert (done.returncode, done.stdout) == (1, ""), done
        assert told in done.stderr and "nothing is written" in done.stderr
        assert pools() == before and len(tickets(plane)) == 1
    # Also where one's own hold ends later.
    installed.run("hold", "--for=3h", "--nodepool=web", "--annotate")
    for what in "--nodepool=web", nodes(machines)[0][1]:
        done = installed.command("release", what)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert "nothing is written" in done.stderr
    installed.run("resume", "--nodepool=web", "--force")
    before = pools()
    assert len(tickets(plane)) == 1
    out = installed.run("release", "--all", "--force")
    left = re.search(r"still held: NodePool web until \S+, for (\d+) s" +
                     re.escape(told), out)
    assert left and 7000 < int(left[1]) <= 7200, out
    assert {"released-at", "reason"} == set(pools()["web"]) == set(pools()["batch"])
    installed.run("release", "--nodepool=web", who="admin")


def test_a_trial_writes_nothing(plane, installed, pools):  # noqa: F811
    """What it wrote would hold once the trial is over."""
    installed.holders[0].stop()
    installed.settings["mode"] = "observe"
    installed.add("pod-b", 2)
    for where in [], ["--annotate"]:
        done = installed.command("hold", "--for=1h", "--all", *where)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert "so nothing is held, and nothing is written" in done.stderr
        assert not tickets(plane) and not any(pools().values())
    installed.run("hold", "--for=1h", "--all", "--force")
    assert "so nothing is held\n" in installed.said and tickets(plane)
    installed.run("resume", "--all")
    assert not tickets(plane)


def test_the_namespace_is_gone(plane, installed):
    """The leader's list is empty then, as if nobody had written a ticket."""
    namespace = plane.get(NAMESPACES, TICKETS)
    installed.run("status")
    assert not installed.said
    plane.delete(NAMESPACES, TICKETS)
    plane.ok("PUT", f"{NAMESPACES}/{TICKETS}/finalize", {
        "metadata": {"name": TICKETS}, "spec": {"finalizers": []}})
    try:
        installed.run("status")
        assert installed.said == (
            f"warning: the namespace {TICKETS} of the tickets does not exist; "
            "see: holderctl check\n")
    finally:
        plane.create(NAMESPACES, {"metadata": {
            "name": TICKETS, "labels": namespace["metadata"]["labels"]}})
