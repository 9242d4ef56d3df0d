# SPDX-License-Identifier: Apache-2.0
"""`holderctl uninstall` leaves no mark, but leaves people's holds.
"""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest
import yaml

from controlplane import (CLAIMS, MERGE, NAMESPACES, NODES, REPO, WEBHOOKS,
                          end, until)
from hold import HELD_KEY, HOLD, MARK, annotations, claims, clear, held, \
    nodes, stamp
from holder import HOLDERCTL, LIMITED, deployed
from karpenter import node_body
from lead import NAMESPACE
from test_deploy import policy_in_force
from test_leader import LEASES, NAME, leader, leads, replicas  # noqa: F401
from uninstall import QUICK, Running, environment, uninstall

REPLACEMENT = "karpenter-node-holder.io/replacement"
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
OURS = {HOLD: "true", MARK: stamp(0)}


def annotate(plane, target, **values):
    plane.patch(*target, {"metadata": {"annotations": {
        {"hold": HOLD, "mark": MARK, "held_key": HELD_KEY}.get(k, k): v
        for k, v in values.items()}}})


def marked(plane):
    return [name for path in (NODES, CLAIMS)
            for name, meta in plane.metadata(path).items()
            if MARK in annotations(meta)]


def versions(plane):
    return {(path, name): meta["resourceVersion"] for path in (NODES, CLAIMS)
            for name, meta in plane.metadata(path).items()}


@pytest.fixture
def no_lease(plane):
    def gone():
        plane.request("DELETE", f"{LEASES}/{NAME}")
    plane.request("POST", NAMESPACES, {"apiVersion": "v1", "kind": "Namespace",
                                       "metadata": {"name": NAMESPACE}})
    gone()
    yield
    gone()


@pytest.fixture
def people(plane, karpenter):
    """Returns {target: what must stand there in the end}."""
    m = karpenter.settled(8, annotations=lambda i: (
        {}, {HOLD: "true"}, OURS, OURS, OURS, OURS, OURS, {})[i])
    n = nodes(m)
    annotate(plane, n[2], mark=None)                    # taken over
    annotate(plane, n[3], hold="false")                 # changed
    annotate(plane, n[4], hold=None)                    # opted out
    annotate(plane, claims(m)[5], hold="true")  # copied from a template
    # Names a hold that is unknown.
    annotate(plane, n[6], held_key="no equals sign")
    plane.patch(NODES, m[7].node, {"metadata": {"annotations": {
        "example.com/hold": "yes", MARK: stamp(0),
        HELD_KEY: "example.com/hold=yes", HOLD: "true"}}})
    return {n[0]: {}, n[1]: {HOLD: "true"}, n[2]: {HOLD: "true"},
            n[3]: {HOLD: "false"}, n[4]: {}, n[5]: {HOLD: "true"},
            claims(m)[5]: {HOLD: "true"}, n[6]: {HOLD: "true"},
            n[7]: {HOLD: "true"}}


def check_people(plane, want):
    for target, kept in want.items():
        a = plane.annotations(*target)
        assert {k: v for k, v in a.items() if k in (
            HOLD, MARK, HELD_KEY, "example.com/hold")} == kept, target


@pytest.mark.long
def test_300_nodes(plane, make_holder, no_lease, karpenter, view, request):
    old = karpenter.settled(300)
    holder = make_holder(holdDuration="1h")
    m = karpenter.machine()
    fresh = karpenter.claim()           # it is not launched, and held itself
    everything = nodes(old + [m]) + claims([m, fresh])
    view.wait_held(everything, 20)
    annotate(plane, claims([m])[0], **{REPLACEMENT: "drifted",
                                       REPLACEMENT + "-uid": "some-uid"})
    holder.kill9()      # it would clear these, too
    people = request.getfixturevalue("people")
    before = versions(plane)

    done = uninstall(plane, code=1)
    assert f"kubectl delete mutatingwebhookconfiguration/{NAME}" in done.stderr
    assert "--remove-webhook" in done.stderr
    done = uninstall(plane, "--dry-run")
    assert "still registered" in done.stderr
    assert done.stdout.count("(dry run)") >= 302
    assert versions(plane) == before, "neither has changed anything"

    begin = time.monotonic()
    done = uninstall(plane, "--remove-webhook")
    took = time.monotonic() - begin
    assert not marked(plane)
    view.wait_clear(everything, 0)
    assert not {REPLACEMENT, REPLACEMENT + "-uid"} & set(
        plane.annotations(CLAIMS, m.name))
    check_people(plane, people)
    assert plane.request("GET", f"{WEBHOOKS}/{NAME}")[0] == 404
    assert f"nodeclaim.karpenter.sh/{fresh.name} released\n" in done.stdout
    assert f"node/{m.node} released\n" in done.stdout
    assert done.stdout.endswith("none is left\n")
    assert clear(plane.create(NODES, node_body("late")))
    print(f"{len(everything)} objects cleared in {took:.1f} s: "
          + done.stdout.splitlines()[-2])
    before = versions(plane)
    uninstall(plane)
    assert versions(plane) == before, "a second time there is nothing to do"


@pytest.mark.long
def test_waits_for_every_holder_that_runs(plane, replicas, karpenter, view,
                                          tmp_path):
    old = karpenter.settled(20)
    first, second = replicas(2, holdDuration="1h")
    m = karpenter.machine()
    view.wait_held(nodes(old + [m]))
    names = [plane.get(LEASES, NAME)["spec"]["holderIdentity"]]
    run = Running(plane, tmp_path / "log", "--remove-webhook")
    until(lambda: names[0] in run.text(), 10, lambda: "whom it waits for\n"
          + run.text())
    time.sleep(3)
    view.wait_all(nodes(old), held, "held while a holder leads", 0)
    first.term()
    leader([second], 5)         # the uninstall no longer leads
    time.sleep(3)
    view.wait_all(nodes(old), held, "held while a holder leads", 0)
    second.kill9()              # its Lease expires
    assert run.wait() == 0, run.text()
    assert not marked(plane)
    view.wait_clear(nodes(old + [m]), 0)
    assert f"lease {NAME}/{NAME}: taken" in run.text()
    assert plane.get(LEASES, NAME)["spec"]["holderIdentity"] == ""


@pytest.mark.long
def test_a_holder_that_starts_meanwhile_does_not_sweep(
        plane, replicas, karpenter, view, tmp_path):
    """The Lease is kept for the whole run."""
    old = karpenter.settled(100, annotations=lambda i: OURS)
    first, = replicas(1, holdDuration="1h")
    karpenter.machine()
    view.wait_held(nodes(old))
    first.unregister()
    first.term()
    run = Running(plane, tmp_path / "log", "--patch-concurrency", "1")
    until(lambda: ": taken" in run.text(), 20, run.text)
    first.start()
    assert run.wait() == 0, run.text()
    assert not marked(plane)
    end(first.process, signal.SIGKILL)


@pytest.mark.long
def test_killed_and_started_again(plane, no_lease, karpenter, people,
                                  tmp_path):
    plane.create(LEASES, {"apiVersion": "coordination.k8s.io/v1",
                          "kind": "Lease", "metadata": {"name": NAME},
                          "spec": {}})
    old = karpenter.settled(300, annotations=lambda i: OURS)
    for turn in range(3):
        run = Running(plane, tmp_path / f"log{turn}",
                      "--patch-concurrency", "1")
        until(lambda: run.text().count(" released") >= 20, 30, run.text)
        end(run.process, signal.SIGKILL)
    left = len(marked(plane))
    assert 0 < left < 300 - 60
    done = uninstall(plane)
    assert "waiting for the holder that leads" in done.stderr
    assert not marked(plane)
    check_people(plane, people)
    assert all(clear(m) for m in plane.metadata(NODES).values()
               if m["name"] in {m.node for m in old})
    print(f"{left} marks were left after three kills")


def test_interrupted_it_gives_the_lease_up(plane, no_lease, karpenter,
                                           tmp_path):
    plane.create(LEASES, {"apiVersion": "coordination.k8s.io/v1",
                          "kind": "Lease", "metadata": {"name": NAME},
                          "spec": {}})
    karpenter.settled(300, annotations=lambda i: OURS)
    run = Running(plane, tmp_path / "log", "--patch-concurrency", "1")
    until(lambda: " released" in run.text(), 30, run.text)
    run.process.send_signal(signal.SIGINT)
    assert run.wait(10) == 1
    assert "ended by SIGINT" in run.text()
    assert "the last list showed 300 nodes" in run.text()
    assert "and 290 more" in run.text()
    assert plane.get(LEASES, NAME)["spec"]["holderIdentity"] == ""


def test_a_stolen_token_takes_the_marks_away(
        plane, no_lease, make_holder, karpenter, view):
    """No policy can tell that from what people do.  So these holds are named,
    and only a person ends them."""
    old = karpenter.settled(4)
    holder = make_holder(holdDuration="1h")
    fresh = karpenter.claim()
    karpenter.launch(fresh)
    karpenter.boot(fresh)
    view.wait_held(nodes(old + [fresh]) + claims([fresh]))
    by_webhook = nodes([fresh])[0], claims([fresh])[0]
    holder.kill9()
    theirs = nodes(old)[0]
    annotate(plane, theirs, hold=None, mark=None)
    plane.patch(theirs[0], theirs[1] + "?fieldManager=kubectl-annotate",
                {"metadata": {"annotations": {HOLD: "true"}}})
    stolen = [*nodes(old)[1:], *by_webhook]
    for path, name in stolen:
        status, answer = plane.request(
            "PATCH", f"{path}/{name}?fieldManager={NAME}",
            {"metadata": {"annotations": {MARK: None}}}, user=holder.account)
        assert status == 200, answer
    report = uninstall(plane, "--remove-webhook").stdout.splitlines()[-10:]
    assert report[1].startswith("4 nodes and 1 nodeclaims stay held")
    assert report[-1] == "no mark is left"
    named = {line.strip() for line in report[3:8]}
    assert named == {("node/" if path == NODES else "nodeclaim/") + name
                     for path, name in stolen}
    assert theirs[1] not in str(report)
    for path, name in [*stolen, theirs]:
        assert plane.annotations(path, name).get(HOLD) == "true"
    # The check names the Nodes, and each command fixes one.
    for left in range(4, 0, -1):
        found = find_holds(plane)
        assert f"on Nodes: {left}, such as" in found["what"]
        plane.kubectl(*found["fix"].split()[1:])
    assert find_holds(plane) is None
    assert plane.annotations(*theirs)[HOLD] == "true"


def find_holds(plane):
    """What `check` says of them, or None."""
    done = subprocess.run(
        [HOLDERCTL, "check", "-o", "json", "--kubeconfig",
         plane.kubeconfig], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60, env=environment(plane))
    found = [f for f in json.loads(done.stdout)["findings"]
             if f["id"] == "go-holds"]
    return found[0] if found else None


def test_karpenter_copies_a_mark_once_more(plane, no_lease, karpenter,
                                           tmp_path):
    """Karpenter copies from a stale version of the claim, after the first list
    without a mark."""
    m, = karpenter.settled(1, annotations=lambda i: OURS)
    run = Running(plane, tmp_path / "log")
    until(lambda: not marked(plane), 20, run.text, every=0.02)
    time.sleep(2)
    annotate(plane, (NODES, m.node), **OURS)
    assert run.wait() == 0, run.text()
    assert not marked(plane)
    assert run.text().count(f"node/{m.node} released") == 2


@pytest.mark.long
def test_a_holder_without_leader_election_runs_on(
        plane, no_lease, make_holder, karpenter, view):
    old = karpenter.settled(3)
    holder = make_holder(holdDuration="1h")
    m = karpenter.machine()
    view.wait_held(nodes(old + [m]))
    time.sleep(3)
    done = uninstall(plane, "--remove-webhook", code=1)
    assert "something still holds: Node" in done.stderr
    assert "none is left" not in done.stdout
    holder.kill9()
    uninstall(plane)
    assert not marked(plane)


@pytest.mark.long
def test_without_the_lease_and_its_namespace(plane, no_lease, karpenter):
    """All else was deleted first: this is when the command is needed most."""
    old = karpenter.settled(5, annotations=lambda i: OURS)
    done = uninstall(plane)
    assert "in no namespace" in done.stderr
    assert not marked(plane)
    annotate(plane, nodes(old)[0], **OURS)
    done = uninstall(plane, "--namespace", "never-made")
    assert "not there: no holder leads" in done.stderr
    assert not marked(plane)


@pytest.mark.long
def test_two_leases_of_the_name(plane, no_lease, karpenter):
    other = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": NAME}, "spec": {}}
    plane.apply(deployed("namespace.yaml")[0])
    plane.create(LEASES, lease)
    plane.create(other, lease)
    try:
        karpenter.settled(1, annotations=lambda i: OURS)
        done = uninstall(plane, code=1)
        assert "expected --namespace" in done.stderr
        assert marked(plane)
        uninstall(plane, "--namespace", NAME)
        assert not marked(plane)
    finally:
        plane.delete(other, NAME)


def test_an_admission_policy_counts_as_registered(plane, no_lease, karpenter):
    base = POLICIES.rsplit("/", 1)[0]
    plane.create(POLICIES, {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy", "metadata": {"name": NAME},
        "spec": {"reinvocationPolicy": "Never", "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                               "operations": ["CREATE"],
                               "resources": ["nodes"]}]},
                 "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                     "expression": '[JSONPatch{op: "test", path: "/kind", '
                                   'value: "Node"}]'}}]}})
    binding = f"{base}/mutatingadmissionpolicybindings"
    plane.create(binding, {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": NAME},
        "spec": {"policyName": NAME}})
    done = uninstall(plane, code=1)
    for kind in "policy", "policybinding":
        assert f"kubectl delete mutatingadmission{kind}/{NAME}" in done.stderr
    uninstall(plane, "--remove-webhook")
    assert plane.request("GET", f"{POLICIES}/{NAME}")[0] == 404
    assert plane.request("GET", f"{binding}/{NAME}")[0] == 404


def test_a_configuration_with_other_webhooks_is_not_deleted(
        plane, no_lease, make_holder):
    make_holder()
    made = plane.get(WEBHOOKS, NAME)
    other = {**made["webhooks"][0], "name": "other.example.com"}
    plane.patch(WEBHOOKS, NAME, {"webhooks": made["webhooks"] + [other]},
                MERGE)
    done = uninstall(plane, "--remove-webhook", code=1)
    assert "has other webhooks, too" in done.stderr
    assert len(plane.get(WEBHOOKS, NAME)["webhooks"]) == 2


def test_karpenter_is_gone(plane, clean, no_lease):
    """Without Karpenter's CRDs there are only Nodes."""
    plane.create(NODES, node_body("n", annotations=OURS))
    plane.remove_crds()
    try:
        uninstall(plane)
        assert clear(plane.get(NODES, "n"))
    finally:
        plane.install_crds()


# As a Job, with the rights of deploy/uninstall

@pytest.fixture
def job(plane, tmp_path):
    """The objects of deploy/uninstall, and of the admission policy.  Returns
    (the container, a kubeconfig as the ServiceAccount has it)."""
    def objects(folder):
        return [o for o in yaml.safe_load_all(
            plane.kubectl("kustomize", folder).stdout) if o]
    made = objects(REPO / "deploy/uninstall")
    for o in deployed(*LIMITED):
        plane.apply(o)
    rights = [o for o in made if o["kind"].startswith("ClusterRole")]
    pod, = [o["spec"]["template"]["spec"] for o in made if o["kind"] == "Job"]
    account = plane.service_account(NAME, pod["serviceAccountName"])
    kubeconfig = plane.write_kubeconfig(tmp_path / "job", account)
    try:
        policy_in_force(plane, account)
        yield pod["containers"][0], kubeconfig, rights, made
    finally:
        plane.kubectl("delete", "--ignore-not-found", "-f", "-",
                      stdin=yaml.safe_dump_all(rights))


def test_as_a_job(plane, clean, no_lease, karpenter, job, make_holder,
                  request):
    container, kubeconfig, rights, _ = job
    make_holder().kill9()
    people = request.getfixturevalue("people")
    # The admission policy has to know every hold annotation.
    foreign, = (t for t in people if "example.com/hold"
                in plane.annotations(*t))
    annotate(plane, foreign, mark=None, held_key=None,
             **{"example.com/hold": None})
    karpenter.settled(20, annotations=lambda i: OURS)
    flags = (*container["args"][1:], "--namespace", NAME)
    assert container["command"] == ["/usr/bin/holderctl"]
    assert container["args"][0] == "uninstall"
    done = uninstall(plane, *flags, kubeconfig=kubeconfig, code=1)
    assert "list mutatingwebhookconfigurations: 403: " in done.stderr
    assert "cannot list resource" in done.stderr
    assert len(marked(plane)) > 20
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(rights))

    def allowed():
        return plane.kubectl(
            "--kubeconfig", kubeconfig, "auth", "can-i", "delete",
            f"mutatingwebhookconfigurations/{NAME}", check=False
        ).stdout == "yes\n"
    until(allowed, 10, "the rights", every=0.5)
    uninstall(plane, *flags, kubeconfig=kubeconfig)
    assert not marked(plane)
    check_people(plane, people)
    assert plane.request("GET", f"{WEBHOOKS}/{NAME}")[0] == 404


def test_the_job_is_accepted(plane, job):
    """Its Pods would be accepted as well, where `restricted` is enforced."""
    made = job[3]
    try:
        done = plane.kubectl("apply", "--server-side", "--validate=strict",
                             "-f", "-", stdin=yaml.safe_dump_all(made))
        assert not done.stderr
    finally:
        plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f",
                      "-", stdin=yaml.safe_dump_all(made))


def test_the_job_in_another_namespace(plane, tmp_path):
    shutil.copytree(REPO / "deploy/uninstall", tmp_path / "u")
    file = tmp_path / "u/kustomization.yaml"
    text = file.read_text()
    assert text.count("\nnamespace: karpenter-node-holder ") == 1
    file.write_text(text.replace("\nnamespace: karpenter-node-holder ",
                                 "\nnamespace: platform "))
    made = {o["kind"]: o for o in yaml.safe_load_all(
        plane.kubectl("kustomize", tmp_path / "u").stdout)}
    assert made["Job"]["metadata"]["namespace"] == "platform"
    assert made["ClusterRoleBinding"]["subjects"][0]["namespace"] == \
        "platform"
    assert "namespace" not in made["ClusterRole"]["metadata"]


# With a credential plugin, as the kubeconfigs of the clouds have it

PLUGIN = """#!/bin/sh
echo "$*" >> "${0%/*}/runs"
grep -q '"interactive":false' <<END || exit 9
$KUBERNETES_EXEC_INFO
END
cat "${0%/*}/$CREDENTIAL"
"""


@pytest.fixture
def exec_kubeconfig(plane, tmp_path):
    """write(token) makes the credential that a plugin prints, by default with
    a good token of a ServiceAccount.  It returns the kubeconfig, which names
    the plugin beside it."""
    rights = {"apiVersion": "rbac.authorization.k8s.io/v1",
              "kind": "ClusterRoleBinding",
              "metadata": {"name": "engineer"},
              "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                          "kind": "ClusterRole", "name": "cluster-admin"},
              "subjects": [{"kind": "ServiceAccount", "name": "engineer",
                            "namespace": "default"}]}
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
        "name": "engineer", "namespace": "default"}})
    plane.apply(rights)
    path = plane.write_kubeconfig(tmp_path / "exec")
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"] = {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "./plugin", "args": ["get-token", "--cluster", "e2e"],
        "env": [{"name": "CREDENTIAL", "value": "credential"}]}}
    path.write_text(yaml.safe_dump(config))
    (tmp_path / "plugin").write_text(PLUGIN)
    (tmp_path / "plugin").chmod(0o755)

    def write(token=None):
        token = token or plane.token("default", "engineer")
        (tmp_path / "credential").write_text(json.dumps({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "spec": {}, "status": {
                "token": token,
                "expirationTimestamp": stamp(time.time() + 840)}}))
        return path
    yield write
    plane.kubectl("delete", "clusterrolebinding/engineer",
                  "serviceaccount/engineer")


def test_with_a_credential_plugin(plane, clean, no_lease, karpenter, tmp_path,
                                  exec_kubeconfig):
    karpenter.settled(20, annotations=lambda i: OURS)
    kubeconfig = exec_kubeconfig("no-token-of-this-cluster")
    assert "401" in uninstall(plane, kubeconfig=kubeconfig, code=1).stderr
    assert len(marked(plane)) == 20
    (tmp_path / "runs").unlink()
    uninstall(plane, kubeconfig=exec_kubeconfig())
    assert not marked(plane)
    assert (tmp_path / "runs").read_text() == "get-token --cluster e2e\n"


def test_with_a_credential_plugin_that_fails(plane, no_lease, tmp_path,
                                             exec_kubeconfig):
    kubeconfig = exec_kubeconfig()
    (tmp_path / "plugin").write_text(
        "#!/bin/sh\necho >&2\necho 'Token has expired' >&2\nexit 255\n")
    done = uninstall(plane, kubeconfig=kubeconfig, code=1, timeout=10)
    assert ": exit code 255: Token has expired\n" in done.stderr
    (tmp_path / "plugin").unlink()
    done = uninstall(plane, kubeconfig=kubeconfig, code=1, timeout=10)
    assert ": not found" in done.stderr


def test_interrupted_it_ends_the_credential_plugin(plane, tmp_path,
                                                   exec_kubeconfig):
    kubeconfig = exec_kubeconfig()
    (tmp_path / "plugin").write_text(
        "#!/bin/sh\necho $$ > ${0%/*}/pid\nexec sleep 300\n")
    run = Running(plane, tmp_path / "log", "--kubeconfig", kubeconfig)
    pid = until(lambda: (tmp_path / "pid").exists() and
                (tmp_path / "pid").read_text().strip(), 10, run.text)
    run.process.send_signal(signal.SIGINT)
    assert run.wait(10) == -signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_as_a_kubectl_plugin(plane, clean, no_lease, karpenter, tmp_path):
    karpenter.settled(1, annotations=lambda i: OURS)
    (tmp_path / "holderctl").symlink_to(HOLDERCTL)
    (tmp_path / "kubectl-karpenter_holder").symlink_to(
        REPO / "plugin" / "kubectl-karpenter_holder")
    done = subprocess.run(
        [plane.bin / "kubectl", "karpenter-holder", "uninstall", *QUICK],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        env={"PATH": f"{tmp_path}:{plane.bin}:{os.environ['PATH']}", "HOME": str(tmp_path),
             "KUBECONFIG": str(plane.kubeconfig)})
    assert done.returncode == 0, done.stderr
    assert not marked(plane)
