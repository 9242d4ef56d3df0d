# SPDX-License-Identifier: Apache-2.0
"""Tickets (docs/operations.md#tickets): what deploy/components/tickets
installs, who may do what there, which tickets its policy refuses, and what
tickets hold while leaders and writers are killed.

The commands and manifests of the guide are used as they stand there, with
shorter times.
"""
import contextlib
import json
import os
import signal
import subprocess
import time

import pytest
import yaml

from cluster import node_pool
from controlplane import (ADMISSION, CLAIMS, NAMESPACES, NODES, POOLS, RBAC,
                          REPO, ApiError, ControlPlane, end, spawn, until)
from hold import SOON, clear, claims, held, nodes, stamp
from holder import HOLDERCTL
from lead import LEASES, NAME, NAMESPACE, SHORT, leader
from test_operations import block
from tickets import (TICKETS, account, changed, environment, install,
                     leases, left_over, overlay, recipe, renewed, shell)
from uninstall import uninstall

OWN = "karpenter-node-holder.io/"
WEEK = 7 * 24 * 3600
# Tickets that have begun to hold hold for a minute at least.
LEAST = 60 + SOON


def ticket(name="a", reason=None, nodepools=None, meta=None, notes=None,
           **spec):
    """A Lease that the policy lets through.  A field that is None is left
    out."""
    notes = {OWN + "nodepools": nodepools, OWN + "reason": reason,
             **(notes or {})}
    fields = {"holderIdentity": "ci/1234", "leaseDurationSeconds": 300,
              "renewTime": stamp(time.time())[:-1] + ".000000Z", **spec}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, **(meta or {}), "annotations": {
                k: v for k, v in notes.items() if v is not None}},
            "spec": {k: v for k, v in fields.items() if v is not None}}


# The installation

@pytest.fixture(scope="module")
def plane(plane_programs):
    """Replaces the session's plane, because the last test takes away what is
    installed."""
    with ControlPlane(name="tickets") as plane:
        plane.install_crds()
        yield plane


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return overlay(tmp_path_factory.mktemp("overlay"))


@pytest.fixture(scope="module")
def flags(plane, folder):
    """Installs it.  Returns the flags that the holder gets there."""
    flags = install(plane, folder)
    until(lambda: "7 days" in refusal(plane, ticket(
        leaseDurationSeconds=WEEK + 1)), 20, "the policy in force")
    return flags


@pytest.fixture(scope="module")
def who(plane, flags):
    """name -> Identity: the holder, those whom the guide binds to the Roles,
    somebody who may write one ticket alone, and somebody with no right."""
    users = {"holder": plane.service_account(NAMESPACE, NAME),
             "writer": account(plane, "ci", "deployer"),
             "own": account(plane, "ci", "web"),
             "reader": plane.identity("reader", "developers"),
             "stranger": account(plane, "ci", "stranger")}
    section = "Who may write tickets"
    shell(plane, block(section, "create rolebinding"))
    plane.kubectl("apply", "-f", "-", stdin=block(section, "kind: Role"))
    plane.kubectl("-n", TICKETS, "create", "rolebinding", "web", "--role",
                  "deploy-web", "--serviceaccount", "ci:web")
    for name, path in (("writer", "a"), ("reader", "a"), ("holder", "a"),
                       ("own", "deploy-web")):
        until(lambda: plane.request("GET", f"{leases(TICKETS)}/{path}",
                                    user=users[name])[0] != 403, 20,
              f"the rights of {name}")
    return users


# Who may do what

A, B = (f"{leases(TICKETS)}/{name}" for name in ("a", "b"))
MINE = f"{leases(TICKETS)}/deploy-web"
HERE = leases(TICKETS)
PODS = NAMESPACES + "/{}/pods"
BINDINGS = f"{RBAC}/namespaces/{TICKETS}/rolebindings"
POLICY = f"{ADMISSION}/validatingadmissionpolicies/{TICKETS}"
# who: what he may, and what not
CALLS = {
    "holder": (
        [("GET", HERE), ("GET", A), ("WATCH", HERE),
         ("GET", f"{LEASES}/{NAME}")],
        [("POST", HERE), ("PUT", A), ("PATCH", A), ("DELETE", A),
         ("DELETE", HERE), ("GET", LEASES), ("GET", f"{LEASES}/a"),
         ("GET", leases("default")), ("GET", leases("kube-system")),
         ("GET", leases("kube-node-lease")),
         ("GET", "/apis/coordination.k8s.io/v1/leases"),
         ("GET", PODS.format(TICKETS)),
         ("GET", f"{NAMESPACES}/{TICKETS}/secrets"),
         ("PATCH", BINDINGS + "/ci"), ("PATCH", POLICY)]),
    "writer": (
        [("POST", HERE), ("GET", A), ("PUT", A), ("PATCH", A), ("DELETE", A),
         ("DELETE", MINE)],
        [("GET", HERE), ("WATCH", HERE), ("DELETE", HERE),
         ("POST", leases("ci")), ("POST", leases("default")), ("POST", LEASES),
         ("PATCH", f"{LEASES}/{NAME}"), ("GET", NODES), ("PATCH", NODES + "/n"),
         ("GET", POOLS), ("PATCH", POOLS + "/web"), ("PATCH", CLAIMS + "/c"),
         ("POST", PODS.format(TICKETS)), ("POST", BINDINGS), ("PATCH", POLICY),
         ("DELETE", f"{NAMESPACES}/{TICKETS}")]),
    "own": (
        [("GET", MINE), ("PATCH", MINE), ("PUT", MINE), ("DELETE", MINE)],
        [("GET", A), ("PATCH", A), ("PUT", A), ("DELETE", A), ("GET", HERE),
         ("DELETE", HERE), ("POST", leases("ci"))]),
    "reader": (
        [("GET", HERE), ("GET", A), ("WATCH", HERE)],
        [("POST", HERE), ("PUT", A), ("PATCH", A), ("DELETE", A),
         ("DELETE", HERE), ("GET", LEASES), ("PATCH", NODES + "/n")]),
    "stranger": ([], [("GET", HERE), ("GET", A), ("POST", HERE), ("PATCH", A)]),
}


def there(plane, path, **fields):
    """The ticket that is there, with these fields instead."""
    made = ticket(path.split("/")[-1], **fields)
    made["metadata"]["resourceVersion"] = plane.get(path)["metadata"][
        "resourceVersion"]
    return made


def call(plane, user, method, path):
    """Asks, without storing anything.  Returns whether RBAC allows it."""
    if method == "WATCH":
        try:
            return next(plane.watch(path, "0", 5, user))["type"] == "ADDED"
        except ApiError as e:
            assert e.status == 403, e
            return False
    body = {"POST": lambda: ticket("new"), "PUT": lambda: there(plane, path),
            "PATCH": lambda: {"metadata": {"labels": {"a": "b"}}}}.get(
                method, lambda: None)()
    if method != "GET":
        path += "?dryRun=All"
    code, answer = plane.request(method, path, body, user=user)
    assert code in (200, 201, 403) or (method, code) == ("GET", 404), answer
    if code == 403:
        assert " cannot " in answer["message"], (method, path, answer)
    return code != 403


@pytest.fixture
def two_tickets(plane, flags):
    for name in ("a", "deploy-web"):
        plane.create(HERE, ticket(name))
    yield
    plane.ok("DELETE", HERE)


@pytest.mark.parametrize("name", CALLS)
def test_rights(plane, who, two_tickets, name):
    allowed, denied = CALLS[name]
    assert [c for c in allowed if not call(plane, who[name], *c)] == []
    assert [c for c in denied if call(plane, who[name], *c)] == []


@contextlib.contextmanager
def without_policy(plane):
    """Without the policy's binding, until the policy is in force again."""
    path = POLICY.rsplit("/", 1)[0].replace("policies", "policybindings")
    binding = plane.get(path, TICKETS)
    plane.delete(path, TICKETS)
    bad = ticket("probe", holderIdentity=None)
    try:
        until(lambda: not refusal(plane, bad), 20, "the policy gone")
        yield
    finally:
        for field in ("resourceVersion", "uid", "creationTimestamp"):
            del binding["metadata"][field]
        plane.create(path, binding)
    until(lambda: refusal(plane, bad), 20, "the policy in force")


# Which tickets are refused

def refusal(plane, body, user=None, path=HERE):
    """What the API server says if it refuses the ticket, or ''.  Nothing is
    stored.  A ticket with a resourceVersion takes the place of another."""
    method = "POST"
    if "resourceVersion" in body["metadata"]:
        method, path = "PUT", f"{path}/{body['metadata']['name']}"
    code, answer = plane.request(method, path + "?dryRun=All", body, user=user)
    assert code in (200, 201, 403, 422), answer
    return answer["message"] if code > 201 else ""


HOOK_FINALIZER = "argocd.argoproj.io/hook-finalizer"


def hook(annotation="argocd.argoproj.io/hook", finalizer=HOOK_FINALIZER):
    return {"notes": {annotation: "PreSync"},
            "meta": {"finalizers": [finalizer]}}


def owners(n, **one):
    return [{"apiVersion": "batch/v1", "kind": "Job", "name": "a",
             "uid": f"b{i}", **one} for i in range(n)]


LONG = "has {} bytes at most"
LARGE = "at most 64 annotations, 64 labels and 64 ownerReferences"
MANY = "has 64 patterns at most"
# what is refused: (fields, words)
BAD = {
    "0 s": ({"leaseDurationSeconds": 0}, "must be greater than 0"),
    "no duration": ({"leaseDurationSeconds": None}, "from 1 to 604800"),
    "8 days": ({"leaseDurationSeconds": 8 * WEEK // 7}, "which is 7 days"),
    "a second more": ({"leaseDurationSeconds": WEEK + 1}, "which is 7 days"),
    "no holder": ({"holderIdentity": None}, "spec.holderIdentity who wrote it"),
    "holder, in bytes": ({"holderIdentity": "\u00e9" * 129},
                         LONG.format(256)),
    **{f"holder with {ord(c):#x}": ({"holderIdentity": f"ci{c}1"},
                                    "no control characters")
       for c in "\n\t\0\x1b\x7f\x9b\u061c\u200e\u2028\u202e\u206f"},
    "no renewal": ({"renewTime": None}, "spec.renewTime when it was written"),
    "1999": ({"renewTime": "1999-12-31T23:59:59.999999Z"},
             "in the years 2000 to 9999"),
    **{f"{at} as it is stored": ({"renewTime": at},
                                 "in the years 2000 to 9999")
       for at in ("2000-01-01T00:00:00.000000+01:00",
                  "0000-01-01T00:00:00.000000+14:00",
                  "9999-12-31T23:59:59.000000-14:00")},
    "NodePools": ({"nodepools": "a" * 2049}, LONG.format(2048)),
    "NodePools, in bytes": ({"nodepools": "\u00e9" * 1025}, LONG.format(2048)),
    "a long pattern": ({"nodepools": "web," + "a" * 128},
                       "has 127 characters at most"),
    "no pattern": ({"nodepools": ""}, "has a pattern"),
    "separators": ({"nodepools": " ,\t"}, "has a pattern"),
    "patterns": ({"nodepools": ",".join(["p"] * 65)}, MANY),
    "patterns in lines": ({"nodepools": " ,\n\t\r ".join(["p"] * 65)}, MANY),
    "reason": ({"reason": "a" * 257}, LONG.format(256)),
    "reason, in bytes": ({"reason": "\u00e9" * 129}, LONG.format(256)),
    "annotations": ({"notes": {f"a{i}": "" for i in range(65)}}, LARGE),
    "a long annotation": ({"notes": {"a": "b" * 65536}}, LARGE),
    "labels": ({"meta": {"labels": {f"a{i}": "" for i in range(65)}}}, LARGE),
    "owners": ({"meta": {"ownerReferences": owners(65)}}, LARGE),
    **{f"{key} of an owner": ({"meta": {"ownerReferences": owners(
        1, **{key: text})}}, LARGE) for key, text in {
            "name": "a" * 1200000, "kind": "A" * 32768, "uid": "a" * 32768,
            "apiVersion": "a/" + "b" * 32766}.items()},
    "a finalizer": ({"meta": {"finalizers": ["example.com/a"]}},
                    "no finalizers"),
    "the collector's finalizer": ({"meta": {"finalizers": ["orphan"]}},
                                  "no finalizers"),
    "Argo CD's finalizer of no hook": (hook("example.com/hook"),
                                       "no finalizers"),
    "another finalizer of a hook": (hook(finalizer="example.com/a"),
                                    "no finalizers"),
}
# what is let through
GOOD = {
    "as it is": {}, "1 s": {"leaseDurationSeconds": 1},
    "7 days": {"leaseDurationSeconds": WEEK},
    "long ago": {"renewTime": "2000-01-01T00:00:00.000000Z"},
    "9999": {"renewTime": "9999-12-31T23:59:59.999999Z"},
    "holder": {"holderIdentity": "\u00e9" * 128},
    "a hook": hook(), "Argo CD's of a hook of Helm": hook("helm.sh/hook"),
    "NodePools": {"nodepools": ("a" * 127 + ",") * 16},
    "patterns": {"nodepools": ", ".join(["p-*"] * 64) + " ,\n"},
    "reason": {"reason": "\u00e9" * 128},
    "annotations": {"notes": {f"a{i}": "\u00e9" * 1000 for i in range(62)}},
    "labels": {"meta": {"labels": {f"a{i}": "" for i in range(64)}}},
    "owners": {"meta": {"ownerReferences": owners(
        64, name="\x01" * 498)}},
}


def test_the_policy(plane, who, two_tickets):
    """Also for administrators, and for a ticket that is there already.  Leases
    in other namespaces are none of its business."""
    rows = [(fields, words) for fields, words in BAD.values()]
    rows += [(fields, "") for fields in GOOD.values()]
    for user in (None, who["writer"]):
        for fields, words in rows:
            for body in (ticket("new", **fields), there(plane, A, **fields)):
                said = refusal(plane, body, user)
                assert words in said and bool(words) == bool(said), (
                    fields, said)
    for name, (fields, _) in BAD.items():
        assert name == "0 s" or not refusal(
            plane, ticket(**fields), path=leases("default")), name


def test_one_ticket_alone(plane, who, two_tickets):
    """`create` is not limited by name, but by the policy."""
    plane.delete(HERE, "deploy-web")
    own, denied = who["own"], "must have the right to patch it"
    assert not refusal(plane, ticket("deploy-web"), own)
    any_name = ticket(meta={"name": None, "generateName": "deploy-web"})
    for body in (ticket("deploy-api"), ticket("deploy-web2"), any_name):
        assert denied in refusal(plane, body, own)
        assert not refusal(plane, body, who["writer"])
    # It may do with it what the guide does.
    shell(plane, block("A ticket with kubectl", "create"), own)
    shell(plane, block("A ticket with kubectl", "delete"), own)


def test_a_finalizer_that_is_there_stays(plane, who, two_tickets):
    """As after the policy has come, or when a hook is none any more."""
    plane.patch(HERE, "a", {"metadata": {
        "annotations": hook()["notes"], "finalizers": [HOOK_FINALIZER]}})
    plane.patch(HERE, "a", {"metadata": {"annotations": None}})
    plane.patch(HERE, "a", {"spec": {"leaseDurationSeconds": 400}})
    plane.patch(HERE, "a", {"metadata": {"finalizers": None}})
    assert "finalizers" not in plane.get(HERE, "a")["metadata"]


@pytest.fixture
def collector(plane, flags, build_programs):
    """start() starts the garbage collector."""
    build_programs("kube-controller-manager")
    started = []

    def start():
        started.append(spawn(
            [plane.bin / "kube-controller-manager",
             f"--kubeconfig={plane.kubeconfig}", "--leader-elect=false",
             "--secure-port=0", "--controllers=garbage-collector-controller"],
            plane.dir / "kube-controller-manager.log"))
    yield start
    for process in started:
        end(process)


def removed(plane, user, name, how):
    """DELETE adds a finalizer, which no policy sees.  The ticket stays until
    the garbage collector takes the finalizer away."""
    plane.ok("DELETE", f"{HERE}/{name}", {
        "kind": "DeleteOptions", "apiVersion": "v1",
        "propagationPolicy": how}, user=user)


def test_the_garbage_collector_is_not_blocked(plane, who, collector):
    """Neither by a ring of owners, whose tickets it has to change before they
    can go, nor by a ticket that the policy would refuse today."""
    def owner(name, uid, blocks=True):
        return [{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                 "name": name, "uid": uid, "blockOwnerDeletion": blocks}]
    a = plane.create(HERE, ticket("a"))["metadata"]
    b = plane.create(HERE, ticket("b", meta={
        "ownerReferences": owner("a", a["uid"])}))["metadata"]
    plane.patch(HERE, "a", {"metadata": {
        "ownerReferences": owner("b", b["uid"])}})
    plane.create(HERE, ticket("alone"))
    with without_policy(plane):
        plane.create(HERE, ticket("bad", holderIdentity=None))
    for name, how in (("alone", "Orphan"), ("bad", "Orphan"),
                      ("a", "Foreground"), ("b", "Foreground")):
        removed(plane, who["writer"], name, how)
        meta = plane.get(HERE, name)["metadata"]
        assert meta["deletionTimestamp"] and meta["finalizers"], meta
    # What the collector writes in a ring if it has seen a go first.
    plane.patch(HERE, "b", {"metadata": {
        "ownerReferences": owner("a", a["uid"], False)}})
    collector()
    until(lambda: plane.get(HERE)["items"] == [], 60,
          lambda: [o["metadata"] for o in plane.get(HERE)["items"]])


# What they hold

def guide(heading, kind):
    return recipe(block(heading, "kind: " + kind), kind)


def at_night():
    """The CronJob for the working day, in which the lines that the guide gives
    take the place of those that it names."""
    lines = block("A ticket for the working day", "kind: CronJob").splitlines()
    for start, word in (("schedule: ", "schedule:"), ("seconds=", "case")):
        at, = (i for i, line in enumerate(lines)
               if line.strip().startswith(start))
        lines[at] = block("Disruption only at night", word).rstrip("\n")
    return "\n".join(lines) + "\n"


def test_the_recipes_are_accepted(plane, flags):
    """The Pods of the one for the working day pass `restricted`."""
    objects, template, _ = recipe(at_night(), "CronJob")
    done = plane.kubectl("apply", "--server-side", "--validate=strict",
                         "--dry-run=server", "-f", "-",
                         stdin=yaml.safe_dump_all(objects))
    assert not done.stderr
    objects, template, _ = guide("A ticket for the working day", "CronJob")
    job, _, _ = guide("A ticket while a Job runs", "Job")
    done = plane.kubectl("apply", "--server-side", "--validate=strict", "-f",
                         "-", stdin=yaml.safe_dump_all(objects))
    assert not done.stderr
    try:
        plane.create(PODS.format(TICKETS) + "?dryRun=All", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            **template})
        for o in job:
            o["metadata"]["namespace"] = "default"
        done = plane.kubectl(
            "apply", "--server-side", "--validate=strict", "--dry-run=server",
            "-f", "-", stdin=yaml.safe_dump_all(job))
        assert not done.stderr
    finally:
        plane.kubectl("delete", "--wait=false", "-f", "-",
                      stdin=yaml.safe_dump_all(objects))


@contextlib.contextmanager
def writer(plane, user, script):
    """A process that renews a ticket.  Yields a function that kills it."""
    log = plane.dir / "writer.log"
    process = spawn(["sh", "-c", script], log, environment(plane, user))

    def kill():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.5)     # a request of its may be under way
    try:
        yield kill
    finally:
        kill()


def test_two_tickets_and_a_leader_that_is_killed(plane, flags, who, make_holder,
                                                 karpenter, view):
    """`import` is renewed by a process that is killed, `working-day` is written
    once for the whole window, and both name NodePool web."""
    pools = {"web": 3, "batch-a": 2, "fixed": 2, "db": 1}
    for pool in pools:
        plane.create(POOLS, node_pool(
            pool, replicas=2 if pool == "fixed" else None))
    of = {pool: nodes(karpenter.settled(n, pool)) for pool, n in pools.items()}
    both = of["web"] + of["fixed"]
    holders = [make_holder(start=False, register=False,
                           leaderElection=SHORT.config()) for _ in range(2)]
    for holder in holders:
        holder.flags = flags
        holder.start()
    first = leader(holders, SHORT.taken)

    window = int(time.time()) + 45
    day = changed(guide("A ticket for the working day", "CronJob")[2],
                  end=("18:00", f"@{window}"),
                  pools=("web, api-*", "web,fixed"))
    while_job = changed(guide("A ticket while a Job runs", "Job")[2],
                        lasts=("Seconds: 300", "Seconds: 10"),
                        every=("sleep 60", "sleep 1"),
                        pools=("batch-*", "batch-* web"))
    with writer(plane, who["writer"], while_job) as kill:
        shell(plane, day, who["writer"])
        view.wait_held(both + of["batch-a"])
        until(lambda: first.metric("karpenter_node_holder_tickets") == 2, 10,
              "two tickets in force")
        # A static NodePool's new machine, which starts no hold of its own.
        more = karpenter.machine("fixed")
        view.wait_held(nodes([more]))
        both += nodes([more])
        plane.patch(POOLS, "web", {"metadata": {"annotations": {
            OWN + "released-at": stamp(time.time())}}})

        def stays(lists=None):
            seen = view.of(both + of["db"])
            assert all(map(held, (seen[at] for at in both))), "released"
            assert all(map(clear, (seen[at] for at in of["db"]))), "spread"
        first.kill9()
        begin = time.time()
        second, = (h for h in holders if h is not first)

        def taken():
            stays()
            assert all(map(held, view.of(of["batch-a"]).values())), "released"
            return second.metric("leader_election_master_status") == 1
        until(taken, SHORT.taken, "the other one leads")
        until(lambda: second.metric("karpenter_node_holder_tickets") == 2, 10,
              "it sees both tickets")
        print(f"another led after {time.time() - begin:.1f} s")
        kill()
    ends = renewed(plane, "import") + 10
    early, late = view.check_released(of["batch-a"], ends, meanwhile=stays)
    print(f"import ended {early:.1f} to {late:.1f} s after its time")
    assert "import" in plane.metadata(HERE), "it ended by itself"
    early, late = view.check_released(both, window)
    print(f"working-day ended {early:.1f} to {late:.1f} s after its time")
    view.wait_clear(claims([more]))

    # By hand, and then it is deleted.
    by_hand = "A ticket with kubectl"
    shell(plane, block(by_hand, "create"), who["own"])
    view.wait_held(of["web"])
    was = renewed(plane, "deploy-web")
    until(lambda: time.time() > was + 1, 5, "another second")
    shell(plane, block(by_hand, "patch"), who["own"])
    assert renewed(plane, "deploy-web") > was
    shell(plane, block(by_hand, "delete"), who["own"])
    assert "deploy-web" not in plane.metadata(HERE)

    # And by `holderctl hold`, under the policy, without a right on NodePools.
    done = subprocess.run(
        [HOLDERCTL, "hold", "--for", "1h", "--nodepool", "web", "--name",
         "release-9", "--reason", "release 9"], text=True, timeout=60,
        capture_output=True, env=environment(plane, who["writer"]))
    assert done.returncode == 0, done
    view.wait_held(of["web"])
    plane.delete(HERE, "release-9", user=who["writer"])
    view.wait_clear(of["web"], LEAST)
    assert all(map(clear, view.of(of["db"]).values())), "spread"


# What a writer of one ticket can do, whoever he is (SECURITY.md has the figures)

def told(plane, holder):
    """How many Events, log lines, patches and turns of the history there are.
    A series of Events is one object that is patched."""
    def count(*parts):
        return sum(value for name, value in metrics.items()
                   if all(part in name for part in parts))
    metrics = holder.metrics()
    patches = count("r_holds_total{") + count("r_releases_total{")
    writes = count("rest_client_requests_total", 'method="POST"') + count(
        "rest_client_requests_total", 'method="PATCH"')
    return {"Events": writes - patches, "patches": patches,
            "lines": holder.log.read_text(errors="replace").count("\n"),
            "turns": {tuple(sorted(turn.items())) for turn in json.loads(
                holder.fetch("/status?format=json")[1])["history"]}}


@contextlib.contextmanager
def measured(plane, holder, what):
    """Yields a dict, which has the difference afterwards."""
    difference, before, begin = {}, told(plane, holder), time.monotonic()
    yield difference
    took = time.monotonic() - begin
    after = told(plane, holder)
    after["turns"] = len(after["turns"] - before.pop("turns"))
    difference.update({k: after[k] - before.get(k, 0) for k in after}, s=took)
    print(f"{what}: " + ", ".join(f"{v:.0f} {k}"
                                  for k, v in difference.items()))


def test_what_a_writer_of_one_ticket_can_do(plane, flags, who, make_holder,
                                            karpenter):
    """His ticket holds 10 NodePools with 30 machines.  He changes its words 20
    times a second, and then deletes it and writes it again each second."""
    pools = [f"p{n}" for n in range(10)]
    for pool in pools:
        plane.create(POOLS, node_pool(pool))
        karpenter.settled(3, pool)
    holder = make_holder(start=False, register=False, holdDuration="1s")
    holder.flags = flags
    holder.start()

    def all_are(state):
        return all(map(state, plane.get(NODES)["items"]))
    until(lambda: all_are(clear), 60, "clear")
    plane.create(HERE, ticket("deploy-web"), user=who["own"])
    begin = time.monotonic()
    until(lambda: all_are(held), 60, "held")
    with measured(plane, holder, "words changed") as words:
        for n in range(200):
            plane.patch(HERE, "deploy-web", {"metadata": {"annotations": {
                OWN + "reason": f"{n} " + "x" * 200}}}, user=who["own"])
            time.sleep(0.05)
    # At most one report for each NodePool and minute.
    assert words["lines"] <= 4 * len(pools), words
    assert words["Events"] <= 64 + words["s"] + 1, words
    assert words["turns"] == words["patches"] == 0, words
    until(lambda: time.monotonic() > begin + 62, 61, "the least time is over")
    begin = time.monotonic()
    with measured(plane, holder, "deleted and written") as flips:
        for _ in range(20):
            plane.delete(HERE, "deploy-web", user=who["own"])
            time.sleep(0.5)
            plane.create(HERE, ticket("deploy-web"), user=who["own"])
            time.sleep(0.5)
    # All machines, Node and NodeClaim, are released and held once a minute.
    assert flips["patches"] <= 2 * 2 * 30, flips
    assert flips["turns"] <= 2 * len(pools), flips
    assert flips["Events"] <= 64 + flips["s"] + 1, flips
    plane.delete(HERE, "deploy-web", user=who["own"])
    until(lambda: all_are(clear), 100, "released")
    took = time.monotonic() - begin
    print(f"released {took:.0f} s after the first of them")
    assert 55 < took < 80


# What "held" means

def test_held_means_one_thing(plane, flags, make_holder, karpenter, view):
    """JSON, text and metric agree: while nothing holds, a scale-up, a
    hold-until alone, and a ticket alone."""
    plane.create(POOLS, node_pool("web"))
    of = nodes(karpenter.settled(2, "web"))
    holder = make_holder(start=False, register=False, holdDuration="12s")
    holder.flags = flags
    holder.start()

    def agree(state, value, words=""):
        def says():
            scope, = json.loads(holder.fetch("/status?format=json")[1])[
                "scopes"] or [{"state": None}]
            text = holder.fetch("/status?format=text")[1]
            return (scope["state"], f"\ncluster  {state}" in text,
                    holder.metric("karpenter_node_holder_scope_held"),
                    words in text,
                    state == "quiet" or f" {scope['since']} " in text)
        until(lambda: says() == (state, True, value, True, True), 15, says)

    agree("quiet", 0)
    karpenter.machine("web")
    view.wait_held(of)
    agree("held", 1, "restarted by ")
    view.wait_clear(of, 20)
    agree("quiet", 0)
    hold = OWN + "hold-until"
    plane.patch(POOLS, "web", {"metadata": {"annotations": {
        hold: stamp(time.time() + 300)}}})
    view.wait_held(of)
    agree("held", 2, "1 of 1 NodePool is held by hold-until, until ")
    plane.patch(POOLS, "web", {"metadata": {"annotations": {hold: None}}})
    view.wait_clear(of, 20)
    agree("quiet", 0)
    plane.create(leases(TICKETS), ticket())
    view.wait_held(of)
    agree("held", 2, "1 of 1 NodePool is held by tickets, until ")
    plane.delete(leases(TICKETS), "a")
    view.wait_clear(of, LEAST)
    agree("quiet", 0, "NodePool web released: ticket-ended")


def at_hour(hour):
    """A time zone in which half of that hour is over."""
    now = time.gmtime()
    minutes = (hour * 60 + 30 - now.tm_hour * 60 - now.tm_min) % 1440
    return f"DAY-{minutes // 60}:{minutes % 60:02}"


def test_disruption_only_at_night(plane, flags, who, make_holder, karpenter,
                                  view):
    plane.create(POOLS, node_pool("web"))
    machines = nodes(karpenter.settled(2, "web"))
    holder = make_holder(start=False, register=False)
    holder.flags = flags
    holder.start()
    script = recipe(at_night(), "CronJob")[2]
    for hour, is_night in ((5, True), (6, False), (7, False), (21, False),
                           (22, True), (0, True), (12, False)):
        shell(plane, f"export TZ={at_hour(hour)}\n{script}", who["writer"])
        if is_night:
            view.wait_clear(machines, LEAST)
            assert "working-day" not in plane.metadata(HERE)
            continue
        view.wait_held(machines)
        # If it never runs again, the hold stays, but not for good.
        assert plane.get(HERE, "working-day")["spec"][
            "leaseDurationSeconds"] == WEEK
        assert time.time() - renewed(plane, "working-day") < 60
    plane.delete(HERE, "working-day")


# Hooks of Argo CD, and Flux

def sync_objects():
    """The objects of docs/gitops.md for a sync: what the Jobs need, and the Jobs
    by the phase in which Argo CD runs them."""
    text = (REPO / "docs/gitops.md").read_text()
    part = text.split("## A ticket while a sync runs\n")[1].split("\n## ")[0]
    found = [o for b in part.split("```yaml\n")[1:]
             for o in yaml.safe_load_all(b.split("```")[0])]
    return ([o for o in found if o["kind"] not in ("Job", "Kustomization")],
            {phase: job for job in found if job["kind"] == "Job"
             for phase in job["metadata"]["annotations"][
                 "argocd.argoproj.io/hook"].split(",")})


def run_job(plane, user, job):
    """Makes the Job anew, and runs the process of its Pod: there is no kubelet."""
    plane.kubectl("-n", "web", "delete", "job", job["metadata"]["name"],
                  "--ignore-not-found")
    done = plane.kubectl("create", "--validate=strict", "-f", "-",
                         stdin=yaml.safe_dump(job))
    assert "Warning" not in done.stderr, done
    template = job["spec"]["template"]
    plane.create(PODS.format(TICKETS) + "?dryRun=All", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        **template, "spec": {**template["spec"],
                             "serviceAccountName": "default"}})
    container, = template["spec"]["containers"]
    program, *args = container["command"]
    assert program == "/usr/bin/holderctl"
    host = template["spec"].get("hostname", job["metadata"]["name"] + "-x7k2p")
    return subprocess.run(
        ["unshare", "--uts", "sh", "-ec", 'hostname "$0"; exec "$@"', host,
         HOLDERCTL, *args], text=True, capture_output=True, timeout=60,
        env={**environment(plane, user), **{
            e["name"]: e["value"] for e in container.get("env", ())}})


def sync(plane, user, jobs, bring):
    """Runs the phases in the order of Argo CD, whose controller is not here:
    a hook that fails ends the sync, and SyncFail follows what fails."""
    before = run_job(plane, user, jobs["PreSync"])
    good = before.returncode == 0 and bring()
    after = run_job(plane, user, jobs["PostSync" if good else "SyncFail"])
    return before, after


@pytest.mark.parametrize("good", (
    pytest.param(True, id="PostSync"),
    pytest.param(False, id="SyncFail", marks=pytest.mark.long)))
def test_a_sync(plane, flags, make_holder, karpenter, view, good):
    """The Jobs of docs/gitops.md.  The API server, the holder and the processes
    of the Pods are real.  Argo CD, Flux and the Job controller do not run here:
    the phases have the order that Argo CD documents.  Flux's Kustomizations
    have that of a sync that succeeds."""
    needed, jobs = sync_objects()
    user = account(plane, "web", "ticket")
    plane.kubectl("apply", "--server-side", "--validate=strict",
                  "--force-conflicts", "-f", "-",
                  stdin=yaml.safe_dump_all(needed))
    until(lambda: plane.request("GET", HERE + "/sync-web", user=user)[0] != 403,
          20, "the rights")
    for pool in ("web", "db"):
        plane.create(POOLS, node_pool(pool))
    web, db = (nodes(karpenter.settled(2, pool)) for pool in ("web", "db"))
    holder = make_holder(start=False, register=False,
                         leaderElection=SHORT.config())
    holder.flags = flags
    holder.start()

    def bring():
        view.wait_held(web)
        assert all(map(clear, view.of(db).values())), "spread"
        made = plane.get(HERE, "sync-web")["spec"]
        # What is left of a sync that is killed here.
        assert made["leaseDurationSeconds"] == 1800
        return good
    try:
        for _ in range(2):      # the second time over what the first has left
            before, after = sync(plane, user, jobs, bring)
            assert before.returncode == after.returncode == 0, (before, after)
        view.wait_clear(web, LEAST)
        # A ticket of somebody else stays.
        plane.delete(HERE, "sync-web")
        plane.create(HERE, ticket("sync-web", nodepools="web"))
        before, after = sync(plane, user, jobs, bring)
        assert before.returncode == after.returncode == 1
        assert "ci/1234" in before.stderr
    finally:
        plane.ok("DELETE", HERE)
    view.wait_clear(web, LEAST)


# What is left

def finish(plane, namespace):
    """Ends a Namespace as its controller, which does not run here, would."""
    path = f"{NAMESPACES}/{namespace}"
    assert plane.get(path)["metadata"]["deletionTimestamp"]
    kinds = ",".join(plane.kubectl("api-resources", "--namespaced", "--verbs",
                                   "list,delete", "-o", "name").stdout.split())
    plane.kubectl("-n", namespace, "delete", kinds, "--all", "--wait=false")
    body = plane.get(path)
    body["spec"]["finalizers"] = []
    plane.ok("PUT", path + "/finalize", body)
    until(lambda: plane.request("GET", path)[0] == 404, 20, namespace + " gone")


def test_uninstall(plane, folder, flags, make_holder, karpenter, view):
    """`holderctl uninstall` clears the holds of a ticket that is in force, and
    leaves the ticket.  The deletion leaves nothing of ours."""
    plane.create(POOLS, node_pool("web"))
    machines = karpenter.settled(3, "web")
    holder = make_holder(start=False, register=False,
                         leaderElection=SHORT.config())
    holder.flags = flags
    holder.start()
    plane.create(HERE, ticket("week", leaseDurationSeconds=WEEK))
    view.wait_held(nodes(machines))
    holder.kill9()
    assert "none is left" in uninstall(plane).stdout
    assert all(map(clear, view.of(nodes(machines) + claims(machines)).values()))
    assert "week" in plane.metadata(HERE)
    plane.kubectl("delete", "-k", folder, "--ignore-not-found", "--wait=false")
    for namespace in (NAMESPACE, TICKETS):
        finish(plane, namespace)
    assert left_over(plane) == []
