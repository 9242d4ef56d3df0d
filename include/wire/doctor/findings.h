/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_DOCTOR_FINDINGS_H
#define WIRE_DOCTOR_FINDINGS_H

#include "core/base/buf.h"
#include "core/doctor/finding.h"

/* Append all findings, as lines for people or as one JSON object
 * (docs/check.md).  REPORT_BYTES are enough.  Any thread may call them. */
#define REPORT_BYTES                                                           \
	(FINDINGS_MAX * 3 * (FINDING_WHAT_BYTES + FINDING_FIX_BYTES + 600) +   \
	 DOCTOR_CHECKS * 3 * (FINDING_NOTE_BYTES + 200) + 1024)
void findings_text(struct buf *b, const struct findings *f);
void findings_json(struct buf *b, const struct findings *f,
		   const char *version);

#endif
