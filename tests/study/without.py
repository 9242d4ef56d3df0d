# SPDX-License-Identifier: Apache-2.0
"""The holder without one of its rules, built for the study alone
(docs/study.md#which-rules-matter).

RULES says how each rule is switched off: a file, a text that stands in it once,
and the text in its place.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
REPO = HERE.parents[1]
sys.path.append(str(HERE.parent / "mutants"))

from rooms import copy_tree  # noqa: E402

REPLACEMENTS = "src/core/controller/replacements.c"
RULES = {
    # Karpenter's Events name no replacement.
    "events": (REPLACEMENTS,
               "if (e->said == 0 || !after_disruption(",
               "if (true || !after_disruption("),
    # A deletion has no substitute.
    "substitutes": (REPLACEMENTS, "if (d == NULL) {",
                    "if (d == NULL || claim->used) {"),
    # A boot that failed counts no more.
    "retries": ("src/core/table/timers.c",
                "if (t->used && t->live)\n\t\ttimers_scope_again",
                "if (false)\n\t\ttimers_scope_again"),
    # A claim counts as soon as it is launched.
    "undecided": (REPLACEMENTS, "return claim->created_ms + COUNTS_AGE_MS;",
                  "return claim->created_ms;"),
    # A plain cap: the debt is gone as soon as the scope is not held.
    "bucket": ("src/core/rules/cap.c", "if (past >= r->window_ms)",
               "if (past > 0)"),
    # The queue holds machines in the order in which they came.
    "exposed-first": ("src/core/controller/queue.c",
                      "*l = exposed ? &q->exposed : &q->others;",
                      "*l = exposed ? &q->others : &q->others;"),
}


def program(build, rule):
    return build / "study" / "without" / rule / "build" / "release" / \
        "karpenter-node-holder"


def write(build, rule):
    """Builds it, or says what is wrong."""
    file, old, new = RULES[rule]
    tree = build / "study" / "without" / rule
    copy_tree(tree)
    text = (tree / file).read_text()
    if text.count(old) != 1:
        raise ValueError(f"{file}: expected once, to leave out {rule}: {old}")
    (tree / file).write_text(text.replace(old, new))
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}",
                    program(build, rule).relative_to(tree)],
                   cwd=tree, env=env, check=True,
                   stdout=subprocess.DEVNULL)
