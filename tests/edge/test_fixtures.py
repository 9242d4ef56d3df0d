# SPDX-License-Identifier: Apache-2.0
"""What a test starts ends with pytest, however that ends; what failed in a suite
runs once more."""
import json
import os
import signal
import subprocess
import sys

import pytest

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


ONCE = """
import pathlib, pytest

@pytest.mark.parametrize("n", range(COUNT))
def test_it(n):
    seen = pathlib.Path(f"seen{n}")
    first = not seen.exists()
    seen.touch()
    assert n not in FAILS and not (first and n in ONCE)
"""


@pytest.mark.parametrize("once, fails, code, said", [
    ((), (), 0, set()),
    ((2,), (), 0, {"test_it[2]: failed, and passed by itself"}),
    ((), (1,), 1, {"test_it[1]: failed, and failed by itself"}),
    ((0, 1, 2, 3), (), 1, set()),   # too many for missed deadlines
])
def test_what_fails_runs_once_more(tmp_path, once, fails, code, said):
    # As the suites are: its own settings make the folder the root of names.
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/pytest.ini").write_text("[pytest]\n")
    (tmp_path / "suite/test_once.py").write_text(
        ONCE.replace("COUNT", "5").replace("FAILS", repr(fails)).replace(
            "ONCE", repr(once)))
    done = subprocess.run(
        [sys.executable, REPO / "tests/again.py", "pytest", "-q", "-p",
         "no:cacheprovider", "-n", "2", "--dist", "loadgroup", "suite"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env=environment(tmp_path))
    lines = {line.partition("::")[2] for line in done.stdout.splitlines()
             if line.startswith("again: suite/test_once.py")}
    assert (done.returncode, lines) == (code, said), done.stdout


def test_a_program_runs_once_more(tmp_path):
    """Also where pytest is not installed, as in the root of a release."""
    for script, code, times in (("exit 0", 0, 1), ("exit 3", 3, 2),
                                ("[ -e n.1 ]", 0, 2)):
        done = subprocess.run(
            [sys.executable, "-S", REPO / "tests/again.py", "run", "sh", "-c",
             f'cd {tmp_path}; touch "n.$(ls | wc -l)"; {script}'],
            capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, env=environment(tmp_path))
        ran = sorted(tmp_path.iterdir())
        assert (done.returncode, len(ran)) == (code, times), done.stdout
        for path in ran:
            path.unlink()
