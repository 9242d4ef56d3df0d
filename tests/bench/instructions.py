#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make instructions: what a review, a line of a watch, an item of a list, a
timer and a patch cost.

instructions.py OPERATIONS CC counts them with callgrind, in the program that
`make` builds from operations.c, and compares with instructions.txt.  Counted
are the instructions of our own code and of cJSON, and how often these call
anything else.  What libc does in such a call is left out: it has several
versions of memcpy and chooses by the processor.  So the figures depend on the
compiler and on cJSON, but on no machine.

A figure that grew by more than 3 % fails, and so does an operation that costs
too much more in a larger cluster.  WRITE=1 writes the file anew.
"""
import collections
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

FILE = pathlib.Path(__file__).with_name("instructions.txt")
OPERATIONS = ["review", "node-line", "claim-line", "list-item", "timer", "patch"]
COUNT = 200
MACHINES = 300
MAY_GROW = 1.03
# An operation, how often it is done, in a small and in a large cluster, and how
# many times as much it may cost there: a page of metrics may grow with machines
# and scopes, and no faster; a change of a NodePool with nothing.  (Where a person
# holds it, all turns are looked through: 1,024 of them in both clusters.)
GROWTH = [("scrape", 5, 1000, 4000, 4.8), ("nodepool", COUNT, 1024, 4096, 2)]
ABOUT = """\
# Instructions of our code and of cJSON for each operation, and calls of anything
# else (make instructions; docs/performance.md#instructions).  For each compiler:
# operation, instructions, calls
"""


def ours(path, program):
    return path == program or "/libcjson." in path


def counted(text, program):
    """(instructions, calls) of a callgrind file."""
    names, instructions, calls = {}, 0, 0
    here = called = None
    skip = 0

    def name(token):
        number, _, path = token.partition(" ")
        if path:
            names[number] = path
        return names[number]
    for line in text.splitlines():
        if line.startswith("ob="):
            here = called = name(line[3:])
        elif line.startswith("fn="):
            called = here
        elif line.startswith("cob="):
            called = name(line[4:])
        elif line.startswith("calls="):
            if ours(here, program) and not ours(called, program):
                calls += int(line[6:].split()[0])
            called, skip = here, 1
        elif re.match(r"[+*\-\d]", line):
            # The line after calls= is what the call cost.
            if not skip and ours(here, program):
                instructions += int(line.split()[1])
            skip = 0
    return instructions, calls


def measure(program, operation, folder, count=COUNT, machines=MACHINES):
    out = pathlib.Path(folder) / f"{operation}-{machines}"
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--collect-atstart=no",
         "--toggle-collect=measured", f"--callgrind-out-file={out}", program,
         operation, str(count), str(machines)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"instructions: {operation}: {done.stderr}")
    instructions, calls = counted(out.read_text(), program)
    assert instructions > 10 * count, "nothing was counted"
    return round(instructions / count), round(calls / count, 1)


def compiler(cc):
    """What the figures depend on, in one line."""
    first = subprocess.run([*cc.split(), "--version"], capture_output=True,
                           text=True, check=True).stdout.splitlines()[0]
    cjson = subprocess.run(["pkg-config", "--modversion", "libcjson"],
                           capture_output=True, text=True, check=True).stdout
    return f"{platform.machine()}, {first}, cJSON {cjson.strip()}"


def kept():
    found, key = collections.defaultdict(dict), None
    for line in FILE.read_text().splitlines() if FILE.exists() else []:
        if line.startswith("["):
            key = line[1:-1]
        elif line and not line.startswith("#"):
            operation, instructions, calls = line.split()
            found[key][operation] = int(instructions), float(calls)
    return found


def section(key, figures):
    return f"\n[{key}]\n" + "".join(
        f"{name:12} {i:7} {c:7.1f}\n" for name, (i, c) in figures.items())


def main(program, cc):
    program = os.path.realpath(program)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        figures = dict(zip(OPERATIONS, pool.map(
            lambda o: measure(program, o, folder), OPERATIONS)))
        bad = 0
        for name, count, few, many, most in GROWTH:
            less, more = (measure(program, name, folder, count, n)[0]
                          for n in (few, many))
            print(f"instructions: {name}: {less:,} with {few:,}, "
                  f"{more:,} with {many:,}")
            bad |= more > most * less
    key, known = compiler(cc), kept()
    if os.environ.get("WRITE"):
        known[key] = figures
        FILE.write_text(ABOUT + "".join(section(*s) for s in known.items()))
        print(f"instructions: written for {key}")
        return 0
    if key not in known:
        print(f"instructions: {FILE.name} has none for this compiler; WRITE=1 "
              f"adds:{section(key, figures)}")
        return bad
    for name, now in figures.items():
        for what, was, is_ in zip(("instructions", "calls"),
                                  known[key].get(name, (0, 0)), now):
            if is_ > was * MAY_GROW:
                print(f"instructions: {name}: {is_:,} {what}, and {FILE.name} "
                      f"has {was:,}", file=sys.stderr)
                bad = 1
            elif is_ * MAY_GROW < was:
                print(f"instructions: {name}: {is_:,} {what} instead of "
                      f"{was:,}: keep it with WRITE=1 make instructions")
    if bad:
        print("instructions: if that is worth it, WRITE=1 make instructions "
              "and say why in the commit", file=sys.stderr)
    else:
        print("instructions: "
              + ", ".join(f"{n} {i:,}" for n, (i, _) in figures.items()))
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
