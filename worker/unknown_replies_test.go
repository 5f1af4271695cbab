package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestWhatAnUnknownBeatSaidIsSaidAgain checks a heartbeat that the server could not process, and
// that contained progress of an attempt. The next heartbeat repeats the progress, and the attempt
// continues.
func TestWhatAnUnknownBeatSaidIsSaidAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 600*time.Millisecond)
	enough := make(chan struct{})
	b.task("work", func(ctx agent.TaskContext, n int) (int, error) {
		ctx.Progress(7)
		select {
		case <-enough:
		case <-ctx.Done():
		}
		return n, ctx.Err()
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "work", 1, agent.Attempts(1))
		return "fine", err
	})
	f := &faulty{}
	said := 0 // needs no lock, because heartbeats are never concurrent
	f.onHeartbeat = func(h perdure.Heartbeat, r *perdure.HeartbeatReply) error {
		if len(h.Tasks) != 1 || !h.Tasks[0].Alive || string(h.Tasks[0].Progress) != "7" {
			return nil
		}
		switch said++; said {
		case 1:
			r.Tasks[0] = perdure.TaskHeartbeatReply{Unknown: true}
		case 2:
			close(enough)
		}
		return nil
	}
	b.work(b.overFaulty(f))
	b.output(b.start("a"), "fine")
}

// TestAFrameThatCouldNotBeStoredNowIsSentAgain checks that a chunk of streamed text that the server
// refuses with a temporary error is sent again until it is stored. Meanwhile, another task streams
// and ends.
func TestAFrameThatCouldNotBeStoredNowIsSentAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, code := range []perdure.Code{perdure.Unavailable, perdure.RateLimited, perdure.Internal} {
		t.Run(string(code), func(t *testing.T) {
			b := newBench(t, time.Minute)
			shown := make(chan struct{})
			b.task("late", func(ctx agent.TaskContext, n int) (int, error) {
				ctx.Stream().Text("one")
				ctx.Stream().Text(" two")
				return n, nil
			})
			b.task("other", func(ctx agent.TaskContext, n int) (int, error) {
				ctx.Stream().Text("other")
				return n, nil
			})
			b.agent("a", func(ctx agent.Context) (string, error) {
				late := ctx.Schedule("late", 1, agent.Attempts(1))
				if _, err := agent.Call[int](ctx, "other", 1, agent.Attempts(1)); err != nil {
					return "", err
				}
				close(shown)
				return "fine", firstError(ctx.Await(agent.All, late))
			})
			var refused atomic.Int32
			f := &choosy{refuse: func(f perdure.Frame) *perdure.Error {
				if f.Block != 0 || f.Text == "other" || f.Text == "" {
					return nil
				}
				select {
				case <-shown:
					if refused.Load() > 0 {
						return nil
					}
				default:
				}
				refused.Add(1)
				return perdure.Errorf(code, "planned")
			}}
			f.Dispatch = b.e.Dispatch(org, false)
			b.work(func(c *Config) { c.Dispatch = f })
			id := b.start("a")
			b.output(id, "fine")
			text := ""
			for _, r := range b.log(id) {
				if r.Chunk != nil && r.Chunk.Text != "other" {
					text += r.Chunk.Text
				}
			}
			if text != "one two" || refused.Load() == 0 {
				t.Errorf("%q is stored, after %d refusals", text, refused.Load())
			}
		})
	}
}

// choosy is a dispatch that refuses some of the frames of a call and passes on the others.
type choosy struct {
	perdure.Dispatch
	refuse func(perdure.Frame) *perdure.Error
}

func (c *choosy) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	replies := make([]perdure.FrameReply, len(frames))
	var passed []perdure.Frame
	var places []int
	for i, f := range frames {
		if replies[i].Err = c.refuse(f); replies[i].Err == nil {
			passed, places = append(passed, f), append(places, i)
		}
	}
	got, err := c.Dispatch.Append(ctx, passed)
	for i, r := range got {
		replies[places[i]] = r
	}
	return replies, err
}
