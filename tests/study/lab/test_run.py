# SPDX-License-Identifier: Apache-2.0
"""`make lab`, with real Karpenter in it: a short load, and a user's."""
import json
import pathlib
import random
import sys

import pytest

STUDY = pathlib.Path(__file__).parents[1]
sys.path += [str(STUDY), str(STUDY.parent / "e2e" / "lib")]

import lab  # noqa: E402
import loads  # noqa: E402


@pytest.fixture
def env(tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "WORK", tmp_path)
    return {"RESULTS": str(tmp_path / "results"), "SEEDS": "1", "RUNS": "1"}


def figures(env, load, policy):
    file = pathlib.Path(env["RESULTS"]) / f"{load}.{policy}.json"
    return json.loads(file.read_text())["runs"]["1.1"]


def test_a_short_load(env, capsys):
    lab.main({**env, "LOADS": "noise", "MINUTES": "4",
              "POLICIES": "0s grace-30m holder-5m"})
    alone, grace, held = (figures(env, "noise-4m", p) for p in (
        "karpenter-0s", "grace-30m", "holder-5m"))
    for f in (alone, grace, held):
        assert f["pods"] > 100 and f["never_ran"] == 0
        assert f["nodes_launched"] >= 4 and f["dollars"] > 0.01
    # Half of the pods go after two minutes, and Karpenter packs the rest.
    assert alone["moved"] > 0 and alone["held_share"] == 0
    assert grace["moved"] == 0
    assert held["held_share"] > 0.2
    assert held["first_disrupted_s"] > alone["first_disrupted_s"] + 60
    assert "× " in capsys.readouterr().out


def workload(kind, name, cpu, **spec):
    return {"type": "create", "kind": kind, "key": f"mine/{name}",
            "timestamp": "2026-03-01T09:00:00Z", kind.lower(): {
                "metadata": {"name": name}, "spec": {**spec, "template": {
                    "spec": {"containers": [{"name": "c", "resources": {
                        "requests": {"cpu": cpu, "memory": "1Gi"}}}]}}}}}


def mine(tmp_path, cpu):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"cluster": "mine", "events": [
        workload("Deployment", "web", "1", replicas=6),
        workload("Job", "report", cpu),
        {"type": "scale", "kind": "Deployment", "key": "mine/web",
         "replicas": 2, "timestamp": "2026-03-01T09:04:00Z"}]}))
    return str(file)


def types(tmp_path, price):
    def offering(key, value):
        return {"key": key, "operator": "In", "values": [value]}
    file = tmp_path / f"types-{price}.json"
    file.write_text(json.dumps([{
        "name": "m7i.xlarge", "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "16Gi"}, "offerings": [{
            "Price": price, "Requirements": [
                offering("topology.kubernetes.io/zone", "a"),
                offering("karpenter.sh/capacity-type", "on-demand")]}]}]))
    return str(file)


def test_a_users_load_and_prices(env, tmp_path, capsys):
    env |= {"LOAD": mine(tmp_path, "500m"), "POLICIES": "0s", "JOB_LIFE": "1m"}
    dollars = []
    for price in (0.2, 2.0):
        env |= {"TYPES": types(tmp_path, price),
                "RESULTS": str(tmp_path / str(price))}
        lab.main(env)
        assert f"Prices: {env['TYPES']}" in capsys.readouterr().out
        found = figures(env, "mine", "karpenter-0s")
        assert found["pods"] >= 7 and found["never_ran"] == 0
        dollars.append(found["dollars"] / found["node_seconds"] * 3600)
    assert dollars == pytest.approx([0.2, 2.0], rel=0.01)


def test_a_load_that_cannot_be_played(env, tmp_path):
    env |= {"LOAD": mine(tmp_path, "40"), "POLICIES": "0s"}
    with pytest.raises(SystemExit, match=(
            "^lab: .*mine.json: events.1.: its pods ask for 40000 milli cpus "
            "and 1024 MiB, for which no instance type has room$")):
        lab.main(env)


def two_nodes(busy):
    """A small node, and a large one that has room for its pods.  busy: until
    then a Job comes every half minute, for which only the large one has room."""
    m = loads.Maker(random.Random(1), 16)
    for at, name, cpu, pods in ((0, "small", "900m", 2), (60, "large", "4", 1)):
        m.event(at, "Deployment", "create", name, deployment=m.body(
            name, {"cpu": cpu}, {"replicas": pods},
            {loads.READY: "5s", loads.ENDS: "5s"}, {}))
    for at in range(110, busy, 30):
        m.job(at, 10, {"cpu": "500m"})
    return loads.Load("two-nodes", m.end / 60, m.events, [], m.menu)


def test_a_node_within_its_consolidate_after_takes_no_pods(env):
    """Since Karpenter 1.14 (isUnderConsolidateAfter).  Where nothing else
    happens, Karpenter looks again after 5 minutes."""
    first = {(busy, policy): lab.play(two_nodes(busy), policy, 1, "two")[
        "first_disrupted_s"] for busy, policy in (
            (0, "karpenter-2m"), (600, "karpenter-2m"), (600, "karpenter-0s"))}
    assert first[0, "karpenter-2m"] < 600
    assert first[600, "karpenter-0s"] < 300
    assert 600 + 120 < first[600, "karpenter-2m"] < 600 + 120 + 330
