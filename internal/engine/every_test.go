package engine_test

import (
	"testing"

	"github.com/perdure/perdure/internal/engine/enginetest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store.

// Whatever several workers and clients do, and however the clock jumps, the
// engine does what the model of the rules does.
func TestRandomCommandsFollowTheRules(t *testing.T) { opentest.Each(t, enginetest.Random) }

// Claims, commits, signals and reads that continue at once are answered as if they
// had come one after the other.
func TestHistoriesAreLinearizable(t *testing.T) { opentest.Each(t, enginetest.Linearizable) }

// Ten workers poll at once, and exactly one gets the execution.
func TestTenWorkersClaimOneAgent(t *testing.T) {
	opentest.Each(t, enginetest.TenWorkersClaimOneAgent)
}

// Ten workers take five signals of one execution: each signal is taken once.
func TestTenConsumersFiveSignals(t *testing.T) {
	opentest.Each(t, enginetest.TenConsumersFiveSignals)
}

// Two servers share a database and nothing else: what is given to one is taken on
// the other, once and in order, and nothing is claimed twice.
func TestTwoServersShareADatabase(t *testing.T) { enginetest.Servers(t, opentest.Servers(t, 2)) }

// A task is cancelled by its own execution alone.
func TestCancelTaskOfAnotherAgentIsRefused(t *testing.T) {
	opentest.Each(t, enginetest.CancelTaskOfAnotherAgentIsRefused)
}
