# SPDX-License-Identifier: Apache-2.0
"""Releases of deploy/helm on a real API server: install, upgrade, uninstall,
and taking over what another tool installed."""
import subprocess

import pytest
import yaml

from controlplane import JSONPATCH, NAMESPACES, REPO, WEBHOOKS
from holder import certs
from test_deploy import (CLUSTER_WIDE, EVENTS, NAME, check_pods, find,
                         identities, installed, kinds, overlay, plane, render)
from test_helm import (BASE, CHART, CONFIG, GO, ON, effective, helm, namespace,
                       same, settings)

assert helm and namespace and overlay and plane     # fixtures

pytestmark = pytest.mark.long


def stored(plane, objects):
    answer = plane.kubectl("get", "-o", "yaml", "-f", "-",
                           stdin=yaml.safe_dump_all(objects)).stdout
    return yaml.safe_load(answer)["items"]


class Release:
    def __init__(self, plane, helm, namespace, name="mine"):
        self.plane, self.name = plane, name
        self.namespace, self.run = namespace, helm

    def helm(self, command, *args, **options):
        return self.run(command, self.name, *args, "--namespace",
                        self.namespace, kubeconfig=self.plane.kubeconfig,
                        **options)

    def objects(self):
        text = self.run(
            "get", "manifest", self.name, "--namespace", self.namespace,
            kubeconfig=self.plane.kubeconfig)
        found = [o for o in yaml.safe_load_all(text.stdout) if o]
        for o in found:
            if o["kind"] not in CLUSTER_WIDE:
                o["metadata"].setdefault("namespace", self.namespace)
        return found

    def stored(self):
        return stored(self.plane, self.objects())

    def deployment(self):
        return find(self.stored(), "Deployment")


@pytest.fixture
def release(plane, helm, namespace):
    made = []

    def make(where, name="mine", restricted=True):
        made.append(Release(plane, helm, namespace(where, restricted), name))
        return made[-1]
    yield make
    for one in made:
        one.helm("uninstall", "--ignore-not-found")


def left(plane, objects):
    answer = plane.kubectl("get", "--ignore-not-found", "-o", "name", "-f",
                           "-", stdin=yaml.safe_dump_all(objects))
    return answer.stdout.split()


def test_install_upgrade_uninstall(plane, release, tmp_path):
    mine = release("platform")
    everything = {"networkPolicy": ON, "prometheus": ON}
    told = mine.helm("install", CHART, values=everything).stdout
    assert "The installation works if" in told
    objects = mine.objects()
    assert identities(mine.stored()) == identities(objects)
    assert {"Certificate", "ServiceMonitor", "NetworkPolicy",
            "ValidatingAdmissionPolicy", "PodDisruptionBudget"} <= kinds(
                objects)
    for o in objects:
        where = o["metadata"].get("namespace")
        assert where == (None if o["kind"] in CLUSTER_WIDE else "default"
                         if o["metadata"]["name"] == EVENTS else "platform")
    check_pods(plane, mine.deployment())
    assert mine.deployment()["metadata"]["generation"] == 1

    # What cainjector has put there stays, and the same values again roll
    # nothing.
    plane.patch(WEBHOOKS, NAME, [
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle",
         "value": "Y2E="}], JSONPATCH)
    mine.helm("upgrade", CHART, values=everything)
    hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
    assert hook["clientConfig"]["caBundle"] == "Y2E="
    assert mine.deployment()["metadata"]["generation"] == 1

    # Another configuration rolls the Pods.
    was = mine.deployment()["spec"]["template"]
    mine.helm("upgrade", CHART, values={**everything, "holdDuration": 7})
    now = mine.deployment()
    assert now["metadata"]["generation"] == 2
    changed = now["spec"]["template"]["metadata"]["annotations"]
    assert changed["checksum/config"] != was["metadata"]["annotations"][
        "checksum/config"]
    config, = (o for o in mine.stored() if o["metadata"]["name"] == CONFIG)
    assert effective(config["data"]["config.yaml"])["holdDuration"] == "7m"

    # What is optional is switched off, and the certificate is another.
    bare = {**BASE, "leastPrivilege": {"enabled": False}}
    pem = certs(tmp_path / "pair") / "ca.crt"
    bundle = CHART, "--set-file", f"tls.caBundle={pem}"
    done = mine.helm("upgrade", *bundle, values=bare, check=False)
    assert done.returncode != 0 and "1 conflict" in done.stderr
    mine.helm("upgrade", *bundle, "--force-conflicts", values=bare)
    gone = [o for o in objects if o["kind"] in (
        "Certificate", "Issuer", "ServiceMonitor", "NetworkPolicy",
        "ValidatingAdmissionPolicy", "PodDisruptionBudget")]
    assert not left(plane, gone)
    spec = mine.deployment()["spec"]
    assert spec["replicas"] == 1
    assert "topologySpreadConstraints" not in spec["template"]["spec"]
    hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
    assert hook["clientConfig"]["caBundle"] != "Y2E="

    # The README says this, so that the holder clears all.
    mine.helm("upgrade", CHART, "--reuse-values", "--set",
              "nodePools.exclude={*}")
    assert settings(mine.objects())["nodePools"] == {
        "include": ["*"], "exclude": ["*"]}
    # The steps before it (docs/operations.md) have deleted the webhook.
    plane.delete(WEBHOOKS, NAME)
    mine.helm("uninstall")
    assert not left(plane, objects)
    assert plane.get(NAMESPACES, "platform")


def git(*args):
    done = subprocess.run(["git", "-C", REPO, *args], capture_output=True)
    assert done.returncode == 0, \
        "needs the repository's history: " + done.stderr.decode()
    return done.stdout


def test_upgrade_from_every_earlier_values_file(plane, release, tmp_path):
    """With the chart of that time, and all its values given."""
    seen = set()
    mine = release("platform")
    for commit in git("log", "--format=%H", "--",
                      "deploy/helm/values.yaml").decode().split()[::-1]:
        text = git("show", f"{commit}:deploy/helm/values.yaml")
        if text in seen:
            continue
        seen.add(text)
        folder = tmp_path / commit
        folder.mkdir()
        subprocess.run(["tar", "-x", "-C", folder], check=True,
                       input=git("archive", commit, "deploy/helm"))
        values = yaml.safe_load(text)
        mine.helm("install", folder / "deploy/helm", values=values)
        was = mine.deployment()["spec"]
        mine.helm("upgrade", CHART, "--reset-then-reuse-values")
        now = mine.deployment()["spec"]
        assert now["replicas"] == was["replicas"], commit
        check_pods(plane, mine.deployment())
        hold = settings(mine.objects())["holdDuration"]
        assert hold == f"{values['holdDuration']}m", commit
        mine.helm("uninstall")
    assert len(seen) > 20


def test_one_release_a_cluster(plane, release):
    """Two holders would hold for twice as long, so the names are fixed."""
    first, second = release("platform"), release("elsewhere", "another")
    first.helm("install", CHART)
    versions = {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
                for o in first.stored()}
    done = second.helm("install", CHART, check=False)
    assert done.returncode != 0
    assert "cannot be imported into the current release" in done.stderr
    assert versions == {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
                        for o in first.stored()}


GO_CHART = {
    "Chart.yaml": """\
apiVersion: v2
name: karpenter-node-holder
version: 0.1.0
appVersion: 1.16.0
""",
    # The names of the Go program's chart, and the other fields that the
    # objects need.
    "templates/all.yaml": """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}-sa
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Name }}-role
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [get, list, patch, update, edit, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .Release.Name }}-rolebinding
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .Release.Name }}-role
subjects:
  - kind: ServiceAccount
    name: {{ .Release.Name }}-sa
    namespace: {{ .Release.Namespace }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter-node-holder-watcher
spec:
  replicas: 1
  selector:
    matchLabels: {app: karpenter-node-holder-watcher}
  template:
    metadata:
      labels: {app: karpenter-node-holder-watcher}
    spec:
      serviceAccountName: {{ .Release.Name }}-sa
      containers:
        - name: watcher
          image: {{ .Values.image }}
          env:
            - name: INITIAL_DELAY
              value: {{ .Values.initialDelay | quote }}
            - name: HOLD_DURATION
              value: {{ .Values.holdDuration | quote }}
            - name: HOLD_ANNOTATION
              value: {{ .Values.holdAnnotation | quote }}
""",
}


def test_upgrade_of_a_release_of_the_go_chart(plane, release, tmp_path):
    old_chart = tmp_path / "old"
    for name, text in GO_CHART.items():
        (old_chart / name).parent.mkdir(parents=True, exist_ok=True)
        (old_chart / name).write_text(text)
    (old_chart / "values.yaml").write_text(yaml.safe_dump(GO))
    mine = release("tools", restricted=False)
    mine.helm("install", old_chart)
    old = mine.objects()
    assert len(left(plane, old)) == len(old)
    # With the old values as they are, the upgrade says why it fails, and
    # nothing has changed.
    done = mine.helm("upgrade", CHART, values=GO, check=False)
    assert done.returncode != 0 and "Leave holdAnnotation out" in done.stderr
    assert len(left(plane, old)) == len(old)
    values = {k: v for k, v in GO.items() if k != "holdAnnotation"}
    told = mine.helm("upgrade", CHART, values=values).stdout
    assert "initialDelay does nothing" in told
    assert not left(plane, old)
    assert identities(mine.stored()) == identities(mine.objects())
    container, = mine.deployment()["spec"]["template"]["spec"]["containers"]
    assert container["image"] == GO["image"]


def test_taking_over_from_kustomize(plane, overlay, release):
    """The Pods are replaced, and nobody notices anything else."""
    mine = release("platform")
    objects = render(plane, overlay("overlays/default", namespace="platform"))
    with installed(plane, objects):
        uid = find(stored(plane, objects), "Deployment")["metadata"]["uid"]
        assert mine.helm("install", CHART, check=False).returncode != 0
        mine.helm("install", CHART, "--take-ownership", "--force-conflicts")
        assert mine.deployment()["metadata"]["uid"] == uid
        same(mine.objects(), objects)
        assert find(mine.stored(), "Deployment")["spec"]["template"]["spec"][
            "volumes"][0]["configMap"]["name"] == CONFIG
