# SPDX-License-Identifier: Apache-2.0
"""The process: probes, metrics, logs, certificates, signals and rights."""
import itertools
import re
import resource
import socket
import ssl
import threading
import time

import pytest

from controlplane import NODES, until
from hold import LATE, SOON, check_held, held, nodes
from holder import SecretMount, certs
from karpenter import node_body

P = "karpenter_node_holder_"
# Seconds.  The holder looks for a certificate every few seconds.
RELOAD = 30


def test_probes(make_holder):
    holder = make_holder(register=False)
    for path in ("/healthz", "/livez", "/readyz"):
        assert holder.probe(path)[0] == 200, path
        status, text = holder.probe(path + "?verbose")
        assert status == 200
        assert re.search(r"^\[\+\]\S+ ok$", text, re.M), text
    assert holder.probe("/no-such-path")[0] == 404
    checks = re.findall(r"^\[\+\](\S+) ok$",
                        holder.probe("/readyz?verbose")[1], re.M)
    assert len(checks) >= 2  # the certificate and the webhook
    for check in checks:
        assert holder.probe(f"/readyz?exclude={check}")[0] == 200
        assert holder.probe(f"/readyz/{check}")[0] == 200


def test_metrics(plane, make_holder, karpenter, view):
    old = karpenter.settled(3)
    holder = make_holder(holdDuration="14s")
    view.wait_clear(nodes(old), 20)
    assert holder.metric(P + "scope_held") == 0
    assert holder.metric(P + "held_objects") == 0
    m = karpenter.machine()
    view.wait_held(nodes(old))
    assert holder.metric(P + "scope_held", scope="cluster") == 1
    until(lambda: holder.metric(P + "held_objects") == 5, SOON,
          "4 Nodes and 1 NodeClaim counted")
    # "ready" is the present time, but the holder knows the API server's clock
    # from a Date in whole seconds.  What is not yet past by that clock counts
    # as now.
    until(lambda: m.ready + 13 < holder.metric(
        P + "scope_quiet_timestamp_seconds") <= m.ready + 14, SOON,
        lambda: f"quiet {m.ready + 14}: {holder.metrics()}")
    view.check_released(nodes(old + [m]), m.ready + 14)
    until(lambda: holder.metric(P + "held_objects") == 0, SOON, "none held")
    assert holder.metric(P + "scope_held") == 0
    assert holder.metric(P + "releases_total") >= 4
    assert holder.metric(P + "holds_total") >= 3

    status, text, headers = holder.fetch("/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert text.endswith("\n")
    names = {re.split(r"[{ ]", key)[0] for key in holder.metrics()}
    for name in (P + "admission_requests_total",
                 P + "admission_duration_seconds_bucket",
                 P + "admission_duration_seconds_sum",
                 P + "admission_duration_seconds_count",
                 P + "hold_latency_seconds_count", P + "timers",
                 P + "watch_restarts_total",
                 P + "tls_certificate_expiration_timestamp_seconds",
                 P + "build_info", "rest_client_requests_total",
                 "certwatcher_read_certificate_total",
                 "certwatcher_read_certificate_errors_total",
                 "process_resident_memory_bytes", "process_open_fds",
                 "process_cpu_seconds_total", "process_start_time_seconds"):
        # A counter with labels may have no sample yet, but it has its type.
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        assert name in names or f"# TYPE {base} " in text, name
    helped = re.findall(r"^# HELP (\S+) \S", text, re.M)
    typed = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    assert sorted(helped) == sorted(typed), "each has both, once"
    assert len(helped) == len(set(helped))
    for name in names:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        assert name in typed or typed.get(base) == "histogram", name
        if name.endswith("_total"):
            assert typed[name] == "counter"
    buckets = [float(le.replace("+Inf", "inf")) for le in re.findall(
        rf'^{P}admission_duration_seconds_bucket\{{.*le="([^"]+)"', text, re.M)]
    assert min(buckets) <= 0.0001 and buckets[-1] == float("inf")
    # With names of nodes in them the number of series would grow for ever.
    for machine in old + [m]:
        assert machine.node not in text and machine.name not in text


def test_expiry_is_that_of_the_certificate(make_holder):
    holder = make_holder(register=False)
    pem = holder.serving()
    path = holder.dir / "served.pem"
    path.write_text(pem)
    shown = ssl._ssl._test_decode_cert(str(path))["notAfter"]
    assert holder.metric(P + "tls_certificate_expiration_timestamp_seconds") \
        == ssl.cert_time_to_seconds(shown)


def test_logs_are_json_and_tell_no_secret(make_holder, karpenter, view):
    holder = make_holder(holdDuration="6s")
    m = karpenter.machine()
    view.check_released(nodes([m]), m.ready + 6)
    lines = holder.logs()
    assert lines and not [e for e in lines if "raw" in e]
    text = holder.log.read_text()
    assert holder.account.token not in text
    assert "BEGIN" not in text
    assert m.node in text, "which node was held and released is logged"
    holder.term()
    assert not [e for e in holder.logs() if "raw" in e]


def leaf(folder):
    text = (folder / "tls.crt").read_text()
    return ssl.PEM_cert_to_DER_cert(
        text[:text.index("-----END CERTIFICATE-----") + 26])


def served(holder):
    return ssl.PEM_cert_to_DER_cert(holder.serving())


def test_certificate_is_reloaded_while_serving(plane, make_holder):
    """A Secret changes as a kubelet changes it, and no creation goes unheld.
    """
    holder = make_holder(register=False, holdDuration="10m")
    pairs = [holder.pair] + [certs(holder.dir / f"pair{i}") for i in range(3)]
    holder.ca = b"".join((p / "ca.crt").read_bytes() for p in pairs)
    holder.register()
    assert served(holder) == leaf(pairs[0])
    stop = threading.Event()
    unheld, made, failed = [], [], []

    def create(worker):
        try:
            while not stop.is_set():
                name = f"w{worker}-{len(made)}"
                made.append(name)
                if not held(plane.create(NODES + "?dryRun=All",
                                         node_body(name))):
                    unheld.append(name)
        except Exception as e:  # the main thread reports it
            failed.append(e)
    workers = [threading.Thread(target=create, args=(w,)) for w in range(4)]
    for w in workers:
        w.start()
    kept = holder.connect()  # an existing connection stays good
    try:
        for pair in pairs[1:]:
            assert holder.review(node_body("a"), kept)[0] == 200
            holder.mount.swap(pair)
            until(lambda: served(holder) == leaf(pair), RELOAD, "new pair")
            assert holder.review(node_body("a"), kept)[0] == 200
            time.sleep(1)  # this time is under the new certificate
    finally:
        stop.set()
        for w in workers:
            w.join()
    assert not failed and not unheld
    assert len(made) > 50
    assert holder.metric("certwatcher_read_certificate_total") >= 4


def test_bad_certificate_is_refused_and_the_old_kept(plane, make_holder):
    holder = make_holder(holdDuration="10m")
    good, other = served(holder), certs(holder.dir / "other")
    bad = holder.dir / "bad"
    bad.mkdir()
    (bad / "tls.crt").write_bytes((holder.pair / "tls.crt").read_bytes())
    (bad / "tls.key").write_bytes((other / "tls.key").read_bytes())
    errors = holder.metric("certwatcher_read_certificate_errors_total")
    holder.mount.swap(bad)
    until(lambda: holder.metric("certwatcher_read_certificate_errors_total")
          > errors, RELOAD, "counted")
    assert served(holder) == good
    check_held(plane.create(NODES, node_body("still")))
    # The certificate that it serves is good.
    assert holder.probe("/readyz")[0] == 200
    holder.ca += (other / "ca.crt").read_bytes()
    holder.register()
    holder.mount.swap(other)
    until(lambda: served(holder) == leaf(other), RELOAD, "the good one taken")
    check_held(plane.create(NODES, node_body("again")))


@pytest.mark.parametrize("flags", [
    [], ["-addext", "basicConstraints=critical,CA:FALSE"]],
    ids=["CA:TRUE", "CA:FALSE"])
def test_the_commonest_pair(plane, make_holder, flags):
    """One certificate that signs itself and is its own caBundle, as in
    certs/README.md.  By default openssl makes a CA; the API server accepts
    both."""
    holder = make_holder(start=False, register=False, holdDuration="10m")
    made = holder.dir / "made"
    made.mkdir()
    plane.openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=holder", "-addext", "subjectAltName=IP:127.0.0.1",
        *flags, "-keyout", made / "tls.key", "-out", made / "tls.crt")
    holder.ca = (made / "tls.crt").read_bytes()
    holder.mount.swap(made)
    holder.start().register()
    assert served(holder) == leaf(made)
    check_held(plane.create(NODES, node_body("trusting")))
    warned = [e for e in holder.logs() if e.get("msg") == "certificate is a CA"]
    assert len(warned) == (not flags)


def test_no_certificate_at_the_start(plane, make_holder):
    holder = make_holder(start=False, register=False)
    late = SecretMount(holder.dir / "late")
    text = holder.config.read_text()
    holder.config.write_text(
        text.replace(str(holder.mount.path), str(late.path)))
    holder.start(wait=False)
    until(lambda: holder.probe("/livez")[0] == 200, 10, "alive")
    status, text = holder.probe("/readyz?verbose")
    assert status != 200
    assert re.search(r"^\[-\]\S+", text, re.M), text
    late.swap(holder.pair)
    holder.wait_ready(RELOAD)
    holder.register()
    check_held(plane.create(NODES, node_body("at-last")))


IDLE, DRIPPING = 2000, 100
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"


def fail_open(plane):
    return sum(value for key, value in plane.metrics().items()
               if key.split("{")[0] == FAIL_OPEN)


def test_silent_and_dripping_clients(plane, make_holder):
    """The API server does not notice them, and they are closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * IDLE:
        pytest.skip(f"fewer than {2 * IDLE} descriptors: ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    holder = make_holder(holdDuration="10m", memoryLimit="512Mi")
    before = holder.metric("process_open_fds")
    failed = fail_open(plane)
    clients = [socket.create_connection(("127.0.0.1", holder.webhook_port))
               for _ in range(IDLE + DRIPPING)]
    try:
        until(lambda: holder.metric("process_open_fds")
              >= before + IDLE, 8, "all are open", every=0.1)
        assert holder.review(node_body("a"), holder.connect(3))[0] == 200
        names = (f"beside{n}" for n in itertools.count())
        # The start of a handshake: a record that says that 512 bytes will
        # follow.
        for byte in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 2:
            for client in clients[:DRIPPING]:
                try:
                    client.send(bytes([byte]))
                except OSError:     # it is closed already
                    pass
            for _ in range(20):
                check_held(plane.create(NODES, node_body(next(names))))
        until(lambda: holder.metric("process_open_fds") <= before + 4, 20,
              "all are closed", every=0.2)
        check_held(plane.create(NODES, node_body(next(names))))
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert fail_open(plane) == failed


def test_reviews_are_answered_while_draining(make_holder):
    holder = make_holder(webhook={"drainTimeout": "9s"})
    kept = holder.connect()
    status, _, headers = holder.review(node_body("a"), kept)
    assert status == 200
    assert headers.get("Connection", "keep-alive").lower() != "close"
    begin = time.monotonic()
    holder.process.terminate()
    until(lambda: holder.probe("/readyz")[0] != 200, SOON, "not ready now")
    status, answer, headers = holder.review(node_body("b"), kept)
    assert status == 200 and answer["response"]["patch"]
    assert headers["Connection"].lower() == "close"
    assert holder.process.wait(30) == 0
    assert time.monotonic() - begin < 9 + LATE


def test_second_signal_ends_it_at_once(make_holder):
    holder = make_holder(webhook={"drainTimeout": "60s"})
    kept = holder.connect()
    assert holder.review(node_body("a"), kept)[0] == 200
    holder.process.terminate()
    until(lambda: holder.probe("/readyz")[0] != 200, SOON, "draining")
    assert holder.alive()
    holder.process.terminate()
    holder.process.wait(30)


def test_rights_are_the_least(plane, make_holder):
    holder = make_holder(start=False, register=False)

    def may(verb, group, resource, subresource="", namespace=""):
        review = plane.create(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1",
             "kind": "SelfSubjectAccessReview",
             "spec": {"resourceAttributes": {
                 "verb": verb, "group": group, "resource": resource,
                 "subresource": subresource,
                 "namespace": namespace}}}, user=holder.account)
        return review["status"]["allowed"]
    claims = ("karpenter.sh", "nodeclaims")
    for resource in (("", "nodes"), claims):
        for verb in ("get", "list", "watch", "patch"):
            assert may(verb, *resource), (verb, resource)
        for verb in ("create", "update", "delete", "deletecollection"):
            assert not may(verb, *resource), (verb, resource)
        assert not may("patch", *resource, "status")
    for verb in ("patch", "update", "create", "delete"):
        assert not may(verb, "karpenter.sh", "nodepools")
    for resource in ("secrets", "pods", "configmaps", "serviceaccounts"):
        for verb in ("get", "list", "watch", "create", "patch", "delete"):
            assert not may(verb, "", resource), (verb, resource)
    events = ("events.k8s.io", "events", "")
    for verb in ("create", "patch"):
        assert may(verb, *events, "default"), verb
        assert not may(verb, *events, "kube-system")
        assert not may(verb, *events)
    for verb in ("get", "list", "update", "delete"):
        assert not may(verb, *events, "default"), verb
    assert not may("create", "", "events", "", "default")
    assert not may("*", "*", "*")


def test_bad_configuration_starts_nothing(make_holder):
    holder = make_holder(start=False, register=False, holdDuration="soon")
    holder.start(wait=False)
    assert holder.process.wait(SOON) == 2
    text = holder.log.read_text()
    line = holder.config.read_text().splitlines().index(
        "holdDuration: soon") + 1
    assert re.search(rf"config\.yaml:{line}:\d+", text), text
    assert len(text.strip().splitlines()) == 1, text
