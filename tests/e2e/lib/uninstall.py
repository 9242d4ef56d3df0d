# SPDX-License-Identifier: Apache-2.0
"""The uninstall command, as a process beside the holders."""
import os
import subprocess

from controlplane import spawn
from holder import HOLDERCTL

# A Lease that is taken and released within seconds.
QUICK = ("--leader-election-lease-duration", "3s",
         "--leader-election-renew-deadline", "2s",
         "--leader-election-retry-period", "500ms")


def environment(plane):
    return {"PATH": f"{plane.bin}:{os.environ['PATH']}",
            "HOME": str(plane.dir), "KUBECONFIG": str(plane.kubeconfig)}


def uninstall(plane, *flags, kubeconfig=None, timeout=90, code=0):
    """Runs it to its end; returns a CompletedProcess."""
    done = subprocess.run(
        [HOLDERCTL, "uninstall", *QUICK, "--timeout", "60s", "--kubeconfig",
         kubeconfig or plane.kubeconfig, *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout, env=environment(plane))
    assert done.returncode == code, (done.returncode, done.stdout[-2000:],
                                     done.stderr)
    return done


class Running:
    """A run that goes on while the test does something else."""

    def __init__(self, plane, log, *flags):
        self.log = log
        self.process = spawn(
            [HOLDERCTL, "uninstall", *QUICK, "--kubeconfig", plane.kubeconfig,
             *flags], log, environment(plane))

    def text(self):
        return self.log.read_text(errors="replace")

    def wait(self, timeout=60):
        return self.process.wait(timeout)
