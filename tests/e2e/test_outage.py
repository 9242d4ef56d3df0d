# SPDX-License-Identifier: Apache-2.0
"""The API server goes away, forgets its history, or does not know Karpenter
yet."""
import time

import pytest
import yaml

from controlplane import CLAIMS, NODES, ApiError, until
from hold import check_held, claims, held, nodes, seconds
from karpenter import node_body

# After an outage a client may wait up to 30 s for its next try.
RECONNECT = 35.0
UP = "karpenter_node_holder_watch_up"
RESTARTS = "karpenter_node_holder_watch_restarts_total"


@pytest.fixture
def outage(plane):
    """The next test finds an API server, whatever happens."""
    yield
    plane.start_apiserver()


def still_answering(holder):
    status, answer, _ = holder.review(node_body("meanwhile"))
    assert status == 200
    assert answer["response"]["allowed"] is True
    assert answer["response"]["patch"]


@pytest.mark.long
def test_twenty_seconds(plane, make_holder, karpenter, view, outage):
    """The release of one NodePool falls into the outage, and that of the other
    comes after it."""
    a, b = karpenter.settled(20, "a"), karpenter.settled(20, "b")
    holder = make_holder(scope="nodepool", holdDuration="30s")
    view.wait_clear(nodes(a + b), 10)
    in_a = karpenter.machine("a")
    view.wait_held(nodes(a))
    time.sleep(max(0, in_a.ready + 18 - time.time()))
    in_b = karpenter.machine("b")
    view.wait_held(nodes(b))
    all_a = nodes(a + [in_a]) + claims([in_a])
    all_b = nodes(b + [in_b]) + claims([in_b])
    restarts = holder.metric(RESTARTS)
    lines = len(holder.logs())

    plane.stop_apiserver()
    gone_until = time.monotonic() + 20
    while time.monotonic() < gone_until:
        still_answering(holder)
        assert holder.probe("/livez")[0] == 200
        time.sleep(1)
    assert in_a.ready + 30 < time.time() < in_b.ready + 30
    plane.start_apiserver()
    back = time.time()

    said = [e for e in holder.logs()[lines:]
            if e.get("level", "").lower() in ("warn", "warning", "error")]
    assert said, "the outage is not in the log"
    check_held(plane.create(NODES, node_body("after", unregistered=False)))
    # Nothing is lost; what fell into the outage only comes late.
    view.check_released(all_b, in_b.ready + 30,
                        late=max(4, back + RECONNECT - in_b.ready - 30))
    view.wait_clear(all_a, max(0.1, back + RECONNECT - time.time()))
    assert holder.metric(RESTARTS) > restarts


@pytest.mark.long
def test_gone_in_the_stream(plane, make_holder, karpenter, view, outage):
    """Every watch gets 410, and its resource has to be listed anew."""
    old = karpenter.settled(20)
    hold = 30       # an API server needs ten seconds to start on a busy machine
    holder = make_holder(holdDuration=f"{hold}s")
    view.wait_clear(nodes(old), 10)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    version = plane.get(NODES)["metadata"]["resourceVersion"]
    restarts = holder.metric(RESTARTS)
    plane.stop_apiserver()
    plane.compact()
    plane.start_apiserver()

    def first_event():
        try:
            return next(plane.watch(NODES, version, 5), None)
        except ApiError as e:
            assert e.status == 429
    event = until(first_event, 20, "an event")
    assert event["object"]["code"] == 410, "this test shows nothing"
    karpenter.remove(old.pop())  # only a new list can show what is gone
    until(lambda: holder.metric(RESTARTS) > restarts, 15,
          "watches begun anew")
    second = karpenter.machine()
    assert second.ready < m.ready + hold, "too slow to tell"
    everything = nodes(old + [m, second]) + claims([m, second])
    view.wait_held(everything)
    view.check_released(everything, second.ready + hold)


def test_away_at_the_start(plane, make_holder, karpenter, view, outage):
    old = karpenter.settled(5)
    m = karpenter.machine()
    holder = make_holder(start=False, register=False, holdDuration="14s")
    plane.stop_apiserver()
    holder.start()  # it is ready, as admission needs no API server
    for _ in range(5):
        still_answering(holder)
        time.sleep(1)
    plane.start_apiserver()
    holder.register()
    until(lambda: all(holder.metric(UP, kind=kind) == 1
                      for kind in ("Node", "NodeClaim")), RECONNECT,
          "both watches open")
    view.wait_clear(nodes(old + [m]))
    again = karpenter.machine()
    view.wait_held(nodes(old))
    view.check_released(nodes(old + [again]), again.ready + 14)


@pytest.mark.long
def test_crds_installed_after_the_start(plane, make_holder, karpenter, view):
    try:
        plane.remove_crds()
        holder = make_holder(holdDuration="14s")
        # As long as NodeClaims are not served, a Node is a machine by itself.
        plane.create(NODES, node_body("first", unregistered=False))
        time.sleep(3)
        second = plane.create(NODES, node_body("second", unregistered=False))
        quiet_at = seconds(second["metadata"]["creationTimestamp"]) + 14
        lone = [(NODES, "first"), (NODES, "second")]
        view.check_released(lone, quiet_at)
    finally:
        plane.install_crds()
    old = karpenter.settled(3)
    view.wait_clear(nodes(old), RECONNECT + 14)
    m = karpenter.machine()
    assert held(plane.get(CLAIMS, m.name))
    # They are seen once the claims are watched, however late that is.
    view.wait_held(nodes(old), min(RECONNECT, 8))
    view.check_released(nodes(old + [m]) + claims([m]), m.ready + 14)
    assert holder.alive()


def client(plane, folder, seconds_left):
    """tls.crt and tls.key of an admin in this folder, valid for so long."""
    folder.mkdir(exist_ok=True)
    (folder / "index").write_text("")
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=c\n[c]\nunique_subject=no\nrand_serial=yes\n"
        f"default_md=sha256\npolicy=p\ndatabase={folder}/index\n"
        f"new_certs_dir={folder}\n[p]\norganizationName=supplied\n"
        "commonName=supplied\n[use]\nextendedKeyUsage=clientAuth\n")
    plane.openssl("req", "-new", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:P-256", "-nodes", "-subj",
                  "/O=system:masters/CN=holder", "-keyout", folder / "new.key",
                  "-out", folder / "csr")

    def at(moment):
        return time.strftime("%y%m%d%H%M%SZ", time.gmtime(moment))
    plane.openssl("ca", "-batch", "-notext", "-config", folder / "ca.cnf",
                  "-cert", "ca.crt", "-keyfile", "ca.key", "-in",
                  folder / "csr", "-out", folder / "new.crt", "-extensions",
                  "use", "-startdate", at(time.time() - 60), "-enddate",
                  at(time.time() + seconds_left))
    for file in ("key", "crt"):
        (folder / f"new.{file}").replace(folder / f"tls.{file}")


@pytest.mark.long
def test_a_client_certificate_expires(plane, make_holder, karpenter, view):
    """The API server accepts it in any handshake and answers 401 from then on,
    also on open connections.  The next certificate is read from its file."""
    holder = make_holder(start=False, register=False, holdDuration="14s")
    own = holder.dir / "client"
    # By then there has to be a hold, and a release 14 s later.
    client(plane, own, 30)
    expires = time.time() + 30
    config = yaml.safe_load(holder.kubeconfig.read_text())
    config["users"][0]["user"] = {"client-certificate": str(own / "tls.crt"),
                                  "client-key": str(own / "tls.key")}
    holder.kubeconfig.write_text(yaml.safe_dump(config))
    old = karpenter.settled(3)
    holder.start()
    holder.register()
    m = karpenter.machine()
    view.wait_held(nodes(old))
    view.check_released(nodes(old + [m]), m.ready + 14)
    assert not holder.metric("rest_client_requests_total", code="401")
    time.sleep(max(0, expires + 1 - time.time()))
    m = karpenter.machine()
    until(lambda: holder.metric("rest_client_requests_total", code="401"), 10,
          "a refusal")
    client(plane, own, 3600)
    view.wait_held(nodes(old), 15)
    view.check_released(nodes(old + [m]), m.ready + 14, late=12)
