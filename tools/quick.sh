#!/bin/sh
# Compiles what depends on the files that have changed since the last run that passed. The changed packages, with those that import them
# directly, are vetted, tests included, and tested. Tests below cmd, test and examples run if they have changed themselves: the others are for
# make unit.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}

since=bin/.quick
[ -e "$since" ] || since=bin/libretto
if [ ! -e "$since" ]; then
	echo "there is nothing to compare the files with yet: make build" >&2
	exit 1
fi
mkdir -p bin
touch bin/.quick.now
trap 'rm -f bin/.quick.now' EXIT

# The folders of changed files. A file that is no package's is the nearest one's above: it may be embedded, or read by a test.
changed=$(find . \( -path ./bin -o -path ./.git -o -path ./docs -o -path ./test/controlplane -o -path ./tools \) -prune -o \
	-type f -newer "$since" ! -name '*.md' -print | sed 's|/[^/]*$||' | sort -u)
folders=
for folder in $changed; do
	until [ "$folder" = . ] || ls "$folder"/*.go >/dev/null 2>&1; do
		folder=${folder%/*}
	done
	folders="$folders $folder"
done
if [ -z "$folders" ]; then
	echo "nothing has changed since $since"
	exit 0
fi

# Each package with what it imports, and after a bar what its tests do: which ones depend on the changed folders, and which import one directly.
format='{{.ImportPath}} {{join .Imports " "}} | {{join .TestImports " "}} {{join .XTestImports " "}}'
module=$("$GO" list -m)
list=$("$GO" list -e -f "$format" ./... | awk -v module="$module" -v folders="$folders" '
	BEGIN {
		n = split(folders, all, " ")
		for (i = 1; i <= n; i++) { p = all[i]; sub(/^\./, module, p); changed[p] = dirty[p] = 1 }
	}
	{ line[NR] = $0 }
	END {
		do {
			more = 0
			for (l = 1; l <= NR; l++) {
				m = split(line[l], f, " ")
				for (j = 2; j <= m && f[j] != "|" && !(f[1] in dirty); j++)
					if (f[j] in dirty) dirty[f[1]] = more = 1
			}
		} while (more)
		for (l = 1; l <= NR; l++) {
			m = split(line[l], f, " ")
			vet = test = f[1] in changed
			near = f[1] !~ "^" module "/(cmd|test|examples)/"
			for (j = 2; j <= m; j++)
				if (f[j] in changed) {
					vet = 1
					if (near) test = 1
				}
			if (f[1] in dirty) print "compile", f[1]
			if (vet) print "vet", f[1]
			if (test) print "test", f[1]
		}
	}')
compiled=$(echo "$list" | sed -n 's/^compile //p')
vetted=$(echo "$list" | sed -n 's/^vet //p')
tested=$(echo "$list" | sed -n 's/^test //p')
if [ -z "$vetted" ]; then
	echo "what has changed since $since is in no package"
	exit 0
fi
echo "compile: $(echo "$compiled" | wc -l) packages; vet: $(echo "$vetted" | wc -l); test: $(echo "$tested" | wc -l)"
# It compiles as go build does, but links no program.
# shellcheck disable=SC2086 # They are lists.
"$GO" list -export $compiled >/dev/null
# shellcheck disable=SC2086
"$GO" vet $vetted
# shellcheck disable=SC2086
"$GO" test -vet=off $tested
mv bin/.quick.now bin/.quick
