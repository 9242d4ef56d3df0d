#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets, minimises what they found, and says what it reaches.

run.py fuzz VARIANT SECONDS JOBS TARGET...   an input that fails is in VARIANT/failed
run.py merge VARIANT TARGET...               VARIANT/found and what is committed, minimised
run.py coverage VARIANT TARGET...            of the corpora committed, by file
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Bytes of an input: what the decoder needs to see all it knows of.
LONG = {"fuzz_controller": 600, "fuzz_pems": 1024, "fuzz_stamps": 64, "fuzz_urls": 400,
        "fuzz_metrics": 400, "fuzz_admission": 6000, "fuzz_json": 1500, "fuzz_list": 1500,
        "fuzz_head": 1500, "fuzz_whole": 3000}
# Golden files are inputs as servers send them.
GOLDEN = {"fuzz_admission": ["admission", "admission-custom"], "fuzz_objects": ["nodes", "nodeclaims", "status"],
          "fuzz_list": ["lists"], "fuzz_lease": ["leases"], "fuzz_events": ["events"], "fuzz_nodepools": ["nodepools"],
          "fuzz_tickets": ["tickets"],
          "fuzz_kubeconfig": ["kubeconfigs"], "fuzz_yaml": ["kubeconfigs"], "fuzz_karpenter": ["karpenter"],
          "fuzz_whole": ["admission", "nodes", "nodeclaims", "nodepools", "events", "tickets"]}


def corpus(target):
    return os.path.join(HERE, "corpus", target.removeprefix("fuzz_"))


def golden(variant, target):
    """A folder with the golden files that are inputs of this target."""
    to = os.path.join(variant, "golden", target)
    os.makedirs(to, exist_ok=True)
    for folder in GOLDEN.get(target, []):
        at = os.path.join(ROOT, "tests/golden", folder)
        for name in os.listdir(at):
            path = os.path.join(at, name)
            if os.path.isfile(path) and not name.endswith(".want"):
                shutil.copy(path, os.path.join(to, f"{folder}-{name}"))
    return to


def options(target):
    words = os.path.join(HERE, "words", target.removeprefix("fuzz_"))
    return [f"-max_len={LONG.get(target, 4096)}", "-timeout=60", "-rss_limit_mb=2048", "-verbosity=1",
            *([f"-dict={words}"] if os.path.exists(words) else [])]


def environment():
    return {**os.environ, "ASAN_OPTIONS": "abort_on_error=0",
            "UBSAN_OPTIONS": "print_stacktrace=1"}


def fuzz_one(variant, seconds, target):
    found = os.path.join(variant, "found", target)
    failed = os.path.join(variant, "failed", target) + "-"
    os.makedirs(found, exist_ok=True)
    os.makedirs(os.path.dirname(failed), exist_ok=True)
    begun = time.monotonic()
    with subprocess.Popen([os.path.join(variant, "tests/fuzz", target), *options(target),
                           f"-max_total_time={seconds}", f"-artifact_prefix={failed}", "-print_final_stats=1",
                           found, corpus(target), golden(variant, target)],
                          stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace",
                          env=environment()) as p:
        lines, reached, ready, grew, runs = [], 0, None, 0.0, 0
        for line in p.stderr:
            lines = lines[-400:] + [line]
            m = re.match(r"#(\d+)\s+(INITED|NEW|REDUCE|pulse|DONE)\s+cov: (\d+)", line)
            if m is None:
                continue
            at, runs = time.monotonic() - begun, int(m[1])
            if m[2] == "INITED":
                ready = at
            if int(m[3]) > reached:
                reached, grew = int(m[3]), at
    took = time.monotonic() - begun - (ready or 0)
    with open(os.path.join(variant, "found", target + ".log"), "w", encoding="utf-8") as log:
        log.writelines(lines)
    still = 1 - max(grew - (ready or 0), 0) / took
    return target, p.returncode, runs, reached, still, lines


def fuzz(variant, seconds, jobs, targets):
    bad = 0
    print(f"{'target':<18} {'runs':>10} {'edges':>6}  no new edge for the last")
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for target, code, runs, reached, still, lines in pool.map(
                lambda t: fuzz_one(variant, seconds, t), targets):
            print(f"{target:<18} {runs:>10} {reached:>6}  {still:.0%}", flush=True)
            if code != 0:
                bad += 1
                sys.stdout.writelines(lines[-60:])
                print(f"{target} failed; the input is in {variant}/failed")
    return 1 if bad else 0


def merge(variant, targets):
    for target in targets:
        to = corpus(target)
        os.makedirs(to, exist_ok=True)
        with tempfile.TemporaryDirectory() as small:
            subprocess.run([os.path.join(variant, "tests/fuzz", target), "-merge=1", "-use_counters=0",
                            *options(target), small, to, os.path.join(variant, "found", target),
                            golden(variant, target)],
                           check=True, stderr=subprocess.DEVNULL, env=environment())
            for name in os.listdir(to):
                if re.fullmatch("[0-9a-f]{40}", name) and not os.path.exists(os.path.join(small, name)):
                    os.remove(os.path.join(to, name))
            # What has a name of its own stays.
            named = {open(os.path.join(to, n), "rb").read() for n in os.listdir(to)}
            for name in os.listdir(small):
                with open(os.path.join(small, name), "rb") as f:
                    if f.read() not in named:
                        shutil.copy(os.path.join(small, name), to)
        sizes = [os.path.getsize(os.path.join(to, n)) for n in os.listdir(to)]
        print(f"{target:<18} {len(sizes):>4} inputs {sum(sizes):>7} bytes")


def coverage(variant, targets):
    programs = [os.path.join(variant, "tests/fuzz", t) for t in targets]
    raw = os.path.join(variant, "raw")
    shutil.rmtree(raw, ignore_errors=True)
    for target, program in zip(targets, programs):
        subprocess.run([program, corpus(target), golden(variant, target)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LLVM_PROFILE_FILE": f"{raw}/{target}"})
    data = os.path.join(variant, "all.profdata")
    subprocess.run(["llvm-profdata", "merge", "-o", data, *(f"{raw}/{t}" for t in targets)], check=True)
    objects = [a for p in programs[1:] for a in ("-object", p)]
    text = subprocess.run(["llvm-cov", "export", "-format=lcov", f"-instr-profile={data}", programs[0], *objects],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = {}
    for line in text.splitlines():
        if line.startswith("SF:"):
            at = lines.setdefault(os.path.relpath(line[3:], ROOT), {})
        elif line.startswith("DA:"):
            n, times = line[3:].split(",")[:2]
            at[int(n)] = at.get(int(n), 0) + int(times)
    missed = "-v" in os.environ.get("FUZZ_COVERAGE", "")
    rooms = {}
    for name in sorted(lines):
        if not name.startswith("src/") or not name.endswith(".c"):
            continue
        of, hit = len(lines[name]), sum(t > 0 for t in lines[name].values())
        room = "/".join(name.split("/")[:2])
        rooms[room] = [a + b for a, b in zip(rooms.get(room, [0, 0]), (hit, of))]
        if name.startswith("src/wire/") or hit:
            print(f"{hit / of:7.1%} {hit:>5} of {of:<5} {name}")
            if missed and name.startswith("src/wire/"):
                print("        not:", " ".join(str(n) for n, t in sorted(lines[name].items()) if t == 0))
    for room, (hit, of) in rooms.items():
        print(f"{hit / of:7.1%} {hit:>5} of {of:<5} {room}, all of it")
    return 0


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "fuzz":
        sys.exit(fuzz(rest[0], rest[1], rest[2], rest[3:]))
    sys.exit({"merge": merge, "coverage": coverage}[what](rest[0], rest[1:]))
