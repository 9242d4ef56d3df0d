# SPDX-License-Identifier: Apache-2.0
"""The webhook alone: no API server, wrk in its place."""
import json
import ssl
import statistics
import urllib.request

from measure import (SECONDS, Spent, alone, cpu, curve, heading, note, ratio,
                     resident, setting, turns)
from reviews import review
from sides import Folder, Part, beside, handshakes, load, webhooks

SIDES = ["ours", "peer", "ceiling"]
REVIEWS = setting("REVIEWS", 1_000_000)
AWAKE = setting("AWAKE", 0, 0)  # processes that compute where nobody else does


def post(port, body):
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}/mutate", body,
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(
            request, timeout=10,
            context=ssl._create_unverified_context()) as answer:
        return answer.read()


def start(folder, names, body):
    """Starts them, and checks that ours and the peer do the same thing."""
    found = webhooks(folder, [n for n in names if n != "ceiling"])
    replies = {n: post(side.port, body) for n, side in found.items()}
    for text in replies.values():
        response = json.loads(text)["response"]
        assert response["allowed"] and response["patch"], text
    if "ceiling" in names:
        found.update(webhooks(folder, ["ceiling"], len(replies["ours"])))
    for side in found.values():
        load(folder.path, side.port, body, 4, 1)   # the first are slower
    return found


def of(found, side, what):
    return [f[what] for f in found[side]]


def under_load(folder, sides, body, connections):
    """{side: [what wrk found, and the CPU of the server for each review]}"""
    def run(name):
        with Spent(server=sides[name].pid) as spent:
            found = load(folder.path, sides[name].port, body, connections, SECONDS)
        found["rate"] = found["requests"] / found["seconds"]
        found["cpu"] = spent.cpu["server"] / found["requests"] * 1e6
        found["where"] = str(spent)
        return found
    return turns(list(sides), run)


def webhook():
    """reviews over 16 connections that stay open, at 3 KB and 20 KB"""
    for size, ceiling in ((3000, 0.7), (20000, None)):
        body = review(size)
        heading(f"webhook: 16 connections, reviews of {len(body):,} bytes")
        with Folder("bench") as folder:
            found = under_load(folder, start(folder, SIDES, body), body, 16)
        rate = {n: of(found, n, "rate") for n in SIDES}
        used = {n: of(found, n, "cpu") for n in SIDES}
        kb = f"{size // 1000} KB"
        ratio(f"reviews/s at {kb}", rate["ours"], rate["peer"], 10, unit="/s")
        ratio(f"reviews/s at {kb}", rate["ours"], rate["ceiling"], ceiling,
              unit="/s", than="ceiling")
        ratio(f"CPU per review at {kb}", used["ours"], used["peer"], 1 / 15,
              less=True, unit=" µs")
        ratio(f"CPU per review at {kb}", used["ours"], used["ceiling"],
              unit=" µs", than="ceiling")
        for name in SIDES:
            note(f"cores, with {name}: {found[name][-1]['where']}"
                 " (all else is wrk and whoever shares the machine)")


def one():
    """one connection: throughput and the distribution of latency"""
    body = review(3000)
    heading(f"one: one connection, reviews of {len(body):,} bytes"
            + (f", {AWAKE} idle cores kept awake" if AWAKE else ""))
    with Folder("bench") as folder, beside(AWAKE, "chrt", "--idle", "0"):
        found = under_load(folder, start(folder, SIDES, body), body, 1)
    for side in SIDES:
        for points in zip(*of(found, side, "percentiles")):
            curve("latency", side, points[0][0],
                  statistics.median(ms for _, ms in points))
    ratio("reviews/s on one connection", of(found, "ours", "rate"),
          of(found, "peer", "rate"), 4, unit="/s")
    ratio("reviews/s on one connection", of(found, "ours", "rate"),
          of(found, "ceiling", "rate"), unit="/s", than="ceiling")
    ratio("CPU per review on one connection", of(found, "ours", "cpu"),
          of(found, "peer", "cpu"), unit=" µs")
    ratio("p50", of(found, "ours", "p50"), of(found, "peer", "p50"),
          unit=" ms")
    ratio("our p99, by the peer's p50", of(found, "ours", "p99"),
          of(found, "peer", "p50"), 1, less=True, unit=" ms")
    ratio("our p99.9, by the peer's p99", of(found, "ours", "p999"),
          of(found, "peer", "p99"), 1, less=True, unit=" ms")
    ratio("p99.9", of(found, "ours", "p999"), of(found, "peer", "p999"),
          unit=" ms")


def connections():
    """new connections: full handshakes and resumed ones"""
    body = review(3000)
    with Folder("bench") as folder:
        sides = start(folder, SIDES, body)
        for kind in ("new", "resumed"):
            heading(f"connections: {kind}, four at a time")

            def run(name):
                with Spent(server=sides[name].pid) as spent:
                    found = handshakes(sides[name].port, SECONDS, 4, kind)
                return {"rate": found["made"] / found["seconds"],
                        "cpu": spent.cpu["server"] / found["made"] * 1e6,
                        "reused": found["reused"] / found["made"]}
            found = turns(SIDES, run)
            ratio(f"{kind} connections/s", of(found, "ours", "rate"),
                  of(found, "peer", "rate"), 2, unit="/s")
            ratio(f"CPU per {kind} connection", of(found, "ours", "cpu"),
                  of(found, "peer", "cpu"), 0.5, less=True, unit=" µs")
            ratio(f"{kind} connections/s", of(found, "ours", "rate"),
                  of(found, "ceiling", "rate"), unit="/s", than="ceiling")
            if kind == "resumed":
                for name in SIDES:
                    share = statistics.median(of(found, name, "reused"))
                    note(f"{name}: {share:.0%} were in fact resumed")


def rest():
    """resident memory at rest, before and after REVIEWS reviews"""
    body = review(3000)
    heading(f"rest: memory before and after {REVIEWS:,} reviews")
    with Folder("bench") as folder:
        sides = webhooks(folder, ["ours", "peer"])
        for side in sides.values():
            load(folder.path, side.port, body, 16, 1)
        before = {n: resident(s.pid) for n, s in sides.items()}
        done, begun = 0, cpu(sides["ours"].pid)
        while done < REVIEWS:
            done += load(folder.path, sides["ours"].port, body, 16, 10)["requests"]
        load(folder.path, sides["peer"].port, body, 16, 10)
        note(f"{done:,} reviews, {cpu(sides['ours'].pid) - begun:.0f} s of CPU")
        after = {n: resident(s.pid) for n, s in sides.items()}
    alone("resident at rest", [before["ours"], after["ours"]], 14, " MiB")
    ratio("resident after the reviews, by that before", [after["ours"]],
          [before["ours"]], 1.02, less=True, unit=" MiB", than="start")
    ratio("resident after the reviews", [after["ours"]], [after["peer"]],
          unit=" MiB")


PARTS = {f.__name__: Part(f, ("bench-webhook",))
         for f in (webhook, one, connections, rest)}
