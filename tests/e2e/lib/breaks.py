# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with an installation, one thing at a time: how it is
broken, and what `holderctl check` has to say of it.

docs/check.md has a table of these, which test_check.py compares.
"""
import base64
import collections
import contextlib
import copy
import http.server
import json
import threading
import time

import yaml

from cluster import node_pool
from controlplane import (ADMISSION, MERGE, NAMESPACES, NODES, POOLS, RBAC,
                          REPO, WEBHOOKS)
from hold import HOLD
from holder import deployed
from installation import (DEPLOYMENTS, KARPENTER_LEASE, KARPENTER_LEASES, PODS,
                          SLICES, VERSION)
from lead import LEASES, NAME, NAMESPACE

WEBHOOK = f"{WEBHOOKS}/{NAME}"
HOLDER = f"{DEPLOYMENTS.format(NAMESPACE)}/{NAME}"
RENEWER = HOLDER + "-renewer"
KARPENTER = DEPLOYMENTS.format("kube-system") + "/karpenter"
SERVICE = f"{NAMESPACES}/{NAMESPACE}/services/{NAME}"
POLICY = f"{ADMISSION}/validatingadmissionpolicies/{NAME}"
BINDING = f"{ADMISSION}/validatingadmissionpolicybindings/{NAME}"
MUTATING = POLICY.replace("validating", "mutating")
MUTATING_BINDING = BINDING.replace("validating", "mutating")
BUDGET = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{NAME}"
ROLE = f"{RBAC}/clusterroles/{NAME}"
OWN_ROLE = f"{RBAC}/namespaces/{NAMESPACE}/roles/{NAME}"
TICKETS = f"{NAMESPACES}/{NAME}-tickets"
TICKETS_ROLE = f"{RBAC}/namespaces/{NAME}-tickets/roles/{NAME}-tickets"
RENEWER_ROLE = f"{RBAC}/namespaces/{NAMESPACE}/roles/{NAME}-self-signed"
EVENTS_ROLE = f"{RBAC}/namespaces/default/roles/{NAME}-events"
UNHELD = ("dry-run-unheld", "dry-run-unheld")

# what: for the table.  ids: what is found, first what is said first.  says: a
# part of what that says.  changes: [(path, change)], where change edits the
# object or returns a new one; None: the object is deleted.  told: edits what
# /status says.  fixes: True, if the command that is printed fixes it once the
# controllers and the renewer, which do not run here, have done their part.
# Otherwise why no command can.  on: the installations where it can be broken.
INSTALLATIONS = ("self-signed", "default", "helm")
RENEWED = ("self-signed", "helm")
Break = collections.namedtuple(
    "Break", "what ids says fixes changes told flags on",
    defaults=((), None, (), INSTALLATIONS))
LOG = "the reason is in the log that the command shows"
EDIT = "only a person knows what was meant; the command opens the editor"
SHOWS = "the command shows the cause"
OWNER = "only its owner can change it"
NEWER = "it takes another version"
DRIFT = ("it would drift all nodes of the NodePool, which somebody has to want; "
         "the command shows them")

# Findings that no break here brings, and where they are tried.
ELSEWHERE = {
    "api-unreachable": "tests/edge/test_check.py; no command helps",
    "kubernetes-version": NEWER,
    "kubernetes-version-newer": NEWER,
    "karpenter-crds": NEWER,
    "bundle-expired": "as bundle-unreadable, with the same command",
    "served-expired": "as bundle-other-ca, with the same command",
    "webhook-unreached": "only in a Pod; shows the pods",
    "certificate-ends": "needs the secret key of the CA",
    "holder-missing": "test_a_trial_and_a_dead_holder; shows the pods",
    "marks-without-holder": "test_marks_of_a_holder_that_is_gone",
    "marks-while-observing": "test_marks_in_a_trial",
    "marks-for-another-hold": "test_marks_for_another_hold",
    "observing-for-long": "test_a_trial_and_a_dead_holder",
    "configuration-stale": "test_a_configmap_that_was_edited",
    "leader-silent": "test_a_lease_of_nobody",
    "leader-missing": "test_a_trial_and_a_dead_holder; " + LOG,
    "dry-run-held": "the same command as bundle-other-ca, for the holder",
    "placement-one-node": "needs a scheduler",
    "go-holds": "the same command as go-annotations, for one Node",
    "holds-missing": "test_a_policy_that_takes_the_hold_away",
    **{name + "-unknown": "test_a_healthy_installation" for name in (
        "admission", "rights", "karpenter", "nodepools", "holder", "placement",
        "leftovers")},
    "bundle-unknown": "nothing brings it about",
}


def hook(client=None, **fields):
    def change(o):
        one = o["webhooks"][0]
        one.update(fields)
        one["clientConfig"].update(client or {})
        for key in [k for k, v in one["clientConfig"].items() if v is None]:
            del one["clientConfig"][key]
        for key in [k for k, v in one.items() if v is None]:
            del one[key]
    return [(WEBHOOK, change)]


def service_of(**fields):
    def change(o):
        o["webhooks"][0]["clientConfig"]["service"].update(fields)
    return [(WEBHOOK, change)]


def to_url(port, host="127.0.0.1", **client):
    return hook({"service": None, "url": f"https://{host}:{port}/mutate",
                 **client})


def spec(path, **fields):
    return [(path, lambda o: o["spec"].update(fields))]


def status(path, **fields):
    return [(path, lambda o: o["status"].update(fields))]


def scaled(path, n):
    def change(o):
        o["spec"]["replicas"] = n
        o["status"].update({k: n for k in (
            "replicas", "readyReplicas", "availableReplicas",
            "updatedReplicas")})
    return [(path, change)]


def pod(name, ready=False, waiting=None, last=None):
    def change(o):
        o["status"]["conditions"] = [
            {"type": "Ready", "status": str(ready)}]
        if waiting:
            one = o["status"]["containerStatuses"][0]
            one.update(ready=False, state={"waiting": waiting},
                       lastState={"terminated": last} if last else {})
    return [(f"{PODS}/{name}", change)]


def made(path, **body):
    return [(f"{path}/{body['metadata']['name']}", lambda o: body)]


def gone(*paths):
    return [(path, None) for path in paths]


def without(path, resource, *verbs):
    def change(o):
        for rule in o["rules"]:
            if resource in rule["resources"]:
                rule["verbs"] = [v for v in rule["verbs"] if v not in verbs]
        o["rules"] = [r for r in o["rules"] if r["verbs"]]
    return [(path, change)]


def variable(name, expression):
    def change(o):
        one, = (v for v in o["spec"]["variables"] if v["name"] == name)
        one["expression"] = expression
    return [(POLICY, change)]


KEPT = "example.com/keep"


def kept(also=lambda o: None):
    (path, change), = variable("holds", f"['{HOLD}', '{KEPT}']")
    return [(path, lambda o: change(o) or also(o))]


def keeps(o):
    o["configuration"]["holdAnnotation"]["key"] = KEPT


def other_namespace(o):
    one = o["spec"]["matchConditions"][0]
    one["expression"] = one["expression"].replace(
        f"serviceaccount:{NAMESPACE}:", "serviceaccount:elsewhere:")


def template(**fields):
    return [(f"{POOLS}/web", lambda o: o["spec"]["template"].update(fields))]


HOSTILE = "'; exit 7; \"$(exit 7)` #\n\\"


def annotated(**values):
    return [(f"{POOLS}/web", lambda o: o["metadata"].update(annotations={
        f"{NAME}.io/{key}": value for key, value in values.items()}))]


def version(text):
    return [(KARPENTER, lambda o: o["metadata"]["labels"].update(
        {VERSION: text}))]


def told(**fields):
    return lambda o: o.update(fields)


def patterns(key, *values):
    def change(o):
        o["configuration"]["nodePools"][key] = list(values)
    return change


def waiting(o):
    o["nodePools"] = [{"name": "web", "waiting": 2}]


def blind(o):
    o["views"][1]["watching"] = False


def too_large(o):
    for scope in o["scopes"]:
        scope["waitsFor"].append({
            "reason": "unread", "message": "NodeClaim x cannot be read whole"})


def deployed_elsewhere(o):
    del o
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": NAME, "namespace": "second", "labels": {
                "app.kubernetes.io/name": NAME,
                "app.kubernetes.io/component": "controller"}},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "x"}]}}},
            "status": {"replicas": 1, "readyReplicas": 1,
                       "availableReplicas": 1}}


def lease(name, namespace):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace}, "spec": {
                "holderIdentity": "another_1", "leaseDurationSeconds": 3600,
                "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z",
                                           time.gmtime())}}


ANOTHER = DEPLOYMENTS.format("second")
CRASH = {"exitCode": 2, "reason": "Error",
         "message": "/config/config.yaml:6:15: holdDuration: \"ten\""}
BACK_OFF = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}
EXPIRED = {"valid": False, "notAfter": "2026-01-01T00:00:00Z"}


def breaks(cut, other_ca, holder):
    """cut: a port where handshakes are cut.  other_ca: base64 of PEM.  holder:
    the port of its webhook."""
    B = Break
    return [
        # what is registered
        B("the webhook is deleted", ("webhook-missing", *UNHELD),
          "no MutatingWebhookConfiguration has the webhook", True,
          gone(WEBHOOK)),
        B("a second configuration has the webhook",
          ("webhook-twice", "bundle-missing"), f"{NAME} and second", True,
          second("second")),
        B("another, whose name sorts before ours",
          ("webhook-twice", "bundle-missing"), f"{NAME} and a-stray", True,
          second("a-stray")),
        B("no rule names NodeClaims", ("webhook-rules", "dry-run-unheld"),
          "creation of NodeClaims", True, [(WEBHOOK, no_claims)]),
        B("a rule names updates, too", ("webhook-rules-wide",),
          "more than creations", True, [(WEBHOOK, wide)]),
        B("the matchConditions are gone", ("webhook-match-conditions",),
          "without the matchConditions", True, hook(matchConditions=None)),
        B("other matchConditions",
          ("webhook-match-conditions", "dry-run-unheld"),
          "not the matchConditions", True,
          hook(matchConditions=[{"name": "x",
            "expression": "request.kind.kind != 'Node'"}])),
        B("an objectSelector", ("webhook-selector", *UNHELD),
          "objectSelector narrows it", True,
          hook(objectSelector={"matchLabels": {"a": "b"}})),
        B("`failurePolicy: Fail`", ("webhook-failure-policy",),
          "failurePolicy Fail", True, hook(failurePolicy="Fail")),
        B("a timeout of 30 s", ("webhook-settings",), "timeout 30 s", True,
          hook(timeoutSeconds=30)),
        B("`matchPolicy: Exact`", ("webhook-settings",), "matchPolicy Exact",
          True, hook(matchPolicy="Exact")),
        B("`reinvocationPolicy: Never`", ("webhook-settings",),
          "reinvocationPolicy Never", True, hook(reinvocationPolicy="Never")),
        B("a timeout of 1 s", ("webhook-settings",), "timeout 1 s", True,
          hook(timeoutSeconds=1)),
        B("a namespaceSelector", ("webhook-selector",),
          "a namespaceSelector or objectSelector narrows it", True,
          hook(namespaceSelector={"matchLabels": {"a": "b"}})),
        B("a matchCondition is added", ("webhook-match-conditions", *UNHELD),
          "not the matchConditions", True, [(WEBHOOK, condition_added)]),
        B("the MutatingAdmissionPolicy without its binding",
          ("policy-unbound", *UNHELD), "its binding is missing", True,
          gone(WEBHOOK) + [(MUTATING, mutating),
                           (MUTATING_BINDING, lambda o: None)]),
        B("somebody's policy refuses Nodes",
          ("admission-foreign", "dry-run-unknown"),
          "by somebody else: validatingadmissionpolicy/deny", OWNER, denial()),
        B("somebody's webhook for Nodes is dead",
          ("admission-foreign", "dry-run-unknown"),
          "by somebody else: mutatingwebhookconfiguration/dead", OWNER,
          dead_webhook()),
        # the way to the holder
        B("the webhook names another namespace", ("service-missing", *UNHELD),
          f"but the holder is in namespace {NAMESPACE}", True,
          service_of(namespace="elsewhere")),
        B("the webhook names another port", ("service-port", *UNHELD),
          "it calls port 8443", True, service_of(port=8443)),
        # Connections that are open already still lead to the holder.
        B("the Service is deleted", ("service-missing",),
          "which is not there", True, gone(SERVICE)),
        B("the Service has another `targetPort`", ("service-target",),
          "leads to port https, which no pod", True,
          [(SERVICE,
            lambda o: o["spec"]["ports"][0].update(targetPort="https"))]),
        B("the Service selects other pods", ("service-selector",),
          "selects pods with app=holder", True,
          [(SERVICE, lambda o: o["spec"].update(selector={"app": "holder"}))]),
        B("the Service has no endpoints", ("endpoints-missing",),
          "has no ready endpoint, though", True,
          [(f"{SLICES}/{NAME}", lambda o: o.update(endpoints=[]))]),
        B("its endpoints are not ready", ("endpoints-missing",),
          "has no ready endpoint, though", True,
          [(f"{SLICES}/{NAME}",
            lambda o: [e["conditions"].update(ready=False)
                       for e in o["endpoints"]] and None)]),
        # certificates
        B("`caBundle` is empty", ("bundle-missing", *UNHELD), "no caBundle",
          True, hook({"caBundle": None})),
        B("`caBundle` has a certificate twice", ("bundle-unreadable",),
          "not PEM certificates, each once", True, [(WEBHOOK, twice)]),
        B("`caBundle` is that of another CA, from where the webhook is reached",
          ("bundle-other-ca", *UNHELD), "does not verify what", OWNER,
          to_url(holder, caBundle=other_ca)),
        B("`caBundle` is that of another CA, from a laptop",
          ("bundle-other-ca", *UNHELD),
          f"has not the CA that signed what https://{NAME}.{NAMESPACE}.svc:443",
          True, hook({"caBundle": other_ca})),
        B("the certificate is for another name",
          ("served-other-name", *UNHELD), "localhost:", OWNER,
          to_url(holder, "localhost")),
        B("a proxy cuts the handshake", ("handshake-cut", *UNHELD),
          f"https://127.0.0.1:{cut}/mutate", OWNER, to_url(cut)),
        B("nobody listens there", (*UNHELD,), "came back without a hold",
          OWNER, to_url(1)),
        B("the certificate has expired", ("certificate-expired",),
          "was valid until 2026-01-01", LOG, told=told(certificate=EXPIRED)),
        B("the Secret is gone, or garbage", ("certificate-missing",),
          "serves no certificate", LOG,
          told=told(certificate={"valid": False, "notAfter": None})),
        # pods
        B("no pod is ready", ("pods-not-ready",), "0 of 2 pods ready", SHOWS,
          status(HOLDER, readyReplicas=0, availableReplicas=0)
            + pod("holder-0") + pod("holder-1")),
        B("one of two pods is not ready", ("pods-some-not-ready",),
          "1 of 2 pods ready", SHOWS,
          status(HOLDER, readyReplicas=1, availableReplicas=1)
            + pod("holder-1")),
        B("an image that cannot be pulled", ("pods-some-not-ready",),
          "holder-1: ImagePullBackOff: no such image", LOG,
          status(HOLDER, readyReplicas=1, availableReplicas=1)
            + pod("holder-1", waiting={"reason": "ImagePullBackOff",
            "message": "no such image"})),
        B("a bad configuration: the rollout is stuck",
          ("rollout-unfinished",),
          "1 of them of its newest version: holder-1: CrashLoopBackOff, Error "
          "with exit code 2: /config/config.yaml:6:15: holdDuration: \"ten\"",
          LOG,
          status(HOLDER, updatedReplicas=1) + pod("holder-1",
            waiting=BACK_OFF, last=CRASH)),
        B("a change that no controller has seen", ("rollout-unfinished",),
          "has 2 of 2 pods ready", SHOWS,
          status(HOLDER, observedGeneration=0)),
        B("the Deployment is at 0", ("pods-not-ready",), "0 of 0 pods ready",
          True, scaled(HOLDER, 0)),
        B("one replica", ("one-replica",), "has one replica", True,
          scaled(HOLDER, 1)),
        B("the PodDisruptionBudget is gone", ("budget-missing",),
          "no PodDisruptionBudget selects", True, gone(BUDGET)),
        B("a second PodDisruptionBudget of all pods", ("budget-blocks",),
          "select the same pods", True, [(BUDGET, lambda o: None)] + made(BUDGET.rpartition("/")[0],
              apiVersion="policy/v1", kind="PodDisruptionBudget",
              metadata={"name": "all"}, spec={"maxUnavailable": 1,
                                              "selector": {}})),
        B("a PodDisruptionBudget with `minAvailable` of all pods",
          ("budget-blocks",), "allows no disruption", True,
          [(BUDGET, tight)]),
        B("the renewer is at 0", ("renewer-down",),
          "-renewer has 0 of 0", True, scaled(RENEWER, 0), on=RENEWED),
        B("the renewer does not run", ("renewer-down",),
          "-renewer has 0 of 1", SHOWS,
          status(RENEWER, readyReplicas=0, availableReplicas=0), on=RENEWED),
        B("a pod without `karpenter.sh/do-not-disrupt`",
          ("placement-movable",), "without the annotation", True,
          [(f"{PODS}/holder-0",
            lambda o: o["metadata"]["annotations"].pop(HOLD) and None)]),
        B("no `terminationGracePeriod`",
          ("placement-no-grace", "placement-no-grace"),
          "which has no terminationGracePeriod", DRIFT,
          [(f"{POOLS}/web",
            lambda o: o["spec"]["template"]["spec"].pop(
                "terminationGracePeriod") and None)]),
        # what bounds it, and what it may
        B("the ValidatingAdmissionPolicy is deleted",
          ("write-policy-missing",), f"no ValidatingAdmissionPolicy {NAME}",
          True, gone(POLICY)),
        B("its binding is deleted", ("write-policy-unbound",),
          "its binding is missing", True, gone(BINDING)),
        B("its binding only audits", ("write-policy-unbound",),
          "its binding does not deny", True,
          spec(BINDING, validationActions=["Audit"])),
        B("it is about another namespace", ("write-policy-elsewhere",),
          f"accounts of namespace {NAMESPACE}", True,
          [(POLICY, other_namespace)]),
        B("`holdAnnotation.key` is none that it allows",
          ("write-policy-key",), f"annotation {HOLD}", True,
          variable("holds", "['example.com/other']")),
        # The same with a hold annotation of one's own, which Helm has from its
        # values.  A fix may not take it out of the policy.
        B("the policy is deleted, with another `holdAnnotation.key`",
          ("write-policy-missing",), "there is no", True,
          kept() + gone(POLICY), keeps, on=INSTALLATIONS[:2]),
        B("its binding is deleted, with another `holdAnnotation.key`",
          ("write-policy-unbound",), "is missing", True,
          kept() + gone(BINDING), keeps, on=INSTALLATIONS[:2]),
        B("its binding only audits, with another `holdAnnotation.key`",
          ("write-policy-unbound",), "does not deny", True,
          kept() + spec(BINDING, validationActions=["Audit"]), keeps,
          on=INSTALLATIONS[:2]),
        B("another namespace, with another `holdAnnotation.key`",
          ("write-policy-elsewhere",), f"accounts of namespace {NAMESPACE}",
          True, kept(other_namespace), keeps,
          on=INSTALLATIONS[:2]),
        B("`holdAnnotation.key` is none of many that it allows",
          ("write-policy-key",), KEPT, EDIT,
          variable("holds", str([f"example.com/key-{i}" for i in range(20)])),
          keeps, on=INSTALLATIONS[:2]),
        B("the renewer's policy is deleted", ("write-policy-missing",),
          f"no ValidatingAdmissionPolicy {NAME}-renewer", True,
          gone(POLICY + "-renewer"), on=RENEWED),
        B("the renewer's binding is deleted", ("write-policy-unbound",),
          f"Policy {NAME}-renewer: its binding", True,
          gone(BINDING + "-renewer"), on=RENEWED),
        B("the ClusterRoleBinding is deleted", ("right-missing",),
          "may not get nodes", True,
          gone(f"{RBAC}/clusterrolebindings/{NAME}")),
        B("no right to patch Nodes", ("right-missing",),
          "may not patch nodes", True, without(ROLE, "nodes", "patch")),
        B("no right to watch NodePools", ("right-missing",),
          "may not watch nodepools.karpenter.sh", True,
          without(ROLE, "nodepools", "watch")),
        B("no right to patch the Lease", ("right-missing",),
          "may not patch leases", True, without(OWN_ROLE, "leases", "patch")),
        B("no right to list tickets", ("right-missing",),
          f"may not list leases.coordination.k8s.io in namespace {NAME}-tickets",
          True, without(TICKETS_ROLE, "leases", "list")),
        B("the RoleBinding in the namespace of the tickets is deleted",
          ("right-missing",), "may not list leases.coordination.k8s.io, watch",
          True, gone(TICKETS_ROLE.replace("/roles/", "/rolebindings/"))),
        B("the policy of the tickets is deleted", ("tickets-policy-missing",),
          f"no ValidatingAdmissionPolicy {NAME}-tickets", True,
          gone(POLICY + "-tickets")),
        B("the binding of that policy is deleted", ("tickets-policy-unbound",),
          f"Policy {NAME}-tickets: its binding is missing", True,
          gone(BINDING + "-tickets")),
        B("the binding of that policy only audits",
          ("tickets-policy-unbound",), "its binding does not deny", True,
          spec(BINDING + "-tickets", validationActions=["Audit"])),
        B("the binding of that policy is for another namespace",
          ("tickets-policy-unbound",),
          f"for namespace elsewhere, and the tickets are in {NAME}-tickets",
          True, [(BINDING + "-tickets", lambda o: o["spec"]["matchResources"][
              "namespaceSelector"]["matchLabels"].update(
                  {"kubernetes.io/metadata.name": "elsewhere"}))]),
        B("no right on Events", ("right-events",), "may not list events",
          True, gone(EVENTS_ROLE)),
        B("the renewer may not patch its Secret", ("right-renewer",),
          f"{NAME}-renewer may not patch secrets", True,
          without(RENEWER_ROLE, "secrets", "patch"), on=RENEWED),
        B("the renewer's rights on the webhook's configuration are gone",
          ("right-renewer",), "may not get mutatingwebhookconfigurations",
          True, gone(f"{RBAC}/clusterrolebindings/{NAME}-self-signed"), on=RENEWED),
        B("writes are refused", ("writes-refused",),
          "machines of NodePool web were refused or failed, 2 in all", LOG,
          told=waiting),
        B("the leader does not answer", ("leader-unanswered",),
          "/status of pod holder-", SHOWS, told=unanswered),
        B("the namespace of the tickets is gone",
          ("tickets-namespace-missing",),
          f"namespace {NAME}-tickets of the tickets is not there", True,
          gone(TICKETS)),
        B("the leader cannot watch NodeClaims", ("leader-blind",),
          "cannot list or watch nodeclaims", LOG, told=blind),
        B("a NodeClaim is too large to be read", ("object-unread",),
          "NodeClaim x cannot be read whole", LOG, told=too_large),
        # other installations
        B("a second holder in another namespace", ("holder-twice",),
          "a second holder runs in namespace second", True,
          [(f"{ANOTHER}/{NAME}", deployed_elsewhere)]),
        B("somebody leads in another namespace", ("holder-twice",),
          "a second holder runs in namespace second", True,
          [(LEASES.replace(NAMESPACE, "second") + f"/{NAME}",
            lambda o: lease(NAME, "second"))]),
        B("`--namespace` of another namespace", ("holder-elsewhere",),
          f"no holder in namespace elsewhere: it is in {NAMESPACE}", True,
          flags=("--namespace", "elsewhere")),
        B("the Go program runs beside it", ("go-program",),
          f"Deployment kube-system/{NAME}-watcher", True, go_program()),
        B("the Go program's ClusterRole", ("go-rights",),
          f"ClusterRole {NAME}-role", True,
          made(f"{RBAC}/clusterroles", kind="ClusterRole",
            apiVersion="rbac.authorization.k8s.io/v1", metadata={"name": NAME
            + "-role"}, rules=[])),
        B("a Node with an annotation that Karpenter 1 ignores",
          ("go-annotations",), "karpenter.sh/do-not-consolidate on Nodes: 1",
          True, node("karpenter.sh/do-not-consolidate")),
        # Karpenter
        B("Karpenter's Deployment is at 0", ("karpenter-down",),
          "has 0 of 0 pods", True, scaled(KARPENTER, 0)),
        B("Karpenter's pods do not run", ("karpenter-down",),
          "has 0 of 1 pods", SHOWS,
          status(KARPENTER, availableReplicas=0, readyReplicas=0)),
        B("Karpenter is gone", ("karpenter-down",),
          f"nobody has renewed Lease kube-system/{KARPENTER_LEASE}", SHOWS,
          gone(KARPENTER) + [(f"{KARPENTER_LEASES}/{KARPENTER_LEASE}",
            lambda o: o["spec"].update(holderIdentity=""))]),
        B("Karpenter 0.37", ("karpenter-version",), "0.37.7, expected 1.x",
          NEWER, version("0.37.7")),
        B("Karpenter 1.1 without `replacements: count`",
          ("karpenter-replacements",), "without `replacements: count`", EDIT,
          version("1.1.0")),
        B("Karpenter 2", ("karpenter-version-newer",), "tested up to", NEWER,
          version("2.0.0")),
        # NodePools
        B("a typo in `nodePools.include`",
          ("nodepools-excluded", "pattern-unmatched"),
          "includes none of the 1 NodePool, such as web", EDIT,
          told=patterns("include", "wbe*")),
        B("a typo in `nodePools.exclude`", ("pattern-unmatched",),
          'nodePools.exclude: "btach" matches none', EDIT,
          told=patterns("exclude", "btach")),
        B("a hold on a NodePool's template", ("nodepool-template-hold",),
          f"its template sets the annotation {HOLD}", True,
          template(metadata={"annotations": {HOLD: "true"}})),
        B("a static NodePool", ("nodepool-static",),
          "NodePool fixed is static", True, another("fixed", replicas=1)),
        B("`consolidateAfter: Never`", ("nodepool-never-consolidates",),
          "NodePool never has", True,
          another("never", consolidate_after="Never")),
        B("budgets of 0", ("nodepool-budget",), "allow no disruption", True,
          [(f"{POOLS}/web",
            lambda o: o["spec"]["disruption"].update(
                budgets=[{"nodes": "0"}]))]),
        B("an `expireAfter` shorter than the hold", ("nodepool-expires",),
          "expireAfter 10m", True,
          [(f"{POOLS}/web",
            lambda o: o["spec"]["template"]["spec"].update(
                expireAfter="10m"))]),
        B("an annotation that cannot be read", ("nodepool-annotation",),
          'hold-duration: "ten"', True,
          annotated(**{"hold-duration": "ten"})),
        B("an annotation with a typo in its key",
          ("nodepool-annotation-unknown",),
          f"{NAME}.io/hold-untill; did you mean {NAME}.io/hold-until?", True,
          annotated(**{"hold-untill": "2026-01-02T03:04:05Z"})),
        B("an annotation with a typo beside the right one",
          ("nodepool-annotation-unknown",),
          f"did you mean {NAME}.io/hold-until, which it has, too?", True,
          annotated(**{"hold-untill": "2026-01-02T03:04:05Z",
                       "hold-until": "2026-01-02T03:04:05Z"})),
        B("an annotation with a typo and a value that a shell would run",
          ("nodepool-annotation-unknown",), "did you mean", True,
          annotated(raeson=HOSTILE)),
        B("an annotation of ours that does not exist",
          ("nodepool-annotation-unknown",),
          f"there is no annotation {NAME}.io/disabled", SHOWS,
          annotated(disabled="true")),
        B("a `hold-until` without its prefix", ("nodepool-annotation-unknown",),
          f"no annotation hold-until; did you mean {NAME}.io/hold-until?", True,
          [(f"{POOLS}/web", lambda o: o["metadata"].update(annotations={
              "hold-until": "2026-01-02T03:04:05Z"}))]),
        B("one of our annotations as a label", ("nodepool-annotation-unknown",),
          f"{NAME}.io/hold-duration is a label and no annotation", True,
          [(f"{POOLS}/web", lambda o: o["metadata"].update(labels={
              f"{NAME}.io/hold-duration": "20m"}))]),
        B("one of our annotations in the template",
          ("nodepool-annotation-unknown",),
          f"its template has the annotation {NAME}.io/enabled", SHOWS,
          template(metadata={"annotations": {f"{NAME}.io/enabled": "true"}})),
        B("a `hold-until` of another year", ("nodepool-held-for-long",),
          "hold-until 2036-01-02T03:04:05Z, for another", True,
          annotated(**{"hold-until": "2036-01-02T03:04:05Z"})),
    ]


def another(name, **options):
    return [(f"{POOLS}/{name}", lambda o: node_pool(name, **options))]


def node(annotation):
    return made(NODES, apiVersion="v1", kind="Node", metadata={
        "name": "left", "annotations": {annotation: "true"}})


def unanswered(o):
    raise OSError("a pod that does not answer")


def condition_added(o):
    o["webhooks"][0]["matchConditions"].append(
        {"name": "x", "expression": "request.userInfo.username == 'nobody'"})


def mutating(o):
    del o
    return next(yaml.safe_load_all((
        REPO / "deploy/components/admission-policy/policy.yaml").read_text()))


OF_NODES = {"apiGroups": [""], "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"], "resources": ["nodes"]}


def denial():
    meta = {"apiVersion": "admissionregistration.k8s.io/v1",
            "metadata": {"name": "deny"}}
    return made(
        f"{ADMISSION}/validatingadmissionpolicies",
        kind="ValidatingAdmissionPolicy", **meta, spec={
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [OF_NODES]},
            "validations": [{"expression": "request.operation != 'CREATE'"}]}
    ) + made(f"{ADMISSION}/validatingadmissionpolicybindings",
             kind="ValidatingAdmissionPolicyBinding", **meta, spec={
                 "policyName": "deny", "validationActions": ["Deny"]})


def dead_webhook():
    return made(WEBHOOKS, kind="MutatingWebhookConfiguration",
                apiVersion="admissionregistration.k8s.io/v1",
                metadata={"name": "dead"}, webhooks=[{
                    "name": "dead.example.com", "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "failurePolicy": "Fail", "timeoutSeconds": 2,
                    "clientConfig": {"url": "https://127.0.0.1:1/"},
                    "rules": [{**OF_NODES, "operations": ["CREATE"]}]}])


def tight(o):
    o["spec"].pop("maxUnavailable")
    o["spec"]["minAvailable"] = 2
    o["status"] = {"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 2,
                   "disruptionsAllowed": 0}


def no_claims(o):
    o["webhooks"][0]["rules"] = o["webhooks"][0]["rules"][:1]


def wide(o):
    o["webhooks"][0]["rules"][0]["operations"] = ["CREATE", "UPDATE"]


def twice(o):
    client = o["webhooks"][0]["clientConfig"]
    pem = base64.b64decode(client["caBundle"])
    client["caBundle"] = base64.b64encode(pem + pem).decode()


def go_program():
    return [(DEPLOYMENTS.format("kube-system") + f"/{NAME}-watcher",
             lambda o: {
                 "apiVersion": "apps/v1", "kind": "Deployment",
                 "metadata": {"name": NAME + "-watcher"},
                 "spec": {"selector": {"matchLabels": {"a": "b"}},
                          "template": {"metadata": {"labels": {"a": "b"}},
                                       "spec": {"containers": [
                                           {"name": "c", "image": "x"}]}}}})]


def second(name):
    def change(o):
        del o
        one, = deployed("webhook.yaml")
        one["metadata"] = {"name": name}
        return one
    return [(f"{WEBHOOKS}/{name}", change)]


def placed(plane, path):
    """Where it is.  Helm renames what only people look for."""
    if path.startswith((HOLDER, BUDGET)):
        folder, name = path.rsplit("/", 1)
        path = f"{folder}/{name.replace(NAME, plane.holder)}"
    return path


@contextlib.contextmanager
def broken(plane, changes):
    """Makes the changes, and takes them back."""
    changes = [(placed(plane, path), change) for path, change in changes]
    before = [(path, plane.request("GET", path)) for path, _ in changes]
    try:
        for (path, change), (_, (code, was)) in zip(changes, before):
            if change is None:
                plane.ok("DELETE", path + "?gracePeriodSeconds=0")
                if path == TICKETS:     # what the namespaces' controller does
                    plane.ok("PUT", path + "/finalize", {
                        "metadata": {"name": was["metadata"]["name"]},
                        "spec": {"finalizers": []}})
                continue
            now = copy.deepcopy(was) if code == 200 else None
            now = change(now) or now
            if now is not None:
                put(plane, path, now)
        yield
    finally:
        for path, (code, was) in reversed(before):
            if code == 404:
                plane.request("DELETE", path + "?gracePeriodSeconds=0")
            else:
                put(plane, path, was)


def put(plane, path, o):
    o = copy.deepcopy(o)
    meta = o["metadata"]
    for key in "resourceVersion", "uid", "managedFields":
        meta.pop(key, None)
    code, there = plane.request("GET", path)
    if code == 200 and path == SERVICE and (there["spec"]["clusterIP"]
                                            != o["spec"]["clusterIP"]):
        code = 404  # another one, which cannot become what was there
        plane.ok("DELETE", path)
    if code == 200:
        meta["resourceVersion"] = there["metadata"]["resourceVersion"]
        made = plane.ok("PUT", path, o)
    else:
        made = plane.create(path.rpartition("/")[0], o)
    if "status" not in o or "/validating" in path:
        return
    status = o["status"]
    # Its controller has seen it, unless that is what is wrong.
    if status.get("observedGeneration"):
        status["observedGeneration"] = made["metadata"]["generation"]
    plane.patch(path.rpartition("/")[0], meta["name"] + "/status",
                {"status": status}, MERGE)


class Telltale:
    """Stands for the leader's Pod, and changes what its /status says."""

    def __init__(self, holder):
        self.change = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                said = json.loads(holder.fetch("/status?format=json")[1])
                if outer.change:
                    outer.change(said)
                body = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
