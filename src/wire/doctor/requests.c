/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "wire/api/nodepool.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/* --- SubjectAccessReview ---------------------------------------------------- */

static void
put_member(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "\"%s\":", key);
	buf_json(b, value);
}

void
access_review(struct buf *b, const struct right *r,
	      const struct doctor_place *p)
{
	char user[NAME_BYTES + NODEPOOL_BYTES + 32];

	buf_puts(b, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
		    "\"SubjectAccessReview\",\"spec\":{");
	(void)snprintf(user, sizeof(user), "system:serviceaccount:%s:%s",
		       p->namespace_, p->account);
	put_member(b, "user", user);
	buf_puts(b, ",\"groups\":[\"system:serviceaccounts\","
		    "\"system:authenticated\",");
	(void)snprintf(user, sizeof(user), "system:serviceaccounts:%s",
		       p->namespace_);
	buf_json(b, user);
	buf_puts(b, "],\"resourceAttributes\":{");
	put_member(b, "group", r->group);
	buf_puts(b, ",");
	put_member(b, "resource", r->resource);
	buf_puts(b, ",");
	put_member(b, "verb", r->verb);
	if (r->where != RIGHT_CLUSTER) {
		buf_puts(b, ",");
		put_member(b, "namespace",
			   r->where == RIGHT_OWN ? p->namespace_ : "default");
	}
	if (r->lease) {
		buf_puts(b, ",");
		put_member(b, "name", p->lease);
	}
	buf_puts(b, "}}}");
}

int
access_review_decode(const char *bytes, size_t n, bool *allowed, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_small, e);

	if (root == NULL)
		return -1;
	*allowed = json_is_true(
		json_member(json_member(root, "status"), "allowed"));
	return 0;
}

/* --- the dry run ------------------------------------------------------------ */

const char *const dry_run_paths[KIND_COUNT] = {
	[KIND_NODE] = "/api/v1/nodes?dryRun=All",
	[KIND_NODECLAIM] = "/apis/karpenter.sh/v1/nodeclaims?dryRun=All",
};

static const char *
or_check(const char *s)
{
	return s[0] == '\0' ? "check" : s;
}

void
dry_run_body(struct buf *b, enum kind kind, const struct nodepool_facts *n)
{
	buf_printf(b,
		   "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":"
		   "{\"generateName\":\"karpenter-node-holder-check-\","
		   "\"labels\":{",
		   kind == KIND_NODE ? "v1" : "karpenter.sh/v1",
		   kind_name(kind));
	put_member(b, NODEPOOL_LABEL, n->pool.name);
	buf_puts(b, "}},\"spec\":{");
	if (kind == KIND_NODE) {
		buf_puts(b, "\"taints\":[{\"key\":\"" UNREGISTERED_TAINT
			    "\",\"effect\":\"NoExecute\"}]}}");
		return;
	}
	buf_puts(b, "\"requirements\":[],\"nodeClassRef\":{");
	put_member(b, "group", or_check(n->class.group));
	buf_puts(b, ",");
	put_member(b, "kind", or_check(n->class.kind));
	buf_puts(b, ",");
	put_member(b, "name", or_check(n->class.name));
	buf_puts(b, "}}}");
}

int
dry_run_decode(const char *bytes, size_t n, bool *held, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const char *const mark[] = {"metadata", "annotations", MARK_KEY};

	if (root == NULL)
		return -1;
	*held = json_string(json_path(root, mark, 3)) != NULL;
	return 0;
}
