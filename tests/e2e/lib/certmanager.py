# SPDX-License-Identifier: Apache-2.0
"""The real cert-manager, a Secret that is mounted as a kubelet does it, and a
holder that serves from it."""
import base64
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import traceback

from controlplane import (WEBHOOKS, ApiError, end, free_port, spawn, tail,
                          until)
from hold import stamp
from holder import Holder

PROGRAMS = ("cert-manager-controller", "cert-manager-cainjector",
            "cert-manager-crds")
NAME = "karpenter-node-holder"
SERVICE = f"{NAME}.{NAME}.svc"
CERTIFICATES = f"/apis/cert-manager.io/v1/namespaces/{NAME}/certificates"
SECRETS = f"/api/v1/namespaces/{NAME}/secrets"


class CertManager:
    def __init__(self, plane):
        self.plane = plane
        self.kubeconfig = plane.write_kubeconfig(
            plane.dir / "cert-manager.kubeconfig",
            plane.identity("cert-manager", "system:masters"))
        self.processes = {}

    def start(self):
        for name, *flags in (
                ("cert-manager-controller",
                 "--cluster-resource-namespace=default",
                 f"--metrics-listen-address=127.0.0.1:{free_port()}"),
                ("cert-manager-cainjector",)):
            self.processes[name] = spawn(
                [self.plane.bin / name, f"--kubeconfig={self.kubeconfig}",
                 "--leader-elect=false", "--v=2", *flags], self.log(name))
        return self

    def log(self, name):
        return self.plane.dir / f"{name}.log"

    def tails(self):
        return "\n".join(f"{name}\n{tail(self.log(name))}"
                         for name in self.processes)

    def stop(self):
        for process in self.processes.values():
            end(process)

    # What `cmctl renew` does

    def renew(self, name):
        """Sets the condition Issuing, which gives a new key and pair, whatever
        time is left."""
        while True:
            certificate = self.plane.get(CERTIFICATES, name)
            status = certificate.setdefault("status", {})
            status["conditions"] = [
                c for c in status.get("conditions", [])
                if c["type"] != "Issuing"] + [{
                    "type": "Issuing", "status": "True",
                    "reason": "ManuallyTriggered",
                    "message": "Certificate re-issuance manually triggered",
                    "lastTransitionTime": stamp(time.time()),
                    "observedGeneration": certificate["metadata"][
                        "generation"]}]
            try:
                self.plane.ok("PUT", f"{CERTIFICATES}/{name}/status",
                              certificate)
                return
            except ApiError as e:
                if e.status != 409:
                    raise

    def secret(self, name):
        """Returns {file: bytes}, or None if there is none (or none yet)."""
        status, answer = self.plane.request("GET", f"{SECRETS}/{name}")
        if status != 200:
            return None
        return {k: base64.b64decode(v)
                for k, v in (answer.get("data") or {}).items()} or None

    def renewed(self, name, secret, was, timeout=30):
        """Waits until the Secret holds another certificate; returns its data.
        """
        def other():
            now = self.secret(secret)
            return now and now.get("tls.crt") and (
                not was or now["tls.crt"] != was["tls.crt"]) and now
        return until(other, timeout,
                     lambda: f"{name} issued\n" + self.tails())

    def bundle(self):
        """The present caBundle of the webhook configuration."""
        hook, = self.plane.get(WEBHOOKS, NAME)["webhooks"]
        return base64.b64decode(hook["clientConfig"].get("caBundle", ""))


def serial(pem):
    """The serial number of the first certificate in it."""
    return facts(pem)[0]


def facts(pem):
    """Returns (serial, SHA-256 of the public key's PEM) of the first
    certificate."""
    done = subprocess.run(
        ["openssl", "x509", "-noout", "-serial", "-pubkey"], input=pem,
        capture_output=True, timeout=30, check=True).stdout.decode()
    first, _, key = done.partition("\n")
    return first.removeprefix("serial=").upper(), key


class KubeletMount:
    """A Secret in a folder, written as kubelet's AtomicWriter does it.

    It follows the steps of k8s.io/kubernetes pkg/volume/util/atomic_writer.go
    in their order.  An optional Secret that does not exist is one without
    files.
    """

    def __init__(self, path, mode=0o440):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True)
        self.mode = mode
        self.writes = 0

    def current(self):
        data = self.path / "..data"
        if not data.is_symlink():
            return None, {}
        old = self.path / os.readlink(data)
        return old, {f.name: f.read_bytes() for f in old.iterdir()}

    def write(self, payload):
        old, was = self.current()
        if old is None or payload != was:
            new = pathlib.Path(tempfile.mkdtemp(
                dir=self.path,
                prefix=time.strftime("..%Y_%m_%d_%H_%M_%S.", time.gmtime())))
            new.chmod(0o755)
            for name, data in payload.items():
                (new / name).write_bytes(data)
                (new / name).chmod(self.mode)
            link = self.path / "..data_tmp"
            link.symlink_to(new.name)
            os.rename(link, self.path / "..data")
            self.writes += 1
        else:
            old = None
        for name in payload:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")
        for name in was.keys() - payload.keys():
            (self.path / name).unlink()
        if old:
            shutil.rmtree(old)


class Kubelet(threading.Thread):
    """Keeps the mount in step with the Secret.  While paused it sleeps, as a
    real kubelet does for up to a minute or two."""

    def __init__(self, mount, read):
        super().__init__(daemon=True)
        self.mount, self.read = mount, read
        self.paused = threading.Event()
        self.stopped = threading.Event()
        self.failed = None
        mount.write(read() or {})

    def run(self):
        try:
            while not self.stopped.wait(0.2):
                if not self.paused.is_set():
                    self.mount.write(self.read() or {})
        except Exception:
            self.failed = traceback.format_exc()

    def stop(self):
        self.stopped.set()
        self.join()
        assert not self.failed, self.failed


class MountedHolder(Holder):
    """A holder with the ServiceAccount and the rights of the overlay, and the
    pair of the Secret that its Pod would mount."""

    def __init__(self, plane, mount, **settings):
        super().__init__(plane, webhook={
            "certFile": str(mount.path / "tls.crt"),
            "keyFile": str(mount.path / "tls.key")}, **settings)

    def _install(self):
        self.account = self.plane.service_account(NAME, NAME)
        self.plane.write_kubeconfig(self.kubeconfig, self.account)

    def stop(self):
        if self.process:
            self.kill9()

    def handshake(self, bundle):
        """Does a TLS handshake as the API server does it.  Returns the serial,
        or None if it fails."""
        context = ssl.create_default_context(cadata=bundle.decode())
        try:
            with socket.create_connection(
                    ("127.0.0.1", self.webhook_port), 5) as plain, \
                    context.wrap_socket(
                        plain, server_hostname=SERVICE) as tls:
                return tls.getpeercert()["serialNumber"].upper()
        except (OSError, ssl.SSLError):
            return None
