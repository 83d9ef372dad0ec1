#!/bin/sh
# Runs golangci-lint, with the linters of .golangci.yml, on the program and on the tools. It leaves out the
# control plane for tests (test/controlplane): vetting it compiles Kubernetes, which takes minutes.
# Formatting is checked by make format.
#
# usage: tools/lint.sh [PACKAGE...]
#
# PACKAGE is a pattern in the program's module, such as ./apply/...; then only these are checked.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED="${CGO_ENABLED:-0}" # As make sets it: what is compiled is shared.

version=2.12.0
linter=$PWD/bin/tools/golangci-lint
if [ "$("$linter" version --short 2>/dev/null)" != "$version" ]; then
	echo "building golangci-lint $version, once: it takes a minute or two" >&2
	# Not from tools/go.mod: its dependencies are more than all others together.
	if ! GOBIN=$PWD/bin/tools GOFLAGS=-trimpath go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version"; then
		echo "golangci-lint $version can't be built, so that go vet alone runs: see above; is there a proxy for modules?" >&2
		linter=
	fi
fi

# A cache of this checkout: what it has of files in another one is reported by the path there, for which no rule of exclusion is.
export GOLANGCI_LINT_CACHE=$PWD/.cache/golangci-lint

# check DIRECTORY PACKAGE...
check() {
	(cd "$1" && shift && if [ -n "$linter" ]; then "$linter" run "$@"; else go vet "$@"; fi)
}

if [ $# -gt 0 ]; then
	check . "$@"
else
	check . ./...
	check tools ./...
fi
