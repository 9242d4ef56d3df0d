# SPDX-License-Identifier: Apache-2.0
"""make e2e-long: everything that other tests do one at a time, at once.

Machines come and go in bursts, people have their say, certificates rotate,
the API server stops three times and the holder is killed five times.
Meanwhile Judge, a second reading of docs/rules.md, looks at the cluster again
and again and says what should be held and what not.

STORM_MINUTES=3 makes it short, STORM_SEED=... repeats a run in outline.
"""
import collections
import os
import random
import shutil

import pytest

from judge import HOLD_S, STARTUP_S
from storm import KILLS, ROTATE_S, Storm

pytestmark = pytest.mark.long

MINUTES = 10
MIB_MAX = float(os.environ.get("STORM_MIB") or 48)  # sanitizers need more
FDS_MAX = 128


@pytest.fixture
def outage(plane):
    """The next test finds an API server, whatever happens."""
    yield
    plane.start_apiserver()


def report(storm, lines, said, failed_open):
    j, count = storm.judge, storm.count
    results = collections.Counter(c.result for c in storm.creations
                                  if c.result != "not sent")
    missed = [c for c in storm.creations if c.result == "unheld"]
    good = [j.made_good[c.target] for c in missed if c.target in j.made_good]
    serials = {e["serial"] for e in lines
               if e.get("msg") == "certificate served"}

    def worst(what):
        return ", ".join(
            f"{when}: {max(late)[0]:.1f} s ({max(late)[1]}, of {len(late)})"
            if late else f"{when}: none" for when, late in (
                ("all up", j.late[what, True]),
                ("since all is up again", j.late[what, False])))

    def away(kind):
        return ", ".join(f"{o.end - o.begin:.1f}"
                         for o in storm.outages.all if o.kind == kind)
    kinds = {k: count[k] for k in (*Storm.KINDS, *Storm.LONG)}
    words = {k: count[k] for k in (*Storm.WORDS, "given back")}
    print(f"""
storm of seed {storm.seed}: {j.samples} looks, {len(storm.faults)} faults
  machines           {storm.number}: {kinds}
  creations          {dict(results)}
  held               {said['held at admission']} at admission, \
{said['held']} by patch
  held needlessly    {j.needless} claims whose Node was registered
  released           {said['released']} by patch; {j.released} seen clear
  scope              held {said['scope held']} times, \
quiet {said['scope quiet']} times
  people             {words}, templates and the like {count['templates']}, \
looked at {j.people_seen} times
  certificates       {count['rotations']} rotations, {len(serials)} serials \
served, the slowest after {max(storm.served, default=0):.1f} s
  API server         {count['outages']} restarts; away, with its start: \
{away('api')} s
  holder             {count['kills']} kills; down: {away('holder')} s; \
at most {storm.mib:.1f} MiB, {storm.fds:.0f} file descriptors
  created while down {len(missed)}, API server counted {failed_open:.0f}; \
{len(good)} were seen unheld, and held within \
{max(good, default=0):.1f} s of its return
  latest hold        {worst('held')}
  latest release     {worst('clear')}
  watches expired    {said['watch expired, listing again']}
  stalls             {count['stalls']}
  warnings           {dict(collections.Counter(
      e.get('msg') for e in lines if e.get('level') == 'warn'
      and e.get('msg') != 'configuration'))}""")


def test_storm(plane, make_holder, karpenter, outage, tmp_path):
    minutes = float(os.environ.get("STORM_MINUTES") or MINUTES)
    seed = os.environ.get("STORM_SEED") or random.randrange(10**6)
    print(f"\nSTORM_SEED={seed} STORM_MINUTES={minutes:g}", flush=True)
    holder = make_holder(holdDuration=f"{HOLD_S}s",
                         startupTimeout=f"{STARTUP_S}s")
    storm = Storm(plane, holder, karpenter, seed)
    try:
        storm.run(minutes * 60)
    finally:
        failed_open = storm.check_fail_open()
        lines, said = storm.check_log()
        report(storm, lines, said, failed_open)
        shutil.copy(holder.log, tmp_path / "holder.log")
    assert not storm.faults, "\n".join(storm.faults[:20])
    assert holder.alive()
    assert storm.mib <= MIB_MAX and storm.fds <= FDS_MAX
    # It really was a storm.
    assert storm.count["outages"] == 3 and storm.count["kills"] == KILLS
    assert storm.count["rotations"] >= minutes * 60 / ROTATE_S - 2
    assert said["scope quiet"] >= minutes / 2
    assert [c for c in storm.creations if c.result == "unheld"]
    assert storm.judge.people_seen
    assert minutes < MINUTES or said["watch expired, listing again"]
