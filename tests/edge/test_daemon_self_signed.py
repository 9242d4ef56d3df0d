# SPDX-License-Identifier: Apache-2.0
"""Self-signed certificates: the Secret and caBundle under every fault."""
import base64
import json
import re
import socket
import subprocess
import time

import pytest

from conftest import PATIENCE, Holder, make_pair, stays

HURRY = pytest.mark.hurry

SECRETS, HOOKS = "secrets", "mutatingwebhookconfigurations"
TLS, NAME = "karpenter-node-holder-tls", "karpenter-node-holder"
HOST = "karpenter-node-holder.ns.svc"
CERT = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n",
                  re.S)
KEYS = ["ca.crt", "ca.key", "tls.crt", "tls.key"]
WRITES = "karpenter_node_holder_self_signed_writes_total"
# Such a certificate is read again after 0.3 s and settled after 0.6 s.
LIFE, SETTLE = 6, 0.6
# a replica that does not lead acts after so long without a pair
ORPHANED = 0.9


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def configure(w, *bundles):
    return w.api.create(HOOKS, NAME, top={"webhooks": [
        {"name": f"h{i}.example.com", "timeoutSeconds": 2, "clientConfig": {
            "service": {"name": "s", "namespace": "ns"},
            **({"caBundle": encoded(b)} if b else {})}}
        for i, b in enumerate(bundles)]})


def start(w, watching=False, **settings):
    w.patches_max = 1000
    return w.start(watching=watching, **{
        "self_signed_enabled": "true", "leader_election_namespace": "ns",
        "self_signed_ca_duration": "1h", "self_signed_duration": f"{LIFE}s",
        **settings})


def secret(w):
    w.read_at = time.time()
    data = (w.api.get(SECRETS, TLS) or {}).get("data") or {}
    return {k: base64.b64decode(v).decode() for k, v in data.items()}


def bundles(w):
    return [base64.b64decode(h["clientConfig"].get("caBundle", "")).decode()
            for h in w.api.get(HOOKS, NAME)["webhooks"]]


def complete(w):
    """The Secret has all four keys, and each caBundle has the CA."""
    now = secret(w)
    now.pop("notes", None)      # of somebody else
    return sorted(now) == KEYS and "BEGIN" in now["tls.crt"] and all(
        now["ca.crt"] in b for b in bundles(w)) and now


def verifies(w, path, text, cert, at=None):
    """Asks openssl about the pair, for our name, as of the time when it was
    read: it lives for seconds."""
    for file, content in (("bundle", text), ("cert", cert)):
        (path / file).write_text(content)
    done = subprocess.run(
        ["openssl", "verify", "-purpose", "sslserver", "-verify_hostname",
         HOST, "-attime", str(int(at or w.read_at)),
         "-CAfile", path / "bundle", path / "cert"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode == 0


def writes(w):
    """The writes that changed something, oldest first."""
    return [r for r in w.api.requests
            if r.resource in (SECRETS, HOOKS) and r.changed]


def wrote(w, key):
    """When this was written into the Secret."""
    return [r.time for r in writes(w) if r.resource == SECRETS and
            r.body["data"].get(key)]


def put(w):
    """Each caBundle that was written, oldest first."""
    return [base64.b64decode(op["value"]).decode() for r in writes(w)
            if r.resource == HOOKS for op in r.body
            if op["path"].endswith("/caBundle")]


def wait_complete(w):
    w.wait(lambda: complete(w), "all is there")
    return complete(w)


def minted(holder):
    m = holder.metrics()
    return tuple(m[f'{WRITES}{{object="{o}"}}']
                 for o in ("ca", "bundle", "certificate"))


def check_no_secret_told(holder, *texts):
    log = holder.text()
    assert "BEGIN" not in log
    for text in texts:
        for line in text.splitlines()[1:-1]:
            assert line not in log and encoded(line) not in log


# --- the order -------------------------------------------------------------

def test_from_nothing(w):
    before = configure(w, None, None)
    holder = start(w)
    now = wait_complete(w)
    assert verifies(w, w.dir, bundles(w)[0], now["tls.crt"])
    assert bundles(w) == [now["ca.crt"]] * 2
    ca, trust, leaf = writes(w)[:3]
    assert (ca.verb, ca.resource) == ("create", SECRETS)
    assert ca.body["type"] == "kubernetes.io/tls"   # which needs a pair
    assert {k for k, v in ca.body["data"].items() if v} == {"ca.crt", "ca.key"}
    assert ca.body["data"]["tls.crt"] == ca.body["data"]["tls.key"] == ""
    assert trust.resource == HOOKS
    assert (leaf.verb, leaf.resource) == ("patch", SECRETS)
    assert sorted(leaf.body["data"]) == ["tls.crt", "tls.key"]
    # The API server gets time to see the CA.
    assert leaf.time - trust.time >= SETTLE
    # Nothing else of the webhooks is touched.
    after = w.api.get(HOOKS, NAME)
    for hook in after["webhooks"]:
        del hook["clientConfig"]["caBundle"]
    assert after["webhooks"] == before["webhooks"]
    assert minted(holder)[:2] == (1, 1)
    check_no_secret_told(holder, now["ca.key"], now["tls.key"])


def test_renewed_at_two_thirds(w):
    """The certificate is renewed at two thirds of its life.  The CA changes
    only when it is deleted, and the old one stays trusted."""
    configure(w, None)
    holder = start(w)
    first = wait_complete(w)
    w.wait(lambda: complete(w) and
           secret(w)["tls.crt"] != first["tls.crt"], "renewed")
    one, two, *_ = wrote(w, "tls.crt")
    # The stamps are whole seconds, on either side of 4 s.
    assert LIFE / 6 < two - one < LIFE + PATIENCE / 10
    second = secret(w)
    second_at = w.read_at
    assert second["ca.crt"] == first["ca.crt"]
    w.api.delete(SECRETS, TLS)
    third = w.wait(lambda: (c := complete(w)) and
                   c["ca.crt"] != first["ca.crt"] and c, "all anew")
    text, = bundles(w)
    assert CERT.findall(text) == [third["ca.crt"], first["ca.crt"]]
    assert verifies(w, w.dir, text, second["tls.crt"], second_at)
    assert verifies(w, w.dir, text, third["tls.crt"])
    assert not holder.lines("renewal failed")


def test_the_old_ca_goes_when_nothing_is_left_of_it(w):
    configure(w, None)
    start(w)
    first = wait_complete(w)
    w.api.delete(SECRETS, TLS)
    w.wait(lambda: (c := complete(w)) and c["ca.crt"] != first["ca.crt"])
    w.wait(lambda: first["ca.crt"] not in bundles(w)[0], "gone")
    assert first["ca.crt"] in put(w)[1] and first["ca.crt"] not in put(w)[2]
    gone = [r.time for r in writes(w) if r.resource == HOOKS][2]
    # The birth of the CA and the clock are in whole seconds.
    assert gone - wrote(w, "ca.crt")[1] >= LIFE - 2
    wait_complete(w)


# --- what others do --------------------------------------------------------

def test_a_bundle_is_put_back(w):
    foreign = (make_pair(w.dir) / "tls.crt").read_text()
    configure(w, foreign, None)
    holder = start(w)
    now = wait_complete(w)
    assert bundles(w) == [now["ca.crt"] + foreign] * 2
    for text in ("", foreign, "rubbish"):
        hooks = w.api.get(HOOKS, NAME)["webhooks"]
        hooks[1]["clientConfig"]["caBundle"] = encoded(text)
        w.api.change(HOOKS, NAME, {"webhooks": hooks})
        w.wait(lambda: bundles(w) == [now["ca.crt"] + foreign] * 2, text)
    assert minted(holder)[0] == 1


RUBBISH = {
    "no data": lambda d: None,
    "no CA": lambda d: {**d, "ca.crt": None},
    "no key": lambda d: {**d, "ca.key": None},
    "no base64": lambda d: {**d, "ca.crt": "%"},
    "no PEM": lambda d: {**d, "ca.key": encoded("rubbish")},
    "half a CA": lambda d: {**d, "ca.crt": d["ca.crt"][:400]},
    "another's key": lambda d: {**d, "ca.key": d["tls.key"]},
    "no CA at all": lambda d: {**d, "ca.crt": d["tls.crt"],
                               "ca.key": d["tls.key"]},
    "huge": lambda d: {**d, "ca.crt": encoded("x" * 200000)},
    # More than the 1 MiB of other objects, in our keys and in another.
    "over a MiB": lambda d: {**d, "ca.crt": encoded("x" * 500000),
                             "tls.key": encoded("x" * 520000)},
    "notes over a MiB": lambda d: {**d, "notes": encoded("x" * 1040000),
                                   "ca.crt": None},
    # In these cases the CA stays.
    "no certificate": lambda d: {**d, "tls.crt": None},
    "rubbish for a certificate": lambda d: {**d, "tls.crt": encoded("x")},
    "another key": lambda d: {**d, "tls.key": d["ca.key"]},
    "the CA as certificate": lambda d: {**d, "tls.crt": d["ca.crt"],
                                        "tls.key": d["ca.key"]},
}


SPARE = list(RUBBISH)[list(RUBBISH).index("no certificate"):]


@pytest.mark.values
@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_in_the_secret(w, name):
    """The pair is minted anew, and the CA only where it has to be."""
    configure(w, None)
    holder = start(w)
    was = wait_complete(w)
    data = w.api.get(SECRETS, TLS)["data"]
    spoilt = RUBBISH[name](data)
    w.api.change(SECRETS, TLS, {"data": spoilt})

    def whole():
        now = complete(w)
        return now and not any(
            encoded(now[k]) == spoilt[k] != data[k]
            for k in spoilt or () if k in now) \
            and (now["ca.crt"] == was["ca.crt"]) == (name in SPARE) and \
            verifies(w, w.dir, now["ca.crt"], now["tls.crt"]) and now
    now = w.wait(whole, "whole again")
    assert minted(holder)[0] == (1 if name in SPARE else 2)
    trust = next(b for b in put(w) if now["ca.crt"] in b)
    assert was["ca.crt"] in trust       # it may still be served
    check_no_secret_told(holder, was["ca.key"], now["ca.key"])


def test_no_webhook_configuration(w):
    """Certificates are minted all the same; the CA is put into the
    configuration when there is one."""
    holder = start(w)
    w.wait(lambda: sorted(secret(w)) == KEYS, "minted")
    assert len(holder.lines("webhook configuration not found")) == 1
    stays(lambda: len(holder.lines("webhook configuration not found")) == 1)
    configure(w, None)
    wait_complete(w)


def test_who_does_not_lead_does_nothing(w):
    configure(w, None)
    holder = start(w, leader_election_enabled="true")   # there is no Lease
    holder.wait_line("lease failed")
    stays(lambda: not w.api.count(resource=SECRETS) and
          not w.api.count(resource=HOOKS), 1)
    assert holder.get("/livez")[0] == 200


def held_by_another(w):
    """Options of ours, with a Lease that stays another's for the whole test.
    """
    w.api.create("leases", NAME, namespace="holder", spec={
        "holderIdentity": "other_1", "leaseDurationSeconds": 3600})
    w.api.write_kubeconfig(w.kubeconfig)
    config = json.loads(w.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "ns"
    w.kubeconfig.write_text(json.dumps(config))
    return {"leader_election_enabled": "true",
            "leader_election_namespace": "holder"}


def test_a_leader_that_makes_none(w):
    """This is a roll-out to selfSigned.  No replica of ours is ready without a
    pair, and the leader makes none.  All replicas that wait make one after a
    while, and try until they have it."""
    configure(w, None)
    options = held_by_another(w)
    (w.dir / "mount").mkdir()
    begin = time.monotonic()
    holders = [start(w, **options,
                     webhook_cert_file=w.dir / "mount" / "tls.crt",
                     webhook_key_file=w.dir / "mount" / "tls.key")
               for _ in range(3)]
    for holder in holders:
        holder.wait_line("no certificate from the leader")
    now = wait_complete(w)
    assert writes(w)[0].time - begin >= ORPHANED
    assert verifies(w, w.dir, bundles(w)[0], now["tls.crt"])
    assert sum(minted(h)[0] for h in holders) == 1
    w.wait(lambda: secret(w)["tls.crt"] != now["tls.crt"], "renewed")
    for key in ("tls.key", "tls.crt"):      # a Lease that does not expire
        (w.dir / "mount" / key).write_text((w.pair / key).read_text())
    for holder in holders:
        w.wait(lambda: holder.get("/readyz")[0] == 200, "ready")

    def content():
        asked = w.api.count(resource=SECRETS)
        time.sleep(1)
        return w.api.count(resource=SECRETS) == asked
    w.wait(content, "nothing more is asked")
    assert w.api.get("leases", NAME)["spec"]["holderIdentity"] == "other_1"


def test_who_serves_does_not_stand_in(w):
    configure(w, None)
    holder = start(w, **held_by_another(w))
    stays(lambda: not w.api.count(resource=SECRETS) and
          not w.api.count(resource=HOOKS), 2 * ORPHANED)
    assert not holder.lines("no certificate from the leader")


def test_not_asked_for(w):
    configure(w, None)
    holder = w.start(leader_election_namespace="ns")
    stays(lambda: not w.api.count(resource=SECRETS) and
          not w.api.count(resource=HOOKS), 1)
    assert holder.get("/livez?verbose")[1].count("[+]cert-renewer ok") == 1


# --- what the API server does ----------------------------------------------

CALLS = [(SECRETS, "get"), (SECRETS, "create"), (SECRETS, "patch"),
         (HOOKS, "get"), (HOOKS, "patch")]


@pytest.mark.parametrize("kind", [
    "cut", "500", "403", "401", "short",
    *(pytest.param(k, marks=HURRY)
      for k in ("lost-reply", "hang", "hang-middle"))])
@pytest.mark.parametrize("resource, verb", CALLS)
def test_a_fault_once(w, resource, verb, kind):
    """A fault is logged once and made good, and nothing is done twice."""
    configure(w, None)
    w.api.fault(resource, verb, kind, times=1)
    holder = start(w)
    wait_complete(w)
    assert minted(holder)[0] <= 1       # an answer may have been lost
    assert len(wrote(w, "ca.crt")) == 1
    assert len(holder.lines("renewal failed", level="warn")) <= \
        1 + len(holder.lines("renewal goes on"))    # because of HURRY
    assert verifies(w, w.dir, bundles(w)[0], secret(w)["tls.crt"])


@pytest.mark.parametrize("resource, verb", CALLS)
def test_not_allowed(w, resource, verb):
    """The refusal is logged once and the call is tried less and less often.
    It succeeds without help later."""
    configure(w, None)
    fault = w.api.fault(resource, verb, "403")
    holder = start(w)
    w.wait(lambda: w.api.count(resource=resource, verb=verb) >= 3)
    line, = holder.lines("renewal failed", level="warn")
    assert line["code"] == 403 and "forbidden" in line["err"]
    assert not secret(w).get("tls.crt")
    assert holder.get("/livez")[0] == 200
    w.api.clear(fault)
    wait_complete(w)
    holder.wait_line("renewal goes on")
    assert holder.metrics()[
        "karpenter_node_holder_self_signed_errors_total"] >= 3


def test_a_fault_that_lasts_is_not_silent(w):
    configure(w, None)
    w.api.fault(HOOKS, "get", "403")
    holder = start(w)
    w.wait(lambda: len(holder.lines("renewal failed", level="warn")) == 2,
           "warned again")
    assert 20 <= w.api.count(resource=HOOKS, verb="get") <= 25


@pytest.mark.parametrize("resource, verb, status", [
    (SECRETS, "create", 409), (SECRETS, "patch", 409), (HOOKS, "patch", 409),
    (HOOKS, "patch", 422)])
def test_conflicts(w, resource, verb, status):
    """A single conflict is not worth a log line."""
    configure(w, None)
    w.api.fault(resource, verb, "answer", times=1, status=status, body=b"{}")
    holder = start(w)
    wait_complete(w)
    assert not holder.lines("renewal failed", level="warn")
    assert holder.lines("renewal failed", level="debug")


@pytest.mark.parametrize("fault", ["403", "too many"])
def test_webhooks_that_cannot_be_read(w, fault):
    """The certificate is renewed all the same, but the CA is not."""
    configure(w, None)
    holder = start(w)
    first = wait_complete(w)
    if fault == "403":
        w.api.fault(HOOKS, "get", "403")
    else:
        hooks = w.api.get(HOOKS, NAME)["webhooks"]
        w.api.change(HOOKS, NAME, {"webhooks": hooks * 9})
    for was in 1, 2:
        cert = secret(w)["tls.crt"]
        w.wait(lambda: secret(w)["tls.crt"] != cert, f"renewal {was}")
    now = secret(w)
    assert now["ca.crt"] == first["ca.crt"]
    assert verifies(w, w.dir, bundles(w)[0], now["tls.crt"])
    line, = holder.lines("renewal failed", level="warn")
    assert line["step"] == "read"
    assert not holder.lines("renewal goes on")


def issued(w, *extensions):
    """Somebody else's CA: certificate and key."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout",
         w.dir / "k", "-subj", "/CN=theirs", "-out", w.dir / "c",
         *(f for e in ("basicConstraints=critical,CA:TRUE",
                       "keyUsage=critical,keyCertSign", *extensions)
           for f in ("-addext", e))],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return (w.dir / "c").read_text(), (w.dir / "k").read_text()


def test_a_ca_whose_constraints_shut_us_out(w):
    """The daemon reports it and neither overwrites nor uses it.  It takes
    another CA."""
    configure(w, None)
    holder = start(w)
    was = wait_complete(w)
    bad, key = issued(w, "nameConstraints=critical,permitted;DNS:example.com")
    w.api.change(SECRETS, TLS, {"data": {"ca.crt": encoded(bad),
                                         "ca.key": encoded(key)}})
    line = holder.wait_line("renewal failed", level="warn")
    assert line["step"] == "serving" and "permitted subtree" in line["err"]
    stays(lambda: secret(w)["ca.crt"] == bad and
          secret(w)["tls.crt"] == was["tls.crt"], 1)
    assert was["ca.crt"] in bundles(w)[0]       # it is still served
    good, key = issued(w)
    w.api.change(SECRETS, TLS, {"data": {"ca.crt": encoded(good),
                                         "ca.key": encoded(key)}})
    now = w.wait(lambda: (c := complete(w)) and
                 c["tls.crt"] != was["tls.crt"] and c, "theirs")
    assert now["ca.crt"] == good
    assert verifies(w, w.dir, bundles(w)[0], now["tls.crt"])


@HURRY
def test_the_version_counts(w):
    """The daemon does not overwrite what was changed after it was read."""
    configure(w, None)
    fault = w.api.fault(SECRETS, "patch", "hang")
    start(w)
    w.wait(lambda: w.api.count(resource=SECRETS, verb="patch"), "asked")
    for r in w.api.select(resource=SECRETS, verb="patch"):
        assert r.body["metadata"]["resourceVersion"]
    test, *_ = w.api.select(resource=HOOKS, verb="patch")[0].body
    assert (test["op"], test["path"]) == ("test", "/metadata/resourceVersion")
    w.api.clear(fault)
    wait_complete(w)


def test_a_stop_waits_for_nothing(w):
    """The call under way is cut and does not run until its own deadline."""
    configure(w, None)
    w.api.fault(SECRETS, "get", "hang")
    holder = start(w)
    w.wait(lambda: w.api.count(resource=SECRETS, verb="get"), "asked")
    assert holder.term() == 0
    assert not holder.lines("renewal failed")


# --- certs --renew ---------------------------------------------------------

def renew(w, *flags):
    w.patches_max = 1000
    w.api.write_kubeconfig(w.kubeconfig)
    holder = Holder(w, [
        "certs", "--renew", "--kubeconfig", str(w.kubeconfig),
        "--leader-election-namespace", "ns", "--logging-level", "debug",
        "--self-signed-ca-duration", "1h",
        "--self-signed-duration", f"{LIFE}s", *flags])
    w.holders.append(holder)
    holder.wait_line("renewing")
    return holder


def test_the_renewer_alone(w):
    """It renews as the leader would, asks for nothing else, and listens on no
    port."""
    configure(w, None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        holder = renew(w, "--metrics-address", address)
        now = wait_complete(w)
    assert verifies(w, w.dir, bundles(w)[0], now["tls.crt"])
    w.wait(lambda: secret(w)["tls.crt"] != now["tls.crt"], "renewed")
    assert {r.resource for r in w.api.requests} == {SECRETS, HOOKS}
    check_no_secret_told(holder, now["ca.key"], now["tls.key"])
    assert holder.term() == 0


def test_the_renewer_stops_in_the_middle(w):
    configure(w, None)
    w.api.fault(SECRETS, "get", "hang")
    holder = renew(w)
    w.wait(lambda: w.api.count(resource=SECRETS, verb="get"), "asked")
    assert holder.term() == 0
