#!/bin/sh
# Everything that compiles Kubernetes, with the same settings each time so that what was compiled is shared:
#
#   build.sh controlplane    builds bin/controlplane at the root of the checkout
#   build.sh kubectl         builds bin/kubectl
#   build.sh go ARGUMENTS    runs go on this module: build.sh go test ./...
#
# K8S names another minor version than that of go.mod: K8S=1.34 build.sh controlplane builds bin/compat/1.34/controlplane.
#
# The first build takes minutes. It tells how far it is, as a silent terminal looks like a hanging one; STEP is printed before.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${GO:=go}"
bin=$root/bin${K8S:+/compat/$K8S}

# The newest releases of the older versions that the tests run on. That of the newest is in go.mod.
older='1.33.13 1.34.12 1.35.8'

# Without optimization and debug information packages compile in two thirds of the time. These are the large ones that libretto does not link:
# what it does link is compiled as for libretto, and not twice. A test compares them.
plain='k8s.io/kubernetes go.etcd.io google.golang.org/grpc k8s.io/kubectl k8s.io/kube-aggregator k8s.io/kubelet k8s.io/component-helpers
k8s.io/controller-manager k8s.io/metrics k8s.io/cloud-provider k8s.io/dynamic-resource-allocation k8s.io/pod-security-admission
k8s.io/apiserver/pkg/admission k8s.io/apiserver/pkg/server k8s.io/apiserver/pkg/storage k8s.io/apiserver/pkg/endpoints
k8s.io/apiserver/plugin k8s.io/apiextensions-apiserver/pkg/client k8s.io/apiextensions-apiserver/pkg/controller
github.com/google/cadvisor github.com/opencontainers/cgroups github.com/opencontainers/runtime-spec
github.com/opencontainers/selinux github.com/containerd github.com/cyphar go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc'
GOFLAGS=$("$GO" env GOFLAGS)
for prefix in $plain; do
    GOFLAGS="$GOFLAGS '-gcflags=$prefix/...=-N -l -dwarf=false'"
done
export GOFLAGS CGO_ENABLED=0

cd "$here"

# use_release has go read the go.mod of another release, which is made here. It requires the modules that Kubernetes has in its own tree. All
# else follows from what these require, so that it is the same each time, and is not kept.
use_release() {
    mkdir -p "$bin"
    published=$("$GO" list -m -f '{{.GoMod}}' "k8s.io/kubernetes@v$1")
    {
        sed -n -e '/^module /p' -e '/^go /p' -e '/^tool /p' go.mod
        echo "require k8s.io/kubernetes v$1"
        sed -n "s|^.\(k8s.io/[a-z-]*\) v0.0.0\$|require \1 v0.${1#*.}|p" "$published"
    } >"$bin/go.mod"
    GOFLAGS="$GOFLAGS '-modfile=$bin/go.mod'"
    "$GO" mod tidy
}

if [ -n "${K8S:-}" ]; then
    current=$("$GO" list -m -f '{{.Version}}' k8s.io/kubernetes)
    case " $older ${current#v} " in
    *" $K8S."*) ;;
    *)
        echo "build.sh: K8S=$K8S is none of the minor versions of $older ${current#v}" >&2
        exit 2
        ;;
    esac
    for release in $older; do
        [ "${release%.*}" != "$K8S" ] || use_release "$release"
    done
fi

case ${1:-} in
controlplane) package=. ;;
kubectl) package=k8s.io/kubernetes/cmd/kubectl ;;
go)
    command=$2
    shift 2
    exec "$GO" "$command" -p 4 "$@"
    ;;
*)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
name=$1

# kubectl warns about, and cannot parse, the version of a server that does not know its own.
version=$("$GO" list -m -f '{{.Version}}' k8s.io/kubernetes)
major=${version#v}
minor=${major#*.}
major=${major%%.*}
minor=${minor%%.*}
ldflags="-s -w"
for path in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    ldflags="$ldflags -X $path.gitVersion=$version -X $path.gitMajor=$major -X $path.gitMinor=$minor"
    ldflags="$ldflags -X $path.gitTreeState=clean"
done

mkdir -p "$bin"
# A program that runs cannot be overwritten, but its name can be given to another file.
new=$bin/.$name.new
"$root/tools/progress.sh" "${STEP:-}${bin#"$root/"}/$name" "$package" "$GO" build -v -p 4 -ldflags "$ldflags" -o "$new" "$package"
mv -f "$new" "$bin/$name"
