package engine_test

import (
	"testing"

	"github.com/perdure/perdure/internal/engine/enginetest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store.

// TestRandomCommandsFollowTheRules checks that the engine follows the model of the rules, for
// random commands of several workers and clients with jumps of the clock.
func TestRandomCommandsFollowTheRules(t *testing.T) { opentest.Each(t, enginetest.Random) }

// TestHistoriesAreLinearizable checks that concurrent claims, commits, signals and reads are
// answered as in some sequential order.
func TestHistoriesAreLinearizable(t *testing.T) { opentest.Each(t, enginetest.Linearizable) }

// TestTenWorkersClaimOneAgent checks that exactly one of ten concurrent polls claims an execution.
func TestTenWorkersClaimOneAgent(t *testing.T) {
	opentest.Each(t, enginetest.TenWorkersClaimOneAgent)
}

// TestTenConsumersFiveSignals checks that each of five signals of an execution is taken once by ten
// workers.
func TestTenConsumersFiveSignals(t *testing.T) {
	opentest.Each(t, enginetest.TenConsumersFiveSignals)
}

// TestTwoServersShareADatabase checks two servers that share a database and nothing else: signals
// that are sent to one are taken at the other, once and in order, and nothing is claimed twice.
func TestTwoServersShareADatabase(t *testing.T) { enginetest.Servers(t, opentest.Servers(t, 2)) }

// TestCancelTaskOfAnotherAgentIsRefused checks that only a task's own execution can cancel it.
func TestCancelTaskOfAnotherAgentIsRefused(t *testing.T) {
	opentest.Each(t, enginetest.CancelTaskOfAnotherAgentIsRefused)
}
