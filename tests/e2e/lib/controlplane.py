# SPDX-License-Identifier: Apache-2.0
"""A real control plane for tests and demos: etcd and kube-apiserver.

    with ControlPlane() as plane:
        plane.install_crds()
        plane.create(NODES, {"metadata": {"name": "a"}})

Both listen on free ports of 127.0.0.1 and keep every file in one temporary
directory.  They end with this process, however it ends: stop() at exit, and
the kernel's parent-death signal after kill -9.  That signal follows the
thread, so start things from the main thread.

Standard library and python3-yaml only; keys and certificates come from the
openssl program, so that nothing has to be installed for them.
"""
import atexit
import base64
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import yaml

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD") or REPO / "build").resolve()
# The folder with bin, crds and stages: of other versions under make matrix.
PLANE = pathlib.Path(os.environ.get("PLANE") or BUILD)

NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
POOLS = "/apis/karpenter.sh/v1/nodepools"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
WEBHOOKS = ADMISSION + "/mutatingwebhookconfigurations"

MERGE = "application/merge-patch+json"
JSONPATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
METADATA_LIST = ("application/json;as=PartialObjectMetadataList;"
                 "g=meta.k8s.io;v=v1,application/json")

# libyaml's are ten times as fast.  yaml.safe_load() and its like take these.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
yaml.SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
TEMP_PREFIX = "holder-e2e."

OPENSSL_CONF = """
[req]
distinguished_name = dn
prompt = no
[dn]
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc
[client]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
"""

# Where apply() puts an object: kind -> (path of its group, namespaced?).
RBAC = "/apis/rbac.authorization.k8s.io/v1"
APPLY_PATHS = {
    "Namespace": (NAMESPACES, False),
    "ServiceAccount": ("/api/v1/{}/serviceaccounts", True),
    "ClusterRole": (RBAC + "/clusterroles", False),
    "ClusterRoleBinding": (RBAC + "/clusterrolebindings", False),
    "Role": (RBAC + "/{}/roles", True),
    "RoleBinding": (RBAC + "/{}/rolebindings", True),
    "MutatingWebhookConfiguration": (WEBHOOKS, False),
    "ValidatingWebhookConfiguration": (
        ADMISSION + "/validatingwebhookconfigurations", False),
    "ValidatingAdmissionPolicy": (
        ADMISSION + "/validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (
        ADMISSION + "/validatingadmissionpolicybindings", False),
    "CustomResourceDefinition": (CRDS, False),
    "NodePool": (POOLS, False),
    "Deployment": ("/apis/apps/v1/{}/deployments", True),
}

# Somebody who acts on the API server: by certificate, by token, or
# anonymously.
Identity = collections.namedtuple(
    "Identity", "name cert key token", defaults=(None, None, None))


class ApiError(Exception):
    """The API server refused; .status is HTTP's, .body its answer."""

    def __init__(self, method, path, status, body):
        text = body.get("message") if isinstance(body, dict) else body
        super().__init__(f"{method} {path}: {status} {text}")
        self.status = status
        self.body = body


def end_on_signals():
    """Makes SIGTERM and SIGHUP end the program as Ctrl-C does, so atexit runs.
    """
    def end(number, _frame):
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def until(check, timeout, what, every=None):
    """Polls check() until it gives a true value; returns that value.

    every: seconds between two looks; otherwise it looks less often the longer
    it takes, as nine processes look at a time.
    """
    begun = time.monotonic()
    while True:
        value = check()
        if value:
            return value
        passed = time.monotonic() - begun
        if passed > timeout:
            # A callable may say how far things came.
            text = what() if callable(what) else what
            raise AssertionError(f"not within {timeout} s: {text}")
        time.sleep(every or min(0.25, 0.05 + passed / 20))


_ports_given = set()


def port_range():
    """A range below the one from which the kernel chooses by itself.  An
    outgoing connection can then never occupy the port of a server that is
    stopped for a while and is to come back.  Nor can a server of another
    worker of pytest-xdist."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    each = 12000 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    return 20000 + worker * each, 20000 + (worker + 1) * each


def free_port():
    """A port of 127.0.0.1, which is given out only once."""
    for _ in range(1000):
        port = random.SystemRandom().randrange(*port_range())
        if port in _ports_given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _ports_given.add(port)
        return port
    raise RuntimeError("no free port on 127.0.0.1")


def spawn(argv, log, env=None):
    """Starts a program that dies with this one; its output goes to the file
    log."""
    with open(log, "ab") as out:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *map(str, argv)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
            start_new_session=True)  # Ctrl-C reaches us alone, and we end them


def end(process, number=signal.SIGTERM, timeout=20):
    """Sends a signal, waits, and kills if necessary; returns the exit code."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def tail(path, lines=30):
    try:
        text = pathlib.Path(path).read_text(errors="replace")
    except OSError as e:
        return str(e)
    return "\n".join(text.splitlines()[-lines:])


def sweep_temp():
    """Removes what a killed run left behind."""
    for path in pathlib.Path(tempfile.gettempdir()).glob(TEMP_PREFIX + "*"):
        with contextlib.suppress(ValueError, IndexError):
            pid = int(path.name.split(".")[1])
            if not os.path.exists(f"/proc/{pid}"):
                shutil.rmtree(path, ignore_errors=True)


def parse_metrics(text):
    """Parses the Prometheus text format into {'name{label="value"}': float},
    strictly."""
    sample = re.compile(
        r'([a-zA-Z_:][a-zA-Z0-9_:]*)'
        r'(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*\})?'
        r' ([-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|Inf)|NaN)(?: -?[0-9]+)?')
    values = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = sample.fullmatch(line)
        if not match:
            raise ValueError(f"no metrics line: {line!r}")
        name = match[1] + (match[2] or "")
        if name in values:
            raise ValueError(f"twice: {name}")
        values[name] = float(match[3])
    return values


class ControlPlane:
    # No controller-manager makes ServiceAccounts or removes the taint.
    not_admitting = ("ServiceAccount", "TaintNodesByCondition")

    def __init__(self, bin_dir=None, crds_dir=None, name="plane", audit=(),
                 flags=()):
        """audit: the rules of an audit Policy; audited() returns what they
        recorded.

        flags: further ones for kube-apiserver; {dir} is where its files are.
        """
        self.bin = pathlib.Path(bin_dir or PLANE / "bin")
        self.crds_dir = pathlib.Path(crds_dir or PLANE / "crds")
        sweep_temp()
        self.dir = pathlib.Path(
            tempfile.mkdtemp(prefix=f"{TEMP_PREFIX}{os.getpid()}.{name}."))
        self.etcd_port = free_port()
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd_log = self.dir / "etcd.log"
        self.apiserver_log = self.dir / "kube-apiserver.log"
        self.audit_rules = list(audit)
        self.audit_log = self.dir / "audit.log"
        self.flags = [flag.format(dir=self.dir) for flag in flags]
        self._etcd = None
        self._apiserver = None
        # identity -> [(connection, idle since)], the longest idle first.
        self._idle = collections.defaultdict(list)
        self._contexts = {}
        self._lock = threading.Lock()
        self._identities = {}
        self.starts = 0  # how often the API server was started
        atexit.register(self.stop)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    # Processes

    def start(self):
        self._make_certificates()
        self._start_etcd()
        self.start_apiserver()
        return self

    def stop(self):
        """Ends both and removes every file.  May be called twice."""
        atexit.unregister(self.stop)
        self._drop_connections()
        for process in (self._apiserver, self._etcd):
            if process:
                end(process, signal.SIGKILL)
        self._apiserver = self._etcd = None
        shutil.rmtree(self.dir, ignore_errors=True)

    def _start_etcd(self):
        url = f"http://127.0.0.1:{self.etcd_port}"
        self._etcd = spawn([
            self.bin / "etcd", f"--data-dir={self.dir / 'etcd'}",
            f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync", f"--quota-backend-bytes={1 << 30}",
            "--log-level=warn",
        ], self.etcd_log)

        def healthy():
            self._alive(self._etcd, "etcd", self.etcd_log)
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self._etcd_call("/health", None).get("health") == "true"
        until(healthy, 30, lambda: "etcd healthy\n" + tail(self.etcd_log))

    def _audit_flags(self):
        if not self.audit_rules:
            return []
        policy = self.dir / "audit.yaml"
        policy.write_text(yaml.safe_dump({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
            "omitStages": ["RequestReceived"], "rules": self.audit_rules}))
        return [f"--audit-policy-file={policy}",
                f"--audit-log-path={self.audit_log}"]

    def audited(self):
        """The audit log so far: one event for a request, two for a watch."""
        text = self.audit_log.read_text() if self.audit_log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True)
                if line.endswith("\n")]

    def start_apiserver(self, wait=True):
        if self._apiserver and self._apiserver.poll() is None:
            return
        self.starts += 1
        d = self.dir
        self._apiserver = spawn([
            self.bin / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            # The port of a server that has just ended may linger for a minute.
            "--permit-port-sharing=true", "--permit-address-sharing=true",
            "--shutdown-delay-duration=0s",
            f"--tls-cert-file={d / 'server.crt'}",
            f"--tls-private-key-file={d / 'server.key'}",
            f"--client-ca-file={d / 'ca.crt'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={d / 'sa.pub'}",
            f"--service-account-signing-key-file={d / 'sa.key'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Node as well: RBAC alone gives a kubelet no right to its own
            # Node.
            "--authorization-mode=Node,RBAC",
            *([f"--disable-admission-plugins={','.join(self.not_admitting)}"]
              if self.not_admitting else []),
            "--enable-admission-plugins=NodeRestriction",
            # 127.0.0.1 cannot be an endpoint.
            "--endpoint-reconciler-type=none",
            "--profiling=false", *self._audit_flags(), *self.flags,
        ], self.apiserver_log)
        if wait:
            self.wait_ready()

    def stop_apiserver(self, number=signal.SIGKILL):
        """Ends it.  With SIGTERM it ends its watches in good order."""
        self._drop_connections()
        if self._apiserver:
            end(self._apiserver, number, timeout=70)
        self._apiserver = None
        self._drop_connections()

    def wait_ready(self, timeout=180):
        def ready():
            self._alive(self._apiserver, "kube-apiserver", self.apiserver_log)
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.request("GET", "/readyz", timeout=5)[0] == 200
        until(ready, timeout, lambda: "kube-apiserver ready\n"
              + tail(self.apiserver_log))
        # Its own controllers make the namespace a moment after it is ready.
        until(lambda: self.request("GET", NAMESPACES + "/default")[0] == 200,
              30, "namespace default")

    @staticmethod
    def _alive(process, name, log):
        if process is None or process.poll() is not None:
            code = process.returncode if process else "never started"
            raise RuntimeError(f"{name} ended ({code}):\n{tail(log)}")

    # etcd, behind the API server's back

    def _etcd_call(self, path, body, timeout=10):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.etcd_port, timeout=timeout)
        try:
            if body is None:
                connection.request("GET", path)
            else:
                connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"etcd {path}: {answer.status} {text!r}")
            return json.loads(text)
        finally:
            connection.close()

    def compact(self, writes=50):
        """Moves etcd's revision on and forgets everything before; returns it.

        If this is done while the API server is down, every watch that comes
        back with an older resourceVersion gets an ERROR event with code 410 in
        its stream.  (While the API server is up, its watch cache hides the
        compaction.)
        """
        key = base64.b64encode(b"holder-e2e/filler").decode()
        for _ in range(writes):
            answer = self._etcd_call("/v3/kv/put", {"key": key, "value": key})
        revision = int(answer["header"]["revision"])
        self._etcd_call("/v3/kv/compaction",
                        {"revision": revision, "physical": True})
        return revision

    # Keys and certificates

    def openssl(self, *args):
        done = subprocess.run(
            ["openssl", *map(str, args)], cwd=self.dir, text=True,
            stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"openssl {args[0]}: {done.stderr.strip()}")
        return done.stdout

    def _make_certificates(self):
        os.chmod(self.dir, 0o700)
        (self.dir / "openssl.cnf").write_text(OPENSSL_CONF)
        self._certificate("ca", "/CN=holder-e2e CA", "ca", ca=None)
        self._certificate("server", "/CN=kube-apiserver", "server")
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt",
                     "ec_paramgen_curve:P-256", "-out", "sa.key")
        self.openssl("pkey", "-in", "sa.key", "-pubout", "-out", "sa.pub")
        self.admin = self.identity("admin", "system:masters")
        self.kubeconfig = self.write_kubeconfig(self.dir / "admin.kubeconfig")

    def _certificate(self, name, subject, extensions, ca="ca"):
        sign = ["-CA", f"{ca}.crt", "-CAkey", f"{ca}.key"] if ca else []
        self.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", 7,
            "-config", "openssl.cnf", "-extensions", extensions,
            "-subj", subject, "-keyout", f"{name}.key",
            "-out", f"{name}.crt", *sign)
        return self.dir / f"{name}.crt", self.dir / f"{name}.key"

    def server_certificate(self, name):
        """Another pair for 127.0.0.1 by its CA: (certificate, key)."""
        return self._certificate(name, "/CN=kube-apiserver", "server")

    def identity(self, user, *groups):
        """An Identity that is known by a client certificate."""
        if (user, groups) not in self._identities:
            subject = "".join(f"/O={g}" for g in groups) + f"/CN={user}"
            cert, key = self._certificate(
                f"user{len(self._identities)}", subject, "client")
            self._identities[user, groups] = Identity(user, cert, key)
        return self._identities[user, groups]

    def kubelet(self, node):
        """The kubelet of that node, as NodeRestriction knows it."""
        return self.identity(f"system:node:{node}", "system:nodes")

    def token(self, namespace, name, seconds=3600, bound=None):
        """bound: the ownerReference of a Secret with which it ends."""
        answer = self.ok(
            "POST", f"{NAMESPACES}/{namespace}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": seconds, "boundObjectRef": bound}})
        return answer["status"]["token"]

    def service_account(self, namespace, name, seconds=3600):
        return Identity(f"system:serviceaccount:{namespace}:{name}",
                        token=self.token(namespace, name, seconds))

    def write_kubeconfig(self, path, user=None, server=None, token_file=None):
        """A kubeconfig for that Identity (default: admin), with all data
        inside the file.

        token_file: has the token instead.
        """
        user = user or self.admin

        def data(file):
            return base64.b64encode(
                pathlib.Path(file).read_bytes()).decode()
        if token_file:
            secret = {"tokenFile": str(token_file)}
        elif user.token:
            secret = {"token": user.token}
        else:
            secret = {"client-certificate-data": data(user.cert),
                      "client-key-data": data(user.key)}
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": server or self.url,
                "certificate-authority-data": data(self.dir / "ca.crt")}}],
            "contexts": [{"name": "e2e", "context": {
                "cluster": "e2e", "user": "e2e"}}],
            "users": [{"name": "e2e", "user": secret}]}
        path = pathlib.Path(path)
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        return path

    # Requests

    def _connect(self, user, timeout):
        key = user.cert
        with self._lock:
            context = self._contexts.get(key)
            if context is None:
                context = ssl.create_default_context(
                    cafile=str(self.dir / "ca.crt"))
                if user.cert:
                    context.load_cert_chain(user.cert, user.key)
                self._contexts[key] = context
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=context, timeout=timeout)

    def _drop_connections(self):
        with self._lock:
            idle = [c for pool in self._idle.values() for c, _ in pool]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def request(self, method, path, body=None, content_type=None, *,
                user=None, headers=None, timeout=30):
        """Returns (status, decoded JSON or text). Any number of threads may
        call it.

        Without a given content type the body determines it: a list is a JSON
        Patch, and a dict in a PATCH is a merge patch.
        """
        user = user or self.admin
        data = None
        if body is not None:
            if content_type is None:
                content_type = ("application/json" if method != "PATCH" else
                                JSONPATCH if isinstance(body, list) else MERGE)
            data = body if isinstance(body, (str, bytes)) else json.dumps(body)
            if isinstance(data, str):
                data = data.encode()
        send = {"Accept": "application/json", **(headers or {})}
        if content_type:
            send["Content-Type"] = content_type
        if user.token:
            send["Authorization"] = f"Bearer {user.token}"

        with self._lock:
            pool = self._idle[user]
            # The server closes a connection that has been idle for 90 s.
            while pool and time.monotonic() - pool[0][1] > 60:
                pool.pop(0)[0].close()
            connection = pool.pop()[0] if pool else None
        reused = connection is not None
        if not reused:
            connection = self._connect(user, timeout)
        elif connection.sock:
            connection.sock.settimeout(timeout)
        try:
            connection.request(method, path, data, send)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            if reused and method == "GET":  # it was idle and has been closed
                return self.request(method, path, body, content_type,
                                    user=user, headers=headers,
                                    timeout=timeout)
            raise
        if answer.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle[user].append((connection, time.monotonic()))
        if answer.headers.get_content_type() == "application/json":
            return answer.status, json.loads(text)
        return answer.status, text.decode(errors="replace")

    def ok(self, method, path, body=None, content_type=None, **options):
        """Like request(), but returns only the answer, and raises ApiError
        unless the status is 2xx."""
        for _ in range(20):
            status, answer = self.request(
                method, path, body, content_type, **options)
            # The answer after a start is "storage is (re)initializing".
            if status != 429:
                break
            time.sleep(0.5)
        if not 200 <= status < 300:
            raise ApiError(method, path, status, answer)
        return answer

    def get(self, path, name=None, **options):
        return self.ok("GET", f"{path}/{name}" if name else path, **options)

    def create(self, path, body, **options):
        return self.ok("POST", path, body, **options)

    def patch(self, path, name, body, content_type=None, **options):
        return self.ok("PATCH", f"{path}/{name}", body, content_type,
                       **options)

    def delete(self, path, name, **options):
        return self.ok("DELETE", f"{path}/{name}", **options)

    def annotations(self, path, name):
        return self.get(path, name)["metadata"].get("annotations") or {}

    def metadata(self, path):
        """Returns {name: metadata} of all objects, without the rest of each.
        """
        answer = self.ok("GET", path, headers={"Accept": METADATA_LIST})
        return {item["metadata"]["name"]: item["metadata"]
                for item in answer["items"] or []}  # null when empty

    def apply(self, obj, manager="holder-e2e"):
        """Server-side apply of an object of one of the kinds in APPLY_PATHS.
        """
        path, namespaced = APPLY_PATHS[obj["kind"]]
        if namespaced:
            path = path.format("namespaces/" + obj["metadata"]["namespace"])
        name = urllib.parse.quote(obj["metadata"]["name"], safe="")
        return self.ok("PATCH", f"{path}/{name}?fieldManager={manager}"
                       "&force=true", obj, APPLY)

    def many(self, call, items, threads=8):
        """Calls call(item) for all, several at a time; returns the results in
        order."""
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(call, items))

    def watch(self, path, resource_version, seconds=30, user=None):
        """Yields the events of one watch; ends when the server ends it."""
        user = user or self.admin
        connection = self._connect(user, seconds + 5)
        send = {"Accept": "application/json"}
        if user.token:
            send["Authorization"] = f"Bearer {user.token}"
        query = urllib.parse.urlencode({
            "watch": "1", "resourceVersion": resource_version,
            "allowWatchBookmarks": "true", "timeoutSeconds": seconds})
        try:
            connection.request("GET", f"{path}?{query}", headers=send)
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError("WATCH", path, answer.status,
                               answer.read().decode(errors="replace"))
            for line in answer:
                yield json.loads(line)
        finally:
            connection.close()

    def metrics(self):
        return parse_metrics(self.ok(
            "GET", "/metrics", headers={"Accept": "text/plain"}))

    # kubectl and CRDs

    def kubectl(self, *args, stdin=None, check=True, user=None):
        """Returns a subprocess.CompletedProcess with text output."""
        config = self.kubeconfig
        if user:
            config = self.write_kubeconfig(self.dir / "kubectl.kubeconfig",
                                           user)
        done = subprocess.run(
            [self.bin / "kubectl", f"--kubeconfig={config}",
             f"--cache-dir={self.dir / 'kubectl'}", *map(str, args)],
            input=stdin or "", text=True, capture_output=True, timeout=120,
            env={"HOME": str(self.dir), "PATH": os.environ["PATH"],
                 # As for the others (conftest.py): a quarter of its time.
                 "GOGC": "400"})
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(map(str, args))}: "
                               f"{done.stderr.strip()}")
        return done

    def crds(self, folder=None):
        """Karpenter's CRDs, or those of a folder that binaries.sh made."""
        found = []
        for file in sorted((folder or self.crds_dir).glob("*.yaml")):
            for crd in yaml.safe_load_all(file.read_text()):
                if crd:
                    # These may be a template's.
                    crd["metadata"].pop("labels", None)
                    # Karpenter 1.0 converts by a webhook that does not run.
                    crd["spec"].pop("conversion", None)
                    found.append(crd)
        return found

    def install_crds(self, folder=None):
        """Installs them and waits until they are served."""
        for crd in self.crds(folder):
            self.apply(crd)
        self.wait_served(folder)

    def wait_served(self, folder=None):
        for crd in self.crds(folder):
            spec = crd["spec"]
            version = next(v["name"] for v in spec["versions"] if v["served"])
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
            until(lambda: self.request("GET", path + "?limit=1")[0] == 200,
                  30, f"{path} served")

    def remove_crds(self):
        """Removes them together with every object of these kinds."""
        for crd in self.crds():
            name = crd["metadata"]["name"]
            until(lambda: self.request("DELETE", f"{CRDS}/{name}")[0] == 404,
                  60, f"{name} gone", every=0.5)
        for path in (CLAIMS, POOLS):
            until(lambda: self.request("GET", path)[0] == 404,
                  30, f"{path} served no more")
