#!/bin/sh
# Builds the archives of a release and the manifest of the krew plugin with their checksums, in bin/dist.
#
# usage: tools/dist.sh VERSION OS/ARCH...
set -eu
cd "$(dirname "$0")/.."
version=${1:?"usage: tools/dist.sh VERSION OS/ARCH..."}
shift
: "${GO:=go}"
"$GO" -C tools build -o ../bin/tools/ ./release
bin/tools/release check "$version"
rm -rf bin/dist
mkdir -p bin/dist
for platform in "$@"; do
	echo "building $platform" >&2
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} "$GO" build -trimpath -ldflags "-s -w -X main.version=$version" \
		-o "bin/dist/$platform/" ./cmd/...
	cp LICENSE "bin/dist/$platform/"
done
bin/tools/release pack "$version" bin/dist manifests/krew/libretto.yaml "$@"
