#!/usr/bin/env bash
# Runs all Go tests, most of them under the race detector. The arguments are the flags
# of go test for these. CI runs it, with make test.
set -euo pipefail
cd "$(dirname "$0")/.."

# Packages whose tests run without the race detector.
plain=(
	# Pure functions and checks of the repository: nothing there runs concurrently.
	.
	api/perdure/v1/pbconv
	internal/contract
	internal/layering
	internal/lru
	internal/markdown
	internal/pagecheck
	internal/response
	internal/rules
	internal/rules/tenant
	internal/rules/validate
	internal/sealed
	internal/supply
	# Their tests start their own binary, hundreds of times: as a sandboxed command, or as
	# the program. The start under the race detector costs more than the rest. What these
	# packages do concurrently runs under it as well, further below.
	tool
	cmd/perdure
	# Their tests run agents with faults at each commit, in virtual time. agent/agenttest, which
	# does that, is tested under the race detector.
	examples/order
	examples/reminder
	# Its tests run all workloads with servers and workers of their own.
	internal/bench
)

# The packages that take longest, longest first: a long package that begins last would
# leave a processor idle.
slow=(
	e2e internal/store/postgres worker internal/face/openai server react
	internal/store/sqlite agent/agenttest internal/log internal/engine internal/face
	client internal/durablestream
)

# Tests of tool that attack its sandbox with the test binary.
attacks='Attack|Socket|Filter|ForeignCalls|Secret|Homes|Caches|Network|Loopback|Terminals|NamedPipes|Families|OtherProcesses|WhatACommand|Limits|Mounts|Renamed|RunLater|TemporaryFolders|DataDirectory|Root'

module=$(go list -m)
named() { # PATH...: their import paths
	local path
	for path; do
		if [ "$path" = . ]; then echo "$module"; else echo "$module/$path"; fi
	done
}
all=$(go list ./...)
# A name in the lists above that is no package has no effect.
mapfile -t unraced < <(named "${plain[@]}" | grep -xF "$all")
rest=$(grep -vxF "$(printf '%s\n' "${unraced[@]}")" <<<"$all")
first=$(named "${slow[@]}" | grep -xF "$rest")
mapfile -t raced < <(echo "$first" && grep -vxF "$first" <<<"$rest")

. scripts/scratch.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT

race() { # ARGUMENTS OF GO TEST: runs tests under the race detector, which needs cgo
	CGO_ENABLED=1 go test -vet=off "$@"
}

# Packages run without the race detector, and then samples of three of them with it.
beside() { # FLAGS FOR THE RACE DETECTOR
	local bad=0
	go test -vet=off -timeout 30m -p 1 "${unraced[@]}" || bad=1
	race "$@" -skip "$attacks" ./tool || bad=1
	race "$@" -run '^TestScripts$/^(run|local|wait)$' ./cmd/perdure || bad=1
	race "$@" -run '^TestCancelledRunReportsItsResults$' ./internal/bench || bad=1
	return "$bad"
}

# make test has run go vet. The packages of beside run beside those of the race detector, which
# are as many as there are processors: some tests of each wait most of the time.
beside "$@" >"$log" 2>&1 &
job=$!
failed=0
mapfile -t memory < <(memory_exec)
race "${memory[@]}" "$@" "${raced[@]}" || failed=1
wait "$job" || failed=1
cat "$log"
exit "$failed"
