# SPDX-License-Identifier: Apache-2.0
"""All bounds together stay under the memory limit: the product runs in a cgroup
that has it, with a full table, and everybody attacks at once."""
import contextlib
import os
import pathlib
import re

import pytest

import raw_client
from cgroup import Cgroup
from conftest import (PATIENCE, POOL, REGISTERED, REPO, WATCHED,
                      sanitized)  # noqa: F401
from test_daemon_isolation import (reviews, slow_bodies,
                                   through_a_shell)
from test_daemon_slow import PRODUCT, flood

MIB = 1 << 20
FLOOD = 4060
# What is not given back at once: pages between blocks that are in use.
REST = 4 * MIB
# As the manifests write it: "128Mi".
LIMIT = re.search(
    r"limits:\s+memory: (\d+)Mi",
    (REPO / "deploy/base/deployment.yaml").read_text()).group(1)


@contextlib.contextmanager
def limited(w, mib):
    """Whatever the world starts from now on has this limit."""
    try:
        group = Cgroup(mib * MIB)
    except OSError as e:
        assert os.geteuid() != 0, e
        pytest.skip(f"not root: {e}")
    try:
        through_a_shell(w, PRODUCT, f"echo $$ > {group.procs()}")
        yield group
    finally:
        for holder in w.holders:
            holder.process.kill()
            holder.process.wait()
        group.remove()


def crowd(w, n):
    """n machines that are held already, beside one that keeps them held."""
    ours = w.ours()
    old = w.api.stamp(-10800)
    conditions = [w.condition("Launched", 10800),
                  w.condition("Initialized", 7200)]

    def names(i):
        return (f"general-purpose-{i:05x}",
                f"{i:08x}-6a1f-4e0b-9c3d-5f0e8d7c6b5a",
                f"ip-10-{10 + i // 8100}-{10 + i // 90 % 90}-{10 + i % 90}"
                ".eu-central-1.compute.internal")

    def claim(i):
        name, uid, node = names(i)
        return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                "metadata": {"name": name, "uid": uid,
                             "resourceVersion": str(1000000000 + i),
                             "creationTimestamp": old,
                             "labels": {POOL: "p"}},
                "spec": {},
                "status": {"providerID": "aws:///" + name, "nodeName": node,
                           "conditions": conditions}}

    def node(i):
        owner, uid, name = names(i)
        return {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "uid": uid.replace("6a1f", "93c2"),
                             "resourceVersion": str(2000000000 + i),
                             "creationTimestamp": old,
                             "labels": {POOL: "p", REGISTERED: "true"},
                             "annotations": ours,
                             "ownerReferences": [{
                                 "apiVersion": "karpenter.sh/v1",
                                 "kind": "NodeClaim", "name": owner,
                                 "uid": uid}]}}
    w.busy()
    w.api.crowds = {"nodeclaims": (n, claim), "nodes": (n, node)}


def anonymous(holder):
    """Bytes that only this process has, without pages of files."""
    status = pathlib.Path(f"/proc/{holder.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) * 1024


@contextlib.contextmanager
def unread_pages(holder):
    port = holder.port("metricsPort")
    with contextlib.ExitStack() as kept:
        for _ in range(8):
            c = kept.enter_context(contextlib.closing(
                raw_client.Client(port, tls=False, narrow=True)))
            c.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        yield


@contextlib.contextmanager
def everybody(holder):
    """Idle connections, slow bodies and pages that nobody reads."""
    with flood(holder, 0, FLOOD), slow_bodies(holder, 5), unread_pages(holder):
        yield


def big_reviews(holder, n):
    """Some are answered with 503, because another one has the place."""
    note = {"example.com/note": "x" * (390 << 10)}
    for i in range(n):
        many = {f"k{i}": "" for i in range(9000)} if i % 2 else {}
        with contextlib.suppress(raw_client.ssl.SSLError, OSError,
                                 ValueError):
            holder.review(annotations={**note, **many})


@pytest.mark.long
@pytest.mark.skipif("sanitized()")
@pytest.mark.parametrize("mib,machines", [
    (80, 42000),
    pytest.param(int(LIMIT), 130000, marks=pytest.mark.huge),
    pytest.param(256, 262144, marks=pytest.mark.huge)])
def test_peak_and_rest(w, mib, machines):
    """A full table, and everybody at once: nobody is killed, a good client is
    served, and what the flood took is given back."""
    crowd(w, machines)
    with limited(w, mib) as group:
        holder = w.start(memory_limit=f"{mib}Mi", watching=False)
        # The scripted API server is slow to write so much.
        w.wait(lambda: all(holder.lines("watching", resource=r)
                           for r in WATCHED), "watching", 2 * PATIENCE)
        assert holder.lines("serving")[0]["machinesMax"] >= machines
        reviews(holder)
        before = anonymous(holder)
        with everybody(holder):
            big_reviews(holder, 144)
            peak, used = anonymous(holder), group.usage()
            reviews(holder)
        assert holder.alive() and group.kills() == 0
        last = []
        w.wait(lambda: last.append(anonymous(holder)) or
               last[-1] <= before + REST,
               lambda: f"back to {before >> 10} KiB: {last[-1] >> 10} KiB")
        count = "karpenter_node_holder_objects"
        assert holder.metrics()[f'{count}{{kind="Node"}}'] == machines
        print(f"{machines} machines within {mib} MiB: "
              f"{before / MIB:.1f} MiB, then {peak / MIB:.1f} "
              f"(cgroup {used / MIB:.1f}), then {last[-1] / MIB:.1f}")
        assert holder.term() == 0
