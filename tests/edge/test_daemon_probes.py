# SPDX-License-Identifier: Apache-2.0
"""A kubelet's probes while thousands ask the metrics address for more."""
import contextlib
import os
import socket
import subprocess
import sys
import time

import pytest

import raw_client
from test_daemon_memory import crowd
from test_daemon_slow import PRODUCT


@contextlib.contextmanager
def asked(holder, n, path):
    """Another process of which so many requests are always pending."""
    process = subprocess.Popen(
        [sys.executable, raw_client.__file__, "crowd",
         str(holder.port("metricsPort")), str(n), path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        assert process.stdout.readline() == b"answered\n"
        yield
    finally:
        process.stdin.close()
        process.wait()


def probe(holder, path, timeout):
    """Seconds that it took, on a connection of its own; None if that was
    closed."""
    begun = time.monotonic()
    with contextlib.closing(socket.create_connection(
            ("127.0.0.1", holder.port("metricsPort")), timeout)) as s:
        s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
        answer = s.recv(300)
    if not answer:
        return None
    assert answer.startswith(b"HTTP/1.1 200 ")
    return time.monotonic() - begun


@pytest.mark.long
@pytest.mark.parametrize("machines,pending,timeout", [
    (2000, 250, 10),
    # At this size a kubelet's own timeout counts.
    pytest.param(60000, 4000, 1, marks=pytest.mark.huge)])
def test_probes_beside_a_crowd(w, machines, pending, timeout):
    """Whatever the crowd asks for.  "p" is a NodePool's name, which no machine
    has."""
    crowd(w, machines)
    w.program = PRODUCT
    holder = w.start()
    for path in ("/status/machines/p", "/status/machines", "/", "/metrics",
                 "/status?format=json", "/livez", "/none"):
        with asked(holder, pending, path):
            took = [probe(holder, p, timeout) for _ in range(15)
                    for p in (b"/livez", b"/readyz")]
        assert None not in took, (path, took)
        print(f"{pending} pending of {path}: probes took "
              f"{sorted(took)[15] * 1000:.0f} ms, {max(took) * 1000:.0f} at "
              "most")
