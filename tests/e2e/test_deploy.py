# SPDX-License-Identifier: Apache-2.0
"""deploy/: kubectl builds every overlay, and a real API server accepts it.
The holder runs with the rights that the overlay gives it, and needs all of
them and no others.

The objects of cert-manager and of the Prometheus operator are checked against
their own CRDs.
"""
import base64
import concurrent.futures
import contextlib
import copy
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import time

import pytest
import yaml

from cluster import node_pool
from controlplane import (APPLY, BUILD, CLAIMS, JSONPATCH, NAMESPACES, NODES,
                          POOLS, REPO, WEBHOOKS, ControlPlane, until)
from hold import HELD_KEY, HOLD, MARK, SOON, clear, nodes, stamp
from holder import BINARY, Holder
from karpenter import claim_body, node_body

NAME = "karpenter-node-holder"
EVENTS = NAME + "-events"
SELF_SIGNED = NAME + "-self-signed"
TLS = NAME + "-tls"
TICKETS = NAME + "-tickets"
HOLD_WHILE = NAME + "-hold-while"
UNINSTALL = NAME + "-uninstall"
DEPLOY = REPO / "deploy"
OVERLAYS = ("default", "demo", "eks", "self-signed", "trial")
# What kustomize makes of one is much like what it makes of another: some are
# tried in make test, and all with make e2e-long.
ALIKE = [pytest.param(name, marks=[] if name in ("eks", "self-signed")
                      else pytest.mark.long) for name in OVERLAYS]
FOLDERS = ["base", *(pytest.param(f"overlays/{p.values[0]}", marks=p.marks)
                     for p in ALIKE)]
COMPONENTS = ("access", "admission-policy", "cert-manager", "dedicated-nodes",
              "high-availability", "hold-while", "network-policy", "observe",
              "prometheus", "self-signed", "tickets")
# component -> what has to be listed before it
NEEDS = {"hold-while": ["tickets"]}
OTHERS = ("cert-manager-crds", "prometheus-operator-crds")
ACCOUNT = f"system:serviceaccount:{NAME}:{NAME}"
RENEWER = NAME + "-renewer"
CLASS = "karpenter-node-holder.io/replacement"
CLASS_UID = CLASS + "-uid"

CLUSTER_WIDE = {"Namespace", "ClusterRole", "ClusterRoleBinding",
                "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding"}


@pytest.fixture(scope="module")
def plane(plane_programs, build_programs):
    """Replaces the session's plane by one with an audit log of the holder."""
    build_programs(*OTHERS)
    with ControlPlane(name="deploy", audit=[
            {"level": "Metadata", "users": [ACCOUNT, f"{ACCOUNT}-renewer"]},
            {"level": "None"}]) as plane:
        plane.install_crds()
        for folder in OTHERS:
            plane.install_crds(BUILD / folder)
        yield plane


@pytest.fixture(scope="module")
def kustomize(build_programs):
    build_programs("kustomize")

    def run(*args, cwd):
        return subprocess.run([BUILD / "bin" / "kustomize", *args], cwd=cwd,
                              capture_output=True, text=True, check=True,
                              timeout=60).stdout
    return run


def kustomized(plane, folder):
    done = plane.kubectl("kustomize", folder)
    assert not done.stderr, done.stderr
    return done.stdout


# What the repository has does not change meanwhile.
kustomized_once = functools.cache(kustomized)


def render(plane, folder):
    """The objects, with those of a List as kubectl takes it apart."""
    build = kustomized_once if DEPLOY in folder.parents else kustomized
    built = [o for o in yaml.safe_load_all(build(plane, folder)) if o]
    return [one for o in built
            for one in (o["items"] if o["kind"] == "List" else [o])]


@pytest.fixture
def overlay(tmp_path):
    """make(...) returns a new overlay, as someone who installs would write it.
    """
    def make(resource, components=(), files=None, more=(), **fields):
        def beside(path):
            return os.path.relpath(DEPLOY / path, folder.resolve())
        folder = tmp_path / f"overlay{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        content = {"apiVersion": "kustomize.config.k8s.io/v1beta1",
                   "kind": "Kustomization",
                   "resources": [beside(resource), *more],
                   "components": [beside(f"components/{c}")
                                  for c in components], **fields}
        if "namespace" in fields:
            content.setdefault("transformers", [beside("namespace")])
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
        return folder
    return make


def find(objects, kind, name=NAME):
    found = [o for o in objects
             if o["kind"] == kind and o["metadata"]["name"] == name]
    assert len(found) == 1, (kind, name, found)
    return found[0]


def kinds(objects):
    return {o["kind"] for o in objects}


def configuration(objects):
    """The ConfigMap that the Deployment mounts."""
    pod = find(objects, "Deployment")["spec"]["template"]["spec"]
    mounted, = (v["configMap"] for v in pod["volumes"]
                if v["name"] == "config")
    return find(objects, "ConfigMap", mounted["name"])


def apply(plane, objects, *flags):
    """Applies server-side; every unknown field is an error.  Returns the
    objects as they are stored."""
    done = plane.kubectl("apply", "--server-side", "--validate=strict", *flags,
                         "-o", "yaml", "-f", "-",
                         stdin=yaml.safe_dump_all(objects))
    assert "Warning" not in done.stderr, done.stderr
    return yaml.safe_load(done.stdout)["items"]


def identities(objects):
    return sorted((o["kind"], o["metadata"].get("namespace"),
                   o["metadata"]["name"]) for o in objects)


def remove(plane, objects):
    """Removes all but the Namespaces, as nothing here would finish their
    deletion."""
    plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-",
                  stdin=yaml.safe_dump_all(
                      [o for o in objects if o["kind"] != "Namespace"]))


@contextlib.contextmanager
def installed(plane, objects):
    try:
        yield apply(plane, objects)
    finally:
        remove(plane, objects)


def policy_in_force(plane, account):
    """Waits until least-privilege and the rights are in force, which takes the
    API server a moment.  A request without the rights never gets as far as the
    policy."""
    plane.create(NODES, node_body("probe"))
    until(lambda: "the holder may" in str(plane.request(
        "PATCH", f"{NODES}/probe?dryRun=All",
        {"metadata": {"labels": {"a": "b"}}}, user=account)[1]),
        20, "the policy in force")
    plane.delete(NODES, "probe")


def check_nothing_denied(events):
    denied = [(e["verb"], e["requestURI"], e["responseStatus"])
              for e in events if e["responseStatus"]["code"] in (401, 403)
              or e["annotations"]["authorization.k8s.io/decision"] != "allow"]
    assert not denied


# What is built

@pytest.fixture(scope="module")
def built(plane):
    return {name: render(plane, DEPLOY / "overlays" / name)
            for name in OVERLAYS}


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_is_applied(plane, built, name):
    objects = built[name]
    with installed(plane, objects) as kept:
        assert identities(kept) == identities(objects)
        check_pods(plane, find(kept, "Deployment"))
        # They are applied once more, as GitOps does, and nothing changes.
        assert versions(apply(plane, objects)) == versions(kept)


def versions(objects):
    return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
            for o in objects}


def check_pods(plane, deployment):
    """The Pods pass admission in a namespace that enforces `restricted`."""
    namespace = deployment["metadata"]["namespace"]
    enforced = plane.get(NAMESPACES, namespace)["metadata"]["labels"]
    assert enforced["pod-security.kubernetes.io/enforce"] == "restricted"
    pods = f"{NAMESPACES}/{namespace}/pods?dryRun=All"
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"generateName": NAME + "-",
                        "labels": deployment["spec"]["template"]["metadata"][
                            "labels"]},
           "spec": deployment["spec"]["template"]["spec"]}
    selector = deployment["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod["metadata"]["labels"].items()
    made = plane.create(pods, pod)["spec"]
    assert made["priority"] == 2000000000
    assert made["securityContext"]["runAsUser"] == 65532
    container, = made["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["livenessProbe"] and container["readinessProbe"]
    # A Pod that is not restricted would be refused.
    container["securityContext"]["allowPrivilegeEscalation"] = True
    status, answer = plane.request("POST", pods, {**pod, "spec": made})
    assert status == 403 and "PodSecurity" in answer["message"]


def test_what_is_in_which_overlay(built):
    default, demo, eks = (kinds(built[n]) for n in ("default", "demo", "eks"))
    assert {"Certificate", "Issuer", "PodDisruptionBudget"} <= default
    assert find(built["default"], "Deployment")["spec"]["replicas"] == 2
    assert eks - default == {"NetworkPolicy"}
    for objects in built.values():
        assert find(objects, "ValidatingAdmissionPolicyBinding")["spec"] == {
            "policyName": NAME, "validationActions": ["Deny"]}
        assert find(objects, "ValidatingAdmissionPolicy")
    assert demo < default
    assert find(built["demo"], "Deployment")["spec"]["replicas"] == 1
    assert default - kinds(built["self-signed"]) == {"Certificate", "Issuer"}
    assert find(built["self-signed"], "Deployment")["spec"]["replicas"] == 2
    # The trial lacks two rights, and one flag makes the difference.
    assert granted(built["self-signed"]) - granted(built["trial"]) == {
        (None, "", "nodes", None, "patch"),
        (None, "karpenter.sh", "nodeclaims", None, "patch")}
    trial, other = copy.deepcopy([find(built[name], "Deployment") for name in
                                  ("trial", "self-signed")])
    args = [d["spec"]["template"]["spec"]["containers"][0].pop("args")
            for d in (trial, other)]
    assert trial == other and args[0] == [*args[1], "--mode=observe"]


def check_labels(objects):
    """All objects have the recommended labels.  Returns the version."""
    version = re.search(r"^VERSION := (\S+)$",
                        (REPO / "Makefile").read_text(), re.M)[1]
    app = "app.kubernetes.io/"
    wanted = {app + "name": NAME, app + "instance": NAME,
              app + "version": version, app + "part-of": NAME,
              app + "managed-by": "kustomize"}
    for o in objects:
        assert wanted.items() <= o["metadata"]["labels"].items(), o
    return version


@pytest.mark.parametrize("name", COMPONENTS)
def test_each_component_alone(plane, overlay, name):
    needs = NEEDS.get(name, [])
    folder = overlay("base", components=[*needs, name])
    base = render(plane, overlay("base", components=needs))
    objects = render(plane, folder)
    assert objects != base
    check_labels(objects)
    with installed(plane, objects) as kept:
        assert identities(kept) == identities(objects)


def test_a_component_that_is_part_of_base_now(plane, overlay):
    """Overlays that name it are built as before."""
    assert render(plane, overlay("base", ["least-privilege"])) == \
        render(plane, DEPLOY / "base")


def test_labels(plane, overlay):
    base = render(plane, DEPLOY / "base")
    version = check_labels(base)
    # Nothing else in the overlay gets them.
    theirs = {"apiVersion": "v1", "kind": "ConfigMap",
              "metadata": {"name": "theirs", "labels": {"a": "b"}}}
    folder = overlay("overlays/eks", ["prometheus"],
                     files={"theirs.yaml": yaml.safe_dump(theirs)},
                     more=["theirs.yaml"])
    objects = render(plane, folder)
    assert find(objects, "ConfigMap", "theirs") == theirs
    objects.remove(theirs)
    check_labels(objects)
    image = find(base, "Deployment")["spec"]["template"]["spec"][
        "containers"][0]["image"]
    assert image == f"{NAME}:{version}"
    # All selectors of Pods select these.
    pod = find(base, "Deployment")["spec"]["template"]["metadata"]["labels"]
    for selector in (
            find(objects, "Service")["spec"]["selector"],
            find(objects, "PodDisruptionBudget")["spec"]["selector"][
                "matchLabels"],
            find(objects, "NetworkPolicy")["spec"]["podSelector"][
                "matchLabels"]):
        assert selector and selector.items() <= pod.items()
    monitored = find(objects, "ServiceMonitor")["spec"]
    assert monitored["selector"]["matchLabels"].items() <= find(
        objects, "Service")["metadata"]["labels"].items()
    ports = {p["name"]: p["targetPort"]
             for p in find(objects, "Service")["spec"]["ports"]}
    assert monitored["endpoints"][0]["port"] in ports
    named = {p["name"]: p["containerPort"] for p in find(
        objects, "Deployment")["spec"]["template"]["spec"]["containers"][0][
            "ports"]}
    assert set(ports.values()) == set(named)
    assert {p["port"] for rule in find(objects, "NetworkPolicy")["spec"][
        "ingress"] for p in rule["ports"]} == set(named.values())


@pytest.mark.parametrize("eks, ports", [(False, {443, 6443}), (True, {443})])
def test_the_network_policy_selects_every_pod(plane, overlay, eks, ports):
    """Also the renewer's, and on EKS without cert-manager as well."""
    patches = yaml.safe_load((DEPLOY / "overlays/eks/kustomization.yaml")
                             .read_text())["patches"] if eks else []
    objects = render(plane, overlay(
        "overlays/self-signed", ["network-policy"], patches=patches))
    policy = find(objects, "NetworkPolicy")["spec"]
    expression, = policy["podSelector"]["matchExpressions"]
    assert expression["operator"] == "In"
    pods = [o["spec"]["template"]["metadata"]["labels"] for o in objects
            if o["kind"] == "Deployment"]
    assert len(pods) == 2
    for labels in pods:
        assert labels[expression["key"]] in expression["values"]
        assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert {p["port"] for p in policy["egress"][0]["ports"]} == ports


# What an overlay of one's own may change

def check_namespace(objects, namespace):
    """No object is left in another namespace, except for Events in default and
    what belongs to tickets."""
    for o in objects:
        where = o["metadata"].get("namespace")
        if o["kind"] in CLUSTER_WIDE:
            assert where is None, o
        elif o["metadata"]["name"] == EVENTS:
            assert where == "default", o
        elif o["metadata"]["name"].startswith(NAME + "-ticket") or (
                o["kind"].startswith("Role")
                and o["metadata"]["name"] == HOLD_WHILE):
            assert where == TICKETS, o
        else:
            assert where == namespace, o
        for subject in o.get("subjects", []):
            assert subject == {
                "kind": "ServiceAccount", "namespace": namespace,
                "name": {SELF_SIGNED: RENEWER, HOLD_WHILE: HOLD_WHILE}.get(
                    o["metadata"]["name"], NAME)}
    find(objects, "Namespace", namespace)
    assert find(objects, "Role", EVENTS) and find(
        objects, "RoleBinding", EVENTS)
    hook, = find(objects, "MutatingWebhookConfiguration")["webhooks"]
    service = hook["clientConfig"]["service"]
    assert (service["namespace"], service["name"]) == (namespace, NAME)
    if "Certificate" in kinds(objects):
        assert find(objects, "Certificate")["spec"]["dnsNames"] == [
            f"{NAME}.{namespace}.svc", f"{NAME}.{namespace}.svc.cluster.local"]
        assert find(objects, "MutatingWebhookConfiguration")["metadata"][
            "annotations"]["cert-manager.io/inject-ca-from"] == \
            f"{namespace}/{NAME}"
    for o in objects:
        if o["kind"] == "ValidatingAdmissionPolicy" and \
                o["metadata"]["name"] != TICKETS:
            condition, = o["spec"]["matchConditions"]
            assert condition["expression"].startswith(
                "request.userInfo.username.startsWith("
                f"'system:serviceaccount:{namespace}:')")


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_namespace_of_an_overlay(built, name):
    check_namespace(built[name], NAME)


@pytest.mark.parametrize("name", ALIKE)
def test_another_namespace(plane, overlay, built, name):
    objects = render(plane, overlay(
        f"overlays/{name}", ["prometheus", "tickets", "hold-while"],
        namespace="platform"))
    check_namespace(objects, "platform")
    assert kinds(built[name]) < kinds(objects)
    # An overlay of that overlay moves it again.
    again = render(plane, overlay(
        overlay(f"overlays/{name}", ["tickets", "hold-while"],
                namespace="platform"), namespace="other"))
    check_namespace(again, "other")
    for found in (objects, again):
        assert find(found, "Namespace", TICKETS)
        assert find(found, "RoleBinding", TICKETS)
        assert find(found, "RoleBinding", HOLD_WHILE)
    if name != "eks":
        return
    with installed(plane, objects):
        for verb, group, resource, where, granted in (
                ("patch", "", "nodes", "", True),
                ("create", "coordination.k8s.io", "leases", "platform", True),
                ("create", "coordination.k8s.io", "leases", NAME, False),
                ("create", "events.k8s.io", "events", "default", True),
                ("create", "events.k8s.io", "events", "platform", False),
                ("create", "", "secrets", "platform", False),
                ("list", "coordination.k8s.io", "leases", TICKETS, True),
                ("create", "coordination.k8s.io", "leases", TICKETS, False),
                ("list", "", "events", "default", True)):
            review = plane.create(
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                {"apiVersion": "authorization.k8s.io/v1",
                 "kind": "SubjectAccessReview",
                 "spec": {"user": f"system:serviceaccount:platform:{NAME}",
                          "resourceAttributes": {
                              "verb": verb, "group": group,
                              "resource": resource, "namespace": where}}})
            assert review["status"]["allowed"] == granted, (verb, resource)


@pytest.mark.parametrize("name", [
    "trial", pytest.param("default", marks=pytest.mark.long)])
def test_an_overlay_with_tickets(plane, overlay, built, name):
    """One flag and the objects of the component are all that is new.
    test_tickets.py has overlays/self-signed."""
    objects = render(plane, overlay(f"overlays/{name}", ["tickets"]))
    was, now = (copy.deepcopy(find(found, "Deployment"))
                for found in (built[name], objects))
    args = [d["spec"]["template"]["spec"]["containers"][0].pop("args")
            for d in (was, now)]
    assert was == now
    assert args[1] == [*args[0], "--tickets-namespace=" + TICKETS]
    assert granted(objects) - granted(built[name]) == {
        (TICKETS, "coordination.k8s.io", "leases", None, verb) for verb in (
            "get", "list", "watch", "create", "patch", "update", "delete")}
    check_labels(objects)
    with installed(plane, objects) as kept:
        assert identities(kept) == identities(objects)
        assert versions(apply(plane, objects)) == versions(kept)


def test_an_overlay_with_hold_while(plane, overlay):
    """Its pod is as confined as the holder's, has the same image, and is none
    of those that the holder's Service, budget and policies select.
    test_hold_while.py runs it."""
    parts = ["tickets", "hold-while", "network-policy"]
    image = {"name": NAME, "newName": "registry.example.com/holder",
             "digest": "sha256:" + "0" * 64}
    objects = render(plane, overlay("overlays/self-signed", parts,
                                    images=[image]))
    was = render(plane, overlay("overlays/self-signed", ["tickets"]))
    assert granted(objects) - granted(was) == {
        (TICKETS, "coordination.k8s.io", "leases", "hold-while", verb)
        for verb in ("get", "patch", "delete")}, "create is there already"
    holder, made = (find(objects, "Deployment", name)["spec"]
                    for name in (NAME, HOLD_WHILE))
    pods = f"{NAMESPACES}/{NAME}/pods?dryRun=All"
    with installed(plane, objects) as kept:
        assert versions(apply(plane, objects)) == versions(kept)
        template = {"apiVersion": "v1", "kind": "Pod", **made["template"]}
        template["metadata"]["name"] = "a"
        pod = plane.create(pods, template)["spec"]
    assert pod["securityContext"] == {
        k: v for k, v in holder["template"]["spec"]["securityContext"].items()
        if k != "fsGroup"}
    one, other = (spec["containers"][0] for spec in (
        pod, holder["template"]["spec"]))
    assert one["securityContext"] == other["securityContext"]
    assert one["image"] == other["image"] == \
        f"{image['newName']}@{image['digest']}"
    labels = made["template"]["metadata"]["labels"]
    assert made["selector"]["matchLabels"].items() <= labels.items()
    for o in objects:
        spec = o.get("spec", {})
        selector = spec.get("podSelector") or spec.get("selector") or {}
        if not selector or o["metadata"]["name"] == HOLD_WHILE:
            continue
        parts = selector.get("matchLabels", {} if "matchExpressions" in selector
                             else selector)
        assert not (parts.items() <= labels.items() and all(
            labels[e["key"]] in e["values"]
            for e in selector.get("matchExpressions", []))), o
    # It goes on with the ticket of the pod before, as which it is known.
    assert pod["terminationGracePeriodSeconds"] == 0 and pod["hostname"]
    assert made["replicas"] == 1


def test_hold_while_without_tickets_is_refused(plane, overlay):
    for parts in (["hold-while"], ["hold-while", "tickets"]):
        assert f"nothing selected by List.[noVer].[noGrp]/{TICKETS}" in \
            refused(plane, overlay("base", parts))


@pytest.mark.parametrize("layers, account", [
    ([{"namespace": "platform"}], f"platform:{NAME}"),
    pytest.param([{"namePrefix": "x"}], f"{NAME}:x{NAME}", marks=pytest.mark.long),
    pytest.param([{"nameSuffix": "2"}], f"{NAME}:{NAME}2", marks=pytest.mark.long),
    ([{"namespace": "platform"}, {"namePrefix": "x-", "nameSuffix": "-y"}],
     f"platform:x-{NAME}-y")],
    ids=["namespace", "prefix", "suffix", "all"])
def test_the_policy_stays_in_force(plane, clean, overlay, layers, account):
    """Under other names than ours it limits the account that the Pods have."""
    folder = "overlays/eks"
    for fields in layers:
        folder = overlay(folder, **fields)
    objects = [o for o in render(plane, folder)
               if o["kind"] != "MutatingWebhookConfiguration"]
    deployment, = (o for o in objects if o["kind"] == "Deployment")
    assert account == ":".join((
        deployment["metadata"]["namespace"],
        deployment["spec"]["template"]["spec"]["serviceAccountName"]))
    with installed(plane, objects):
        user = plane.service_account(*account.split(":"))
        policy_in_force(plane, user)
        plane.create(NODES, node_body("n"))
        status, answer = plane.request(
            "PATCH", f"{NODES}/n?fieldManager={NAME}", annotated(**MINE),
            user=user)
        assert status == 200, answer
        # Others in that namespace are not limited.
        other = plane.identity(
            f"system:serviceaccount:{account.split(':')[0]}:karpenter",
            "system:masters")
        assert plane.request("PATCH", f"{NODES}/n", {"metadata": {"labels": {
            "a": "b"}}}, user=other)[0] == 200


def test_the_renewer_in_another_namespace(plane, overlay):
    """And with a prefix."""
    objects = [o for o in render(plane, overlay(overlay(
        "overlays/self-signed", namespace="platform"), namePrefix="x"))
        if o["kind"] != "MutatingWebhookConfiguration"]
    secrets = f"{NAMESPACES}/platform/secrets"
    with installed(plane, objects):
        account = plane.service_account("platform", "x" + RENEWER)
        until(lambda: "the renewer may" in str(plane.request(
            "POST", f"{secrets}?dryRun=All", a_secret("other"),
            user=account)[1]), 20, "the policy in force")
        status, answer = plane.request(
            "POST", f"{secrets}?dryRun=All&fieldManager={NAME}", a_secret(),
            user=account)
        assert status == 201, answer


def test_a_namespace_and_a_prefix_at_once_are_refused(plane, overlay):
    """deploy/namespace would not find its objects."""
    said = refused(plane, overlay("overlays/default", namespace="platform",
                                  namePrefix="x-"))
    assert "namespace-alone-is-not-enough" in said


def refused(plane, folder):
    """What kubectl says of an overlay that it does not build."""
    done = plane.kubectl("kustomize", folder, check=False)
    assert done.returncode and not done.stdout
    return done.stderr


@pytest.mark.parametrize("name", FOLDERS)
def test_a_namespace_alone_is_refused(plane, overlay, name):
    """Without the transformer the Role for Events would leave namespace
    default, and the certificate would keep its names."""
    for namespace in ("platform", NAME):
        said = refused(plane, overlay(name, namespace=namespace,
                                      transformers=[]))
        assert "namespace-alone-is-not-enough" in said
        assert "list-deploy-namespace-under-transformers" in said
    # The objects by which kustomize notices are not in what it builds.
    for fields in ({}, {"namespace": "platform"}, {"namespace": "default"}):
        objects = render(plane, overlay(name, **fields))
        assert len([o for o in objects if o["kind"] == "ConfigMap"]) == 1
        assert "Pod" not in kinds(objects)


@pytest.mark.parametrize("transformers", [[], None],
                         ids=["namespace alone", "with the transformer"])
def test_the_job_that_uninstalls_in_another_namespace(plane, overlay,
                                                      transformers):
    """The rights are those of the ServiceAccount there.  What the build takes
    from the installation is not in the output."""
    given = {} if transformers is None else {"transformers": transformers}
    was = render(plane, DEPLOY / "uninstall")
    once = overlay("uninstall", namespace="platform", **given)
    for folder, namespace in ((once, "platform"), (
            overlay(once, namespace="other", **given), "other")):
        objects = render(plane, folder)
        assert find(objects, "ClusterRoleBinding", UNINSTALL)["subjects"] == [
            {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}]
        assert identities(objects) == [
            ("ClusterRole", None, UNINSTALL),
            ("ClusterRoleBinding", None, UNINSTALL),
            ("Job", namespace, UNINSTALL)]
        job = find(objects, "Job", UNINSTALL)
        job["metadata"]["namespace"] = NAME
        assert job == find(was, "Job", UNINSTALL)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_configuration_without_a_namespace(plane, overlay, name):
    """It takes the place of base's, in another namespace, too.  One that does
    not say so is refused; it would only stand beside base's."""
    generator = {"name": NAME + "-config", "behavior": "replace",
                 "literals": ["config.yaml=holdDuration: 7m"]}
    for fields in ({}, {"namespace": "platform"}):
        objects = render(plane, overlay(
            name, configMapGenerator=[generator], **fields))
        mounted = configuration(objects)
        assert mounted["data"] == {"config.yaml": "holdDuration: 7m"}
        assert mounted["metadata"]["namespace"] == fields.get(
            "namespace", NAME)
        assert len([o for o in objects if o["kind"] == "ConfigMap"]) == 1
    del generator["behavior"]
    said = refused(plane, overlay(name, configMapGenerator=[generator]))
    assert "behavior must be merge or replace" in said


def test_the_lease_keeps_its_name(built):
    """Kustomize renames what it takes for its own in resourceNames."""
    for objects in built.values():
        names = [r["resourceNames"] for r in find(objects, "Role")["rules"]
                 if "resourceNames" in r]
        assert names == [[NAME]]


@pytest.mark.parametrize("name", ALIKE)
def test_another_image(plane, tmp_path, kustomize, name):
    """`kustomize edit set image` works in the overlay itself."""
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    folder = tmp_path / "deploy" / "overlays" / name
    for asked, image in (
            ("registry.example.com:5000/tools/holder",
             "registry.example.com:5000/tools/holder:0.1.0"),
            ("registry.example.com/holder:1.2.3",
             "registry.example.com/holder:1.2.3"),
            (f"registry.example.com/holder@sha256:{'0' * 64}",
             f"registry.example.com/holder@sha256:{'0' * 64}")):
        kustomize("edit", "set", "image", f"{NAME}={asked}", cwd=folder)
        objects = render(plane, folder)
        container, = find(objects, "Deployment")["spec"]["template"]["spec"][
            "containers"]
        assert container["image"] == image
        assert list(yaml.safe_load_all(
            kustomize("build", cwd=folder))) == objects


def test_the_overlay_in_the_readme(plane, tmp_path):
    """Namespace, image, configuration and a component are all changed in one
    overlay."""
    text = yaml.safe_dump(in_the_readme("configMapGenerator:"))
    (tmp_path / NAME).symlink_to(REPO)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(text)
    (folder / "config.yaml").write_text("holdDuration: 7m\n")
    objects = render(plane, folder)
    check_namespace(objects, "platform")
    assert configuration(objects)["data"] == {
        "config.yaml": "holdDuration: 7m\n"}
    container, = find(objects, "Deployment")["spec"]["template"]["spec"][
        "containers"]
    assert container["image"].startswith("registry.example.com/")
    assert find(objects, "ServiceMonitor")


def in_the_readme(*words):
    """The fields of an overlay in the one block with these words in it."""
    text, = [b for b in re.findall(
        r"^ *```yaml\n(.*?)^ *```", (DEPLOY / "README.md").read_text(),
        re.S | re.M) if all(w in b for w in words)]
    return yaml.safe_load(text)


def test_the_annotation_of_the_pods_is_removed_as_in_the_readme(plane,
                                                                overlay):
    key = "karpenter.sh/do-not-disrupt"
    was, now = (find(render(plane, overlay("overlays/self-signed", **fields)),
                     "Deployment")
                for fields in ({}, in_the_readme("do-not-disrupt")))
    assert was["spec"]["template"]["metadata"]["annotations"].pop(key)
    assert now == was


def test_the_memory_limit_in_the_readme(plane, overlay):
    """The limit is all that changes, and the holder learns it from there."""
    was, now = (render(plane, overlay("overlays/default",
                                      namespace="platform", **fields))
                for fields in ({}, in_the_readme("memory: 256Mi")))
    container, = find(now, "Deployment")["spec"]["template"]["spec"][
        "containers"]
    assert container["resources"]["limits"]["memory"] == "256Mi"
    limit, = (e for e in container["env"] if e["name"] == "MEMORY_LIMIT")
    assert limit["valueFrom"]["resourceFieldRef"] == {
        "resource": "limits.memory"}
    before, = find(was, "Deployment")["spec"]["template"]["spec"]["containers"]
    container["resources"]["limits"] = before["resources"]["limits"]
    container["resources"]["requests"]["memory"] = before["resources"][
        "requests"]["memory"]
    assert now == was


@pytest.mark.parametrize("namespace", [{}, {"namespace": NAME}],
                         ids=["no namespace", "of base"])
def test_another_configuration_rolls_the_pods(plane, overlay, built,
                                              namespace):
    text = ("apiVersion: karpenter-node-holder.io/v1\nkind: HolderConfig\n"
            "holdDuration: 7m\n")
    generator = {"name": NAME + "-config", **namespace,
                 "behavior": "replace", "files": ["config.yaml"]}
    was = built["default"]
    now = render(plane, overlay(
        "overlays/default", files={"config.yaml": text},
        configMapGenerator=[generator]))
    assert configuration(now)["data"] == {"config.yaml": text}
    assert (configuration(now)["metadata"]["name"]
            != configuration(was)["metadata"]["name"])
    assert len(now) == len(was), "one ConfigMap, not two"
    with installed(plane, was) as _, installed(plane, now) as kept:
        # The generation shows that there is a new template, and so new Pods.
        assert find(kept, "Deployment")["metadata"]["generation"] == 2


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_holder_takes_the_configuration(built, name, tmp_path):
    objects = built[name]
    spec = find(objects, "Deployment")["spec"]["template"]["spec"]
    container, = spec["containers"]
    args, mounts = container["args"], {
        m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    flags = args[3:]
    (key, text), = configuration(objects)["data"].items()
    assert args[:3] == ["serve", "--config", f"{mounts['config']}/{key}"]
    file = tmp_path / key
    file.write_text(text)
    done = subprocess.run([BINARY, "check", "--config", file, *flags],
                          text=True, capture_output=True, timeout=30,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    effective = yaml.safe_load(done.stdout)
    for file in ("certFile", "keyFile"):
        assert effective["webhook"][file].startswith(mounts["tls"] + "/")
    assert effective["leaderElection"]["name"] == NAME
    check_self_signed(objects, spec, effective["selfSigned"],
                      name in ("demo", "self-signed", "trial"))
    assert effective["mode"] == ("observe" if name == "trial" else "enforce")
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    assert effective["webhook"]["address"] == f":{ports['webhook']}"
    assert effective["metrics"]["address"] == f":{ports['metrics']}"
    drain = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?",
                         effective["webhook"]["drainTimeout"])
    drain = 60 * int(drain[1] or 0) + int(drain[2] or 0)
    assert 0 < drain < spec["terminationGracePeriodSeconds"]


def check_self_signed(objects, spec, effective, wanted):
    """Names and rights match.  No key of the Secret that belongs to a CA is
    mounted."""
    assert effective["enabled"] is False    # certs --renew does it
    volume, = (v["secret"] for v in spec["volumes"] if v["name"] == "tls")
    assert volume["secretName"] == effective["secret"] and volume["optional"]
    assert effective["configuration"] == find(
        objects, "MutatingWebhookConfiguration")["metadata"]["name"]
    assert effective["service"] == find(objects, "Service")["metadata"]["name"]
    assert [i["key"] for i in volume["items"]] == ["tls.crt", "tls.key"]
    if not wanted:
        assert not [o for o in objects if o["kind"] != "Issuer" and
                    o["metadata"]["name"] in (SELF_SIGNED, RENEWER)]
        return
    renewer = find(objects, "Deployment", RENEWER)["spec"]["template"]["spec"]
    assert renewer["serviceAccountName"] == RENEWER
    container, = renewer["containers"]
    assert container["args"] == ["certs", "--renew", "--config",
                                 "/config/config.yaml"]
    assert container["image"] == spec["containers"][0]["image"]
    assert "ports" not in container
    assert renewer["volumes"] == [
        v for v in spec["volumes"] if v["name"] == "config"]
    assert find(objects, "Role", SELF_SIGNED)["rules"][1]["resourceNames"] == \
        [effective["secret"]]
    rule, = find(objects, "ClusterRole", SELF_SIGNED)["rules"]
    assert rule["resourceNames"] == [effective["configuration"]]


@pytest.mark.parametrize("flags", [(), ("--server-side",)],
                         ids=["client", "server"])
def test_a_second_apply_leaves_the_bundle(plane, built, flags):
    """What cainjector, or a person, has put into the webhook stays."""
    folder = DEPLOY / "overlays" / "default"
    plane.kubectl("apply", *flags, "-k", folder)
    try:
        plane.patch(WEBHOOKS, NAME, [
            {"op": "add", "path": "/webhooks/0/clientConfig/caBundle",
             "value": "Y2E="}], JSONPATCH)
        plane.kubectl("apply", *flags, "-k", folder)
        hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
        assert hook["clientConfig"]["caBundle"] == "Y2E="
    finally:
        remove(plane, built["default"])


def test_the_certificate_of_the_readme(plane, tmp_path):
    """certs/README.md: openssl makes the pair, the commands install it, and
    the webhook trusts it."""
    made, install = (
        next(b for b in re.findall(r"```sh\n(.*?)```", (
            REPO / "certs/README.md").read_text(), re.S) if word in b)
        for word in ("openssl req", "create secret tls"))
    (tmp_path / "deploy").symlink_to(DEPLOY)
    (tmp_path / "certs").mkdir()
    try:
        subprocess.run(
            ["bash", "-ec", made + install.replace("make certs\n", "")],
            cwd=tmp_path, check=True, timeout=60, stdin=subprocess.DEVNULL,
            env={**os.environ, "KUBECONFIG": str(plane.kubeconfig),
                 "PATH": f"{plane.bin}:{os.environ['PATH']}"})
        pair = (tmp_path / "certs/tls.crt").read_bytes()
        secret = plane.get(f"{NAMESPACES}/{NAME}/secrets", TLS)["data"]
        hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
        assert [base64.b64decode(text) for text in (
            secret["tls.crt"], hook["clientConfig"]["caBundle"])] == 2 * [pair]
        done = subprocess.run(
            [BINARY, "certs", "--inspect", "--cert", tmp_path /
             "certs/tls.crt", "--key", tmp_path / "certs/tls.key"], text=True,
            capture_output=True, timeout=30, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        assert f"{NAME}.{NAME}.svc" in done.stdout
    finally:
        plane.request("DELETE", f"{NAMESPACES}/{NAME}/secrets/{TLS}")
        remove(plane, render(plane, DEPLOY / "base"))


# Mode observe

def written(events):
    """What was written, by resource."""
    return {e["objectRef"]["resource"] for e in events
            if e["verb"] not in ("get", "list", "watch")}


def of_ours(plane, path):
    """The objects that the holder has touched, or that carry a hold."""
    return [name for name, meta in plane.metadata(path).items()
            if {HOLD, MARK} & set(meta.get("annotations") or {})
            or NAME in [m["manager"] for m in meta["managedFields"]]]


def test_a_trial_writes_nothing_and_then_one_line_changes(plane, clean, built,
                                                          karpenter, view):
    """docs/operations.md#a-trial-without-risk"""
    trial, real = ([o for o in built[name]
                    if o["kind"] != "MutatingWebhookConfiguration"]
                   for name in ("trial", "self-signed"))
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases"
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    own = "karpenter_node_holder_"

    def states():
        return {k for k in plane.get(lease, NAME)["metadata"]["annotations"]
                if k.startswith(NAME) and k != NAME + ".io/history"}

    def reasons():
        return {e["reason"] for e in plane.ok("GET", events)["items"]
                if e["regarding"]["uid"] == pool["metadata"]["uid"]}
    with installed(plane, trial):
        pool = plane.create(POOLS, node_pool("general"))
        old = karpenter.settled(3)
        holder = Deployed(plane, mode="observe", holdDuration="12s",
                          leaderElection={"enabled": True, "namespace": NAME})
        status, _ = plane.request(
            "PATCH", f"{NODES}/{old[0].node}?dryRun=All",
            {"metadata": {"annotations": {HOLD: "true"}}}, user=holder.account)
        assert status == 403
        begin = len(plane.audited())
        try:
            holder.start().register(wait=False)

            def reviewed():
                plane.create(NODES + "?dryRun=All", node_body("probe"))
                return holder.metric(own + "admission_requests_total",
                                     result="would_hold") > 0
            until(reviewed, 30, "webhook in use")
            new = karpenter.machine()
            would = {"kind": "Node"}
            until(lambda: holder.metric(own + "would_held_objects", **would)
                  == 4, SOON, "4 nodes would be held")
            assert not of_ours(plane, NODES) and not of_ours(plane, CLAIMS)
            until(lambda: holder.metric(own + "would_held_objects", **would)
                  == 0, SOON, "none would be held")
            until(lambda: {"ObservedHoldStarted", "ObservedHoldReleased"}
                  <= reasons(), SOON, reasons)
            assert not {"HoldStarted", "HoldReleased"} & reasons()
            assert holder.metric(own + "scope_held") == 0
            assert not of_ours(plane, NODES) and not of_ours(plane, CLAIMS)
            assert states() == {NAME + ".io/" + x for x in (
                "observed-state", "hold")}
            audited = plane.audited()[begin:]
            assert written(audited) == {"leases", "events"}
            check_nothing_denied(audited)
            assert holder.term() == 0

            # One line changes, and the rights come with it.
            apply(plane, real, "--force-conflicts")
            holder.config.write_text(holder.config.read_text().replace(
                "mode: observe", "mode: enforce"))
            holder.start()
            m = karpenter.machine()
            view.wait_held(nodes([*old, new, m]))
            view.wait_clear(nodes([*old, new, m]), SOON)
            until(lambda: states() == {NAME + ".io/" + x for x in (
                "state", "hold")}, SOON, states)
            assert {"nodes", "leases"} <= written(plane.audited()[begin:])
        finally:
            holder.stop()
            plane.request("DELETE", f"{lease}/{NAME}")


# The rights, with the admission policy in place

@pytest.fixture(scope="module")
def limited(plane, built):
    """The eks overlay, without its webhook, which nobody answers here."""
    objects = [o for o in built["eks"]
               if o["kind"] != "MutatingWebhookConfiguration"]
    with installed(plane, objects):
        account = plane.service_account(NAME, NAME)
        policy_in_force(plane, account)
        yield objects


class Deployed(Holder):
    """A holder with the ServiceAccount and the rights that were applied."""

    def _install(self):
        self.account = self.plane.service_account(NAME, NAME)
        self.plane.write_kubeconfig(self.kubeconfig, self.account)


def granted(objects):
    """Returns {(namespace or None, group, resource, name or None, verb)}."""
    rights = set()
    for o in objects:
        for rule in o.get("rules", []) if "Role" in o["kind"] else []:
            rights |= {(o["metadata"].get("namespace"), group, resource, name,
                        verb)
                       for group in rule["apiGroups"]
                       for resource in rule["resources"]
                       for name in rule.get("resourceNames", [None])
                       for verb in rule["verbs"]}
    return rights


def used(event):
    ref = event["objectRef"]
    resource = "/".join(filter(None, (ref["resource"],
                                      ref.get("subresource"))))
    named = ref["resource"] in ("leases", "secrets", WEBHOOKS.split("/")[-1]) \
        and event["verb"] != "create"
    return (ref.get("namespace"), ref.get("apiGroup", ""), resource,
            ref["name"] if named else None, event["verb"])


def orphan(plane, name, owner=None, annotations=None):
    """A Node held long ago whose claim does not exist, or that has none."""
    body = node_body(name, unregistered=False, annotations={
        HOLD: "true", MARK: stamp(time.time() - 3600), **(annotations or {})})
    if owner:
        body["metadata"]["ownerReferences"] = [{
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "name": owner, "uid": "7f3b0f5e-6c7d-4f7c-9a57-6f5f7a0d8c11",
            "blockOwnerDeletion": True}]
    return plane.create(NODES, body)


@contextlib.contextmanager
def objected(plane, name):
    """A policy refuses with 422 what the holder would write on this Node."""
    group = "admissionregistration.k8s.io/v1"
    policy = f"/apis/{group}/validatingadmissionpolicies"
    plane.create(policy, {
        "apiVersion": group, "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "objects"},
        "spec": {"failurePolicy": "Fail", "matchConstraints": {
            "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["UPDATE"], "resources": ["nodes"],
                "resourceNames": [name]}]},
            "validations": [{
                "reason": "Invalid",
                "expression": f"request.userInfo.username != '{ACCOUNT}'"}]}})
    plane.create(policy.replace("policies", "policybindings"), {
        "apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "objects"},
        "spec": {"policyName": "objects", "validationActions": ["Deny"]}})
    try:
        yield
    finally:
        plane.delete(policy.replace("policies", "policybindings"), "objects")
        plane.delete(policy, "objects")


def test_no_right_is_missing_and_none_unused(plane, clean, limited, karpenter,
                                             view):
    """A holder asks for all that it may ever ask for; the audit log shows it.
    """
    plane.create(POOLS, node_pool("general"))
    begin = len(plane.audited())
    rights = granted(limited)

    def seen():
        return {used(e) for e in plane.audited()[begin:]}
    holder = Deployed(plane, holdDuration="3s", leaderElection={
        "enabled": True, "namespace": NAME})
    try:
        old = karpenter.settled(3)
        # A GET of its claim.
        orphan(plane, "left-behind", owner="general-gone")
        holder.start()
        view.wait_clear([(NODES, "left-behind"), *nodes(old)], 20)
        for value in ("fast", None, "fast"):    # makes a series of Events
            plane.patch(POOLS, "general", {"metadata": {"annotations": {
                f"{NAME}.io/hold-duration": value}}})
            time.sleep(0.5)
        # There is no webhook, so the sweeper holds claim and Node.
        m = karpenter.claim()
        karpenter.launch(m)
        view.wait_held([(CLAIMS, m.name), *nodes(old)])
        karpenter.boot(m)
        karpenter.register(m)
        karpenter.initialize(m)
        view.wait_clear([(CLAIMS, m.name), *nodes(old + [m])], 15)
        # Its patch is refused because the object has changed, so it reads the
        # Node again.
        orphan(plane, "upset")
        with objected(plane, "upset"):
            read = (None, "", "nodes", None, "get")
            for i in range(20):     # until the policy is in force
                plane.patch(NODES, "upset", {"metadata": {"annotations": {
                    HOLD: "true", MARK: stamp(time.time() - 3600 - i)}}})
                with contextlib.suppress(AssertionError):
                    until(lambda: read in seen(), 1, "a Node is read")
                if read in seen():
                    break
        view.wait_clear([(NODES, "upset")], 40)
        until(lambda: rights <= seen(), 15,
              lambda: f"unused: {sorted(map(str, rights - seen()))}")
        assert seen() <= rights, seen() - rights
        check_nothing_denied(plane.audited()[begin:])
    finally:
        holder.process and holder.kill9()
        plane.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/"
                      f"{NAME}/leases/{NAME}")


class Renewer(Holder):
    """The component's Deployment, with its account and its rights."""

    command = ("certs", "--renew")

    def _install(self):
        self.account = self.plane.service_account(NAME, RENEWER)
        self.plane.write_kubeconfig(self.kubeconfig, self.account)


SECRETS = f"{NAMESPACES}/{NAME}/secrets"


@pytest.fixture(scope="module")
def renewing(plane, limited, built):
    """What the component adds, and the webhook."""
    more = [o for o in built["self-signed"]
            if o["metadata"]["name"] in (SELF_SIGNED, RENEWER)
            or o["kind"] == "MutatingWebhookConfiguration"]
    with installed(plane, more):
        account = plane.service_account(NAME, RENEWER)
        for path in (f"{SECRETS}/{TLS}", f"{WEBHOOKS}/{NAME}"):
            until(lambda: plane.request("GET", path, user=account)[0]
                  != 403, 20, "the rights in force")
        until(lambda: "the renewer may" in str(plane.request(
            "POST", f"{SECRETS}?dryRun=All", a_secret(name="other"),
            user=account)[1]), 20, "the policy in force")
        yield more
        plane.request("DELETE", f"{SECRETS}/{TLS}")


def test_the_rights_for_certificates_of_its_own(plane, clean, renewing):
    """From nothing to a pair: all of these rights are used, and none is
    missing.  The account that answers the API server has none of them."""
    own = granted(renewing)
    assert {verb for *_, verb in own} == {"create", "get", "patch"}
    for method, path, body in (
            ("GET", f"{SECRETS}/{TLS}", None),
            ("POST", SECRETS, a_secret()),
            ("PATCH", f"{SECRETS}/{TLS}", {"data": {}}),
            ("GET", f"{WEBHOOKS}/{NAME}", None),
            ("PATCH", f"{WEBHOOKS}/{NAME}", {"webhooks": []})):
        assert plane.request(method, path, body, user=plane.service_account(
            NAME, NAME))[0] == 403, (method, path)
    renewer = Renewer(plane, leaderElection={"namespace": NAME},
                      selfSigned={"duration": "60s"})
    plane.request("DELETE", f"{SECRETS}/{TLS}")
    time.sleep(0.2)     # an event is written after its answer
    begin = len(plane.audited())

    def seen():
        return [e for e in plane.audited()[begin:]
                if e["user"]["username"].endswith(RENEWER)]
    try:
        renewer.start(wait=False)
        until(lambda: (plane.request("GET", f"{SECRETS}/{TLS}")[1].get(
            "data") or {}).get("tls.crt"), 20, "minted")
        until(lambda: own <= {used(e) for e in seen()}, 15, "all used")
        assert {used(e) for e in seen()} == own
        check_nothing_denied(seen())
    finally:
        renewer.process and renewer.kill9()


# A stolen renewer

def a_secret(name=TLS, kind="kubernetes.io/tls", **more):
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": metadata,
            "data": {"tls.crt": "", "tls.key": ""}, **more}


def rule(**changes):
    return [{"op": "replace", "path": f"/webhooks/0/rules/0/{k}", "value": v}
            for k, v in changes.items()]


def hook(place, value, op="add"):
    return [{"op": op, "path": f"/webhooks/0/{place}", "value": value}]


EVERYWHERE = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
# what is tried on the webhook configuration
CONFIGURED = {
    "rules": rule(apiGroups=["*"], apiVersions=["*"], resources=["*/*"],
                  scope="*"),
    "operations": rule(operations=["*"]),
    "another rule": hook("rules/-", {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["pods"], "scope": "*"}),
    "no rule": [{"op": "remove", "path": "/webhooks/0/rules"}],
    "fails closed": hook("failurePolicy", "Fail"),
    "another service": hook("clientConfig/service/name", "mine"),
    "another namespace": hook("clientConfig/service/namespace", "default"),
    "another path": hook("clientConfig/service/path", "/"),
    "another port": hook("clientConfig/service/port", 8443),
    "a URL": [{"op": "remove", "path": "/webhooks/0/clientConfig/service"},
              *hook("clientConfig/url", "https://example.com")],
    "its name": hook("name", "a.example.com"),
    "conditions": hook("matchConditions", []),
    "one condition": hook("matchConditions/0/expression", "true"),
    "timeout": hook("timeoutSeconds", 30),
    "side effects": hook("sideEffects", "NoneOnDryRun"),
    "policy of matches": hook("matchPolicy", "Exact"),
    "namespaces": hook("namespaceSelector", EVERYWHERE),
    "objects": hook("objectSelector", EVERYWHERE),
    "reinvoked": hook("reinvocationPolicy", "Never"),
    "a second webhook": [{"op": "copy", "from": "/webhooks/0",
                          "path": "/webhooks/1"},
                         {"op": "replace", "path": "/webhooks/1/name",
                          "value": "b.example.com"}],
    "no webhook": [{"op": "remove", "path": "/webhooks"}],
    "beside caBundle": [*hook("clientConfig/caBundle", "Y2E="),
                        *hook("failurePolicy", "Fail")],
    "a label": [{"op": "add", "path": "/metadata/labels/a", "value": "b"}],
    "an annotation": [{"op": "add", "path": "/metadata/annotations",
                       "value": {"cert-manager.io/inject-ca-from": "a/b"}}],
    "a finalizer": [{"op": "add", "path": "/metadata/finalizers",
                     "value": ["example.com/a"]}],
    "an owner": [{"op": "add", "path": "/metadata/ownerReferences", "value": [
        {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "b"}]}],
    "generateName": [{"op": "add", "path": "/metadata/generateName",
                      "value": "a-"}],
    "no managedFields": {"metadata": {"managedFields": [{}]}},
}
TOKEN = "kubernetes.io/service-account-token"
OF = {"annotations": {"kubernetes.io/service-account.name": NAME}}
# Secrets that it may not make
MADE = {
    "another name": a_secret("mine"),
    "any name": a_secret(None, metadata={"generateName": TLS}),
    "Opaque": a_secret(kind="Opaque"),
    "a token": a_secret(kind=TOKEN, metadata=OF),
    "a token, another name": a_secret("mine", TOKEN, metadata=OF),
    "a token of bootstrap": a_secret(kind="bootstrap.kubernetes.io/token"),
    "other keys": a_secret(data={"tls.crt": "", "tls.key": "", "a": ""}),
    "an annotation": a_secret(metadata=OF),
    "a finalizer": a_secret(metadata={"finalizers": ["example.com/a"]}),
    "an owner": a_secret(metadata={"ownerReferences": [{
        "apiVersion": "v1", "kind": "Node", "name": "a", "uid": "b"}]}),
    "immutable": a_secret(immutable=True),
    "a label": a_secret(metadata={"labels": {
        "argocd.argoproj.io/secret-type": "cluster"}}),
    "managed by another": a_secret(metadata={"labels": {
        "app.kubernetes.io/managed-by": "Helm"}}),
    "generateName as well": a_secret(metadata={"generateName": "a-"}),
    "a key as text": a_secret(stringData={"a": "b"}),
}
# what is tried on its own Secret
WRITTEN = {
    "another key": {"data": {"a": "YQ=="}},
    "another key as text": {"stringData": {"a": "b"}},
    "a label": {"metadata": {"labels": {"a": "b"}}},
    "an annotation": {"metadata": OF},
    "a finalizer": {"metadata": {"finalizers": ["example.com/a"]}},
    "immutable": {"immutable": True},
    "no CA": {"data": {"ca.crt": None}},
}
BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1",
           "kind": "ClusterRoleBinding", "metadata": {"name": "mine"},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                       "kind": "ClusterRole", "name": "cluster-admin"},
           "subjects": [{"kind": "ServiceAccount", "name": RENEWER,
                         "namespace": NAME}]}


@pytest.fixture
def admin_renewer(plane, renewing):
    """RBAC allows the renewer everything, so that only the policy stops it."""
    rbac = BINDING["roleRef"]["apiGroup"]
    path = f"/apis/{rbac}/v1/clusterrolebindings"
    plane.create(path, {**BINDING, "metadata": {"name": "renewer"}})
    account = plane.service_account(NAME, RENEWER)
    until(lambda: plane.request("GET", "/api/v1/secrets",
                                user=account)[0] == 200, 10, "cluster-admin")
    yield account
    plane.delete(path, "renewer")


def forgeries(entry, *fields):
    """(field, an entry of managedFields that has the field if this one does
    not, and the other way round)."""
    for field in fields:
        forged = json.loads(json.dumps(entry))
        at = forged["fieldsV1"]
        for part in field[:-1]:
            at = at[part]
        if at.pop(field[-1], None) is None:
            at[field[-1]] = {}
        yield field, forged


def test_a_stolen_renewer(plane, clean, admin_renewer):
    """Whatever RBAC says, it may write caBundle and its Secret alone."""
    calls = 0
    manager = f"?fieldManager={NAME}"

    def refused(method, path, body, what):
        nonlocal calls
        status, answer = plane.request(method, path, body,
                                       user=admin_renewer)
        # base's policy limits it on Nodes as well.
        assert status == 403 and re.search("the (renewer|holder) may", str(
            answer)), (what, status, answer)
        calls += 1
    configuration = f"{WEBHOOKS}/{NAME}"
    was = plane.get(WEBHOOKS, NAME)
    for what, body in CONFIGURED.items():
        refused("PATCH", configuration + manager, body, what)
    entries = was["metadata"]["managedFields"]
    own = {**entries[0], "manager": NAME, "operation": "Update", "fieldsV1": {
        "f:webhooks": {'k:{"name":"hold.karpenter-node-holder.io"}': {
            "f:rules": {}}}}}
    for forged in (own, {**own, "manager": "kubectl"},
                   {**own, "operation": "Apply"}):
        refused("PATCH", configuration + manager, {"metadata": {
            "managedFields": [*entries, forged]}}, forged)
    webhook = ("f:webhooks", 'k:{"name":"hold.karpenter-node-holder.io"}')
    for what, forged in forgeries(
            entries[0], ("f:webhooks",), webhook, (*webhook, "f:rules"),
            (*webhook, "f:a"), (*webhook, "f:clientConfig"),
            (*webhook, "f:clientConfig", "f:service"),
            (*webhook, "f:clientConfig", "f:url"),
            (*webhook, "f:clientConfig", "f:caBundle"),
            (*webhook, "f:clientConfig", "f:service", "f:name")):
        refused("PATCH", configuration + manager, {"metadata": {
            "managedFields": [forged]}}, what)
    # Fields would belong to whoever it names.
    bundle = hook("clientConfig/caBundle", "Y2E=")
    refused("PATCH", configuration + "?fieldManager=kubectl", bundle, "who")
    refused("DELETE", configuration, None, "deletes it")
    refused("POST", WEBHOOKS, {
        "apiVersion": was["apiVersion"], "kind": was["kind"],
        "metadata": {"name": "mine"}, "webhooks": was["webhooks"]}, "another")
    assert plane.get(WEBHOOKS, NAME) == was
    plane.request("DELETE", f"{SECRETS}/{TLS}")
    for what, body in MADE.items():
        refused("POST", SECRETS + manager, body, what)
    refused("POST", f"{NAMESPACES}/default/secrets{manager}", a_secret(),
            "another namespace")
    path = f"{SECRETS}/{TLS}"
    refused("POST", SECRETS + "?fieldManager=kubectl", a_secret(), "who")
    # What somebody has applied stays that one's.
    plane.ok("PATCH", f"{path}?fieldManager=gitops", a_secret(), APPLY)
    for what, forged in forgeries(
            plane.get(SECRETS, TLS)["metadata"]["managedFields"][0],
            ("f:data", "f:ca.key"), ("f:data", "f:tls.crt"), ("f:data",),
            ("f:type",)):
        refused("PATCH", path + manager, {"metadata": {
            "managedFields": [forged]}}, what)
    status, answer = plane.request("PATCH", path + manager, {
        "data": {"tls.crt": "YQ=="}}, user=admin_renewer)
    assert status == 200, answer
    assert "f:tls.crt" not in str(
        [e for e in answer["metadata"]["managedFields"]
         if e["manager"] == "gitops"])
    plane.request("DELETE", path)
    plane.create(SECRETS + manager, a_secret(
        data={"tls.crt": "", "tls.key": "", "ca.crt": "Y2E="}),
        user=admin_renewer)
    for what, body in WRITTEN.items():
        refused("PATCH", path + manager, body, what)
    refused("DELETE", path, None, "deletes it")
    plane.create(NODES, node_body("n"))
    for method, to, body in (
            ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
             BINDING),
            ("PATCH", f"{NODES}/n{manager}", annotated(**MINE)),
            ("PATCH", f"{NODES}/n/status{manager}", {"status": {}}),
            ("DELETE", f"{NODES}/n", None),
            ("POST", f"{NAMESPACES}/{NAME}/serviceaccounts/{NAME}/token",
             {"apiVersion": "authentication.k8s.io/v1",
              "kind": "TokenRequest", "spec": {}}),
            ("POST", f"{NAMESPACES}/{NAME}/configmaps", {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": TLS}}),
            ("PATCH", f"/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}",
             {"spec": {"replicas": 0}}),
            ("DELETE", f"{NAMESPACES}/{NAME}/serviceaccounts/{NAME}", None)):
        refused(method, to, body, (method, to))
    # This is all that it may do.
    for to, body in ((configuration, bundle),
                     (configuration, hook("clientConfig/caBundle", "YQ==")),
                     (path, {"data": {"ca.key": "YQ==", "tls.crt": "YQ=="}})):
        status, answer = plane.request("PATCH", to + manager, body,
                                       user=admin_renewer)
        assert status == 200 or "PEM" in str(answer), (body, answer)
    print(f"{calls} calls refused")
    assert calls >= 40


MINE = {HOLD: "true", MARK: stamp(0)}


def annotated(**changes):
    return {"metadata": {"annotations": changes}}


REFUSED = {
    "label": {"metadata": {"labels": {"a": "b"}}},
    "label of Karpenter": {"metadata": {"labels": {
        "karpenter.sh/nodepool": None}}},
    "finalizer": {"metadata": {"finalizers": ["example.com/a"]}},
    "owner": {"metadata": {"ownerReferences": [{
        "apiVersion": "v1", "kind": "Node", "name": "a", "uid": "b"}]}},
    "generateName": {"metadata": {"generateName": "a-"}},
    "other annotation": annotated(**{"example.com/a": "b"}),
    "other annotation changed": annotated(**{"example.com/kept": "b"}),
    "other annotation removed": annotated(**{"example.com/kept": None}),
    "all annotations": {"metadata": {"annotations": None}},
    "another beside its own": annotated(**MINE, **{"example.com/a": "b"}),
    "like its own": annotated(**{MARK + "x": stamp(0)}),
    "hold without mark": annotated(**{HOLD: "true"}),
    "mark of another value": annotated(**MINE, **{HELD_KEY: HOLD + "=false"}),
    "mark of no hold": annotated(**{MARK: stamp(0),
                                    HELD_KEY: MARK + "=" + stamp(0)}),
    "long value": annotated(**{HOLD: "true", MARK: "x" * 1025}),
}
ENTRIES_AWAY = {"metadata": {"managedFields": [{}]}}
LIMITS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
TAINT = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
# Nobody may change the spec of a NodeClaim: its CRD refuses that first.
SPECS = {NODES: (TAINT, {"spec": {"unschedulable": True}}), CLAIMS: ()}


@pytest.fixture(scope="class")
def everything(plane, limited):
    """RBAC allows the holder everything, so that only the policy stops it."""
    rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    plane.create(rbac, {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding", "metadata": {"name": "everything"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": NAME,
                      "namespace": NAME}]})
    account = plane.service_account(NAME, NAME)
    until(lambda: plane.request("GET", "/api/v1/secrets",
                                user=account)[0] == 200, 10, "cluster-admin")
    yield account
    plane.delete(rbac, "everything")


@pytest.fixture
def former_key(plane, limited):
    """One that is in the policy's list of holds beside the present one."""
    key = FORMER
    place = "/spec/variables/0"
    was = plane.get(LIMITS, NAME)["spec"]["variables"][0]
    assert was["name"] == "holds"
    account = plane.service_account(NAME, NAME)

    def change(variable, status, what):
        """And waits until it is in force.  Otherwise the next change may be
        taken for done by what the one before this has left."""
        plane.patch(LIMITS, NAME, [
            {"op": "replace", "path": place, "value": variable}], JSONPATCH)
        plane.create(NODES, node_body("probe"))
        until(lambda: plane.request(
            "PATCH", f"{NODES}/probe?dryRun=All&fieldManager={NAME}",
            annotated(**{key: "true", MARK: stamp(0),
                         HELD_KEY: key + "=true"}),
            user=account)[0] == status, 20, what)
        plane.delete(NODES, "probe")

    change({"name": "holds", "expression": f"['{HOLD}', '{key}']"}, 200,
           "the former key is known")
    yield key
    change(was, 403, "the former key is forgotten")


FORGED = {"manager": "x", "operation": "Update", "apiVersion": "v1",
          "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:taints": {}}}}
# What one clause of the policy alone refuses, or one part of a clause: its
# message, the part, the annotations before, whether managedFields are away
# before, and the call.
CLAUSES = {
    "delete": ("and do nothing else", None, {}, False, None),
    "spec": ("neither spec nor status", None, {}, True,
             {"spec": {"unschedulable": None}}),
    "label": ("annotations alone", None, {}, True, REFUSED["label"]),
    "annotation": ("no annotation but its own", None, {}, True,
                   REFUSED["other annotation removed"]),
    "long": ("short values", None, {}, False, REFUSED["long value"]),
    "hold without mark": ("take away both", " == variables.heldNow))", {},
                          False, REFUSED["hold without mark"]),
    "another value": ("take away both", "!(k in variables.now) && ", MINE,
                      False, annotated(**{HOLD: "false", MARK: None})),
    "changed by a person": (
        "take away both", "k + '=' + variables.was[k] == variables.heldWas "
        "&& ", {**MINE, HOLD: "false"}, False,
        annotated(**{HOLD: None, MARK: None})),
    "mark left": ("take away both", " && variables.heldNow != "
                  "variables.heldWas", MINE, False, annotated(**{HOLD: None})),
    "mark added": ("its mark together with a hold", None, {HOLD: "true"},
                   False, annotated(**{MARK: stamp(0)})),
    "entry added": ("change who manages", None, {}, False, [
        {"op": "add", "path": "/metadata/managedFields/-", "value": FORGED}]),
    "entries away": ("take away who manages", None, {}, False,
                     ENTRIES_AWAY),
}


def without(validations, message, part):
    """The clauses of the policy, and without this one, or a part of it."""
    one, = (v for v in validations if message in v["message"])
    if part is None:
        return [v for v in validations if v is not one]
    assert one["expression"].count(part) == 1, (part, one["expression"])
    rest = " != ''))" if part.endswith("))") else ""
    return [v if v is not one else {
        **v, "expression": v["expression"].replace(part, rest)}
        for v in validations]


def test_each_clause_of_the_policy_is_needed(plane, clean, everything):
    """Each is taken out in turn: what it alone refuses is done then, and
    nothing else."""
    spec = plane.get(LIMITS, NAME)["spec"]["validations"]
    names = {what: what.replace(" ", "-") for what in CLAUSES}
    for what, (_, _, before, bare, _) in CLAUSES.items():
        body = node_body(names[what], annotations={
            "example.com/kept": "a", **before})
        body["spec"]["unschedulable"] = True
        plane.create(NODES, body)
        if bare:
            plane.patch(NODES, names[what], ENTRIES_AWAY)

    def tried():
        """What goes through."""
        done = set()
        for what, (*_, body) in CLAUSES.items():
            status, answer = plane.request(
                "PATCH" if body else "DELETE",
                f"{NODES}/{names[what]}?dryRun=All&fieldManager={NAME}", body,
                user=everything)
            assert status == 200 or "the holder may" in answer["message"], (
                what, status, answer)
            if status == 200:
                done.add(what)
        return done

    def limit(validations):
        plane.patch(LIMITS, NAME, [{"op": "replace", "path":
                                    "/spec/validations",
                                    "value": validations}], JSONPATCH)
    try:
        assert tried() == set()
        for what, (message, part, *_) in CLAUSES.items():
            limit(without(spec, message, part))
            until(lambda: tried() == {what}, 20, lambda: (what, tried()))
    finally:
        limit(spec)
    until(lambda: tried() == set(), 20, "the policy in force")
    assert len(spec) == len({message for message, *_ in CLAUSES.values()})


def processor_s(plane):
    """The processor time that the API server has used."""
    return plane.metrics()["process_cpu_seconds_total"]


def test_a_node_with_as_many_annotations_as_fit(plane, clean, limited):
    """What the policy's loops over them cost grows with their number alone,
    and within the bound of the API server.  Annotations have 256 KiB in all.
    The creator's entry in managedFields names every annotation, and the hold,
    too, so the release changes this entry."""
    account = plane.service_account(NAME, NAME)
    many = {f"{n:x}": "" for n in range(60000)}

    def spent(user, body):
        """The API server's processor time, in seconds."""
        before = processor_s(plane)
        status, answer = plane.request(
            "PATCH", f"{NODES}/many?dryRun=All&fieldManager={NAME}", body,
            user=user, timeout=120)
        assert status == 200, answer["message"]
        return processor_s(plane) - before
    status, answer = plane.request(
        "POST", NODES, node_body("many", annotations={**many, **MINE}),
        timeout=60)
    assert status == 201, answer
    release = annotated(**{HOLD: None, MARK: None})
    others = spent(plane.admin, release)
    ours = spent(account, release)
    print(f"{others:.1f} s without the policy, {ours:.1f} s with it")
    assert ours < 5 * others + 1
    # One annotation among them is still noticed, and one more.
    for body in ({"7f3a": None}, {"7f3a": "x"}, {"zz": ""}):
        status, answer = plane.request(
            "PATCH", f"{NODES}/many?dryRun=All&fieldManager={NAME}",
            annotated(**{HOLD: None, MARK: None}, **body), user=account,
            timeout=120)
        assert status == 403 and "no annotation but its own" in answer[
            "message"], answer


def people_may(state):
    """What people do with holds and marks: (the next state, the hold that they
    set or None, whether the hold was there by the mark)."""
    *holds, marked, held_key = state
    for i, values in enumerate(VALUES):
        by_mark = marked and holds[i] is not None and \
            (held_key or HOLD + "=").split("=")[0] == (HOLD, FORMER)[i]
        for value in set(values) - {holds[i]}:
            now = [*holds]
            now[i] = value
            yield (*now, marked, held_key), i, by_mark
    yield (*holds, False, held_key), None, False


def sequences_that_take(allowed):
    """Follows all sequences of the holder's steps and of what people do.
    Returns one in which the holder changes a hold that a person has set (but
    where hold and mark stood already nobody can tell), and all situations."""
    begin = (None, None, False, None), (False, False), False
    seen, todo, bad = {begin: None}, [begin], []

    def reach(state, after):
        if state not in seen:
            seen[state] = after
            todo.append(state)
    while todo:
        at, theirs, known = here = todo.pop(0)
        for to in allowed[at]:
            taken = [i for i in (0, 1) if theirs[i] and at[i] != to[i]]
            if not taken:
                reach((to, theirs, known and to[2]), here)
            elif not known:
                bad = [to]
                while here:
                    bad.insert(0, here[0])
                    here = seen[here]
                return bad, seen
        for to, i, by_mark in people_may(at):
            reach((to, tuple(to[j] is not None if j == i else theirs[j]
                             for j in (0, 1)),
                   to[2] and (known or by_mark)), here)
    return bad, seen


FORMER = "example.com/former-hold"
VALUES = (None, "true", "false"), (None, "true")    # of HOLD, and of FORMER
STATES = list(itertools.product(*VALUES, (False, True), (
    None, HOLD + "=true", FORMER + "=true")))


def test_no_sequence_takes_a_persons_hold(plane, clean, limited, former_key):
    """The API server is asked about each step between any two states."""
    assert former_key == FORMER
    account = plane.service_account(NAME, NAME)

    def notes(state):
        hold, former, marked, held_key = state
        return {HOLD: hold, FORMER: former, HELD_KEY: held_key,
                MARK: stamp(0) if marked else None}

    def steps(n):
        at = STATES[n]
        plane.create(NODES, node_body(f"n{n}", annotations={
            k: v for k, v in notes(at).items() if v is not None}))
        got = {to: plane.request(
            "PATCH", f"{NODES}/n{n}?dryRun=All&fieldManager={NAME}",
            annotated(**notes(to)), user=account)[0]
            for to in STATES if to != at}
        assert set(got.values()) <= {200, 403}
        return at, [to for to, status in got.items() if status == 200]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        allowed = dict(pool.map(steps, range(len(STATES))))
    bad, seen = sequences_that_take(allowed)
    print(sum(map(len, allowed.values())), "of",
          len(STATES) * (len(STATES) - 1), "steps are allowed,",
          len(seen), "situations come of them and of people")
    assert len(seen) > 50, "this test shows nothing"
    assert not bad, bad


def test_what_no_policy_refuses(plane, limited):
    """SECURITY.md says so: finalizers, on which deletions wait."""
    account = plane.service_account(NAME, NAME)
    event = {"eventTime": "2026-01-01T00:00:00.000000Z", "action": "a",
             "reason": "a", "type": "Normal", "reportingController": "a",
             "reportingInstance": "a"}
    for path, body in (
            (f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases", {}),
            ("/apis/events.k8s.io/v1/namespaces/default/events", event)):
        status, answer = plane.request("POST", path, {**body, "metadata": {
            "name": "kept", "finalizers": ["example.com/a"]}}, user=account)
        assert status == 201, answer
        plane.delete(path, "kept")
        assert plane.get(path, "kept")["metadata"]["deletionTimestamp"]
        plane.patch(path, "kept", {"metadata": {"finalizers": None}})
        assert plane.request("GET", path + "/kept")[0] == 404


@pytest.mark.parametrize("path", [NODES, CLAIMS], ids=["Node", "NodeClaim"])
class TestLeastPrivilege:
    @pytest.fixture
    def account(self, limited, plane):
        return plane.service_account(NAME, NAME)

    @pytest.fixture
    def make(self, plane, clean, path):
        def make(annotations=None):
            both = {"example.com/kept": "a", **(annotations or {})}
            body = (node_body("n", annotations=both) if path == NODES else
                    claim_body(annotations=both, name="n"))
            return plane.create(path, body)
        return make

    def attempt(self, plane, path, body, user, name="n"):
        return plane.request("PATCH", f"{path}/{name}?fieldManager={NAME}",
                             body, user=user)

    def refused(self, plane, path, body, user, name="n"):
        status, answer = self.attempt(plane, path, body, user, name)
        assert status == 403 and \
            f"ValidatingAdmissionPolicy '{NAME}'" in answer["message"] and \
            "the holder may" in answer["message"], (body, status, answer)

    def test_refused(self, plane, path, make, account):
        make()
        for body in (*REFUSED.values(), *SPECS[path]):
            self.refused(plane, path, body, account)
        # Without managedFields, which would show most of it as well.
        was = plane.patch(path, "n", {"metadata": {"managedFields": [{}]}})
        for body in (*REFUSED.values(), *SPECS[path]):
            self.refused(plane, path, body, account)
        assert self.attempt(plane, path, TAINT, account)[0] in (403, 422)
        assert plane.get(path, "n")["metadata"]["resourceVersion"] == \
            was["metadata"]["resourceVersion"]
        # The policy stops the holder and nobody else.
        other = plane.identity("somebody", "system:masters")
        for what, body in REFUSED.items():
            if what == "owner":
                continue
            assert self.attempt(plane, path, body, other)[0] == 200, what

    def test_allowed(self, plane, path, make, account):
        make()
        for body in (annotated(**MINE),                       # hold
                     annotated(**{HOLD: None, MARK: None}),   # clear
                     annotated(**MINE, **{HELD_KEY: HOLD + "=true"}),
                     annotated(**{MARK: None}),  # taken over by a person
                     annotated(**{HELD_KEY: None}),
                     annotated(**{CLASS: "Underutilized",
                                  CLASS_UID: "some-uid"})):
            status, answer = self.attempt(plane, path, body, account)
            assert status == 200, (body, answer)
        a = plane.annotations(path, "n")
        assert a == {"example.com/kept": "a", HOLD: "true",
                     CLASS: "Underutilized", CLASS_UID: "some-uid"}
        assert self.attempt(plane, path, annotated(**{
            CLASS: None, CLASS_UID: None}), account)[0] == 200

    def test_a_persons_hold_stays(self, plane, path, make, account):
        make({HOLD: "true"})
        for body in (annotated(**{HOLD: None}), annotated(**{HOLD: "false"}),
                     annotated(**{HOLD: "false", MARK: stamp(0)}),
                     annotated(**{MARK: stamp(0)})):
            self.refused(plane, path, body, account)
        # The value of ours is not changed either.
        plane.patch(path, "n", annotated(**MINE))
        self.refused(plane, path, annotated(**{HOLD: "false"}), account)
        # With another value than the mark's it is a person's.
        plane.patch(path, "n", annotated(**{HOLD: "false"}))
        for body in (annotated(**{HOLD: None}), annotated(**{HOLD: "true"}),
                     annotated(**{HOLD: None, MARK: None}),
                     annotated(**{HELD_KEY: HOLD + "=false"})):
            self.refused(plane, path, body, account)
        status, answer = self.attempt(plane, path, annotated(**{MARK: None}),
                                      account)
        assert status == 200, answer

    def test_no_mark_stays_without_its_hold(self, plane, path, make, account,
                                            former_key):
        """Otherwise a hold that a person sets later would be the holder's by
        its mark, and the next step could clear it."""
        away = {HOLD: None}
        # (what is there, steps that are refused, how the holder clears)
        for there, refused, cleared in (
                (MINE, (away, {**away, MARK: stamp(9)},
                        {**away, HELD_KEY: HOLD + "=true"},
                        {**away, HELD_KEY: former_key + "=true"},
                        {**away, CLASS: "Drifted"}), {**away, MARK: None}),
                ({**MINE, HELD_KEY: HOLD + "=true"},
                 (away, {**away, HELD_KEY: None},
                  {**away, HELD_KEY: None, MARK: stamp(9)}),
                 {**away, MARK: None, HELD_KEY: None}),
                ({former_key: "true", MARK: stamp(0),
                  HELD_KEY: former_key + "=true"},
                 ({former_key: None}, {former_key: None, HELD_KEY: None},
                  {former_key: None, HELD_KEY: HOLD + "=true"}),
                 {former_key: None, HELD_KEY: None, **MINE})):
            make()
            # By its own steps only.
            assert self.attempt(plane, path, annotated(**there),
                                account)[0] == 200
            for step in refused:
                self.refused(plane, path, annotated(**step), account)
            status, answer = self.attempt(plane, path, annotated(**cleared),
                                          account)
            assert status == 200, (cleared, answer)
            plane.delete(path, "n")
        # Where a person took the hold away, the mark may go, and comes back
        # only with a hold.
        make(MINE)
        plane.patch(path, "n", annotated(**away))
        for step in ({MARK: stamp(9)}, {MARK: None}):
            assert self.attempt(plane, path, annotated(**step),
                                account)[0] == 200
        self.refused(plane, path, annotated(**{MARK: stamp(9)}), account)

    def test_a_hold_under_a_former_key(self, plane, path, make, account,
                                       former_key):
        """A person's stays, and ours under that key can be cleared."""
        both = {former_key: "true", **MINE}
        make(both)
        for body in (annotated(**{former_key: None}),
                     annotated(**{former_key: "false"}),
                     annotated(**{former_key: None, HOLD: None, MARK: None}),
                     # The mark stands for another hold from then on.
                     annotated(**{HELD_KEY: former_key + "=true"}),
                     annotated(**{HELD_KEY: former_key + "=true",
                                  MARK: stamp(9)}),
                     annotated(**{HELD_KEY: "example.com/kept=a"})):
            self.refused(plane, path, body, account)
        status, answer = self.attempt(plane, path, annotated(
            **{HOLD: None, MARK: None}), account)
        assert status == 200, answer
        # Theirs is not taken over when nothing is marked, either.
        self.refused(plane, path, annotated(**{
            MARK: stamp(0), HELD_KEY: former_key + "=true"}), account)
        # Ours, from before the key was changed: one patch clears it and holds
        # again.
        plane.patch(path, "n", annotated(**{
            MARK: stamp(0), HELD_KEY: former_key + "=true"}))
        for body in (annotated(**{former_key: None, HELD_KEY: None, **MINE}),
                     annotated(**{HOLD: None, MARK: None})):
            status, answer = self.attempt(plane, path, body, account)
            assert status == 200, (body, answer)
        assert plane.annotations(path, "n") == {"example.com/kept": "a"}

    def test_who_manages_what(self, plane, path, make, account):
        """The holder cannot have a field belong to somebody else."""
        was = make()["metadata"]["managedFields"]
        theirs, = was
        taken = {"f:spec": {"f:taints": {}}}
        forged = {**theirs, "fieldsV1": {**theirs["fieldsV1"], **taken}}
        deep = json.loads(json.dumps(theirs))
        deep["fieldsV1"]["f:metadata"]["f:finalizers"] = {}
        less = json.loads(json.dumps(theirs))
        del less["fieldsV1"]["f:metadata"]["f:annotations"][
            "f:example.com/kept"]
        for entries in ([{}], [forged], [deep], [less],
                        [{**theirs, "manager": "somebody"}],
                        [{**theirs, "operation": "Apply"}],
                        [theirs, {**theirs, "operation": "Apply"}],
                        [theirs, {**theirs, "manager": "x"}],
                        [theirs, {**theirs, "manager": NAME,
                                  "fieldsV1": taken}]):
            for more in ({}, {"annotations": MINE}):
                self.refused(plane, path, {"metadata": {
                    "managedFields": entries, **more}}, account)
        # Under another manager's name, fields would be that one's.
        for manager in ("kubelet", "x"):
            status, answer = plane.request(
                "PATCH", f"{path}/n?fieldManager={manager}",
                annotated(**MINE), user=account)
            assert status == 403 and "the holder may" in answer["message"]
        assert plane.get(path, "n")["metadata"]["managedFields"] == was
        # Nor does a person's hold leave the entry of whoever set it.
        made = plane.patch(path, "n?fieldManager=kubectl",
                           annotated(**{HOLD: "true"}))
        theirs, = (e for e in made["metadata"]["managedFields"]
                   if e["manager"] == "kubectl")
        for _, less in forgeries(
                theirs, ("f:metadata", "f:annotations", "f:" + HOLD),
                ("f:metadata", "f:annotations"), ("f:metadata",)):
            self.refused(plane, path, {"metadata": {
                "managedFields": [*was, less]}}, account)
        self.refused(plane, path, {"metadata": {"managedFields": was}},
                     account)

    def test_what_the_api_server_changes(self, plane, path, make, account):
        """It keeps the books itself when the holder writes what others have
        written."""
        def attempted(body):
            status, answer = self.attempt(plane, path, body, account)
            assert status == 200, answer
            return plane.get(path, "n")["metadata"].get("managedFields", [])
        make(MINE)
        # An entry loses fields, and one that has nothing else goes.
        plane.patch(path, "n?fieldManager=only-this",
                    annotated(**{CLASS: "Drifted"}))
        made = attempted(annotated(**{HOLD: None, MARK: None, CLASS: None}))
        assert "only-this" not in {e["manager"] for e in made}
        assert HOLD not in str(made) and CLASS not in str(made)
        # More than ten managers are merged.
        for i in range(14):
            plane.patch(path, f"n?fieldManager=manager{i}",
                        annotated(**{f"example.com/{i}": "a"}))
            attempted(annotated(**MINE))
            made = attempted(annotated(**{HOLD: None, MARK: None}))
        assert "ancient-changes" in {e["manager"] for e in made}
        # What somebody has applied is not merged.
        plane.ok("PATCH", f"{path}/n?fieldManager=gitops", {
            "apiVersion": "v1" if path == NODES else "karpenter.sh/v1",
            "kind": "Node" if path == NODES else "NodeClaim", "metadata": {
                "name": "n", "labels": {"example.com/a": "b"}}}, APPLY)
        attempted(annotated(**MINE))
        attempted(annotated(**{HOLD: None, MARK: None}))
        made = plane.patch(path, "n?fieldManager=one-more", annotated(**{
            "example.com/0": "b"}))["metadata"]["managedFields"]
        applied, = (e for e in made if e["manager"] == "gitops")
        kept = [e for e in made if e is not applied]
        assert len(kept) >= 10
        for entries in ([{}], kept, [*kept, {**applied, "manager": "x"}],
                        [*made, {**kept[-1], "manager": "x"}],
                        [*made, {**applied, "manager": "ancient-changes"}]):
            self.refused(plane, path, {"metadata": {
                "managedFields": entries}}, account)
        # Nobody keeps books any more.
        plane.patch(path, "n", {"metadata": {"managedFields": [{}]}})
        attempted(annotated(**MINE))
        attempted(annotated(**{HOLD: None, MARK: None}))

    def test_whatever_rbac_says(self, plane, path, make, everything):
        """It writes no status, creates and deletes nothing, and changes no
        NodePool."""
        make()
        self.refused(plane, path, {"status": {"conditions": []}}, everything,
                     "n/status")
        self.refused(plane, path, annotated(**MINE), everything, "n/status")
        status, answer = plane.request("DELETE", path + "/n", user=everything)
        assert status == 403 and "the holder may" in answer["message"]
        body = (node_body("m") if path == NODES else claim_body(name="m"))
        status, answer = plane.request("POST", path, body, user=everything)
        assert status == 403 and "the holder may" in answer["message"]
        plane.create(POOLS, node_pool("p"))
        self.refused(plane, POOLS, annotated(**MINE), everything, "p")
        assert self.attempt(plane, path, annotated(**MINE),
                            everything)[0] == 200
