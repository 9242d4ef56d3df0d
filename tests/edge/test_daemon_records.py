# SPDX-License-Identifier: Apache-2.0
"""Records of TLS that no HTTP comes of: what is kept of them has a bound, and
clients that send some now and then live on."""
import contextlib
import os
import socket
import struct
import subprocess
import sys
import time

import pytest

import raw_client
import raw_records
from conftest import PATIENCE, sanitized, wait  # noqa: F401, for skipif
from raw_records import FLOODS, Records
from test_daemon_memory import (LIMIT, MIB, REST, anonymous, limited)
from test_daemon_slow import (BODY, HEAD, HEAD_S, PRODUCT, REVIEW, Good,
                              answered)

# Records of one client until it is closed, if it is alone (limits.h); more than
# that; and the bound for bytes, with the record that goes beyond it.
RECORDS_MAX, WITHIN, BYTES = 48 // 2 + 1, 256, (20 + 17) << 10
MINUTES = float(os.environ.get("RECORDS_MINUTES", 20))


def shaken(holder, version):
    return Records(holder.port("webhookPort"), version).shake()


def unread(client, diag):
    """How many bytes the server's end of the connection has not read, by
    sock_diag(7): the kernel looks this one connection up, while
    /proc/net/tcp lists all there are."""
    ours = client.sock.getsockname()[1]
    home = socket.inet_aton("127.0.0.1") + bytes(12)
    # inet_diag_req_v2, and before it the nlmsghdr of SOCK_DIAG_BY_FAMILY
    diag.send(struct.pack("=IHHIIBBBxI", 72, 20, 1, 0, 0, socket.AF_INET,
                          socket.IPPROTO_TCP, 0, 0xffffffff) +
              struct.pack("!HH", client.port, ours) + home + home +
              struct.pack("=I", 0) + b"\xff" * 8)
    answer = diag.recv(4096)
    if struct.unpack_from("=H", answer, 4)[0] != 20:    # it is closed
        return 0
    return struct.unpack_from("=I", answer, 16 + 56)[0]     # idiag_rqueue


def deliver(client, record):
    """Sends a record and waits until it is read.  In two parts: where a record
    ends, libmicrohttpd may wait for more bytes, although they have come."""
    until = time.monotonic() + PATIENCE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as diag:
        for part in record[:9], record[9:]:
            client.put(part)
            while unread(client, diag) and not client.gone():
                assert time.monotonic() < until, "it is not read"
                time.sleep(0.0002)


def flood(client, wire):
    """Sends until the server closes; returns how many records that took."""
    size = 0
    for n, record in enumerate(wire(client)):
        deliver(client, record)
        size += len(record)
        if n > WITHIN or size > BYTES:
            wait(client.gone, "it closes")
        if client.gone():
            return n
    return None


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_each_has_an_end(w, version):
    """It comes again and again, and what was kept is given back: the last one
    gets as far as the first, if it is our bound that ends it."""
    w.program = PRODUCT
    holder = w.start()
    for name, wire in FLOODS[version].items():
        far = []
        for _ in range(3):
            with contextlib.closing(shaken(holder, version)) as client:
                far.append(flood(client, wire))
        print(f"{version} {name}: closed after {far} records")
        if name.startswith("key-updates"):
            # GnuTLS ends them after eight in a second, if they come so fast.
            assert max(far) <= RECORDS_MAX + 1, (name, far)
        else:
            # Nobody gets more places than all others leave, nor fewer.
            assert (RECORDS_MAX <= min(far) <= max(far) <= RECORDS_MAX + 1 or
                    max(far) < RECORDS_MAX // 2), (name, far)
    assert holder.review()[0] == 200


def plain(kind, content):
    """A record that is not encrypted."""
    return (bytes([kind]) + b"\x03\x03" + len(content).to_bytes(2, "big") +
            content)


def pushed(client, make):
    """Sends what it makes, again and again, until the server closes; returns how
    many bytes that took, with those in the kernel's buffers."""
    size = 0
    while not client.gone():
        assert size < MIB, "it takes them for ever"
        wire = make()
        client.put(wire)
        size += len(wire)
        time.sleep(0.0005)
    return size


@pytest.mark.parametrize("kind, content", [
    (20, b"\x01"), (21, b"\x01\x5a"), (22, b""), (22, b"\x0b"),
    (23, b"a" * 4000), (24, b"\x01\x00\x04abcd")])
def test_in_the_handshake(w, kind, content):
    """Behind a ClientHello (a record of data is what early data looks like)."""
    w.program = PRODUCT
    holder = w.start()
    with contextlib.closing(Records(holder.port("webhookPort"))) as client:
        client.put(client.hello())
        assert pushed(client, lambda: plain(kind, content) * 4) < 100 << 10


POST = (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")


@pytest.mark.parametrize("beginning, more", [
    (b"", b"\r\n"), (b"GET /", b"a"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"a"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n", b"A: a\r\n"),
    (POST + b"1;", b"a"), (POST + b"0\r\n", b"A: a\r\n"),
    (POST + b"0\r\nA: ", b"a")])
@pytest.mark.parametrize("port", ["webhookPort", "metricsPort"])
def test_http_that_never_ends(w, port, beginning, more):
    """libmicrohttpd has 8 KiB for each connection, which is all that a
    connection to the metrics address takes: there all bytes are HTTP."""
    w.program = PRODUCT
    holder = w.start()
    with contextlib.closing(raw_client.connect(
            holder.port(port), tls=port == "webhookPort")) as client:
        client.send(beginning)
        assert pushed(client, lambda: client.seal(more * 512)) < 256 << 10


def test_a_crowd_shares_what_there_is(w):
    """… of places for records that no HTTP came of.  A request needs none, also
    in two records of which the first has its line."""
    w.program = PRODUCT
    holder = w.start()
    empty = FLOODS["TLSv1_3"]["empty-handshake"]
    with contextlib.ExitStack() as kept:
        crowd = [kept.enter_context(contextlib.closing(
            shaken(holder, "TLSv1_3"))) for _ in range(100)]
        for client, records in [(c, empty(c)) for c in crowd]:
            for _ in range(2):
                deliver(client, next(records))
        w.wait(lambda: sum(c.gone() for c in crowd) > 50, "most are closed")
        with contextlib.closing(shaken(holder, "TLSv1_3")) as client:
            for _ in range(3):
                asks(client, client.data(REVIEW[:40]) +
                     client.data(REVIEW[40:]))


# --- who does nothing wrong -----------------------------------------------------

def asks(client, wire):
    client.put(wire)
    answer = client.answer()
    assert answer is not None and answer.status == 200, answer


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_large_and_cut_small(w, version):
    """A request of 7 MiB, in the largest records and in smaller ones, and a head
    of 7 KiB in ten."""
    w.more = {"PATIENT": "1"}   # a busy machine takes more than 10 s for it
    holder = w.start()
    body = BODY + b" " * (7 * MIB - len(BODY) - 4096)
    with contextlib.closing(shaken(holder, version)) as client:
        for size, n in (len(body), 16384), (len(body), 1208), (99999, 61):
            asks(client, client.data(HEAD + b"Content-Length: %d\r\n\r\n" %
                                     size + body[:size], n))
        head = HEAD + b"A: " + b"a" * 6500 + b"\r\n"
        asks(client, client.data(
            head + b"Content-Length: %d\r\n\r\n" % len(BODY), 700) +
            client.data(BODY))


def test_key_updates_now_and_then(w):
    """… in the same packet as a request, or by themselves.  (libgnutls takes
    eight in a second.)"""
    w.program = PRODUCT
    holder = w.start()
    with contextlib.closing(shaken(holder, "TLSv1_3")) as client:
        for _ in range(4):
            begun = time.monotonic()
            asks(client, client.key_update() + client.data(REVIEW))
            for _ in range(6):
                client.put(client.key_update())
            asks(client, client.data(REVIEW))
            time.sleep(max(0, begun + 1.1 - time.monotonic()))


# --- within the memory limit -----------------------------------------------------

@contextlib.contextmanager
def attacked(holder, connections, seconds, pause, *names):
    """Another process attacks for so long; ends when it has ended, too."""
    process = subprocess.Popen(
        [sys.executable, raw_records.__file__,
         *map(str, (holder.port("webhookPort"), connections, seconds, pause,
                    *names))],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def check_limit(w, seconds, *crowds):
    """A good client beside it has every review answered, nobody is killed, and
    what the attack took is given back."""
    with limited(w, int(LIMIT)) as group:
        holder = w.start(memory_limit=f"{LIMIT}Mi")
        before, peak, used = anonymous(holder), 0, 0
        with Good(w, holder, HEAD_S) as good, contextlib.ExitStack() as all_:
            attacks = [all_.enter_context(attacked(holder, n, seconds, *how))
                       for n, *how in crowds]
            while any(a.poll() is None for a in attacks):
                assert holder.alive() and not good.wrong, good.wrong
                peak = max(peak, anonymous(holder))
                used = max(used, group.usage())
                time.sleep(0.2)
            said = [a.stdout.read().strip() for a in attacks]
            good.go_on()
        assert holder.alive() and group.kills() == 0
        w.wait(lambda: anonymous(holder) <= before + REST, "it is given back")
        print(f"{seconds} s: {'; '.join(said)}; {dict(good.answers)} reviews; "
              f"{before / MIB:.1f} MiB, at most {peak / MIB:.1f} "
              f"(cgroup {used / MIB:.1f}), then {anonymous(holder) / MIB:.1f}")


@pytest.mark.skipif("sanitized()")
def test_within_the_limit(w):
    """Sixteen that send as fast as they can, which once took seconds to end
    it, and many more."""
    check_limit(w, 8, (16, 0.002, "endless"), (100, 0.02),
                (200, 0.05, "unfinished"))


@pytest.mark.huge
@pytest.mark.skipif("sanitized()")
def test_within_the_limit_for_long(w):
    """… and more than there are places."""
    check_limit(w, 60 * MINUTES, (8, 0.01, "endless"), (100, 0.02),
                (500, 0.05, "unfinished"))
