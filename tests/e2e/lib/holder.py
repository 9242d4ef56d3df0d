# SPDX-License-Identifier: Apache-2.0
"""Runs karpenter-node-holder against a ControlPlane, as deployed.

It gets what deploy/base gives it: the ServiceAccount's token, no more rights
than deploy/base/rbac.yaml and policy.yaml leave it, and the rules and matchConditions of
deploy/base/webhook.yaml.  Only the webhook's address differs.
"""
import base64
import copy
import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess

import said
import yaml

from controlplane import (APPLY_PATHS, BUILD, NODES, REPO, WEBHOOKS, end,
                          free_port, parse_metrics, spawn, tail, until)
from hold import HOLD, MARK, annotations
from karpenter import node_body

BINARY = pathlib.Path(
    os.environ.get("HOLDER") or BUILD / "karpenter-node-holder")
HOLDERCTL = BINARY.with_name("holderctl")
DEPLOY = REPO / "deploy" / "base"
# Seconds.  Where other tests run as well, a review may take longer than the
# 2 s that deploy/base gives it, and the holder is not at fault.  What is
# refused or cut fails at once, whatever the timeout.  The long tests run
# alone, with 2 s.
PATIENT_S = 15 if "PYTEST_XDIST_WORKER" in os.environ else None

LIMITED = ("namespace.yaml", "serviceaccount.yaml", "rbac.yaml",
           "policy.yaml")


def deployed(*files):
    """The objects of these files of deploy/base, with their namespace."""
    objects = [o for f in files
               for o in yaml.safe_load_all((DEPLOY / f).read_text()) if o]
    namespace = next(iter(yaml.safe_load_all(
        (DEPLOY / "namespace.yaml").read_text())))["metadata"]["name"]
    for o in objects:
        # kustomize may be what fills it in.
        if APPLY_PATHS[o["kind"]][1]:
            o["metadata"].setdefault("namespace", namespace)
        for subject in o.get("subjects", []):
            if subject["kind"] == "ServiceAccount":
                subject.setdefault("namespace", namespace)
    return objects


def certs(out, dns="localhost", ip="127.0.0.1"):
    """Runs our own command; makes a new CA and a serving pair in the folder
    out."""
    done = subprocess.run(
        [BINARY, "certs", "--out", out, "--dns", dns, "--ip", ip],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(out)


class SecretMount:
    """A folder as a kubelet mounts a Secret: files -> ..data -> ..<version>.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True)
        self.version = 0

    def swap(self, source, names=("tls.crt", "tls.key")):
        """All files change at once, by one rename; the old ones are removed.
        """
        self.version += 1
        new = self.path / f"..version{self.version}"
        new.mkdir()
        for name in names:
            shutil.copy(pathlib.Path(source) / name, new / name)
        link = self.path / "..data_tmp"
        link.symlink_to(new.name)
        data = self.path / "..data"
        old = data.resolve() if data.is_symlink() else None
        os.rename(link, data)
        for name in names:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")
        if old:
            shutil.rmtree(old)


def merged(base, over):
    out = copy.deepcopy(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merged(out[key], value)
        else:
            out[key] = value
    return out


class Holder:
    """A holder.  settings are top-level keys of its config file (a
    HolderConfig)."""

    count = 0
    command = ("serve",)
    # What starts it: it may start no process.
    confined = ("/usr/bin/python3", REPO / "tests/e2e/lib/confined.py",
                REPO / "deploy/seccomp/no-process.json")

    def __init__(self, plane, **settings):
        Holder.count += 1
        self.plane = plane
        self.plane_starts = plane.starts
        self.dir = plane.dir / f"holder{Holder.count}"
        self.dir.mkdir()
        self.log = self.dir / "log"
        self.process = None
        self.program = BINARY
        self.flags = []         # flags of serve, which override the settings
        self.environment = {}   # more variables
        self.refused = False    # whether a test took rights from it
        self.webhook_port = free_port()
        self.metrics_port = free_port()
        self.pair = certs(self.dir / "pair")
        self.ca = (self.pair / "ca.crt").read_bytes()
        self.mount = SecretMount(self.dir / "tls")
        self.mount.swap(self.pair)
        self.kubeconfig = self.dir / "kubeconfig"
        self.config = self.dir / "config.yaml"
        self.settings = merged({
            "apiVersion": "karpenter-node-holder.io/v1",
            "kind": "HolderConfig",
            "holdDuration": "6s",
            "startupTimeout": "20s",
            "webhook": {
                "address": f"127.0.0.1:{self.webhook_port}",
                "certFile": str(self.mount.path / "tls.crt"),
                "keyFile": str(self.mount.path / "tls.key"),
                # The API server keeps its connections for 90 s.
                "drainTimeout": "2s"},
            "metrics": {"address": f"127.0.0.1:{self.metrics_port}"},
            # It is alone and is killed often.  Tests of election say so
            # (lib/lead.py).
            "leaderElection": {"enabled": False},
            "logging": {"format": "json", "level": "debug"},
        }, settings)
        self.config.write_text(yaml.safe_dump(self.settings))
        self._install()

    def _install(self):
        objects = deployed(*LIMITED)
        key = self.settings.get("holdAnnotation", {}).get("key", HOLD)
        for o in objects:
            if o["kind"] == "ValidatingAdmissionPolicy":
                holds, = (v for v in o["spec"]["variables"]
                          if v["name"] == "holds")
                holds["expression"] = str(sorted({HOLD, key}))
            self.plane.apply(o)
        account = next(o for o in objects if o["kind"] == "ServiceAccount")
        self.account = self.plane.service_account(
            account["metadata"]["namespace"], account["metadata"]["name"])
        self.plane.write_kubeconfig(self.kubeconfig, self.account)

    def act_as(self, account=None, server=None):
        """From its next start on it has this identity instead of
        deploy/base's.

        server: the URL of another API server.
        """
        self.account = account or self.account
        self.refused |= account is not None
        self.plane.write_kubeconfig(self.kubeconfig, self.account, server)

    # The process

    def argv(self):
        return [self.program, *self.command, "--config", self.config,
                "--kubeconfig", self.kubeconfig, *self.flags]

    def start(self, wait=True):
        assert not self.alive(), "already running"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.dir),
               **self.environment}
        env.update({k: v for k, v in os.environ.items()
                    if k.endswith("SAN_OPTIONS")})
        self.process = spawn([*self.confined, *self.argv()], self.log, env)
        if wait:
            self.wait_ready()
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def wait_ready(self, timeout=20):
        def ready():
            assert self.alive(), (
                f"ended with {self.process.returncode}:\n{tail(self.log)}")
            return self.probe("/readyz")[0] == 200
        until(ready, timeout, lambda: "/readyz\n" + tail(self.log))

    def kill9(self):
        end(self.process, signal.SIGKILL)

    def term(self, timeout=20):
        """Sends SIGTERM; returns the exit code, or kills it (-9) if that takes
        longer."""
        return end(self.process, signal.SIGTERM, timeout)

    def stop(self):
        if self.process:
            self.kill9()
        said.keep_file("e2e", self.log)
        self.unregister()

    # Its webhook

    def configurations(self):
        found = [o for o in yaml.safe_load_all(
                    (DEPLOY / "webhook.yaml").read_text())
                 if o and o["kind"] == "MutatingWebhookConfiguration"]
        assert found, "deploy/base/webhook.yaml has no webhook"
        return found

    def register(self, wait=True, port=None, timeout=PATIENT_S):
        """Registers the webhook of deploy/base, with our address and our CA.

        port: of a balancer that stands before us.  timeout: seconds; None:
        that of deploy/base.
        """
        address = f"127.0.0.1:{port or self.webhook_port}"
        for o in self.configurations():
            for hook in o["webhooks"]:
                hook["timeoutSeconds"] = timeout or hook["timeoutSeconds"]
                service = hook["clientConfig"].get("service") or {}
                hook["clientConfig"] = {
                    "url": f"https://{address}"
                           + service.get("path", "/mutate"),
                    "caBundle": base64.b64encode(self.ca).decode()}
            self.plane.apply(o)
        if wait:
            # The API server takes a moment to see it, and a dry run stores
            # nothing.
            until(lambda: MARK in annotations(self.plane.create(
                NODES + "?dryRun=All", node_body("probe"))),
                30, lambda: "webhook in use\n" + tail(self.log))
        return self

    def unregister(self):
        for o in self.configurations():
            self.plane.request(
                "DELETE", f"{WEBHOOKS}/{o['metadata']['name']}")

    def connect(self, timeout=10):
        """A TLS connection to the webhook that trusts its CA."""
        context = ssl.create_default_context(cadata=self.ca.decode())
        return http.client.HTTPSConnection(
            "127.0.0.1", self.webhook_port, context=context, timeout=timeout)

    def review(self, obj, connection=None, operation="CREATE", dry_run=False,
               uid="705ab4f5-6393-11e8-b7cc-42010a800002"):
        """Asks it as the API server does; returns (status, answer, headers).
        """
        group, _, version = obj["apiVersion"].rpartition("/")
        resource = obj["kind"].lower() + "s"
        kind = {"group": group, "version": version, "kind": obj["kind"]}
        res = {"group": group, "version": version, "resource": resource}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "request": {
                    "uid": uid, "kind": kind, "resource": res,
                    "requestKind": kind, "requestResource": res,
                    "name": obj["metadata"].get("name", ""),
                    "operation": operation, "dryRun": dry_run,
                    "userInfo": {"username": "e2e"},
                    "object": obj, "oldObject": None}}
        own = connection is None
        connection = connection or self.connect()
        try:
            connection.request("POST", "/mutate?timeout=2s", json.dumps(body),
                               {"Content-Type": "application/json",
                                "Accept": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            try:
                text = json.loads(text)
            except ValueError:
                text = text.decode(errors="replace")
            return answer.status, text, answer.headers
        finally:
            if own:
                connection.close()

    def serving(self):
        """The certificate now served, as PEM."""
        return ssl.get_server_certificate(("127.0.0.1", self.webhook_port))

    # What it shows

    def fetch(self, path, timeout=5):
        """Returns (status, text, headers) of the metrics address; status 0: it
        is refused."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.metrics_port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        except (OSError, http.client.HTTPException) as e:
            return 0, str(e), {}
        finally:
            connection.close()

    def probe(self, path):
        return self.fetch(path)[:2]

    def metrics(self):
        status, text, _ = self.fetch("/metrics")
        assert status == 200, text
        return parse_metrics(text)

    def metric(self, name, /, **labels):
        """The sum of all samples of that name that have (at least) these
        labels."""
        wanted = [f'{k}="{v}"' for k, v in labels.items()]
        return sum(value for key, value in self.metrics().items()
                   if key.split("{")[0] == name
                   and all(w in key for w in wanted))

    def logs(self):
        """Its complete log lines, decoded; a line that is no JSON is {"raw":
        line}."""
        lines = []
        text = self.log.read_text(errors="replace").rpartition("\n")[0]
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                lines.append(entry if isinstance(entry, dict)
                             else {"raw": line})
            except ValueError:
                lines.append({"raw": line})
        return lines
