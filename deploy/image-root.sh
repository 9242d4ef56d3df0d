#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Run by the Dockerfile:  deploy/image-root.sh ROOT PACKAGES PROGRAM...
# For programs of another architecture than dpkg's: $ARCH, and $LDD and $STRIP,
# which can read them.
#
# ROOT gets the programs and each library they are linked to, the dynamic loader
# among them, at the place where the loader looks for it. Nothing else is
# needed: glibc resolves names by files and DNS of its own, and the API
# server's CA comes with the ServiceAccount. PACKAGES gets what dpkg knows of
# the packages those libraries are from, and their copyright files.
set -eu
root=$1 packages=$2
shift 2

linked=$(for program; do ${LDD:-ldd} "$program"; done)
case $linked in
*'not found'*)
	echo "$linked" >&2
	exit 1
	;;
esac
install -d "$root/usr/bin"
install -s --strip-program="${STRIP:-strip}" -m 0755 "$@" "$root/usr/bin"

owners=
for lib in $(echo "$linked" | grep -o '	.*' | grep -o '/[^ ]*' | sort -u); do
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
echo "${ARCH:-$(dpkg --print-architecture)}" >"$packages/var/lib/dpkg/arch-native"
for owner in $owners; do
	notice=usr/share/doc/${owner%:*}/copyright
	install -D -m 0644 "/$notice" "$packages/$notice"
done
