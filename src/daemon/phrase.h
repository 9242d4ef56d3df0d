/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_PHRASE_H
#define DAEMON_PHRASE_H

#include "core/rules/rules.h"

/* The message of a log line about a decision.  `phrase` is a string literal.
 * With MODE_OBSERVE the message begins with "observe: ", because nothing was
 * done. */
#define PHRASE(rules, phrase)                                                  \
	((rules)->mode == MODE_OBSERVE ? "observe: " phrase : phrase)

#endif
