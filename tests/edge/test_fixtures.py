# SPDX-License-Identifier: Apache-2.0
"""What a test starts ends with pytest, however that ends."""
import json
import os
import signal
import subprocess
import sys

from conftest import PATIENCE, REPO, VARIANT, alive, environment, wait

EDGE = REPO / "tests/edge"
HANGS = """
import json, os
from conftest import wait
from test_daemon_uninstall import Uninstall, lease
from test_simulate import Recorder, recorder
from scripted_api import ScriptedApi

def started(name, pids):
    with open("pids.new", "w") as f:
        json.dump(pids, f)
    os.rename("pids.new", name)

def test_daemon(w):
    lease(w, "other", leaseDurationSeconds=3600)
    started("daemon", [w.start().process.pid, Uninstall(w).process.pid])
    wait(lambda: False)

def test_command(recorder):
    with ScriptedApi() as api:
        started("command", [recorder(api).process.pid])
        wait(lambda: False)
"""


def killed(tmp_path, which):
    """Kills a pytest whose test hangs; returns what its fixtures started."""
    (tmp_path / "test_hangs.py").write_text(HANGS)
    env = environment(tmp_path)
    env["HOLDER_VARIANT"] = str(VARIANT)
    with subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-c", EDGE / "pytest.ini",
             "--rootdir", tmp_path, "--basetemp", tmp_path / "base", "-p",
             "conftest", "-k", which, "test_hangs.py"], cwd=tmp_path,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env={**env, "PYTHONPATH": f"{EDGE}:{REPO}/tests",
                 "PYTHONDONTWRITEBYTECODE": "1"}) as process:
        try:
            wait((tmp_path / which).exists, lambda: process.poll())
        finally:
            process.kill()
        assert process.wait(PATIENCE) == -signal.SIGKILL
    return json.loads((tmp_path / which).read_text())


def test_nothing_outlives_a_pytest_that_is_killed(tmp_path):
    for which, n in (("daemon", 2), ("command", 1)):
        pids = killed(tmp_path, which)
        assert len(pids) == n
        try:
            wait(lambda p=pids: not any(map(alive, p)),
                 f"all of {pids} are gone")
        finally:
            for pid in filter(alive, pids):
                os.kill(pid, signal.SIGKILL)
