# SPDX-License-Identifier: Apache-2.0
"""Other versions of Karpenter and Kubernetes than tests/modules pins.

    folder = plane("v1.15.0", "v1.36.3")

has bin, crds and stages as build/ has them.  All of them come from Go modules:
the version decides the go.mod, which asks for what upstream's own go.mod asks
for, and tests/matrix/go.sum says what each module has to contain.

    tests/e2e/lib/versions.py KARPENTER... KUBERNETES...

writes that go.sum anew for these versions; those of Kubernetes begin with "k".
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from controlplane import BUILD, HERE, PLANE, REPO

MODULES = REPO / "tests" / "modules"
SUMS = REPO / "tests" / "matrix" / "go.sum"
# module, what is built of it, what tests/e2e/lib/binaries.sh makes of it
KARPENTER = ("sigs.k8s.io/karpenter", ("kwok",), ("karpenter", "crds"))
KUBERNETES = ("k8s.io/kubernetes",
              ("cmd/kube-apiserver", "cmd/kube-controller-manager",
               "cmd/kube-scheduler", "cmd/kubectl"),
              ("kube-apiserver", "kube-controller-manager", "kube-scheduler",
               "kubectl"))


def _go(*args, **options):
    """A Go that is newer than the installed one comes as a module, too."""
    return subprocess.run(
        ["go", *args], check=True, text=True, stdout=subprocess.PIPE,
        env={**os.environ, "GOFLAGS": "", "GOWORK": "off",
             "GOTOOLCHAIN": "auto", "CGO_ENABLED": "0"}, **options).stdout


def _write_module(folder, module, version):
    """Writes its go.mod.  Kubernetes asks for its own parts as v0.0.0, and has
    them published as v0.MINOR.PATCH."""
    found = json.loads(_go("mod", "download", "-json", f"{module}@{version}"))
    asks = json.loads(_go("mod", "edit", "-json", found["GoMod"]))
    lines = [f"\t{module} {version}"]
    for need in asks["Require"]:
        part = "v0" + version[2:]
        lines.append(f"\t{need['Path']} " + (
            part if need["Version"] == "v0.0.0" else need["Version"]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text("\n".join(
        [f"module {folder.name}", "", f"go {asks['Go']}", "", "require (",
         *lines, ")", ""]))


def pinned(name, module):
    """The version that tests/modules pins."""
    return re.search(rf"\b{re.escape(module)} (v\S+)",
                     (MODULES / name / "go.mod").read_text())[1]


def running():
    """The version of the Karpenter that the tests run, such as (1, 15, 0)."""
    version = pinned("karpenter", KARPENTER[0])
    if PLANE != BUILD:
        version = re.search(rb"\tsigs\.k8s\.io/karpenter\t(v[\d.]+)", (
            PLANE / "bin" / "karpenter").read_bytes())[1].decode()
    return tuple(map(int, version[1:].split(".")))


def build(name, version, of):
    """Builds what there is not yet; returns the folder."""
    module, _, programs = of
    folder = BUILD
    env = {**os.environ}
    if version != pinned(name, module):
        folder = BUILD / "versions" / f"{name}-{version}"
        _write_module(folder / "modules" / name, module, version)
        shutil.copy(SUMS, folder / "modules" / name)
        env |= {"BUILD": str(folder), "MODULES": str(folder / "modules"),
                "TOOLCHAIN": "auto"}
    subprocess.run([HERE / "binaries.sh", *programs], env=env, check=True,
                   stdin=subprocess.DEVNULL)
    return folder


def plane(karpenter, kubernetes):
    """A folder with all that a test's cluster needs, of these versions."""
    subprocess.run([HERE / "binaries.sh", "etcd", "kwok", "stages"],
                   check=True, stdin=subprocess.DEVNULL)
    folder = BUILD / "versions" / f"{karpenter}-on-{kubernetes}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    for program in (BUILD / "bin").iterdir():
        (folder / "bin" / program.name).symlink_to(program)
    for source in BUILD.glob("*crds"), BUILD.glob("stages"):
        for path in source:
            (folder / path.name).symlink_to(path)
    for name, version, of in (("karpenter", karpenter, KARPENTER),
                              ("kubernetes", kubernetes, KUBERNETES)):
        made = build(name, version, of)
        for program in of[2]:
            link = folder / ("crds" if program == "crds" else f"bin/{program}")
            link.unlink(missing_ok=True)
            link.symlink_to(made / link.relative_to(folder))
    return folder


def sums(versions):
    """All that their builds look at."""
    lines = set()
    for version in versions:
        module, packages, _ = KUBERNETES if version[0] == "k" else KARPENTER
        print(version, flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "sums"
            _write_module(folder, module, version.removeprefix("k"))
            try:
                _go("list", "-mod=mod", "-deps",
                    *(f"{module}/{package}" for package in packages),
                    cwd=folder)
            except subprocess.CalledProcessError:
                print(f"{version} cannot be built from its modules")
                continue
            lines |= set((folder / "go.sum").read_text().splitlines(True))
    SUMS.write_text("".join(sorted(lines)))


if __name__ == "__main__":
    sums(sys.argv[1:])
