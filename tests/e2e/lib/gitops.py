# SPDX-License-Identifier: Apache-2.0
"""Objects are brought to a cluster as Argo CD and Flux do it."""
import subprocess


def argocd(plane, text):
    """Server-side, as its controller."""
    return plane.kubectl(
        "apply", "--server-side", "--force-conflicts",
        "--field-manager=argocd-controller", "-f", "-", stdin=text).stdout


def flux(plane, text, force=False):
    """By Flux's own library (tests/modules/flux)."""
    done = subprocess.run(
        [plane.bin / "flux-apply", f"--kubeconfig={plane.kubeconfig}",
         f"--force={str(force).lower()}"],
        input=text, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


TOOLS = (argocd, flux)
