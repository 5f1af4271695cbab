package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// keeper is a worker that has a claim of a LOCAL execution. It stores the contents of the
// execution, and sends the server only references to these contents.
type keeper struct {
	*holder
	*shelf
}

// shelf is a worker's store of contents, by hash.
type shelf struct {
	mu     sync.Mutex // guards the fields below
	all    map[perdure.Hash][]byte
	asked  int
	change func([]byte) []byte // changes the content that is sent
}

func (s *shelf) put(content []byte) perdure.Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := perdure.Hash(sha256.Sum256(content))
	s.all[sum] = content
	return sum
}

// Content implements perdure.ContentSource.
func (s *shelf) Content(_ context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	content, ok := s.all[sum]
	if !ok {
		return nil, perdure.Errorf(perdure.NotFound, "there is no content %s", sum)
	}
	if s.change != nil {
		content = s.change(content)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

const mark = "MARKER"

func quoted(what string) []byte { return []byte(`"` + mark + " " + what + `"`) }

// startLocal creates a LOCAL execution.
func (b *bench) startLocal() uuid.UUID {
	b.Helper()
	x, err := b.e.Start(b.Context(), org, StartRequest{Kind: "agent", Input: quoted("input"), PersistenceMode: perdure.Local})
	b.must(err)
	return x.ID
}

func (b *bench) localPoll(worker uuid.UUID) perdure.Poll {
	p := b.poll(8)
	p.WorkerID, p.Local = worker, true
	p.Queues = append(p.Queues, perdure.LocalQueue(worker))
	return p
}

// claimLocal claims the only pending LOCAL execution.
func (b *bench) claimLocal() *keeper {
	b.Helper()
	claims, err := b.d.PollAgents(b.Context(), b.localPoll(b.worker))
	b.must(err)
	if len(claims) != 1 {
		b.Fatalf("%d executions were claimed, want 1", len(claims))
	}
	k := &keeper{&holder{bench: b, claim: claims[0], id: claims[0].Lease.ExecutionID}, &shelf{all: map[perdure.Hash][]byte{}}}
	k.put(claims[0].Execution.Input)
	return k
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	b := newBench(t)
	b.startLocal()
	return b.claimLocal()
}

// again claims the execution once more, for the same worker.
func (k *keeper) again() {
	k.Helper()
	k.claim, k.number = k.claimLocal().claim, 0
}

// ref stores a content in the worker's shelf and returns a reference to it.
func (k *keeper) ref(content []byte) perdure.Payload {
	k.put(content)
	ref := perdure.ContentRef(k.id, content)
	return perdure.Payload{Blob: &ref}
}

// entry stores the content of an entry in the worker's shelf, and returns the entry with a
// reference in place of the content.
func (k *keeper) entry(e perdure.NewEntry) perdure.NewEntry {
	e.Blob = k.ref(e.Content).Blob
	e.Content = nil
	return e
}

func (k *keeper) task(input []byte) perdure.NewTask {
	t := k.newTask(string(input))
	t.Input = k.ref(input)
	return t
}

// taskClaimed claims the only pending task.
func (k *keeper) taskClaimed() perdure.TaskClaim {
	k.Helper()
	claims, err := k.d.PollTasks(k.Context(), k.localPoll(k.worker))
	k.must(err)
	if len(claims) != 1 {
		k.Fatalf("%d tasks were claimed, want 1", len(claims))
	}
	return claims[0]
}

// serve connects the worker, so that the server can read the contents that the worker stores. The
// connection ends with the test, or when disconnect is called.
func (k *keeper) serve() (disconnect func()) {
	k.Helper()
	ctx, cancel := context.WithCancel(k.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = k.d.ServeContents(ctx, k.worker, k.shelf) // it ends with ctx
	}()
	for !k.connected() {
		select {
		case <-ended:
			k.Fatal("it does not serve")
		default:
		}
	}
	stop := sync.OnceFunc(func() { cancel(); <-ended })
	k.Cleanup(stop)
	return stop
}

func (k *keeper) connected() bool {
	_, err := k.e.Homes().Source(org, k.worker)
	return err == nil
}

// agentFrames sends a text in pieces as block 0 of the agent.
func (k *keeper) agentFrames(pieces ...string) {
	k.Helper()
	at, text := int64(0), ""
	for _, piece := range pieces {
		text += piece
		f := agentFrame(k.claim.Lease, piece)
		f.Offset, f.Sum = at, k.put([]byte(text))
		replies, err := k.d.Append(k.Context(), []perdure.Frame{f})
		k.must(err)
		at += int64(len(piece))
		if replies[0].Err != nil || replies[0].Held != at {
			k.Fatalf("the frame answers %+v, want %d held", replies[0], at)
		}
	}
}

// liveLog returns the log of the execution as readers of this server see it.
func (b *bench) liveLog(id uuid.UUID) []perdure.Record {
	b.Helper()
	records, _, err := b.e.Read().Log(b.Context(), id, 0, 1000)
	b.must(err)
	return records
}

// atRest fails the test if the store's files contain the text in the constant mark. That text occurs
// only in contents of a LOCAL execution.
func (b *bench) atRest(when string) {
	b.Helper()
	for _, path := range []string{b.path, b.path + "-wal"} {
		raw, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		b.must(err)
		if at := bytes.Index(raw, []byte(mark)); at >= 0 {
			b.Errorf("%s, %s holds content at %d in page %d: %q", when, path, at%4096, at/4096, raw[max(at-60, 0):min(at+60, len(raw))])
		}
	}
}

var listAll store.ExecutionFilter

// withheldBlobs returns references to the contents that the server does not store. The worker must
// copy these contents to the server before the execution can become REMOTE.
func withheldBlobs(k *keeper) []store.Blob {
	k.Helper()
	var blobs []store.Blob
	_, err := k.s.Do(k.Context(), store.Command{
		Execution: k.id,
		Needs:     func(*perdure.Execution) store.Needs { return store.Needs{Withheld: 1000} },
		Decide:    func(s *store.State) (*store.Changes, error) { blobs = s.Withheld; return nil, nil },
	})
	k.must(err)
	return blobs
}
