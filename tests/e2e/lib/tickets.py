# SPDX-License-Identifier: Apache-2.0
"""Tickets as the guide installs and writes them (docs/operations.md#tickets).
"""
import os
import subprocess

import yaml

from controlplane import REPO, WEBHOOKS
from hold import seconds
from lead import NAME, NAMESPACE

TICKETS = NAME + "-tickets"


def leases(namespace):
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def overlay(folder):
    """An overlay with tickets, as somebody would write it."""
    deploy = os.path.relpath(REPO / "deploy", folder.resolve())
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [f"{deploy}/overlays/self-signed"],
        "components": [f"{deploy}/components/tickets"]}))
    return folder


def install(plane, folder):
    """Returns the flags that the holder gets there."""
    plane.kubectl("apply", "--server-side", "-k", folder)
    plane.delete(WEBHOOKS, NAME)    # nobody would answer it
    pod = plane.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", NAME)[
        "spec"]["template"]["spec"]
    return pod["containers"][0]["args"][3:]


def shell(plane, text, user=None, check=True):
    """Runs it as that user (default: admin)."""
    done = subprocess.run(
        ["bash", "-ec", text], stdin=subprocess.DEVNULL, text=True,
        capture_output=True, timeout=60, env=environment(plane, user))
    assert not check or done.returncode == 0, done
    return done


def environment(plane, user=None):
    config = plane.kubeconfig
    if user:
        config = plane.write_kubeconfig(
            plane.dir / f"{user.name.replace(':', '.')}.kubeconfig", user)
    return {"HOME": str(plane.dir), "KUBECONFIG": str(config),
            "PATH": f"{plane.bin}:{os.environ['PATH']}"}


def account(plane, namespace, name):
    plane.apply({"apiVersion": "v1", "kind": "Namespace",
                 "metadata": {"name": namespace}})
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                 "metadata": {"name": name, "namespace": namespace}})
    return plane.service_account(namespace, name)


def recipe(text, kind):
    """The manifests of a recipe of the guide, the Pod of its Job, and its
    script."""
    objects = list(yaml.safe_load_all(text))
    job = next(o for o in objects if o["kind"] == kind)
    template = job["spec"].get("jobTemplate", job)["spec"]["template"]
    containers = template["spec"].get("initContainers", []) + template["spec"][
        "containers"]
    one = next(c for c in containers if c["name"] == "ticket")
    assert one["command"][0] == "sh"
    return objects, template, one["args"][0]


def changed(script, **changes):
    """The script with other times and NodePools.  Each must be in it."""
    for old, new in changes.values():
        assert script.count(old) == 1, (old, script)
        script = script.replace(old, new)
    return script


def renewed(plane, name):
    """When the ticket was renewed last, in seconds."""
    at = plane.get(leases(TICKETS), name)["spec"]["renewTime"]
    return seconds(at.split(".")[0] + "Z")


def left_over(plane):
    """What bears our name in the cluster, but for Events."""
    kinds = [kind for kind in plane.kubectl(
        "api-resources", "--verbs", "list", "-o", "name").stdout.split()
        if not kind.startswith("events")]
    found = plane.kubectl("get", ",".join(kinds), "--all-namespaces", "-o",
                          "name", "--ignore-not-found").stdout.split()
    assert found
    return [name for name in found if NAME in name]
