# SPDX-License-Identifier: Apache-2.0
"""The parts of `make lab` that need no Karpenter: loads of hours, settings, what
is played again, what is left out of a user's file, and how policies are
compared.  `make lab-test` plays."""
import hashlib
import json
import math
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path += [str(TESTS / "study"), str(TESTS / "e2e" / "lib")]

import fidelity  # noqa: E402
import hours  # noqa: E402
import lab  # noqa: E402
import loads  # noqa: E402
import pictures  # noqa: E402
import policies  # noqa: E402
from test_study import DEMO  # noqa: E402

FIGURES = {"moved": 4, "dollars": 2.0, "nodes_launched": 3,
           "job_seconds_lost": 60, "warm_up_lost_s": 30, "pending_sum_s": 100,
           "held_share": 0.25, "cpu_s": 3.6}


# Loads of hours

@pytest.mark.parametrize("name", hours.NAMES)
@pytest.mark.parametrize("minutes", [60, 300])
def test_a_seed_makes_one_load(name, minutes):
    one, two, other = (loads.write(hours.make(name, seed, minutes))
                       for seed in (1, 1, 2))
    assert one == two != other
    load = hours.make(name, 1, minutes)
    assert loads.read(one, name) == load
    assert load.jitter == 30
    assert all(0 <= load.seconds(e) < 60 * minutes for e in load.events)
    assert all(0 <= a["at"] < 60 * minutes for a in load.actions)


def test_the_loads_are_those_of_the_results():
    """The results say from which loads they come, and would be played again."""
    text = "".join(loads.write(hours.make(name, seed))
                   for name in hours.NAMES for seed in (1, 2))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "ddb82f54a07279a9"


@pytest.mark.parametrize("name, every_s", [
    ("restless", 40), ("restless-20s", 20), ("restless-60s", 60)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pods_come_and_go_as_often_as_a_load_says(name, every_s, seed):
    load = hours.make(name, seed)
    changes, now, cpus, at = 0, {}, 0.0, 0.0
    for e in load.events:
        small = e["kind"] == "Job" or "queue" in e["key"]
        cpus += 0.9 * sum(n for k, n in now.items() if "queue" not in k) * (
            load.seconds(e) - at)
        at = load.seconds(e)
        if e["kind"] == "Job":
            changes += 2
            continue
        new = loads.workload(e)["spec"]["replicas"] \
            if e["type"] == "create" else e["replicas"]
        changes += small * abs(new - now.get(e["key"], 0))
        now[e["key"]] = new
    assert 0.9 < cpus / hours.NODE_CPU / changes / every_s < 1.1


def test_larger_clusters():
    def most(load):
        return max(n for steps in load.wanted().values() for _, n in steps)
    for name in ("services", "growth", "nodepools"):
        one, five = (most(hours.make(name, 1, 360, n)) for n in (1, 5))
        assert 4.5 < five / one < 5.5
    one, five = (len(hours.make("jobs", 1, 360, n).events) for n in (1, 5))
    assert 3 < five / one < 7
    s = lab.settings({"LOADS": "jobs", "SIZE": "5"})
    assert s.name("jobs") == "jobs-x5"
    assert lab.load_of(s, "jobs", 1) == hours.make("jobs", 1, 360, 5)


def test_seeds_lie_in_the_day():
    begins = [hours.Day(None, 360, seed).begin for seed in range(1, 30)]
    assert 6 <= min(begins) < 7 and 15 < max(begins) <= 16
    assert hours.Day(None, 1440, 3).begin == 6


def test_what_nodepools_asks_for():
    assert hours.make("nodepools", 1).pools() == ["api", "batch", "web"]


# Settings

@pytest.mark.parametrize("env, said", [
    ({"LOADS": "wave rain"}, "no load rain; there are: long first"),
    ({"POLICIES": "never"}, "no policy never; there are: rivals first"),
    ({"POLICIES": "without-events"}, "cannot play without-events: make study"),
    ({"POLICIES": "0s", "AGAINST": "5m"}, "AGAINST=5m: expected one of POL"),
    ({"SEEDS": "0"}, "SEEDS=0: expected a number from 1 on"),
    ({"HOURS": "x"}, "HOURS=x: expected a number from 0.1 on"),
    ({"HOURS": "1", "MINUTES": "3"}, "HOURS and MINUTES: expected one of"),
    ({"LOAD": "nowhere"}, "LOAD=nowhere: no such file"),
    ({"LOADS": "wave", "SIZE": "2"}, "SIZE=2: expected loads of hours: serv"),
    ({"TYPES": "nowhere"}, "TYPES=nowhere: no such file"),
    ({"TRACES": "nowhere"}, "TRACES=nowhere: no such folder"),
    ({"LOADS": "trace-day"}, "windows of the traces: expected TRACES=FOLDER"),
    ({"JOB_LIFE": "10"}, "JOB_LIFE=10: expected a duration such as 90s"),
    ({"AGAIN": "all"}, "AGAIN=all: expected sources, or nothing")])
def test_a_setting_is_refused(env, said):
    with pytest.raises(lab.Bad, match=said):
        lab.settings(env)


def test_a_file_that_is_no_load(tmp_path):
    (tmp_path / "mine.json").write_text("{}")
    with pytest.raises(SystemExit, match="lab: .*mine.json: expected JSON of"):
        lab.main({"LOAD": str(tmp_path / "mine.json")})


def test_short_names_and_lengths():
    s = lab.settings({"LOADS": "restless wave", "HOURS": "4",
                      "POLICIES": "0s holder-10m 5m", "AGAINST": "5m"})
    assert s.policies == ["karpenter-0s", "holder-10m", "karpenter-5m"]
    assert s.against == "karpenter-5m"
    assert [s.name(n) for n in s.loads] == ["restless-240m", "wave-240m"]
    s = lab.settings({})
    assert s.loads == [*hours.LONG] and s.policies == [*policies.RIVALS]
    assert [lab.load_of(s, n, 1).minutes for n in ("jobs", "wave")] == [360, 20]
    assert [s.name(n) for n in ("jobs", "wave")] == ["jobs", "wave"]
    assert s.folder == lab.RESULTS
    other = lab.settings({"LOADS": "jobs", "TYPES": __file__})
    assert other.folder != lab.RESULTS


def test_every_prefix_compares_all_policies():
    jobs = lab.plan(lab.settings({"SEEDS": "2"}))
    assert {j.seed for j in jobs[:60]} == {1} and len(set(jobs[:60])) == 60


# What is played again

@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "WORK", tmp_path / "work")
    monkeypatch.setattr(lab, "BUILD", tmp_path)
    return {"LOADS": "wave", "POLICIES": "0s holder-5m", "SEEDS": "3",
            "JOBS": "1", "RESULTS": str(tmp_path / "results")}


@pytest.fixture
def played(monkeypatch):
    """Instead of Karpenter."""
    found = []

    def play(s, job):
        found.append((job.policy, job.key))
        return {**FIGURES, **lab.marks(s, job), "moved": 4 + job.seed,
                "sources": lab.sources(job.policy != "karpenter-0s")}
    monkeypatch.setattr(lab, "play_job", play)
    return found


def test_what_is_there_is_not_played(settings, played, capsys):
    lab.main(settings)
    assert played == [(p, f"{seed}.1") for seed in (1, 2, 3)
                      for p in ("karpenter-0s", "holder-5m")]
    first = capsys.readouterr().out
    assert "6 runs, 6 to play: about 0.01 CPU-hours" in first
    assert "6 of 6 runs, 0 min left" in first
    del played[:]
    lab.main({**settings, "SEEDS": "4"})
    assert played == [("karpenter-0s", "4.1"), ("holder-5m", "4.1")]
    assert "8 runs, 2 to play" in capsys.readouterr().out


def test_a_stopped_play_goes_on(settings, played, monkeypatch):
    play = lab.play_job

    def fails(s, job):
        if len(played) == 3:
            raise lab.Bad("stopped")
        return play(s, job)
    monkeypatch.setattr(lab, "play_job", fails)
    with pytest.raises(SystemExit, match="lab: stopped"):
        lab.main(settings)
    monkeypatch.setattr(lab, "play_job", play)
    lab.main(settings)
    assert len(played) == len(set(played)) == 6


@pytest.mark.parametrize("change, again", [
    (lambda m: m.setattr(lab, "ENGINE", lab.ENGINE + 1), 6),
    (lambda m: m.setattr(loads, "MENU", {**loads.MENU, "cpus": ["2"]}), 6),
    (lambda m: None, 0)])
def test_runs_of_another_lab_or_load_are_played_again(
        change, again, settings, played, monkeypatch):
    lab.main(settings)
    del played[:]
    change(monkeypatch)
    lab.made.cache_clear()
    lab.main(settings)
    assert len(played) == again
    lab.made.cache_clear()


def test_runs_of_other_sources_are_told(settings, played, monkeypatch, capsys):
    lab.main(settings)
    del played[:]
    capsys.readouterr()
    sources = lab.sources
    monkeypatch.setattr(lab, "sources",
                        lambda held: "other" if held else sources(False))
    lab.main(settings)
    assert played == [] and "3 runs come from other" in capsys.readouterr().out
    lab.main({**settings, "AGAIN": "sources"})
    assert played == [("holder-5m", f"{n}.1") for n in (1, 2, 3)]


def test_what_the_sources_are():
    assert lab.sources(True) != lab.sources(False)


# A user's file

def test_what_a_users_file_leaves_out(tmp_path, settings, played, capsys):
    demo = json.loads(json.dumps(DEMO))
    spec = demo["events"][1]["deployment"]["spec"]["template"]["spec"]
    spec["nodeSelector"]["disk"] = "ssd"
    spec["affinity"] = {"nodeAffinity": {}}
    spec["tolerations"] = []
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(demo))
    lab.main({**settings, "LOAD": str(file), "JOB_LIFE": "15m"})
    said = capsys.readouterr().out
    assert "not played: nodeSelector disk of 1 Deployments and Jobs" in said
    assert "not played: affinity of 1" in said and "tolerations" not in said
    assert "### mine" in said
    text = lab.text_of(loads.read(file.read_text(), "mine"), "15m")
    events = {e["key"]: e for e in json.loads(text)["events"]
              if e["type"] == "create"}
    pod = loads.pod_spec(events["kubereplay/web"])
    assert pod["nodeSelector"] == {loads.POOL: "spot"}
    assert "affinity" not in pod
    lives = [loads.workload(events[f"kubereplay/job-{i}"])["spec"]["template"][
        "metadata"]["annotations"][loads.LIVES] for i in (0, 1)]
    assert lives == ["17s", "15m"]


def test_our_own_loads_are_played_whole():
    for name in hours.NAMES:
        assert not lab.left_out(hours.make(name, 1))


def test_a_load_that_cannot_be_played(tmp_path, settings, monkeypatch):
    """The program says what of its own file, and the user reads of his."""
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\n"
        "file=$(sed 's/.*\"load\": \"\\([^\"]*\\)\".*/\\1/' \"$LAB_JOB\")\n"
        "echo \"$file: events[1]: too large\" >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setattr(lab, "PROGRAM", program)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(DEMO))
    with pytest.raises(SystemExit) as e:
        lab.main({**settings, "LOAD": str(file)})
    assert str(e.value) == f"lab: {file}: events[1]: too large"


# How policies are compared

def runs(**of):
    return {p: {f"{i}.1": {**FIGURES, "moved": m, "dollars": d}
                for i, (m, d) in enumerate(values, 1)}
            for p, values in of.items()}


def test_pairs():
    of = runs(a=[(9, 1.0), (19, 2.0), (39, 4.0)], b=[(4, 1.1), (9, 2.2),
                                                    (19, 4.4), (7, 99)])
    # Load and seed matter more than the policy, and cancel out.
    assert lab.paired(of["b"], of["a"], "moved", 1) == pytest.approx(
        (0.5, 0.5, 0.5))
    assert lab.paired(of["b"], of["a"], "dollars", 0) == pytest.approx(
        (1.1, 1.1, 1.1))
    of = runs(a=[(0, 1.0), (0, 1.0)], b=[(0, 1.0), (3, 1.0)])
    middle, low, high = lab.paired(of["b"], of["a"], "moved", 1)
    half = 6.314 * math.log(4) / math.sqrt(2) / math.sqrt(2)
    assert middle == pytest.approx(2)
    assert (low, high) == pytest.approx((2 * math.exp(-half),
                                         2 * math.exp(half)))
    of = runs(a=[(1, 1.0)], b=[(3, 1.0)])
    assert lab.factor(*lab.paired(of["b"], of["a"], "moved", 1)) == "× 2.000"


def test_how_sure_a_median_is():
    assert lab.interval([5, 1, 3]) == (3, 1, 5)
    assert lab.interval(range(10)) == (4.5, 1, 8)


def test_a_table(settings):
    of = runs(**{"karpenter-0s": [(10, 1.0), (12, 1.0)],
                 "when-empty": [(0, 2.0), (0, 2.2)],
                 "holder-5m": [(11, 1.5), (13, 1.5)]})
    text = lab.table(of, "karpenter-0s").splitlines()
    assert text[0].endswith(
        "| moves, beside karpenter-0s | dollars, beside karpenter-0s |")
    assert text[2] == (
        "| **karpenter-0s** | 2 | 11 (10 – 12) | 1.000 | 3 | 1.0 | 0.5 | 100 "
        "| 25 |  |  |")
    assert text[3].startswith("| **when-empty** | 2 | 0 | 2.100 (2.000")
    assert text[4].startswith("| holder-5m | 2 |")
    assert "| × 1.500 (1.500 – 1.500) |" in text[4]
    assert lab.judged(of) == ("No policy moves fewer pods for fewer dollars "
                              "than when-empty, karpenter-0s (medians).")
    of["holder-5m"] = {"9.1": FIGURES}
    assert lab.judged(of).startswith("No seed has been played under all")


def test_a_picture(tmp_path, settings, monkeypatch):
    """Where matplotlib is missing, there is none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    s = lab.settings(settings)
    assert lab.draw(s, "wave", runs(a=[(1, 1.0)])) is None


# Is it faithful?

def fidelity_cell(name, real, runs):
    load, policy, seed = name.split(".")
    cell = fidelity.Cell(name, load, policy, int(seed), 20)
    return {cell: fidelity.figures(real)}, {cell.key: {
        str(i): fidelity.figures(r) for i, r in enumerate(runs, 1)}}


def test_what_lies_within_the_range_of_the_lab():
    real = {"moved": 5, "dollars": 1.0, "nodes_launched": 4,
            "first_disrupted_s": 120.0, "pending_sum_s": 900}
    runs = [{**real, "moved": 6, "dollars": 1.2, "first_disrupted_s": 106.0,
             "pending_sum_s": 874},
            {**real, "moved": 7, "dollars": 1.1, "first_disrupted_s": 104.9,
             "pending_sum_s": 870}]
    found, lab_runs = fidelity_cell("wave.karpenter-0s.1", real, runs)
    (cell, of), = found.items()
    inside, ratio = fidelity.judged(cell, of, lab_runs[cell.key])
    assert inside == {"moved": False, "dollars": False, "nodes_launched": True,
                      "first_disrupted_s": True, "pending_sum_s": True}
    assert ratio == pytest.approx(1.15)
    # Nothing was disrupted: as in one of the lab's runs at least.
    assert fidelity.within(None, [None, 3]) and not fidelity.within(None, [3])
    assert not fidelity.within(3, [None])
    text = fidelity.block(found, lab_runs)
    assert "| wave | 1 | 2 | 0 | 1 | 1 | 1 | 1.150 (1.150 – 1.150) |" in text
    assert "10% off: `wave.karpenter-0s.1` 1.150." in text
    # Older results do not know the first decision.
    del of["first_disrupted_s"]
    assert "| 0 | 1 | 0 of 0 | 1 | 1.150" in fidelity.table(found, lab_runs)


def test_runs_of_another_lab_do_not_count(tmp_path, monkeypatch):
    file = tmp_path / "fidelity.json"
    fidelity.write(file, {"wave.karpenter-0s.1": {"1": {"moved": 5}}})
    assert fidelity.read(file)["wave.karpenter-0s.1"]["1"] == {"moved": 5}
    monkeypatch.setattr(lab, "ENGINE", lab.ENGINE + 1)
    assert fidelity.read(file) == {}


def test_the_page_has_the_table_of_the_results():
    text = pictures.PAGE.read_text()
    runs = fidelity.read(fidelity.FILE)
    found = {c: r for c, r in fidelity.real_runs().items() if c.key in runs}
    assert fidelity.page(text, found, runs) == text
