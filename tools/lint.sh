#!/bin/sh
# Checks formatting everywhere, and runs go vet and staticcheck over the program and over
# the tools. The control plane for tests (test/controlplane) is checked for formatting
# alone: vetting it compiles Kubernetes, which takes minutes.
#
# usage: tools/lint.sh [PACKAGE...]
#
# PACKAGE is a pattern in the program's module, such as ./apply/...; with one given,
# nothing else is checked.
set -eu
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
	unformatted=$(go list -f '{{.Dir}}' "$@" | while read -r dir; do gofmt -l "$dir"/*.go; done)
else
	unformatted=$(find . -name '*.go' -not -path './bin/*' -not -path './.git/*' -not -path './.cache/*' -exec gofmt -l {} +)
fi
if [ -n "$unformatted" ]; then
	printf 'lint.sh: run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi

mkdir -p bin/tools
go -C tools build -o ../bin/tools/ honnef.co/go/tools/cmd/staticcheck
staticcheck=$PWD/bin/tools/staticcheck

# check DIRECTORY PACKAGE...
check() {
	(cd "$1" && shift && go vet "$@" && "$staticcheck" "$@")
}

if [ $# -gt 0 ]; then
	check . "$@"
else
	check . ./...
	check tools ./...
fi
