#!/bin/sh
# Runs each fuzz target for FUZZTIME, one after another: go test fuzzes one at a time. It goes on after a
# failure, and fails at the end. With arguments it runs only the targets of these names.
#
# What Go finds on the way stays in its cache. An input that fails is written to testdata/fuzz of its package,
# where it is a test from then on.
#
# usage: FUZZTIME=1m tools/fuzz.sh [TARGET...]
set -eu
cd "$(dirname "$0")/.."

: "${GO:=go}" "${FUZZTIME:=1m}"

targets=$(grep -r --include='*_test.go' --exclude-dir=bin --exclude-dir=.cache --exclude-dir=controlplane '^func Fuzz' . |
	sed 's|^\./\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9_]*\).*|\1 \2|' | sort)
failed=''
while read -r package target; do
	if [ $# -gt 0 ] && ! echo " $* " | grep -q " $target "; then
		continue
	fi
	echo "== $package $target"
	# To minimize an input can take all of the time: two seconds are enough.
	# shellcheck disable=SC2086 # TESTFLAGS are several words.
	"$GO" test "./$package" -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 2s ${TESTFLAGS:-} </dev/null || failed="$failed $package:$target"
done <<EOF
$targets
EOF
if [ -n "$failed" ]; then
	echo "these targets failed:$failed" >&2
	exit 1
fi
