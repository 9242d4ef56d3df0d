/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DOCTOR_FINDING_H
#define CORE_DOCTOR_FINDING_H

#include <stdbool.h>

#include "core/base/limits.h"

/*
 * What `holderctl check` has found (docs/check.md).  A finding says what is
 * wrong, why it matters, and which command mends it.  The judges in
 * core/doctor/judge.h add findings; wire/doctor prints them.  The functions are
 * pure but for the struct findings they are given; any thread may call them.
 */
enum doctor_check {
	DOCTOR_API,
	DOCTOR_ADMISSION,
	DOCTOR_BUNDLE,
	DOCTOR_DRY_RUN,
	DOCTOR_RIGHTS,
	DOCTOR_KARPENTER,
	DOCTOR_NODEPOOLS,
	DOCTOR_HOLDER,
	DOCTOR_PLACEMENT,
	DOCTOR_LEFTOVERS,
	DOCTOR_CHECKS,
};

enum finding_level {
	FINDING_NONE, /* of a check: it found nothing */
	FINDING_WARNING,
	FINDING_ERROR,
};

/* What all findings of one kind have in common.  The strings are static. */
struct finding_kind {
	enum doctor_check check;
	enum finding_level level;
	const char *id;	 /* "webhook-missing", for programs */
	const char *why; /* why it matters: whole sentences */
};

#define FINDING_WHAT_BYTES 400
#define FINDING_MEND_BYTES 400
struct finding {
	const struct finding_kind *kind;
	char what[FINDING_WHAT_BYTES]; /* one line of UTF-8 */
	char mend[FINDING_MEND_BYTES]; /* a command, or what to do; one line */
};

#define FINDING_NOTE_BYTES 240
struct findings {
	unsigned n;
	struct finding at[FINDINGS_MAX];
	struct finding spare;	   /* the place for a new finding, also when
				      there is no room to keep it; errors
				      displace warnings */
	unsigned errors, warnings; /* those without room included */
	/* Of each check: whether it was made, its worst finding, and what it
	 * saw, one line. */
	struct {
		bool looked;
		bool partly; /* the note says what was not looked at */
		enum finding_level worst;
		char note[FINDING_NOTE_BYTES];
	} of[DOCTOR_CHECKS];
};

/* Makes *f one without findings, in which no check was made. */
void findings_init(struct findings *f);

/* Says that a check was made, and what it saw. */
void findings_looked(struct findings *f, enum doctor_check c, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

/* Says that a check was made in part, and what it could not look at. */
void findings_partly(struct findings *f, enum doctor_check c, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

/* Adds a finding, unless it is there already, and says what it is.  The caller
 * goes on with finding_mend.  The result stays valid until the next
 * findings_add. */
struct finding *findings_add(struct findings *f,
			     const struct finding_kind *kind, const char *fmt,
			     ...) __attribute__((format(printf, 3, 4)));
void finding_mend(struct finding *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds that something could not be looked at: `what` says what, and `why`, as
 * the API server or an error said it.  The level is a warning, or for the dry
 * run an error, because a check that proves nothing must not end well. */
void findings_unknown(struct findings *f, enum doctor_check c, const char *what,
		      const char *why);

/* Returns the name if it may stand in a command that a person copies into a
 * shell, and "NAME" otherwise.  Kubernetes allows no other names. */
const char *finding_name(const char *name);

/* Returns the name of the check, such as "api" or "admission".  Static. */
const char *finding_check_name(enum doctor_check c);

#endif
