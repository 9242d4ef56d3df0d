# SPDX-License-Identifier: Apache-2.0
"""A Secret as a kubelet mounts it: it polls, and it is late.

    with SecretMount(plane, "karpenter-node-holder", "tls", folder):
        ...     # folder/tls.crt -> ..data/tls.crt, swapped by one rename

The volume is `optional`: without the Secret, or without a key of it, there is
no such file.
"""
import base64
import os
import pathlib
import random
import shutil
import threading
import time


class SecretMount:
    """items: the keys wanted; None: all.  late: a change appears up to so many
    seconds after it is seen (a kubelet's may take 90)."""

    def __init__(self, plane, namespace, name, folder, items=None, late=0.0,
                 every=0.1):
        self.plane = plane
        self.path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.items, self.late, self.every = items, late, every
        self.version = 0
        self.swaps = 0              # how many writes changed something
        self.content = None
        self.failed = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.write({})
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        assert not self.failed, self.failed

    def read(self):
        status, secret = self.plane.request("GET", self.path)
        if status == 404:
            return {}
        assert status == 200, secret
        data = secret.get("data") or {}
        return {key: base64.b64decode(data[key]) for key in data
                if self.items is None or key in self.items}

    def write(self, content):
        """Writes as AtomicWriter of k8s.io/kubernetes/pkg/volume/util does."""
        if content == self.content:
            return
        self.version += 1
        new = self.folder / f"..version{self.version}"
        new.mkdir()
        for key, value in content.items():
            (new / key).write_bytes(value)
        link, data = self.folder / "..data_tmp", self.folder / "..data"
        link.symlink_to(new.name)
        old = data.resolve() if data.is_symlink() else None
        os.rename(link, data)
        for key in content:
            if not (self.folder / key).is_symlink():
                (self.folder / key).symlink_to(f"..data/{key}")
        for file in self.folder.iterdir():
            if not file.name.startswith("..") and file.name not in content:
                file.unlink()
        if old:
            shutil.rmtree(old)
        self.swaps += self.content is not None
        self.content = content

    def _run(self):
        try:
            while not self._stop.wait(self.every):
                if self.read() == self.content:
                    continue
                if self._stop.wait(random.uniform(0, self.late)):
                    return
                self.write(self.read())     # the Secret as it is by then
        except Exception as e:  # whoever stops it reports this
            self.failed = f"{time.strftime('%T')} {type(e).__name__}: {e}"
