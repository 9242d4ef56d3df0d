# SPDX-License-Identifier: Apache-2.0
"""deploy/components/prometheus: a real Prometheus scrapes the holder and the
API server, loads the alerts, and answers the queries of the dashboard."""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone

import pytest
import yaml

from controlplane import NODES, REPO, end, free_port, spawn, tail, until
from hold import nodes
from holder import DEPLOY, HOLDERCTL
from karpenter import node_body
from prometheus import (
    COMPONENT, Prometheus, alerts, as_asked, component, jobs, panels, programs,
    rules)
from replay import when

pytestmark = pytest.mark.long

P = "karpenter_node_holder_"
UTC = timezone.utc
GUIDE = REPO / "docs" / "operations.md"
CASES = pathlib.Path(__file__).with_name("alerts_test.yaml")
# Panels that show nothing as long as nothing goes wrong.
MAY_BE_EMPTY = {"Calls that failed", "Watches begun again"}


def promtool(*args, **options):
    done = subprocess.run([programs()[1], *map(str, args)],
                          capture_output=True, text=True, timeout=60,
                          **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


# --- without a cluster -------------------------------------------------------

def test_rules_are_well_formed(tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(rules()))
    promtool("check", "rules", file)
    for name, rule in alerts().items():
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description",
                                            "runbook_url"}, name
        assert rule["annotations"]["runbook_url"].endswith(
            f"docs/operations.md#{name.lower()}")


def test_rules_fire_when_they_should(tmp_path):
    tested = rules()
    for group in tested["groups"]:
        for rule in group["rules"]:     # the test above looks at it
            del rule["annotations"]["runbook_url"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(tested))
    shutil.copy(CASES, tmp_path)
    promtool("test", "rules", "alerts_test.yaml", cwd=tmp_path)
    tests = yaml.safe_load((CASES).read_text())["tests"]
    cases = [c for t in tests for c in t["alert_rule_test"]]
    fires = {c["alertname"] for c in cases if c["exp_alerts"]}
    is_quiet = {c["alertname"] for c in cases if not c["exp_alerts"]}
    assert fires == is_quiet == set(alerts())


# --- with one ----------------------------------------------------------------

def test_the_component_builds(plane, tmp_path):
    """It builds with deploy/base, and the ServiceMonitor finds the Service and
    its port."""
    def relative(path):
        return os.path.relpath(path, tmp_path)
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [relative(DEPLOY)],
        "components": [relative(COMPONENT)]}))
    built = [o for o in yaml.safe_load_all(
        plane.kubectl("kustomize", tmp_path).stdout) if o]
    for file in ("servicemonitor.yaml", "prometheusrule.yaml",
                 "dashboard.yaml"):
        want = component(file)
        assert [o["metadata"]["namespace"] for o in built
                if (o["kind"], o["metadata"]["name"]) ==
                (want["kind"], want["metadata"]["name"])] == [
                    "karpenter-node-holder"], file
    monitor = component("servicemonitor.yaml")["spec"]
    services = [o["spec"] for o in built if o["kind"] == "Service"
                and monitor["selector"]["matchLabels"].items()
                <= o["metadata"]["labels"].items()]
    container, = [c for o in built if o["kind"] == "Deployment"
                  for c in o["spec"]["template"]["spec"]["containers"]]
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    for endpoint in monitor["endpoints"]:
        port, = [p for s in services for p in s["ports"]
                 if p["name"] == endpoint["port"]]
        assert ports[port["targetPort"]] == 8080
    assert component("dashboard.yaml")["metadata"]["labels"][
        "grafana_dashboard"] == "1"


def stall(plane, holder):
    """Makes one creation that the holder does not answer in time."""
    os.kill(holder.process.pid, signal.SIGSTOP)
    try:
        plane.create(NODES + "?dryRun=All", node_body("unanswered"))
    finally:
        os.kill(holder.process.pid, signal.SIGCONT)


@pytest.fixture
def scraped(plane, make_holder, karpenter, view):
    """Makes a hold and a release, and two creations past the webhook.  Returns
    (Prometheus, holder, when it began)."""
    old = karpenter.settled(3)
    holder = make_holder(holdDuration="14s")
    prometheus = Prometheus(plane.dir / "prometheus", jobs(plane, holder),
                            rules())
    try:
        view.wait_clear(nodes(old), 20)
        begin = time.time()
        for _ in range(2):  # the first one only creates the series
            stall(plane, holder)
            time.sleep(3)
        m = karpenter.machine()
        view.wait_held(nodes(old))
        view.check_released(nodes(old + [m]), m.ready + 14)
        until(lambda: prometheus.query(f"sum({P}held_objects)") == [0], 10,
              "the release is scraped")
        time.sleep(2)
        yield prometheus, holder, begin
    finally:
        prometheus.stop()


def test_dashboard_alerts_and_metrics(scraped):
    prometheus, holder, begin = scraped
    seen = {}
    for panel in panels():
        for target in panel["targets"]:
            expr = as_asked(target["expr"])
            values = (prometheus.query(expr) if target.get("instant") else
                      prometheus.query_range(expr, begin, time.time()))
            seen.setdefault(panel["title"], []).append(values)
            assert values or panel["title"] in MAY_BE_EMPTY, (
                f"{panel['title']}: no data of {expr}")
    # The panels show what happened, and not just something.
    assert set(seen["Scopes"][0]) == {0, 1}
    assert max(seen["Objects held"][0]) == 4
    assert seen["Nodes held by us"] == [[0]]
    # Four machines, though the new one's NodeClaim was held as well.
    held, = (t["expr"] for p in panels() if p["title"] == "Nodes held by us"
             for t in p["targets"])
    assert max(prometheus.query_range(as_asked(held), begin,
                                      time.time())) == 4
    assert seen["Replicas that lead"] == [[1]]
    # At first the time is as if the machine took all of startupTimeout.
    assert 4 < max(seen["Time until quiet"][0]) <= 8 + 20 + 1
    assert max(max(v) for v in seen["Holds and releases"]) > 0
    assert max(seen["Machines with time left"][0]) == 1
    assert max(seen["Past the webhook"][0]) > 0
    assert seen["Past the webhook, 24 h"][0][0] > 0
    assert seen["Certificate ends in"][0][0] > 30 * 86400
    assert set(seen["Watches open"][0]) >= {1}

    # Every rule can be evaluated, and none fires but for what was done.
    known = {r["name"]: r for g in prometheus.api("rules")["groups"]
             for r in g["rules"]}
    assert set(known) == set(alerts())
    for name, rule in known.items():
        assert rule["health"] == "ok", (name, rule.get("lastError"))

    def active():
        return {r["name"] for g in prometheus.api("rules")["groups"]
                for r in g["rules"] if r["state"] != "inactive"}
    until(lambda: active() == {"KarpenterNodeHolderFailOpen"}, 10, active)

    _, text, _ = holder.fetch("/metrics")
    done = promtool("check", "metrics", input=text)
    assert done.stdout + done.stderr == ""
    guide = GUIDE.read_text()
    for family in re.findall(r"^# TYPE (\S+) ", text, re.M):
        assert f"`{family.removeprefix(P)}`" in guide, family
    # The metrics that rules and panels ask for exist.
    asked = json.dumps([[t["expr"] for p in panels() for t in p["targets"]],
                        [r["expr"] for r in alerts().values()]])
    families = set(re.findall(r"^# TYPE (\S+) ", text, re.M))
    for name in set(re.findall(P + r"\w+", asked)):
        assert re.sub(r"_bucket$", "", name) in families, name


# --- simulate ----------------------------------------------------------------

class Karpenter(http.server.BaseHTTPRequestHandler):
    """The metrics of a Karpenter whose Nodes are in `born`."""
    born, counted = {}, {}

    def do_GET(self):
        now = time.time()
        lines = [f'karpenter_nodes_current_lifetime_seconds{{node_name="{n}",'
                 f'nodepool="web"}} {now - at}' for n, at in self.born.items()]
        lines += [f'karpenter_nodeclaims_{name}_total{{reason="{reason}",'
                  f'nodepool="web"}} {n}'
                  for (name, reason), n in self.counted.items()]
        lines.append('karpenter_nodepools_cost_total{nodepool="web"} '
                     f"{.25 * len(self.born)}")
        body = ("\n".join(lines) + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_simulate_reads_a_range_query(tmp_path):
    """The answer of a real Prometheus, as docs/what-if.md asks for it.  To be
    asked for it live is the same, in one piece or in many."""
    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Karpenter)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    begin, port = int(time.time()), free_port()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "karpenter", "static_configs": [
            {"targets": [f"127.0.0.1:{page.server_port}"]}]}]}))
    old = {f"node-old{n}": begin - 5000 for n in ("", 1, 2)}
    Karpenter.born = dict(old)
    Karpenter.counted = {("created", "provisioned"): 7}

    def start(*flags):
        return spawn([
            programs()[0], f"--config.file={tmp_path / 'config.yaml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}", *flags],
            tmp_path / "log")
    process = start()
    said = re.search(r"'query=(.*)'", (REPO / "docs/what-if.md").read_text())

    def ask(since=begin, to=None):
        query = urllib.parse.urlencode({
            "query": said[1], "start": since, "end": to or time.time(),
            "step": 1})
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/api/v1/query_range?{query}",
                    timeout=10) as answer:
                return answer.read()
        except OSError:
            return b""

    def refusal(query, since):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(
                f"http://127.0.0.1:{port}/api/v1/query_range?query={query}"
                f"&step=1&start={since}&end={last}", timeout=10)
        return refused.value.read()

    def simulate(*args):
        return subprocess.check_output(
            [HOLDERCTL, "simulate", "-o", "record", *args], cwd=tmp_path,
            text=True, timeout=60)

    def live(since):
        return simulate(
            f"--prometheus=http://127.0.0.1:{port}", "--step=1s",
            '--prometheus-match=job=~"karp.*",instance!=""',
            *(f"--{flag}={datetime.fromtimestamp(at, UTC).isoformat()}"
              for flag, at in (("from", since), ("to", last))))
    try:
        until(lambda: b"node-old" in ask(), 30,
              lambda: "scraped\n" + tail(tmp_path / "log"))
        time.sleep(3)
        made = time.time()
        Karpenter.born |= {"node-1": made, "node-2": made}
        Karpenter.counted = {("created", "provisioned"): 9}
        time.sleep(5)
        gone = time.time()
        Karpenter.born = {**old, "node-2": made}
        Karpenter.counted |= {("disrupted", "empty"): 1}
        time.sleep(5)
        last = int(time.time()) - 1
        (tmp_path / "metrics.json").write_bytes(ask(to=last))
        saved = simulate("metrics.json")
        # Its 11,000 samples end among these.
        for since in (begin, made - 11000, gone - 11000):
            assert live(int(since)) == saved
        assert b"exceeded maximum resolution" in refusal("up", last - 11001)
        # One that takes no more than some samples of a query.
        end(process)
        Karpenter.born = {}
        process = start("--query.max-samples=50")
        until(lambda: ask(last, last), 30, lambda: tail(tmp_path / "log"))
        assert b"too many samples" in refusal(
            "karpenter_nodes_current_lifetime_seconds", begin)
        assert live(begin - 200) == saved
    finally:
        end(process)
        page.shutdown()
    lines = saved.splitlines()
    facts = [json.loads(line) for line in lines[1:-1]]

    def at(fact):
        return when(fact["at"])
    created = {f["claim"]: f for f in facts if f["what"] == "created"}
    assert set(created) == {"node-1", "node-2"}, facts
    for fact in created.values():
        assert -0.1 < at(fact) - made < 1.1, (fact, made)
        assert fact["maker"] == "provisioner", fact
    ended, = (f for f in facts if f["what"] == "gone")
    assert ended["claim"] == "node-1" and abs(at(ended) - gone) < 3, ended
    decided, = (f for f in facts if f["what"] == "decided")
    assert decided["nodes"] == [{"node": "node-1", "claim": "node-1"}]
    assert abs(at(decided) - gone) < 3, (decided, gone)
    assert decided["price"] == "0.250000", decided
