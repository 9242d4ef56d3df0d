# SPDX-License-Identifier: Apache-2.0
"""The server: how a test controls it, and how it answers the daemon."""
import base64
import copy
import json
import socket
import sys
import threading
import time
import urllib.parse
import uuid

from .connection import Connection, Hangup
from .faults import FAULTS, Fault
from .patches import json_patch, merge_patch
from .resources import PATHS, RESOURCES
from .shapes import (EXPIRED_CONTINUE, REJECTED, ApiError, accept_form,
                     list_body, shape, to_json)
from .store import Store, selected


# Seconds between two looks whether the client of a watch is still there.
LOOK_S = 0.25


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
        # How often drop_watches was called.
        self._epoch = {r: 0 for r in RESOURCES}
        self._close = False
        self._pages = {}            # continue token: (rv, objects, next)
        # {resource: (n, make)}: lists have n more objects, make(i) each.
        self.crowds = {}
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
        self.store.tell()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        self.cut_connections()

    def now(self):
        """The time of its clock, in seconds since 1970."""
        return time.time() + self.clock_offset

    def stamp(self, offset=0.0):
        """The time of its clock as RFC 3339, `offset` seconds from now."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ",
                             time.gmtime(self.now() + offset))

    def write_kubeconfig(self, path, token_file=None, cluster=None,
                         user=None):
        """Writes a kubeconfig (JSON is YAML) whose one context leads here.
        cluster and user are further fields of these."""
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
        """Stores a new object and returns it.  created is RFC 3339, by default
        now; top has what stands beside metadata; further keywords go into
        metadata."""
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
        """Makes Karpenter's Event on a NodeClaim."""
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
        """Applies a merge patch as somebody else; None removes a key."""
        with self.store.changed:
            old = self.store.find(resource, name)
            new = merge_patch(old, patch)
            if new.get("spec") != old.get("spec"):
                new["metadata"]["generation"] += 1
            return self.store.put(resource, "MODIFIED", new)

    def patch_meta(self, resource, name, **meta):
        """patch_meta("nodes", "a", annotations={"k": "v", "gone": None})"""
        return self.change(resource, name, {"metadata": meta})

    def set_status(self, resource, name, **status):
        """set_status("nodeclaims", "c", nodeName="a", conditions=[...])"""
        return self.change(resource, name, {"status": status})

    def delete(self, resource, name):
        """Removes it at once.  (A deletion that waits for finalizers is
        patch_meta(..., deletionTimestamp=api.stamp()).)"""
        with self.store.changed:
            return self.store.put(resource, "DELETED",
                                  self.store.find(resource, name))

    def hide(self, resource, name, verbs=("list", "watch")):
        """These verbs no longer show the object, as a client sees it whose
        watch cache is behind."""
        with self.store.changed:
            self._hidden[resource, name] = verbs

    def show(self, resource, name):
        """The object is no longer hidden; a watch reports it as modified."""
        with self.store.changed:
            del self._hidden[resource, name]
            self.store.put(resource, "MODIFIED",
                           self.store.find(resource, name))

    def _shown(self, verb, resource, name):
        return verb not in self._hidden.get((resource, name), ())

    # --- faults ------------------------------------------------------------

    def fault(self, resource, verb, kind, **options):
        """Switches a fault of FAULTS on for list, watch, get, patch … ("*":
        all) of a resource ("*": all). times=N: only for the next N; name=NAME:
        only for this object."""
        if kind not in FAULTS:
            raise ValueError(f"no fault {kind!r}: {', '.join(FAULTS)}")
        fault = Fault(resource, verb, kind, **options)
        with self.store.changed:
            self._faults.append(fault)
            self.store.tell()
        return fault

    def clear(self, fault=None):
        """Switches off one fault, or all.  A connection that hangs goes on
        hanging, and a silent watch sends what it has kept back."""
        with self.store.changed:
            self._faults = [f for f in self._faults
                            if fault is not None and f is not fault]
            self.store.tell()

    def serve(self, resource, served=True):
        """Says whether the CRD exists.  Without it requests get a plain-text
        404, and watches end."""
        with self.store.changed:
            (self._unserved.discard if served
             else self._unserved.add)(resource)
        self.drop_watches(resource)

    def drop_watches(self, resource, close=False):
        """Ends the open watches of a resource, as a server may.  close: their
        connections are closed as well."""
        with self.store.changed:
            self._epoch[resource] += 1
            self._close = close
            self.store.tell()

    def expire_connections(self):
        """Answers 401 on each connection that is open now, as after the expiry
        of a client certificate, which a real server accepts in the handshake
        all the same."""
        self.expired = len(self.accepted)

    def cut_connections(self):
        """Closes every connection at once, as a server that dies does."""
        with self._lock:
            connections = list(self._connections.values())
        for c in connections:
            try:
                c.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def compact(self):
        """Forgets the history.  A watch that begins before gets a 410 in its
        stream, and an earlier `continue` gets a 410."""
        with self.store.changed:
            self.store.compacted = self.store.rv
            self.store.history.clear()
            self._pages.clear()
            self.store.tell()

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
        """Waits until condition() is true and returns its value, or raises
        AssertionError."""
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
        """Fills in resource, name and verb if the path has them."""
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
        """The first of these kinds of fault that is on for this request.
        `use` counts it against its times."""
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
        f = self._fault(request, "split")
        c.split = f.size if f is not None else 0
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
        """Answers with a fault that is an answer of its own."""
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
        """Answers with whatever the test says."""
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
        """Returns value as bytes, edited if a test asked for that."""
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
        """Sends a 200, with the faults that bodies can have."""
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
        """Returns (rv, objects, the first of them that is on this page)."""
        token = request.query.get("continue")
        if not token:
            with self.store.changed:
                held = self.store.objects[request.resource]
                n, _ = self.crowds.get(request.resource, (0, None))
                return self.store.rv, [
                    held[n] for n in sorted(held)
                    if self._shown("list", request.resource, n) and
                    selected(request, held[n])] + list(range(n)), 0
        with self.store.changed:
            page = self._pages.get(token)
        if page is None or self._fault(request, "expired") is not None:
            raise ApiError(410, EXPIRED_CONTINUE, cont=token)
        return page

    def _list(self, c, request):
        form = self._form(request, is_list=True)
        rv, objects, at = self._page(request)
        left = len(objects) - at
        limit = int(request.query.get("limit", "0")) or left
        limit = min(limit, self.page_max)
        withheld = self._fault(request, "withhold", use=False)
        if withheld is not None:
            if request.query.get("continue"):
                self._fault(request, "withhold")
                c.hang()
            limit = min(limit, left // 2)
        items, rest = objects[at:at + limit], max(0, left - limit)
        _, make = self.crowds.get(request.resource, (0, None))
        items = [make(i) if isinstance(i, int) else i for i in items]
        meta = {"resourceVersion": str(rv)}
        if rest or withheld is not None:
            token = base64.urlsafe_b64encode(to_json(
                {"v": "meta.k8s.io/v1", "rv": rv,
                 "start": str(uuid.uuid4())})).decode().rstrip("=")
            with self.store.changed:
                self._pages[token] = (rv, objects, at + limit)
            meta["continue"] = token
            meta["remainingItemCount"] = rest
        self._send(c, request,
                   list_body(request.resource, items, meta, form))

    # --- watch -------------------------------------------------------------

    def _watch(self, c, request):
        form = self._form(request)
        # This is read before the client knows of the watch, so that a later
        # drop_watches ends it.
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
        """Sends the events after rv until the watch is over."""
        start = time.monotonic()
        end = start + float(request.query.get("timeoutSeconds") or 1800)
        looked = -LOOK_S
        # Events have no watch cache, and only a watch cache sends bookmarks.
        bookmarks = request.resource != "events" and \
            request.query.get("allowWatchBookmarks") in ("1", "true")
        bookmark_at = start + self.bookmark_s
        while not self.stopping:
            news, now = self.store.news, time.monotonic()
            if now - looked >= LOOK_S:
                looked = now
                if c.gone():
                    return
            if self._epoch[request.resource] != epoch or now >= end:
                return
            f = self._fault(request, "silent", "behind", use=False)
            silent = f is not None and f.kind == "silent"
            if not silent:
                if rv < self.store.compacted or \
                        self._fault(request, "expired") is not None:
                    self._expire(c, request, rv)
                    return
                if f is None:
                    rv = self._events(c, request, form, rv)
                if bookmarks and now >= bookmark_at:
                    rv = self._bookmark(c, request, form, rv)
                    bookmark_at = now + self.bookmark_s
            # Whatever changes says so, and only time does not.
            at = min(end, looked + LOOK_S)
            if bookmarks and not silent:
                at = min(at, bookmark_at)
            with self.store.changed:
                if self.store.news == news:
                    self.store.changed.wait(max(0, at - time.monotonic()))

    def _events(self, c, request, form, rv):
        for rv, resource, event, obj in self.store.after(
                request.resource, rv):
            if self._shown("watch", resource, obj["metadata"]["name"]) and \
                    selected(request, obj):
                self._event(c, request, event, shape(obj, form))
        return rv

    def _bookmark(self, c, request, form, rv):
        """Sends the version of the store, if no event of this resource comes
        before it."""
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
            obj["metadata"]["generation"] = 1
            obj = self.store.put(request.resource, "ADDED", obj)
            request.changed = True
        if self._fault(request, "lost-reply") is not None:
            c.hang()
        c.send(request, 201, self._json(request, obj))

    def _delete(self, c, request):
        with self.store.changed:
            obj = self.store.find(request.resource, request.name)
            asked = (request.body or {}).get("preconditions") or {}
            if any(obj["metadata"][k] != v for k, v in asked.items()):
                raise ApiError(409, "Precondition failed", {})
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
