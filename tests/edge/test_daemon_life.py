# SPDX-License-Identifier: Apache-2.0
"""Start, crash and stop, and what can be seen of the daemon from outside."""
import contextlib
import os
import pathlib
import re
import signal
import ssl
import time

import pytest

from conftest import HOLD, POOL, REPO, make_pair
from scripted_api.selftest import selftest

QUIET = 1       # seconds without a new connection after which holder-fast ends


STATE = "karpenter-node-holder.io/state"


def test_without_election_the_state_is_written_anew(w):
    """Nobody renews the Lease, so the state itself has to say until when it
    was valid.  The next process reads it."""
    names = w.machines(3)
    options = {"leader_election_namespace": "holder",
               "leader_election_retry_period": "60ms"}

    def state():
        lease = w.api.get("leases", "karpenter-node-holder") or {}
        return lease.get("metadata", {}).get("annotations", {}).get(STATE)
    holder = w.start(**options)
    w.busy()
    w.wait_held(names)
    seen = set()

    def rewritten():
        if "held" in (state() or ""):
            seen.add(state())
        return len(seen) >= 3
    w.wait(rewritten, lambda: f"three of them: {seen}")
    form = re.compile(r"\* debt=[0-9hms]+ held at=[-0-9T:]+Z")
    assert all(form.fullmatch(s) for s in seen), seen
    spec = w.api.get("leases", "karpenter-node-holder")["spec"]
    assert not spec.get("holderIdentity")
    holder.kill9()
    again = w.start(**options)
    w.stays(lambda: w.held(names), 0.5)
    assert not again.lines("state cannot be read")


def test_the_scripted_api_itself():
    selftest()


# --- crashes ---------------------------------------------------------------

def test_killed_in_a_hold_and_in_a_release(w):
    """There are 300 Nodes.  Each is held once and cleared once in total."""
    names = w.machines(300)
    w.machine("theirs", annotations={HOLD: "true"})
    w.machine("never", annotations={HOLD: "false"})
    before = [w.api.get("nodes", n) for n in ("theirs", "never")]

    def slow():
        """Makes calls so slow that the test does not see their end."""
        w.api.fault("nodes", "patch", "delay", seconds=0.1)
        for name in names[-30:]:
            w.api.fault("nodes", "patch", "hang", name=name)
    slow()
    first = w.start()
    w.busy()
    w.wait(lambda: sum(w.held(n) for n in names) >= 60)
    first.kill9()
    assert not w.held(names)
    w.api.clear()
    second = w.start()
    w.wait_held(names)

    slow()
    w.quiet()
    w.wait(lambda: sum(w.free(n) for n in names) >= 60)
    second.kill9()
    assert not w.free(names)
    w.api.clear()
    w.start()
    w.wait_free(names)
    w.wait_free("busy", "nodeclaims")
    assert all(w.changed(n) == 2 for n in names)
    assert before == [w.api.get("nodes", n) for n in ("theirs", "never")]


def test_killed_before_the_end_of_a_hold(w):
    """The release comes all the same, and what arrived meanwhile is held."""
    names = w.machines(5)
    first = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    first.kill9()
    w.machine("new", ready=None)
    w.ready()
    w.start(hold_duration="3s")
    w.wait_held("new")
    w.ready("new")
    w.wait_free(names + ["new"])


# --- SIGTERM ---------------------------------------------------------------

def test_term(w):
    """Patches under way are finished, holds stay, and reviews are answered
    until the last connection is closed."""
    names = w.machines(60)
    holder = w.start(patch_concurrency=4, webhook_drain_timeout="50s")
    c = holder.connect()
    status, _, headers = holder.review(c)
    assert status == 200 and "connection" not in headers
    assert holder.get("/readyz") == (200, "ok")
    w.api.fault("nodes", "patch", "delay", seconds=0.5)
    w.busy()
    w.wait(lambda: len(w.patches()) >= 6, "patches")
    holder.signal(signal.SIGTERM)
    holder.ended = 0
    w.wait(lambda: holder.get("/readyz")[0] != 200, "not ready")
    status, text = holder.get("/readyz")
    assert status in (500, 503) and "[-]shutdown" in text
    assert holder.get("/readyz?exclude=shutdown")[0] == 200
    assert holder.get("/livez") == (200, "ok")
    w.wait(lambda: w.api.count(verb="patch", status=0) == 0, "all answered")
    assert holder.alive()
    status, answer, headers = holder.review(c)
    assert status == 200 and answer["response"]["patch"]
    assert headers["connection"] == "close"
    # Its last connection is closed, so it ends.
    assert holder.wait_end() == 0
    done = w.patches()
    assert len(done) < 60 and all(r.status == 200 for r in done)
    assert len(holder.lines("held", kind="Node")) == len(done)
    assert w.held([r.name for r in done])
    assert not w.clears()
    assert holder.lines("stopping, holds stay", signal="SIGTERM")
    assert holder.lines()[-1]["msg"] == "stopped"


def test_term_waits_for_patches(w):
    """The daemon waits for patches even if no review keeps it running."""
    w.machines(6)
    holder = w.start()
    w.api.fault("nodes", "patch", "delay", seconds=0.15)
    w.busy()
    w.wait(lambda: w.patches(), "a patch")
    assert holder.term() == 0
    assert len(holder.lines("held", kind="Node")) == len(w.patches())


def test_term_while_new_connections_come(w):
    """A Service forgets the daemon some time after SIGTERM. Each new
    connection is answered, and the daemon ends when no more come."""
    holder = w.start(webhook_drain_timeout="50s")
    c = holder.connect()
    holder.signal(signal.SIGTERM)
    holder.ended = 0
    w.wait(lambda: holder.get("/readyz")[0] != 200, "not ready")
    for _ in range(15):
        time.sleep(QUIET / 7)
        new = holder.connect()      # in time, however slow this machine is
        status, answer, headers = holder.review(c)
        assert status == 200 and answer["response"]["patch"]
        assert headers["connection"] == "close"
        c.close()
        c = new
    c.close()
    assert holder.wait_end() == 0
    assert holder.lines("stopped", connectionsCut=0)


def test_term_with_an_idle_connection(w):
    """The connection stays open for the drain timeout and no longer."""
    holder = w.start(webhook_drain_timeout="600ms")
    with contextlib.closing(holder.connect()):
        assert holder.term() == 0
    assert holder.lines("stopped", connectionsCut=1)


def test_interrupt(w):
    holder = w.start()
    holder.signal(signal.SIGINT)
    assert holder.wait_end() == 0
    assert holder.lines("stopping, holds stay", signal="SIGINT")


def test_a_second_signal(w):
    # The process ends at once and waits for no thread.
    w.sanitizer["TSAN_OPTIONS"] = "report_thread_leaks=0"
    holder = w.start(webhook_drain_timeout="10m")
    with contextlib.closing(holder.connect()):
        holder.signal(signal.SIGTERM)
        w.wait(lambda: holder.get("/readyz")[0] != 200, "not ready")
        holder.signal(signal.SIGTERM)
        assert holder.wait_end() == 1
    assert holder.lines("second signal, exiting at once")


@pytest.mark.hurry
def test_term_while_the_api_server_hangs(w):
    """The stop takes no longer than a call may take."""
    w.machines(4)
    holder = w.start()
    w.api.fault("*", "*", "hang")
    w.busy()
    w.wait(lambda: w.api.count(verb="patch", status=0), "a hung patch")
    assert holder.term() == 0


def test_term_at_once(w):
    holder = w.start(watching=False)
    assert holder.term() == 0


# --- what is shown ---------------------------------------------------------

def test_health(w):
    holder = w.start()
    for path in ("/livez", "/readyz", "/healthz"):
        assert holder.get(path) == (200, "ok")
        status, text = holder.get(path + "?verbose")
        assert status == 200
        *checks, last = text.splitlines()
        assert last == path[1:] + " check passed"
        for line in checks:
            name, = re.fullmatch(r"\[\+\]([a-z-]+) ok", line).groups()
            assert holder.get(f"{path}/{name}") == (200, "ok")
            status, text = holder.get(f"{path}?verbose&exclude={name}")
            assert status == 200
            assert f"[+]{name} excluded: ok" in text.splitlines()
        assert holder.get(path + "/none")[0] == 404
        assert holder.get(path + "s")[0] == 404
    checks = holder.get("/readyz?verbose")[1]
    assert "certificate" in checks and "webhook" in checks
    checks = holder.get("/livez?verbose")[1]
    for thread in ("main", "webhook", "watchers", "sweeper", "event-recorder"):
        assert thread in checks
    assert holder.get("/none")[0] == 404


def test_ready_with_a_certificate_only(w):
    """The daemon starts without a certificate, logs why, and takes one when it
    comes."""
    crt, key = w.dir / "tls.crt", w.dir / "tls.key"
    holder = w.start(webhook_cert_file=crt, webhook_key_file=key)
    status, text = holder.get("/readyz")
    assert status in (500, 503) and "[-]certificate failed" in text
    assert holder.get("/readyz/certificate")[0] == status
    assert holder.get("/readyz/webhook") == (200, "ok")
    assert holder.get("/readyz?exclude=certificate") == (200, "ok")
    assert holder.get("/livez") == (200, "ok")
    assert str(crt) in holder.wait_line("certificate not usable")["err"]
    key.write_bytes((w.pair / "tls.key").read_bytes())
    crt.write_bytes((w.pair / "tls.crt").read_bytes())
    w.wait(lambda: holder.get("/readyz") == (200, "ok"), "ready")
    assert holder.review()[0] == 200


def test_certificates_from_a_pipe(w):
    """A pipe without a writer is refused as empty; nothing waits for it."""
    crt = w.dir / "tls.crt"
    os.mkfifo(crt)
    holder = w.start(webhook_cert_file=crt)
    assert str(crt) in holder.wait_line("certificate not usable")["err"]
    assert "[-]certificate failed" in holder.get("/readyz")[1]
    holder.term()


def test_a_renewal_under_the_old_serial_number(w):
    """Private CAs reuse serial numbers; only the bytes of a certificate count.
    """
    serve = w.dir / "serve"
    serve.mkdir()
    make_pair(serve, serial=7)
    holder = w.start(webhook_cert_file=serve / "tls.crt",
                     webhook_key_file=serve / "tls.key")

    def served():
        return ssl.get_server_certificate(("127.0.0.1",
                                           holder.port("webhookPort")))
    w.wait(lambda: holder.get("/readyz") == (200, "ok"), "ready")
    first = served()
    make_pair(serve, serial=7)
    w.wait(lambda: served() == (serve / "tls.crt").read_text() != first,
           "the new pair")


def test_metrics(w):
    names = w.machines(5)
    # Without the key some metrics are not there.
    holder = w.start(tickets_namespace="tickets")
    threads = pathlib.Path(f"/proc/{holder.process.pid}/task").glob("*/comm")
    assert "sweeper" in {t.read_text().strip() for t in threads}
    own = "karpenter_node_holder_"
    m = holder.metrics()
    assert m[own + 'objects{kind="Node"}'] == 5
    assert m[own + 'held_objects{kind="Node"}'] == 0
    assert m[own + 'scope_held{scope="cluster"}'] == 0
    assert m[own + 'watch_up{kind="Node"}'] == 1
    assert m[own + "tls_certificate_expiration_timestamp_seconds"] > 1e9
    w.busy()
    w.wait_held(names)
    w.wait(lambda: holder.metrics()[own + 'held_objects{kind="Node"}'] == 5)
    w.wait(lambda: holder.metrics()[own + "hold_latency_seconds_count"] == 1)
    m = holder.metrics()
    assert m[own + 'scope_held{scope="cluster"}'] == 1
    quiet = m[own + 'scope_quiet_timestamp_seconds{scope="cluster"}']
    assert abs(quiet - w.api.now() - 7200) < 60
    assert m[own + 'holds_total{result="ok"}'] == 6
    assert m[own + "timers"] == 1
    assert m['rest_client_requests_total{code="200",method="PATCH"}'] == 6
    assert m[own + "write_duration_seconds_count"] == sum(
        n for key, n in m.items() if key.startswith("rest_client_requests")
        and "<error>" not in key and "GET" not in key)
    took = m[own + "write_duration_seconds_sum"]
    w.api.fault("nodes", "patch", "delay", seconds=.3, times=1)
    assert m["process_open_fds"] > 3
    assert holder.review()[0] == 200
    w.quiet()
    w.wait_free(names)
    w.wait(lambda: holder.metrics()[
        own + 'releases_total{result="ok"}'] == 6)
    m = holder.metrics()
    assert m[own + "write_duration_seconds_sum"] - took >= .3
    assert m[own + 'admission_requests_total{kind="Node",result="held"}'] == 1
    assert m[own + 'scope_held{scope="cluster"}'] == 0
    text = holder.get("/metrics")[1]
    assert not any(n in text for n in names)
    # All of them are explained, and no others.
    section = re.search(r"^## Metrics$(.*?)^## ", (
        REPO / "docs" / "operations.md").read_text(), re.M | re.S)[1]
    cells = " ".join(re.findall(r"^\| (`.*?) \|", section, re.M))
    assert {f.removeprefix(own) for f in re.findall(
        r"^# TYPE (\S+) ", text, re.M)} == set(re.findall(r"`(\w+)`", cells))


@pytest.mark.hurry
def test_watch_down_shows(w):
    holder = w.start()
    w.api.fault("nodes", "watch", "hang")
    w.api.drop_watches("nodes")
    up = 'karpenter_node_holder_watch_up{kind="%s"}'
    w.wait(lambda: holder.metrics()[up % "Node"] == 0)
    assert holder.metrics()[up % "NodeClaim"] == 1
    w.api.clear()
    w.wait(lambda: holder.metrics()[up % "Node"] == 1)


def test_reviews(w):
    """Reviews are answered beside other work, and a dry run leaves no trace.
    """
    holder = w.start()
    with contextlib.closing(holder.connect()) as c:
        for kind in ("Node", "NodeClaim"):
            status, answer, _ = holder.review(c, kind=kind)
            assert status == 200 and answer["response"]["patch"]
        _, answer, _ = holder.review(c, annotations={HOLD: "true"})
        assert "patch" not in answer["response"]
        _, answer, _ = holder.review(c, labels={})
        assert "patch" not in answer["response"]
    holder.wait_line("held at admission", kind="Node", pool="p")


def test_the_log(w):
    """Each line is JSON (World.check), says what happened and why, and
    contains no secret."""
    w.token = w.api.token = "very-secret-token"
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.fault("*", "*", "401", times=3)
    w.api.drop_watches("nodes")
    w.api.drop_watches("nodeclaims")
    w.quiet()
    w.wait_free(names)
    w.wait_free("busy", "nodeclaims")
    for line in holder.lines():
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
                            line["ts"])
        assert line["level"] in ("error", "warn", "info", "debug")
    for msg in ("held", "released"):
        w.wait(lambda m=msg: {e["name"] for e in holder.lines(m)} ==
               {*names, "busy"}, msg)
        assert all(e["reason"] and e["pool"] == "p"
                   for e in holder.lines(msg))


def test_a_text_log(w):
    """It has the same lines (World.check reads them), and no name can forge
    one."""
    forged = 'x" \n2026-01-01T00:00:00.000Z ERROR forged pool="\x1b[2J'
    holder = w.start(logging_format="text")
    w.api.create("nodes", forged, labels={POOL: "p"})
    w.busy()
    w.wait_held("busy", "nodeclaims")
    assert holder.review(labels={POOL: "\x1b[2J\n"})[0] == 200
    assert holder.review(name=forged)[0] == 200
    assert holder.wait_line("held at admission", name=forged)
    assert "\x1b" not in holder.text()
    assert not [e for e in holder.lines() if e["msg"] == "forged"]


@pytest.mark.long
def test_file_descriptors(w):
    """Thirty watches end and are opened again, each on a new connection."""
    holder = w.start()
    rounds = 15
    most = None
    for n in range(rounds):
        for resource in ("nodes", "nodeclaims"):
            w.wait(lambda r=resource, n=n: w.watches(r) > n)
        # A watch that ends sooner counts as a failure, and a backoff follows.
        opened = max(w.api.select(verb="watch", resource=r)[-1].time
                     for r in ("nodes", "nodeclaims"))
        w.wait(lambda: time.monotonic() > opened + 1.1)
        if n == 3:
            most = holder.descriptors()
        for resource in ("nodes", "nodeclaims"):
            w.api.drop_watches(resource, close=True)
    w.wait(lambda: w.watches("nodes") > rounds)
    w.wait(lambda: w.watches("nodeclaims") > rounds)
    w.wait(lambda: holder.descriptors() <= most, "none is left open")
    assert len(w.lists("nodes")) == 1
