# SPDX-License-Identifier: Apache-2.0
"""A client that sends whatever bytes it is told to, with TLS or without.

TLS runs in memory, beside the socket.  A test can send the encrypted bytes
when it likes and as slowly as it likes (Client.seal, Client.put).
"""
import collections
import contextlib
import resource
import selectors
import select
import socket
import ssl
import sys
import time
import warnings

# Seconds that holder-fast gives to a head and to a body: with HURRY, and
# without.
DEADLINE, PATIENT = 0.5, 10

Answer = collections.namedtuple("Answer", "status fields body")


def tls_context(version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if version is not None:     # even a version that OpenSSL considers too old
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion[version]
            context.maximum_version = ssl.TLSVersion[version]
    return context


CONTEXT = tls_context()


class Late(Exception):
    """This machine was too busy to send in time."""


class Client:
    """One connection.  Sending to a connection that the server has closed is
    no error: what was received before tells."""

    def __init__(self, port, tls=True, context=CONTEXT, timeout=60,
                 narrow=False):
        self.port = port
        self.sock = socket.socket()
        self.sock.settimeout(timeout)
        if narrow:      # makes the kernels on both sides buffer little
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        self.wire = bytearray()     # all bytes received
        self.got = bytearray()  # those of them that nobody has looked at yet
        self.closed = False         # by the server
        self.tls = None
        # When it was connected, or last answered.
        self.since = time.monotonic()
        self.slowest = 0
        self.sock.connect(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.come, self.go = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = context.wrap_bio(self.come, self.go)

    def close(self):
        self.sock.close()

    # --- out ---------------------------------------------------------------

    def hello(self):
        """Returns the first bytes of a handshake."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.go.read()

    def shake(self):
        """Does the whole handshake and returns self.  ssl.SSLError: it was
        refused."""
        while True:
            try:
                self.tls.do_handshake()
                self.put(self.go.read())
                self.slow()
                return self
            except ssl.SSLWantReadError:
                self.put(self.go.read())
                if not self.take():
                    self.slow()
                    raise ssl.SSLError("closed in the handshake") from None

    def seal(self, data):
        """Returns the bytes on the wire that carry data."""
        if self.tls is None or not data:
            return data
        self.tls.write(data)
        return self.go.read()

    def put(self, wire):
        with contextlib.suppress(ConnectionError):
            self.sock.sendall(wire)

    def send(self, data):
        self.put(self.seal(data))
        self.slow()

    def slow(self):
        self.slowest = max(self.slowest, time.monotonic() - self.since)

    def late(self, deadline=DEADLINE):
        """Did we take so long to send that the server may have cut us off?"""
        return self.slowest > deadline * 0.8

    def end(self):
        """Closes our half: nothing more will come from here."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    # --- in ----------------------------------------------------------------

    def take(self):
        """Reads what the socket has next; False: the server has closed it."""
        try:
            wire = self.sock.recv(1 << 16)
        except ConnectionError:
            wire = b""
        self.closed = self.closed or not wire
        self.wire += wire
        if self.tls is None:
            self.got += wire
        else:
            self.come.write(wire)
        return not self.closed

    def more(self):
        """Waits for more of the answers; False: there will be no more."""
        alive = self.take()
        # There is no more yet, or this is the end.
        with contextlib.suppress(ssl.SSLError):
            while self.tls is not None:
                text = self.tls.read(1 << 16)
                if not text:
                    return False
                self.got += text
        return alive

    def gone(self):
        """Has the server closed the connection?  Does not wait."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        while not self.closed and poll.poll(0):
            self.take()
        return self.closed

    def until(self, mark):
        """What comes up to and including mark; None: mark does not come."""
        while mark not in self.got:
            if not self.more() and mark not in self.got:
                return None
        return self.eat(self.got.index(mark) + len(mark))

    def eat(self, n):
        text = bytes(self.got[:n])
        del self.got[:n]
        return text

    def answer(self, bodiless=False):
        """Returns the next answer; None: there is none."""
        head = self.until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        version, status = first.split(" ")[:2]
        assert version in ("HTTP/1.1", "HTTP/1.0"), first
        fields = {}
        for line in lines:
            name, value = line.split(":", 1)
            assert name.lower() not in fields, head
            fields[name.lower()] = value.strip()
        size = int(fields.get("content-length", 0))
        if bodiless or status == "100":
            size = 0
        while len(self.got) < size:
            assert self.more() or len(self.got) >= size, "it is cut off"
        self.since = time.monotonic()
        return Answer(int(status), fields, self.eat(size))

    def rest(self):
        """Returns all that still comes until the server closes."""
        while self.more():
            pass
        return self.eat(len(self.got))


def connect(port, deadline=DEADLINE, **options):
    """Opens a connection and does the handshake.  Late or ssl.SSLError: the
    server closed it."""
    client = Client(port, **options)
    try:
        return client.shake() if client.tls else client
    except ssl.SSLError:
        client.close()
        if client.late(deadline):
            raise Late from None
        raise


# --- a flood, in a process of its own ---------------------------------------

def flood(port, silent, reviewed, request):
    """Opens so many connections and keeps them until stdin ends.  The silent
    ones never send anything, the others have had an answer."""
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
    kept = []
    while len(kept) < reviewed:
        with contextlib.suppress(Late):
            client = connect(port, PATIENT)
            client.send(request)
            answer = client.answer()
            if answer is None and client.late(PATIENT):
                raise Late
            assert answer.status == 200
            kept.append(client)
    for _ in range(silent):
        kept.append(socket.socket())
        # The backlog may be full, so connecting must not block.
        kept[-1].setblocking(False)
        kept[-1].connect_ex(("127.0.0.1", port))
    print("open", flush=True)
    sys.stdin.read()


def crowd(port, n, path, seconds=60):
    """Keeps so many requests pending, each on a connection of its own, until
    stdin ends."""
    request = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode()
    waits, answered, end = selectors.DefaultSelector(), 0, \
        time.monotonic() + seconds
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
    waits.register(sys.stdin, selectors.EVENT_READ)
    pending = 0
    while time.monotonic() < end:
        while pending < n:
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            waits.register(s, selectors.EVENT_WRITE)
            pending += 1
        for key, event in waits.select(1):
            if key.fileobj is sys.stdin:
                return
            with contextlib.suppress(OSError):
                if event & selectors.EVENT_WRITE:
                    key.fileobj.send(request)
                    waits.modify(key.fileobj, selectors.EVENT_READ)
                    continue
                answered += bool(key.fileobj.recv(65536))
            waits.unregister(key.fileobj)
            key.fileobj.close()
            pending -= 1
            if answered == n:
                print("answered", flush=True)


# --- a client in a process of its own, which waits for no other thread ------

def timed(port, n):
    """Prints how long each of n answers took, in seconds.  The request is read
    from stdin.

    Where room is scarce, the server shuts the body that has had most of it for
    the longest time.  That may be ours if this machine was too busy to send it,
    so it is sent again."""
    request = sys.stdin.buffer.read()
    client = connect(port)
    while n > 0:
        client.slowest = 0
        begun = time.monotonic()
        client.send(request)
        answer = client.answer()
        if answer is None and client.late():
            client.close()
            client = connect(port)
            continue
        assert answer is not None and answer.status == 200, (
            answer, client.slowest)
        print(time.monotonic() - begun)
        n -= 1
    client.close()


if __name__ == "__main__":
    if sys.argv[1] == "timed":
        timed(*map(int, sys.argv[2:]))
    elif sys.argv[1] == "crowd":
        crowd(*map(int, sys.argv[2:-1]), sys.argv[-1])
    else:
        flood(*map(int, sys.argv[2:-1]), sys.argv[-1].encode("latin-1"))
