# SPDX-License-Identifier: Apache-2.0
"""`holderctl hold` beside a scripted API server and a scripted Prometheus: what
it writes and when, what becomes of the command, and what it says."""
import calendar
import email.utils
import json
import os
import pty
import re
import signal
import subprocess
import time
from unittest.mock import ANY

import pytest

from conftest import PATIENCE, REPORT, spawn, stays, wait
from test_commands import holderctl as run  # noqa: F401
from test_commands import refused
from test_prometheus import Scripted, failure, say

OWN = "karpenter-node-holder.io/"
STATUS = "http:pod-1:8080/proxy/status"
TOKEN = "planted-token"
ME = {"USER": "me"}


class Hold:
    """One process of the command.  Its lines are those of both outputs, as
    they come, and `out` has those of stdout alone."""

    def __init__(self, w, *flags, terminal=None, first=(), tail=(), name="t",
                 user=None, **options):
        w.api.write_kubeconfig(w.kubeconfig, user=user)
        w.more.update({"USER": "me", **options.pop("env", {})})
        argv = [*first, w.tools, "hold", "--kubeconfig", w.kubeconfig,
                "--namespace", "tickets", *(["--name", name] if name else []),
                *flags]
        if "--while" in flags:
            argv += ["--holder-namespace", "holder", "--", *tail]
        self.log = w.dir / f"hold{time.monotonic_ns()}"
        self.out = self.log.with_suffix(".out")
        if terminal is not None:
            options["stdin"] = terminal
        with self.log.open("wb") as err, self.out.open("wb") as out:
            self.process = spawn(argv, **{
                "stdin": subprocess.DEVNULL, "env": w.environment(),
                "stdout": out, "stderr": err, **options})

    def text(self):
        return self.log.read_text(errors="replace")

    def printed(self):
        return self.out.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def ends(self, code=0):
        """Waits for its end; returns what it says on stderr."""
        try:
            got = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
        assert not REPORT.search(self.text()), self.text()
        assert got == code, self.text() + self.printed()
        assert TOKEN not in self.text() + self.printed()
        return self.text()

    def term(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        return self.ends(code)


def shell(script):
    return ["sh", "-c", script]


def hold(w, *flags, code=0, **options):
    run_ = Hold(w, *flags, **options)
    return run_.ends(code), run_.printed()


def ticket(w, name="t"):
    return w.api.get("tickets", name)


def annotations(w, name="t"):
    return {k.removeprefix(OWN): v for k, v in
            w.api.annotations("tickets", name).items()}


def writes(w, *verbs):
    return [r for r in w.api.select(resource="tickets")
            if r.verb in (verbs or ("create", "patch", "delete"))]


def seconds(text):
    """A time with microseconds, in seconds since 1970."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text), text
    whole = time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
    return calendar.timegm(whole) + float(text[19:26])


def others(w, name="t", holder="you@there", ago=0, lasts=600, **more):
    """A ticket of somebody else."""
    at = time.gmtime(w.api.now() - ago)
    return w.api.create("tickets", name, namespace="tickets", spec={
        "holderIdentity": holder, "leaseDurationSeconds": lasts,
        "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", at)}, **more)


def listed(w, **more):
    """How a leader lists the tickets that are there."""
    return [{"name": name, "holder": "x", "reason": None,
             "until": w.api.stamp(60), "nodePools": 2, "problem": None, **more}
            for name in w.api.names("tickets")]


def leader(w, answer=None):
    """A replica that leads, and answers /status by answer(), which gives what
    it says beside the usual."""
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "pod-1_0123", "leaseDurationSeconds": 15})
    w.api.create("pods", "pod-1", labels={
        "app.kubernetes.io/component": "controller"}, spec={
            "nodeName": "n", "containers": [{"ports": [
                {"name": "webhook", "containerPort": 8443},
                {"name": "metrics", "containerPort": 8080}]}]})
    asked = []

    def status(request):
        asked.append(request)
        return json.dumps({
            "kind": "HolderStatus", "mode": "enforce", "replica": "pod-1_0123",
            "leader": {"thisReplica": True}, "tickets": listed(w),
            **(answer(len(asked)) if answer else {})}).encode()
    w.api.fault("pods", "get", "answer", name=STATUS, body=status,
                headers={"Content-Type": "application/json"})
    return asked


# --- flags ---------------------------------------------------------------------

WHILE = ["--while", "--", "true"]
QUERY = ["--while-query", "up", "--prometheus", "http://127.0.0.1:1"]


@pytest.mark.parametrize("args, words", [
    ([], ["expected one of --for, --while and --while-query"]),
    (["--for", "1h", *WHILE], ["expected one of"]),
    (["--for", "1h", *QUERY], ["expected one of"]),
    (["--for", "0s"], ['--for: "0s"', "1s to 168h"]),
    (["--for", "168h1s"], ["--for: ", "1s to 168h"]),
    (["--for", "soon"], ['--for: "soon"']),
    (["--for"], ["--for: missing"]),
    (["--for", "1h", "--lease", "60s"], ["--lease: only with --while or"]),
    (["--for", "1h", "--strict"], ["--strict: only with --while"]),
    (["--for", "1h", "--every", "5s"], ["--every: only with --while-query"]),
    (["--for", "1h", "--prometheus", "x"], ["--prometheus: only with"]),
    (["--for", "1h", "--", "true"], ["expected --while before it"]),
    (["--for", "1h", "true"], ['unexpected argument "true"']),
    (["--for", "1h", "--frob"], ["unknown flag --frob"]),
    (["--while"], ["--while: no command"]),
    (["--while", "--"], ["--while: no command"]),
    (["--while", "--", ""], ["--while: no command"]),
    (["--while=yes", "--", "true"], ["--while: ", "no value"]),
    (["--lease", "999ms", *WHILE], ["--lease: ", "1s to 168h"]),
    (["--while-query", "up"], ["expected --prometheus URL"]),
    ([*QUERY, "--every", "0s"], ["--every: ", "1s to 1h"]),
    ([*QUERY, "--every", "61m"], ["--every: ", "1s to 1h"]),
    ([*QUERY, "--every=31s", "--lease=61s"], ["less than two times --every"]),
    (["--while-query", "", *QUERY[2:]], ["--while-query: expected 1 to"]),
    (["--while-query", "x" * 4001, *QUERY[2:]], ["--while-query: expected"]),
    ([*QUERY, "--", "true"], ["expected --while before it"]),
    (["--for=1h", "--nodepool", ""], ['--nodepool: ""']),
    (["--for=1h", "--nodepool", " ,"], ['--nodepool: ""']),
    (["--for=1h", "--nodepool", "Web"], ['"Web" can match no NodePool']),
    (["--for=1h", "--nodepool", "a" * 128], ["more than 127 bytes"]),
    (["--for=1h", "--nodepool", ",".join(f"p{i}" for i in range(65))],
     ["more than 64"]),
    (["--for=1h", *["--nodepool=" + "a" * 120] * 17], ["more than 2048 bytes"]),
    (["--for=1h", "--reason", "x" * 257], ["--reason: more than 256 bytes"]),
    (["--for=1h", "--reason", "a\nb"], ["--reason: expected one line"]),
    (["--for=1h", "--name", "Web"], ['--name: "Web"']),
    (["--for=1h", "--name", "a" * 254], ["--name: "]),
    (["--for=1h", "--namespace", "a.b"], ['--namespace: "a.b"']),
    (["--for=1h", "--namespace", ""], ['--namespace: ""']),
    (["--holder-namespace=../x", *WHILE], ["--holder-namespace: "]),
    (["--holder-lease=a/b", *WHILE], ["--holder-lease: "]),
    (["--for=1h"], ["no cluster"]),
    (["--for=1h", "--kubeconfig=none"], ["none", "No such file"]),
], ids=lambda x: " ".join(x)[:40])
def test_flags_refused(run, args, words):  # noqa: F811
    refused(run("hold", *args), *words)


def test_bounds_that_are_allowed(w):
    patterns = ["p" * 120 + f"{i}" for i in range(10, 26)] + ["a", "b?*"]
    err, _ = hold(w, "--for=168h", "--reason", "ä" * 128, name="a" * 63 + ".b",
                  *[])
    assert not err
    only, = w.api.names("tickets")
    assert only == "a" * 63 + ".b"
    assert annotations(w, only) == {"reason": "ä" * 128}
    assert ticket(w, only)["spec"]["leaseDurationSeconds"] == 7 * 86400
    hold(w, "--for=1s", *[f"--nodepool={p}" for p in patterns[:16]])
    assert annotations(w)["nodepools"] == ",".join(patterns[:16])
    assert ticket(w)["spec"]["leaseDurationSeconds"] == 1
    hold(w, "--for=1500ms", "--nodepool", " a, b?*\tc ", "--nodepool=d")
    assert annotations(w) == {"nodepools": "a,b?*,c,d"}
    assert ticket(w)["spec"]["leaseDurationSeconds"] == 2, "rounded up"
    hold(w, "--for=1h", "--nodepool", ",".join(f"p{i}" for i in range(64)))


# --- for a time -----------------------------------------------------------------

def test_for(w):
    """A local clock that is three days off does no harm."""
    w.api.clock_offset = 3 * 86400
    before = w.api.now()
    err, out = hold(w, "--for=2h", "--nodepool=web", "--nodepool=batch-*",
                    '--reason=release "9"')
    assert not err
    spec = ticket(w)["spec"]
    assert before - 2 < seconds(spec.pop("renewTime")) < w.api.now() + 1
    host = os.uname().nodename
    assert spec == {"holderIdentity": f"me@{host}",
                    "leaseDurationSeconds": 7200}
    assert annotations(w) == {"nodepools": "web,batch-*",
                              "reason": 'release "9"'}
    written, holds, end = out.splitlines()
    assert written == ("written: the ticket tickets/t of "
                       f'me@{host}: release "9"')
    until = re.fullmatch("it holds the NodePools web,batch-\\* until (\\S+)",
                         holds)[1]
    assert w.api.stamp(7190) < until <= w.api.stamp(7201)
    assert end == "to end it: kubectl delete lease -n tickets t"
    assert [r.verb for r in w.api.select(resource="tickets")] == [
        "get", "create"]


def test_times_tell_which_run_has_written(w):
    """The API server tells them the same second."""
    now = email.utils.formatdate(w.api.now(), usegmt=True)
    w.api.fault("tickets", "*", "head", headers={"Date": now})
    for i in range(8):
        hold(w, "--for=1h", name=f"t{i}")
    times = {ticket(w, f"t{i}")["spec"]["renewTime"] for i in range(8)}
    assert len(times) >= 7, times


def test_a_name_is_made(w):
    for _ in range(2):
        _, out = hold(w, "--for=1h", name=None,
                      env={"USER": "", "LOGNAME": "it's\nme"})
        assert "it holds all NodePools until " in out
    a, b = w.api.names("tickets")
    host = re.sub("[^a-z0-9]", "-", os.uname().nodename.lower())[:40]
    for name in a, b:
        assert re.fullmatch(f"hold-{host}-[0-9a-f]{{6}}", name)
    assert a != b and not annotations(w, a)
    assert ticket(w, a)["spec"]["holderIdentity"].startswith("it's?me@")


def test_whose_name_it_is(w):
    """One that is ours, or over, is taken over; another one stays."""
    held = others(w, annotations={OWN + "reason": "theirs"})
    err, out = hold(w, "--for=2h", "--nodepool=a", code=1)
    assert re.fullmatch(r"holderctl: ticket tickets/t: there is one of "
                        r"you@there until \S+Z, expected another --name\n", err)
    assert ticket(w) == held and not out
    w.api.delete("tickets", "t")
    for there in ({"holder": f"me@{os.uname().nodename}"},
                  {"ago": 601, "annotations": {OWN + "reason": "theirs"}}):
        uid = others(w, **there)["metadata"]["uid"]
        hold(w, "--for=2h", "--nodepool=a")
        assert annotations(w) == {"nodepools": "a"}
        assert ticket(w)["spec"]["holderIdentity"].startswith("me@")
        assert ticket(w)["metadata"]["uid"] == uid
        w.api.delete("tickets", "t")


@pytest.mark.hurry
def test_for_where_the_api_server_has_trouble(w):
    w.api.fault("tickets", "get", "500", times=1)
    w.api.fault("tickets", "create", "429", times=1, retry_after=1)
    w.api.fault("tickets", "create", "lost-reply", times=1)
    err, out = hold(w, "--for=2h")
    assert err.count("trying again") == 1 and "written again" in err, err
    assert ticket(w) and "it holds all NodePools" in out
    for resource, verb, kind, words in (
            ("tickets", "create", "403", "403: tickets is forbidden"),
            ("tickets", "get", "403", "403: tickets is forbidden")):
        w.api.delete("tickets", "t")
        fault = w.api.fault(resource, verb, kind)
        begin = time.monotonic()
        err, out = hold(w, "--for=2h", code=1)
        assert words in err and not out and err.count("\n") == 1, err
        assert time.monotonic() - begin < 20, "of no use"
        w.api.clear(fault)
        others(w, holder="")
    w.api.delete("tickets", "t")
    body = json.dumps({"kind": "Status", "code": 404, "reason": "NotFound",
                       "message": 'namespaces "tickets" not found'}).encode()
    w.api.fault("tickets", "create", "answer", status=404, body=body,
                headers={"Content-Type": "application/json"})
    assert 'namespaces "tickets" not found' in hold(w, "--for=2h", code=1)[0]


def test_for_where_nobody_knows_whether_it_is_written(w):
    """It says how to end what may be there for hours."""
    w.api.fault("tickets", "create", "delay", seconds=1)
    run_ = Hold(w, "--for=2h")
    wait(lambda: writes(w, "create"), "under way")
    run_.process.send_signal(signal.SIGINT)
    err = run_.ends(1)
    assert "ended by SIGINT" in err
    assert "t: it may be written; to end it: kubectl delete lease -n tickets " \
        "t\n" in err, err
    w.api.clear()
    wait(lambda: w.api.names("tickets"), "written all the same")
    w.api.delete("tickets", "t")
    with open("/dev/full", "wb") as full:
        err, _ = hold(w, "--for=2h", stdout=full, code=1)
    assert "it may be written" in err and ticket(w)
    w.api.delete("tickets", "t")
    w.api.fault("tickets", "create", "403")
    assert "may be written" not in hold(w, "--for=2h", code=1)[0]


# --- while a command runs --------------------------------------------------------

def test_while(w):
    """It is held before the command starts, and not after it."""
    asked = leader(w)
    flag = w.dir / "go"
    run_ = Hold(w, "--while", "--reason=deploy", tail=shell(
        f"echo begun; while [ ! -e {flag} ]; do sleep 0.05; done; "
        "echo \"$0 $*\"; exit 7") + ["it's", "a b", ""])
    wait(lambda: run_.printed() == "begun\n", run_.text)
    assert ticket(w)["spec"]["leaseDurationSeconds"] == 60 and asked
    flag.touch()
    err = run_.ends(7)
    assert run_.printed() == "begun\nit's a b \n"
    assert re.fullmatch(r"holderctl: ticket tickets/t: the leader holds 2 "
                        r"NodePools until \S+Z\n", err)
    assert not w.api.names("tickets")
    made, gone = writes(w)
    assert (made.verb, gone.verb) == ("create", "delete")
    assert set(gone.body["preconditions"]) == {"uid", "resourceVersion"}


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 255", 255), ("kill -9 $$", 137),
    ("kill -TERM $$", 143)])
def test_how_the_command_ends(w, script, code):
    leader(w)
    hold(w, "--while", tail=shell(script), code=code)
    assert not w.api.names("tickets")


def test_a_command_that_cannot_be_started(w):
    leader(w)
    for command, code, words in (("no-such-command", 127, "No such file"),
                                 ("/", 126, "Permission denied")):
        err, _ = hold(w, "--while", tail=[command], code=code)
        assert f"cannot start {command}: {words}" in err
        assert not w.api.names("tickets")


SEES = """import json, os, sys
fds = []
for fd in os.listdir("/proc/self/fd"):
    try:
        fds.append((fd, os.path.basename(os.readlink("/proc/self/fd/" + fd))))
    except OSError:     # the one that has listed them
        pass
with open("/proc/self/status") as f:
    status = [line for line in f if line.startswith((
        "SigBlk", "SigCgt", "THP_enabled", "NoNewPrivs", "Seccomp", "Umask"))]
    f.seek(0)
    ignored, = [int(line.split()[1], 16) for line in f
                if line.startswith("SigIgn")]
status.append(ignored & ~(3 << 31))     # glibc's own, in any posix_spawn
print(json.dumps([sorted(fds), status, os.getpgrp(), os.getcwd(),
                  sys.stdin.read(), dict(os.environ)]))
"""


def test_what_the_command_sees(w):
    """It is as if nothing were before it: descriptors, signals, memory."""
    leader(w)
    ours, theirs = os.pipe()
    (w.dir / "in").write_text("input")
    argv = ["python3", "-I", "-c", SEES]
    seen = []
    for run_ in (lambda **o: Hold(w, "--while", tail=argv, **o).process,
                 lambda **o: spawn(argv, env=w.environment(), **o)):
        with open(w.dir / "in") as stdin, open(w.dir / "out", "w") as out:
            process = run_(stdin=stdin, stdout=out,
                           stderr=subprocess.DEVNULL, pass_fds=[ours])
            assert process.wait(PATIENCE) == 0
        seen.append(json.loads((w.dir / "out").read_text()))
    os.close(theirs)
    os.close(ours)
    assert seen[0] == seen[1]
    assert str(ours) in dict(seen[0][0])


def test_a_reader_that_goes_away_ends_the_command(w):
    """SIGPIPE is what it was."""
    leader(w)
    err, _ = hold(w, "--while", tail=shell(
        "(yes; echo status $? >&2) | true; sleep 0.1"))
    assert "status 141" in err


# --- what the leader says ----------------------------------------------------------

@pytest.mark.parametrize("answer, words", [
    (lambda n: {"tickets": None}, "the holder reads no tickets"),
    (lambda n: {"mode": "observe"},
     "the holder has mode: observe, and holds nothing"),
    (lambda n: {"leader": {"thisReplica": False}}, "another replica leads"),
    (lambda n: {"tickets": []},
     "the leader does not list it: is tickets its tickets.namespace?"),
    (lambda n: {"tickets": [], "leftOut": {"tickets": 7}},
     "the leader's /status does not show it: it has no room for 7 of the"),
    (lambda n: {"tickets": [{"name": "t", "until": None, "nodePools": 0,
                             "problem": "it was over already"}]},
     "the leader says: it was over already"),
    (lambda n: {"tickets": [{"name": "t", "until": "2020-01-01T00:00:00Z",
                             "nodePools": 1, "problem": None}]},
     "the leader says: it is over"),
    (lambda n: {"tickets": [{"name": "t", "until": "2199-01-01T00:00:00Z",
                             "nodePools": 0, "problem": None}]},
     "it matches no NodePool that may be held"),
    (lambda n: {"kind": "Status"}, "/status of Pod pod-1: no HolderStatus"),
], ids=lambda x: x[:20] if isinstance(x, str) else "")
def test_a_leader_that_does_not_hold(w, answer, words):
    """The command starts all the same, unless --strict."""
    leader(w, answer)
    err, out = hold(w, "--while", tail=["echo", "run"])
    assert f"ticket tickets/t: it may hold nothing: {words}" in err, err
    assert out == "run\n" and not w.api.names("tickets")
    err, out = hold(w, "--while", "--strict", tail=["echo", "run"], code=3)
    assert words in err and "--strict: the command is not started" in err
    assert not out and not w.api.names("tickets")


def test_a_leader_that_needs_a_moment(w):
    """The command waits for it."""
    asked = leader(w, lambda n: {"tickets": []} if n < 4 else {
        "tickets": listed(w, nodePools=1, problem="it is broad")})
    run_ = Hold(w, "--while", "--strict", tail=shell("echo run"))
    err = run_.ends()
    assert len(asked) == 4 and run_.printed() == "run\n"
    assert "the leader holds 1 NodePool until" in err
    assert "the leader says: it is broad" in err


def test_a_leader_that_knows_the_ticket_before(w):
    """A run of the same name was killed: what it asked for is no answer for
    the next one."""
    others(w, holder=f"me@{os.uname().nodename}", ago=10, lasts=600,
           annotations={OWN + "nodepools": "web"})
    def renewed():   # as /status has it, in whole seconds
        return ticket(w)["spec"]["renewTime"][:19] + "Z"
    before = renewed()
    asked = leader(w, lambda n: {"tickets": listed(
        w, renewed=before if n < 4 else renewed())})
    run_ = Hold(w, "--while", "--strict", "--nodepool=batch",
                tail=["echo", "run"])
    run_.ends()
    assert len(asked) == 4 and run_.printed() == "run\n"
    w.api.delete("tickets", "t")
    w.api.clear()
    w.api.delete("leases", "karpenter-node-holder")
    w.api.delete("pods", "pod-1")
    leader(w, lambda n: {"tickets": listed(w, renewed=before)})
    err, out = hold(w, "--while", "--strict", tail=["echo", "run"], code=3)
    assert "the leader knows only the ticket of this name that was there " \
        "before" in err and not out


def test_no_leader_can_be_asked(w):
    def stays_unheld(words, quick=False):
        begin = time.monotonic()
        err, out = hold(w, "--while", tail=["echo", "run"])
        assert "it may hold nothing: " + words in err, err
        assert out == "run\n"
        assert not quick or time.monotonic() - begin < 2.9, "of no use"
        assert not w.api.names("tickets")
    stays_unheld("the Lease holder/karpenter-node-holder of the holder: 404")
    leader(w)
    w.api.delete("pods", "pod-1")
    stays_unheld("the leader's Pod pod-1: 404")
    for holder, words in (("", "no replica leads"),
                          ("../../secrets_1", "the Lease holder/karpenter-node-"
                           "holder does not name a Pod")):
        w.api.change("leases", "karpenter-node-holder",
                     {"spec": {"holderIdentity": holder}})
        stays_unheld(words)
    assert not [r for r in w.api.requests if "secrets" in r.path]
    w.api.fault("leases", "get", "403")
    begin = len(w.api.requests)
    stays_unheld("the Lease holder/karpenter-node-holder of the holder: 403")
    assert sum(r.resource == "leases" for r in w.api.requests[begin:]) == 1, \
        "of no use"


def test_the_proxy_refuses(w):
    leader(w)
    w.api.clear()
    w.api.fault("pods", "get", "403", name=STATUS)
    err, out = hold(w, "--while", "--strict", tail=["echo", "run"], code=3)
    assert "/status of Pod pod-1: 403" in err and not out


# --- an API server that has trouble ------------------------------------------------

def test_while_the_ticket_cannot_be_written(w):
    """A deployment does not fail because nothing holds."""
    leader(w)
    w.api.fault("tickets", "create", "403")
    err, out = hold(w, "--while", tail=["echo", "run"])
    assert "it may hold nothing: it is not written: 403" in err
    assert out == "run\n"
    assert hold(w, "--while", "--strict", tail=["echo"], code=3)[1] == ""
    w.api.clear()
    held = others(w)
    err, out = hold(w, "--while", tail=["echo", "run"], code=1)
    assert "there is one of you@there" in err and not out
    assert ticket(w) == held


def test_a_name_that_is_there_and_is_not(w):
    """Whatever refuses it with a 409 is not asked without a pause."""
    leader(w)
    w.api.fault("tickets", "create", "answer", status=409, body=json.dumps({
        "kind": "Status", "code": 409, "reason": "Conflict",
        "message": "of a quota"}).encode(),
        headers={"Content-Type": "application/json"})
    err, out = hold(w, "--while", tail=["echo", "run"])
    assert "it may hold nothing: it is not written: 409: of a quota" in err
    assert out == "run\n" and len(writes(w, "create")) < 20


def test_no_api_server(w):
    w.api.write_kubeconfig(w.kubeconfig)
    w.restart_api(start=False)
    err, out = hold(w, "--while", tail=["echo", "run"])
    assert "it may hold nothing: it is not written: " in err
    assert out == "run\n"
    assert hold(w, "--while", "--strict", tail=["echo"], code=3)[1] == ""
    w.restart_api(stop=False)


def test_written_later(w):
    """What could not be written at first is written while the command runs."""
    leader(w)
    fault = w.api.fault("tickets", "create", "403")
    run_ = Hold(w, "--while", "--lease=3s", tail=["sleep", "60"])
    wait(lambda: "it is not written" in run_.text(), run_.text)
    assert run_.alive() and not w.api.names("tickets")
    w.api.clear(fault)
    wait(lambda: w.api.names("tickets"), "written")
    run_.term(143)
    assert not w.api.names("tickets")


# --- renewals -----------------------------------------------------------------------

def begun(w, *flags, lease="3s", script="echo run; sleep 60", **options):
    """A command that runs."""
    run_ = Hold(w, "--while", f"--lease={lease}", *flags,
                tail=shell(f"{script}"), **options)
    wait(lambda: "run" in run_.printed(), run_.text)
    return run_


def test_renewals(w):
    """They come in time, and change the times alone."""
    leader(w)
    run_ = begun(w, "--nodepool=a")
    w.api.patch_meta("tickets", "t", annotations={OWN + "nodepools": "a,b",
                                                  "mine": "x"})
    wait(lambda: sum(r.changed for r in writes(w, "patch")) >= 4)
    times = [seconds(r.body["spec"]["renewTime"])
             for r in writes(w, "create", "patch") if r.changed]
    assert all(0 < b - a < 3 for a, b in zip(times, times[1:])), times
    assert times[-1] - times[0] > 2, "three thirds of three seconds"
    assert annotations(w) == {"nodepools": "a,b", "mine": "x"}
    assert all(set(r.body["spec"]) == {"renewTime", "leaseDurationSeconds"}
               for r in writes(w, "patch") if r.changed)
    run_.term(143)
    assert not w.api.names("tickets")


def test_renewals_that_fail(w):
    """It is told once, and the command goes on."""
    leader(w)
    run_ = begun(w)
    fault = w.api.fault("tickets", "patch", "500")
    wait(lambda: "holds nothing until it is renewed" in run_.text(), run_.text)
    assert len(writes(w, "patch")) >= 3
    w.api.clear(fault)
    wait(lambda: "written again" in run_.text(), run_.text)
    assert run_.alive()
    text = run_.term(143)
    assert re.findall(r"^holderctl: ticket tickets/t: (.*)$", text, re.M)[1:] \
        == ["trying again: 500: HTTP 500",
            "it is over, and holds nothing until it is renewed",
            "written again"], text
    assert not w.api.names("tickets")


def test_renewals_that_are_to_wait(w):
    """Not for longer than until the next renewal is due, or the hold would
    end."""
    leader(w)
    run_ = begun(w, lease="6s")
    fault = w.api.fault("tickets", "patch", "answer", status=429, body=b"{}",
                        headers={"Retry-After": "100"}, times=1)
    wait(lambda: "trying again: 429" in run_.text(), run_.text)
    w.api.clear(fault)
    wait(lambda: "written again" in run_.text(), run_.text)
    assert "holds nothing" not in run_.text()
    run_.term(143)


@pytest.mark.hurry
def test_renewals_whose_answers_are_lost(w):
    leader(w)
    run_ = begun(w)
    w.api.fault("tickets", "patch", "lost-reply", times=2)
    wait(lambda: "written again" in run_.text(), run_.text)
    w.api.fault("tickets", "patch", "lost-reply", times=1)
    n = len(writes(w, "patch"))
    wait(lambda: len(writes(w, "patch")) > n)
    run_.term(143)
    assert not w.api.names("tickets"), "also after one that is not known"


def test_somebody_deletes_it(w):
    leader(w)
    run_ = begun(w)
    uid = ticket(w)["metadata"]["uid"]
    w.api.delete("tickets", "t")
    wait(lambda: ticket(w), "written again")
    assert ticket(w)["metadata"]["uid"] != uid
    run_.term(143)
    assert not w.api.names("tickets")


def test_somebody_takes_it(w):
    """What is theirs by now is neither renewed nor deleted."""
    leader(w)
    run_ = begun(w)
    w.api.change("tickets", "t", {"spec": {
        "holderIdentity": "you@there", "leaseDurationSeconds": 600}})
    wait(lambda: "renewed no more: there is one of you@there" in run_.text(),
         run_.text)
    theirs = ticket(w)
    n = len(writes(w))
    stays(lambda: len(writes(w)) == n, 2)
    run_.term(143)
    assert ticket(w) == theirs


@pytest.mark.parametrize("other, lease", [("60s", "60s"), ("3s", "3s"),
                                          ("60s", "3s")])
def test_another_run_of_the_same_name(w, other, lease):
    """The first one that ends does not take the ticket from the other."""
    leader(w)
    second, first = begun(w, lease=other), begun(w, lease=lease)
    if lease == "3s":
        n = len(writes(w, "patch"))
        wait(lambda: len(writes(w, "patch")) >= n + 8, "they renew it")
    for run_ in first, second:
        err = run_.term(143)
        assert re.search(r"t: not deleted, and over at \S+Z by itself\n"
                         ".*the reason: (me@\\S+ has written it since|another "
                         "run of this name has renewed it)\n", err), err
        assert ticket(w) and not writes(w, "delete") or other == "60s"
    assert ticket(w)


def test_a_run_after_one_that_was_killed(w):
    """The ticket might be that of a run that goes on, but nobody renews it.
    """
    leader(w)
    others(w, holder=f"me@{os.uname().nodename}", lasts=3)
    run_ = begun(w)
    wait(lambda: sum(r.changed for r in writes(w, "patch")) >= 5, "renewals")
    run_.term(143)
    assert not w.api.names("tickets")


def test_the_ticket_cannot_be_deleted(w):
    leader(w)
    fault = w.api.fault("tickets", "delete", "500")
    err, _ = hold(w, "--while", "--lease=60s", tail=shell("exit 5"), code=5)
    assert re.search(r"t: not deleted, and over at \S+Z by itself\n", err)
    assert "the reason: 500" in err and ticket(w)
    w.api.clear(fault)
    w.api.delete("tickets", "t")
    w.api.fault("tickets", "delete", "500", times=1)
    hold(w, "--while", tail=shell("exit 5"), code=5)
    assert not w.api.names("tickets")


# --- signals ----------------------------------------------------------------------

TRAPS = ("trap 'echo got TERM' TERM; trap 'echo got INT' INT; "
         "trap 'echo got HUP' HUP; echo run; "
         "while [ ! -e $END ]; do sleep 0.05; done; exit 42")


def test_signals_are_passed_on(w):
    """The command decides what they mean, however many come."""
    leader(w)
    end = w.dir / "end"
    run_ = begun(w, script=TRAPS, env={"END": str(end)})
    for n, name in enumerate(("TERM", "INT", "HUP", "TERM"), 1):
        run_.process.send_signal(signal.Signals["SIG" + name])
        wait(lambda n=n: run_.printed().count("got") == n, run_.printed)
        assert run_.printed().endswith(f"got {name}\n")
    assert run_.alive() and ticket(w)
    end.touch()
    run_.ends(42)
    assert not w.api.names("tickets")


ENDS = [signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_that_ends_the_command(w, number):
    leader(w)
    run_ = begun(w, lease="60s", script="ulimit -c 0; echo run; exec sleep 60")
    run_.process.send_signal(number)
    run_.ends(128 + number)
    assert not w.api.names("tickets")


def test_a_signal_for_the_whole_group(w):
    """What ends the command does not keep the ticket from being deleted."""
    leader(w)
    run_ = begun(w, script="echo run; exec sleep 60", start_new_session=True)
    w.api.fault("tickets", "patch", "delay", seconds=1, times=1)
    wait(lambda: writes(w, "patch"), "a renewal under way")
    os.killpg(run_.process.pid, signal.SIGINT)
    run_.ends(130)
    assert not w.api.names("tickets")


def test_ignored_signals_stay_so(w):
    """nohup holderctl hold --while -- COMMAND"""
    leader(w)
    run_ = begun(w, first=["sh", "-c", "trap '' QUIT; exec nohup \"$@\"", "-"],
                 script="echo run; exec sleep 60")
    run_.process.send_signal(signal.SIGHUP)
    run_.process.send_signal(signal.SIGQUIT)
    stays(run_.alive, 0.5)
    run_.term(143)


def test_ignored_signals_do_not_end_a_query(w):
    with Asked() as p:
        run_ = query(w, p, first=["sh", "-c", "trap '' QUIT; exec nohup \"$@\"",
                                  "-"])
        wait(lambda: p.asked, "asks")
        run_.process.send_signal(signal.SIGHUP)
        run_.process.send_signal(signal.SIGQUIT)
        stays(run_.alive, 0.5)
        run_.term()


COUNTS = """import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("run", flush=True)
while not got:
    time.sleep(0.02)
time.sleep(0.7)
print("INT", len(got), flush=True)
"""


def test_control_c_comes_once(w):
    """The terminal sends it to the command as well."""
    leader(w)
    ours, theirs = pty.openpty()
    # While a call is under way, a second one would come some milliseconds
    # later, and not be one with the first.
    w.api.fault("tickets", "patch", "delay", seconds=1)
    run_ = Hold(w, "--while", "--lease=3s", terminal=theirs,
                first=["setsid", "--ctty"],
                tail=["python3", "-I", "-c", COUNTS])
    wait(lambda: "run" in run_.printed(), run_.text)
    wait(lambda: writes(w, "patch"), "a renewal under way")
    os.write(ours, b"\x03")
    run_.ends()
    os.close(ours)
    os.close(theirs)
    assert run_.printed() == "run\nINT 1\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_before_the_command(w, number):
    leader(w, lambda n: {"tickets": []})
    run_ = Hold(w, "--while", tail=["echo", "run"])
    wait(lambda: w.api.names("tickets"), "written")
    wait(lambda: w.api.select(name=STATUS), "asks")
    run_.process.send_signal(number)
    err = run_.ends(128 + number)
    assert f"ended by {number.name}" in err and not run_.printed()
    assert not w.api.names("tickets")


def test_killed(w):
    """The ticket ends by itself."""
    leader(w)
    run_ = begun(w, script="echo run $$; exec sleep 60")
    pid = int(run_.printed().split()[1])
    run_.process.kill()
    run_.process.wait()
    n = len(writes(w))
    assert ticket(w)["spec"]["leaseDurationSeconds"] == 3
    stays(lambda: len(writes(w)) == n, 2)
    assert ticket(w)
    os.kill(pid, signal.SIGKILL)


# --- while a query finds something ----------------------------------------------------

def vector(n, **more):
    return json.dumps({"status": "success", "data": {
        "resultType": "vector", "result": [
            {"metric": {"i": str(i)}, "value": [1, "1"]} for i in range(n)]},
        **more})


class Asked(Scripted):
    """A Prometheus that gives `says`, (status, body), to each question."""

    def __init__(self, **options):
        super().__init__(**options)
        self.says = 200, vector(0)
        self.always = lambda handler, query: say(handler, *self.says)

    def turn(self, *says):
        """Answers so from now on, and waits until it has done so."""
        self.says = says
        n = len(self.asked)
        wait(lambda: len(self.asked) >= n + 2, "asks again")


def query(w, p, *flags, **options):
    return Hold(w, "--while-query", 'up{a="b"} == 0 #&+', "--prometheus",
                p.url, "--every=1s", "--lease=3s", *flags, **options)


def test_query(w):
    with Asked(prefix="/p") as p:
        run_ = query(w, p, "--nodepool=a", "--reason=alert")
        wait(lambda: len(p.asked) > 1, "asks")
        assert p.asked[0] == ("/p/api/v1/query",
                              {"query": 'up{a="b"} == 0 #&+'})
        assert not writes(w)
        p.says = 200, vector(3)
        wait(lambda: w.api.names("tickets"), "held")
        assert annotations(w) == {"nodepools": "a", "reason": "alert"}
        wait(lambda: len(writes(w, "patch")) >= 3, "renewed")
        p.says = 200, vector(0)
        wait(lambda: not w.api.names("tickets"), "not held")
        p.says = 200, vector(1)
        wait(lambda: w.api.names("tickets"), "held again")
        text = run_.term()
        assert not w.api.names("tickets")
    assert text.splitlines() == [f"holderctl: ticket tickets/t: {line}"
                                 for line in (
        "the query finds nothing: not held",
        "the query finds 3 series: held", "the query finds nothing: not held",
        "the query finds 1 series: held")]


@pytest.mark.parametrize("status, body, words", [
    (400, failure("bad_data", "parse error"), "HTTP 400, bad_data: parse error"),
    (503, failure("timeout", "query timed out"), "HTTP 503"),
    (200, failure("execution", "no luck"), "no well-formed vector, execution: no luck"),
    (200, json.dumps({"status": "success", "data": {
        "resultType": "scalar", "result": [1, "1"]}}),
     "no vector: an element is not a series"),
    (200, vector(0, warnings=["a store is away"]),
     "an empty answer that may be partial: a store is away"),
    (200, vector(0, isPartial=True),
     "an empty answer that may be partial: isPartial is set"),
    (200, vector(2)[:-9], "ended"),
    (200, "<html>", "no well-formed vector: expected"),
    (204, "", "HTTP 204"),
    (302, "", "redirects are not followed"),
    (401, "", "see --prometheus-token-file"),
], ids=lambda x: str(x)[:20])
def test_a_prometheus_that_does_not_say(w, status, body, words):
    """Nothing new is held, and what is there is not renewed; it is told once.
    """
    with Asked() as p:
        p.says = 200, vector(1)
        run_ = query(w, p)
        wait(lambda: w.api.names("tickets"), "held")
        p.turn(status, body)
        wait(lambda: words in run_.text(), run_.text)
        time.sleep(0.2)
        n = len(writes(w))
        p.turn(status, body)
        assert len(writes(w)) == n and ticket(w)
        p.turn(200, vector(1, warnings=["a store is away"]))
        wait(lambda: len(writes(w)) > n, "renewed")
        text = run_.term()
    assert text.count(words) == 1 and text.count("answers again") == 1
    assert "not renewed meanwhile, and over at" in text
    assert not w.api.names("tickets")


DATA = '"data":{"resultType":"vector","result":[]}'
WHOLE = '{"status":"success",' + DATA + "}"


NO_ANSWER = [
    WHOLE.replace("[]", '{"a":1}'), WHOLE.replace("[]", "{}"),
    WHOLE.replace("[]", "null"), WHOLE.replace("[]", '"x"'),
    WHOLE.replace(',"result":[]', ""), WHOLE.replace("vector", "matrix"),
    WHOLE.replace("vector", "streams"), WHOLE.replace('"vector"', "[]"),
    WHOLE.replace("[]", '[{"metric":{},"value":[1,"1"]}],"result":[]'),
    WHOLE.replace("[]", '[],"result":{"a":1}'),
    WHOLE.replace("result\"", "resul\\u0074\"").replace("[]", "[{}]"),
    WHOLE.replace("[]", '[1,2,null,"x"]'), WHOLE.replace("[]", "[{}]"),
    WHOLE.replace("[]", '[{"metric":{},"values":[]}]'),
    WHOLE.replace("[]", "[,]"), '{"status":"success"}',
    WHOLE.replace("success", "error"), "{" + DATA + "}", f"[{WHOLE}]",
    f'{{"data":[{WHOLE}],"status":"success"}}',
    '{"status":"success","data":{},' + DATA + "}",
    WHOLE[:-1] + ',"status":"error"}', WHOLE[:-1] + ',"warnings":["a"]}',
    WHOLE[:-1] + ',"warnings":{"a":1}}', WHOLE[:-1] + ',"warnings":"a"}',
    WHOLE[:-1] + ',"isPartial":1}', WHOLE[:-1] + ',"error":"a store is away"}',
    WHOLE[:-1] + ',"error":{"a":1}}',
    WHOLE[:-1] + ',"isPartial":false,"isPartial":true}', WHOLE[:-1],
    WHOLE + WHOLE, WHOLE + "}", WHOLE + "x", "\ufeff" + WHOLE,
]


def test_only_a_whole_empty_vector_is_nothing(w):
    """All other answers are failed queries, which leave the ticket."""
    bodies = [vector(1), *NO_ANSWER]
    with Asked() as p:
        p.always = lambda handler, _: say(
            handler, 200, bodies[min(len(p.asked), len(bodies)) - 1])
        run_ = query(w, p, "--lease=200s")
        for n in range(len(bodies) + 1):    # one a second
            wait(lambda n=n: len(p.asked) > n, run_.text)
        assert not writes(w, "delete") and len(run_.text().splitlines()) == 3
        p.always = lambda handler, _: say(handler, 200, vector(
            0, isPartial=False, warnings=[], infos=["a"]))
        wait(lambda: not w.api.names("tickets"), "not held")
        text = run_.term()
    assert [re.split("[:,] ", line)[-1] for line in text.splitlines()] == [
        "held", "expected an expression such as of an alert",
        ANY, "Prometheus answers again", "not held"]


def test_a_prometheus_that_is_away(w):
    with Asked() as p:
        place = p.url
    with Asked() as p:
        p.url = place
        run_ = query(w, p)
        wait(lambda: "Connection refused" in run_.text(), run_.text)
        stays(run_.alive, 2)
        assert not writes(w)
        text = run_.term()
    line, = text.splitlines()
    assert line.startswith("holderctl: --prometheus: ")


def test_a_prometheus_that_hangs(w):
    """A signal ends it all the same, and renewals end with the news."""
    with Asked() as p:
        p.says = 200, vector(1)
        run_ = query(w, p, "--lease=6s")
        wait(lambda: w.api.names("tickets"), "held")
        p.always = lambda handler, _: p.ended.wait(PATIENCE)
        wait(lambda: "--prometheus: " in run_.text(), run_.text)
        run_.term()
        assert not w.api.names("tickets")
        p.asked.clear()
        run_ = query(w, p, "--every=100s", "--lease=200s")
        wait(lambda: p.asked, "asks")
        begin = time.monotonic()
        run_.term()
        assert time.monotonic() - begin < 50


def test_query_tokens_and_names(w):
    (w.dir / "token").write_text(TOKEN)
    held = others(w)
    with Asked() as p:
        p.says = 200, vector(1)
        err = query(w, p, "--prometheus-token-file",
                    str(w.dir / "token")).ends(1)
        assert "there is one of you@there" in err
        assert ticket(w) == held
        assert set(p.tokens) == {"Bearer " + TOKEN}
        p.url = "prometheus:9090"
        assert "--prometheus: " in query(w, p).ends(2)
        p.url = "http://127.0.0.1:1"
        run_ = query(w, p, "--prometheus-token-file=none")
        wait(lambda: "token file: none: No such file" in run_.text(),
             run_.text)
        run_.term()


def test_query_while_the_api_server_is_away(w):
    with Asked() as p:
        p.says = 200, vector(1)
        w.api.fault("tickets", "create", "403")
        run_ = query(w, p)
        wait(lambda: "trying again: 403" in run_.text(), run_.text)
        stays(run_.alive, 1)
        w.api.clear()
        wait(lambda: w.api.names("tickets"), "held")
        run_.term()
    assert not w.api.names("tickets")
