package eventlog_test

import (
	"testing"

	"github.com/perdure/perdure/internal/eventlog/logtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store, and over every projection of the
// log of a real agent's run.

// Cut after any event and read on, also on a server that was started again, the
// parts joined are the whole.
func TestTrap58_EveryProjectionCutEverywhereEqualsWhole(t *testing.T) {
	opentest.EachLasting(t, logtest.CutAndResume)
}

// Readers that attach while the run is live, and whose connections break at
// random, come to hold what a late reader is given.
func TestTrap23_EveryProjectionReadLiveEqualsLater(t *testing.T) {
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 0) })
}

// The same while the server is stopped and started again in the middle.
func TestTrap24_EveryProjectionAcrossRestarts(t *testing.T) {
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 3) })
}
