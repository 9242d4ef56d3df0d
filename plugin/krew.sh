#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the archive and the manifest that Krew installs the plugin from:
#
#     plugin/krew.sh VERSION FOLDER URL
#
# URL is that of the repository, where releases are: the manifest says that the
# archive is at URL/releases/download/vVERSION/ARCHIVE.
set -eu
version=${1:?} out=${2:?}
url=${3:?expected the URL of the repository: make krew URL=https://...}
here=$(cd "$(dirname "$0")" && pwd)
archive=kubectl-karpenter_holder-v$version.tar.gz

mkdir -p "$out"
# The same files make the same archive.
tar -C "$here/.." --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX \
	--transform 's,.*/,,' -cf - LICENSE plugin/kubectl-karpenter_holder plugin/kubectl_complete-karpenter_holder |
	gzip -n >"$out/$archive"
sum=$(sha256sum "$out/$archive" | cut -d' ' -f1)
sed "s,@URL@,$url,g; s,@VERSION@,$version,g; s,@ARCHIVE@,$archive,g; s,@SHA256@,$sum,g" \
	"$here/krew.yaml.in" >"$out/karpenter-holder.yaml"
echo "$out/karpenter-holder.yaml"
