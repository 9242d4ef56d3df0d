/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_JSON_PRINTF_H
#define WIRE_JSON_JSON_PRINTF_H

#include "core/base/buf.h"

/*
 * Writes JSON.  The format is the text that comes out, with these exceptions:
 *	'	comes out as a quotation mark; apostrophes cannot be written
 *	%s	is a whole value: a string with its quotes, escaped as buf_json
 *		does, or null for NULL, or what json_bool returned
 *	%d %u %lld %llu %.Nf	are numbers
 *	%%	is a percent sign
 * A comma at the beginning of the format is left out if nothing precedes it in
 * its object or array, or in b.  So
 *	json_printf(b, ",'name':%s,'held':%s", name, json_bool(held));
 * writes two members, whether or not they are the first of their object.  buf.h
 * says what happens if there is no room.
 */
void json_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns true or false as an argument for %s. */
const char *json_bool(bool value);

#endif
