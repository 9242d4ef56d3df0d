# SPDX-License-Identifier: Apache-2.0
"""Runs a suite that has deadlines, and once more by itself what failed in it:

    tests/again.py pytest ARGUMENT...
    tests/again.py run PROGRAM...

On a machine that does other work a process may miss a deadline, and a test
cannot tell that from a fault of the product.  A fault fails twice.  What failed
only once is printed at the end, because its test has a race to be mended.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # leaves no cache in the source tree

TESTS_MAX = 3   # more failures than these are no missed deadlines


class Failed:
    """Collects the tests that failed, by the names that pytest takes."""

    def __init__(self):
        self.root = None
        self.names = []

    def pytest_configure(self, config):
        self.root = config.rootpath     # what names of tests begin at

    def pytest_runtest_logreport(self, report):
        name = re.sub(r"@\w+$", "", report.nodeid)  # xdist's group
        file, _, test = name.partition("::")
        name = f"{os.path.relpath(self.root / file)}::{test}"
        if report.failed and name not in self.names:
            self.names.append(name)


def say(text):
    print(f"again: {text}", flush=True)


def judge(names, code):
    for name in names:
        say(f"{name}: failed, and {'failed' if code else 'passed'} by itself")
    return code


def run_pytest(args):
    import pytest       # programs also run where there is none
    failed = Failed()
    code = pytest.main(args, plugins=[failed])
    if code != pytest.ExitCode.TESTS_FAILED or len(failed.names) > TESTS_MAX:
        return code
    say(f"{len(failed.names)} of them once more, alone")
    options = args[:-1]     # the last one is the suite's folder
    return judge(failed.names, subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-n", "0", *failed.names],
        check=False).returncode)


def run_program(args):
    code = subprocess.run(args, check=False).returncode
    if code == 0:
        return 0
    return judge([args[0]], subprocess.run(args, check=False).returncode)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    sys.exit({"pytest": run_pytest, "run": run_program}[what](arguments))
