# SPDX-License-Identifier: Apache-2.0
"""The commands while one call for memory, a file or a thread fails: the first, then the second, and so on.

Only calls of our own and of the main thread are meant (holder_refused.c).  A command ends with an error in words, or does
what it is for; it never ends by a signal, and `serve` never hangs.
"""
import concurrent.futures
import shutil
import signal
import subprocess
import time

import pytest

from conftest import PATIENCE, REPORT, VARIANT, environment, spawn

KINDS = ("memory", "files", "threads")
AT_ONCE = 8
CONFIG = """apiVersion: karpenter-node-holder.io/v1
kind: HolderConfig
nodePools: {exclude: [a, b-*]}
webhook: {address: "127.0.0.1:0", certFile: out/tls.crt, keyFile: out/tls.key, drainTimeout: 0s}
metrics: {address: "127.0.0.1:0"}
leaderElection: {namespace: ns}
"""
KUBECONFIG = """current-context: c
clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
users: [{name: u, user: {token: t}}]
"""
SERVE = ("serve", "--config", "config.yaml", "--kubeconfig", "kubeconfig")
COMMANDS = {
    "check": ("check", "--config", "config.yaml"),
    "certs": ("certs", "--out", "new"),
    "inspect": ("certs", "--inspect", "--cert", "out/tls.crt", "--key", "out/tls.key"),
    "serve": SERVE,
    "simulate": ("simulate", "--config", "config.yaml", "--scope=cluster,node", "log.json"),
}
LOG = """{"record":"karpenter-node-holder.io/record/v1"}
{"at":"2026-03-02T10:00:00Z","what":"created","claim":"web-a","pool":"web","maker":"provisioner"}
{"at":"2026-03-02T10:00:01Z","what":"launched","claim":"web-a"}
{"at":"2026-03-02T10:00:02Z","what":"registered","claim":"web-a","node":"n1"}
{"at":"2026-03-02T10:01:00Z","what":"ready","claim":"web-a"}
{"at":"2026-03-02T10:01:01Z","what":"deleting","node":"n2"}
{"at":"2026-03-02T10:01:10Z","what":"created","claim":"web-b","pool":"web","maker":"provisioner"}
{"at":"2026-03-02T10:01:12Z","what":"launched","claim":"web-b"}
{"at":"2026-03-02T10:02:00Z","what":"decided","nodes":[{"node":"n1"},{"node":"n3"}]}
{"at":"2026-03-02T11:02:00Z","what":"gone","claim":"web-a"}
"""


def program(args):
    return "holderctl" if args[0] == "simulate" else "holder"


def wait_until_it_serves(args, p, log):
    """And then asks it to stop.  A line of the log may be the write that fails: one of the two is there."""
    end = time.monotonic() + PATIENCE
    while args[0] == "serve" and p.poll() is None:
        if b'"serving"' in log.read_bytes() or b'"lease failed"' in log.read_bytes():
            p.send_signal(signal.SIGTERM)
            return
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)


def run(home, args, **env):
    """Returns code, out and err."""
    log = home / "log"
    with log.open("wb") as err, spawn(
            [VARIANT / "tests" / f"{program(args)}-refused", *args], cwd=home, env={**environment(home), **env}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=err) as p:
        try:
            wait_until_it_serves(args, p, log)
            out = p.communicate(timeout=PATIENCE)[0]
        finally:
            p.kill()
    return p.returncode, out.decode(), log.read_text()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with what the commands read."""
    home = tmp_path_factory.mktemp("prepared")
    (home / "config.yaml").write_text(CONFIG)
    (home / "kubeconfig").write_text(KUBECONFIG)
    (home / "log.json").write_text(LOG)
    code, _, err = run(home, ("certs", "--out", "out"))
    assert code == 0, err
    return home


def nth_refused(prepared, home, args, kind, n):
    """Returns whether there was such a call."""
    shutil.copytree(prepared, home)
    code, out, err = run(home, args, REFUSED=f"{kind} {n} {home}/seen")
    seen = (home / "seen").exists()
    what = f"{kind} {n}: exit {code}\n{out}{err}"
    assert code in (0, 1, 2), what
    assert not REPORT.search(err), what
    assert code == 0 or (seen and err.strip()), what
    return seen


@pytest.mark.parametrize("name", COMMANDS)
def test_each_call_refused(name, prepared, tmp_path):
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for kind in KINDS:
            first = 1
            while True:
                batch = list(pool.map(lambda n, k=kind: nth_refused(prepared, tmp_path / f"{k}{n}", COMMANDS[name], k, n),
                                      range(first, first + AT_ONCE)))
                first += AT_ONCE
                if not all(batch):
                    break
            counts[kind] = first - 1 - batch.count(False)
    assert counts["memory"] > 0 and counts["files"] > 0
    print(name, counts)
