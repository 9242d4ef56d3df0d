# SPDX-License-Identifier: Apache-2.0
"""A cgroup with a memory limit, in whichever hierarchy has the memory
controller."""
import contextlib
import os
import pathlib
import time

MOUNTS = pathlib.Path("/proc/self/mounts")
OWN = pathlib.Path("/proc/self/cgroup")


def mounts(kind):
    """Returns (where, options) of the cgroup file systems of this kind."""
    lines = (line.split() for line in MOUNTS.read_text().splitlines())
    return [(pathlib.Path(f[1]), f[3].split(",")) for f in lines
            if f[2] == kind]


def own_path(controller):
    """The path of this process in the hierarchy of a controller; "" is that of
    version 2."""
    for line in OWN.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path.lstrip("/")
    return ""


def parents(root, path):
    """Where a cgroup may be made: from our own one up to the root."""
    at = root / path
    if not at.is_dir():     # we see another part of the tree
        at = root
    while True:
        yield at
        if at == root:
            return
        at = at.parent


class Cgroup:
    """Only what the test starts there is in it.  limit is in bytes."""

    def __init__(self, limit):
        self.path, self.second = self.make()
        names = (("memory.swap.max", "memory.max") if self.second else
                 ("memory.swappiness", "memory.limit_in_bytes"))
        for name, value in zip(names, (0, limit)):
            if (self.path / name).exists() or name == names[1]:
                (self.path / name).write_text(str(value))

    @staticmethod
    def make():
        """Returns (path, whether it is version 2)."""
        tried = []
        for kind, controller, file in (
                ("cgroup", "memory", "memory.limit_in_bytes"),
                ("cgroup2", "", "memory.max")):
            for root, options in mounts(kind):
                if kind == "cgroup" and "memory" not in options:
                    continue
                for parent in parents(root, own_path(controller)):
                    with contextlib.suppress(OSError):
                        (parent / "cgroup.subtree_control").write_text(
                            "+memory")
                    path = parent / f"holder-test-{os.getpid()}-" \
                                    f"{time.monotonic_ns()}"
                    try:
                        path.mkdir()
                    except OSError as e:
                        tried.append(str(e))
                        continue
                    if (path / file).exists():
                        return path, kind == "cgroup2"
                    tried.append(f"{path} has no {file}")
                    path.rmdir()
        raise OSError("no cgroup with a memory limit can be made: " +
                      "; ".join(tried or ["no memory controller is mounted"]))

    def procs(self):
        return self.path / "cgroup.procs"

    def figure(self, first, second):
        return int((self.path / (second if self.second else first))
                   .read_text())

    def usage(self):
        return self.figure("memory.usage_in_bytes", "memory.current")

    def kills(self):
        """How many processes were killed because the limit was reached."""
        events = (self.path / ("memory.events" if self.second else
                               "memory.oom_control")).read_text()
        return int(dict(line.split() for line in events.splitlines())
                   ["oom_kill"])

    def remove(self):
        """Call this when its processes have ended."""
        self.path.rmdir()
