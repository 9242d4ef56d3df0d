# SPDX-License-Identifier: Apache-2.0
"""One accepted connection: requests come in, answers go out."""
import dataclasses
import email.utils
import json
import select
import socket
import ssl
import time
import urllib.parse
import uuid

from .shapes import ApiError, to_json

HTTP_REASONS = {
    200: "OK", 201: "Created",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    409: "Conflict", 410: "Gone", 415: "Unsupported Media Type",
    422: "Unprocessable Entity", 429: "Too Many Requests",
    500: "Internal Server Error",
}


class Hangup(Exception):
    """This connection is over, and nothing more is sent on it."""


@dataclasses.dataclass
class Request:
    """A request as it came.  status is 0 until it is answered.  changed: its
    patch has changed the object, whatever the answer."""
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


class Connection:
    """One accepted socket; reads requests and answers them in turn."""

    def __init__(self, api, sock, ident):
        self.api, self.sock, self.ident = api, sock, ident
        self.file = None
        self.split = 0          # in pieces of so many bytes; 0: it is not
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
        """Waits until the client closes.  A reset would discard the alert,
        which says why."""
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
        self.split, self.old = 0, False
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
        for i in range(0, len(data), self.split):
            self.sock.sendall(data[i:i + self.split])

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
        """Sends a whole answer, or with part only so many bytes of its body.
        """
        head = {"Content-Type": kind, "Content-Length": len(body)}
        head.update(headers or {})
        self.head(request, code, head)
        self.put(body if part is None else body[:part])

    def stream(self, request):
        """Sends the head of an answer that comes in chunks."""
        head = {"Content-Type": "application/json"}
        if not self.old:
            head["Transfer-Encoding"] = "chunked"
        self.head(request, 200, head)

    def chunk(self, data):
        """Sends a chunk; b"" is the last one."""
        if self.old:
            self.sock.sendall(data)
        elif self.split and data:
            for i in range(0, len(data), self.split):
                piece = data[i:i + self.split]
                self.sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        else:
            self.sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def gone(self):
        """Has the client closed?  It sends nothing while it waits, and over
        TLS only that it closes."""
        try:
            ready, _, _ = select.select([self.sock], [], [], 0)
            return bool(ready) and (
                isinstance(self.sock, ssl.SSLSocket) or
                not self.sock.recv(1, socket.MSG_PEEK))
        except (OSError, ValueError):
            return True

    def hang(self, over=lambda: False):
        """Waits until it is over.  Raises Hangup if the client gives up or the
        server stops before that."""
        while not over():
            if self.api.stopping or self.gone():
                raise Hangup()
            time.sleep(0.02)
