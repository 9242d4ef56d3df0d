#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a release of a commit (`make release`; docs/releasing.md says what it is
# made of and what proves it):
#
#     VERSION=0.1.0 deploy/release.sh [FOLDER]
#
# $COMMIT  what is released, HEAD unless set; uncommitted changes are not
# $IMAGE   the image's name in a registry, which the manifests then name by digest;
#          karpenter-node-holder unless set, without a digest
# $URL     of the repository
# $ARCHS   the processor architectures, "amd64 arm64" unless set
# $BASE    the image of Debian that it is compiled in, as skopeo names it
#          (docker://...@sha256:...); unless set, debootstrap makes one
# $ROOT    keeps that image unpacked; $BUILD/dist/root unless set
# $KEY     a private key (PEM) that signs it; unless set, nothing is signed
# $CHECK   yes: the unit tests run with the release's own libraries, for each
#          architecture
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:?}
name=karpenter-node-holder
image=${IMAGE:-$name}
url=${URL:-https://HOST/REPOSITORY}
archs=${ARCHS:-amd64 arm64}
build=$(realpath -m "${BUILD:-build}")
# Not build/release, where the Makefile looks for *.d.
work=$build/dist
root=$(realpath -m "${ROOT:-$work/root}")
dist=$(realpath -m "${1:-dist}")
suite=trixie distribution=debian13
declare -A triple=([amd64]=x86_64-linux-gnu [arm64]=aarch64-linux-gnu)
declare -A loader=([amd64]=/lib64/ld-linux-x86-64.so.2 [arm64]=/lib/ld-linux-aarch64.so.1)
declare -A runner=([amd64]='' [arm64]=qemu-aarch64)
tools=(gcc gcc-aarch64-linux-gnu make pkg-config qemu-user python3 python3-jsonpatch
	ca-certificates)
libraries=(libc6-dev libmicrohttpd-dev libcurl4-openssl-dev libcjson-dev
	libyaml-dev libssl-dev libgnutls28-dev zlib1g-dev check)

say() { printf 'release: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[[ $(id -u) == 0 ]] || die "debootstrap and chroot need root"
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
	die "VERSION=$version: expected MAJOR.MINOR.PATCH"
commit=$(git rev-parse --verify "${COMMIT:-HEAD}^{commit}")
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH
umask 022

# The same files make the same archive.
archive() { # archive FILE FOLDER PATH...
	local file=$1 folder=$2
	shift 2
	tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		--mode=u=rwX,go=rX --use-compress-program="$([[ $file == *.gz ]] && echo gzip -n || echo cat)" \
		-cf "$file" "$@"
}

# in_root COMMAND...: in the Debian root, in its folder /src, with nothing of ours around
# shellcheck disable=SC2016 # of the shells in there
in_root() {
	unshare --mount --pid --fork --kill-child sh -euc '
		mount -t proc proc "$0/proc"
		mount --rbind /dev "$0/dev"
		exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
			sh -euc "cd /src && exec \"\$@\"" sh "$@"' "$root" "$@" </dev/null
}

make_root() {
	local wanted base
	wanted="$suite ${BASE:-} ${tools[*]} ${libraries[*]}"
	[[ ! -e $root/.made || $(<"$root/.made") != "$wanted" ]] || return 0
	say "making a Debian ($suite) in $root, a few minutes"
	rm -rf "$root" "$work/base"
	mkdir -p "$work"
	if [[ ${BASE:-} ]]; then
		skopeo copy --quiet "$BASE" "oci:$work/base/layout:base"
		umoci unpack --image "$work/base/layout:base" "$work/base/bundle"
		mv "$work/base/bundle/rootfs" "$root"
	else
		debootstrap --variant=minbase "$suite" "$root" >"$work/root.log"
		base=$(<"$root/etc/apt/sources.list")
		# The mirror that debootstrap took has the security updates beside it.
		# shellcheck disable=SC2001
		sed "s,/debian $suite ,/debian-security $suite-security ," <<<"$base" \
			>>"$root/etc/apt/sources.list"
	fi
	# apt in there reaches the mirror in the same way as apt out here.
	apt-config dump | grep -E '^Acquire::(https?|Check)\S* .*;$' \
		>"$root/etc/apt/apt.conf.d/host" || true
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	mkdir -p "$root/src"
	# Whoever loses power here makes it again. Manual pages that differ between the
	# architectures of a package keep it from being installed for both.
	printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/man/*' >"$root/etc/dpkg/dpkg.cfg.d/release"
	in_root sh -euc '
		dpkg --add-architecture arm64
		apt-get update
		apt-get upgrade -y --no-install-recommends
		apt-get install -y --no-install-recommends "$@"
	' sh "${tools[@]}" "${libraries[@]}" "${libraries[@]/%/:arm64}" >>"$work/root.log" 2>&1 ||
		die "$(tail -5 "$work/root.log")"
	echo "$wanted" >"$root/.made"
}

make_in_root() { # make_in_root ARCH ARGS...
	local arch=$1
	shift
	in_root env PKG_CONFIG_LIBDIR="/usr/lib/${triple[$arch]}/pkgconfig:/usr/share/pkgconfig" \
		make -s CC="${triple[$arch]}-gcc" AR="${triple[$arch]}-ar" VERSION="$version" \
		BUILD="build-$arch" RUN="${runner[$arch]}" "$@"
}

compile() { # compile ARCH: $root/image-ARCH, $root/packages-ARCH
	local arch=$1
	say "compiling $version for $arch"
	make_in_root "$arch" -j"$(nproc)" all >"$work/make-$arch.log"
	rm -rf "$root/image-$arch" "$root/packages-$arch"
	in_root env STRIP="${triple[$arch]}-strip" ARCH="$arch" \
		LDD="${runner[$arch]} ${loader[$arch]} --list" deploy/image-root.sh \
		"/image-$arch" "/packages-$arch" "build-$arch/$name" "build-$arch/holderctl"
}

make_root
rm -rf "$root/src" "$work/"{stage,layout,store,run} "$dist"
mkdir -p "$root/src" "$work/"{stage,layout} "$dist"
git archive "$commit" | tar -x -C "$root/src"
for arch in $archs; do
	compile "$arch"
done
if [[ ${CHECK:-} == yes ]]; then
	for arch in $archs; do
		say "unit tests with the libraries of $suite, $arch"
		# Deadlines of the edge are not for an emulator, which takes twenty times as long.
		make_in_root "$arch" -j"$(nproc)" programs-below >>"$work/make-$arch.log"
		suites=below
		[[ ${runner[$arch]} ]] || suites=unit
		make_in_root "$arch" HOLDER_SAID=/src/said CK_TIMEOUT_MULTIPLIER=20 "$suites"
	done
fi
make_in_root "${archs%% *}" man

# --- the image ---------------------------------------------------------------------
store=(buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs)
for arch in $archs; do
	say "packing the image for $arch"
	# What runs and how says the last stage of the Dockerfile.
	awk '/^FROM /{ s = "" } { s = s $0 "\n" } END { printf "%s", s }' "$root/src/Dockerfile" |
		sed 's,--from=build /image ,. ,' |
		"${store[@]}" build --quiet --format oci --timestamp "$SOURCE_DATE_EPOCH" \
			--platform "linux/$arch" --identity-label=false --manifest "$name" \
			--label "org.opencontainers.image.version=$version" \
			--label "org.opencontainers.image.revision=$commit" \
			--label "org.opencontainers.image.created=$date" \
			--label "org.opencontainers.image.source=$url" \
			-f - "$root/image-$arch" >/dev/null
done
"${store[@]}" manifest push --quiet --all --format oci "$name" \
	"oci:$work/layout:$version" >/dev/null
digest=sha256:$(skopeo inspect --raw "oci:$work/layout:$version" | sha256sum | cut -d' ' -f1)
archive "$dist/$name-$version-image.tar" "$work/layout" blobs index.json oci-layout
for arch in $archs; do
	skopeo copy --quiet --override-os linux --override-arch "$arch" \
		"oci:$work/layout:$version" \
		"docker-archive:$dist/$name-$version-docker-$arch.tar:$image:$version"
done

# --- what is installed without it -----------------------------------------------------
for arch in $archs; do
	top=$name-$version-$distribution-$arch
	rm -rf "${work:?}/$top"
	mkdir -p "$work/$top/share/man/man1"
	cp -r "$root/image-$arch/usr/bin" "$root/src/LICENSE" "$work/$top"
	cp "$root/src/build-${archs%% *}/"*.1 "$work/$top/share/man/man1"
	archive "$dist/$top.tar.gz" "$work" "$top"
	archive "$dist/$name-$version-copyright-$arch.tar.gz" "$root/packages-$arch" usr
	deploy/sbom.sh "$root/packages-$arch" "$version" "$dist/$name-$version-$arch" \
		--timestamp "$date" --spdx-namespace "$url/$version/$arch/$commit"
done
archive "$dist/$name-$version-man.tar.gz" "$work/$top" share
"$root/src/plugin/krew.sh" "$version" "$dist" "$url" >/dev/null

# --- manifests -----------------------------------------------------------------------
stage=$work/stage
git archive "$commit" deploy CHANGELOG.md Makefile | tar -x -C "$stage"
was=$(sed -n 's/^VERSION := //p' "$stage/Makefile")
find "$stage/deploy" -name '*.yaml' -exec sed -i "s/\b${was//./\\.}\b/$version/g" {} +
pinned=$image:$version
[[ ! ${IMAGE:-} ]] || pinned+=@$digest
render() { # render FOLDER FILE IMAGE
	"$build/bin/kubectl" kustomize "$stage/deploy/$1" |
		sed "s,\(image: \)$name:${version//./\\.}$,\1$3," >"$dist/$2.yaml"
}
for overlay in "$stage"/deploy/overlays/*/; do
	overlay=$(basename "$overlay")
	[[ $overlay != demo ]] || continue
	render "overlays/$overlay" "install-$overlay" "$pinned"
done
# kind, k3d and minikube have the image by its tag alone.
render overlays/demo install-demo "$image:$version"
render check check "$pinned"
render uninstall uninstall "$pinned"

chart=$stage/deploy/helm
sed -i "s,^  repository: $name$,  repository: $image," "$chart/values.yaml"
sed -i "s,image: $name:,image: $image:," "$chart/Chart.yaml"
sed -i "s,https://HOST/REPOSITORY/docs,$url/blob/v$version/docs,; s,https://HOST/REPOSITORY,$url," \
	"$chart/values.yaml" "$chart/Chart.yaml"
find "$chart" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
"$build/bin/helm" package --version "$version" --app-version "$version" -d "$dist" "$chart" >/dev/null

# --- what is said about it ---------------------------------------------------------------
# The section of this version, else what is not released yet.
section() { awk -v title="## [$1]" 'index($0, "## ") == 1 { on = index($0, title) == 1 } on' "$stage/CHANGELOG.md"; }
section "$version" >"$dist/NOTES.md"
[[ -s $dist/NOTES.md ]] || section Unreleased >"$dist/NOTES.md"
echo "$digest" >"$dist/image.digest"
sed "s,@VERSION@,$version,g; s,@DIGEST@,$digest,g; s,@DATE@,$date,g; s,@URL@,$url,g" \
	deploy/vex.json >"$dist/vex.openvex.json"
# shellcheck disable=SC2016 # of the shell in there
in_root sh -c 'apt-cache show $(dpkg-query -W -f "\${binary:Package}=\${Version} ")' |
	python3 deploy/provenance.py "$dist" version="$version" commit="$commit" \
		image="$image" url="$url" architectures="$archs" base="${BASE:-}"
(cd "$dist" && sha256sum -- *) >"$work/sums"
mv "$work/sums" "$dist/SHA256SUMS"
if [[ ${KEY:-} ]]; then
	deploy/sign.sh "$KEY" "$dist"
else
	say "not signed: KEY is not set"
fi
say "$dist: $name $version of $commit, image $digest"
