# SPDX-License-Identifier: Apache-2.0
"""The page: / and all that is answered in HTML (docs/status.md#the-page)."""
import base64
import hashlib
import re
import xml.etree.ElementTree as etree

import pytest
from test_daemon_status import OWN, ask, seconds, status

TYPE = "text/html; charset=utf-8"
HOSTILE = ("<script>alert(1)</script>", "\"'&amp;", "</title></style>",
           "\u05d0\u05d1\u202e\u2066x", "-->]]>", "x" * 63, "x" * 253)


def look(holder, path="/", code=200):
    """Asks for a page, and returns its head and its tree.  What all pages
    promise is checked."""
    got, head, text = ask(holder, path, Accept="text/html")
    assert (got, head["Content-Type"]) == (code, TYPE), text
    root = etree.fromstring(text)
    styles = [e.text for e in root.iter("style")]
    assert len(styles) == 1 and head["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'sha256-" + base64.b64encode(
            hashlib.sha256(styles[0].encode()).digest()).decode() +
        "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    assert head["X-Content-Type-Options"] == "nosniff"
    assert head["Referrer-Policy"] == "no-referrer"
    assert head["Cache-Control"] == "no-store"
    assert head["Connection"] == "close"
    assert not {e.tag for e in root.iter()} & {
        "script", "img", "link", "iframe", "object", "form", "base"}
    for e in root.iter():
        assert not [a for a in e.attrib
                    if a.startswith("on") or a in ("style", "src")], e.attrib
        # Behind a proxy the page is not at the root.
        if "href" in e.attrib:
            assert re.match(r"\./\?|status[/?]|#|\.\./\.\./$", e.attrib["href"]), e.attrib
    return head, root


def words(root):
    """What a reader without style and pictures gets."""
    for e in root.iter():
        if e.tag not in ("bdi", "b", "a", "time", "code"):
            e.tail = " " + (e.tail or "")
    return " ".join("".join(root.find("body").itertext()).split())


def rows(root):
    """{name: (words, classes of its boxes)} of the timeline."""
    return {li.find("span/bdi").text: (
        li.find("span/span").text,
        [r.get("class") for r in li.findall("svg/rect")])
        for li in root.iterfind(".//ol/li") if li.find("span/bdi") is not None}


def test_page(w):
    """It says what /status says, before, during and after a hold."""
    w.api.create("nodepools", "web")
    w.machines(3, pool="web")
    holder = w.start()
    w.wait(lambda: status(holder)["nodePools"])
    head, root = look(holder)
    assert head["Refresh"] == "15"
    assert words(root).startswith(
        "karpenter-node-holder All is quiet: no scope is held. 0 of 3 Nodes ")
    assert root.find("head/title").text.startswith("quiet | ")
    assert rows(root) == {"cluster": ("not held", ["u", "f"])}

    w.busy(pool="web")
    w.wait(lambda: status(holder)["nodePools"][0]["held"] == 4)
    said = status(holder)["scopes"][0]
    for path in "/", "/status?format=html", "/?last=1h":
        head, root = look(holder, path)
        stamps = [t.get("datetime") for t in root.find(".//header").iter(
            "time")]
        assert abs(seconds(stamps[0]) - seconds(said["until"])) <= 2
        assert re.match("karpenter-node-holder The scope cluster is held until "
                        r"\S+( \S+)? \(in (1h|60m|59m)\) at the earliest: "
                        "machines are booting. 3 of 3 Nodes carry the "
                        r"holder's hold, and 1 NodeClaim\.", words(root))
        assert root.find(".//section/ul/li/p[2]/a").get("href") == (
            "status/machines/busy?format=html")
        assert "web 4 4 0 0" in words(root)
        row = rows(root)["cluster"]
        assert re.match(r"held once, for \d+s, and now", row[0])
        assert row[1][-1] == "o"
    # The other pages.
    assert "m000 is held by the holder" in words(
        look(holder, "/status/machines/m000?format=html")[1])
    assert "no Node or NodeClaim" in words(
        look(holder, "/status/machines/x?format=html", 404)[1])

    w.quiet()
    w.wait(lambda: status(holder)["scopes"][0]["state"] == "quiet")
    root = look(holder)[1]
    assert rows(root)["cluster"][1] == ["u", "f", "o"]
    turns = [td.text or "".join(td.itertext())
             for td in root.iterfind(".//section/table/tbody/tr/td[2]")]
    assert [re.sub(r", held for [^ ,]+", "", t) for t in turns
            if t.startswith("cluster")] == [
        "cluster released: quiet, machine busy",
        "cluster held: scale-up, machine busy"]


def luminance(color):
    """Relative luminance, as WCAG 2 defines it."""
    digits = color[1:] if len(color) == 7 else "".join(c * 2 for c in color[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4
               for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_contrast(w, scheme):
    """Graphics stand out 3:1, text 4.5:1 (WCAG 2.2, 1.4.11 and 1.4.3)."""
    w.machines(1)
    holder = w.start()
    w.wait(lambda: status(holder).get("scopes"))
    root = look(holder)[1]
    style = root.find("head/style").text
    schemes = re.findall(r":root\{(.*?)\}", style)
    assert len(schemes) == 2 and "prefers-color-scheme:dark" in style
    at = dict(re.findall(r"--(\w+):(#\w+)", schemes[0]))
    if scheme == "dark":
        at |= re.findall(r"--(\w+):(#\w+)", schemes[1])
    rules = {name: dict(d.split(":", 1) for d in body.split(";") if ":" in d)
             for names, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style)
             for name in names.split(",")}

    def seen(value):
        """Returns how a color stands out of the page; None: it is none."""
        found = re.search(r"var\(--(\w+)\)", value or "")
        return found and contrast(at[found[1]], at["bg"])

    boxes = {r.get("class") for r in root.iterfind(".//ul[@class='k']//rect")}
    assert boxes == set("ofcpeu")
    for name in boxes:      # the edge of a box, or else all of it
        rule = rules["." + name]
        ratio = seen(rule.get("stroke")) or seen(rule.get("fill"))
        assert ratio >= 3, (name, ratio)
    for name, rule in rules.items():
        if "border-left" in rule or name in (".b", ".v.held", ".v.released"):
            ratio = max(seen(rule.get(k)) or 0
                        for k in ("border-left", "border-color", "border"))
            assert ratio >= 3, (name, ratio)
        if "color" in rule and "background" not in rule:
            assert seen(rule["color"]) >= 4.5, (name, rule)
    assert seen(rules["svg text"]["fill"]) >= 4.5
    on = rules[".b.held"]
    assert on["color"] == "var(--bg)" and seen(on["background"]) >= 4.5


def test_views(w):
    holder = w.start(watching=False)
    for query, last, still in (
            ("", "1h", False), ("?last=24h", "24h", False),
            ("?last=5m&refresh=off", "5m", True), ("?refresh=off", "1h", True),
            ("?timeout=1s", "1h", False)):
        head, root = look(holder, "/" + query)
        assert head["Refresh"] == (None if still else "15")
        assert f"The last {last}" in words(root)
        assert ("This page does not renew itself" in words(root)) == still
        links = [a.get("href") for a in root.iterfind(".//nav//a")]
        assert all(x.endswith("&refresh=off") for x in links) == still
    span = "last: expected a duration from 5m to 24h"
    for query, why in (
            ("last=4m59s", span), ("last=24h1s", span), ("last=x", span),
            ("last=-1h", span), ("refresh=on", "refresh: expected off"),
            ("refresh=", "refresh: expected a value"),
            ("format=json",
             "format: unknown, expected last=… or refresh=…")):
        head, root = look(holder, "/?" + query, 400)
        assert why in words(root) and head["Refresh"] is None
    code, head, page = ask(holder, "/", "HEAD")
    assert (code, page, head["Refresh"]) == (200, "", "15")
    assert ask(holder, "/", "POST")[0] == 405
    # What is no page has no style to allow, and is not guessed at either.
    for path in "/status?format=json", "/status?format=text", "/status/time":
        head = ask(holder, path)[1]
        assert head["X-Content-Type-Options"] == "nosniff"
        assert head["Content-Security-Policy"] is None
        assert head["Refresh"] is None


def test_hostile_names(w):
    """look() parses each page: no name leaves its element."""
    for n, name in enumerate(HOSTILE):
        w.api.create("nodepools", name, annotations={
            OWN + "reason": name, OWN + "hold-duration": name,
            OWN + "hold-until": w.api.stamp(3600 + n)})
        w.machine(f"m{n}", pool=name)
    holder = w.start(scope="nodepool")
    w.busy(pool=HOSTILE[0])
    known = w.wait(lambda: [p["name"] for p in status(holder)["nodePools"]])
    w.wait(lambda: [s for s in status(holder)["scopes"]
                    if s["name"] == HOSTILE[0] and s["state"] == "held"])
    root = look(holder)[1]
    for name in HOSTILE[:3]:
        assert name in known and name in words(root) and name in rows(root)
    assert "\u05d0\u05d1??x" in words(root)
    names = [th.find("bdi").text for th in root.iterfind(".//tbody/tr/th")]
    assert len(names) == len(known)
    root = look(holder, "/status/machines/%3Cb%3E?format=html", 404)[1]
    assert 'is called "<b>"' in words(root)


def test_who_leads(w):
    """The page of a replica that stands by: who leads, and how to reach it."""
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "<b>other-pod</b>_1", "leaseDurationSeconds": 3600,
        "acquireTime": w.api.stamp(-60).replace("Z", ".000000Z")})
    holder = w.start(watching=False, leader_election_enabled="true",
                     leader_election_namespace="holder")
    holder.wait_line("another leads")
    head, root = look(holder)
    assert ("This replica stands by and knows no machines. The leader is "
            "<b>other-pod</b>: kubectl karpenter-holder open leads to its page."
            ) in words(root)
    assert root.find("head/title").text.startswith("stands by | ")
    assert head["Refresh"] == "15" and "Waits" not in words(root)
    assert [h.text for h in root.iter("h2")] == ["This replica"]


def test_a_lead_that_was_lost(w):
    """The timeline goes on where a lead was lost and won back.  What was known
    before is longer than the second that a Date may be late by."""
    w.machine("m")
    w.api.create("leases", "karpenter-node-holder", namespace="holder", spec={
        "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 3},
        annotations={OWN + "history": "enforce cluster term=3\nsince="
                     + w.api.stamp(-120) + "\n"})
    holder = w.start(leader_election_enabled="true",
                     leader_election_namespace="holder",
                     leader_election_lease_duration="1200ms",
                     leader_election_renew_deadline="900ms",
                     leader_election_retry_period="100ms")
    w.wait(lambda: "term=4" in w.api.annotations(
        "leases", "karpenter-node-holder")[OWN + "history"])
    fault = w.api.fault("leases", "*", "403")
    holder.wait_line("lead lost, not renewed in time")
    w.api.clear(fault)
    w.wait(lambda: len(holder.lines("leading")) == 2)
    w.wait(lambda: status(holder)["scopes"], "a scope")
    root = look(holder, "/?last=5m")[1]
    unknown, = root.iterfind(".//ol/li/svg/rect[@class='u']")
    known_seconds = 3 * (100 - float(unknown.get("width").rstrip("%")))
    assert 110 < known_seconds < 240


@pytest.mark.long
def test_a_thousand_nodepools(w):
    """What is worth a look comes first, and the rest is counted."""
    for n in range(1000):
        w.api.create("nodepools", f"pool-{n:03}", annotations={
            OWN + "hold-duration": "x"} if n == 997 else None)
        w.machine(f"m{n:03}", pool=f"pool-{n:03}")
    holder = w.start(scope="nodepool")
    w.busy(pool="pool-998")
    w.wait(lambda: [t for t in status(holder)["history"]
                    if t["scope"] == "pool-998"])
    w.wait(lambda: status(holder)["views"][1]["objects"] == 1001)
    w.wait(lambda: [p for p in status(holder)["nodePools"]
                    if p["name"] == "pool-998" and p["held"]])
    code, head, text = ask(holder, "/")
    assert code == 200 and len(text) < 200000
    root = look(holder)[1]
    assert "The scope pool-998 is held until" in words(root)
    assert root.find(".//section/ul/li/h3/bdi").text == "pool-998"
    assert list(rows(root))[0] == "pool-998" and len(rows(root)) == 30
    names = [th.find("bdi").text for th in root.iterfind(".//tbody/tr/th")]
    assert names[0] == "pool-997" and len(names) == 100
    assert "pool-998" in names[:3]
    for left in "… and 980 more", "… and 970 rows more", "… and 900 more":
        assert left in words(root)
