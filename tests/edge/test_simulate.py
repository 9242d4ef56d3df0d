# SPDX-License-Identifier: Apache-2.0
"""simulate as a process: files and streams in, reports out."""
import bz2
import collections
import contextlib
import csv
import datetime
import gzip
import io
import json
import lzma
import os
import pathlib
import pty
import random
import re
import select
import signal
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

import pytest

from conftest import (HOLDERCTL, PATIENCE, environment, spawn, stalled_pipe, taken,
                      wait)
from scripted_api import ScriptedApi
from test_commands import Done, config, refused  # noqa: F401
from test_commands import holderctl as run  # noqa: F401

NAME = "holderctl: "

START = datetime.datetime(2026, 3, 2, 10, tzinfo=datetime.timezone.utc)


def line(second, message, controller="nodeclaim.lifecycle", **fields):
    at = START + datetime.timedelta(seconds=second)
    return json.dumps({
        "level": "INFO", "time": at.isoformat().replace("+00:00", "Z"),
        "logger": "controller", "message": message, "controller": controller,
        **fields}, separators=(",", ":"))


def boot(second, n, pool="web"):
    claim = {"NodeClaim": {"name": f"{pool}-{n:05}"}}
    node = {"Node": {"name": f"node-{n}"}}
    return [
        line(second, "created nodeclaim", "provisioner",
             NodePool={"name": pool}, **claim),
        line(second + 2, "launched nodeclaim", **claim),
        line(second + 30, "registered nodeclaim", **claim, **node),
        line(second + 60, "initialized nodeclaim", **claim, **node)]


def decide(second, n, savings="(savings: $0.50)", reason="Underutilized",
           decision="delete"):
    command = f"{reason}/0a6: {decision}: nodepools=[web]: [node-1] {savings}"
    return [line(second, "disrupting node(s)", "disruption", **{
        "command": command, "decision": decision, "pod-count": 4,
        "disrupted-nodes": [{"Node": {"name": f"node-{n}"},
                             "NodeClaim": {"name": f"web-{n:05}"}}]})]


# A scale-up, a decision in its tenth minute, one in its thirtieth, and an end
# after an hour.
LOG = [*boot(0, 1), *boot(1, 2), *decide(300, 1), *decide(1500, 2),
       line(3600, "found provisionable pod(s)", "provisioner")]


@pytest.fixture
def log(tmp_path):
    """log(lines) writes them to a file and returns its name."""
    def write(lines=LOG, name="karpenter.log"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return name
    return write


def report(done):
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def settings(done):
    return {s["setting"]: s for s in report(done)["settings"]}


def test_report(run, log):  # noqa: F811
    said = report(run("simulate", log(), "-o", "json"))
    assert said["period"] == {"from": "2026-03-02T10:00:00.000000Z",
                              "to": "2026-03-02T11:00:00.000000Z",
                              "seconds": 3600}
    assert said["karpenter"] == {
        "created": 2, "scaleUps": 2, "replacements": 0, "static": 0,
        "unknown": 0, "decisions": 2, "nodes": 2, "pods": 8}
    assert (said["input"]["lines"], said["input"]["used"]) == (11, 10)
    assert said["input"]["messages"] == [
        {"message": "found provisionable pod(s)", "lines": 1}]
    one, = said["settings"]
    assert one["setting"] == "cluster 10m, max 1h"
    assert (one["holds"], one["caps"]) == (1, 0)
    turn, = one["turns"]
    assert turn["from"] == "2026-03-02T10:00:05.000000Z"
    # The last machine is ready at 10:01:01.
    assert turn["to"] == "2026-03-02T10:11:01.000000Z"
    assert turn["machine"] == "web-00002"
    assert one["wouldHaveWaited"] == {
        "decisions": 1, "nodes": 1, "pods": 4, "regret": 0, "spared": 0,
        "openAtTheEnd": 0, "longestSeconds": 361}
    low, high = one["nodeHours"].values()
    assert low == pytest.approx(361 / 3600, abs=1e-3)
    assert high == pytest.approx((361 + 325) / 3600, abs=1e-3)
    assert one["dollars"]["cheapest"] == pytest.approx(low / 2, abs=1e-3)
    assert one["dollars"]["dearest"] == pytest.approx(high / 2, abs=1e-3)


def test_settings(run, log, config):  # noqa: F811
    """Each choice of the values is a setting, for each configuration."""
    log()
    said = settings(run(
        "simulate", "--hold-duration", "2m,10m,30m", "--scope=cluster,node",
        "karpenter.log", "-o", "json"))
    assert {name: s["wouldHaveWaited"]["decisions"]
            for name, s in said.items()} == {
        "cluster 2m, max 1h": 0, "cluster 10m, max 1h": 1,
        "cluster 30m, max 1h": 2, "node 2m, max 1h": 0,
        "node 10m, max 1h": 1, "node 30m, max 1h": 2}
    assert list(settings(run(
        "simulate", "karpenter.log", "--min-scale-up=1,2%", "-o", "json"))) == [
            f"cluster 10m, max 1h, minScaleUp {least}" for least in ("1", "2%")]
    said = settings(run(
        "simulate", "karpenter.log", "--config", config("holdDuration: 30m\n"),
        "--max-hold-duration", "40m,20m,0", "--min-scale-up=3",
        "--output=json"))
    assert list(said) == [f"cluster 30m, max {cap}, minScaleUp 3"
                          for cap in ("40m", "20m", "0s")]
    assert all(s["holds"] == 0 for s in said.values())
    assert [s["wouldHaveWaited"]["decisions"] for s in said.values()] == [
        2, 1, 2]
    observed = settings(run(
        "simulate", "karpenter.log", "-o", "json", "--config",
        config("mode: observe\nholdDuration: 30m\n")))
    assert observed["cluster 30m, max 1h"]["wouldHaveWaited"]["decisions"] == 2
    two = settings(run(
        "simulate", "karpenter.log", "-o", "json", "--config", "config.yaml",
        "--config", config("scope: node\n")))
    assert len(two) == 1  # the same name twice: the same file


def test_outputs(run, log):  # noqa: F811
    log()
    table = run("simulate", "karpenter.log", "--hold-duration=5m,10m")
    assert table.code == 0
    assert ("2026-03-02T10:00:00Z to 2026-03-02T11:00:00Z (1h), 11 lines of "
            "1 file\n") in table.out
    assert "cluster 10m, max 1h       1   18.2%    10m56s     0" in table.out
    assert "0.10 to 0.19  $0.05 to 0.10\n" in table.out
    assert table.out.endswith("\n11 lines told 10 facts. Not used:\n"
                              "  1 with another message\n")
    assert "It decided 2 times to disrupt nodes: 2 nodes with 8 pods.\n" in (
        table.out)
    log([*boot(0, 1), *decide(300, 1)])
    few = run("simulate", "karpenter.log").out
    assert ("Karpenter created 1 machine: 1 scale-up, 0 replacements, 0 of "
            "static NodePools.\nIt decided 1 time to disrupt nodes: 1 node "
            "with 4 pods.\n") in few
    # Nothing was left out, and nothing is said of it.
    assert few.endswith("\n5 lines told 5 facts.\n")
    log()
    rows = list(csv.DictReader(io.StringIO(
        run("simulate", "karpenter.log", "-o", "csv").out)))
    assert [r["setting"] for r in rows] == ["cluster 10m, max 1h"]
    assert (rows[0]["decisions"], rows[0]["pods"]) == ("1", "4")
    assert float(rows[0]["node_hours_cheapest"]) == pytest.approx(.1003)
    # What Karpenter would have done is not known.
    for output in ("table", "csv", "json"):
        said = run("simulate", "karpenter.log", "-o", output).out.lower()
        assert "saving" not in said and "saved" not in said


def test_price(run, log):  # noqa: F811
    log([*boot(0, 1), *boot(1, 2), *decide(300, 1, "")])
    one, = settings(run("simulate", "karpenter.log", "-o", "json")).values()
    assert one["dollars"]["unpricedDecisions"] == 1
    assert one["dollars"]["dearest"] == 0
    assert "-\n" in run("simulate", "karpenter.log").out
    one, = settings(run("simulate", "karpenter.log", "-o", "json",
                        "--price-per-node-hour", "3.6")).values()
    assert one["dollars"]["unpricedDecisions"] == 0
    assert one["dollars"]["dearest"] == pytest.approx(
        3.6 * one["nodeHours"]["dearest"], abs=1e-3)


def test_regret(run, log):  # noqa: F811
    log([*LOG[:-2], *boot(900, 3)])
    for regret, want in (("15m", 1), ("9m", 0)):
        one, = settings(run("simulate", "karpenter.log", "-o", "json",
                            "--regret", regret)).values()
        assert one["wouldHaveWaited"]["regret"] == want
        assert (one["nodeHours"]["cheapest"] == 0) is bool(want)


def cycles(number, again=240, reason="Underutilized", savings="$0.50"):
    """Each half an hour a scale-up, whose machine goes after 150 s, and another
    one `again` seconds after the first, if that is not None."""
    lines = []
    for n in range(0, 2 * number, 2):
        at = 900 * n
        lines += [*boot(at, n),
                  *decide(at + 150, n, f"(savings: {savings})", reason),
                  line(at + 170, "deleted nodeclaim",
                       NodeClaim={"name": f"web-{n:05}"}),
                  *(boot(at + again, n + 1) if again else [])]
    return [*lines, line(1800 * number, "found provisionable pod(s)")]


HOLDS = "--hold-duration=1m,2m,5m,10m"


def recommended(run, *args):  # noqa: F811
    """What it recommends, as JSON and as text; the text is in the page, too."""
    args = ["simulate", "--recommend", "karpenter.log", *args]
    said = report(run(*args, "-o", "json"))
    text = run(*args, "--html=page.html").out
    text = text[text.index("Recommended: "):text.rindex("\n\n")]
    assert max(map(len, text.splitlines())) <= 88
    return said["recommendation"], " ".join(text.split())


def test_recommend(run, log, tmp_path):  # noqa: F811
    """One clear winner: the shortest hold that lasts until the next scale-up."""
    log(cycles(12))
    said, text = recommended(run, HOLDS, "--scope=cluster")
    half = {"verdict": "setting", "setting": "cluster 5m, max 1h",
            "decisions": 6, "regretAlone": 6, "regretLeft": 0}
    assert said == {
        **half, "decisions": 12, "regretAlone": 12, "maxRegret": 1,
        "maxPrice": None, "settingsThatFit": 2, "decisionsTooLate": 0,
        "decisionsNeeded": 10, "sure": True, "halves": [half, half]}
    assert text == (
        "Recommended: cluster 5m, max 1h. Why: of 12 decisions of Karpenter "
        "alone 12 brought regret: the NodePool scaled up within 15m. At most 1 "
        "(10%) may be left. With this setting 12 of them would still have "
        "waited then, so 0 are left. Of 4 settings 2 leave no more; this one "
        "needs the fewest node-hours by the dearest assumption. How sure: it "
        "rests on 12 decisions, and both halves of them say the same.")
    assert text in " ".join((tmp_path / "page.html").read_text().split())
    # What is compared and counted is what is compared without it.
    args = ["simulate", "karpenter.log", HOLDS, "-o", "json"]
    alone, asked = (report(run(*args, *more)) for more in (
        [], ["--recommend", "--scope=cluster"]))
    assert alone.pop("recommendation") is None and asked.pop("recommendation")
    assert alone == asked
    assert [s["wouldHaveWaited"]["spared"] for s in alone["settings"]] == [
        0, 0, 12, 12]
    # The scale-up that comes later than 2 min is no regret any more.
    said, text = recommended(run, HOLDS, "--regret=80s")
    assert (said["verdict"], said["regretAlone"]) == ("no-hold", 0)
    assert "within 1m20s" in text and "no hold" in text
    # Without settings there are some to choose from.
    said = report(run("simulate", "--recommend", "karpenter.log", "-o", "json"))
    assert len(said["settings"]) == 15
    assert said["recommendation"]["setting"] == "node 5m, max 1h"


def test_recommend_says_too_little(run, log):  # noqa: F811
    log(cycles(9))
    said, text = recommended(run, HOLDS)
    assert (said["verdict"], said["setting"], said["sure"]) == (
        "too-little", None, False)
    assert text == (
        "Recommended: nothing, there is too little to say. Why: it would rest "
        "on 9 decisions about empty or underutilized nodes, and 10 are needed.")
    # Twelve, of which the end hides what came of one.
    log([*cycles(12)[:-1], *boot(25000, 50), *decide(25100, 50)])
    said, text = recommended(run, HOLDS)
    assert (said["verdict"], said["decisions"]) == ("setting", 12)
    assert said["decisionsTooLate"] == 1
    assert "(1 more came too late to be judged)" in text


def test_recommend_says_nothing_about_drift(run, log):  # noqa: F811
    log(cycles(20, reason="Drifted"))
    said, text = recommended(run, HOLDS)
    assert (said["verdict"], said["decisions"]) == ("too-little", 0)
    assert "rest on 0 decisions" in text
    assert "20 were about drift or repair, which come again" in text


def test_recommend_within_a_price(run, log):  # noqa: F811
    """5m waits 12 times for 450 s and 325 s more, at $0.50 an hour."""
    log(cycles(12))
    said, text = recommended(run, HOLDS, "--scope=cluster", "--max-price=1.30")
    assert (said["verdict"], said["setting"]) == (
        "setting", "cluster 5m, max 1h")
    assert said["maxPrice"] == 1.3
    assert "2 leave no more, 1 of them within the price of $1.30" in text
    said, text = recommended(run, HOLDS, "--scope=cluster", "--max-price=1.28")
    assert (said["verdict"], said["setting"]) == ("none", None)
    assert said["settingsThatFit"] == 2
    assert text.startswith("Recommended: none of the settings.")
    assert '"cluster 5m, max 1h", costs up to $1.29' in text
    # Karpenter alone costs nothing more.
    said, _ = recommended(run, HOLDS, "--max-price=0", "--max-regret=12")
    assert said["verdict"] == "no-hold"
    log(cycles(12, savings=""))
    said, text = recommended(run, HOLDS, "--max-price=1000")
    assert said["verdict"] == "none" and "--price-per-node-hour" in text


def test_recommend_is_not_sure(run, log):  # noqa: F811
    log([*cycles(10, 500)[:-1],
         *(line for line in cycles(20)[10 * 10:])])
    said, text = recommended(run, HOLDS, "--scope=cluster", "--max-regret=0")
    assert (said["setting"], said["sure"]) == ("cluster 10m, max 1h", False)
    assert [h["setting"] for h in said["halves"]] == [
        "cluster 10m, max 1h", "cluster 5m, max 1h"]
    assert "the second \"cluster 5m, max 1h\"" in text
    said, text = recommended(run, "--hold-duration=1m,2m")
    assert (said["verdict"], said["regretLeft"]) == ("none", 20)
    assert 'No setting leaves so little' in text


def test_explain(run, log):  # noqa: F811
    log()
    said = run("simulate", "karpenter.log", "--explain", "node-1").out
    assert said.startswith(
        "2026-03-02T10:05:00Z: Karpenter decides to delete 1 node "
        "(underutilized)\n"
        "  cluster 10m, max 1h: held since 2026-03-02T10:00:00Z "
        "(quiet-period), its scope because of web-00002: would have waited\n")
    # A name does nothing to a terminal.
    log([part.replace("web-00002", "web-\\u001b[2J2").replace(
        '"delete"', '"de\\u001b]lete"').replace("Underutilized", "under\\nused")
        for part in LOG], "odd.log")
    odd = run("simulate", "odd.log", "--explain", "node-1").out
    assert "decides to de?]lete 1 node (under?used)\n" in odd
    assert "its scope because of web-?[2J2: would have waited\n" in odd
    said = run("simulate", "karpenter.log", "--explain", "web-00002").out
    assert "not held, so it would not have waited\n" in said
    refused(run("simulate", "karpenter.log", "--explain", "other"),
            '--explain: nothing is about "other"',
            "the name of a Node or NodeClaim")
    log([*LOG, *boot(3500, 3)])
    done = run("simulate", "karpenter.log", "--explain", "node-3")
    assert done.code == 0
    assert done.warnings() == ['--explain: no decision is about "node-3"']
    refused(run("simulate", "karpenter.log", "--explain=x", "-o", "csv"),
            "--explain")
    # An empty value is none, as --help shows it.
    done = run("simulate", "karpenter.log", "--explain=", "--svg=", "--html=")
    assert (done.code, done.err) == (0, "")


def test_repair(run, log):  # noqa: F811
    """From 1.15 on Karpenter logs repairs as decisions.  It repairs what is
    held, too.  A machine that it reboots is quiet anew when it is ready again,
    and does not prolong its scope's hold."""
    log([*boot(0, 1), *boot(1, 2),
         *decide(200, 1, reason="Unhealthy", decision="replace"),
         *decide(300, 2, reason="Unhealthy", decision="reboot"),
         boot(301, 2)[-1], *decide(400, 2), line(3600, "other")])
    one, = settings(run("simulate", "karpenter.log", "-o", "json")).values()
    assert [t["to"] for t in one["turns"]] == ["2026-03-02T10:11:01.000000Z"]
    assert one["wouldHaveWaited"]["decisions"] == 1
    assert one["wouldHaveWaited"]["longestSeconds"] == 561
    said = run("simulate", "karpenter.log", "--explain", "node-2").out
    assert "decides to reboot 1 node (unhealthy)\n" in said
    assert [text.rpartition(")")[2] for text in said.splitlines()
            if "held since" in text] == [
        ", its scope because of web-00002, but Karpenter repairs held nodes, "
        "too: would not have waited",
        ", its scope because of web-00002: would have waited"]


def gone(second, n):
    names = {"Node": {"name": f"node-{n}"},
             "NodeClaim": {"name": f"web-{n:05}"}}
    return [line(second, "tainted node", "node.termination", **names),
            line(second + 5, "deleted nodeclaim", **names)]


@pytest.mark.parametrize("reason, decision, after, holds", [
    ("Drifted", "terminate-first", 1, 1),
    ("Drifted", "delete", 1, 2),
    ("Unhealthy", "delete", 1, 2),
    ("Unhealthy", "reboot", 200, 1)])       # it stays, and expires
def test_who_may_have_a_successor(run, log, reason, decision,  # noqa: F811
                                  after, holds):
    """From 1.15 on Karpenter terminates a machine first whose reservation is
    full.  What comes then holds nobody else."""
    log([*boot(0, 1), *boot(1, 2),
         *decide(1500, 1, reason=reason, decision=decision),
         *gone(1500 + after, 1), *boot(1520 + after, 3), line(3600, "other")])
    one, = settings(run("simulate", "karpenter.log", "-o", "json")).values()
    assert len(one["turns"]) == holds


def test_repaired_before_it_was_ready(run, log):  # noqa: F811
    """The scale-up is tried again, without a gap."""
    log([*boot(0, 1), *boot(1, 2), *boot(1500, 3)[:3],
         *decide(1700, 3, reason="Unhealthy"), *gone(1701, 3),
         *boot(1721, 4), line(3600, "other")])
    one, = settings(run("simulate", "karpenter.log", "-o", "json")).values()
    assert [t["to"] for t in one["turns"]] == [
        "2026-03-02T10:11:01.000000Z", "2026-03-02T10:39:41.000000Z"]


# What a terminal obeys or hides behind: C0, DEL, C1, ends of lines, direction.
OBEYED = [chr(c) for c in (*range(1, 9), *range(11, 32), *range(127, 160),
                           *range(0x2028, 0x202f), *range(0x2066, 0x206a))]


def hostile(text, at):
    """The text with one of these characters after its first letter."""
    return text[0] + OBEYED[at % len(OBEYED)] + text[1:]


def test_drift_that_goes_on(run, log):  # noqa: F811
    """With drift: allow the scope stops no drift, but the machine's own quiet
    time does, and the scope still stops consolidation."""
    log([*boot(0, 1), *boot(1, 2), *boot(2, 3), *boot(800, 4),
         *decide(900, 1, reason="Drifted"), *decide(1000, 2),
         *decide(1010, 4, reason="Drifted"),
         line(3600, "found provisionable pod(s)", "provisioner")])
    said = settings(run("simulate", "karpenter.log", "--drift=hold,allow",
                        "-o", "json"))
    assert {name: s["wouldHaveWaited"]["decisions"]
            for name, s in said.items()} == {
        "cluster 10m, max 1h, drift hold": 3,
        "cluster 10m, max 1h, drift allow": 2}


def hostile_log():
    """Each name, reason and message has one of them."""
    lines = []
    for n, c in enumerate(OBEYED):
        pool, at = hostile("web", n), 40 * n
        claim = {"NodeClaim": {"name": hostile(f"web-{n}", n)}}
        node = {"Node": {"name": hostile(f"node-{n}", n)}}
        lines += [
            line(at, "created nodeclaim", "provisioner",
                 NodePool={"name": pool}, **claim),
            line(at + 1, "registered nodeclaim", **claim, **node),
            line(at + 2, "initialized nodeclaim", **claim, **node),
            line(at + 3, hostile("other", n)),
            line(at + 20, "disrupting node(s)", "disruption", **{
                "reason": hostile("empty", n), "pod-count": 1,
                "decision": hostile("delete", n),
                "disrupted-nodes": [{**claim, **node}]})]
    return lines


def obeyed(text):
    return sorted({f"{ord(c):x}" for c in text} & {
        f"{ord(c):x}" for c in OBEYED})


def test_terminal(run, log, config, tmp_path):  # noqa: F811
    """No byte that a terminal obeys leaves by any path."""
    log(hostile_log(), "odd\u009b\u202e\x1b.log")
    config("holdDuration: 2m\n")
    os.rename(tmp_path / "config.yaml", tmp_path / "a\u009b\u202e\x1b.yaml")
    at = ["simulate", "odd\u009b\u202e\x1b.log", "--config",
          "a\u009b\u202e\x1b.yaml", "--config", "a\u009b\u202e\x1b.yaml",
          "--scope=nodepool,cluster"]
    for output in ("json", "record", "csv", "table"):
        done = run(*at, "-o", output)
        assert (done.code, done.err, obeyed(done.out)) == (0, "", []), output
    done = run(*at, "--svg=p.svg", "--html=p.html", "--explain",
               hostile("node-7", 7))
    assert (done.code, obeyed(done.out + done.err)) == (0, [])
    for file in ("p.svg", "p.html"):
        text = (tmp_path / file).read_text()
        assert len(text) > 3000 and not obeyed(text), file
    # Each of them came so far.
    record = run(*at, "-o", "record").out.splitlines()
    facts = [f for f in map(json.loads, record) if "what" in f]
    for key in ("claim", "pool", "node", "reason", "action"):
        assert set(obeyed("".join(f.get(key, "") for f in facts))) == {
            f"{ord(c):x}" for c in OBEYED}, key
    # What it says on stderr.
    log(hostile_log()[:-1] + [
        '{"record":"karpenter-node-holder.io/record/v\x9b\u202e"}'])
    for args in (["karpenter.log"], ["a\u009b\u202e\x1b"],
                 ["karpenter.log", "--explain=a\u009b\u202e\x1b"]):
        done = run("simulate", *args)
        assert done.code == 2 and not obeyed(done.out + done.err), args
    for c in OBEYED[::9]:
        log(hostile_log() + [line(9000, "created nodeclaim", "provisioner",
                                  NodeClaim={"name": f"new{c}"})])
        done = run("simulate", "karpenter.log", "--explain", f"new{c}")
        assert (done.code, done.warnings()) == (
            0, ['--explain: no decision is about "new?"'])


def drawn(text):
    """The classes of what an SVG draws, counted."""
    root = ElementTree.fromstring(text)
    return collections.Counter(
        f"{node.tag.rpartition('}')[2]}.{node.get('class', '')}"
        for node in root.iter())


def test_pictures(run, log, config, tmp_path):  # noqa: F811
    log()
    (tmp_path / "a<b&.yaml").write_text(
        (tmp_path / config("holdDuration: 2m\n")).read_text())
    done = run("simulate", "karpenter.log", "--config", "a<b&.yaml",
               "--config", "config.yaml", "--scope=cluster,nodepool",
               "--svg", "p.svg", "--html=p.html")
    assert (done.code, done.err) == (0, "")
    found = drawn((tmp_path / "p.svg").read_bytes())
    # Two decisions in the timeline and in each of four bands; a hold in each.
    assert (found["path.x"], found["path.w"]) == (10, 0)
    assert (found["rect.b"], found["rect.o"]) == (4, 4)
    assert found["polygon.f"] == 1
    page = (tmp_path / "p.html").read_text()
    assert (tmp_path / "p.svg").read_text() in page
    assert "a&lt;b&amp;.yaml" in page and "a<b" not in page
    assert "would have waited" in page
    # It needs nothing else.
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)
    run("simulate", "karpenter.log", "--svg", "p.svg")
    found = drawn((tmp_path / "p.svg").read_bytes())
    assert (found["path.x"], found["path.w"]) == (3, 1)
    # Of two settings it is the second in which a decision waits.
    run("simulate", "karpenter.log", "--svg", "p.svg",
        "--hold-duration=2m,10m")
    text = (tmp_path / "p.svg").read_text()
    said, *waits = text.split('class="w" d="M')
    assert len(waits) == 1
    assert ("2m, max 1h: 1 hold; 0 of 2 decisions would have waited"
            in said and "10m, max 1h: 1 hold; 1 of 2" in said)
    for flag in ("--svg", "--html"):
        done = run("simulate", "karpenter.log", flag, "none/p")
        assert (done.code, done.err) == (
            1, f"{NAME}none/p: No such file or directory\n")


@pytest.mark.parametrize("flag", ["--svg", "--html"])
def test_picture_takes_no_input(run, log, config, tmp_path,  # noqa: F811
                                flag):
    """Under whatever name, and before anything is read."""
    log()
    config("holdDuration: 2m\n")
    before = (tmp_path / "karpenter.log").read_bytes()
    os.link(tmp_path / "karpenter.log", tmp_path / "other")
    os.link(tmp_path / "config.yaml", tmp_path / "more.yaml")
    for place in ("karpenter.log", "./karpenter.log", "other", "more.yaml"):
        done = run("simulate", "karpenter.log", "--config", "config.yaml",
                   flag, place)
        refused(done, f"{flag}: {place}: ", "expected another file")
    for file in "prometheus-ca", "prometheus-token-file":
        refused(run("simulate", "--prometheus=https://127.0.0.1:1",
                    f"--{file}=other", flag, "karpenter.log"),
                f"{flag}: karpenter.log: ", "expected another file")
    with open(tmp_path / "other") as given, open(tmp_path / "out", "w") as out:
        for place in ("karpenter.log", "out"):
            done = subprocess.run(
                [HOLDERCTL, "simulate", "-", flag, place], cwd=tmp_path,
                stdin=given, stdout=out, stderr=subprocess.PIPE, text=True,
                env=environment(tmp_path))
            assert done.returncode == 2, place
            assert f"{flag}: {place}: " in done.stderr
    for place in ("p", "./p", f"{tmp_path}/p"):
        refused(run("simulate", "karpenter.log", flag, "p",
                    {"--svg": "--html", "--html": "--svg"}[flag], place),
                "--svg and --html: ", "two files")
    assert (tmp_path / "other").read_bytes() == before
    assert sorted(x.name for x in tmp_path.iterdir() if x.is_file()) == [
        "config.yaml", "karpenter.log", "more.yaml", "other", "out"]


@pytest.mark.parametrize("flag", ["--svg", "--html"])
def test_picture_follows_no_link(run, log, tmp_path, flag):  # noqa: F811
    log()
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "loose").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    for place, what in (("link", "a symbolic link"),
                        ("loose", "a symbolic link"),
                        ("pipe", "no regular file"), (".", "no regular file"),
                        ("/dev/full", "no regular file")):
        refused(run("simulate", "karpenter.log", flag, place),
                f"{flag}: {place}: {what}, expected")
    assert (tmp_path / "kept").read_text() == "kept"
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("flag", ["--svg", "--html"])
def test_picture_whole_or_not(log, tmp_path, flag):
    """A file that is there is replaced as a whole, and keeps who may read it.
    One that cannot be written leaves what was there, and nothing beside it."""
    log()
    place = tmp_path / ("p" * 255)
    place.write_text("old")
    place.chmod(0o640)
    os.link(place, tmp_path / "old")

    def runs(bytes_max):
        return subprocess.run(
            ["prlimit", f"--fsize={bytes_max}", HOLDERCTL, "simulate",
             "karpenter.log", flag, place.name], cwd=tmp_path,
            env=environment(tmp_path), capture_output=True, text=True,
            restore_signals=False)      # SIGXFSZ is ignored
    done = runs(1000)
    assert (done.returncode, done.stderr) == (
        1, f"{NAME}{'p' * 180}: File too large\n")
    assert place.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3
    assert runs("unlimited").returncode == 0
    assert place.read_text().endswith(
        "</svg>\n" if flag == "--svg" else "</html>\n")
    assert place.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "old").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name, shown", [
    (b"a]]>b.yaml", "a]]>b.yaml"), (b"a\x01\n\x7fb.yaml", "a???b.yaml"),
    (b"\xff\xc3\xbc.yaml", "?\u00fc.yaml"), (b"d/" * 40 + b"a.yaml", "d/a.yaml")])
def test_odd_names(run, log, config, tmp_path, name, shown):  # noqa: F811
    """Whatever a file is called, tables and pictures are well-formed."""
    log()
    config("holdDuration: 2m\n")
    name = os.fsdecode(name)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text((tmp_path / "config.yaml").read_text())
    done = run("simulate", "karpenter.log", "--config", name, "--config",
               "config.yaml", "--svg", "p.svg", "--html=p.html", "-o", "json")
    label, _ = settings(done)
    assert label.endswith(shown) and label.startswith("cluster 2m, max 1h, ")
    assert len(label) < 90
    drawn((tmp_path / "p.svg").read_bytes())
    assert (tmp_path / "p.svg").read_text() in (tmp_path / "p.html").read_text()


def stdin(tmp_path, data, *args):
    (tmp_path / "input").write_bytes(data)
    with open(tmp_path / "input") as given:
        return Done(subprocess.run(
            [HOLDERCTL, "simulate", "-", *args], cwd=tmp_path, stdin=given,
            env=environment(tmp_path), timeout=60, text=True,
            capture_output=True))


def test_streams(run, log, tmp_path):  # noqa: F811
    """stdin, gzip, two files: the same report."""
    log()
    whole = run("simulate", "karpenter.log", "-o", "csv").out
    data = (tmp_path / "karpenter.log").read_bytes()
    for given in (data, gzip.compress(data),
                  gzip.compress(data[:1000]) + gzip.compress(data[1000:])):
        done = stdin(tmp_path, given, "-o", "csv")
        assert (done.code, done.out, done.err) == (0, whole, "")
    log(LOG[::2], "a.log")
    log(LOG[1::2], "b.log")
    log(LOG[3:], "c.log")
    assert run("simulate", "c.log", "b.log", "a.log", "-o", "csv"
               ).out == whole


def test_record(run, log, tmp_path):  # noqa: F811
    """A record says what the log says, and is written again as it is."""
    log()
    record = run("simulate", "karpenter.log", "-o", "record")
    assert (record.code, record.err) == (0, "")
    assert record.out.splitlines()[0] == (
        '{"record":"karpenter-node-holder.io/record/v1"}')
    assert json.loads(record.out.splitlines()[9])["pods"] == 4
    (tmp_path / "record").write_text(record.out)
    assert run("simulate", "record", "-o", "record").out == record.out
    for word in ("settings", "karpenter"):
        assert report(run("simulate", "record", "-o", "json"))[word] == (
            report(run("simulate", "karpenter.log", "-o", "json"))[word])
    (tmp_path / "record").write_text(record.out.replace("/v1", "/v2"))
    refused(run("simulate", "record"), "record: ", "record/v2",
            "expected karpenter-node-holder.io/record/v1")


def at(second):
    return (START + datetime.timedelta(seconds=second)
            ).isoformat().replace("+00:00", "Z")


def claim(second, n, **more):
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": at(second + s)}
        for kind, s in (("Launched", 2), ("Registered", 30),
                        ("Initialized", 60))]
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": f"web-{n:05}", "creationTimestamp": at(second),
                         "labels": {"karpenter.sh/nodepool": "web"}, **more},
            "status": {"nodeName": f"node-{n}", "conditions": [
                {"type": "Drifted", "status": "False"}, *conditions]}}


def event(second, n, reason, message):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "involvedObject": {"kind": "NodeClaim", "name": f"web-{n:05}"},
            "reason": reason, "message": message,
            "firstTimestamp": at(second)}


def test_a_watch_of_nodeclaims_alone(run, log):  # noqa: F811
    """kubectl get nodeclaims -w -o json: no decision can be in it."""
    log([text for n in range(3) for more in ({}, {"deletionTimestamp": at(900)})
         for text in json.dumps(claim(n, n, **more), indent=4).splitlines()])
    said = run("simulate", "karpenter.log").out
    assert "Decisions are not read from NodeClaims" in said
    assert "no decision in the input" not in said and "decided 0" not in said
    log([json.dumps(claim(0, 0, deletionTimestamp=at(900))), json.dumps(event(
        300, 0, "DisruptionTerminating", "Disrupting NodeClaim: Drifted"))])
    assert "It decided 1 time" in run("simulate", "karpenter.log").out


def test_kubectl(run, log, tmp_path):  # noqa: F811
    """kubectl get nodeclaims,nodes,events -o json, which is in no order."""
    log([*boot(0, 1), *boot(1, 2), *decide(300, 1, ""), *decide(1500, 2, "")])
    want = settings(run("simulate", "karpenter.log", "-o", "json"))
    items = [
        event(1500, 2, "DisruptionTerminating",
              "Disrupting NodeClaim: Underutilized"),
        claim(1, 2), {"kind": "Node", "metadata": {"name": "node-1"}},
        event(300, 1, "DisruptionTerminating",
              "Disrupting NodeClaim: Underutilized"),
        event(301, 1, "DisruptionBlocked", "Pdb prevents it"),
        {**event(300, 1, "DisruptionTerminating", "Disrupting Node: x"),
         "involvedObject": {"kind": "Node", "name": "node-1"}},
        claim(0, 1, deletionTimestamp=at(320))]

    def write(items, **more):
        text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List",
                           **more}, indent=4)
        (tmp_path / "list.json").write_text(text + "\n")
        return text

    def pods(said):     # an Event does not say how many
        said["cluster 10m, max 1h"]["wouldHaveWaited"].pop("pods")
        return said
    text = write(items)
    done = run("simulate", "list.json", "-o", "json")
    assert pods(settings(done)) == pods(want)
    assert report(done)["karpenter"]["created"] == 2
    assert report(done)["input"]["otherMessages"] == 3
    # Replacements, as Karpenter's Events say.
    write([*items, claim(310, 3), event(311, 3, "DisruptionLaunching",
                                        "Launching NodeClaim: Drifted")])
    said = report(run("simulate", "list.json", "-o", "json"))
    assert said["karpenter"]["replacements"] == 1
    assert (said["karpenter"]["created"], said["karpenter"]["unknown"]) == (
        3, 2)
    assert said["settings"][0]["turns"] == (
        want["cluster 10m, max 1h"]["turns"])
    # Cut, and with odd objects in it.
    (tmp_path / "list.json").write_text(text[:-30])
    done = run("simulate", "list.json", "-o", "csv")
    assert (done.code, len(done.warnings())) == (0, 1)
    assert "list.json" in done.warnings()[0]
    write([7, {"kind": "NodeClaim"}, {"kind": "Event"}, *items,
           {**claim(5, 4), "spec": "x" * 70000}])
    counted = report(run("simulate", "list.json", "-o", "json"))["input"]
    assert (counted["otherMessages"], counted["notJSON"]) == (3, 0)
    write([])
    refused(run("simulate", "list.json"), "nothing of Karpenter's")


# --- the audit log -----------------------------------------------------------

def audited(second, verb, obj, resource=None, code=200, **more):
    resource = resource or {"NodeClaim": "nodeclaims", "Node": "nodes",
                            "Event": "events"}[obj["kind"]]
    return json.dumps({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse", "stage": "ResponseComplete",
        "requestURI": f"/apis/x/{resource}", "verb": verb,
        "objectRef": {"resource": resource, "name": obj["metadata"]["name"]},
        "responseStatus": {"code": code}, "responseObject": obj,
        "stageTimestamp": at(second + .25), **more}, separators=(",", ":"))


def till(second, obj):
    """The object with the conditions that it had then."""
    obj = json.loads(json.dumps(obj))
    obj["status"]["conditions"] = [
        c for c in obj["status"]["conditions"]
        if c.get("lastTransitionTime", "") <= at(second)]
    if second < 30:
        del obj["status"]["nodeName"]
    return obj


def joined(second, n, *labels, **more):
    """The Node of claim(0, n) as it is then."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": f"node-{n}", "creationTimestamp": at(28), "finalizers": ["x"],
        "labels": {"karpenter.sh/nodepool": "web",
                   **{f"karpenter.sh/{x}": "true" for x in labels}},
        "ownerReferences": [{"kind": "NodeClaim", "name": f"web-{n:05}"}],
        **more}}


DISRUPTED = {"type": "DisruptionReason", "status": "True",
             "reason": "Underutilized", "lastTransitionTime": at(300)}


def audit_log():
    """Two machines boot, one is disrupted, and nothing else happens for an
    hour."""
    lines = []
    for n in (1, 2):
        whole = claim(0, n, finalizers=["x"])
        lines += [(s, audited(s, verb, till(s, whole))) for s, verb in (
            (0, "create"), (2, "patch"), (30, "patch"), (60, "patch"),
            (61, "patch"), (200, "patch"))]
        lines += [
            (28, audited(28, "create", joined(28, n, ownerReferences=[]))),
            (30, audited(30, "patch", joined(30, n, "registered"))),
            (60, audited(60, "patch", joined(60, n, "registered",
                                             "initialized")))]
    doomed = claim(0, 1, finalizers=["x"])
    doomed["status"]["conditions"].append(DISRUPTED)
    lines.append((300, audited(300, "patch", doomed)))
    doomed = json.loads(json.dumps(doomed))
    doomed["metadata"]["deletionTimestamp"] = at(301)
    lines.append((301, audited(301, "delete", doomed)))
    node = joined(301, 1, "registered", "initialized",
                  deletionTimestamp=at(302))
    lines.append((302, audited(302, "delete", node)))
    lines.append((320, audited(320, "patch", joined(
        320, 1, finalizers=[], deletionTimestamp=at(302)))))
    doomed = json.loads(json.dumps(doomed))
    doomed["metadata"]["finalizers"] = []
    lines.append((321, audited(321, "patch", doomed)))
    lines.append((3600, audited(3600, "update", {
        "kind": "Lease", "metadata": {"name": "x"}}, "leases")))
    return [text for _, text in sorted(lines, key=lambda x: x[0])]


def recorded(done):
    """{(what, name): second} of a record."""
    assert (done.code, done.err) == (0, ""), done.err
    found = {}
    for text in done.out.splitlines()[1:-1]:
        fact = json.loads(text)
        for about in fact.get("nodes", [fact]):
            key = fact["what"], about.get("claim") or about["node"]
            assert key not in found, text
            found[key] = (datetime.datetime.fromisoformat(
                fact["at"].replace("Z", "+00:00")) - START).total_seconds()
    return found


BOOT = {"created": 0, "launched": 2, "registered": 30, "ready": 60}
END = {"decided": 300, "deleting": 301, "node-gone": 320, "gone": 321}


def test_audit_log(run, log):  # noqa: F811
    """Each fact once, when it happened; the replay is that of Karpenter's
    log."""
    log(audit_log(), "audit.log")
    found = recorded(run("simulate", "audit.log", "-o", "record"))
    want = {(what, f"web-{n:05}"): s for n in (1, 2)
            for what, s in BOOT.items()}
    want |= {(what, "web-00001"): s for what, s in END.items()}
    assert set(found) == set(want)
    assert all(abs(found[key] - s) < 1 for key, s in want.items()), found
    said = report(run("simulate", "audit.log", "-o", "json"))
    assert said["input"]["late"] == said["input"]["duplicates"] == 0
    assert said["period"]["seconds"] == 3600.25
    log([*boot(0, 1), *boot(0, 2), *decide(300, 1), LOG[-1]])
    other = settings(run("simulate", "karpenter.log", "-o", "json"))
    one = said["settings"][0]
    assert one["wouldHaveWaited"]["decisions"] == 1
    assert one["turns"][0]["to"][:19] == (
        other["cluster 10m, max 1h"]["turns"][0]["to"][:19])
    # What the log does not know is said.
    text = run("simulate", "audit.log").out
    assert ("Whether a machine replaced another is not known of 2: they count "
            "as scale-ups.\n") in text
    assert "1 node with 0 pods, as far as is known.\n" in text


def test_audit_log_in_another_order(run, log):  # noqa: F811
    """What an event tells depends on the events before it."""
    for events in audit_log()[::-1], [*audit_log(), *audit_log()]:
        log(events)
        refused(run("simulate", "karpenter.log"), "karpenter.log: ",
                "go back in time", "sort them by time")


def test_audit_log_begins_late(run, log):  # noqa: F811
    """What had happened before the log is not told as if it were new."""
    log([x for x in audit_log() if '"create"' not in x
         and f'"stageTimestamp":"{at(100)}' < x[x.rindex('"stageT'):]])
    found = recorded(run("simulate", "karpenter.log", "-o", "record"))
    assert {what for what, _ in found} == set(END)
    said = report(run("simulate", "karpenter.log", "-o", "json"))
    assert (said["karpenter"]["created"], said["karpenter"]["decisions"]) == (
        0, 1)
    assert said["settings"][0]["holds"] == 0


def test_audit_log_without_nodeclaims(run, log):  # noqa: F811
    """EKS logs Nodes with their objects, and NodeClaims without."""
    bare, nodes = [], []
    for event in map(json.loads, audit_log()):
        if event["objectRef"]["resource"] == "nodeclaims":
            event["level"] = "Metadata"
            del event["responseObject"]
            bare.append(json.dumps(event))
        nodes.append(json.dumps(event))
    nodes.insert(-4, audited(300, "patch", {
        **joined(300, 1, "registered", "initialized"),
        "spec": {"taints": [{"key": "karpenter.sh/disrupted"}]}}))
    log(nodes)
    found = recorded(run("simulate", "karpenter.log", "-o", "record"))
    assert found == {
        **{("created", f"web-{n:05}"): 28 for n in (1, 2)},
        **{("registered", f"web-{n:05}"): 30.25 for n in (1, 2)},
        **{("ready", f"web-{n:05}"): 60.25 for n in (1, 2)},
        ("decided", "web-00001"): 300.25, ("deleting", "web-00001"): 302.25,
        ("node-gone", "web-00001"): 320.25, ("gone", "web-00001"): 320.25}
    done = run("simulate", "karpenter.log")
    assert (f"  {len(bare)} of the audit log about machines, without the "
            "object (a level below RequestResponse)\n") in done.out
    log(bare)
    refused(run("simulate", "karpenter.log"),
            f"without objects in {len(bare)} writes",
            "expected level RequestResponse for nodes")


def test_audit_log_of_others(run, log):  # noqa: F811
    """What was not written, and what is no machine's, says nothing."""
    whole = claim(0, 3, finalizers=["x"])
    own = joined(28, 3)
    own["metadata"]["ownerReferences"] = [{"kind": "Pool", "name": "web"}]
    others = [
        audited(250, "create", whole, code=403),
        audited(250, "create", whole, stage="RequestReceived"),
        audited(250, "get", whole),
        audited(250, "create", whole, requestURI="/x?fieldManager=a&dryRun=All"),
        audited(250, "patch", own), audited(250, "patch", {**whole, "kind": "X"},
                                           "xs"),
        audited(250, "create", whole)[:-40], "{" * 9000]
    log(audit_log())
    want = recorded(run("simulate", "karpenter.log", "-o", "record"))
    lines = audit_log()
    log([*lines[:-5], *others, *lines[-5:]])
    assert recorded(run("simulate", "karpenter.log", "-o", "record")) == want
    counted = report(run("simulate", "karpenter.log", "-o", "json"))["input"]
    assert (counted["notJSON"], counted["withoutObject"], counted["late"]) == (
        1, 0, 0)


def test_audit_log_with_gaps(run, log):  # noqa: F811
    """What an object tells of a time before the lines that are there already is
    told as late as it can be in order."""
    lost = [f'"stageTimestamp":"{at(s + .25)}"' for s in (2, 30, 60, 61)]
    log([x for x in audit_log() if "web-00001" not in x or
         not any(s in x for s in lost)])
    found = recorded(run("simulate", "karpenter.log", "-o", "record"))
    assert found["created", "web-00001"] == 0
    assert {found[what, "web-00001"] for what in (
        "launched", "registered", "ready")} == {200.25 - 30}
    assert report(run("simulate", "karpenter.log", "-o", "json"))["input"][
        "late"] == 0


# --- what a holder did -------------------------------------------------------

def turn(second, what, cause, machine=None, held=None, scope="cluster"):
    return {"time": at(second), "what": what, "cause": cause, "scope": scope,
            "nodePool": None, "machine": machine, "heldFor": held,
            "until": None}


def status(*history, leads=True, since=-90000):
    return json.dumps({
        "apiVersion": "status.karpenter-node-holder.io/v1",
        "kind": "HolderStatus", "time": at(3600), "leader": {
            "since": at(since), "thisReplica": leads},
        **({"history": history[::-1]} if leads else {})})


DID = (turn(2, "held", "scale-up", "web-00001"),
       turn(662, "released", "quiet", "web-00002", "11m"),
       turn(700, "held", "hold-until", scope=None),
       turn(1800, "held", "scale-up", "web-00009"),
       turn(2400, "capped", "cap", "web-00008", "10m"),
       turn(3000, "held", "scale-up", "web-00007", scope="batch"))


def test_status_beside_a_log(run, log):  # noqa: F811
    """What the holder did stands beside what the settings would have done."""
    log()
    log([status(*DID)], "status.json")
    alone = report(run("simulate", "karpenter.log", "-o", "json"))
    said = report(run("simulate", "karpenter.log", "status.json",
                      "-o", "json"))
    assert alone["happened"] is None
    for key in ("period", "karpenter", "settings"):
        assert said[key] == alone[key]
    happened = said["happened"]
    assert (happened["from"][:19], happened["to"][:19]) == (
        at(3600 - 86400)[:19], at(3600)[:19])
    assert [(t["scope"], t["from"][:19], t["to"][:19], t["machine"],
             t["capped"]) for t in happened["turns"]] == [
        ("cluster", at(2)[:19], at(662)[:19], "web-00002", False),
        ("cluster", at(1800)[:19], at(2400)[:19], "web-00008", True),
        ("batch", at(3000)[:19], at(3600)[:19], "web-00007", False)]
    assert (happened["holds"], happened["caps"]) == (3, 1)
    assert happened["heldSeconds"] == 660 + 600 + 600
    assert happened["sharePercent"] == pytest.approx(1860 / 864, abs=.001)
    # The holder of this log counted a machine from its launch on.
    replayed, = said["settings"][0]["turns"]
    assert replayed["from"][:19] == at(5)[:19]
    text = run("simulate", "karpenter.log", "status.json").out
    assert "happened                  3    2.2%       11m     1" in text
    assert '"happened" is what the holder held from 2026-03-01T11:00:00Z' in (
        text)
    rows = list(csv.DictReader(io.StringIO(run(
        "simulate", "karpenter.log", "status.json", "-o", "csv").out)))
    assert [(r["setting"], r["holds"], r["decisions"]) for r in rows] == [
        ("cluster 10m, max 1h", "1", "1"), ("happened", "3", "")]
    # A record keeps it.
    log(run("simulate", "karpenter.log", "status.json", "-o", "record"
            ).out.splitlines(), "record")
    assert report(run("simulate", "record", "-o", "json"))["happened"] == (
        happened)


def test_status_of_days(run, log):  # noqa: F811
    """Where no answer reaches, nothing is known: no hold, and no time without
    one."""
    def answered(days, *history):
        return status(*history).replace(at(3600), at(3600 + days * 86400))
    log()
    log([status(turn(1800, "held", "scale-up", "web-00001"))], "1")
    log([answered(3, turn(3 * 86400, "held", "scale-up", "web-00009"))], "2")
    happened = report(run("simulate", "karpenter.log", "1", "2", "-o",
                          "json"))["happened"]
    assert [(t["from"][:19], t["to"][:19]) for t in happened["turns"]] == [
        (at(1800)[:19], at(3600)[:19]),
        (at(3 * 86400)[:19], at(3600 + 3 * 86400)[:19])]
    assert happened["holds"] == 2 and happened["longestSeconds"] == 3600
    assert happened["sharePercent"] == pytest.approx(5400 / 1728, abs=.001)


def test_status_alone(run, log):  # noqa: F811
    """What it cannot answer is refused."""
    log([status(*DID, since=600)], "status.json")
    said = report(run("simulate", "status.json", "-o", "json"))
    assert (said["settings"], said["period"]["from"]) == ([], None)
    # The hold that the leader found is known from then on.
    assert said["happened"]["turns"][0]["from"][:19] == at(600)[:19]
    done = run("simulate", "status.json")
    assert done.out.startswith("A holder's /status alone: ")
    assert "cluster 10m" not in done.out and "happened" in done.out
    for flags in (["--hold-duration=5m"], ["--recommend"],
                  ["--explain=web-00001"],
                  ["--svg=p.svg"], ["--html=p.html"]):
        refused(run("simulate", "status.json", *flags), "/status alone",
                "need Karpenter's log")
    log([status(leads=False)], "status.json")
    refused(run("simulate", "status.json"), "status.json: ", "ask the leader")
    log([status().replace("holder.io/v1", "holder.io/v2")], "status.json")
    refused(run("simulate", "status.json"), "status of another version")
    log(json.dumps(json.loads(status(*DID, since=600)), indent=2).splitlines(),
        "status.json")
    indented = report(run("simulate", "status.json", "-o", "json"))
    assert indented["happened"] == said["happened"]


# --- Prometheus --------------------------------------------------------------

LIFE = "karpenter_nodes_current_lifetime_seconds"
MADE = "karpenter_nodeclaims_created_total"
ENDED = "karpenter_nodeclaims_disrupted_total"
STEP = 30


def series(name, values, **labels):
    return {"metric": {"__name__": name, **labels}, "values": [
        [START.timestamp() + t, f"{v:g}"] for t, v in values]}


def samples(first=0, last=3600):
    return [t for t in range(0, 3601, STEP) if first <= t <= last]


def life(node, birth, end=3600, begin=0, pool="web", **labels):
    return series(LIFE, [
        (t, t - birth) for t in samples(max(begin, birth), end)],
                  node_name=node, nodepool=pool, **labels)


def counter(name, reason, *times, before=0, begin=0, pool="web"):
    return series(name, [(t, before + sum(at <= t for at in times))
                         for t in samples(begin)],
                  reason=reason, nodepool=pool)


# Two machines join; one is disrupted, and replaced; one expires.
ANSWER = [
    life("node-1", 25, 330), life("node-2", 26), life("node-old", -5000, 1000),
    # Another replica leads, and is scraped.
    life("node-3", 400, begin=1200, pod="b"),
    life("node-3", 400.4, end=1200, pod="a"),
    life("node-x", 40, pool="batch"),
    counter(MADE, "provisioned", 10, 11, before=40),
    counter(MADE, "underutilized", 370, begin=390),
    counter(MADE, "static", 12, pool="batch"),
    counter(ENDED, "Underutilized", 300, begin=300),
    counter(ENDED, "expired", 900, begin=900),
    counter(ENDED, "empty", 1200, before=3),
    series("up", [(0, 1)])]


def answer(result, kind="matrix"):
    return json.dumps({"status": "success", "data": {
        "resultType": kind, "result": result}}, separators=(",", ":"))


def test_prometheus(run, log):  # noqa: F811
    """The ages of Nodes are births and ends; counters say what they were."""
    log([answer(ANSWER)])
    done = run("simulate", "karpenter.log", "-o", "record")
    facts = [json.loads(x) for x in done.out.splitlines()[1:-1]]
    made = {f["claim"]: f for f in facts if f["what"] == "created"}
    assert {n: (f["at"][11:19], f["pool"], f.get("maker"))
            for n, f in made.items()} == {
        "node-1": ("10:00:25", "web", "provisioner"),
        "node-2": ("10:00:26", "web", "provisioner"),
        "node-3": ("10:06:40", "web", "disruption"),
        "node-x": ("10:00:40", "batch", "static")}
    assert {f["claim"]: f["at"][11:19] for f in facts
            if f["what"] == "ready"} == {
        "node-1": "10:00:30", "node-2": "10:00:30", "node-3": "10:07:00",
        "node-x": "10:01:00"}
    assert {f["claim"]: f["at"][11:19] for f in facts
            if f["what"] == "gone"} == {
        "node-1": "10:05:30", "node-old": "10:16:30"}
    decided, = (f for f in facts if f["what"] == "decided")
    assert (decided["at"][11:19], decided["reason"], decided["nodes"]) == (
        "10:05:00", "underutilized", [{"node": "node-1", "claim": "node-1"}])
    assert done.out.splitlines()[-1].endswith('"2026-03-02T11:00:00.000000Z"}')
    said = report(run("simulate", "karpenter.log", "-o", "json"))
    counted = said["input"]
    assert (counted["precisionSeconds"], counted["disruptionsOfUnknown"],
            counted["otherMessages"]) == (STEP, 1, 1)
    assert said["settings"][0]["wouldHaveWaited"]["decisions"] == 1
    text = run("simulate", "karpenter.log").out
    assert "The times of Prometheus are good to 30s." in text
    assert "  1 disruption of a Node that Prometheus does not show\n" in text


def cost(*steps, pool="web", **labels):
    """The NodePool costs so much from each of these seconds on."""
    return series("karpenter_nodepools_cost_total", [
        (t, [dollars for at, dollars in steps if at <= t][-1])
        for t in samples(steps[0][0])], nodepool=pool, **labels)


def test_prometheus_price(run, log):  # noqa: F811
    """A Node costs its part of what its NodePool costs at the decision, where
    nobody says better."""
    others = [life("node-gone", -100, 200), cost((0, 50), pool="batch"),
              cost((0, 0), (60, 0.9), (310, 0.6), instance="karpenter-1")]

    def dollars(metrics, *flags):
        log([answer(metrics)])
        one, = settings(run("simulate", "karpenter.log", "-o", "json",
                            *flags)).values()
        low, high = one["nodeHours"].values()
        assert high > 0.1
        paid = one["dollars"]
        return (paid["dearest"] / high, paid["unpricedDecisions"])
    # node-1, node-2 and node-old are there then.
    assert dollars([*ANSWER, *others]) == (pytest.approx(0.3, 1e-2), 0)
    log([run("simulate", "karpenter.log", "-o", "record").out[:-1]], "record")
    decided, = (f for f in map(json.loads, run(
        "simulate", "record", "-o", "record").out.splitlines())
        if f.get("what") == "decided")
    assert decided["price"] == "0.300000"
    assert dollars([*ANSWER, *others], "--price-per-node-hour=2") == (
        pytest.approx(2, 1e-2), 0)
    assert dollars(ANSWER) == (0, 1)
    # A Karpenter that has just started knows of no costs.
    for little in (0, -0.3):
        assert dollars([*ANSWER, cost((0, 0.9), (270, little))]) == (0, 1)
    assert dollars([*ANSWER, cost((0, 1e9))]) == (0, 1)


def test_prometheus_births(run, log):  # noqa: F811
    """Samples are older than their times: the youngest says most."""
    stale = life("node-1", 25, 330)
    for n, (at, age) in enumerate(stale["values"]):
        stale["values"][n] = [at, f"{float(age) - (0 if n == 4 else 7):g}"]
    log([answer([stale if x is ANSWER[0] else x for x in ANSWER])])
    facts = map(json.loads, run("simulate", "karpenter.log", "-o",
                                "record").out.splitlines())
    assert [f["at"][11:19] for f in facts if f.get("what") == "created"
            and f["claim"] == "node-1"] == ["10:00:25"]


def test_prometheus_large(run, log, tmp_path):  # noqa: F811
    """An answer is one line of any length, and is never whole in memory."""
    many = [life(f"other-{n}", -9000) for n in range(6000)]
    log([answer([*many[:3000], *ANSWER, *many[3000:]])])
    assert (tmp_path / "karpenter.log").stat().st_size > 14 << 20
    said = report(run("simulate", "karpenter.log", "-o", "json"))
    log([answer(ANSWER)], "small")
    assert said["settings"] == report(
        run("simulate", "small", "-o", "json"))["settings"]
    log([answer([life("one", 7, pad="x" * (2 << 20)), *ANSWER])])
    counted = report(run("simulate", "karpenter.log", "-o", "json"))["input"]
    assert (counted["tooLong"], counted["late"]) == (1, 0)


def test_prometheus_odd(run, log, tmp_path):  # noqa: F811
    """What it cannot use it counts or refuses."""
    odd = [7, {}, {"metric": [], "values": {}}, {"metric": {
        "__name__": LIFE, "node_name": "a", "nodepool": "b"}, "values": [
            [1, "NaN"], [2, "-1"], ["3", "4"], [4, 5], [5], [1e300, "1"], 7]}]
    log([answer([*odd, *ANSWER])])
    said = report(run("simulate", "karpenter.log", "-o", "json"))
    assert said["input"]["notJSON"] == 0
    log([answer(ANSWER)])
    assert said["settings"] == report(
        run("simulate", "karpenter.log", "-o", "json"))["settings"]
    text = (tmp_path / "karpenter.log").read_text()
    (tmp_path / "cut").write_text(text[:len(text) // 2])
    done = run("simulate", "cut", "-o", "csv")
    assert done.code == 0
    warning, = done.warnings()
    assert warning.startswith("cut: ends in the middle of a value")
    log([answer([], "vector")], "instant")
    refused(run("simulate", "instant"), "instant: ", "a range query")
    log([answer([])], "none")
    refused(run("simulate", "none"), "nothing of Karpenter's")


def peak(tmp_path, *args):
    """The most resident memory of a run in bytes, and not that of the Python
    that starts it."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(HOLDERCTL), "simulate", *args],
        cwd=tmp_path, env=environment(tmp_path), timeout=60, text=True,
        capture_output=True)
    return int(done.stderr) << 10


PEAK = """if True:
    import resource, subprocess, sys
    subprocess.run(sys.argv[1:], check=True)
    sys.exit(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""


def sanitized():
    return re.search(rb"__[at]san_init", HOLDERCTL.read_bytes()) is not None


def test_hostile(run, log, tmp_path):  # noqa: F811
    """Whatever stands between the lines is counted, and changes nothing."""
    log()
    want = run("simulate", "karpenter.log", "-o", "csv").out
    rubbish = [
        "x" * (100 << 20), '{"message":"' + "y" * (3 << 20) + '"}',
        LOG[4][:70], "{" * 5000, "\0\1\2", "", '{"message":7}',
        LOG[0].replace("2026-03-02T10", "2035-03-02T10"),
        line(20, "deleted nodeclaim"),
        '2026-03-02T10:00:00.5Z\tINFO\tcontroller\tcreated nodeclaim\t{}']
    (tmp_path / "bad.log").write_text("\n".join(
        [*LOG[:5], *rubbish, *LOG[5:], "cut {"]))
    done = run("simulate", "bad.log", "-o", "csv")
    assert (done.code, done.out, done.err) == (0, want, "")
    counted = report(run("simulate", "bad.log", "-o", "json"))["input"]
    assert {k: counted[k] for k in (
        "lines", "used", "incomplete", "notJSON", "tooLong",
        "late", "oddTimes", "otherMessages")} == {
        "lines": 22, "used": 10, "incomplete": 2, "notJSON": 4, "tooLong": 2, "late": 0, "oddTimes": 1,
        "otherMessages": 2}
    assert counted["firstOddTime"] == {"file": "bad.log", "line": 13}
    # The line of 100 MB is never whole in memory.
    assert peak(tmp_path, "bad.log") < 64 << 20 or sanitized()


def test_odd_time(run, log):  # noqa: F811
    """Which line has a time that nobody believes is told."""
    log()
    want = run("simulate", "karpenter.log", "-o", "csv").out
    last = LOG[0].replace("2026-03-02", "9999-12-31")
    log([*LOG, last])
    assert run("simulate", "karpenter.log", "-o", "csv").out == want
    assert run("simulate", "karpenter.log").out.endswith(
        "  1 with a time that nothing confirms (line 12 of karpenter.log)\n")
    assert report(run("simulate", "karpenter.log", "-o", "json"))["input"][
        "firstOddTime"] == {"file": "karpenter.log", "line": 12}
    log([LOG[0].replace("2026-03-02", "0001-01-01"), *LOG, last],
        "odd\u009b\x1b.log")
    said = run("simulate", "odd\u009b\x1b.log").out
    assert said.endswith("  2 with a time that nothing confirms, the first "
                         "line 1 of odd??.log\n")
    log([last, last])
    refused(run("simulate", "karpenter.log"), "karpenter.log: nothing but "
            "times that nothing confirms (line 1)", "expected when")


def test_progress(tmp_path):
    """On a terminal it says how far it is, also in a long stretch of lines that
    say nothing, and wipes that out before the report."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [HOLDERCTL, "simulate", "-o", "csv", "-"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=theirs, env=environment(tmp_path))
    os.close(theirs)
    try:
        process.stdin.write((line(0, "other") + "\n").encode() * 10000)
        process.stdin.flush()
        assert select.select([ours], [], [], 60)[0], "nothing is said"
        said = os.read(ours, 100).decode()
        assert re.fullmatch(r"\r[01] MiB, \d+ lines", said)
        out, _ = process.communicate("\n".join(LOG).encode(), timeout=60)
        assert out.startswith(b"setting,holds,") and process.returncode == 0
        assert os.read(ours, 1000).endswith(b"\r\x1b[K")
    finally:
        process.kill()
        os.close(ours)


def zoned(text, hours):
    """The line as zap writes it where the zone is not UTC: its offset has no
    colon."""
    said = json.loads(text)
    at = datetime.datetime.fromisoformat(said["time"].replace("Z", "+00:00"))
    at = at.astimezone(datetime.timezone(datetime.timedelta(hours=hours)))
    return json.dumps(said | {"time": at.strftime("%Y-%m-%dT%H:%M:%S.000%z")})


def test_other_zones(run, log):  # noqa: F811
    log()
    log([zoned(text, n % 9 - 4) for n, text in enumerate(LOG)], "zones.log")
    want = run("simulate", "karpenter.log", "-o", "csv").out
    assert run("simulate", "zones.log", "-o", "csv").out == want
    both = report(run("simulate", "karpenter.log", "zones.log", "-o", "json"))
    assert both["input"]["duplicates"] == 10


def test_streams_in_turns(run, log):  # noqa: F811
    """A line that containerd has cut goes on in the next one of its stream."""
    log()
    want = run("simulate", "karpenter.log", "-o", "csv").out
    at = "2026-03-02T10:00:00.123456789Z"
    log([text for whole in LOG for text in (
        f"{at} stderr P {whole[:40]}", f"{at} stdout F panic",
        f"{at} stdout P {{", f"{at} stderr F {whole[40:]}",
        f"{at} stdout F }}")], "cri.log")
    assert run("simulate", "cri.log", "-o", "csv").out == want


def test_pieces_without_end(run, log, tmp_path):  # noqa: F811
    """A line that containerd has cut and that never ends takes no memory."""
    log()
    want = run("simulate", "karpenter.log", "-o", "csv").out
    part = "2026-03-02T10:00:00.1Z stdout P " + "x" * 1000000
    log([*LOG[:-1], *[part] * 120, LOG[-1]], "endless.log")
    assert run("simulate", "endless.log", "-o", "csv").out == want
    assert peak(tmp_path, "endless.log") < 64 << 20 or sanitized()


def test_windows(run, log, tmp_path):  # noqa: F811
    """PowerShell writes a byte order mark, or UTF-16."""
    claims = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": {
            "name": "web-abcde", "creationTimestamp": "2026-03-02T10:00:00Z"}}
    ]}, indent=4)
    (tmp_path / "list.json").write_text(claims.replace("\n", "\r\n"),
                                        encoding="utf-8-sig", newline="")
    assert report(run("simulate", "list.json", "-o", "json"))["karpenter"][
        "created"] == 1
    for code in ("utf-16-le", "utf-16-be"):
        (tmp_path / "wide.log").write_bytes(
            ("\ufeff" + "\n".join(LOG)).encode(code))
        refused(run("simulate", "wide.log"), "wide.log: text in UTF-16",
                "expected UTF-8")
        (tmp_path / "wide.log").write_bytes("\n".join(LOG).encode(code))
        refused(run("simulate", "wide.log"), "wide.log: text in UTF-16")


def test_compressed_otherwise(run, tmp_path):  # noqa: F811
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.log", "\n".join(LOG))
    twice = gzip.compress(gzip.compress(b"x"))
    for data, word in ((packed.getvalue(), "zip archive"),
                       (twice, "gzip within gzip"),
                       (lzma.compress(b"x"), "xz"),
                       (bz2.compress(b"x"), "bzip2"),
                       (b"\x28\xb5\x2f\xfd", "zstd")):
        (tmp_path / "packed").write_bytes(data)
        refused(run("simulate", "packed"), "packed: ", word,
                "expected text or gzip")


def test_audit_log_without_writes(run, log):  # noqa: F811
    for code, uri in (403, ""), (200, "?dryRun=All"):
        events = [json.loads(x) for x in audit_log()]
        for event in events:
            event["responseStatus"] = {"code": code}
            event["requestURI"] = event.get("requestURI", "/") + uri
        log(map(json.dumps, events))
        refused(run("simulate", "karpenter.log"), "nothing of Karpenter's",
                "most often (an audit event of a read, a dry run or a failed")


def test_one_time(run, log):  # noqa: F811
    log(re.sub('"time":"[^"]*"', '"time":"2026-03-02T10:00:00Z"', t)
        for t in LOG)
    assert "All facts have the same time" in run(
        "simulate", "karpenter.log").out


def decided_many(second, nodes):
    return line(second, "disrupting node(s)", "disruption", **{
        "decision": "delete", "pod-count": 0, "disrupted-nodes": [
            {"Node": {"name": f"ip-10-0-{n}.eu-central-1.compute.internal"},
             "NodeClaim": {"name": f"web-{n:05}"}, "instance-type": "m5.large",
             "capacity-type": "spot"} for n in range(nodes)]})


def test_many_nodes_at_once(run, log):  # noqa: F811
    log([*boot(0, 1), decided_many(90, 5000), *LOG[-1:]])
    said = report(run("simulate", "karpenter.log", "-o", "json"))
    assert said["karpenter"]["nodes"] == 5000
    assert said["settings"][0]["wouldHaveWaited"]["nodes"] == 5000


def seconds(tmp_path, *args):
    """What a run needs of a processor."""
    child = subprocess.Popen([HOLDERCTL, "simulate", *args], cwd=tmp_path,
                             stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime


def test_many_machines(run, log, tmp_path):  # noqa: F811
    """Four times the machines take four times as long, and not sixteen."""
    def took(n):
        log([text for i in range(n) for text in boot(i / 100, i)])
        return seconds(tmp_path, "karpenter.log")
    assert took(20000) < 9 * took(5000)


def instructions(tmp_path, *args):
    """How many a run takes."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         HOLDERCTL, "simulate", *args], cwd=tmp_path, capture_output=True,
        text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@pytest.mark.skipif(sanitized(), reason="valgrind runs no sanitizer")
def test_many_that_stay(run, log, tmp_path):  # noqa: F811
    """Four times the machines, of which none goes, take about four times the
    instructions.  Each is released by itself while the cap's window is open,
    and each decision waits while others come."""
    def took(n):
        log([text for i in range(n) for text in (
            *boot(3 * i, i), *decide(3 * i + 1, i))])
        return instructions(tmp_path, "karpenter.log", "--hold-duration=1m",
                            f"--max-hold-duration={3 * n // 2}s",
                            f"--release-window={3 * n}s", "--regret=24h")
    one, four = took(400), took(1600)
    print(f"{one:,} instructions for 400 machines, {four:,} for 1,600")
    assert four < 5 * one


def test_memory(run, tmp_path):  # noqa: F811
    """A week of churn takes no more memory than a day of it."""
    def logged(days):
        with gzip.open(tmp_path / "log.gz", "wt") as f:
            for n in range(days * 96):
                for text in (*boot(n * 900, n), *decide(n * 900 + 300, n), *(
                        line(n * 900 + 301 + i, message, **{
                            "NodeClaim": {"name": f"web-{n:05}"},
                            "Node": {"name": f"node-{n}"}})
                        for i, message in enumerate((
                            "tainted node", "deleted node",
                            "deleted nodeclaim")))):
                    f.write(text + "\n")
        one, = settings(run("simulate", "log.gz", "-o", "json")).values()
        assert one["holds"] == days * 96
        assert one["wouldHaveWaited"]["decisions"] == days * 96
        assert one["wouldHaveWaited"]["openAtTheEnd"] == 1
        return peak(tmp_path, "log.gz")
    one = logged(1)
    assert logged(7) < one * 1.3 or sanitized()


@pytest.mark.parametrize("args, words", [
    ((), ["expected a file", "--help"]),
    (("no.log",), ["no.log: No such file or directory"]),
    (("/",), ["/: Is a directory after 0 bytes"]),
    (("a", "--nonsense"), ["unknown flag --nonsense"]),
    (("a", "--webhook-address=:1"), ["unknown flag --webhook-address"]),
    (("a", "--hold-duration"), ["--hold-duration: missing"]),
    (("a", "--hold-duration=5m,"), ["--hold-duration: ", "5m,10m"]),
    (("a", "--hold-duration=5"), ["--hold-duration: ", '"5"']),
    (("a", "--scope=cluster,planet"), ["--scope: ", '"planet"']),
    (("a", "--hold-duration=0s"), ["a duration above 0"]),
    (("a", "--hold-duration", ",".join(f"{n}m" for n in range(1, 40))),
     ["more than 32"]),
    (("a", "--hold-duration=1m,2m,3m,4m,5m,6m", "--scope=cluster,node",
      "--min-scale-up=1,2,3"), ["more than 32 settings"]),
    (("a", "-o", "xml"), ["table, json, csv"]), (("a", "-o"), ["--output: missing"]),
    (("a", "--price-per-node-hour=cheap"), ["dollars such as 0.192"]),
    (("a", "--price-per-node-hour=-1"), ["dollars such as 0.192"]),
    (("a", "-o", "record", "--svg=p"), ["--svg and --html: not with"]),
    (("a", "-o", "record", "--html=p"), ["--svg and --html: not with"]),
    (("a", "--regret=often"), ["a duration such as 15m"]),
    (("a", "--recommend=yes"), ["--recommend: ", "expected no value"]),
    (("a", "--recommend", "-o", "csv"), ["--recommend: only with the table"]),
    (("a", "--max-price=1", "-o", "record"), ["--recommend: only with"]),
    (("a", "--max-price=-1"), ["--max-price: ", "dollars such as 25.50"]),
    (("a", "--max-price=x"), ["--max-price: ", "dollars such as 25.50"]),
    (("a", "--max-regret=101%"), ["--max-regret: ", "such as 3, or a share"]),
    (("a", "--max-regret=few"), ["--max-regret: ", "such as 3, or a share"]),
    (("a", "--max-regret=%"), ["--max-regret: ", "such as 3, or a share"]),
    (("a", "--config=none.yaml"), ["none.yaml", "No such file"]),
    (tuple("a" for _ in range(1001)), ["more than 1000 files"]),
])
def test_refused(run, args, words):  # noqa: F811
    refused(run("simulate", *args), *words)


def test_decisions_that_are_not_read(run, log):  # noqa: F811
    """A log of which the decisions are in other words, as a whole or before an
    upgrade, never seems to have none."""
    text = "disrupting by magic, terminating node-1"
    unread = [t if '"disrupting node(s)"' not in t else
              t.replace("disrupting node(s)", text) for t in LOG]
    log(unread)
    said = run("simulate", "karpenter.log").out
    assert "It decided 0 times" in said
    assert f'leave out 2 more decisions, in words that are not known: "{text}"' \
        in said
    many = [t for i in range(12) for t in (*boot(1800 * i, 2 * i),
                                           *decide(1800 * i + 400, 2 * i),
                                           *boot(1800 * i + 500, 2 * i + 1))]
    end = [line(1800 * 12, "found provisionable pod(s)", "provisioner")]
    log([*many, *end])
    flags = "--recommend", "--scope=cluster", "--hold-duration=5m,10m"
    advice = report(run("simulate", "karpenter.log", "-o", "json", *flags))
    assert advice["recommendation"]["sure"]
    log([*many[:60], line(1800 * 7, text, "disruption"), *many[60:], *end])
    done = run("simulate", "karpenter.log", "-o", "json", *flags)
    assert not report(done)["recommendation"]["sure"]
    assert report(done)["input"]["decisionsNotRead"] == 1
    assert "1 more could not be read" in run(
        "simulate", "karpenter.log", *flags).out.replace("\n", " ")
    decision = next(t for t in many if "disrupting" in t)
    log([*many, decision[:-40], *end])
    done = run("simulate", "karpenter.log", "-o", "json", *flags)
    assert report(done)["input"]["decisionsNotRead"] == 1
    taint = line(3500, "tainted node", "node.termination",
                 Node={"name": "node-1"}, NodeClaim={"name": "web-00001"})
    log([t for t in LOG if "disrupting" not in t] + [taint])
    said = run("simulate", "karpenter.log").out
    assert "It decided 0 times" in said
    assert "1 of 1 deleted node has no decision in the input" in said
    gone = line(3500, "deleted nodeclaim", "nodeclaim.lifecycle",
                Node={"name": "node-1"}, NodeClaim={"name": "web-00001"})
    log([*(t for t in LOG if "created nodeclaim" in t), gone])
    assert "1 of 1 deleted node has no decision in the input" in run(
        "simulate", "karpenter.log").out
    log([*many, taint, *end])
    said = run("simulate", "karpenter.log", *flags).out
    assert "1 of 1 deleted node has no decision in the input" in said
    assert "but not sure: what the input lacks" in said.replace("\n", " ")
    done = run("simulate", "karpenter.log", "-o", "json", *flags)
    assert report(done)["input"]["deletionsWithoutDecision"] == 1
    assert not report(done)["recommendation"]["sure"]
    # What was interrupted or has expired was not decided.
    about = {"Node": {"name": "node-1"}, "NodeClaim": {"name": "web-00001"}}
    event = {"kind": "Event", "metadata": {"name": "e"}, "involvedObject": {
        "kind": "NodeClaim", "name": "web-00001"}, "firstTimestamp":
        "2026-03-02T10:58:19Z", "reason": "TerminatingOnInterruption"}
    for why in (line(3499, "initiating delete from interruption message",
                     "interruption", messageKind="spot_interrupted", **about),
                line(3499, "deleting expired nodeclaim",
                     "nodeclaim.expiration", **about), json.dumps(event)):
        log([*many, why, taint, *end])
        done = report(run("simulate", "karpenter.log", "-o", "json", *flags))
        assert done["input"]["deletionsWithoutDecision"] == 0, why
        assert done["recommendation"]["sure"]
        record = run("simulate", "karpenter.log", "-o", "record").out
        log(record.splitlines())
        done = report(run("simulate", "karpenter.log", "-o", "json", *flags))
        assert done["input"]["deletionsWithoutDecision"] == 0, record


def test_nothing_of_karpenter(run, log):  # noqa: F811
    log(["hello", '{"message":"found"}'])
    refused(run("simulate", "karpenter.log"),
            "nothing of Karpenter's in 2 lines", "kubectl logs")
    log(["2026-03-02T10:00:00.5Z\tINFO\tcontroller\tcreated nodeclaim\t{}"])
    refused(run("simulate", "karpenter.log"), "nothing of use in 1 line")
    log([text.replace('"time"', '"when"') for text in LOG])
    refused(run("simulate", "karpenter.log"), "nothing of use in 11 lines, "
            "10 of them", "with a time")
    log(['{"@timestamp":"2026-03-02T10:00:00Z","kubernetes":{},"log":"x"}'] * 3)
    refused(run("simulate", "karpenter.log"), "nothing of Karpenter's in 3 "
            "objects with the members @timestamp, kubernetes, log: ",
            "kubectl logs")
    log([])
    refused(run("simulate", "karpenter.log"), "nothing of Karpenter's")


def test_damaged_gzip(run, tmp_path):  # noqa: F811
    data = gzip.compress("\n".join(LOG * 200).encode())
    (tmp_path / "cut.gz").write_bytes(data[:-20])
    done = run("simulate", "cut.gz", "-o", "csv")
    assert done.code == 0
    warning, = done.warnings()
    assert "cut.gz: gzip data is cut after" in warning


def test_full_stdout(log, tmp_path):
    log()
    with open("/dev/full", "w") as full:
        done = subprocess.run([HOLDERCTL, "simulate", "karpenter.log"],
                              cwd=tmp_path, stdout=full, text=True, timeout=60,
                              stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.startswith(NAME + "stdout: ")


def any_fact(r, second, machines):
    """A fact as a log with gaps might have it."""
    kind = r.choice(("created", "launched", "registered", "ready", "decided",
                     "deleting", "node-gone", "gone"))
    n, other = r.randrange(machines), r.randrange(machines)
    fact = {"at": at(second), "what": kind}
    if kind == "created":
        fact |= {"pool": r.choice(("web", "batch")), "maker": r.choice(
            ("provisioner", "provisioner", "disruption", "static"))}
    if kind in ("created", "launched", "registered", "ready", "gone"):
        fact["claim"] = f"web-{n:05}"
    if kind in ("registered", "deleting", "node-gone"):
        fact["node"] = f"node-{r.choice((n, n, other))}"
    if kind == "decided":
        fact |= {"action": r.choice(("delete", "replace")), "pods": 3,
                 "reason": r.choice(("empty", "drifted")), "nodes": [
                     {"node": f"node-{n}"}, {"claim": f"web-{other:05}"}]}
    return json.dumps(fact)


def test_any_history(run, log):  # noqa: F811
    """Whatever a record says, the figures fit each other."""
    for seed in range(15):
        r, second = random.Random(seed), 0
        lines = ['{"record":"karpenter-node-holder.io/record/v1"}']
        machines = r.choice((2, 9, 50))
        for _ in range(400):
            second += r.choice((0, 0, 1, 30, r.randrange(900)))
            lines.append(any_fact(r, second, machines))
        log(lines)
        said = settings(run(
            "simulate", "karpenter.log", "--scope=cluster,nodepool,node",
            "--hold-duration=1m,10m", "--replacements=ignore,count",
            "--max-hold-duration=20m", "-o", "json", "--svg", "p.svg"))
        assert len(said) == 12
        for name, s in said.items():
            waited, story = s["wouldHaveWaited"], (seed, name, s)
            assert waited["regret"] <= waited["decisions"] <= (
                waited["nodes"]), story
            low, high = s["nodeHours"].values()
            assert 0 <= low <= high, story
            assert 0 <= s["sharePercent"] <= 100, story
            assert s["longestSeconds"] <= s["heldSeconds"] + .001, story
            if not name.startswith("node "):
                assert s["longestSeconds"] <= 20 * 60 + 1, story


# --- what versions of Karpenter have logged (make karpenter-logs) -------------

RUNS = pathlib.Path(__file__).parents[1] / "golden" / "karpenter" / "runs"
# Version: scale-ups, replacements, decisions, their nodes and pods.
VERSIONS = {
    "v1.0.8": (8, 2, 5, 6, 13),
    "v1.3.3": (9, 1, 4, 6, 14),
    "v1.9.0": (8, 2, 3, 6, 8),
    "v1.14.1": (8, 2, 3, 6, 8),
    "v1.15.0": (8, 3, 6, 8, 28),
}
# Repairs by decision: two, of which one is a reboot.
REPAIRS = {"v1.15.0"}
# What says nothing to us.
OTHERS = {"found provisionable pod(s)", "Reconciler error",
          "selected repair policy", "committed node reboot",
          "reboot reached terminal outcome",
          "computed new nodeclaim(s) to fit pod(s)",
          "computed 1 unready node(s) will fit 4 pod(s)"}
MESSAGES = {"created nodeclaim": "created", "launched nodeclaim": "launched",
            "registered nodeclaim": "registered",
            "initialized nodeclaim": "ready", "tainted node": "deleting",
            "deleted node": "node-gone", "deleted nodeclaim": "gone"}


def test_versions_are_all_here():
    assert {path.stem for path in RUNS.iterdir()} == {*VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_versions(run, version):  # noqa: F811
    """Every line of real Karpenter's that says something is understood, and
    every machine goes the whole way."""
    path = RUNS / f"{version}.log"
    logged = [json.loads(text) for text in path.read_text().splitlines()]
    said = report(run("simulate", path, "-o", "json"))
    k = said["karpenter"]
    assert (k["scaleUps"], k["replacements"], k["decisions"], k["nodes"],
            k["pods"]) == VERSIONS[version]
    assert k["static"] == k["unknown"] == 0
    assert not [key for key in ("incomplete", "notJSON", "late",
                                "oddTimes", "duplicates", "unknownMachines")
                if said["input"][key]], said["input"]
    assert {m["message"] for m in said["input"]["messages"]} <= OTHERS
    record = run("simulate", path, "-o", "record").out.splitlines()
    facts = [f for f in map(json.loads, record) if "what" in f]
    kinds = collections.Counter(f["what"] for f in facts)
    decided = [f for f in facts if f["what"] == "decided"]
    assert kinds.pop("decided") == sum(
        line["message"].startswith("disrupting node") for line in logged)
    assert kinds == collections.Counter(
        MESSAGES[line["message"]] for line in logged
        if line["message"] in MESSAGES)
    life = collections.defaultdict(list)
    for f in facts:
        if "claim" in f and f["what"] != "deleting":
            life[f["claim"]].append(f["what"])
    assert len(life) == k["created"]
    again = 0   # ready: after the reboot
    for claim, whats in life.items():
        again += whats.count("ready") - 1
        assert list(dict.fromkeys(w for w in whats if w != "node-gone")) == [
            "created", "launched", "registered", "ready", "gone"], claim
    repairs = [f["action"] for f in decided if f["reason"] == "unhealthy"]
    if version in REPAIRS:
        assert (sorted(repairs), again) == (["reboot", "replace"], 1)
    else:
        assert (repairs, again) == ([], 0)
    nodes = {f["node"] for f in facts if f["what"] == "registered"}
    for f in decided:
        if f["reason"] != "unhealthy":
            assert f["action"] in ("delete", "replace")
            assert f["reason"] in ("drifted", "empty", "underutilized"), f
        assert {n["node"] for n in f["nodes"]} <= nodes
    assert {f["reason"] for f in decided} >= {"drifted"}


# --- record ------------------------------------------------------------------

class Recorder:
    """One `record` process."""

    def __init__(self, tmp_path, api, *flags, **outputs):
        api.write_kubeconfig(tmp_path / "kubeconfig")
        self.out, self.err = tmp_path / "record", tmp_path / "err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = spawn(
                [HOLDERCTL, "record", "--kubeconfig", tmp_path / "kubeconfig",
                 *flags], stdin=subprocess.DEVNULL, env=environment(tmp_path),
                **{"stdout": out, "stderr": err, **outputs})

    def facts(self):
        """{(what, name of the claim): line}"""
        found = {}
        for text in self.out.read_text().split("\n")[1:-1]:
            fact = json.loads(text)
            if "what" in fact:
                about = fact.get("claim") or fact["nodes"][0]["claim"]
                key = fact["what"], about
                if fact["at"] > found.get(key, fact)["at"] and (
                        ("gone", about) in found):
                    # Another one of that name.
                    found = {k: v for k, v in found.items() if k[1] != about}
                # Who made it stands in a line of its own.
                assert "maker" in {**found.get(key, fact), **fact} or (
                    key not in found), text
                found.setdefault(key, {}).update(fact)
        return found

    def waits(self, *keys):
        wait(lambda: set(keys) <= set(self.facts()),
             lambda: f"{keys} in {self.out.read_text()}")
        return self.facts()

    def ends(self, number=signal.SIGTERM):
        if number:
            self.process.send_signal(number)
        assert self.process.wait(60) == 0, self.err.read_text()
        return self.out.read_text().splitlines()


@pytest.fixture
def recorder(tmp_path):
    """recorder(api, flags) starts one."""
    started = []

    def start(api, *flags, **outputs):
        started.append(Recorder(tmp_path, api, *flags, **outputs))
        return started[-1]
    yield start
    for r in started:
        r.process.kill()
        r.process.wait()


def made(api, name, age, *true):
    return api.create(
        "nodeclaims", name, labels={"karpenter.sh/nodepool": "web"},
        created=api.stamp(-age), status={
            "nodeName": f"n-{name}", "conditions": [
                {"type": kind, "status": "True",
                 "lastTransitionTime": api.stamp(-age + 5)}
                for kind in true]})


def says(api, name, reason, message):
    api.create("events", f"{name}.{reason}", namespace="default", top={
        "reason": reason, "message": message, "firstTimestamp": api.stamp(),
        "involvedObject": {"kind": "NodeClaim", "name": name}})


BOOTED = "Launched", "Registered", "Initialized"


def test_recorder(run, recorder, tmp_path):  # noqa: F811
    with ScriptedApi() as api:
        made(api, "web-old", 90000, *BOOTED)
        made(api, "web-a", 30, "Launched")
        says(api, "web-long-gone", "DisruptionTerminating",
             "Disrupting NodeClaim: Empty")
        api.fault("nodeclaims", "list", "delay", seconds=0.5, times=1)
        r = recorder(api)
        r.waits(("ready", "web-old"), ("launched", "web-a"))
        claims, events = (api.select(verb="list", resource=resource)[0].time
                          for resource in ("nodeclaims", "events"))
        assert events >= claims + 0.5
        assert set(r.facts()) == {
            ("created", "web-old"), ("launched", "web-old"),
            ("registered", "web-old"), ("ready", "web-old"),
            ("created", "web-a"), ("launched", "web-a")}
        api.set_status("nodeclaims", "web-a", conditions=[
            {"type": kind, "status": "True",
             "lastTransitionTime": api.stamp(-10)} for kind in BOOTED])
        says(api, "web-a", "DisruptionLaunching", "Launching NodeClaim: x")
        says(api, "web-old", "DisruptionTerminating",
             "Disrupting NodeClaim: Drifted")
        api.patch_meta("nodeclaims", "web-old",
                       deletionTimestamp=api.stamp())
        facts = r.waits(("ready", "web-a"), ("decided", "web-old"),
                        ("deleting", "web-old"))
        wait(lambda: r.facts()["created", "web-a"].get("maker") ==
             "disruption")
        assert facts["decided", "web-old"]["reason"] == "drifted"
        # The API server is away for two lists, and nothing is taken for gone.
        fault = api.fault("nodeclaims", "list", "answer", status=500,
                          headers={}, body=b"{}")
        before = api.count(resource="nodeclaims", verb="list")
        api.delete("nodeclaims", "web-old")
        expire(api)
        wait(lambda: api.count(resource="nodeclaims", verb="list") >=
             before + 2)
        api.clear(fault)
        r.waits(("gone", "web-old"))
        lines = r.ends()
    r.facts()   # none of them twice
    # What a round brings is in order; the API server's list is by name.
    assert json.loads(lines[1])["claim"] == "web-old"
    assert r.err.read_text().count("trying again") == 1
    assert ("gone", "web-a") not in r.facts()
    assert json.loads(lines[0]) == {
        "record": "karpenter-node-holder.io/record/v1"}
    assert set(json.loads(lines[-1])) == {"record", "until"}
    said = report(run("simulate", "record", "-o", "json"))
    assert said["karpenter"] == {
        "created": 2, "scaleUps": 0, "replacements": 1, "static": 0,
        "unknown": 1, "decisions": 1, "nodes": 1, "pods": 0}
    assert said["input"]["incomplete"] == said["input"]["late"] == 0


def expire(api):
    """Ends all watches, and what was is forgotten, with something that no watch
    has shown: lists follow."""
    api.create("nodes", f"unseen-{api.store.rv}")
    api.compact()
    api.drop_watches("nodeclaims")
    api.drop_watches("events")


def lists(api):
    return [api.count(resource=resource, verb="list")
            for resource in ("nodeclaims", "events")]


def known(lines):
    """(what, claim) of these lines of a record, which are whole."""
    return [(f["what"], f.get("claim") or f["nodes"][0]["claim"])
            for f in map(json.loads, lines) if "what" in f]


def test_recorder_watches(recorder):
    """What comes and goes between two lists is recorded, and whatever ends a
    watch loses nothing and repeats nothing."""
    with ScriptedApi() as api:
        made(api, "web-old", 900, *BOOTED)
        r = recorder(api)
        r.waits(("ready", "web-old"))
        wait(lambda: api.count(resource="events", verb="watch") == 1)
        # An Event may come before its NodeClaim, and after it.
        fault = api.fault("nodeclaims", "watch", "silent")
        for name in "web-short", "web-early":
            says(api, name, "DisruptionLaunching", "Launching NodeClaim: x")
        says(api, "web-old", "DisruptionTerminating",
             "Disrupting NodeClaim: Empty")
        r.waits(("decided", "web-old"))
        made(api, "web-early", 0)
        made(api, "web-short", 0)
        api.set_status("nodeclaims", "web-short", nodeName="n")
        api.delete("nodeclaims", "web-short")
        api.clear(fault)
        facts = r.waits(("created", "web-short"), ("gone", "web-short"))
        for name in "web-short", "web-early":
            assert facts["created", name]["maker"] == "disruption"
        assert facts["gone", "web-short"]["at"] >= (
            facts["created", "web-short"]["at"])
        says(api, "web-short", "DisruptionTerminating",
             "Disrupting NodeClaim: Empty")
        r.waits(("decided", "web-short"))
        assert lists(api) == [1, 1]

        # The server ends a watch: it goes on where it was.
        api.drop_watches("nodeclaims")
        made(api, "web-ended", 0)
        r.waits(("created", "web-ended"))
        versions = [int(x.query["resourceVersion"]) for x in api.select(
            verb="watch", resource="nodeclaims")]
        assert versions[-1] > versions[0]
        # An Event may have a NodeClaim's name.
        api.create("events", "web-old", namespace="default", top={
            "reason": "x", "message": "x",
            "involvedObject": {"kind": "NodeClaim", "name": "web-old"}})
        api.delete("events", "web-old")
        # A line is cut.
        api.fault("nodeclaims", "watch", "cut", times=1)
        api.drop_watches("nodeclaims")
        made(api, "web-cut", 0)
        r.waits(("created", "web-cut"))
        # It says twice that one is gone, whose name another one has then.
        made(api, "web-twice", 9)
        r.waits(("created", "web-twice"))
        api.fault("nodeclaims", "watch", "edit", times=1,
                  edit=lambda value: 2 * (json.dumps(value).encode() + b"\n"))
        api.delete("nodeclaims", "web-twice")
        made(api, "web-after", 0)
        r.waits(("gone", "web-twice"), ("created", "web-after"))
        made(api, "web-twice", 0)
        wait(lambda: ("gone", "web-twice") not in r.facts())
        assert lists(api) == [1, 1]
        # 410, in the stream: NodeClaims came and went meanwhile.
        fault = api.fault("nodeclaims", "watch", "wait")
        expire(api)
        api.delete("nodeclaims", "web-ended")
        made(api, "web-410", 0)
        expire(api)
        api.clear(fault)
        r.waits(("created", "web-410"), ("gone", "web-ended"))
        assert lists(api)[0] == 2
        lines = r.ends()
    told = known(lines)
    twice = {k for k, n in collections.Counter(told).items() if n > 1}
    # Again, to say who made it.
    assert twice <= {("created", name) for name in (
        "web-short", "web-early", "web-twice")}
    assert ("gone", "web-cut") not in told and ("gone", "web-old") not in told


def test_recorder_tells_trouble(recorder):
    """Once, and again when it was over meanwhile."""
    with ScriptedApi() as api:
        r = recorder(api)
        for n in 1, 2:
            made(api, f"web-{n}", 0)
            r.waits(("created", f"web-{n}"))
            api.fault("nodeclaims", "watch", "403")
            api.drop_watches("nodeclaims")
            wait(lambda: r.err.read_text().count(
                "nodeclaims: watch failed") == n)
            api.clear()
        r.ends()


def test_recorder_leaves_out(recorder):
    """A NodeClaim that is too large, and a line that is none, are left out, and
    the watch goes on.  What such a line may have said is listed."""
    large = {"x": "y" * (1 << 20)}
    with ScriptedApi() as api:
        made(api, "web-grows", 900, *BOOTED)
        r = recorder(api)
        r.waits(("ready", "web-grows"))
        wait(lambda: api.count(resource="nodeclaims", verb="watch") == 1)
        api.patch_meta("nodeclaims", "web-grows", annotations=large)
        made(api, "web-next", 0)
        r.waits(("created", "web-next"))
        wait(lambda: lists(api)[0] == 2)
        # It was not in that list, but is not gone.
        api.patch_meta("nodeclaims", "web-grows", annotations={"x": None})
        api.set_status("nodeclaims", "web-grows", conditions=[])
        api.fault("nodeclaims", "watch", "edit", times=1,
                  edit=lambda value: b"<html>\n")
        made(api, "web-html", 0)
        api.drop_watches("nodeclaims")
        made(api, "web-last", 0)
        r.waits(("created", "web-last"))
        assert lists(api)[0] == 2   # one a minute because of such lines
        # The next list is whole, and shows who is gone.
        fault = api.fault("nodeclaims", "watch", "wait")
        api.drop_watches("nodeclaims")
        api.delete("nodeclaims", "web-next")
        expire(api)
        api.clear(fault)
        r.waits(("gone", "web-next"))
        told = known(r.ends())
    assert ("gone", "web-grows") not in told
    assert [text for text in r.err.read_text().splitlines()
            if "left out" in text] == [
        NAME + "warning: nodeclaims: object left out: too large"]


def test_recorder_lists_both(recorder):
    """A list of Events in the middle of one of NodeClaims makes nobody go."""
    with ScriptedApi() as api:
        api.page_max = 1
        for name in "web-a", "web-b", "web-c":
            made(api, name, 900, *BOOTED)
        r = recorder(api)
        r.waits(*(("ready", f"web-{x}") for x in "abc"))
        wait(lambda: api.count(resource="events", verb="watch") == 1)

        faults = [api.fault(resource, "watch", "wait")
                  for resource in ("nodeclaims", "events")]

        def beside(page):
            if "web-b" in json.dumps(page):
                api.clear(faults[1])
                wait(lambda: lists(api)[1] == 2)
            return page
        api.fault("nodeclaims", "list", "edit", edit=beside)
        expire(api)
        made(api, "web-d", 0)
        says(api, "web-a", "DisruptionTerminating",
             "Disrupting NodeClaim: Empty")
        expire(api)
        api.clear(faults[0])
        r.waits(("created", "web-d"), ("decided", "web-a"))
        assert lists(api) == [3 + 4, 2]
        told = known(r.ends())
    assert not [claim for what, claim in told if what == "gone"]


def resident(process):
    with open(f"/proc/{process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("VmRSS"))


def test_recorder_in_a_crowd(recorder):
    """Machines that come and go take no memory, and SIGTERM in the middle ends
    the record with whole lines."""
    with ScriptedApi() as api:
        for n in range(600):    # more than a page, and the second one expires
            made(api, f"old-{n:03}", 900)
        api.fault("nodeclaims", "list", "expired", times=1)
        r = recorder(api)
        r.waits(("created", "old-599"))
        assert api.count(resource="nodeclaims", status=410) == 1

        def churn(numbers):
            for n in numbers:
                name = f"web-{n}-" + "x" * 200
                made(api, name, 0, *BOOTED)
                says(api, "gone-" + name, "DisruptionTerminating",
                     "Disrupting NodeClaim: Empty")
                api.delete("nodeclaims", name)
                api.delete("events", f"gone-{name}.DisruptionTerminating")
            r.waits(("gone", name))
        wait(lambda: api.count(resource="events", verb="watch") == 1)
        for n in range(0, 3600, 300):
            churn(range(n, n + 300))
            if n == 1200:       # now it keeps as many names as it may
                before = resident(r.process)
        after = resident(r.process)
        assert after < before * 1.06 or sanitized(), (before, after)
        for n in range(200):
            made(api, f"end-{n}", 0)
        lines = r.ends()
    told = known(lines)
    assert len(told) == len({*told})
    assert {what for what, _ in told} == {"created", "launched", "registered",
                                          "ready", "gone"}
    assert "until" in json.loads(lines[-1])
    assert r.out.read_text().endswith("\n")


@pytest.fixture
def unread():
    """A pipe that nobody reads: its ends, and whether it is full."""
    ours, theirs, is_full = stalled_pipe()
    with open(ours, "rb", 0) as ours, open(theirs, "wb", 0) as theirs:
        yield ours, theirs, is_full


@contextlib.contextmanager
def many():
    with ScriptedApi() as api:
        for n in range(500):
            made(api, f"web-{n:03}", 900, *BOOTED)
        yield api


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("both", [False, True])
def test_recorder_whose_reader_stalls(recorder, unread, number, both):
    """A signal ends it; the lines that came are whole, and nothing says that
    the record is."""
    ours, theirs, is_full = unread
    with many() as api:
        more = {"stderr": theirs} if both else {}
        r = recorder(api, stdout=theirs, **more)
        wait(is_full)
        r.process.send_signal(number)
        assert r.process.wait(PATIENCE) == 1
    text = ours.read(1 << 20).decode()
    assert text.endswith("\n") and "until" not in text
    assert both or r.err.read_text() == (
        NAME + "the record has no end: stdout: nobody reads it\n")


def test_recorder_whose_reader_is_slow(recorder, unread):
    """The first signal does not end it while the reader takes something, and
    the second one does, at once."""
    ours, theirs, is_full = unread
    with many() as api:
        r = recorder(api, stdout=theirs)
        wait(is_full)
        r.process.send_signal(signal.SIGTERM)
        wait(lambda: ours.read(1024) and taken(r.process))
        r.process.send_signal(signal.SIGTERM)
        assert r.process.wait(PATIENCE) == -signal.SIGTERM


def test_recorder_whose_reader_comes_late(recorder, unread):
    ours, theirs, is_full = unread
    with many() as api:
        r = recorder(api, stdout=theirs)
        wait(is_full)
        r.process.send_signal(signal.SIGTERM)
        theirs.close()
        lines = ours.read().decode().splitlines()
        assert r.process.wait(PATIENCE) == 0
    assert len(known(lines)) == 2000 and "until" in json.loads(lines[-1])


def test_recorder_is_full(recorder):
    """It says that it leaves out NodeClaims, once, and takes others when there
    is room again."""
    item = ('{"metadata":{"name":"old-%05d","uid":"u","resourceVersion":"1",'
            '"creationTimestamp":"2026-03-02T10:00:00Z"}}')
    with ScriptedApi() as api:
        listed = api.fault("nodeclaims", "list", "answer", status=200, headers={
            "Content-Type": "application/json"}, body=(
            '{"metadata":{"resourceVersion":"1"},"items":[%s]}' % ",".join(
                item % n for n in range(65537))).encode())
        r = recorder(api)
        wait(lambda: api.count(resource="nodeclaims", verb="watch") == 1)
        wait(lambda: "left out" in r.err.read_text())
        api.clear(listed)
        made(api, "web-b", 0)
        expire(api)     # all that were listed are gone
        wait(lambda: '"gone"' in r.out.read_text())
        made(api, "web-a", 0)
        wait(lambda: '"claim":"web-a"' in r.out.read_text())
        told = known(r.ends())
    assert ("created", "old-65535") in told
    assert ("created", "old-65536") not in told
    assert r.err.read_text().count(
        NAME + "warning: nodeclaims: objects left out: there are more than "
        "65536\n") == 1


def test_recorder_waits_for_the_other(recorder):
    """While the Events are being listed again nothing is printed that came
    after them; but not for long."""
    with ScriptedApi() as api:
        made(api, "web-old", 900, *BOOTED)
        r = recorder(api)
        r.waits(("ready", "web-old"))
        wait(lambda: api.count(resource="events", verb="watch") == 1)
        made(api, "web-a", 0)
        r.waits(("created", "web-a"))
        fault = api.fault("events", "list", "wait")
        expire(api)
        wait(lambda: lists(api)[1] == 2)
        made(api, "web-b", -9)
        says(api, "web-old", "DisruptionTerminating",
             "Disrupting NodeClaim: Empty")
        now = api.now()
        wait(lambda: api.now() > now + 1)
        api.clear(fault)
        r.waits(("created", "web-b"), ("decided", "web-old"))

        made(api, "web-c", 0)
        r.waits(("created", "web-c"))
        api.fault("events", "*", "403")
        expire(api)
        wait(lambda: api.count(resource="events", status=403) > 0)
        made(api, "web-d", 0)
        r.waits(("created", "web-d"))
        told = known(r.ends())
    assert told.index(("decided", "web-old")) < told.index(
        ("created", "web-b"))
    # Once for each time: a watch that is young when it ends is trouble as well.
    assert r.err.read_text().count("events: ") in (1, 2)


def test_recorder_ends_by_itself(run, recorder):  # noqa: F811
    with ScriptedApi() as api:
        made(api, "web-a", 30, *BOOTED)
        lines = recorder(api, "--for", "1s").ends(None)
        assert len(lines) == 6
        r = recorder(api)
        r.waits(("ready", "web-a"))
        assert len(r.ends(signal.SIGINT)) == 6


def test_recorder_refused(run, tmp_path):  # noqa: F811
    with ScriptedApi() as api:
        api.write_kubeconfig(tmp_path / "kubeconfig")
        api.serve("nodeclaims", False)
        done = run("record", "--kubeconfig", "kubeconfig")
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(NAME + "nodeclaims: resource is not served")
        api.serve("nodeclaims")
        api.fault("events", "list", "403")
        done = run("record", "--kubeconfig", "kubeconfig")
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(NAME + "events: list failed: ")
    refused(run("record", "--for", "ever"), "--for", "such as 1h")
    refused(run("record", "file"), 'unexpected argument "file"')
    refused(run("record", "--scope=node"), "unknown flag --scope")
    refused(run("record", "--kubeconfig", "none"), "none", "No such file")
