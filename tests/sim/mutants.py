# SPDX-License-Identifier: Apache-2.0
"""Deliberate faults in the core, one at a time: who finds each?

    tests/sim/mutants.py [NAME... | --places]

Each is one place of src/core that reads FROM and is made to read TO.  It has
to be found by the simulator (its histories and some seeds) or, failing that,
by a unit test; one that survives is an error.  --places only looks whether
what they break is still there.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "mutants"
CFLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-I", ROOT / "include",
          "-I", ROOT / "src", "-I", ROOT / "tests",
          "-I", ROOT / "tests/sim"]
SEEDS = 2000

# name, then file, FROM, TO, once or more often
MUTANTS = [
    ("off by one in the deadline", "table/timers.c",
     "return t->used && t->deadline_ms > now_ms;",
     "return t->used && t->deadline_ms >= now_ms;"),
    ("a deadline 20 s too late", "table/timers.c",
     "return t->used && t->deadline_ms > now_ms;",
     "return t->used && t->deadline_ms + 20000 > now_ms;"),
    ("released a quarter of a minute early", "table/timers.c",
     "t->deadline_ms > now_ms;\n\n\tif (live",
     "t->deadline_ms - 15000 > now_ms;\n\n\tif (live"),
    ("startupTimeout forgotten", "controller/refresh.c",
     ": e->created_ms + s->rules.startup_ms;", ": e->created_ms;"),
    ("a machine that is deleted still counts", "controller/refresh.c",
     "return (claim != NULL && claim->deleting) ||\n"
     "\t       (node != NULL && node->deleting);",
     "return (void)claim, (void)node, false;"),
    ("spread over excluded pools", "controller/act.c", "if (terms.out) {",
     "if (0) {", "controller/refresh.c", "if (terms.uncounted || being",
     "if (being"),
    ("an excluded pool counts", "controller/refresh.c",
     "if (terms.uncounted || being", "if (being"),
    ("a pool that is disabled goes on", "table/nodepools.c",
     "nodepool->disabled ? NODEPOOL_DISABLED", "false ? NODEPOOL_DISABLED",
     "base/nodepool.c", "if (p->disabled)", "if (0)"),
    ("a static pool goes on", "table/nodepools.c",
     "nodepool->inert  ? NODEPOOL_INERT", "false ? NODEPOOL_INERT",
     "base/nodepool.c", "if (!p->inert)", "if (1)"),
    ("a static pool counts", "table/nodepools.c",
     "nodepool->inert  ? NODEPOOL_INERT", "false ? NODEPOOL_INERT"),
    ("the webhook holds a static pool", "base/nodepool.c",
     "if (!p->inert)", "if (1)"),
    ("hold-until does not hold a static pool", "base/nodepool.c",
     "return p->hold_until_ms != STAMP_NONE ? p->hold_until_ms : INT64_MIN;",
     "return INT64_MIN;"),
    ("hold-until stands above enabled", "base/nodepool.c",
     "if (p->disabled)\n\t\treturn INT64_MIN;",
     "if (p->disabled)\n\t\treturn p->hold_until_ms;"),
    ("a static pool that is held by hand is told of its scope",
     "controller/controller_nodepools.c",
     "out->out = terms.uncounted;", "out->out = terms.out;"),
    ("a released-at is missing on a static pool",
     "table/nodepools.c",
     "if (uncounted(p->rules, mine->name, mine) != NODEPOOL_IN)",
     "if (nodepool_alone_ms(mine) <= p->ms)"),
    ("deletions in a static pool have substitutes",
     "controller/replacements.c", "nodepool, now_ms).uncounted)",
     "nodepool, now_ms).out)"),
    ("a machine of a static pool is a substitute", "controller/refresh.c",
     "if (claim != NULL && !terms.uncounted)",
     "if (claim != NULL && !terms.out)"),
    ("a change of the spec is not noticed",
     "controller/controller_nodepools.c", "a->inert == b->inert &&", ""),
    ("a fresh list does not look at the generation",
     "controller/controller_nodepools.c",
     "return known->generation != p->generation ||", "return"),
    ("a fresh list does not look at the uid",
     "controller/controller_nodepools.c",
     "known->generation != p->generation ||\n"
     "\t       strcmp(known->uid, p->uid) != 0;",
     "known->generation != p->generation;"),
    ("metadata empties the spec", "base/nodepool.c",
     "p->inert = known->inert;", ";"),
    ("the spec of another pool with the same name stays",
     "base/nodepool.c", "strcmp(known->uid, p->uid) == 0)", "1)"),
    ("a spec that a watch is about to show is taken as known",
     "controller/controller_nodepools.c",
     "if (respecified && was_shown(s, known))", "if (0)"),
    ("a spec that nobody can see stops every release",
     "controller/controller_nodepools.c",
     "if (respecified && was_shown(s, known))", "if (respecified)"),
    ("hold-until ends with the scope", "controller/act.c",
     "if (terms.until_ms == STAMP_NONE &&\n\t    !timers_scope_held(&s->timers, head))",
     "if (!timers_scope_held(&s->timers, head))"),
    ("released-at counts before its time", "table/nodepools.c",
     "return nodepool->released_at_ms <= now_ms ? nodepool->released_at_ms",
     "return 1 ? nodepool->released_at_ms"),
    ("released-at ends what is created after", "controller/refresh.c",
     "if (e->created_stamp_ms < terms->released_ms) {",
     "if (terms->released_ms != STAMP_NONE) {"),
    ("the end of hold-until is not noticed", "controller/controller_nodepools.c",
     "while ((p = nodepools_turned(&s->nodepools, now.server_ms)) != NULL)",
     "while ((p = nodepools_turned(&s->nodepools, now.server_ms)) != p)"),
    ("replacements count", "controller/replacements.c",
     "return ignores(r) && claim->replaces != 0;",
     "return (void)r, (void)claim, false;"),
    ("who is undecided counts", "controller/refresh.c", "} else if (until > now_ms) {",
     "} else if (0) {"),
    ("undecided for ever without a launch", "controller/replacements.c",
     "claim->seen_ms + UNDECIDED_MAX_MS, launched;",
     "claim->seen_ms + 100 * UNDECIDED_MAX_MS, launched;"),
    ("a hold ends while one is undecided", "table/scopes.c",
     "((s->busy || s->was_busy) && s->undecided > 0);", "0;"),
    ("a hold ends with the lead while one is undecided", "table/scopes.c",
     "((s->busy || s->was_busy) && s->undecided > 0);",
     "(s->busy && s->undecided > 0);"),
    ("an Event that comes first is forgotten", "controller/replacements.c",
     "disruption_events_put(&r->disruption_events, claim_uid, reason);", ""),
    ("a pool's own cap is not its scope's", "table/scopes.c",
     "if (ts->kind != SCOPE_NODEPOOL || s->max_ms == max_ms)", "if (1)"),
    ("released without a fresh list", "controller/release.c",
     "if (r->done_boot_ms >= r->due_boot_ms[id])",
     "(void)id;\n\tif (r->done_boot_ms >= 0)"),
    ("the first that waits for a fresh list waits on", "controller/release.c",
     "if (id < r->waits_from)\n\t\tr->waits_from = id;", ""),
    ("the last that waits for a fresh list waits on", "controller/release.c",
     "r->waits_to = id + 1;", "r->waits_to = id;"),
    ("no unread claim is ever gone", "controller/unread.c",
     "u->n += u->at[id] == 0;", "(void)id;"),
    ("an unseen claim does not stop a release", "controller/fresh.c",
     "release_unknown(&s->release);\n\tif (id == NO_ID && v->skipped)",
     "if (id == NO_ID && v->skipped)"),
    ("a stale unready claim does not stop a release", "controller/fresh.c",
     "return e->ready_ms == STAMP_NONE &&\n"
     "\t       !machines_rv_is(&s->machines, e, claim->rv);",
     "return false;"),
    ("cleared without a test of the version while it registers",
     "table/machines.c", "return e->mark == MARK_TIME && !joining;",
     "return (void)joining, e->mark == MARK_TIME;"),
    ("the mark goes and the hold stays", "rules/decide.c",
     "struct decision d = {.act = ACT_CLEAR, .on = on, .release = true};",
     "struct decision d = {.act = ACT_UNMARK, .on = on, .release = true};"),
    ("a mark alone never goes", "rules/decide.c",
     "(h->tenure == TENURE_OURS || h->tenure == TENURE_YIELDED);",
     "h->tenure == TENURE_OURS;"),
    ("what is being deleted is written to", "controller/act.c",
     "if ((claim != NULL && claim->deleting) ||\n"
     "\t    (node != NULL && node->deleting))\n\t\treturn GOAL_LEAVE;", ""),
    ("stripped and held again, without end", "controller/act.c",
     "h.spent = w->reholds >= REHOLDS_MAX;", "h.spent = false;"),
    ("after a 429 nobody waits", "controller/writes.c",
     "if (until > ws->paused_boot_ms)", "if (0)"),
    ("the class is never written", "controller/act.c",
     "if (claim == NULL || c->busy || claim->classed ||", "if (1 ||"),
    ("a full table never asks for the rest", "controller/views.c",
     "\t\tw->wants_list = true;", ""),
    ("what has no room for its names stays as it was", "controller/seen.c",
     "controller_drop(s, old, now); /* it is out of date */", ";"),
    ("a full table is not counted", "controller/seen.c",
     "v->full = true;\n\t\tcounter_add(s->counters, COUNTER_TABLE_FULL);",
     "v->full = true;"),
    ("a late word of a former Node", "controller/seen.c",
     "if (id == NO_ID || !machines_is(&s->machines, id, o))\n"
     "\t\treturn;", "if (id == NO_ID)\n\t\treturn;"),
    ("a template's hold is not seen", "rules/decide.c",
     "return on == KIND_NODE || !other->registered;", "return false;"),
    ("a person who opted out is held again", "rules/decide.c",
     "if (d.act != ACT_NONE || decide_person(claim, node))",
     "if (d.act != ACT_NONE)"),
    ("a 410 is answered by another watch", "protocol/reflect.c",
     "case REFLECT_EXPIRED:\n\t\treflect_restart(r);",
     "case REFLECT_EXPIRED:"),
    ("a leader that could not renew leads on", "protocol/lease.c",
     "return l->leading && boot_ms < end_ms(l);", "return l->leading;"),
    ("a Lease is taken before its time", "protocol/lease.c",
     "boot_ms < l->seen_ms + (int64_t)l->seen.duration_s * 1000;",
     "boot_ms < l->seen_ms + 1000;"),
    ("a new lead begins with the old table", "controller/seen.c",
     "\t\tif (s->machines.at[id].used)\n\t\t\tcontroller_drop(s, id, now);",
     "\t\t(void)now;"),
    # own deadlines
    ("a deadline a second too late", "controller/deadline.c",
     "int64_t ms = active_ms + t->hold_ms;",
     "int64_t ms = active_ms + t->hold_ms + 1000;"),
    ("an own deadline beyond the cap", "controller/deadline.c",
     "if (max_ms > 0 && ms > created_ms + max_ms)", "if (0)"),
    ("an own deadline's cap from when it is ready", "controller/deadline.c",
     "ms = created_ms + max_ms;", "ms = active_ms + max_ms;"),
    ("a pool's own cap counts in scope cluster", "controller/deadline.c",
     "int64_t max_ms =\n"
     "\t\trules->scope == SCOPE_CLUSTER ? rules->cap.max_ms : t->max_ms;",
     "int64_t max_ms = t->max_ms;"),
    ("the 5 s of a claim without condition forgotten", "controller/replacements.c",
     ": claim->created_ms + LAUNCH_GRACE_MS;", ": COUNTS_ALWAYS;"),
    ("an unlaunched claim never counts", "controller/replacements.c",
     "return claim->launch_known ? STAMP_NONE\n"
     "\t\t\t\t   : claim->created_ms + LAUNCH_GRACE_MS;",
     "return STAMP_NONE;"),
    ("a claim that fails to launch counts", "controller/replacements.c",
     "return claim->launch_known ? STAMP_NONE", "return 0 ? STAMP_NONE"),
    ("a Node without a claim moves its scope", "controller/refresh.c",
     "return views_claimless(&s->views) ? COUNTS_ALWAYS : STAMP_NONE;",
     "return COUNTS_ALWAYS;"),
    ("without the CRD no Node is a machine", "controller/refresh.c",
     "return views_claimless(&s->views) ? COUNTS_ALWAYS : STAMP_NONE;",
     "return STAMP_NONE;"),
    ("a stamp ahead is believed", "table/machines.c",
     "e->created_ms = no_later(o->created_ms, seen_ms);",
     "e->created_ms = o->created_ms;"),
    ("a ready stamp ahead is believed", "table/machines.c",
     "e->ready_ms = no_later(o->ready_ms, seen_ms);",
     "e->ready_ms = o->ready_ms;"),
    ("a former Node of the same name stays", "table/machines.c",
     "if (id != NO_ID && !machines_is(m, id, o)) {",
     "if (0) {", "controller/seen.c",
     "(!o->karpenter || !machines_is(&s->machines, old, o))) {",
     "!o->karpenter) {"),
    # the cap
    ("the cap is ignored", "rules/cap.c",
     "cap_debt_ms(c, r, boot_ms) >= r->max_ms;", "0;"),
    ("the cap comes half a minute early", "rules/cap.c",
     "cap_debt_ms(c, r, boot_ms) >= r->max_ms;",
     "cap_debt_ms(c, r, boot_ms) + 30000 >= r->max_ms;", "rules/cap.c",
     "return c->at_ms + r->max_ms - c->debt_ms;",
     "return c->at_ms + r->max_ms - c->debt_ms - 30000;"),
    ("in the window all stay held", "rules/cap.c",
     "(r->max_ms == 0 || !(window || opens));", "true;"),
    ("the window is twice as long", "rules/cap.c",
     "c->window_ms = r->window_ms;", "c->window_ms = 2 * r->window_ms;"),
    ("after the window the debt stands", "rules/cap.c",
     "return cap_window_ms(c, boot_ms) > 0 ? c->debt_ms : 0;",
     "return c->debt_ms;"),
    ("the debt never shrinks", "rules/cap.c",
     "return c->debt_ms > paid ? c->debt_ms - paid : 0;",
     "return paid < 0 ? 0 : c->debt_ms;"),
    ("the debt shrinks a second a second", "rules/cap.c",
     "paid = scaled(past, r->max_ms, r->window_ms);", "paid = past;"),
    ("a break forgives all", "rules/cap.c",
     "if (past >= r->window_ms)\n\t\treturn 0;",
     "if (past > 0)\n\t\treturn 0;"),
    ("the debt shrinks while nothing can be released", "rules/cap.c",
     "if (!c->usable)\n\t\treturn c->debt_ms;", ""),
    ("the window runs while the view is down", "rules/cap.c",
     "int64_t past = c->usable ? boot_ms - c->at_ms : 0;",
     "int64_t past = boot_ms - c->at_ms;"),
    ("a lowered cap leaves the debt", "rules/cap.c",
     "if (!held)\t/* a lowered cap */", "if (0)"),
    ("time is always usable", "controller/advance.c",
     "timers_usable(&s->timers, views_complete(&s->views));",
     "timers_usable(&s->timers, true);"),
    ("a changed cap settles nothing", "table/scopes.c",
     "cap_settle(&s->cap, &r, boot_ms);\n\ts->max_ms = max_ms;",
     "s->max_ms = max_ms;"),
    ("released-at leaves the debt", "table/scopes.c",
     "if (!cap_limit(&s->cap, &r, since > 0 ? since : 0, now.boot_ms))\n"
     "\t\treturn;", "if (since != INT64_MIN)\n\t\treturn;"),
    ("released-at leaves the window open", "table/scopes.c",
     "s->cap.debt_ms = s->cap.window_ms = 0;", ""),
    ("a released-at of before ends the window", "table/scopes.c",
     "if (released_ms > s->released_ms &&\n"
     "\t    released_ms > s->opened_ms - s->max_ms) {", "if (1) {"),
    ("a released-at that was there ends the window", "table/scopes.c",
     "released_ms > s->opened_ms - s->max_ms) {", "1) {"),
    ("a pool without released-at does not matter", "table/nodepools.c",
     "if (uncounted(p->rules, mine->name, mine) != NODEPOOL_IN)",
     "if (uncounted(p->rules, mine->name, mine) != NODEPOOL_IN ||\n"
     "\t    released_ms(mine, p->ms) == STAMP_NONE)"),
    ("the latest released-at counts", "table/nodepools.c",
     "heap_set(&p->released, i, released_ms(mine, p->ms));",
     "heap_set(&p->released, i, -released_ms(mine, p->ms));", "table/nodepools.c",
     "return heap_top(&p->released, &i, &at) ? at : STAMP_NONE;",
     "return heap_top(&p->released, &i, &at) ? -at : STAMP_NONE;"),
    # minScaleUp
    ("minScaleUp is one too many", "table/timers.c",
     "t->enough = near >= ts->min_scale_up;",
     "t->enough = near > ts->min_scale_up;"),
    ("a next try has its own age only", "table/timers.c",
     "near += neighbours_first(ts, t, n, &again);", "(void)again;"),
    ("a next try is of its first age only", "controller/refresh.c",
     ".created_ms = e->created_ms,\n\t\t.first_ms",
     ".created_ms = entry_tried_ms(e),\n\t\t.first_ms"),
    ("what was released is tried again", "controller/retries.c",
     "timers_at(t->timers, timer_of(t, r))->used;", "1;"),
    ("a clock is not looked at before a lead begins", "controller/controller.c",
     "now = controller_steady(s, now);\n"
     "\tif (controller_begins(s, now, &t.wait_ms))\n\t\treturn t;",
     "if (controller_begins(s, now, &t.wait_ms))\n\t\treturn t;\n"
     "\tnow = controller_steady(s, now);"),
    ("minScaleUp is ignored", "table/timers.c",
     "if (!t->counted || ts->min_scale_up <= 1)", "if (1)", "table/timers.c",
     "ts->min_scale_up > 1 &&\n", "0 &&\n"),
    ("minScaleUp looks back only", "table/timers.c",
     "all[ts->order[*end]].created_ms <=\n"
     "\t\t\t\t   t->created_ms + t->hold_ms)",
     "all[ts->order[*end]].created_ms <=\n"
     "\t\t\t\t   t->created_ms)"),
    ("minScaleUp counts live ones only", "table/timers.c",
     "if (t->counted)\n\t\t\tts->order[n++]",
     "if (t->counted && t->deadline_ms > now_ms)\n\t\t\tts->order[n++]",
     "table/timers.c",
     "set_live(ts, t, now_ms);\n\tif (undecided",
     "set_live(ts, t, now_ms);\n\tif (t->scope != NO_SCOPE)\n"
     "\t\tscope_changed(ts, t->scope);\n\tif (undecided"),
    ("who leaves is still counted", "table/timers.c",
     "if (t->counted)\n\t\t\tscope_changed(ts, t->scope);", ""),
    # soft state
    ("the soft state is not read", "controller/soft.c",
     "restore_scope(s, &k, renewed_ms, now);", "(void)restore_scope;"),
    ("a window is not restored", "controller/soft.c",
     "return duration_parse(value, &k->cap.window_ms);", "return 0;"),
    ("a debt is not restored", "controller/soft.c",
     "return duration_parse(value, &k->cap.debt_ms);", "return 0;"),
    ("held is restored as idle", "controller/soft.c",
     "k->course = COURSE_HELD;", "k->course = COURSE_IDLE;"),
    ("idle is restored as held", "controller/soft.c",
     "k->course = COURSE_IDLE;", "k->course = COURSE_HELD;"),
    ("idle is written as held", "controller/soft.c",
     'sc->cap.usable ? "idle"', 'sc->cap.usable ? "held"'),
    ("held is written as idle", "controller/soft.c",
     'sc->cap.grows ? "held"', 'sc->cap.grows ? "idle"'),
    ("nobody led while nobody led", "controller/soft.c",
     "cap_settle(&k->cap, r, k->cap.grows ? now.server_ms : until);",
     "cap_settle(&k->cap, r, now.server_ms);"),
    ("while nobody led nothing was held", "controller/soft.c",
     "cap_settle(&k->cap, r, k->cap.grows ? now.server_ms : until);",
     "cap_settle(&k->cap, r, until);"),
    ("the renewTime is ignored", "controller/soft.c",
     "renewed_ms > k->at_ms ? renewed_ms : k->at_ms;", "k->at_ms;"),
    ("of two debts the smaller", "table/scopes.c",
     "else if (left->debt_ms > c->debt_ms)",
     "else if (left->debt_ms < c->debt_ms)"),
    ("what was held grows no more", "table/scopes.c",
     "c->grows = c->grows || left->grows;", "", "table/scopes.c",
     "s->was_busy && !ts->seen,", "false,"),
    ("what was held grows for ever", "table/scopes.c",
     "ts->scopes[i].was_busy = false;", ""),
    # history
    ("what a leader left held is not released", "controller/turns.c",
     "is_held(s, t.scope))", "is_held(s, t.scope) + 1)"),
    ("a hold begins anew with each leader", "controller/turns.c",
     "if (n > 0 && n <= s->turns_before && last.what == what) {",
     "if (0) {"),
    ("a leader without a text leaves no gap", "controller/journal_text.c",
     "read_end(text, now_ms, l) == 0 && follows;",
     "read_end(text, now_ms, l) == 0;"),
    ("a turn may be of the future", "controller/journal_text.c",
     "return ms > now_ms + AHEAD_MS || ms", "return ms"),
    ("a hold by hand has no end", "controller/turns.c",
     "if (held && was.until_ms <= now.server_ms) {", "if (0) {"),
    ("a release by hand is told again and again", "controller/turns.c",
     "t.until_ms == p->released_at_ms &&", "0 &&"),
    ("what the text has is told again", "controller/turns.c",
     "(held && !releases && is_same_hold(&was, p))", "0"),
    ("a label-less scope is the cluster's", "controller/soft.c",
     "return sc->name[0] != '\\0' ? sc->name : UNLABELLED_NAME;",
     "return sc->name[0] != '\\0' ? sc->name : CLUSTER_NAME;"),
    ("soft state of another kind of scope is ours", "controller/soft.c",
     "cluster == (s->rules.scope == SCOPE_CLUSTER);", "true;"),
    ("another scope begins without a debt", "controller/soft.c",
     "if (most.at_ms != STAMP_NONE)", "if (0)"),
    ("the first NodePool stands for the cluster", "controller/soft.c",
     "k.cap.debt_ms > most.cap.debt_ms)", "0)"),
    ("the last NodePool stands for the cluster", "controller/soft.c",
     "k.cap.debt_ms > most.cap.debt_ms)", "1)"),
    ("NodePools seen later begin without the cluster's debt",
     "table/scopes.c", "if (ts->left_at_ms != STAMP_NONE && !ts->seen)",
     "if (0)"),
    ("NodePools seen before have none of the cluster's debt",
     "table/scopes.c", "for (uint32_t i = 0; i < ts->scopes_top; i++)\n"
     "\t\ttimers_restore(", "for (uint32_t i = 0; i < 0; i++)\n"
     "\t\ttimers_restore("),
    ("a NodePool that is new has the cluster's debt", "table/scopes.c",
     "if (ts->left_at_ms != STAMP_NONE && !ts->seen)",
     "if (ts->left_at_ms != STAMP_NONE)"),
    ("the soft state is written once", "table/scopes.c",
     "ts->changed = ts->changed || !same_cap(&before, &s->cap);", ""),
    # clocks
    ("a shift of the clock is not followed", "controller/steady.c",
     "machines_shift(&s->machines, by_ms);", ""),
    ("a shift of a second and a half is one", "controller/steady.c",
     "if (by_ms >= CLOCK_SHIFT_MS || by_ms <= -CLOCK_SHIFT_MS)",
     "if (by_ms >= 1500 || by_ms <= -1500)"),
    ("a clock set back is not followed", "controller/steady.c",
     "if (by_ms >= CLOCK_SHIFT_MS || by_ms <= -CLOCK_SHIFT_MS) {",
     "if (by_ms >= CLOCK_SHIFT_MS) {"),
    ("server time may go back", "controller/steady.c",
     "s->last_ms - now.server_ms < CLOCK_SHIFT_MS)\n"
     "\t\t\tnow.server_ms = s->last_ms;",
     "s->last_ms - now.server_ms < CLOCK_SHIFT_MS)\n\t\t\t;"),
    ("small shifts add up", "controller/steady.c",
     "s->ahead_ms = ahead_ms;\n\t\tshift(s,", "shift(s,"),
    ("drift is followed as fast as it goes", "controller/steady.c",
     "int64_t most_ms = (boot_ms - s->slewed_boot_ms) / 1000;",
     "int64_t most_ms = (boot_ms - s->slewed_boot_ms) * 1000;"),
    ("failed boots do not move with the clock", "controller/steady.c",
     "retries_shift(&s->replacements.retries, by_ms);", ""),
    ("ready moves, created does not", "table/machines.c",
     "shift(&e->created_ms, by_ms);", ""),
    # replacements
    ("an Event is believed without a disruption", "controller/replacements.c",
     "!after_disruption(r, e, DISRUPTION_EVENT_MS))", "0)"),
    ("an Event is believed within 10 s only", "controller/replacements.c",
     "!after_disruption(r, e, DISRUPTION_EVENT_MS))",
     "!after_disruption(r, e, DISRUPTION_MS))"),
    ("a claim is its own disruption", "controller/replacements.c",
     "(d->several ||\n\t\t     !machines_uid_is(r->machines, claim, d->uid)))", "1)"),
    ("a disruption seen late changes nothing", "controller/seen.c",
     "look_back(s, o->disrupted_ms, now.server_ms);", "(void)look_back;"),
    ("the class on the claim is not read", "controller/replacements.c",
     "machines_set_replaces(r->machines, e, o->replaces);", "(void)o;"),
    ("an Event stands above the class", "controller/replacements.c",
     "if (e->replaces == 0 ||\n"
     "\t    strcmp(machines_replaces(r->machines, e), DISRUPTION_UNKNOWN) == 0)",
     "if (1)"),
    ("an ignored Event is not counted", "controller/replacements.c",
     "counter_add(r->counters, COUNTER_DISRUPTION_EVENTS_IGNORED);", ""),
    ("what was said survives the lead", "controller/replacements.c",
     "disruption_events_forget(&r->disruption_events);", ""),
    ("disruptions survive the lead", "controller/replacements.c",
     "r->disruptions_n = 0;", ""),
    ("a lead goes by the clock of an old look", "controller/seen.c",
     "s->last_ms = STAMP_NONE;\n\t(void)controller_steady(s, now);", ";"),
    ("undecided for a second after the launch", "controller/replacements.c",
     "launched + UNDECIDED_MS < until)\n\t\tuntil = launched + UNDECIDED_MS;",
     "launched + UNDECIDED_MS < until)\n\t\tuntil = launched + 1000;"),
    ("before the first list everybody counts", "controller/replacements.c",
     "if (!claim->judged && !views_settled(r->views))\n\t\treturn COUNTS_LATER;",
     ""),
    # substitutes
    ("a substitute counts", "controller/replacements.c",
     "deletions_put(&r->deletions, uid, nodepool, deleted_ms);", ";"),
    ("one deletion has many substitutes", "controller/replacements.c",
     "deletions_spend(&r->deletions, d->uid);", "", "controller/replacements.c",
     "deletions_spend(&r->deletions,\n"
     "\t\t\t\t\tsubstitutes(o->replaces));\n\t}", ";\n\t}"),
    ("a class of an earlier lead spends nothing", "controller/replacements.c",
     "if (e->classed && of != NULL)\n"
     "\t\t\tdeletions_spend(&r->deletions, of);\n\t\telse if",
     "if", "controller/replacements.c",
     "if (substitutes(o->replaces) != NULL)\n"
     "\t\t\tdeletions_spend(&r->deletions,\n"
     "\t\t\t\t\tsubstitutes(o->replaces));\n\t}", "}"),
    ("a consolidated machine has a substitute", "controller/replacements.c",
     "if (e->disrupted ||\n\t    ", "if ("),
    ("a failed boot has a substitute", "controller/replacements.c",
     "if (e->ready_ms == STAMP_NONE &&", "if (0 &&"),
    ("a substitute may come after an hour", "controller/deletions.c",
     "age > DRAINING_MS)", "age > 3600000)", "controller/deletions.c",
     "return created_ms <= it->until_ms ||",
     "return age <= 3600000 ||"),
    ("a substitute has to come in ten seconds", "controller/deletions.c",
     "return created_ms <= it->until_ms ||", "return age <= 10000 ||"),
    ("a long drain has no substitute", "controller/deletions.c",
     "it->gone_ms == STAMP_NONE ||", "0 ||", "controller/deletions.c",
     "it->gone_ms >= created_ms;", "0;"),
    ("who has drained is still draining", "controller/replacements.c",
     "deletions_gone(&r->deletions, uid, now_ms);", ";"),
    ("any pool's deletion will do", "controller/deletions.c",
     "if (a_own != b_own)\n\t\treturn a_own;", ""),
    ("another pool's deletion never does", "controller/deletions.c",
     "(scope != SCOPE_CLUSTER &&\n\t\t     strcmp(it->nodepool, nodepool) != 0))",
     "strcmp(it->nodepool, nodepool) != 0)"),
    ("another scope's deletion does", "controller/deletions.c",
     "(scope != SCOPE_CLUSTER &&\n\t\t     strcmp(it->nodepool, nodepool) != 0))", "0)"),
    ("judged before it is launched", "controller/replacements.c",
     "counts_ms == STAMP_NONE || counts_ms > now_ms ||\n"
     "\t    undecided_ms > now_ms)", "undecided_ms > now_ms)"),
    ("judged anew at each line", "controller/replacements.c",
     "claim->judged = true;", ""),
    ("deletions survive the lead", "controller/replacements.c",
     "deletions_forget(&r->deletions);", ""),
    ("a list is judged as it comes", "controller/replacements.c",
     "if (!claim->judged && !views_settled(r->views))",
     "if (!claim->judged && !r->views->at[KIND_NODECLAIM].listed)"),
    # failed boots
    ("a failed boot releases its scope", "controller/replacements.c",
     "retries_put(&r->retries, e, deleted_ms, now_ms);", ";"),
    ("a failed boot counts for an hour", "controller/retries.c",
     ".until_ms = deleted_ms + RETRY_MS,",
     ".until_ms = deleted_ms + 60 * RETRY_MS,"),
    ("the next try ends nothing", "controller/replacements.c",
     "retries_take(&r->retries, claim, now_ms);", ";"),
    ("any launch is the next try", "controller/retries.c",
     "claim->created_stamp_ms < r->deleted_stamp_ms - STAMPS_MS ||",
     "0 ||"),
    ("a failed launch counts as a failed boot", "controller/replacements.c",
     "if (counted(r, e, now_ms))", "if (counted(r, e, now_ms) || 1)"),
    ("failed boots survive released-at", "controller/retries.c",
     "r->created_stamp_ms < terms.released_ms ||", ""),
    ("failed boots of a disabled pool count", "controller/retries.c",
     "else if (terms.uncounted || r->created", "else if (r->created"),
    ("failed boots of a static pool count", "controller/retries.c",
     "else if (terms.uncounted || r->created",
     "else if (terms.out || r->created"),
    # the view, and fresh lists
    ("cleared on half a view", "controller/views.c",
     "(!v->at[k].listed || !v->at[k].up))",
     "(!v->at[k].listed && !v->at[k].up))"),
    ("the NodeClaims need not be listed", "controller/views.c",
     "if (k != KIND_EVENT &&", "if (k != KIND_EVENT && k != KIND_NODECLAIM &&"),
    ("the NodePools need not be listed", "controller/views.c",
     "if (k != KIND_EVENT &&", "if (k != KIND_EVENT && k != KIND_NODEPOOL &&"),
    ("the Nodes need not be listed", "controller/views.c",
     "if (k != KIND_EVENT &&", "if (k != KIND_EVENT && k != KIND_NODE &&"),
    ("Events are part of the view", "controller/views.c",
     "if (k != KIND_EVENT &&", "if ("),
    ("a lead waits for NodePools without end", "controller/views.c",
     "boot_ms < v->begin_boot_ms)", "1)"),
    ("a lead waits for no NodePools", "controller/views.c",
     "return kind == KIND_NODEPOOL ||", "return "),
    ("a lead waits for no Events", "controller/views.c",
     "(kind == KIND_EVENT && events);", "0;"),
    ("what was known of NodePools is forgotten", "controller/seen.c",
     "s->nodepools_before =", "s->nodepools.top = 0;\n\ts->nodepools_before ="),
    ("who does not lead hears nothing of NodePools", "controller/seen.c",
     "kind, s->leads || kind == KIND_NODEPOOL);",
     "kind, s->leads);", "controller/controller_nodepools.c",
     "nodepool_keep_spec(&p, known);\n\tchanged =",
     "if (!s->leads)\n\t\treturn;\n\tnodepool_keep_spec(&p, known);\n"
     "\tchanged ="),
    ("a list counts from when it ends", "controller/release.c",
     "r->done_boot_ms = r->begun_boot_ms;", "r->done_boot_ms = boot_ms;"),
    ("the NodePools are not listed afresh", "controller/release.c",
     "if (ok && r->unknown == 0 && kind == KIND_NODECLAIM) {", "if (0) {"),
    ("a fresh NodePool says nothing", "controller/controller_nodepools.c",
     "release_unknown(&s->release);", "(void)s;"),
    ("a stopped fresh list is retried after 20 ms", "controller/release.c",
     "r->tries++;\n\tr->not_before_boot_ms = boot_ms + FRESH_RETRY_MS;",
     "r->tries++;\n\tr->not_before_boot_ms = boot_ms + 20;"),
    ("a failed fresh list is retried after 20 ms", "controller/release.c",
     "boot_ms + pace_backoff(pace, r->tries, FRESH_RETRY_MS,\n"
     "\t\t\t\t\t       BACKOFF_MAX_MS);", "boot_ms + 20;"),
    ("no smaller pages after a failure", "controller/release.c",
     "LIST_FRESH_PAGE : LIST_METADATA_PAGE;", "LIST_FRESH_PAGE : "
     "LIST_FRESH_PAGE;"),
    ("a fresh list a machine", "controller/release.c",
     "r->not_before_boot_ms = r->begun_boot_ms + FRESH_RETRY_MS;",
     "r->not_before_boot_ms = 0;"),
    ("the watch is never mistrusted", "controller/fresh.c",
     "views_want_list(&s->views, kind);", ";"),
    ("the half of a fresh list survives the view", "controller/advance.c",
     "release_unseen(&s->release);", ";"),
    ("a look at the Node forgets its claim's hold", "controller/fresh.c",
     "if (a->act != ACT_READ_CLAIM)\n\t\treturn;\n\ts->writes.at[a->id].owner_hold =",
     "s->writes.at[a->id].owner_hold ="),
    ("a claim that a Node names is not looked for", "controller/act.c",
     "if (d.act != ACT_HOLD && owner_unseen(s, e)) {", "if (0) {"),
    ("a Node is held before the claims are listed", "controller/act.c",
     "(!s->views.at[KIND_NODECLAIM].listed ||\n", "(0 ||\n"),
    ("a Node is held before its claim's fresh list", "controller/act.c",
     "(claim == NULL && s->views.settle_boot_ms != 0)))", "0))"),
    ("what a list does not show stays", "controller/seen.c",
     "e->generation != v->generation)", "e->generation > v->generation)"),
    ("a NodePool that is gone stays", "controller/controller_nodepools.c",
     "nodepools_drop(&s->nodepools, gone);", "(void)gone;"),
    # writes
    ("the Node before its claim", "rules/decide.c",
     "if (claim->present && claim->busy && !registered)", "if (0)"),
    ("a claim that cannot be patched keeps its Node", "rules/decide.c",
     "if (claim->present && claim->busy && !registered)",
     "if (claim->present && claim->busy)"),
    ("opting out on the claim does not reach the Node", "rules/decide.c",
     "if (released || mine->previous)", "if (mine->previous)"),
    ("opting out is over when the hold is another", "rules/decide.c",
     "if (mine->tenure != TENURE_OURS || !mine->present || mine->busy)\n"
     "\t\treturn nothing;",
     "if (!is_marked(mine) || mine->busy)\n\t\treturn nothing;\n"
     "\tif (mine->tenure != TENURE_OURS && mine->previous)\n"
     "\t\treturn (struct decision){.act = ACT_UNMARK, .on = on};\n"
     "\tif (mine->tenure != TENURE_OURS)\n\t\treturn nothing;"),
    ("what came for a substitute is a scale-up",
     "controller/replacements.c",
     "if (e->ready_ms == STAMP_NONE &&\n"
     "\t    substitutes(machines_replaces(r->machines, e)) == NULL)",
     "if (e->ready_ms == STAMP_NONE)"),
    ("a launch failure extends nothing", "controller/replacements.c",
     "deletions_extend(&r->deletions", "if (0) deletions_extend(&r->deletions"),
    ("a failed boot extends a deletion", "controller/replacements.c",
     "else if (!e->launched && e->replaces == 0 &&\n"
     "\t\t replacements_undecided_ms(r, e) <= now_ms)", "else if (1)"),
    ("a deletion is extended for ever", "controller/deletions.c",
     "if (until_ms > it->began_ms + DRAINING_MS)", "if (0)"),
    ("two launch failures extend one deletion", "controller/deletions.c",
     "(failed && it->failed_ms > created_ms) ||", ""),
    ("a launch failure extends a deletion that has its substitute",
     "controller/deletions.c",
     "if (!it->used || it->spent || !made_room",
     "if (!it->used || (it->spent && !failed) || !made_room"),
    ("after a failure it is tried again at once", "controller/writes.c",
     "boot_ms + pace_backoff(ws->pace, w->failures, BACKOFF_MIN_MS,\n"
     "\t\t\t\t       BACKOFF_MAX_MS));", "boot_ms + 1);"),
    ("what is refused is tried again at once", "controller/writes.c",
     "return pace_backoff(ws->pace, n, REFUSED_MIN_MS, REFUSED_MAX_MS);",
     "return (void)ws, (void)n, 1;"),
    ("what is refused is tried every 10 s", "controller/writes.c",
     "return pace_backoff(ws->pace, n, REFUSED_MIN_MS, REFUSED_MAX_MS);",
     "return pace_backoff(ws->pace, n, REFUSED_MIN_MS, 5000);"),
    ("busy without Retry-After: at once", "controller/writes.c",
     "o->retry_after_ms >= 0 ? o->retry_after_ms : BACKOFF_MIN_MS;",
     "o->retry_after_ms >= 0 ? o->retry_after_ms : 0;"),
    ("a refusal is told each time", "controller/writes.c",
     "if (w->refusals++ == 0)", "w->refusals++;\n\tif (1)"),
    ("a clear that is invalid is read without end", "controller/writes.c",
     "if (a->act == ACT_HOLD ||\n"
     "\t\t    pending_of(ws, a->id)->tried_rv == version_key(a->rv))",
     "if (a->act == ACT_HOLD)"),
    ("the mark is an hour old", "controller/act.c",
     ".mark_ms = act == ACT_HOLD ? now.server_ms : e->mark_ms,",
     ".mark_ms = act == ACT_HOLD ? now.server_ms - 3600000 : e->mark_ms,"),
    ("what came late is old", "controller/writes.c",
     "return; /* that line is here already */", ";"),
    ("a write is not awaited", "controller/writes.c",
     "wait_as(ws, a->id, WRITE_EXPECTED, boot_ms + EXPECT_MS);",
     "(void)boot_ms;"),
    ("a late GET is believed", "controller/fresh.c",
     "fits = a->act == ACT_READ\n"
     "\t\t       ? machines_rv_is(&s->machines, e, a->rv)\n"
     "\t\t       : s->views.at[o->kind].forgotten == a->forgotten;",
     "fits = true;"),
    ("an unread claim is not taken", "controller/fresh.c",
     "if (id == NO_ID && v->skipped)", "if (0)"),
    ("an unread claim stops every release", "controller/fresh.c",
     "if (id != NO_ID && unread_has(&s->unread, id)) {", "if (0) {"),
    ("an unread claim was never launched", "controller/fresh.c",
     "claim->launched = claim->launch_known = e->launched;",
     "claim->launched = e->launched, claim->launch_known = true;"),
    ("what was known of an unread claim is forgotten", "controller/fresh.c",
     "claim->ready_ms = e->ready_stamp_ms;", ""),
    ("a young unread claim stops nothing", "controller/fresh.c",
     "return !e->launched && now_ms < e->created_ms + LAUNCH_GRACE_MS;",
     "return (void)e, (void)now_ms, false;"),
    ("an unread claim never goes", "controller/fresh.c",
     "drop_gone(s, now);\n\tif (o->code", "if (o->code"),
    ("a list that left something out says who is gone", "controller/seen.c",
     "if (served && v->skipped)", "if (0)"),
    ("no fresh list after one that left something out", "controller/seen.c",
     "release_want(&s->release);", ";"),
    ("what a watch leaves out is not listed", "controller/views.c",
     "w->behind = w->behind || (w->listed && w->up && kind != KIND_EVENT);",
     ""),
    ("Events that are left out are listed", "controller/views.c",
     "(w->listed && w->up && kind != KIND_EVENT);", "(w->listed && w->up);"),
    ("claims are judged before all are known", "controller/seen.c",
     "views_unsettle(&s->views, now.boot_ms);", ";"),
    ("claims are never judged without a fresh list", "controller/advance.c",
     "if (views_settle_due(&s->views, now.boot_ms))", "if (0)"),
    ("a write on an unread claim waits for its line", "controller/controller.c",
     "writes_reread(&s->writes, id);", ";"),
    ("a fresh list that left something out drops claims", "controller/unread.c",
     "&& !u->incomplete;", ";"),
    ("a NodePool is not taken from the fresh list",
     "controller/controller_nodepools.c",
     "if (!s->views.at[KIND_NODEPOOL].skipped ||", "if (1 ||"),
    ("uninstall tests no version", "protocol/cleanup.c",
     ".mark_exact = entry_mark_exact(e),", ".mark_exact = true,"),
    ("uninstall ends after one clean list", "protocol/cleanup.c",
     "++x->clean == 2", "++x->clean == 1"),
    ("uninstall adds up lists that are not in a row", "protocol/cleanup.c",
     "\t\tx->clean = 0;\n\t\tbegin_round(x);", "\t\tbegin_round(x);"),
    ("uninstall does not let the cluster settle", "protocol/cleanup.c",
     "rest(x, x->config.settle_ms, now);", "rest(x, 0, now);"),
    ("uninstall goes on with the list before", "protocol/cleanup.c",
     "machines_drop(&x->table, id, &(struct touched){0});",
     "(void)machines_drop;"),
    ("uninstall leaves classes", "protocol/cleanup.c",
     "marked(l) + l->classes[KIND_NODE] + l->classes[KIND_NODECLAIM] >\n"
     "\t\t    0)", "marked(l) > 0)"),
    ("uninstall takes a round for the end", "protocol/cleanup.c",
     "x->in_a_row = 0;\n\t\tgo(x, CLEANUP_LEAD);",
     "x->in_a_row = 0;\n\t\tend(x, CLEANUP_CLEAN);"),
    ("uninstall forgets a hold without a mark", "protocol/cleanup.c",
     "o->mark != MARK_ABSENT || o->hold != HOLD_ABSENT ||\n"
     "\t    o->default_hold != HOLD_ABSENT || o->has_class",
     "o->mark != MARK_ABSENT || o->has_class"),
    ("uninstall forgets what it has cleared itself", "protocol/cleanup.c",
     "\t\t\te->hold = HOLD_ABSENT;\n\t\tif (hold_key",
     "\t\t\t;\n\t\tif (hold_key"),
    ("a webhook that is gone is another writer", "protocol/foreign_marks.c",
     "return f->start_ms + f->slack_ms;\n\treturn start_ms;",
     "return start_ms;\n\treturn start_ms;"),
    ("a copy of a mark is another writer's", "protocol/foreign_marks.c",
     "return o->mark_ms >= since(f, o) &&", "return"),
    ("the order of the spread is random", "controller/refresh.c",
     "head, s->machines.at[head].exposed);", "head, false);"),
    ("whom Karpenter could take is held last", "controller/refresh.c",
     "head, s->machines.at[head].exposed);",
     "head, !s->machines.at[head].exposed);"),
    ("exposed machines starve the others", "controller/queue.c",
     "q->run >= QUEUE_EXPOSED_RUN && ", "0 && "),
    ("actions on exposed machines are not counted",
     "controller/controller.c", "queue_acted(&s->queue);", ""),
    ("a look at another machine uses up its turn", "controller/queue.c",
     "q->next[id] = 0;\n\treturn id;",
     "q->next[id] = 0;\n\tq->run = q->took_exposed ? q->run : 0;\n\treturn id;"),
    ("whether a machine is exposed is never seen again", "table/machines.c",
     "e->exposed = o->exposed;", "e->exposed |= o->exposed;"),
    ("an unread claim is not exposed any more", "controller/fresh.c",
     "claim->exposed = e->exposed;", ""),
    ("a command takes the Lease before replicas do", "protocol/lease.c",
     "return boot_ms < l->free_ms + l->config.patience_ms;",
     "return (void)boot_ms, false;"),
]


def run(args, seconds=300):
    try:
        return subprocess.run([str(a) for a in args], cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, timeout=seconds,
                              stderr=subprocess.STDOUT, check=False,
                              env={"PATH": "/usr/bin:/bin", "CK_FORK": "no",
                                   "SIM_SEEDS": str(OUT)})
    except subprocess.TimeoutExpired as e:
        return subprocess.CompletedProcess(args, 124, "did not end")


def compile_(source, to, beside=None):
    done = run(["cc", *CFLAGS, *(["-iquote", beside] if beside else []),
                "-c", "-o", to, source])
    if done.returncode:
        sys.exit(done.stdout)
    return to


def link(sources, objects, to):
    done = run(["cc", *CFLAGS, "-o", to, *sources, *objects, "-lcheck", "-lm",
                "-lsubunit", "-lrt", "-pthread"])
    if done.returncode:
        sys.exit(done.stdout)
    return to


def objects_of(folder, name, files="*.c"):
    out = OUT / name
    out.mkdir(parents=True, exist_ok=True)
    files = {str(s.relative_to(ROOT / folder)): s
             for s in sorted((ROOT / folder).rglob(files))}
    return {name: compile_(s, out / (name.replace("/", "-") + ".o"))
            for name, s in files.items()}


def killer(core, sim, fixture):
    """Who finds it; None: nobody."""
    program = link([], [*sim.values(), *core.values()], OUT / "sim")
    for what, args in (
            ("history", ["run", *sorted(
                (ROOT / "tests/sim/histories").glob("*.txt")), *sorted(
                (ROOT / "tests/sim/seeds").glob("*.txt"))]),
            ("seed", ["seeds", "1", SEEDS, "2"]),
            ("uninstall", ["uninstall", "1", SEEDS // 4, "2"]),
            ("large", ["large", "1", SEEDS // 4, "2"]),
            ("spec", ["spec", "1", SEEDS // 4, "2"])):
        done = run([program, *args])
        if done.returncode:
            text = [line for line in done.stdout.splitlines()
                    if ": at " in line]
            return f"{what}: " + (text or ["it crashes"])[0].split("/")[-1]
    for test in sorted((ROOT / "tests/unit/core").glob("test_*.c")):
        program = link([test], [*fixture.values(), *core.values()],
                       OUT / "unit")
        done = run([program])
        if done.returncode:
            text = [line for line in done.stdout.splitlines()
                    if ":F:" in line or ":E:" in line]
            return (text or [f"{test.name}: it crashes"])[0].split("/")[-1]
    return None


def check_places():
    for name, *places in MUTANTS:
        for file, old, _ in zip(*[iter(places)] * 3):
            n = (ROOT / "src/core" / file).read_text().count(old)
            if n != 1:
                sys.exit(f"src/core/{file}: {n} places for the mutant: {name}")


def main():
    wanted = sys.argv[1:]
    check_places()
    if wanted == ["--places"]:
        return
    core, sim = objects_of("src/core", "core"), objects_of("tests/sim", "sims")
    fixture = {**objects_of("tests/unit/core", "fixture", "[!t]*.c"),
               **{name: sim[name] for name in ("api.c", "dice.c")},
               **objects_of("tests", "suite", "suite.c")}
    if killer(core, sim, fixture):
        sys.exit("mutants: the core is broken as it is")
    alive = 0
    for name, *places in MUTANTS:
        if wanted and name not in wanted:
            continue
        broken, texts = dict(core), {}
        for file, old, new in zip(*[iter(places)] * 3):
            text = texts.get(file) or (ROOT / "src/core" / file).read_text()
            texts[file] = text.replace(old, new)
        for file, text in texts.items():
            source = OUT / file.replace("/", "-")
            source.write_text(text)
            broken[file] = compile_(source, OUT / f"mutant-{source.stem}.o",
                                    (ROOT / "src/core" / file).parent)
        by = killer(broken, sim, fixture)
        alive += by is None
        print(f"{name:58} {by or 'SURVIVES'}"[:150], flush=True)
    print(f"mutants: {len(wanted) or len(MUTANTS)}, {alive} survive")
    sys.exit(alive != 0)


if __name__ == "__main__":
    main()
