/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_keys.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

/*
 * The table of docs/configuration.md.  All of a row but its last cell, the
 * meaning, comes from the table of keys.  WRITE=1 (make configuration) writes
 * the rows into the document; each key keeps its meaning there, and a new one
 * gets its line of --help.
 */
#define DOCUMENT "docs/configuration.md"
#define HEAD                                                                   \
	"| key | default | values | flag, environment | meaning |\n"           \
	"|---|---|---|---|---|\n"
#define DOCUMENT_BYTES (256 << 10)

/* What config_env reads. */
static const struct {
	const char *name, *path;
} variables[] = {
	{"HOLD_DURATION", "holdDuration"},
	{"HOLD_ANNOTATION", "holdAnnotation.key"},
	{"MEMORY_LIMIT", "memoryLimit"},
};

static char document[DOCUMENT_BYTES], expected[DOCUMENT_BYTES];

static void
read_document(void)
{
	FILE *f = fopen(DOCUMENT, "r");
	size_t n;

	ck_assert_msg(f != NULL, DOCUMENT ": run this in the root of the tree");
	n = fread(document, 1, sizeof(document) - 1, f);
	document[n] = '\0';
	(void)fclose(f);
}

static void
write_document(void)
{
	FILE *f = fopen(DOCUMENT, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(expected, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static bool
is_of_words(const struct config_key *k)
{
	return k->type == TYPE_WORD || k->type == TYPE_BOOL;
}

static void
add_default(struct buf *b, const struct config_key *k)
{
	if (k->type == TYPE_PATTERNS)
		buf_printf(b, k->def[0] ? "`[\"%s\"]`" : "`[]`", k->def);
	else if (k->type == TYPE_TEXT || k->def[0] == '\0')
		buf_printf(b, "`\"%s\"`", k->def);
	else
		buf_printf(b, "`%s`", k->def);
}

/* Words are code, and "|" would end the cell. */
static void
add_values(struct buf *b, const struct config_key *k)
{
	if (k->off_only) {
		buf_printf(b, "`%s`", config_value_expected(k));
		return;
	}
	if (!is_of_words(k)) {
		buf_puts(b, config_value_expected(k));
		return;
	}
	buf_puts(b, "`");
	for (const char *s = k->words; *s != '\0'; s++)
		buf_puts(b, *s == '|' ? "`, `" : (char[]){*s, '\0'});
	buf_puts(b, "`");
}

static void
add_flag(struct buf *b, const struct config_key *k)
{
	if (k->flag != NULL)
		buf_printf(b, "`--%s`", k->flag);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (strcmp(variables[i].path, k->path) == 0)
			buf_printf(b, ", `$%s`", variables[i].name);
}

/* Adds the last cell of the row that begins with `key`, or the key's help. */
static void
add_meaning(struct buf *b, const struct config_key *k)
{
	char key[80];
	const char *row, *end;

	(void)snprintf(key, sizeof(key), "\n| `%s` |", k->path);
	row = strstr(document, key);
	if (row == NULL) {
		buf_puts(b, k->help);
		return;
	}
	row = row + 1;
	end = strchr(row, '\n');
	ck_assert_ptr_nonnull(end);
	for (int cell = 0; cell < 5; cell++) {
		row = memchr(row, '|', (size_t)(end - row));
		ck_assert_msg(row != NULL, DOCUMENT ": %s: too few cells",
			      k->path);
		row++;
	}
	ck_assert_int_gt(end - row, 3);
	buf_add(b, row + 1, (size_t)(end - row) - 3);
}

START_TEST(test_document)
{
	char *table, *after;
	struct buf b;

	read_document();
	table = strstr(document, HEAD);
	ck_assert_msg(table != NULL,
		      DOCUMENT ": no table with the head\n" HEAD);
	after = strstr(table, "\n\n");
	ck_assert_ptr_nonnull(after);

	buf_init(&b, expected, sizeof(expected));
	buf_add(&b, document, (size_t)(table - document));
	buf_puts(&b, HEAD);
	for (size_t i = 0; i < config_keys_n; i++) {
		buf_printf(&b, "| `%s` | ", config_keys[i].path);
		add_default(&b, &config_keys[i]);
		buf_puts(&b, " | ");
		add_values(&b, &config_keys[i]);
		buf_puts(&b, " | ");
		add_flag(&b, &config_keys[i]);
		buf_puts(&b, " | ");
		add_meaning(&b, &config_keys[i]);
		buf_puts(&b, " |\n");
	}
	buf_puts(&b, after + 1);
	ck_assert_msg(!b.full, DOCUMENT ": too long");
	if (getenv("WRITE") != NULL)
		write_document();
	else
		ck_assert_msg(strcmp(document, expected) == 0,
			      DOCUMENT " differs from the table of keys: "
				       "make configuration");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/configuration");
	TCase *t = tcase_create("document");

	tcase_add_test(t, test_document);
	suite_add_tcase(s, t);
	return suite_run(s);
}
