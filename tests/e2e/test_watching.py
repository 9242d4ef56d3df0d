# SPDX-License-Identifier: Apache-2.0
"""`kubectl karpenter-holder status -w` in a terminal, and the page in a browser, while
real Karpenter serves a wave of load and the leader is killed.  Their pictures are
build/status.svg and $PAGE/shots (make page-test)."""
import re

import pytest
from chromium import Chromium

from cluster import LEFT_ALONE, PROGRAMS, Cluster
from controlplane import BUILD, NODES, RBAC, until
from egress import Egress
from hold import held
from holder import deployed
from karpenter import node_body
from lead import NAMESPACE, leads
from screen import Screen, draw
from test_plugin import Installation
from wave import BOOT

LOW, HIGH = 12, 40      # pods
HOLD_SECONDS = 40
# What the page says of HIGH pods.
ALL_HELD = (r"The scope cluster is held until .*\. (\d\d) of \1 Nodes carry the "
            "holder's hold")


@pytest.fixture
def busy(request, build_programs, tmp_path):
    """A cluster with LOW pods, and two replicas of an installation, of which
    the first leads.  The parameter is their holdDuration."""
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
        installed = Installation(cluster, tmp_path, holdDuration=request.param)
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


@pytest.mark.long
@pytest.mark.parametrize("busy", [f"{HOLD_SECONDS}s"], indirect=True)
def test_a_wave(busy):
    cluster, installed = busy
    first, second = installed.holders
    second.register()
    with Screen([installed.folder / "bin" / "kubectl", "karpenter-holder", "status",
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
        see("all are held", lambda f: pool(f) and pool(f)[0] == pool(f)[1] > 8)
        first.kill9()
        until(lambda: leads(second), 20, "the other leads")
        still = see("the other is asked", lambda f: "pod-b_" in f
                    and pool(f) and pool(f)[0] == pool(f)[1] > 8)
        assert re.search(r"^cluster  held ", still, re.M)
        cluster.scale("web", LOW)
        see("all are released", lambda f: re.search(
            r"^cluster  quiet ", f, re.M) and pool(f)[1] == 0, 120)
        fewer = see("Karpenter works",
                    lambda f: pool(f) and pool(f)[0] < 6, 120)
        assert "cluster released: quiet, held for " in fewer
        assert not any(map(held, cluster.metadata(NODES).values()))
        assert screen.process.poll() is None
    (BUILD / "status.svg").write_text(draw("kubectl karpenter-holder status -w", [
        ("Load has come, and new machines boot. All are held.", booting),
        ("The leader was killed, and another has taken over.", still),
        ("All was quiet for holdDuration, and Karpenter has consolidated.",
         fewer)]))
    print("picture: build/status.svg")


@pytest.mark.browser
@pytest.mark.parametrize("busy", ["10m"], indirect=True)
def test_the_page(busy, tmp_path):
    """Both pages stay open.  That of the replica that stands by renews itself,
    and says who leads, that nobody does, and what is held once it leads."""
    cluster, installed = busy
    first, second = installed.holders
    second.register()
    binding, = (o for o in deployed("rbac.yaml") if o["kind"] == "RoleBinding"
                and o["metadata"]["namespace"] == NAMESPACE)
    homes = [tmp_path / name for name in ("leading", "standing")]
    for home in homes:
        home.mkdir()

    def address(holder):
        return f"http://127.0.0.1:{holder.metrics_port}/?last=5m"
    with Chromium(homes[0]) as leading, Chromium(homes[1]) as standing:
        leading.open(address(first))
        standing.open(address(second))
        cluster.scale("web", HIGH)
        cluster.wait_running("web", HIGH)
        leading.comes_to_say(ALL_HELD)
        leading.is_well("killed-1-leader")
        standing.comes_to_say("The leader is pod-a: ")
        standing.is_well("killed-2-standing-by")

        # The other may not have the Lease, so that nobody leads for a while.
        cluster.delete(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings",
                       binding["metadata"]["name"])
        first.kill9()
        standing.comes_to_say("Leader: nobody")
        standing.is_well("killed-3-nobody-leads")
        cluster.apply(binding)
        standing.comes_to_say(ALL_HELD)
        standing.is_well("killed-4-it-leads")
        assert set(standing.asked.values()) == {address(second)}
        assert len(standing.asked) > 2, "nobody has loaded it again"

        # A kubelet starts the other again.
        first.start(wait=False)
        until(lambda: first.probe("/livez")[0] == 200, 30, "it is back")
        leading.open(address(first))
        leading.comes_to_say("The leader is pod-b: ")
        leading.is_well("killed-5-back")
