#!/bin/sh
# Fails and prints the differences if generated files are not what tools/generate.sh
# would write now. In the checkout it writes only bin/tools.
#
# usage: tools/verify.sh
set -eu
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
trap 'exit 1' HUP INT TERM
tools/generate.sh "$fresh"

# list prints the generated files below a directory. Other files may lie beside them.
list() {
	(cd "$1" && find . \( -path './controllers/api/*' -name 'zz_generated.*' \
		-o -path './controllers/api/v1alpha1/script.go' \
		-o -path './engines/cel/zz_generated.*' \
		-o -path './manifests/crd/*' -name 'metacontroller.k8s.io_*.yaml' \
		-o -path './manifests/crd/*' -name 'libretto.dev_*.yaml' \
		-o -path './manifests/crd/json/*.json' \
		-o -path './manifests/helm/libretto/files/manifests/*' \
		-o -path './engines/authoring/*' -name 'libretto.d.ts' \
		-o -path './cmd/libretto/internal/jsonschema/*' -name 'controllertest.schema.json' \
		-o -path './docs/reference/*' \( -name api.md -o -name hooks.md -o -name library.md -o -name test.md -o -name chart.md \) \) -type f)
}

stale=0
for file in $({ list "$PWD"; list "$fresh"; } | sort -u); do
	[ -f "$file" ] || { echo "$file is missing" >&2; stale=1; continue; }
	[ -f "$fresh/$file" ] || { echo "$file is no longer generated: delete it" >&2; stale=1; continue; }
	diff -u "$file" "$fresh/$file" >&2 || stale=1
done
if [ "$stale" -ne 0 ]; then
	echo "verify.sh: generated files are stale: run tools/generate.sh and keep what it writes" >&2
	exit 1
fi
