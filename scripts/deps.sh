#!/usr/bin/env bash
# Installs the dependencies of the tests: Node.js (the end-to-end tests use a mock of
# the model providers and a conformance suite, both npm packages, and web/ is
# TypeScript), a browser for the tests of the pages, PostgreSQL (tests start their own),
# Python 3 (a client of the log, e2e/logclient), bubblewrap (the tests of tool confine commands
# with it), git, make, bash.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for tool in git make bash; do command -v "$tool" >/dev/null || missing+=("$tool"); done
command -v npm >/dev/null || missing+=(nodejs npm)
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing+=(postgresql)
command -v chromium >/dev/null || missing+=(chromium)
command -v python3 >/dev/null || missing+=(python3)
if [ "$(uname)" = Linux ]; then command -v bwrap >/dev/null || missing+=(bubblewrap); fi
if [ ${#missing[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null; then
		echo "please install: ${missing[*]}" >&2
		exit 1
	fi
	run=()
	if [ "$(id -u)" != 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "please install as root: ${missing[*]}" >&2
			exit 1
		fi
		run=(sudo)
	fi
	"${run[@]}" apt-get update -qq
	"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi

# Debian's packages are not pinned, because a point release removes the older ones from
# Debian's servers. Instead, the script prints the versions, and checks the minimum
# versions.
at_least() { # NAME VERSION MINIMUM
	echo "$1 $2"
	if [ "$(printf '%s\n' "$3" "$2" | sort -V | head -n 1)" != "$3" ]; then
		echo "$1 is $2; at least $3 is needed" >&2
		exit 1
	fi
}
postgres=$(command -v postgres || ls /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)
number() { grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1; }
at_least node "$(node --version | number)" 20.0
at_least npm "$(npm --version | number)" 9.0
at_least postgresql "$("$postgres" --version | number)" 15.0
at_least python3 "$(python3 --version | number)" 3.9
if [ "$(uname)" = Linux ]; then
	at_least bubblewrap "$(bwrap --version | number)" 0.4
fi
at_least git "$(git --version | number)" 2.30
at_least chromium "$(chromium --version 2>/dev/null | number)" 100.0

for dir in e2e/aimock e2e/clients e2e/durablestreams web; do
	stamp=$dir/node_modules/.lock-installed
	if ! cmp -s "$dir/package-lock.json" "$stamp"; then
		npm ci --ignore-scripts --no-audit --no-fund --prefix "$dir"
		cp "$dir/package-lock.json" "$stamp"
	fi
done
