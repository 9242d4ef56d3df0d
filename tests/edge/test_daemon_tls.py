# SPDX-License-Identifier: Apache-2.0
"""Connections to an API server that fail: TLS, credentials, rights.

No request goes to a server that is not to be trusted.  Files are read again,
so that a new CA, certificate or token is taken as soon as it is there."""
import os
import pty
import select
import ssl
import subprocess

import pytest

from checks import answers, check_pauses, due, lines_of, wait_said
from conftest import WATCHED, Signer

# --- TLS -------------------------------------------------------------------

def tls(folder, clients=None, newest=ssl.TLSVersion.TLSv1_3):
    """A server with this pair.  clients is the CA whose certificates it
    demands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    context.maximum_version = newest
    if clients:
        context.load_verify_locations(clients.path / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Silent:
    """In place of TLS: reads, and never answers."""

    @staticmethod
    def wrap_socket(sock, **_):
        while sock.recv(4096):
            pass
        raise OSError


class Closed:
    """In place of TLS: closes at once."""

    @staticmethod
    def wrap_socket(sock, **_):
        raise OSError


def over_tls(w):
    """Moves the API server of this world to TLS; returns its CA and its good
    pair."""
    ca = Signer(w.dir / "ca")
    w.api.tls = tls(ca.leaf(w.dir / "good"))
    w.restart_api()
    return ca, w.api.tls


def replace(file, by):
    fresh = file.with_suffix(".new")
    fresh.write_bytes(by.read_bytes())
    fresh.replace(file)


def check_no_connection(w, names, *words):
    """A holder cannot connect and does all that it should.  Each watcher
    pauses between its tries.  Of n + 1 connections, where n is the number of
    watchers, two are by the same watcher."""
    holder = w.start(watching=False)
    for resource in WATCHED:
        wait_said(w, holder, "list failed", f"127.0.0.1:{w.api.port}: ",
                  *words, resource=resource)
    n = len(WATCHED)
    w.wait(lambda: len(w.api.accepted) >= 2 * n, "a second try of each")
    for i in range(n):
        check_pauses(w.api.accepted[i::n])
    assert answers(holder) and holder.get("/readyz") == (200, "ok")
    assert not w.clears() and w.held(names)
    return holder


def check_recovered(w, names, holder):
    w.wait_free(names)
    for resource in WATCHED:
        assert len(lines_of(holder, "list failed", resource)) == 1


# name: (what stands in place of the good server, words of the log line)
SERVERS = {
    "another CA": (lambda w, ca: tls(Signer(w.dir / "other").leaf(
        w.dir / "bad")), "not from the CA we trust"),
    "another name": (lambda w, ca: tls(ca.leaf(
        w.dir / "bad", san="DNS:elsewhere.example")), "for another name"),
    "expired": (lambda w, ca: tls(ca.leaf(w.dir / "bad", end=-60)),
                "has expired"),
    "not yet valid": (lambda w, ca: tls(ca.leaf(w.dir / "bad", start=3600)),
                      "not yet valid"),
    "of a client": (lambda w, ca: tls(ca.leaf(
        w.dir / "bad", use="clientAuth")), "purpose"),
    "no TLS": (lambda w, ca: None, ""),     # it gets an alert, or no answer
    "no word": (lambda w, ca: Silent, "timeout"),
    "closed": (lambda w, ca: Closed, "is this an https port"),
}


@pytest.mark.values
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.hurry)
    if name in ("no TLS", "no word") else name for name in SERVERS])
def test_a_server_not_to_be_trusted(w, name):
    """No request is sent to it."""
    make, words = SERVERS[name]
    w.token = "secret-token"
    ca, good = over_tls(w)
    w.api.token = w.token
    w.api.write_kubeconfig(w.kubeconfig, cluster={
        "certificate-authority": str(ca.path / "ca.crt")})
    names = due(w)
    w.api.tls = make(w, ca)
    holder = check_no_connection(w, names, words)
    # (A server without TLS may take the first bytes of a handshake for a
    # request.)
    assert not [r for r in w.api.requests if "authorization" in r.headers]
    w.api.tls = good
    check_recovered(w, names, holder)


@pytest.mark.values
@pytest.mark.parametrize("kind, words", [
    ("other", "not from the CA we trust"), ("none", "certificate-authority"),
    ("empty", "certificate-authority"), ("garbage", "certificate-authority"),
    ("folder", "certificate-authority")])
def test_a_ca_file_of_no_use(w, kind, words):
    """The right CA is taken when it is there."""
    ca, _ = over_tls(w)
    file = w.dir / "ca.crt"
    if kind == "other":
        replace(file, Signer(w.dir / "other").path / "ca.crt")
    elif kind == "folder":
        file.mkdir()
    elif kind != "none":
        file.write_text("" if kind == "empty" else "-----BEGIN x")
    w.api.write_kubeconfig(w.kubeconfig,
                           cluster={"certificate-authority": str(file)})
    names = due(w)
    if kind == "other":
        holder = check_no_connection(w, names, words)
    else:
        holder = w.start(watching=False)
        for resource in WATCHED:
            wait_said(w, holder, "list failed", words, resource=resource)
        assert answers(holder) and not w.api.requests
    if kind == "folder":
        file.rmdir()
    replace(file, ca.path / "ca.crt")
    check_recovered(w, names, holder)


CLIENTS = {
    "expired": lambda w, ca: ca.leaf(w.dir / "own", use="clientAuth",
                                     end=-60),
    "not yet valid": lambda w, ca: ca.leaf(w.dir / "own", use="clientAuth",
                                           start=3600),
    "of another CA": lambda w, ca: Signer(w.dir / "other").leaf(
        w.dir / "own", use="clientAuth"),
    "of a server": lambda w, ca: ca.leaf(w.dir / "own"),
}


@pytest.mark.parametrize("newest, name", [
    pytest.param(v, name, id=f"{v.name}-{name}")
    for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    for name in CLIENTS])
def test_a_client_certificate_that_is_refused(w, name, newest):
    """It is refused in the handshake or (with TLS 1.3) after it.  A new one is
    taken when it is in the files."""
    ca, _ = over_tls(w)
    w.api.tls = tls(w.dir / "good", clients=ca, newest=newest)
    own = CLIENTS[name](w, ca)
    w.api.write_kubeconfig(
        w.kubeconfig, cluster={"certificate-authority":
                               str(ca.path / "ca.crt")},
        user={"client-certificate": str(own / "tls.crt"),
              "client-key": str(own / "tls.key")})
    names = due(w)
    holder = check_no_connection(w, names)
    why = w.wait(lambda: [e["err"] for e in holder.lines("list failed")
                          if "timeout" not in e["err"]], "a refusal")
    assert "our client certificate?" in why[0]
    assert not w.api.requests
    fresh = ca.leaf(w.dir / "fresh", use="clientAuth")
    replace(own / "tls.key", fresh / "tls.key")
    replace(own / "tls.crt", fresh / "tls.crt")
    check_recovered(w, names, holder)
    assert "PRIVATE KEY" not in holder.text()


def test_a_client_certificate_expires(w):
    """Open connections get a 401. A new certificate is taken when it is in the
    files, for watches and for patches."""
    ca, _ = over_tls(w)
    w.api.tls = tls(w.dir / "good", clients=ca)
    own = ca.leaf(w.dir / "own", use="clientAuth")
    w.api.write_kubeconfig(
        w.kubeconfig, cluster={"certificate-authority":
                               str(ca.path / "ca.crt")},
        user={"client-certificate": str(own / "tls.crt"),
              "client-key": str(own / "tls.key")})
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.expire_connections()
    w.machine("new")    # the watches are still open, but a patch is refused
    w.wait(lambda: w.api.count(status=401))
    fresh = ca.leaf(w.dir / "fresh", use="clientAuth")
    replace(own / "tls.key", fresh / "tls.key")
    replace(own / "tls.crt", fresh / "tls.crt")
    w.api.expire_connections()
    w.wait_held("new")
    for resource in WATCHED:
        opened = w.api.count(verb="watch", resource=resource, status=200)
        w.api.drop_watches(resource)
        w.wait(lambda r=resource, n=opened: w.api.count(
            verb="watch", resource=r, status=200) > n, "another watch")
    w.quiet()
    w.wait_free(names + ["new"])
    assert answers(holder)


@pytest.mark.parametrize("kind", ["another", "passphrase", "none", "garbage"])
def test_a_client_key_of_no_use(w, kind):
    """Nobody is asked for a passphrase, not even on a terminal."""
    ca, _ = over_tls(w)
    w.api.tls = tls(w.dir / "good", clients=ca)
    own = ca.leaf(w.dir / "own", use="clientAuth")
    key = own / "tls.key"
    good = key.read_bytes()
    if kind == "another":
        replace(key, ca.path / "ca.key")
    elif kind == "passphrase":
        key.write_bytes(subprocess.run(
            ["openssl", "pkcs8", "-topk8", "-passout", "pass:open-sesame"],
            input=good, capture_output=True, check=True).stdout)
    elif kind == "none":
        key.unlink()
    else:
        key.write_text("garbage")
    w.api.write_kubeconfig(
        w.kubeconfig, cluster={"certificate-authority":
                               str(ca.path / "ca.crt")},
        user={"client-certificate": str(own / "tls.crt"),
              "client-key": str(key)})
    names = due(w)
    ours, w.terminal = pty.openpty()
    try:
        holder = w.start(watching=False)
        for resource in WATCHED:
            wait_said(w, holder, "list failed", "check client-certificate",
                      "and client-key", resource=resource)
            assert answers(holder) and not w.api.requests
        key.write_bytes(good)
        check_recovered(w, names, holder)
        assert holder.term() == 0
        assert not select.select([ours], [], [], 0)[0]
    finally:
        os.close(ours)
        os.close(w.terminal)
    assert "open-sesame" not in holder.text()


def test_a_server_that_is_no_longer_trusted(w):
    """This happens in the middle of a hold, which lasts until the server is
    trusted again."""
    ca, good = over_tls(w)
    w.api.write_kubeconfig(w.kubeconfig, cluster={
        "certificate-authority": str(ca.path / "ca.crt")})
    names = w.machines(3)
    holder = w.start()
    w.busy()
    w.wait_held(names)
    w.api.tls = tls(Signer(w.dir / "other").leaf(w.dir / "bad"))
    w.api.cut_connections()
    for resource in WATCHED:
        holder.wait_line("watch failed", resource=resource)
    w.quiet()
    n = len(w.api.accepted)
    w.wait(lambda: len(w.api.accepted) >= n + 2, "another try of both")
    assert answers(holder) and not w.clears() and w.held(names)
    w.api.tls = good
    w.wait_free(names)


# --- credentials and rights ------------------------------------------------

def test_a_token_refused_for_a_while(w):
    """The new token is taken when it is in the file."""
    w.token = "secret-token"
    w.api.token = w.token + "2"
    file = w.dir / "token"
    file.write_text(w.token + "1")
    w.api.write_kubeconfig(w.kubeconfig, token_file=file)
    names = due(w)
    holder = w.start(watching=False)
    for resource in WATCHED:
        wait_said(w, holder, "list failed", "Unauthorized",
                  resource=resource, code=401)
        w.wait(lambda r=resource: len(w.lists(r)) >= 3)
        check_pauses(w.lists(resource), 3)
    assert answers(holder) and not w.clears()
    file.write_text(w.token + "2")
    w.wait_free(names)
    for resource in WATCHED:
        assert len(lines_of(holder, "list failed", resource)) == 1


@pytest.mark.parametrize("content, words", [
    (None, "No such file"), ("", "is empty"), ("a b", "no bearer token"),
    ("a\r\nX: y", "no bearer token"), ("x" * (65 << 10), "over 65536")],
    ids=["none", "empty", "two words", "two lines", "65 KB"])
def test_a_token_file_of_no_use(w, content, words):
    """No request is sent without a token, and the log names the file."""
    w.token = w.api.token = "secret-token"
    file = w.dir / "token"
    if content is not None:
        file.write_text(content)
    w.api.write_kubeconfig(w.kubeconfig, token_file=file)
    names = due(w)
    holder = w.start(watching=False)
    for resource in WATCHED:
        wait_said(w, holder, "list failed", str(file), words,
                  resource=resource)
    assert answers(holder) and not w.api.requests
    file.write_text(w.token)
    w.wait_free(names)


@pytest.mark.parametrize("verb, msg", [
    ("list", "list failed"), ("watch", "watch failed"),
    ("get", "request failed"), ("patch", "write refused")])
def test_a_right_that_is_missing(w, verb, msg):
    """The right on NodeClaims is missing.  The log names it, and the daemon
    recovers when it is given."""
    names = due(w)
    claim = w.claim("gone")
    w.api.delete("nodeclaims", "gone")
    w.node("lone", claim=claim, annotations=w.ours())
    w.busy("a-new", pool="new")
    w.api.fault("nodeclaims", verb, "403")
    holder = w.start(watching=False, scope="nodepool")
    wait_said(w, holder, msg, f'cannot {verb} resource "nodeclaims"')
    w.wait(lambda: w.api.count(verb=verb, resource="nodeclaims") >= 2)
    check_pauses(w.api.select(verb=verb, resource="nodeclaims"))
    assert answers(holder)
    assert w.held("lone") or verb == "patch"
    if verb in ("list", "watch"):
        assert not w.clears() and w.held(names)
    w.api.clear()
    w.wait_free(names + ["lone"])
    w.wait_held("a-new", "nodeclaims")
