#!/usr/bin/env bash
# Lists Go files that gofumpt would change, and fails if there are any.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(go tool -modfile=tools/gofumpt/go.mod gofumpt -l $(git ls-files '*.go' | grep -v '\.pb\.go$'))
if [ -n "$unformatted" ]; then
	printf 'not formatted:\n%s\n' "$unformatted" >&2
	exit 1
fi
