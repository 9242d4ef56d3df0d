# SPDX-License-Identifier: Apache-2.0
"""What-if in a real Chromium: make whatif-test.  Pictures go to $PAGE/shots."""
import datetime
import gzip
import json
import re
import subprocess
import time

import pytest

from conftest import BUILD, HOLDERCTL, LOOKS, REPO

GOLDEN = REPO / "tests/golden/karpenter"
LOGS = sorted([*GOLDEN.glob("*.json"), *GOLDEN.glob("runs/*.log")])
# What each decoder of logs was fuzzed with is a hostile log.
HOSTILE = sorted(p for name in ("karpenter", "matrix", "json", "list", "events",
                                "whole")
                 for p in (REPO / "tests/fuzz/corpus" / name).iterdir())
LOG = (GOLDEN / "runs/v1.14.1.log").read_text()
POOL = "general"
MARKUP = "<img src=http://127.0.0.1:9/leak onerror=fetch(this.src)>"
ARGUMENTS = ["-o", "json", "--hold-duration", "1m,10m", "--scope",
             "cluster,nodepool,node", "--price-per-node-hour", "0.192"]
TIMES_NATIVE = 4
DAY, HOUR = datetime.timedelta(days=1), datetime.timedelta(hours=1)

RUN = """(async () => {
    const answers = [];
    for (const one of %s)
        answers.push(await simulate(
            one.args, one.files.map(n => $("files").files[n])));
    return answers;
})()"""


@pytest.fixture(scope="module")
def chrome(visit):
    return visit(BUILD / "whatif")


def command(folder, *arguments):
    done = subprocess.run([HOLDERCTL, "simulate", *arguments], cwd=folder,
                          capture_output=True, timeout=120)
    return [done.returncode, *(text.decode("utf-8", "replace")
                               for text in (done.stdout, done.stderr))]


def page(chrome, paths, runs):
    """What the page's program says to each run, which is (arguments, numbers of
    files)."""
    chrome.files(*paths)
    # The page has begun to read them, too.
    chrome.run("latest.abort(); advising.abort()")
    said = []
    for at in range(0, len(runs), 50):
        said += chrome.run(RUN % json.dumps([
            {"args": [*args, *(paths[n].name for n in numbers)],
             "files": numbers} for args, numbers in runs[at:at + 50]]))
    return [[s["code"], s["out"], s["err"]] if "code" in s else s for s in said]


def same(chrome, paths, arguments=ARGUMENTS):
    chrome.open(chrome.at)
    said = page(chrome, paths, [(arguments, [n]) for n in range(len(paths))])
    for path, one in zip(paths, said):
        assert one == command(path.parent, *arguments, path.name), path
    return said


@pytest.mark.parametrize("more", ["json", "table", "csv", "record",
                                  "json --recommend"])
def test_golden_logs(chrome, more):
    """Byte for byte what the command prints."""
    said = same(chrome, LOGS, [*ARGUMENTS, "-o", *more.split()])
    assert sum(code == 0 for code, _, _ in said) > len(LOGS) // 2


def test_files_together(chrome, tmp_path):
    """Rotated files and replicas; one that is not there; none."""
    for name in "a.log", "b.log":
        (tmp_path / name).write_text(LOG[1000 * (name > "b"):])
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    chrome.open(chrome.at)
    runs = [(ARGUMENTS, [0, 1]), ([*ARGUMENTS, "missing.log"], [0]),
            (["--hold-duration", "x"], [0]), ([], [])]
    assert page(chrome, paths, runs) == [
        command(tmp_path, *args, *(paths[n].name for n in numbers))
        for args, numbers in runs]


def test_hostile_logs_end_in_counts(chrome, tmp_path):
    odd = {
        "empty": b"", "nul": b"\0" * 3000, "newlines": b"\n" * 300000,
        "long": b"{" * (3 << 20), "deep": b'{"a":' * 5000,
        "utf-16": LOG.encode("utf-16"), "bom": ("\ufeff" + LOG).encode(),
        "escapes": LOG.replace(
            POOL, r"\u0064\u00e9\u20ac\ud83d\ude00\n\t\"\\\/\b\f\r").encode(),
        "markup": LOG.replace(POOL, MARKUP).encode()}
    paths = []
    for name, content in odd.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content)
    said = same(chrome, [*paths, *HOSTILE])
    assert {code for code, _, _ in said} == {0, 2}


def test_gzip(chrome, tmp_path):
    """Whole, of several members, cut, and with something behind it."""
    text = (LOG * 100).encode()
    packed = gzip.compress(text)
    kinds = {"whole.gz": packed, "cut.gz": packed[:-1000], "end.gz": packed[:-4],
             "two.gz": gzip.compress(text[:999]) + gzip.compress(text[999:]),
             "head.gz": packed[:5]}
    for name, content in kinds.items():
        (tmp_path / name).write_bytes(content)
    same(chrome, [tmp_path / name for name in kinds])


def test_speed(chrome, tmp_path):
    """100 MB of log, beside the command: the better of three runs each, by
    turns."""
    log = tmp_path / "large.log"
    first, = set(re.findall(r'"time":"([0-9-]+)T', LOG))
    first = datetime.date.fromisoformat(first)
    with log.open("w") as out:
        for day in range(100_000_000 // len(LOG)):
            out.write(LOG.replace(f"{first}T", f"{first + day * DAY}T"))
    chrome.open(chrome.at)
    took = {"command": [], "page": []}
    for _ in range(3):
        start = time.monotonic()
        said = command(tmp_path, *ARGUMENTS, log.name)
        took["command"].append(time.monotonic() - start)
        start = time.monotonic()
        assert page(chrome, [log], [(ARGUMENTS, [0])]) == [said]
        took["page"].append(time.monotonic() - start)
    ratio = min(took["page"]) / min(took["command"])
    print(f"{log.stat().st_size / 1e6:.0f} MB: {took}, {ratio:.1f} times")
    assert ratio <= TIMES_NATIVE


def test_a_person_looks(chrome, tmp_path):
    """Takes the example, and then a log of his own; moves a slider; in light and
    dark, on a desk and on a phone."""
    own = tmp_path / "own.log"
    own.write_text(LOG.replace(POOL, "<b>&") + LOG.replace("2026-", "2027-"))
    decisions = json.loads(command(tmp_path, "-o", "json", own.name)[1])[
        "karpenter"]["decisions"]
    for scheme in "light", "dark":
        for look, (width, height) in LOOKS.items():
            name = f"whatif-{scheme}-{look}"
            chrome.open(chrome.at, scheme, width, height)
            chrome.looks_well(name + "-empty")
            chrome.run("$('example').click()")
            chrome.until("!$('result').hidden && $('picture').naturalWidth")
            # The answer is in sight, and the box names the file.
            assert -2 < chrome.run(
                "$('answer').getBoundingClientRect().top") < 200
            assert chrome.run("$('files').files[0].name") == "example.record.gz"
            chrome.looks_well(name)
            # The example has enough decisions for a recommendation.
            chrome.until("$('advice').textContent.startsWith("
                         "'Recommended: node ')")
            headline = chrome.run("$('headline').textContent")
            assert "that is churn" in headline and "drift" not in headline
    chrome.files(own)
    said = chrome.until(f"$('headline').textContent.includes('decided {decisions}"
                        " times') && $('command').textContent")
    # It prints the table that the page shows.
    assert command(tmp_path, *said.split()[2:])[1].strip() == \
        chrome.run("$('table').textContent")
    # Of a log of two minutes twice nothing is claimed.
    assert chrome.until("!$('little').hidden && $('little').textContent"
                        ).startswith("This log covers ")
    assert chrome.run("$('install').hidden && !$('first').hidden")
    assert chrome.run("$('drift').hidden")
    advice = chrome.run("$('advice').textContent")
    assert advice.startswith("Recommended: nothing")
    assert advice in command(tmp_path, "--recommend", own.name)[1]
    for value, hold in (0, "30s"), (11, "1h"), (7, "10m"):
        chrome.run(f"$('hold').value = {value};"
                   "$('hold').dispatchEvent(new Event('input', {bubbles: true}))")
        chrome.until(f"$('config').textContent.includes('holdDuration: {hold}')")
    assert "minScaleUp" not in chrome.run("$('config').textContent")
    chrome.run("$('grow').value = 3;"
               "$('grow').dispatchEvent(new Event('input', {bubbles: true}))")
    chrome.until("$('config').textContent.endsWith('\\nminScaleUp: 3')")
    assert chrome.problems == []


def test_what_is_recommended_is_shown(chrome, tmp_path):
    """What the command recommends, and a button that sets it."""
    hours = tmp_path / "hours.log"
    at = datetime.datetime(2026, 3, 2)
    with hours.open("w") as out:
        for hour in range(12):
            out.write(re.sub(r'"time":"[0-9-]+T08', (at + hour * HOUR).strftime(
                '"time":"%Y-%m-%dT%H'), LOG).replace("general-", f"h{hour}-"))
    said = re.search(r"^Recommended: (\w+) (\w+), max .*?\n\n", command(
        tmp_path, "--recommend", hours.name)[1], re.M | re.S)
    chrome.open(chrome.at)
    chrome.files(hours)
    assert chrome.until("!$('first').hidden && $('advice').textContent"
                        ) == said[0].strip()
    assert not chrome.run("$('follow').hidden")
    assert chrome.run("$('little').hidden && !$('install').hidden"
                      " && !$('first').hidden")
    # Decisions about drift are counted, and have no part in what is said to be
    # churn.
    drifted = hours.read_text().count('"command":"Drifted/')
    assert f" times, {drifted} of them about drift or repair. With " in \
        chrome.until("$('headline').textContent")
    one = ["--hold-duration", "5m", "--scope", "cluster"]
    all_of_it, judged = (json.loads(command(
        tmp_path, "-o", "json", *one, *more, hours.name)[1]) for more in (
            [], ["--recommend", "--max-regret", "0"]))
    judged = judged["recommendation"]
    spared = judged["regretAlone"] - judged["regretLeft"]
    assert 0 < spared < all_of_it["settings"][0]["wouldHaveWaited"]["spared"]
    assert chrome.until("$('headline').textContent").endswith(
        f"After {judged['regretAlone']} decisions about empty or underutilized "
        "nodes the same NodePool grew again within 15 minutes: that is churn, of "
        f"which waiting would have spared {spared}.")
    chrome.run("$('grow').value = 3")
    chrome.run("$('follow').click()")
    chrome.until(f"$('config').textContent.startsWith('holdDuration: {said[2]}\\n')"
                 f" && $('config').textContent.endsWith('scope: {said[1]}\\n')")


def test_drift_alone(chrome, tmp_path):
    """A log whose decisions are all about drift or repair: that is said at once,
    and nothing is advised that does not delay drift."""
    own = tmp_path / "own.log"
    text = (GOLDEN / "runs/v1.15.0.log").read_text()
    for reason, told in (
            ("Drifted/", ", always about drift or repair: these come again "
             "whatever the load does. With "),
            (r"\1", ", 4 of them about drift or repair. With ")):
        own.write_text(re.sub('(?<="command":")((?:Empty|Underutilized)/)',
                              reason, text))
        chrome.open(chrome.at)
        chrome.files(own)
        assert f"Karpenter decided 6 times{told}" in chrome.until(
            "$('headline').textContent")
        chrome.until("$('advice').textContent.startsWith('Recommended: ')")
        alone = "always" in told
        assert chrome.run("$('drift').checkVisibility()") == alone
        assert chrome.run("$('first').checkVisibility()") != alone
        assert not chrome.run("$('install').checkVisibility()")
        chrome.looks_well(f"whatif-drift-{alone}")


def test_the_verdict_comes_with_the_answer(chrome):
    """Until there is a recommendation, nothing is said to install."""
    chrome.open(chrome.at)
    chrome.run("""{
        const real = simulate;
        simulate = async (args, ...others) => {
            if (args[0] === "--recommend")
                await new Promise(go => { window.go = go; });
            return real(args, ...others);
        }; }""")
    chrome.run("$('example').click()")
    chrome.until("!$('result').hidden")
    assert chrome.run("$('advice').textContent") == \
        "Working out a recommendation …"
    assert not chrome.run("$('install').checkVisibility()"
                          " || $('config').checkVisibility()")
    chrome.looks_well("whatif-working")
    chrome.run("go()")
    chrome.until("$('advice').textContent.startsWith('Recommended: node ')")
    assert chrome.run("$('install').checkVisibility()")


def test_progress(chrome, tmp_path):
    """A small file is not said to be empty; nor is one that is packed."""
    log = LOG.encode()
    size = -(-len(log) // 1024)
    for name, content, seen in (
            ("small", log, f"{size} KiB of {size}"),
            ("packed.gz", gzip.compress(log), f"{size} KiB"),
            ("large", log + b"\n" * (5 << 20), "6 MiB of 6")):
        path = tmp_path / name
        path.write_bytes(content)
        chrome.open(chrome.at)
        chrome.run("window.seen = []; new MutationObserver(() => seen.push("
                   "$('status').textContent)).observe($('status'), "
                   "{childList: true}); 0")
        chrome.files(path)
        chrome.until("seen.at(-1)?.startsWith('Read ')")
        said = chrome.run("seen")
        assert said[0] == "Starting …" and said[-2] == f"Reading … {seen}", said


def test_a_log_is_dropped(chrome):
    chrome.open(chrome.at)
    chrome.run("""{
        const dropped = new DataTransfer();
        dropped.items.add(new File(["Dear Sir"], "dropped.log"));
        $("drop").dispatchEvent(new DragEvent(
            "drop", {dataTransfer: dropped, bubbles: true, cancelable: true})) }""")
    assert chrome.run("$('files').files[0].name") == "dropped.log"
    assert chrome.run("files[0].name") == "dropped.log"
    assert -2 < chrome.run("$('answer').getBoundingClientRect().top") < 200


def test_a_refusal_is_shown(chrome, tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Sir,\n")
    chrome.open(chrome.at)
    chrome.files(tmp_path / "letter.txt")
    chrome.until("$('status').textContent.startsWith('nothing of Karpenter')")
    assert chrome.run("$('status').className") == "error"
    assert chrome.run("$('result').hidden")
    chrome.looks_well("whatif-refusal")
    chrome.run("$('example').click()")
    chrome.until("$('status').textContent.startsWith('Read ')")
    assert chrome.run("$('status').className") == ""


def test_nothing_leaves_the_browser(visit, tmp_path):
    """A log full of addresses is read, and both the page and its worker try to
    send something: all that the browser's network does is to get the page."""
    log = tmp_path / "a.log"
    log.write_text(LOG.replace(POOL, MARKUP))
    chrome = visit(BUILD / "whatif")
    chrome.open(chrome.at)
    chrome.files(log)
    chrome.until("!$('result').hidden && $('picture').naturalWidth")
    assert chrome.problems == []
    send = """(async () => {
        const tries = [() => fetch("leak"), () => new Promise((yes, no) => {
            const x = new XMLHttpRequest(); x.onload = yes; x.onerror = no;
            x.open("GET", "leak"); x.send(); }),
          () => new Promise((yes, no) => { const s = new WebSocket(
            "ws" + "%sleak".slice(4)); s.onopen = yes; s.onerror = no; })];
        const said = [];
        for (const t of tries)
          said.push(await t().then(() => "sent", () => "refused"));
        return said; })()""" % chrome.at
    assert chrome.run(send) == ["refused"] * 3
    assert chrome.run("""new Promise(done => {
        const code = %s + ".then(said => postMessage(said))";
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage =
            e => done(e.data); })""" % json.dumps(send)) == ["refused"] * 3
    assert chrome.run("navigator.sendBeacon('leak', 'x')") in (True, False)
    assert chrome.addresses() == {
        chrome.at, *(chrome.at + name for name in (
            "engine.js", "whatif.css", "whatif.js"))}
