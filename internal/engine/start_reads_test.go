package engine

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
)

// kindReads is a store that counts reads of kinds. If the channels are set, the first read of a
// single kind closes the channel `begun`, and then waits until the channel `release` is closed.
type kindReads struct {
	store.Store
	mu             sync.Mutex
	one, all       int
	begun, release chan struct{} // nil: no read waits
}

func (k *kindReads) AgentKind(ctx context.Context, org, kind string) (*store.Kind, error) {
	k.mu.Lock()
	k.one++
	wait := k.one == 1 && k.begun != nil
	k.mu.Unlock()
	if wait {
		close(k.begun)
		<-k.release
	}
	return k.Store.AgentKind(ctx, org, kind)
}

func (k *kindReads) Kinds(ctx context.Context, org string) ([]store.Kind, error) {
	k.all++
	return k.Store.Kinds(ctx, org)
}

// TestAStartReadsItsKindAlone checks that a start reads only its own kind. If the kind is unknown,
// it also reads the other kinds, whose names are part of the error.
func TestAStartReadsItsKindAlone(t *testing.T) {
	b := newBench(t)
	reads := &kindReads{Store: b.s}
	b.use(reads)
	_, err := b.e.Start(t.Context(), org, StartRequest{Kind: "agent"})
	b.must(err)
	if reads.one != 1 || reads.all != 0 {
		t.Errorf("a start reads one kind %d times and all of them %d times", reads.one, reads.all)
	}
	for _, unknown := range []string{"other", "with a \x00", "broken \xff"} {
		_, err = b.e.Start(t.Context(), org, StartRequest{Kind: unknown})
		b.wantCode(err, perdure.InvalidArgument)
	}
	if reads.all != 3 {
		t.Errorf("three refusals read all kinds %d times", reads.all)
	}
}

// TestStartsAtOnceShareTheReadOfTheirKind checks 50 starts that arrive while another start reads
// their kind. One further read, which begins after the first read has ended, serves all 50.
func TestStartsAtOnceShareTheReadOfTheirKind(t *testing.T) {
	b := newBench(t)
	bubble.Test(t, func(t *testing.T) {
		reads := &kindReads{Store: b.s, begun: make(chan struct{}), release: make(chan struct{})}
		b.use(reads)
		var all sync.WaitGroup
		look := func() {
			if _, err := b.e.Kinds.Spec(t.Context(), org, "agent"); err != nil {
				t.Error(err)
			}
		}
		all.Go(look)
		<-reads.begun
		for range 50 {
			all.Go(look)
		}
		synctest.Wait()
		close(reads.release)
		all.Wait()
		if reads.one != 2 {
			t.Errorf("51 starts, 50 of them during a read, read their kind %d times, want 2", reads.one)
		}
	})
}

// TestStartsAreCheckedByWhatAnotherServerRegistered checks that a start uses the newest
// registration of its kind, even if a worker made the registration on another server a moment ago.
// The cases are a new kind, and a kind that an earlier start has used.
func TestStartsAreCheckedByWhatAnotherServerRegistered(t *testing.T) {
	onEach(t, func(t *testing.T, p *place) {
		other := New(Config{Store: p.s, Lease: testLease}).Dispatch(org, false)
		register := func(kind, schema string) {
			t.Helper()
			_, err := other.Register(t.Context(), perdure.Registration{
				WorkerID: uuid.New(), Queues: []string{"default"},
				Agents: []perdure.KindSpec{{Kind: kind, InputSchema: json.RawMessage(schema)}},
			})
			p.must(err)
		}
		start := func(kind, input string) perdure.Code {
			_, err := p.e.Start(t.Context(), org, StartRequest{Kind: kind, Input: json.RawMessage(input)})
			return perdure.CodeOf(err)
		}
		for _, turn := range []struct{ schema, good, bad string }{
			{`{"type":"integer"}`, `1`, `"a"`}, {`{"type":"string"}`, `"a"`, `1`}, {`{"type":"integer","minimum":5}`, `5`, `1`},
		} {
			register("checked", turn.schema)
			if good, bad := start("checked", turn.good), start("checked", turn.bad); good != "" || bad != perdure.InvalidArgument {
				t.Errorf("by %s, %s gives %q and %s %q", turn.schema, turn.good, good, turn.bad, bad)
			}
		}
		if code := start("later", `1`); code != perdure.InvalidArgument {
			t.Errorf("a kind that nobody registered gives %q", code)
		}
		register("later", ``)
		if code := start("later", `1`); code != "" {
			t.Errorf("a kind that was just registered gives %q", code)
		}
	})
}
