# SPDX-License-Identifier: Apache-2.0
"""kubectl karpenter-holder where the holder reads tickets (docs/plugin.md#tickets)."""
import pytest

from controlplane import REPO
from hold import View, nodes
from lead import NAME
from test_plugin import (Installation, machine, machines, plane,  # noqa: F401
                         pools)
import yaml

TICKETS = NAME + "-tickets"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{TICKETS}/leases"
WRITER = NAME + "-ticket-writer"


@pytest.fixture(scope="module")
def installed(plane, machines, tmp_path_factory):  # noqa: F811
    patch, = yaml.safe_load(
        (REPO / "deploy/components/tickets/items.yaml").read_text())
    for o in patch["value"]:
        plane.apply(o)
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "tmp").mkdir()
    installed = Installation(plane, folder, tickets={"namespace": TICKETS})
    try:
        yield installed
    finally:
        installed.stop()


def test_a_ticket_from_hold_to_release(plane, installed, machines,  # noqa: F811
                                       pools):  # noqa: F811
    """Who lacks the right is told so, and nothing is written."""
    run, view = installed.run, View(plane)
    said = run("hold", "--for=2h", "--nodepool=web", code=1)
    assert WRITER in said and "--annotate" in said
    assert not any(pools().values())

    plane.apply({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "writers", "namespace": TICKETS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                    "name": WRITER},
        "subjects": [{"kind": "ServiceAccount", "name": "operator",
                      "namespace": NAME}]})
    hold = "hold", "--nodepool=web", "--reason=release 9"
    run(*hold, "--for=2h", "--dry-run=server")
    assert not plane.get(LEASES)["items"]
    run(*hold, "--for=2h")
    view.wait_held(nodes(machines))
    run(*hold, "--for=3h")
    ticket, = plane.get(LEASES)["items"]
    assert ticket["spec"]["leaseDurationSeconds"] == 3 * 3600
    assert ticket["spec"]["holderIdentity"].endswith(":operator")
    assert not any(pools().values())
    assert "release 9" in run("status")
    assert ticket["metadata"]["name"] in run("release", "--all")
    out = run("release", "--nodepool=web")
    assert out.endswith("still held: nothing\n")
    view.wait_clear(nodes(machines))
    assert not plane.get(LEASES)["items"]
