# SPDX-License-Identifier: Apache-2.0
"""Deliberate faults outside the core, one at a time: does the test whose name
promises it see each?

    tests/mutants/rooms.py [--places] [FILE | NAME]...

FILE is one beside this one (status, kube, ...), NAME a row of it.  Without
either it is all of them.  --places only looks whether what they break is still
there.

Each file has a list FAULTS.  A row is a fault: its name, the test that has to
see it, the file that is broken, and FROM and TO, the text that it has and the
one that it gets.  FROM stands in the file once.  The test is one of

    edge/test_kube                      a program of Check
    edge/test_kube_tls:tls              one tcase_create of it
    tests/edge/test_simulate.py -k odd  what pytest is given

Only that is built, in copies of this tree, and only that runs.  What takes
much longer than it took without the fault hangs, which is seen, too.
"""
import collections
import concurrent.futures
import importlib
import os
import pathlib
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # leaves no cache in the source tree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "build" / "mutants"
TREES = 2       # most tests wait most of the time
RELEASE = "build/release"
FAST = [f"{RELEASE}/{p}" for p in (
    "karpenter-node-holder", "holderctl", "tests/holder-fast",
    "tests/holderctl-fast", "tests/holder-refused", "tests/holderctl-refused")]
Fault = collections.namedtuple("Fault", "name test file old new")


def run(tree, args, seconds, **env):
    """Its exit status, None if it had to be killed, and what it printed."""
    with subprocess.Popen(
            args, cwd=tree, text=True, errors="replace", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**os.environ, **env}) as child:
        try:
            text, _ = child.communicate(timeout=seconds)
            return child.returncode, text
        except subprocess.TimeoutExpired:
            return None, ""
        finally:        # what it started, too
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def is_pytest(test):
    return ".py" in test


def programs(test):
    if is_pytest(test):
        return FAST
    return [f"{RELEASE}/tests/{test.partition(':')[0]}"]


def build(tree, tests):
    """What the compiler says if it fails."""
    wanted = sorted({p for test in tests for p in programs(test)})
    status, text = run(tree, ["make", "-s", f"-j{os.cpu_count()}",
                              "OPT=-O1", *wanted], 1200)
    return text.strip() or "make fails" if status else None


def run_test(tree, test, seconds):
    """What it finds, None: nothing."""
    if is_pytest(test):
        env = {"HOLDER_VARIANT": str(tree / RELEASE),
               "PATIENCE": "30"}        # seconds, of each wait
        args = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                f"--basetemp={tree}/build/pytest", *shlex.split(test)]
    else:
        case = test.partition(":")[2]
        env = {"CK_FORK": "no", **({"CK_RUN_CASE": case} if case else {})}
        args = programs(test)
    status, text = run(tree, args, seconds, **env)
    if status is None:
        return f"{test} hangs"
    if status == 0 and (is_pytest(test) or not re.search(r"Checks: 0\b", text)):
        return None
    found = re.findall(r"^FAILED .*|^ERROR .*|^.*:[FE]:.*", text, re.M)
    return re.sub(r"^\S*/", "", (found or [f"{test} ends with {status}"])[0])


def copy_tree(to):
    """What has changed since the last time, so that make builds no more."""
    names = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, check=True).stdout.split("\0")
    names = {n for n in names if n and (ROOT / n).exists()}
    for old in to.rglob("*"):
        name = str(old.relative_to(to))
        if old.is_file() and name not in names and name[:6] != "build/":
            old.unlink()
    for name in names:
        source, copy = ROOT / name, to / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def seen(fault, tree, seconds):
    """Who finds it, None: nobody."""
    file = tree / fault.file
    text = file.read_text()
    try:
        file.write_text(text.replace(fault.old, fault.new))
        wrong = build(tree, [fault.test])
        if wrong:
            raise ValueError(wrong)
        return run_test(tree, fault.test, seconds)
    finally:
        file.write_text(text)


def prepare(tests):
    """Copies of this tree in which all that runs is built, and how long each
    test may take: as it is, it finds nothing."""
    trees = [OUT / f"tree-{i}" for i in range(TREES)]
    copy_tree(trees[0])
    print(f"mutants: building the programs of {len(tests)} tests", flush=True)
    wrong = build(trees[0], tests)
    if wrong:
        sys.exit(wrong)
    seconds = {}
    for test in tests:
        begin = time.monotonic()
        wrong = run_test(trees[0], test, 600)
        if wrong:
            sys.exit(f"mutants: without any fault: {wrong}")
        seconds[test] = 30 + 5 * (time.monotonic() - begin)
    for tree in trees[1:]:
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(trees[0], tree, symlinks=True)
    return trees, seconds


def read_faults(wanted):
    files = {p.stem: importlib.import_module(p.stem).FAULTS
             for p in sorted(HERE.glob("*.py")) if p.stem != "rooms"}
    return [Fault(*row) for name, rows in files.items() for row in rows
            if not wanted or name in wanted or row[0] in wanted]


def check_places(faults):
    wrong = []
    for f in faults:
        n = (ROOT / f.file).read_text().count(f.old)
        if n != 1 or f.old == f.new:
            wrong.append(f"{f.file}: {n} places for the mutant: {f.name}")
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    args = sys.argv[1:]
    faults = read_faults([a for a in args if a != "--places"])
    check_places(faults)
    if "--places" in args:
        return
    trees, seconds = prepare(sorted({f.test for f in faults}))
    free, failed = queue.SimpleQueue(), 0
    for tree in trees:
        free.put(tree)

    def in_some_tree(fault):
        tree = free.get()
        try:
            return seen(fault, tree, seconds[fault.test])
        finally:
            free.put(tree)

    with concurrent.futures.ThreadPoolExecutor(TREES) as pool:
        ends = {pool.submit(in_some_tree, f): f for f in faults}
        for n, end in enumerate(concurrent.futures.as_completed(ends), 1):
            try:
                by = end.result()
            except ValueError as e:
                by, failed = f"DOES NOT COMPILE {e}", failed + 1
            if by is None:
                by, failed = f"SURVIVES {ends[end].test}", failed + 1
            print(f"{n:3}/{len(faults)} {ends[end].name:58} {by}"[:160],
                  flush=True)
    print(f"mutants: {len(faults)} outside the core, {len(faults) - failed} "
          f"seen, {failed} not")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
