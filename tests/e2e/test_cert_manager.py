# SPDX-License-Identifier: Apache-2.0
"""The real cert-manager issues, injects and renews, with the objects of
deploy/overlays/default as they are.  The API server calls the webhook by its
Service and trusts only what cainjector has put into caBundle.

Each test of this file continues where the previous one ended.
"""
import collections
import itertools
import re
import threading
import time

import pytest

from certmanager import (CERTIFICATES, NAME, PROGRAMS, CertManager, Kubelet,
                         KubeletMount, MountedHolder, facts, serial)
from controlplane import (BUILD, CLAIMS, NODES, REPO, WEBHOOKS, ControlPlane,
                          until)
from egress import Egress
from hold import HOLD, MARK, annotations, check_held, held
from karpenter import claim_body, node_body

pytestmark = pytest.mark.long

DEFAULT = REPO / "deploy" / "overlays" / "default"
TLS, CA = NAME + "-tls", NAME + "-ca"
HOOK = "hold.karpenter-node-holder.io"
RELOAD = 15     # seconds; the holder reads its files every few seconds
RATE = 80       # creations a second


class World:
    """The whole site: API server, cert-manager, a mount and a holder."""

    def __init__(self, plane):
        self.plane = plane
        self.manager = CertManager(plane)
        plane.install_crds(BUILD / "cert-manager-crds")
        plane.kubectl("apply", "--server-side", "-k", DEFAULT)
        self.mount = KubeletMount(plane.dir / "mount")
        self.kubelet = Kubelet(self.mount, lambda: self.manager.secret(TLS))
        self.holder = MountedHolder(plane, self.mount, holdDuration="1h")
        service = plane.get(f"/api/v1/namespaces/{NAME}/services", NAME)
        self.address = service["spec"]["clusterIP"] + ":443"
        plane.egress.route(self.address, self.holder.webhook_port)

    def stop(self):
        self.kubelet.stop()
        self.holder.stop()
        self.manager.stop()

    def calls(self, name, **labels):
        """How often the API server itself says that it called this webhook."""
        wanted = [f'name="{HOOK}"',
                  *(f'{k}="{v}"' for k, v in labels.items())]
        return sum(v for k, v in self.plane.metrics().items()
                   if k.startswith(f"apiserver_admission_webhook_{name}{{")
                   and all(w in k for w in wanted))

    def failed_open(self):
        return self.calls("fail_open_count")

    def serves(self, pem):
        """Checks by a handshake that trusts what the API server now trusts."""
        until(lambda: self.holder.handshake(self.manager.bundle())
              == serial(pem), RELOAD, lambda: f"{serial(pem)} served, not "
              f"{self.holder.handshake(self.manager.bundle())}")

    def dialled(self):
        """Makes more creations at once than the API server keeps connections
        for.  It dials new ones and verifies the certificate that is served
        now."""
        before = len(self.plane.egress.connections())
        answers = self.plane.many(lambda i: self.plane.create(
            NODES + "?dryRun=All", node_body(f"burst{i}")), range(80), 40)
        assert all(held(a) for a in answers)
        return len(self.plane.egress.connections()) > before

    def mounted(self):
        return self.mount.current()[1].get("tls.crt")


class Load:
    """Creates so many Nodes and NodeClaims a second until the end."""

    def __init__(self, plane, rate=RATE, workers=8):
        self.plane = plane
        self.every = workers / rate
        self.stop = threading.Event()
        self.made, self.unheld, self.failed = [], [], []
        self.count = itertools.count()
        self.threads = [threading.Thread(target=self.run)
                        for _ in range(workers)]

    def __enter__(self):
        self.begin = time.monotonic()
        for t in self.threads:
            t.start()
        return self

    def run(self):
        try:
            due = time.monotonic()
            while not self.stop.is_set():
                i = next(self.count)
                path, body = ((NODES, node_body(f"load{i}")) if i % 2 else
                              (CLAIMS, claim_body(name=f"load{i}")))
                answer = self.plane.create(path, body)
                self.made.append(time.monotonic())
                if not held(answer):
                    self.unheld.append((time.monotonic(), f"load{i}"))
                self.plane.delete(path, f"load{i}")
                due += self.every
                time.sleep(max(0, due - time.monotonic()))
        except Exception as e:  # the main thread reports it
            self.failed.append(e)

    def so_far(self, seconds):
        """The load goes on for so long; nothing has failed until now."""
        time.sleep(seconds)
        assert not self.failed, self.failed

    def __exit__(self, *_):
        self.stop.set()
        for t in self.threads:
            t.join()
        self.seconds = time.monotonic() - self.begin

    def rate(self):
        return len(self.made) / self.seconds


@pytest.fixture(scope="module")
def world(plane_programs, build_programs):
    build_programs(*PROGRAMS)
    plane = ControlPlane(name="cert-manager", flags=Egress.FLAGS)
    plane.egress = Egress(plane)
    with plane:
        plane.install_crds()
        world = World(plane)
        try:
            yield world
        finally:
            world.stop()
            plane.egress.stop()


def test_the_holder_is_there_first(world):
    """The holder is not ready and says why.  It takes the first pair as soon
    as it comes."""
    plane, holder = world.plane, world.holder
    begin = time.monotonic()
    holder.start(wait=False)
    until(lambda: holder.probe("/livez")[0] == 200, 10, "alive")
    status, text = holder.probe("/readyz")
    assert status == 500 and "[-]certificate failed" in text
    assert "[+]webhook ok" in text
    said = until(lambda: [e for e in holder.logs()
                          if e.get("msg") == "certificate not usable"],
                 10, "says why")
    assert str(world.mount.path) in said[0]["err"]
    # Nodes join all the same, and the sweeper holds them.
    assert not held(plane.create(NODES, node_body("early")))
    assert world.failed_open() == 1
    until(lambda: held(plane.get(NODES, "early")), 10, "held by the watch")

    world.kubelet.start()
    world.manager.start()
    issued = world.manager.renewed(NAME, TLS, None, 60)
    assert set(issued) == {"tls.crt", "tls.key", "ca.crt"}
    holder.wait_ready(RELOAD)
    took = time.monotonic() - begin
    until(lambda: world.manager.bundle() == issued["ca.crt"], 30,
          lambda: "injected\n" + world.manager.tails())
    world.serves(issued["tls.crt"])

    # What cert-manager left of the configuration is what was applied.
    hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
    assert hook["clientConfig"]["service"] == {
        "namespace": NAME, "name": NAME, "path": "/mutate", "port": 443}
    assert "url" not in hook["clientConfig"]
    until(lambda: held(plane.create(NODES + "?dryRun=All",
                                    node_body("probe"))), 10, "in use")
    check_held(plane.create(NODES, node_body("first")))
    check_held(plane.create(CLAIMS, claim_body(name="first")))
    assert set(plane.egress.connections()) == {world.address}
    print(f"\nready {took:.1f} s after the start of holder and cert-manager")


def test_renewals_under_load(world):
    """No creation goes unheld, whatever is renewed, and each serial is served.
    """
    manager, holder = world.manager, world.holder
    failed, called = world.failed_open(), world.calls("request_total",
                                                      code="200")
    writes = world.mount.writes
    serials, took = [facts(world.mounted())[0]], []

    def taken(now, begin):
        world.serves(now["tls.crt"])
        took.append(time.monotonic() - begin)
        until(world.dialled, 20, "a new connection")
        serials.append(serial(now["tls.crt"]))

    with Load(world.plane) as load:
        load.so_far(2)
        for i in range(12):
            was, begin = manager.secret(TLS), time.monotonic()
            if i % 4 < 3:
                manager.renew(NAME)
            else:  # A person deletes it, and the mount is empty for a moment.
                manager.plane.delete(
                    f"/api/v1/namespaces/{NAME}/secrets", TLS)
            now = manager.renewed(NAME, TLS, was)
            assert now["ca.crt"] == was["ca.crt"]
            taken(now, begin)
            load.so_far(1)
        # The CA is renewed, and then the leaf, while the mount lags behind:
        # the pair is old and the bundle new.  In a cluster that lasts a minute
        # or two.
        for _ in range(4):
            was, root = manager.secret(TLS), manager.secret(CA)
            manager.renew(CA)
            new = manager.renewed(CA, CA, root)
            assert facts(new["tls.crt"])[1] == facts(root["tls.crt"])[1], \
                "the CA has another key"
            load.so_far(1)
            world.kubelet.paused.set()
            begin = time.monotonic()
            manager.renew(NAME)
            now = manager.renewed(NAME, TLS, was)
            assert now["ca.crt"] == new["tls.crt"] != was["ca.crt"]
            until(lambda: manager.bundle() == now["ca.crt"], 30, "injected")
            assert world.mounted() == was["tls.crt"]
            load.so_far(3)
            world.serves(was["tls.crt"])    # the leaf is old, the CA new
            until(world.dialled, 20, "a new connection")
            world.kubelet.paused.clear()
            taken(now, begin)
            load.so_far(1)
    calls = world.calls("request_total", code="200") - called
    print(f"\n{len(load.made)} created at {load.rate():.0f}/s, "
          f"{len(load.unheld)} unheld, "
          f"{world.failed_open() - failed:.0f} failed open; {len(serials) - 1}"
          f" serials, each served {min(took):.1f} to {max(took):.1f} s after "
          "its renewal was asked for; "
          f"{len(world.plane.egress.connections())} connections")
    assert not load.failed and not load.unheld
    assert world.failed_open() == failed
    assert calls >= len(load.made) > 500
    assert len(set(serials)) == 17
    assert world.mount.writes >= writes + 16
    read = [e["serial"].upper() for e in holder.logs()
            if e.get("msg") == "certificate served"]
    assert [re.sub(r"^0+", "", s) for s in read] == \
        [re.sub(r"^0+", "", s) for s in serials]


def test_a_ca_with_another_key(world):
    """This shows why rotationPolicy is Never: with Always there is a gap for
    as long as the mount lags.  The sweeper holds what was created in the gap.
    """
    plane, manager, holder = world.plane, world.manager, world.holder
    failed = world.failed_open()
    plane.patch(CERTIFICATES, CA, {"spec": {"privateKey": {
        "rotationPolicy": "Always"}}})
    was, root = manager.secret(TLS), manager.secret(CA)
    with Load(plane) as load:
        manager.renew(CA)
        new = manager.renewed(CA, CA, root)
        assert facts(new["tls.crt"])[1] != facts(root["tls.crt"])[1]
        load.so_far(3)      # the leaf is not issued anew because of that
        assert manager.secret(TLS) == was and not load.unheld
        assert manager.bundle() == was["ca.crt"]
    with Load(plane) as load:
        world.kubelet.paused.set()
        manager.renew(NAME)
        now = manager.renewed(NAME, TLS, was)
        until(lambda: manager.bundle() == now["ca.crt"], 30, "injected")
        assert holder.handshake(now["ca.crt"]) is None
        until(lambda: load.unheld, 10, "the gap")
        plane.create(NODES, node_body("gap"))
        load.so_far(2)
        until(lambda: held(plane.get(NODES, "gap")), 10, "held by the watch")
        world.kubelet.paused.clear()
        world.serves(now["tls.crt"])
        closed = time.monotonic()
        load.so_far(3)
    late = [name for at, name in load.unheld if at > closed + 1]
    print(f"\nanother key: {len(load.unheld)} of {len(load.made)} unheld in "
          f"{load.unheld[-1][0] - load.unheld[0][0]:.1f} s")
    assert not load.failed and not late
    assert world.failed_open() > failed
    check_held(plane.create(NODES, node_body("after")))


def test_a_lost_ca_secret(world):
    """The Secret of the CA comes back with another key after its deletion.
    The old certificate is served until then."""
    plane, manager = world.plane, world.manager
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-k", DEFAULT)
    assert plane.get(CERTIFICATES, CA)["spec"]["privateKey"][
        "rotationPolicy"] == "Never"
    failed = world.failed_open()
    root, was = manager.secret(CA), manager.secret(TLS)
    with Load(plane) as load:
        plane.delete(f"/api/v1/namespaces/{NAME}/secrets", CA)
        new = manager.renewed(CA, CA, root)
        assert facts(new["tls.crt"])[1] != facts(root["tls.crt"])[1]
        load.so_far(3)
    assert not load.failed and not load.unheld
    assert manager.secret(TLS) == was and manager.bundle() == was["ca.crt"]
    assert world.failed_open() == failed
    # After that it keeps the key again.
    manager.renew(CA)
    again = manager.renewed(CA, CA, new)
    assert facts(again["tls.crt"])[1] == facts(new["tls.crt"])[1]
    missing = collections.Counter(
        HOLD in annotations(m) and MARK in annotations(m)
        for m in plane.metadata(NODES).values())
    assert set(missing) == {True}, missing
