# SPDX-License-Identifier: Apache-2.0
"""What the very answer to a creation stores."""
import copy
import json
import time

import pytest

from controlplane import APPLY, CLAIMS, NODES, until
from hold import HOLD, MARK, SOON, annotations, check_held, held, stamp
from karpenter import NODEPOOL, claim_body, node_body

# Every character that a value may contain, as a person or Karpenter would
# write it.
OTHERS = {
    "karpenter.sh/nodepool-hash": "4067990795911415110",
    "example.com/quoted": "say \"no\" \\ and / then\t<tab>\nnew line",
    "example.com/unicode": "Gr\u00fc\u00dfe \U0001f680 \u2028",
    "kubectl.kubernetes.io/last-applied-configuration": '{"a":{"b":[1,"~1"]}}',
    "empty": "",
}
MISSING = object()
BODIES = {"Node": (NODES, node_body("n1")),
          "NodeClaim": (CLAIMS, claim_body())}


def body_of(kind, value=MISSING, **meta):
    path, body = copy.deepcopy(BODIES[kind])
    body["metadata"].update(meta)
    if value is not MISSING:
        body["metadata"]["annotations"] = value
    return path, body


@pytest.fixture(scope="module")
def serving(make_module_holder):
    """Nothing is released while these tests run."""
    return make_module_holder(
        holdDuration="10m", nodePools={"exclude": ["static-*", "gpu"]})


@pytest.fixture(autouse=True)
def used(serving, clean):
    pass


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("value", [
    pytest.param(MISSING, id="missing"), pytest.param(None, id="null"),
    pytest.param({}, id="empty"), pytest.param(OTHERS, id="present")])
def test_held_in_the_answer(plane, kind, value):
    path, body = body_of(kind, value)
    answer = plane.create(path, body)
    others = value if isinstance(value, dict) else {}
    check_held(answer, others)
    stored = plane.get(path, answer["metadata"]["name"])
    check_held(stored, others)
    assert annotations(stored) == annotations(answer)
    assert stored["spec"].items() >= body["spec"].items()


@pytest.mark.parametrize("kind", BODIES)
def test_generate_name(plane, kind):
    path, body = body_of(kind)
    body["metadata"].pop("name", None)
    body["metadata"]["generateName"] = "made-"
    names = set()
    for _ in range(3):
        answer = plane.create(path, body)
        check_held(answer)
        names.add(answer["metadata"]["name"])
    assert len(names) == 3 and all(n.startswith("made-") for n in names)


@pytest.mark.parametrize("kind", BODIES)
def test_server_side_apply(plane, kind):
    path, body = body_of(kind, {"example.com/a": "b"}, name="applied")
    body["metadata"].pop("generateName", None)
    url = path + "/applied?fieldManager=e2e"
    check_held(plane.ok("PATCH", url, body, APPLY), {"example.com/a": "b"})
    # The object is applied once more, as GitOps does every few minutes.
    check_held(plane.ok("PATCH", url, body, APPLY), {"example.com/a": "b"})


@pytest.mark.parametrize("kind", BODIES)
def test_dry_run_leaves_no_trace(plane, serving, kind):
    held_objects = "karpenter_node_holder_held_objects"
    # Wait until it has seen that the objects of other tests are gone.
    until(lambda: serving.metric(held_objects) == 0, SOON, "none held")
    path, body = body_of(kind, name="dry")
    check_held(plane.create(path + "?dryRun=All", body))
    status, _ = plane.request("GET", path + "/dry")
    assert status == 404
    assert plane.metadata(path) == {}
    assert serving.metric(held_objects) == 0


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("choice", ["true", "false", "", "4h"])
def test_own_choice_is_left_alone(plane, kind, choice):
    value = {HOLD: choice, **OTHERS}
    path, body = body_of(kind, value)
    assert annotations(plane.create(path, body)) == value


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("pool", ["static-a", "gpu"])
def test_excluded_pool(plane, kind, pool):
    path, body = body_of(kind, {"example.com/a": "b"})
    body["metadata"]["labels"][NODEPOOL] = pool
    assert annotations(plane.create(path, body)) == {"example.com/a": "b"}


@pytest.mark.parametrize("pool", ["static", "gpu-2", "astatic-a"])
def test_like_an_excluded_pool_but_not(plane, pool):
    check_held(plane.create(CLAIMS, claim_body(pool)))


def test_not_karpenters(plane):
    body = node_body("other", pool=None, unregistered=False,
                     labels={"karpenter.sh/capacity-type": "spot"})
    body["spec"]["taints"] = [{"key": "example.com/unregistered",
                               "effect": "NoExecute"}]
    assert annotations(plane.create(NODES, body)) == {}


def test_unregistered_taint_alone(plane):
    check_held(plane.create(NODES, node_body("tainted", pool=None)))


def test_label_alone(plane):
    check_held(plane.create(NODES, node_body("label", unregistered=False)))


def test_claim_without_a_pool(plane):
    path, body = body_of("NodeClaim")
    del body["metadata"]["labels"]
    check_held(plane.create(path, body))


@pytest.mark.parametrize("kind", BODIES)
def test_own_output_is_not_stamped_again(plane, kind):
    at = stamp(time.time() - 100)
    path, body = body_of(kind, {HOLD: "true", MARK: at})
    assert annotations(plane.create(path, body)) == {HOLD: "true", MARK: at}


@pytest.mark.parametrize("kind", BODIES)
def test_mark_without_hold_is_stamped_anew(plane, kind):
    path, body = body_of(kind, {MARK: stamp(time.time() - 3600), "a": "b"})
    check_held(plane.create(path, body), {"a": "b"})


def test_kubelet_registers_through_node_restriction(plane):
    kubelet = plane.kubelet("ip-10-0-0-7")
    others = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    answer = plane.create(NODES, node_body("ip-10-0-0-7", annotations=others),
                          user=kubelet)
    check_held(answer, others)
    # A kubelet that starts again POSTs again, and the mark stays as it is.
    status, _ = plane.request("POST", NODES, node_body("ip-10-0-0-7"),
                              user=kubelet)
    assert status == 409
    assert annotations(plane.get(NODES, "ip-10-0-0-7")) == annotations(answer)


def test_refused_creation_is_not_our_fault(plane):
    """The API server judges the object, and never answers 500 because of our
    patch."""
    for value, status in (({"bad key/": "x"}, 422), ("text", 400),
                          ({"a": 1}, 400), ([], 400)):
        for kind in BODIES:
            path, body = body_of(kind, value)
            assert plane.request("POST", path, body)[0] == status, (kind, value)


def test_a_burst_is_held_whole(plane):
    answers = plane.many(
        lambda i: plane.create(NODES, node_body(f"burst{i}")), range(200), 32)
    assert all(held(a) for a in answers)


def test_counted_by_kind_and_result(plane, serving):
    name = "karpenter_node_holder_admission_requests_total"
    before = serving.metric(name)
    histogram = serving.metric(
        "karpenter_node_holder_admission_duration_seconds_count")
    for i in range(5):
        plane.create(NODES, node_body(f"counted{i}"))
    plane.create(CLAIMS, claim_body())
    plane.create(CLAIMS, claim_body("gpu"))
    assert serving.metric(name) == before + 7
    assert serving.metric(
        "karpenter_node_holder_admission_duration_seconds_count"
    ) == histogram + 7


@pytest.mark.parametrize("obj, expected", [
    (node_body("a"), "true"), (node_body("a", "gpu"), "false"),
    (node_body("a", None, unregistered=False), "false")])
def test_audit_annotations(serving, obj, expected):
    status, answer, _ = serving.review(obj)
    assert status == 200
    response = answer["response"]
    assert response["allowed"] is True
    assert response["auditAnnotations"]["held"] == expected
    assert response["auditAnnotations"]["reason"]
    assert ("patch" in response) == ("patchType" in response) \
        == (expected == "true")


def test_broken_reviews_get_400_and_a_reason(serving):
    for body in (b"", b"{", b"[]", b'{"kind": "Node"}', b"\xff\xfe",
                 json.dumps({"apiVersion": "admission.k8s.io/v1",
                             "kind": "AdmissionReview",
                             "request": {}}).encode()):
        connection = serving.connect()
        connection.request("POST", "/mutate", body,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status == 400, body
        assert text.strip() and "\n" not in text.strip(), text


def test_no_room_for_ours(plane):
    """The size of annotations is bounded.  Ours must not be what makes a Node
    too large."""
    full = {"full": "x" * (256 * 1024 - 100)}
    answer = plane.create(NODES, node_body("full", annotations=full))
    assert annotations(answer) == full
