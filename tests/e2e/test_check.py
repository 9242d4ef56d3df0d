# SPDX-License-Identifier: Apache-2.0
"""`karpenter-node-holder check --cluster` finds what is wrong with an
installation, and nothing where nothing is, with the rights of deploy/check."""
import base64
import copy
import json
import subprocess
import time

import pytest
import yaml

from cluster import node_pool
from controlplane import (ADMISSION, CLAIMS, JSONPATCH, MERGE, NODES, POOLS,
                          REPO, WEBHOOKS, ApiError, spawn, until)
from hold import HOLD, MARK, stamp
from holder import BINARY, certs, deployed
from karpenter import claim_body, node_body
from lead import LEASES, NAME, NAMESPACE, SHORT
from uninstall import environment

ACCOUNT = "node-holder-check"
CHECK = NAME + "-check"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
VERSION = "app.kubernetes.io/version"
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
    return [BINARY, "check", "--cluster", "--kubeconfig",
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


def deployment(plane, namespace, name, labels, image, available):
    plane.apply({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": image}]}}}})
    set_available(plane, namespace, name, available)


def set_available(plane, namespace, name, n):
    plane.patch(DEPLOYMENTS.format(namespace), name + "/status", {"status": {
        "replicas": n, "readyReplicas": n, "availableReplicas": n}})


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
    yield made, account
    plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-",
                  stdin=yaml.safe_dump_all(made))


@pytest.fixture
def rights(plane, job):
    """Takes from the account all but its own rights."""
    plane.request("DELETE", f"{RBAC}/clusterrolebindings/stolen")
    return plane.write_kubeconfig(plane.dir / "check", job[1])


@pytest.fixture
def holder(plane, make_holder, karpenter):
    """A healthy installation: the manifests as they are, two pods of it on
    machines of a NodePool, and Karpenter."""
    plane.create(POOLS, pool("web", grace="24h"))
    made = [karpenter.machine("web") for _ in range(2)]
    for o in deployed("namespace.yaml"):
        plane.apply(o)
    template, = deployed("deployment.yaml")
    plane.apply(template)
    set_available(plane, NAMESPACE, NAME, 2)
    for i, m in enumerate(made):
        pod = copy.deepcopy(template["spec"]["template"])
        pod["metadata"]["name"] = f"holder-{i}"
        pod["spec"]["nodeName"] = m.node
        plane.create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod})
    deployment(plane, "kube-system", "karpenter", {
        "app.kubernetes.io/name": "karpenter", VERSION: "1.14.1"}, "x", 1)
    plane.request("DELETE", f"{LEASES}/{NAME}")
    holder = make_holder(register=False, holdDuration="1h",
                         nodePools={"exclude": ["apart"]}, leaderElection=SHORT.config())
    holder.register(timeout=10)
    until(lambda: all(MARK in (m.get("annotations") or {})
                      for m in plane.metadata(NODES).values()), 20,
          "the leader holds both")
    yield holder
    plane.kubectl("-n", NAMESPACE, "delete", "--ignore-not-found", "--force",
                  f"deployment/{NAME}", "pod/holder-0", "pod/holder-1",
                  f"lease/{NAME}")
    plane.kubectl("-n", "kube-system", "delete", "--ignore-not-found",
                  "deployment/karpenter", f"deployment/{NAME}-watcher")
    plane.kubectl("delete", "--ignore-not-found",
                  f"clusterrole/{NAME}-role",
                  f"clusterrolebinding/{NAME}-rolebinding",
                  "mutatingwebhookconfiguration/second")


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
             f"{ACCOUNT}/token", {"spec": {}})):
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


# --- nothing is wrong -----------------------------------------------------------

# What cannot be looked at without each of the rules of deploy/check.
MISSED = {
    "nodes": ["dry-run-unknown", "holder-unknown"],
    "nodeclaims": ["dry-run-unknown", "holder-unknown"],
    "nodepools": ["nodepools-unknown"],
    "mutatingwebhookconfigurations": ["admission-unknown"],
    "mutatingadmissionpolicies": ["admission-unknown"],
    "subjectaccessreviews": ["rights-unknown"],
    "deployments": ["holder-unknown", "leftovers-unknown"],
    "clusterroles": ["leftovers-unknown"],
    "clusterrolebindings": ["leftovers-unknown"],
    "pods": ["placement-unknown"],
    "leases": ["holder-unknown"],
}


def accounts_without(plane, made):
    """For each rule of the Job's roles an account that has all others.
    Returns {the rule's first resource: the account}."""
    roles = [o for o in made if o["kind"] in ("ClusterRole", "Role")]
    names = [rule["resources"][0] for o in roles for rule in o["rules"]]
    for name in names:
        subject = {"kind": "ServiceAccount", "name": "without-" + name,
                   "namespace": NAMESPACE}
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
    return {name: plane.service_account(NAMESPACE, "without-" + name)
            for name in names}


def test_a_healthy_installation(plane, job, rights, holder, tmp_path):
    before = versions(plane)
    # The roles are in force a moment after they are written.
    report = until(lambda: (r := check(plane, "--wait", "20s",
                                       kubeconfig=rights))
                   and "403" not in r.text and r, 20, "the rights", every=0.5)
    assert report.findings == [] and report.code == 0, report.text
    assert set(report.outcomes.values()) == {"ok"}, report.outcomes
    assert "Karpenter 1.14.1" in report.text
    text = shown(plane)
    assert text.endswith("\n0 errors, 0 warnings\n"), text
    assert check(plane, "--mode", "observe").ids == [
        "dry-run-held", "dry-run-held", "marks-while-observing"]
    print(text)
    left = accounts_without(plane, job[0])
    assert set(left) == set(MISSED)
    for name, account in left.items():
        kubeconfig = plane.write_kubeconfig(tmp_path / name, account)

        def misses():
            report = check(plane, kubeconfig=kubeconfig)
            return report.ids == sorted(MISSED[name]) and all(
                "403" in f["what"] for f in report.findings
                if f["id"].endswith("-unknown"))
        until(misses, 20, lambda: name + ": "
              + check(plane, kubeconfig=kubeconfig).text, every=0.5)
    assert versions(plane).keys() == before.keys(), "it has written nothing"


# --- what is wrong --------------------------------------------------------------

def test_what_is_wrong_with_the_cluster(plane, holder):
    for made in (
            # The first that is tried; the check is not told that it is left out.
            pool("apart"),
            pool("hold", annotations={HOLD: "true"}),
            pool("never", consolidate_after="Never"),
            pool("fixed", replicas=1),
            pool("meant", replicas=1, metadata={"annotations": {
                "karpenter-node-holder.io/enabled": "false"}}),
            pool("blocked", budgets=[{"nodes": "0"}]),
            pool("short", expire_after="5s"),
            pool("odd", metadata={"annotations": {
                "karpenter-node-holder.io/hold-duration": "ten"}})):
        plane.create(POOLS, made)
    plane.patch(PODS, "holder-0",
                {"metadata": {"annotations": {HOLD: None}}})
    plane.patch(POOLS, "web", {"spec": {"template": {"spec": {
        "terminationGracePeriod": None}}}}, MERGE)
    labels = {"app.kubernetes.io/name": "karpenter", VERSION: "1.1.0"}
    deployment(plane, "kube-system", "karpenter", labels, "x", 1)
    # The Go program
    deployment(plane, "kube-system", NAME + "-watcher", {}, "x", 1)
    plane.apply({"apiVersion": "rbac.authorization.k8s.io/v1",
                 "kind": "ClusterRole", "metadata": {"name": NAME + "-role"},
                 "rules": []})
    for name in "consolidate", "evict":
        plane.create(NODES, node_body(name, None, {
            f"karpenter.sh/do-not-{name}": "true"}, unregistered=False))
    plane.patch(CLAIMS, next(iter(plane.metadata(CLAIMS))), {"metadata": {
        "annotations": {"karpenter.sh/do-not-consolidate": "true"}}}, MERGE)
    for name in "old", "taken":
        plane.create(NODES, node_body(name, None, unregistered=False))
        plane.ok("PATCH", f"{NODES}/{name}?fieldManager=" + (
            NAME if name == "old" else "kubectl-annotate"),
            {"metadata": {"annotations": {HOLD: "true"}}}, MERGE)
    # The holder's own rights
    plane.delete(RBAC + "/clusterrolebindings", NAME)
    try:
        report = until(lambda: (r := check(plane, "--hold-duration", "6s"))
                       and "right-missing" in r.ids and r, 20, "RBAC",
                       every=0.5)
    finally:
        for o in deployed("rbac.yaml"):
            plane.apply(o)
    assert report.ids == sorted([
        "nodepool-template-hold", "nodepool-never-consolidates",
        "nodepool-static", "nodepool-budget", "nodepool-expires",
        "nodepool-annotation", "placement-movable", "placement-no-grace",
        "karpenter-replacements", "go-program", "go-rights", "go-annotations",
        "go-annotations", "go-holds", "right-missing"]), report.text
    cluster, = (o for o in deployed("rbac.yaml")
                if o["kind"] == "ClusterRole")
    want = [f"{verb} {resource}{'.' if group else ''}{group}"
            for rule in cluster["rules"] for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]]
    said = report.find("right-missing")["what"].split(" may not ")[1]
    assert said.split(", ") == want
    assert "Nodes: 1, such as old" in report.find("go-holds")["what"]
    assert all("on Nodes: 1, " in f["what"] for f in report.findings
               if f["id"] == "go-annotations")     # NodeClaims do not count
    # The command of a finding mends it.
    mend = report.find("nodepool-static")["mend"].split()
    assert mend[0] == "kubectl"
    plane.kubectl(*mend[1:])
    assert "nodepool-static" not in check(plane).ids
    print(shown(plane, "--hold-duration", "6s"))


def test_what_is_wrong_with_the_webhook(plane, holder, tmp_path):
    made = plane.get(WEBHOOKS, NAME)
    ours = made["webhooks"][0]
    second = {**made, "metadata": {"name": "second"}}
    del ours["matchConditions"]
    ours.update(matchPolicy="Exact", failurePolicy="Fail", objectSelector={
        "matchLabels": {"a": "b"}})
    ours["rules"][1]["resources"] = ["nodepools"]
    certs(tmp_path / "other")
    ours["clientConfig"]["caBundle"] = base64.b64encode(
        (tmp_path / "other/ca.crt").read_bytes()).decode()
    plane.ok("PUT", f"{WEBHOOKS}/{NAME}", made)

    def unheld():
        report = check(plane)
        return "dry-run-unheld" in report.ids and report
    report = until(unheld, 20, lambda: check(plane).text, every=0.5)
    assert report.ids == sorted([
        "webhook-rules", "webhook-rules-wide", "webhook-match-conditions",
        "webhook-selector", "webhook-failure-policy", "webhook-settings",
        "bundle-other-ca", "dry-run-unheld", "dry-run-unheld"]), report.text
    print(shown(plane))
    # Twice; one without a caBundle, and one with rubbish.
    del ours["clientConfig"]["caBundle"]
    plane.ok("PUT", f"{WEBHOOKS}/{NAME}",
             {**made, "metadata": plane.get(WEBHOOKS, NAME)["metadata"]})
    second["webhooks"] = [{**ours, "clientConfig": {
        **ours["clientConfig"]}}]
    plane.create(WEBHOOKS, second)
    ids = check(plane).ids
    assert "webhook-twice" in ids and ids.count("bundle-missing") == 2, ids
    holder.unregister()
    plane.delete(WEBHOOKS, "second")

    # Without any, but a holder that is about to be registered.
    assert "webhook-missing" in check(plane).ids
    log = tmp_path / "log"
    waits = spawn(command(plane, "--wait", "60s", "-o=json"), log,
                  environment(plane))
    time.sleep(2)
    assert waits.poll() is None
    holder.register(timeout=10)
    assert waits.wait(60) == 0, log.read_text()
    assert '"errors":0' in log.read_text()

    # Beside an admission policy with its binding.
    policy = REPO / "deploy/components/admission-policy/policy.yaml"
    try:
        plane.kubectl("apply", "-f", policy)
        assert check(plane).ids == ["webhook-twice"]
    finally:
        plane.kubectl("delete", "--ignore-not-found", "-f", policy)


def test_marks_without_a_holder(plane, holder):
    holder.kill9()
    until(lambda: "leader-missing" in check(plane).ids, 20,
          lambda: check(plane).text, every=0.5)
    set_available(plane, NAMESPACE, NAME, 0)
    # What renews certificates is no holder.
    deployment(plane, NAMESPACE, NAME + "-renewer", {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/component": "renewer"}, "x", 1)
    report = check(plane)
    plane.kubectl("-n", NAMESPACE, "delete", f"deployment/{NAME}-renewer")
    assert report.ids == ["dry-run-unheld", "dry-run-unheld",
                          "marks-without-holder"], report.text
    assert "uninstall" in report.find("marks-without-holder")["mend"]
