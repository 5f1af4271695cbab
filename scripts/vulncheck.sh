#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that the program calls, in its libraries
# and in Go itself. With --if-reachable, the script succeeds with a message if the
# database (GOVULNDB, https://vuln.go.dev) cannot be reached. A vulnerability always
# makes it fail.
set -uo pipefail
cd "$(dirname "$0")/.."

said=$(mktemp)
trap 'rm -f "$said"' EXIT
go tool -modfile=tools/govulncheck/go.mod govulncheck ./... 2>"$said"
code=$?
cat "$said" >&2
[ "$code" -eq 0 ] && exit 0
if [ "$code" -eq 3 ]; then
	echo "vulncheck: there are vulnerabilities that the program calls; update what is named above" >&2
	exit 3
fi
if grep -q 'fetching vulnerabilities' "$said"; then
	echo "vulncheck: the database of vulnerabilities cannot be reached; nothing was checked (GOVULNDB names another)" >&2
	[ "${1:-}" = --if-reachable ] && exit 0
fi
exit "$code"
