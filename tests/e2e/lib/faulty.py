# SPDX-License-Identifier: Apache-2.0
"""A proxy between holders and kube-apiserver that fails on purpose.

    with Faulty(plane, seed) as faulty:
        faulty.url                  # for the holders' kubeconfigs
        faulty.fail(RATES)          # from now on
        faulty.heal()               # from now on all goes well

It terminates TLS, so that it knows where a request, an answer or a line of a
watch begins, and hands on everything else as it came, the bearer token with
it.  Whatever it does to an answer, it has read it: `calls` says of each
request who sent it, when, and what the API server really did.
"""
import collections
import contextlib
import dataclasses
import functools
import http.client
import json
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse

# How often a request of each class suffers, and from what (weights).  "stall"
# is shorter than any deadline of the holder, "long stall" is longer than the
# 10 s of a write: the holder has given up when the API server gets it.
RATES = {"watch": 0.6, "read": 0.4, "write": 0.6, "lease": 0.15, "event": 0.4}
COMMON = {"refused": 2, "stall": 2, "long stall": 1, "delay": 2,
          "half-open": 1, "cut answer": 2, "lost answer": 2}
WAYS = {
    "watch": {"refused": 2, "stall": 1, "delay": 2, "half-open": 3,
              "cut line": 4},
    "read": COMMON,
    "write": {**COMMON, "repeat": 4, "late repeat": 5, "lost answer": 4},
    "lease": {**COMMON, "repeat": 3, "late repeat": 1},
    "event": {**COMMON, "repeat": 2},
}
LONG_S = (10.5, 13)
DROPPED = ("connection", "content-length", "transfer-encoding", "keep-alive")
WRITES = ("PATCH", "POST", "PUT", "DELETE")


@dataclasses.dataclass
class Try:
    """One time that the API server got it."""

    sent: float
    answered: float
    status: int
    body: bytes

    @functools.cached_property
    def answer(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    def version(self):
        """The resourceVersion that a write left behind, or None."""
        found = 200 <= self.status < 300 and re.search(
            rb'"resourceVersion":\s*"(\d+)"', self.body)
        return int(found[1]) if found else None


@dataclasses.dataclass
class Call:
    who: str            # a name of `tokens`
    kind: str           # a key of WAYS
    method: str
    path: str
    body: bytes
    at: float           # when the request was whole
    fault: str = ""
    tries: list = dataclasses.field(default_factory=list)
    reached: float = 0  # when the answer was whole on its way back; 0: never

    @property
    def resource(self):
        """("nodes", "a") of a path."""
        parts = urllib.parse.urlsplit(self.path).path.split("/")
        for i, part in enumerate(parts):
            if part in ("nodes", "nodeclaims", "nodepools", "leases",
                        "events"):
                return part, "/".join(parts[i + 1:])
        return "", ""


def kind_of(method, path):
    if "watch=1" in path:
        return "watch"
    if "/leases" in path:
        return "lease"
    if "/events" in path and method in WRITES:
        return "event"
    return "write" if method in WRITES else "read"


class Gone(Exception):
    """Nothing more is to be said on this connection."""


class Faulty:
    def __init__(self, plane, seed):
        self.plane = plane
        self.rng = random.Random(f"{seed}/network")
        self.tokens = {}            # bearer token -> who
        self.calls = []
        self.counts = collections.Counter()     # (kind, fault) -> how often
        self.requests = collections.Counter()   # kind -> how many
        self.connections = 0
        self._rates = {}
        self._cut_off = set()   # whose calls for the Lease get no answer
        self._lock = threading.Lock()
        self._clients = set()
        self._dead = threading.Event()      # set: half-open ones end
        self._flows = threading.Event()     # clear: nothing goes through
        self._flows.set()
        self._dead.set()
        self._upstream = ssl.create_default_context(
            cafile=str(plane.dir / "ca.crt"))
        self._number = 0
        self._tls = None
        self.rotate()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"https://127.0.0.1:{self._socket.getsockname()[1]}"
        self._start(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.heal()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.cut_all()

    # What a test does to it

    def fail(self, rates):
        self._dead.clear()
        self._rates = rates

    def heal(self, dead=True):
        """No request suffers any more.  dead: connections that are half-open
        end, as when the peer's reset comes at last."""
        self._rates = {}
        self._flows.set()
        if dead:
            self._dead.set()

    def stop_flowing(self):
        """Nothing goes through, on any connection."""
        self._flows.clear()
        self.counts["all", "stopped"] += 1

    def flow(self):
        self._flows.set()

    def cut_off(self, who):
        """It cannot renew the Lease until reconnect(); all else goes on."""
        self._cut_off.add(who)
        self.counts["all", "cut off"] += 1

    def reconnect(self):
        self._cut_off.clear()

    def cut_all(self):
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            with contextlib.suppress(OSError):
                # An SSLSocket's own would go on in plain text.
                socket.socket.shutdown(client, socket.SHUT_RDWR)
        self.counts["all", "cut"] += 1
        return len(clients)

    def rotate(self):
        """Another certificate, of the same CA, for connections from now on."""
        self._number += 1
        pair = self.plane.server_certificate(f"proxy{self._number}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        self._tls = context

    # Connections

    @staticmethod
    def _start(call, *args):
        threading.Thread(target=call, args=args, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._start(self._serve, client)

    def _serve(self, raw):
        upstream = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.port, context=self._upstream, timeout=90)
        client = raw
        with self._lock:
            self._clients.add(raw)
        try:
            raw.settimeout(30)
            client = self._tls.wrap_socket(raw, server_side=True)
            client.settimeout(None)
            with self._lock:
                self._clients.add(client)
            reader = client.makefile("rb")
            while self._one(client, reader, upstream):
                pass
        except (OSError, http.client.HTTPException, Gone, ValueError):
            pass
        finally:
            with self._lock:
                self._clients -= {raw, client}
            client.close()
            upstream.close()

    def _one(self, client, reader, upstream):
        """Serves one request.  Returns whether there may be another."""
        first = reader.readline(65536).decode("latin-1").split()
        if len(first) != 3:
            return False
        headers = []
        while (line := reader.readline(65536).decode("latin-1").strip()):
            name, _, value = line.partition(":")
            headers.append((name, value.strip()))
        given = {name.lower(): value for name, value in headers}
        body = reader.read(int(given.get("content-length", 0)))
        token = given.get("authorization", "").removeprefix("Bearer ")
        method, path = first[:2]
        call = Call(self.tokens.get(token, "nobody"), kind_of(method, path),
                    method, path, body, time.time())
        call.fault = self._draw(call)
        with self._lock:
            self.calls.append(call)
        self._before(call, client)
        if call.kind == "watch":
            self._watch(call, client, upstream, headers)
            return False
        answer, status = self._ask(call, upstream, headers)
        if call.fault == "repeat":
            # As of a proxy that got no answer: the second one is passed on.
            answer, status = self._ask(call, upstream, headers)
        elif call.fault == "late repeat":
            self._start(self._again_later, call, headers)
        self._answer(call, client, answer, status)
        return True

    def _draw(self, call):
        kind = call.kind
        with self._lock:
            self.requests[kind] += 1
            if kind == "lease" and call.who in self._cut_off:
                self.counts[kind, "half-open"] += 1
                return "half-open"
            if self.rng.random() >= self._rates.get(kind, 0):
                return ""
            ways = WAYS[kind]
            fault = self.rng.choices(list(ways), ways.values())[0]
            self.counts[kind, fault] += 1
            return fault

    def _between(self, low, high):
        with self._lock:
            return self.rng.uniform(low, high)

    def _half_open(self, client):
        """Says nothing until the client gives up, or all is well again."""
        client.settimeout(0.2)
        while not self._dead.is_set():
            try:
                if not client.recv(65536):
                    break
            except TimeoutError:
                continue
        raise Gone

    def _before(self, call, client):
        """What happens to a request on its way there."""
        if call.fault == "refused":
            raise Gone
        if call.fault == "stall":
            time.sleep(self._between(0.5, 4))
        elif call.fault == "long stall":
            time.sleep(self._between(*LONG_S))
        elif call.fault == "delay":
            time.sleep(self._between(0.05, 0.5))
        elif call.fault == "half-open" and call.kind != "watch":
            self._half_open(client)
        self._flows.wait()

    @staticmethod
    def _send(call, upstream, headers):
        upstream.putrequest(call.method, call.path, skip_host=True,
                            skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() not in ("connection", "expect"):
                upstream.putheader(name, value)
        upstream.endheaders(call.body or None)
        return upstream.getresponse()

    def _ask(self, call, upstream, headers):
        sent = time.time()
        try:
            answer = self._send(call, upstream, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError,
                ConnectionResetError):
            # The connection was idle for too long.
            upstream.close()
            answer = self._send(call, upstream, headers)
        body = answer.read()
        # Long lists that nobody asks for are not kept.
        keep = call.method in WRITES or call.resource == ("nodeclaims", "")
        call.tries.append(Try(sent, time.time(), answer.status,
                              body if keep else b""))
        return answer, body

    def _again_later(self, call, headers):
        time.sleep(self._between(1, 15))
        upstream = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.port, context=self._upstream, timeout=30)
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._ask(call, upstream, headers)
        upstream.close()

    @staticmethod
    def _head(answer, more):
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
        lines += [f"{name}: {value}" for name, value in answer.getheaders()
                  if name.lower() not in DROPPED]
        return ("\r\n".join(lines + [more]) + "\r\n\r\n").encode("latin-1")

    def _answer(self, call, client, answer, body):
        self._flows.wait()
        if call.fault == "lost answer":
            raise Gone
        whole = self._head(answer, f"Content-Length: {len(body)}") + body
        if call.fault == "cut answer":
            client.sendall(whole[:int(self._between(1, len(whole)))])
            raise Gone
        if call.fault == "delay":
            half = len(whole) // 2
            client.sendall(whole[:half])
            time.sleep(self._between(0.05, 0.5))
            client.sendall(whole[half:])
        else:
            client.sendall(whole)
        call.reached = time.time()

    def _watch(self, call, client, upstream, headers):
        answer = self._send(call, upstream, headers)
        call.tries.append(Try(call.at, time.time(), answer.status, b""))
        if answer.status != 200:
            self._answer(call, client, answer, answer.read())
            return
        # The API server ends a watch by itself; its bookmarks are a minute
        # apart.
        upstream.sock.settimeout(600)
        client.sendall(self._head(answer, "Transfer-Encoding: chunked"))
        fine = int(self._between(0, 4))     # pieces before the fault
        while piece := answer.read1(65536):
            self._flows.wait()
            if call.fault and fine == 0:
                if call.fault == "half-open":
                    self._half_open(client)
                if call.fault == "delay":
                    time.sleep(self._between(0.05, 1.5))
                elif call.fault == "stall":
                    time.sleep(self._between(0.5, 4))
                    call.fault += "ed"
                elif call.fault == "cut line":
                    some = piece[:int(self._between(1, len(piece)))]
                    client.sendall(b"%x\r\n%s\r\n" % (len(some), some))
                    raise Gone
            fine = max(0, fine - 1)
            client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        client.sendall(b"0\r\n\r\n")

    # What it saw

    def taken(self, begin=0):
        """The calls so far, from this index on."""
        with self._lock:
            return self.calls[begin:]

    def told(self):
        """The counts, as lines of text."""
        lines = []
        for kind in WAYS:
            each = {fault: n for (k, fault), n in sorted(self.counts.items())
                    if k == kind}
            lines.append(f"  {kind:8} {self.requests[kind]:6} requests, "
                         f"{sum(each.values()):5} with a fault: "
                         + ", ".join(f"{n} {f}" for f, n in each.items()))
        each = self.counts
        lines.append(
            f"  all connections at once: {each['all', 'cut']} times cut, "
            f"{each['all', 'stopped']} times stopped; "
            f"{each['all', 'cut off']} times a leader cut off from the "
            f"Lease; {self.connections} connections")
        return "\n".join(lines)
