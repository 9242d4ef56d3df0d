/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DOCTOR_FINDING_H
#define CORE_DOCTOR_FINDING_H

#include <stdbool.h>

#include "core/base/limits.h"

/*
 * What `holderctl check` has found (docs/check.md).  A finding says what is
 * wrong, why it matters, and which command fixes it.  The judges in
 * core/doctor/judge.h add findings; wire/doctor prints them.  The functions
 * change only the struct findings that they are given; any thread may call
 * them.
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
	FINDING_NONE, /* the check found nothing */
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
#define FINDING_FIX_BYTES 1000
struct finding {
	const struct finding_kind *kind;
	char what[FINDING_WHAT_BYTES]; /* one line of UTF-8 */
	char fix[FINDING_FIX_BYTES];   /* a command; one line */
	/* findings_sort sets these: the finding that brought this one about, or
	 * NULL; the place in the report; whether this is an error, or brought
	 * one about. */
	const struct finding_kind *cause;
	unsigned rank;
	bool urgent;
};

#define FINDING_NOTE_BYTES 240
struct findings {
	unsigned n;
	struct finding at[FINDINGS_MAX];
	/* A new finding is first made here.  If `at` is full, it stays here,
	 * unless it is an error and displaces a warning. */
	struct finding spare;
	/* Numbers of all findings, including those without room. */
	unsigned errors, warnings;
	/* For each check: whether it was made (`looked`), its worst finding,
	 * and a line about what it saw (`note`). */
	struct {
		bool looked;
		/* The check was made in part.  The note says what is
		 * missing. */
		bool partly;
		enum finding_level worst;
		char note[FINDING_NOTE_BYTES];
	} of[DOCTOR_CHECKS];
};

/* Makes *f empty: no check has been made, and nothing was found. */
void findings_init(struct findings *f);

/* Records that a check was made, and what it saw. */
void findings_looked(struct findings *f, enum doctor_check c, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

/* Records that a check was made in part, and what it could not examine. */
void findings_partly(struct findings *f, enum doctor_check c, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

/* Adds a finding of this kind, with the formatted text as its `what`, and
 * returns the finding.  If *f already has a finding of this kind with this
 * text, returns that finding.  The caller then sets its `fix` with finding_fix.
 * The result stays valid until the next findings_add. */
struct finding *findings_add(struct findings *f,
			     const struct finding_kind *kind, const char *fmt,
			     ...) __attribute__((format(printf, 3, 4)));
void finding_fix(struct finding *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds the finding that something could not be examined.  `what` names it, and
 * `why` is the reason in the words of the API server or of an error.  If these
 * name neither a right that is missing nor a webhook or policy, the command
 * reads `path` of the API server.  The level is a warning.  For the checks of
 * the API and of the dry run it is an error, because without these checks the
 * command has proved nothing and must not succeed.  The command may give the
 * right to whom `why` names, so of an answer that is not the API server's own
 * the caller sets another one. */
struct finding *findings_unknown(struct findings *f, enum doctor_check c,
				 const char *what, const char *why,
				 const char *path);

/* Sorts the findings for a report: causes before what follows from them, and
 * what is or brought about an error before the rest. */
void findings_sort(struct findings *f);

/* Returns whether a finding of this id could bring about one that no error
 * explains. */
bool findings_want(const struct findings *f, const char *id);

/* Shows which parts of the API server are healthy. */
#define READY_PATH "/readyz?verbose"

/* Returns the name if it is safe in a command that a person copies into a
 * shell, and "NAME" otherwise.  Every name that Kubernetes allows is safe. */
const char *finding_name(const char *name);

/* Returns the name of the check, such as "api" or "admission".  Static. */
const char *finding_check_name(enum doctor_check c);

#endif
