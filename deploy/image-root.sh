#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Run by the Dockerfile:  deploy/image-root.sh PROGRAM ROOT PACKAGES
#
# ROOT gets the program and each library it is linked to, the dynamic loader
# among them, at the place where the loader looks for it. Nothing else is
# needed: glibc resolves names by files and DNS of its own, and the API
# server's CA comes with the ServiceAccount. PACKAGES gets what dpkg knows of
# the packages those libraries are from, and their copyright files.
set -eu
program=$1 root=$2 packages=$3

linked=$(ldd "$program")
case $linked in
*'not found'*)
	echo "$linked" >&2
	exit 1
	;;
esac
install -D -s -m 0755 "$program" "$root/usr/bin/$(basename "$program")"

owners=
for lib in $(echo "$linked" | grep -o '/[^ ]*' | sort -u); do
	install -D -m 0755 "$lib" "$root$lib"
	# With a merged /usr, dpkg may know the file by its other name.
	file=$(realpath "$lib")
	owner=$(dpkg-query -S "$file" "${file#/usr}" 2>/dev/null |
		sed 's/: .*//; q') || true
	[ -n "$owner" ] || {
		echo "image-root: $lib is of no package" >&2
		exit 1
	}
	owners="$owners $owner"
done

# shellcheck disable=SC2086 # a list of words
owners=$(printf '%s\n' $owners | sort -u)
mkdir -p "$packages/var/lib/dpkg"
# shellcheck disable=SC2086
dpkg-query -s $owners >"$packages/var/lib/dpkg/status"
dpkg --print-architecture >"$packages/var/lib/dpkg/arch-native"
for owner in $owners; do
	notice=usr/share/doc/${owner%:*}/copyright
	install -D -m 0644 "/$notice" "$packages/$notice"
done
