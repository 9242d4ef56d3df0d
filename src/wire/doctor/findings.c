/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/doctor/findings.h"

#include "wire/json/json_printf.h"

static const char *
outcome(const struct findings *f, int check)
{
	static const char *const words[] = {[FINDING_NONE] = "ok",
					    [FINDING_WARNING] = "warning",
					    [FINDING_ERROR] = "error"};

	if (!f->of[check].looked)
		return "skipped";
	if (f->of[check].partly && f->of[check].worst == FINDING_NONE)
		return "partly";
	return words[f->of[check].worst];
}

static const char *
level(const struct finding *x)
{
	return x->kind->level == FINDING_ERROR ? "error" : "warning";
}

static const char *
plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

void
findings_text(struct buf *b, const struct findings *f)
{
	for (int c = 0; c < DOCTOR_CHECKS; c++) {
		bool noted = f->of[c].worst == FINDING_NONE &&
			     f->of[c].note[0] != '\0';

		buf_printf(b, "%-10s %-*s%s\n",
			   finding_check_name((enum doctor_check)c),
			   noted ? 9 : 0, outcome(f, c),
			   noted ? f->of[c].note : "");
	}
	for (unsigned i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];

		buf_printf(b, "%s %s", level(x), x->kind->id);
		if (x->cause != NULL)
			buf_printf(b, " (follows from %s)", x->cause->id);
		buf_printf(b, ": %s\n    why: %s\n    fix: %s\n", x->what,
			   x->kind->why, x->fix);
	}
	if (f->errors + f->warnings > f->n)
		buf_printf(b, "%u more not shown\n",
			   f->errors + f->warnings - f->n);
	buf_printf(b, "%u error%s, %u warning%s\n", f->errors,
		   plural(f->errors), f->warnings, plural(f->warnings));
}

void
findings_json(struct buf *b, const struct findings *f, const char *version)
{
	json_printf(b,
		    "{'apiVersion':'check.karpenter-node-holder.io/v1',"
		    "'kind':'ClusterCheck','version':%s,'errors':%u,"
		    "'warnings':%u,'checks':[",
		    version, f->errors, f->warnings);
	for (int c = 0; c < DOCTOR_CHECKS; c++)
		json_printf(
			b, ",{'check':%s,'outcome':%s,'saw':%s}",
			finding_check_name((enum doctor_check)c), outcome(f, c),
			f->of[c].worst == FINDING_NONE ? f->of[c].note : "");
	json_printf(b, "],'findings':[");
	for (unsigned i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];

		json_printf(b,
			    ",{'check':%s,'level':%s,'id':%s,'cause':%s,"
			    "'what':%s,'why':%s,'fix':%s}",
			    finding_check_name(x->kind->check), level(x),
			    x->kind->id, x->cause == NULL ? NULL : x->cause->id,
			    x->what, x->kind->why, x->fix);
	}
	buf_puts(b, "]}\n");
}
