# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium: make page-test.  Pictures go to $PAGE/shots."""
import pytest
from chromium import Chromium
from conftest import HOLD
from test_daemon_page import HOSTILE
from test_daemon_status import OWN, status

pytestmark = pytest.mark.browser
SIZES = {"desktop": (1100, 800), "phone": (360, 740)}
INJECT = """{
    const s = document.createElement("script");
    s.textContent = "window.ran = true";
    document.body.append(s);
    document.body.insertAdjacentHTML("beforeend",
        "<img src='x.png' onerror='window.ran = true'>");
    document.querySelector("h1").setAttribute("style", "color: red");
}"""
ASK = """fetch("status").then(() => "answered", () => "refused")"""
FRAME = """new Promise(done => {
    const f = document.createElement("iframe");
    f.onload = () => done(f.contentDocument ? "shown" : "refused");
    f.src = "/";
    document.body.append(f);
})"""


def url(holder, path="/"):
    return f"http://127.0.0.1:{holder.port('metricsPort')}{path}"


def in_each_look(chrome, address, name):
    for scheme in "light", "dark":
        for size, (width, height) in SIZES.items():
            chrome.open(address, scheme, width, height)
            chrome.is_well(f"{name}-{scheme}-{size}")


def heard(chrome):
    """[(role, name)] of what a screen reader reads."""
    nodes = chrome.call("Accessibility.getFullAXTree")["nodes"]
    return [(n["role"]["value"], n["name"].get("value"))
            for n in nodes if not n["ignored"] and "name" in n]


def a_wave(w):
    """Some holds, one of them now, people, and hostile names."""
    for n, name in enumerate(HOSTILE):
        w.api.create("nodepools", name, annotations={
            OWN + "reason": name, OWN + "hold-duration": name})
    w.api.create("nodepools", "web", annotations={
        OWN + "hold-until": w.api.stamp(3600), OWN + "reason": "an audit"})
    w.api.create("nodepools", "off", annotations={OWN + "enabled": "false"})
    for pool in "web", "batch", HOSTILE[0]:
        w.machines(5, prefix=f"{pool[1:3]}-", pool=pool)
    w.machine("mine", pool="batch", annotations={HOLD: "true"})
    holder = w.start(scope="nodepool")

    def is_now(pool, state):
        w.wait(lambda: [s["state"] for s in status(holder)["scopes"]
                        if s["name"] == pool] == [state], f"{pool} {state}")
    is_now("batch", "quiet")
    for n in range(3):
        w.busy(f"new{n}", pool="batch")
        is_now("batch", "held")
        w.stays(lambda: True, 5)
        w.quiet(f"new{n}")
        is_now("batch", "quiet")
        w.stays(lambda: True, 5)
    w.busy("newest", pool=HOSTILE[0])
    is_now(HOSTILE[0], "held")
    return holder


def test_looks(w):
    """In light and dark, on a desk and on a phone."""
    w.patches_max = 100
    holder = a_wave(w)
    with Chromium(w.dir) as chrome:
        in_each_look(chrome, url(holder, "/?last=5m"), "leader")
        # Each name is a text, and none has become an element.
        shown = chrome.run("[...document.querySelectorAll('bdi')]"
                           ".map(e => e.textContent)")
        assert set(HOSTILE[:3]) <= set(shown)
        assert chrome.run("document.scripts.length") == 0
        said = heard(chrome)
        for role, name in (("heading", "Scopes"), ("heading", "NodePools"),
                           ("rowheader", HOSTILE[0]), ("link", "newest")):
            assert (role, name) in said, said
        assert any(name and name.startswith("held once, for ")
                   for role, name in said)
        # Its links lead to the other pages.
        in_each_look(chrome, url(holder, "/status/machines/newest?format=html"),
                     "machine")
        chrome.open(url(holder, "/status?format=html"))
        chrome.is_well("status")
        chrome.run("[...document.querySelectorAll('section ul li a')]"
                   ".find(a => a.textContent == 'newest').click()")
        assert chrome.wait("Page.loadEventFired")
        assert chrome.run("location.pathname") == "/status/machines/newest"
        chrome.run("document.querySelector('main a').click()")
        assert chrome.wait("Page.loadEventFired")
        assert chrome.run("location.pathname") == "/"


def test_policy(w):
    """An injected script does not run, nothing is loaded, no other page shows
    this one in a frame, and its own style is allowed."""
    holder = w.start(watching=False)
    with Chromium(w.dir) as chrome:
        chrome.open(url(holder))
        assert chrome.run("getComputedStyle(document.body).maxWidth") == "992px"
        chrome.run(INJECT)
        assert chrome.run(ASK) == "refused"
        assert chrome.run("window.ran") is None
        assert "255, 0, 0" not in chrome.run(
            "getComputedStyle(document.querySelector('h1')).color")
        assert list(chrome.asked.values()) == [url(holder)]
        assert any("Content Security Policy" in str(p)
                   for p in chrome.problems)
        # An answer without a policy tries to show it.
        chrome.open(url(holder, "/status?format=text"))
        assert chrome.run(FRAME) == "refused"
        assert any("frame-ancestors" in str(p) for p in chrome.problems)


def test_renewal(w):
    """It renews itself, and does not if it is asked not to."""
    holder = w.start(watching=False)
    with Chromium(w.dir) as chrome:
        chrome.open(url(holder, "/?refresh=off"))
        assert not chrome.wait("Page.loadEventFired", 18)
        chrome.is_well("still")
        chrome.open(url(holder))
        assert chrome.wait("Page.loadEventFired", 30)
        assert list(chrome.asked.values()) == [url(holder)] * 2


def test_follower(w):
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "<script>_1", "leaseDurationSeconds": 3600,
        "acquireTime": w.api.stamp(-60).replace("Z", ".000000Z")})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    holder.wait_line("another leads")
    with Chromium(w.dir) as chrome:
        in_each_look(chrome, url(holder), "follower")
        assert any("The leader is" in (name or "")
                   for role, name in heard(chrome))


def test_a_thousand_nodepools(w):
    for n in range(1000):
        w.api.create("nodepools", f"pool-{n:03}")
        w.machine(f"m{n:03}", pool=f"pool-{n:03}")
    holder = w.start(scope="nodepool")
    for n in range(0, 1000, 25):
        w.busy(f"new{n}", pool=f"pool-{n:03}")
    w.wait(lambda: len(status(holder)["history"]) >= 40)
    with Chromium(w.dir) as chrome:
        chrome.open(url(holder, "/?last=1h"), "light", 360, 740)
        chrome.is_well("thousand-light-phone")
        assert "40 of 1000 scopes are held." in chrome.run(
            "document.querySelector('.v').textContent")
