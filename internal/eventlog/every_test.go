package eventlog_test

import (
	"testing"

	"github.com/perdure/perdure/internal/eventlog/logtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store, and over every projection of the log of a real agent's
// run.

// A projection that is interrupted after any event and resumed, also on a restarted server, equals
// the uninterrupted one.
func TestTrap58_EveryProjectionCutEverywhereEqualsWhole(t *testing.T) {
	opentest.EachLasting(t, logtest.CutAndResume)
}

// Readers attach while the run is live, and their connections break at random. They end with the
// same content as a reader that comes later.
func TestTrap23_EveryProjectionReadLiveEqualsLater(t *testing.T) {
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 0) })
}

// Readers of a live run get the same content although the server restarts during the run.
func TestTrap24_EveryProjectionAcrossRestarts(t *testing.T) {
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 3) })
}
