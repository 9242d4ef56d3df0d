/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/doctor/finding.h"

/*
 * Every finding has a row, and `causes` names the findings that can bring it
 * about.  These stand in earlier rows.  A report follows the order of the rows,
 * so that no symptom stands before its cause.  tests/edge/test_check.py checks
 * that each id has a row, and that its causes stand before it.
 */
#define NO_PODS "pods-not-ready"
#define WAY                                                                    \
	"webhook-missing policy-unbound service-missing service-port "         \
	"service-target service-selector endpoints-missing"
#define CERTIFICATE "certificate-missing certificate-expired"
#define BUNDLE                                                                 \
	"bundle-missing bundle-unreadable bundle-expired bundle-other-ca "     \
	"served-expired served-other-name handshake-cut webhook-unreached"

static const struct row {
	const char *id, *causes;
} rows[] = {
	/* what everything else needs */
	{"api-unreachable", ""},
	{"holder-elsewhere", ""},
	{"kubernetes-version", ""},
	{"karpenter-crds", ""},
	{"karpenter-version", ""},
	{NO_PODS, ""},
	{"pods-some-not-ready", ""},
	{"rollout-unfinished", ""},
	{"holder-twice", ""},
	{"go-program", ""},
	{"right-missing", ""},
	{"write-policy-key", ""},
	{"tickets-namespace-missing", ""},
	{"right-renewer", ""},
	{"renewer-down", ""},
	/* the way from the API server to the holder */
	{"webhook-missing", ""},
	{"policy-unbound", ""},
	{"webhook-twice", ""},
	{"webhook-rules", ""},
	{"webhook-rules-wide", ""},
	{"webhook-match-conditions", ""},
	{"webhook-selector", ""},
	{"webhook-failure-policy", ""},
	{"webhook-settings", ""},
	{"service-missing", ""},
	{"service-port", ""},
	{"service-target", ""},
	{"service-selector", ""},
	{"endpoints-missing", NO_PODS " service-selector"},
	{"certificate-missing", NO_PODS " renewer-down right-renewer"},
	{"certificate-expired", "renewer-down right-renewer"},
	{"certificate-ends", ""},
	{"bundle-missing", "renewer-down right-renewer webhook-twice"},
	{"bundle-unreadable", "renewer-down right-renewer"},
	{"bundle-expired", "renewer-down right-renewer"},
	{"bundle-other-ca", "renewer-down right-renewer"},
	{"served-expired", "renewer-down certificate-expired"},
	{"served-other-name", ""},
	{"handshake-cut", NO_PODS " certificate-missing"},
	{"webhook-unreached", NO_PODS " " WAY},
	{"admission-foreign", ""},
	/* whether machines come held */
	{"nodepools-excluded", ""},
	{"dry-run-unknown",
	 "karpenter-crds webhook-failure-policy admission-foreign"},
	{"dry-run-unheld",
	 NO_PODS " " WAY " " CERTIFICATE " " BUNDLE
		 " webhook-rules webhook-match-conditions webhook-selector "
		 "webhook-settings admission-foreign "
		 "pods-some-not-ready rollout-unfinished nodepools-excluded"},
	{"dry-run-held", "pods-some-not-ready rollout-unfinished"},
	/* whether somebody holds and releases them */
	{"marks-without-holder", NO_PODS},
	{"holder-missing", NO_PODS},
	{"leader-silent", NO_PODS},
	{"leader-missing", NO_PODS " right-missing"},
	{"leader-unanswered", NO_PODS " pods-some-not-ready"},
	{"leader-blind", "karpenter-crds right-missing"},
	{"object-unread", ""},
	{"writes-refused", "right-missing write-policy-key admission-foreign"},
	{"holds-missing", "leader-blind right-missing write-policy-key "
			  "admission-foreign writes-refused"},
	{"marks-for-another-hold", ""},
	{"marks-while-observing", ""},
	{"observing-for-long", ""},
	{"configuration-stale", ""},
	/* Karpenter, and what Karpenter makes of the holds */
	{"karpenter-down", ""},
	{"karpenter-replacements", ""},
	{"nodepool-annotation", ""},
	{"nodepool-annotation-unknown", ""},
	{"nodepool-held-for-long", ""},
	{"pattern-unmatched", ""},
	{"nodepool-template-hold", ""},
	{"nodepool-static", ""},
	{"nodepool-never-consolidates", ""},
	{"nodepool-budget", ""},
	{"nodepool-expires", ""},
	/* what goes wrong later */
	{"one-replica", ""},
	{"budget-missing", ""},
	{"budget-blocks", ""},
	{"placement-one-node", ""},
	{"placement-movable", ""},
	{"placement-no-grace", ""},
	{"right-events", ""},
	{"write-policy-missing", ""},
	{"write-policy-unbound", ""},
	{"write-policy-elsewhere", ""},
	{"tickets-policy-missing", ""},
	{"tickets-policy-unbound", ""},
	{"go-rights", ""},
	{"go-annotations", ""},
	{"go-holds", ""},
	{"kubernetes-version-newer", ""},
	{"karpenter-version-newer", ""},
	/* what the check could not see */
	{"admission-unknown", ""},
	{"bundle-unknown", ""},
	{"rights-unknown", ""},
	{"karpenter-unknown", ""},
	{"nodepools-unknown", ""},
	{"holder-unknown", ""},
	{"placement-unknown", ""},
	{"leftovers-unknown", ""},
};
#define ROWS ((unsigned)(sizeof(rows) / sizeof(rows[0])))

static unsigned
row_of(const struct finding *x)
{
	unsigned i = 0;

	while (i < ROWS && strcmp(rows[i].id, x->kind->id) != 0)
		i++;
	return i;
}

/* Returns whether *cause can bring about *x. */
static bool
is_cause(const struct finding *cause, const struct finding *x)
{
	unsigned row = row_of(x);
	const char *id = cause->kind->id,
		   *at = row < ROWS ? rows[row].causes : "";
	size_t n = strlen(id);

	for (; (at = strstr(at, id)) != NULL; at += n)
		if ((at[n] == '\0' || at[n] == ' ') &&
		    (at == rows[row].causes || at[-1] == ' '))
			return true;
	return false;
}

/* Sorts by `rank`.  Findings of one rank keep their order. */
static void
sort(struct findings *f)
{
	for (unsigned i = 1, k; i < f->n; i++) {
		f->spare = f->at[i];
		for (k = i; k > 0 && f->at[k - 1].rank > f->spare.rank; k--)
			f->at[k] = f->at[k - 1];
		f->at[k] = f->spare;
	}
}

/* Returns whether an error among the findings can bring about *x. */
static bool
is_explained(const struct findings *f, const struct finding *x)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->at[i].kind->level == FINDING_ERROR &&
		    is_cause(&f->at[i], x))
			return true;
	return false;
}

bool
findings_want(const struct findings *f, const char *id)
{
	const struct finding_kind kind = {.id = id};
	const struct finding cause = {.kind = &kind};

	for (unsigned i = 0; i < f->n; i++)
		if (is_cause(&cause, &f->at[i]) && !is_explained(f, &f->at[i]))
			return true;
	return false;
}

void
findings_sort(struct findings *f)
{
	for (unsigned i = 0; i < f->n; i++)
		f->at[i].rank = row_of(&f->at[i]);
	sort(f);
	for (unsigned i = 0; i < f->n; i++) {
		struct finding *x = &f->at[i];

		x->urgent = x->kind->level == FINDING_ERROR;
		x->cause = NULL;
		for (unsigned k = 0; k < i && x->cause == NULL; k++)
			if (is_cause(&f->at[k], x))
				x->cause = f->at[k].kind;
	}
	/* What brings about an error is as urgent as the error. */
	for (unsigned i = f->n; i-- > 0;)
		for (unsigned k = 0; f->at[i].urgent && k < i; k++)
			f->at[k].urgent |= is_cause(&f->at[k], &f->at[i]);
	for (unsigned i = 0; i < f->n; i++)
		f->at[i].rank = i + (f->at[i].urgent ? 0 : FINDINGS_MAX);
	sort(f);
}
