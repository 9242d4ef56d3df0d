/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "wire/config/config.h"

static char first[CONFIG_PRINT_BYTES], second[CONFIG_PRINT_BYTES];

/* The value of the variable that config_env asks for. */
static const char *variable;

static char *
get(const char *name)
{
	(void)name;
	return (char *)(uintptr_t)variable;
}

static void
warn(void *ctx, const char *sentence)
{
	(void)ctx;
	PROMISE(sentence[0] != '\0' && strchr(sentence, '\n') == NULL);
}

/* Promises that what config_print writes is read back as the same. */
static void
check_print(const struct config *c)
{
	static struct config again;
	struct err e = {0};
	struct buf b;

	buf_init(&b, first, sizeof(first));
	config_print(c, &b);
	PROMISE(!b.full);
	config_defaults(&again);
	PROMISE(config_file(&again, "printed", first, b.len, NULL, &e) == 0);
	buf_init(&b, second, sizeof(second));
	config_print(&again, &b);
	PROMISE(strcmp(first, second) == 0);
}

static void
check_config(const struct config *c, const struct config_places *places)
{
	struct err e = {0};

	if (config_validate(c, places, &e))
		promise_refused(&e);
	else
		check_print(c);
	config_advise(c, warn, NULL);
}

/* Each line "NAME=VALUE" is a flag. */
static void
read_flags(char *s)
{
	static struct config c;
	struct config_places places = {.file = NULL};
	char *rest = s, *line;

	config_defaults(&c);
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *value = strchr(line, '=');
		struct err e = {0};
		bool known;

		if (value == NULL)
			continue;
		*value++ = '\0';
		if (config_flag(&c, line, value, &places, &known, &e))
			promise_refused(&e);
		else
			PROMISE(known);
	}
	check_config(&c, &places);
}

static void
read_environment(const char *s)
{
	static struct config c;
	struct err e = {0};

	variable = s;
	config_defaults(&c);
	if (config_env(&c, get, warn, NULL, &e))
		promise_refused(&e);
	else
		check_config(&c, NULL);
}

static void
check_help(size_t i)
{
	const char *name, *help;
	char def[64];

	if (config_flag_help(i, &name, &help, def))
		PROMISE(name[0] != '\0' && help[0] != '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct config c;
	struct config_places places = {.file = NULL};
	char *s = text_of_input(data, n);
	struct err e = {0};

	config_defaults(&c);
	if (config_file(&c, "file", (const char *)data, n, &places, &e))
		promise_refused(&e);
	else
		check_config(&c, &places);
	read_environment(s);
	(void)config_pattern_can_match(s);
	(void)syntax_label(s);
	check_help(n);
	read_flags(s);
	free(s);
	return 0;
}
