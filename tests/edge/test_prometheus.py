# SPDX-License-Identifier: Apache-2.0
"""simulate --prometheus: what is asked, and what comes of each answer."""
import contextlib
import http.server
import json
import re
import ssl
import subprocess
import threading
import urllib.parse

import pytest

from conftest import HOLDERCTL_FAST, PATIENCE, REPO, Signer, environment
from test_commands import Done, refused  # noqa: F401
from test_commands import holderctl as run  # noqa: F401
from test_simulate import (
    ANSWER, ENDED, LIFE, MADE, START, STEP, answer, cost, counter, life, log,
    peak, report, sanitized, series)  # noqa: F401

TOKEN = "planted-token"
FULL = [*ANSWER, cost((0, 0.9), (310, 0.6))]
HOUR = ("--from=2026-03-02T10:00:00Z", "--to=2026-03-02T11:00:00Z")
# What Prometheus answers (web/api/v1/api.go).
TOO_FINE = ("exceeded maximum resolution of 11,000 points per timeseries. Try "
            "decreasing the query resolution (?step=XX)")
TOO_MANY = ("query processing would load too many samples into memory in "
            "query execution")


def failure(kind, text):
    return json.dumps({"status": "error", "errorType": kind, "error": text})


class Scripted:
    """A Prometheus that has these series.  `faults` are answers to the first
    requests instead: functions of (handler, its query)."""

    def __init__(self, result=FULL, prefix="", tls=None):
        self.result, self.prefix = result, prefix
        self.asked, self.tokens, self.faults = [], [], []
        self.tenants = []
        self.always = None
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with contextlib.suppress(OSError):
                    scripted.serve(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.handle_error = lambda *_: None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / "tls.crt", tls / "tls.key")
            self.server.socket = context.wrap_socket(
                self.server.socket, server_side=True,
                do_handshake_on_connect=False)
        self.url = (f"http{'s' if tls else ''}://127.0.0.1:"
                    f"{self.server.server_port}{prefix}")
        self.ended = threading.Event()
        threading.Thread(target=self.server.serve_forever, args=(0.01,),
                         daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def serve(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.asked.append((url.path, query))
        self.tokens.append(handler.headers["Authorization"])
        self.tenants.append(handler.headers["X-Scope-OrgID"])
        if self.faults:
            self.faults.pop(0)(handler, query)
        elif self.always:
            self.always(handler, query)
        else:
            self.answer(handler, query)

    def answer(self, handler, query, **more):
        begin, end, step = (float(query[k]) for k in ("start", "end", "step"))
        if (end - begin) / step > 11000:
            say(handler, 400, failure("bad_data", TOO_FINE))
            return
        said = json.loads(answer(
            [{**s, "values": values} for s in self.result
             if s["metric"]["__name__"] == query["query"].partition("{")[0]
             and (values := [
                 v for v in s["values"]
                 if begin <= v[0] <= end and not (v[0] - begin) % step])]))
        say(handler, 200, json.dumps({**said, **more},
                                     separators=(",", ":")))


def say(handler, status, body="", length=None, **head):
    body = body.encode() if isinstance(body, str) else body
    handler.send_response(status)
    for name, value in head.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(length or len(body)))
    handler.end_headers()
    handler.wfile.write(body)
    if length:
        handler.close_connection = True


def says(*args, **head):
    return lambda handler, query: say(handler, *args, **head)


@pytest.fixture
def prometheus():
    with Scripted() as p:
        yield p


def failed(done, *words):
    """It exits with 1 and prints one line, without the token."""
    assert (done.code, done.out) == (1, ""), done.err
    line, = done.err.splitlines()
    assert "--prometheus" in line and len(line) < 300
    for word in words:
        assert word in line, line
    assert TOKEN not in line


def saved(run, log, result=FULL):  # noqa: F811
    """The record of one answer that has it all."""
    log([answer(result)], "metrics.json")
    return run("simulate", "metrics.json", "-o", "record").out


def asks(run, p, *flags, **env):  # noqa: F811
    return run("simulate", "--prometheus", p.url, *flags, **env)


# --- what is asked ------------------------------------------------------------

def test_as_saved(run, log):  # noqa: F811
    """A live query tells what the saved one of the same range tells."""
    want = saved(run, log)
    assert want.count("\n") > 20
    with Scripted(prefix="/team-a/prometheus") as p:
        assert asks(run, p, *HOUR, "-o", "record").out == want
        for path, query in p.asked:
            assert path == "/team-a/prometheus/api/v1/query_range"
            assert (float(query["start"]), float(query["end"]),
                    float(query["step"])) == (
                START.timestamp(), START.timestamp() + 3600, STEP)
        # The documentation's curl asks the same.
        said = re.search("query={__name__=~\"(.*)\"}'",
                         (REPO / "docs/what-if.md").read_text())
        names = [q["query"] for _, q in p.asked]
        assert len(names) == len(set(names)) == said[1].count("|") + 1
        assert all(re.fullmatch(said[1], name) for name in names)
        assert p.tokens == [None] * 5
        p.url += "/"
        done = asks(run, p, *HOUR, "-o", "csv", "--hold-duration=5m,10m")
        assert (done.code, done.err) == (0, "")
        assert done.out == run("simulate", "metrics.json", "-o", "csv",
                               "--hold-duration=5m,10m").out
        counted = report(asks(run, p, *HOUR, "-o", "json"))["input"]
        assert (counted["files"], counted["answers"], counted["lines"],
                counted["warnings"]) == (0, 5, 0, 0)
        text = asks(run, p, *HOUR).out.splitlines()
        assert text[0] == ("2026-03-02T10:00:25Z to 2026-03-02T11:00:00Z "
                           "(59m35s), 5 answers of Prometheus")
        assert any(x.startswith("5 answers told ") for x in text)


def test_match(run, prometheus):  # noqa: F811
    """One Prometheus may have the metrics of several clusters."""
    match = 'cluster=~"a|b c&d",job="100%+é"'
    assert asks(run, prometheus, *HOUR,
                "--prometheus-match=" + match).code == 0
    for _, query in prometheus.asked:
        assert re.fullmatch(r"karpenter_\w+{(.*)}", query["query"])[1] == match
    assert len(prometheus.asked) == 5
    most = "é" * 250
    assert asks(run, prometheus, *HOUR, "--prometheus-match", most).code == 0
    assert prometheus.asked[-1][1]["query"].endswith("{" + most + "}")
    refused(asks(run, prometheus, "--prometheus-match", "x" * 501),
            "--prometheus-match: more than 500 bytes")


def test_from_and_to(run, prometheus):  # noqa: F811
    for flags, ages in ((("--from=2h", "--to=1h30m"), (7200, 5400)),
                        ((), (86400, 0))):
        prometheus.asked.clear()
        asks(run, prometheus, "--step=1m", *flags)
        (_, query), *_ = prometheus.asked
        begin, end = float(query["start"]), float(query["end"])
        assert end - begin == ages[0] - ages[1]
        assert begin % 60 == 0 and float(query["step"]) == 60
    prometheus.asked.clear()
    asks(run, prometheus, "--from=1970-01-01T00:00:00.25Z",
         "--to=1970-01-01T00:01:00.5+00:00", "--step=1500ms")
    (_, query), *_ = prometheus.asked
    assert (query["start"], query["end"], query["step"]) == (
        "0.250", "60.250", "1.500")


def stale(s, seconds=60):
    """The same series, scraped that often: most of its samples are older than
    their times."""
    birth = s["values"][0][0] - float(s["values"][0][1])
    for v in s["values"]:
        v[1] = f"{max(v[0] - v[0] % seconds, birth) - birth:g}"
    return s


@pytest.mark.parametrize("at", [30, 300, 330, 360, 420, 1200, 1800])
def test_pages(run, log, at):  # noqa: F811
    """However the time is cut, nothing is told twice, and nothing is missing.
    """
    result = [stale(life("node-1", 25, 330), 180), stale(life("node-2", 299)),
              stale(life("node-3", 1170, 1900)), life("node-old", -5000, 1000),
              counter(MADE, "provisioned", 10, 299, before=40),
              counter(MADE, "underutilized", 370, begin=390),
              counter(ENDED, "underutilized", 300, begin=300),
              counter(ENDED, "empty", 1860, before=3),
              cost((0, 0.9), (310, 0.6))]
    want = saved(run, log, result)
    with Scripted(result) as p:
        begin = START.timestamp() + at - 11000 * STEP
        done = asks(run, p, "--from", stamp(begin), HOUR[1], "-o", "record")
        assert (done.err, done.out) == ("", want)
        ranges = [(float(q["start"]), float(q["end"])) for _, q in p.asked]
        assert ranges == [(begin, START.timestamp() + at - STEP),
                          (START.timestamp() + at, START.timestamp() + 3600)
                          ] * 5


def stamp(seconds):
    at = START.fromtimestamp(seconds, START.tzinfo)
    return at.isoformat().replace("+00:00", "Z")


def test_beside_a_file(run, log):  # noqa: F811
    """It may be asked for what a log does not reach."""
    old = life("node-old", -5000)
    log([answer([old, life("node-9", 55)])])
    with Scripted([old, life("node-8", 33)]) as p:
        said = report(asks(run, p, *HOUR, "karpenter.log", "-o", "json"))
    assert said["karpenter"]["created"] == 2
    assert (said["input"]["files"], said["input"]["answers"]) == (1, 5)


def test_files_and_flags_refused(run):  # noqa: F811
    at = "--prometheus=http://127.0.0.1:1"
    for args, words in (
            (["--from=1h", "a"], ["--from: only with --prometheus"]),
            ([at, "--from=soon"], ["--from: ", '"soon"', "168h"]),
            ([at, "--to=1h", "--from=30m"], ["--from is not before --to"]),
            ([at, "--step=0s"], ["--step: ", "1s to 1h"]),
            ([at, "--step=2h"], ["--step: ", "1s to 1h"]),
            ([at, "--step=1s", "--from=8760h"], ["longer --step"]),
            ([at + "?x=y"], ["a user, query or fragment"]),
            (["--prometheus=prometheus:9090"], ["expected https://"]),
    ):
        refused(run("simulate", *args), *words)
    failed(run("simulate", at, "--prometheus-token-file=none"),
           "token file: none: No such file")


# --- credentials and TLS -------------------------------------------------------

def test_token(run, prometheus, tmp_path):  # noqa: F811
    (tmp_path / "token").write_text(TOKEN + "\n")
    flag = "--prometheus-token-file=token"
    assert asks(run, prometheus, *HOUR, flag).code == 0
    assert prometheus.tokens == ["Bearer " + TOKEN] * 5
    # In clear it is sent nowhere but to this machine.
    refused(run("simulate", "--prometheus=http://192.0.2.1", flag),
            "192.0.2.1", "in clear")
    (tmp_path / "token").write_text(" \n")
    refused(asks(run, prometheus, flag), "token: is empty")
    assert len(prometheus.tokens) == 5


def test_tenant(run, prometheus, tmp_path):  # noqa: F811
    (tmp_path / "token").write_text(TOKEN + "\n")
    done = asks(run, prometheus, *HOUR, "--prometheus-token-file=token",
                "--prometheus-header", "X-Scope-OrgID: a|b")
    assert done.code == 0 and prometheus.tenants == ["a|b"] * 5
    assert prometheus.tokens == ["Bearer " + TOKEN] * 5
    for bad in ("a", ": b", "a:b", "a b: c", "a: b\nc: d", "Authorization: x",
                "X-Scope-OrgID: "):
        refused(asks(run, prometheus, "--prometheus-header", bad),
                "--prometheus-header: ", "X-Scope-OrgID")
    prometheus.always = says(401, "no org id")
    failed(asks(run, prometheus, *HOUR), "HTTP 401", "no org id",
           "--prometheus-header")


def test_infos(run, prometheus):  # noqa: F811
    """Infos are told, and do not say that an answer is partial."""
    prometheus.faults = [lambda h, q: prometheus.answer(
        h, q, infos=["PromQL info: a hint"])]
    done = asks(run, prometheus, *HOUR)
    assert done.code == 0
    assert done.warnings() == ["Prometheus: Prometheus says: PromQL info: a "
                               "hint"]
    assert "may be partial" not in done.out


def test_password_in_the_url(run):  # noqa: F811
    for url in ("http://me:SECRET@127.0.0.1:1", "ftp://me:SECRET@127.0.0.1",
                "http:/me:SECRET@127.0.0.1", "http://me:SECR@ET@h:no/x",
                "me:SECRET@prometheus", "http://me:SECRET?@h", "http://SECRET@"):
        done = run("simulate", "--prometheus", url)
        refused(done, "--prometheus: server \"…@")
        assert "SECR" not in done.err and "ET@" not in done.err


def test_redirect(run, prometheus, tmp_path):  # noqa: F811
    (tmp_path / "token").write_text(TOKEN)
    with Scripted() as other:
        prometheus.always = says(302, "<a>Found</a>",
                                 Location=other.url + "/api/v1/query_range")
        failed(asks(run, prometheus, "--prometheus-token-file=token"),
               "HTTP 302", "redirects are not followed")
        assert not other.asked and len(prometheus.asked) == 1


def test_tls(run, tmp_path):  # noqa: F811
    signer = Signer(tmp_path / "ca")
    good = signer.leaf(tmp_path / "good")
    other = signer.leaf(tmp_path / "other", san="DNS:prometheus.example.com")
    ca = "--prometheus-ca=ca/ca.crt"
    with Scripted(tls=good) as p:
        assert asks(run, p, *HOUR, ca).code == 0
        failed(asks(run, p), "certificate", "see --prometheus-ca")
        failed(asks(run, p, "--prometheus-ca=none"), "see --prometheus-ca")
        assert len(p.asked) == 5
    with Scripted(tls=other) as p:
        failed(asks(run, p, ca), "see --prometheus-ca")
        assert not p.asked
    with Scripted() as p:
        p.url = p.url.replace("http:", "https:")
        failed(asks(run, p, ca), "127.0.0.1")


# --- answers that are none ------------------------------------------------------

@pytest.mark.parametrize("args, words", [
    ((400, failure("bad_data", "invalid parameter \"query\"")),
     ["HTTP 400, bad_data: invalid parameter"]),
    ((401, "401 Unauthorized\nmore"), ["HTTP 401, 401 Unauthorized; see "
                                      "--prometheus-token-file"]),
    ((403, "<html>" + TOKEN), ["HTTP 403; see --prometheus-token-file"]),
    ((404, "404 page not found\n"), ["404 page not found", "/api/v1"]),
    ((418, failure("x" * 9000, "\x1b[2J\n" + "y" * 9000)), ["HTTP 418, xxx"]),
    ((418, failure("tea", "\x1b[2J\n")), ["HTTP 418, tea: ?[2J?"]),
    ((200, failure("internal", "no luck")), ["internal: no luck"]),
    ((200, answer([], "vector")), ["no answer of a range query"]),
    ((200, "<html>Log in</html>"), ["no answer of a range query"]),
    ((200, "x" * 100000), ["65536"]),
    ((200, '{"status":"success","data":{"resultType":"matrix","result":[,]}}'),
     ["lacks an item"]),
    ((204, ""), ["no answer of a range query"]),
], ids=lambda x: str(x[0])[:20])
def test_refusals(run, prometheus, tmp_path, args, words):  # noqa: F811
    (tmp_path / "token").write_text(TOKEN)
    prometheus.always = says(*args)
    done = asks(run, prometheus, *HOUR, "--prometheus-token-file=token")
    if done.code == 2:  # beyond a bound
        done.code = 1
    failed(done, *words)
    # A token file is read once more, and nothing else helps.
    assert len(prometheus.asked) <= 2


def test_nobody_there(run):  # noqa: F811
    with Scripted() as p:
        pass
    failed(asks(run, p), "127.0.0.1", "Connection refused")


def test_nothing_there(run, prometheus):  # noqa: F811
    for prometheus.result in ([series("up", [(0, 1)])],
                              [life("node-old", -5000)]):
        for flags in (HOUR, ()):
            refused(asks(run, prometheus, *flags),
                    "Prometheus shows no Node that came or went in that time")


def test_too_much(run, log, prometheus):  # noqa: F811
    """A stretch of time that is too much is asked for in halves."""
    want = saved(run, log)

    def grudging(status, body, most):
        def reply(handler, query):
            begin, end = float(query["start"]), float(query["end"])
            if (end - begin) / STEP >= most:
                say(handler, status, body)
            else:
                prometheus.answer(handler, query)
        return reply
    # An hour has 121 samples.
    for status, body in ((422, failure("execution", TOO_MANY)),
                         (503, failure("timeout", "query timed out")),
                         (400, failure("bad_data", TOO_FINE)), (413, "")):
        prometheus.asked.clear()
        prometheus.always = grudging(status, body, 120)
        done = asks(run, prometheus, *HOUR, "-o", "record")
        assert (done.err, done.out) == ("", want)
        # 60, 60 and one of each metric, after one refusal
        assert len(prometheus.asked) == 1 + 5 * 3
    prometheus.always = grudging(422, failure("execution", TOO_MANY), 0)
    prometheus.asked.clear()
    failed(asks(run, prometheus, "--from=1000h"),
           "HTTP 422, execution: query processing would load")
    assert 5 < len(prometheus.asked) < 15


def cut(handler, query, prometheus):
    """The answer, but for its last third."""
    class Half:
        send_response, send_header, end_headers = (
            handler.send_response, handler.send_header, handler.end_headers)

        class wfile:
            def write(body):
                handler.wfile.write(body[:len(body) * 2 // 3])
    prometheus.answer(Half, query)
    handler.close_connection = True


def cut_unseen(handler, query):
    """No length says how long it was."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(answer(FULL).encode()[:9000])


def test_cut(run, log, prometheus):  # noqa: F811
    """An answer that is cut is asked for once more, and what came of it counts
    once."""
    want = saved(run, log)
    for how in (lambda *a: cut(*a, prometheus), cut_unseen,
                says(500, "oh"), says(502, "<html>")):
        seen = set()

        def at_first(handler, query):
            known = query["query"] in seen
            seen.add(query["query"])
            (prometheus.answer if known else how)(handler, query)
        prometheus.always = at_first
        done = asks(run, prometheus, *HOUR, "-o", "record")
        assert (done.err, done.out) == ("", want)
        assert len(seen) == 5
        prometheus.asked.clear()
        prometheus.always = how
        failed(asks(run, prometheus, *HOUR))
        assert len(prometheus.asked) == 2


def test_hung(prometheus, tmp_path):
    """It is asked twice, and not for ever."""
    def hang(handler, query):
        handler.send_response(200)
        handler.end_headers()
        while not prometheus.ended.wait(0.1):
            handler.wfile.write(b" ")
    prometheus.always = hang
    failed(Done(subprocess.run(
        [HOLDERCTL_FAST, "simulate", "--prometheus", prometheus.url],
        cwd=tmp_path, env={**environment(tmp_path), "HURRY": "1"}, text=True,
        timeout=PATIENCE, capture_output=True)), "no whole answer within 1000")
    assert len(prometheus.asked) == 2


def test_warnings(run, log, prometheus):  # noqa: F811
    """A partial answer counts, and is said to be one."""
    want = saved(run, log)
    partial = {"warnings": ["store-7\nis down", "and store-8"],
               "infos": ["a counter"], "isPartial": False}

    def lacking(handler, query):
        more = {} if query["query"] == LIFE else {
            "warnings": ["store-9 is down"], "isPartial": True}
        prometheus.answer(handler, query, **{**partial, **more})
    prometheus.always = lacking
    log([json.dumps({**json.loads(answer(FULL)), **partial})], "partial.json")
    for name, done in (
            ("Prometheus", asks(run, prometheus, *HOUR, "-o", "record")),
            ("partial.json", run("simulate", "partial.json", "-o", "record"))):
        assert (done.code, done.out) == (0, want)
        assert done.warnings() == [
            name + ": may be partial: store-7?is down"]
    counted = json.loads(asks(run, prometheus, *HOUR, "-o", "json").out)
    assert counted["input"]["warnings"] == 5 * 2
    assert ("  10 warnings of Prometheus: its answers may be partial\n"
            in asks(run, prometheus, *HOUR).out)


def test_huge(run, log, prometheus, tmp_path):  # noqa: F811
    """Neither a series nor an answer is ever whole in memory."""
    want = saved(run, log)
    begin, end = re.split("(?<=\"result\":\\[)", answer(FULL))

    def flood(handler, query):
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(begin.encode())
        for _ in range(300):
            handler.wfile.write(b" " * (1 << 20))
        handler.wfile.write(end.encode())
    prometheus.faults = [flood]
    done = asks(run, prometheus, *HOUR, "-o", "record")
    assert (done.err, done.out) == ("", want)
    assert len(prometheus.asked) == 1 + 5 * 3

    def wide(handler, query):
        if query["query"] != LIFE:
            prometheus.answer(handler, query)
            return
        one = json.dumps(life("wide", 7, pad="x" * (64 << 20)))
        say(handler, 200, f"{begin}{one},{end}")
    prometheus.always = wide
    most = peak(tmp_path, "--prometheus", prometheus.url, *HOUR)
    assert most < 48 << 20 or sanitized()
    counted = report(asks(run, prometheus, *HOUR, "-o", "json"))["input"]
    assert counted["tooLong"] == 1
