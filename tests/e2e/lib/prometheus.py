# SPDX-License-Identifier: Apache-2.0
"""A Prometheus that scrapes what a test runs, and an Alertmanager.

The programs are Debian's.  The packages are unpacked and not installed, as an
installation would start services of its own.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml

from controlplane import BUILD, REPO, end, free_port, spawn, tail, until

COMPONENT = REPO / "deploy" / "components" / "prometheus"


def programs():
    """Returns the paths of prometheus and promtool."""
    return debian("prometheus", "prometheus", "promtool")


def debian(package, *names):
    """Returns the paths of these programs of the package."""
    found = [shutil.which(name) for name in names]
    if all(found):
        return [pathlib.Path(path) for path in found]
    root = BUILD / "debian" / package
    if not root.exists():
        _unpack(package, root)
    return [root / "usr/bin" / name for name in names]


def _unpack(package, root):
    new = root.with_name(f".{package}.{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)

    def run(*argv):
        return subprocess.run(argv, cwd=new, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    try:
        done = run("apt-get", "download", package)
        if done.returncode:  # apt may have no lists yet
            sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
            run(*sudo, "apt-get", "-o", "DPkg::Lock::Timeout=300", "update")
            done = run("apt-get", "download", package)
        assert done.returncode == 0, done.stderr
        file, = new.glob("*.deb")
        done = run("dpkg", "-x", file.name, "root")
        assert done.returncode == 0, done.stderr
        shutil.rmtree(root, ignore_errors=True)
        (new / "root").rename(root)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def component(file):
    return yaml.safe_load((COMPONENT / file).read_text())


def rules():
    return {"groups": component("prometheusrule.yaml")["spec"]["groups"]}


def alerts():
    """Returns {name of the alert: its rule}."""
    found = [r for g in rules()["groups"] for r in g["rules"]]
    assert len({r["alert"] for r in found}) == len(found), "a name twice"
    return {r["alert"]: r for r in found}


def panels():
    """The dashboard's panels that have a query."""
    dashboard, = component("dashboard.yaml")["data"].values()
    return [p for p in json.loads(dashboard)["panels"] if p["type"] != "row"]


def jobs(plane, holder):
    """What Prometheus scrapes where the holder is installed."""
    return [
        {"job_name": "holder", "static_configs": [
            {"targets": [f"127.0.0.1:{holder.metrics_port}"]}]},
        {"job_name": "apiserver", "scheme": "https",
         "tls_config": {"ca_file": str(plane.dir / "ca.crt"),
                        "cert_file": str(plane.admin.cert),
                        "key_file": str(plane.admin.key)},
         "static_configs": [{"targets": [f"127.0.0.1:{plane.port}"]}],
         # Without this it would keep thousands of other metrics.
         "metric_relabel_configs": [
             {"source_labels": ["__name__"], "action": "keep",
              "regex": "apiserver_admission_webhook_.*"}]},
    ]


class Served:
    """A program that serves HTTP on a port of its own."""

    def __init__(self, folder, *argv):
        folder.mkdir()
        self.log = folder / "log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.argv = [*argv, f"--web.listen-address=127.0.0.1:{self.port}"]

    def start(self):
        self.process = spawn(self.argv, self.log)
        until(self.ready, 30, lambda: "it is ready\n" + tail(self.log))

    def ready(self):
        assert self.process.poll() is None, tail(self.log)
        try:  # it answers 503 until it is ready
            urllib.request.urlopen(self.url + "/-/ready", timeout=5).close()
        except OSError:
            return False
        return True

    def stop(self, number=signal.SIGTERM):
        end(self.process, number)


# Debian's Alertmanager reads its templates below /usr/share.
BESIDE = ["unshare", "--map-root-user", "--mount", "sh", "-ec",
          'mount --bind "$0" /usr/share; exec setpriv --pdeathsig KILL "$@"']


class Alertmanager(Served):
    def __init__(self, folder, config):
        name = "prometheus-alertmanager"
        program, = debian(name, name)
        share = program.parents[1] / "share"
        super().__init__(
            folder, *([*BESIDE, share] if BUILD in share.parents else []),
            program, f"--config.file={folder / 'config.yaml'}",
            f"--storage.path={folder / 'data'}", "--cluster.listen-address=")
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        self.start()

    def count(self):
        """How many alerts fire."""
        with urllib.request.urlopen(
                self.url + "/api/v2/alerts?active=true", timeout=10) as answer:
            return len(json.load(answer))


class Prometheus(Served):
    def __init__(self, folder, scraped, groups, alertmanager=None):
        super().__init__(
            folder, programs()[0], f"--config.file={folder / 'config.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            # Else one that has started anew hears of an alert in a minute.
            "--rules.alert.resend-delay=1s")
        self.jobs = len(scraped)
        (folder / "rules.yaml").write_text(yaml.safe_dump(groups))
        (folder / "config.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"], "scrape_configs": scraped,
            "alerting": {"alertmanagers": [{"static_configs": [
                {"targets": [f"127.0.0.1:{alertmanager.port}"]}]}]
                if alertmanager else []}}))
        self.start()

    def ready(self):
        return super().ready() and len(self.query("up == 1")) == self.jobs

    def api(self, path, **query):
        url = f"{self.url}/api/v1/{path}?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{query}: {e.read().decode()}") from e

    def query(self, expr):
        """Returns the values at this moment, without NaN."""
        found = self.api("query", query=expr)["result"]
        return [v for v in (float(s["value"][1]) for s in found) if v == v]

    def query_range(self, expr, begin, finish):
        """Returns the values of all series at every second, without NaN."""
        found = self.api("query_range", query=expr, start=begin, end=finish,
                         step="1s")["result"]
        return [v for s in found for v in (float(x[1]) for x in s["values"])
                if v == v]


def as_asked(expr):
    """A panel's query as Grafana would send it."""
    asked = expr.replace("$job", "holder").replace("$__rate_interval", "20s")
    left = re.search(r"\$\w+", asked)
    assert not left, left
    return asked
