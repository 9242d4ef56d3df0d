# SPDX-License-Identifier: Apache-2.0
"""Who leads: what the replicas say, and what the API server's audit log
proves.

Replicas share an account, but each has a token of its own, and the audit log
names the token.  So every write has a known writer, and so does each change of
the Lease.
"""
import base64
import calendar
import dataclasses
import json
import re
import time

from controlplane import BUILD, end, spawn, until
from hold import LATE

NAMESPACE = NAME = "karpenter-node-holder"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
STATE = "karpenter-node-holder.io/state"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
TOKEN_ID = "authentication.kubernetes.io/credential-id"

# What the audit log keeps: each version of the Lease, and what holders wrote
# to other objects.
AUDIT = [
    {"level": "RequestResponse", "namespaces": [NAMESPACE],
     "verbs": ["create", "update", "patch", "delete"],
     "resources": [{"group": "coordination.k8s.io",
                    "resources": ["leases"]}]},
    {"level": "Metadata", "users": [ACCOUNT],
     "verbs": ["create", "update", "patch", "delete"],
     "resources": [{"group": "", "resources": ["nodes"]},
                   {"group": "karpenter.sh"}]},
    {"level": "None"},
]


@dataclasses.dataclass
class Timing:
    lease: float
    renew: float
    retry: float

    @property
    def taken(self):
        """The seconds until a new leader has taken it from a dead one, and
        some more."""
        return self.lease + 2.2 * self.retry + LATE

    def config(self):
        return {"enabled": True, "namespace": NAMESPACE,
                "leaseDuration": f"{self.lease:g}s",
                "renewDeadline": f"{self.renew * 1000:g}ms",
                "retryPeriod": f"{self.retry * 1000:g}ms"}


SHORT = Timing(3, 2, 0.5)
DEPLOYED = Timing(15, 10, 2)    # the defaults


def leads(holder):
    return holder.metric("leader_election_master_status", name=NAME) == 1


def said(holder, phrase):
    return [e for e in holder.logs() if e.get("msg") == phrase]


def leader(holders, timeout):
    """Waits for a leader and returns it; there are never two."""
    def one():
        # One that has just been started does not answer yet.
        found = [h for h in holders if h.alive()
                 and h.probe("/livez")[0] == 200 and leads(h)]
        assert len(found) <= 1, "two lead"
        return found
    return until(one, timeout, "one leads", every=0.02)[0]


class Elector:
    """client-go's elector, which does nothing else (tests/modules/kubernetes).
    """

    def __init__(self, plane, identity, timing):
        self.identity = identity
        self.log = plane.dir / f"{identity}.log"
        user = plane.identity(identity, "system:masters")
        config = plane.write_kubeconfig(
            plane.dir / f"{identity}.kubeconfig", user)
        self.argv = [
            BUILD / "bin" / "elector", f"--kubeconfig={config}",
            f"--namespace={NAMESPACE}", f"--name={NAME}",
            f"--identity={identity}", f"--lease-duration={timing.lease}s",
            f"--renew-deadline={timing.renew}s",
            f"--retry-period={timing.retry}s"]
        self.process = None

    def start(self):
        self.process = spawn(self.argv, self.log)
        return self

    def end(self, number):
        return end(self.process, number)

    def said(self, what):
        """Returns [(when, who)] of its lines of that kind."""
        lines = (line.split() for line in self.log.read_text().splitlines())
        return [(float(words[0]), words[2]) for words in lines
                if len(words) == 3 and words[1] == what]

    def complaints(self):
        """Its complaints, but for calls that took too long or were cancelled,
        as when it was stopped."""
        return [line for line in self.log.read_text().splitlines()
                if re.match(r"[EWF]\d{4} ", line)
                and not re.search(
                    "deadline|Client.Timeout|context canceled", line)]


# The audit log

def micros(text):
    """Converts RFC 3339 with a fraction to seconds."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) \
        + float("0." + (fraction or "0"))


def token_id(token):
    """What the audit log calls the bearer of that token."""
    body = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body)
                                                               % 4)))
    return "JTI=" + claims["jti"]


@dataclasses.dataclass
class Write:
    at: float           # when the API server had received it
    who: str            # token id, else the user's name
    code: int
    resource: str
    name: str
    after: object       # as stored; of Leases only

    @property
    def ok(self):
        return self.code < 300


def write_of(event):
    user, ref = event["user"], event["objectRef"]
    ids = (user.get("extra") or {}).get(TOKEN_ID)
    return Write(
        micros(event["requestReceivedTimestamp"]),
        ids[0] if ids and user["username"] == ACCOUNT else user["username"],
        event["responseStatus"]["code"], ref["resource"],
        ref.get("name", ""), event.get("responseObject"))


class History:
    """What was written since begin, a count of audited(), in order."""

    def __init__(self, plane, begin=0):
        time.sleep(0.2)     # an event is written after its answer
        events = plane.audited()[begin:]
        all_writes = [write_of(e) for e in events
                      if e["stage"] == "ResponseComplete"]
        self.writes = sorted(
            (w for w in all_writes
             if w.resource in ("nodes", "nodeclaims", "nodepools")),
            key=lambda w: w.at)
        self.lease = [w for w in all_writes if w.resource == "leases" and w.ok
                      and (w.after or {}).get("kind") == "Lease"]
        self.lease.sort(
            key=lambda w: int(w.after["metadata"]["resourceVersion"]))
        self.terms = []     # [who, from, until]: times of the audit log
        self.who = {}       # holderIdentity -> who writes under it
        self._judge()

    def _judge(self):
        """Each record follows from the one before as in client-go's
        tools/leaderelection, and no lead begins during another's."""
        before = spec = None
        for w in self.lease:
            was, spec = spec, w.after["spec"]
            assert set(spec) == {
                "holderIdentity", "leaseDurationSeconds", "acquireTime",
                "renewTime", "leaseTransitions"}, spec
            assert MICRO.fullmatch(spec["acquireTime"]), spec
            assert MICRO.fullmatch(spec["renewTime"]), spec
            same = was and was["holderIdentity"] == spec["holderIdentity"]
            if same:
                self._renewed(w, was, spec)
            elif spec["holderIdentity"] == "":
                self._given_up(w, was, spec)
            else:
                self._taken(w, before, was, spec)
            before = w

    def _renewed(self, w, was, spec):
        assert w.who == self.terms[-1][0]
        assert spec["acquireTime"] == was["acquireTime"]
        assert spec["leaseTransitions"] == was["leaseTransitions"]
        assert spec["renewTime"] > was["renewTime"]
        self.terms[-1][2] = w.at + spec["leaseDurationSeconds"]

    def _given_up(self, w, was, spec):
        assert was and w.who == self.terms[-1][0]
        assert spec["leaseTransitions"] == was["leaseTransitions"]
        assert spec["leaseDurationSeconds"] == 1
        assert spec["acquireTime"] == spec["renewTime"]
        self.terms[-1][2] = w.at

    def _taken(self, w, before, was, spec):
        who = self.who.setdefault(spec["holderIdentity"], w.who)
        assert w.who == who, "written under another's name"
        assert spec["acquireTime"] == spec["renewTime"]
        assert spec["leaseTransitions"] == (
            was["leaseTransitions"] + 1 if was else 0)
        if was and was["holderIdentity"]:
            # It waited for the whole time that the last renewal gave.
            waited = w.at - before.at
            assert waited >= was["leaseDurationSeconds"], (
                f"taken {waited:.3f} s after the other's renewal")
        if self.terms:
            assert self.terms[-1][2] <= w.at, "two at once"
        self.terms.append([w.who, w.at,
                           w.at + spec["leaseDurationSeconds"]])

    def strays(self):
        """The writes of a replica that did not have the Lease when they
        arrived."""
        return [w for w in self.writes
                if w.who.startswith("JTI=") and not any(
                    who == w.who and begin < w.at < over
                    for who, begin, over in self.terms)]
