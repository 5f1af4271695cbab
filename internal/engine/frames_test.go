package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
)

// gathering is a store that blocks each command that appends frames, until `want` of them are
// blocked.
type gathering struct {
	store.Store
	want int
	mu   sync.Mutex // guards here
	here int
	all  chan struct{}
}

func (g *gathering) Do(ctx context.Context, c store.Command) ([]any, error) {
	if c.Name == "append" {
		g.mu.Lock()
		if g.here++; g.here == g.want {
			close(g.all)
		}
		g.mu.Unlock()
		<-g.all
	}
	return g.Store.Do(ctx, c)
}

// TestABatchOfFramesIsWrittenSideBySide checks that the frames of 100 executions in one request are
// written concurrently, so that they can share transactions.
func TestABatchOfFramesIsWrittenSideBySide(t *testing.T) {
	longtest.Skip(t, "seconds")
	const executions = 100
	b := newBench(t)
	b.use(&gathering{Store: b.s, want: executions, all: make(chan struct{})})
	var frames []perdure.Frame
	for range executions {
		h := b.started()
		frames = append(frames,
			perdure.Frame{AgentLease: &h.claim.Lease, Type: perdure.EventToken, Text: "ab"},
			perdure.Frame{AgentLease: &h.claim.Lease, Type: perdure.EventToken, Offset: 2, Text: "c"})
	}
	replies, err := b.d.Append(t.Context(), frames)
	b.must(err)
	for i, r := range replies {
		if want := int64(2 + i%2); r.Err != nil || r.Held != want {
			t.Fatalf("frame %d is answered with %+v, want %d", i, r, want)
		}
	}
}

// TestFramesThatFailCostOthersNothing checks that a failure of the frames of one execution does not
// affect those of other executions. If no frame of a request can be stored, the request fails.
func TestFramesThatFailCostOthersNothing(t *testing.T) {
	for name, c := range map[string]struct {
		failure error
		code    perdure.Code
	}{
		"unavailable":    {perdure.Errorf(perdure.Unavailable, "planned"), perdure.Unavailable},
		"without a code": {errors.New("planned"), perdure.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			one, other := b.started(), b.started()
			b.use(&stubborn{Store: b.s, names: []string{"append"}, execution: one.id, err: c.failure})
			frames := []perdure.Frame{
				{AgentLease: &one.claim.Lease, Type: perdure.EventToken, Text: "ab"},
				{AgentLease: &other.claim.Lease, Type: perdure.EventToken, Text: "abc"},
				{AgentLease: &one.claim.Lease, Type: perdure.EventToken, Offset: 2, Text: "c"},
			}
			replies, err := b.d.Append(t.Context(), frames)
			b.must(err)
			if r := replies[1]; r.Err != nil || r.Held != 3 {
				t.Errorf("the other's frame is answered with %+v", r)
			}
			for _, i := range []int{0, 2} {
				if r := replies[i]; r.Err == nil || r.Err.Code != c.code {
					t.Errorf("frame %d is answered with %+v, want %s", i, r, c.code)
				}
			}
			_, err = b.d.Append(t.Context(), frames[:1])
			b.wantCode(err, c.code)
		})
	}
}
