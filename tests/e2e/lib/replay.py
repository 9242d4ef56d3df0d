# SPDX-License-Identifier: Apache-2.0
"""The log of real Karpenter, replayed by `simulate`, beside what the holder did
meanwhile."""
import datetime
import json
import math
import subprocess
import time

from controlplane import end, spawn, until
from holder import HOLDERCTL

# Seconds.  Karpenter's log has milliseconds, but the times of objects, and the
# Date headers that the holder's clock goes by, are cut to whole seconds: a
# second each, in opposite directions.
APART = 2.0


def when(text):
    return datetime.datetime.fromisoformat(
        text.replace("Z", "+00:00")).timestamp()


def logged(cluster, since=0, until=math.inf):
    """Writes what Karpenter logged between these moments to a file."""
    log = cluster.dir / "karpenter-since.log"
    lines = (cluster.dir / "karpenter.log").read_text().splitlines(True)
    log.write_text("".join(
        line for line in lines if line.startswith("{")
        and since <= when(json.loads(line)["time"]) < until))
    return log


def replayed(file, settings):
    """settings: flags, such as hold_duration="60s"."""
    flags = [f"--{name.replace('_', '-')}={value}"
             for name, value in settings.items()]
    said = json.loads(subprocess.check_output(
        [HOLDERCTL, "simulate", *flags, "-o", "json", file], timeout=60))
    assert said["input"]["incomplete"] == said["input"]["late"] == 0, said
    return said["settings"][0]


def simulate(cluster, since=0, until=math.inf, **settings):
    """Replays what Karpenter logged between these moments."""
    return replayed(logged(cluster, since, until), settings)


def facts(file):
    """What happened by that log, as `simulate -o record` says."""
    lines = subprocess.check_output(
        [HOLDERCTL, "simulate", "-o", "record", file], text=True, timeout=60)
    return [f for f in map(json.loads, lines.splitlines()) if "what" in f]


def machines(known):
    """Each of these facts with the name of each of its machines: its NodeClaim
    if a fact names it, else its Node.  Of a decision Karpenter 1.0 logs only
    the Nodes."""
    claim_of = {f["node"]: f["claim"] for f in known
                if f.keys() >= {"node", "claim"}}
    for f in known:
        for one in f.get("nodes", [f]):
            yield f, one.get("claim") or claim_of.get(one["node"], one["node"])


def decisions(cluster, since=0, until=math.inf):
    """When Karpenter decided to disrupt nodes."""
    return [when(f["at"]) for f in facts(logged(cluster, since, until))
            if f["what"] == "decided"]


def turns(holder):
    """When scopes were held and quiet, as the holder's log says: pairs of
    seconds, of which the second is None while it lasts."""
    found = []
    for entry in holder.logs():
        if entry.get("msg") == "scope held":
            found.append([when(entry["ts"]), None])
        elif entry.get("msg") == "scope quiet":
            found[-1][1] = when(entry["ts"])
    return found


def real_turns(holder, since, until=math.inf):
    return [(max(begin, since), math.inf if end is None else end)
            for begin, end in turns(holder)
            if begin < until and (end is None or end > since)]


def said_turns(said):
    return [(when(t["from"]), when(t["to"])) for t in said["turns"]]


def check_turns(real, other, story):
    """Both: (seconds, seconds).  Returns how far they are apart, in seconds."""
    assert len(real) == len(other) > 0, story
    apart = [(a[0] - b[0], a[1] - b[1] if a[1] < math.inf else 0)
             for a, b in zip(real, other)]
    assert all(abs(d) < APART for both in apart for d in both), story
    return " ".join(f"{d:+.2f}" for both in apart for d in both)


def only_in_one(real, other, moment):
    """Does the moment lie between the two's edges?"""
    return any(0 <= moment - min(x, y) < min(abs(x - y), APART)
               for a, b in zip(real, other) for x, y in zip(a, b))


def check_replay(cluster, holder, since, **settings):
    """The replay of what Karpenter logged since then has the turns of the real
    holder, and no decision that Karpenter took beside the real holder would have
    waited, unless it took it before the holder knew what the log says."""
    said = simulate(cluster, since, **settings)
    real, other = real_turns(holder, since), said_turns(said)
    story = f"real: {real}\nreplayed: {other}\n{said}"
    apart = check_turns(real, other, story)
    early = [d for d in decisions(cluster, since)
             if only_in_one(real, other, d)]
    print(f"beside the holder, replayed: turns {apart} s apart, "
          f"{len(early)} decisions between them")
    assert said["wouldHaveWaited"]["decisions"] <= len(early), story
    return said


# --- record -------------------------------------------------------------------

class Recording:
    """`record` while the test runs."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.file = cluster.dir / f"recorded-{time.time()}"
        self.begin = time.time()
        self.process = spawn([HOLDERCTL, "record", "--kubeconfig",
                              cluster.kubeconfig], self.file)
        until(self.file.read_text, 10, "a record")

    def claims(self, file, what):
        """The NodeClaims of which these facts are known since it began."""
        return {claim for f, claim in machines(facts(file))
                if f["what"] in what and when(f["at"]) > self.begin + 1}

    def end(self):
        """Ends the record, once it knows what Karpenter's log knows."""
        def both(what):
            # Karpenter may go on meanwhile.
            log = logged(self.cluster)
            return self.claims(self.file, what), self.claims(log, what)

        def same(what):
            recorded, in_log = both(what)
            return recorded == in_log
        for what in (("decided",), ("gone",), ("created", "ready")):
            until(lambda: same(what), 10,
                  lambda: "{}: {} recorded, {} in the log".format(
                      what, *both(what)), every=0.3)
        assert end(self.process) == 0, self.file.read_text()
        last = self.file.read_text().splitlines()[-1]
        assert "until" in json.loads(last), last

    def check(self, holder, since, **settings):
        """Its replay has the turns of the real holder since then."""
        def clipped(found):
            return [(max(a, since), b) for a, b in found if b > since]
        real = clipped(real_turns(holder, 0))
        other = clipped(said_turns(replayed(self.file, settings)))
        apart = check_turns(real, other, f"real: {real}, recorded: {other}")
        print(f"recorded and replayed: turns {apart} s apart")


# --- one run, replayed, and another run beside the holder ---------------------

def before_they_part(cluster, alone, waited):
    """A record of the run up to the first machine that Karpenter made after a
    decision that would have waited.  Of what was after that it has only how the
    machines went on that were there before."""
    log = logged(cluster, *alone)
    record = subprocess.check_output([HOLDERCTL, "simulate", "-o", "record", log],
                                     text=True, timeout=60).splitlines(True)
    head, *lines, end = record
    made = {f["claim"]: when(f["at"]) for f in map(json.loads, lines)
            if f["what"] == "created"}
    part = min((at for at in made.values() if at > waited[0]),
               default=math.inf)

    def before(line):
        f = json.loads(line)
        if f["what"] == "decided" or "claim" not in f:
            return when(f["at"]) < part
        return made.get(f["claim"], 0) < part
    # The end: long after the last hold.
    later = datetime.datetime.fromtimestamp(
        alone[1] + 3600, datetime.timezone.utc).isoformat()
    end = json.dumps({**json.loads(end), "until": later.replace("+00:00", "Z")})
    path = cluster.dir / "before-they-part"
    path.write_text("".join([head, *filter(before, lines), end + "\n"]))
    return path, part


def paced(found, seen):
    """The turns by the machines that made them: since the first was launched,
    and since the last was ready.  How fast machines boot differs between two
    runs on a busy computer, which is no matter of the replay."""
    launched, ready = ([when(f["at"]) for f in seen if f["what"] == what]
                       for what in ("launched", "ready"))
    return [(a - min(launched, key=lambda m: abs(m - a)),
             b - max((m for m in ready if a < m < b), default=a))
            for a, b in found]


def check_other_run(cluster, holder, alone, beside, whole=False, **settings):
    """What Karpenter did alone in one run, replayed, and what the real holder
    did in another one under the same load.  alone, beside: begin and end of
    each.

    The replay goes on with the machines that Karpenter launched because it had
    taken others away.  Beside the holder nobody takes these away, so such
    machines do not come, and what the two runs have in common ends with the
    first of them, unless the load makes others at that time in both (whole).
    """
    said = simulate(cluster, *alone, **settings)
    other = said_turns(said)
    waited = [d for d in decisions(cluster, *alone)
              if any(a <= d < b for a, b in other)]
    assert len(waited) == said["wouldHaveWaited"]["decisions"] > 0, said
    path, part = logged(cluster, *alone), math.inf
    if not whole:
        path, part = before_they_part(cluster, alone, waited)
        other = said_turns(replayed(path, settings))
    by_other = paced(other, facts(path))
    by_real = paced(real_turns(holder, *beside),
                    facts(logged(cluster, *beside)))

    def passed(moments, run):
        return [m - run[0] for m in moments]
    real = [passed(t, beside) for t in real_turns(holder, *beside)]
    other = [passed(t, alone) for t in other]
    took = passed(decisions(cluster, *beside), beside)
    waited, part = passed(waited, alone), part - alone[0]
    story = (f"real: {real}, Karpenter decided at {took}\nreplayed: {other}, "
             f"would have waited: {waited}, the runs part at {part}\n{said}")
    common = real if whole else real[:len(other)]
    apart = check_turns(by_real[:len(common)], by_other, story)

    # What would have waited in one run did not happen in the other.  When that
    # is, the holds tell: see paced.
    then = [w for w in waited
            if any(0 <= w - a < end - begin
                   for (a, _), (begin, end) in zip(other, common))]
    assert then and not any(a <= t < b for t in took for a, b in real), story
    # The others are held because of the machines that came in one run only.
    assert all(w > part for w in waited if w not in then), story
    print(f"alone, replayed, and beside the holder in another run: turns "
          f"{[[round(m, 1) for m in t] for t in other]} and "
          f"{[[round(m, 1) for m in t] for t in common]}, {apart} s apart; "
          f"{len(waited)} decisions would have waited, {len(then)} of them "
          "when the holder held, and none was taken then")


def listed(cluster):
    """How many machines `simulate` finds in what kubectl lists."""
    path = cluster.dir / "list.json"
    path.write_text(cluster.kubectl(
        "get", "nodeclaims,nodes,events", "-A", "-o", "json").stdout)
    said = json.loads(subprocess.check_output(
        [HOLDERCTL, "simulate", path, "-o", "json"], timeout=60))
    assert said["input"]["notJSON"] == 0, said["input"]
    assert said["settings"][0]["holds"] > 0, said
    # And `record` finds the same.
    lines = subprocess.check_output(
        [HOLDERCTL, "record", "--for", "1s", "--kubeconfig", cluster.kubeconfig],
        text=True, timeout=60).splitlines()
    facts = [json.loads(line) for line in lines[1:-1]]
    claims = {f["claim"] for f in facts if f["what"] == "created"}
    assert len(claims) == said["karpenter"]["created"], lines
    return len(claims)
