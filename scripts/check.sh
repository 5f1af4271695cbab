#!/usr/bin/env bash
# Runs the checks for the time of writing: format, vet, and the tests that need
# neither PostgreSQL nor a browser nor minutes. CI runs all tests, with make test.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== gofumpt"
./scripts/format.sh

echo "== vet"
go vet ./...

echo "== tests"
# Tests that open a PostgreSQL store are skipped under -short. The packages left out
# need PostgreSQL (stores) or npm packages and minutes (e2e).
packages=$(go list ./... | grep -vE '/(internal/store/(postgres|transfer)|e2e)(/|$)')
# The packages that take longest come first: a long package that begins last would leave a processor idle.
slow='/(internal/engine|cmd/perdure|tool|agent/agenttest|internal/store/sqlite|react|worker|internal/face|internal/face/openai|server)$'
packages="$(grep -E "$slow" <<<"$packages") $(grep -vE "$slow" <<<"$packages")"
# Some tests of each package wait most of the time, so more packages run at once than there are processors.
go test -vet=off -short -timeout 5m -p $((2 * $(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN))) $packages "$@"
