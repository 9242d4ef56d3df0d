# SPDX-License-Identifier: Apache-2.0
"""Tickets outside the core: how a Lease is read (src/wire/api), where it is
asked for, and what the daemon says of it and needs for it."""
TICKET = "src/wire/api/ticket.c"
RESOURCE = "src/wire/api/resource.c"
CHECK = "src/wire/config/config_check.c"
METRICS = "src/wire/metrics/metrics.c"
JOB = "src/daemon/job.c"
SIGHTING = "src/daemon/sighting.c"
NOTES = "src/daemon/notes.c"
MEMORY = "src/daemon/memory.c"
SERVE = "src/daemon/serve.c"
READ = "wire/test_ticket"
EDGE = "tests/edge/test_daemon_tickets.py"

FAULTS = [
    # how it is read
    ("a ticket's holder writes to a terminal", READ, TICKET,
     "\tutf8_make_shown(dst);\n", ""),
    ("a ticket's text is cut in a character", READ, TICKET,
     "str_cut(dst, cap, value);",
     "dst[0] = '\\0';\n\tif (value != NULL)\n"
     "\t\tstrncat(dst, value, cap - 1);"),
    ("a refused ticket has been half read", READ, TICKET,
     "    spec_read(root, &t, e))",
     "    (*(struct ticket *)out = t, spec_read(root, &t, e)))"),
    ("a ticket may be of the year 1", READ, TICKET,
     "t->renewed_ms < TICKET_FIRST_MS)", "false)"),
    ("what cannot be read is left out", f"{EDGE} -k read_holds", SIGHTING,
     "ticket_unread_decode(bytes, n, type, &out->as.ticket, e) == 0)",
     "type == NULL && out == NULL)"),
    ("nobody sees that a ticket is being deleted", READ, TICKET,
     "\t{\"deletionTimestamp\", NULL},\n", ""),
    ("a ticket needs no uid", READ, TICKET,
     "meta_text_need(meta, \"uid\"", "meta_text_copy(meta, \"uid\""),
    ("a ticket lasts for more than 32 bits of seconds", READ, TICKET,
     "(json_integer(lasts, &seconds) || seconds > INT32_MAX))",
     "json_integer(lasts, &seconds))"),
    ("a ticket lasts for less than nothing", READ, TICKET,
     "seconds > 0 ? 1000 * (int64_t)seconds : 0", "1000 * (int64_t)seconds"),
    ("a renewTime that is a number is none", READ, TICKET,
     "(json_string(renewed) == NULL ||\n\t     stamp_parse(",
     "json_string(renewed) != NULL &&\n\t    (stamp_parse("),
    ("a holder that is a number is none", READ, TICKET,
     "if (!json_is_unset(holder) && json_string(holder) == NULL)", "if (0)"),
    ("a ticket has no reason", READ, TICKET,
     ", {TICKET_REASON_KEY, NULL}, {NULL, NULL}}", ", {NULL, NULL}}"),
    ("a line of a watch has no spec", READ, TICKET,
     "\t\t\t\t\t\t    {\"spec\", spec_keep},\n"
     "\t\t\t\t\t\t    {NULL, NULL}};\nstatic const struct json_keep line",
     "\t\t\t\t\t\t    {NULL, NULL}};\nstatic const struct json_keep line"),
    ("a bookmark was renewed in 1970", READ, TICKET,
     "*out = (struct ticket){.renewed_ms = STAMP_NONE};",
     "*out = (struct ticket){0};"),
    ("another's annotation counts towards the limit", READ, TICKET,
     "{\"annotations\", annotations_keep},", "{\"annotations\", NULL},"),
    ("a pattern after the 64th counts", READ, "src/core/base/ticket.c",
     "kept == TICKET_PATTERNS_MAX ||", "0 ||"),
    ("a pattern takes the place of the list's end", READ,
     "src/core/base/ticket.c", "used + n + 2 >", "used + n + 1 >"),
    ("whose patterns are all too long holds everything", READ,
     "src/core/base/ticket.c", "kept == 0 && t->left_out == 0;", "kept == 0;"),
    ("a tab is part of a pattern", READ, "src/core/base/ticket.c",
     "\", \\t\\r\\n\"", "\", \\r\\n\""),
    # what is asked for
    ("tickets have no namespace", "wire/test_resource", RESOURCE,
     "buf_printf(b, \"%s%s\", namespace_name, r->rest);",
     "buf_puts(b, r->rest);"),
    ("tickets come as metadata", "wire/test_resource", RESOURCE,
     "\"/leases\", NULL, NULL, COUNTER_WATCH_TICKETS_END",
     "\"/leases\", ACCEPT_METADATA_LIST,\n"
     "\t\t\t ACCEPT_METADATA, COUNTER_WATCH_TICKETS_END"),
    ("the fresh list of tickets is of metadata", "daemon/test_job", JOB,
     "\t\tif (j->action.act != ACT_LIST_TICKETS)\n", ""),
    ("a fresh ticket is nobody's business", "daemon/test_job", JOB,
     "state_fresh_ticket(j->env->shared, &t);", ";"),
    ("the fresh list of tickets has one page", "daemon/test_job", JOB,
     "\tcase ACT_LIST_TICKETS:\n\t\tover = fresh_page(j, r, out);",
     "\t\tover = fresh_page(j, r, out);\n"
     "\t\tif (0) {\n\tcase ACT_LIST_TICKETS:\n"
     "\t\t\t(void)fresh_page(j, r, out);\n\t\t\tover = true;\n\t\t}"),
    ("tickets are watched without a namespace",
     f"{EDGE} -k without_the_key", SERVE,
     "(k == KIND_TICKET && !rules_tickets(o.rules))", "0"),
    ("tickets are watched in no namespace", f"{EDGE} -k asked_for",
     "src/daemon/watcher.c", "o->rules->tickets,", "\"\","),
    ("the holder's own Lease is a ticket", f"{EDGE} -k our_own_lease", SERVE,
     "strcmp(c->rules.tickets, v->namespace_name) != 0)", "1)"),
    ("tickets are where leaders are elected", "wire/test_config", CHECK,
     "strcmp(c->rules.tickets, c->leader.namespace_) != 0)", "1)"),
    # what becomes of it
    ("a ticket that is deleted stays", "daemon/test_sighting", SIGHTING,
     "state_ticket_gone(s, o->as.ticket.name);", ";"),
    ("a ticket has a Node's version", "daemon/test_sighting", SIGHTING,
     "\tcase KIND_TICKET:\n\t\treturn o->as.ticket.rv;\n", ""),
    ("a ticket is told as an annotation", "daemon/test_notes", NOTES,
     "n->as.manual.ticket ? \"a ticket\"", "0 ? \"\""),
    ("a lead without tickets lacks NodePools", "daemon/test_notes", NOTES,
     "strcmp(n->name, object_kind_name(KIND_TICKET)) == 0", "0"),
    ("a flaw is told without the holder", "daemon/test_notes", NOTES,
     "LS(\"holder\", n->as.ticket.holder)", "LS(\"holder\", n->name)"),
    ("tickets have series though nobody follows them", "wire/test_metrics",
     METRICS, "\tif (g->controller.has_tickets)\n\t\tgauge", "\t\tgauge"),
    ("a watch of tickets that is not made is down", "wire/test_metrics",
     METRICS, "if (k != KIND_TICKET || g->controller.has_tickets)", ""),
    # memory
    ("a thousand tickets need no memory", "daemon/test_memory", MEMORY,
     "(tickets ? TICKETS_BYTES : 0)", "0"),
    ("the watch of tickets needs no memory", "daemon/test_memory", MEMORY,
     "\t((int64_t)ITEM_BYTES_MAX + 3 * (int64_t)JSON_SMALL_BYTES_MAX + "
     "        \\\n", "\t(                                            "
     "                            \\\n"),
    ("tickets take memory without tickets", "daemon/test_memory", MEMORY,
     "(tickets ? TICKETS_BYTES : 0)", "TICKETS_BYTES"),
    ("tickets leave a small holder less than nothing", "daemon/test_memory",
     MEMORY, "tickets ? MEMORY_TICKETS_MIN : MEMORY_MIN", "MEMORY_MIN"),
    ("who gives memory to machines forgets tickets", f"{EDGE} -k asked_for",
     SERVE, "rules_tickets(&c->rules), machines", "false, machines"),
    ("check forgets tickets", "tests/edge/test_commands.py -k room",
     "src/cli/daemon/check.c", "c->rules.tickets[0] != '\\0', 0", "false, 0"),
    ("nobody warns of little memory for tickets", "wire/test_config", CHECK,
     "if (rules_tickets(r) && c->memory_limit < MEMORY_TICKETS_MIN)",
     "if (0)"),
]
