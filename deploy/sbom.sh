#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes the bill of materials of an image, OUT.spdx.json:
#
#     deploy/sbom.sh PACKAGES VERSION OUT [ARGUMENT OF debsbom...]
#
# PACKAGES is what deploy/image-root.sh writes of dpkg's records. $DEBSBOM makes
# it; else debsbom on PATH, else from PyPI into $BUILD/sbom-venv.
set -euo pipefail
packages=${1:?} version=${2:?} out=${3:?}
shift 3
wanted=0.10.2
venv=${BUILD:-build}/sbom-venv

debsbom=${DEBSBOM:-$(command -v debsbom || true)}
if [[ -z $debsbom ]]; then
	debsbom=$venv/bin/debsbom
	if [[ $("$debsbom" --version 2>/dev/null) != *"$wanted" ]]; then
		echo "sbom: no debsbom on PATH: taking $wanted from PyPI" >&2
		rm -rf "$venv"
		python3 -m venv "$venv"
		"$venv/bin/pip" install --quiet --disable-pip-version-check "debsbom[spdx]==$wanted"
	fi
fi
# Or the order of its sets would be another each time.
PYTHONHASHSEED=0 "$debsbom" generate --root "$packages" --with-licenses \
	--distro-name karpenter-node-holder --distro-version "$version" \
	--sbom-type spdx --validate --out "$out" "$@"
