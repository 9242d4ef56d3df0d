# SPDX-License-Identifier: Apache-2.0
"""Tickets on real Karpenter, written as the guide says: by a CI job that is
killed, and by a CronJob that the real controllers start.

No kubelet runs here.  The test runs the script of the CronJob's Pod with the
rights of that Pod.
"""
import os
import signal
import subprocess
import time

import pytest
import yaml

from cluster import DECISIONS, PROGRAMS, Cluster
from controlplane import CLAIMS, NAMESPACES, NODES, spawn, until
from disruption import ACTS, follow, marks_left, names, of_pool, quiet_at
from hold import EARLY, LATE, SOON, held, stamp
from holder import HOLDERCTL
from karpenter import NODEPOOL
from lead import DEPLOYED, NAME, NAMESPACE, leader
from test_operations import block
from tickets import (TICKETS, account, changed, environment, install,
                     left_over, overlay, recipe, renewed, shell)
from uninstall import uninstall

POOLS = ("web", "batch", "free")
PODS = f"{NAMESPACES}/{TICKETS}/pods"
JOBS = f"/apis/batch/v1/namespaces/{TICKETS}/jobs"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
LEASE_S = 20    # of the CI job's ticket
WINDOW_S = 120  # of the CronJob's, from the minute in which it runs


@pytest.fixture
def cluster(build_programs):
    """A cluster of its own, because all that is ours goes at the end."""
    build_programs(*PROGRAMS, "kustomize")
    with Cluster(name="tickets-karpenter") as cluster:
        cluster.start_karpenter()
        yield cluster


class Seen:
    """Records from two watches, for each NodePool, when a Node was first seen
    held no more, and when a NodeClaim was first seen deleted."""

    def __init__(self, cluster):
        self.held, self.released, self.deleted = set(), {}, {}
        follow(cluster, {NODES: self.node, CLAIMS: self.claim}, 900)

    def node(self, node):
        meta = node["metadata"]
        tainted = [t for t in node["spec"].get("taints", [])
                   if t["key"] == "karpenter.sh/disrupted"]
        pool = meta["labels"].get(NODEPOOL)
        if tainted:
            self.deleted.setdefault(pool, time.time())
        if held(meta):
            self.held.add(meta["name"])
        elif meta["name"] in self.held:
            self.released.setdefault(pool, time.time())

    def claim(self, claim):
        meta = claim["metadata"]
        if "deletionTimestamp" in meta:
            self.deleted.setdefault(meta["labels"][NODEPOOL], time.time())


def run_pod(cluster, timeout):
    """Waits for the Pod of the Job and runs it as a kubelet would, with the
    Pod's rights and variables."""
    def pending():
        return [p for p in cluster.get(PODS)["items"]
                if p["status"]["phase"] == "Pending"]
    pod = until(pending, timeout, "a Pod of the Job")[0]
    container, = pod["spec"]["containers"]
    user = cluster.service_account(TICKETS, pod["spec"]["serviceAccountName"])
    done = subprocess.run(
        [*container["command"], *container["args"]], text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        env={**environment(cluster, user),
             **{v["name"]: v["value"] for v in container["env"]}})
    assert done.returncode == 0, done
    now = stamp(time.time())
    cluster.patch(PODS, pod["metadata"]["name"] + "/status", {"status": {
        "phase": "Succeeded", "containerStatuses": [{
            "name": container["name"], "image": "x", "imageID": "x",
            "ready": False, "restartCount": 0, "state": {"terminated": {
                "exitCode": 0, "startedAt": now, "finishedAt": now}}}]}})


def working_day(window):
    """The CronJob of the guide for every minute, until that moment."""
    text = block("A ticket for the working day", "kind: CronJob")
    objects, template, script = recipe(text, "CronJob")
    template["spec"]["containers"][0]["args"] = [
        changed(script, end=("18:00", f"@{window}"))]
    template["spec"]["schedulerName"] = "none"      # run_pod runs it
    job = next(o for o in objects if o["kind"] == "CronJob")
    job["spec"]["schedule"] = "* * * * *"
    return yaml.safe_dump_all(objects)


def completed(cluster):
    return [j for j in cluster.get(JOBS)["items"]
            if j.get("status", {}).get("succeeded") == 1
            and "completionTime" in j["status"]]


@pytest.mark.long
def test_a_ci_job_that_is_killed_and_a_cron_job(cluster, add_holder, tmp_path):
    """Both hold NodePool web, the CI job holds batch as well, and nobody holds
    free.  Karpenter wants to consolidate all three."""
    folder = overlay(tmp_path)
    flags = install(cluster, folder)
    cluster.patch(DEPLOYMENTS, NAME, {"spec": {"replicas": 0}})  # they are here
    deployer = account(cluster, "ci", "deployer")
    shell(cluster, block("Who may write tickets", "create rolebinding"))
    holders = [add_holder(start=False, register=False,
                          leaderElection=DEPLOYED.config()) for _ in range(2)]
    for holder in holders:
        holder.flags = flags
        holder.start()
    first = leader(holders, DEPLOYED.taken)
    second, = (h for h in holders if h is not first)
    for pool in POOLS:
        cluster.pool(pool)
        cluster.deploy(pool, 12, pool=pool)
    for pool in POOLS:
        cluster.wait_running(pool, 12)
    quiet = quiet_at(cluster, 6)
    until(lambda: time.time() > quiet and not marks_left(cluster), 6 + SOON,
          lambda: f"the cluster's own hold over: {marks_left(cluster)}")
    seen = Seen(cluster)
    begin = {pool: names(cluster, CLAIMS, pool) for pool in POOLS}
    assert all(len(claims) >= 3 for claims in begin.values()), begin

    def all_held(*pools):
        return all(held(meta) for pool in pools
                   for meta in of_pool(cluster, pool))

    # Both, in one minute.
    until(lambda: time.time() % 60 < 45, 20, "time before the next minute")
    minute = (int(time.time()) // 60 + 1) * 60
    window = minute + WINDOW_S
    ci = spawn([HOLDERCTL, "hold", "--while", "--lease", f"{LEASE_S}s",
                "--nodepool", "web", "--nodepool", "batch", "--name", "deploy",
                "--", "sleep", "1000"], cluster.dir / "ci.log",
               environment(cluster, deployer))
    until(lambda: all_held("web", "batch"), SOON,
          lambda: "held by the CI job\n" + cluster.log_tail("ci"))
    cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                    stdin=working_day(window))
    run_pod(cluster, 60 + SOON)
    # One run is enough: the window has one end.
    cluster.kubectl("-n", TICKETS, "patch", "cronjob", "working-day", "-p",
                    '{"spec": {"suspend": true}}')
    written = time.time()
    until(lambda: first.metric("karpenter_node_holder_tickets") == 2, SOON,
          "two tickets in force")
    until(lambda: completed(cluster), SOON, "the Job complete")
    print(f"the CronJob's ticket {written - minute:.1f} s after its minute")

    # Karpenter has reasons, and the leader dies.
    assert not seen.released and not seen.deleted
    for pool in POOLS:
        cluster.scale(pool, 4)
    killed = time.time()
    first.kill9()
    until(lambda: second.metric("leader_election_master_status") == 1,
          DEPLOYED.taken, "the other one leads")
    print(f"another led after {time.time() - killed:.1f} s")
    until(lambda: second.metric("karpenter_node_holder_tickets") == 2, SOON,
          "it sees both tickets")
    assert ci.poll() is None and all_held("web", "batch")
    os.killpg(ci.pid, signal.SIGKILL)
    ci.wait()
    time.sleep(0.5)     # a request of its may be under way
    ends = {"batch": renewed(cluster, "deploy") + LEASE_S, "web": window}
    print(f"the CI job was killed {ends['batch'] - time.time():.1f} s before "
          "the end of its ticket")

    for pool in ("free", "batch", "web"):
        if pool == "web":
            # A cluster in which no Pod changes is looked at each five minutes.
            until(lambda: "web" in seen.released, window + LATE - time.time(),
                  "web released")
            cluster.scale("free", 3)
        until(lambda: len(names(cluster, CLAIMS, pool)) <= 2
              and not begin[pool] <= names(cluster, CLAIMS, pool),
              max(0, ends.get(pool, 0) - time.time()) + ACTS,
              lambda: f"fewer machines of {pool}: {begin[pool]}\n"
              + cluster.log_tail("karpenter"), every=0.3)
        gone = time.time()
        assert seen.deleted[pool] <= gone
        if pool not in ends:
            print(f"{pool}: first disrupted {seen.deleted[pool] - killed:.1f} "
                  f"s after the leader's death, {gone - killed:.1f} s: done")
            continue
        late = seen.released[pool] - ends[pool]
        assert -EARLY <= late <= LATE, f"{pool} released {late:.1f} s late"
        assert seen.deleted[pool] >= seen.released[pool] - 0.5, pool
        print(f"{pool}: released {late:.1f} s after its time, first disrupted "
              f"{seen.deleted[pool] - ends[pool]:.1f} s, done "
              f"{gone - ends[pool]:.1f} s")
        assert pool == "web" or gone < window and all_held("web")
    assert seen.deleted["free"] < ends["batch"], "free waited for the tickets"
    assert cluster.karpenter_metric(DECISIONS) >= 3

    # Nothing is left, though a ticket is in force.
    done = subprocess.run(
        [HOLDERCTL, "hold", "--for", "1h", "--nodepool", "web"], text=True,
        timeout=60, capture_output=True, env=environment(cluster, deployer))
    assert done.returncode == 0, done
    until(lambda: all_held("web"), SOON, "held again")
    assert second.term() == 0
    assert "none is left" in uninstall(cluster).stdout
    assert not marks_left(cluster)
    removed = time.time()
    cluster.kubectl("delete", "-k", folder, "--ignore-not-found")
    assert left_over(cluster) == []
    print(f"deleted in {time.time() - removed:.1f} s")
