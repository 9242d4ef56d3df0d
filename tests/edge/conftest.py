# SPDX-License-Identifier: Apache-2.0
"""Whole-daemon tests: a World is a ScriptedApi and the holders beside it.

A test takes one argument, `w`, and gets a World of its own.  It spends most of
its time in the daemon's backoffs and deadlines, so all tests are started
together, a few at a time, and pytest reports each when its turn comes.  With
xdist's `-n 4 --dist loadgroup` each process starts a part of them: in a single
process the threads of 32 API servers would keep each other waiting.

Most worlds become busy or quiet at once and need no waiting.  A claim that is
launched but not initialized keeps its scope busy for an hour (w.busy). The
scope is quiet as soon as the claim's status says that it became ready long ago
(w.quiet).
"""
import collections
import concurrent.futures
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
import said

sys.dont_write_bytecode = True  # leaves no cache in the source tree

from scripted_api import ScriptedApi  # noqa: E402

pytest.register_assert_rewrite("checks")

REPO = pathlib.Path(__file__).resolve().parents[2]
# Both programs, and in `tests` those with short deadlines (make programs).
VARIANT = pathlib.Path(os.environ.get("HOLDER_VARIANT") or
                       REPO / "build/release").resolve()
HOLDER = VARIANT / "karpenter-node-holder"
HOLDERCTL = VARIANT / "holderctl"
HOLDER_FAST = VARIANT / "tests/holder-fast"
HOLDERCTL_FAST = VARIANT / "tests/holderctl-fast"
# How many worlds run at a time, and how many processes share the tests.
WORKERS = int(os.environ.get("WORKERS", 32))
PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
# Seconds, enough for a sanitizer on a busy machine.
PATIENCE = float(os.environ.get("PATIENCE", 180))

HOLD = "karpenter.sh/do-not-disrupt"
MARK = "karpenter-node-holder.io/held-since"
WATCHED = ("nodes", "nodeclaims", "nodepools", "events")
HELD_KEY = "karpenter-node-holder.io/held-key"
POOL = "karpenter.sh/nodepool"
REGISTERED = "karpenter.sh/registered"

# A report by one of them fails the test: World.check looks for it.
SANITIZERS = {
    "ASAN_OPTIONS": "exitcode=99:detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": "exitcode=99:halt_on_error=1",
}
REPORT = re.compile(r"Sanitizer|runtime error:|DEADLYSIGNAL")

# Hundreds of threads wait most of the time.  None of them should wait another
# 5 ms for a thread that runs.
sys.setswitchinterval(0.001)
abandoned = threading.Event()   # the session ended before its tests did


def sanitized():
    """Is this a sanitizer's build?  Its memory use then says nothing about the
    product."""
    program = HOLDER_FAST.read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def environment(home, **more):
    """An environment with nothing of the caller's but PATH and the sanitizers'
    options."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    for name, options in SANITIZERS.items():
        env[name] = ":".join(
            filter(None, (os.environ.get(name), options, more.get(name))))
    return env


def spawn(argv, **options):
    """Starts a program that dies with this process, even by kill -9, and with
    the thread that calls this."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *argv],
                            **options)


def alive(pid):
    """Is there such a process, and no zombie?"""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] != "Z"
    return False


def taken(process):
    """Has the process, a command, taken the first signal?  It blocks none
    then."""
    with open(f"/proc/{process.pid}/status") as f:
        blocked, = [int(line.split()[1], 16) for line in f
                    if line.startswith("SigBlk")]
    return not blocked & 1 << (signal.SIGTERM - 1)


def stalled_pipe(size=4096):
    """Both ends of a pipe of one page, and a function that says whether what
    writes into it found it full."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, size)

    def is_full():
        return not select.select([], [theirs], [], 0)[1]
    return ours, theirs, is_full


def wait(condition, what="", timeout=PATIENCE):
    """Waits until condition() is true and returns its value.  It looks less
    often the longer it takes: dozens of tests look at a time."""
    begun = time.monotonic()
    end = begun + timeout
    while True:
        value = condition()
        if value:
            return value
        if abandoned.is_set():
            raise AssertionError("the session is over")
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"not within {timeout} s: "
                                 f"{what() if callable(what) else what}")
        time.sleep(min(0.1, 0.01 + (now - begun) / 10))


def stays(condition, seconds=1.0, what=""):
    """condition() is true now and stays true for so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), what
        time.sleep(0.05)


# Seconds.  holder-fast waits 10 s for the head of a request, and 0.5 s with
# HURRY.
LATE, LATE_IN_A_HURRY = 8, 0.3


def patiently(ask, late=LATE):
    """Asks again where a call failed after more than `late` seconds: this
    process was not scheduled in time, and the server's deadline passed."""
    while True:
        begun = time.monotonic()
        try:
            return ask()
        except (OSError, http.client.HTTPException):
            if time.monotonic() - begun < late:
                raise


def is_clear(request):
    """Is this one of our JSON patches (clear, unmark) rather than a merge
    patch?"""
    return request.verb == "patch" and isinstance(request.body, list)


FIELD = re.compile(r' (\w+)=("(?:[^"\\]|\\.)*"|-?\d+)')


def text_line(line):
    """Decodes a line of the text format into what the JSON format has."""
    at = FIELD.search(line)
    head = line[:at.start() if at else -1]
    ts, level, msg = head.split(" ", 2)
    rest = line[len(head):-1]
    assert not FIELD.sub("", rest), line
    return {"ts": ts, "level": level.lower(), "msg": msg,
            **{k: json.loads(v) for k, v in FIELD.findall(rest)}}


class Holder:
    """One process of holder-fast, the program with short deadlines: `serve`, or
    another command."""

    def __init__(self, world, flags):
        self.world = world
        self.decode = text_line if "text" in flags else json.loads
        self.log = world.dir / f"log{len(world.holders)}"
        self.entries, self.read_to = [], 0
        self.reading = threading.Lock()
        self.ended = None       # the exit code that the test asked for
        self.late = LATE_IN_A_HURRY if world.hurry else LATE
        stdin, first = subprocess.DEVNULL, []
        if world.terminal is not None:
            stdin, first = world.terminal, ["setsid", "--ctty"]
        with self.log.open("wb") as out:
            self.process = spawn(
                [*first, world.program, *flags], stdin=stdin,
                stdout=subprocess.DEVNULL, stderr=out,
                env=world.environment())

    # --- its log -----------------------------------------------------------

    def text(self):
        return self.log.read_text(errors="replace")

    def lines(self, msg=None, **fields):
        """The complete lines of the log, decoded, that have this msg and these
        fields."""
        with self.reading, self.log.open("rb") as log:
            log.seek(self.read_to)
            fresh = log.read().rpartition(b"\n")[0]
            if fresh:
                self.read_to += len(fresh) + 1
                self.entries += [self.decode(line + "\n") for line in
                                 fresh.decode(errors="replace").split("\n")]
        return [e for e in self.entries if msg in (None, e["msg"]) and
                all(e.get(k) == v for k, v in fields.items())]

    def wait_line(self, msg, **fields):
        def seen():
            assert self.alive() or self.ended is not None, "it has ended"
            return self.lines(msg, **fields)
        return wait(seen, f"log line {msg!r} {fields}")[0]

    def alive(self):
        return self.process.poll() is None

    # --- its addresses -----------------------------------------------------

    def port(self, which):
        return self.wait_line("serving")[which]

    def get(self, path):
        """Asks the metrics address; returns (status, body)."""
        def ask():
            c = http.client.HTTPConnection(
                "127.0.0.1", self.port("metricsPort"), timeout=10)
            with contextlib.closing(c):
                c.request("GET", path)
                answer = c.getresponse()
                return answer.status, answer.read().decode()
        return patiently(ask, self.late)

    def metrics(self):
        """Returns {'name{labels}': value}."""
        status, text = self.get("/metrics")
        assert status == 200
        return {k: float(v) for k, v in
                (line.rsplit(" ", 1) for line in text.splitlines()
                 if not line.startswith("#"))}

    def connect(self):
        """Opens a connection to the webhook."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        c = http.client.HTTPSConnection(
            "127.0.0.1", self.port("webhookPort"), context=context,
            timeout=10)
        c.connect()
        return c

    def review(self, connection=None, kind="Node", **metadata):
        """Asks for the creation of an object; returns (status, answer,
        headers)."""
        def on_a_new_one():
            with contextlib.closing(self.connect()) as c:
                return self.review(c, kind, **metadata)
        if connection is None:
            return patiently(on_a_new_one, self.late)
        group = "" if kind == "Node" else "karpenter.sh"
        labels = metadata.pop("labels", {POOL: "p"})
        resource = {"group": group, "version": "v1",
                    "resource": kind.lower() + "s"}
        body = {"apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "request": {
                    "uid": "u", "operation": "CREATE", "dryRun": False,
                    "kind": {"group": group, "version": "v1", "kind": kind},
                    "resource": resource,
                    "object": {"kind": kind,
                               "metadata": {"name": "n", "labels": labels,
                                            **metadata}}}}
        connection.request("POST", "/mutate", json.dumps(body),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text), answer.headers

    def open_files(self):
        """What each open descriptor refers to, for a failure's message."""
        fds = pathlib.Path(f"/proc/{self.process.pid}/fd")
        return sorted(os.readlink(fd) for fd in fds.iterdir())

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self, which="VmRSS"):
        """KiB of memory; VmHWM is the most that it ever had."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{which}:\s+(\d+) kB", status, re.M).group(1))

    # --- its end -----------------------------------------------------------

    def signal(self, number):
        self.process.send_signal(number)

    def wait_end(self):
        self.ended = wait(
            lambda: None if self.alive() else [self.process.returncode],
            "the process ends")[0]
        return self.ended

    def kill9(self):
        self.ended = -signal.SIGKILL
        self.signal(signal.SIGKILL)
        assert self.wait_end() == -signal.SIGKILL

    def term(self):
        self.ended = 0
        self.signal(signal.SIGTERM)
        return self.wait_end()


class World:
    """All that one test has."""

    wait = staticmethod(wait)
    stays = staticmethod(stays)

    def __init__(self, path, pair):
        self.dir = path
        self.pair = pair
        self.api = ScriptedApi(bookmark_s=0.3)
        self.holders = []
        self.token = None       # a string that must not be in any log
        # Of each object: nobody undoes another's work for ever.
        self.patches_max = 8
        self.sanitizer = {}     # further options: {"TSAN_OPTIONS": "..."}
        self.more = {}          # further variables of the environment
        self.hurry = False      # whether the test has this marker
        self.place = None  # keeps the port of an API server that is stopped
        # The descriptor of the terminal that holders run on.
        self.terminal = None
        self.program = HOLDER_FAST      # or the product itself
        self.tools = HOLDERCTL_FAST
        self.kubeconfig = path / "kubeconfig"

    def environment(self):
        hurry = {"HURRY": "1"} if self.hurry else {}
        return {**environment(self.dir, **self.sanitizer), **hurry, **self.more}

    # --- holders -----------------------------------------------------------

    def start(self, *flags, watching=True, config=None, **settings):
        """Starts a holder.  start(hold_duration="2s") means --hold-duration
        2s, and config is the text of its file.  Returns when it watches all
        that it needs."""
        # The cap is longer than the age of any machine here.
        options = {"hold_duration": "1h", "startup_timeout": "4h",
                   "max_hold_duration": "24h",
                   "webhook_address": "127.0.0.1:0",
                   "webhook_cert_file": self.pair / "tls.crt",
                   "webhook_key_file": self.pair / "tls.key",
                   "webhook_drain_timeout": "300ms",
                   "metrics_address": "127.0.0.1:0",
                   "leader_election_enabled": "false",
                   "logging_level": "debug", **settings}
        flags = ["serve", *flags]
        for name, value in options.items():
            flags += ["--" + name.replace("_", "-"), str(value)]
        if not self.kubeconfig.exists():
            self.api.write_kubeconfig(self.kubeconfig)
        flags += ["--kubeconfig", str(self.kubeconfig)]
        if config:
            path = self.dir / "config.yaml"
            path.write_text("apiVersion: karpenter-node-holder.io/v1\n"
                            f"kind: HolderConfig\n{config}")
            flags += ["--config", str(path)]
        holder = Holder(self, flags)
        self.holders.append(holder)
        holder.wait_line("serving")
        if watching:
            spreads = options.get("scope") != "node"
            for resource in WATCHED if spreads else WATCHED[:-1]:
                holder.wait_line("watching", resource=resource)
            if "tickets_namespace" in options:
                holder.wait_line("watching", resource="tickets")
        return holder

    def restart_api(self, stop=True, start=True):
        """Stops the API server and starts it again with what it stores.
        Nobody else can get its port meanwhile."""
        if stop:
            self.api.stop()
            self.place = socket.socket()
            self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.place.bind(("127.0.0.1", self.api.port))
        if start:
            self.api = ScriptedApi(bookmark_s=self.api.bookmark_s,
                                   port=self.api.port, store=self.api.store,
                                   tls=self.api.tls)
            self.place.close()

    # --- objects -----------------------------------------------------------

    def ours(self, age=600):
        """The annotations that we leave on a held object."""
        return {HOLD: "true", MARK: self.api.stamp(-age)}

    def condition(self, kind, age):
        return {"type": kind, "status": "True", "reason": kind,
                "lastTransitionTime": self.api.stamp(-age)}

    def claim(self, name, pool="p", ready=7200, age=10800, node=None,
              annotations=None):
        """ready: seconds since it became ready; None: launched, but not
        initialized."""
        conditions = [self.condition("Launched", age)]
        if ready is not None:
            conditions.append(self.condition("Initialized", ready))
        status = {"providerID": "kwok://" + name, "conditions": conditions}
        if node:
            status["nodeName"] = node
        return self.api.create(
            "nodeclaims", name, labels={POOL: pool}, annotations=annotations,
            created=self.api.stamp(-age), status=status)

    def node(self, name, pool="p", claim=None, age=10800, annotations=None,
             registered=True):
        labels = {POOL: pool}
        if registered:
            labels[REGISTERED] = "true"
        return self.api.create(
            "nodes", name, labels=labels, annotations=annotations,
            owners=[self.api.owner(claim)] if claim else None,
            created=self.api.stamp(-age))

    def machine(self, name, pool="p", annotations=None, **claim):
        """A NodeClaim and its registered Node, which settled long ago."""
        made = self.claim(name, pool, node=name, **claim)
        return self.node(name, pool, made, annotations=annotations)

    def machines(self, n, prefix="m", **options):
        """Returns their names."""
        names = [f"{prefix}{i:03}" for i in range(n)]
        for name in names:
            self.machine(name, **options)
        return names

    def busy(self, name="busy", pool="p"):
        """Starts a scale-up that does not settle."""
        return self.claim(name, pool, ready=None)

    def quiet(self, name="busy"):
        """Says that it settled two hours ago, so its scope is to be released
        now."""
        self.api.set_status("nodeclaims", name, conditions=[
            self.condition("Launched", 10800),
            self.condition("Initialized", 7200)])

    def ready(self, name="busy"):
        """Says that it settles now."""
        self.api.set_status("nodeclaims", name, conditions=[
            self.condition("Launched", 10800),
            self.condition("Initialized", 0)])

    # --- what is to be seen ------------------------------------------------

    def annotations(self, name, resource="nodes"):
        return self.api.annotations(resource, name)

    def held(self, names, resource="nodes"):
        """Do all of them carry our hold and mark?"""
        names = [names] if isinstance(names, str) else names
        return all(self.annotations(n, resource).get(HOLD) == "true" and
                   MARK in self.annotations(n, resource) for n in names)

    def free(self, names, resource="nodes"):
        """Do all of them carry neither hold nor mark?"""
        names = [names] if isinstance(names, str) else names
        return not any(k in self.annotations(n, resource)
                       for n in names for k in (HOLD, MARK, HELD_KEY))

    def wait_held(self, names, resource="nodes"):
        wait(lambda: self.held(names, resource), f"{names} held")

    def wait_free(self, names, resource="nodes"):
        wait(lambda: self.free(names, resource), f"{names} free")

    def watches(self, resource):
        return self.api.count(verb="watch", resource=resource)

    def lists(self, resource):
        """First pages of a watcher's lists, without the fresh list of a
        release."""
        return [r for r in self.api.select(verb="list", resource=resource)
                if r.query.get("limit") == "500" and
                "continue" not in r.query]

    def patches(self, name=None, resource="nodes"):
        return [r for r in self.api.select(verb="patch", resource=resource)
                if name in (None, r.name)]

    def clears(self):
        return [r for r in self.api.select(verb="patch") if is_clear(r)]

    def changed(self, name, resource="nodes"):
        """How often a patch has changed this object."""
        return sum(r.changed for r in self.patches(name, resource))

    # --- the end -----------------------------------------------------------

    def check(self):
        """Checks what is true of every world."""
        for holder in self.holders:
            if holder.alive() and holder.ended is None:
                assert holder.term() == 0
            assert not REPORT.search(holder.text()), holder.text()
            # Decodes each line, so each has to be JSON.
            assert holder.lines("serving") or holder.lines("renewing")
            assert self.token is None or self.token not in holder.text()
        counts = {}
        for r in self.api.select(verb="patch"):
            if r.resource in ("our-events", "leases", "tickets"):
                continue
            assert r.query == {"fieldManager": "karpenter-node-holder"}
            key = r.resource, r.name
            counts[key] = counts.get(key, 0) + 1
        worst = max(counts, key=counts.get, default=None)
        assert worst is None or counts[worst] <= self.patches_max, (
            f"{counts[worst]} patches of {worst}")

    def stop(self):
        for holder in self.holders:
            holder.process.kill()
            holder.process.wait()
            said.keep_file("daemon", holder.log)
        self.api.stop()
        if self.place is not None:
            self.place.close()


# --- all at once -----------------------------------------------------------

class Run:
    """A test that runs, or has run, in a thread of the executor."""

    def __init__(self, item, path):
        self.item, self.path = item, path
        self.world = None
        self.seconds = 0.0

    def __call__(self, pair):
        if abandoned.is_set():
            return
        begun = time.monotonic()
        params = getattr(self.item, "callspec", None)
        self.world = World(self.path, pair)
        self.world.hurry = self.item.get_closest_marker("hurry") is not None
        try:
            self.item.function(w=self.world,
                               **(params.params if params else {}))
            self.world.check()
        finally:
            self.world.stop()
            self.seconds = time.monotonic() - begun


def make_pair(path, serial=None):
    """Makes a serving certificate, with openssl alone."""
    (path / "request").write_text(
        "[req]\ndistinguished_name=name\nx509_extensions=extensions\n"
        "prompt=no\n[name]\nCN=localhost\n[extensions]\n"
        "basicConstraints=critical,CA:FALSE\n"
        "extendedKeyUsage=serverAuth\n"
        "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    subprocess.run(
        ["openssl", "req", "-x509", "-config", path / "request", "-newkey",
         "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         *(["-set_serial", str(serial)] if serial else []),
         "-keyout", path / "tls.key", "-out", path / "tls.crt"],
        stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return path


SIGNER = """[ca]
default_ca = signer
[signer]
database = {0}/index
new_certs_dir = {0}
unique_subject = no
rand_serial = yes
default_md = sha256
policy = policy
[policy]
commonName = supplied
[req]
distinguished_name = name
[name]
"""
EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]


class Signer:
    """A CA, made with openssl alone: ca.crt and ca.key in its folder.  It is
    signed by `by`, or by itself."""

    def __init__(self, path, name="ca", by=None):
        path.mkdir()
        self.path = path
        (path / "index").touch()
        (path / "config").write_text(SIGNER.format(path))
        self.make(path, "ca", name, "basicConstraints=critical,CA:TRUE\n"
                  "keyUsage=keyCertSign\n", by=by or self)

    def make(self, path, file, name, extensions, key=EC, start=-3600,
             end=86400, by=None):
        """Makes file.crt and file.key; start and end are seconds from now."""
        by = by or self
        (path / "extensions").write_text(extensions)

        def openssl(*args):
            subprocess.run(["openssl", *args], stdin=subprocess.DEVNULL,
                           capture_output=True, check=True)

        def stamp(offset):
            return time.strftime("%y%m%d%H%M%SZ",
                                 time.gmtime(time.time() + offset))
        made, csr = path / file, path / "request"
        openssl("req", "-new", *key, "-config", self.path / "config",
                "-nodes", "-subj", f"/CN={name}", "-keyout", f"{made}.key",
                "-out", csr)
        openssl("ca", "-batch", "-notext", "-config", by.path / "config",
                "-in", csr, "-out", f"{made}.crt",
                "-extfile", path / "extensions",
                "-startdate", stamp(start), "-enddate", stamp(end),
                "-keyfile", by.path / "ca.key",
                *(["-selfsign"] if made == by.path / "ca" else
                  ["-cert", by.path / "ca.crt"]))

    def leaf(self, path, san="DNS:localhost,IP:127.0.0.1", use="serverAuth",
             **options):
        """Makes tls.crt and tls.key in this folder and returns the folder."""
        path.mkdir(exist_ok=True)
        self.make(path, "tls", "leaf", "basicConstraints=critical,CA:FALSE\n"
                  f"extendedKeyUsage={use}\nsubjectAltName={san}\n",
                  **options)
        return path


runs = {}       # item: (Run, its Future)


@pytest.fixture
def w():
    """A World; the thread that runs the test passes the real one."""


def is_short(item):
    return item.get_closest_marker("long") is None


def group_of(item):
    mark = item.get_closest_marker("xdist_group")
    return mark and mark.args[0]


# These run nothing that was compiled.
SCRIPTS = ("test_bench", "test_fixtures", "test_plugin", "test_study")
ONE_THREAD = ("test_check", "test_commands", "test_hold", "test_kubeconfig",
              "test_prometheus", "test_refused", "test_shapes",
              "test_simulate")


# What looks at memory or time, which under a sanitizer say nothing.
MEASURES = {"sanitized", "check_memory", "is_no_slower", "peak"}


def measures(item):
    return (item.get_closest_marker("skipif") is not None
            or MEASURES & set(item.function.__code__.co_names))


def not_for_threads(items, sample):
    """Yields what the thread sanitizer leaves out.

    Commands other than serve and uninstall have one thread.  Rows that differ
    in values only run the same code in the same threads, so every fourth is
    enough."""
    seen = collections.Counter()
    for item in items:
        if item.path.stem in SCRIPTS or (
                item.path.stem in ONE_THREAD and "serve" not in item.name):
            yield item
        elif item.get_closest_marker("values"):
            if seen[item.function] % 4:
                yield item
            seen[item.function] += 1
        elif sample:
            if seen["sample"] % 2:
                yield item
            seen["sample"] += 1


def needless(items):
    """Yields what shows this build nothing.

    A sanitizer sees nothing of scripts.  In `make test` (SAMPLE) each test runs
    under one of the sanitizers: every second under that of threads, the others
    under ASan with UBSan.  The release build runs every eighth of what measures
    nothing."""
    program = HOLDER_FAST.read_bytes() if HOLDER_FAST.exists() else b""
    sample = "SAMPLE" in os.environ
    if b"__tsan_init" in program:
        yield from not_for_threads(items, sample)
    elif b"__asan_init" in program:
        theirs = set(not_for_threads(items, sample))
        for item in items:
            if item.path.stem in SCRIPTS or sample and item not in theirs:
                yield item
    elif sample:
        some = [i for i in items
                if i.path.stem not in SCRIPTS and not measures(i)]
        yield from (i for n, i in enumerate(some) if n % 8)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Deals the tests out to the processes, and the long ones evenly."""
    left_out = set(needless(items))
    config.hook.pytest_deselected(items=left_out)
    items[:] = [i for i in items if i not in left_out]
    for n, item in enumerate(sorted(items, key=is_short)):
        item.add_marker(pytest.mark.xdist_group(str(n % PROCESSES)))


@pytest.fixture(scope="session", autouse=True)
def all_at_once(request, tmp_path_factory):
    """Starts the tests that take a World, those marked `long` first.  Only the
    tests in the group of the first reported test belong to this process."""
    first = request._pyfuncitem
    items = [i for i in request.session.items
             if "w" in i.fixturenames and group_of(i) == group_of(first)]
    if not items:
        yield
        return
    if not HOLDER_FAST.exists():
        pytest.fail(f"{HOLDER_FAST} is missing: make daemon")
    items.sort(key=is_short)
    base = tmp_path_factory.mktemp("worlds")
    pair = make_pair(base)
    with concurrent.futures.ThreadPoolExecutor(WORKERS // PROCESSES) as pool:
        for n, item in enumerate(items):
            path = base / f"{n}"
            path.mkdir()
            run = Run(item, path)
            runs[item] = run, pool.submit(run, pair)
        try:
            yield
        finally:
            abandoned.set()


def pytest_configure(config):
    # A job in the background may have inherited that it is ignored.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "long: is started before the others")
    config.addinivalue_line("markers", "values: its rows differ in values only")
    config.addinivalue_line("markers", "hurry: for others, too, the holder "
                            "waits only tenths of a second")
    # Fixtures end what they started only if these signals raise an exception.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: pytest.exit(
            f"ended by signal {n}", returncode=128 + n))
    # A shell's background job ignores SIGINT, and what it starts would inherit
    # that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if pyfuncitem not in runs:
        return None
    runs[pyfuncitem][1].result()
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when != "call" or item not in runs:
        return
    run = runs[item][0]
    report.duration = run.seconds
    for holder in run.world.holders if run.world and report.failed else ():
        report.sections.append((f"end of {holder.log.name}", "\n".join(
            holder.text().splitlines()[-40:])))
