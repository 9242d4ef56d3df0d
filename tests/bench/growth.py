# SPDX-License-Identifier: Apache-2.0
"""What grows with the cluster: up to 130,000 machines."""
import contextlib
import http.client
import json
import math
import re
import signal
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from controlplane import BUILD, end, free_port, parse_metrics, tail, until
from holder import BINARY, certs
from measure import (SECONDS, alone, cpu, heading, note, peak, ratio, resident,
                     settings, turns)
from reviews import review
from sides import OWN, PACED, Folder, Part, configure, load

LARGE = settings("LARGE", "1000 10000 130000")
MIB_MAX = 128   # of deploy/base
PREFIX = "karpenter_node_holder_"


class Streamed:
    """A holder at an API server that streams so many machines."""

    def __init__(self, folder, count):
        self.folder, self.count = folder, count
        self.pair = certs(folder.path / "pair")
        self.port, self.metrics_port = free_port(), free_port()
        port = free_port()
        log = folder.path / "stream.log"
        with open(log, "ab") as out:
            self.stream = subprocess.Popen(
                [BUILD / "bin" / "bench-stream", "-port", str(port), "-count",
                 str(count)], stdin=subprocess.PIPE, stdout=out, stderr=out,
                text=True)
        folder.running.append(self.stream)
        self.log = log
        until(lambda: "serving" in log.read_text(), 10, "the stream serves")
        configure(folder.path, self.port, self.metrics_port, self.pair,
                  f"http://127.0.0.1:{port}", holdDuration="2s",
                  startupTimeout="1h", maxHoldDuration="24h")

    def start(self):
        """Seconds until it has listed all."""
        begun = time.monotonic()
        self.process = self.folder.spawn(
            "holder", [BINARY, "serve", "--config",
                       self.folder.path / "config.yaml", "--kubeconfig",
                       self.folder.path / "kubeconfig"])
        self.pid = self.process.pid
        until(self.synced, 600, lambda: "synced\n" + tail(self.process.log),
              every=0.02)
        return time.monotonic() - begun

    def synced(self):
        assert self.process.poll() is None, tail(self.process.log)
        try:
            text = subprocess.run(
                ["curl", "-s", f"http://127.0.0.1:{self.metrics_port}"
                 "/metrics"], capture_output=True, text=True).stdout
            found = parse_metrics(text)
        except ValueError:
            return False
        return found.get(PREFIX + 'objects{kind="Node"}') == self.count and \
            all(found.get(PREFIX + f'watch_up{{kind="{kind}"}}') == 1
                for kind in ("Node", "NodeClaim", "NodePool", "Event"))

    def tell(self, word):
        self.stream.stdin.write(word + "\n")
        self.stream.stdin.flush()

    def reached(self, held, since, timeout=900):
        def there():
            for line in self.log.read_text().splitlines():
                found = re.fullmatch(r"held (\d+) at ([0-9.]+)", line)
                if found and int(found[1]) == held and float(found[2]) > since:
                    return float(found[2])
            return None
        return until(there, timeout, f"{held} held", every=0.05)


def streamed(count):
    """One life at so many machines: synced, held, killed, released."""
    with Folder("bench") as folder:
        s = Streamed(folder, count)
        synced = s.start()
        time.sleep(1)
        found = {"synced": synced, "synced_cpu": cpu(s.pid),
                 "resident": resident(s.pid)}
        begun, used = time.time(), cpu(s.pid)
        s.tell("busy")
        found["held"] = s.reached(count, begun) - begun
        found["held_cpu"] = cpu(s.pid) - used
        first = peak(s.pid)
        end(s.process, signal.SIGKILL)      # and its successor knows all
        s.start()
        begun, used = time.time(), cpu(s.pid)
        s.tell("quiet")
        found["cleared"] = s.reached(0, begun) - begun
        found["cleared_cpu"] = cpu(s.pid) - used
        found["peak"] = max(first, peak(s.pid))
        return found


def large():
    """LARGE machines from an API server that streams them: CPU, memory"""
    heading("large: synced, held, killed and started again, released")
    sizes = [1] + LARGE
    found = turns(sizes, streamed)

    def each(count, what, scale):
        """What one machine takes beyond what none takes."""
        return [scale * (f[what] - base[what]) / count
                for f, base in zip(found[count], found[1])]
    for count in LARGE:
        median = found[count][len(found[count]) // 2]
        note(f"{count:,}: synced in {median['synced']:.1f} s, held in "
             f"{median['held']:.1f} s, cleared in {median['cleared']:.1f} s, "
             f"{median['peak']:.1f} MiB at most")
    for what, name, scale, unit in (
            ("resident", "memory of a machine", 2**20, " B"),
            ("synced_cpu", "CPU of a machine, to list it", 1e6, " µs"),
            ("held_cpu", "CPU of a machine, to hold it", 1e6, " µs"),
            ("cleared_cpu", "CPU of a machine, to clear it", 1e6, " µs")):
        for count in LARGE[1:]:
            ratio(f"{name}, of {count:,}", each(count, what, scale),
                  each(LARGE[0], what, scale), 1.2, less=True, unit=unit,
                  than=f"figure of {LARGE[0]:,}")
    ratio(f"CPU to clear {LARGE[-1]:,}",
          [f["cleared_cpu"] for f in found[LARGE[-1]]],
          [f["held_cpu"] for f in found[LARGE[-1]]], unit=" s",
          than="CPU to hold them")
    alone(f"memory at most with {LARGE[-1]:,}",
          [f["peak"] for f in found[LARGE[-1]]], MIB_MAX, " MiB")


def timers():
    """time of a timer's operation, by the size of the table"""
    heading("timers: a deadline is set anew, nanoseconds")

    def run(size):
        done = subprocess.run(
            [OWN / "operations", "timer", "1000000", str(size)],
            capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["ns"]
    found = turns(LARGE, run)
    for count in LARGE[1:]:
        ratio(f"time of a timer's operation, of {count:,}", found[count],
              found[LARGE[0]], math.log(count + 1) / math.log(LARGE[0] + 1),
              less=True, unit=" ns", than=f"figure of {LARGE[0]:,}")


# --- /status ----------------------------------------------------------------------

def lock_times(size):
    """{who: the CPU, in µs, for which the table's lock is held each time}"""
    done = subprocess.run(
        [OWN / "operations", "locks", "500", str(size)],
        capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        by, ns = line.split()
        found.setdefault(by, []).append(int(ns) / 1e3)
    return {by: {"p50": statistics.median(all_), "most": max(all_),
                 "p99": statistics.quantiles(all_, n=100)[98]}
            for by, all_ in found.items()}


def asked(port, path, done):
    """Asks 50 times a second, until done() is true; returns how often."""
    begun, n = time.monotonic(), 0
    while not done():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read()
        n += 1
        time.sleep(max(0, begun + n / 50 - time.monotonic()))
    return n


def status():
    """/status: how long it holds the table's lock; the webhook's p99 beside"""
    heading("status: for how long the lock is held, by size")
    found = turns(LARGE, lock_times)
    for count in LARGE:
        for what in "p50", "p99", "most":
            ratio(f"lock held by /status, {what}, of {count:,}",
                  [f["status"][what] for f in found[count]],
                  [f["patch"][what] for f in found[count]],
                  2 if what == "p99" else None, less=True, unit=" µs",
                  than="patch")
    size = LARGE[len(LARGE) // 2]
    heading(f"status: 800 reviews/s, and {size:,} machines")
    body = review(3000)
    with Folder("bench") as folder:
        s = Streamed(folder, size)
        s.start()

        def reviews(path):
            with ThreadPoolExecutor(1) as pool:
                p99 = pool.submit(lambda: load(
                    folder.path, s.port, body, 4, SECONDS, more=PACED)["p99"])
                if path:
                    n = asked(s.metrics_port, path, p99.done)
                    assert n > 20 * SECONDS, f"asked only {n} times"
                return p99.result()
        reviews(None)   # the first are slower
        sides = [None, "/livez", "/status?format=json"]
        found = turns(sides, reviews)
    for path in sides[1:]:
        ratio(f"p99 while {path.partition('?')[0]} is asked 50 times a second",
              found[path], found[None], 1.5, less=True, unit=" ms",
              than="quiet p99")


PARTS = {"large": Part(large, ("bench-stream",)), "timers": Part(timers, ()),
         "status": Part(status, ("bench-stream",))}
