# SPDX-License-Identifier: Apache-2.0
"""deploy/helm: the real helm renders what kustomize builds, object by object,
and a real API server takes it.

Only the freshness of the templates is checked without helm.  The rest is long,
because helm takes two minutes of processor time to build.
"""
import copy
import difflib
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from controlplane import BUILD, REPO
from holder import BINARY, certs
from test_deploy import (DEPLOY, NAME, TICKETS, check_pods, configuration,
                         find, identities, installed, overlay, plane, render)

assert overlay and plane    # fixtures

CHART = DEPLOY / "helm"
APP = "app.kubernetes.io/"
CONFIG = NAME + "-config"
long = pytest.mark.long

# These values make the chart deploy/base alone.
BASE = {"replicas": 1, "highAvailability": {"enabled": False},
        "tls": {"mode": "secret"}}
ON = {"enabled": True}
DIGEST = "sha256:" + "0" * 64
# The values.yaml of the Go program's chart, with an image of one's own.
GO = {"image": "registry.example.com/node-holder:controller",
      "initialDelay": 60, "holdDuration": 20,
      "holdAnnotation": "karpenter.sh/do-not-consolidate"}


# Freshness of the templates, for which kubectl is enough

def generate(chart, *flags):
    return subprocess.run(
        [chart / "generate.py", *flags], text=True, capture_output=True,
        stdin=subprocess.DEVNULL, timeout=120,
        env={**os.environ, "KUBECTL": str(BUILD / "bin" / "kubectl")})


def test_the_templates_are_up_to_date(plane_programs):
    done = generate(CHART, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def deploy(tmp_path, plane_programs):
    """A copy of deploy/, so that a test can change something in it."""
    return shutil.copytree(DEPLOY, tmp_path / "deploy", symlinks=True)


def edit(file, old, new):
    text = file.read_text()
    assert old in text, (file, old)
    file.write_text(text.replace(old, new))


# what changes: the templates that are then out of date
DRIFT = {
    "a right": ("base/rbac.yaml", "verbs: [list, watch]",
                "verbs: [list, watch, get]", ["rbac"]),
    "a probe": ("base/deployment.yaml", "path: /livez", "path: /healthz",
                ["deployment"]),
    "the configuration": ("base/config.yaml", "startupTimeout: 15m",
                          "startupTimeout: 16m", ["config"]),
    "an alert": ("components/prometheus/prometheusrule.yaml",
                 "severity: warning", "severity: page", ["prometheus"]),
    "a port of a component's": ("components/prometheus/kustomization.yaml",
                                "port: 8080", "port: 8081", ["service"]),
    "a condition": ("base/policy.yaml",
                    "failurePolicy: Fail", "failurePolicy: Ignore",
                    ["least-privilege"]),
    "what a value means": ("helm/schema.yaml", "adds a NetworkPolicy",
                           "adds a policy", ["README", "values"]),
    "a template, by hand": ("helm/templates/webhook.yaml", "Ignore", "Fail",
                            ["webhook"]),
}


def test_what_is_out_of_date_is_seen(deploy):
    """All at once, as no two concern one file."""
    for file, old, new, _ in DRIFT.values():
        edit(deploy / file, old, new)
    done = generate(deploy / "helm", "--check")
    assert done.returncode == 1 and "out of date" in done.stderr
    stale = [name for *_, names in DRIFT.values() for name in names]
    assert sorted(re.findall(r"^--- deploy/helm/(?:\w+/)?([\w-]+)\.",
                             done.stdout, re.M)) == sorted(stale)


def test_it_writes_what_it_checks(deploy):
    edit(deploy / "base/rbac.yaml", "verbs: [list, watch]", "verbs: [list]")
    (deploy / "helm/templates/service.yaml").unlink()
    # This template belongs to a component that no longer exists.
    webhook = (deploy / "helm/templates/webhook.yaml").read_text()
    (deploy / "helm/templates/gone.yaml").write_text(webhook)
    assert "gone.yaml" in generate(deploy / "helm", "--check").stdout
    assert generate(deploy / "helm").returncode == 0
    assert generate(deploy / "helm", "--check").returncode == 0
    assert not (deploy / "helm/templates/gone.yaml").exists()
    assert (deploy / "helm/templates/config.yaml").exists()


def test_what_cannot_be_written_is_an_error(deploy):
    """An error is better than a chart without it."""
    def error():
        done = generate(deploy / "helm")
        assert done.returncode == 1
        return done.stderr
    shutil.copytree(deploy / "components/network-policy",
                    deploy / "components/other")
    assert "['other']" in error()
    shutil.rmtree(deploy / "components/other")
    edit(deploy / "components/high-availability/spread.yaml", "    spec:\n",
         "    spec:\n      enableServiceLinks: true\n")
    assert "enableServiceLinks" in error()
    edit(deploy / "components/high-availability/spread.yaml",
         "      enableServiceLinks: true\n", "")
    file = deploy / "components/network-policy/kustomization.yaml"
    file.write_text(file.read_text() + """\
configMapGenerator:
  - name: karpenter-node-holder-config
    namespace: karpenter-node-holder
    behavior: merge
    literals: [config.yaml=]
""")
    assert "network-policy renames or removes" in error()
    shutil.copy(DEPLOY / "components/network-policy/kustomization.yaml", file)
    edit(deploy / "base/deployment.yaml", "        - name: config\n          con",
         "        - name: file\n          con")
    edit(deploy / "base/deployment.yaml", "            - name: config\n",
         "            - name: file\n")
    assert "volumes.config" in error()
    edit(deploy / "helm/generate.py", '"ServiceMonitor", NAME',
         '"ServiceMonitors", NAME')
    edit(deploy / "base/deployment.yaml", "- name: file\n", "- name: config\n")
    assert "ServiceMonitors" in error()


# The real helm

@pytest.fixture(scope="session")
def helm(build_programs, plane_programs, tmp_path_factory):
    """helm(ARGS..., values=) returns a CompletedProcess; nobody's settings
    apply."""
    build_programs("helm")
    home = tmp_path_factory.mktemp("helm")

    def run(*args, values=None, check=True, kubeconfig="/nonexistent"):
        if values is not None:
            file = home / "values.yaml"
            file.write_text(yaml.safe_dump(values))
            args += ("--values", file)
        done = subprocess.run(
            [BUILD / "bin" / "helm", *map(str, args)], text=True,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
            env={"HOME": str(home), "PATH": os.environ["PATH"],
                 "KUBECONFIG": str(kubeconfig)})
        if check:
            assert done.returncode == 0, done.stderr
            # A warning is, for example, "skipped value for ...: Not a table".
            assert "warning" not in done.stderr.lower(), done.stderr
        return done
    return run


@pytest.fixture(scope="session")
def template(helm):
    """template(values) returns objects."""
    def run(values, *flags, namespace=NAME, chart=CHART):
        done = helm("template", "mine", chart, "--namespace", namespace,
                    *flags, values=values)
        return [o for o in yaml.safe_load_all(done.stdout) if o]
    return run


@pytest.fixture(scope="session")
def refused(helm):
    def run(values, chart=CHART):
        done = helm("template", "mine", chart, values=values, check=False)
        assert done.returncode != 0, done.stdout
        return " ".join(done.stderr.split())
    return run


def effective(text):
    """What the holder makes of a configuration."""
    done = subprocess.run([BINARY, "check", "--config", "/dev/stdin"],
                          input=text, text=True, capture_output=True,
                          timeout=30)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)


def settings(objects):
    (key, text), = configuration(objects)["data"].items()
    assert key == "config.yaml"
    return effective(text)


def substance(objects):
    """The objects without what only tells which tool wrote them."""
    config = configuration(objects)["metadata"]["name"]
    told = {APP + "instance", APP + "managed-by", APP + "version",
            "helm.sh/chart"}
    out = {}
    for o in copy.deepcopy(objects):
        meta = o["metadata"]
        if o["kind"] == "Namespace" and meta["name"] != TICKETS:
            continue            # helm install --create-namespace makes it
        if meta["name"] == config:
            meta["name"] = CONFIG
            o["data"] = {"settings": settings(objects)}
        metas = [meta]
        if o["kind"] == "Deployment":
            template = o["spec"]["template"]
            metas.append(template["metadata"])
            template["metadata"]["annotations"].pop("checksum/config", None)
            for volume in template["spec"]["volumes"]:
                if volume["name"] == "config":
                    volume["configMap"]["name"] = CONFIG
        for m in metas:
            m["labels"] = {k: v for k, v in m["labels"].items()
                           if k not in told}
        key = o["kind"], meta.get("namespace"), meta["name"]
        assert key not in out, key
        out[key] = o
    return out


def same(chart, kustomize):
    chart, kustomize = substance(chart), substance(kustomize)
    assert sorted(map(str, chart)) == sorted(map(str, kustomize))
    for key, o in kustomize.items():
        if chart[key] != o:
            pytest.fail("\n".join(difflib.unified_diff(
                yaml.safe_dump(o).splitlines(),
                yaml.safe_dump(chart[key]).splitlines(),
                f"{key} of kustomize", "of helm", lineterm="")), False)


def config_of(**settings):
    """Fields of an overlay that put these settings into its configuration."""
    text = yaml.safe_dump({
        **yaml.safe_load((DEPLOY / "base/config.yaml").read_text()),
        **settings})
    return {"files": {"config.yaml": text}, "configMapGenerator": [
        {"name": CONFIG, "namespace": NAME, "behavior": "replace",
         "files": ["config.yaml"]}]}


def patched(kind, *operations):
    return {"target": {"kind": kind}, "patch": json.dumps(
        [{"op": op, "path": path, "value": value}
         for op, path, value in operations])}


POD = "/spec/template/spec"
OTHER = {"key": "example.com/hold", "value": "yes"}
HOLD = "karpenter.sh/do-not-disrupt"
TERM = {"weight": 1, "preference": {"matchExpressions": [
    {"key": "a", "operator": "Exists"}]}}
# what it shows: (values, resource, components and fields of an overlay)
SAME = {
    "default": ({}, "overlays/default", {}),
    "eks": ({"networkPolicy": {"enabled": True, "apiServerPorts": [443]}},
            "overlays/eks", {}),
    "demo": ({**BASE, "tls": {"mode": "selfSigned"}, "holdDuration": 1, "maxHoldDuration": 20,
              "config": {"startupTimeout": "3m", "logging": {
                  "format": "text", "level": "debug"}}},
             "overlays/demo", {}),
    "base": (BASE, "base", {}),
    "cert-manager": ({**BASE, "tls": {"mode": "certManager"}}, "base",
                     {"components": ["cert-manager"]}),
    "self-signed": ({**BASE, "tls": {"mode": "selfSigned"}}, "base",
                    {"components": ["self-signed"]}),
    "overlay self-signed": ({"tls": {"mode": "selfSigned"}},
                            "overlays/self-signed", {}),
    "self-signed, other lives": (
        {**BASE, "tls": {"mode": "selfSigned"},
         "config": {"selfSigned": {"duration": "48h"}}}, "base",
        {"components": ["self-signed"],
         **config_of(selfSigned={"duration": "48h"})}),
    "high-availability": (
        {**BASE, "replicas": 2, "highAvailability": ON}, "base",
        {"components": ["high-availability"]}),
    "dedicated-nodes": ({**BASE, "dedicatedNodes": ON}, "base",
                        {"components": ["dedicated-nodes"]}),
    "without least-privilege": (
        {**BASE, "leastPrivilege": {"enabled": False}}, "base",
        {"patches": [{"target": {"kind": f"ValidatingAdmissionPolicy{k}"},
                      "patch": yaml.safe_dump({
                          "$patch": "delete",
                          "kind": f"ValidatingAdmissionPolicy{k}",
                          "metadata": {"name": NAME}})}
                     for k in ("", "Binding")]}),
    "network-policy": ({**BASE, "networkPolicy": ON}, "base",
                       {"components": ["network-policy"]}),
    "network-policy, and the API server's address": (
        {**BASE, "networkPolicy": {**ON, "apiServerCIDRs": ["192.0.2.7/32"]}},
        "base", {"components": ["network-policy"], "patches": [patched(
            "NetworkPolicy", ("add", "/spec/ingress/1/from/-",
                              {"ipBlock": {"cidr": "192.0.2.7/32"}}))]}),
    "access": ({**BASE, "access": ON}, "base", {"components": ["access"]}),
    "prometheus": ({**BASE, "prometheus": ON}, "base",
                   {"components": ["prometheus"]}),
    "tickets": ({**BASE, "tickets": ON}, "base", {"components": ["tickets"]}),
    "everything": (
        {"access": ON, "networkPolicy": ON, "prometheus": ON, "tickets": ON},
        "overlays/default",
        {"components": ["access", "network-policy", "prometheus",
                        "tickets"]}),
    "another namespace": (
        {"access": ON, "networkPolicy": ON, "prometheus": ON, "tickets": ON},
        "overlays/default",
        {"components": ["access", "network-policy", "prometheus", "tickets"],
         "namespace": "platform"}),
    "image": ({"image": {"repository": "r.example.com/h", "tag": "1.2.3"}},
              "overlays/default",
              {"images": [{"name": NAME, "newName": "r.example.com/h",
                           "newTag": "1.2.3"}]}),
    "image, its tag the chart's": (
        {"image": {"repository": "r.example.com:5000/a/h"}},
        "overlays/default",
        {"images": [{"name": NAME, "newName": "r.example.com:5000/a/h"}]}),
    "image, by digest": (
        {"image": {"tag": "1.2.3", "digest": DIGEST}}, "overlays/default",
        {"images": [{"name": NAME, "digest": DIGEST}]}),
    "image, as in the Go program's chart": (
        {"image": GO["image"]}, "overlays/default",
        {"images": [{"name": NAME,
                     "newName": "registry.example.com/node-holder",
                     "newTag": "controller"}]}),
    "three replicas": ({"replicas": 3}, "overlays/default",
                       {"replicas": [{"name": NAME, "count": 3}]}),
    "bundle": ({**BASE, "tls": {"mode": "secret", "caBundle": "Y2\nE=\n",
                                "secretName": "mine"}}, "base",
               {"patches": [
                   patched("MutatingWebhookConfiguration",
                           ("add", "/webhooks/0/clientConfig/caBundle",
                            "Y2E=")),
                   patched("Deployment",
                           ("test", POD + "/volumes/1/name", "tls"),
                           ("replace", POD + "/volumes/1/secret/secretName",
                            "mine"))]}),
    "another hold": (
        {"holdAnnotation": OTHER, "leastPrivilege": {
            "formerHoldKeys": ["karpenter.sh/do-not-disrupt"]}},
        "overlays/default",
        {**config_of(holdAnnotation=OTHER),
         "patches": [patched(
             "ValidatingAdmissionPolicy",
             ("test", "/spec/variables/0/name", "holds"),
             ("replace", "/spec/variables/0/expression",
              "['example.com/hold', 'karpenter.sh/do-not-disrupt']"))]}),
    "scope, pools, cap": (
        {"scope": "nodepool", "maxHoldDuration": 0, "holdDuration": "90s",
         "minScaleUp": 100000,
         "nodePools": {"include": ["web-*", "ci"], "exclude": ["web-x"]}},
        "overlays/default", config_of(
            scope="nodepool", maxHoldDuration="0", holdDuration="90s",
            minScaleUp=100000,
            nodePools={"include": ["web-*", "ci"], "exclude": ["web-x"]})),
    "a share of the machines": (
        {"minScaleUp": "2%"}, "overlays/default", config_of(minScaleUp="2%")),
    "nothing, false and empty over something": (
        {"config": {"nodePools": {"include": []}, "maxHoldDuration": "0s",
                    "leaderElection": {"enabled": False}},
         "replicas": 1},
        "overlays/default", {
            **config_of(
                nodePools={"include": [], "exclude": []}, maxHoldDuration="0",
                leaderElection={"enabled": False}),
            "replicas": [{"name": NAME, "count": 1}]}),
    "a long time": (
        {"holdDuration": 1000000, "maxHoldDuration": 2000000},
        "overlays/default", config_of(holdDuration="1000000m",
                                      maxHoldDuration="2000000m")),
    "the Lease": (
        {"config": {"leaderElection": {"name": "other"}}},
        "overlays/default",
        {**config_of(leaderElection={"name": "other"}), "patches": [{
            "target": {"kind": "Role", "name": NAME},
            "patch": json.dumps([
                {"op": "replace", "path": "/rules/1/resourceNames/0",
                 "value": "other"}])}]}),
    "the Pods": (
        {"image": {"pullPolicy": "Always"},
         "imagePullSecrets": [{"name": "pull"}],
         "podAnnotations": {"a.example.com/b": "true", HOLD: "false"},
         "priorityClassName": "mine", "nodeSelector": {"a": "1"},
         "resources": {"requests": {"cpu": "1"}, "limits": None},
         "tolerations": [{"key": "k", "operator": "Exists"}],
         "affinity": {"podAntiAffinity": {}, "nodeAffinity": {
             "preferredDuringSchedulingIgnoredDuringExecution": [TERM]}},
         "prometheus": {"enabled": True, "labels": {"release": "kps"}}},
        "overlays/default",
        {"components": ["prometheus"], "patches": [
            patched("ServiceMonitor|PrometheusRule",
                    ("add", "/metadata/labels/release", "kps")),
            patched("Deployment",
                    ("add", "/spec/template/metadata/annotations/"
                     "a.example.com~1b", "true"),
                    ("replace", "/spec/template/metadata/annotations/"
                     "karpenter.sh~1do-not-disrupt", "false"),
                    ("add", POD + "/imagePullSecrets", [{"name": "pull"}]),
                    ("add", POD + "/nodeSelector", {"a": "1"}),
                    ("replace", POD + "/priorityClassName", "mine"),
                    ("add", POD + "/tolerations/-",
                     {"key": "k", "operator": "Exists"}),
                    ("add", POD + "/affinity/podAntiAffinity", {}),
                    ("add", POD + "/affinity/nodeAffinity/"
                     "preferredDuringSchedulingIgnoredDuringExecution/-",
                     TERM),
                    ("replace", POD + "/containers/0/resources",
                     {"requests": {"cpu": "1", "memory": "32Mi"}}),
                    ("add", POD + "/containers/0/imagePullPolicy",
                     "Always"))]}),
}


@pytest.fixture
def case(plane, overlay, template, request):
    """Returns (objects of helm, objects of kustomize)."""
    values, resource, fields = SAME[request.param]
    namespace = fields.get("namespace", NAME)
    return (template(values, namespace=namespace),
            render(plane, overlay(resource, **fields)))


@long
@pytest.mark.parametrize("case", SAME, indirect=True)
def test_helm_and_kustomize_say_the_same(case):
    same(*case)


@long
@pytest.mark.parametrize("mode", [None, "enforce", "observe"])
def test_a_trial_lacks_the_right_to_patch(template, mode):
    """As components/observe."""
    objects = template({"config": {"mode": mode} if mode else {}})
    role, = (o for o in objects if o["kind"] == "ClusterRole")
    assert [r["resources"] for r in role["rules"] if "patch" in r["verbs"]] \
        == ([] if mode == "observe" else [["nodes"], ["nodeclaims"]])
    text, = next(o for o in objects
                 if o["kind"] == "ConfigMap")["data"].values()
    assert effective(text)["mode"] == (mode or "enforce")


@long
def test_another_namespace_for_tickets(template):
    """Wherever it is named it is another."""
    was = json.dumps(template({"tickets": ON}))
    now = json.dumps(template({"tickets": {
        **ON, "namespace": "tickets-of-ci"}}))
    names = (f'"namespace": "{TICKETS}"', f"--tickets-namespace={TICKETS}",
             f'"kubernetes.io/metadata.name": "{TICKETS}"',
             f'"kind": "Namespace", "metadata": {{"name": "{TICKETS}"')
    for name in names:
        assert name in was
        was = was.replace(name, name.replace(TICKETS, "tickets-of-ci"))
    assert now == was


PROFILE = {"type": "Localhost", "localhostProfile": "no-process.json"}
SPREAD = {"maxSkew": 1, "topologyKey": "rack",
          "whenUnsatisfiable": "ScheduleAnyway"}
SECRET = {"apiVersion": "v1", "kind": "Secret",
          "metadata": {"name": "of-{{ .Release.Name }}"}}


@long
@pytest.mark.parametrize("key", ["nameOverride", "fullnameOverride"])
def test_what_charts_usually_have(template, key):
    """Each value does what it says, and nothing else."""
    some = {"tls": {"mode": "selfSigned"}, "networkPolicy": ON,
            "prometheus": ON}
    was = template(some)
    now = template({
        **some, key: "quiet", "podLabels": {"team": "a"},
        "podAnnotations": {"b": "c"}, "seccompProfile": PROFILE,
        "topologySpreadConstraints": [SPREAD, {
            **SPREAD, "labelSelector": {"matchLabels": {"x": "z"}}}],
        "extraObjects": [SECRET, yaml.safe_dump(
            {**SECRET, "metadata": {"name": "text"}})]})
    for o in was:
        if o["kind"] in ("Deployment", "PodDisruptionBudget", "NetworkPolicy",
                         "ServiceMonitor", "PrometheusRule", "ConfigMap"):
            o["metadata"]["name"] = o["metadata"]["name"].replace(
                NAME, "quiet")
        if o["kind"] != "Deployment":
            continue
        pod = o["spec"]["template"]
        pod["metadata"]["labels"]["team"] = "a"
        pod["metadata"]["annotations"]["b"] = "c"
        pod["spec"]["securityContext"]["seccompProfile"] = PROFILE
        pod["spec"]["volumes"][0]["configMap"]["name"] = "quiet-config"
        if o["metadata"]["name"] == "quiet":
            pod["spec"]["topologySpreadConstraints"] = [
                {**SPREAD, "labelSelector": o["spec"]["selector"]},
                {**SPREAD, "labelSelector": {"matchLabels": {"x": "z"}}}]
    was += [{**SECRET, "metadata": {"name": name}}
            for name in ("of-mine", "text")]

    def by_name(objects):
        return {(o["kind"], o["metadata"]["name"]): o for o in objects}
    assert by_name(now) == by_name(was)
    assert len(now) == len(was)


@long
def test_a_component_more(plane, deploy, template):
    """A new component may change what others change, too."""
    folder = deploy / "components" / "other"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component", "patches": [
            patched("Deployment",
                    ("add", POD + "/containers/0/args/-", "--other"),
                    ("add", POD + "/hostNetwork", False),
                    ("add", POD + "/topologySpreadConstraints",
                     [{"maxSkew": 3, "topologyKey": "rack",
                       "whenUnsatisfiable": "ScheduleAnyway"}])),
            patched("MutatingWebhookConfiguration",
                    ("add", "/metadata/annotations", {"other": "a"})),
            {"target": {"kind": "Role", "name": NAME},
             "patch": patched("", ("add", "/rules/-", {
                 "apiGroups": [""], "resources": ["secrets"],
                 "verbs": ["get"]}))["patch"]}]}))
    edit(deploy / "helm/generate.py", "COMPONENTS = {\n",
         "COMPONENTS = {\n    'other': 'hasKey .Values \"initialDelay\"',\n")
    # Two components add the same key: this is reported, not guessed.
    done = generate(deploy / "helm")
    assert done.returncode == 1 and "is the second to add" in done.stderr
    file = folder / "kustomization.yaml"
    content = yaml.safe_load(file.read_text())
    for patch in content["patches"][:2]:
        operations = json.loads(patch["patch"])[:2]
        for operation in operations:
            operation["path"] = operation["path"].replace(
                "/metadata/annotations", "/webhooks/0/objectSelector")
        patch["patch"] = json.dumps(operations)
    file.write_text(yaml.safe_dump(content))
    done = generate(deploy / "helm")
    assert done.returncode == 0, done.stderr
    for values, components in (
            ({}, []), ({"initialDelay": 1}, ["components/other"]),
            ({"initialDelay": 1, "prometheus": ON},
             ["components/prometheus", "components/other"])):
        (deploy / "kustomization.yaml").write_text(yaml.safe_dump({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization", "resources": ["overlays/default"],
            "components": components}))
        same(template(values, chart=deploy / "helm"), render(plane, deploy))
    container, = find(render(plane, deploy), "Deployment")["spec"][
        "template"]["spec"]["containers"]
    assert "--other" in container["args"]


@pytest.fixture
def namespace(plane):
    """make(name) creates a namespace that enforces `restricted`, as
    deploy/base has it."""
    def make(name=NAME, restricted=True):
        body = yaml.safe_load((DEPLOY / "base/namespace.yaml").read_text())
        body["metadata"]["name"] = name
        if not restricted:
            del body["metadata"]["labels"]
        plane.apply(body)
        return name
    return make


@long
@pytest.mark.parametrize("case", SAME, indirect=True)
def test_the_api_server_takes_it(plane, case, namespace):
    objects, _ = case
    deployment = find(objects, "Deployment")
    namespace(deployment["metadata"]["namespace"])
    with installed(plane, objects) as kept:
        assert identities(kept) == identities(objects)
        if deployment["spec"]["template"]["spec"]["priorityClassName"] != \
                "mine":
            check_pods(plane, find(kept, "Deployment"))


@long
def test_labels(template):
    objects = template({"networkPolicy": ON, "prometheus": ON})
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    makefile = (REPO / "Makefile").read_text()
    assert chart["appVersion"] == re.search(
        r"^VERSION := (\S+)$", makefile, re.M)[1]
    expected = {APP + "name": NAME, APP + "instance": "mine",
                APP + "version": chart["appVersion"], APP + "part-of": NAME,
                APP + "managed-by": "Helm"}
    for o in objects:
        assert expected.items() <= o["metadata"]["labels"].items(), o
        assert o["metadata"]["labels"]["helm.sh/chart"] == \
            f"{NAME}-{chart['version']}"
    # A new version of the chart alone does not roll the Pods.
    pod = find(objects, "Deployment")["spec"]["template"]["metadata"]
    assert expected.items() <= pod["labels"].items()
    assert "helm.sh/chart" not in pod["labels"]


@long
@pytest.mark.parametrize("enabled", [True, False])
def test_a_dependency_with_a_condition(helm, tmp_path, enabled):
    """Helm gives the chart the value of its own condition, and `global`."""
    shutil.copytree(CHART, tmp_path / "charts" / CHART.name)
    (tmp_path / "Chart.yaml").write_text(yaml.safe_dump({
        "apiVersion": "v2", "name": "umbrella", "version": "1.0.0",
        "dependencies": [{
            "name": "karpenter-node-holder", "version": "*",
            "condition": "karpenter-node-holder.enabled"}]}))
    done = helm("template", "mine", tmp_path, values={
        "global": {"anything": {"at": "all"}},
        "karpenter-node-holder": {"enabled": enabled}})
    assert ("kind: MutatingWebhookConfiguration" in done.stdout) == enabled


def test_lint(helm):
    helm("lint", "--strict", CHART)
    helm("lint", "--strict", CHART, values={
        "networkPolicy": ON, "prometheus": ON, "tickets": ON})


@long
def test_kubernetes_versions(helm, template):
    for version in ("1.30.0", "v1.30.4-eks-a18cd3a", "1.36.3"):
        assert template({}, "--kube-version", version)
    done = helm("template", CHART, "--kube-version", "1.29.9", check=False)
    assert done.returncode != 0 and ">=1.30.0-0" in done.stderr


@long
def test_a_bundle_of_pem(helm, tmp_path):
    pem = certs(tmp_path / "pair") / "ca.crt"
    done = helm("template", CHART, "--set-file", f"tls.caBundle={pem}",
                values=BASE)
    hook, = find(list(filter(None, yaml.safe_load_all(done.stdout))),
                 "MutatingWebhookConfiguration")["webhooks"]
    decoded = subprocess.run(["base64", "-d"], capture_output=True, text=True,
                             input=hook["clientConfig"]["caBundle"])
    assert decoded.stdout == pem.read_text()


# What is refused, and by which words

# values, the value that the message names, what else the message says
REFUSED = [
    ({"holdDuraton": 20}, "holdDuraton", "not allowed"),
    ({"holdDuration": "20 minutes"}, "holdDuration", "pattern"),
    ({"holdDuration": 0}, "holdDuration", "minimum"),
    ({"holdDuration": 1.5}, "holdDuration", "integer"),
    ({"holdDuration": True}, "holdDuration", "boolean"),
    ({"maxHoldDuration": -1}, "maxHoldDuration", "minimum"),
    ({"minScaleUp": 0}, "minScaleUp", "minimum"),
    ({"minScaleUp": "2"}, "minScaleUp", "pattern"),
    ({"minScaleUp": "101%"}, "minScaleUp", "pattern"),
    ({"scope": "pool"}, "scope", "'nodepool'"),
    ({"replicas": "2"}, "replicas", "integer"),
    ({"image": ""}, "image", "minLength"),
    ({"image": 5}, "image", "string"),
    ({"image": {"name": "a"}}, "image", "'name'"),
    ({"image": {"digest": "latest"}}, "image/digest", "pattern"),
    ({"image": {"pullPolicy": "never"}}, "image/pullPolicy", "'Never'"),
    ({"holdAnnotation": "a b"}, "holdAnnotation", "pattern"),
    ({"holdAnnotation": {"keys": "a"}}, "holdAnnotation", "'keys'"),
    ({"holdAnnotation": {"value": True}}, "holdAnnotation/value", "string"),
    ({"nodePools": {"include": "web"}}, "nodePools/include", "array"),
    ({"config": "holdDuration: 5m"}, "config", "object"),
    ({"tls": {"mode": "selfsigned"}}, "tls/mode", "'certManager'"),
    ({"networkPolicy": {"apiServerPorts": []}},
     "networkPolicy/apiServerPorts", "minItems"),
    ({"leastPrivilege": {"formerHoldKeys": ["a'b"]}},
     "leastPrivilege/formerHoldKeys/0", "pattern"),
    ({"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {}}}},
     "affinity/nodeAffinity", "not allowed"),
    ({"prometheus": True}, "prometheus", "object"),
    ({"tickets": {"namespace": ""}}, "tickets/namespace", "minLength"),
    ({"tickets": {"namespace": "A"}}, "tickets/namespace", "pattern"),
    ({"fullnameOverride": "A_b"}, "fullnameOverride", "pattern"),
    ({"podLabels": {APP + "name": "a"}}, "podLabels/app.kubernetes.io~1name",
     "false schema"),
    ({"seccompProfile": {"type": "Unconfined"}}, "seccompProfile/type",
     "'Localhost'"),
    ({"topologySpreadConstraints": [{"maxSkew": 1}]},
     "topologySpreadConstraints/0", "topologyKey"),
    ({"extraObjects": {}}, "extraObjects", "array"),
    ({"image": None}, "image", "missing"),
    ({"tls": None}, "tls", "missing"),
    ({"networkPolicy": {"apiServerPorts": None}}, "apiServerPorts",
     "missing"),
    # These are refused by the templates.
    ({"tls": {"caBundle": "Y2E="}}, "tls.caBundle", "tls.mode secret"),
    ({"config": {"webhook": {"address": ":1"}}}, "config.webhook", "ports"),
    ({"config": {"metrics": {}}}, "config.metrics", "ports"),
    ({"config": {"tickets": {"namespace": "a"}}}, "config.tickets",
     "tickets.enabled"),
    ({"tickets": {**ON, "namespace": "default"}}, "tickets.namespace",
     "own Lease"),
    ({"config": {"memoryLimit": "256Mi"}}, "config.memoryLimit",
     "Set resources.limits.memory"),
    ({"config": {"leaderElection": {"namespace": "a"}}},
     "config.leaderElection.namespace", "release's namespace"),
    ({"config": {"leaderElection": {"enabled": False}}},
     "config.leaderElection.enabled", "replicas: 1"),
    ({"config": {"selfSigned": {"enabled": True}}},
     "config.selfSigned.enabled", "tls.mode"),
    ({"config": {"selfSigned": {"secret": "a"}}},
     "config.selfSigned.secret", "rights"),
    ({"holdAnnotation": "karpenter.sh/do-not-consolidate"}, "holdAnnotation",
     "Karpenter 1 and later ignores karpenter.sh/do-not-consolidate"),
    ({"holdAnnotation": {"key": "karpenter.sh/do-not-consolidate"}},
     "holdAnnotation", "Leave holdAnnotation out"),
    (GO, "holdAnnotation", "default of the Go program's chart"),
]


@long
@pytest.mark.parametrize("values, name, words", REFUSED, ids=[
    f"{name}, {i}" for i, (_, name, _) in enumerate(REFUSED)])
def test_bad_values(refused, values, name, words):
    message = refused(values)
    assert re.search(rf"(?<![\w/]){re.escape(name)}\b", message.replace(
        "'/", "'")), message
    assert words in message, message


@long
def test_what_is_left_empty(template):
    """`config:` with all its lines commented out is null."""
    empty = ("imagePullSecrets", "holdDuration", "config", "podAnnotations",
             "nodeSelector", "tolerations", "affinity")
    assert template(dict.fromkeys(empty)) == template({})
    template({"resources": None, "maxHoldDuration": None,
              "minScaleUp": None})


@long
@pytest.mark.parametrize("value, hold", [
    (20, "20m"), ("20", "20m"), ("20m", "20m"), ("1h30m", "1h30m"),
    ("90s", "1m30s"), (90, "1h30m"), (1441, "24h1m")])
def test_minutes_or_a_duration(template, value, hold):
    assert settings(template({"holdDuration": value}))["holdDuration"] == hold
    if value in (20, "20m"):
        assert settings(template({"maxHoldDuration": value}))[
            "maxHoldDuration"] == hold


@long
def test_the_values_of_the_go_chart(helm, template):
    """All values work but an annotation that Karpenter does not obey."""
    old = {k: v for k, v in GO.items() if k != "holdAnnotation"}
    objects = template(old)
    container, = find(objects, "Deployment")["spec"]["template"]["spec"][
        "containers"]
    assert container["image"] == GO["image"]
    found = settings(objects)
    assert found["holdDuration"] == "20m"
    assert found["holdAnnotation"] == {
        "key": "karpenter.sh/do-not-disrupt", "value": "true"}
    # The annotation may be a key alone.
    assert settings(template({"holdAnnotation": "example.com/a"}))[
        "holdAnnotation"] == {"key": "example.com/a", "value": "true"}
    # initialDelay changes nothing.
    assert objects == template({k: v for k, v in old.items()
                                if k != "initialDelay"})


# NOTES

@pytest.fixture(scope="session")
def notes(helm):
    def run(values):
        done = helm("install", "mine", CHART, "--dry-run=client",
                    "--namespace", "platform", values=values)
        return " ".join(done.stdout.split("\nNOTES:\n")[1].split())
    return run


# values, what is in the notes, what is not
NOTES = {
    "image": ({"image": "r.example.com/h:1"}, ["leaves the holds"],
              ["WARNING"]),
    "default": ({}, ["WARNING: the image is karpenter-node-holder:",
                     "namespace platform", "the cluster is held until 10m",
                     "pod-security.kubernetes.io/enforce=restricted",
                     "port-forward", "leaves the holds"],
                ["initialDelay", "the hold is", "caBundle", "Secret"]),
    "initialDelay": ({"initialDelay": 60},
                     ["initialDelay does nothing: it is not needed"], []),
    "initialDelay 0": ({"initialDelay": 0}, ["initialDelay does noth"], []),
    "secret": ({"tls": {"mode": "secret", "secretName": "pair"}},
               ["Secret pair", f"{NAME}.platform.svc",
                "tls.caBundle is empty"], []),
    "bundle": ({"tls": {"mode": "secret", "caBundle": "Y2E="}},
               ["Secret " + NAME + "-tls"], ["is empty"]),
    "scope": ({"scope": "nodepool", "holdDuration": 7},
              ["its nodepool is held until 7m"], []),
    "annotation": ({"holdAnnotation": "example.com/hold"},
                   ["WARNING: the hold is example.com/hold"], []),
    "annotation by config": (
        {"config": {"holdAnnotation": {
            "key": "karpenter.sh/do-not-consolidate"}}},
        ["WARNING: the hold is karpenter.sh/do-not-consolidate"], []),
}


@long
@pytest.mark.parametrize("name", NOTES)
def test_notes(notes, name):
    values, there, absent = NOTES[name]
    text = notes(values)
    for words in there:
        assert words in text
    for words in absent:
        assert words not in text


# The documentation

def test_every_value_is_explained():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    readme = (CHART / "README.md").read_text()
    assert set(values) | {"initialDelay", "enabled", "global"} == set(
        schema["properties"])
    for name in schema["properties"]:
        assert f"`{name}" in readme or name == "global", name
