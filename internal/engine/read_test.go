package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// heldStore is a store that holds back the result of an append to a block: the append is durable,
// but returns only after the channel `release` is closed.
type heldStore struct {
	store.Store
	durable, release chan struct{}
	afterRead        func()
}

func (s *heldStore) Do(ctx context.Context, c store.Command) ([]any, error) {
	answers, err := s.Store.Do(ctx, c)
	if c.Name == "append" {
		close(s.durable)
		<-s.release
	}
	return answers, err
}

func (s *heldStore) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	records, head, err := s.Store.Log(ctx, execution, after, limit)
	s.afterRead()
	return records, head, err
}

// TestReaderWaitsForWhatIsShown checks a reader that reads a record of a LOCAL execution before the
// append has returned. The reader waits until the record's content is in memory, or until the
// reader's context ends.
func TestReaderWaitsForWhatIsShown(t *testing.T) {
	k := newKeeper(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := &heldStore{Store: k.s, durable: make(chan struct{}), release: make(chan struct{}), afterRead: cancel}
	k.use(s)
	appended := make(chan error, 1)
	go func() {
		f := agentFrame(k.claim.Lease, "text")
		f.Sum = k.put([]byte("text"))
		_, err := k.d.Append(t.Context(), []perdure.Frame{f})
		appended <- err
	}()
	<-s.durable
	if _, _, err := k.e.Read().Log(ctx, k.id, 0, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("before the text is there a reader that leaves is given %v", err)
	}
	close(s.release)
	k.must(<-appended)
	records := k.liveLog(k.id)
	if last := records[len(records)-1]; last.Chunk == nil || last.Chunk.Text != "text" {
		t.Errorf("the text is given as %+v", last)
	}
}

// TestClaimOfAnotherHomeIsRefused checks that only the worker that stores the contents of a LOCAL
// execution can claim it. An execution that was never claimed can be claimed by any worker that has
// its own store.
func TestClaimOfAnotherHomeIsRefused(t *testing.T) {
	k := newKeeper(t)
	home := k.worker
	for _, c := range []struct {
		home *uuid.UUID
		poll perdure.Poll
		want bool
	}{
		{nil, k.localPoll(home), true},
		{&home, k.localPoll(home), true},
		{&home, k.localPoll(uuid.New()), false},
		{&home, k.poll(1), false},
		{nil, k.poll(1), false},
	} {
		x := &perdure.Execution{ID: uuid.New(), Status: perdure.StatusPending, PersistenceMode: perdure.Local, HomeID: c.home}
		changes, err := rules.Claim(&store.State{Execution: x, Now: k.s.Now()}, k.e.rules(), c.poll, uuid.New())
		if err != nil || (changes != nil) != c.want {
			t.Errorf("home %v, local %v: claimed %v, %v; want %v", c.home, c.poll.Local, changes != nil, err, c.want)
		}
	}
}
