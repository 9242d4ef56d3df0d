#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the suites print and the holders log, kept, and searched for secrets:
#
#     tests/said.sh keep NAME COMMAND...   runs it, and keeps what it prints
#     tests/said.sh check NAME...          fails if a secret is in what was kept,
#                                          or if nothing was kept of a NAME
#
# In $HOLDER_SAID, a folder.  pytest adds the logs of its holders to it
# (tests/said.py).  The secrets are those that tests give to holders, whatever
# looks like a key or a service account's token, and the header of a token.
set -uo pipefail
: "${HOLDER_SAID:?}"
secrets='secret-token|\bSECRET\b|planted-token|PRIVATE KEY|eyJhbGciOi[A-Za-z0-9_-]{8,}\.|Bearer [A-Za-z0-9]'

find_secrets() { grep -rnaoE "$secrets" "$1"; }

keep() {
	mkdir -p "$HOLDER_SAID/$1"
	local to
	to=$(mktemp "$HOLDER_SAID/$1/out-XXXXXX")
	shift
	"$@" 2>&1 | tee "$to"
	return "${PIPESTATUS[0]}"
}

# A search that finds nothing where something is would pass for ever.
see_that_it_finds() {
	local text
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	for text in 'x secret-token y' 'a SECRET' 'planted-token' \
		'-----BEGIN PRIVATE KEY-----' 'eyJhbGciOiJSUzI1NiJ9.e30.' \
		'Authorization: Bearer abc'; do
		printf '%s\n' "$text" >"$folder/f"
		find_secrets "$folder" >/dev/null || {
			echo "said: does not find \"$text\"" >&2
			return 1
		}
	done
}

check() {
	local name bad=0
	see_that_it_finds || return 1
	for name; do
		[[ -n $(find "$HOLDER_SAID/$name" -type f -size +0 -print -quit 2>/dev/null) ]] || {
			echo "said: nothing was kept of $name" >&2
			bad=1
		}
	done
	if find_secrets "$HOLDER_SAID" >&2; then
		echo "said: a secret was printed" >&2
		bad=1
	fi
	[[ $bad -ne 0 ]] || echo "said: $(grep -rac '' "$HOLDER_SAID" |
		awk -F: '{ n += $NF } END { print NR " files, " n " lines" }'), no secret in them"
	return "$bad"
}

"$@"
