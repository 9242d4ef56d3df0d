#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the named Debian packages where they are missing: as root, by sudo,
# or else by telling what to install.
set -eu

missing=
for p in "$@"; do
	case $(dpkg-query -W -f='${Status}' "$p" 2>/dev/null || true) in
	*" installed") ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0
echo "== installing Debian packages (about a minute):$missing"
if [ "$(id -u)" = 0 ]; then
	sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	sudo="sudo -n"
else
	echo "deps: neither root nor sudo without a password; please run:" >&2
	echo "  apt-get install$missing" >&2
	exit 1
fi
# shellcheck disable=SC2086 # lists of words
{
	# A new machine may be at its own upgrades: wait for its lock.
	$sudo apt-get -o DPkg::Lock::Timeout=300 update -qq </dev/null
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		-o DPkg::Lock::Timeout=300 --no-install-recommends $missing \
		</dev/null
} >/dev/null
