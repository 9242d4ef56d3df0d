# SPDX-License-Identifier: Apache-2.0
"""The programs that are compared: the holder, and what stands beside it."""
import collections
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

import yaml

from controlplane import BUILD, TEMP_PREFIX, end, free_port, spawn, tail, until
from holder import BINARY, certs

# The programs of tests/bench, as make has built them.
OWN = pathlib.Path(os.environ.get("BENCH") or BUILD / "release" / "bench")

Part = collections.namedtuple("Part", "run needs", defaults=((),))


class Folder:
    """A temporary folder, and the programs that were started in it."""

    def __init__(self, name):
        self.path = pathlib.Path(tempfile.mkdtemp(
            prefix=f"{TEMP_PREFIX}{os.getpid()}.{name}."))
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running:
            end(process, signal.SIGKILL)
        shutil.rmtree(self.path, ignore_errors=True)

    def spawn(self, name, argv, env=None):
        process = spawn(argv, self.path / f"{name}.log", env)
        process.log = self.path / f"{name}.log"
        self.running.append(process)
        return process


def answers(port):
    try:
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", port), 5) as plain:
            context.wrap_socket(plain).close()
        return True
    except OSError:
        return False


class Webhook:
    """One of the three servers that answer reviews, without an API server."""

    def __init__(self, name, folder, pair, reply_bytes=0):
        self.name = name
        self.port = free_port()
        self.folder = folder
        start = getattr(self, "_" + name)
        self.process = folder.spawn(name, *start(pair, reply_bytes))
        self.pid = self.process.pid
        until(lambda: self._up(), 30,
              lambda: f"{name} answers\n" + tail(self.process.log))

    def _up(self):
        assert self.process.poll() is None, tail(self.process.log)
        return answers(self.port)

    def _ours(self, pair, _):
        path = self.folder.path
        nobody = {
            "apiVersion": "v1", "kind": "Config", "current-context": "none",
            "clusters": [{"name": "none", "cluster": {
                # Nothing listens there.
                "server": f"https://127.0.0.1:{free_port()}"}}],
            "contexts": [{"name": "none", "context": {
                "cluster": "none", "user": "none"}}],
            "users": [{"name": "none", "user": {"token": "none"}}]}
        (path / "kubeconfig").write_text(yaml.safe_dump(nobody))
        self.metrics_port = free_port()
        config = {
            "apiVersion": "karpenter-node-holder.io/v1",
            "kind": "HolderConfig",
            "webhook": {"address": f"127.0.0.1:{self.port}",
                        "certFile": str(pair / "tls.crt"),
                        "keyFile": str(pair / "tls.key")},
            "metrics": {"address": f"127.0.0.1:{self.metrics_port}"},
            "leaderElection": {"enabled": False}}
        (path / "config.yaml").write_text(yaml.safe_dump(config))
        return [BINARY, "serve", "--config", path / "config.yaml",
                "--kubeconfig", path / "kubeconfig"],

    def _peer(self, pair, _):
        return [BUILD / "bin" / "bench-webhook", "-port", self.port,
                "-cert-dir", pair],

    def _ceiling(self, pair, reply_bytes):
        return [OWN / "ceiling", self.port, pair / "tls.crt",
                pair / "tls.key", reply_bytes],


def webhooks(folder, names, reply_bytes=0):
    pair = folder.path / "pair"
    if not pair.exists():
        certs(pair)
    return {n: Webhook(n, folder, pair, reply_bytes) for n in names}


SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
function done(summary, latency, requests)
    local e = summary.errors
    io.stderr:write(string.format(
        '{{"requests": %d, "seconds": %f, "bad": %d, "p50": %f, ' ..
        '"p90": %f, "p99": %f, "p999": %f, "max": %f}}\\n',
        summary.requests, summary.duration / 1e6,
        e.connect + e.read + e.write + e.status + e.timeout,
        latency:percentile(50) / 1e3, latency:percentile(90) / 1e3,
        latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3,
        latency.max / 1e3))
end
"""


def load(folder, port, body, connections, seconds, path="/mutate?timeout=2s"):
    """wrk: POSTs the same body over connections that stay open; latencies in
    ms."""
    script = folder.path / "load.lua"
    (folder.path / "body").write_bytes(body)
    script.write_text(SCRIPT.format(body=folder.path / "body"))
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout",
         "10s", "-s", script, f"https://127.0.0.1:{port}{path}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stderr.splitlines()[-1])
    assert found["requests"] and not found["bad"], found
    return found


def handshakes(port, seconds, threads, kind):
    done = subprocess.run(
        [OWN / "handshakes", str(port), f"{seconds:g}", str(threads), kind],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["made"] and not found["failed"], found
    return found
