#!/usr/bin/env bash
# Generates the types of the TypeScript client from the OpenAPI document of this
# checkout's server.
set -euo pipefail
cd "$(dirname "$0")/.."

data=$(mktemp -d)
go build -o "$data/perdure" ./cmd/perdure
"$data/perdure" dev --data "$data/d" --addr 127.0.0.1:0 --grpc-addr 127.0.0.1:0 >"$data/log" 2>&1 &
server=$!
trap 'kill "$server"; wait "$server" || true; rm -rf "$data"' EXIT
until url=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$data/log" | head -n 1) && [ -n "$url" ]; do
	kill -0 "$server" || { cat "$data/log" >&2; exit 1; }
	sleep 0.1
done
cd web && PERDURE_URL=$url npm run --silent generate
