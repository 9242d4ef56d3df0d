#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signs the release in a folder by a key, without any network:
#
#     deploy/sign.sh KEY FOLDER
#
# KEY is a private key on P-256, in PEM. SHA256SUMS.sig is its signature in base64,
# and provenance.intoto.jsonl is the statement in an envelope (DSSE).
# docs/releasing.md says how to verify both.
set -euo pipefail
key=${1:?} dist=${2:?}

sign() { openssl dgst -sha256 -sign "$key" | base64 -w0; }

sign <"$dist/SHA256SUMS" >"$dist/SHA256SUMS.sig"
openssl pkey -in "$key" -pubout -out "$dist/release.pub"
type=application/vnd.in-toto+json
statement=$dist/provenance.json
{ printf 'DSSEv1 %d %s %d ' ${#type} $type "$(stat -c %s "$statement")"; cat "$statement"; } | sign |
	{ printf '{"payloadType":"%s","payload":"%s","signatures":[{"sig":"' $type "$(base64 -w0 "$statement")"; cat; echo '"}]}'; } \
		>"$dist/provenance.intoto.jsonl"
