# SPDX-License-Identifier: Apache-2.0
"""kubectl node-holder against a real API server and a real holder.

The holder's Pod is an object without a kubelet.  Its address is no loopback,
which the API server would refuse, and lib/egress.py leads what goes there to
the holder.  Only `kubectl port-forward` is scripted, as it needs a kubelet.
"""
import base64
import contextlib
import hashlib
import html
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse

import pytest
import yaml

from cluster import node_pool
from controlplane import (NAMESPACES, NODES, POOLS, RBAC, REPO, ControlPlane,
                          until)
from egress import Egress
from hold import seconds, stamp
from holder import Holder, deployed
from karpenter import Karpenter
from lead import LEASES, NAMESPACE, SHORT, leads

PLUGIN = REPO / "plugin" / "kubectl-node_holder"
ACCESS = REPO / "deploy" / "components" / "access" / "rbac.yaml"
PODS = f"{NAMESPACES}/{NAMESPACE}/pods"
OWN = "karpenter-node-holder.io/"
VIEWER = "karpenter-node-holder-viewer"
OPERATOR = "karpenter-node-holder-operator"
UNKNOWN = 'no Node or NodeClaim of Karpenter is called "no-such"'
SHELLS = (("dash",), ("bash",), ("busybox", "sh"))

# What kubectl prints while it forwards a port: to the holder itself, at $FORWARD.
FORWARDS = """#!/bin/sh
case $* in
*port-forward*)
	echo "$*" >>"${0%/*}/forwarded"
	[ "$FORWARD" ] || { echo 'error: unable to forward' >&2; exit 1; }
	echo "Forwarding from 127.0.0.1:$FORWARD -> 8080"
	exec sleep 60 ;;
esac
exec REAL "$@"
"""
# A credential plugin that asks its user something.
SIGN_IN = """#!/bin/sh
echo 'To sign in, open https://login.example.com' >&2
cat "${0%/*}/credential"
"""


class Installation:
    """A holder as it is deployed, its Pods, and three people."""

    def __init__(self, plane, folder):
        self.plane, self.folder = plane, folder
        self.holders = []
        self.add("pod-a", 1)
        for o in yaml.safe_load_all(ACCESS.read_text()):
            plane.apply(o)
        self.people = {
            "viewer": [("Role", VIEWER)],
            "operator": [("Role", VIEWER), ("ClusterRole", OPERATOR)],
            # What `view` is made of; no controller-manager puts it together.
            "outsider": [("ClusterRole", "system:aggregate-to-view")]}
        for name, roles in self.people.items():
            self.person(name, roles)
        bin_dir = folder / "bin"
        bin_dir.mkdir()
        (bin_dir / "kubectl").write_text(
            FORWARDS.replace("REAL", str(plane.bin / "kubectl")))
        (bin_dir / "kubectl").chmod(0o755)
        for file in (PLUGIN, PLUGIN.parent / "kubectl_complete-node_holder"):
            (bin_dir / file.name).symlink_to(file)

    def person(self, name, roles):
        plane = self.plane
        plane.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                     "metadata": {"name": name, "namespace": NAMESPACE}})
        for kind, role in roles:
            # An operator's ClusterRole is bound for the whole cluster.
            where = "Cluster" if role == OPERATOR else ""
            plane.apply({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{where}RoleBinding",
                "metadata": {"name": f"{name}-{kind.lower()}", **(
                    {} if where else {"namespace": NAMESPACE})},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                            "kind": kind, "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name,
                              "namespace": NAMESPACE}]})
        plane.write_kubeconfig(self.kubeconfig(name),
                               plane.service_account(NAMESPACE, name))

    def kubeconfig(self, name):
        return self.folder / f"{name}.kubeconfig"

    def add(self, pod, number, host_network=False):
        """A replica, and its Pod as the Deployment would make it."""
        holder = Holder(self.plane, holdDuration="1h", leaderElection={
            **SHORT.config(), "enabled": True, "namespace": NAMESPACE})
        if not host_network:
            holder.environment = {"POD_NAME": pod}
        made, = deployed("deployment.yaml")
        template = made["spec"]["template"]
        body = {"apiVersion": "v1", "kind": "Pod", **template}
        body["metadata"] = {**template["metadata"], "name": pod}
        ports = body["spec"]["containers"][0]["ports"]
        next(p for p in ports if p["name"] == "metrics")["containerPort"] = \
            holder.metrics_port
        if host_network:
            body["spec"]["nodeName"] = socket.gethostname().lower()
        self.plane.create(PODS, body)
        holder.address = f"10.1.2.{number}"
        self.plane.patch(PODS, f"{pod}/status", {"status": {
            "phase": "Running", "podIP": holder.address,
            "podIPs": [{"ip": holder.address}]}})
        self.reach(holder)
        holder.start(wait=False)
        self.holders.append(holder)
        until(lambda: holder.probe("/livez")[0] == 200 and leads(holder), 30,
              f"{pod} leads")
        return holder

    def reach(self, holder, port=None):
        self.plane.egress.route(f"{holder.address}:{holder.metrics_port}",
                                port or holder.metrics_port)

    def run(self, *args, who="operator", code=0, shell=None, **env):
        """What kubectl node-holder prints; with code 1, what it says on
        stderr."""
        command = ([*shell, PLUGIN] if shell else
                   [self.folder / "bin" / "kubectl", "node-holder"])
        done = subprocess.run(
            [*command, *args], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=180, env=self.environment(who, **env))
        assert done.returncode == code, done
        if code == 0:
            self.said = done.stderr
            return done.stdout
        assert re.fullmatch(r"error: .*\n", done.stderr), done
        return done.stderr

    def environment(self, who="operator", **env):
        return {"HOME": str(self.folder), "KUBECONFIG":
                str(self.kubeconfig(who)), "TMPDIR": str(self.folder / "tmp"),
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", **env}

    def stop(self):
        for holder in self.holders:
            holder.stop()


@pytest.fixture(scope="module")
def plane(plane_programs):
    plane = ControlPlane(name="plugin", flags=Egress.FLAGS)
    plane.egress = Egress(plane)
    try:
        with plane:
            plane.install_crds()
            yield plane
    finally:
        plane.egress.stop()


@pytest.fixture(scope="module")
def installed(plane, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "tmp").mkdir()
    installed = Installation(plane, folder)
    try:
        yield installed
        assert not list((folder / "tmp").iterdir()), "it leaves nothing behind"
    finally:
        installed.stop()


@pytest.fixture(scope="module")
def machine(plane, installed):
    """A machine that is held."""
    for name in ("web", "batch"):
        plane.create(POOLS, node_pool(name))
    karpenter = Karpenter(plane, "web")
    m, = karpenter.settled(1)
    return m


@pytest.fixture
def pools(plane, machine):
    """pools() returns our annotations of the NodePools, without the prefix."""
    def ours():
        return {name: {k.removeprefix(OWN): v for k, v in
                       (plane.annotations(POOLS, name)).items()
                       if k.startswith(OWN)} for name in ("web", "batch")}
    yield ours
    for name in ("web", "batch"):
        plane.patch(POOLS, name, {"metadata": {"annotations": None}})


def between(begin, text):
    """That time is between then and now, as far as clocks of whole seconds
    tell."""
    return begin - 2 <= seconds(text) <= time.time() + 2


def test_it_sees_and_steers(installed, machine, pools):
    run = installed.run
    # whoever may see
    text = run("status", who="viewer")
    assert "web" in text and text.endswith("\n")
    status = json.loads(run("status", "-ojson", who="viewer"))
    assert status["kind"] == "HolderStatus" and status["leader"]["thisReplica"]
    assert machine.node in run("why", machine.node, who="viewer")
    why = json.loads(run("why", f"nodeclaim/{machine.name}", "--output=json"))
    assert why["kind"] == "MachineStatus"
    assert UNKNOWN in run("why", "no-such", code=1)

    # whoever may steer
    assert "warning" not in installed.said
    begin = time.time()
    out = run("hold", "--for", "2h", "--nodepool", "web", "batch",
              "--reason", "it's 50% off; $(date)")
    web, batch = pools().values()
    assert web == batch and between(
        begin, stamp(seconds(web["hold-until"]) - 7200))
    assert web["reason"] == "it's 50% off; $(date)"
    assert out == ("nodepool.karpenter.sh/web annotated\n"
                   "nodepool.karpenter.sh/batch annotated\n"
                   f"held until {web['hold-until']}\n")
    for dry_run in ("client", "server"):
        out = run("release", "--all", f"--dry-run={dry_run}")
        assert out.count("dry run") == 3 and pools()["web"] == web
    assert "for: expected a duration above 0 such as 2h" in run(
        "hold", "--for=banana", "--all", code=1)
    assert "until: expected an RFC 3339 time" in run(
        "hold", "--until=tomorrow", "--all", code=1)
    assert "NotFound" not in run("hold", "--for=2h", "--nodepool=nil", code=1)
    assert pools()["web"] == web
    run("hold", "--nodepool", "web", "--until", "2040-01-01T01:00:00+01:00")
    assert pools()["web"] == {"hold-until": "2040-01-01T00:00:00Z"}, \
        "and no reason of an earlier hold"
    run("release", "--nodepool=web", "--context=e2e")
    assert list(pools()["web"]) == ["released-at"]
    assert between(begin, pools()["web"]["released-at"])
    assert pools()["batch"] == batch
    installed.plane.patch(POOLS, "web", {"metadata": {"annotations": {
        OWN + "enabled": "false", OWN + "hold-duration": "5m"}}})
    run("hold", "--all", "--for=90m")
    assert re.fullmatch(r"warning: NodePool web .*\n", installed.said)
    run("resume", "--all")
    assert pools() == {
        "web": {"enabled": "false", "hold-duration": "5m"}, "batch": {}}


def test_the_page(installed, machine, pools):
    """Through the pod proxy, which writes links and attributes of html anew:
    what its policy allows is still there, and its links lead on."""
    base = f"{PODS}/http:pod-a:{installed.holders[0].metrics_port}/proxy/"

    def get(path):
        done = subprocess.run(
            [installed.folder / "bin" / "kubectl", "get", "--raw", path, "-v=8"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=True, env=installed.environment("viewer"))
        return done.stdout, done.stderr
    for page, head in get(base), get(base + "status?format=html"):
        style = re.search("<style>(.*?)</style>", page).group(1)
        assert base64.b64encode(hashlib.sha256(
            style.encode()).digest()).decode() in head
        assert "script" not in page and "scope cluster" in re.sub(
            "<[^>]*>", "", page)
        links = set(re.findall(r'href="([^"#]+)"', page))
        assert "./?last=1h" in links
        for link in links:
            assert "karpenter-node-holder" in get(
                urllib.parse.urljoin(base, html.unescape(link)))[0], link


@pytest.mark.parametrize("shell", SHELLS[1:], ids=lambda s: s[0])
def test_in_another_shell(installed, machine, pools, shell):
    """kubectl runs it by /bin/sh, which is dash here."""
    def run(*args, code=0):
        return installed.run(*args, shell=shell, code=code)
    assert machine.node in run("why", machine.node)
    assert UNKNOWN in run("why", "no-such", code=1)
    out = run("hold", "--for=2h", "--nodepool", "web", "batch",
              "--reason", "it's 50% off; $(date)")
    assert pools()["web"]["reason"] == "it's 50% off; $(date)"
    assert out.endswith(f"held until {pools()['batch']['hold-until']}\n")
    run("resume", "--all")
    assert pools() == {"web": {}, "batch": {}}


def test_a_reason_is_shown(installed, pools):
    installed.run("hold", "--for=2h", "--nodepool=batch", "--reason=release 9")
    until(lambda: "release 9" in [
        p["reason"] for p in json.loads(
            installed.run("status", "-o", "json"))["nodePools"]], 10, "shown")


def test_who_lacks_a_right_is_told_which_role(installed, pools):
    role = f"Role {VIEWER} in namespace {NAMESPACE} "
    for command in (["status"], ["status", "-w"], ["why", "a"], ["open"],
                    ["hold", "--for=2h", "--all"]):
        assert role in installed.run(*command, who="outsider", code=1)
    said = installed.run("hold", "--for=2h", "--nodepool=web", who="viewer",
                         code=1)
    assert f"ClusterRole {OPERATOR} " in said
    assert pools()["web"] == {}
    # pods/proxy alone is missing
    installed.person("near", [("ClusterRole", "system:aggregate-to-view"),
                              ("Role", "karpenter-node-holder")])
    said = installed.run("status", who="near", code=1)
    assert "pods/proxy" in said and role in said


def test_where_nothing_is_installed(installed):
    said = installed.run("status", "-n", "default", code=1, who="outsider")
    assert "namespace default" in said
    installed.plane.write_kubeconfig(installed.kubeconfig("admin"))
    said = installed.run("status", "-n", "default", code=1, who="admin")
    assert "no replica in namespace default" in said and " -n" in said


def test_where_the_proxy_is_blocked(installed, machine):
    """The API server does not reach the Pod: a port is forwarded."""
    holder = installed.holders[0]
    forwarded = installed.folder / "bin" / "forwarded"
    port = str(holder.metrics_port)
    installed.run("status")
    assert not forwarded.exists()
    installed.plane.egress.table.clear()
    installed.plane.egress.route()
    try:
        for shell in SHELLS:
            status = json.loads(installed.run(
                "status", "-o", "json", shell=shell, FORWARD=port))
            assert status["kind"] == "HolderStatus"
        assert UNKNOWN in installed.run("why", "no-such", code=1,
                                        FORWARD=port)
        assert forwarded.read_text().count(
            f"pods/pod-a :{port}\n") == len(SHELLS) + 1
        assert "unable to forward" in installed.run("status", code=1)
    finally:
        installed.reach(holder)


def test_watch_and_open(installed):
    """Each goes on until it is interrupted."""
    def start(*args):
        return subprocess.Popen(
            [installed.folder / "bin" / "kubectl", "node-holder", *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            env=installed.environment(
                FORWARD=str(installed.holders[0].metrics_port)))

    def interrupt(process):
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(20) in (130, -signal.SIGINT)
        process.stdout.close()

    with contextlib.ExitStack() as stack:
        watch = start("status", "-w", "-o", "json")
        stack.callback(interrupt, watch)
        opened = start("open")
        stack.callback(interrupt, opened)
        url = opened.stdout.readline().strip()
        assert url == f"http://127.0.0.1:{installed.holders[0].metrics_port}/"
        times = []
        while len(set(times)) < 2:
            times += re.findall(r'"time": ?"([^"]*)"', watch.stdout.readline())


def test_the_next_leader_is_found(installed):
    """In the host's network it is found by the node it runs on."""
    assert installed.plane.get(LEASES, NAMESPACE)["spec"]["holderIdentity"] \
        .startswith("pod-a_")
    installed.holders[0].term()
    assert "no replica leads" in installed.run("status", code=1)
    installed.add("pod-b", 2, host_network=True)
    status = json.loads(installed.run("status", "-ojson", who="viewer"))
    assert status["replica"].startswith(socket.gethostname() + "_")


def test_a_credential_plugin_may_ask(installed):
    """kubectl signs in, and what its plugin says is seen."""
    config = yaml.safe_load(installed.kubeconfig("viewer").read_text())
    (installed.folder / "credential").write_text(json.dumps({
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "status": {"token": config["users"][0]["user"]["token"]}}))
    (installed.folder / "sign-in").write_text(SIGN_IN)
    (installed.folder / "sign-in").chmod(0o755)
    config["users"][0]["user"] = {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "interactiveMode": "IfAvailable", "command": "./sign-in"}}
    installed.kubeconfig("sso").write_text(yaml.safe_dump(config))
    installed.run("status", who="sso")
    assert "open https://login.example.com\n" in installed.said


def test_completion(installed, machine):
    """As bash, zsh and fish ask kubectl."""
    def complete(*args):
        done = subprocess.run(
            [installed.folder / "bin" / "kubectl", "__complete", "node-holder",
             *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, env=installed.environment("admin"))
        *found, last = done.stdout.splitlines()
        assert last == ":4", done
        return found
    assert complete("un") == ["uninstall"]
    assert complete("hold", "--nodepool", "") == ["batch", "web"]
    assert complete("release", "--re") == []
    assert complete("why", machine.node[:-1]) == [machine.node]
