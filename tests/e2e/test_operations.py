# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/operations.md, run as they stand there."""
import os
import re
import subprocess
import time

import pytest
import yaml

from controlplane import CLAIMS, NODES, POOLS, REPO, WEBHOOKS, until
from cluster import node_pool
from hold import HOLD, MARK, annotations, claims, clear, held, nodes
from holder import HOLDERCTL, deployed
from karpenter import node_body

pytestmark = pytest.mark.long

GUIDE = (REPO / "docs" / "operations.md").read_text()
REPLACEMENT = "karpenter-node-holder.io/replacement"


def blocks(heading):
    """The code blocks below that heading, up to the next one."""
    part = re.search(rf"^#+ {heading}$(.*?)(^#+ |\Z)",
                     GUIDE, re.M | re.S)[1]
    found = re.findall(r"^( *)```\w*\n(.*?)^ *```", part, re.M | re.S)
    assert found, heading
    return [re.sub(f"^{indent}", "", text, flags=re.M)
            for indent, text in found]


def block(heading, *words):
    """The block with these words in it."""
    text, = [b for b in blocks(heading) if all(w in b for w in words)]
    return text


def command(text, word):
    """That line of a block."""
    line, = [at for at in text.splitlines() if word in at]
    return line


def sh(plane, text, quiet=True):
    program = plane.dir / "holderctl"
    if not program.exists():
        program.symlink_to(HOLDERCTL)
    done = subprocess.run(
        ["bash", "-c", text], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60, cwd=plane.dir, env={
            "HOME": str(plane.dir), "KUBECONFIG": str(plane.kubeconfig),
            "PATH": f"{plane.bin}:{plane.dir}:{os.environ['PATH']}"})
    assert not (quiet and done.stderr) and done.returncode in (0, 1), done
    return done.stdout


def marks(plane):
    return sum(MARK in annotations(o) for path in (NODES, CLAIMS)
               for o in plane.metadata(path).values())


@pytest.fixture
def people(plane, karpenter, make_holder, view):
    """Everything is held.  Returns (holder, the machines that are ours alone,
    the Nodes on which a person has set something and what must stand there).
    """
    old = karpenter.settled(20)
    theirs = {f"{NODES}/{old[0].node}": {HOLD: "true"},
              f"{NODES}/{old[1].node}": {HOLD: "false"},
              f"{NODES}/{old[2].node}": {HOLD: "true"}}
    plane.patch(NODES, old[0].node, {"metadata": {"annotations": {
        HOLD: "true"}}})
    holder = make_holder(holdDuration="1h")
    m = karpenter.machine()
    ours = old[1:] + [m]
    view.wait_held(nodes(ours))
    claim = karpenter.claim()   # it is not launched, and held itself
    plane.patch(NODES, old[1].node, {"metadata": {"annotations": {
        HOLD: "false"}}})       # a person's value beside our mark
    plane.patch(NODES, old[2].node, {"metadata": {"annotations": {
        MARK: None}}})          # taken over
    assert held(plane.get(CLAIMS, claim.name))
    assert marks(plane) >= 20
    return holder, old[3:] + [m], theirs


def check_clear(plane, view, ours, theirs):
    assert marks(plane) == 0
    assert all(map(clear, view.of(nodes(ours)).values()))
    for target, want in theirs.items():
        a = annotations(plane.get(target))
        assert {k: v for k, v in a.items() if k in (HOLD, MARK)} == want


@pytest.fixture
def deployment(plane):
    """The Deployment, whose pods nobody runs here."""
    path = ("/apis/apps/v1/namespaces/karpenter-node-holder/deployments")
    made, = deployed("deployment.yaml")
    plane.request("DELETE", f"{path}/{made['metadata']['name']}")
    plane.create(path, made)
    yield lambda: plane.get(path, made["metadata"]["name"])
    plane.delete(path, made["metadata"]["name"])


def test_uninstall(plane, people, view, deployment):
    """No mark is left, and no new one comes."""
    holder, ours, theirs = people
    name = claims(ours)[0]
    plane.patch(*name, {"metadata": {"annotations": {REPLACEMENT: "drifted"}}})
    sh(plane, block("Uninstall", "kubectl delete mutatingwebhook"))
    assert plane.request("GET", WEBHOOKS)[1]["items"] == []
    assert deployment()["spec"]["replicas"] == 0
    holder.term()       # the kubelet would do this
    assert marks(plane) >= 20, "stopping leaves them"
    text = block("Uninstall", "holderctl uninstall")
    was = marks(plane)
    assert "(dry run)" in sh(plane, text.strip() + " --dry-run")
    assert marks(plane) == was
    out = sh(plane, text, quiet=False)
    # The one that was taken over: only people know that.
    left = out[out.index("1 nodes and 0 nodeclaims stay held"):]
    taken_over = list(theirs)[2].split("/")[-1]
    assert left.splitlines()[2:] == [
        f"    node/{taken_over}", "if nobody wants it there: kubectl annotate "
        f"node/{taken_over} {HOLD}-", "no mark is left"]
    check_clear(plane, view, ours, theirs)
    assert clear(plane.create(NODES, node_body("late")))
    assert REPLACEMENT not in plane.annotations(*name)


def test_by_hand(plane, people, view):
    holder, ours, theirs = people
    holder.kill9()
    sh(plane, block("By hand", "kubectl annotate"))
    check_clear(plane, view, ours, theirs)
    assert plane.request("GET", WEBHOOKS)[1]["items"] == []


def test_release_now(plane, karpenter, make_holder, view):
    plane.create(POOLS, node_pool("general"))
    old = karpenter.settled(5)
    make_holder(holdDuration="1h")
    m = karpenter.machine()
    view.wait_held(nodes(old))
    time.sleep(1)   # "created before then" is in whole seconds
    text = re.search(r"`(kubectl annotate nodepools --all [^`]*)`", GUIDE)[1]
    sh(plane, text)
    view.wait_clear(nodes(old + [m]), 15)


def test_the_probe_tells_whether_the_webhook_is_used(plane, make_holder):
    probe = block("Install", "dry-run=server")
    holder = make_holder(holdDuration="1h")
    assert "held-since" in sh(plane, probe)
    holder.kill9()
    assert sh(plane, probe) == ""


def test_which_nodepools_are_left_alone(plane, make_holder):
    pools = {"ordinary": node_pool("ordinary"),
             "never": node_pool("never", consolidate_after="Never"),
             "fixed": node_pool("fixed", replicas=2)}
    for body in pools.values():
        plane.create(POOLS, body)
    holder = make_holder(holdDuration="1h", logging={"level": "debug"})
    table = sh(plane, block("Which NodePools are left alone", "get nodepools"))
    rows = {row.split()[0]: row.split()[1:] for row in table.splitlines()}
    assert {n: rows[n] for n in pools} == {
        "ordinary": ["<none>", "0s", "<none>", "<none>"],
        "never": ["<none>", "Never", "<none>", "<none>"],
        "fixed": ["2", "0s", "<none>", "<none>"]}
    probe = block("Install", "dry-run=server")
    for name in pools:
        asked = probe.replace("nodepool: probe", f"nodepool: {name}")
        until(lambda: bool(sh(plane, asked)) == (name == "ordinary"), 10,
              name)
    assert {(e["pool"], e["reason"]) for e in holder.logs()
            if e.get("msg") == "admitted unchanged"} >= {
                ("never", "pool-disabled"), ("fixed", "pool-disabled")}


def test_the_kustomization_for_an_upgrade_builds(plane, tmp_path):
    text = block("Upgrade", "images:")
    text = text.replace("../..", os.path.relpath(REPO / "deploy", tmp_path))
    (tmp_path / "kustomization.yaml").write_text(text)
    built = [o for o in yaml.safe_load_all(
        plane.kubectl("kustomize", tmp_path).stdout) if o]
    deployment, = [o for o in built if o["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 2
    container, = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "REGISTRY/karpenter-node-holder:NEW"
