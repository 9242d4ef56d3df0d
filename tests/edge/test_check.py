# SPDX-License-Identifier: Apache-2.0
"""`holderctl check` beside an API server that is away, refuses, or talks
nonsense: every check ends in a finding, and the command in good order.  What
it finds in real clusters is in tests/e2e/test_check.py."""
import contextlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import time
import threading

import pytest
import yaml

from conftest import (HOLDERCTL, HOLDERCTL_FAST, PATIENCE, REPO, environment,
                      stalled_pipe)
from test_commands import holderctl as run  # noqa: F401
from test_commands import refused

CHECKS = ["api", "admission", "ca-bundle", "dry-run", "rights", "karpenter",
          "nodepools", "holder", "placement", "leftovers"]
VERSION = b'{"gitVersion":"v1.36.3"}'
FORBIDDEN = json.dumps({"kind": "Status", "message": "it is forbidden: User "
                        "\"system:serviceaccount:x:node-holder-check\" cannot",
                        "reason": "Forbidden", "code": 403}).encode()
ADMISSION = "/apis/admissionregistration.k8s.io/"
EMPTY = b'{"metadata":{"resourceVersion":"1"},"items":[]}'
HELD = json.dumps({"metadata": {"annotations": {
    "karpenter-node-holder.io/held-since": "2026-01-01T00:00:00Z"}}}).encode()
ODD = [7, None, "x", [], {"metadata": 7}, {"metadata": {"name": ["x"]}},
       {"metadata": {"name": "x" * 1000}}, {"metadata": {"name": "x"},
                                            "webhooks": [7, {"name": {}}],
                                            "spec": [], "status": "x"}]


@contextlib.contextmanager
def api_server(answer):
    """answer(path) returns (status, body), and maybe a header."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1       # an answer is one write

        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body, *header = answer(self.path)
            self.send_response(status)
            for name, value in header:
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # it may not want the rest
                self.wfile.write(body)
        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def access(tmp_path, port):
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {
            "server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c",
                                               "user": "u"}}]}))


def check(run, tmp_path, port, *flags):  # noqa: F811
    access(tmp_path, port)
    done = run("check", "--kubeconfig", "kubeconfig", *flags)
    assert done.code == 1, done.err
    return done


def found(run, tmp_path, port):  # noqa: F811
    report = json.loads(check(run, tmp_path, port, "-o", "json").out)
    assert [c["check"] for c in report["checks"]] == CHECKS
    return {f["id"]: f for f in report["findings"]}


def test_ended_while_nobody_reads_either_output(tmp_path):
    """check 2>&1 | less, and an API server that never answers."""
    ours, theirs, is_full = stalled_pipe()
    os.write(theirs, b"x" * 4096)
    assert is_full()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        access(tmp_path, silent.getsockname()[1])
        process = subprocess.Popen(
            [HOLDERCTL, "check", "--kubeconfig", "kubeconfig"],
            cwd=tmp_path, env=environment(tmp_path), stdout=theirs,
            stderr=theirs)
        try:
            silent.settimeout(PATIENCE)
            silent.accept()
            process.send_signal(signal.SIGTERM)
            # By itself, or before it has begun to look for signals.
            assert process.wait(PATIENCE) in (1, -signal.SIGTERM)
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)


def endless(fill=(), name="", pause=0):
    """A list that always has a next page, with these items."""
    body = json.dumps({"kind": "List", "apiVersion": "v1", "metadata": {
        "resourceVersion": "5", "continue": "again"},
        "items": list(fill)}).encode()

    def answer(path):
        time.sleep(pause)
        return 200, body if name in path else EMPTY
    return answer


@pytest.mark.parametrize("fill,bound", [
    ([], "a list of more than 1100 pages"),
    ([0] * 50000, "a list of more than 550000 objects")])
def test_lists_without_an_end(run, tmp_path, fill, bound):  # noqa: F811
    with api_server(endless(fill, "/nodepools?")) as port:
        findings = found(run, tmp_path, port)
    assert findings["nodepools-unknown"]["what"] == f"list NodePools: {bound}"


def test_the_time_is_bounded(run, tmp_path):  # noqa: F811
    """That of --wait is not counted."""
    begin = time.monotonic()
    with api_server(endless(pause=0.05)) as port:
        out = check(run, tmp_path, port, "--timeout=1s", "--wait=1s").out
    assert time.monotonic() - begin > 2
    assert ": the time is over (--timeout)\n" in out
    assert "in flight" not in out


def test_record_of_a_list_without_an_end(run, tmp_path):  # noqa: F811
    with api_server(endless()) as port:
        access(tmp_path, port)
        done = run("record", "--kubeconfig", "kubeconfig")
    assert (done.code, done.out, done.err) == (
        1, "", "holderctl: nodeclaims: list failed: a list of more than 1100"
        " pages\n")


@pytest.mark.parametrize("expired", [False, True])
def test_record_of_a_list_that_takes_too_long(tmp_path, expired):
    """Each page comes late, or its token has always expired by then."""
    def answer(path):
        if expired and "continue" in path:
            return 410, b"{}"
        return page(path)
    page = endless(pause=0.05)  # far from the deadline of one page
    with api_server(answer) as port:
        access(tmp_path, port)
        done = subprocess.run(
            [HOLDERCTL_FAST, "record", "--kubeconfig", "kubeconfig"],
            cwd=tmp_path, env={**environment(tmp_path), "HURRY": "1"},
            capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and not done.stdout
    assert re.search(r"^holderctl: nodeclaims: list failed: " + (
        "HTTP 410$" if expired else r"a list without an end within \d+ s$"),
        done.stderr, re.M), done.stderr


def test_no_api_server(run, tmp_path):  # noqa: F811
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        assert set(found(run, tmp_path, port)) == {"api-unreachable"}
        out = check(run, tmp_path, port).out
    assert "\nadmission  skipped\n" in out
    assert out.endswith("\n1 error, 0 warnings\n")


def test_a_webhook_that_comes_between_two_looks(run, tmp_path):  # noqa: F811
    """A dry run that comes back held does not end the wait beside a webhook
    that was not there yet."""
    tried = []

    def answer(path):
        if path == "/version":
            return 200, VERSION
        if "dryRun=All" in path:
            tried.append(path)
            return 200, HELD
        if path.startswith(ADMISSION) and not tried:
            return (200, EMPTY) if "webhookconf" in path else (404, EMPTY)
        return 403, FORBIDDEN
    with api_server(answer) as port:
        access(tmp_path, port)
        done = run("check", "--kubeconfig", "kubeconfig", "--wait", "5s")
    assert done.code == 0 and "webhook-missing" not in done.out, done.out
    assert len(tried) == 4, "a Node and a NodeClaim, twice"


def test_nobody_knows_us(run, tmp_path):  # noqa: F811
    with api_server(lambda path: (401, FORBIDDEN)) as port:
        assert set(found(run, tmp_path, port)) == {"api-unreachable"}


def test_everything_is_forbidden(run, tmp_path):  # noqa: F811
    """Each right that is missing is a finding that says so."""
    def answer(path):
        return (200, VERSION) if path == "/version" else (403, FORBIDDEN)
    with api_server(answer) as port:
        findings = found(run, tmp_path, port)
    assert set(findings) == {
        check + "-unknown" for check in CHECKS
        if check not in ("api", "ca-bundle")}
    for f in findings.values():
        assert "403: it is forbidden" in f["what"] and (
            "deploy/check" in f["fix"]), f


@pytest.mark.parametrize("body", [
    b"", b"<html>", b"{}", b"null", b"[" * 100000, b'{"items":[', b"\xff",
    b'{"a":"' + b"x" * (2 << 20) + b'"}',
    json.dumps({"metadata": {"resourceVersion": "1"}, "items": ODD}).encode(),
    json.dumps({**ODD[-1], "versions": 7, "resources": {"name": "x"}}
               ).encode()], ids=lambda b: f"{b[:12]}-{len(b)}")
def test_nonsense(run, tmp_path, body):  # noqa: F811
    def answer(path):
        return 200, VERSION if path == "/version" else body
    with api_server(answer) as port:
        findings = found(run, tmp_path, port)
    assert {"dry-run-unknown", "dry-run-unheld"} & set(findings), findings


def test_holds_that_nobody_is_on_record_for(run, tmp_path):  # noqa: F811
    """Unless the template of their NodePool sets them."""
    hold = {"karpenter.sh/do-not-disrupt": "true"}
    lists = {"/apis/karpenter.sh/v1/nodepools": [
        {"metadata": {"name": name, "uid": name, "resourceVersion": "1"},
         "spec": {"template": {"metadata": {
             "annotations": hold if name == "holds" else {}}}}}
        for name in ("holds", "web")],
        "/api/v1/nodes": [
            {"metadata": {"name": name, "annotations": hold, "labels": {
                "karpenter.sh/nodepool": pool}}}
            for name, pool in (("a", "holds"), ("b", "web"), ("c", "web"),
                               ("d", "gone"))]}

    def answer(path):
        items = lists.get(path.split("?")[0])
        if path == "/version":
            return 200, VERSION
        return (403, FORBIDDEN) if items is None else (200, json.dumps({
            "metadata": {"resourceVersion": "1"}, "items": items}).encode())
    with api_server(answer) as port:
        findings = found(run, tmp_path, port)
    assert findings["go-holds"]["what"].endswith("Nodes: 3, such as b")
    assert findings["go-holds"]["fix"] == (
        "kubectl annotate node b karpenter.sh/do-not-disrupt-")


@pytest.mark.parametrize("after, expected", [
    (["0s", "0s", "30s"], "with 30s the holder spares more"),
    (["0s", "WhenEmpty", "WhenEmpty"], "the holder spares no moves"),
    (["0s", "WhenEmpty"], None),
    (["0s", "30s"], None), (["0s", "Never"], None), (["4m59s"], None),
    (["5m", "1h"], "5m or more, which spares most moves without a holder"),
    (["Never"], None), ([None, "x"], None)], ids=str)
def test_consolidate_after_names_a_row_of_the_study(
        run, tmp_path, after, expected):  # noqa: F811
    pools = [{"metadata": {"name": f"p{i}", "uid": f"{i}",
                           "resourceVersion": "1"},
              "spec": {"disruption": {} if value is None else {
                  "consolidationPolicy": value, "consolidateAfter": "0s"}
                  if value == "WhenEmpty" else {"consolidateAfter": value}}}
             for i, value in enumerate(after)]

    def answer(path):
        if path == "/version":
            return 200, VERSION
        if path.startswith("/apis/karpenter.sh/v1/nodepools?"):
            return 200, listed(*pools)
        return 403, FORBIDDEN
    with api_server(answer) as port:
        out = check(run, tmp_path, port).out
    line = re.search(r"^nodepools +\S+ *(.*)$", out, re.M)[1]
    assert (expected or "") in line and ("Do I need" in line) == (
        expected is not None), out


@pytest.mark.parametrize("renewed, expected", [
    ([-90000], None), ([-90000, -2], None), ([-2, -90000], None),
    ([None], None), ([-3600], "ns0"), ([-3600, -60], "ns1"),
    ([-60, None], "ns0")], ids=str)
def test_leases_of_karpenter(run, tmp_path, renewed, expected):  # noqa: F811
    """It is down when it has stopped to renew its Lease, and no earlier
    Karpenter left it, and no other one is live."""
    leases = [{"metadata": {"name": "karpenter-leader-election",
                            "namespace": f"ns{i}", "resourceVersion": "1"},
               "spec": {"holderIdentity": "k", "leaseDurationSeconds": 15, **(
                   {} if ago is None else {"renewTime": time.strftime(
                       "%Y-%m-%dT%H:%M:%S.000000Z",
                       time.gmtime(time.time() + ago))})}}
              for i, ago in enumerate(renewed)]

    def answer(path):
        if path == "/version":
            return 200, VERSION
        if path.startswith("/apis/apps/v1/deployments?"):
            return 200, listed()
        if "/leases?" in path and "karpenter-leader-election" in path:
            return 200, listed(*leases)
        if path == "/apis/karpenter.sh":
            return 200, json.dumps({"versions": [{"version": "v1"}]}).encode()
        if path == "/apis/karpenter.sh/v1":
            return 200, json.dumps({"resources": [
                {"name": n} for n in ("nodeclaims", "nodepools")]}).encode()
        return 403, FORBIDDEN
    with api_server(answer) as port:
        findings = found(run, tmp_path, port)
        out = check(run, tmp_path, port).out
    what = findings.get("karpenter-down", {"what": None})["what"]
    assert what is None if expected is None else expected in what, findings
    assert ("is an old one" in out) == all(
        ago is None or ago < -86400 for ago in renewed)


def listed(*items):
    return json.dumps({"metadata": {"resourceVersion": "1"},
                       "items": items}).encode()


DAY = 86400


@pytest.mark.parametrize("holder, duration, ago, then, expected", [
    ("ghost_1", DAY, 0, {}, "ghost_1, which is no pod and does not renew it"),
    ("ghost_1", DAY, DAY - 60, {}, "ghost_1, which is no pod"),
    ("holder-0_1", DAY, 60, {}, "holder-0_1, which does not renew it"),
    ("holder-0_1", 15, -60, {}, None),
    ("holder-0_1", DAY, 60, {"renewTime": 0}, None),
    ("uninstall_1", 15, 0, {"renewTime": 0}, None),
    ("ghost_1", DAY, 0, {"holderIdentity": "holder-0_2"}, None),
    # Of a leader that was killed, the time is over before another leads.
    ("holder-1_1", 15, 16, {"holderIdentity": "holder-0_2", "renewTime": 0},
     None),
    ("ghost_1", DAY, 0, None, "nobody has renewed Lease"),
    ("ghost_1", 2, 0, {}, "nobody has renewed Lease"),
], ids=str)
def test_who_leads(run, tmp_path, holder, duration, ago, then, expected):  # noqa: F811
    """A leader that is no pod, or does not renew the Lease, is looked at for
    a leaseDuration.  then: what changes at the second look; None: the Lease is
    deleted."""
    def stamp(ago):
        return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z",
                             time.gmtime(time.time() - ago))

    looks = []
    name = "karpenter-node-holder"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": name, "namespace": name, "resourceVersion": "1"},
             "spec": {"holderIdentity": holder, "leaseDurationSeconds": duration,
                      "renewTime": stamp(ago)}}
    labels = {"app.kubernetes.io/name": name,
              "app.kubernetes.io/component": "controller"}

    def answer(path):
        if path == "/version":
            return 200, VERSION
        if path.endswith(f"/leases/{name}"):
            looks.append(path)
            if len(looks) == 2 and then is None:
                return 404, FORBIDDEN
            if len(looks) == 2:
                lease["spec"].update(then)
                if "renewTime" in then:
                    lease["spec"]["renewTime"] = stamp(then["renewTime"])
            return 200, json.dumps(lease).encode()
        if "/leases?" in path and "karpenter-leader" not in path:
            return 200, listed(lease)
        if path.startswith("/apis/apps/v1/deployments?labelSelector"):
            return 200, listed({
                "metadata": {"name": name, "namespace": name, "labels": labels},
                "spec": {"replicas": 1, "template": {"metadata": {}, "spec": {}}},
                "status": {"replicas": 1, "availableReplicas": 1,
                           "readyReplicas": 1, "updatedReplicas": 1}})
        if path.startswith(f"/api/v1/namespaces/{name}/pods?"):
            return 200, listed({"metadata": {"name": "holder-0", "labels": labels},
                                "spec": {"containers": []}})
        if path.startswith(("/api/v1/nodes?", "/apis/karpenter.sh/v1/nodeclaims?")):
            return 200, listed()
        return 403, FORBIDDEN
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: karpenter-node-holder.io/v1\n"
                      "kind: HolderConfig\nleaderElection: {leaseDuration: 1s, renewDeadline: 500ms,"
                      " retryPeriod: 100ms}\n")
    with api_server(answer) as port:
        report = json.loads(check(run, tmp_path, port, "-o", "json",
                                  "--config", config).out)
    leaders = [f for f in report["findings"] if f["id"].startswith("leader-")]
    if expected is None:
        assert not leaders
        line, = (c for c in report["checks"] if c["check"] == "holder")
        assert f"{lease['spec']['holderIdentity']} leads" in str(line)
        assert len(looks) == (1 if then == {} else 2)
        return
    found, = leaders
    assert expected in found["what"]
    assert (found["id"], found["fix"]) == (
        ("leader-missing", found["fix"]) if "nobody" in expected else
        ("leader-silent", f"kubectl -n {name} delete lease {name}"))


def test_a_hostile_leader_redirects(run, tmp_path):  # noqa: F811
    """The API server passes the answer of a pod on: our token goes nowhere."""
    asked, strangers = [], []

    def stranger(path):
        strangers.append(path)
        return 200, b"{}"

    def answer(path):
        asked.append(path)
        if "/proxy/status" in path:
            return 302, b"", ("Location", f"http://127.0.0.1:{other}/x")
        if path.startswith("/api/v1/namespaces/karpenter-node-holder/pods?"):
            return 200, listed({
                "metadata": {"name": "holder-0", "labels": {
                    "app.kubernetes.io/component": "controller"}},
                "spec": {"containers": [{"ports": [
                    {"name": "metrics", "containerPort": 8080}]}]}})
        return (200, VERSION) if path == "/version" else (403, FORBIDDEN)
    with api_server(stranger) as other, api_server(answer) as port:
        findings = json.loads(check(run, tmp_path, port, "-o", "json").out)
    assert [p for p in asked if "/proxy/" in p] == [
        "/api/v1/namespaces/karpenter-node-holder/pods/http:holder-0:8080"
        "/proxy/status?format=json"]
    assert not strangers
    assert any(f["id"] == "leader-unanswered"
               and "pod holder-0: 302" in f["what"]
               for f in findings["findings"]), findings


def test_a_hostile_leader_names_somebody(run, tmp_path):  # noqa: F811
    """What a pod answers gives nobody a right."""
    says = json.dumps({"kind": "Status", "code": 403, "message":
                       'pods "x" is forbidden: User "evil" cannot get resource '
                       '"pods" in API group "" in the namespace "kube-system"'
                       }).encode()

    def answer(path):
        if "/proxy/status" in path:
            return 403, says
        if path.startswith("/api/v1/namespaces/karpenter-node-holder/pods?"):
            return 200, listed({
                "metadata": {"name": "holder-0", "labels": {
                    "app.kubernetes.io/component": "controller"}},
                "spec": {"containers": [{"ports": [
                    {"name": "metrics", "containerPort": 8080}]}]}})
        return (200, VERSION) if path == "/version" else (403, FORBIDDEN)
    with api_server(answer) as port:
        report = json.loads(check(run, tmp_path, port, "-o", "json").out)
    said, = (f for f in report["findings"] if "evil" in f["what"])
    assert said["id"] == "holder-unknown"
    assert said["fix"] == ("kubectl -n karpenter-node-holder auth can-i get "
                           "pods --subresource=proxy")
    assert "evil" not in str([f["fix"] for f in report["findings"]])


@pytest.mark.parametrize("flags, words", [
    (["-o", "yaml"], ["--output", '"yaml"', "text or json"]),
    (["-oyaml"], ["--output", '"yaml"']),
    (["--output="], ["--output", "text or json"]),
    (["-o"], ["--output", "expected a value"]),
    (["--wait", "long"], ["--wait", '"long"', "60s"]),
    (["--namespace", "a/b"], ["--namespace", "expected the name"]),
    (["--frob"], ["unknown flag --frob"]),
    (["--kubeconfig", "missing"], ["missing", "No such file"]),
    ([], ["no cluster", "expected --kubeconfig"]),
])
def test_bad_flags(run, flags, words):  # noqa: F811
    refused(run("check", *flags), *words)


def test_help(run):  # noqa: F811
    done = run("check", "--help")
    assert (done.code, done.err) == (0, "")
    for flag in ("--wait", "-o, --output", "--namespace",
                 "--kubeconfig", "--hold-duration"):
        assert flag in done.out


def finding_levels():
    code = "".join(f.read_text()
                   for f in (REPO / "src/core/doctor").glob("*.c"))
    return dict((name, level.lower()) for level, name in re.findall(
        r"DOCTOR_\w+,\s+FINDING_(ERROR|WARNING),\s+\"([a-z-]+)\"",
        re.sub(r'"\s+"', "", code)))


def test_each_finding_is_in_the_guide():
    """docs/check.md has each finding with its level, and no others."""
    kinds = finding_levels()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning) \|",
                           (REPO / "docs/check.md").read_text(), re.M))
    assert len(kinds) > 40 and rows == kinds


def test_no_symptom_stands_before_its_cause():
    """src/core/doctor/order.c has a row for each finding, causes first."""
    code = (REPO / "src/core/doctor/order.c").read_text().replace("\\\n", "")
    words = dict(re.findall(r"^#define (\w+)\s+(.*)", code, re.M))
    table = code[code.index("rows[] = {"):code.index("\n};")]
    for name, text in reversed(words.items()):
        table = re.sub(rf"\b{name}\b", lambda _: text, table)
    rows = re.findall(r'\{"([a-z-]+)",\s*"(.*?)"\}',
                      re.sub(r'"\s*"(?=[a-z ])', "", table))
    seen = []
    for name, causes in rows:
        assert set(causes.split()) <= set(seen), name
        seen.append(name)
    assert sorted(seen) == sorted(finding_levels())


