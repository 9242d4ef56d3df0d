# SPDX-License-Identifier: Apache-2.0
"""A second kube-apiserver on the same etcd whose watch cache is behind.

    with Lagging(plane) as lagging:
        lagging.delay(math.inf)     # it sees no change any more
        lagging.delay(5)            # all that is 5 s old
        lagging.delay(0)

Between it and etcd stands a proxy that keeps back what etcd sends on a watch,
and nothing else: reads, writes and leases go through at once.  So its caches
(and every watch and resourceVersion=0 list that it serves) are of a while ago,
as behind a slow etcd member, while what has to be consistent is.

gRPC is HTTP/2: in the frames a watch is a call whose client has not ended its
side when the answer comes.  Headers are never kept back, so that their
compression, which is one for the whole connection, stays in order.
"""
import asyncio
import os
import pathlib
import shutil
import sys
import time

from controlplane import ControlPlane, end, free_port, spawn, tail, until

DATA, HEADERS, RST_STREAM, WINDOW_UPDATE = 0, 1, 3, 8
END_STREAM = 1
PREFACE = 24        # bytes that a client sends before its first frame


class Lagging(ControlPlane):
    """The second kube-apiserver, with the keys, identities and etcd of the
    other."""

    def __init__(self, plane):
        super().__init__(bin_dir=plane.bin, crds_dir=plane.crds_dir,
                         name=f"{plane.dir.name.rpartition('.')[2]}-lagging")
        self.plane = plane
        self.not_admitting = plane.not_admitting
        self.lag = self.dir / "lag"
        self.etcd_log = self.dir / "proxy.log"

    def _make_certificates(self):
        shutil.copytree(self.plane.dir, self.dir, dirs_exist_ok=True,
                        ignore=lambda folder, names: [
                            n for n in names if not n.endswith(
                                (".crt", ".key", ".pub"))])
        self.admin = self.plane.admin

    def _start_etcd(self):
        self.delay(0)
        self.etcd_port = free_port()
        self._etcd = spawn([sys.executable, __file__, self.etcd_port,
                            self.plane.etcd_port, self.lag], self.etcd_log)
        until(lambda: "listening" in tail(self.etcd_log), 10,
              lambda: "proxy\n" + tail(self.etcd_log))

    def start(self):
        super().start()
        self.wait_served()
        return self

    def delay(self, seconds):
        """Applies to what comes from now on, and to what is kept back already.
        """
        new = self.lag.with_suffix(".new")
        new.write_text(str(float(seconds)))
        new.rename(self.lag)

    def cached(self, path):
        """Returns {name: metadata} as it has it in its cache."""
        return self.metadata(path + "?resourceVersion=0")

    def check_ended(self):
        assert self._etcd.poll() is None, tail(self.etcd_log)


# The proxy

async def frame(reader):
    """-> (type, flags, stream, all its bytes)"""
    head = await reader.readexactly(9)
    body = await reader.readexactly(int.from_bytes(head[:3], "big"))
    stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
    return head[3], head[4], stream, head + body


def credit(size):
    """A WINDOW_UPDATE for the whole connection."""
    return (b"\0\0\4" + bytes([WINDOW_UPDATE, 0]) + b"\0\0\0\0"
            + size.to_bytes(4, "big"))


class Connection:
    def __init__(self, lag):
        self.lag = lag
        self.asked = set()      # calls with one request, which has come
        self.kept = []          # (when it came, stream, bytes), oldest first

    async def to_etcd(self, reader, writer):
        writer.write(await reader.readexactly(PREFACE))
        while True:
            kind, flags, stream, data = await frame(reader)
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                self.asked.add(stream)
            if kind == RST_STREAM:
                self.drop(stream)
            writer.write(data)
            await writer.drain()

    def drop(self, stream):
        self.asked.discard(stream)
        self.kept = [k for k in self.kept if k[1] != stream]

    async def to_server(self, reader, writer, etcd):
        while True:
            kind, flags, stream, data = await frame(reader)
            if kind == DATA and stream not in self.asked:
                self.kept.append((time.monotonic(), stream, data))
                # Other calls on this connection go on meanwhile.
                if len(data) > 9:
                    etcd.write(credit(len(data) - 9))
                self.release(writer)
                continue
            if kind == RST_STREAM:
                self.drop(stream)
            if flags & END_STREAM and kind in (DATA, HEADERS):
                for _, _, late in [k for k in self.kept if k[1] == stream]:
                    writer.write(late)
                self.drop(stream)
            writer.write(data)
            await writer.drain()

    def release(self, writer):
        old = time.monotonic() - self.lag()
        while self.kept and self.kept[0][0] <= old:
            writer.write(self.kept.pop(0)[2])

    async def release_in_time(self, writer):
        while True:
            await asyncio.sleep(0.05)
            self.release(writer)
            await writer.drain()


async def connect(etcd_port, lag, reader, writer):
    there = await asyncio.open_connection("127.0.0.1", etcd_port)
    connection = Connection(lag)
    tasks = [asyncio.ensure_future(c) for c in (
        connection.to_etcd(reader, there[1]),
        connection.to_server(there[0], writer, there[1]),
        connection.release_in_time(writer))]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    for task in done:
        e = task.exception()
        if not isinstance(e, (OSError, asyncio.IncompleteReadError)):
            print("connection:", repr(e), flush=True)
    for w in (writer, there[1]):
        w.close()


async def serve(port, etcd_port, path):
    now = {"lag": 0.0, "of": None}

    def lag():
        return now["lag"]

    async def read_lag():
        while True:
            at = os.stat(path).st_mtime_ns
            if at != now["of"]:
                now.update(lag=float(pathlib.Path(path).read_text()), of=at)
                print("lag", now["lag"], flush=True)
            await asyncio.sleep(0.05)
    reading = asyncio.ensure_future(read_lag())
    server = await asyncio.start_server(
        lambda r, w: connect(int(etcd_port), lag, r, w), "127.0.0.1",
        int(port))
    print("listening", flush=True)
    async with server:
        await asyncio.gather(server.serve_forever(), reading)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
