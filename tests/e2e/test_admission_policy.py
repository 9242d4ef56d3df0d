# SPDX-License-Identifier: Apache-2.0
"""deploy/components/admission-policy: the API server itself marks what is
created and decides as the webhook does.  The sweeper does the rest."""
import contextlib
import copy
import os
import re
import statistics
import time

import pytest
import yaml

from cluster import node_pool
from controlplane import APPLY, CLAIMS, NODES, POOLS, REPO, WEBHOOKS, until
from hold import (HELD_KEY, HOLD, LATE, MARK, SOON, annotations, clear,
                  nodes, claims, seconds, stamp)
from karpenter import NODEPOOL, UNREGISTERED, claim_body, node_body

NAME = "karpenter-node-holder"
DEPLOY = REPO / "deploy"
GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = GROUP + "/mutatingadmissionpolicies"
BINDINGS = GROUP + "/mutatingadmissionpolicybindings"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases"
WORD = "created"        # the mark of a policy, which has no clock
GATHERED = ("high-availability", "admission-policy")


def render(plane, folder, resource, components, **fields):
    def beside(path):
        return os.path.relpath(DEPLOY / path, folder.resolve())
    if "namespace" in fields:
        fields["transformers"] = [beside("namespace")]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization", "resources": [beside(resource)],
        "components": [beside(f"components/{c}") for c in components],
        **fields}))
    done = plane.kubectl("kustomize", folder)
    assert not done.stderr, done.stderr
    return [o for o in yaml.safe_load_all(done.stdout) if o]


def of(objects, kind):
    found, = (o for o in objects if o["kind"] == kind)
    return found


def probed(plane, pool="general"):
    """The annotations that a Node would get now.  A dry run stores nothing."""
    return annotations(plane.create(
        NODES + "?dryRun=All", node_body("probe", pool)))


def marked(plane, pool="general"):
    return MARK in probed(plane, pool)


def by_policy(plane):
    """Does the policy mark?  Policies run before webhooks, so where both exist
    the mark is the policy's."""
    status, claim = plane.request("POST", CLAIMS + "?dryRun=All",
                                  claim_body())
    assert status in (201, 503), claim  # 503: it has yet to read the schema
    return (status == 201 and annotations(claim).get(MARK) == WORD
            and probed(plane).get(MARK) == WORD)


class Policy:
    def __init__(self, plane, objects):
        self.plane = plane
        self.objects = [o for o in objects
                        if o["kind"].startswith("MutatingAdmissionPolicy")]
        assert len(self.objects) == 2

    def apply(self, objects=None):
        done = self.plane.kubectl(
            "apply", "--server-side", "--validate=strict", "-f", "-",
            stdin=yaml.safe_dump_all(objects or self.objects))
        assert "Warning" not in done.stderr, done.stderr
        return self

    def install(self):
        self.apply()
        until(lambda: by_policy(self.plane), 20, "the policy in force")
        return self

    def remove(self):
        for path in (BINDINGS, POLICIES):
            self.plane.request("DELETE", f"{path}/{NAME}")
        until(lambda: probed(self.plane).get(MARK) != WORD, 20,
              "the policy gone")


@pytest.fixture(scope="module")
def gathered(plane, tmp_path_factory):
    """The policy together with the other components, applied as a whole."""
    objects = render(plane, tmp_path_factory.mktemp("overlay"), "base",
                     GATHERED)
    # Other tests have applied some of them.
    done = plane.kubectl("apply", "--server-side", "--validate=strict",
                         "--force-conflicts", "-f", "-",
                         stdin=yaml.safe_dump_all(objects))
    assert "Warning" not in done.stderr, done.stderr
    assert len(done.stdout.splitlines()) == len(objects)
    yield objects
    Policy(plane, objects).remove()
    plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-",
                  stdin=yaml.safe_dump_all(
                      [o for o in objects if o["kind"] != "Namespace"]))


@pytest.fixture
def policy(plane, clean, gathered):
    policy = Policy(plane, gathered).install()
    yield policy
    policy.remove()


@pytest.fixture
def without_webhook(plane, make_holder):
    """make() returns a holder without a certificate that nobody calls."""
    def make(**settings):
        holder = make_holder(
            start=False, register=False,
            webhook={"certFile": "/nonexistent/tls.crt",
                     "keyFile": "/nonexistent/tls.key"}, **settings)
        holder.start(wait=False)
        until(lambda: holder.probe("/livez")[0] == 200, 20, "alive")
        return holder
    yield make
    assert plane.get(WEBHOOKS)["items"] == []


def ready(holder, gathered):
    """Is it ready, by the probe of the Deployment?"""
    container, = of(gathered, "Deployment")["spec"]["template"]["spec"][
        "containers"]
    path = container["readinessProbe"]["httpGet"]["path"]
    until(lambda: holder.probe(path)[0] == 200, 20, f"{path} is 200")


# What is built

def test_what_it_leaves_out(plane, tmp_path):
    """It has no webhook, does not wait for the webhook's certificate, and has
    no alert about one."""
    objects = render(plane, tmp_path, "overlays/eks",
                     ["prometheus", "admission-policy"],
                     namespace="platform")
    kinds = [o["kind"] for o in objects]
    assert "MutatingWebhookConfiguration" not in kinds
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
        assert "namespace" not in of(objects, kind)["metadata"]
        assert "namespace" not in of(objects, kind + "Binding")["metadata"]
    container, = of(objects, "Deployment")["spec"]["template"]["spec"][
        "containers"]
    assert container["readinessProbe"]["httpGet"] == {
        "path": "/readyz?exclude=shutdown&exclude=certificate",
        "port": "metrics"}
    alerts = {r["alert"] for g in of(objects, "PrometheusRule")["spec"][
        "groups"] for r in g["rules"]}
    assert "KarpenterNodeHolderNoCertificate" not in alerts
    assert {"KarpenterNodeHolderFailOpen", "KarpenterNodeHolderNoLeader",
            "KarpenterNodeHolderCertificateExpiresSoon"} < alerts


def test_the_pattern_is_that_of_the_webhook(gathered):
    """The rules and the condition are those of the webhook, word for word."""
    hook, = next(o for o in yaml.safe_load_all(
        (DEPLOY / "base" / "webhook.yaml").read_text()) if o)["webhooks"]
    spec = of(gathered, "MutatingAdmissionPolicy")["spec"]
    assert spec["matchConstraints"]["resourceRules"] == hook["rules"]
    assert spec["matchConditions"][0] == hook["matchConditions"][0]
    for same in ("failurePolicy", "reinvocationPolicy"):
        assert spec[same] == hook[same]


# What is decided

OTHERS = {"example.com/a": "b", "empty": "",
          "example.com/unicode": "Gr\u00fc\u00dfe ~1 \" \\ \U0001f680"}
OLD = stamp(time.time() - 3600)
KEEP = "example.com/keep"
# What still has room and what has not, to the byte: 256 KiB less 2 KiB.
ROOM = 256 * 1024 - 2048
VALUES = {                  # annotations: are they held?
    "null": (None, True),
    "empty": ({}, True),
    "others": (OTHERS, True),
    "hold true": ({HOLD: "true", **OTHERS}, False),
    "hold false": ({HOLD: "false"}, False),
    "hold empty": ({HOLD: ""}, False),
    "hold 4h": ({HOLD: "4h"}, False),
    "hold and mark": ({HOLD: "true", MARK: OLD}, False),
    "hold and the word": ({HOLD: "true", MARK: WORD}, False),
    "another value and mark": ({HOLD: "no", MARK: OLD}, False),
    "mark alone": ({MARK: OLD, **OTHERS}, True),
    "the word alone": ({MARK: WORD}, True),
    "mark that is nothing": ({MARK: ""}, True),
    "held-key alone": ({HELD_KEY: KEEP + "=1"}, True),
    "another hold": ({KEEP: "1", MARK: OLD, HELD_KEY: KEEP + "=1"}, False),
    "another hold, other value": (
        {KEEP: "2", MARK: OLD, HELD_KEY: KEEP + "=1"}, False),
    "another hold, and ours": (
        {KEEP: "1", HOLD: "true", MARK: OLD, HELD_KEY: KEEP + "=1"},
        False),
    "mark for another hold": ({MARK: OLD, HELD_KEY: KEEP + "=1"}, False),
    "mark for another value": ({MARK: OLD, HELD_KEY: HOLD + "=no"}, False),
    "mark that names the hold": ({MARK: OLD, HELD_KEY: HOLD + "=true"}, True),
    "held-key that is none": ({MARK: OLD, HELD_KEY: "nonsense"}, False),
    "another hold without mark": (
        {KEEP: "1", HELD_KEY: KEEP + "=1"}, True),
    "full to the last": ({"f": "x" * (ROOM - 1)}, True),
    "too full": ({"f": "x" * ROOM}, False),
    "too full in bytes": ({"f": "\u00fc" * (ROOM // 2)}, False),
}
BODIES = {NODES: node_body("n1"), CLAIMS: claim_body(name="n1")}
TAINT = {"key": "example.com/unregistered", "effect": "NoExecute"}


def rows():
    """Returns {what: (path, body, is it held?)}."""
    for path, body in BODIES.items():
        kind = body["kind"]
        yield f"{kind}: missing", (path, body, True)
        for what, (value, expected) in VALUES.items():
            new = copy.deepcopy(body)
            new["metadata"]["annotations"] = value
            yield f"{kind}: {what}", (path, new, expected)
        named = copy.deepcopy(body)
        del named["metadata"]["name"]
        named["metadata"]["generateName"] = "made-"
        yield f"{kind}: generateName", (path, named, True)
    for what, labels in (("no labels", None), ("labels empty", {}),
                         ("other labels", {"a": "b"}),
                         ("another pool", {NODEPOOL: "gpu"}),
                         ("pool without a name", {NODEPOOL: ""})):
        for path in BODIES:
            new = copy.deepcopy(BODIES[path])
            new["metadata"]["labels"] = labels
            yield f"{new['kind']}: {what}", (path, new, True)
            if path == CLAIMS:
                continue
            pooled = NODEPOOL in (labels or {})
            for name, taints in (("none", None), ("another", [TAINT]),
                                 ("two", [TAINT, UNREGISTERED])):
                new = copy.deepcopy(new)
                new["spec"]["taints"] = taints
                yield f"Node: {what}, taints {name}", (
                    path, new, pooled or name == "two")


def outcome(given, answer):
    """The annotations, with a current mark or the policy's own shown as "new".
    """
    was = given["metadata"].get("annotations") or {}
    a = dict(annotations(answer))
    if HOLD in a and HOLD not in was:
        if a[MARK] != WORD:
            assert abs(seconds(a[MARK]) - time.time()) <= LATE
        a[MARK] = "new"
    return a


def changes(plane, given):
    """Requests that are no creation: none marks an object that has lost its
    hold."""
    path, name = NODES, given["metadata"]["name"]
    plane.create(path, given)
    plane.patch(path, name, {"metadata": {"annotations": None}})
    yield annotations(plane.patch(path, name, {"metadata": {"labels": {
        "a": "b"}}}))
    yield annotations(plane.patch(path, name + "/status", {"status": {
        "conditions": [{"type": "Ready", "status": "True"}]}}))
    obj = plane.get(path, name)
    obj["metadata"].pop("managedFields")
    yield annotations(plane.ok("PUT", f"{path}/{name}", obj))
    plane.delete(path, name)


def applied(plane, path, body):
    """A server-side apply creates.  The same apply again, as GitOps does it,
    changes nothing."""
    name = body["metadata"]["name"]
    url = f"{path}/{name}?fieldManager=e2e"
    first = plane.ok("PATCH", url, body, APPLY)
    again = plane.ok("PATCH", url, body, APPLY)
    plane.delete(path, name)
    assert annotations(first) == annotations(again)
    return outcome(body, first)


def table(plane):
    found = {}

    def one(row):
        what, (path, body, _) = row
        found[what] = outcome(body, plane.create(path + "?dryRun=All", body))
    plane.many(one, rows(), 4)
    for path, body in BODIES.items():
        kind = body["kind"]
        real = plane.create(path, body)
        found[f"{kind}: real"] = outcome(body, real)
        assert annotations(plane.get(path, "n1")) == annotations(real)
        plane.delete(path, "n1")
        found[f"{kind}: applied"] = applied(plane, path, body)
        found[f"{kind}: refused"] = [
            plane.request("POST", path, {**body, "metadata": {
                **body["metadata"], "annotations": value}})[0]
            for value in ({"bad key/": "x"}, "text", {"a": 1}, [])]
    found["Node: changes"] = list(changes(plane, BODIES[NODES]))
    # A kubelet, limited by NodeRestriction, and a kubelet that starts again.
    kubelet = plane.kubelet("ip-10-0-0-7")
    body = node_body("ip-10-0-0-7", annotations=OTHERS)
    found["Node: kubelet"] = outcome(body, plane.create(NODES, body,
                                                        user=kubelet))
    found["Node: kubelet again"] = plane.request("POST", NODES, body,
                                                 user=kubelet)[0]
    plane.delete(NODES, "ip-10-0-0-7")
    return found


@pytest.fixture
def led_by_another(plane):
    """A holder that answers reviews and sweeps nothing, as another leads."""
    plane.create(LEASES, {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": NAME}, "spec": {
            "holderIdentity": "another", "leaseDurationSeconds": 3600,
            "renewTime": stamp(time.time()).replace("Z", ".000000Z")}})
    yield {"leaderElection": {"enabled": True, "namespace": NAME}}
    plane.delete(LEASES, NAME)


def test_it_decides_as_the_webhook_does(plane, clean, gathered, make_holder,
                                        led_by_another):
    policy = Policy(plane, gathered)
    policy.remove()
    holder = make_holder(holdDuration="10m", **led_by_another)
    webhooks = table(plane)
    policy.install()
    both = table(plane)
    holder.unregister()
    reviews = "karpenter_node_holder_admission_requests_total"

    def only_the_policy():
        asked = holder.metric(reviews)
        assert marked(plane)
        return holder.metric(reviews) == asked
    until(only_the_policy, 10, "the webhook is not called")
    def checks():
        """Returns {error_type: count}."""
        count = "apiserver_mutating_admission_policy_check_total"
        return {re.search('error_type="([^"]*)"', k)[1]: v
                for k, v in plane.metrics().items()
                if k.startswith(count) and f'policy="{NAME}"' in k}
    begin, before = holder.metric(reviews), checks()
    policies = table(plane)
    assert holder.metric(reviews) == begin
    # Requests of just after the policy was made may have failed.
    after = checks()
    assert after.pop("no_error") > before.pop("no_error", 0)
    assert after == before
    assert policies == webhooks == both
    given = dict(rows())
    wrong = {what: policies[what] for what, (_, body, expected)
             in given.items()
             if (policies[what].get(MARK) == "new") != expected}
    assert not wrong
    for what, (_, body, expected) in given.items():
        was = body["metadata"].get("annotations") or {}
        kept = {k: v for k, v in was.items() if k not in (MARK, HELD_KEY)}
        assert policies[what] == ({**kept, HOLD: "true", MARK: "new"}
                                   if expected else was), what
    assert policies["Node: changes"] == [{}, {}, {}]
    assert policies["Node: refused"] == [422, 400, 400, 400]
    assert not holder.metric("karpenter_node_holder_holds_total")
    policy.remove()
    held = [what for what, a in table(plane).items()
            if what in given and a.get(MARK) == "new"]
    assert not held, "by something else"


def test_a_pool_left_out_and_another_hold(plane, policy):
    """The two lists of the configuration that are repeated in the policy."""
    objects = copy.deepcopy(policy.objects)
    spec = of(objects, "MutatingAdmissionPolicy")["spec"]
    pool, = (c for c in spec["matchConditions"] if c["name"] == "pool")
    assert pool["expression"].endswith(" in [])")
    pool["expression"] = pool["expression"].replace("[])",
                                                    "['static', 'gpu'])")
    with restored(policy, objects):
        until(lambda: not marked(plane, "gpu"), 20, "left out")
        assert not marked(plane, "static")
        assert marked(plane, "general") and marked(plane, None)
        assert MARK in annotations(plane.create(
            CLAIMS + "?dryRun=All", {**claim_body(), "metadata": {
                "name": "a", "labels": None}}))
    key, = (c for c in spec["matchConditions"] if c["name"] == "unheld")
    expression = key["expression"].replace(
        f"!('{HOLD}' in", f"!('{KEEP}' in")
    assert expression.endswith(f"!= '{HOLD}=true'))")
    key["expression"] = expression.removesuffix(
        f"'{HOLD}=true'))") + f"'{KEEP}=1'))"
    for variable in spec["variables"]:
        if variable["name"] == "key":
            variable["expression"] = f"'{KEEP}'"
        if variable["name"] == "value":
            variable["expression"] = "'1'"
    with restored(policy, objects):
        until(lambda: KEEP in probed(plane), 20, "another key")
        for path, body in BODIES.items():
            for given, expected in (
                    ({}, True), ({HOLD: "true"}, True), ({KEEP: "2"}, False),
                    ({MARK: OLD, HELD_KEY: "a=b"}, False),
                    ({MARK: OLD, HELD_KEY: KEEP + "=1"}, True),
                    ({MARK: OLD}, False), ({MARK: OLD, HOLD: "true"}, False)):
                body = copy.deepcopy(body)
                body["metadata"]["annotations"] = given
                a = annotations(plane.create(path + "?dryRun=All", body))
                assert a == ({**given, KEEP: "1", MARK: WORD,
                              HELD_KEY: KEEP + "=1"}
                             if expected else given)


@contextlib.contextmanager
def restored(policy, objects):
    try:
        yield policy.apply(objects)
    finally:
        policy.install()


# What comes of it

def test_a_hold_comes_and_goes(plane, gathered, policy, without_webhook,
                               karpenter, view):
    """There is no webhook and no certificate, and the rest is in force."""
    old = karpenter.settled(20)
    plane.many(lambda m: plane.patch(NODES, m.node, {"metadata": {
        "annotations": {HOLD: None, MARK: None}}}), old)
    theirs = karpenter.settled(2, annotations=lambda i: {HOLD: "true"})
    kept = {m.node: annotations(plane.get(NODES, m.node)) for m in theirs}
    holder = without_webhook(holdDuration="14s")
    ready(holder, gathered)
    assert holder.probe("/readyz")[0] == 500
    view.wait_clear(nodes(old) + claims(old + theirs), 28)
    # The policy of base is in force for the very token that the holder uses.
    assert plane.request("PATCH", f"{NODES}/{old[0].node}", {"metadata": {
        "labels": {"a": "b"}}}, user=holder.account)[0] == 403

    m = karpenter.claim()
    assert plane.annotations(CLAIMS, m.name)[MARK] == WORD
    karpenter.launch(m)
    answer = karpenter.boot(m)
    assert annotations(answer)[HOLD] == "true"
    assert annotations(answer)[MARK] == WORD
    # Removed before it counts, so it is no failed boot.
    karpenter.remove(karpenter.claim(annotations={HOLD: "true"}))
    karpenter.register(m)
    karpenter.initialize(m)
    view.wait_held(nodes(old))
    for x in old:       # the sweeper has a clock
        seconds(plane.annotations(NODES, x.node)[MARK])
    first, last = view.check_released(nodes(old + [m]), m.ready + 14)
    view.wait_clear(claims([m]))
    assert {m.node: annotations(plane.get(NODES, m.node))
            for m in theirs} == kept
    print(f"\nreleased {first:.1f} to {last:.1f} s after the quiet time")


def test_a_pool_that_the_policy_does_not_know_of(plane, policy, karpenter,
                                                 without_webhook, view):
    """A NodePool is switched off, or excluded only by the configuration.  The
    leader clears what the policy marks, and people's holds stay."""
    plane.create(POOLS, node_pool("off"))
    plane.patch(POOLS, "off", {"metadata": {"annotations": {
        NAME + ".io/enabled": "false"}}})
    holder = without_webhook(holdDuration="10m",
                             nodePools={"exclude": ["static-*"]})
    until(lambda: holder.metric("karpenter_node_holder_watch_up") == 4, 20,
          "all watches up")
    made = [karpenter.claim(pool) for pool in ("off", "static-a")]
    own = [karpenter.claim(pool, annotations={HOLD: "true"})
           for pool in ("off", "static-a")]
    assert all(plane.annotations(CLAIMS, m.name)[HOLD] == "true"
               for m in own)
    for m in made:
        karpenter.launch(m)
        karpenter.boot(m)
    view.wait_clear(claims(made) + nodes(made), SOON)
    control = karpenter.machine()
    view.check_stays(nodes([control]), lambda meta: not clear(meta),
                     "held", 2)
    for m in own:
        assert HOLD in plane.annotations(CLAIMS, m.name)


def test_what_many_annotations_cost(plane, policy):
    """What the policy costs the API server grows with their number alone."""
    body = node_body("many", annotations={f"{n:x}": "" for n in range(30000)})

    def spent(marked):
        """The API server's processor time, in seconds."""
        before = plane.metrics()["process_cpu_seconds_total"]
        status, node = plane.request("POST", NODES + "?dryRun=All", body,
                                     timeout=120)
        assert status == 201, node
        assert (MARK in annotations(node)) == marked
        return plane.metrics()["process_cpu_seconds_total"] - before
    ours = spent(True)
    policy.remove()
    others = spent(False)
    print(f"{others:.1f} s without the policy, {ours:.1f} s with it")
    assert ours < 5 * others + 1


def test_after_a_restart_of_the_api_server(plane, policy):
    """Until the API server knows their schema it refuses the creation of
    NodeClaims, whatever failurePolicy says.  It never refuses that of Nodes.
    """
    plane.stop_apiserver()
    plane.start_apiserver()
    begin = time.monotonic()
    refused = []

    def in_force():
        probed(plane)   # a Node is not refused
        status, answer = plane.request("POST", CLAIMS + "?dryRun=All",
                                       claim_body())
        if status != 201:
            assert status in (404, 503), answer
            refused.append(status)
            return False
        return by_policy(plane)
    until(in_force, 60, lambda: f"in force again: {refused}", every=0.2)
    print(f"\nin force {time.monotonic() - begin:.1f} s after a restart; "
          f"NodeClaims refused {len(refused)} times before: "
          f"{sorted(set(refused))}")


def test_changing_over(plane, policy):
    """The guide's commands work in both directions."""
    guide = (REPO / "docs" / "operations.md").read_text()
    there, back = (re.search(rf"kubectl (delete {kind}\S* {NAME})$", guide,
                             re.M)[1].split() for kind in
                   ("mutatingwebhookconfiguration", "mutatingadmissionpol"))
    plane.kubectl("apply", "-f", DEPLOY / "base" / "webhook.yaml")
    plane.kubectl("apply", "-f", "-",
                  stdin=yaml.safe_dump_all(policy.objects))
    assert len(plane.get(WEBHOOKS)["items"]) == 1 and by_policy(plane)
    plane.kubectl(*there)
    assert plane.get(WEBHOOKS)["items"] == [] and by_policy(plane)
    plane.kubectl(*back)
    until(lambda: not probed(plane), 20, "the policy gone")


# What it costs

ROUNDS, EACH = 4, 50


def measure(plane, way, n):
    """Returns the milliseconds of each of a series of creations on one
    connection."""
    took = []
    for i in range(EACH):
        for path, body in ((NODES, node_body(f"{way}{n}-{i}")),
                           (CLAIMS, claim_body(name=f"{way}{n}-{i}"))):
            begin = time.perf_counter()
            answer = plane.create(path, body)
            took.append(1000 * (time.perf_counter() - begin))
            assert (HOLD in annotations(answer)) == (way != "neither")
    return took


@pytest.mark.long
def test_what_a_creation_costs(plane, clean, gathered, make_holder,
                               led_by_another):
    """These are figures for docs/operations.md; no machine has to reach them.
    """
    policy = Policy(plane, gathered)
    policy.remove()
    holder = make_holder(holdDuration="10m", register=False, **led_by_another)
    took = {"neither": [], "webhook": [], "policy": []}
    # They take turns, as the machine is not always as busy.
    for n in range(ROUNDS):
        for way, begin, end in (
                ("neither", lambda: None, lambda: None),
                ("webhook", holder.register, holder.unregister),
                ("policy", policy.install, policy.remove)):
            begin()
            took[way] += measure(plane, way, n)
            end()
            until(lambda: not marked(plane), 10, "neither")
    p50 = {way: statistics.median(t) for way, t in took.items()}
    p99 = {way: statistics.quantiles(t, n=100)[98] for way, t in took.items()}
    print()
    for way, t in took.items():
        print(f"{way}: {len(t)} creations, p50 {p50[way]:.2f} ms "
              f"(x{p50[way] / p50['neither']:.2f}), p99 {p99[way]:.2f} ms "
              f"(x{p99[way] / p99['neither']:.2f})")
