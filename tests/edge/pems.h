/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_PEMS_H
#define TESTS_EDGE_PEMS_H

/* A certificate and its key as NUL-terminated PEM, made for one test. */
struct pems {
	char cert[2048], key[2048];
};

/* Makes a self-signed pair (ECDSA P-256) that is valid now.  The serial number
 * tells pairs apart. */
void pems_mint(struct pems *p, long serial);
/* The same with a key of RSA. */
void pems_mint_rsa(struct pems *p, long serial);

#endif
