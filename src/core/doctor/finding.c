/* SPDX-License-Identifier: Apache-2.0 */
#include "core/doctor/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/utf8.h"

/*
 * Keeps the findings, and makes those that say that something could not be
 * examined.  Their commands depend on the words of the API server: a right that
 * is missing is given, and a webhook or policy that the API server blames is
 * shown.  All text is cut to one line that cannot control a terminal.
 */

/* Formats one line.  The text may quote the cluster, so it is kept on one line,
 * cannot control a terminal, and is cut after a whole character. */
static void
one_line_of(char *dst, size_t cap, const char *fmt, va_list ap)
{
	char text[2 * FINDING_FIX_BYTES];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	utf8_make_shown(text);
	str_cut(dst, cap, text);
}

void
findings_init(struct findings *f)
{
	memset(f, 0, sizeof(*f));
}

void
findings_looked(struct findings *f, enum doctor_check c, const char *fmt, ...)
{
	va_list ap;

	f->of[c].looked = true;
	va_start(ap, fmt);
	one_line_of(f->of[c].note, sizeof(f->of[c].note), fmt, ap);
	va_end(ap);
}

void
findings_partly(struct findings *f, enum doctor_check c, const char *fmt, ...)
{
	va_list ap;

	f->of[c].looked = f->of[c].partly = true;
	va_start(ap, fmt);
	one_line_of(f->of[c].note, sizeof(f->of[c].note), fmt, ap);
	va_end(ap);
}

/* Returns where to store the finding that is in f->spare.  If all places are
 * taken, an error replaces the last warning.  Any other finding stays in
 * f->spare, and is lost with the next one. */
static struct finding *
place_for(struct findings *f, enum finding_level level)
{
	if (f->n < FINDINGS_MAX)
		return &f->at[f->n++];
	for (unsigned i = f->n; level == FINDING_ERROR && i-- > 0;)
		if (f->at[i].kind->level == FINDING_WARNING)
			return &f->at[i];
	return &f->spare;
}

struct finding *
findings_add(struct findings *f, const struct finding_kind *kind,
	     const char *fmt, ...)
{
	struct finding *x = &f->spare;
	va_list ap;

	va_start(ap, fmt);
	one_line_of(x->what, sizeof(x->what), fmt, ap);
	va_end(ap);
	for (unsigned i = 0; i < f->n; i++)
		if (f->at[i].kind == kind &&
		    strcmp(f->at[i].what, x->what) == 0)
			return &f->at[i];
	x = place_for(f, kind->level);
	memmove(x->what, f->spare.what, sizeof(x->what));
	f->errors += kind->level == FINDING_ERROR;
	f->warnings += kind->level == FINDING_WARNING;
	f->of[kind->check].looked = true;
	if (kind->level > f->of[kind->check].worst)
		f->of[kind->check].worst = kind->level;
	x->kind = kind;
	x->fix[0] = '\0';
	return x;
}

void
finding_fix(struct finding *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	one_line_of(x->fix, sizeof(x->fix), fmt, ap);
	va_end(ap);
}

/* --- what could not be examined ------------------------------------------- */

#define UNKNOWN_WHY                                                            \
	"What cannot be read is not judged, so this check may have missed a "  \
	"fault. deploy/check and components/access have the rights for it."
static const struct finding_kind unknown[DOCTOR_CHECKS] = {
	[DOCTOR_API] = {DOCTOR_API, FINDING_ERROR, "api-unreachable",
			"Without the API server nothing can be checked."},
	[DOCTOR_ADMISSION] = {DOCTOR_ADMISSION, FINDING_WARNING,
			      "admission-unknown", UNKNOWN_WHY},
	[DOCTOR_BUNDLE] = {DOCTOR_BUNDLE, FINDING_WARNING, "bundle-unknown",
			   UNKNOWN_WHY},
	[DOCTOR_DRY_RUN] = {DOCTOR_DRY_RUN, FINDING_ERROR, "dry-run-unknown",
			    "Only such a creation proves that new machines "
			    "come held."},
	[DOCTOR_RIGHTS] = {DOCTOR_RIGHTS, FINDING_WARNING, "rights-unknown",
			   UNKNOWN_WHY},
	[DOCTOR_KARPENTER] = {DOCTOR_KARPENTER, FINDING_WARNING,
			      "karpenter-unknown", UNKNOWN_WHY},
	[DOCTOR_NODEPOOLS] = {DOCTOR_NODEPOOLS, FINDING_WARNING,
			      "nodepools-unknown", UNKNOWN_WHY},
	[DOCTOR_HOLDER] = {DOCTOR_HOLDER, FINDING_WARNING, "holder-unknown",
			   UNKNOWN_WHY},
	[DOCTOR_PLACEMENT] = {DOCTOR_PLACEMENT, FINDING_WARNING,
			      "placement-unknown", UNKNOWN_WHY},
	[DOCTOR_LEFTOVERS] = {DOCTOR_LEFTOVERS, FINDING_WARNING,
			      "leftovers-unknown", UNKNOWN_WHY},
};

#define WEBHOOKS                                                               \
	"kubectl get mutatingwebhookconfigurations,"                           \
	"validatingwebhookconfigurations -o 'custom-columns=KIND:.kind,"       \
	"NAME:.metadata.name,WEBHOOKS:.webhooks[*].name,"                      \
	"NAMESPACE:.webhooks[*].clientConfig.service.namespace,"               \
	"SERVICE:.webhooks[*].clientConfig.service.name,"                      \
	"POLICY:.webhooks[*].failurePolicy' | grep "
/* What the API server says before the name of a webhook or policy that it
 * blames, and the command about it, without that name. */
static const struct {
	const char *words, *before, *after;
} blamed[] = {
	{"failed calling webhook \"", WEBHOOKS, ""},
	{"admission webhook \"", WEBHOOKS, ""},
	{"ValidatingAdmissionPolicy '",
	 "kubectl get validatingadmissionpolicy ", " -o yaml"},
};

/* Returns the quoted name that follows these words, if it is safe in a command,
 * or NULL if the words are not there. */
static const char *
name_after(const char *text, const char *words, char name[NAME_BYTES])
{
	const char *at = strstr(text, words);

	if (at == NULL)
		return NULL;
	at += strlen(words);
	(void)snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(at, "\"'"), at);
	return finding_name(name);
}

/* Returns whether the API server itself has said which right its caller lacks.
 * What a webhook or policy says must not give rights to whom it names. */
static bool
lacks_right(const char *why)
{
	static const char words[] = " is forbidden: User \"";
	const char *at = strstr(why, " is forbidden: ");

	return strncmp(why, "403", 3) == 0 && at != NULL &&
	       strncmp(at, words, sizeof(words) - 1) == 0;
}

/* Gives the Job's account its rights again, in its namespace.  `kubectl auth
 * reconcile` takes only what is about rights.  It succeeds if it gets none. */
static void
fix_check(struct finding *x, const char *user)
{
	static const char words[] = "system:serviceaccount:";
	const char *ns = "karpenter-node-holder";
	int n = (int)strlen(ns);

	if (user != NULL && strncmp(user, words, sizeof(words) - 1) == 0) {
		ns = user + sizeof(words) - 1;
		n = (int)strcspn(ns, ":");
	}
	finding_fix(x,
		    "kubectl kustomize deploy/check >/dev/null && kubectl "
		    "kustomize deploy/check | sed 's|namespace: "
		    "karpenter-node-holder$|namespace: %.*s|' | kubectl auth "
		    "reconcile -f -",
		    n, ns);
}

static void
fix_right(struct finding *x, const char *why)
{
	char name[NAME_BYTES], where[NAME_BYTES];
	const char *user = name_after(why, "User \"", name);
	const char *ns = name_after(why, "in the namespace \"", where);

	if (user == NULL || strstr(user, ":node-holder-check") != NULL)
		fix_check(x, user);
	else
		finding_fix(x,
			    "kubectl %s%s%screate %srolebinding "
			    "karpenter-node-holder-checker:%s "
			    "--%srole=karpenter-node-holder-checker --user=%s",
			    ns == NULL ? "" : "-n ", ns == NULL ? "" : ns,
			    ns == NULL ? "" : " ", ns == NULL ? "cluster" : "",
			    user, ns == NULL ? "cluster" : "", user);
}

struct finding *
findings_unknown(struct findings *f, enum doctor_check c, const char *what,
		 const char *why, const char *path)
{
	struct finding *x = findings_add(f, &unknown[c], "%s: %s", what, why);
	char name[NAME_BYTES];

	for (size_t i = 0; i < sizeof(blamed) / sizeof(blamed[0]); i++)
		if (name_after(why, blamed[i].words, name) != NULL) {
			finding_fix(x, "%s%s%s", blamed[i].before,
				    finding_name(name), blamed[i].after);
			return x;
		}
	if (lacks_right(why))
		fix_right(x, why);
	else
		finding_fix(x, "kubectl get --raw '%s'", path);
	return x;
}

/* --- names ---------------------------------------------------------------- */

const char *
finding_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:/@";
	size_t n = strspn(name, allowed);

	return n > 0 && name[n] == '\0' && name[0] != '-' ? name : "NAME";
}

const char *
finding_check_name(enum doctor_check c)
{
	static const char *const names[DOCTOR_CHECKS] = {
		[DOCTOR_API] = "api",
		[DOCTOR_ADMISSION] = "admission",
		[DOCTOR_BUNDLE] = "ca-bundle",
		[DOCTOR_DRY_RUN] = "dry-run",
		[DOCTOR_RIGHTS] = "rights",
		[DOCTOR_KARPENTER] = "karpenter",
		[DOCTOR_NODEPOOLS] = "nodepools",
		[DOCTOR_HOLDER] = "holder",
		[DOCTOR_PLACEMENT] = "placement",
		[DOCTOR_LEFTOVERS] = "leftovers",
	};

	return names[c];
}
