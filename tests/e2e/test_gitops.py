# SPDX-License-Identifier: Apache-2.0
"""docs/gitops.md: what changes by itself in a cluster is no drift."""
import os

import pytest
import yaml

from controlplane import REPO, WEBHOOKS, ControlPlane
from gitops import TOOLS, flux
from lead import LEASES, NAME
from test_tickets import sync_objects

pytestmark = pytest.mark.long
DEPLOY = REPO / "deploy"
JSONPATCH = "application/json-patch+json"
AKS = {"matchExpressions": [{"key": "control-plane", "operator": "DoesNotExist"}]}


@pytest.fixture
def plane(plane_programs, build_programs):
    build_programs("flux-apply")
    with ControlPlane(name="gitops") as plane:
        plane.install_crds()
        yield plane


def write(plane, manager, field, value):
    plane.patch(WEBHOOKS, f"{NAME}?fieldManager={manager}", [
        {"op": "add", "path": f"/webhooks/0/{field}", "value": value}], JSONPATCH)


def versions(plane, text):
    """Each object's resourceVersion."""
    found = yaml.safe_load(plane.kubectl("get", "-o", "yaml", "-f", "-",
                                         stdin=text).stdout)
    return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
            for o in found["items"]}


@pytest.mark.parametrize("sync", TOOLS, ids=lambda s: s.__name__)
def test_what_changes_by_itself_is_no_drift(plane, sync, tmp_path):
    """caBundle and AKS's selector stay, and no object is written; what the
    manifests have is put back.  The List of components/tickets is taken
    apart, and a ticket stays."""
    deploy = os.path.relpath(DEPLOY, tmp_path.resolve())
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [f"{deploy}/overlays/self-signed"],
        "components": [f"{deploy}/components/tickets"]}))
    text = plane.kubectl("kustomize", tmp_path).stdout
    assert "kind: List" in text
    sync(plane, text)
    plane.create(LEASES.replace(NAME, NAME + "-tickets"), {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "ci"}, "spec": {
            "holderIdentity": "ci", "leaseDurationSeconds": 300,
            "renewTime": "2026-01-01T00:00:00.000000Z"}})
    write(plane, "karpenter-node-holder", "clientConfig/caBundle", "Y2E=")
    write(plane, "admissionsenforcer", "namespaceSelector", AKS)
    plane.create(LEASES, {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": NAME}, "spec": {}})
    before = versions(plane, text)
    assert len(before) > 15
    sync(plane, text)
    assert versions(plane, text) == before
    role = plane.get("/apis/rbac.authorization.k8s.io/v1/namespaces/"
                     f"{NAME}-tickets/roles", NAME + "-tickets")
    assert role["metadata"]["uid"] in before
    assert plane.metadata(LEASES.replace(NAME, NAME + "-tickets"))
    write(plane, "somebody", "failurePolicy", "Fail")
    sync(plane, text)
    hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
    assert hook["failurePolicy"] == "Ignore"
    assert hook["clientConfig"]["caBundle"] == "Y2E="
    assert hook["namespaceSelector"] == AKS


def test_the_recipe_for_the_dashboard(plane, tmp_path):
    """Its patch builds, and marks the ConfigMap."""
    patch, = [p for block in fenced("gitops") for p in yaml.safe_load_all(block)
              if set(p or ()) == {"patches"}]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": ["dashboard.yaml"], **patch}))
    (tmp_path / "dashboard.yaml").write_text(
        (DEPLOY / "components/prometheus/dashboard.yaml").read_text())
    made = yaml.safe_load(plane.kubectl("kustomize", tmp_path).stdout)
    assert made["metadata"]["annotations"] == {
        "kustomize.toolkit.fluxcd.io/substitute": "disabled"}
    assert made["metadata"]["labels"]


def fenced(name):
    text = (REPO / f"docs/{name}.md").read_text()
    return [part.split("```")[0] for part in text.split("```yaml\n")[1:]]


def test_flux_runs_a_job_anew_that_has_changed(plane):
    """The Jobs of docs/gitops.md, without Argo CD's annotations, as the
    Kustomization there brings them."""
    job = sync_objects()[1]["PreSync"]
    del job["metadata"]["annotations"]
    plane.apply({"apiVersion": "v1", "kind": "Namespace",
                 "metadata": {"name": "web"}})
    path = "/apis/batch/v1/namespaces/web/jobs"

    def bring(reason, force=True):
        command = job["spec"]["template"]["spec"]["containers"][0]["command"]
        command[-1] = "--reason=" + reason
        flux(plane, yaml.safe_dump(job), force)
        return plane.get(path, "ticket-begin")["metadata"]["uid"]

    first = bring("web 1.2.3")
    assert bring("web 1.2.3") == first, "no change, and it runs again"
    with pytest.raises(AssertionError, match="immutable"):
        bring("web 1.2.4", force=False)
    assert bring("web 1.2.4") != first
