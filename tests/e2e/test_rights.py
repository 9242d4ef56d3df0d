# SPDX-License-Identifier: Apache-2.0
"""What the API server refuses: a right that was not given, or one object that
somebody's policy guards."""
import base64
import re
import time

import pytest

from cluster import node_pool
from controlplane import (ADMISSION, CLAIMS, MERGE, NODES, POOLS, free_port,
                          until)
from hold import HOLD, LATE, MARK, SOON, claims, clear, held, nodes
from holder import deployed
from lead import ACCOUNT, NAMESPACE
from test_outage import RECONNECT, UP
from test_pools import OWN

# Seconds that a new leader waits for the first lists of NodePools and Events.
WAITS = 10
CALLS = "rest_client_requests_total"
EVENTS = ("/api/v1/namespaces/default/events",
          "/apis/events.k8s.io/v1/namespaces/default/events")


def warnings(holder, word):
    """The lines above level info that contain this word, or a value with it.
    """
    return [e for e in holder.logs()
            if str(e.get("level")).lower() in ("warn", "warning", "error")
            and any(re.search(rf"(?<![\w-]){word}(?![\w-])", str(v))
                    for v in e.values())]


# --- a right is missing ------------------------------------------------------

def account(plane, name, resources, events=False):
    """An account whose ClusterRole is that of deploy/base, for these resources
    alone.  events: it has the rights of deploy/base on them."""
    role, = (o for o in deployed("rbac.yaml") if o["kind"] == "ClusterRole")
    meta = {"name": name}
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                 "metadata": {"name": name, "namespace": NAMESPACE}})
    plane.apply({
        "apiVersion": role["apiVersion"], "kind": "ClusterRole",
        "metadata": meta, "rules": [
            {**rule, "resources": [r for r in rule["resources"]
                                   if r in resources]}
            for rule in role["rules"]
            if set(rule["resources"]) & set(resources)]})
    plane.apply({
        "apiVersion": role["apiVersion"], "kind": "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name,
                      "namespace": NAMESPACE}]})
    if events:
        binding, = (o for o in deployed("rbac.yaml")
                    if o["kind"] == "RoleBinding"
                    and o["metadata"]["namespace"] == "default")
        plane.apply({**binding,
                     "metadata": {"name": name, "namespace": "default"},
                     "subjects": [{"kind": "ServiceAccount", "name": name,
                                   "namespace": NAMESPACE}]})
    identity = plane.service_account(NAMESPACE, name)
    until(lambda: plane.request("GET", NODES, user=identity)[0] == 200, 10,
          "the rights are known")
    return identity


@pytest.mark.long
def test_without_any_right_on_events(plane, make_holder, karpenter, view):
    """Karpenter's Events cannot be read and ours cannot be written.  The
    holder holds and releases, and says what it misses."""
    hold = 8
    holder = make_holder(start=False, register=False, holdDuration=f"{hold}s")
    poor = account(plane, "no-events", ["nodes", "nodeclaims", "nodepools"])
    for path in EVENTS:
        assert plane.request("GET", path, user=poor)[0] == 403
        assert plane.request("POST", path, {}, user=poor)[0] == 403
    plane.create(POOLS, node_pool("general"))  # there would be Events about it
    old = karpenter.settled(5)
    holder.act_as(poor)
    holder.start()
    begin = time.time()
    holder.register()
    until(lambda: warnings(holder, "Event"), WAITS + SOON, lambda:
          f"it says that it goes without Events: {holder.logs()}")
    time.sleep(max(0, begin + WAITS + 1 - time.time()))
    m = karpenter.machine()
    view.wait_held(nodes(old))
    view.check_released(nodes(old + [m]) + claims([m]), m.ready + hold)
    assert {kind: holder.metric(UP, kind=kind) for kind in (
        "Node", "NodeClaim", "NodePool", "Event")} == {
        "Node": 1, "NodeClaim": 1, "NodePool": 1, "Event": 0}
    assert holder.metric(CALLS, code="403"), "this test shows nothing"
    # It is enough to say it once.
    assert len(warnings(holder, "Event")) == 1, warnings(holder, "Event")


@pytest.mark.long
def test_nodepools_cannot_be_listed_at_the_start(
        plane, make_holder, karpenter, view):
    """A person may have set something on them.  The first spread waits a while
    for that, but not for ever, and then follows the configuration."""
    hold = 22
    holder = make_holder(start=False, register=False, holdDuration=f"{hold}s",
                         nodePools={"exclude": ["excluded"]})
    poor = account(plane, "no-pools", ["nodes", "nodeclaims"], events=True)
    assert plane.request("GET", EVENTS[0], user=poor)[0] == 200
    assert plane.request("GET", POOLS, user=poor)[0] == 403
    for pool in ("general", "disabled", "excluded"):
        plane.create(POOLS, node_pool(pool))
    plane.patch(POOLS, "disabled", {"metadata": {"annotations": {
        OWN + "enabled": "false"}}})
    old = karpenter.settled(3)
    disabled = karpenter.settled(2, "disabled")
    excluded = karpenter.settled(2, "excluded")
    holder.act_as(poor)
    m = karpenter.machine()
    begin = time.time()
    holder.start()
    # Nothing happens for about so long.
    view.check_stays(nodes(old + disabled), clear, "held at once",
                     begin + WAITS - 2 - time.time())
    view.wait_held(nodes(old + [m]), SOON)
    took = time.time() - begin
    assert took < WAITS + LATE, f"the first spread came after {took:.1f} s"
    assert warnings(holder, "NodePool"), "it does not say so"
    # The holder cannot know of the annotation, and follows the configuration.
    view.wait_held(nodes(disabled))
    assert all(map(clear, view.of(nodes(excluded)).values()))
    # Nothing is released on half a view.
    view.check_stays(nodes(old + disabled + [m]), held, "released unseen",
                     m.ready + hold + 3 - time.time())
    account(plane, "no-pools", ["nodes", "nodeclaims", "nodepools"])
    view.wait_clear(nodes(old + disabled + [m]) + claims([m]), RECONNECT)
    assert len(warnings(holder, "NodePool")) <= 3, \
        warnings(holder, "NodePool")
    print(f"the first spread came after {took:.1f} s")


# --- one NodeClaim is out of reach -------------------------------------------

CODES = {"forbidden": 403, "invalid": 422, "broken": 500}
# Behind the names of object, policy and binding.
POLICY_SAYS = "not this one, or name the ticket of the change beside it"
SAYS = {"forbidden": POLICY_SAYS, "invalid": POLICY_SAYS,
        "broken": "connection refused"}


def guard(plane, name, how):
    """Keeps only the holder from changing that NodeClaim."""
    matches = {
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["karpenter.sh"], "apiVersions": ["*"],
            "operations": ["UPDATE"], "resources": ["nodeclaims"]}]},
        "matchConditions": [
            {"name": "it", "expression": f"object.metadata.name == '{name}'"},
            {"name": "holder",
             "expression": f"request.userInfo.username == '{ACCOUNT}'"}]}
    meta = {"name": f"{name}.example.com"}
    if how == "broken":     # the server of somebody's webhook is away
        return [{
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration", "metadata": meta,
            "webhooks": [{
                "name": meta["name"], "failurePolicy": "Fail",
                "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 2,
                "rules": matches["matchConstraints"]["resourceRules"],
                "matchConditions": matches["matchConditions"],
                "clientConfig": {
                    "url": f"https://127.0.0.1:{free_port()}/",
                    "caBundle": base64.b64encode(
                        (plane.dir / "ca.crt").read_bytes()).decode()}}]}]
    return [{
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy", "metadata": meta,
        "spec": {"failurePolicy": "Fail", **matches, "validations": [{
            "expression": "false", "message": POLICY_SAYS,
            "reason": how.capitalize()}]}}, {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta,
        "spec": {"policyName": meta["name"],
                 "validationActions": ["Deny"]}}]


@pytest.fixture
def guarded(plane):
    """guarded(name, how, account) guards it from now on."""
    made = []

    def make(name, how, holder):
        objects = guard(plane, name, how)
        made.extend(objects)
        for o in objects:
            plane.apply(o)

        def refused():
            status, answer = plane.request(
                "PATCH", f"{CLAIMS}/{name}?dryRun=All&fieldManager="
                "karpenter-node-holder", {"metadata": {"annotations": {
                    # base's policy allows it
                    "karpenter-node-holder.io/replacement": "a"}}},
                user=holder)
            if how == "broken" and status == 500:
                assert "failed calling webhook" in answer["message"]
            return status == CODES[how]
        until(refused, 20, f"{name} cannot be changed")
    yield make
    for path in ("validatingadmissionpolicybindings",
                 "validatingadmissionpolicies",
                 "validatingwebhookconfigurations"):
        for o in made:
            plane.request("DELETE",
                          f"{ADMISSION}/{path}/{o['metadata']['name']}")


class Refusals:
    """How often the holder was refused a patch, and for which claims."""

    def __init__(self, holder, names):
        self.holder, self.names = holder, names
        self.begin = self.now()

    def now(self):
        return {how: self.holder.metric(CALLS, method="PATCH",
                                        code=str(code))
                for how, code in CODES.items()}

    def count(self):
        return {how: n - self.begin[how] for how, n in self.now().items()}

    def check(self, most):
        for how, count in self.count().items():
            assert 1 <= count <= most, f"{how}: {count:.0f} calls"

    def check_told(self):
        for name in self.names:
            told = warnings(self.holder, name)
            assert len(told) == 1, (name, told)
            assert told[0].get("write") == "release", told
            how = name.removeprefix("is-")
            assert told[0]["err"].startswith(f"{CODES[how]}: "), told
            assert told[0]["err"].endswith(SAYS[how]), told


def out_of_reach(plane, make_holder, karpenter, view, guarded, hold):
    """All is released in time, but for three claims.  Returns those machines
    and Refusals."""
    old = karpenter.settled(3)
    holder = make_holder(holdDuration=f"{hold}s")
    holder.refused = True
    bad = [karpenter.machine(name=f"is-{how}") for how in CODES]
    for m, how in zip(bad, CODES):
        guarded(m.name, how, holder.account)
    good = karpenter.machine()
    everything = nodes(old + bad + [good]) + claims([good])
    view.wait_held(everything)
    refusals = Refusals(holder, [m.name for m in bad])
    view.check_released(everything, good.ready + hold)
    assert all(map(held, view.of(claims(bad)).values())), \
        "this test shows nothing"
    return bad, refusals


@pytest.mark.long
def test_a_claim_that_cannot_be_patched(
        plane, make_holder, karpenter, view, guarded):
    """Its Node is released in time, and only the Node's annotation ever blocks
    Karpenter."""
    bad, refusals = out_of_reach(plane, make_holder, karpenter, view,
                                 guarded, 8)
    time.sleep(8)
    refusals.check(10)
    refusals.check_told()
    # It does not affect anything else: the next round is like the first.
    before = refusals.count()
    m = karpenter.machine()
    view.wait_held(nodes(bad + [m]))
    view.check_released(nodes(bad + [m]) + claims([m]), m.ready + 8)
    after = refusals.count()
    assert all(after[how] - before[how] <= 6 for how in CODES), \
        (before, after)
    refusals.check_told()


def test_a_claim_that_cannot_be_held(
        plane, make_holder, karpenter, view, guarded):
    """It was made while no webhook was asked.  Its Node is held all the same.
    """
    hold = 8
    holder = make_holder(start=False, register=False, holdDuration=f"{hold}s")
    holder.refused = True
    old = karpenter.settled(2)
    m = karpenter.claim(name="is-forbidden")
    guarded(m.name, "forbidden", holder.account)
    karpenter.launch(m)
    holder.start()
    view.wait_held(nodes(old))
    until(lambda: holder.metric(CALLS, method="PATCH", code="403"), SOON,
          "a refusal")
    karpenter.boot(m)
    karpenter.register(m)
    karpenter.initialize(m)
    view.wait_held(nodes([m]))
    view.check_released(nodes(old + [m]), m.ready + hold)
    assert all(map(clear, view.of(claims([m])).values()))
    assert len(warnings(holder, m.name)) == 1, warnings(holder, m.name)


@pytest.mark.long
def test_asked_less_and_less_often(
        plane, make_holder, karpenter, view, guarded):
    """It is asked for ever more rarely, down to once in ten minutes, and
    cleared when that is allowed."""
    bad, refusals = out_of_reach(plane, make_holder, karpenter, view,
                                 guarded, 8)
    time.sleep(180)
    print("calls in 3 minutes:", refusals.count())
    refusals.check(14)  # with 10 s between two tries it would be 18 and more
    refusals.check_told()


@pytest.mark.long
def test_a_node_with_19000_annotations_is_released(plane, make_holder,
                                                   karpenter, view):
    """Its own kubelet may write them, and the API server's limit is in bytes.
    The policy on the holder's writes has to be evaluated in time, and the
    holder has to read what it is to release."""
    holder = make_holder(holdDuration="20s")
    m = karpenter.machine()
    view.wait_held(nodes([m]))
    plane.ok("PATCH", f"{NODES}/{m.node}", {"metadata": {"annotations": {
        f"{i:x}": "v" for i in range(19000)}}}, MERGE,
        user=plane.kubelet(m.node), timeout=60)
    first, last = view.check_released(nodes([m]), m.ready + 20, late=60)
    there = plane.get(NODES, m.node)["metadata"]["annotations"]
    assert len(there) >= 19000 and HOLD not in there and MARK not in there
    assert not [e for e in holder.logs() if e["msg"] == "write refused"]
    print(f"released {last:.1f} s after the quiet time")
