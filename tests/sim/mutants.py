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
          "-I", ROOT / "src/core", "-I", ROOT / "tests",
          "-I", ROOT / "tests/sim"]
SEEDS = 2000

# name, then file, FROM, TO, once or more often
MUTANTS = [
    ("off by one in the deadline", "holds.c",
     "return t->used && t->deadline_ms > now_ms;",
     "return t->used && t->deadline_ms >= now_ms;"),
    ("a deadline 20 s too late", "holds.c",
     "return t->used && t->deadline_ms > now_ms;",
     "return t->used && t->deadline_ms + 20000 > now_ms;"),
    ("a deadline a second too late", "sweep_timers.c",
     "activity_ms(s, e) + own_ms(&s->rules, terms),",
     "activity_ms(s, e) + own_ms(&s->rules, terms) + 1000,"),
    ("released a quarter of a minute early", "holds.c",
     "live = t->scope != NO_ID && t->counted && f->deadline_ms > now_ms;",
     "live = t->scope != NO_ID && t->counted &&\n"
     "\t       f->deadline_ms - 15000 > now_ms;"),
    ("startupTimeout forgotten", "sweep_timers.c",
     ": e->created_ms + s->rules.startup_ms;", ": e->created_ms;"),
    ("the 5 s of a claim without condition forgotten", "sweep_timers.c",
     "return claim->launch_known ? STAMP_NONE\n"
     "\t\t\t\t   : claim->created_ms + LAUNCH_GRACE_MS;",
     "return COUNTS_ALWAYS;"),
    ("an unlaunched claim never counts", "sweep_timers.c",
     ": claim->created_ms + LAUNCH_GRACE_MS;", ": STAMP_NONE;"),
    ("a machine that is deleted still counts", "sweep_timers.c",
     "return (claim != NULL && claim->deleting) ||\n"
     "\t       (node != NULL && node->deleting);",
     "return (void)claim, (void)node, false;"),
    ("spread over excluded pools", "sweep_next.c", "if (terms.out) {",
     "if (0) {", "sweep_timers.c", "if (terms.out || being", "if (being"),
    ("an excluded pool counts", "sweep_timers.c",
     "if (terms.out || being", "if (being"),
    ("a pool that is disabled goes on", "pools.c",
     "t.out = t.out || pool->disabled;", ""),
    ("hold-until ends with the scope", "sweep_next.c",
     "if (terms.until_ms == STAMP_NONE && !holds_scope_held(&s->holds, head))",
     "if (!holds_scope_held(&s->holds, head))"),
    ("released-at counts before its time", "pools.c",
     "if (pool->released_at_ms <= now_ms)", "if (1)"),
    ("released-at ends what is created after", "sweep_timers.c",
     "if (e->created_stamp_ms < terms->released_ms) {",
     "if (terms->released_ms != STAMP_NONE) {"),
    ("the end of hold-until is not noticed", "sweep_pools.c",
     "pool_turns(p, s->pools_ms, now.server_ms))", "0)"),
    ("replacements count", "sweep_class.c",
     "return ignores(s) && claim->replaces[0] != '\\0';",
     "return (void)s, (void)claim, false;"),
    ("who is undecided counts", "sweep_timers.c", "} else if (until > now_ms) {",
     "} else if (0) {"),
    ("undecided for ever without a launch", "sweep_class.c",
     "claim->seen_ms + UNDECIDED_MAX_MS, launched;",
     "claim->seen_ms + 100 * UNDECIDED_MAX_MS, launched;"),
    ("a hold ends while one is undecided", "holds.c",
     "((s->busy || s->was_busy) && s->undecided > 0);", "0;"),
    ("a hold ends with the lead while one is undecided", "holds.c",
     "((s->busy || s->was_busy) && s->undecided > 0);",
     "(s->busy && s->undecided > 0);"),
    ("an Event that comes first is forgotten", "sweep_class.c",
     "signs_put(&s->signs, claim_uid, reason);", ""),
    ("the class on the claim is not read", "sweep_class.c",
     "said = e->classed ? o->replaces : signs_take(&s->signs, e->uid);",
     "said = signs_take(&s->signs, e->uid);"),
    ("a pool's own cap is not its scope's", "holds.c",
     "if (h->kind != SCOPE_NODEPOOL || s->max_ms == max_ms)", "if (1)"),
    ("released without a fresh list", "sweep_next.c",
     "if (s->fresh.done_boot_ms >= s->work[head].due_boot_ms)",
     "if (s->fresh.done_boot_ms >= 0)"),
    ("cleared on half a view", "sweep_wait.c",
     "if ((!s->view[k].listed || !s->view[k].up) &&",
     "if ((!s->view[k].listed && !s->view[k].up) &&"),
    ("the NodeClaims need not be listed", "sweep_wait.c",
     "if ((!s->view[k].listed || !s->view[k].up) &&",
     "if (k != KIND_NODECLAIM && (!s->view[k].listed || !s->view[k].up) &&"),
    ("a list counts from when it ends", "sweep_done.c",
     "f->done_boot_ms = f->begun_boot_ms;", "f->done_boot_ms = now.boot_ms;"),
    ("an unseen claim does not stop a release", "sweep_done.c",
     "s->fresh.unknown++;", "(void)s;"),
    ("a stale unready claim does not stop a release", "sweep_done.c",
     "return e->ready_ms == STAMP_NONE && strcmp(e->rv, claim->rv) != 0;",
     "return false;"),
    ("cleared without a test of the version while it registers",
     "sweep_next.c", ".mark_exact = e->mark == MARK_TIME && !joining,",
     ".mark_exact = e->mark == MARK_TIME,"),
    ("the mark goes and the hold stays", "decide.c",
     "struct decision d = {.act = ACT_CLEAR, .on = on, .release = true};",
     "struct decision d = {.act = ACT_UNMARK, .on = on, .release = true};"),
    ("a mark alone never goes", "decide.c",
     "(h->tenure == TENURE_OURS || h->tenure == TENURE_YIELDED);",
     "h->tenure == TENURE_OURS;"),
    ("what is being deleted is written to", "sweep_next.c",
     "if ((claim != NULL && claim->deleting) ||\n"
     "\t    (node != NULL && node->deleting))\n\t\treturn WISH_LEAVE;", ""),
    ("stripped and held again, without end", "sweep_next.c",
     ".spent = w->reholds >= REHOLDS_MAX,", ".spent = false,"),
    ("after a 429 nobody waits", "sweep_done.c",
     "if (until > s->paused_boot_ms)", "if (0)"),
    ("after a failure it is tried again at once", "sweep_done.c",
     "w->failures++;\n\tback_off(s, id,\n"
     "\t\t pace_backoff(&s->pace, w->failures, BACKOFF_MIN_MS,\n"
     "\t\t\t      BACKOFF_MAX_MS),\n\t\t now);",
     "back_off(s, id, 1, now);"),
    ("the class is never written", "sweep_next.c",
     "if (claim == NULL || c->busy || claim->classed ||", "if (1 ||"),
    ("a full table never asks for the rest", "sweep.c",
     "v->wants_list = true;", ""),
    ("a full table is not counted", "sweep.c",
     "v->full = true;\n\t\tcounter_add(s->counters, COUNTER_TABLE_FULL);",
     "v->full = true;"),
    ("a late word of a former Node", "sweep.c",
     "if (id == NO_ID || strcmp(s->machines.at[id].uid, o->uid) != 0)\n"
     "\t\treturn;", "if (id == NO_ID)\n\t\treturn;"),
    ("a template's hold is not seen", "decide.c",
     "return on == KIND_NODE || !other->registered;", "return false;"),
    ("the Node before its claim", "decide.c",
     "if (claim->present && claim->busy)\n\t\treturn nothing;\n"
     "\tif (is_marked(claim))",
     "if (is_marked(claim) && !(is_marked(node) && !node->busy))"),
    ("a person who opted out is held again", "decide.c",
     "if (d.act != ACT_NONE || decide_person(claim, node))",
     "if (d.act != ACT_NONE)"),
    ("what a list does not show stays", "sweep_views.c",
     "e->generation != v->generation)", "e->generation > v->generation)"),
    ("a 410 is answered by another watch", "reflect.c",
     "case REFLECT_EXPIRED:\n\t\treflect_restart(r);",
     "case REFLECT_EXPIRED:"),
    ("the cap is ignored", "cap.c",
     "c->run_ms + r->max_ms <= now_ms)", "0)", "cap.c",
     "return after(c->run_ms, r->max_ms);", "return STAMP_NONE;"),
    ("in the window all stay held", "cap.c",
     "return busy && c->open_ms == STAMP_NONE;", "return busy;"),
    ("the window is twice as long", "cap.c",
     "c->open_ms = now_ms + r->window_ms;",
     "c->open_ms = now_ms + 2 * r->window_ms;"),
    ("capped again right after the window", "cap.c",
     "if (passed(c->open_ms, now_ms))\n\t\t*c = (struct cap)CAP_NONE;",
     "if (passed(c->open_ms, now_ms))\n\t\tc->open_ms = STAMP_NONE;"),
    ("a break shorter than the window resets", "cap.c",
     "if (passed(after(c->idle_ms, r->window_ms), now_ms) &&",
     "if (passed(c->idle_ms, now_ms) &&"),
    ("the window never closes", "cap.c",
     "if (passed(c->open_ms, now_ms))", "if (0)"),
    ("the soft state is not read", "sweep_soft.c",
     "holds_restore(&s->holds, name, &c);", "(void)c;"),
    ("an open window is not restored", "sweep_soft.c",
     'read_moment(moment, "open", &c.open_ms);', ""),
    ("the oldest mark tells nothing", "sweep_next.c",
     "if (whole && s->guess)", "if (0)"),
    ("a leader that could not renew leads on", "lease.c",
     "return l->leading && boot_ms < end_ms(l);", "return l->leading;"),
    ("a Lease is taken before its time", "lease.c",
     "boot_ms < l->seen_ms + (int64_t)l->seen.duration_s * 1000;",
     "boot_ms < l->seen_ms + 1000;"),
    ("a new lead begins with the old table", "sweep_views.c",
     "\t\tif (s->machines.at[id].used)\n\t\t\tsweep_drop(s, id, now);",
     "\t\t(void)now;"),
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


def compile_(source, to):
    done = run(["cc", *CFLAGS, "-c", "-o", to, source])
    if done.returncode:
        sys.exit(done.stdout)
    return to


def link(sources, objects, to):
    done = run(["cc", *CFLAGS, "-o", to, *sources, *objects, "-lcheck", "-lm",
                "-lsubunit", "-lrt", "-pthread"])
    if done.returncode:
        sys.exit(done.stdout)
    return to


def objects_of(folder, name):
    out = OUT / name
    out.mkdir(parents=True, exist_ok=True)
    return {s.name: compile_(s, out / (s.stem + ".o"))
            for s in sorted((ROOT / folder).glob("*.c"))}


def killer(core, sim):
    """Who finds it; None: nobody."""
    program = link([], [*sim.values(), *core.values()], OUT / "sim")
    for what, args in (
            ("history", ["run", *sorted(
                (ROOT / "tests/sim/histories").glob("*.txt")), *sorted(
                (ROOT / "tests/sim/seeds").glob("*.txt"))]),
            ("seed", ["seeds", "1", SEEDS, "2"])):
        done = run([program, *args])
        if done.returncode:
            text = [line for line in done.stdout.splitlines()
                    if ": at " in line]
            return f"{what}: " + (text or ["it crashes"])[0].split("/")[-1]
    for test in sorted((ROOT / "tests/unit/core").glob("test_*.c")):
        program = link([test], core.values(), OUT / "unit")
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
    if killer(core, sim):
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
            source = OUT / file
            source.write_text(text)
            broken[file] = compile_(source, OUT / f"mutant-{source.stem}.o")
        by = killer(broken, sim)
        alive += by is None
        print(f"{name:58} {by or 'SURVIVES'}"[:150], flush=True)
    print(f"mutants: {len(wanted) or len(MUTANTS)}, {alive} survive")
    sys.exit(alive != 0)


if __name__ == "__main__":
    main()
