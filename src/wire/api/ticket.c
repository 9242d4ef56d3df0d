/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/ticket.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/utf8.h"
#include "wire/api/meta.h"
#include "wire/api/object.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

/*
 * The first part of this file decodes Leases, and the last part encodes what
 * writers of tickets send.  A Lease that the first part refuses is decoded once
 * more by the part between the two, which reads nothing but its name: its
 * version ends the hold of the version before it, so the holder has to know
 * which ticket it is.
 */

/* --- reading -------------------------------------------------------------- */

/* Copies a text that people read, cut at a whole character.  What a terminal
 * does not show becomes '?'. */
static void
shown_copy(char *dst, size_t cap, const char *value)
{
	str_cut(dst, cap, value);
	utf8_make_shown(dst);
}

static int
annotations_read(const struct json *meta, struct ticket *t, struct err *e)
{
	const char *nodepools = NULL, *reason = NULL;
	const struct json *map;

	if (meta_map_read(meta, "annotations", "metadata.annotations", &map,
			  e) ||
	    object_annotation_read(map, TICKET_NODEPOOLS_KEY, &nodepools, e) ||
	    object_annotation_read(map, TICKET_REASON_KEY, &reason, e))
		return -1;
	ticket_set_patterns(t, nodepools);
	shown_copy(t->reason, sizeof(t->reason), reason);
	return 0;
}

static int
spec_read(const struct json *root, struct ticket *t, struct err *e)
{
	const struct json *spec, *holder, *renewed, *lasts;
	long long seconds = 0;

	if (meta_map_read(root, "spec", "spec", &spec, e))
		return -1;
	holder = json_member(spec, "holderIdentity");
	renewed = json_member(spec, "renewTime");
	lasts = json_member(spec, "leaseDurationSeconds");
	t->renewed_ms = STAMP_NONE;
	if (!json_is_unset(holder) && json_string(holder) == NULL)
		return err_set(e, ERR_INPUT,
			       "spec.holderIdentity is no string");
	if (!json_is_unset(renewed) &&
	    (json_string(renewed) == NULL ||
	     stamp_parse(json_string(renewed), &t->renewed_ms)))
		return err_set(e, ERR_INPUT, "spec.renewTime is no time");
	if (t->renewed_ms != STAMP_NONE && t->renewed_ms < TICKET_FIRST_MS)
		return err_set(e, ERR_INPUT,
			       "spec.renewTime is before the year 2000");
	if (!json_is_unset(lasts) &&
	    (json_integer(lasts, &seconds) || seconds > INT32_MAX))
		return err_set(e, ERR_INPUT,
			       "spec.leaseDurationSeconds is no 32-bit number");
	shown_copy(t->holder, sizeof(t->holder),
		   json_is_unset(holder) ? NULL : json_string(holder));
	t->lasts_ms = seconds > 0 ? 1000 * (int64_t)seconds : 0;
	return 0;
}

static int
metadata_read(const struct json *meta, struct ticket *t, struct err *e)
{
	if (!json_is_object(meta))
		return err_set(e, ERR_INPUT, "metadata is missing");
	t->deleting = !json_is_unset(json_member(meta, "deletionTimestamp"));
	return meta_text_need(meta, "name", t->name, sizeof(t->name),
			      "metadata.name", e) ||
			       meta_text_need(meta, "uid", t->uid,
					      sizeof(t->uid), "metadata.uid",
					      e) ||
			       meta_text_need(meta, "resourceVersion", t->rv,
					      sizeof(t->rv),
					      "metadata.resourceVersion", e)
		       ? -1
		       : 0;
}

static int
ticket_read(void *out, const struct json *root, struct err *e)
{
	const struct json *meta = json_member(root, "metadata");
	struct ticket t = {.name = ""};

	if (metadata_read(meta, &t, e) || annotations_read(meta, &t, e) ||
	    spec_read(root, &t, e))
		return err_wrap(e, "Lease %s",
				t.name[0] != '\0' ? t.name : "?");
	*(struct ticket *)out = t;
	return 0;
}

/* The members that are read. */
static const struct json_keep annotations_keep[] = {
	{TICKET_NODEPOOLS_KEY, NULL}, {TICKET_REASON_KEY, NULL}, {NULL, NULL}};
static const struct json_keep metadata_keep[] = {
	{"name", NULL},
	{"uid", NULL},
	{"resourceVersion", NULL},
	{"deletionTimestamp", NULL},
	{"annotations", annotations_keep},
	{NULL, NULL}};
static const struct json_keep spec_keep[] = {{"holderIdentity", NULL},
					     {"renewTime", NULL},
					     {"leaseDurationSeconds", NULL},
					     {NULL, NULL}};
static const struct json_keep ticket_keep[] = {
	{"metadata", metadata_keep}, {"spec", spec_keep}, {NULL, NULL}};
static const struct json_keep line_object_keep[] = {WATCH_STATUS_KEEP,
						    {"metadata", metadata_keep},
						    {"spec", spec_keep},
						    {NULL, NULL}};
static const struct json_keep line_keep[] = {WATCH_LINE_KEEP(line_object_keep),
					     {NULL, NULL}};

int
ticket_decode(const char *bytes, size_t n, struct ticket *out, struct err *e)
{
	return watch_item_decode(bytes, n, ticket_keep, &json_bounds_small,
				 ticket_read, out, e);
}

int
ticket_watch_decode(const char *bytes, size_t n, enum watch_type *type,
		    struct ticket *out, int *status_code, struct err *e)
{
	char rv[RV_BYTES];

	if (watch_line_decode(bytes, n, line_keep, &json_bounds_small, type,
			      status_code, rv, ticket_read, out, e))
		return -1;
	if (*type == WATCH_BOOKMARK) {
		*out = (struct ticket){.renewed_ms = STAMP_NONE};
		memcpy(out->rv, rv, sizeof(out->rv));
	}
	return 0;
}

/* --- what cannot be read -------------------------------------------------- */

static int
name_read(void *out, const struct json *root, struct err *e)
{
	struct ticket t = {.renewed_ms = STAMP_NONE};

	/* The name is enough. */
	(void)metadata_read(json_member(root, "metadata"), &t, e);
	if (t.name[0] == '\0')
		return -1;
	*(struct ticket *)out = t;
	return 0;
}

static const struct json_keep name_keep[] = {
	{"name", NULL}, {"uid", NULL}, {"resourceVersion", NULL}, {NULL, NULL}};
static const struct json_keep item_name_keep[] = {{"metadata", name_keep},
						  {NULL, NULL}};
static const struct json_keep line_name_keep[] = {
	WATCH_LINE_KEEP(item_name_keep), {NULL, NULL}};

int
ticket_unread_decode(const char *bytes, size_t n, enum watch_type *type,
		     struct ticket *out, const struct err *why)
{
	const char *text = strstr(why->text, ": ");
	char fault[sizeof(out->fault) + sizeof(why->text)];

	if (watch_unread_decode(bytes, n,
				type == NULL ? item_name_keep : line_name_keep,
				type, name_read, out))
		return -1;
	(void)snprintf(fault, sizeof(fault), "it cannot be read: %s",
		       text != NULL ? text + 2 : why->text);
	str_cut(out->fault, sizeof(out->fault), fault);
	utf8_make_shown(out->fault);
	return 0;
}

/* --- writing -------------------------------------------------------------- */

static void
put_spec(struct buf *b, const struct ticket_draft *d, bool whole)
{
	char renewed[STAMP_US_BYTES];

	stamp_format_us(d->renewed_us, renewed);
	json_printf(b, ",'spec':{'renewTime':%s,'leaseDurationSeconds':%lld",
		    renewed, (long long)d->lasts_ms / 1000);
	if (whole)
		json_printf(b, ",'holderIdentity':%s", d->holder);
	buf_puts(b, "}");
}

/* Writes the annotations.  A text that is "" is left out of a new object, and a
 * patch removes it. */
static void
put_annotations(struct buf *b, const struct ticket_draft *d, bool patch)
{
	json_printf(b, ",'annotations':{");
	if (d->nodepools[0] != '\0' || patch)
		json_printf(b, ",%s:%s", TICKET_NODEPOOLS_KEY,
			    d->nodepools[0] != '\0' ? d->nodepools : NULL);
	if (d->reason[0] != '\0' || patch)
		json_printf(b, ",%s:%s", TICKET_REASON_KEY,
			    d->reason[0] != '\0' ? d->reason : NULL);
	buf_puts(b, "}");
}

void
ticket_create(struct buf *b, const struct ticket_draft *d)
{
	json_printf(b,
		    "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease',"
		    "'metadata':{'namespace':%s,'name':%s",
		    d->namespace_name, d->name);
	put_annotations(b, d, false);
	buf_puts(b, "}");
	put_spec(b, d, true);
	buf_puts(b, "}");
}

void
ticket_renew(struct buf *b, const struct ticket_draft *d, const char *rv)
{
	json_printf(b, "{'metadata':{'resourceVersion':%s}", rv);
	put_spec(b, d, false);
	buf_puts(b, "}");
}

void
ticket_replace(struct buf *b, const struct ticket_draft *d, const char *rv)
{
	json_printf(b, "{'metadata':{'resourceVersion':%s", rv);
	put_annotations(b, d, true);
	buf_puts(b, "}");
	put_spec(b, d, true);
	buf_puts(b, "}");
}

void
ticket_delete(struct buf *b, const char *uid, const char *rv)
{
	json_printf(b,
		    "{'apiVersion':'v1','kind':'DeleteOptions','preconditions'"
		    ":{'uid':%s,'resourceVersion':%s}}",
		    uid, rv);
}
