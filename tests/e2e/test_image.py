# SPDX-License-Identifier: Apache-2.0
"""The container image: built by deploy/image.sh, inspected, and run.

buildah builds it, as on a machine without a daemon.  No registry is asked: the
image in which it is compiled is a Debian 12 made by debootstrap.  Needs root.
"""
import contextlib
import errno
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
from collections import namedtuple

import pytest
import yaml

from controlplane import BUILD, NODES, REPO, end, spawn, until
from hold import SOON, check_held, nodes
from holder import DEPLOY, Holder
from karpenter import Karpenter, node_body
from machine import ACCOUNT, confined, inside

pytestmark = pytest.mark.long

PROGRAM = "usr/bin/karpenter-node-holder"
PROGRAMS = {PROGRAM, "usr/bin/holderctl"}
USER = 65532
SIZE_MAX = 30_000_000
NAME = "kubernetes.default.svc"  # the name in the API server's certificate

Image = namedtuple("Image", "name version out base")


def run(*argv, env=None, **options):
    done = subprocess.run([*map(str, argv)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env=env, **options)
    assert done.returncode == 0, f"{argv[0]}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


# --- made once --------------------------------------------------------------

class Store:
    """buildah with a store of its own, which is removed with it."""

    def __init__(self, path):
        self.path = path
        conf = path / "storage.conf"
        conf.write_text(f'[storage]\ndriver = "vfs"\n'
                        f'graphroot = "{path / "graph"}"\n'
                        f'runroot = "{path / "run"}"\n')
        self.env = {**os.environ, "CONTAINERS_STORAGE_CONF": str(conf),
                    "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}

    def __call__(self, *argv):
        return run("buildah", *argv, env=self.env)

    def root_of(self, image):
        """Makes a new container of the image; returns (its name, its root)."""
        container = self("from", "--pull-never", image)
        return container, pathlib.Path(self("mount", container))


@pytest.fixture(scope="module")
def store():
    if os.geteuid() != 0:
        pytest.skip("debootstrap and chroot need root")
    run(REPO / "tests" / "deps.sh", "buildah", "debootstrap", "binutils")
    # It takes gigabytes, and must not be where a Makefile looks for *.d.
    path = BUILD / "image-store"
    shutil.rmtree(path, ignore_errors=True)  # a killed run may have left it
    path.mkdir()
    store = Store(path)
    yield store
    store("rm", "--all")
    shutil.rmtree(path)


def debian(store):
    """A minimal Debian 12 as a tar archive, which is kept for the next run."""
    kept = BUILD / "debian-12.tar"
    if not kept.exists():
        root = store.path / "debian"
        run("debootstrap", "--variant=minbase", "bookworm", root)
        # apt in the image reaches the mirror in the same way as apt outside.
        conf = re.findall(r"^Acquire::(?:https?|Check)\S* .*;$",
                          run("apt-config", "dump"), re.M)
        (root / "etc/apt/apt.conf.d/host").write_text("\n".join(conf) + "\n")
        new = kept.with_suffix(".new")
        run("tar", "-C", root, "-cf", new, "--exclude=./dev/*", ".")
        new.rename(kept)
        shutil.rmtree(root)
    return kept


@pytest.fixture(scope="module")
def image(store, tmp_path_factory):
    base = "localhost/holder-e2e-base:12"
    scratch = store("from", "scratch")
    store("add", "-q", scratch, debian(store), "/")
    store("commit", "-q", scratch, base)
    store("rm", scratch)
    makefile = (REPO / "Makefile").read_text()
    version = re.search(r"^VERSION := (\S+)$", makefile, re.M)[1]
    image = Image(f"localhost/holder-e2e:{version}", version,
                  tmp_path_factory.mktemp("out"), base)
    run("make", "-C", REPO, "image", env={
        **store.env, "BUILDER": "buildah", "BASE": image.base,
        "IMAGE": image.name, "OUT": str(image.out)})
    return image


@pytest.fixture(scope="module")
def root(store, image):
    return store.root_of(image.name)[1]


# --- what is in it ----------------------------------------------------------

def files(root):
    return {str(p.relative_to(root)): p for p in root.rglob("*")
            if not p.is_dir() or p.is_symlink()}


@functools.cache
def dynamic(path):
    """Returns (libraries it names, the loader it asks for)."""
    text = run("readelf", "-ldW", path)
    return (re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", text),
            re.findall(r"Requesting program interpreter: (.+)\]", text))


def test_nothing_but_the_program_and_its_libraries(root):
    found = files(root)
    size = sum(p.stat().st_size for p in found.values())
    print(f"\nimage: {size / 1e6:.1f} MB in {len(found)} files")
    assert size < SIZE_MAX

    by_name = {p.name: p for p in found.values()}
    assert len(by_name) == len(found), "one library in two places"
    interpreter, = dynamic(found[PROGRAM])[1]
    left = {pathlib.Path(p).name for p in PROGRAMS}
    wanted = left | {pathlib.Path(interpreter).name}
    while left:
        name = left.pop()
        assert name in by_name, f"{name} is missing"
        needed = set(dynamic(by_name[name])[0])
        left |= needed - wanted
        wanted |= needed
    assert set(by_name) == wanted
    assert interpreter[1:] in found

    for p in root.rglob("*"):
        status = p.lstat()
        assert (status.st_uid, status.st_gid) == (0, 0), p
        assert not p.is_symlink(), p
        assert status.st_mode & 0o7022 == 0, f"{p}: {status.st_mode:o}"

    # The loader itself tells, with only this root to look in.
    listed = "".join(run("chroot", root, interpreter, "--list", "/" + p)
                     for p in PROGRAMS)
    assert "not found" not in listed
    paths = {p[1:] for p in re.findall(r"(?:=> )(/\S+)", listed)}
    assert paths == set(found) - PROGRAMS - {interpreter[1:]}


def test_configuration(store, image):
    config = json.loads(store("inspect", "--type", "image", image.name))
    config = config["OCIv1"]["config"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["/" + PROGRAM]
    assert config["Cmd"] == ["serve"]
    assert set(config["ExposedPorts"]) == {"9443/tcp", "8080/tcp"}
    assert not config.get("Volumes")
    assert [e.split("=")[0] for e in config["Env"]] == ["PATH"]
    label = {k.removeprefix("org.opencontainers.image."): v
             for k, v in config["Labels"].items()}
    assert label["title"] == "karpenter-node-holder"
    assert label["licenses"] == "Apache-2.0"
    assert label["description"] and label["created"]
    assert label["version"] == image.version
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", label["revision"])


def test_any_processor():
    for name in ("Dockerfile", "deploy/image-root.sh"):
        text = (REPO / name).read_text()
        assert not re.search(r"amd64|x86|i386|arm|aarch|linux-gnu", text), name


def test_bill_of_materials(store, image, root):
    """It lists each package that a file comes from, in its version, and no
    other."""
    build = image.name + "-build"
    # The existing layers are used: they have the same Debian.
    store("build", "--layers", "--build-arg", f"BASE={image.base}",
          "--target", "build", "--tag", build, "-f", REPO / "Dockerfile", REPO)
    _, origin = store.root_of(build)
    owner = {}
    for listing in (origin / "var/lib/dpkg/info").glob("*.list"):
        package = listing.stem.split(":")[0]
        for path in listing.read_text().splitlines():
            owner[re.sub(r"^/usr/lib", "/lib", path)] = package
    wanted = set()
    for name in set(files(root)) - PROGRAMS:
        at = run("chroot", origin, "realpath", "/" + name)
        assert ((root / name).read_bytes()
                == (origin / at[1:]).read_bytes()), name
        wanted.add(owner[re.sub(r"^/usr/lib", "/lib", at)])
    versions = dict(line.split() for line in run(
        "chroot", origin, "dpkg-query", "-W",
        "-f", "${Package} ${Version}\n").splitlines())

    bill = json.loads((image.out / "sbom.spdx.json").read_text())
    assert bill["spdxVersion"] == "SPDX-2.3"
    packages = {p["SPDXID"]: p for p in bill["packages"]}
    top, = [r["relatedSpdxElement"] for r in bill["relationships"]
            if r["relationshipType"] == "DESCRIBES"]
    assert packages[top]["name"] == "karpenter-node-holder"
    assert packages[top]["versionInfo"] == image.version
    listed = {p["name"]: p for i, p in packages.items()
              if i != top and p["primaryPackagePurpose"] == "LIBRARY"}
    assert set(listed) == wanted
    assert {"libc6", "libcurl4", "libmicrohttpd12", "libgnutls30",
            "libssl3", "libcjson1", "libyaml-0-2"} <= wanted
    sources = [p for p in packages.values()
               if p["primaryPackagePurpose"] == "SOURCE"]
    assert len(packages) == 1 + len(listed) + len(sources)
    for name, package in listed.items():
        assert package["versionInfo"] == versions[name]
        assert package["externalRefs"][0]["referenceLocator"].startswith(
            f"pkg:deb/debian/{name}@")
        notice = image.out / "packages/usr/share/doc" / name / "copyright"
        assert notice.stat().st_size > 100, notice


def contents(folder):
    """Returns {path: (mode, content)}."""
    return {str(p.relative_to(folder)): (
        p.lstat().st_mode, p.read_bytes() if p.is_file() else None)
        for p in folder.rglob("*")}


def test_podman_where_docker_has_no_daemon(store, image, root, tmp_path):
    """The builder that works is used.  Its image is the same but for the
    version, which shows that it was built separately."""
    run(REPO / "tests" / "deps.sh", "podman")
    client = tmp_path / "docker"
    client.write_text("#!/bin/sh\necho 'Is the daemon running?' >&2\nexit 1\n")
    client.chmod(0o755)
    name, out = image.name + "-podman", tmp_path / "out"
    done = subprocess.run(
        ["make", "-C", REPO, "image", "VERSION=9.9.9"], text=True,
        stdin=subprocess.DEVNULL, capture_output=True, env={
            **store.env, "PATH": f"{tmp_path}:{store.env['PATH']}",
            "BUILDER": "docker podman", "BASE": image.base, "IMAGE": name,
            "OUT": str(out)})
    assert done.returncode == 0, done.stderr
    assert f"building {name} with podman\n" in done.stderr
    assert contents(store.root_of(name)[1]) == contents(root)
    assert contents(out / "packages") == contents(image.out / "packages")
    mine, theirs = (json.loads(store("inspect", "--type", "image", i))[
        "OCIv1"]["config"] for i in (name, image.name))
    theirs["Labels"]["org.opencontainers.image.version"] = "9.9.9"
    assert mine == theirs


# --- and that it runs -------------------------------------------------------

DNS = "127.0.53.53"
HOSTS = "127.0.0.1 localhost\n"
NOBODY = "nameserver 127.0.53.54\n"


class Names:
    """A DNS server that knows one name.  resolv.conf has no port, so it
    listens on 53."""

    def __init__(self, name, address):
        self.name, self.answer = name.lower(), socket.inet_aton(address)
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((DNS, 53))
        self.socket.settimeout(0.1)
        self.stopped = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while not self.stopped:
            with contextlib.suppress(socket.timeout):
                query, peer = self.socket.recvfrom(512)
                self.socket.sendto(self._reply(query), peer)

    def _reply(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
            at += 1 + query[at]
        name, kind = ".".join(labels), query[at + 1:at + 5]
        self.asked.append(name)
        known = name == self.name
        record = (b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 5, 4) + self.answer
                  if known and kind == b"\0\1\0\1" else b"")
        return (query[:2] + struct.pack(
                    ">HHHHH", 0x8180 if known else 0x8183, 1, bool(record),
                    0, 0) + query[12:at + 5] + record)

    def close(self):
        self.stopped = True
        self.thread.join()
        self.socket.close()


@pytest.fixture
def names():
    names = Names(NAME, "127.0.0.1")
    yield names
    names.close()


class Pod(Holder):
    """A holder in the image, with what the Deployment mounts.

    It finds the API server as in any pod, by KUBERNETES_SERVICE_HOST and the
    ServiceAccount's files.
    """

    def __init__(self, plane, store, image, host, read_only, etc):
        super().__init__(plane, leaderElection={"enabled": True},
                         holdDuration="2m")
        self.store, self.host, self.read_only = store, host, read_only
        self.container, self.root = store.root_of(image.name)
        pod = self.dir / "pod"
        self.mounts = {pod / "config": "/config", pod / "tls": "/tls",
                       pod / "account": ACCOUNT}
        for folder in self.mounts:
            folder.mkdir(parents=True)
        os.chown(pod / "tls", USER, USER)
        store("run", "--volume", f"{pod / 'tls'}:/tls", self.container, "--",
              "/" + PROGRAM, "certs", "--out", "/tls", "--dns", "localhost",
              "--ip", "127.0.0.1")
        self.ca = (pod / "tls" / "ca.crt").read_bytes()
        self.settings["webhook"].update(
            certFile="/tls/tls.crt", keyFile="/tls/tls.key")
        (pod / "config" / "config.yaml").write_text(
            yaml.safe_dump(self.settings))
        namespace = self.account.name.split(":")[2]
        (pod / "account" / "namespace").write_text(namespace)
        (pod / "account" / "token").write_text(self.account.token)
        shutil.copy(plane.dir / "ca.crt", pod / "account" / "ca.crt")
        for name, text in etc.items():
            (pod / name).write_text(text)
            self.mounts[pod / name] = "/etc/" + name

    def argv(self):
        container = yaml.safe_load((DEPLOY / "deployment.yaml").read_text())[
            "spec"]["template"]["spec"]["containers"][0]
        assert "command" not in container  # it is the image's entrypoint
        program = ["/" + PROGRAM, *container["args"]]
        env = {"KUBERNETES_SERVICE_HOST": self.host,
               "KUBERNETES_SERVICE_PORT": str(self.plane.port)}
        if not self.read_only:
            volumes = [f"--volume={a}:{b}:ro" for a, b in self.mounts.items()]
            given = [f"--env={k}={v}" for k, v in env.items()]
            return ["buildah", "run", *volumes, *given, self.container,
                    "--", *program], self.store.env
        return confined(self.root, USER, self.mounts, program), {
            **env, "PATH": os.environ["PATH"]}

    def start(self, wait=True):
        argv, env = self.argv()
        self.process = spawn(argv, self.log, env)
        if wait:
            self.wait_ready()
        return self

    def pid(self):
        """The process id of the holder itself, below what runs it."""
        return inside(self.process, "/" + PROGRAM)

    def term(self, timeout=20):
        os.kill(self.pid(), signal.SIGTERM)
        return self.process.wait(timeout)

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            pid = self.pid() if self.alive() else None
            if pid:
                os.kill(pid, signal.SIGKILL)
        if self.process:
            end(self.process)
        self.unregister()


@pytest.mark.parametrize("host, read_only, etc", [
    # The contents that buildah gives to /etc/hosts and resolv.conf do not
    # matter.
    pytest.param("127.0.0.1", False, {}, id="buildah-ip"),
    # Not even these two files are there.
    pytest.param("127.0.0.1", True, {}, id="read-only-ip"),
    pytest.param(NAME, True, {
        "hosts": HOSTS + f"127.0.0.1 {NAME}\n", "resolv.conf": NOBODY},
        id="read-only-hosts"),
    pytest.param(NAME, True, {
        "hosts": HOSTS, "resolv.conf": f"nameserver {DNS}\n"},
        id="read-only-dns"),
])
def test_runs(plane, clean, view, store, image, names, host, read_only, etc):
    """The holder works in both roles: as a client of the API server and as a
    server of reviews."""
    karpenter = Karpenter(plane)
    before = karpenter.machine()
    pod = Pod(plane, store, image, host, read_only, etc)
    try:
        pod.start()
        # To the API server: it watches, and it patches what it missed.
        view.wait_held(nodes([before]), SOON + 5)
        assert pod.metric("rest_client_requests_total", code="200") > 0
        assert not pod.metric("rest_client_requests_total", code="403")

        # From a client, with the certificate that it made itself.
        status, answer, _ = pod.review(node_body("in-the-image"))
        assert status == 200 and answer["response"]["allowed"], answer
        assert answer["response"]["patchType"] == "JSONPatch", answer
        # And from the API server.
        pod.register()
        check_held(plane.create(NODES, node_body("real")), {})

        status = dict(line.split(":\t", 1) for line in pathlib.Path(
            f"/proc/{pod.pid()}/status").read_text().splitlines())
        for kind in ("Uid", "Gid"):
            assert status[kind].split() == 4 * [str(USER)]
        assert int(status["CapEff"], 16) == 0
        if read_only:
            assert status["NoNewPrivs"] == "1"
            with pytest.raises(OSError) as refused:
                pathlib.Path(f"/proc/{pod.pid()}", "root", "new").write_text(
                    "")
            assert refused.value.errno == errno.EROFS
        mapped = {int(inode) for inode in re.findall(
            r"(\d+) +/\S+$", pathlib.Path(
                f"/proc/{pod.pid()}/maps").read_text(), re.M)}
        ours = {p.stat().st_ino for p in files(pod.root).values()}
        assert len(mapped) > 20 and mapped <= ours
        assert (NAME in names.asked) is (DNS in etc.get("resolv.conf", ""))

        pid = pod.pid()
        assert pod.term() == 0
        until(lambda: not os.path.exists(f"/proc/{pid}"), 5, "it has ended")
    finally:
        pod.stop()
