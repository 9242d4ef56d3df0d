# SPDX-License-Identifier: Apache-2.0
"""What people may do while machines are held:
docs/rules.md#what-people-may-do-while-we-hold."""
import contextlib
import time

import pytest

from controlplane import CLAIMS, NODES, until
from hold import (EARLY, HOLD, LATE, MARK, SOON, annotations, claims, held,
                  nodes, seconds, without_hold)
from karpenter import HASHES, Karpenter

DURATION = 8


def change(plane, target, values):
    plane.patch(*target, {"metadata": {"annotations": values}})


class Case:
    """What one person does to one machine while everything is held.

    change: to the Node's annotations; during: what must be true of them until
    the release; after: what they are in the end, beside Karpenter's own.
    """

    def __init__(self, change, during, after, template=None):
        self.change = change
        self.during = during
        self.after = after
        self.template = template  # annotations of the NodePool's template
        self.machine = None
        self.wrong = []           # what was wrong during the hold
        self.node = self.claim = None  # annotations in the end


CASES = {
    # A person removes our mark, so the hold is theirs from now on.
    "taken over": Case({MARK: None}, lambda a: a.get(HOLD) == "true"
                       and MARK not in a, {HOLD: "true"}),
    # A person removes the hold.  It is not put back, and the mark goes at the
    # release.
    "opted out": Case({HOLD: None}, lambda a: HOLD not in a, {}),
    "false": Case({HOLD: "false"}, lambda a: a.get(HOLD) == "false",
                  {HOLD: "false"}),
    "empty": Case({HOLD: ""}, lambda a: a.get(HOLD) == "", {HOLD: ""}),
    "True": Case({HOLD: "True"}, lambda a: a.get(HOLD) == "True",
                 {HOLD: "True"}),
    # The hold was theirs from the start.  The Node got our mark on its way and
    # loses it.
    "template": Case({}, lambda a: a.get(HOLD) == "true", {HOLD: "true"},
                     template={HOLD: "true"}),
    "template false": Case({}, lambda a: a.get(HOLD) == "false",
                           {HOLD: "false"}, template={HOLD: "false"}),
    # Nobody touches this machine.
    "untouched": Case({}, lambda a: a.get(HOLD) == "true" and MARK in a, {}),
    # Other annotations may change meanwhile.
    "annotated": Case({"example.com/a": "1"}, lambda a: MARK in a
                      and a["example.com/a"] == "1", {"example.com/a": "1"}),
}


@pytest.fixture(scope="module")
def period(plane, make_module_holder):
    """All cases happen during one hold, which is then released."""
    holder = make_module_holder(holdDuration=f"{DURATION}s")
    karpenter = Karpenter(plane)

    def make(case):
        case.machine = karpenter.machine(annotations=case.template)
        if case.change:
            change(plane, (NODES, case.machine.node), case.change)
    plane.many(make, CASES.values(), 3)
    quiet_at = max(c.machine.ready for c in CASES.values()) + DURATION
    while time.time() < quiet_at - 1.5:
        seen = plane.metadata(NODES)
        if time.time() >= quiet_at - EARLY:
            break
        for case in CASES.values():
            now = annotations(seen[case.machine.node])
            if not case.during(now):
                case.wrong.append(now)
        time.sleep(0.1)

    def ended():
        now = plane.metadata(NODES)
        return all(annotations(now[c.machine.node]) == {**HASHES, **c.after}
                   for c in CASES.values())
    # The tests tell which case failed.
    with contextlib.suppress(AssertionError):
        until(ended, quiet_at + LATE - time.time(), "the release")
    time.sleep(2)
    for case in CASES.values():
        case.node = plane.annotations(NODES, case.machine.node)
        case.claim = plane.annotations(CLAIMS, case.machine.name)
    holder.stop()  # the tests below start their own holders


@pytest.mark.parametrize("name", CASES)
def test_respected(period, name):
    case = CASES[name]
    assert not case.wrong, "while held"
    assert case.node == {**HASHES, **case.after}, "after the release"
    assert case.claim == {**HASHES, **(case.template or {})}


def test_taking_over_the_claim_before_registration(
        plane, make_holder, karpenter, view):
    """Karpenter copies the claim's annotations at registration."""
    make_holder(holdDuration="6s")
    m = karpenter.claim()
    change(plane, (CLAIMS, m.name), {MARK: None})
    kept = {**HASHES, HOLD: "true"}
    assert plane.annotations(CLAIMS, m.name) == kept
    karpenter.launch(m)
    assert held(karpenter.boot(m))  # the webhook does not know the claim
    karpenter.register(m)
    karpenter.initialize(m)
    view.wait_all(nodes([m]), lambda a: annotations(a) == kept,
                  "mark dropped", m.ready + 6 + LATE - time.time())
    view.check_stays(nodes([m]), lambda a: annotations(a) == kept,
                     "left for good", m.ready + 6 + 2 - time.time())
    assert plane.annotations(CLAIMS, m.name) == kept


def test_opting_out_ends_with_the_period(plane, make_holder, karpenter, view):
    """The next scale-up holds that machine again."""
    make_holder(holdDuration="12s")
    m = karpenter.machine()
    change(plane, (NODES, m.node), {HOLD: None})
    view.wait_all(nodes([m]), lambda a: annotations(a) == HASHES,
                  "mark dropped", m.ready + 12 + LATE - time.time())
    assert time.time() > m.ready + 12 - 1
    karpenter.machine()
    view.wait_held(nodes([m]))


def test_stripping_both_is_made_good_three_times(
        plane, make_holder, karpenter, view):
    """The machine looks like a creation that was missed, until this happens
    too often."""
    holder = make_holder(holdDuration="60s")
    m = karpenter.machine()

    def wait_seen():    # waits for the hold, before it is stripped
        view.wait_held(nodes([m]))
        until(lambda: holder.metric("karpenter_node_holder_held_objects",
                                    kind="Node") == 1, SOON, "seen")
    for _ in range(3):
        wait_seen()
        change(plane, (NODES, m.node), {HOLD: None, MARK: None})
        view.wait_held(nodes([m]))
        assert without_hold(plane.get(NODES, m.node)) == HASHES
    wait_seen()
    change(plane, (NODES, m.node), {HOLD: None, MARK: None})
    view.check_stays(nodes([m]), lambda a: annotations(a) == HASHES,
                     "left alone the fourth time", 4)
    assert time.time() < m.ready + 60, "too slow to tell"


def test_hold_set_before_us(plane, make_holder, karpenter, view):
    """The hold may be on an old Node or on its claim: one object of a machine
    is enough."""
    on_node, on_claim, ours = karpenter.settled(3)
    change(plane, (NODES, on_node.node),
           {HOLD: "true", "example.com/why": "a long job"})
    change(plane, (CLAIMS, on_claim.name), {HOLD: "false"})
    make_holder(holdDuration="12s")
    view.wait_clear(nodes([ours]), 18)

    def theirs():
        return [plane.annotations(path, name) for path, name in
                nodes([on_node, on_claim]) + claims([on_node, on_claim])]
    before = theirs()

    def untouched(_):
        assert theirs() == before
    m = karpenter.machine()
    view.wait_held(nodes([ours]))
    view.check_released(nodes([ours, m]), m.ready + 12, meanwhile=untouched)


def test_marks_say_since_when(plane, make_holder, karpenter, view):
    old = karpenter.settled(1)
    make_holder(holdDuration="12s")
    view.wait_clear(nodes(old), 18)
    m = karpenter.machine()
    view.wait_held(nodes(old))
    for target in nodes(old + [m]) + claims([m]):
        at = seconds(plane.annotations(*target)[MARK])
        assert m.created - EARLY <= at <= time.time()
