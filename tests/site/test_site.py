# SPDX-License-Identifier: Apache-2.0
"""The site in a real Chromium: make site-test.  Pictures go to $PAGE/shots."""
import html.parser
import re
import urllib.parse

import pytest

from conftest import BUILD, LOOKS, REPO

SITE = BUILD / "site"
LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src",
         "link": "href"}
IS_DARK = """getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
    .slice(0, 3).every(n => n < 100)"""
PAGES = sorted(p for p in SITE.rglob("*.html") if p.name != "404.html")


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs.get("id"), attrs.get("name")}
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if attrs.get(LOADS.get(tag)):
            self.loads.append(attrs[LOADS[tag]])


def name_of(page):
    return str(page.relative_to(SITE)).removesuffix("/index.html")


def target(page, href):
    """The file that a link leads to, and its anchor."""
    url = urllib.parse.urlsplit(href)
    path = SITE / url.path.lstrip("/") if url.path.startswith("/") else \
        page.parent / urllib.parse.unquote(url.path)
    path = (page if not url.path else path).resolve()
    return path / "index.html" if path.is_dir() else path, url.fragment


def test_links_and_anchors():
    """Each leads to something that is there, from every page."""
    read = {p: Page(p) for p in PAGES}
    lost, n = [], 0
    for page, has in read.items():
        for href in has.links + has.loads:
            if urllib.parse.urlsplit(href).scheme:
                continue
            n += 1
            to, anchor = target(page, href)
            if not to.is_file() or (
                    to in read and
                    urllib.parse.unquote(anchor) not in read[to].anchors):
                lost.append((name_of(page), href))
    assert lost == [] and n > 1000


def test_every_document_is_a_page():
    for folder in "docs", "docs/install":
        for doc in (REPO / folder).glob("*.md"):
            assert (SITE / folder / doc.stem / "index.html").is_file(), doc


def test_nothing_is_loaded_from_elsewhere():
    for page in PAGES:
        assert not [u for u in Page(page).loads
                    if re.match(r"(https?:)?//", u)], page
    for style in SITE.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//",
                              style.read_text()), style


@pytest.fixture(scope="module")
def chrome(visit):
    return visit(SITE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_looks(chrome, page):
    """In light and dark, on a desk and on a phone."""
    address = chrome.at + str(page.relative_to(SITE)).removesuffix("index.html")
    for scheme in "light", "dark":
        for look, (width, height) in LOOKS.items():
            chrome.open(address, scheme, width, height)
            assert chrome.run(IS_DARK) == (scheme == "dark")
            name = name_of(page).replace("/", "-")
            chrome.looks_well(f"site-{name}-{scheme}-{look}")
            assert {u for u in chrome.asked.values() if not u.startswith(
                (chrome.at, "data:", "blob:" + chrome.at))} == set()


def test_a_look_is_kept(chrome):
    """What a visitor chooses holds on the other pages, what-if among them."""
    chrome.open(chrome.at)
    chrome.until("!!document.querySelector('label[title=Dark]:not([hidden])')")
    chrome.run("document.querySelector('label[title=Dark]').click()")
    chrome.until(IS_DARK)
    for page in "docs/rules/", "try/index.html":
        chrome.run(f"location.href = '{chrome.at}{page}'")
        assert chrome.wait("Page.loadEventFired")
        assert chrome.run(IS_DARK), page


def test_a_visitor(visit, tmp_path):
    """Knows the address alone: reads whether he needs it, tries his log, and
    finds the command that installs it, with his answer still open.  No other
    host is asked."""
    chrome = visit(SITE)
    chrome.open(chrome.at)
    said = chrome.says()
    assert "Do I need it?" in said and "Karpenter's own settings first" in said
    assert chrome.run("document.querySelector('img[src*=study]').naturalWidth")
    chrome.run("[...document.querySelectorAll('a')].find("
               "a => a.textContent.includes('your own log')).click()")
    assert chrome.wait("Page.loadEventFired")
    chrome.files(REPO / "tests/golden/karpenter/runs/v1.15.0.log")
    chrome.until("!$('result').hidden")
    chrome.until("$('install').checkVisibility()"
                 " || $('little').checkVisibility()")
    chrome.follow("the trial")
    assert chrome.run("opener") is None
    said = chrome.says()
    assert "Name the image first" in said and "kubectl apply -k ../holder" in said
    assert {u for u in chrome.addresses() if not u.startswith(chrome.at)} == set()


def test_search(chrome):
    """Finds pages by a word that stands in them, and opens the first."""
    chrome.open(chrome.at)
    chrome.until("!!document.querySelector('.md-search__button')")
    chrome.run("document.querySelector('.md-search__button').click()")
    chrome.until("!!document.activeElement.shadowRoot")
    chrome.call("Input.insertText", text="maxHoldDuration")
    chrome.until("document.activeElement.shadowRoot.querySelectorAll("
                 "'a[href*=\\'/docs/\\']').length > 2")
    for kind in "keyDown", "keyUp":
        chrome.call("Input.dispatchKeyEvent", type=kind, key="Enter",
                    windowsVirtualKeyCode=13, text="\r")
    assert chrome.wait("Page.loadEventFired")
    assert "/docs/" in chrome.run("location.href")
    assert "maxHoldDuration" in chrome.says()
