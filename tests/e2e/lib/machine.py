# SPDX-License-Identifier: Apache-2.0
"""What a kubelet and a container runtime do for the one Pod of a Deployment or
a Job: it pulls the image by its digest, mounts what the Pod says, read-only,
and runs the container as the Pod's user, with the account's token.

A Pod's ports are those of this computer, so there is one of a kind at a time.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import urllib.request

from controlplane import NAMESPACES, end, spawn, tail, until
from mount import SecretMount

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
ADDRESS = "10.244.0.7"
UNITS = {"Mi": 1 << 20, "Ki": 1 << 10, "Gi": 1 << 30}
# A container runtime does the same: mounts first, then the root becomes
# read-only.
READ_ONLY = """
root=$1 uid=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
while [ "$1" != -- ]; do
    mount --bind "$1" "$root$2"
    mount -o remount,bind,ro "$root$2"
    shift 2
done
shift
mount -o remount,bind,ro "$root"
setpriv --no-new-privs chroot --userspec="$uid:$uid" --groups= "$root" "$@" &
wait $!
"""


def confined(root, uid, mounts, program):
    """The command that runs a program there.  mounts: {what: where}"""
    root = pathlib.Path(root)
    (root / "proc").mkdir(exist_ok=True)
    for source, target in mounts.items():
        place = root / target[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True) if source.is_dir() else place.touch()
    pairs = [p for pair in mounts.items() for p in pair]
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child",
            "sh", "-euc", READ_ONLY, "sh", root, uid, *pairs, "--", *program]


def inside(process, program):
    """The process id of that program itself, below what runs it."""
    parent = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parent[int(stat.parent.name)] = int(fields[1])
    for pid in parent:
        above = pid
        while above and above != process.pid:
            above = parent.get(above, 0)
        if above:
            with contextlib.suppress(OSError):
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if command.split(b"\0")[0] == program.encode():
                    return pid
    return None


class Machine:
    """archives: {image: a file that was loaded, so that nothing is pulled}"""

    def __init__(self, plane, folder, archives=()):
        self.plane, self.folder = plane, folder
        folder.mkdir()
        self.archives = dict(archives)
        self.pods = {}
        self.count = 0

    def image(self, name):
        """-> (its root, its entrypoint)"""
        # With a digest the tag does not count.
        name = re.sub(r":[^:/@]+@", "@", name)
        here = self.folder / re.sub(r"[^a-z0-9.]", "-", name)
        if not here.exists():
            source = (f"docker-archive:{self.archives[name]}"
                      if name in self.archives else f"docker://{name}")
            for command in (
                    ["skopeo", "copy", "--quiet", "--src-tls-verify=false",
                     source, f"oci:{here}:it"],
                    ["umoci", "unpack", "--image", f"{here}:it",
                     here / "bundle"]):
                subprocess.run([*map(str, command)], check=True,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
        config = json.loads(subprocess.run(
            ["skopeo", "inspect", "--config", f"oci:{here}:it"], check=True,
            capture_output=True, stdin=subprocess.DEVNULL).stdout)["config"]
        return here / "bundle" / "rootfs", config["Entrypoint"]

    def run(self, owner, ready=True):
        """Runs the Pod of this Deployment or Job in the place of its last."""
        name = owner["metadata"]["name"]
        self.stop(name)
        self.count += 1
        self.pods[name] = pod = Pod(self, owner, f"{name}-{self.count}")
        if ready and pod.ports:
            until(lambda: pod.get("/readyz"), 60,
                  lambda: f"{name} ready\n{tail(pod.log)}")
        return pod

    def stop(self, name=None):
        for name in [name] if name else list(self.pods):
            if name in self.pods:
                self.pods.pop(name).stop()


class Pod:
    def __init__(self, machine, owner, name):
        self.plane, self.name = machine.plane, name
        self.namespace = owner["metadata"]["namespace"]
        template = owner["spec"]["template"]
        spec, (container,) = template["spec"], template["spec"]["containers"]
        self.folder = machine.folder / name
        self.folder.mkdir()
        self.log = self.folder / "log"
        self.secrets = []
        root, entrypoint = machine.image(container["image"])
        self.program = container.get("command", entrypoint)[0]
        volumes = {v["name"]: v for v in spec.get("volumes", ())}
        mounts = {self.volume(volumes[m["name"]]): m["mountPath"]
                  for m in container.get("volumeMounts", ())}
        mounts[self.account(spec["serviceAccountName"])] = ACCOUNT
        self.process = spawn(
            confined(root, spec["securityContext"]["runAsUser"], mounts,
                     [*container.get("command", entrypoint),
                      *container.get("args", ())]),
            self.log, {"PATH": os.environ["PATH"],
                       "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                       "KUBERNETES_SERVICE_PORT": str(self.plane.port),
                       **{e["name"]: self.value(e, container)
                          for e in container.get("env", ())}})
        self.ports = {p["name"]: p["containerPort"]
                      for p in container.get("ports", ())}
        self.path = f"{NAMESPACES}/{self.namespace}/pods"
        self.plane.create(self.path, {
            "apiVersion": "v1", "kind": "Pod", **template,
            "metadata": {**template["metadata"], "name": name}})
        self.plane.patch(self.path, name + "/status", {"status": {
            "phase": "Running", "podIP": ADDRESS,
            "podIPs": [{"ip": ADDRESS}],
            "conditions": [{"type": "Ready", "status": "True"}]}})

    def value(self, entry, container):
        if "value" in entry:
            return entry["value"]
        if "fieldRef" in entry["valueFrom"]:
            assert entry["valueFrom"]["fieldRef"]["fieldPath"] == \
                "metadata.name"
            return self.name
        assert entry["valueFrom"]["resourceFieldRef"]["resource"] == \
            "limits.memory"
        limit = container["resources"]["limits"]["memory"]
        return str(int(limit[:-2]) * UNITS[limit[-2:]])

    def volume(self, volume):
        """-> the folder with what is in it"""
        folder = self.folder / volume["name"]
        if "secret" in volume:
            secret = volume["secret"]
            mount = SecretMount(
                self.plane, self.namespace, secret["secretName"], folder,
                [i["key"] for i in secret["items"]])
            self.secrets.append(mount.__enter__())
        else:
            folder.mkdir()
            files = self.plane.get(f"{NAMESPACES}/{self.namespace}/configmaps",
                                   volume["configMap"]["name"])["data"]
            for name, text in files.items():
                (folder / name).write_text(text)
        return folder

    def account(self, name):
        folder = self.folder / "account"
        folder.mkdir()
        (folder / "namespace").write_text(self.namespace)
        (folder / "token").write_text(
            self.plane.service_account(self.namespace, name).token)
        (folder / "ca.crt").write_bytes(
            (self.plane.dir / "ca.crt").read_bytes())
        return folder

    def get(self, path):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{self.ports['metrics']}{path}",
                    timeout=5) as answer:
                return answer.read().decode()

    def stop(self):
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, TypeError):
                os.kill(inside(self.process, self.program), signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        end(self.process)
        for secret in self.secrets:
            secret.stop()
        self.plane.delete(self.path, self.name + "?gracePeriodSeconds=0")
