# SPDX-License-Identifier: Apache-2.0
"""How fast `simulate` reads Karpenter's log."""
import json
import os
import pathlib
import random
import string
import subprocess
import tempfile
import time

from holder import HOLDERCTL
from measure import ROUNDS, alone, heading, setting
from sides import Part

LOG_MB = setting("LOG_MB", 200)
NAME = string.ascii_lowercase + string.digits


class Log:
    """A log as Karpenter writes it: each machine comes with lines that say
    nothing to us, and goes by a decision once there are 60 of them."""

    def __init__(self, path, size):
        self.random, self.at, self.live = random.Random(7), 1.8e9, []
        self.left = size
        with open(path, "w") as self.out:
            while self.left > 0:
                self.at += self.random.randint(60, 900)
                for _ in range(self.random.randint(1, 8)):
                    self.grow()
                if len(self.live) > 60:
                    self.shrink()

    def say(self, message, controller, **fields):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.at))
        line = json.dumps({
            "level": "INFO", "time": f"{stamp}.{int(self.at * 1000) % 1000:03}Z",
            "logger": "controller", "message": message, "commit": "1ad0d78",
            "controller": controller, "namespace": "", "name": "",
            "reconcileID": "376a1258-f56e-44a1-9bdf-5aafe230f3be",
            **fields}, separators=(",", ":")) + "\n"
        self.left -= len(line)
        self.out.write(line)

    def grow(self):
        claim = "general-" + "".join(self.random.choices(NAME, k=5))
        node = f"ip-10-0-{len(self.live)}-{self.random.randrange(10**6)}" \
            ".eu-central-1.compute.internal"
        about = {"NodeClaim": {"name": claim}}
        self.say("found provisionable pod(s)", "provisioner", Pods=", ".join(
            f"default/web-6c7f9d-{n:05}" for n in range(12)))
        self.say("computed new nodeclaim(s) to fit pod(s)", "provisioner",
                 nodeclaims=1, pods=12)
        self.say("created nodeclaim", "provisioner",
                 NodePool={"name": "general"}, **about,
                 requests={"cpu": "3600m", "memory": "8Gi", "pods": "12"})
        for message, later in (("launched", 1), ("registered", 20),
                               ("initialized", 9)):
            self.at += later
            self.say(f"{message} nodeclaim", "nodeclaim.lifecycle", **about,
                     Node={"name": node}, **{
                         "provider-id": "aws:///eu-central-1c/i-0123456789",
                         "allocatable": {"cpu": "3920m", "pods": "58"}})
        self.live.append((claim, node))

    def shrink(self):
        self.random.shuffle(self.live)
        gone, self.live = self.live[50:], self.live[:50]
        nodes = ", ".join(node for _, node in gone)
        self.say("disrupting node(s)", "disruption", command=(
            f"Underutilized/1: delete: nodepools=[general]: [{nodes}] "
            "(savings: $0.33)"), decision="delete", **{
                "pod-count": 3, "disrupted-nodes": [
                    {"Node": {"name": node}, "NodeClaim": {"name": claim}}
                    for claim, node in gone]})
        for message in ("tainted node", "deleted node", "deleted nodeclaim"):
            self.at += 10
            for claim, node in gone:
                self.say(message, "node.termination", Node={"name": node},
                         NodeClaim={"name": claim})


def simulate():
    """1 GB of Karpenter's log: CPU and memory"""
    heading(f"simulate: a log of {LOG_MB} MB")
    seconds, memory = [], []
    with tempfile.TemporaryDirectory() as home:
        path = pathlib.Path(home) / "karpenter.log"
        Log(path, LOG_MB * 10**6)
        for _ in range(ROUNDS):
            process = subprocess.Popen([HOLDERCTL, "simulate", path, "-o", "csv"],
                                       stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            seconds.append((used.ru_utime + used.ru_stime) * 1000 / LOG_MB)
            # Not less than what Python had when it forked.
            memory.append(used.ru_maxrss / 1024)
    alone("CPU to replay 1 GB of log", seconds, 20, " s")
    alone("memory for that", memory, 64, " MiB")


PARTS = {"simulate": Part(simulate, ())}
