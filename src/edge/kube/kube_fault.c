/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_parts.h"

int
kube_fault_set(struct err *e, enum kube_fault fault, const char *peer,
	       const char *detail)
{
	static const struct {
		enum err_code code;
		const char *advice; /* NULL if the detail is enough */
	} faults[FAULT_COUNT] = {
		[FAULT_RESOLVE] = {ERR_SYSTEM,
				   "is the name right, does DNS work here?"},
		[FAULT_CONNECT] = {ERR_SYSTEM,
				   "is the API server up, is this its "
				   "address?"},
		[FAULT_CONNECT_TIMEOUT] = {ERR_TIMEOUT,
					   "does a firewall or network policy "
					   "drop it?"},
		[FAULT_CA] = {ERR_TLS,
			      "its certificate is not from the CA we trust: "
			      "check certificate-authority"},
		[FAULT_DATES] = {ERR_TLS, "renew its certificate, or set this "
					  "machine's clock"},
		[FAULT_NAME] = {ERR_TLS,
				"its certificate is for another name: check "
				"server or tls-server-name"},
		[FAULT_HANDSHAKE] = {ERR_TLS,
				     "is this an https port, and does it "
				     "accept our client certificate?"},
		[FAULT_CLIENT_CERT] = {ERR_TLS, "check client-certificate and "
						"client-key"},
		[FAULT_CA_FILE] = {ERR_TLS,
				   "check the certificate-authority file"},
		[FAULT_CUT] = {ERR_CUT, "the answer was cut"},
		[FAULT_DEAD] = {ERR_TIMEOUT, "the connection is dead"},
		[FAULT_NOT_HTTP] = {ERR_SYSTEM,
				    "what listens there is no API server"},
		[FAULT_PROXY] = {ERR_SYSTEM, "check HTTPS_PROXY and NO_PROXY"},
		[FAULT_REQUEST] = {ERR_INPUT, "the request is malformed"},
		[FAULT_MEMORY] = {ERR_SYSTEM, "out of memory"},
		[FAULT_OTHER] = {ERR_SYSTEM, NULL},
	};

	if (faults[fault].advice == NULL)
		return err_set(e, faults[fault].code, "%.80s: %.150s", peer,
			       detail);
	return err_set(e, faults[fault].code, "%.60s: %.100s; %s", peer, detail,
		       faults[fault].advice);
}
