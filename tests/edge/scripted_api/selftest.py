# SPDX-License-Identifier: Apache-2.0
"""Tests of the scripted API server itself."""
import email.utils
import json
import os
import socket
import ssl
import subprocess
import tempfile
import time

from . import ScriptedApi
from .shapes import REJECTED, to_json

PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
NODES = "/api/v1/nodes"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
HOLD = "karpenter.sh/do-not-disrupt"
POINTER = "/metadata/annotations/karpenter.sh~1do-not-disrupt"


class Client:
    """A keep-alive client without the help of an HTTP library, as half of what
    it sees is not HTTP."""

    def __init__(self, api, timeout=10.0, tls=None):
        self.sock = socket.create_connection(("127.0.0.1", api.port), timeout)
        if tls:
            self.sock = tls.wrap_socket(self.sock)
        self.file = self.sock.makefile("rb")

    def close(self):
        self.sock.close()
        self.file.close()

    def ask(self, method, path, body=None, accept="application/json",
            kind="application/merge-patch+json"):
        data = b"" if body is None else to_json(body)
        self.sock.sendall((
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        ).encode() + data)
        code = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            key, _, value = line.decode().partition(": ")
            self.headers[key] = value
        if "Content-Length" not in self.headers:
            return code, None
        self.raw = self.file.read(int(self.headers["Content-Length"]))
        try:
            return code, json.loads(self.raw)
        except ValueError:
            return code, None

    def line(self):
        """Reads the chunks of a watch up to the end of a line; None: the watch
        has ended."""
        text = b""
        while not text.endswith(b"\n"):
            size = int(self.file.readline() or b"0", 16)
            if size == 0:
                self.file.readline()
                return None
            text += self.file.read(size)
            self.file.read(2)
        return json.loads(text)


def fill(api, n=5):
    for i in range(n):
        api.create("nodes", f"n{i}", labels={"karpenter.sh/nodepool": "p"})
        api.create("nodeclaims", f"c{i}")


def test_lists(api):
    fill(api)
    c = Client(api)
    code, page = c.ask("GET", NODES + "?limit=3",
                       accept=PARTIAL.format("List"))
    assert code == 200 and page["kind"] == "PartialObjectMetadataList"
    assert page["items"][0]["kind"] == "PartialObjectMetadata"
    assert "spec" not in page["items"][0]
    api.delete("nodes", "n4")       # a page shows the version of its list
    code, rest = c.ask("GET", f"{NODES}?limit=3&continue="
                       + page["metadata"]["continue"])
    assert [i["metadata"]["name"] for i in rest["items"]] == ["n3", "n4"]
    assert rest["metadata"]["resourceVersion"] == \
        page["metadata"]["resourceVersion"]
    asked = int(api.now())
    code, claims = c.ask("GET", CLAIMS)
    assert list(claims) == ["apiVersion", "items", "kind", "metadata"]
    assert asked <= email.utils.parsedate_to_datetime(
        c.headers["Date"]).timestamp() <= api.now()
    code, _ = c.ask("GET", NODES, accept=PARTIAL.format(""))
    assert code == 406
    assert len({r.connection for r in api.requests}) == 1


def test_writes(api):
    node = api.create("nodes", "a")["metadata"]
    c = Client(api)
    patch = {"metadata": {"resourceVersion": node["resourceVersion"],
                          "annotations": {HOLD: "true"}}}
    assert c.ask("PATCH", NODES + "/a", patch)[0] == 200
    assert api.annotations("nodes", "a") == {HOLD: "true"}
    code, status = c.ask("PATCH", NODES + "/a", patch)
    assert code == 409 and status["reason"] == "Conflict"
    ops = [{"op": "test", "path": "/metadata/uid", "value": node["uid"]},
           {"op": "test", "path": POINTER, "value": "true"},
           {"op": "remove", "path": POINTER}]
    kind = "application/json-patch+json"
    assert c.ask("PATCH", NODES + "/a", ops, kind=kind)[0] == 200
    assert "annotations" not in api.get("nodes", "a")["metadata"]
    code, status = c.ask("PATCH", NODES + "/a", ops, kind=kind)
    assert (code, status["reason"], status["message"]) == \
        (422, "Invalid", REJECTED)
    uid = {"preconditions": {"uid": node["uid"]}}
    rv = {"preconditions": {"resourceVersion": node["resourceVersion"]}}
    assert c.ask("DELETE", NODES + "/a", rv)[0] == 409
    assert c.ask("DELETE", NODES + "/a", uid)[0] == 200
    assert api.names("nodes") == []
    api.create("nodes", "a")
    code, status = c.ask("GET", CLAIMS + "/none")
    assert code == 404 and status["details"]["group"] == "karpenter.sh"
    assert c.ask("PATCH", NODES + "/a", {}, kind="text/plain")[0] == 415
    assert c.ask("PUT", NODES + "/a", {})[0] == 405


def test_watch(api):
    api.bookmark_s = 0.1
    rv = int(api.create("nodes", "a")["metadata"]["resourceVersion"])
    api.patch_meta("nodes", "a", annotations={"k": "v"})
    c = Client(api)
    path = f"{NODES}?watch=1&allowWatchBookmarks=true"

    def version(line):
        return int(line["object"]["metadata"]["resourceVersion"])
    c.ask("GET", f"{path}&resourceVersion={rv}", accept=PARTIAL.format(""))
    line = c.line()
    assert line["type"] == "MODIFIED" and "spec" not in line["object"]
    api.create("nodeclaims", "c")
    while version(line) < rv + 2:
        line = c.line()
        assert line["type"] == "BOOKMARK", line
    fault = api.fault("nodes", "watch", "silent")
    api.delete("nodes", "a")
    time.sleep(0.1)
    api.clear(fault)
    while version(line) == rv + 2:      # earlier bookmarks
        line = c.line()
    assert line["type"] == "DELETED"
    api.drop_watches("nodes")
    while (line := c.line()) is not None:
        assert line["type"] == "BOOKMARK"
    api.fault("nodes", "watch", "split", times=1)
    c.ask("GET", f"{path}&resourceVersion={rv}")
    assert c.line()["object"]["kind"] == "Node"
    api.fault("nodes", "watch", "expired", times=1)
    line = c.line()
    while line["type"] != "ERROR":
        line = c.line()
    assert line["object"]["code"] == 410 and c.line() is None
    api.compact()
    c.ask("GET", f"{path}&resourceVersion={rv}")
    assert c.line()["object"]["reason"] == "Expired"


def hangs(api, method, path, body=None):
    """Asks on a connection of its own; True if no complete answer comes."""
    c = Client(api, timeout=0.15)
    try:
        code, _ = c.ask(method, path, body)
        return "Content-Length" in c.headers and \
            len(c.raw) < int(c.headers["Content-Length"])
    except (TimeoutError, OSError):
        return True


def test_faults(api):
    fill(api)
    c = Client(api)
    for kind, code in (("429", 429), ("500", 500), ("401", 401),
                       ("403", 403)):
        api.fault("*", "list", kind, times=1)
        assert c.ask("GET", NODES)[0] == code
        if code == 429:
            assert c.headers["Retry-After"] == "1"
    token = c.ask("GET", NODES + "?limit=1")[1]["metadata"]["continue"]
    api.fault("nodes", "list", "expired", times=1)
    code, status = c.ask("GET", f"{NODES}?limit=1&continue={token}")
    assert code == 410 and status["metadata"]["continue"]
    for kind in ("hang", "hang-middle", "cut"):
        fault = api.fault("nodes", "list", kind)
        assert hangs(api, "GET", NODES), kind
        assert c.ask("GET", CLAIMS)[0] == 200
        api.clear(fault)
    api.fault("nodes", "patch", "lost-reply", times=1)
    assert hangs(api, "PATCH", NODES + "/n0",
                 {"metadata": {"annotations": {"k": "v"}}})
    api.wait(lambda: api.annotations("nodes", "n0") == {"k": "v"})
    fault = api.fault("nodes", "list", "withhold")
    page = c.ask("GET", NODES)[1]
    assert len(page["items"]) == 2
    path = f"{NODES}?continue={page['metadata']['continue']}"
    assert hangs(api, "GET", path)
    api.clear()
    assert len(c.ask("GET", path)[1]["items"]) == 3
    api.serve("nodeclaims", False)
    assert c.ask("GET", CLAIMS) == (404, None)
    assert c.raw == b"404 page not found\n"
    assert api.count(verb="patch", resource="nodes") == 1


def test_behind(api):
    api.bookmark_s = 0.05
    rv = api.create("nodes", "a")["metadata"]["resourceVersion"]
    c = Client(api)
    fault = api.fault("nodes", "watch", "behind")
    c.ask("GET", f"{NODES}?watch=1&allowWatchBookmarks=true"
          f"&resourceVersion={rv}")
    api.patch_meta("nodes", "a", annotations={"k": "v"})
    line = c.line()
    assert line["type"] == "BOOKMARK"
    assert line["object"]["metadata"]["resourceVersion"] == rv
    api.clear(fault)
    while (line := c.line())["type"] == "BOOKMARK":
        pass
    assert line["type"] == "MODIFIED"
    api.hide("nodes", "a")
    other = Client(api)
    assert other.ask("GET", NODES)[1]["items"] == []
    assert other.ask("GET", NODES + "/a")[0] == 200
    api.show("nodes", "a")
    while (line := c.line())["type"] == "BOOKMARK":
        pass
    assert line["object"]["metadata"]["name"] == "a"
    api.create("nodes", "b")
    api.page_max = 1
    assert len(other.ask("GET", NODES + "?limit=9")[1]["items"]) == 1


def test_token(api):
    api.token = "t"
    code, status = Client(api).ask("GET", NODES)
    assert code == 401 and status["reason"] == "Unauthorized"


def test_answers_of_the_tests_own(api):
    fill(api, 1)
    c = Client(api)
    api.fault("nodes", "list", "answer", times=1, status=302, body=b"moved",
              headers={"Location": "/x"})
    assert c.ask("GET", NODES)[0] == 302
    assert c.raw == b"moved" and c.headers["Location"] == "/x"
    head = api.fault("nodes", "list", "head", headers={"Date": None, "A": 1})
    edit = api.fault("nodes", "list", "edit",
                     edit=lambda v: {**v, "items": None})
    code, page = c.ask("GET", NODES)
    assert code == 200 and page["items"] is None
    assert c.headers["A"] == "1" and "Date" not in c.headers
    api.clear(head)
    api.clear(edit)
    api.fault("nodes", "list", "edit", times=1, edit=lambda v: b"<html>")
    assert c.ask("GET", NODES) == (200, None) and c.raw == b"<html>"
    assert c.ask("GET", NODES)[1]["items"] and c.headers["Date"]
    api.fault("nodes", "watch", "edit", times=1,
              edit=lambda v: {**v, "type": "ODD"})
    c.ask("GET", NODES + "?watch=1")
    assert c.line()["type"] == "ODD"
    api.fault("nodes", "list", "endless", body=b"[", fill=b"1,")
    c = Client(api)
    assert c.ask("GET", NODES) == (200, None)
    assert c.file.read(1001) == b"[" + b"1," * 500


def test_http_1_0(api):
    fill(api, 1)
    api.fault("*", "*", "http/1.0")
    c = Client(api)
    assert c.ask("GET", NODES)[0] == 200 and c.file.read() == b""
    c = Client(api)
    c.ask("GET", f"{NODES}?watch=1&timeoutSeconds=0.1")
    assert "Transfer-Encoding" not in c.headers
    assert json.loads(c.file.read())["type"] == "ADDED"
    assert len(api.accepted) == 2


def test_tls(api):
    with tempfile.NamedTemporaryFile() as pair:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-keyout",
             pair.name, "-out", pair.name + ".crt"],
            stdin=subprocess.DEVNULL, capture_output=True, check=True)
        api.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        api.tls.load_cert_chain(pair.name + ".crt", pair.name)
        os.unlink(pair.name + ".crt")
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    c = Client(api, tls=trusting)
    assert c.ask("GET", NODES)[0] == 200
    api.fault("nodes", "watch", "hang")
    c.sock.sendall(f"GET {NODES}?watch=1 HTTP/1.1\r\n\r\n".encode())
    api.wait(lambda: api.count(verb="watch"))
    c.close()
    api.wait(lambda: not api._connections)
    plain = Client(api)
    plain.sock.sendall(f"GET {NODES} HTTP/1.1\r\n\r\n".encode())
    plain.file.read()       # an alert
    plain.close()
    api.wait(lambda: len(api.accepted) == 2 and not api._connections)
    assert api.count(verb="list") == 1


def selftest():
    tests = (test_lists, test_writes, test_watch, test_faults, test_behind,
             test_token, test_answers_of_the_tests_own, test_http_1_0,
             test_tls)
    for test in tests:
        with ScriptedApi() as api:
            test(api)
    print(f"scripted_api: {len(tests)} tests passed")
