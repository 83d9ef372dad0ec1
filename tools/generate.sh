#!/bin/sh
# Generates files from the types in controllers/api: deep copies, CustomResourceDefinitions,
# the references of the API and of the hooks, the types of hooks for script authors, and the
# variables of CEL expressions. From the types of test files it generates their schema and reference, and from
# engines/authoring/module.d.ts the reference of the library for script authors.
# For the Helm chart it copies the manifests that any cluster has, and writes the reference of its values.
# Before that it writes the engines of engines/standard into the markers of script.go there.
#
# usage: tools/generate.sh [ROOT]
#
# ROOT is the directory to write to. It defaults to the checkout.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED="${CGO_ENABLED:-0}" # As make sets it: what is compiled is shared.
root=${1:-$PWD}
case $root in /*) ;; *) echo "generate.sh: write ROOT as an absolute path, not $root" >&2; exit 2 ;; esac

mkdir -p bin/tools "$root/controllers/api/v1alpha1" "$root/manifests/crd/json" "$root/docs/reference" "$root/engines/authoring" "$root/cmd/libretto/internal/jsonschema"
go -C tools build -o ../bin/tools/ sigs.k8s.io/controller-tools/cmd/controller-gen ./apireference ./namespacedcrd ./crdjson ./hooktypes ./libraryreference ./testformat ./chartreference

hooks=controllers/api/hooks
mkdir -p "$root/engines/cel"
bin/tools/hooktypes cel "$hooks" > "$root/engines/cel/zz_generated.fields.go"

# The API lists the engines of scripts.
go run ./engines/standard/apimarkers controllers/api/v1alpha1/script.go > bin/tools/script.go.new
cp bin/tools/script.go.new "$root/controllers/api/v1alpha1/script.go"

bin/tools/controller-gen object crd paths=./controllers/api/v1alpha1 \
	output:object:dir="$root/controllers/api/v1alpha1" \
	output:crd:dir="$root/manifests/crd"

crds=$root/manifests/crd/metacontroller.k8s.io_
namespaced=$root/manifests/crd/libretto.dev_namespaced
for kind in composite decorator map; do
	bin/tools/namespacedcrd "${crds}${kind}controllers.yaml" > "${namespaced}${kind}controllers.yaml"
done
bin/tools/crdjson "$root/manifests/crd/json" "$crds"*.yaml "$namespaced"*.yaml
bin/tools/apireference "${crds}compositecontrollers.yaml" "${crds}decoratorcontrollers.yaml" \
	"${crds}mapcontrollers.yaml" "${crds}controllerrevisions.yaml" > "$root/docs/reference/api.md"

bin/tools/hooktypes markdown "$hooks" > "$root/docs/reference/hooks.md"
bin/tools/hooktypes typescript "$hooks" | cat - engines/authoring/module.d.ts > "$root/engines/authoring/libretto.d.ts"
bin/tools/libraryreference engines/authoring/module.d.ts > "$root/docs/reference/library.md"

tests=controllers/controllertest
bin/tools/testformat schema "$tests" > "$root/cmd/libretto/internal/jsonschema/controllertest.schema.json"
bin/tools/testformat markdown "$tests" > "$root/docs/reference/test.md"

# The chart reads what is the same in any cluster from a copy: Helm reads no file outside of it.
chart=manifests/helm/libretto
for folder in crd accounts approval rbac host; do
	copy=$root/$chart/files/manifests/$folder
	mkdir -p "$copy"
	rm -f "$copy"/*
	case $folder in
	crd) cp "$root"/manifests/crd/metacontroller.k8s.io_*.yaml "$root"/manifests/crd/libretto.dev_*.yaml "$copy/" ;;
	host) cp manifests/host/view.yaml "$copy/" ;;
	*) cp manifests/$folder/*.yaml "$copy/" && rm "$copy/kustomization.yaml" ;;
	esac
done
bin/tools/chartreference "$chart/values.yaml" > "$root/docs/reference/chart.md"

# CONTRIBUTING.md shows the wings of the architecture as the rules have them.
if [ "$root" = "$PWD" ]; then
	go test ./test/arch -run TestPicture -update >/dev/null
fi
