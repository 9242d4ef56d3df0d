# SPDX-License-Identifier: Apache-2.0
"""The clock of the API server, which the daemon takes from its `Date`, when it
is missing, absurd or wrong."""
import email.utils
import time

import pytest

from checks import answers, due


def settle(w, names, holder):
    """A hold of three seconds from now on ends in time: neither earlier nor
    never.  (A time in whole seconds may be up to a second early.)"""
    w.stays(lambda: w.held(names) and not w.clears(), 0.5)
    begun = time.monotonic()
    w.ready()
    w.wait_free(names)
    assert w.clears()[0].time - begun > 1.9
    assert answers(holder)


@pytest.mark.values
@pytest.mark.parametrize("date", [
    None, "", "soon", "Thu, 99 Foo 2026 99:99:99 GMT",
    "Thu Nov 21 2026", "9" * 1000])
def test_no_date_to_go_by(w, date):
    """The daemon uses its own clock."""
    w.api.fault("*", "*", "head", headers={"Date": date})
    names = w.machines(3)
    holder = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    settle(w, names, holder)
    assert not holder.lines("API server time shifted")


# Dates that are absurd, and dates that are merely wrong, in seconds since
# 1970. The argument is the server's time.
WRONG = {"1970": lambda now: 0, "2100": lambda now: 4102444800,
         "an hour ago": lambda now: now - 3600,
         "in an hour": lambda now: now + 3600}


def wrong_date(w, resource, verb, when, **options):
    date = email.utils.formatdate(WRONG[when](w.api.now()), usegmt=True)
    w.api.fault(resource, verb, "head", headers={"Date": date}, **options)


@pytest.mark.values
@pytest.mark.parametrize("when", WRONG)
@pytest.mark.parametrize("first", ["nodes", "nodeclaims"])
def test_the_first_date_is_wrong(w, when, first):
    """A hold lasts for its time, and no longer."""
    names = due(w)
    w.claim("busy", ready=None, age=60)
    wrong_date(w, first, "list", when, times=1)
    # The other list brings the second Date.
    second = "nodes" if first == "nodeclaims" else "nodeclaims"
    w.api.fault(second, "list", "delay", times=1, seconds=0.2)
    w.api.fault(first, "watch", "delay", times=1, seconds=0.4)
    holder = w.start(hold_duration="3s", startup_timeout="20m")
    w.wait(lambda: w.held("busy", "nodeclaims") or w.clears())
    settle(w, names, holder)


@pytest.mark.values
@pytest.mark.parametrize("when", WRONG)
@pytest.mark.parametrize("verb", ["watch", "patch"])
def test_an_early_date_is_wrong(w, when, verb):
    names = due(w)
    w.busy()
    wrong_date(w, "*", verb, when, times=1)
    holder = w.start(hold_duration="3s")
    w.wait_held("busy", "nodeclaims")
    settle(w, names, holder)


@pytest.mark.values
@pytest.mark.parametrize("when", WRONG)
def test_a_wrong_date_in_a_hold(w, when):
    names = w.machines(3)
    holder = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    wrong_date(w, "*", "watch", when, times=1)
    w.api.drop_watches("nodes")
    w.wait(lambda: w.watches("nodes") == 2)
    settle(w, names, holder)


@pytest.mark.values
@pytest.mark.parametrize("when", WRONG)
def test_half_the_dates_are_wrong(w, when):
    """This is what one wrong API server of two does."""
    names = due(w)
    w.busy()
    wrong_date(w, "nodes", "*", when)
    w.api.fault("nodeclaims", "list", "delay", times=1, seconds=0.2)
    w.api.fault("nodes", "watch", "delay", times=1, seconds=0.4)
    w.start(hold_duration="3s")
    w.stays(lambda: w.held(names) and not w.clears(), 1)


@pytest.mark.parametrize("years", [-2, 70])
def test_a_clock_of_another_time(w, years):
    """The clock is wrong but agrees with itself: the stamps on objects come
    from it.  (A Date before 2024 is ignored: nobody served this API then.)"""
    w.api.clock_offset = years * 365.25 * 86400
    names = w.machines(3)
    holder = w.start(hold_duration="3s")
    w.busy()
    w.wait_held(names)
    settle(w, names, holder)
    assert holder.lines("API server time shifted")
