package engine_test

import (
	"testing"

	"github.com/perdure/perdure/internal/engine/enginetest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every kind of store.

// TestRandomCommandsFollowTheRules checks that the engine behaves like the model of the rules for
// random commands of several workers and clients, with jumps of the clock.
func TestRandomCommandsFollowTheRules(t *testing.T) { opentest.Each(t, enginetest.Random) }

// TestLocalQuestionsFollowTheRules checks that questions of a LOCAL execution behave like the model
// of the rules for random commands, while the worker that has their contents connects and
// disconnects.
func TestLocalQuestionsFollowTheRules(t *testing.T) {
	opentest.Each(t, enginetest.RandomLocalQuestions)
}

// TestHistoriesAreLinearizable checks that some sequential order explains the results of concurrent
// claims, commits, releases, signals, cancels and reads.
func TestHistoriesAreLinearizable(t *testing.T) { opentest.Each(t, enginetest.Linearizable) }

// TestTenWorkersClaimOneAgent checks that exactly one of ten concurrent polls claims an execution.
func TestTenWorkersClaimOneAgent(t *testing.T) {
	opentest.Each(t, enginetest.TenWorkersClaimOneAgent)
}

// TestTenConsumersFiveSignals checks that ten competing workers take each of five signals of an
// execution once, in the order sent.
func TestTenConsumersFiveSignals(t *testing.T) {
	opentest.Each(t, enginetest.TenConsumersFiveSignals)
}

// TestTwoServersShareADatabase checks that two servers on one database claim no execution twice,
// and take the signals of each execution once and in order.
func TestTwoServersShareADatabase(t *testing.T) {
	longtest.Skip(t, "seconds")
	enginetest.Servers(t, opentest.Servers(t, 2))
}

// TestCancelTaskOfAnotherAgentIsRefused checks that only a task's own execution can cancel it.
func TestCancelTaskOfAnotherAgentIsRefused(t *testing.T) {
	opentest.Each(t, enginetest.CancelTaskOfAnotherAgentIsRefused)
}

// TestTwoServersAgreeOnPauses checks that a queue that was paused on one server is paused on the
// other.
func TestTwoServersAgreeOnPauses(t *testing.T) { enginetest.Pauses(t, opentest.Servers(t, 2)) }

// TestTwoServersContinueBulkActions checks that two servers on one database handle each execution
// of a bulk action once.
func TestTwoServersContinueBulkActions(t *testing.T) {
	longtest.Skip(t, "seconds")
	enginetest.BulkServers(t, opentest.Servers(t, 2))
}
