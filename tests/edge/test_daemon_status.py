# SPDX-License-Identifier: Apache-2.0
"""/status, /status/machines, /status/machines/NAME and /status/time (docs/status.md)."""
import contextlib
import datetime
import http.client
import json
import re

import pytest
import raw_client
from conftest import HOLD, MARK, patiently, sanitized
from test_daemon_slow import PRODUCT

OWN = "karpenter-node-holder.io/"
LINE = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"


def ask(holder, path, method="GET", **headers):
    """Returns (status, headers, body)."""
    def once():
        c = http.client.HTTPConnection(
            "127.0.0.1", holder.port("metricsPort"), timeout=10)
        with contextlib.closing(c):
            c.request(method, path, headers=headers)
            answer = c.getresponse()
            return answer.status, answer.headers, answer.read().decode()
    return patiently(once, holder.late)


def status(holder):
    code, text = holder.get("/status?format=json")
    assert code == 200, text
    return json.loads(text)


def text(holder):
    code, page = holder.get("/status?format=text")
    assert code == 200, page
    assert page.endswith("\n")
    return page


def machine(holder, name):
    code, page = holder.get(f"/status/machines/{name}?format=json")
    assert code == 200, page
    return json.loads(page)


def rows(holder, nodepool=None):
    """All machines, or those of a NodePool."""
    code, page = holder.get("/status/machines?format=json" + (
        f"&nodepool={nodepool}" if nodepool else ""))
    assert code == 200, page
    return json.loads(page)["machines"]


def the_pool(holder, name="web"):
    pools = [p for p in status(holder)["nodePools"] if p["name"] == name]
    return pools[0] if pools else None


def seconds(stamp):
    return datetime.datetime.strptime(
        stamp, "%Y-%m-%dT%H:%M:%SZ").replace(
            tzinfo=datetime.timezone.utc).timestamp()


def test_a_configuration_file_that_is_edited(w):
    """It is read at the start only, and /status says so until the next one.
    Without a file nothing can be edited."""
    holder = w.start(config="minScaleUp: 7\n")
    file = w.dir / "config.yaml"
    was = file.read_text()
    assert status(holder)["configuration"]["fileChanged"] is False
    file.write_text(was.replace("7", "8"))
    s = status(holder)["configuration"]
    assert (s["minScaleUp"], s["fileChanged"]) == (7, True)
    assert "config       the file has changed" in holder.get(
        "/status?format=text")[1]
    file.write_text(was)
    assert status(holder)["configuration"]["fileChanged"] is False
    file.unlink()
    assert status(holder)["configuration"]["fileChanged"] is False


def test_a_hold(w):
    """What the leader says before, during and after a hold."""
    w.api.create("nodepools", "web")
    w.machines(3, pool="web")
    w.machine("mine", pool="web", annotations={HOLD: "true"})
    holder = w.start()
    s = status(holder)
    assert (s["apiVersion"], s["kind"], s["mode"]) == (
        "status.karpenter-node-holder.io/v1", "HolderStatus", "enforce")
    assert s["leader"] == {"electing": False, "identity": s["replica"],
                           "since": None, "thisReplica": True}
    assert s["certificate"]["valid"]
    assert seconds(s["certificate"]["notAfter"]) > seconds(s["time"])
    assert abs(seconds(s["time"]) - seconds(w.api.stamp(0))) <= 2
    assert [(v["resource"], v["listed"], v["watching"], v["objects"])
            for v in s["views"]] == [
                ("nodes", True, True, 4), ("nodeclaims", True, True, 4),
                ("nodepools", True, True, None), ("events", True, True, None)]
    assert [(x["name"], x["state"], x["until"]) for x in s["scopes"]] == [
        ("cluster", "quiet", None)]
    assert s["history"] == []

    w.busy(pool="web")
    w.wait(lambda: the_pool(holder)["held"] == 4)
    s = status(holder)
    scope = s["scopes"][0]
    assert (scope["state"], scope["earliest"]) == ("held", True)
    assert scope["restartedBy"]["machine"] == "busy"
    assert scope["restartedBy"]["booting"]
    assert scope["cap"]["max"] == "24h"
    assert scope["waitsFor"] == []
    # holdDuration from now on, as one of them is still booting.
    assert 3590 <= seconds(scope["until"]) - seconds(s["time"]) <= 3602
    assert {k: the_pool(holder)[k] for k in (
        "machines", "held", "heldByPeople", "optedOut", "unheld", "waiting",
        "leftOut")} == {"machines": 5, "held": 4, "heldByPeople": 1,
                        "optedOut": 0, "unheld": 0, "waiting": 0,
                        "leftOut": None}
    assert [(t["what"], t["cause"], t["scope"], t["machine"])
            for t in s["history"]] == [("held", "scale-up", "cluster", "busy")]
    assert re.search(r"^cluster  held .* at the earliest: machines are boot",
                     text(holder), re.M)

    w.quiet()
    w.wait(lambda: the_pool(holder)["held"] == 0)
    s = status(holder)
    assert (s["scopes"][0]["state"], s["scopes"][0]["until"]) == (
        "quiet", None)
    assert s["scopes"][0]["since"] == s["history"][0]["time"]
    assert [(t["what"], t["cause"]) for t in s["history"]] == [
        ("released", "quiet"), ("held", "scale-up")]
    assert s["history"][0]["heldFor"] is not None
    assert s["leftOut"] == {"scopes": 0, "nodePools": 0, "history": 0}


def test_people(w):
    """What a NodePool's annotations say, and who is held by hand."""
    until, ahead = w.api.stamp(3600), w.api.stamp(7200)
    w.api.create("nodepools", "web", annotations={
        OWN + "hold-until": until, OWN + "reason": "Black\nFriday",
        OWN + "hold-duration": "ten minutes",
        OWN + "released-at": ahead})
    w.api.create("nodepools", "off", annotations={OWN + "enabled": "false"})
    w.machine("m", pool="web")
    holder = w.start()
    w.wait(lambda: the_pool(holder)["held"] == 1)
    web = the_pool(holder)
    assert web["annotations"] == {OWN + "hold-until": until}
    assert web["reason"] == "Black Friday"
    assert {i["annotation"]: i["value"] for i in web["invalid"]} == {
        OWN + "hold-duration": "ten minutes", OWN + "released-at": ahead}
    off = the_pool(holder, "off")
    assert (off["leftOut"], off["annotations"]) == (
        "disabled", {OWN + "enabled": "false"})
    turn = status(holder)["history"][0]
    assert (turn["what"], turn["cause"], turn["scope"], turn["nodePool"],
            turn["until"]) == ("held", "hold-until", None, "web", until)
    m = machine(holder, "m")
    assert (m["by"], m["why"], m["until"], m["reason"], m["freeFrom"]) == (
        "holder", "hold-until", until, "Black Friday", until)
    s = status(holder)["scopes"]
    assert [(x["state"], x["until"], x["untilHand"]) for x in s] == [
        ("held", until, True)]
    assert s[0]["byHand"] == {"nodePools": 1, "held": 1, "tickets": 0,
                              "firstUntil": until, "lastUntil": until}
    line = holder.wait_line("pool held by hand")
    assert line["reason"] == "Black Friday"
    # A new reason is told; none is not.
    w.api.patch_meta("nodepools", "web",
                     annotations={OWN + "reason": "an audit"})
    w.wait(lambda: the_pool(holder)["reason"] == "an audit")
    holder.wait_line("pool held by hand", reason="an audit")
    w.api.patch_meta("nodepools", "web", annotations={OWN + "reason": None})
    w.wait(lambda: the_pool(holder)["reason"] is None)
    assert len(holder.lines("pool held by hand")) == 2
    w.wait(lambda: any("(an audit)" in w.api.get("our-events", e)["note"]
                       for e in w.api.names("our-events")), "an Event")


# what holds: the metric, the cause in the history, the words of the text
MEANINGS = {None: (0, None, ""), "scale-up": (1, "scale-up", "restarted by busy"),
            "hold-until": (2, "hold-until",
                           "1 of 1 NodePool is held by hold-until"),
            "ticket": (2, "ticket", "1 of 1 NodePool is held by tickets")}


@pytest.mark.parametrize("what", MEANINGS)
def test_held_means_one_thing(w, what):
    """JSON, text, page and metric agree, and have the beginning."""
    value, cause, words = MEANINGS[what]
    w.api.create("nodepools", "p")
    names = w.machines(2)
    holder = w.start(tickets_namespace="tickets")
    w.stays(lambda: w.free(names), seconds=0.5)
    if what == "scale-up":
        w.busy()
    elif what == "hold-until":
        w.api.patch_meta("nodepools", "p", annotations={
            OWN + "hold-until": w.api.stamp(3600)})
    elif what == "ticket":
        w.api.create("tickets", "t", namespace="tickets", top={"spec": {
            "holderIdentity": "me", "leaseDurationSeconds": 3600,
            "renewTime": w.api.stamp()[:-1] + ".000000Z"}})
    state = "held" if what else "quiet"
    w.wait(lambda: status(holder)["scopes"][0]["state"] == state)
    if what:
        w.wait_held(names)
    metric = 'karpenter_node_holder_scope_held{scope="cluster"}'
    w.wait(lambda: holder.metrics()[metric] == value, holder.metrics)
    s = status(holder)
    row = re.search(r"^cluster +(\w+)(?: +(\S+))?.*\n(?:  .*\n)*", text(holder),
                    re.M)
    assert row[1] == s["scopes"][0]["state"] == state and words in row[0]
    page = ask(holder, "/")[2]
    assert f"<title>{state} | " in page and f'<p class="v {state}">' in page
    if what is None:
        assert s["history"] == [] and "NodePool is held" not in row[0]
        return
    turn, = s["history"]
    assert (turn["what"], turn["cause"]) == ("held", cause)
    assert turn["time"] == s["scopes"][0]["since"] == row[2]
    hand = s["scopes"][0]["byHand"]
    assert (hand or {}).get("tickets") == {
        "ticket": 1, "hold-until": 0, "scale-up": None}[what]


def test_machines(w):
    """By the name of either half; a person; a write that is refused."""
    w.patches_max = 100
    w.machines(2, "m")
    w.machine("mine", annotations={HOLD: "true"})
    w.machine("false", annotations={HOLD: "false"})
    made = w.claim("claim-of-n", node="n")
    w.node("n", claim=made)
    w.api.fault("nodes", "patch", "403", name="m001")
    holder = w.start()
    w.busy()
    w.wait_held(["m000", "n"])
    w.wait(lambda: machine(holder, "m001")["node"]["nextTry"], "a refusal")
    # A write is there before its answer.
    w.wait(lambda: all(machine(holder, n)["held"] for n in ("m000", "n")),
           "two answers")
    m = machine(holder, "m001")
    assert (m["held"], m["why"], m["node"]["lastWrite"]["write"],
            m["node"]["lastWrite"]["outcome"]) == (
                False, "scale-up", "hold", "refused")
    for name in "n", "claim-of-n":
        m = machine(holder, name)
        assert (m["kind"], m["name"], m["node"]["name"],
                m["nodeClaim"]["name"]) == (
                    "MachineStatus", name, "n", "claim-of-n")
        assert (m["held"], m["by"], m["why"], m["nodePool"], m["scope"]) == (
            True, "holder", "scale-up", "p", "cluster")
        assert m["node"]["heldSince"] == w.annotations("n")[MARK]
        assert m["node"]["lastWrite"]["outcome"] == "written"
    # Those worth a look come first.
    listed = rows(holder)
    assert sorted(m["name"] for m in listed) == [
        "busy", "false", "m000", "m001", "mine", "n"]
    assert sorted(m["name"] for m in listed[:3]) == ["false", "m001", "mine"]
    n = next(m for m in listed if m["name"] == "n")
    assert (n["nodeClaim"], n["nodePool"], n["by"], n["why"]) == (
        "claim-of-n", "p", "holder", "scale-up")
    assert n["until"] == n["freeFrom"] is not None
    assert len(rows(holder, "p")) == len(listed) and rows(holder, "no") == []
    assert re.search(r"^mine +p +person .* the hold is not the holder's$",
                     holder.get("/status/machines")[1], re.M)
    m = machine(holder, "n")
    assert m["restartedBy"]["machine"] == "busy"
    m = machine(holder, "mine")
    assert (m["by"], m["person"], m["node"]["lastWrite"]) == (
        "person", "held", None)
    # Karpenter does not look at another value.
    m = machine(holder, "false")
    assert (m["held"], m["by"], m["person"], m["node"]["held"]) == (
        False, None, "otherValue", None)
    page = holder.get("/status/machines/false")[1]
    assert page.startswith("false is not held; ") and (
        "\nperson        gave the annotation another value: the holder leaves "
        "it alone\n" in page)
    assert machine(holder, "busy")["node"] is None
    assert machine(holder, "busy")["booting"]
    w.api.patch_meta("nodes", "m000", annotations={HOLD: None})
    w.wait(lambda: machine(holder, "m000")["person"] == "released")
    assert "node          m000, not held; last write: hold" in holder.get(
        "/status/machines/m000")[1]
    code, page = holder.get("/status/machines/n?format=text")
    assert code == 200 and page.startswith("n is held by the holder until ")


@pytest.mark.parametrize("name, said", [
    ("none", "none"), ("m00", "m00"), ("m000/x", "m000/x"),
    ("%3Cb%3E%22", '<b>"'), ("x" * 300, "x" * 253)],
    ids=["none", "a part", "a path", "hostile", "too long"])
def test_unknown_machines(w, name, said):
    w.machine("m000")
    holder = w.start()
    message = f'no Node or NodeClaim of Karpenter is called "{said}"'
    code, headers, page = ask(holder, "/status/machines/" + name,
                              Accept="application/json")
    assert (code, headers["Content-Type"]) == (404, "application/json")
    assert json.loads(page) == {
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": message, "reason": "NotFound",
        "code": 404}
    code, headers, page = ask(holder, "/status/machines/" + name)
    assert (code, page) == (404, message + "\n")
    code, headers, page = ask(holder,
                              f"/status/machines/{name}?format=html")
    assert code == 404 and "<b>" not in page


@pytest.mark.parametrize("missing, there", [
    ("nodes", "nodeclaims"), ("nodeclaims", "nodes")])
def test_not_listed_yet(w, missing, there):
    """A machine of which nothing is known may be in the list that is missing."""
    w.machine("m000")
    w.api.fault(missing, "list", "wait")
    holder = w.start(watching=False)
    w.wait(lambda: [v["listed"] for v in status(holder)["views"]
                    if v["resource"] == there] == [True], there)
    assert holder.get("/status/machines/x") == (
        503, "the Nodes and NodeClaims are not all known yet: try again\n")
    w.api.clear()
    w.wait(lambda: holder.get("/status/machines/x")[0] == 404, missing)


def test_formats(w):
    w.machine("m")
    holder = w.start()
    kinds = {"text": "text/plain; charset=utf-8", "json": "application/json",
             "html": "text/html; charset=utf-8"}
    for path in "/status", "/status/machines/m":
        for name, kind in kinds.items():
            code, headers, page = ask(holder, f"{path}?format={name}",
                                      Accept="image/png")
            assert (code, headers["Content-Type"]) == (200, kind)
            assert headers["Connection"] == "close"
            code, found, empty = ask(holder, f"{path}?format={name}", "HEAD")
            assert (code, empty) == (200, "")
            assert found["Content-Type"] == kind
            assert abs(int(found["Content-Length"]) - len(page.encode())) < 9
        for accept, name in ((None, "text"), ("*/*", "text"),
                             ("application/json, */*", "json"),
                             ("text/html,*/*;q=0.8", "html"),
                             # A weight that cannot be read is 1.
                             ("application/json;q=x, text/html;q=0.5",
                              "json")):
            headers = {"Accept": accept} if accept else {}
            assert ask(holder, path, **headers)[1]["Content-Type"] == (
                kinds[name])
        assert ask(holder, path, "POST")[0] == 405


@pytest.mark.parametrize("query, why", [
    ("format=xml", "format: expected text, json or html"),
    ("format=json&format=json", "format: given twice, expected once"),
    ("format=", "format: expected a value"),
    ("format=jsonjson", "format: expected at most 7 bytes"),
    ("format=%zz", "format: expected two hexadecimal digits, not 00, after "
                   "each %"),
    ("watch=1", "watch: unknown, expected format=…"),
])
def test_bad_queries(w, query, why):
    holder = w.start(watching=False)
    for path in "/status?", "/status/machines/m?":
        assert holder.get(path + query) == (400, why + "\n")
        code, headers, page = ask(holder, path + query,
                                  Accept="application/json")
        page = json.loads(page)
        assert (code, page["reason"], page["message"]) == (
            400, "BadRequest", why)
    assert holder.get("/status/machines/")[0] == 400
    # What comes after it would not be looked at.
    for path in "/status/machines/m%00", "/%00", "/status%00x?format=json":
        assert holder.get(path) == (400, "%00 in the path\n")
    assert holder.get("/livez?verbose=%00")[0] == 200


def test_times(w):
    holder = w.start()

    def after(query):
        code, headers, line = ask(holder, "/status/time" + query)
        assert code == 200 and line.endswith("\n") and line.count("\n") == 1
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        return seconds(line.strip())
    now = seconds(w.api.stamp(0))
    assert abs(after("") - now) <= 2
    assert abs(after("?for=2h") - now - 7200) <= 2
    assert abs(after("?for=1h30m") - now - 5400) <= 2
    for until in ("2099-01-01T02:00:00%2B02:00", "2099-01-01T02:00:00+02:00",
                  "2099-01-01T00:00:00.5Z"):
        assert after("?until=" + until) == seconds("2099-01-01T00:00:00Z")
    lasts = ("for: expected a duration above 0, such as 2h or 1h30m, and at "
             "most 87600h\n")
    times = "until: expected an RFC 3339 time such as 2026-01-02T03:04:05Z\n"
    for query, why in (
            ("for=0", lasts), ("for=-2h", lasts), ("for=2", lasts),
            ("for=87601h", lasts), ("for=tomorrow", lasts),
            ("until=tomorrow", times), ("until=2026-02-30T00:00:00Z", times),
            ("until=2001-01-01T00:00:00Z",
             "until: expected a time that lies ahead\n"),
            ("for=2h&until=2099-01-01T00:00:00Z",
             "for, until: expected one of the two\n"),
            ("for=2h&for=2h", "for: given twice, expected once\n"),
            ("format=json",
             "format: unknown, expected for=… or until=…\n")):
        assert holder.get("/status/time?" + query) == (400, why)
    # As kubectl asks, which adds its timeout and shows of an error what a
    # Status says.
    assert abs(after("?timeout=15s&for=2h") - now - 7200) <= 60
    accept = {"Accept": "application/json, */*"}
    assert json.loads(ask(holder, "/status/time?for=0", **accept)[2])[
        "message"] + "\n" == lasts
    assert ask(holder, "/status/time", **accept)[1]["Content-Type"] == (
        "text/plain; charset=utf-8")


def test_hostile_values(w):
    """Whoever may annotate a NodePool writes nothing into page or terminal."""
    bad = "</pre><script>x</script>\x1b]0;x\x07\x9b31m\u202e\"&'"
    w.api.create("nodepools", "web", annotations={
        OWN + "hold-duration": bad, OWN + "reason": bad})
    holder = w.start()
    w.wait(lambda: the_pool(holder))
    assert the_pool(holder)["invalid"][0]["value"] == bad
    page = text(holder)
    assert "</pre><script>x</script>?]0;x??31m?\"&'" in page
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", page)
    page = ask(holder, "/status?format=html")[2]
    assert "<script" not in page and "&lt;script&gt;" in page


def test_admissions(w):
    w.api.create("nodepools", "p")
    holder = w.start()
    for n in range(3):
        holder.review(name=f"n{n}")
    holder.review(labels={})
    last = status(holder)["admissions"]["lastMinute"]
    assert (last["requests"], last["held"], last["wouldHold"],
            last["unchanged"]) == (4, 3, 0, 1)
    assert "4 in the last" in text(holder)


def test_what_is_not_seen(w):
    w.machines(2)
    holder = w.start()
    w.busy()
    w.wait_held(["m000", "m001"])
    w.api.fault("nodeclaims", "watch", "403")
    w.api.drop_watches("nodeclaims")

    def waits():
        return [(x["reason"], x["resource"]) for x in
                status(holder)["scopes"][0]["waitsFor"]]
    w.wait(lambda: waits() == [("notSeen", "nodeclaims")], waits)
    assert "nodeclaims 3 (NOT NOW)" in text(holder)
    assert "waits: nodeclaims cannot be listed or watched" in text(holder)
    w.api.clear()
    w.wait(lambda: waits() == [], waits)


def test_who_stands_by(w):
    """It answers with what it knows, and names the leader."""
    w.machine("m")
    since = w.api.stamp(-60)
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "other-pod_1", "leaseDurationSeconds": 3600,
        "acquireTime": since.replace("Z", ".000000Z")})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    holder.wait_line("another leads")
    s = status(holder)
    assert s["leader"] == {"electing": True, "identity": "other-pod_1",
                           "since": since, "thisReplica": False}
    assert s["replica"] != "other-pod_1"
    assert not {"scopes", "nodePools", "views", "history"} & set(s)
    assert text(holder).endswith(
        "\nThis replica stands by and knows no machines: ask the leader, "
        "other-pod.\n")
    assert f"leader       other-pod_1, since {since}\n" in text(holder)
    code, page = holder.get("/status/machines/m")
    assert (code, page) == (503, "this replica stands by and knows no "
                            "machines: ask the leader, other-pod\n")
    assert holder.get("/status/time")[0] == 200


def test_restarted_in_place(w):
    """The Lease names an earlier process of its pod: nobody is asked."""
    w.more = {"POD_NAME": "pod-a"}
    spec = {"holderIdentity": "pod-a_0123456789abcdef",
            "leaseDurationSeconds": 3600, "acquireTime": w.api.stamp(-60)}
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec=spec)
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    holder.wait_line("another leads")
    assert status(holder)["leader"]["identity"] is None
    why = ("this replica stands by and knows no machines: its own pod led "
           "before it restarted, and nobody leads until that Lease has run out")
    assert why in text(holder).replace("This", "this")
    assert holder.get("/status/machines/m") == (503, why + "\n")
    assert why in holder.get("/")[1].replace("This", "this")
    # Whoever renews it is alive.
    w.api.change("leases", "karpenter-node-holder",
                 {"spec": {"renewTime": w.api.stamp()}})
    w.wait(lambda: "ask the leader, pod-a." in text(holder))


def test_who_waits_for_a_ghost(w):
    """The Lease names a pod that does not exist: the log and /status say so, and
    say how to end it, and that does."""
    w.api.create("leases", "karpenter-node-holder", namespace="holder",
                 spec={"holderIdentity": "ghost_1234", "leaseDurationSeconds": 86400})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder",
                     leader_election_lease_duration="1s",
                     leader_election_renew_deadline="500ms",
                     leader_election_retry_period="200ms")
    line = holder.wait_line("waiting, the Lease is not renewed")
    fix = "kubectl -n holder delete lease karpenter-node-holder"
    assert (line["level"], line["holder"], line["fix"]) == ("warn", "ghost_1234", fix)
    assert 50 <= line["seconds"] <= 60
    leader = status(holder)["leader"]
    assert leader["identity"] is None
    assert leader["waitsFor"]["identity"] == "ghost_1234"
    assert leader["waitsFor"]["command"] == fix
    assert f" until {leader['waitsFor']['until'][:-3]}" in text(holder)
    assert f" ({fix} ends the wait)\n" in text(holder)
    w.api.delete("leases", "karpenter-node-holder")
    holder.wait_line("leading")
    assert len(holder.lines("waiting, the Lease is not renewed")) == 1
    assert "waitsFor" not in status(holder)["leader"]


HISTORY = OWN + "history"


def test_the_history_outlives_its_leader(w):
    """An API server that is away ends the lead, and then the leader is killed:
    the next one tells the same turns."""
    def pool(**keys):
        w.api.patch_meta("nodepools", "p", annotations={
            OWN + key.replace("_", "-"): value for key, value in keys.items()})

    def turns():
        return [(t["what"], t["cause"], t["nodePool"], t["reason"])
                for t in status(holder).get("history", [])]
    w.machine("m")
    w.api.create("nodepools", "p")
    options = {"leader_election_enabled": "true",
               "leader_election_namespace": "holder",
               "leader_election_lease_duration": "1200ms",
               "leader_election_renew_deadline": "900ms",
               "leader_election_retry_period": "100ms"}
    holder = w.start(**options)
    w.busy()
    w.wait(lambda: len(turns()) == 1, turns)
    pool(hold_until=w.api.stamp(3600), reason="a sale")
    w.wait(lambda: len(turns()) == 2, turns)
    pool(hold_until=None, released_at=w.api.stamp(), reason="all is \u202ewell")
    w.wait(lambda: len(turns()) == 4, turns)
    pool(released_at=None, reason=None)
    # What the released-at had released is held again, because it is gone.
    w.wait(lambda: len(turns()) == 6, turns)
    expected = turns()
    assert [t for t in expected if t[2]] == [
        ("resumed", "by-hand", "p", "all is  well"),
        ("released", "released-at", "p", "all is  well"),
        ("held", "hold-until", "p", "a sale")]
    w.wait(lambda: w.api.annotations("leases", "karpenter-node-holder").get(
        HISTORY, "").count("\n") == len(expected) + 2)
    # A busy machine may lose the lead by itself for a moment.
    told = w.wait(lambda: (s := status(holder)).get("history") and s)
    lost = len(holder.lines("lead lost, not renewed in time"))
    w.restart_api(start=False)
    w.wait(lambda: len(holder.lines("lead lost, not renewed in time")) > lost)
    w.restart_api(stop=False)
    w.wait(lambda: turns() == expected, turns)
    holder.kill9()
    holder = w.start(**options)
    w.wait(lambda: status(holder).get("history") == told["history"], turns)
    after = w.wait(lambda: (s := status(holder)).get("scopes") and s)
    assert after["scopes"][0]["since"] == told["scopes"][0]["since"]


def test_observing(w):
    """Everything is said as it would be, and nothing is written."""
    w.api.create("nodepools", "web")
    w.machines(2, pool="web")
    holder = w.start(mode="observe")
    w.busy(pool="web")
    w.wait(lambda: the_pool(holder)["held"] == 3)
    assert status(holder)["mode"] == "observe"
    # kubectl karpenter-holder looks for this.
    assert ", mode observe:" in text(holder).splitlines()[0]
    assert [v["held"] for v in status(holder)["views"][:2]] == [0, 0]
    m = machine(holder, "m000")
    assert (m["by"], m["node"]["lastWrite"]["outcome"],
            m["node"]["carriesHold"]) == ("holder", "observed", False)
    assert "would be held by the holder" in holder.get(
        "/status/machines/m000")[1]
    assert not w.patches()
    # Nor by the webhook, which is seen to be called.
    holder.review(labels={"karpenter.sh/nodepool": "web"})
    last = status(holder)["admissions"]["lastMinute"]
    assert (last["requests"], last["held"], last["wouldHold"]) == (1, 0, 1)
    assert ": 1 would be held" in text(holder).splitlines()[4]


def test_observing_what_was_left(w):
    """Marks that are there keep Karpenter off, and nobody removes them: it is
    not said that nothing is held."""
    w.machines(1, "kept", annotations=w.ours())
    w.machines(1, "free")
    holder = w.start(mode="observe")
    w.wait(lambda: machine(holder, "kept000")["node"]["lastWrite"])
    m = machine(holder, "kept000")
    assert (m["by"], m["node"]["carriesHold"], m["nodeClaim"]["carriesHold"],
            m["node"]["lastWrite"]["write"]) == (None, True, False, "release")
    page = holder.get("/status/machines/kept000")[1]
    assert page.startswith("kept000 would not be held: quiet\n"
                           "left behind   hold and mark of a holder that "
                           "enforced keep Karpenter off until uninstall or mode "
                           "enforce\n")
    assert "left behind" not in holder.get("/status/machines/free000")[1]
    left = ("our hold is on 1 Node and 0 NodeClaims since a holder enforced, "
            "and only uninstall or mode enforce removes it")
    assert f"\nleft behind  {left}\n" in text(holder)
    assert left in ask(holder, "/")[2]


def test_readers_who_do_not_read(w):
    """The oldest of their answers go, and nobody else notices."""
    w.program = PRODUCT
    # An answer that no socket buffer takes whole.
    for n in range(2000):
        w.api.create("nodepools", f"pool-{n:04}",
                     annotations={OWN + "reason": "x" * 200})
    holder = w.start()
    w.wait(lambda: len(status(holder)["nodePools"]) > 200)
    page = status(holder)
    assert len(page["nodePools"]) + page["leftOut"]["nodePools"] == 2000
    assert page["leftOut"]["nodePools"] > 0
    before = holder.memory()
    with contextlib.ExitStack() as kept:
        for n in range(30):
            c = kept.enter_context(contextlib.closing(raw_client.Client(
                holder.port("metricsPort"), tls=False, narrow=True)))
            c.send(LINE % (b"/", b"/status?format=json", b"/metrics")[n % 3])
            for path in "/status?format=json", "/status", "/", "/metrics":
                assert holder.get(path)[0] == 200, (n, path)
        assert holder.get("/livez") == (200, "ok")
        assert holder.get("/status/time")[0] == 200
        # 1.4 MiB are for these answers and as much for the one that is
        # written, and some for connections.
        grown = holder.memory() - before
        assert grown < 4096 or sanitized(), grown
