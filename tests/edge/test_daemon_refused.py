# SPDX-License-Identifier: Apache-2.0
"""The threads of `serve` and of `certs --renew`, and `uninstall`, while calls
for memory, files and processes fail.

Of each place in our code that makes such a call the first one fails, or the
third (holder_refused.c).  A place that only one part of a test meets fails in
that part alone.  The threads go on and do all that they have to; `uninstall`
does, too, or ends with an error in words, and is then to be run again.
"""
import contextlib
import http.client
import os
import pathlib

import pytest

from conftest import REPO, Holder
from test_daemon_self_signed import (CERT, HOOKS, SECRETS, bundles, complete,
                                     configure)
from test_daemon_uninstall import Uninstall, held, lease, marks, uninstall

REFUSED = pathlib.Path(os.environ.get("HOLDER_REFUSED") or
                       REPO / "build/release/tests/holder-refused").resolve()


def parts(memory, files, *nths):
    """A test for each of so many parts of the places."""
    return pytest.mark.parametrize("kind, nth, part, parts", [
        (kind, nth, part, n) for kind, n in (
            ("memory", memory), ("files", files), ("threads", 1))
        for nth in (nths if kind != "threads" else nths[:1])
        for part in range(n)])


# The token is to be renewed at once, which is after a second.
PLUGIN = """#!/bin/sh
echo "$$" >>"$0.runs"
at=$(date -u -d '+10 seconds' +%FT%TZ)
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
       "status": {"token": "t", "expirationTimestamp": "'$at'"}}'
"""


class Refusing:
    """Calls fail in the programs that w starts from now on."""

    def __init__(self, w, who, *how):
        self.file = w.dir / "failed"
        w.program = REFUSED
        kind, nth, part, of = how
        self.how = f"{kind} {nth}"
        w.more["REFUSED"] = f"{self.how} {self.file} {part} {of} {who}"

    def failed(self):
        return int(self.file.read_text())



def with_a_plugin(w):
    """Tokens come from a program, so that one has to be run."""
    plugin = w.dir / "plugin"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o700)
    w.api.write_kubeconfig(w.kubeconfig, user={"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin), "interactiveMode": "Never"}})


def answered(holder, ask):
    """A connection without memory ends, or has an answer that says so."""
    assert holder.alive()
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        return ask()[0] == 200
    return False


def stop(w, holder, refusing):
    threads = refusing.how.startswith("threads")
    if threads:     # the plugin alone is one, and is run again
        runs = w.dir / "plugin.runs"
        w.wait(lambda: runs.read_text().count("\n") > 1, "the plugin again")
    assert holder.term() == 0
    print(f"{refusing.how}: {refusing.failed()} calls failed")
    assert refusing.failed() or not threads


@parts(3, 2, 1, 3, 5)
def test_serve(w, kind, nth, part, parts):
    refusing = Refusing(w, "others", kind, nth, part, parts)
    with_a_plugin(w)
    names = w.machines(3)
    holder = w.start("serve", watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    w.busy()
    w.wait_held(names)
    w.wait_held("busy", "nodeclaims")
    w.quiet()
    w.wait_free(names)
    w.wait_free("busy", "nodeclaims")
    for ask in (holder.review, lambda: holder.get("/metrics"),
                lambda: holder.get("/livez"), lambda: holder.get("/readyz")):
        for _ in range(nth):
            w.wait(lambda a=ask: answered(holder, a), "an answer")
    assert not holder.lines("object left out")
    stop(w, holder, refusing)


@parts(8, 4, 1)
def test_renewer(w, kind, nth, part, parts):
    """It makes a whole pair, whatever fails in between."""
    refusing = Refusing(w, "others", kind, nth, part, parts)
    with_a_plugin(w)
    configure(w, None)
    w.patches_max = 1000
    holder = Holder(w, [
        "certs", "--renew", "--kubeconfig", str(w.kubeconfig),
        "--leader-election-namespace", "ns", "--logging-level", "debug"])
    w.holders.append(holder)
    w.wait(lambda: complete(w), "a pair")
    assert len(CERT.findall(bundles(w)[0])) == 1, "one CA"
    assert len([r for r in w.api.requests if r.resource == SECRETS
                and r.verb == "create" and r.changed]) == 1
    assert w.api.count(resource=HOOKS, verb="patch")
    stop(w, holder, refusing)


@parts(16, 4, 1)
def test_uninstall(w, kind, nth, part, parts):
    """Its only thread makes all calls."""
    lease(w)
    held(w, 4)
    fast = w.program
    refusing = Refusing(w, "main", kind, nth, part, parts)
    run = Uninstall(w)
    code = run.process.wait(90)
    assert code in (0, 1, 2), (code, run.text())
    assert code == 0 or run.text().strip()
    assert code != 0 or not marks(w), "it said that nothing is left"
    print(f"{refusing.how}: {refusing.failed()} calls failed, exit {code}")
    w.program, w.more = fast, {}
    uninstall(w)
    assert not marks(w)
