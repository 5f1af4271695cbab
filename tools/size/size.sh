#!/usr/bin/env bash
# Prints how many lines of product code there are, and how large the released
# binary is. It counts no tests, generated files, comments or blank lines.
# With -limit MB it fails if the binary is larger.
set -euo pipefail
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go -C tools/size build -o "$tmp/size" .
git ls-files | "$tmp/size"
# The flags are those of Dockerfile and of the Makefile.
CGO_ENABLED=0 go build -tags=grpcnotrace -trimpath -ldflags='-s -w' -o "$tmp/perdure" ./cmd/perdure
bytes=$(wc -c <"$tmp/perdure")
printf '%-40s %6.1f MB\n' 'binary, stripped' "$(awk -v n="$bytes" 'BEGIN {print n / 1e6}')"
if [ "${1:-}" = -limit ] && [ "$bytes" -gt "$(($2 * 1000000))" ]; then
	echo "the limit is $2 MB; look for what is heavy with: go tool nm -size -sort size" >&2
	exit 1
fi
