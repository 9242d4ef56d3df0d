/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "wire/api/nodepool.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

/* --- SubjectAccessReview -------------------------------------------------- */

void
facts_access_body(struct buf *b, const struct right *r,
		  const struct doctor_place *p)
{
	char user[NAME_BYTES + NODEPOOL_BYTES + 32], group[sizeof(user)];

	const char *const names[] = {[RIGHT_LEASE] = p->lease,
				     [RIGHT_SECRET] = p->secret,
				     [RIGHT_WEBHOOK] = p->configuration};
	const char *const places[] = {[RIGHT_OWN] = p->namespace_,
				      [RIGHT_DEFAULT] = "default",
				      [RIGHT_OF_TICKETS] = p->tickets};

	(void)snprintf(user, sizeof(user), "system:serviceaccount:%s:%s",
		       p->namespace_,
		       r->use == RIGHT_RENEWS ? p->renewer_account
					      : p->account);
	(void)snprintf(group, sizeof(group), "system:serviceaccounts:%s",
		       p->namespace_);
	json_printf(b,
		    "{'apiVersion':'authorization.k8s.io/v1',"
		    "'kind':'SubjectAccessReview','spec':{'user':%s,"
		    "'groups':['system:serviceaccounts',"
		    "'system:authenticated',%s],'resourceAttributes':{"
		    "'group':%s,'resource':%s,'verb':%s",
		    user, group, r->group, r->resource, r->verb);
	if (r->where != RIGHT_CLUSTER)
		json_printf(b, ",'namespace':%s", places[r->where]);
	if (r->name != RIGHT_ANY)
		json_printf(b, ",'name':%s", names[r->name]);
	buf_puts(b, "}}}");
}

int
facts_access_decode(const char *bytes, size_t n, bool *allowed, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_small, e);

	if (root == NULL)
		return -1;
	*allowed = json_is_true(
		json_member(json_member(root, "status"), "allowed"));
	return 0;
}

/* --- the dry run ---------------------------------------------------------- */

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
facts_dry_run_body(struct buf *b, enum kind kind,
		   const struct nodepool_facts *n)
{
	json_printf(b,
		    "{'apiVersion':%s,'kind':%s,'metadata':{"
		    "'generateName':'karpenter-node-holder-check-','labels':{"
		    "'" NODEPOOL_LABEL "':%s}},'spec':{",
		    kind == KIND_NODE ? "v1" : "karpenter.sh/v1",
		    object_kind_name(kind), n->pool.name);
	if (kind == KIND_NODE)
		json_printf(b, "'taints':[{'key':'" UNREGISTERED_TAINT
			       "','effect':'NoExecute'}]}}");
	else
		json_printf(b,
			    "'requirements':[],'nodeClassRef':{"
			    "'group':%s,'kind':%s,'name':%s}}}",
			    or_check(n->class.group), or_check(n->class.kind),
			    or_check(n->class.name));
}

int
facts_dry_run_decode(const char *bytes, size_t n, bool *held, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const char *const mark[] = {"metadata", "annotations", MARK_KEY};

	if (root == NULL)
		return -1;
	*held = json_string(json_path(root, mark, 3)) != NULL;
	return 0;
}
