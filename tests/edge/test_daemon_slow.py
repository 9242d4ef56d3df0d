# SPDX-License-Identifier: Apache-2.0
"""Slow clients, and very many of them: they are closed, and nobody else
notices."""
import collections
import contextlib
import itertools
import json
import os
import resource
import subprocess
import sys
import threading
import time

import pytest

import raw_client
from conftest import HOLDER as PRODUCT
from conftest import POOL
from raw_client import DEADLINE

pytestmark = pytest.mark.hurry

IDLE = 3                # seconds that holder-fast waits for the next request
CONNECTIONS_MAX = 4096  # include/core/base/limits.h
ROOMY = "1Gi"           # a memory limit with room for so many
HEAD_S = 10             # seconds that it waits for a head

BODY = json.dumps({
    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
    "request": {"uid": "u", "operation": "CREATE",
                "resource": {"group": "", "version": "v1",
                             "resource": "nodes"},
                "object": {"metadata": {"labels": {POOL: "p"}}}}}).encode()
HEAD = (b"POST /mutate HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\n")
LENGTH = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY)
REVIEW = LENGTH + BODY


def answered(client):
    client.send(REVIEW)
    answer = client.answer()
    assert answer is not None and answer.status == 200, answer


class Good:
    """Two clients that do nothing wrong until the end of the block.  One keeps
    its connection, the other makes a new one for each review.  Each review is
    answered."""

    def __init__(self, w, holder, deadline=DEADLINE):
        self.w, self.port = w, holder.port("webhookPort")
        self.deadline = deadline
        self.answers = collections.Counter()
        self.wrong = []
        self.excused = 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=[kind],
                                         daemon=True)
                        for kind in ("kept", "new")]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.go_on()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert kind or not self.wrong, self.wrong

    def run(self, kind):
        while not self.over.is_set() and not self.wrong:
            with contextlib.closing(raw_client.Client(self.port)) as client:
                try:
                    client.shake()
                    self.ask(client, kind)
                except Exception as e:
                    # The daemon is right to close it where this machine held
                    # us up.
                    if client.late(self.deadline):
                        self.excused += 1
                    else:
                        self.wrong.append((kind, self.answers, e))

    def ask(self, client, kind):
        while not self.over.is_set():
            answered(client)
            client.slowest = 0
            self.answers[kind] += 1
            self.over.wait(0.02)
            if kind == "new":
                return

    def go_on(self, n=10):
        """Waits until each has had n more answers."""
        before = dict(self.answers)
        for kind in ("kept", "new"):
            self.w.wait(lambda k=kind: self.wrong or self.answers[k] >=
                        before.get(k, 0) + n, f"answers to {kind}")
        assert not self.wrong, self.wrong


def used(holder):
    return (holder.descriptors(),
            len(os.listdir(f"/proc/{holder.process.pid}/task")))


def wait_used(w, holder, before):
    last = []

    def returned():
        last[:] = used(holder)
        return all(now <= then for now, then in zip(last, before))
    w.wait(returned, lambda: f"descriptors and threads return to {before}: "
           f"{last}, {holder.open_files()}")


def reaped(holder):
    """Returns {what was awaited: connections closed at its deadline}."""
    counts = collections.Counter()
    for line in holder.lines("connections closed at their deadline"):
        counts[line["awaited"]] += line["count"]
    return counts


# --- one by one ------------------------------------------------------------

def nothing(client):
    pass


def shaken(client):
    client.shake()


def reviewed(client):
    client.shake()
    answered(client)


def ended(client):
    client.end()


def sends(text):
    return lambda client: client.send(text)


def drips(text):
    """Seals each byte by itself, and repeats the last one for ever.  The records
    drip, too: there is a bound for how many come without a whole line."""
    def wire(client):
        for i in itertools.count():
            i = min(i, len(text) - 1)
            for byte in client.seal(text[i:i + 1]):
                yield bytes([byte])
    return wire


def drips_wire(make):
    """Yields byte by byte what make(client) produces for the wire."""
    def wire(client):
        whole = make(client)
        return (whole[i:i + 1] for i in range(len(whole)))
    return wire


def sealed(text):
    return drips_wire(lambda client: client.seal(text))


class Dawdler:
    """Takes its steps and then drips.  awaited is what the log says; None: the
    connection is closed at once."""

    def __init__(self, name, *steps, then=drips_wire(lambda client: b""),
                 awaited="head"):
        self.name, self.steps, self.then = name, steps, then
        self.awaited = awaited
        self.seconds = {"first head": IDLE, "next head": IDLE,
                        None: 0}.get(awaited, DEADLINE)
        self.took = None

    def begin(self, port):
        """False: this machine was too slow for it to begin."""
        self.client = raw_client.Client(port)
        try:
            for step in self.steps:
                self.begun = time.monotonic()
                step(self.client)
        except Exception:
            if not self.client.late():
                raise
        if self.client.late():
            self.client.close()
            return False
        self.wire = self.then(self.client)
        return True

    def go_on(self):
        """Has it been closed?  If not, sends one more byte."""
        if self.took is None and self.client.gone():
            self.took = time.monotonic() - self.begun
            self.client.close()
        if self.took is None:
            self.client.put(next(self.wire, b""))
        return self.took is not None


def dawdlers():
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    yield Dawdler("silent-tcp", nothing)
    yield Dawdler("hello-dripped", nothing,
                  then=drips_wire(lambda client: client.hello()))
    yield Dawdler("hello-and-no-more",
                  lambda client: client.put(client.hello()))
    yield Dawdler("handshake-and-no-more", shaken, awaited="first head")
    yield Dawdler("line-dripped", shaken, then=drips(b"POST /mutate"),
                  awaited="first head")
    yield Dawdler("head-dripped", shaken, sends(HEAD), then=drips(b"X: a"))
    yield Dawdler("record-dripped", shaken, nothing, then=sealed(REVIEW),
                  awaited="first head")
    yield Dawdler("idle", reviewed, awaited="next head")
    yield Dawdler("second-line-dripped", reviewed,
                  then=drips(b"POST /mutate"), awaited="next head")
    yield Dawdler("second-record-dripped", reviewed, then=sealed(REVIEW),
                  awaited="next head")
    for which, start in ("", shaken), ("second-", reviewed):
        if start is reviewed:
            yield Dawdler("second-head-dripped", start, sends(HEAD),
                          then=drips(b"X: a"))
        yield Dawdler(which + "body-silent", start, sends(LENGTH),
                      awaited="body")
        yield Dawdler(which + "body-dripped", start, sends(LENGTH),
                      then=drips(BODY[:9] + b" "), awaited="body")
        yield Dawdler(which + "body-record-dripped", start, sends(LENGTH),
                      then=sealed(BODY), awaited="body")
        yield Dawdler(which + "chunks-dripped", start, sends(chunked),
                      then=drips(b"1\r\n{\r\n" * 9 + b"1"), awaited="body")
        yield Dawdler(which + "refused-body-dripped", start,
                      sends(LENGTH.replace(b"/mutate", b"/elsewhere")),
                      then=drips(b"a"), awaited="body")
    # A client that closes its half gets nothing more.
    yield Dawdler("end-at-once", ended, awaited=None)
    yield Dawdler("end-behind-handshake", shaken, ended, awaited=None)
    yield Dawdler("end-when-idle", reviewed, ended, awaited=None)
    yield Dawdler("end-in-head", shaken, sends(HEAD), ended, awaited=None)
    yield Dawdler("end-in-body", shaken, sends(LENGTH + BODY[:9]), ended,
                  awaited=None)


def test_each_is_closed_at_its_deadline(w):
    """It is closed whatever bytes it sends, and good clients are served all
    the while."""
    holder = w.start()
    before = used(holder)
    all_of_them = list(dawdlers())
    again = 0
    with Good(w, holder) as good:
        for dawdler in all_of_them:
            while not dawdler.begin(good.port):
                again += 1
        w.wait(lambda: time.sleep(0.02) or
               all([d.go_on() for d in all_of_them]), "all are closed: " +
               str([d.name for d in all_of_them]))
        good.go_on()
    for d in all_of_them:
        assert d.took >= d.seconds, (d.name, d.took)
    want = collections.Counter(d.awaited for d in all_of_them if d.awaited)
    w.wait(lambda: reaped(holder) >= want, f"{want} are told")
    assert again or good.excused or reaped(holder) == want
    wait_used(w, holder, before)


@pytest.mark.parametrize("before", [shaken, reviewed])
def test_a_head_that_has_begun(w, before):
    """The deadline of a head applies, not that of an idle connection."""
    holder = w.start()
    idle = Dawdler("idle", before)
    second = Dawdler("second-head", before, sends(HEAD))
    since = -IDLE
    while time.monotonic() > since + IDLE - DEADLINE:   # the machine was busy
        if idle.begin(holder.port("webhookPort")):
            since = time.monotonic()
            time.sleep(DEADLINE)
            if not second.begin(holder.port("webhookPort")):
                since = -IDLE
    w.wait(idle.client.gone, "the idle one is closed")
    assert second.client.gone()
    for dawdler in idle, second:
        dawdler.client.close()


def push(client, text):
    """Sends it again and again until no more is taken.  Has it been closed?"""
    try:
        while True:
            client.left = client.left or client.seal(text)
            n = client.sock.send(client.left)
            client.left = client.left[n:]
            client.sent += not client.left
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_a_reader_that_never_reads(w):
    """The client asks and asks.  What it does not read is kept for it no
    longer than the deadline."""
    holder = w.start()
    before = used(holder)
    sent = 0
    with Good(w, holder) as good:
        # We may be held up in the middle of a request.
        while not reaped(holder)["reply read"]:
            with contextlib.suppress(raw_client.Late), contextlib.closing(
                    raw_client.connect(good.port, narrow=True)) as client:
                client.sock.setblocking(False)
                client.left, client.sent = b"", 0
                w.wait(lambda c=client: push(c, REVIEW), "it is closed")
                sent += client.sent
                wait_used(w, holder, (before[0] + 2, before[1]))
        good.go_on()
    answers = holder.metrics()[
        'karpenter_node_holder_admission_requests_total'
        '{kind="Node",result="held"}'] - sum(good.answers.values())
    assert 0 < answers < sent or good.excused
    wait_used(w, holder, before)


# --- very many -------------------------------------------------------------

@contextlib.contextmanager
def flood(holder, silent, reviewed=0):
    """Another process that opens so many connections."""
    need = CONNECTIONS_MAX + 1000
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < need:
        pytest.skip(f"fewer than {need} descriptors: ulimit -Hn")
    process = subprocess.Popen(
        [sys.executable, raw_client.__file__, "flood",
         str(holder.port("webhookPort")), str(silent), str(reviewed),
         REVIEW.decode("latin-1")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        assert process.stdout.readline() == b"open\n"
        yield
    finally:
        process.communicate()
        assert process.returncode == 0


def test_silent_connections_go(w):
    """Two thousand connections are closed, each at its deadline, while their
    client stays."""
    holder = w.start(memory_limit=ROOMY)
    before = used(holder)
    with Good(w, holder) as good, flood(holder, 2000):
        w.wait(lambda: reaped(holder)["head"] >= 2000, "all are closed")
        wait_used(w, holder, (before[0] + 2, before[1]))
        good.go_on()
    wait_used(w, holder, before)


def test_idle_connections_stay(w):
    """They stay for as long as the product lets them, and are in nobody's way.
    """
    w.program = PRODUCT
    holder = w.start(memory_limit=ROOMY)
    before = used(holder)
    with Good(w, holder, HEAD_S) as good:
        with flood(holder, 2000, 200):
            w.wait(lambda: holder.descriptors() >= before[0] + 2200,
                   "all are open")
            good.go_on(20)
            assert holder.descriptors() >= before[0] + 2200 or reaped(holder)
        wait_used(w, holder, (before[0] + 2, before[1]))
        good.go_on()
    wait_used(w, holder, before)


def test_beyond_the_limit(w):
    """No more are open than may be, and a new client is served at once.  A
    connection that was idle for longer than others may be closed for them: its
    client makes a new one."""
    w.program = PRODUCT
    holder = w.start(memory_limit=ROOMY)
    before = used(holder)
    # Each of the server's two threads may just have taken one to send it away.
    most = before[0] + CONNECTIONS_MAX + 2
    with flood(holder, CONNECTIONS_MAX + 200):
        with contextlib.closing(holder.connect()) as kept:
            for _ in range(10):
                assert holder.review(kept)[0] == 200
                assert holder.review()[0] == 200
                assert holder.descriptors() <= most
    wait_used(w, holder, before)
    assert holder.review()[0] == 200
