# SPDX-License-Identifier: Apache-2.0
"""One control plane for the whole session, one or more holders per test."""
import functools
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True  # nothing of ours belongs in the source tree

import pytest  # noqa: E402

import cluster as cluster_module  # noqa: E402
from controlplane import (  # noqa: E402
    CLAIMS, HERE, NODES, POOLS, ControlPlane, tail, until)
from hold import View  # noqa: E402
from holder import BINARY, Holder  # noqa: E402
from karpenter import Karpenter  # noqa: E402

running = []  # the holders of the test that runs, for its report


def pytest_configure(config):
    # execnet may run a worker of xdist in another thread, if it is busy; what
    # it started ends with it all the same (see spawn).
    if threading.current_thread() is not threading.main_thread():
        return
    # so that fixtures end what they started
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: pytest.exit(
            f"ended by signal {n}", returncode=128 + n))
    # Of a shell's background job it is ignored, and what we start would too.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and report.when != "teardown":
        for holder in running:
            report.sections.append(
                (f"log of {holder.dir.name}, its end", tail(holder.log, 40)))


def build(request, *programs):
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a cold build takes minutes
        subprocess.run([HERE / "binaries.sh", *programs],
                       stdin=subprocess.DEVNULL, check=True)


@pytest.fixture(scope="session")
def build_programs(request):
    """build_programs(NAME...): what binaries.sh makes."""
    return functools.partial(build, request)


@pytest.fixture(scope="session")
def plane_programs(request):
    build(request, "etcd", "kube-apiserver", "kubectl", "crds")


@pytest.fixture(scope="session")
def elector_program(request):
    build(request, "elector")


@pytest.fixture(scope="session")
def plane(plane_programs):
    with ControlPlane() as plane:
        plane.install_crds()
        yield plane


def wipe(plane):
    """No Node, NodeClaim or NodePool is left."""
    for path in (CLAIMS, POOLS, NODES):
        if plane.request("GET", path + "?limit=1")[0] == 404:
            continue  # a test took the CRDs away
        plane.ok("DELETE", path, timeout=120)

        def gone():
            left = plane.metadata(path)
            for name, meta in left.items():
                if meta.get("finalizers"):
                    plane.request("PATCH", f"{path}/{name}",
                                  {"metadata": {"finalizers": None}})
            return not left
        until(gone, 30, f"{path} empty")


@pytest.fixture
def clean(plane):
    wipe(plane)
    yield
    wipe(plane)


def _holders(plane):
    """make(start=, register=, **settings); all are stopped afterwards."""
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is missing: make all")
    made = []

    def make(start=True, register=True, **settings):
        holder = Holder(plane, **settings)
        made.append(holder)
        running.append(holder)
        if start:
            holder.start()
        if register:
            holder.register(wait=start)
        return holder
    yield make
    try:
        for holder in made:
            # What it was refused is missing in deploy/base/rbac.yaml.  (An
            # API server that has just started refuses for another reason:
            # it has not yet read its own roles.)
            if holder.alive() and not holder.refused \
                    and plane.starts == holder.plane_starts:
                assert not holder.metric("rest_client_requests_total",
                                         code="403")
    finally:
        for holder in made:
            holder.stop()
            running.remove(holder)


@pytest.fixture
def make_holder(plane, clean):
    yield from _holders(plane)


@pytest.fixture(scope="module")
def make_module_holder(plane):
    wipe(plane)
    yield from _holders(plane)


@pytest.fixture(scope="session")
def karpenter_cluster(request):
    build(request, *cluster_module.PROGRAMS)
    with cluster_module.Cluster() as cluster:
        cluster.start_karpenter()
        yield cluster


@pytest.fixture
def cluster(karpenter_cluster):
    """With real Karpenter; empty, and emptied afterwards."""
    yield karpenter_cluster
    karpenter_cluster.wipe()


@pytest.fixture
def add_holder(cluster):
    yield from _holders(cluster)


@pytest.fixture
def karpenter(plane, clean):
    return Karpenter(plane)


@pytest.fixture
def view(plane):
    return View(plane)
