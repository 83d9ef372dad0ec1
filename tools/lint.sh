#!/bin/sh
# Runs go vet and staticcheck on the program and on the tools. It leaves out the control
# plane for tests (test/controlplane): vetting it compiles Kubernetes, which takes minutes.
# Formatting is checked by make format.
#
# usage: tools/lint.sh [PACKAGE...]
#
# PACKAGE is a pattern in the program's module, such as ./apply/...; then only these are checked.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED="${CGO_ENABLED:-0}" # As make sets it: what is compiled is shared.

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
