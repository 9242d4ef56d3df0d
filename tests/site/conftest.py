# SPDX-License-Identifier: Apache-2.0
"""What is built under build/site or build/whatif, served from 127.0.0.1, and a
Chromium that looks at it."""
import functools
import http.server
import json
import os
import pathlib
import re
import sys
import threading
import time

sys.dont_write_bytecode = True  # leaves no cache in the source tree

import pytest  # noqa: E402

import chromium  # noqa: E402
from chromium import Chromium  # noqa: E402

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD") or REPO / "build").resolve()
chromium.PATIENCE = 300  # 100 MB on a busy computer
HOLDERCTL = BUILD / "holderctl"
LOOKS = {"desktop": (1280, 800), "phone": (360, 740)}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Visitor(Chromium):
    """A browser that keeps a record of all that its network does."""

    def __init__(self, home, folder):
        self.record = home / "network.json"
        serve = functools.partial(Quiet, directory=folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.at = f"http://127.0.0.1:{self.server.server_port}/"
        super().__init__(home, f"--log-net-log={self.record}")

    def __exit__(self, *args):
        self.server.shutdown()
        super().__exit__(*args)

    def open(self, *args, **others):
        """A first visit: the theme keeps what look a visitor had."""
        super().open("about:blank")
        self.call("Storage.clearDataForOrigin", origin=self.at.rstrip("/"),
                  storageTypes="local_storage")
        super().open(*args, **others)

    def files(self, *paths):
        """Puts these files into the page's field, as a person chooses them."""
        field = self.call("Runtime.evaluate",
                          expression="document.getElementById('files')")
        self.call("DOM.setFileInputFiles", files=[str(p) for p in paths],
                  objectId=field["result"]["objectId"])

    def until(self, script, seconds=120):
        end = time.monotonic() + seconds
        while not (got := self.run(script)):
            assert time.monotonic() < end, (script, self.says())
            time.sleep(0.05)
        return got

    def tabs(self):
        page, self.session = self.session, None
        found = self.call("Target.getTargets")["targetInfos"]
        self.session = page
        return {t["targetId"] for t in found if t["type"] == "page"}

    def follow(self, text):
        """Clicks the link that says this, and goes to the tab that it opens."""
        before, end = self.tabs(), time.monotonic() + 30
        self.run("[...document.querySelectorAll('a')].find("
                 f"a => a.textContent === {json.dumps(text)}).click()")
        while not (new := self.tabs() - before):
            assert time.monotonic() < end, f"{text}: no tab is opened"
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=new.pop(),
                                 flatten=True)["sessionId"]
        self.until("location.href !== 'about:blank'"
                   " && document.readyState === 'complete'")

    def addresses(self):
        """Every URL that a page or a worker has asked for, or that is of this
        machine; the browser, which asks for things of its own, is closed."""
        self.answer("Browser.close")
        self.process.wait(30)
        asked = re.findall(
            r'"initiator":"((?:[^"\\]|\\.)*)".*?"url":("(?:[^"\\]|\\.)*")',
            self.record.read_text())
        assert asked
        return {json.loads(url) for who, url in asked
                if who != "not an origin" or "//127.0.0.1" in url}


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    """visit(folder) opens a browser on what is built there."""
    open_ones = []

    def visit(folder):
        open_ones.append(Visitor(tmp_path_factory.mktemp("chromium"), folder))
        return open_ones[-1]
    yield visit
    for one in open_ones:
        one.__exit__()
