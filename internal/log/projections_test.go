package log_test

import (
	"testing"

	"github.com/perdure/perdure/internal/log/logtest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store, and over every projection of the log of a real agent's
// run.

// Each projection that is cut after an event and resumed on a restarted server equals the
// uninterrupted one.
func TestEveryProjectionResumedAtAnyEventEqualsWhole(t *testing.T) {
	longtest.Skip(t, "seconds")
	opentest.EachLasting(t, logtest.CutAndResume)
}

// Readers attach while the run is live, and their connections break at random. They end with the
// same content as a reader that comes later.
func TestEveryProjectionReadLiveEqualsReplay(t *testing.T) {
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 0) })
}

// Readers of a live run get the same content although the server restarts during the run.
func TestEveryProjectionSurvivesServerRestarts(t *testing.T) {
	longtest.Skip(t, "seconds")
	opentest.EachLasting(t, func(t *testing.T, open opentest.Reopener) { logtest.Live(t, open, 3) })
}
