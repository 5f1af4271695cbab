package connection

import (
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
)

// line is a connection to a server that reports reconnects.
type line struct {
	perdure.Dispatch
	again chan struct{}
}

func (l line) Reconnected() <-chan struct{} { return l.again }

// TestReconnectsAndMovesReachTheWorker checks that a worker learns of each reconnect to the current
// server and of each move, and of no reconnect to a former server.
func TestReconnectsAndMovesReachTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := line{again: make(chan struct{}, 1)}, line{again: make(chan struct{}, 1)}
		hungUp := 0
		hangUp := func() { hungUp++ }
		m := newMovableDispatch(one, hangUp)
		told := func() bool {
			synctest.Wait()
			select {
			case <-m.Reconnected():
				return true
			default:
				return false
			}
		}
		one.again <- struct{}{}
		if !told() || told() {
			t.Error("one reconnect is one value")
		}
		m.move(two, hangUp)
		if !told() || m.at() != perdure.Dispatch(two) || hungUp != 1 {
			t.Errorf("after the move, %d connections are closed", hungUp)
		}
		one.again <- struct{}{}
		if told() {
			t.Error("the worker is told of a former server")
		}
		two.again <- struct{}{}
		if !told() {
			t.Error("the worker is not told of the current server's reconnect")
		}
		m.close()
		m.close()
		if hungUp != 2 {
			t.Errorf("%d connections are closed, want 2", hungUp)
		}
	})
}
