# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/migration.md, run as they stand there, in a cluster
full of what the Go program leaves behind."""
import re
import subprocess
import threading
import time

import pytest
import yaml

from controlplane import NAMESPACES, NODES, POOLS, REPO, until
from cluster import node_pool
from hold import HOLD, MARK, annotations, held, nodes
from holder import BINARY
from karpenter import node_body
from uninstall import environment

GUIDE = (REPO / "docs" / "migration.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", GUIDE, re.M | re.S)
OLD = "karpenter.sh/do-not-consolidate"
WATCHER = "karpenter-node-holder-watcher"
# client-go's user agent: the binary's name, its version, ...
AGENT = ("karpenter-node-holder/v0.0.0 (linux/amd64) kubernetes/$Format")
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def block(*words):
    text, = [b for b in BLOCKS if all(w in b for w in words)]
    return text


NAMES = block("release=", "namespace=")
RELEASE = re.search(r"^release=(.*)", NAMES, re.M)[1]
NAMESPACE = re.search(r"^namespace=(.*)", NAMES, re.M)[1]


def sh(plane, *texts):
    """Runs the commands one after the other, as somebody types them in an
    empty folder."""
    folder = plane.dir / "migration"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["sh", "-eu"], input="\n".join((NAMES, *texts)), text=True,
        capture_output=True, timeout=120, cwd=folder,
        env=environment(plane))
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def go_program(plane, names, value="true", key=OLD):
    """Writes as it does: it PUTs each Node back, whole, with its annotation.
    """
    for name in names:
        node = plane.get(NODES, name)
        node["metadata"].setdefault("annotations", {})[key] = value
        plane.ok("PUT", f"{NODES}/{name}", node,
                 headers={"User-Agent": AGENT})


def person(plane, name, *words):
    plane.kubectl("annotate", "node", name, "--overwrite", *words)


@pytest.fixture
def old(plane):
    """What its chart installs, by the names that the chart gave."""
    label = {"app": WATCHER}
    account = f"{RELEASE}-sa"
    made = [
        (NAMESPACES, {"apiVersion": "v1", "kind": "Namespace",
                      "metadata": {"name": NAMESPACE}}),
        (f"{NAMESPACES}/{NAMESPACE}/serviceaccounts", {
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": account}}),
        (f"{RBAC}/clusterroles", {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole", "metadata": {"name": f"{RELEASE}-role"},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": [
                "get", "list", "patch", "update", "edit", "watch"]}]}),
        (f"{RBAC}/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{RELEASE}-rolebinding"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": f"{RELEASE}-role"},
            "subjects": [{"kind": "ServiceAccount", "name": account,
                          "namespace": NAMESPACE}]}),
        (f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": WATCHER},
            "spec": {"replicas": 1, "selector": {"matchLabels": label},
                     "template": {
                         "metadata": {"labels": label},
                         "spec": {"serviceAccountName": account,
                                  "containers": [{
                                      "name": "main", "image": "old"}]}}}}),
        (f"{NAMESPACES}/{NAMESPACE}/pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{WATCHER}-1", "labels": label},
            "spec": {"serviceAccountName": account, "containers": [{
                "name": "main", "image": "old"}]}})]
    for path, body in made:
        if body["kind"] == "Namespace" and plane.request(
                "GET", f"{path}/{NAMESPACE}")[0] == 200:
            continue
        plane.create(path, body)
    yield made
    for path, body in reversed(made[1:]):
        plane.request("DELETE", f"{path}/{body['metadata']['name']}")


def gone(plane, objects):
    return all(plane.request(
        "GET", f"{path}/{body['metadata']['name']}")[0] == 404
        for path, body in objects)


def holds(plane):
    """Returns {Node: its annotations that are holds or marks}."""
    seen = {name: {k: v for k, v in annotations(meta).items()
                   if k in (OLD, HOLD, MARK)}
            for name, meta in plane.metadata(NODES).items()}
    return {name: found for name, found in seen.items() if found}


@pytest.fixture
def leftovers(plane, clean, karpenter):
    """Returns (machines, what has to be there in the end)."""
    plane.create(POOLS, node_pool("general"))
    machines = karpenter.settled(30)
    names = [m.node for m in machines]
    for i in range(3):      # the Go program knows nothing of Karpenter
        body = node_body(f"control-plane-{i}", unregistered=False)
        body["metadata"]["labels"] = {
            "node-role.kubernetes.io/control-plane": ""}
        plane.create(NODES, body)
    control = [f"control-plane-{i}" for i in range(3)]
    # People wrote these before it came.
    person(plane, names[0], f"{HOLD}=true")
    person(plane, names[1], f"{HOLD}=false")
    person(plane, names[2], f"{OLD}=true")
    plane.kubectl("patch", "node", control[0], "--type", "merge", "-p",
                  '{"metadata":{"annotations":{"%s":"true"}}}' % HOLD)
    # It wrote the old default on all of them.  Then, with another
    # holdAnnotation, it wrote on those that were there, and died.
    go_program(plane, names + control)
    go_program(plane, [n for n in names if n != names[1]][:20] + control,
               key=HOLD)
    # People wrote these after it.
    person(plane, names[3], f"{HOLD}-", f"{OLD}-")
    person(plane, names[3], f"{HOLD}=true")
    person(plane, names[4], f"{HOLD}=a reason of ours")
    # This has the same name, but not the value that it writes.
    go_program(plane, names[5:6], "kept", HOLD)
    # Another tool wanted the same and wrote it, too.
    plane.kubectl("apply", "--server-side", "--field-manager", "gitops", "-f",
                  "-", stdin=yaml.safe_dump({
                      "apiVersion": "v1", "kind": "Node", "metadata": {
                          "name": names[6], "annotations": {HOLD: "true"}}}))
    assert len(holds(plane)) == 33
    return machines, {
        names[0]: {HOLD: "true"}, names[1]: {HOLD: "false"},
        names[2]: {OLD: "true"}, names[3]: {HOLD: "true"},
        names[4]: {HOLD: "a reason of ours"}, names[5]: {HOLD: "kept"},
        names[6]: {HOLD: "true"},
        control[0]: {HOLD: "true"}}


@pytest.mark.long
def test_a_cluster_full_of_leftovers_ends_clean(
        plane, leftovers, old, make_holder, karpenter, view):
    machines, theirs = leftovers
    user = plane.service_account(NAMESPACE, f"{RELEASE}-sa")
    pod = old[-1]

    def kubelet():      # plays the garbage collector as well
        until(lambda: gone(plane, old[-2:-1]), 30, "the Deployment is gone")
        # On SIGTERM it would list once more, but no longer has the right to.
        until(lambda: plane.request("GET", NODES, user=user)[0] == 403, 30,
              "it has lost its rights")
        plane.delete(pod[0], pod[1]["metadata"]["name"] +
                     "?gracePeriodSeconds=0")
    assert plane.request("GET", NODES, user=user)[0] == 200
    thread = threading.Thread(target=kubelet)
    thread.start()
    sh(plane, block("delete deployment"))
    thread.join()
    sh(plane, block("delete clusterrole "))
    assert gone(plane, old[1:])

    listed = sh(plane, block("managedFields")).splitlines()
    by = [line.split('"')[2].split()[1] for line in listed]
    assert {"karpenter-node-holder", "kubectl-annotate", "kubectl-patch",
            "gitops"} == set(by)
    # Of 33 Nodes, two have the first key from a person or not at all.  Of 23,
    # four have the second from a person.
    assert by.count("karpenter-node-holder") == 31 + 19, listed
    done = sh(plane, block("awk"))
    assert holds(plane) == theirs
    assert done.count(" annotated") == by.count("karpenter-node-holder") - 2
    again = sh(plane, block("managedFields"))
    assert again.count(" karpenter-node-holder Update ") == 2
    assert len(again.splitlines()) == len(theirs) + 1
    assert sh(plane, block("awk")) == ""

    holder = make_holder(holdDuration="12s")
    time.sleep(14)      # nothing is due before that
    assert holds(plane) == theirs
    m = karpenter.machine()
    free = nodes([x for x in machines if x.node not in theirs] + [m])
    view.wait_held(free)
    look = sh(plane, block("nothing of the old one"))
    assert look.startswith("nothing of the old one\n")
    assert re.search(rf"^{m.node} +true +20\S+Z$", look, re.M), look
    view.check_released(free, m.ready + 12)
    assert holds(plane) == theirs
    holder.stop()


def test_what_this_holder_holds_is_no_leftover(plane, clean, karpenter,
                                               make_holder, view):
    old = karpenter.settled(3)
    make_holder(holdDuration="1h")
    both = nodes(old + [karpenter.machine()])
    view.wait_held(both)
    managers = {by["manager"] for by in plane.get(
        NODES, old[0].node)["metadata"]["managedFields"]}
    assert "karpenter-node-holder" in managers, "the same name"
    assert sh(plane, block("managedFields")) == ""
    sh(plane, block("awk"))
    view.wait_all(both, held, "held", 0)


def test_the_numbers_of_the_old_one(tmp_path):
    """Its environment is read and gives what the guide's table says."""
    def check(*flags, **env):
        done = subprocess.run(
            [BINARY, "check", *flags], env=env, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return yaml.safe_load(done.stdout), done.stderr
    config, said = check(HOLD_DURATION="20", HOLD_ANNOTATION=OLD,
                         INITIAL_DELAY="60")
    text = re.search(r"^```yaml\n(.*?)^```", GUIDE, re.M | re.S)[1]
    (tmp_path / "config.yaml").write_text(text)
    new, _ = check("--config", tmp_path / "config.yaml")
    assert config["holdDuration"] == new["holdDuration"] == "20m"
    assert config["holdAnnotation"] == {"key": OLD, "value": "true"}
    assert new["holdAnnotation"]["key"] == HOLD
    assert "INITIAL_DELAY is not needed" in said
    assert OLD in said
