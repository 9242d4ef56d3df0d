/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/doctor/judge.h"

/*
 * Judges a NodePool: what makes a hold useless or too long, and what people
 * have written in its annotations.  An annotation is often the only trace of
 * what its writer wanted, so no command here changes what a person meant: it
 * moves or removes a key only if it is sure which one was meant.
 */

static const struct finding_kind
	template_hold =
		{DOCTOR_NODEPOOLS, FINDING_WARNING, "nodepool-template-hold",
		 "On each of its machines it counts as a person's. With "
		 "the value true Karpenter never disrupts the machine, "
		 "and with any other the holder never holds it. Take it out of "
		 "the template, or say that the holder leaves this "
		 "NodePool alone."},
	fixed = {DOCTOR_NODEPOOLS, FINDING_WARNING, "nodepool-static",
		 "The holder leaves it alone, because Karpenter never "
		 "consolidates a static NodePool and a hold would only block "
		 "its drift. If that is meant, say so and this warning ends."},
	never = {DOCTOR_NODEPOOLS, FINDING_WARNING,
		 "nodepool-never-consolidates",
		 "The holder leaves it alone, because with consolidateAfter "
		 "Never a hold would only block its drift. If that is meant, "
		 "say so and this warning ends."},
	blocked =
		{DOCTOR_NODEPOOLS, FINDING_WARNING, "nodepool-budget",
		 "Karpenter disrupts none of its machines of its own accord, "
		 "held or not, so a hold changes nothing. Change the budgets, "
		 "or say that the holder leaves this NodePool alone."},
	expires = {DOCTOR_NODEPOOLS, FINDING_WARNING, "nodepool-expires",
		   "Karpenter takes an expired machine away although it is "
		   "held, so its machines go before their hold has ended. The "
		   "command shortens the hold. A longer expireAfter instead "
		   "makes all nodes of the NodePool drift, and Karpenter then "
		   "replaces them."},
	annotation = {DOCTOR_NODEPOOLS, FINDING_WARNING, "nodepool-annotation",
		      "The holder ignores a value that it cannot read."},
	unknown = {DOCTOR_NODEPOOLS, FINDING_WARNING,
		   "nodepool-annotation-unknown",
		   "The holder ignores an annotation that it does not know, so "
		   "what it was to do is not done."},
	unread = {DOCTOR_NODEPOOLS, FINDING_WARNING,
		  "nodepool-annotation-unknown",
		  "The holder reads annotations of the NodePool, and none of "
		  "its template. To take one out of the template drifts all "
		  "nodes of the NodePool, and Karpenter then replaces them."},
	far = {DOCTOR_NODEPOOLS, FINDING_WARNING, "nodepool-held-for-long",
	       "Until then Karpenter disrupts none of its machines of its own "
	       "accord. So far ahead it is often a wrong year. To end the hold "
	       "earlier, take the annotation away or give it another time."};

static void
judge_alone(const struct nodepool_facts *n, struct findings *f)
{
	const char *name = n->pool.name;
	struct finding *x;

	if (n->fixed)
		x = findings_add(f, &fixed,
				 "NodePool %s is static (spec.replicas)", name);
	else
		x = findings_add(f, &never,
				 "NodePool %s has consolidateAfter: Never",
				 name);
	finding_fix(x,
		    "kubectl annotate nodepool %s " OWN_PREFIX "enabled=false",
		    finding_name(name));
}

static void
judge_expiry(const struct nodepool_facts *n, const struct rules *r,
	     struct findings *f)
{
	int64_t hold = n->pool.hold_ms >= 0 ? n->pool.hold_ms : r->hold_ms;
	char after[DURATION_BYTES], held[DURATION_BYTES], half[DURATION_BYTES];
	const char *name = n->pool.name;

	if (n->expire_ms < 0 || n->expire_ms > hold)
		return;
	duration_format(n->expire_ms, after);
	duration_format(hold, held);
	duration_format(n->expire_ms / 2, half);
	finding_fix(findings_add(f, &expires,
				 "NodePool %s: expireAfter %s, and a machine "
				 "is held for %s",
				 name, after, held),
		    "kubectl annotate nodepool %s --overwrite %s=%s",
		    finding_name(name),
		    half[0] == '0' ? OWN_PREFIX "enabled"
				   : nodepool_key_name(NODEPOOL_HOLD_DURATION),
		    half[0] == '0' ? "false" : half);
}

#define ANNOTATIONS "/metadata/annotations"

/* Writes the JSON pointer of a key. */
static void
put_pointer(struct buf *b, const char *map, const char *key)
{
	buf_printf(b, "%s/", map);
	for (const char *s = finding_name(key); *s != '\0'; s++)
		buf_printf(b, *s == '/' ? "~1" : "%c", *s);
}

/* The API server moves the value, so no shell sees it.  If the right annotation
 * is there by now, the test fails, and so it does if there are annotations
 * where none were.  A change of the template would drift all nodes. */
static void
fix_strange(struct finding *x, const char *name, const struct strange_key *s)
{
	static const char *const maps[] = {
		[STRANGE_ANNOTATION] = ANNOTATIONS,
		[STRANGE_LABEL] = "/metadata/labels",
	};
	char from[KEY_BYTES + 60], to[KEY_BYTES + 60];
	struct buf a, b;

	if (s->where == STRANGE_TEMPLATE || s->meant[0] == '\0') {
		finding_fix(x, "kubectl get nodepool %s -o yaml",
			    finding_name(name));
		return;
	}
	buf_init(&a, from, sizeof(from));
	put_pointer(&a, maps[s->where], s->key);
	buf_init(&b, to, sizeof(to));
	put_pointer(&b, ANNOTATIONS, s->meant);
	if (s->beside)
		finding_fix(
			x,
			"kubectl patch nodepool %s --type=json -p '[{\"op\":"
			"\"remove\",\"path\":\"%s\"}]'",
			finding_name(name), from);
	else
		finding_fix(
			x,
			"kubectl patch nodepool %s --type=json -p '[{\"op\":"
			"\"test\",\"path\":\"%s\",\"value\":null},%s{\"op\":"
			"\"move\",\"from\":\"%s\",\"path\":\"%s\"}]'",
			finding_name(name), s->bare ? ANNOTATIONS : to,
			s->bare ? "{\"op\":\"add\",\"path\":\"" ANNOTATIONS
				  "\",\"value\":{}},"
				: "",
			from, to);
}

static void
judge_strange(const char *name, const struct strange_key *s, struct findings *f)
{
	static const char *const said[][2] = {
		[STRANGE_ANNOTATION] = {"there is no annotation ", ""},
		[STRANGE_LABEL] = {"", " is a label and no annotation"},
		[STRANGE_TEMPLATE] = {"its template has the annotation ", ""},
	};
	bool known = s->meant[0] != '\0';

	fix_strange(
		findings_add(f,
			     s->where == STRANGE_TEMPLATE ? &unread : &unknown,
			     "NodePool %s: %s%s%s%s%s%s%s", name,
			     said[s->where][0], s->key, said[s->where][1],
			     known ? "; did you mean " : "", s->meant,
			     s->beside ? ", which it has, too" : "",
			     known ? "?" : ""),
		name, s);
}

static void
judge_annotations(const struct nodepool_facts *n, struct findings *f)
{
	const struct nodepool *p = &n->pool;

	for (int i = 0; i < DOCTOR_STRANGE_MAX && n->strange[i].key[0]; i++)
		judge_strange(p->name, &n->strange[i], f);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		enum nodepool_key key = (enum nodepool_key)k;

		if (p->bad[k][0] == '\0')
			continue;
		finding_fix(findings_add(f, &annotation,
					 "NodePool %s: %s: \"%s\", expected "
					 "%s",
					 p->name, nodepool_key_name(key),
					 p->bad[k], nodepool_expected(key)),
			    "kubectl annotate nodepool %s %s-",
			    finding_name(p->name), nodepool_key_name(key));
	}
}

enum study_row
judge_consolidation(const struct nodepool_facts *n, const struct rules *r)
{
	if (n->pool.inert || n->pool.disabled ||
	    !rules_nodepool_included(r, n->pool.name))
		return STUDY_SILENT;
	if (n->only_empty)
		return STUDY_EMPTY;
	if (n->consolidate_ms == 0)
		return STUDY_EAGER;
	return n->consolidate_ms >= 300000 ? STUDY_PATIENT : STUDY_SILENT;
}

static void
judge_hold_until(const struct nodepool *p, int64_t now_ms, struct findings *f)
{
	char until[STAMP_BYTES];

	if (p->hold_until_ms == STAMP_NONE ||
	    p->hold_until_ms - now_ms <= DOCTOR_FAR_MS)
		return;
	stamp_format(p->hold_until_ms, until);
	finding_fix(
		findings_add(f, &far,
			     "NodePool %s is held by hold-until %s, for "
			     "another %lld days",
			     p->name, until,
			     (long long)(p->hold_until_ms - now_ms) / 86400000),
		"kubectl annotate nodepool %s %s-", finding_name(p->name),
		nodepool_key_name(NODEPOOL_HOLD_UNTIL));
}

void
judge_nodepool(const struct nodepool_facts *n, const struct rules *r,
	       int64_t now_ms, struct findings *f)
{
	const char *name = n->pool.name;

	judge_annotations(n, f);
	if (n->pool.disabled || !rules_nodepool_included(r, name))
		return;
	judge_hold_until(&n->pool, now_ms, f);
	if (n->template_holds)
		finding_fix(findings_add(f, &template_hold,
					 "NodePool %s: its template sets the "
					 "annotation %s",
					 name, r->hold.key),
			    "kubectl annotate nodepool %s " OWN_PREFIX
			    "enabled=false",
			    finding_name(name));
	if (n->fixed || n->never) {
		judge_alone(n, f);
		return;
	}
	if (n->blocked)
		finding_fix(findings_add(f, &blocked,
					 "NodePool %s: its budgets allow "
					 "no disruption at any time",
					 name),
			    "kubectl annotate nodepool %s " OWN_PREFIX
			    "enabled=false",
			    finding_name(name));
	judge_expiry(n, r, f);
}
