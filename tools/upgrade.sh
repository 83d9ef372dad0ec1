#!/bin/sh
# Builds the programs of older commits, and tests the upgrade from each and the way back. The commits are the arguments.
set -eu
cd "$(dirname "$0")/.."
: "${GO:=go}"
if [ $# -eq 0 ]; then
	echo "tools/upgrade.sh: name the commits to upgrade from, such as make upgrade OLDER='HEAD~20 v0.1.0'" >&2
	exit 1
fi
older=''
for commit; do
	folder="$PWD/bin/older/$(git rev-parse --short "$commit^{commit}")"
	if [ ! -x "$folder/libretto-worker" ]; then
		source="$folder.source"
		rm -rf "$source"
		mkdir -p "$source" "$folder"
		git archive "$commit" | tar -xf - -C "$source"
		for program in libretto libretto-worker; do
			(cd "$source" && CGO_ENABLED=0 "$GO" build -buildvcs=false -o "$folder/$program" "./cmd/$program")
		done
		rm -rf "$source"
	fi
	older="$older${older:+:}$folder"
done
LIBRETTO_OLDER="$older" LIBRETTO_BIN_DIR="$PWD/bin" "$GO" test -count=1 -v -run '^TestUpgrade$' ./test/integration/migration
