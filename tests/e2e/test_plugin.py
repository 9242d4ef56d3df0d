# SPDX-License-Identifier: Apache-2.0
"""kubectl karpenter-holder against a real API server and a real holder, and the
commands of docs/on-call.md.

The holder's Pod is an object without a kubelet.  Its address is no loopback,
which the API server would refuse, and lib/egress.py leads what goes there to
the holder.  Only `kubectl port-forward` is scripted, as it needs a kubelet.
"""
import base64
import contextlib
import hashlib
import html
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml

from cluster import LEFT_ALONE, node_pool
from controlplane import (NAMESPACES, NODES, POOLS, RBAC, REPO, ControlPlane,
                          until)
from egress import Egress
from gitops import TOOLS
from hold import HOLD, MARK, View, annotations, nodes, seconds, stamp
from holder import HOLDERCTL, Holder, certs, deployed
from installation import complete as stand
from karpenter import Karpenter, node_body
from lead import LEASES, NAME, NAMESPACE, SHORT, leads

PLUGIN = REPO / "plugin" / "kubectl-karpenter_holder"
ACCESS = REPO / "deploy" / "components" / "access" / "rbac.yaml"
PODS = f"{NAMESPACES}/{NAMESPACE}/pods"
OWN = "karpenter-node-holder.io/"
VIEWER = "karpenter-node-holder-viewer"
OPERATOR = "karpenter-node-holder-operator"
NODE_OPERATOR = "karpenter-node-holder-node-operator"
BY = f"(by system:serviceaccount:{NAMESPACE}:operator)"
UNKNOWN = 'no Node or NodeClaim of Karpenter is called "no-such"'
SHELLS = (("dash",), ("bash",), ("busybox", "sh"))

ON_CALL = (REPO / "docs" / "on-call.md").read_text()
QUESTIONS = re.findall(r"^## (.*\?)$", ON_CALL, re.M)

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

    def __init__(self, plane, folder, **settings):
        self.plane, self.folder = plane, folder
        self.settings = {"holdDuration": "10m", **settings}
        self.holders = []
        self.add("pod-a", 1)
        for o in yaml.safe_load_all(ACCESS.read_text()):
            plane.apply(o)
        self.people = {
            "viewer": [("Role", VIEWER)],
            "operator": [("Role", VIEWER), ("ClusterRole", OPERATOR),
                         ("ClusterRole", NODE_OPERATOR)],
            "outsider": [("ClusterRole", "view")]}
        self.aggregate_view()
        for name, roles in self.people.items():
            self.person(name, roles)
        bin_dir = folder / "bin"
        bin_dir.mkdir()
        (bin_dir / "kubectl").write_text(
            FORWARDS.replace("REAL", str(plane.bin / "kubectl")))
        (bin_dir / "kubectl").chmod(0o755)
        for file in (PLUGIN, PLUGIN.parent / "kubectl_complete-karpenter_holder"):
            (bin_dir / file.name).symlink_to(file)

    def aggregate_view(self):
        """No controller-manager puts `view` together here."""
        roles = self.plane.get(RBAC + "/clusterroles")["items"]
        parts = [o for o in roles if (o["metadata"].get("labels") or {}).get(
            "rbac.authorization.k8s.io/aggregate-to-view") == "true"]
        assert parts
        self.plane.patch(RBAC + "/clusterroles", "view", {
            "rules": [rule for o in parts for rule in o["rules"]]})

    def person(self, name, roles, everywhere=(OPERATOR, NODE_OPERATOR)):
        plane = self.plane
        plane.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                     "metadata": {"name": name, "namespace": NAMESPACE}})
        for kind, role in roles:
            where = "Cluster" if role in everywhere else ""
            plane.apply({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{where}RoleBinding",
                "metadata": {"name": f"{name}-{role}", **(
                    {} if where else {"namespace": NAMESPACE})},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                            "kind": kind, "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name,
                              "namespace": NAMESPACE}]})
        plane.write_kubeconfig(self.kubeconfig(name),
                               plane.service_account(NAMESPACE, name))

    def kubeconfig(self, name):
        return self.folder / f"{name}.kubeconfig"

    def add(self, pod, number, host_network=False, leading=True):
        """A replica, and its Pod as the Deployment would make it."""
        holder = Holder(self.plane, **self.settings, leaderElection={
            **SHORT.config(), "enabled": True, "namespace": NAMESPACE})
        pair = certs(holder.dir / "service", f"{NAME}.{NAMESPACE}.svc")
        holder.ca = (pair / "ca.crt").read_bytes()
        holder.mount.swap(pair)
        if not host_network:
            holder.environment = {"POD_NAME": pod}
        self.pod(pod, socket.gethostname().lower() if host_network
                 else f"server-{number}", holder.metrics_port)
        holder.address = f"10.1.2.{number}"
        self.plane.patch(PODS, f"{pod}/status", {"status": {
            "phase": "Running", "podIP": holder.address,
            "podIPs": [{"ip": holder.address}]}})
        self.reach(holder)
        holder.start(wait=False)
        self.holders.append(holder)
        until(lambda: holder.probe("/livez")[0] == 200
              and (leads(holder) or not leading), 30, f"{pod} leads")
        return holder

    def pod(self, name, node, metrics_port):
        made, = deployed("deployment.yaml")
        template = made["spec"]["template"]
        body = {"apiVersion": "v1", "kind": "Pod", **template}
        body["metadata"] = {**template["metadata"], "name": name}
        body["metadata"]["annotations"] = {
            **template["metadata"].get("annotations", {}),
            **dict([LEFT_ALONE.split("=")])}    # if kwok is there
        body["spec"]["nodeName"] = node
        ports = body["spec"]["containers"][0]["ports"]
        next(p for p in ports if p["name"] == "metrics")["containerPort"] = \
            metrics_port
        self.plane.create(PODS, body)

    def reach(self, holder, port=None):
        self.plane.egress.route(f"{holder.address}:{holder.metrics_port}",
                                port or holder.metrics_port)

    def run(self, *args, who="operator", code=0, shell=None, **env):
        """What kubectl karpenter-holder prints; with code 1, what it says on
        stderr."""
        command = ([*shell, PLUGIN] if shell else
                   [self.folder / "bin" / "kubectl", "karpenter-holder"])
        done = subprocess.run(
            [*command, *args], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=180, env=self.environment(who, **env))
        print("$", *args, f"\n{done.stdout}{done.stderr}")
        assert done.returncode == code, done
        self.said = done.stderr
        if code == 0:
            return done.stdout
        assert re.fullmatch(r"error: .*\n", done.stderr), done
        return done.stderr

    def command(self, *args, who="operator", shell=None):
        """The same, as a CompletedProcess."""
        return subprocess.run(
            [*shell, PLUGIN, *args] if shell else
            [self.folder / "bin" / "kubectl", "karpenter-holder", *args],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=180, env=self.environment(who))

    @contextlib.contextmanager
    def goes_on(self, *args, who="operator"):
        """The process, which is interrupted in the end, and killed if that
        takes more than two minutes."""
        process = subprocess.Popen(
            [self.folder / "bin" / "kubectl", "karpenter-holder", *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            env=self.environment(
                who, FORWARD=str(self.holders[-1].metrics_port)))
        patience = threading.Timer(
            120, os.killpg, (process.pid, signal.SIGKILL))
        patience.start()
        try:
            yield process
        finally:
            patience.cancel()
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(20) in (130, -signal.SIGINT)
            process.stdout.close()

    @contextlib.contextmanager
    def program(self):
        """holderctl is on the PATH as well."""
        program = self.folder / "bin" / "holderctl"
        program.symlink_to(HOLDERCTL)
        try:
            yield
        finally:
            program.unlink()

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
def machines(plane):
    """Two machines that were there before the holder, of the first of two
    NodePools."""
    for name in ("web", "batch"):
        plane.create(POOLS, node_pool(name))
    return Karpenter(plane, "web").settled(2)


@pytest.fixture(scope="module")
def installed(plane, machines, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "tmp").mkdir()
    installed = Installation(plane, folder)
    try:
        yield installed
        assert not list((folder / "tmp").iterdir()), "it leaves nothing behind"
    finally:
        installed.stop()


@pytest.fixture
def machine(machines):
    return machines[0]


@pytest.fixture
def pools(plane, machines):
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


# --- docs/on-call.md --------------------------------------------------------

def plain(text, names):
    """Without what differs from run to run.  names: {here: in the document}"""
    for here, there in names.items():
        text = text.replace(here, there)
    for changes, word in (
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
            (r"_[0-9a-f]{16}\b", "_ID"), (r"\b\d+\.\d+\.\d+\b", "VERSION"),
            (r"\b\d+ in the last \d+ s: .*", "REVIEWS"),
            (r"\b(\d+[hms])+\b", "SPAN")):
        text = re.sub(changes, word, text)
    return text


@pytest.fixture
def complete(plane, installed):
    """All that an installation has, so that `check` finds nothing."""
    holder, = installed.holders
    installed.pod("pod-of-another", "server-2", holder.metrics_port)
    for file in ("components/high-availability/poddisruptionbudget.yaml",
                 "base/service.yaml"):
        plane.kubectl("apply", "-f", REPO / "deploy" / file)
    made, = deployed("deployment.yaml")
    made["spec"]["replicas"] = 2
    plane.apply(made)
    stand(plane, [("pod-a", holder.address), ("pod-of-another", "10.1.2.9")])
    service = plane.get(f"{NAMESPACES}/{NAMESPACE}/services", NAME)
    plane.egress.route(service["spec"]["clusterIP"] + ":443",
                       holder.webhook_port)
    made, = holder.configurations()
    for hook in made["webhooks"]:
        hook["timeoutSeconds"] = 10
        hook["clientConfig"]["caBundle"] = base64.b64encode(
            holder.ca).decode()
    plane.apply(made)
    until(lambda: MARK in annotations(plane.create(
        NODES + "?dryRun=All", node_body("probe"))), 30, "webhook in use")
    plane.write_kubeconfig(installed.kubeconfig("admin"))
    with installed.program():
        yield
    holder.unregister()
    plane.delete(PODS, "pod-of-another?gracePeriodSeconds=0")


@pytest.mark.long
def test_what_those_on_call_are_told(plane, installed, complete, machines,
                                     pools):
    """Each question of the document is answered as it says, one after the
    other in one story."""
    karpenter, view, old = Karpenter(plane, "web"), View(plane), machines[1]
    names = {old.node: "ip-10-0-1-23.ec2.internal", old.name: "web-8rmb4",
             "pod-a": "karpenter-node-holder-7c9d8f5b6-x2x7k"}
    answered = []

    def ask(who="operator"):
        question = QUESTIONS[len(answered)]
        answered.append(question)
        part = ON_CALL.partition(f"\n## {question}\n")[2].partition("\n## ")[0]
        (command, told), = re.findall(
            r"^```\n\$ (kubectl karpenter-holder .*)\n((?:.*\n)*?)```$", part, re.M)
        for here, there in names.items():
            command = command.replace(there, here)
        done = subprocess.run(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=180, env=installed.environment(who))
        print(f"## {question}\n$ {command}\n{done.stdout}")
        assert (done.returncode, done.stderr) == (0, ""), done
        assert plain(done.stdout, names) == plain(told, {})
        return done.stdout

    def status():
        return json.loads(installed.run("status", "-o", "json"))

    def scaled_up():
        m = karpenter.machine()
        view.wait_held(nodes([m] if answered else [m, old]))
        until(lambda: status()["scopes"][0]["waitsFor"] == [], 20, "decided")
        return m

    assert len(QUESTIONS) == 6
    first = scaled_up()
    names[first.name] = "web-x7k2p"
    ask()       # why is this node still here?

    karpenter.condition(first, "Initialized", at=time.time() - 3600)
    view.wait_clear(nodes([first, old]))
    karpenter.remove(old)
    until(lambda: [(p["machines"], p["held"]) for p in status()["nodePools"]]
          == [(0, 0), (2, 0)], 20, lambda: f"it is removed: {status()}")
    ask()       # why was it removed although nodes were held?

    second = scaled_up()
    time.sleep(1)   # what is "created before then" is in whole seconds
    ask()       # how do I let Karpenter work now?
    view.wait_clear(nodes([first, second]))

    ask()       # how do I keep everything as it is tonight?
    view.wait_held(nodes([first, second]))
    assert [p["reason"] for p in status()["nodePools"]] == [
        pools()["web"]["reason"]] * 2

    names = {first.node: "ip-10-0-1-23.ec2.internal", first.name: "web-8rmb4",
             BY[4:-1]: "ann@example.com", "pod-a": names["pod-a"]}
    ask()       # how do I release or keep one node?
    installed.run("resume", first.node)

    ask("admin")    # is the holder well?
    for m in first, second:
        karpenter.remove(m)


# --- the plugin -------------------------------------------------------------

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
    assert web["reason"] == "it's 50% off; $(date) " + BY
    assert out == ("nodepool.karpenter.sh/batch annotated\n"
                   "nodepool.karpenter.sh/web annotated\n"
                   f"held until {web['hold-until']}\n")
    for dry_run in ("client", "server"):
        out = run("release", "--all", "--force", f"--dry-run={dry_run}")
        assert out.count("dry run") == 5 and pools()["web"] == web
    for span in "banana", "2h; sleep 1":
        assert "for: expected a duration above 0, such as 2h" in run(
            "hold", "--for", span, "--all", code=1)
    assert "until: expected an RFC 3339 time" in run(
        "hold", "--until=tomorrow", "--all", code=1)
    assert "NotFound" not in run("hold", "--for=2h", "--nodepool=nil", code=1)
    assert pools()["web"] == web
    run("hold", "--nodepool", "web", "--until", "2040-01-01T01:00:00+01:00",
        "--force")
    assert pools()["web"] == {"hold-until": "2040-01-01T00:00:00Z",
                              "reason": BY}, "and no reason of an earlier hold"
    out = run("release", "--nodepool=web", "--context=e2e")
    assert out.startswith(
        "nodepool.karpenter.sh/web annotated\n"
        "taken off: NodePool web: hold-until 2040-01-01T00:00:00Z, "
        f"reason: {BY}\nreleased at ") and out.endswith("Z\nstill held: nothing\n")
    assert set(pools()["web"]) == {"released-at", "reason"}
    assert between(begin, pools()["web"]["released-at"])
    assert pools()["batch"] == batch
    installed.plane.patch(POOLS, "web", {"metadata": {"annotations": {
        OWN + "enabled": "false", OWN + "hold-duration": "5m"}}})
    installed.plane.patch(POOLS, "batch", {"metadata": {"annotations": {
        OWN + "enabled": "true\nnone false"}}})  # a line that is none
    run("hold", "--all", "--for=1d12h", "--force")
    assert re.fullmatch(r"warning: NodePool web .*\n", installed.said)
    assert between(begin, stamp(
        seconds(pools()["batch"]["hold-until"]) - 36 * 3600))
    run("resume", "--all")
    assert pools() == {
        "web": {"enabled": "false", "hold-duration": "5m"},
        "batch": {"enabled": "true\nnone false"}}


ML = {"hold-until": "2040-01-01T01:00:00+01:00", "reason": "ML <training>"}
# Somebody holds a NodePool between what the plugin reads and what it writes.
MEANWHILE = """#!/bin/sh
case " $* " in
*" patch "*)
	[ -e "${0%/*}/done" ] || ADMIN annotate nodepools batch \
		OWNhold-until=2040-01-01T00:00:00Z OWNreason=meanwhile >&2
	: >"${0%/*}/done" ;;
esac
exec REAL "$@"
"""


def annotate(plane, pool, ours):
    plane.patch(POOLS, pool, {"metadata": {"annotations": {
        OWN + key: value for key, value in ours.items()}}})


def test_no_hold_by_hand_destroys_another(installed, machine, pools):
    """Nor a release or resume, which write nothing then.  Each says what is
    there."""
    def run(*args, code=0):
        done = installed.command(*args)
        assert done.returncode == code, done
        return done.stdout + done.stderr
    there = ("hold-until 2040-01-01T01:00:00+01:00, reason: ML <training>\n")
    left = "NodePool web is left as it is: " + there
    annotate(installed.plane, "web", ML)
    assert left in run("hold", "--all", "--until=2041-01-01T00:00:00Z", code=1)
    batch = pools()["batch"]
    assert pools()["web"] == ML and "hold-until" in batch
    for command in "resume", "release":
        said = run(command, "--all", code=1)
        assert left in said and "error: nothing is written" in said
        assert pools() == {"web": ML, "batch": batch}
    # Who gives its reason may prolong it, and then it is theirs.
    run("hold", "--nodepool=web", "--until=2041-01-01T00:00:00Z", "--reason",
        ML["reason"])
    assert pools()["web"] == {"hold-until": "2041-01-01T00:00:00Z",
                              "reason": f"ML <training> {BY}"}
    installed.plane.write_kubeconfig(installed.kubeconfig("admin"))
    said = installed.command("release", "--nodepool=web", "--reason",
                             ML["reason"], who="admin")
    assert said.returncode == 1 and BY in said.stderr and not said.stdout
    assert "taken off: NodePool web: hold-until 2041-01-01T00:00:00Z, " in run(
        "resume", "--all")
    assert pools() == {"web": {}, "batch": {}}
    for command in "hold --for=2h", "release":
        annotate(installed.plane, "web", ML)
        assert there in run(*command.split(), "--all", "--force")
        assert pools()["web"] == pools()["batch"]
    # What has ended is nobody's any more, and what is no time is kept.
    annotate(installed.plane, "web", {**ML, "hold-until": stamp(time.time() - 9)})
    run("resume", "--all")
    annotate(installed.plane, "web", {"hold-until": "to\nmorrow", "reason": "ä\u0080"})
    assert "web is left as it is: hold-until to\\nmorrow, reason: ä?\n" in run(
        "resume", "--all", code=1)
    run("release", "--all", "--force")
    assert set(pools()["web"]) == {"released-at", "reason"}
    # Whoever then holds it by kubectl has not given that reason.
    assert pools()["web"]["reason"] == BY
    annotate(installed.plane, "web", {"hold-until": "2040-01-01T00:00:00Z"})

    def nobodys():
        for command, who in ("release", None), ("resume", None), (
                "hold --until=2041-01-01T00:00:00Z", "admin"):
            said = installed.command(*command.split(), "--nodepool=web",
                                     **({"who": who} if who else {}))
            assert said.returncode == 1 and (
                "hold-until was not written by this plugin" in said.stderr), said
    nobodys()
    run("resume", "--nodepool=web", "--force")
    # A hold with the reason of whoever asks is written by kubectl at once
    # (operations.md), or the hold-until has been there before.
    annotate(installed.plane, "web", {"hold-until": "2040-01-01T00:00:00Z",
                                      "reason": f"night {BY}"})
    nobodys()
    run("resume", "--nodepool=web", "--force")
    annotate(installed.plane, "web", {"hold-until": "2040-01-01T00:00:00Z"})
    run("hold", "--nodepool=web", "--until=2040-01-01T00:00:00Z", "--force")
    nobodys()
    run("resume", "--nodepool=web", "--force")
    assert pools()["web"] == {}


@pytest.mark.parametrize("command", (
    ["hold", "--for=2h"],
    pytest.param(["release"], marks=pytest.mark.long),
    pytest.param(["resume"], marks=pytest.mark.long)), ids=lambda c: c[0])
def test_a_hold_that_comes_in_between_stays(installed, pools, tmp_path, command):
    """It is seen, because what is written tests what was read."""
    admin = installed.kubeconfig("admin")
    installed.plane.write_kubeconfig(admin)
    kubectl = installed.plane.bin / "kubectl"
    (tmp_path / "kubectl").write_text(MEANWHILE.replace(
        "ADMIN", f"{kubectl} --kubeconfig={admin}").replace(
        "REAL", str(kubectl)).replace("OWN", OWN))
    (tmp_path / "kubectl").chmod(0o755)
    for pool in "web", "batch":
        annotate(installed.plane, pool, {"released-at": "2020-01-01T00:00:00Z"})
    environment = installed.environment()
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    done = subprocess.run(
        [PLUGIN, *command, "--all"], stdin=subprocess.DEVNULL, text=True,
        capture_output=True, timeout=180, env=environment)
    assert done.returncode == 1 and "reason: meanwhile" in done.stderr, done
    batch = pools()["batch"]
    assert (batch["hold-until"], batch["reason"]) == (
        "2040-01-01T00:00:00Z", "meanwhile")
    assert pools()["web"] != batch


@pytest.mark.long
def test_a_release_says_what_is_still_held(plane, installed, machine, pools):
    """In scope cluster the machine of another NodePool holds all."""
    view = View(plane)
    karpenter = Karpenter(plane, "batch")
    other = karpenter.machine()
    view.wait_held(nodes([machine, other]))
    out = installed.run("release", "--nodepool", "web")
    scope, = json.loads(installed.run("status", "-o", "json"))["scopes"]
    assert scope["restartedBy"]["machine"] == other.name
    assert out.endswith(
        f"still held: cluster until {scope['until']}: restarted by {other.name}, "
        f"ready since {scope['restartedBy']['time']}: --all releases it\n"), out
    assert installed.run("release", "--all").endswith("still held: nothing\n")
    karpenter.remove(other)


def test_one_node(plane, installed, machines, pools):
    """Released and held, and each undone, while its scope is held: by the
    annotations with which people steer one machine, and by nobody else's."""
    view, karpenter = View(plane), Karpenter(plane, "web")
    one = machines[0]
    new = [karpenter.machine(), karpenter.machine()]
    view.wait_held(nodes([one, *new]))

    run = installed.run

    def notes():
        return {k: v for k, v in annotations(plane.get(NODES, one.node)).items()
                if k in (HOLD, MARK, OWN + "reason")}

    def stays(want):
        view.check_stays(nodes([one]), lambda a: notes() == want, want, 3)
    mark = notes()[MARK]
    assert f"ClusterRole {NODE_OPERATOR} gives this right" in run(
        "release", one.node, code=1, who="viewer")
    out = run("release", one.node)
    assert f"{one.node} is not held" in out
    assert "took its hold off: the holder leaves it alone" in out
    assert f"resume {one.node}' undoes this" in out
    stays({MARK: mark})
    assert run("release", f"node/{one.node}").startswith("nothing to release: ")
    assert "is held by the holder until" in run("resume", one.node)
    stays({HOLD: "true", MARK: mark})

    out = run("hold", one.node, "--reason=a core dump")
    assert f"{one.node} is held by a person" in out
    mine = {HOLD: "true", OWN + "reason": f"a core dump {BY}"}
    stays(mine)
    # Somebody else is asked for --force, before anything is written.
    plane.write_kubeconfig(installed.kubeconfig("admin"))
    for command in "release", "hold", "resume":
        done = installed.command(command, one.node, who="admin")
        assert done.returncode == 1 and not done.stdout, done
        assert BY in done.stderr and f"--force {command}s all" in done.stderr
        assert notes() == mine
    # Its undo leaves it to the holder, which holds it like the others.
    run("resume", one.node)
    view.wait_held(nodes([one]))
    # A release of one's own hold is one from the holder, too.
    run("hold", one.node)
    assert f"{one.node} is not held" in run("release", one.node)
    seen = notes()
    assert list(seen) == [MARK]
    stays(seen)
    run("resume", one.node)

    annotate(plane, "web", {"hold-until": "2040-01-01T00:00:00Z", "reason": "ML"})
    done = installed.command("release", one.node)
    assert done.returncode == 1 and "reason: ML\n" in done.stderr, done
    assert HOLD in notes()
    run("release", one.node, "--force")
    assert HOLD not in notes()
    annotate(plane, "web", {"hold-until": None, "reason": None})
    assert "no Node is called batch; did you mean --nodepool batch?" in run(
        "release", "batch", code=1)
    assert "no Node is called no-such\n" in run("hold", "no-such", code=1)
    # The release of all takes the mark off, and the next hold is for it, too.
    run("release", "--all")
    view.wait_clear(nodes([one, *new]))
    assert not notes()
    for m in new:
        karpenter.remove(m)


def test_a_person_who_comes_in_between_keeps_the_hold(plane, installed, machines,
                                                      tmp_path):
    """It is the person's by the time it would be removed."""
    view, karpenter = View(plane), Karpenter(plane, "web")
    new = karpenter.machine()
    view.wait_held(nodes([new]))
    plane.write_kubeconfig(installed.kubeconfig("admin"))
    kubectl = f"{plane.bin / 'kubectl'} --kubeconfig={installed.kubeconfig('admin')}"
    (tmp_path / "kubectl").write_text(f"""#!/bin/sh
case " $* " in
*" patch node "*)
	[ -e "${{0%/*}}/done" ] || {kubectl} annotate node {new.node} {MARK}- >&2
	: >"${{0%/*}}/done" ;;
esac
exec {plane.bin / 'kubectl'} "$@"
""")
    (tmp_path / "kubectl").chmod(0o755)
    environment = installed.environment()
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    done = subprocess.run(
        [PLUGIN, "release", new.node], stdin=subprocess.DEVNULL, text=True,
        capture_output=True, timeout=180, env=environment)
    assert done.returncode == 1, done
    assert f"warning: a person holds Node {new.node}\n" in done.stderr
    assert annotations(plane.get(NODES, new.node))[HOLD] == "true"
    karpenter.remove(new)


def test_the_page(installed, machine, pools):
    """Through the pod proxy, which writes links and attributes of html anew:
    what its policy allows is still there, and its links lead on."""
    base = f"{PODS}/http:pod-a:{installed.holders[0].metrics_port}/proxy/"

    def get(path):
        done = subprocess.run(
            [installed.folder / "bin" / "kubectl", "get", "--raw", path, "-v=8"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, env=installed.environment("viewer"))
        return done.stdout, done.stderr

    def leads_on(link):
        page, head = get(urllib.parse.urljoin(base, html.unescape(link)))
        # The last 24 hours name machines that are gone.
        return "karpenter-node-holder" in page or (
            "status/machines/" in link
            and "Error from server (NotFound)" in head)
    for page, head in get(base), get(base + "status?format=html"):
        style = re.search("<style>(.*?)</style>", page).group(1)
        assert base64.b64encode(hashlib.sha256(
            style.encode()).digest()).decode() in head
        assert "script" not in page and "scope cluster" in re.sub(
            "<[^>]*>", "", page)
        links = set(re.findall(r'href="([^"#]+)"', page))
        assert "./?last=24h" in links
        for link in links:
            assert leads_on(link), link
    assert machine.node in get(base + f"status/machines/{machine.node}"
                                      "?format=html")[0]
    # Behind kubectl proxy the name is the API server's.
    browser = {"Host": "api.example.com", "Accept-Language": "en"}
    ask = installed.plane.request
    assert ask("GET", base, headers={**browser, "Sec-Fetch-Site": "none"})[0] == 200
    assert ask("GET", base, headers=browser)[0] == 421


def test_kubectl_knows_what_is_served(installed, machine, pools):
    """It has asked once, and is not made to ask again for each command."""
    for command in (["status"], ["why", machine.node],
                    ["release", "--all", "--dry-run=server"]):
        installed.run(*command)
        installed.run(*command, "-v=6")
        assert "/proxy/status" in installed.said
        assert "discovery" not in installed.said, installed.said


@pytest.mark.parametrize("shell", SHELLS[1:], ids=lambda s: s[0])
def test_in_another_shell(installed, machine, pools, shell):
    """kubectl runs it by /bin/sh, which is dash here."""
    def run(*args, code=0):
        return installed.run(*args, shell=shell, code=code)
    assert machine.node in run("why", machine.node)
    assert UNKNOWN in run("why", "no-such", code=1)
    out = run("hold", "--for=2h", "--nodepool", "web", "batch",
              "--reason", "it's 50% off; $(date)")
    assert pools()["web"]["reason"] == "it's 50% off; $(date) " + BY
    assert out.endswith(f"held until {pools()['batch']['hold-until']}\n")
    run("resume", "--all")
    assert pools() == {"web": {}, "batch": {}}


def test_a_reason_is_shown(installed, pools):
    installed.run("hold", "--for=2h", "--nodepool=batch", "--reason=release 9")
    until(lambda: f"release 9 {BY}" in [
        p["reason"] for p in json.loads(
            installed.run("status", "-o", "json"))["nodePools"]], 10, "shown")


def test_who_lacks_a_right_is_told_which_role(installed, pools):
    """`view` says nothing of it, in the namespace or in the cluster."""
    def told(*command, who="outsider"):
        said = installed.run(*command, who=who, code=1)
        assert said.count(". ") == 0, "one sentence"
        return said
    role = f"Role {VIEWER} in namespace {NAMESPACE} gives this right"
    operator = f"ClusterRole {OPERATOR} gives this right"
    installed.person("visitor", [("ClusterRole", "view")], ["view"])
    for command in (["status"], ["status", "-w"], ["why", "a"], ["open"],
                    ["hold", "--for=2h", "--all"]):
        assert role in told(*command)
    assert operator in told("release", "--all")
    assert role in told("status", who="visitor")
    assert operator in told("resume", "--nodepool=web", who="visitor")
    # Who may see may not steer.
    for command in ["hold", "--for=2h"], ["release"]:
        assert operator in told(*command, "--nodepool=web", who="viewer")
    assert pools()["web"] == {}
    # pods/proxy alone is missing
    installed.person("near", [("ClusterRole", "view"),
                              ("Role", "karpenter-node-holder")])
    said = told("status", who="near")
    assert "pods/proxy" in said and role in said
    with installed.program():   # which does these two
        for command in "check", "uninstall":
            done = installed.command(command, who="visitor")
            assert done.returncode == 1, done
            assert "403" in done.stdout + done.stderr, done


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


class Redirects(http.server.BaseHTTPRequestHandler):
    """Answers as a hostile leader, which `leads` elsewhere, and as the one that
    is led to, which keeps the heads of what it is asked."""
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        leads = self.server.leads
        if not leads:
            self.server.heads.append((self.path, str(self.headers)))
        self.send_response(302 if leads else 200)
        if leads:
            self.send_header("Location", leads)
        self.end_headers()
        self.wfile.write(b"elsewhere\n")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def redirects(leads=None):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirects) as server:
        server.leads, server.heads = leads, []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_hostile_leader_gets_no_token(installed):
    """The API server passes on what the leader redirects, and kubectl follows
    with its token.  Nor does it lead to what its user may read."""
    holder = installed.holders[0]
    with redirects() as thief:
        for where in (f"http://127.0.0.1:{thief.server_port}/",
                      "../../../../pods"):
            with redirects(where) as leader:
                installed.reach(holder, leader.server_port)
                try:
                    for shell in SHELLS:
                        done = installed.command("status", shell=shell)
                        assert "PodList" not in done.stdout, done
                finally:
                    installed.reach(holder)
    assert len(thief.heads) >= len(SHELLS)
    assert "Authorization" not in str(thief.heads)
    assert "SCOPE" in installed.run("status")


def test_watch_and_open(installed):
    """Each goes on until it is interrupted."""
    with installed.goes_on("status", "-w", "-o", "json") as watch, \
            installed.goes_on("open", who="viewer") as opened:
        url = opened.stdout.readline().strip()
        times = set()

        def page(path="", method="GET", **headers):
            request = urllib.request.Request(
                urllib.parse.urljoin(url, path), method=method,
                headers={"Accept": "text/html", "Accept-Language": "en", **headers})
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as e:
                return e.code, ""
        code, text = page()
        assert code == 200 and "scope cluster" in re.sub("<[^>]*>", "", text)
        assert page("status?format=json")[0] == page("./?last=1h")[0] == 200
        # It leads nowhere else, and not by a name that may be anybody's.
        for path in ("metrics", "status/../metrics", "statuses", "/", "../",
                     "/api/v1/namespaces"):
            assert page(path)[0] == 403, path
        assert page(method="POST")[0] == page(method="DELETE")[0] == 403
        assert page(Host="rebound.example.com")[0] == 403
        until(lambda: times.update(re.findall(
            r'"time": ?"([^"]*)"', watch.stdout.readline()))
            or len(times) > 1, 60, "it asks again")


def test_the_next_leader_is_found(installed, pools):
    """By whoever watches, too.  In the host's network it is found by the node
    it runs on."""
    assert installed.plane.get(LEASES, NAMESPACE)["spec"]["holderIdentity"] \
        .startswith("pod-a_")
    with installed.goes_on("status", "-w", "-ojson", who="viewer") as watch:
        assert '"pod-a_' in watch.stdout.readline()
        installed.holders[0].kill9()
        assert "does not reach Pod pod-a" in installed.run("status", code=1)
        time.sleep(4)   # the one that watches has noticed
        installed.plane.patch(LEASES, NAMESPACE,
                              {"spec": {"holderIdentity": ""}})
        assert "no replica leads" in installed.run("status", code=1)
        # A hold needs no leader: the API server tells the time.
        begin = time.time()
        installed.run("hold", "--for=1d2h", "--nodepool=web")
        assert "warning: the status of the holder is not known" in installed.said
        assert between(begin, stamp(
            seconds(pools()["web"]["hold-until"]) - 26 * 3600))
        installed.add("pod-b", 2, host_network=True)
        status = json.loads(installed.run("status", "-ojson", who="viewer"))
        assert status["replica"].startswith(socket.gethostname() + "_")
        until(lambda: status["replica"] in watch.stdout.readline(), 20,
              "it is shown")


def test_a_credential_plugin_may_ask(installed, pools):
    """kubectl signs in for each command, and what its plugin says is seen."""
    installed.person("signed-in", [("ClusterRole", "cluster-admin")],
                     ["cluster-admin"])
    config = yaml.safe_load(installed.kubeconfig("signed-in").read_text())
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

    def run(*args, code=0):
        out = installed.run(*args, who="sso", code=code)
        assert "open https://login.example.com\n" in installed.said, args
        return out
    assert "web" in run("status")
    assert json.loads(run("status", "-o", "json"))["leader"]["thisReplica"]
    with installed.goes_on("status", "-w", who="sso") as watch:
        assert watch.stdout.readline().startswith("karpenter-node-holder ")
    run("hold", "--for=2h", "--all")
    assert set(pools()["web"]) == {"hold-until", "reason"}
    run("release", "--all")
    assert set(pools()["web"]) == {"released-at", "reason"}
    run("resume", "--all")
    assert pools() == {"web": {}, "batch": {}}
    with installed.goes_on("open", who="sso") as opened:
        assert opened.stdout.readline().startswith("http://127.0.0.1:")
    with installed.program():   # which runs the credential plugin itself
        done = installed.command("uninstall", "--dry-run=client", who="sso")
        assert done.returncode == 0, done
        done = installed.command("check", who="sso")
        assert "api        ok" in done.stdout, done


def test_completion(installed, machine):
    """As bash, zsh and fish ask kubectl."""
    def complete(*args):
        done = subprocess.run(
            [installed.folder / "bin" / "kubectl", "__complete", "karpenter-holder",
             *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, env=installed.environment("admin"))
        *found, last = done.stdout.splitlines()
        assert last == ":4", done
        return found
    assert complete("un") == ["uninstall"]
    assert complete("hold", "--nodepool", "") == ["batch", "web"]
    assert complete("release", "--re") == ["--reason"]
    assert complete("why", machine.node[:-1]) == [machine.node]


@pytest.mark.long
@pytest.mark.parametrize("sync", TOOLS, ids=lambda s: s.__name__)
def test_gitops_keeps_a_hold(build_programs, plane, installed, pools, sync):
    """A NodePool that is applied again and again keeps what the plugin has
    written on it, and loses it when the plugin takes it off (docs/gitops.md).
    Flux takes off what kubectl itself has written."""
    build_programs("flux-apply")
    web = yaml.safe_dump({**node_pool("web"), "metadata": {
        "name": "web", "annotations": {"in-git": "yes"}}})
    sync(plane, web)
    installed.run("hold", "--for=2h", "--nodepool=web", "--reason=audit")
    plane.kubectl("annotate", "nodepool", "web", "by-hand=yes")
    for _ in range(2):
        sync(plane, web)
    assert set(pools()["web"]) == {"hold-until", "reason"}
    assert ("by-hand" in plane.annotations(POOLS, "web")) == (
        sync.__name__ == "argocd")
    installed.run("resume", "--nodepool=web", "--reason=audit")
    sync(plane, web)
    assert pools()["web"] == {}


@pytest.mark.long
def test_ten_thousand_machines(plane, installed, machines):
    """An answer takes less than a byte for each, and comes within 10 seconds
    while all are being held.  The times are printed."""
    holder, count = installed.holders[-1], 10000
    plane.write_kubeconfig(installed.kubeconfig("admin"))

    def timed(what, call, *args, **options):
        begin = time.monotonic()
        answer = call(*args, **options)
        took = time.monotonic() - begin
        assert took < 10, (what, took)
        print(f"  {took * 1000:,.1f} ms  {len(answer):,} bytes  {what}")
        return answer

    def fetched(path):
        code, text, _ = holder.fetch(path, timeout=10)
        assert code == 200, text
        return text

    def figures():
        web, = [p for p in json.loads(fetched("/status?format=json"))
                ["nodePools"] if p["name"] == "web"]
        return web["machines"], web["held"]

    def ask(state):
        print(f"{state}:")
        found = {}
        for path in ("/status?format=text", "/status?format=json",
                     "/status?format=html", f"/status/machines/{last.node}",
                     f"/status/machines/{last.name}?format=json"):
            found[path.replace(last.node, "NODE").replace(
                last.name, "NODECLAIM")] = timed(path, fetched, path)
        for command in (["status"], ["status", "-o", "json"],
                        ["why", last.node], ["why", last.name]):
            found[command[0]] = timed(
                " ".join(["kubectl karpenter-holder", *command]), installed.run,
                *command, who="viewer")
        assert f"{last.node} is " in found["why"] or last.name in found["why"]
        return {what: len(text) for what, text in found.items()}
    karpenter = Karpenter(plane, "web")
    last = machines[0]
    # A leader that has just begun counts its machines within a second.
    until(lambda: figures()[0] >= len(machines), 60, figures)
    before, _ = figures()
    few = ask("a few machines")
    last = karpenter.settled(count)[-1]
    until(lambda: figures()[0] == before + count, 60, figures, every=1)
    # One of the two watches may be behind, or list again.
    until(lambda: all(holder.fetch(f"/status/machines/{name}")[0] == 200
                      for name in (last.node, last.name)), 120, "the last one")
    quiet = ask(f"{count:,} machines, quiet")
    karpenter.machine()
    until(lambda: figures()[1] > 0, 60, "the spread begins")
    spreading = ask("being held")
    print(f"  {figures()[1]:,} were held then")
    until(lambda: figures()[1] == before + count + 1, 600, figures, every=1)
    held = ask("all are held")
    for found in quiet, spreading, held:
        for what, size in found.items():
            assert size < few[what] + count, (what, size, few[what])
