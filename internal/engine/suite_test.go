package engine_test

import (
	"testing"

	"github.com/perdure/perdure/internal/engine/enginetest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every kind of store.

// TestRandomCommandsFollowTheRules compares the engine with a simple second implementation of its
// rules in package enginetest. Several workers and clients send random commands, and the clock
// jumps.
func TestRandomCommandsFollowTheRules(t *testing.T) { opentest.Each(t, enginetest.Random) }

// TestLocalQuestionsFollowTheRules compares the questions of a LOCAL execution with a simple second
// implementation of the rules in package enginetest. The commands are random, and the worker that
// has the contents of the questions connects and disconnects.
func TestLocalQuestionsFollowTheRules(t *testing.T) {
	opentest.Each(t, enginetest.RandomLocalQuestions)
}

// TestHistoriesAreLinearizable checks that concurrent claims, commits, releases, signals, cancels
// and reads are linearizable: their results are possible in some sequential order.
func TestHistoriesAreLinearizable(t *testing.T) { opentest.Each(t, enginetest.Linearizable) }

// TestTenWorkersClaimOneAgent checks that exactly one of ten concurrent polls claims an execution.
func TestTenWorkersClaimOneAgent(t *testing.T) {
	opentest.Each(t, enginetest.TenWorkersClaimOneAgent)
}

// TestTenConsumersFiveSignals checks that ten competing workers take each of five signals of an
// execution once, in the order in which they were sent.
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
