# SPDX-License-Identifier: Apache-2.0
"""`kubectl node-holder status -w` in a terminal, while real Karpenter serves a
wave of load and the leader is killed.  Its picture is build/status.svg."""
import re

import pytest

from cluster import LEFT_ALONE, PROGRAMS, Cluster
from controlplane import BUILD, NODES, until
from egress import Egress
from hold import held
from karpenter import node_body
from lead import leads
from screen import Screen, draw
from test_plugin import Installation
from wave import BOOT

pytestmark = pytest.mark.long

LOW, HIGH = 12, 40      # pods
HOLD_SECONDS = 40


@pytest.fixture
def busy(build_programs, tmp_path):
    """A cluster with LOW pods, and two replicas of an installation."""
    build_programs(*PROGRAMS)
    cluster = Cluster(name="watching")
    cluster.flags += [flag.format(dir=cluster.dir) for flag in Egress.FLAGS]
    cluster.egress = Egress(cluster)
    (tmp_path / "tmp").mkdir()
    installed = None
    try:
        cluster.start()
        cluster.pool(registration_delay=BOOT)
        cluster.start_karpenter()
        cluster.deploy("web", LOW)
        cluster.wait_running("web", LOW)
        for i in 1, 2:      # for the replicas' Pods; kwok leaves both alone
            server = node_body(f"server-{i}", None, dict(
                [LEFT_ALONE.split("=")]), unregistered=False)
            cluster.create(NODES, server)
        installed = Installation(cluster, tmp_path,
                                 holdDuration=f"{HOLD_SECONDS}s")
        installed.add("pod-b", 2, leading=False)
        yield cluster, installed
    finally:
        if installed:
            installed.stop()
        cluster.stop()
        cluster.egress.stop()


def pool(frame):
    """(machines, held) of the NodePool."""
    found = re.search(r"^general +(\d+) +(\d+) ", frame, re.M)
    return found and (int(found[1]), int(found[2]))


def test_a_wave(busy):
    cluster, installed = busy
    first, second = installed.holders
    second.register()
    with Screen([installed.folder / "bin" / "kubectl", "node-holder", "status",
                 "-w"], installed.environment("viewer")) as screen:
        def see(what, check, timeout=60):
            """The first thing shown from now on of which that is true."""
            begin = len(screen.frames())
            return until(lambda: next(
                (f for f in screen.frames()[begin:] if check(f)), None),
                timeout, lambda: f"{what}:\n{screen.last()}")
        see("it leads", lambda f: "pod-a_" in f and pool(f))
        cluster.scale("web", HIGH)
        booting = see("it boots", lambda f: "machines are booting" in f
                      and pool(f)[0] > 3)
        cluster.wait_running("web", HIGH)
        see("all are held", lambda f: pool(f)[0] == pool(f)[1] > 8)
        first.kill9()
        until(lambda: leads(second), 20, "the other leads")
        still = see("the other is asked", lambda f: "pod-b_" in f
                    and pool(f) and pool(f)[0] == pool(f)[1] > 8)
        assert re.search(r"^cluster  held ", still, re.M)
        cluster.scale("web", LOW)
        see("all are released", lambda f: re.search(
            r"^cluster  quiet ", f, re.M) and pool(f)[1] == 0, 120)
        fewer = see("Karpenter works", lambda f: pool(f)[0] < 6, 120)
        assert "cluster released: quiet, held for " in fewer
        assert not any(map(held, cluster.metadata(NODES).values()))
        assert screen.process.poll() is None
    (BUILD / "status.svg").write_text(draw("kubectl node-holder status -w", [
        ("Load has come, and new machines boot. All are held.", booting),
        ("The leader was killed, and another has taken over.", still),
        ("All was quiet for holdDuration, and Karpenter has consolidated.",
         fewer)]))
    print("picture: build/status.svg")
