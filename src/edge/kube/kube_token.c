/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "edge/file.h"

static void
trim(char *s, size_t n)
{
	static const char blank[] = " \t\r\n";
	size_t skip = strspn(s, blank);

	while (n > skip && strchr(blank, s[n - 1]) != NULL)
		n--;
	memmove(s, s + skip, n - skip);
	s[n - skip] = '\0';
}

int
kube_file_read(const char *path, size_t max, char **out, struct err *e)
{
	char *s = NULL;
	size_t n = 0;
	int rc = 0;

	if (file_read(path, max, &s, &n, e))
		return -1;
	/* A NUL byte would hide what follows it. */
	if (strlen(s) != n)
		rc = err_set(e, ERR_INPUT, "%s: has a NUL byte", path);
	else
		trim(s, n);
	if (rc == 0 && *s == '\0')
		rc = err_set(e, ERR_INPUT, "%s: is empty", path);
	if (rc == 0) {
		*out = strdup(s);
		if (*out == NULL)
			rc = err_set(e, ERR_SYSTEM, "out of memory");
	}
	explicit_bzero(s, n);
	free(s);
	return rc;
}

void
kube_token_init(struct kube_token *t, const struct kubeconfig *access,
		int64_t every_ms, struct kube_plugin *plugin,
		const atomic_bool *cancelled)
{
	*t = (struct kube_token){
		.fixed = access->token,
		.file = access->token_file,
		.plugin = plugin,
		.cancelled = cancelled,
		.every_ms = every_ms,
	};
}

void
kube_token_done(struct kube_token *t)
{
	str_wipe(t->text);
	free(t->text);
	t->text = NULL;
}

static int
load(struct kube_token *t, int64_t boot_ms, struct err *e)
{
	char *s = NULL;

	/* A failure counts as a read, so that the file is not read at each
	 * call. */
	t->read_ms = boot_ms;
	if (kube_file_read(t->file, TOKEN_BYTES_MAX, &s, e))
		return -1;
	if (!exec_token_is_printable(s)) {
		str_wipe(s);
		free(s);
		return err_set(e, ERR_INPUT,
			       "%s: is no bearer token: a blank, control or "
			       "non-ASCII byte is in it",
			       t->file);
	}
	if (t->text != NULL && strcmp(t->text, s) == 0) {
		str_wipe(s);
		free(s);
		return 0;
	}
	str_wipe(t->text);
	free(t->text);
	t->text = s;
	t->version++;
	return 0;
}

int
kube_token_get(struct kube_token *t, int64_t boot_ms, const char **out,
	       struct err *e)
{
	struct err why = {0};

	if (t->plugin != NULL) {
		if (t->plugin->get(t->plugin, t->cancelled, &t->text,
				   &t->version, e))
			return -1;
		*out = t->text;
		return 0;
	}
	if (t->file == NULL) {
		*out = t->fixed;
		return 0;
	}
	if ((t->text == NULL || boot_ms - t->read_ms >= t->every_ms) &&
	    load(t, boot_ms, &why) && t->text == NULL && t->fixed == NULL) {
		if (e != NULL)
			*e = why;
		return err_wrap(e, "token file");
	}
	*out = t->text != NULL ? t->text : t->fixed;
	return 0;
}

bool
kube_token_refused(struct kube_token *t, unsigned version, int64_t boot_ms)
{
	struct err ignored;

	if (t->plugin != NULL)
		return t->plugin->refused(t->plugin, t->cancelled, version);
	if (t->file == NULL)
		return false;
	/* Another call may have read the new token already. */
	if (t->version == version)
		(void)load(t, boot_ms, &ignored);
	return t->version != version;
}
