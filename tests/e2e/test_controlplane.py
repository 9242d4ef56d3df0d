# SPDX-License-Identifier: Apache-2.0
"""What the other tests rely on, tested without a holder."""
import os
import signal
import subprocess
import sys
import time

import pytest

from controlplane import (APPLY, CLAIMS, HERE, NODES, TEMP_PREFIX, ApiError,
                          parse_metrics, sweep_temp, until)
from karpenter import claim_body, node_body


def test_node_and_claim_are_stored(plane, karpenter):
    m = karpenter.machine()
    assert plane.get(CLAIMS, m.name)["status"]["nodeName"] == m.node
    node = plane.get(NODES, m.node)["metadata"]
    assert node["ownerReferences"][0]["uid"] == m.uid
    shown = plane.kubectl("get", "nodeclaims", "-o", "name").stdout
    assert shown.split() == [f"nodeclaim.karpenter.sh/{m.name}"]
    version = plane.kubectl("version").stdout
    assert version.count("v1.36.3") == 2


def test_three_hundred_nodes_in_seconds(plane, clean):
    start = time.monotonic()
    plane.many(lambda i: plane.create(NODES, node_body(f"n{i}")), range(300))
    assert time.monotonic() - start < 60
    assert len(plane.metadata(NODES)) == 300


def test_identities(plane, clean):
    kubelet = plane.kubelet("k1")
    assert plane.request("POST", NODES, node_body("k1"), user=kubelet)[0] == 201
    assert plane.request("POST", NODES, node_body("k2"), user=kubelet)[0] == 403
    account = {"apiVersion": "v1", "kind": "ServiceAccount",
               "metadata": {"name": "e2e", "namespace": "default"}}
    plane.apply(account)
    user = plane.service_account("default", "e2e")
    assert plane.request("GET", NODES, user=user)[0] == 403
    who = plane.kubectl("auth", "whoami", "-o",
                        "jsonpath={.status.userInfo.username}", user=user)
    assert who.stdout == user.name


@pytest.mark.parametrize("path, body", [(NODES, node_body),
                                        (CLAIMS, claim_body)])
def test_a_merge_patch_tests_the_uid(plane, clean, path, body):
    """uninstall relies on this: an object that was made anew with the same
    name is left alone."""
    plane.create(path, body(name="n"))
    uid = plane.get(path, "n")["metadata"]["uid"]

    def patch(uid):
        return plane.request("PATCH", path + "/n", {"metadata": {
            "uid": uid, "annotations": {"a": "b", "none": None}}})[0]
    assert patch("11111111-2222-4333-8444-555555555555") in (409, 422)
    assert "a" not in plane.annotations(path, "n")
    assert patch(uid) == 200
    assert plane.annotations(path, "n")["a"] == "b"


def test_server_side_apply_creates(plane, clean):
    body = node_body("applied")
    plane.ok("PATCH", NODES + "/applied?fieldManager=e2e", body, APPLY)
    assert set(plane.metadata(NODES)) == {"applied"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_restart_keeps_port_and_objects(plane, clean, number):
    plane.create(NODES, node_body("kept"))
    plane.stop_apiserver(number)
    with pytest.raises(OSError):
        plane.request("GET", "/readyz")
    plane.start_apiserver()
    assert set(plane.metadata(NODES)) == {"kept"}


def test_gone_in_the_stream(plane, clean):
    """Later tests bring a holder to a 410 in this way."""
    old = plane.create(NODES, node_body("a"))["metadata"]["resourceVersion"]
    plane.stop_apiserver()
    plane.compact()
    plane.start_apiserver()

    def first_event():
        try:
            return next(plane.watch(NODES, old, 5), None)
        except ApiError as e:
            assert e.status == 429  # the cache of the API server is filling
    event = until(first_event, 20, "an event")
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_crds_go_and_come(plane, clean):
    try:
        plane.remove_crds()
        status, answer = plane.request("GET", CLAIMS)
        assert (status, answer) == (404, "404 page not found\n")
    finally:
        plane.install_crds()
    plane.create(CLAIMS, claim_body())


def test_nothing_outlives_a_killed_owner(plane):
    """A program that uses ControlPlane, such as a demo, is killed with kill
    -9."""
    program = subprocess.Popen(
        [sys.executable, "-B", "-c",
         "import sys, time; sys.path.insert(0, sys.argv[1])\n"
         "from controlplane import ControlPlane\n"
         "p = ControlPlane().start()\n"
         "print(p._etcd.pid, p._apiserver.pid, flush=True)\n"
         "time.sleep(60)\n", str(HERE)],
        stdout=subprocess.PIPE, text=True)
    try:
        pids = program.stdout.readline().split()
        assert len(pids) == 2
    finally:
        program.kill()
        program.wait()

    def running(pid):
        try:
            with open(f"/proc/{pid}/stat") as f:
                return f.read().rsplit(") ", 1)[1][0] not in "ZX"
        except OSError:
            return False
    until(lambda: not any(running(p) for p in pids), 10, "both gone")
    sweep_temp()
    assert not list(plane.dir.parent.glob(f"{TEMP_PREFIX}{program.pid}.*"))


def test_metrics_parser_is_strict():
    assert parse_metrics('# HELP a b\na{b="c\\"d"} 1\ne 2.5e+09\n') == {
        'a{b="c\\"d"}': 1.0, "e": 2.5e9}
    for bad in ("a{b=c} 1", "a", "a{b=\"c\"}", "1a 2", "a 1\na 2"):
        with pytest.raises(ValueError):
            parse_metrics(bad)


def test_temporary_directory_is_private(plane):
    assert os.stat(plane.dir).st_mode & 0o077 == 0
