/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serving_cert.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edge/certs/certs.h"
#include "edge/log.h"
#include "suite.h"

/*
 * Which pair is served, and when the files are read.  The linker puts the
 * functions below in place of the clock, of the reader of certificates, of the
 * server and of the log.  What certs_load would find in the files is `on_disk`.
 */
struct now __wrap_clock_now(const struct clock *c);
int __wrap_certs_load(const char *cert_file, const char *key_file,
		      int64_t now_ms, struct certs_pair *out, struct err *e);
int __wrap_server_rotate(struct server *s, const char *cert_pem,
			 size_t cert_bytes, const char *key_pem,
			 size_t key_bytes, struct err *e);
void __wrap_log_fields(enum log_level level, const char *phrase,
		       const struct log_field *fields);

#define T INT64_C(1767323045000)	/* the API server's time */
#define AGAIN_MS 10000			/* without a change: read after it */

struct candidate {
	const char *pem, *serial;
	const char *fault;	/* not NULL: it is refused for that reason */
	bool is_ca;
};

static struct now now;
static struct candidate on_disk;
static const char *touched;	/* this file changes while it is read, once */
static unsigned loads, rotations;
static int64_t checked_at_ms;
static bool rotate_fails;
static char served[32];
static enum log_level log_level;	/* of the last line logged */
static const char *log_phrase;

static struct counters counters;
static struct config config;
static struct serving_cert pair;
static char cert_file[] = "/tmp/test_serving_cert.XXXXXX";
static char key_file[] = "/tmp/test_serving_key.XXXXXX";

struct now
__wrap_clock_now(const struct clock *c)
{
	(void)c;
	return now;
}

static void
touch(const char *file)
{
	FILE *f = fopen(file, "a");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fputs("x", f), 1);
	ck_assert_int_eq(fclose(f), 0);
}

int
__wrap_certs_load(const char *cert, const char *key, int64_t now_ms,
		  struct certs_pair *out, struct err *e)
{
	ck_assert_str_eq(cert, cert_file);
	ck_assert_str_eq(key, key_file);
	loads++;
	checked_at_ms = now_ms;
	if (touched != NULL) {
		touch(touched);
		touched = NULL;
		return err_set(e, ERR_INPUT, "halves that do not match");
	}
	if (on_disk.fault != NULL)
		return err_set(e, ERR_INPUT, "%s", on_disk.fault);
	*out = (struct certs_pair){
		.cert_pem = strdup(on_disk.pem),
		.key_pem = strdup("key"),
		.cert_bytes = strlen(on_disk.pem),
		.key_bytes = 3,
		.not_before_ms = T - 1000,
		.not_after_ms = T + 3600000,
		.is_ca = on_disk.is_ca,
	};
	(void)snprintf(out->serial, sizeof(out->serial), "%s", on_disk.serial);
	return 0;
}

int
__wrap_server_rotate(struct server *s, const char *cert_pem, size_t cert_bytes,
		     const char *key_pem, size_t key_bytes, struct err *e)
{
	(void)s;
	(void)key_pem;
	(void)key_bytes;
	if (rotate_fails)
		return err_set(e, ERR_TLS, "not to be read");
	rotations++;
	(void)snprintf(served, sizeof(served), "%.*s", (int)cert_bytes,
		       cert_pem);
	return 0;
}

void
__wrap_log_fields(enum log_level level, const char *phrase,
		  const struct log_field *fields)
{
	(void)fields;
	log_level = level;
	log_phrase = phrase;
}

static void
file_new(char *path)
{
	int fd;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static void
setup(void)
{
	file_new(cert_file);
	file_new(key_file);
	strcpy(config.webhook.cert_file, cert_file);
	strcpy(config.webhook.key_file, key_file);
	now = (struct now){.server_ms = T, .boot_ms = 1000};
	on_disk = (struct candidate){.pem = "first", .serial = "01"};
	touched = NULL;
	loads = rotations = 0;
	rotate_fails = false;
	served[0] = '\0';
	log_phrase = "";
	memset(&counters, 0, sizeof(counters));
	serving_cert_init(&pair, &config, NULL, &counters, NULL);
}

static void
teardown(void)
{
	(void)unlink(cert_file);
	(void)unlink(key_file);
}

/* Looks once more, so late that the files are read in any case. */
static void
look_later(void)
{
	now.boot_ms += AGAIN_MS;
	serving_cert_look(&pair);
}

static void
expect(const char *pem, unsigned reads, unsigned errors)
{
	ck_assert_str_eq(served, pem);
	ck_assert_uint_eq(counters.at[COUNTER_CERT_READS], reads);
	ck_assert_uint_eq(counters.at[COUNTER_CERT_ERRORS], errors);
}

START_TEST(test_the_first_usable_pair_is_served)
{
	on_disk.fault = "no such file";
	serving_cert_look(&pair);
	expect("", 0, 1);
	ck_assert(!serving_cert_valid(&pair));
	on_disk.fault = NULL;
	look_later();
	expect("first", 1, 1);
	ck_assert(serving_cert_valid(&pair));
}
END_TEST

START_TEST(test_the_pair_that_is_served_is_not_served_again)
{
	serving_cert_look(&pair);
	look_later();
	touch(cert_file);
	look_later();
	ck_assert_uint_eq(loads, 3);
	ck_assert_uint_eq(rotations, 1);
	expect("first", 1, 0);
}
END_TEST

START_TEST(test_a_new_pair_is_served)
{
	serving_cert_look(&pair);
	on_disk = (struct candidate){.pem = "second", .serial = "02"};
	look_later();
	expect("second", 2, 0);
}
END_TEST

START_TEST(test_a_new_pair_with_the_old_serial_number_is_served)
{
	serving_cert_look(&pair);
	on_disk = (struct candidate){.pem = "second", .serial = "01"};
	look_later();
	expect("second", 2, 0);
}
END_TEST

START_TEST(test_a_pair_that_is_not_usable_leaves_the_old_one)
{
	serving_cert_look(&pair);
	on_disk = (struct candidate){.fault = "expired"};
	look_later();
	expect("first", 1, 1);
	ck_assert(serving_cert_valid(&pair));
	on_disk = (struct candidate){.pem = "first", .serial = "01"};
	look_later();
	ck_assert_uint_eq(rotations, 1);
	ck_assert_str_eq(log_phrase, "certificate usable again");
	log_phrase = "";
	look_later();
	ck_assert_str_eq(log_phrase, "");
}
END_TEST

START_TEST(test_a_pair_that_the_server_cannot_read_leaves_the_old_one)
{
	serving_cert_look(&pair);
	on_disk = (struct candidate){.pem = "second", .serial = "02"};
	rotate_fails = true;
	look_later();
	expect("first", 1, 1);
	ck_assert_str_eq(pair.serial, "01");
	rotate_fails = false;
	look_later();
	expect("second", 2, 1);
}
END_TEST

START_TEST(test_a_pair_that_is_a_CA_is_served_with_a_warning)
{
	on_disk.is_ca = true;
	serving_cert_look(&pair);
	expect("first", 1, 0);
	ck_assert(serving_cert_valid(&pair));
	ck_assert_int_eq(log_level, LOG_WARN);
	ck_assert_str_eq(log_phrase, "certificate is a CA");
	log_phrase = "";
	look_later();
	ck_assert_str_eq(log_phrase, "");	/* once for each pair */
	on_disk = (struct candidate){.pem = "second", .serial = "02"};
	look_later();
	ck_assert_str_eq(log_phrase, "certificate served");
}
END_TEST

START_TEST(test_an_error_counts_and_shows_once_until_it_changes)
{
	on_disk.fault = "expired";
	serving_cert_look(&pair);
	ck_assert_int_eq(log_level, LOG_ERROR);
	look_later();
	ck_assert_int_eq(log_level, LOG_DEBUG);
	expect("", 0, 1);
	on_disk.fault = "no such file";
	look_later();
	expect("", 0, 2);
	/* It counts again after a pair that was usable. */
	on_disk.fault = NULL;
	look_later();
	on_disk.fault = "no such file";
	look_later();
	expect("first", 1, 3);
}
END_TEST

START_TEST(test_files_are_read_when_they_change_or_after_10_seconds)
{
	serving_cert_look(&pair);
	now.boot_ms += AGAIN_MS - 1;
	serving_cert_look(&pair);
	ck_assert_uint_eq(loads, 1);
	now.boot_ms += 1;
	serving_cert_look(&pair);
	ck_assert_uint_eq(loads, 2);
	touch(key_file);
	serving_cert_look(&pair);
	ck_assert_uint_eq(loads, 3);
	touch(cert_file);
	serving_cert_look(&pair);
	ck_assert_uint_eq(loads, 4);
	serving_cert_look(&pair);
	ck_assert_uint_eq(loads, 4);
}
END_TEST

START_TEST(test_files_that_change_while_they_are_read_are_read_once_more)
{
	touched = key_file;
	serving_cert_look(&pair);
	ck_assert_uint_eq(loads, 2);
	expect("first", 1, 0);
}
END_TEST

/* The Date header is cut to whole seconds: a pair that was issued at this
 * moment may look up to a second too young. */
START_TEST(test_a_pair_is_valid_from_a_second_early_to_its_end)
{
	serving_cert_look(&pair);
	ck_assert_int_eq(checked_at_ms, T + 1000);
	now.server_ms = pair.not_before_ms - 1001;
	ck_assert(!serving_cert_valid(&pair));
	now.server_ms = pair.not_before_ms - 1000;
	ck_assert(serving_cert_valid(&pair));
	now.server_ms = pair.not_after_ms - 1;
	ck_assert(serving_cert_valid(&pair));
	now.server_ms = pair.not_after_ms;
	ck_assert(!serving_cert_valid(&pair));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/serving_cert");
	TCase *tc = tcase_create("serving_cert");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_the_first_usable_pair_is_served);
	tcase_add_test(tc, test_the_pair_that_is_served_is_not_served_again);
	tcase_add_test(tc, test_a_new_pair_is_served);
	tcase_add_test(tc,
		       test_a_new_pair_with_the_old_serial_number_is_served);
	tcase_add_test(tc, test_a_pair_that_is_not_usable_leaves_the_old_one);
	tcase_add_test(
		tc, test_a_pair_that_the_server_cannot_read_leaves_the_old_one);
	tcase_add_test(tc,
		       test_a_pair_that_is_a_CA_is_served_with_a_warning);
	tcase_add_test(tc,
		       test_an_error_counts_and_shows_once_until_it_changes);
	tcase_add_test(
		tc, test_files_are_read_when_they_change_or_after_10_seconds);
	tcase_add_test(
		tc,
		test_files_that_change_while_they_are_read_are_read_once_more);
	tcase_add_test(tc, test_a_pair_is_valid_from_a_second_early_to_its_end);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
