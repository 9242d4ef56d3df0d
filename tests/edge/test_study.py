# SPDX-License-Identifier: Apache-2.0
"""The parts of `make study` that need no cluster: its loads, the format of
kubereplay, its figures, the rule for throwing a run away, its order and its
page."""
import hashlib
import json
import pathlib
import subprocess
import sys
import time
import types

import pytest

from conftest import HOLDERCTL
from test_simulate import cycles

TESTS = pathlib.Path(__file__).parents[1]
sys.path += [str(TESTS / "study"), str(TESTS / "e2e" / "lib")]

import loads  # noqa: E402
import measures  # noqa: E402
import pictures  # noqa: E402
import play  # noqa: E402
import policies  # noqa: E402
import recommend  # noqa: E402
import study  # noqa: E402
import without  # noqa: E402

recommend.HOLDERCTL = play.HOLDERCTL = HOLDERCTL


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    (folder / "requests-22h.csv").write_text("minute,load\n" + "".join(
        f"{i},{(i * 7 % 100) / 100}\n" for i in range(200)))
    (folder / "batch-12h.csv").write_text(
        "at_s,life_s,cpu_milli,memory_mib\n" + "".join(
            f"{i * 50},{i * 90 % 4000 + 1},11908,47104\n"
            for i in range(150)))
    return folder


# Loads

@pytest.mark.parametrize("name", loads.NAMES)
def test_a_seed_makes_one_load(name, traces):
    one, two, other = (loads.write(loads.make(name, seed, 20, traces))
                       for seed in (1, 1, 2))
    assert one == two != other
    load = loads.make(name, 1, 20, traces)
    assert all(0 <= load.seconds(e) <= 1200 for e in load.events)
    assert all(0 <= a["at"] <= 1200 for a in load.actions)
    assert loads.read(one, name) == load


def test_the_loads_are_those_of_the_results():
    """Results of another load must not stand beside those that are there."""
    text = "".join(loads.write(loads.make(name, seed))
                   for name in [*loads.FIRST, *loads.FURTHER]
                   for seed in (1, 2))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "8186b2593161d566"


def test_every_policy_plays_the_same():
    events = [e for name in loads.FIRST for e in loads.make(name, 1).events
              if e["type"] == "create"]
    for name, policy in policies.ALL.items():
        for event in events:
            body = play.body_of(event, policy)
            stays = body["spec"]["template"]["metadata"]["annotations"].pop(
                "karpenter.sh/do-not-disrupt", None)
            assert (stays == "true") == (
                name == "jobs-stay" and event["kind"] == "Job")
            assert body == play.body_of(event, policies.ALL["karpenter-0s"])


# The format, as kubereplay's demo writes it

DEMO = {
    "cluster": "demo", "captured": "2026-03-01T10:00:00.123456789Z",
    "events": [
        {"type": "scale", "kind": "Deployment", "key": "kubereplay/web",
         "replicas": 7, "timestamp": "2026-03-01T09:01:00.5Z"},
        {"type": "create", "kind": "Deployment", "key": "kubereplay/web",
         "deployment": {
             "metadata": {"name": "web", "namespace": "kubereplay",
                          "creationTimestamp": None},
             "spec": {"replicas": 2, "selector": {
                 "matchLabels": {"app": "web"}}, "template": {
                     "metadata": {"labels": {"app": "web"}},
                     "spec": {"containers": [{"name": "c"}], "nodeSelector": {
                         "karpenter.sh/nodepool": "spot"}}}, "strategy": {}},
             "status": {}},
         "timestamp": "2026-03-01T09:00:00.000000001Z"},
        {"type": "create", "kind": "Job", "key": "kubereplay/job-0",
         "job": {"metadata": {"name": "job-0"}, "spec": {"template": {
             "metadata": {}, "spec": {"containers": [{
                 "name": "c", "command": ["sh", "-c", "sleep 17"]}]}}}},
         "timestamp": "2026-03-01T09:02:00+00:00"},
        {"type": "create", "kind": "Job", "key": "kubereplay/job-1",
         "job": {"metadata": {"name": "job-1"}, "spec": {"template": {
             "spec": {"containers": [{"name": "c"}]}}}},
         "timestamp": "2026-03-01T09:02:00Z"},
        {"type": "delete", "kind": "Deployment", "key": "kubereplay/web",
         "timestamp": "2026-03-01T09:03:00Z"}]}


def test_a_users_file():
    load = loads.read(json.dumps(DEMO), "demo")
    assert [e["type"] for e in load.events] == [
        "create", "scale", "create", "create", "delete"]
    assert load.wanted() == {"web": [(0, 2), (60.5, 7), (180, 0)]}
    assert (load.minutes, load.pools()) == (3, ["spot"])
    assert load.menu == loads.FILE_MENU
    assert loads.read(loads.write(load), "demo") == load
    web, sleeps, other = (play.body_of(e, policies.ALL["pdb"])
                          for e in load.events if e["type"] == "create")
    assert web["apiVersion"] == "apps/v1" and "status" not in web
    assert [b["spec"]["template"]["metadata"]["annotations"][loads.LIVES]
            for b in (sleeps, other)] == ["17s", "2m"]


@pytest.mark.parametrize("change, said", [
    ({"type": "restart"}, "type: expected create, scale or delete"),
    ({"kind": "DaemonSet"}, "kind: expected Deployment or Job"),
    ({"key": "web"}, "key: expected NAMESPACE/NAME"),
    ({"replicas": None}, "replicas: expected a number"),
    ({"timestamp": "yesterday"}, "expected a timestamp of RFC 3339"),
    ({"timestamp": "2026-03-01T09:00:00"}, "expected a timestamp of RFC 3339"),
    ({"type": "create"}, "a whole Deployment or Job"),
])
def test_a_bad_event_is_named(change, said):
    log = {"events": [{**DEMO["events"][0], **change}]}
    with pytest.raises(loads.BadLoad) as e:
        loads.read(json.dumps(log), "load.json")
    assert str(e.value).startswith("load.json: events[0]: ")
    assert said in str(e.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"events": []}'])
def test_no_load(text):
    with pytest.raises(loads.BadLoad, match="x: expected JSON of kubereplay"):
        loads.read(text, "x")


# Figures, from a recorded sample

def true(*kinds):
    return {"conditions": [{"type": k, "status": "True", "reason": "Because"}
                           for k in kinds]}


def claim(name, launched, disrupted=None, gone=None, price="3600"):
    def obj(*kinds):
        return {"metadata": {"name": name, "labels": {
            "node.kubernetes.io/instance-type": "c-4x",
            measures.PRICE: price}},
            "status": {**true(*kinds), "nodeName": f"kwok-{name}"}}
    return [(1, launched - 1, obj()), (2, launched, obj("Launched")),
            *([(3, disrupted, obj("Launched", "DisruptionReason"))]
              if disrupted else []),
            *([(4, gone, None)] if gone else [])]


def node(*marks):
    on = {"karpenter.sh/do-not-disrupt": "true",
          "karpenter-node-holder.io/held-since": "2026-01-01T00:00:00Z"}
    return [(i, at, {"metadata": {"annotations": on if is_on else {}}})
            for i, (at, is_on) in enumerate(marks)]


def pod(created, running=None, evicted=None, gone=None, on="a", job=False):
    def obj(phase, *kinds, **meta):
        owner = {"kind": "Job", "name": "job-1"} if job else {
            "kind": "ReplicaSet", "name": "web-779cccbf58"}
        return {"metadata": {"ownerReferences": [owner], **meta},
                "spec": {"nodeName": f"kwok-{on}"},
                "status": {"phase": phase, **true(*kinds)}}
    return [(1, created, obj("Pending")),
            *([(2, running, obj("Running"))] if running else []),
            *([(3, evicted, obj("Running", "DisruptionTarget")),
               (4, evicted, obj("Running", "DisruptionTarget",
                                deletionTimestamp="soon"))]
              if evicted else []),
            *([(5, gone, None)] if gone else [])]


def recorded():
    """a is consolidated at 100, b stays, c is interrupted at 50."""
    claims = {"a": claim("a", 10, 100, 110), "b": claim("b", 20),
              "c": claim("c", 10, None, 60)}
    marks = {"kwok-a": node((10, True), (40, False)),
             "kwok-b": node((20, False), (100, True))}
    pods = [pod(0, 30, evicted=100, gone=105),      # ran for 70 s
            pod(80, 90, evicted=100, gone=105, job=True),
            pod(0, 30, evicted=50, gone=55, on="c"),
            pod(100, 120, on="b"), pod(50, 70, on="b"),
            pod(150, on="b", job=True)]
    return {"pods": [measures.pod_facts(v) for v in pods],
            "nodes": [measures.node_facts(v, marks) for v in claims.values()],
            "wanted": {"web": [(0, 2)]},
            "ended_s": 200, "horizon_s": 300, "drift_s": 15}


def test_figures():
    assert measures.figures(recorded()) == {
        "moved": 2, "moved_by_force": 1, "moved_ran_median_s": 40.0,
        "warm_up_lost_s": 70, "job_seconds_lost": 10,
        "nodes_launched": 3, "nodes_disrupted": 1,
        # 100 of a, 180 of b and 100 more until the horizon, 50 of c.
        "node_seconds": 430.0, "dollars": 430.0,
        # 30, 10, 30, 20, 20, and 50 of the one that never ran.
        "pending_sum_s": 160.0, "pending_p99_s": 50.0, "never_ran": 1,
        "peak_median_s": 30, "peak_worst_s": 30,
        # a for 30 s and b for 100 of 330.
        "held_share": 0.3939, "pods": 6, "nodes_left": 1, "ended_s": 200,
        "moved_again": 0, "moved_released": 2, "moved_released_again": 0,
        "step_gap_median_s": 0.0,
        # b came after the change.
        "drift_left": 0, "drift_finished_s": 95}


def test_a_decision_that_was_given_up_moved_nobody():
    facts = recorded()
    given_up = claim("a", 10, 100)
    given_up.append((4, 120, claim("a", 10)[-1][2]))
    facts["nodes"][0] = measures.node_facts(given_up, {})
    figures = measures.figures(facts)
    assert (figures["moved"], figures["nodes_disrupted"]) == (0, 0)
    assert figures["moved_by_force"] == 3


def test_steps():
    """The pod of a comes in place on b, and moves again with b; that of c moves
    too late to have moved again."""
    claims = {"a": claim("a", 10, 100, 110), "b": claim("b", 10, 300, 310),
              "c": claim("c", 10, 301), "d": claim("d", 10, 1000),
              "e": claim("e", 10, 1400)}
    marks = {"kwok-a": node((10, True), (40, False)),
             "kwok-b": node((20, True), (30, False), (50, True), (60, False)),
             "kwok-c": node((10, True), (60, False)),
             "kwok-d": node((10, True), (900, False))}
    pods = [pod(0, 30, evicted=100), pod(102, 120, evicted=300, on="b"),
            pod(0, 30, evicted=301, on="c"), pod(301, 320, on="d"),
            pod(310, 320, evicted=1000, on="d"),
            pod(0, 30, evicted=300, on="b", job=True),
            pod(0, 30, evicted=1400, on="e")]
    facts = {**recorded(),
             "pods": [measures.pod_facts(v) for v in pods],
             "nodes": [measures.node_facts(v, marks)
                       for v in claims.values()]}
    assert measures.places(facts["pods"]) == {0: 1, 1: 3, 2: 4}
    steps = measures.steps(facts)
    assert steps == [[100, 110, "Because", 60, 1, 1],
                     [300, 310, "Because", 240, 2, 0],
                     [301, None, "Because", 241, 1, 0],
                     [1000, None, "Because", 100, 1, 0],
                     [1400, None, "Because", None, 1, 0]]
    # b and c go in one step, and d was held between them and its own.
    assert measures.gaps(steps) == [200]
    assert measures.pace(steps) == {
        "moved_again": 1, "moved_released": 5, "moved_released_again": 1,
        "step_gap_median_s": 200}


def test_what_karpenter_logged_is_kept(tmp_path):
    log = TESTS / "golden" / "karpenter" / "runs" / "v1.14.1.log"
    kept = tmp_path / "kept"
    play.write_record(log, kept)
    # The same bytes each time: no date.
    assert kept.stat().st_size < 2000 and kept.read_bytes()[4:8] == bytes(4)
    one, other = (json.loads(subprocess.check_output(
        [HOLDERCTL, "simulate", "-o", "json", file])) for file in (log, kept))
    assert one["period"] == other["period"]
    assert one["settings"] == other["settings"]
    assert one["karpenter"] == other["karpenter"]


def test_a_result_is_readable():
    result = {"steps": [[1, None, "Empty"], [2, 3.5, "Drifted"]], "a": [],
              "b": {"c": ["d"]}}
    text = play.readable(result)
    assert json.loads(text) == result
    assert '  [ 1, null, "Empty" ],\n' in text


def test_the_last_change():
    facts = recorded()
    # The last pod comes at 150, and b is held.
    assert measures.last_change(facts["pods"], facts["nodes"]) == (150, True)
    waits = [*pod(150, on="b"), (9, 190, pod(150, on="b")[0][2])]
    assert measures.last_change([measures.pod_facts(waits)], []) == (
        150, False)
    # It was released at 40, when it was launched at 10.
    released = {**facts["nodes"][0], "disrupted": None, "gone": None}
    assert measures.last_change([], [released]) == (40, False)
    assert measures.last_change([], []) == (0.0, False)


def test_a_peak_that_is_never_reached_lasts_until_the_next_change():
    facts = recorded()
    facts["wanted"] = {"web": [(0, 2), (60, 40), (90, 3)]}
    assert sorted(measures.peaks(facts)) == [30, 30]
    facts["wanted"] = {"web": [(60, 40)]}
    assert measures.peaks(facts) == [140]


def test_writes_and_counters():
    def sample(verb, resource, value):
        return {f'apiserver_request_total{{resource="{resource}",'
                f'verb="{verb}"}}': value}
    assert measures.writes({
        **sample("PATCH", "nodes", 3), **sample("GET", "nodes", 9),
        **sample("PUT", "leases", 9), **sample("POST", "jobs", 2)}) == {
            "all": 5, "nodes": 3}
    assert measures.counted({"a": 1, "b": 2}, {"a": 1, "b": 5, "c": 1}) == {
        "b": 3, "c": 1}


# The rule

def judged(steal=0.0, wait_mean_ms=0.0, wait_worst_ms=0.0, late_s=0.0):
    return measures.thrown_away({"steal": steal, "late_s": late_s,
                                 "components": {"karpenter": {
                                     "wait_mean_ms": wait_mean_ms,
                                     "wait_worst_ms": wait_worst_ms}}})


@pytest.mark.parametrize("name, most, said", [
    ("steal", measures.STEAL_MOST, "steal"),
    ("wait_mean_ms", measures.WAIT_MEAN_MOST_MS, "karpenter waited"),
    ("wait_worst_ms", measures.WAIT_WORST_MOST_MS, "karpenter waited"),
    ("late_s", measures.LATE_MOST_S, "an event of the load came"),
])
def test_what_is_thrown_away(name, most, said):
    assert judged(**{name: most}) is None
    assert judged(**{name: most * 1.01}).startswith(said)


def test_the_rule_is_the_pages():
    text = pictures.PAGE.read_text()
    for most in (f"{measures.STEAL_MOST:.0%}".replace("%", " %"),
                 f"{measures.WAIT_MEAN_MOST_MS:g} ms",
                 f"{measures.WAIT_WORST_MOST_MS:g} ms",
                 f"{measures.LATE_MOST_S:g} s"):
        assert f"more than {most}" in text, most


def test_processors():
    def sample(at, steal, *kwok):
        return {"at": at, "steal": steal, "total": at * 200,
                "components": {"kwok": kwok}}
    assert measures.processors(
        [sample(0, 0, 5, 1, 7), sample(10, 0, 6, 1.5, 107),
         sample(20, 40, 7, 4, 157)], 0.123) == {
        "steal": 0.01, "late_s": 0.12, "span_s": 20,
        "components": {"kwok": {"run": 2, "wait_mean_ms": 20,
                                "wait_worst_ms": 50}}}


@pytest.mark.parametrize("span_s, worst", [(3590, 90), (3600, 40), (7200, 1)])
def test_one_interval_of_each_hour_may_be_longer(span_s, worst):
    def sample(at, waited):
        return {"at": at, "steal": 0, "total": 1,
                "components": {"kwok": (0, waited, at)}}
    samples = [sample(0, 0), sample(10, 0.9), sample(20, 1.3),
               sample(span_s, 1.3 + (span_s - 20) / 1000)]
    assert measures.processors(samples, 0)["components"]["kwok"][
        "wait_worst_ms"] == worst


# The order of the runs

@pytest.mark.parametrize("env, said", [
    ({"LOADS": "wav"}, "no load wav; there are: first further all wave day"),
    ({"POLICIES": "holder"}, "no policy holder; there are: first further"),
    ({"REPEAT": "0"}, "REPEAT=0: expected a number from 1 on"),
    ({"MINUTES": "x"}, "MINUTES=x: expected a number from 0 on"),
    ({"LOAD": "/nonexistent"}, "LOAD=/nonexistent: no such file"),
    ({"TRACES": "/nonexistent"}, "TRACES=/nonexistent: no such folder"),
    ({"LOADS": "trace-day"}, "windows of the traces: expected TRACES=FOLDER"),
])
def test_a_setting_is_refused(env, said):
    with pytest.raises(study.Bad) as e:
        study.settings(env)
    assert str(e.value).startswith(said)


def test_policies_take_turns():
    s = study.settings({"LOADS": "wave noise", "POLICIES": "pdb balanced"})
    assert [j.name for j in study.plan(s)] == [
        "wave.balanced.1", "wave.pdb.1", "noise.pdb.1", "noise.balanced.1",
        "wave.pdb.2", "wave.balanced.2", "noise.balanced.2", "noise.pdb.2"]


@pytest.mark.parametrize("env, ours", [
    ({}, True), ({"LOADS": "day", "MINUTES": "180"}, True),
    ({"MINUTES": "2"}, False), ({"QUIET": "20"}, False),
])
def test_first_looks_are_no_results(env, ours):
    s = study.settings(env)
    assert (s.folder == study.RESULTS) == ours
    if "LOADS" in env:
        job = study.plan(s)[0]
        assert job.result.name == "day-180m.karpenter-30s.1.json"


@pytest.fixture
def no_sleep(monkeypatch):
    """Of study alone: other tests run in other threads."""
    monkeypatch.setattr(study, "time", types.SimpleNamespace(
        sleep=lambda _: None, time=time.time, strftime=time.strftime))


class Ended:
    def __init__(self, code):
        self.returncode = code

    def poll(self):
        return self.returncode


def test_thrown_away_runs_come_again(monkeypatch, tmp_path, no_sleep):
    s = study.settings({"LOADS": "wave", "POLICIES": "pdb balanced",
                        "REPEAT": "1", "RESULTS": str(tmp_path), "SIDE": "2"})
    codes = {"wave.balanced.1": [3, 3, 0], "wave.pdb.1": [1, 3, 3]}
    sides = []
    monkeypatch.setattr(study, "start", lambda job, _: (
        Ended(codes[job.name].pop(0)), tmp_path / "log", 0))
    runs = study.Runs(s, study.plan(s))
    monkeypatch.setattr(runs, "say", lambda *_: sides.append(runs.side))
    assert [job.name for job in runs.go()] == ["wave.pdb.1"]
    # Fewer after each that was thrown away, and more after one that counts.
    assert not any(codes.values()) and sides == [1, 1, 1, 1, 2, 1]


@pytest.mark.parametrize("rule", without.RULES)
def test_a_rule_can_be_left_out(rule):
    file, old, new = without.RULES[rule]
    assert (without.REPO / file).read_text().count(old) == 1 and old != new


def test_a_rule_is_left_out_before_the_runs(monkeypatch, tmp_path, no_sleep):
    done = []
    monkeypatch.setattr(without, "write", lambda _, rule: done.append(rule))
    monkeypatch.setattr(study, "start", lambda job, _: done.append(
        job.policy) or (Ended(0), tmp_path / "log", 0))
    study.main({"LOADS": "drift", "POLICIES": "without-events holder-2m",
                "REPEAT": "1", "RESULTS": str(tmp_path), "SIDE": "4"})
    assert done[0] == "events" and sorted(done[1:]) == [
        "holder-2m", "without-events"]


def test_runs_without_a_rule_stand_apart():
    found = {"day": {"holder-2m": [one("holder-2m", 3, 1)],
                     "without-events": [one("without-events", 1, 1)],
                     "balanced": [one("balanced", 2, 1)]},
             "noise": {"holder-2m": [one("holder-2m", 3, 1)]}}
    usual, ablated = pictures.parted(found)
    assert [*usual["day"]] == ["holder-2m", "balanced"] and "noise" in usual
    assert {k: [*v] for k, v in ablated.items()} == {
        "day": ["holder-2m", "without-events"]}
    assert "| day | without-events | 1 | 1 |" in pictures.ablation(ablated)
    assert pictures.ablation({}) == ""


def test_what_is_there_is_not_run(monkeypatch, tmp_path, capsys, no_sleep):
    for name in ("balanced", "pdb"):
        (tmp_path / f"wave.{name}.1.json").touch()
    started = []
    monkeypatch.setattr(study, "start", lambda job, _: started.append(
        job.name) or (Ended(0), tmp_path / "log", 0))
    study.main({"LOADS": "wave", "POLICIES": "pdb balanced holder-2m",
                "REPEAT": "1", "RESULTS": str(tmp_path), "SIDE": "4"})
    assert started == ["wave.holder-2m.1"]
    # 1 min, the load's 20, 2 of the hold and 5.5 of Karpenter's looks.
    assert "3 runs, 2 of them are there; 1 to do, 4 side by side: about " \
        "28 min" in capsys.readouterr().out


# The page

def test_the_page_is_that_of_the_results():
    text = pictures.PAGE.read_text()
    found = pictures.results()
    assert pictures.page(text, found) == text, "make study-pictures"
    assert sorted(f.stem for f in pictures.FOLDER.glob("*.svg")) == sorted(
        pictures.parted(found)[0])


def one(policy, moved, dollars, seed=1, **figures):
    return {"policy": policy, "seed": seed, "date": "2026-01-01",
            "settled": moved < 9,
            "decisions": {"Empty": 1, "Drifted": 2}, "writes": {"all": 7},
            "versions": {k: "v1" for k in ("commit", "karpenter",
                                           "kubernetes", "kwok")},
            "figures": {**measures.figures(recorded()), "moved": moved,
                        "dollars": dollars, **figures}}


def test_what_is_recommended_beside_what_was_found(tmp_path):
    """Of the log of Karpenter alone; the setting that was chosen has a run."""
    for load, lines in (("wave", cycles(12)), ("noise", cycles(4)),
                        ("day", cycles(12, None)), ("batch", cycles(12, 700))):
        log = tmp_path / f"{load}.log"
        log.write_text("\n".join(lines) + "\n")
        play.write_record(log, tmp_path / f"{load}.karpenter-0s.1.record.gz")
    # Of a second run at the same time.
    log.write_text("\n".join(cycles(6)).replace("web-", "web-b").replace(
        "node-", "node-b"))
    play.write_record(log, tmp_path / "wave.karpenter-0s.2.record.gz")
    of = {name: [one(name, moved, 1, node_seconds=node_s)] for
          name, moved, node_s in (
              ("karpenter-0s", 9, 900), ("karpenter-5m", 3, 1000),
              ("balanced", 4, 500), ("holder-2m", 8, 960),
              ("holder-5m", 3, 1090), ("holder-2m-over-30s", 2, 1200))}
    found = dict.fromkeys(("wave", "noise", "day", "batch", "storm"), of)
    text = recommend.block(found, tmp_path)
    assert [line for line in text.splitlines() if " | 1" in line] == [
        "| wave | 2 | 18 | 18 | holder-5m | yes | 3 | 1,090 | karpenter-5m | 9% |",
        "| noise | 1 | 4 | 4 | too little to say | | | | | |",
        "| day | 1 | 12 | 0 | karpenter-0s | yes | 9 | 900 | balanced | **80%** |",
        "| batch | 1 | 12 | 12 | none of the settings | | | | | |"]
    assert "\n1 of 2 settings are within 10%" in text
    assert "2 of 4 loads get none" in text
    assert [*recommend.candidates(of)] == ["holder-2m", "holder-5m"]
    facts = [json.loads(line) for line in recommend.joined(
        sorted(tmp_path.glob("wave.*.gz"))).splitlines()]
    assert ["record" in f for f in facts].count(True) == 2
    times = [f["at"] for f in facts[1:-1]]
    assert times == sorted(times) and times[-1] < facts[-1]["until"]
    # Six hours, an hour, and the second one.
    assert facts[1]["at"][11:16] == "10:00"
    assert next(f for f in facts if f.get("claim") == "web-b00000")["at"][
        11:16] == "17:00"
    # One policy alone has no name in its label.
    of.pop("holder-2m")
    assert recommend.block({"wave": of}, tmp_path).count("| holder-5m |") == 1
    assert recommend.block({"storm": of}, tmp_path) == ""
    assert recommend.block({"wave": {"karpenter-0s": of["karpenter-0s"]}},
                           tmp_path) == ""


def test_what_came_after_a_release():
    runs = [{**one("holder-2m", 5, 1, **measures.pace(of)), "steps": of}
            for of in ([[10, 12, "Empty", 5.0, 3, 2]],
                       [[10, 12, "Empty", 5.0, 5, 2]])]
    text = pictures.pace({"wave": {"holder-2m": runs, "karpenter-0s": runs,
                                   "holder-5m": [one("holder-5m", 1, 1)]}})
    assert text.splitlines()[4:] == ["| wave | holder-2m | 4 (3 – 5) | 2 | 0 |"]
    assert pictures.pace({"wave": {"holder-5m": [one("", 1, 1)]}}) == ""


def test_a_table():
    of = {"karpenter-0s": [one("karpenter-0s", 8, 1), one("", 10, 1.5)],
          "pdb": [one("pdb", 9, 2)], "holder-2m": [one("holder-2m", 1, 2)]}
    lines = pictures.table(of).splitlines()
    assert lines[0].startswith("| policy | runs | pods moved |")
    assert lines[0].endswith("| drift done, s | old nodes left |")
    assert lines[2].startswith(
        "| **karpenter-0s** | 2, 1 not settled | 9 (8 – 10) | 40 | 70 |")
    assert "| 3 | 430 | 1.25 (1.00 – 1.50) |" in lines[2]
    assert lines[3].startswith("| pdb |")
    assert lines[4].startswith("| **holder-2m** | 1 | 1 |")
    assert pictures.block({}) == pictures.NONE


def test_readme_says_what_the_runs_say():
    """The table of "Do I need it?": pods moved and dollars, medians."""
    found = pictures.results()
    text = (TESTS.parent / "README.md").read_text()
    rows = text.split("| your load |")[1].split("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(loads.FIRST)
    for row, load in zip(rows, ("batch", "day", "trickle", "wave", "storm",
                                "noise")):
        cells = [c.strip() for c in row.replace("**", "").split("|")[2:-1]]
        assert cells == [
            "{:.0f}, ${:.2f}".format(*(pictures.middle(found[load][p], f)
                                       for f in ("moved", "dollars")))
            for p in ("karpenter-0s", "karpenter-30s", "when-empty",
                      "holder-2m-over-30s")], load
