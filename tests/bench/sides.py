# SPDX-License-Identifier: Apache-2.0
"""The programs that are compared: the holder, and what stands beside it."""
import collections
import contextlib
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


@contextlib.contextmanager
def beside(count, *how):
    """So many processes compute beside what is measured.  how: a command that
    starts each, such as chrt."""
    busy = [subprocess.Popen([*how, "sh", "-c", "while :; do :; done"],
                             stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            end(process, signal.SIGKILL)


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


def configure(path, port, metrics_port, pair, server, **settings):
    """A kubeconfig and a configuration without any Lease."""
    (path / "kubeconfig").write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": server}}],
        "contexts": [{"name": "bench", "context": {
            "cluster": "bench", "user": "bench"}}],
        "users": [{"name": "bench", "user": {"token": "none"}}]}))
    (path / "config.yaml").write_text(yaml.safe_dump({
        "apiVersion": "karpenter-node-holder.io/v1", "kind": "HolderConfig",
        "webhook": {"address": f"127.0.0.1:{port}",
                    "certFile": str(pair / "tls.crt"),
                    "keyFile": str(pair / "tls.key")},
        "metrics": {"address": f"127.0.0.1:{metrics_port}"},
        "leaderElection": {"enabled": False}, **settings}))


class Webhook:
    """One of the three servers that answer reviews, without an API server.
    """

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
        self.metrics_port = free_port()
        # Nothing listens there.
        configure(path, self.port, self.metrics_port, pair,
                  f"https://127.0.0.1:{free_port()}")
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
wrk.headers["Authorization"] = "Bearer {token}"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
{more}
function done(summary, latency, requests)
    local e = summary.errors
    local function part(p) return latency:percentile(p) / 1e3 end
    io.stderr:write(string.format(
        '{{"requests": %d, "seconds": %f, "bad": %d, "p50": %f, ' ..
        '"p90": %f, "p99": %f, "p999": %f, "max": %f, ' ..
        '"percentiles": [[50, %f], [75, %f], [90, %f], [95, %f], ' ..
        '[99, %f], [99.5, %f], [99.9, %f], [99.99, %f]]}}\\n',
        summary.requests, summary.duration / 1e6,
        e.connect + e.read + e.write + e.status + e.timeout,
        part(50), part(90), part(99), part(99.9), latency.max / 1e3,
        part(50), part(75), part(90), part(95),
        part(99), part(99.5), part(99.9), part(99.99)))
end
"""


# Each request creates another object: NAME in the body becomes a new one.
NUMBERED = """
local n, body = 0, wrk.body
function request()
    n = n + 1
    return wrk.format(nil, nil, nil,
                      (body:gsub("NAME", "{prefix}" .. n)))
end
"""

# Some requests a second, instead of as many as there may be.
PACED = """
function delay()
    return 5
end
"""


def load(folder, port, body, connections, seconds, path="/mutate?timeout=2s",
         token="none", more=""):
    """wrk: POSTs the same body over connections that stay open; latencies in
    ms.  folder: a path."""
    script = folder / "load.lua"
    (folder / "body").write_bytes(body)
    script.write_text(SCRIPT.format(body=folder / "body", token=token,
                                    more=more))
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
