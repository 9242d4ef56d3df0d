# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/migration.md for a Go program that Helm installed, run
as they stand there: its release goes, or becomes one of ours."""
import re
import subprocess

import pytest
import yaml

from controlplane import REPO
from test_deploy import find, identities, plane
from test_helm import CHART, GO, helm, namespace, settings
from test_helm_release import GO_CHART, left, release
from test_migration import GUIDE, NAMES, NAMESPACE, RELEASE, block
from uninstall import environment

assert helm and namespace and plane and release     # fixtures
pytestmark = pytest.mark.long


def sh(plane, *texts):
    """Runs the commands in the repository's folder; returns their output."""
    done = subprocess.run(
        ["sh", "-eu"], input="\n".join((NAMES, *texts)), text=True, cwd=REPO,
        capture_output=True, timeout=120, env=environment(plane))
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


@pytest.fixture
def old(plane, release, tmp_path):
    """Returns (the release, its objects); step 2 has stopped it already."""
    for name, text in GO_CHART.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(GO))
    mine = release(NAMESPACE, RELEASE, restricted=False)
    mine.helm("install", tmp_path)
    objects = mine.objects()
    sh(plane, block("delete deployment"))
    assert sorted(o.split("/")[0] for o in left(plane, objects)) == [
        "clusterrole.rbac.authorization.k8s.io", "serviceaccount"]
    return mine, objects


def test_it_does_not_mind_what_is_gone_already(plane, old):
    mine, objects = old
    sh(plane, re.search(r"`(helm uninstall [^`]*)`", GUIDE)[1])
    assert not left(plane, objects)
    assert sh(plane, block("nothing of the old one")).startswith(
        "nothing of the old one\n")


def test_an_upgrade_without_the_old_values(plane, old):
    mine, objects = old
    text, = re.findall(r"^helm upgrade RELEASE .*?(?=\n```)", GUIDE,
                       re.M | re.S)
    assert text in (CHART / "README.md").read_text()
    sh(plane, text.replace("RELEASE", '"$release"').replace(
        "NAMESPACE", '"$namespace"'))
    assert not left(plane, objects)
    now = mine.objects()
    assert identities(mine.stored()) == identities(now)
    container, = find(now, "Deployment")["spec"]["template"]["spec"][
        "containers"]
    assert container["image"].startswith("REGISTRY/karpenter-node-holder:")
    assert settings(now)["holdDuration"] == "20m"
    assert settings(now)["holdAnnotation"]["key"] == \
        "karpenter.sh/do-not-disrupt"
    assert sh(plane, block("nothing of the old one")).startswith(
        "nothing of the old one\n")
