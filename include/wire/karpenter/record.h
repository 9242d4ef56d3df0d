/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_RECORD_H
#define WIRE_KARPENTER_RECORD_H

#include "core/base/buf.h"
#include "wire/karpenter/fact.h"

/*
 * Writes the record (docs/what-if.md#the-record): facts as lines of JSON,
 * between a head line and an end line that name the version.
 * wire/karpenter/reader reads the record.  Each function appends one line with
 * its newline to b.  They keep no state; any thread may call them.
 */
#define RECORD_VERSION "karpenter-node-holder.io/record/v1"

void record_head(struct buf *b);
/* Writes the end line, which says that the record has everything that happened
 * before until_ms. */
void record_end(struct buf *b, int64_t until_ms);
void record_write(struct buf *b, const struct fact *f);

#endif
