package log_test

import (
	"testing"

	"github.com/perdure/perdure/internal/log/logtest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store, and over every projection of the log of a real agent's
// run.

// TestEveryProjectionResumedAtAnyEventEqualsWhole checks that a reading of each projection that is
// cut after an event, and resumed on another server, has the same content as a reading without a
// cut.
func TestEveryProjectionResumedAtAnyEventEqualsWhole(t *testing.T) {
	longtest.Skip(t, "seconds")
	opentest.EachLasting(t, logtest.CutAndResume)
}

// TestEveryProjectionReadLiveEqualsReplay checks readers that start while the run is live and whose
// connections break at random. At the end, they have the same content as a reader that starts after
// the run.
func TestEveryProjectionReadLiveEqualsReplay(t *testing.T) {
	longtest.Skip(t, "seconds")
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 0) })
}

// TestEveryProjectionSurvivesServerRestarts checks that readers of a live run get the same content
// although the server restarts during the run.
func TestEveryProjectionSurvivesServerRestarts(t *testing.T) {
	longtest.Skip(t, "seconds")
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 3) })
}
