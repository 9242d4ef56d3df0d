# SPDX-License-Identifier: Apache-2.0
"""The webhook's certificate: swapped under load, and bad in every way.

As a program, `test_daemon_certs.py PORT` makes the load: its clients have a
process of their own, so that the other work of the tests does not slow them
down.
"""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import pty
import re
import select
import signal
import ssl
import subprocess
import sys
import threading
import time

import pytest

from conftest import LATE, Signer, patiently, sanitized

READS = "certwatcher_read_certificate_total"
ERRORS = "certwatcher_read_certificate_errors_total"
DIRECTORY = object()
PIPE = object()


# --- the load --------------------------------------------------------------

class Load:
    """Clients that ask all the time, either on one connection each or on a new
    one each time."""

    def __init__(self, port):
        self.port = port
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.seen = set()
        self.sum = {"answered": 0, "late": 0, "kept": 0, "failed": []}
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def connect(self):
        c = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10,
                                        context=self.tls)
        c.connect()
        return c

    def saw(self, c):
        digest = hashlib.sha256(c.sock.getpeercert(True)).hexdigest()
        with self.lock:
            if digest not in self.seen:
                self.seen.add(digest)
                print(digest, flush=True)

    @staticmethod
    def ask(c):
        """Sends a body that is no review; the server answers that it is none.
        """
        c.request("POST", "/mutate", b"{}",
                  {"Content-Type": "application/json"})
        answer = c.getresponse()
        text = answer.read()
        assert answer.status == 400 and text, (answer.status, text)

    def client(self, keep):
        c, begun = None, time.monotonic()
        while not self.over.is_set():
            if c is None:
                begun = time.monotonic()
            try:
                if c is None:
                    c = self.connect()
                    self.count("kept", keep)
                    if not keep:
                        self.saw(c)
                self.ask(c)
                self.count("answered", 1)
                begun = time.monotonic()
            except (OSError, http.client.HTTPException, AssertionError) as e:
                # A client that was not scheduled for so long has let the
                # server's deadlines pass.  Its failure says nothing about the
                # server.
                if time.monotonic() - begun > LATE:
                    self.count("late", 1)
                else:
                    self.count("failed", [repr(e)])
                c = None
            if c is not None and not keep:
                c.close()
                c = None
            self.over.wait(0.02)

    def count(self, what, n):
        with self.lock:
            self.sum[what] += n

    def run(self):
        threads = [threading.Thread(target=self.client, args=(n % 2,))
                   for n in range(4)]
        for t in threads:
            t.start()
        sys.stdin.read()
        self.over.set()
        for t in threads:
            t.join()
        print(json.dumps(self.sum), flush=True)


@contextlib.contextmanager
def load(w, holder):
    """Starts the load.  seen() returns the digests of the certificates that
    new connections got.  At the end all requests must have been answered."""
    out = w.dir / "load"
    with out.open("wb") as to, subprocess.Popen(
            [sys.executable, __file__, str(holder.port("webhookPort"))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE, stdout=to) as process:
        try:
            yield lambda: out.read_text().splitlines()
            process.stdin.close()
            w.wait(lambda: process.poll() is not None, "the load's end")
        finally:
            process.kill()
    done = json.loads(out.read_text().splitlines()[-1])
    assert done["failed"] == [] and done["answered"] > 100, done
    # The server closed none of the connections that were kept.
    assert done["late"] or done["kept"] == 2, done


# --- pairs and where they lie ----------------------------------------------

class Pairs:
    """Pairs of (tls.crt, tls.key) as bytes; made once for all tests."""

    lock = threading.RLock()
    stock = {}

    @classmethod
    def of(cls, w):
        with cls.lock:
            if w.pair not in cls.stock:
                cls.stock[w.pair] = cls(w.pair / "stock")
            return cls.stock[w.pair]

    def __init__(self, path):
        path.mkdir()
        self.path = path
        self.secrets = [b"open-sesame"]     # what no log may contain
        self.root = Signer(path / "root")
        self.sub = Signer(path / "sub", "sub", by=self.root)
        self.made = {}

    def new(self, by=None, **options):
        with self.lock:
            path = (by or self.root).leaf(self.path / "leaf", **options)
            return self.secret(*((path / f).read_bytes()
                                 for f in ("tls.crt", "tls.key")))

    def secret(self, crt, key):
        self.secrets.append(key)
        return crt, key

    def __getitem__(self, n):
        """The n-th good pair."""
        with self.lock:
            if n not in self.made:
                self.made[n] = self.new()
            return self.made[n]

    def locked(self, *how):
        """A pair whose key needs a passphrase."""
        crt, key = self[0]
        return self.secret(crt, subprocess.run(
            ["openssl", *how, "-passout", "pass:open-sesame"], input=key,
            capture_output=True, check=True).stdout)

    def check(self, holder):
        """No line of a key is in the log."""
        text = holder.text()
        for secret in list(self.secrets):
            for line in secret.decode().splitlines():
                assert line.startswith("-----") or len(line) < 8 or \
                    line not in text


def ca(*signers):
    return b"".join((s.path / "ca.crt").read_bytes() for s in signers)


class Mount:
    """tls.crt and tls.key as a kubelet mounts a Secret: links to ..data, which
    is swapped for another folder."""

    def __init__(self, w):
        self.path = w.dir / "mount"
        self.path.mkdir()
        self.crt, self.key = self.path / "tls.crt", self.path / "tls.key"
        for file in (self.crt, self.key):
            file.symlink_to(pathlib.Path("..data") / file.name)
        self.n = 0

    def put(self, crt, key):
        """Each argument is the file's bytes, DIRECTORY, PIPE (we write into
        it: self.pipe), or None for no such file."""
        self.n += 1
        version = self.path / f"..{self.n}"
        version.mkdir()
        for file, content in ((self.crt, crt), (self.key, key)):
            if content is DIRECTORY:
                (version / file.name).mkdir()
            elif content is PIPE:
                os.mkfifo(version / file.name)
                self.pipe = os.open(version / file.name, os.O_RDWR)
            elif content is not None:
                (version / file.name).write_bytes(content)
        fresh = self.path / "..data_tmp"
        fresh.symlink_to(version.name)
        fresh.replace(self.path / "..data")

    def touch(self):
        for file in (self.crt, self.key):
            with contextlib.suppress(OSError):
                os.utime(file)


class Files:
    """The same as two ordinary files, each replaced by renaming."""

    def __init__(self, w):
        self.path = w.dir / "files"
        self.path.mkdir()
        self.crt, self.key = self.path / "tls.crt", self.path / "tls.key"

    def put(self, crt=None, key=None):
        for file, content in ((self.crt, crt), (self.key, key)):
            if content is not None:
                fresh = file.with_suffix(".new")
                fresh.write_bytes(content)
                fresh.replace(file)


def start(w, place, **settings):
    return w.start(watching=False, logging_level="info",
                   webhook_cert_file=place.crt, webhook_key_file=place.key,
                   **settings)


def der(pair):
    return ssl.PEM_cert_to_DER_cert(re.search(
        r"-----BEGIN CERT.*?END CERTIFICATE-----", pair[0].decode(),
        re.S).group())


def answers(holder):
    return holder.review()[0] == 200


def served(holder):
    """The certificate that a new connection gets; None: it gets none."""
    def greet():
        with contextlib.closing(holder.connect()) as c:
            return c.sock.getpeercert(True)
    try:
        return patiently(greet)
    except OSError:
        return None


def serial(pair):
    """The serial number as the log has it.  In DER two heads of 4 bytes, 5
    bytes of the version and the number's own head come before it."""
    text = der(pair)
    number = int.from_bytes(text[15:15 + text[14]], "big")
    return f"{number:X}".zfill(-(-number.bit_length() // 8) * 2)


def wait_served(w, holder, pair):
    """Waits until this pair is served, and until that is counted and logged a
    moment later."""
    w.wait(lambda: served(holder) == der(pair), "the new pair is served")
    w.wait(lambda: [e["serial"] for e in holder.lines("certificate served")][
        -1:] == [serial(pair)], "the new pair is told")


class Kept:
    """A connection that stays open."""

    def __init__(self, holder):
        self.holder = holder
        self.connection = patiently(holder.connect)

    def answers(self):
        return self.holder.review(self.connection)[0] == 200

    def close(self):
        self.connection.close()


def errors(holder):
    return holder.lines("certificate not usable")


def counts(holder):
    m = holder.metrics()
    return m[READS], m[ERRORS]


def check_ready(holder, ready=True):
    status, text = holder.get("/readyz")
    if ready:
        assert (status, text) == (200, "ok")
    else:
        assert status == 500 and "[-]certificate failed" in text
    assert holder.get("/readyz/certificate")[0] == status
    assert holder.get("/livez") == (200, "ok")


# --- swaps -----------------------------------------------------------------

# A leak or a race shows a sanitizer at once.
SWAPS, MANY_SWAPS = (10, 60) if sanitized() else (40, 200)


@pytest.mark.long
@pytest.mark.parametrize("place", [Mount, Files])
def test_swaps_under_load(w, place):
    pairs, place = Pairs.of(w), place(w)
    place.put(*pairs[0])
    holder = start(w, place)
    wait_served(w, holder, pairs[0])
    with load(w, holder) as seen:
        for n in range(1, SWAPS + 1):
            pair = pairs[n]
            digest = hashlib.sha256(der(pair)).hexdigest()
            place.put(*pair)
            w.wait(lambda d=digest: d in seen(), "seen by new connections")
    w.wait(lambda: len({e["serial"] for e in
                        holder.lines("certificate served")}) == SWAPS + 1,
           "all told")
    if isinstance(place, Mount):    # two renames are never atomic
        assert not errors(holder)
        assert counts(holder) == (SWAPS + 1, 0)
    pairs.check(holder)


def test_one_file_after_the_other(w):
    """In between, the two files do not match.  This is logged once, and the
    old pair is still served."""
    pairs, files = Pairs.of(w), Files(w)
    files.put(*pairs[0])
    holder = start(w, files)
    wait_served(w, holder, pairs[0])
    files.put(crt=pairs[1][0])
    w.wait(lambda: len(errors(holder)) == 1)
    assert served(holder) == der(pairs[0])
    files.put(key=pairs[1][1])
    wait_served(w, holder, pairs[1])
    files.put(key=pairs[2][1])
    w.wait(lambda: len(errors(holder)) == 2)
    assert served(holder) == der(pairs[1])
    files.put(crt=pairs[2][0])
    wait_served(w, holder, pairs[2])
    assert counts(holder) == (3, 2)
    check_ready(holder)
    pairs.check(holder)


def test_one_file_comes_first(w):
    pairs, files = Pairs.of(w), Files(w)
    holder = start(w, files)
    assert str(files.crt) in holder.wait_line("certificate not usable")["err"]
    check_ready(holder, False)
    files.put(crt=pairs[0][0])
    w.wait(lambda: len(errors(holder)) == 2)
    assert str(files.key) in errors(holder)[1]["err"]
    check_ready(holder, False)
    files.put(key=pairs[0][1])
    wait_served(w, holder, pairs[0])
    check_ready(holder)
    assert counts(holder) == (1, 2)
    pairs.check(holder)


def test_swapped_while_it_is_read(w):
    """The daemon reads the certificate of one pair and the key of the next.
    The files are not at fault, and the log says nothing."""
    pairs, mount = Pairs.of(w), Mount(w)
    mount.put(*pairs[0])
    holder = start(w, mount)
    wait_served(w, holder, pairs[0])
    mount.put(PIPE, pairs[1][1])

    def reads():
        with contextlib.suppress(OSError):      # the server closed it just now
            return [f for f in holder.open_files() if f.endswith("/tls.crt")]
    w.wait(reads, "it reads the certificate")
    mount.put(*pairs[2])
    os.write(mount.pipe, pairs[1][0])
    os.close(mount.pipe)
    wait_served(w, holder, pairs[2])
    assert not errors(holder) and counts(holder) == (2, 0)


# --- bad pairs -------------------------------------------------------------

def chain_in_disorder(p):
    crt, key = p.new(by=p.sub)
    return crt + ca(p.root, p.sub), key


def half(b):
    return b[:len(b) // 2]


def large(b):
    return b + b"\n" * (2 << 20)


def cert(change):
    """A good pair with a changed tls.crt."""
    return lambda p: (change(p[0][0]), p[0][1])


def key(change):
    return lambda p: (p[0][0], change(p[0][1]))


# name: (how the pair is made, which file is to blame, words of the log line)
BAD = {
    "key of another": (lambda p: (p[0][0], p[2][1]), "key",
                       "not the key of the certificate"),
    "expired": (lambda p: p.new(end=-60), "crt", "has expired at"),
    "not yet valid": (lambda p: p.new(start=3600), "crt",
                      "is not valid before"),
    "CA first": (lambda p: (ca(p.root) + p[0][0], p[0][1]), "crt",
                 "the key belongs to certificate 2"),
    "chain in disorder": (chain_in_disorder, "crt",
                          "certificate 1 is not signed by certificate 2"),
    "empty": (cert(lambda _: b""), "crt", "no certificate in it"),
    "empty key": (key(lambda _: b""), "key", "no private key in it"),
    "half": (cert(half), "crt", "cut or damaged"),
    "half a key": (key(half), "key", "no private key in it"),
    "garbage": (cert(lambda _: os.urandom(999)), "crt",
                "no certificate in it"),
    "garbage for a key": (key(lambda _: os.urandom(999)), "key",
                          "no private key in it"),
    "DER": (lambda p: (der(p[0]), p[0][1]), "crt",
            "no certificate in it, expected PEM"),
    "directory": (cert(lambda _: DIRECTORY), "crt", "Is a directory"),
    "directory for a key": (key(lambda _: DIRECTORY), "key",
                            "Is a directory"),
    "missing": (lambda p: (None, None), "crt", "No such file"),
    "missing key": (key(lambda _: None), "key", "No such file"),
    "passphrase": (lambda p: p.locked("pkcs8", "-topk8"), "key",
                   "the key has a passphrase"),
    "old passphrase": (lambda p: p.locked("ec", "-aes256"), "key",
                       "the key has a passphrase"),
    "2 MB": (cert(large), "crt", "over 1048576 bytes"),
    "2 MB of key": (key(large), "key", "over 1048576 bytes"),
    "RSA of 1024 bits": (lambda p: p.new(key=["-newkey", "rsa:1024"]), "key",
                         "expected RSA of 2048"),
}


def check_complaint(w, holder, place, name, serving):
    """There is one line and one count, however often the files are read."""
    _, blamed, words = BAD[name]
    line = holder.wait_line("certificate not usable")
    assert words in line["err"] and str(getattr(place, blamed)) in line["err"]
    assert (line["level"], line["serving"]) == ("error", serving)
    for _ in range(5):
        place.touch()
        holder.signal(signal.SIGHUP)    # makes it read the files now
        time.sleep(0.02)
    w.stays(lambda: errors(holder) == [line], 0.2)


@pytest.mark.values
@pytest.mark.parametrize("name", BAD)
def test_a_bad_pair_is_not_served(w, name):
    """The previous pair is still served, to old connections and new ones."""
    pairs, mount = Pairs.of(w), Mount(w)
    bad = BAD[name][0](pairs)
    mount.put(*pairs[0])
    holder = start(w, mount)
    serial = holder.wait_line("certificate served")["serial"]
    with contextlib.closing(Kept(holder)) as kept:
        assert kept.answers()
        mount.put(*bad)
        check_complaint(w, holder, mount, name, serial)
        assert kept.answers()
    assert served(holder) == der(pairs[0]) and answers(holder)
    check_ready(holder)
    assert counts(holder) == (1, 1)
    mount.put(*pairs[1])
    wait_served(w, holder, pairs[1])
    check_ready(holder)
    assert counts(holder) == (2, 1) and len(errors(holder)) == 1
    pairs.check(holder)


@pytest.mark.values
@pytest.mark.parametrize("name", BAD)
def test_a_bad_pair_at_the_start(w, name):
    """The holder is not ready and accepts no connection until there is a good
    pair."""
    pairs, mount = Pairs.of(w), Mount(w)
    mount.put(*BAD[name][0](pairs))
    holder = start(w, mount)
    check_complaint(w, holder, mount, name, "none")
    check_ready(holder, False)
    assert served(holder) is None
    assert counts(holder) == (0, 1)
    mount.put(*pairs[1])
    wait_served(w, holder, pairs[1])
    check_ready(holder)
    assert counts(holder) == (1, 1) and len(errors(holder)) == 1
    assert answers(holder)
    pairs.check(holder)


def test_the_same_fault_again(w):
    """The pair that is served came back in between, so the fault is logged
    again."""
    pairs, mount = Pairs.of(w), Mount(w)
    mount.put(*pairs[0])
    holder = start(w, mount)
    wait_served(w, holder, pairs[0])
    for n in (1, 2):
        mount.put(b"", b"")
        w.wait(lambda n=n: len(errors(holder)) == n, "said")
        mount.put(*pairs[0])
        w.wait(lambda n=n: len(holder.lines("certificate usable again",
                                            serial=serial(pairs[0]))) == n,
               "it is back")
        assert served(holder) == der(pairs[0])
    assert counts(holder)[1] == 2


def test_a_passphrase_on_a_terminal(w):
    """The daemon asks nobody for a passphrase and waits for no answer."""
    pairs, mount = Pairs.of(w), Mount(w)
    mount.put(*pairs.locked("pkcs8", "-topk8"))
    ours, w.terminal = pty.openpty()
    try:
        holder = start(w, mount)
        line = holder.wait_line("certificate not usable")
        assert "has a passphrase" in line["err"]
        mount.put(*pairs[1])
        wait_served(w, holder, pairs[1])
        assert holder.term() == 0
        assert not select.select([ours], [], [], 0)[0]
    finally:
        os.close(ours)
        os.close(w.terminal)
    pairs.check(holder)


# --- good pairs ------------------------------------------------------------

def test_a_foreign_pair(w):
    """An RSA certificate with a chain: we mint neither, but others may.  A
    client that trusts only the root accepts it."""
    pairs, mount = Pairs.of(w), Mount(w)
    crt, own = pairs.new(by=pairs.sub, key=["-newkey", "rsa:2048"])
    mount.put(crt + ca(pairs.sub), own)
    holder = start(w, mount)
    holder.wait_line("certificate served")
    trusting = ssl.create_default_context(cafile=pairs.root.path / "ca.crt")

    def ask():
        c = http.client.HTTPSConnection(
            "localhost", holder.port("webhookPort"), timeout=10,
            context=trusting)
        with contextlib.closing(c):
            return holder.review(c)
    assert patiently(ask)[0] == 200
    check_ready(holder)
    pairs.check(holder)


@pytest.mark.parametrize("flags, warned", [
    ([], True), (["-addext", "basicConstraints=critical,CA:FALSE"], False)])
def test_the_commonest_pair(w, flags, warned):
    """By default openssl makes a CA.  It is served, to a client that trusts
    just this certificate, and one warning names the flag."""
    mount, made = Mount(w), w.dir / "made"
    made.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=holder", "-addext", "subjectAltName=DNS:localhost",
         *flags, "-keyout", made / "tls.key", "-out", made / "tls.crt"],
        stdin=subprocess.DEVNULL, capture_output=True, check=True)
    mount.put((made / "tls.crt").read_bytes(), (made / "tls.key").read_bytes())
    holder = start(w, mount)
    holder.wait_line("certificate served")
    trusting = ssl.create_default_context(cafile=made / "tls.crt")

    def ask():
        c = http.client.HTTPSConnection(
            "localhost", holder.port("webhookPort"), timeout=10,
            context=trusting)
        with contextlib.closing(c):
            return holder.review(c)
    assert patiently(ask)[0] == 200
    check_ready(holder)
    assert counts(holder) == (1, 0)
    for _ in range(3):
        mount.touch()
        holder.signal(signal.SIGHUP)
        time.sleep(0.02)
    lines = holder.lines("certificate is a CA")
    assert [(e["level"], e["serial"]) for e in lines] == (
        [("warn", holder.lines("certificate served")[0]["serial"])]
        if warned else [])
    assert not warned or \
        "-addext basicConstraints=critical,CA:FALSE" in lines[0]["advice"]


def start_without_a_date(w, place):
    """The daemon's own clock decides until an hour has passed on the API
    server's clock."""
    w.api.fault("*", "*", "head", headers={"Date": None})
    return start(w, place)


def an_hour_passes(w):
    w.api.clock_offset = 3600
    w.api.clear()
    w.api.drop_watches("nodes")     # the next watch has a Date


@pytest.mark.long
def test_a_pair_becomes_valid(w):
    """Nobody touches the files, and the daemon reads them again now and then.
    """
    pairs, mount = Pairs.of(w), Mount(w)
    pair = pairs.new(start=3600)
    mount.put(*pair)
    holder = start_without_a_date(w, mount)
    line = holder.wait_line("certificate not usable")
    assert "is not valid before" in line["err"]
    check_ready(holder, False)
    an_hour_passes(w)
    wait_served(w, holder, pair)
    check_ready(holder)
    assert errors(holder) == [line] and counts(holder) == (1, 1)


@pytest.mark.long
def test_a_pair_expires(w):
    """Readiness reports it.  Old connections go on and new ones are accepted:
    the API server decides what it thinks of the certificate."""
    pairs, mount = Pairs.of(w), Mount(w)
    holder = start_without_a_date(w, mount)
    check_ready(holder, False)
    pair = pairs.new(end=3600)
    mount.put(*pair)
    w.wait(lambda: holder.get("/readyz") == (200, "ok"), "ready")
    until = holder.metrics()[
        "karpenter_node_holder_tls_certificate_expiration_timestamp_seconds"]
    assert 0 < until - w.api.now() <= 3600
    assert len(errors(holder)) == 1     # the answer had no Date
    with contextlib.closing(Kept(holder)) as kept:
        assert kept.answers()
        an_hour_passes(w)
        w.wait(lambda: kept.answers() and
               holder.get("/readyz")[0] != 200, "not ready")
        assert w.api.now() >= until
        check_ready(holder, False)
        assert kept.answers()
    assert served(holder) == der(pair) and answers(holder)
    w.wait(lambda: len(errors(holder)) == 2, "said")
    assert "has expired at" in errors(holder)[1]["err"]
    assert counts(holder) == (1, 2)
    mount.put(*pairs[0])
    wait_served(w, holder, pairs[0])
    check_ready(holder)
    assert len(errors(holder)) == 2


# --- what is left of it all ------------------------------------------------

@pytest.mark.long
def test_many_swaps_leave_nothing(w):
    """Good pairs and bad ones, with chains, so that a leak would show."""
    pairs, mount = Pairs.of(w), Mount(w)
    good = [(crt + ca(pairs.sub, pairs.root), own) for crt, own in
            (pairs.new(by=pairs.sub) for _ in range(2))]
    bad = [(good[0][0], good[1][1]), (half(good[0][0]), good[0][1]),
           pairs.new(end=-60), (b"", b"")]
    mount.put(*good[0])
    holder = start(w, mount)
    wait_served(w, holder, good[0])
    for n in range(1, MANY_SWAPS + 1):
        if n % 4 == 0:
            mount.put(*bad[n // 4 % len(bad)])
            holder.signal(signal.SIGHUP)
            w.wait(lambda n=n: counts(holder)[1] == n // 4, "refused")
        mount.put(*good[n % 2])
        holder.signal(signal.SIGHUP)
        wait_served(w, holder, good[n % 2])
        if n == 50:
            files, memory = holder.descriptors(), holder.memory()
    w.wait(lambda: holder.descriptors() <= files, "no descriptor is left")
    if not sanitized():
        assert holder.memory() - memory < 600
    pairs.check(holder)


if __name__ == "__main__":
    Load(int(sys.argv[1])).run()
