# SPDX-License-Identifier: Apache-2.0
"""The holder starts no process: deploy/seccomp refuses it one.

Every other test runs its holders under this profile (lib/confined.py).
"""
import json
import os
import subprocess

import pytest

from conftest import Holder
from controlplane import CLAIMS, REPO, until
from hold import MARK, annotations
from karpenter import claim_body

PROFILE = REPO / "deploy/seccomp/no-process.json"
ATTEMPTS = """
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
THREAD = 0x10000
attempts = {
    "fork": os.fork,
    "posix_spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "vfork": lambda: call(58) if os.uname().machine == "x86_64" else 1 / 0,
    "clone3": lambda: call(435, None, 0),
    "unshare": lambda: call({"x86_64": 272, "aarch64": 97}[os.uname().machine],
                            0x10000000),
}
def call(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), "")
for name, attempt in attempts.items():
    try:
        attempt()
        print(name, "allowed")
    except OSError as e:
        print(name, e.errno)
    except ZeroDivisionError:
        print(name, 1)      # there is no such call
threading.Thread(target=lambda: print("thread allowed")).start()
"""


def test_what_is_refused():
    said = subprocess.run(
        [*map(str, Holder.confined), "/usr/bin/python3", "-c", ATTEMPTS],
        text=True, capture_output=True, timeout=60, check=True).stdout
    assert said.splitlines() == [
        "fork 1", "posix_spawn 1", "vfork 1", "clone3 38", "unshare 1",
        "thread allowed"]


class Contained(Holder):
    """A holder in a container of runc's, which sees this system's programs and
    libraries, read-only, and its own folder."""

    confined = ()

    def argv(self):
        bundle = self.dir / "bundle"
        (bundle / "root").mkdir(parents=True)
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())
        spec.pop("hostname")
        program, *args = map(str, super().argv())
        spec["process"].update(
            terminal=False, cwd="/", args=[os.path.realpath(program), *args],
            env=[f"HOME={self.dir}"],
            capabilities={})
        seen = ["/usr", "/lib", "/lib64", "/etc", "/proc", "/dev", str(REPO),
                os.path.dirname(os.path.realpath(program)), str(self.plane.dir)]
        spec["mounts"] = [
            {"destination": path, "source": path, "type": "bind",
             "options": ["rbind", "ro"]}
            for path in seen if os.path.exists(path)]
        spec["root"] = {"path": "root"}
        spec["linux"] = {"namespaces": [{"type": "mount"}],
                         "seccomp": json.loads(PROFILE.read_text())}
        (bundle / "config.json").write_text(json.dumps(spec))
        return ["runc", "--root", self.dir / "runc", "run", "--bundle", bundle,
                f"holder-{os.getpid()}"]


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="runc needs root here")
def test_under_runc(plane, clean):
    subprocess.run([REPO / "tests/deps.sh", "runc"], check=True, timeout=600)
    holder = Contained(plane, holdDuration="2s", startupTimeout="3s")
    try:
        holder.start()
        holder.register()
        pid, = (p for p in os.listdir("/proc") if p.isdigit()
                and b"serve" in arguments(p) and str(holder.config).encode()
                in arguments(p) and b"runc" not in arguments(p)[0])
        with open(f"/proc/{pid}/status") as status:
            assert "Seccomp:\t2\n" in status.readlines()
        name = plane.create(CLAIMS, claim_body())["metadata"]["name"]

        def is_marked():
            return MARK in annotations(plane.get(CLAIMS, name))
        assert is_marked()
        until(lambda: not is_marked(), 60, "a release")
        assert holder.term() == 0
    finally:
        holder.stop()


def arguments(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return [b""]
