package worker

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// line is a dispatch that reports a reconnect for each value that the test sends to a channel.
type line struct {
	perdure.Dispatch
	again chan struct{}
}

func (l line) Reconnected() <-chan struct{} { return l.again }

// TestAWorkerBeatsWhenItsConnectionIsBack checks that the worker renews the lease of an execution
// after a reconnect, before the next regular heartbeat.
func TestAWorkerBeatsWhenItsConnectionIsBack(t *testing.T) {
	b := newBench(t, time.Hour) // no regular heartbeat during the test
	entered, goOn := make(chan struct{}), make(chan struct{})
	b.agent("a", func(agent.Context) (string, error) {
		close(entered)
		<-goOn
		return "fine", nil
	})
	again := make(chan struct{}, 1)
	b.work(func(c *Config) { c.Dispatch = line{c.Dispatch, again} })
	id := b.start("a")
	wait(t, "the agent", entered)
	before := b.execution(id).LeaseUntil
	b.ahead.Add(int64(time.Second))
	again <- struct{}{}
	eventually(t, "its lease to be renewed", func() bool { return before.Before(b.execution(id).LeaseUntil.Time) })
	close(goOn)
	b.output(id, "fine")
}
