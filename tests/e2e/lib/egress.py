# SPDX-License-Identifier: Apache-2.0
"""What stands between kube-apiserver and a Service here: no kube-proxy runs,
and nothing routes to a ClusterIP.

    Egress(plane)                  # a plane with flags=Egress.FLAGS
    egress.route("10.0.0.7:443", port)

The API server's egress selector (as with konnectivity) asks a proxy on a Unix
socket to CONNECT to the ClusterIP; the proxy dials 127.0.0.1 instead.  TLS
goes through it unseen: the API server verifies the Service's name with the
caBundle of its webhook configuration, as in a cluster.
"""
import asyncio
import json
import pathlib
import sys

import yaml

from controlplane import end, spawn, tail, until

CONFIG = {"apiVersion": "apiserver.k8s.io/v1beta1",
          "kind": "EgressSelectorConfiguration",
          "egressSelections": [{"name": "cluster", "connection": {
              "proxyProtocol": "HTTPConnect", "transport": {"uds": {}}}}]}


class Egress:
    """The proxy.  It is made before the plane starts, which reads its
    configuration once."""

    FLAGS = ("--egress-selector-config-file={dir}/egress.yaml",)

    def __init__(self, plane):
        self.socket = plane.dir / "egress.sock"
        self.routes = plane.dir / "egress.json"
        self.log = plane.dir / "egress.log"
        self.table = {}
        self.route()
        CONFIG["egressSelections"][0]["connection"]["transport"]["uds"] = {
            "udsName": str(self.socket)}
        (plane.dir / "egress.yaml").write_text(yaml.safe_dump(CONFIG))
        # It has a process of its own, as a busy test must not delay a review.
        self.process = spawn([sys.executable, __file__, self.socket,
                              self.routes], self.log)
        until(self.socket.exists, 10, lambda: "egress\n" + tail(self.log))

    def route(self, address=None, port=None):
        """From now on connections to that address go to that port."""
        if address:
            self.table[address] = port
        new = self.routes.with_suffix(".new")
        new.write_text(json.dumps(self.table))
        new.rename(self.routes)

    def connections(self):
        """Returns the addresses that were asked for, one for each connection.
        """
        return [line.split()[1] for line in self.log.read_text().splitlines()
                if line.startswith("CONNECT ")]

    def stop(self):
        end(self.process)


async def pump(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def connect(routes, reader, writer):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        method, address, _ = head.split(b"\r\n")[0].decode().split()
        port = json.loads(routes.read_text()).get(address)
        print(method, address, port, flush=True)
        if method != "CONNECT" or port is None:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            return
        try:
            there = await asyncio.open_connection("127.0.0.1", port)
        except OSError as e:
            print(e, flush=True)
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
        there[1].close()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def serve(path, routes):
    server = await asyncio.start_unix_server(
        lambda r, w: connect(pathlib.Path(routes), r, w), path)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
