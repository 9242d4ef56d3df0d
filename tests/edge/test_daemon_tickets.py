# SPDX-License-Identifier: Apache-2.0
"""Tickets: Leases that hold NodePools, from the wire to the Nodes."""
import json
import re
import subprocess
import time

import pytest

from conftest import MARK, POOL, REPORT

OWN = "karpenter-node-holder.io/"
NAMESPACE = "tickets"
PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
METRIC = "karpenter_node_holder_"


def micro(w, offset=0.0):
    """A time as Leases have it (MicroTime), `offset` seconds from now."""
    at = w.api.now() + offset
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + \
        f".{int(at % 1 * 1e6):06}Z"


def ticket(w, name, pools=None, reason=None, lasts=3600, ago=0.0, who="ops"):
    notes = {OWN + k: v for k, v in (("nodepools", pools), ("reason", reason))
             if v is not None}
    return w.api.create(
        "tickets", name, namespace=NAMESPACE, annotations=notes,
        top={"spec": {"holderIdentity": who, "leaseDurationSeconds": lasts,
                      "renewTime": micro(w, -ago)}})


def renew(w, name, **spec):
    """Writes the ticket again as of now; returns when that was."""
    w.api.change("tickets", name, {"spec": {"renewTime": micro(w), **spec}})
    return time.monotonic()


def pools(w, *names):
    """A NodePool and a machine of each name."""
    for name in names:
        w.api.create("nodepools", name)
        w.machine("of-" + name, pool=name)


def start(w, **settings):
    return w.start(tickets_namespace=NAMESPACE, **settings)


def fresh(w):
    """The requests of the fresh list, whose pages are not those of a
    watcher."""
    return [r for r in w.api.select(verb="list", resource="tickets")
            if r.query["limit"] != "500"]


def in_force(holder):
    return holder.metrics()[METRIC + "tickets"]


def views(holder):
    status, text = holder.get("/status?format=json")
    assert status == 200
    return {v["resource"]: v for v in json.loads(text)["views"]}


# --- what they hold ----------------------------------------------------------

def test_a_ticket_holds_what_it_names(w):
    pools(w, "web-a", "web-b", "batch")
    ticket(w, "rollout", "web-* , gpu", "checkout is rolled out")
    holder = start(w)
    w.wait_held(["of-web-a", "of-web-b"])
    assert holder.lines("held", name="of-web-a", reason="ticket")
    told = {e["pool"]: e for e in holder.lines("pool held by hand")}
    assert sorted(told) == ["web-a", "web-b"]
    assert told["web-a"]["reason"] == \
        "ticket rollout of ops: checkout is rolled out"
    assert in_force(holder) == 1
    m = holder.metrics()
    assert m[METRIC + 'watch_up{kind="Ticket"}'] == 1
    assert m[METRIC + "tickets_flawed_total"] == 0
    assert views(holder)["tickets"]["watching"] is True
    w.wait(lambda: [e for n in w.api.names("our-events")
                    for e in [w.api.get("our-events", n)]
                    if e["regarding"]["name"] == "web-b" and
                    e["reason"] == "ManualHold" and
                    "a ticket: " in e["note"] and
                    "(ticket rollout of ops: checkout" in e["note"]],
           "an Event")
    w.stays(lambda: w.free("of-batch"), 0.5)
    ticket(w, "all")
    w.wait_held("of-batch")
    w.api.delete("tickets", "all")
    w.wait_free("of-batch")
    assert w.held(["of-web-a", "of-web-b"])
    w.api.delete("tickets", "rollout")
    w.wait_free(["of-web-a", "of-web-b"])
    assert in_force(holder) == 0


def test_what_is_asked_for(w):
    """Whole objects of that one namespace: a list, and a watch from the list's
    version on."""
    pools(w, "p")
    ticket(w, "ci")
    holder = start(w)
    w.wait_held("of-p")
    first = w.lists("tickets")[0]
    assert first.path == PATH and first.query == {"limit": "500"}
    assert "as=" not in first.headers["accept"]
    watch = w.api.select(verb="watch", resource="tickets")[0]
    assert watch.path == PATH
    assert watch.query["watch"] == "1"
    assert watch.query["allowWatchBookmarks"] == "true"
    assert "as=" not in watch.headers["accept"]
    assert all(r.method == "GET" for r in w.api.select(resource="tickets"))
    # They take memory that machines then do not have.
    assert holder.lines("serving")[0]["machinesMax"] < 124000


def test_without_the_key_no_lease_is_asked_for(w):
    pools(w, "p")
    ticket(w, "ci")
    holder = w.start()
    w.busy()
    w.wait_held("of-p")
    w.quiet()
    w.wait_free("of-p")
    assert not [r for r in w.api.requests if "coordination" in r.path]
    assert holder.lines("serving")[0]["machinesMax"] > 130000
    m = holder.metrics()
    assert METRIC + "tickets" not in m
    assert METRIC + 'watch_up{kind="Ticket"}' not in m
    assert "tickets" not in views(holder)


@pytest.mark.long
def test_a_renewal_prolongs_and_the_end_releases(w):
    """The hold outlives each end that was put off, is written once, and ends
    with the last renewal."""
    pools(w, "p")
    ticket(w, "ci", "p")
    holder = start(w)
    w.wait_held("of-p")
    mark = w.annotations("of-p")[MARK]
    renew(w, "ci", leaseDurationSeconds=3)
    end = w.api.now() + 3
    renew(w, "ci", leaseDurationSeconds=3600)
    w.stays(lambda: w.held("of-p"), end + 1.5 - w.api.now())
    assert w.annotations("of-p")[MARK] == mark and w.changed("of-p") == 1
    assert in_force(holder) == 1
    at = renew(w, "ci", leaseDurationSeconds=2)
    w.wait_free("of-p")
    assert w.patches("of-p")[-1].time >= at + 1.9
    assert len(holder.lines("pool held by hand")) == 1
    w.wait(lambda: in_force(holder) == 0, "no ticket in force")
    assert not holder.lines("ticket")


def test_several_tickets_and_the_last_of_them(w):
    pools(w, "p")
    ticket(w, "a", "p")
    start(w)
    w.wait_held("of-p")
    ticket(w, "b", "p", reason="later")
    w.api.delete("tickets", "a")
    w.stays(lambda: w.held("of-p"), 0.7)
    assert w.changed("of-p") == 1
    w.api.delete("tickets", "b")
    w.wait_free("of-p")


def test_what_is_stronger(w):
    """A ticket does not hold what a person has disabled, nor what the
    configuration leaves out."""
    w.api.create("nodepools", "off", annotations={OWN + "enabled": "false"})
    w.machine("of-off", pool="off")
    pools(w, "out", "p")
    ticket(w, "ci")
    start(w, config="nodePools: {exclude: [out]}\n")
    w.wait_held("of-p")
    w.stays(lambda: w.free(["of-off", "of-out"]), 0.5)
    w.api.patch_meta("nodepools", "off", annotations={OWN + "enabled": None})
    w.wait_held("of-off")
    # What on-call writes to release does not end it.
    w.api.patch_meta("nodepools", "p",
                     annotations={OWN + "released-at": w.api.stamp()})
    w.stays(lambda: w.held("of-p"), 0.7)


def test_who_observes_writes_nothing(w):
    pools(w, "p")
    ticket(w, "ci")
    holder = start(w, mode="observe")
    holder.wait_line("observe: held", name="of-p", reason="ticket")
    holder.wait_line("observe: pool held by hand", pool="p")
    assert not w.patches("of-p")


def test_who_stands_by_asks_for_none(w):
    pools(w, "p")
    ticket(w, "ci")
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "other_1", "leaseDurationSeconds": 3600})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder",
                     tickets_namespace=NAMESPACE)
    holder.wait_line("watching", resource="nodepools")
    w.stays(lambda: not w.api.count(resource="tickets"), 0.5)
    w.api.change("leases", "karpenter-node-holder", {"spec": {
        "holderIdentity": ""}})
    w.wait_held("of-p")


def refuse(w, **settings):
    """Runs a holder that does not start; returns why."""
    w.api.write_kubeconfig(w.kubeconfig)
    config = json.loads(w.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "ours"
    w.kubeconfig.write_text(json.dumps(config))
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]
    done = subprocess.run(
        [w.program, "serve", "--kubeconfig", w.kubeconfig, "--webhook-address",
         "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", *flags],
        env=w.environment(), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60)
    assert done.returncode != 0 and not REPORT.search(done.stderr)
    assert not w.api.requests
    return done.stderr


def test_the_namespace_of_our_own_lease(w):
    """It names no NodePools and is renewed all the time, so it would hold
    everything for ever."""
    w.start()       # what World.check looks for
    w.holders[0].term()
    w.api.requests.clear()
    said = json.loads(refuse(w, tickets_namespace="ours"))
    assert (said["level"], said["msg"]) == ("error", "cannot start")
    assert said["err"].startswith("tickets.namespace: ours is the holder's "
                                  "own namespace")
    assert "leaderElection.namespace" in refuse(
        w, tickets_namespace="theirs", leader_election_namespace="theirs")
    holder = w.start(tickets_namespace=NAMESPACE, watching=False,
                     leader_election_namespace="theirs")
    holder.wait_line("watching", resource="tickets")


# --- what is wrong with them -------------------------------------------------

FLAWS = {
    "endless": ({"leaseDurationSeconds": None}, {}, "it lacks renewTime or "
                "leaseDurationSeconds"),
    "over": ({}, {"ago": 7200}, "it was over already when it was seen"),
    "long": ({}, {"lasts": 7 * 86400 + 1}, "it holds for 7 days without "
             "renewal at most"),
    "ahead": ({}, {"ago": -500}, "its renewTime is ahead of the API server's "
              "clock, so it counts from when it was seen"),
    "broad": ({}, {"pools": ",".join(f"p{i}" for i in range(65))},
              "it has too many or too long patterns; the rest of them hold "
              "nothing"),
}


def test_a_flaw_is_told_once(w):
    for name, (spec, options, _) in FLAWS.items():
        ticket(w, name, **options)
        if spec:
            w.api.change("tickets", name, {"spec": spec})
    ticket(w, "good")
    holder = start(w)
    for name, (_, _, problem) in FLAWS.items():
        assert holder.wait_line("ticket", name=name) == {
            **holder.lines("ticket", name=name)[0], "level": "warn",
            "holder": "ops", "problem": problem}
    w.api.drop_watches("tickets")
    w.api.patch_meta("tickets", "over", annotations={OWN + "reason": "x"})
    w.api.patch_meta("tickets", "good", annotations={OWN + "reason": "x"})
    w.stays(lambda: len(holder.lines("ticket")) == len(FLAWS), 0.7)
    m = holder.metrics()
    assert m[METRIC + "tickets_flawed_total"] == len(FLAWS)
    assert m[METRIC + "tickets"] == 4       # but for endless and over


def test_many_flaws_are_not_all_told(w):
    """Whoever may write tickets fills no disk with log lines."""
    for i in range(90):
        ticket(w, f"t{i:02}", lasts=0)
    holder = start(w)
    w.wait(lambda: holder.metrics()[METRIC + "tickets_flawed_total"] == 90)
    w.wait(lambda: len(holder.lines("ticket")) == 60)
    w.stays(lambda: len(holder.lines("ticket")) == 60, 0.7)


def test_more_than_a_thousand(w):
    """Further ones hold nothing, are counted and told, and get in when there is
    room."""
    pools(w, "p", "last")
    renewed = micro(w)

    def lease(i):
        return {"metadata": {"name": f"t{i:04}", "namespace": NAMESPACE,
                             "uid": f"u{i}", "resourceVersion": str(10 + i),
                             "annotations": {OWN + "nodepools": "none"}},
                "spec": {"holderIdentity": "ci", "renewTime": renewed,
                         "leaseDurationSeconds": 3600}}
    w.api.crowds = {"tickets": (1000, lease)}
    holder = start(w)
    assert in_force(holder) == 1000
    ticket(w, "one-more", "last")
    line = holder.wait_line("ticket", name="one-more")
    assert line["problem"] == "there are 1000 others, and it holds nothing"
    w.stays(lambda: w.free("of-last"), 0.5)
    assert in_force(holder) == 1000
    assert holder.metrics()[METRIC + "tickets_flawed_total"] == 1
    # Releases do not wait for it.
    w.busy()
    w.wait_held("of-p")
    w.quiet()
    w.wait_free("of-p")


WRONG = [("renewTime", 5, "spec.renewTime is no time"),
         ("renewTime", "1999-12-31T23:59:59.000000Z",
          "spec.renewTime is before the year 2000"),
         ("renewTime", "-001-12-31T10:00:00.000000Z",
          "spec.renewTime is no time"),
         ("leaseDurationSeconds", "600",
          "spec.leaseDurationSeconds is no 32-bit number"),
         ("holderIdentity", ["ops"], "spec.holderIdentity is no string"),
         ("holderIdentity", "h" * 100000,
          "JSON of more than 65536 bytes that matter")]


def problem_of(holder, name):
    return [t["problem"] for t in
            json.loads(holder.get("/status?format=json")[1])["tickets"]
            if t["name"] == name][0]


@pytest.mark.parametrize("key, value, fault", WRONG,
                         ids=[str(i) for i in range(len(WRONG))])
def test_what_cannot_be_read_holds_nothing(w, key, value, fault):
    """It ends the hold of the version before it, whether the watch or a list
    shows it, and it is counted, logged and shown by name and fault."""
    pools(w, "p", "q")
    ticket(w, "bad", "p")
    ticket(w, "good", "q")
    holder = start(w)
    w.wait_held(["of-p", "of-q"])
    w.api.change("tickets", "bad", {"spec": {key: value}})
    w.wait_free("of-p")
    line = holder.wait_line("ticket", name="bad")
    assert line["problem"].startswith("it cannot be read: " + fault), line
    assert problem_of(holder, "bad").startswith("it cannot be read: " + fault)
    assert in_force(holder) == 1
    assert holder.metrics()[METRIC + "tickets_flawed_total"] == 1
    # The same in the list of a new leader.
    holder.kill9()
    holder = start(w)
    line = holder.wait_line("ticket", name="bad")
    assert line["problem"].startswith("it cannot be read: " + fault), line
    w.stays(lambda: w.held("of-q") and w.free("of-p"), 0.5)
    assert in_force(holder) == 1
    # A version that can be read holds again.
    w.api.delete("tickets", "bad")
    ticket(w, "bad", "p")
    w.wait_held("of-p")


def test_a_ticket_that_is_being_deleted(w):
    """A finalizer keeps it.  Its end is no fault of its writer."""
    pools(w, "p")
    ticket(w, "ci", "p")
    holder = start(w)
    w.wait_held("of-p")
    w.api.change("tickets", "ci", {"metadata": {
        "deletionTimestamp": "2026-01-02T03:04:05Z",
        "finalizers": ["example.com/keep"]}})
    w.wait_free("of-p")
    assert problem_of(holder, "ci") == "it is being deleted"
    assert in_force(holder) == 0
    assert holder.metrics()[METRIC + "tickets_flawed_total"] == 0


def test_a_ticket_of_more_than_a_mebibyte(w):
    """Nobody can read its name.  It holds nothing, and no release waits."""
    pools(w, "p", "q")
    ticket(w, "ci", "p")
    holder = start(w)
    w.wait_held("of-p")
    w.api.patch_meta("tickets", "ci", annotations={"others": "w" * (1100 << 10)})
    holder.wait_line("object left out", resource="tickets")
    w.wait_free("of-p")
    skipped = METRIC + 'objects_skipped_total{resource="tickets"}'
    assert holder.metrics()[skipped] >= 2     # by the watch, and by a list
    w.busy(pool="q")
    w.wait_held("of-q")
    w.quiet()
    w.wait_free("of-q")
    w.api.patch_meta("tickets", "ci", annotations={"others": None})
    w.wait_held("of-p")


def test_one_write_a_second_is_no_patch_a_second(w):
    """Once a ticket holds, it holds for a minute, whatever its writer does."""
    pools(w, "p")
    holder = start(w)
    for i in range(6):
        ticket(w, "ci", "p")
        w.wait_held("of-p")
        w.api.delete("tickets", "ci")
        w.stays(lambda: w.held("of-p"), 0.3)
    assert w.changed("of-p") == 1
    assert len(holder.lines("pool held by hand", pool="p")) == 1


def test_texts_that_a_terminal_obeys(w):
    pools(w, "p")
    bad = "a\x1b[31mb\nc\x9bd\u202ee\u2028f\x7f \U0001f512"
    ticket(w, "ci", "p", bad, who=bad)
    ticket(w, "over", "p", bad, who=bad, ago=7200)
    holder = start(w)
    w.wait_held("of-p")
    shown = "a?[31mb?c?d?e?f? \U0001f512"
    line = holder.wait_line("pool held by hand", pool="p")
    assert line["reason"] == f"ticket ci of {shown}: {shown}"
    assert holder.wait_line("ticket", name="over")["holder"] == shown
    note = w.wait(lambda: [w.api.get("our-events", n)["note"]
                           for n in w.api.names("our-events")], "an Event")[0]
    assert shown in note
    for page in ("/status?format=text", "/status?format=json", "/"):
        text = holder.get(page)[1]
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", text)
        assert "31mb?c?d?e?f?" in text


# --- lists and watches that fail ---------------------------------------------

def test_the_watch_expires(w):
    """In the stream: the list that follows shows what has come and gone."""
    pools(w, "p", "q", "r")
    ticket(w, "stays", "p")
    ticket(w, "goes", "q")
    holder = start(w)
    w.wait_held(["of-p", "of-q"])
    behind = w.api.fault("tickets", "watch", "behind")
    n = w.watches("tickets")
    w.api.drop_watches("tickets")
    w.wait(lambda: w.watches("tickets") > n, "another watch")
    w.api.delete("tickets", "goes")
    ticket(w, "comes", "r")
    w.stays(lambda: w.held(["of-p", "of-q"]) and w.free("of-r"), 0.5)
    w.api.compact()
    n = len(w.lists("tickets"))
    w.api.clear(behind)
    w.wait(lambda: len(w.lists("tickets")) > n, "another list")
    holder.wait_line("watch expired, listing again", resource="tickets")
    w.wait_held("of-r")
    w.wait_free("of-q")
    assert w.held("of-p") and w.changed("of-p") == 1
    assert holder.metrics()[
        METRIC + 'watch_restarts_total{resource="tickets",reason="expired"}'
    ] >= 1


def test_the_list_expires_at_its_second_page(w):
    """It begins anew, and half of it is not taken for the whole."""
    pools(w, "p", "q", "r")
    for name in "pqr":
        ticket(w, "t" + name, name)
    w.api.page_max = 1
    w.api.fault("tickets", "list", "expired", times=1)
    holder = start(w)
    w.wait_held(["of-p", "of-q", "of-r"])
    assert in_force(holder) == 3
    assert len(w.lists("tickets")) >= 2


def test_the_fresh_list_expires_at_its_second_page(w):
    pools(w, "p", "q")
    for name in ("a", "b", "c"):
        ticket(w, name, "q")
    holder = start(w)
    w.busy()
    w.wait_held(["of-p", "of-q"])
    w.api.page_max = 2
    w.api.fault("tickets", "list", "expired", times=1)
    w.quiet()
    w.wait_free("of-p")
    assert holder.lines("request failed", kind="Ticket")[0]["code"] == 410
    assert w.held("of-q")


@pytest.mark.hurry
@pytest.mark.parametrize("how", ["silent", "hang"])
def test_a_watch_that_hangs(w, how):
    """What was seen stands, and the next watch shows the rest."""
    pools(w, "p", "q")
    ticket(w, "ci", "p")
    holder = start(w)
    w.wait_held("of-p")
    fault = w.api.fault("tickets", "watch", how)
    n = w.watches("tickets")
    w.api.drop_watches("tickets")
    w.wait(lambda: w.watches("tickets") > n, "another watch")
    ticket(w, "later", "q")
    reason = METRIC + 'watch_restarts_total{resource="tickets",' \
        'reason="silent"}'
    w.wait(lambda: holder.metrics()[reason] >= 1, "given up")
    assert w.held("of-p") and w.free("of-q")
    w.api.clear(fault)
    w.wait_held("of-q")
    assert w.changed("of-p") == 1


@pytest.mark.parametrize("how", ["403", "500", "cut"])
def test_a_watch_that_fails(w, how):
    """It ends no hold, and stops no release."""
    pools(w, "p", "q")
    ticket(w, "ci", "p")
    holder = start(w)
    w.wait_held("of-p")
    fault = w.api.fault("tickets", "watch", how)
    w.api.drop_watches("tickets")
    if how == "cut":
        ticket(w, "other", "none")
    holder.wait_line("watch failed", resource="tickets")
    w.busy(pool="q")
    w.wait_held("of-q")
    w.quiet()
    w.wait_free("of-q")
    assert w.held("of-p")
    w.api.clear(fault)
    w.api.delete("tickets", "ci")
    w.wait_free("of-p")


@pytest.mark.long
def test_a_lead_that_cannot_list_the_tickets(w):
    """After ten seconds it holds without them, and says so.  What is due is
    released once they are listed."""
    pools(w, "p", "q")
    ticket(w, "ci", "q")
    fault = w.api.fault("tickets", "list", "403")
    holder = w.start(tickets_namespace=NAMESPACE, watching=False)
    holder.wait_line("list failed", resource="tickets", code=403)
    w.busy()
    holder.wait_line("watching", resource="events")
    w.stays(lambda: not w.api.count(verb="patch", resource="nodes"))
    line = holder.wait_line("leading without a list")
    assert line["unseen"] == "Ticket"
    assert line["meanwhile"] == "only the tickets that were seen hold"
    w.wait_held(["of-p", "of-q"])       # the cluster is one scope
    assert holder.metrics()[METRIC + 'watch_up{kind="Ticket"}'] == 0
    w.quiet()
    holder.wait_line("request failed", kind="Ticket", code=403)
    w.stays(lambda: w.held(["of-p", "of-q"]))
    w.api.clear(fault)
    w.wait_free("of-p")
    w.stays(lambda: w.held("of-q"), 0.5)


# --- the fresh list of a release ---------------------------------------------

def test_a_release_lists_the_tickets_afresh(w):
    """As whole objects, all pages of them, after those of claims and
    NodePools."""
    pools(w, "p", "q")
    for name in ("a", "b", "c"):
        ticket(w, name, "none")
    holder = start(w)
    w.busy()
    w.wait_held(["of-p", "of-q"])
    assert not fresh(w)
    w.api.page_max = 2
    w.quiet()
    w.wait_free(["of-p", "of-q"])
    first, second = fresh(w)[:2]
    assert first.path == second.path == PATH
    assert first.query == {"limit": "2000"}
    assert second.query["limit"] == "2000" and second.query["continue"]
    assert "as=" not in first.headers["accept"]
    others = [r for r in w.api.select(verb="list", resource="nodepools")
              if r.query["limit"] != "500"]
    assert others[0].time < first.time < w.clears()[0].time
    assert holder.metrics()[METRIC + "tickets"] == 3


@pytest.mark.parametrize("kind", ["403", "500", "429", "cut"])
def test_a_fresh_list_that_fails(w, kind):
    """Nothing is released meanwhile, and the log says so."""
    pools(w, "p")
    ticket(w, "ci", "none")
    holder = start(w)
    w.busy()
    w.wait_held("of-p")
    fault = w.api.fault("tickets", "list", kind)
    w.quiet()
    line = holder.wait_line("request failed", kind="Ticket")
    if kind.isdigit():
        assert line["code"] == int(kind)
    w.wait(lambda: len(fresh(w)) >= 2, "a second try")
    assert not w.clears() and w.held("of-p")
    w.api.clear(fault)
    w.wait_free("of-p")


def test_a_ticket_that_the_watch_has_not_shown(w):
    """The watch is open and sends bookmarks but is behind.  The release sees
    the ticket, and goes on once it is over."""
    pools(w, "p", "q")
    holder = start(w)
    w.busy()
    w.wait_held(["of-p", "of-q"])
    n = w.watches("tickets")
    w.api.fault("tickets", "watch", "behind")
    w.api.drop_watches("tickets")
    w.wait(lambda: w.watches("tickets") > n, "another watch")
    ticket(w, "ci", "p")
    w.quiet()
    holder.wait_line("release waits for unseen objects", kind="Ticket",
                     unseen=1)
    w.wait_free("of-q")
    assert w.held("of-p") and in_force(holder) == 1
    w.api.clear()
    w.api.delete("tickets", "ci")
    w.wait_free("of-p")


def test_admission_knows_no_tickets(w):
    """A new machine of a NodePool that is left alone is held by the leader, a
    moment after it was created."""
    w.api.create("nodepools", "p", spec={"replicas": 2})
    ticket(w, "ci", "p")
    holder = start(w)
    holder.wait_line("pool held by hand", pool="p")
    _, answer, _ = holder.review(labels={POOL: "p"})
    assert "patch" not in answer["response"]
    w.machine("new", pool="p", ready=0, age=3)
    w.wait_held("new")
