# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over a pipe."""
import base64
import fcntl
import json
import os
import pathlib
import re
import select
import subprocess
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
PAGE = pathlib.Path(os.environ.get("PAGE") or REPO / "build/page").resolve()
AXE = PAGE / "node_modules/axe-core/axe.min.js"
CHECK = """;axe.run(document, {preload: false}).then(r => r.violations.map(
    v => v.id + ": " + v.nodes.map(n => n.html + n.failureSummary)))"""
PATIENCE = 60
# What is said of a script whose page was renewed before it was done.
RENEWED = ("navigated or closed", "context was destroyed",
           "Cannot find context", "Promise was collected")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
         # Nothing but this machine is reached, whatever a page asks for.
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


def high(fd):
    """The same file under a number that Chromium does not use."""
    new = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
    os.close(fd)
    return new


class Chromium:
    """A browser with one tab.  `problems` is what its console shows, and `asked`
    has the URLs that it has asked for."""

    def __init__(self, home, *flags):
        theirs, self.out = map(high, os.pipe())
        self.into, ours = map(high, os.pipe())
        self.process = subprocess.Popen(
            ["chromium", *FLAGS, *flags, f"--user-data-dir={home}/profile",
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=(home / "chromium.log").open("wb"),
            env={"PATH": os.environ["PATH"], "HOME": str(home)},
            preexec_fn=lambda: (os.dup2(theirs, 3), os.dup2(ours, 4)),
            pass_fds=(3, 4))
        os.close(theirs)
        os.close(ours)
        self.number, self.read, self.events = 0, b"", []
        self.problems, self.asked, self.session = [], {}, None
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=tab,
                                 flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network", "Accessibility":
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)

    def message(self, timeout):
        """The next message, or None."""
        end = time.monotonic() + timeout
        while b"\0" not in self.read:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                return None
            some = os.read(self.into, 1 << 20)
            assert some, "Chromium has ended"
            self.read += some
        one, self.read = self.read.split(b"\0", 1)
        return json.loads(one)

    def keep(self, m):
        """Keeps what an event tells."""
        name, said = m.get("method"), m.get("params", {})
        self.events.append(name)
        if name == "Network.requestWillBeSent":
            self.asked[said["requestId"]] = said["request"]["url"]
        elif name == "Network.loadingFailed" and said.get("blockedReason"):
            self.asked.pop(said["requestId"], None)
        elif name == "Runtime.exceptionThrown":
            self.problems.append(said["exceptionDetails"])
        elif name == "Runtime.consoleAPICalled":
            self.problems.append(said["args"])
        elif name == "Log.entryAdded":
            self.problems.append(said["entry"])

    def call(self, method, **params):
        m = self.answer(method, **params)
        assert "error" not in m, m
        return m["result"]

    def answer(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.out, text):]
        while True:
            m = self.message(PATIENCE)
            assert m is not None, f"{method} takes too long"
            if m.get("id") == self.number:
                return m
            self.keep(m)

    def wait(self, event, timeout=PATIENCE):
        """Waits for the next such event.  Returns whether it came."""
        end = time.monotonic() + timeout
        while event not in self.events:
            m = self.message(end - time.monotonic())
            if m is None:
                return False
            self.keep(m)
        self.events.remove(event)
        return True

    def open(self, url, scheme="light", width=1100, height=800):
        """Loads the page in a window of this size, as a reader has it who
        prefers light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 600)
        del self.events[:], self.problems[:]
        self.asked.clear()
        self.call("Page.navigate", url=url)
        assert self.wait("Page.loadEventFired"), url

    def run(self, script):
        """Runs this in the page, whatever its policy is; returns its value.
        If the page renews itself meanwhile, it is run in the new one."""
        while True:
            m = self.answer("Runtime.evaluate", expression=script,
                            awaitPromise=True, returnByValue=True,
                            userGesture=True)  # a click may open a tab
            said = m.get("error", {}).get("message", "")
            if not any(words in said for words in RENEWED):
                break
            assert self.wait("Page.loadEventFired")
        assert "result" in m and "exceptionDetails" not in m["result"], m
        return m["result"]["result"].get("value")

    def says(self):
        """The text that the page shows."""
        return self.run("document.body.innerText")

    def comes_to_say(self, pattern, renewals=8):
        """The page, which renews itself, says something like that."""
        for _ in range(renewals):
            if re.search(pattern, self.says()):
                return
            assert self.wait("Page.loadEventFired"), "it does not renew itself"
        raise AssertionError(f"not {pattern!r}: {self.says()}")

    def picture(self, path):
        shot = self.call("Page.captureScreenshot",
                         captureBeyondViewport=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def is_well(self, name):
        """The page that is open looks well, and is alone all that was asked
        for."""
        self.looks_well(name)
        assert set(self.asked.values()) == {self.run("location.href")}, name

    def looks_well(self, name):
        """No error, no finding of axe, and nothing wider than its window.  Its
        picture goes to $PAGE/shots."""
        self.picture(PAGE / f"shots/{name}.png")
        assert self.problems == [], name
        found = self.run(AXE.read_text() + CHECK)
        assert found == [], (name, found)
        wide, room = self.run("[document.documentElement.scrollWidth,"
                              " document.documentElement.clientWidth]")
        assert wide <= room, name
