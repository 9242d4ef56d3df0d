# SPDX-License-Identifier: Apache-2.0
"""Without cert-manager the renewer mints CA and pair, and maintains caBundle.

The webhook is that of deploy/base: the API server asks for
karpenter-node-holder.karpenter-node-holder.svc.  That name is a Service of
type ExternalName here, which the API server follows by itself.  At first there
is no caBundle and no Secret.  Each replica serves from a folder that is kept
as a kubelet keeps it.
"""
import base64
import contextlib
import os
import random
import re
import signal
import socket
import ssl
import threading
import time

import pytest
import yaml

from controlplane import (NAMESPACES, NODES, REPO, WEBHOOKS, free_port, tail,
                          until)
from hold import MARK, annotations, held
from holder import DEPLOY, PATIENT_S, Holder, deployed, merged
from karpenter import node_body
from lead import LEASES, NAME, SHORT, leader, said
from mount import SecretMount

SECRET = f"{NAMESPACES}/{NAME}/secrets"
TLS = NAME + "-tls"
HOST = f"{NAME}.{NAME}.svc"
COMPONENT = REPO / "deploy" / "components" / "self-signed"
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
# Seconds.  A third of DURATION is left at a renewal.  That is enough for
# SETTLE, for the delay of the mount, and for the holder, which reads its files
# once a second.
CA, DURATION = 50.0, 24.0
READ, SETTLE, LATE = DURATION / 20, DURATION / 10, 1.5
PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----",
                 re.S)


class Renewer(Holder):
    """The component's Deployment: its command, its account and the policy."""

    command = ("certs", "--renew")

    def __init__(self, plane, **settings):
        super().__init__(plane, **merged({
            "selfSigned": {"caDuration": f"{CA:g}s",
                           "duration": f"{DURATION:g}s"}}, settings))

    def _install(self):
        objects = [o for f in ("rbac.yaml", "policy.yaml")
                   for o in yaml.safe_load_all((COMPONENT / f).read_text())]
        self.plane.apply(deployed("namespace.yaml")[0])
        for o in objects:
            self.plane.apply(o)
        self.account = self.plane.service_account(NAME, NAME + "-renewer")
        self.plane.write_kubeconfig(self.kubeconfig, self.account)
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = NAME
        self.kubeconfig.write_text(yaml.safe_dump(config))

    def start(self, wait=False):
        return super().start(wait)

    def counted(self, what):
        """Of the log: it has no metrics."""
        return self.log.read_text().count({
            "bundle": '"caBundle written"', "ca": '"what":"CA"',
            "certificate": '"what":"serving"'}[what])


class SelfSigned(Holder):
    """One replica, with the Secret mounted with the Deployment's items."""

    def __init__(self, plane, **settings):
        folder = plane.dir / f"kubelet{Holder.count}"
        super().__init__(plane, **merged({
            "holdDuration": "10m",
            "webhook": {"certFile": str(folder / "tls.crt"),
                        "keyFile": str(folder / "tls.key")},
            "leaderElection": SHORT.config()}, settings))
        pod = yaml.safe_load((DEPLOY / "deployment.yaml").read_text())[
            "spec"]["template"]["spec"]
        items, = (v["secret"]["items"] for v in pod["volumes"]
                  if v["name"] == "tls")
        self.kubelet = SecretMount(plane, NAME, TLS, folder,
                                   [i["key"] for i in items], late=LATE)
        self.kubelet.__enter__()

    def stop(self):
        self.process and self.kill9()
        self.kubelet.stop()


class Service:
    """Does what kube-proxy does: it has one port, and passes each connection
    to the next replica in `ports`."""

    def __init__(self, port):
        self.ports = []
        self.n = 0
        self.socket = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                threading.Thread(target=self._serve, args=(client,),
                                 daemon=True).start()

    def _serve(self, client):
        ports = self.ports
        self.n += 1
        try:
            with socket.create_connection(
                    ("127.0.0.1", ports[self.n % len(ports)])) as server:
                other = threading.Thread(target=self._copy,
                                         args=(server, client), daemon=True)
                other.start()
                self._copy(client, server)
                other.join()
        except (OSError, IndexError, ZeroDivisionError):
            pass
        finally:
            client.close()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def bundle(plane):
    """Returns caBundle as text, or "" without one."""
    hook, = plane.get(WEBHOOKS, NAME)["webhooks"]
    return base64.b64decode(
        hook["clientConfig"].get("caBundle", "")).decode()


def secret(plane):
    """Returns {key: text}, which is empty without a Secret."""
    status, found = plane.request("GET", f"{SECRET}/{TLS}")
    return {} if status == 404 else {
        k: base64.b64decode(v).decode(errors="replace")
        for k, v in (found.get("data") or {}).items()}


def fail_open(plane):
    return sum(v for k, v in plane.metrics().items()
               if k.startswith(FAIL_OPEN))


class Prober:
    """Asks every replica for its certificate again and again, and verifies it
    with an earlier caBundle, as the slowest API server would have it."""

    def __init__(self, plane, replicas, stale=0.7 * SETTLE):
        self.plane, self.replicas, self.stale = plane, replicas, stale
        self.failures, self.handshakes = [], 0
        self.serials = {r: set() for r in replicas}
        self.bundles = []       # (when, text)
        self.out = set()        # replicas that are restarting
        self.broken = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        try:
            while not self._stop.wait(0.03):
                self._round()
        except Exception as e:  # check() reports it
            self.broken = f"{type(e).__name__}: {e}"

    def _round(self):
        self.bundles.append((time.monotonic(), bundle(self.plane)))
        old = [b for b in self.bundles
               if b[0] < time.monotonic() - self.stale]
        if not old:
            return
        self.bundles = self.bundles[len(old) - 1:]
        for replica in self.replicas:
            if replica.alive():
                self._shake(replica, old[-1][1])

    def _shake(self, replica, text):
        context = ssl.create_default_context(cadata=text)
        try:
            with socket.create_connection(
                    ("127.0.0.1", replica.webhook_port), 5) as raw, \
                    context.wrap_socket(raw, server_hostname=HOST) as c:
                self.serials[replica].add(c.getpeercert()["serialNumber"])
                self.handshakes += 1
        except ssl.SSLCertVerificationError as e:
            self.failures.append(
                f"{time.strftime('%T')} {replica.dir.name}: {e}, by "
                f"{len(PEM.findall(text))} CAs")
        except OSError:
            # It closes its port a moment before it ends.
            end = time.monotonic() + 5
            while replica.alive() and replica not in self.out:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def check(self, serials):
        assert not self.broken, self.broken
        assert not self.failures, self.failures[:3]
        for replica, seen in self.serials.items():
            assert len(seen) >= serials or not replica.alive()


class Load:
    """Creates objects without end; each of them must be held."""

    def __init__(self, plane, workers=3):
        self.plane = plane
        self.made, self.unheld, self.broken = 0, [], None
        self.pause = threading.Event()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(w,),
                                          daemon=True)
                         for w in range(workers)]

    def __enter__(self):
        for t in self._threads:
            t.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for t in self._threads:
            t.join()

    def _run(self, worker):
        try:
            while not self._stop.wait(0.02):
                if self.pause.is_set():
                    continue
                self.made += 1
                name = f"w{worker}-{self.made}"
                if not held(self.plane.create(NODES + "?dryRun=All",
                                              node_body(name))):
                    self.unheld.append((time.strftime("%T"), name))
        except Exception as e:  # check() reports it
            self.broken = f"{type(e).__name__}: {e}"

    def check(self):
        assert not self.broken, self.broken
        assert not self.unheld, (len(self.unheld), self.unheld[:3])
        assert self.made > 100


class Site:
    """Replicas, the Service before them, and the webhook."""

    def __init__(self, plane):
        self.plane = plane
        self.port = free_port()
        self.service = Service(self.port)
        self.replicas = []
        self.renewer = None

    def replica(self, **settings):
        r = SelfSigned(self.plane, **settings)
        self.replicas.append(r)
        return r.start(wait=False)

    def register(self):
        """Registers the webhook of deploy/base with another port, as the API
        server dials the port of an ExternalName."""
        o, = self.replicas[0].configurations()
        hook, = o["webhooks"]
        assert "caBundle" not in hook["clientConfig"]
        hook["clientConfig"]["service"]["port"] = self.port
        hook["timeoutSeconds"] = PATIENT_S or hook["timeoutSeconds"]
        self.plane.apply(o)
        self.plane.ok("POST", f"{NAMESPACES}/{NAME}/services", {
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": NAME},
            "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}})

    def ready(self, *replicas):
        for r in replicas:
            r.wait_ready(30)
        self.service.ports = [r.webhook_port for r in replicas]

    def in_use(self):
        until(lambda: MARK in annotations(self.plane.create(
            NODES + "?dryRun=All", node_body("probe"))), 30,
            lambda: "webhook in use\n" + tail(self.replicas[0].log))

    def first(self, n=2, **settings):
        """Starts n replicas from nothing and waits for the first held object.
        """
        made = [self.replica() for _ in range(n)]
        self.register()
        self.renewer = Renewer(self.plane, **settings).start()
        self.ready(*made)
        self.in_use()
        return made

    def clear(self):
        for path in (f"{WEBHOOKS}/{NAME}", f"{SECRET}/{TLS}",
                     f"{NAMESPACES}/{NAME}/services/{NAME}",
                     f"{LEASES}/{NAME}"):
            self.plane.request("DELETE", path)

    def close(self):
        if self.renewer:
            self.renewer.kill9()
        for r in self.replicas:
            r.stop()
        self.service.close()
        self.clear()


@pytest.fixture
def site(plane, clean):
    s = Site(plane)
    s.clear()
    yield s
    try:
        for r in s.replicas:
            if r.alive():
                assert not r.metric("rest_client_requests_total", code="403")
        assert '"code":403' not in s.renewer.log.read_text()
    finally:
        s.close()


def wait_new(plane, what, was, timeout):
    """Waits until the Secret has this key with another value; returns it."""
    return until(lambda: (now := secret(plane).get(what)) and now != was
                 and now, timeout, f"a new {what}", every=0.2)


def born(folder, pem):
    (folder / "born.pem").write_text(pem)
    return ssl.cert_time_to_seconds(ssl._ssl._test_decode_cert(
        str(folder / "born.pem"))["notBefore"])


def wait_served(plane, replicas, timeout=LATE + 20):
    """Waits until all of them serve what is in the Secret."""
    def all_do():
        found = PEM.search(secret(plane).get("tls.crt", ""))
        return found and all(
            ssl.PEM_cert_to_DER_cert(r.serving())
            == ssl.PEM_cert_to_DER_cert(found[0]) for r in replicas)
    until(all_do, timeout, "all serve it", every=0.2)


def test_from_nothing(plane, site):
    """There is no Secret and no caBundle.  Both come, and are what they should
    be."""
    a, b = site.first()
    stored = secret(plane)
    assert sorted(stored) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert bundle(plane).strip() == stored["ca.crt"].strip()
    assert sorted(p.name for p in a.kubelet.folder.iterdir()
                  if not p.name.startswith("..")) == ["tls.crt", "tls.key"]
    for what in ("ca", "bundle", "certificate"):
        assert site.renewer.counted(what) == 1, what
    assert plane.get(SECRET, TLS)["type"] == "kubernetes.io/tls"
    assert {m["manager"] for m in plane.get(f"{SECRET}/{TLS}")["metadata"][
        "managedFields"]} == {NAME}
    hook = plane.get(f"{WEBHOOKS}/{NAME}")
    ours, = (m["fieldsV1"] for m in hook["metadata"]["managedFields"]
             if m["manager"] == NAME)
    assert re.findall(r"f:[A-Za-z]+", str(ours)) == [
        "f:webhooks", "f:clientConfig", "f:caBundle"]
    # No log contains any text of a key.
    for r in (a, b, site.renewer):
        text = r.log.read_text()
        assert "BEGIN" not in text and "PRIVATE" not in text
        for line in (stored["ca.key"] + stored["tls.key"]).splitlines()[1:2]:
            assert line not in text


@pytest.mark.long
def test_renewals_under_load(plane, site):
    """They are renewed by their time and by force, and not one creation is
    unheld."""
    a, b = site.first()
    was = fail_open(plane)
    with Prober(plane, [a, b]) as prober, Load(plane) as load:
        ca, crt = (secret(plane)[k] for k in ("ca.crt", "tls.crt"))
        # The serving certificate and then the CA are renewed at two thirds of
        # their lives.
        old, crt = crt, wait_new(plane, "tls.crt", crt, DURATION)
        assert born(a.dir, crt) - born(a.dir, old) > DURATION / 3
        ca = wait_new(plane, "ca.crt", ca, CA)
        until(lambda: len(PEM.findall(bundle(plane))) == 2, 20, "two CAs")
        crt = wait_new(plane, "tls.crt", crt, SETTLE + 20)
        wait_served(plane, [a, b])
        # Somebody deletes the Secret.
        plane.delete(SECRET, TLS)
        wait_new(plane, "ca.crt", ca, READ + 20)
        crt = wait_new(plane, "tls.crt", crt, SETTLE + 20)
        wait_served(plane, [a, b])
        # Somebody writes rubbish into it, and renewer and leader go away in
        # the middle.
        first = leader([a, b], SHORT.taken)
        second = b if first is a else a
        site.service.ports = [second.webhook_port]
        plane.patch(SECRET, TLS, {"data": {
            "ca.key": "cnViYmlzaA==", "tls.crt": "cnViYmlzaA=="}})
        os.kill(first.process.pid, signal.SIGTERM)
        assert site.renewer.term() == 0
        site.renewer.start()
        leader([second], SHORT.taken)
        wait_new(plane, "tls.crt", "rubbish", READ + SETTLE + 20)
        wait_served(plane, [second])
        until(lambda: not first.alive(), 15, "ended")
        time.sleep(1)
    prober.check(serials=4)
    load.check()
    assert fail_open(plane) == was
    print(f"{load.made} creations, {prober.handshakes} handshakes, "
          f"{len(prober.serials[second])} certificates, fail open 0")


@pytest.mark.parametrize("sizes", [
    {"ca.crt": 500_000, "tls.key": 500_000}, {"ca.key": 1, "notes": 1_040_000}])
def test_a_secret_as_large_as_may_be_is_mended(plane, site, sizes):
    """With the policy of the component in force; what is of somebody else
    stays."""
    site.renewer = Renewer(plane).start()

    def whole():
        return all("BEGIN" in secret(plane).get(k, "")
                   for k in ("ca.crt", "ca.key", "tls.crt", "tls.key"))
    until(whole, 20, lambda: tail(site.renewer.log))
    plane.patch(SECRET, TLS, {"data": {
        k: base64.b64encode(b"x" * n).decode() for k, n in sizes.items()}},
        "application/merge-patch+json")
    until(whole, 20, lambda: tail(site.renewer.log))
    assert len(secret(plane).get("notes", "")) == sizes.get("notes", 0)


def test_a_wiped_bundle_is_put_back(plane, site):
    """Until then the API server goes past the webhook, but not for long."""
    a, = site.first(1)
    ca = secret(plane)["ca.crt"]
    for value in (None, base64.b64encode(a.ca).decode()):
        plane.patch(WEBHOOKS, NAME, [
            {"op": "add", "path": "/webhooks/0/clientConfig/caBundle",
             "value": value}] if value else [
            {"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}])
        begun = time.monotonic()
        until(lambda: ca.strip() in bundle(plane), READ + SETTLE + 20,
              "put back")
        took = time.monotonic() - begun
        site.in_use()
        # Another's certificate is kept beside it.
        assert (a.ca.decode().strip() in bundle(plane)) == bool(value)
        print(f"put back after {took:.1f} s")
    assert secret(plane)["ca.crt"] == ca
    assert site.renewer.counted("ca") == 1
    assert site.renewer.counted("bundle") == 3


@pytest.mark.long
def test_renewals_for_long(plane, site):
    """Renewals go on for minutes, with unexpected events in between."""
    minutes = float(os.environ.get("SELF_SIGNED_MINUTES", 5))
    dice = random.Random(int(os.environ.get("SEED", 7)))
    # A renewer that is started again settles anew.  All of that has to fit
    # into a third of a life.
    life = 60.0
    replicas = site.first(3, selfSigned={"duration": f"{life:g}s",
                                         "caDuration": "160s"})
    was, done = fail_open(plane), {}

    def rob():
        plane.request("DELETE", f"{SECRET}/{TLS}")

    def scribble():
        key = dice.choice(["ca.crt", "ca.key", "tls.crt", "tls.key"])
        plane.request("PATCH", f"{SECRET}/{TLS}",
                      {"data": {key: dice.choice([None, "", "cnViYmlzaA=="])}})

    def kill():
        first = leader(replicas, 2 * SHORT.taken)
        rest = [r for r in replicas if r is not first]
        site.service.ports = [r.webhook_port for r in rest]
        # A review that is cut goes unheld, whatever the certificates are.
        load.pause.set()
        prober.out.add(first)
        time.sleep(0.5)
        first.kill9()
        site.renewer.kill9()
        time.sleep(0.5)
        site.renewer.start()
        load.pause.clear()
        leader(rest, 2 * SHORT.taken)
        first.start(wait=False)
        site.ready(*replicas)
        prober.out.discard(first)

    def nothing():
        time.sleep(life / 3)
    with Prober(plane, replicas, stale=0.07 * life) as prober, \
            Load(plane) as load:
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            act = dice.choice([rob, scribble, kill, nothing])
            done[act.__name__] = done.get(act.__name__, 0) + 1
            act()
            time.sleep(dice.uniform(4, 12))
            wait_served(plane, replicas, life / 3)
            assert not (prober.failures or load.unheld), (
                act.__name__, prober.failures[:3], load.unheld[:3])
    prober.check(serials=3)
    load.check()
    assert fail_open(plane) == was
    print(f"{minutes:g} minutes, {done}: {load.made} creations, "
          f"{prober.handshakes} handshakes, certificates "
          f"{[len(s) for s in prober.serials.values()]}, fail open 0")
