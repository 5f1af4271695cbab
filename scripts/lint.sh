#!/usr/bin/env bash
# Runs every linter; each is pinned in a go.mod of its own under tools/, so that
# it does not weigh on the module's.
set -euo pipefail
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo "== gofumpt"
./scripts/format.sh

echo "== golangci-lint"
go tool -modfile=tools/golangci-lint/go.mod golangci-lint run --timeout 15m ./...

echo "== prose"
# Forms of words in comments that readers stumble over.
go -C tools/prose vet ./...
go -C tools/prose test ./...
go -C tools/prose build -o "$tmp/prose" .
git ls-files '*.go' | xargs "$tmp/prose" -limit 1

echo "== size"
go -C tools/size vet ./...
go -C tools/size test ./...
./tools/size/size.sh -limit 60

echo "== deadcode"
./scripts/deadcode.sh

echo "== macOS"
# Types are checked, which takes a fraction of a build's time.
go -C tools/typecheck vet ./...
go -C tools/typecheck test ./...
go -C tools/typecheck build -o "$tmp/typecheck" .
GOOS=darwin GOARCH=arm64 "$tmp/typecheck" ./...
GOARCH=arm64 go tool asm -p worker -I "$(go env GOROOT)/pkg/include" -o "$tmp/goroutine.o" worker/goroutine_arm64.s
go tool nm "$tmp/goroutine.o" | grep -q " T worker.goroutine$"

echo "== generated code"
./tools/buf/check.sh

echo "== web"
(cd web && npm run --silent lint)

echo "== built pages"
built=$tmp/pages
(cd web && PERDURE_WEB_OUT=$built npm run --silent build:pages)
go -C tools/pages vet ./...
go -C tools/pages test ./...
if ! go -C tools/pages run . -check "$built" "$PWD/web/dist.zip"; then
	echo "web/dist.zip is not what web/app builds; run (cd web && npm run build) and commit it" >&2
	exit 1
fi

echo "== modules"
# What was downloaded is what go.sum says, of the program and of its tools.
for mod in go.mod tools/*/go.mod; do
	GOFLAGS=-modfile=$mod go mod verify >/dev/null
done
