/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/doctor/report.h"

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
			   doctor_check_name((enum doctor_check)c),
			   noted ? 9 : 0, outcome(f, c),
			   noted ? f->of[c].note : "");
		for (unsigned i = 0; i < f->n; i++) {
			const struct finding *x = &f->at[i];

			if (x->kind->check != (enum doctor_check)c)
				continue;
			buf_printf(b, "    %s %s: %s\n",
				   x->kind->level == FINDING_ERROR ? "error"
								   : "warning",
				   x->kind->id, x->what);
			buf_printf(b, "        why:  %s\n", x->kind->why);
			buf_printf(b, "        mend: %s\n", x->mend);
		}
	}
	if (f->errors + f->warnings > f->n)
		buf_printf(b, "%u more not shown\n",
			   f->errors + f->warnings - f->n);
	buf_printf(b, "%u error%s, %u warning%s\n", f->errors,
		   plural(f->errors), f->warnings, plural(f->warnings));
}

static void
put_finding(struct buf *b, const struct finding *x)
{
	buf_printf(b, "{\"check\":\"%s\",\"level\":\"%s\",\"id\":\"%s\",",
		   doctor_check_name(x->kind->check),
		   x->kind->level == FINDING_ERROR ? "error" : "warning",
		   x->kind->id);
	buf_puts(b, "\"what\":");
	buf_json(b, x->what);
	buf_puts(b, ",\"why\":");
	buf_json(b, x->kind->why);
	buf_puts(b, ",\"mend\":");
	buf_json(b, x->mend);
	buf_puts(b, "}");
}

void
findings_json(struct buf *b, const struct findings *f, const char *version)
{
	buf_printf(b,
		   "{\"apiVersion\":\"check.karpenter-node-holder.io/v1\","
		   "\"kind\":\"ClusterCheck\",\"version\":\"%s\",\"errors\":%u,"
		   "\"warnings\":%u,\"checks\":[",
		   version, f->errors, f->warnings);
	for (int c = 0; c < DOCTOR_CHECKS; c++) {
		buf_printf(b, "%s{\"check\":\"%s\",\"outcome\":\"%s\",\"saw\":",
			   c == 0 ? "" : ",",
			   doctor_check_name((enum doctor_check)c),
			   outcome(f, c));
		buf_json(b, f->of[c].worst == FINDING_NONE ? f->of[c].note
							   : "");
		buf_puts(b, "}");
	}
	buf_puts(b, "],\"findings\":[");
	for (unsigned i = 0; i < f->n; i++) {
		if (i > 0)
			buf_puts(b, ",");
		put_finding(b, &f->at[i]);
	}
	buf_puts(b, "]}\n");
}
