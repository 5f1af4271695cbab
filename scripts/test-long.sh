#!/usr/bin/env bash
# Runs whole what make test runs as a sample (docs/testing-perdure.md). The arguments
# are the flags of go test. It takes hours.
set -euo pipefail
cd "$(dirname "$0")/.."
export PERDURE_TEST=long CGO_ENABLED=1 # the race detector needs cgo

flags=("$@")
failed=0
long() { # VARIABLE=VALUE... -- FLAGS AND PACKAGES
	local set=()
	while [ "$1" != -- ]; do
		set+=("$1")
		shift
	done
	shift
	echo "== ${set[*]} $*"
	env "${set[@]}" go test "${flags[@]}" -count=1 "$@" || failed=1
}

# Every variant of the stores and of the model, with all checks of the properties.
long -- -timeout 3h ./internal/store/... ./internal/engine ./agent/agenttest ./worker ./server
# The contexts of many paths with compactions.
long -- -timeout 1h -run TestAnyCompactedConversationIsAccepted ./llm
# Every point at which a run can be killed, and many random ones.
long PERDURE_KILL_POINTS=all PERDURE_FOLDS=200 -- -timeout 3h -parallel 12 ./react
long PERDURE_ANSWER_KILLS=200 -- -timeout 2h -run 'TestAnswersOutliveTheirWorker|TestKilledAtRandomPoints' ./e2e
# The clients of the Responses endpoint, in all versions.
long -- -timeout 2h -run TestClients ./e2e
# The packages that make test runs mostly without the race detector.
long -- -timeout 1h ./tool ./cmd/perdure ./internal/bench ./examples/order ./examples/reminder
# The log, cut at many places of each reading.
long PERDURE_LOG_CUTS=100 -- -timeout 2h -run TestAStranger ./internal/face
make chaos || failed=1
exit "$failed"
