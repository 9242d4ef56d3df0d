# SPDX-License-Identifier: Apache-2.0
"""`holderctl check` finds what is wrong with an
installation, and nothing where nothing is, with the rights of deploy/check."""
import base64
import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time
from concurrent import futures

import pytest
import yaml

from breaks import (BUDGET, EDIT, ELSEWHERE, HOLDER, INSTALLATIONS, KEPT, LOG,
                    NEWER, RENEWER, Telltale, breaks, broken, placed)
from cluster import node_pool
from controlplane import (BUILD, CLAIMS, MERGE, NAMESPACES, NODES, PLANE, POOLS,
                          REPO, WEBHOOKS, ControlPlane, spawn, tail, until)
from egress import Egress
from hold import HELD_KEY, HOLD, MARK, SOON
from holder import BINARY, HOLDERCTL, Holder, certs, deployed
from installation import (DEPLOYMENTS, PODS, add_pod, add_slice, complete,
                          set_available)
from karpenter import NODEPOOL, Karpenter, claim_body, node_body
from lead import LEASES, NAME, NAMESPACE, SHORT, leads
from test_helm import helm
from uninstall import environment

assert helm     # a fixture

ACCOUNT = "node-holder-check"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
POLICY_SAYS = "the check may create Nodes and NodeClaims as a dry run"


class Report:
    def __init__(self, done):
        self.code = done.returncode
        self.text = done.stdout + done.stderr
        self.json = json.loads(done.stdout)
        self.findings = self.json["findings"]
        self.ids = sorted(f["id"] for f in self.findings)
        self.outcomes = {c["check"]: c["outcome"]
                         for c in self.json["checks"]}

    def find(self, name):
        found, = (f for f in self.findings if f["id"] == name)
        return found


def command(plane, *flags, kubeconfig=None):
    return [HOLDERCTL, "check", "--kubeconfig",
            kubeconfig or plane.kubeconfig, *flags]


def check(plane, *flags, kubeconfig=None):
    done = subprocess.run(
        command(plane, "-o", "json", *flags, kubeconfig=kubeconfig),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        env=environment(plane))
    report = Report(done)
    levels = [f["level"] for f in report.findings]
    assert report.json["errors"] == levels.count("error"), report.text
    assert report.json["warnings"] == levels.count("warning"), report.text
    assert report.code == ("error" in levels), report.text
    return report


def shown(plane, *flags):
    """What a terminal shows; kubectl karpenter-holder passes it on."""
    return subprocess.run(
        command(plane, *flags), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60, env=environment(plane)).stdout


def versions(plane):
    return {(path, name): meta["resourceVersion"]
            for path in (NODES, CLAIMS, POOLS)
            for name, meta in plane.metadata(path).items()}


@pytest.fixture(scope="module")
def job(plane):
    """deploy/check.  Returns (its objects, the account)."""
    made = [o for o in yaml.safe_load_all(
        plane.kubectl("kustomize", REPO / "deploy/check").stdout) if o]
    for o in deployed("namespace.yaml"):
        plane.apply(o)
    done = plane.kubectl("apply", "--server-side", "--validate=strict", "-f",
                         "-", stdin=yaml.safe_dump_all(made))
    assert not done.stderr, "its Pods pass `restricted`"
    account = plane.service_account(NAMESPACE, ACCOUNT)
    plane.apply({"apiVersion": "rbac.authorization.k8s.io/v1",
                 "kind": "ClusterRoleBinding", "metadata": {"name": "stolen"},
                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                             "kind": "ClusterRole", "name": "cluster-admin"},
                 "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT,
                               "namespace": NAMESPACE}]})
    until(lambda: POLICY_SAYS in str(plane.request(
        "POST", NODES, node_body("x"), user=account)[1]), 20,
        "the policy in force")
    plane.request("DELETE", f"{NODES}/x")  # made before it was
    yield made, account
    plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-",
                  stdin=yaml.safe_dump_all(made))


@pytest.fixture
def rights(plane, job, installed):
    return plane.write_kubeconfig(plane.dir / "check", job[1])


@pytest.fixture(scope="module")
def installation(request):
    """How the holder is installed: the first way, unless a test asks for
    others."""
    return INSTALLATIONS[getattr(request, "param", 0)]


@pytest.fixture(scope="module")
def plane(plane_programs, installation):
    """The API server reaches the Service and the pods, by lib/egress.py."""
    plane = ControlPlane(name="check", flags=Egress.FLAGS)
    plane.egress = Egress(plane)
    plane.holder = RELEASE if installation == "helm" else NAME
    try:
        with plane:
            plane.install_crds()
            if installation == "default":
                plane.install_crds(BUILD / "cert-manager-crds")
            yield plane
    finally:
        plane.egress.stop()


ADDRESSES = {"holder-0": "10.1.2.1", "holder-1": "10.1.2.2"}
RELEASE = "hold"    # the name of the Helm release, and of what it renames
VALUES = {"fullnameOverride": RELEASE, "tls": {"mode": "selfSigned"},
          "access": {"enabled": True}, "tickets": {"enabled": True}}


def install(plane, installation, request, build):
    """deploy/overlays or deploy/helm, with access and tickets."""
    if installation == "helm":
        request.getfixturevalue("helm")(
            "install", RELEASE, REPO / "deploy/helm", "--namespace", NAMESPACE,
            values=VALUES, kubeconfig=plane.kubeconfig)
        return
    (build / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [os.path.relpath(
            REPO / "deploy/overlays" / installation, build)],
        "components": [os.path.relpath(REPO / f"deploy/components/{name}",
                                       build)
                       for name in ("access", "tickets")]}))
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                  stdin=plane.kubectl("kustomize", build).stdout)


@pytest.fixture(scope="module")
def installed(plane, job, installation, request, tmp_path_factory):
    """A healthy installation: the manifests as they are, two pods on machines
    of a NodePool, and Karpenter.  One holder answers for both pods."""
    plane.request("DELETE", f"{RBAC}/clusterrolebindings/stolen")
    install(plane, installation, request, tmp_path_factory.mktemp("overlay"))
    plane.create(POOLS, pool("web", grace="24h"))
    made = [Karpenter(plane, "web").machine("web") for _ in range(2)]
    holder = Holder(plane, holdDuration="1h",
                    tickets={"namespace": f"{NAME}-tickets"},
                    leaderElection=SHORT.config())
    pair = certs(holder.dir / "service", f"{NAME}.{NAMESPACE}.svc")
    holder.ca = (pair / "ca.crt").read_bytes()
    holder.mount.swap(pair)
    holder.environment = {"POD_NAME": "holder-0"}
    for machine, (name, address) in zip(made, ADDRESSES.items()):
        add_pod(plane, name, machine.node, holder.metrics_port)
        plane.egress.route(f"{address}:{holder.metrics_port}",
                           holder.metrics_port)
    complete(plane, ADDRESSES.items(), plane.holder)
    settle_deployments(plane)
    service = plane.get(f"{NAMESPACES}/{NAMESPACE}/services", NAME)
    plane.egress.route(service["spec"]["clusterIP"] + ":443",
                       holder.webhook_port)
    holder.start()
    register(plane, holder)
    until(lambda: all(MARK in (m.get("annotations") or {})
                      for m in plane.metadata(NODES).values()), 20,
          "the leader holds both")
    yield holder
    holder.stop()


def register(plane, holder):
    """The webhook as it is deployed, with our CA."""
    if plane.request("GET", f"{WEBHOOKS}/{NAME}")[0] == 404:
        plane.apply(*holder.configurations())
    bundle(plane, holder)
    until(lambda: MARK in (plane.create(
        NODES + "?dryRun=All", node_body("probe"))["metadata"].get(
            "annotations") or {}), 30, "webhook in use")


def pool(name, grace=None, budgets=None, metadata=None, **options):
    made = node_pool(name, **options)
    made["metadata"].update(metadata or {})
    if grace:
        made["spec"]["template"]["spec"]["terminationGracePeriod"] = grace
    if budgets:
        made["spec"]["disruption"]["budgets"] = budgets
    return made


# --- the account of the Job ----------------------------------------------------

def test_a_stolen_account(plane, clean, job):
    """It has all rights there are, and still creates nothing."""
    account = job[1]
    plane.create(NODES, node_body("there"))
    # The policy needs a moment, as the ones before it.
    for method, path, body in (
            ("POST", NODES, node_body("x")),
            ("POST", CLAIMS, claim_body(name="x")),
            ("POST", POOLS + "?dryRun=All", node_pool("x")),
            ("PATCH", NODES + "/there", {"metadata": {"labels": {"a": "b"}}}),
            ("PATCH", NODES + "/there?dryRun=All",
             {"metadata": {"labels": {"a": "b"}}}),
            ("DELETE", NODES + "/there", None),
            ("POST", "/api/v1/namespaces/default/configmaps",
             {"metadata": {"name": "x"}}),
            ("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/"
             f"{ACCOUNT}/token", {"spec": {}}),
            ("GET", f"{PODS}/http:x:8080/proxy/metrics", None),
            ("GET", f"{PODS}/http:x:8080/proxy/statusx/../metrics", None),
            ("POST", f"{PODS}/x/exec?command=id", None)):
        status, answer = plane.request(
            method, path, body, MERGE if method == "PATCH" else None,
            user=account)
        assert status == 403 and POLICY_SAYS in str(answer), (
            method, path, status, answer)
    # As kustomize names it with a prefix, in another namespace.
    renamed = plane.identity(f"system:serviceaccount:other:x{ACCOUNT}",
                             "system:masters")
    status, answer = plane.request("POST", NODES, node_body("x"), user=renamed)
    assert status == 403 and POLICY_SAYS in str(answer), (status, answer)
    for path, body in ((NODES, node_body("x")),
                       (CLAIMS, claim_body(name="x"))):
        plane.ok("POST", path + "?dryRun=All", body, user=account)
    assert list(plane.metadata(NODES)) == ["there"]
    status, answer = plane.request(
        "GET", f"{PODS}/http:x:8080/proxy/status?format=json", user=account)
    assert status == 404, (status, answer)  # there is no such Pod


# --- nothing is wrong -----------------------------------------------------------

# What cannot be looked at without each of the rules of deploy/check.
MISSED = {
    "nodes": ["dry-run-unknown", "holder-unknown"],
    "nodeclaims": ["dry-run-unknown", "holder-unknown"],
    "nodepools": ["nodepools-unknown"],
    "namespaces": ["holder-unknown"],
    "mutatingwebhookconfigurations": ["admission-unknown"],
    "mutatingadmissionpolicies": ["admission-unknown"],
    "validatingwebhookconfigurations": [],  # are listed if holds are missing
    "validatingadmissionpolicies": ["rights-unknown"] * 3,
    "subjectaccessreviews": ["rights-unknown"],
    "deployments": ["holder-unknown", "leftovers-unknown"],
    "clusterroles": ["leftovers-unknown"],
    "clusterrolebindings": ["leftovers-unknown"],
    "pods": ["placement-unknown"],
    "pods/proxy": ["holder-unknown"],
    "services": ["admission-unknown"],
    "endpointslices": ["admission-unknown"],
    "poddisruptionbudgets": ["placement-unknown"],
    "leases": ["holder-unknown", "holder-unknown", "karpenter-unknown"],
}


# For these the printed command is tried: in the cluster and in a namespace.
FIXED = ("nodepools", "pods")


def accounts_without(plane, made):
    """For each rule of the Job's roles an account that has all others.
    Returns {the rule's first resource: the account}."""
    roles = [o for o in made if o["kind"] in ("ClusterRole", "Role")]
    names = [rule["resources"][0] for o in roles for rule in o["rules"]]
    for name in names:
        subject = {"kind": "ServiceAccount", "namespace": NAMESPACE,
                   "name": "without-" + name.replace("/", "-")}
        plane.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                     "metadata": {k: subject[k]
                                  for k in ("name", "namespace")}})
        for role in roles:
            meta = {**role["metadata"], "name": subject["name"]}
            plane.apply({**role, "metadata": meta, "rules": [
                r for r in role["rules"] if r["resources"][0] != name]})
            plane.apply({"apiVersion": role["apiVersion"],
                         "kind": role["kind"] + "Binding",
                         "metadata": meta, "roleRef": {
                             "apiGroup": "rbac.authorization.k8s.io",
                             "kind": role["kind"], "name": subject["name"]},
                         "subjects": [subject]})
    return {name: plane.service_account(
        NAMESPACE, "without-" + name.replace("/", "-")) for name in names}


def test_a_healthy_installation(plane, job, rights, installed, tmp_path):
    before = versions(plane)
    # The roles are in force a moment after they are written.
    report = until(lambda: (r := check(plane, "--wait", "20s",
                                       kubeconfig=rights))
                   and "403" not in r.text and r, 20, "the rights", every=0.5)
    # make matrix also tries a Kubernetes that the check does not know yet.
    newer = PLANE != BUILD and report.outcomes["api"] == "warning"
    known = ["kubernetes-version-newer"] * newer
    assert report.ids == known and report.code == 0, report.text
    assert report.outcomes.pop("api") == ("warning" if newer else "ok")
    assert report.outcomes.pop("ca-bundle") == "partly"
    assert set(report.outcomes.values()) == {"ok"}, report.outcomes
    assert "Karpenter 1.14.1" in report.text
    text = shown(plane)
    assert text.endswith(f"\n0 errors, {newer:d} warning{'s'[newer:]}\n"), text
    # What the leader says of its configuration counts.
    assert check(plane, "--mode", "observe").ids == known
    print(text)
    left = accounts_without(plane, job[0])
    assert set(left) == set(MISSED)
    for name, account in left.items():
        kubeconfig = plane.write_kubeconfig(
            tmp_path / name.replace("/", "-"), account)

        def misses():
            report = check(plane, kubeconfig=kubeconfig)
            return report.ids == sorted([*MISSED[name], *known]) and all(
                "403" in f["what"] for f in report.findings
                if f["id"].endswith("-unknown"))
        until(misses, 20, lambda: name + ": "
              + check(plane, kubeconfig=kubeconfig).text, every=0.5)
        if name not in FIXED:
            continue
        for fix in {f["fix"] for f in check(
                plane, kubeconfig=kubeconfig).findings
                if f["id"].endswith("-unknown")}:
            pasted(plane, tmp_path, fix)
        until(lambda: check(plane, kubeconfig=kubeconfig).ids == known, 20,
              lambda: check(plane, kubeconfig=kubeconfig).text, every=0.5)
    # The account of the Job itself.
    plane.patch(RBAC + "/clusterroles", NAME + "-check", {"rules": []}, MERGE)
    report = until(lambda: (r := check(plane, kubeconfig=rights)).findings
                   and r, 20, "the rights gone")
    pasted(plane, tmp_path, report.findings[0]["fix"])
    until(lambda: check(plane, kubeconfig=rights).ids == known, 20,
          lambda: check(plane, kubeconfig=rights).text, every=0.5)
    assert versions(plane).keys() == before.keys(), "it has written nothing"


# --- what is wrong --------------------------------------------------------------

@pytest.fixture(scope="module")
def cut():
    """A port on which every handshake is cut."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client = server.accept()[0]
                client.recv(1)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))  # a reset
                client.close()
    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


@pytest.fixture(scope="module")
def telltale(plane, installed):
    """What /status of the leader says can be changed."""
    telltale = Telltale(installed)
    for address in ADDRESSES.values():
        plane.egress.route(f"{address}:{installed.metrics_port}",
                           telltale.port)
    yield telltale
    telltale.close()


def settle_deployments(plane):
    for namespace, name in ((NAMESPACE, plane.holder),
                            (NAMESPACE, plane.holder + "-renewer"),
                            ("kube-system", "karpenter"), ("second", NAME)):
        path = DEPLOYMENTS.format(namespace)
        if plane.request("GET", f"{path}/{name}")[0] == 404:
            continue
        n = plane.get(path, name)["spec"]["replicas"]
        set_available(plane, namespace, name, n)


def bundle(plane, holder):
    """What the renewer does, or cainjector, which needs to be told of the
    configuration."""
    code, webhook = plane.request("GET", f"{WEBHOOKS}/{NAME}")
    if code == 404:  # the policy is in its place
        return
    renewed = plane.request("GET", placed(plane, RENEWER))[0] == 200
    injected = webhook["metadata"].get("annotations", {}).get(
        "cert-manager.io/inject-ca-from") == f"{NAMESPACE}/{NAME}"
    assert renewed != injected
    client = webhook["webhooks"][0]["clientConfig"]
    pem = base64.b64encode(holder.ca).decode()
    if client.get("caBundle") != pem:
        client["caBundle"] = pem
        webhook["webhooks"][0]["timeoutSeconds"] = 10
        plane.ok("PUT", f"{WEBHOOKS}/{NAME}", webhook)


def settle(plane, holder):
    """What the controllers and the renewer do after a command was pasted."""
    settle_deployments(plane)
    template = plane.get(*placed(plane, HOLDER).rsplit("/", 1))[
        "spec"]["template"]
    for name in ADDRESSES:
        plane.patch(PODS, name, {"metadata": {
            "annotations": template["metadata"]["annotations"]}}, MERGE)
    add_slice(plane, ADDRESSES.items())
    budgets, _, name = placed(plane, BUDGET).rpartition("/")
    code, budget = plane.request("GET", f"{budgets}/{name}")
    if code == 200 and budget["spec"].get("maxUnavailable") == 1:
        plane.patch(budgets, name + "/status",
                    {"status": {"disruptionsAllowed": 1}}, MERGE)
    service = plane.get(f"{NAMESPACES}/{NAMESPACE}/services", NAME)
    plane.egress.route(service["spec"]["clusterIP"] + ":443",
                       holder.webhook_port)
    bundle(plane, holder)


@contextlib.contextmanager
def settled(plane, holder):
    yield
    settle(plane, holder)


def pasted(plane, tmp_path, command):
    """Elsewhere than in the folder of the repository it fails, if it needs
    that."""
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for name, program in (("kubectl", plane.bin / "kubectl"),
                          ("helm", BUILD / "bin/helm"),
                          (NAME, BINARY), ("holderctl", HOLDERCTL)):
        if not (tools / name).is_symlink():
            (tools / name).symlink_to(program)
    for folder in (tmp_path, REPO) if "deploy/" in command else (REPO,):
        done = subprocess.run(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, text=True,
            cwd=folder, capture_output=True, timeout=60,
            env={"HOME": str(tmp_path), "KUBECONFIG": str(plane.kubeconfig),
                 "PATH": f"{tools}:{os.environ['PATH']}"})
        assert (done.returncode == 0) == (folder == REPO), (command, done)


DOCS = (REPO / "docs/check.md").read_text()
TABLE = re.compile(r"^\| what is broken \|.*\n\|.*\n((?:\|.*\n)+)", re.M)
LEVELS = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning) \|", DOCS, re.M))
BREAKS = breaks(0, "", 0)  # as in the tests, but for what only those know


def exit_code(ids):
    return int("error" in [LEVELS[i] for i in ids])


def test_the_table_of_the_guide():
    """It has all breaks, and each finding is in one or said to be elsewhere."""
    rows = [f"| {b.what} | `{b.ids[0]}` | {exit_code(b.ids)} | "
            f"{'yes' if b.fixes is True else 'no: ' + b.fixes} |"
            for b in BREAKS]
    there = TABLE.search(DOCS)
    assert there and there[1].splitlines() == rows, (
        "docs/check.md should say:\n" + "\n".join(rows))
    broken_here = {b.ids[0] for b in BREAKS} | {"dry-run-unknown"}
    assert broken_here | ELSEWHERE.keys() == LEVELS.keys()
    assert not broken_here & ELSEWHERE.keys()


def found(plane, ids, *flags):
    """What is found, as soon as it is that: an API server takes a moment to see
    what has changed."""
    end = time.monotonic() + 5
    while True:
        report = check(plane, *flags)
        if report.ids == sorted(ids) or time.monotonic() > end:
            return report
        time.sleep(0.1)


def script(begin):
    """The script of sed in the printed commands that begins with this."""
    code = re.sub(r'"\s+"', "", (REPO / "src/core/doctor/fix.c").read_text())
    found, = re.findall(rf'"({re.escape(begin)}.*?)"', code)
    return found.replace("\\\\", "\\")


def test_the_rights_of_a_trial(plane_programs):
    made = subprocess.run(
        ["sed", "-E", script("s/(get"), REPO / "deploy/base/rbac.yaml"],
        capture_output=True, text=True, check=True, timeout=60).stdout
    want = subprocess.run(
        [BUILD / "bin/kubectl", "kustomize", REPO / "deploy/overlays/trial"],
        capture_output=True, text=True, check=True, timeout=60).stdout

    def rules(text):
        return [o["rules"] for o in yaml.safe_load_all(text)
                if o["kind"] == "ClusterRole" and o["metadata"]["name"] == NAME]
    assert rules(made) and rules(made) == rules(want)


def test_a_command_for_another_namespace(plane_programs, tmp_path):
    """What it applies is what kustomize makes of an overlay there."""
    change = script("/-tickets/") % "there"
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({
        "namespace": "there", "resources": [os.path.relpath(
            REPO / "deploy/overlays/default", tmp_path)],
        "transformers": [os.path.relpath(REPO / "deploy/namespace",
                                         tmp_path)]}))

    def applied(command):
        made = subprocess.run(
            ["sh", "-c", command], cwd=REPO, check=True, timeout=60, text=True,
            capture_output=True, env={"PATH": f"{BUILD / 'bin'}:"
                                      + os.environ["PATH"]}).stdout
        return [o for o in yaml.safe_load_all(made)
                if o["metadata"].get("labels", {}).get(
                    "app.kubernetes.io/component") in ("webhook", "policy")]
    want = applied(f"kubectl kustomize {tmp_path}")
    assert want and want == applied(
        f"kubectl kustomize deploy/overlays/default | sed -E '{change}'")


# --- who asks, and when ---------------------------------------------------------

def test_an_operator_of_components_access(plane, installed, tmp_path):
    """Finds nothing about its own rights, and stores nothing by them."""
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                 "metadata": {"name": "oncall", "namespace": NAMESPACE}})
    for kind, role in (("Role", "viewer"), ("ClusterRole", "operator"),
                       ("Role", "checker"), ("ClusterRole", "checker")):
        plane.apply({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind + "Binding",
            "metadata": {"name": f"oncall-{role}", **(
                {"namespace": NAMESPACE} if kind == "Role" else {})},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": kind, "name": f"{NAME}-{role}"},
            "subjects": [{"kind": "ServiceAccount", "name": "oncall",
                          "namespace": NAMESPACE}]})
    account = plane.service_account(NAMESPACE, "oncall")
    kubeconfig = plane.write_kubeconfig(tmp_path / "oncall", account)
    until(lambda: check(plane, kubeconfig=kubeconfig).ids == [], 20,
          lambda: check(plane, kubeconfig=kubeconfig).text, every=0.5)
    for path, body in ((NODES, node_body("x")),
                       (CLAIMS, claim_body(name="x"))):
        until(lambda: plane.request("POST", path, body, user=account)[0]
              == 403, 20, "the policy in force")
        status, answer = plane.request("POST", path, body, user=account)
        assert POLICY_SAYS in str(answer), (status, answer)
        plane.ok("POST", path + "?dryRun=All", body, user=account)
    # Who has every right is no checker.
    plane.create(NODES, node_body("admins"))
    plane.delete(NODES, "admins")


def test_it_waits_for_an_installation(plane, installed, tmp_path):
    installed.unregister()
    report = found(plane, ("webhook-missing", "dry-run-unheld",
                           "dry-run-unheld"))
    assert "webhook-missing" in report.ids
    log = tmp_path / "log"
    waits = spawn(command(plane, "--wait", "60s", "-o=json"), log,
                  environment(plane))
    time.sleep(1.5)
    assert waits.poll() is None
    register(plane, installed)
    assert waits.wait(60) == 0, log.read_text()
    assert '"errors":0' in log.read_text()


STRIP = "example-strip"
TAKEN = "another admission policy or webhook takes the hold out of the patch"


def strips(plane, *keys):
    """A policy of somebody's that takes these annotations from each update of
    a Node."""
    meta = {"apiVersion": "admissionregistration.k8s.io/v1",
            "metadata": {"name": STRIP}}
    return [
        {"kind": "MutatingAdmissionPolicy", **meta, "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["UPDATE"], "resources": ["nodes"]}]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                "expression": f"{list(keys)}.filter(k, k in object.metadata"
                ".?annotations.orValue({})).map(k, JSONPatch{op: 'remove', "
                "path: '/metadata/annotations/' + jsonpatch.escapeKey(k)})"}}
            ]}},
        {"kind": "MutatingAdmissionPolicyBinding", **meta,
         "spec": {"policyName": STRIP}}]


@pytest.mark.parametrize("keys, says", [
    # Then the holder's own policy refuses what is left of the patch.
    ([HOLD], TAKEN + ": 403: "),
    pytest.param([HOLD, MARK], "200: the API server accepted the patch, but "
                 "the hold is not there: " + TAKEN, marks=pytest.mark.long)])
def test_a_policy_that_takes_the_hold_away(plane, installed, telltale, tmp_path,
                                           keys, says):
    """A person has released the NodePool, and then wants it held again."""
    telltale.change = None
    node = next(iter(plane.metadata(NODES)))
    released = NAME + ".io/released-at"

    def annotate(value):
        plane.patch(POOLS, "web", {"metadata": {"annotations": {
            released: value}}}, MERGE)

    def marks():
        return [MARK in (m.get("annotations") or {})
                for m in plane.metadata(NODES).values()
                if m["labels"].get(NODEPOOL) == "web"]
    begin = len(installed.logs())
    # A machine of this very second would not be released.
    until(lambda: any(x["msg"] == "scope held" for x in installed.logs()), 20,
          lambda: "held\n" + tail(installed.log, 40))
    annotate(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    until(lambda: not any(marks()), 20,
          lambda: "released\n" + tail(installed.log, 40))
    try:
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(
            strips(plane, *keys)))
        until(lambda: HOLD not in plane.ok(
            "PATCH", f"{NODES}/{node}?dryRun=All",
            {"metadata": {"annotations": {HOLD: "true"}}}, MERGE)[
                "metadata"].get("annotations", {}), 20, "the policy in force")
        annotate(None)
        report = until(lambda: (r := check(plane)) and "holds-missing" in r.ids
                       and r, 30, lambda: check(plane).text, every=0.5)
        assert report.code == 1
        assert [f["id"] for f in report.findings] == [
            "admission-foreign", "writes-refused", "holds-missing"], report.text
        first = report.findings[0]
        assert f"somebody else: mutatingadmissionpolicy/{STRIP}" in first[
            "what"], first
        pasted(plane, tmp_path, first["fix"])
        assert "none of its 2 machines" in report.find("holds-missing")["what"]
        refused = [line["err"] for line in installed.logs()[begin:]
                   if line["msg"] == "write refused"]
        assert refused and all(e.startswith(says) for e in refused), (
            refused, tail(installed.log, 30))
    finally:
        annotate(None)
        for kind in "policy", "policybinding":
            plane.kubectl("delete", "--ignore-not-found",
                          f"mutatingadmission{kind}", STRIP)
    until(lambda: all(marks()) and not check(plane).ids, 60,
          lambda: check(plane).text, every=0.5)


def test_a_lease_of_nobody(plane, rights, installed):
    """A Lease that names a pod that does not exist: nobody leads, the check says
    so, and the fix as it is printed helps at once."""
    installed.term()
    plane.request("PATCH", f"{LEASES}/{NAME}", {"spec": {
        "holderIdentity": "ghost_1234", "leaseDurationSeconds": 86400,
        "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z",
                                   time.gmtime())}}, MERGE)
    installed.start()
    report = check(plane, kubeconfig=rights)
    assert (report.code, report.ids) == (1, ["leader-silent"]), report.text
    finding = report.find("leader-silent")
    assert "ghost_1234, which is no pod" in finding["what"]
    assert "leads" not in str(report.json["checks"])
    code, text, _ = installed.fetch("/status?format=text")
    assert code == 200 and finding["fix"] in text and "ghost_1234" in text
    plane.kubectl(*finding["fix"].split()[1:])
    until(lambda: leads(installed), SOON, "it leads")
    until(lambda: not check(plane, kubeconfig=rights).ids, 20,
          lambda: check(plane).text, every=0.5)


def rolled(plane, days):
    """When the Deployment's newest version came to run."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                       time.gmtime(time.time() - days * 86400))
    plane.patch(DEPLOYMENTS.format(NAMESPACE), NAME + "/status", {
        "status": {"conditions": [{
            "type": "Progressing", "status": "True", "lastUpdateTime": at,
            "lastTransitionTime": at, "reason": "NewReplicaSetAvailable"}]}},
        MERGE)


def forget_a_trial(plane, holder, tmp_path):
    """The command that is printed ends it, as soon as the pods are new."""
    rolled(plane, 8)
    plane.kubectl("patch", "clusterrole", NAME, "--type=json", "-p", json.dumps(
        [{"op": "replace", "path": "/rules/0/verbs",
          "value": ["get", "list", "watch"]}]))
    report = check(plane)
    assert report.ids == ["marks-while-observing", "observing-for-long"]
    said = report.find("observing-for-long")
    assert "has not changed for 8 days" in said["what"]
    pasted(plane, tmp_path, said["fix"])
    rolled(plane, 0)
    set_available(plane, NAMESPACE, NAME, 2)
    spec = plane.get(DEPLOYMENTS.format(NAMESPACE), NAME)["spec"]
    assert spec["replicas"] == 2
    args = spec["template"]["spec"]["containers"][0]["args"]
    holder.term()
    holder.flags = [a for a in args if a.startswith("--mode")]
    holder.start()
    until(lambda: check(plane).ids == [], 20, lambda: check(plane).text,
          every=0.5)


def test_a_configmap_that_was_edited(plane, installed, tmp_path):
    """A kubelet brings the file into the pods; they read it when they start."""
    was = installed.config.read_text()
    assert check(plane).ids == []
    installed.config.write_text(was + "# held longer from today on\n")
    report = check(plane)
    assert report.ids == ["configuration-stale"] and report.code == 0
    assert "\nconfig       the file has changed" in installed.fetch(
        "/status?format=text")[1]
    pasted(plane, tmp_path, report.find("configuration-stale")["fix"])
    set_available(plane, NAMESPACE, NAME, 2)
    assert "restartedAt" in str(plane.get(DEPLOYMENTS.format(NAMESPACE), NAME))
    installed.term()
    installed.start()
    until(lambda: check(plane).ids == [], 20, lambda: check(plane).text,
          every=0.5)


def test_a_trial_and_a_dead_holder(plane, installed, tmp_path):
    """Nobody has to say that the mode is observe.  Then nobody leads."""
    installed.term()
    installed.config.write_text(yaml.safe_dump(
        {**installed.settings, "mode": "observe"}))
    installed.start()
    report = until(lambda: (r := check(plane)).ids
                   == ["marks-while-observing"] and r, 20,
                   lambda: check(plane).text, every=0.5)
    assert report.code == 0
    rolled(plane, 6)
    assert check(plane).ids == ["marks-while-observing"]
    forget_a_trial(plane, installed, tmp_path)
    installed.kill9()
    report = until(lambda: (r := check(plane)) and "leader-missing" in r.ids
                   and r, 20, lambda: check(plane).text, every=0.5)
    assert "of pod holder-0" in report.find("leader-unanswered")["what"]
    plane.kubectl("-n", NAMESPACE, "scale", "deployment", NAME, "--replicas=0")
    set_available(plane, NAMESPACE, NAME, 0)
    report = until(lambda: {"marks-without-holder", "pods-not-ready"} < set(
        (r := check(plane)).ids) and r, 20, lambda: check(plane).text,
        every=0.5)
    said = report.find("marks-without-holder")
    assert said["cause"] == "pods-not-ready"
    assert said["fix"] == report.find("pods-not-ready")["fix"]
    pasted(plane, tmp_path, said["fix"])
    settle(plane, installed)
    installed.start()
    until(lambda: check(plane).ids == [], 20, lambda: check(plane).text,
          every=0.5)


def marked(plane):
    return [name for name, meta in plane.metadata(NODES).items()
            if MARK in (meta.get("annotations") or {})]


def test_marks_of_a_holder_that_is_gone(plane, installed, tmp_path):
    installed.term()
    assert len(marked(plane)) == 2
    with broken(plane, [(HOLDER, None)]):
        report = check(plane)
        assert {"marks-without-holder"} <= set(report.ids), report.text
        said = report.find("marks-without-holder")
        assert said["cause"] is None
        pasted(plane, tmp_path, said["fix"])
        assert not marked(plane)
        assert "marks-without-holder" not in check(plane).ids
    installed.start()
    register(plane, installed)


def pasted_beside_a_kubelet(plane, holder, tmp_path, command):
    """The holder's process runs while its Deployment wants pods.  It would end
    with the thread that starts it."""
    with futures.ThreadPoolExecutor(1) as pool:
        done = pool.submit(pasted, plane, tmp_path, command)
        while not done.done():
            n = plane.get(*HOLDER.rsplit("/", 1))["spec"]["replicas"]
            if n == 0 and holder.alive():
                holder.term()
            elif n > 0 and not holder.alive():
                holder.start()
            time.sleep(0.2)
        done.result()
    if not holder.alive():
        holder.start()


def test_marks_in_a_trial(plane, installed, tmp_path):
    """The whole sequence, as it is printed, while the holder leads."""
    node, *_ = plane.metadata(NODES)
    plane.kubectl("annotate", "--overwrite", "node", node, f"{HOLD}=true",
                  f"{MARK}=2026-01-02T03:04:05Z")
    flags = installed.flags
    installed.term()
    installed.flags = ["--mode=observe"]
    try:
        installed.start()
        report = until(lambda: (r := check(plane)).ids
                       == ["marks-while-observing"] and r, 20,
                       lambda: check(plane).text, every=0.5)
        pasted_beside_a_kubelet(plane, installed, tmp_path,
                                report.findings[0]["fix"])
        assert not marked(plane)
        settle(plane, installed)
        until(lambda: check(plane).ids == [], 20, lambda: check(plane).text,
              every=0.5)
    finally:
        installed.term()
        installed.flags = flags
        installed.start()


def test_marks_for_another_hold(plane, installed, tmp_path):
    """The Lease says which hold it is, also while no replica can be asked."""
    node, *_ = plane.metadata(NODES)
    plane.kubectl("annotate", "--overwrite", "node", node, f"{HOLD}-",
                  f"{KEPT}=yes", f"{HELD_KEY}={KEPT}=yes", f"{MARK}=created")
    with settled(plane, installed), broken(
            plane, [(f"{PODS}/{name}", None) for name in ADDRESSES]):
        assert "marks-for-another-hold" in check(
            plane, "--hold-annotation-key", KEPT,
            "--hold-annotation-value", "yes").ids
    report = found(plane, ["marks-for-another-hold"])
    first, = report.findings
    assert first["id"] == "marks-for-another-hold", report.text
    assert f"{HOLD}=true" in first["what"] and node in first["what"], first
    pasted_beside_a_kubelet(plane, installed, tmp_path, first["fix"])
    until(lambda: KEPT not in plane.annotations(NODES, node), 20, "cleared")
    settle(plane, installed)
    until(lambda: check(plane).ids == [], 20, lambda: check(plane).text,
          every=0.5)


# --- the table: the other installations come last -------------------------------

def is_long(installation, n):
    """Helm takes two minutes of processor time to build."""
    return installation == "helm" or n % (7 if installation == "self-signed"
                                          else 19)


@pytest.mark.parametrize("installation, n", [
    pytest.param(i, n, id=f"{way}-" + re.sub(r"\W+", "-", b.what),
                 marks=pytest.mark.long if is_long(way, n) else ())
    for i, way in enumerate(INSTALLATIONS)
    for n, b in enumerate(BREAKS) if way in b.on],
    indirect=["installation"], scope="module")
def test_each_break_is_found_and_fixed(plane, installed, telltale, cut,
                                       tmp_path, n):
    """Its cause is said first.  The printed command fixes it, or why none can
    is known; then it shows more."""
    # No controller ends a namespace here, so it stays from one test to the next.
    status, _ = plane.request("POST", NAMESPACES,
                              {"metadata": {"name": "second"}})
    assert status in (201, 409)
    certs(tmp_path / "other")
    other = base64.b64encode(
        (tmp_path / "other/ca.crt").read_bytes()).decode()
    b = breaks(cut, other, installed.webhook_port)[n]
    telltale.change = b.told
    with settled(plane, installed), broken(plane, b.changes or ()):
        report = found(plane, b.ids, *b.flags)
        assert report.ids == sorted(b.ids), report.text
        assert report.code == exit_code(b.ids)
        first = report.findings[0]
        assert first["id"] == b.ids[0] and not first["cause"], report.text
        assert b.says in first["what"], first
        for f in report.findings:
            assert subprocess.run(["sh", "-n", "-c", f["fix"]],
                                  timeout=10).returncode == 0, f
            assert f["fix"].split()[0] in (
                "kubectl", "helm", "ls", "if", "echo", "grep",
                "holderctl", "karpenter-node-holder"), f
            assert f["fix"] != "holderctl check", "the command just run"
        if b.fixes in (LOG, EDIT, NEWER):
            return  # no kubelet, no terminal and no registry is here
        pasted(plane, tmp_path, first["fix"])
        if b.fixes is not True:
            return
        settle(plane, installed)
        report = found(plane, ())
        assert not report.ids, (first["fix"], report.text)
        until(lambda: MARK in (plane.create(
            NODES + "?dryRun=All", node_body("after"))["metadata"].get(
                "annotations") or {}), 10, "a dry run is held")
        made = plane.create(NODES, node_body("after"))
        plane.delete(NODES, "after")
        assert MARK in made["metadata"].get("annotations", {}), made
