# SPDX-License-Identifier: Apache-2.0
"""The threads of `serve` and of `certs --renew`, and `uninstall`, while calls
for memory and files fail.

Of each place in our code that makes such a call the first one fails, or the
third (holder_refused.c).  A place that only one part of a test meets fails in
that part alone.  The threads go on and do all that they have to; `uninstall`
does, too, or ends with an error in words, and is then to be run again.
"""
import contextlib
import http.client

import pytest

from conftest import VARIANT, Holder
from test_daemon_self_signed import (CERT, HOOKS, SECRETS, bundles, complete,
                                     configure)
from test_daemon_uninstall import Uninstall, held, lease, marks, uninstall


def parts(memory, files, *nths):
    """A test for each of so many parts of the places."""
    return pytest.mark.parametrize("kind, nth, part, parts", [
        (kind, nth, part, n)
        for kind, n in (("memory", memory), ("files", files))
        for nth in nths for part in range(n)])


class Refusing:
    """Calls fail in the programs that w starts from now on."""

    def __init__(self, w, who, *how):
        self.file = w.dir / "failed"
        w.program = VARIANT / "tests/holder-refused"
        w.tools = VARIANT / "tests/holderctl-refused"
        kind, nth, part, of = how
        self.how = f"{kind} {nth}"
        w.more["REFUSED"] = f"{self.how} {self.file} {part} {of} {who}"

    def failed(self):
        return int(self.file.read_text())


def answered(holder, ask):
    """A connection without memory ends, or has an answer that says so."""
    assert holder.alive()
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        return ask()[0] == 200
    return False


def stop(holder, refusing):
    assert holder.term() == 0
    print(f"{refusing.how}: {refusing.failed()} calls failed")


@parts(3, 2, 1, 3, 5)
def test_serve(w, kind, nth, part, parts):
    refusing = Refusing(w, "others", kind, nth, part, parts)
    names = w.machines(3)
    holder = w.start(watching=False, leader_election_enabled="true",
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
    stop(holder, refusing)


@parts(8, 4, 1)
def test_renewer(w, kind, nth, part, parts):
    """It makes a whole pair, whatever fails in between."""
    refusing = Refusing(w, "others", kind, nth, part, parts)
    configure(w, None)
    w.api.write_kubeconfig(w.kubeconfig)
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
    stop(holder, refusing)


@parts(16, 4, 1)
def test_uninstall(w, kind, nth, part, parts):
    """Its only thread makes all calls."""
    lease(w)
    held(w, 4)
    fast = w.tools
    refusing = Refusing(w, "main", kind, nth, part, parts)
    run = Uninstall(w)
    code = run.process.wait(90)
    assert code in (0, 1, 2), (code, run.text())
    assert code == 0 or run.text().strip()
    assert code != 0 or not marks(w), "it said that nothing is left"
    print(f"{refusing.how}: {refusing.failed()} calls failed, exit {code}")
    w.tools, w.more = fast, {}
    uninstall(w)
    assert not marks(w)
