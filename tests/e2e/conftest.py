# SPDX-License-Identifier: Apache-2.0
"""One control plane for the whole session, and one or more holders per test.
"""
import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True  # leaves no cache in the source tree

import pytest  # noqa: E402

import cluster as cluster_module  # noqa: E402
from controlplane import (  # noqa: E402
    CLAIMS, HERE, NODES, POOLS, ControlPlane, tail, until)
from hold import View  # noqa: E402
from holder import BINARY, Holder  # noqa: E402
from karpenter import Karpenter  # noqa: E402

# Many control planes share few processors.  Their garbage is collected less
# often, but within what memory each may take.
os.environ.setdefault("GOGC", "400")
os.environ.setdefault("GOMEMLIMIT", "800MiB")

running = []  # the holders of the running test, for its report
karpenters = []  # the cluster with real Karpenter, while there is one

# What one worker of pytest-xdist runs: a file, or those files that use one
# cluster with real Karpenter, which takes long to start and much to run.  The
# longest begin first, as the last one decides when all of them end.
LONGEST = (("deploy",), ("consolidation",), ("pools", "left_alone"),
           ("plugin",), ("check",), ("karpenter",),
           ("replacements", "substitutes"),
           ("repair", "terminate_first", "gates"),
           ("outage",), ("tickets",), ("hold_while",), ("failover",),
           ("uninstall",), ("scopes",),
           ("pods",), ("release",), ("restart",), ("rights",), ("rolling",),
           ("caps",), ("self_signed",), ("serve",), ("migration",),
           ("controlplane",))


def pytest_configure(config):
    # execnet may run a busy worker of xdist in another thread.  What that
    # worker started still ends with it (see spawn).
    if threading.current_thread() is not threading.main_thread():
        return
    # Fixtures end what they started only if these signals raise an exception.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: pytest.exit(
            f"ended by signal {n}", returncode=128 + n))
    # A shell's background job ignores SIGINT, and what it starts would inherit
    # that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def group_of(item):
    """Its place in LONGEST and its group's name."""
    name = item.path.stem.removeprefix("test_")
    for n, files in enumerate(LONGEST):
        if name in files:
            return n, files[0]
    return len(LONGEST), name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)[1]))
    items.sort(key=lambda item: group_of(item)[0])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and report.when != "teardown":
        for holder in running:
            report.sections.append(
                (f"log of {holder.dir.name}, its end", tail(holder.log, 40)))


def build(request, *programs):
    if "PLANE" in os.environ:   # make matrix has built them
        return
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a cold build takes minutes
        subprocess.run([HERE / "binaries.sh", *programs],
                       stdin=subprocess.DEVNULL, check=True)


@pytest.fixture(scope="session")
def build_programs(request):
    """build_programs(NAME...) builds what lib/binaries.sh calls by these
    names."""
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
    """Removes every Node, NodeClaim and NodePool."""
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


def refusals(holder):
    """How many of its requests the API server refused.  0 if it is ending: it
    closes its ports before it is gone."""
    try:
        return holder.metric("rest_client_requests_total", code="403")
    except AssertionError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            holder.process.wait(10)
        if holder.alive():
            raise
        return 0


def _holders(plane):
    """Yields make(start=, register=, **settings); all holders are stopped
    afterwards."""
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
            # Whatever the API server refused is missing in
            # deploy/base/rbac.yaml.  (An API server that has just started
            # refuses for another reason: it has not yet read its own roles.)
            if holder.alive() and not holder.refused \
                    and plane.starts == holder.plane_starts:
                assert not refusals(holder)
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


@pytest.fixture
def cluster(request):
    """A cluster with real Karpenter, which is empty and is emptied afterwards.
    The next test takes it over."""
    if not karpenters:
        build(request, *cluster_module.PROGRAMS)
        made = cluster_module.Cluster()
        made.start()
        made.start_karpenter()
        karpenters.append(made)
    yield karpenters[0]
    karpenters[0].wipe()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(nextitem):
    """Nobody uses the cluster any more: its six programs are never idle."""
    yield
    if karpenters and "cluster" not in getattr(nextitem, "fixturenames", ()):
        karpenters.pop().stop()


@pytest.fixture
def add_holder(cluster):
    yield from _holders(cluster)


@pytest.fixture
def karpenter(plane, clean):
    return Karpenter(plane)


@pytest.fixture
def view(plane):
    return View(plane)
