# SPDX-License-Identifier: Apache-2.0
"""One address before several holders: haproxy in place of kube-proxy.

Like kube-proxy, it hands each new TCP connection to a random replica, leaves
an open one where it is (conntrack), never tries again or elsewhere, and knows
of replicas only what add() and remove() tell it.  It does not look at TLS.
"""
import csv
import pathlib
import socket
import subprocess

from controlplane import REPO, end, free_port, spawn, tail, until

CONFIG = """
global
    stats socket {socket} level admin
    nbthread 1
    maxconn 8192
defaults
    mode tcp
    # who is refused is refused
    retries 0
    timeout connect 5s
    # both ends have shorter ones of their own
    timeout client 1h
    timeout server 1h
frontend service
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance random(1)
"""


class Balancer:
    def __init__(self, folder):
        subprocess.run([REPO / "tests" / "deps.sh", "haproxy"], check=True,
                       stdin=subprocess.DEVNULL)
        self.dir = pathlib.Path(folder)
        self.dir.mkdir(exist_ok=True)
        self.port = free_port()
        self.log = self.dir / "haproxy.log"
        # The path of a socket may have at most 108 bytes.
        self.socket = self.dir / "admin.sock"
        config = self.dir / "haproxy.cfg"
        config.write_text(CONFIG.format(socket=self.socket, port=self.port))
        self.process = spawn(["/usr/sbin/haproxy", "-db", "-f", config],
                             self.log)
        until(self._up, 10, lambda: "haproxy\n" + tail(self.log))

    def _up(self):
        assert self.process.poll() is None, tail(self.log)
        try:
            return self._tell("show info")
        except OSError:
            return None

    def stop(self):
        end(self.process)

    def _tell(self, *commands):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(str(self.socket))
            s.sendall("; ".join(commands).encode() + b"\n")
            answer = b""
            while piece := s.recv(1 << 16):
                answer += piece
        return answer.decode()

    def add(self, name, port):
        """New connections may go there from now on."""
        self._tell(f"add server replicas/{name} 127.0.0.1:{port}",
                   f"enable server replicas/{name}")
        assert self.up(name), f"{name} is not in"

    def remove(self, name):
        """No new connection goes there; the open ones stay."""
        self._tell(f"set server replicas/{name} state maint")
        assert not self.up(name), f"{name} is still in"

    def stats(self):
        """Returns {name: haproxy's line about it}; BACKEND is their sum."""
        text = self._tell("show stat").lstrip("# ")
        return {row["svname"]: row for row in csv.DictReader(
            text.splitlines()) if row["pxname"] == "replicas"}

    def up(self, name):
        """Is it in use?  Without health checks haproxy says "no check", or
        MAINT."""
        return not self.stats()[name]["status"].startswith("MAINT")

    def connections(self, name):
        """Returns (open connections, all that there have been)."""
        stats = self.stats()[name]
        return int(stats["scur"]), int(stats["stot"])

    def refused(self):
        """The number of connections that the chosen replica did not accept."""
        return int(self.stats()["BACKEND"]["econ"])
