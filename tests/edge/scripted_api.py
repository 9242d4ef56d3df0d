#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scripted Kubernetes API server for tests of the whole daemon.

It keeps Nodes, NodeClaims and NodePools in memory and answers list, watch,
get and patch over plain HTTP on a free port of 127.0.0.1, in the shapes a
real kube-apiserver 1.36 uses.  What a real one cannot be made to do on
demand, a test switches on as a fault:

    with ScriptedApi() as api:
        api.create("nodes", "a", labels={"karpenter.sh/nodepool": "p"})
        api.write_kubeconfig("kubeconfig")
        ...                                  # start the daemon
        fault = api.fault("nodes", "watch", "silent")
        api.wait(lambda: api.count(verb="watch", resource="nodes") > 1)
        api.clear(fault)

All methods may be called from any thread.  `python3 scripted_api.py` prints
the port and serves until its standard input ends; `--selftest` tests itself.
"""

import argparse
import base64
import bisect
import copy
import dataclasses
import email.utils
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

# resource: group, version, kind
RESOURCES = {
    "nodes": ("", "v1", "Node"),
    "nodeclaims": ("karpenter.sh", "v1", "NodeClaim"),
    "nodepools": ("karpenter.sh", "v1", "NodePool"),
    "events": ("", "v1", "Event"),              # Karpenter's
    "our-events": ("events.k8s.io", "v1", "Event"),
    "leases": ("coordination.k8s.io", "v1", "Lease"),
    "all-leases": ("coordination.k8s.io", "v1", "Lease"),   # a store apart
    "secrets": ("", "v1", "Secret"),
    "mutatingwebhookconfigurations": (
        "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"),
}
PATHS = {   # where it is not GROUP/VERSION/RESOURCE
    "events": "/api/v1/namespaces/default/events",
    "our-events": "/apis/events.k8s.io/v1/namespaces/default/events",
    "leases": "/apis/coordination.k8s.io/v1/namespaces/holder/leases",
    "all-leases": "/apis/coordination.k8s.io/v1/leases",
    "secrets": "/api/v1/namespaces/ns/secrets",
}

FAULTS = {
    "expired": "list: 410 for a `continue`; watch: an in-stream 410 ERROR",
    "429": "Too Many Requests; retry_after=SECONDS, an HTTP date, or a"
           " function that gives it",
    "500": "a page of HTML",
    "401": "Unauthorized",
    "403": "Forbidden",
    "hang": "never an answer on this connection",
    "hang-middle": "head and half of the body, then nothing more",
    "cut": "the connection ends in the middle of an item or a line",
    "short": "half of a body, which by its head is the whole of it",
    "lost-reply": "a write is done, its answer never comes",
    "late-reply": "a write is done, its answer comes seconds=N later",
    "delay": "seconds=N before the answer",
    "wait": "nothing is done before the fault is cleared",
    "split": "each byte is sent by itself",
    "silent": "a watch without a byte, though events happen",
    "behind": "a watch with bookmarks but without events, as of before",
    "withhold": "a list's first page comes, the second never does",
    "answer": "status=, headers= and body= (bytes, or a function of the"
              " request that gives them) of the test's own",
    "head": "headers={name: value} in the head; None: without this one",
    "edit": "the JSON of an answer or of a watch's line is what edit=F makes"
            " of it; bytes: as they are",
    "endless": "200, body= and then fill= again and again, seconds=N apart",
    "http/1.0": "no chunks, and the connection ends with the answer",
}

EXPIRED_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list"
    " result. You can start a new list without the continue parameter, or use"
    " the continue token in this response to retrieve the remainder of the"
    " results. Continuing with the provided token results in an inconsistent"
    " list - objects that were created, modified, or deleted between the time"
    " the first chunk was returned and now may show up in the list.")
REJECTED = "the server rejected our request due to an error in our request"
REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden",
    404: "NotFound", 405: "MethodNotAllowed", 406: "NotAcceptable",
    409: "Conflict", 410: "Expired", 415: "UnsupportedMediaType",
    422: "Invalid", 429: "TooManyRequests",
}
HTTP_REASONS = {
    200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    409: "Conflict", 410: "Gone", 415: "Unsupported Media Type",
    422: "Unprocessable Entity", 429: "Too Many Requests",
    500: "Internal Server Error",
}


class ApiError(Exception):
    """An answer that is a metav1.Status."""

    def __init__(self, code, message, details=None, cont=None):
        super().__init__(message)
        self.code = code
        self.status = {
            "kind": "Status", "apiVersion": "v1",
            "metadata": {"continue": cont} if cont else {},
            "status": "Failure", "message": message,
            "reason": REASONS[code], "code": code,
        }
        if details is not None:
            self.status["details"] = details


class Hangup(Exception):
    """This connection is over: nothing more is sent on it."""


@dataclasses.dataclass(eq=False)
class Fault:
    """A fault that is on; see FAULTS.  `times` None: until cleared."""
    resource: str
    verb: str
    kind: str
    name: str = "*"
    times: int | None = None
    retry_after: object = 1
    seconds: float = 0.0
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: object = b""
    fill: bytes = b" " * 65536
    edit: object = None


@dataclasses.dataclass
class Request:
    """A request as it came; status 0 while unanswered; changed: its patch
    has changed the object, whatever the answer."""
    connection: int
    time: float
    method: str
    path: str
    query: dict
    headers: dict
    body: object
    resource: str = ""
    name: str = ""
    verb: str = ""
    status: int = 0
    changed: bool = False


# --- patches ---------------------------------------------------------------

def merge_patch(target, patch):
    """RFC 7396; the target is left as it is."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge_patch(out.get(key), value)
    return out


def json_patch(target, ops):
    """RFC 6902: test, add, remove, replace in objects, also those in lists;
    LookupError or ValueError where one does not apply."""
    out = copy.deepcopy(target)
    for op in ops:
        keys = [k.replace("~1", "/").replace("~0", "~")
                for k in op["path"].split("/")[1:]]
        at = out
        for key in keys[:-1]:
            at = at[int(key) if isinstance(at, list) else key]
        if not isinstance(at, dict):
            raise LookupError(op["path"])
        last = keys[-1]
        if op["op"] == "test":
            if at.get(last) != op.get("value"):
                raise ValueError("test " + op["path"])
        elif op["op"] in ("remove", "replace") and last not in at:
            raise LookupError(op["path"])
        elif op["op"] == "remove":
            del at[last]
        elif op["op"] in ("add", "replace"):
            at[last] = copy.deepcopy(op["value"])
        else:
            raise ValueError(op["op"])
    return out


# --- what is stored --------------------------------------------------------

class Store:
    """Objects and their history, under one condition variable.  A stored
    object is replaced, never changed, so that readers need no copy."""

    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.objects = {r: {} for r in RESOURCES}
        self.rv = 1
        self.compacted = 0
        self.history = []       # (rv, resource, type, object)

    def put(self, resource, event, obj):
        """Stores obj under the next resourceVersion."""
        with self.changed:
            self.rv += 1
            obj = copy.deepcopy(obj)
            meta = obj["metadata"]
            meta["resourceVersion"] = str(self.rv)
            for empty in ("annotations", "labels", "ownerReferences"):
                if not meta.get(empty, True):
                    del meta[empty]
            if event == "DELETED":
                self.objects[resource].pop(meta["name"], None)
            else:
                self.objects[resource][meta["name"]] = obj
            self.history.append((self.rv, resource, event, obj))
            self.changed.notify_all()
            return obj

    def find(self, resource, name):
        """The object, or a 404."""
        with self.changed:
            obj = self.objects[resource].get(name)
        if obj is None:
            group, _, _ = RESOURCES[resource]
            full = resource + ("." + group if group else "")
            details = {"name": name, "kind": resource}
            if group:
                details["group"] = group
            raise ApiError(404, f'{full} "{name}" not found', details)
        return obj

    def after(self, resource, rv):
        """Events of a resource after rv, oldest first."""
        with self.changed:
            if rv >= self.rv:
                return []
            first = bisect.bisect_right(self.history, rv, key=lambda h: h[0])
            return [h for h in self.history[first:] if h[1] == resource]


def selected(request, obj):
    """Does the request's fieldSelector take it?"""
    for clause in (request.query.get("fieldSelector") or "").split(","):
        if not clause:
            continue
        field, _, value = clause.replace("!=", "=!").partition("=")
        at = obj
        for part in field.split("."):
            at = at.get(part, {})
        if (at == value.lstrip("!")) == value.startswith("!"):
            return False
    return True


# --- shapes ----------------------------------------------------------------

def accept_form(header, is_list):
    """"full" or "partial" by the Accept header; None: 406."""
    for clause in (header or "application/json").split(","):
        parts = [p.strip() for p in clause.split(";")]
        if parts[0] not in ("application/json", "*/*", "application/*"):
            continue
        wanted = dict(p.split("=", 1) for p in parts[1:] if "=" in p)
        form = wanted.get("as")
        if form is None:
            return "full"
        if form == "PartialObjectMetadata" + ("List" if is_list else ""):
            return "partial"
    return None


def shape(obj, form):
    if form == "full":
        return obj
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"]}


def list_body(resource, items, meta, form):
    """A list in the key order of a real one: sorted for CRDs (so `items`
    precedes `metadata`), as declared for the rest."""
    group, version, kind = RESOURCES[resource]
    api = f"{group}/{version}" if group else version
    if form == "partial":
        return {"kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                "items": [shape(o, form) for o in items]}
    if group:
        return {"apiVersion": api, "items": items, "kind": kind + "List",
                "metadata": meta}
    bare = [{k: v for k, v in o.items() if k not in ("kind", "apiVersion")}
            for o in items]
    return {"kind": kind + "List", "apiVersion": api, "metadata": meta,
            "items": bare}


def to_json(value):
    return json.dumps(value, separators=(",", ":")).encode()


# --- a connection ----------------------------------------------------------

class Connection:
    """One accepted socket; reads requests and answers them in turn."""

    def __init__(self, api, sock, ident):
        self.api, self.sock, self.ident = api, sock, ident
        self.file = None
        self.split = False
        self.old = False        # HTTP/1.0

    def run(self):
        try:
            self.greet()
            while self.serve_one():
                pass
        except (OSError, Hangup, ValueError):
            pass
        finally:
            if self.file is not None:
                self.file.close()
            self.sock.close()
            self.api.forget(self)

    def greet(self):
        if self.api.tls is not None:
            self.sock = self.api.tls.wrap_socket(
                self.sock, server_side=True, do_handshake_on_connect=False)
            try:
                self.sock.do_handshake()
            except ssl.SSLError:
                self.linger()
                raise
        self.file = self.sock.makefile("rb")

    def linger(self):
        """Until the client closes: a reset would take the alert, which says
        why, from it."""
        socket.socket.shutdown(self.sock, socket.SHUT_WR)
        while socket.socket.recv(self.sock, 4096):
            pass

    def read_request(self):
        line = self.file.readline(65536).decode("latin-1").split()
        if len(line) != 3:
            return None
        headers = {}
        while True:
            text = self.file.readline(65536).decode("latin-1").strip()
            if not text:
                break
            key, _, value = text.partition(":")
            headers[key.strip().lower()] = value.strip()
        raw = self.file.read(int(headers.get("content-length", "0")))
        url = urllib.parse.urlsplit(line[1])
        query = dict(urllib.parse.parse_qsl(url.query,
                                            keep_blank_values=True))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode("utf-8", "replace")
        return Request(self.ident, time.monotonic(), line[0], url.path,
                       query, headers, body)

    def serve_one(self):
        request = self.read_request()
        if request is None:
            return False
        self.split = self.old = False
        self.api.route(request)
        self.api.record(request)
        try:
            self.api.answer(self, request)
        except ApiError as error:
            self.send(request, error.code, to_json(error.status) + b"\n")
        return not self.old and \
            request.headers.get("connection", "").lower() != "close"

    def put(self, data):
        if not self.split:
            self.sock.sendall(data)
            return
        for i in range(len(data)):
            self.sock.sendall(data[i:i + 1])

    def head(self, request, code, headers):
        request.status = code
        fields = {"Audit-Id": str(uuid.uuid4()),
                  "Cache-Control": "no-cache, private",
                  "Date": email.utils.formatdate(self.api.now(),
                                                 usegmt=True),
                  **headers, **self.api.other_headers(request)}
        lines = [f"HTTP/1.{0 if self.old else 1} {code} "
                 f"{HTTP_REASONS.get(code, 'Other')}"]
        lines += [f"{k}: {v}" for k, v in fields.items() if v is not None]
        self.put("\r\n".join(lines + ["", ""]).encode())

    def send(self, request, code, body, headers=None, part=None,
             kind="application/json"):
        """A whole answer; with part, only so many bytes of its body."""
        head = {"Content-Type": kind, "Content-Length": len(body)}
        head.update(headers or {})
        self.head(request, code, head)
        self.put(body if part is None else body[:part])

    def stream(self, request):
        """The head of an answer that comes in chunks."""
        head = {"Content-Type": "application/json"}
        if not self.old:
            head["Transfer-Encoding"] = "chunked"
        self.head(request, 200, head)

    def chunk(self, data):
        """b"": the last one."""
        if self.old:
            self.sock.sendall(data)
        elif self.split and data:
            for i in range(len(data)):
                self.sock.sendall(b"1\r\n" + data[i:i + 1] + b"\r\n")
        else:
            self.sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def gone(self):
        """Has the client closed?  It sends nothing while it waits; over TLS
        only that it closes."""
        try:
            ready, _, _ = select.select([self.sock], [], [], 0)
            return bool(ready) and (
                isinstance(self.sock, ssl.SSLSocket) or
                not self.sock.recv(1, socket.MSG_PEEK))
        except (OSError, ValueError):
            return True

    def hang(self, over=lambda: False):
        """Until it is over.  If before the client gives up or the server
        stops: the end."""
        while not over():
            if self.api.stopping or self.gone():
                raise Hangup()
            time.sleep(0.02)


# --- the server ------------------------------------------------------------

class ScriptedApi:
    """The server.  `url` is where it listens.

    bookmark_s      seconds between bookmarks of a watch (default 60)
    page_max        objects on a page of a list, whatever its limit
    clock_offset    seconds added to its clock (Date, creationTimestamp)
    token           if set, a request without this bearer token gets a 401
    tls             an ssl.SSLContext for connections from now on, or None
    requests        every Request since the start, oldest first
    accepted        when each connection came, whatever became of it
    port, store     of a server that was stopped: this one takes its place
    """

    def __init__(self, bookmark_s=60.0, clock_offset=0.0, token=None, port=0,
                 store=None, tls=None):
        self.store = store or Store()
        self.bookmark_s = bookmark_s
        self.page_max = sys.maxsize
        self.clock_offset = clock_offset
        self.token = token
        self.tls = tls
        self.requests = []
        self.accepted = []
        self.expired = 0            # connections up to this one get a 401
        self.stopping = False
        self._faults = []
        self._unserved = set()
        self._hidden = {}           # (resource, name): verbs
        self._epoch = {r: 0 for r in RESOURCES}    # drop_watches counts it
        self._close = False
        self._pages = {}            # continue token: (rv, objects left)
        self._lock = threading.RLock()
        self._connections = {}
        self._socket = socket.create_server(("127.0.0.1", port),
                                            backlog=128)
        self.port = self._socket.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Closes every connection and the port."""
        self.stopping = True
        with self.store.changed:
            self.store.changed.notify_all()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        self.cut_connections()

    def now(self):
        """Its clock: seconds since 1970."""
        return time.time() + self.clock_offset

    def stamp(self, offset=0.0):
        """Its time as RFC 3339, `offset` seconds from now."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ",
                             time.gmtime(self.now() + offset))

    def write_kubeconfig(self, path, token_file=None, cluster=None,
                         user=None):
        """A kubeconfig (JSON is YAML) whose one context leads here; cluster
        and user: what else is in them."""
        user = dict(user or {})
        if token_file:
            user["tokenFile"] = str(token_file)
        elif self.token:
            user["token"] = self.token
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "s",
            "clusters": [{"name": "s", "cluster": {"server": self.url,
                                                   **(cluster or {})}}],
            "users": [{"name": "s", "user": user}],
            "contexts": [{"name": "s",
                          "context": {"cluster": "s", "user": "s"}}],
        }
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out, indent=2)

    # --- objects, for tests ------------------------------------------------

    def create(self, resource, name, labels=None, annotations=None,
               owners=None, spec=None, status=None, created=None, top=None,
               **meta):
        """Stores a new object and returns it.  created: RFC 3339, default
        now; top: what is beside metadata; further keywords go into that."""
        group, version, kind = RESOURCES[resource]
        metadata = {"name": name, "uid": str(uuid.uuid4()),
                    "creationTimestamp": created or self.stamp(),
                    "generation": 1}
        metadata.update(meta)
        for key, value in (("labels", labels), ("annotations", annotations),
                           ("ownerReferences", owners)):
            if value:
                metadata[key] = value
        obj = {"apiVersion": f"{group}/{version}" if group else version,
               "kind": kind, "metadata": metadata, "spec": spec or {},
               "status": status or {}, **(top or {})}
        with self.store.changed:
            if name in self.store.objects[resource]:
                raise ValueError(f"{resource} {name} exists")
            return self.store.put(resource, "ADDED", obj)

    def say(self, claim, reason="DisruptionLaunching",
            message="Launching NodeClaim: Drifted"):
        """Karpenter's Event on a NodeClaim."""
        return self.create(
            "events", f"{claim['metadata']['name']}.{uuid.uuid4().hex[:16]}",
            namespace="default", top={
                "type": "Normal", "reason": reason, "message": message,
                "involvedObject": {
                    "apiVersion": claim["apiVersion"], "kind": claim["kind"],
                    "name": claim["metadata"]["name"],
                    "uid": claim["metadata"]["uid"]}})

    @staticmethod
    def owner(claim):
        """The ownerReference that Karpenter sets on a Node for its claim."""
        return {"apiVersion": claim["apiVersion"], "kind": claim["kind"],
                "name": claim["metadata"]["name"],
                "uid": claim["metadata"]["uid"], "blockOwnerDeletion": True}

    def get(self, resource, name):
        """The object as it is now, or None."""
        with self.store.changed:
            return copy.deepcopy(self.store.objects[resource].get(name))

    def names(self, resource):
        with self.store.changed:
            return sorted(self.store.objects[resource])

    def annotations(self, resource, name):
        with self.store.changed:
            obj = self.store.objects[resource].get(name) or {}
        return dict(obj.get("metadata", {}).get("annotations") or {})

    def change(self, resource, name, patch):
        """A merge patch by the test itself; None removes a key."""
        with self.store.changed:
            old = self.store.find(resource, name)
            return self.store.put(resource, "MODIFIED",
                                  merge_patch(old, patch))

    def patch_meta(self, resource, name, **meta):
        """patch_meta("nodes", "a", annotations={"k": "v", "gone": None})"""
        return self.change(resource, name, {"metadata": meta})

    def set_status(self, resource, name, **status):
        """set_status("nodeclaims", "c", nodeName="a", conditions=[...])"""
        return self.change(resource, name, {"status": status})

    def delete(self, resource, name):
        """Gone at once.  (A deletion that waits for finalizers is
        patch_meta(..., deletionTimestamp=api.stamp()).)"""
        with self.store.changed:
            return self.store.put(resource, "DELETED",
                                  self.store.find(resource, name))

    def hide(self, resource, name, verbs=("list", "watch")):
        """Not shown by these: what a client sees that is behind."""
        with self.store.changed:
            self._hidden[resource, name] = verbs

    def show(self, resource, name):
        """No longer hidden; a watch tells of it as of a change."""
        with self.store.changed:
            del self._hidden[resource, name]
            self.store.put(resource, "MODIFIED",
                           self.store.find(resource, name))

    def _shown(self, verb, resource, name):
        return verb not in self._hidden.get((resource, name), ())

    # --- faults ------------------------------------------------------------

    def fault(self, resource, verb, kind, **options):
        """Switches a fault of FAULTS on for list, watch, get, patch … ("*":
        all) of a resource ("*": all).  times=N: only for the next N;
        name=NAME: only for this object."""
        if kind not in FAULTS:
            raise ValueError(f"no fault {kind!r}: {', '.join(FAULTS)}")
        fault = Fault(resource, verb, kind, **options)
        with self.store.changed:
            self._faults.append(fault)
            self.store.changed.notify_all()
        return fault

    def clear(self, fault=None):
        """Switches one fault off, or all.  A connection that hangs goes on
        hanging; a silent watch says what it has kept back."""
        with self.store.changed:
            self._faults = [f for f in self._faults
                            if fault is not None and f is not fault]
            self.store.changed.notify_all()

    def serve(self, resource, served=True):
        """Is the CRD there?  While not: plain-text 404, watches end."""
        with self.store.changed:
            (self._unserved.discard if served
             else self._unserved.add)(resource)
        self.drop_watches(resource)

    def drop_watches(self, resource, close=False):
        """Ends the open watches of a resource, as a server may; close: their
        connections as well."""
        with self.store.changed:
            self._epoch[resource] += 1
            self._close = close
            self.store.changed.notify_all()

    def expire_connections(self):
        """A 401 on each that is open now, as of a client certificate whose
        time is over: a real one takes any in the handshake."""
        self.expired = len(self.accepted)

    def cut_connections(self):
        """Closes every connection at once, as a server that dies."""
        with self._lock:
            connections = list(self._connections.values())
        for c in connections:
            try:
                c.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def compact(self):
        """Forgets history: a watch from before gets a 410 in its stream, a
        `continue` from before a 410."""
        with self.store.changed:
            self.store.compacted = self.store.rv
            self.store.history.clear()
            self._pages.clear()

    # --- what came ---------------------------------------------------------

    def select(self, **fields):
        """The requests whose fields are all equal to these."""
        with self._lock:
            return [r for r in self.requests
                    if all(getattr(r, k) == v for k, v in fields.items())]

    def count(self, **fields):
        return len(self.select(**fields))

    @staticmethod
    def wait(condition, timeout=10.0):
        """Until condition() is true; its value, or an AssertionError."""
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {timeout} s")
            time.sleep(0.01)

    # --- for Connection ----------------------------------------------------

    def _accept(self):
        while not self.stopping:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.accepted.append(time.monotonic())
                c = Connection(self, sock, len(self.accepted))
                self._connections[c.ident] = c
            threading.Thread(target=c.run, daemon=True).start()

    def forget(self, connection):
        with self._lock:
            self._connections.pop(connection.ident, None)

    def record(self, request):
        with self._lock:
            self.requests.append(request)

    def route(self, request):
        """Fills in resource, name and verb, where the path has them."""
        for resource, (group, version, _) in RESOURCES.items():
            base = f"/apis/{group}/{version}" if group else "/api/" + version
            full = PATHS.get(resource, f"{base}/{resource}")
            if request.path != full and \
                    not request.path.startswith(full + "/"):
                continue
            request.resource = resource
            request.name = urllib.parse.unquote(request.path[len(full) + 1:])
            if request.method == "PATCH":
                request.verb = "patch"
            elif request.method == "POST":
                request.verb = "create"
            elif request.method == "DELETE":
                request.verb = "delete"
            elif request.name:
                request.verb = "get"
            elif request.query.get("watch") in ("1", "true"):
                request.verb = "watch"
            else:
                request.verb = "list"

    def _fault(self, request, *kinds, use=True):
        """The first of these kinds that is on for this request; `use` counts
        it against its times."""
        with self.store.changed:
            for f in self._faults:
                if f.kind not in kinds or \
                        f.resource not in ("*", request.resource) or \
                        f.verb not in ("*", request.verb) or \
                        f.name not in ("*", request.name):
                    continue
                if use and f.times is not None:
                    f.times -= 1
                    if f.times <= 0:
                        self._faults.remove(f)
                return f
        return None

    def other_headers(self, request):
        f = self._fault(request, "head")
        return f.headers if f is not None else {}

    def answer(self, c, request):
        """Answers one request, with the faults that are on for it."""
        if request.connection <= self.expired or \
                self.token is not None and request.headers.get(
                    "authorization") != "Bearer " + self.token:
            raise ApiError(401, "Unauthorized")
        if not request.resource or request.resource in self._unserved:
            c.send(request, 404, b"404 page not found\n",
                   {"X-Content-Type-Options": "nosniff"},
                   kind="text/plain; charset=utf-8")
            return
        if (f := self._fault(request, "delay")) is not None:
            time.sleep(f.seconds)
        if (f := self._fault(request, "wait")) is not None:
            c.hang(lambda: f not in self._faults)
        if self._fault(request, "hang") is not None:
            c.hang()
        c.old = self._fault(request, "http/1.0") is not None
        if self._refused(c, request) or self._replaced(c, request):
            return
        c.split = self._fault(request, "split") is not None
        handler = {("GET", "list"): self._list, ("GET", "get"): self._get,
                   ("GET", "watch"): self._watch,
                   ("POST", "create"): self._create,
                   ("PATCH", "patch"): self._patch,
                   ("DELETE", "delete"): self._delete}.get(
                       (request.method, request.verb))
        if handler is None:
            raise ApiError(405, "the server does not allow this method on "
                           "the requested resource", {})
        handler(c, request)

    def _refused(self, c, request):
        """The faults that are an answer of their own."""
        f = self._fault(request, "429", "500", "401", "403")
        if f is None:
            return False
        if f.kind == "500":
            c.send(request, 500, b"<html><h1>500</h1></html>\n",
                   kind="text/html")
        elif f.kind == "429":
            error = ApiError(429, "Too many requests, please try again later.")
            after = f.retry_after
            c.send(request, 429, to_json(error.status) + b"\n",
                   {"Retry-After": after() if callable(after) else after})
        elif f.kind == "401":
            raise ApiError(401, "Unauthorized")
        else:
            group = RESOURCES[request.resource][0]
            raise ApiError(
                403, f'{request.resource} is forbidden: User "holder" cannot '
                f'{request.verb} resource "{request.resource}" in API group '
                f'"{group}" at the cluster scope',
                {"group": group, "kind": request.resource})
        return True

    def _replaced(self, c, request):
        """The faults that are whatever the test says."""
        f = self._fault(request, "answer", "endless")
        if f is None:
            return False
        if f.kind == "answer":
            body = f.body(request) if callable(f.body) else f.body
            c.send(request, f.status, body, f.headers)
            return True
        c.head(request, 200, {"Content-Type": "application/json"})
        c.put(f.body)
        while not self.stopping:    # or until the client has enough
            c.put(f.fill)
            time.sleep(f.seconds)
        raise Hangup()

    def _json(self, request, value):
        """value as bytes, edited where a test says so."""
        if (f := self._fault(request, "edit")) is not None:
            value = f.edit(copy.deepcopy(value))
        return value if isinstance(value, bytes) else to_json(value) + b"\n"

    def _form(self, request, is_list=False):
        form = accept_form(request.headers.get("accept"), is_list)
        if form is None:
            raise ApiError(406, "only the following media types are accepted:"
                           " application/json", {})
        return form

    def _send(self, c, request, value):
        """A 200 with the faults that bodies can have."""
        body = self._json(request, value)
        if self._fault(request, "short") is not None:
            body = body[:len(body) // 2]
        if self._fault(request, "lost-reply") is not None:
            c.hang()
        if (f := self._fault(request, "late-reply")) is not None:
            time.sleep(f.seconds)
        if self._fault(request, "hang-middle") is not None:
            c.send(request, 200, body, part=len(body) // 2)
            c.hang()
        if self._fault(request, "cut") is not None:
            middle = body.find(b'"uid":', len(body) // 2)
            c.send(request, 200, body,
                   part=middle + 9 if middle > 0 else len(body) // 2)
            raise Hangup()
        c.send(request, 200, body)

    def _get(self, c, request):
        obj = self.store.find(request.resource, request.name)
        self._send(c, request, shape(obj, self._form(request)))

    # --- list --------------------------------------------------------------

    def _page(self, request):
        """(rv, objects from here on) of a first or a further page."""
        token = request.query.get("continue")
        if not token:
            with self.store.changed:
                held = self.store.objects[request.resource]
                return self.store.rv, [
                    held[n] for n in sorted(held)
                    if self._shown("list", request.resource, n) and
                    selected(request, held[n])]
        with self.store.changed:
            page = self._pages.get(token)
        if page is None or self._fault(request, "expired") is not None:
            raise ApiError(410, EXPIRED_CONTINUE, cont=token)
        return page

    def _list(self, c, request):
        form = self._form(request, is_list=True)
        rv, left = self._page(request)
        limit = int(request.query.get("limit", "0")) or len(left)
        limit = min(limit, self.page_max)
        withheld = self._fault(request, "withhold", use=False)
        if withheld is not None:
            if request.query.get("continue"):
                self._fault(request, "withhold")
                c.hang()
            limit = min(limit, len(left) // 2)
        items, rest = left[:limit], left[limit:]
        meta = {"resourceVersion": str(rv)}
        if rest or withheld is not None:
            token = base64.urlsafe_b64encode(to_json(
                {"v": "meta.k8s.io/v1", "rv": rv,
                 "start": str(uuid.uuid4())})).decode().rstrip("=")
            with self.store.changed:
                self._pages[token] = (rv, rest)
            meta["continue"] = token
            meta["remainingItemCount"] = len(rest)
        self._send(c, request,
                   list_body(request.resource, items, meta, form))

    # --- watch -------------------------------------------------------------

    def _watch(self, c, request):
        form = self._form(request)
        # Before the client knows of it: what it then drops is this one too.
        with self.store.changed:
            epoch = self._epoch[request.resource]
        c.stream(request)
        rv = int(request.query.get("resourceVersion") or "0")
        with self.store.changed:
            if rv == 0:
                rv = self.store.rv
                held = self.store.objects[request.resource]
                first = [("ADDED", held[n]) for n in sorted(held)]
            else:
                first = []
        for event, obj in first:
            self._event(c, request, event, shape(obj, form))
        self._stream(c, request, form, rv, epoch)
        c.chunk(b"")
        if self._close:
            raise Hangup()

    def _stream(self, c, request, form, rv, epoch):
        """Events after rv, until the watch is over."""
        start = time.monotonic()
        end = start + float(request.query.get("timeoutSeconds") or 1800)
        # Events have no watch cache, which is what sends bookmarks.
        bookmarks = request.resource != "events" and \
            request.query.get("allowWatchBookmarks") in ("1", "true")
        bookmark_at = start + self.bookmark_s
        while not self.stopping and not c.gone():
            now = time.monotonic()
            if self._epoch[request.resource] != epoch or now >= end:
                return
            f = self._fault(request, "silent", "behind", use=False)
            if f is None or f.kind != "silent":
                if rv < self.store.compacted or \
                        self._fault(request, "expired") is not None:
                    self._expire(c, request, rv)
                    return
                if f is None:
                    rv = self._events(c, request, form, rv)
                if bookmarks and now >= bookmark_at:
                    rv = self._bookmark(c, request, form, rv)
                    bookmark_at = now + self.bookmark_s
            with self.store.changed:
                if f is not None or \
                        not self.store.after(request.resource, rv):
                    self.store.changed.wait(0.02)

    def _events(self, c, request, form, rv):
        for rv, resource, event, obj in self.store.after(
                request.resource, rv):
            if self._shown("watch", resource, obj["metadata"]["name"]) and \
                    selected(request, obj):
                self._event(c, request, event, shape(obj, form))
        return rv

    def _bookmark(self, c, request, form, rv):
        """The store's own version, if no event of ours is before it."""
        group, version, kind = RESOURCES[request.resource]
        with self.store.changed:
            if not self.store.after(request.resource, rv):
                rv = self.store.rv
        obj = {"kind": kind,
               "apiVersion": f"{group}/{version}" if group else version,
               "metadata": {"resourceVersion": str(rv),
                            "creationTimestamp": None}}
        self._event(c, request, "BOOKMARK", shape(obj, form))
        return rv

    def _expire(self, c, request, rv):
        error = ApiError(410, f"too old resource version: {rv} "
                         f"({self.store.rv})")
        self._event(c, request, "ERROR", error.status)

    def _event(self, c, request, event, obj):
        line = self._json(request, {"type": event, "object": obj})
        if self._fault(request, "cut") is not None:
            c.chunk(line[:len(line) // 2])
            raise Hangup()
        if self._fault(request, "hang-middle") is not None:
            c.chunk(line[:len(line) // 2])
            c.hang()
        c.chunk(line)

    # --- create, patch -----------------------------------------------------

    def _create(self, c, request):
        name = request.body["metadata"]["name"]
        with self.store.changed:
            if name in self.store.objects[request.resource]:
                raise ApiError(409, f'{request.resource} "{name}" already '
                               "exists", {"name": name})
            obj = copy.deepcopy(request.body)
            obj["metadata"]["uid"] = str(uuid.uuid4())
            obj["metadata"]["creationTimestamp"] = self.stamp()
            obj = self.store.put(request.resource, "ADDED", obj)
            request.changed = True
        if self._fault(request, "lost-reply") is not None:
            c.hang()
        c.send(request, 201, self._json(request, obj))

    def _delete(self, c, request):
        with self.store.changed:
            obj = self.store.find(request.resource, request.name)
            self.store.put(request.resource, "DELETED", obj)
            request.changed = True
        self._send(c, request, {"kind": "Status", "apiVersion": "v1",
                                "metadata": {}, "status": "Success"})

    def _patch(self, c, request):
        kind = request.headers.get("content-type", "").split(";")[0]
        form = self._form(request)
        with self.store.changed:
            old = self.store.find(request.resource, request.name)
            new = self._patched(old, kind, request.body)
            self._check_version(request, old, new)
            if new != old:
                old = self.store.put(request.resource, "MODIFIED", new)
                request.changed = True
        self._send(c, request, shape(old, form))

    @staticmethod
    def _patched(old, kind, body):
        if kind == "application/merge-patch+json":
            if not isinstance(body, dict):
                raise ApiError(400, "the merge patch is no object")
            return merge_patch(old, body)
        if kind != "application/json-patch+json":
            raise ApiError(415, "the body of the request was in an unknown "
                           "format - accepted media types include: "
                           "application/json-patch+json, "
                           "application/merge-patch+json", {})
        if not isinstance(body, list):
            raise ApiError(400, "the JSON patch is no array")
        try:
            return json_patch(old, body)
        except (LookupError, ValueError) as why:
            raise ApiError(422, REJECTED, {}) from why

    @staticmethod
    def _check_version(request, old, new):
        asked = new["metadata"].get("resourceVersion")
        if asked != old["metadata"]["resourceVersion"]:
            group = RESOURCES[request.resource][0]
            full = request.resource + ("." + group if group else "")
            raise ApiError(
                409, f'Operation cannot be fulfilled on {full} '
                f'"{request.name}": the object has been modified; please '
                "apply your changes to the latest version and try again",
                {"name": request.name, "group": group,
                 "kind": request.resource})
        if new["metadata"].get("uid") != old["metadata"]["uid"]:
            raise ApiError(409, "Precondition failed: UID in precondition",
                           {})


# --- self-test -------------------------------------------------------------

PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
NODES = "/api/v1/nodes"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
HOLD = "karpenter.sh/do-not-disrupt"
POINTER = "/metadata/annotations/karpenter.sh~1do-not-disrupt"


class Client:
    """A keep-alive client without any help from an HTTP library, as half of
    what it sees is not HTTP."""

    def __init__(self, api, timeout=10.0, tls=None):
        self.sock = socket.create_connection(("127.0.0.1", api.port), timeout)
        if tls:
            self.sock = tls.wrap_socket(self.sock)
        self.file = self.sock.makefile("rb")

    def close(self):
        self.sock.close()
        self.file.close()

    def ask(self, method, path, body=None, accept="application/json",
            kind="application/merge-patch+json"):
        data = b"" if body is None else to_json(body)
        self.sock.sendall((
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        ).encode() + data)
        code = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            key, _, value = line.decode().partition(": ")
            self.headers[key] = value
        if "Content-Length" not in self.headers:
            return code, None
        self.raw = self.file.read(int(self.headers["Content-Length"]))
        try:
            return code, json.loads(self.raw)
        except ValueError:
            return code, None

    def line(self):
        """The next chunks of a watch up to a line's end; None at its end."""
        text = b""
        while not text.endswith(b"\n"):
            size = int(self.file.readline() or b"0", 16)
            if size == 0:
                self.file.readline()
                return None
            text += self.file.read(size)
            self.file.read(2)
        return json.loads(text)


def fill(api, n=5):
    for i in range(n):
        api.create("nodes", f"n{i}", labels={"karpenter.sh/nodepool": "p"})
        api.create("nodeclaims", f"c{i}")


def test_lists(api):
    fill(api)
    c = Client(api)
    code, page = c.ask("GET", NODES + "?limit=3",
                       accept=PARTIAL.format("List"))
    assert code == 200 and page["kind"] == "PartialObjectMetadataList"
    assert page["items"][0]["kind"] == "PartialObjectMetadata"
    assert "spec" not in page["items"][0]
    api.delete("nodes", "n4")       # a page shows its own version
    code, rest = c.ask("GET", f"{NODES}?limit=3&continue="
                       + page["metadata"]["continue"])
    assert [i["metadata"]["name"] for i in rest["items"]] == ["n3", "n4"]
    assert rest["metadata"]["resourceVersion"] == \
        page["metadata"]["resourceVersion"]
    asked = int(api.now())
    code, claims = c.ask("GET", CLAIMS)
    assert list(claims) == ["apiVersion", "items", "kind", "metadata"]
    assert asked <= email.utils.parsedate_to_datetime(
        c.headers["Date"]).timestamp() <= api.now()
    code, _ = c.ask("GET", NODES, accept=PARTIAL.format(""))
    assert code == 406
    assert len({r.connection for r in api.requests}) == 1


def test_writes(api):
    node = api.create("nodes", "a")["metadata"]
    c = Client(api)
    patch = {"metadata": {"resourceVersion": node["resourceVersion"],
                          "annotations": {HOLD: "true"}}}
    assert c.ask("PATCH", NODES + "/a", patch)[0] == 200
    assert api.annotations("nodes", "a") == {HOLD: "true"}
    code, status = c.ask("PATCH", NODES + "/a", patch)
    assert code == 409 and status["reason"] == "Conflict"
    ops = [{"op": "test", "path": "/metadata/uid", "value": node["uid"]},
           {"op": "test", "path": POINTER, "value": "true"},
           {"op": "remove", "path": POINTER}]
    kind = "application/json-patch+json"
    assert c.ask("PATCH", NODES + "/a", ops, kind=kind)[0] == 200
    assert "annotations" not in api.get("nodes", "a")["metadata"]
    code, status = c.ask("PATCH", NODES + "/a", ops, kind=kind)
    assert (code, status["reason"], status["message"]) == \
        (422, "Invalid", REJECTED)
    code, status = c.ask("GET", CLAIMS + "/none")
    assert code == 404 and status["details"]["group"] == "karpenter.sh"
    assert c.ask("PATCH", NODES + "/a", {}, kind="text/plain")[0] == 415
    assert c.ask("PUT", NODES + "/a", {})[0] == 405


def test_watch(api):
    api.bookmark_s = 0.1
    rv = int(api.create("nodes", "a")["metadata"]["resourceVersion"])
    api.patch_meta("nodes", "a", annotations={"k": "v"})
    c = Client(api)
    path = f"{NODES}?watch=1&allowWatchBookmarks=true"

    def version(line):
        return int(line["object"]["metadata"]["resourceVersion"])
    c.ask("GET", f"{path}&resourceVersion={rv}", accept=PARTIAL.format(""))
    line = c.line()
    assert line["type"] == "MODIFIED" and "spec" not in line["object"]
    api.create("nodeclaims", "c")
    while version(line) < rv + 2:
        line = c.line()
        assert line["type"] == "BOOKMARK", line
    fault = api.fault("nodes", "watch", "silent")
    api.delete("nodes", "a")
    time.sleep(0.1)
    api.clear(fault)
    while version(line) == rv + 2:      # bookmarks of before
        line = c.line()
    assert line["type"] == "DELETED"
    api.drop_watches("nodes")
    while (line := c.line()) is not None:
        assert line["type"] == "BOOKMARK"
    api.fault("nodes", "watch", "split", times=1)
    c.ask("GET", f"{path}&resourceVersion={rv}")
    assert c.line()["object"]["kind"] == "Node"
    api.fault("nodes", "watch", "expired", times=1)
    line = c.line()
    while line["type"] != "ERROR":
        line = c.line()
    assert line["object"]["code"] == 410 and c.line() is None
    api.compact()
    c.ask("GET", f"{path}&resourceVersion={rv}")
    assert c.line()["object"]["reason"] == "Expired"


def hangs(api, method, path, body=None):
    """Asks on a connection of its own; True if no whole answer comes."""
    c = Client(api, timeout=0.15)
    try:
        code, _ = c.ask(method, path, body)
        return "Content-Length" in c.headers and \
            len(c.raw) < int(c.headers["Content-Length"])
    except (TimeoutError, OSError):
        return True


def test_faults(api):
    fill(api)
    c = Client(api)
    for kind, code in (("429", 429), ("500", 500), ("401", 401),
                       ("403", 403)):
        api.fault("*", "list", kind, times=1)
        assert c.ask("GET", NODES)[0] == code
        if code == 429:
            assert c.headers["Retry-After"] == "1"
    token = c.ask("GET", NODES + "?limit=1")[1]["metadata"]["continue"]
    api.fault("nodes", "list", "expired", times=1)
    code, status = c.ask("GET", f"{NODES}?limit=1&continue={token}")
    assert code == 410 and status["metadata"]["continue"]
    for kind in ("hang", "hang-middle", "cut"):
        fault = api.fault("nodes", "list", kind)
        assert hangs(api, "GET", NODES), kind
        assert c.ask("GET", CLAIMS)[0] == 200
        api.clear(fault)
    api.fault("nodes", "patch", "lost-reply", times=1)
    assert hangs(api, "PATCH", NODES + "/n0",
                 {"metadata": {"annotations": {"k": "v"}}})
    api.wait(lambda: api.annotations("nodes", "n0") == {"k": "v"})
    fault = api.fault("nodes", "list", "withhold")
    page = c.ask("GET", NODES)[1]
    assert len(page["items"]) == 2
    path = f"{NODES}?continue={page['metadata']['continue']}"
    assert hangs(api, "GET", path)
    api.clear()
    assert len(c.ask("GET", path)[1]["items"]) == 3
    api.serve("nodeclaims", False)
    assert c.ask("GET", CLAIMS) == (404, None)
    assert c.raw == b"404 page not found\n"
    assert api.count(verb="patch", resource="nodes") == 1


def test_behind(api):
    api.bookmark_s = 0.05
    rv = api.create("nodes", "a")["metadata"]["resourceVersion"]
    c = Client(api)
    fault = api.fault("nodes", "watch", "behind")
    c.ask("GET", f"{NODES}?watch=1&allowWatchBookmarks=true"
          f"&resourceVersion={rv}")
    api.patch_meta("nodes", "a", annotations={"k": "v"})
    line = c.line()
    assert line["type"] == "BOOKMARK"
    assert line["object"]["metadata"]["resourceVersion"] == rv
    api.clear(fault)
    while (line := c.line())["type"] == "BOOKMARK":
        pass
    assert line["type"] == "MODIFIED"
    api.hide("nodes", "a")
    other = Client(api)
    assert other.ask("GET", NODES)[1]["items"] == []
    assert other.ask("GET", NODES + "/a")[0] == 200
    api.show("nodes", "a")
    while (line := c.line())["type"] == "BOOKMARK":
        pass
    assert line["object"]["metadata"]["name"] == "a"
    api.create("nodes", "b")
    api.page_max = 1
    assert len(other.ask("GET", NODES + "?limit=9")[1]["items"]) == 1


def test_token(api):
    api.token = "t"
    code, status = Client(api).ask("GET", NODES)
    assert code == 401 and status["reason"] == "Unauthorized"


def test_answers_of_the_tests_own(api):
    fill(api, 1)
    c = Client(api)
    api.fault("nodes", "list", "answer", times=1, status=302, body=b"moved",
              headers={"Location": "/x"})
    assert c.ask("GET", NODES)[0] == 302
    assert c.raw == b"moved" and c.headers["Location"] == "/x"
    head = api.fault("nodes", "list", "head", headers={"Date": None, "A": 1})
    edit = api.fault("nodes", "list", "edit",
                     edit=lambda v: {**v, "items": None})
    code, page = c.ask("GET", NODES)
    assert code == 200 and page["items"] is None
    assert c.headers["A"] == "1" and "Date" not in c.headers
    api.clear(head)
    api.clear(edit)
    api.fault("nodes", "list", "edit", times=1, edit=lambda v: b"<html>")
    assert c.ask("GET", NODES) == (200, None) and c.raw == b"<html>"
    assert c.ask("GET", NODES)[1]["items"] and c.headers["Date"]
    api.fault("nodes", "watch", "edit", times=1,
              edit=lambda v: {**v, "type": "ODD"})
    c.ask("GET", NODES + "?watch=1")
    assert c.line()["type"] == "ODD"
    api.fault("nodes", "list", "endless", body=b"[", fill=b"1,")
    c = Client(api)
    assert c.ask("GET", NODES) == (200, None)
    assert c.file.read(1001) == b"[" + b"1," * 500


def test_http_1_0(api):
    fill(api, 1)
    api.fault("*", "*", "http/1.0")
    c = Client(api)
    assert c.ask("GET", NODES)[0] == 200 and c.file.read() == b""
    c = Client(api)
    c.ask("GET", f"{NODES}?watch=1&timeoutSeconds=0.1")
    assert "Transfer-Encoding" not in c.headers
    assert json.loads(c.file.read())["type"] == "ADDED"
    assert len(api.accepted) == 2


def test_tls(api):
    with tempfile.NamedTemporaryFile() as pair:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-keyout",
             pair.name, "-out", pair.name + ".crt"],
            stdin=subprocess.DEVNULL, capture_output=True, check=True)
        api.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        api.tls.load_cert_chain(pair.name + ".crt", pair.name)
        os.unlink(pair.name + ".crt")
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    c = Client(api, tls=trusting)
    assert c.ask("GET", NODES)[0] == 200
    api.fault("nodes", "watch", "hang")
    c.sock.sendall(f"GET {NODES}?watch=1 HTTP/1.1\r\n\r\n".encode())
    api.wait(lambda: api.count(verb="watch"))
    c.close()
    api.wait(lambda: not api._connections)
    plain = Client(api)
    plain.sock.sendall(f"GET {NODES} HTTP/1.1\r\n\r\n".encode())
    plain.file.read()       # an alert
    plain.close()
    api.wait(lambda: len(api.accepted) == 2 and not api._connections)
    assert api.count(verb="list") == 1


def selftest():
    tests = (test_lists, test_writes, test_watch, test_faults, test_behind,
             test_token, test_answers_of_the_tests_own, test_http_1_0,
             test_tls)
    for test in tests:
        with ScriptedApi() as api:
            test(api)
    print(f"scripted_api: {len(tests)} tests passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--selftest", action="store_true")
    if parser.parse_args().selftest:
        selftest()
        return
    with ScriptedApi() as api:
        print(api.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
