#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the container image and its bill of materials (`make image`):
#
#     VERSION=0.1.0 deploy/image.sh [ARGUMENT...]
#
# $IMAGE    its name, karpenter-node-holder:$VERSION unless set
# $BUILDER  docker, podman or buildah; else the first of them that works
# $BASE     the image it is compiled in, else the Dockerfile's
# $DEBSBOM  makes the bill of materials (deploy/sbom.sh)
# $OUT      gets sbom.spdx.json, and what dpkg knows of the libraries, with
#           their copyright files, under packages; $BUILD/image unless set
# Arguments go to the builder: --platform linux/arm64, --no-cache, ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:?}
image=${IMAGE:-karpenter-node-holder:$version}
build=${BUILD:-build}
out=${OUT:-$build/image}

say() { printf 'image: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# A client without its daemon is of no use.
works() {
	command -v "$1" >/dev/null &&
		timeout 30 "$1" info >/dev/null 2>&1 </dev/null
}

find_builder() {
	local candidate
	for candidate in ${BUILDER:-docker podman buildah}; do
		if works "$candidate"; then
			builder=$candidate
			return
		fi
	done
	die "none of these works: ${BUILDER:-docker, podman, buildah}"
}

label() { labels+=(--label "org.opencontainers.image.$1=$2"); }

find_builder
labels=()
label version "$version"
if revision=$(git describe --always --abbrev=40 --match '' --dirty 2>/dev/null); then
	label revision "$revision"
	label created "$(git log -1 --format=%cI)"
fi

build_image() {
	local options=("${labels[@]}")
	[[ -z ${BASE:-} ]] || options+=(--build-arg "BASE=$BASE")
	# The others keep what the first target has made by themselves.
	[[ $builder != buildah ]] || options+=(--layers)
	"$builder" build "${options[@]}" "$@" -f Dockerfile . </dev/null
}

say "building $image with $builder"
mkdir -p "$out"
rm -rf "$out/packages" "$out/sbom.spdx.json"
build_image "$@" --target packages --output "type=local,dest=$out/packages"
build_image "$@" --tag "$image"

BUILD=$build deploy/sbom.sh "$out/packages" "$version" "$out/sbom"

case $builder in
buildah) size=$(buildah images --format '{{.Size}}' "$image") ;;
*) size=$("$builder" image inspect --format '{{.Size}} bytes' "$image") ;;
esac
say "$image: $size; bill of materials: $out/sbom.spdx.json"
