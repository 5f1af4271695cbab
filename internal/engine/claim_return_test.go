package engine

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
)

// TestClaimTellsHowLongItsPollWaited checks that a claim reports how long its poll had waited. A
// worker adds this time to the time at which it sent the poll, and so gets the start of the lease.
func TestClaimTellsHowLongItsPollWaited(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		for _, waits := range []time.Duration{0, 3 * time.Second} {
			time.AfterFunc(waits, func() { b.start() })
			if waits == 0 {
				time.Sleep(time.Millisecond)
			}
			p := b.poll(1)
			p.Wait = time.Minute
			claims, err := b.d.PollAgents(t.Context(), p)
			b.must(err)
			if claims[0].Waited != waits || claims[0].LeaseFor != testLease {
				t.Errorf("it waited %s, want %s", claims[0].Waited, waits)
			}
			h := &holder{bench: b, claim: claims[0], id: claims[0].Lease.ExecutionID}
			h.schedule("1")
			tasks, err := b.d.PollTasks(t.Context(), p)
			b.must(err)
			if tasks[0].Waited != 0 {
				t.Errorf("the task's poll waited %s", tasks[0].Waited)
			}
		}
	})
}

// refusing is a store from which blobs can be read only a limited number of times.
type refusing struct {
	store.Store
	reads atomic.Int32 // number of reads that succeed
}

func (r *refusing) Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error) {
	if r.reads.Add(-1) < 0 {
		return nil, perdure.Errorf(perdure.Unavailable, "planned")
	}
	return r.Store.Blob(ctx, execution, id)
}

// TestClaimsThatCannotBeFilledAreGivenBack checks that the claim of a task is released if the
// task's input cannot be read. Claims with readable inputs are returned, and the other tasks can be
// claimed again.
func TestClaimsThatCannotBeFilledAreGivenBack(t *testing.T) {
	b := newBench(t)
	h := b.started()
	large := json.RawMessage(`"` + strings.Repeat("x", perdure.InlineLimit) + `"`)
	h.commit(func(c *perdure.Commit) {
		for _, instance := range []string{"1", "2", "3"} {
			ref, err := b.d.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: h.id, Lease: &h.claim.Lease}, int64(len(large)), strings.NewReader(string(large)))
			b.must(err)
			task := h.newTask(`"`+instance+`"`, func(o *perdure.TaskOptions) { o.Instance = instance })
			task.Input = perdure.Payload{Blob: &ref}
			c.Tasks = append(c.Tasks, task)
		}
	})
	unreadable := &refusing{Store: b.s}
	unreadable.reads.Store(1)
	b.use(unreadable)
	claims, err := b.d.PollTasks(t.Context(), b.poll(8))
	for _, c := range claims {
		if len(c.Task.Input) != len(large) {
			t.Errorf("a task is handed on with an input of %d bytes", len(c.Task.Input))
		}
	}
	if len(claims) != 1 || err != nil {
		t.Errorf("%d tasks are handed on, and the error is %v; want the one that could be read", len(claims), err)
	}
	if claims, err = b.d.PollTasks(t.Context(), b.poll(8)); len(claims) != 0 || !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("%d tasks are handed on, and the error is %v", len(claims), err)
	}
	unreadable.reads.Store(100)
	if claims = b.taskClaims(); len(claims) != 2 {
		t.Errorf("%d tasks can be claimed again, want 2", len(claims))
	}
}

// unread is a store from which claims can be read only a limited number of times.
type unread struct {
	store.Store
	together atomic.Int32 // number of reads that succeed
}

func (u *unread) Lazy() store.Reader { return unreadRefs{u.Store.Lazy(), u} }

type unreadRefs struct {
	store.Reader
	of *unread
}

func (r unreadRefs) Together(ctx context.Context, read func(store.ClaimReader) error) error {
	if r.of.together.Add(-1) < 0 {
		return perdure.Errorf(perdure.Unavailable, "planned")
	}
	return r.Reader.Together(ctx, read)
}

// TestClaimsThatCannotBeReadAreGivenBack checks claims of executions whose data cannot be read. The
// executions are released at once and can be claimed again. No crash is counted, as it would be at
// the end of a lease.
func TestClaimsThatCannotBeReadAreGivenBack(t *testing.T) {
	b := newBench(t)
	var ids []uuid.UUID
	for range 3 {
		ids = append(ids, b.start())
	}
	u := &unread{Store: b.s}
	u.together.Store(1)
	b.use(u)
	if claims, err := b.d.PollAgents(t.Context(), b.poll(8)); len(claims) != 1 || err != nil {
		t.Errorf("%d executions are handed on, and the error is %v; want the one that could be read", len(claims), err)
	}
	u.together.Store(100)
	if claims := b.claims(); len(claims) != 2 {
		t.Errorf("%d executions can be claimed again, want 2", len(claims))
	}
	for _, id := range ids {
		if n := b.execution(id).Crashes; n != 0 {
			t.Errorf("%d crashes were counted", n)
		}
	}
}
