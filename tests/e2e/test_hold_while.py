# SPDX-License-Identifier: Apache-2.0
"""What holds NodePools while a query or an alert lasts: deploy/components/
hold-while, and the guide's recipe for Alertmanager.

Prometheus, Alertmanager and webhook are Debian's.  They run what the manifests
and the guide say, with shorter times, and act as the accounts there.
"""
import contextlib
import copy
import http.server
import os
import re
import signal
import threading
import time
import urllib.error
import urllib.request

import pytest
import yaml

from cluster import node_pool
from controlplane import (NAMESPACES, NODES, POOLS, REPO, WEBHOOKS,
                          ControlPlane, end, free_port, spawn, tail, until)
from hold import SOON, clear, held, nodes
from holder import HOLDERCTL
from lead import LEASES, NAME, NAMESPACE, SHORT
from prometheus import Alertmanager, Prometheus, debian
from test_deploy import find, render
from test_operations import GUIDE, block
from test_tickets import (A, HERE, PODS, TICKETS, call, environment, leases,
                          refusal, renewed, shell, ticket)

pytestmark = pytest.mark.long

HOLD_WHILE = NAME + "-hold-while"
QUERIES = "Hold while a query finds something"
ALERTS = "A ticket from Alertmanager"
LEASE = 6
# Tickets that have begun to hold hold for so long at least.
LEAST = 60
KSM = 'kube_deployment_{}{{namespace="web",deployment="a"}} {}\n'
HPA = "kube_horizontalpodautoscaler_{}" \
      '{{namespace="web",horizontalpodautoscaler="a"}} {}\n'
# what the guide's queries look for: what is scraped while it is so, and while
# it is not
PAGES = {
    "an alert fires": ("rollout_seconds 700\n", "rollout_seconds 0\n"),
    "a Deployment has pods of an older version": tuple(
        KSM.format("status_replicas", 4)
        + KSM.format("status_replicas_updated", n) for n in (1, 4)),
    "more than ten pods are pending": tuple("".join(
        f'kube_pod_status_phase{{namespace="batch",pod="{p}",phase="Pending"}}'
        f" {int(p < n)}\n" for p in range(20)) for n in (11, 10)),
    "an HPA is at its maximum": tuple(
        HPA.format("spec_max_replicas", 9)
        + HPA.format("status_current_replicas", n) for n in (9, 8)),
}
ROLLOUT = PAGES["a Deployment has pods of an older version"]
ALERT = PAGES["an alert fires"]
RULES = {"groups": [{"name": "a", "rules": [
    {"alert": alert, "expr": expr, "labels": {"nodes": "hold"}}
    for alert, expr in (("SlowRollout", "rollout_seconds > 600"),
                        ("Other", "other == 1"))]}]}


# What runs

@pytest.fixture(scope="module")
def plane(plane_programs):
    """Replaces the session's plane: its namespace of tickets is kept."""
    with ControlPlane(name="hold-while") as plane:
        plane.install_crds()
        yield plane


def overlay(folder, heading, *words):
    """An overlay as somebody would write it, with that patch of the guide."""
    deploy = os.path.relpath(REPO / "deploy", folder.resolve())
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [f"{deploy}/overlays/self-signed"],
        "components": [f"{deploy}/components/{name}"
                       for name in ("tickets", "hold-while")],
        **yaml.safe_load(block(heading, *words))}))
    return folder


@pytest.fixture(scope="module")
def objects(plane, tmp_path_factory):
    """Installs it, by one command in an empty cluster."""
    folder = overlay(tmp_path_factory.mktemp("overlay"), QUERIES, "op: replace",
                     "--while-query")
    plane.kubectl("apply", "--server-side", "-k", folder)
    plane.delete(WEBHOOKS, NAME)    # nobody would answer it
    until(lambda: "7 days" in refusal(plane, ticket(leaseDurationSeconds=10**6)),
          20, "the policy in force")
    return render(plane, folder)


@pytest.fixture
def holder(plane, objects, make_holder):
    pod = find(objects, "Deployment")["spec"]["template"]["spec"]
    made = make_holder(start=False, register=False,
                       leaderElection=SHORT.config())
    made.flags = pod["containers"][0]["args"][3:]
    made.start()
    return made


@pytest.fixture
def page():
    """What Prometheus scrapes: page.text."""
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(server.text.encode())

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.text = ""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def prometheus(tmp_path, page):
    made = started(tmp_path, page)
    yield made
    made.stop()


def started(folder, page, alertmanager=None):
    return Prometheus(folder / "prometheus", [
        {"job_name": "a", "static_configs": [
            {"targets": [f"127.0.0.1:{page.server_port}"]}]}],
        RULES, alertmanager)


class Pod:
    """The Deployment's pod, at the Prometheus of the test and with shorter
    times."""

    def __init__(self, plane, objects, prometheus):
        spec = find(objects, "Deployment", HOLD_WHILE)["spec"]["template"][
            "spec"]
        container, = spec["containers"]
        assert container["command"] == ["/usr/bin/holderctl"]
        url, = (n for n, arg in enumerate(container["args"])
                if arg.startswith("--prometheus="))
        args = list(container["args"])
        args[url] = f"--prometheus={prometheus.url}"
        self.argv = [HOLDERCTL, *args, "--every=1s", f"--lease={LEASE}s"]
        self.log = plane.dir / "hold-while.log"
        self.user = plane.service_account(NAMESPACE, spec["serviceAccountName"])
        self.env = environment(plane, self.user)

    def start(self):
        self.process = spawn(self.argv, self.log, self.env)

    def said(self, words):
        until(lambda: words in self.log.read_text(), 20,
              lambda: f"{words}\n{tail(self.log)}")


@pytest.fixture
def pod(plane, objects, prometheus):
    made = Pod(plane, objects, prometheus)
    made.start()
    yield made
    end(made.process)
    made.log.unlink()


@pytest.fixture
def machines(plane, objects, karpenter):
    """{NodePool: its nodes}: the patches name web and web-*."""
    for pool in ("web", "web-b", "db"):
        plane.create(POOLS, node_pool(pool))
    return {pool: nodes(karpenter.settled(2, pool))
            for pool in ("web", "web-b", "db")}


def check_ends(plane, view, of, name, lasts, begin):
    """The ticket, which holds since `begin`, ends by itself: nobody renews it
    any more, or deletes it."""
    last = renewed(plane, name)
    early, late = view.check_released(of, max(last + lasts, begin + LEAST))
    assert renewed(plane, name) == last
    print(f"{name} ended {early:.1f} to {late:.1f} s after its time")


# The component

def test_a_query(plane, holder, page, pod, prometheus, machines, view):
    named = machines["web"] + machines["web-b"]
    every = named + machines["db"]
    pod.said("the query finds nothing: not held")
    view.check_stays(every, clear, "held for nothing", 2)
    page.text = ROLLOUT[0]
    begin = time.time()
    view.wait_held(named)
    print(f"held after {time.time() - begin:.1f} s")
    view.check_stays(named, held, "released", 2 * LEASE)
    uid = plane.get(HERE, "hold-while")["metadata"]["uid"]
    end(pod.process, signal.SIGKILL)    # as terminationGracePeriodSeconds says
    pod.start()
    view.check_stays(named, held, "released", 2 * LEASE)
    assert plane.get(HERE, "hold-while")["metadata"]["uid"] == uid
    assert all(map(clear, view.of(machines["db"]).values())), "spread"
    page.text = ROLLOUT[1]
    begin = time.time()
    view.wait_clear(every, LEAST + SOON)
    print(f"released after {time.time() - begin:.1f} s")
    assert "hold-while" not in plane.metadata(HERE), "deleted, not only over"

    page.text = ROLLOUT[0]
    view.wait_held(named)
    begin = time.time()
    prometheus.stop(signal.SIGKILL)
    pod.said("not renewed meanwhile, and over at")
    check_ends(plane, view, named, "hold-while", LEASE, begin)
    assert "refused" in pod.log.read_text()
    assert pod.process.poll() is None, tail(pod.log)
    prometheus.start()
    view.wait_held(named)
    pod.said("answers again")
    assert end(pod.process) == 0
    view.wait_clear(every, LEAST + SOON)


MINE = f"{leases(TICKETS)}/hold-while"


def test_rights(plane, objects, holder, pod):
    """One ticket, and nothing else."""
    user = pod.user
    plane.create(HERE, ticket("a"))
    plane.create(HERE, ticket("hold-while"))
    try:
        until(lambda: call(plane, user, "GET", MINE), 20, "its rights")
        for method in ("PATCH", "DELETE"):
            assert call(plane, user, method, MINE), method
        for method, path in (
                ("PUT", MINE), ("GET", A), ("PATCH", A), ("PUT", A),
                ("DELETE", A), ("GET", HERE), ("WATCH", HERE), ("DELETE", HERE),
                ("POST", leases("default")), ("POST", LEASES),
                ("GET", f"{LEASES}/{NAME}"), ("PATCH", f"{LEASES}/{NAME}"),
                ("GET", NODES), ("PATCH", NODES + "/n"), ("GET", POOLS),
                ("PATCH", POOLS + "/web"), ("GET", PODS.format(NAMESPACE)),
                ("GET", f"{NAMESPACES}/{NAMESPACE}/secrets")):
            assert not call(plane, user, method, path), (method, path)
        plane.delete(HERE, "hold-while")
        assert not refusal(plane, ticket("hold-while"), user)
        assert "must have the right to patch it" in refusal(
            plane, ticket("other"), user)
    finally:
        plane.ok("DELETE", HERE)


def test_the_queries_of_the_guide(page, prometheus):
    """Each finds what the guide says, and nothing when it is over.  So does
    that of the component as it is."""
    rows = re.findall(r"^\| ([^|]*) \| `([^`|]*)` \|$",
                      re.search(rf"^### {QUERIES}$(.*?)^### ", GUIDE,
                                re.M | re.S)[1], re.M)
    assert {what for what, _ in rows} == set(PAGES)
    made = yaml.safe_load((REPO / "deploy/components/hold-while/deployment.yaml")
                          .read_text())
    query, = (arg.partition("=")[2] for arg in made["spec"]["template"]["spec"][
        "containers"][0]["args"] if arg.startswith("--while-query="))
    rows.append(("an alert fires", query))
    for n, counts in enumerate((True, False)):
        page.text = "".join(pages[n] for pages in PAGES.values())
        for what, query in rows:
            until(lambda: bool(prometheus.query(query)) == counts, 15,
                  f"{what}: {counts}: {query}")


def test_another_name(plane, objects, tmp_path):
    """As the guide says: nothing but the name in the Role changes."""
    was = copy.deepcopy(find(objects, "Role", HOLD_WHILE))
    now = find(render(plane, overlay(tmp_path, QUERIES, "op: test")), "Role",
               HOLD_WHILE)
    assert was["rules"][1].pop("resourceNames") == ["hold-while"]
    assert now["rules"][1].pop("resourceNames") == ["rollouts"]
    assert was == now


def test_beside_the_chart(plane, objects, tmp_path):
    """The command of the README applies the component's objects alone."""
    overlay(tmp_path, QUERIES, "op: test")
    text, = re.findall(r"^kubectl kustomize OVERLAY.*apply -l.*$", (
        REPO / "deploy/README.md").read_text(), re.M)
    done = shell(plane, text.replace("OVERLAY", str(tmp_path))
                 + " --dry-run=server -o name")
    role = "role.rbac.authorization.k8s.io/"
    assert sorted(done.stdout.split()) == sorted(
        kind + HOLD_WHILE for kind in (
            "serviceaccount/", "deployment.apps/", role,
            role.replace("role.", "rolebinding.")))


# The recipe

@pytest.fixture
def webhook(plane, objects, tmp_path):
    """Runs webhook as the recipe's Deployment.  Yields (process, URL, file of
    the token)."""
    made = list(yaml.safe_load_all(block(ALERTS, "kind: ConfigMap")))
    done = plane.kubectl("apply", "--server-side", "--validate=strict", "-f",
                         "-", stdin=yaml.safe_dump_all(made))
    assert not done.stderr
    template = find(made, "Deployment", "alert-ticket")["spec"]["template"]
    plane.create(PODS.format(TICKETS) + "?dryRun=All", {
        "apiVersion": "v1", "kind": "Pod", **template,
        "metadata": {"name": "a"}})     # it passes `restricted`
    hooks, token, port = tmp_path / "hooks", tmp_path / "token", free_port()
    hooks.mkdir()
    for name, text in find(made, "ConfigMap", "alert-ticket")["data"].items():
        text = text.replace("/hooks/ticket.sh", f"{hooks}/ticket.sh")
        (hooks / name).write_text(text.replace("Seconds: 300",
                                               f"Seconds: {LEASE}"))
    token.write_text("a-secret")
    container, = template["spec"]["containers"]
    command = [{"/hooks/hooks.yaml": hooks / "hooks.yaml", "9000": port}.get(
        arg, arg) for arg in container["command"][1:]]
    user = plane.service_account(
        TICKETS, template["spec"]["serviceAccountName"])
    until(lambda: plane.request("GET", f"{HERE}/alerts", user=user)[0] == 404,
          20, "its rights")
    variable, = container["env"]
    process = spawn(
        [*debian("webhook", "webhook"), *command, "-verbose"],
        tmp_path / "webhook.log", {
            **environment(plane, user), variable["name"]: "a-secret"})
    url = f"http://127.0.0.1:{port}"

    def ready():
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(url, timeout=5).status == 200
    until(ready, 20, lambda: "webhook\n" + tail(tmp_path / "webhook.log"))
    yield process, url, token
    end(process)
    plane.ok("DELETE", HERE)
    plane.kubectl("delete", "--wait=false", "-f", "-",
                  stdin=yaml.safe_dump_all(made))


@pytest.fixture
def alertmanager(webhook, tmp_path):
    _, url, token = webhook
    config = yaml.safe_load(block(ALERTS, "webhook_configs"))
    route, = config["route"]["routes"]
    assert (route["group_interval"], route["repeat_interval"]) == ("1m", "1m")
    route.update(group_interval="1s", repeat_interval="1s")
    sent, = config["receivers"][1]["webhook_configs"]
    sent["url"] = re.sub("http://[^/]*", url, sent["url"])
    sent["http_config"]["authorization"]["credentials_file"] = str(token)
    made = Alertmanager(tmp_path / "alertmanager", config)
    yield made
    made.stop()


def test_an_alert(plane, holder, page, webhook, alertmanager, tmp_path,
                  machines, view):
    named = machines["web"] + machines["web-b"]
    prometheus = started(tmp_path, page, alertmanager)
    try:
        page.text = ALERT[0]
        begin = time.time()
        view.wait_held(named)
        print(f"held after {time.time() - begin:.1f} s")
        view.check_stays(named, held, "released", 2 * LEASE)
        assert all(map(clear, view.of(machines["db"]).values())), "spread"
        uid = plane.get(HERE, "alerts")["metadata"]["uid"]
        page.text += "other 1\n"
        until(lambda: alertmanager.count() == 2, 20, "two alerts")
        page.text = ALERT[0]
        until(lambda: alertmanager.count() == 1, 20, "one of them is over")
        view.check_stays(named, held, "released with the other alert", 4)
        assert plane.get(HERE, "alerts")["metadata"]["uid"] == uid
        page.text = ALERT[1]
        begin = time.time()
        view.wait_clear(named, LEAST + SOON)
        print(f"released after {time.time() - begin:.1f} s")
        until(lambda: "alerts" not in plane.metadata(HERE), 10, "deleted")

        page.text = ALERT[0]
        view.wait_held(named)
        begin = time.time()
        alertmanager.stop(signal.SIGKILL)
        time.sleep(2)       # a notification may be under way
        check_ends(plane, view, named, "alerts", LEASE, begin)
        alertmanager.start()
        view.wait_held(named)
        begin = time.time()
        end(webhook[0], signal.SIGKILL)
        time.sleep(2)
        check_ends(plane, view, named, "alerts", LEASE, begin)
    finally:
        prometheus.stop()


def test_who_may_call_the_hook(plane, webhook, tmp_path):
    """Nobody without the token.  A script that fails is an error, after which
    Alertmanager tries again."""
    _, url, _ = webhook

    def post(body, **headers):
        request = urllib.request.Request(
            url + "/hooks/alerts", body.encode(),
            {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            return e.code
    firing = '{"status": "firing"}'
    good = {"Authorization": "Bearer a-secret"}
    for headers in ({}, {"Authorization": "Bearer "},
                    {"Authorization": "Bearer a-secret2"}):
        assert post(firing, **headers) == 403
    assert "alerts" not in plane.metadata(HERE)
    assert post(firing, **good) == 200
    assert "alerts" in plane.metadata(HERE)
    for body in ("{}", '{"status": "$(exit 0)"}'):
        assert post(body, **good) == 500, tail(tmp_path / "webhook.log")
    assert "alerts" in plane.metadata(HERE)
    for _ in range(2):
        assert post('{"status": "resolved"}', **good) == 200
        assert "alerts" not in plane.metadata(HERE)
