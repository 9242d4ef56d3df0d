/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kubeconfig/kubeconfig.h"

#include <string.h>

#include "core/base/buf.h"
#include "kubeconfig_exec.h"
#include "kubeconfig_field.h"
#include "wire/yaml/yaml.h"

/*
 * Finds the context, its cluster and its user, and reads the fields that we
 * support.  A field that we do not support is an error if it has a value
 * (field_refuse), because ignoring it could mean connecting to another server,
 * or as another user.
 *
 * Relative paths are relative to the kubeconfig's folder.  All strings of the
 * result are owned, and kubeconfig_done wipes them, since tokens and keys are
 * among them.  Errors name the place in the file and never show a secret.
 * kubeconfig_exec.c reads the section `exec` of a user.
 */

void
kubeconfig_done(struct kubeconfig *k)
{
	char *owned[] = {k->server,	k->tls_server_name, k->ca_pem,
			 k->ca_file,	k->cert_pem,	    k->key_pem,
			 k->cert_file,	k->key_file,	    k->token,
			 k->token_file, k->namespace_};

	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		field_wipe(owned[i]);
	exec_free(k->exec);
	*k = (struct kubeconfig){0};
}

/* --- reading cluster and user --------------------------------------------- */

static bool
is_url(const char *s)
{
	size_t scheme = strncmp(s, "https://", 8) == 0	? 8
			: strncmp(s, "http://", 7) == 0 ? 7
							: 0;

	if (scheme == 0 || s[scheme] == '\0' || s[scheme] == '/' ||
	    s[scheme] == ':')
		return false;
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~' || strchr("?#@\\\"<>", *s) != NULL)
			return false;
	return true;
}

static int
read_server(const struct yaml *cluster, char **out, struct err *e)
{
	const struct yaml *v = field_present(cluster, "server");
	char shown[YAML_SHOW_BYTES];
	size_t n;

	if (v == NULL)
		return yaml_fail(cluster, e,
				 "server: missing, expected an http(s) URL");
	if (field_string(cluster, "server", out, e))
		return -1;
	if (strchr(*out, '@') != NULL) /* a password may be before the '@' */
		return yaml_fail(v, e,
				 "server: a user is in it, expected a URL "
				 "such as https://host:6443");
	if (!is_url(*out))
		return yaml_fail(v, e,
				 "server: %s, expected a URL such as "
				 "https://host:6443",
				 yaml_show(*out, shown));
	for (n = strlen(*out); (*out)[n - 1] == '/'; n--)
		(*out)[n - 1] = '\0';
	return 0;
}

static int
read_cluster(const struct yaml *cluster, const char *dir, struct kubeconfig *k,
	     struct err *e)
{
	static const char *const later[] = {"proxy-url", NULL};

	if (field_refuse(cluster, later, "a server reached directly", e))
		return -1;
	if (read_server(cluster, &k->server, e) ||
	    field_string(cluster, "tls-server-name", &k->tls_server_name, e) ||
	    field_bool(cluster, "insecure-skip-tls-verify", &k->insecure, e) ||
	    field_pem(cluster, "certificate-authority", dir, &k->ca_pem,
		      &k->ca_file, e))
		return -1;
	if (k->insecure && (k->ca_pem || k->ca_file))
		return yaml_fail_key(
			yaml_member(cluster, "insecure-skip-tls-verify"), e,
			"insecure-skip-tls-verify with a "
			"certificate authority, expected one of "
			"the two");
	return 0;
}

static int
check_token(const struct yaml *user, const char *token, struct err *e)
{
	if (token != NULL && !exec_token_is_printable(token))
		return yaml_fail(yaml_member(user, "token"), e,
				 "token: expected printable ASCII "
				 "without spaces");
	return 0;
}

static int
read_user(const struct yaml *user, const char *dir, struct kubeconfig *k,
	  struct err *e)
{
	static const char *const later[] = {
		"auth-provider", "username",  "password",      "as",
		"as-uid",	 "as-groups", "as-user-extra", NULL,
	};
	bool cert, key;

	if (field_refuse(user, later, "a client certificate or a token", e) ||
	    field_pem(user, "client-certificate", dir, &k->cert_pem,
		      &k->cert_file, e) ||
	    field_pem(user, "client-key", dir, &k->key_pem, &k->key_file, e) ||
	    field_string(user, "token", &k->token, e) ||
	    field_file(user, "tokenFile", dir, &k->token_file, e))
		return -1;
	cert = k->cert_pem || k->cert_file;
	key = k->key_pem || k->key_file;
	if (cert != key)
		return yaml_fail(user, e, "%s, expected both or neither",
				 cert ? "client-certificate without client-key"
				      : "client-key without "
					"client-certificate");
	return check_token(user, k->token, e);
}

/* --- finding context, cluster and user ------------------------------------ */

static int
entry_name(const struct yaml *entry, const char *list, const char **name,
	   struct err *e)
{
	const struct yaml *v = field_present(entry, "name");

	if (!yaml_is_map(entry))
		return yaml_fail(entry, e, "%s: expected entries with a name",
				 list);
	if (v == NULL)
		return yaml_fail(entry, e,
				 "%s: an entry without a name, "
				 "expected one",
				 list);
	return field_text(v, name, e);
}

static int
not_found(const struct yaml *entries, const char *inner, const char *name,
	  const struct yaml *asked, struct err *e)
{
	char shown[YAML_SHOW_BYTES], one[YAML_SHOW_BYTES], all[100];
	const char *have;
	struct buf b;

	buf_init(&b, all, sizeof(all));
	for (const struct yaml *v = yaml_first(entries); v; v = yaml_next(v)) {
		have = yaml_text(yaml_member(v, "name"));
		buf_printf(&b, "%s%s", b.len ? ", " : "", yaml_show(have, one));
	}
	return yaml_fail(asked, e, "%s %s is not there, expected %s%s%s", inner,
			 yaml_show(name, shown), b.len ? "one of " : "one", all,
			 b.full ? ", …" : "");
}

/* Finds the entry called `name` in root's list `list`, and gets its mapping
 * `inner`.  If there is no such entry, the error names the place of `asked`. */
static int
entry_find(const struct yaml *root, const char *list, const char *inner,
	   const char *name, const struct yaml *asked, const struct yaml **out,
	   struct err *e)
{
	const struct yaml *entries = field_present(root, list), *found = NULL;
	char shown[YAML_SHOW_BYTES];
	const char *have;

	if (entries != NULL && !yaml_is_list(entries))
		return yaml_fail(entries, e, "%s: expected a list", list);
	for (const struct yaml *v = yaml_first(entries); v; v = yaml_next(v)) {
		if (entry_name(v, list, &have, e))
			return -1;
		if (strcmp(have, name) != 0)
			continue;
		if (found != NULL)
			return yaml_fail(v, e,
					 "%s: %s stands twice, expected "
					 "it once",
					 list, yaml_show(name, shown));
		found = v;
	}

	if (found == NULL)
		return not_found(entries, inner, name, asked, e);

	*out = yaml_member(found, inner);
	if (!yaml_is_map(*out))
		return yaml_fail(found, e, "%s: expected a mapping", inner);
	return 0;
}

/* Finds the cluster or user that the context names. */
static int
follow(const struct yaml *root, const struct yaml *context, const char *list,
       const char *inner, const struct yaml **out, struct err *e)
{
	const struct yaml *v = field_present(context, inner);
	const char *name;

	if (v == NULL)
		return yaml_fail(context, e, "%s: missing, expected a name",
				 inner);
	if (field_text(v, &name, e))
		return -1;
	return entry_find(root, list, inner, name, v, out, e);
}

static int
find_context(const struct yaml *root, const char *name, const struct yaml **out,
	     struct err *e)
{
	const struct yaml *current = field_present(root, "current-context");

	if (name != NULL)
		return entry_find(root, "contexts", "context", name, root, out,
				  e);
	if (current == NULL)
		return yaml_fail(root, e,
				 "current-context: missing, expected "
				 "the name of a context");
	if (field_text(current, &name, e))
		return -1;
	return entry_find(root, "contexts", "context", name, current, out, e);
}

static int
check_kind(const struct yaml *root, struct err *e)
{
	const struct yaml *kind = field_present(root, "kind");

	if (!yaml_is_map(root))
		return yaml_fail(root, e, "expected a kubeconfig");
	if (kind != NULL &&
	    (!yaml_is_scalar(kind) || strcmp(yaml_text(kind), "Config") != 0))
		return yaml_fail(kind, e, "kind: expected Config");
	return 0;
}

static int
read_config(const struct yaml *root, const char *dir, const char *context,
	    struct kubeconfig *k, struct err *e)
{
	const struct yaml *chosen, *cluster, *user;

	if (check_kind(root, e) || find_context(root, context, &chosen, e) ||
	    follow(root, chosen, "clusters", "cluster", &cluster, e) ||
	    read_cluster(cluster, dir, k, e) ||
	    field_string(chosen, "namespace", &k->namespace_, e))
		return -1;
	/* As with kubectl, a context without a user presents no credentials. */
	if (field_present(chosen, "user") == NULL)
		return 0;
	if (follow(root, chosen, "users", "user", &user, e))
		return -1;
	if (read_user(user, dir, k, e))
		return -1;
	return kubeconfig_exec(chosen, user, cluster, dir, &k->exec, e);
}

int
kubeconfig_parse(const char *file, const char *dir, const char *bytes, size_t n,
		 const char *context, struct kubeconfig *out, struct err *e)
{
	struct kubeconfig k = {0};
	AUTO_YAML root = yaml_tree_parse(file, bytes, n, e);

	if (root == NULL)
		return -1;
	if (read_config(root, dir, context, &k, e)) {
		kubeconfig_done(&k);
		return -1;
	}
	*out = k;
	return 0;
}
