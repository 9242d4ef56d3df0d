# SPDX-License-Identifier: Apache-2.0
"""What `make release` makes, and a stranger who has nothing else.

Two releases are built: an older commit as 0.0.9, and this one, twice.  A
registry of go-containerregistry's is on loopback.  The stranger's commands run
where the repository is not to be seen; what a kubelet does, lib/machine.py
does.  Needs root.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest
import yaml

from cluster import node_pool
from controlplane import (BUILD, NAMESPACES, NODES, POOLS, REPO, WEBHOOKS,
                          ControlPlane, end, spawn, until)
from egress import Egress
from hold import MARK, SOON, View, annotations, check_held, nodes
from karpenter import Karpenter, node_body
from machine import ADDRESS, Machine
from test_helm_release import git
from test_image import run

pytestmark = pytest.mark.long

NAME = "karpenter-node-holder"
REGISTRY = "127.0.35.35:5035"
IMAGE = f"{REGISTRY}/{NAME}"
VERSION = re.search(r"^VERSION := (\S+)$", (REPO / "Makefile").read_text(),
                    re.M)[1]
OLDER = "1e9f40b872608cc98ffbd1e211f5af39574910bb"
ARCHS = ("amd64", "arm64")
SIGNED = {"SHA256SUMS.sig", "provenance.intoto.jsonl"}  # ECDSA draws lots
ROOT = BUILD / "dist" / "root"
# A folder with `dist` and `older` of a run before: they are not built again.
MADE = os.environ.get("MADE")
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAME}/deployments"
PROGRAMS = ("crane", "helm", "kubectl", "actionlint", "release-verify")


def release(repo=REPO, build=BUILD, **given):
    if MADE and repo == REPO:
        return pathlib.Path(MADE, "older" if "COMMIT" in given else "dist")
    run("make", "-C", repo, "release", f"BUILD={build}", f"IMAGE={IMAGE}",
        *(f"{k}={v}" for k, v in given.items()))
    return pathlib.Path(given["DIST"])


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("debootstrap and chroot need root")
    key = tmp_path_factory.mktemp("key") / "release.pem"
    run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout",
        "-out", key)
    return key


@pytest.fixture(scope="module")
def dist(key, tmp_path_factory):
    """The unit tests run with its libraries, too."""
    return release(DIST=tmp_path_factory.mktemp("dist"), VERSION=VERSION,
                   KEY=key, CHECK="yes")


@pytest.fixture(scope="module")
def older(key, tmp_path_factory):
    git("rev-parse", OLDER)     # says so if the history is not here
    return release(DIST=tmp_path_factory.mktemp("older"), VERSION="0.0.9",
                   KEY=key, COMMIT=OLDER, ARCHS="amd64")


@pytest.fixture(scope="module")
def programs(build_programs):
    build_programs(*PROGRAMS)


# --- what is in it ----------------------------------------------------------

def test_built_twice(dist, key, tmp_path):
    """In another folder, from a clone."""
    clone = tmp_path / "clone"
    run("git", "clone", "-q", REPO, clone)
    (clone / "build").mkdir()
    for kept in ("bin", "sbom-venv"):
        (clone / "build" / kept).symlink_to(BUILD / kept)
    again = release(clone, clone / "build", DIST=clone / "dist",
                    VERSION=VERSION, KEY=key, ROOT=ROOT)
    assert {p.name for p in again.iterdir()} == {
        p.name for p in dist.iterdir()}
    assert [p.name for p in sorted(again.iterdir()) if p.name not in SIGNED
            and p.read_bytes() != (dist / p.name).read_bytes()] == []


def in_root(*argv):
    return run("chroot", ROOT, *argv)


def layout(dist, tmp_path):
    folder = tmp_path / "layout"
    folder.mkdir()
    run("tar", "-C", folder, "-xf", dist / f"{NAME}-{VERSION}-image.tar")
    return f"oci:{folder}:{VERSION}"


def test_image_and_programs(dist, tmp_path):
    image = layout(dist, tmp_path)
    index = json.loads(run("skopeo", "inspect", "--raw", image))
    commit = json.loads((dist / "provenance.json").read_text())["predicate"][
        "buildDefinition"]["resolvedDependencies"][0]["digest"]["gitCommit"]
    assert MADE or commit == git("rev-parse", "HEAD").decode().strip()
    assert [m["platform"]["architecture"] for m in index["manifests"]] == \
        list(ARCHS)
    for arch, machine in zip(ARCHS, ("X86-64", "AArch64")):
        pick = "--override-arch", arch
        config = json.loads(run("skopeo", *pick, "inspect", "--config", image))
        assert config["architecture"] == arch
        assert config["config"]["User"] == "65532:65532"
        labels = config["config"]["Labels"]
        assert labels["org.opencontainers.image.version"] == VERSION
        assert labels["org.opencontainers.image.revision"] == commit
        # What kind, k3d and minikube load is the same.
        tar = dist / f"{NAME}-{VERSION}-docker-{arch}.tar"
        loaded = json.loads(run("skopeo", "inspect", "--config",
                                f"docker-archive:{tar}"))
        assert loaded["rootfs"] == config["rootfs"]
        assert loaded["config"] == config["config"]
        tagged, = json.loads(run("tar", "-xOf", tar, "manifest.json"))
        assert tagged["RepoTags"] == [f"{IMAGE}:{VERSION}"]

        top = f"{NAME}-{VERSION}-debian13-{arch}"
        shutil.rmtree(ROOT / "try", ignore_errors=True)
        (ROOT / "try").mkdir()
        run("tar", "-C", ROOT / "try", "-xf", dist / f"{top}.tar.gz")
        emulator = ["qemu-aarch64"] if arch == "arm64" else []
        for program in (NAME, "holderctl"):
            path = f"/try/{top}/bin/{program}"
            assert machine in run("readelf", "-h", f"{ROOT}{path}")
            assert f" {VERSION}" in in_root(*emulator, path, "version")
            page = ROOT / f"try/{top}/share/man/man1/{program}.1"
            assert ".Sh NAME" in page.read_text()
        shutil.rmtree(ROOT / "try")


def test_bill_and_vex(dist, tmp_path):
    """Each library of an image is of a package that its bill lists, and what
    OpenVEX says of symbols is so."""
    vex = json.loads((dist / "vex.openvex.json").read_text())
    digest = (dist / "image.digest").read_text().strip()
    for statement in vex["statements"]:
        product, = statement["products"]
        assert product["@id"] == f"pkg:oci/{NAME}@{digest}"
    called = dict(re.findall(r"(\S+) alone calls (\w+)", json.dumps(vex)))
    assert called
    for arch in ARCHS:
        bill = json.loads((dist / f"{NAME}-{VERSION}-{arch}.spdx.json"
                           ).read_text())
        listed = {p["name"]: p for p in bill["packages"]
                  if p.get("primaryPackagePurpose") == "LIBRARY"}
        assert {"libc6", "libcurl4t64", "libmicrohttpd12t64", "libgnutls30t64",
                "libssl3t64", "libcjson1", "libyaml-0-2"} <= set(listed)
        for package in listed.values():
            assert f"arch={arch}" in package["externalRefs"][0][
                "referenceLocator"]
        image, tar = tmp_path / arch, dist / f"{NAME}-{VERSION}-docker-{arch}.tar"
        image.mkdir()
        layer, = json.loads(run("tar", "-xOf", tar, "manifest.json"))[0][
            "Layers"]
        run("bash", "-c", f"tar -xOf {tar} {layer} | tar -x -C {image}")
        names = {p.name for p in image.rglob("*")}
        assert "ldd" not in names and "sh" not in names
        for file in filter(pathlib.Path.is_file, image.rglob("*")):
            needs = set(re.findall(r" U (\w+)", run("nm", "-D", file)))
            assert needs & set(called.values()) == (
                {called[file.name]} if file.name in called else set()), file


def test_manifests(dist, programs):
    """All images are the release's, pinned by digest but for the demo."""
    digest = (dist / "image.digest").read_text().strip()
    found = {p.stem: re.findall(r"^ *image: (.*)$", p.read_text(), re.M)
             for p in dist.glob("*.yaml") if p.stem != "karpenter-holder"}
    assert set(found) == {*(f"install-{o.name}" for o in (
        REPO / "deploy/overlays").iterdir()), "check", "uninstall"}
    for name, images in found.items():
        assert set(images) == {f"{IMAGE}:{VERSION}" + (
            "" if name == "install-demo" else f"@{digest}")}, name
    chart, = dist.glob(f"{NAME}-{VERSION}.tgz")
    run(BUILD / "bin" / "helm", "lint", "--strict", chart)
    shown = yaml.safe_load(run(BUILD / "bin" / "helm", "show", "chart", chart))
    assert (shown["version"], shown["appVersion"]) == (VERSION, VERSION)
    assert f"{IMAGE}:{VERSION}\n" in shown["annotations"][
        "artifacthub.io/images"]
    assert len((dist / "NOTES.md").read_text()) > 500


def test_workflows(programs):
    run(BUILD / "bin" / "actionlint", cwd=REPO)
    for workflow in (REPO / ".github/workflows").iterdir():
        jobs = yaml.safe_load(workflow.read_text())["jobs"]
        steps = [s for job in jobs.values() for s in job["steps"]]
        assert sum("make " in s.get("run", "") for s in steps) >= 1
        for step in steps:
            assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + 40 * "0"))


# --- the stranger -----------------------------------------------------------

class Stranger:
    """Somebody with dist/ and a cluster, and no repository."""

    def __init__(self, folder, *dists):
        self.home = folder
        (folder / "bin").mkdir()
        for program in PROGRAMS:
            shutil.copy(BUILD / "bin" / program, folder / "bin")
        for name, dist in dists:
            shutil.copytree(dist, folder / name)
        self.took = {}

    def __call__(self, step, text, cwd="dist", check=True):
        start = time.monotonic()
        hidden = f"mount -t tmpfs none {REPO} && cd {self.home / cwd} && "
        done = subprocess.run(
            ["unshare", "--mount", "bash", "-euo", "pipefail", "-c",
             hidden + text], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
            env={"HOME": str(self.home), "IMAGE": IMAGE,
                 "VERSION": "0.0.9" if cwd == "older" else VERSION,
                 "KUBECONFIG": str(self.home / "kubeconfig"),
                 "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"})
        if step:
            self.add(step, time.monotonic() - start)
        if check:
            assert done.returncode == 0, f"{text}\n{done.stdout}"
            return done.stdout
        return done.returncode

    def add(self, step, seconds):
        self.took[step] = self.took.get(step, 0) + seconds

    @contextlib.contextmanager
    def waiting(self, step):
        start = time.monotonic()
        yield
        self.add(step, time.monotonic() - start)


# As docs/releasing.md has them.
DOC = (REPO / "docs" / "releasing.md").read_text()


def commands(title):
    """The first block of commands of that section."""
    section = DOC[DOC.index(f"## {title}\n"):]
    text = re.search(r"```sh\n(.*?)```", section, re.S)[1]
    # The registry here has no certificate.
    text = re.sub(r"\b(skopeo copy)\b",
                  r"\1 --src-tls-verify=false --dest-tls-verify=false", text)
    return re.sub(r"\b(helm (?:push|pull|install|upgrade)) ",
                  r"\1 --plain-http ", re.sub(
                      r"\bcrane ", "crane --insecure ", text))


@pytest.fixture
def registry(programs, tmp_path):
    (tmp_path / "blobs").mkdir()
    process = spawn([BUILD / "bin" / "crane", "registry", "serve", "--address",
                     REGISTRY, "--disk", tmp_path / "blobs"],
                    tmp_path / "registry.log")
    until(lambda: subprocess.run(
        ["curl", "-fs", f"http://{REGISTRY}/v2/"],
        capture_output=True).returncode == 0, 20, "a registry")
    yield
    end(process)


@pytest.fixture
def stranger(dist, older):
    with tempfile.TemporaryDirectory() as folder:   # not in the repository
        yield Stranger(pathlib.Path(folder), ("dist", dist), ("older", older))


FILES = ("SHA256SUMS", "NOTES.md", "provenance.intoto.jsonl",
         f"{NAME}-{VERSION}-image.tar", f"{NAME}-{VERSION}.tgz")


def test_pushed_pulled_and_verified(registry, stranger):
    stranger("push", commands("Publish"))
    stranger("verify", commands("Verify"))
    sums = (stranger.home / "dist/SHA256SUMS").read_text()
    # Of each file the statement says the same; it is one of them itself.
    said = stranger("verify", "release-verify .")
    assert set(said.splitlines()) == {
        line for line in sums.splitlines() if "provenance.json" not in line}
    for name in FILES:
        file = stranger.home / "dist" / name
        kept = file.read_bytes()
        file.write_bytes(kept[:-9] + bytes([kept[-9] ^ 1]) + kept[-8:])
        assert stranger("verify", commands("Verify") + "release-verify .",
                        check=False) != 0, f"{name} may be changed"
        file.write_bytes(kept)
    stranger("verify", commands("Verify"))


@pytest.fixture
def site(plane_programs, stranger):
    """An API server that calls the webhook by its Service, and reaches Pods."""
    plane = ControlPlane(name="dist", flags=Egress.FLAGS)
    plane.egress = Egress(plane)
    with plane:
        plane.install_crds()
        plane.create(POOLS, node_pool("general"))
        plane.egress.route(f"{ADDRESS}:8080", 8080)
        shutil.copy(plane.kubeconfig, stranger.home / "kubeconfig")
        yield plane
        plane.egress.stop()


class Installed:
    """What runs of the objects that were applied."""

    def __init__(self, plane, machine):
        self.plane, self.machine = plane, machine

    def run(self):
        plane = self.plane
        service = plane.get(f"{NAMESPACES}/{NAME}/services", NAME)
        plane.egress.route(service["spec"]["clusterIP"] + ":443", 9443)
        self.machine.run(plane.get(DEPLOYMENTS, NAME + "-renewer"))
        pod = self.machine.run(plane.get(DEPLOYMENTS, NAME))
        until(lambda: "caBundle" in plane.get(WEBHOOKS, NAME)["webhooks"][0][
            "clientConfig"], SOON, "a caBundle")
        until(lambda: pod.name in json.dumps(plane.request(
            "GET", f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases/"
            + NAME)[1]), SOON, "it leads")
        return pod


def test_from_nothing_to_held_and_released(registry, stranger, site):
    """Trial, enforce, upgrade, uninstall, from files alone."""
    view, karpenter = View(site), Karpenter(site)
    machine = Machine(site, site.dir / "machine")
    installed = Installed(site, machine)
    stranger("push", commands("Publish"))
    stranger("push", commands("Publish"), cwd="older")
    stranger("plugin", "tar -C ../bin -xzf kubectl-karpenter_holder-*.tar.gz")
    try:
        stranger("trial", "kubectl apply -f install-trial.yaml", cwd="older")
        with stranger.waiting("trial"):
            installed.run()
            m = karpenter.machine()
            until(lambda: m.node in stranger(
                None, "kubectl karpenter-holder status --nodes"), SOON,
                "the trial tells of it")
        assert MARK not in annotations(site.get(NODES, m.node))

        stranger("enforce", "kubectl apply -f install-self-signed.yaml",
                 cwd="older")
        with stranger.waiting("enforce"):
            pod = installed.run()
            view.wait_held(nodes([m]), SOON)
        assert "0.0.9" in pod.get("/status")
        check_held(site.create(NODES, node_body("by-the-webhook")), {})
        marks = annotations(site.get(NODES, m.node))[MARK]

        stranger("upgrade", "kubectl apply -f install-self-signed.yaml")
        with stranger.waiting("upgrade"):
            pod = installed.run()
        assert VERSION in pod.get("/status")
        assert annotations(site.get(NODES, m.node))[MARK] == marks
        check_held(site.create(NODES, node_body("by-the-new-one")), {})

        stranger("release", "kubectl karpenter-holder release --all")
        with stranger.waiting("release"):
            view.wait_clear(nodes([m]), SOON)
        stranger("release", "kubectl karpenter-holder resume --all")
        last = karpenter.machine()
        view.wait_held(nodes([last]), SOON)

        stranger("uninstall", f"""
            kubectl delete mutatingwebhookconfiguration {NAME}
            kubectl -n {NAME} scale deployment {NAME} --replicas 0
            kubectl apply -f uninstall.yaml""")
        with stranger.waiting("uninstall"):
            machine.stop()
            job = machine.run(site.get(
                f"/apis/batch/v1/namespaces/{NAME}/jobs", NAME + "-uninstall"))
            assert job.process.wait(120) == 0, job.log.read_text()
        assert "none is left" in job.log.read_text()
        assert MARK not in annotations(site.get(NODES, last.node))
        stranger("uninstall", """
            kubectl delete -f uninstall.yaml --ignore-not-found --wait=false
            kubectl delete -f install-self-signed.yaml --ignore-not-found --wait=false
            """)
        left = stranger("uninstall", "kubectl get clusterroles,"
                        "clusterrolebindings,validatingadmissionpolicies,"
                        "mutatingwebhookconfigurations -o name")
        assert NAME not in left
    finally:
        machine.stop()
    print("\n" + "\n".join(f"{step:10} {seconds:6.1f} s"
                           for step, seconds in stranger.took.items()))


def test_helm_from_the_registry(registry, stranger, site):
    stranger("push", commands("Publish"))
    stranger("push", commands("Publish"), cwd="older")
    chart = f"oci://{REGISTRY}/charts/{NAME} --plain-http"
    where = f"--namespace {NAME}"
    stranger("install", f"helm install mine {chart} --version 0.0.9 {where} "
             "--create-namespace --set tls.mode=selfSigned")

    def images():
        return {c["image"] for o in site.get(DEPLOYMENTS)["items"]
                for c in o["spec"]["template"]["spec"]["containers"]}
    assert images() == {f"{IMAGE}:0.0.9"}
    stranger("upgrade", f"helm upgrade mine {chart} --version {VERSION} {where}"
             " --reset-then-reuse-values "
             "--set image.digest=$(cat image.digest)")
    assert images() == {f"{IMAGE}@" + (
        stranger.home / "dist/image.digest").read_text().strip()}
    stranger("uninstall", f"helm uninstall mine {where}")
    assert not site.get(DEPLOYMENTS)["items"]


def test_demo_from_what_was_loaded(stranger, site):
    """As on kind: no registry, the image by its tag, and a minute's hold."""
    view, karpenter = View(site), Karpenter(site)
    machine = Machine(site, site.dir / "machine", {
        f"{IMAGE}:{VERSION}": stranger.home / "dist" /
        f"{NAME}-{VERSION}-docker-amd64.tar"})
    stranger("demo", "kubectl apply -f install-demo.yaml")
    try:
        Installed(site, machine).run()
        m = karpenter.machine()
        view.wait_held(nodes([m]), SOON)
        view.check_released(nodes([m]), m.ready + 60)
    finally:
        machine.stop()
